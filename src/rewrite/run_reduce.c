/* As many of the oldest runs as fit are merged into one, which becomes the youngest; the first time only so many that
 * all later merges, and the one into the output, can be full. */
#include "rewrite/run_reduce.h"

#include "base/math.h"

enum { RUNS_AT_ONCE_MIN = 2 };

static uint64_t largest_block(const struct firn_run_list *list)
{
    uint64_t most = 1;
    for (size_t r = 0; r < list->runs.count; r++)
        for (size_t b = 0; b < list->runs.items[r].blocks.count; b++)
            most = FIRN_MAX(most, list->runs.items[r].blocks.items[b].held_bytes);
    return most;
}

static firn_status merge_into(struct firn_op *op, const struct firn_run_reduction *reduction,
                              struct firn_run_merge *merge, struct firn_sorted_run *out)
{
    struct firn_sorted_rows rows;
    for (;;) {
        FIRN_TRY(firn_op_check(op));
        FIRN_TRY(firn_run_merge_next(op, merge, &rows));
        if (rows.count == 0)
            return FIRN_OK;
        FIRN_TRY(firn_run_writer_put(op, reduction->writer, &rows, out));
    }
}

static firn_status merge_oldest(struct firn_op *op, const struct firn_run_reduction *reduction,
                                const struct firn_run_list *list, uint32_t count, struct firn_sorted_run *out)
{
    const struct firn_run_merge_config config = {
        .run = reduction->writer->run,
        .spill = reduction->writer->spill,
        .runs = list->runs.items,
        .run_count = count,
        .gives_back = true,
        .key_width = reduction->key_width,
        .bytes_max = reduction->bytes_max,
    };
    struct firn_run_merge *merge = firn_run_merge_open(op, &config);
    firn_status status = merge_into(op, reduction, merge, out);
    firn_run_merge_close(merge);
    return status;
}

firn_status firn_runs_reduce(struct firn_op *op, const struct firn_run_reduction *reduction, struct firn_run_list *list)
{
    uint64_t fit = reduction->bytes_max / largest_block(list);
    size_t at_once = (size_t)FIRN_MAX(FIRN_MIN(fit, UINT32_MAX), RUNS_AT_ONCE_MIN);
    while (list->runs.count > at_once) {
        size_t count = FIRN_MIN(at_once, list->runs.count - at_once + 1);
        struct firn_sorted_run merged = { 0 };
        FIRN_TRY(merge_oldest(op, reduction, list, (uint32_t)count, &merged));
        list->runs.count -= count;
        memmove(list->runs.items, list->runs.items + count, list->runs.count * sizeof *list->runs.items);
        FIRN_PUSH(op->arena, &list->runs, merged);
    }
    return FIRN_OK;
}
