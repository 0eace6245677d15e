/* The footer: its tail, FileMetaData, row groups and column chunks. parquet-format, "File Format"; parquet.thrift.
 *
 * The Thrift bytes are copied once and everything parsed borrows from that copy. */
#include "base/math.h"
#include "format/parquet/created_by.h"
#include "format/parquet/parse_internal.h"

#define MAGIC_BYTES 4

enum { LZO = 3 };

firn_status firn_footer_tail_parse(struct firn_op *op, struct firn_bytes tail, uint64_t file_bytes,
                                   uint32_t *footer_bytes)
{
    if (tail.len != FIRN_PARQUET_TAIL_BYTES || file_bytes < MAGIC_BYTES + FIRN_PARQUET_TAIL_BYTES)
        return firn_fail(op, FIRN_CORRUPT, "file is %" PRIu64 " bytes, a parquet file has at least %d", file_bytes,
                         MAGIC_BYTES + FIRN_PARQUET_TAIL_BYTES);
    const uint8_t *magic = tail.data + 4;
    if (memcmp(magic, "PARE", MAGIC_BYTES) == 0)
        return firn_fail(op, FIRN_UNSUPPORTED, "file is encrypted (its footer is)");
    if (memcmp(magic, "PAR1", MAGIC_BYTES) != 0)
        return firn_fail(op, FIRN_CORRUPT, "file does not end in \"PAR1\": it is no parquet file, or cut short");
    *footer_bytes = firn_load_le32(tail.data);
    if (*footer_bytes > file_bytes - FIRN_PARQUET_TAIL_BYTES - MAGIC_BYTES)
        return firn_fail(op, FIRN_CORRUPT, "footer of %" PRIu32 " bytes does not fit into the file of %" PRIu64,
                         *footer_bytes, file_bytes);
    return FIRN_OK;
}

static struct firn_text take_text(struct firn_cursor *in, const struct firn_thrift_field *field)
{
    return firn_text_of_bytes(firn_thrift_binary(in, field));
}

/* parquet.thrift, CompressionCodec. LZO has no free decoder. */
static enum firn_codec parse_codec(struct firn_parse *parse, int32_t value)
{
    static const enum firn_codec codecs[] = {
        [0] = FIRN_CODEC_NONE,       [1] = FIRN_CODEC_SNAPPY, [2] = FIRN_CODEC_GZIP,    [4] = FIRN_CODEC_BROTLI,
        [5] = FIRN_CODEC_LZ4_HADOOP, [6] = FIRN_CODEC_ZSTD,   [7] = FIRN_CODEC_LZ4_RAW,
    };
    if (value == LZO)
        firn_parse_unknown(parse, "compression codec LZO, number", value, LZO);
    else if (value < 0 || value >= (int32_t)FIRN_COUNT_OF(codecs))
        firn_parse_unknown(parse, "compression codec", value, FIRN_COUNT_OF(codecs));
    return parse->in.failure ? FIRN_CODEC_NONE : codecs[value];
}

static void parse_encodings(struct firn_parse *parse, const struct firn_thrift_field *field,
                            struct firn_column_chunk *out)
{
    uint32_t count = firn_thrift_list(&parse->in, field, FIRN_THRIFT_I32, 1);
    out->encodings = FIRN_NEW_ARRAY(parse->arena, enum firn_encoding, count);
    out->encoding_count = count;
    for (uint32_t i = 0; i < count && !parse->in.failure; i++)
        out->encodings[i] = firn_parse_encoding(parse, firn_thrift_element_i32(&parse->in));
}

static struct firn_text parse_path(struct firn_parse *parse, const struct firn_thrift_field *field)
{
    struct firn_cursor *in = &parse->in;
    uint32_t count = firn_thrift_list(in, field, FIRN_THRIFT_BINARY, 1);
    const uint8_t *start = in->at;
    for (uint32_t i = 0; i < count; i++)
        firn_thrift_element_binary(in);
    if (in->failure)
        return FIRN_TEXT("");

    char *path = firn_arena_alloc(parse->arena, (size_t)(in->at - start) + 1); /* each length makes room for a dot */
    size_t len = 0;
    struct firn_cursor again = { .start = in->start, .at = start, .end = in->at };
    for (uint32_t i = 0; i < count; i++) {
        struct firn_bytes name = firn_thrift_element_binary(&again);
        if (i > 0)
            path[len++] = '.';
        memcpy(path + len, name.data, name.len);
        len += name.len;
    }
    return (struct firn_text){ path, len };
}

static void parse_encoding_stat(struct firn_parse *parse, struct firn_encoding_stats *out)
{
    struct firn_cursor *in = &parse->in;
    struct firn_thrift_field field = { 0 };
    while (firn_thrift_next(in, &field)) {
        if (field.id == 1)
            out->page_type = firn_thrift_i32(in, &field);
        else if (field.id == 2)
            out->encoding = firn_parse_encoding(parse, firn_thrift_i32(in, &field));
        else if (field.id == 3)
            out->count = firn_thrift_i32(in, &field);
        else
            firn_thrift_skip(in, &field);
    }
}

static void parse_encoding_stats(struct firn_parse *parse, const struct firn_thrift_field *field,
                                 struct firn_column_chunk *out)
{
    uint32_t count = firn_thrift_list(&parse->in, field, FIRN_THRIFT_STRUCT, 1);
    out->encoding_stats = FIRN_NEW_ARRAY(parse->arena, struct firn_encoding_stats, count);
    out->encoding_stats_count = count;
    for (uint32_t i = 0; i < count && !parse->in.failure; i++)
        parse_encoding_stat(parse, &out->encoding_stats[i]);
}

static void parse_sizes(struct firn_parse *parse, struct firn_size_statistics *out)
{
    struct firn_cursor *in = &parse->in;
    struct firn_thrift_field field = { 0 };
    while (firn_thrift_next(in, &field)) {
        if (field.id == 1) {
            out->unencoded_bytes = firn_thrift_i64(in, &field);
            out->has_unencoded_bytes = true;
        } else if (field.id == 2) {
            out->rep_histogram = firn_parse_i64_list(parse, &field, &out->rep_histogram_count);
        } else if (field.id == 3) {
            out->def_histogram = firn_parse_i64_list(parse, &field, &out->def_histogram_count);
        } else {
            firn_thrift_skip(in, &field);
        }
    }
}

static enum firn_parquet_type parse_type(struct firn_parse *parse, const struct firn_thrift_field *field)
{
    int32_t value = firn_thrift_i32(&parse->in, field);
    if (value < 0 || value >= FIRN_PARQUET_TYPE_COUNT)
        firn_parse_unknown(parse, "type of a column chunk", value, FIRN_PARQUET_TYPE_COUNT);
    return parse->in.failure ? FIRN_PARQUET_BOOLEAN : (enum firn_parquet_type)value;
}

static void parse_column_metadata_field(struct firn_parse *parse, const struct firn_thrift_field *field,
                                        struct firn_column_chunk *out)
{
    struct firn_cursor *in = &parse->in;
    switch (field->id) {
    case 1:
        out->type = parse_type(parse, field);
        break;
    case 2:
        parse_encodings(parse, field, out);
        break;
    case 3:
        out->path = parse_path(parse, field);
        break;
    case 4:
        out->codec = parse_codec(parse, firn_thrift_i32(in, field));
        break;
    case 5:
        out->value_count = firn_thrift_i64(in, field);
        break;
    case 6:
        out->uncompressed_bytes = firn_thrift_i64(in, field);
        break;
    case 7:
        out->compressed_bytes = firn_thrift_i64(in, field);
        break;
    case 9:
        out->data_page_offset = firn_thrift_i64(in, field);
        break;
    case 10:
        out->index_page_offset = firn_thrift_i64(in, field);
        break;
    case 11:
        out->dictionary_page_offset = firn_thrift_i64(in, field);
        break;
    case 12:
        firn_thrift_struct(in, field);
        firn_parse_statistics(parse, &out->statistics);
        break;
    case 13:
        parse_encoding_stats(parse, field, out);
        break;
    case 14:
        out->bloom_filter_offset = firn_thrift_i64(in, field);
        break;
    case 15:
        if (field->type == FIRN_THRIFT_I32)
            out->bloom_filter_bytes = firn_thrift_i32(in, field);
        else /* used otherwise by some writers before it was defined */
            firn_thrift_skip(in, field);
        break;
    case 16:
        firn_thrift_struct(in, field);
        parse_sizes(parse, &out->sizes);
        break;
    default:
        firn_thrift_skip(in, field);
    }
}

static void parse_column_metadata(struct firn_parse *parse, struct firn_column_chunk *out)
{
    static const uint64_t required =
        FIRN_FIELD(1) | FIRN_FIELD(2) | FIRN_FIELD(3) | FIRN_FIELD(4) | FIRN_FIELD(5) | FIRN_FIELD(7) | FIRN_FIELD(9);
    struct firn_thrift_field field = { 0 };
    uint64_t met = 0;
    while (firn_thrift_next(&parse->in, &field)) {
        met |= firn_field_bit(&field);
        parse_column_metadata_field(parse, &field, out);
    }
    firn_parse_require(parse, met, required, "lacks a required field of a column's metadata");
}

static void parse_chunk(struct firn_parse *parse, struct firn_column_chunk *out)
{
    struct firn_cursor *in = &parse->in;
    struct firn_thrift_field field = { 0 };
    uint64_t met = 0;
    while (firn_thrift_next(in, &field)) {
        met |= firn_field_bit(&field);
        switch (field.id) {
        case 1:
            out->file_path = take_text(in, &field);
            break;
        case 3:
            firn_thrift_struct(in, &field);
            parse_column_metadata(parse, out);
            break;
        case 4:
            out->offset_index_offset = firn_thrift_i64(in, &field);
            break;
        case 5:
            out->offset_index_bytes = firn_thrift_i32(in, &field);
            break;
        case 6:
            out->column_index_offset = firn_thrift_i64(in, &field);
            break;
        case 7:
            out->column_index_bytes = firn_thrift_i32(in, &field);
            break;
        case 8:
            out->is_encrypted = true;
            firn_thrift_skip(in, &field);
            break;
        default:
            firn_thrift_skip(in, &field);
        }
    }
    if (!out->is_encrypted) /* the metadata of an encrypted column may be encrypted too */
        firn_parse_require(parse, met, FIRN_FIELD(3), "has a column chunk without metadata");
}

static void parse_row_group(struct firn_parse *parse, struct firn_row_group *out)
{
    struct firn_cursor *in = &parse->in;
    struct firn_thrift_field field = { 0 };
    uint64_t met = 0;
    while (firn_thrift_next(in, &field)) {
        met |= firn_field_bit(&field);
        switch (field.id) {
        case 1:
            out->chunk_count = firn_thrift_list(in, &field, FIRN_THRIFT_STRUCT, 8);
            out->chunks = FIRN_NEW_ARRAY(parse->arena, struct firn_column_chunk, out->chunk_count);
            for (uint32_t i = 0; i < out->chunk_count && !in->failure; i++)
                parse_chunk(parse, &out->chunks[i]);
            break;
        case 2:
            out->total_bytes = firn_thrift_i64(in, &field);
            break;
        case 3:
            out->row_count = firn_thrift_i64(in, &field);
            break;
        case 5:
            out->file_offset = firn_thrift_i64(in, &field);
            break;
        case 6:
            out->compressed_bytes = firn_thrift_i64(in, &field);
            break;
        default:
            firn_thrift_skip(in, &field);
        }
    }
    firn_parse_require(parse, met, FIRN_FIELD(1) | FIRN_FIELD(3), "lacks a required field of a row group");
}

static void parse_row_groups(struct firn_parse *parse, const struct firn_thrift_field *field, struct firn_footer *out)
{
    out->row_group_count = firn_thrift_list(&parse->in, field, FIRN_THRIFT_STRUCT, 4);
    out->row_groups = FIRN_NEW_ARRAY(parse->arena, struct firn_row_group, out->row_group_count);
    for (uint32_t i = 0; i < out->row_group_count && !parse->in.failure; i++)
        parse_row_group(parse, &out->row_groups[i]);
}

static void parse_key_value(struct firn_parse *parse, struct firn_key_value *out)
{
    struct firn_cursor *in = &parse->in;
    struct firn_thrift_field field = { 0 };
    while (firn_thrift_next(in, &field)) {
        if (field.id == 1)
            out->key = take_text(in, &field);
        else if (field.id == 2)
            out->value = take_text(in, &field);
        else
            firn_thrift_skip(in, &field);
    }
}

static void parse_key_values(struct firn_parse *parse, const struct firn_thrift_field *field, struct firn_footer *out)
{
    out->key_value_count = firn_thrift_list(&parse->in, field, FIRN_THRIFT_STRUCT, 1);
    out->key_values = FIRN_NEW_ARRAY(parse->arena, struct firn_key_value, out->key_value_count);
    for (uint32_t i = 0; i < out->key_value_count && !parse->in.failure; i++)
        parse_key_value(parse, &out->key_values[i]);
}

static void parse_file_metadata(struct firn_parse *parse, struct firn_footer *out)
{
    struct firn_cursor *in = &parse->in;
    struct firn_thrift_field field = { 0 };
    uint64_t met = 0;
    while (firn_thrift_next(in, &field)) {
        met |= firn_field_bit(&field);
        switch (field.id) {
        case 1:
            out->version = firn_thrift_i32(in, &field);
            break;
        case 2:
            firn_parse_schema(parse, &field, out);
            break;
        case 3:
            out->row_count = firn_thrift_i64(in, &field);
            break;
        case 4:
            parse_row_groups(parse, &field, out);
            break;
        case 5:
            parse_key_values(parse, &field, out);
            break;
        case 6:
            out->created_by = take_text(in, &field);
            break;
        case 7:
            out->has_column_orders = true;
            firn_thrift_skip(in, &field);
            break;
        default:
            firn_thrift_skip(in, &field);
        }
    }
    firn_parse_require(parse, met, FIRN_FIELD(2) | FIRN_FIELD(3) | FIRN_FIELD(4), "lacks a required field");
}

void firn_column_chunk_range(const struct firn_column_chunk *chunk, uint64_t *offset, uint64_t *len)
{
    bool has_dictionary = chunk->dictionary_page_offset > 0 && chunk->dictionary_page_offset < chunk->data_page_offset;
    *offset = (uint64_t)(has_dictionary ? chunk->dictionary_page_offset : chunk->data_page_offset);
    *len = (uint64_t)chunk->compressed_bytes;
}

static firn_status check_chunk(struct firn_op *op, const struct firn_column_chunk *chunk,
                               const struct firn_parquet_node *leaf, uint64_t file_bytes)
{
    if (chunk->path.len == 0 && chunk->is_encrypted)
        return FIRN_OK;
    bool has_name = chunk->path.len > 0; /* names may be all that columns are known by */
    if (has_name && !firn_text_same(chunk->path, leaf->path))
        return firn_fail(op, FIRN_CORRUPT, "is '%.*s' in the column chunk's own metadata", FIRN_FMT(chunk->path));
    if (chunk->type != leaf->type)
        return firn_fail(op, FIRN_CORRUPT, "is %s where the schema has %s", firn_parquet_type_name(chunk->type),
                         firn_parquet_type_name(leaf->type));
    if (chunk->value_count < 0 || chunk->compressed_bytes < 0)
        return firn_fail(op, FIRN_CORRUPT, "has %" PRId64 " values in %" PRId64 " bytes", chunk->value_count,
                         chunk->compressed_bytes);
    if (chunk->compressed_bytes == 0)
        return FIRN_OK;
    uint64_t offset, len;
    firn_column_chunk_range(chunk, &offset, &len);
    if (offset > file_bytes || len > file_bytes - offset)
        return firn_fail(op, FIRN_CORRUPT, "covers %" PRIu64 " bytes from %" PRIu64 " on, the file has %" PRIu64, len,
                         offset, file_bytes);
    return FIRN_OK;
}

static firn_status check_row_group(struct firn_op *op, const struct firn_footer *footer,
                                   const struct firn_row_group *group, uint64_t file_bytes)
{
    if (group->row_count < 0)
        return firn_fail(op, FIRN_CORRUPT, "has %" PRId64 " rows", group->row_count);
    if (group->chunk_count != footer->leaf_count)
        return firn_fail(op, FIRN_CORRUPT, "has %" PRIu32 " column chunks for %" PRIu32 " columns", group->chunk_count,
                         footer->leaf_count);
    for (uint32_t i = 0; i < group->chunk_count; i++) {
        firn_status status = check_chunk(op, &group->chunks[i], footer->leaves[i], file_bytes);
        if (status != FIRN_OK)
            return firn_context(op, status, "column '%.*s'", FIRN_FMT(footer->leaves[i]->path));
    }
    return FIRN_OK;
}

static firn_status check_row_groups(struct firn_op *op, struct firn_footer *footer, uint64_t file_bytes)
{
    int64_t row_count = 0;
    for (uint32_t i = 0; i < footer->row_group_count; i++) {
        const struct firn_row_group *group = &footer->row_groups[i];
        firn_status status = check_row_group(op, footer, group, file_bytes);
        if (status != FIRN_OK)
            return firn_context(op, status, "row group %" PRIu32, i);
        if (__builtin_add_overflow(row_count, group->row_count, &row_count))
            return firn_fail(op, FIRN_CORRUPT, "row groups hold more rows than 64 bits count");
    }
    footer->row_count = row_count; /* pages are held against the row groups; the total is wrong in some files */
    return FIRN_OK;
}

/* parquet-mr before 1.2.9 left the header of the dictionary page out of a chunk's size (PARQUET-816). The chunk is then
 * taken to be longer by what such a header has at most; the reader stops after the last value. */
static void extend_chunks(struct firn_footer *footer, uint64_t file_bytes)
{
    static const int64_t header_bytes_max = 100;
    bool is_affected = firn_written_before(footer->created_by, "parquet-mr", (struct firn_writer_version){ 1, 2, 9 });
    for (uint32_t i = 0; is_affected && i < footer->row_group_count; i++) {
        for (uint32_t k = 0; k < footer->leaf_count; k++) {
            struct firn_column_chunk *chunk = &footer->row_groups[i].chunks[k];
            uint64_t offset, len;
            firn_column_chunk_range(chunk, &offset, &len);
            if (len > 0)
                chunk->compressed_bytes += FIRN_MIN(header_bytes_max, (int64_t)(file_bytes - offset - len));
        }
    }
}

firn_status firn_footer_parse(struct firn_op *op, struct firn_bytes bytes, uint64_t file_bytes,
                              struct firn_footer **out)
{
    struct firn_footer *footer = FIRN_NEW(op->arena, struct firn_footer);
    struct firn_parse parse = { .in = firn_cursor_of(firn_bytes_copy(op->arena, bytes)), .arena = op->arena };
    parse_file_metadata(&parse, footer);
    footer->footer_bytes = (int64_t)bytes.len;
    FIRN_TRY(firn_parse_finish(op, &parse, "parquet footer"));
    FIRN_TRY(firn_parquet_schema_finish(op, footer));
    FIRN_TRY(check_row_groups(op, footer, file_bytes));
    extend_chunks(footer, file_bytes);
    *out = footer;
    return FIRN_OK;
}
