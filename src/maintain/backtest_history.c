/* The history of a table's files, from the manifests that each snapshot has and its parent has not. Iceberg spec,
 * "Manifests": an entry's status says what the snapshot did that wrote the manifest. */
#include "maintain/backtest.h"

/* A manifest to be read, and what was in it. */
struct reading {
    struct firn_backtest_commit *commit;
    const struct firn_manifest_file *row;
    bool is_first; /* of the history: what lives in it was added before */
    struct firn_manifest manifest;
};
struct history_run {
    const struct firn_table *table;
    struct firn_backtest_history *history;
    struct firn_manifest_list *lists; /* one a commit */
    FIRN_ARRAY(struct reading) readings;
};

/* Parents are what a file says, and may run in a circle: there are no more steps than snapshots. */
static void list_commits(struct firn_op *op, const struct firn_metadata *metadata, struct firn_backtest_history *out)
{
    const struct firn_snapshot *head = firn_metadata_current(metadata), *at = head;
    for (; at && out->count < metadata->snapshot_count; at = firn_metadata_snapshot(metadata, at->parent_id))
        out->count++;
    out->commits = FIRN_NEW_ARRAY(op->arena, struct firn_backtest_commit, out->count);
    at = head;
    for (size_t i = out->count; i-- > 0; at = firn_metadata_snapshot(metadata, at->parent_id))
        out->commits[i] = (struct firn_backtest_commit){
            .snapshot = at,
            .is_maintenance = firn_text_is(at->operation, "replace"),
        };
    out->commits[0].is_maintenance = false; /* what is there when the history begins is there for both */
    out->is_cut = out->commits[0].snapshot->parent_id != FIRN_NO_SNAPSHOT;
}

static firn_status read_list(struct firn_op *op, void *context, size_t index)
{
    struct history_run *run = context;
    return firn_snapshot_manifests(op, run->table->store, run->table->metadata, run->history->commits[index].snapshot,
                                   &run->lists[index]);
}

/* The manifests that a snapshot's parent does not have. */
static void list_new(struct firn_op *op, struct history_run *run, size_t index)
{
    struct firn_arena scratch;
    struct firn_map known;
    const struct firn_manifest_list *list = &run->lists[index], *before = index > 0 ? list - 1 : NULL;
    firn_arena_init(&scratch);
    firn_map_init(&known, &scratch);
    for (uint32_t i = 0; before && i < before->count; i++)
        firn_map_put_text(&known, before->manifests[i].path);
    for (uint32_t i = 0; i < list->count; i++) {
        struct reading reading = { &run->history->commits[index], &list->manifests[i], index == 0, { 0 } };
        if (!firn_map_find_text(&known, reading.row->path))
            FIRN_PUSH(op->arena, &run->readings, reading);
    }
    firn_arena_done(&scratch);
}

/* Bounds of delete files say which data file they are of. */
static firn_status read_manifest(struct firn_op *op, void *context, size_t index)
{
    struct history_run *run = context;
    struct reading *reading = &run->readings.items[index];
    struct firn_manifest_read_options options = { .skip_metrics = !reading->row->is_deletes,
                                                  .skip_deleted = reading->is_first };
    return firn_manifest_read(op, run->table->store, run->table->metadata, reading->row, options, &reading->manifest);
}

static void take_entries(struct firn_op *op, const struct reading *reading)
{
    for (uint32_t i = 0; i < reading->manifest.count; i++) {
        const struct firn_manifest_entry *entry = &reading->manifest.entries[i];
        bool is_own = entry->snapshot_id == reading->row->added_snapshot_id;
        if (entry->status == FIRN_ENTRY_DELETED && is_own)
            FIRN_PUSH(op->arena, &reading->commit->removed, entry);
        else if (entry->status != FIRN_ENTRY_DELETED &&
                 (reading->is_first || (entry->status == FIRN_ENTRY_ADDED && is_own)))
            FIRN_PUSH(op->arena, &reading->commit->added, entry);
    }
}

firn_status firn_backtest_history_read(struct firn_op *op, struct firn_pool *pool, const struct firn_table *table,
                                       struct firn_backtest_history *out)
{
    struct history_run run = { .table = table, .history = out };
    *out = (struct firn_backtest_history){ 0 };
    if (!firn_metadata_current(table->metadata))
        return firn_fail(op, FIRN_NOT_FOUND, "the table has no snapshots, and so no history");
    list_commits(op, table->metadata, out);
    run.lists = FIRN_NEW_ARRAY(op->arena, struct firn_manifest_list, out->count);
    FIRN_TRY(firn_pool_run(op, pool, out->count, 0, read_list, &run));
    for (size_t i = 0; i < out->count; i++)
        list_new(op, &run, i);
    FIRN_TRY(firn_pool_run(op, pool, run.readings.count, 0, read_manifest, &run));
    for (size_t i = 0; i < run.readings.count; i++)
        take_entries(op, &run.readings.items[i]);
    return FIRN_OK;
}
