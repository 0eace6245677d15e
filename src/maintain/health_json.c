/* A health report as JSON; include/firn/health.h says what the members are. */
#include "format/json/json.h"
#include "maintain/health.h"

static json_t *finding_json(const struct firn_health_finding *finding)
{
    json_t *json = json_object(), *cost = json_object(), *gain = json_object();
    firn_json_set_text(json, "code", firn_text_of(finding->code));
    firn_json_set_text(json, "severity", firn_text_of(firn_health_level_name(finding->level)));
    firn_json_set_text(json, "symptom", finding->symptom);
    firn_json_set_text(json, "cause", finding->cause);
    firn_json_set_text_or_null(json, "command", finding->command);
    firn_json_set_text_or_null(json, "call", finding->call);
    firn_json_set_text_or_null(json, "advice", finding->advice);
    firn_json_set_i64(cost, "bytes", finding->cost.bytes);
    firn_json_set_i64(cost, "files", finding->cost.files);
    firn_json_set(cost, "money", json_real(finding->cost.money));
    firn_json_set(json, "cost", cost);
    firn_json_set_i64(gain, "files", finding->gain.files);
    firn_json_set_i64(gain, "manifests", finding->gain.manifests);
    firn_json_set_i64(gain, "requests", finding->gain.requests);
    firn_json_set_i64(gain, "bytes", finding->gain.bytes);
    firn_json_set_i64(gain, "planning_us", finding->gain.planning_us);
    firn_json_set(gain, "money_scan", json_real(finding->gain.money_scan));
    firn_json_set(gain, "money_month", json_real(finding->gain.money_month));
    firn_json_set(json, "gain", gain);
    return json;
}

json_t *firn_health_json(struct firn_op *op, const struct firn_health_report *report, bool details)
{
    json_t *json = firn_json_own(op->arena, json_object()), *findings = json_array();
    firn_json_set_text(json, "table", report->table);
    firn_json_set_text(json, "state", firn_text_of(firn_health_state_name(report)));
    firn_json_set_i64(json, "score", report->score);
    firn_json_set_text_or_null(json, "where", report->where);
    for (size_t i = 0; i < report->finding_count; i++)
        json_array_append_new(findings, finding_json(&report->findings[i]));
    firn_json_set(json, "findings", findings);
    firn_json_set(json, "prices", firn_prices_json(&report->prices));
    firn_json_set(json, "limits", firn_health_limits_json(report->limits));
    if (details)
        firn_json_set(json, "survey", firn_survey_json(op, report->survey));
    return json;
}
