/* Bounds cut to a number of code points or bytes. Reference: format-notes.md, 11.2 ("Lower bound", "Upper bound"). */
#include "base/math.h"
#include "table/metrics.h"

#define CODE_POINT_MAX  0x10ffffu
#define SURROGATE_FIRST 0xd800u
#define SURROGATE_LAST  0xdfffu

struct firn_bytes firn_truncate_lower(struct firn_arena *arena, enum firn_type_id type, struct firn_bytes value,
                                      int32_t length)
{
    if (type == FIRN_TYPE_STRING)
        value = firn_first_code_points(value, length);
    else if (type == FIRN_TYPE_BINARY)
        value.len = FIRN_MIN(value.len, (size_t)length);
    return firn_bytes_copy(arena, value);
}

static size_t encode(uint32_t point, uint8_t out[4])
{
    size_t len = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    static const uint8_t leads[] = { 0, 0x00, 0xc0, 0xe0, 0xf0 };
    for (size_t i = len - 1; i > 0; i--) {
        out[i] = (uint8_t)(0x80 | (point & 0x3f));
        point >>= 6;
    }
    out[0] = (uint8_t)(leads[len] | point);
    return len;
}

/* The code point that the whole of `bytes` encodes; false when it is not one. */
static bool decode(struct firn_bytes bytes, uint32_t *out)
{
    static const uint8_t masks[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
    static const uint8_t leads[] = { 0, 0x00, 0xc0, 0xe0, 0xf0 };
    if (bytes.len < 1 || bytes.len > 4 || (bytes.data[0] & ~masks[bytes.len]) != leads[bytes.len])
        return false;
    uint32_t point = bytes.data[0] & masks[bytes.len];
    for (size_t i = 1; i < bytes.len; i++)
        point = point << 6 | (bytes.data[i] & 0x3f);
    uint8_t shortest[4];
    *out = point;
    return encode(point, shortest) == bytes.len && point <= CODE_POINT_MAX &&
           (point < SURROGATE_FIRST || point > SURROGATE_LAST);
}

/* The last code point that can be made greater is, and what follows it is dropped. Text that is not UTF-8 has no upper
 * bound that would be. */
static bool raise_text(struct firn_arena *arena, struct firn_bytes prefix, struct firn_bytes *out)
{
    while (prefix.len) {
        size_t start = prefix.len - 1;
        while (start > 0 && (prefix.data[start] & 0xc0) == 0x80)
            start--;
        uint32_t point;
        if (!decode((struct firn_bytes){ prefix.data + start, prefix.len - start }, &point))
            return false;
        prefix.len = start;
        if (point == CODE_POINT_MAX)
            continue;
        uint8_t *bytes = firn_arena_alloc(arena, start + 4);
        if (start)
            memcpy(bytes, prefix.data, start);
        size_t len = encode(point + 1 == SURROGATE_FIRST ? SURROGATE_LAST + 1 : point + 1, bytes + start);
        *out = (struct firn_bytes){ bytes, start + len };
        return true;
    }
    return false;
}

static bool raise_bytes(struct firn_arena *arena, struct firn_bytes prefix, struct firn_bytes *out)
{
    while (prefix.len && prefix.data[prefix.len - 1] == 0xff)
        prefix.len--;
    if (prefix.len == 0)
        return false;
    uint8_t *bytes = firn_arena_alloc(arena, prefix.len);
    memcpy(bytes, prefix.data, prefix.len);
    bytes[prefix.len - 1]++;
    *out = (struct firn_bytes){ bytes, prefix.len };
    return true;
}

bool firn_truncate_upper(struct firn_arena *arena, enum firn_type_id type, struct firn_bytes value, int32_t length,
                         struct firn_bytes *out)
{
    struct firn_bytes prefix = firn_truncate_lower(arena, type, value, length);
    *out = prefix;
    if (prefix.len == value.len)
        return true;
    return type == FIRN_TYPE_STRING ? raise_text(arena, prefix, out) : raise_bytes(arena, prefix, out);
}
