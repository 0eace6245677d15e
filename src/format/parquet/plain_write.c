/* PLAIN encoding, the writing half. parquet-format, "Encodings". */
#include "format/parquet/plain_write.h"

#include "base/math.h"

#include <assert.h>

union firn_values firn_values_from(union firn_values values, enum firn_parquet_type type, uint32_t type_length,
                                   size_t start)
{
    return (union firn_values){ .fixed = values.fixed + start * firn_value_width(type, type_length) };
}

uint64_t firn_plain_bytes(enum firn_parquet_type type, uint32_t type_length, union firn_values values, size_t count)
{
    if (type != FIRN_PARQUET_BYTE_ARRAY)
        return (uint64_t)count * firn_value_width(type, type_length);
    uint64_t bytes = (uint64_t)count * FIRN_PLAIN_LENGTH_BYTES;
    for (size_t i = 0; i < count; i++)
        bytes += values.slice[i].len;
    return bytes;
}

uint64_t firn_vector_plain_bytes(const struct firn_vector *vector)
{
    if (!vector->indices || vector->type != FIRN_PARQUET_BYTE_ARRAY)
        return firn_plain_bytes(vector->type, vector->type_length, vector->values, vector->value_count);
    uint64_t bytes = (uint64_t)vector->value_count * FIRN_PLAIN_LENGTH_BYTES;
    for (uint32_t i = 0; i < vector->value_count; i++)
        bytes += vector->dictionary->values.slice[vector->indices[i]].len;
    return bytes;
}

static firn_status encode_slices(struct firn_op *op, union firn_values values, size_t count, struct firn_buffer *out)
{
    uint8_t *at;
    FIRN_TRY(firn_buffer_extend(op, out, firn_plain_bytes(FIRN_PARQUET_BYTE_ARRAY, 0, values, count), &at));
    for (size_t i = 0; i < count; i++) {
        struct firn_slice value = values.slice[i];
        firn_store_le32(at, value.len);
        if (value.len)
            memcpy(at + FIRN_PLAIN_LENGTH_BYTES, value.data, value.len);
        at += FIRN_PLAIN_LENGTH_BYTES + value.len;
    }
    return FIRN_OK;
}

/* Numbers lie little-endian in files: on other machines each value's bytes are turned round. */
static void turn_round(uint8_t *at, size_t width, size_t count)
{
    if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
        return;
    for (size_t i = 0; i < count; i++, at += width)
        for (size_t low = 0, high = width - 1; low < high; low++, high--) {
            uint8_t byte = at[low];
            at[low] = at[high];
            at[high] = byte;
        }
}

firn_status firn_plain_encode(struct firn_op *op, enum firn_parquet_type type, uint32_t type_length,
                              union firn_values values, size_t count, struct firn_buffer *out)
{
    assert(type != FIRN_PARQUET_BOOLEAN);
    if (type == FIRN_PARQUET_BYTE_ARRAY)
        return encode_slices(op, values, count, out);
    size_t width = firn_value_width(type, type_length);
    size_t start = out->len;
    FIRN_TRY(firn_buffer_append(op, out, values.any, count * width));
    if (type != FIRN_PARQUET_FIXED && type != FIRN_PARQUET_INT96)
        turn_round(out->data + start, width, count);
    return FIRN_OK;
}

/* Inlined with a constant width, so that each copy is a load and a store. */
static inline __attribute__((always_inline)) void gather(const uint8_t *values, size_t width, const uint32_t *indices,
                                                         size_t count, uint8_t *out)
{
    for (size_t i = 0; i < count; i++, out += width)
        memcpy(out, values + indices[i] * width, width);
}

firn_status firn_values_gather(struct firn_op *op, const void *values, size_t value_width, const uint32_t *indices,
                               size_t count, struct firn_buffer *out)
{
    FIRN_TRY(firn_buffer_resize(op, out, count * value_width));
    switch (value_width) {
    case 4:
        gather(values, 4, indices, count, out->data);
        break;
    case 8:
        gather(values, 8, indices, count, out->data);
        break;
    case 16:
        gather(values, 16, indices, count, out->data);
        break;
    default:
        gather(values, value_width, indices, count, out->data);
        break;
    }
    return FIRN_OK;
}
