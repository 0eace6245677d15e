/* Snapshot summaries. */
#include "catalog/snapshot_summary.h"

#include "base/math.h"
#include "table/delete_index.h"

static const char *const metric_keys[] = {
    [FIRN_METRIC_ADDED_BYTES] = "added-files-size",
    [FIRN_METRIC_REMOVED_BYTES] = "removed-files-size",
    [FIRN_METRIC_ADDED_DATA_FILES] = "added-data-files",
    [FIRN_METRIC_REMOVED_DATA_FILES] = "deleted-data-files",
    [FIRN_METRIC_ADDED_DELETE_FILES] = "added-delete-files",
    [FIRN_METRIC_REMOVED_DELETE_FILES] = "removed-delete-files",
    [FIRN_METRIC_ADDED_POSITION_FILES] = "added-position-delete-files",
    [FIRN_METRIC_REMOVED_POSITION_FILES] = "removed-position-delete-files",
    [FIRN_METRIC_ADDED_EQUALITY_FILES] = "added-equality-delete-files",
    [FIRN_METRIC_REMOVED_EQUALITY_FILES] = "removed-equality-delete-files",
    [FIRN_METRIC_ADDED_VECTORS] = "added-dvs",
    [FIRN_METRIC_REMOVED_VECTORS] = "removed-dvs",
    [FIRN_METRIC_ADDED_RECORDS] = "added-records",
    [FIRN_METRIC_REMOVED_RECORDS] = "deleted-records",
    [FIRN_METRIC_ADDED_POSITION_DELETES] = "added-position-deletes",
    [FIRN_METRIC_REMOVED_POSITION_DELETES] = "removed-position-deletes",
    [FIRN_METRIC_ADDED_EQUALITY_DELETES] = "added-equality-deletes",
    [FIRN_METRIC_REMOVED_EQUALITY_DELETES] = "removed-equality-deletes",
};
_Static_assert(FIRN_COUNT_OF(metric_keys) == FIRN_METRIC_COUNT, "one key per metric");

const char *firn_summary_metric_key(enum firn_summary_metric metric)
{
    return metric_keys[metric];
}

const struct firn_summary_total firn_summary_totals[] = {
    [FIRN_TOTAL_RECORDS] = { "total-records", FIRN_METRIC_ADDED_RECORDS, FIRN_METRIC_REMOVED_RECORDS },
    [FIRN_TOTAL_BYTES] = { "total-files-size", FIRN_METRIC_ADDED_BYTES, FIRN_METRIC_REMOVED_BYTES },
    [FIRN_TOTAL_DATA_FILES] = { "total-data-files", FIRN_METRIC_ADDED_DATA_FILES, FIRN_METRIC_REMOVED_DATA_FILES },
    [FIRN_TOTAL_DELETE_FILES] = { "total-delete-files", FIRN_METRIC_ADDED_DELETE_FILES,
                                  FIRN_METRIC_REMOVED_DELETE_FILES },
    [FIRN_TOTAL_POSITION_DELETES] = { "total-position-deletes", FIRN_METRIC_ADDED_POSITION_DELETES,
                                      FIRN_METRIC_REMOVED_POSITION_DELETES },
    [FIRN_TOTAL_EQUALITY_DELETES] = { "total-equality-deletes", FIRN_METRIC_ADDED_EQUALITY_DELETES,
                                      FIRN_METRIC_REMOVED_EQUALITY_DELETES },
};

static firn_status partition_path_of(struct firn_op *op, const struct firn_metadata *metadata,
                                     const struct firn_data_file *file, struct firn_text *out)
{
    const struct firn_partition_spec *spec = firn_metadata_spec(metadata, file->spec_id);
    struct firn_type *types;
    if (!spec)
        return firn_fail(op, FIRN_CORRUPT, "'%.*s' has the unknown partition spec %d", FIRN_FMT(file->path),
                         file->spec_id);
    FIRN_TRY(
        firn_partition_types(op, spec, firn_metadata_schemas_by_age(op, metadata), metadata->schema_count, &types));
    *out = firn_partition_path(op->arena, spec, types, &file->partition);
    return FIRN_OK;
}

static firn_status copy_partition_key(struct firn_op *op, const struct firn_data_file *file, struct firn_bytes *out)
{
    struct firn_buffer key = { 0 };
    firn_status status = firn_data_file_partition_key(op, file, &key);
    if (status == FIRN_OK)
        *out = firn_bytes_copy(op->arena, firn_buffer_bytes(&key));
    firn_buffer_done(&key);
    return status;
}

firn_status firn_counted_file_of(struct firn_op *op, const struct firn_metadata *metadata,
                                 const struct firn_data_file *file, bool with_path, struct firn_counted_file *out)
{
    bool is_vector = firn_data_file_is_deletion_vector(file);
    *out = (struct firn_counted_file){
        .content = file->content,
        .is_vector = is_vector,
        .record_count = file->record_count,
        .bytes = is_vector && file->content_bytes != FIRN_ABSENT ? file->content_bytes : file->file_bytes,
    };
    FIRN_TRY(copy_partition_key(op, file, &out->partition));
    return with_path ? partition_path_of(op, metadata, file, &out->partition_path) : FIRN_OK;
}

struct partition_metrics {
    struct firn_text path;
    int64_t metrics[FIRN_METRIC_COUNT];
};

void firn_summary_init(struct firn_summary *summary, struct firn_arena *arena, int64_t partition_limit)
{
    *summary = (struct firn_summary){ .partition_limit = partition_limit };
    firn_map_init(&summary->partitions, arena);
}

/* Every metric of something added is followed by the one of the same thing removed. */
static void count_file(int64_t *metrics, enum firn_summary_change change, const struct firn_counted_file *file)
{
    int side = change == FIRN_SUMMARY_REMOVED;
    metrics[FIRN_METRIC_ADDED_BYTES + side] += file->bytes;
    if (file->content == FIRN_CONTENT_DATA) {
        metrics[FIRN_METRIC_ADDED_DATA_FILES + side] += 1;
        metrics[FIRN_METRIC_ADDED_RECORDS + side] += file->record_count;
        return;
    }
    metrics[FIRN_METRIC_ADDED_DELETE_FILES + side] += 1;
    if (file->content == FIRN_CONTENT_EQUALITY_DELETES) {
        metrics[FIRN_METRIC_ADDED_EQUALITY_FILES + side] += 1;
        metrics[FIRN_METRIC_ADDED_EQUALITY_DELETES + side] += file->record_count;
        return;
    }
    metrics[(file->is_vector ? FIRN_METRIC_ADDED_VECTORS : FIRN_METRIC_ADDED_POSITION_FILES) + side] += 1;
    metrics[FIRN_METRIC_ADDED_POSITION_DELETES + side] += file->record_count;
}

void firn_summary_count(struct firn_op *op, struct firn_summary *summary, enum firn_summary_change change,
                        const struct firn_counted_file *file)
{
    count_file(summary->metrics, change, file);
    struct firn_map_entry *entry = firn_map_put(&summary->partitions, file->partition);
    struct partition_metrics *partition = entry->value.pointer;
    if (!partition) {
        partition = FIRN_NEW(op->arena, struct partition_metrics);
        partition->path = file->partition_path;
        entry->value.pointer = partition;
    }
    count_file(partition->metrics, change, file);
}

static void set_number(struct firn_op *op, json_t *json, const char *key, int64_t value)
{
    firn_json_set_text(json, key, firn_text_format(op->arena, "%" PRId64, value));
}

/* What a total goes on from; false: that is not known. */
static bool find_head_total(const struct firn_snapshot *head, const int64_t *head_totals, size_t id, int64_t *out)
{
    *out = head_totals ? head_totals[id] : 0;
    if (head_totals || !head)
        return true;
    const char *text = json_string_value(json_object_get(head->summary, firn_summary_totals[id].key));
    return text && firn_text_to_i64(firn_text_of(text), out);
}

/* A total is left out rather than guessed: when the head lacks it, or it would become negative. */
static void set_totals(struct firn_op *op, json_t *json, const struct firn_summary *summary,
                       const struct firn_snapshot *head, const int64_t *head_totals)
{
    for (size_t i = 0; i < FIRN_TOTAL_COUNT; i++) {
        const struct firn_summary_total *kind = &firn_summary_totals[i];
        int64_t total;
        if (!find_head_total(head, head_totals, i, &total) ||
            __builtin_add_overflow(total, summary->metrics[kind->added], &total) ||
            __builtin_sub_overflow(total, summary->metrics[kind->removed], &total) || total < 0)
            continue;
        set_number(op, json, kind->key, total);
    }
}

static struct firn_text partition_text(struct firn_op *op, const struct partition_metrics *partition)
{
    struct firn_text text = { 0 };
    for (size_t i = 0; i < FIRN_METRIC_COUNT; i++)
        if (partition->metrics[i] > 0)
            text = firn_text_format(op->arena, "%.*s%s%s=%" PRId64, FIRN_FMT(text), text.len ? "," : "", metric_keys[i],
                                    partition->metrics[i]);
    return text;
}

static void set_partitions(struct firn_op *op, json_t *json, const struct firn_summary *summary)
{
    set_number(op, json, "changed-partition-count", (int64_t)summary->partitions.count);
    if (summary->partitions.count == 0 || (int64_t)summary->partitions.count > summary->partition_limit)
        return;
    firn_json_set_text(json, "partition-summaries-included", FIRN_TEXT("true"));
    for (size_t i = 0; i < summary->partitions.count; i++) {
        const struct partition_metrics *partition = summary->partitions.entries[i].value.pointer;
        if (partition->path.len == 0) /* unpartitioned */
            continue;
        struct firn_text key = firn_text_format(op->arena, "partitions.%.*s", FIRN_FMT(partition->path));
        firn_json_set_text(json, key.data, partition_text(op, partition));
    }
}

json_t *firn_summary_json(struct firn_op *op, const struct firn_summary *summary, struct firn_text operation,
                          const struct firn_snapshot *head, const int64_t *head_totals,
                          const struct firn_text (*properties)[2], uint32_t property_count)
{
    json_t *json = firn_json_own(op->arena, json_object());
    firn_json_set_text(json, "operation", operation);
    for (uint32_t i = 0; i < property_count; i++)
        firn_json_set_text(json, firn_text_copy(op->arena, properties[i][0]).data, properties[i][1]);
    for (size_t i = 0; i < FIRN_METRIC_COUNT; i++)
        if (summary->metrics[i] > 0)
            set_number(op, json, metric_keys[i], summary->metrics[i]);
    if (summary->duplicate_files > 0)
        set_number(op, json, "deleted-duplicate-files", summary->duplicate_files);
    set_partitions(op, json, summary);
    set_number(op, json, "manifests-created", summary->manifests_created);
    set_number(op, json, "manifests-kept", summary->manifests_kept);
    set_number(op, json, "manifests-replaced", summary->manifests_replaced);
    if (head_totals)
        firn_json_set_text(json, FIRN_SUMMARY_RECOUNTED, FIRN_TEXT("true"));
    set_totals(op, json, summary, head, head_totals);
    firn_json_set_text(json, "engine-name", FIRN_TEXT("firn"));
    firn_json_set_text(json, "engine-version", FIRN_TEXT(FIRN_VERSION));
    return json;
}
