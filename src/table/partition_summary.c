/* Partition summaries. Iceberg spec, "Manifest Lists", field_summary. */
#include "table/partition_summary.h"

#include <math.h>

static firn_status set_bound(struct firn_op *op, const struct firn_value *value, struct firn_value *bound,
                             struct firn_buffer *bytes)
{
    *bound = *value;
    if (!firn_value_has_bytes(value))
        return FIRN_OK;
    firn_buffer_clear(bytes);
    FIRN_TRY(firn_buffer_reserve(op, bytes, 1)); /* an empty bound is not a missing one */
    FIRN_TRY(firn_buffer_append(op, bytes, value->bytes.data, value->bytes.len));
    bound->bytes = firn_buffer_bytes(bytes);
    return FIRN_OK;
}

firn_status firn_partition_summary_add(struct firn_op *op, struct firn_partition_summary *summary,
                                       const struct firn_value *value)
{
    bool is_real = value->type == FIRN_TYPE_FLOAT || value->type == FIRN_TYPE_DOUBLE;
    if (value->is_null) {
        summary->contains_null = true;
        return FIRN_OK;
    }
    if (is_real && isnan(value->real)) {
        summary->contains_nan = true;
        return FIRN_OK;
    }
    if (!summary->has_bounds || firn_value_compare(value, &summary->lower) < 0)
        FIRN_TRY(set_bound(op, value, &summary->lower, &summary->lower_bytes));
    if (!summary->has_bounds || firn_value_compare(value, &summary->upper) > 0)
        FIRN_TRY(set_bound(op, value, &summary->upper, &summary->upper_bytes));
    summary->has_bounds = true;
    return FIRN_OK;
}

struct firn_field_summary firn_partition_summary_finish(struct firn_arena *arena,
                                                        const struct firn_partition_summary *summary)
{
    struct firn_field_summary out = { .contains_null = summary->contains_null,
                                      .has_contains_nan = true,
                                      .contains_nan = summary->contains_nan };
    if (summary->has_bounds) {
        out.lower_bound = firn_value_bytes(arena, &summary->lower);
        out.upper_bound = firn_value_bytes(arena, &summary->upper);
    }
    return out;
}

void firn_partition_summary_done(struct firn_partition_summary *summary)
{
    firn_buffer_done(&summary->lower_bytes);
    firn_buffer_done(&summary->upper_bytes);
}
