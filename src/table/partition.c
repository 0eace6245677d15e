/* Partition specs and tuples. Iceberg spec, "Partitioning"; paths: reference, format-notes.md, 9.1. */
#include "table/partition.h"

#include "base/math.h"

#define PARTITION_ID_FIRST 1000

firn_status firn_source_ids_parse(struct firn_op *op, const json_t *json, const char *what, int32_t **ids,
                                  uint32_t *count)
{
    const json_t *several = json_object_get(json, "source-ids");
    if (!json_is_array(several)) {
        *ids = FIRN_NEW(op->arena, int32_t);
        *count = 1;
        return firn_json_need_i32(op, json, "source-id", what, *ids);
    }
    *count = (uint32_t)FIRN_MIN(json_array_size(several), (size_t)INT32_MAX);
    *ids = FIRN_NEW_ARRAY(op->arena, int32_t, *count);
    for (uint32_t i = 0; i < *count; i++) {
        const json_t *id = json_array_get(several, i);
        json_int_t number = json_integer_value(id);
        if (!json_is_integer(id) || number < INT32_MIN || number > INT32_MAX)
            return firn_fail(op, FIRN_CORRUPT, "\"source-ids\" of %s holds something that is no field id", what);
        (*ids)[i] = (int32_t)number;
    }
    if (*count == 0)
        return firn_fail(op, FIRN_CORRUPT, "\"source-ids\" of %s is empty", what);
    return FIRN_OK;
}

void firn_source_ids_json(json_t *json, const int32_t *ids, uint32_t count)
{
    if (count == 1) {
        firn_json_set_i64(json, "source-id", ids[0]);
        return;
    }
    json_t *several = json_array();
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(several, json_integer(ids[i]));
    firn_json_set(json, "source-ids", several);
}

firn_status firn_transform_parse_json(struct firn_op *op, const json_t *json, const char *what, uint32_t source_count,
                                      struct firn_transform *out)
{
    struct firn_text text;
    FIRN_TRY(firn_json_need_text(op, json, "transform", what, &text));
    *out = firn_transform_parse(op->arena, text);
    if (source_count != 1 && out->id != FIRN_TRANSFORM_VOID)
        out->id = FIRN_TRANSFORM_UNKNOWN; /* no transform of several arguments is known */
    return FIRN_OK;
}

static firn_status parse_field(struct firn_op *op, const json_t *json, int32_t fallback_id,
                               struct firn_partition_field *out)
{
    if (!json_is_object(json))
        return firn_fail(op, FIRN_CORRUPT, "partition field is not an object");
    FIRN_TRY(firn_source_ids_parse(op, json, "partition field", &out->source_ids, &out->source_count));
    out->field_id = fallback_id;
    FIRN_TRY(firn_json_find_i32(op, json, "field-id", "partition field", &out->field_id, NULL));
    FIRN_TRY(firn_json_need_text(op, json, "name", "partition field", &out->name));
    return firn_transform_parse_json(op, json, "partition field", out->source_count, &out->transform);
}

static firn_status check_fields(struct firn_op *op, const struct firn_partition_spec *spec)
{
    for (uint32_t i = 0; i < spec->field_count; i++)
        for (uint32_t k = 0; k < i; k++) {
            const struct firn_partition_field *a = &spec->fields[k], *b = &spec->fields[i];
            if (a->field_id == b->field_id)
                return firn_fail(op, FIRN_CORRUPT, "partition spec %d uses the field id %d twice", spec->id,
                                 a->field_id);
            if (firn_text_same(a->name, b->name))
                return firn_fail(op, FIRN_CORRUPT, "partition spec %d has two fields named '%.*s'", spec->id,
                                 FIRN_FMT(a->name));
        }
    return FIRN_OK;
}

firn_status firn_partition_spec_parse(struct firn_op *op, const json_t *json, int32_t id,
                                      struct firn_partition_spec *out)
{
    *out = (struct firn_partition_spec){ .id = id };
    const json_t *fields = json;
    if (json_is_object(json)) {
        json_t *member;
        FIRN_TRY(firn_json_need_i32(op, json, "spec-id", "partition spec", &out->id));
        FIRN_TRY(firn_json_need_array(op, json, "fields", "partition spec", &member));
        fields = member;
    }
    if (!json_is_array(fields))
        return firn_fail(op, FIRN_CORRUPT, "partition spec is neither an object nor an array of fields");
    if (json_array_size(fields) > FIRN_PARTITION_FIELDS_MAX)
        return firn_fail(op, FIRN_CORRUPT, "partition spec %d has %zu fields, more than %d", out->id,
                         json_array_size(fields), FIRN_PARTITION_FIELDS_MAX);
    out->field_count = (uint32_t)json_array_size(fields);
    out->fields = FIRN_NEW_ARRAY(op->arena, struct firn_partition_field, out->field_count);
    for (uint32_t i = 0; i < out->field_count; i++)
        FIRN_TRY(firn_context(
            op, parse_field(op, json_array_get(fields, i), PARTITION_ID_FIRST + (int32_t)i, &out->fields[i]),
            "partition spec %d", out->id));
    return check_fields(op, out);
}

json_t *firn_partition_fields_json(const struct firn_partition_spec *spec)
{
    json_t *fields = json_array();
    for (uint32_t i = 0; i < spec->field_count; i++) {
        const struct firn_partition_field *field = &spec->fields[i];
        json_t *json = json_object();
        firn_json_set_text(json, "name", field->name);
        firn_json_set_text(json, "transform", field->transform.text);
        firn_source_ids_json(json, field->source_ids, field->source_count);
        firn_json_set_i64(json, "field-id", field->field_id);
        json_array_append_new(fields, json);
    }
    return fields;
}

json_t *firn_partition_spec_json(const struct firn_partition_spec *spec)
{
    json_t *json = json_object();
    firn_json_set_i64(json, "spec-id", spec->id);
    firn_json_set(json, "fields", firn_partition_fields_json(spec));
    return json;
}

bool firn_partition_spec_is_unpartitioned(const struct firn_partition_spec *spec)
{
    for (uint32_t i = 0; i < spec->field_count; i++)
        if (spec->fields[i].transform.id != FIRN_TRANSFORM_VOID)
            return false;
    return true;
}

static const struct firn_field *find_source(const struct firn_schema *const *schemas, size_t count, int32_t id)
{
    for (size_t i = 0; i < count; i++) {
        const struct firn_field *field = firn_schema_field(schemas[i], id);
        if (field)
            return field;
    }
    return NULL;
}

firn_status firn_partition_types(struct firn_op *op, const struct firn_partition_spec *spec,
                                 const struct firn_schema *const *schemas, size_t schema_count, struct firn_type **out)
{
    struct firn_type *types = FIRN_NEW_ARRAY(op->arena, struct firn_type, spec->field_count);
    for (uint32_t i = 0; i < spec->field_count; i++) {
        const struct firn_partition_field *field = &spec->fields[i];
        const struct firn_field *source = find_source(schemas, schema_count, field->source_ids[0]);
        if (!source) {
            types[i] = (struct firn_type){ .id = FIRN_TYPE_UNKNOWN };
            continue;
        }
        if (field->transform.id != FIRN_TRANSFORM_UNKNOWN && !firn_transform_accepts(&field->transform, &source->type))
            return firn_fail(op, FIRN_CORRUPT, "partition spec %d: transform %.*s of column '%.*s' of type %s",
                             spec->id, FIRN_FMT(field->transform.text), FIRN_FMT(source->name),
                             firn_type_name(source->type.id));
        types[i] = firn_transform_result(&field->transform, &source->type);
    }
    *out = types;
    return FIRN_OK;
}

static bool is_identity_of(const struct firn_partition_field *field, int32_t source_id)
{
    return field->transform.id == FIRN_TRANSFORM_IDENTITY && field->source_count == 1 &&
           field->source_ids[0] == source_id;
}

bool firn_partition_spec_has_identity(const struct firn_partition_spec *spec, int32_t source_id)
{
    for (uint32_t i = 0; i < spec->field_count; i++)
        if (is_identity_of(&spec->fields[i], source_id))
            return true;
    return false;
}

const struct firn_value *firn_partition_identity_value(const struct firn_partition_spec *spec,
                                                       const struct firn_partition *partition, int32_t source_id)
{
    for (uint32_t i = 0; i < spec->field_count && i < partition->count; i++)
        if (is_identity_of(&spec->fields[i], source_id))
            return &partition->values[i];
    return NULL;
}

struct firn_partition firn_partition_copy(struct firn_arena *arena, const struct firn_partition *partition)
{
    struct firn_partition copy = { FIRN_NEW_ARRAY(arena, struct firn_value, partition->count), partition->count };
    for (uint32_t i = 0; i < copy.count; i++)
        copy.values[i] = firn_value_copy(arena, &partition->values[i]);
    return copy;
}

bool firn_partition_same(const struct firn_partition *a, const struct firn_partition *b)
{
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (!firn_value_same(&a->values[i], &b->values[i]))
            return false;
    return true;
}

firn_status firn_partition_key(struct firn_op *op, const struct firn_partition *partition, struct firn_buffer *out)
{
    for (uint32_t i = 0; i < partition->count; i++)
        FIRN_TRY(firn_value_key(op, &partition->values[i], out));
    return FIRN_OK;
}

static bool kept_in_form(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == '*' || c == '_';
}

/* HTML form encoding: letters, digits and . - * _ stay, a blank is '+', all else %XX. */
static struct firn_text form_encode(struct firn_arena *arena, struct firn_text text)
{
    static const char digits[] = "0123456789ABCDEF";
    char *out = firn_arena_alloc_array(arena, text.len, 3);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (kept_in_form(c) || c == ' ') {
            out[len++] = c == ' ' ? '+' : c;
            continue;
        }
        out[len++] = '%';
        out[len++] = digits[(uint8_t)c >> 4];
        out[len++] = digits[(uint8_t)c & 15];
    }
    return (struct firn_text){ out, len };
}

struct firn_text firn_partition_path(struct firn_arena *arena, const struct firn_partition_spec *spec,
                                     const struct firn_type *types, const struct firn_partition *partition)
{
    struct firn_text path = FIRN_TEXT("");
    for (uint32_t i = 0; i < spec->field_count && i < partition->count; i++) {
        const struct firn_partition_field *field = &spec->fields[i];
        struct firn_text human = firn_transform_human(arena, &field->transform, &types[i], &partition->values[i]);
        struct firn_text name = form_encode(arena, field->name), value = form_encode(arena, human);
        path =
            firn_text_format(arena, "%.*s%s%.*s=%.*s", FIRN_FMT(path), i ? "/" : "", FIRN_FMT(name), FIRN_FMT(value));
    }
    return path;
}
