/* Hashes for tables and fingerprints (XXH3). Not stable across versions of firn unless a caller says so. */
#ifndef FIRN_BASE_HASH_H
#define FIRN_BASE_HASH_H

#include "firn/text.h"

struct firn_hash128 {
    uint64_t low;
    uint64_t high;
};

uint64_t firn_hash64(struct firn_bytes bytes);
/* Another hash for every seed. */
uint64_t firn_hash64_seeded(struct firn_bytes bytes, uint64_t seed);
/* XXH3 128 bits with a seed; stable: fingerprints in snapshot summaries use it. */
struct firn_hash128 firn_hash128(struct firn_bytes bytes, uint64_t seed);
/* Sum, difference and product modulo 2^128. */
struct firn_hash128 firn_hash128_add(struct firn_hash128 a, struct firn_hash128 b);
struct firn_hash128 firn_hash128_subtract(struct firn_hash128 a, struct firn_hash128 b);
struct firn_hash128 firn_hash128_times(struct firn_hash128 a, uint64_t count);

#endif
