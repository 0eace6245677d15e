/* Finding the streams of a stripe, and expanding what is compressed. */
#include "format/orc/stripe.h"

#include "base/math.h"
#include "format/orc/message.h"

#define STREAM_BYTES_MAX (UINT64_C(1) << 32)

enum { STREAMS_MAX = 100000, BLOCK_HEAD_BYTES = 3 };

firn_status firn_orc_blocks_expand(struct firn_op *op, struct firn_codec_context *codecs,
                                   const struct firn_orc_footer *footer, struct firn_bytes stored, size_t size_max,
                                   struct firn_buffer *out)
{
    struct firn_cursor in = firn_cursor_of(stored);
    if (footer->codec == FIRN_CODEC_NONE)
        return firn_buffer_append(op, out, stored.data, stored.len);
    while (!in.failure && firn_cursor_left(&in) > 0) {
        uint64_t head = firn_take_le(&in, BLOCK_HEAD_BYTES);
        struct firn_bytes block = firn_take_bytes(&in, head >> 1);
        if (in.failure)
            break;
        if (out->len + block.len > size_max)
            return firn_fail(op, FIRN_LIMIT, "an orc stream of more than %zu bytes", size_max);
        if (head & 1)
            FIRN_TRY(firn_buffer_append(op, out, block.data, block.len));
        else
            FIRN_TRY(firn_codec_decompress_unsized(op, codecs, footer->codec, block, footer->block_bytes, out));
    }
    return firn_cursor_finish(op, &in, "orc block");
}

static firn_status take_stream(struct firn_op *op, struct firn_bytes message, struct firn_cursor *body,
                               struct firn_orc_stream *out)
{
    struct firn_cursor in = firn_cursor_of(message);
    struct firn_message_field field;
    uint64_t length = 0;
    while (firn_message_next(&in, &field)) {
        if (field.number == 1)
            out->kind = field.value;
        else if (field.number == 2)
            out->column = field.value;
        else if (field.number == 3)
            length = field.value;
    }
    FIRN_TRY(firn_cursor_finish(op, &in, "orc stream"));
    out->stored = firn_take_bytes(body, length);
    return firn_cursor_finish(op, body, "orc stripe");
}

static firn_status take_encoding(struct firn_op *op, struct firn_bytes message, struct firn_orc_stripe *stripe,
                                 uint32_t column)
{
    struct firn_cursor in = firn_cursor_of(message);
    struct firn_message_field field;
    while (firn_message_next(&in, &field)) {
        if (field.number == 1)
            stripe->encodings[column] = field.value;
        else if (field.number == 2)
            stripe->dictionary_counts[column] = field.value;
    }
    if (stripe->encodings[column] >= FIRN_ORC_ENCODING_COUNT)
        firn_cursor_fail(&in, "an encoding that the format does not have");
    return firn_cursor_finish(op, &in, "orc column encoding");
}

enum { STRIPE_STREAM = 1, STRIPE_ENCODING = 2 };

static firn_status count_streams(struct firn_op *op, struct firn_bytes message, struct firn_orc_stripe *stripe)
{
    struct firn_cursor in = firn_cursor_of(message);
    struct firn_message_field field;
    uint64_t count = 0;
    while (firn_message_next(&in, &field))
        count += field.number == STRIPE_STREAM;
    FIRN_TRY(firn_cursor_finish(op, &in, "orc stripe footer"));
    if (count > STREAMS_MAX)
        return firn_fail(op, FIRN_LIMIT, "an orc stripe of %" PRIu64 " streams", count);
    stripe->streams = FIRN_NEW_ARRAY(op->arena, struct firn_orc_stream, count);
    stripe->encodings = FIRN_NEW_ARRAY(op->arena, uint64_t, stripe->footer->type_count);
    stripe->dictionary_counts = FIRN_NEW_ARRAY(op->arena, uint64_t, stripe->footer->type_count);
    return FIRN_OK;
}

/* Streams lie in the stripe one after the other, in the order of its footer. */
static firn_status parse_stripe_footer(struct firn_op *op, struct firn_bytes message, struct firn_bytes body,
                                       struct firn_orc_stripe *stripe)
{
    struct firn_cursor streams = firn_cursor_of(body);
    struct firn_message_field field;
    uint32_t column = 0;
    FIRN_TRY(count_streams(op, message, stripe));
    struct firn_cursor in = firn_cursor_of(message);
    while (firn_message_next(&in, &field)) {
        if (field.number == STRIPE_STREAM)
            FIRN_TRY(take_stream(op, field.bytes, &streams, &stripe->streams[stripe->stream_count++]));
        if (field.number == STRIPE_ENCODING && column < stripe->footer->type_count)
            FIRN_TRY(take_encoding(op, field.bytes, stripe, column++));
    }
    return FIRN_OK;
}

firn_status firn_orc_stripe_open(struct firn_op *op, struct firn_codec_context *codecs,
                                 const struct firn_orc_footer *footer, struct firn_bytes file, uint32_t index,
                                 struct firn_orc_stripe **out)
{
    const struct firn_orc_stripe_place *place = &footer->stripes[index];
    struct firn_orc_stripe *stripe = FIRN_NEW(op->arena, struct firn_orc_stripe);
    struct firn_buffer plain = { 0 };
    struct firn_cursor in = firn_cursor_of(file);
    *stripe = (struct firn_orc_stripe){ .footer = footer, .codecs = codecs, .row_count = place->row_count };
    if (place->row_count > FIRN_ORC_ROWS_MAX)
        return firn_fail(op, FIRN_LIMIT, "an orc stripe of %" PRIu64 " rows", place->row_count);
    (void)firn_take_bytes(&in, place->offset);
    struct firn_cursor body = in;
    (void)firn_take_bytes(&in, place->index_bytes);
    (void)firn_take_bytes(&in, place->data_bytes);
    struct firn_bytes streams = { body.at, (size_t)(in.at - body.at) };
    struct firn_bytes stored = firn_take_bytes(&in, place->footer_bytes);
    FIRN_TRY(firn_cursor_finish(op, &in, "orc stripe"));
    firn_status status = firn_orc_blocks_expand(op, codecs, footer, stored, STREAM_BYTES_MAX, &plain);
    if (status == FIRN_OK)
        status = parse_stripe_footer(op, firn_buffer_bytes(&plain), streams, stripe);
    firn_buffer_done(&plain);
    *out = stripe;
    return firn_context(op, status, "stripe %" PRIu32, index);
}

firn_status firn_orc_stream_read(struct firn_op *op, const struct firn_orc_stripe *stripe, uint32_t column,
                                 enum firn_orc_stream_kind kind, struct firn_buffer *out, bool *found)
{
    *found = false;
    firn_buffer_clear(out);
    for (uint32_t i = 0; i < stripe->stream_count && !*found; i++) {
        const struct firn_orc_stream *stream = &stripe->streams[i];
        if (stream->column != column || stream->kind != (uint64_t)kind)
            continue;
        *found = true;
        FIRN_TRY(firn_orc_blocks_expand(op, stripe->codecs, stripe->footer, stream->stored, STREAM_BYTES_MAX, out));
    }
    return FIRN_OK;
}
