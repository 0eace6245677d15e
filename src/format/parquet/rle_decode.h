/* The RLE / bit-packing hybrid: levels, dictionary indices, booleans. parquet-format, "Encodings", RLE. */
#ifndef FIRN_FORMAT_PARQUET_RLE_DECODE_H
#define FIRN_FORMAT_PARQUET_RLE_DECODE_H

#include "firn/op.h"

/* Decode exactly `count` values. Data that ends earlier is CORRUPT; what follows is left alone, since the last packed
 * run is padded to eight values. */
FIRN_CHECKED firn_status firn_rle_decode_u8(struct firn_op *op, struct firn_bytes in, unsigned width, size_t count,
                                            uint8_t *out); /* width <= 8 */
FIRN_CHECKED firn_status firn_rle_decode_u32(struct firn_op *op, struct firn_bytes in, unsigned width, size_t count,
                                             uint32_t *out); /* width <= 32 */
/* Whether the first run alone repeats `value` at least `count` times: usual for the levels of a column without nulls.
 */
bool firn_rle_is_constant(struct firn_bytes in, unsigned width, size_t count, uint32_t value);
/* Adds to histogram[value] for each of `count` values of at most 8 bits, without unpacking them all. `histogram` has
 * 1 << width entries. False when the data end earlier. */
bool firn_rle_count(struct firn_bytes in, unsigned width, size_t count, int64_t *histogram);
/* Whether the first of `count` > 0 values of at most 8 bits is `value`. */
bool firn_rle_begins_with(struct firn_bytes in, unsigned width, size_t count, uint8_t value);

#endif
