/* The typed view of a metadata tree. Iceberg spec, "Table Metadata Fields", "Appendix C: Table Metadata and Snapshots".
 *
 * Version 1 knows members by older names and leaves many out; what stands for an absent one is decided here. */
#include "base/math.h"
#include "table/metadata.h"
#include "table/snapshot_id.h"

#define PARTITION_ID_BEFORE_FIRST 999
#define COUNT_MAX                 UINT32_C(10000000)

/* The array at `key`, or NULL when it is absent and not needed. */
static firn_status find_array(struct firn_op *op, const json_t *root, const char *key, bool needed, json_t **out,
                              uint32_t *count)
{
    json_t *array = json_object_get(root, key);
    *out = NULL;
    *count = 0;
    if (!needed && (!array || json_is_null(array)))
        return FIRN_OK;
    FIRN_TRY(firn_json_need_array(op, root, key, "table metadata", out));
    if (json_array_size(*out) > COUNT_MAX)
        return firn_fail(op, FIRN_LIMIT, "\"%s\" has %zu items, more than %" PRIu32, key, json_array_size(*out),
                         COUNT_MAX);
    *count = (uint32_t)json_array_size(*out);
    return FIRN_OK;
}

static firn_status parse_version(struct firn_op *op, const json_t *root, struct firn_metadata *metadata)
{
    if (!json_is_object(root))
        return firn_fail(op, FIRN_CORRUPT, "table metadata is not a JSON object");
    if (json_object_get(root, "view-uuid") || json_object_get(root, "view-version-log"))
        return firn_fail(op, FIRN_CORRUPT, "this is the metadata of a view, not of a table");
    FIRN_TRY(firn_json_need_i32(op, root, "format-version", "table metadata", &metadata->format_version));
    if (metadata->format_version < 1)
        return firn_fail(op, FIRN_CORRUPT, "format version %d does not exist", metadata->format_version);
    if (metadata->format_version > FIRN_FORMAT_VERSION_MAX)
        return firn_fail(op, FIRN_UNSUPPORTED, "the table has format version %d; firn handles versions 1 to %d",
                         metadata->format_version, FIRN_FORMAT_VERSION_MAX);
    return FIRN_OK;
}

static firn_status parse_numbers(struct firn_op *op, const json_t *root, struct firn_metadata *metadata)
{
    static const char what[] = "table metadata";
    if (metadata->format_version >= 2) {
        FIRN_TRY(firn_json_need_text(op, root, "table-uuid", what, &metadata->table_uuid));
        FIRN_TRY(firn_json_need_i64(op, root, "last-sequence-number", what, &metadata->last_sequence_number));
    } else {
        FIRN_TRY(firn_json_find_text(op, root, "table-uuid", what, &metadata->table_uuid, NULL));
    }
    if (metadata->format_version >= 3) /* the first writers of version 3 left it out */
        FIRN_TRY(firn_json_find_i64(op, root, "next-row-id", what, &metadata->next_row_id, NULL));
    FIRN_TRY(firn_json_need_text(op, root, "location", what, &metadata->location));
    while (metadata->location.len > 1 && metadata->location.data[metadata->location.len - 1] == '/')
        metadata->location.len--;
    FIRN_TRY(firn_json_need_i64(op, root, "last-updated-ms", what, &metadata->last_updated_ms));
    FIRN_TRY(firn_json_need_i32(op, root, "last-column-id", what, &metadata->last_column_id));
    metadata->current_snapshot_id = FIRN_NO_SNAPSHOT;
    return firn_snapshot_id_find(op, root, "current-snapshot-id", what, &metadata->current_snapshot_id, NULL);
}

static firn_status parse_schemas(struct firn_op *op, const json_t *root, struct firn_metadata *metadata)
{
    json_t *schemas, *single;
    FIRN_TRY(find_array(op, root, "schemas", metadata->format_version >= 2, &schemas, &metadata->schema_count));
    if (!schemas) {
        FIRN_TRY(firn_json_need_object(op, root, "schema", "table metadata", &single));
        metadata->schema_count = 1;
        metadata->schemas = FIRN_NEW(op->arena, struct firn_schema);
        FIRN_TRY(firn_schema_parse(op, single, metadata->schemas));
        metadata->current_schema_id = metadata->schemas->id;
        return FIRN_OK;
    }
    metadata->schemas = FIRN_NEW_ARRAY(op->arena, struct firn_schema, metadata->schema_count);
    for (uint32_t i = 0; i < metadata->schema_count; i++)
        FIRN_TRY(firn_schema_parse(op, json_array_get(schemas, i), &metadata->schemas[i]));
    FIRN_TRY(firn_json_need_i32(op, root, "current-schema-id", "table metadata", &metadata->current_schema_id));
    if (!firn_metadata_current_schema(metadata))
        return firn_fail(op, FIRN_CORRUPT, "current schema %d does not exist", metadata->current_schema_id);
    return FIRN_OK;
}

static int32_t spec_id_max(const struct firn_metadata *metadata)
{
    int32_t max = 0;
    for (uint32_t i = 0; i < metadata->spec_count; i++)
        max = FIRN_MAX(max, metadata->specs[i].id);
    return max;
}

static int32_t partition_id_max(const struct firn_metadata *metadata)
{
    int32_t max = PARTITION_ID_BEFORE_FIRST;
    for (uint32_t i = 0; i < metadata->spec_count; i++)
        for (uint32_t k = 0; k < metadata->specs[i].field_count; k++)
            max = FIRN_MAX(max, metadata->specs[i].fields[k].field_id);
    return max;
}

static firn_status parse_spec_list(struct firn_op *op, const json_t *root, struct firn_metadata *metadata)
{
    json_t *specs;
    FIRN_TRY(find_array(op, root, "partition-specs", metadata->format_version >= 2, &specs, &metadata->spec_count));
    if (!specs) {
        const json_t *bare = json_object_get(root, "partition-spec");
        metadata->spec_count = 1;
        metadata->specs = FIRN_NEW(op->arena, struct firn_partition_spec);
        if (!bare)
            return firn_fail(op, FIRN_CORRUPT, "table metadata has neither \"partition-specs\" nor \"partition-spec\"");
        return firn_partition_spec_parse(op, bare, 0, metadata->specs);
    }
    metadata->specs = FIRN_NEW_ARRAY(op->arena, struct firn_partition_spec, metadata->spec_count);
    for (uint32_t i = 0; i < metadata->spec_count; i++)
        FIRN_TRY(firn_partition_spec_parse(op, json_array_get(specs, i), 0, &metadata->specs[i]));
    return FIRN_OK;
}

static firn_status parse_specs(struct firn_op *op, const json_t *root, struct firn_metadata *metadata)
{
    static const char what[] = "table metadata";
    FIRN_TRY(parse_spec_list(op, root, metadata));
    metadata->last_partition_id = partition_id_max(metadata);
    metadata->default_spec_id = spec_id_max(metadata);
    if (metadata->format_version >= 2) {
        FIRN_TRY(firn_json_need_i32(op, root, "last-partition-id", what, &metadata->last_partition_id));
        FIRN_TRY(firn_json_need_i32(op, root, "default-spec-id", what, &metadata->default_spec_id));
    } else {
        FIRN_TRY(firn_json_find_i32(op, root, "last-partition-id", what, &metadata->last_partition_id, NULL));
        FIRN_TRY(firn_json_find_i32(op, root, "default-spec-id", what, &metadata->default_spec_id, NULL));
    }
    if (!firn_metadata_spec(metadata, metadata->default_spec_id))
        return firn_fail(op, FIRN_CORRUPT, "default partition spec %d does not exist", metadata->default_spec_id);
    return FIRN_OK;
}

static firn_status parse_sort_orders(struct firn_op *op, const json_t *root, struct firn_metadata *metadata)
{
    json_t *orders;
    bool needed = metadata->format_version >= 2;
    FIRN_TRY(find_array(op, root, "sort-orders", needed, &orders, &metadata->sort_order_count));
    if (!orders) { /* the unsorted order, all zeros */
        metadata->sort_order_count = 1;
        metadata->sort_orders = FIRN_NEW(op->arena, struct firn_sort_order);
        return FIRN_OK;
    }
    metadata->sort_orders = FIRN_NEW_ARRAY(op->arena, struct firn_sort_order, metadata->sort_order_count);
    for (uint32_t i = 0; i < metadata->sort_order_count; i++)
        FIRN_TRY(firn_sort_order_parse(op, json_array_get(orders, i), &metadata->sort_orders[i]));
    FIRN_TRY(firn_json_need_i32(op, root, "default-sort-order-id", "table metadata", &metadata->default_sort_order_id));
    if (!firn_metadata_sort_order(metadata, metadata->default_sort_order_id))
        return firn_fail(op, FIRN_CORRUPT, "default sort order %d does not exist", metadata->default_sort_order_id);
    return FIRN_OK;
}

static firn_status parse_manifest_paths(struct firn_op *op, const json_t *json, struct firn_snapshot *out)
{
    const json_t *paths = json_object_get(json, "manifests");
    if (!json_is_array(paths) || json_array_size(paths) > COUNT_MAX)
        return firn_fail(op, FIRN_CORRUPT, "snapshot %" PRId64 " has neither \"manifest-list\" nor \"manifests\"",
                         out->id);
    out->manifest_count = (uint32_t)json_array_size(paths);
    out->manifests = FIRN_NEW_ARRAY(op->arena, struct firn_text, out->manifest_count);
    for (uint32_t i = 0; i < out->manifest_count; i++) {
        const json_t *path = json_array_get(paths, i);
        if (!json_is_string(path))
            return firn_fail(op, FIRN_CORRUPT, "snapshot %" PRId64 ": a manifest path is not text", out->id);
        out->manifests[i] =
            firn_text_copy(op->arena, (struct firn_text){ json_string_value(path), json_string_length(path) });
    }
    return FIRN_OK;
}

static firn_status parse_summary(struct firn_op *op, const json_t *json, struct firn_snapshot *out)
{
    const char *key;
    json_t *value, *summary = json_object_get(json, "summary");
    out->operation = FIRN_TEXT("overwrite");
    if (!summary || json_is_null(summary))
        return FIRN_OK;
    if (!json_is_object(summary))
        return firn_fail(op, FIRN_CORRUPT, "snapshot %" PRId64 ": \"summary\" is not an object", out->id);
    json_object_foreach(summary, key, value)
    {
        if (!json_is_string(value))
            return firn_fail(op, FIRN_CORRUPT, "snapshot %" PRId64 ": summary \"%s\" is not text", out->id, key);
    }
    out->summary = summary;
    return firn_json_find_text(op, summary, "operation", "summary", &out->operation, NULL);
}

static firn_status parse_lineage(struct firn_op *op, const json_t *json, struct firn_snapshot *out)
{
    bool has_rows;
    FIRN_TRY(firn_json_find_i64(op, json, "first-row-id", "snapshot", &out->first_row_id, &out->has_first_row_id));
    FIRN_TRY(firn_json_find_i64(op, json, "added-rows", "snapshot", &out->added_rows, &has_rows));
    if (out->has_first_row_id && !has_rows)
        return firn_fail(op, FIRN_CORRUPT, "snapshot %" PRId64 " has \"first-row-id\" but no \"added-rows\"", out->id);
    if (out->first_row_id < 0 || out->added_rows < 0)
        return firn_fail(op, FIRN_CORRUPT, "snapshot %" PRId64 ": negative row ids or row count", out->id);
    return FIRN_OK;
}

firn_status firn_snapshot_parse(struct firn_op *op, const json_t *json, int32_t format_version,
                                struct firn_snapshot *out)
{
    *out = (struct firn_snapshot){ .parent_id = FIRN_NO_SNAPSHOT };
    FIRN_TRY(firn_snapshot_id_need(op, json, "snapshot-id", "snapshot", &out->id));
    if (out->id == FIRN_NO_SNAPSHOT)
        return firn_fail(op, FIRN_CORRUPT, "snapshot id %" PRId64 " stands for no snapshot", out->id);
    FIRN_TRY(firn_snapshot_id_find(op, json, "parent-snapshot-id", "snapshot", &out->parent_id, NULL));
    FIRN_TRY(firn_json_need_i64(op, json, "timestamp-ms", "snapshot", &out->timestamp_ms));
    FIRN_TRY(firn_json_find_i32(op, json, "schema-id", "snapshot", &out->schema_id, &out->has_schema_id));
    if (format_version >= 2)
        FIRN_TRY(firn_json_find_i64(op, json, "sequence-number", "snapshot", &out->sequence_number, NULL));
    if (format_version >= 3)
        FIRN_TRY(parse_lineage(op, json, out));
    FIRN_TRY(firn_json_find_text(op, json, "manifest-list", "snapshot", &out->manifest_list, NULL));
    if (out->manifest_list.len == 0)
        FIRN_TRY(parse_manifest_paths(op, json, out));
    return parse_summary(op, json, out);
}

static int compare_snapshots(const void *a, const void *b)
{
    int64_t left = (*(const struct firn_snapshot *const *)a)->id, right = (*(const struct firn_snapshot *const *)b)->id;
    return (left > right) - (left < right);
}

static firn_status parse_snapshots(struct firn_op *op, const json_t *root, struct firn_metadata *metadata)
{
    json_t *snapshots;
    FIRN_TRY(find_array(op, root, "snapshots", false, &snapshots, &metadata->snapshot_count));
    metadata->snapshots = FIRN_NEW_ARRAY(op->arena, struct firn_snapshot, metadata->snapshot_count);
    metadata->snapshots_by_id = FIRN_NEW_ARRAY(op->arena, const struct firn_snapshot *, metadata->snapshot_count);
    for (uint32_t i = 0; i < metadata->snapshot_count; i++) {
        FIRN_TRY(
            firn_snapshot_parse(op, json_array_get(snapshots, i), metadata->format_version, &metadata->snapshots[i]));
        metadata->snapshots_by_id[i] = &metadata->snapshots[i];
        metadata->wide_snapshot_ids |= json_is_string(json_object_get(json_array_get(snapshots, i), "snapshot-id"));
    }
    if (metadata->snapshot_count)
        qsort(metadata->snapshots_by_id, metadata->snapshot_count, sizeof *metadata->snapshots_by_id,
              compare_snapshots);
    return FIRN_OK;
}

/* A retention setting: absent, or above zero. */
static firn_status parse_retention(struct firn_op *op, struct firn_text name, const json_t *json, const char *key,
                                   int64_t *out)
{
    bool found;
    *out = -1;
    FIRN_TRY(firn_json_find_i64(op, json, key, "reference", out, &found));
    if (found && *out <= 0)
        return firn_fail(op, FIRN_CORRUPT, "reference '%.*s': \"%s\" is %" PRId64 ", not above zero", FIRN_FMT(name),
                         key, *out);
    return FIRN_OK;
}

firn_status firn_ref_parse(struct firn_op *op, struct firn_text name, const json_t *json, struct firn_ref *out)
{
    struct firn_text type;
    *out = (struct firn_ref){ .name = firn_text_copy(op->arena, name) };
    FIRN_TRY(firn_snapshot_id_need(op, json, "snapshot-id", "reference", &out->snapshot_id));
    FIRN_TRY(firn_json_need_text(op, json, "type", "reference", &type));
    bool tag = firn_text_same_nocase(type, FIRN_TEXT("tag"));
    if (!tag && !firn_text_same_nocase(type, FIRN_TEXT("branch")))
        return firn_fail(op, FIRN_CORRUPT, "reference '%.*s' has the type '%.*s'", FIRN_FMT(name), FIRN_FMT(type));
    out->type = tag ? FIRN_REF_TAG : FIRN_REF_BRANCH;
    FIRN_TRY(parse_retention(op, name, json, "min-snapshots-to-keep", &out->snapshots_min_keep));
    FIRN_TRY(parse_retention(op, name, json, "max-snapshot-age-ms", &out->snapshot_age_ms_max));
    FIRN_TRY(parse_retention(op, name, json, "max-ref-age-ms", &out->ref_age_ms_max));
    if (tag && (out->snapshots_min_keep >= 0 || out->snapshot_age_ms_max >= 0))
        return firn_fail(op, FIRN_CORRUPT, "tag '%.*s' has settings that only branches have", FIRN_FMT(name));
    if (tag && firn_text_is(name, "main"))
        return firn_fail(op, FIRN_CORRUPT, "'main' is a tag");
    return FIRN_OK;
}

static firn_status parse_refs(struct firn_op *op, const json_t *root, struct firn_metadata *metadata)
{
    const char *key;
    size_t len;
    json_t *value, *refs = json_object_get(root, "refs");
    if (refs && !json_is_null(refs) && !json_is_object(refs))
        return firn_fail(op, FIRN_CORRUPT, "\"refs\" is not an object");
    metadata->refs = FIRN_NEW_ARRAY(op->arena, struct firn_ref, json_object_size(refs) + 1);
    json_object_keylen_foreach(refs, key, len, value)
    {
        FIRN_TRY(firn_ref_parse(op, (struct firn_text){ key, len }, value, &metadata->refs[metadata->ref_count++]));
    }
    if (metadata->current_snapshot_id == FIRN_NO_SNAPSHOT || firn_metadata_ref(metadata, FIRN_TEXT("main")))
        return FIRN_OK;
    metadata->refs[metadata->ref_count++] = (struct firn_ref){ .name = FIRN_TEXT("main"),
                                                               .type = FIRN_REF_BRANCH,
                                                               .snapshot_id = metadata->current_snapshot_id,
                                                               .snapshots_min_keep = -1,
                                                               .snapshot_age_ms_max = -1,
                                                               .ref_age_ms_max = -1 };
    return FIRN_OK;
}

static firn_status parse_logs(struct firn_op *op, const json_t *root, struct firn_metadata *metadata)
{
    json_t *log;
    FIRN_TRY(find_array(op, root, "snapshot-log", false, &log, &metadata->snapshot_log_count));
    metadata->snapshot_log = FIRN_NEW_ARRAY(op->arena, struct firn_snapshot_log_entry, metadata->snapshot_log_count);
    for (uint32_t i = 0; i < metadata->snapshot_log_count; i++) {
        const json_t *json = json_array_get(log, i);
        struct firn_snapshot_log_entry *entry = &metadata->snapshot_log[i];
        FIRN_TRY(firn_json_need_i64(op, json, "timestamp-ms", "snapshot-log entry", &entry->timestamp_ms));
        FIRN_TRY(firn_snapshot_id_need(op, json, "snapshot-id", "snapshot-log entry", &entry->snapshot_id));
    }
    FIRN_TRY(find_array(op, root, "metadata-log", false, &log, &metadata->metadata_log_count));
    metadata->metadata_log = FIRN_NEW_ARRAY(op->arena, struct firn_metadata_log_entry, metadata->metadata_log_count);
    for (uint32_t i = 0; i < metadata->metadata_log_count; i++) {
        const json_t *json = json_array_get(log, i);
        struct firn_metadata_log_entry *entry = &metadata->metadata_log[i];
        FIRN_TRY(firn_json_need_i64(op, json, "timestamp-ms", "metadata-log entry", &entry->timestamp_ms));
        FIRN_TRY(firn_json_need_text(op, json, "metadata-file", "metadata-log entry", &entry->metadata_file));
    }
    return FIRN_OK;
}

static firn_status parse_statistics_file(struct firn_op *op, const json_t *json, bool partition,
                                         struct firn_statistics_file *out)
{
    out->is_partition_statistics = partition;
    FIRN_TRY(firn_snapshot_id_need(op, json, "snapshot-id", "statistics file", &out->snapshot_id));
    FIRN_TRY(firn_json_need_text(op, json, "statistics-path", "statistics file", &out->path));
    return firn_json_need_i64(op, json, "file-size-in-bytes", "statistics file", &out->file_bytes);
}

static firn_status parse_statistics(struct firn_op *op, const json_t *root, struct firn_metadata *metadata)
{
    json_t *columns, *partitions;
    uint32_t column_count, partition_count;
    FIRN_TRY(find_array(op, root, "statistics", false, &columns, &column_count));
    FIRN_TRY(find_array(op, root, "partition-statistics", false, &partitions, &partition_count));
    metadata->statistics =
        FIRN_NEW_ARRAY(op->arena, struct firn_statistics_file, (size_t)column_count + partition_count);
    struct firn_statistics_file *file = metadata->statistics;
    for (uint32_t i = 0; i < column_count; i++)
        FIRN_TRY(parse_statistics_file(op, json_array_get(columns, i), false, file++));
    for (uint32_t i = 0; i < partition_count; i++)
        FIRN_TRY(parse_statistics_file(op, json_array_get(partitions, i), true, file++));
    metadata->statistics_count = column_count + partition_count;
    return FIRN_OK;
}

static firn_status check_properties(struct firn_op *op, const json_t *root)
{
    const char *key;
    json_t *value, *properties = json_object_get(root, "properties");
    if (!properties || json_is_null(properties))
        return FIRN_OK;
    if (!json_is_object(properties))
        return firn_fail(op, FIRN_CORRUPT, "\"properties\" is not an object");
    json_object_foreach(properties, key, value)
    {
        if (!json_is_string(value) && !json_is_null(value))
            return firn_fail(op, FIRN_CORRUPT, "table property \"%s\" is not text", key);
    }
    return FIRN_OK;
}

firn_status firn_metadata_parse_json(struct firn_op *op, json_t *root, struct firn_metadata **out)
{
    struct firn_metadata *metadata = FIRN_NEW(op->arena, struct firn_metadata);
    metadata->root = root;
    FIRN_TRY(parse_version(op, root, metadata));
    FIRN_TRY(parse_numbers(op, root, metadata));
    FIRN_TRY(parse_schemas(op, root, metadata));
    FIRN_TRY(parse_specs(op, root, metadata));
    FIRN_TRY(parse_sort_orders(op, root, metadata));
    FIRN_TRY(check_properties(op, root));
    FIRN_TRY(parse_snapshots(op, root, metadata));
    FIRN_TRY(parse_refs(op, root, metadata));
    FIRN_TRY(parse_logs(op, root, metadata));
    FIRN_TRY(parse_statistics(op, root, metadata));
    FIRN_TRY(firn_metadata_check(op, metadata));
    *out = metadata;
    return FIRN_OK;
}

firn_status firn_metadata_parse(struct firn_op *op, struct firn_text text, struct firn_metadata **out)
{
    json_t *root;
    FIRN_TRY(firn_snapshot_ids_mark(op, text, &text));
    FIRN_TRY(firn_json_parse(op, text, "table metadata", &root));
    return firn_metadata_parse_json(op, root, out);
}
