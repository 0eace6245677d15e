/* Sorting rows by their keys (sort_key.h): bytes whose order by memcmp is the order of the rows. */
#ifndef FIRN_REWRITE_KEY_SORT_H
#define FIRN_REWRITE_KEY_SORT_H

#include "base/buffer.h"
#include "base/pool.h"

#include <string.h>

/* The keys of some rows, borrowed. No key begins another one. */
struct firn_row_keys {
    const uint8_t *bytes;
    const uint64_t *offsets; /* where each begins, and the end of the last; NULL: each has `width` bytes */
    size_t width;
    uint32_t count;
};

static inline struct firn_bytes firn_row_key(const struct firn_row_keys *keys, uint32_t row)
{
    if (!keys->offsets)
        return (struct firn_bytes){ keys->bytes + row * keys->width, keys->width };
    return (struct firn_bytes){ keys->bytes + keys->offsets[row],
                                (size_t)(keys->offsets[row + 1] - keys->offsets[row]) };
}

static inline int firn_key_compare(struct firn_bytes a, struct firn_bytes b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len > 0 ? memcmp(a.data, b.data, len) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

/* Whether no key is less than the one before. */
bool firn_keys_ascend(const struct firn_row_keys *keys);
/* Replaces `order` by the numbers of the rows (uint32_t), the least key first; rows of equal keys stay in order. Works
 * in the threads of `pool`, which may be NULL. */
FIRN_CHECKED firn_status firn_key_sort(struct firn_op *op, struct firn_pool *pool, const struct firn_row_keys *keys,
                                       struct firn_buffer *order);
/* Bytes of memory that sorting takes for each row, beside its key. */
#define FIRN_KEY_SORT_ROW_BYTES 16

#endif
