/* Pages of a column chunk: the header parsed, the body cut out. parquet-format, "Data Pages"; parquet.thrift,
 * PageHeader. */
#include "format/parquet/page.h"

#include "base/math.h"
#include "format/parquet/parse_internal.h"

#include <libdeflate.h>

#define HEADER_BYTES_MAX (UINT64_C(8) << 20) /* no more is read to see whether a header is broken or cut off */

static void parse_data_header(struct firn_parse *parse, struct firn_page_header *out)
{
    static const uint64_t required = FIRN_FIELD(1) | FIRN_FIELD(2);
    struct firn_cursor *in = &parse->in;
    struct firn_thrift_field field = { 0 };
    uint64_t met = 0;
    out->def_encoding = out->rep_encoding = FIRN_ENCODING_RLE;
    while (firn_thrift_next(in, &field)) {
        met |= firn_field_bit(&field);
        switch (field.id) {
        case 1:
            out->value_count = firn_thrift_i32(in, &field);
            break;
        case 2:
            out->encoding = firn_parse_encoding(parse, firn_thrift_i32(in, &field));
            break;
        case 3:
            out->def_encoding = firn_parse_encoding(parse, firn_thrift_i32(in, &field));
            break;
        case 4:
            out->rep_encoding = firn_parse_encoding(parse, firn_thrift_i32(in, &field));
            break;
        case 5:
            firn_thrift_struct(in, &field);
            firn_parse_statistics(parse, &out->statistics);
            break;
        default:
            firn_thrift_skip(in, &field);
        }
    }
    firn_parse_require(parse, met, required, "lacks a required field of a data page");
}

static void parse_dictionary_header(struct firn_parse *parse, struct firn_page_header *out)
{
    struct firn_cursor *in = &parse->in;
    struct firn_thrift_field field = { 0 };
    uint64_t met = 0;
    while (firn_thrift_next(in, &field)) {
        met |= firn_field_bit(&field);
        if (field.id == 1)
            out->value_count = firn_thrift_i32(in, &field);
        else if (field.id == 2)
            out->encoding = firn_parse_encoding(parse, firn_thrift_i32(in, &field));
        else if (field.id == 3)
            out->is_sorted = firn_thrift_bool(in, &field);
        else
            firn_thrift_skip(in, &field);
    }
    firn_parse_require(parse, met, FIRN_FIELD(1) | FIRN_FIELD(2), "lacks a required field of a dictionary page");
}

static void parse_data_header_v2(struct firn_parse *parse, struct firn_page_header *out)
{
    static const uint64_t required =
        FIRN_FIELD(1) | FIRN_FIELD(2) | FIRN_FIELD(3) | FIRN_FIELD(4) | FIRN_FIELD(5) | FIRN_FIELD(6);
    struct firn_cursor *in = &parse->in;
    struct firn_thrift_field field = { 0 };
    uint64_t met = 0;
    out->is_compressed = true;
    out->def_encoding = out->rep_encoding = FIRN_ENCODING_RLE;
    while (firn_thrift_next(in, &field)) {
        met |= firn_field_bit(&field);
        switch (field.id) {
        case 1:
            out->value_count = firn_thrift_i32(in, &field);
            break;
        case 2:
            out->null_count = firn_thrift_i32(in, &field);
            break;
        case 3:
            out->row_count = firn_thrift_i32(in, &field);
            break;
        case 4:
            out->encoding = firn_parse_encoding(parse, firn_thrift_i32(in, &field));
            break;
        case 5:
            out->def_bytes = firn_thrift_i32(in, &field);
            break;
        case 6:
            out->rep_bytes = firn_thrift_i32(in, &field);
            break;
        case 7:
            out->is_compressed = firn_thrift_bool(in, &field);
            break;
        case 8:
            firn_thrift_struct(in, &field);
            firn_parse_statistics(parse, &out->statistics);
            break;
        default:
            firn_thrift_skip(in, &field);
        }
    }
    firn_parse_require(parse, met, required, "lacks a required field of a data page");
}

/* The field that holds the header of each page type. */
static const uint8_t header_fields[] = {
    [FIRN_PAGE_DATA] = 5,
    [FIRN_PAGE_INDEX] = 6,
    [FIRN_PAGE_DICTIONARY] = 7,
    [FIRN_PAGE_DATA_V2] = 8,
};

static void parse_type_header(struct firn_parse *parse, const struct firn_thrift_field *field, int32_t type,
                              struct firn_page_header *out)
{
    firn_thrift_struct(&parse->in, field);
    if (type == FIRN_PAGE_DATA)
        parse_data_header(parse, out);
    else if (type == FIRN_PAGE_DATA_V2)
        parse_data_header_v2(parse, out);
    else if (type == FIRN_PAGE_DICTIONARY)
        parse_dictionary_header(parse, out);
    else
        firn_thrift_skip(&parse->in, field);
}

static void parse_header(struct firn_parse *parse, struct firn_page_header *out)
{
    struct firn_cursor *in = &parse->in;
    struct firn_thrift_field field = { 0 };
    uint64_t met = 0;
    int32_t type = -1;
    while (firn_thrift_next(in, &field)) {
        met |= firn_field_bit(&field);
        if (field.id == 1) {
            type = firn_thrift_i32(in, &field);
        } else if (field.id == 2) {
            out->uncompressed_bytes = firn_thrift_i32(in, &field);
        } else if (field.id == 3) {
            out->compressed_bytes = firn_thrift_i32(in, &field);
        } else if (field.id == 4) {
            out->crc = (uint32_t)firn_thrift_i32(in, &field);
            out->has_crc = true;
        } else if (type >= 0 && type < (int32_t)FIRN_COUNT_OF(header_fields) && field.id == header_fields[type]) {
            parse_type_header(parse, &field, type, out);
        } else {
            firn_thrift_skip(in, &field);
        }
    }
    firn_parse_require(parse, met, FIRN_FIELD(1) | FIRN_FIELD(2) | FIRN_FIELD(3), "lacks a required field");
    if (type < 0 || type >= (int32_t)FIRN_COUNT_OF(header_fields))
        firn_parse_unknown(parse, "page type", type, FIRN_COUNT_OF(header_fields));
    else if (type != FIRN_PAGE_INDEX && !(met & FIRN_FIELD(header_fields[type])))
        firn_cursor_fail(in, "lacks the part for its page type");
    out->type = in->failure ? FIRN_PAGE_INDEX : (enum firn_page_type)type;
}

static firn_status check_sizes(struct firn_op *op, const struct firn_page_header *header, uint64_t left)
{
    if (header->uncompressed_bytes < 0 || header->compressed_bytes < 0 || header->value_count < 0)
        return firn_fail(op, FIRN_CORRUPT,
                         "page header announces %" PRId32 " bytes compressed, %" PRId32 " uncompressed, %" PRId32
                         " values",
                         header->compressed_bytes, header->uncompressed_bytes, header->value_count);
    if ((uint64_t)header->compressed_bytes > left)
        return firn_fail(op, FIRN_CORRUPT,
                         "page body of %" PRId32 " bytes, but the column chunk has only %" PRIu64 " left",
                         header->compressed_bytes, left);
    if (header->type != FIRN_PAGE_DATA_V2)
        return FIRN_OK;
    if (header->def_bytes < 0 || header->rep_bytes < 0 || header->null_count < 0 || header->row_count < 0)
        return firn_fail(op, FIRN_CORRUPT, "page header announces a negative number");
    int64_t level_bytes = (int64_t)header->def_bytes + header->rep_bytes;
    if (level_bytes > header->compressed_bytes || level_bytes > header->uncompressed_bytes)
        return firn_fail(op, FIRN_CORRUPT,
                         "page header announces %" PRId64 " bytes of levels in %" PRId32 " (uncompressed %" PRId32 ")",
                         level_bytes, header->compressed_bytes, header->uncompressed_bytes);
    return FIRN_OK;
}

static firn_status check_crc(struct firn_op *op, const struct firn_page *page)
{
    uint32_t crc = libdeflate_crc32(0, page->body.data, page->body.len);
    if (crc == page->header.crc)
        return FIRN_OK;
    return firn_fail(op, FIRN_CORRUPT, "page checksum is %08" PRIx32 ", its header says %08" PRIx32, crc,
                     page->header.crc);
}

firn_status firn_page_take(struct firn_op *op, struct firn_cursor *in, uint64_t beyond, bool crc_check,
                           struct firn_page *out, uint64_t *missing)
{
    struct firn_parse parse = { .in = { .start = in->at, .at = in->at, .end = in->end }, .arena = op->arena };
    uint64_t at_hand = firn_cursor_left(in);
    *out = (struct firn_page){ .offset = firn_cursor_offset(in) };
    parse_header(&parse, &out->header);
    bool is_cut_off = parse.in.failure && !parse.unknown && at_hand < HEADER_BYTES_MAX;
    *missing = is_cut_off ? FIRN_MIN(FIRN_MAX(at_hand, 1), beyond) : 0;
    if (*missing > 0)
        return FIRN_OK;
    FIRN_TRY(firn_parse_finish(op, &parse, "page header"));
    uint64_t left = firn_cursor_left(&parse.in), body_bytes = (uint64_t)out->header.compressed_bytes;
    FIRN_TRY(check_sizes(op, &out->header, left + beyond));

    out->header_bytes = (struct firn_bytes){ in->at, firn_cursor_offset(&parse.in) };
    *missing = body_bytes > left ? body_bytes - left : 0;
    if (*missing > 0)
        return FIRN_OK;
    out->body = firn_take_bytes(&parse.in, body_bytes);
    in->at = parse.in.at;
    return crc_check && out->header.has_crc ? check_crc(op, out) : FIRN_OK;
}

firn_status firn_page_next(struct firn_op *op, struct firn_cursor *in, bool crc_check, struct firn_page *out)
{
    uint64_t missing;
    return firn_page_take(op, in, 0, crc_check, out, &missing);
}
