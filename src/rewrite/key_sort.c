/* Radix sort by some bytes of the keys at a time, from behind the bytes that all keys share; rows that are equal in
 * them are sorted by the next bytes. An entry is 64 bits: in its low bits the row's number, in as many as the greatest
 * needs, and in those above them what fits of the key. */
#include "rewrite/key_sort.h"

#include "base/math.h"

#define FEW_ROWS   32 /* are sorted by comparing them */
#define LEVELS_MAX 32 /* and so are rows whose keys are still equal after so many turns */

#define MANY_ROWS (1 << 15) /* are dealt to buckets */

enum { ENTRY_BITS = 64, LOAD_BYTES = 8, DIGIT_BITS_MAX = 11, FEW_DIGIT_BITS = 8, BUCKET_BITS = 11 };
enum { BUCKETS = 1 << BUCKET_BITS, DIGITS_MAX = 1 << DIGIT_BITS_MAX };

_Static_assert(2 * sizeof(uint64_t) == FIRN_KEY_SORT_ROW_BYTES, "an entry and room to move it");

struct sorting {
    const struct firn_row_keys *keys;
    unsigned row_bits;
    uint64_t *entries, *room;
};

static inline uint32_t row_of(const struct sorting *sorting, uint64_t entry)
{
    return (uint32_t)(entry & ((UINT64_C(1) << sorting->row_bits) - 1));
}

static inline struct firn_bytes key_of(const struct sorting *sorting, uint64_t entry)
{
    return firn_row_key(sorting->keys, row_of(sorting, entry));
}

/* Whether entries hold the same of their keys. */
static bool is_tie(const struct sorting *sorting, uint64_t a, uint64_t b)
{
    return (a ^ b) >> sorting->row_bits == 0;
}

/* Whole bytes of a key that an entry holds. */
static size_t held_bytes(const struct sorting *sorting)
{
    return (ENTRY_BITS - sorting->row_bits) / 8;
}

/* Whether entries hold all that is left of their keys from `depth` on. */
static bool holds_rest(const struct sorting *sorting, size_t depth)
{
    return !sorting->keys->offsets && depth + held_bytes(sorting) >= sorting->keys->width;
}

/* How many of `len` bytes are the same, from the first on. */
static size_t common_bytes(const uint8_t *a, const uint8_t *b, size_t len)
{
    size_t at = 0;
    for (; len - at >= LOAD_BYTES; at += LOAD_BYTES) {
        uint64_t differing = firn_load_be64(a + at) ^ firn_load_be64(b + at);
        if (differing)
            return at + (size_t)__builtin_clzll(differing) / 8;
    }
    while (at < len && a[at] == b[at])
        at++;
    return at;
}

/* Bytes that all keys share from `depth` on; `*same`: the keys do not differ at all. */
static size_t shared_bytes(const struct sorting *sorting, size_t first, size_t count, size_t depth, bool *same)
{
    struct firn_bytes least = key_of(sorting, sorting->entries[first]);
    size_t shared = least.len - FIRN_MIN(depth, least.len);
    *same = true;
    for (size_t i = 1; i < count; i++) {
        struct firn_bytes key = key_of(sorting, sorting->entries[first + i]);
        size_t most = FIRN_MIN(shared, key.len - FIRN_MIN(depth, key.len));
        size_t common = most > 0 ? common_bytes(key.data + depth, least.data + depth, most) : 0;
        *same = *same && key.len == least.len && common == shared;
        shared = common;
    }
    return shared;
}

/* The eight bytes of a key from `depth` on, zeros where it ends. */
static uint64_t prefix_at(struct firn_bytes key, size_t depth)
{
    uint8_t padded[LOAD_BYTES] = { 0 };
    size_t left = key.len - FIRN_MIN(depth, key.len);
    if (left >= LOAD_BYTES)
        return firn_load_be64(key.data + depth);
    if (left > 0 && key.len >= LOAD_BYTES)
        return firn_load_be64(key.data + key.len - LOAD_BYTES) << 8 * (LOAD_BYTES - left);
    if (left > 0)
        memcpy(padded, key.data + depth, left);
    return firn_load_be64(padded);
}

/* Puts into entries what they hold of keys from `depth` on. */
static void take_prefixes(const struct sorting *sorting, size_t first, size_t count, size_t depth)
{
    uint64_t *entries = sorting->entries + first, row_mask = (UINT64_C(1) << sorting->row_bits) - 1;
    for (size_t i = 0; i < count; i++)
        entries[i] = (prefix_at(key_of(sorting, entries[i]), depth) & ~row_mask) | (entries[i] & row_mask);
}

/* The bits, above those of the row, in which entries are not all the same. */
static uint64_t differing_bits(const struct sorting *sorting, const uint64_t *entries, size_t count)
{
    uint64_t differing = 0;
    for (size_t i = 1; i < count; i++)
        differing |= entries[i] ^ entries[0];
    return differing >> sorting->row_bits << sorting->row_bits;
}

/* Moves entries to where those of their digit belong, in the order in which they are: `bits` from `shift` on. */
static void sort_by_digit(const uint64_t *from, size_t count, unsigned shift, unsigned bits, uint64_t *to)
{
    uint32_t places[DIGITS_MAX], begin = 0, digits = UINT32_C(1) << bits;
    memset(places, 0, digits * sizeof *places);
    for (size_t i = 0; i < count; i++)
        places[from[i] >> shift & (digits - 1)]++;
    for (uint32_t i = 0; i < digits; i++) {
        uint32_t here = places[i];
        places[i] = begin;
        begin += here;
    }
    for (size_t i = 0; i < count; i++)
        to[places[from[i] >> shift & (digits - 1)]++] = from[i];
}

/* By the bits in which they differ, the least significant digit first; what is equal stays in order. */
static void sort_by_prefix(const struct sorting *sorting, size_t first, size_t count)
{
    uint64_t *from = sorting->entries + first, *to = sorting->room + first;
    uint64_t differing = differing_bits(sorting, from, count);
    if (differing == 0)
        return;
    unsigned low = (unsigned)__builtin_ctzll(differing),
             width = ENTRY_BITS - (unsigned)__builtin_clzll(differing) - low;
    unsigned most = count < DIGITS_MAX ? FEW_DIGIT_BITS : DIGIT_BITS_MAX;
    unsigned turns = (width + most - 1) / most, bits = (width + turns - 1) / turns;
    for (unsigned i = 0; i < turns; i++) {
        sort_by_digit(from, count, low + i * bits, FIRN_MIN(bits, width - i * bits), to);
        uint64_t *swapped = from;
        from = to;
        to = swapped;
    }
    if (from != sorting->entries + first)
        memcpy(sorting->entries + first, from, count * sizeof *from);
}

/* Whether a row comes before another one: by what their entries hold, and by whole keys where that is the same. */
static bool is_before(const struct sorting *sorting, uint64_t a, uint64_t b)
{
    if (!is_tie(sorting, a, b))
        return a < b;
    int order = firn_key_compare(key_of(sorting, a), key_of(sorting, b));
    return order ? order < 0 : a < b;
}

static void sort_few(const struct sorting *sorting, size_t first, size_t count)
{
    uint64_t *entries = sorting->entries + first;
    for (size_t i = 1; i < count; i++) {
        uint64_t entry = entries[i];
        size_t at = i;
        for (; at > 0 && is_before(sorting, entry, entries[at - 1]); at--)
            entries[at] = entries[at - 1];
        entries[at] = entry;
    }
}

/* Merging by whole keys, for keys that share very many bytes in ever new ways. */
static void sort_whole(const struct sorting *sorting, size_t first, size_t count)
{
    uint64_t *entries = sorting->entries + first, *room = sorting->room + first;
    size_t half = count / 2, left = 0, right = half, at = 0;
    if (count <= FEW_ROWS) {
        sort_few(sorting, first, count);
        return;
    }
    sort_whole(sorting, first, half);
    sort_whole(sorting, first + half, count - half);
    memcpy(room, entries, count * sizeof *entries);
    while (left < half && right < count)
        entries[at++] = is_before(sorting, room[right], room[left]) ? room[right++] : room[left++];
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
    const uint64_t *entries = sorting->entries + first;
    for (size_t i = 0, end; i < count && !holds_rest(sorting, depth); i = end) {
        for (end = i + 1; end < count && is_tie(sorting, entries[end], entries[i]);)
            end++;
        if (end - i > 1)
            sort_range(sorting, first + i, end - i, depth + held_bytes(sorting), level + 1);
    }
}

/* Rows dealt to buckets by the first bits in which they differ: bucket i begins at begins[i]. */
struct dealt {
    struct sorting sorting;
    size_t depth;
    unsigned shared_bits; /* of all entries, before those that choose the bucket */
    uint32_t begins[BUCKETS + 1];
    uint32_t *rows;
};

static uint32_t bucket_of(const struct dealt *dealt, uint64_t entry)
{
    return (uint32_t)(entry << dealt->shared_bits >> (ENTRY_BITS - BUCKET_BITS));
}

static void deal(struct dealt *dealt, size_t count)
{
    struct sorting *sorting = &dealt->sorting;
    uint64_t *entries = sorting->entries;
    uint32_t next[BUCKETS] = { 0 }, begin = 0;
    for (size_t i = 0; i < count; i++)
        next[bucket_of(dealt, entries[i])]++;
    for (int i = 0; i < BUCKETS; i++) {
        uint32_t rows = next[i];
        dealt->begins[i] = next[i] = begin;
        begin += rows;
    }
    dealt->begins[BUCKETS] = begin;
    for (size_t i = 0; i < count; i++)
        sorting->room[next[bucket_of(dealt, entries[i])]++] = entries[i];
    sorting->entries = sorting->room;
    sorting->room = entries;
}

static void give_rows(const struct sorting *sorting, size_t first, size_t count, uint32_t *rows)
{
    for (size_t i = first; i < first + count; i++)
        rows[i] = row_of(sorting, sorting->entries[i]);
}

static firn_status sort_bucket(struct firn_op *op, void *context, size_t index)
{
    const struct dealt *dealt = context;
    uint32_t first = dealt->begins[index], count = dealt->begins[index + 1] - first;
    FIRN_TRY(firn_op_check(op));
    if (count > 1)
        sort_prefixed(&dealt->sorting, first, count, dealt->depth, 0);
    give_rows(&dealt->sorting, first, count, dealt->rows);
    return FIRN_OK;
}

static firn_status sort_many(struct firn_op *op, struct firn_pool *pool, const struct sorting *sorting, size_t count,
                             uint32_t *rows)
{
    bool same;
    struct dealt *dealt = FIRN_NEW(op->arena, struct dealt);
    *dealt = (struct dealt){ .sorting = *sorting, .rows = rows };
    dealt->depth = shared_bytes(sorting, 0, count, 0, &same);
    if (same) {
        give_rows(sorting, 0, count, rows);
        return FIRN_OK;
    }
    take_prefixes(sorting, 0, count, dealt->depth);
    uint64_t differing = differing_bits(sorting, sorting->entries, count);
    dealt->shared_bits = differing ? (unsigned)__builtin_clzll(differing) : 0; /* none do in keys that are damaged */
    deal(dealt, count);
    return firn_pool_run(op, pool, BUCKETS, 0, sort_bucket, dealt);
}

static firn_status sort_entries(struct firn_op *op, struct firn_pool *pool, const struct sorting *sorting,
                                uint32_t *rows)
{
    size_t count = sorting->keys->count;
    for (size_t i = 0; i < count; i++)
        sorting->entries[i] = i;
    if (count >= MANY_ROWS)
        return sort_many(op, pool, sorting, count, rows);
    sort_range(sorting, 0, count, 0, 0);
    give_rows(sorting, 0, count, rows);
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
    FIRN_TRY(firn_buffer_resize(op, &memory, (size_t)keys->count * FIRN_KEY_SORT_ROW_BYTES));
    uint64_t *entries = (uint64_t *)(void *)memory.data;
    const struct sorting sorting = {
        .keys = keys,
        .row_bits = ENTRY_BITS - (unsigned)__builtin_clzll(keys->count), /* there are several rows */
        .entries = entries,
        .room = entries + keys->count,
    };
    firn_scratch_begin(op, &scratch);
    firn_status status = sort_entries(op, pool, &sorting, (uint32_t *)(void *)order->data);
    firn_scratch_end(op, &scratch);
    firn_buffer_done(&memory);
    return status;
}
