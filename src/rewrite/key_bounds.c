/* Reading metrics with the distrust they deserve. */
#include "rewrite/key_bounds.h"

#include <math.h>

/* Types whose bounds all writers order alike: not UUIDs, which Java compared as signed numbers. */
static bool has_ordered_bounds(enum firn_type_id id)
{
    return id != FIRN_TYPE_UUID && id != FIRN_TYPE_GEOMETRY && id != FIRN_TYPE_GEOGRAPHY;
}

static bool is_real(enum firn_type_id id)
{
    return id == FIRN_TYPE_FLOAT || id == FIRN_TYPE_DOUBLE;
}

static bool is_text(enum firn_type_id id)
{
    return id == FIRN_TYPE_STRING || id == FIRN_TYPE_BINARY;
}

/* The column may be read from the partition instead, where metrics say nothing of what the file stores. */
static bool is_constant(const struct firn_metadata *metadata, const struct firn_data_file *file, int32_t field_id)
{
    const struct firn_partition_spec *spec = firn_metadata_spec(metadata, file->spec_id);
    return !spec || firn_partition_identity_value(spec, &file->partition, field_id);
}

static bool is_nested(const struct firn_output_leaf *leaf)
{
    return leaf->node->parent && leaf->node->parent->parent;
}

static void read_counts(const struct firn_data_file *file, const struct firn_output_leaf *leaf,
                        struct firn_column_bounds *out)
{
    int64_t values, nulls, nans;
    if (is_nested(leaf)) /* writers differ in whether a null struct is a null of its fields */
        return;
    if (firn_count_map_find(&file->null_value_counts, leaf->field->id, &nulls)) {
        out->may_null = nulls != 0;
        if (firn_count_map_find(&file->value_counts, leaf->field->id, &values) && values > 0 && nulls == values)
            out->may_value = out->may_nan = false;
    }
    if (firn_count_map_find(&file->nan_value_counts, leaf->field->id, &nans) && nans == 0)
        out->may_nan = false;
}

static void read_range(const struct firn_data_file *file, const struct firn_field *field,
                       struct firn_column_bounds *out)
{
    struct firn_bytes lower, upper;
    if (!has_ordered_bounds(field->type.id) || !firn_bound_map_find(&file->lower_bounds, field->id, &lower) ||
        !firn_bound_map_find(&file->upper_bounds, field->id, &upper) ||
        !firn_value_read(&field->type, lower, &out->lower) || !firn_value_read(&field->type, upper, &out->upper))
        return;
    if (is_real(field->type.id) && (isnan(out->lower.real) || isnan(out->upper.real)))
        return;
    out->has_range = true;
}

struct firn_column_bounds *firn_key_bounds_new(struct firn_op *op, const struct firn_metadata *metadata,
                                               const struct firn_output_schema *schema,
                                               const struct firn_data_file *file)
{
    struct firn_column_bounds *bounds = FIRN_NEW_ARRAY(op->arena, struct firn_column_bounds, schema->leaf_count);
    for (uint32_t i = 0; i < schema->leaf_count; i++) {
        const struct firn_output_leaf *leaf = &schema->leaves[i];
        bounds[i] = (struct firn_column_bounds){
            .may_null = true,
            .may_nan = is_real(leaf->field->type.id),
            .may_value = true,
        };
        if (is_constant(metadata, file, leaf->field->id))
            continue;
        read_counts(file, leaf, &bounds[i]);
        read_range(file, leaf->field, &bounds[i]);
    }
    return bounds;
}

static bool begins_with(struct firn_bytes bytes, struct firn_bytes prefix)
{
    return firn_text_starts(firn_text_of_bytes(bytes), firn_text_of_bytes(prefix));
}

/* Whether all values are above the other's. Zeros of both signs count as one, since writers mix them up in bounds. An
 * upper bound of text may have been cut without being raised: whatever begins with it may be there. */
static bool is_above(const struct firn_value *lower, const struct firn_value *upper)
{
    if (is_real(lower->type))
        return lower->real > upper->real;
    if (firn_value_compare(lower, upper) <= 0)
        return false;
    return !is_text(lower->type) || !begins_with(lower->bytes, upper->bytes);
}

static bool ranges_meet(const struct firn_column_bounds *a, const struct firn_column_bounds *b)
{
    return !a->has_range || !b->has_range || (!is_above(&a->lower, &b->upper) && !is_above(&b->lower, &a->upper));
}

bool firn_key_bounds_meet(const struct firn_column_bounds *a, const struct firn_column_bounds *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        bool meet = (a[i].may_null && b[i].may_null) || (a[i].may_nan && b[i].may_nan) ||
                    (a[i].may_value && b[i].may_value && ranges_meet(&a[i], &b[i]));
        if (!meet)
            return false;
    }
    return true;
}

/* An upper bound that is cut to a prefix of the other's takes in the other, so that it is the higher one. */
static bool is_higher(const struct firn_value *a, const struct firn_value *b)
{
    if (is_text(a->type) && begins_with(b->bytes, a->bytes))
        return true;
    if (is_text(a->type) && begins_with(a->bytes, b->bytes))
        return false;
    return firn_value_compare(a, b) > 0;
}

static void widen(struct firn_column_bounds *column, const struct firn_column_bounds *other)
{
    column->may_null |= other->may_null;
    column->may_nan |= other->may_nan;
    if (!other->may_value)
        return;
    if (!column->may_value) {
        column->may_value = true;
        column->has_range = other->has_range;
        column->lower = other->lower;
        column->upper = other->upper;
        return;
    }
    column->has_range = column->has_range && other->has_range;
    if (!column->has_range)
        return;
    if (firn_value_compare(&other->lower, &column->lower) < 0)
        column->lower = other->lower;
    if (is_higher(&other->upper, &column->upper))
        column->upper = other->upper;
}

void firn_key_bounds_widen(struct firn_column_bounds *bounds, const struct firn_column_bounds *other, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        widen(&bounds[i], &other[i]);
}
