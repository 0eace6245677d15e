/* The plan of rewrite_manifests in words and as JSON. */
#include "base/math.h"
#include "format/json/json.h"
#include "maintain/branch_plan.h"
#include "maintain/rewrite_manifests.h"
#include "maintain/work.h"

struct firn_text firn_manifest_kind_reason(struct firn_arena *arena, const struct firn_manifest_plan *plan,
                                           const struct firn_manifest_kind *kind)
{
    switch (kind->verdict) {
    case FIRN_MANIFESTS_NONE:
        return FIRN_TEXT("left: there are none");
    case FIRN_MANIFESTS_SINGLE:
        return firn_text_format(arena, "left: one manifest, within commit.manifest.target-size-bytes %" PRId64,
                                plan->target_bytes);
    case FIRN_MANIFESTS_SETTLED:
        return FIRN_TEXT("left: clustered and divided so already");
    case FIRN_MANIFESTS_REWRITE:
        return firn_text_format(arena,
                                "rewritten: %zu manifests of %" PRId64 " bytes together become %u, clustered by "
                                "partition (commit.manifest.target-size-bytes %" PRId64 ")",
                                kind->manifests.count, kind->bytes, kind->regrouping.group_count, plan->target_bytes);
    }
    return FIRN_TEXT("");
}

static json_t *kind_json(struct firn_op *op, const struct firn_manifest_plan *plan,
                         const struct firn_manifest_kind *kind)
{
    bool is_arranged = kind->verdict == FIRN_MANIFESTS_SETTLED || kind->verdict == FIRN_MANIFESTS_REWRITE;
    json_t *json = json_object();
    firn_json_set(json, "content", json_string(kind->is_deletes ? "deletes" : "data"));
    firn_json_set_i64(json, "input_manifests", (int64_t)kind->manifests.count);
    firn_json_set_i64(json, "input_bytes", kind->bytes);
    firn_json_set(json, "files", is_arranged ? json_integer(kind->regrouping.entry_count) : json_null());
    firn_json_set(json, "partitions", is_arranged ? json_integer(kind->regrouping.stretch_count) : json_null());
    firn_json_set_i64(json, "expected_manifests",
                      is_arranged ? kind->regrouping.group_count : (int64_t)kind->manifests.count);
    firn_json_set_text(json, "reason", firn_manifest_kind_reason(op->arena, plan, kind));
    return json;
}

/* The kind's record of a manifest; NULL: it was not opened. */
static const struct firn_regrouped_manifest *find_manifest(const struct firn_manifest_kind *kind,
                                                           const struct firn_manifest_file *row, size_t *next)
{
    if (*next >= kind->regrouping.replaced_count || kind->regrouping.replaced[*next].row != row)
        return NULL;
    return &kind->regrouping.replaced[(*next)++];
}

static json_t *manifests_json(struct firn_op *op, const struct firn_manifest_plan *plan)
{
    json_t *manifests = json_array();
    size_t next[2] = { 0 };
    struct firn_text reasons[2];
    for (size_t i = 0; i < 2; i++)
        reasons[i] = firn_manifest_kind_reason(op->arena, plan, &plan->kinds[i]);
    for (uint32_t i = 0; i < plan->list.count; i++) {
        const struct firn_manifest_file *row = &plan->list.manifests[i];
        const struct firn_manifest_kind *kind = &plan->kinds[row->is_deletes];
        const struct firn_regrouped_manifest *opened = find_manifest(kind, row, &next[row->is_deletes]);
        bool is_of_spec = row->spec_id == plan->spec->id;
        json_t *json = json_object();
        firn_json_set_text(json, "path", row->path);
        firn_json_set_i64(json, "bytes", row->length);
        firn_json_set(json, "content", json_string(row->is_deletes ? "deletes" : "data"));
        firn_json_set(json, "files", opened ? json_integer(opened->entry_count) : json_null());
        firn_json_set(json, "rewritten", json_boolean(is_of_spec && kind->verdict == FIRN_MANIFESTS_REWRITE));
        firn_json_set_text(json, "reason",
                           is_of_spec ? reasons[row->is_deletes]
                                      : firn_text_format(op->arena, "left: of partition spec %d", row->spec_id));
        json_array_append_new(manifests, json);
    }
    return manifests;
}

json_t *firn_manifest_plan_json(struct firn_op *op, const struct firn_manifest_plan *plan)
{
    json_t *json = firn_branch_plan_json(plan->table_name, plan->snapshot);
    json_t *kinds = json_array(), *names = json_array();
    for (size_t i = 0; i < 2; i++)
        if (plan->kinds[i].verdict != FIRN_MANIFESTS_NONE)
            json_array_append_new(kinds, kind_json(op, plan, &plan->kinds[i]));
    for (uint32_t i = 0; i < plan->sort.count; i++) {
        json_array_append_new(names, firn_json_string(plan->spec->fields[plan->sort.fields[i]].name));
    }
    firn_json_set_i64(json, "spec_id", plan->spec->id);
    firn_json_set(json, "sort_by", names);
    firn_json_set_i64(json, "target_bytes", plan->target_bytes);
    firn_json_set(json, "kinds", kinds);
    firn_json_set(json, "manifests", manifests_json(op, plan));
    return firn_json_own(op->arena, json);
}

struct firn_work firn_manifest_plan_work(const struct firn_manifest_plan *plan)
{
    struct firn_work work = { 0 };
    bool rewrites = false;
    for (size_t i = 0; i < FIRN_COUNT_OF(plan->kinds); i++) {
        const struct firn_manifest_kind *kind = &plan->kinds[i];
        if (kind->verdict != FIRN_MANIFESTS_REWRITE)
            continue;
        rewrites = true;
        firn_work_add_reads(&work, (int64_t)kind->manifests.count, 1, kind->bytes);
        firn_work_add_writes(&work, kind->target_count, kind->bytes);
    }
    if (rewrites) {
        firn_work_add_commit(&work, (struct firn_manifest_touch){ 0 }, NULL);
        firn_work_add_run(&work, 1);
    }
    return work;
}
