/* The steps of maintenance but compaction: what each gives its procedure, and how much work that finds. */
#include "maintain/maintain.h"

#include "base/math.h"
#include "firn/measure.h"
#include "firn/remove_orphan_files.h"
#include "format/json/json.h"
#include "maintain/expire_snapshots.h"
#include "maintain/mark.h"
#include "maintain/rewrite_manifests.h"
#include "maintain/rewrite_position_delete_files.h"

struct firn_progress *firn_step_begins(struct firn_op *op, const struct firn_step_turn *turn)
{
    if (!turn->has_work || !turn->args->begins)
        return NULL;
    return turn->args->begins(op, turn->args->context, turn->step, turn->work);
}

/* A table of numbers as JSON. */
struct number {
    const char *key;
    int64_t value;
};
static json_t *numbers_json(struct firn_op *op, const struct number *numbers, size_t count)
{
    json_t *json = firn_json_own(op->arena, json_object());
    for (size_t i = 0; i < count; i++)
        firn_json_set_i64(json, numbers[i].key, numbers[i].value);
    return json;
}

/* position-deletes ------------------------------------------------------------------------------------------------ */

static firn_status plan_position_deletes(struct firn_op *op, struct firn_step_turn *turn)
{
    struct firn_position_rewrite_plan *plan;
    int64_t min = firn_policy_number(turn->args->policy, FIRN_POLICY_POSITION_DELETES_MIN_INPUT_FILES);
    struct firn_property option = { FIRN_TEXT("min-input-files"), firn_text_format(op->arena, "%" PRId64, min) };
    const struct firn_rewrite_position_delete_files_args args = { .options = &option, .option_count = 1 };
    FIRN_TRY(firn_rewrite_position_delete_files_plan(op, turn->pool, turn->table, &args, &plan));
    turn->plan = plan;
    turn->has_work = plan->group_count > 0;
    turn->work =
        plan->group_count > 0
            ? firn_text_format(op->arena, "%u groups of position delete files", plan->group_count)
            : firn_text_format(op->arena, "of %u position delete files, none need be rewritten", plan->file_count);
    return FIRN_OK;
}

static json_t *position_deletes_json(struct firn_op *op, const struct firn_step_turn *turn)
{
    return firn_position_rewrite_plan_json(op, turn->plan);
}

static struct firn_work position_deletes_work(const struct firn_step_turn *turn)
{
    return firn_position_rewrite_plan_work(turn->plan);
}

static firn_status apply_position_deletes(struct firn_op *op, struct firn_step_turn *turn)
{
    struct firn_rewrite_position_delete_files_report report = { 0 };
    firn_status status = firn_rewrite_position_delete_files_apply(op, turn->pool, turn->table, turn->plan,
                                                                  firn_step_begins(op, turn), &report);
    const struct number numbers[] = {
        { "rewritten_delete_files_count", report.rewritten_delete_files_count },
        { "added_delete_files_count", report.added_delete_files_count },
        { "rewritten_bytes_count", report.rewritten_bytes_count },
        { "added_bytes_count", report.added_bytes_count },
        { "commits", report.commits },
    };
    turn->result = numbers_json(op, numbers, FIRN_COUNT_OF(numbers));
    return status;
}

/* manifests ------------------------------------------------------------------------------------------------------- */

static uint32_t count_to_rewrite(const struct firn_manifest_plan *plan)
{
    uint32_t count = 0;
    for (size_t i = 0; i < FIRN_COUNT_OF(plan->kinds); i++)
        if (plan->kinds[i].verdict == FIRN_MANIFESTS_REWRITE)
            count += (uint32_t)plan->kinds[i].manifests.count;
    return count;
}

static firn_status plan_manifests(struct firn_op *op, struct firn_step_turn *turn)
{
    struct firn_manifest_plan *plan;
    const struct firn_rewrite_manifests_args args = { 0 };
    int64_t min = firn_policy_number(turn->args->policy, FIRN_POLICY_MANIFESTS_MIN_COUNT);
    FIRN_TRY(firn_rewrite_manifests_plan(op, turn->pool, turn->table, &args, &plan));
    uint32_t count = count_to_rewrite(plan);
    turn->has_work = count > 0 && plan->list.count >= min;
    turn->plan = plan;
    if (turn->has_work)
        turn->work = firn_text_format(op->arena, "%u of %u manifests", count, plan->list.count);
    else if (count > 0)
        turn->work = firn_text_format(op->arena, "there are %u manifests, fewer than manifests.min-count %" PRId64,
                                      plan->list.count, min);
    else
        turn->work =
            firn_text_format(op->arena, "%u manifests, clustered and divided as they should be", plan->list.count);
    return FIRN_OK;
}

static json_t *manifests_json(struct firn_op *op, const struct firn_step_turn *turn)
{
    return firn_manifest_plan_json(op, turn->plan);
}

static struct firn_work manifests_work(const struct firn_step_turn *turn)
{
    return firn_manifest_plan_work(turn->plan);
}

static firn_status apply_manifests(struct firn_op *op, struct firn_step_turn *turn)
{
    struct firn_rewrite_manifests_report report = { 0 };
    firn_status status = FIRN_OK;
    if (turn->has_work) {
        firn_step_begins(op, turn);
        status = firn_rewrite_manifests_apply(op, turn->pool, turn->table, turn->plan, &report);
    }
    const struct number numbers[] = {
        { "rewritten_manifests_count", report.rewritten_manifests_count },
        { "added_manifests_count", report.added_manifests_count },
        { "kept_manifests_count", report.kept_manifests_count },
    };
    turn->result = numbers_json(op, numbers, FIRN_COUNT_OF(numbers));
    return status;
}

/* expire ---------------------------------------------------------------------------------------------------------- */

static firn_status plan_expire(struct firn_op *op, struct firn_step_turn *turn)
{
    const struct firn_policy *policy = turn->args->policy;
    int64_t retain = firn_policy_number(policy, FIRN_POLICY_EXPIRE_RETAIN_LAST);
    struct firn_expiry *expiry;
    const struct firn_expire_snapshots_args args = {
        .older_than = firn_policy_text(policy, FIRN_POLICY_EXPIRE_OLDER_THAN),
        .retain_last = retain == FIRN_POLICY_UNSET ? 0 : retain,
        .clean_expired_metadata = firn_policy_flag(policy, FIRN_POLICY_EXPIRE_CLEAN_METADATA),
        .mark = firn_policy_flag(policy, FIRN_POLICY_EXPIRE_MARK),
    };
    FIRN_TRY(firn_expire_snapshots_plan(op, turn->pool, turn->table, &args, &expiry));
    const struct firn_expiry_choice *choice = &expiry->choice;
    turn->plan = expiry;
    turn->has_work = choice->snapshot_count + choice->ref_count + choice->spec_count + choice->schema_count > 0;
    turn->work = firn_text_format(op->arena, "%zu of %u snapshots, %zu references", choice->snapshot_count,
                                  turn->table->metadata->snapshot_count, choice->ref_count);
    return FIRN_OK;
}

static json_t *expire_json(struct firn_op *op, const struct firn_step_turn *turn)
{
    return firn_expiry_json(op, turn->plan);
}

static struct firn_work expire_work(const struct firn_step_turn *turn)
{
    return firn_expiry_work(turn->plan);
}

static firn_status apply_expire(struct firn_op *op, struct firn_step_turn *turn)
{
    struct firn_expire_snapshots_report report = { 0 };
    firn_status status =
        firn_expire_snapshots_apply(op, turn->pool, turn->table, turn->plan, firn_step_begins(op, turn), &report);
    const struct number numbers[] = {
        { "expired_snapshots_count", report.expired_snapshots_count },
        { "removed_refs_count", report.removed_refs_count },
        { "deleted_data_files_count", report.deleted_data_files_count },
        { "deleted_position_delete_files_count", report.deleted_position_delete_files_count },
        { "deleted_equality_delete_files_count", report.deleted_equality_delete_files_count },
        { "deleted_manifest_files_count", report.deleted_manifest_files_count },
        { "deleted_manifest_lists_count", report.deleted_manifest_lists_count },
        { "deleted_statistics_files_count", report.deleted_statistics_files_count },
        { "deleted_bytes", report.deleted_bytes },
        { "marked_files_count", report.marked_files_count },
        { "leftover_files_count", report.leftover_files_count },
        { "failed_files_count", (int64_t)report.failure_count },
    };
    turn->result = numbers_json(op, numbers, FIRN_COUNT_OF(numbers));
    return status;
}

/* sweep and orphans ----------------------------------------------------------------------------------------------- */

static firn_status plan_orphan_files(struct firn_op *op, struct firn_step_turn *turn,
                                     const struct firn_remove_orphan_files_args *args, const char *what)
{
    struct firn_orphan_plan *plan;
    FIRN_TRY(firn_remove_orphan_files_plan(op, turn->pool, turn->table, args, &plan));
    const struct firn_orphan_report *report = firn_orphan_plan_report(plan);
    turn->plan = plan;
    turn->has_work = report->orphan_count > 0;
    turn->work = firn_text_format(op->arena, "%.*s %s, %.*s, among %.*s files listed",
                                  FIRN_FMT(firn_measure_count(op->arena, report->orphan_count)), what,
                                  FIRN_FMT(firn_measure_bytes(op->arena, (uint64_t)report->orphan_bytes)),
                                  FIRN_FMT(firn_measure_count(op->arena, report->listed_count)));
    return FIRN_OK;
}

static json_t *orphans_json(struct firn_op *op, const struct firn_step_turn *turn)
{
    const struct firn_orphan_report *report = firn_orphan_plan_report(turn->plan);
    const struct number numbers[] = {
        { "listed_files_count", report->listed_count },
        { "orphan_files_count", report->orphan_count },
        { "orphan_bytes", report->orphan_bytes },
        { "too_new_files_count", report->new_count },
    };
    return numbers_json(op, numbers, FIRN_COUNT_OF(numbers));
}

static json_t *orphan_result(struct firn_op *op, const struct firn_orphan_report *report)
{
    const struct number numbers[] = {
        { "orphan_files_count", report->orphan_count },
        { "marked_files_count", report->marked_count },
        { "marked_already_count", report->marked_already_count },
        { "deleted_files_count", report->deleted_count },
        { "deleted_bytes", report->deleted_bytes },
        { "failed_files_count", report->failed_count },
    };
    return numbers_json(op, numbers, FIRN_COUNT_OF(numbers));
}

struct counting_marks {
    int64_t due_ms;
    int64_t count, due_count;
};
static firn_status count_mark(struct firn_op *op, void *context, const struct firn_mark *mark)
{
    struct counting_marks *counting = context;
    (void)op;
    counting->count++;
    counting->due_count += mark->marked_ms <= counting->due_ms;
    return FIRN_OK;
}

/* The table is listed only where some mark is old enough. */
static firn_status plan_sweep(struct firn_op *op, struct firn_step_turn *turn)
{
    const struct firn_policy *policy = turn->args->policy;
    struct counting_marks counting = { .due_ms = turn->now_ms - firn_policy_number(policy, FIRN_POLICY_SWEEP_AFTER) };
    const struct firn_remove_orphan_files_args args = { .sweep = true,
                                                        .after = firn_policy_text(policy, FIRN_POLICY_SWEEP_AFTER) };
    struct firn_text location = firn_marks_location(op->arena, turn->table->metadata);
    FIRN_TRY(firn_marks_read(op, turn->table->store, location, count_mark, &counting));
    if (counting.due_count > 0)
        return plan_orphan_files(op, turn, &args, "marked files");
    turn->work = firn_text_format(op->arena, "of %" PRId64 " marked files, none was marked %.*s ago or before",
                                  counting.count, FIRN_FMT(args.after));
    return FIRN_OK;
}

static struct firn_work orphans_work(const struct firn_step_turn *turn)
{
    return firn_orphan_plan_work(turn->plan);
}

static firn_status apply_sweep(struct firn_op *op, struct firn_step_turn *turn)
{
    firn_status status =
        firn_remove_orphan_files_apply(op, turn->pool, turn->table, turn->plan, firn_step_begins(op, turn));
    turn->result = orphan_result(op, firn_orphan_plan_report(turn->plan));
    return status;
}

static bool marks_orphans(const struct firn_step_turn *turn)
{
    return firn_policy_number(turn->args->policy, FIRN_POLICY_ORPHANS_MODE) == 0;
}

static firn_status plan_orphans(struct firn_op *op, struct firn_step_turn *turn)
{
    const struct firn_remove_orphan_files_args args = {
        .older_than = firn_policy_text(turn->args->policy, FIRN_POLICY_ORPHANS_OLDER_THAN),
        .mark = marks_orphans(turn),
    };
    return plan_orphan_files(op, turn, &args, "orphan files");
}

static firn_status apply_orphans(struct firn_op *op, struct firn_step_turn *turn)
{
    struct firn_progress *progress = firn_step_begins(op, turn);
    firn_status status = marks_orphans(turn)
                             ? firn_remove_orphan_files_mark(op, turn->table, turn->plan)
                             : firn_remove_orphan_files_apply(op, turn->pool, turn->table, turn->plan, progress);
    turn->result = orphan_result(op, firn_orphan_plan_report(turn->plan));
    return status;
}

/* ----------------------------------------------------------------------------------------------------------------- */

const struct firn_step_kind firn_step_kinds[FIRN_STEP_COUNT] = {
    [FIRN_STEP_COMPACT] = { "compact", FIRN_POLICY_COMPACT_EVERY, FIRN_POLICY_COMPACT_WINDOWS, false, firn_compact_plan,
                            firn_compact_json, firn_compact_work, firn_compact_apply },
    [FIRN_STEP_POSITION_DELETES] = { "position-deletes", FIRN_POLICY_POSITION_DELETES_EVERY,
                                     FIRN_POLICY_POSITION_DELETES_WINDOWS, false, plan_position_deletes,
                                     position_deletes_json, position_deletes_work, apply_position_deletes },
    [FIRN_STEP_MANIFESTS] = { "manifests", FIRN_POLICY_MANIFESTS_EVERY, FIRN_POLICY_MANIFESTS_WINDOWS, false,
                              plan_manifests, manifests_json, manifests_work, apply_manifests },
    [FIRN_STEP_EXPIRE] = { "expire", FIRN_POLICY_EXPIRE_EVERY, FIRN_POLICY_EXPIRE_WINDOWS, true, plan_expire,
                           expire_json, expire_work, apply_expire },
    [FIRN_STEP_SWEEP] = { "sweep", FIRN_POLICY_SWEEP_EVERY, FIRN_POLICY_SWEEP_WINDOWS, true, plan_sweep, orphans_json,
                          orphans_work, apply_sweep },
    [FIRN_STEP_ORPHANS] = { "orphans", FIRN_POLICY_ORPHANS_EVERY, FIRN_POLICY_ORPHANS_WINDOWS, true, plan_orphans,
                            orphans_json, orphans_work, apply_orphans },
};
