/* Removing entries from manifests. Reference: procedures.md, 3.4.
 *
 * A manifest that loses an entry is written anew: what stays becomes EXISTING with its numbers written out, what goes
 * becomes DELETED by this snapshot, and what was DELETED before is gone for good (it never comes back to life).
 * Results are kept, so that another attempt does not write them again. */
#include "catalog/producer.h"

#include "base/math.h"
#include "table/delete_index.h"
#include "table/scan.h"

struct firn_text firn_delete_file_key(struct firn_arena *arena, const struct firn_data_file *file)
{
    return firn_text_format(arena, "%" PRId64 " %" PRId64 " %.*s", file->content_offset, file->content_bytes,
                            FIRN_FMT(file->path));
}

bool firn_manifest_has_live(const struct firn_manifest_file *row)
{
    return row->added_files_count != 0 || row->existing_files_count != 0; /* FIRN_ABSENT: unknown */
}

struct filter_run {
    struct firn_producer *producer;
    int64_t sequence_number_min;
    const struct firn_manifest_file **rows; /* to open */
    struct firn_filtered **results;         /* one each */
    struct firn_text_list *begun;           /* one each */
};

/* Whether an entry leaves; `index` tells which removal of the change asked for it. */
static bool leaves(struct firn_op *op, const struct filter_run *run, const struct firn_manifest_entry *entry,
                   uint32_t *index)
{
    const struct firn_producer *producer = run->producer;
    const struct firn_map_entry *found;
    *index = FIRN_NOT_ASKED_FOR;
    if (entry->file.content == FIRN_CONTENT_DATA) {
        found = firn_map_find_text(&producer->removed_paths, entry->file.path);
        if (found)
            *index = (uint32_t)found->value.number;
        return found;
    }
    found = firn_map_find_text(&producer->removed_deletes, firn_delete_file_key(op->arena, &entry->file));
    if (found)
        *index = (uint32_t)found->value.number;
    if (found || (entry->sequence_number > 0 && entry->sequence_number < run->sequence_number_min))
        return true;
    struct firn_text scope = firn_delete_file_scope(&entry->file);
    return scope.len > 0 && firn_map_find_text(&producer->removed_paths, scope);
}

static firn_status remember_lost(struct firn_op *op, const struct filter_run *run,
                                 const struct firn_manifest_entry *entry, uint32_t index,
                                 struct firn_filtered *filtered)
{
    struct firn_lost_entry *lost = &filtered->lost[filtered->lost_count++];
    lost->removed_index = index;
    return firn_counted_file_of(op, run->producer->table->metadata, &entry->file, run->producer->partition_limit > 0,
                                &lost->counted);
}

static firn_status write_entry(struct firn_op *op, struct firn_manifest_output *output,
                               const struct firn_manifest_entry *entry, bool is_lost)
{
    struct firn_manifest_entry written = *entry;
    written.status = is_lost ? FIRN_ENTRY_DELETED : FIRN_ENTRY_EXISTING;
    if (is_lost)
        written.snapshot_id = output->producer->snapshot_id;
    return firn_manifest_output_add(op, output, &written);
}

/* Which entries leave, as one flag each, and how many. */
static bool *mark_lost(struct firn_op *op, const struct filter_run *run, const struct firn_manifest *manifest,
                       uint32_t *count)
{
    bool *is_lost = FIRN_NEW_ARRAY(op->arena, bool, manifest->count);
    uint32_t index;
    *count = 0;
    for (uint32_t i = 0; i < manifest->count; i++) {
        is_lost[i] = leaves(op, run, &manifest->entries[i], &index);
        *count += is_lost[i];
    }
    return is_lost;
}

/* `op` has the results' arena, `scratch` one that goes with the manifest. */
static firn_status rewrite(struct firn_op *op, struct firn_op *scratch, const struct filter_run *run,
                           const struct firn_manifest *manifest, const bool *is_lost,
                           struct firn_manifest_output *output, struct firn_filtered *filtered)
{
    for (uint32_t i = 0; i < manifest->count; i++) {
        const struct firn_manifest_entry *entry = &manifest->entries[i];
        uint32_t index;
        FIRN_TRY(firn_op_check(scratch));
        FIRN_TRY(write_entry(scratch, output, entry, is_lost[i]));
        if (!is_lost[i] || !leaves(scratch, run, entry, &index))
            continue;
        firn_status status = remember_lost(op, run, entry, index, filtered);
        if (status != FIRN_OK) {
            scratch->error = op->error;
            return status;
        }
    }
    return firn_manifest_output_finish(scratch, output);
}

static firn_status filter_manifest(struct firn_op *op, struct firn_op *scratch, struct filter_run *run, size_t index)
{
    const struct firn_manifest_file *row = run->rows[index];
    struct firn_producer *producer = run->producer;
    const struct firn_metadata *metadata = producer->table->metadata;
    struct firn_manifest_read_options options = { .skip_deleted = true };
    struct firn_filtered *filtered = run->results[index] = FIRN_NEW(op->arena, struct firn_filtered);
    struct firn_manifest manifest;
    uint32_t lost_count;
    FIRN_TRY(firn_manifest_read(scratch, producer->table->store, metadata, row, options, &manifest));
    const bool *is_lost = mark_lost(scratch, run, &manifest, &lost_count);
    if (lost_count == 0)
        return FIRN_OK;
    const struct firn_partition_spec *spec = firn_metadata_spec(metadata, row->spec_id);
    if (!spec)
        return firn_fail(scratch, FIRN_CORRUPT, "manifest '%.*s' has the unknown partition spec %d",
                         FIRN_FMT(row->path), row->spec_id);
    filtered->is_rewritten = true;
    filtered->lost = FIRN_NEW_ARRAY(op->arena, struct firn_lost_entry, lost_count);
    struct firn_manifest_output output;
    firn_manifest_output_init(&output, producer, spec, row->is_deletes);
    firn_status status = rewrite(op, scratch, run, &manifest, is_lost, &output, filtered);
    firn_manifest_output_close(&output);
    for (size_t i = 0; i < output.begun.count; i++)
        FIRN_PUSH(op->arena, &run->begun[index], firn_text_copy(op->arena, output.begun.items[i]));
    for (size_t i = 0; i < output.rows.count; i++)
        FIRN_PUSH(op->arena, &filtered->rows, firn_manifest_row_copy(op->arena, &output.rows.items[i]));
    return status;
}

/* A manifest with all its metrics is large: it is read into memory that goes when the job is done. */
static firn_status filter_job(struct firn_op *op, void *context, size_t index)
{
    struct firn_arena arena;
    struct firn_op scratch = *op;
    firn_arena_init(&arena);
    scratch.arena = &arena;
    firn_status status = filter_manifest(op, &scratch, context, index);
    if (status != FIRN_OK)
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
    bool removes_any = producer->removed_paths.count > 0 || producer->removed_deletes.count > 0;
    return removes_any && (may_concern_removed || producer->removed_deletes.count > 0 ||
                           row->min_sequence_number < sequence_number_min);
}

/* Results depend on the manifest, which never changes, for deletes on the lowest number that still matters, and for
 * data on the row ids that its list gives it: those may come with a snapshot that was committed between two attempts.
 */
static struct firn_text cache_key(struct firn_op *op, const struct firn_manifest_file *row, int64_t sequence_number_min)
{
    return firn_text_format(op->arena, "%" PRId64 " %.*s", row->is_deletes ? sequence_number_min : row->first_row_id,
                            FIRN_FMT(row->path));
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
    run.begun = FIRN_NEW_ARRAY(op->arena, struct firn_text_list, count);
    firn_status status = firn_pool_run(op, producer->pool, count, 0, filter_job, &run);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < run.begun[i].count; k++)
            FIRN_PUSH(op->arena, &producer->manifests_begun, run.begun[i].items[k]);
    FIRN_TRY(status);
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
    struct firn_manifest_rows left = { 0 };
    for (size_t i = 0; i < rows->count; i++)
        if (firn_manifest_has_live(&rows->items[i]))
            FIRN_PUSH(op->arena, &live, rows->items[i]);
    FIRN_TRY(open_missing(op, producer, &live, sequence_number_min));
    for (size_t i = 0; i < live.count; i++) {
        struct firn_map_entry *entry =
            firn_map_find_text(&producer->filtered, cache_key(op, &live.items[i], sequence_number_min));
        const struct firn_filtered *result = entry ? entry->value.pointer : NULL;
        if (!result || !result->is_rewritten) {
            FIRN_PUSH(op->arena, &left, live.items[i]);
            continue;
        }
        FIRN_PUSH(op->arena, filtered, result);
        for (size_t k = 0; k < result->rows.count; k++)
            FIRN_PUSH(op->arena, &left, result->rows.items[k]);
    }
    *rows = left;
    return FIRN_OK;
}
