/* What a manifest entry says of a column against what the file holds. Iceberg spec, "Manifests" (data_file), "Partition
 * Transforms".
 *
 * Readers leave out files by these numbers and answer aggregates from them, so a wrong one is wrong rows. Bounds may be
 * wider than the values; text and bytes are usually cut. */
#include "maintain/file_check_parts.h"

#include <math.h>

#include "base/math.h"

static bool is_real(enum firn_type_id id)
{
    return id == FIRN_TYPE_FLOAT || id == FIRN_TYPE_DOUBLE;
}

/* Zeros of both signs count as one, since writers mix them up in bounds. */
static int compare_values(const struct firn_value *a, const struct firn_value *b)
{
    if (is_real(a->type))
        return (a->real > b->real) - (a->real < b->real);
    return firn_value_compare(a, b);
}

/* As Java compares UUIDs: two signed halves. */
static int compare_signed_uuids(const struct firn_value *a, const struct firn_value *b)
{
    for (size_t i = 0; i < 16; i += 8) {
        int64_t left = (int64_t)firn_load_be64(a->bytes.data + i);
        int64_t right = (int64_t)firn_load_be64(b->bytes.data + i);
        if (left != right)
            return left < right ? -1 : 1;
    }
    return 0;
}

/* Counts ----------------------------------------------------------------------------------------------------------- */

/* What an entry may record: in a struct, Java counts floats only where the struct is there, and all else everywhere. So
 * readers cannot trust counts of nested columns, and no more than a warning comes of them. */
struct count_range {
    int64_t least, most; /* FIRN_ABSENT: not known */
};

static struct count_range count_range(const struct firn_column_facts *facts, int64_t count)
{
    bool some = facts->nested && count > 0;
    return (struct count_range){ .least = some ? 0 : count, .most = count };
}

static void check_count(struct firn_checked *checked, const struct firn_column_facts *facts, const char *code,
                        const struct firn_count_map *recorded, struct count_range range)
{
    int64_t count;
    if (range.most == FIRN_ABSENT || facts->repeated || !firn_count_map_find(recorded, facts->field->id, &count) ||
        (count >= range.least && count <= range.most))
        return;
    firn_findings_add(checked->found, facts->nested ? FIRN_SEVERITY_WARNING : FIRN_SEVERITY_ERROR, code,
                      checked->file->path, "column '%.*s' has %" PRId64 ", its entry records %" PRId64,
                      FIRN_FMT(facts->name), range.most, count);
}

static void check_counts(struct firn_checked *checked, const struct firn_column_facts *facts)
{
    const struct firn_data_file *file = checked->file;
    struct count_range nans = { facts->nan_count, facts->nan_count };
    check_count(checked, facts, "value-count", &file->value_counts, count_range(facts, facts->value_count));
    check_count(checked, facts, "null-count", &file->null_value_counts, count_range(facts, facts->null_count));
    check_count(checked, facts, "nan-count", &file->nan_value_counts, nans);
}

/* Bounds ----------------------------------------------------------------------------------------------------------- */

static bool read_bound(struct firn_checked *checked, const struct firn_column_facts *facts, const char *code,
                       const struct firn_bound_map *bounds, struct firn_value *out)
{
    struct firn_bytes bytes;
    if (!firn_bound_map_find(bounds, facts->field->id, &bytes))
        return false;
    if (!firn_value_read(&facts->field->type, bytes, out)) {
        FIRN_CHECK_ERROR(checked, code, "column '%.*s' has a bound of %zu bytes, which is no %s", FIRN_FMT(facts->name),
                         bytes.len, firn_type_name(facts->field->type.id));
        return false;
    }
    return !is_real(out->type) || !isnan(out->real); /* early writers took NaN for the greatest value */
}

static bool begins_with(struct firn_bytes bytes, struct firn_bytes prefix)
{
    return firn_text_starts(firn_text_of_bytes(bytes), firn_text_of_bytes(prefix));
}

/* What a cut upper bound and all values below it that end it have in common: all but the last character, which was
 * raised. */
static struct firn_value without_last(struct firn_value value)
{
    while (value.bytes.len > 0 && (value.bytes.data[value.bytes.len - 1] & 0xc0) == 0x80)
        value.bytes.len--;
    if (value.bytes.len > 0)
        value.bytes.len--;
    return value;
}

static bool is_too_high(const struct firn_value *bound, const struct firn_column_facts *facts)
{
    if (compare_values(bound, &facts->lower) <= 0)
        return false;
    return facts->lower_exact || !begins_with(bound->bytes, facts->lower.bytes);
}

static bool is_too_low(const struct firn_value *bound, const struct firn_column_facts *facts)
{
    if (compare_values(bound, &facts->upper) >= 0)
        return false;
    struct firn_value stem = without_last(facts->upper);
    return facts->upper_exact || compare_values(bound, &stem) < 0;
}

static bool has_order(enum firn_type_id id)
{
    return id != FIRN_TYPE_GEOMETRY && id != FIRN_TYPE_GEOGRAPHY;
}

static void report_bound(struct firn_op *op, struct firn_checked *checked, const struct firn_column_facts *facts,
                         const char *code, const struct firn_value *bound, const struct firn_value *value)
{
    const struct firn_type *type = &facts->field->type;
    FIRN_CHECK_ERROR(checked, code, "column '%.*s' has the value %.*s, beyond the recorded bound %.*s",
                     FIRN_FMT(facts->name), FIRN_FMT(firn_value_text(op->arena, type, value)),
                     FIRN_FMT(firn_value_text(op->arena, type, bound)));
}

static void check_bounds(struct firn_op *op, struct firn_checked *checked, const struct firn_column_facts *facts)
{
    struct firn_value lower, upper;
    if (facts->repeated || !has_order(facts->field->type.id))
        return;
    bool has_lower = read_bound(checked, facts, "lower-bound", &checked->file->lower_bounds, &lower);
    bool has_upper = read_bound(checked, facts, "upper-bound", &checked->file->upper_bounds, &upper);
    if (!facts->has_bounds)
        return;
    bool is_uuid = facts->field->type.id == FIRN_TYPE_UUID; /* Java's order was that of signed numbers for long */
    if (has_lower && is_too_high(&lower, facts) && (!is_uuid || compare_signed_uuids(&lower, &facts->lower) > 0))
        report_bound(op, checked, facts, "lower-bound", &lower, &facts->lower);
    if (has_upper && is_too_low(&upper, facts) && (!is_uuid || compare_signed_uuids(&upper, &facts->upper) < 0))
        report_bound(op, checked, facts, "upper-bound", &upper, &facts->upper);
}

/* The partition tuple ---------------------------------------------------------------------------------------------- */

static bool keeps_order(enum firn_transform_id id)
{
    return id != FIRN_TRANSFORM_BUCKET && id != FIRN_TRANSFORM_VOID && id != FIRN_TRANSFORM_UNKNOWN;
}

/* Whether the transform of one value says something of all. */
static bool is_comparable(const struct firn_transform *transform, const struct firn_column_facts *facts)
{
    if (!facts->has_bounds || !facts->lower_exact || !facts->upper_exact || transform->id == FIRN_TRANSFORM_VOID ||
        transform->id == FIRN_TRANSFORM_UNKNOWN || !firn_transform_accepts(transform, &facts->field->type))
        return false;
    return keeps_order(transform->id) || firn_value_compare(&facts->lower, &facts->upper) == 0;
}

static void check_partition_value(struct firn_op *op, struct firn_checked *checked,
                                  const struct firn_column_facts *facts, const struct firn_partition_field *field,
                                  const struct firn_value *tuple)
{
    const struct firn_value *ends[] = { &facts->lower, &facts->upper };
    const struct firn_type type = firn_transform_result(&field->transform, &facts->field->type);
    for (size_t i = 0; i < FIRN_COUNT_OF(ends); i++) {
        struct firn_value result = firn_transform_value(&field->transform, &facts->field->type, ends[i]);
        if (result.type != tuple->type || compare_values(&result, tuple) == 0)
            continue;
        FIRN_CHECK_ERROR(checked, "partition-value",
                         "column '%.*s' has the value %.*s, which is not of the partition %.*s = %.*s",
                         FIRN_FMT(facts->name), FIRN_FMT(firn_value_text(op->arena, &facts->field->type, ends[i])),
                         FIRN_FMT(field->name), FIRN_FMT(firn_value_text(op->arena, &type, tuple)));
        return;
    }
}

static void check_partition_field(struct firn_op *op, struct firn_checked *checked,
                                  const struct firn_column_facts *facts, const struct firn_partition_field *field,
                                  const struct firn_value *tuple)
{
    bool some_null = facts->null_count != FIRN_ABSENT && facts->null_count > 0 && !facts->nested;
    bool is_void = field->transform.id == FIRN_TRANSFORM_VOID || field->transform.id == FIRN_TRANSFORM_UNKNOWN;
    if (!is_void && tuple->is_null && facts->has_bounds)
        FIRN_CHECK_ERROR(checked, "partition-value", "column '%.*s' has values, its partition is %.*s = null",
                         FIRN_FMT(facts->name), FIRN_FMT(field->name));
    else if (!is_void && !tuple->is_null && some_null)
        FIRN_CHECK_ERROR(checked, "partition-value", "column '%.*s' has nulls, its partition %.*s is not null",
                         FIRN_FMT(facts->name), FIRN_FMT(field->name));
    else if (!tuple->is_null && is_comparable(&field->transform, facts) &&
             (!is_real(tuple->type) || !isnan(tuple->real)))
        check_partition_value(op, checked, facts, field, tuple);
}

static void check_partition(struct firn_op *op, struct firn_checked *checked, const struct firn_column_facts *facts)
{
    const struct firn_partition_spec *spec = checked->spec;
    const struct firn_partition *tuple = &checked->file->partition;
    if (facts->repeated || !spec || tuple->count != spec->field_count)
        return;
    for (uint32_t i = 0; i < spec->field_count; i++)
        if (spec->fields[i].source_count == 1 && spec->fields[i].source_ids[0] == facts->field->id)
            check_partition_field(op, checked, facts, &spec->fields[i], &tuple->values[i]);
}

void firn_check_metrics(struct firn_op *op, struct firn_checked *checked, const struct firn_column_facts *facts)
{
    check_counts(checked, facts);
    check_bounds(op, checked, facts);
    check_partition(op, checked, facts);
}
