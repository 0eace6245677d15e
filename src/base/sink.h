/* Where produced bytes go: a file being written, a buffer, a hash. Lets formats write without knowing a store. */
#ifndef FIRN_BASE_SINK_H
#define FIRN_BASE_SINK_H

#include "firn/op.h"

struct firn_sink {
    firn_status (*write)(struct firn_op *op, void *context, struct firn_bytes bytes);
    /* The same for pieces that lie apart; NULL: they are written one by one. */
    firn_status (*write_pieces)(struct firn_op *op, void *context, const struct firn_bytes *pieces, size_t count);
    void *context;
    uint64_t offset; /* bytes written so far; kept by firn_sink_write */
};

FIRN_CHECKED static inline firn_status firn_sink_write(struct firn_op *op, struct firn_sink *sink,
                                                       struct firn_bytes bytes)
{
    if (bytes.len == 0)
        return FIRN_OK;
    firn_status status = sink->write(op, sink->context, bytes);
    if (status == FIRN_OK)
        sink->offset += bytes.len;
    return status;
}

/* Writes pieces one behind the other, without copying them together where the sink can gather them. */
FIRN_CHECKED firn_status firn_sink_write_pieces(struct firn_op *op, struct firn_sink *sink,
                                                const struct firn_bytes *pieces, size_t count);

struct firn_buffer;
/* A sink that appends to a buffer. */
struct firn_sink firn_sink_to_buffer(struct firn_buffer *buffer);

#endif
