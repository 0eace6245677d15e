/* DELTA_BINARY_PACKED, the writing half. parquet-format, "Encodings".
 *
 * A header with the first value, then blocks of 128 differences in four miniblocks, as every reader knows them from
 * parquet-java. Differences are modulo the width of the type, so that none overflows. */
#include "format/parquet/delta_write.h"

#include "base/math.h"
#include "format/parquet/pack.h"

#include <assert.h>

enum {
    MINIBLOCK_VALUES = 32,
    MINIBLOCK_COUNT = 4,
    BLOCK_VALUES = MINIBLOCK_VALUES * MINIBLOCK_COUNT,
    HEADER_BYTES_MAX = 4 * FIRN_VARINT_BYTES_MAX,
    BLOCK_BYTES_MAX = FIRN_VARINT_BYTES_MAX + MINIBLOCK_COUNT + BLOCK_VALUES * 8,
};

/* A value, its sign extended. */
static int64_t value_at(struct firn_bytes plain, size_t width, size_t index)
{
    const uint8_t *at = plain.data + index * width;
    return width == 4 ? (int32_t)firn_load_le32(at) : (int64_t)firn_load_le64(at);
}

/* Differences of values [start, start + count) from the ones before them; gives the least. */
static int64_t find_deltas(struct firn_bytes plain, size_t width, size_t start, size_t count, int64_t *deltas)
{
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < count; i++) {
        uint64_t delta = (uint64_t)value_at(plain, width, start + i) - (uint64_t)value_at(plain, width, start + i - 1);
        deltas[i] = width == 4 ? (int32_t)(uint32_t)delta : (int64_t)delta;
        least = FIRN_MIN(deltas[i], least);
    }
    return least;
}

/* Bits of the greatest of a miniblock's values. */
static unsigned width_of(const uint64_t *values)
{
    uint64_t all = 0;
    for (size_t i = 0; i < MINIBLOCK_VALUES; i++)
        all |= values[i];
    return all == 0 ? 0 : 64 - (unsigned)__builtin_clzll(all);
}

/* One block of at most BLOCK_VALUES differences. Values that fill the last miniblock are zeros, and miniblocks behind
 * it have no bits. */
static uint8_t *put_block(uint8_t *at, struct firn_bytes plain, size_t width, size_t start, size_t count)
{
    int64_t deltas[BLOCK_VALUES];
    uint64_t values[BLOCK_VALUES] = { 0 };
    int64_t least = find_deltas(plain, width, start, count, deltas);
    at = firn_varint_put(at, firn_zigzag_encode(least));
    uint8_t *widths = at;
    at += MINIBLOCK_COUNT;
    for (size_t i = 0; i < count; i++)
        values[i] = width == 4 ? (uint32_t)deltas[i] - (uint32_t)least : (uint64_t)deltas[i] - (uint64_t)least;
    for (size_t i = 0; i < MINIBLOCK_COUNT; i++) {
        widths[i] = (uint8_t)width_of(values + i * MINIBLOCK_VALUES);
        at = firn_pack_u64(at, widths[i], values + i * MINIBLOCK_VALUES, MINIBLOCK_VALUES);
    }
    return at;
}

firn_status firn_delta_encode(struct firn_op *op, struct firn_bytes plain, size_t width, struct firn_buffer *out)
{
    size_t count = plain.len / width, bytes;
    assert((width == 4 || width == 8) && plain.len % width == 0);
    if (!firn_size_mul(count / BLOCK_VALUES + 1, BLOCK_BYTES_MAX, &bytes) ||
        !firn_size_add(bytes, out->len + HEADER_BYTES_MAX + FIRN_GROUP_SLACK_BYTES, &bytes))
        return firn_fail(op, FIRN_LIMIT, "%zu values are too many for one page", count);
    FIRN_TRY(firn_buffer_reserve(op, out, bytes));
    uint8_t *at = out->data + out->len;
    at = firn_varint_put(at, BLOCK_VALUES);
    at = firn_varint_put(at, MINIBLOCK_COUNT);
    at = firn_varint_put(at, count);
    at = firn_varint_put(at, firn_zigzag_encode(count ? value_at(plain, width, 0) : 0));
    for (size_t start = 1; start < count; start += BLOCK_VALUES)
        at = put_block(at, plain, width, start, FIRN_MIN(count - start, (size_t)BLOCK_VALUES));
    out->len = (size_t)(at - out->data);
    return FIRN_OK;
}
