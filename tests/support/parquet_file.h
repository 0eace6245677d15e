/* Parquet files in memory: reading all of one, for tests and fuzzers. */
#ifndef FIRN_TESTS_PARQUET_FILE_H
#define FIRN_TESTS_PARQUET_FILE_H

#include "base/hash.h"
#include "format/parquet/reader.h"

/* The footer at the end of `file`. */
FIRN_CHECKED firn_status parquet_file_footer(struct firn_op *op, struct firn_bytes file, struct firn_footer **out);
/* Decodes every page and index of the file; `digest` becomes a hash of all levels and values in order. */
FIRN_CHECKED firn_status parquet_file_decode(struct firn_op *op, struct firn_bytes file,
                                             struct firn_chunk_reader_options options, uint64_t *digest);
/* Decodes one chunk of `leaf` whose bytes are `bytes`. */
FIRN_CHECKED firn_status parquet_chunk_decode(struct firn_op *op, const struct firn_parquet_node *leaf,
                                              const struct firn_column_chunk *chunk, int64_t row_count,
                                              struct firn_bytes bytes, struct firn_chunk_reader_options options,
                                              uint64_t *digest);

#endif
