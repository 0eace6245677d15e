/* Keys of rows: the canonical bytes of their columns, one after the other. Null equals null, NaN equals NaN, and -0.0
 * is not 0.0, as in the reference. */
#include "rewrite/deletion_equality.h"

/* Finding the columns. Recursion here is as deep as the schema, which its parser limits. ------------------------- */

static bool contains(const struct firn_field *field, int32_t id)
{
    if (field->id == id)
        return true;
    for (uint32_t i = 0; i < field->type.field_count; i++)
        if (contains(&field->type.fields[i], id))
            return true;
    return false;
}

static struct firn_field *find_field(const struct firn_type *type, int32_t id)
{
    for (uint32_t i = 0; i < type->field_count; i++)
        if (type->fields[i].id == id)
            return &type->fields[i];
    return NULL;
}

/* Appends a field without its children. A column that was dropped is missing in newer files, required or not. */
static struct firn_field *add_field(struct firn_op *op, struct firn_type *type, const struct firn_field *from)
{
    size_t capacity = type->field_count;
    type->fields = firn_array_grow(op->arena, type->fields, type->field_count, &capacity, sizeof *type->fields);
    struct firn_field *field = &type->fields[type->field_count++];
    *field = *from;
    field->required = false;
    field->type.fields = NULL;
    field->type.field_count = 0;
    return field;
}

/* Copies the way from `from` to the column into `into`, which may hold part of it. */
static firn_status add_path(struct firn_op *op, struct firn_type *into, const struct firn_type *from, int32_t id)
{
    const struct firn_field *step = NULL;
    for (uint32_t i = 0; i < from->field_count && !step; i++)
        if (contains(&from->fields[i], id))
            step = &from->fields[i];
    if (!step || from->id != FIRN_TYPE_STRUCT)
        return firn_fail(op, FIRN_UNSUPPORTED, "equality id %d is inside a list or map", id);
    if (step->id == id) {
        if (!firn_type_is_primitive(step->type.id))
            return firn_fail(op, FIRN_UNSUPPORTED, "equality id %d is '%.*s' of type %s, which cannot be compared", id,
                             FIRN_FMT(step->name), firn_type_name(step->type.id));
        add_field(op, into, step);
        return FIRN_OK;
    }
    struct firn_field *inner = find_field(into, step->id);
    if (!inner)
        inner = add_field(op, into, step);
    return add_path(op, &inner->type, &step->type, id);
}

static const struct firn_schema *schema_with(const struct firn_id_sources *schemas, int32_t id)
{
    for (size_t i = 0; i < schemas->schema_count; i++)
        if (firn_schema_field(schemas->schemas[i], id))
            return schemas->schemas[i];
    return NULL;
}

firn_status firn_key_columns_new(struct firn_op *op, const struct firn_id_sources *schemas, const int32_t *ids,
                                 uint32_t id_count, struct firn_key_columns *out)
{
    *out = (struct firn_key_columns){ .schema.root.id = FIRN_TYPE_STRUCT };
    if (id_count == 0)
        return firn_fail(op, FIRN_CORRUPT, "the manifest names no equality ids");
    for (uint32_t i = 0; i < id_count; i++) {
        const struct firn_schema *schema = schema_with(schemas, ids[i]);
        if (!schema)
            return firn_fail(op, FIRN_CORRUPT, "equality id %d is in no schema of the table", ids[i]);
        FIRN_TRY(add_path(op, &out->schema.root, &schema->root, ids[i]));
    }
    return firn_output_schema_new(op, &out->schema, false, &out->leaves);
}

/* Keys of rows. -------------------------------------------------------------------------------------------------- */

static firn_status make_key(struct firn_op *op, const struct firn_key_columns *columns,
                            const struct firn_row_batch *batch, uint32_t row, struct firn_buffer *key)
{
    firn_buffer_clear(key);
    for (uint32_t i = 0; i < columns->leaves.leaf_count; i++)
        FIRN_TRY(firn_value_key(op, &batch->columns[i][row], key));
    return FIRN_OK;
}

static firn_status check_format(struct firn_op *op, const struct firn_data_file *file)
{
    if (file->key_metadata.len > 0)
        return firn_fail(op, FIRN_UNSUPPORTED, "the file is encrypted");
    if (file->format != FIRN_FILE_PARQUET)
        return firn_fail(op, FIRN_UNSUPPORTED, "the format is %.*s, and firn reads keys of Parquet only",
                         FIRN_FMT(file->format_text));
    return FIRN_OK;
}

struct adding {
    const struct firn_key_columns *columns;
    struct firn_key_table *table;
    int64_t sequence_number;
    struct firn_buffer key;
};

static firn_status add_batch(struct firn_op *op, void *context, const struct firn_row_batch *batch)
{
    struct adding *adding = context;
    for (uint32_t row = 0; row < batch->row_count; row++) {
        FIRN_TRY(make_key(op, adding->columns, batch, row, &adding->key));
        FIRN_TRY(firn_key_table_put(op, adding->table, firn_buffer_bytes(&adding->key), adding->sequence_number));
    }
    return FIRN_OK;
}

firn_status firn_key_table_add_file(struct firn_op *op, const struct firn_key_source *source,
                                    const struct firn_key_columns *columns, const struct firn_manifest_entry *del,
                                    struct firn_key_table *table)
{
    struct adding adding = { .columns = columns, .table = table, .sequence_number = del->sequence_number };
    struct firn_file_rows_config config = {
        .metadata = source->metadata,
        .store = source->store,
        .schema = &columns->leaves,
        .ids = &source->ids,
        .file = &del->file,
        .complete = true,
    };
    FIRN_TRY(check_format(op, &del->file));
    firn_status status = firn_file_rows_read(op, &config, add_batch, &adding);
    firn_buffer_done(&adding.key);
    return status;
}

struct matching {
    const struct firn_key_columns *columns;
    const struct firn_key_table *const *tables;
    uint32_t table_count;
    int64_t sequence_number;
    struct firn_positions *out;
    struct firn_buffer key;
};

static firn_status match_batch(struct firn_op *op, void *context, const struct firn_row_batch *batch)
{
    struct matching *matching = context;
    for (uint32_t row = 0; row < batch->row_count; row++) {
        bool deleted = false;
        FIRN_TRY(make_key(op, matching->columns, batch, row, &matching->key));
        for (uint32_t i = 0; i < matching->table_count && !deleted; i++)
            deleted = firn_key_table_deletes(matching->tables[i], firn_buffer_bytes(&matching->key),
                                             matching->sequence_number);
        if (deleted)
            FIRN_TRY(firn_positions_add(op, matching->out, batch->first + row));
    }
    return FIRN_OK;
}

firn_status firn_key_tables_match(struct firn_op *op, const struct firn_key_source *source,
                                  const struct firn_key_columns *columns, const struct firn_key_table *const *tables,
                                  uint32_t table_count, const struct firn_manifest_entry *data,
                                  struct firn_positions *out)
{
    struct matching matching = {
        .columns = columns,
        .tables = tables,
        .table_count = table_count,
        .sequence_number = data->sequence_number,
        .out = out,
    };
    struct firn_file_rows_config config = {
        .metadata = source->metadata,
        .store = source->store,
        .schema = &columns->leaves,
        .ids = &source->ids,
        .file = &data->file,
    };
    FIRN_TRY(check_format(op, &data->file));
    firn_status status = firn_file_rows_read(op, &config, match_batch, &matching);
    firn_buffer_done(&matching.key);
    return status;
}
