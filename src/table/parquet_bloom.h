/* The bloom filter of a column chunk in a store. parquet-format, "Bloom Filter". */
#ifndef FIRN_TABLE_PARQUET_BLOOM_H
#define FIRN_TABLE_PARQUET_BLOOM_H

#include "format/parquet/bloom_filter.h"
#include "store/store.h"

/* Reads the filter of a chunk that has one (bloom_filter_offset > 0) into `bytes`, which `out` borrows from. CORRUPT;
 * UNSUPPORTED for a filter of another kind, or of an encrypted column. */
FIRN_CHECKED firn_status firn_parquet_bloom_read(struct firn_op *op, struct firn_object *object,
                                                 const struct firn_column_chunk *chunk, struct firn_buffer *bytes,
                                                 struct firn_bloom_filter *out);

#endif
