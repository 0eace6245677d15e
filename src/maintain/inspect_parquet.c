/* Parquet files for firn inspect: the footer as JSON; pages and values on request. */
#include "maintain/inspect_parquet.h"

#include "base/math.h"
#include "maintain/leaf_text.h"
#include "table/parquet_bloom.h"
#include "table/parquet_footer.h"

firn_status firn_inspect_read(struct firn_op *op, struct firn_inspected *inspected, uint64_t offset, uint64_t len)
{
    uint64_t file_bytes = firn_object_size(inspected->object);
    if (offset > file_bytes || len > file_bytes - offset)
        return firn_fail(op, FIRN_CORRUPT, "%" PRIu64 " bytes from %" PRIu64 " on, the file has %" PRIu64, len, offset,
                         file_bytes);
    return firn_object_read_range(op, inspected->object, offset, len, &inspected->bytes);
}

void firn_inspect_set_bounds(struct firn_arena *arena, json_t *out, const struct firn_parquet_node *leaf,
                             struct firn_bytes min, struct firn_bytes max)
{
    if (min.data)
        firn_json_set_text(out, "min", firn_leaf_text(arena, leaf, min));
    if (max.data)
        firn_json_set_text(out, "max", firn_leaf_text(arena, leaf, max));
}

static const char *repetition_name(enum firn_repetition repetition)
{
    static const char *const names[] = { "required", "optional", "repeated" };
    return names[repetition];
}

/* The nodes below the root, parents first. */
static void add_schema(struct firn_arena *arena, const struct firn_parquet_node *node, json_t *out)
{
    for (uint32_t i = 0; i < node->child_count; i++) {
        const struct firn_parquet_node *child = &node->children[i];
        json_t *object = json_object();
        firn_json_set_text(object, "path", child->path);
        firn_json_set_text(object, "repetition", firn_text_of(repetition_name(child->repetition)));
        if (child->is_leaf)
            firn_json_set_text(object, "type", firn_text_of(firn_parquet_type_name(child->type)));
        if (child->is_leaf && child->type == FIRN_PARQUET_FIXED)
            firn_json_set_i64(object, "type_length", child->type_length);
        if (child->logical.kind != FIRN_LOGICAL_NONE)
            firn_json_set_text(object, "logical", firn_logical_text(arena, &child->logical));
        if (child->has_field_id)
            firn_json_set_i64(object, "field_id", child->field_id);
        json_array_append_new(out, object);
        add_schema(arena, child, out);
    }
}

static json_t *key_values_json(const struct firn_footer *footer)
{
    json_t *out = json_object();
    for (uint32_t i = 0; i < footer->key_value_count; i++) {
        const struct firn_key_value *pair = &footer->key_values[i];
        firn_json_set_at(out, pair->key, firn_json_string(pair->value));
    }
    return out;
}

static json_t *encodings_json(const struct firn_column_chunk *chunk)
{
    json_t *out = json_array();
    for (uint32_t i = 0; i < chunk->encoding_count; i++)
        json_array_append_new(out, firn_json_string(firn_text_of(firn_encoding_name(chunk->encodings[i]))));
    return out;
}

/* The deprecated bounds are shown where there are no others. */
static void set_statistics(struct firn_arena *arena, json_t *out, const struct firn_parquet_node *leaf,
                           const struct firn_parquet_statistics *statistics)
{
    bool is_legacy = !statistics->min_value.data && !statistics->max_value.data;
    if (statistics->has_null_count)
        firn_json_set_i64(out, "nulls", statistics->null_count);
    if (statistics->has_distinct_count)
        firn_json_set_i64(out, "distinct", statistics->distinct_count);
    firn_inspect_set_bounds(arena, out, leaf, is_legacy ? statistics->min_legacy : statistics->min_value,
                            is_legacy ? statistics->max_legacy : statistics->max_value);
}

static json_t *column_json(struct firn_arena *arena, const struct firn_parquet_node *leaf,
                           const struct firn_column_chunk *chunk)
{
    json_t *out = json_object();
    firn_json_set_text(out, "path", leaf->path);
    if (leaf->has_field_id)
        firn_json_set_i64(out, "field_id", leaf->field_id);
    firn_json_set_text(out, "type", firn_text_of(firn_parquet_type_name(leaf->type)));
    if (chunk->is_encrypted)
        firn_json_set_bool(out, "encrypted", true);
    firn_json_set_text(out, "codec", firn_text_of(firn_codec_name(chunk->codec)));
    firn_json_set(out, "encodings", encodings_json(chunk));
    firn_json_set_i64(out, "values", chunk->value_count);
    set_statistics(arena, out, leaf, &chunk->statistics);
    firn_json_set_i64(out, "compressed_bytes", chunk->compressed_bytes);
    firn_json_set_i64(out, "uncompressed_bytes", chunk->uncompressed_bytes);
    firn_json_set_i64(out, "data_page_offset", chunk->data_page_offset);
    if (chunk->dictionary_page_offset > 0)
        firn_json_set_i64(out, "dictionary_page_offset", chunk->dictionary_page_offset);
    if (chunk->bloom_filter_offset > 0)
        firn_json_set_i64(out, "bloom_filter_offset", chunk->bloom_filter_offset);
    if (chunk->bloom_filter_bytes > 0)
        firn_json_set_i64(out, "bloom_filter_bytes", chunk->bloom_filter_bytes);
    return out;
}

/* What the filter itself says of its size: not all writers record it in the footer. */
static firn_status add_bloom_filter(struct firn_op *op, const struct firn_inspected *inspected,
                                    const struct firn_column_chunk *chunk, json_t *column)
{
    struct firn_buffer bytes = { 0 };
    struct firn_bloom_filter filter;
    if (chunk->bloom_filter_offset <= 0)
        return FIRN_OK;
    firn_status status = firn_parquet_bloom_read(op, inspected->object, chunk, &bytes, &filter);
    if (status == FIRN_OK) {
        json_t *json = json_object();
        firn_json_set_i64(json, "blocks", filter.block_count);
        firn_json_set_i64(json, "bytes", (int64_t)filter.block_count * FIRN_BLOOM_BLOCK_BYTES);
        firn_json_set(column, "bloom_filter", json);
    }
    firn_buffer_done(&bytes);
    return status;
}

static firn_status add_column(struct firn_op *op, struct firn_inspected *inspected,
                              const struct firn_parquet_node *leaf, const struct firn_column_chunk *chunk, bool pages,
                              json_t *columns)
{
    json_t *column = column_json(op->arena, leaf, chunk);
    json_array_append_new(columns, column);
    if (!pages || chunk->is_encrypted)
        return FIRN_OK;
    firn_status status = firn_inspect_pages(op, inspected, leaf, chunk, column);
    if (status == FIRN_OK)
        status = firn_inspect_indexes(op, inspected, leaf, chunk, column);
    if (status == FIRN_OK)
        status = add_bloom_filter(op, inspected, chunk, column);
    return firn_context(op, status, "column '%.*s'", FIRN_FMT(leaf->path));
}

static firn_status add_row_groups(struct firn_op *op, struct firn_inspected *inspected, bool pages, json_t *out)
{
    const struct firn_footer *footer = inspected->footer;
    for (uint32_t i = 0; i < footer->row_group_count; i++) {
        const struct firn_row_group *group = &footer->row_groups[i];
        json_t *object = json_object();
        json_t *columns = json_array();
        firn_json_set_i64(object, "rows", group->row_count);
        firn_json_set_i64(object, "bytes", group->total_bytes);
        firn_json_set(object, "columns", columns);
        json_array_append_new(out, object);
        for (uint32_t k = 0; k < group->chunk_count; k++) {
            firn_status status = add_column(op, inspected, footer->leaves[k], &group->chunks[k], pages, columns);
            if (status != FIRN_OK)
                return firn_context(op, status, "row group %" PRIu32, i);
        }
    }
    return FIRN_OK;
}

static firn_status inspect(struct firn_op *op, struct firn_inspected *inspected, struct firn_inspect_options options,
                           json_t **out)
{
    struct firn_footer *footer;
    FIRN_TRY(firn_parquet_footer_read(op, inspected->object, &inspected->bytes, &footer));
    inspected->footer = footer;
    json_t *file = firn_json_own(op->arena, json_object());
    json_t *schema = json_array();
    json_t *row_groups = json_array();
    firn_json_set_text(file, "format", FIRN_TEXT("parquet"));
    firn_json_set_text(file, "file", firn_object_location(inspected->object));
    firn_json_set_i64(file, "file_bytes", (int64_t)firn_object_size(inspected->object));
    firn_json_set_text(file, "created_by", footer->created_by);
    firn_json_set_i64(file, "version", footer->version);
    firn_json_set_i64(file, "footer_bytes", footer->footer_bytes);
    firn_json_set_i64(file, "rows", footer->row_count);
    firn_json_set(file, "schema", schema);
    add_schema(op->arena, &footer->root, schema);
    firn_json_set(file, "key_values", key_values_json(footer));
    firn_json_set(file, "row_groups", row_groups);
    FIRN_TRY(add_row_groups(op, inspected, options.pages, row_groups));
    *out = file;
    return options.values ? firn_inspect_values(op, inspected, file) : FIRN_OK;
}

firn_status firn_inspect_parquet(struct firn_op *op, struct firn_store *store, struct firn_text location,
                                 struct firn_inspect_options options, json_t **out)
{
    struct firn_inspected inspected = { 0 };
    FIRN_TRY(firn_object_open(op, store, location, &inspected.object));
    firn_status status = firn_codec_context_open(op, &inspected.codec_context);
    if (status == FIRN_OK)
        status = inspect(op, &inspected, options, out);
    firn_codec_context_close(inspected.codec_context);
    firn_buffer_done(&inspected.bytes);
    firn_object_close(inspected.object);
    return firn_context(op, status, "file '%.*s'", FIRN_FMT(location));
}
