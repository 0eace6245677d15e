/* Where produced bytes go: a file being written, a buffer, a hash. Lets formats write without knowing a store. */
#ifndef FIRN_BASE_SINK_H
#define FIRN_BASE_SINK_H

#include "firn/op.h"

/* Where bytes lie that may be copied without being looked at, such as a file. */
struct firn_source {
    /* All of the bytes, or it fails. */
    firn_status (*read)(struct firn_op *op, struct firn_source *source, uint64_t offset, size_t len, uint8_t *out);
};

struct firn_sink {
    firn_status (*write)(struct firn_op *op, void *context, struct firn_bytes bytes);
    /* The same for pieces that lie apart; NULL: they are written one by one. */
    firn_status (*write_pieces)(struct firn_op *op, void *context, const struct firn_bytes *pieces, size_t count);
    /* Takes bytes from a source by a shorter way than through memory, as many as it can, from the first on; NULL: none.
     */
    firn_status (*copy)(struct firn_op *op, void *context, struct firn_source *source, uint64_t offset, uint64_t len,
                        uint64_t *copied);
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

/* Copies bytes from a source, through memory in pieces if there is no shorter way. */
FIRN_CHECKED firn_status firn_sink_copy(struct firn_op *op, struct firn_sink *sink, struct firn_source *source,
                                        uint64_t offset, uint64_t len);

struct firn_buffer;
/* A sink that appends to a buffer. */
struct firn_sink firn_sink_to_buffer(struct firn_buffer *buffer);

#endif
