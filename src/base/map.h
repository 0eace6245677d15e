/* A hash map from byte strings to 64-bit values or pointers, in an arena. Keys are borrowed, not copied. */
#ifndef FIRN_BASE_MAP_H
#define FIRN_BASE_MAP_H

#include "firn/arena.h"

struct firn_map_entry {
    struct firn_bytes key;
    uint64_t hash;
    union {
        uint64_t number;
        void *pointer;
    } value;
};

struct firn_map {
    struct firn_arena *arena;
    struct firn_map_entry *entries; /* in order of insertion: walk entries[0 .. count) */
    size_t count;
    size_t entry_capacity;
    uint32_t *slots; /* index + 1 into entries; 0 is free */
    size_t slot_count;
};

void firn_map_init(struct firn_map *map, struct firn_arena *arena);
/* The entry of `key`, or NULL. */
struct firn_map_entry *firn_map_find(const struct firn_map *map, struct firn_bytes key);
/* The entry of `key`, added with a zero value when absent. The key must outlive the map. Valid until the next put. */
struct firn_map_entry *firn_map_put(struct firn_map *map, struct firn_bytes key);

static inline struct firn_map_entry *firn_map_find_text(const struct firn_map *map, struct firn_text key)
{
    return firn_map_find(map, firn_bytes_of_text(key));
}
static inline struct firn_map_entry *firn_map_put_text(struct firn_map *map, struct firn_text key)
{
    return firn_map_put(map, firn_bytes_of_text(key));
}

#endif
