/* Avro files for firn inspect: header, schema, counts; values on request. */
#include "maintain/inspect.h"

#include "format/avro/container.h"
#include "format/avro/value_json.h"
#include "store/store.h"

/* The whole file is held in memory. */
#define FILE_BYTES_MAX (UINT64_C(1) << 30)

static json_t *metadata_json(const struct firn_avro_reader *reader)
{
    json_t *out = json_object();
    for (uint32_t i = 0; i < reader->property_count; i++) {
        const struct firn_avro_property *property = &reader->properties[i];
        if (firn_text_is(property->key, "avro.schema")) /* shown parsed */
            continue;
        firn_json_set_at(out, property->key, firn_json_string(firn_text_of_bytes(property->value)));
    }
    return out;
}

static firn_status add_values(struct firn_op *op, const struct firn_avro_reader *reader,
                              const struct firn_avro_block *block, uint64_t *empty_items_left, json_t *values)
{
    struct firn_cursor in = firn_cursor_of(block->data);
    for (uint64_t i = 0; i < block->row_count && !in.failure; i++)
        json_array_append_new(values, firn_avro_take_json(&in, reader->type, empty_items_left));
    return firn_cursor_finish(op, &in, "avro row");
}

static firn_status read_blocks(struct firn_op *op, struct firn_avro_reader *reader, struct firn_buffer *buffer,
                               struct firn_inspect_options options, json_t *out)
{
    uint64_t rows = 0, blocks = 0, empty_items_left = FIRN_AVRO_EMPTY_ITEMS_MAX;
    json_t *values = firn_json_own(op->arena, json_array());
    for (struct firn_avro_block block;; blocks++) {
        FIRN_TRY(firn_avro_reader_next(op, reader, buffer, &block));
        if (block.row_count == 0)
            break;
        rows += block.row_count;
        if (options.values)
            FIRN_TRY(add_values(op, reader, &block, &empty_items_left, values));
    }
    firn_json_set_i64(out, "rows", (int64_t)rows);
    firn_json_set_i64(out, "blocks", (int64_t)blocks);
    if (options.values)
        firn_json_set(out, "values", json_incref(values));
    return FIRN_OK;
}

static firn_status inspect(struct firn_op *op, struct firn_bytes file, struct firn_buffer *buffer,
                           struct firn_inspect_options options, json_t *out)
{
    struct firn_avro_reader reader;
    FIRN_TRY(firn_avro_reader_init(op, file, &reader));
    firn_json_set_i64(out, "file_bytes", (int64_t)file.len);
    firn_json_set_text(out, "codec", firn_text_of(firn_avro_codec_name(reader.codec)));
    firn_json_set(out, "metadata", metadata_json(&reader));
    firn_json_set(out, "schema", json_deep_copy(reader.schema_json));
    return read_blocks(op, &reader, buffer, options, out);
}

firn_status firn_inspect_avro(struct firn_op *op, struct firn_store *store, struct firn_text location,
                              struct firn_inspect_options options, json_t **out)
{
    struct firn_buffer file = { 0 }, block = { 0 };
    *out = firn_json_own(op->arena, json_object());
    firn_json_set_text(*out, "format", FIRN_TEXT("avro"));
    firn_json_set_text(*out, "file", location);
    firn_status status = firn_store_read(op, store, location, FILE_BYTES_MAX, &file);
    if (status == FIRN_OK)
        status = inspect(op, firn_buffer_bytes(&file), &block, options, *out);
    firn_buffer_done(&file);
    firn_buffer_done(&block);
    return firn_context(op, status, "file '%.*s'", FIRN_FMT(location));
}
