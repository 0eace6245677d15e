/* Avro object container files, reading: header, blocks, codecs. Avro 1.12 specification, "Object Container Files". */
#ifndef FIRN_FORMAT_AVRO_CONTAINER_H
#define FIRN_FORMAT_AVRO_CONTAINER_H

#include "base/cursor.h"
#include "format/avro/schema.h"
#include "format/codec/codec.h"

#define FIRN_AVRO_SYNC_BYTES 16
/* No block, decompressed, may be larger. */
#define FIRN_AVRO_BLOCK_BYTES_MAX (UINT64_C(1) << 30)

/* As the header spells it: "null", "deflate", "snappy", "zstandard". */
const char *firn_avro_codec_name(enum firn_codec codec);

/* One key of the file's metadata. */
struct firn_avro_property {
    struct firn_text key;
    struct firn_bytes value;
};

struct firn_avro_reader {
    const json_t *schema_json;         /* the writer's */
    const struct firn_avro_type *type; /* the same, parsed */
    enum firn_codec codec;
    struct firn_avro_property *properties;
    uint32_t property_count;
    struct firn_cursor in; /* behind the last block read */
    struct firn_bytes sync;
    struct firn_codec_context *codecs; /* closed when the arena goes */
};

/* Opens a file held in memory; it must outlive the reader. Fails: CORRUPT; UNSUPPORTED for a codec of the
 * format other than null (also when the key is absent), deflate, snappy and zstandard. */
FIRN_CHECKED firn_status firn_avro_reader_init(struct firn_op *op, struct firn_bytes file,
                                               struct firn_avro_reader *reader);
/* The value of a metadata key; data == NULL when absent. */
struct firn_text firn_avro_reader_property(const struct firn_avro_reader *reader, const char *key);

struct firn_avro_block {
    uint64_t row_count; /* 0: there is no further block */
    struct firn_bytes data;
};
/* Reads the next block that has rows, replacing the content of `buffer`, which block->data borrows. Checks the sync
 * marker, snappy's checksum, and that `row_count` rows can lie in the data at all. */
FIRN_CHECKED firn_status firn_avro_reader_next(struct firn_op *op, struct firn_avro_reader *reader,
                                               struct firn_buffer *buffer, struct firn_avro_block *block);
/* Adds up how many rows the blocks that are left say they have. Nothing is decompressed, so the sum is their word. */
FIRN_CHECKED firn_status firn_avro_reader_count(struct firn_op *op, struct firn_avro_reader *reader,
                                                uint64_t *row_count);

#endif
