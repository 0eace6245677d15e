/* Keys of a block of sorted rows in temporary files. Keys of one length that differ in their last eight bytes alone are
 * packed as numbers (number_pack.h) behind what they share. */
#ifndef FIRN_REWRITE_RUN_KEYS_H
#define FIRN_REWRITE_RUN_KEYS_H

#include "rewrite/key_sort.h"

/* Appends the keys of `count` rows, at least one, which are in the order of their keys. */
FIRN_CHECKED firn_status firn_run_keys_put(struct firn_op *op, const struct firn_row_keys *keys, const uint32_t *rows,
                                           uint32_t count, struct firn_buffer *out);

/* Memory for keys that do not lie in a body as they are. All zeros is ready for use. */
struct firn_run_keys {
    struct firn_buffer bytes;
    struct firn_buffer offsets; /* uint64_t */
};
void firn_run_keys_done(struct firn_run_keys *keys);
/* The `count` keys of a body, of `width` bytes each or, where that is 0, of several lengths; they borrow from the body
 * and from `memory`. Fails: SYSTEM where it is not what was put. */
FIRN_CHECKED firn_status firn_run_keys_get(struct firn_op *op, struct firn_bytes body, size_t width, uint32_t count,
                                           struct firn_run_keys *memory, struct firn_row_keys *out);

#endif
