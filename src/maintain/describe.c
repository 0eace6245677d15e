/* firn describe: what a table is and what lives in one of its snapshots. */
#include "firn/describe.h"

#include "base/math.h"
#include "maintain/row_count.h"
#include "rewrite/deletion.h"
#include "table/scan.h"

static json_t *id_json(struct firn_arena *arena, const struct firn_metadata *metadata, int64_t id)
{
    if (id == FIRN_NO_SNAPSHOT)
        return json_null();
    return firn_json_string(firn_metadata_snapshot_id_text(arena, metadata, id));
}

static void set_unless_absent(json_t *object, const char *key, int64_t value)
{
    if (value >= 0)
        firn_json_set_i64(object, key, value);
}

static json_t *refs_json(struct firn_arena *arena, const struct firn_metadata *metadata)
{
    json_t *refs = json_object();
    for (uint32_t i = 0; i < metadata->ref_count; i++) {
        const struct firn_ref *ref = &metadata->refs[i];
        json_t *json = json_object();
        firn_json_set_text(json, "type", ref->type == FIRN_REF_TAG ? FIRN_TEXT("tag") : FIRN_TEXT("branch"));
        firn_json_set(json, "snapshot_id", id_json(arena, metadata, ref->snapshot_id));
        set_unless_absent(json, "min_snapshots_to_keep", ref->snapshots_min_keep);
        set_unless_absent(json, "max_snapshot_age_ms", ref->snapshot_age_ms_max);
        set_unless_absent(json, "max_ref_age_ms", ref->ref_age_ms_max);
        struct firn_text name = firn_text_copy(arena, ref->name);
        firn_json_set(refs, name.data, json);
    }
    return refs;
}

static json_t *specs_json(const struct firn_metadata *metadata)
{
    json_t *specs = json_array();
    for (uint32_t i = 0; i < metadata->spec_count; i++)
        json_array_append_new(specs, firn_partition_spec_json(&metadata->specs[i]));
    return specs;
}

static json_t *sort_orders_json(const struct firn_metadata *metadata)
{
    json_t *orders = json_array();
    for (uint32_t i = 0; i < metadata->sort_order_count; i++)
        json_array_append_new(orders, firn_sort_order_json(&metadata->sort_orders[i]));
    return orders;
}

static json_t *properties_json(const struct firn_metadata *metadata)
{
    json_t *properties = json_object_get(metadata->root, "properties");
    return json_is_object(properties) ? json_deep_copy(properties) : json_object();
}

static void describe_metadata(struct firn_arena *arena, const struct firn_table *table, json_t *out)
{
    const struct firn_metadata *metadata = table->metadata;
    firn_json_set_text(out, "table", table->name);
    firn_json_set_i64(out, "format_version", metadata->format_version);
    firn_json_set_text(out, "table_uuid", metadata->table_uuid);
    firn_json_set_text(out, "location", metadata->location);
    firn_json_set_text(out, "metadata_file", table->metadata_location);
    firn_json_set_i64(out, "last_sequence_number", metadata->last_sequence_number);
    firn_json_set_i64(out, "last_updated_ms", metadata->last_updated_ms);
    firn_json_set(out, "current_snapshot_id", id_json(arena, metadata, metadata->current_snapshot_id));
    firn_json_set_i64(out, "snapshots", metadata->snapshot_count);
    firn_json_set(out, "refs", refs_json(arena, metadata));
    firn_json_set(out, "schema", firn_schema_json(firn_metadata_current_schema(metadata)));
    firn_json_set(out, "partition_specs", specs_json(metadata));
    firn_json_set(out, "sort_orders", sort_orders_json(metadata));
    firn_json_set(out, "properties", properties_json(metadata));
}

static void count_format(json_t *formats, struct firn_arena *arena, struct firn_text format)
{
    char *name = firn_arena_alloc(arena, format.len + 1);
    for (size_t i = 0; i < format.len; i++) {
        char c = format.data[i];
        name[i] = c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
    }
    json_int_t count = json_integer_value(json_object_get(formats, name));
    firn_json_set_i64(formats, name, count + 1);
}

static void describe_manifests(const struct firn_manifest_list *manifests, json_t *out)
{
    int64_t delete_count = 0;
    for (uint32_t i = 0; i < manifests->count; i++)
        delete_count += manifests->manifests[i].is_deletes;
    json_t *json = json_object();
    firn_json_set_i64(json, "data", manifests->count - delete_count);
    firn_json_set_i64(json, "deletes", delete_count);
    firn_json_set(out, "live_manifests", json);
}

static void describe_files(struct firn_arena *arena, const struct firn_scan *scan, json_t *out)
{
    json_t *formats = json_object();
    int64_t records = 0, bytes = 0, positions = 0, equalities = 0, vectors = 0;
    for (uint32_t i = 0; i < scan->file_count; i++) {
        const struct firn_data_file *file = &scan->files[i].entry->file;
        records += file->record_count;
        bytes += file->file_bytes;
        count_format(formats, arena, file->format_text);
    }
    for (uint32_t i = 0; i < scan->delete_count; i++) {
        const struct firn_data_file *file = &scan->deletes[i]->file;
        if (firn_data_file_is_deletion_vector(file))
            vectors++;
        else if (file->content == FIRN_CONTENT_EQUALITY_DELETES)
            equalities++;
        else
            positions++;
        count_format(formats, arena, file->format_text);
    }
    firn_json_set_i64(out, "live_data_files", scan->file_count);
    firn_json_set_i64(out, "live_position_delete_files", positions);
    firn_json_set_i64(out, "live_equality_delete_files", equalities);
    firn_json_set_i64(out, "live_deletion_vectors", vectors);
    firn_json_set_i64(out, "live_data_records", records);
    firn_json_set_i64(out, "live_data_bytes", bytes);
    firn_json_set(out, "file_formats", formats);
}

/* Why the rows of a snapshot cannot be counted; empty when they can. */
static struct firn_text find_count_problem(struct firn_arena *arena, const struct firn_scan *scan)
{
    for (uint32_t i = 0; i < scan->file_count; i++) {
        const struct firn_data_file *file = &scan->files[i].entry->file;
        if (file->format != FIRN_FILE_PARQUET)
            return firn_text_format(arena, "data file \"%.*s\" is %.*s, and firn decodes Parquet only",
                                    FIRN_FMT(file->path), FIRN_FMT(file->format_text));
    }
    return FIRN_TEXT("");
}

struct count_run {
    struct firn_store *store;
    const struct firn_scan *scan;
    const struct firn_deletions *deletions;
    int64_t *rows; /* one a data file */
};

static firn_status count_file(struct firn_op *op, void *context, size_t index)
{
    const struct count_run *run = context;
    const struct firn_scan_file *file = &run->scan->files[index];
    const struct firn_positions *deleted;
    int64_t rows;
    FIRN_TRY(firn_parquet_rows_count(op, run->store, file->entry->file.path, &rows));
    FIRN_TRY(firn_deletions_find(op, run->deletions, file, &deleted));
    run->rows[index] = rows - (deleted ? (int64_t)firn_positions_count_range(deleted, 0, rows) : 0);
    return FIRN_OK;
}

static firn_status count_rows(struct firn_op *op, const struct firn_deletions_config *config,
                              const struct firn_scan *scan, int64_t *total)
{
    struct firn_deletions *deletions;
    struct count_run run = { config->store, scan, .rows = FIRN_NEW_ARRAY(op->arena, int64_t, scan->file_count) };
    FIRN_TRY(firn_deletions_load(op, config, scan->files, scan->file_count, &deletions));
    run.deletions = deletions;
    FIRN_TRY(firn_pool_run(op, config->pool, scan->file_count, 0, count_file, &run));
    *total = 0;
    for (uint32_t i = 0; i < scan->file_count; i++)
        *total += run.rows[i];
    return FIRN_OK;
}

static firn_status describe_rows(struct firn_op *op, const struct firn_deletions_config *config,
                                 const struct firn_scan *scan, json_t *out)
{
    struct firn_text problem = find_count_problem(op->arena, scan);
    int64_t total;
    if (problem.len == 0) {
        firn_status status = count_rows(op, config, scan, &total);
        if (status == FIRN_OK)
            firn_json_set_i64(out, "live_rows", total);
        if (status != FIRN_UNSUPPORTED)
            return status;
        problem = firn_text_of(op->error.text);
    }
    firn_json_set(out, "live_rows", json_null());
    firn_json_set_text(out, "live_rows_unknown_because", problem);
    return FIRN_OK;
}

static firn_status find_snapshot(struct firn_op *op, const struct firn_metadata *metadata, int64_t id,
                                 const struct firn_snapshot **out)
{
    *out = id == FIRN_NO_SNAPSHOT ? firn_metadata_current(metadata) : firn_metadata_snapshot(metadata, id);
    if (id != FIRN_NO_SNAPSHOT && !*out)
        return firn_fail(op, FIRN_NOT_FOUND, "snapshot %" PRId64 " does not exist", id);
    return FIRN_OK;
}

static firn_status describe(struct firn_op *op, struct firn_pool *pool, const struct firn_table *table,
                            struct firn_describe_options options, json_t *out)
{
    const struct firn_snapshot *snapshot;
    struct firn_scan scan;
    struct firn_scan_options everything = { .with_metrics = options.count }; /* which tell what need not be read */
    describe_metadata(op->arena, table, out);
    FIRN_TRY(find_snapshot(op, table->metadata, options.snapshot_id, &snapshot));
    if (options.snapshot_id != FIRN_NO_SNAPSHOT)
        firn_json_set(out, "snapshot_id", id_json(op->arena, table->metadata, options.snapshot_id));
    FIRN_TRY(firn_scan_plan(op, pool, table->store, table->metadata, snapshot, everything, &scan));
    describe_manifests(&scan.manifests, out);
    describe_files(op->arena, &scan, out);
    struct firn_deletions_config config = { table->metadata, table->store, .pool = pool };
    return options.count ? describe_rows(op, &config, &scan, out) : FIRN_OK;
}

firn_status firn_table_describe(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                struct firn_describe_options options, json_t **out)
{
    *out = firn_json_own(op->arena, json_object());
    return describe(op, pool, table, options, *out);
}
