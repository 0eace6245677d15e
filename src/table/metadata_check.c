/* What must hold between the members of table metadata, as the reference checks it on load.
 * Reference: format-notes.md, 14, "Validity rules". */
#include "base/math.h"
#include "table/metadata.h"

/* Clocks of the machines that write a table may differ by this much. */
#define CLOCK_SKEW_MS INT64_C(60000)

static int compare_ids(const void *a, const void *b)
{
    int32_t left = *(const int32_t *)a, right = *(const int32_t *)b;
    return (left > right) - (left < right);
}

static firn_status check_unique(struct firn_op *op, int32_t *ids, uint32_t count, const char *what)
{
    if (count)
        qsort(ids, count, sizeof *ids, compare_ids);
    for (uint32_t i = 1; i < count; i++)
        if (ids[i] == ids[i - 1])
            return firn_fail(op, FIRN_CORRUPT, "two %s have the id %d", what, ids[i]);
    return FIRN_OK;
}

static firn_status check_unique_ids(struct firn_op *op, const struct firn_metadata *metadata)
{
    uint32_t most = FIRN_MAX(metadata->schema_count, FIRN_MAX(metadata->spec_count, metadata->sort_order_count));
    int32_t *ids = FIRN_NEW_ARRAY(op->arena, int32_t, most);
    for (uint32_t i = 0; i < metadata->schema_count; i++)
        ids[i] = metadata->schemas[i].id;
    FIRN_TRY(check_unique(op, ids, metadata->schema_count, "schemas"));
    for (uint32_t i = 0; i < metadata->spec_count; i++)
        ids[i] = metadata->specs[i].id;
    FIRN_TRY(check_unique(op, ids, metadata->spec_count, "partition specs"));
    for (uint32_t i = 0; i < metadata->sort_order_count; i++)
        ids[i] = metadata->sort_orders[i].id;
    return check_unique(op, ids, metadata->sort_order_count, "sort orders");
}

static firn_status check_snapshots(struct firn_op *op, const struct firn_metadata *metadata)
{
    if (metadata->next_row_id < 0)
        return firn_fail(op, FIRN_CORRUPT, "next-row-id is %" PRId64, metadata->next_row_id);
    for (uint32_t i = 0; i < metadata->snapshot_count; i++) {
        const struct firn_snapshot *snapshot = metadata->snapshots_by_id[i];
        if (i && snapshot->id == metadata->snapshots_by_id[i - 1]->id)
            return firn_fail(op, FIRN_CORRUPT, "two snapshots have the id %" PRId64, snapshot->id);
        if (snapshot->sequence_number > metadata->last_sequence_number)
            return firn_fail(op, FIRN_CORRUPT,
                             "snapshot %" PRId64 " has sequence number %" PRId64 ", the table's last is %" PRId64,
                             snapshot->id, snapshot->sequence_number, metadata->last_sequence_number);
    }
    return FIRN_OK;
}

static firn_status check_refs(struct firn_op *op, const struct firn_metadata *metadata)
{
    for (uint32_t i = 0; i < metadata->ref_count; i++) {
        const struct firn_ref *ref = &metadata->refs[i];
        if (!firn_metadata_snapshot(metadata, ref->snapshot_id))
            return firn_fail(op, FIRN_CORRUPT, "reference '%.*s' points to snapshot %" PRId64 ", which does not exist",
                             FIRN_FMT(ref->name), ref->snapshot_id);
    }
    const struct firn_ref *main = firn_metadata_ref(metadata, FIRN_TEXT("main"));
    int64_t head = main ? main->snapshot_id : FIRN_NO_SNAPSHOT;
    if (head != metadata->current_snapshot_id)
        return firn_fail(op, FIRN_CORRUPT,
                         "current snapshot %" PRId64 " is not the head of main, snapshot %" PRId64 " (-1: none)",
                         metadata->current_snapshot_id, head);
    return FIRN_OK;
}

/* Time went back by more than clocks may differ. */
static bool went_back(int64_t earlier_ms, int64_t later_ms)
{
    int64_t gap;
    return !__builtin_sub_overflow(later_ms, earlier_ms, &gap) ? gap < -CLOCK_SKEW_MS : later_ms < earlier_ms;
}

static firn_status check_order(struct firn_op *op, const char *log, int64_t earlier_ms, int64_t later_ms)
{
    if (!went_back(earlier_ms, later_ms))
        return FIRN_OK;
    return firn_fail(op, FIRN_CORRUPT, "%s is not in the order of time: %" PRId64 " before %" PRId64, log, earlier_ms,
                     later_ms);
}

static firn_status check_logs(struct firn_op *op, const struct firn_metadata *metadata)
{
    for (uint32_t i = 0; i < metadata->snapshot_log_count; i++) {
        bool last = i + 1 == metadata->snapshot_log_count;
        int64_t next_ms = last ? metadata->last_updated_ms : metadata->snapshot_log[i + 1].timestamp_ms;
        FIRN_TRY(check_order(op, "snapshot-log", metadata->snapshot_log[i].timestamp_ms, next_ms));
    }
    for (uint32_t i = 0; i < metadata->metadata_log_count; i++) {
        bool last = i + 1 == metadata->metadata_log_count;
        int64_t next_ms = last ? metadata->last_updated_ms : metadata->metadata_log[i + 1].timestamp_ms;
        FIRN_TRY(check_order(op, "metadata-log", metadata->metadata_log[i].timestamp_ms, next_ms));
    }
    return FIRN_OK;
}

firn_status firn_metadata_check(struct firn_op *op, const struct firn_metadata *metadata)
{
    FIRN_TRY(check_unique_ids(op, metadata));
    FIRN_TRY(check_snapshots(op, metadata));
    FIRN_TRY(check_refs(op, metadata));
    return check_logs(op, metadata);
}
