/* Stripes and their streams. ORC specification v1, "Compression", "Stripes". */
#ifndef FIRN_FORMAT_ORC_STRIPE_H
#define FIRN_FORMAT_ORC_STRIPE_H

#include "format/orc/orc.h"

#define FIRN_ORC_ROWS_MAX (UINT64_C(1) << 31) /* of a stripe */

enum firn_orc_stream_kind {
    FIRN_ORC_STREAM_PRESENT,
    FIRN_ORC_STREAM_DATA,
    FIRN_ORC_STREAM_LENGTH,
    FIRN_ORC_STREAM_DICTIONARY
};
enum firn_orc_encoding {
    FIRN_ORC_DIRECT,
    FIRN_ORC_DICTIONARY,
    FIRN_ORC_DIRECT_V2,
    FIRN_ORC_DICTIONARY_V2,
    FIRN_ORC_ENCODING_COUNT
};

struct firn_orc_stream {
    uint64_t kind, column;
    struct firn_bytes stored;
};

struct firn_orc_stripe {
    const struct firn_orc_footer *footer;
    struct firn_codec_context *codecs;
    uint64_t row_count;
    struct firn_orc_stream *streams;
    uint32_t stream_count;
    uint64_t *encodings; /* one a column */
    uint64_t *dictionary_counts;
};

/* Appends what compressed blocks hold to `out`; LIMIT past `size_max`. */
FIRN_CHECKED firn_status firn_orc_blocks_expand(struct firn_op *op, struct firn_codec_context *codecs,
                                                const struct firn_orc_footer *footer, struct firn_bytes stored,
                                                size_t size_max, struct firn_buffer *out);
/* Replaces `out` by a stream of a column; nothing where it has none. */
FIRN_CHECKED firn_status firn_orc_stream_read(struct firn_op *op, const struct firn_orc_stripe *stripe, uint32_t column,
                                              enum firn_orc_stream_kind kind, struct firn_buffer *out, bool *found);

#endif
