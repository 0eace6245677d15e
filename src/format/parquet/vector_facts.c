/* The facts of a page whose values are in memory. */
#include "format/parquet/page_facts.h"
#include "format/parquet/plain_write.h"
#include "format/parquet/unpack.h"

void firn_facts_scratch_done(struct firn_facts_scratch *scratch)
{
    firn_bounds_done(&scratch->bounds);
    firn_index_scratch_done(&scratch->indices);
}

static firn_status gather(struct firn_op *op, const void *dictionary, const uint32_t *indices, size_t count,
                          struct firn_buffer *out)
{
    const struct firn_dictionary *from = dictionary;
    return firn_values_gather(op, from->values.any, firn_value_width(from->type, from->type_length), indices, count,
                              out);
}

static firn_status find_bounds(struct firn_op *op, struct firn_facts_scratch *scratch, enum firn_order order,
                               const struct firn_vector *vector)
{
    firn_bounds_clear(&scratch->bounds);
    if (!vector->indices)
        return firn_bounds_add(op, &scratch->bounds, order, vector->values, vector->type_length, vector->value_count);
    struct firn_indexed_values values = {
        .indices = vector->indices,
        .count = vector->value_count,
        .dictionary = vector->dictionary,
        .dictionary_count = vector->dictionary->count,
        .type_length = vector->type_length,
        .gather = gather,
    };
    return firn_bounds_of_indexed(op, &scratch->bounds, order, &scratch->indices, &values);
}

/* Levels that a column does not have are not counted. */
static const int64_t *count_levels(const uint8_t *levels, uint32_t count, uint8_t level_max, int64_t *histogram)
{
    if (level_max == 0)
        return NULL;
    firn_count_levels(levels, count, level_max, histogram);
    return histogram;
}

static int64_t unencoded_bytes(const struct firn_vector *vector)
{
    if (vector->type != FIRN_PARQUET_BYTE_ARRAY)
        return 0;
    return (int64_t)(firn_vector_plain_bytes(vector) - (uint64_t)vector->value_count * FIRN_PLAIN_LENGTH_BYTES);
}

void firn_page_facts_count(struct firn_facts_scratch *scratch, const struct firn_vector *levels,
                           struct firn_page_facts *out)
{
    out->slot_count = levels->slot_count;
    out->value_count = levels->value_count;
    out->row_count = levels->row_count;
    out->begins_row = !levels->rep || levels->slot_count == 0 || levels->rep[0] == 0;
    out->rep_histogram = count_levels(levels->rep, levels->slot_count, levels->rep_max, scratch->rep_histogram);
    out->def_histogram = count_levels(levels->def, levels->slot_count, levels->def_max, scratch->def_histogram);
}

firn_status firn_page_facts_of(struct firn_op *op, struct firn_facts_scratch *scratch,
                               const struct firn_parquet_node *leaf, const struct firn_vector *vector,
                               struct firn_page_facts *out)
{
    const struct firn_bounds *bounds = &scratch->bounds;
    FIRN_TRY(find_bounds(op, scratch, firn_order_of(leaf), vector));
    *out = (struct firn_page_facts){
        .ends_row = vector->rep_max == 0,
        .has_bounds = bounds->found,
        .min_exact = bounds->min_exact,
        .max_exact = bounds->max_exact,
        .min = firn_buffer_bytes(&bounds->min),
        .max = firn_buffer_bytes(&bounds->max),
        .nan_count = bounds->nan_count,
        .unencoded_bytes = unencoded_bytes(vector),
    };
    firn_page_facts_count(scratch, vector, out);
    return FIRN_OK;
}
