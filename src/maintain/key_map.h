/* Numbers by 128-bit hash, for telling whether something was met before among millions, at 24 to 48 bytes each. */
#ifndef FIRN_MAINTAIN_KEY_MAP_H
#define FIRN_MAINTAIN_KEY_MAP_H

#include "base/buffer.h"
#include "base/hash.h"

/* All zeros is an empty one. Any number of threads may look while none adds. */
struct firn_key_map {
    struct firn_buffer slots; /* a power of two of them; where the key is zero, one is free */
    size_t count;
};

/* Adds a key with its number, and tells whether it is new: if not, it keeps the number it has. */
FIRN_CHECKED firn_status firn_key_map_add(struct firn_op *op, struct firn_key_map *map, struct firn_hash128 key,
                                          int64_t number, bool *is_new);
/* The number of a key, borrowed until the next addition; NULL: it was not added. */
const int64_t *firn_key_map_find(const struct firn_key_map *map, struct firn_hash128 key);
void firn_key_map_done(struct firn_key_map *map);

#endif
