/* Windows: what of a cut-off page is at hand is copied to where the rest of it is read to. */
#include "format/parquet/page_stream.h"

#include "base/math.h"

void firn_page_stream_init(struct firn_page_stream *stream, const struct firn_chunk_source *source)
{
    *stream = (struct firn_page_stream){
        .source = *source,
        .in = firn_cursor_of(source->bytes),
        .window_bytes = source->piece_bytes,
        .is_lent = true,
    };
}

void firn_page_stream_done(struct firn_page_stream *stream)
{
    firn_buffer_done(&stream->windows[0]);
    firn_buffer_done(&stream->windows[1]);
}

/* Bytes of the chunk after those at hand. */
static uint64_t bytes_beyond(const struct firn_page_stream *stream)
{
    uint64_t end = stream->start + (uint64_t)(stream->in.end - stream->in.start);
    return stream->source.read && stream->source.len > end ? stream->source.len - end : 0;
}

uint64_t firn_page_stream_offset(const struct firn_page_stream *stream)
{
    return stream->start + firn_cursor_offset(&stream->in);
}

bool firn_page_stream_has_more(const struct firn_page_stream *stream)
{
    return firn_cursor_left(&stream->in) > 0 || bytes_beyond(stream) > 0;
}

static firn_status read_source(struct firn_op *op, const struct firn_chunk_source *source, uint64_t offset, size_t len,
                               uint8_t *out)
{
    return source->read(op, source->context, source->offset + offset, len, out);
}

firn_status firn_chunk_source_begin(struct firn_op *op, struct firn_chunk_source *source, struct firn_buffer *buffer)
{
    size_t len = (size_t)FIRN_MIN(source->len, source->piece_bytes);
    FIRN_TRY(firn_buffer_resize(op, buffer, len));
    FIRN_TRY(read_source(op, source, 0, len, buffer->data));
    source->bytes = firn_buffer_bytes(buffer);
    return FIRN_OK;
}

/* Lets windows grow for a page of this size: somewhat beyond it, since each takes two reads that is larger again. */
static void make_room(struct firn_page_stream *stream, uint64_t page_bytes)
{
    if (page_bytes > stream->window_bytes)
        stream->window_bytes = page_bytes + FIRN_MIN(page_bytes / 4, stream->source.piece_bytes);
}

/* Reads what follows, at least `missing` bytes of it: behind what is left, in a window that no page was given of. */
static firn_status read_on(struct firn_op *op, struct firn_page_stream *stream, uint64_t missing)
{
    const struct firn_chunk_source *source = &stream->source;
    size_t left = firn_cursor_left(&stream->in);
    make_room(stream, left + missing);
    size_t len = (size_t)FIRN_MIN(stream->window_bytes - left, bytes_beyond(stream));
    uint8_t window = stream->window ^ stream->is_lent;
    struct firn_buffer *buffer = &stream->windows[window];
    if (window == stream->window && left > 0)
        memmove(buffer->data, stream->in.at, left);
    FIRN_TRY(firn_buffer_resize(op, buffer, left + len));
    if (window != stream->window && left > 0)
        memcpy(buffer->data, stream->in.at, left);
    stream->start = firn_page_stream_offset(stream);
    stream->in = firn_cursor_of(firn_buffer_bytes(buffer));
    stream->window = window;
    stream->is_lent = false;
    return read_source(op, source, stream->start + left, len, buffer->data + left);
}

firn_status firn_page_stream_next(struct firn_op *op, struct firn_page_stream *stream, bool crc_check,
                                  struct firn_page *out)
{
    for (;;) {
        uint64_t missing;
        FIRN_TRY(firn_page_take(op, &stream->in, bytes_beyond(stream), crc_check, out, &missing));
        if (missing == 0)
            break;
        FIRN_TRY(read_on(op, stream, missing));
    }
    out->offset += stream->start;
    stream->was_lent = stream->is_lent;
    stream->is_lent = true;
    return FIRN_OK;
}

void firn_page_stream_drop(struct firn_page_stream *stream)
{
    stream->is_lent = stream->was_lent;
}

firn_status firn_page_stream_peek(struct firn_op *op, struct firn_page_stream *stream, struct firn_page_header *out)
{
    for (;;) {
        struct firn_cursor in = stream->in;
        struct firn_page page;
        uint64_t missing;
        FIRN_TRY(firn_page_take(op, &in, bytes_beyond(stream), false, &page, &missing));
        *out = page.header;
        if (page.header_bytes.len > 0)
            return FIRN_OK;
        FIRN_TRY(read_on(op, stream, missing));
    }
}
