/* The orphans of a survey. */
#include "maintain/survey_orphans.h"

#include "firn/remove_orphan_files.h"

firn_status firn_survey_orphans(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                struct firn_survey *out)
{
    struct firn_remove_orphan_files_args args = { 0 };
    struct firn_orphan_plan *plan;
    firn_status status = firn_remove_orphan_files_plan(op, pool, table, &args, &plan);
    if (status == FIRN_DENIED || status == FIRN_USAGE || status == FIRN_UNSUPPORTED) {
        firn_log(op, FIRN_LOG_WARN, "orphans of %.*s are not known: %s", FIRN_FMT(table->name), op->error.text);
        return FIRN_OK;
    }
    FIRN_TRY(status);
    const struct firn_orphan_report *report = firn_orphan_plan_report(plan);
    out->orphan_files = report->orphan_count;
    out->orphan_bytes = report->orphan_bytes;
    return FIRN_OK;
}
