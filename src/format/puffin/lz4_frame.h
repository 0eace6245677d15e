/* Single LZ4 frames that state their content's size: Puffin's footer and blob compression. */
#ifndef FIRN_FORMAT_PUFFIN_LZ4_FRAME_H
#define FIRN_FORMAT_PUFFIN_LZ4_FRAME_H

#include "base/buffer.h"

/* Appends the frame's content. CORRUPT for a broken frame, one without content size, or anything behind it; LIMIT past
 * `size_max`. */
FIRN_CHECKED firn_status firn_lz4_frame_decode(struct firn_op *op, struct firn_bytes frame, uint64_t size_max,
                                               struct firn_buffer *out);
FIRN_CHECKED firn_status firn_lz4_frame_encode(struct firn_op *op, struct firn_bytes content, struct firn_buffer *out);

#endif
