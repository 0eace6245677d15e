/* The inside of a column: column.c walks pages, column_offer.c offers them whole. */
#ifndef FIRN_REWRITE_COLUMN_OFFER_H
#define FIRN_REWRITE_COLUMN_OFFER_H

#include "rewrite/column.h"

/* What a pull does with what it reads. */
struct firn_pull {
    struct firn_column *column;
    const struct firn_row_slice *slice;
    const struct firn_leaf_plan *plan;
    const struct firn_column_receiver *receiver; /* NULL: all is passed over */
    int64_t row;                                 /* rows passed on since the pull began */
    bool page_waits;                             /* the chunk has another page, which begins with a row */
};

/* A page that the reader stands before. */
struct firn_next_page {
    struct firn_page page;
    bool is_there;   /* false: the chunk has ended */
    bool holds_rows; /* row_count whole rows: none goes on from the page before or into the next one */
    uint32_t row_count;
    bool has_facts; /* metadata tell them */
    struct firn_page_facts facts;
};

/* Decodes the page that the reader stands before; it is then at hand. */
FIRN_CHECKED firn_status firn_column_decode_page(struct firn_op *op, struct firn_column *column);
/* The page at hand is done with. */
void firn_column_drop_page(struct firn_column *column);
/* Offers the next page if all its rows are to be passed on, or decodes it. `*row_count`: of a page that is done with.
 */
FIRN_CHECKED firn_status firn_column_offer_page_ahead(struct firn_op *op, struct firn_pull *pull,
                                                      const struct firn_next_page *next, int64_t rows_left,
                                                      uint32_t *row_count);

#endif
