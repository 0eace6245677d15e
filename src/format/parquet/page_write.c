/* Writing pages of both versions. parquet-format, "Data Pages"; parquet.thrift, PageHeader. */
#include "format/parquet/page_write.h"

#include "base/math.h"
#include "format/parquet/rle_write.h"

#include <libdeflate.h>

enum {
    LENGTH_BYTES = 4,
    TRIAL_PAGES_MIN = 32,
    TRIAL_PAGES_MAX = 256,
    LARGER_DIVISOR = 100 /* a quick form may be larger by one part in so many */
};

void firn_page_writer_done(struct firn_page_writer *writer)
{
    firn_buffer_done(&writer->body);
    firn_buffer_done(&writer->compressed);
}

/* Appends levels as version 2 has them: the hybrid form alone. */
static firn_status put_levels(struct firn_op *op, const uint8_t *levels, uint8_t level_max, uint32_t count,
                              struct firn_buffer *out)
{
    if (level_max == 0)
        return FIRN_OK;
    return firn_rle_encode_levels(op, levels, count, firn_bits_for(level_max), out);
}

/* Appends levels as version 1 has them: with their length in front. */
static firn_status put_sized_levels(struct firn_op *op, const uint8_t *levels, uint8_t level_max, uint32_t count,
                                    struct firn_buffer *out)
{
    uint8_t *length;
    if (level_max == 0)
        return FIRN_OK;
    FIRN_TRY(firn_buffer_extend(op, out, LENGTH_BYTES, &length));
    size_t start = out->len;
    FIRN_TRY(put_levels(op, levels, level_max, count, out));
    firn_store_le32(out->data + start - LENGTH_BYTES, (uint32_t)(out->len - start));
    return FIRN_OK;
}

/* Appends what the file holds of `raw` to writer->compressed; gives its size. */
static firn_status compress_at(struct firn_op *op, struct firn_page_writer *writer, int32_t level,
                               struct firn_bytes raw, size_t *len)
{
    size_t before = writer->compressed.len;
    FIRN_TRY(firn_codec_compress(op, writer->context, writer->codec, level, raw, &writer->compressed));
    *len = writer->compressed.len - before;
    return FIRN_OK;
}

/* Compresses thoroughly, then quickly, the quickest way first, and keeps what is quick and hardly larger. Gives how
 * that was. */
static firn_status compress_ways(struct firn_op *op, struct firn_page_writer *writer, struct firn_bytes raw,
                                 int32_t *level)
{
    static const int32_t quick_levels[] = { FIRN_CODEC_LEVEL_NO_REPEATS, FIRN_CODEC_LEVEL_RARE_REPEATS,
                                            FIRN_CODEC_LEVEL_FEW_REPEATS, FIRN_CODEC_LEVEL_SHORT_REPEATS };
    struct firn_buffer *out = &writer->compressed;
    size_t thorough, quick;
    *level = FIRN_CODEC_LEVEL_DEFAULT;
    FIRN_TRY(compress_at(op, writer, writer->codec_level, raw, &thorough));
    for (size_t i = 0; i < FIRN_COUNT_OF(quick_levels); i++) {
        out->len = thorough;
        FIRN_TRY(compress_at(op, writer, quick_levels[i], raw, &quick));
        if (quick > thorough + thorough / LARGER_DIVISOR)
            continue;
        *level = quick_levels[i];
        memmove(out->data, out->data + thorough, quick);
        out->len = quick;
        return FIRN_OK;
    }
    out->len = thorough;
    return FIRN_OK;
}

/* Tries which way is best for this page, and those to come: twice as many as before when it was known. */
static firn_status compress_trying(struct firn_op *op, struct firn_page_writer *writer, struct firn_bytes raw)
{
    int32_t level;
    FIRN_TRY(compress_ways(op, writer, raw, &level));
    bool was_known = writer->trial_pages > 0 && level == writer->quick_level;
    writer->trial_pages = was_known ? FIRN_MIN(writer->trial_pages * 2, (uint32_t)TRIAL_PAGES_MAX) : TRIAL_PAGES_MIN;
    writer->pages_to_trial = writer->trial_pages - 1;
    writer->quick_level = level;
    return FIRN_OK;
}

/* Replaces writer->compressed by what the file holds of `raw`. Searching for repeats that are not there, as in texts of
 * random digits, takes zstd long and gains next to nothing: where nobody asked for a level, such pages get less. */
static firn_status compress(struct firn_op *op, struct firn_page_writer *writer, struct firn_bytes raw)
{
    bool chooses = writer->codec == FIRN_CODEC_ZSTD && writer->codec_level == FIRN_CODEC_LEVEL_DEFAULT;
    size_t len;
    firn_buffer_clear(&writer->compressed);
    if (chooses && writer->pages_to_trial == 0)
        return compress_trying(op, writer, raw);
    writer->pages_to_trial -= chooses;
    return compress_at(op, writer, chooses ? writer->quick_level : writer->codec_level, raw, &len);
}

/* Appends header and body, adding the CRC and the body's sizes to the header. The body comes in two parts. */
static firn_status put_page(struct firn_op *op, struct firn_page_header *header, struct firn_bytes first,
                            struct firn_bytes second, size_t uncompressed_bytes, struct firn_buffer *out,
                            struct firn_page_sizes *sizes)
{
    size_t body_bytes = first.len + second.len;
    size_t start = out->len;
    if (body_bytes > INT32_MAX || uncompressed_bytes > INT32_MAX)
        return firn_fail(op, FIRN_LIMIT, "a page of %zu bytes is more than the %d that Parquet allows",
                         FIRN_MAX(body_bytes, uncompressed_bytes), INT32_MAX);
    header->has_crc = true;
    header->crc = libdeflate_crc32(0, first.data, first.len);
    if (second.len > 0) /* a NULL would begin anew */
        header->crc = libdeflate_crc32(header->crc, second.data, second.len);
    header->uncompressed_bytes = (int32_t)uncompressed_bytes;
    header->compressed_bytes = (int32_t)body_bytes;
    FIRN_TRY(firn_page_header_print(op, header, out));
    int64_t header_bytes = (int64_t)(out->len - start);
    FIRN_TRY(firn_buffer_append(op, out, first.data, first.len));
    FIRN_TRY(firn_buffer_append(op, out, second.data, second.len));
    *sizes = (struct firn_page_sizes){
        .uncompressed_bytes = header_bytes + header->uncompressed_bytes,
        .compressed_bytes = header_bytes + header->compressed_bytes,
    };
    return FIRN_OK;
}

/* Levels and values are compressed together. */
static firn_status put_v1(struct firn_op *op, struct firn_page_writer *writer, const struct firn_data_page *page,
                          struct firn_buffer *out, struct firn_page_sizes *sizes)
{
    struct firn_page_header header = {
        .type = FIRN_PAGE_DATA,
        .value_count = (int32_t)page->slot_count,
        .encoding = page->encoding,
        .def_encoding = FIRN_ENCODING_RLE,
        .rep_encoding = FIRN_ENCODING_RLE,
    };
    struct firn_bytes raw = page->values;
    firn_buffer_clear(&writer->body);
    if (page->rep_max || page->def_max) {
        FIRN_TRY(put_sized_levels(op, page->rep, page->rep_max, page->slot_count, &writer->body));
        FIRN_TRY(put_sized_levels(op, page->def, page->def_max, page->slot_count, &writer->body));
        FIRN_TRY(firn_buffer_append(op, &writer->body, raw.data, raw.len));
        raw = firn_buffer_bytes(&writer->body);
    }
    if (writer->codec == FIRN_CODEC_NONE)
        return put_page(op, &header, raw, (struct firn_bytes){ 0 }, raw.len, out, sizes);
    FIRN_TRY(compress(op, writer, raw));
    return put_page(op, &header, firn_buffer_bytes(&writer->compressed), (struct firn_bytes){ 0 }, raw.len, out, sizes);
}

/* Levels stay as they are; values are compressed when there are any and it pays. A page of nulls alone has nothing to
 * compress and says so, since some readers fail on an empty compressed block. */
static firn_status put_v2(struct firn_op *op, struct firn_page_writer *writer, const struct firn_data_page *page,
                          struct firn_buffer *out, struct firn_page_sizes *sizes)
{
    struct firn_page_header header = {
        .type = FIRN_PAGE_DATA_V2,
        .value_count = (int32_t)page->slot_count,
        .null_count = (int32_t)(page->slot_count - page->value_count),
        .row_count = (int32_t)page->row_count,
        .encoding = page->encoding,
    };
    struct firn_bytes values = page->values;
    firn_buffer_clear(&writer->body);
    FIRN_TRY(put_levels(op, page->rep, page->rep_max, page->slot_count, &writer->body));
    header.rep_bytes = (int32_t)writer->body.len;
    FIRN_TRY(put_levels(op, page->def, page->def_max, page->slot_count, &writer->body));
    header.def_bytes = (int32_t)writer->body.len - header.rep_bytes;
    if (writer->codec != FIRN_CODEC_NONE && values.len > 0) {
        FIRN_TRY(compress(op, writer, values));
        header.is_compressed = writer->compressed.len < values.len;
    }
    return put_page(op, &header, firn_buffer_bytes(&writer->body),
                    header.is_compressed ? firn_buffer_bytes(&writer->compressed) : values,
                    writer->body.len + values.len, out, sizes);
}

firn_status firn_page_writer_put_data(struct firn_op *op, struct firn_page_writer *writer,
                                      const struct firn_data_page *page, struct firn_buffer *out,
                                      struct firn_page_sizes *sizes)
{
    if (page->slot_count > INT32_MAX || page->values.len > INT32_MAX)
        return firn_fail(op, FIRN_LIMIT, "one page would hold %u values of %zu bytes", page->slot_count,
                         page->values.len);
    return page->page_v2 ? put_v2(op, writer, page, out, sizes) : put_v1(op, writer, page, out, sizes);
}

firn_status firn_page_writer_put_dictionary(struct firn_op *op, struct firn_page_writer *writer,
                                            struct firn_bytes values, uint32_t value_count, struct firn_buffer *out,
                                            struct firn_page_sizes *sizes)
{
    struct firn_page_header header = {
        .type = FIRN_PAGE_DICTIONARY,
        .value_count = (int32_t)value_count,
        .encoding = FIRN_ENCODING_PLAIN,
    };
    if (writer->codec == FIRN_CODEC_NONE)
        return put_page(op, &header, values, (struct firn_bytes){ 0 }, values.len, out, sizes);
    firn_buffer_clear(&writer->compressed);
    size_t len; /* what is best for data pages is not for this one */
    FIRN_TRY(compress_at(op, writer, writer->codec_level, values, &len));
    return put_page(op, &header, firn_buffer_bytes(&writer->compressed), (struct firn_bytes){ 0 }, values.len, out,
                    sizes);
}
