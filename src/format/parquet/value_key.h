/* Hashes of values and whether two are the same, without a call for the short ones that dictionaries are made of.
 *
 * Inlined with a constant `width` (0: BYTE_ARRAY), so that each width has its own code. */
#ifndef FIRN_FORMAT_PARQUET_VALUE_KEY_H
#define FIRN_FORMAT_PARQUET_VALUE_KEY_H

#include "base/math.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define FIRN_ALWAYS_INLINE static inline __attribute__((always_inline))

struct firn_key {
    const uint8_t *data;
    size_t len;
};

enum { FIRN_KEY_WORDS_MIN = 8, FIRN_KEY_WORDS_MAX = 32 };

/* The content of 8 to 32 bytes as four words, which overlap where it is shorter: there is no branch to guess wrong. */
struct firn_key_words {
    uint64_t word[4];
};

FIRN_ALWAYS_INLINE struct firn_key_words firn_key_words(struct firn_key key)
{
    size_t inner = FIRN_MIN(key.len - sizeof(uint64_t), sizeof(uint64_t));
    const uint8_t *last = key.data + key.len - sizeof(uint64_t);
    return (struct firn_key_words){ {
        firn_load_le64(key.data),
        firn_load_le64(key.data + inner),
        firn_load_le64(last - inner),
        firn_load_le64(last),
    } };
}

/* The content of fewer than 8 bytes as a number, which with the length tells it from others. */
FIRN_ALWAYS_INLINE uint64_t firn_key_word(struct firn_key key)
{
    if (key.len >= sizeof(uint32_t))
        return firn_load_le32(key.data) | (uint64_t)firn_load_le32(key.data + key.len - sizeof(uint32_t)) << 32;
    if (key.len == 0)
        return 0;
    return key.data[0] | (uint64_t)key.data[key.len / 2] << 8 | (uint64_t)key.data[key.len - 1] << 16;
}

/* Both halves of a product, in one. */
FIRN_ALWAYS_INLINE uint64_t firn_key_mix(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The high bits are the good ones. */
FIRN_ALWAYS_INLINE uint32_t firn_key_hash(struct firn_key key, uint32_t width)
{
    if (width == sizeof(uint32_t)) /* an odd factor: no two have the same */
        return firn_load_le32(key.data) * UINT32_C(0x9e3779b1);
    if (width == sizeof(uint64_t)) {
        uint64_t number = firn_load_le64(key.data);
        return (uint32_t)((number ^ number >> 32) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    }
    size_t len = width ? width : key.len;
    if (len < FIRN_KEY_WORDS_MIN)
        return (uint32_t)(firn_key_mix(firn_key_word(key) ^ UINT64_C(0xa0761d6478bd642f),
                                       len + UINT64_C(0xe7037ed1a0b428db)) >>
                          32);
    if (len > FIRN_KEY_WORDS_MAX)
        return (uint32_t)(XXH3_64bits(key.data, key.len) >> 32);
    struct firn_key_words words = firn_key_words(key);
    uint64_t outer = firn_key_mix(words.word[0] ^ UINT64_C(0xa0761d6478bd642f),
                                  words.word[3] ^ (key.len + UINT64_C(0x589965cc75374cc3)));
    uint64_t inner =
        firn_key_mix(words.word[1] ^ UINT64_C(0xe7037ed1a0b428db), words.word[2] ^ UINT64_C(0x8ebc6af09c88c6e3));
    return (uint32_t)((outer ^ inner) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

/* Whether keys of the same hash are the same. */
FIRN_ALWAYS_INLINE bool firn_key_same(struct firn_key a, struct firn_key b, uint32_t width)
{
    if (width == sizeof(uint32_t))
        return true;
    if (width == sizeof(uint64_t))
        return firn_load_le64(a.data) == firn_load_le64(b.data);
    if (a.len != b.len)
        return false;
    size_t len = width ? width : a.len;
    if (len < FIRN_KEY_WORDS_MIN)
        return firn_key_word(a) == firn_key_word(b);
    if (len > FIRN_KEY_WORDS_MAX)
        return memcmp(a.data, b.data, len) == 0;
    struct firn_key_words ours = firn_key_words(a), theirs = firn_key_words(b);
    uint64_t differing = 0;
    for (size_t i = 0; i < FIRN_COUNT_OF(ours.word); i++)
        differing |= ours.word[i] ^ theirs.word[i];
    return differing == 0;
}

#endif
