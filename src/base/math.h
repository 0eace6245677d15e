/* Arithmetic on sizes and counts that came from outside, and on bytes of a given order. */
#ifndef FIRN_BASE_MATH_H
#define FIRN_BASE_MATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* False, and `out` unspecified, when the result does not fit. */
static inline bool firn_size_add(size_t a, size_t b, size_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

static inline bool firn_size_mul(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

#define FIRN_MIN(a, b)       ((a) < (b) ? (a) : (b))
#define FIRN_MAX(a, b)       ((a) > (b) ? (a) : (b))
#define FIRN_COUNT_OF(array) (sizeof(array) / sizeof *(array))

static inline uint32_t firn_load_le32(const void *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap32(value);
#endif
    return value;
}

static inline uint64_t firn_load_le64(const void *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    return value;
}

static inline void firn_store_le32(void *at, uint32_t value)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap32(value);
#endif
    memcpy(at, &value, sizeof value);
}

static inline void firn_store_le64(void *at, uint64_t value)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    memcpy(at, &value, sizeof value);
}

static inline uint32_t firn_load_be32(const void *at)
{
    return __builtin_bswap32(firn_load_le32(at));
}

static inline void firn_store_be32(void *at, uint32_t value)
{
    firn_store_le32(at, __builtin_bswap32(value));
}

static inline uint64_t firn_load_be64(const void *at)
{
    return __builtin_bswap64(firn_load_le64(at));
}

static inline void firn_store_be64(void *at, uint64_t value)
{
    firn_store_le64(at, __builtin_bswap64(value));
}

static inline uint64_t firn_zigzag_encode(int64_t value)
{
    return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

/* Writes an unsigned LEB128 number; gives where it ends. */
enum { FIRN_VARINT_BYTES_MAX = 10 };
static inline uint8_t *firn_varint_put(uint8_t *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    return at;
}

static inline int64_t firn_zigzag_decode(uint64_t value)
{
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

#endif
