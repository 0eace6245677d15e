/* Values of a page: bytes in one of the encodings to an array of one type. parquet-format, "Encodings". */
#ifndef FIRN_FORMAT_PARQUET_ENCODING_DECODE_H
#define FIRN_FORMAT_PARQUET_ENCODING_DECODE_H

#include "format/parquet/delta_decode.h"
#include "format/parquet/vector.h"

/* The type to decode, and memory reused from page to page. All zeros but the type is ready for use. */
struct firn_value_decoder {
    enum firn_parquet_type type;
    uint32_t type_length;
    struct firn_buffer values; /* the array that firn_values_decode filled */
    struct firn_buffer lengths;
    struct firn_buffer slices; /* FIXED values on their way from DELTA_BYTE_ARRAY */
    struct firn_delta_strings strings;
};

/* Decodes `count` values to decoder->values. Slices borrow from `in` or the decoder. Not for the dictionary encodings.
 * Fails: CORRUPT, also for an encoding that the type cannot have. */
FIRN_CHECKED firn_status firn_values_decode(struct firn_op *op, struct firn_value_decoder *decoder,
                                            enum firn_encoding encoding, struct firn_bytes in, uint32_t count);
/* Decodes `count` dictionary indices, each below `dictionary_count`, to `out` (uint32_t). */
FIRN_CHECKED firn_status firn_indices_decode(struct firn_op *op, struct firn_bytes in, uint32_t count,
                                             uint32_t dictionary_count, struct firn_buffer *out);
void firn_value_decoder_done(struct firn_value_decoder *decoder);

#endif
