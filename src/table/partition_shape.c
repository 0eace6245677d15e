/* Partition tuples of several specs in one struct. Reference: format-notes.md, 9. */
#include "table/partition_shape.h"

#include <stdlib.h>

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
    return FIRN_NO_PLACE;
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
        if (place == FIRN_NO_PLACE)
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

/* Values ----------------------------------------------------------------------------------------------------------- */

uint32_t firn_partition_shape_spec(const struct firn_partition_shape *shape, int32_t spec_id)
{
    const struct firn_partition_spec *spec = firn_metadata_spec(shape->metadata, spec_id);
    return spec ? (uint32_t)(spec - shape->metadata->specs) : FIRN_NO_PLACE;
}

uint32_t firn_partition_shape_present(const struct firn_partition_shape *shape, int32_t spec_id)
{
    uint32_t number = firn_partition_shape_spec(shape, spec_id), present = 0;
    for (uint32_t field = 0; number != FIRN_NO_PLACE && field < shape->field_count; field++)
        present += shape->places[number * shape->field_count + field] != FIRN_NO_PLACE;
    return present;
}

static struct firn_value value_of(const struct firn_partition_shape *shape, uint32_t number,
                                  const struct firn_partition *partition, uint32_t field)
{
    struct firn_value null = { .type = shape->types[field].id, .is_null = true }, value;
    uint32_t place = number == FIRN_NO_PLACE ? FIRN_NO_PLACE : shape->places[number * shape->field_count + field];
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
    uint32_t number = firn_partition_shape_spec(shape, spec_id);
    for (uint32_t field = 0; field < shape->field_count; field++)
        out[field] = value_of(shape, number, partition, field);
}

struct firn_value *firn_partition_shape_copy(struct firn_arena *arena, const struct firn_partition_shape *shape,
                                             const struct firn_value *values)
{
    struct firn_value *copy = FIRN_NEW_ARRAY(arena, struct firn_value, shape->field_count);
    for (uint32_t i = 0; i < shape->field_count; i++)
        copy[i] = firn_value_copy(arena, &values[i]);
    return copy;
}
