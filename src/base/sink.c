/* The sink that fills a buffer. */
#include "base/sink.h"

#include "base/buffer.h"

static firn_status write_to_buffer(struct firn_op *op, void *context, struct firn_bytes bytes)
{
    return firn_buffer_append(op, context, bytes.data, bytes.len);
}

struct firn_sink firn_sink_to_buffer(struct firn_buffer *buffer)
{
    return (struct firn_sink){ .write = write_to_buffer, .context = buffer };
}
