/* Avro object container files, writing. Avro 1.12 specification, "Object Container Files". */
#ifndef FIRN_FORMAT_AVRO_WRITER_H
#define FIRN_FORMAT_AVRO_WRITER_H

#include "base/sink.h"
#include "format/avro/container.h"
#include "format/avro/layout.h"

struct firn_avro_writer_config {
    const struct firn_avro_layout *layout;
    enum firn_codec codec; /* NONE, DEFLATE, SNAPPY or ZSTD */
    int32_t codec_level;
    const struct firn_avro_property *properties; /* file metadata besides the schema and the codec */
    uint32_t property_count;
};

struct firn_avro_writer;
/* Writes the header to `sink`. Config and layout are borrowed until close. */
FIRN_CHECKED firn_status firn_avro_writer_open(struct firn_op *op, const struct firn_avro_writer_config *config,
                                               struct firn_sink *sink, struct firn_avro_writer **out);
FIRN_CHECKED firn_status firn_avro_writer_add(struct firn_op *op, struct firn_avro_writer *writer, const void *row);
/* A row that firn_avro_layout_encode made by the writer's layout. */
FIRN_CHECKED firn_status firn_avro_writer_add_encoded(struct firn_op *op, struct firn_avro_writer *writer,
                                                      struct firn_bytes row);
/* Bytes given to the sink so far. */
uint64_t firn_avro_writer_bytes(const struct firn_avro_writer *writer);
/* Writes what is still buffered. */
FIRN_CHECKED firn_status firn_avro_writer_finish(struct firn_op *op, struct firn_avro_writer *writer);
/* Frees; NULL is fine. */
void firn_avro_writer_close(struct firn_avro_writer *writer);

#endif
