/* Open addressing over records of any length. A slot holds high bits of the hash, so that most comparisons end there,
 * and one more than the record's offset; 0 is free. */
#include "rewrite/key_table.h"

#include "base/hash.h"
#include "base/math.h"

enum { SLOTS_MIN = 64, OFFSET_BITS = 40 };

#define OFFSET_MASK ((UINT64_C(1) << OFFSET_BITS) - 1)

/* Stands unaligned before each key. */
struct head {
    int64_t sequence_number;
    uint32_t len;
};

enum { HEAD_BYTES = sizeof(int64_t) + sizeof(uint32_t) };

static struct head load_head(const uint8_t *at)
{
    struct head head;
    memcpy(&head.sequence_number, at, sizeof head.sequence_number);
    memcpy(&head.len, at + sizeof head.sequence_number, sizeof head.len);
    return head;
}

static void store_head(uint8_t *at, struct head head)
{
    memcpy(at, &head.sequence_number, sizeof head.sequence_number);
    memcpy(at + sizeof head.sequence_number, &head.len, sizeof head.len);
}

static uint64_t *slots_of(const struct firn_buffer *slots)
{
    return (uint64_t *)(void *)slots->data;
}

static size_t slot_count(const struct firn_buffer *slots)
{
    return slots->len / sizeof(uint64_t);
}

static uint64_t make_slot(uint64_t hash, uint64_t offset)
{
    return (hash & ~OFFSET_MASK) | (offset + 1);
}

static uint8_t *record_of(const struct firn_key_table *table, uint64_t slot)
{
    return table->records.data + (slot & OFFSET_MASK) - 1;
}

static bool holds(const struct firn_key_table *table, uint64_t slot, struct firn_bytes key, uint64_t hash)
{
    if ((slot ^ hash) & ~OFFSET_MASK)
        return false;
    const uint8_t *record = record_of(table, slot);
    return load_head(record).len == key.len && memcmp(record + HEAD_BYTES, key.data, key.len) == 0;
}

/* The slot of the key, or the free one where it would go. */
static size_t find_slot(const struct firn_key_table *table, struct firn_bytes key, uint64_t hash)
{
    const uint64_t *slots = slots_of(&table->slots);
    size_t mask = slot_count(&table->slots) - 1;
    size_t at = hash & mask;
    while (slots[at] != 0 && !holds(table, slots[at], key, hash))
        at = (at + 1) & mask;
    return at;
}

/* Doubles the slots; it is time when three quarters are taken. */
static firn_status grow_slots(struct firn_op *op, struct firn_key_table *table)
{
    struct firn_buffer larger = { 0 };
    size_t count = FIRN_MAX(slot_count(&table->slots) * 2, SLOTS_MIN);
    FIRN_TRY(firn_buffer_resize(op, &larger, count * sizeof(uint64_t)));
    memset(larger.data, 0, larger.len);
    uint64_t *slots = slots_of(&larger);
    for (uint64_t offset = 0; offset < table->records.len;) {
        const uint8_t *record = table->records.data + offset;
        struct head head = load_head(record);
        uint64_t hash = firn_hash64((struct firn_bytes){ record + HEAD_BYTES, head.len });
        size_t at = hash & (count - 1);
        while (slots[at] != 0)
            at = (at + 1) & (count - 1);
        slots[at] = make_slot(hash, offset);
        offset += HEAD_BYTES + head.len;
    }
    firn_buffer_done(&table->slots);
    table->slots = larger;
    return FIRN_OK;
}

static firn_status add_record(struct firn_op *op, struct firn_key_table *table, struct firn_bytes key,
                              int64_t sequence_number)
{
    uint8_t *record;
    if (key.len > UINT32_MAX || table->records.len + key.len >= OFFSET_MASK - HEAD_BYTES)
        return firn_fail(op, FIRN_LIMIT, "a key of %zu bytes does not fit", key.len);
    FIRN_TRY(firn_buffer_extend(op, &table->records, HEAD_BYTES + key.len, &record));
    store_head(record, (struct head){ sequence_number, (uint32_t)key.len });
    memcpy(record + HEAD_BYTES, key.data, key.len);
    table->count++;
    return FIRN_OK;
}

static firn_status put(struct firn_op *op, struct firn_key_table *table, struct firn_bytes key, int64_t sequence_number)
{
    if (table->count * 4 >= (uint64_t)slot_count(&table->slots) * 3)
        FIRN_TRY(grow_slots(op, table));
    uint64_t hash = firn_hash64(key);
    size_t at = find_slot(table, key, hash);
    uint64_t *slot = &slots_of(&table->slots)[at];
    if (*slot != 0) {
        struct head head = load_head(record_of(table, *slot));
        head.sequence_number = FIRN_MAX(head.sequence_number, sequence_number);
        store_head(record_of(table, *slot), head);
        return FIRN_OK;
    }
    uint64_t offset = table->records.len;
    FIRN_TRY(add_record(op, table, key, sequence_number));
    *slot = make_slot(hash, offset);
    return FIRN_OK;
}

firn_status firn_key_table_put(struct firn_op *op, struct firn_key_table *table, struct firn_bytes key,
                               int64_t sequence_number)
{
    firn_status status = put(op, table, key, sequence_number);
    return firn_context(op, status, "%" PRIu64 " equality delete keys take %zu bytes", table->count,
                        table->records.capacity + table->slots.capacity);
}

bool firn_key_table_deletes(const struct firn_key_table *table, struct firn_bytes key, int64_t sequence_number)
{
    if (table->count == 0)
        return false;
    uint64_t slot = slots_of(&table->slots)[find_slot(table, key, firn_hash64(key))];
    return slot != 0 && sequence_number < load_head(record_of(table, slot)).sequence_number;
}

void firn_key_table_defer(struct firn_arena *arena, struct firn_key_table *table)
{
    firn_buffer_defer(arena, &table->records);
    firn_buffer_defer(arena, &table->slots);
}
