/* A head of the least number and the bytes of each, then the numbers, the least significant byte first. Numbers are
 * stored and loaded by eight bytes as long as there is room for so many. */
#include "rewrite/number_pack.h"

#include "base/math.h"

enum { WORD = sizeof(uint64_t), HEAD_BYTES = WORD + 1 };

void firn_number_range_add_i32(struct firn_number_range *range, const int32_t *numbers, uint32_t count)
{
    int32_t least = INT32_MAX, most = INT32_MIN;
    for (uint32_t i = 0; i < count; i++) {
        least = FIRN_MIN(least, numbers[i]);
        most = FIRN_MAX(most, numbers[i]);
    }
    if (count == 0)
        return;
    range->least = FIRN_MIN(range->least, least);
    range->most = FIRN_MAX(range->most, most);
}

void firn_number_range_add_i64(struct firn_number_range *range, const int64_t *numbers, uint32_t count)
{
    int64_t least = range->least, most = range->most;
    for (uint32_t i = 0; i < count; i++) {
        least = FIRN_MIN(least, numbers[i]);
        most = FIRN_MAX(most, numbers[i]);
    }
    range->least = least;
    range->most = most;
}

/* Bytes of a number; 0: all are the same. */
static unsigned width_of(const struct firn_number_range *range)
{
    uint64_t most = range->most < range->least ? 0 : (uint64_t)range->most - (uint64_t)range->least;
    return most == 0 ? 0 : WORD - (unsigned)__builtin_clzll(most) / 8;
}

firn_status firn_numbers_begin(struct firn_op *op, const struct firn_number_range *range, struct firn_buffer *out)
{
    uint8_t *head;
    FIRN_TRY(firn_buffer_extend(op, out, HEAD_BYTES, &head));
    firn_store_le64(head, (uint64_t)range->least);
    head[WORD] = (uint8_t)width_of(range);
    return FIRN_OK;
}

/* Room for numbers, and behind it for the rest of a word, which is not part of `out`. */
static firn_status extend(struct firn_op *op, uint32_t count, unsigned width, struct firn_buffer *out, uint8_t **to)
{
    FIRN_TRY(firn_buffer_extend(op, out, (size_t)count * width + WORD, to));
    out->len -= WORD;
    return FIRN_OK;
}

firn_status firn_numbers_put_i32(struct firn_op *op, const struct firn_number_range *range, const int32_t *numbers,
                                 uint32_t count, struct firn_buffer *out)
{
    unsigned width = width_of(range);
    uint8_t *to;
    FIRN_TRY(extend(op, count, width, out, &to));
    for (uint32_t i = 0; i < count && width > 0; i++, to += width)
        firn_store_le64(to, (uint64_t)numbers[i] - (uint64_t)range->least);
    return FIRN_OK;
}

firn_status firn_numbers_put_i64(struct firn_op *op, const struct firn_number_range *range, const int64_t *numbers,
                                 uint32_t count, struct firn_buffer *out)
{
    unsigned width = width_of(range);
    uint8_t *to;
    FIRN_TRY(extend(op, count, width, out, &to));
    for (uint32_t i = 0; i < count && width > 0; i++, to += width)
        firn_store_le64(to, (uint64_t)numbers[i] - (uint64_t)range->least);
    return FIRN_OK;
}

/* Numbers being taken. */
struct packed {
    uint64_t least;
    unsigned width;
    const uint8_t *at;
    uint32_t whole; /* of so many, eight bytes may be loaded */
};

static bool take_packed(struct firn_bytes *in, uint32_t count, struct packed *out)
{
    if (in->len < HEAD_BYTES)
        return false;
    *out = (struct packed){ firn_load_le64(in->data), in->data[WORD], in->data + HEAD_BYTES, 0 };
    size_t left = in->len - HEAD_BYTES, bytes = (size_t)count * out->width;
    if (out->width > WORD || bytes > left)
        return false;
    if (left >= WORD)
        out->whole = out->width > 0 ? (uint32_t)FIRN_MIN((left - WORD) / out->width + 1, count) : count;
    *in = (struct firn_bytes){ out->at + bytes, left - bytes };
    return true;
}

/* A number that is not followed by enough to load a word. */
static uint64_t last_number(const struct packed *packed, uint32_t index)
{
    uint8_t padded[WORD] = { 0 };
    memcpy(padded, packed->at + (size_t)index * packed->width, packed->width);
    return packed->least + firn_load_le64(padded);
}

static uint64_t mask_of(unsigned width)
{
    return width == 0 ? 0 : UINT64_MAX >> (8 * (WORD - width));
}

bool firn_numbers_take_i32(struct firn_bytes *in, uint32_t count, int32_t *out)
{
    struct packed packed;
    if (!take_packed(in, count, &packed))
        return false;
    uint64_t mask = mask_of(packed.width), least = packed.least;
    const uint8_t *at = packed.at;
    for (uint32_t i = 0; i < packed.whole; i++, at += packed.width)
        out[i] = (int32_t)(uint32_t)(least + (firn_load_le64(at) & mask));
    for (uint32_t i = packed.whole; i < count; i++)
        out[i] = (int32_t)(uint32_t)last_number(&packed, i);
    return true;
}

bool firn_numbers_take_i64(struct firn_bytes *in, uint32_t count, int64_t *out)
{
    struct packed packed;
    if (!take_packed(in, count, &packed))
        return false;
    uint64_t mask = mask_of(packed.width), least = packed.least;
    const uint8_t *at = packed.at;
    for (uint32_t i = 0; i < packed.whole; i++, at += packed.width)
        out[i] = (int64_t)(least + (firn_load_le64(at) & mask));
    for (uint32_t i = packed.whole; i < count; i++)
        out[i] = (int64_t)last_number(&packed, i);
    return true;
}
