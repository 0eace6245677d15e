/* Sanitised column names. Reference: format-notes.md, 8.1 and 13. */
#include "rewrite/parquet_name.h"

#include <stdio.h>

/* Ranges above ASCII that hold no letters: Latin-1 signs, punctuation, arrows and symbols, CJK punctuation, surrogates
 * and private use. */
static const struct {
    uint32_t first, last;
} signs[] = {
    { 0x80, 0xa9 },     { 0xab, 0xb4 },     { 0xb6, 0xb9 },     { 0xbb, 0xbf },
    { 0xd7, 0xd7 },     { 0xf7, 0xf7 },     { 0x2000, 0x206f }, { 0x20a0, 0x20cf },
    { 0x2190, 0x2bff }, { 0x3000, 0x3004 }, { 0x3008, 0x3030 }, { 0xd800, 0xf8ff },
};

static bool is_digit(uint32_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(uint32_t c)
{
    if (c < 0x80)
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (c >= signs[i].first && c <= signs[i].last)
            return false;
    return c <= 0xffff; /* beyond, Java sees two surrogates, which are no letters */
}

/* Reads one code point of UTF-8; a broken sequence gives its first byte. */
static uint32_t next_code_point(struct firn_text name, size_t *at)
{
    const uint8_t *bytes = (const uint8_t *)name.data + *at;
    size_t left = name.len - *at;
    size_t len = bytes[0] < 0xc0 ? 1 : bytes[0] < 0xe0 ? 2 : bytes[0] < 0xf0 ? 3 : 4;
    if (len > left)
        len = 1;
    uint32_t code = len == 1 ? bytes[0] : bytes[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++)
        code = code << 6 | (bytes[i] & 0x3f);
    *at += len;
    return code;
}

enum { ESCAPED_BYTES_MAX = 16 };

static size_t print_escaped(char *out, uint32_t code)
{
    if (code <= 0xffff)
        return (size_t)snprintf(out, ESCAPED_BYTES_MAX, "_x%X", code);
    code -= 0x10000;
    return (size_t)snprintf(out, ESCAPED_BYTES_MAX, "_x%X_x%X", 0xd800 + (code >> 10), 0xdc00 + (code & 0x3ff));
}

struct firn_text firn_parquet_name(struct firn_arena *arena, struct firn_text name)
{
    char *out = firn_arena_alloc(arena, name.len * ESCAPED_BYTES_MAX + 2);
    size_t len = 0;

    for (size_t at = 0; at < name.len;) {
        size_t start = at;
        uint32_t code = next_code_point(name, &at);
        if (is_digit(code) && start == 0)
            out[len++] = '_';
        if (is_letter(code) || is_digit(code) || code == '_') {
            memcpy(out + len, name.data + start, at - start);
            len += at - start;
        } else {
            len += print_escaped(out + len, code);
        }
    }
    struct firn_text result = { out, len };
    return firn_text_same(result, name) ? name : result;
}
