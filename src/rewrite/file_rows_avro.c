/* Columns of an Avro file, bound by field id and decoded block by block into scalars, then values of the table's types.
 * Iceberg spec, "Column Projection", "Appendix A: Avro". */
#include "rewrite/file_rows_avro.h"

#include "base/math.h"
#include "format/avro/container.h"
#include "format/avro/layout.h"

#define FILE_BYTES_MAX (UINT64_C(1) << 32)

#define MICROS_PER_MILLI 1000

/* One leaf of the schema. */
struct avro_column {
    const struct firn_field *field;
    bool has_constant; /* a partition value or a default */
    struct firn_value constant;
    struct firn_value *values; /* of the batch */
};

struct reading {
    const struct firn_file_rows_config *config;
    struct avro_column *columns;
    uint32_t column_count;
    struct firn_value **values;
    struct firn_avro_scalar *row;
    struct firn_buffer file, block;
    struct firn_avro_reader reader;
    const struct firn_avro_plan *plan;
};

/* Binding. -------------------------------------------------------------------------------------------------------- */

static const struct firn_avro_type *without_null(const struct firn_avro_type *type)
{
    for (uint32_t i = 0; type->kind == FIRN_AVRO_UNION && i < type->branch_count; i++)
        if (type->branches[i]->kind != FIRN_AVRO_NULL)
            return type->branches[i];
    return type;
}

static const struct firn_avro_field *find_writer_field(const struct firn_avro_type *record, int32_t id,
                                                       const struct firn_name_mapping *mapping)
{
    for (uint32_t i = 0; i < record->field_count; i++) {
        const struct firn_avro_field *field = &record->fields[i];
        const struct firn_name_mapped *mapped =
            field->id == FIRN_AVRO_NO_ID && mapping ? firn_name_mapping_find(mapping, field->name) : NULL;
        if (field->id == id || (mapped && mapped->has_id && mapped->id == id))
            return field;
    }
    return NULL;
}

static firn_status check_ids(struct firn_op *op, const struct reading *reading)
{
    const struct firn_avro_type *record = reading->reader.type;
    if (record->kind != FIRN_AVRO_RECORD)
        return firn_fail(op, FIRN_CORRUPT, "its rows are no records");
    for (uint32_t i = 0; i < record->field_count; i++)
        if (record->fields[i].id != FIRN_AVRO_NO_ID || reading->config->ids->mapping)
            return FIRN_OK;
    firn_status status =
        firn_fail(op, FIRN_UNSUPPORTED, "the file has no field ids, and the table has no name mapping");
    return firn_hint(op, status, "set the table property schema.name-mapping.default");
}

static struct avro_column *column_of(const struct reading *reading, const struct firn_field *field)
{
    return &reading->columns[firn_output_schema_find(reading->config->schema, field->id)->node->leaf_index];
}

static bool is_struct(const struct firn_field *field)
{
    return field->type.id == FIRN_TYPE_STRUCT;
}

/* A column that the file lacks is its default, else null. The default of a column in a struct would depend on whether
 * the struct is there. */
static firn_status bind_missing(struct firn_op *op, const struct reading *reading, const struct firn_field *field,
                                bool nested)
{
    for (uint32_t i = 0; i < field->type.field_count; i++)
        FIRN_TRY(bind_missing(op, reading, &field->type.fields[i], true));
    if (is_struct(field) || field->type.id == FIRN_TYPE_UNKNOWN)
        return FIRN_OK;
    if (reading->config->complete)
        return firn_fail(op, FIRN_CORRUPT, "the file lacks the column '%.*s' (field id %d)", FIRN_FMT(field->name),
                         field->id);
    struct avro_column *column = column_of(reading, field);
    if (!field->initial_default || json_is_null(field->initial_default))
        return FIRN_OK;
    if (nested)
        return firn_fail(op, FIRN_UNSUPPORTED, "the file lacks the column '%.*s' in a struct, which has a default",
                         FIRN_FMT(field->name));
    column->has_constant = true;
    return firn_value_parse_json(op, &field->type, field->initial_default, &column->constant);
}

static firn_status bind_constant(struct firn_op *op, struct avro_column *column, const struct firn_value *value)
{
    column->has_constant = true;
    column->constant = *value;
    if (value->is_null || firn_value_as(&column->field->type, value, &column->constant))
        return FIRN_OK;
    return firn_fail(op, FIRN_CORRUPT, "the partition value of column '%.*s' is of another type",
                     FIRN_FMT(column->field->name));
}

struct binding {
    const struct firn_type *type;            /* a struct of the table */
    const struct firn_avro_type *record;     /* what the writer made of it */
    const struct firn_name_mapping *mapping; /* names of its fields; NULL: none */
    bool nested;
};

static firn_status bind_struct(struct firn_op *op, struct reading *reading, const struct binding *binding,
                               struct firn_avro_layout *out);

static firn_status bind_found(struct firn_op *op, struct reading *reading, const struct binding *binding,
                              const struct firn_field *field, const struct firn_avro_field *found,
                              struct firn_avro_column *out)
{
    const struct firn_avro_type *type = without_null(found->type);
    *out = (struct firn_avro_column){ .id = field->id, .name = found->name, .optional = true };
    if (!is_struct(field)) {
        out->member = FIRN_AVRO_MEMBER_SCALAR;
        out->offset = (size_t)(column_of(reading, field) - reading->columns) * sizeof *reading->row;
        return FIRN_OK;
    }
    struct firn_avro_layout *record = FIRN_NEW(op->arena, struct firn_avro_layout);
    const struct firn_name_mapped *mapped =
        binding->mapping ? firn_name_mapping_find(binding->mapping, found->name) : NULL;
    struct binding inner = { &field->type, type, mapped ? &mapped->children : NULL, true };
    out->member = FIRN_AVRO_MEMBER_RECORD;
    out->record = record;
    if (type->kind != FIRN_AVRO_RECORD)
        return firn_fail(op, FIRN_CORRUPT, "column '%.*s' is no record, which a struct needs", FIRN_FMT(field->name));
    return bind_struct(op, reading, &inner, record);
}

/* Recursion is as deep as the table's schema, which its parser limits. */
static firn_status bind_struct(struct firn_op *op, struct reading *reading, const struct binding *binding,
                               struct firn_avro_layout *out)
{
    const struct firn_data_file *file = reading->config->file;
    const struct firn_partition_spec *spec = firn_metadata_spec(reading->config->metadata, file->spec_id);
    struct firn_avro_column *columns = FIRN_NEW_ARRAY(op->arena, struct firn_avro_column, binding->type->field_count);
    out->columns = columns;
    for (uint32_t i = 0; i < binding->type->field_count; i++) {
        const struct firn_field *field = &binding->type->fields[i];
        const struct firn_value *value =
            is_struct(field) ? NULL : firn_partition_identity_value(spec, &file->partition, field->id);
        const struct firn_avro_field *found = find_writer_field(binding->record, field->id, binding->mapping);
        if (field->type.id == FIRN_TYPE_UNKNOWN)
            continue;
        if (value)
            FIRN_TRY(bind_constant(op, column_of(reading, field), value));
        else if (!found)
            FIRN_TRY(bind_missing(op, reading, field, binding->nested));
        else
            FIRN_TRY(bind_found(op, reading, binding, field, found, &columns[out->column_count++]));
    }
    return FIRN_OK;
}

/* Values. --------------------------------------------------------------------------------------------------------- */

static bool is_logical(const struct firn_avro_type *type, const char *name)
{
    return firn_text_is(type->logical_type, name);
}

static bool take_integer(const struct firn_type *to, const struct firn_avro_scalar *scalar, struct firn_value *out)
{
    const struct firn_avro_type *type = scalar->type;
    out->integer = scalar->integer;
    if (to->id == FIRN_TYPE_BOOLEAN)
        return type->kind == FIRN_AVRO_BOOLEAN;
    if (type->kind != FIRN_AVRO_INT && type->kind != FIRN_AVRO_LONG)
        return false;
    if (to->id == FIRN_TYPE_INT || to->id == FIRN_TYPE_DATE)
        return out->integer == (int32_t)out->integer;
    if (is_logical(type, "time-millis") || is_logical(type, "timestamp-millis") ||
        is_logical(type, "local-timestamp-millis"))
        return (to->id == FIRN_TYPE_TIME || to->id == FIRN_TYPE_TIMESTAMP || to->id == FIRN_TYPE_TIMESTAMPTZ) &&
               !__builtin_mul_overflow(out->integer, MICROS_PER_MILLI, &out->integer);
    if (is_logical(type, "date")) {
        struct firn_type date = { .id = FIRN_TYPE_DATE };
        struct firn_value day = { .type = FIRN_TYPE_DATE, .integer = out->integer };
        return firn_value_promote(&date, to, &day, out);
    }
    return true;
}

static bool take_bytes(const struct firn_type *to, const struct firn_avro_scalar *scalar, struct firn_value *out)
{
    enum firn_avro_kind kind = scalar->type->kind;
    bool has_bytes = kind == FIRN_AVRO_BYTES || kind == FIRN_AVRO_STRING || kind == FIRN_AVRO_FIXED;
    if (!has_bytes)
        return false;
    out->bytes = scalar->bytes;
    switch (to->id) {
    case FIRN_TYPE_DECIMAL:
        return is_logical(scalar->type, "decimal") && scalar->type->scale == to->scale &&
               firn_decimal_of_bytes(scalar->bytes, &out->decimal) && firn_decimal_fits(out->decimal, to->precision);
    case FIRN_TYPE_UUID:
        return scalar->bytes.len == 16;
    case FIRN_TYPE_FIXED:
        return scalar->bytes.len == (size_t)to->length;
    case FIRN_TYPE_STRING:
    case FIRN_TYPE_BINARY:
        return true;
    default:
        return false;
    }
}

static bool take_value(const struct firn_type *to, const struct firn_avro_scalar *scalar, struct firn_value *out)
{
    enum firn_avro_kind kind = scalar->type->kind;
    switch (to->id) {
    case FIRN_TYPE_FLOAT:
    case FIRN_TYPE_DOUBLE:
        out->real = scalar->real;
        return kind == FIRN_AVRO_FLOAT || (kind == FIRN_AVRO_DOUBLE && to->id == FIRN_TYPE_DOUBLE);
    case FIRN_TYPE_DECIMAL:
    case FIRN_TYPE_UUID:
    case FIRN_TYPE_FIXED:
    case FIRN_TYPE_STRING:
    case FIRN_TYPE_BINARY:
        return take_bytes(to, scalar, out);
    case FIRN_TYPE_GEOMETRY:
    case FIRN_TYPE_GEOGRAPHY:
        return false;
    default:
        return take_integer(to, scalar, out);
    }
}

static firn_status set_value(struct firn_op *op, const struct avro_column *column,
                             const struct firn_avro_scalar *scalar, struct firn_value *out)
{
    const struct firn_type *type = &column->field->type;
    *out = (struct firn_value){ .type = type->id, .is_null = true };
    if (column->has_constant) {
        *out = column->constant;
        return FIRN_OK;
    }
    if (!scalar->type)
        return FIRN_OK;
    out->is_null = false;
    if (take_value(type, scalar, out))
        return FIRN_OK;
    return firn_fail(op, FIRN_UNSUPPORTED, "column '%.*s' holds a value of Avro type %s that is no %.*s",
                     FIRN_FMT(column->field->name), firn_avro_kind_name(scalar->type->kind),
                     FIRN_FMT(firn_type_text(op->arena, type)));
}

/* Reading. -------------------------------------------------------------------------------------------------------- */

static firn_status open_reading(struct firn_op *op, struct reading *reading)
{
    const struct firn_file_rows_config *config = reading->config;
    const struct firn_output_schema *schema = config->schema;
    struct firn_avro_layout layout = { 0 };
    if (!firn_metadata_spec(config->metadata, config->file->spec_id))
        return firn_fail(op, FIRN_CORRUPT, "the table has no partition spec %d", config->file->spec_id);
    FIRN_TRY(firn_store_read(op, config->store, config->file->path, FILE_BYTES_MAX, &reading->file));
    FIRN_TRY(firn_avro_reader_init(op, firn_buffer_bytes(&reading->file), &reading->reader));
    FIRN_TRY(check_ids(op, reading));
    reading->column_count = schema->leaf_count;
    reading->columns = FIRN_NEW_ARRAY(op->arena, struct avro_column, schema->leaf_count);
    reading->values = FIRN_NEW_ARRAY(op->arena, struct firn_value *, schema->leaf_count);
    reading->row = FIRN_NEW_ARRAY(op->arena, struct firn_avro_scalar, schema->leaf_count);
    for (uint32_t i = 0; i < schema->leaf_count; i++) {
        reading->values[i] = FIRN_NEW_ARRAY(op->arena, struct firn_value, FIRN_FILE_ROWS_MAX);
        reading->columns[i] = (struct avro_column){ .field = schema->leaves[i].field, .values = reading->values[i] };
    }
    struct binding root = { &schema->schema->root, reading->reader.type, config->ids->mapping, false };
    FIRN_TRY(bind_struct(op, reading, &root, &layout));
    struct firn_avro_layout *kept = FIRN_NEW(op->arena, struct firn_avro_layout);
    *kept = layout;
    return firn_avro_plan_new(op, reading->reader.type, kept, &reading->plan);
}

/* `count` rows of the block at hand. */
static firn_status read_batch(struct firn_op *op, struct reading *reading, struct firn_avro_decoder *decoder,
                              uint32_t count)
{
    FIRN_TRY(firn_op_check(op));
    for (uint32_t row = 0; row < count; row++) {
        memset(reading->row, 0, reading->column_count * sizeof *reading->row);
        firn_avro_plan_decode(reading->plan, decoder, reading->row);
        FIRN_TRY(firn_cursor_finish(op, &decoder->in, "avro row"));
        for (uint32_t i = 0; i < reading->column_count; i++)
            FIRN_TRY(set_value(op, &reading->columns[i], &reading->row[i], &reading->values[i][row]));
    }
    return FIRN_OK;
}

/* `op` is the visit's, `inner` the reading's. */
static firn_status read_blocks(struct firn_op *op, struct firn_op *inner, struct reading *reading,
                               firn_file_rows_visit *visit, void *context)
{
    struct firn_row_batch batch = { .columns = reading->values };
    for (;;) {
        struct firn_avro_block block;
        FIRN_TRY(firn_avro_reader_next(inner, &reading->reader, &reading->block, &block));
        if (block.row_count == 0)
            return FIRN_OK;
        struct firn_avro_decoder decoder = { .in = firn_cursor_of(block.data), .arena = inner->arena };
        for (uint64_t left = block.row_count; left > 0; left -= batch.row_count) {
            batch.row_count = (uint32_t)FIRN_MIN(left, FIRN_FILE_ROWS_MAX);
            FIRN_TRY(read_batch(inner, reading, &decoder, batch.row_count));
            firn_status status = visit(op, context, &batch);
            if (status != FIRN_OK) {
                inner->error = op->error;
                return status;
            }
            batch.first += batch.row_count;
        }
    }
}

firn_status firn_avro_file_rows_read(struct firn_op *op, const struct firn_file_rows_config *config,
                                     firn_file_rows_visit *visit, void *context)
{
    struct reading reading = { .config = config };
    struct firn_arena arena;
    struct firn_op inner = *op;
    firn_arena_init(&arena);
    inner.arena = &arena;
    firn_status status = open_reading(&inner, &reading);
    if (status == FIRN_OK)
        status = read_blocks(op, &inner, &reading, visit, context);
    op->error = inner.error;
    firn_arena_done(&arena);
    firn_buffer_done(&reading.block);
    firn_buffer_done(&reading.file);
    return status;
}
