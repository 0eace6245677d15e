/* Sets of row positions over 32-bit Roaring bitmaps: the packaged library has no 64-bit ones. */
#include "format/puffin/positions.h"

#include "base/cursor.h"
#include "base/math.h"
#include "format/puffin/roaring_check.h"

#include <roaring/roaring.h>
#include <stdlib.h>

#define KEY_MAX 2147483646U

/* The positions that share a high half. */
struct part {
    uint32_t key;
    roaring_bitmap_t *bitmap;
};

/* Nothing in here belongs to the arena of the set, so that any thread may add to it. */
struct firn_positions {
    struct {
        struct part *items; /* by key, ascending */
        size_t count;
        size_t capacity;
    } parts;
    struct firn_budget *budget; /* what `charged` was taken from */
    size_t charged;
};

static void free_parts(void *subject)
{
    struct firn_positions *positions = subject;
    for (size_t i = 0; i < positions->parts.count; i++)
        roaring_bitmap_free(positions->parts.items[i].bitmap);
    free(positions->parts.items);
    firn_budget_give(positions->budget, positions->charged);
}

firn_status firn_positions_new(struct firn_op *op, struct firn_positions **out)
{
    *out = FIRN_NEW(op->arena, struct firn_positions);
    firn_arena_defer(op->arena, free_parts, *out);
    return FIRN_OK;
}

/* Serialised, a bitmap takes about what it takes in memory. */
static size_t memory_bytes(const struct firn_positions *positions)
{
    size_t bytes = positions->parts.capacity * sizeof *positions->parts.items;
    for (size_t i = 0; i < positions->parts.count; i++)
        bytes += roaring_bitmap_portable_size_in_bytes(positions->parts.items[i].bitmap);
    return bytes;
}

firn_status firn_positions_charge(struct firn_op *op, struct firn_positions *positions)
{
    size_t bytes = memory_bytes(positions);
    if (!positions->budget)
        positions->budget = op->budget;
    if (bytes > positions->charged)
        FIRN_TRY(firn_budget_take(op, positions->budget, bytes - positions->charged));
    else
        firn_budget_give(positions->budget, positions->charged - bytes);
    positions->charged = bytes;
    return FIRN_OK;
}

/* Index of the first part whose key is not below `key`. */
static size_t lower_bound(const struct firn_positions *positions, uint32_t key)
{
    size_t low = 0, high = positions->parts.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (positions->parts.items[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct part *find_part(const struct firn_positions *positions, uint32_t key)
{
    size_t i = lower_bound(positions, key);
    bool found = i < positions->parts.count && positions->parts.items[i].key == key;
    return found ? &positions->parts.items[i] : NULL;
}

static bool reserve_part(struct firn_positions *positions)
{
    if (positions->parts.count < positions->parts.capacity)
        return true;
    size_t capacity = FIRN_MAX(positions->parts.capacity * 2, 1);
    struct part *items = realloc(positions->parts.items, capacity * sizeof *items);
    if (!items)
        return false;
    positions->parts.items = items;
    positions->parts.capacity = capacity;
    return true;
}

static firn_status insert_part(struct firn_op *op, struct firn_positions *positions, struct part part)
{
    if (!part.bitmap || !reserve_part(positions)) {
        if (part.bitmap)
            roaring_bitmap_free(part.bitmap);
        return firn_fail(op, FIRN_LIMIT, "no memory for a bitmap");
    }
    size_t at = lower_bound(positions, part.key);
    struct part *items = positions->parts.items;
    memmove(items + at + 1, items + at, (positions->parts.count++ - at) * sizeof *items);
    items[at] = part;
    return FIRN_OK;
}

static firn_status get_part(struct firn_op *op, struct firn_positions *positions, uint32_t key, struct part **out)
{
    *out = find_part(positions, key);
    if (*out)
        return FIRN_OK;
    FIRN_TRY(insert_part(op, positions, (struct part){ key, roaring_bitmap_create() }));
    *out = find_part(positions, key);
    return FIRN_OK;
}

firn_status firn_positions_add(struct firn_op *op, struct firn_positions *positions, int64_t position)
{
    struct part *part;
    if (position < 0 || position > FIRN_POSITION_MAX)
        return firn_fail(op, FIRN_CORRUPT, "row position %" PRId64 " is not between 0 and %" PRId64, position,
                         FIRN_POSITION_MAX);
    FIRN_TRY(get_part(op, positions, (uint32_t)(position >> 32), &part));
    roaring_bitmap_add(part->bitmap, (uint32_t)position);
    return FIRN_OK;
}

firn_status firn_positions_merge(struct firn_op *op, struct firn_positions *positions,
                                 const struct firn_positions *other)
{
    for (size_t i = 0; i < other->parts.count; i++) {
        struct part *part;
        FIRN_TRY(get_part(op, positions, other->parts.items[i].key, &part));
        roaring_bitmap_or_inplace(part->bitmap, other->parts.items[i].bitmap);
    }
    return FIRN_OK;
}

bool firn_positions_contains(const struct firn_positions *positions, int64_t position)
{
    if (position < 0 || position > FIRN_POSITION_MAX)
        return false;
    const struct part *part = find_part(positions, (uint32_t)(position >> 32));
    return part && roaring_bitmap_contains(part->bitmap, (uint32_t)position);
}

uint64_t firn_positions_count(const struct firn_positions *positions)
{
    uint64_t count = 0;
    for (size_t i = 0; i < positions->parts.count; i++)
        count += roaring_bitmap_get_cardinality(positions->parts.items[i].bitmap);
    return count;
}

size_t firn_positions_bytes(const struct firn_positions *positions)
{
    size_t bytes = sizeof *positions;
    for (size_t i = 0; i < positions->parts.count; i++)
        bytes += roaring_bitmap_portable_size_in_bytes(positions->parts.items[i].bitmap);
    return bytes;
}

uint64_t firn_positions_count_range(const struct firn_positions *positions, int64_t from, int64_t to)
{
    uint64_t count = 0;
    from = FIRN_MAX(from, 0);
    for (size_t i = from < to ? lower_bound(positions, (uint32_t)FIRN_MIN(from >> 32, INT64_C(1) << 31)) : SIZE_MAX;
         i < positions->parts.count; i++) {
        const struct part *part = &positions->parts.items[i];
        int64_t start = (int64_t)part->key << 32;
        if (start >= to)
            break;
        uint64_t low = from > start ? (uint64_t)(from - start) : 0;
        uint64_t high = (uint64_t)FIRN_MIN(to - start, INT64_C(1) << 32);
        count += roaring_bitmap_range_cardinality(part->bitmap, low, high);
    }
    return count;
}

/* The positions of one part that are not below `from`; at most `max`. */
static size_t read_part(const struct part *part, int64_t from, int64_t *out, size_t max)
{
    uint32_t lows[64];
    size_t count = 0;
    int64_t start = (int64_t)part->key << 32;
    roaring_uint32_iterator_t iterator;
    roaring_init_iterator(part->bitmap, &iterator);
    if (from > start)
        roaring_move_uint32_iterator_equalorlarger(&iterator, (uint32_t)(from - start));
    while (count < max && iterator.has_value) {
        uint32_t wanted = (uint32_t)FIRN_MIN(max - count, sizeof lows / sizeof *lows);
        uint32_t got = roaring_read_uint32_iterator(&iterator, lows, wanted);
        for (uint32_t i = 0; i < got; i++)
            out[count++] = start | lows[i];
    }
    return count;
}

size_t firn_positions_read(const struct firn_positions *positions, int64_t from, int64_t *out, size_t max)
{
    size_t count = 0;
    from = FIRN_MAX(from, 0);
    if (from > FIRN_POSITION_MAX)
        return 0;
    for (size_t i = lower_bound(positions, (uint32_t)(from >> 32)); i < positions->parts.count && count < max; i++)
        count += read_part(&positions->parts.items[i], from, out + count, max - count);
    return count;
}

bool firn_positions_next(const struct firn_positions *positions, int64_t from, int64_t *out)
{
    return firn_positions_read(positions, from, out, 1) == 1;
}

/* The portable form: a count, then each bitmap behind its high half. */

static firn_status parse_part(struct firn_op *op, struct firn_positions *positions, struct firn_cursor *in)
{
    uint32_t key = firn_take_le32(in);
    struct firn_bytes bitmap = firn_take_roaring32(in);
    if (key > KEY_MAX)
        firn_cursor_fail(in, "has a high half that the reference refuses");
    if (positions->parts.count > 0 && key <= positions->parts.items[positions->parts.count - 1].key)
        firn_cursor_fail(in, "has high halves that do not ascend");
    FIRN_TRY(firn_cursor_finish(op, in, "bitmap of positions"));
    struct part part = { key, roaring_bitmap_portable_deserialize_safe((const char *)bitmap.data, bitmap.len) };
    return insert_part(op, positions, part);
}

firn_status firn_positions_parse(struct firn_op *op, struct firn_bytes bytes, struct firn_positions **out)
{
    struct firn_cursor in = firn_cursor_of(bytes);
    FIRN_TRY(firn_positions_new(op, out));
    for (uint64_t left = firn_take_le64(&in); left > 0 && !in.failure; left--)
        FIRN_TRY(parse_part(op, *out, &in));
    if (firn_cursor_left(&in) > 0)
        firn_cursor_fail(&in, "goes on behind its last bitmap");
    return firn_cursor_finish(op, &in, "bitmap of positions");
}

static firn_status print_part(struct firn_op *op, const struct part *part, struct firn_buffer *out)
{
    uint8_t *at;
    roaring_bitmap_run_optimize(part->bitmap);
    size_t size = roaring_bitmap_portable_size_in_bytes(part->bitmap);
    FIRN_TRY(firn_buffer_extend(op, out, 4 + size, &at));
    firn_store_le32(at, part->key);
    roaring_bitmap_portable_serialize(part->bitmap, (char *)at + 4);
    return FIRN_OK;
}

firn_status firn_positions_print(struct firn_op *op, struct firn_positions *positions, struct firn_buffer *out)
{
    uint8_t count_bytes[8];
    uint64_t count = 0;
    for (size_t i = 0; i < positions->parts.count; i++)
        count += !roaring_bitmap_is_empty(positions->parts.items[i].bitmap);
    firn_store_le64(count_bytes, count);
    FIRN_TRY(firn_buffer_append(op, out, count_bytes, sizeof count_bytes));
    for (size_t i = 0; i < positions->parts.count; i++)
        if (!roaring_bitmap_is_empty(positions->parts.items[i].bitmap))
            FIRN_TRY(print_part(op, &positions->parts.items[i], out));
    return FIRN_OK;
}
