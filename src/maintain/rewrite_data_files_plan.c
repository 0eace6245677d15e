/* Planning rewrite_data_files: arguments checked, the branch's head scanned, files chosen. Reads metadata only.
 * Reference: procedures.md, 2.1 to 2.5. */
#include "maintain/rewrite_data_files.h"

#include "base/math.h"
#include "catalog/catalog.h"
#include "maintain/branch_plan.h"
#include "table/manifest_codec.h"

/* A schema that firn cannot rewrite makes every candidate a file left alone, not an error. */
static firn_status note_schema_problem(struct firn_op *op, const struct firn_metadata *metadata, struct firn_text *out)
{
    struct firn_op trial = *op;
    firn_status status = firn_rewrite_schema_check(&trial, firn_metadata_current_schema(metadata));
    if (status == FIRN_UNSUPPORTED) {
        *out = firn_text_copy(op->arena, firn_text_of(trial.error.text));
        return FIRN_OK;
    }
    op->error = trial.error;
    return status;
}

/* What a run would fail with after all the work is told before it. */
static firn_status check_properties(struct firn_op *op, const struct firn_metadata *metadata)
{
    struct firn_avro_writer_config manifests;
    bool gzip;
    struct firn_text codec = firn_property_text(metadata, "write.manifest.compression-codec", FIRN_TEXT(""));
    FIRN_TRY(firn_rewrite_settings_check(op, metadata));
    FIRN_TRY(firn_metadata_wants_gzip(op, metadata, &gzip));
    return firn_manifest_codec(op, codec, FIRN_CODEC_LEVEL_DEFAULT, &manifests);
}

/* Live data files that the manifest list counts; FIRN_ABSENT when some row of it does not say. */
static int64_t count_listed_files(const struct firn_manifest_list *manifests)
{
    int64_t count = 0;
    for (uint32_t i = 0; i < manifests->count; i++) {
        const struct firn_manifest_file *row = &manifests->manifests[i];
        if (row->is_deletes)
            continue;
        if (row->added_files_count < 0 || row->existing_files_count < 0)
            return FIRN_ABSENT;
        count += row->added_files_count + row->existing_files_count;
    }
    return count;
}

/* Takes the files of `whole` that `selected` has too. NULL: all. */
static void take_files(struct firn_op *op, const struct firn_scan *selected, struct firn_rewrite_plan *plan)
{
    struct firn_map paths;
    firn_map_init(&paths, op->arena);
    for (uint32_t i = 0; selected && i < selected->file_count; i++)
        firn_map_put_text(&paths, selected->files[i].entry->file.path);
    plan->files = FIRN_NEW_ARRAY(op->arena, struct firn_planned_file, plan->whole.file_count);
    for (uint32_t i = 0; i < plan->whole.file_count; i++)
        if (!selected || firn_map_find_text(&paths, plan->whole.files[i].entry->file.path))
            plan->files[plan->file_count++].scan = &plan->whole.files[i];
}

/* A delete file leaves the table with the last data file that it applies to, so all of these must be known, whatever
 * the predicate selects. */
static firn_status scan_files(struct firn_op *op, struct firn_pool *pool, struct firn_store *store,
                              const struct firn_predicate *where, struct firn_rewrite_plan *plan)
{
    struct firn_scan selected;
    struct firn_scan_options options = { .where = where };
    options.metric_field_count = firn_rewrite_order_metric_fields(op, plan, &options.metric_fields);
    FIRN_TRY(firn_scan_plan(op, pool, store, plan->metadata, plan->snapshot, options, &selected));
    bool needs_all = where && selected.delete_count > 0;
    plan->whole = selected;
    options.where = NULL;
    if (needs_all)
        FIRN_TRY(firn_scan_plan(op, pool, store, plan->metadata, plan->snapshot, options, &plan->whole));
    plan->listed_file_count = count_listed_files(&selected.manifests);
    take_files(op, needs_all ? &selected : NULL, plan);
    return FIRN_OK;
}

static bool is_own(const struct firn_rewrite_done *done, int64_t snapshot_id)
{
    for (uint32_t i = 0; i < done->commit_count; i++)
        if (done->snapshot_ids[i] == snapshot_id)
            return true;
    return false;
}

/* Leaves out what the run has written already, and what belongs to groups that were not lost. */
static firn_status drop_done(struct firn_op *op, const struct firn_rewrite_done *done, struct firn_rewrite_plan *plan)
{
    struct firn_buffer key = { 0 };
    uint32_t kept = 0;
    firn_status status = FIRN_OK;
    for (uint32_t i = 0; status == FIRN_OK && i < plan->file_count; i++) {
        const struct firn_manifest_entry *entry = plan->files[i].scan->entry;
        status = firn_rewrite_group_key(op, plan, &entry->file, &key);
        bool is_lost = !done->lost || firn_map_find(done->lost, firn_buffer_bytes(&key));
        if (is_lost && !is_own(done, entry->snapshot_id))
            plan->files[kept++] = plan->files[i];
    }
    firn_buffer_done(&key);
    plan->file_count = kept;
    return status;
}

/* How later runs know this one. A sort settles what was sorted by its order, packing what was packed. */
static void set_marks(struct firn_op *op, struct firn_rewrite_plan *plan)
{
    plan->settings = firn_rewrite_options_settings(op->arena, &plan->options, plan->where);
    plan->shape = firn_rewrite_options_shape(op->arena, &plan->options);
    if (plan->options.strategy == FIRN_STRATEGY_BINPACK)
        return;
    plan->settings =
        firn_text_format(op->arena, "%.*s order=%.*s", FIRN_FMT(plan->settings), FIRN_FMT(plan->order_text));
    plan->shape = firn_text_format(op->arena, "%.*s order=%.*s", FIRN_FMT(plan->shape), FIRN_FMT(plan->order_text));
}

/* `done`: NULL when nothing is. */
static firn_status make_plan(struct firn_op *op, struct firn_pool *pool, const struct firn_table *table,
                             const struct firn_rewrite_done *done, struct firn_rewrite_plan *plan)
{
    const struct firn_predicate *where = NULL;
    struct firn_rewrite_history history;
    FIRN_TRY(note_schema_problem(op, plan->metadata, &plan->schema_problem));
    FIRN_TRY(firn_rewrite_order_new(op, plan));
    set_marks(op, plan);
    if (plan->where.len > 0)
        FIRN_TRY(firn_predicate_parse(op, plan->where, firn_metadata_current_schema(plan->metadata), &where));
    FIRN_TRY(firn_branch_head(op, plan->metadata, plan->branch, &plan->snapshot));
    if (!plan->snapshot)
        return FIRN_OK;
    FIRN_TRY(firn_spec_types_new(op, plan->metadata, &plan->spec_types));
    if (plan->schema_problem.len == 0)
        FIRN_TRY(check_properties(op, plan->metadata));
    FIRN_TRY(scan_files(op, pool, table->store, where, plan));
    if (done)
        FIRN_TRY(drop_done(op, done, plan));
    FIRN_TRY(firn_rewrite_finished_read(op, table, plan));
    firn_rewrite_history_read(op, plan->metadata, plan->snapshot, plan->settings, plan->shape, &history);
    return firn_rewrite_plan_choose(op, &history, plan);
}

firn_status firn_rewrite_data_files_plan(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                         const struct firn_rewrite_data_files_args *args,
                                         struct firn_rewrite_plan **out)
{
    struct firn_rewrite_plan *plan = FIRN_NEW(op->arena, struct firn_rewrite_plan);
    *plan = (struct firn_rewrite_plan){
        .table_name = table->name,
        .metadata = table->metadata,
        .branch = args->branch.len > 0 ? firn_text_copy(op->arena, args->branch) : FIRN_TEXT("main"),
        .where = firn_text_copy(op->arena, firn_text_trim(args->where)),
        .worth = args->worth,
        .limits = args->limits,
        .verify_full = args->verify_full,
        .memory_bytes_max = args->memory_bytes_max,
        .thread_count = firn_pool_thread_count(pool),
    };
    FIRN_TRY(firn_rewrite_options_parse(op, plan->metadata, args, &plan->options));
    *out = plan;
    return make_plan(op, pool, table, NULL, plan);
}

/* Caps hold for the run as a whole. */
firn_status firn_rewrite_plan_renew(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                    const struct firn_rewrite_plan *old, const struct firn_rewrite_done *done,
                                    const struct firn_rewrite_plan **out)
{
    struct firn_rewrite_plan *plan = FIRN_NEW(op->arena, struct firn_rewrite_plan);
    FIRN_TRY(firn_table_refresh(op, table));
    *plan = (struct firn_rewrite_plan){
        .table_name = old->table_name,
        .metadata = table->metadata,
        .branch = old->branch,
        .where = old->where,
        .options = old->options,
        .worth = old->worth,
        .limits = old->limits,
        .verify_full = old->verify_full,
        .memory_bytes_max = old->memory_bytes_max,
        .thread_count = old->thread_count,
    };
    plan->options.files_max -= done->rewritten_files;
    if (old->limits.bytes_max > 0)
        plan->limits.bytes_max = FIRN_MAX(old->limits.bytes_max - done->rewritten_bytes, 1);
    plan->options.commits_max = FIRN_MAX(old->options.commits_max - done->commit_count, 1);
    *out = plan;
    return make_plan(op, pool, table, done, plan);
}
