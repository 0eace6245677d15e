/* The kernels of decoding: loops over plain arrays, no allocation, no operation, no failure.
 *
 * Callers have checked every length. Kept apart so that they can be given vector instructions of one machine without
 * touching the decoders. parquet-format, "Encodings". */
#ifndef FIRN_FORMAT_PARQUET_UNPACK_H
#define FIRN_FORMAT_PARQUET_UNPACK_H

#include "firn/text.h"

/* Bytes that `count` values of `width` bits take. */
static inline uint64_t firn_packed_bytes(uint64_t count, unsigned width)
{
    return (count * width + 7) / 8;
}

/* Bit-packed values, least significant bit first: `count` of `width` bits. `in` holds at least firn_packed_bytes; bytes
 * behind in.len are never read. Width 0 gives zeros. */
void firn_unpack_u8(struct firn_bytes in, unsigned width, size_t count, uint8_t *out);   /* width <= 8 */
void firn_unpack_u32(struct firn_bytes in, unsigned width, size_t count, uint32_t *out); /* width <= 32 */
void firn_unpack_u64(struct firn_bytes in, unsigned width, size_t count, uint64_t *out); /* width <= 64 */
/* The deprecated order of BIT_PACKED levels: most significant bit first; width <= 8. */
void firn_unpack_msb_u8(const uint8_t *in, unsigned width, size_t count, uint8_t *out);

uint8_t firn_max_u8(const uint8_t *values, size_t count);    /* 0 when there are none */
uint32_t firn_max_u32(const uint32_t *values, size_t count); /* 0 when there are none */
/* How many of `values` are `wanted`. */
size_t firn_count_u8(const uint8_t *values, size_t count, uint8_t wanted);
/* Sets histogram[0] to [level_max] to how often each level occurs; NULL levels are all `level_max`. */
void firn_count_levels(const uint8_t *levels, size_t count, uint8_t level_max, int64_t *histogram);

/* BYTE_STREAM_SPLIT: byte k of value i lies at in[k * count + i]. */
void firn_join_streams(const uint8_t *in, size_t width, size_t count, uint8_t *out);

/* out[i] = dictionary[indices[i]], values of `width` bytes. */
void firn_gather(const void *dictionary, size_t width, const uint32_t *indices, size_t count, void *out);

/* Running sums, modulo 2^64 or 2^32: out[i] = (last += deltas[i] + min_delta). Gives back the last sum. */
uint64_t firn_sum_deltas_i64(const uint64_t *deltas, size_t count, uint64_t min_delta, uint64_t last, int64_t *out);
uint64_t firn_sum_deltas_i32(const uint64_t *deltas, size_t count, uint64_t min_delta, uint64_t last, int32_t *out);

#endif
