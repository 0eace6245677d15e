/* Radix sort by eight bytes of the keys at a time, from behind the bytes that all keys share; rows that are equal in
 * them are sorted by the next eight. */
#include "rewrite/key_sort.h"

#include "base/math.h"

#define FEW_ROWS   32 /* are sorted by comparing whole keys */
#define LEVELS_MAX 32 /* and so are rows whose keys are still equal after so many turns */

#define MANY_ROWS (1 << 15) /* are dealt to buckets */

enum { PREFIX_BYTES = 8, DIGITS = 256, BUCKET_BITS = 11, BUCKETS = 1 << BUCKET_BITS };

struct entry {
    uint64_t prefix;
    uint32_t row;
};
_Static_assert(2 * sizeof(struct entry) == FIRN_KEY_SORT_ROW_BYTES, "an entry and room to move it");

struct sorting {
    const struct firn_row_keys *keys;
    struct entry *entries, *room;
};

/* Bytes that all keys share from `depth` on; `*same`: the keys do not differ at all. */
static size_t shared_bytes(const struct sorting *sorting, size_t first, size_t count, size_t depth, bool *same)
{
    struct firn_bytes least = firn_row_key(sorting->keys, sorting->entries[first].row);
    size_t shared = least.len - FIRN_MIN(depth, least.len);
    *same = true;
    for (size_t i = 1; i < count; i++) {
        struct firn_bytes key = firn_row_key(sorting->keys, sorting->entries[first + i].row);
        size_t most = FIRN_MIN(shared, key.len - FIRN_MIN(depth, key.len)), at = 0;
        *same = *same && key.len == least.len;
        if (most > 0 && memcmp(key.data + depth, least.data + depth, most) == 0)
            at = most;
        while (at < most && key.data[depth + at] == least.data[depth + at])
            at++;
        *same = *same && at == shared;
        shared = at;
    }
    return shared;
}

/* The eight bytes of a key from `depth` on, zeros where it ends. */
static uint64_t prefix_at(struct firn_bytes key, size_t depth)
{
    uint8_t padded[PREFIX_BYTES] = { 0 };
    size_t left = key.len - FIRN_MIN(depth, key.len);
    if (left >= PREFIX_BYTES)
        return firn_load_be64(key.data + depth);
    if (left > 0 && key.len >= PREFIX_BYTES)
        return firn_load_be64(key.data + key.len - PREFIX_BYTES) << 8 * (PREFIX_BYTES - left);
    if (left > 0)
        memcpy(padded, key.data + depth, left);
    return firn_load_be64(padded);
}

static void take_prefixes(const struct sorting *sorting, size_t first, size_t count, size_t depth)
{
    struct entry *entries = sorting->entries + first;
    for (size_t i = 0; i < count; i++)
        entries[i].prefix = prefix_at(firn_row_key(sorting->keys, entries[i].row), depth);
}

static void count_digits(const struct entry *entries, size_t count, uint32_t counts[PREFIX_BYTES][DIGITS])
{
    memset(counts, 0, sizeof(uint32_t) * PREFIX_BYTES * DIGITS);
    for (size_t i = 0; i < count; i++)
        for (int byte = 0; byte < PREFIX_BYTES; byte++)
            counts[byte][entries[i].prefix >> (8 * byte) & 0xff]++;
}

/* From counts to the places where each digit's entries begin. False: all have the same digit. */
static bool place_digits(uint32_t *counts, size_t count)
{
    uint32_t begin = 0;
    for (int digit = 0; digit < DIGITS; digit++) {
        uint32_t here = counts[digit];
        if (here == count)
            return false;
        counts[digit] = begin;
        begin += here;
    }
    return true;
}

/* By prefix, the least significant digit first; what is equal stays in order. */
static void sort_by_prefix(const struct sorting *sorting, size_t first, size_t count)
{
    uint32_t counts[PREFIX_BYTES][DIGITS];
    struct entry *from = sorting->entries + first, *to = sorting->room + first;
    count_digits(from, count, counts);
    for (int byte = 0; byte < PREFIX_BYTES; byte++) {
        if (!place_digits(counts[byte], count))
            continue;
        for (size_t i = 0; i < count; i++)
            to[counts[byte][from[i].prefix >> (8 * byte) & 0xff]++] = from[i];
        struct entry *swapped = from;
        from = to;
        to = swapped;
    }
    if (from != sorting->entries + first)
        memcpy(sorting->entries + first, from, count * sizeof *from);
}

static int compare_rows(const struct sorting *sorting, const struct entry *a, const struct entry *b)
{
    int order = firn_key_compare(firn_row_key(sorting->keys, a->row), firn_row_key(sorting->keys, b->row));
    return order ? order : (a->row > b->row) - (a->row < b->row);
}

static void sort_few(const struct sorting *sorting, size_t first, size_t count)
{
    struct entry *entries = sorting->entries + first;
    for (size_t i = 1; i < count; i++) {
        struct entry entry = entries[i];
        size_t at = i;
        for (; at > 0 && compare_rows(sorting, &entry, &entries[at - 1]) < 0; at--)
            entries[at] = entries[at - 1];
        entries[at] = entry;
    }
}

/* Merging by whole keys, for keys that share very many bytes in ever new ways. */
static void sort_whole(const struct sorting *sorting, size_t first, size_t count)
{
    struct entry *entries = sorting->entries + first, *room = sorting->room + first;
    size_t half = count / 2, left = 0, right = half, at = 0;
    if (count <= FEW_ROWS) {
        sort_few(sorting, first, count);
        return;
    }
    sort_whole(sorting, first, half);
    sort_whole(sorting, first + half, count - half);
    memcpy(room, entries, count * sizeof *entries);
    while (left < half && right < count)
        entries[at++] = compare_rows(sorting, &room[right], &room[left]) < 0 ? room[right++] : room[left++];
    while (left < half)
        entries[at++] = room[left++];
    while (right < count)
        entries[at++] = room[right++];
}

static void sort_prefixed(const struct sorting *sorting, size_t first, size_t count, size_t depth, int level);

static void sort_range(const struct sorting *sorting, size_t first, size_t count, size_t depth, int level)
{
    bool same;
    if (count <= FEW_ROWS || level > LEVELS_MAX) {
        sort_whole(sorting, first, count);
        return;
    }
    depth += shared_bytes(sorting, first, count, depth, &same);
    if (same)
        return;
    take_prefixes(sorting, first, count, depth);
    sort_prefixed(sorting, first, count, depth, level);
}

/* Rows whose prefixes are taken at `depth`. */
static void sort_prefixed(const struct sorting *sorting, size_t first, size_t count, size_t depth, int level)
{
    if (count <= FEW_ROWS) {
        sort_few(sorting, first, count);
        return;
    }
    sort_by_prefix(sorting, first, count);
    const struct entry *entries = sorting->entries + first;
    bool is_whole = !sorting->keys->offsets && depth + PREFIX_BYTES >= sorting->keys->width;
    for (size_t i = 0, end; i < count && !is_whole; i = end) {
        for (end = i + 1; end < count && entries[end].prefix == entries[i].prefix;)
            end++;
        if (end - i > 1)
            sort_range(sorting, first + i, end - i, depth + PREFIX_BYTES, level + 1);
    }
}

/* Rows dealt to buckets: bucket i begins at begins[i]. */
struct dealt {
    struct sorting sorting;
    size_t depth;
    uint32_t begins[BUCKETS + 1];
};

static uint32_t bucket_of(const struct entry *entry)
{
    return (uint32_t)(entry->prefix >> (8 * PREFIX_BYTES - BUCKET_BITS));
}

static void deal(struct dealt *dealt, size_t count)
{
    struct sorting *sorting = &dealt->sorting;
    const struct entry *entries = sorting->entries;
    uint32_t next[BUCKETS] = { 0 }, begin = 0;
    for (size_t i = 0; i < count; i++)
        next[bucket_of(&entries[i])]++;
    for (int i = 0; i < BUCKETS; i++) {
        uint32_t rows = next[i];
        dealt->begins[i] = next[i] = begin;
        begin += rows;
    }
    dealt->begins[BUCKETS] = begin;
    for (size_t i = 0; i < count; i++)
        sorting->room[next[bucket_of(&entries[i])]++] = entries[i];
    *sorting = (struct sorting){ sorting->keys, sorting->room, sorting->entries };
}

static firn_status sort_bucket(struct firn_op *op, void *context, size_t index)
{
    const struct dealt *dealt = context;
    uint32_t first = dealt->begins[index], count = dealt->begins[index + 1] - first;
    FIRN_TRY(firn_op_check(op));
    if (count > 1)
        sort_prefixed(&dealt->sorting, first, count, dealt->depth, 0);
    return FIRN_OK;
}

/* Sorts many rows; `*sorted` is where they are then. */
static firn_status sort_many(struct firn_op *op, struct firn_pool *pool, const struct sorting *sorting, size_t count,
                             const struct entry **sorted)
{
    bool same;
    struct dealt *dealt = FIRN_NEW(op->arena, struct dealt);
    dealt->sorting = *sorting;
    dealt->depth = shared_bytes(sorting, 0, count, 0, &same);
    *sorted = sorting->entries;
    if (same)
        return FIRN_OK;
    take_prefixes(sorting, 0, count, dealt->depth);
    deal(dealt, count);
    *sorted = dealt->sorting.entries;
    return firn_pool_run(op, pool, BUCKETS, 0, sort_bucket, dealt);
}

static firn_status sort_entries(struct firn_op *op, struct firn_pool *pool, const struct sorting *sorting,
                                uint32_t *rows)
{
    size_t count = sorting->keys->count;
    const struct entry *sorted = sorting->entries;
    for (size_t i = 0; i < count; i++)
        sorting->entries[i].row = (uint32_t)i;
    if (count < MANY_ROWS)
        sort_range(sorting, 0, count, 0, 0);
    else
        FIRN_TRY(sort_many(op, pool, sorting, count, &sorted));
    for (size_t i = 0; i < count; i++)
        rows[i] = sorted[i].row;
    return FIRN_OK;
}

bool firn_keys_ascend(const struct firn_row_keys *keys)
{
    struct firn_bytes before = { 0 };
    for (uint32_t row = 0; row < keys->count; row++) {
        struct firn_bytes key = firn_row_key(keys, row);
        if (firn_key_compare(before, key) > 0)
            return false;
        before = key;
    }
    return true;
}

static void number_rows(uint32_t *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        rows[i] = i;
}

firn_status firn_key_sort(struct firn_op *op, struct firn_pool *pool, const struct firn_row_keys *keys,
                          struct firn_buffer *order)
{
    struct firn_scratch scratch;
    struct firn_buffer memory = { 0 };
    FIRN_TRY(firn_buffer_resize(op, order, keys->count * sizeof(uint32_t)));
    if (firn_keys_ascend(keys)) { /* rows of inputs in order: mostly seen after a few keys where they are not */
        number_rows((uint32_t *)(void *)order->data, keys->count);
        return FIRN_OK;
    }
    FIRN_TRY(firn_buffer_resize(op, &memory, 2 * (size_t)keys->count * sizeof(struct entry)));
    struct entry *entries = (struct entry *)(void *)memory.data;
    const struct sorting sorting = { keys, entries, entries + keys->count };
    firn_scratch_begin(op, &scratch);
    firn_status status = sort_entries(op, pool, &sorting, (uint32_t *)(void *)order->data);
    firn_scratch_end(op, &scratch);
    firn_buffer_done(&memory);
    return status;
}
