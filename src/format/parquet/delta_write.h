/* DELTA_BINARY_PACKED, the writing half. parquet-format, "Encodings". */
#ifndef FIRN_FORMAT_PARQUET_DELTA_WRITE_H
#define FIRN_FORMAT_PARQUET_DELTA_WRITE_H

#include "base/buffer.h"

/* Appends the delta form of integers of `width` bytes, 4 or 8, that lie in PLAIN. */
FIRN_CHECKED firn_status firn_delta_encode(struct firn_op *op, struct firn_bytes plain, size_t width,
                                           struct firn_buffer *out);

#endif
