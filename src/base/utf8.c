/* Well-formed UTF-8, and escapes for what is none or is not to be printed. RFC 3629, section 4. */
#include "base/utf8.h"

#include "base/math.h"

size_t firn_utf8_sequence(struct firn_text text)
{
    const unsigned char *at = (const unsigned char *)text.data;
    size_t len = at[0] < 0x80 ? 1 : at[0] >= 0xc2 && at[0] < 0xe0 ? 2 : at[0] >= 0xe0 && at[0] < 0xf0 ? 3 : 4;
    if ((at[0] >= 0x80 && at[0] < 0xc2) || at[0] > 0xf4 || len > text.len)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) || (at[0] == 0xf0 && at[1] < 0x90) ||
        (at[0] == 0xf4 && at[1] > 0x8f))
        return 0;
    return len;
}

bool firn_text_is_utf8(struct firn_text text)
{
    for (size_t i = 0; i < text.len;) {
        if (text.len - i >= 8 && !(firn_load_le64(text.data + i) & UINT64_C(0x8080808080808080))) {
            i += 8; /* eight ASCII characters */
            continue;
        }
        size_t len = firn_utf8_sequence((struct firn_text){ text.data + i, text.len - i });
        if (len == 0)
            return false;
        i += len;
    }
    return true;
}

/* Escapes -------------------------------------------------------------------------------------------------------- */

enum escaping { ESCAPE_INVALID, ESCAPE_UNPRINTABLE };

enum { ESCAPE_LEN = 4 }; /* "\xNN" */

/* C0 and DEL, and C1, which UTF-8 spells C2 80 to C2 9F. */
static bool is_control(const unsigned char *at, size_t len)
{
    return (len == 1 && (at[0] < 0x20 || at[0] == 0x7f)) || (len == 2 && at[0] == 0xc2 && at[1] < 0xa0);
}

/* U+202A to U+202E and U+2066 to U+2069 set the direction of text: one name or command could be made to look like
 * another. */
static bool sets_direction(const unsigned char *at, size_t len)
{
    return len == 3 && at[0] == 0xe2 &&
           ((at[1] == 0x80 && at[2] >= 0xaa && at[2] <= 0xae) || (at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9));
}

/* Bytes of the character at the start of `text` that stay as they are; 0: its first byte is to be escaped. */
static size_t kept_len(struct firn_text text, enum escaping escaping)
{
    const unsigned char *at = (const unsigned char *)text.data;
    size_t len = firn_utf8_sequence(text);
    return escaping == ESCAPE_UNPRINTABLE && (is_control(at, len) || sets_direction(at, len)) ? 0 : len;
}

/* Stops at the last whole character or escape that `size` has room for. Gives back the length. */
static size_t escape(struct firn_text text, enum escaping escaping, char *out, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    size_t at = 0;
    for (size_t i = 0; i < text.len;) {
        size_t len = kept_len(firn_text_from(text, i), escaping);
        if (at + (len ? len : ESCAPE_LEN) > size)
            break;
        unsigned char byte = (unsigned char)text.data[i];
        const char escaped[ESCAPE_LEN] = { '\\', 'x', digits[byte >> 4], digits[byte & 15] };
        memcpy(out + at, len ? text.data + i : escaped, len ? len : ESCAPE_LEN);
        at += len ? len : ESCAPE_LEN;
        i += len ? len : 1;
    }
    return at;
}

static struct firn_text escaped_copy(struct firn_arena *arena, struct firn_text text, enum escaping escaping)
{
    size_t i = 0, len;
    while (i < text.len && (len = kept_len(firn_text_from(text, i), escaping)) > 0)
        i += len;
    if (i == text.len)
        return text;
    size_t size = text.len * ESCAPE_LEN;
    char *out = firn_arena_alloc(arena, size + 1);
    return (struct firn_text){ out, escape(text, escaping, out, size) };
}

struct firn_text firn_text_to_utf8(struct firn_arena *arena, struct firn_text text)
{
    return escaped_copy(arena, text, ESCAPE_INVALID);
}

struct firn_text firn_text_printable(struct firn_arena *arena, struct firn_text text)
{
    return escaped_copy(arena, text, ESCAPE_UNPRINTABLE);
}

size_t firn_text_print(char *out, size_t size, struct firn_text text)
{
    size_t len = escape(text, ESCAPE_UNPRINTABLE, out, size - 1);
    out[len] = 0;
    return len;
}
