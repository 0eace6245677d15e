/* Deletion vectors: the blob "deletion-vector-v1". Puffin specification, "deletion-vector-v1 blob type". */
#ifndef FIRN_FORMAT_PUFFIN_DELETION_VECTOR_H
#define FIRN_FORMAT_PUFFIN_DELETION_VECTOR_H

#include "format/puffin/positions.h"
#include "format/puffin/puffin.h"

#define FIRN_DELETION_VECTOR_TYPE "deletion-vector-v1"

/* Decodes a blob. Checks length, magic, checksum, every container, and that it holds `record_count` positions (the
 * manifest entry's record_count; negative: not known). CORRUPT otherwise. The set lives in op->arena. */
FIRN_CHECKED firn_status firn_deletion_vector_decode(struct firn_op *op, struct firn_bytes blob, int64_t record_count,
                                                     struct firn_positions **out);
/* Appends the blob's bytes. */
FIRN_CHECKED firn_status firn_deletion_vector_encode(struct firn_op *op, struct firn_positions *positions,
                                                     struct firn_buffer *out);
/* Writes a vector as a blob of a Puffin file, with the metadata the specification asks for; `blob` receives where it
 * lies (content_offset and content_size_in_bytes of its manifest entry). */
FIRN_CHECKED firn_status firn_deletion_vector_write(struct firn_op *op, struct firn_puffin_writer *writer,
                                                    struct firn_positions *positions, struct firn_text data_file,
                                                    struct firn_puffin_blob *blob);

#endif
