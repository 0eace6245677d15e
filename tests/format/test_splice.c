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
#include "support/seeds.h"

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
    uint32_t copied, refused, unfolded, repacked;
    size_t lent;    /* pieces */
    bool forgetful; /* facts lack what need not be known */
    bool forgot;    /* they did for a page that was copied */
    bool lends;     /* pages may be written from the parts, which last */
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

/* Writes a page of the vector's levels, and of values that are encoded already. */
static void put_encoded(struct firn_op *op, const struct firn_vector *vector, enum firn_encoding encoding,
                        const struct firn_buffer *values, bool page_v2, struct firn_page_writer *writer,
                        struct firn_buffer *out)
{
    struct firn_page_sizes sizes;
    uint8_t *all = FIRN_NEW_ARRAY(op->arena, uint8_t, vector->slot_count);
    memset(all, vector->def_max, vector->slot_count);
    struct firn_data_page page = {
        .rep = vector->rep,
        .def = vector->def ? vector->def : all,
        .rep_max = vector->rep_max,
        .def_max = vector->def_max,
        .slot_count = vector->slot_count,
        .value_count = vector->value_count,
        .row_count = vector->row_count,
        .encoding = encoding,
        .values = firn_buffer_bytes(values),
        .page_v2 = page_v2,
    };
    CHECK_OK(op, firn_page_writer_put_data(op, writer, &page, out, &sizes));
}

/* Encodes a page of PLAIN values of version 1. */
static void put_page(struct firn_op *op, const struct firn_vector *vector, struct firn_page_writer *writer,
                     struct firn_buffer *out)
{
    struct firn_buffer values = { 0 };
    if (vector->type == FIRN_PARQUET_BOOLEAN)
        CHECK_OK(op, firn_booleans_pack(op, vector->values.boolean, vector->value_count, &values));
    else
        CHECK_OK(
            op, firn_plain_encode(op, vector->type, vector->type_length, vector->values, vector->value_count, &values));
    put_encoded(op, vector, FIRN_ENCODING_PLAIN, &values, false, writer, out);
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

/* Data of one page whose values are named one after another. */
static void put_indices(struct firn_op *op, const struct firn_vector *vector, bool page_v2,
                        struct firn_page_writer *writer, struct firn_buffer *out)
{
    uint32_t *indices = FIRN_NEW_ARRAY(op->arena, uint32_t, vector->value_count);
    uint8_t width = (uint8_t)firn_bits_for(FIRN_MAX(vector->value_count, 1) - 1);
    struct firn_buffer values = { 0 };
    for (uint32_t i = 0; i < vector->value_count; i++)
        indices[i] = i;
    CHECK_OK(op, firn_buffer_append(op, &values, &width, 1));
    CHECK_OK(op, firn_rle_encode_indices(op, indices, vector->value_count, width, &values));
    put_encoded(op, vector, FIRN_ENCODING_RLE_DICTIONARY, &values, page_v2, writer, out);
    firn_buffer_done(&values);
}

/* A part as Arrow has it where all values differ: the dictionary holds them all, and one page names them in order. */
static void encode_folded(struct firn_op *op, struct sample *sample, const struct firn_chunk_options *options,
                          struct part *part)
{
    struct firn_codec_context *context;
    struct firn_buffer plain = { 0 };
    struct firn_page_sizes sizes;
    const struct firn_parquet_node *leaf = sample->leaf;
    CHECK_OK(op, firn_codec_context_open(op, &context));
    struct firn_page_writer writer = { .context = context, .codec = options->codec };
    struct firn_vector vector =
        plain_vector(op, sample, part->slots.slot, part->slots.value, part->slots.slot_end - part->slots.slot);
    part->slots.value_end = part->slots.value + vector.value_count;
    CHECK_OK(op, firn_plain_encode(op, leaf->type, leaf->type_length, vector.values, vector.value_count, &plain));
    CHECK_OK(op, firn_page_writer_put_dictionary(op, &writer, firn_buffer_bytes(&plain), vector.value_count,
                                                 &part->chunk.bytes, &sizes));
    put_indices(op, &vector, options->page_v2, &writer, &part->chunk.bytes);
    part->chunk.metadata = (struct firn_column_chunk){
        .type = leaf->type,
        .codec = options->codec,
        .value_count = vector.slot_count,
        .compressed_bytes = (int64_t)part->chunk.bytes.len,
    };
    firn_buffer_done(&plain);
    firn_page_writer_done(&writer);
    firn_codec_context_close(context);
}

static struct firn_chunk_reader *open_part(struct firn_op *op, const struct join *join, const struct part *part)
{
    struct firn_chunk_reader *reader;
    struct firn_chunk_reader_options options = { .crc_check = true, .keep_dictionary = below(&join->sample->seed, 2) };
    struct firn_bytes *bytes = FIRN_NEW(op->arena, struct firn_bytes);
    *bytes = firn_buffer_bytes(&part->chunk.bytes);
    struct firn_chunk_source source = firn_chunk_source_of(*bytes);
    if (below(&join->sample->seed, 2))
        source = parquet_chunk_in_pieces(bytes, 1 + below(&join->sample->seed, 3000));
    CHECK_OK(op, firn_chunk_reader_open_source(op, join->sample->leaf, &part->chunk.metadata,
                                               count_rows(join->sample, &part->slots), &source, options, &reader));
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
    const struct firn_dictionary *dictionary;
    struct firn_page unfolded;
    bool has_page, taken, is_unfolded = false;
    if (below(&join->sample->seed, 4) > 0)
        CHECK_OK(op, firn_chunk_reader_unfold(op, reader, &unfolded, &is_unfolded));
    if (is_unfolded)
        page = &unfolded;
    CHECK_OK(op, firn_chunk_reader_next(op, facts_reader, &vector, &has_page));
    CHECK_OK(op, firn_page_facts_of(op, &join->scratch, join->sample->leaf, &vector, &facts));
    CHECK_OK(op, firn_chunk_reader_at_row_end(op, facts_reader, &facts.ends_row));
    bool forgot = join->forgetful && forget(op, join->sample, &facts);
    CHECK_OK(op, firn_chunk_reader_dictionary(op, reader, &dictionary));
    CHECK_OK(op, firn_chunk_writer_splice(op, join->writer, page, &facts, dictionary, &taken));
    join->forgot |= taken && forgot;
    join->copied += taken;
    join->unfolded += taken && is_unfolded;
    join->refused += !taken;
    if (reader != facts_reader && taken)
        CHECK_OK(op, firn_chunk_reader_pass(op, reader, facts.row_count));
    else if (reader != facts_reader)
        CHECK_OK(op, firn_chunk_reader_next(op, reader, &vector, &has_page));
    if (!taken)
        CHECK_OK(op, firn_chunk_writer_append(op, join->writer, &vector));
}

/* Repacks the page that `reader` is at. */
static void repack_page(struct firn_op *op, struct join *join, struct firn_chunk_reader *reader)
{
    struct firn_vector vector;
    struct firn_page_facts facts;
    struct firn_packed_page packed = { 0 };
    const struct firn_dictionary *dictionary;
    bool has_page, taken, is_unfolded = false;
    if (below(&join->sample->seed, 4) > 0)
        CHECK_OK(op, firn_chunk_reader_unfolds(op, reader, &is_unfolded));
    CHECK_OK(op, firn_chunk_reader_next_levels(op, reader, &vector, &has_page));
    struct firn_vector levels = vector;
    CHECK_OK(op, firn_chunk_reader_packed(op, reader, is_unfolded, &packed));
    packed.levels = &levels;
    struct firn_page_facts ends = { .ends_row = true };
    CHECK_OK(op, firn_chunk_reader_at_row_end(op, reader, &ends.ends_row));
    CHECK_OK(op, firn_chunk_reader_values(op, reader, &vector));
    CHECK_OK(op, firn_page_facts_of(op, &join->scratch, join->sample->leaf, &vector, &facts));
    facts.ends_row = ends.ends_row;
    CHECK_OK(op, firn_chunk_reader_dictionary(op, reader, &dictionary));
    CHECK_OK(op, firn_chunk_writer_repack(op, join->writer, &packed, &facts, dictionary, &taken));
    join->repacked += taken;
    join->unfolded += taken && is_unfolded;
    join->refused += !taken;
    if (!taken)
        CHECK_OK(op, firn_chunk_writer_append(op, join->writer, &vector));
}

static void repack_part(struct firn_op *op, struct join *join, const struct part *part)
{
    struct firn_chunk_reader *reader = open_part(op, join, part);
    struct firn_page page;
    bool has_page;
    for (;;) {
        CHECK_OK(op, firn_chunk_reader_peek(op, reader, &page, &has_page));
        if (!has_page)
            break;
        repack_page(op, join, reader);
    }
    firn_chunk_reader_close(reader);
}

/* Where a part's bytes are copied from. */
struct part_source {
    struct firn_source base;
    struct firn_bytes bytes;
};

static firn_status read_part(struct firn_op *op, struct firn_source *source, uint64_t offset, size_t len, uint8_t *out)
{
    const struct part_source *part = (const struct part_source *)source;
    CHECK(offset <= part->bytes.len && len <= part->bytes.len - offset, "reads past the part");
    (void)op;
    memcpy(out, part->bytes.data + offset, len);
    return FIRN_OK;
}

static void lend_page(struct firn_op *op, struct join *join, const struct part *part, struct firn_page *page)
{
    struct firn_bytes bytes = firn_buffer_bytes(&part->chunk.bytes);
    struct part_source *source = FIRN_NEW(op->arena, struct part_source);
    uint32_t way = join->lends ? below(&join->sample->seed, 3) : 0;
    *source = (struct part_source){ { read_part }, bytes };
    page->lasts = way == 1;
    page->source = way == 2 ? &source->base : NULL;
    page->source_offset = page->offset;
    if (!page->lasts)
        return;
    page->header_bytes.data = bytes.data + page->offset;
    page->body.data = page->header_bytes.data + page->header_bytes.len;
}

/* Gives a finished chunk all of its bytes, as a file has them. */
static void take_lent(struct firn_op *op, struct firn_encoded_chunk *chunk)
{
    struct firn_buffer whole = { 0 };
    struct firn_sink sink = firn_sink_to_buffer(&whole);
    size_t at = 0;
    for (size_t i = 0; i < chunk->lent_count; at = chunk->lent[i++].at) {
        const struct firn_lent_bytes *lent = &chunk->lent[i];
        CHECK_OK(op, firn_buffer_append(op, &whole, chunk->bytes.data + at, lent->at - at));
        if (lent->source)
            CHECK_OK(op, firn_sink_copy(op, &sink, lent->source, lent->offset, lent->len));
        else
            CHECK_OK(op, firn_buffer_append(op, &whole, lent->data, lent->len));
    }
    CHECK_OK(op, firn_buffer_append(op, &whole, chunk->bytes.data + at, chunk->bytes.len - at));
    firn_buffer_done(&chunk->bytes);
    chunk->bytes = whole;
    chunk->lent_count = 0;
}

static void join_part(struct firn_op *op, struct join *join, const struct part *part)
{
    if (part->chunk.metadata.codec != join->options.codec) {
        repack_part(op, join, part);
        return;
    }
    struct firn_chunk_reader *reader = open_part(op, join, part);
    struct firn_chunk_reader *facts_reader = below(&join->sample->seed, 2) ? open_part(op, join, part) : reader;
    struct firn_page page;
    bool has_page;
    for (;;) {
        CHECK_OK(op, firn_chunk_reader_peek(op, reader, &page, &has_page));
        if (!has_page)
            break;
        lend_page(op, join, part, &page);
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

static uint32_t join_parts(struct firn_op *op, struct join *join, struct part *parts)
{
    struct sample *sample = join->sample;
    uint32_t count = draw_parts(sample, parts), value = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct firn_chunk_options options = draw_options(sample);
        if (below(&sample->seed, 3) > 0)
            options.codec = join->options.codec;
        parts[i].slots.value = value;
        bool has_dictionary = sample->leaf->type != FIRN_PARQUET_BOOLEAN;
        switch (below(&sample->seed, has_dictionary ? 5 : 4)) {
        case 4:
            encode_folded(op, sample, &options, &parts[i]);
            join_part(op, join, &parts[i]);
            break;
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
    }
    return count;
}

/* Draws a sample, joins its parts, and checks the result; adds to how many pages were copied and refused. */
static void run_case(struct firn_op *op, struct sample *sample, struct join *sum)
{
    static const int32_t floors[] = { 0, 0, 50, 3000 };
    struct firn_encoded_chunk joined, encoded;
    struct part parts[PARTS_MAX];
    draw(op, sample);
    struct join join = { .sample = sample, .options = draw_options(sample) };
    join.options.splice_floor_bytes = floors[below(&sample->seed, 4)];
    join.forgetful = below(&sample->seed, 4) == 0;
    CHECK_OK(op, firn_chunk_writer_open(op, sample->leaf, &join.options, &join.writer));
    join.lends = below(&sample->seed, 2);
    uint32_t part_count = join_parts(op, &join, parts);
    CHECK(firn_chunk_writer_memory(join.writer) >= join.writer->bytes.len, "bytes of copied pages are not counted");
    CHECK_OK(op, firn_chunk_writer_finish(op, join.writer, &joined));
    firn_chunk_writer_close(join.writer);
    sum->lent += joined.lent_count;
    take_lent(op, &joined);
    for (uint32_t i = 0; i < part_count; i++)
        firn_encoded_chunk_done(&parts[i].chunk);
    encode_whole(op, sample, &join.options, &encoded);
    sample->bounds_enclose = join.forgot;
    read_back(op, sample, &joined);
    check_pages(op, &joined);
    check_page_sums(&joined);
    check_metrics(sample, &join.options, &joined);
    check_bloom_filter(op, sample, &join.options, &joined);
    check_bloom_filter(op, sample, &join.options, &encoded);
    if (!join.forgot)
        check_same_account(&joined, &encoded);
    firn_encoded_chunk_done(&joined);
    firn_encoded_chunk_done(&encoded);
    firn_facts_scratch_done(&join.scratch);
    sum->copied += join.copied;
    sum->refused += join.refused;
    sum->unfolded += join.unfolded;
    sum->repacked += join.repacked;
}

static void copied_pages_are_as_good_as_encoded_ones(void **state)
{
    struct firn_op *op = test_op(state);
    struct test_seeds seeds = test_seeds(op, 1, CASE_COUNT);
    struct sample *sample = malloc(sizeof *sample);
    struct join sum = { 0 };
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        struct firn_arena arena, *outer = op->arena;
        firn_arena_init(&arena);
        op->arena = &arena;
        *sample = (struct sample){ .seed = seed };
        print_message("FIRN_SEED=%" PRIu64 "\n", seed);
        run_case(op, sample, &sum);
        firn_arena_done(&arena);
        op->arena = outer;
    }
    print_message("%u pages copied, %u repacked, %u unfolded, %u refused, %zu pieces lent\n", sum.copied, sum.repacked,
                  sum.unfolded, sum.refused, sum.lent);
    CHECK(seeds.is_one ||
              (sum.copied > 500 && sum.lent > 50 && sum.repacked > 100 && sum.refused > 100 && sum.unfolded > 10),
          "too one-sided to show anything");
    free(sample);
}

/* A required column of the numbers; memory lives in the operation's arena. */
static struct sample *number_sample(struct firn_op *op, const int64_t *numbers, uint32_t count)
{
    struct sample *sample = firn_arena_alloc(op->arena, sizeof *sample);
    sample->seed = 1;
    sample->kind = &kinds[3];
    sample->shape = "q";
    sample->slot_count = sample->value_count = sample->row_count = count;
    build_schema(op, sample);
    for (uint32_t i = 0; i < count; i++)
        sample->values[i] =
            firn_bytes_copy(op->arena, (struct firn_bytes){ (const uint8_t *)&numbers[i], sizeof numbers[i] });
    return sample;
}

enum { CYCLE_ROWS = 1000, CYCLES_MAX = 4 };

/* A page of CYCLE_ROWS rows that repeat `distinct` numbers from `start` on. */
struct cycle {
    int64_t start;
    uint32_t distinct; /* 0: no more pages */
    bool append;       /* give values instead of the page */
};

static struct sample *cycle_sample(struct firn_op *op, const struct cycle *cycles)
{
    int64_t *numbers = FIRN_NEW_ARRAY(op->arena, int64_t, (size_t)CYCLES_MAX * CYCLE_ROWS);
    uint32_t count = 0;
    for (uint32_t i = 0; i < CYCLES_MAX && cycles[i].distinct; i++)
        for (uint32_t k = 0; k < CYCLE_ROWS; k++)
            numbers[count++] = cycles[i].start + k % cycles[i].distinct;
    return number_sample(op, numbers, count);
}

/* Joins one page or append a cycle. */
static void join_cycles(struct firn_op *op, struct join *join, const struct cycle *cycles,
                        struct firn_encoded_chunk *out)
{
    struct firn_chunk_options part_options = join->options;
    part_options.dictionary = true;
    part_options.dictionary_bytes_max = 1 << 20;
    CHECK_OK(op, firn_chunk_writer_open(op, join->sample->leaf, &join->options, &join->writer));
    for (uint32_t i = 0; i < CYCLES_MAX && cycles[i].distinct; i++) {
        struct part part = { .slots = { i * CYCLE_ROWS, i * CYCLE_ROWS, (i + 1) * CYCLE_ROWS, 0 } };
        if (cycles[i].append) {
            append_slots(op, join->sample, &part.slots, join->writer);
            continue;
        }
        encode_part(op, join->sample, &part_options, &part);
        join_part(op, join, &part);
        firn_encoded_chunk_done(&part.chunk);
    }
    CHECK_OK(op, firn_chunk_writer_finish(op, join->writer, out));
    firn_chunk_writer_close(join->writer);
    firn_facts_scratch_done(&join->scratch);
}

/* Values in the chunk's dictionary page; 0: it has none. */
static int32_t dictionary_count(struct firn_op *op, const struct firn_encoded_chunk *chunk)
{
    struct firn_cursor in = firn_cursor_of(firn_buffer_bytes(&chunk->bytes));
    struct firn_page page;
    CHECK_OK(op, firn_page_next(op, &in, true, &page));
    return page.header.type == FIRN_PAGE_DICTIONARY ? page.header.value_count : 0;
}

static void pages_of_indices_need_their_dictionary(void **state)
{
    static const struct {
        const char *name;
        struct cycle cycles[CYCLES_MAX];
        int32_t dictionary_bytes_max;
        uint32_t copied, refused;
        int32_t dictionary_count;
    } cases[] = {
        { "the same", { { 0, 10, 0 }, { 0, 10, 0 } }, 1000, 2, 0, 10 },
        { "one that goes on", { { 0, 10, 0 }, { 0, 20, 0 } }, 1000, 2, 0, 20 },
        { "one that ends before", { { 0, 20, 0 }, { 0, 10, 0 } }, 1000, 2, 0, 20 },
        { "others", { { 0, 10, 0 }, { 5, 10, 0 }, { 0, 10, 0 } }, 1000, 2, 1, 15 },
        { "grown on the way", { { 0, 10, 0 }, { 5, 10, 1 }, { 0, 10, 0 } }, 1000, 2, 0, 15 },
        { "grown as theirs", { { 0, 10, 0 }, { 10, 10, 1 }, { 0, 20, 0 } }, 1000, 2, 0, 20 },
        { "none wanted", { { 0, 10, 0 } }, 0, 0, 1, 0 },
        { "too large", { { 0, 10, 0 } }, 79, 0, 1, 0 },
        { "too large later, so given up", { { 0, 10, 0 }, { 0, 20, 0 }, { 0, 10, 0 } }, 100, 1, 2, 10 },
        { "ours not decided", { { 0, 10, 1 }, { 0, 10, 0 } }, 1000, 0, 1, 10 },
        { "ours decided", { { 0, 10, 1 }, { 0, 10, 1 }, { 0, 10, 0 } }, 1000, 1, 0, 10 },
    };
    struct firn_op *op = test_op(state);
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_encoded_chunk chunk;
        struct join join = { .sample = cycle_sample(op, cases[i].cycles), .options = firn_chunk_options_default() };
        join.options.page_rows_max = CYCLE_ROWS;
        join.options.dictionary_bytes_max = cases[i].dictionary_bytes_max;
        join_cycles(op, &join, cases[i].cycles, &chunk);
        CHECK(join.copied == cases[i].copied, "%s: %u pages copied", cases[i].name, join.copied);
        CHECK(join.refused == cases[i].refused, "%s: %u pages refused", cases[i].name, join.refused);
        CHECK(dictionary_count(op, &chunk) == cases[i].dictionary_count, "%s: dictionary of %d values", cases[i].name,
              dictionary_count(op, &chunk));
        read_back(op, join.sample, &chunk);
        check_pages(op, &chunk);
        firn_encoded_chunk_done(&chunk);
    }
}

/* Room for a hundred bytes: values in turn, then a dictionary that cannot be ours, then values again. */
static void a_refused_dictionary_leaves_no_trace(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_slice words[] = { { (const uint8_t *)"one", 3 },
                                  { (const uint8_t *)"two", 3 },
                                  { (const uint8_t *)"", 0 },
                                  { (const uint8_t *)"two", 3 },
                                  { (const uint8_t *)"a word that is too long for what is left of the dictionary, "
                                                     "which is less than a hundred bytes",
                                    94 } };
    struct firn_dictionary other = { .type = FIRN_PARQUET_BYTE_ARRAY, .values.slice = words };
    struct firn_dictionary_writer writer;
    uint32_t indices[3];
    bool same;
    firn_dictionary_writer_init(&writer, FIRN_PARQUET_BYTE_ARRAY, 0, 100);
    CHECK_OK(op, firn_dictionary_writer_add(op, &writer, other.values, 1, indices));
    for (other.count = 4; other.count <= 5; other.count++) { /* one value twice */
        CHECK_OK(op, firn_dictionary_writer_extend(op, &writer, &other, &same));
        assert_false(same);
        assert_int_equal(writer.count, 1);
    }
    words[3] = words[4];
    other.count = 4; /* no room */
    CHECK_OK(op, firn_dictionary_writer_extend(op, &writer, &other, &same));
    assert_false(same);
    assert_false(writer.full);
    other.count = 3;
    CHECK_OK(op, firn_dictionary_writer_extend(op, &writer, &other, &same));
    assert_true(same);
    CHECK_OK(op, firn_dictionary_writer_add(op, &writer, other.values, 3, indices));
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(indices[i], i);
    assert_int_equal(writer.count, 3);
    firn_dictionary_writer_done(&writer);
}

/* Ten rows wait in the page being made when pages are offered. */
static void small_pages_grow_before_a_page_is_copied(void **state)
{
    static const struct {
        int32_t floor;
        uint32_t copied;
        uint32_t page_count;
        int64_t second_row; /* where the second page begins */
    } cases[] = {
        { 0, 2, 3, 10 },
        { 80, 2, 3, 10 },        /* just large enough */
        { 81, 1, 2, 1010 },      /* grows past the limit of rows, so that no small rest is left */
        { 1 << 20, 1, 2, 1010 }, /* full pages are never small */
    };
    struct firn_op *op = test_op(state);
    int64_t *numbers = FIRN_NEW_ARRAY(op->arena, int64_t, 2010);
    for (uint32_t i = 0; i < 2010; i++)
        numbers[i] = i * 7;
    struct sample *sample = number_sample(op, numbers, 2010);
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_encoded_chunk chunk;
        struct join join = { .sample = sample, .options = firn_chunk_options_default() };
        join.options.page_rows_max = 1000;
        join.options.dictionary = false;
        struct firn_chunk_options part_options = join.options;
        join.options.splice_floor_bytes = cases[i].floor;
        CHECK_OK(op, firn_chunk_writer_open(op, sample->leaf, &join.options, &join.writer));
        append_slots(op, sample, &(struct slots){ .slot_end = 10 }, join.writer);
        struct part part = { .slots = { 10, 10, 2010, 0 } };
        encode_part(op, sample, &part_options, &part);
        join_part(op, &join, &part);
        CHECK_OK(op, firn_chunk_writer_finish(op, join.writer, &chunk));
        firn_chunk_writer_close(join.writer);
        CHECK(join.copied == cases[i].copied, "floor %d: %u copied", cases[i].floor, join.copied);
        CHECK(chunk.offset_index.page_count == cases[i].page_count, "floor %d", cases[i].floor);
        CHECK(chunk.offset_index.pages[1].first_row_index == cases[i].second_row, "floor %d", cases[i].floor);
        read_back(op, sample, &chunk);
        firn_encoded_chunk_done(&chunk);
        firn_encoded_chunk_done(&part.chunk);
        firn_facts_scratch_done(&join.scratch);
    }
}

/* The only page of an optional column of doubles in a list, and its facts; what a case changes of them. */
struct offer {
    struct firn_page page;
    struct firn_page_facts facts;
};
static const double above = 1e300;
static const double not_a_number = NAN;

static void as_it_is(struct offer *offer)
{
    (void)offer;
}
static void packed_levels(struct offer *offer)
{
    offer->page.header.def_encoding = FIRN_ENCODING_BIT_PACKED;
}
static void other_type(struct offer *offer)
{
    offer->page.header.type = FIRN_PAGE_INDEX;
}
static void other_count(struct offer *offer)
{
    offer->facts.slot_count--;
}
static void huge(struct offer *offer)
{
    offer->page.header.uncompressed_bytes = INT32_MAX;
}
static void begins_anywhere(struct offer *offer)
{
    offer->facts.begins_row = false;
}
static void ends_anywhere(struct offer *offer)
{
    offer->facts.ends_row = false;
}
static void no_bounds(struct offer *offer)
{
    offer->facts.has_bounds = false;
}
static void crossed_bounds(struct offer *offer)
{
    offer->facts.min = (struct firn_bytes){ (const uint8_t *)&above, sizeof above };
}
static void bound_is_nan(struct offer *offer)
{
    offer->facts.max = (struct firn_bytes){ (const uint8_t *)&not_a_number, sizeof not_a_number };
}
static void short_bound(struct offer *offer)
{
    offer->facts.max.len = 4;
}
static void too_many_nan(struct offer *offer)
{
    offer->facts.nan_count = offer->facts.value_count + 1;
}
static void without_dictionary(struct offer *offer)
{
    offer->page.header.encoding = FIRN_ENCODING_PLAIN_DICTIONARY;
}

/* One value in a list a row. */
static struct sample *list_sample(struct firn_op *op)
{
    struct sample *sample = firn_arena_alloc(op->arena, sizeof *sample);
    sample->kind = &kinds[7];
    sample->shape = "ro";
    sample->slot_count = sample->value_count = sample->row_count = 100;
    build_schema(op, sample);
    for (uint32_t i = 0; i < 100; i++) {
        double number = i;
        sample->def[i] = 2;
        sample->values[i] = firn_bytes_copy(op->arena, (struct firn_bytes){ (const uint8_t *)&number, sizeof number });
    }
    return sample;
}

static void pages_that_do_not_fit_are_refused(void **state)
{
    static const struct {
        const char *name;
        void (*change)(struct offer *offer);
        bool taken;
    } cases[] = {
        { "as it is", as_it_is, true },
        { "packed levels", packed_levels, false },
        { "index page", other_type, false },
        { "other count", other_count, false },
        { "huge", huge, false },
        { "begins anywhere", begins_anywhere, false },
        { "ends anywhere", ends_anywhere, false },
        { "no bounds", no_bounds, false },
        { "crossed bounds", crossed_bounds, false },
        { "bound is NaN", bound_is_nan, false },
        { "short bound", short_bound, false },
        { "too many NaN", too_many_nan, false },
        { "indices without a dictionary", without_dictionary, false },
    };
    struct firn_op *op = test_op(state);
    struct sample *sample = list_sample(op);
    struct join join = { .sample = sample, .options = firn_chunk_options_default() };
    struct part part = { .slots.slot_end = 100 };
    struct offer offer;
    struct firn_vector vector;
    bool has_page, taken;
    join.options.dictionary = false;
    encode_part(op, sample, &join.options, &part);
    struct firn_chunk_reader *reader = open_part(op, &join, &part);
    CHECK_OK(op, firn_chunk_reader_peek(op, reader, &offer.page, &has_page));
    CHECK_OK(op, firn_chunk_reader_next(op, reader, &vector, &has_page));
    CHECK_OK(op, firn_page_facts_of(op, &join.scratch, sample->leaf, &vector, &offer.facts));
    CHECK_OK(op, firn_chunk_reader_at_row_end(op, reader, &offer.facts.ends_row));
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct offer changed = offer;
        CHECK_OK(op, firn_chunk_writer_open(op, sample->leaf, &join.options, &join.writer));
        cases[i].change(&changed);
        CHECK_OK(op, firn_chunk_writer_splice(op, join.writer, &changed.page, &changed.facts, NULL, &taken));
        CHECK(taken == cases[i].taken, "%s", cases[i].name);
        CHECK(taken || (join.writer->bytes.len == 0 && join.writer->records.count == 0), "%s", cases[i].name);
        firn_chunk_writer_close(join.writer);
    }
    firn_chunk_reader_close(reader);
    firn_encoded_chunk_done(&part.chunk);
    firn_facts_scratch_done(&join.scratch);
}

/* Two pages, the numbers of the first met exactly, those of the second only enclosed. */
static void chunks_know_whether_their_bounds_are_exact(void **state)
{
    static const struct {
        int64_t min, max;
        bool min_exact, max_exact;
    } cases[] = {
        { 12, 15, true, true }, { 10, 19, true, true }, /* the first page's own */
        { 9, 15, false, true }, { 12, 20, true, false }, { 9, 20, false, false },
    };
    static const int64_t numbers[] = { 10, 19, 12, 15 };
    struct firn_op *op = test_op(state);
    struct sample *sample = number_sample(op, numbers, 4);
    struct part parts[] = { { .slots = { 0, 0, 2, 0 } }, { .slots = { 2, 2, 4, 0 } } };
    struct join join = { .sample = sample, .options = firn_chunk_options_default() };
    encode_part(op, sample, &join.options, &parts[0]);
    encode_part(op, sample, &join.options, &parts[1]);
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_encoded_chunk chunk;
        struct firn_page page;
        bool has_page, taken;
        CHECK_OK(op, firn_chunk_writer_open(op, sample->leaf, &join.options, &join.writer));
        join_part(op, &join, &parts[0]);
        struct firn_chunk_reader *reader = open_part(op, &join, &parts[1]);
        CHECK_OK(op, firn_chunk_reader_peek(op, reader, &page, &has_page));
        struct firn_page_facts facts = {
            .slot_count = 2,
            .value_count = 2,
            .row_count = 2,
            .has_bounds = true,
            .min = { (const uint8_t *)&cases[i].min, 8 },
            .max = { (const uint8_t *)&cases[i].max, 8 },
        };
        CHECK_OK(op, firn_chunk_writer_splice(op, join.writer, &page, &facts, NULL, &taken));
        assert_true(taken);
        CHECK_OK(op, firn_chunk_reader_pass(op, reader, 2));
        CHECK_OK(op, firn_chunk_reader_peek(op, reader, &page, &has_page));
        assert_false(has_page);
        firn_chunk_reader_close(reader);
        CHECK_OK(op, firn_chunk_writer_finish(op, join.writer, &chunk));
        firn_chunk_writer_close(join.writer);
        const struct firn_parquet_statistics *statistics = &chunk.metadata.statistics;
        CHECK(chunk.metrics.min_exact == cases[i].min_exact && chunk.metrics.max_exact == cases[i].max_exact, "%zu", i);
        CHECK(statistics->has_min_exact && statistics->min_exact == cases[i].min_exact, "%zu", i);
        CHECK(statistics->has_max_exact && statistics->max_exact == cases[i].max_exact, "%zu", i);
        sample->bounds_enclose = true;
        check_metrics(sample, &join.options, &chunk);
        firn_encoded_chunk_done(&chunk);
    }
    firn_encoded_chunk_done(&parts[0].chunk);
    firn_encoded_chunk_done(&parts[1].chunk);
    firn_facts_scratch_done(&join.scratch);
}

static void counts_of_passed_pages_are_checked(void **state)
{
    struct firn_op *op = test_op(state);
    struct sample *sample = list_sample(op);
    struct join join = { .sample = sample, .options = firn_chunk_options_default() };
    struct part part = { .slots.slot_end = 100 };
    struct firn_page page;
    bool has_page;
    encode_part(op, sample, &join.options, &part);
    static const uint32_t wrong[] = { 99, 101 };
    for (size_t i = 0; i < FIRN_COUNT_OF(wrong); i++) {
        struct firn_chunk_reader *reader = open_part(op, &join, &part);
        CHECK_OK(op, firn_chunk_reader_peek(op, reader, &page, &has_page));
        firn_status status = firn_chunk_reader_pass(op, reader, wrong[i]);
        if (status == FIRN_OK)
            status = firn_chunk_reader_peek(op, reader, &page, &has_page);
        CHECK(status == FIRN_CORRUPT, "%u rows", wrong[i]);
        firn_chunk_reader_close(reader);
    }
    firn_encoded_chunk_done(&part.chunk);
}

/* Copies a chunk into one of its own, or repacks it into one of another codec. */
static firn_status splice_alone(struct firn_op *op, const struct firn_parquet_node *leaf,
                                const struct firn_column_chunk *chunk, int64_t row_count, struct firn_bytes bytes,
                                struct firn_chunk_reader_options reading, bool repacks, struct firn_encoded_chunk *out,
                                uint32_t *copied)
{
    struct firn_chunk_options options = firn_chunk_options_default();
    struct firn_chunk_writer *writer;
    options.codec = repacks && chunk->codec == FIRN_CODEC_ZSTD ? FIRN_CODEC_SNAPPY
                    : repacks                                  ? FIRN_CODEC_ZSTD
                                                               : chunk->codec;
    *out = (struct firn_encoded_chunk){ 0 };
    FIRN_TRY(firn_chunk_writer_open(op, leaf, &options, &writer));
    firn_status status = parquet_chunk_splice(op, leaf, chunk, row_count, bytes, reading, repacks, writer, copied);
    if (status == FIRN_OK)
        status = firn_chunk_writer_finish(op, writer, out);
    firn_chunk_writer_close(writer);
    return status;
}

/* Damaged pages give an error, or a chunk that decodes to what the damaged one does. */
static void damaged_pages_never_become_other_values(void **state)
{
    struct firn_op *op = test_op(state);
    uint64_t seed = test_seeds(op, 1, 1).first;
    uint32_t passed = 0;
    struct sample *sample = malloc(sizeof *sample);
    print_message("FIRN_SEED=%" PRIu64 "\n", seed);
    for (int nth = 0; nth < 20; nth++) {
        struct part part = { 0 };
        *sample = (struct sample){ .seed = next_random(&seed) };
        draw(op, sample);
        struct firn_chunk_options options = draw_options(sample);
        part.slots.slot_end = FIRN_MIN(sample->slot_count, 400);
        while (part.slots.slot_end < sample->slot_count && sample->rep[part.slots.slot_end])
            part.slots.slot_end++;
        encode_part(op, sample, &options, &part);
        for (int flip = 0; flip < 40; flip++) {
            struct firn_encoded_chunk out;
            uint64_t before = 0, after = 0;
            uint32_t copied = 0;
            int64_t rows = count_rows(sample, &part.slots);
            uint8_t *at = &part.chunk.bytes.data[below(&seed, (uint32_t)part.chunk.bytes.len)];
            uint8_t kept = *at;
            *at ^= (uint8_t)(1 + below(&seed, 255));
            struct firn_bytes bytes = firn_buffer_bytes(&part.chunk.bytes);
            struct firn_chunk_reader_options reading = { .keep_dictionary = true };
            firn_status status =
                splice_alone(op, sample->leaf, &part.chunk.metadata, rows, bytes, reading, flip % 2, &out, &copied);
            if (status == FIRN_OK) {
                CHECK_OK(op,
                         parquet_chunk_decode(op, sample->leaf, &part.chunk.metadata, rows, bytes, reading, &before));
                CHECK_OK(op, parquet_chunk_decode(op, sample->leaf, &out.metadata, rows, firn_buffer_bytes(&out.bytes),
                                                  reading, &after));
                CHECK(before == after, "seed %" PRIu64, sample->seed);
                passed++;
            }
            firn_encoded_chunk_done(&out);
            *at = kept;
        }
        firn_encoded_chunk_done(&part.chunk);
    }
    CHECK(passed > 0, "no damage went unnoticed");
    free(sample);
}

struct corpus_tally {
    uint32_t chunks, pages, copied;
    uint32_t encodings; /* met in copied pages, as bits */
};

static void copy_chunk(struct firn_op *op, struct firn_bytes file, const struct firn_parquet_node *leaf,
                       const struct firn_column_chunk *chunk, int64_t rows, bool repacks, struct corpus_tally *tally)
{
    struct firn_chunk_reader_options reading = { .crc_check = true, .keep_dictionary = true };
    struct firn_encoded_chunk out;
    uint64_t offset, len, before = 0, after = 0;
    firn_column_chunk_range(chunk, &offset, &len);
    struct firn_bytes bytes = { file.data + offset, len };
    if (chunk->value_count == 0 || parquet_chunk_decode(op, leaf, chunk, rows, bytes, reading, &before) != FIRN_OK)
        return;
    CHECK_OK(op, splice_alone(op, leaf, chunk, rows, bytes, reading, repacks, &out, &tally->copied));
    CHECK_OK(op, parquet_chunk_decode(op, leaf, &out.metadata, rows, firn_buffer_bytes(&out.bytes), reading, &after));
    CHECK(before == after, "column %.*s", FIRN_FMT(leaf->path));
    check_pages(op, &out);
    check_page_sums(&out);
    tally->chunks++;
    tally->pages += out.offset_index.page_count;
    for (uint32_t i = 0; i < out.metadata.encoding_count; i++)
        tally->encodings |= 1u << out.metadata.encodings[i];
    firn_encoded_chunk_done(&out);
}

static void copy_file(struct firn_op *op, struct firn_bytes file, struct corpus_tally *tally)
{
    struct firn_footer *footer;
    if (!file.data || parquet_file_footer(op, file, &footer) != FIRN_OK)
        return;
    for (uint32_t group = 0; group < footer->row_group_count; group++)
        for (uint32_t leaf = 0; leaf < footer->leaf_count; leaf++)
            for (int repacks = 0; repacks <= (group == 0); repacks++)
                copy_chunk(op, file, footer->leaves[leaf], &footer->row_groups[group].chunks[leaf],
                           footer->row_groups[group].row_count, repacks, tally);
}

static void pages_of_many_writers_are_copied(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_text root = corpus_root(op);
    CORPUS_OR_SKIP(root);
    struct corpus_tally tally = { 0 };
    const char *name;
    json_t *expected;
    json_t *files = corpus_expected(op, root, "parquet");
    json_object_foreach(files, name, expected)
    {
        struct firn_arena arena;
        struct firn_op inner = *op;
        firn_arena_init(&arena);
        inner.arena = &arena;
        print_message("%s\n", name);
        copy_file(&inner, corpus_file(&inner, "%.*s/parquet/%s", FIRN_FMT(root), name), &tally);
        firn_arena_done(&arena);
    }
    print_message("%u chunks, %u of %u pages copied, encodings %x\n", tally.chunks, tally.copied, tally.pages,
                  tally.encodings);
    CHECK(tally.copied > tally.pages / 2, "most pages can be copied");
    for (int encoding = FIRN_ENCODING_DELTA_BINARY_PACKED; encoding < FIRN_ENCODING_COUNT; encoding++)
        CHECK(tally.encodings & 1u << encoding, "no page in %s was copied",
              firn_encoding_name((enum firn_encoding)encoding));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(copied_pages_are_as_good_as_encoded_ones), TEST(pages_of_indices_need_their_dictionary),
        TEST(a_refused_dictionary_leaves_no_trace),     TEST(small_pages_grow_before_a_page_is_copied),
        TEST(pages_that_do_not_fit_are_refused),        TEST(chunks_know_whether_their_bounds_are_exact),
        TEST(counts_of_passed_pages_are_checked),       TEST(damaged_pages_never_become_other_values),
        TEST(pages_of_many_writers_are_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
