/* A set of 128-bit hashes, for telling whether something was met before among millions, at 16 to 32 bytes each. */
#ifndef FIRN_MAINTAIN_KEY_SET_H
#define FIRN_MAINTAIN_KEY_SET_H

#include "base/buffer.h"
#include "base/hash.h"

/* All zeros is an empty one. Not thread-safe. */
struct firn_key_set {
    struct firn_buffer slots; /* a power of two of firn_hash128; zero is free */
    size_t count;
};

/* Adds a key; tells whether it is new. */
FIRN_CHECKED firn_status firn_key_set_add(struct firn_op *op, struct firn_key_set *set, struct firn_hash128 key,
                                          bool *is_new);
bool firn_key_set_has(const struct firn_key_set *set, struct firn_hash128 key);
void firn_key_set_done(struct firn_key_set *set);

#endif
