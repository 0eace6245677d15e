/* The chunk reader: pages decompressed, levels and values decoded into vectors. parquet-format, "Data Pages".
 *
 * A page is done in one sweep over buffers that the reader keeps: decompress, cut off and decode the levels, decode the
 * values. At any time there is one page and one dictionary in memory, beside what is at hand of the chunk. */
#include "format/parquet/reader.h"

#include "base/hash.h"
#include "base/math.h"
#include "format/parquet/encoding_decode.h"
#include "format/parquet/levels_decode.h"
#include "format/parquet/unpack.h"

#include <assert.h>
#include <stdlib.h>

/* A page's content, ready for decoding. */
struct content {
    struct firn_bytes rep, def; /* sections of levels; empty where the column has none */
    enum firn_encoding rep_encoding, def_encoding;
    enum firn_encoding encoding; /* of the values */
    struct firn_bytes values;
    bool page_v2;
};

struct firn_chunk_reader {
    const struct firn_parquet_node *leaf;
    const struct firn_column_chunk *chunk;
    struct firn_chunk_reader_options options;
    struct firn_codec_context *codec_context;
    bool owns_codec_context;
    struct firn_page_stream pages;
    uint32_t page_index;
    bool has_ahead; /* `ahead` was peeked at and is neither decoded nor passed */
    bool is_open;   /* and its content lies in `page_ahead` */
    struct firn_page ahead;
    struct content content_ahead; /* of the page ahead */
    struct content content;       /* of the current one, */
    uint64_t page_offset;         /* and where that begins */
    int64_t row_count;            /* of the row group */
    int64_t rows_seen;
    int64_t slots_seen;
    uint8_t least_def[UINT8_MAX + 1]; /* by repetition level: the definition level of an element of that list */
    uint8_t last_def;                 /* of the last slot of the page before */

    struct firn_buffer page_ahead; /* decompressed body of the page ahead, when it was looked into */
    struct firn_buffer page;       /* of the current page: its decompressed body, */
    struct firn_buffer rep, def, indices;
    struct firn_value_decoder values;

    bool has_dictionary;              /* its page was met, */
    bool is_dictionary_read;          /* and decoded, which is put off until it is needed */
    struct firn_page dictionary_head; /* that page */
    struct firn_dictionary dictionary;
    struct firn_buffer dictionary_bytes, dictionary_page; /* its body where the chunk moves on, its content */
    struct firn_bytes dictionary_content;                 /* of that page, decompressed */
    struct firn_buffer unfolded; /* of the page ahead: what comes before the dictionary's body */
    struct firn_value_decoder dictionary_values;
};

static void find_least_def(struct firn_chunk_reader *reader)
{
    for (const struct firn_parquet_node *node = reader->leaf; node; node = node->parent)
        if (node->repetition == FIRN_REPEATED)
            reader->least_def[node->rep_max] = node->def_max;
}

firn_status firn_chunk_reader_open(struct firn_op *op, const struct firn_parquet_node *leaf,
                                   const struct firn_column_chunk *chunk, int64_t row_count, struct firn_bytes bytes,
                                   struct firn_chunk_reader_options options, struct firn_chunk_reader **out)
{
    const struct firn_chunk_source source = firn_chunk_source_of(bytes);
    return firn_chunk_reader_open_source(op, leaf, chunk, row_count, &source, options, out);
}

firn_status firn_chunk_reader_open_source(struct firn_op *op, const struct firn_parquet_node *leaf,
                                          const struct firn_column_chunk *chunk, int64_t row_count,
                                          const struct firn_chunk_source *source,
                                          struct firn_chunk_reader_options options, struct firn_chunk_reader **out)
{
    if (chunk->is_encrypted)
        return firn_fail(op, FIRN_UNSUPPORTED, "column '%.*s' is encrypted", FIRN_FMT(leaf->path));
    if (chunk->file_path.len > 0)
        return firn_fail(op, FIRN_UNSUPPORTED, "column '%.*s' lies in another file, '%.*s'", FIRN_FMT(leaf->path),
                         FIRN_FMT(chunk->file_path));
    struct firn_chunk_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return firn_fail(op, FIRN_LIMIT, "the system has no memory for a column reader");
    reader->leaf = leaf;
    reader->chunk = chunk;
    reader->options = options;
    reader->row_count = row_count;
    find_least_def(reader);
    firn_page_stream_init(&reader->pages, source);
    reader->values = (struct firn_value_decoder){ .type = leaf->type, .type_length = leaf->type_length };
    reader->dictionary_values = reader->values;
    reader->codec_context = options.codec_context;
    reader->owns_codec_context = !options.codec_context;
    if (reader->owns_codec_context) {
        firn_status status = firn_codec_context_open(op, &reader->codec_context);
        if (status != FIRN_OK) {
            free(reader);
            return status;
        }
    }
    *out = reader;
    return FIRN_OK;
}

void firn_chunk_reader_close(struct firn_chunk_reader *reader)
{
    if (!reader)
        return;
    if (reader->owns_codec_context)
        firn_codec_context_close(reader->codec_context);
    firn_page_stream_done(&reader->pages);
    firn_buffer_done(&reader->page_ahead);
    firn_buffer_done(&reader->page);
    firn_buffer_done(&reader->rep);
    firn_buffer_done(&reader->def);
    firn_buffer_done(&reader->indices);
    firn_value_decoder_done(&reader->values);
    firn_buffer_done(&reader->dictionary_bytes);
    firn_buffer_done(&reader->dictionary_page);
    firn_buffer_done(&reader->unfolded);
    firn_value_decoder_done(&reader->dictionary_values);
    free(reader);
}

/* Gives `body` as it is when it is not compressed, else its content in `buffer`. */
static firn_status decompress(struct firn_op *op, struct firn_chunk_reader *reader, struct firn_bytes body, size_t len,
                              struct firn_buffer *buffer, struct firn_bytes *out)
{
    enum firn_codec codec = reader->chunk->codec;
    if (codec == FIRN_CODEC_NONE) {
        *out = body;
        return FIRN_OK;
    }
    if (len > FIRN_PAGE_BYTES_MAX)
        return firn_fail(op, FIRN_LIMIT, "page of %zu bytes, the limit is %" PRId64, len, FIRN_PAGE_BYTES_MAX);
    if (!firn_codec_length_plausible(codec, body, len))
        return firn_fail(op, FIRN_CORRUPT, "%zu bytes of %s data do not expand to the announced %zu", body.len,
                         firn_codec_name(codec), len);
    FIRN_TRY(firn_buffer_resize(op, buffer, len));
    FIRN_TRY(firn_codec_decompress(op, reader->codec_context, codec, body, buffer->data, len));
    *out = firn_buffer_bytes(buffer);
    return FIRN_OK;
}

/* Has the dictionary page's body stay when the chunk moves on. */
static firn_status keep_dictionary(struct firn_op *op, struct firn_chunk_reader *reader)
{
    struct firn_bytes *body = &reader->dictionary_head.body;
    if (!reader->pages.source.read)
        return FIRN_OK;
    FIRN_TRY(firn_buffer_append(op, &reader->dictionary_bytes, body->data, body->len));
    *body = firn_buffer_bytes(&reader->dictionary_bytes);
    return FIRN_OK;
}

/* Dictionary pages hold PLAIN values, by either name. */
static firn_status note_dictionary(struct firn_op *op, struct firn_chunk_reader *reader, const struct firn_page *page)
{
    const struct firn_page_header *header = &page->header;
    if (reader->has_dictionary)
        return firn_fail(op, FIRN_CORRUPT, "second dictionary in one column chunk");
    if (header->encoding != FIRN_ENCODING_PLAIN && !firn_encoding_is_dictionary(header->encoding))
        return firn_fail(op, FIRN_CORRUPT, "dictionary encoded as %s", firn_encoding_name(header->encoding));
    reader->dictionary_head = *page;
    reader->has_dictionary = true;
    return keep_dictionary(op, reader);
}

static firn_status decode_dictionary(struct firn_op *op, struct firn_chunk_reader *reader)
{
    const struct firn_page *page = &reader->dictionary_head;
    uint32_t count = (uint32_t)page->header.value_count;
    struct firn_bytes *content = &reader->dictionary_content;
    FIRN_TRY(
        decompress(op, reader, page->body, (size_t)page->header.uncompressed_bytes, &reader->dictionary_page, content));
    FIRN_TRY(firn_values_decode(op, &reader->dictionary_values, FIRN_ENCODING_PLAIN, *content, count));
    reader->dictionary = (struct firn_dictionary){
        .id = firn_hash64(*content),
        .type = reader->leaf->type,
        .type_length = reader->leaf->type_length,
        .count = count,
        .values.any = reader->dictionary_values.values.data,
    };
    return FIRN_OK;
}

static firn_status read_dictionary(struct firn_op *op, struct firn_chunk_reader *reader)
{
    if (!reader->has_dictionary || reader->is_dictionary_read)
        return FIRN_OK;
    firn_status status = decode_dictionary(op, reader);
    reader->is_dictionary_read = status == FIRN_OK;
    return firn_context(op, status, "dictionary page");
}

/* v1: the whole body is compressed; each section of levels has its length in front. */
static firn_status open_content_v1(struct firn_op *op, struct firn_chunk_reader *reader, struct firn_buffer *buffer,
                                   struct content *out)
{
    const struct firn_page_header *header = &reader->ahead.header;
    const struct firn_parquet_node *leaf = reader->leaf;
    uint32_t count = (uint32_t)header->value_count;
    struct firn_bytes body;
    FIRN_TRY(decompress(op, reader, reader->ahead.body, (size_t)header->uncompressed_bytes, buffer, &body));

    struct firn_cursor in = firn_cursor_of(body);
    *out = (struct content){
        .rep_encoding = header->rep_encoding,
        .def_encoding = header->def_encoding,
        .encoding = header->encoding,
    };
    if (leaf->rep_max > 0)
        FIRN_TRY(firn_levels_take(op, &in, header->rep_encoding, leaf->rep_max, count, &out->rep));
    if (leaf->def_max > 0)
        FIRN_TRY(firn_levels_take(op, &in, header->def_encoding, leaf->def_max, count, &out->def));
    out->values = firn_take_bytes(&in, firn_cursor_left(&in));
    return FIRN_OK;
}

/* v2: levels lie in front, never compressed; only what follows may be. */
static firn_status open_content_v2(struct firn_op *op, struct firn_chunk_reader *reader, struct firn_buffer *buffer,
                                   struct content *out)
{
    const struct firn_page_header *header = &reader->ahead.header;
    struct firn_cursor in = firn_cursor_of(reader->ahead.body);
    *out = (struct content){
        .rep_encoding = FIRN_ENCODING_RLE,
        .def_encoding = FIRN_ENCODING_RLE,
        .encoding = header->encoding,
        .page_v2 = true,
    };
    out->rep = firn_take_bytes(&in, (uint64_t)header->rep_bytes);
    out->def = firn_take_bytes(&in, (uint64_t)header->def_bytes);
    out->values = firn_take_bytes(&in, firn_cursor_left(&in));
    FIRN_TRY(firn_cursor_finish(op, &in, "page with levels"));
    if (!header->is_compressed || out->values.len == 0) /* a page of nulls may have no values, whatever the codec */
        return FIRN_OK;
    size_t len = (size_t)header->uncompressed_bytes - (size_t)header->rep_bytes - (size_t)header->def_bytes;
    return decompress(op, reader, out->values, len, buffer, &out->values);
}

static firn_status decode_levels(struct firn_op *op, struct firn_chunk_reader *reader, const struct content *content,
                                 struct firn_vector *out)
{
    uint32_t count = out->slot_count;
    if (out->rep_max > 0) {
        FIRN_TRY(firn_levels_decode(op, content->rep, content->rep_encoding, out->rep_max, count, &reader->rep));
        out->rep = reader->rep.data;
        out->row_count = (uint32_t)firn_count_u8(out->rep, count, 0);
    }
    if (out->def_max > 0 && !firn_levels_all_max(content->def, content->def_encoding, out->def_max, count)) {
        FIRN_TRY(firn_levels_decode(op, content->def, content->def_encoding, out->def_max, count, &reader->def));
        out->value_count = (uint32_t)firn_count_u8(reader->def.data, count, out->def_max);
        out->def = out->value_count == count ? NULL : reader->def.data;
    }
    return FIRN_OK;
}

static firn_status decode_by_dictionary(struct firn_op *op, struct firn_chunk_reader *reader, struct firn_bytes in,
                                        struct firn_vector *out)
{
    const struct firn_dictionary *dictionary = &reader->dictionary;
    if (!reader->has_dictionary && out->value_count > 0)
        return firn_fail(op, FIRN_CORRUPT, "page refers to a dictionary, but there is none");
    FIRN_TRY(read_dictionary(op, reader));
    FIRN_TRY(firn_indices_decode(op, in, out->value_count, dictionary->count, &reader->indices));
    const uint32_t *indices = (const uint32_t *)(const void *)reader->indices.data;
    if (reader->options.keep_dictionary) {
        out->indices = indices;
        out->dictionary = dictionary;
        return FIRN_OK;
    }
    size_t width = firn_value_width(out->type, out->type_length);
    FIRN_TRY(firn_buffer_resize_array(op, &reader->values.values, out->value_count, width));
    firn_gather(dictionary->values.any, width, indices, out->value_count, reader->values.values.data);
    out->values.any = reader->values.values.data;
    return FIRN_OK;
}

static firn_status decode_values(struct firn_op *op, struct firn_chunk_reader *reader, struct firn_vector *out)
{
    const struct content *content = &reader->content;
    if (firn_encoding_is_dictionary(content->encoding))
        return decode_by_dictionary(op, reader, content->values, out);
    FIRN_TRY(firn_values_decode(op, &reader->values, content->encoding, content->values, out->value_count));
    out->values.any = reader->values.values.data;
    return FIRN_OK;
}

/* A slot that continues a list is an element of it, as the slot before is: both are defined at least that far. */
static firn_status check_levels(struct firn_op *op, struct firn_chunk_reader *reader, const struct firn_vector *vector)
{
    if (vector->rep_max == 0 || vector->slot_count == 0)
        return FIRN_OK;
    const uint8_t *rep = vector->rep, *def = vector->def;
    uint8_t before = reader->last_def;
    reader->last_def = def ? def[vector->slot_count - 1] : vector->def_max;
    if (before < reader->least_def[rep[0]])
        return firn_fail(op, FIRN_CORRUPT, "page continues a list that has no element");
    bool wrong = false;
    for (uint32_t i = 0; def && i < vector->slot_count; i++) {
        wrong |= FIRN_MIN(before, def[i]) < reader->least_def[rep[i]];
        before = def[i];
    }
    if (wrong)
        return firn_fail(op, FIRN_CORRUPT, "levels contradict each other: a list goes on without an element");
    return FIRN_OK;
}

/* Keeps count, so that the chunk has no more rows than its row group. */
static firn_status count_rows(struct firn_op *op, struct firn_chunk_reader *reader, uint32_t row_count)
{
    reader->rows_seen += row_count;
    if (reader->rows_seen > reader->row_count)
        return firn_fail(op, FIRN_CORRUPT, "column has more than the %" PRId64 " rows of its row group",
                         reader->row_count);
    return FIRN_OK;
}

static firn_status count_page(struct firn_op *op, struct firn_chunk_reader *reader, const struct firn_vector *vector)
{
    bool starts_row = !vector->rep || vector->rep[0] == 0;
    if (!starts_row && reader->rows_seen == 0)
        return firn_fail(op, FIRN_CORRUPT, "first page of the column begins within a row");
    return count_rows(op, reader, vector->row_count);
}

/* Cuts up the page ahead, decompressing it into `buffer` if need be. */
static firn_status open_content(struct firn_op *op, struct firn_chunk_reader *reader, struct firn_buffer *buffer,
                                struct content *out)
{
    return reader->ahead.header.type == FIRN_PAGE_DATA ? open_content_v1(op, reader, buffer, out)
                                                       : open_content_v2(op, reader, buffer, out);
}

/* Looks into the page ahead; the current page stays as it is. */
static firn_status open_ahead(struct firn_op *op, struct firn_chunk_reader *reader)
{
    if (!reader->is_open)
        FIRN_TRY(open_content(op, reader, &reader->page_ahead, &reader->content_ahead));
    reader->is_open = true;
    return FIRN_OK;
}

/* Leaves the current page behind: the one ahead is it now. */
static void enter_ahead(struct firn_chunk_reader *reader)
{
    reader->has_ahead = reader->is_open = false;
    reader->page_offset = reader->ahead.offset;
    reader->slots_seen += reader->ahead.header.value_count;
}

/* The content of the page that becomes the current one. */
static firn_status take_content(struct firn_op *op, struct firn_chunk_reader *reader)
{
    if (!reader->is_open)
        return open_content(op, reader, &reader->page, &reader->content);
    struct firn_buffer left = reader->page;
    reader->content = reader->content_ahead;
    reader->page = reader->page_ahead;
    reader->page_ahead = left;
    return FIRN_OK;
}

static firn_status read_levels(struct firn_op *op, struct firn_chunk_reader *reader, struct firn_vector *out)
{
    const struct firn_parquet_node *leaf = reader->leaf;
    uint32_t count = (uint32_t)reader->ahead.header.value_count;
    FIRN_TRY(take_content(op, reader));
    enter_ahead(reader);
    *out = (struct firn_vector){
        .type = leaf->type,
        .type_length = leaf->type_length,
        .rep_max = leaf->rep_max,
        .def_max = leaf->def_max,
        .slot_count = count,
        .value_count = count,
        .row_count = count,
    };
    FIRN_TRY(decode_levels(op, reader, &reader->content, out));
    FIRN_TRY(count_page(op, reader, out));
    return check_levels(op, reader, out);
}

/* No page may hold more than the chunk announces. */
static firn_status check_slots(struct firn_op *op, const struct firn_chunk_reader *reader, const struct firn_page *page)
{
    int64_t left = reader->chunk->value_count - reader->slots_seen;
    if (page->header.value_count > left)
        return firn_fail(op, FIRN_CORRUPT, "page has %" PRId32 " values, the column only %" PRId64 " more",
                         page->header.value_count, left);
    return FIRN_OK;
}

static firn_status check_end(struct firn_op *op, const struct firn_chunk_reader *reader)
{
    if (reader->slots_seen != reader->chunk->value_count || reader->rows_seen != reader->row_count)
        return firn_fail(op, FIRN_CORRUPT,
                         "pages end after %" PRId64 " values of %" PRId64 " rows, announced are %" PRId64
                         " values of %" PRId64 " rows",
                         reader->slots_seen, reader->rows_seen, reader->chunk->value_count, reader->row_count);
    return FIRN_OK;
}

/* Reads headers until one is of a page with data. Bytes behind the last value are padding. */
static firn_status look_ahead(struct firn_op *op, struct firn_chunk_reader *reader)
{
    while (!reader->has_ahead && reader->slots_seen < reader->chunk->value_count &&
           firn_page_stream_has_more(&reader->pages)) {
        struct firn_page *page = &reader->ahead;
        reader->page_index++;
        FIRN_TRY(firn_page_stream_next(op, &reader->pages, reader->options.crc_check, page));
        if (page->header.type == FIRN_PAGE_DICTIONARY)
            FIRN_TRY(note_dictionary(op, reader, page));
        else
            reader->has_ahead = page->header.type != FIRN_PAGE_INDEX && page->header.value_count > 0;
        if (!reader->has_ahead)
            firn_page_stream_drop(&reader->pages);
    }
    return reader->has_ahead ? check_slots(op, reader, &reader->ahead) : check_end(op, reader);
}

/* Names the page that a failure is about: the one ahead, or the one that begins at `offset`. */
static firn_status in_page(struct firn_op *op, firn_status status, const struct firn_chunk_reader *reader,
                           uint64_t offset)
{
    if (status == FIRN_OK)
        return status;
    return firn_context(op, status, "column '%.*s', page %" PRIu32 " at byte %" PRIu64 " of its chunk",
                        FIRN_FMT(reader->leaf->path), reader->page_index, offset);
}

firn_status firn_chunk_reader_peek(struct firn_op *op, struct firn_chunk_reader *reader, struct firn_page *out,
                                   bool *has_page)
{
    uint64_t offset = reader->has_ahead ? reader->ahead.offset : firn_page_stream_offset(&reader->pages);
    FIRN_TRY(in_page(op, look_ahead(op, reader), reader, offset));
    *has_page = reader->has_ahead;
    *out = reader->ahead;
    return FIRN_OK;
}

firn_status firn_chunk_reader_next_levels(struct firn_op *op, struct firn_chunk_reader *reader, struct firn_vector *out,
                                          bool *has_page)
{
    struct firn_page page;
    FIRN_TRY(firn_chunk_reader_peek(op, reader, &page, has_page));
    return *has_page ? in_page(op, read_levels(op, reader, out), reader, page.offset) : FIRN_OK;
}

firn_status firn_chunk_reader_values(struct firn_op *op, struct firn_chunk_reader *reader, struct firn_vector *vector)
{
    return in_page(op, decode_values(op, reader, vector), reader, reader->page_offset);
}

firn_status firn_chunk_reader_next(struct firn_op *op, struct firn_chunk_reader *reader, struct firn_vector *out,
                                   bool *has_page)
{
    FIRN_TRY(firn_chunk_reader_next_levels(op, reader, out, has_page));
    return *has_page ? firn_chunk_reader_values(op, reader, out) : FIRN_OK;
}

firn_status firn_chunk_reader_strict(struct firn_op *op, struct firn_chunk_reader *reader, bool *is_strict)
{
    FIRN_TRY(in_page(op, open_ahead(op, reader), reader, reader->ahead.offset));
    *is_strict = reader->content_ahead.encoding != FIRN_ENCODING_DELTA_BINARY_PACKED ||
                 firn_delta_is_strict(reader->content_ahead.values, firn_value_width(reader->leaf->type, 0));
    return FIRN_OK;
}

firn_status firn_chunk_reader_pass(struct firn_op *op, struct firn_chunk_reader *reader, uint32_t row_count)
{
    uint32_t slot_count = (uint32_t)reader->ahead.header.value_count;
    firn_status status = FIRN_OK;
    assert(reader->has_ahead);
    enter_ahead(reader);
    reader->last_def = reader->leaf->def_max; /* an element, as far as is known */
    if (row_count > slot_count || (reader->leaf->rep_max == 0 && row_count < slot_count))
        status = firn_fail(op, FIRN_CORRUPT, "page of %" PRIu32 " values is said to hold %" PRIu32 " rows", slot_count,
                           row_count);
    else
        status = count_rows(op, reader, row_count);
    return in_page(op, status, reader, reader->page_offset);
}

/* Whether the page ahead begins with a row: always in version 2, else its first repetition level tells. */
static firn_status ahead_begins_row(struct firn_op *op, struct firn_chunk_reader *reader, bool *begins)
{
    *begins = reader->ahead.header.type == FIRN_PAGE_DATA_V2;
    if (*begins)
        return FIRN_OK;
    FIRN_TRY(open_ahead(op, reader));
    struct firn_buffer first = { 0 };
    firn_status status = firn_levels_decode(op, reader->content_ahead.rep, reader->content_ahead.rep_encoding,
                                            reader->leaf->rep_max, 1, &first);
    *begins = status == FIRN_OK && first.data[0] == 0;
    firn_buffer_done(&first);
    return status;
}

firn_status firn_chunk_reader_at_row_end(struct firn_op *op, struct firn_chunk_reader *reader, bool *at_end)
{
    struct firn_page page;
    bool has_page;
    *at_end = true;
    if (reader->leaf->rep_max == 0)
        return FIRN_OK;
    FIRN_TRY(firn_chunk_reader_peek(op, reader, &page, &has_page));
    return has_page ? in_page(op, ahead_begins_row(op, reader, at_end), reader, page.offset) : FIRN_OK;
}

firn_status firn_chunk_reader_dictionary(struct firn_op *op, struct firn_chunk_reader *reader,
                                         const struct firn_dictionary **out)
{
    const struct firn_page *page = &reader->dictionary_head;
    *out = reader->has_dictionary ? &reader->dictionary : NULL;
    return in_page(op, read_dictionary(op, reader), reader, page->offset);
}

/* Unfolding. */

/* Whether the page after the one ahead is of indices, too. */
static firn_status more_indices_follow(struct firn_op *op, struct firn_chunk_reader *reader, bool *follow)
{
    struct firn_page_header next;
    *follow = false;
    if (reader->slots_seen + reader->ahead.header.value_count >= reader->chunk->value_count ||
        !firn_page_stream_has_more(&reader->pages))
        return FIRN_OK;
    FIRN_TRY(firn_page_stream_peek(op, &reader->pages, &next));
    *follow = firn_encoding_is_dictionary(next.encoding);
    return FIRN_OK;
}

/* How many slots of the opened page ahead have values; false when its levels are broken. */
static bool count_values_ahead(const struct firn_chunk_reader *reader, uint32_t *out)
{
    const struct content *content = &reader->content_ahead;
    uint8_t def_max = reader->leaf->def_max;
    uint32_t slots = (uint32_t)reader->ahead.header.value_count;
    int64_t histogram[UINT8_MAX + 1];
    *out = slots;
    if (def_max == 0 || firn_levels_all_max(content->def, content->def_encoding, def_max, slots))
        return true;
    if (content->def_encoding != FIRN_ENCODING_RLE || !firn_levels_count(content->def, def_max, slots, histogram))
        return false;
    *out = (uint32_t)histogram[def_max];
    return true;
}

/* Whether the opened page ahead names each value of the dictionary once, in order. */
static firn_status is_in_order(struct firn_op *op, struct firn_chunk_reader *reader, bool *in_order)
{
    uint32_t count, wrong = 0;
    *in_order = count_values_ahead(reader, &count) && count == (uint32_t)reader->dictionary_head.header.value_count;
    if (!*in_order)
        return FIRN_OK;
    FIRN_TRY(firn_indices_decode(op, reader->content_ahead.values, count, count, &reader->indices));
    const uint32_t *indices = (const uint32_t *)(const void *)reader->indices.data;
    for (uint32_t i = 0; i < count; i++)
        wrong |= indices[i] ^ i;
    *in_order = wrong == 0;
    return FIRN_OK;
}

/* Levels as they are, then the dictionary page's values: in version 1 compressed together, in version 2 apart. */
static firn_status put_unfolded(struct firn_op *op, struct firn_chunk_reader *reader, struct firn_page *out, bool *done)
{
    const struct firn_page *dictionary = &reader->dictionary_head;
    const struct firn_page_header *header = &reader->ahead.header;
    bool is_v1 = header->type == FIRN_PAGE_DATA;
    struct firn_bytes levels = { reader->ahead.body.data, (size_t)header->def_bytes + (size_t)header->rep_bytes };
    if (is_v1) {
        struct firn_bytes whole =
            reader->chunk->codec == FIRN_CODEC_NONE ? reader->ahead.body : firn_buffer_bytes(&reader->page_ahead);
        levels = (struct firn_bytes){ whole.data, whole.len - reader->content_ahead.values.len };
    }
    struct firn_bytes tail;
    int64_t bytes = (int64_t)levels.len + dictionary->header.uncompressed_bytes;
    firn_buffer_clear(&reader->unfolded);
    *done = bytes <= FIRN_PAGE_BYTES_MAX;
    if (*done)
        FIRN_TRY(firn_codec_prepend(op, is_v1 ? reader->chunk->codec : FIRN_CODEC_NONE, levels, dictionary->body,
                                    (size_t)dictionary->header.uncompressed_bytes, &reader->unfolded, &tail, done));
    if (!*done)
        return FIRN_OK;
    *out = reader->ahead;
    out->body = firn_buffer_bytes(&reader->unfolded);
    out->tail = tail;
    out->header.encoding = FIRN_ENCODING_PLAIN;
    out->header.uncompressed_bytes = (int32_t)bytes;
    out->header.compressed_bytes = (int32_t)(out->body.len + tail.len);
    out->header.is_compressed = reader->chunk->codec != FIRN_CODEC_NONE;
    out->header.has_crc = false;
    return FIRN_OK;
}

static firn_status find_unfolds(struct firn_op *op, struct firn_chunk_reader *reader, bool *unfolds)
{
    bool follow;
    FIRN_TRY(more_indices_follow(op, reader, &follow));
    if (follow)
        return FIRN_OK;
    FIRN_TRY(open_ahead(op, reader));
    return is_in_order(op, reader, unfolds);
}

firn_status firn_chunk_reader_unfolds(struct firn_op *op, struct firn_chunk_reader *reader, bool *unfolds)
{
    const struct firn_page_header *header = &reader->ahead.header;
    int32_t count = reader->dictionary_head.header.value_count;
    *unfolds = false;
    if (!reader->has_ahead || !reader->has_dictionary || !firn_encoding_is_dictionary(header->encoding) || count == 0 ||
        count > header->value_count)
        return FIRN_OK;
    return in_page(op, find_unfolds(op, reader, unfolds), reader, reader->ahead.offset);
}

firn_status firn_chunk_reader_unfold(struct firn_op *op, struct firn_chunk_reader *reader, struct firn_page *out,
                                     bool *done)
{
    FIRN_TRY(firn_chunk_reader_unfolds(op, reader, done));
    return *done ? in_page(op, put_unfolded(op, reader, out, done), reader, reader->ahead.offset) : FIRN_OK;
}

firn_status firn_chunk_reader_packed(struct firn_op *op, struct firn_chunk_reader *reader, bool unfolded,
                                     struct firn_packed_page *out)
{
    const struct content *content = &reader->content;
    *out = (struct firn_packed_page){
        .encoding = content->encoding,
        .values = content->values,
        .page_v2 = content->page_v2,
    };
    if (!unfolded)
        return FIRN_OK;
    out->encoding = FIRN_ENCODING_PLAIN;
    FIRN_TRY(in_page(op, read_dictionary(op, reader), reader, reader->dictionary_head.offset));
    out->values = reader->dictionary_content;
    return FIRN_OK;
}
