/* Proves that rows which are copied as they lie are in order: reads the columns of the key once more. */
#ifndef FIRN_REWRITE_ORDER_CHECK_H
#define FIRN_REWRITE_ORDER_CHECK_H

#include "rewrite/sort_reader.h"

/* Not to be moved once it is initialised. */
struct firn_order_check {
    struct firn_sort_reader reader;
    struct firn_buffer *last_key; /* of the rows before */
    uint64_t batch_bytes;
    int64_t *partition_rows;
    bool is_disordered;
};

/* `last_key` goes on from check to check. */
void firn_order_check_init(struct firn_op *op, struct firn_group_run *run, const struct firn_route *route,
                           const struct firn_sort_key *key, struct firn_buffer *last_key, struct firn_order_check *out);
/* Looks at the window's next `rows` rows, which stay where they are. Fails: VERIFY for rows out of order, with
 * is_disordered. */
FIRN_CHECKED firn_status firn_order_check_step(struct firn_op *op, struct firn_order_check *check,
                                               const struct firn_window *window, int64_t rows);
void firn_order_check_done(struct firn_op *op, struct firn_order_check *check);

#endif
