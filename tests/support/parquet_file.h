/* Parquet files in memory: reading all of one, for tests and fuzzers. */
#ifndef FIRN_TESTS_PARQUET_FILE_H
#define FIRN_TESTS_PARQUET_FILE_H

#include "base/hash.h"
#include "format/parquet/reader.h"
#include "format/parquet/writer.h"

/* The footer at the end of `file`. */
FIRN_CHECKED firn_status parquet_file_footer(struct firn_op *op, struct firn_bytes file, struct firn_footer **out);
/* Decodes every page and index of the file; `digest` becomes a hash of all levels and values in order, the same however
 * they are encoded and cut into pages. */
FIRN_CHECKED firn_status parquet_file_decode(struct firn_op *op, struct firn_bytes file,
                                             struct firn_chunk_reader_options options, uint64_t *digest);
/* A chunk that is read in pieces, out of `bytes`. */
struct firn_chunk_source parquet_chunk_in_pieces(const struct firn_bytes *bytes, size_t piece_bytes);
/* Decodes one chunk of `leaf` whose bytes are `bytes`, at once and in pieces, which has to come to the same. */
FIRN_CHECKED firn_status parquet_chunk_decode(struct firn_op *op, const struct firn_parquet_node *leaf,
                                              const struct firn_column_chunk *chunk, int64_t row_count,
                                              struct firn_bytes bytes, struct firn_chunk_reader_options options,
                                              uint64_t *digest);
/* Copies a chunk's pages to the writer, or repacks them, and appends the values of those that it does not take;
 * `copied` counts the others. */
FIRN_CHECKED firn_status parquet_chunk_splice(struct firn_op *op, const struct firn_parquet_node *leaf,
                                              const struct firn_column_chunk *chunk, int64_t row_count,
                                              struct firn_bytes bytes, struct firn_chunk_reader_options options,
                                              bool repacks, struct firn_chunk_writer *writer, uint32_t *copied);

#endif
