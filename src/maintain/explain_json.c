/* An explanation as JSON: include/firn/explain.h says what it has. */
#include "format/json/json.h"
#include "maintain/explain.h"

static json_t *tally_json(const struct firn_explain_tally *tally)
{
    json_t *json = json_object();
    firn_json_set_i64(json, "files", tally->files);
    firn_json_set_i64(json, "bytes", tally->bytes);
    firn_json_set_i64(json, "rows", tally->rows);
    return json;
}

static json_t *levels_json(const struct firn_explain_report *report)
{
    json_t *json = json_object();
    for (int level = 0; level < FIRN_EXPLAIN_KEPT; level++)
        firn_json_set(json, firn_explain_level_name((enum firn_explain_level)level),
                      tally_json(&report->by_level[level]));
    return json;
}

static json_t *manifests_json(const struct firn_explain_report *report)
{
    json_t *json = json_object();
    firn_json_set_i64(json, "total", report->manifests);
    firn_json_set_i64(json, "kept", report->manifests_kept);
    firn_json_set_i64(json, "in_vain", report->manifests_in_vain);
    return json;
}

static json_t *partitions_json(const struct firn_explain_report *report)
{
    json_t *json = json_object();
    firn_json_set_i64(json, "total", report->partitions);
    firn_json_set_i64(json, "kept", report->partitions_kept);
    return json;
}

static json_t *deletes_json(const struct firn_explain_report *report)
{
    json_t *json = json_object();
    firn_json_set_i64(json, "data_files", report->files_with_deletes);
    firn_json_set_i64(json, "delete_reads", report->delete_reads);
    firn_json_set_i64(json, "bytes", report->delete_read_bytes);
    return json;
}

static json_t *requests_json(const struct firn_explain_report *report)
{
    json_t *json = json_object();
    firn_json_set_i64(json, "all", report->requests_all);
    firn_json_set_i64(json, "kept", report->requests_kept);
    return json;
}

static json_t *reasons_json(const struct firn_explain_report *report)
{
    json_t *array = json_array();
    for (size_t i = 0; i < report->reason_count; i++) {
        const struct firn_explain_reason *reason = &report->reasons[i];
        json_t *json = json_object();
        firn_json_set_text(json, "code", firn_text_of(reason->code));
        firn_json_set_text_or_null(json, "condition", reason->condition);
        firn_json_set_text_or_null(json, "column", reason->column);
        firn_json_set_text(json, "why", reason->why);
        firn_json_set(json, "kept", tally_json(&reason->kept));
        firn_json_set_text_or_null(json, "example", reason->example);
        firn_json_set_text_or_null(json, "bounds", reason->bounds);
        firn_json_set_text_or_null(json, "advice", reason->advice);
        firn_json_set_text_or_null(json, "command", reason->command);
        firn_json_set_text_or_null(json, "call", reason->call);
        json_array_append_new(array, json);
    }
    return array;
}

static json_t *sorting_json(const struct firn_explain_report *report)
{
    json_t *json = json_object(), *array = json_array();
    for (size_t i = 0; i < report->sort_count; i++) {
        const struct firn_explain_sort *sort = &report->sorts[i];
        json_t *item = json_object();
        firn_json_set_text(item, "column", sort->column);
        firn_json_set(item, "selectivity", json_real(sort->selectivity));
        firn_json_set_i64(item, "files_now", sort->files_now);
        firn_json_set_i64(item, "bytes_now", sort->bytes_now);
        firn_json_set_i64(item, "files_packed", sort->files_packed);
        firn_json_set_i64(item, "files_sorted", sort->files_sorted);
        firn_json_set_i64(item, "bytes_sorted", sort->bytes_sorted);
        firn_json_set_i64(item, "rewrite_bytes", sort->rewrite_bytes);
        firn_json_set_text(item, "command", sort->command);
        firn_json_set_text(item, "call", sort->call);
        json_array_append_new(array, item);
    }
    firn_json_set_text(json, "formula", firn_text_of(firn_explain_sort_formula));
    firn_json_set(json, "columns", array);
    return json;
}

static json_t *points_json(const struct firn_explain_report *report)
{
    json_t *array = json_array();
    for (size_t i = 0; i < report->point_count; i++) {
        const struct firn_explain_point *point = &report->points[i];
        json_t *json = json_object();
        firn_json_set_text(json, "column", point->column);
        firn_json_set(json, "files", json_real(point->files));
        firn_json_set(json, "files_in_partition",
                      point->files_in_partition < 0 ? json_null() : json_real(point->files_in_partition));
        json_array_append_new(array, json);
    }
    return array;
}

static json_t *rewritten_json(const struct firn_explain_report *report)
{
    if (report->rewritten.len == 0)
        return json_null();
    json_t *json = json_object();
    firn_json_set_text(json, "where", report->rewritten);
    firn_json_set(json, "kept", tally_json(&report->rewritten_kept));
    return json;
}

static json_t *deep_json(const struct firn_explain_report *report)
{
    const struct firn_explain_deep *deep = &report->deep;
    if (!report->is_deep)
        return json_null();
    json_t *json = json_object();
    firn_json_set_i64(json, "files", deep->files);
    firn_json_set_i64(json, "unreadable_files", deep->unreadable_files);
    firn_json_set_i64(json, "files_kept", deep->files_kept);
    firn_json_set_i64(json, "row_groups", deep->row_groups);
    firn_json_set_i64(json, "row_groups_kept", deep->row_groups_kept);
    firn_json_set_i64(json, "pages", deep->pages);
    firn_json_set_i64(json, "pages_kept", deep->pages_kept);
    firn_json_set_i64(json, "rows_kept", deep->rows_kept);
    firn_json_set_i64(json, "bytes_kept", deep->bytes_kept);
    firn_json_set_i64(json, "bloom_files", deep->bloom_files);
    firn_json_set_i64(json, "bloom_files_ruled_out", deep->bloom_files_ruled_out);
    return json;
}

json_t *firn_explain_json(struct firn_op *op, const struct firn_explain_report *report)
{
    json_t *json = firn_json_own(op->arena, json_object());
    struct firn_text id =
        report->snapshot_id == -1 ? FIRN_TEXT("") : firn_text_format(op->arena, "%" PRId64, report->snapshot_id);
    firn_json_set_text(json, "table", report->table);
    firn_json_set_text_or_null(json, "snapshot_id", id);
    firn_json_set_text(json, "where", report->where);
    firn_json_set(json, "manifests", manifests_json(report));
    firn_json_set(json, "partitions", partitions_json(report));
    firn_json_set(json, "total", tally_json(&report->total));
    firn_json_set(json, "pruned", levels_json(report));
    firn_json_set(json, "kept", tally_json(&report->by_level[FIRN_EXPLAIN_KEPT]));
    firn_json_set(json, "deletes", deletes_json(report));
    firn_json_set(json, "requests", requests_json(report));
    firn_json_set(json, "reasons", reasons_json(report));
    firn_json_set(json, "sorting", sorting_json(report));
    firn_json_set(json, "points", points_json(report));
    firn_json_set(json, "rewritten", rewritten_json(report));
    firn_json_set(json, "deep", deep_json(report));
    return json;
}
