/* Page indexes against the chunk they describe. parquet-format, "Page Index".
 *
 * Readers skip pages by them, so an index that is wrong loses rows as surely as a wrong bound. */
#include "base/math.h"
#include "maintain/file_check_parts.h"

static bool is_index_wanted(int64_t offset, int32_t bytes)
{
    return offset > 0 && bytes > 0;
}

static firn_status read_indexes(struct firn_op *op, struct firn_checked_parquet *parquet,
                                const struct firn_column_chunk *chunk, struct firn_checked_index *out)
{
    if (is_index_wanted(chunk->offset_index_offset, chunk->offset_index_bytes)) {
        FIRN_TRY(
            firn_check_read(op, parquet, (uint64_t)chunk->offset_index_offset, (uint64_t)chunk->offset_index_bytes));
        FIRN_TRY(firn_offset_index_parse(op, firn_buffer_bytes(&parquet->bytes), &out->offsets));
    }
    if (is_index_wanted(chunk->column_index_offset, chunk->column_index_bytes)) {
        FIRN_TRY(
            firn_check_read(op, parquet, (uint64_t)chunk->column_index_offset, (uint64_t)chunk->column_index_bytes));
        FIRN_TRY(firn_column_index_parse(op, firn_buffer_bytes(&parquet->bytes), &out->columns));
    }
    return FIRN_OK;
}

static void report(struct firn_checked_parquet *parquet, uint32_t leaf, const char *what)
{
    FIRN_CHECK_ERROR(parquet->checked, "page-index", "the page index of column '%.*s' %s",
                     FIRN_FMT(parquet->footer->leaves[leaf]->path), what);
}

/* Pages in order, within the chunk's bytes and rows; NULL: all is well. */
static const char *fault_of_offsets(const struct firn_offset_index *index, const struct firn_column_chunk *chunk,
                                    int64_t row_count)
{
    uint64_t begin, len;
    firn_column_chunk_range(chunk, &begin, &len);
    int64_t at = (int64_t)begin, end = (int64_t)(begin + len), row = 0;
    for (uint32_t i = 0; i < index->page_count; i++) {
        const struct firn_page_location *page = &index->pages[i];
        if (page->offset < at || page->compressed_bytes < 0 || page->offset > end ||
            page->compressed_bytes > end - page->offset)
            return "has pages outside of the column chunk, or that overlap";
        if (page->first_row_index < row || page->first_row_index > row_count || (i == 0 && page->first_row_index != 0))
            return "has rows out of order, or beyond the row group";
        at = page->offset + page->compressed_bytes;
        row = page->first_row_index;
    }
    return NULL;
}

firn_status firn_check_index(struct firn_op *op, struct firn_checked_parquet *parquet,
                             const struct firn_row_group *row_group, uint32_t leaf, struct firn_checked_index *out)
{
    const struct firn_column_chunk *chunk = &row_group->chunks[leaf];
    *out = (struct firn_checked_index){ 0 };
    if (chunk->is_encrypted)
        return FIRN_OK;
    firn_status status = read_indexes(op, parquet, chunk, out);
    const char *fault = status == FIRN_OK ? fault_of_offsets(&out->offsets, chunk, row_group->row_count) : NULL;
    if (status == FIRN_OK && !fault && out->offsets.page_count > 0 && out->columns.page_count > 0 &&
        out->offsets.page_count != out->columns.page_count)
        fault = "has two parts of different numbers of pages";
    if (fault)
        report(parquet, leaf, fault);
    if (fault || status != FIRN_OK)
        *out = (struct firn_checked_index){ 0 };
    return firn_check_failed(op, parquet->checked, status, "page-index");
}

/* Comparing with pages --------------------------------------------------------------------------------------------- */

static bool is_well_formed(const struct firn_parquet_node *node, enum firn_order order, struct firn_bytes bound)
{
    if (order == FIRN_ORDER_BYTES)
        return true;
    if (order == FIRN_ORDER_DECIMAL)
        return bound.len > 0;
    return bound.len == firn_value_width(node->type, node->type_length);
}

static bool is_nan(enum firn_order order, struct firn_bytes bound)
{
    if (order == FIRN_ORDER_FLOAT)
        return (firn_load_le32(bound.data) & 0x7fffffff) > 0x7f800000;
    if (order == FIRN_ORDER_DOUBLE)
        return (firn_load_le64(bound.data) & INT64_MAX) > UINT64_C(0x7ff0000000000000);
    return order == FIRN_ORDER_FLOAT16 && ((unsigned)bound.data[1] << 8 & 0x7c00) == 0x7c00 &&
           ((bound.data[1] & 3) || bound.data[0]);
}

static bool is_zero(enum firn_order order, struct firn_bytes bound)
{
    if (!firn_order_has_nan(order) || (bound.data[bound.len - 1] & 0x7f))
        return false;
    for (size_t i = 0; i + 1 < bound.len; i++)
        if (bound.data[i])
            return false;
    return true;
}

/* Zeros of both signs count as one, as readers are told to take them. */
static bool is_above(enum firn_order order, struct firn_bytes a, struct firn_bytes b)
{
    return !(is_zero(order, a) && is_zero(order, b)) && firn_order_compare(order, a, b) > 0;
}

bool firn_check_bounds_exclude(const struct firn_parquet_node *node, struct firn_bytes min, struct firn_bytes max,
                               const struct firn_bounds *real)
{
    enum firn_order order = firn_order_of(node);
    if (!real->found || order == FIRN_ORDER_NONE)
        return false;
    if (!is_well_formed(node, order, min) || !is_well_formed(node, order, max))
        return true;
    if (is_nan(order, min) || is_nan(order, max)) /* readers are told to ignore such bounds */
        return false;
    return is_above(order, min, firn_buffer_bytes(&real->min)) || is_above(order, firn_buffer_bytes(&real->max), max);
}

/* What of the column index contradicts the page; NULL: nothing. */
static const char *fault_of_page(const struct firn_parquet_node *node, const struct firn_column_index *index,
                                 const struct firn_checked_page *page)
{
    uint32_t i = page->page;
    if (index->null_pages[i])
        return page->value_count > 0 ? "takes a page with values for one of nulls" : NULL;
    if (index->null_counts && index->null_counts[i] != page->slot_count - page->value_count)
        return "counts the nulls of a page wrong";
    return firn_check_bounds_exclude(node, index->min_values[i], index->max_values[i], page->real)
               ? "has bounds that leave out values of a page"
               : NULL;
}

bool firn_check_index_page(struct firn_checked_parquet *parquet, uint32_t leaf, const struct firn_checked_index *index,
                           const struct firn_checked_page *page)
{
    const char *fault = NULL;
    uint32_t offset_count = index->offsets.page_count, column_count = index->columns.page_count;
    if ((offset_count > 0 && page->page >= offset_count) || (column_count > 0 && page->page >= column_count))
        fault = "has fewer pages than the column";
    else if (offset_count > 0 && index->offsets.pages[page->page].first_row_index != page->first_row)
        fault = "gives a page another first row than it has";
    else if (column_count > 0)
        fault = fault_of_page(parquet->footer->leaves[leaf], &index->columns, page);
    if (fault)
        report(parquet, leaf, fault);
    return !fault;
}
