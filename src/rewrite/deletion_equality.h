/* Equality deletes: the keys that delete files name, and the rows of data files that have one.
 * Iceberg spec, "Equality Delete Files"; reference: format-notes.md, 3. */
#ifndef FIRN_REWRITE_DELETION_EQUALITY_H
#define FIRN_REWRITE_DELETION_EQUALITY_H

#include "format/puffin/positions.h"
#include "rewrite/file_rows.h"

/* Where files are read, and what that may take. */
struct firn_key_source {
    const struct firn_metadata *metadata;
    struct firn_store *store;
    struct firn_pool *pool;
    struct firn_id_sources ids;
    uint64_t memory_bytes_max;
};

/* The columns of a key. */
struct firn_key_columns {
    struct firn_schema schema; /* these columns and the structs around them; all may be null */
    struct firn_output_schema leaves;
};

/* The columns of `ids`, ascending, each once. They may have left the current schema: every schema of the table is
 * searched, the current one first, then from new to old, so types are the widest. Lives in op->arena. CORRUPT for an
 * id that no schema has, UNSUPPORTED for one that is no primitive column outside of lists and maps. */
FIRN_CHECKED firn_status firn_key_columns_new(struct firn_op *op, const struct firn_id_sources *schemas,
                                              const int32_t *ids, uint32_t id_count, struct firn_key_columns *out);

struct firn_equality_delete {
    const struct firn_manifest_entry *entry;
    uint32_t scope;
};

struct firn_equality_data {
    const struct firn_manifest_entry *entry;
    uint32_t scopes[2]; /* deletes of these apply, where they are newer */
    uint32_t scope_count;
    struct firn_positions *positions; /* where deleted rows are added */
};

/* Deletes that compare the same columns, and the data files they may apply to. A delete of one scope means nothing to
 * data files of another. */
struct firn_equality_join {
    struct firn_key_columns columns;
    FIRN_ARRAY(struct firn_equality_delete) deletes;
    FIRN_ARRAY(struct firn_equality_data) data;
    uint32_t scope_count;
};

/* Adds the positions of all rows whose key a newer delete has, charging them to the budget. Files are read in parallel,
 * their key columns only, each once; those that metrics rule out are not. Scratch is left in op->arena. UNSUPPORTED
 * unless files are Parquet or Avro; CORRUPT when a delete file lacks one of the columns. */
FIRN_CHECKED firn_status firn_equality_join_run(struct firn_op *op, const struct firn_key_source *source,
                                                struct firn_equality_join *join);

#endif
