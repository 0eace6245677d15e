/* Conflict validation of deletes said anew: the data files they are said of are still there, no one gave them a vector
 * meanwhile, and an equality delete that leaves reaches no data file that came meanwhile.
 *
 * A row would come back to life when an equality delete left while a data file that it reaches, such as the output of a
 * compaction that keeps an older sequence number, was not looked at. Only manifests that the planned snapshot does not
 * have are read: what the others hold was planned on. */
#include "catalog/producer.h"

#include "table/delete_index.h"
#include "table/scan.h"

struct restated_check {
    const struct firn_producer *producer;
    const struct firn_restated_deletes *restated;
    struct firn_delete_index *equality; /* of those that leave; NULL: none does */
    struct firn_map files;              /* path of a data file of this change to its index */
    struct firn_map bare_files;         /* the same without scheme and authority, as vectors may name it */
    struct firn_map settled;
    bool *is_found; /* one a file: in a manifest that the planned snapshot does not have */
};

static firn_status conflict(struct firn_op *op, const char *what, struct firn_text path, const char *why)
{
    firn_status status = firn_fail(op, FIRN_CONFLICT, "%s '%.*s' %s", what, FIRN_FMT(path), why);
    return firn_hint(op, status, "run the command again; it plans anew on the current table");
}

static firn_status check_data(struct firn_op *op, struct restated_check *check, const struct firn_manifest_entry *entry)
{
    struct firn_delete_match match = { 0 };
    const struct firn_map_entry *file = firn_map_find_text(&check->files, entry->file.path);
    if (file) {
        check->is_found[file->value.number] = true;
        return FIRN_OK;
    }
    if (!check->equality || firn_map_find_text(&check->settled, entry->file.path))
        return FIRN_OK;
    FIRN_TRY(firn_delete_index_match(op, check->equality, entry, &match));
    if (match.equality.count == 0)
        return FIRN_OK;
    return conflict(op, "data file", entry->file.path,
                    "was committed meanwhile, and an equality delete that was to be converted reaches it");
}

static firn_status check_vector(struct firn_op *op, const struct restated_check *check,
                                const struct firn_data_file *vector)
{
    struct firn_text named = vector->referenced_data_file;
    struct firn_text key = firn_delete_file_key(op->arena, vector);
    if (!firn_map_find_text(&check->bare_files, firn_delete_path_bare(named)) ||
        firn_map_find_text(&check->producer->removed_deletes, key))
        return FIRN_OK;
    return conflict(op, "data file", named, "was given a deletion vector meanwhile");
}

static firn_status check_entries(struct firn_op *op, struct restated_check *check, const struct firn_manifest *manifest)
{
    for (uint32_t i = 0; i < manifest->count; i++) {
        const struct firn_manifest_entry *entry = &manifest->entries[i];
        if (entry->file.content == FIRN_CONTENT_DATA)
            FIRN_TRY(check_data(op, check, entry));
        else if (firn_data_file_is_deletion_vector(&entry->file))
            FIRN_TRY(check_vector(op, check, &entry->file));
    }
    return FIRN_OK;
}

/* Of a manifest that the head no longer has: its data files must have been met elsewhere. */
static firn_status check_gone(struct firn_op *op, struct restated_check *check, const struct firn_manifest *manifest)
{
    for (uint32_t i = 0; i < manifest->count; i++) {
        const struct firn_data_file *file = &manifest->entries[i].file;
        const struct firn_map_entry *found =
            file->content == FIRN_CONTENT_DATA ? firn_map_find_text(&check->files, file->path) : NULL;
        if (found && !check->is_found[found->value.number])
            return conflict(op, "data file", file->path, "was removed or replaced meanwhile");
    }
    return FIRN_OK;
}

typedef firn_status entries_check(struct firn_op *op, struct restated_check *check,
                                  const struct firn_manifest *manifest);

/* Reads the manifests of `rows` that `known` does not have, each into memory that goes at once. */
static firn_status check_unknown(struct firn_op *op, struct restated_check *check,
                                 const struct firn_manifest_list *rows, const struct firn_map *known,
                                 entries_check *visit)
{
    const struct firn_table *table = check->producer->table;
    struct firn_manifest_read_options options = { .skip_deleted = true, .skip_metrics = true };
    struct firn_arena arena, *results = op->arena;
    struct firn_manifest manifest;
    firn_status status = FIRN_OK;
    firn_arena_init(&arena);
    op->arena = &arena;
    for (uint32_t i = 0; i < rows->count && status == FIRN_OK; i++) {
        const struct firn_manifest_file *row = &rows->manifests[i];
        if (firn_map_find_text(known, row->path) || !firn_manifest_has_live(row))
            continue;
        status = firn_op_check(op);
        if (status == FIRN_OK)
            status = firn_manifest_read(op, table->store, table->metadata, row, options, &manifest);
        if (status == FIRN_OK)
            status = visit(op, check, &manifest);
        firn_arena_reset(&arena);
    }
    op->arena = results;
    firn_arena_done(&arena);
    return status;
}

static void index_paths(struct firn_op *op, const struct firn_manifest_list *rows, struct firn_map *out)
{
    firn_map_init(out, op->arena);
    for (uint32_t i = 0; i < rows->count; i++)
        firn_map_put_text(out, rows->manifests[i].path);
}

static firn_status init_check(struct firn_op *op, struct restated_check *check)
{
    const struct firn_restated_deletes *restated = check->restated;
    firn_map_init(&check->files, op->arena);
    firn_map_init(&check->bare_files, op->arena);
    firn_map_init(&check->settled, op->arena);
    check->is_found = FIRN_NEW_ARRAY(op->arena, bool, restated->file_count);
    for (uint32_t i = 0; i < restated->file_count; i++) {
        firn_map_put_text(&check->files, restated->files[i].path)->value.number = i;
        firn_map_put_text(&check->bare_files, firn_delete_path_bare(restated->files[i].path));
    }
    for (uint32_t i = 0; i < restated->settled_count; i++)
        firn_map_put_text(&check->settled, restated->settled[i].path);
    if (restated->equality_count == 0)
        return FIRN_OK;
    return firn_delete_index_new(op, check->producer->table->metadata, restated->equality, restated->equality_count,
                                 &check->equality);
}

firn_status firn_restated_check(struct firn_op *op, const struct firn_producer *producer,
                                const struct firn_snapshot *planned, const struct firn_manifest_list *rows)
{
    struct restated_check check = { .producer = producer, .restated = producer->change->restated };
    struct firn_manifest_list planned_rows = { 0 };
    struct firn_map now, then;
    FIRN_TRY(init_check(op, &check));
    FIRN_TRY(firn_snapshot_manifests(op, producer->table->store, producer->table->metadata, planned, &planned_rows));
    index_paths(op, rows, &now);
    index_paths(op, &planned_rows, &then);
    FIRN_TRY(check_unknown(op, &check, rows, &then, check_entries));
    return check_unknown(op, &check, &planned_rows, &now, check_gone);
}
