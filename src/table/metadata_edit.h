/* Inside firn_updates_apply: the tree being changed, and what one list of updates remembers between its items.
 *
 * Every edit function takes one REST TableUpdate object and changes `root`; none of them parses the whole again. */
#ifndef FIRN_TABLE_METADATA_EDIT_H
#define FIRN_TABLE_METADATA_EDIT_H

#include "table/metadata.h"

struct firn_edit {
    json_t *root;                     /* the copy, owned by the operation's arena */
    const struct firn_metadata *base; /* NULL: a new table */
    int64_t now_ms;
    int64_t updated_ms;                  /* last-updated-ms to be; -1: not decided yet */
    int32_t last_schema_id;              /* what -1 stands for in set-current-schema; -1: none added */
    int32_t last_spec_id;                /* likewise */
    int32_t last_order_id;               /* likewise */
    FIRN_ARRAY(int64_t) added_snapshots; /* by this list */
    FIRN_ARRAY(int64_t) heads;           /* added snapshots that became main's head in this list */
    bool snapshots_removed;
};

typedef firn_status firn_edit_function(struct firn_op *op, struct firn_edit *edit, const json_t *update);

/* metadata_edit_model.c: schemas, partition specs, sort orders, keys */
firn_edit_function firn_edit_add_schema, firn_edit_set_current_schema, firn_edit_remove_schemas;
firn_edit_function firn_edit_add_spec, firn_edit_set_default_spec, firn_edit_remove_specs;
firn_edit_function firn_edit_add_sort_order, firn_edit_set_default_sort_order;
firn_edit_function firn_edit_add_encryption_key, firn_edit_remove_encryption_key;

/* metadata_edit_snapshot.c: snapshots, references, statistics */
firn_edit_function firn_edit_add_snapshot, firn_edit_remove_snapshots;
firn_edit_function firn_edit_set_ref, firn_edit_remove_ref;
firn_edit_function firn_edit_set_statistics, firn_edit_remove_statistics;
firn_edit_function firn_edit_set_partition_statistics, firn_edit_remove_partition_statistics;
/* Drops intermediate heads, and the history before a snapshot that is gone, from the snapshot log. */
void firn_edit_finish_snapshot_log(struct firn_op *op, struct firn_edit *edit);

/* Helpers of both. */
int32_t firn_edit_version(const struct firn_edit *edit);
/* The array member, created when absent; null counts as absent. Borrowed from the tree. */
json_t *firn_edit_array(struct firn_edit *edit, const char *key);
/* Likewise for an object. */
json_t *firn_edit_object(struct firn_edit *edit, const char *key);
/* The object of the array `key` whose member `id_key` is `id`, or NULL. */
json_t *firn_edit_find(const struct firn_edit *edit, const char *key, const char *id_key, int32_t id);

#endif
