/* The RLE / bit-packing hybrid, the writing half. parquet-format, "Encodings".
 *
 * A run of at least eight equal values that is left after completing the group of eight before it becomes an RLE run;
 * everything between such runs is bit-packed in groups of eight. */
#include "format/parquet/rle_write.h"

#include "base/math.h"
#include "format/parquet/pack.h"

#include <assert.h>

enum { RUN_HEADER_BYTES_MAX = 10 };

/* The values to encode: bytes or 32-bit words. Inlined with a constant `is_bytes`, so each kind has its own loop. */
struct values {
    const void *at;
    bool is_bytes;
};

static inline __attribute__((always_inline)) uint32_t value_at(struct values values, size_t index)
{
    return values.is_bytes ? ((const uint8_t *)values.at)[index] : ((const uint32_t *)values.at)[index];
}

/* The index after the last value equal to the one at `start`. */
static inline __attribute__((always_inline)) size_t run_end(struct values values, size_t start, size_t count)
{
    uint32_t value = value_at(values, start);
    size_t end = start + 1;
    if (values.is_bytes) {
        uint64_t same = value * UINT64_C(0x0101010101010101);
        while (end + 8 <= count && firn_load_le64((const uint8_t *)values.at + end) == same)
            end += 8;
    }
    while (end < count && value_at(values, end) == value)
        end++;
    return end;
}

static uint8_t *put_run(uint8_t *at, uint32_t value, size_t count, uint32_t bit_width)
{
    at = firn_varint_put(at, (uint64_t)count << 1);
    for (uint32_t bits = 0; bits < bit_width; bits += 8)
        *at++ = (uint8_t)(value >> bits);
    return at;
}

/* Packs the lowest bits of `count` bytes, the first in the lowest bit; eight at a time by one multiplication. */
static uint8_t *pack_bits(uint8_t *at, const uint8_t *bytes, size_t count)
{
    size_t i = 0;
    for (; i + 8 <= count; i += 8)
        *at++ = (uint8_t)(firn_load_le64(bytes + i) * UINT64_C(0x0102040810204080) >> 56);
    if (i == count)
        return at;
    uint8_t rest = 0;
    for (size_t bit = 0; i < count; i++, bit++)
        rest |= (uint8_t)(bytes[i] << bit);
    *at++ = rest;
    return at;
}

/* Packs the values [start, end), padding the last group with zeros. May write a few bytes past what it returns. */
static inline __attribute__((always_inline)) uint8_t *put_packed(uint8_t *at, struct values values, size_t start,
                                                                 size_t end, uint32_t bit_width)
{
    size_t count = end - start;
    if (count == 0)
        return at;
    at = firn_varint_put(at, (count + FIRN_GROUP_VALUES - 1) / FIRN_GROUP_VALUES << 1 | 1);
    if (values.is_bytes && bit_width == 1)
        return pack_bits(at, (const uint8_t *)values.at + start, count);
    return values.is_bytes ? firn_pack_u8(at, bit_width, (const uint8_t *)values.at + start, count)
                           : firn_pack_u32(at, bit_width, (const uint32_t *)values.at + start, count);
}

/* Room for the worst mix of runs and groups: every eight values cost a header and one or the other. */
static firn_status reserve(struct firn_op *op, size_t count, uint32_t bit_width, struct firn_buffer *out)
{
    size_t bytes, need;
    size_t per_group = (bit_width > 4 ? bit_width : 4) + RUN_HEADER_BYTES_MAX;
    if (!firn_size_mul(count / FIRN_GROUP_VALUES + 2, per_group, &bytes) || !firn_size_add(out->len, bytes, &need) ||
        !firn_size_add(need, FIRN_GROUP_SLACK_BYTES, &need))
        return firn_fail(op, FIRN_LIMIT, "%zu values are too many for one page", count);
    return firn_buffer_reserve(op, out, need);
}

static inline __attribute__((always_inline)) uint8_t *encode(uint8_t *at, struct values values, size_t count,
                                                             uint32_t bit_width)
{
    size_t packed_start = 0; /* values [packed_start, i) wait to be packed */
    for (size_t i = 0; i < count;) {
        size_t end = run_end(values, i, count);
        size_t completing = (FIRN_GROUP_VALUES - (i - packed_start) % FIRN_GROUP_VALUES) % FIRN_GROUP_VALUES;
        if (end - i >= completing + FIRN_GROUP_VALUES) {
            uint32_t value = value_at(values, i);
            i += completing;
            at = put_packed(at, values, packed_start, i, bit_width);
            at = put_run(at, value, end - i, bit_width);
            packed_start = end;
        }
        i = end;
    }
    return put_packed(at, values, packed_start, count, bit_width);
}

firn_status firn_rle_encode_levels(struct firn_op *op, const uint8_t *levels, size_t count, uint32_t bit_width,
                                   struct firn_buffer *out)
{
    assert(bit_width <= 8);
    FIRN_TRY(reserve(op, count, bit_width, out));
    uint8_t *end = encode(out->data + out->len, (struct values){ levels, true }, count, bit_width);
    out->len = (size_t)(end - out->data);
    return FIRN_OK;
}

firn_status firn_rle_encode_indices(struct firn_op *op, const uint32_t *indices, size_t count, uint32_t bit_width,
                                    struct firn_buffer *out)
{
    assert(bit_width <= 32);
    FIRN_TRY(reserve(op, count, bit_width, out));
    uint8_t *end = encode(out->data + out->len, (struct values){ indices, false }, count, bit_width);
    out->len = (size_t)(end - out->data);
    return FIRN_OK;
}

firn_status firn_booleans_pack(struct firn_op *op, const uint8_t *booleans, size_t count, struct firn_buffer *out)
{
    uint8_t *at;
    FIRN_TRY(firn_buffer_extend(op, out, (count + 7) / 8, &at));
    pack_bits(at, booleans, count);
    return FIRN_OK;
}
