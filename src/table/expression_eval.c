/* Inclusive tests of predicates: whether a partition, the partitions of a manifest, or a file may hold a matching row.
 * Iceberg spec, "Scan Planning".
 *
 * All three see a column as a span: which kinds of values may be there (null, NaN, others) and between which bounds.
 * (1) A test says false only when no row with such values matches; whatever is unknown widens the span.
 * (2) A comparison never matches null, in plain and in negated form; NOT_NAN does.
 * (3) Reals compare as Spark compares them: -0.0 equals 0.0, and NaN equals itself and is above all numbers. */
#include "base/math.h"
#include "table/expression_internal.h"

#include <math.h>

static const struct firn_span anything = { .may_be_null = true, .may_be_nan = true, .may_be_value = true };

static bool is_real(enum firn_type_id id)
{
    return id == FIRN_TYPE_FLOAT || id == FIRN_TYPE_DOUBLE;
}

/* (3); neither is NaN. */
static int compare(const struct firn_value *a, const struct firn_value *b)
{
    if (is_real(a->type))
        return (a->real > b->real) - (a->real < b->real);
    return firn_value_compare(a, b);
}

static bool starts_with(const struct firn_value *value, struct firn_bytes prefix)
{
    return firn_text_starts(firn_text_of_bytes(value->bytes), firn_text_of_bytes(prefix));
}

static bool below_lower(const struct firn_span *span, const struct firn_value *value)
{
    return span->has_lower && compare(value, &span->lower) < 0;
}

static bool above_upper(const struct firn_span *span, const struct firn_value *value)
{
    return span->has_upper && compare(value, &span->upper) > 0;
}

static bool contains(const struct firn_span *span, const struct firn_value *value)
{
    return !below_lower(span, value) && !above_upper(span, value);
}

static bool contains_any(const struct firn_span *span, const struct firn_predicate *leaf)
{
    for (uint32_t i = 0; i < leaf->value_count; i++)
        if (contains(span, &leaf->values[i]))
            return true;
    return false;
}

/* Whether all values of the span are `value`. */
static bool is_only(const struct firn_span *span, const struct firn_value *value)
{
    return span->exact && compare(&span->lower, value) == 0 && compare(&span->upper, value) == 0;
}

static bool is_only_one_of(const struct firn_span *span, const struct firn_predicate *leaf)
{
    for (uint32_t i = 0; i < leaf->value_count; i++)
        if (is_only(span, &leaf->values[i]))
            return true;
    return false;
}

/* Texts with the prefix lie from the prefix itself up to the first text above that does not begin with it. */
static bool holds_prefix(const struct firn_span *span, const struct firn_value *prefix)
{
    if (above_upper(span, prefix))
        return false;
    return !span->has_lower || compare(&span->lower, prefix) <= 0 || starts_with(&span->lower, prefix->bytes);
}

static bool all_have_prefix(const struct firn_span *span, const struct firn_value *prefix)
{
    return span->has_lower && span->has_upper && starts_with(&span->lower, prefix->bytes) &&
           starts_with(&span->upper, prefix->bytes);
}

/* The comparison over values of the column itself. */
static bool value_may_match(const struct firn_predicate *leaf, const struct firn_span *span)
{
    const struct firn_value *value = leaf->values;
    switch (leaf->op) {
    case FIRN_PRED_EQ:
    case FIRN_PRED_IN:
        return contains_any(span, leaf);
    case FIRN_PRED_NOT_EQ:
    case FIRN_PRED_NOT_IN:
        return !is_only_one_of(span, leaf);
    case FIRN_PRED_LT:
        return !span->has_lower || compare(&span->lower, value) < 0;
    case FIRN_PRED_LT_EQ:
        return !span->has_lower || compare(&span->lower, value) <= 0;
    case FIRN_PRED_GT:
        return !span->has_upper || compare(&span->upper, value) > 0;
    case FIRN_PRED_GT_EQ:
        return !span->has_upper || compare(&span->upper, value) >= 0;
    case FIRN_PRED_STARTS_WITH:
        return holds_prefix(span, value);
    case FIRN_PRED_NOT_STARTS_WITH:
        return !all_have_prefix(span, value);
    default:
        return true;
    }
}

/* EQ and IN through any transform: the transformed constants against the transformed span. */
static bool transformed_may_equal(const struct firn_predicate *leaf, const struct firn_view *view,
                                  const struct firn_span *span)
{
    for (uint32_t i = 0; i < leaf->value_count; i++) {
        struct firn_value result = firn_transform_value(view->transform, view->source, &leaf->values[i]);
        if (contains(span, &result))
            return true;
    }
    return false;
}

/* The greatest source value of a truncated number: upper + width - 1. False when it passes the type's limit; then the
 * truncated value may also be the wrapped one of the type's least values, and nothing is known. */
static bool truncated_top(const struct firn_view *view, const struct firn_value *upper, firn_int128 *out)
{
    firn_int128 base = view->source->id == FIRN_TYPE_DECIMAL ? upper->decimal : upper->integer;
    if (__builtin_add_overflow(base, view->transform->width - 1, out))
        return false;
    if (view->source->id == FIRN_TYPE_DECIMAL)
        return true;
    return *out <= (view->source->id == FIRN_TYPE_INT ? (firn_int128)INT32_MAX : (firn_int128)INT64_MAX);
}

static bool truncated_number_may_match(const struct firn_predicate *leaf, const struct firn_view *view,
                                       const struct firn_span *span)
{
    const struct firn_value *value = leaf->values;
    firn_int128 top = 0, wanted = view->source->id == FIRN_TYPE_DECIMAL ? value->decimal : value->integer;
    if (!span->has_lower || !span->has_upper || !truncated_top(view, &span->upper, &top))
        return true;
    switch (leaf->op) {
    case FIRN_PRED_LT:
    case FIRN_PRED_LT_EQ:
        return value_may_match(leaf, span);
    case FIRN_PRED_GT:
        return top > wanted;
    case FIRN_PRED_GT_EQ:
        return top >= wanted;
    default:
        return true;
    }
}

/* Truncated texts: each source value begins with its truncated one. */
static bool truncated_text_may_match(const struct firn_predicate *leaf, const struct firn_view *view,
                                     const struct firn_span *span)
{
    const struct firn_value *value = leaf->values;
    struct firn_value cut = firn_transform_value(view->transform, view->source, value);
    switch (leaf->op) {
    case FIRN_PRED_LT:
    case FIRN_PRED_LT_EQ:
        return value_may_match(leaf, span);
    case FIRN_PRED_GT:
    case FIRN_PRED_GT_EQ: /* a source above the constant has a truncated form at or above the constant's */
        return !span->has_upper || compare(&span->upper, &cut) >= 0;
    case FIRN_PRED_STARTS_WITH: /* a prefix that truncation shortens leaves one form; another one leaves many */
        return cut.bytes.len < value->bytes.len ? contains(span, &cut) : holds_prefix(span, value);
    case FIRN_PRED_NOT_STARTS_WITH:
        return !all_have_prefix(span, value);
    default:
        return true;
    }
}

/* Old writers rounded times before 1970 towards zero, so a recorded unit of zero or below may hold the one before. */
static struct firn_span widen_time(const struct firn_view *view, struct firn_span span)
{
    bool exact = view->source->id == FIRN_TYPE_DATE && view->transform->id == FIRN_TRANSFORM_DAY;
    if (!exact && span.has_lower && span.lower.integer <= 0)
        span.lower.integer--;
    return span;
}

static bool time_may_match(const struct firn_predicate *leaf, const struct firn_view *view,
                           const struct firn_span *recorded)
{
    struct firn_span span = widen_time(view, *recorded);
    struct firn_value value = leaf->values[0];
    /* x < v is x <= v - 1: a constant at the very start of a unit does not reach into it */
    int64_t step = leaf->op == FIRN_PRED_LT ? -1 : leaf->op == FIRN_PRED_GT;
    if (leaf->op == FIRN_PRED_EQ || leaf->op == FIRN_PRED_IN)
        return transformed_may_equal(leaf, view, &span);
    if (__builtin_add_overflow(value.integer, step, &value.integer))
        return false; /* below the least time, or above the greatest */
    struct firn_value unit = firn_transform_value(view->transform, view->source, &value);
    switch (leaf->op) {
    case FIRN_PRED_LT:
    case FIRN_PRED_LT_EQ:
        return !below_lower(&span, &unit);
    case FIRN_PRED_GT:
    case FIRN_PRED_GT_EQ:
        return !above_upper(&span, &unit);
    default:
        return true;
    }
}

/* The comparison over transformed values. */
static bool transformed_may_match(const struct firn_predicate *leaf, const struct firn_view *view,
                                  const struct firn_span *span)
{
    bool equal = leaf->op == FIRN_PRED_EQ || leaf->op == FIRN_PRED_IN;
    switch (view->transform->id) {
    case FIRN_TRANSFORM_IDENTITY:
        return value_may_match(leaf, span);
    case FIRN_TRANSFORM_BUCKET:
        return !equal || transformed_may_equal(leaf, view, span);
    case FIRN_TRANSFORM_TRUNCATE:
        if (equal)
            return transformed_may_equal(leaf, view, span);
        if (leaf->op == FIRN_PRED_NOT_EQ || leaf->op == FIRN_PRED_NOT_IN)
            return true;
        return view->source->id == FIRN_TYPE_STRING || view->source->id == FIRN_TYPE_BINARY
                   ? truncated_text_may_match(leaf, view, span)
                   : truncated_number_may_match(leaf, view, span);
    default:
        return time_may_match(leaf, view, span);
    }
}

/* Whether NaN satisfies a comparison with a number. */
static bool nan_matches(enum firn_predicate_op op)
{
    return op == FIRN_PRED_NOT_EQ || op == FIRN_PRED_NOT_IN || op == FIRN_PRED_GT || op == FIRN_PRED_GT_EQ;
}

bool firn_span_may_match(const struct firn_predicate *leaf, const struct firn_view *view, const struct firn_span *span)
{
    switch (leaf->op) {
    case FIRN_PRED_IS_NULL:
        return span->may_be_null;
    case FIRN_PRED_NOT_NULL:
        return span->may_be_nan || span->may_be_value;
    case FIRN_PRED_IS_NAN:
        return span->may_be_nan && is_real(leaf->field->type.id);
    case FIRN_PRED_NOT_NAN:
        return span->may_be_null || span->may_be_value;
    default:
        break;
    }
    if (span->may_be_nan && is_real(leaf->field->type.id) && nan_matches(leaf->op))
        return true;
    return span->may_be_value && transformed_may_match(leaf, view, span);
}

struct firn_view firn_view_of_column(const struct firn_type *type)
{
    static const struct firn_transform identity = { .id = FIRN_TRANSFORM_IDENTITY };
    return (struct firn_view){ &identity, type };
}

/* What a test knows, and how it finds the spans of a column. */
struct subject {
    const struct firn_partition_spec *spec; /* NULL: file metrics */
    const struct firn_type *types;
    const struct firn_partition *partition;
    const struct firn_manifest_file *manifest;
    const struct firn_data_file *file;
};

/* A bound whose type the column has been promoted from since is widened; false when it tells nothing. */
static bool as_column(const struct firn_type *from, const struct firn_view *view, struct firn_value *value)
{
    enum firn_transform_id id = view->transform->id;
    if (id != FIRN_TRANSFORM_IDENTITY && id != FIRN_TRANSFORM_TRUNCATE)
        return true;
    if (!firn_value_promote(from, view->source, value, value))
        return false;
    return value->is_null || !is_real(value->type) || !isnan(value->real);
}

static struct firn_span span_of_tuple(const struct firn_type *type, const struct firn_view *view,
                                      const struct firn_value *value)
{
    struct firn_span span = { .lower = *value, .upper = *value };
    span.may_be_null = value->is_null;
    span.may_be_nan = !value->is_null && is_real(value->type) && isnan(value->real);
    span.may_be_value = !span.may_be_null && !span.may_be_nan;
    span.exact = span.may_be_value && as_column(type, view, &span.lower) && as_column(type, view, &span.upper);
    span.has_lower = span.has_upper = span.exact;
    return span;
}

/* Java ordered UUIDs as pairs of signed numbers: only bounds that meet tell anything. */
static void distrust_uuids(const struct firn_type *type, struct firn_span *span)
{
    bool meet = span->has_lower && span->has_upper && firn_value_compare(&span->lower, &span->upper) == 0;
    if (type->id == FIRN_TYPE_UUID && !meet)
        span->has_lower = span->has_upper = false;
}

static bool read_bound(const struct firn_type *type, const struct firn_view *view, struct firn_bytes bytes,
                       struct firn_value *out)
{
    return bytes.data && firn_value_read(type, bytes, out) && as_column(type, view, out);
}

static struct firn_span span_of_summary(const struct firn_type *type, const struct firn_view *view,
                                        const struct firn_field_summary *summary)
{
    struct firn_span span = { .may_be_null = summary->contains_null };
    span.may_be_nan = is_real(type->id) && (!summary->has_contains_nan || summary->contains_nan);
    span.has_lower = read_bound(type, view, summary->lower_bound, &span.lower);
    span.has_upper = read_bound(type, view, summary->upper_bound, &span.upper);
    distrust_uuids(type, &span);
    /* without bounds there is nothing but null (and NaN) */
    span.may_be_value = summary->lower_bound.data || summary->upper_bound.data || !summary->contains_null;
    return span;
}

/* A negative count is as good as none. */
static bool find_count(const struct firn_count_map *map, int32_t id, int64_t *out)
{
    int64_t count;
    if (!firn_count_map_find(map, id, &count) || count < 0)
        return false;
    *out = count;
    return true;
}

struct firn_span firn_span_of_metrics(const struct firn_data_file *file, const struct firn_field *field)
{
    struct firn_view of_column = firn_view_of_column(&field->type), *view = &of_column;
    struct firn_span span = anything;
    struct firn_bytes bytes;
    int64_t values, nulls, nans = 0;
    bool has_values = find_count(&file->value_counts, field->id, &values);
    bool has_nulls = find_count(&file->null_value_counts, field->id, &nulls);
    bool has_nans = find_count(&file->nan_value_counts, field->id, &nans);
    if (has_nulls) /* Java counts floats of a struct only where the struct is there */
        span.may_be_null = nulls > 0 || (has_values && values < file->record_count);
    if (has_nans || !is_real(field->type.id))
        span.may_be_nan = nans > 0;
    if (has_values && has_nulls) {
        span.may_be_nan &= nulls < values;
        span.may_be_value = (uint64_t)nulls + (uint64_t)nans < (uint64_t)values;
    }
    span.has_lower = firn_bound_map_find(&file->lower_bounds, field->id, &bytes) &&
                     read_bound(&field->type, view, bytes, &span.lower);
    span.has_upper = firn_bound_map_find(&file->upper_bounds, field->id, &bytes) &&
                     read_bound(&field->type, view, bytes, &span.upper);
    distrust_uuids(&field->type, &span);
    return span;
}

static bool partition_field_may_match(const struct subject *subject, const struct firn_predicate *leaf, uint32_t index)
{
    const struct firn_partition_field *field = &subject->spec->fields[index];
    const struct firn_type *type = &subject->types[index];
    struct firn_view view = { &field->transform, &leaf->field->type };
    struct firn_span span = anything;
    if (field->source_count != 1 || field->source_ids[0] != leaf->field->id ||
        field->transform.id == FIRN_TRANSFORM_VOID || type->id == FIRN_TYPE_UNKNOWN ||
        !firn_transform_accepts(&field->transform, view.source))
        return true;
    if (subject->partition && index < subject->partition->count)
        span = span_of_tuple(type, &view, &subject->partition->values[index]);
    else if (subject->manifest && index < subject->manifest->summary_count)
        span = span_of_summary(type, &view, &subject->manifest->summaries[index]);
    return firn_span_may_match(leaf, &view, &span);
}

static bool leaf_may_match(const struct subject *subject, const struct firn_predicate *leaf)
{
    if (leaf->op == FIRN_PRED_OPAQUE)
        return true;
    if (!subject->spec) {
        struct firn_view view = firn_view_of_column(&leaf->field->type);
        struct firn_span span = firn_span_of_metrics(subject->file, leaf->field);
        return firn_span_may_match(leaf, &view, &span);
    }
    for (uint32_t i = 0; i < subject->spec->field_count; i++)
        if (!partition_field_may_match(subject, leaf, i))
            return false;
    return true;
}

/* Long chains lean to the left, so the loop goes down there and only the short right side recurses. */
static bool may_match(const struct subject *subject, const struct firn_predicate *predicate)
{
    while (predicate->op == FIRN_PRED_AND || predicate->op == FIRN_PRED_OR) {
        bool right = may_match(subject, predicate->right);
        if (right == (predicate->op == FIRN_PRED_OR))
            return right;
        predicate = predicate->left;
    }
    if (predicate->op == FIRN_PRED_TRUE || predicate->op == FIRN_PRED_FALSE)
        return predicate->op == FIRN_PRED_TRUE;
    return leaf_may_match(subject, predicate);
}

bool firn_predicate_manifest_may_match(const struct firn_predicate *predicate, const struct firn_partition_spec *spec,
                                       const struct firn_type *types, const struct firn_manifest_file *manifest)
{
    struct subject subject = { .spec = spec, .types = types };
    if (manifest->has_summaries)
        subject.manifest = manifest;
    return may_match(&subject, predicate);
}

bool firn_predicate_partition_may_match(const struct firn_predicate *predicate, const struct firn_partition_spec *spec,
                                        const struct firn_type *types, const struct firn_partition *partition)
{
    struct subject subject = { .spec = spec, .types = types, .partition = partition };
    return may_match(&subject, predicate);
}

bool firn_predicate_file_may_match(const struct firn_predicate *predicate, const struct firn_data_file *file)
{
    struct subject subject = { .file = file };
    if (file->record_count == 0 && predicate->op != FIRN_PRED_TRUE)
        return false;
    return may_match(&subject, predicate);
}
