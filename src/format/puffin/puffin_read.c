/* Reading Puffin files. Puffin specification, "File structure", "Footer structure". */
#include "base/math.h"
#include "format/puffin/lz4_frame.h"
#include "format/puffin/puffin.h"

#include <zstd.h>

enum { MAGIC_BYTES = 4, FLAG_COMPRESSED = 1 };

static const uint8_t magic[MAGIC_BYTES] = { 'P', 'F', 'A', '1' };

static bool is_magic(const uint8_t *at)
{
    return memcmp(at, magic, MAGIC_BYTES) == 0;
}

static firn_status check_flags(struct firn_op *op, const uint8_t flags[4])
{
    if ((flags[0] & ~FLAG_COMPRESSED) | flags[1] | flags[2] | flags[3])
        return firn_fail(op, FIRN_CORRUPT, "puffin footer has unknown flags %02x %02x %02x %02x", flags[0], flags[1],
                         flags[2], flags[3]);
    return FIRN_OK;
}

firn_status firn_puffin_tail_parse(struct firn_op *op, struct firn_bytes tail, uint64_t file_bytes,
                                   uint32_t *footer_bytes)
{
    uint64_t least = 2 * MAGIC_BYTES + FIRN_PUFFIN_TAIL_BYTES; /* around an empty payload */
    if (tail.len != FIRN_PUFFIN_TAIL_BYTES || file_bytes < least)
        return firn_fail(op, FIRN_CORRUPT, "file of %" PRIu64 " bytes is too short to be a puffin file", file_bytes);
    if (!is_magic(tail.data + 8))
        return firn_fail(op, FIRN_CORRUPT, "puffin file does not end with its magic");
    uint32_t payload_bytes = firn_load_le32(tail.data);
    if (payload_bytes > file_bytes - least || payload_bytes > FIRN_PUFFIN_FOOTER_BYTES_MAX)
        return firn_fail(op, FIRN_CORRUPT, "puffin footer of %u bytes does not fit a file of %" PRIu64, payload_bytes,
                         file_bytes);
    *footer_bytes = MAGIC_BYTES + payload_bytes + FIRN_PUFFIN_TAIL_BYTES;
    return check_flags(op, tail.data + 4);
}

/* The JSON --------------------------------------------------------------------------------------------------------- */

static firn_status parse_properties(struct firn_op *op, const json_t *object, struct firn_puffin_property **out,
                                    uint32_t *count)
{
    json_t *properties = json_object_get(object, "properties");
    const char *key;
    json_t *value;
    *count = 0;
    if (!properties || json_is_null(properties))
        return FIRN_OK;
    if (!json_is_object(properties))
        return firn_fail(op, FIRN_CORRUPT, "\"properties\" is not an object");
    *out = FIRN_NEW_ARRAY(op->arena, struct firn_puffin_property, json_object_size(properties));
    json_object_foreach(properties, key, value)
    {
        if (!json_is_string(value))
            return firn_fail(op, FIRN_CORRUPT, "property \"%s\" is not a text", key);
        struct firn_text text = { json_string_value(value), json_string_length(value) };
        (*out)[(*count)++] = (struct firn_puffin_property){ firn_text_copy(op->arena, firn_text_of(key)),
                                                            firn_text_copy(op->arena, text) };
    }
    return FIRN_OK;
}

static firn_status parse_fields(struct firn_op *op, const json_t *object, struct firn_puffin_blob *blob)
{
    json_t *fields;
    FIRN_TRY(firn_json_need_array(op, object, "fields", "puffin blob", &fields));
    blob->field_count = (uint32_t)json_array_size(fields);
    blob->fields = FIRN_NEW_ARRAY(op->arena, int32_t, blob->field_count);
    for (uint32_t i = 0; i < blob->field_count; i++) {
        const json_t *field = json_array_get(fields, i);
        json_int_t id = json_integer_value(field);
        if (!json_is_integer(field) || id != (int32_t)id)
            return firn_fail(op, FIRN_CORRUPT, "\"fields\" holds something that is no field id");
        blob->fields[i] = (int32_t)id;
    }
    return FIRN_OK;
}

/* Blobs lie behind the first magic and before the footer. */
static firn_status check_range(struct firn_op *op, const struct firn_puffin_blob *blob, uint64_t blobs_end)
{
    bool good = blob->offset >= MAGIC_BYTES && blob->length >= 0 && (uint64_t)blob->offset <= blobs_end &&
                (uint64_t)blob->length <= blobs_end - (uint64_t)blob->offset;
    if (good)
        return FIRN_OK;
    return firn_fail(op, FIRN_CORRUPT, "%" PRId64 " bytes from %" PRId64 " on do not lie in the %" PRIu64 " of blobs",
                     blob->length, blob->offset, blobs_end);
}

static firn_status parse_blob(struct firn_op *op, const json_t *object, uint64_t blobs_end,
                              struct firn_puffin_blob *blob)
{
    if (!json_is_object(object))
        return firn_fail(op, FIRN_CORRUPT, "it is not an object");
    FIRN_TRY(firn_json_need_text(op, object, "type", "puffin blob", &blob->type));
    FIRN_TRY(parse_fields(op, object, blob));
    FIRN_TRY(firn_json_need_i64(op, object, "snapshot-id", "puffin blob", &blob->snapshot_id));
    FIRN_TRY(firn_json_need_i64(op, object, "sequence-number", "puffin blob", &blob->sequence_number));
    FIRN_TRY(firn_json_need_i64(op, object, "offset", "puffin blob", &blob->offset));
    FIRN_TRY(firn_json_need_i64(op, object, "length", "puffin blob", &blob->length));
    FIRN_TRY(firn_json_find_text(op, object, "compression-codec", "puffin blob", &blob->codec, NULL));
    FIRN_TRY(parse_properties(op, object, &blob->properties, &blob->property_count));
    return check_range(op, blob, blobs_end);
}

static firn_status parse_payload(struct firn_op *op, struct firn_bytes payload, uint64_t blobs_end,
                                 struct firn_puffin_footer *out)
{
    json_t *root, *blobs;
    FIRN_TRY(firn_json_parse(op, firn_text_of_bytes(payload), "puffin footer", &root));
    if (!json_is_object(root))
        return firn_fail(op, FIRN_CORRUPT, "puffin footer is not an object");
    FIRN_TRY(firn_json_need_array(op, root, "blobs", "puffin footer", &blobs));
    FIRN_TRY(parse_properties(op, root, &out->properties, &out->property_count));
    out->blob_count = (uint32_t)json_array_size(blobs);
    out->blobs = FIRN_NEW_ARRAY(op->arena, struct firn_puffin_blob, out->blob_count);
    for (uint32_t i = 0; i < out->blob_count; i++)
        FIRN_TRY(
            firn_context(op, parse_blob(op, json_array_get(blobs, i), blobs_end, &out->blobs[i]), "puffin blob %u", i));
    return FIRN_OK;
}

firn_status firn_puffin_footer_parse(struct firn_op *op, struct firn_bytes bytes, uint64_t file_bytes,
                                     struct firn_puffin_footer *out)
{
    struct firn_buffer plain = { 0 };
    uint32_t footer_bytes;
    *out = (struct firn_puffin_footer){ 0 };
    if (bytes.len < FIRN_PUFFIN_TAIL_BYTES || bytes.len > file_bytes)
        return firn_fail(op, FIRN_CORRUPT, "puffin footer of %zu bytes is too short", bytes.len);
    struct firn_bytes tail = { bytes.data + bytes.len - FIRN_PUFFIN_TAIL_BYTES, FIRN_PUFFIN_TAIL_BYTES };
    FIRN_TRY(firn_puffin_tail_parse(op, tail, file_bytes, &footer_bytes));
    if (footer_bytes != bytes.len || !is_magic(bytes.data))
        return firn_fail(op, FIRN_CORRUPT, "puffin footer does not begin with its magic");

    struct firn_bytes payload = { bytes.data + MAGIC_BYTES, bytes.len - MAGIC_BYTES - FIRN_PUFFIN_TAIL_BYTES };
    out->compressed = tail.data[4] & FLAG_COMPRESSED;
    firn_status status = FIRN_OK;
    if (out->compressed) {
        status = firn_lz4_frame_decode(op, payload, FIRN_PUFFIN_FOOTER_BYTES_MAX, &plain);
        payload = firn_buffer_bytes(&plain);
    }
    if (status == FIRN_OK)
        status = parse_payload(op, payload, file_bytes - bytes.len, out);
    firn_buffer_done(&plain);
    return status;
}

firn_status firn_puffin_parse(struct firn_op *op, struct firn_bytes file, struct firn_puffin_footer *out)
{
    uint32_t footer_bytes;
    if (file.len < MAGIC_BYTES + FIRN_PUFFIN_TAIL_BYTES || !is_magic(file.data))
        return firn_fail(op, FIRN_CORRUPT, "file of %zu bytes does not begin like a puffin file", file.len);
    struct firn_bytes tail = { file.data + file.len - FIRN_PUFFIN_TAIL_BYTES, FIRN_PUFFIN_TAIL_BYTES };
    FIRN_TRY(firn_puffin_tail_parse(op, tail, file.len, &footer_bytes));
    struct firn_bytes footer = { file.data + file.len - footer_bytes, footer_bytes };
    return firn_puffin_footer_parse(op, footer, file.len, out);
}

/* Blobs ------------------------------------------------------------------------------------------------------------ */

static firn_status decode_zstd(struct firn_op *op, struct firn_bytes stored, struct firn_buffer *out)
{
    struct firn_codec_context *context;
    unsigned long long size = ZSTD_getFrameContentSize(stored.data, stored.len);
    if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN)
        return firn_fail(op, FIRN_CORRUPT, "zstd frame does not state its content's size");
    if (size > FIRN_PUFFIN_BLOB_BYTES_MAX)
        return firn_fail(op, FIRN_LIMIT, "zstd frame holds %llu bytes, more than %" PRIu64, size,
                         FIRN_PUFFIN_BLOB_BYTES_MAX);
    FIRN_TRY(firn_codec_context_open(op, &context));
    firn_status status =
        firn_codec_decompress_unsized(op, context, FIRN_CODEC_ZSTD, stored, FIRN_PUFFIN_BLOB_BYTES_MAX, out);
    firn_codec_context_close(context);
    return status;
}

firn_status firn_puffin_blob_decode(struct firn_op *op, const struct firn_puffin_blob *blob, struct firn_bytes stored,
                                    struct firn_buffer *out)
{
    if (blob->codec.len == 0)
        return firn_buffer_append(op, out, stored.data, stored.len);
    if (firn_text_is(blob->codec, "lz4"))
        return firn_lz4_frame_decode(op, stored, FIRN_PUFFIN_BLOB_BYTES_MAX, out);
    if (firn_text_is(blob->codec, "zstd"))
        return decode_zstd(op, stored, out);
    return firn_fail(op, FIRN_CORRUPT, "puffin blob codec '%.*s' is neither lz4 nor zstd", FIRN_FMT(blob->codec));
}

struct firn_text firn_puffin_property_find(const struct firn_puffin_property *properties, uint32_t count,
                                           const char *key)
{
    for (uint32_t i = 0; i < count; i++)
        if (firn_text_is(properties[i].key, key))
            return properties[i].value;
    return (struct firn_text){ 0 };
}
