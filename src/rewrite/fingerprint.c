/* Column fingerprints. A flat column hashes each value; a nested one chains the hashes of a row's slots, levels
 * included. Hashes of dictionary entries are computed once a vector. */
#include "rewrite/fingerprint.h"

#include "base/math.h"

enum { SEED_VALUE = 1, SEED_NULL = 2, SEED_SLOT = 3 };

static struct firn_hash128 value_hash(enum firn_parquet_type type, union firn_values values, size_t width, size_t index)
{
    if (type != FIRN_PARQUET_BYTE_ARRAY)
        return firn_hash128((struct firn_bytes){ (const uint8_t *)values.any + index * width, width }, SEED_VALUE);
    struct firn_slice slice = values.slice[index];
    return firn_hash128((struct firn_bytes){ slice.data, slice.len }, SEED_VALUE);
}

/* Hashes of a vector's values: of each one as it comes, or of the dictionary's entries, made beforehand. */
struct value_hashes {
    const struct firn_vector *vector;
    size_t width;
    struct firn_hash128 *entries; /* NULL: no dictionary */
    struct firn_buffer buffer;
};

/* A dictionary that is large for the vector is not worth hashing as a whole. */
static bool entries_pay(const struct firn_vector *vector)
{
    return vector->indices && vector->dictionary->count <= vector->value_count;
}

static firn_status hashes_init(struct firn_op *op, const struct firn_vector *vector, struct value_hashes *out)
{
    *out = (struct value_hashes){ .vector = vector, .width = firn_value_width(vector->type, vector->type_length) };
    if (!entries_pay(vector))
        return FIRN_OK;
    const struct firn_dictionary *dictionary = vector->dictionary;
    size_t bytes;
    if (!firn_size_mul(dictionary->count, sizeof *out->entries, &bytes))
        return firn_fail(op, FIRN_LIMIT, "a dictionary of %u entries", dictionary->count);
    FIRN_TRY(firn_buffer_resize(op, &out->buffer, bytes));
    out->entries = (struct firn_hash128 *)(void *)out->buffer.data;
    for (uint32_t i = 0; i < dictionary->count; i++)
        out->entries[i] = value_hash(vector->type, dictionary->values, out->width, i);
    return FIRN_OK;
}

static struct firn_hash128 hash_at(const struct value_hashes *hashes, size_t index)
{
    const struct firn_vector *vector = hashes->vector;
    if (!vector->indices)
        return value_hash(vector->type, vector->values, hashes->width, index);
    if (hashes->entries)
        return hashes->entries[vector->indices[index]];
    return value_hash(vector->type, vector->dictionary->values, hashes->width, vector->indices[index]);
}

static void add_flat(struct firn_fingerprinter *fingerprinter, const struct value_hashes *hashes)
{
    const struct firn_vector *vector = hashes->vector;
    struct firn_hash128 null = firn_hash128((struct firn_bytes){ NULL, 0 }, SEED_NULL);
    struct firn_hash128 sum = firn_hash128_times(null, vector->slot_count - vector->value_count);
    for (size_t i = 0; i < vector->value_count; i++)
        sum = firn_hash128_add(sum, hash_at(hashes, i));
    fingerprinter->sum = firn_hash128_add(fingerprinter->sum, sum);
}

/* Ends the row in progress. */
static void end_row(struct firn_fingerprinter *fingerprinter)
{
    if (fingerprinter->in_row)
        fingerprinter->sum = firn_hash128_add(fingerprinter->sum, fingerprinter->row);
    fingerprinter->row = (struct firn_hash128){ 0 };
    fingerprinter->in_row = false;
}

static void add_levels(struct firn_fingerprinter *fingerprinter, const struct value_hashes *hashes)
{
    const struct firn_vector *vector = hashes->vector;
    struct {
        struct firn_hash128 before, value;
        uint64_t levels;
    } slot;
    size_t value = 0;
    for (uint32_t i = 0; i < vector->slot_count; i++) {
        uint8_t rep = vector->rep ? vector->rep[i] : 0;
        uint8_t def = vector->def ? vector->def[i] : vector->def_max;
        if (rep == 0)
            end_row(fingerprinter);
        slot.before = fingerprinter->row;
        slot.levels = (uint64_t)rep << 8 | def;
        slot.value = def == vector->def_max ? hash_at(hashes, value++) : (struct firn_hash128){ 0 };
        fingerprinter->row = firn_hash128((struct firn_bytes){ (const uint8_t *)&slot, sizeof slot }, SEED_SLOT);
        fingerprinter->in_row = true;
    }
}

firn_status firn_fingerprinter_add(struct firn_op *op, struct firn_fingerprinter *fingerprinter,
                                   const struct firn_vector *vector)
{
    struct value_hashes hashes;
    FIRN_TRY(hashes_init(op, vector, &hashes));
    if (vector->rep_max == 0 && vector->def_max <= 1)
        add_flat(fingerprinter, &hashes);
    else
        add_levels(fingerprinter, &hashes);
    firn_buffer_done(&hashes.buffer);
    return FIRN_OK;
}

struct firn_hash128 firn_fingerprinter_sum(struct firn_fingerprinter *fingerprinter)
{
    end_row(fingerprinter);
    return fingerprinter->sum;
}
