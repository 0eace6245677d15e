/* Rows out of manifests' entries: files, data_files, delete_files, entries, and those of all snapshots.
 *
 * Conditions on content, spec_id, partition fields, status and snapshot_id leave manifests unread that no row of theirs
 * can meet. Reference: format-notes.md, 18. */
#include "base/math.h"
#include "sql/file_shape.h"
#include "sql/manifest_feed.h"

enum { ENTRY_STATUS, ENTRY_SNAPSHOT, ENTRY_SEQUENCE, ENTRY_FILE_SEQUENCE, ENTRY_FILE, ENTRY_METRICS };

static const struct firn_metadata_column_fact entry_facts[] = {
    { "status", "int" },
    { "snapshot_id", "bigint" },
    { "sequence_number", "bigint" },
    { "file_sequence_number", "bigint" },
};

/* What tells the tables apart. */
struct variant {
    const struct firn_metadata_table *table;
    struct firn_manifest_choice choice;
    bool of_entries; /* with those that were deleted */
};

static const struct variant variants[] = {
    { &firn_files_table, { .data = true, .deletes = true }, false },
    { &firn_data_files_table, { .data = true }, false },
    { &firn_delete_files_table, { .deletes = true }, false },
    { &firn_all_files_table, { true, true, true }, false },
    { &firn_all_data_files_table, { .of_all_snapshots = true, .data = true }, false },
    { &firn_all_delete_files_table, { .of_all_snapshots = true, .deletes = true }, false },
    { &firn_entries_table, { .data = true, .deletes = true }, true },
    { &firn_all_entries_table, { true, true, true }, true },
};

static const struct variant *variant_of(const struct firn_metadata_table *table)
{
    size_t i = 0;
    while (variants[i].table != table)
        i++;
    return &variants[i];
}

struct rows {
    const struct variant *variant;
    const struct firn_metadata_request *request;
    const struct firn_file_shape *shape;
    struct firn_manifest_list manifests;
    struct firn_manifest_feed *feed;
    const struct firn_manifest *manifest;
    uint32_t next; /* entry after the current one */
};

/* Columns ---------------------------------------------------------------------------------------------------------- */

static firn_status file_columns(struct firn_op *op, const struct firn_metadata_view *view,
                                struct firn_metadata_columns *out)
{
    const struct firn_file_shape *shape;
    FIRN_TRY(firn_file_shape_new(op, view->table->metadata, &shape));
    uint32_t count = shape->columns.count;
    struct firn_metadata_column *items = FIRN_NEW_ARRAY(op->arena, struct firn_metadata_column, count + 1);
    memcpy(items, shape->columns.items, count * sizeof *items);
    items[count] = shape->metrics;
    *out = (struct firn_metadata_columns){ items, count + 1 };
    return FIRN_OK;
}

static firn_status entry_columns(struct firn_op *op, const struct firn_metadata_view *view,
                                 struct firn_metadata_columns *out)
{
    const struct firn_file_shape *shape;
    FIRN_TRY(firn_file_shape_new(op, view->table->metadata, &shape));
    struct firn_metadata_column *items = FIRN_NEW_ARRAY(op->arena, struct firn_metadata_column, ENTRY_METRICS + 1);
    firn_metadata_columns_of(entry_facts, FIRN_COUNT_OF(entry_facts), items);
    items[ENTRY_FILE] =
        firn_metadata_struct(op->arena, FIRN_TEXT("data_file"), shape->columns.items, shape->columns.count);
    items[ENTRY_METRICS] = shape->metrics;
    *out = (struct firn_metadata_columns){ items, ENTRY_METRICS + 1 };
    return FIRN_OK;
}

/* Which manifests are read ------------------------------------------------------------------------------------------
 */

/* The path of a column of a file. */
static struct firn_metadata_path path_of(const struct rows *rows, enum firn_file_field field)
{
    uint32_t column = firn_file_shape_find(rows->shape, field);
    if (rows->variant->of_entries)
        return (struct firn_metadata_path){ { ENTRY_FILE, column }, 2 };
    return (struct firn_metadata_path){ { column }, 1 };
}

static bool content_may_match(const struct rows *rows, const struct firn_manifest_file *row)
{
    struct firn_metadata_path content = path_of(rows, FIRN_FILE_CONTENT);
    if (!row->is_deletes)
        return firn_metadata_filter_i64(rows->request, content, FIRN_CONTENT_DATA);
    return firn_metadata_filter_i64(rows->request, content, FIRN_CONTENT_POSITION_DELETES) ||
           firn_metadata_filter_i64(rows->request, content, FIRN_CONTENT_EQUALITY_DELETES);
}

/* Entries that a manifest did not take over are of the snapshot that added it. */
static bool snapshot_may_match(const struct rows *rows, const struct firn_manifest_file *row)
{
    struct firn_metadata_path snapshot = { { ENTRY_SNAPSHOT }, 1 };
    return row->existing_files_count != 0 || firn_metadata_filter_i64(rows->request, snapshot, row->added_snapshot_id);
}

static bool status_may_match(const struct rows *rows, const struct firn_manifest_file *row)
{
    struct firn_metadata_path status = { { ENTRY_STATUS }, 1 };
    const int64_t counts[] = { [FIRN_ENTRY_EXISTING] = row->existing_files_count,
                               [FIRN_ENTRY_ADDED] = row->added_files_count,
                               [FIRN_ENTRY_DELETED] = row->deleted_files_count };
    for (int64_t i = 0; i < (int64_t)FIRN_COUNT_OF(counts); i++)
        if (counts[i] != 0 && firn_metadata_filter_i64(rows->request, status, i))
            return true;
    return false;
}

static bool may_match(struct firn_op *op, const struct rows *rows, const struct firn_manifest_file *row)
{
    if (rows->variant->of_entries ? !snapshot_may_match(rows, row) || !status_may_match(rows, row)
                                  : !firn_manifest_has_live(row))
        return false;
    return content_may_match(rows, row) &&
           firn_metadata_filter_i64(rows->request, path_of(rows, FIRN_FILE_SPEC), row->spec_id) &&
           firn_partition_shape_may_match(op, rows->shape->partitions, rows->request,
                                          path_of(rows, FIRN_FILE_PARTITION), row);
}

static firn_status choose_manifests(struct firn_op *op, const struct firn_metadata_view *view, struct rows *rows)
{
    struct firn_manifest_list *list = &rows->manifests;
    FIRN_TRY(firn_manifest_choose(op, view, rows->variant->choice, list));
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->count; i++)
        if (may_match(op, rows, &list->manifests[i]))
            list->manifests[kept++] = list->manifests[i];
    list->count = kept;
    return FIRN_OK;
}

/* What of them is read ----------------------------------------------------------------------------------------------
 */

static bool needs_metrics(const struct rows *rows)
{
    uint32_t depth = rows->variant->of_entries ? 1 : 0;
    for (uint32_t i = 0; i < rows->request->wanted_count; i++) {
        const struct firn_metadata_path *path = &rows->request->wanted[i];
        bool is_of_entry = depth == 1 && path->steps[0] < ENTRY_FILE;
        bool is_metrics = depth == 1 && path->steps[0] == ENTRY_METRICS;
        if (is_metrics || (!is_of_entry && firn_file_shape_needs_metrics(rows->shape, path, depth)))
            return true;
    }
    return false;
}

static firn_status open_rows(struct firn_op *op, const struct firn_metadata_table *kind,
                             const struct firn_metadata_view *view, const struct firn_metadata_request *request,
                             void **cursor)
{
    struct rows *rows = FIRN_NEW(op->arena, struct rows);
    rows->variant = variant_of(kind);
    rows->request = request;
    FIRN_TRY(firn_file_shape_new(op, view->table->metadata, &rows->shape));
    FIRN_TRY(choose_manifests(op, view, rows));
    struct firn_manifest_read_options options = { .skip_metrics = !needs_metrics(rows),
                                                  .skip_deleted = !rows->variant->of_entries };
    bool count_only = request->wanted_count == 0 && !rows->variant->of_entries;
    *cursor = rows;
    return firn_manifest_feed_open(op, view, &rows->manifests, options, count_only, &rows->feed);
}

static void close_rows(void *cursor)
{
    firn_manifest_feed_close(((struct rows *)cursor)->feed);
}

static firn_status next_row(struct firn_op *op, void *cursor, bool *got)
{
    struct rows *rows = cursor;
    while (!rows->manifest || rows->next == rows->manifest->count) {
        FIRN_TRY(firn_manifest_feed_next(op, rows->feed, &rows->manifest));
        rows->next = 0;
        *got = rows->manifest != NULL;
        if (!*got)
            return FIRN_OK;
    }
    rows->next++;
    *got = true;
    return FIRN_OK;
}

/* Cells ------------------------------------------------------------------------------------------------------------ */

static firn_status file_cell(struct firn_op *op, void *cursor, const struct firn_metadata_path *path,
                             struct firn_cell *out)
{
    const struct rows *rows = cursor;
    const struct firn_data_file *file = &rows->manifest->entries[rows->next - 1].file;
    if (path->steps[0] == rows->shape->columns.count)
        return firn_readable_metrics_cell(op, rows->shape, file, path, 1, out);
    return firn_file_shape_cell(op, rows->shape, file, path, 0, out);
}

static firn_status entry_cell(struct firn_op *op, void *cursor, const struct firn_metadata_path *path,
                              struct firn_cell *out)
{
    const struct rows *rows = cursor;
    const struct firn_manifest_entry *entry = &rows->manifest->entries[rows->next - 1];
    switch (path->steps[0]) {
    case ENTRY_STATUS:
        firn_cell_i64(out, entry->status);
        break;
    case ENTRY_SNAPSHOT:
        firn_cell_i64_unless(out, entry->snapshot_id, FIRN_NO_SNAPSHOT);
        break;
    case ENTRY_SEQUENCE:
        firn_cell_i64_unless(out, entry->sequence_number, FIRN_ABSENT);
        break;
    case ENTRY_FILE_SEQUENCE:
        firn_cell_i64_unless(out, entry->file_sequence_number, FIRN_ABSENT);
        break;
    case ENTRY_METRICS:
        return firn_readable_metrics_cell(op, rows->shape, &entry->file, path, 1, out);
    default:
        if (path->count == 1)
            return firn_file_shape_json(op, rows->shape, &entry->file, out);
        return firn_file_shape_cell(op, rows->shape, &entry->file, path, 1, out);
    }
    return FIRN_OK;
}

#define TABLE_OF_FILES(variable_, name_)                                                                               \
    const struct firn_metadata_table variable_ = {                                                                     \
        .name = (name_),                                                                                               \
        .reads_manifests = true,                                                                                       \
        .columns = file_columns,                                                                                       \
        .open = open_rows,                                                                                             \
        .next = next_row,                                                                                              \
        .cell = file_cell,                                                                                             \
        .close = close_rows,                                                                                           \
    }
#define TABLE_OF_ENTRIES(variable_, name_)                                                                             \
    const struct firn_metadata_table variable_ = {                                                                     \
        .name = (name_),                                                                                               \
        .reads_manifests = true,                                                                                       \
        .columns = entry_columns,                                                                                      \
        .open = open_rows,                                                                                             \
        .next = next_row,                                                                                              \
        .cell = entry_cell,                                                                                            \
        .close = close_rows,                                                                                           \
    }

TABLE_OF_FILES(firn_files_table, "files");
TABLE_OF_FILES(firn_data_files_table, "data_files");
TABLE_OF_FILES(firn_delete_files_table, "delete_files");
TABLE_OF_FILES(firn_all_files_table, "all_files");
TABLE_OF_FILES(firn_all_data_files_table, "all_data_files");
TABLE_OF_FILES(firn_all_delete_files_table, "all_delete_files");
TABLE_OF_ENTRIES(firn_entries_table, "entries");
TABLE_OF_ENTRIES(firn_all_entries_table, "all_entries");
