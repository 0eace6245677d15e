/* Bounds of single columns bound whole keys: the least values of all fields make a key that none of the file comes
 * before. Bounds of later fields are those of the whole file, though, not of the rows at its end. */
#include "maintain/key_range.h"

#include "base/math.h"

firn_status firn_key_measure_new(struct firn_op *op, const struct firn_metadata *metadata,
                                 const struct firn_ordering *ordering, struct firn_key_measure *out)
{
    const struct firn_schema *schema = firn_metadata_current_schema(metadata);
    const struct firn_sort_order *order = firn_metadata_sort_order(metadata, metadata->default_sort_order_id);
    const struct firn_metrics_config *metrics;
    FIRN_TRY(firn_metrics_config_new(op, metadata, schema, order, &metrics));
    *out = (struct firn_key_measure){
        .ordering = ordering,
        .field_count = FIRN_MIN(ordering->field_count, (uint32_t)FIRN_KEY_FIELDS_MAX),
    };
    for (uint32_t i = 0; i < out->field_count; i++) {
        out->fields[i] = firn_schema_field(schema, ordering->fields[i].source_id);
        out->written[i] = firn_metrics_config_find(metrics, out->fields[i]->id);
    }
    return FIRN_OK;
}

/* Ends. */

static bool keeps_order(const struct firn_transform *transform)
{
    return transform->id != FIRN_TRANSFORM_BUCKET && transform->id != FIRN_TRANSFORM_VOID;
}

static bool is_cut_type(enum firn_type_id type)
{
    return type == FIRN_TYPE_STRING || type == FIRN_TYPE_BINARY;
}

/* What becomes of a bound in a new file; false: it is not kept. */
static bool rewrite_bound(struct firn_arena *arena, const struct firn_key_measure *measure, uint32_t index,
                          bool is_upper, struct firn_bytes *bytes)
{
    enum firn_type_id type = measure->fields[index]->type.id;
    struct firn_metrics_setting written = measure->written[index];
    if (written.mode == FIRN_METRICS_NONE || written.mode == FIRN_METRICS_COUNTS)
        return false;
    if (written.mode != FIRN_METRICS_TRUNCATE || !is_cut_type(type))
        return true;
    if (is_upper)
        return firn_truncate_upper(arena, type, *bytes, written.length, bytes);
    *bytes = firn_truncate_lower(arena, type, *bytes, written.length);
    return true;
}

static struct firn_key_end bound_of(struct firn_arena *arena, const struct firn_key_measure *measure, uint32_t index,
                                    const struct firn_data_file *file, bool is_upper, bool is_rewritten)
{
    const struct firn_transform *transform = &measure->ordering->fields[index].transform;
    const struct firn_field *field = measure->fields[index];
    struct firn_key_end end = { .kind = is_upper ? FIRN_KEY_END_GREATEST : FIRN_KEY_END_LEAST };
    struct firn_bytes bytes;
    struct firn_value value;
    if (!keeps_order(transform) ||
        !firn_bound_map_find(is_upper ? &file->upper_bounds : &file->lower_bounds, field->id, &bytes) ||
        (is_rewritten && !rewrite_bound(arena, measure, index, is_upper, &bytes)) ||
        !firn_value_read(&field->type, bytes, &value))
        return end;
    end.kind = FIRN_KEY_END_VALUE;
    end.value = firn_transform_value(transform, &field->type, &value);
    return end;
}

/* Bounds leave NaN out, which is above every number. */
static bool may_have_nan(const struct firn_field *field, const struct firn_data_file *file)
{
    enum firn_type_id type = field->type.id;
    int64_t count;
    return (type == FIRN_TYPE_FLOAT || type == FIRN_TYPE_DOUBLE) &&
           (!firn_count_map_find(&file->nan_value_counts, field->id, &count) || count > 0);
}

/* Takes in NaN and nulls, of which the bounds know nothing. */
static void widen(const struct firn_key_measure *measure, uint32_t index, const struct firn_data_file *file,
                  struct firn_key_end *low, struct firn_key_end *high)
{
    const struct firn_ordering_field *ordered = &measure->ordering->fields[index];
    bool nulls_below = ordered->nulls_last == ordered->descending;
    int64_t nulls;
    bool is_known = firn_count_map_find(&file->null_value_counts, measure->fields[index]->id, &nulls);
    if (high->kind == FIRN_KEY_END_VALUE && may_have_nan(measure->fields[index], file))
        high->kind = FIRN_KEY_END_NAN;
    if (is_known && nulls == file->record_count)
        low->kind = high->kind = nulls_below ? FIRN_KEY_END_NULL_BELOW : FIRN_KEY_END_NULL_ABOVE;
    else if ((!is_known || nulls > 0) && nulls_below)
        low->kind = low->kind == FIRN_KEY_END_LEAST ? FIRN_KEY_END_LEAST : FIRN_KEY_END_NULL_BELOW;
    else if (!is_known || nulls > 0)
        high->kind = high->kind == FIRN_KEY_END_GREATEST ? FIRN_KEY_END_GREATEST : FIRN_KEY_END_NULL_ABOVE;
}

struct firn_key_range firn_key_range_of(struct firn_arena *arena, const struct firn_key_measure *measure,
                                        const struct firn_data_file *file, bool is_rewritten)
{
    struct firn_key_end *first = FIRN_NEW_ARRAY(arena, struct firn_key_end, measure->field_count);
    struct firn_key_end *last = FIRN_NEW_ARRAY(arena, struct firn_key_end, measure->field_count);
    for (uint32_t i = 0; i < measure->field_count; i++) {
        bool descending = measure->ordering->fields[i].descending;
        struct firn_key_end *low = descending ? &last[i] : &first[i], *high = descending ? &first[i] : &last[i];
        *low = bound_of(arena, measure, i, file, false, is_rewritten);
        *high = bound_of(arena, measure, i, file, true, is_rewritten);
        widen(measure, i, file, low, high);
    }
    return (struct firn_key_range){ first, last };
}

/* Comparing. */

static int compare_field(const struct firn_key_measure *measure, uint32_t index, const struct firn_key_end *a,
                         const struct firn_key_end *b)
{
    int order = (a->kind > b->kind) - (a->kind < b->kind);
    if (order == 0 && a->kind == FIRN_KEY_END_VALUE)
        order = firn_value_compare(&a->value, &b->value);
    return measure->ordering->fields[index].descending ? -order : order;
}

void firn_key_range_widen(const struct firn_key_measure *measure, struct firn_key_range *range,
                          const struct firn_key_range *by)
{
    for (uint32_t i = 0; i < measure->field_count; i++) {
        if (compare_field(measure, i, &by->first[i], &range->first[i]) < 0)
            range->first[i] = by->first[i];
        if (compare_field(measure, i, &by->last[i], &range->last[i]) > 0)
            range->last[i] = by->last[i];
    }
}

int firn_key_ends_compare(const struct firn_key_measure *measure, const struct firn_key_end *a,
                          const struct firn_key_end *b)
{
    int order = 0;
    for (uint32_t i = 0; order == 0 && i < measure->field_count; i++)
        order = compare_field(measure, i, &a[i], &b[i]);
    return order;
}

int firn_key_ranges_compare(const struct firn_key_measure *measure, const struct firn_key_range *a,
                            const struct firn_key_range *b)
{
    int order = 0;
    for (uint32_t i = 0; order == 0 && i < measure->field_count; i++) {
        order = compare_field(measure, i, &a->first[i], &b->first[i]);
        if (order == 0)
            order = compare_field(measure, i, &a->last[i], &b->last[i]);
    }
    return order;
}

static bool is_unknown(const struct firn_key_end *end)
{
    return end->kind == FIRN_KEY_END_LEAST || end->kind == FIRN_KEY_END_GREATEST;
}

/* Upper bounds of long texts are cut, and then raised in their last byte: what lies between is as likely to be where
 * both ranges meet. */
static bool meets_cut_bound(const struct firn_value *low, const struct firn_value *high)
{
    enum { CUT_BYTES_MIN = 16 };
    if (!is_cut_type(high->type) || high->bytes.len < CUT_BYTES_MIN)
        return false;
    size_t kept = high->bytes.len - 1;
    struct firn_bytes begin = { low->bytes.data, low->bytes.len < kept ? low->bytes.len : kept };
    int order = firn_bytes_compare(begin, (struct firn_bytes){ high->bytes.data, kept });
    return order == 0 && low->bytes.len > kept && low->bytes.data[kept] + 1 >= high->bytes.data[kept];
}

/* Whether two ends that seem to overlap in a field may be where the ranges meet. */
static bool may_meet(const struct firn_key_end *last, const struct firn_key_end *next, bool descending)
{
    const struct firn_key_end *low = descending ? last : next, *high = descending ? next : last;
    bool has_values = low->kind == FIRN_KEY_END_VALUE && high->kind == FIRN_KEY_END_VALUE;
    return is_unknown(low) || is_unknown(high) || (has_values && meets_cut_bound(&low->value, &high->value));
}

enum firn_key_relation firn_key_range_followed(const struct firn_key_measure *measure,
                                               const struct firn_key_range *range, const struct firn_key_range *next)
{
    bool is_single = true; /* in the fields so far both ranges have one value, so that bounds of the next are exact */
    for (uint32_t i = 0; i < measure->field_count; i++) {
        const struct firn_key_end *last = &range->last[i], *first = &next->first[i];
        int order = compare_field(measure, i, first, last);
        if (order > 0)
            return FIRN_KEYS_APART;
        if (order < 0 && is_single && !may_meet(last, first, measure->ordering->fields[i].descending))
            return FIRN_KEYS_OVERLAP;
        if (order < 0)
            return FIRN_KEYS_MEET;
        is_single = is_single && compare_field(measure, i, &range->first[i], last) == 0 &&
                    compare_field(measure, i, first, &next->last[i]) == 0;
    }
    return measure->field_count == measure->ordering->field_count ? FIRN_KEYS_APART : FIRN_KEYS_MEET;
}
