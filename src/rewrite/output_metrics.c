/* From chunk statistics to Iceberg metrics. */
#include "rewrite/output_metrics.h"

#include "rewrite/conversion.h"

/* The field that a leaf's metrics are of. Row lineage is not part of the table's schema, and has the mode of columns
 * that nothing is said of. */
static const struct firn_field *field_of(const struct firn_output_leaf *leaf)
{
    static const struct firn_field lineage[] = {
        [FIRN_LEAF_ROW_ID] = { .id = FIRN_FIELD_ID_ROW_ID, .type.id = FIRN_TYPE_LONG },
        [FIRN_LEAF_SEQUENCE_NUMBER] = { .id = FIRN_FIELD_ID_LAST_UPDATED_SEQUENCE_NUMBER, .type.id = FIRN_TYPE_LONG },
    };
    return leaf->field ? leaf->field : &lineage[leaf->role];
}

/* Bytes go to `kept`, as chunks do before their file. */
static firn_status keep_value(struct firn_op *op, struct firn_value value, struct firn_buffer *kept,
                              struct firn_value *out)
{
    *out = value;
    switch (value.type) {
    case FIRN_TYPE_STRING:
    case FIRN_TYPE_UUID:
    case FIRN_TYPE_FIXED:
    case FIRN_TYPE_BINARY:
        firn_buffer_clear(kept);
        FIRN_TRY(firn_buffer_append(op, kept, value.bytes.data, value.bytes.len));
        out->bytes = firn_buffer_bytes(kept);
        return FIRN_OK;
    default:
        return FIRN_OK;
    }
}

static firn_status add_bounds(struct firn_op *op, struct firn_column_totals *totals,
                              const struct firn_output_leaf *leaf, const struct firn_chunk_metrics *metrics)
{
    struct firn_value lower, upper;
    const struct firn_type *type = &field_of(leaf)->type;
    FIRN_TRY(firn_leaf_value_of_plain(op, leaf->node, type, metrics->min, &lower));
    FIRN_TRY(firn_leaf_value_of_plain(op, leaf->node, type, metrics->max, &upper));
    if (!totals->has_bounds || firn_value_compare(&lower, &totals->lower) < 0)
        FIRN_TRY(keep_value(op, lower, &totals->lower_bytes, &totals->lower));
    if (!totals->has_bounds || firn_value_compare(&upper, &totals->upper) > 0)
        FIRN_TRY(keep_value(op, upper, &totals->upper_bytes, &totals->upper));
    totals->has_bounds = true;
    return FIRN_OK;
}

static bool has_bounds_in_metrics(const struct firn_output_leaf *leaf)
{
    enum firn_type_id type = field_of(leaf)->type.id;
    return !leaf->repeated && !leaf->in_variant && type != FIRN_TYPE_GEOMETRY && type != FIRN_TYPE_GEOGRAPHY;
}

firn_status firn_column_totals_add(struct firn_op *op, struct firn_column_totals *totals,
                                   const struct firn_output_leaf *leaf, const struct firn_encoded_chunk *chunk)
{
    const struct firn_chunk_metrics *metrics = &chunk->metrics;
    totals->compressed_bytes += chunk->metadata.compressed_bytes;
    totals->value_count += metrics->value_count;
    totals->null_count += metrics->null_count;
    totals->nan_count += metrics->nan_count;
    if (!has_bounds_in_metrics(leaf))
        return FIRN_OK;
    if (metrics->has_bounds)
        return add_bounds(op, totals, leaf, metrics);
    if (metrics->value_count > metrics->null_count + metrics->nan_count)
        totals->bounds_unknown = true;
    return FIRN_OK;
}

void firn_column_totals_clear(struct firn_column_totals *totals)
{
    firn_buffer_done(&totals->lower_bytes);
    firn_buffer_done(&totals->upper_bytes);
    *totals = (struct firn_column_totals){ 0 };
}

firn_status firn_column_totals_fill(struct firn_op *op, const struct firn_group_run *run,
                                    const struct firn_column_totals *totals, struct firn_data_file *file)
{
    const struct firn_output_schema *schema = &run->schema;
    struct firn_column_metrics *columns = FIRN_NEW_ARRAY(op->arena, struct firn_column_metrics, schema->leaf_count);
    size_t count = 0;
    for (uint32_t i = 0; i < schema->leaf_count; i++) {
        const struct firn_output_leaf *leaf = &schema->leaves[i];
        const struct firn_field *field = field_of(leaf);
        if (!leaf->field && totals[i].null_count > 0)
            continue; /* null stands for a number that the file is given later: nothing said of these would be true */
        if (leaf->in_variant && count > 0 && columns[count - 1].field == field) {
            columns[count - 1].compressed_bytes += totals[i].compressed_bytes;
            continue;
        }
        enum firn_type_id type = field->type.id;
        columns[count++] = (struct firn_column_metrics){
            .field = field,
            .repeated = leaf->repeated || leaf->in_variant,
            .compressed_bytes = totals[i].compressed_bytes,
            .value_count = totals[i].value_count,
            .null_count = totals[i].null_count,
            .nan_count = totals[i].nan_count,
            .counts_nan = type == FIRN_TYPE_FLOAT || type == FIRN_TYPE_DOUBLE,
            .has_bounds = totals[i].has_bounds && !totals[i].bounds_unknown,
            .lower = totals[i].lower,
            .upper = totals[i].upper,
        };
    }
    return firn_metrics_fill(op, run->metrics, columns, count, file);
}
