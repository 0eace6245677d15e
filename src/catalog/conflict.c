/* Conflict validation: what others committed since the change was planned. Reference: procedures.md, 3.3.
 *
 * A row must not come back to life. It would when a data file is replaced by one that was written without a delete
 * committed meanwhile. Looked at are the delete files that are live in the branch's head and newer than the snapshot
 * the change was planned on: whatever commits they came through, and whatever manifests they were moved to since. Those
 * that were removed again went with the data files they applied to, which the removal of entries notices.
 *
 * Position deletes and vectors are no conflict where the change can carry them over to its added files: then all that
 * may concern a removed file are handed to it. */
#include "catalog/position_paths.h"
#include "catalog/producer.h"

#include "table/delete_index.h"
#include "table/scan.h"

static firn_status conflict(struct firn_op *op, struct firn_text data_path, const char *what,
                            struct firn_text delete_path)
{
    firn_status status = firn_fail(op, FIRN_CONFLICT, "'%.*s' cannot be replaced: %s '%.*s' was committed meanwhile",
                                   FIRN_FMT(data_path), what, FIRN_FMT(delete_path));
    return firn_hint(op, status, "run the command again; it plans anew on the current table");
}

struct entry_list {
    const struct firn_manifest_entry **items;
    size_t count, capacity;
};

static firn_status find_deletes(struct firn_op *op, void *context, const struct firn_manifest *manifest)
{
    bool *found = context;
    (void)op;
    for (uint32_t i = 0; i < manifest->count; i++)
        *found = *found || manifest->entries[i].file.content != FIRN_CONTENT_DATA;
    return FIRN_OK;
}

/* Told without metrics and without keeping anything: nearly always it is only data. */
static firn_status holds_deletes(struct firn_op *op, const struct firn_producer *producer,
                                 const struct firn_manifest_file *row, bool *out)
{
    struct firn_manifest_read_options options = { .skip_deleted = true, .skip_metrics = true };
    *out = false;
    return firn_manifest_look(op, producer->table->store, producer->table->metadata, row, options, find_deletes, out);
}

static firn_status collect_newer(struct firn_op *op, const struct firn_producer *producer,
                                 const struct firn_manifest_file *row, int64_t sequence_number,
                                 struct entry_list *newer)
{
    struct firn_manifest_read_options options = { .skip_deleted = true };
    struct firn_manifest manifest;
    FIRN_TRY(firn_op_check(op));
    FIRN_TRY(firn_manifest_read(op, producer->table->store, producer->table->metadata, row, options, &manifest));
    for (uint32_t i = 0; i < manifest.count; i++)
        if (manifest.entries[i].file.content != FIRN_CONTENT_DATA &&
            manifest.entries[i].sequence_number > sequence_number)
            FIRN_PUSH(op->arena, newer, &manifest.entries[i]);
    return FIRN_OK;
}

/* Live delete files with a number above the planned snapshot's. Their manifests were written after it, too. Deletes are
 * told by what their entries say: some writers label their manifests as data. */
static firn_status find_newer_deletes(struct firn_op *op, const struct firn_producer *producer,
                                      const struct firn_manifest_list *rows, int64_t sequence_number,
                                      struct entry_list *newer)
{
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct firn_manifest_file *row = &rows->manifests[i];
        bool wanted = row->is_deletes;
        if (!firn_manifest_has_live(row) || row->sequence_number <= sequence_number)
            continue;
        if (!row->is_deletes)
            FIRN_TRY(holds_deletes(op, producer, row, &wanted));
        if (wanted)
            FIRN_TRY(collect_newer(op, producer, row, sequence_number, newer));
    }
    return FIRN_OK;
}

/* What looking at the removed files has met. */
struct meeting {
    const struct firn_producer *producer;
    int64_t sequence_number; /* of the planned snapshot */
    struct firn_delete_index *index;
    struct firn_map opened; /* paths of wide deletes that were read */
    struct firn_map taken;  /* keys of `carried` */
    struct entry_list *carried;
};

/* A position-delete file of a whole partition counts only if its rows name a removed file. Where that cannot be told,
 * it counts. Each is opened once. */
static firn_status check_wide(struct firn_op *op, struct meeting *meeting, const struct firn_data_file *file)
{
    const struct firn_producer *producer = meeting->producer;
    struct firn_text named = { 0 };
    if (firn_map_find_text(&meeting->opened, file->path))
        return FIRN_OK;
    firn_map_put_text(&meeting->opened, file->path);
    firn_status status =
        firn_position_deletes_name_any(op, producer->table->store, file, &producer->removed_paths, &named);
    if (status == FIRN_CANCELLED)
        return status;
    if (status != FIRN_OK) {
        firn_log(op, FIRN_LOG_DEBUG, "counted as a conflict: %s", op->error.text);
        return conflict(op, producer->change->removed[0].path, "the position delete file", file->path);
    }
    return named.len > 0 ? conflict(op, named, "the position delete file", file->path) : FIRN_OK;
}

/* Equality deletes still reach files that keep an older sequence number, and files that are not written at all. */
static bool equality_conflicts(const struct firn_snapshot_change *change)
{
    return change->added_count > 0 && change->added_sequence_number == FIRN_ABSENT;
}

/* Each once: a wide delete is met with every data file of its partition. */
static void take(struct firn_op *op, struct meeting *meeting, const struct firn_delete_list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        struct firn_text key = firn_delete_file_key(op->arena, &list->items[i]->file);
        if (firn_map_find_text(&meeting->taken, key))
            continue;
        firn_map_put_text(&meeting->taken, key);
        FIRN_PUSH(op->arena, meeting->carried, list->items[i]);
    }
}

static firn_status check_file(struct firn_op *op, struct meeting *meeting, const struct firn_data_file *file)
{
    const struct firn_snapshot_change *change = meeting->producer->change;
    struct firn_manifest_entry entry = {
        .status = FIRN_ENTRY_EXISTING,
        .sequence_number = meeting->sequence_number, /* as if written then: everything newer applies */
        .file_sequence_number = meeting->sequence_number,
        .file = *file,
    };
    struct firn_delete_match match;
    FIRN_TRY(firn_delete_index_match(op, meeting->index, &entry, &match));
    if (match.equality.count > 0 && equality_conflicts(change))
        return conflict(op, file->path, "the equality delete file", match.equality.items[0]->file.path);
    if (change->carry_over) {
        take(op, meeting, &match.own);
        take(op, meeting, &match.wide);
        return FIRN_OK;
    }
    if (match.own.count > 0)
        return conflict(op, file->path, "the delete file", match.own.items[0]->file.path);
    for (uint32_t i = 0; i < match.wide.count; i++)
        FIRN_TRY(check_wide(op, meeting, &match.wide.items[i]->file));
    return FIRN_OK;
}

static firn_status check_removed(struct firn_op *op, const struct firn_producer *producer,
                                 const struct firn_snapshot *planned, const struct firn_manifest_list *rows,
                                 struct entry_list *carried)
{
    const struct firn_snapshot_change *change = producer->change;
    struct meeting meeting = {
        .producer = producer,
        .sequence_number = planned->sequence_number,
        .carried = carried,
    };
    struct entry_list newer = { 0 };
    if (change->removed_count == 0)
        return FIRN_OK;
    FIRN_TRY(find_newer_deletes(op, producer, rows, planned->sequence_number, &newer));
    if (newer.count == 0)
        return FIRN_OK;
    FIRN_TRY(firn_delete_index_new(op, producer->table->metadata, newer.items, (uint32_t)newer.count, &meeting.index));
    firn_map_init(&meeting.opened, op->arena);
    firn_map_init(&meeting.taken, op->arena);
    for (uint32_t i = 0; i < change->removed_count; i++)
        FIRN_TRY(check_file(op, &meeting, &change->removed[i]));
    return FIRN_OK;
}

static firn_status find_planned(struct firn_op *op, const struct firn_producer *producer,
                                const struct firn_snapshot *head, const struct firn_snapshot **out)
{
    const struct firn_metadata *metadata = producer->table->metadata;
    int64_t planned_id = producer->change->base_snapshot_id;
    *out = firn_metadata_snapshot(metadata, planned_id);
    if (*out && firn_metadata_is_ancestor(metadata, head->id, planned_id))
        return FIRN_OK;
    return firn_fail(op, FIRN_CONFLICT,
                     "the change was planned on snapshot %" PRId64
                     ", which the branch '%.*s' no longer has in its history",
                     planned_id, FIRN_FMT(producer->change->branch));
}

firn_status firn_conflicts_check(struct firn_op *op, struct firn_producer *producer, const struct firn_snapshot *head,
                                 const struct firn_manifest_list *rows)
{
    const struct firn_snapshot_change *change = producer->change;
    const struct firn_snapshot *planned;
    bool concerns_any = change->removed_count > 0 || change->removed_delete_count > 0 ||
                        change->spent_delete_count > 0 || change->restated.count > 0;
    if (change->base_snapshot_id == FIRN_NO_SNAPSHOT || !head || !concerns_any)
        return FIRN_OK;
    struct entry_list carried = { 0 };
    firn_status status = find_planned(op, producer, head, &planned);
    bool is_late = status == FIRN_OK && planned != head && producer->table->metadata->format_version > 1;
    if (is_late && change->removed_count > 0)
        status = check_removed(op, producer, planned, rows, &carried);
    if (status == FIRN_OK && is_late)
        status = firn_late_data_check(op, producer, planned, rows);
    if (status == FIRN_OK && planned != head)
        status = firn_restated_check(op, producer, planned, rows);
    if (status == FIRN_OK)
        status = firn_carried_update(op, producer, carried.items, (uint32_t)carried.count);
    producer->is_final = status == FIRN_CONFLICT;
    return status;
}
