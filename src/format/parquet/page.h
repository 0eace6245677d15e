/* Pages of a column chunk as they lie in the file: headers parsed, bodies untouched.
 *
 * This is the floor on which decoding (vector.h) and page copying stand. parquet-format, "Data Pages". */
#ifndef FIRN_FORMAT_PARQUET_PAGE_H
#define FIRN_FORMAT_PARQUET_PAGE_H

#include "base/cursor.h"
#include "base/sink.h"
#include "format/parquet/metadata.h"

enum firn_page_type { FIRN_PAGE_DATA = 0, FIRN_PAGE_INDEX = 1, FIRN_PAGE_DICTIONARY = 2, FIRN_PAGE_DATA_V2 = 3 };

struct firn_page_header {
    enum firn_page_type type;
    int32_t uncompressed_bytes, compressed_bytes; /* of the body */
    bool has_crc;
    uint32_t crc;
    int32_t value_count; /* data pages: level entries, nulls included; dictionary pages: values */
    enum firn_encoding encoding;
    enum firn_encoding def_encoding, rep_encoding; /* v1 */
    int32_t null_count, row_count;                 /* v2 */
    int32_t def_bytes, rep_bytes;                  /* v2: level bytes at the start of the body, never compressed */
    bool is_compressed;                            /* v2; absent means true */
    bool is_sorted;                                /* dictionary pages */
    struct firn_parquet_statistics statistics;
};

struct firn_page {
    struct firn_page_header header;
    struct firn_bytes header_bytes; /* as in the file */
    struct firn_bytes body;         /* still compressed */
    uint64_t offset;                /* of the header, from the start of the chunk's bytes */
    struct firn_bytes tail;         /* the body goes on with it; mostly there is none */
    bool lasts; /* header and body, or the tail alone if there is one, stay where they are until the chunk that the page
                 * is spliced into is written */
    struct firn_source *source; /* or else header and body can be copied from here until then; NULL: they cannot */
    uint64_t source_offset;     /* the header's */
};

/* Reads the next page at the cursor: header, then body. CORRUPT when either does not fit, or when sizes contradict each
 * other; the CRC is compared when `crc_check` and the page has one. Index pages are given too (callers skip them). */
FIRN_CHECKED firn_status firn_page_next(struct firn_op *op, struct firn_cursor *in, bool crc_check,
                                        struct firn_page *out);
/* The same where the chunk goes on for `beyond` bytes that are not at hand. `*missing` is how many of these it takes at
 * least: 0 unless the page is cut off. Nothing is taken of such a page, and no header is known of one whose
 * `header_bytes` are empty. */
FIRN_CHECKED firn_status firn_page_take(struct firn_op *op, struct firn_cursor *in, uint64_t beyond, bool crc_check,
                                        struct firn_page *out, uint64_t *missing);
/* Writes a page header. */
FIRN_CHECKED firn_status firn_page_header_print(struct firn_op *op, const struct firn_page_header *header,
                                                struct firn_buffer *out);

#endif
