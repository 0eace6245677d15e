/* Parts of a block of sorted rows in temporary files: a leaf's rows, or their keys. A part is a head and a body,
 * integers packed (number_pack.h), and compressed if that pays. */
#ifndef FIRN_REWRITE_RUN_PART_H
#define FIRN_REWRITE_RUN_PART_H

#include "base/buffer.h"
#include "format/codec/codec.h"
#include "format/parquet/vector.h"

struct firn_run_part {
    uint32_t row_count, slot_count, value_count; /* of keys, only the rows count */
    uint32_t has_rep, has_def;
    uint32_t is_compressed;
    uint64_t body_bytes; /* before it is compressed */
    uint64_t held_bytes; /* of a vector: what it takes in memory */
};

/* Begins a part at the end of `out`, behind which its body is to be appended; gives where. */
FIRN_CHECKED firn_status firn_run_part_begin(struct firn_op *op, struct firn_buffer *out, size_t *begin);
/* Ends the part, of which `head` says the counts. `*skips` counts parts that are left as they are, after one that did
 * not shrink. */
FIRN_CHECKED firn_status firn_run_part_end(struct firn_op *op, struct firn_run_part head, size_t begin,
                                           struct firn_codec_context *codec, uint8_t *skips, struct firn_buffer *out);
/* Gives head and body of a part; the body borrows from `bytes` or from `scratch`. */
FIRN_CHECKED firn_status firn_run_part_get(struct firn_op *op, struct firn_bytes bytes,
                                           struct firn_codec_context *codec, struct firn_buffer *scratch,
                                           struct firn_run_part *head, struct firn_bytes *body);

/* Appends the body of a vector's part and gives the head. Values must not be indices. */
FIRN_CHECKED firn_status firn_run_vector_put(struct firn_op *op, const struct firn_vector *vector,
                                             struct firn_buffer *body, struct firn_run_part *head);
/* Memory for values that do not lie in a body as vectors have them. All zeros is ready for use. */
struct firn_run_values {
    struct firn_buffer values, lengths;
};
void firn_run_values_done(struct firn_run_values *values);
/* The vector of a part of `leaf`; borrows from the body and from `values`. Its values may not be aligned. */
FIRN_CHECKED firn_status firn_run_vector_get(struct firn_op *op, const struct firn_parquet_node *leaf,
                                             const struct firn_run_part *head, struct firn_bytes body,
                                             struct firn_run_values *values, struct firn_vector *out);

#endif
