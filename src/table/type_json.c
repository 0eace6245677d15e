/* Types and schemas as JSON, both ways. Iceberg spec, "Appendix C: JSON serialization". */
#include "base/math.h"
#include "table/type.h"

#define TYPE_DEPTH_MAX        100
#define DECIMAL_PRECISION_MAX 38

/* "name<open>inside<close>"; false for anything else. */
static bool unwrap(struct firn_text text, const char *name, char open, char close, struct firn_text *inside)
{
    struct firn_text head = firn_text_of(name);
    if (!firn_text_starts(text, head))
        return false;
    text = firn_text_trim(firn_text_from(text, head.len));
    if (text.len < 2 || text.data[0] != open || text.data[text.len - 1] != close)
        return false;
    *inside = firn_text_trim((struct firn_text){ text.data + 1, text.len - 2 });
    return true;
}

static bool split_at_comma(struct firn_text text, struct firn_text *left, struct firn_text *right)
{
    ptrdiff_t comma = firn_text_find(text, ',');
    if (comma < 0)
        return false;
    *left = firn_text_trim(firn_text_until(text, (size_t)comma));
    *right = firn_text_trim(firn_text_from(text, (size_t)comma + 1));
    return true;
}

static bool parse_decimal(struct firn_text inside, struct firn_type *out)
{
    struct firn_text left, right;
    int64_t precision, scale;
    if (!split_at_comma(inside, &left, &right) || !firn_text_to_i64(left, &precision) ||
        !firn_text_to_i64(right, &scale))
        return false;
    if (precision < 1 || precision > DECIMAL_PRECISION_MAX || scale < 0 || scale > precision)
        return false;
    *out = (struct firn_type){ .id = FIRN_TYPE_DECIMAL, .precision = (int32_t)precision, .scale = (int32_t)scale };
    return true;
}

static bool parse_fixed(struct firn_text inside, struct firn_type *out)
{
    int64_t length;
    if (!firn_text_to_i64(inside, &length) || length < 0 || length > INT32_MAX)
        return false;
    *out = (struct firn_type){ .id = FIRN_TYPE_FIXED, .length = (int32_t)length };
    return true;
}

/* Parameters of geometry(crs) and geography(crs, algorithm). */
static bool parse_geo(struct firn_arena *arena, enum firn_type_id id, struct firn_text inside, struct firn_type *out)
{
    struct firn_text crs = inside, algorithm = { 0 };
    bool two = split_at_comma(inside, &crs, &algorithm);
    if (crs.len == 0 || (two && (algorithm.len == 0 || id == FIRN_TYPE_GEOMETRY)))
        return false;
    *out = (struct firn_type){ .id = id, .crs = firn_text_copy(arena, crs) };
    if (two)
        out->algorithm = firn_text_copy(arena, algorithm);
    return true;
}

static bool parse_plain(struct firn_text text, struct firn_type *out)
{
    for (enum firn_type_id id = 0; id < FIRN_TYPE_STRUCT; id++) {
        if (id == FIRN_TYPE_DECIMAL || id == FIRN_TYPE_FIXED || !firn_text_is(text, firn_type_name(id)))
            continue;
        *out = (struct firn_type){ .id = id };
        return true;
    }
    return false;
}

firn_status firn_type_parse_text(struct firn_op *op, struct firn_text text, struct firn_type *out)
{
    struct firn_text lower = firn_text_lower(op->arena, text), inside;
    bool good = parse_plain(lower, out);
    if (!good && unwrap(lower, "decimal", '(', ')', &inside))
        good = parse_decimal(inside, out);
    else if (!good && unwrap(lower, "fixed", '[', ']', &inside))
        good = parse_fixed(inside, out);
    else if (!good && unwrap(text, "geometry", '(', ')', &inside))
        good = parse_geo(op->arena, FIRN_TYPE_GEOMETRY, inside, out);
    else if (!good && unwrap(text, "geography", '(', ')', &inside))
        good = parse_geo(op->arena, FIRN_TYPE_GEOGRAPHY, inside, out);
    if (!good)
        return firn_fail(op, FIRN_CORRUPT, "unknown type '%.*s'", FIRN_FMT(text));
    return FIRN_OK;
}

static firn_status parse_nested(struct firn_op *op, const json_t *json, int depth, struct firn_type *out);

static firn_status parse_field(struct firn_op *op, const json_t *json, int depth, struct firn_field *field)
{
    if (!json_is_object(json))
        return firn_fail(op, FIRN_CORRUPT, "field is not an object");
    FIRN_TRY(firn_json_need_i32(op, json, "id", "field", &field->id));
    FIRN_TRY(firn_json_need_text(op, json, "name", "field", &field->name));
    const json_t *required = json_object_get(json, "required");
    if (!json_is_boolean(required))
        return firn_fail(op, FIRN_CORRUPT, "field %d: 'required' is not a boolean", field->id);
    field->required = json_is_true(required);
    FIRN_TRY(firn_json_find_text(op, json, "doc", "field", &field->doc, NULL));
    const json_t *initial = json_object_get(json, "initial-default");
    const json_t *write = json_object_get(json, "write-default");
    field->initial_default = json_is_null(initial) ? NULL : initial;
    field->write_default = json_is_null(write) ? NULL : write;
    return firn_context(op, parse_nested(op, json_object_get(json, "type"), depth, &field->type), "field '%.*s'",
                        FIRN_FMT(field->name));
}

static firn_status parse_struct(struct firn_op *op, const json_t *json, int depth, struct firn_type *out)
{
    json_t *fields;
    FIRN_TRY(firn_json_need_array(op, json, "fields", "struct", &fields));
    size_t count = json_array_size(fields);
    if (count > INT32_MAX)
        return firn_fail(op, FIRN_CORRUPT, "struct of %zu fields", count);
    out->id = FIRN_TYPE_STRUCT;
    out->field_count = (uint32_t)count;
    out->fields = FIRN_NEW_ARRAY(op->arena, struct firn_field, count);
    for (size_t i = 0; i < count; i++)
        FIRN_TRY(parse_field(op, json_array_get(fields, i), depth + 1, &out->fields[i]));
    return FIRN_OK;
}

/* "<role>", "<role>-id" and "<role>-required" of a list or map. Map keys are always required. */
static firn_status parse_part(struct firn_op *op, const json_t *json, const char *role, int depth,
                              struct firn_field *field)
{
    struct firn_text id_key = firn_text_format(op->arena, "%s-id", role);
    struct firn_text required_key = firn_text_format(op->arena, "%s-required", role);
    field->name = firn_text_of(role);
    field->required = true;
    FIRN_TRY(firn_json_need_i32(op, json, id_key.data, "type", &field->id));
    if (strcmp(role, "key") != 0) {
        const json_t *required = json_object_get(json, required_key.data);
        if (!json_is_boolean(required))
            return firn_fail(op, FIRN_CORRUPT, "type: '%s' is not a boolean", required_key.data);
        field->required = json_is_true(required);
    }
    return firn_context(op, parse_nested(op, json_object_get(json, role), depth + 1, &field->type), "%s", role);
}

static firn_status parse_object(struct firn_op *op, const json_t *json, int depth, struct firn_type *out)
{
    struct firn_text name;
    FIRN_TRY(firn_json_need_text(op, json, "type", "type", &name));
    if (firn_text_is(name, "struct"))
        return parse_struct(op, json, depth, out);
    bool map = firn_text_is(name, "map");
    if (!map && !firn_text_is(name, "list"))
        return firn_fail(op, FIRN_CORRUPT, "unknown type '%.*s'", FIRN_FMT(name));
    out->id = map ? FIRN_TYPE_MAP : FIRN_TYPE_LIST;
    out->field_count = map ? 2 : 1;
    out->fields = FIRN_NEW_ARRAY(op->arena, struct firn_field, out->field_count);
    if (!map)
        return parse_part(op, json, "element", depth, &out->fields[0]);
    FIRN_TRY(parse_part(op, json, "key", depth, &out->fields[0]));
    return parse_part(op, json, "value", depth, &out->fields[1]);
}

static firn_status parse_nested(struct firn_op *op, const json_t *json, int depth, struct firn_type *out)
{
    *out = (struct firn_type){ 0 };
    if (depth > TYPE_DEPTH_MAX)
        return firn_fail(op, FIRN_CORRUPT, "types nested more than %d levels deep", TYPE_DEPTH_MAX);
    if (json_is_string(json))
        return firn_type_parse_text(op, (struct firn_text){ json_string_value(json), json_string_length(json) }, out);
    if (json_is_object(json))
        return parse_object(op, json, depth, out);
    return firn_fail(op, FIRN_CORRUPT, "type is neither a text nor an object");
}

struct id_list {
    int32_t *items;
    size_t count;
    size_t capacity;
};

static void collect_ids(struct firn_arena *arena, const struct firn_type *type, struct id_list *ids)
{
    for (uint32_t i = 0; i < type->field_count; i++) {
        FIRN_PUSH(arena, ids, type->fields[i].id);
        collect_ids(arena, &type->fields[i].type, ids);
    }
}

static int compare_ids(const void *a, const void *b)
{
    int32_t left = *(const int32_t *)a, right = *(const int32_t *)b;
    return (left > right) - (left < right);
}

static firn_status check_ids(struct firn_op *op, const struct firn_type *type)
{
    struct id_list ids = { 0 };
    collect_ids(op->arena, type, &ids);
    if (ids.count == 0)
        return FIRN_OK;
    qsort(ids.items, ids.count, sizeof *ids.items, compare_ids);
    for (size_t i = 1; i < ids.count; i++)
        if (ids.items[i] == ids.items[i - 1])
            return firn_fail(op, FIRN_CORRUPT, "two fields share the id %d", ids.items[i]);
    return FIRN_OK;
}

firn_status firn_type_parse(struct firn_op *op, const json_t *json, struct firn_type *out)
{
    FIRN_TRY(parse_nested(op, json, 0, out));
    return check_ids(op, out);
}

static firn_status parse_identifiers(struct firn_op *op, const json_t *json, struct firn_schema *out)
{
    const json_t *ids = json_object_get(json, "identifier-field-ids");
    if (!ids || json_is_null(ids))
        return FIRN_OK;
    if (!json_is_array(ids))
        return firn_fail(op, FIRN_CORRUPT, "schema: 'identifier-field-ids' is not an array");
    out->identifier_ids = FIRN_NEW_ARRAY(op->arena, int32_t, json_array_size(ids));
    for (size_t i = 0; i < json_array_size(ids); i++) {
        json_int_t id = json_integer_value(json_array_get(ids, i));
        if (id < 1 || id > INT32_MAX || !firn_schema_field(out, (int32_t)id))
            return firn_fail(op, FIRN_CORRUPT, "schema: identifier field %lld does not exist", (long long)id);
        out->identifier_ids[out->identifier_count++] = (int32_t)id;
    }
    return FIRN_OK;
}

firn_status firn_schema_parse(struct firn_op *op, const json_t *json, struct firn_schema *out)
{
    *out = (struct firn_schema){ 0 };
    if (!json_is_object(json))
        return firn_fail(op, FIRN_CORRUPT, "schema is not an object");
    FIRN_TRY(firn_json_find_i32(op, json, "schema-id", "schema", &out->id, NULL));
    FIRN_TRY(firn_context(op, firn_type_parse(op, json, &out->root), "schema %d", out->id));
    if (out->root.id != FIRN_TYPE_STRUCT)
        return firn_fail(op, FIRN_CORRUPT, "schema %d is not a struct", out->id);
    return parse_identifiers(op, json, out);
}

static json_t *text_json(const char *format, int32_t a, int32_t b)
{
    char text[64];
    snprintf(text, sizeof text, format, a, b);
    return firn_json_string(firn_text_of(text));
}

static json_t *geo_json(const struct firn_type *type)
{
    struct firn_arena arena;
    firn_arena_init(&arena);
    json_t *json = firn_json_string(firn_type_text(&arena, type));
    firn_arena_done(&arena);
    return json;
}

static json_t *field_json(const struct firn_field *field)
{
    json_t *json = json_object();
    firn_json_set_i64(json, "id", field->id);
    firn_json_set_text(json, "name", field->name);
    firn_json_set_bool(json, "required", field->required);
    firn_json_set(json, "type", firn_type_json(&field->type));
    if (field->doc.data)
        firn_json_set_text(json, "doc", field->doc);
    if (field->initial_default)
        firn_json_set(json, "initial-default", json_deep_copy(field->initial_default));
    if (field->write_default)
        firn_json_set(json, "write-default", json_deep_copy(field->write_default));
    return json;
}

static json_t *fields_json(const struct firn_type *type)
{
    json_t *fields = json_array();
    for (uint32_t i = 0; i < type->field_count; i++)
        json_array_append_new(fields, field_json(&type->fields[i]));
    return fields;
}

static json_t *nested_json(const struct firn_type *type)
{
    const struct firn_field *fields = type->fields;
    json_t *json = json_object();
    firn_json_set_text(json, "type", firn_text_of(firn_type_name(type->id)));
    switch (type->id) {
    case FIRN_TYPE_LIST:
        firn_json_set_i64(json, "element-id", fields[0].id);
        firn_json_set(json, "element", firn_type_json(&fields[0].type));
        firn_json_set_bool(json, "element-required", fields[0].required);
        break;
    case FIRN_TYPE_MAP:
        firn_json_set_i64(json, "key-id", fields[0].id);
        firn_json_set(json, "key", firn_type_json(&fields[0].type));
        firn_json_set_i64(json, "value-id", fields[1].id);
        firn_json_set(json, "value", firn_type_json(&fields[1].type));
        firn_json_set_bool(json, "value-required", fields[1].required);
        break;
    default:
        firn_json_set(json, "fields", fields_json(type));
        break;
    }
    return json;
}

json_t *firn_type_json(const struct firn_type *type)
{
    switch (type->id) {
    case FIRN_TYPE_DECIMAL:
        return text_json("decimal(%d, %d)", type->precision, type->scale);
    case FIRN_TYPE_FIXED:
        return text_json("fixed[%d]", type->length, 0);
    case FIRN_TYPE_GEOMETRY:
    case FIRN_TYPE_GEOGRAPHY:
        return geo_json(type);
    case FIRN_TYPE_STRUCT:
    case FIRN_TYPE_LIST:
    case FIRN_TYPE_MAP:
        return nested_json(type);
    default:
        return firn_json_string(firn_text_of(firn_type_name(type->id)));
    }
}

json_t *firn_schema_json(const struct firn_schema *schema)
{
    json_t *json = json_object();
    firn_json_set_text(json, "type", FIRN_TEXT("struct"));
    firn_json_set_i64(json, "schema-id", schema->id);
    if (schema->identifier_count) {
        json_t *ids = json_array();
        for (uint32_t i = 0; i < schema->identifier_count; i++)
            json_array_append_new(ids, json_integer(schema->identifier_ids[i]));
        firn_json_set(json, "identifier-field-ids", ids);
    }
    firn_json_set(json, "fields", fields_json(&schema->root));
    return json;
}
