/* JSON over jansson. */
#include "format/json/json.h"

#include "base/utf8.h"

static void drop(void *subject)
{
    json_decref(subject);
}

json_t *firn_json_own(struct firn_arena *arena, json_t *json)
{
    if (json)
        firn_arena_defer(arena, drop, json);
    return json;
}

json_t *firn_json_copy(struct firn_arena *arena, const json_t *json)
{
    return firn_json_own(arena, json_deep_copy(json));
}

firn_status firn_json_parse(struct firn_op *op, struct firn_text text, const char *what, json_t **out)
{
    json_error_t error;
    json_t *json = json_loadb(text.data ? text.data : "", text.len, JSON_ALLOW_NUL | JSON_DECODE_ANY, &error);
    if (!json)
        return firn_fail(op, FIRN_CORRUPT, "%s is not JSON: %s (line %d, column %d)", what, error.text, error.line,
                         error.column);
    *out = firn_json_own(op->arena, json);
    return FIRN_OK;
}

struct printing {
    struct firn_op *op;
    struct firn_buffer *out;
};

static int print_part(const char *data, size_t len, void *context)
{
    struct printing *printing = context;
    return firn_buffer_append(printing->op, printing->out, data, len) == FIRN_OK ? 0 : -1;
}

static size_t dump_flags(unsigned indent)
{
    return JSON_ENCODE_ANY | (indent ? JSON_INDENT(indent) : JSON_COMPACT);
}

firn_status firn_json_print(struct firn_op *op, const json_t *json, unsigned indent, struct firn_buffer *out)
{
    struct printing printing = { .op = op, .out = out };
    op->error.status = FIRN_OK;
    if (json_dump_callback(json, print_part, &printing, dump_flags(indent)) == 0)
        return FIRN_OK;
    if (op->error.status != FIRN_OK)
        return op->error.status;
    return firn_fail(op, FIRN_SYSTEM, "a JSON tree cannot be printed");
}

struct firn_text firn_json_text(struct firn_arena *arena, const json_t *json, unsigned indent)
{
    size_t len = json_dumpb(json, NULL, 0, dump_flags(indent));
    char *text = firn_arena_alloc(arena, len + 1);
    json_dumpb(json, text, len, dump_flags(indent));
    return (struct firn_text){ text, len };
}

/* The member, or NULL when absent or null. */
static json_t *member(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

static firn_status fail_missing(struct firn_op *op, const char *key, const char *what)
{
    return firn_fail(op, FIRN_CORRUPT, "%s has no \"%s\"", what, key);
}

static firn_status fail_type(struct firn_op *op, const char *key, const char *what, const char *wanted)
{
    return firn_fail(op, FIRN_CORRUPT, "\"%s\" of %s is not %s", key, what, wanted);
}

firn_status firn_json_find_i64(struct firn_op *op, const json_t *object, const char *key, const char *what,
                               int64_t *out, bool *found)
{
    const json_t *value = member(object, key);
    if (found)
        *found = value != NULL;
    if (!value)
        return FIRN_OK;
    if (!json_is_integer(value))
        return fail_type(op, key, what, "a whole number");
    *out = json_integer_value(value);
    return FIRN_OK;
}

firn_status firn_json_find_i32(struct firn_op *op, const json_t *object, const char *key, const char *what,
                               int32_t *out, bool *found)
{
    int64_t wide = 0;
    bool here;
    FIRN_TRY(firn_json_find_i64(op, object, key, what, &wide, &here));
    if (found)
        *found = here;
    if (!here)
        return FIRN_OK;
    if (wide < INT32_MIN || wide > INT32_MAX)
        return fail_type(op, key, what, "a 32-bit number");
    *out = (int32_t)wide;
    return FIRN_OK;
}

firn_status firn_json_find_text(struct firn_op *op, const json_t *object, const char *key, const char *what,
                                struct firn_text *out, bool *found)
{
    const json_t *value = member(object, key);
    if (found)
        *found = value != NULL;
    if (!value)
        return FIRN_OK;
    if (!json_is_string(value))
        return fail_type(op, key, what, "text");
    *out = firn_text_copy(op->arena, (struct firn_text){ json_string_value(value), json_string_length(value) });
    return FIRN_OK;
}

firn_status firn_json_find_bool(struct firn_op *op, const json_t *object, const char *key, const char *what, bool *out,
                                bool *found)
{
    const json_t *value = member(object, key);
    if (found)
        *found = value != NULL;
    if (!value)
        return FIRN_OK;
    if (!json_is_boolean(value))
        return fail_type(op, key, what, "true or false");
    *out = json_is_true(value);
    return FIRN_OK;
}

firn_status firn_json_need_i64(struct firn_op *op, const json_t *object, const char *key, const char *what,
                               int64_t *out)
{
    bool found;
    FIRN_TRY(firn_json_find_i64(op, object, key, what, out, &found));
    return found ? FIRN_OK : fail_missing(op, key, what);
}

firn_status firn_json_need_i32(struct firn_op *op, const json_t *object, const char *key, const char *what,
                               int32_t *out)
{
    bool found;
    FIRN_TRY(firn_json_find_i32(op, object, key, what, out, &found));
    return found ? FIRN_OK : fail_missing(op, key, what);
}

firn_status firn_json_need_text(struct firn_op *op, const json_t *object, const char *key, const char *what,
                                struct firn_text *out)
{
    bool found;
    FIRN_TRY(firn_json_find_text(op, object, key, what, out, &found));
    return found ? FIRN_OK : fail_missing(op, key, what);
}

firn_status firn_json_need_array(struct firn_op *op, const json_t *object, const char *key, const char *what,
                                 json_t **out)
{
    *out = member(object, key);
    if (!*out)
        return fail_missing(op, key, what);
    return json_is_array(*out) ? FIRN_OK : fail_type(op, key, what, "an array");
}

firn_status firn_json_need_object(struct firn_op *op, const json_t *object, const char *key, const char *what,
                                  json_t **out)
{
    *out = member(object, key);
    if (!*out)
        return fail_missing(op, key, what);
    return json_is_object(*out) ? FIRN_OK : fail_type(op, key, what, "an object");
}

json_t *firn_json_string(struct firn_text text)
{
    struct firn_arena arena = { 0 };
    struct firn_text valid = firn_text_to_utf8(&arena, text);
    json_t *string = json_stringn(valid.data ? valid.data : "", valid.len);
    firn_arena_done(&arena);
    return string;
}

void firn_json_set(json_t *object, const char *key, json_t *value)
{
    json_object_set_new(object, key, value);
}

void firn_json_set_at(json_t *object, struct firn_text key, json_t *value)
{
    json_t *valid = firn_json_string(key);
    json_object_setn_new(object, json_string_value(valid), json_string_length(valid), value);
    json_decref(valid);
}

void firn_json_set_text(json_t *object, const char *key, struct firn_text value)
{
    firn_json_set(object, key, firn_json_string(value));
}

void firn_json_set_text_or_null(json_t *object, const char *key, struct firn_text value)
{
    firn_json_set(object, key, value.len > 0 ? firn_json_string(value) : json_null());
}

void firn_json_set_i64(json_t *object, const char *key, int64_t value)
{
    firn_json_set(object, key, json_integer(value));
}

void firn_json_set_bool(json_t *object, const char *key, bool value)
{
    firn_json_set(object, key, json_boolean(value));
}
