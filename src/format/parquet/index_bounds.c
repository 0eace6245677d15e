/* Bounds over dictionary indices. */
#include "format/parquet/index_bounds.h"

void firn_index_scratch_done(struct firn_index_scratch *scratch)
{
    firn_buffer_done(&scratch->seen);
    firn_buffer_done(&scratch->used);
    firn_buffer_done(&scratch->gathered);
}

/* Makes room for a stamp a dictionary value; those not met yet have none. */
static firn_status prepare_stamps(struct firn_op *op, struct firn_index_scratch *scratch, uint32_t dictionary_count)
{
    size_t known = scratch->seen.len, bytes = (size_t)dictionary_count * sizeof(uint32_t);
    if (++scratch->stamp == 0) { /* gone round: stamps of long ago would count */
        scratch->stamp = 1;
        known = 0;
    }
    if (bytes <= known)
        return FIRN_OK;
    FIRN_TRY(firn_buffer_resize(op, &scratch->seen, bytes));
    memset(scratch->seen.data + known, 0, bytes - known);
    return FIRN_OK;
}

/* Lists each index in use once; gives how many they are. */
static size_t list_used(const struct firn_index_scratch *scratch, const struct firn_indexed_values *values)
{
    uint32_t *seen = (uint32_t *)(void *)scratch->seen.data;
    uint32_t *used = (uint32_t *)(void *)scratch->used.data;
    size_t used_count = 0;
    for (size_t i = 0; i < values->count; i++) {
        uint32_t index = values->indices[i];
        used[used_count] = index;
        used_count += seen[index] != scratch->stamp;
        seen[index] = scratch->stamp;
    }
    return used_count;
}

static firn_status add_gathered(struct firn_op *op, struct firn_bounds *bounds, enum firn_order order,
                                struct firn_index_scratch *scratch, const struct firn_indexed_values *values,
                                const uint32_t *indices, size_t count)
{
    FIRN_TRY(values->gather(op, values->dictionary, indices, count, &scratch->gathered));
    return firn_bounds_add(op, bounds, order, (union firn_values){ .any = scratch->gathered.data }, values->type_length,
                           count);
}

static firn_status count_nan(struct firn_op *op, struct firn_bounds *bounds, enum firn_order order,
                             struct firn_index_scratch *scratch, const struct firn_indexed_values *values)
{
    struct firn_bounds all = { 0 };
    firn_status status = add_gathered(op, &all, order, scratch, values, values->indices, values->count);
    bounds->nan_count = all.nan_count;
    firn_bounds_done(&all);
    return status;
}

firn_status firn_bounds_of_indexed(struct firn_op *op, struct firn_bounds *bounds, enum firn_order order,
                                   struct firn_index_scratch *scratch, const struct firn_indexed_values *values)
{
    if (order == FIRN_ORDER_NONE || values->count == 0)
        return FIRN_OK;
    FIRN_TRY(prepare_stamps(op, scratch, values->dictionary_count));
    FIRN_TRY(firn_buffer_resize(op, &scratch->used, values->count * sizeof(uint32_t)));
    size_t used_count = list_used(scratch, values);
    FIRN_TRY(
        add_gathered(op, bounds, order, scratch, values, (const uint32_t *)(void *)scratch->used.data, used_count));
    return bounds->nan_count == 0 ? FIRN_OK : count_nan(op, bounds, order, scratch, values);
}
