/* Reading position delete files as two columns, and deletion vectors as a range of bytes. */
#include "rewrite/deletion_position.h"

#include "base/math.h"
#include "format/avro/rows.h"
#include "format/puffin/deletion_vector.h"
#include "rewrite/file_rows.h"
#include "table/delete_index.h"

#define AVRO_BYTES_MAX (UINT64_C(1) << 32)

struct firn_text firn_delete_target(const struct firn_map *live, struct firn_text location)
{
    return firn_map_find_text(live, location) ? location : firn_delete_path_bare(location);
}

/* Where the rows of one delete file go. */
struct collecting {
    const struct firn_map *live;
    struct firn_map *out;
    struct firn_text path; /* of the row before, and its set: rows of one data file mostly follow each other */
    struct firn_positions *positions;
};

static firn_status find_positions(struct firn_op *op, struct collecting *collecting, struct firn_text path)
{
    struct firn_text target = firn_delete_target(collecting->live, path);
    struct firn_map_entry *entry = firn_map_find_text(collecting->out, target);
    if (!entry) {
        struct firn_positions *positions;
        FIRN_TRY(firn_positions_new(op, &positions));
        entry = firn_map_put_text(collecting->out, firn_text_copy(op->arena, target));
        entry->value.pointer = positions;
    }
    collecting->positions = entry->value.pointer;
    return FIRN_OK;
}

static firn_status add_row(struct firn_op *op, struct collecting *collecting, struct firn_text path, int64_t position)
{
    if (!collecting->positions || !firn_text_same(path, collecting->path))
        FIRN_TRY(find_positions(op, collecting, path));
    collecting->path = path;
    return firn_positions_add(op, collecting->positions, position);
}

static firn_status add_batch(struct firn_op *op, void *context, const struct firn_row_batch *batch)
{
    struct collecting *collecting = context;
    collecting->positions = NULL; /* the path before went with its batch */
    for (uint32_t i = 0; i < batch->row_count; i++) {
        const struct firn_value *path = &batch->columns[0][i], *position = &batch->columns[1][i];
        if (path->is_null)
            continue;
        if (position->is_null)
            return firn_fail(op, FIRN_CORRUPT, "row %" PRId64 " has a path but no position", batch->first + i);
        FIRN_TRY(add_row(op, collecting, firn_text_of_bytes(path->bytes), position->integer));
    }
    return FIRN_OK;
}

static firn_status read_parquet(struct firn_op *op, const struct firn_position_source *source,
                                const struct firn_data_file *file, struct collecting *collecting)
{
    struct firn_text path_names[] = { FIRN_TEXT_INIT("file_path") };
    struct firn_text position_names[] = { FIRN_TEXT_INIT("pos") };
    struct firn_name_mapped mapped[] = {
        { .has_id = true, .id = FIRN_FIELD_ID_DELETE_FILE_PATH, .names = path_names, .name_count = 1 },
        { .has_id = true, .id = FIRN_FIELD_ID_DELETE_FILE_POS, .names = position_names, .name_count = 1 },
    };
    struct firn_name_mapping mapping = { mapped, FIRN_COUNT_OF(mapped) };
    struct firn_field fields[] = {
        { FIRN_FIELD_ID_DELETE_FILE_PATH, .name = path_names[0], .type = { .id = FIRN_TYPE_STRING } },
        { FIRN_FIELD_ID_DELETE_FILE_POS, .name = position_names[0], .type = { .id = FIRN_TYPE_LONG } },
    };
    struct firn_schema schema = { .root = { .id = FIRN_TYPE_STRUCT, .field_count = 2, .fields = fields } };
    struct firn_output_schema columns;
    FIRN_TRY(firn_output_schema_new(op, &schema, false, &columns));
    struct firn_id_sources ids = { .mapping = &mapping };
    struct firn_file_rows_config config = {
        .metadata = source->metadata,
        .store = source->store,
        .schema = &columns,
        .ids = &ids,
        .file = file,
        .complete = true,
    };
    return firn_file_rows_read(op, &config, add_batch, collecting);
}

struct avro_row {
    struct firn_text path;
    int64_t position;
};

static const struct firn_avro_column avro_columns[] = {
    { .id = FIRN_FIELD_ID_DELETE_FILE_PATH,
      .name = FIRN_TEXT_INIT("file_path"),
      .member = FIRN_AVRO_MEMBER_TEXT,
      .optional = true,
      .offset = offsetof(struct avro_row, path) },
    { .id = FIRN_FIELD_ID_DELETE_FILE_POS,
      .name = FIRN_TEXT_INIT("pos"),
      .member = FIRN_AVRO_MEMBER_I64,
      .optional = true,
      .offset = offsetof(struct avro_row, position) },
};

/* The columns may hold nulls, but a file that lacks one deletes nothing only by mistake. */
static firn_status check_avro_columns(struct firn_op *op, const struct firn_avro_type *type)
{
    for (size_t i = 0; i < FIRN_COUNT_OF(avro_columns); i++) {
        const struct firn_avro_column *column = &avro_columns[i];
        bool found = false;
        for (uint32_t j = 0; j < type->field_count; j++)
            found |= type->fields[j].id == column->id ||
                     (type->fields[j].id == FIRN_AVRO_NO_ID && firn_text_same(type->fields[j].name, column->name));
        if (!found)
            return firn_fail(op, FIRN_CORRUPT, "file lacks the column '%.*s' (field id %d)", FIRN_FMT(column->name),
                             column->id);
    }
    return FIRN_OK;
}

static firn_status add_avro_row(struct firn_op *op, struct collecting *collecting, const struct avro_row *row)
{
    if (!row->path.data)
        return FIRN_OK;
    if (row->position == FIRN_AVRO_ABSENT)
        return firn_fail(op, FIRN_CORRUPT, "a row has a path but no position");
    return add_row(op, collecting, row->path, row->position);
}

/* `op` keeps the positions, `scratch` the blocks of the file. */
static firn_status add_avro_rows(struct firn_op *op, struct firn_op *scratch, struct firn_bytes file,
                                 struct collecting *collecting)
{
    static const struct firn_avro_layout layout = { .columns = avro_columns,
                                                    .column_count = FIRN_COUNT_OF(avro_columns) };
    struct firn_avro_reader reader;
    struct firn_avro_rows rows;
    bool got = true;
    FIRN_TRY(firn_avro_reader_init(scratch, file, &reader));
    FIRN_TRY(check_avro_columns(scratch, reader.type));
    FIRN_TRY(firn_avro_rows_init(scratch, &reader, &layout, false, &rows));
    while (got) {
        struct avro_row row = { .position = FIRN_AVRO_ABSENT };
        FIRN_TRY(firn_avro_rows_next(scratch, &rows, &row, &got));
        if (!got)
            break;
        firn_status status = add_avro_row(op, collecting, &row);
        if (status != FIRN_OK) {
            scratch->error = op->error;
            return status;
        }
    }
    return FIRN_OK;
}

static firn_status read_avro(struct firn_op *op, const struct firn_position_source *source,
                             const struct firn_data_file *file, struct collecting *collecting)
{
    struct firn_buffer bytes = { 0 };
    struct firn_arena arena;
    struct firn_op scratch = *op;
    FIRN_TRY(firn_store_read(op, source->store, file->path, AVRO_BYTES_MAX, &bytes));
    firn_arena_init(&arena);
    scratch.arena = &arena;
    firn_status status = add_avro_rows(op, &scratch, firn_buffer_bytes(&bytes), collecting);
    op->error = scratch.error;
    firn_arena_done(&arena);
    firn_buffer_done(&bytes);
    return status;
}

firn_status firn_position_deletes_read(struct firn_op *op, const struct firn_position_source *source,
                                       const struct firn_data_file *file, struct firn_map *out)
{
    struct collecting collecting = { .live = source->live, .out = out };
    if (file->key_metadata.len > 0)
        return firn_fail(op, FIRN_UNSUPPORTED, "the file is encrypted");
    if (file->format == FIRN_FILE_PARQUET)
        return read_parquet(op, source, file, &collecting);
    if (file->format == FIRN_FILE_AVRO)
        return read_avro(op, source, file, &collecting);
    return firn_fail(op, FIRN_UNSUPPORTED,
                     "the format is %.*s, and firn reads position deletes of Parquet and Avro only",
                     FIRN_FMT(file->format_text));
}

static firn_status read_blob(struct firn_op *op, struct firn_store *store, const struct firn_data_file *file,
                             struct firn_buffer *blob)
{
    struct firn_object *object;
    FIRN_TRY(firn_buffer_resize(op, blob, (size_t)file->content_bytes));
    FIRN_TRY(firn_object_open(op, store, file->path, &object));
    firn_status status =
        firn_object_read(op, object, (uint64_t)file->content_offset, (size_t)file->content_bytes, blob->data);
    firn_object_close(object);
    return status;
}

firn_status firn_deletion_vector_read(struct firn_op *op, struct firn_store *store, const struct firn_data_file *file,
                                      struct firn_positions **out)
{
    struct firn_buffer blob = { 0 };
    if (file->content_offset < 0 || file->content_bytes <= 0 ||
        file->content_bytes > (int64_t)FIRN_PUFFIN_BLOB_BYTES_MAX)
        return firn_fail(op, FIRN_CORRUPT,
                         "its manifest entry gives no place for the vector: offset %" PRId64 ", %" PRId64 " bytes",
                         file->content_offset, file->content_bytes);
    firn_status status = read_blob(op, store, file, &blob);
    if (status == FIRN_OK)
        status = firn_deletion_vector_decode(op, firn_buffer_bytes(&blob), file->record_count, out);
    firn_buffer_done(&blob);
    return status;
}
