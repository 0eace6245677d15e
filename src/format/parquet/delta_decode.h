/* The delta encodings. parquet-format, "Encodings": DELTA_BINARY_PACKED, DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY. */
#ifndef FIRN_FORMAT_PARQUET_DELTA_DECODE_H
#define FIRN_FORMAT_PARQUET_DELTA_DECODE_H

#include "base/buffer.h"
#include "base/cursor.h"
#include "format/parquet/vector.h"

/* Each decodes exactly `count` values; the integers leave the cursor behind their last block. */
FIRN_CHECKED firn_status firn_delta_decode_i32(struct firn_op *op, struct firn_cursor *in, uint32_t count,
                                               int32_t *out);
FIRN_CHECKED firn_status firn_delta_decode_i64(struct firn_op *op, struct firn_cursor *in, uint32_t count,
                                               int64_t *out);
/* Whether strict readers take these integers of `width` bytes: first value, least differences and bit widths within the
 * width of the type, blocks of 128 and miniblocks of 32 values or multiples of these, none of them cut off. Looks at
 * headers alone. False of broken ones. */
bool firn_delta_is_strict(struct firn_bytes in, size_t width);
/* Slices borrow from `in`. `lengths` is scratch. */
FIRN_CHECKED firn_status firn_delta_decode_lengths(struct firn_op *op, struct firn_bytes in, uint32_t count,
                                                   struct firn_buffer *lengths, struct firn_slice *out);

/* Scratch of DELTA_BYTE_ARRAY, reused from page to page. */
struct firn_delta_strings {
    struct firn_buffer prefix_lengths, suffix_lengths;
    struct firn_buffer content; /* what the slices point to */
};
/* Slices borrow from `strings`. LIMIT when the values together are larger than a page may be. */
FIRN_CHECKED firn_status firn_delta_decode_strings(struct firn_op *op, struct firn_bytes in, uint32_t count,
                                                   struct firn_delta_strings *strings, struct firn_slice *out);
void firn_delta_strings_done(struct firn_delta_strings *strings);

#endif
