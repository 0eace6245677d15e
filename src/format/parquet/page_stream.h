/* The pages of a column chunk one after the other, be its bytes at hand or read in pieces while they are needed: what
 * is held then is a window of the chunk that moves forward, and grows for a page that is larger. */
#ifndef FIRN_FORMAT_PARQUET_PAGE_STREAM_H
#define FIRN_FORMAT_PARQUET_PAGE_STREAM_H

#include "base/buffer.h"
#include "format/parquet/page.h"

/* Reads `len` bytes at `offset` of the file that the chunk lies in: all of them, or it fails. */
typedef firn_status firn_chunk_read(struct firn_op *op, void *context, uint64_t offset, size_t len, uint8_t *out);

struct firn_chunk_source {
    struct firn_bytes bytes; /* from the start of the chunk on, as far as it is at hand */
    firn_chunk_read *read;   /* gives the rest; NULL: there is none */
    void *context;
    uint64_t offset, len; /* of the chunk, where it is read */
    size_t piece_bytes;   /* to read at once, more for larger pages; one piece is held beside the one being read */
};
static inline struct firn_chunk_source firn_chunk_source_of(struct firn_bytes bytes)
{
    return (struct firn_chunk_source){ .bytes = bytes, .len = bytes.len };
}
/* Reads the first piece into `buffer`, from which it is at hand. */
FIRN_CHECKED firn_status firn_chunk_source_begin(struct firn_op *op, struct firn_chunk_source *source,
                                                 struct firn_buffer *buffer);

/* Not to be used but through the functions. */
struct firn_page_stream {
    struct firn_chunk_source source;
    struct firn_cursor in;         /* what is at hand, */
    uint64_t start;                /* and where that begins in the chunk */
    struct firn_buffer windows[2]; /* a page lies in one of them; when it is passed, the other one takes what follows */
    uint8_t window;                /* that `in` is on */
    uint64_t window_bytes;         /* how large one is */
    bool is_lent;                  /* a page was given of what is at hand, */
    bool was_lent;                 /* one before the last */
};
/* Borrows what the source points to. */
void firn_page_stream_init(struct firn_page_stream *stream, const struct firn_chunk_source *source);
/* Where the next page begins in the chunk. */
uint64_t firn_page_stream_offset(const struct firn_page_stream *stream);
/* Whether there are bytes after the last page given. */
bool firn_page_stream_has_more(const struct firn_page_stream *stream);
/* As firn_page_next. The page is valid until the next one but one is asked for. */
FIRN_CHECKED firn_status firn_page_stream_next(struct firn_op *op, struct firn_page_stream *stream, bool crc_check,
                                               struct firn_page *out);
/* The page given last is not looked at any more: the one before it is valid for as long as if it had not been asked
 * for.
 */
void firn_page_stream_drop(struct firn_page_stream *stream);
/* The header of the next page, whose body may not be there. Of the pages given only the last one stays valid. */
FIRN_CHECKED firn_status firn_page_stream_peek(struct firn_op *op, struct firn_page_stream *stream,
                                               struct firn_page_header *out);
void firn_page_stream_done(struct firn_page_stream *stream);

#endif
