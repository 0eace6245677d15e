/* What a rewrite would do, told from the first inputs of a group: their footers, and samples of those that are small
 * enough to be read at once. */
#include "rewrite/rewrite.h"

#include "base/math.h"
#include "rewrite/estimate.h"

enum { FILES_MAX = 4 };

/* Bytes of a leaf's data pages by what would be done to them. */
struct tally {
    uint64_t bytes[FIRN_RUNG_COUNT][FIRN_REASON_COUNT];
};

struct expecting {
    struct firn_group_run *run;
    struct firn_window window;
    uint64_t group_bytes; /* of all inputs */
    uint32_t group_inputs;
};

static bool has_dictionary(const struct firn_column_chunk *chunk)
{
    for (uint32_t i = 0; i < chunk->encoding_count; i++)
        if (firn_encoding_is_dictionary(chunk->encodings[i]))
            return true;
    return false;
}

/* Data pages of a chunk: as it says itself, or as most writers cut them. */
static int64_t page_count(const struct firn_column_chunk *chunk)
{
    int64_t count = 0;
    for (uint32_t i = 0; i < chunk->encoding_stats_count; i++)
        if (chunk->encoding_stats[i].page_type == FIRN_PAGE_DATA ||
            chunk->encoding_stats[i].page_type == FIRN_PAGE_DATA_V2)
            count += FIRN_MAX(chunk->encoding_stats[i].count, 0);
    return count > 0 ? count : 1 + FIRN_MAX(chunk->uncompressed_bytes, 0) / (1 << 20);
}

/* A page as the chunk's are on average. */
static struct firn_page average_page(const struct firn_column_chunk *chunk)
{
    int64_t bytes = FIRN_MAX(chunk->uncompressed_bytes, 0) / page_count(chunk);
    return (struct firn_page){
        .header = { .type = FIRN_PAGE_DATA,
                    .encoding = FIRN_ENCODING_PLAIN,
                    .def_encoding = FIRN_ENCODING_RLE,
                    .rep_encoding = FIRN_ENCODING_RLE,
                    .uncompressed_bytes = (int32_t)FIRN_MIN(bytes, INT32_MAX) },
    };
}

/* Adds so many bytes in pages like this one, which nothing but `reason` keeps from being taken over. */
static void add_page(const struct firn_splicer *splicer, const struct firn_page *page, bool by_index,
                     enum firn_rung_reason reason, int64_t bytes, struct tally *tally)
{
    enum firn_rung rung = firn_splicer_decoded_rung(splicer, by_index);
    if (reason == FIRN_REASON_NONE) {
        reason = firn_splicer_repacks(splicer, page);
        rung = reason == FIRN_REASON_NONE ? FIRN_RUNG_SPLICE : FIRN_RUNG_REPACK;
    }
    tally->bytes[rung][reason] += (uint64_t)FIRN_MAX(bytes, 0);
}

/* A chunk of which the footer alone is at hand. */
static void add_average(const struct expecting *expecting, const struct firn_splicer *splicer,
                        const struct firn_column_chunk *chunk, int64_t row_count, struct tally *tally)
{
    struct firn_page page = average_page(chunk);
    bool by_index = has_dictionary(chunk);
    enum firn_rung_reason reason = firn_splicer_refusal(splicer, &page, (uint32_t)(row_count / page_count(chunk)));
    if (reason == FIRN_REASON_NONE && by_index && expecting->group_inputs > 1)
        reason = FIRN_REASON_DICTIONARY;
    add_page(splicer, &page, by_index, reason, chunk->compressed_bytes, tally);
}

/* The page that the reader stands before, as it would be offered. Rows of a nested column are at most its slots. */
static firn_status add_page_ahead(struct firn_op *op, const struct expecting *expecting,
                                  const struct firn_splicer *splicer, struct firn_chunk_reader *reader,
                                  struct firn_page page, struct tally *tally)
{
    uint32_t row_count = (uint32_t)page.header.value_count;
    bool by_index = firn_encoding_is_dictionary(page.header.encoding), is_unfolded = false, is_strict = true;
    if (firn_splicer_may_copy(splicer) && firn_splicer_unfolds(splicer, row_count))
        FIRN_TRY(firn_chunk_reader_unfold(op, reader, &page, &is_unfolded));
    if (firn_splicer_looks_into(splicer, &page))
        FIRN_TRY(firn_chunk_reader_strict(op, reader, &is_strict));
    enum firn_rung_reason reason = firn_splicer_refusal(splicer, &page, row_count);
    if (reason == FIRN_REASON_NONE && !is_strict)
        reason = FIRN_REASON_LEGACY_ENCODING;
    if (reason == FIRN_REASON_NONE && by_index && !is_unfolded && expecting->group_inputs > 1)
        reason = FIRN_REASON_DICTIONARY;
    add_page(splicer, &page, by_index, reason, firn_page_file_bytes(&page), tally);
    return FIRN_OK;
}

static firn_status add_pages(struct firn_op *op, const struct expecting *expecting, const struct firn_splicer *splicer,
                             struct firn_chunk_reader *reader, struct tally *tally)
{
    for (;;) {
        struct firn_page page;
        struct firn_vector levels;
        bool has_page;
        FIRN_TRY(firn_chunk_reader_peek(op, reader, &page, &has_page));
        if (!has_page)
            return FIRN_OK;
        FIRN_TRY(add_page_ahead(op, expecting, splicer, reader, page, tally));
        FIRN_TRY(firn_chunk_reader_next_levels(op, reader, &levels, &has_page));
    }
}

static firn_status add_chunk(struct firn_op *op, struct expecting *expecting, const struct firn_column *column,
                             const struct firn_row_slice *slice, struct tally *tally)
{
    struct firn_splicer *splicer = column->splicer;
    const struct firn_leaf_plan *plan = firn_row_slice_plan(slice, splicer->leaf->leaf_index);
    struct firn_chunk_reader_options options = { .keep_dictionary = true, .codec_context = column->codec };
    struct firn_chunk_reader *reader;
    struct firn_chunk_source source;
    if (!plan->levels)
        return FIRN_OK;
    const struct firn_column_chunk *chunk = firn_row_slice_column(slice, plan->levels);
    firn_splicer_begin(splicer, plan, chunk, firn_row_slice_created_by(slice));
    if (!firn_row_slice_in_memory(slice)) {
        add_average(expecting, splicer, chunk, slice->row_count, tally);
        return FIRN_OK;
    }
    FIRN_TRY(firn_row_slice_chunk(op, slice, plan->levels, NULL, &source));
    FIRN_TRY(firn_chunk_reader_open_source(op, plan->levels, chunk, slice->row_count, &source, options, &reader));
    firn_status status = add_pages(op, expecting, splicer, reader, tally);
    firn_chunk_reader_close(reader);
    return firn_context(op, status, "data file %.*s", FIRN_FMT(firn_row_slice_path(slice)));
}

static void pick_most(const struct tally *tally, struct firn_expected_column *out)
{
    uint64_t most = 0;
    for (int rung = 0; rung < FIRN_RUNG_COUNT; rung++)
        for (int reason = 0; reason < FIRN_REASON_COUNT; reason++) {
            out->bytes += tally->bytes[rung][reason];
            if (tally->bytes[rung][reason] <= most)
                continue;
            most = tally->bytes[rung][reason];
            out->rung = (enum firn_rung)rung;
            out->reason = (enum firn_rung_reason)reason;
        }
}

static double window_bytes(const struct firn_window *window)
{
    double bytes = 0;
    for (size_t i = window->head; i < window->slices.count; i++)
        bytes += (double)window->slices.items[i].bytes;
    return bytes;
}

static firn_status weigh(struct firn_op *op, struct expecting *expecting, struct firn_column *column)
{
    struct firn_estimate estimate;
    double bytes = FIRN_MIN((double)expecting->run->row_group_bytes, (double)expecting->group_bytes);
    double rows = (double)firn_window_rows(&expecting->window) * bytes / FIRN_MAX(window_bytes(&expecting->window), 1);
    if (!firn_splicer_weighs(column->splicer))
        return FIRN_OK;
    FIRN_TRY(firn_estimate_column(op, column, &expecting->window, rows, &estimate));
    firn_splicer_weigh(column->splicer, &estimate, bytes);
    return FIRN_OK;
}

static firn_status expect_leaf(struct firn_op *op, struct expecting *expecting, uint32_t leaf,
                               struct firn_expected_column *out)
{
    const struct firn_group_run *run = expecting->run;
    struct firn_splicer splicer = {
        .leaf = run->schema.leaves[leaf].node,
        .options = &run->options.leaves[leaf],
        .policy = run->context->layout,
        .sorts = run->group->ordering,
    };
    struct firn_column column = { .leaf = &run->schema.leaves[leaf], .codec = run->codec, .splicer = &splicer };
    struct tally tally = { 0 };
    FIRN_TRY(weigh(op, expecting, &column));
    for (size_t i = expecting->window.head; i < expecting->window.slices.count; i++)
        FIRN_TRY(add_chunk(op, expecting, &column, &expecting->window.slices.items[i], &tally));
    *out = (struct firn_expected_column){ .path = firn_text_copy(op->arena, splicer.leaf->path) };
    pick_most(&tally, out);
    return FIRN_OK;
}

static firn_status expect_leaves(struct firn_op *op, struct expecting *expecting, struct firn_expectation *out)
{
    uint32_t leaf_count = expecting->run->schema.leaf_count;
    FIRN_TRY(firn_window_fill(op, &expecting->window, UINT64_MAX));
    out->columns = FIRN_NEW_ARRAY(op->arena, struct firn_expected_column, leaf_count);
    for (uint32_t i = 0; i < leaf_count; i++) {
        FIRN_TRY(expect_leaf(op, expecting, i, &out->columns[out->column_count]));
        out->column_count += out->columns[out->column_count].bytes > 0;
    }
    return FIRN_OK;
}

static firn_status expect_files(struct firn_op *op, const struct firn_rewrite_context *context,
                                const struct firn_rewrite_group *some, const struct firn_rewrite_group *whole,
                                struct firn_expectation *out)
{
    uint32_t pieces[FILES_MAX] = { 0, 1, 2, 3 };
    bool counted[FILES_MAX] = { true, true, true, true }; /* nothing is rewritten: no rows, no progress */
    struct firn_group_run run = { .context = context, .group = some };
    struct expecting expecting = { .run = &run, .group_inputs = whole->input_count };
    FIRN_TRY(firn_group_run_init(op, &run));
    for (uint32_t i = 0; i < whole->input_count; i++)
        expecting.group_bytes += (uint64_t)FIRN_MAX(whole->inputs[i].file_bytes, 0);
    expecting.window = (struct firn_window){
        .run = &run, .bin = some->bins, .pieces = pieces, .piece_count = some->input_count, .counted = counted
    };
    firn_status status = firn_codec_context_open(op, &run.codec);
    if (status == FIRN_OK)
        status = expect_leaves(op, &expecting, out);
    firn_window_close(&expecting.window);
    firn_codec_context_close(run.codec);
    return status;
}

firn_status firn_rewrite_expect(struct firn_op *op, const struct firn_rewrite_context *context,
                                const struct firn_rewrite_group *group, struct firn_expectation *out)
{
    struct firn_rewrite_piece pieces[FILES_MAX];
    struct firn_rewrite_bin bin = { .pieces = pieces };
    struct firn_rewrite_group some = *group;
    some.input_deletes = NULL;
    some.input_count = FIRN_MIN(group->input_count, FILES_MAX);
    some.bins = &bin;
    some.bin_count = 1;
    for (uint32_t i = 0; i < some.input_count; i++) {
        uint64_t length = (uint64_t)FIRN_MAX(group->inputs[i].file_bytes, 0);
        bin.pieces[bin.piece_count++] = (struct firn_rewrite_piece){ i, 0, length };
    }
    *out = (struct firn_expectation){ .file_count = some.input_count };
    return expect_files(op, context, &some, group, out);
}
