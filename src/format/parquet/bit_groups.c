/* Bit packing by groups in portable C, and the choice of loops for the processor. */
#include "format/parquet/bit_groups.h"

#include "base/math.h"
#include "format/parquet/bit_groups_each.h"

enum { WORD_BITS = 64 };

/* The lowest `width` bits. */
FIRN_ALWAYS_INLINE uint64_t mask_of(unsigned width)
{
    return UINT64_MAX >> (WORD_BITS - width);
}

/* In fields of `room` bits that hold `bits`, the lower half of these. */
FIRN_ALWAYS_INLINE uint64_t lower_halves(unsigned bits, unsigned room)
{
    return mask_of(bits / 2) * (room == 64 ? 1 : room == 32 ? UINT64_C(0x100000001) : UINT64_C(0x1000100010001));
}

/* Eight bytes are handled as one word. Moves the upper half of each field of `bits` up, to the upper half of a field of
 * `room`, and so makes two fields of each; a word that begins as one field ends as eight. */
FIRN_ALWAYS_INLINE uint64_t spread(uint64_t word, unsigned bits, unsigned room)
{
    uint64_t lower = lower_halves(bits, room);
    return (word & lower) | (word << (room / 2 - bits / 2) & lower << room / 2);
}

FIRN_ALWAYS_INLINE void unpack_group_u8(const uint8_t *in, unsigned width, uint8_t *out)
{
    uint64_t word = spread(firn_load_le64(in), 8 * width, 64);
    firn_store_le64(out, spread(spread(word, 4 * width, 32), 2 * width, 16));
}

/* The way back: the upper half of each field of `room` moves down behind the `bits / 2` of the lower half. */
FIRN_ALWAYS_INLINE uint64_t gather(uint64_t word, unsigned bits, unsigned room)
{
    uint64_t lower = lower_halves(bits, room);
    return (word & lower) | (word >> (room / 2 - bits / 2) & lower << bits / 2);
}

FIRN_ALWAYS_INLINE void pack_group_u8(const uint8_t *in, unsigned width, uint8_t *out)
{
    uint64_t word = gather(gather(firn_load_le64(in), 2 * width, 16), 4 * width, 32);
    firn_store_le64(out, gather(word, 8 * width, 64));
}

FIRN_ALWAYS_INLINE uint32_t value_u32(const uint8_t *in, unsigned width, unsigned index)
{
    uint64_t bits = firn_load_le64(in + index * width / 8) >> index * width % 8;
    return (uint32_t)(bits & mask_of(width));
}

FIRN_ALWAYS_INLINE void unpack_group_u32(const uint8_t *in, unsigned width, uint32_t *out)
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

FIRN_ALWAYS_INLINE uint64_t value_u64(const uint8_t *in, unsigned width, unsigned index)
{
    const uint8_t *at = in + index * width / 8;
    unsigned shift = index * width % 8;
    uint64_t bits = firn_load_le64(at) >> shift;
    if (shift + width > WORD_BITS) /* the value reaches into a ninth byte, so shift is not 0 */
        bits |= (uint64_t)at[8] << (WORD_BITS - shift);
    return bits & mask_of(width);
}

FIRN_ALWAYS_INLINE void unpack_group_u64(const uint8_t *in, unsigned width, uint64_t *out)
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

FIRN_ALWAYS_INLINE void put_value(uint64_t words[FIRN_GROUP_VALUES], unsigned width, unsigned index, uint64_t value)
{
    unsigned word = index * width / WORD_BITS, shift = index * width % WORD_BITS;
    words[word] |= value << shift;
    if (shift + width > WORD_BITS)
        words[word + 1] |= value >> (WORD_BITS - shift);
}

/* The words that hold `width` bytes; a loop over them would keep them in memory. */
FIRN_ALWAYS_INLINE void store_words(const uint64_t words[FIRN_GROUP_VALUES], unsigned width, uint8_t *out)
{
    firn_store_le64(out, words[0]);
    if (width > 8)
        firn_store_le64(out + 8, words[1]);
    if (width > 16)
        firn_store_le64(out + 16, words[2]);
    if (width > 24)
        firn_store_le64(out + 24, words[3]);
    if (width > 32)
        firn_store_le64(out + 32, words[4]);
    if (width > 40)
        firn_store_le64(out + 40, words[5]);
    if (width > 48)
        firn_store_le64(out + 48, words[6]);
    if (width > 56)
        firn_store_le64(out + 56, words[7]);
}

/* Inlined for arrays of 32 and of 64 bits. */
#define PACK_GROUP(in, width, out)                                                                                     \
    do {                                                                                                               \
        uint64_t words[FIRN_GROUP_VALUES] = { 0 };                                                                     \
        put_value(words, width, 0, in[0]);                                                                             \
        put_value(words, width, 1, in[1]);                                                                             \
        put_value(words, width, 2, in[2]);                                                                             \
        put_value(words, width, 3, in[3]);                                                                             \
        put_value(words, width, 4, in[4]);                                                                             \
        put_value(words, width, 5, in[5]);                                                                             \
        put_value(words, width, 6, in[6]);                                                                             \
        put_value(words, width, 7, in[7]);                                                                             \
        store_words(words, width, out);                                                                                \
    } while (0)

FIRN_ALWAYS_INLINE void pack_group_u32(const uint32_t *in, unsigned width, uint8_t *out)
{
    PACK_GROUP(in, width, out);
}

FIRN_ALWAYS_INLINE void pack_group_u64(const uint64_t *in, unsigned width, uint8_t *out)
{
    PACK_GROUP(in, width, out);
}

void firn_unpack_groups_u8(const uint8_t *in, unsigned width, size_t groups, uint8_t *out)
{
#define ROW(w) FIRN_UNPACK_CASE(unpack_group_u8, w)
    switch (width) {
        FIRN_EACH_8(ROW, 1)
    }
#undef ROW
}

void firn_pack_groups_u8(const uint8_t *in, unsigned width, size_t groups, uint8_t *out)
{
#define ROW(w) FIRN_PACK_CASE(pack_group_u8, w)
    switch (width) {
        FIRN_EACH_8(ROW, 1)
    }
#undef ROW
}

static void unpack_u32(const uint8_t *in, unsigned width, size_t groups, uint32_t *out)
{
#define ROW(w) FIRN_UNPACK_CASE(unpack_group_u32, w)
    switch (width) {
        FIRN_EACH_32(ROW, 1)
    }
#undef ROW
}

void firn_pack_groups_u32(const uint32_t *in, unsigned width, size_t groups, uint8_t *out)
{
#define ROW(w) FIRN_PACK_CASE(pack_group_u32, w)
    switch (width) {
        FIRN_EACH_32(ROW, 1)
    }
#undef ROW
}

static void unpack_u64(const uint8_t *in, unsigned width, size_t groups, uint64_t *out)
{
#define ROW(w) FIRN_UNPACK_CASE(unpack_group_u64, w)
    switch (width) {
        FIRN_EACH_32(ROW, 1) FIRN_EACH_32(ROW, 33)
    }
#undef ROW
}

void firn_pack_groups_u64(const uint64_t *in, unsigned width, size_t groups, uint8_t *out)
{
#define ROW(w) FIRN_PACK_CASE(pack_group_u64, w)
    switch (width) {
        FIRN_EACH_32(ROW, 1) FIRN_EACH_32(ROW, 33)
    }
#undef ROW
}

const struct firn_bit_groups firn_bit_groups_portable = {
    .name = "portable",
    .unpack_u32 = unpack_u32,
    .unpack_u64 = unpack_u64,
};

const struct firn_bit_groups *firn_bit_groups(void)
{
    const struct firn_bit_groups *vector = firn_bit_groups_vector();
    return vector ? vector : &firn_bit_groups_portable;
}
