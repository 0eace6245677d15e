/* Predicates over a table's columns: parsed from Spark's grammar, bound to a schema, projected through partition
 * transforms, and tested against partitions, manifest summaries and file metrics.
 * Iceberg spec, "Scan Planning"; reference: procedures.md, 1 (`where`). */
#ifndef FIRN_TABLE_EXPRESSION_H
#define FIRN_TABLE_EXPRESSION_H

#include "table/manifest.h"

enum firn_predicate_op {
    FIRN_PRED_TRUE,
    FIRN_PRED_FALSE,
    FIRN_PRED_AND,
    FIRN_PRED_OR,
    FIRN_PRED_EQ,
    FIRN_PRED_NOT_EQ,
    FIRN_PRED_LT,
    FIRN_PRED_LT_EQ,
    FIRN_PRED_GT,
    FIRN_PRED_GT_EQ,
    FIRN_PRED_IN,
    FIRN_PRED_NOT_IN,
    FIRN_PRED_IS_NULL,
    FIRN_PRED_NOT_NULL,
    FIRN_PRED_IS_NAN,
    FIRN_PRED_NOT_NAN,
    FIRN_PRED_STARTS_WITH,
    FIRN_PRED_NOT_STARTS_WITH,
    FIRN_PRED_OPAQUE /* only the rows tell; only from firn_predicate_parse_any */
};

/* A condition that neither partitions nor metrics can judge: a function or arithmetic on a column, two columns
 * compared, a LIKE pattern that is no prefix. */
struct firn_opaque {
    size_t at;                     /* where it stands in the WHERE text */
    struct firn_text text;         /* as written */
    struct firn_text function;     /* the one that stands alone on a side of the comparison; empty: nothing so simple */
    struct firn_text arguments[2]; /* its last constants, or the type of a cast; empty: not so many */
    enum firn_predicate_op compare; /* the function's result with `value`: EQ to GT_EQ; TRUE: no comparison */
    struct firn_text value;         /* a number, or the content of a text, date or timestamp */
};

/* A bound predicate; NOT is pushed down to the leaves. */
struct firn_predicate {
    enum firn_predicate_op op;
    const struct firn_predicate *left, *right; /* AND, OR */
    const struct firn_field *field;            /* leaves; a primitive column, nested in structs or not */
    const struct firn_opaque *opaque;          /* OPAQUE; its field is the first that it names */
    struct firn_value *values;                 /* one; several for IN and NOT IN; of the field's type */
    uint32_t value_count;
};

/* Parses and binds a WHERE text: comparison (=, ==, <>, !=, <, <=, >, >=, <=>), IN, NOT IN, BETWEEN, IS [NOT] NULL,
 * LIKE 'x%' (a prefix, or no wildcard), AND, OR, NOT, parentheses, TRUE, FALSE, identifiers (dotted, back-quoted),
 * numbers, strings ('it''s', "x", \' escapes), TRUE/FALSE, DATE '...', TIMESTAMP '...', X'...' ; a literal on either
 * side; a bare string compared with a date or timestamp is cast. Column names match without case. USAGE with the
 * position for anything else, naming what is wrong: unknown column, nested or unsupported type, value that does not
 * fit. */
FIRN_CHECKED firn_status firn_predicate_parse(struct firn_op *op, struct firn_text text,
                                              const struct firn_schema *schema, const struct firn_predicate **out);
/* As firn_predicate_parse, and takes conditions that only the rows can judge as OPAQUE leaves, which rule nothing out.
 */
FIRN_CHECKED firn_status firn_predicate_parse_any(struct firn_op *op, struct firn_text text,
                                                  const struct firn_schema *schema, const struct firn_predicate **out);
struct firn_text firn_predicate_text(struct firn_arena *arena, const struct firn_predicate *predicate);

/* Spark's casts of text: "2024", "2024-1", "2024-01-05"; with a time for timestamps. Times without a zone are UTC. */
bool firn_literal_date(struct firn_text text, int64_t *days);
bool firn_literal_timestamp(struct firn_arena *arena, struct firn_text text, int64_t *micros, int32_t *nanos);

/* Inclusive tests: false only when no row can match. `types` are the spec's (firn_partition_types). */
bool firn_predicate_manifest_may_match(const struct firn_predicate *predicate, const struct firn_partition_spec *spec,
                                       const struct firn_type *types, const struct firn_manifest_file *manifest);
bool firn_predicate_partition_may_match(const struct firn_predicate *predicate, const struct firn_partition_spec *spec,
                                        const struct firn_type *types, const struct firn_partition *partition);
bool firn_predicate_file_may_match(const struct firn_predicate *predicate, const struct firn_data_file *file);

/* Why the metrics of a file do not rule it out for one condition. */
enum firn_stay {
    FIRN_STAY_RULED_OUT,  /* they do */
    FIRN_STAY_ALL_MATCH,  /* every row matches */
    FIRN_STAY_OPAQUE,     /* only the rows tell */
    FIRN_STAY_NO_METRICS, /* nothing is recorded of the column */
    FIRN_STAY_NO_BOUNDS,  /* counts are, bounds are not */
    FIRN_STAY_BAD_BOUNDS, /* bounds are recorded, but are none of the column's type */
    FIRN_STAY_NULLS,      /* IS NULL: there are nulls, or may be; IS NOT NULL: there are values */
    FIRN_STAY_NANS,       /* NaN may be there, which the condition takes */
    FIRN_STAY_NOT_EQUAL,  /* the condition takes all but few values */
    FIRN_STAY_TRUNCATED,  /* the value begins as a cut bound does: the whole bound might have told */
    FIRN_STAY_OVERLAP     /* some value between the bounds matches */
};
enum firn_stay firn_predicate_stay(const struct firn_predicate *leaf, const struct firn_data_file *file);

#endif
