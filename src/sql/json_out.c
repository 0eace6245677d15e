/* JSON text, written forward. RFC 8259. */
#include "sql/json_out.h"

#include "base/utf8.h"

#include <stdio.h>

struct firn_json_out firn_json_out_of(struct firn_op *op, struct firn_buffer *buffer)
{
    firn_buffer_clear(buffer);
    return (struct firn_json_out){ .op = op, .buffer = buffer };
}

static void put(struct firn_json_out *out, const char *data, size_t len)
{
    if (out->status == FIRN_OK)
        out->status = firn_buffer_append(out->op, out->buffer, data, len);
}

/* What comes before any value. */
static void separate(struct firn_json_out *out)
{
    if (out->follows)
        put(out, ",", 1);
    out->follows = true;
}

void firn_json_out_begin(struct firn_json_out *out, char bracket)
{
    separate(out);
    put(out, &bracket, 1);
    out->follows = false;
}

void firn_json_out_end(struct firn_json_out *out, char bracket)
{
    put(out, &bracket, 1);
    out->follows = true;
}

void firn_json_out_number(struct firn_json_out *out, struct firn_text number)
{
    separate(out);
    put(out, number.data, number.len);
}

void firn_json_out_null(struct firn_json_out *out)
{
    firn_json_out_number(out, FIRN_TEXT("null"));
}

void firn_json_out_bool(struct firn_json_out *out, bool value)
{
    firn_json_out_number(out, value ? FIRN_TEXT("true") : FIRN_TEXT("false"));
}

void firn_json_out_i64(struct firn_json_out *out, int64_t value)
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%" PRId64, value);
    firn_json_out_number(out, (struct firn_text){ digits, (size_t)len });
}

static void put_escape(struct firn_json_out *out, unsigned char c)
{
    static const char from[] = "\"\\\n\r\t", to[] = "\"\\nrt";
    const char *found = c ? strchr(from, c) : NULL;
    char text[8];
    int len = found ? snprintf(text, sizeof text, "\\%c", to[found - from]) : snprintf(text, sizeof text, "\\u%04x", c);
    put(out, text, (size_t)len);
}

static bool needs_escape(unsigned char c)
{
    return c < 0x20 || c == '"' || c == '\\';
}

static void put_quoted(struct firn_json_out *out, struct firn_text text)
{
    size_t done = 0, at = 0;
    put(out, "\"", 1);
    while (at < text.len) {
        unsigned char c = (unsigned char)text.data[at];
        size_t len = c < 0x80 ? 1 : firn_utf8_sequence(firn_text_from(text, at));
        if (len > 0 && !needs_escape(c)) {
            at += len;
            continue;
        }
        put(out, text.data + done, at - done);
        if (len == 0)
            put(out, "\xef\xbf\xbd", 3);
        else
            put_escape(out, c);
        done = ++at;
    }
    put(out, text.data + done, at - done);
    put(out, "\"", 1);
}

void firn_json_out_text(struct firn_json_out *out, struct firn_text text)
{
    separate(out);
    put_quoted(out, text);
}

void firn_json_out_key(struct firn_json_out *out, struct firn_text key)
{
    separate(out);
    put_quoted(out, key);
    put(out, ":", 1);
    out->follows = false;
}

void firn_json_out_number_key(struct firn_json_out *out, int64_t key)
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%" PRId64, key);
    firn_json_out_key(out, (struct firn_text){ digits, (size_t)len });
}
