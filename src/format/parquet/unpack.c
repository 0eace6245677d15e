/* The kernels of decoding. parquet-format, "Encodings".
 *
 * Eight values of `width` bits are `width` whole bytes, so the unit of work is a group of eight. Each loop exists once
 * per width, made by a macro from one inlined function, so that all shifts are constants. A group may read up to eight
 * bytes past its own; the last groups of an array are therefore unpacked from a padded copy. */
#include "format/parquet/unpack.h"

#include "base/math.h"

#define GROUP       8
#define SLACK_BYTES 16 /* how far past its own bytes a group may read */
#define BLOCK       64 /* loops of constant length are what compilers turn into vector code at -O2 */

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* How many groups can be unpacked in place. */
static size_t groups_in_place(struct firn_bytes in, unsigned width, size_t count)
{
    size_t groups = count / GROUP;
    if (width == 0 || in.len < SLACK_BYTES)
        return 0;
    return FIRN_MIN(groups, (in.len - SLACK_BYTES) / width);
}

ALWAYS_INLINE void group_u8(const uint8_t *in, unsigned width, uint8_t *out)
{
    uint64_t bits = firn_load_le64(in);
    uint8_t mask = (uint8_t)((1u << width) - 1);
    out[0] = (uint8_t)bits & mask;
    out[1] = (uint8_t)(bits >> width) & mask;
    out[2] = (uint8_t)(bits >> 2 * width) & mask;
    out[3] = (uint8_t)(bits >> 3 * width) & mask;
    out[4] = (uint8_t)(bits >> 4 * width) & mask;
    out[5] = (uint8_t)(bits >> 5 * width) & mask;
    out[6] = (uint8_t)(bits >> 6 * width) & mask;
    out[7] = (uint8_t)(bits >> 7 * width) & mask;
}

ALWAYS_INLINE uint32_t value_u32(const uint8_t *in, unsigned width, unsigned index)
{
    uint64_t bits = firn_load_le64(in + index * width / 8) >> index * width % 8;
    return (uint32_t)(bits & ((UINT64_C(1) << width) - 1));
}

ALWAYS_INLINE void group_u32(const uint8_t *in, unsigned width, uint32_t *out)
{
    out[0] = value_u32(in, width, 0);
    out[1] = value_u32(in, width, 1);
    out[2] = value_u32(in, width, 2);
    out[3] = value_u32(in, width, 3);
    out[4] = value_u32(in, width, 4);
    out[5] = value_u32(in, width, 5);
    out[6] = value_u32(in, width, 6);
    out[7] = value_u32(in, width, 7);
}

ALWAYS_INLINE uint64_t value_u64(const uint8_t *in, unsigned width, unsigned index)
{
    const uint8_t *at = in + index * width / 8;
    unsigned shift = index * width % 8;
    uint64_t bits = firn_load_le64(at) >> shift;
    if (shift + width > 64) /* the value reaches into a ninth byte, so shift is not 0 */
        bits |= (uint64_t)at[8] << (64 - shift);
    return width == 64 ? bits : bits & ((UINT64_C(1) << width) - 1);
}

ALWAYS_INLINE void group_u64(const uint8_t *in, unsigned width, uint64_t *out)
{
    out[0] = value_u64(in, width, 0);
    out[1] = value_u64(in, width, 1);
    out[2] = value_u64(in, width, 2);
    out[3] = value_u64(in, width, 3);
    out[4] = value_u64(in, width, 4);
    out[5] = value_u64(in, width, 5);
    out[6] = value_u64(in, width, 6);
    out[7] = value_u64(in, width, 7);
}

#define WIDTHS_8(ROW, from)                                                                                            \
    ROW(from) ROW(from + 1) ROW(from + 2) ROW(from + 3) ROW(from + 4) ROW(from + 5) ROW(from + 6) ROW(from + 7)

/* A function that unpacks whole groups; `width` is at least 1. */
#define GROUPS_CASE(group, w)                                                                                          \
    case (w):                                                                                                          \
        for (size_t i = 0; i < groups; i++)                                                                            \
            group(in + i * (w), (w), out + i * GROUP);                                                                 \
        break;

static void groups_u8(const uint8_t *in, unsigned width, size_t groups, uint8_t *out)
{
#define ROW(w) GROUPS_CASE(group_u8, w)
    switch (width) {
        WIDTHS_8(ROW, 1)
    }
#undef ROW
}

static void groups_u32(const uint8_t *in, unsigned width, size_t groups, uint32_t *out)
{
#define ROW(w) GROUPS_CASE(group_u32, w)
    switch (width) {
        WIDTHS_8(ROW, 1) WIDTHS_8(ROW, 9) WIDTHS_8(ROW, 17) WIDTHS_8(ROW, 25)
    }
#undef ROW
}

static void groups_u64(const uint8_t *in, unsigned width, size_t groups, uint64_t *out)
{
#define ROW(w) GROUPS_CASE(group_u64, w)
    switch (width) {
        WIDTHS_8(ROW, 1)
        WIDTHS_8(ROW, 9)
        WIDTHS_8(ROW, 17) WIDTHS_8(ROW, 25) WIDTHS_8(ROW, 33) WIDTHS_8(ROW, 41) WIDTHS_8(ROW, 49) WIDTHS_8(ROW, 57)
    }
#undef ROW
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

DEFINE_UNPACK(firn_unpack_u8, groups_u8, uint8_t)
DEFINE_UNPACK(firn_unpack_u32, groups_u32, uint32_t)
DEFINE_UNPACK(firn_unpack_u64, groups_u64, uint64_t)

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

struct bytes_16 {
    uint64_t words[2];
};

#define GATHER(type)                                                                                                   \
    do {                                                                                                               \
        const type *from = dictionary;                                                                                 \
        type *to = out;                                                                                                \
        for (size_t i = 0; i < count; i++)                                                                             \
            to[i] = from[indices[i]];                                                                                  \
    } while (0)

void firn_gather(const void *dictionary, size_t width, const uint32_t *indices, size_t count, void *out)
{
    switch (width) {
    case 1:
        GATHER(uint8_t);
        break;
    case 4:
        GATHER(uint32_t);
        break;
    case 8:
        GATHER(uint64_t);
        break;
    case sizeof(struct bytes_16):
        GATHER(struct bytes_16);
        break;
    default:
        for (size_t i = 0; i < count; i++)
            memcpy((uint8_t *)out + i * width, (const uint8_t *)dictionary + indices[i] * width, width);
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
