/* Writing Puffin files. Puffin specification, "File structure", "Footer structure". */
#include "base/math.h"
#include "format/puffin/lz4_frame.h"
#include "format/puffin/puffin.h"

enum { FLAG_COMPRESSED = 1 };

static const struct firn_bytes magic = { (const uint8_t *)"PFA1", 4 };

struct firn_puffin_writer {
    struct firn_sink *sink;
    int64_t offset; /* within this file */
    FIRN_ARRAY(struct firn_puffin_blob) blobs;
};

static firn_status send(struct firn_op *op, struct firn_puffin_writer *writer, struct firn_bytes bytes)
{
    writer->offset += (int64_t)bytes.len;
    return firn_sink_write(op, writer->sink, bytes);
}

firn_status firn_puffin_writer_open(struct firn_op *op, struct firn_sink *sink, struct firn_puffin_writer **out)
{
    *out = FIRN_NEW(op->arena, struct firn_puffin_writer);
    (*out)->sink = sink;
    return send(op, *out, magic);
}

static firn_status compress_zstd(struct firn_op *op, struct firn_bytes content, struct firn_buffer *out)
{
    struct firn_codec_context *context;
    FIRN_TRY(firn_codec_context_open(op, &context));
    firn_status status = firn_codec_compress(op, context, FIRN_CODEC_ZSTD, FIRN_CODEC_LEVEL_DEFAULT, content, out);
    firn_codec_context_close(context);
    return status;
}

static firn_status compress(struct firn_op *op, struct firn_text codec, struct firn_bytes content,
                            struct firn_buffer *out)
{
    if (codec.len == 0)
        return firn_buffer_append(op, out, content.data, content.len);
    if (firn_text_is(codec, "lz4"))
        return firn_lz4_frame_encode(op, content, out);
    if (firn_text_is(codec, "zstd"))
        return compress_zstd(op, content, out);
    return firn_fail(op, FIRN_UNSUPPORTED, "puffin blob codec '%.*s' is neither lz4 nor zstd", FIRN_FMT(codec));
}

firn_status firn_puffin_writer_add(struct firn_op *op, struct firn_puffin_writer *writer, struct firn_puffin_blob *blob,
                                   struct firn_bytes content)
{
    struct firn_buffer stored = { 0 };
    firn_status status = compress(op, blob->codec, content, &stored);
    blob->offset = writer->offset;
    blob->length = (int64_t)stored.len;
    if (status == FIRN_OK)
        status = send(op, writer, firn_buffer_bytes(&stored));
    firn_buffer_done(&stored);
    if (status == FIRN_OK)
        FIRN_PUSH(op->arena, &writer->blobs, *blob);
    return status;
}

static void set_properties(json_t *object, const struct firn_puffin_property *properties, uint32_t count)
{
    json_t *json = json_object();
    for (uint32_t i = 0; i < count; i++)
        json_object_setn_new(json, properties[i].key.data, properties[i].key.len,
                             firn_json_string(properties[i].value));
    firn_json_set(object, "properties", json);
}

static json_t *blob_json(const struct firn_puffin_blob *blob)
{
    json_t *json = json_object();
    json_t *fields = json_array();
    for (uint32_t i = 0; i < blob->field_count; i++)
        json_array_append_new(fields, json_integer(blob->fields[i]));
    firn_json_set_text(json, "type", blob->type);
    firn_json_set(json, "fields", fields);
    firn_json_set_i64(json, "snapshot-id", blob->snapshot_id);
    firn_json_set_i64(json, "sequence-number", blob->sequence_number);
    firn_json_set_i64(json, "offset", blob->offset);
    firn_json_set_i64(json, "length", blob->length);
    if (blob->codec.len)
        firn_json_set_text(json, "compression-codec", blob->codec);
    if (blob->property_count)
        set_properties(json, blob->properties, blob->property_count);
    return json;
}

static firn_status write_footer(struct firn_op *op, struct firn_puffin_writer *writer, struct firn_bytes payload,
                                bool compressed)
{
    uint8_t tail[FIRN_PUFFIN_TAIL_BYTES] = { 0 };
    if (payload.len > FIRN_PUFFIN_FOOTER_BYTES_MAX)
        return firn_fail(op, FIRN_LIMIT, "puffin footer of %zu bytes is larger than %" PRIu64, payload.len,
                         FIRN_PUFFIN_FOOTER_BYTES_MAX);
    firn_store_le32(tail, (uint32_t)payload.len);
    tail[4] = compressed ? FLAG_COMPRESSED : 0;
    memcpy(tail + 8, magic.data, magic.len);
    FIRN_TRY(send(op, writer, magic));
    FIRN_TRY(send(op, writer, payload));
    return send(op, writer, (struct firn_bytes){ tail, sizeof tail });
}

firn_status firn_puffin_writer_finish(struct firn_op *op, struct firn_puffin_writer *writer,
                                      const struct firn_puffin_property *properties, uint32_t count, bool compress_it)
{
    json_t *root = firn_json_own(op->arena, json_object());
    json_t *blobs = json_array();
    struct firn_buffer frame = { 0 };
    for (size_t i = 0; i < writer->blobs.count; i++)
        json_array_append_new(blobs, blob_json(&writer->blobs.items[i]));
    firn_json_set(root, "blobs", blobs);
    if (count)
        set_properties(root, properties, count);
    struct firn_bytes payload = firn_bytes_of_text(firn_json_text(op->arena, root, 0));
    firn_status status = FIRN_OK;
    if (compress_it) {
        status = firn_lz4_frame_encode(op, payload, &frame);
        payload = firn_buffer_bytes(&frame);
    }
    if (status == FIRN_OK)
        status = write_footer(op, writer, payload, compress_it);
    firn_buffer_done(&frame);
    return status;
}
