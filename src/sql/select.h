/* Inside SELECT: a statement over tables that something else than a session finds, and what the virtual tables of
 * SQLite share with it. */
#ifndef FIRN_SQL_SELECT_H
#define FIRN_SQL_SELECT_H

#include "firn/select.h"
#include "sql/select_text.h"

#include <sqlite3.h>

/* Where the tables of a statement come from. */
struct firn_select_tables {
    firn_status (*find)(struct firn_op *op, void *context, struct firn_text name, struct firn_table *out);
    void *context;
    struct firn_pool *pool; /* may be NULL */
};

struct firn_select {
    struct firn_arena arena;
    struct firn_select_text text;
    struct firn_op *op; /* of the call that is under way */
    firn_status status; /* the failure of a virtual table, which op->error tells */
    sqlite3 *db;
    sqlite3_stmt *statement;
    struct firn_select_column *columns;
    size_t column_count;
    bool *is_boolean; /* one a column */
};

/* As firn_select_open. */
FIRN_CHECKED firn_status firn_select_open_tables(struct firn_op *op, const struct firn_select_tables *tables,
                                                 struct firn_text text, struct firn_sql_place place,
                                                 struct firn_select **out);

/* The module of virtual tables: its argument is the number of a reference of the statement. metadata_module.c */
extern const sqlite3_module firn_metadata_module;
/* The declared type by which a column of the result is recognised: column `*column` of reference `*reference`, where
 * the reference's paths follow its columns and aliases. False for other types. */
bool firn_metadata_declared(const char *declared, uint32_t *reference, uint32_t *column);
/* What a virtual table's column stands for; `path` is empty past the last. */
struct firn_metadata_path firn_metadata_module_path(const struct firn_select_reference *reference, uint32_t column);

#endif
