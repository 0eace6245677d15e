/* Bounds as files hold them: zeros of floats widened, long byte strings cut.
 *
 * parquet.thrift, ColumnOrder (zeros) and Statistics (bounds need not be values that occur). */
#include "format/parquet/order.h"

#include "base/math.h"
#include "base/utf8.h"

/* The most bytes up to `len_max` that are whole characters, or 0 when the text up to there is not UTF-8. */
static size_t whole_characters(struct firn_bytes value, size_t len_max)
{
    struct firn_text text = firn_text_of_bytes(value);
    size_t at = 0;
    while (at < text.len) {
        size_t len = firn_utf8_sequence(firn_text_from(text, at));
        if (len == 0)
            return 0;
        if (at + len > len_max)
            return at;
        at += len;
    }
    return at;
}

static bool is_text(const struct firn_parquet_node *leaf)
{
    return leaf->logical.kind == FIRN_LOGICAL_STRING || leaf->logical.kind == FIRN_LOGICAL_ENUM ||
           leaf->logical.kind == FIRN_LOGICAL_JSON;
}

/* Where to cut: between characters for text, anywhere for the rest. */
static size_t cut_of(const struct firn_parquet_node *leaf, struct firn_bytes value, size_t len_max)
{
    return is_text(leaf) ? whole_characters(value, len_max) : len_max;
}

static bool can_cut(const struct firn_parquet_node *leaf, struct firn_bytes value, size_t len_max)
{
    return leaf->type == FIRN_PARQUET_BYTE_ARRAY && firn_order_of(leaf) == FIRN_ORDER_BYTES && value.len > len_max;
}

/* Raises the last byte that can be, dropping those after it; gives the new length, 0 when none can be. */
static size_t raise_bytes(uint8_t *data, size_t len)
{
    while (len > 0 && data[len - 1] == 0xff)
        len--;
    if (len > 0)
        data[len - 1]++;
    return len;
}

static uint32_t decode_character(const uint8_t *at, size_t len)
{
    uint32_t code = len == 1 ? at[0] : at[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++)
        code = code << 6 | (at[i] & 0x3f);
    return code;
}

static size_t encode_character(uint32_t code, uint8_t *at)
{
    static const uint8_t leads[] = { 0, 0x00, 0xc0, 0xe0, 0xf0 };
    size_t len = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = len; i-- > 1; code >>= 6)
        at[i] = (uint8_t)(0x80 | (code & 0x3f));
    at[0] = (uint8_t)(leads[len] | code);
    return len;
}

/* Raises the last character that can be, skipping surrogates, and drops those after it. The text is whole characters;
 * `data` has room for one byte more. Gives the new length, 0 when no character can be raised. */
static size_t raise_text(uint8_t *data, size_t len)
{
    while (len > 0) {
        size_t start = len - 1;
        while (start > 0 && data[start] >> 6 == 2)
            start--;
        uint32_t code = decode_character(data + start, len - start);
        if (code < 0x10ffff)
            return start + encode_character(code == 0xd7ff ? 0xe000 : code + 1, data + start);
        len = start;
    }
    return 0;
}

/* A zero with the sign asked for, or the value as it is. */
static struct firn_bytes widen_zero(struct firn_arena *arena, enum firn_order order, struct firn_bytes value,
                                    bool negative)
{
    if (!firn_order_has_nan(order))
        return value;
    uint8_t bits = value.data[value.len - 1] & 0x7f;
    for (size_t i = 0; i + 1 < value.len; i++)
        bits |= value.data[i];
    if (bits)
        return value;
    uint8_t *zero = firn_arena_alloc(arena, value.len);
    zero[value.len - 1] = negative ? 0x80 : 0;
    return (struct firn_bytes){ zero, value.len };
}

struct firn_bytes firn_bound_lower(struct firn_arena *arena, const struct firn_parquet_node *leaf,
                                   struct firn_bytes value, size_t len_max)
{
    if (!can_cut(leaf, value, len_max))
        return widen_zero(arena, firn_order_of(leaf), value, true);
    size_t cut = cut_of(leaf, value, len_max);
    return cut ? (struct firn_bytes){ value.data, cut } : value;
}

struct firn_bytes firn_bound_upper(struct firn_arena *arena, const struct firn_parquet_node *leaf,
                                   struct firn_bytes value, size_t len_max)
{
    if (!can_cut(leaf, value, len_max))
        return widen_zero(arena, firn_order_of(leaf), value, false);
    size_t cut = cut_of(leaf, value, len_max);
    uint8_t *raised = firn_arena_alloc(arena, cut + 1);
    memcpy(raised, value.data, cut);
    size_t len = is_text(leaf) ? raise_text(raised, cut) : raise_bytes(raised, cut);
    return len ? (struct firn_bytes){ raised, len } : value;
}
