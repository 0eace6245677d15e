/* Writing pieces, copying, and the sink that fills a buffer. */
#include "base/sink.h"

#include "base/buffer.h"
#include "base/math.h"

#define COPIED_AT_ONCE (UINT64_C(1) << 20)

firn_status firn_sink_write_pieces(struct firn_op *op, struct firn_sink *sink, const struct firn_bytes *pieces,
                                   size_t count)
{
    for (size_t i = 0; !sink->write_pieces && i < count; i++)
        FIRN_TRY(firn_sink_write(op, sink, pieces[i]));
    if (!sink->write_pieces)
        return FIRN_OK;
    FIRN_TRY(sink->write_pieces(op, sink->context, pieces, count));
    for (size_t i = 0; i < count; i++)
        sink->offset += pieces[i].len;
    return FIRN_OK;
}

static firn_status copy_piece(struct firn_op *op, struct firn_sink *sink, struct firn_source *source, uint64_t offset,
                              struct firn_buffer *piece)
{
    FIRN_TRY(firn_op_check(op));
    FIRN_TRY(source->read(op, source, offset, piece->len, piece->data));
    return firn_sink_write(op, sink, firn_buffer_bytes(piece));
}

static firn_status copy_through_memory(struct firn_op *op, struct firn_sink *sink, struct firn_source *source,
                                       uint64_t offset, uint64_t len)
{
    struct firn_buffer piece = { 0 };
    firn_status status = firn_buffer_resize(op, &piece, (size_t)FIRN_MIN(len, COPIED_AT_ONCE));
    for (uint64_t done = 0; status == FIRN_OK && done < len; done += piece.len) {
        piece.len = (size_t)FIRN_MIN(len - done, COPIED_AT_ONCE);
        status = copy_piece(op, sink, source, offset + done, &piece);
    }
    firn_buffer_done(&piece);
    return status;
}

firn_status firn_sink_copy(struct firn_op *op, struct firn_sink *sink, struct firn_source *source, uint64_t offset,
                           uint64_t len)
{
    uint64_t copied = 0;
    if (sink->copy)
        FIRN_TRY(sink->copy(op, sink->context, source, offset, len, &copied));
    sink->offset += copied;
    return copied < len ? copy_through_memory(op, sink, source, offset + copied, len - copied) : FIRN_OK;
}

static firn_status write_to_buffer(struct firn_op *op, void *context, struct firn_bytes bytes)
{
    return firn_buffer_append(op, context, bytes.data, bytes.len);
}

struct firn_sink firn_sink_to_buffer(struct firn_buffer *buffer)
{
    return (struct firn_sink){ .write = write_to_buffer, .context = buffer };
}
