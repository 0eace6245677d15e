/* Open addressing with linear probing; at most half of the slots are taken. */
#include "maintain/key_set.h"

#include "base/math.h"

enum { SLOTS_MIN = 64 };

static size_t slot_count(const struct firn_key_set *set)
{
    return set->slots.len / sizeof(struct firn_hash128);
}

static struct firn_hash128 *slots_of(const struct firn_key_set *set)
{
    return (struct firn_hash128 *)(void *)set->slots.data;
}

static bool same(struct firn_hash128 a, struct firn_hash128 b)
{
    return a.low == b.low && a.high == b.high;
}

/* The all-zero hash is as good as any other, but stands for a free slot. */
static struct firn_hash128 never_zero(struct firn_hash128 key)
{
    if (key.low == 0 && key.high == 0)
        key.low = 1;
    return key;
}

/* Where the key is, or would be; some slot is free. */
static struct firn_hash128 *find_slot(const struct firn_key_set *set, struct firn_hash128 key)
{
    struct firn_hash128 *slots = slots_of(set);
    size_t mask = slot_count(set) - 1;
    size_t at = (size_t)key.low & mask;
    while ((slots[at].low != 0 || slots[at].high != 0) && !same(slots[at], key))
        at = (at + 1) & mask;
    return &slots[at];
}

static firn_status grow(struct firn_op *op, struct firn_key_set *set)
{
    struct firn_key_set larger = { .count = set->count };
    size_t bytes;
    size_t wanted = FIRN_MAX(2 * slot_count(set), (size_t)SLOTS_MIN);
    if (!firn_size_mul(wanted, sizeof(struct firn_hash128), &bytes))
        return firn_fail(op, FIRN_LIMIT, "too many keys");
    FIRN_TRY(firn_buffer_reserve(op, &larger.slots, bytes));
    memset(larger.slots.data, 0, bytes);
    larger.slots.len = bytes;
    for (size_t i = 0; i < slot_count(set); i++) {
        struct firn_hash128 key = slots_of(set)[i];
        if (key.low != 0 || key.high != 0)
            *find_slot(&larger, key) = key;
    }
    firn_buffer_done(&set->slots);
    *set = larger;
    return FIRN_OK;
}

firn_status firn_key_set_add(struct firn_op *op, struct firn_key_set *set, struct firn_hash128 key, bool *is_new)
{
    key = never_zero(key);
    if (2 * (set->count + 1) > slot_count(set))
        FIRN_TRY(grow(op, set));
    struct firn_hash128 *slot = find_slot(set, key);
    *is_new = !same(*slot, key);
    if (!*is_new)
        return FIRN_OK;
    *slot = key;
    set->count++;
    return FIRN_OK;
}

bool firn_key_set_has(const struct firn_key_set *set, struct firn_hash128 key)
{
    key = never_zero(key);
    return set->count > 0 && same(*find_slot(set, key), key);
}

void firn_key_set_done(struct firn_key_set *set)
{
    firn_buffer_done(&set->slots);
    set->count = 0;
}
