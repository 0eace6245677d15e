/* Finding the entries that leave, manifest by manifest. Reference: procedures.md, 3.4.
 *
 * Nothing is written here: manifest_merge.c writes what changes, once, so that a manifest that loses an entry and is
 * joined with others is not written twice. Results are kept, so that another attempt does not read it again. */
#include "catalog/producer.h"

#include "base/math.h"
#include "table/delete_index.h"
#include "table/scan.h"

struct firn_text firn_delete_file_key(struct firn_arena *arena, const struct firn_data_file *file)
{
    return firn_text_format(arena, "%" PRId64 " %" PRId64 " %.*s", file->content_offset, file->content_bytes,
                            FIRN_FMT(file->path));
}

bool firn_entry_leaves(struct firn_op *op, const struct firn_producer *producer, int64_t sequence_number_min,
                       const struct firn_manifest_entry *entry, uint32_t *index)
{
    const struct firn_map_entry *found;
    *index = FIRN_NOT_ASKED_FOR;
    if (entry->file.content == FIRN_CONTENT_DATA) {
        found = firn_map_find_text(&producer->removed_paths, entry->file.path);
        if (found)
            *index = (uint32_t)found->value.number;
        return found;
    }
    struct firn_text key = firn_delete_file_key(op->arena, &entry->file);
    found = firn_map_find_text(&producer->removed_deletes, key);
    if (found)
        *index = (uint32_t)found->value.number;
    if (found || (entry->sequence_number > 0 && entry->sequence_number < sequence_number_min))
        return true;
    found = firn_map_find_text(&producer->spent_deletes, key);
    if (found && found->value.number != FIRN_STILL_NEEDED)
        return true;
    struct firn_text scope = firn_delete_file_scope(&entry->file);
    return scope.len > 0 && firn_map_find_text(&producer->removed_paths, scope);
}

struct filter_run {
    const struct firn_producer *producer;
    int64_t sequence_number_min;
    const struct firn_manifest_file **rows; /* to open */
    struct firn_filtered **results;         /* one each */
};

struct lost_list {
    struct firn_lost_entry *items;
    size_t count, capacity;
};

/* `op` has the results' arena, `scratch` one that goes with the manifest. */
static firn_status sort_out(struct firn_op *op, struct firn_op *scratch, const struct filter_run *run,
                            const struct firn_manifest *manifest, struct firn_filtered *filtered)
{
    struct lost_list lost = { 0 };
    filtered->min_sequence_number = FIRN_ABSENT;
    for (uint32_t i = 0; i < manifest->count; i++) {
        const struct firn_manifest_entry *entry = &manifest->entries[i];
        struct firn_lost_entry leaving;
        if (!firn_entry_leaves(scratch, run->producer, run->sequence_number_min, entry, &leaving.removed_index)) {
            bool is_lowest =
                filtered->min_sequence_number == FIRN_ABSENT || entry->sequence_number < filtered->min_sequence_number;
            if (is_lowest)
                filtered->min_sequence_number = entry->sequence_number;
            continue;
        }
        FIRN_TRY(firn_counted_file_of(op, run->producer->table->metadata, &entry->file,
                                      run->producer->partition_limit > 0, &leaving.counted));
        FIRN_PUSH(op->arena, &lost, leaving);
    }
    filtered->lost = lost.items;
    filtered->lost_count = (uint32_t)lost.count;
    return FIRN_OK;
}

/* A manifest is large beside what leaves it: it is read into memory that goes when the job is done. */
static firn_status filter_job(struct firn_op *op, void *context, size_t index)
{
    struct filter_run *run = context;
    const struct firn_table *table = run->producer->table;
    struct firn_manifest_read_options options = { .skip_deleted = true };
    struct firn_manifest manifest;
    struct firn_arena arena;
    struct firn_op scratch = *op;
    firn_arena_init(&arena);
    scratch.arena = &arena;
    run->results[index] = FIRN_NEW(op->arena, struct firn_filtered);
    firn_status status =
        firn_manifest_read(&scratch, table->store, table->metadata, run->rows[index], options, &manifest);
    if (status == FIRN_OK)
        status = sort_out(op, &scratch, run, &manifest, run->results[index]);
    else
        op->error = scratch.error;
    firn_arena_done(&arena);
    return status;
}

/* Whether a manifest can hold an entry that leaves, from its row alone. */
static bool must_open(struct firn_op *op, const struct firn_producer *producer, const struct firn_manifest_file *row,
                      int64_t sequence_number_min)
{
    bool may_concern_removed = firn_manifest_may_hold_removed(op, producer, row);
    if (!row->is_deletes)
        return may_concern_removed;
    bool removes_deletes = producer->removed_deletes.count > 0 || producer->spent_deletes.count > 0;
    bool removes_any = producer->removed_paths.count > 0 || removes_deletes;
    return removes_any && (may_concern_removed || removes_deletes || row->min_sequence_number < sequence_number_min);
}

/* Results depend on the manifest, which never changes, for deletes on the lowest number that still matters, and for
 * data on the row ids that its list gives it: those may come with a snapshot that was committed between two attempts.
 */
static struct firn_text cache_key(struct firn_op *op, const struct firn_manifest_file *row, int64_t sequence_number_min)
{
    return firn_text_format(op->arena, "%" PRId64 " %.*s", row->is_deletes ? sequence_number_min : row->first_row_id,
                            FIRN_FMT(row->path));
}

const struct firn_filtered *firn_filtered_find(struct firn_op *op, const struct firn_producer *producer,
                                               const struct firn_manifest_file *row, int64_t sequence_number_min)
{
    const struct firn_map_entry *entry =
        firn_map_find_text(&producer->filtered, cache_key(op, row, sequence_number_min));
    const struct firn_filtered *filtered = entry ? entry->value.pointer : NULL;
    return filtered && filtered->lost_count > 0 ? filtered : NULL;
}

void firn_filtered_forget(struct firn_op *op, struct firn_producer *producer)
{
    firn_map_init(&producer->filtered, op->arena);
    firn_map_init(&producer->merged, op->arena);
}

static firn_status open_missing(struct firn_op *op, struct firn_producer *producer,
                                const struct firn_manifest_rows *rows, int64_t sequence_number_min)
{
    struct filter_run run = { .producer = producer, .sequence_number_min = sequence_number_min };
    run.rows = FIRN_NEW_ARRAY(op->arena, const struct firn_manifest_file *, rows->count);
    size_t count = 0;
    for (size_t i = 0; i < rows->count; i++)
        if (must_open(op, producer, &rows->items[i], sequence_number_min) &&
            !firn_map_find_text(&producer->filtered, cache_key(op, &rows->items[i], sequence_number_min)))
            run.rows[count++] = &rows->items[i];
    run.results = FIRN_NEW_ARRAY(op->arena, struct firn_filtered *, count);
    FIRN_TRY(firn_pool_run(op, producer->pool, count, 0, filter_job, &run));
    for (size_t i = 0; i < count; i++) {
        struct firn_text key = cache_key(op, run.rows[i], sequence_number_min);
        firn_map_put_text(&producer->filtered, key)->value.pointer = run.results[i];
    }
    return FIRN_OK;
}

firn_status firn_manifests_filter(struct firn_op *op, struct firn_producer *producer, struct firn_manifest_rows *rows,
                                  int64_t sequence_number_min, struct firn_filtered_list *filtered)
{
    struct firn_manifest_rows live = { 0 };
    for (size_t i = 0; i < rows->count; i++)
        if (firn_manifest_has_live(&rows->items[i]))
            FIRN_PUSH(op->arena, &live, rows->items[i]);
    FIRN_TRY(open_missing(op, producer, &live, sequence_number_min));
    for (size_t i = 0; i < live.count; i++) {
        const struct firn_filtered *result = firn_filtered_find(op, producer, &live.items[i], sequence_number_min);
        if (!result)
            continue;
        live.items[i].min_sequence_number = result->min_sequence_number;
        FIRN_PUSH(op->arena, filtered, result);
    }
    *rows = live;
    return FIRN_OK;
}
