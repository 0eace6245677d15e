/* Open addressing over an insertion-ordered entry array. */
#include "base/map.h"

#include "base/hash.h"

enum { SLOT_COUNT_MIN = 16 };

void firn_map_init(struct firn_map *map, struct firn_arena *arena)
{
    *map = (struct firn_map){ .arena = arena };
}

static size_t slot_of(const struct firn_map *map, struct firn_bytes key, uint64_t hash)
{
    size_t mask = map->slot_count - 1;
    for (size_t slot = (size_t)hash & mask;; slot = (slot + 1) & mask) {
        uint32_t at = map->slots[slot];
        if (at == 0)
            return slot;
        const struct firn_map_entry *entry = &map->entries[at - 1];
        if (entry->hash == hash && firn_bytes_compare(entry->key, key) == 0)
            return slot;
    }
}

struct firn_map_entry *firn_map_find(const struct firn_map *map, struct firn_bytes key)
{
    if (map->count == 0)
        return NULL;
    uint32_t at = map->slots[slot_of(map, key, firn_hash64(key))];
    return at ? &map->entries[at - 1] : NULL;
}

static void grow_slots(struct firn_map *map)
{
    map->slot_count = map->slot_count ? map->slot_count * 2 : SLOT_COUNT_MIN;
    map->slots = FIRN_NEW_ARRAY(map->arena, uint32_t, map->slot_count);
    size_t mask = map->slot_count - 1;
    for (size_t i = 0; i < map->count; i++) {
        size_t slot = (size_t)map->entries[i].hash & mask;
        while (map->slots[slot])
            slot = (slot + 1) & mask;
        map->slots[slot] = (uint32_t)(i + 1);
    }
}

struct firn_map_entry *firn_map_put(struct firn_map *map, struct firn_bytes key)
{
    if ((map->count + 1) * 4 > map->slot_count * 3)
        grow_slots(map);
    uint64_t hash = firn_hash64(key);
    size_t slot = slot_of(map, key, hash);
    if (map->slots[slot])
        return &map->entries[map->slots[slot] - 1];
    if (map->count == map->entry_capacity)
        map->entries =
            firn_array_grow(map->arena, map->entries, map->count, &map->entry_capacity, sizeof *map->entries);
    map->entries[map->count] = (struct firn_map_entry){ .key = key, .hash = hash };
    map->slots[slot] = (uint32_t)++map->count;
    return &map->entries[map->count - 1];
}
