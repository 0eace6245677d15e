/* Taking delete files out of a table that apply to none of its data files.
 *
 * What applies is told by the rules of scan planning, for all data files of the branch: by sequence number, spec,
 * partition and named file, and for equality deletes of an unpartitioned spec over the whole table. The reference
 * compares with the oldest file of the spec and partition, which loses deletes of unpartitioned specs and keeps
 * position deletes of files that are gone. Data files that come between the scan and the commit are the commit's
 * concern (catalog/late_data.c). */
#include "maintain/dangling_deletes.h"

#include "catalog/catalog.h"
#include "catalog/snapshot_producer.h"
#include "maintain/delete_use.h"

enum { ATTEMPTS_MAX = 4 };

static void find_dangling(struct firn_op *op, const struct firn_scan *scan, struct firn_snapshot_change *change)
{
    struct firn_delete_uses uses;
    const struct firn_scan_file **files = FIRN_NEW_ARRAY(op->arena, const struct firn_scan_file *, scan->file_count);
    struct firn_data_file *dangling = FIRN_NEW_ARRAY(op->arena, struct firn_data_file, scan->delete_count);
    for (uint32_t i = 0; i < scan->file_count; i++)
        files[i] = &scan->files[i];
    firn_delete_uses_count(op->arena, files, scan->file_count, &uses);
    for (uint32_t i = 0; i < scan->delete_count; i++)
        if (!firn_delete_uses_find(&uses, scan->deletes[i]))
            dangling[change->spent_delete_count++] = scan->deletes[i]->file;
    change->spent_deletes = dangling;
}

static firn_status try_once(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                            struct firn_text branch, struct firn_dangling_deletes_report *out)
{
    struct firn_scan scan;
    struct firn_snapshot_result result;
    FIRN_TRY(firn_table_refresh(op, table));
    const struct firn_snapshot *head = firn_metadata_ref_head(table->metadata, branch);
    if (!head)
        return FIRN_OK;
    FIRN_TRY(firn_scan_plan(op, pool, table->store, table->metadata, head, (struct firn_scan_options){ 0 }, &scan));
    struct firn_snapshot_change change = {
        .operation = FIRN_TEXT("replace"),
        .branch = branch,
        .added_sequence_number = FIRN_ABSENT,
        .base_snapshot_id = head->id,
    };
    find_dangling(op, &scan, &change);
    if (change.spent_delete_count == 0)
        return FIRN_OK;
    FIRN_TRY(firn_snapshot_commit(op, pool, table, &change, &result));
    *out = (struct firn_dangling_deletes_report){ (int64_t)result.removed_delete_files, result.snapshot_id };
    return FIRN_OK;
}

firn_status firn_dangling_deletes_remove(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                         struct firn_text branch, struct firn_dangling_deletes_report *out)
{
    firn_status status = FIRN_CONFLICT;
    *out = (struct firn_dangling_deletes_report){ .snapshot_id = FIRN_NO_SNAPSHOT };
    for (int attempt = 0; attempt < ATTEMPTS_MAX && status == FIRN_CONFLICT; attempt++)
        status = try_once(op, pool, table, branch, out);
    return firn_context(op, status, "removing delete files that apply to nothing");
}
