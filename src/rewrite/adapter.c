/* Mapping levels and converting values, a page's worth at a time. */
#include "rewrite/adapter.h"

#include "base/hash.h"

static firn_status reserve_array(struct firn_op *op, struct firn_buffer *buffer, size_t count, size_t width, void **out)
{
    FIRN_TRY(firn_buffer_resize_array(op, buffer, count, width));
    *out = buffer->data;
    return FIRN_OK;
}

static firn_status forbidden_null(struct firn_op *op, const struct firn_parquet_node *leaf)
{
    return firn_fail(op, FIRN_CORRUPT, "the required column '%.*s' holds a null", FIRN_FMT(leaf->path));
}

/* Every slot has the same output level. */
static firn_status level_all(struct firn_op *op, struct firn_adapter *adapter, const struct firn_parquet_node *leaf,
                             uint8_t def, struct firn_vector *out)
{
    void *levels;
    if (def == FIRN_LEVEL_FORBIDDEN)
        return forbidden_null(op, leaf);
    if (leaf->rep_max > 0) {
        FIRN_TRY(reserve_array(op, &adapter->rep, out->slot_count, 1, &levels));
        out->rep = memset(levels, 0, out->slot_count);
    }
    if (def == leaf->def_max) {
        out->value_count = out->slot_count;
        return FIRN_OK;
    }
    FIRN_TRY(reserve_array(op, &adapter->def, out->slot_count, 1, &levels));
    out->def = memset(levels, def, out->slot_count);
    return FIRN_OK;
}

static uint8_t mapped_level(const struct firn_leaf_plan *plan, const struct firn_vector *in, uint32_t slot)
{
    uint8_t def = in->def ? in->def[slot] : in->def_max;
    return plan->def_map ? plan->def_map[def] : def;
}

static firn_status level_each(struct firn_op *op, struct firn_adapter *adapter, const struct firn_leaf_plan *plan,
                              const struct firn_parquet_node *leaf, const struct firn_vector *in,
                              struct firn_vector *out)
{
    void *rep_levels, *def_levels;
    FIRN_TRY(reserve_array(op, &adapter->rep, in->slot_count, 1, &rep_levels));
    FIRN_TRY(reserve_array(op, &adapter->def, in->slot_count, 1, &def_levels));
    uint8_t *rep = rep_levels, *def = def_levels;
    uint32_t slots = 0, values = 0;
    for (uint32_t i = 0; i < in->slot_count; i++) {
        uint8_t in_rep = in->rep ? in->rep[i] : 0;
        if (in_rep > plan->rep_keep)
            continue;
        uint8_t level = mapped_level(plan, in, i);
        if (level == FIRN_LEVEL_FORBIDDEN)
            return forbidden_null(op, leaf);
        rep[slots] = in_rep;
        def[slots++] = level;
        values += level == leaf->def_max;
    }
    out->slot_count = slots;
    out->value_count = values;
    out->rep = leaf->rep_max > 0 ? rep : NULL;
    out->def = values < slots ? def : NULL;
    return FIRN_OK;
}

firn_status firn_adapter_levels(struct firn_op *op, struct firn_adapter *adapter, const struct firn_leaf_plan *plan,
                                const struct firn_parquet_node *leaf, const struct firn_vector *in,
                                struct firn_vector *out)
{
    *out = (struct firn_vector){
        .type = leaf->type,
        .type_length = leaf->type_length,
        .rep_max = leaf->rep_max,
        .def_max = leaf->def_max,
        .slot_count = plan->levels ? in->slot_count : in->row_count,
        .row_count = in->row_count,
    };
    if (!plan->levels)
        return level_all(op, adapter, leaf, plan->def, out);
    if (!plan->def_map && plan->rep_keep >= in->rep_max) {
        out->rep = in->rep;
        out->def = in->def;
        out->value_count = in->value_count;
        return FIRN_OK;
    }
    if (!in->def && in->rep_max == 0)
        return level_all(op, adapter, leaf, plan->def_map ? plan->def_map[in->def_max] : in->def_max, out);
    return level_each(op, adapter, plan, leaf, in, out);
}

/* Names the converted form of a dictionary: the same bytes may mean milliseconds in one file and microseconds in the
 * next. */
static uint64_t converted_id(const struct firn_conversion *conversion, const struct firn_dictionary *in)
{
    struct {
        uint64_t id;
        firn_convert *run;
        int64_t multiply, divide;
        uint64_t type, type_length;
    } key = { in->id, conversion->run, conversion->multiply, conversion->divide, in->type, in->type_length };
    return in->id ? firn_hash64((struct firn_bytes){ (const uint8_t *)&key, sizeof key }) : 0;
}

static firn_status convert_dictionary(struct firn_op *op, struct firn_adapter *adapter,
                                      const struct firn_conversion *conversion, const struct firn_dictionary *in)
{
    uint64_t id = converted_id(conversion, in);
    if (id != 0 && id == adapter->dictionary.id && in->values.any == adapter->converted)
        return FIRN_OK;
    const struct firn_parquet_node *leaf = conversion->to;
    struct firn_dictionary *out = &adapter->dictionary;
    *out = (struct firn_dictionary){ .type = leaf->type, .type_length = leaf->type_length, .count = in->count };
    FIRN_TRY(reserve_array(op, &adapter->entries, in->count, firn_value_width(leaf->type, leaf->type_length),
                           &out->values.any));
    FIRN_TRY(conversion->run(op, conversion, in->values, in->count, out->values));
    out->id = id;
    adapter->converted = in->values.any;
    return FIRN_OK;
}

void firn_adapter_keep_values(const struct firn_vector *in, struct firn_vector *out)
{
    out->values = in->values;
    out->indices = in->indices;
    out->dictionary = in->dictionary;
}

static firn_status convert_values(struct firn_op *op, struct firn_adapter *adapter,
                                  const struct firn_conversion *conversion, const struct firn_vector *in,
                                  struct firn_vector *out)
{
    firn_adapter_keep_values(in, out);
    if (!conversion->run)
        return FIRN_OK;
    if (in->indices) {
        FIRN_TRY(convert_dictionary(op, adapter, conversion, in->dictionary));
        out->dictionary = &adapter->dictionary;
        return FIRN_OK;
    }
    FIRN_TRY(reserve_array(op, &adapter->values, in->value_count, firn_value_width(out->type, out->type_length),
                           &out->values.any));
    return conversion->run(op, conversion, in->values, in->value_count, out->values);
}

static firn_status repeat_constant(struct firn_op *op, struct firn_adapter *adapter,
                                   const struct firn_dictionary *constant, struct firn_vector *out)
{
    void *indices;
    FIRN_TRY(reserve_array(op, &adapter->values, out->value_count, sizeof *out->indices, &indices));
    out->indices = memset(indices, 0, out->value_count * sizeof *out->indices);
    out->dictionary = constant;
    return FIRN_OK;
}

/* Row lineage: stored numbers stay, the others are worked out. No null remains. */
static firn_status number_rows(struct firn_op *op, struct firn_adapter *adapter, const struct firn_leaf_plan *plan,
                               int64_t position, struct firn_vector *out)
{
    void *memory;
    FIRN_TRY(reserve_array(op, &adapter->numbers, out->slot_count, sizeof(int64_t), &memory));
    int64_t *numbers = memory;
    uint32_t value = 0;
    for (uint32_t i = 0; i < out->slot_count; i++) {
        if (!plan->has_values || (out->def && out->def[i] < out->def_max))
            numbers[i] = plan->number + plan->number_step * (position + i);
        else if (out->indices)
            numbers[i] = out->dictionary->values.int64[out->indices[value++]];
        else
            numbers[i] = out->values.int64[value++];
    }
    out->def = NULL;
    out->value_count = out->slot_count;
    out->values.int64 = numbers;
    out->indices = NULL;
    out->dictionary = NULL;
    return FIRN_OK;
}

firn_status firn_adapter_run(struct firn_op *op, struct firn_adapter *adapter, const struct firn_leaf_plan *plan,
                             const struct firn_parquet_node *leaf, const struct firn_vector *in, int64_t position,
                             struct firn_vector *out)
{
    FIRN_TRY(firn_adapter_levels(op, adapter, plan, leaf, in, out));
    if (plan->has_values)
        FIRN_TRY(convert_values(op, adapter, &plan->conversion, in, out));
    else if (plan->constant)
        FIRN_TRY(repeat_constant(op, adapter, plan->constant, out));
    return plan->numbered ? number_rows(op, adapter, plan, position, out) : FIRN_OK;
}

void firn_adapter_done(struct firn_adapter *adapter)
{
    firn_buffer_done(&adapter->rep);
    firn_buffer_done(&adapter->def);
    firn_buffer_done(&adapter->values);
    firn_buffer_done(&adapter->entries);
    firn_buffer_done(&adapter->numbers);
}
