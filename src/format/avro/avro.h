/* Avro object container files: schema-driven reading, writing with Iceberg's field ids.
 * Avro 1.12 specification, "Object Container Files", "Binary Encoding"; Iceberg spec, "Appendix A: Avro". */
#ifndef FIRN_FORMAT_AVRO_H
#define FIRN_FORMAT_AVRO_H

#include "base/cursor.h"
#include "base/sink.h"
#include "format/codec/codec.h"
#include "format/json/json.h"

/* The container: header and blocks. */
struct firn_avro_file {
    json_t *schema;                    /* the writer's */
    const struct firn_avro_type *type; /* parsed, with named types resolved */
    enum firn_codec codec;
    struct firn_text *keys; /* file metadata */
    struct firn_bytes *values;
    uint32_t metadata_count;
    /* ... the reader's own state; see avro.c */
};

#endif
