/* Writing pages of both versions. parquet-format, "Data Pages"; parquet.thrift, PageHeader. */
#include "format/parquet/page_write.h"

#include "base/math.h"
#include "format/parquet/rle_write.h"

#include <libdeflate.h>

enum {
    LENGTH_BYTES = 4,
    TRIAL_PAGES_MIN = 32,
    TRIAL_PAGES_MAX = 256,
    LARGER_DIVISOR = 100, /* a quick form may be larger by one part in so many */
    SMALLER_DIVISOR = 16  /* than the quickest of these, one that takes longer must be smaller by one in so many */
};

/* The ways to compress: as it was asked for, then the quick ones by their time. */
static const struct way {
    bool by_values; /* by what they have in common, in one of these ways, */
    bool from_far, packs_literals;
    int32_t level; /* or else by this level */
} ways[] = {
    { .level = FIRN_CODEC_LEVEL_DEFAULT },
    { .by_values = true, .from_far = true },
    { .by_values = true },
    { .by_values = true, .from_far = true, .packs_literals = true },
    { .by_values = true, .packs_literals = true },
    { .level = FIRN_CODEC_LEVEL_NO_REPEATS },
    { .level = FIRN_CODEC_LEVEL_RARE_REPEATS },
    { .level = FIRN_CODEC_LEVEL_FEW_REPEATS },
    { .level = FIRN_CODEC_LEVEL_SHORT_REPEATS },
};
enum { WAY_ASKED_FOR };

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

/* A page's body, or what of it is compressed. */
struct raw {
    struct firn_bytes bytes;
    size_t width; /* of the values that it ends with; 0: various */
};

static size_t value_width(const struct firn_data_page *page)
{
    bool are_alike =
        page->encoding == FIRN_ENCODING_PLAIN && page->value_count > 0 && page->values.len % page->value_count == 0;
    return are_alike ? page->values.len / page->value_count : 0;
}

/* Appends what the file holds of `raw` to writer->compressed; gives its size. `*done` is false, and nothing appended,
 * where values have too little in common. */
static firn_status compress_in_way(struct firn_op *op, struct firn_page_writer *writer, const struct way *way,
                                   const struct raw *raw, size_t *len, bool *done)
{
    size_t before = writer->compressed.len;
    const struct firn_codec_values values = { raw->width, way->from_far, way->packs_literals };
    *done = true;
    if (way->by_values)
        FIRN_TRY(firn_codec_compress_values(op, writer->context, &values, raw->bytes, &writer->compressed, done));
    else
        FIRN_TRY(firn_codec_compress(op, writer->context, writer->codec,
                                     way == &ways[WAY_ASKED_FOR] ? writer->codec_level : way->level, raw->bytes,
                                     &writer->compressed));
    *len = writer->compressed.len - before;
    return FIRN_OK;
}

/* Compresses thoroughly, then quickly, the quickest way first, and keeps what is quick and hardly larger: of the ways
 * that go by values a slower one where it is much smaller. Gives how that was. */
static firn_status compress_ways(struct firn_op *op, struct firn_page_writer *writer, const struct raw *raw,
                                 uint32_t *chosen)
{
    struct firn_buffer *out = &writer->compressed;
    size_t kept, len;
    bool done;
    *chosen = WAY_ASKED_FOR;
    FIRN_TRY(compress_in_way(op, writer, &ways[WAY_ASKED_FOR], raw, &kept, &done));
    size_t len_max = kept + kept / LARGER_DIVISOR;
    for (uint32_t i = WAY_ASKED_FOR + 1; i < FIRN_COUNT_OF(ways); i++) {
        if (*chosen != WAY_ASKED_FOR && !ways[i].by_values)
            break;
        FIRN_TRY(compress_in_way(op, writer, &ways[i], raw, &len, &done));
        if (done && len <= len_max) {
            memmove(out->data, out->data + kept, len);
            *chosen = i;
            kept = len;
            len_max = len - len / SMALLER_DIVISOR;
        }
        out->len = kept;
    }
    return FIRN_OK;
}

/* Tries which way is best for this page, and those to come: twice as many as before when it was known. */
static firn_status compress_trying(struct firn_op *op, struct firn_page_writer *writer, const struct raw *raw)
{
    uint32_t way;
    FIRN_TRY(compress_ways(op, writer, raw, &way));
    bool was_known = writer->trial_pages > 0 && way == writer->way;
    writer->trial_pages = was_known ? FIRN_MIN(writer->trial_pages * 2, (uint32_t)TRIAL_PAGES_MAX) : TRIAL_PAGES_MIN;
    writer->pages_to_trial = writer->trial_pages - 1;
    writer->way = way;
    return FIRN_OK;
}

/* Replaces writer->compressed by what the file holds of `raw`. Searching for repeats that are not there, as in texts of
 * random digits, takes zstd long and gains next to nothing, and those of numbers are found in simpler ways: where
 * nobody asked for a level, pages get what is quicker. */
static firn_status compress(struct firn_op *op, struct firn_page_writer *writer, const struct raw *raw)
{
    bool chooses = writer->codec == FIRN_CODEC_ZSTD && writer->codec_level == FIRN_CODEC_LEVEL_DEFAULT;
    size_t len;
    bool done = false;
    firn_buffer_clear(&writer->compressed);
    if (!chooses || writer->pages_to_trial > 0)
        FIRN_TRY(compress_in_way(op, writer, &ways[chooses ? writer->way : WAY_ASKED_FOR], raw, &len, &done));
    if (!done)
        return compress_trying(op, writer, raw);
    writer->pages_to_trial -= chooses;
    return FIRN_OK;
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
    struct raw raw = { page->values, value_width(page) };
    firn_buffer_clear(&writer->body);
    if (page->rep_max || page->def_max) {
        FIRN_TRY(put_sized_levels(op, page->rep, page->rep_max, page->slot_count, &writer->body));
        FIRN_TRY(put_sized_levels(op, page->def, page->def_max, page->slot_count, &writer->body));
        FIRN_TRY(firn_buffer_append(op, &writer->body, page->values.data, page->values.len));
        raw.bytes = firn_buffer_bytes(&writer->body);
    }
    if (writer->codec == FIRN_CODEC_NONE)
        return put_page(op, &header, raw.bytes, (struct firn_bytes){ 0 }, raw.bytes.len, out, sizes);
    FIRN_TRY(compress(op, writer, &raw));
    return put_page(op, &header, firn_buffer_bytes(&writer->compressed), (struct firn_bytes){ 0 }, raw.bytes.len, out,
                    sizes);
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
    const struct firn_bytes values = page->values;
    const struct raw raw = { values, value_width(page) };
    firn_buffer_clear(&writer->body);
    FIRN_TRY(put_levels(op, page->rep, page->rep_max, page->slot_count, &writer->body));
    header.rep_bytes = (int32_t)writer->body.len;
    FIRN_TRY(put_levels(op, page->def, page->def_max, page->slot_count, &writer->body));
    header.def_bytes = (int32_t)writer->body.len - header.rep_bytes;
    if (writer->codec != FIRN_CODEC_NONE && values.len > 0) {
        FIRN_TRY(compress(op, writer, &raw));
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
    /* what is best for data pages is not for this one */
    FIRN_TRY(firn_codec_compress(op, writer->context, writer->codec, writer->codec_level, values, &writer->compressed));
    return put_page(op, &header, firn_buffer_bytes(&writer->compressed), (struct firn_bytes){ 0 }, values.len, out,
                    sizes);
}
