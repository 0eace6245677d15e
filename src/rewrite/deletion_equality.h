/* Equality deletes: the keys that one partition's delete files name, and the rows of a data file that have one.
 * Iceberg spec, "Equality Delete Files"; reference: format-notes.md, 3. */
#ifndef FIRN_REWRITE_DELETION_EQUALITY_H
#define FIRN_REWRITE_DELETION_EQUALITY_H

#include "format/puffin/positions.h"
#include "rewrite/file_rows.h"
#include "rewrite/key_table.h"

struct firn_key_source {
    const struct firn_metadata *metadata;
    struct firn_store *store;
    struct firn_id_sources ids;
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

/* Adds the keys of an equality delete file to `table`. UNSUPPORTED unless it is Parquet; CORRUPT when it lacks one of
 * the columns. */
FIRN_CHECKED firn_status firn_key_table_add_file(struct firn_op *op, const struct firn_key_source *source,
                                                 const struct firn_key_columns *columns,
                                                 const struct firn_manifest_entry *del, struct firn_key_table *table);

/* Adds the positions of the rows of `data` whose keys one of the tables deletes to `out`. Only the key columns are
 * read. UNSUPPORTED unless the file is Parquet. */
FIRN_CHECKED firn_status firn_key_tables_match(struct firn_op *op, const struct firn_key_source *source,
                                               const struct firn_key_columns *columns,
                                               const struct firn_key_table *const *tables, uint32_t table_count,
                                               const struct firn_manifest_entry *data, struct firn_positions *out);

#endif
