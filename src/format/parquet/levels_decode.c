/* Repetition and definition levels. parquet-format, "Nested Encoding"; "Encodings", RLE and BIT_PACKED. */
#include "format/parquet/levels_decode.h"

#include "base/math.h"
#include "format/parquet/rle_decode.h"
#include "format/parquet/unpack.h"

static unsigned width_of(uint8_t level_max)
{
    return 32 - (unsigned)__builtin_clz(level_max);
}

firn_status firn_levels_take(struct firn_op *op, struct firn_cursor *page, enum firn_encoding encoding,
                             uint8_t level_max, uint32_t count, struct firn_bytes *section)
{
    if (encoding != FIRN_ENCODING_RLE && encoding != FIRN_ENCODING_BIT_PACKED)
        return firn_fail(op, FIRN_CORRUPT, "levels are encoded as %s", firn_encoding_name(encoding));
    uint64_t len = encoding == FIRN_ENCODING_RLE ? firn_take_le32(page) : firn_packed_bytes(count, width_of(level_max));
    *section = firn_take_bytes(page, len);
    return firn_cursor_finish(op, page, "page with levels");
}

firn_status firn_levels_decode(struct firn_op *op, struct firn_bytes section, enum firn_encoding encoding,
                               uint8_t level_max, uint32_t count, struct firn_buffer *out)
{
    unsigned width = width_of(level_max);
    FIRN_TRY(firn_buffer_resize(op, out, count));
    if (encoding == FIRN_ENCODING_RLE)
        FIRN_TRY(firn_rle_decode_u8(op, section, width, count, out->data));
    else
        firn_unpack_msb_u8(section.data, width, count, out->data);
    uint8_t max = firn_max_u8(out->data, count);
    if (max > level_max)
        return firn_fail(op, FIRN_CORRUPT, "level %u where at most %u is possible", max, level_max);
    return FIRN_OK;
}

bool firn_levels_all_max(struct firn_bytes section, enum firn_encoding encoding, uint8_t level_max, uint32_t count)
{
    return encoding == FIRN_ENCODING_RLE && firn_rle_is_constant(section, width_of(level_max), count, level_max);
}

bool firn_levels_count(struct firn_bytes section, uint8_t level_max, uint32_t count, int64_t *histogram)
{
    int64_t all[UINT8_MAX + 1] = { 0 };
    if (!firn_rle_count(section, width_of(level_max), count, all))
        return false;
    for (size_t i = level_max + 1u; i < FIRN_COUNT_OF(all); i++)
        if (all[i] > 0)
            return false;
    memcpy(histogram, all, (level_max + 1u) * sizeof *histogram);
    return true;
}

bool firn_levels_begin_row(struct firn_bytes section, uint8_t rep_max, uint32_t count)
{
    return firn_rle_begins_with(section, width_of(rep_max), count, 0);
}
