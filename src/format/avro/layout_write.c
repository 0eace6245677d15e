/* Writing structs as Avro records: the schema with Iceberg's id attributes, and the rows.
 * Iceberg spec, "Appendix A: Avro". */
#include "format/avro/layout.h"

#include "base/map.h"
#include "format/avro/put.h"

/* The schema ---------------------------------------------------------------------------------------------------- */

struct schema_printer {
    struct firn_arena *arena;
    struct firn_map named; /* types that were defined: a second use is by name */
};

static json_t *record_json(struct schema_printer *printer, const struct firn_avro_layout *layout);

static json_t *scalar_json(struct schema_printer *printer, const struct firn_avro_type *type)
{
    if (type->name.len && firn_map_find_text(&printer->named, type->name))
        return firn_json_string(type->name);
    if (!type->name.len && !type->logical_type.len)
        return json_string(firn_avro_kind_name(type->kind));
    json_t *json = json_object();
    firn_json_set_text(json, "type", firn_text_of(firn_avro_kind_name(type->kind)));
    if (type->kind == FIRN_AVRO_FIXED) {
        firn_json_set_text(json, "name", type->name);
        firn_json_set_i64(json, "size", type->size);
        firn_map_put_text(&printer->named, type->name);
    }
    if (type->logical_type.len)
        firn_json_set_text(json, "logicalType", type->logical_type);
    if (firn_text_is(type->logical_type, "decimal")) {
        firn_json_set_i64(json, "precision", type->precision);
        firn_json_set_i64(json, "scale", type->scale);
    }
    if (firn_text_starts(type->logical_type, FIRN_TEXT("timestamp")))
        firn_json_set_bool(json, "adjust-to-utc", type->adjust_to_utc);
    return json;
}

static json_t *array_json(json_t *items)
{
    json_t *json = json_object();
    firn_json_set_text(json, "type", FIRN_TEXT("array"));
    firn_json_set(json, "items", items);
    return json;
}

static json_t *list_json(const struct firn_avro_column *column, const char *item)
{
    json_t *json = array_json(json_string(item));
    firn_json_set_i64(json, "element-id", column->element_id);
    return json;
}

static json_t *pair_field_json(const char *name, const char *type, int32_t id)
{
    json_t *json = json_object();
    firn_json_set_text(json, "name", firn_text_of(name));
    firn_json_set_text(json, "type", firn_text_of(type));
    firn_json_set_i64(json, "field-id", id);
    return json;
}

static json_t *map_json(struct schema_printer *printer, const struct firn_avro_column *column, const char *value)
{
    json_t *record = json_object();
    json_t *fields = json_array();
    firn_json_set_text(record, "type", FIRN_TEXT("record"));
    firn_json_set_text(record, "name", firn_text_format(printer->arena, "k%d_v%d", column->key_id, column->value_id));
    json_array_append_new(fields, pair_field_json("key", "int", column->key_id));
    json_array_append_new(fields, pair_field_json("value", value, column->value_id));
    firn_json_set(record, "fields", fields);
    json_t *json = array_json(record);
    firn_json_set_text(json, "logicalType", FIRN_TEXT("map"));
    return json;
}

static json_t *type_json(struct schema_printer *printer, const struct firn_avro_column *column)
{
    switch (column->member) {
    case FIRN_AVRO_MEMBER_BOOL:
        return json_string("boolean");
    case FIRN_AVRO_MEMBER_FLAG:
    case FIRN_AVRO_MEMBER_I32:
    case FIRN_AVRO_MEMBER_I64_INT:
        return json_string("int");
    case FIRN_AVRO_MEMBER_I64:
        return json_string("long");
    case FIRN_AVRO_MEMBER_TEXT:
        return json_string("string");
    case FIRN_AVRO_MEMBER_BYTES:
        return json_string("bytes");
    case FIRN_AVRO_MEMBER_I32_LIST:
        return list_json(column, "int");
    case FIRN_AVRO_MEMBER_I64_LIST:
        return list_json(column, "long");
    case FIRN_AVRO_MEMBER_I64_MAP:
        return map_json(printer, column, "long");
    case FIRN_AVRO_MEMBER_BYTES_MAP:
        return map_json(printer, column, "bytes");
    case FIRN_AVRO_MEMBER_RECORD:
        return record_json(printer, column->record);
    case FIRN_AVRO_MEMBER_RECORD_LIST: {
        json_t *json = array_json(record_json(printer, column->record));
        firn_json_set_i64(json, "element-id", column->element_id);
        return json;
    }
    case FIRN_AVRO_MEMBER_SCALAR:
        return scalar_json(printer, column->scalar_type);
    }
    return NULL;
}

/* A column of the type null (a dropped source column) is optional as it stands. */
static bool is_union(const struct firn_avro_column *column)
{
    bool always_null = column->member == FIRN_AVRO_MEMBER_SCALAR && column->scalar_type->kind == FIRN_AVRO_NULL;
    return column->optional && !always_null;
}

static json_t *field_json(struct schema_printer *printer, const struct firn_avro_column *column)
{
    json_t *json = json_object();
    json_t *type = type_json(printer, column);
    struct firn_text name = firn_avro_name(printer->arena, column->name);
    firn_json_set_text(json, "name", name);
    if (is_union(column)) {
        json_t *branches = json_array();
        json_array_append_new(branches, json_string("null"));
        json_array_append_new(branches, type);
        type = branches;
    }
    firn_json_set(json, "type", type);
    if (column->optional)
        firn_json_set(json, "default", json_null());
    if (!firn_text_same(name, column->name))
        firn_json_set_text(json, "iceberg-field-name", column->name);
    firn_json_set_i64(json, "field-id", column->id);
    return json;
}

static json_t *record_json(struct schema_printer *printer, const struct firn_avro_layout *layout)
{
    json_t *json = json_object();
    json_t *fields = json_array();
    for (uint32_t i = 0; i < layout->column_count; i++)
        json_array_append_new(fields, field_json(printer, &layout->columns[i]));
    firn_json_set_text(json, "type", FIRN_TEXT("record"));
    firn_json_set_text(json, "name", layout->name);
    firn_json_set(json, "fields", fields);
    return json;
}

json_t *firn_avro_layout_schema(struct firn_arena *arena, const struct firn_avro_layout *layout)
{
    struct schema_printer printer = { .arena = arena };
    firn_map_init(&printer.named, arena);
    return record_json(&printer, layout);
}

/* Rows ---------------------------------------------------------------------------------------------------------- */

static void encode_record(struct firn_avro_encoder *encoder, const struct firn_avro_layout *layout, const char *row);

/* Typed reads of the members of a row. */
static const void *pointer_at(const char *row, size_t offset)
{
    const void *pointer;
    memcpy(&pointer, row + offset, sizeof pointer);
    return pointer;
}

static uint32_t count_of(const struct firn_avro_column *column, const char *row)
{
    return *(const uint32_t *)(row + column->count_offset);
}

static bool is_null(const struct firn_avro_column *column, const char *row)
{
    const char *member = row + column->offset;
    if (column->present_offset)
        return !*(const bool *)(row + column->present_offset);
    switch (column->member) {
    case FIRN_AVRO_MEMBER_I64:
    case FIRN_AVRO_MEMBER_I64_INT:
        return *(const int64_t *)member == FIRN_AVRO_ABSENT;
    case FIRN_AVRO_MEMBER_TEXT:
        return ((const struct firn_text *)member)->data == NULL;
    case FIRN_AVRO_MEMBER_BYTES:
        return ((const struct firn_bytes *)member)->data == NULL;
    case FIRN_AVRO_MEMBER_I32_LIST:
    case FIRN_AVRO_MEMBER_I64_LIST:
        return pointer_at(row, column->offset) == NULL;
    case FIRN_AVRO_MEMBER_SCALAR:
        return ((const struct firn_avro_scalar *)member)->type == NULL;
    default:
        return false;
    }
}

/* Arrays are one block of all items and the empty block that ends them. */
static void put_array_end(struct firn_avro_encoder *encoder, uint32_t count)
{
    if (count > 0)
        firn_avro_put_long(encoder, 0);
}

static void encode_i32_list(struct firn_avro_encoder *encoder, const struct firn_avro_column *column, const char *row)
{
    const int32_t *items = pointer_at(row, column->offset);
    uint32_t count = count_of(column, row);
    firn_avro_put_long(encoder, count);
    for (uint32_t i = 0; i < count; i++)
        firn_avro_put_long(encoder, items[i]);
    put_array_end(encoder, count);
}

static void encode_i64_list(struct firn_avro_encoder *encoder, const struct firn_avro_column *column, const char *row)
{
    const int64_t *items = pointer_at(row, column->offset);
    uint32_t count = count_of(column, row);
    firn_avro_put_long(encoder, count);
    for (uint32_t i = 0; i < count; i++)
        firn_avro_put_long(encoder, items[i]);
    put_array_end(encoder, count);
}

static void encode_i64_map(struct firn_avro_encoder *encoder, const struct firn_avro_column *column, const char *row)
{
    const int32_t *keys = pointer_at(row, column->offset);
    const int64_t *values = pointer_at(row, column->values_offset);
    uint32_t count = count_of(column, row);
    firn_avro_put_long(encoder, count);
    for (uint32_t i = 0; i < count; i++) {
        firn_avro_put_long(encoder, keys[i]);
        firn_avro_put_long(encoder, values[i]);
    }
    put_array_end(encoder, count);
}

static void encode_bytes_map(struct firn_avro_encoder *encoder, const struct firn_avro_column *column, const char *row)
{
    const int32_t *keys = pointer_at(row, column->offset);
    const struct firn_bytes *values = pointer_at(row, column->values_offset);
    uint32_t count = count_of(column, row);
    firn_avro_put_long(encoder, count);
    for (uint32_t i = 0; i < count; i++) {
        firn_avro_put_long(encoder, keys[i]);
        firn_avro_put_bytes(encoder, values[i]);
    }
    put_array_end(encoder, count);
}

static void encode_record_list(struct firn_avro_encoder *encoder, const struct firn_avro_column *column,
                               const char *row)
{
    const char *items = pointer_at(row, column->offset);
    uint32_t count = count_of(column, row);
    firn_avro_put_long(encoder, count);
    for (uint32_t i = 0; i < count; i++)
        encode_record(encoder, column->record, items + i * column->record->item_bytes);
    put_array_end(encoder, count);
}

static void encode_fixed(struct firn_avro_encoder *encoder, const struct firn_avro_column *column,
                         struct firn_bytes bytes)
{
    if (bytes.len == column->scalar_type->size)
        firn_avro_put_raw(encoder, bytes.data, bytes.len);
    else if (encoder->status == FIRN_OK)
        encoder->status = firn_fail(encoder->op, FIRN_CORRUPT, "field %d (%.*s) has %zu bytes where %u are declared",
                                    column->id, FIRN_FMT(column->name), bytes.len, column->scalar_type->size);
}

static void encode_scalar(struct firn_avro_encoder *encoder, const struct firn_avro_column *column,
                          const struct firn_avro_scalar *scalar)
{
    switch (column->scalar_type->kind) {
    case FIRN_AVRO_BOOLEAN:
        firn_avro_put_boolean(encoder, scalar->integer != 0);
        return;
    case FIRN_AVRO_INT:
    case FIRN_AVRO_LONG:
        firn_avro_put_long(encoder, scalar->integer);
        return;
    case FIRN_AVRO_FLOAT:
        firn_avro_put_float(encoder, (float)scalar->real);
        return;
    case FIRN_AVRO_DOUBLE:
        firn_avro_put_double(encoder, scalar->real);
        return;
    case FIRN_AVRO_FIXED:
        encode_fixed(encoder, column, scalar->bytes);
        return;
    default: /* bytes, string */
        firn_avro_put_bytes(encoder, scalar->bytes);
        return;
    }
}

static void encode_value(struct firn_avro_encoder *encoder, const struct firn_avro_column *column, const char *row)
{
    const char *member = row + column->offset;
    switch (column->member) {
    case FIRN_AVRO_MEMBER_BOOL:
        firn_avro_put_boolean(encoder, *(const bool *)member);
        return;
    case FIRN_AVRO_MEMBER_FLAG:
        firn_avro_put_long(encoder, *(const bool *)member);
        return;
    case FIRN_AVRO_MEMBER_I32:
        firn_avro_put_long(encoder, *(const int32_t *)member);
        return;
    case FIRN_AVRO_MEMBER_I64:
    case FIRN_AVRO_MEMBER_I64_INT:
        firn_avro_put_long(encoder, *(const int64_t *)member);
        return;
    case FIRN_AVRO_MEMBER_TEXT:
        firn_avro_put_bytes(encoder, firn_bytes_of_text(*(const struct firn_text *)member));
        return;
    case FIRN_AVRO_MEMBER_BYTES:
        firn_avro_put_bytes(encoder, *(const struct firn_bytes *)member);
        return;
    case FIRN_AVRO_MEMBER_I32_LIST:
        encode_i32_list(encoder, column, row);
        return;
    case FIRN_AVRO_MEMBER_I64_LIST:
        encode_i64_list(encoder, column, row);
        return;
    case FIRN_AVRO_MEMBER_I64_MAP:
        encode_i64_map(encoder, column, row);
        return;
    case FIRN_AVRO_MEMBER_BYTES_MAP:
        encode_bytes_map(encoder, column, row);
        return;
    case FIRN_AVRO_MEMBER_RECORD:
        encode_record(encoder, column->record, row);
        return;
    case FIRN_AVRO_MEMBER_RECORD_LIST:
        encode_record_list(encoder, column, row);
        return;
    case FIRN_AVRO_MEMBER_SCALAR:
        encode_scalar(encoder, column, (const struct firn_avro_scalar *)member);
        return;
    }
}

static void encode_record(struct firn_avro_encoder *encoder, const struct firn_avro_layout *layout, const char *row)
{
    for (uint32_t i = 0; i < layout->column_count && encoder->status == FIRN_OK; i++) {
        const struct firn_avro_column *column = &layout->columns[i];
        bool null = is_null(column, row);
        if (null && !column->optional)
            encoder->status = firn_fail(encoder->op, FIRN_CORRUPT, "field %d (%.*s) must have a value", column->id,
                                        FIRN_FMT(column->name));
        if (is_union(column))
            firn_avro_put_long(encoder, !null);
        if (!null)
            encode_value(encoder, column, row);
    }
}

firn_status firn_avro_layout_encode(struct firn_op *op, const struct firn_avro_layout *layout, const void *row,
                                    struct firn_buffer *out)
{
    struct firn_avro_encoder encoder = { .op = op, .out = out };
    encode_record(&encoder, layout, row);
    return encoder.status;
}
