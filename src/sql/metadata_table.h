/* Metadata tables: rows out of a table's metadata and manifests, as Spark shows them.
 *
 * A kind of metadata table is a table of functions. Its rows are read forward by a cursor, which is told beforehand
 * which columns will be asked for and which rows are wanted, so that what is not needed is not read.
 * Reference: format-notes.md, 18. */
#ifndef FIRN_SQL_METADATA_TABLE_H
#define FIRN_SQL_METADATA_TABLE_H

#include "base/pool.h"
#include "firn/catalog.h"
#include "sql/metadata_column.h"
#include "store/store.h"
#include "table/manifest.h"

enum firn_cell_kind { FIRN_CELL_NULL, FIRN_CELL_INTEGER, FIRN_CELL_REAL, FIRN_CELL_TEXT };

/* A value of a row. Booleans are 0 and 1; maps, lists and structs are JSON; timestamps are text as Spark prints them,
 * in UTC; bytes are text of the form X'0a1b'. */
struct firn_cell {
    enum firn_cell_kind kind;
    int64_t integer;
    double real;
    struct firn_text text;
    struct firn_buffer *scratch; /* where a long text may be written; kept until the next cell */
};

enum firn_metadata_compare {
    FIRN_METADATA_EQ,
    FIRN_METADATA_LT,
    FIRN_METADATA_LT_EQ,
    FIRN_METADATA_GT,
    FIRN_METADATA_GT_EQ
};

/* A condition that all wanted rows meet. A table may give rows that do not: they are looked at again. */
struct firn_metadata_filter {
    struct firn_metadata_path path;
    enum firn_metadata_compare compare;
    struct firn_cell value; /* not NULL */
};

/* Whose rows: a table as of a snapshot. */
struct firn_metadata_view {
    const struct firn_table *table;
    const struct firn_snapshot *snapshot; /* NULL: an empty table */
    struct firn_pool *pool;               /* may be NULL */
};

struct firn_metadata_request {
    const struct firn_metadata_path *wanted; /* all that will be asked for */
    uint32_t wanted_count;
    const struct firn_metadata_filter *filters;
    uint32_t filter_count;
};

struct firn_metadata_alias {
    const char *name;
    uint32_t column;
};

struct firn_metadata_table {
    const char *name;
    bool reads_manifests; /* and so has rows that cost time; the others have few */
    /* In op->arena. */
    firn_status (*columns)(struct firn_op *op, const struct firn_metadata_view *view,
                           struct firn_metadata_columns *out);
    /* View and request are borrowed until close. What the cursor needs lives in op->arena or is freed by `close`. */
    firn_status (*open)(struct firn_op *op, const struct firn_metadata_table *kind,
                        const struct firn_metadata_view *view, const struct firn_metadata_request *request,
                        void **cursor);
    /* To the next row, at first to the first one. */
    firn_status (*next)(struct firn_op *op, void *cursor, bool *got);
    /* A wanted value of the current row; texts live until the next cell is asked for. `out` is NULL at first. */
    firn_status (*cell)(struct firn_op *op, void *cursor, const struct firn_metadata_path *path, struct firn_cell *out);
    void (*close)(void *cursor);               /* NULL: nothing to do */
    const struct firn_metadata_alias *aliases; /* other names that people know columns by; not part of "*" */
    uint32_t alias_count;
};

/* By name, without case; NULL: there is none. */
const struct firn_metadata_table *firn_metadata_table_find(struct firn_text name);
/* "snapshots, history, ..." */
struct firn_text firn_metadata_table_names(struct firn_arena *arena);

/* Filling cells. */
void firn_cell_i64(struct firn_cell *cell, int64_t value);
/* NULL for `absent`. */
void firn_cell_i64_unless(struct firn_cell *cell, int64_t value, int64_t absent);
/* NULL for a text without data. */
void firn_cell_text(struct firn_cell *cell, struct firn_text text);
void firn_cell_timestamp_ms(struct firn_arena *arena, struct firn_cell *cell, int64_t ms);
void firn_cell_bytes(struct firn_arena *arena, struct firn_cell *cell, struct firn_bytes bytes);
void firn_cell_value(struct firn_arena *arena, const struct firn_type *type, const struct firn_value *value,
                     struct firn_cell *cell);
/* What JSON was written to the cell's scratch. */
struct firn_json_out;
firn_status firn_cell_json(struct firn_cell *cell, const struct firn_json_out *json);
void firn_json_out_value(struct firn_json_out *json, const struct firn_type *type, const struct firn_value *value);
void firn_json_out_bytes(struct firn_json_out *json, struct firn_bytes bytes);
/* Text of a value as Spark prints it. */
struct firn_text firn_spark_value_text(struct firn_arena *arena, const struct firn_type *type,
                                       const struct firn_value *value);

/* Whether a value may meet a condition; values of another kind than the condition's always may. */
bool firn_metadata_filter_holds(const struct firn_metadata_filter *filter, const struct firn_cell *value);
/* Whether a value may meet the conditions on a path; true where there are none. */
bool firn_metadata_filter_i64(const struct firn_metadata_request *request, struct firn_metadata_path path,
                              int64_t value);
bool firn_metadata_filter_cell(const struct firn_metadata_request *request, const struct firn_metadata_path *path,
                               const struct firn_cell *value);

extern const struct firn_metadata_table firn_snapshots_table, firn_history_table, firn_refs_table,
    firn_metadata_log_entries_table;
extern const struct firn_metadata_table firn_files_table, firn_data_files_table, firn_delete_files_table,
    firn_all_files_table, firn_all_data_files_table, firn_all_delete_files_table;
extern const struct firn_metadata_table firn_entries_table, firn_all_entries_table, firn_partitions_table,
    firn_position_deletes_table;
extern const struct firn_metadata_table firn_manifests_table, firn_all_manifests_table;

#endif
