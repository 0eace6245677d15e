/* Applying a plan of rewrite_data_files: groups are executed in parallel and committed together, or in batches as they
 * finish. Reference: procedures.md, 2.9 and 2.10.
 *
 * Invariants, beside those of group_work.h
 *  (1) Inputs leave the table only in the commit that adds the outputs of their whole group.
 *  (2) Each commit is validated against the snapshot that was planned on.
 *  (3) What can never be committed as it was planned, since others changed its inputs, is planned anew a bounded number
 *      of times; what was written for it is removed first. */
#include "maintain/rewrite_data_files_run.h"

#include "base/math.h"
#include "maintain/branch_plan.h"
#include "maintain/dangling_deletes.h"
#include "maintain/group_work.h"
#include "table/location.h"

/* Below this a group works slowly: better fewer of them at a time. */
#define GROUP_MEMORY_BYTES_MIN (UINT64_C(384) << 20)
#define MEMORY_BYTES_DEFAULT   (UINT64_C(1) << 30)
/* The share of memory that may be spent on knowing where rows went: one in this many. */
#define ROW_MAP_SHARE 8
/* A manifest of so many files takes no memory worth counting beside a group. */
#define DRAFTED_FILES_MAX 16384
/* However many attempts the table allows a commit. */
#define ROUNDS_MAX 10

static int64_t monotonic_ms(struct firn_op *op)
{
    return op->env->monotonic_ms(op->env->context);
}

static void warn(struct firn_op *op, struct firn_rewrite_run *run, struct firn_text text)
{
    struct firn_text *grown = FIRN_NEW_ARRAY(op->arena, struct firn_text, run->report->warning_count + 1);
    if (run->report->warning_count > 0)
        memcpy(grown, run->report->warnings, run->report->warning_count * sizeof *grown);
    grown[run->report->warning_count++] = text;
    run->report->warnings = grown;
}

/* Inputs of all groups in one array, so that a group's and the whole job's are slices of it. */
static void lay_out_groups(struct firn_op *op, struct firn_rewrite_run *run)
{
    const struct firn_rewrite_plan *plan = run->plan;
    size_t count = 0;
    for (uint32_t i = 0; i < plan->group_count; i++)
        count += plan->groups[i]->file_count;
    struct firn_data_file *inputs = FIRN_NEW_ARRAY(op->arena, struct firn_data_file, count);
    int64_t *sequence_numbers = FIRN_NEW_ARRAY(op->arena, int64_t, count);
    struct firn_delete_match *deletes = FIRN_NEW_ARRAY(op->arena, struct firn_delete_match, count);
    run->groups = FIRN_NEW_ARRAY(op->arena, struct firn_rewrite_group, plan->group_count);
    run->outcomes = FIRN_NEW_ARRAY(op->arena, struct firn_group_outcome, plan->group_count);
    firn_rewrite_spent_init(op, plan, &run->spent);
    for (uint32_t i = 0; i < plan->group_count; i++) {
        const struct firn_planned_group *planned = plan->groups[i];
        run->groups[i] = (struct firn_rewrite_group){
            .index = i,
            .inputs = inputs,
            .input_sequence_numbers = sequence_numbers,
            .input_deletes = deletes,
            .input_count = planned->file_count,
            .bins = planned->bins,
            .bin_count = planned->bin_count,
            .output_spec_id = (int32_t)plan->options.output_spec_id,
            .file_bytes_max = (uint64_t)firn_output_write_max(&plan->options.sizes),
            .ordering = planned->ordering,
            .file_rows = planned->file_rows,
        };
        for (uint32_t j = 0; j < planned->file_count; j++) {
            const struct firn_scan_file *scan = plan->files[planned->files[j]].scan;
            *inputs++ = scan->entry->file;
            *sequence_numbers++ = scan->entry->sequence_number;
            *deletes++ = scan->deletes;
        }
    }
}

static void keep_first_error(struct firn_rewrite_run *run, const struct firn_error *error)
{
    if (run->first_error.status == FIRN_OK)
        run->first_error = *error;
}

/* Takes the result that an earlier run left, if it is still there. */
static firn_status reuse(struct firn_op *op, struct firn_rewrite_run *run, uint32_t index)
{
    const struct firn_planned_group *planned = run->plan->groups[index];
    struct firn_group_outcome *outcome = &run->outcomes[index];
    if (!planned->finished || !firn_journal_has_taken(run->journal, planned->finished->run_id))
        return FIRN_OK;
    FIRN_TRY(firn_rewrite_finished_check(op, run->context.store, planned->finished, &outcome->is_reused));
    if (outcome->is_reused) {
        outcome->result = planned->finished->result;
        firn_progress_tick(op, run->context.progress, planned->file_count, (uint64_t)planned->bytes);
    }
    return FIRN_OK;
}

static firn_status make_result(struct firn_op *op, struct firn_rewrite_run *run, uint32_t index)
{
    struct firn_group_outcome *outcome = &run->outcomes[index];
    FIRN_TRY(reuse(op, run, index));
    if (outcome->is_reused)
        return FIRN_OK;
    FIRN_TRY(firn_rewrite_group_execute(op, &run->context, &run->groups[index], &outcome->result));
    firn_status status =
        firn_rewrite_finished_tell(op, run->journal, run->plan, run->plan->groups[index], &outcome->result);
    if (status != FIRN_OK)
        firn_rewrite_run_discard(op, run, index);
    return status;
}

static bool may_begin(struct firn_op *op, void *context, uint32_t index)
{
    struct firn_rewrite_run *run = context;
    bool may = firn_rewrite_meter_allows(op, &run->meter, run->plan->groups[index]->bytes);
    run->outcomes[index].is_left = !may;
    return may;
}

static firn_status execute(struct firn_op *op, void *context, uint32_t index)
{
    struct firn_rewrite_run *run = context;
    firn_status status = make_result(op, run, index);
    atomic_fetch_add(&run->meter.bytes_done, run->plan->groups[index]->bytes);
    run->outcomes[index].write_failed = status != FIRN_OK;
    return firn_context(op, status, "file group %u of %u files", index, run->groups[index].input_count);
}

void firn_rewrite_run_discard(struct firn_op *op, void *context, uint32_t index)
{
    struct firn_rewrite_run *run = context;
    if (!run->outcomes[index].is_reused)
        firn_rewrite_result_discard(op, run->context.store, &run->outcomes[index].result);
}

/* What partial progress amounts to once all groups are done. */
static firn_status judge_batches(struct firn_op *op, const struct firn_rewrite_run *run)
{
    const struct firn_rewrite_data_files_report *report = run->report;
    int64_t failed_max = run->plan->options.failed_commits_max;
    if (run->first_error.status == FIRN_OK)
        return FIRN_OK;
    if (report->commits == 0) {
        op->error = run->first_error;
        return run->first_error.status;
    }
    if (report->failed_commits > failed_max) {
        op->error = run->first_error;
        return firn_context(op, run->first_error.status,
                            "%" PRId64 " of %" PRId64
                            " commits failed, partial-progress.max-failed-commits is %" PRId64,
                            report->failed_commits, report->failed_commits + report->commits, failed_max);
    }
    return firn_fail(op, FIRN_PARTIAL,
                     "%" PRId64 " commits succeeded and %" PRId64 " failed; %" PRId64 " files could not be rewritten",
                     report->commits, report->failed_commits, report->failed_data_files_count);
}

/* Takes in what partial progress survived in this round. */
static void note_failures(struct firn_op *op, struct firn_rewrite_run *run,
                          const struct firn_group_work_outcome *outcome)
{
    keep_first_error(run, &outcome->first_error);
    for (uint32_t i = 0; i < outcome->warning_count; i++)
        warn(op, run, outcome->warnings[i]);
    for (uint32_t i = 0; i < run->plan->group_count; i++)
        if (run->outcomes[i].write_failed)
            run->report->failed_data_files_count += run->groups[i].input_count;
}

/* As many groups at a time as asked for, unless that leaves each too little memory. */
static uint32_t choose_width(const struct firn_rewrite_plan *plan, uint64_t memory_bytes_max)
{
    int64_t width = FIRN_MIN(plan->options.concurrent_groups_max, (int64_t)plan->group_count);
    width = FIRN_MIN(width, (int64_t)FIRN_MAX(plan->thread_count, 1u));
    width = FIRN_MIN(width, (int64_t)(memory_bytes_max / GROUP_MEMORY_BYTES_MIN));
    return (uint32_t)FIRN_MAX(width, 1);
}

/* What is left to each group of the share for row maps: those of groups that run or wait for their commit are kept. */
static uint64_t row_map_bytes(const struct firn_rewrite_plan *plan, uint64_t memory_bytes_max)
{
    bool can_carry = plan->options.carry_over_deletes && plan->metadata->format_version > 1;
    return can_carry ? memory_bytes_max / ROW_MAP_SHARE / plan->group_count : 0;
}

/* One event for the places that this round writes to, as far as they are known: a file that goes elsewhere is announced
 * before it is written. */
static firn_status announce_outputs(struct firn_op *op, const struct firn_rewrite_run *run)
{
    const struct firn_rewrite_plan *plan = run->plan;
    const struct firn_partition_spec *spec = firn_metadata_spec(plan->metadata, (int32_t)plan->options.output_spec_id);
    struct firn_text *locations = FIRN_NEW_ARRAY(op->arena, struct firn_text, plan->group_count);
    size_t count = 0;
    if (!spec || firn_property_bool(plan->metadata, "write.object-storage.enabled", false))
        return FIRN_OK;
    for (uint32_t i = 0; i < plan->group_count; i++) {
        const struct firn_data_file *input = &run->groups[i].inputs[0];
        if (input->spec_id != spec->id || plan->groups[i]->finished)
            continue;
        struct firn_text path = firn_file_partition_text(op->arena, plan->metadata, plan->spec_types, input);
        struct firn_text name = firn_data_file_name(op->arena, i, 0, run->context.operation, 1, FIRN_TEXT(".parquet"));
        locations[count++] = firn_data_location(op->arena, plan->metadata, path, name);
    }
    return firn_journal_announce(op, run->journal, locations, count);
}

/* Whether the commit, of all groups then, is worth drafting while they are written. */
static bool drafts(const struct firn_rewrite_plan *plan, const struct firn_pool *pool)
{
    uint64_t file_count = 0;
    for (uint32_t i = 0; i < plan->group_count; i++)
        file_count += plan->groups[i]->file_count;
    return !plan->options.partial_progress && !firn_rewrite_has_limits(&plan->limits) &&
           file_count <= DRAFTED_FILES_MAX && firn_pool_thread_count(pool) > 1;
}

static firn_status apply_groups(struct firn_op *op, struct firn_pool *pool, struct firn_rewrite_run *run,
                                struct firn_progress *progress)
{
    const struct firn_rewrite_plan *plan = run->plan;
    uint64_t memory_bytes_max = plan->memory_bytes_max ? plan->memory_bytes_max : MEMORY_BYTES_DEFAULT;
    uint32_t width = choose_width(plan, memory_bytes_max);
    struct firn_group_work_outcome outcome;
    struct firn_group_work work = {
        .noun = "file groups",
        .group_count = plan->group_count,
        .width = width,
        .partial_progress = plan->options.partial_progress,
        .commits_max = plan->options.commits_max,
        .progress = progress,
        .may_begin = firn_rewrite_has_limits(&plan->limits) ? may_begin : NULL,
        .execute = execute,
        .prepare = drafts(plan, pool) ? firn_rewrite_run_draft : NULL,
        .commit = firn_rewrite_run_commit,
        .discard = firn_rewrite_run_discard,
        .context = run,
    };
    run->context = (struct firn_rewrite_context){
        .metadata = plan->metadata,
        .store = run->table->store,
        .pool = pool,
        .operation = firn_uuid_random(op),
        .verify = plan->verify_full ? FIRN_VERIFY_FULL : FIRN_VERIFY_COUNTS,
        .layout = firn_rewrite_options_layout(&plan->options),
        .progress = progress,
        .memory_bytes_max = (memory_bytes_max - memory_bytes_max / ROW_MAP_SHARE) / width,
        .row_map_bytes_max = row_map_bytes(plan, memory_bytes_max),
    };
    run->meter.width = width;
    lay_out_groups(op, run);
    FIRN_TRY(announce_outputs(op, run));
    firn_status status = firn_group_work_run(op, pool, &work, &outcome);
    firn_snapshot_draft_close(op, run->draft);
    run->draft = NULL;
    if (plan->options.partial_progress)
        note_failures(op, run, &outcome);
    return status;
}

static void add_progress(const struct firn_rewrite_plan *plan, struct firn_progress *progress)
{
    if (!progress)
        return;
    atomic_fetch_add(&progress->groups_total, plan->group_count);
    for (uint32_t i = 0; i < plan->group_count; i++) {
        atomic_fetch_add(&progress->files_total, plan->groups[i]->file_count);
        atomic_fetch_add(&progress->bytes_total, (uint64_t)plan->groups[i]->bytes);
    }
}

/* The lost groups' keys. */
static firn_status find_lost(struct firn_op *op, const struct firn_rewrite_run *run, struct firn_map *lost)
{
    const struct firn_rewrite_plan *plan = run->plan;
    struct firn_buffer key = { 0 };
    firn_status status = FIRN_OK;
    firn_map_init(lost, op->arena);
    for (uint32_t i = 0; status == FIRN_OK && i < plan->group_count; i++) {
        if (run->outcomes[i].state != FIRN_GROUP_LOST)
            continue;
        status = firn_rewrite_group_key(op, plan, &run->groups[i].inputs[0], &key);
        if (status == FIRN_OK)
            firn_map_put(lost, firn_bytes_copy(op->arena, firn_buffer_bytes(&key)));
    }
    firn_buffer_done(&key);
    return status;
}

/* Whether this round left something for another run. */
static bool left_out(const struct firn_rewrite_run *run)
{
    for (uint32_t i = 0; i < run->plan->group_count; i++)
        if (run->outcomes[i].state != FIRN_GROUP_COMMITTED && run->outcomes[i].state != FIRN_GROUP_LOST)
            return true;
    return firn_rewrite_plan_leaves_out(run->plan);
}

/* (3) One commit for all covers what the table holds now; of several, those before have covered it as it was. */
static firn_status plan_anew(struct firn_op *op, struct firn_pool *pool, struct firn_rewrite_run *run,
                             struct firn_progress *progress)
{
    bool in_batches = run->plan->options.partial_progress;
    struct firn_map lost;
    struct firn_rewrite_done done = {
        .lost = in_batches ? &lost : NULL,
        .snapshot_ids = run->snapshot_ids.items,
        .commit_count = (uint32_t)run->snapshot_ids.count,
        .rewritten_files = run->report->rewritten_data_files_count,
        .rewritten_bytes = run->report->rewritten_bytes_count,
    };
    const struct firn_rewrite_plan *renewed;
    FIRN_TRY(firn_op_check(op));
    FIRN_TRY(find_lost(op, run, &lost));
    FIRN_TRY(firn_context(op, firn_rewrite_plan_renew(op, pool, run->table, run->plan, &done, &renewed),
                          "planning anew what was lost to commits of others"));
    if (in_batches)
        run->is_incomplete = run->is_incomplete || left_out(run);
    else if (renewed->snapshot)
        run->covered_id = renewed->snapshot->id;
    run->plan = renewed;
    run->rounds_left--;
    run->has_lost = false;
    add_progress(run->plan, progress);
    return FIRN_OK;
}

/* What this round applied and could not remove. */
static void count_kept(struct firn_rewrite_run *run)
{
    struct firn_kept_deletes kept = firn_rewrite_spent_kept(&run->spent);
    run->report->kept_delete_files_count += kept.delete_file_count;
    run->report->kept_for_data_files_count += kept.data_file_count;
}

/* What limits left of this round. */
static void count_left(struct firn_rewrite_run *run)
{
    const struct firn_rewrite_plan *plan = run->plan;
    struct firn_rewrite_left left = firn_rewrite_plan_left(plan), *sum = &run->report->left;
    for (uint32_t i = 0; i < plan->group_count; i++) {
        if (!run->outcomes[i].is_left)
            continue;
        left.groups++;
        left.files += plan->groups[i]->file_count;
        left.bytes += plan->groups[i]->bytes;
    }
    sum->groups += left.groups;
    sum->files += left.files;
    sum->bytes += left.bytes;
}

static firn_status apply_rounds(struct firn_op *op, struct firn_pool *pool, struct firn_rewrite_run *run,
                                struct firn_progress *progress)
{
    bool in_batches = run->plan->options.partial_progress;
    while (run->plan->group_count > 0) {
        FIRN_TRY(apply_groups(op, pool, run, progress));
        count_kept(run);
        if (!run->has_lost || in_batches)
            count_left(run); /* else everything is planned anew */
        if (!run->has_lost)
            break;
        firn_status status = plan_anew(op, pool, run, progress);
        if (status == FIRN_CANCELLED || (status != FIRN_OK && !in_batches))
            return status;
        if (status != FIRN_OK) {
            keep_first_error(run, &op->error);
            warn(op, run, firn_text_copy(op->arena, firn_text_of(op->error.text)));
            break;
        }
    }
    return in_batches ? judge_batches(op, run) : FIRN_OK;
}

static void warn_of_left_alone(struct firn_op *op, struct firn_rewrite_run *run)
{
    static const struct {
        enum firn_rewrite_verdict verdict;
        const char *why;
    } kinds[] = {
        { FIRN_VERDICT_DELETE_FORMAT, "delete files apply to them that firn cannot read" },
        { FIRN_VERDICT_FORMAT, "they are not Parquet" },
        { FIRN_VERDICT_ENCRYPTED, "they have key metadata, and firn cannot decrypt" },
        { FIRN_VERDICT_SCHEMA, "firn cannot rewrite files of this schema" },
        { FIRN_VERDICT_TWICE, "the table has them more than once, so that their rows are read as often" },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(kinds); i++) {
        uint32_t count = 0;
        for (uint32_t j = 0; j < run->plan->file_count; j++)
            count += run->plan->files[j].verdict == kinds[i].verdict;
        if (count > 0)
            warn(op, run,
                 firn_text_format(op->arena, "%u files that qualify were left alone: %s", count, kinds[i].why));
    }
}

/* The reference writes what write.format.default says. */
static void warn_of_format(struct firn_op *op, struct firn_rewrite_run *run)
{
    struct firn_text format = firn_property_text(run->table->metadata, "write.format.default", FIRN_TEXT("parquet"));
    if (!firn_text_same_nocase(format, FIRN_TEXT("parquet")))
        warn(op, run,
             firn_text_format(op->arena, "write.format.default is %.*s, but firn writes Parquet", FIRN_FMT(format)));
}

/* `status` is the rewrite's, which stands whatever becomes of this. */
static firn_status remove_dangling(struct firn_op *op, struct firn_pool *pool, struct firn_rewrite_run *run,
                                   firn_status status)
{
    struct firn_error of_rewrite = op->error;
    struct firn_dangling_deletes_report dangling;
    firn_status removal = firn_dangling_deletes_remove(op, pool, run->table, run->plan->branch, &dangling);
    if (removal == FIRN_UNKNOWN || removal == FIRN_CANCELLED || (removal != FIRN_OK && run->report->commits == 0))
        return removal;
    if (removal != FIRN_OK)
        return firn_fail(op, FIRN_PARTIAL, "the data files are rewritten, but not all is done: %.*s",
                         FIRN_FMT(firn_text_copy(op->arena, firn_text_of(op->error.text))));
    op->error = of_rewrite;
    run->report->removed_delete_files_count += dangling.removed_count;
    if (dangling.snapshot_id != FIRN_NO_SNAPSHOT)
        run->report->snapshot_id = dangling.snapshot_id;
    return status;
}

static firn_status apply_plan(struct firn_op *op, struct firn_pool *pool, struct firn_rewrite_run *run,
                              struct firn_progress *progress)
{
    struct firn_retry_policy policy;
    if (run->plan->group_count == 0)
        return run->plan->options.remove_dangling_deletes ? remove_dangling(op, pool, run, FIRN_OK) : FIRN_OK;
    FIRN_TRY(firn_retry_policy_of(op, run->table->metadata, &policy));
    run->rounds_left = FIRN_MIN(policy.retries, ROUNDS_MAX);
    firn_rewrite_meter_start(op, &run->plan->limits, run->table->store, &run->meter);
    run->covered_id = run->plan->snapshot->id;
    add_progress(run->plan, progress);
    firn_status status = apply_rounds(op, pool, run, progress);
    firn_progress_end(op, progress);
    if ((status == FIRN_OK || status == FIRN_PARTIAL) && run->plan->options.remove_dangling_deletes)
        status = remove_dangling(op, pool, run, status);
    return status;
}

firn_status firn_rewrite_data_files_apply(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                          const struct firn_rewrite_plan *plan, struct firn_progress *progress,
                                          struct firn_rewrite_data_files_report *out)
{
    int64_t started_ms = monotonic_ms(op);
    struct firn_rewrite_run run = { .plan = plan, .table = table, .report = out };
    struct firn_clearing cleared;
    *out = (struct firn_rewrite_data_files_report){
        .left_alone_files_count = plan->left_alone_count,
        .left = plan->group_count == 0 ? firn_rewrite_plan_left(plan) : (struct firn_rewrite_left){ 0 },
        .snapshot_id = FIRN_NO_SNAPSHOT,
    };
    bool changes = plan->group_count > 0 || plan->options.remove_dangling_deletes;
    warn_of_left_alone(op, &run);
    if (plan->group_count > 0) {
        for (size_t i = 0; i < plan->notices.count; i++)
            warn(op, &run, plan->notices.items[i]);
        warn_of_format(op, &run);
    }
    if (changes && !table->catalog)
        return firn_fail(op, FIRN_USAGE, "the table was opened without a catalog and cannot be changed");
    FIRN_TRY(firn_journal_begin(op, pool, table, "rewrite-data-files", changes, &run.journal));
    firn_status status = apply_plan(op, pool, &run, progress);
    firn_journal_end(op, run.journal, status, false, &cleared);
    out->leftover_files_count = firn_clearing_file_count(&cleared);
    out->elapsed_ms = monotonic_ms(op) - started_ms;
    return status;
}
