/* Picking rows out of a vector. The one place where rows are selected. */
#ifndef FIRN_REWRITE_GATHER_H
#define FIRN_REWRITE_GATHER_H

#include "base/buffer.h"
#include "format/parquet/vector.h"

/* Scratch of one column. All zeros is ready for use. */
struct firn_gather {
    struct firn_buffer slots, values;           /* where each row of the vector begins */
    struct firn_buffer rep, def, picked_values; /* the picked rows */
};

/* Looks at a vector before rows are picked from it. */
FIRN_CHECKED firn_status firn_gather_begin(struct firn_op *op, struct firn_gather *gather,
                                           const struct firn_vector *vector);
/* Rows `rows[0 .. count)` of the vector, ascending, counted from `first`: the number of the row of the first slot. The
 * result borrows from both until the next call. */
FIRN_CHECKED firn_status firn_gather_rows(struct firn_op *op, struct firn_gather *gather,
                                          const struct firn_vector *vector, const uint32_t *rows, size_t count,
                                          int64_t first, struct firn_vector *out);
void firn_gather_done(struct firn_gather *gather);

#endif
