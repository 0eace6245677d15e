/* From a vector of an input leaf to one of an output leaf, as a plan says: levels mapped, values converted. */
#ifndef FIRN_REWRITE_ADAPTER_H
#define FIRN_REWRITE_ADAPTER_H

#include "base/buffer.h"
#include "rewrite/projection.h"

/* Scratch memory of one column. All zeros is ready for use. */
struct firn_adapter {
    struct firn_buffer rep, def, values, entries, numbers;
    struct firn_dictionary dictionary; /* the last one converted; its values are in `entries` */
    const void *converted;             /* the values it was made from, which it may point into */
};

/* `in` holds slots of plan->levels; without levels, `in->row_count` rows and nothing else. `position` is the place of
 * the first row in the input file. The result borrows from `in`, `plan` and `adapter`, until the next call. */
FIRN_CHECKED firn_status firn_adapter_run(struct firn_op *op, struct firn_adapter *adapter,
                                          const struct firn_leaf_plan *plan, const struct firn_parquet_node *leaf,
                                          const struct firn_vector *in, int64_t position, struct firn_vector *out);
/* The levels alone: the result has no values. */
FIRN_CHECKED firn_status firn_adapter_levels(struct firn_op *op, struct firn_adapter *adapter,
                                             const struct firn_leaf_plan *plan, const struct firn_parquet_node *leaf,
                                             const struct firn_vector *in, struct firn_vector *out);
/* Gives a vector of levels the values of `in`, which need no conversion. */
void firn_adapter_keep_values(const struct firn_vector *in, struct firn_vector *out);
void firn_adapter_done(struct firn_adapter *adapter);

#endif
