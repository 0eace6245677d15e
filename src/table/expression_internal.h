/* Between the parser, the binder and the evaluator of predicates. */
#ifndef FIRN_TABLE_EXPRESSION_INTERNAL_H
#define FIRN_TABLE_EXPRESSION_INTERNAL_H

#include "table/expression.h"
#include "table/token.h"

enum firn_literal_kind {
    FIRN_LITERAL_NULL,
    FIRN_LITERAL_BOOLEAN,
    FIRN_LITERAL_NUMBER,
    FIRN_LITERAL_STRING,
    FIRN_LITERAL_BINARY,
    FIRN_LITERAL_DATE,
    FIRN_LITERAL_TIMESTAMP
};

/* A constant as written, before it is known which column it meets. */
struct firn_literal {
    enum firn_literal_kind kind;
    size_t at;             /* position in the WHERE text */
    struct firn_text text; /* NUMBER: digits without sign; STRING: decoded; BINARY: the bytes */
    bool negative;         /* NUMBER */
    bool boolean;          /* BOOLEAN */
    int64_t days;          /* DATE */
    int64_t micros;        /* TIMESTAMP */
    int32_t nanos;         /* TIMESTAMP: beyond the microsecond */
};

extern const struct firn_predicate firn_predicate_true, firn_predicate_false;
/* AND or OR of two predicates, constants folded. */
const struct firn_predicate *firn_predicate_join(struct firn_arena *arena, enum firn_predicate_op op,
                                                 const struct firn_predicate *left, const struct firn_predicate *right);
/* `op` with its operands exchanged (LT for GT), and its complement (GT_EQ for LT). */
enum firn_predicate_op firn_predicate_op_flip(enum firn_predicate_op op);
enum firn_predicate_op firn_predicate_op_negate(enum firn_predicate_op op);

/* A leaf that compares a column with one constant. Constants between or beyond the values of the column's type turn
 * into the nearest comparison that is, or into TRUE for what is not null, or FALSE. A null constant gives FALSE.
 * USAGE names the position of a constant that the type has no cast for. */
FIRN_CHECKED firn_status firn_predicate_compare(struct firn_op *op, const struct firn_field *field,
                                                enum firn_predicate_op compare, const struct firn_literal *literal,
                                                const struct firn_predicate **out);
/* IN or NOT IN. */
FIRN_CHECKED firn_status firn_predicate_in(struct firn_op *op, const struct firn_field *field, bool negate,
                                           const struct firn_literal *literals, size_t count,
                                           const struct firn_predicate **out);
/* LIKE or NOT LIKE with a pattern that is a prefix or a whole value. */
FIRN_CHECKED firn_status firn_predicate_like(struct firn_op *op, const struct firn_field *field, bool negate,
                                             const struct firn_literal *pattern, const struct firn_predicate **out);
/* IS_NULL, NOT_NULL, IS_NAN, NOT_NAN. */
const struct firn_predicate *firn_predicate_unary(struct firn_arena *arena, enum firn_predicate_op op,
                                                  const struct firn_field *field);
/* USAGE with a position. */
firn_status firn_where_fail(struct firn_op *op, size_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));

#endif
