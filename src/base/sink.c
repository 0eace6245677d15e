/* Writing pieces, and the sink that fills a buffer. */
#include "base/sink.h"

#include "base/buffer.h"

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

static firn_status write_to_buffer(struct firn_op *op, void *context, struct firn_bytes bytes)
{
    return firn_buffer_append(op, context, bytes.data, bytes.len);
}

struct firn_sink firn_sink_to_buffer(struct firn_buffer *buffer)
{
    return (struct firn_sink){ .write = write_to_buffer, .context = buffer };
}
