/* Finished pages: levels encoded, body compressed, CRC, header. parquet-format, "Data Pages". */
#ifndef FIRN_FORMAT_PARQUET_PAGE_WRITE_H
#define FIRN_FORMAT_PARQUET_PAGE_WRITE_H

#include "format/parquet/page.h"

/* How pages are written, and memory used again from page to page. */
struct firn_page_writer {
    struct firn_codec_context *context; /* borrowed */
    enum firn_codec codec;
    int32_t codec_level;
    uint32_t way; /* to compress, where no level is asked for: a quick one that makes pages hardly larger, as tried */
    uint32_t pages_to_trial, trial_pages; /* until the next trial, and from the last one to it */
    struct firn_buffer body, compressed;
};

/* Sizes of pages with their headers. */
struct firn_page_sizes {
    int64_t uncompressed_bytes, compressed_bytes;
};

/* A data page before compression. */
struct firn_data_page {
    const uint8_t *rep, *def; /* a byte a slot; NULL when the maximum is 0 */
    uint8_t rep_max, def_max;
    uint32_t slot_count, value_count, row_count;
    enum firn_encoding encoding;
    struct firn_bytes values; /* encoded */
    bool page_v2;
};

/* Frees the memory. A writer is made by setting its options. */
void firn_page_writer_done(struct firn_page_writer *writer);
/* Appends the page to `out`. LIMIT when its body would pass 2 GiB. */
FIRN_CHECKED firn_status firn_page_writer_put_data(struct firn_op *op, struct firn_page_writer *writer,
                                                   const struct firn_data_page *page, struct firn_buffer *out,
                                                   struct firn_page_sizes *sizes);
/* Appends a dictionary page of `value_count` values whose PLAIN form is `values`. */
FIRN_CHECKED firn_status firn_page_writer_put_dictionary(struct firn_op *op, struct firn_page_writer *writer,
                                                         struct firn_bytes values, uint32_t value_count,
                                                         struct firn_buffer *out, struct firn_page_sizes *sizes);

#endif
