/* What a table costs its readers, before and after: "optimise, then verify". */
#include "maintain/maintain.h"

#include "firn/demo.h"
#include "format/json/json.h"
#include "maintain/survey.h"
#include "maintain/work.h"

static void set_known(json_t *json, const char *key, int64_t value)
{
    if (value == FIRN_SURVEY_UNKNOWN)
        firn_json_set(json, key, json_null());
    else
        firn_json_set_i64(json, key, value);
}

/* What a scan of everything asks for, and storage for a month. */
static void set_money(json_t *json, const struct firn_survey *survey, const struct firn_prices *prices)
{
    const struct firn_survey_content *total = &survey->total;
    int64_t files = total->data.files + total->delete_reads, bytes = total->data.bytes;
    struct firn_work scan = { 0 };
    firn_survey_add(&bytes, total->position_deletes.bytes);
    firn_survey_add(&bytes, total->equality_deletes.bytes);
    firn_survey_add(&bytes, total->vectors.bytes);
    scan.requests[FIRN_REQUEST_GET] = files * FIRN_SCAN_REQUESTS_OF_FILE + firn_survey_manifests_total(survey).count;
    scan.bytes_read = bytes;
    firn_json_set_i64(json, "scan_requests", firn_work_requests(&scan));
    firn_json_set(json, "scan_money", json_real(firn_work_money(prices, &scan, 0)));
    firn_json_set(json, "storage_money_month", json_real(firn_storage_money(prices, bytes)));
}

static void set_survey(json_t *json, const struct firn_survey *survey)
{
    const struct firn_survey_content *total = &survey->total;
    const struct firn_survey_manifests manifests = firn_survey_manifests_total(survey);
    firn_json_set_i64(json, "data_files", total->data.files);
    firn_json_set_i64(json, "data_bytes", total->data.bytes);
    firn_json_set_i64(json, "delete_files",
                      total->position_deletes.files + total->equality_deletes.files + total->vectors.files);
    firn_json_set_i64(json, "delete_bytes",
                      total->position_deletes.bytes + total->equality_deletes.bytes + total->vectors.bytes);
    firn_json_set_i64(json, "manifests", manifests.count);
    firn_json_set_i64(json, "manifest_bytes", manifests.bytes);
    firn_json_set_i64(json, "snapshots", survey->metadata->snapshot_count);
    set_known(json, "metadata_bytes", survey->metadata_bytes);
    firn_json_set_i64(json, "planning_us", survey->planning_us);
}

/* What a scan with the policy's filter would open. */
static firn_status set_sample(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                              struct firn_text where, json_t *json)
{
    struct firn_table_cost cost;
    if (where.len == 0)
        return FIRN_OK;
    FIRN_TRY(firn_context(op, firn_table_measure(op, pool, table, where, &cost), "sample.where"));
    firn_json_set_i64(json, "sample_files", cost.scan_files);
    firn_json_set_i64(json, "sample_bytes", cost.scan_bytes);
    firn_json_set_i64(json, "sample_planning_us", cost.planning_us);
    return FIRN_OK;
}

static firn_status measure(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                           const struct firn_policy *policy, const struct firn_prices *prices, json_t *json)
{
    struct firn_survey survey;
    FIRN_TRY(firn_survey_take(op, pool, table, (struct firn_survey_options){ 0 }, &survey));
    set_survey(json, &survey);
    set_money(json, &survey, prices);
    return set_sample(op, pool, table, firn_policy_text(policy, FIRN_POLICY_SAMPLE_WHERE), json);
}

json_t *firn_maintain_measure(struct firn_op *op, struct firn_pool *pool, const struct firn_table *table,
                              const struct firn_policy *policy, const struct firn_prices *prices)
{
    struct firn_arena arena; /* a survey is large, and only its numbers stay */
    struct firn_op inner = *op;
    struct firn_table copy = *table;
    json_t *json = json_object();
    firn_arena_init(&arena);
    inner.arena = &arena;
    firn_status status = measure(&inner, pool, &copy, policy, prices, json);
    if (status != FIRN_OK) {
        firn_log(&inner, FIRN_LOG_WARN, "the table cannot be measured: %s", inner.error.text);
        json_decref(json);
        json = json_null();
    }
    firn_arena_done(&arena);
    return json;
}
