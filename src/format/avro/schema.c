/* Parsing Avro schemas. Avro 1.12 specification, "Schema Declaration", "Names". */
#include "format/avro/schema.h"

#include "base/map.h"
#include "base/math.h"

#include <stdio.h>

enum { SCHEMA_DEPTH_MAX = 100 };
/* Counts of bytes saturate here: far above any block, far below overflow. */
#define MIN_BYTES_MAX (UINT64_C(1) << 40)

static const char *const kind_names[] = {
    [FIRN_AVRO_NULL] = "null",   [FIRN_AVRO_BOOLEAN] = "boolean", [FIRN_AVRO_INT] = "int",
    [FIRN_AVRO_LONG] = "long",   [FIRN_AVRO_FLOAT] = "float",     [FIRN_AVRO_DOUBLE] = "double",
    [FIRN_AVRO_BYTES] = "bytes", [FIRN_AVRO_STRING] = "string",   [FIRN_AVRO_FIXED] = "fixed",
    [FIRN_AVRO_ENUM] = "enum",   [FIRN_AVRO_RECORD] = "record",   [FIRN_AVRO_ARRAY] = "array",
    [FIRN_AVRO_MAP] = "map",     [FIRN_AVRO_UNION] = "union",
};
_Static_assert(FIRN_COUNT_OF(kind_names) == FIRN_AVRO_KIND_COUNT, "one name per kind");

const char *firn_avro_kind_name(enum firn_avro_kind kind)
{
    return kind_names[kind];
}

struct parser {
    struct firn_op *op;
    struct firn_map names; /* full name to struct firn_avro_type */
};

/* What a type stands in: the enclosing namespace, and how deep. */
struct place {
    struct firn_text space;
    unsigned depth;
};

static firn_status parse_type(struct parser *parser, const json_t *json, struct place place,
                              const struct firn_avro_type **out);

static struct firn_text text_member(const json_t *object, const char *key)
{
    const json_t *member = json_object_get(object, key);
    if (!json_is_string(member))
        return (struct firn_text){ 0 };
    return (struct firn_text){ json_string_value(member), json_string_length(member) };
}

static firn_status id_member(struct firn_op *op, const json_t *object, const char *key, int32_t *out)
{
    *out = FIRN_AVRO_NO_ID;
    return firn_json_find_i32(op, object, key, "avro schema", out, NULL);
}

static struct firn_text full_name(struct firn_arena *arena, struct firn_text name, struct firn_text space)
{
    if (space.len == 0 || firn_text_find(name, '.') >= 0)
        return name;
    return firn_text_format(arena, "%.*s.%.*s", FIRN_FMT(space), FIRN_FMT(name));
}

static struct firn_text namespace_of(struct firn_text name)
{
    ptrdiff_t dot = firn_text_find_last(name, '.');
    return dot < 0 ? (struct firn_text){ 0 } : firn_text_until(name, (size_t)dot);
}

static bool kind_of_name(struct firn_text name, enum firn_avro_kind *out)
{
    for (size_t i = 0; i < FIRN_COUNT_OF(kind_names); i++) {
        if (firn_text_is(name, kind_names[i])) {
            *out = (enum firn_avro_kind)i;
            return true;
        }
    }
    *out = FIRN_AVRO_RECORD;
    return firn_text_is(name, "error");
}

static uint64_t record_min_bytes(const struct firn_avro_type *type)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < type->field_count; i++)
        sum = FIRN_MIN(sum + type->fields[i].type->min_bytes, MIN_BYTES_MAX);
    return sum;
}

static uint64_t union_min_bytes(const struct firn_avro_type *type)
{
    uint64_t least = MIN_BYTES_MAX;
    for (uint32_t i = 0; i < type->branch_count; i++)
        least = FIRN_MIN(least, type->branches[i]->min_bytes);
    return 1 + least;
}

/* Parts come first; a type that is still being parsed (recursion) counts as 0, which is a lower bound too. */
static uint64_t min_bytes_of(const struct firn_avro_type *type)
{
    switch (type->kind) {
    case FIRN_AVRO_NULL:
        return 0;
    case FIRN_AVRO_FLOAT:
        return 4;
    case FIRN_AVRO_DOUBLE:
        return 8;
    case FIRN_AVRO_FIXED:
        return type->size;
    case FIRN_AVRO_RECORD:
        return record_min_bytes(type);
    case FIRN_AVRO_UNION:
        return union_min_bytes(type);
    default:
        return 1;
    }
}

/* A primitive by its name, or a named type seen before. */
static firn_status parse_reference(struct parser *parser, struct firn_text name, struct firn_text space,
                                   const struct firn_avro_type **out)
{
    struct firn_arena *arena = parser->op->arena;
    struct firn_map_entry *entry = firn_map_find_text(&parser->names, full_name(arena, name, space));
    if (!entry)
        entry = firn_map_find_text(&parser->names, name);
    if (entry) {
        *out = entry->value.pointer;
        return FIRN_OK;
    }
    enum firn_avro_kind kind;
    if (!kind_of_name(name, &kind) || kind >= FIRN_AVRO_FIXED)
        return firn_fail(parser->op, FIRN_CORRUPT, "avro schema refers to an unknown type '%.*s'", FIRN_FMT(name));
    struct firn_avro_type *type = FIRN_NEW(arena, struct firn_avro_type);
    type->kind = kind;
    type->min_bytes = min_bytes_of(type);
    *out = type;
    return FIRN_OK;
}

static firn_status parse_union(struct parser *parser, const json_t *json, struct place place,
                               struct firn_avro_type *type)
{
    size_t count = json_array_size(json);
    if (count == 0)
        return firn_fail(parser->op, FIRN_CORRUPT, "avro schema has a union without branches");
    type->kind = FIRN_AVRO_UNION;
    type->branch_count = (uint32_t)count;
    type->branches = firn_arena_alloc_array(parser->op->arena, count, sizeof *type->branches);
    for (size_t i = 0; i < count; i++) {
        FIRN_TRY(parse_type(parser, json_array_get(json, i), place, &type->branches[i]));
        if (type->branches[i]->kind == FIRN_AVRO_UNION)
            return firn_fail(parser->op, FIRN_CORRUPT, "avro schema has a union directly inside a union");
    }
    type->min_bytes = min_bytes_of(type);
    return FIRN_OK;
}

static firn_status parse_fields(struct parser *parser, const json_t *json, struct place place,
                                struct firn_avro_type *type)
{
    json_t *fields;
    FIRN_TRY(firn_json_need_array(parser->op, json, "fields", "avro record", &fields));
    size_t count = json_array_size(fields);
    type->field_count = (uint32_t)count;
    type->fields = FIRN_NEW_ARRAY(parser->op->arena, struct firn_avro_field, count);
    for (size_t i = 0; i < count; i++) {
        const json_t *member = json_array_get(fields, i);
        struct firn_avro_field *field = &type->fields[i];
        field->name = text_member(member, "name");
        FIRN_TRY(id_member(parser->op, member, "field-id", &field->id));
        FIRN_TRY(parse_type(parser, json_object_get(member, "type"), place, &field->type));
    }
    return FIRN_OK;
}

static firn_status parse_symbols(struct parser *parser, const json_t *json, struct firn_avro_type *type)
{
    json_t *symbols;
    FIRN_TRY(firn_json_need_array(parser->op, json, "symbols", "avro enum", &symbols));
    size_t count = json_array_size(symbols);
    type->symbol_count = (uint32_t)count;
    type->symbols = FIRN_NEW_ARRAY(parser->op->arena, struct firn_text, count);
    for (size_t i = 0; i < count; i++) {
        const json_t *symbol = json_array_get(symbols, i);
        if (!json_is_string(symbol))
            return firn_fail(parser->op, FIRN_CORRUPT, "avro enum '%.*s' has a symbol that is no text",
                             FIRN_FMT(type->name));
        type->symbols[i] = (struct firn_text){ json_string_value(symbol), json_string_length(symbol) };
    }
    return FIRN_OK;
}

static firn_status parse_size(struct firn_op *op, const json_t *json, struct firn_avro_type *type)
{
    int32_t size;
    FIRN_TRY(firn_json_need_i32(op, json, "size", "avro fixed", &size));
    if (size < 0)
        return firn_fail(op, FIRN_CORRUPT, "avro fixed '%.*s' has the size %d", FIRN_FMT(type->name), size);
    type->size = (uint32_t)size;
    return FIRN_OK;
}

/* Registered before its content is parsed, so that a record may refer to itself. */
static firn_status parse_named(struct parser *parser, const json_t *json, struct place place,
                               struct firn_avro_type *type)
{
    struct firn_text name = text_member(json, "name");
    if (name.len == 0)
        return firn_fail(parser->op, FIRN_CORRUPT, "avro %s has no name", firn_avro_kind_name(type->kind));
    struct firn_text space = text_member(json, "namespace");
    type->name = full_name(parser->op->arena, name, space.data ? space : place.space);
    firn_map_put_text(&parser->names, type->name)->value.pointer = type;
    place.space = namespace_of(type->name);
    if (type->kind == FIRN_AVRO_RECORD)
        return parse_fields(parser, json, place, type);
    if (type->kind == FIRN_AVRO_ENUM)
        return parse_symbols(parser, json, type);
    return parse_size(parser->op, json, type);
}

static firn_status parse_annotations(struct firn_op *op, const json_t *json, struct firn_avro_type *type)
{
    type->logical_type = text_member(json, "logicalType");
    type->adjust_to_utc = json_is_true(json_object_get(json, "adjust-to-utc"));
    if (!firn_text_is(type->logical_type, "decimal"))
        return FIRN_OK;
    FIRN_TRY(firn_json_find_i32(op, json, "precision", "avro decimal", &type->precision, NULL));
    return firn_json_find_i32(op, json, "scale", "avro decimal", &type->scale, NULL);
}

static firn_status parse_parts(struct parser *parser, const json_t *json, struct place place,
                               struct firn_avro_type *type)
{
    switch (type->kind) {
    case FIRN_AVRO_ARRAY:
        return parse_type(parser, json_object_get(json, "items"), place, &type->item);
    case FIRN_AVRO_MAP:
        return parse_type(parser, json_object_get(json, "values"), place, &type->item);
    case FIRN_AVRO_RECORD:
    case FIRN_AVRO_ENUM:
    case FIRN_AVRO_FIXED:
        return parse_named(parser, json, place, type);
    default:
        return FIRN_OK;
    }
}

static firn_status parse_object(struct parser *parser, const json_t *json, struct place place,
                                const struct firn_avro_type **out)
{
    const json_t *of = json_object_get(json, "type");
    enum firn_avro_kind kind;
    if (json_is_object(of) || json_is_array(of))
        return parse_type(parser, of, place, out);
    struct firn_text name = text_member(json, "type");
    if (!kind_of_name(name, &kind) || kind == FIRN_AVRO_UNION)
        return parse_reference(parser, name, place.space, out);

    struct firn_avro_type *type = FIRN_NEW(parser->op->arena, struct firn_avro_type);
    *out = type;
    type->kind = kind;
    FIRN_TRY(parse_annotations(parser->op, json, type));
    FIRN_TRY(parse_parts(parser, json, place, type));
    type->min_bytes = min_bytes_of(type);
    return FIRN_OK;
}

static firn_status parse_type(struct parser *parser, const json_t *json, struct place place,
                              const struct firn_avro_type **out)
{
    if (++place.depth > SCHEMA_DEPTH_MAX)
        return firn_fail(parser->op, FIRN_CORRUPT, "avro schema is nested more than %d levels", SCHEMA_DEPTH_MAX);
    if (json_is_string(json)) {
        struct firn_text name = { json_string_value(json), json_string_length(json) };
        return parse_reference(parser, name, place.space, out);
    }
    if (json_is_array(json)) {
        struct firn_avro_type *type = FIRN_NEW(parser->op->arena, struct firn_avro_type);
        *out = type;
        return parse_union(parser, json, place, type);
    }
    if (json_is_object(json))
        return parse_object(parser, json, place, out);
    return firn_fail(parser->op, FIRN_CORRUPT, "avro schema lacks a type where one is needed");
}

firn_status firn_avro_schema_parse(struct firn_op *op, const json_t *json, const struct firn_avro_type **out)
{
    struct parser parser = { .op = op };
    firn_map_init(&parser.names, op->arena);
    return parse_type(&parser, json, (struct place){ 0 }, out);
}

/* The next code point of UTF-8 text; a byte that starts none stands for itself. */
static uint32_t next_code_point(struct firn_text text, size_t *at)
{
    const uint8_t *in = (const uint8_t *)text.data + *at;
    size_t left = text.len - *at;
    size_t len = in[0] >= 0xf0 ? 4 : in[0] >= 0xe0 ? 3 : in[0] >= 0xc0 ? 2 : 1;
    if (len > left)
        len = 1;
    uint32_t point = len == 1 ? in[0] : in[0] & (0x7fU >> len);
    for (size_t i = 1; i < len; i++)
        point = point << 6 | (in[i] & 0x3f);
    *at += len;
    return point;
}

static bool is_name_character(uint32_t point)
{
    return (point >= 'a' && point <= 'z') || (point >= 'A' && point <= 'Z') || (point >= '0' && point <= '9') ||
           point == '_';
}

struct firn_text firn_avro_name(struct firn_arena *arena, struct firn_text text)
{
    enum { UNIT_CHARS_MAX = 2 * 6 }; /* a surrogate pair, "_xHHHH" each */
    char *name = firn_arena_alloc_array(arena, text.len + 1, UNIT_CHARS_MAX);
    size_t len = 0;
    if (text.len > 0 && text.data[0] >= '0' && text.data[0] <= '9')
        name[len++] = '_';
    for (size_t at = 0; at < text.len;) {
        uint32_t point = next_code_point(text, &at);
        if (is_name_character(point))
            name[len++] = (char)point;
        else if (point < 0x10000)
            len += (size_t)snprintf(name + len, UNIT_CHARS_MAX, "_x%X", point);
        else
            len += (size_t)snprintf(name + len, UNIT_CHARS_MAX + 1, "_x%X_x%X", 0xd7c0 + (point >> 10),
                                    0xdc00 + (point & 0x3ff));
    }
    return (struct firn_text){ name, len };
}
