/* Running groups. The invariants stand in group_work.h; numbers in comments refer to them. */
#include "maintain/group_work.h"

#include "maintain/group_rules.h"

#include <pthread.h>

enum group_state { GROUP_PENDING, GROUP_LEFT, GROUP_FAILED, GROUP_READY, GROUP_SETTLED };

struct work_run {
    const struct firn_group_work *work;
    struct firn_pool *pool;
    struct firn_group_work_outcome *outcome;
    uint32_t groups_per_commit;
    enum group_state *states; /* one a group; a job touches its own, the rest under the lock */
    pthread_mutex_t lock;     /* everything below, the states and the outcome */
    uint32_t *ready;          /* groups that wait for a commit */
    uint32_t ready_count;
    bool is_unknown; /* the outcome of a commit is: (2) */
    FIRN_ARRAY(struct firn_text) warnings;
};

static void note_failure(struct firn_op *op, struct work_run *run, firn_status status)
{
    struct firn_error *first = &run->outcome->first_error;
    if (first->status == FIRN_OK) {
        *first = op->error;
        first->status = status;
    }
    FIRN_PUSH(op->arena, &run->warnings, firn_text_copy(op->arena, firn_text_of(op->error.text)));
}

/* With the lock held, or alone. (1) (2) */
static firn_status commit(struct firn_op *op, struct work_run *run)
{
    const struct firn_group_work *work = run->work;
    uint32_t count = run->ready_count;
    run->ready_count = 0;
    firn_status status = work->commit(op, work->context, run->ready, count);
    run->is_unknown = status == FIRN_UNKNOWN;
    for (uint32_t i = 0; i < count; i++) {
        run->states[run->ready[i]] = GROUP_SETTLED;
        if (status != FIRN_OK && status != FIRN_UNKNOWN)
            work->discard(op, work->context, run->ready[i]);
    }
    run->outcome->commits += status == FIRN_OK;
    run->outcome->failed_commits += status != FIRN_OK;
    return status;
}

/* A failed batch costs only itself, unless its outcome is unknown or the run was stopped. */
static firn_status commit_batch(struct firn_op *op, struct work_run *run)
{
    uint32_t count = run->ready_count;
    firn_status status = commit(op, run);
    if (status == FIRN_OK)
        return FIRN_OK;
    status = firn_context(op, status, "commit of %u %s", count, run->work->noun);
    if (status == FIRN_UNKNOWN || status == FIRN_CANCELLED)
        return status;
    note_failure(op, run, status);
    return FIRN_OK;
}

static bool is_left(struct firn_op *op, struct work_run *run, uint32_t group)
{
    const struct firn_group_work *work = run->work;
    if (!work->may_begin || work->may_begin(op, work->context, group))
        return false;
    run->states[group] = GROUP_LEFT;
    return true;
}

static firn_status execute(struct firn_op *op, struct work_run *run, uint32_t group)
{
    FIRN_TRY(firn_op_check(op));
    firn_status status = run->work->execute(op, run->work->context, group);
    firn_progress_group(op, run->work->progress);
    return status;
}

static firn_status run_group(struct firn_op *op, void *context, size_t index)
{
    struct work_run *run = context;
    if (is_left(op, run, (uint32_t)index))
        return FIRN_OK;
    FIRN_TRY(execute(op, run, (uint32_t)index));
    run->states[index] = GROUP_READY;
    return FIRN_OK;
}

static void discard_ready(struct firn_op *op, const struct work_run *run)
{
    for (uint32_t i = 0; i < run->work->group_count; i++)
        if (run->states[i] == GROUP_READY)
            run->work->discard(op, run->work->context, i);
}

static firn_status execute_or_prepare(struct firn_op *op, void *context, size_t index)
{
    struct work_run *run = context;
    const struct firn_group_work *work = run->work;
    if (index == 0)
        return firn_pool_run(op, run->pool, work->group_count, work->width, run_group, run);
    work->prepare(op, work->context);
    return FIRN_OK;
}

static firn_status run_at_once(struct firn_op *op, struct work_run *run)
{
    uint32_t count = run->work->group_count;
    firn_status status = firn_pool_run(op, run->pool, run->work->prepare ? 2 : 1, 0, execute_or_prepare, run);
    if (status != FIRN_OK) {
        discard_ready(op, run);
        return status;
    }
    for (uint32_t i = 0; i < count; i++)
        if (run->states[i] == GROUP_READY)
            run->ready[run->ready_count++] = i;
    if (run->ready_count == 0)
        return FIRN_OK;
    status = commit(op, run);
    if (status == FIRN_CONFLICT)
        return firn_hint(op, status,
                         "nothing was changed; run it again, or with partial-progress.enabled=true so that a conflict "
                         "costs only some groups");
    return status;
}

/* With the lock held: takes in how a group ended. */
static firn_status settle(struct firn_op *op, struct work_run *run, uint32_t group, firn_status status)
{
    if (status != FIRN_OK) {
        run->states[group] = GROUP_FAILED;
        run->outcome->failed_groups++;
        note_failure(op, run, status);
        return FIRN_OK;
    }
    run->states[group] = GROUP_READY;
    if (run->is_unknown)
        return FIRN_OK;
    run->ready[run->ready_count++] = group;
    return run->ready_count >= run->groups_per_commit ? commit_batch(op, run) : FIRN_OK;
}

static firn_status run_group_in_batches(struct firn_op *op, void *context, size_t index)
{
    struct work_run *run = context;
    if (is_left(op, run, (uint32_t)index))
        return FIRN_OK;
    firn_status status = execute(op, run, (uint32_t)index);
    if (status == FIRN_CANCELLED)
        return status;
    pthread_mutex_lock(&run->lock);
    status = settle(op, run, (uint32_t)index, status);
    pthread_mutex_unlock(&run->lock);
    return status;
}

static firn_status run_in_batches(struct firn_op *op, struct work_run *run)
{
    uint32_t count = run->work->group_count;
    int64_t commits = firn_commits_of_groups(true, run->work->commits_max, count);
    run->groups_per_commit = (uint32_t)((count + commits - 1) / commits);
    firn_status status = firn_pool_run(op, run->pool, count, run->work->width, run_group_in_batches, run);
    if (status == FIRN_OK && run->ready_count > 0)
        status = commit_batch(op, run);
    if (status != FIRN_OK && !run->is_unknown)
        discard_ready(op, run);
    return status;
}

firn_status firn_group_work_run(struct firn_op *op, struct firn_pool *pool, const struct firn_group_work *work,
                                struct firn_group_work_outcome *out)
{
    struct work_run run = { .work = work, .pool = pool, .outcome = out };
    *out = (struct firn_group_work_outcome){ 0 };
    if (work->group_count == 0)
        return FIRN_OK;
    run.states = FIRN_NEW_ARRAY(op->arena, enum group_state, work->group_count);
    run.ready = FIRN_NEW_ARRAY(op->arena, uint32_t, work->group_count);
    pthread_mutex_init(&run.lock, NULL);
    firn_status status = work->partial_progress ? run_in_batches(op, &run) : run_at_once(op, &run);
    pthread_mutex_destroy(&run.lock);
    out->warnings = run.warnings.items;
    out->warning_count = (uint32_t)run.warnings.count;
    return status;
}

firn_status firn_group_work_judge(struct firn_op *op, const struct firn_group_work *work,
                                  const struct firn_group_work_outcome *outcome)
{
    if (outcome->first_error.status == FIRN_OK)
        return FIRN_OK;
    if (outcome->commits > 0)
        return firn_fail(op, FIRN_PARTIAL,
                         "%" PRId64 " commits succeeded and %" PRId64 " failed; %u of %u groups could not be written",
                         outcome->commits, outcome->failed_commits, outcome->failed_groups, work->group_count);
    op->error = outcome->first_error;
    return outcome->first_error.status;
}
