/* The history of a table's files, from the manifests that each snapshot has and none before it. Iceberg spec,
 * "Manifests": an entry's status says what the snapshot did that wrote the manifest. */
#include "maintain/backtest.h"

#include "base/math.h"

/* Lists that are held at once: each may name every manifest of the table. */
enum { LISTS_MAX = 32 };

/* A manifest to be read, and what was in it. */
struct reading {
    struct firn_backtest_commit *commit;
    struct firn_manifest_file row;
    bool is_first; /* of the history: what lives in it was added before */
    struct firn_manifest manifest;
};
struct history_run {
    const struct firn_table *table;
    struct firn_backtest_history *history;
    size_t first; /* commit of the first of the lists at hand */
    struct firn_manifest_list lists[LISTS_MAX];
    struct firn_map known; /* paths of manifests that a snapshot had so far */
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
    const struct firn_snapshot *snapshot = run->history->commits[run->first + index].snapshot;
    return firn_snapshot_manifests(op, run->table->store, run->table->metadata, snapshot, &run->lists[index]);
}

/* What a reading needs of a list's row, apart from the list. */
static struct firn_manifest_file keep_row(struct firn_arena *arena, const struct firn_manifest_file *row)
{
    struct firn_manifest_file kept = *row;
    kept.path = firn_text_copy(arena, row->path);
    kept.list = firn_text_copy(arena, row->list);
    kept.key_metadata = row->key_metadata.data ? firn_bytes_copy(arena, row->key_metadata) : row->key_metadata;
    kept.has_summaries = false;
    kept.summaries = NULL;
    kept.summary_count = 0;
    return kept;
}

/* The manifests that no snapshot before had. */
static void take_list(struct firn_arena *arena, struct history_run *run, size_t commit,
                      const struct firn_manifest_list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (firn_map_find_text(&run->known, list->manifests[i].path))
            continue;
        struct reading reading = { .commit = &run->history->commits[commit],
                                   .row = keep_row(arena, &list->manifests[i]),
                                   .is_first = commit == 0 };
        firn_map_put_text(&run->known, reading.row.path);
        FIRN_PUSH(arena, &run->readings, reading);
    }
}

static firn_status read_lists(struct firn_op *op, struct firn_pool *pool, struct history_run *run)
{
    struct firn_scratch scratch;
    firn_status status = FIRN_OK;
    firn_scratch_begin(op, &scratch);
    for (run->first = 0; status == FIRN_OK && run->first < run->history->count; run->first += LISTS_MAX) {
        size_t count = FIRN_MIN(run->history->count - run->first, (size_t)LISTS_MAX);
        status = firn_pool_run(op, pool, count, 0, read_list, run);
        for (size_t i = 0; status == FIRN_OK && i < count; i++)
            take_list(scratch.results, run, run->first + i, &run->lists[i]);
        firn_arena_reset(&scratch.arena);
    }
    firn_scratch_end(op, &scratch);
    return status;
}

/* Bounds of delete files say which data file they are of. */
static firn_status read_manifest(struct firn_op *op, void *context, size_t index)
{
    struct history_run *run = context;
    struct reading *reading = &run->readings.items[index];
    struct firn_manifest_read_options options = { .skip_metrics = !reading->row.is_deletes,
                                                  .skip_deleted = reading->is_first };
    return firn_manifest_read(op, run->table->store, run->table->metadata, &reading->row, options, &reading->manifest);
}

static void take_entries(struct firn_op *op, const struct reading *reading)
{
    for (uint32_t i = 0; i < reading->manifest.count; i++) {
        const struct firn_manifest_entry *entry = &reading->manifest.entries[i];
        bool is_own = entry->snapshot_id == reading->row.added_snapshot_id;
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
    firn_map_init(&run.known, op->arena);
    FIRN_TRY(read_lists(op, pool, &run));
    FIRN_TRY(firn_pool_run(op, pool, run.readings.count, 0, read_manifest, &run));
    for (size_t i = 0; i < run.readings.count; i++)
        take_entries(op, &run.readings.items[i]);
    return FIRN_OK;
}
