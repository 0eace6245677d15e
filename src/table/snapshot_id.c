/* Snapshot ids in JSON, wide ones included. */
#include "table/snapshot_id.h"

#define WIDE_DIGITS_MAX 20

static const char printed_mark[] = "snapshot-id\":\"\\u0000";
#define PRINTED_KEY_LEN (sizeof "snapshot-id\":" - 1)

static bool parse_wide(struct firn_text digits, int64_t *out)
{
    uint64_t value = 0;
    for (size_t i = 0; i < digits.len; i++) {
        if (digits.data[i] < '0' || digits.data[i] > '9' || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(digits.data[i] - '0'), &value))
            return false;
    }
    *out = (int64_t)value;
    return digits.len > 0 && value > INT64_MAX;
}

/* The digits of the number that is the value of a member ending in `snapshot-id"` at `at`; empty when none is there. */
static struct firn_text id_digits(struct firn_text text, size_t at)
{
    while (at < text.len && (text.data[at] == ' ' || text.data[at] == '\t' || text.data[at] == '\n' ||
                             text.data[at] == '\r' || text.data[at] == ':'))
        at++;
    size_t end = at;
    while (end < text.len && text.data[end] >= '0' && text.data[end] <= '9')
        end++;
    return (struct firn_text){ text.data + at, end - at };
}

/* The first wide id from `from` on; false when there is none. */
static bool find_wide(struct firn_text text, size_t from, struct firn_text *digits)
{
    static const char key[] = "snapshot-id\"";
    int64_t value;
    while (from < text.len) {
        const char *found = memmem(text.data + from, text.len - from, key, sizeof key - 1);
        if (!found)
            return false;
        from = (size_t)(found - text.data) + sizeof key - 1;
        *digits = id_digits(text, from);
        if (digits->len <= WIDE_DIGITS_MAX && parse_wide(*digits, &value))
            return true;
    }
    return false;
}

firn_status firn_snapshot_ids_mark(struct firn_op *op, struct firn_text text, struct firn_text *out)
{
    struct firn_text digits;
    *out = text;
    if (!find_wide(text, 0, &digits))
        return FIRN_OK;
    struct firn_buffer *buffer = FIRN_NEW(op->arena, struct firn_buffer);
    firn_buffer_defer(op->arena, buffer);
    size_t done = 0;
    do {
        size_t at = (size_t)(digits.data - text.data);
        FIRN_TRY(firn_buffer_append(op, buffer, text.data + done, at - done));
        FIRN_TRY(firn_buffer_append(op, buffer, "\"\\u0000", 7));
        FIRN_TRY(firn_buffer_append(op, buffer, digits.data, digits.len));
        FIRN_TRY(firn_buffer_append(op, buffer, "\"", 1));
        done = at + digits.len;
    } while (find_wide(text, done, &digits));
    FIRN_TRY(firn_buffer_append(op, buffer, text.data + done, text.len - done));
    *out = firn_text_of_bytes(firn_buffer_bytes(buffer));
    return FIRN_OK;
}

/* Moves json[from .. until) down to `*to`. */
static void move_down(struct firn_buffer *json, size_t from, size_t until, size_t *to)
{
    memmove(json->data + *to, json->data + from, until - from);
    *to += until - from;
}

void firn_snapshot_ids_unmark(struct firn_buffer *json)
{
    size_t from = 0, to = 0, mark_len = sizeof printed_mark - 1;
    const uint8_t *mark;
    while (from < json->len && (mark = memmem(json->data + from, json->len - from, printed_mark, mark_len))) {
        size_t at = (size_t)(mark - json->data);
        struct firn_text rest = { (const char *)mark + mark_len, json->len - at - mark_len };
        ptrdiff_t quote = firn_text_find(rest, '"');
        int64_t value;
        bool wide = quote > 0 && parse_wide(firn_text_until(rest, (size_t)quote), &value);
        move_down(json, from, at + (wide ? PRINTED_KEY_LEN : mark_len), &to);
        from = at + mark_len;
        if (!wide)
            continue;
        move_down(json, from, from + (size_t)quote, &to);
        from += (size_t)quote + 1;
    }
    if (json->len)
        move_down(json, from, json->len, &to);
    json->len = to;
}

bool firn_snapshot_id_of(const json_t *json, int64_t *out)
{
    if (json_is_integer(json)) {
        *out = json_integer_value(json);
        return true;
    }
    size_t len = json_string_length(json);
    if (!json_is_string(json) || len < 2 || json_string_value(json)[0] != '\0')
        return false;
    return parse_wide((struct firn_text){ json_string_value(json) + 1, len - 1 }, out);
}

firn_status firn_snapshot_id_find(struct firn_op *op, const json_t *object, const char *key, const char *what,
                                  int64_t *out, bool *found)
{
    if (!firn_snapshot_id_of(json_object_get(object, key), out))
        return firn_json_find_i64(op, object, key, what, out, found);
    if (found)
        *found = true;
    return FIRN_OK;
}

firn_status firn_snapshot_id_need(struct firn_op *op, const json_t *object, const char *key, const char *what,
                                  int64_t *out)
{
    if (firn_snapshot_id_of(json_object_get(object, key), out))
        return FIRN_OK;
    return firn_json_need_i64(op, object, key, what, out);
}
