/* Integers of temporary data in as many bytes as their range needs: what each is above the least. A codec that searches
 * for repeats finds few in them and takes several times as long. */
#ifndef FIRN_REWRITE_NUMBER_PACK_H
#define FIRN_REWRITE_NUMBER_PACK_H

#include "base/buffer.h"

/* The range of some numbers; FIRN_NUMBER_RANGE_NONE before any. */
struct firn_number_range {
    int64_t least, most;
};
#define FIRN_NUMBER_RANGE_NONE ((struct firn_number_range){ INT64_MAX, INT64_MIN })
void firn_number_range_add_i32(struct firn_number_range *range, const int32_t *numbers, uint32_t count);
void firn_number_range_add_i64(struct firn_number_range *range, const int64_t *numbers, uint32_t count);

/* Appends what tells the range; the numbers, all within it, are to be appended behind, at once or in several calls. */
FIRN_CHECKED firn_status firn_numbers_begin(struct firn_op *op, const struct firn_number_range *range,
                                            struct firn_buffer *out);
FIRN_CHECKED firn_status firn_numbers_put_i32(struct firn_op *op, const struct firn_number_range *range,
                                              const int32_t *numbers, uint32_t count, struct firn_buffer *out);
FIRN_CHECKED firn_status firn_numbers_put_i64(struct firn_op *op, const struct firn_number_range *range,
                                              const int64_t *numbers, uint32_t count, struct firn_buffer *out);

/* Takes `count` numbers from the beginning of `in`, which then begins behind them. False: it is too short. */
bool firn_numbers_take_i32(struct firn_bytes *in, uint32_t count, int32_t *out);
bool firn_numbers_take_i64(struct firn_bytes *in, uint32_t count, int64_t *out);

#endif
