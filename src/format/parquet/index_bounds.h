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
    bool grows; /* the dictionary is that of the last call, with this scratch, or that with values behind */
};

enum { FIRN_INDEX_EXTREMES = 32 };

/* The least values of a dictionary that grows, or the greatest, in order: most pages use one of them, which spares
 * comparing all that they use. */
struct firn_index_extremes {
    uint32_t count, indices[FIRN_INDEX_EXTREMES];
};

/* Memory used again from page to page. All zeros is ready for use. */
struct firn_index_scratch {
    struct firn_buffer seen; /* a byte a dictionary value: the stamp of the last call that met it */
    uint8_t stamp;
    struct firn_buffer used, gathered;
    struct firn_index_extremes least, greatest;
    uint32_t known_count; /* of the dictionary's values that are looked at for these */
    bool has_nan;         /* there are some among them */
    uint32_t misses;      /* pages that used none of them, less those that did */
};

/* Widens empty bounds by the values; a NaN counts as often as it occurs. */
FIRN_CHECKED firn_status firn_bounds_of_indexed(struct firn_op *op, struct firn_bounds *bounds, enum firn_order order,
                                                struct firn_index_scratch *scratch,
                                                const struct firn_indexed_values *values);
void firn_index_scratch_done(struct firn_index_scratch *scratch);

#endif
