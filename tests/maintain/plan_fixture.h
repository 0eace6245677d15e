/* A table of files that exist only as manifest entries, to plan on. */
#ifndef FIRN_TESTS_PLAN_FIXTURE_H
#define FIRN_TESTS_PLAN_FIXTURE_H

#include "check.h"

#include "base/math.h"
#include "maintain/rewrite_data_files.h"

#define MEBIBYTE INT64_C(1048576)

/* One file; zeros mean: PARQUET, one row group, a row for ten bytes, partition 0 of spec 0, no deletes of its own,
 * snapshot 1 and its sequence number. */
struct sim_file {
    int64_t bytes;
    int64_t row_group_bytes; /* 0: one row group */
    int32_t part;
    int32_t spec_id;
    int64_t snapshot_id;
    int64_t sequence_number;
    int64_t own_deleted_rows; /* by a vector */
    int64_t own_snapshot_id;  /* of the vector; 0: the file's */
    int64_t records;          /* 0: bytes / 10; -1: none */
    enum firn_file_format format;
    bool is_encrypted;
    bool is_first_again; /* the path of the table's first file */
    bool has_no_offsets;
};

/* A delete file of a partition; zeros mean: PARQUET, position deletes of partition 0 of spec 0, snapshot 1. */
struct sim_delete {
    bool is_equality;
    int32_t part;
    int32_t spec_id;
    int64_t snapshot_id;
    enum firn_file_format format;
};

struct sim_snapshot {
    struct firn_text shape, settings; /* empty: not made by a run */
    int64_t covers;
};

struct sim_table {
    FIRN_ARRAY(struct sim_file) files;
    FIRN_ARRAY(struct sim_delete) deletes;
    FIRN_ARRAY(struct sim_snapshot) snapshots; /* ids 1, 2, ...; each the parent of the next */
    const char *layout;                        /* the property firn.layout; NULL: none */
};

static inline json_t *sim_summary(struct firn_op *op, const struct sim_snapshot *snapshot)
{
    json_t *summary = json_object();
    bool is_run = snapshot->shape.len > 0;
    firn_json_set_text(summary, "operation", is_run ? FIRN_TEXT("replace") : FIRN_TEXT("append"));
    if (is_run)
        firn_json_set_text(summary, FIRN_SUMMARY_SHAPE, snapshot->shape);
    if (snapshot->settings.len > 0) {
        firn_json_set_text(summary, FIRN_SUMMARY_SETTINGS, snapshot->settings);
        firn_json_set_text(summary, FIRN_SUMMARY_COVERS, firn_text_format(op->arena, "%" PRId64, snapshot->covers));
    }
    return summary;
}

static inline json_t *sim_snapshots(struct firn_op *op, const struct sim_table *table)
{
    json_t *snapshots = json_array();
    for (size_t i = 0; i < table->snapshots.count; i++) {
        json_t *json = json_object();
        firn_json_set_i64(json, "snapshot-id", (int64_t)i + 1);
        if (i > 0)
            firn_json_set_i64(json, "parent-snapshot-id", (int64_t)i);
        firn_json_set_i64(json, "sequence-number", (int64_t)i + 1);
        firn_json_set_i64(json, "timestamp-ms", 1700000000000 + (int64_t)i);
        firn_json_set_text(json, "manifest-list", FIRN_TEXT("memory:/t/metadata/snap.avro"));
        firn_json_set(json, "summary", sim_summary(op, &table->snapshots.items[i]));
        json_array_append_new(snapshots, json);
    }
    return snapshots;
}

/* Two specs, 0 (the default) and 1, both by the identity of `part`. */
static inline const struct firn_metadata *sim_metadata(struct firn_op *op, const struct sim_table *table)
{
    static const char text[] =
        "{\"format-version\": 2, \"table-uuid\": \"9c12d441-03fe-4693-9a96-a0705ddf69c1\","
        "\"location\": \"memory:/t\", \"last-updated-ms\": 1700000000000, \"last-column-id\": 1,"
        "\"schemas\": [{\"type\": \"struct\", \"schema-id\": 0, \"fields\": ["
        "{\"id\": 1, \"name\": \"part\", \"required\": false, \"type\": \"int\"}]}], \"current-schema-id\": 0,"
        "\"partition-specs\": ["
        "{\"spec-id\": 0, \"fields\": [{\"source-id\": 1, \"field-id\": 1000, \"name\": \"part\","
        " \"transform\": \"identity\"}]},"
        "{\"spec-id\": 1, \"fields\": [{\"source-id\": 1, \"field-id\": 1000, \"name\": \"part\","
        " \"transform\": \"identity\"}]}], \"default-spec-id\": 0, \"last-partition-id\": 1000,"
        "\"sort-orders\": [{\"order-id\": 0, \"fields\": []}], \"default-sort-order-id\": 0,"
        "\"properties\": {}, \"snapshot-log\": [], \"metadata-log\": []}";
    json_t *root;
    struct firn_metadata *metadata;
    int64_t count = (int64_t)table->snapshots.count;
    CHECK_OK(op, firn_json_parse(op, firn_text_of(text), "metadata", &root));
    firn_json_set_i64(root, "last-sequence-number", count);
    firn_json_set(root, "snapshots", sim_snapshots(op, table));
    if (table->layout)
        firn_json_set_text(json_object_get(root, "properties"), "firn.layout", firn_text_of(table->layout));
    if (count > 0)
        firn_json_set_i64(root, "current-snapshot-id", count);
    CHECK_OK(op, firn_metadata_parse_json(op, root, &metadata));
    return metadata;
}

static inline struct firn_partition sim_partition(struct firn_op *op, int32_t part)
{
    struct firn_value *value = FIRN_NEW(op->arena, struct firn_value);
    *value = (struct firn_value){ .type = FIRN_TYPE_INT, .integer = part };
    return (struct firn_partition){ value, 1 };
}

static inline void sim_entry(struct firn_op *op, const struct sim_file *sim, size_t index,
                             struct firn_manifest_entry *entry)
{
    int64_t row_group_bytes = sim->row_group_bytes ? sim->row_group_bytes : FIRN_MAX(sim->bytes, 1);
    uint32_t row_groups = sim->has_no_offsets ? 0 : (uint32_t)((sim->bytes + row_group_bytes - 1) / row_group_bytes);
    entry->status = FIRN_ENTRY_ADDED;
    entry->snapshot_id = sim->snapshot_id ? sim->snapshot_id : 1;
    entry->file_sequence_number = entry->snapshot_id;
    entry->sequence_number = sim->sequence_number ? sim->sequence_number : entry->snapshot_id;
    entry->file = (struct firn_data_file){
        .path = firn_text_format(op->arena, "memory:/t/data/%zu.parquet", sim->is_first_again ? 0 : index),
        .format = sim->format,
        .format_text = sim->format == FIRN_FILE_ORC ? FIRN_TEXT("ORC") : FIRN_TEXT("PARQUET"),
        .spec_id = sim->spec_id,
        .partition = sim_partition(op, sim->part),
        .record_count = sim->records ? FIRN_MAX(sim->records, 0) : sim->bytes / 10,
        .file_bytes = sim->bytes,
        .key_metadata = sim->is_encrypted ? firn_bytes_of_text(FIRN_TEXT("key")) : (struct firn_bytes){ 0 },
        .split_offset_count = row_groups,
        .split_offsets = row_groups ? FIRN_NEW_ARRAY(op->arena, int64_t, row_groups) : NULL,
    };
    for (uint32_t i = 0; i < row_groups; i++)
        entry->file.split_offsets[i] = i == 0 && row_group_bytes > 4 ? 4 : i * row_group_bytes;
}

static inline const struct firn_manifest_entry *sim_delete_entry(struct firn_op *op, const struct sim_delete *sim,
                                                                 size_t index)
{
    struct firn_manifest_entry *entry = FIRN_NEW(op->arena, struct firn_manifest_entry);
    entry->snapshot_id = sim->snapshot_id ? sim->snapshot_id : 1;
    entry->file_sequence_number = entry->sequence_number = entry->snapshot_id;
    entry->file = (struct firn_data_file){
        .content = sim->is_equality ? FIRN_CONTENT_EQUALITY_DELETES : FIRN_CONTENT_POSITION_DELETES,
        .path = firn_text_format(op->arena, "memory:/t/data/%zu-deletes.parquet", index),
        .format = sim->format,
        .format_text = sim->format == FIRN_FILE_ORC ? FIRN_TEXT("ORC") : FIRN_TEXT("PARQUET"),
        .spec_id = sim->spec_id,
        .partition = sim_partition(op, sim->part),
        .record_count = 7,
        .file_bytes = 1000,
        .content_offset = FIRN_ABSENT,
        .content_bytes = FIRN_ABSENT,
    };
    return entry;
}

static inline const struct firn_manifest_entry *sim_vector(struct firn_op *op, const struct firn_manifest_entry *data,
                                                           const struct sim_file *sim)
{
    struct firn_manifest_entry *entry = FIRN_NEW(op->arena, struct firn_manifest_entry);
    *entry = *data;
    entry->snapshot_id = sim->own_snapshot_id ? sim->own_snapshot_id : data->snapshot_id;
    entry->sequence_number = entry->file_sequence_number = entry->snapshot_id;
    entry->file.content = FIRN_CONTENT_POSITION_DELETES;
    entry->file.path = firn_text_format(op->arena, "%.*s.puffin", FIRN_FMT(data->file.path));
    entry->file.referenced_data_file = data->file.path;
    entry->file.format = FIRN_FILE_PUFFIN;
    entry->file.format_text = FIRN_TEXT("PUFFIN");
    entry->file.record_count = sim->own_deleted_rows;
    entry->file.content_offset = 4;
    entry->file.content_bytes = 44;
    return entry;
}

static inline struct firn_scan sim_scan(struct firn_op *op, const struct sim_table *table,
                                        const struct firn_metadata *metadata)
{
    FIRN_ARRAY(const struct firn_manifest_entry *) deletes = { 0 };
    struct firn_delete_index *index;
    struct firn_scan scan = {
        .files = FIRN_NEW_ARRAY(op->arena, struct firn_scan_file, table->files.count),
        .file_count = (uint32_t)table->files.count,
    };
    for (size_t i = 0; i < table->deletes.count; i++)
        FIRN_PUSH(op->arena, &deletes, sim_delete_entry(op, &table->deletes.items[i], i));
    for (size_t i = 0; i < table->files.count; i++) {
        const struct sim_file *sim = &table->files.items[i];
        struct firn_manifest_entry *entry = FIRN_NEW(op->arena, struct firn_manifest_entry);
        sim_entry(op, sim, i, entry);
        scan.files[i].entry = entry;
        if (sim->own_deleted_rows)
            FIRN_PUSH(op->arena, &deletes, sim_vector(op, entry, sim));
    }
    scan.deletes = deletes.items;
    scan.delete_count = (uint32_t)deletes.count;
    CHECK_OK(op, firn_delete_index_new(op, metadata, scan.deletes, scan.delete_count, &index));
    for (size_t i = 0; i < table->files.count; i++)
        CHECK_OK(op, firn_delete_index_match(op, index, scan.files[i].entry, &scan.files[i].deletes));
    return scan;
}

static inline struct firn_rewrite_plan *sim_plan(struct firn_op *op, const struct sim_table *table,
                                                 const struct firn_property *options, size_t option_count)
{
    struct firn_rewrite_plan *plan = FIRN_NEW(op->arena, struct firn_rewrite_plan);
    struct firn_rewrite_data_files_args args = { .options = options, .option_count = option_count };
    struct firn_rewrite_history history;
    plan->table_name = FIRN_TEXT("t");
    plan->metadata = sim_metadata(op, table);
    plan->snapshot = firn_metadata_current(plan->metadata);
    CHECK_OK(op, firn_rewrite_options_parse(op, plan->metadata, &args, &plan->options));
    plan->settings = firn_rewrite_options_settings(op->arena, &plan->options, plan->where);
    plan->shape = firn_rewrite_options_shape(op->arena, &plan->options);
    firn_rewrite_history_read(op, plan->metadata, plan->snapshot, plan->settings, plan->shape, &history);
    plan->spec_types = FIRN_NEW_ARRAY(op->arena, struct firn_type *, plan->metadata->spec_count);
    for (uint32_t i = 0; i < plan->metadata->spec_count; i++)
        CHECK_OK(op,
                 firn_partition_types(op, &plan->metadata->specs[i], firn_metadata_schemas_by_age(op, plan->metadata),
                                      plan->metadata->schema_count, &plan->spec_types[i]));
    plan->whole = sim_scan(op, table, plan->metadata);
    plan->file_count = (uint32_t)table->files.count;
    plan->files = FIRN_NEW_ARRAY(op->arena, struct firn_planned_file, plan->file_count);
    for (uint32_t i = 0; i < plan->file_count; i++)
        plan->files[i].scan = &plan->whole.files[i];
    CHECK_OK(op, firn_rewrite_plan_choose(op, &history, plan));
    return plan;
}

#endif
