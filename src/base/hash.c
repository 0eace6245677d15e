/* XXH3 behind firn's names. */
#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t firn_hash64(struct firn_bytes bytes)
{
    return XXH3_64bits(bytes.data ? bytes.data : (const uint8_t *)"", bytes.len);
}

uint64_t firn_hash64_seeded(struct firn_bytes bytes, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes.data ? bytes.data : (const uint8_t *)"", bytes.len, seed);
}

struct firn_hash128 firn_hash128(struct firn_bytes bytes, uint64_t seed)
{
    XXH128_hash_t hash = XXH3_128bits_withSeed(bytes.data ? bytes.data : (const uint8_t *)"", bytes.len, seed);
    return (struct firn_hash128){ .low = hash.low64, .high = hash.high64 };
}

struct firn_hash128 firn_hash128_add(struct firn_hash128 a, struct firn_hash128 b)
{
    struct firn_hash128 sum = { .low = a.low + b.low };
    sum.high = a.high + b.high + (sum.low < a.low);
    return sum;
}

struct firn_hash128 firn_hash128_subtract(struct firn_hash128 a, struct firn_hash128 b)
{
    struct firn_hash128 difference = { .low = a.low - b.low };
    difference.high = a.high - b.high - (a.low < b.low);
    return difference;
}

struct firn_hash128 firn_hash128_times(struct firn_hash128 a, uint64_t count)
{
    struct firn_hash128 sum = { 0 };
    for (struct firn_hash128 power = a; count; count >>= 1, power = firn_hash128_add(power, power))
        if (count & 1)
            sum = firn_hash128_add(sum, power);
    return sum;
}
