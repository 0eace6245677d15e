/* Printing the footer: schema, row groups, key-value metadata, column orders. parquet.thrift, FileMetaData. */
#include "format/parquet/statistics_write.h"

#include "base/math.h"

/* Values of parquet.thrift's ConvertedType. */
enum converted {
    CONVERTED_NONE = -1,
    CONVERTED_UTF8 = 0,
    CONVERTED_MAP = 1,
    CONVERTED_MAP_KEY_VALUE = 2,
    CONVERTED_LIST = 3,
    CONVERTED_ENUM = 4,
    CONVERTED_DECIMAL = 5,
    CONVERTED_DATE = 6,
    CONVERTED_TIME_MILLIS = 7,
    CONVERTED_TIME_MICROS = 8,
    CONVERTED_TIMESTAMP_MILLIS = 9,
    CONVERTED_TIMESTAMP_MICROS = 10,
    CONVERTED_UINT_8 = 11, /* UINT_16, UINT_32 and UINT_64 follow */
    CONVERTED_INT_8 = 15,  /* INT_16, INT_32 and INT_64 follow */
    CONVERTED_JSON = 19,
    CONVERTED_BSON = 20,
    CONVERTED_INTERVAL = 21
};

/* Field ids of the union LogicalType (0: not in it) and the converted type where it does not depend on parameters. */
static const struct annotation {
    int16_t logical_id;
    int8_t converted;
} annotations[] = {
    [FIRN_LOGICAL_NONE] = { 0, CONVERTED_NONE },       [FIRN_LOGICAL_STRING] = { 1, CONVERTED_UTF8 },
    [FIRN_LOGICAL_MAP] = { 2, CONVERTED_MAP },         [FIRN_LOGICAL_MAP_KEY_VALUE] = { 0, CONVERTED_MAP_KEY_VALUE },
    [FIRN_LOGICAL_LIST] = { 3, CONVERTED_LIST },       [FIRN_LOGICAL_ENUM] = { 4, CONVERTED_ENUM },
    [FIRN_LOGICAL_DECIMAL] = { 5, CONVERTED_DECIMAL }, [FIRN_LOGICAL_DATE] = { 6, CONVERTED_DATE },
    [FIRN_LOGICAL_TIME] = { 7, CONVERTED_NONE },       [FIRN_LOGICAL_TIMESTAMP] = { 8, CONVERTED_NONE },
    [FIRN_LOGICAL_INTEGER] = { 10, CONVERTED_NONE },   [FIRN_LOGICAL_UNKNOWN] = { 11, CONVERTED_NONE },
    [FIRN_LOGICAL_JSON] = { 12, CONVERTED_JSON },      [FIRN_LOGICAL_BSON] = { 13, CONVERTED_BSON },
    [FIRN_LOGICAL_UUID] = { 14, CONVERTED_NONE },      [FIRN_LOGICAL_FLOAT16] = { 15, CONVERTED_NONE },
    [FIRN_LOGICAL_VARIANT] = { 16, CONVERTED_NONE },   [FIRN_LOGICAL_GEOMETRY] = { 17, CONVERTED_NONE },
    [FIRN_LOGICAL_GEOGRAPHY] = { 18, CONVERTED_NONE }, [FIRN_LOGICAL_INTERVAL] = { 0, CONVERTED_INTERVAL },
};
_Static_assert(sizeof annotations / sizeof *annotations == FIRN_LOGICAL_COUNT, "one row per logical type");

/* Values of parquet.thrift's CompressionCodec. DEFLATE is Avro's and never reaches a footer. */
static const int8_t codec_numbers[] = {
    [FIRN_CODEC_NONE] = 0,       [FIRN_CODEC_SNAPPY] = 1, [FIRN_CODEC_GZIP] = 2,    [FIRN_CODEC_BROTLI] = 4,
    [FIRN_CODEC_LZ4_HADOOP] = 5, [FIRN_CODEC_ZSTD] = 6,   [FIRN_CODEC_LZ4_RAW] = 7, [FIRN_CODEC_DEFLATE] = -1,
};
_Static_assert(sizeof codec_numbers / sizeof *codec_numbers == FIRN_CODEC_COUNT, "one number per codec");

static enum converted converted_of(const struct firn_logical_type *logical)
{
    bool has_legacy_unit = logical->unit != FIRN_UNIT_NANOS;
    switch (logical->kind) {
    case FIRN_LOGICAL_TIME:
        return has_legacy_unit ? CONVERTED_TIME_MILLIS + (int)logical->unit : CONVERTED_NONE;
    case FIRN_LOGICAL_TIMESTAMP:
        return has_legacy_unit ? CONVERTED_TIMESTAMP_MILLIS + (int)logical->unit : CONVERTED_NONE;
    case FIRN_LOGICAL_INTEGER:
        return (logical->is_signed ? CONVERTED_INT_8 : CONVERTED_UINT_8) + __builtin_ctz((unsigned)logical->bit_width) -
               3;
    default:
        return annotations[logical->kind].converted;
    }
}

/* TimeType and TimestampType. */
static void put_time_fields(struct firn_thrift_writer *out, const struct firn_logical_type *logical)
{
    firn_thrift_put_bool(out, 1, logical->adjusted_to_utc);
    firn_thrift_begin_struct(out, 2);
    firn_thrift_put_empty(out, (int16_t)(1 + logical->unit));
    firn_thrift_end_struct(out);
}

static void put_crs(struct firn_thrift_writer *out, struct firn_text crs)
{
    if (crs.len)
        firn_thrift_put_binary(out, 1, firn_bytes_of_text(crs));
}

static void put_logical_fields(struct firn_thrift_writer *out, const struct firn_logical_type *logical)
{
    switch (logical->kind) {
    case FIRN_LOGICAL_DECIMAL:
        firn_thrift_put_i32(out, 1, logical->scale);
        firn_thrift_put_i32(out, 2, logical->precision);
        return;
    case FIRN_LOGICAL_TIME:
    case FIRN_LOGICAL_TIMESTAMP:
        put_time_fields(out, logical);
        return;
    case FIRN_LOGICAL_INTEGER:
        firn_thrift_put_i8(out, 1, logical->bit_width);
        firn_thrift_put_bool(out, 2, logical->is_signed);
        return;
    case FIRN_LOGICAL_VARIANT:
        if (logical->variant_version)
            firn_thrift_put_i8(out, 1, logical->variant_version);
        return;
    case FIRN_LOGICAL_GEOMETRY:
        put_crs(out, logical->crs);
        return;
    case FIRN_LOGICAL_GEOGRAPHY:
        put_crs(out, logical->crs);
        if (logical->edge_algorithm >= 0)
            firn_thrift_put_i32(out, 2, logical->edge_algorithm);
        return;
    default:
        return; /* the others have no parameters */
    }
}

/* Fields 6 to 10 of SchemaElement. */
static void put_annotation(struct firn_thrift_writer *out, const struct firn_parquet_node *node)
{
    const struct firn_logical_type *logical = &node->logical;
    enum converted converted = converted_of(logical);
    if (converted != CONVERTED_NONE)
        firn_thrift_put_i32(out, 6, converted);
    if (logical->kind == FIRN_LOGICAL_DECIMAL) {
        firn_thrift_put_i32(out, 7, logical->scale);
        firn_thrift_put_i32(out, 8, logical->precision);
    }
    if (node->has_field_id)
        firn_thrift_put_i32(out, 9, node->field_id);
    if (annotations[logical->kind].logical_id == 0)
        return;
    firn_thrift_begin_struct(out, 10);
    firn_thrift_begin_struct(out, annotations[logical->kind].logical_id);
    put_logical_fields(out, logical);
    firn_thrift_end_struct(out);
    firn_thrift_end_struct(out);
}

static size_t count_nodes(const struct firn_parquet_node *node)
{
    size_t count = 1;
    for (uint32_t i = 0; i < node->child_count; i++)
        count += count_nodes(&node->children[i]);
    return count;
}

/* One SchemaElement, then its children, depth first. The schema's depth was limited when it was finished. */
static void put_node(struct firn_thrift_writer *out, const struct firn_parquet_node *node)
{
    firn_thrift_item_begin_struct(out);
    if (node->is_leaf)
        firn_thrift_put_i32(out, 1, node->type);
    if (node->is_leaf && node->type == FIRN_PARQUET_FIXED)
        firn_thrift_put_i32(out, 2, (int32_t)node->type_length);
    if (node->parent)
        firn_thrift_put_i32(out, 3, node->repetition);
    firn_thrift_put_binary(out, 4, firn_bytes_of_text(node->name));
    if (!node->is_leaf)
        firn_thrift_put_i32(out, 5, (int32_t)node->child_count);
    put_annotation(out, node);
    firn_thrift_end_struct(out);
    for (uint32_t i = 0; i < node->child_count; i++)
        put_node(out, &node->children[i]);
}

/* The names from below the root, outermost first. */
static void put_names(struct firn_thrift_writer *out, const struct firn_parquet_node *node)
{
    if (!node->parent)
        return;
    put_names(out, node->parent);
    firn_thrift_item_binary(out, firn_bytes_of_text(node->name));
}

/* Names may contain dots, so the path comes from the tree and not from the joined text. */
static void put_path(struct firn_thrift_writer *out, int16_t id, const struct firn_parquet_node *leaf)
{
    size_t depth = 0;
    for (const struct firn_parquet_node *node = leaf; node->parent; node = node->parent)
        depth++;
    firn_thrift_begin_list(out, id, FIRN_THRIFT_BINARIES, depth);
    put_names(out, leaf);
}

static void put_encodings(struct firn_thrift_writer *out, int16_t id, const struct firn_column_chunk *chunk)
{
    firn_thrift_begin_list(out, id, FIRN_THRIFT_I32S, chunk->encoding_count);
    for (uint32_t i = 0; i < chunk->encoding_count; i++)
        firn_thrift_item_int(out, chunk->encodings[i]);
}

static void put_encoding_stats(struct firn_thrift_writer *out, int16_t id, const struct firn_column_chunk *chunk)
{
    if (chunk->encoding_stats_count == 0)
        return;
    firn_thrift_begin_list(out, id, FIRN_THRIFT_STRUCTS, chunk->encoding_stats_count);
    for (uint32_t i = 0; i < chunk->encoding_stats_count; i++) {
        firn_thrift_item_begin_struct(out);
        firn_thrift_put_i32(out, 1, chunk->encoding_stats[i].page_type);
        firn_thrift_put_i32(out, 2, chunk->encoding_stats[i].encoding);
        firn_thrift_put_i32(out, 3, chunk->encoding_stats[i].count);
        firn_thrift_end_struct(out);
    }
}

static void put_offset(struct firn_thrift_writer *out, int16_t id, int64_t offset)
{
    if (offset > 0)
        firn_thrift_put_i64(out, id, offset);
}

/* ColumnMetaData, field 3 of ColumnChunk. */
static void put_column_metadata(struct firn_thrift_writer *out, const struct firn_column_chunk *chunk,
                                const struct firn_parquet_node *leaf)
{
    firn_thrift_begin_struct(out, 3);
    firn_thrift_put_i32(out, 1, chunk->type);
    put_encodings(out, 2, chunk);
    put_path(out, 3, leaf);
    firn_thrift_put_i32(out, 4, codec_numbers[chunk->codec]);
    firn_thrift_put_i64(out, 5, chunk->value_count);
    firn_thrift_put_i64(out, 6, chunk->uncompressed_bytes);
    firn_thrift_put_i64(out, 7, chunk->compressed_bytes);
    firn_thrift_put_i64(out, 9, chunk->data_page_offset);
    put_offset(out, 10, chunk->index_page_offset);
    put_offset(out, 11, chunk->dictionary_page_offset);
    firn_statistics_put(out, 12, &chunk->statistics);
    put_encoding_stats(out, 13, chunk);
    put_offset(out, 14, chunk->bloom_filter_offset);
    if (chunk->bloom_filter_bytes > 0)
        firn_thrift_put_i32(out, 15, chunk->bloom_filter_bytes);
    firn_size_statistics_put(out, 16, &chunk->sizes);
    firn_thrift_end_struct(out);
}

static void put_chunk(struct firn_thrift_writer *out, const struct firn_column_chunk *chunk,
                      const struct firn_parquet_node *leaf)
{
    firn_thrift_item_begin_struct(out);
    firn_thrift_put_i64(out, 2, 0); /* file_offset: no metadata lies outside the footer */
    put_column_metadata(out, chunk, leaf);
    if (chunk->offset_index_bytes > 0) {
        firn_thrift_put_i64(out, 4, chunk->offset_index_offset);
        firn_thrift_put_i32(out, 5, chunk->offset_index_bytes);
    }
    if (chunk->column_index_bytes > 0) {
        firn_thrift_put_i64(out, 6, chunk->column_index_offset);
        firn_thrift_put_i32(out, 7, chunk->column_index_bytes);
    }
    firn_thrift_end_struct(out);
}

static void put_row_group(struct firn_thrift_writer *out, const struct firn_footer *footer, uint32_t index)
{
    const struct firn_row_group *group = &footer->row_groups[index];
    firn_thrift_item_begin_struct(out);
    firn_thrift_begin_list(out, 1, FIRN_THRIFT_STRUCTS, group->chunk_count);
    for (uint32_t i = 0; i < group->chunk_count; i++)
        put_chunk(out, &group->chunks[i], footer->leaves[i]);
    firn_thrift_put_i64(out, 2, group->total_bytes);
    firn_thrift_put_i64(out, 3, group->row_count);
    put_offset(out, 5, group->file_offset);
    firn_thrift_put_i64(out, 6, group->compressed_bytes);
    if (index <= INT16_MAX)
        firn_thrift_put_i16(out, 7, (int16_t)index);
    firn_thrift_end_struct(out);
}

static void put_key_values(struct firn_thrift_writer *out, const struct firn_footer *footer)
{
    if (footer->key_value_count == 0)
        return;
    firn_thrift_begin_list(out, 5, FIRN_THRIFT_STRUCTS, footer->key_value_count);
    for (uint32_t i = 0; i < footer->key_value_count; i++) {
        firn_thrift_item_begin_struct(out);
        firn_thrift_put_binary(out, 1, firn_bytes_of_text(footer->key_values[i].key));
        if (footer->key_values[i].value.data)
            firn_thrift_put_binary(out, 2, firn_bytes_of_text(footer->key_values[i].value));
        firn_thrift_end_struct(out);
    }
}

/* TypeDefinedOrder for every leaf: without it min_value and max_value mean nothing. */
static void put_column_orders(struct firn_thrift_writer *out, const struct firn_footer *footer)
{
    if (!footer->has_column_orders)
        return;
    firn_thrift_begin_list(out, 7, FIRN_THRIFT_STRUCTS, footer->leaf_count);
    for (uint32_t i = 0; i < footer->leaf_count; i++) {
        firn_thrift_item_begin_struct(out);
        firn_thrift_put_empty(out, 1);
        firn_thrift_end_struct(out);
    }
}

static firn_status print_footer(struct firn_op *op, const struct firn_footer *footer, struct firn_buffer *bytes)
{
    struct firn_thrift_writer out = firn_thrift_writer_of(op, bytes);
    firn_thrift_put_i32(&out, 1, footer->version);
    firn_thrift_begin_list(&out, 2, FIRN_THRIFT_STRUCTS, count_nodes(&footer->root));
    put_node(&out, &footer->root);
    firn_thrift_put_i64(&out, 3, footer->row_count);
    firn_thrift_begin_list(&out, 4, FIRN_THRIFT_STRUCTS, footer->row_group_count);
    for (uint32_t i = 0; i < footer->row_group_count; i++)
        put_row_group(&out, footer, i);
    put_key_values(&out, footer);
    if (footer->created_by.len)
        firn_thrift_put_binary(&out, 6, firn_bytes_of_text(footer->created_by));
    put_column_orders(&out, footer);
    return firn_thrift_finish(&out);
}

static firn_status append_tail(struct firn_op *op, struct firn_buffer *bytes)
{
    uint8_t tail[FIRN_PARQUET_TAIL_BYTES] = { 0, 0, 0, 0, 'P', 'A', 'R', '1' };
    if (bytes->len > INT32_MAX)
        return firn_fail(op, FIRN_LIMIT, "a footer of %zu bytes is more than the %d that Parquet allows", bytes->len,
                         INT32_MAX);
    firn_store_le32(tail, (uint32_t)bytes->len);
    return firn_buffer_append(op, bytes, tail, sizeof tail);
}

firn_status firn_footer_write(struct firn_op *op, const struct firn_footer *footer, struct firn_sink *sink)
{
    struct firn_buffer bytes = { 0 };
    firn_status status = print_footer(op, footer, &bytes);
    if (status == FIRN_OK)
        status = append_tail(op, &bytes);
    if (status == FIRN_OK)
        status = firn_sink_write(op, sink, firn_buffer_bytes(&bytes));
    firn_buffer_done(&bytes);
    return status;
}
