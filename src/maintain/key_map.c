/* Open addressing with linear probing; at most half of the slots are taken. */
#include "maintain/key_map.h"

#include "base/math.h"

enum { SLOTS_MIN = 64 };

struct slot {
    struct firn_hash128 key;
    int64_t number;
};

static size_t slot_count(const struct firn_key_map *map)
{
    return map->slots.len / sizeof(struct slot);
}

static struct slot *slots_of(const struct firn_key_map *map)
{
    return (struct slot *)(void *)map->slots.data;
}

static bool same(struct firn_hash128 a, struct firn_hash128 b)
{
    return a.low == b.low && a.high == b.high;
}

static bool is_free(const struct slot *slot)
{
    return slot->key.low == 0 && slot->key.high == 0;
}

/* The all-zero hash is as good as any other, but stands for a free slot. */
static struct firn_hash128 never_zero(struct firn_hash128 key)
{
    if (key.low == 0 && key.high == 0)
        key.low = 1;
    return key;
}

/* Where the key is, or would be; some slot is free. */
static struct slot *find_slot(const struct firn_key_map *map, struct firn_hash128 key)
{
    struct slot *slots = slots_of(map);
    size_t mask = slot_count(map) - 1;
    size_t at = (size_t)key.low & mask;
    while (!is_free(&slots[at]) && !same(slots[at].key, key))
        at = (at + 1) & mask;
    return &slots[at];
}

static firn_status grow(struct firn_op *op, struct firn_key_map *map)
{
    struct firn_key_map larger = { .count = map->count };
    size_t bytes;
    size_t wanted = FIRN_MAX(2 * slot_count(map), (size_t)SLOTS_MIN);
    if (!firn_size_mul(wanted, sizeof(struct slot), &bytes))
        return firn_fail(op, FIRN_LIMIT, "too many keys");
    FIRN_TRY(firn_buffer_resize(op, &larger.slots, bytes));
    memset(larger.slots.data, 0, bytes);
    for (size_t i = 0; i < slot_count(map); i++)
        if (!is_free(&slots_of(map)[i]))
            *find_slot(&larger, slots_of(map)[i].key) = slots_of(map)[i];
    firn_buffer_done(&map->slots);
    *map = larger;
    return FIRN_OK;
}

firn_status firn_key_map_add(struct firn_op *op, struct firn_key_map *map, struct firn_hash128 key, int64_t number,
                             bool *is_new)
{
    key = never_zero(key);
    if (2 * (map->count + 1) > slot_count(map))
        FIRN_TRY(grow(op, map));
    struct slot *slot = find_slot(map, key);
    *is_new = is_free(slot);
    if (!*is_new)
        return FIRN_OK;
    *slot = (struct slot){ key, number };
    map->count++;
    return FIRN_OK;
}

const int64_t *firn_key_map_find(const struct firn_key_map *map, struct firn_hash128 key)
{
    if (map->count == 0)
        return NULL;
    const struct slot *slot = find_slot(map, never_zero(key));
    return is_free(slot) ? NULL : &slot->number;
}

void firn_key_map_done(struct firn_key_map *map)
{
    firn_buffer_done(&map->slots);
    map->count = 0;
}
