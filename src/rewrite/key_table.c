/* Open addressing over indices of an array of keys. */
#include "rewrite/key_table.h"

#include "base/hash.h"
#include "base/math.h"

enum { SLOTS_MIN = 64 };

struct key_entry {
    uint64_t end; /* in `bytes`; it begins where the one before ends */
    int64_t sequence_number;
};

static struct key_entry *entries_of(const struct firn_key_table *table)
{
    return (struct key_entry *)(void *)table->entries.data;
}

static uint64_t *slots_of(const struct firn_key_table *table)
{
    return (uint64_t *)(void *)table->slots.data;
}

static size_t slot_count(const struct firn_key_table *table)
{
    return table->slots.len / sizeof(uint64_t);
}

static struct firn_bytes key_at(const struct firn_key_table *table, size_t index)
{
    const struct key_entry *entries = entries_of(table);
    uint64_t start = index > 0 ? entries[index - 1].end : 0;
    return (struct firn_bytes){ table->bytes.data + start, (size_t)(entries[index].end - start) };
}

/* The slot of the key, or the free one where it would go. */
static size_t find_slot(const struct firn_key_table *table, struct firn_bytes key, uint64_t hash)
{
    const uint64_t *slots = slots_of(table);
    size_t mask = slot_count(table) - 1;
    for (size_t at = hash & mask;; at = (at + 1) & mask) {
        if (slots[at] == 0)
            return at;
        if (slots[at] >> 32 != hash >> 32)
            continue;
        if (firn_bytes_compare(key_at(table, (uint32_t)slots[at] - 1), key) == 0)
            return at;
    }
}

/* Doubles the slots; it is time when three quarters are taken. */
static firn_status grow_slots(struct firn_op *op, struct firn_key_table *table)
{
    struct firn_buffer larger = { 0 };
    size_t count = FIRN_MAX(slot_count(table) * 2, SLOTS_MIN);
    FIRN_TRY(firn_buffer_resize(op, &larger, count * sizeof(uint64_t)));
    memset(larger.data, 0, larger.len);
    uint64_t *slots = (uint64_t *)(void *)larger.data;
    for (size_t i = 0; i < table->count; i++) {
        uint64_t hash = firn_hash64(key_at(table, i));
        size_t at = hash & (count - 1);
        while (slots[at] != 0)
            at = (at + 1) & (count - 1);
        slots[at] = (hash & ~(uint64_t)UINT32_MAX) | (i + 1);
    }
    firn_buffer_done(&table->slots);
    table->slots = larger;
    return FIRN_OK;
}

static firn_status add_key(struct firn_op *op, struct firn_key_table *table, struct firn_bytes key,
                           int64_t sequence_number)
{
    uint8_t *kept;
    FIRN_TRY(firn_buffer_extend(op, &table->bytes, key.len, &kept));
    memcpy(kept, key.data, key.len);
    struct key_entry entry = { table->bytes.len, sequence_number };
    FIRN_TRY(firn_buffer_extend(op, &table->entries, sizeof entry, &kept));
    memcpy(kept, &entry, sizeof entry);
    table->count++;
    return FIRN_OK;
}

static firn_status put(struct firn_op *op, struct firn_key_table *table, struct firn_bytes key, int64_t sequence_number)
{
    if (table->count == UINT32_MAX - 1)
        return firn_fail(op, FIRN_LIMIT, "more than %u keys", table->count);
    if ((uint64_t)table->count * 4 >= (uint64_t)slot_count(table) * 3)
        FIRN_TRY(grow_slots(op, table));
    uint64_t hash = firn_hash64(key);
    size_t at = find_slot(table, key, hash);
    uint64_t found = slots_of(table)[at];
    if (found != 0) {
        struct key_entry *entry = &entries_of(table)[(uint32_t)found - 1];
        entry->sequence_number = FIRN_MAX(entry->sequence_number, sequence_number);
        return FIRN_OK;
    }
    FIRN_TRY(add_key(op, table, key, sequence_number));
    slots_of(table)[at] = (hash & ~(uint64_t)UINT32_MAX) | table->count;
    return FIRN_OK;
}

firn_status firn_key_table_put(struct firn_op *op, struct firn_key_table *table, struct firn_bytes key,
                               int64_t sequence_number)
{
    firn_status status = put(op, table, key, sequence_number);
    return firn_context(op, status, "%u equality delete keys take %zu bytes", table->count,
                        table->bytes.capacity + table->entries.capacity + table->slots.capacity);
}

bool firn_key_table_deletes(const struct firn_key_table *table, struct firn_bytes key, int64_t sequence_number)
{
    if (table->count == 0)
        return false;
    uint64_t found = slots_of(table)[find_slot(table, key, firn_hash64(key))];
    return found != 0 && sequence_number < entries_of(table)[(uint32_t)found - 1].sequence_number;
}

void firn_key_table_done(struct firn_key_table *table)
{
    firn_buffer_done(&table->bytes);
    firn_buffer_done(&table->entries);
    firn_buffer_done(&table->slots);
    table->count = 0;
}
