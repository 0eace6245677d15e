/* SELECT over metadata tables: `SELECT ... FROM catalog.namespace.table.files`.
 *
 * The SQL is SQLite's with Spark's names: metadata tables by their names of two to many parts, `VERSION AS OF` and
 * `TIMESTAMP AS OF`, or `.branch_NAME`, `.tag_NAME`, `.snapshot_id_N`, `.at_timestamp_MS` behind them, backquotes,
 * fields of structs (partition.day), items of maps (summary['added-records']), typed literals, fractions where whole
 * numbers are divided. Only reading is possible. Rows are read as they are asked for, and of the manifests only what
 * the statement uses. */
#ifndef FIRN_SELECT_H
#define FIRN_SELECT_H

#include "firn/session.h"
#include "firn/sql.h"

/* TEXT also stands for times ("2024-01-01 12:00:00.5", UTC), for bytes ("X'0a1b'"), and, as JSON, for maps, lists and
 * structs. */
enum firn_select_kind {
    FIRN_SELECT_NULL,
    FIRN_SELECT_BOOLEAN,
    FIRN_SELECT_INTEGER,
    FIRN_SELECT_REAL,
    FIRN_SELECT_TEXT
};

struct firn_select_value {
    enum firn_select_kind kind;
    int64_t integer; /* BOOLEAN: 0 or 1 */
    double real;
    struct firn_text text;
};

struct firn_select_column {
    struct firn_text name;
    struct firn_text type; /* as Spark spells it: "bigint", "map<string,string>"; empty: of an expression */
};

struct firn_select;

/* Opens a statement, which begins at `place` of its script ({1, 1} for one by itself); the tables are loaded now, and
 * stay as they are until close. `text` may end with ';'. USAGE for bad SQL and for anything that does
 * not read; NOT_FOUND for unknown tables; all with line and column. Closed by the caller, also when steps failed, and
 * before the session. */
FIRN_CHECKED firn_status firn_select_open(struct firn_op *op, struct firn_session *session, struct firn_text text,
                                          struct firn_sql_place place, struct firn_select **out);
/* The columns of the result; borrowed until close. */
size_t firn_select_column_count(const struct firn_select *select);
const struct firn_select_column *firn_select_columns(const struct firn_select *select);
/* To the next row, at first to the first one. `*got` is false at the end. Fails as what is read fails. */
FIRN_CHECKED firn_status firn_select_step(struct firn_op *op, struct firn_select *select, bool *got);
/* A value of the current row; its text is borrowed until the next step. */
struct firn_select_value firn_select_value(const struct firn_select *select, size_t column);
/* A value for people: NULL, times and numbers as Spark shows them, structs and maps as {day: 2024-01-01, bucket: 3},
 * lists as [1, 2]. `column` is the value's. In op->arena. */
struct firn_text firn_select_readable(struct firn_op *op, const struct firn_select_column *column,
                                      const struct firn_select_value *value);
/* Whether texts of a column are JSON: it is a map, a list or a struct. */
bool firn_select_column_nests(const struct firn_select_column *column);
/* NULL is fine. */
void firn_select_close(struct firn_select *select);

#endif
