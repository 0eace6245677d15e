/* Row selection: slots of the picked rows, then their values. */
#include "rewrite/gather.h"

#include "format/parquet/unpack.h"

#define BLOCK_SLOTS 64 /* values before a slot are known for one slot in so many; the rest is counted */

static uint32_t *as_u32(const struct firn_buffer *buffer)
{
    return (uint32_t *)(void *)buffer->data;
}

/* The first slot of each row, and the end of the last. */
static firn_status find_slots(struct firn_op *op, struct firn_gather *gather, const struct firn_vector *vector)
{
    FIRN_TRY(firn_buffer_resize_array(op, &gather->slots, (size_t)vector->slot_count + 1, sizeof(uint32_t)));
    uint32_t *slots = as_u32(&gather->slots), row = 0;
    for (uint32_t i = 0; i < vector->slot_count; i++)
        if (i == 0 || vector->rep[i] == 0)
            slots[row++] = i;
    slots[row] = vector->slot_count;
    return FIRN_OK;
}

/* Values before each block of slots. */
static firn_status count_blocks(struct firn_op *op, struct firn_gather *gather, const struct firn_vector *vector)
{
    FIRN_TRY(
        firn_buffer_resize_array(op, &gather->values, (size_t)vector->slot_count / BLOCK_SLOTS + 1, sizeof(uint32_t)));
    uint32_t *values = as_u32(&gather->values);
    values[0] = 0;
    for (uint32_t i = 0; i < vector->slot_count / BLOCK_SLOTS; i++)
        values[i + 1] =
            values[i] + (uint32_t)firn_count_u8(vector->def + i * BLOCK_SLOTS, BLOCK_SLOTS, vector->def_max);
    return FIRN_OK;
}

firn_status firn_gather_begin(struct firn_op *op, struct firn_gather *gather, const struct firn_vector *vector)
{
    if (vector->rep)
        FIRN_TRY(find_slots(op, gather, vector));
    return vector->def ? count_blocks(op, gather, vector) : FIRN_OK;
}

static uint32_t slot_of_row(const struct firn_gather *gather, const struct firn_vector *vector, int64_t row)
{
    return vector->rep ? as_u32(&gather->slots)[row] : (uint32_t)row;
}

static uint32_t values_in(const struct firn_vector *vector, uint32_t slot, uint32_t end)
{
    return (uint32_t)firn_count_u8(vector->def + slot, end - slot, vector->def_max);
}

static uint32_t values_before(const struct firn_gather *gather, const struct firn_vector *vector, uint32_t slot)
{
    if (!vector->def)
        return slot;
    return as_u32(&gather->values)[slot / BLOCK_SLOTS] + values_in(vector, slot - slot % BLOCK_SLOTS, slot);
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

/* What is picked with each row: values themselves or indices. */
static const uint8_t *value_source(const struct firn_vector *vector, size_t *width)
{
    *width = vector->indices ? sizeof *vector->indices : firn_value_width(vector->type, vector->type_length);
    return vector->indices ? (const uint8_t *)vector->indices : (const uint8_t *)vector->values.any;
}

static void pick_ranges(struct firn_gather *gather, const struct firn_vector *vector, const struct firn_row_pick *pick,
                        struct firn_vector *out)
{
    size_t width;
    const uint8_t *from = value_source(vector, &width);
    out->slot_count = out->value_count = 0;
    for (size_t i = 0; i < pick->range_count; i++) {
        uint32_t slot = slot_of_row(gather, vector, firn_row_range_begin(&pick->ranges[i], pick));
        uint32_t end = slot_of_row(gather, vector, firn_row_range_end(&pick->ranges[i], pick));
        uint32_t value = values_before(gather, vector, slot), count = end - slot;
        if (vector->rep)
            memcpy(gather->rep.data + out->slot_count, vector->rep + slot, count);
        if (vector->def) {
            memcpy(gather->def.data + out->slot_count, vector->def + slot, count);
            count = count < BLOCK_SLOTS ? values_in(vector, slot, end) : values_before(gather, vector, end) - value;
        }
        if (from)
            copy_values(from + value * width, width, count, gather->picked_values.data + out->value_count * width);
        out->slot_count += end - slot;
        out->value_count += count;
    }
}

/* The picked rows take the place of all. */
static void set_picked(const struct firn_gather *gather, const struct firn_vector *vector, struct firn_vector *out)
{
    out->rep = vector->rep ? gather->rep.data : NULL;
    out->def = vector->def ? gather->def.data : NULL;
    if (out->indices)
        out->indices = as_u32(&gather->picked_values);
    else
        out->values.any = gather->picked_values.data;
    out->row_count = out->rep ? (uint32_t)firn_count_u8(out->rep, out->slot_count, 0) : out->slot_count;
}

firn_status firn_gather_rows(struct firn_op *op, struct firn_gather *gather, const struct firn_vector *vector,
                             const struct firn_row_pick *pick, struct firn_vector *out)
{
    size_t width;
    value_source(vector, &width);
    *out = *vector;
    FIRN_TRY(firn_buffer_resize_array(op, &gather->picked_values, vector->value_count, width));
    if (vector->rep)
        FIRN_TRY(firn_buffer_resize_array(op, &gather->rep, vector->slot_count, 1));
    if (vector->def)
        FIRN_TRY(firn_buffer_resize_array(op, &gather->def, vector->slot_count, 1));
    pick_ranges(gather, vector, pick, out);
    set_picked(gather, vector, out);
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
