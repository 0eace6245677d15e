/* Cursors. */
#include "base/cursor.h"

#include "base/math.h"

struct firn_cursor firn_cursor_of(struct firn_bytes bytes)
{
    static const uint8_t nothing[1];
    const uint8_t *data = bytes.data ? bytes.data : nothing;
    return (struct firn_cursor){ .start = data, .at = data, .end = data + bytes.len };
}

void firn_cursor_fail(struct firn_cursor *in, const char *failure)
{
    if (in->failure)
        return;
    in->failure = failure;
    in->failure_offset = firn_cursor_offset(in);
    in->at = in->end;
}

static const uint8_t *take(struct firn_cursor *in, uint64_t len)
{
    if (in->failure)
        return NULL;
    if (len > firn_cursor_left(in)) {
        firn_cursor_fail(in, "ends too early");
        return NULL;
    }
    const uint8_t *at = in->at;
    in->at += len;
    return at;
}

uint8_t firn_take_u8(struct firn_cursor *in)
{
    const uint8_t *at = take(in, 1);
    return at ? *at : 0;
}

uint32_t firn_take_le32(struct firn_cursor *in)
{
    const uint8_t *at = take(in, 4);
    return at ? firn_load_le32(at) : 0;
}

uint64_t firn_take_le64(struct firn_cursor *in)
{
    const uint8_t *at = take(in, 8);
    return at ? firn_load_le64(at) : 0;
}

uint32_t firn_take_be32(struct firn_cursor *in)
{
    const uint8_t *at = take(in, 4);
    return at ? firn_load_be32(at) : 0;
}

uint64_t firn_take_le(struct firn_cursor *in, unsigned bytes)
{
    const uint8_t *at = take(in, bytes);
    uint64_t value = 0;
    for (unsigned i = 0; at && i < bytes; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

uint64_t firn_take_varint64(struct firn_cursor *in)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (in->at == in->end) {
            firn_cursor_fail(in, "ends within a number");
            return 0;
        }
        uint8_t byte = *in->at++;
        if (shift == 63 && (byte & 0x7e))
            break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    firn_cursor_fail(in, "has a number of more than 64 bits");
    return 0;
}

int64_t firn_take_zigzag64(struct firn_cursor *in)
{
    return firn_zigzag_decode(firn_take_varint64(in));
}

struct firn_bytes firn_take_bytes(struct firn_cursor *in, uint64_t len)
{
    const uint8_t *at = take(in, len);
    return at ? (struct firn_bytes){ at, (size_t)len } : (struct firn_bytes){ 0 };
}

void firn_take_expected(struct firn_cursor *in, struct firn_bytes expected, const char *what)
{
    if (in->failure)
        return;
    if (firn_cursor_left(in) < expected.len || memcmp(in->at, expected.data, expected.len) != 0)
        firn_cursor_fail(in, what);
    else
        in->at += expected.len;
}

firn_status firn_cursor_finish(struct firn_op *op, const struct firn_cursor *in, const char *what)
{
    if (!in->failure)
        return FIRN_OK;
    return firn_fail(op, FIRN_CORRUPT, "%s %s (at byte %zu of %zu)", what, in->failure, in->failure_offset,
                     (size_t)(in->end - in->start));
}
