/* Manifest lists and manifests, read for the paths in them. */
#include "table/manifest_paths.h"

#include "base/math.h"
#include "format/avro/rows.h"

#define LISTED(id_, name_, kind, member_)                                                                              \
    .id = (id_), .name = FIRN_TEXT_INIT(name_), .member = FIRN_AVRO_MEMBER_##kind,                                     \
    .offset = offsetof(struct firn_named_manifest, member_)
static const struct firn_avro_column list_columns[] = {
    { LISTED(500, "manifest_path", TEXT, path) },
    { LISTED(501, "manifest_length", I64, bytes) },
    { LISTED(502, "partition_spec_id", I32, spec_id) },
    { LISTED(504, "added_files_count", I64_INT, added_files_count), .optional = true },
    { LISTED(505, "existing_files_count", I64_INT, existing_files_count), .optional = true },
};
static const struct firn_avro_layout list_layout = {
    .name = FIRN_TEXT_INIT("manifest_file"),
    .columns = list_columns,
    .column_count = FIRN_COUNT_OF(list_columns),
};

/* An entry as a row. */
struct entry_row {
    enum firn_entry_status status;
    struct firn_named_file file;
};

#define ENTRY(id_, name_, kind, member_)                                                                               \
    .id = (id_), .name = FIRN_TEXT_INIT(name_), .member = FIRN_AVRO_MEMBER_##kind,                                     \
    .offset = offsetof(struct entry_row, member_)
static const struct firn_avro_column file_columns[] = {
    { ENTRY(134, "content", I32, file.content), .optional = true }, /* v1 has none: data */
    { ENTRY(100, "file_path", TEXT, file.path) },
    { ENTRY(104, "file_size_in_bytes", I64, file.bytes) },
};
static const struct firn_avro_layout file_layout = {
    .name = FIRN_TEXT_INIT("r2"),
    .columns = file_columns,
    .column_count = FIRN_COUNT_OF(file_columns),
};
static const struct firn_avro_column entry_columns[] = {
    { ENTRY(0, "status", I32, status) },
    { .id = 2, .name = FIRN_TEXT_INIT("data_file"), .member = FIRN_AVRO_MEMBER_RECORD, .record = &file_layout },
};
static const struct firn_avro_layout entry_layout = {
    .name = FIRN_TEXT_INIT("manifest_entry"),
    .columns = entry_columns,
    .column_count = FIRN_COUNT_OF(entry_columns),
};

/* Takes one row; what it keeps goes to `items`. */
typedef firn_status take_row(struct firn_op *op, const void *row, struct firn_buffer *items);

static firn_status take_manifest(struct firn_op *op, const void *row, struct firn_buffer *items)
{
    return firn_buffer_append(op, items, row, sizeof(struct firn_named_manifest));
}

static firn_status take_entry(struct firn_op *op, const void *row, struct firn_buffer *items)
{
    const struct entry_row *entry = row;
    if ((uint32_t)entry->status > FIRN_ENTRY_DELETED)
        return firn_fail(op, FIRN_CORRUPT, "status %d is none of 0, 1, 2", (int)entry->status);
    if ((uint32_t)entry->file.content > FIRN_CONTENT_EQUALITY_DELETES)
        return firn_fail(op, FIRN_CORRUPT, "content %d is none of 0, 1, 2", (int)entry->file.content);
    if (entry->status == FIRN_ENTRY_DELETED)
        return FIRN_OK;
    return firn_buffer_append(op, items, &entry->file, sizeof entry->file);
}

/* A file of rows: its layout, what a row is before it is read, and where it goes. */
struct row_file {
    const struct firn_avro_layout *layout;
    const void *nothing;
    size_t row_bytes;
    take_row *take;
};

static const struct firn_named_manifest no_manifest = { .added_files_count = FIRN_ABSENT,
                                                        .existing_files_count = FIRN_ABSENT };
static const struct entry_row no_entry = { 0 };
static const struct row_file list_file = { &list_layout, &no_manifest, sizeof no_manifest, take_manifest };
static const struct row_file manifest_file = { &entry_layout, &no_entry, sizeof no_entry, take_entry };

static firn_status take_rows(struct firn_op *op, const struct row_file *kind, struct firn_bytes bytes,
                             struct firn_buffer *items)
{
    struct firn_avro_reader reader;
    struct firn_avro_rows rows;
    void *row = firn_arena_alloc(op->arena, kind->row_bytes);
    bool got;
    FIRN_TRY(firn_avro_reader_init(op, bytes, &reader));
    FIRN_TRY(firn_avro_rows_init(op, &reader, kind->layout, true, &rows));
    for (;;) {
        memcpy(row, kind->nothing, kind->row_bytes);
        FIRN_TRY(firn_avro_rows_next(op, &rows, row, &got));
        if (!got)
            break;
        FIRN_TRY(kind->take(op, row, items));
    }
    firn_avro_rows_done(&rows);
    return FIRN_OK;
}

/* Reads the whole file; its items lie in a buffer of op->arena. */
static firn_status read_items(struct firn_op *op, struct firn_store *store, struct firn_text path,
                              const struct row_file *kind, struct firn_buffer **items, int64_t *file_bytes)
{
    struct firn_buffer bytes = { 0 };
    *items = FIRN_NEW(op->arena, struct firn_buffer);
    firn_buffer_defer(op->arena, *items);
    firn_status status = firn_store_read(op, store, path, FIRN_MANIFEST_BYTES_MAX, &bytes);
    if (status == FIRN_OK)
        status = take_rows(op, kind, firn_buffer_bytes(&bytes), *items);
    *file_bytes = (int64_t)bytes.len;
    firn_buffer_done(&bytes);
    return status;
}

firn_status firn_manifest_list_paths(struct firn_op *op, struct firn_store *store, struct firn_text path,
                                     struct firn_named_manifests *out)
{
    struct firn_buffer *items;
    firn_status status = read_items(op, store, path, &list_file, &items, &out->list_bytes);
    out->items = (struct firn_named_manifest *)(void *)items->data;
    out->count = items->len / sizeof *out->items;
    return firn_context(op, status, "manifest list \"%.*s\"", FIRN_FMT(path));
}

firn_status firn_manifest_paths(struct firn_op *op, struct firn_store *store, struct firn_text path,
                                struct firn_named_files *out)
{
    struct firn_buffer *items;
    int64_t file_bytes;
    firn_status status = read_items(op, store, path, &manifest_file, &items, &file_bytes);
    out->items = (struct firn_named_file *)(void *)items->data;
    out->count = items->len / sizeof *out->items;
    return firn_context(op, status, "manifest \"%.*s\"", FIRN_FMT(path));
}
