/* Decoding a column chunk, page by page, into vectors.
 *
 * The caller fetches the chunk's bytes (firn_column_chunk_range) and keeps them until the reader is closed, or says how
 * they are read in pieces. All
 * encodings, both page versions, all codecs. Every length and index is checked; broken input is CORRUPT with the column
 * and page named, and never reads or writes out of bounds. Encrypted chunks are UNSUPPORTED. */
#ifndef FIRN_FORMAT_PARQUET_READER_H
#define FIRN_FORMAT_PARQUET_READER_H

#include "format/parquet/page_stream.h"
#include "format/parquet/vector.h"

struct firn_chunk_reader;

struct firn_chunk_reader_options {
    bool crc_check;       /* compare page CRCs where present */
    bool keep_dictionary; /* give dictionary pages' values as indices instead of materialised values */
    struct firn_codec_context *codec_context; /* borrowed until close; NULL: the reader opens one of its own, which for
                                                 thousands of small chunks is dear */
};

/* `leaf` and `chunk` come from the same footer; `bytes` is exactly the chunk's range. Borrows all three. `row_count` is
 * the row group's: a chunk whose pages hold another number of rows is CORRUPT when its last page was read. */
FIRN_CHECKED firn_status firn_chunk_reader_open(struct firn_op *op, const struct firn_parquet_node *leaf,
                                                const struct firn_column_chunk *chunk, int64_t row_count,
                                                struct firn_bytes bytes, struct firn_chunk_reader_options options,
                                                struct firn_chunk_reader **out);
/* The same of a chunk that need not be held whole. */
FIRN_CHECKED firn_status firn_chunk_reader_open_source(struct firn_op *op, const struct firn_parquet_node *leaf,
                                                       const struct firn_column_chunk *chunk, int64_t row_count,
                                                       const struct firn_chunk_source *source,
                                                       struct firn_chunk_reader_options options,
                                                       struct firn_chunk_reader **out);
/* Decodes the next data page. `*has_page` is false after the last one. The vector is valid until the next call or
 * close; its dictionary until close. A row of a nested column may continue in the next page (v1): such a page begins
 * with rep > 0. Pages of more than FIRN_PAGE_BYTES_MAX are LIMIT. */
FIRN_CHECKED firn_status firn_chunk_reader_next(struct firn_op *op, struct firn_chunk_reader *reader,
                                                struct firn_vector *out, bool *has_page);
/* The same in two steps. First the levels alone: the vector has no values yet. */
FIRN_CHECKED firn_status firn_chunk_reader_next_levels(struct firn_op *op, struct firn_chunk_reader *reader,
                                                       struct firn_vector *out, bool *has_page);
/* Then the values, into that vector. The page after it may have been peeked at meanwhile. */
FIRN_CHECKED firn_status firn_chunk_reader_values(struct firn_op *op, struct firn_chunk_reader *reader,
                                                  struct firn_vector *vector);
/* Instead, or besides: the values as they are encoded, valid as long as a vector; `levels` is for the caller to set.
 * `unfolded`: those of the dictionary, if firn_chunk_reader_unfolds said before that they are the page's. */
FIRN_CHECKED firn_status firn_chunk_reader_packed(struct firn_op *op, struct firn_chunk_reader *reader, bool unfolded,
                                                  struct firn_packed_page *out);
/* The next data page, not decoded: header and body as in the file, its CRC compared if asked for; valid until the page
 * after the next is looked at. Passes a dictionary page that lies before it, to be decoded when it is needed.
 * firn_chunk_reader_next then decodes the page. */
FIRN_CHECKED firn_status firn_chunk_reader_peek(struct firn_op *op, struct firn_chunk_reader *reader,
                                                struct firn_page *out, bool *has_page);
/* Whether strict readers take the values of the page that was peeked at, which is of an encoding whose content tells
 * (page_strict.h): looks into it. */
FIRN_CHECKED firn_status firn_chunk_reader_strict(struct firn_op *op, struct firn_chunk_reader *reader,
                                                  bool *is_strict);
/* Passes over the page that was peeked at, which is not decoded. `row_count` rows begin in it, as the caller knows.
 * Counts are checked as for decoded pages; whether its levels fit those of the page after it is not. */
FIRN_CHECKED firn_status firn_chunk_reader_pass(struct firn_op *op, struct firn_chunk_reader *reader,
                                                uint32_t row_count);
/* Whether the page that was decoded or passed last ends where a row ends: always but for nested columns, where the page
 * after it is looked into. A vector given before stays valid. */
FIRN_CHECKED firn_status firn_chunk_reader_at_row_end(struct firn_op *op, struct firn_chunk_reader *reader,
                                                      bool *at_end);
/* The dictionary, decoded when it is first asked for and valid until close; NULL: none was met so far. */
FIRN_CHECKED firn_status firn_chunk_reader_dictionary(struct firn_op *op, struct firn_chunk_reader *reader,
                                                      const struct firn_dictionary **out);
/* Whether the page that was peeked at could do without the dictionary: when it is the chunk's only page of indices and
 * names each of the dictionary's values once, in order, that page's bytes are the values in PLAIN. Vectors given before
 * are not valid any more. */
FIRN_CHECKED firn_status firn_chunk_reader_unfolds(struct firn_op *op, struct firn_chunk_reader *reader, bool *unfolds);
/* That page, made of the dictionary's bytes as they lie: nothing need be compressed anew. `out` is valid until the next
 * page is unfolded. `*done` is false where the page needs its dictionary, or the codec takes no levels before values.
 */
FIRN_CHECKED firn_status firn_chunk_reader_unfold(struct firn_op *op, struct firn_chunk_reader *reader,
                                                  struct firn_page *out, bool *done);
void firn_chunk_reader_close(struct firn_chunk_reader *reader);

#define FIRN_PAGE_BYTES_MAX (INT64_C(1) << 30)

#endif
