/* Orders as people write them: "account_id DESC NULLS LAST, bucket(16, region)".
 * Reference: procedures.md, 2.3. */
#ifndef FIRN_TABLE_ORDER_TEXT_H
#define FIRN_TABLE_ORDER_TEXT_H

#include "firn/op.h"

/* One term, not yet bound to a schema. */
struct firn_order_term {
    size_t at;                  /* position in the text */
    struct firn_text transform; /* lower case; "identity" for a plain column */
    struct firn_text *columns;  /* dotted names */
    size_t column_count;
    size_t column_capacity;
    int64_t width; /* the number among its arguments; -1: none */
    bool descending, nulls_last;
};

struct firn_order_terms {
    struct firn_order_term *items;
    size_t count;
    size_t capacity;
};

/* Reads terms, in parentheses or not, from `*at` on as far as they go; `*at` is where they end, or where the fault is.
 * Nulls come first in ascending and last in descending terms unless it is said otherwise. In op->arena. USAGE; LIMIT
 * past 1000 terms or columns. */
FIRN_CHECKED firn_status firn_order_parse(struct firn_op *op, struct firn_text text, size_t *at,
                                          struct firn_order_terms *out);
/* The whole text as an order; a fault is told with its position. */
FIRN_CHECKED firn_status firn_order_parse_all(struct firn_op *op, struct firn_text text, struct firn_order_terms *out);

#endif
