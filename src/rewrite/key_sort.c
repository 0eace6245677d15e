/* Radix sort by eight bytes of the keys at a time, from behind the bytes that all keys share; rows that are equal in
 * them are sorted by the next eight. */
#include "rewrite/key_sort.h"

#include "base/math.h"

#include <stdlib.h>

#define FEW_ROWS   32 /* are sorted by comparing whole keys */
#define LEVELS_MAX 32 /* and so are rows whose keys are still equal after so many turns */

enum { PREFIX_BYTES = 8, DIGITS = 256 };

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

static uint64_t prefix_at(struct firn_bytes key, size_t depth)
{
    uint8_t padded[PREFIX_BYTES] = { 0 };
    if (depth < key.len)
        memcpy(padded, key.data + depth, FIRN_MIN(key.len - depth, sizeof padded));
    uint64_t value = firn_load_le64(padded);
    return __builtin_bswap64(value);
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

firn_status firn_key_sort(struct firn_op *op, const struct firn_row_keys *keys, struct firn_buffer *order)
{
    struct firn_buffer memory = { 0 };
    size_t count = keys->count;
    FIRN_TRY(firn_buffer_resize(op, order, count * sizeof(uint32_t)));
    FIRN_TRY(firn_buffer_resize(op, &memory, 2 * count * sizeof(struct entry)));
    struct entry *entries = (struct entry *)(void *)memory.data;
    struct sorting sorting = { keys, entries, entries + count };
    for (size_t i = 0; i < count; i++)
        entries[i].row = (uint32_t)i;
    sort_range(&sorting, 0, count, 0, 0);
    uint32_t *rows = (uint32_t *)(void *)order->data;
    for (size_t i = 0; i < count; i++)
        rows[i] = entries[i].row;
    firn_buffer_done(&memory);
    return FIRN_OK;
}
