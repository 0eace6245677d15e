/* The text of a SELECT: which metadata tables it names, and the same statement as SQLite has it.
 *
 * Spark's spelling is read token by token. What differs is written anew: names of tables become names of virtual
 * tables; fields of structs ("partition.day") become columns of their own, which are added to the virtual table for the
 * statement; items of maps and lists ("summary['total-records']") become json_extract; literals, casts, divisions and
 * quotes take SQLite's form. All else is SQLite's SQL. */
#ifndef FIRN_SQL_SELECT_TEXT_H
#define FIRN_SQL_SELECT_TEXT_H

#include "firn/sql.h"
#include "sql/metadata_table.h"
#include "table/token.h"

#define FIRN_SELECT_BYTES_MAX (1 << 20)

enum firn_version_kind { FIRN_VERSION_NONE, FIRN_VERSION_SNAPSHOT, FIRN_VERSION_TIMESTAMP };

/* A metadata table that the statement reads. */
struct firn_select_reference {
    size_t first, end;       /* its tokens: name and version */
    struct firn_text *parts; /* of the name */
    size_t part_count;
    size_t kind_part; /* which part is the metadata table's name; the one after it, if there is one, is a selector */
    enum firn_version_kind version_kind;
    struct firn_text version; /* a snapshot's id, a ref's name, or a time */
    struct firn_text alias;   /* what columns are qualified with */
    bool has_alias;           /* it is in the text */
    unsigned depth;           /* of parentheses around it */
    bool is_joined;           /* there are other tables in its FROM */

    /* What the name means: filled in between parsing and printing. */
    const struct firn_metadata_table *kind;
    struct firn_table table;
    struct firn_metadata_view view;
    struct firn_metadata_columns columns;

    /* What printing found to be asked for within structs; the columns after `columns`. */
    struct firn_metadata_path *paths;
    size_t path_count;
    size_t path_capacity;
};

struct firn_select_references {
    struct firn_select_reference *items;
    size_t count;
    size_t capacity;
};

struct firn_select_text {
    struct firn_text text;
    struct firn_sql_place place; /* of the text's start */
    bool has_failed;             /* by firn_select_fail, which says where */
    struct firn_tokens tokens;   /* the last is END */
    struct firn_select_references references;
    bool has_derived; /* some table of it is a query: names may be of other tables than those of the references */
};

/* Where something in the printed text came from. */
struct firn_select_origin {
    size_t printed_at, at;
};
struct firn_select_print {
    struct firn_buffer *out;
    struct firn_select_origin *origins; /* ascending */
    size_t origin_count;
    size_t origin_capacity;
};

/* Finds tokens and references. USAGE with line and column; LIMIT past FIRN_SELECT_BYTES_MAX. Lives in op->arena. */
FIRN_CHECKED firn_status firn_select_text_parse(struct firn_op *op, struct firn_text text, struct firn_sql_place place,
                                                struct firn_select_text *out);
/* Prints the statement for SQLite; reference number n is the virtual table "firn_n". USAGE with line and column for a
 * field that a struct does not have. */
FIRN_CHECKED firn_status firn_select_text_print(struct firn_op *op, struct firn_select_text *select,
                                                struct firn_select_print *print);
/* The name of a reference's path as a column: "partition.day". In the arena. */
struct firn_text firn_select_path_name(struct firn_arena *arena, const struct firn_metadata_columns *columns,
                                       const struct firn_metadata_path *path);
/* USAGE, or another status, at a position: "line 1, column 8: ...". */
firn_status firn_select_fail(struct firn_op *op, firn_status status, struct firn_select_text *text, size_t at,
                             const char *format, ...) __attribute__((format(printf, 5, 6), cold));

#endif
