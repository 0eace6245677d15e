/* Applying a plan of convert_equality_deletes: groups one after the other, files within a group in parallel.
 *
 * Invariants
 *  (1) An equality delete file leaves only in a commit by which all data files it reaches are converted, and stays when
 *      one came meanwhile that it reaches (the commit looks).
 *  (2) On format version 3 a new vector says everything that is deleted of its data file, and takes the place of the
 *      vector before it in the same commit.
 *  (3) What is written has the sequence number of the newest delete that it says, so that a compaction knows whether it
 *      has applied it already. */
#include "maintain/convert_equality_deletes.h"

#include "base/math.h"
#include "catalog/snapshot_producer.h"
#include "maintain/delete_use.h"
#include "maintain/group_work.h"
#include "maintain/journal.h"
#include "rewrite/deletion.h"

/* What becomes of a group. */
struct convert_result {
    struct firn_delete_files written;
    FIRN_ARRAY(struct firn_data_file) restated; /* data files that were given vectors */
    FIRN_ARRAY(struct firn_data_file) replaced; /* the vectors before these */
    int64_t row_count;                          /* deleted by key alone */
    int64_t sequence_number;                    /* of all written (3) */
};

struct apply_run {
    const struct firn_convert_plan *plan;
    struct firn_table *table;
    struct firn_pool *pool;
    struct firn_uuid operation;
    struct firn_progress *progress;
    struct firn_convert_equality_deletes_report *report;
    struct convert_result *results; /* one a group */
    uint32_t *pending;              /* one a delete: groups that are not committed yet */
    FIRN_ARRAY(struct firn_text) warnings;
};

/* Reading. ------------------------------------------------------------------------------------------------------- */

/* The two kinds of deletes of a group's data files. */
struct group_deletes {
    struct firn_scan_file *by_key, *by_position; /* the group's files with these deletes alone */
    struct firn_deletions *keys, *positions;
};

static firn_status load_deletes(struct firn_op *op, const struct apply_run *run, const struct firn_convert_group *group,
                                struct group_deletes *out)
{
    const struct firn_deletions_config config = { run->plan->metadata, run->table->store, run->pool, 0 };
    out->by_key = FIRN_NEW_ARRAY(op->arena, struct firn_scan_file, group->file_count);
    out->by_position = FIRN_NEW_ARRAY(op->arena, struct firn_scan_file, group->file_count);
    for (uint32_t i = 0; i < group->file_count; i++) {
        out->by_key[i] = out->by_position[i] = *group->files[i];
        out->by_key[i].deletes.wide.count = out->by_key[i].deletes.own.count = 0;
        out->by_position[i].deletes.equality.count = 0;
    }
    FIRN_TRY(firn_deletions_load(op, &config, out->by_position, group->file_count, &out->positions));
    return firn_deletions_load(op, &config, out->by_key, group->file_count, &out->keys);
}

/* What is in `by_key` and not in `by_position` (NULL: nothing is). */
static firn_status subtract(struct firn_op *op, const struct firn_positions *by_key,
                            const struct firn_positions *by_position, struct firn_positions **out)
{
    FIRN_TRY(firn_positions_new(op, out));
    if (!by_position)
        return firn_positions_merge(op, *out, by_key);
    for (int64_t at = 0; firn_positions_next(by_key, at, &at); at++)
        if (!firn_positions_contains(by_position, at))
            FIRN_TRY(firn_positions_add(op, *out, at));
    return FIRN_OK;
}

struct group_rows {
    struct firn_row_deletes *items;
    uint32_t count;
};

static void raise_number(const struct firn_delete_list *list, struct convert_result *result)
{
    for (uint32_t i = 0; i < list->count; i++)
        result->sequence_number = FIRN_MAX(result->sequence_number, list->items[i]->sequence_number);
}

/* (2) (3) `op` keeps what the commit wants to know. */
static void note_vector(struct firn_op *op, const struct firn_scan_file *file, struct convert_result *result)
{
    const struct firn_delete_list *own = &file->deletes.own;
    FIRN_PUSH(op->arena, &result->restated, file->entry->file);
    raise_number(own, result);
    raise_number(&file->deletes.wide, result);
    if (own->count > 0 && firn_data_file_is_deletion_vector(&own->items[0]->file))
        FIRN_PUSH(op->arena, &result->replaced, own->items[0]->file);
}

static firn_status find_rows(struct firn_op *op, struct firn_op *scratch, const struct apply_run *run,
                             const struct group_deletes *deletes, uint32_t index, struct group_rows *rows,
                             struct convert_result *result)
{
    const struct firn_scan_file *file = &deletes->by_position[index];
    const struct firn_positions *by_key, *by_position;
    struct firn_positions *found;
    FIRN_TRY(firn_op_check(scratch));
    FIRN_TRY(firn_deletions_find(scratch, deletes->keys, &deletes->by_key[index], &by_key));
    if (!by_key)
        return FIRN_OK;
    FIRN_TRY(firn_deletions_find(scratch, deletes->positions, file, &by_position));
    FIRN_TRY(subtract(scratch, by_key, by_position, &found));
    uint64_t count = firn_positions_count(found);
    if (count == 0)
        return FIRN_OK;
    result->row_count += (int64_t)count;
    if (run->plan->to_vectors) {
        note_vector(op, file, result);
        if (by_position)
            FIRN_TRY(firn_positions_merge(scratch, found, by_position));
    }
    rows->items[rows->count++] = (struct firn_row_deletes){
        .data_file = file->entry->file.path,
        .spec_id = file->entry->file.spec_id,
        .partition = file->entry->file.partition,
        .positions = found,
    };
    return FIRN_OK;
}

static firn_status read_group(struct firn_op *op, struct firn_op *scratch, const struct apply_run *run, uint32_t index,
                              struct group_rows *rows)
{
    const struct firn_convert_group *group = &run->plan->groups[index];
    struct group_deletes deletes;
    run->results[index].sequence_number = group->sequence_number_max;
    FIRN_TRY(load_deletes(scratch, run, group, &deletes));
    rows->items = FIRN_NEW_ARRAY(scratch->arena, struct firn_row_deletes, group->file_count);
    for (uint32_t i = 0; i < group->file_count; i++)
        FIRN_TRY(find_rows(op, scratch, run, &deletes, i, rows, &run->results[index]));
    return FIRN_OK;
}

/* `op` keeps what is written; positions live in `scratch`. */
static firn_status run_group(struct firn_op *op, struct firn_op *scratch, struct apply_run *run, uint32_t index)
{
    const struct firn_convert_plan *plan = run->plan;
    struct group_rows rows = { 0 };
    struct firn_delete_writer_config config = {
        .metadata = plan->metadata,
        .store = run->table->store,
        .operation = run->operation,
        .number = index,
        .granularity = plan->granularity,
        .file_bytes_max = (uint64_t)plan->options.target_file_bytes,
    };
    FIRN_TRY(read_group(op, scratch, run, index, &rows));
    firn_status status = firn_row_deletes_write(op, &config, rows.items, rows.count, &run->results[index].written);
    scratch->error = op->error;
    return status;
}

static firn_status execute(struct firn_op *op, void *context, uint32_t index)
{
    struct apply_run *run = context;
    const struct firn_convert_group *group = &run->plan->groups[index];
    struct firn_arena arena;
    struct firn_op scratch = *op;
    firn_arena_init(&arena);
    scratch.arena = &arena;
    firn_status status = run_group(op, &scratch, run, index);
    op->error = scratch.error;
    firn_arena_done(&arena);
    firn_progress_tick(op, run->progress, group->file_count, (uint64_t)group->bytes);
    return firn_context(op, status, "group of %u data files", group->file_count);
}

static void discard(struct firn_op *op, void *context, uint32_t index)
{
    struct apply_run *run = context;
    firn_delete_files_discard(op, run->table->store, &run->results[index].written);
}

/* Committing. ---------------------------------------------------------------------------------------------------- */

struct commit_size {
    uint32_t added, restated, replaced;
};

static struct commit_size measure(const struct apply_run *run, const uint32_t *groups, uint32_t count)
{
    struct commit_size size = { 0 };
    for (uint32_t i = 0; i < count; i++) {
        const struct convert_result *result = &run->results[groups[i]];
        size.added += result->written.count;
        size.restated += (uint32_t)result->restated.count;
        size.replaced += (uint32_t)result->replaced.count;
    }
    return size;
}

static void fill_files(struct firn_op *op, const struct apply_run *run, const uint32_t *groups, uint32_t count,
                       struct firn_snapshot_change *change)
{
    const struct commit_size size = measure(run, groups, count);
    struct firn_data_file *added = FIRN_NEW_ARRAY(op->arena, struct firn_data_file, size.added);
    int64_t *numbers = FIRN_NEW_ARRAY(op->arena, int64_t, size.added);
    struct firn_data_file *restated = FIRN_NEW_ARRAY(op->arena, struct firn_data_file, size.restated);
    struct firn_data_file *replaced = FIRN_NEW_ARRAY(op->arena, struct firn_data_file, size.replaced);
    change->added_deletes = added;
    change->added_delete_sequence_numbers = numbers;
    change->restated.files = restated;
    change->removed_deletes = replaced;
    for (uint32_t i = 0; i < count; i++) {
        const struct convert_result *result = &run->results[groups[i]];
        for (uint32_t j = 0; j < result->written.count; j++) {
            numbers[change->added_delete_count] = result->sequence_number;
            added[change->added_delete_count++] = result->written.files[j];
        }
        for (size_t j = 0; j < result->restated.count; j++)
            restated[change->restated.count++] = result->restated.items[j];
        for (size_t j = 0; j < result->replaced.count; j++)
            replaced[change->removed_delete_count++] = result->replaced.items[j];
    }
}

/* Counts the groups out, or in again when their commit failed. Lists the equality deletes that no group is left for:
 * these leave. (1) */
static void count_out(struct firn_op *op, struct apply_run *run, const uint32_t *groups, uint32_t count,
                      struct firn_snapshot_change *change)
{
    const struct firn_convert_plan *plan = run->plan;
    struct firn_data_file *spent = FIRN_NEW_ARRAY(op->arena, struct firn_data_file, plan->delete_count);
    change->spent_deletes = spent;
    for (uint32_t i = 0; i < count; i++) {
        const struct firn_convert_group *group = &plan->groups[groups[i]];
        for (uint32_t j = 0; j < group->delete_count; j++) {
            const struct firn_convert_delete *del = &plan->deletes[group->deletes[j]];
            if (--run->pending[group->deletes[j]] == 0 && !del->is_kept)
                spent[change->spent_delete_count++] = del->entry->file;
        }
    }
}

static void count_in(struct apply_run *run, const uint32_t *groups, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct firn_convert_group *group = &run->plan->groups[groups[i]];
        for (uint32_t j = 0; j < group->delete_count; j++)
            run->pending[group->deletes[j]]++;
    }
}

static void report_committed(struct firn_op *op, struct apply_run *run, const struct firn_snapshot_change *change,
                             const struct firn_snapshot_result *snapshot)
{
    struct firn_convert_equality_deletes_report *report = run->report;
    int64_t left = FIRN_MAX((int64_t)snapshot->removed_delete_files - change->removed_delete_count, 0);
    left = FIRN_MIN(left, (int64_t)change->spent_delete_count);
    report->snapshot_id = snapshot->snapshot_id;
    report->commits++;
    report->converted_equality_delete_files_count += left;
    report->added_delete_files_count += change->added_delete_count;
    report->replaced_vectors_count += change->removed_delete_count;
    for (uint32_t i = 0; i < change->spent_delete_count; i++)
        report->converted_bytes_count += change->spent_deletes[i].file_bytes;
    for (uint32_t i = 0; i < change->added_delete_count; i++)
        report->added_bytes_count += firn_delete_read_bytes(&change->added_deletes[i]);
    if (left < change->spent_delete_count)
        FIRN_PUSH(op->arena, &run->warnings,
                  firn_text_format(op->arena,
                                   "%" PRId64 " equality delete files stay: data files that they reach were committed "
                                   "meanwhile",
                                   change->spent_delete_count - left));
}

static firn_status commit_change(struct firn_op *op, struct apply_run *run, const struct firn_snapshot_change *change)
{
    struct firn_snapshot_result snapshot;
    if (change->added_delete_count == 0 && change->spent_delete_count == 0)
        return FIRN_OK; /* keys that no row has, of deletes that stay */
    firn_status status = firn_snapshot_commit(op, run->pool, run->table, change, &snapshot);
    if (status == FIRN_OK)
        report_committed(op, run, change, &snapshot);
    return status;
}

static firn_status commit(struct firn_op *op, void *context, const uint32_t *groups, uint32_t count)
{
    struct apply_run *run = context;
    struct firn_snapshot_change change = {
        .operation = FIRN_TEXT("overwrite"),
        .branch = run->plan->branch,
        .added_sequence_number = FIRN_ABSENT,
        .base_snapshot_id = run->plan->snapshot->id,
    };
    fill_files(op, run, groups, count, &change);
    count_out(op, run, groups, count, &change);
    firn_status status = commit_change(op, run, &change);
    if (status != FIRN_OK) {
        count_in(run, groups, count);
        return status;
    }
    for (uint32_t i = 0; i < count; i++) {
        run->report->data_files_count += run->plan->groups[groups[i]].file_count;
        run->report->deleted_rows_count += run->results[groups[i]].row_count;
    }
    return FIRN_OK;
}

/* The run. ------------------------------------------------------------------------------------------------------- */

static void begin_progress(const struct firn_convert_plan *plan, struct firn_progress *progress)
{
    if (!progress)
        return;
    atomic_store(&progress->groups_total, plan->group_count);
    for (uint32_t i = 0; i < plan->group_count; i++) {
        atomic_fetch_add(&progress->files_total, plan->groups[i].file_count);
        atomic_fetch_add(&progress->bytes_total, (uint64_t)plan->groups[i].bytes);
    }
}

static firn_status run_groups(struct firn_op *op, struct apply_run *run)
{
    const struct firn_convert_plan *plan = run->plan;
    struct firn_group_work_outcome outcome;
    struct firn_group_work work = {
        .noun = "groups",
        .group_count = plan->group_count,
        .width = 1, /* keys have all the memory */
        .partial_progress = plan->options.partial_progress,
        .commits_max = plan->options.commits_max,
        .progress = run->progress,
        .execute = execute,
        .commit = commit,
        .discard = discard,
        .context = run,
    };
    run->operation = firn_uuid_random(op);
    run->results = FIRN_NEW_ARRAY(op->arena, struct convert_result, plan->group_count);
    run->pending = FIRN_NEW_ARRAY(op->arena, uint32_t, plan->delete_count);
    for (uint32_t i = 0; i < plan->delete_count; i++)
        run->pending[i] = plan->deletes[i].group_count;
    begin_progress(plan, run->progress);
    firn_status status = firn_group_work_run(op, run->pool, &work, &outcome);
    if (status == FIRN_OK)
        status = firn_group_work_judge(op, &work, &outcome);
    firn_progress_end(op, run->progress);
    run->report->failed_commits = outcome.failed_commits;
    run->report->failed_groups = outcome.failed_groups;
    for (uint32_t i = 0; i < outcome.warning_count; i++)
        FIRN_PUSH(op->arena, &run->warnings, outcome.warnings[i]);
    return status;
}

static void note_kept(struct firn_op *op, struct apply_run *run)
{
    const struct firn_convert_plan *plan = run->plan;
    for (uint32_t i = 0; i < plan->delete_count; i++)
        run->report->kept_equality_delete_files_count += plan->deletes[i].is_kept;
    run->report->left_alone_files_count = plan->left_alone_count;
    if (plan->left_alone_count > 0)
        FIRN_PUSH(op->arena, &run->warnings,
                  firn_text_format(op->arena,
                                   "%u data files that equality deletes reach were left alone: firn cannot look into "
                                   "them, or into a delete file of theirs",
                                   plan->left_alone_count));
}

static firn_status apply(struct firn_op *op, void *context)
{
    struct apply_run *run = context;
    note_kept(op, run);
    if (run->plan->group_count == 0)
        return FIRN_OK;
    if (!run->table->catalog)
        return firn_fail(op, FIRN_USAGE, "the table was opened without a catalog and cannot be changed");
    return run_groups(op, run);
}

firn_status firn_convert_equality_deletes_apply(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                                const struct firn_convert_plan *plan, struct firn_progress *progress,
                                                struct firn_convert_equality_deletes_report *out)
{
    int64_t started_ms = op->env->monotonic_ms(op->env->context);
    struct apply_run run = { .plan = plan, .table = table, .pool = pool, .progress = progress, .report = out };
    *out = (struct firn_convert_equality_deletes_report){ .snapshot_id = FIRN_NO_SNAPSHOT };
    firn_status status =
        firn_journal_run(op, pool, table, "convert-equality-deletes", plan->group_count > 0, apply, &run);
    out->warnings = run.warnings.items;
    out->warning_count = (uint32_t)run.warnings.count;
    out->elapsed_ms = op->env->monotonic_ms(op->env->context) - started_ms;
    return status;
}
