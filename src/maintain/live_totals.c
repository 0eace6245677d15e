/* Counting what lives in a snapshot. */
#include "maintain/live_totals.h"

#include "maintain/delete_use.h"
#include "table/scan.h"

static void add(int64_t *sum, int64_t value)
{
    if (__builtin_add_overflow(*sum, value, sum))
        *sum = INT64_MAX;
}

void firn_live_totals_add(struct firn_live_totals *totals, const struct firn_data_file *file)
{
    static const enum firn_summary_total_id rows[] = {
        [FIRN_CONTENT_DATA] = FIRN_TOTAL_RECORDS,
        [FIRN_CONTENT_POSITION_DELETES] = FIRN_TOTAL_POSITION_DELETES,
        [FIRN_CONTENT_EQUALITY_DELETES] = FIRN_TOTAL_EQUALITY_DELETES,
    };
    bool is_data = file->content == FIRN_CONTENT_DATA;
    add(&totals->items[is_data ? FIRN_TOTAL_DATA_FILES : FIRN_TOTAL_DELETE_FILES], 1);
    add(&totals->items[rows[file->content]], file->record_count);
    add(&totals->items[FIRN_TOTAL_BYTES], firn_delete_read_bytes(file));
    add(&totals->whole_bytes, file->file_bytes);
}

static firn_status count_manifest(struct firn_op *op, void *context, const struct firn_manifest *manifest)
{
    (void)op;
    for (uint32_t i = 0; i < manifest->count; i++)
        firn_live_totals_add(context, &manifest->entries[i].file);
    return FIRN_OK;
}

firn_status firn_live_totals_count(struct firn_op *op, struct firn_store *store, const struct firn_metadata *metadata,
                                   const struct firn_snapshot *snapshot, struct firn_live_totals *out)
{
    struct firn_manifest_read_options options = { .skip_metrics = true, .skip_deleted = true };
    struct firn_manifest_list list;
    *out = (struct firn_live_totals){ 0 };
    FIRN_TRY(firn_snapshot_manifests(op, store, metadata, snapshot, &list));
    for (uint32_t i = 0; i < list.count; i++)
        FIRN_TRY(firn_manifest_look(op, store, metadata, &list.manifests[i], options, count_manifest, out));
    return FIRN_OK;
}

bool firn_live_totals_agree(const struct firn_live_totals *totals, const struct firn_snapshot *snapshot,
                            enum firn_summary_total_id id)
{
    int64_t recorded;
    const char *text = json_string_value(json_object_get(snapshot->summary, firn_summary_totals[id].key));
    if (!text)
        return true;
    if (!firn_text_to_i64(firn_text_of(text), &recorded))
        return false;
    return recorded == totals->items[id] || (id == FIRN_TOTAL_BYTES && recorded == totals->whole_bytes);
}
