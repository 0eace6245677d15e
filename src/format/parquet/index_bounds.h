/* Bounds of values that are held as indices into a dictionary: each value in use is looked at once. */
#ifndef FIRN_FORMAT_PARQUET_INDEX_BOUNDS_H
#define FIRN_FORMAT_PARQUET_INDEX_BOUNDS_H

#include "format/parquet/order.h"

/* Replaces `out` by the array of a dictionary's values at `indices`. */
typedef firn_status firn_index_gather(struct firn_op *op, const void *dictionary, const uint32_t *indices, size_t count,
                                      struct firn_buffer *out);

struct firn_indexed_values {
    const uint32_t *indices;
    size_t count;
    const void *dictionary;
    uint32_t dictionary_count; /* every index is below it */
    uint32_t type_length;
    firn_index_gather *gather;
};

/* Memory used again from page to page. All zeros is ready for use. */
struct firn_index_scratch {
    struct firn_buffer seen; /* uint32_t a dictionary value: the stamp of the last call that met it */
    uint32_t stamp;
    struct firn_buffer used, gathered;
};

/* Widens empty bounds by the values; a NaN counts as often as it occurs. */
FIRN_CHECKED firn_status firn_bounds_of_indexed(struct firn_op *op, struct firn_bounds *bounds, enum firn_order order,
                                                struct firn_index_scratch *scratch,
                                                const struct firn_indexed_values *values);
void firn_index_scratch_done(struct firn_index_scratch *scratch);

#endif
