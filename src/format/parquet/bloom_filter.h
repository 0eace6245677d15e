/* Split-block Bloom filters of column chunks: whether a value can be in a chunk. parquet-format, "Bloom Filter". */
#ifndef FIRN_FORMAT_PARQUET_BLOOM_FILTER_H
#define FIRN_FORMAT_PARQUET_BLOOM_FILTER_H

#include "base/buffer.h"
#include "format/parquet/vector.h"

enum {
    FIRN_BLOOM_BLOCK_BYTES = 32,
    FIRN_BLOOM_HEADER_BYTES_MAX = 64,
    FIRN_BLOOM_BYTES_MAX = 128 << 20, /* of the blocks, as parquet-java has it */
};

/* Reading -------------------------------------------------------------------------------------------------------- */

/* Borrows from what it was parsed from. */
struct firn_bloom_filter {
    const uint8_t *blocks;
    uint32_t block_count;
};
/* What its first bytes (FIRN_BLOOM_HEADER_BYTES_MAX, or fewer at the end of the file) say of a filter: the sizes of
 * header and blocks. CORRUPT; UNSUPPORTED for an algorithm, hash or compression of a newer format. */
FIRN_CHECKED firn_status firn_bloom_header_parse(struct firn_op *op, struct firn_bytes bytes, uint32_t *header_bytes,
                                                 uint32_t *block_bytes);
/* A whole filter, header and blocks. */
FIRN_CHECKED firn_status firn_bloom_filter_parse(struct firn_op *op, struct firn_bytes bytes,
                                                 struct firn_bloom_filter *out);
/* False: no value of this hash is in the chunk. */
bool firn_bloom_filter_may_contain(const struct firn_bloom_filter *filter, uint64_t hash);
/* The hash of a value, given in PLAIN without a length. */
uint64_t firn_bloom_hash(struct firn_bytes plain);
/* The hash of the value at `index` of an array of `type`; not of BOOLEAN, which has no filters. */
uint64_t firn_bloom_hash_at(enum firn_parquet_type type, uint32_t type_length, union firn_values values, size_t index);

/* Writing -------------------------------------------------------------------------------------------------------- */

/* Bytes of blocks that `distinct_count` values take for a share `fpp` of wrong answers: a power of two. */
uint64_t firn_bloom_bytes_for(uint64_t distinct_count, double fpp);

/* A filter being filled. How many values differ is known only in the end, so it begins large, at most `bytes_max`, and
 * is folded to half as long as its bits stay sparse enough for `fpp`. All zeros is one that is not wanted. */
struct firn_bloom_builder {
    uint32_t bytes_max;        /* a power of two; 0: no filter is wanted */
    double fpp;                /* in (0, 1) */
    struct firn_buffer hashes; /* uint64_t; of the values so far while they take less than the blocks would */
    struct firn_buffer blocks;
    uint64_t last; /* hash added last */
};
/* Adds values. Of floats it adds both zeros for either of them, and the canonical NaN for any: engines differ in which
 * of them they ask for. */
FIRN_CHECKED firn_status firn_bloom_builder_add(struct firn_op *op, struct firn_bloom_builder *builder,
                                                enum firn_parquet_type type, uint32_t type_length,
                                                union firn_values values, size_t count);
/* Appends header and blocks; nothing when no value was added. */
FIRN_CHECKED firn_status firn_bloom_builder_finish(struct firn_op *op, struct firn_bloom_builder *builder,
                                                   struct firn_buffer *out);
/* What its buffers take. */
uint64_t firn_bloom_builder_memory(const struct firn_bloom_builder *builder);
void firn_bloom_builder_done(struct firn_bloom_builder *builder);

#endif
