/* PLAIN encoding and the gathering of values by index. parquet-format, "Encodings". */
#ifndef FIRN_FORMAT_PARQUET_PLAIN_WRITE_H
#define FIRN_FORMAT_PARQUET_PLAIN_WRITE_H

#include "base/buffer.h"
#include "format/parquet/vector.h"

/* The array that begins at the value `start` of another. */
union firn_values firn_values_from(union firn_values values, enum firn_parquet_type type, uint32_t type_length,
                                   size_t start);
/* Bytes that the values take in PLAIN; BOOLEAN counts a byte a value. */
uint64_t firn_plain_bytes(enum firn_parquet_type type, uint32_t type_length, union firn_values values, size_t count);
/* The same for a vector's values, whatever form they have. */
uint64_t firn_vector_plain_bytes(const struct firn_vector *vector);
/* Bytes of the lengths that come before the values of a BYTE_ARRAY in PLAIN. */
#define FIRN_PLAIN_LENGTH_BYTES 4
/* Appends the values in PLAIN. Not for BOOLEAN, whose pages are packed whole (firn_booleans_pack). */
FIRN_CHECKED firn_status firn_plain_encode(struct firn_op *op, enum firn_parquet_type type, uint32_t type_length,
                                           union firn_values values, size_t count, struct firn_buffer *out);
/* Replaces `out` by the array of the values at `indices`, each of `value_width` bytes. */
FIRN_CHECKED firn_status firn_values_gather(struct firn_op *op, const void *values, size_t value_width,
                                            const uint32_t *indices, size_t count, struct firn_buffer *out);

#endif
