/* Applying a plan of rewrite_manifests: one commit for both kinds. Reference: procedures.md, 5. */
#include "maintain/rewrite_manifests.h"

#include "base/math.h"
#include "maintain/journal.h"

/* A plan that others overtook is made anew so often: they rewrote its manifests, which a busy writer that merges its
 * manifests may do again. */
enum { PLANS_MAX = 5 };

struct apply_run {
    struct firn_pool *pool;
    struct firn_table *table;
    const struct firn_manifest_plan *plan;
    struct firn_rewrite_manifests_report *report;
};

static uint32_t collect_regroupings(const struct firn_manifest_plan *plan, struct firn_regrouping regroupings[2])
{
    uint32_t count = 0;
    for (size_t i = 0; i < FIRN_COUNT_OF(plan->kinds); i++)
        if (plan->kinds[i].verdict == FIRN_MANIFESTS_REWRITE)
            regroupings[count++] = plan->kinds[i].regrouping;
    return count;
}

static bool rewrites_any(const struct firn_manifest_plan *plan)
{
    struct firn_regrouping regroupings[2];
    return collect_regroupings(plan, regroupings) > 0;
}

static void count_committed(const struct apply_run *run, const struct firn_snapshot_change *change,
                            const struct firn_snapshot_result *snapshot)
{
    struct firn_rewrite_manifests_report *report = run->report;
    report->snapshot_id = snapshot->snapshot_id;
    report->rewritten_manifests_count = snapshot->manifests_replaced;
    report->added_manifests_count = snapshot->manifests_created;
    for (uint32_t i = 0; i < change->regrouping_count; i++) {
        report->entries_count += change->regroupings[i].entry_count;
        report->kept_manifests_count -= change->regroupings[i].replaced_count;
    }
}

/* `*is_overtaken`: the plan can never be committed. */
static firn_status commit(struct firn_op *op, const struct apply_run *run, bool *is_overtaken)
{
    /* files are not gone through again, so none is counted: so says the reference, too */
    static const struct firn_text properties[][2] = { { FIRN_TEXT_INIT("entries-processed"), FIRN_TEXT_INIT("0") } };
    struct firn_regrouping regroupings[2];
    struct firn_snapshot_result snapshot;
    struct firn_snapshot_change change = {
        .operation = FIRN_TEXT("replace"),
        .branch = FIRN_TEXT("main"),
        .added_sequence_number = FIRN_ABSENT,
        .base_snapshot_id = FIRN_NO_SNAPSHOT,
        .regroupings = regroupings,
        .regrouping_count = collect_regroupings(run->plan, regroupings),
        .properties = properties,
        .property_count = FIRN_COUNT_OF(properties),
    };
    *is_overtaken = false;
    run->report->kept_manifests_count = run->plan->list.count;
    if (change.regrouping_count == 0)
        return FIRN_OK;
    firn_status status = firn_snapshot_commit(op, run->pool, run->table, &change, &snapshot);
    if (status == FIRN_OK)
        count_committed(run, &change, &snapshot);
    *is_overtaken = status == FIRN_CONFLICT && snapshot.must_plan_anew;
    return status;
}

static firn_status apply(struct firn_op *op, void *context)
{
    struct apply_run *run = context;
    for (int plans = 1;; plans++) {
        bool is_overtaken;
        struct firn_manifest_plan *renewed;
        firn_status status = commit(op, run, &is_overtaken);
        if (!is_overtaken || plans == PLANS_MAX)
            return status;
        firn_log(op, FIRN_LOG_INFO, "the manifests are planned anew: %s", op->error.text);
        FIRN_TRY(firn_op_check(op));
        FIRN_TRY(firn_rewrite_manifests_plan(op, run->pool, run->table, &run->plan->args, &renewed));
        run->plan = renewed;
    }
}

static void remark_caching(struct firn_op *op, const struct apply_run *run)
{
    if (!run->plan->args.use_caching)
        return;
    run->report->warnings = FIRN_NEW(op->arena, struct firn_text);
    run->report->warnings[run->report->warning_count++] =
        FIRN_TEXT("use_caching changes nothing: each manifest is read once for the plan and once to be rewritten");
}

firn_status firn_rewrite_manifests_apply(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                         const struct firn_manifest_plan *plan,
                                         struct firn_rewrite_manifests_report *out)
{
    int64_t started_ms = op->env->monotonic_ms(op->env->context);
    struct apply_run run = { pool, table, plan, out };
    *out = (struct firn_rewrite_manifests_report){ .snapshot_id = FIRN_NO_SNAPSHOT };
    firn_status status = firn_journal_run(op, pool, table, "rewrite-manifests", rewrites_any(plan), apply, &run);
    remark_caching(op, &run);
    out->elapsed_ms = op->env->monotonic_ms(op->env->context) - started_ms;
    return status;
}
