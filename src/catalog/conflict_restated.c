/* Conflict validation of data files that are given new vectors: they are still there, and no one else gave them one
 * meanwhile. Only manifests that one of the two snapshots has alone are read: what both have was planned on. */
#include "catalog/producer.h"

#include "table/delete_index.h"
#include "table/scan.h"

struct restated_check {
    const struct firn_producer *producer;
    struct firn_map files;      /* path of a data file to its index */
    struct firn_map bare_files; /* the same without scheme and authority, as vectors may name it */
    bool *is_found;             /* one a file: in a manifest that the planned snapshot does not have */
};

static firn_status conflict(struct firn_op *op, struct firn_text path, const char *what)
{
    firn_status status = firn_fail(op, FIRN_CONFLICT, "data file '%.*s' was %s meanwhile", FIRN_FMT(path), what);
    return firn_hint(op, status, "run the command again; it plans anew on the current table");
}

static firn_status check_vector(struct firn_op *op, const struct restated_check *check,
                                const struct firn_data_file *vector)
{
    struct firn_text named = vector->referenced_data_file;
    struct firn_text key = firn_delete_file_key(op->arena, vector);
    if (!firn_map_find_text(&check->bare_files, firn_delete_path_bare(named)) ||
        firn_map_find_text(&check->producer->removed_deletes, key))
        return FIRN_OK;
    return conflict(op, named, "given a deletion vector");
}

static firn_status check_entries(struct firn_op *op, void *context, const struct firn_manifest *manifest)
{
    struct restated_check *check = context;
    for (uint32_t i = 0; i < manifest->count; i++) {
        const struct firn_data_file *file = &manifest->entries[i].file;
        const struct firn_map_entry *found =
            file->content == FIRN_CONTENT_DATA ? firn_map_find_text(&check->files, file->path) : NULL;
        if (found)
            check->is_found[found->value.number] = true;
        if (firn_data_file_is_deletion_vector(file))
            FIRN_TRY(check_vector(op, check, file));
    }
    return FIRN_OK;
}

/* Of a manifest that the head no longer has: its data files must have been met elsewhere. */
static firn_status check_gone(struct firn_op *op, void *context, const struct firn_manifest *manifest)
{
    const struct restated_check *check = context;
    for (uint32_t i = 0; i < manifest->count; i++) {
        const struct firn_data_file *file = &manifest->entries[i].file;
        const struct firn_map_entry *found =
            file->content == FIRN_CONTENT_DATA ? firn_map_find_text(&check->files, file->path) : NULL;
        if (found && !check->is_found[found->value.number])
            return conflict(op, file->path, "removed or replaced");
    }
    return FIRN_OK;
}

/* Looks at the manifests of `rows` that `known` does not have. */
static firn_status check_unknown(struct firn_op *op, struct restated_check *check,
                                 const struct firn_manifest_list *rows, const struct firn_map *known,
                                 firn_manifest_visit *visit)
{
    const struct firn_table *table = check->producer->table;
    struct firn_manifest_read_options options = { .skip_deleted = true, .skip_metrics = true };
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct firn_manifest_file *row = &rows->manifests[i];
        if (!firn_map_find_text(known, row->path) && firn_manifest_has_live(row))
            FIRN_TRY(firn_manifest_look(op, table->store, table->metadata, row, options, visit, check));
    }
    return FIRN_OK;
}

static void index_paths(struct firn_op *op, const struct firn_manifest_list *rows, struct firn_map *out)
{
    firn_map_init(out, op->arena);
    for (uint32_t i = 0; i < rows->count; i++)
        firn_map_put_text(out, rows->manifests[i].path);
}

static void index_files(struct firn_op *op, const struct firn_restated_files *restated, struct restated_check *check)
{
    firn_map_init(&check->files, op->arena);
    firn_map_init(&check->bare_files, op->arena);
    check->is_found = FIRN_NEW_ARRAY(op->arena, bool, restated->count);
    for (uint32_t i = 0; i < restated->count; i++) {
        firn_map_put_text(&check->files, restated->files[i].path)->value.number = i;
        firn_map_put_text(&check->bare_files, firn_delete_path_bare(restated->files[i].path));
    }
}

firn_status firn_restated_check(struct firn_op *op, const struct firn_producer *producer,
                                const struct firn_snapshot *planned, const struct firn_manifest_list *rows)
{
    struct restated_check check = { .producer = producer };
    struct firn_manifest_list planned_rows = { 0 };
    struct firn_map now, then;
    if (producer->change->restated.count == 0)
        return FIRN_OK;
    index_files(op, &producer->change->restated, &check);
    FIRN_TRY(firn_snapshot_manifests(op, producer->table->store, producer->table->metadata, planned, &planned_rows));
    index_paths(op, rows, &now);
    index_paths(op, &planned_rows, &then);
    FIRN_TRY(check_unknown(op, &check, rows, &then, check_entries));
    return check_unknown(op, &check, &planned_rows, &now, check_gone);
}
