/* Bit unpacking by groups in vectors of sixteen bytes, for x86-64 with AVX2 and for arm64.
 *
 * Sixteen bytes are taken, each lane gets those that hold its value, is shifted by its own number of bits, and masked.
 * Compilers know vectors of plain C types; the move of bytes alone has another name on each kind of processor. Values
 * that may reach over more bytes than a lane has are left to the portable loops. */
#include "format/parquet/bit_groups.h"

#include "base/math.h"
#include "format/parquet/bit_groups_each.h"

#if defined(__x86_64__) || (defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

#ifdef __x86_64__
#include <immintrin.h>
#define VECTOR __attribute__((target("avx2")))
#else
#include <arm_neon.h>
#define VECTOR
#endif

#define INLINE VECTOR FIRN_ALWAYS_INLINE

/* Four bytes hold any value of so many bits, and eight of so many, wherever in its first byte it begins. */
enum { LANE_32_BITS = 25, LANE_64_BITS = 57 };

typedef uint8_t u8x16 __attribute__((vector_size(16)));
typedef uint32_t u32x4 __attribute__((vector_size(16)));
typedef uint64_t u64x2 __attribute__((vector_size(16)));

/* out[i] = bytes[places[i]] */
INLINE u8x16 move_bytes(u8x16 bytes, u8x16 places)
{
#ifdef __x86_64__
    return (u8x16)_mm_shuffle_epi8((__m128i)bytes, (__m128i)places);
#else
    return (u8x16)vqtbl1q_u8((uint8x16_t)bytes, (uint8x16_t)places);
#endif
}

/* Where byte `byte` of value `first + lane` is, in bytes that begin where value `first` does. */
INLINE uint8_t place(unsigned width, unsigned first, unsigned lane, unsigned byte)
{
    return (uint8_t)((first + lane) * width / 8 - first * width / 8 + byte);
}

/* By how many bits that value has to move down. */
INLINE unsigned shift(unsigned width, unsigned first, unsigned lane)
{
    return (first + lane) * width % 8;
}

#define PLACES_2(lane, byte) place(width, first, lane, byte), place(width, first, lane, (byte) + 1)
#define PLACES_4(lane, byte) PLACES_2(lane, byte), PLACES_2(lane, (byte) + 2)
#define SHIFT(lane)          shift(width, first, lane)

/* Values [first, first + 4) of a group. */
INLINE void unpack_four(const uint8_t *in, unsigned width, unsigned first, uint32_t *out)
{
    u8x16 bytes;
    memcpy(&bytes, in + first * width / 8, sizeof bytes);
    bytes = move_bytes(bytes, (u8x16){ PLACES_4(0, 0), PLACES_4(1, 0), PLACES_4(2, 0), PLACES_4(3, 0) });
    u32x4 lanes = (u32x4)bytes >> (u32x4){ SHIFT(0), SHIFT(1), SHIFT(2), SHIFT(3) };
    lanes &= (UINT32_C(1) << width) - 1;
    memcpy(out, &lanes, sizeof lanes);
}

INLINE void unpack_group_u32(const uint8_t *in, unsigned width, uint32_t *out)
{
    unpack_four(in, width, 0, out);
    unpack_four(in, width, 4, out + 4);
}

/* Values [first, first + 2) of a group. */
INLINE void unpack_two(const uint8_t *in, unsigned width, unsigned first, uint64_t *out)
{
    u8x16 bytes;
    memcpy(&bytes, in + first * width / 8, sizeof bytes);
    bytes = move_bytes(bytes, (u8x16){ PLACES_4(0, 0), PLACES_4(0, 4), PLACES_4(1, 0), PLACES_4(1, 4) });
    u64x2 lanes = (u64x2)bytes >> (u64x2){ SHIFT(0), SHIFT(1) };
    lanes &= (UINT64_C(1) << width) - 1;
    memcpy(out, &lanes, sizeof lanes);
}

INLINE void unpack_group_u64(const uint8_t *in, unsigned width, uint64_t *out)
{
    unpack_two(in, width, 0, out);
    unpack_two(in, width, 2, out + 2);
    unpack_two(in, width, 4, out + 4);
    unpack_two(in, width, 6, out + 6);
}

VECTOR static void unpack_u32(const uint8_t *in, unsigned width, size_t groups, uint32_t *out)
{
#define ROW(w) FIRN_UNPACK_CASE(unpack_group_u32, w)
    switch (width) {
        FIRN_EACH_24(ROW, 1)
        ROW(LANE_32_BITS)
    default:
        firn_bit_groups_portable.unpack_u32(in, width, groups, out);
    }
#undef ROW
}

VECTOR static void unpack_u64(const uint8_t *in, unsigned width, size_t groups, uint64_t *out)
{
#define ROW(w) FIRN_UNPACK_CASE(unpack_group_u64, w)
    switch (width) {
        FIRN_EACH_32(ROW, 1)
        FIRN_EACH_24(ROW, 33)
        ROW(LANE_64_BITS)
    default:
        firn_bit_groups_portable.unpack_u64(in, width, groups, out);
    }
#undef ROW
}

const struct firn_bit_groups *firn_bit_groups_vector(void)
{
    static const struct firn_bit_groups vector = {
        .name = "vector",
        .unpack_u32 = unpack_u32,
        .unpack_u64 = unpack_u64,
    };
#ifdef __x86_64__
    return __builtin_cpu_supports("avx2") ? &vector : NULL;
#else
    return &vector;
#endif
}

#else

const struct firn_bit_groups *firn_bit_groups_vector(void)
{
    return NULL;
}

#endif
