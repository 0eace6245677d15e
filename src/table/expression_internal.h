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

/* What may be in a column, somewhere. */
struct firn_span {
    bool may_be_null, may_be_nan, may_be_value; /* value: neither null nor NaN */
    bool has_lower, has_upper;
    bool exact; /* both bounds are values that are there, not rounded ones: lower == upper tells all */
    struct firn_value lower, upper;
};

/* What stands for a column in a partition tuple: a transform of it; elsewhere, the column itself. */
struct firn_view {
    const struct firn_transform *transform;
    const struct firn_type *source;
};
struct firn_view firn_view_of_column(const struct firn_type *type);
/* What a file's metrics tell of a column. */
struct firn_span firn_span_of_metrics(const struct firn_data_file *file, const struct firn_field *field);
bool firn_span_may_match(const struct firn_predicate *leaf, const struct firn_view *view, const struct firn_span *span);

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
/* Whether LIKE takes the pattern: a prefix, or no wildcard. */
bool firn_predicate_is_prefix(struct firn_arena *arena, struct firn_text pattern);

/* Words that cannot be a column unless back-quoted. */
bool firn_predicate_is_reserved(const struct firn_token *token);
/* The signs between a column and a constant: "=" to ">=", and "<>". */
bool firn_predicate_is_comparison(const struct firn_token *token, enum firn_predicate_op *out);
/* DATE '...', TIMESTAMP '...', and its spellings with and without zone. */
bool firn_predicate_is_typed(const struct firn_token *word, const struct firn_token *content);
/* A field of a struct by name: the exact one if there is one, else the first that differs by case only. */
const struct firn_field *firn_predicate_find_child(const struct firn_type *type, struct firn_text name);
/* How many tokens from `first` on are one condition: up to AND, OR, a parenthesis that was not opened, or the end. */
size_t firn_condition_length(const struct firn_tokens *tokens, size_t first);
/* Whether a condition is one that only reading rows can judge: a function, arithmetic, several columns, a pattern. */
bool firn_condition_is_opaque(struct firn_arena *arena, const struct firn_schema *schema,
                              const struct firn_token *tokens, size_t count);
/* Such a condition as a leaf. USAGE when it names no column. */
FIRN_CHECKED firn_status firn_condition_opaque(struct firn_op *op, const struct firn_schema *schema,
                                               struct firn_text where, const struct firn_token *tokens, size_t count,
                                               const struct firn_predicate **out);
/* USAGE with a position. */
firn_status firn_where_fail(struct firn_op *op, size_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));

#endif
