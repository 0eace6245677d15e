/* Partitions as cells of metadata tables, and pruning manifests by conditions on them. */
#include "sql/partition_cell.h"

#include "sql/json_out.h"

struct firn_metadata_column firn_partition_shape_column(struct firn_arena *arena,
                                                        const struct firn_partition_shape *shape)
{
    struct firn_metadata_column *fields = FIRN_NEW_ARRAY(arena, struct firn_metadata_column, shape->field_count);
    for (uint32_t i = 0; i < shape->field_count; i++)
        fields[i] = (struct firn_metadata_column){ .name = shape->names[i],
                                                   .type = firn_spark_type_text(arena, &shape->types[i]) };
    return firn_metadata_struct(arena, FIRN_TEXT("partition"), fields, shape->field_count);
}

void firn_partition_shape_json(const struct firn_partition_shape *shape, const struct firn_value *values,
                               struct firn_json_out *json)
{
    firn_json_out_begin(json, '{');
    for (uint32_t i = 0; i < shape->field_count; i++) {
        firn_json_out_key(json, shape->names[i]);
        firn_json_out_value(json, &shape->types[i], &values[i]);
    }
    firn_json_out_end(json, '}');
}

firn_status firn_partition_shape_cell(struct firn_op *op, const struct firn_partition_shape *shape,
                                      const struct firn_value *values, const struct firn_metadata_path *path,
                                      uint32_t depth, struct firn_cell *out)
{
    if (path->count > depth) {
        uint32_t field = path->steps[depth];
        firn_cell_value(op->arena, &shape->types[field], &values[field], out);
        return FIRN_OK;
    }
    struct firn_json_out json = firn_json_out_of(op, out->scratch);
    firn_partition_shape_json(shape, values, &json);
    return firn_cell_json(out, &json);
}

/* Pruning ---------------------------------------------------------------------------------------------------------- */

/* Whether a value between the bounds can meet a condition: only that the bounds themselves are compared is needed. */
static bool bounds_may_match(const struct firn_metadata_filter *filter, const struct firn_cell *lower,
                             const struct firn_cell *upper)
{
    struct firn_metadata_filter below = *filter, above = *filter;
    switch (filter->compare) {
    case FIRN_METADATA_EQ:
        below.compare = FIRN_METADATA_LT_EQ;
        above.compare = FIRN_METADATA_GT_EQ;
        return firn_metadata_filter_holds(&below, lower) && firn_metadata_filter_holds(&above, upper);
    case FIRN_METADATA_LT:
    case FIRN_METADATA_LT_EQ:
        return firn_metadata_filter_holds(filter, lower);
    default:
        return firn_metadata_filter_holds(filter, upper);
    }
}

static bool summary_may_match(struct firn_op *op, const struct firn_metadata_filter *filter,
                              const struct firn_type *type, const struct firn_field_summary *summary)
{
    struct firn_value lower, upper;
    struct firn_cell lower_cell = { 0 }, upper_cell = { 0 };
    if (!summary->lower_bound.data || !summary->upper_bound.data)
        return true;
    if (summary->has_contains_nan && summary->contains_nan)
        return true;
    if (!firn_value_read(type, summary->lower_bound, &lower) || !firn_value_read(type, summary->upper_bound, &upper))
        return true;
    firn_cell_value(op->arena, type, &lower, &lower_cell);
    firn_cell_value(op->arena, type, &upper, &upper_cell);
    return bounds_may_match(filter, &lower_cell, &upper_cell);
}

/* The order of a decimal's text is not that of its values. */
static bool is_ordered_as_cell(const struct firn_type *type)
{
    return type->id != FIRN_TYPE_DECIMAL && type->id != FIRN_TYPE_FLOAT && type->id != FIRN_TYPE_DOUBLE;
}

static bool field_may_match(struct firn_op *op, const struct firn_partition_shape *shape, uint32_t number,
                            const struct firn_metadata_filter *filter, const struct firn_manifest_file *manifest)
{
    uint32_t field = filter->path.steps[filter->path.count - 1];
    uint32_t place = shape->places[number * shape->field_count + field];
    if (place == FIRN_NO_PLACE)
        return false; /* null in every file, which no comparison holds for */
    if (!manifest->has_summaries || place >= manifest->summary_count || !is_ordered_as_cell(&shape->types[field]))
        return true;
    return summary_may_match(op, filter, &shape->spec_types[number][place], &manifest->summaries[place]);
}

static bool is_below(const struct firn_metadata_path *path, const struct firn_metadata_path *base)
{
    return path->count == base->count + 1 && memcmp(path->steps, base->steps, base->count * sizeof *path->steps) == 0;
}

bool firn_partition_shape_may_match(struct firn_op *op, const struct firn_partition_shape *shape,
                                    const struct firn_metadata_request *request, struct firn_metadata_path base,
                                    const struct firn_manifest_file *manifest)
{
    uint32_t number = firn_partition_shape_spec(shape, manifest->spec_id);
    for (uint32_t i = 0; i < request->filter_count && number != FIRN_NO_PLACE; i++)
        if (is_below(&request->filters[i].path, &base) &&
            !field_may_match(op, shape, number, &request->filters[i], manifest))
            return false;
    return true;
}
