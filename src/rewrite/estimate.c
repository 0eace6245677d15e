/* Sampling. Each round decodes some pages and encodes them as an output would: their bytes grow with the rows, their
 * dictionary as growth.h has it. A round of few pages is enough where there is no
 * dictionary, or the answer is plain. */
#include "rewrite/estimate.h"

#include "base/math.h"
#include "rewrite/growth.h"

#define ROUND_BYTES_MAX (1 << 20) /* uncompressed, of a first round */

enum { FIRST_ROUND_PAGES = 8, ROUND_FACTOR = 4, PAGES_MAX = 2 * FIRST_ROUND_PAGES * ROUND_FACTOR };

/* A saving between these parts of the size may be another one with more pages. */
#define UNSURE_FROM 0.02
#define UNSURE_TO   0.25

/* A dictionary that grows with this power of the rows or more has hardly a value that comes twice. */
#define UNIQUE_FROM 0.95

/* One round of sampling. */
struct sample {
    struct firn_column *column;
    struct firn_window *window;
    struct firn_chunk_writer *writer;
    uint32_t pages_wanted;
    int64_t bytes_wanted; /* uncompressed */
    bool joins;           /* dictionaries are joined without asking the first page whether that pays */

    uint32_t page_count;
    int64_t bytes; /* uncompressed */
    int64_t slot_count, row_count;
    int64_t left_out_rows; /* of pages that are decoded for their size, whatever is found */
    double file_bytes;     /* as they are taken over, with their part of the dictionary page */
    bool met_dictionary;   /* what was sampled */
    bool has_dictionary;   /* what was encoded */
    struct {
        int64_t slot_count, dictionary_bytes;
    } after[PAGES_MAX]; /* each page: so far */
};

/* A chunk that pages are taken from. */
struct source {
    const struct firn_row_slice *slice;
    const struct firn_leaf_plan *plan;
    const struct firn_column_chunk *chunk;
    bool repacks;                  /* its pages would be repacked */
    bool is_found;                 /* there is something to sample, */
    struct firn_chunk_source from; /* pages wholly at hand here */
    struct firn_buffer piece;
    uint32_t page_count;      /* these, data pages */
    int64_t dictionary_bytes; /* of the dictionary page */
};

static firn_status count_pages(struct firn_op *op, struct source *source)
{
    struct firn_cursor in = firn_cursor_of(source->from.bytes);
    uint64_t beyond = source->from.len - source->from.bytes.len, missing;
    for (int64_t slots = 0; slots < source->chunk->value_count && firn_cursor_left(&in) > 0;) {
        struct firn_page page;
        FIRN_TRY(firn_page_take(op, &in, beyond, false, &page, &missing));
        if (missing > 0)
            break;
        bool is_data = page.header.type == FIRN_PAGE_DATA || page.header.type == FIRN_PAGE_DATA_V2;
        if (page.header.type == FIRN_PAGE_DICTIONARY)
            source->dictionary_bytes = firn_page_file_bytes(&page);
        if (is_data)
            slots += page.header.value_count;
        source->page_count += is_data && page.header.value_count > 0;
    }
    return FIRN_OK;
}

/* Bytes of the decoded page's values, compressed as the output has them. */
static firn_status find_packed_bytes(struct firn_op *op, struct sample *sample, struct firn_chunk_reader *reader,
                                     bool is_unfolded, double *out)
{
    const struct firn_chunk_options *options = sample->column->splicer->options;
    struct firn_packed_page packed;
    FIRN_TRY(firn_chunk_reader_packed(op, reader, is_unfolded, &packed));
    *out = (double)packed.values.len;
    if (options->codec == FIRN_CODEC_NONE)
        return FIRN_OK;
    struct firn_buffer compressed = { 0 };
    firn_status status = firn_codec_compress(op, sample->column->codec, options->codec, options->codec_level,
                                             packed.values, &compressed);
    *out = (double)compressed.len;
    firn_buffer_done(&compressed);
    return status;
}

/* The page ahead as it would be offered. */
static firn_status unfold_page(struct firn_op *op, const struct sample *sample, const struct source *source,
                               struct firn_chunk_reader *reader, struct firn_page *page, bool *is_unfolded)
{
    *is_unfolded = false;
    if (!firn_splicer_unfolds(sample->column->splicer, (uint32_t)page->header.value_count))
        return FIRN_OK;
    if (!source->repacks)
        return firn_chunk_reader_unfold(op, reader, page, is_unfolded);
    FIRN_TRY(firn_chunk_reader_unfolds(op, reader, is_unfolded));
    if (*is_unfolded)
        page->header.encoding = FIRN_ENCODING_PLAIN;
    return FIRN_OK;
}

/* Decodes the page ahead, which is `page` when it is offered. `*file_bytes`: as it would be taken over, with its part
 * of the dictionary page. */
static firn_status decode_page(struct firn_op *op, struct sample *sample, const struct source *source,
                               struct firn_chunk_reader *reader, const struct firn_page *page, bool is_unfolded,
                               struct firn_vector *out, double *file_bytes)
{
    bool has_page;
    double dictionary_bytes =
        (double)source->dictionary_bytes * page->header.value_count / (double)source->chunk->value_count;
    *file_bytes = (double)firn_page_file_bytes(page);
    FIRN_TRY(firn_chunk_reader_next(op, reader, out, &has_page));
    if (source->repacks)
        FIRN_TRY(find_packed_bytes(op, sample, reader, is_unfolded, file_bytes));
    *file_bytes += is_unfolded ? 0 : dictionary_bytes;
    return FIRN_OK;
}

/* Gives a decoded page on with the levels of the output. */
static firn_status encode_vector(struct firn_op *op, struct sample *sample, const struct source *source,
                                 const struct firn_vector *vector)
{
    struct firn_column *column = sample->column;
    struct firn_vector adapted;
    FIRN_TRY(firn_adapter_levels(op, &column->adapter, source->plan, column->leaf->node, vector, &adapted));
    firn_adapter_keep_values(vector, &adapted);
    return firn_chunk_writer_append(op, sample->writer, &adapted);
}

static firn_status leave_page_out(struct firn_op *op, struct sample *sample, struct firn_chunk_reader *reader)
{
    struct firn_vector levels;
    bool has_page;
    FIRN_TRY(firn_chunk_reader_next_levels(op, reader, &levels, &has_page));
    sample->left_out_rows += levels.row_count;
    return FIRN_OK;
}

static firn_status encode_page(struct firn_op *op, struct sample *sample, const struct source *source,
                               const struct firn_page *page, struct firn_chunk_reader *reader)
{
    struct firn_page offered = *page;
    struct firn_vector vector;
    bool is_unfolded;
    double file_bytes;
    FIRN_TRY(unfold_page(op, sample, source, reader, &offered, &is_unfolded));
    if (!firn_splicer_sizes_right(sample->column->splicer, &offered, (uint32_t)page->header.value_count,
                                  source->repacks))
        return leave_page_out(op, sample, reader);
    FIRN_TRY(decode_page(op, sample, source, reader, &offered, is_unfolded, &vector, &file_bytes));
    if (sample->joins && vector.dictionary)
        FIRN_TRY(firn_chunk_writer_adopt(op, sample->writer, vector.dictionary));
    sample->met_dictionary = sample->met_dictionary || vector.dictionary;
    FIRN_TRY(encode_vector(op, sample, source, &vector));
    sample->file_bytes += file_bytes;
    sample->bytes += page->header.uncompressed_bytes;
    sample->slot_count += vector.slot_count;
    sample->row_count += vector.row_count;
    sample->after[sample->page_count].slot_count = sample->slot_count;
    sample->after[sample->page_count].dictionary_bytes = (int64_t)firn_chunk_writer_dictionary_bytes(sample->writer);
    sample->page_count++;
    return FIRN_OK;
}

static bool is_sampled(uint32_t page, uint32_t page_count, uint32_t wanted)
{
    return (uint64_t)page * wanted / page_count != ((uint64_t)page + 1) * wanted / page_count;
}

/* Encodes `wanted` pages of a chunk, spread over it; of a nested column those in front, since the rows of a page that
 * is passed over are not known. */
static firn_status encode_pages(struct firn_op *op, struct sample *sample, const struct source *source,
                                struct firn_chunk_reader *reader, uint32_t wanted)
{
    bool is_flat = source->plan->levels->rep_max == 0;
    for (uint32_t i = 0; i < (is_flat ? source->page_count : FIRN_MIN(wanted, source->page_count)); i++) {
        struct firn_page page;
        bool has_page;
        if (sample->bytes >= sample->bytes_wanted || sample->page_count == PAGES_MAX)
            break;
        FIRN_TRY(firn_chunk_reader_peek(op, reader, &page, &has_page));
        if (!has_page)
            break;
        if (!is_flat || is_sampled(i, source->page_count, wanted))
            FIRN_TRY(encode_page(op, sample, source, &page, reader));
        else
            FIRN_TRY(firn_chunk_reader_pass(op, reader, (uint32_t)page.header.value_count));
    }
    return FIRN_OK;
}

static firn_status sample_chunk(struct firn_op *op, struct sample *sample, struct source *source, uint32_t wanted)
{
    struct firn_chunk_reader *reader;
    struct firn_chunk_reader_options options = { .keep_dictionary = true, .codec_context = sample->column->codec };
    FIRN_TRY(count_pages(op, source));
    FIRN_TRY(firn_chunk_reader_open_source(op, source->plan->levels, source->chunk, source->slice->row_count,
                                           &source->from, options, &reader));
    firn_status status = encode_pages(op, sample, source, reader, wanted);
    firn_chunk_reader_close(reader);
    return status;
}

/* The bytes of a large file's chunk: what the column has read, or the first piece where it does not keep it. */
static firn_status find_large_source(struct firn_op *op, struct sample *sample, struct source *out)
{
    struct firn_column *column = sample->column;
    if (column->chunk.len > 0) {
        out->from = firn_chunk_source_of(firn_buffer_bytes(&column->chunk));
        return FIRN_OK;
    }
    FIRN_TRY(firn_row_slice_chunk(op, out->slice, out->plan->levels, NULL, &out->from));
    out->from.piece_bytes = FIRN_MIN(out->from.piece_bytes, 2 * (size_t)sample->bytes_wanted);
    return firn_chunk_source_begin(op, &out->from, &out->piece);
}

/* Where a slice's chunk lies, if its pages may be taken over and its bytes are at hand. */
static firn_status find_source(struct firn_op *op, struct sample *sample, size_t index, struct source *out)
{
    struct firn_column *column = sample->column;
    const struct firn_row_slice *slice = &sample->window->slices.items[index];
    const struct firn_leaf_plan *plan = firn_row_slice_plan(slice, column->leaf->node->leaf_index);
    *out = (struct source){ .slice = slice, .plan = plan };
    if (!plan->levels)
        return FIRN_OK;
    out->chunk = firn_row_slice_column(slice, plan->levels);
    struct firn_chunk_terms terms = firn_splicer_terms(column->splicer, plan, out->chunk);
    out->repacks = terms.repack != FIRN_REASON_NONE;
    if (terms.refusal != FIRN_REASON_NONE)
        return FIRN_OK;
    out->is_found = firn_row_slice_in_memory(slice) || (index == column->slice && column->reader);
    if (firn_row_slice_in_memory(slice))
        return firn_row_slice_chunk(op, slice, plan->levels, NULL, &out->from);
    return out->is_found ? find_large_source(op, sample, out) : FIRN_OK;
}

static firn_status sample_slice(struct firn_op *op, struct sample *sample, size_t index, uint32_t wanted)
{
    struct source source;
    firn_status status = find_source(op, sample, index, &source);
    if (status == FIRN_OK && source.is_found && source.from.bytes.len > 0)
        status = sample_chunk(op, sample, &source, wanted);
    firn_buffer_done(&source.piece);
    return firn_context(op, status, "data file %.*s", FIRN_FMT(firn_row_slice_path(source.slice)));
}

static firn_status sample_slices(struct firn_op *op, struct sample *sample)
{
    size_t first = sample->column->slice, count = sample->window->slices.count - first;
    size_t sampled = FIRN_MIN(count, sample->pages_wanted);
    uint32_t wanted = (uint32_t)((sample->pages_wanted + sampled - 1) / FIRN_MAX(sampled, 1));
    for (size_t i = 0; i < sampled; i++) {
        FIRN_TRY(firn_op_check(op));
        FIRN_TRY(sample_slice(op, sample, first + (2 * i + 1) * count / (2 * sampled), wanted));
    }
    return FIRN_OK;
}

/* What was there after a part of the sampled pages. */
static struct firn_growth_point point_after(const struct sample *sample, uint32_t page_count)
{
    if (page_count == 0)
        return (struct firn_growth_point){ 0 };
    return (struct firn_growth_point){ (double)sample->after[page_count - 1].slot_count,
                                       (double)sample->after[page_count - 1].dictionary_bytes };
}

static struct firn_growth fit_growth(const struct sample *sample)
{
    uint32_t count = sample->page_count;
    return firn_growth_fit(point_after(sample, count / 4), point_after(sample, count / 2), point_after(sample, count));
}

/* From the sample to `rows` rows. Once a dictionary is full, what follows is as large as it was. */
static void extrapolate(const struct sample *sample, const struct firn_encoded_chunk *chunk, double rows,
                        struct firn_estimate *out)
{
    *out = (struct firn_estimate){ .is_known = sample->page_count > 0 };
    if (!out->is_known)
        return;
    double scale = FIRN_MAX(rows / (double)FIRN_MAX(sample->row_count + sample->left_out_rows, 1), 1);
    double dictionary = (double)chunk->metadata.data_page_offset; /* it lies before the data */
    double data = (double)chunk->metadata.compressed_bytes - dictionary, fits = 1;
    if (dictionary > 0) {
        struct firn_growth growth = fit_growth(sample);
        double most = sample->column->splicer->options->dictionary_bytes_max;
        fits = FIRN_MIN(firn_growth_rows(&growth, most) / growth.end.rows / scale, 1);
        dictionary *= firn_growth_bytes(&growth, growth.end.rows * scale * fits) / FIRN_MAX(growth.end.bytes, 1);
    }
    out->copied_bytes = sample->file_bytes * scale;
    out->encoded_bytes = data * scale * fits + dictionary + out->copied_bytes * (1 - fits);
}

static firn_status run_round(struct firn_op *op, struct sample *sample, double rows, struct firn_estimate *out)
{
    struct firn_chunk_options options = *sample->column->splicer->options;
    struct firn_encoded_chunk chunk;
    options.codec_context = sample->column->codec;
    options.statistics = false;
    FIRN_TRY(firn_chunk_writer_open(op, sample->column->leaf->node, &options, &sample->writer));
    firn_status status = sample_slices(op, sample);
    if (status == FIRN_OK)
        status = firn_chunk_writer_finish(op, sample->writer, &chunk);
    firn_chunk_writer_close(sample->writer);
    FIRN_TRY(status);
    sample->has_dictionary = chunk.metadata.data_page_offset > 0;
    extrapolate(sample, &chunk, rows, out);
    firn_encoded_chunk_done(&chunk);
    return FIRN_OK;
}

/* Whether more pages may give another answer: how a dictionary grows shows late, how values compress at once. */
static bool is_unsure(const struct sample *sample, const struct firn_estimate *estimate)
{
    double saved = 1 - estimate->encoded_bytes / FIRN_MAX(estimate->copied_bytes, 1);
    return sample->has_dictionary && saved > UNSURE_FROM && saved < UNSURE_TO;
}

static struct sample new_sample(struct firn_column *column, struct firn_window *window, uint32_t factor)
{
    return (struct sample){
        .column = column,
        .window = window,
        .pages_wanted = FIRST_ROUND_PAGES * factor,
        .bytes_wanted = ROUND_BYTES_MAX * (int64_t)factor,
    };
}

/* Pages of different dictionaries are not copied with them but take a joint one (firn_chunk_writer_adopt). Where
 * encoding anew would have none, since few values come twice in its first page, that may be the smaller way. */
static firn_status try_joining(struct firn_op *op, const struct sample *tried, double rows, struct firn_estimate *out)
{
    struct firn_estimate joined;
    bool is_likely = !tried->has_dictionary && tried->met_dictionary;
    for (uint32_t factor = 1; is_likely && factor <= ROUND_FACTOR; factor *= ROUND_FACTOR) {
        if (out->encoded_bytes > (1 - UNSURE_FROM) * out->copied_bytes)
            return FIRN_OK;
        struct sample sample = new_sample(tried->column, tried->window, factor);
        sample.joins = true;
        FIRN_TRY(run_round(op, &sample, rows, &joined));
        out->copied_bytes = FIRN_MIN(out->copied_bytes, joined.encoded_bytes);
        is_likely = fit_growth(&sample).exponent < UNIQUE_FROM;
    }
    return FIRN_OK;
}

firn_status firn_estimate_column(struct firn_op *op, struct firn_column *column, struct firn_window *window,
                                 double rows, struct firn_estimate *out)
{
    struct sample sample = new_sample(column, window, 1);
    FIRN_TRY(run_round(op, &sample, rows, out));
    if (out->is_known && is_unsure(&sample, out)) {
        sample = new_sample(column, window, ROUND_FACTOR);
        FIRN_TRY(run_round(op, &sample, rows, out));
    }
    return out->is_known ? try_joining(op, &sample, rows, out) : FIRN_OK;
}
