/* The page indexes of one row group of a large input: read by range when they are first asked for, in one or two
 * requests for all columns. Small files have theirs in memory. parquet-format, "Page Index". */
#ifndef FIRN_REWRITE_PAGE_INDEX_H
#define FIRN_REWRITE_PAGE_INDEX_H

#include "base/buffer.h"
#include "format/parquet/metadata.h"
#include "store/store.h"

/* Bytes of a file; len 0: none. */
struct firn_file_range {
    uint64_t offset, len;
};
/* Where a chunk's indexes lie; none when they are absent or lie outside of the file. */
struct firn_file_range firn_column_index_range(const struct firn_column_chunk *chunk, uint64_t file_bytes);
struct firn_file_range firn_offset_index_range(const struct firn_column_chunk *chunk, uint64_t file_bytes);

struct firn_page_index_reader;

/* Lives in `arena`, with which it also goes. Nothing is read yet. */
struct firn_page_index_reader *firn_page_index_reader_new(struct firn_arena *arena,
                                                          const struct firn_row_group *row_group, uint64_t file_bytes);
/* Bytes that the reader will hold once it has read. */
uint64_t firn_page_index_reader_bytes(const struct firn_page_index_reader *reader);
/* Frees what was read. */
void firn_page_index_reader_clear(struct firn_page_index_reader *reader);

/* Gives an index of the row group, or no bytes if there is none worth reading; valid until the reader is cleared. Adds
 * each read to `requests`. Thread-safe. */
FIRN_CHECKED firn_status firn_page_index_find(struct firn_op *op, struct firn_page_index_reader *reader,
                                              struct firn_object *object, struct firn_file_range range,
                                              atomic_uint_fast64_t *requests, struct firn_bytes *out);

#endif
