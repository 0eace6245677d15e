/* Planning rewrite_manifests: arguments checked, the manifests of a spec arranged anew. Reference: procedures.md, 5.
 *
 * A kind (data or deletes) is left as it is where rewriting would give the same: its entries are in order already, no
 * tombstone would go, and its groups are whole manifests, of which all but a group's last have reached the target. So a
 * run after a run finds nothing to do, where the reference writes everything again. */
#include "maintain/rewrite_manifests.h"

#include "base/math.h"
#include "maintain/branch_plan.h"
#include "table/scan.h"

static firn_status find_spec(struct firn_op *op, const struct firn_rewrite_manifests_args *args,
                             struct firn_manifest_plan *plan)
{
    int64_t id = args->has_spec_id ? args->spec_id : plan->metadata->default_spec_id;
    plan->spec = id == (int32_t)id ? firn_metadata_spec(plan->metadata, (int32_t)id) : NULL;
    if (!plan->spec)
        return firn_fail(op, FIRN_USAGE, "the table has no partition spec %" PRId64, id);
    return FIRN_OK;
}

static firn_status find_field(struct firn_op *op, const struct firn_partition_spec *spec, struct firn_text name,
                              uint32_t *out)
{
    for (*out = 0; *out < spec->field_count; ++*out)
        if (firn_text_same(spec->fields[*out].name, name))
            return FIRN_OK;
    return firn_fail(op, FIRN_USAGE, "'%.*s' is not a field of partition spec %d", FIRN_FMT(name), spec->id);
}

static firn_status find_sort(struct firn_op *op, const struct firn_rewrite_manifests_args *args,
                             struct firn_manifest_plan *plan)
{
    struct firn_manifest_sort *sort = &plan->sort;
    if (args->sort_by && args->sort_by_count == 0)
        return firn_fail(op, FIRN_USAGE, "sort_by names no partition field");
    sort->count = args->sort_by ? (uint32_t)args->sort_by_count : plan->spec->field_count;
    sort->fields = FIRN_NEW_ARRAY(op->arena, uint32_t, sort->count);
    for (uint32_t i = 0; i < sort->count; i++) {
        sort->fields[i] = i;
        if (args->sort_by)
            FIRN_TRY(find_field(op, plan->spec, args->sort_by[i], &sort->fields[i]));
    }
    return FIRN_OK;
}

static firn_status check_arguments(struct firn_op *op, struct firn_manifest_plan *plan)
{
    FIRN_TRY(find_spec(op, &plan->args, plan));
    FIRN_TRY(find_sort(op, &plan->args, plan));
    FIRN_TRY(firn_property_i64(op, plan->metadata, "commit.manifest.target-size-bytes", 8388608, &plan->target_bytes));
    if (plan->target_bytes <= 0)
        return firn_fail(op, FIRN_USAGE, "commit.manifest.target-size-bytes must be above 0");
    return FIRN_OK;
}

static firn_status collect_kind(struct firn_op *op, struct firn_manifest_plan *plan, struct firn_manifest_kind *kind)
{
    for (uint32_t i = 0; i < plan->list.count; i++) {
        const struct firn_manifest_file *row = &plan->list.manifests[i];
        struct firn_regrouped_manifest manifest = { .row = row };
        if (row->spec_id != plan->spec->id || row->is_deletes != kind->is_deletes)
            continue;
        if (row->length < 0 || __builtin_add_overflow(kind->bytes, row->length, &kind->bytes))
            return firn_fail(op, FIRN_CORRUPT, "manifest '%.*s' has a length of %" PRId64 " bytes", FIRN_FMT(row->path),
                             row->length);
        FIRN_PUSH(op->arena, &kind->manifests, manifest);
    }
    int64_t targets = kind->bytes / plan->target_bytes + (kind->bytes % plan->target_bytes != 0);
    kind->target_count = (uint32_t)FIRN_MAX(FIRN_MIN(targets, UINT32_MAX), 1);
    return FIRN_OK;
}

static bool is_in_order(const struct firn_regrouping *regrouping)
{
    for (uint32_t i = 0; i < regrouping->entry_count; i++)
        if (regrouping->order[i] != i)
            return false;
    return true;
}

/* Whether each group is one manifest, or several that are full but for the last. */
static bool groups_are_manifests(const struct firn_manifest_plan *plan, const struct firn_regrouping *regrouping)
{
    uint32_t group = 0;
    for (uint32_t i = 0; i < regrouping->replaced_count; i++) {
        const struct firn_regrouped_manifest *manifest = &regrouping->replaced[i];
        uint32_t end = manifest->entry_start + manifest->entry_count;
        bool ends_group = group < regrouping->group_count && end == regrouping->groups[group].end;
        bool crosses = group < regrouping->group_count && end > regrouping->groups[group].end;
        if (crosses || (!ends_group && manifest->row->length < plan->target_bytes))
            return false;
        group += ends_group;
    }
    return true;
}

static enum firn_manifest_verdict judge(const struct firn_manifest_plan *plan, const struct firn_manifest_kind *kind)
{
    bool is_settled =
        !kind->has_tombstones && is_in_order(&kind->regrouping) && groups_are_manifests(plan, &kind->regrouping);
    return is_settled ? FIRN_MANIFESTS_SETTLED : FIRN_MANIFESTS_REWRITE;
}

static firn_status plan_kind(struct firn_op *op, struct firn_pool *pool, struct firn_store *store,
                             struct firn_manifest_plan *plan, struct firn_manifest_kind *kind)
{
    FIRN_TRY(collect_kind(op, plan, kind));
    if (kind->manifests.count == 0)
        return FIRN_OK;
    kind->verdict = FIRN_MANIFESTS_SINGLE;
    if (kind->manifests.count == 1 && kind->target_count == 1)
        return FIRN_OK;
    FIRN_TRY(firn_manifests_arrange(op, pool, store, plan, kind));
    kind->verdict = judge(plan, kind);
    return FIRN_OK;
}

static firn_status make_plan(struct firn_op *op, struct firn_pool *pool, const struct firn_table *table,
                             struct firn_manifest_plan *plan)
{
    FIRN_TRY(check_arguments(op, plan));
    FIRN_TRY(firn_branch_head(op, plan->metadata, FIRN_TEXT("main"), &plan->snapshot));
    if (!plan->snapshot)
        return FIRN_OK;
    FIRN_TRY(firn_snapshot_manifests(op, table->store, plan->metadata, plan->snapshot, &plan->list));
    for (size_t i = 0; i < FIRN_COUNT_OF(plan->kinds); i++)
        FIRN_TRY(plan_kind(op, pool, table->store, plan, &plan->kinds[i]));
    return FIRN_OK;
}

firn_status firn_rewrite_manifests_plan(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                        const struct firn_rewrite_manifests_args *args, struct firn_manifest_plan **out)
{
    struct firn_manifest_plan *plan = *out = FIRN_NEW(op->arena, struct firn_manifest_plan);
    *plan = (struct firn_manifest_plan){
        .table_name = table->name,
        .args = *args,
        .metadata = table->metadata,
        .kinds = { { .is_deletes = false }, { .is_deletes = true } },
    };
    return make_plan(op, pool, table, plan);
}
