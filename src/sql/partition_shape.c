/* Partition tuples of several specs in one struct. Reference: format-notes.md, 9. */
#include "sql/partition_shape.h"

#include "sql/json_out.h"

#include <stdlib.h>

enum { NO_PLACE = UINT32_MAX };

/* Gathering fields ------------------------------------------------------------------------------------------------ */

static int compare_ids(const void *a, const void *b)
{
    int32_t left = *(const int32_t *)a, right = *(const int32_t *)b;
    return (left > right) - (left < right);
}

static void gather_ids(struct firn_op *op, struct firn_partition_shape *shape)
{
    const struct firn_metadata *metadata = shape->metadata;
    size_t count = 0, kept = 0;
    for (uint32_t s = 0; s < metadata->spec_count; s++)
        count += metadata->specs[s].field_count;
    shape->field_ids = FIRN_NEW_ARRAY(op->arena, int32_t, count);
    for (uint32_t s = 0, at = 0; s < metadata->spec_count; s++)
        for (uint32_t f = 0; f < metadata->specs[s].field_count; f++)
            shape->field_ids[at++] = metadata->specs[s].fields[f].field_id;
    qsort(shape->field_ids, count, sizeof *shape->field_ids, compare_ids);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || shape->field_ids[kept - 1] != shape->field_ids[i])
            shape->field_ids[kept++] = shape->field_ids[i];
    shape->field_count = (uint32_t)kept;
}

static uint32_t place_of(const struct firn_partition_spec *spec, int32_t field_id)
{
    for (uint32_t f = 0; f < spec->field_count; f++)
        if (spec->fields[f].field_id == field_id)
            return f;
    return NO_PLACE;
}

/* Name and type of a field are the newest spec's, but a type is that of a spec which has not dropped the field. */
static void describe_field(struct firn_partition_shape *shape, uint32_t field)
{
    const struct firn_metadata *metadata = shape->metadata;
    const struct firn_partition_spec *named = NULL, *typed = NULL;
    for (uint32_t s = 0; s < metadata->spec_count; s++) {
        const struct firn_partition_spec *spec = &metadata->specs[s];
        uint32_t place = place_of(spec, shape->field_ids[field]);
        shape->places[s * shape->field_count + field] = place;
        if (place == NO_PLACE)
            continue;
        bool is_void = spec->fields[place].transform.id == FIRN_TRANSFORM_VOID;
        if (!named || spec->id > named->id) {
            named = spec;
            shape->names[field] = spec->fields[place].name;
        }
        if (!typed || (!is_void && spec->id > typed->id)) {
            typed = is_void ? typed : spec;
            shape->types[field] = shape->spec_types[s][place];
        }
    }
}

firn_status firn_partition_shape_new(struct firn_op *op, const struct firn_metadata *metadata,
                                     const struct firn_partition_shape **out)
{
    struct firn_partition_shape *shape = FIRN_NEW(op->arena, struct firn_partition_shape);
    shape->metadata = metadata;
    gather_ids(op, shape);
    shape->names = FIRN_NEW_ARRAY(op->arena, struct firn_text, shape->field_count);
    shape->types = FIRN_NEW_ARRAY(op->arena, struct firn_type, shape->field_count);
    shape->places = FIRN_NEW_ARRAY(op->arena, uint32_t, (size_t)metadata->spec_count * shape->field_count);
    FIRN_TRY(firn_spec_types_new(op, metadata, &shape->spec_types));
    for (uint32_t field = 0; field < shape->field_count; field++)
        describe_field(shape, field);
    *out = shape;
    return FIRN_OK;
}

struct firn_metadata_column firn_partition_shape_column(struct firn_arena *arena,
                                                        const struct firn_partition_shape *shape)
{
    struct firn_metadata_column *fields = FIRN_NEW_ARRAY(arena, struct firn_metadata_column, shape->field_count);
    for (uint32_t i = 0; i < shape->field_count; i++)
        fields[i] = (struct firn_metadata_column){ .name = shape->names[i],
                                                   .type = firn_spark_type_text(arena, &shape->types[i]) };
    return firn_metadata_struct(arena, FIRN_TEXT("partition"), fields, shape->field_count);
}

/* Values ----------------------------------------------------------------------------------------------------------- */

static uint32_t spec_number(const struct firn_partition_shape *shape, int32_t spec_id)
{
    const struct firn_partition_spec *spec = firn_metadata_spec(shape->metadata, spec_id);
    return spec ? (uint32_t)(spec - shape->metadata->specs) : NO_PLACE;
}

uint32_t firn_partition_shape_present(const struct firn_partition_shape *shape, int32_t spec_id)
{
    uint32_t number = spec_number(shape, spec_id), present = 0;
    for (uint32_t field = 0; number != NO_PLACE && field < shape->field_count; field++)
        present += shape->places[number * shape->field_count + field] != NO_PLACE;
    return present;
}

static struct firn_value value_of(const struct firn_partition_shape *shape, uint32_t number,
                                  const struct firn_partition *partition, uint32_t field)
{
    struct firn_value null = { .type = shape->types[field].id, .is_null = true }, value;
    uint32_t place = number == NO_PLACE ? NO_PLACE : shape->places[number * shape->field_count + field];
    if (place >= partition->count || partition->values[place].is_null)
        return null;
    const struct firn_type *from = &shape->spec_types[number][place];
    if (firn_type_same(from, &shape->types[field]))
        return partition->values[place];
    return firn_value_promote(from, &shape->types[field], &partition->values[place], &value) ? value : null;
}

void firn_partition_shape_values(const struct firn_partition_shape *shape, int32_t spec_id,
                                 const struct firn_partition *partition, struct firn_value *out)
{
    uint32_t number = spec_number(shape, spec_id);
    for (uint32_t field = 0; field < shape->field_count; field++)
        out[field] = value_of(shape, number, partition, field);
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
    if (place == NO_PLACE)
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
    uint32_t number = spec_number(shape, manifest->spec_id);
    for (uint32_t i = 0; i < request->filter_count && number != NO_PLACE; i++)
        if (is_below(&request->filters[i].path, &base) &&
            !field_may_match(op, shape, number, &request->filters[i], manifest))
            return false;
    return true;
}
