/* Offset and column indexes. parquet-format, "Page Index"; parquet.thrift, OffsetIndex, ColumnIndex. */
#include "base/math.h"
#include "format/parquet/parse_internal.h"

static void parse_location(struct firn_parse *parse, struct firn_page_location *out)
{
    static const uint64_t required = FIRN_FIELD(1) | FIRN_FIELD(2) | FIRN_FIELD(3);
    struct firn_cursor *in = &parse->in;
    struct firn_thrift_field field = { 0 };
    uint64_t met = 0;
    while (firn_thrift_next(in, &field)) {
        met |= firn_field_bit(&field);
        if (field.id == 1)
            out->offset = firn_thrift_i64(in, &field);
        else if (field.id == 2)
            out->compressed_bytes = firn_thrift_i32(in, &field);
        else if (field.id == 3)
            out->first_row_index = firn_thrift_i64(in, &field);
        else
            firn_thrift_skip(in, &field);
    }
    firn_parse_require(parse, met, required, "lacks a required field of a page's location");
}

static void parse_locations(struct firn_parse *parse, const struct firn_thrift_field *field,
                            struct firn_offset_index *out)
{
    out->page_count = firn_thrift_list(&parse->in, field, FIRN_THRIFT_STRUCT, 4);
    out->pages = FIRN_NEW_ARRAY(parse->arena, struct firn_page_location, out->page_count);
    for (uint32_t i = 0; i < out->page_count && !parse->in.failure; i++)
        parse_location(parse, &out->pages[i]);
}

firn_status firn_offset_index_parse(struct firn_op *op, struct firn_bytes bytes, struct firn_offset_index *out)
{
    struct firn_parse parse = { .in = firn_cursor_of(firn_bytes_copy(op->arena, bytes)), .arena = op->arena };
    struct firn_thrift_field field = { 0 };
    uint32_t unencoded_count = 0;
    *out = (struct firn_offset_index){ 0 };
    while (firn_thrift_next(&parse.in, &field)) {
        if (field.id == 1)
            parse_locations(&parse, &field, out);
        else if (field.id == 2)
            out->unencoded_bytes = firn_parse_i64_list(&parse, &field, &unencoded_count);
        else
            firn_thrift_skip(&parse.in, &field);
    }
    if (out->unencoded_bytes && unencoded_count != out->page_count)
        firn_cursor_fail(&parse.in, "has lists of different lengths");
    return firn_parse_finish(op, &parse, "offset index");
}

static bool *parse_bools(struct firn_parse *parse, const struct firn_thrift_field *field, uint32_t *count)
{
    *count = firn_thrift_list(&parse->in, field, FIRN_THRIFT_TRUE, 1);
    bool *items = FIRN_NEW_ARRAY(parse->arena, bool, *count);
    for (uint32_t i = 0; i < *count; i++)
        items[i] = firn_thrift_element_bool(&parse->in);
    return items;
}

static struct firn_bytes *parse_binaries(struct firn_parse *parse, const struct firn_thrift_field *field,
                                         uint32_t *count)
{
    *count = firn_thrift_list(&parse->in, field, FIRN_THRIFT_BINARY, 1);
    struct firn_bytes *items = FIRN_NEW_ARRAY(parse->arena, struct firn_bytes, *count);
    for (uint32_t i = 0; i < *count; i++)
        items[i] = firn_thrift_element_binary(&parse->in);
    return items;
}

static enum firn_boundary_order parse_order(struct firn_parse *parse, const struct firn_thrift_field *field)
{
    int32_t value = firn_thrift_i32(&parse->in, field);
    if (value < FIRN_UNORDERED || value > FIRN_DESCENDING)
        firn_parse_unknown(parse, "boundary order", value, FIRN_DESCENDING + 1);
    return parse->in.failure ? FIRN_UNORDERED : (enum firn_boundary_order)value;
}

/* How many entries each list has; all of them describe the same pages. */
struct counts {
    uint32_t null_pages, min_values, max_values, null_counts, nan_counts, rep_histograms, def_histograms;
};

static void parse_column_index_field(struct firn_parse *parse, const struct firn_thrift_field *field,
                                     struct firn_column_index *out, struct counts *counts)
{
    switch (field->id) {
    case 1:
        out->null_pages = parse_bools(parse, field, &counts->null_pages);
        break;
    case 2:
        out->min_values = parse_binaries(parse, field, &counts->min_values);
        break;
    case 3:
        out->max_values = parse_binaries(parse, field, &counts->max_values);
        break;
    case 4:
        out->boundary_order = parse_order(parse, field);
        break;
    case 5:
        out->null_counts = firn_parse_i64_list(parse, field, &counts->null_counts);
        break;
    case 6:
        out->rep_histograms = firn_parse_i64_list(parse, field, &counts->rep_histograms);
        break;
    case 7:
        out->def_histograms = firn_parse_i64_list(parse, field, &counts->def_histograms);
        break;
    case 8:
        out->nan_counts = firn_parse_i64_list(parse, field, &counts->nan_counts);
        break;
    default:
        firn_thrift_skip(&parse->in, field);
    }
}

static bool counts_agree(const struct firn_column_index *index, const struct counts *counts)
{
    uint32_t pages = index->page_count;
    return counts->min_values == pages && counts->max_values == pages &&
           (!index->null_counts || counts->null_counts == pages) &&
           (!index->nan_counts || counts->nan_counts == pages) &&
           (pages == 0 || (counts->rep_histograms % pages == 0 && counts->def_histograms % pages == 0));
}

firn_status firn_column_index_parse(struct firn_op *op, struct firn_bytes bytes, struct firn_column_index *out)
{
    struct firn_parse parse = { .in = firn_cursor_of(firn_bytes_copy(op->arena, bytes)), .arena = op->arena };
    struct firn_thrift_field field = { 0 };
    struct counts counts = { 0 };
    *out = (struct firn_column_index){ 0 };
    while (firn_thrift_next(&parse.in, &field))
        parse_column_index_field(&parse, &field, out, &counts);
    out->page_count = counts.null_pages;
    if (!counts_agree(out, &counts))
        firn_cursor_fail(&parse.in, "has lists of different lengths");
    if (out->page_count > 0) {
        out->rep_level_count = counts.rep_histograms / out->page_count;
        out->def_level_count = counts.def_histograms / out->page_count;
    }
    return firn_parse_finish(op, &parse, "column index");
}
