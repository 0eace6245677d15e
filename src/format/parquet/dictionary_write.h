/* A column chunk's dictionary while it is built: values in order of first appearance, found again by hash.
 *
 * parquet-format, "Dictionary Encoding". */
#ifndef FIRN_FORMAT_PARQUET_DICTIONARY_WRITE_H
#define FIRN_FORMAT_PARQUET_DICTIONARY_WRITE_H

#include "base/buffer.h"
#include "format/parquet/vector.h"

struct firn_dictionary_writer {
    enum firn_parquet_type type; /* any but BOOLEAN */
    uint32_t type_length;
    uint32_t plain_bytes_max; /* at most INT32_MAX */
    bool full;                /* a value did not fit any more */
    uint32_t count;
    struct firn_buffer values; /* an array; BYTE_ARRAY: of each its index and its length in 4 bytes, and its content */
    struct firn_buffer starts; /* BYTE_ARRAY: uint32_t, where in `values` each begins */
    struct firn_buffer slots;  /* uint64_t, a power of two of them: hash << 32 | 1 + index, or start; 0 is free */
    uint32_t slot_bits;
    struct firn_buffer array; /* instead of slots, of integers close to each other: uint32_t index + 1; 0: not there */
    uint64_t array_base;      /* what the first of them stands for, modulo 2^64 */
};

/* A state to return to. */
struct firn_dictionary_mark {
    uint32_t count;
    size_t values_len;
};

void firn_dictionary_writer_init(struct firn_dictionary_writer *dictionary, enum firn_parquet_type type,
                                 uint32_t type_length, uint32_t plain_bytes_max);
void firn_dictionary_writer_done(struct firn_dictionary_writer *dictionary);

/* The indices of `count` values, added where they are new. Stops when the dictionary is `full`: the indices are then
 * incomplete. */
FIRN_CHECKED firn_status firn_dictionary_writer_add(struct firn_op *op, struct firn_dictionary_writer *dictionary,
                                                    union firn_values values, size_t count, uint32_t *indices);
/* Bytes of the values in PLAIN. */
uint64_t firn_dictionary_writer_bytes(const struct firn_dictionary_writer *dictionary);
struct firn_dictionary_mark firn_dictionary_writer_mark(const struct firn_dictionary_writer *dictionary);
/* Forgets the values added since, and the memory for finding values until the next one is added. */
void firn_dictionary_writer_cut(struct firn_dictionary_writer *dictionary, struct firn_dictionary_mark mark);
/* Makes the values of `other`, of the same type, ours at the same indices, adding those past our last one. `same` is
 * false, and nothing changed, where that cannot be: another value is there, one would occur twice, or room is lacking.
 */
FIRN_CHECKED firn_status firn_dictionary_writer_extend(struct firn_op *op, struct firn_dictionary_writer *dictionary,
                                                       const struct firn_dictionary *other, bool *same);
/* Appends the body of the dictionary page. */
FIRN_CHECKED firn_status firn_dictionary_writer_print(struct firn_op *op,
                                                      const struct firn_dictionary_writer *dictionary,
                                                      struct firn_buffer *out);
/* Replaces `out` by the array of the values at `indices`; slices borrow from the dictionary until the next add. */
FIRN_CHECKED firn_status firn_dictionary_writer_gather(struct firn_op *op,
                                                       const struct firn_dictionary_writer *dictionary,
                                                       const uint32_t *indices, size_t count, struct firn_buffer *out);

#endif
