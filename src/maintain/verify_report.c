/* The report of firn verify as JSON. */
#include "format/json/json.h"
#include "maintain/verify.h"

static json_t *findings_json(const struct firn_verify_report *report)
{
    json_t *findings = json_array();
    for (size_t i = 0; i < report->finding_count; i++) {
        const struct firn_finding *finding = &report->findings[i];
        json_t *json = json_object();
        firn_json_set_text(json, "severity", firn_text_of(firn_severity_name(finding->severity)));
        firn_json_set_text(json, "code", firn_text_of(finding->code));
        firn_json_set_text_or_null(json, "location", finding->location);
        firn_json_set_text(json, "text", finding->text);
        firn_json_set_text_or_null(json, "hint", finding->hint);
        json_array_append_new(findings, json);
    }
    return findings;
}

static json_t *snapshots_json(const struct firn_verify_report *report)
{
    json_t *snapshots = json_array();
    for (size_t i = 0; i < report->snapshot_count; i++) {
        const struct firn_verify_snapshot *snapshot = &report->snapshots[i];
        json_t *json = json_object();
        firn_json_set_text(json, "snapshot_id", snapshot->id);
        firn_json_set_text_or_null(json, "refs", snapshot->refs);
        firn_json_set_bool(json, "readable", snapshot->is_readable);
        firn_json_set_text_or_null(json, "reason", snapshot->why);
        json_array_append_new(snapshots, json);
    }
    return snapshots;
}

static json_t *repairs_json(const struct firn_repairs *repairs)
{
    json_t *array = json_array();
    for (size_t i = 0; i < repairs->count; i++) {
        const struct firn_repair *repair = &repairs->items[i];
        json_t *json = json_object();
        firn_json_set_text(json, "code", firn_text_of(repair->code));
        firn_json_set_text(json, "text", repair->text);
        firn_json_set_bool(json, "done", repair->done);
        firn_json_set_text_or_null(json, "failure", repair->failure);
        json_array_append_new(array, json);
    }
    return array;
}

json_t *firn_verify_json(struct firn_op *op, struct firn_text name, const struct firn_verify_report *report,
                         const struct firn_repairs *repairs)
{
    json_t *json = firn_json_own(op->arena, json_object());
    firn_json_set_text(json, "table", name);
    firn_json_set_bool(json, "broken", report->error_count > 0);
    firn_json_set_i64(json, "errors", (int64_t)report->error_count);
    firn_json_set_i64(json, "warnings", (int64_t)report->warning_count);
    firn_json_set_i64(json, "notices", (int64_t)report->notice_count);
    firn_json_set(json, "findings", findings_json(report));
    firn_json_set(json, "snapshots", snapshots_json(report));
    firn_json_set_i64(json, "readable_snapshots", (int64_t)report->readable_count);
    firn_json_set_i64(json, "manifest_lists", (int64_t)report->manifest_list_count);
    firn_json_set_i64(json, "manifests", (int64_t)report->manifest_count);
    firn_json_set_i64(json, "files", (int64_t)report->file_count);
    firn_json_set_i64(json, "checked_files", (int64_t)report->checked_count);
    firn_json_set_i64(json, "checked_bytes", (int64_t)report->checked_bytes);
    firn_json_set_i64(json, "elapsed_ms", report->elapsed_ms);
    if (repairs)
        firn_json_set(json, "repairs", repairs_json(repairs));
    return json;
}
