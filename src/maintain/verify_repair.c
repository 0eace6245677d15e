/* firn verify --repair: what metadata alone can mend.
 *
 * Invariants
 *  (1) The table changes by ordinary commits only, which are decided on the newest metadata, not on the report. The one
 *      thing beside them is the version hint, which no catalog goes by.
 *  (2) No row appears or disappears, and no file is deleted: what leaves the table is an orphan once its snapshots are
 *      gone. */
#include "base/math.h"
#include "catalog/change.h"
#include "catalog/snapshot_producer.h"
#include "firn/verify.h"
#include "maintain/dangling_deletes.h"
#include "maintain/live_totals.h"

enum { ATTEMPTS_MAX = 4 };

struct repairing {
    struct firn_pool *pool;
    struct firn_table *table;
    const struct firn_verify_report *report;
    bool dry_run;
    FIRN_ARRAY(struct firn_repair) items;
    size_t failure_count;
};

/* A branch, and what the report says of its head. */
struct branch {
    struct firn_text name;
    const struct firn_verify_snapshot *head;
};

/* Takes down what was done, or why not; gives back what ends the repairing. */
static firn_status took(struct firn_op *op, struct repairing *repairing, const char *code, struct firn_text text,
                        firn_status status)
{
    struct firn_repair repair = { .code = code, .text = text, .done = status == FIRN_OK && !repairing->dry_run };
    if (status == FIRN_CANCELLED || status == FIRN_UNKNOWN || status == FIRN_USAGE)
        return status;
    if (status != FIRN_OK) {
        repair.failure = firn_text_copy(op->arena, firn_text_of(op->error.text));
        repairing->failure_count++;
    }
    FIRN_PUSH(op->arena, &repairing->items, repair);
    return FIRN_OK;
}

static bool has_finding(const struct repairing *repairing, const char *code)
{
    for (size_t i = 0; i < repairing->report->finding_count; i++)
        if (strcmp(repairing->report->findings[i].code, code) == 0)
            return true;
    return false;
}

/* Statistics ----------------------------------------------------------------------------------------------------- */

static firn_status is_useless(struct firn_op *op, const struct firn_table *table,
                              const struct firn_statistics_file *file, bool *out)
{
    struct firn_store_stat info;
    *out = !firn_metadata_snapshot(table->metadata, file->snapshot_id);
    if (*out)
        return FIRN_OK;
    firn_status status = firn_store_stat(op, table->store, file->path, &info);
    *out = status == FIRN_NOT_FOUND;
    return *out ? FIRN_OK : status;
}

static firn_status decide_statistics(struct firn_op *op, void *context, const struct firn_table *table,
                                     struct firn_change *out)
{
    size_t *count = context;
    *count = 0;
    firn_change_require_table(out, table->metadata);
    for (uint32_t i = 0; i < table->metadata->statistics_count; i++) {
        const struct firn_statistics_file *file = &table->metadata->statistics[i];
        bool useless;
        FIRN_TRY(is_useless(op, table, file, &useless));
        if (!useless)
            continue;
        json_t *update =
            firn_change_add(out, file->is_partition_statistics ? "remove-partition-statistics" : "remove-statistics");
        firn_json_set_i64(update, "snapshot-id", file->snapshot_id);
        ++*count;
    }
    return FIRN_OK;
}

static firn_status repair_statistics(struct firn_op *op, struct repairing *repairing)
{
    struct firn_change change;
    size_t count = 0;
    if (!has_finding(repairing, "statistics-missing") && !has_finding(repairing, "statistics-snapshot"))
        return FIRN_OK;
    firn_change_init(op, &change);
    firn_status status = repairing->dry_run ? decide_statistics(op, &count, repairing->table, &change)
                                            : firn_change_commit(op, repairing->table, decide_statistics, &count);
    struct firn_text text =
        firn_text_format(op->arena,
                         "remove references to %zu statistics files that are not there, or of snapshots "
                         "that are not",
                         count);
    return took(op, repairing, "statistics-missing", text, status);
}

/* Delete files that apply to nothing --------------------------------------------------------------------------------
 */

static firn_status repair_dangling(struct firn_op *op, struct repairing *repairing, const struct branch *branch)
{
    struct firn_dangling_deletes_report removed;
    if (branch->head->dangling_deletes == 0)
        return FIRN_OK;
    struct firn_text text =
        firn_text_format(op->arena, "take %" PRIu64 " delete files that apply to nothing out of branch '%.*s'",
                         branch->head->dangling_deletes, FIRN_FMT(branch->name));
    firn_status status = repairing->dry_run ? FIRN_OK
                                            : firn_dangling_deletes_remove(op, repairing->pool, repairing->table,
                                                                           branch->name, &removed);
    return took(op, repairing, "delete-dangling", text, status);
}

/* Totals of summaries ---------------------------------------------------------------------------------------------- */

struct counted_head {
    struct firn_text branch;
    int64_t snapshot_id;
};

static firn_status is_still_head(struct firn_op *op, void *context, const struct firn_metadata *metadata)
{
    const struct counted_head *counted = context;
    const struct firn_ref *ref = firn_metadata_ref(metadata, counted->branch);
    if (ref && ref->snapshot_id == counted->snapshot_id)
        return FIRN_OK;
    return firn_fail(op, FIRN_CONFLICT, "branch '%.*s' moved on while its files were counted",
                     FIRN_FMT(counted->branch));
}

static bool all_agree(const struct firn_live_totals *totals, const struct firn_snapshot *head)
{
    for (size_t i = 0; i < FIRN_TOTAL_COUNT; i++)
        if (!firn_live_totals_agree(totals, head, (enum firn_summary_total_id)i))
            return false;
    return true;
}

/* Commits an empty snapshot that has the totals as they are. */
static firn_status recount(struct firn_op *op, struct repairing *repairing, struct firn_text branch)
{
    struct firn_table *table = repairing->table;
    struct firn_live_totals totals;
    struct firn_snapshot_result result;
    FIRN_TRY(firn_table_refresh(op, table));
    const struct firn_snapshot *head = firn_metadata_ref_head(table->metadata, branch);
    if (!head)
        return FIRN_OK;
    FIRN_TRY(firn_live_totals_count(op, table->store, table->metadata, head, &totals));
    if (all_agree(&totals, head))
        return FIRN_OK;
    struct counted_head counted = { branch, head->id };
    struct firn_base_check check = { is_still_head, &counted };
    struct firn_snapshot_change change = {
        .operation = FIRN_TEXT("append"),
        .branch = branch,
        .check = &check,
        .added_sequence_number = FIRN_ABSENT,
        .base_snapshot_id = FIRN_NO_SNAPSHOT,
        .fast_append = true,
        .head_totals = totals.items,
    };
    return firn_snapshot_commit(op, repairing->pool, table, &change, &result);
}

static firn_status repair_totals(struct firn_op *op, struct repairing *repairing, const struct branch *branch)
{
    if (!branch->head->totals_are_wrong)
        return FIRN_OK;
    struct firn_text text =
        firn_text_format(op->arena, "count what lives in branch '%.*s' and commit an empty snapshot with these totals",
                         FIRN_FMT(branch->name));
    firn_status status = repairing->dry_run ? FIRN_OK : FIRN_CONFLICT;
    for (int attempt = 0; attempt < ATTEMPTS_MAX && status == FIRN_CONFLICT; attempt++)
        status = recount(op, repairing, branch->name);
    return took(op, repairing, "summary-total", text, status);
}

/* The version hint ------------------------------------------------------------------------------------------------- */

/* Last, as every other repair that commits writes it as well. */
static firn_status repair_hint(struct firn_op *op, struct repairing *repairing)
{
    struct firn_table *table = repairing->table;
    struct firn_text wrong;
    if (!has_finding(repairing, "version-hint") || !table->catalog || !table->catalog->kind->check_hint)
        return FIRN_OK;
    firn_status status =
        table->catalog->kind->check_hint(op, table->catalog, table->identifier, !repairing->dry_run, &wrong);
    return took(op, repairing, "version-hint", FIRN_TEXT("write the version hint anew"), status);
}

/* All of it ------------------------------------------------------------------------------------------------------ */

static firn_status repair_branch(struct firn_op *op, struct repairing *repairing, const struct branch *branch)
{
    FIRN_TRY(repair_dangling(op, repairing, branch));
    return repair_totals(op, repairing, branch);
}

/* Names are copied: the metadata changes under way. */
static firn_status repair_branches(struct firn_op *op, struct repairing *repairing)
{
    const struct firn_metadata *metadata = repairing->table->metadata;
    struct branch *branches = FIRN_NEW_ARRAY(op->arena, struct branch, metadata->ref_count);
    size_t count = 0;
    for (uint32_t i = 0; i < metadata->ref_count; i++)
        for (size_t k = 0; k < repairing->report->snapshot_count; k++)
            if (metadata->refs[i].type == FIRN_REF_BRANCH &&
                metadata->refs[i].snapshot_id == repairing->report->snapshots[k].snapshot_id)
                branches[count++] = (struct branch){ metadata->refs[i].name, &repairing->report->snapshots[k] };
    for (size_t i = 0; i < count; i++)
        FIRN_TRY(repair_branch(op, repairing, &branches[i]));
    return FIRN_OK;
}

firn_status firn_verify_repair(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                               const struct firn_verify_report *report, bool dry_run, struct firn_repairs *out)
{
    struct repairing repairing = { .pool = pool, .table = table, .report = report, .dry_run = dry_run };
    if (!table->catalog && !dry_run)
        return firn_fail(op, FIRN_USAGE, "table '%.*s' was opened for reading only, nothing in it can be repaired",
                         FIRN_FMT(table->name));
    FIRN_TRY(repair_statistics(op, &repairing));
    FIRN_TRY(repair_branches(op, &repairing));
    FIRN_TRY(repair_hint(op, &repairing));
    *out = (struct firn_repairs){ repairing.items.items, repairing.items.count, repairing.failure_count };
    return FIRN_OK;
}
