/* Building dictionaries: open addressing with linear probing, one loop per width of value. */
#include "format/parquet/dictionary_write.h"

#include "base/math.h"
#include "format/parquet/plain_write.h"

#include <assert.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum { SLOT_BITS_FIRST = 10, BLOCK_VALUES = 32 };

/* One value on its way in; inlined with a constant `width` (0: BYTE_ARRAY), so each width has its own loop. */
struct value {
    const uint8_t *data;
    size_t len;
};

ALWAYS_INLINE struct value value_at(union firn_values values, uint32_t width, size_t index)
{
    if (width == 0)
        return (struct value){ values.slice[index].data, values.slice[index].len };
    return (struct value){ values.fixed + index * width, width };
}

/* A multiplicative hash for numbers, whose high bits are the good ones; XXH3 for the rest. */
ALWAYS_INLINE uint32_t hash_of(struct value value, uint32_t width)
{
    if (width != 4 && width != 8)
        return (uint32_t)(XXH3_64bits(value.data, value.len) >> 32);
    uint64_t number = 0;
    memcpy(&number, value.data, width);
    return (uint32_t)((number ^ number >> 32) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

/* A BYTE_ARRAY that the dictionary holds, with its length in front. */
ALWAYS_INLINE const uint8_t *own_slice(const struct firn_dictionary_writer *dictionary, uint32_t index)
{
    return dictionary->plain.data + ((const uint32_t *)(void *)dictionary->starts.data)[index];
}

ALWAYS_INLINE bool same(const struct firn_dictionary_writer *dictionary, uint32_t index, struct value value,
                        uint32_t width)
{
    if (width)
        return memcmp(dictionary->plain.data + (size_t)index * width, value.data, width) == 0;
    const uint8_t *plain = own_slice(dictionary, index);
    return firn_load_le32(plain) == value.len &&
           (value.len == 0 || memcmp(plain + FIRN_PLAIN_LENGTH_BYTES, value.data, value.len) == 0);
}

/* The value at `index`, which the dictionary holds. */
static struct value own_value(const struct firn_dictionary_writer *dictionary, uint32_t index)
{
    if (dictionary->type != FIRN_PARQUET_BYTE_ARRAY) {
        size_t width = firn_value_width(dictionary->type, dictionary->type_length);
        return (struct value){ dictionary->plain.data + (size_t)index * width, width };
    }
    const uint8_t *plain = own_slice(dictionary, index);
    return (struct value){ plain + FIRN_PLAIN_LENGTH_BYTES, firn_load_le32(plain) };
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
    firn_buffer_done(&dictionary->plain);
    firn_buffer_done(&dictionary->starts);
    firn_buffer_done(&dictionary->slots);
}

/* Puts an entry into the first free slot from its hash on. */
static void place(uint64_t *slots, uint32_t bits, uint64_t entry)
{
    size_t mask = ((size_t)1 << bits) - 1;
    size_t at = entry >> (64 - bits);
    while (slots[at])
        at = (at + 1) & mask;
    slots[at] = entry;
}

static firn_status new_slots(struct firn_op *op, uint32_t bits, struct firn_buffer *out)
{
    FIRN_TRY(firn_buffer_resize(op, out, sizeof(uint64_t) << bits));
    memset(out->data, 0, out->len);
    return FIRN_OK;
}

/* Doubles the slots; the upper hash bits that a slot keeps are all that is needed to place it again. */
static firn_status grow_slots(struct firn_op *op, struct firn_dictionary_writer *dictionary)
{
    uint32_t bits = dictionary->slot_bits + 1;
    struct firn_buffer grown = { 0 };
    FIRN_TRY(new_slots(op, bits, &grown));
    for (size_t i = 0; i < dictionary->slots.len / sizeof(uint64_t); i++)
        if (slots_of(dictionary)[i])
            place((uint64_t *)(void *)grown.data, bits, slots_of(dictionary)[i]);
    firn_buffer_done(&dictionary->slots);
    dictionary->slots = grown;
    dictionary->slot_bits = bits;
    return FIRN_OK;
}

/* Makes slots where there are none: at the first value, and after a cut. */
static firn_status make_slots(struct firn_op *op, struct firn_dictionary_writer *dictionary)
{
    uint32_t bits = SLOT_BITS_FIRST;
    while ((size_t)dictionary->count * 2 > (size_t)1 << bits)
        bits++;
    FIRN_TRY(new_slots(op, bits, &dictionary->slots));
    dictionary->slot_bits = bits;
    for (uint32_t i = 0; i < dictionary->count; i++) {
        struct value value = own_value(dictionary, i);
        uint32_t hash = hash_of(value, (uint32_t)(dictionary->type == FIRN_PARQUET_BYTE_ARRAY ? 0 : value.len));
        place(slots_of(dictionary), bits, (uint64_t)hash << 32 | (i + 1));
    }
    return FIRN_OK;
}

static firn_status append_slice(struct firn_op *op, struct firn_dictionary_writer *dictionary, struct value value)
{
    uint32_t start = (uint32_t)dictionary->plain.len;
    uint8_t length[FIRN_PLAIN_LENGTH_BYTES];
    firn_store_le32(length, (uint32_t)value.len);
    FIRN_TRY(firn_buffer_append(op, &dictionary->starts, &start, sizeof start));
    FIRN_TRY(firn_buffer_append(op, &dictionary->plain, length, sizeof length));
    return firn_buffer_append(op, &dictionary->plain, value.data, value.len);
}

/* Appends a value that is not there yet and makes the slot at `at` point to it. */
static __attribute__((noinline)) firn_status add_new(struct firn_op *op, struct firn_dictionary_writer *dictionary,
                                                     struct value value, uint32_t hash, size_t at)
{
    bool is_slice = dictionary->type == FIRN_PARQUET_BYTE_ARRAY;
    dictionary->full =
        dictionary->plain.len + (is_slice ? FIRN_PLAIN_LENGTH_BYTES : 0) + value.len > dictionary->plain_bytes_max;
    if (dictionary->full)
        return FIRN_OK;
    if (is_slice)
        FIRN_TRY(append_slice(op, dictionary, value));
    else
        FIRN_TRY(firn_buffer_append(op, &dictionary->plain, value.data, value.len));
    slots_of(dictionary)[at] = (uint64_t)hash << 32 | ++dictionary->count;
    if ((size_t)dictionary->count * 2 > (size_t)1 << dictionary->slot_bits)
        return grow_slots(op, dictionary);
    return FIRN_OK;
}

/* Finds a value, or adds it. */
ALWAYS_INLINE firn_status add_one(struct firn_op *op, struct firn_dictionary_writer *dictionary, struct value value,
                                  uint32_t width, uint32_t hash, uint32_t *index)
{
    const uint64_t *slots = slots_of(dictionary);
    size_t mask = ((size_t)1 << dictionary->slot_bits) - 1;
    size_t at = hash >> (32 - dictionary->slot_bits);
    for (uint64_t entry; (entry = slots[at]) != 0; at = (at + 1) & mask) {
        *index = (uint32_t)entry - 1;
        if (entry >> 32 == hash && same(dictionary, *index, value, width))
            return FIRN_OK;
    }
    *index = dictionary->count;
    return add_new(op, dictionary, value, hash, at);
}

/* Hashes a block of values. Slots, and then the values that those name, are on their way into the cache when they are
 * needed: a dictionary is larger than that, and waiting for memory would be most of the work. */
ALWAYS_INLINE void prepare_block(const struct firn_dictionary_writer *dictionary, union firn_values values,
                                 uint32_t width, size_t count, uint32_t hashes[BLOCK_VALUES])
{
    const uint64_t *slots = slots_of(dictionary);
    uint32_t shift = 32 - dictionary->slot_bits;
    for (size_t i = 0; i < count; i++) {
        hashes[i] = hash_of(value_at(values, width, i), width);
        __builtin_prefetch(&slots[hashes[i] >> shift]);
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t index = (uint32_t)slots[hashes[i] >> shift] - 1; /* of a free slot: none */
        if (index < dictionary->count)
            __builtin_prefetch(width ? dictionary->plain.data + (size_t)index * width
                                     : dictionary->starts.data + (size_t)index * sizeof(uint32_t));
    }
    for (size_t i = 0; width == 0 && i < count; i++) {
        uint32_t index = (uint32_t)slots[hashes[i] >> shift] - 1;
        if (index < dictionary->count)
            __builtin_prefetch(own_slice(dictionary, index));
    }
}

ALWAYS_INLINE firn_status add_all(struct firn_op *op, struct firn_dictionary_writer *dictionary,
                                  union firn_values values, uint32_t width, size_t count, uint32_t *indices)
{
    uint32_t hashes[BLOCK_VALUES];
    for (size_t done = 0; done < count; done += BLOCK_VALUES) {
        union firn_values block = firn_values_from(values, dictionary->type, dictionary->type_length, done);
        size_t block_count = FIRN_MIN(count - done, BLOCK_VALUES);
        prepare_block(dictionary, block, width, block_count, hashes);
        for (size_t i = 0; i < block_count && !dictionary->full; i++)
            FIRN_TRY(add_one(op, dictionary, value_at(block, width, i), width, hashes[i], &indices[done + i]));
        if (dictionary->full)
            break;
    }
    return FIRN_OK;
}

firn_status firn_dictionary_writer_add(struct firn_op *op, struct firn_dictionary_writer *dictionary,
                                       union firn_values values, size_t count, uint32_t *indices)
{
    if (dictionary->slot_bits == 0)
        FIRN_TRY(make_slots(op, dictionary));
    if (dictionary->type == FIRN_PARQUET_BYTE_ARRAY)
        return add_all(op, dictionary, values, 0, count, indices);
    uint32_t width = (uint32_t)firn_value_width(dictionary->type, dictionary->type_length);
    switch (width) {
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
    return (struct firn_dictionary_mark){ dictionary->count, dictionary->plain.len };
}

void firn_dictionary_writer_cut(struct firn_dictionary_writer *dictionary, struct firn_dictionary_mark mark)
{
    dictionary->count = mark.count;
    dictionary->plain.len = mark.plain_len;
    dictionary->starts.len = FIRN_MIN(dictionary->starts.len, mark.count * sizeof(uint32_t));
    dictionary->full = false;
    firn_buffer_done(&dictionary->slots);
    dictionary->slot_bits = 0;
}

/* How many of the values both begin with are the same. */
static uint32_t common_count(const struct firn_dictionary_writer *dictionary, const struct firn_dictionary *other)
{
    uint32_t width =
        other->type == FIRN_PARQUET_BYTE_ARRAY ? 0 : (uint32_t)firn_value_width(other->type, other->type_length);
    uint32_t end = FIRN_MIN(dictionary->count, other->count), common = 0;
    for (; common < end; common++) {
        struct value a = own_value(dictionary, common), b = value_at(other->values, width, common);
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

firn_status firn_dictionary_writer_print(struct firn_op *op, const struct firn_dictionary_writer *dictionary,
                                         struct firn_buffer *out)
{
    if (dictionary->type == FIRN_PARQUET_BYTE_ARRAY)
        return firn_buffer_append(op, out, dictionary->plain.data, dictionary->plain.len);
    return firn_plain_encode(op, dictionary->type, dictionary->type_length,
                             (union firn_values){ .fixed = dictionary->plain.data }, dictionary->count, out);
}

static void gather_slices(const struct firn_dictionary_writer *dictionary, const uint32_t *indices, size_t count,
                          struct firn_slice *out)
{
    for (size_t i = 0; i < count; i++) {
        struct value value = own_value(dictionary, indices[i]);
        out[i] = (struct firn_slice){ .data = value.data, .len = (uint32_t)value.len };
    }
}

firn_status firn_dictionary_writer_gather(struct firn_op *op, const struct firn_dictionary_writer *dictionary,
                                          const uint32_t *indices, size_t count, struct firn_buffer *out)
{
    size_t width = firn_value_width(dictionary->type, dictionary->type_length);
    if (dictionary->type != FIRN_PARQUET_BYTE_ARRAY)
        return firn_values_gather(op, dictionary->plain.data, width, indices, count, out);
    FIRN_TRY(firn_buffer_resize(op, out, count * sizeof(struct firn_slice)));
    gather_slices(dictionary, indices, count, (struct firn_slice *)(void *)out->data);
    return FIRN_OK;
}
