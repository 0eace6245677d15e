/* The orphans of a survey. */
#include "maintain/survey_orphans.h"

#include "firn/remove_orphan_files.h"

firn_status firn_survey_orphans(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                struct firn_survey *out)
{
    struct firn_remove_orphan_files_args args = { 0 };
    struct firn_orphan_plan *plan;
    struct firn_op trial = *op;
    firn_status status = firn_remove_orphan_files_plan(&trial, pool, table, &args, &plan);
    if (status == FIRN_CANCELLED) {
        op->error = trial.error;
        return status;
    }
    if (status != FIRN_OK) {
        firn_log(op, FIRN_LOG_WARN, "orphans of %.*s are not known: %s", FIRN_FMT(table->name), trial.error.text);
        out->orphan_problem = firn_text_copy(op->arena, firn_text_of(trial.error.text));
        return FIRN_OK;
    }
    const struct firn_orphan_report *report = firn_orphan_plan_report(plan);
    out->orphan_files = report->orphan_count;
    out->orphan_bytes = report->orphan_bytes;
    return FIRN_OK;
}
