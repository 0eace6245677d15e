/* SQL as Spark has it for maintenance: scripts of CALL, of the ALTER TABLE that Iceberg adds, and of SELECT over
 * metadata tables. Pure: text to statements as plain data; who runs them is another matter.
 * Reference: procedures.md, 1 and 10. */
#ifndef FIRN_SQL_H
#define FIRN_SQL_H

#include "firn/op.h"

/* Most bytes of a script, items of a list, and parts of a name. */
#define FIRN_SQL_BYTES_MAX (16 << 20)
#define FIRN_SQL_ITEMS_MAX 100000
#define FIRN_SQL_PARTS_MAX 32

/* Where something stands in its script, counted from 1; columns are characters. */
struct firn_sql_place {
    uint32_t line, column;
};

/* catalog.namespace.table, part by part, without quotes. */
struct firn_sql_name {
    struct firn_sql_place place;
    struct firn_text *items; /* its parts */
    size_t count;
    size_t capacity;
};

enum firn_sql_value_kind {
    FIRN_SQL_NULL,
    FIRN_SQL_BOOLEAN,
    FIRN_SQL_INTEGER,
    FIRN_SQL_DECIMAL, /* a number with a point, an exponent, or the suffix of such a type */
    FIRN_SQL_STRING,
    FIRN_SQL_DATE,
    FIRN_SQL_TIMESTAMP,
    FIRN_SQL_MAP,
    FIRN_SQL_ARRAY
};

struct firn_sql_value;

/* Items of a map or array: key, value, key, value in a map. */
struct firn_sql_values {
    struct firn_sql_value *items;
    size_t count;
    size_t capacity;
};

struct firn_sql_value {
    enum firn_sql_value_kind kind;
    struct firn_sql_place place;
    struct firn_text text;         /* BOOLEAN: "true", "false"; numbers: with their sign; STRING: decoded; DATE,
                                      TIMESTAMP: ISO 8601, UTC */
    struct firn_sql_values values; /* MAP, ARRAY; none of them is a MAP or ARRAY */
};

struct firn_sql_argument {
    struct firn_sql_place place;
    struct firn_text name; /* as written; empty: by its position */
    struct firn_sql_value value;
};

struct firn_sql_arguments {
    struct firn_sql_argument *items; /* all by name or all by position */
    size_t count;
    size_t capacity;
};

/* CALL [catalog.]system.procedure(...). */
struct firn_sql_call {
    struct firn_sql_name procedure;
    struct firn_sql_arguments arguments;
};

/* ALTER TABLE ... CREATE | REPLACE | CREATE OR REPLACE BRANCH | TAG; DROP BRANCH | TAG. */
struct firn_sql_ref {
    bool is_tag;
    bool or_replace, replace, if_not_exists, if_exists;
    struct firn_text name;
    struct firn_text as_of_version;      /* a snapshot's id; empty: none given */
    struct firn_text retain;             /* "7d", "36h", "90m", or empty */
    struct firn_text snapshot_retention; /* "5 snapshots", "7d", "5 snapshots 7d", or empty */
};

struct firn_sql_property {
    struct firn_sql_place place;
    struct firn_text key, value; /* UNSET has no values */
};

/* ALTER TABLE ... SET | UNSET TBLPROPERTIES. */
struct firn_sql_properties {
    struct firn_sql_property *items;
    size_t count;
    size_t capacity;
};

/* ALTER TABLE ... WRITE [DISTRIBUTED BY PARTITION] [[LOCALLY] ORDERED BY ... | UNORDERED]. */
struct firn_sql_write {
    struct firn_text order; /* as written, without outer parentheses; empty: none */
    bool unordered, locally, distributed_by_partition;
};

enum firn_sql_kind {
    FIRN_SQL_CALL,
    FIRN_SQL_CREATE_REF,
    FIRN_SQL_DROP_REF,
    FIRN_SQL_SET_PROPERTIES,
    FIRN_SQL_UNSET_PROPERTIES,
    FIRN_SQL_WRITE,
    FIRN_SQL_SELECT /* its text is all there is: SELECT, WITH or VALUES */
};

struct firn_sql_statement {
    enum firn_sql_kind kind;
    struct firn_sql_place place;
    struct firn_text text;      /* as written, from its first word to its last */
    struct firn_sql_name table; /* of ALTER TABLE */
    union {
        struct firn_sql_call call;
        struct firn_sql_ref ref;
        struct firn_sql_properties properties;
        struct firn_sql_write write;
    };
};

/* A script and how far it has been read. */
struct firn_sql_script {
    struct firn_text text;
    size_t at;
    struct firn_sql_place place; /* of `at` */
};
static inline struct firn_sql_script firn_sql_script_of(struct firn_text text)
{
    return (struct firn_sql_script){ .text = text, .place = { 1, 1 } };
}

/* The next statement; the script has been read past its ';' then. `*out` is NULL at the end; statements without a word
 * are passed over. It lives in op->arena and borrows from the script. USAGE with line and column for what the grammar
 * does not have; UNSUPPORTED for statements that are none of these kinds; LIMIT past the limits. */
FIRN_CHECKED firn_status firn_sql_next(struct firn_op *op, struct firn_sql_script *script,
                                       const struct firn_sql_statement **out);
/* Whether a script, as typed so far, ends with a statement's ';' or has none begun: nothing more need be typed. */
bool firn_sql_is_complete(struct firn_op *op, struct firn_text script);

/* A name as a text holds it, `table => 'db.txn'`: parts joined by dots, each plain or in backquotes. USAGE. */
FIRN_CHECKED firn_status firn_sql_name_parse(struct firn_op *op, struct firn_text text, struct firn_sql_name *out);
/* States a fault of a place: "line 3, column 7: ...". */
firn_status firn_sql_fail(struct firn_op *op, firn_status status, struct firn_sql_place place, const char *format, ...)
    __attribute__((format(printf, 4, 5), cold));

#endif
