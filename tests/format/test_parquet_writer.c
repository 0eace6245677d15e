/* Chunk and file writers: random columns of every physical type and nesting are written with random options and read
 * back; pages, page indexes, statistics and sizes are checked against what was put in. */
#include "format/column_sample.h"

#include "format/parquet/delta_decode.h"
#include "format/parquet/delta_write.h"
#include "support/seeds.h"

enum { CASE_COUNT = 150 };

/* Sizes, offsets and encodings in the metadata against the page headers. */
static void check_headers(struct firn_op *op, const struct firn_chunk_options *options,
                          const struct firn_encoded_chunk *chunk)
{
    struct firn_cursor in = firn_cursor_of(firn_buffer_bytes(&chunk->bytes));
    const struct firn_column_chunk *metadata = &chunk->metadata;
    int64_t uncompressed = 0;
    uint32_t data_pages = 0;
    uint32_t encodings = 1u << FIRN_ENCODING_RLE;
    while (firn_cursor_left(&in) > 0) {
        struct firn_page page;
        CHECK_OK(op, firn_page_next(op, &in, true, &page));
        CHECK(page.header.has_crc, "page without a CRC");
        uncompressed += (int64_t)page.header_bytes.len + page.header.uncompressed_bytes;
        encodings |= 1u << page.header.encoding;
        if (page.header.type == FIRN_PAGE_DICTIONARY) {
            assert_int_equal(page.offset, 0);
            continue;
        }
        const struct firn_page_location *location = &chunk->offset_index.pages[data_pages++];
        assert_int_equal(location->offset, page.offset);
        assert_int_equal(location->compressed_bytes, page.header_bytes.len + page.body.len);
        assert_int_equal(page.header.type, options->page_v2 ? FIRN_PAGE_DATA_V2 : FIRN_PAGE_DATA);
        if (options->page_v2) {
            CHECK(page.header.row_count <= options->page_rows_max, "%d rows", page.header.row_count);
            CHECK(page.header.null_count < page.header.value_count || !page.header.is_compressed, "nulls compressed");
        }
    }
    assert_int_equal(data_pages, chunk->offset_index.page_count);
    assert_int_equal(metadata->uncompressed_bytes, uncompressed);
    assert_int_equal(metadata->compressed_bytes, chunk->bytes.len);
    assert_int_equal(metadata->data_page_offset, chunk->offset_index.pages[0].offset);
    for (uint32_t i = 0; i < metadata->encoding_count; i++)
        encodings &= ~(1u << metadata->encodings[i]);
    assert_int_equal(encodings, 0);
}

static void indexes_survive_printing(struct firn_op *op, const struct firn_encoded_chunk *chunk)
{
    struct firn_buffer bytes = { 0 };
    struct firn_offset_index offsets;
    struct firn_column_index bounds;
    CHECK_OK(op, firn_offset_index_print(op, &chunk->offset_index, &bytes));
    CHECK_OK(op, firn_offset_index_parse(op, firn_buffer_bytes(&bytes), &offsets));
    assert_int_equal(offsets.page_count, chunk->offset_index.page_count);
    for (uint32_t i = 0; i < offsets.page_count; i++) {
        assert_int_equal(offsets.pages[i].offset, chunk->offset_index.pages[i].offset);
        assert_int_equal(offsets.pages[i].compressed_bytes, chunk->offset_index.pages[i].compressed_bytes);
        assert_int_equal(offsets.pages[i].first_row_index, chunk->offset_index.pages[i].first_row_index);
    }
    firn_buffer_clear(&bytes);
    CHECK_OK(op, firn_column_index_print(op, &chunk->column_index, &bytes));
    CHECK_OK(op, firn_column_index_parse(op, firn_buffer_bytes(&bytes), &bounds));
    assert_int_equal(bounds.page_count, chunk->column_index.page_count);
    for (uint32_t i = 0; i < bounds.page_count; i++) {
        assert_int_equal(bounds.null_pages[i], chunk->column_index.null_pages[i]);
        assert_int_equal(bounds.null_counts[i], chunk->column_index.null_counts[i]);
        CHECK(same_bytes(bounds.min_values[i], chunk->column_index.min_values[i]), "page %u", i);
        CHECK(same_bytes(bounds.max_values[i], chunk->column_index.max_values[i]), "page %u", i);
    }
    firn_buffer_done(&bytes);
}

static void encode_sample(struct firn_op *op, struct sample *sample, const struct firn_chunk_options *options,
                          struct firn_encoded_chunk *out)
{
    struct firn_chunk_writer *writer;
    CHECK_OK(op, firn_chunk_writer_open(op, sample->leaf, options, &writer));
    append_slots(op, sample, &(struct slots){ .slot_end = sample->slot_count }, writer);
    CHECK_OK(op, firn_chunk_writer_finish(op, writer, out));
    firn_chunk_writer_close(writer);
}

static void random_columns_read_back_as_written(void **state)
{
    struct firn_op *op = test_op(state);
    struct test_seeds seeds = test_seeds(op, 1, CASE_COUNT);
    struct sample *sample = malloc(sizeof *sample);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        struct firn_arena arena, *outer = op->arena;
        struct firn_encoded_chunk chunk;
        firn_arena_init(&arena);
        op->arena = &arena;
        *sample = (struct sample){ .seed = seed };
        draw(op, sample);
        struct firn_chunk_options options = draw_options(sample);
        print_message("FIRN_SEED=%" PRIu64 " type %d, shape %s, %u rows\n", seed, (int)sample->kind->type,
                      sample->shape, sample->row_count);
        encode_sample(op, sample, &options, &chunk);
        read_back(op, sample, &chunk);
        check_headers(op, &options, &chunk);
        check_metrics(sample, &options, &chunk);
        indexes_survive_printing(op, &chunk);
        firn_encoded_chunk_done(&chunk);
        firn_arena_done(&arena);
        op->arena = outer;
    }
    free(sample);
}

/* A required INT64 column of `count` values, value i being i % distinct, appended in vectors of 1000. */
static void encode_cycle(struct firn_op *op, uint32_t count, uint32_t distinct,
                         const struct firn_chunk_options *options, struct firn_encoded_chunk *out)
{
    static const struct firn_parquet_node leaf = { .name = FIRN_TEXT_INIT("x"),
                                                   .is_leaf = true,
                                                   .type = FIRN_PARQUET_INT64 };
    struct firn_chunk_writer *writer;
    int64_t values[1000];
    CHECK_OK(op, firn_chunk_writer_open(op, &leaf, options, &writer));
    for (uint32_t start = 0; start < count; start += 1000) {
        for (uint32_t i = 0; i < 1000; i++)
            values[i] = (start + i) % distinct;
        struct firn_vector vector = {
            .type = FIRN_PARQUET_INT64,
            .slot_count = 1000,
            .value_count = 1000,
            .row_count = 1000,
            .values.int64 = values,
        };
        CHECK_OK(op, firn_chunk_writer_append(op, writer, &vector));
    }
    CHECK_OK(op, firn_chunk_writer_finish(op, writer, out));
    firn_chunk_writer_close(writer);
}

/* Pages of a kind, as the metadata counts them. */
static int32_t pages_of(const struct firn_encoded_chunk *chunk, enum firn_page_type type, enum firn_encoding encoding)
{
    for (uint32_t i = 0; i < chunk->metadata.encoding_stats_count; i++)
        if (chunk->metadata.encoding_stats[i].page_type == (int32_t)type &&
            chunk->metadata.encoding_stats[i].encoding == encoding)
            return chunk->metadata.encoding_stats[i].count;
    return 0;
}

static void dictionaries_are_kept_or_left(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        uint32_t count, distinct;
        int32_t dictionary_bytes_max;
        int32_t dictionary_pages, index_pages, plain_pages;
    } cases[] = {
        { 100000, 100, 1 << 20, 1, 5, 0 },     /* pays */
        { 100000, 100000, 1 << 20, 0, 0, 5 },  /* not smaller on the first page */
        { 100000, 100, 0, 0, 0, 5 },           /* not wanted */
        { 100000, 100, 799, 0, 0, 5 },         /* outgrown within the first page */
        { 100000, 10000, 10000 * 8, 1, 5, 0 }, /* just fits */
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_chunk_options options = firn_chunk_options_default();
        struct firn_encoded_chunk chunk;
        options.dictionary_bytes_max = cases[i].dictionary_bytes_max;
        encode_cycle(op, cases[i].count, cases[i].distinct, &options, &chunk);
        CHECK(pages_of(&chunk, FIRN_PAGE_DICTIONARY, FIRN_ENCODING_PLAIN) == cases[i].dictionary_pages, "case %zu", i);
        CHECK(pages_of(&chunk, FIRN_PAGE_DATA, FIRN_ENCODING_RLE_DICTIONARY) == cases[i].index_pages, "case %zu", i);
        CHECK(pages_of(&chunk, FIRN_PAGE_DATA, FIRN_ENCODING_PLAIN) == cases[i].plain_pages, "case %zu", i);
        firn_encoded_chunk_done(&chunk);
    }
}

static void pages_written_with_a_dictionary_outlive_it(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_chunk_options options = firn_chunk_options_default();
    struct firn_encoded_chunk chunk;
    options.page_rows_max = 1000;
    options.dictionary_bytes_max = 10 * 8;
    struct sample *sample = calloc(1, sizeof *sample);
    sample->kind = &kinds[3];
    sample->shape = "o";
    build_schema(op, sample);
    for (uint32_t i = 0; i < 5000; i++) { /* nulls first, then few values, then many */
        sample->def[i] = i >= 1000;
        if (i >= 1000) {
            int64_t number = i < 3000 ? i % 10 : i;
            sample->values[sample->value_count++] =
                firn_bytes_copy(op->arena, (struct firn_bytes){ (const uint8_t *)&number, sizeof number });
        }
    }
    sample->slot_count = sample->row_count = 5000;
    encode_sample(op, sample, &options, &chunk);
    read_back(op, sample, &chunk);
    assert_int_equal(pages_of(&chunk, FIRN_PAGE_DICTIONARY, FIRN_ENCODING_PLAIN), 1);
    assert_int_equal(pages_of(&chunk, FIRN_PAGE_DATA, FIRN_ENCODING_RLE_DICTIONARY), 2);
    assert_int_equal(pages_of(&chunk, FIRN_PAGE_DATA, FIRN_ENCODING_PLAIN), 3);
    assert_int_equal(chunk.column_index.boundary_order, FIRN_ASCENDING);
    firn_encoded_chunk_done(&chunk);
    free(sample);
}

/* Differences of every width, of both types, modulo 2^32 and 2^64, and of every count about the edges of blocks. */
static void deltas_decode_to_the_values(void **state)
{
    static const size_t counts[] = { 0, 1, 2, 32, 33, 34, 128, 129, 130, 257, 1000 };
    struct firn_op *op = test_op(state);
    struct firn_buffer encoded = { 0 };
    uint64_t seed = 7;
    int32_t small[1000], small_read[1000];
    int64_t large[1000], large_read[1000];
    for (unsigned width = 0; width <= 64; width++)
        for (size_t nth = 0; nth < FIRN_COUNT_OF(counts); nth++) {
            uint32_t count = (uint32_t)counts[nth];
            uint64_t mask = width == 0 ? 0 : UINT64_MAX >> (64 - width), sum = next_random(&seed);
            for (uint32_t i = 0; i < count; i++) {
                sum += next_random(&seed) & mask;
                large[i] = (int64_t)sum;
                small[i] = (int32_t)(uint32_t)sum;
            }
            firn_buffer_clear(&encoded);
            CHECK_OK(op, firn_delta_encode(op, (struct firn_bytes){ (uint8_t *)large, count * 8 }, 8, &encoded));
            size_t large_bytes = encoded.len;
            CHECK_OK(op, firn_delta_encode(op, (struct firn_bytes){ (uint8_t *)small, count * 4 }, 4, &encoded));
            struct firn_cursor in = firn_cursor_of(firn_buffer_bytes(&encoded));
            CHECK_OK(op, firn_delta_decode_i64(op, &in, count, large_read));
            assert_int_equal(firn_cursor_offset(&in), large_bytes);
            CHECK_OK(op, firn_delta_decode_i32(op, &in, count, small_read));
            assert_int_equal(firn_cursor_left(&in), 0);
            assert_memory_equal(large, large_read, count * 8);
            assert_memory_equal(small, small_read, count * 4);
        }
    firn_buffer_done(&encoded);
}

static void numbers_in_a_row_take_a_few_bytes_a_page(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_chunk_options options = firn_chunk_options_default();
    struct firn_encoded_chunk chunk;
    options.dictionary = false;
    options.delta = true;
    encode_cycle(op, 100000, UINT32_MAX, &options, &chunk);
    assert_int_equal(pages_of(&chunk, FIRN_PAGE_DATA, FIRN_ENCODING_DELTA_BINARY_PACKED), 5);
    CHECK(chunk.bytes.len < 5 * 100, "%zu bytes", chunk.bytes.len);
    firn_encoded_chunk_done(&chunk);
}

/* Texts of random digits, three pages. */
static size_t encode_digits(struct firn_op *op, const struct firn_parquet_node *leaf, int32_t level, bool same_length)
{
    enum { ROWS = 60000, DIGITS = 32, ODD = 100 };
    struct firn_chunk_options options = firn_chunk_options_default();
    struct firn_encoded_chunk chunk;
    struct firn_chunk_writer *writer;
    struct firn_slice *slices = FIRN_NEW_ARRAY(op->arena, struct firn_slice, ROWS);
    uint64_t random = 1;
    for (uint32_t i = 0; i < ROWS; i++) {
        char *text = FIRN_NEW_ARRAY(op->arena, char, DIGITS);
        for (int at = 0; at < DIGITS; at++) {
            random = random * UINT64_C(6364136223846793005) + 1;
            text[at] = "0123456789abcdef"[random >> 60];
        }
        slices[i] = (struct firn_slice){ (const uint8_t *)text, DIGITS - (!same_length && i % ODD == 0) };
    }
    const struct firn_vector vector = {
        .type = leaf->type, .slot_count = ROWS, .value_count = ROWS, .row_count = ROWS, .values = { .slice = slices }
    };
    options.codec_level = level;
    CHECK_OK(op, firn_chunk_writer_open(op, leaf, &options, &writer));
    CHECK_OK(op, firn_chunk_writer_append(op, writer, &vector));
    CHECK_OK(op, firn_chunk_writer_finish(op, writer, &chunk));
    firn_chunk_writer_close(writer);
    size_t bytes = chunk.bytes.len;
    firn_encoded_chunk_done(&chunk);
    return bytes;
}

/* Unless somebody asked for a level. */
static void pages_without_repeats_are_not_searched_for_them(void **state)
{
    struct firn_op *op = test_op(state);
    struct sample *sample = calloc(1, sizeof *sample);
    sample->kind = &kinds[0];
    while (sample->kind->type != FIRN_PARQUET_BYTE_ARRAY)
        sample->kind++;
    sample->shape = "q";
    build_schema(op, sample);
    size_t by_default = encode_digits(op, sample->leaf, FIRN_CODEC_LEVEL_DEFAULT, false);
    assert_int_equal(by_default, encode_digits(op, sample->leaf, FIRN_CODEC_LEVEL_RARE_REPEATS, false));
    CHECK(by_default < encode_digits(op, sample->leaf, 3, false), "%zu bytes", by_default);
    size_t of_one_length = encode_digits(op, sample->leaf, FIRN_CODEC_LEVEL_DEFAULT, true);
    CHECK(of_one_length < by_default - by_default / 20, "%zu and %zu bytes", of_one_length, by_default);
    free(sample);
}

static void chunks_with_nan_have_no_bounds_in_the_file(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_chunk_options options = firn_chunk_options_default();
    struct firn_encoded_chunk chunk;
    struct sample *sample = calloc(1, sizeof *sample);
    sample->kind = &kinds[7];
    sample->shape = "q";
    build_schema(op, sample);
    options.page_rows_max = 10;
    for (uint32_t i = 0; i < 30; i++) {
        double number = i == 17 ? NAN : i;
        sample->values[sample->value_count++] =
            firn_bytes_copy(op->arena, (struct firn_bytes){ (const uint8_t *)&number, sizeof number });
    }
    sample->slot_count = sample->row_count = 30;
    encode_sample(op, sample, &options, &chunk);
    assert_int_equal(chunk.column_index.page_count, 0);
    assert_int_equal(chunk.offset_index.page_count, 3);
    assert_int_equal(chunk.metrics.nan_count, 1);
    assert_int_equal(chunk.metadata.statistics.nan_count, 1);
    assert_null(chunk.metadata.statistics.min_value.data);
    assert_true(chunk.metrics.has_bounds);
    firn_encoded_chunk_done(&chunk);
    free(sample);
}

/* With less memory than is needed every call may fail; nothing leaks, and enough memory makes it succeed. */
static void memory_limits_are_reported(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_budget budget = { 0 };
    struct sample *sample = calloc(1, sizeof *sample);
    struct firn_chunk_options options = firn_chunk_options_default();
    firn_status status = FIRN_LIMIT;
    sample->kind = &kinds[8];
    sample->shape = "oro";
    sample->distinct = 500;
    build_schema(op, sample);
    for (; sample->row_count < 3000; sample->row_count++)
        put_record(op, sample, sample->shape, 0, 0, 0);
    struct firn_vector vector = {
        .type = sample->kind->type,
        .rep_max = sample->leaf->rep_max,
        .def_max = sample->leaf->def_max,
        .slot_count = sample->slot_count,
        .value_count = sample->value_count,
        .row_count = sample->row_count,
        .rep = sample->rep,
        .def = sample->def,
        .values = array_of(op, sample, sample->values, sample->value_count),
    };
    op->budget = &budget;
    options.page_rows_max = 500;
    for (budget.limit_bytes = 64; status != FIRN_OK; budget.limit_bytes += budget.limit_bytes / 8) {
        struct firn_encoded_chunk chunk = { 0 };
        struct firn_chunk_writer *writer;
        CHECK_OK(op, firn_chunk_writer_open(op, sample->leaf, &options, &writer));
        status = firn_chunk_writer_append(op, writer, &vector);
        if (status == FIRN_OK)
            status = firn_chunk_writer_finish(op, writer, &chunk);
        CHECK(status == FIRN_OK || status == FIRN_LIMIT, "%s", op->error.text);
        firn_chunk_writer_close(writer);
        firn_encoded_chunk_done(&chunk);
        assert_int_equal(budget.used_bytes, 0);
    }
    CHECK(budget.limit_bytes > 10000 && budget.limit_bytes < 10000000, "%zu bytes were enough", budget.limit_bytes);
    free(sample);
}

/* One leaf of each annotation a writer may be asked for. */
static const struct kind annotated[] = {
    { FIRN_PARQUET_INT32, 0, { .kind = FIRN_LOGICAL_DECIMAL, .precision = 9, .scale = 2 } },
    { FIRN_PARQUET_INT32, 0, { .kind = FIRN_LOGICAL_DATE } },
    { FIRN_PARQUET_INT32, 0, { .kind = FIRN_LOGICAL_TIME, .unit = FIRN_UNIT_MILLIS, .adjusted_to_utc = true } },
    { FIRN_PARQUET_INT64, 0, { .kind = FIRN_LOGICAL_TIME, .unit = FIRN_UNIT_MICROS } },
    { FIRN_PARQUET_INT64, 0, { .kind = FIRN_LOGICAL_TIMESTAMP, .unit = FIRN_UNIT_MILLIS, .adjusted_to_utc = true } },
    { FIRN_PARQUET_INT64, 0, { .kind = FIRN_LOGICAL_TIMESTAMP, .unit = FIRN_UNIT_MICROS } },
    { FIRN_PARQUET_INT64, 0, { .kind = FIRN_LOGICAL_TIMESTAMP, .unit = FIRN_UNIT_NANOS, .adjusted_to_utc = true } },
    { FIRN_PARQUET_INT32, 0, { .kind = FIRN_LOGICAL_INTEGER, .bit_width = 8, .is_signed = true } },
    { FIRN_PARQUET_INT64, 0, { .kind = FIRN_LOGICAL_INTEGER, .bit_width = 64 } },
    { FIRN_PARQUET_BYTE_ARRAY, 0, { .kind = FIRN_LOGICAL_STRING } },
    { FIRN_PARQUET_BYTE_ARRAY, 0, { .kind = FIRN_LOGICAL_ENUM } },
    { FIRN_PARQUET_BYTE_ARRAY, 0, { .kind = FIRN_LOGICAL_JSON } },
    { FIRN_PARQUET_BYTE_ARRAY, 0, { .kind = FIRN_LOGICAL_BSON } },
    { FIRN_PARQUET_BYTE_ARRAY, 0, { .kind = FIRN_LOGICAL_GEOMETRY, .crs = FIRN_TEXT_INIT("EPSG:4326") } },
    { FIRN_PARQUET_BYTE_ARRAY, 0, { .kind = FIRN_LOGICAL_GEOGRAPHY, .edge_algorithm = 2 } },
    { FIRN_PARQUET_FIXED, 16, { .kind = FIRN_LOGICAL_UUID } },
    { FIRN_PARQUET_FIXED, 2, { .kind = FIRN_LOGICAL_FLOAT16 } },
    { FIRN_PARQUET_FIXED, 12, { .kind = FIRN_LOGICAL_INTERVAL } },
    { FIRN_PARQUET_INT32, 0, { .kind = FIRN_LOGICAL_UNKNOWN } },
};

/* A schema of every annotated leaf, in groups LIST and MAP too. */
static void build_annotated(struct firn_op *op, struct firn_footer *schema)
{
    static const enum firn_logical groups[] = { FIRN_LOGICAL_LIST, FIRN_LOGICAL_MAP, FIRN_LOGICAL_NONE };
    schema->root = (struct firn_parquet_node){
        .name = FIRN_TEXT("table"),
        .children = FIRN_NEW_ARRAY(op->arena, struct firn_parquet_node, FIRN_COUNT_OF(groups)),
        .child_count = FIRN_COUNT_OF(groups),
    };
    for (uint32_t group = 0; group < FIRN_COUNT_OF(groups); group++) {
        struct firn_parquet_node *parent = &schema->root.children[group];
        parent->name = firn_text_format(op->arena, "group.%u", group);
        parent->logical.kind = groups[group];
        parent->has_field_id = true;
        parent->field_id = 1000 + (int32_t)group;
        parent->child_count = FIRN_COUNT_OF(annotated);
        parent->children = FIRN_NEW_ARRAY(op->arena, struct firn_parquet_node, FIRN_COUNT_OF(annotated));
        for (uint32_t i = 0; i < FIRN_COUNT_OF(annotated); i++)
            parent->children[i] = (struct firn_parquet_node){
                .name = firn_text_format(op->arena, "leaf %u", i),
                .repetition = (enum firn_repetition)(i % 3),
                .has_field_id = i % 2,
                .field_id = i % 2 ? (int32_t)i : 0,
                .is_leaf = true,
                .type = annotated[i].type,
                .type_length = annotated[i].type_length,
                .logical = annotated[i].logical,
            };
    }
    CHECK_OK(op, firn_parquet_schema_finish(op, schema));
}

static void check_node(const struct firn_parquet_node *a, const struct firn_parquet_node *b)
{
    CHECK(firn_text_same(a->path, b->path), "%.*s and %.*s", FIRN_FMT(a->path), FIRN_FMT(b->path));
    assert_int_equal(a->repetition, b->repetition);
    assert_int_equal(a->has_field_id, b->has_field_id);
    assert_int_equal(a->field_id, b->field_id);
    assert_int_equal(a->is_leaf, b->is_leaf);
    if (a->is_leaf)
        assert_int_equal(a->type, b->type);
    assert_int_equal(a->type_length, b->type_length);
    assert_int_equal(a->logical.kind, b->logical.kind);
    assert_int_equal(a->logical.precision, b->logical.precision);
    assert_int_equal(a->logical.scale, b->logical.scale);
    assert_int_equal(a->logical.unit, b->logical.unit);
    assert_int_equal(a->logical.adjusted_to_utc, b->logical.adjusted_to_utc);
    assert_int_equal(a->logical.bit_width, b->logical.bit_width);
    assert_int_equal(a->logical.is_signed, b->logical.is_signed);
    CHECK(firn_text_same(a->logical.crs, b->logical.crs), "%.*s", FIRN_FMT(a->path));
    if (a->logical.kind == FIRN_LOGICAL_GEOGRAPHY)
        assert_int_equal(a->logical.edge_algorithm, b->logical.edge_algorithm);
    assert_int_equal(a->child_count, b->child_count);
    for (uint32_t i = 0; i < a->child_count; i++)
        check_node(&a->children[i], &b->children[i]);
}

/* A chunk of one row without a value. */
static void encode_null(struct firn_op *op, const struct firn_parquet_node *leaf, struct firn_encoded_chunk *out)
{
    static const uint8_t zero[1];
    struct firn_chunk_options options = firn_chunk_options_default();
    struct firn_chunk_writer *writer;
    uint8_t required[16] = { 0 };
    struct firn_slice empty = { .data = required };
    struct firn_vector vector = {
        .type = leaf->type,
        .type_length = leaf->type_length,
        .rep_max = leaf->rep_max,
        .def_max = leaf->def_max,
        .slot_count = 1,
        .row_count = 1,
        .value_count = leaf->def_max == 0,
        .rep = leaf->rep_max ? zero : NULL,
        .def = leaf->def_max ? zero : NULL,
        .values.fixed = required,
    };
    if (leaf->type == FIRN_PARQUET_BYTE_ARRAY)
        vector.values.slice = &empty;
    CHECK_OK(op, firn_chunk_writer_open(op, leaf, &options, &writer));
    CHECK_OK(op, firn_chunk_writer_append(op, writer, &vector));
    CHECK_OK(op, firn_chunk_writer_finish(op, writer, out));
    firn_chunk_writer_close(writer);
}

static void check_chunk(struct firn_op *op, const struct firn_column_chunk *written,
                        const struct firn_column_chunk *read, struct firn_bytes file)
{
    struct firn_offset_index offsets;
    assert_int_equal(read->type, written->type);
    assert_int_equal(read->codec, written->codec);
    assert_int_equal(read->value_count, written->value_count);
    assert_int_equal(read->compressed_bytes, written->compressed_bytes);
    assert_int_equal(read->uncompressed_bytes, written->uncompressed_bytes);
    assert_int_equal(read->data_page_offset, written->data_page_offset);
    assert_int_equal(read->encoding_count, written->encoding_count);
    assert_int_equal(read->encoding_stats_count, written->encoding_stats_count);
    assert_int_equal(read->statistics.null_count, written->statistics.null_count);
    bool has_bounds = read->statistics.null_count == 0; /* of the only row */
    CHECK(has_bounds || (!read->statistics.min_value.data && !read->statistics.max_value.data), "bounds of no values");
    assert_int_equal(read->offset_index_offset, written->offset_index_offset);
    assert_int_equal(read->column_index_offset, written->column_index_offset);
    CHECK_OK(op, firn_offset_index_parse(
                     op, (struct firn_bytes){ file.data + read->offset_index_offset, (size_t)read->offset_index_bytes },
                     &offsets));
    assert_int_equal(offsets.pages[0].offset, read->data_page_offset);
}

static void files_say_what_they_hold(void **state)
{
    struct firn_op *op = test_op(state);
    static struct firn_key_value key_values[] = {
        { FIRN_TEXT_INIT("iceberg.schema"), FIRN_TEXT_INIT("{}") },
        { FIRN_TEXT_INIT("empty"), FIRN_TEXT_INIT("") },
    };
    struct firn_footer schema = { .key_values = key_values, .key_value_count = 2 }, *written, *read;
    struct firn_buffer file = { 0 };
    struct firn_sink sink = firn_sink_to_buffer(&file);
    struct firn_parquet_writer *writer;
    uint32_t footer_bytes;
    build_annotated(op, &schema);
    struct firn_encoded_chunk *chunks = FIRN_NEW_ARRAY(op->arena, struct firn_encoded_chunk, schema.leaf_count);
    CHECK_OK(op, firn_parquet_writer_open(op, &schema, &sink, &writer));
    for (int group = 0; group < 2; group++) {
        for (uint32_t i = 0; i < schema.leaf_count; i++)
            encode_null(op, schema.leaves[i], &chunks[i]);
        CHECK_OK(op, firn_parquet_writer_add(op, writer, chunks, 1));
    }
    CHECK_OK(op, firn_parquet_writer_finish(op, writer, &written));
    firn_parquet_writer_close(writer);

    struct firn_bytes tail = { file.data + file.len - FIRN_PARQUET_TAIL_BYTES, FIRN_PARQUET_TAIL_BYTES };
    CHECK_OK(op, firn_footer_tail_parse(op, tail, file.len, &footer_bytes));
    assert_int_equal(footer_bytes, written->footer_bytes);
    CHECK_OK(op, firn_footer_parse(op, (struct firn_bytes){ tail.data - footer_bytes, footer_bytes }, file.len, &read));
    check_node(&schema.root, &read->root);
    assert_int_equal(read->row_count, 2);
    assert_int_equal(read->row_group_count, 2);
    assert_int_equal(read->key_value_count, 2);
    assert_true(firn_text_is(read->created_by, "firn version " FIRN_VERSION));
    assert_true(read->has_column_orders);
    for (uint32_t group = 0; group < 2; group++) {
        assert_int_equal(read->row_groups[group].file_offset, written->row_groups[group].file_offset);
        assert_int_equal(read->row_groups[group].total_bytes, written->row_groups[group].total_bytes);
        assert_int_equal(read->row_groups[group].file_offset, read->row_groups[group].chunks[0].data_page_offset);
        for (uint32_t i = 0; i < read->leaf_count; i++)
            check_chunk(op, &written->row_groups[group].chunks[i], &read->row_groups[group].chunks[i],
                        firn_buffer_bytes(&file));
    }
    firn_buffer_done(&file);
}

/* Until a file ends, little is kept of each chunk: of wide tables there are a hundred thousand. */
static void finished_row_groups_take_little_memory(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_footer schema = { 0 }, *written;
    struct firn_buffer file = { 0 };
    struct firn_sink sink = firn_sink_to_buffer(&file);
    struct firn_parquet_writer *writer;
    build_annotated(op, &schema);
    struct firn_encoded_chunk *chunks = FIRN_NEW_ARRAY(op->arena, struct firn_encoded_chunk, schema.leaf_count);
    CHECK_OK(op, firn_parquet_writer_open(op, &schema, &sink, &writer));
    for (int group = 0; group < 200; group++) {
        for (uint32_t i = 0; i < schema.leaf_count; i++)
            encode_null(op, schema.leaves[i], &chunks[i]);
        CHECK_OK(op, firn_parquet_writer_add(op, writer, chunks, 1));
    }
    uint64_t most = (uint64_t)200 * schema.leaf_count * 1024;
    CHECK(firn_parquet_writer_memory(writer) < most, "%" PRIu64 " bytes", firn_parquet_writer_memory(writer));
    CHECK_OK(op, firn_parquet_writer_finish(op, writer, &written));
    assert_int_equal(written->row_group_count, 200);
    firn_parquet_writer_close(writer);
    firn_buffer_done(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(random_columns_read_back_as_written),
        TEST(dictionaries_are_kept_or_left),
        TEST(pages_written_with_a_dictionary_outlive_it),
        TEST(deltas_decode_to_the_values),
        TEST(numbers_in_a_row_take_a_few_bytes_a_page),
        TEST(pages_without_repeats_are_not_searched_for_them),
        TEST(chunks_with_nan_have_no_bounds_in_the_file),
        TEST(memory_limits_are_reported),
        TEST(files_say_what_they_hold),
        TEST(finished_row_groups_take_little_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
