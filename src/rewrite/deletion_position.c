/* Reading position delete files as two columns, and deletion vectors as a range of bytes. */
#include "rewrite/deletion_position.h"

#include "base/math.h"
#include "base/utf8.h"
#include "format/avro/container.h"
#include "format/puffin/deletion_vector.h"
#include "rewrite/file_rows_orc.h"
#include "table/delete_index.h"
#include "table/parquet_footer.h"

#define AVRO_BYTES_MAX (UINT64_C(1) << 32)

enum { NAME_IS_BARE, NAME_IS_LIVE };

void firn_delete_names_init(struct firn_delete_names *names, struct firn_arena *arena)
{
    firn_map_init(&names->map, arena);
}

void firn_delete_names_add(struct firn_delete_names *names, struct firn_text location)
{
    firn_map_put_text(&names->map, firn_delete_path_bare(location));
    firn_map_put_text(&names->map, location)->value.number = NAME_IS_LIVE;
}

bool firn_delete_names_live(const struct firn_delete_names *names, struct firn_text location)
{
    const struct firn_map_entry *entry = firn_map_find_text(&names->map, location);
    return entry && entry->value.number == NAME_IS_LIVE;
}

/* The name under which the deletes of a location are kept. */
static struct firn_text target_of(const struct firn_delete_names *names, struct firn_text location)
{
    return firn_delete_names_live(names, location) ? location : firn_delete_path_bare(location);
}

/* Where the rows of one delete file go. */
struct collecting {
    const struct firn_delete_names *names;
    struct firn_map *out;
    bool has_path;         /* of the row before, and its set: rows of one data file mostly follow each other */
    struct firn_text path; /* while has_path */
    struct firn_positions *positions; /* NULL: the path is of no data file that was asked for */
};

static firn_status find_positions(struct firn_op *op, struct collecting *collecting, struct firn_text path)
{
    struct firn_text target = target_of(collecting->names, path);
    struct firn_map_entry *entry = firn_map_find_text(collecting->out, target);
    const struct firn_map_entry *name = firn_map_find_text(&collecting->names->map, target);
    collecting->positions = NULL;
    if (!name && !firn_text_is_utf8(path)) /* a damaged path must not pass for that of a file that has left */
        return firn_fail(op, FIRN_CORRUPT, "it names a data file by bytes that are no UTF-8 text");
    if (!name)
        return FIRN_OK;
    if (!entry) {
        struct firn_positions *positions;
        FIRN_TRY(firn_positions_new(op, &positions));
        entry = firn_map_put(collecting->out, name->key);
        entry->value.pointer = positions;
    }
    collecting->positions = entry->value.pointer;
    return FIRN_OK;
}

static firn_status add_row(struct firn_op *op, struct collecting *collecting, struct firn_text path, int64_t position)
{
    if (position < 0 || position > FIRN_POSITION_MAX)
        return firn_fail(op, FIRN_CORRUPT, "row position %" PRId64 " is not between 0 and %" PRId64, position,
                         FIRN_POSITION_MAX);
    if (!collecting->has_path || !firn_text_same(path, collecting->path))
        FIRN_TRY(find_positions(op, collecting, path));
    collecting->has_path = true;
    collecting->path = path;
    return collecting->positions ? firn_positions_add(op, collecting->positions, position) : FIRN_OK;
}

static firn_status add_batch(struct firn_op *op, void *context, const struct firn_row_batch *batch)
{
    struct collecting *collecting = context;
    collecting->has_path = false; /* the one before went with its batch */
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

enum { POSITION_FIELD_COUNT = 2 };

static const struct firn_field position_fields[POSITION_FIELD_COUNT] = {
    { FIRN_FIELD_ID_DELETE_FILE_PATH, .name = FIRN_TEXT_INIT("file_path"), .type = { .id = FIRN_TYPE_STRING } },
    { FIRN_FIELD_ID_DELETE_FILE_POS, .name = FIRN_TEXT_INIT("pos"), .type = { .id = FIRN_TYPE_LONG } },
};

static struct firn_name_mapped map_column(struct firn_arena *arena, int32_t id, struct firn_text name)
{
    struct firn_text *names = FIRN_NEW(arena, struct firn_text);
    *names = name;
    return (struct firn_name_mapped){ .has_id = true, .id = id, .names = names, .name_count = 1 };
}

/* As deep as the schema's parser lets types nest. */
static struct firn_name_mapping map_fields(struct firn_arena *arena, const struct firn_field *fields, uint32_t count)
{
    struct firn_name_mapping mapping = { FIRN_NEW_ARRAY(arena, struct firn_name_mapped, count), count };
    for (uint32_t i = 0; i < count; i++) {
        mapping.fields[i] = map_column(arena, fields[i].id, fields[i].name);
        mapping.fields[i].children = map_fields(arena, fields[i].type.fields, fields[i].type.field_count);
    }
    return mapping;
}

struct firn_name_mapping firn_position_deletes_mapping(struct firn_arena *arena)
{
    return map_fields(arena, position_fields, POSITION_FIELD_COUNT);
}

static struct firn_schema *schema_of(struct firn_arena *arena, const struct firn_type *row)
{
    struct firn_field *fields = FIRN_NEW_ARRAY(arena, struct firn_field, POSITION_FIELD_COUNT + 1);
    struct firn_schema *schema = FIRN_NEW(arena, struct firn_schema);
    memcpy(fields, position_fields, sizeof position_fields);
    fields[POSITION_FIELD_COUNT].id = FIRN_FIELD_ID_DELETE_FILE_ROW;
    fields[POSITION_FIELD_COUNT].name = FIRN_TEXT("row");
    if (row)
        fields[POSITION_FIELD_COUNT].type = *row;
    schema->root = (struct firn_type){
        .id = FIRN_TYPE_STRUCT,
        .field_count = POSITION_FIELD_COUNT + (row != NULL),
        .fields = fields,
    };
    return schema;
}

static firn_status read_rows(struct firn_op *op, struct firn_file_rows_config *config, firn_file_rows_visit *visit,
                             void *context)
{
    const struct firn_type *root = &config->schema->schema->root;
    struct firn_name_mapping mapping = map_fields(op->arena, root->fields, root->field_count);
    struct firn_id_sources ids = { .mapping = &mapping };
    config->ids = &ids;
    config->complete = true;
    return firn_file_rows_read(op, config, visit, context);
}

firn_status firn_position_rows_read(struct firn_op *op, const struct firn_metadata *metadata, struct firn_store *store,
                                    const struct firn_data_file *file, firn_file_rows_visit *visit, void *context)
{
    struct firn_output_schema columns;
    FIRN_TRY(firn_output_schema_new(op, schema_of(op->arena, NULL), false, &columns));
    struct firn_file_rows_config config = { .metadata = metadata, .store = store, .schema = &columns, .file = file };
    return read_rows(op, &config, visit, context);
}

firn_status firn_position_rows_schema(struct firn_op *op, const struct firn_type *row, struct firn_output_schema *out)
{
    return firn_output_schema_new(op, schema_of(op->arena, row), false, out);
}

firn_status firn_deleted_rows_read(struct firn_op *op, const struct firn_metadata *metadata, struct firn_store *store,
                                   const struct firn_data_file *file, const struct firn_output_schema *schema,
                                   firn_file_rows_visit *visit, void *context)
{
    struct firn_file_rows_config config = {
        .metadata = metadata,
        .store = store,
        .schema = schema,
        .file = file,
        .levels = true,
    };
    return read_rows(op, &config, visit, context);
}

static firn_status charge(struct firn_op *op, const struct firn_map *sets)
{
    for (size_t i = 0; i < sets->count; i++)
        FIRN_TRY(firn_positions_charge(op, sets->entries[i].value.pointer));
    return FIRN_OK;
}

firn_status firn_position_deletes_read(struct firn_op *op, const struct firn_position_source *source,
                                       const struct firn_data_file *file, struct firn_map *out)
{
    struct collecting collecting = { .names = source->names, .out = out };
    FIRN_TRY(firn_position_rows_read(op, source->metadata, source->store, file, add_batch, &collecting));
    return charge(op, out);
}

static firn_status merge_target(struct firn_op *op, const struct firn_map *sets, struct firn_text target,
                                struct firn_positions *out)
{
    const struct firn_map_entry *entry = firn_map_find_text(sets, target);
    return entry ? firn_positions_merge(op, out, entry->value.pointer) : FIRN_OK;
}

firn_status firn_position_deletes_merge(struct firn_op *op, const struct firn_delete_names *names,
                                        const struct firn_map *sets, struct firn_text location,
                                        struct firn_positions *out)
{
    struct firn_text bare = firn_delete_path_bare(location);
    FIRN_TRY(merge_target(op, sets, location, out));
    return firn_delete_names_live(names, bare) ? FIRN_OK : merge_target(op, sets, bare, out);
}

static firn_status parquet_has_rows(struct firn_op *op, struct firn_store *store, const struct firn_data_file *file,
                                    bool *out)
{
    struct firn_footer *footer;
    FIRN_TRY(firn_parquet_footer_load(op, store, file->path, &footer));
    for (uint32_t i = 0; i < footer->root.child_count; i++) {
        const struct firn_parquet_node *column = &footer->root.children[i];
        *out = *out || (column->has_field_id ? column->field_id == FIRN_FIELD_ID_DELETE_FILE_ROW
                                             : firn_text_is(column->name, "row"));
    }
    return FIRN_OK;
}

static firn_status avro_has_rows(struct firn_op *op, struct firn_store *store, const struct firn_data_file *file,
                                 bool *out)
{
    struct firn_buffer *bytes = FIRN_NEW(op->arena, struct firn_buffer);
    struct firn_avro_reader reader;
    firn_buffer_defer(op->arena, bytes);
    FIRN_TRY(firn_store_read(op, store, file->path, AVRO_BYTES_MAX, bytes));
    FIRN_TRY(firn_avro_reader_init(op, firn_buffer_bytes(bytes), &reader));
    for (uint32_t i = 0; i < reader.type->field_count; i++) {
        const struct firn_avro_field *field = &reader.type->fields[i];
        *out = *out || (field->id == FIRN_AVRO_NO_ID ? firn_text_is(field->name, "row")
                                                     : field->id == FIRN_FIELD_ID_DELETE_FILE_ROW);
    }
    return FIRN_OK;
}

static firn_status orc_has_rows(struct firn_op *op, struct firn_store *store, const struct firn_data_file *file,
                                bool *out)
{
    return firn_orc_file_has_column(op, store, file, FIRN_FIELD_ID_DELETE_FILE_ROW, "row", out);
}

firn_status firn_position_deletes_have_rows(struct firn_op *op, struct firn_store *store,
                                            const struct firn_data_file *file, bool *out)
{
    struct firn_scratch scratch;
    *out = false;
    firn_scratch_begin(op, &scratch);
    firn_status status = file->format == FIRN_FILE_AVRO  ? avro_has_rows(op, store, file, out)
                         : file->format == FIRN_FILE_ORC ? orc_has_rows(op, store, file, out)
                                                         : parquet_has_rows(op, store, file, out);
    firn_scratch_end(op, &scratch);
    return status;
}

/* The size is the manifest's word: it is held against the file before memory is taken for it. */
static firn_status read_blob(struct firn_op *op, struct firn_object *object, const struct firn_data_file *file,
                             struct firn_buffer *blob)
{
    uint64_t size = firn_object_size(object), offset = (uint64_t)file->content_offset;
    if (offset > size || (uint64_t)file->content_bytes > size - offset)
        return firn_fail(op, FIRN_CORRUPT,
                         "the vector is said to lie in %" PRId64 " bytes from %" PRId64 " on, the file has %" PRIu64,
                         file->content_bytes, file->content_offset, size);
    return firn_object_read_range(op, object, offset, (uint64_t)file->content_bytes, blob);
}

firn_status firn_deletion_vector_read(struct firn_op *op, struct firn_store *store, const struct firn_data_file *file,
                                      struct firn_positions **out)
{
    struct firn_buffer blob = { 0 };
    struct firn_object *object;
    if (file->content_offset < 0 || file->content_bytes <= 0 ||
        file->content_bytes > (int64_t)FIRN_PUFFIN_BLOB_BYTES_MAX)
        return firn_fail(op, FIRN_CORRUPT,
                         "its manifest entry gives no place for the vector: offset %" PRId64 ", %" PRId64 " bytes",
                         file->content_offset, file->content_bytes);
    FIRN_TRY(firn_object_open(op, store, file->path, &object));
    firn_status status = read_blob(op, object, file, &blob);
    firn_object_close(object);
    if (status == FIRN_OK)
        status = firn_deletion_vector_decode(op, firn_buffer_bytes(&blob), file->record_count, out);
    firn_buffer_done(&blob);
    return status;
}
