/* Planning rewrite_position_delete_files: arguments checked, main's head scanned, delete files chosen.
 * Reference: procedures.md, 4. */
#include "maintain/rewrite_position_delete_files.h"
#include "rewrite/deletion.h"

#include "catalog/catalog.h"
#include "maintain/branch_plan.h"
#include "rewrite/deletion.h"
#include "rewrite/deletion_position.h"
#include "table/expression.h"

static bool may_match(const struct firn_position_rewrite_plan *plan, const struct firn_predicate *where,
                      const struct firn_data_file *file)
{
    const struct firn_partition_spec *spec = firn_metadata_spec(plan->metadata, file->spec_id);
    if (!where || !spec)
        return true;
    return firn_predicate_partition_may_match(where, spec, plan->spec_types[spec - plan->metadata->specs],
                                              &file->partition);
}

static void collect_files(struct firn_op *op, const struct firn_predicate *where,
                          struct firn_position_rewrite_plan *plan)
{
    const struct firn_scan *scan = &plan->scan;
    plan->files = FIRN_NEW_ARRAY(op->arena, struct firn_position_file, scan->delete_count);
    for (uint32_t i = 0; i < scan->delete_count; i++) {
        const struct firn_manifest_entry *entry = scan->deletes[i];
        if (entry->file.content != FIRN_CONTENT_POSITION_DELETES || !may_match(plan, where, &entry->file))
            continue;
        plan->files[plan->file_count++] = (struct firn_position_file){
            .entry = entry,
            .verdict = firn_position_rewrite_qualify(&plan->options, &entry->file),
        };
    }
}

struct look_run {
    struct firn_position_rewrite_plan *plan;
    struct firn_store *store;
};

/* Rows that stand beside their positions would be lost. */
static firn_status look_into(struct firn_op *op, void *context, size_t index)
{
    const struct look_run *run = context;
    struct firn_position_file *file = &run->plan->files[index];
    const struct firn_data_file *data = &file->entry->file;
    bool has_rows = false;
    FIRN_TRY(firn_op_check(op));
    if (!firn_position_is_candidate(file->verdict) || firn_data_file_is_deletion_vector(data))
        return FIRN_OK;
    if (!firn_delete_file_is_readable(data)) {
        file->verdict = FIRN_POSITION_UNREADABLE;
        return FIRN_OK;
    }
    firn_status status = firn_position_deletes_have_rows(op, run->store, data, &has_rows);
    if (has_rows)
        file->verdict = FIRN_POSITION_WITH_ROWS;
    return firn_context(op, status, "delete file \"%.*s\"", FIRN_FMT(data->path));
}

static firn_status make_plan(struct firn_op *op, struct firn_pool *pool, struct firn_store *store,
                             struct firn_position_rewrite_plan *plan)
{
    struct look_run run = { plan, store };
    const struct firn_predicate *where = NULL;
    struct firn_scan_options everything = { 0 };
    if (plan->where.len > 0)
        FIRN_TRY(firn_predicate_parse(op, plan->where, firn_metadata_current_schema(plan->metadata), &where));
    if (!plan->snapshot)
        return FIRN_OK;
    FIRN_TRY(firn_spec_types_new(op, plan->metadata, &plan->spec_types));
    FIRN_TRY(firn_scan_plan(op, pool, store, plan->metadata, plan->snapshot, everything, &plan->scan));
    collect_files(op, where, plan);
    FIRN_TRY(firn_pool_run(op, pool, plan->file_count, 0, look_into, &run));
    return firn_position_rewrite_choose(op, plan);
}

firn_status firn_rewrite_position_delete_files_plan(struct firn_op *op, struct firn_pool *pool,
                                                    struct firn_table *table,
                                                    const struct firn_rewrite_position_delete_files_args *args,
                                                    struct firn_position_rewrite_plan **out)
{
    struct firn_position_rewrite_plan *plan = FIRN_NEW(op->arena, struct firn_position_rewrite_plan);
    *plan = (struct firn_position_rewrite_plan){
        .table_name = table->name,
        .metadata = table->metadata,
        .where = firn_text_copy(op->arena, firn_text_trim(args->where)),
        .to_vectors = table->metadata->format_version >= 3,
        .thread_count = firn_pool_thread_count(pool),
    };
    FIRN_TRY(
        firn_position_rewrite_options_parse(op, plan->metadata, args->options, args->option_count, &plan->options));
    FIRN_TRY(firn_delete_granularity_find(op, plan->metadata, &plan->granularity));
    FIRN_TRY(firn_branch_head(op, plan->metadata, FIRN_TEXT("main"), &plan->snapshot));
    *out = plan;
    return make_plan(op, pool, table->store, plan);
}
