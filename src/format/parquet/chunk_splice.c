/* Finished pages of other files, taken over as they are, or as their values are. parquet-format, "Data Pages".
 *
 * (1) What a page's bytes mean never depends on its facts: those only describe it. A page of indices goes in only where
 *     the dictionary written has, at every index of the page's own dictionary, the same value.
 * (2) A refused page leaves everything as it was.
 * (3) No page of indices comes after one of values: all writers end a dictionary that way, and Spark's vectorised
 * reader of lists has no room for indices behind values. */
#include "format/parquet/chunk_writer.h"

#include "base/math.h"
#include "format/parquet/plain_write.h"
#include "format/parquet/reader.h"

#include <libdeflate.h>

enum { SOURCE_BYTES_MIN = 32 << 10 }; /* bodies below this are copied into the chunk, which is faster then */

static bool is_data(const struct firn_page_header *header)
{
    return header->type == FIRN_PAGE_DATA || header->type == FIRN_PAGE_DATA_V2;
}

/* Levels that the column does not have may be called anything. */
static bool levels_fit(const struct firn_parquet_node *leaf, const struct firn_page_header *header)
{
    return (leaf->rep_max == 0 || header->rep_encoding == FIRN_ENCODING_RLE) &&
           (leaf->def_max == 0 || header->def_encoding == FIRN_ENCODING_RLE);
}

static bool holds_whole_rows(const struct firn_parquet_node *leaf, const struct firn_page_header *header,
                             const struct firn_page_facts *facts)
{
    return leaf->rep_max == 0 || header->type == FIRN_PAGE_DATA_V2 || (facts->begins_row && facts->ends_row);
}

static bool counts_agree(const struct firn_parquet_node *leaf, const struct firn_page_header *header,
                         const struct firn_page_facts *facts)
{
    return facts->slot_count == (uint32_t)header->value_count && facts->slot_count > 0 &&
           facts->value_count <= facts->slot_count && facts->row_count <= facts->slot_count &&
           (leaf->def_max > 0 || facts->value_count == facts->slot_count) &&
           (leaf->rep_max > 0 || facts->row_count == facts->slot_count) && facts->nan_count >= 0 &&
           facts->nan_count <= facts->value_count;
}

/* Whether there are the bounds that the chunk is to tell. */
static bool bounds_agree(const struct firn_chunk_writer *writer, const struct firn_page_facts *facts)
{
    struct firn_range range = { .min = facts->min, .max = facts->max };
    if (writer->order == FIRN_ORDER_NONE || !writer->options.statistics || facts->nan_count == facts->value_count)
        return true;
    return facts->has_bounds && firn_range_sound(writer->leaf, &range);
}

/* What a filter must know of is in the dictionary, or has to be seen. */
static bool may_filter(const struct firn_chunk_writer *writer, const struct firn_page *page,
                       const struct firn_page_facts *facts)
{
    return writer->bloom.bytes_max == 0 || facts->value_count == 0 ||
           firn_encoding_is_dictionary(page->header.encoding);
}

static bool is_fit(const struct firn_chunk_writer *writer, const struct firn_page *page,
                   const struct firn_page_facts *facts)
{
    const struct firn_page_header *header = &page->header;
    return is_data(header) && header->uncompressed_bytes <= FIRN_PAGE_BYTES_MAX &&
           header->compressed_bytes <= FIRN_PAGE_BYTES_MAX && levels_fit(writer->leaf, header) &&
           holds_whole_rows(writer->leaf, header, facts) && counts_agree(writer->leaf, header, facts) &&
           bounds_agree(writer, facts) && may_filter(writer, page, facts) &&
           (writer->page.slot_count == 0 || !firn_chunk_page_small(writer));
}

/* Whether a dictionary's values are ours at the same indices, or can become so. A page being filled with indices has
 * not decided yet whether there will be a dictionary. The answer holds as long as ours only grows. */
static firn_status match_dictionary(struct firn_op *op, struct firn_chunk_writer *writer,
                                    const struct firn_dictionary *dictionary, bool *same)
{
    struct firn_dictionary_match *match = &writer->match;
    bool undecided = writer->dictionary_state == FIRN_DICTIONARY_TRIED && writer->dictionary.count > 0;
    *same = false;
    if (!dictionary || dictionary->count == 0 || undecided || writer->dictionary_state == FIRN_DICTIONARY_LEFT)
        return FIRN_OK;
    if (match->of != dictionary || match->id != dictionary->id || dictionary->id == 0) {
        FIRN_TRY(firn_dictionary_writer_extend(op, &writer->dictionary, dictionary, &match->same));
        match->of = dictionary;
        match->id = dictionary->id;
    }
    *same = match->same;
    return FIRN_OK;
}

/* What only version 2 tells. A page without values has nothing compressed and says so, since some readers fail on an
 * empty compressed block. */
static void mend_header_v2(const struct firn_page_facts *facts, struct firn_page_header *header)
{
    header->null_count = (int32_t)(facts->slot_count - facts->value_count);
    header->row_count = (int32_t)facts->row_count;
    if (header->compressed_bytes > header->def_bytes + header->rep_bytes)
        return;
    header->is_compressed = false;
    header->uncompressed_bytes = header->compressed_bytes;
}

static uint32_t body_crc(const struct firn_page *page)
{
    uint32_t crc = page->body.len ? libdeflate_crc32(0, page->body.data, page->body.len) : 0;
    return page->tail.len ? libdeflate_crc32(crc, page->tail.data, page->tail.len) : crc;
}

/* The header as it is written: encodings by their present names, no statistics, which the page index holds. */
static struct firn_page_header make_header(const struct firn_chunk_writer *writer, const struct firn_page *page,
                                           const struct firn_page_facts *facts)
{
    struct firn_page_header header = page->header;
    header.statistics = (struct firn_parquet_statistics){ 0 };
    header.def_encoding = header.rep_encoding = FIRN_ENCODING_RLE;
    if (firn_encoding_is_dictionary(header.encoding))
        header.encoding = FIRN_ENCODING_RLE_DICTIONARY;
    if (!header.has_crc && !writer->options.splice_unchecked) {
        header.has_crc = true;
        header.crc = body_crc(page);
    }
    if (header.type == FIRN_PAGE_DATA_V2)
        mend_header_v2(facts, &header);
    return header;
}

/* Whether a page is written from where it is: what is small and alone is not copied from a source. */
static bool is_lent(const struct firn_page *page, bool has_header)
{
    return page->body.len > 0 && (page->lasts || (page->source && (has_header || page->body.len >= SOURCE_BYTES_MIN)));
}

static bool follows(const struct firn_lent_bytes *before, const struct firn_lent_bytes *lent)
{
    if (before->at != lent->at || before->source != lent->source)
        return false;
    return lent->source ? before->offset + before->len == lent->offset : before->data + before->len == lent->data;
}

static void lend(struct firn_chunk_writer *writer, struct firn_lent_bytes lent)
{
    struct firn_lent_bytes *last = writer->lent.count > 0 ? &writer->lent.items[writer->lent.count - 1] : NULL;
    lent.at = writer->bytes.len;
    writer->lent_bytes += lent.len;
    if (last && follows(last, &lent))
        last->len += lent.len;
    else
        FIRN_PUSH(&writer->results, &writer->lent, lent);
}

/* Lends a page, with or without its header. */
static void lend_page(struct firn_chunk_writer *writer, const struct firn_page *page, bool has_header)
{
    size_t skipped = has_header ? 0 : page->header_bytes.len;
    struct firn_lent_bytes lent = { .len = page->header_bytes.len - skipped + page->body.len };
    if (page->lasts) {
        lent.data = has_header ? page->header_bytes.data : page->body.data;
    } else {
        lent.source = page->source;
        lent.offset = page->source_offset + skipped;
    }
    lend(writer, lent);
}

static firn_status put_body_and_tail(struct firn_op *op, struct firn_chunk_writer *writer, const struct firn_page *page)
{
    FIRN_TRY(firn_buffer_append(op, &writer->bytes, page->body.data, page->body.len));
    if (!page->lasts)
        return firn_buffer_append(op, &writer->bytes, page->tail.data, page->tail.len);
    lend(writer, (struct firn_lent_bytes){ .data = page->tail.data, .len = page->tail.len });
    return FIRN_OK;
}

/* Puts the header as it is to be, and the body. A header that is so already is lent with its page: what is kept whole
 * then is one piece. */
static firn_status put_copy(struct firn_op *op, struct firn_chunk_writer *writer, const struct firn_page *page,
                            const struct firn_page_header *header, int64_t *header_bytes)
{
    struct firn_buffer *bytes = &writer->bytes;
    size_t before = bytes->len;
    FIRN_TRY(firn_page_header_print(op, header, bytes));
    *header_bytes = (int64_t)(bytes->len - before);
    if (page->tail.len > 0)
        return put_body_and_tail(op, writer, page);
    bool is_same = (size_t)*header_bytes == page->header_bytes.len &&
                   memcmp(bytes->data + before, page->header_bytes.data, page->header_bytes.len) == 0;
    if (!is_lent(page, is_same))
        return firn_buffer_append(op, bytes, page->body.data, page->body.len);
    if (is_same)
        bytes->len = before;
    lend_page(writer, page, is_same);
    return FIRN_OK;
}

static firn_status copy_page(struct firn_op *op, struct firn_chunk_writer *writer, const struct firn_page *page,
                             const struct firn_page_facts *facts)
{
    struct firn_page_header header = make_header(writer, page, facts);
    struct firn_page_form form = {
        .offset = firn_chunk_pages_end(writer),
        .type = header.type,
        .encoding = header.encoding,
    };
    int64_t header_bytes;
    FIRN_TRY(put_copy(op, writer, page, &header, &header_bytes));
    form.sizes = (struct firn_page_sizes){
        .uncompressed_bytes = header_bytes + header.uncompressed_bytes,
        .compressed_bytes = header_bytes + header.compressed_bytes,
    };
    return firn_chunk_record_page(op, writer, &form, facts);
}

/* Makes way for a page, if it is to go in. */
static firn_status begin_page(struct firn_op *op, struct firn_chunk_writer *writer, const struct firn_page *page,
                              const struct firn_page_facts *facts, const struct firn_dictionary *dictionary,
                              bool *taken)
{
    *taken = is_fit(writer, page, facts);
    if (*taken && firn_encoding_is_dictionary(page->header.encoding))
        FIRN_TRY(match_dictionary(op, writer, dictionary, taken));
    return *taken ? firn_chunk_end_page(op, writer) : FIRN_OK;
}

/* A page went in: what that decides about the dictionary. */
static void settle_dictionary(struct firn_chunk_writer *writer, enum firn_encoding encoding,
                              const struct firn_page_facts *facts)
{
    if (firn_encoding_is_dictionary(encoding)) {
        writer->dictionary_state = FIRN_DICTIONARY_KEPT;
        writer->dictionary_used = firn_dictionary_writer_mark(&writer->dictionary);
    } else if (facts->value_count > 0) {
        writer->dictionary_state = FIRN_DICTIONARY_LEFT; /* (3) */
    }
}

firn_status firn_chunk_writer_splice(struct firn_op *op, struct firn_chunk_writer *writer, const struct firn_page *page,
                                     const struct firn_page_facts *facts, const struct firn_dictionary *dictionary,
                                     bool *taken)
{
    FIRN_TRY(begin_page(op, writer, page, facts, dictionary, taken));
    if (!*taken)
        return FIRN_OK;
    FIRN_TRY(copy_page(op, writer, page, facts));
    settle_dictionary(writer, page->header.encoding, facts);
    return FIRN_OK;
}

/* What is asked of the page is asked before it is made. */
static struct firn_page describe_packed(const struct firn_packed_page *packed)
{
    int32_t bytes = (int32_t)FIRN_MIN(packed->values.len, INT32_MAX);
    return (struct firn_page){
        .header = { .type = packed->page_v2 ? FIRN_PAGE_DATA_V2 : FIRN_PAGE_DATA,
                    .uncompressed_bytes = bytes,
                    .compressed_bytes = bytes,
                    .value_count = (int32_t)packed->levels->slot_count,
                    .encoding = packed->encoding,
                    .def_encoding = FIRN_ENCODING_RLE,
                    .rep_encoding = FIRN_ENCODING_RLE },
    };
}

/* Levels that the vector leaves out, since each slot has a value. */
static firn_status fill_levels(struct firn_op *op, struct firn_chunk_writer *writer, const struct firn_vector *levels,
                               const uint8_t **out)
{
    *out = levels->def;
    if (levels->def || levels->def_max == 0)
        return FIRN_OK;
    FIRN_TRY(firn_buffer_resize(op, &writer->gathered, levels->slot_count));
    memset(writer->gathered.data, levels->def_max, levels->slot_count);
    *out = writer->gathered.data;
    return FIRN_OK;
}

/* The facts, with what the values' bytes tell besides. */
static struct firn_page_facts complete_facts(const struct firn_chunk_writer *writer,
                                             const struct firn_packed_page *packed, const struct firn_page_facts *facts)
{
    struct firn_page_facts complete = *facts;
    uint64_t length_bytes = (uint64_t)facts->value_count * FIRN_PLAIN_LENGTH_BYTES;
    if (writer->leaf->type == FIRN_PARQUET_BYTE_ARRAY && packed->encoding == FIRN_ENCODING_PLAIN &&
        packed->values.len >= length_bytes)
        complete.unencoded_bytes = (int64_t)(packed->values.len - length_bytes);
    return complete;
}

static firn_status put_packed(struct firn_op *op, struct firn_chunk_writer *writer,
                              const struct firn_packed_page *packed, const struct firn_page_facts *facts)
{
    const struct firn_vector *levels = packed->levels;
    struct firn_data_page page = {
        .rep = levels->rep,
        .rep_max = levels->rep_max,
        .def_max = levels->def_max,
        .slot_count = levels->slot_count,
        .value_count = levels->value_count,
        .row_count = levels->row_count,
        .encoding =
            packed->encoding == FIRN_ENCODING_PLAIN_DICTIONARY ? FIRN_ENCODING_RLE_DICTIONARY : packed->encoding,
        .values = packed->values,
        .page_v2 = packed->page_v2,
    };
    struct firn_page_form form = {
        .offset = firn_chunk_pages_end(writer),
        .type = packed->page_v2 ? FIRN_PAGE_DATA_V2 : FIRN_PAGE_DATA,
        .encoding = page.encoding,
    };
    struct firn_page_facts complete = complete_facts(writer, packed, facts);
    FIRN_TRY(fill_levels(op, writer, levels, &page.def));
    FIRN_TRY(firn_page_writer_put_data(op, &writer->pages, &page, &writer->bytes, &form.sizes));
    return firn_chunk_record_page(op, writer, &form, &complete);
}

firn_status firn_chunk_writer_repack(struct firn_op *op, struct firn_chunk_writer *writer,
                                     const struct firn_packed_page *packed, const struct firn_page_facts *facts,
                                     const struct firn_dictionary *dictionary, bool *taken)
{
    struct firn_page page = describe_packed(packed);
    FIRN_TRY(begin_page(op, writer, &page, facts, dictionary, taken));
    if (!*taken)
        return FIRN_OK;
    FIRN_TRY(put_packed(op, writer, packed, facts));
    settle_dictionary(writer, packed->encoding, facts);
    return FIRN_OK;
}

firn_status firn_chunk_writer_adopt(struct firn_op *op, struct firn_chunk_writer *writer,
                                    const struct firn_dictionary *dictionary)
{
    bool same;
    if (writer->dictionary_state != FIRN_DICTIONARY_TRIED || writer->dictionary.count > 0 ||
        writer->page.slot_count > 0)
        return FIRN_OK;
    FIRN_TRY(match_dictionary(op, writer, dictionary, &same));
    if (same)
        writer->dictionary_state = FIRN_DICTIONARY_KEPT; /* no page is asked whether it pays */
    return FIRN_OK;
}
