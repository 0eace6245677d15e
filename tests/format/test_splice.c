/* Pages of chunks copied into another chunk, in random mixture with values: what is read back, and what the chunk says
 * of itself, is what was put in and what encoding everything anew would give. */
#include "format/column_sample.h"

#include "base/hash.h"
#include "format/parquet/chunk_writer.h"
#include "format/parquet/page_facts.h"
#include "format/parquet/plain_write.h"
#include "format/parquet/rle_write.h"
#include "support/corpus.h"
#include "support/parquet_file.h"

enum { CASE_COUNT = 120, PARTS_MAX = 6 };

/* A run of the sample's rows, encoded as a chunk of its own. */
struct part {
    struct slots slots;
    int64_t row_count;
    struct firn_encoded_chunk chunk;
};

/* One output chunk, and how pages come to it. */
struct join {
    struct sample *sample;
    struct firn_chunk_options options;
    struct firn_chunk_writer *writer;
    struct firn_facts_scratch scratch;
    uint32_t copied, refused;
    bool forgetful; /* facts lack what need not be known */
    bool forgot;    /* they did for a page that was copied */
};

static uint32_t count_rows(const struct sample *sample, const struct slots *slots)
{
    uint32_t rows = 0;
    for (uint32_t i = slots->slot; i < slots->slot_end; i++)
        rows += sample->rep[i] == 0;
    return rows;
}

/* Cuts the sample where rows begin. */
static uint32_t draw_parts(struct sample *sample, struct part *parts)
{
    uint32_t count = 1 + below(&sample->seed, PARTS_MAX);
    uint32_t slot = 0, used = 0;
    for (uint32_t i = 0; i < count && slot < sample->slot_count; i++) {
        uint32_t end = i + 1 == count ? sample->slot_count : slot + 1 + below(&sample->seed, sample->slot_count - slot);
        while (end < sample->slot_count && sample->rep[end] != 0)
            end++;
        parts[used++] = (struct part){ .slots = { .slot = slot, .slot_end = end } };
        slot = end;
    }
    return used;
}

static void encode_part(struct firn_op *op, struct sample *sample, const struct firn_chunk_options *options,
                        struct part *part)
{
    struct firn_chunk_writer *writer;
    CHECK_OK(op, firn_chunk_writer_open(op, sample->leaf, options, &writer));
    append_slots(op, sample, &part->slots, writer);
    CHECK_OK(op, firn_chunk_writer_finish(op, writer, &part->chunk));
    firn_chunk_writer_close(writer);
}

/* Encodes a page of PLAIN values of version 1. */
static void put_page(struct firn_op *op, const struct firn_vector *vector, struct firn_page_writer *writer,
                     struct firn_buffer *out)
{
    struct firn_buffer values = { 0 };
    struct firn_page_sizes sizes;
    uint8_t *all = FIRN_NEW_ARRAY(op->arena, uint8_t, vector->slot_count);
    memset(all, vector->def_max, vector->slot_count);
    if (vector->type == FIRN_PARQUET_BOOLEAN)
        CHECK_OK(op, firn_booleans_pack(op, vector->values.boolean, vector->value_count, &values));
    else
        CHECK_OK(
            op, firn_plain_encode(op, vector->type, vector->type_length, vector->values, vector->value_count, &values));
    struct firn_data_page page = {
        .rep = vector->rep,
        .def = vector->def ? vector->def : all,
        .rep_max = vector->rep_max,
        .def_max = vector->def_max,
        .slot_count = vector->slot_count,
        .value_count = vector->value_count,
        .row_count = vector->row_count,
        .encoding = FIRN_ENCODING_PLAIN,
        .values = firn_buffer_bytes(&values),
    };
    CHECK_OK(op, firn_page_writer_put_data(op, writer, &page, out, &sizes));
    firn_buffer_done(&values);
}

/* A part as old writers have it: pages that begin anywhere, also within rows. */
static void encode_loosely(struct firn_op *op, struct sample *sample, const struct firn_chunk_options *options,
                           struct part *part)
{
    struct firn_codec_context *context;
    CHECK_OK(op, firn_codec_context_open(op, &context));
    struct firn_page_writer writer = { .context = context, .codec = options->codec };
    part->slots.value_end = part->slots.value;
    for (uint32_t slot = part->slots.slot; slot < part->slots.slot_end;) {
        uint32_t drawn = 1 + below(&sample->seed, 500), count = FIRN_MIN(drawn, part->slots.slot_end - slot);
        struct firn_vector vector = plain_vector(op, sample, slot, part->slots.value_end, count);
        put_page(op, &vector, &writer, &part->chunk.bytes);
        slot += count;
        part->slots.value_end += vector.value_count;
    }
    part->chunk.metadata = (struct firn_column_chunk){
        .type = sample->leaf->type,
        .codec = options->codec,
        .value_count = part->slots.slot_end - part->slots.slot,
        .compressed_bytes = (int64_t)part->chunk.bytes.len,
    };
    firn_page_writer_done(&writer);
    firn_codec_context_close(context);
}

static struct firn_chunk_reader *open_part(struct firn_op *op, const struct join *join, const struct part *part)
{
    struct firn_chunk_reader *reader;
    struct firn_chunk_reader_options options = { .crc_check = true, .keep_dictionary = below(&join->sample->seed, 2) };
    CHECK_OK(op, firn_chunk_reader_open(op, join->sample->leaf, &part->chunk.metadata,
                                        count_rows(join->sample, &part->slots), firn_buffer_bytes(&part->chunk.bytes),
                                        options, &reader));
    return reader;
}

/* Drops what a file's metadata may lack: sizes, and how exactly the bounds are met. */
static bool forget(struct firn_op *op, struct sample *sample, struct firn_page_facts *facts)
{
    switch (below(&sample->seed, 4)) {
    case 0:
        facts->unencoded_bytes = -1;
        return true;
    case 1:
        facts->rep_histogram = NULL;
        return true;
    case 2:
        facts->def_histogram = NULL;
        return true;
    default:
        if (!facts->has_bounds)
            return false;
        facts->min = firn_bound_lower(op->arena, sample->leaf, facts->min, 3);
        facts->max = firn_bound_upper(op->arena, sample->leaf, facts->max, 3);
        facts->min_exact = facts->max_exact = false;
        return true;
    }
}

/* Offers the page that `reader` is at; `facts_reader` decodes it to know what it is. The two may be one. */
static void join_page(struct firn_op *op, struct join *join, struct firn_chunk_reader *reader,
                      struct firn_chunk_reader *facts_reader, const struct firn_page *page)
{
    struct firn_vector vector;
    struct firn_page_facts facts;
    bool has_page, taken;
    CHECK_OK(op, firn_chunk_reader_next(op, facts_reader, &vector, &has_page));
    CHECK_OK(op, firn_page_facts_of(op, &join->scratch, join->sample->leaf, &vector, &facts));
    CHECK_OK(op, firn_chunk_reader_at_row_end(op, facts_reader, &facts.ends_row));
    bool forgot = join->forgetful && forget(op, join->sample, &facts);
    CHECK_OK(op,
             firn_chunk_writer_splice(op, join->writer, page, &facts, firn_chunk_reader_dictionary(reader), &taken));
    join->forgot |= taken && forgot;
    join->copied += taken;
    join->refused += !taken;
    if (reader != facts_reader && taken)
        CHECK_OK(op, firn_chunk_reader_pass(op, reader, facts.row_count));
    else if (reader != facts_reader)
        CHECK_OK(op, firn_chunk_reader_next(op, reader, &vector, &has_page));
    if (!taken)
        CHECK_OK(op, firn_chunk_writer_append(op, join->writer, &vector));
}

static void join_part(struct firn_op *op, struct join *join, const struct part *part)
{
    struct firn_chunk_reader *reader = open_part(op, join, part);
    struct firn_chunk_reader *facts_reader = below(&join->sample->seed, 2) ? open_part(op, join, part) : reader;
    struct firn_page page;
    bool has_page;
    for (;;) {
        CHECK_OK(op, firn_chunk_reader_peek(op, reader, &page, &has_page));
        if (!has_page)
            break;
        join_page(op, join, reader, facts_reader, &page);
    }
    if (facts_reader != reader)
        firn_chunk_reader_close(facts_reader);
    firn_chunk_reader_close(reader);
}

/* Sizes, offsets and encodings in the metadata against the pages themselves. */
static void check_pages(struct firn_op *op, const struct firn_encoded_chunk *chunk)
{
    struct firn_cursor in = firn_cursor_of(firn_buffer_bytes(&chunk->bytes));
    const struct firn_column_chunk *metadata = &chunk->metadata;
    int32_t counts[FIRN_PAGE_DATA_V2 + 1][FIRN_ENCODING_COUNT] = { { 0 } };
    int64_t uncompressed = 0;
    uint32_t data_pages = 0, encodings = 1u << FIRN_ENCODING_RLE;
    while (firn_cursor_left(&in) > 0) {
        struct firn_page page;
        CHECK_OK(op, firn_page_next(op, &in, true, &page));
        CHECK(page.header.has_crc, "page without a CRC");
        uncompressed += (int64_t)page.header_bytes.len + page.header.uncompressed_bytes;
        encodings |= 1u << page.header.encoding;
        counts[page.header.type][page.header.encoding]++;
        if (page.header.type == FIRN_PAGE_DICTIONARY)
            continue;
        const struct firn_page_location *location = &chunk->offset_index.pages[data_pages++];
        assert_int_equal(location->offset, page.offset);
        assert_int_equal(location->compressed_bytes, page.header_bytes.len + page.body.len);
    }
    assert_int_equal(data_pages, chunk->offset_index.page_count);
    assert_int_equal(metadata->uncompressed_bytes, uncompressed);
    assert_int_equal(metadata->compressed_bytes, chunk->bytes.len);
    assert_int_equal(metadata->data_page_offset, chunk->offset_index.pages[0].offset);
    for (uint32_t i = 0; i < metadata->encoding_count; i++)
        encodings ^= 1u << metadata->encodings[i];
    assert_int_equal(encodings, 0);
    for (uint32_t i = 0; i < metadata->encoding_stats_count; i++) {
        const struct firn_encoding_stats *stats = &metadata->encoding_stats[i];
        counts[stats->page_type][stats->encoding] -= stats->count;
    }
    for (int type = 0; type <= FIRN_PAGE_DATA_V2; type++)
        for (int encoding = 0; encoding < FIRN_ENCODING_COUNT; encoding++)
            assert_int_equal(counts[type][encoding], 0);
}

static void check_histogram(const int64_t *a, uint32_t a_count, const int64_t *b, uint32_t b_count)
{
    assert_int_equal(a_count, b_count);
    for (uint32_t i = 0; i < a_count; i++)
        assert_int_equal(a[i], b[i]);
}

/* What both chunks, one of copied pages and one of values, say of all their values. */
static void check_same_account(const struct firn_encoded_chunk *joined, const struct firn_encoded_chunk *encoded)
{
    const struct firn_parquet_statistics *a = &joined->metadata.statistics, *b = &encoded->metadata.statistics;
    const struct firn_size_statistics *a_sizes = &joined->metadata.sizes, *b_sizes = &encoded->metadata.sizes;
    CHECK(same_bytes(a->min_value, b->min_value) && same_bytes(a->max_value, b->max_value), "bounds differ");
    assert_int_equal(a->has_min_exact, b->has_min_exact);
    assert_int_equal(a->null_count, b->null_count);
    assert_int_equal(a->has_nan_count, b->has_nan_count);
    assert_int_equal(a->nan_count, b->nan_count);
    assert_int_equal(a_sizes->has_unencoded_bytes, b_sizes->has_unencoded_bytes);
    assert_int_equal(a_sizes->unencoded_bytes, b_sizes->unencoded_bytes);
    check_histogram(a_sizes->rep_histogram, a_sizes->rep_histogram_count, b_sizes->rep_histogram,
                    b_sizes->rep_histogram_count);
    check_histogram(a_sizes->def_histogram, a_sizes->def_histogram_count, b_sizes->def_histogram,
                    b_sizes->def_histogram_count);
    assert_int_equal(joined->column_index.page_count > 0, encoded->column_index.page_count > 0);
    assert_int_equal(joined->column_index.rep_level_count, encoded->column_index.rep_level_count);
    assert_int_equal(joined->column_index.def_level_count, encoded->column_index.def_level_count);
    assert_int_equal(joined->offset_index.unencoded_bytes != NULL, encoded->offset_index.unencoded_bytes != NULL);
}

/* Histograms and sizes of each page add up to the chunk's. */
static void check_page_sums(const struct firn_encoded_chunk *chunk)
{
    const struct firn_column_index *index = &chunk->column_index;
    const struct firn_size_statistics *sizes = &chunk->metadata.sizes;
    int64_t unencoded = 0, rep[UINT8_MAX + 1] = { 0 }, def[UINT8_MAX + 1] = { 0 };
    for (uint32_t page = 0; page < chunk->offset_index.page_count && chunk->offset_index.unencoded_bytes; page++)
        unencoded += chunk->offset_index.unencoded_bytes[page];
    assert_int_equal(unencoded, sizes->unencoded_bytes);
    if (index->page_count == 0)
        return;
    for (uint32_t page = 0; page < index->page_count; page++) {
        for (uint32_t i = 0; i < index->rep_level_count; i++)
            rep[i] += index->rep_histograms[page * index->rep_level_count + i];
        for (uint32_t i = 0; i < index->def_level_count; i++)
            def[i] += index->def_histograms[page * index->def_level_count + i];
    }
    check_histogram(rep, index->rep_level_count, sizes->rep_histogram, sizes->rep_histogram_count);
    check_histogram(def, index->def_level_count, sizes->def_histogram, sizes->def_histogram_count);
}

static void encode_whole(struct firn_op *op, struct sample *sample, const struct firn_chunk_options *options,
                         struct firn_encoded_chunk *out)
{
    struct part whole = { .slots.slot_end = sample->slot_count };
    encode_part(op, sample, options, &whole);
    *out = whole.chunk;
}

static void join_parts(struct firn_op *op, struct join *join)
{
    struct sample *sample = join->sample;
    struct part parts[PARTS_MAX];
    uint32_t count = draw_parts(sample, parts), value = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct firn_chunk_options options = draw_options(sample);
        options.codec = join->options.codec;
        parts[i].slots.value = value;
        switch (below(&sample->seed, 4)) {
        case 0:
            append_slots(op, sample, &parts[i].slots, join->writer);
            break;
        case 1:
            encode_loosely(op, sample, &options, &parts[i]);
            join_part(op, join, &parts[i]);
            break;
        default:
            encode_part(op, sample, &options, &parts[i]);
            join_part(op, join, &parts[i]);
        }
        value = parts[i].slots.value_end;
        firn_encoded_chunk_done(&parts[i].chunk);
    }
}

/* Draws a sample, joins its parts, and checks the result; gives how many pages were copied and refused. */
static void run_case(struct firn_op *op, struct sample *sample, uint32_t *copied, uint32_t *refused)
{
    static const int32_t floors[] = { 0, 0, 50, 3000 };
    struct firn_encoded_chunk joined, encoded;
    draw(op, sample);
    struct join join = { .sample = sample, .options = draw_options(sample) };
    join.options.splice_floor_bytes = floors[below(&sample->seed, 4)];
    join.forgetful = below(&sample->seed, 4) == 0;
    CHECK_OK(op, firn_chunk_writer_open(op, sample->leaf, &join.options, &join.writer));
    join_parts(op, &join);
    CHECK(firn_chunk_writer_memory(join.writer) >= join.writer->bytes.len, "bytes of copied pages are not counted");
    CHECK_OK(op, firn_chunk_writer_finish(op, join.writer, &joined));
    firn_chunk_writer_close(join.writer);
    encode_whole(op, sample, &join.options, &encoded);
    sample->bounds_enclose = join.forgot;
    read_back(op, sample, &joined);
    check_pages(op, &joined);
    check_page_sums(&joined);
    check_metrics(sample, &join.options, &joined);
    if (!join.forgot)
        check_same_account(&joined, &encoded);
    firn_encoded_chunk_done(&joined);
    firn_encoded_chunk_done(&encoded);
    firn_facts_scratch_done(&join.scratch);
    *copied += join.copied;
    *refused += join.refused;
}

static void copied_pages_are_as_good_as_encoded_ones(void **state)
{
    struct firn_op *op = test_op(state);
    const char *given = getenv("FIRN_SEED");
    uint64_t base = given ? strtoull(given, NULL, 10) : (uint64_t)firn_now_us(op);
    struct sample *sample = malloc(sizeof *sample);
    uint32_t copied = 0, refused = 0;
    for (uint64_t nth = 0; nth < (given ? 1 : CASE_COUNT); nth++) {
        struct firn_arena arena, *outer = op->arena;
        firn_arena_init(&arena);
        op->arena = &arena;
        *sample = (struct sample){ .seed = base + nth };
        print_message("FIRN_SEED=%" PRIu64 "\n", base + nth);
        run_case(op, sample, &copied, &refused);
        firn_arena_done(&arena);
        op->arena = outer;
    }
    print_message("%u pages copied, %u refused\n", copied, refused);
    CHECK(given || (copied > 500 && refused > 100), "too one-sided to show anything");
    free(sample);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(copied_pages_are_as_good_as_encoded_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
