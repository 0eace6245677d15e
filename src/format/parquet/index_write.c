/* Printing page headers and page indexes. parquet.thrift, PageHeader, OffsetIndex, ColumnIndex. */
#include "format/parquet/page.h"
#include "format/parquet/statistics_write.h"

static void put_data_page(struct firn_thrift_writer *out, const struct firn_page_header *header)
{
    firn_thrift_begin_struct(out, 5);
    firn_thrift_put_i32(out, 1, header->value_count);
    firn_thrift_put_i32(out, 2, header->encoding);
    firn_thrift_put_i32(out, 3, header->def_encoding);
    firn_thrift_put_i32(out, 4, header->rep_encoding);
    firn_statistics_put(out, 5, &header->statistics);
    firn_thrift_end_struct(out);
}

static void put_dictionary_page(struct firn_thrift_writer *out, const struct firn_page_header *header)
{
    firn_thrift_begin_struct(out, 7);
    firn_thrift_put_i32(out, 1, header->value_count);
    firn_thrift_put_i32(out, 2, header->encoding);
    if (header->is_sorted)
        firn_thrift_put_bool(out, 3, true);
    firn_thrift_end_struct(out);
}

static void put_data_page_v2(struct firn_thrift_writer *out, const struct firn_page_header *header)
{
    firn_thrift_begin_struct(out, 8);
    firn_thrift_put_i32(out, 1, header->value_count);
    firn_thrift_put_i32(out, 2, header->null_count);
    firn_thrift_put_i32(out, 3, header->row_count);
    firn_thrift_put_i32(out, 4, header->encoding);
    firn_thrift_put_i32(out, 5, header->def_bytes);
    firn_thrift_put_i32(out, 6, header->rep_bytes);
    firn_thrift_put_bool(out, 7, header->is_compressed);
    firn_statistics_put(out, 8, &header->statistics);
    firn_thrift_end_struct(out);
}

firn_status firn_page_header_print(struct firn_op *op, const struct firn_page_header *header, struct firn_buffer *bytes)
{
    struct firn_thrift_writer out = firn_thrift_writer_of(op, bytes);
    firn_thrift_put_i32(&out, 1, header->type);
    firn_thrift_put_i32(&out, 2, header->uncompressed_bytes);
    firn_thrift_put_i32(&out, 3, header->compressed_bytes);
    if (header->has_crc)
        firn_thrift_put_i32(&out, 4, (int32_t)header->crc);
    switch (header->type) {
    case FIRN_PAGE_DATA:
        put_data_page(&out, header);
        break;
    case FIRN_PAGE_INDEX:
        firn_thrift_put_empty(&out, 6);
        break;
    case FIRN_PAGE_DICTIONARY:
        put_dictionary_page(&out, header);
        break;
    case FIRN_PAGE_DATA_V2:
        put_data_page_v2(&out, header);
        break;
    }
    return firn_thrift_finish(&out);
}

firn_status firn_offset_index_print(struct firn_op *op, const struct firn_offset_index *index,
                                    struct firn_buffer *bytes)
{
    struct firn_thrift_writer out = firn_thrift_writer_of(op, bytes);
    firn_thrift_begin_list(&out, 1, FIRN_THRIFT_STRUCTS, index->page_count);
    for (uint32_t i = 0; i < index->page_count; i++) {
        firn_thrift_item_begin_struct(&out);
        firn_thrift_put_i64(&out, 1, index->pages[i].offset);
        firn_thrift_put_i32(&out, 2, index->pages[i].compressed_bytes);
        firn_thrift_put_i64(&out, 3, index->pages[i].first_row_index);
        firn_thrift_end_struct(&out);
    }
    if (index->unencoded_bytes)
        firn_thrift_put_i64s(&out, 2, index->unencoded_bytes, index->page_count);
    return firn_thrift_finish(&out);
}

static void put_binaries(struct firn_thrift_writer *out, int16_t id, const struct firn_bytes *values, uint32_t count)
{
    firn_thrift_begin_list(out, id, FIRN_THRIFT_BINARIES, count);
    for (uint32_t i = 0; i < count; i++)
        firn_thrift_item_binary(out, values[i]);
}

static void put_present(struct firn_thrift_writer *out, int16_t id, const int64_t *values, size_t count)
{
    if (values)
        firn_thrift_put_i64s(out, id, values, count);
}

firn_status firn_column_index_print(struct firn_op *op, const struct firn_column_index *index,
                                    struct firn_buffer *bytes)
{
    struct firn_thrift_writer out = firn_thrift_writer_of(op, bytes);
    firn_thrift_begin_list(&out, 1, FIRN_THRIFT_BOOLS, index->page_count);
    for (uint32_t i = 0; i < index->page_count; i++)
        firn_thrift_item_bool(&out, index->null_pages[i]);
    put_binaries(&out, 2, index->min_values, index->page_count);
    put_binaries(&out, 3, index->max_values, index->page_count);
    firn_thrift_put_i32(&out, 4, index->boundary_order);
    put_present(&out, 5, index->null_counts, index->page_count);
    put_present(&out, 6, index->rep_histograms, (size_t)index->page_count * index->rep_level_count);
    put_present(&out, 7, index->def_histograms, (size_t)index->page_count * index->def_level_count);
    put_present(&out, 8, index->nan_counts, index->page_count);
    return firn_thrift_finish(&out);
}
