/* Values of a result for people. */
#include "sql/select.h"

#include "format/json/json.h"

bool firn_select_column_nests(const struct firn_select_column *column)
{
    return firn_text_starts(column->type, FIRN_TEXT("struct<")) || firn_text_starts(column->type, FIRN_TEXT("map<")) ||
           firn_text_starts(column->type, FIRN_TEXT("array<"));
}

static firn_status put(struct firn_op *op, struct firn_buffer *out, struct firn_text text)
{
    return firn_buffer_append(op, out, text.data, text.len);
}

static firn_status put_json(struct firn_op *op, struct firn_buffer *out, const json_t *json);

static firn_status put_members(struct firn_op *op, struct firn_buffer *out, const json_t *json)
{
    const char *key;
    const json_t *value;
    bool follows = false;
    FIRN_TRY(put(op, out, FIRN_TEXT("{")));
    json_object_foreach((json_t *)(uintptr_t)json, key, value)
    {
        FIRN_TRY(put(op, out, follows ? FIRN_TEXT(", ") : FIRN_TEXT("")));
        FIRN_TRY(put(op, out, firn_text_of(key)));
        FIRN_TRY(put(op, out, FIRN_TEXT(": ")));
        FIRN_TRY(put_json(op, out, value));
        follows = true;
    }
    return put(op, out, FIRN_TEXT("}"));
}

static firn_status put_items(struct firn_op *op, struct firn_buffer *out, const json_t *json)
{
    FIRN_TRY(put(op, out, FIRN_TEXT("[")));
    for (size_t i = 0; i < json_array_size(json); i++) {
        FIRN_TRY(put(op, out, i ? FIRN_TEXT(", ") : FIRN_TEXT("")));
        FIRN_TRY(put_json(op, out, json_array_get(json, i)));
    }
    return put(op, out, FIRN_TEXT("]"));
}

/* The parser limits how deep values nest. */
static firn_status put_json(struct firn_op *op, struct firn_buffer *out, const json_t *json)
{
    if (json_is_object(json))
        return put_members(op, out, json);
    if (json_is_array(json))
        return put_items(op, out, json);
    if (json_is_string(json))
        return firn_buffer_append(op, out, json_string_value(json), json_string_length(json));
    return put(op, out, firn_json_text(op->arena, json, 0));
}

/* JSON that cannot be read or is too large to be copied is shown as it is. */
static struct firn_text nested_text(struct firn_op *op, struct firn_text text)
{
    json_t *json;
    struct firn_buffer *out = FIRN_NEW(op->arena, struct firn_buffer);
    firn_buffer_defer(op->arena, out);
    if (firn_json_parse(op, text, "value", &json) != FIRN_OK || put_json(op, out, json) != FIRN_OK)
        return firn_text_copy(op->arena, text);
    return firn_text_of_bytes(firn_buffer_bytes(out));
}

/* "decimal(10,2)": a number with as many digits after the point. */
static struct firn_text real_text(struct firn_op *op, struct firn_text type, double value)
{
    ptrdiff_t comma = firn_text_find(type, ',');
    int64_t scale;
    if (!firn_text_starts(type, FIRN_TEXT("decimal(")) || comma < 0 ||
        !firn_text_to_i64(firn_text_until(firn_text_from(type, (size_t)comma + 1), type.len - (size_t)comma - 2),
                          &scale))
        return firn_real_text(op->arena, value, firn_text_is(type, "float"));
    return firn_text_format(op->arena, "%.*f", (int)scale, value);
}

struct firn_text firn_select_readable(struct firn_op *op, const struct firn_select_column *column,
                                      const struct firn_select_value *value)
{
    switch (value->kind) {
    case FIRN_SELECT_NULL:
        return FIRN_TEXT("NULL");
    case FIRN_SELECT_BOOLEAN:
        return value->integer ? FIRN_TEXT("true") : FIRN_TEXT("false");
    case FIRN_SELECT_INTEGER:
        return firn_text_format(op->arena, "%" PRId64, value->integer);
    case FIRN_SELECT_REAL:
        return real_text(op, column->type, value->real);
    default:
        return firn_select_column_nests(column) ? nested_text(op, value->text) : firn_text_copy(op->arena, value->text);
    }
}
