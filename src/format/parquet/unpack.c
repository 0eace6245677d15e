/* The kernels of decoding. parquet-format, "Encodings".
 *
 * Unpacking a group of eight may read past its own bytes; the last groups of an array are therefore unpacked from a
 * padded copy. */
#include "format/parquet/unpack.h"

#include "base/math.h"
#include "format/parquet/bit_groups.h"

#define BLOCK 64 /* loops of constant length are what compilers turn into vector code at -O2 */

enum { GROUP = FIRN_GROUP_VALUES, SLACK_BYTES = FIRN_GROUP_SLACK_BYTES };

/* How many groups can be unpacked in place. */
static size_t groups_in_place(struct firn_bytes in, unsigned width, size_t count)
{
    size_t groups = count / GROUP;
    if (width == 0 || in.len < SLACK_BYTES)
        return 0;
    return FIRN_MIN(groups, (in.len - SLACK_BYTES) / width);
}

/* The group that begins with value `first`, in a copy with room to read past it. */
static void copy_group(struct firn_bytes in, unsigned width, size_t first, uint8_t padded[64 + SLACK_BYTES])
{
    size_t offset = first / GROUP * width;
    memset(padded, 0, 64 + SLACK_BYTES);
    if (offset < in.len)
        memcpy(padded, in.data + offset, FIRN_MIN(in.len - offset, width));
}

/* Defines firn_unpack_TYPE: what can be read in place, then the last groups one by one. */
#define DEFINE_UNPACK(name, groups_function, type)                                                                     \
    void name(struct firn_bytes in, unsigned width, size_t count, type *out)                                           \
    {                                                                                                                  \
        size_t groups = groups_in_place(in, width, count);                                                             \
        if (width == 0) {                                                                                              \
            if (count > 0)                                                                                             \
                memset(out, 0, count * sizeof *out);                                                                   \
            return;                                                                                                    \
        }                                                                                                              \
        groups_function(in.data, width, groups, out);                                                                  \
        for (size_t done = groups * GROUP; done < count; done += GROUP) {                                              \
            uint8_t padded[64 + SLACK_BYTES];                                                                          \
            type last[GROUP];                                                                                          \
            copy_group(in, width, done, padded);                                                                       \
            groups_function(padded, width, 1, last);                                                                   \
            memcpy(out + done, last, FIRN_MIN(count - done, GROUP) * sizeof *out);                                     \
        }                                                                                                              \
    }

DEFINE_UNPACK(firn_unpack_u8, firn_unpack_groups_u8, uint8_t)
DEFINE_UNPACK(firn_unpack_u32, firn_bit_groups()->unpack_u32, uint32_t)
DEFINE_UNPACK(firn_unpack_u64, firn_bit_groups()->unpack_u64, uint64_t)

void firn_unpack_msb_u8(const uint8_t *in, unsigned width, size_t count, uint8_t *out)
{
    for (size_t i = 0; i < count; i++) {
        unsigned value = 0;
        for (size_t bit = i * width; bit < (i + 1) * width; bit++)
            value = value << 1 | (in[bit / 8] >> (7 - bit % 8) & 1);
        out[i] = (uint8_t)value;
    }
}

uint8_t firn_max_u8(const uint8_t *values, size_t count)
{
    uint8_t lanes[BLOCK] = { 0 };
    uint8_t max = 0;
    size_t i = 0;
    for (; i + BLOCK <= count; i += BLOCK)
        for (size_t k = 0; k < BLOCK; k++)
            lanes[k] = FIRN_MAX(lanes[k], values[i + k]);
    for (; i < count; i++)
        max = FIRN_MAX(max, values[i]);
    for (size_t k = 0; k < BLOCK; k++)
        max = FIRN_MAX(max, lanes[k]);
    return max;
}

uint32_t firn_max_u32(const uint32_t *values, size_t count)
{
    enum { LANES = 8 };
    uint32_t lanes[LANES] = { 0 };
    uint32_t max = 0;
    size_t i = 0;
    for (; i + LANES <= count; i += LANES)
        for (size_t k = 0; k < LANES; k++)
            lanes[k] = FIRN_MAX(lanes[k], values[i + k]);
    for (; i < count; i++)
        max = FIRN_MAX(max, values[i]);
    for (size_t k = 0; k < LANES; k++)
        max = FIRN_MAX(max, lanes[k]);
    return max;
}

size_t firn_count_u8(const uint8_t *values, size_t count, uint8_t wanted)
{
    size_t found = 0;
    size_t i = 0;
    for (; i + BLOCK <= count; i += BLOCK) {
        uint8_t in_block = 0;
        for (size_t k = 0; k < BLOCK; k++)
            in_block += values[i + k] == wanted;
        found += in_block;
    }
    for (; i < count; i++)
        found += values[i] == wanted;
    return found;
}

void firn_count_levels(const uint8_t *levels, size_t count, uint8_t level_max, int64_t *histogram)
{
    memset(histogram, 0, ((size_t)level_max + 1) * sizeof *histogram);
    if (!levels)
        histogram[level_max] = (int64_t)count;
    for (size_t i = 0; levels && i < count; i++)
        histogram[levels[i]]++;
}

static void join_4(const uint8_t *in, size_t count, uint8_t *out)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t value = in[i] | (uint32_t)in[count + i] << 8 | (uint32_t)in[2 * count + i] << 16 |
                         (uint32_t)in[3 * count + i] << 24;
        firn_store_le32(out + 4 * i, value);
    }
}

static void join_8(const uint8_t *in, size_t count, uint8_t *out)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t value = 0;
        for (size_t k = 0; k < 8; k++)
            value |= (uint64_t)in[k * count + i] << 8 * k;
        firn_store_le64(out + 8 * i, value);
    }
}

void firn_join_streams(const uint8_t *in, size_t width, size_t count, uint8_t *out)
{
    if (width == 4) {
        join_4(in, count, out);
        return;
    }
    if (width == 8) {
        join_8(in, count, out);
        return;
    }
    for (size_t k = 0; k < width; k++)
        for (size_t i = 0; i < count; i++)
            out[i * width + k] = in[k * count + i];
}

/* Copies of constant size are a few instructions. */
#define GATHER_CASE(w)                                                                                                 \
    case (w):                                                                                                          \
        for (size_t i = 0; i < count; i++)                                                                             \
            memcpy(to + i * (w), from + (size_t)indices[i] * (w), (w));                                                \
        break;
#define GATHER_CASES_4(w) GATHER_CASE(w) GATHER_CASE((w) + 1) GATHER_CASE((w) + 2) GATHER_CASE((w) + 3)

void firn_gather(const void *dictionary, size_t width, const uint32_t *indices, size_t count, void *out)
{
    const uint8_t *from = dictionary;
    uint8_t *to = out;
    switch (width) {
        GATHER_CASES_4(1)
        GATHER_CASES_4(5)
        GATHER_CASES_4(9)
        GATHER_CASES_4(13)
    default:
        for (size_t i = 0; i < count; i++)
            memcpy(to + i * width, from + indices[i] * width, width);
    }
}

uint64_t firn_sum_deltas_i64(const uint64_t *deltas, size_t count, uint64_t min_delta, uint64_t last, int64_t *out)
{
    for (size_t i = 0; i < count; i++) {
        last += deltas[i] + min_delta;
        out[i] = (int64_t)last;
    }
    return last;
}

uint64_t firn_sum_deltas_i32(const uint64_t *deltas, size_t count, uint64_t min_delta, uint64_t last, int32_t *out)
{
    for (size_t i = 0; i < count; i++) {
        last += deltas[i] + min_delta;
        out[i] = (int32_t)(uint32_t)last;
    }
    return last;
}
