/* Puffin files for firn inspect: the footer; blobs' contents on request. */
#include "maintain/inspect.h"

#include "format/puffin/deletion_vector.h"
#include "format/puffin/theta.h"
#include "store/store.h"

#define FILE_BYTES_MAX (UINT64_C(1) << 31)
/* A few bytes of runs can stand for billions of positions: more than these are counted, not listed. */
#define LISTED_POSITIONS_MAX 1000000

static json_t *properties_json(const struct firn_puffin_property *properties, uint32_t count)
{
    json_t *out = json_object();
    for (uint32_t i = 0; i < count; i++)
        firn_json_set(out, properties[i].key.data, firn_json_string(properties[i].value));
    return out;
}

static json_t *blob_json(const struct firn_puffin_blob *blob)
{
    json_t *out = json_object();
    json_t *fields = json_array();
    for (uint32_t i = 0; i < blob->field_count; i++)
        json_array_append_new(fields, json_integer(blob->fields[i]));
    firn_json_set_text(out, "type", blob->type);
    firn_json_set(out, "fields", fields);
    firn_json_set_i64(out, "snapshot_id", blob->snapshot_id);
    firn_json_set_i64(out, "sequence_number", blob->sequence_number);
    firn_json_set_i64(out, "offset", blob->offset);
    firn_json_set_i64(out, "length", blob->length);
    if (blob->codec.len)
        firn_json_set_text(out, "codec", blob->codec);
    firn_json_set(out, "properties", properties_json(blob->properties, blob->property_count));
    return out;
}

static void add_positions(const struct firn_positions *positions, json_t *out)
{
    uint64_t count = firn_positions_count(positions);
    firn_json_set_i64(out, "position_count", (int64_t)count);
    if (count > LISTED_POSITIONS_MAX)
        return;
    json_t *list = json_array();
    int64_t position;
    for (int64_t from = 0; firn_positions_next(positions, from, &position); from = position + 1)
        json_array_append_new(list, json_integer(position));
    firn_json_set(out, "positions", list);
}

static firn_status add_sketch(struct firn_op *op, struct firn_bytes content, json_t *out)
{
    struct firn_theta_compact sketch;
    FIRN_TRY(firn_theta_parse(op, content, &sketch));
    firn_json_set_i64(out, "hash_count", sketch.count);
    firn_json_set_bool(out, "exact", sketch.theta == FIRN_THETA_ALL);
    firn_json_set_i64(out, "estimate", (int64_t)firn_theta_estimate(&sketch));
    return FIRN_OK;
}

/* Decodes a blob, which proves that it is whole; of vectors the positions are shown, of sketches the estimate. */
static firn_status add_content(struct firn_op *op, const struct firn_puffin_blob *blob, struct firn_bytes file,
                               struct firn_buffer *content, json_t *out)
{
    struct firn_bytes stored = { file.data + blob->offset, (size_t)blob->length };
    struct firn_positions *positions;
    firn_buffer_clear(content);
    FIRN_TRY(firn_puffin_blob_decode(op, blob, stored, content));
    firn_json_set_i64(out, "bytes", (int64_t)content->len);
    if (firn_text_is(blob->type, FIRN_THETA_TYPE))
        return add_sketch(op, firn_buffer_bytes(content), out);
    if (!firn_text_is(blob->type, FIRN_DELETION_VECTOR_TYPE))
        return FIRN_OK;
    FIRN_TRY(firn_deletion_vector_decode(op, firn_buffer_bytes(content), -1, &positions));
    add_positions(positions, out);
    return FIRN_OK;
}

static firn_status inspect(struct firn_op *op, struct firn_bytes file, struct firn_buffer *content,
                           struct firn_inspect_options options, json_t *out)
{
    struct firn_puffin_footer footer;
    json_t *blobs = json_array();
    firn_json_set_i64(out, "file_bytes", (int64_t)file.len);
    firn_json_set(out, "blobs", blobs);
    FIRN_TRY(firn_puffin_parse(op, file, &footer));
    firn_json_set_bool(out, "footer_compressed", footer.compressed);
    firn_json_set(out, "properties", properties_json(footer.properties, footer.property_count));
    for (uint32_t i = 0; i < footer.blob_count; i++) {
        json_t *blob = blob_json(&footer.blobs[i]);
        json_array_append_new(blobs, blob);
        if (options.values)
            FIRN_TRY(firn_context(op, add_content(op, &footer.blobs[i], file, content, blob), "blob %u", i));
    }
    return FIRN_OK;
}

firn_status firn_inspect_puffin(struct firn_op *op, struct firn_store *store, struct firn_text location,
                                struct firn_inspect_options options, json_t **out)
{
    struct firn_buffer file = { 0 }, content = { 0 };
    *out = firn_json_own(op->arena, json_object());
    firn_json_set_text(*out, "format", FIRN_TEXT("puffin"));
    firn_json_set_text(*out, "file", location);
    firn_status status = firn_store_read(op, store, location, FILE_BYTES_MAX, &file);
    if (status == FIRN_OK)
        status = inspect(op, firn_buffer_bytes(&file), &content, options, *out);
    firn_buffer_done(&file);
    firn_buffer_done(&content);
    return firn_context(op, status, "file '%.*s'", FIRN_FMT(location));
}
