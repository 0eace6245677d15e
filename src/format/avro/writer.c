/* Writing Avro container files. Avro 1.12 specification, "Object Container Files". */
#include "format/avro/writer.h"

#include "base/math.h"
#include "format/avro/put.h"

#include <libdeflate.h>

/* Rows are gathered to this many bytes before they are compressed: the reference's sync interval. */
enum { BLOCK_BYTES_TARGET = 64000 };

struct firn_avro_writer {
    struct firn_arena arena;
    struct firn_avro_writer_config config;
    struct firn_sink *sink;
    struct firn_codec_context *codecs;
    struct firn_buffer rows;
    struct firn_buffer block;
    uint64_t row_count; /* in `rows` */
    uint64_t written_bytes;
    uint8_t sync[FIRN_AVRO_SYNC_BYTES];
};

static firn_status send(struct firn_op *op, struct firn_avro_writer *writer, const struct firn_buffer *bytes)
{
    writer->written_bytes += bytes->len;
    return firn_sink_write(op, writer->sink, firn_buffer_bytes(bytes));
}

static void put_property(struct firn_avro_encoder *encoder, struct firn_text key, struct firn_bytes value)
{
    firn_avro_put_bytes(encoder, firn_bytes_of_text(key));
    firn_avro_put_bytes(encoder, value);
}

static firn_status write_header(struct firn_op *op, struct firn_avro_writer *writer)
{
    static const uint8_t magic[] = { 'O', 'b', 'j', 1 };
    const struct firn_avro_writer_config *config = &writer->config;
    json_t *schema = firn_json_own(&writer->arena, firn_avro_layout_schema(&writer->arena, config->layout));
    struct firn_text text = firn_json_text(&writer->arena, schema, 0);
    struct firn_avro_encoder encoder = { .op = op, .out = &writer->block };

    firn_avro_put_raw(&encoder, magic, sizeof magic);
    firn_avro_put_long(&encoder, (int64_t)config->property_count + 2);
    put_property(&encoder, FIRN_TEXT("avro.schema"), firn_bytes_of_text(text));
    put_property(&encoder, FIRN_TEXT("avro.codec"),
                 firn_bytes_of_text(firn_text_of(firn_avro_codec_name(config->codec))));
    for (uint32_t i = 0; i < config->property_count; i++)
        put_property(&encoder, config->properties[i].key, config->properties[i].value);
    firn_avro_put_long(&encoder, 0);
    firn_avro_put_raw(&encoder, writer->sync, sizeof writer->sync);
    FIRN_TRY(encoder.status);
    return send(op, writer, &writer->block);
}

firn_status firn_avro_writer_open(struct firn_op *op, const struct firn_avro_writer_config *config,
                                  struct firn_sink *sink, struct firn_avro_writer **out)
{
    struct firn_arena arena;
    firn_arena_init(&arena);
    struct firn_avro_writer *writer = FIRN_NEW(&arena, struct firn_avro_writer);
    *writer = (struct firn_avro_writer){ .arena = arena, .config = *config, .sink = sink };
    op->env->random(op->env->context, writer->sync, sizeof writer->sync);
    firn_status status = firn_codec_context_open(op, &writer->codecs);
    if (status == FIRN_OK)
        status = write_header(op, writer);
    if (status != FIRN_OK)
        firn_avro_writer_close(writer);
    *out = status == FIRN_OK ? writer : NULL;
    return status;
}

/* Compresses the gathered rows into `out`, with snappy's checksum behind. */
static firn_status compress_rows(struct firn_op *op, struct firn_avro_writer *writer, struct firn_buffer *out)
{
    const struct firn_avro_writer_config *config = &writer->config;
    struct firn_bytes rows = firn_buffer_bytes(&writer->rows);
    firn_buffer_clear(out);
    FIRN_TRY(firn_codec_compress(op, writer->codecs, config->codec, config->codec_level, rows, out));
    if (config->codec != FIRN_CODEC_SNAPPY)
        return FIRN_OK;
    uint8_t checksum[4];
    firn_store_be32(checksum, libdeflate_crc32(0, rows.data, rows.len));
    return firn_buffer_append(op, out, checksum, sizeof checksum);
}

static firn_status write_block(struct firn_op *op, struct firn_avro_writer *writer)
{
    struct firn_buffer head = { 0 };
    struct firn_avro_encoder encoder = { .op = op, .out = &head };
    if (writer->row_count == 0)
        return FIRN_OK;
    firn_status status = compress_rows(op, writer, &writer->block);
    firn_avro_put_long(&encoder, (int64_t)writer->row_count);
    firn_avro_put_long(&encoder, (int64_t)writer->block.len);
    if (status == FIRN_OK)
        status = encoder.status;
    if (status == FIRN_OK)
        status = send(op, writer, &head);
    firn_buffer_done(&head);
    FIRN_TRY(status);
    FIRN_TRY(firn_buffer_append(op, &writer->block, writer->sync, sizeof writer->sync));
    firn_buffer_clear(&writer->rows);
    writer->row_count = 0;
    return send(op, writer, &writer->block);
}

static firn_status end_row(struct firn_op *op, struct firn_avro_writer *writer)
{
    writer->row_count++;
    return writer->rows.len >= BLOCK_BYTES_TARGET ? write_block(op, writer) : FIRN_OK;
}

firn_status firn_avro_writer_add(struct firn_op *op, struct firn_avro_writer *writer, const void *row)
{
    FIRN_TRY(firn_avro_layout_encode(op, writer->config.layout, row, &writer->rows));
    return end_row(op, writer);
}

firn_status firn_avro_writer_add_encoded(struct firn_op *op, struct firn_avro_writer *writer, struct firn_bytes row)
{
    FIRN_TRY(firn_buffer_append(op, &writer->rows, row.data, row.len));
    return end_row(op, writer);
}

uint64_t firn_avro_writer_bytes(const struct firn_avro_writer *writer)
{
    return writer->written_bytes;
}

firn_status firn_avro_writer_finish(struct firn_op *op, struct firn_avro_writer *writer)
{
    return write_block(op, writer);
}

void firn_avro_writer_close(struct firn_avro_writer *writer)
{
    if (!writer)
        return;
    struct firn_arena arena = writer->arena;
    firn_codec_context_close(writer->codecs);
    firn_buffer_done(&writer->rows);
    firn_buffer_done(&writer->block);
    firn_arena_done(&arena);
}
