/* Open addressing with linear steps. The low half of the hash chooses the slot; the high half is left to whoever
 * spreads keys over several tables. */
#include "rewrite/key_table.h"

#include "base/hash.h"
#include "base/math.h"

/* Four slots in five are taken at most. */
#define SLOTS_PER_KEYS(count) ((count) + (count) / 4 + 4)
#define SLOTS_MAX             UINT64_C(0xffffffff) /* what half a hash can address */

/* Fixed width: the ordinal, 0 for free, then the key. */
enum { ORDINAL_BYTES = sizeof(uint32_t) };

/* Any length: a slot has one more than the record's offset below, 0 for free, and bits of the hash above. */
enum { OFFSET_BITS = 40, RECORD_HEAD_BYTES = 2 * sizeof(uint32_t) };

#define OFFSET_MASK ((UINT64_C(1) << OFFSET_BITS) - 1)

uint64_t firn_key_hash(struct firn_bytes key, uint64_t seed)
{
    return firn_hash64_seeded(key, seed);
}

void firn_key_table_init(struct firn_key_table *table, uint32_t key_bytes, uint64_t seed)
{
    *table = (struct firn_key_table){ .key_bytes = key_bytes, .seed = seed };
}

void firn_key_table_done(struct firn_key_table *table)
{
    firn_buffer_done(&table->slots);
    firn_buffer_done(&table->records);
    table->count = table->slot_count = 0;
}

static size_t slot_bytes(uint32_t key_bytes)
{
    return key_bytes > 0 ? ORDINAL_BYTES + key_bytes : sizeof(uint64_t);
}

static uint32_t load_u32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static void store_u32(uint8_t *at, uint32_t value)
{
    memcpy(at, &value, sizeof value);
}

static uint8_t *slot_at(const struct firn_key_table *table, uint64_t index)
{
    return table->slots.data + index * slot_bytes(table->key_bytes);
}

static uint64_t first_slot(uint64_t slot_count, uint64_t hash)
{
    return (hash & UINT32_MAX) * slot_count >> 32;
}

static uint64_t next_slot(const struct firn_key_table *table, uint64_t index)
{
    return index + 1 < table->slot_count ? index + 1 : 0;
}

/* Sizes. ---------------------------------------------------------------------------------------------------------- */

static uint64_t slots_for(uint64_t count)
{
    return SLOTS_PER_KEYS(FIRN_MIN(count, SLOTS_MAX));
}

static uint64_t record_bytes_for(uint32_t key_bytes, uint64_t count, uint64_t bytes)
{
    return key_bytes > 0 ? 0 : count * RECORD_HEAD_BYTES + bytes;
}

uint64_t firn_key_table_bytes_for(uint32_t key_bytes, uint64_t count, uint64_t bytes)
{
    count = FIRN_MIN(count, SLOTS_MAX);
    return slots_for(count) * slot_bytes(key_bytes) + record_bytes_for(key_bytes, count, bytes);
}

uint64_t firn_key_table_bytes(const struct firn_key_table *table)
{
    return table->slots.capacity + table->records.capacity;
}

static bool slots_have_room(const struct firn_key_table *table, uint64_t count)
{
    return slots_for(table->count + count) <= table->slot_count;
}

static bool records_have_room(const struct firn_key_table *table, uint64_t count, uint64_t bytes)
{
    return record_bytes_for(table->key_bytes, count, bytes) <= table->records.capacity - table->records.len;
}

bool firn_key_table_has_room(const struct firn_key_table *table, uint64_t count, uint64_t bytes)
{
    return slots_have_room(table, count) && records_have_room(table, count, bytes);
}

/* What was too small grows by a quarter at least, so that filling a table in small steps is no endless moving. */
static uint64_t grown_slots(const struct firn_key_table *table, uint64_t count)
{
    if (slots_have_room(table, count))
        return table->slot_count;
    return FIRN_MAX(slots_for(table->count + count), table->slot_count + table->slot_count / 4);
}

static uint64_t grown_records(const struct firn_key_table *table, uint64_t count, uint64_t bytes)
{
    size_t capacity = table->records.capacity;
    if (records_have_room(table, count, bytes))
        return capacity;
    return FIRN_MAX(table->records.len + record_bytes_for(table->key_bytes, count, bytes), capacity + capacity / 4);
}

uint64_t firn_key_table_bytes_grown(const struct firn_key_table *table, uint64_t count, uint64_t bytes)
{
    return grown_slots(table, count) * slot_bytes(table->key_bytes) + grown_records(table, count, bytes);
}

/* Keys. ----------------------------------------------------------------------------------------------------------- */

static const uint8_t *record_of(const struct firn_key_table *table, uint64_t slot)
{
    return table->records.data + (slot & OFFSET_MASK) - 1;
}

static struct firn_bytes record_key(const uint8_t *record)
{
    return (struct firn_bytes){ record + RECORD_HEAD_BYTES, load_u32(record + ORDINAL_BYTES) };
}

/* 9 bytes are a 64-bit key behind its null bits, the commonest of all. */
static bool same_fixed(const uint8_t *a, const uint8_t *b, uint32_t len)
{
    return len == 9 ? memcmp(a, b, 9) == 0 : memcmp(a, b, len) == 0;
}

static uint8_t *find_fixed(const struct firn_key_table *table, struct firn_bytes key, uint64_t hash)
{
    uint64_t index = first_slot(table->slot_count, hash);
    uint8_t *slot = slot_at(table, index);
    while (load_u32(slot) != 0 && !same_fixed(slot + ORDINAL_BYTES, key.data, table->key_bytes)) {
        index = next_slot(table, index);
        slot = slot_at(table, index);
    }
    return slot;
}

static bool holds(const struct firn_key_table *table, uint64_t slot, struct firn_bytes key, uint64_t hash)
{
    if ((slot ^ hash) & ~OFFSET_MASK)
        return false;
    struct firn_bytes other = record_key(record_of(table, slot));
    return other.len == key.len && memcmp(other.data, key.data, key.len) == 0;
}

static uint64_t *find_any(const struct firn_key_table *table, struct firn_bytes key, uint64_t hash)
{
    uint64_t *slots = (uint64_t *)(void *)table->slots.data;
    uint64_t index = first_slot(table->slot_count, hash);
    while (slots[index] != 0 && !holds(table, slots[index], key, hash))
        index = next_slot(table, index);
    return &slots[index];
}

static void put_fixed(struct firn_key_table *table, struct firn_bytes key, uint64_t hash, uint32_t ordinal)
{
    uint8_t *slot = find_fixed(table, key, hash);
    uint32_t old = load_u32(slot);
    if (old == 0) {
        memcpy(slot + ORDINAL_BYTES, key.data, table->key_bytes);
        table->count++;
    }
    store_u32(slot, FIRN_MAX(old, ordinal));
}

static void put_any(struct firn_key_table *table, struct firn_bytes key, uint64_t hash, uint32_t ordinal)
{
    uint64_t *slot = find_any(table, key, hash);
    if (*slot != 0) {
        uint8_t *record = table->records.data + (*slot & OFFSET_MASK) - 1;
        store_u32(record, FIRN_MAX(load_u32(record), ordinal));
        return;
    }
    uint8_t *record = table->records.data + table->records.len;
    *slot = (hash & ~OFFSET_MASK) | (table->records.len + 1);
    store_u32(record, ordinal);
    store_u32(record + ORDINAL_BYTES, (uint32_t)key.len);
    memcpy(record + RECORD_HEAD_BYTES, key.data, key.len);
    table->records.len += RECORD_HEAD_BYTES + key.len;
    table->count++;
}

void firn_key_table_put(struct firn_key_table *table, struct firn_bytes key, uint64_t hash, uint32_t ordinal)
{
    if (table->key_bytes > 0)
        put_fixed(table, key, hash, ordinal);
    else
        put_any(table, key, hash, ordinal);
}

uint32_t firn_key_table_find(const struct firn_key_table *table, struct firn_bytes key, uint64_t hash)
{
    if (table->count == 0)
        return 0;
    if (table->key_bytes > 0)
        return load_u32(find_fixed(table, key, hash));
    uint64_t slot = *find_any(table, key, hash);
    return slot != 0 ? load_u32(record_of(table, slot)) : 0;
}

void firn_key_table_prefetch(const struct firn_key_table *table, uint64_t hash)
{
    if (table->slot_count > 0)
        __builtin_prefetch(slot_at(table, first_slot(table->slot_count, hash)));
}

static bool next_fixed(const struct firn_key_table *table, uint64_t *at, struct firn_bytes *key, uint32_t *ordinal)
{
    for (; *at < table->slot_count; ++*at) {
        const uint8_t *slot = slot_at(table, *at);
        *ordinal = load_u32(slot);
        if (*ordinal == 0)
            continue;
        *key = (struct firn_bytes){ slot + ORDINAL_BYTES, table->key_bytes };
        ++*at;
        return true;
    }
    return false;
}

static bool next_any(const struct firn_key_table *table, uint64_t *at, struct firn_bytes *key, uint32_t *ordinal)
{
    if (*at >= table->records.len)
        return false;
    const uint8_t *record = table->records.data + *at;
    *key = record_key(record);
    *ordinal = load_u32(record);
    *at += RECORD_HEAD_BYTES + key->len;
    return true;
}

bool firn_key_table_next(const struct firn_key_table *table, uint64_t *at, struct firn_bytes *key, uint32_t *ordinal)
{
    return table->key_bytes > 0 ? next_fixed(table, at, key, ordinal) : next_any(table, at, key, ordinal);
}

/* Growing. -------------------------------------------------------------------------------------------------------- */

static void rehash_any(struct firn_key_table *table)
{
    uint64_t at = 0, offset = 0;
    struct firn_bytes key;
    uint32_t ordinal;
    while (next_any(table, &at, &key, &ordinal)) {
        uint64_t hash = firn_key_hash(key, table->seed);
        *find_any(table, key, hash) = (hash & ~OFFSET_MASK) | (offset + 1);
        offset = at;
    }
}

static void rehash_fixed(struct firn_key_table *table, const struct firn_key_table *old)
{
    uint64_t at = 0;
    struct firn_bytes key;
    uint32_t ordinal;
    table->count = 0;
    while (next_fixed(old, &at, &key, &ordinal))
        put_fixed(table, key, firn_key_hash(key, table->seed), ordinal);
}

static firn_status grow_slots(struct firn_op *op, struct firn_key_table *table, uint64_t slot_count)
{
    struct firn_key_table old = *table;
    struct firn_buffer slots = { 0 };
    if (slot_count > SLOTS_MAX)
        return firn_fail(op, FIRN_LIMIT, "more than %" PRIu64 " keys in one table", table->count);
    FIRN_TRY(firn_buffer_resize(op, &slots, (size_t)slot_count * slot_bytes(table->key_bytes)));
    memset(slots.data, 0, slots.len);
    table->slots = slots;
    table->slot_count = slot_count;
    if (table->key_bytes > 0)
        rehash_fixed(table, &old);
    else
        rehash_any(table);
    firn_buffer_done(&old.slots);
    return FIRN_OK;
}

firn_status firn_key_table_grow(struct firn_op *op, struct firn_key_table *table, uint64_t count, uint64_t bytes)
{
    uint64_t slots = grown_slots(table, count), records = grown_records(table, count, bytes);
    if (records >= OFFSET_MASK)
        return firn_fail(op, FIRN_LIMIT, "%" PRIu64 " bytes of keys in one table", records);
    FIRN_TRY(firn_buffer_reserve(op, &table->records, (size_t)records));
    return slots > table->slot_count ? grow_slots(op, table, slots) : FIRN_OK;
}
