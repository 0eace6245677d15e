/* A few rows at a time, however long the step is whose rows are copied. */
#include "rewrite/order_check.h"

#include "base/math.h"

#define BATCH_BYTES_MAX (UINT64_C(8) << 20)

void firn_order_check_init(struct firn_op *op, struct firn_group_run *run, const struct firn_route *route,
                           const struct firn_sort_key *key, struct firn_buffer *last_key, struct firn_order_check *out)
{
    *out = (struct firn_order_check){
        .last_key = last_key,
        .batch_bytes = FIRN_MIN(run->window_bytes, BATCH_BYTES_MAX),
        .partition_rows = FIRN_NEW_ARRAY(op->arena, int64_t, route->partition_count),
    };
    const struct firn_sort_reader_config config = {
        .run = run, .key = key, .route = route, .partition_rows = out->partition_rows, .keys_only = true
    };
    firn_sort_reader_init(op, &config, &out->reader);
}

static firn_status check_rows(struct firn_op *op, struct firn_order_check *check, struct firn_window *view,
                              uint32_t rows)
{
    bool goes_on;
    firn_sort_reader_clear(&check->reader);
    FIRN_TRY(firn_sort_reader_step(op, &check->reader, view, rows));
    FIRN_TRY(firn_read_batch_make_keys(op, check->reader.run->context->pool, &check->reader.batch));
    FIRN_TRY(firn_sort_reader_goes_on(op, &check->reader, check->last_key, &goes_on));
    check->is_disordered = !goes_on;
    if (goes_on)
        return FIRN_OK;
    return firn_fail(op, FIRN_VERIFY, "data files that are marked as sorted are not in order");
}

firn_status firn_order_check_step(struct firn_op *op, struct firn_order_check *check, const struct firn_window *window,
                                  int64_t rows)
{
    struct firn_window view = *window; /* moves on, the window does not */
    while (rows > 0) {
        firn_sort_reader_clear(&check->reader);
        int64_t now = FIRN_MIN(rows, (int64_t)firn_sort_reader_plan(&check->reader, &view, check->batch_bytes));
        FIRN_TRY(firn_op_check(op));
        FIRN_TRY(check_rows(op, check, &view, (uint32_t)now));
        firn_window_look_past(&view, now);
        rows -= now;
    }
    return FIRN_OK;
}

void firn_order_check_done(struct firn_op *op, struct firn_order_check *check)
{
    const struct firn_group_run *run = check->reader.run;
    struct firn_output_files nothing = { .sums_in =
                                             FIRN_NEW_ARRAY(op->arena, struct firn_hash128, run->schema.leaf_count) };
    firn_sort_reader_end(&check->reader, &nothing); /* what it reads is read for the output, too */
    firn_sort_reader_done(&check->reader);
}
