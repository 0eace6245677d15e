/* Row selection: slots of the picked rows, then their values. */
#include "rewrite/gather.h"

#include "base/math.h"

static firn_status reserve_array(struct firn_op *op, struct firn_buffer *buffer, size_t count, size_t width)
{
    size_t bytes;
    if (!firn_size_mul(count, width, &bytes))
        return firn_fail(op, FIRN_LIMIT, "%zu values of %zu bytes", count, width);
    return firn_buffer_resize(op, buffer, FIRN_MAX(bytes, 1));
}

static uint32_t *as_u32(const struct firn_buffer *buffer)
{
    return (uint32_t *)(void *)buffer->data;
}

static bool is_dense(const struct firn_vector *vector)
{
    return !vector->rep && !vector->def;
}

firn_status firn_gather_begin(struct firn_op *op, struct firn_gather *gather, const struct firn_vector *vector)
{
    if (is_dense(vector))
        return FIRN_OK;
    FIRN_TRY(reserve_array(op, &gather->slots, (size_t)vector->slot_count + 1, sizeof(uint32_t)));
    FIRN_TRY(reserve_array(op, &gather->values, (size_t)vector->slot_count + 1, sizeof(uint32_t)));
    uint32_t *slots = as_u32(&gather->slots), *values = as_u32(&gather->values);
    uint32_t row = 0, value = 0;
    for (uint32_t i = 0; i < vector->slot_count; i++) {
        if (i == 0 || !vector->rep || vector->rep[i] == 0) {
            slots[row] = i;
            values[row++] = value;
        }
        value += !vector->def || vector->def[i] == vector->def_max;
    }
    slots[row] = vector->slot_count;
    values[row] = value;
    return FIRN_OK;
}

static void copy_values(const void *from, size_t width, uint32_t count, void *to)
{
    if (count == 1 && width == 8)
        memcpy(to, from, 8);
    else if (count == 1 && width == 4)
        memcpy(to, from, 4);
    else if (count > 0)
        memcpy(to, from, width * count);
}

/* Without levels row, slot and value are the same. */
static void pick_dense(const void *from, size_t width, const uint32_t *rows, size_t count, int64_t first, uint8_t *to)
{
    const uint8_t *base = (const uint8_t *)from;
    for (size_t i = 0; i < count; i++)
        copy_values(base + (size_t)(rows[i] - first) * width, width, 1, to + i * width);
}

/* What is picked with each row: values themselves or indices. */
static const void *value_source(const struct firn_vector *vector, size_t *width)
{
    *width = vector->indices ? sizeof *vector->indices : firn_value_width(vector->type, vector->type_length);
    return vector->indices ? (const void *)vector->indices : vector->values.any;
}

static void set_values(struct firn_gather *gather, struct firn_vector *out)
{
    if (out->indices)
        out->indices = as_u32(&gather->picked_values);
    else
        out->values.any = gather->picked_values.data;
}

static void pick_levels(struct firn_gather *gather, const struct firn_vector *vector, const uint32_t *rows,
                        size_t count, int64_t first, struct firn_vector *out)
{
    const uint32_t *slots = as_u32(&gather->slots), *values = as_u32(&gather->values);
    size_t width;
    const uint8_t *from = value_source(vector, &width);
    out->slot_count = out->value_count = 0;
    for (size_t i = 0; i < count; i++) {
        size_t row = (size_t)(rows[i] - first);
        uint32_t slot = slots[row], slot_count = slots[row + 1] - slot;
        uint32_t value = values[row], value_count = values[row + 1] - value;
        if (vector->rep)
            memcpy(gather->rep.data + out->slot_count, vector->rep + slot, slot_count);
        if (vector->def)
            memcpy(gather->def.data + out->slot_count, vector->def + slot, slot_count);
        if (value_count > 0)
            copy_values(from + value * width, width, value_count,
                        gather->picked_values.data + out->value_count * width);
        out->slot_count += slot_count;
        out->value_count += value_count;
    }
    out->rep = vector->rep ? gather->rep.data : NULL;
    out->def = vector->def ? gather->def.data : NULL;
}

static uint32_t count_rows(const struct firn_vector *vector)
{
    uint32_t rows = 0;
    for (uint32_t i = 0; vector->rep && i < vector->slot_count; i++)
        rows += vector->rep[i] == 0;
    return vector->rep ? rows : vector->slot_count;
}

firn_status firn_gather_rows(struct firn_op *op, struct firn_gather *gather, const struct firn_vector *vector,
                             const uint32_t *rows, size_t count, int64_t first, struct firn_vector *out)
{
    size_t width;
    const void *from = value_source(vector, &width);
    *out = *vector;
    FIRN_TRY(reserve_array(op, &gather->picked_values, vector->value_count, width));
    if (is_dense(vector)) {
        pick_dense(from, width, rows, count, first, gather->picked_values.data);
        out->slot_count = out->value_count = (uint32_t)count;
    } else {
        FIRN_TRY(reserve_array(op, &gather->rep, vector->slot_count, 1));
        FIRN_TRY(reserve_array(op, &gather->def, vector->slot_count, 1));
        pick_levels(gather, vector, rows, count, first, out);
    }
    set_values(gather, out);
    out->row_count = count_rows(out);
    return FIRN_OK;
}

void firn_gather_done(struct firn_gather *gather)
{
    firn_buffer_done(&gather->slots);
    firn_buffer_done(&gather->values);
    firn_buffer_done(&gather->rep);
    firn_buffer_done(&gather->def);
    firn_buffer_done(&gather->picked_values);
}
