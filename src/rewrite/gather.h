/* Picking rows out of a vector. The one place where rows are selected. */
#ifndef FIRN_REWRITE_GATHER_H
#define FIRN_REWRITE_GATHER_H

#include "base/buffer.h"
#include "base/math.h"
#include "format/parquet/vector.h"

struct firn_row_range {
    uint32_t first, count;
};

/* The rows of a vector to be picked: those of ascending ranges, of which the first and the last may reach beyond it. */
struct firn_row_pick {
    int64_t first, row_count; /* of the vector: the number of the row of its first slot, and rows from there on */
    const struct firn_row_range *ranges;
    size_t range_count;
    int64_t picked_count; /* rows of the ranges that lie in the vector */
};

/* The part of a range that lies in the vector, counted from the vector's first row. */
static inline int64_t firn_row_range_begin(const struct firn_row_range *range, const struct firn_row_pick *pick)
{
    return FIRN_MAX((int64_t)range->first - pick->first, 0);
}
static inline int64_t firn_row_range_end(const struct firn_row_range *range, const struct firn_row_pick *pick)
{
    return FIRN_MIN((int64_t)range->first + range->count - pick->first, pick->row_count);
}

/* Scratch of one column. All zeros is ready for use. */
struct firn_gather {
    struct firn_buffer slots, values;           /* where rows of the vector begin */
    struct firn_buffer rep, def, picked_values; /* the picked rows */
};

/* Looks at a vector before rows are picked from it. */
FIRN_CHECKED firn_status firn_gather_begin(struct firn_op *op, struct firn_gather *gather,
                                           const struct firn_vector *vector);
/* The rows of a pick. The result borrows from vector and gather until the next call. */
FIRN_CHECKED firn_status firn_gather_rows(struct firn_op *op, struct firn_gather *gather,
                                          const struct firn_vector *vector, const struct firn_row_pick *pick,
                                          struct firn_vector *out);
void firn_gather_done(struct firn_gather *gather);

#endif
