/* Rows in memory, in the order in which they were read, and their keys, once these are made. */
#ifndef FIRN_REWRITE_READ_BATCH_H
#define FIRN_REWRITE_READ_BATCH_H

#include "rewrite/group_run.h"
#include "rewrite/held_column.h"
#include "rewrite/sort_key.h"

struct firn_read_batch {
    uint32_t leaf_count;
    struct firn_held_column *columns; /* one a leaf; those not read stay empty */
    struct firn_buffer partitions;    /* uint32_t, of each row; empty where there is but one */
    uint32_t row_count;
    struct firn_sort_batch keys;
};

/* An empty batch, in op->arena; firn_read_batch_done frees the rest. */
void firn_read_batch_init(struct firn_op *op, const struct firn_output_schema *schema, const struct firn_sort_key *key,
                          struct firn_read_batch *out);
/* Makes the keys, partitions in front (FIRN_SORT_PREFIX_BYTES). */
FIRN_CHECKED firn_status firn_read_batch_make_keys(struct firn_op *op, struct firn_pool *pool,
                                                   struct firn_read_batch *batch);
/* Drops the rows, keeps the memory of their columns. */
void firn_read_batch_clear(struct firn_read_batch *batch);
void firn_read_batch_done(struct firn_read_batch *batch);

#endif
