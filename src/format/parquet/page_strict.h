/* Encodings that decode, and that strict readers refuse nevertheless: pages of them are not handed on. */
#ifndef FIRN_FORMAT_PARQUET_PAGE_STRICT_H
#define FIRN_FORMAT_PARQUET_PAGE_STRICT_H

#include "format/parquet/metadata.h"

enum firn_strictness {
    FIRN_STRICT,
    FIRN_LAX,                   /* some reader refuses it, or may */
    FIRN_STRICTNESS_BY_CONTENT, /* firn_chunk_reader_strict tells */
};

/* How the application `created_by` encodes values of `leaf` so. */
enum firn_strictness firn_page_strictness(struct firn_text created_by, const struct firn_parquet_node *leaf,
                                          enum firn_encoding encoding);

#endif
