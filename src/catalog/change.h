/* Changes to a table's metadata in the REST catalog's language: requirements and updates, and the loop that commits a
 * change which brings no new snapshot. REST catalog specification, "TableRequirement", "TableUpdate". */
#ifndef FIRN_CATALOG_CHANGE_H
#define FIRN_CATALOG_CHANGE_H

#include "catalog/catalog.h"

/* JSON arrays owned by an arena. */
struct firn_change {
    json_t *requirements;
    json_t *updates;
};
/* Empty arrays in op->arena. */
void firn_change_init(struct firn_op *op, struct firn_change *change);
/* A new update {"action": ...}, borrowed from the change. */
json_t *firn_change_add(struct firn_change *change, const char *action);
/* The table is still the one that was asked for; a table without a UUID (v1) requires nothing. */
void firn_change_require_table(struct firn_change *change, const struct firn_metadata *metadata);
/* The reference still points where it did; FIRN_NO_SNAPSHOT: it does not exist. */
void firn_change_require_ref(struct firn_change *change, struct firn_text name, int64_t snapshot_id);
/* All references still point where they did, and there are no others. */
void firn_change_require_refs(struct firn_change *change, const struct firn_metadata *metadata);
/* The default partition spec and the current schema are still the same. */
void firn_change_require_model(struct firn_change *change, const struct firn_metadata *metadata);
/* The default sort order is still the same. */
void firn_change_require_sort_order(struct firn_change *change, const struct firn_metadata *metadata);
/* The reference becomes this, with this retention. */
void firn_change_set_ref(struct firn_change *change, const struct firn_ref *ref);

/* Decides what to change from the table as it is; `out` comes empty, and left so nothing is committed. */
typedef firn_status firn_change_decide(struct firn_op *op, void *context, const struct firn_table *table,
                                       struct firn_change *out);
/* Refreshes the table, decides and commits; a lost race is decided anew (commit.retry.*). A failure of `decide` is
 * final but for CONFLICT and UNAVAILABLE. `table` holds the newest metadata afterwards. USAGE for a table opened for
 * reading only. */
FIRN_CHECKED firn_status firn_change_commit(struct firn_op *op, struct firn_table *table, firn_change_decide *decide,
                                            void *context);
/* The same; a dry run decides once, from the table as it is, and commits nothing. */
FIRN_CHECKED firn_status firn_change_run(struct firn_op *op, struct firn_table *table, firn_change_decide *decide,
                                         void *context, bool dry_run);

#endif
