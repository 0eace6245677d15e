/* Progress counters. */
#include "firn/progress.h"

static void show(struct firn_op *op, struct firn_progress *progress, bool last)
{
    if (!progress->show || atomic_flag_test_and_set(&progress->showing))
        return;
    int64_t now_ms = op->env->monotonic_ms(op->env->context);
    if (progress->started_ms == 0)
        progress->started_ms = now_ms;
    if (last || now_ms - progress->shown_ms >= progress->interval_ms) {
        progress->shown_ms = now_ms;
        progress->show(progress, last);
    }
    atomic_flag_clear(&progress->showing);
}

void firn_progress_tick(struct firn_op *op, struct firn_progress *progress, uint64_t files, uint64_t bytes)
{
    if (!progress)
        return;
    atomic_fetch_add(&progress->files_done, files);
    atomic_fetch_add(&progress->bytes_done, bytes);
    show(op, progress, false);
}

void firn_progress_group(struct firn_op *op, struct firn_progress *progress)
{
    if (!progress)
        return;
    atomic_fetch_add(&progress->groups_done, 1);
    show(op, progress, false);
}

void firn_progress_end(struct firn_op *op, struct firn_progress *progress)
{
    if (progress)
        show(op, progress, true);
}
