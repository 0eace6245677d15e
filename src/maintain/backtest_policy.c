/* A policy at work in a backtest: compaction at its cadence, by the rules of rewrite_data_files, on files that are told
 * of but not there. */
#include "maintain/backtest.h"

#include "base/math.h"

/* Runs do not follow one another faster, whatever the cadence. */
#define RUN_INTERVAL_MS_MIN INT64_C(60000)
/* Ids of snapshots that compactions make count down from here: no table's are so. */
#define MADE_ID_FIRST (INT64_MIN / 2)

void firn_backtest_policy_init(struct firn_arena *arena, const struct firn_table *table,
                               const struct firn_backtest_history *history, const struct firn_maintain_args *args,
                               struct firn_backtest_policy *out)
{
    *out = (struct firn_backtest_policy){ .table = table, .history = history, .args = args, .made_id = MADE_ID_FIRST };
    firn_maintain_memory_parse(NULL, &out->memory);
    firn_map_init(&out->runs.snapshots, arena);
    firn_backtest_world_init(arena, table->metadata, true, &out->world);
}

static int64_t commit_ms(const struct firn_backtest_policy *policy, size_t index)
{
    return index < policy->history->count ? policy->history->commits[index].snapshot->timestamp_ms : INT64_MAX;
}

/* When compaction is due next; INT64_MAX: never. */
static int64_t next_run_ms(struct firn_op *op, const struct firn_backtest_policy *policy, int64_t now_ms)
{
    int64_t every_ms = firn_policy_number(policy->args->policy, FIRN_POLICY_COMPACT_EVERY);
    int64_t last_ms = policy->memory.last_ms[FIRN_STEP_COMPACT], at_ms = now_ms;
    if (last_ms != FIRN_NEVER_RUN && __builtin_add_overflow(last_ms, FIRN_MAX(every_ms, RUN_INTERVAL_MS_MIN), &at_ms))
        return INT64_MAX;
    at_ms = FIRN_MAX(at_ms, now_ms);
    struct firn_step_decision decision =
        firn_step_decide(op->arena, policy->args, policy->table->metadata, &policy->memory, FIRN_STEP_COMPACT, at_ms);
    if (decision.is_due)
        return at_ms;
    return decision.next_ms == FIRN_NEVER_RUN ? INT64_MAX : FIRN_MAX(decision.next_ms, at_ms);
}

/* Compacting ------------------------------------------------------------------------------------------------------ */

/* The sequence number that everything cold is not above. */
static int64_t cold_number(const struct firn_backtest_policy *policy, int64_t now_ms)
{
    int64_t age_ms = firn_policy_number(policy->args->policy, FIRN_POLICY_COMPACT_COLD_AFTER);
    if (age_ms == FIRN_POLICY_NEVER)
        return policy->memory.cold_number;
    for (size_t i = policy->next; i-- > 0;)
        if (now_ms - commit_ms(policy, i) >= age_ms)
            return FIRN_MAX(policy->history->commits[i].snapshot->sequence_number, policy->memory.cold_number);
    return policy->memory.cold_number;
}

static struct firn_rewrite_worth worth_of(const struct firn_backtest_policy *policy, int64_t now_ms)
{
    const struct firn_policy *values = policy->args->policy;
    return (struct firn_rewrite_worth){
        .settled_number = policy->memory.settled_number,
        .cold_number = cold_number(policy, now_ms),
        .cold_done_number = policy->memory.cold_number,
        .cold_input_files_min = firn_policy_number(values, FIRN_POLICY_COMPACT_COLD_MIN_INPUT_FILES),
        .bytes_per_file_saved_max = firn_policy_number(values, FIRN_POLICY_COMPACT_MAX_BYTES_PER_FILE_SAVED),
    };
}

/* A manifest for every commit: what a plan reckons with to replace. */
static void list_manifests(struct firn_op *op, struct firn_scan *scan)
{
    struct firn_manifest_file *rows = FIRN_NEW_ARRAY(op->arena, struct firn_manifest_file, scan->file_count);
    for (uint32_t i = 0; i < scan->file_count; i++)
        rows[i].added_files_count = 1;
    scan->manifests = (struct firn_manifest_list){ .manifests = rows, .count = scan->file_count };
}

static firn_status make_plan(struct firn_op *op, struct firn_backtest_policy *policy,
                             const struct firn_rewrite_worth *worth, struct firn_rewrite_plan *plan)
{
    const struct firn_policy *values = policy->args->policy;
    struct firn_property options[FIRN_COMPACT_OPTIONS_MAX];
    const struct firn_rewrite_data_files_args args = {
        .options = options,
        .option_count = firn_compact_options(op->arena, values, options),
    };
    *plan = (struct firn_rewrite_plan){
        .table_name = policy->table->name,
        .metadata = policy->table->metadata,
        .snapshot = policy->history->commits[policy->next - 1].snapshot,
        .branch = FIRN_TEXT("main"),
        .worth = worth,
        .limits = firn_compact_limits(values),
    };
    FIRN_TRY(firn_rewrite_options_parse(op, plan->metadata, &args, &plan->options));
    FIRN_TRY(firn_backtest_world_scan(op, &policy->world, &plan->whole));
    list_manifests(op, &plan->whole);
    plan->files = FIRN_NEW_ARRAY(op->arena, struct firn_planned_file, plan->whole.file_count);
    plan->file_count = plan->whole.file_count;
    for (uint32_t i = 0; i < plan->file_count; i++)
        plan->files[i].scan = &plan->whole.files[i];
    return firn_rewrite_plan_choose(op, &policy->runs, plan);
}

/* As many files as are expected, of a bin's bytes in equal parts. */
static void compact_group(struct firn_op *op, struct firn_backtest_policy *policy, const struct firn_rewrite_plan *plan,
                          const struct firn_planned_group *group)
{
    const struct firn_scan_file **files = FIRN_NEW_ARRAY(op->arena, const struct firn_scan_file *, group->file_count);
    int64_t *bytes = FIRN_NEW_ARRAY(op->arena, int64_t, (size_t)group->output_count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < group->file_count; i++)
        files[i] = plan->files[group->files[i]].scan;
    for (uint32_t i = 0; i < group->bin_count; i++) {
        int64_t whole = group->bin_bytes[i], parts = firn_output_written_files(&plan->options.sizes, whole);
        for (int64_t part = 0; part < parts && count < group->output_count; part++)
            bytes[count++] = whole / parts;
    }
    firn_backtest_world_compact(&policy->world, files, group->file_count, bytes, count, policy->made_id);
}

static void count_work(const struct firn_rewrite_plan *plan, struct firn_backtest_work *out)
{
    out->commits += firn_rewrite_plan_commits(plan);
    out->work = firn_work_sum(out->work, firn_rewrite_plan_work(plan));
    for (uint32_t i = 0; i < plan->group_count; i++) {
        out->files += plan->groups[i]->file_count;
        out->bytes += plan->groups[i]->bytes;
    }
}

static void settle(struct firn_backtest_policy *policy, const struct firn_rewrite_worth *worth)
{
    policy->memory.settled_number = policy->world.sequence_number;
    policy->memory.cold_number = worth->cold_number;
    policy->runs.is_covered = policy->memory.settled_number > 0;
    policy->runs.covered_number = policy->memory.settled_number;
    for (; policy->news < policy->next; policy->news++)
        firn_rewrite_history_mark(&policy->runs, &policy->history->commits[policy->news].snapshot->id,
                                  FIRN_SNAPSHOT_UNMARKED);
}

static firn_status compact(struct firn_op *op, struct firn_backtest_policy *policy, int64_t now_ms,
                           struct firn_backtest_work *out)
{
    struct firn_rewrite_plan plan;
    struct firn_rewrite_worth worth = worth_of(policy, now_ms);
    policy->memory.last_ms[FIRN_STEP_COMPACT] = now_ms;
    if (!policy->has_news && worth.cold_number == policy->memory.cold_number)
        return FIRN_OK;
    FIRN_TRY(make_plan(op, policy, &worth, &plan));
    count_work(&plan, out);
    policy->made_id--;
    if (plan.group_count > 0) {
        int64_t *id = FIRN_NEW(policy->world.arena, int64_t);
        *id = policy->made_id;
        firn_rewrite_history_mark(&policy->runs, id, FIRN_SNAPSHOT_SETTLED);
    }
    for (uint32_t i = 0; i < plan.group_count; i++)
        compact_group(op, policy, &plan, plan.groups[i]);
    policy->has_news = plan.is_capped;
    if (!plan.is_capped)
        settle(policy, &worth);
    return plan.group_count > 0 ? firn_backtest_world_tidy(op, &policy->world) : FIRN_OK;
}

/* Time ------------------------------------------------------------------------------------------------------------ */

static firn_status take_commit(struct firn_op *op, struct firn_backtest_policy *policy)
{
    const struct firn_backtest_commit *commit = &policy->history->commits[policy->next++];
    policy->has_news = policy->has_news || !commit->is_maintenance;
    firn_rewrite_history_mark(&policy->runs, &commit->snapshot->id, FIRN_SNAPSHOT_NEW);
    return firn_backtest_world_commit(op, &policy->world, commit);
}

/* One commit or run, whichever comes first; `*now_ms` is when. False in `*goes_on` when neither comes by then. */
static firn_status step(struct firn_op *op, struct firn_backtest_policy *policy, int64_t until_ms, int64_t *now_ms,
                        struct firn_backtest_work *out, bool *goes_on)
{
    int64_t at_ms = FIRN_MAX(commit_ms(policy, policy->next), *now_ms);
    int64_t run_ms = policy->next > 0 ? next_run_ms(op, policy, *now_ms) : INT64_MAX;
    *goes_on = FIRN_MIN(at_ms, run_ms) <= until_ms;
    if (!*goes_on)
        return FIRN_OK;
    *now_ms = FIRN_MIN(at_ms, run_ms);
    return at_ms <= run_ms ? take_commit(op, policy) : compact(op, policy, run_ms, out);
}

firn_status firn_backtest_policy_run(struct firn_op *op, struct firn_backtest_policy *policy, int64_t until_ms,
                                     struct firn_backtest_work *out)
{
    struct firn_scratch scratch;
    int64_t now_ms = policy->next > 0 ? commit_ms(policy, policy->next - 1) : INT64_MIN;
    bool goes_on = true;
    firn_status status = FIRN_OK;
    firn_scratch_begin(op, &scratch);
    while (status == FIRN_OK && goes_on) {
        status = firn_op_check(op);
        if (status == FIRN_OK)
            status = step(op, policy, until_ms, &now_ms, out, &goes_on);
        firn_arena_reset(&scratch.arena);
    }
    firn_scratch_end(op, &scratch);
    return status;
}
