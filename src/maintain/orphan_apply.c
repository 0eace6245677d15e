/* Applying a plan of remove_orphan_files: deleting its files, or marking them. */
#include "maintain/orphans.h"

#include "base/math.h"
#include "maintain/mark.h"
#include "maintain/removal.h"
#include "maintain/work.h"

enum {
    CHUNK_FILES = 16384, /* deleted at a time, and held in memory */
    FAILURES_MAX = 100,  /* that are told one by one */
};

static firn_status check_writable(struct firn_op *op, const struct firn_table *table)
{
    if (table->catalog)
        return FIRN_OK;
    firn_status status = firn_fail(op, FIRN_USAGE,
                                   "table '%.*s' was opened for reading only, and a newer version of it may need the "
                                   "files that this one does not name",
                                   FIRN_FMT(table->name));
    return firn_hint(op, status, "name the table by its catalog, or a filesystem table by its folder");
}

/* Deleting ------------------------------------------------------------------------------------------------------- */

/* Files on their way from the old stream of the plan to the new one, deleted in between. */
struct deleting {
    struct firn_pool *pool;
    struct firn_store *store;
    struct firn_orphan_plan *plan;
    struct firn_removal_options options;
    struct firn_removal_file files[CHUNK_FILES];
    struct firn_removal_file *items[CHUNK_FILES];
    int64_t modified_ms[CHUNK_FILES];
    size_t count;
    struct firn_arena turn; /* the texts of `files` */
};

static void count_file(struct deleting *deleting, const struct firn_removal_file *file)
{
    struct firn_orphan_plan *plan = deleting->plan;
    struct firn_orphan_report *report = &plan->report;
    if (file->state == FIRN_REMOVAL_DELETED) {
        report->deleted_count++;
        report->deleted_bytes += FIRN_MAX(file->bytes, 0);
        return;
    }
    report->failed_count++;
    if (plan->failures.count < FAILURES_MAX)
        FIRN_PUSH(plan->arena, &plan->failures, firn_text_copy(plan->arena, file->failure));
}

/* A stop leaves the chunk's rest as it is; all of it is counted before the stop is told. */
static firn_status delete_chunk(struct firn_op *op, struct deleting *deleting)
{
    struct firn_arena *kept = op->arena;
    op->arena = &deleting->turn;
    firn_status status =
        firn_removal_delete(op, deleting->pool, deleting->store, deleting->items, deleting->count, &deleting->options);
    for (size_t i = 0; i < deleting->count; i++) {
        const struct firn_removal_file *file = &deleting->files[i];
        count_file(deleting, file);
        struct firn_orphan_file row = { .location = file->path,
                                        .bytes = file->bytes,
                                        .modified_ms = deleting->modified_ms[i] };
        if (status == FIRN_OK)
            status = firn_orphan_row_append(op, &deleting->plan->files, &row, false);
    }
    op->arena = kept;
    firn_arena_reset(&deleting->turn);
    deleting->count = 0;
    return status;
}

static firn_status take_row(struct firn_op *op, void *context, const struct firn_orphan_file *file, bool is_confirmed)
{
    (void)is_confirmed;
    struct deleting *deleting = context;
    size_t i = deleting->count++;
    deleting->files[i] = (struct firn_removal_file){ .type = FIRN_TABLE_FILE_OTHER,
                                                     .path = firn_text_copy(&deleting->turn, file->location),
                                                     .bytes = file->bytes };
    deleting->items[i] = &deleting->files[i];
    deleting->modified_ms[i] = file->modified_ms;
    return deleting->count == CHUNK_FILES ? delete_chunk(op, deleting) : FIRN_OK;
}

static firn_status delete_files(struct firn_op *op, struct deleting *deleting)
{
    struct firn_orphan_plan *plan = deleting->plan;
    struct firn_spill_stream old = plan->files;
    firn_spill_stream_init(&plan->files, plan->spill, FIRN_ORPHAN_BLOCK_BYTES);
    firn_status status = firn_orphan_rows_read(op, &old, take_row, deleting);
    if (status == FIRN_OK)
        status = delete_chunk(op, deleting);
    firn_spill_stream_done(&old);
    firn_arena_done(&deleting->turn);
    plan->report.failures = plan->failures.items;
    plan->report.failure_count = (uint32_t)plan->failures.count;
    return status;
}

/* Marks of a sweep ----------------------------------------------------------------------------------------------- */

struct dropping {
    struct firn_orphan_plan *plan;
    struct firn_marks_writer writer;
};

static firn_status keep_undue(struct firn_op *op, void *context, const struct firn_mark *mark)
{
    struct dropping *dropping = context;
    if (mark->marked_ms > dropping->plan->options.due_ms)
        return firn_marks_writer_add(op, &dropping->writer, mark);
    dropping->plan->report.dropped_mark_count++;
    return FIRN_OK;
}

/* Every due mark is done with: its file was deleted, is gone, was changed, or is referred to again. Where a deletion
 * failed all stay, and the next sweep tells. */
static firn_status drop_due_marks(struct firn_op *op, const struct firn_table *table, struct firn_orphan_plan *plan)
{
    struct dropping dropping = { .plan = plan };
    struct firn_text list = firn_marks_location(op->arena, table->metadata);
    if (plan->report.failed_count > 0)
        return FIRN_OK;
    firn_marks_writer_init(&dropping.writer, table->store, list);
    firn_status status = firn_marks_read(op, table->store, list, keep_undue, &dropping);
    if (status == FIRN_OK && plan->report.dropped_mark_count > 0)
        status = firn_marks_writer_finish(op, &dropping.writer);
    firn_marks_writer_close(&dropping.writer);
    return firn_context(op, status, "list of marks '%.*s'", FIRN_FMT(list));
}

static firn_status tell_failures(struct firn_op *op, const struct firn_orphan_plan *plan)
{
    const struct firn_orphan_report *report = &plan->report;
    if (report->failed_count == 0)
        return FIRN_OK;
    return firn_fail(op, FIRN_PARTIAL, "%" PRId64 " of %" PRId64 " files could not be deleted, the first: %.*s",
                     report->failed_count, report->orphan_count, FIRN_FMT(report->failures[0]));
}

firn_status firn_remove_orphan_files_apply(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                           struct firn_orphan_plan *plan, struct firn_progress *progress)
{
    FIRN_TRY(check_writable(op, table));
    struct deleting *deleting = FIRN_NEW(op->arena, struct deleting);
    *deleting = (struct deleting){
        .pool = pool,
        .store = table->store,
        .plan = plan,
        .options = { .concurrent_max = plan->options.concurrent_max, .progress = progress },
    };
    if (progress)
        atomic_store(&progress->files_total, (uint64_t)plan->report.orphan_count);
    firn_status status = delete_files(op, deleting);
    plan->report.elapsed_ms = op->env->monotonic_ms(op->env->context) - plan->started_ms;
    if (status != FIRN_OK)
        return firn_context(op, status, "after deleting %" PRId64 " of %" PRId64 " orphan files",
                            plan->report.deleted_count, plan->report.orphan_count);
    if (plan->options.sweep)
        FIRN_TRY(drop_due_marks(op, table, plan));
    return tell_failures(op, plan);
}

/* Marking -------------------------------------------------------------------------------------------------------- */

struct marking {
    struct firn_orphan_plan *plan;
    struct firn_marks_writer writer;
    int64_t now_ms;
    struct firn_text reason;
};

static firn_status copy_mark(struct firn_op *op, void *context, const struct firn_mark *mark)
{
    struct marking *marking = context;
    return firn_marks_writer_add(op, &marking->writer, mark);
}

static firn_status mark_row(struct firn_op *op, void *context, const struct firn_orphan_file *file, bool is_confirmed)
{
    struct marking *marking = context;
    struct firn_orphan_plan *plan = marking->plan;
    FIRN_TRY(firn_orphan_row_append(op, &plan->files, file, is_confirmed));
    if (is_confirmed) {
        plan->report.marked_already_count++;
        return FIRN_OK;
    }
    struct firn_mark mark = { .file = *file, .marked_ms = marking->now_ms, .reason = marking->reason };
    plan->report.marked_count++;
    return firn_marks_writer_add(op, &marking->writer, &mark);
}

static firn_status mark_files(struct firn_op *op, struct firn_store *store, struct marking *marking)
{
    struct firn_orphan_plan *plan = marking->plan;
    struct firn_spill_stream old = plan->files;
    firn_spill_stream_init(&plan->files, plan->spill, FIRN_ORPHAN_BLOCK_BYTES);
    firn_status status = firn_marks_read(op, store, marking->writer.location, copy_mark, marking);
    if (status == FIRN_OK)
        status = firn_orphan_rows_read(op, &old, mark_row, marking);
    if (status == FIRN_OK && plan->report.marked_count > 0)
        status = firn_marks_writer_finish(op, &marking->writer);
    firn_spill_stream_done(&old);
    return status;
}

firn_status firn_remove_orphan_files_mark(struct firn_op *op, struct firn_table *table, struct firn_orphan_plan *plan)
{
    FIRN_TRY(check_writable(op, table));
    struct marking marking = { .plan = plan, .now_ms = firn_now_ms(op) };
    struct firn_text list = firn_marks_location(op->arena, table->metadata);
    ptrdiff_t slash = firn_text_find_last(table->metadata_location, '/');
    marking.reason = firn_text_format(op->arena, "orphan: nothing in %.*s refers to it",
                                      FIRN_FMT(firn_text_from(table->metadata_location, (size_t)(slash + 1))));
    firn_marks_writer_init(&marking.writer, table->store, list);
    firn_status status = mark_files(op, table->store, &marking);
    firn_marks_writer_close(&marking.writer);
    return firn_context(op, status, "list of marks '%.*s'", FIRN_FMT(list));
}

/* Showing -------------------------------------------------------------------------------------------------------- */

struct showing {
    firn_orphan_visit *visit;
    void *context;
};

static firn_status show_row(struct firn_op *op, void *context, const struct firn_orphan_file *file, bool is_confirmed)
{
    (void)is_confirmed;
    const struct showing *showing = context;
    return showing->visit(op, showing->context, file);
}

firn_status firn_orphan_plan_visit(struct firn_op *op, struct firn_orphan_plan *plan, firn_orphan_visit *visit,
                                   void *context)
{
    struct showing showing = { visit, context };
    return firn_orphan_rows_read(op, &plan->files, show_row, &showing);
}

struct firn_work firn_orphan_plan_work(const struct firn_orphan_plan *plan)
{
    struct firn_work work = { 0 };
    if (plan->report.orphan_count == 0)
        return work;
    if (plan->options.mark || plan->options.sweep) { /* the list of marks is written anew */
        firn_work_add_reads(&work, 1, 1, 0);
        firn_work_add_writes(&work, 1, 0);
    }
    if (!plan->options.mark)
        firn_work_add_deletions(&work, plan->report.orphan_count);
    return work;
}
