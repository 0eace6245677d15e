/* Why a file's metrics do not rule it out for a condition: what an explanation of a scan counts.
 *
 * RULED_OUT is said exactly where firn_predicate_file_may_match says no, and ALL_MATCH only when the metrics prove it;
 * the others are what stands in the way, the first that applies. */
#include "table/expression_internal.h"

static bool is_unary(enum firn_predicate_op op)
{
    return op == FIRN_PRED_IS_NULL || op == FIRN_PRED_NOT_NULL || op == FIRN_PRED_IS_NAN || op == FIRN_PRED_NOT_NAN;
}

static bool is_negative(enum firn_predicate_op op)
{
    return op == FIRN_PRED_NOT_EQ || op == FIRN_PRED_NOT_IN || op == FIRN_PRED_NOT_STARTS_WITH;
}

/* No row fails the condition: none is null where that counts, and none matches the opposite. */
static bool all_match(const struct firn_predicate *leaf, const struct firn_view *view, struct firn_span span)
{
    struct firn_predicate opposite = *leaf;
    opposite.op = firn_predicate_op_negate(leaf->op);
    if (!is_unary(leaf->op) && (span.may_be_null || span.may_be_nan))
        return false;
    /* bounds that meet are the value itself */
    span.exact = span.has_lower && span.has_upper && firn_value_compare(&span.lower, &span.upper) == 0;
    return !firn_span_may_match(&opposite, view, &span);
}

static bool has_bytes(const struct firn_data_file *file, int32_t id)
{
    struct firn_bytes bytes;
    return firn_bound_map_find(&file->lower_bounds, id, &bytes) || firn_bound_map_find(&file->upper_bounds, id, &bytes);
}

static bool has_counts(const struct firn_data_file *file, int32_t id)
{
    int64_t count;
    return firn_count_map_find(&file->value_counts, id, &count) ||
           firn_count_map_find(&file->null_value_counts, id, &count);
}

static enum firn_stay without_bounds(const struct firn_data_file *file, int32_t id)
{
    if (has_bytes(file, id))
        return FIRN_STAY_BAD_BOUNDS;
    return has_counts(file, id) ? FIRN_STAY_NO_BOUNDS : FIRN_STAY_NO_METRICS;
}

/* A lower bound that the value goes on from, or an upper one that differs from the value in its last place alone and by
 * one there, as writers raise it. */
static bool is_cut_before(const struct firn_span *span, const struct firn_value *value)
{
    struct firn_bytes lower = span->lower.bytes, upper = span->upper.bytes, bytes = value->bytes;
    bool goes_on = lower.len > 0 && lower.len < bytes.len && memcmp(lower.data, bytes.data, lower.len) == 0;
    bool is_raised = upper.len > 0 && upper.len < bytes.len && memcmp(upper.data, bytes.data, upper.len - 1) == 0 &&
                     upper.data[upper.len - 1] == bytes.data[upper.len - 1] + 1;
    return goes_on || is_raised;
}

static bool is_cut(const struct firn_predicate *leaf, const struct firn_span *span)
{
    enum firn_type_id id = leaf->field->type.id;
    if ((id != FIRN_TYPE_STRING && id != FIRN_TYPE_BINARY) || !span->has_lower || !span->has_upper)
        return false;
    for (uint32_t i = 0; i < leaf->value_count; i++)
        if (is_cut_before(span, &leaf->values[i]))
            return true;
    return false;
}

enum firn_stay firn_predicate_stay(const struct firn_predicate *leaf, const struct firn_data_file *file)
{
    if (leaf->op == FIRN_PRED_OPAQUE)
        return FIRN_STAY_OPAQUE;
    struct firn_view view = firn_view_of_column(&leaf->field->type);
    struct firn_span span = firn_span_of_metrics(file, leaf->field), values = span;
    if (file->record_count == 0 || !firn_span_may_match(leaf, &view, &span))
        return FIRN_STAY_RULED_OUT;
    if (all_match(leaf, &view, span))
        return FIRN_STAY_ALL_MATCH;
    if (is_unary(leaf->op))
        return has_counts(file, leaf->field->id) ? FIRN_STAY_NULLS : FIRN_STAY_NO_METRICS;
    if (!span.has_lower && !span.has_upper)
        return without_bounds(file, leaf->field->id);
    values.may_be_nan = false;
    if (!firn_span_may_match(leaf, &view, &values))
        return FIRN_STAY_NANS;
    if (is_negative(leaf->op))
        return FIRN_STAY_NOT_EQUAL;
    return is_cut(leaf, &span) ? FIRN_STAY_TRUNCATED : FIRN_STAY_OVERLAP;
}
