/* One commit of rewrite_data_files: what a batch of groups removes and adds, what the snapshot's summary says of it,
 * and what became of the groups. Numbers in comments are invariants of rewrite_data_files_apply.c. */
#include "maintain/rewrite_data_files_run.h"

enum { OWN_PROPERTY_COUNT = 3 }; /* beside fingerprints: shape, settings, covers */

/* Sums the column fingerprints of a batch. All its groups have the same columns. */
static struct firn_fingerprint *sum_fingerprints(struct firn_op *op, const struct firn_rewrite_run *run,
                                                 const uint32_t *batch, uint32_t count, uint32_t *fingerprint_count)
{
    const struct firn_rewrite_result *first = &run->outcomes[batch[0]].result;
    struct firn_fingerprint *sums = FIRN_NEW_ARRAY(op->arena, struct firn_fingerprint, first->fingerprint_count);
    *fingerprint_count = first->fingerprint_count;
    for (uint32_t i = 0; i < first->fingerprint_count; i++) {
        sums[i].field_id = first->fingerprints[i].field_id;
        for (uint32_t j = 0; j < count; j++) {
            const struct firn_rewrite_result *result = &run->outcomes[batch[j]].result;
            if (i < result->fingerprint_count && result->fingerprints[i].field_id == sums[i].field_id)
                sums[i].sum = firn_hash128_add(sums[i].sum, result->fingerprints[i].sum);
        }
    }
    return sums;
}

bool firn_rewrite_plan_leaves_out(const struct firn_rewrite_plan *plan)
{
    return plan->is_capped || plan->left_alone_count > 0;
}

/* Whether a commit of `batch` completes the run: all else is committed, and nothing was left for another time. */
static bool completes_run(const struct firn_rewrite_run *run, uint32_t batch_count)
{
    uint32_t committed = 0;
    for (uint32_t i = 0; i < run->plan->group_count; i++)
        committed += run->outcomes[i].state == FIRN_GROUP_COMMITTED;
    return committed + batch_count == run->plan->group_count && !run->is_incomplete &&
           !firn_rewrite_plan_leaves_out(run->plan);
}

static void set_property(struct firn_text (*properties)[2], uint32_t *count, struct firn_text key,
                         struct firn_text value)
{
    properties[*count][0] = key;
    properties[*count][1] = value;
    (*count)++;
}

static void fill_properties(struct firn_op *op, const struct firn_rewrite_run *run, const uint32_t *batch,
                            uint32_t count, struct firn_snapshot_change *change)
{
    uint32_t fingerprint_count, property_count = 0;
    const struct firn_fingerprint *sums = sum_fingerprints(op, run, batch, count, &fingerprint_count);
    struct firn_text(*properties)[2] =
        firn_arena_alloc_array(op->arena, fingerprint_count + OWN_PROPERTY_COUNT, sizeof *properties);
    set_property(properties, &property_count, FIRN_TEXT(FIRN_SUMMARY_SHAPE), run->plan->shape);
    if (completes_run(run, count)) {
        set_property(properties, &property_count, FIRN_TEXT(FIRN_SUMMARY_SETTINGS), run->plan->settings);
        set_property(properties, &property_count, FIRN_TEXT(FIRN_SUMMARY_COVERS),
                     firn_text_format(op->arena, "%" PRId64, run->covered_id));
    }
    for (uint32_t i = 0; i < fingerprint_count; i++)
        set_property(properties, &property_count, firn_text_format(op->arena, "firn.fingerprint.%d", sums[i].field_id),
                     firn_text_format(op->arena, "%016" PRIx64 "%016" PRIx64, sums[i].sum.high, sums[i].sum.low));
    change->properties = (const struct firn_text(*)[2])properties;
    change->property_count = property_count;
}

static void fill_added(struct firn_op *op, const struct firn_rewrite_run *run, const uint32_t *batch, uint32_t count,
                       struct firn_snapshot_change *change)
{
    for (uint32_t i = 0; i < count; i++)
        change->added_count += run->outcomes[batch[i]].result.file_count;
    struct firn_data_file *added = FIRN_NEW_ARRAY(op->arena, struct firn_data_file, change->added_count);
    change->added = added;
    for (uint32_t i = 0; i < count; i++) {
        const struct firn_rewrite_result *result = &run->outcomes[batch[i]].result;
        memcpy(added, result->files, result->file_count * sizeof *added);
        added += result->file_count;
    }
}

static void fill_removed(struct firn_op *op, const struct firn_rewrite_run *run, const uint32_t *batch, uint32_t count,
                         struct firn_snapshot_change *change)
{
    for (uint32_t i = 0; i < count; i++)
        change->removed_count += run->groups[batch[i]].input_count;
    struct firn_data_file *removed = FIRN_NEW_ARRAY(op->arena, struct firn_data_file, change->removed_count);
    change->removed = removed;
    for (uint32_t i = 0; i < count; i++) {
        const struct firn_rewrite_group *group = &run->groups[batch[i]];
        memcpy(removed, group->inputs, group->input_count * sizeof *removed);
        removed += group->input_count;
    }
}

static struct firn_snapshot_change begin_change(const struct firn_rewrite_run *run)
{
    const struct firn_rewrite_plan *plan = run->plan;
    bool pins = plan->options.use_starting_sequence_number && plan->metadata->format_version > 1;
    return (struct firn_snapshot_change){
        .operation = FIRN_TEXT("replace"),
        .branch = plan->branch,
        .added_sequence_number = pins ? plan->snapshot->sequence_number : FIRN_ABSENT,
        .base_snapshot_id = plan->snapshot->id,
    };
}

void firn_rewrite_run_draft(struct firn_op *op, void *context)
{
    struct firn_rewrite_run *run = context;
    uint32_t count = run->plan->group_count;
    uint32_t *batch = FIRN_NEW_ARRAY(op->arena, uint32_t, count);
    struct firn_snapshot_change *change = FIRN_NEW(op->arena, struct firn_snapshot_change);
    for (uint32_t i = 0; i < count; i++)
        batch[i] = i;
    *change = begin_change(run);
    fill_removed(op, run, batch, count, change);
    run->draft = firn_snapshot_draft_open(op, run->context.pool, run->table, change);
}

static struct firn_rewrite_carrier make_carrier(struct firn_op *op, const struct firn_rewrite_run *run,
                                                const uint32_t *batch, uint32_t count)
{
    struct firn_carry_over_group *groups = FIRN_NEW_ARRAY(op->arena, struct firn_carry_over_group, count);
    for (uint32_t i = 0; i < count; i++)
        groups[i] = (struct firn_carry_over_group){ &run->groups[batch[i]], &run->outcomes[batch[i]].result };
    return (struct firn_rewrite_carrier){
        .table = run->table,
        .config = { .store = run->context.store,
                    .pool = run->context.pool,
                    .operation = run->context.operation,
                    .number = run->carried_number },
        .groups = groups,
        .group_count = count,
    };
}

static void count_committed(struct firn_rewrite_run *run, const uint32_t *batch, uint32_t count,
                            const struct firn_snapshot_result *snapshot)
{
    struct firn_rewrite_data_files_report *report = run->report;
    report->commits++;
    report->snapshot_id = snapshot->snapshot_id;
    report->removed_delete_files_count += (int64_t)snapshot->removed_delete_files;
    for (uint32_t i = 0; i < count; i++) {
        const struct firn_rewrite_result *result = &run->outcomes[batch[i]].result;
        report->rewritten_data_files_count += run->groups[batch[i]].input_count;
        report->rewritten_bytes_count += run->plan->groups[batch[i]]->bytes;
        report->added_data_files_count += result->file_count;
        report->reused_groups_count += run->outcomes[batch[i]].is_reused;
        report->rows += result->rows_out;
        report->deleted_rows_count += result->rows_deleted;
        firn_rung_counts_add(&report->pages, &result->rungs);
        for (int w = 0; w < FIRN_SORT_WAY_COUNT; w++)
            report->sort_ways[w] += result->sort_ways[w];
        for (uint32_t j = 0; j < result->file_count; j++)
            report->added_bytes_count += result->files[j].file_bytes;
    }
}

static enum firn_group_state judge_commit(const struct firn_rewrite_run *run, firn_status status,
                                          const struct firn_snapshot_result *snapshot)
{
    if (status == FIRN_OK)
        return FIRN_GROUP_COMMITTED;
    if (status == FIRN_UNKNOWN)
        return FIRN_GROUP_COMMIT_UNKNOWN;
    return snapshot->must_plan_anew && run->rounds_left > 0 ? FIRN_GROUP_LOST : FIRN_GROUP_COMMIT_FAILED;
}

/* (3) */
static void settle_groups(struct firn_op *op, struct firn_rewrite_run *run, const uint32_t *batch, uint32_t count,
                          enum firn_group_state state)
{
    for (uint32_t i = 0; i < count; i++) {
        run->outcomes[batch[i]].state = state;
        if (state == FIRN_GROUP_LOST)
            firn_rewrite_run_discard(op, run, batch[i]);
    }
}

static firn_status note_lost(struct firn_op *op, struct firn_rewrite_run *run, uint32_t count)
{
    run->has_lost = true;
    run->report->replanned_groups_count += count;
    firn_log(op, FIRN_LOG_INFO, "%u file groups are planned anew: %s", count, op->error.text);
    return FIRN_OK;
}

firn_status firn_rewrite_run_commit(struct firn_op *op, void *context, const uint32_t *batch, uint32_t count)
{
    struct firn_rewrite_run *run = context;
    struct firn_snapshot_result snapshot = { 0 };
    struct firn_spent_batch spent;
    struct firn_snapshot_change change = begin_change(run);
    struct firn_rewrite_carrier carrier = make_carrier(op, run, batch, count);
    firn_rewrite_carrier_init(&carrier);
    change.carry_over = run->plan->options.carry_over_deletes ? &carrier.calls : NULL;
    change.draft = run->draft;
    fill_added(op, run, batch, count, &change);
    fill_removed(op, run, batch, count, &change);
    fill_properties(op, run, batch, count, &change);
    firn_status status =
        firn_rewrite_spent_find(op, run->context.pool, run->context.store, &run->spent, batch, count, &spent);
    change.spent_deletes = spent.deletes;
    change.spent_delete_count = spent.spent_count;
    if (status == FIRN_OK)
        status = firn_snapshot_commit(op, run->context.pool, run->table, &change, &snapshot);
    enum firn_group_state state = judge_commit(run, status, &snapshot);
    settle_groups(op, run, batch, count, state);
    run->carried_number = carrier.config.number;
    if (state == FIRN_GROUP_LOST)
        return note_lost(op, run, count);
    if (status != FIRN_OK) {
        run->report->failed_commits++;
        return status;
    }
    FIRN_PUSH(op->arena, &run->snapshot_ids, snapshot.snapshot_id);
    firn_rewrite_spent_settle(&run->spent, &spent);
    count_committed(run, batch, count, &snapshot);
    run->report->carried_delete_files_count += (int64_t)snapshot.carried_delete_files;
    run->report->carried_rows_count += carrier.given.row_count;
    return FIRN_OK;
}
