/* Building dictionaries: open addressing with linear probing, one loop per width of value. */
#include "format/parquet/dictionary_write.h"

#include "base/math.h"
#include "format/parquet/order.h"
#include "format/parquet/plain_write.h"
#include "format/parquet/value_key.h"

#include <assert.h>

#define ALWAYS_INLINE FIRN_ALWAYS_INLINE
#define NO_SLOT       SIZE_MAX

enum {
    INDEX_BYTES = sizeof(uint32_t),
    ENTRY_HEAD_BYTES = INDEX_BYTES + FIRN_PLAIN_LENGTH_BYTES,
    SLOT_BITS_FIRST = 10,
    BLOCK_VALUES = 32,
    PROBES_MAX = 512,  /* far more than values by chance take where half of the slots are free */
    CLOSE_DIVISOR = 4, /* a part of the integers between the least and the greatest that makes them close */
};

/* One value on its way in; inlined with a constant `width` (0: BYTE_ARRAY), so each width has its own loop. */
ALWAYS_INLINE struct firn_key value_at(union firn_values values, uint32_t width, size_t index)
{
    if (width == 0)
        return (struct firn_key){ values.slice[index].data, values.slice[index].len };
    return (struct firn_key){ values.fixed + index * width, width };
}

/* The value that begins at `start` of the values, as slots name it, and its index. */
ALWAYS_INLINE struct firn_key own_at(const uint8_t *values, uint32_t width, uint32_t start)
{
    if (width)
        return (struct firn_key){ values + (size_t)start * width, width };
    return (struct firn_key){ values + start + ENTRY_HEAD_BYTES, firn_load_le32(values + start + INDEX_BYTES) };
}

ALWAYS_INLINE uint32_t index_at(const uint8_t *values, uint32_t width, uint32_t start)
{
    return width ? start : firn_load_le32(values + start);
}

/* Where slots say that the value at `index` begins. */
ALWAYS_INLINE uint32_t start_of(const struct firn_dictionary_writer *dictionary, uint32_t width, uint32_t index)
{
    return width ? index : ((const uint32_t *)(void *)dictionary->starts.data)[index];
}

/* 0: BYTE_ARRAY. */
static uint32_t width_of(const struct firn_dictionary_writer *dictionary)
{
    if (dictionary->type == FIRN_PARQUET_BYTE_ARRAY)
        return 0;
    return (uint32_t)firn_value_width(dictionary->type, dictionary->type_length);
}

/* The value at `index`, which the dictionary holds. */
ALWAYS_INLINE struct firn_key own_value(const struct firn_dictionary_writer *dictionary, uint32_t width, uint32_t index)
{
    return own_at(dictionary->values.data, width, start_of(dictionary, width, index));
}

uint64_t firn_dictionary_writer_bytes(const struct firn_dictionary_writer *dictionary)
{
    return dictionary->values.len - (width_of(dictionary) ? 0 : (uint64_t)dictionary->count * INDEX_BYTES);
}

static uint64_t *slots_of(const struct firn_dictionary_writer *dictionary)
{
    return (uint64_t *)(void *)dictionary->slots.data;
}

void firn_dictionary_writer_init(struct firn_dictionary_writer *dictionary, enum firn_parquet_type type,
                                 uint32_t type_length, uint32_t plain_bytes_max)
{
    assert(type != FIRN_PARQUET_BOOLEAN && plain_bytes_max <= INT32_MAX);
    *dictionary = (struct firn_dictionary_writer){
        .type = type,
        .type_length = type_length,
        .plain_bytes_max = plain_bytes_max,
    };
}

void firn_dictionary_writer_done(struct firn_dictionary_writer *dictionary)
{
    firn_buffer_done(&dictionary->values);
    firn_buffer_done(&dictionary->starts);
    firn_buffer_done(&dictionary->slots);
    firn_buffer_done(&dictionary->array);
}

/* Finding by hash. */

/* Puts an entry into the first free slot from its hash on. False: many others are in its way. */
static bool place(uint64_t *slots, uint32_t bits, uint64_t entry)
{
    size_t mask = ((size_t)1 << bits) - 1;
    size_t at = entry >> (64 - bits);
    for (uint32_t probes = 0; slots[at]; at = (at + 1) & mask)
        if (++probes == PROBES_MAX)
            return false;
    slots[at] = entry;
    return true;
}

static firn_status new_slots(struct firn_op *op, uint32_t bits, struct firn_buffer *out)
{
    FIRN_TRY(firn_buffer_resize(op, out, sizeof(uint64_t) << bits));
    memset(out->data, 0, out->len);
    return FIRN_OK;
}

/* Doubles the slots; the upper hash bits that a slot keeps are all that is needed to place it again. Values chosen for
 * their hashes make the dictionary full, here as where they are added. */
static firn_status grow_slots(struct firn_op *op, struct firn_dictionary_writer *dictionary)
{
    uint32_t bits = dictionary->slot_bits + 1;
    struct firn_buffer grown = { 0 };
    FIRN_TRY(new_slots(op, bits, &grown));
    for (size_t i = 0; i < dictionary->slots.len / sizeof(uint64_t) && !dictionary->full; i++)
        dictionary->full =
            slots_of(dictionary)[i] && !place((uint64_t *)(void *)grown.data, bits, slots_of(dictionary)[i]);
    firn_buffer_done(&dictionary->slots);
    dictionary->slots = grown;
    dictionary->slot_bits = bits;
    return FIRN_OK;
}

static uint64_t new_slot(uint32_t hash, uint32_t start)
{
    return (uint64_t)hash << 32 | (start + 1);
}

/* Makes slots where there are none. Values that an array found until now may have been chosen for their hashes. */
static firn_status make_slots(struct firn_op *op, struct firn_dictionary_writer *dictionary)
{
    uint32_t bits = SLOT_BITS_FIRST, width = width_of(dictionary);
    while ((size_t)dictionary->count * 2 > (size_t)1 << bits)
        bits++;
    FIRN_TRY(new_slots(op, bits, &dictionary->slots));
    dictionary->slot_bits = bits;
    for (uint32_t i = 0; i < dictionary->count && !dictionary->full; i++) {
        uint32_t hash = firn_key_hash(own_value(dictionary, width, i), width);
        dictionary->full = !place(slots_of(dictionary), bits, new_slot(hash, start_of(dictionary, width, i)));
    }
    return FIRN_OK;
}

/* Finding integers by an array, which takes no more memory than slots would, and is much the faster where they are
 * close to each other, as numbers given out in turn, codes and dates are. */

/* An integer in the 64 bits in which differences are taken. */
ALWAYS_INLINE uint64_t integer_at(const uint8_t *values, uint32_t width, size_t index)
{
    if (width == sizeof(uint64_t))
        return (uint64_t)((const int64_t *)(const void *)values)[index];
    return (uint64_t)(int64_t)((const int32_t *)(const void *)values)[index];
}

static uint32_t *array_of(const struct firn_dictionary_writer *dictionary)
{
    return (uint32_t *)(void *)dictionary->array.data;
}

/* How far the greatest of our integers is from the least. */
static uint64_t find_span(const struct firn_dictionary_writer *dictionary, uint64_t *least)
{
    int64_t range[2] = { 0, 0 };
    const void *values = dictionary->values.data;
    if (dictionary->type == FIRN_PARQUET_INT64) {
        firn_range_of_i64(values, dictionary->count, &range[0], &range[1]);
    } else {
        int32_t narrow[2];
        firn_range_of_i32(values, dictionary->count, &narrow[0], &narrow[1]);
        range[0] = narrow[0];
        range[1] = narrow[1];
    }
    *least = (uint64_t)range[0];
    return (uint64_t)range[1] - (uint64_t)range[0];
}

/* Makes an array of our integers, with room on both sides for half as many. `*made` false: they are not close. */
static firn_status make_array(struct firn_op *op, struct firn_dictionary_writer *dictionary, bool *made)
{
    bool is_integer = dictionary->type == FIRN_PARQUET_INT32 || dictionary->type == FIRN_PARQUET_INT64;
    uint64_t least, span;
    *made = false;
    if (!is_integer || dictionary->count == 0)
        return FIRN_OK;
    span = find_span(dictionary, &least);
    if (span / CLOSE_DIVISOR >= dictionary->count)
        return FIRN_OK;
    FIRN_TRY(firn_buffer_resize(op, &dictionary->array, (size_t)(span + 1) * 2 * sizeof(uint32_t)));
    memset(dictionary->array.data, 0, dictionary->array.len);
    dictionary->array_base = least - (span + 1) / 2;
    uint32_t width = (uint32_t)firn_value_width(dictionary->type, 0);
    for (uint32_t i = 0; i < dictionary->count; i++)
        array_of(dictionary)[integer_at(dictionary->values.data, width, i) - dictionary->array_base] = i + 1;
    *made = true;
    return FIRN_OK;
}

/* Either. */

static void drop_finder(struct firn_dictionary_writer *dictionary)
{
    firn_buffer_done(&dictionary->slots);
    firn_buffer_done(&dictionary->array);
    dictionary->slot_bits = 0;
}

/* Makes room for a block of values to be found: at the first value, after a cut, and when there are many more. What is
 * best is asked each time that the dictionary has doubled. */
static firn_status make_room(struct firn_op *op, struct firn_dictionary_writer *dictionary)
{
    bool made;
    if (dictionary->array.len > 0 ||
        (dictionary->slot_bits > 0 && (size_t)dictionary->count * 2 <= (size_t)1 << dictionary->slot_bits))
        return FIRN_OK;
    FIRN_TRY(make_array(op, dictionary, &made));
    if (made) {
        firn_buffer_done(&dictionary->slots);
        dictionary->slot_bits = 0;
        return FIRN_OK;
    }
    return dictionary->slot_bits == 0 ? make_slots(op, dictionary) : grow_slots(op, dictionary);
}

static firn_status append_slice(struct firn_op *op, struct firn_dictionary_writer *dictionary, struct firn_key value)
{
    uint32_t start = (uint32_t)dictionary->values.len;
    uint8_t *entry;
    FIRN_TRY(firn_buffer_append(op, &dictionary->starts, &start, sizeof start));
    FIRN_TRY(firn_buffer_extend(op, &dictionary->values, ENTRY_HEAD_BYTES + value.len, &entry));
    firn_store_le32(entry, dictionary->count);
    firn_store_le32(entry + INDEX_BYTES, (uint32_t)value.len);
    if (value.len)
        memcpy(entry + ENTRY_HEAD_BYTES, value.data, value.len);
    return FIRN_OK;
}

/* Appends a value that is not there yet, unless that makes the dictionary full. */
static firn_status append_value(struct firn_op *op, struct firn_dictionary_writer *dictionary, struct firn_key value)
{
    bool is_slice = dictionary->type == FIRN_PARQUET_BYTE_ARRAY;
    uint64_t bytes = value.len + (is_slice ? FIRN_PLAIN_LENGTH_BYTES : 0);
    dictionary->full = firn_dictionary_writer_bytes(dictionary) + bytes > dictionary->plain_bytes_max;
    if (dictionary->full)
        return FIRN_OK;
    if (is_slice)
        FIRN_TRY(append_slice(op, dictionary, value));
    else
        FIRN_TRY(firn_buffer_append(op, &dictionary->values, value.data, value.len));
    dictionary->count++;
    return FIRN_OK;
}

/* Adds a value whose slot is the one at `at`; none, and no room for values with its hash: the dictionary is full. */
static __attribute__((noinline)) firn_status add_hashed(struct firn_op *op, struct firn_dictionary_writer *dictionary,
                                                        struct firn_key value, uint32_t hash, size_t at)
{
    dictionary->full = at == NO_SLOT;
    if (!dictionary->full)
        FIRN_TRY(append_value(op, dictionary, value));
    if (!dictionary->full)
        slots_of(dictionary)[at] = new_slot(hash, start_of(dictionary, width_of(dictionary), dictionary->count - 1));
    return FIRN_OK;
}

/* What finding needs, which stays the same until a value is added. */
struct finder {
    const uint64_t *slots;
    uint32_t bits;
    const uint8_t *values;
};

/* Finds a value; else `*at` is the slot for it, NO_SLOT if many others, chosen for their hashes, are in its way. */
ALWAYS_INLINE bool find(struct finder finder, struct firn_key value, uint32_t width, uint32_t hash, size_t *at,
                        uint32_t *index)
{
    size_t mask = ((size_t)1 << finder.bits) - 1, slot = hash >> (32 - finder.bits);
    uint32_t probes = 0;
    for (uint64_t entry; (entry = finder.slots[slot]) != 0; slot = (slot + 1) & mask) {
        uint32_t start = (uint32_t)entry - 1;
        if (entry >> 32 == hash && firn_key_same(value, own_at(finder.values, width, start), width)) {
            *index = index_at(finder.values, width, start);
            return true;
        }
        if (++probes == PROBES_MAX) {
            *at = NO_SLOT;
            return false;
        }
    }
    *at = slot;
    return false;
}

/* Hashes a block of values. Slots, and then the values that those name, are on their way into the cache when they are
 * needed: a dictionary is larger than that, and waiting for memory would be most of the work. */
ALWAYS_INLINE void prepare_block(struct finder finder, union firn_values values, uint32_t width, size_t count,
                                 uint32_t hashes[BLOCK_VALUES])
{
    uint32_t shift = 32 - finder.bits;
    for (size_t i = 0; i < count; i++) {
        hashes[i] = firn_key_hash(value_at(values, width, i), width);
        __builtin_prefetch(&finder.slots[hashes[i] >> shift]);
    }
    for (size_t i = 0; i < count && width != sizeof(uint32_t); i++) {
        uint64_t entry = finder.slots[hashes[i] >> shift];
        if (entry)
            __builtin_prefetch(finder.values + (uint64_t)((uint32_t)entry - 1) * (width ? width : 1));
    }
}

static struct finder finder_of(const struct firn_dictionary_writer *dictionary)
{
    return (struct finder){ slots_of(dictionary), dictionary->slot_bits, dictionary->values.data };
}

/* Adds the next block of values. */
ALWAYS_INLINE firn_status add_block(struct firn_op *op, struct firn_dictionary_writer *dictionary,
                                    union firn_values block, uint32_t width, size_t count, uint32_t *indices)
{
    uint32_t hashes[BLOCK_VALUES];
    struct finder finder = finder_of(dictionary);
    prepare_block(finder, block, width, count, hashes);
    for (size_t i = 0; i < count && !dictionary->full; i++) {
        size_t at;
        struct firn_key value = value_at(block, width, i);
        if (find(finder, value, width, hashes[i], &at, &indices[i]))
            continue;
        indices[i] = dictionary->count;
        FIRN_TRY(add_hashed(op, dictionary, value, hashes[i], at));
        finder = finder_of(dictionary);
    }
    return FIRN_OK;
}

/* Adds an integer that the array does not have, or for which it has no place: it is made anew then, if it still pays.
 */
static __attribute__((noinline)) firn_status add_to_array(struct firn_op *op, struct firn_dictionary_writer *dictionary,
                                                          struct firn_key value, uint64_t place)
{
    FIRN_TRY(append_value(op, dictionary, value));
    if (dictionary->full)
        return FIRN_OK;
    if (place < dictionary->array.len / sizeof(uint32_t)) {
        array_of(dictionary)[place] = dictionary->count;
        return FIRN_OK;
    }
    drop_finder(dictionary);
    return make_room(op, dictionary);
}

/* Adds integers while there is an array; `*done` of them. */
ALWAYS_INLINE firn_status add_integers(struct firn_op *op, struct firn_dictionary_writer *dictionary,
                                       union firn_values values, uint32_t width, size_t count, uint32_t *indices,
                                       size_t *done)
{
    size_t i = 0;
    while (i < count && dictionary->array.len > 0 && !dictionary->full) {
        const uint32_t *array = array_of(dictionary);
        uint64_t base = dictionary->array_base, length = dictionary->array.len / sizeof *array, place = 0;
        for (; i < count; i++) {
            place = integer_at(values.fixed, width, i) - base;
            uint32_t entry = place < length ? array[place] : 0;
            if (entry == 0)
                break;
            indices[i] = entry - 1;
        }
        if (i == count)
            break;
        indices[i] = dictionary->count;
        FIRN_TRY(add_to_array(op, dictionary, value_at(values, width, i), place));
        i++;
    }
    *done = i;
    return FIRN_OK;
}

ALWAYS_INLINE firn_status add_all(struct firn_op *op, struct firn_dictionary_writer *dictionary,
                                  union firn_values values, uint32_t width, size_t count, uint32_t *indices)
{
    for (size_t done = 0; done < count && !dictionary->full;) {
        union firn_values rest = firn_values_from(values, dictionary->type, dictionary->type_length, done);
        size_t some = FIRN_MIN(count - done, BLOCK_VALUES);
        FIRN_TRY(make_room(op, dictionary));
        if ((width == 4 || width == 8) && dictionary->array.len > 0)
            FIRN_TRY(add_integers(op, dictionary, rest, width, count - done, indices + done, &some));
        else
            FIRN_TRY(add_block(op, dictionary, rest, width, some, indices + done));
        done += some;
    }
    return FIRN_OK;
}

firn_status firn_dictionary_writer_add(struct firn_op *op, struct firn_dictionary_writer *dictionary,
                                       union firn_values values, size_t count, uint32_t *indices)
{
    uint32_t width = width_of(dictionary);
    switch (width) {
    case 0:
        return add_all(op, dictionary, values, 0, count, indices);
    case 4:
        return add_all(op, dictionary, values, 4, count, indices);
    case 8:
        return add_all(op, dictionary, values, 8, count, indices);
    case 16:
        return add_all(op, dictionary, values, 16, count, indices);
    default:
        return add_all(op, dictionary, values, width, count, indices);
    }
}

struct firn_dictionary_mark firn_dictionary_writer_mark(const struct firn_dictionary_writer *dictionary)
{
    return (struct firn_dictionary_mark){ dictionary->count, dictionary->values.len };
}

void firn_dictionary_writer_cut(struct firn_dictionary_writer *dictionary, struct firn_dictionary_mark mark)
{
    dictionary->count = mark.count;
    dictionary->values.len = mark.values_len;
    dictionary->starts.len = FIRN_MIN(dictionary->starts.len, mark.count * sizeof(uint32_t));
    dictionary->full = false;
    drop_finder(dictionary);
}

/* How many of the values both begin with are the same. */
static uint32_t common_count(const struct firn_dictionary_writer *dictionary, const struct firn_dictionary *other)
{
    uint32_t width = width_of(dictionary);
    uint32_t end = FIRN_MIN(dictionary->count, other->count), common = 0;
    for (; common < end; common++) {
        struct firn_key a = own_value(dictionary, width, common), b = value_at(other->values, width, common);
        if (a.len != b.len || (a.len && memcmp(a.data, b.data, a.len) != 0))
            break;
    }
    return common;
}

/* Adds the values from `start` on; `unique` is false when one of them is there already. */
static firn_status add_rest(struct firn_op *op, struct firn_dictionary_writer *dictionary,
                            const struct firn_dictionary *other, uint32_t start, bool *unique)
{
    for (uint32_t i = start; i < other->count; i++) {
        uint32_t index;
        union firn_values value = firn_values_from(other->values, other->type, other->type_length, i);
        FIRN_TRY(firn_dictionary_writer_add(op, dictionary, value, 1, &index));
        *unique = !dictionary->full && index == i;
        if (!*unique)
            return FIRN_OK;
    }
    *unique = true;
    return FIRN_OK;
}

firn_status firn_dictionary_writer_extend(struct firn_op *op, struct firn_dictionary_writer *dictionary,
                                          const struct firn_dictionary *other, bool *same)
{
    assert(other->type == dictionary->type && other->type_length == dictionary->type_length);
    uint32_t common = common_count(dictionary, other);
    *same = common == other->count;
    if (*same || common < dictionary->count)
        return FIRN_OK;
    struct firn_dictionary_mark mark = firn_dictionary_writer_mark(dictionary);
    FIRN_TRY(add_rest(op, dictionary, other, common, same));
    if (!*same)
        firn_dictionary_writer_cut(dictionary, mark);
    return FIRN_OK;
}

/* The values without their indices. */
static firn_status print_slices(struct firn_op *op, const struct firn_dictionary_writer *dictionary,
                                struct firn_buffer *out)
{
    uint8_t *at;
    FIRN_TRY(firn_buffer_extend(op, out, firn_dictionary_writer_bytes(dictionary), &at));
    for (uint32_t i = 0; i < dictionary->count; i++) {
        struct firn_key value = own_value(dictionary, 0, i);
        memcpy(at, value.data - FIRN_PLAIN_LENGTH_BYTES, FIRN_PLAIN_LENGTH_BYTES + value.len);
        at += FIRN_PLAIN_LENGTH_BYTES + value.len;
    }
    return FIRN_OK;
}

firn_status firn_dictionary_writer_print(struct firn_op *op, const struct firn_dictionary_writer *dictionary,
                                         struct firn_buffer *out)
{
    if (dictionary->type == FIRN_PARQUET_BYTE_ARRAY)
        return print_slices(op, dictionary, out);
    return firn_plain_encode(op, dictionary->type, dictionary->type_length,
                             (union firn_values){ .fixed = dictionary->values.data }, dictionary->count, out);
}

static void gather_slices(const struct firn_dictionary_writer *dictionary, const uint32_t *indices, size_t count,
                          struct firn_slice *out)
{
    for (size_t i = 0; i < count; i++) {
        struct firn_key value = own_value(dictionary, 0, indices[i]);
        out[i] = (struct firn_slice){ .data = value.data, .len = (uint32_t)value.len };
    }
}

firn_status firn_dictionary_writer_gather(struct firn_op *op, const struct firn_dictionary_writer *dictionary,
                                          const uint32_t *indices, size_t count, struct firn_buffer *out)
{
    size_t width = firn_value_width(dictionary->type, dictionary->type_length);
    if (dictionary->type != FIRN_PARQUET_BYTE_ARRAY)
        return firn_values_gather(op, dictionary->values.data, width, indices, count, out);
    FIRN_TRY(firn_buffer_resize(op, out, count * sizeof(struct firn_slice)));
    gather_slices(dictionary, indices, count, (struct firn_slice *)(void *)out->data);
    return FIRN_OK;
}
