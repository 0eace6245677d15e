/* Applying a plan of rewrite_position_delete_files. Reference: procedures.md, 4, 2.9 and 2.10.
 *
 * Invariants
 *  (1) A group's inputs leave in the commit that adds its outputs, which say of each live data file of the partition
 *      all that the inputs say of it.
 *  (2) Outputs have the highest sequence number of what they were made of, so that they reach no newer data file.
 *  (3) On format version 3 a new vector says all position deletes of its data file, chosen or not, since readers look
 *      at nothing else beside a vector. */
#include "maintain/rewrite_position_delete_files.h"

#include "base/map.h"
#include "base/math.h"
#include "catalog/snapshot_producer.h"
#include "maintain/delete_use.h"
#include "maintain/group_work.h"
#include "maintain/journal.h"
#include "rewrite/deletion.h"

/* What becomes of a group. */
struct position_result {
    struct firn_delete_files written;
    int64_t sequence_number;                /* of all written */
    const struct firn_data_file **restated; /* data files that were given a vector */
    uint32_t restated_count;
};

struct apply_run {
    const struct firn_position_rewrite_plan *plan;
    struct firn_table *table;
    struct firn_pool *pool;
    struct firn_uuid operation;
    struct firn_progress *progress;
    struct firn_rewrite_position_delete_files_report *report;
    struct firn_map data;            /* partition key of a chosen group to the data files there, struct scan_list */
    struct firn_map deletes;         /* the same to all position deletes there, struct entry_list */
    struct firn_map chosen;          /* address of a delete entry that is in a chosen group */
    struct position_result *results; /* one a group */
    FIRN_ARRAY(struct firn_text) warnings;
};

struct scan_list {
    struct firn_scan_file *items;
    size_t count, capacity;
};
struct entry_list {
    const struct firn_manifest_entry **items;
    size_t count, capacity;
};

/* Only what concerns chosen groups is sorted by partition. */
static firn_status index_partitions(struct firn_op *op, struct apply_run *run)
{
    const struct firn_position_rewrite_plan *plan = run->plan;
    struct firn_buffer *key = FIRN_NEW(op->arena, struct firn_buffer);
    firn_buffer_defer(op->arena, key);
    for (uint32_t i = 0; i < plan->group_count; i++) {
        firn_map_put(&run->data, plan->groups[i]->partition)->value.pointer = FIRN_NEW(op->arena, struct scan_list);
        firn_map_put(&run->deletes, plan->groups[i]->partition)->value.pointer = FIRN_NEW(op->arena, struct entry_list);
    }
    for (uint32_t i = 0; i < plan->scan.file_count; i++) {
        const struct firn_scan_file file = { .entry = plan->scan.files[i].entry };
        FIRN_TRY(firn_data_file_partition_key(op, &file.entry->file, key));
        struct firn_map_entry *found = firn_map_find(&run->data, firn_buffer_bytes(key));
        if (found)
            FIRN_PUSH(op->arena, (struct scan_list *)found->value.pointer, file);
    }
    for (uint32_t i = 0; i < plan->scan.delete_count; i++) {
        const struct firn_manifest_entry *entry = plan->scan.deletes[i];
        if (entry->file.content != FIRN_CONTENT_POSITION_DELETES)
            continue;
        FIRN_TRY(firn_data_file_partition_key(op, &entry->file, key));
        struct firn_map_entry *found = firn_map_find(&run->deletes, firn_buffer_bytes(key));
        if (found)
            FIRN_PUSH(op->arena, (struct entry_list *)found->value.pointer, entry);
    }
    return FIRN_OK;
}

static struct firn_bytes address_key(const struct firn_manifest_entry *const *address)
{
    return (struct firn_bytes){ (const uint8_t *)address, sizeof *address };
}

static void index_chosen(struct apply_run *run)
{
    const struct firn_position_rewrite_plan *plan = run->plan;
    for (uint32_t i = 0; i < plan->group_count; i++)
        for (uint32_t j = 0; j < plan->groups[i]->file_count; j++)
            firn_map_put(&run->chosen, address_key(&plan->files[plan->groups[i]->files[j]].entry));
}

/* The delete files that a group's outputs are made of: its inputs, for vectors all of the partition (3). */
static struct entry_list list_sources(struct firn_op *op, const struct apply_run *run,
                                      const struct firn_position_group *group)
{
    const struct firn_position_rewrite_plan *plan = run->plan;
    struct entry_list sources = { 0 };
    if (plan->to_vectors)
        return *(struct entry_list *)firn_map_find(&run->deletes, group->partition)->value.pointer;
    for (uint32_t i = 0; i < group->file_count; i++)
        FIRN_PUSH(op->arena, &sources, plan->files[group->files[i]].entry);
    return sources;
}

/* Matches the data files of the partition with the sources alone. */
static firn_status match_sources(struct firn_op *op, const struct apply_run *run, const struct entry_list *sources,
                                 struct scan_list *files)
{
    struct firn_delete_index *index;
    FIRN_TRY(firn_delete_index_new(op, run->plan->metadata, sources->items, (uint32_t)sources->count, &index));
    struct firn_scan_file *matched = FIRN_NEW_ARRAY(op->arena, struct firn_scan_file, files->count);
    for (size_t i = 0; i < files->count; i++) {
        matched[i].entry = files->items[i].entry;
        FIRN_TRY(firn_delete_index_match(op, index, matched[i].entry, &matched[i].deletes));
    }
    files->items = matched;
    return FIRN_OK;
}

/* A vector that is not to be rewritten stays as it is. */
static bool keeps_vector(const struct apply_run *run, const struct firn_scan_file *file)
{
    const struct firn_delete_list *own = &file->deletes.own;
    return own->count > 0 && firn_data_file_is_deletion_vector(&own->items[0]->file) &&
           !firn_map_find(&run->chosen, address_key(&own->items[0]));
}

static firn_status copy_rows(struct firn_op *op, const struct firn_data_file *file,
                             const struct firn_positions *positions, struct firn_row_deletes *out)
{
    *out = (struct firn_row_deletes){
        .data_file = file->path,
        .spec_id = file->spec_id,
        .partition = file->partition,
    };
    FIRN_TRY(firn_positions_new(op, &out->positions));
    return firn_positions_merge(op, out->positions, positions);
}

/* What the sources say of live data files, and of which. */
struct group_rows {
    struct firn_row_deletes *deletes;
    const struct firn_data_file **files;
    uint32_t count;
};

static firn_status read_group(struct firn_op *op, const struct apply_run *run, const struct entry_list *sources,
                              struct scan_list files, struct group_rows *out)
{
    const struct firn_deletions_config config = { run->plan->metadata, run->table->store, run->pool, 0 };
    struct firn_deletions *deletions;
    FIRN_TRY(match_sources(op, run, sources, &files));
    FIRN_TRY(firn_deletions_load(op, &config, files.items, (uint32_t)files.count, &deletions));
    out->deletes = FIRN_NEW_ARRAY(op->arena, struct firn_row_deletes, files.count);
    out->files = FIRN_NEW_ARRAY(op->arena, const struct firn_data_file *, files.count);
    for (size_t i = 0; i < files.count; i++) {
        const struct firn_positions *positions = NULL;
        if (!keeps_vector(run, &files.items[i]))
            FIRN_TRY(firn_deletions_find(op, deletions, &files.items[i], &positions));
        if (!positions)
            continue;
        out->files[out->count] = &files.items[i].entry->file;
        FIRN_TRY(copy_rows(op, out->files[out->count], positions, &out->deletes[out->count]));
        out->count++;
    }
    return FIRN_OK;
}

static int64_t highest_number(const struct entry_list *sources)
{
    int64_t highest = 0;
    for (size_t i = 0; i < sources->count; i++)
        highest = FIRN_MAX(highest, sources->items[i]->sequence_number);
    return highest;
}

static firn_status write_group(struct firn_op *op, const struct apply_run *run, uint32_t index,
                               const struct group_rows *rows, struct position_result *result)
{
    const struct firn_position_rewrite_plan *plan = run->plan;
    struct firn_delete_writer_config config = {
        .metadata = plan->metadata,
        .store = run->table->store,
        .operation = run->operation,
        .number = index,
        .granularity = plan->granularity,
        .file_bytes_max = (uint64_t)firn_output_split_bytes(&plan->options.sizes, plan->groups[index]->bytes),
    };
    if (plan->to_vectors) {
        result->restated = FIRN_NEW_ARRAY(op->arena, const struct firn_data_file *, rows->count);
        result->restated_count = rows->count;
        for (uint32_t i = 0; i < rows->count; i++)
            result->restated[i] = rows->files[i];
    }
    return firn_row_deletes_write(op, &config, rows->deletes, rows->count, &result->written);
}

/* `op` keeps what is written; positions live in `scratch`. */
static firn_status run_group(struct firn_op *op, struct firn_op *scratch, struct apply_run *run, uint32_t index)
{
    const struct firn_position_group *group = run->plan->groups[index];
    const struct scan_list *files = firn_map_find(&run->data, group->partition)->value.pointer;
    struct entry_list sources = list_sources(scratch, run, group);
    struct group_rows rows = { 0 };
    FIRN_TRY(read_group(scratch, run, &sources, *files, &rows));
    run->results[index].sequence_number = highest_number(&sources); /* (2) */
    firn_status status = write_group(op, run, index, &rows, &run->results[index]);
    scratch->error = op->error;
    return status;
}

static firn_status execute(struct firn_op *op, void *context, uint32_t index)
{
    struct apply_run *run = context;
    const struct firn_position_group *group = run->plan->groups[index];
    struct firn_arena arena;
    struct firn_op scratch = *op;
    firn_arena_init(&arena);
    scratch.arena = &arena;
    firn_status status = run_group(op, &scratch, run, index);
    op->error = scratch.error;
    firn_arena_done(&arena);
    firn_progress_tick(op, run->progress, group->file_count, (uint64_t)group->bytes);
    return firn_context(op, status, "group of %u delete files", group->file_count);
}

static void discard(struct firn_op *op, void *context, uint32_t index)
{
    struct apply_run *run = context;
    firn_delete_files_discard(op, run->table->store, &run->results[index].written);
}

/* Sizes of what a commit needs. */
struct commit_size {
    uint32_t removed, added, restated;
};

static struct commit_size measure(const struct apply_run *run, const uint32_t *groups, uint32_t count)
{
    struct commit_size size = { 0 };
    for (uint32_t i = 0; i < count; i++) {
        size.removed += run->plan->groups[groups[i]]->file_count;
        size.added += run->results[groups[i]].written.count;
        size.restated += run->results[groups[i]].restated_count;
    }
    return size;
}

static void fill_change(struct firn_op *op, const struct apply_run *run, const uint32_t *groups, uint32_t count,
                        struct firn_snapshot_change *change)
{
    const struct commit_size size = measure(run, groups, count);
    struct firn_data_file *removed = FIRN_NEW_ARRAY(op->arena, struct firn_data_file, size.removed);
    struct firn_data_file *added = FIRN_NEW_ARRAY(op->arena, struct firn_data_file, size.added);
    int64_t *numbers = FIRN_NEW_ARRAY(op->arena, int64_t, size.added);
    struct firn_data_file *files = FIRN_NEW_ARRAY(op->arena, struct firn_data_file, size.restated);
    change->removed_deletes = removed;
    change->added_deletes = added;
    change->added_delete_sequence_numbers = numbers;
    change->restated.files = files;
    for (uint32_t i = 0; i < count; i++) {
        const struct firn_position_group *group = run->plan->groups[groups[i]];
        const struct position_result *result = &run->results[groups[i]];
        for (uint32_t j = 0; j < group->file_count; j++)
            removed[change->removed_delete_count++] = run->plan->files[group->files[j]].entry->file;
        for (uint32_t j = 0; j < result->written.count; j++) {
            numbers[change->added_delete_count] = result->sequence_number;
            added[change->added_delete_count++] = result->written.files[j];
        }
        for (uint32_t j = 0; j < result->restated_count; j++)
            files[change->restated.count++] = *result->restated[j];
    }
}

static void count_committed(struct apply_run *run, const struct firn_snapshot_change *change, int64_t snapshot_id)
{
    struct firn_rewrite_position_delete_files_report *report = run->report;
    report->snapshot_id = snapshot_id;
    report->rewritten_delete_files_count += change->removed_delete_count;
    report->added_delete_files_count += change->added_delete_count;
    for (uint32_t i = 0; i < change->removed_delete_count; i++) {
        report->rewritten_bytes_count += firn_delete_read_bytes(&change->removed_deletes[i]);
        report->rewritten_rows += change->removed_deletes[i].record_count;
    }
    for (uint32_t i = 0; i < change->added_delete_count; i++) {
        report->added_bytes_count += firn_delete_read_bytes(&change->added_deletes[i]);
        report->added_rows += change->added_deletes[i].record_count;
    }
}

static firn_status commit(struct firn_op *op, void *context, const uint32_t *groups, uint32_t count)
{
    struct apply_run *run = context;
    struct firn_snapshot_result snapshot;
    struct firn_snapshot_change change = {
        .operation = FIRN_TEXT("replace"),
        .branch = FIRN_TEXT("main"),
        .added_sequence_number = FIRN_ABSENT,
        .base_snapshot_id = run->plan->snapshot->id,
    };
    fill_change(op, run, groups, count, &change);
    FIRN_TRY(firn_snapshot_commit(op, run->pool, run->table, &change, &snapshot));
    count_committed(run, &change, snapshot.snapshot_id);
    return FIRN_OK;
}

static void begin_progress(const struct firn_position_rewrite_plan *plan, struct firn_progress *progress)
{
    if (!progress)
        return;
    atomic_store(&progress->groups_total, plan->group_count);
    for (uint32_t i = 0; i < plan->group_count; i++) {
        atomic_fetch_add(&progress->files_total, plan->groups[i]->file_count);
        atomic_fetch_add(&progress->bytes_total, (uint64_t)plan->groups[i]->bytes);
    }
}

static firn_status run_groups(struct firn_op *op, struct apply_run *run)
{
    const struct firn_position_rewrite_plan *plan = run->plan;
    struct firn_group_work_outcome outcome;
    int64_t width = FIRN_MIN(plan->options.concurrent_groups_max, (int64_t)plan->group_count);
    struct firn_group_work work = {
        .noun = "groups",
        .group_count = plan->group_count,
        .width = (uint32_t)FIRN_MAX(FIRN_MIN(width, (int64_t)plan->thread_count), 1),
        .partial_progress = plan->options.partial_progress,
        .commits_max = plan->options.commits_max,
        .progress = run->progress,
        .execute = execute,
        .commit = commit,
        .discard = discard,
        .context = run,
    };
    firn_map_init(&run->data, op->arena);
    firn_map_init(&run->deletes, op->arena);
    firn_map_init(&run->chosen, op->arena);
    run->results = FIRN_NEW_ARRAY(op->arena, struct position_result, plan->group_count);
    FIRN_TRY(index_partitions(op, run));
    index_chosen(run);
    begin_progress(plan, run->progress);
    firn_status status = firn_group_work_run(op, run->pool, &work, &outcome);
    if (status == FIRN_OK)
        status = firn_group_work_judge(op, &work, &outcome);
    firn_progress_end(op, run->progress);
    run->report->commits = outcome.commits;
    run->report->failed_commits = outcome.failed_commits;
    run->report->failed_groups = outcome.failed_groups;
    for (uint32_t i = 0; i < outcome.warning_count; i++)
        FIRN_PUSH(op->arena, &run->warnings, outcome.warnings[i]);
    return status;
}

static void warn_of_left_alone(struct firn_op *op, struct apply_run *run)
{
    static const struct {
        enum firn_position_verdict verdict;
        const char *why;
    } kinds[] = {
        { FIRN_POSITION_UNREADABLE, "firn cannot read them: they are not Parquet or Avro, or encrypted" },
        { FIRN_POSITION_WITH_ROWS, "they hold the deleted rows beside their positions, which would be lost" },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(kinds); i++) {
        uint32_t count = 0;
        for (uint32_t j = 0; j < run->plan->file_count; j++)
            count += run->plan->files[j].verdict == kinds[i].verdict;
        if (count > 0)
            FIRN_PUSH(
                op->arena, &run->warnings,
                firn_text_format(op->arena, "%u delete files that qualify were left alone: %s", count, kinds[i].why));
    }
}

static firn_status apply(struct firn_op *op, void *context)
{
    struct apply_run *run = context;
    warn_of_left_alone(op, run);
    if (run->plan->group_count == 0)
        return FIRN_OK;
    if (!run->table->catalog)
        return firn_fail(op, FIRN_USAGE, "the table was opened without a catalog and cannot be changed");
    run->operation = firn_uuid_random(op);
    return run_groups(op, run);
}

firn_status firn_rewrite_position_delete_files_apply(struct firn_op *op, struct firn_pool *pool,
                                                     struct firn_table *table,
                                                     const struct firn_position_rewrite_plan *plan,
                                                     struct firn_progress *progress,
                                                     struct firn_rewrite_position_delete_files_report *out)
{
    int64_t started_ms = op->env->monotonic_ms(op->env->context);
    struct apply_run run = { .plan = plan, .table = table, .pool = pool, .progress = progress, .report = out };
    *out = (struct firn_rewrite_position_delete_files_report){
        .left_alone_files_count = plan->left_alone_count,
        .snapshot_id = FIRN_NO_SNAPSHOT,
    };
    firn_status status =
        firn_journal_run(op, pool, table, "rewrite-position-delete-files", plan->group_count > 0, apply, &run);
    out->warnings = run.warnings.items;
    out->warning_count = (uint32_t)run.warnings.count;
    out->elapsed_ms = op->env->monotonic_ms(op->env->context) - started_ms;
    return status;
}
