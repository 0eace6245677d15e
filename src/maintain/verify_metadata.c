/* The metadata itself: ids and numbers that the next commit builds on, summaries that add up, and the files that it
 * names besides snapshots. What must hold for it to be loaded at all was checked then (table/metadata_check.c).
 * Iceberg spec, "Table Metadata", "Snapshots", "Table Statistics", "Row Lineage". */
#include "base/math.h"
#include "catalog/snapshot_summary.h"
#include "maintain/verify.h"

/* Numbers that only grow --------------------------------------------------------------------------------------------
 */

static int32_t highest_field_id(const struct firn_type *type)
{
    int32_t highest = 0;
    for (uint32_t i = 0; i < type->field_count; i++) {
        highest = FIRN_MAX(highest, type->fields[i].id);
        highest = FIRN_MAX(highest, highest_field_id(&type->fields[i].type));
    }
    return highest;
}

static void check_last_ids(struct firn_verify *verify)
{
    const struct firn_metadata *metadata = verify->metadata;
    int32_t column_id = 0, partition_id = 0;
    for (uint32_t i = 0; i < metadata->schema_count; i++)
        column_id = FIRN_MAX(column_id, highest_field_id(&metadata->schemas[i].root));
    for (uint32_t i = 0; i < metadata->spec_count; i++)
        for (uint32_t k = 0; k < metadata->specs[i].field_count; k++)
            partition_id = FIRN_MAX(partition_id, metadata->specs[i].fields[k].field_id);
    if (column_id > metadata->last_column_id)
        firn_findings_add(&verify->found, FIRN_SEVERITY_ERROR, "last-column-id", verify->table->metadata_location,
                          "last-column-id is %d, but a schema has a field of id %d: the next column would take an id "
                          "that is in use",
                          (int)metadata->last_column_id, (int)column_id);
    if (partition_id > metadata->last_partition_id)
        firn_findings_add(&verify->found, FIRN_SEVERITY_ERROR, "last-partition-id", verify->table->metadata_location,
                          "last-partition-id is %d, but a partition spec has a field of id %d",
                          (int)metadata->last_partition_id, (int)partition_id);
}

static void check_snapshot_numbers(struct firn_op *op, struct firn_verify *verify, const struct firn_snapshot *snapshot)
{
    const struct firn_metadata *metadata = verify->metadata;
    const struct firn_snapshot *parent = firn_metadata_snapshot(metadata, snapshot->parent_id);
    struct firn_text id = firn_verify_id(op, verify, snapshot->id);
    int64_t end;
    if (parent && snapshot->sequence_number != 0 && parent->sequence_number >= snapshot->sequence_number)
        firn_findings_add(&verify->found, FIRN_SEVERITY_ERROR, "snapshot-sequence-number",
                          verify->table->metadata_location,
                          "snapshot %.*s has sequence number %" PRId64 ", its parent %" PRId64, FIRN_FMT(id),
                          snapshot->sequence_number, parent->sequence_number);
    if (snapshot->has_first_row_id &&
        (__builtin_add_overflow(snapshot->first_row_id, snapshot->added_rows, &end) || end > metadata->next_row_id))
        firn_findings_add(&verify->found, FIRN_SEVERITY_ERROR, "next-row-id", verify->table->metadata_location,
                          "next-row-id is %" PRId64 ", but snapshot %.*s has %" PRId64 " row ids from %" PRId64,
                          metadata->next_row_id, FIRN_FMT(id), snapshot->added_rows, snapshot->first_row_id);
}

/* Summaries ------------------------------------------------------------------------------------------------------ */

/* A counter that is absent is 0; what is no number is none. */
static bool read_counter(const struct firn_snapshot *snapshot, const char *key, int64_t *out)
{
    const json_t *value = json_object_get(snapshot->summary, key);
    *out = 0;
    return !value || (json_is_string(value) && firn_text_to_i64(firn_text_of(json_string_value(value)), out));
}

static void check_summary_total(struct firn_op *op, struct firn_verify *verify, const struct firn_snapshot *snapshot,
                                const struct firn_snapshot *parent, const struct firn_summary_total *total)
{
    const char *added_key = firn_summary_metric_key(total->added);
    const char *removed_key = firn_summary_metric_key(total->removed);
    struct firn_text id = firn_verify_id(op, verify, snapshot->id);
    int64_t before = 0, added, removed, after, sum;
    if (!json_object_get(snapshot->summary, total->key) || (parent && !json_object_get(parent->summary, total->key)))
        return;
    if ((parent && !read_counter(parent, total->key, &before)) || !read_counter(snapshot, added_key, &added) ||
        !read_counter(snapshot, removed_key, &removed) || !read_counter(snapshot, total->key, &after) ||
        __builtin_add_overflow(before, added, &sum) || __builtin_sub_overflow(sum, removed, &sum))
        firn_findings_add(&verify->found, FIRN_SEVERITY_WARNING, "summary-arithmetic", verify->table->metadata_location,
                          "the summary of snapshot %.*s, or its parent's, has no usable number for %s", FIRN_FMT(id),
                          total->key);
    else if (sum != after)
        firn_findings_add(&verify->found, FIRN_SEVERITY_WARNING, "summary-arithmetic", verify->table->metadata_location,
                          "the summary of snapshot %.*s has %s %" PRId64 ", but %" PRId64 " before, %s %" PRId64
                          " and %s %" PRId64 " make %" PRId64,
                          FIRN_FMT(id), total->key, after, before, added_key, added, removed_key, removed, sum);
}

/* Totals go on from the parent's, and begin at 0 where there never was one; those that were counted go on from none. */
static void check_summary(struct firn_op *op, struct firn_verify *verify, const struct firn_snapshot *snapshot)
{
    const struct firn_snapshot *parent = firn_metadata_snapshot(verify->metadata, snapshot->parent_id);
    if (!snapshot->summary || (!parent && snapshot->parent_id != FIRN_NO_SNAPSHOT) ||
        json_object_get(snapshot->summary, FIRN_SUMMARY_RECOUNTED))
        return;
    for (size_t i = 0; i < FIRN_TOTAL_COUNT; i++)
        check_summary_total(op, verify, snapshot, parent, &firn_summary_totals[i]);
}

/* Files that the metadata names ------------------------------------------------------------------------------------
 */

static firn_status look_at_statistics(struct firn_op *op, struct firn_verify *verify, size_t index,
                                      struct firn_findings *found, void **result)
{
    static const struct firn_verify_codes codes = { "statistics-missing", "statistics-unreadable",
                                                    FIRN_SEVERITY_WARNING };
    const struct firn_statistics_file *file = &verify->metadata->statistics[index];
    const char *what = file->is_partition_statistics ? "partition statistics" : "statistics";
    struct firn_store_stat info;
    (void)result;
    if (!firn_metadata_snapshot(verify->metadata, file->snapshot_id)) {
        struct firn_text id = firn_verify_id(op, verify, file->snapshot_id);
        firn_findings_add(found, FIRN_SEVERITY_WARNING, "statistics-snapshot", file->path,
                          "%s of snapshot %.*s, which the table does not have", what, FIRN_FMT(id));
    }
    firn_status status = firn_store_stat(op, verify->store, file->path, &info);
    if (status == FIRN_OK && info.size != (uint64_t)file->file_bytes)
        firn_findings_add(found, FIRN_SEVERITY_WARNING, "statistics-length", file->path,
                          "the %s file is %" PRIu64 " bytes long, the metadata records %" PRId64, what, info.size,
                          file->file_bytes);
    return firn_verify_failed(op, status, &codes, file->path, found);
}

static firn_status look_at_log_entry(struct firn_op *op, struct firn_verify *verify, size_t index,
                                     struct firn_findings *found, void **result)
{
    static const struct firn_verify_codes codes = { "metadata-log-missing", "metadata-log-missing",
                                                    FIRN_SEVERITY_NOTICE };
    struct firn_text path = verify->metadata->metadata_log[index].metadata_file;
    struct firn_store_stat info;
    (void)result;
    return firn_verify_failed(op, firn_store_stat(op, verify->store, path, &info), &codes, path, found);
}

/* A hint that cannot be read is no finding of its own: nothing that can be read depends on it. */
static void check_hint(struct firn_op *op, struct firn_verify *verify)
{
    struct firn_catalog *catalog = verify->table->catalog;
    struct firn_text wrong;
    if (!catalog || !catalog->kind->check_hint ||
        catalog->kind->check_hint(op, catalog, verify->table->identifier, false, &wrong) != FIRN_OK || wrong.len == 0)
        return;
    firn_findings_add(&verify->found, FIRN_SEVERITY_WARNING, "version-hint", verify->metadata->location,
                      "metadata/version-hint.text: %.*s", FIRN_FMT(wrong));
}

firn_status firn_verify_metadata(struct firn_op *op, struct firn_verify *verify)
{
    static const struct firn_verify_work statistics = { look_at_statistics, NULL };
    static const struct firn_verify_work log_entries = { look_at_log_entry, NULL };
    const struct firn_metadata *metadata = verify->metadata;
    check_hint(op, verify);
    check_last_ids(verify);
    for (uint32_t i = 0; i < metadata->snapshot_count; i++) {
        check_snapshot_numbers(op, verify, &metadata->snapshots[i]);
        check_summary(op, verify, &metadata->snapshots[i]);
    }
    FIRN_TRY(firn_verify_each(op, verify, metadata->statistics_count, &statistics));
    return firn_verify_each(op, verify, metadata->metadata_log_count, &log_entries);
}
