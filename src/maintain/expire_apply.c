/* Committing an expiry, and deleting the files that went with it. The invariants stand in expire_snapshots.h; numbers
 * in comments refer to them. */
#include "maintain/expire_snapshots.h"

#include "maintain/journal.h"
#include "maintain/mark.h"

struct applying {
    struct firn_pool *pool;
    struct firn_table *table;
    struct firn_journal *journal;
    struct firn_expiry *planned;
    struct firn_expiry *expiry; /* of the last attempt; the planned one where that still fits */
};

/* (4) Decides from the table as it is, and finds the files that go. */
static firn_status decide_anew(struct firn_op *op, struct applying *applying, const struct firn_table *table)
{
    const struct firn_expiry *planned = applying->planned;
    struct firn_expiry *expiry = FIRN_NEW(op->arena, struct firn_expiry);
    struct firn_metadata *after;
    *expiry = (struct firn_expiry){ .args = planned->args,
                                    .policy.now_ms = planned->policy.now_ms,
                                    .table_name = planned->table_name };
    applying->expiry = expiry;
    FIRN_TRY(firn_expiry_decide(op, applying->pool, table, expiry));
    FIRN_TRY(firn_expiry_after(op, expiry, &after));
    return firn_expiry_collect(op, applying->pool, applying->table, after, expiry);
}

static firn_status decide(struct firn_op *op, void *context, const struct firn_table *table, struct firn_change *out)
{
    struct applying *applying = context;
    applying->expiry = applying->planned;
    if (!firn_text_same(table->metadata_location, applying->planned->base.location))
        FIRN_TRY(decide_anew(op, applying, table));
    const struct firn_expiry_choice *choice = &applying->expiry->choice;
    if (choice->snapshot_count + choice->ref_count + choice->spec_count + choice->schema_count > 0)
        firn_expiry_change(applying->expiry, out);
    return firn_journal_removal(op, applying->journal, applying->expiry->removal,
                                applying->expiry->args.mark); /* (5) */
}

static void fill_counts(const struct firn_removal_report *removed, struct firn_expire_snapshots_report *out)
{
    out->deleted_data_files_count = removed->deleted[FIRN_TABLE_FILE_DATA].count;
    out->deleted_position_delete_files_count = removed->deleted[FIRN_TABLE_FILE_POSITION_DELETES].count;
    out->deleted_equality_delete_files_count = removed->deleted[FIRN_TABLE_FILE_EQUALITY_DELETES].count;
    out->deleted_manifest_files_count = removed->deleted[FIRN_TABLE_FILE_MANIFEST].count;
    out->deleted_manifest_lists_count = removed->deleted[FIRN_TABLE_FILE_MANIFEST_LIST].count;
    out->deleted_statistics_files_count = removed->deleted[FIRN_TABLE_FILE_STATISTICS].count;
    for (int type = 0; type < FIRN_TABLE_FILE_TYPE_COUNT; type++)
        out->deleted_bytes += removed->deleted[type].bytes;
}

static void fill_failures(struct firn_op *op, struct firn_removal *removal, struct firn_expire_snapshots_report *out)
{
    size_t count;
    const struct firn_removal_file *const *files = firn_removal_files(removal, &count);
    struct firn_expiry_failure *failures = FIRN_NEW_ARRAY(op->arena, struct firn_expiry_failure, count);
    for (size_t i = 0; i < count; i++)
        if (files[i]->state == FIRN_REMOVAL_FAILED)
            failures[out->failure_count++] = (struct firn_expiry_failure){ files[i]->path, files[i]->failure };
    out->failures = failures;
}

/* Two-phase deletion: a later sweep of orphan removal deletes what is still unreferenced then. */
static firn_status mark_files(struct firn_op *op, struct firn_removal *removal,
                              struct firn_expire_snapshots_report *out)
{
    struct firn_mark_report report;
    firn_status status = firn_removal_mark(op, removal, &report);
    out->marked_files_count = report.marked_count + report.marked_already_count;
    return status;
}

/* The snapshots are gone by now. (5) */
static firn_status advise(struct firn_op *op, firn_status status)
{
    if (status == FIRN_OK)
        return FIRN_OK;
    firn_context(op, status, "the snapshots have expired, but files of theirs are still there");
    return firn_hint(op, status, "run it again: it deletes what is left, which 'firn journal' shows");
}

static firn_status delete_files(struct firn_op *op, const struct applying *applying, struct firn_progress *progress,
                                struct firn_expire_snapshots_report *out)
{
    struct firn_expiry *expiry = applying->expiry;
    struct firn_removal_options options = { .concurrent_max = expiry->args.max_concurrent_deletes,
                                            .progress = progress };
    struct firn_removal_report removed = { 0 };
    if (!expiry->removal)
        return FIRN_OK;
    if (expiry->args.mark)
        return mark_files(op, expiry->removal, out);
    firn_status status = firn_removal_apply(op, expiry->removal, &options, &removed); /* (2) */
    fill_counts(&removed, out);
    if (removed.failed_count > 0)
        fill_failures(op, expiry->removal, out);
    return status;
}

static firn_status commit_and_delete(struct firn_op *op, struct applying *applying, struct firn_progress *progress,
                                     bool *leaves_files, struct firn_expire_snapshots_report *out)
{
    FIRN_TRY(firn_change_commit(op, applying->table, decide, applying)); /* (1) */
    out->expired_snapshots_count = (int64_t)applying->expiry->choice.snapshot_count;
    out->removed_refs_count = (int64_t)applying->expiry->choice.ref_count;
    firn_status status = delete_files(op, applying, progress, out);
    *leaves_files = status != FIRN_OK;
    return advise(op, status);
}

firn_status firn_expire_snapshots_apply(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                        struct firn_expiry *expiry, struct firn_progress *progress,
                                        struct firn_expire_snapshots_report *out)
{
    struct applying applying = { .pool = pool, .table = table, .planned = expiry };
    struct firn_clearing cleared;
    bool leaves_files = false;
    int64_t started_ms = op->env->monotonic_ms(op->env->context);
    *out = (struct firn_expire_snapshots_report){ 0 };
    FIRN_TRY(firn_journal_begin(op, pool, table, "expire-snapshots", true, &applying.journal));
    firn_status status = commit_and_delete(op, &applying, progress, &leaves_files, out);
    firn_journal_end(op, applying.journal, status, leaves_files, &cleared);
    out->leftover_files_count = firn_clearing_file_count(&cleared);
    firn_progress_end(op, progress);
    out->elapsed_ms = op->env->monotonic_ms(op->env->context) - started_ms;
    return status;
}
