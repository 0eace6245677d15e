/* Pages and page indexes of Parquet files for firn inspect. parquet-format, "Data Pages", "Page Index". */
#include "base/math.h"
#include "maintain/inspect_parquet.h"
#include "table/parquet_chunk.h"

static const char *page_type_name(enum firn_page_type type)
{
    static const char *const names[] = { "data", "index", "dictionary", "data_v2" };
    return names[type];
}

static json_t *page_json(struct firn_arena *arena, const struct firn_parquet_node *leaf, const struct firn_page *page)
{
    const struct firn_page_header *header = &page->header;
    json_t *out = json_object();
    firn_json_set_text(out, "type", firn_text_of(page_type_name(header->type)));
    firn_json_set_i64(out, "offset", (int64_t)page->offset);
    firn_json_set_i64(out, "header_bytes", (int64_t)page->header_bytes.len);
    firn_json_set_i64(out, "compressed_bytes", header->compressed_bytes);
    firn_json_set_i64(out, "uncompressed_bytes", header->uncompressed_bytes);
    if (header->type != FIRN_PAGE_INDEX) {
        firn_json_set_text(out, "encoding", firn_text_of(firn_encoding_name(header->encoding)));
        firn_json_set_i64(out, "values", header->value_count);
    }
    if (header->type == FIRN_PAGE_DATA_V2) {
        firn_json_set_i64(out, "rows", header->row_count);
        firn_json_set_i64(out, "nulls", header->null_count);
        firn_json_set_bool(out, "compressed", header->is_compressed);
    } else if (header->statistics.has_null_count) {
        firn_json_set_i64(out, "nulls", header->statistics.null_count);
    }
    if (header->has_crc)
        firn_json_set_text(out, "crc", firn_text_format(arena, "%08" PRIx32, header->crc));
    firn_inspect_set_bounds(arena, out, leaf, header->statistics.min_value, header->statistics.max_value);
    return out;
}

static firn_status add_pages(struct firn_op *op, struct firn_page_stream *stream, const struct firn_parquet_node *leaf,
                             const struct firn_column_chunk *chunk, json_t *pages)
{
    int64_t values_seen = 0;
    while (values_seen < chunk->value_count && firn_page_stream_has_more(stream)) { /* what follows is padding */
        struct firn_page page;
        FIRN_TRY(firn_page_stream_next(op, stream, true, &page));
        if (page.header.type == FIRN_PAGE_DATA || page.header.type == FIRN_PAGE_DATA_V2)
            values_seen += page.header.value_count;
        json_array_append_new(pages, page_json(op->arena, leaf, &page));
    }
    return FIRN_OK;
}

firn_status firn_inspect_pages(struct firn_op *op, struct firn_inspected *inspected,
                               const struct firn_parquet_node *leaf, const struct firn_column_chunk *chunk,
                               json_t *column)
{
    const struct firn_chunk_source source = firn_parquet_chunk_source(inspected->object, chunk);
    struct firn_page_stream stream;
    json_t *pages = json_array();
    firn_json_set(column, "pages", pages);
    firn_page_stream_init(&stream, &source);
    firn_status status = add_pages(op, &stream, leaf, chunk, pages);
    firn_page_stream_done(&stream);
    return status;
}

static firn_status add_offset_index(struct firn_op *op, struct firn_bytes bytes, json_t *column)
{
    struct firn_offset_index index;
    json_t *out = json_array();
    firn_json_set(column, "offset_index", out);
    FIRN_TRY(firn_offset_index_parse(op, bytes, &index));
    for (uint32_t i = 0; i < index.page_count; i++) {
        json_t *page = json_object();
        firn_json_set_i64(page, "offset", index.pages[i].offset);
        firn_json_set_i64(page, "compressed_bytes", index.pages[i].compressed_bytes);
        firn_json_set_i64(page, "first_row", index.pages[i].first_row_index);
        json_array_append_new(out, page);
    }
    return FIRN_OK;
}

static firn_status add_column_index(struct firn_op *op, const struct firn_parquet_node *leaf, struct firn_bytes bytes,
                                    json_t *column)
{
    static const char *const orders[] = { "unordered", "ascending", "descending" };
    struct firn_column_index index;
    json_t *out = json_object();
    firn_json_set(column, "column_index", out);
    FIRN_TRY(firn_column_index_parse(op, bytes, &index));
    json_t *pages = json_array();
    firn_json_set_text(out, "order", firn_text_of(orders[index.boundary_order]));
    firn_json_set(out, "pages", pages);
    for (uint32_t i = 0; i < index.page_count; i++) {
        json_t *page = json_object();
        if (index.null_counts)
            firn_json_set_i64(page, "nulls", index.null_counts[i]);
        if (index.null_pages[i])
            firn_json_set_bool(page, "null_page", true);
        else
            firn_inspect_set_bounds(op->arena, page, leaf, index.min_values[i], index.max_values[i]);
        json_array_append_new(pages, page);
    }
    return FIRN_OK;
}

static bool is_range(int64_t offset, int32_t bytes)
{
    return offset > 0 && bytes > 0;
}

firn_status firn_inspect_indexes(struct firn_op *op, struct firn_inspected *inspected,
                                 const struct firn_parquet_node *leaf, const struct firn_column_chunk *chunk,
                                 json_t *column)
{
    if (is_range(chunk->offset_index_offset, chunk->offset_index_bytes)) {
        FIRN_TRY(firn_inspect_read(op, inspected, (uint64_t)chunk->offset_index_offset,
                                   (uint64_t)chunk->offset_index_bytes));
        FIRN_TRY(add_offset_index(op, firn_buffer_bytes(&inspected->bytes), column));
    }
    if (is_range(chunk->column_index_offset, chunk->column_index_bytes)) {
        FIRN_TRY(firn_inspect_read(op, inspected, (uint64_t)chunk->column_index_offset,
                                   (uint64_t)chunk->column_index_bytes));
        FIRN_TRY(add_column_index(op, leaf, firn_buffer_bytes(&inspected->bytes), column));
    }
    return FIRN_OK;
}
