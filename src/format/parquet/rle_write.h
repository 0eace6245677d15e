/* Encoding levels, dictionary indices and booleans. parquet-format, "Encodings": RLE / bit-packing hybrid. */
#ifndef FIRN_FORMAT_PARQUET_RLE_WRITE_H
#define FIRN_FORMAT_PARQUET_RLE_WRITE_H

#include "base/buffer.h"

/* Bits that hold every value from 0 to `max`. */
static inline uint32_t firn_bits_for(uint32_t max)
{
    return max == 0 ? 0 : 32 - (uint32_t)__builtin_clz(max);
}

/* Appends the hybrid form of `count` values of `bit_width` bits (0 to 8), without a length prefix. */
FIRN_CHECKED firn_status firn_rle_encode_levels(struct firn_op *op, const uint8_t *levels, size_t count,
                                                uint32_t bit_width, struct firn_buffer *out);
/* The same for values of 0 to 32 bits. */
FIRN_CHECKED firn_status firn_rle_encode_indices(struct firn_op *op, const uint32_t *indices, size_t count,
                                                 uint32_t bit_width, struct firn_buffer *out);
/* Appends `count` booleans (bytes 0 or 1), eight a byte, the first in the lowest bit. */
FIRN_CHECKED firn_status firn_booleans_pack(struct firn_op *op, const uint8_t *booleans, size_t count,
                                            struct firn_buffer *out);

#endif
