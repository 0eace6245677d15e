/* Values of a page, one function an encoding. parquet-format, "Encodings". */
#include "format/parquet/encoding_decode.h"

#include "base/math.h"
#include "format/parquet/rle_decode.h"
#include "format/parquet/unpack.h"

static size_t width_of(const struct firn_value_decoder *decoder)
{
    return firn_value_width(decoder->type, decoder->type_length);
}

static firn_status reserve_values(struct firn_op *op, struct firn_value_decoder *decoder, uint32_t count)
{
    return firn_buffer_resize_array(op, &decoder->values, count, width_of(decoder));
}

static firn_status fail_short(struct firn_op *op, uint32_t count, size_t bytes)
{
    return firn_fail(op, FIRN_CORRUPT, "%" PRIu32 " values do not fit into %zu bytes", count, bytes);
}

static firn_status decode_plain_booleans(struct firn_op *op, struct firn_value_decoder *decoder, struct firn_bytes in,
                                         uint32_t count)
{
    if (firn_packed_bytes(count, 1) > in.len)
        return fail_short(op, count, in.len);
    FIRN_TRY(reserve_values(op, decoder, count));
    firn_unpack_u8(in, 1, count, decoder->values.data);
    return FIRN_OK;
}

/* Each value is its length in four bytes and its content. */
static firn_status decode_plain_slices(struct firn_op *op, struct firn_value_decoder *decoder, struct firn_bytes in,
                                       uint32_t count)
{
    if (in.len / 4 < count)
        return fail_short(op, count, in.len);
    FIRN_TRY(reserve_values(op, decoder, count));
    struct firn_slice *out = (struct firn_slice *)(void *)decoder->values.data;
    const uint8_t *at = in.data;
    const uint8_t *end = in.data + in.len;
    for (uint32_t i = 0; i < count; i++) {
        size_t left = (size_t)(end - at);
        uint32_t len = left < 4 ? 0 : firn_load_le32(at);
        if (left < 4 || len > left - 4)
            return firn_fail(op, FIRN_CORRUPT, "value %" PRIu32 " is %" PRIu32 " bytes long, %zu are left", i, len,
                             left);
        out[i] = (struct firn_slice){ at + 4, len };
        at += 4 + (size_t)len;
    }
    return FIRN_OK;
}

static firn_status decode_plain(struct firn_op *op, struct firn_value_decoder *decoder, struct firn_bytes in,
                                uint32_t count)
{
    if (decoder->type == FIRN_PARQUET_BOOLEAN)
        return decode_plain_booleans(op, decoder, in, count);
    if (decoder->type == FIRN_PARQUET_BYTE_ARRAY)
        return decode_plain_slices(op, decoder, in, count);
    if (in.len / width_of(decoder) < count)
        return fail_short(op, count, in.len);
    FIRN_TRY(reserve_values(op, decoder, count));
    if (count > 0)
        memcpy(decoder->values.data, in.data, decoder->values.len);
    return FIRN_OK;
}

/* Booleans, with the length of the data in front. */
static firn_status decode_rle(struct firn_op *op, struct firn_value_decoder *decoder, struct firn_bytes in,
                              uint32_t count)
{
    struct firn_cursor from = firn_cursor_of(in);
    struct firn_bytes runs = firn_take_bytes(&from, firn_take_le32(&from));
    FIRN_TRY(firn_cursor_finish(op, &from, "run-length encoded data"));
    FIRN_TRY(reserve_values(op, decoder, count));
    return firn_rle_decode_u8(op, runs, 1, count, decoder->values.data);
}

static firn_status decode_delta_binary(struct firn_op *op, struct firn_value_decoder *decoder, struct firn_bytes in,
                                       uint32_t count)
{
    struct firn_cursor from = firn_cursor_of(in);
    FIRN_TRY(reserve_values(op, decoder, count));
    if (decoder->type == FIRN_PARQUET_INT32)
        return firn_delta_decode_i32(op, &from, count, (int32_t *)(void *)decoder->values.data);
    return firn_delta_decode_i64(op, &from, count, (int64_t *)(void *)decoder->values.data);
}

static firn_status decode_delta_lengths(struct firn_op *op, struct firn_value_decoder *decoder, struct firn_bytes in,
                                        uint32_t count)
{
    FIRN_TRY(reserve_values(op, decoder, count));
    return firn_delta_decode_lengths(op, in, count, &decoder->lengths,
                                     (struct firn_slice *)(void *)decoder->values.data);
}

/* FIXED columns may be delta encoded too; their values then lie end to end already, once the lengths are right. */
static firn_status decode_delta_fixed(struct firn_op *op, struct firn_value_decoder *decoder, struct firn_bytes in,
                                      uint32_t count)
{
    FIRN_TRY(firn_buffer_resize(op, &decoder->slices, (size_t)count * sizeof(struct firn_slice)));
    struct firn_slice *slices = (struct firn_slice *)(void *)decoder->slices.data;
    FIRN_TRY(firn_delta_decode_strings(op, in, count, &decoder->strings, slices));
    for (uint32_t i = 0; i < count; i++)
        if (slices[i].len != decoder->type_length)
            return firn_fail(op, FIRN_CORRUPT, "value %" PRIu32 " is %" PRIu32 " bytes long instead of %" PRIu32, i,
                             slices[i].len, decoder->type_length);
    FIRN_TRY(reserve_values(op, decoder, count));
    if (count > 0)
        memcpy(decoder->values.data, decoder->strings.content.data, decoder->values.len);
    return FIRN_OK;
}

static firn_status decode_delta_strings(struct firn_op *op, struct firn_value_decoder *decoder, struct firn_bytes in,
                                        uint32_t count)
{
    if (decoder->type == FIRN_PARQUET_FIXED)
        return decode_delta_fixed(op, decoder, in, count);
    FIRN_TRY(reserve_values(op, decoder, count));
    return firn_delta_decode_strings(op, in, count, &decoder->strings,
                                     (struct firn_slice *)(void *)decoder->values.data);
}

static firn_status decode_byte_stream_split(struct firn_op *op, struct firn_value_decoder *decoder,
                                            struct firn_bytes in, uint32_t count)
{
    size_t width = width_of(decoder);
    if (in.len / width < count)
        return fail_short(op, count, in.len);
    FIRN_TRY(reserve_values(op, decoder, count));
    firn_join_streams(in.data, width, count, decoder->values.data);
    return FIRN_OK;
}

typedef firn_status decode(struct firn_op *op, struct firn_value_decoder *decoder, struct firn_bytes in,
                           uint32_t count);

#define BIT(type) (1u << FIRN_PARQUET_##type)

/* What decodes an encoding, and the types that may have it. */
static const struct {
    decode *decode;
    unsigned types;
} encodings[] = {
    [FIRN_ENCODING_PLAIN] = { decode_plain, ~0u },
    [FIRN_ENCODING_RLE] = { decode_rle, BIT(BOOLEAN) },
    [FIRN_ENCODING_DELTA_BINARY_PACKED] = { decode_delta_binary, BIT(INT32) | BIT(INT64) },
    [FIRN_ENCODING_DELTA_LENGTH_BYTE_ARRAY] = { decode_delta_lengths, BIT(BYTE_ARRAY) },
    [FIRN_ENCODING_DELTA_BYTE_ARRAY] = { decode_delta_strings, BIT(BYTE_ARRAY) | BIT(FIXED) },
    [FIRN_ENCODING_BYTE_STREAM_SPLIT] = { decode_byte_stream_split,
                                          BIT(INT32) | BIT(INT64) | BIT(FLOAT) | BIT(DOUBLE) | BIT(FIXED) },
};
_Static_assert(FIRN_COUNT_OF(encodings) == FIRN_ENCODING_COUNT, "one row per encoding");

firn_status firn_values_decode(struct firn_op *op, struct firn_value_decoder *decoder, enum firn_encoding encoding,
                               struct firn_bytes in, uint32_t count)
{
    if (!encodings[encoding].decode || !(encodings[encoding].types & 1u << decoder->type))
        return firn_fail(op, FIRN_CORRUPT, "%s values encoded as %s", firn_parquet_type_name(decoder->type),
                         firn_encoding_name(encoding));
    return encodings[encoding].decode(op, decoder, in, count);
}

firn_status firn_indices_decode(struct firn_op *op, struct firn_bytes in, uint32_t count, uint32_t dictionary_count,
                                struct firn_buffer *out)
{
    FIRN_TRY(firn_buffer_resize(op, out, (size_t)count * sizeof(uint32_t)));
    if (count == 0) /* a page of nulls may lack even the bit width */
        return FIRN_OK;
    if (in.len == 0 || in.data[0] > 32)
        return firn_fail(op, FIRN_CORRUPT, "dictionary indices of %d bits", in.len == 0 ? -1 : in.data[0]);
    uint32_t *indices = (uint32_t *)(void *)out->data;
    FIRN_TRY(firn_rle_decode_u32(op, (struct firn_bytes){ in.data + 1, in.len - 1 }, in.data[0], count, indices));
    uint32_t max = firn_max_u32(indices, count);
    if (max >= dictionary_count)
        return firn_fail(op, FIRN_CORRUPT, "dictionary index %" PRIu32 " of a dictionary of %" PRIu32 " values", max,
                         dictionary_count);
    return FIRN_OK;
}

void firn_value_decoder_done(struct firn_value_decoder *decoder)
{
    firn_buffer_done(&decoder->values);
    firn_buffer_done(&decoder->lengths);
    firn_buffer_done(&decoder->slices);
    firn_delta_strings_done(&decoder->strings);
}
