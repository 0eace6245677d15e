/* Reading Parquet: the kernels against slow twins, encodings from bytes written out by hand, headers that lie, and
 * every byte of a file changed in turn. Names as R43 are those of the field reports the cases come from. */
#include "check.h"

#include "base/math.h"
#include "format/parquet/delta_decode.h"
#include "format/parquet/rle_decode.h"
#include "format/parquet/thrift_read.h"
#include "format/parquet/unpack.h"
#include "format/parquet/writer.h"
#include "support/parquet_file.h"

#define BYTES(...) ((struct firn_bytes){ (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }) })

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed ^ *seed >> 29;
}

static uint64_t slow_unpack(const uint8_t *in, unsigned width, size_t index)
{
    uint64_t value = 0;
    for (unsigned bit = 0; bit < width; bit++) {
        size_t at = index * width + bit;
        value |= (uint64_t)(in[at / 8] >> at % 8 & 1) << bit;
    }
    return value;
}

/* Every width and count, from memory that ends with the last value. */
static void check_unpack(unsigned width, size_t count)
{
    size_t len = firn_packed_bytes(count, width);
    uint64_t seed = width * 1000 + count;
    uint8_t *in = malloc(len + 1);
    uint64_t *out64 = malloc(count * sizeof *out64 + 1);
    uint32_t *out32 = malloc(count * sizeof *out32 + 1);
    uint8_t *out8 = malloc(count + 1);
    for (size_t i = 0; i < len; i++)
        in[i] = (uint8_t)next_random(&seed);
    struct firn_bytes bytes = { in, len };
    firn_unpack_u64(bytes, width, count, out64);
    if (width <= 32)
        firn_unpack_u32(bytes, width, count, out32);
    if (width <= 8)
        firn_unpack_u8(bytes, width, count, out8);
    for (size_t i = 0; i < count; i++) {
        uint64_t wanted = slow_unpack(in, width, i);
        CHECK(out64[i] == wanted, "width %u, value %zu of %zu", width, i, count);
        CHECK(width > 32 || out32[i] == wanted, "width %u, value %zu of %zu", width, i, count);
        CHECK(width > 8 || out8[i] == wanted, "width %u, value %zu of %zu", width, i, count);
    }
    free(in);
    free(out64);
    free(out32);
    free(out8);
}

static void unpacks_all_widths(void **state)
{
    (void)state;
    static const size_t counts[] = { 0, 1, 7, 8, 9, 31, 64, 65, 200 };
    for (unsigned width = 0; width <= 64; width++)
        for (size_t i = 0; i < FIRN_COUNT_OF(counts); i++)
            check_unpack(width, counts[i]);
}

/* Values of every width, from memory that ends with the last one. */
static void gathers_all_widths(void **state)
{
    (void)state;
    enum { VALUES = 11, COUNT = 37, WIDTH_MAX = 33 };
    uint8_t out[COUNT * WIDTH_MAX];
    uint32_t indices[COUNT];
    uint64_t seed = 3;
    for (size_t i = 0; i < COUNT; i++)
        indices[i] = (uint32_t)(next_random(&seed) % VALUES);
    for (size_t width = 1; width <= WIDTH_MAX; width++) {
        uint8_t *values = malloc(VALUES * width);
        for (size_t i = 0; i < VALUES * width; i++)
            values[i] = (uint8_t)next_random(&seed);
        firn_gather(values, width, indices, COUNT, out);
        for (size_t i = 0; i < COUNT; i++)
            assert_memory_equal(out + i * width, values + indices[i] * width, width);
        free(values);
    }
}

static void kernels_agree_with_slow_twins(void **state)
{
    (void)state;
    enum { COUNT = 203 };
    uint8_t bytes[COUNT * 8], joined[COUNT * 8];
    uint32_t words[COUNT];
    uint64_t seed = 7;
    for (size_t count = 0; count < COUNT; count++) {
        size_t zeros = 0;
        uint8_t max8 = 0;
        uint32_t max32 = 0;
        for (size_t i = 0; i < count; i++) {
            bytes[i] = (uint8_t)next_random(&seed) % 4;
            words[i] = (uint32_t)next_random(&seed);
            zeros += bytes[i] == 0;
            max8 = FIRN_MAX(max8, bytes[i]);
            max32 = FIRN_MAX(max32, words[i]);
        }
        CHECK(firn_count_u8(bytes, count, 0) == zeros, "%zu", count);
        CHECK(firn_max_u8(bytes, count) == max8, "%zu", count);
        CHECK(firn_max_u32(words, count) == max32, "%zu", count);
    }
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)next_random(&seed);
    for (size_t width = 1; width <= 8; width++) {
        firn_join_streams(bytes, width, COUNT, joined);
        for (size_t i = 0; i < COUNT * width; i++)
            CHECK(joined[i] == bytes[i % width * COUNT + i / width], "width %zu, byte %zu", width, i);
    }
}

static void decodes_runs(void **state)
{
    struct firn_op *op = test_op(state);
    uint32_t out[20];
    /* four times 2; eight packed: 0 1 2 3 0 1 2 3; the count may end within a run */
    struct firn_bytes runs = BYTES(4 << 1, 2, 1 << 1 | 1, 0xe4, 0xe4);
    static const uint32_t wanted[] = { 2, 2, 2, 2, 0, 1, 2, 3, 0, 1, 2, 3 };
    for (size_t count = 0; count <= 12; count++) {
        CHECK_OK(op, firn_rle_decode_u32(op, runs, 2, count, out));
        CHECK(memcmp(out, wanted, count * sizeof *out) == 0, "%zu", count);
    }
    CHECK_STATUS(op, FIRN_CORRUPT, firn_rle_decode_u32(op, runs, 2, 13, out));
    CHECK(firn_rle_is_constant(runs, 2, 4, 2), "four times two");
    CHECK(!firn_rle_is_constant(runs, 2, 5, 2), "not five times");

    /* the last packed run may lack its padding, but no value */
    struct firn_bytes cut = BYTES(1 << 1 | 1, 0xe4);
    CHECK_OK(op, firn_rle_decode_u32(op, cut, 2, 4, out));
    CHECK_STATUS(op, FIRN_CORRUPT, firn_rle_decode_u32(op, cut, 2, 5, out));
    /* a repeated value wider than the bit width; a packed run whose length overflows; nothing at all */
    CHECK_STATUS(op, FIRN_CORRUPT, firn_rle_decode_u32(op, BYTES(8 << 1, 4), 2, 8, out));
    CHECK_STATUS(op, FIRN_CORRUPT,
                 firn_rle_decode_u32(op, BYTES(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f), 32, 8, out));
    CHECK_STATUS(op, FIRN_CORRUPT, firn_rle_decode_u32(op, (struct firn_bytes){ 0 }, 1, 1, out));
}

/* R43: the last block's unneeded miniblocks have arbitrary widths and no body. */
static void ignores_widths_of_absent_miniblocks(void **state)
{
    struct firn_op *op = test_op(state);
    /* blocks of 128 in 4 miniblocks; 65 values, the first is 5; deltas from 0 on, two miniblocks of 32 bits */
    uint8_t data[6 + 5 + 64 * 4] = { 0x80, 0x01, 4, 65, 10, 0, 32, 32, 165, 165 };
    for (uint32_t i = 0; i < 64; i++)
        firn_store_le32(data + 10 + i * 4, i);
    struct firn_cursor in = firn_cursor_of((struct firn_bytes){ data, 10 + 64 * 4 });
    int32_t out[65];
    int32_t wanted = 5;
    CHECK_OK(op, firn_delta_decode_i32(op, &in, 65, out));
    for (int32_t i = 0; i < 65; i++) {
        wanted += i > 0 ? i - 1 : 0;
        CHECK(out[i] == wanted, "value %d is %d", i, out[i]);
    }
    CHECK(firn_cursor_left(&in) == 0, "all was read");
}

static void refuses_impossible_deltas(void **state)
{
    static const struct {
        const char *name;
        uint8_t data[16];
        size_t len;
    } cases[] = {
        { "no miniblocks", { 0x80, 0x01, 0, 2, 0, 0, 0 }, 7 },
        { "uneven miniblocks", { 0x81, 0x01, 4, 2, 0, 0, 0 }, 7 },
        { "empty block", { 0, 4, 2, 0, 0, 0 }, 6 },
        { "another count", { 0x80, 0x01, 4, 3, 0, 0, 0 }, 7 },
        { "width above 64", { 0x80, 0x01, 4, 2, 0, 0, 65, 0, 0, 0 }, 10 },
        { "no body", { 0x80, 0x01, 4, 2, 0, 0, 8, 0, 0, 0 }, 10 },
        { "no widths", { 0x80, 0x01, 4, 2, 0, 0 }, 6 },
        { "nothing", { 0 }, 0 },
    };
    struct firn_op *op = test_op(state);
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_cursor in = firn_cursor_of((struct firn_bytes){ cases[i].data, cases[i].len });
        int64_t out[2];
        CHECK(firn_delta_decode_i64(op, &in, 2, out) == FIRN_CORRUPT, "%s", cases[i].name);
    }
}

static void refuses_strings_without_prefix(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_delta_strings strings = { 0 };
    struct firn_slice out[1];
    /* one value: prefix of 1 byte of nothing, suffix of 1 byte */
    struct firn_bytes in = BYTES(0x80, 0x01, 4, 1, 2, 0x80, 0x01, 4, 1, 2, 'x');
    CHECK_STATUS(op, FIRN_CORRUPT, firn_delta_decode_strings(op, in, 1, &strings, out));
    struct firn_bytes good = BYTES(0x80, 0x01, 4, 1, 0, 0x80, 0x01, 4, 1, 2, 'x');
    CHECK_OK(op, firn_delta_decode_strings(op, good, 1, &strings, out));
    CHECK(out[0].len == 1 && out[0].data[0] == 'x', "x");
    firn_delta_strings_done(&strings);
}

static bool parses(struct firn_bytes bytes)
{
    struct firn_cursor in = firn_cursor_of(bytes);
    struct firn_thrift_field field = { 0 };
    while (firn_thrift_next(&in, &field))
        firn_thrift_skip(&in, &field);
    return !in.failure;
}

static void skips_unknown_fields(void **state)
{
    (void)state;
    CHECK(parses(BYTES(0x15, 2, 0x11, 0x18, 1, 'x', 0x1b, 1, 0x58, 2, 1, 'y', 0x1c, 0x15, 2, 0, 0)), "mixed");
    CHECK(!parses(BYTES(0x19, 0xf8, 0xff, 0xff, 0xff, 0x7f, 0)), "list longer than the data");
    CHECK(!parses(BYTES(0x1e, 0)), "unknown type");
    CHECK(!parses(BYTES(0x15)), "cut short");
    uint8_t deep[1000];
    memset(deep, 0x1c, sizeof deep);
    CHECK(!parses((struct firn_bytes){ deep, sizeof deep }), "nested too deeply");
}

/* One column of the given shape, as the only one of a schema. */
static const struct firn_parquet_node *make_leaf(struct firn_op *op, enum firn_parquet_type type,
                                                 enum firn_repetition repetition)
{
    struct firn_footer *schema = FIRN_NEW(op->arena, struct firn_footer);
    schema->root = (struct firn_parquet_node){ .name = FIRN_TEXT("table"), .child_count = 1 };
    schema->root.children = FIRN_NEW(op->arena, struct firn_parquet_node);
    schema->root.children[0] =
        (struct firn_parquet_node){ .name = FIRN_TEXT("c"), .repetition = repetition, .is_leaf = true, .type = type };
    CHECK_OK(op, firn_parquet_schema_finish(op, schema));
    return schema->leaves[0];
}

/* A chunk of one page made by hand. */
static firn_status decode_page(struct firn_op *op, const struct firn_parquet_node *leaf, enum firn_codec codec,
                               struct firn_page_header header, struct firn_bytes body, int64_t row_count)
{
    struct firn_buffer bytes = { 0 };
    uint64_t digest = 0;
    header.compressed_bytes = (int32_t)body.len;
    CHECK_OK(op, firn_page_header_print(op, &header, &bytes));
    CHECK_OK(op, firn_buffer_append(op, &bytes, body.data, body.len));
    struct firn_column_chunk chunk = {
        .type = leaf->type, .codec = codec, .value_count = header.value_count, .compressed_bytes = (int64_t)bytes.len
    };
    firn_status status = parquet_chunk_decode(op, leaf, &chunk, row_count, firn_buffer_bytes(&bytes),
                                              (struct firn_chunk_reader_options){ 0 }, &digest);
    firn_buffer_done(&bytes);
    return status;
}

/* R42: nulls only, with no value bytes, or with a frame that expands to none; also not compressed at all. */
static void reads_v2_pages_of_nulls(void **state)
{
    struct firn_op *op = test_op(state);
    const struct firn_parquet_node *leaf = make_leaf(op, FIRN_PARQUET_INT32, FIRN_OPTIONAL);
    struct firn_page_header header = {
        .type = FIRN_PAGE_DATA_V2,
        .uncompressed_bytes = 2,
        .value_count = 9,
        .null_count = 9,
        .row_count = 9,
        .def_bytes = 2,
        .is_compressed = true,
        .encoding = FIRN_ENCODING_PLAIN,
    };
    struct firn_bytes levels = BYTES(9 << 1, 0);
    CHECK_OK(op, decode_page(op, leaf, FIRN_CODEC_SNAPPY, header, levels, 9));

    struct firn_codec_context *context;
    struct firn_buffer body = { 0 };
    CHECK_OK(op, firn_codec_context_open(op, &context));
    CHECK_OK(op, firn_buffer_append(op, &body, levels.data, levels.len));
    CHECK_OK(op, firn_codec_compress(op, context, FIRN_CODEC_ZSTD, 3, (struct firn_bytes){ 0 }, &body));
    CHECK_OK(op, decode_page(op, leaf, FIRN_CODEC_ZSTD, header, firn_buffer_bytes(&body), 9));
    firn_buffer_done(&body);
    firn_codec_context_close(context);

    header.is_compressed = false;
    CHECK_OK(op, decode_page(op, leaf, FIRN_CODEC_GZIP, header, levels, 9));
}

/* R44: levels for fewer values than announced; another number of rows than the row group has; levels that cannot be. */
static void refuses_lying_headers(void **state)
{
    struct firn_op *op = test_op(state);
    const struct firn_parquet_node *leaf = make_leaf(op, FIRN_PARQUET_INT32, FIRN_OPTIONAL);
    struct firn_page_header header = {
        .type = FIRN_PAGE_DATA,
        .value_count = 9,
        .encoding = FIRN_ENCODING_PLAIN,
        .def_encoding = FIRN_ENCODING_RLE,
        .rep_encoding = FIRN_ENCODING_RLE,
    };
    struct firn_bytes body = BYTES(2, 0, 0, 0, 9 << 1, 0);
    header.uncompressed_bytes = (int32_t)body.len;
    CHECK_OK(op, decode_page(op, leaf, FIRN_CODEC_NONE, header, body, 9));
    CHECK_STATUS(op, FIRN_CORRUPT, decode_page(op, leaf, FIRN_CODEC_NONE, header, body, 8));
    CHECK_STATUS(op, FIRN_CORRUPT, decode_page(op, leaf, FIRN_CODEC_NONE, header, body, 10));
    CHECK(strstr(op->error.text, "column 'c'"), "%s", op->error.text);
    CHECK_STATUS(op, FIRN_CORRUPT, decode_page(op, leaf, FIRN_CODEC_NONE, header, BYTES(2, 0, 0, 0, 8 << 1, 0), 9));
    CHECK_STATUS(op, FIRN_CORRUPT, decode_page(op, leaf, FIRN_CODEC_NONE, header, BYTES(3, 0, 0, 0, 9 << 1, 0), 9));
    CHECK_STATUS(op, FIRN_CORRUPT,
                 decode_page(op, leaf, FIRN_CODEC_NONE, header, BYTES(2, 0, 0, 0, 9 << 1, 1), 9)); /* no values */
    CHECK_STATUS(op, FIRN_CORRUPT, decode_page(op, leaf, FIRN_CODEC_NONE, header, BYTES(0xff, 0xff, 0xff, 0xff), 9));
    header.encoding = FIRN_ENCODING_RLE_DICTIONARY;
    CHECK_STATUS(op, FIRN_CORRUPT,
                 decode_page(op, leaf, FIRN_CODEC_NONE, header, BYTES(2, 0, 0, 0, 9 << 1, 1, 0, 9 << 1, 0), 9));
}

/* A repeated column: a list cannot go on behind a slot that says it has no element, nor with such a slot. */
static void refuses_contradicting_levels(void **state)
{
    struct firn_op *op = test_op(state);
    const struct firn_parquet_node *leaf = make_leaf(op, FIRN_PARQUET_BOOLEAN, FIRN_REPEATED);
    struct firn_page_header header = {
        .type = FIRN_PAGE_DATA,
        .value_count = 2,
        .encoding = FIRN_ENCODING_PLAIN,
        .def_encoding = FIRN_ENCODING_RLE,
        .rep_encoding = FIRN_ENCODING_RLE,
    };
    for (uint8_t defs = 0; defs < 4; defs++) { /* definition levels of two slots of one list */
        struct firn_bytes body = BYTES(4, 0, 0, 0, 2, 0, 2, 1, 4, 0, 0, 0, 2, defs >> 1, 2, defs & 1, 3);
        header.uncompressed_bytes = (int32_t)body.len;
        firn_status status = decode_page(op, leaf, FIRN_CODEC_NONE, header, body, 1);
        CHECK(status == (defs == 3 ? FIRN_OK : FIRN_CORRUPT), "levels %u: %s", defs, op->error.text);
        CHECK(defs == 3 || strstr(op->error.text, "column 'c', page 1"), "%s", op->error.text);
    }
}

enum { ROWS = 40 };

/* Forty rows of numbers and words with nulls between, encoded. */
static void encode_chunk(struct firn_op *op, const struct firn_parquet_node *leaf,
                         const struct firn_chunk_options *options, struct firn_encoded_chunk *out)
{
    static const char words[] = "firn névé glacier";
    uint8_t def[ROWS];
    int64_t numbers[ROWS];
    struct firn_slice slices[ROWS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < ROWS; i++) {
        def[i] = i % 5 != 0;
        numbers[count] = (int64_t)i * i * 1000;
        slices[count] = (struct firn_slice){ (const uint8_t *)words + i % 4 * 3, 5 };
        count += def[i];
    }
    bool is_text = leaf->type == FIRN_PARQUET_BYTE_ARRAY;
    struct firn_vector vector = {
        .type = leaf->type, .def_max = 1, .slot_count = ROWS, .value_count = count, .row_count = ROWS, .def = def
    };
    vector.values.any = is_text ? (void *)slices : (void *)numbers;
    struct firn_chunk_writer *writer;
    CHECK_OK(op, firn_chunk_writer_open(op, leaf, options, &writer));
    CHECK_OK(op, firn_chunk_writer_append(op, writer, &vector));
    CHECK_OK(op, firn_chunk_writer_finish(op, writer, out));
    firn_chunk_writer_close(writer);
}

/* A length that a file gives a column of another type is no width of its values. */
static void ignores_lengths_of_types_without(void **state)
{
    struct firn_op *op = test_op(state);
    for (int type = 0; type < FIRN_PARQUET_TYPE_COUNT; type++) {
        struct firn_parquet_node column = {
            .name = FIRN_TEXT("c"),
            .is_leaf = true,
            .type = (enum firn_parquet_type)type,
            .type_length = 5,
        };
        struct firn_footer schema = { .root = { .child_count = 1, .children = &column } };
        CHECK_OK(op, firn_parquet_schema_finish(op, &schema));
        assert_int_equal(schema.leaves[0]->type_length, type == FIRN_PARQUET_FIXED ? 5 : 0);
    }
}

/* R41: 0 means that there is no dictionary; a dictionary page in front of the data is used without any offset. */
static void takes_dictionary_offset_0_for_none(void **state)
{
    struct firn_op *op = test_op(state);
    const struct firn_parquet_node *leaf = make_leaf(op, FIRN_PARQUET_INT64, FIRN_OPTIONAL);
    struct firn_chunk_options options = firn_chunk_options_default();
    for (int dictionary = 0; dictionary < 2; dictionary++) {
        struct firn_encoded_chunk encoded = { 0 };
        uint64_t digest = 0, offset, len;
        options.dictionary = dictionary;
        encode_chunk(op, leaf, &options, &encoded);
        encoded.metadata.data_page_offset = 0;
        encoded.metadata.dictionary_page_offset = 0;
        firn_column_chunk_range(&encoded.metadata, &offset, &len);
        CHECK(offset == 0 && len == encoded.bytes.len, "%" PRIu64 " + %" PRIu64, offset, len);
        CHECK_OK(op, parquet_chunk_decode(op, leaf, &encoded.metadata, ROWS, firn_buffer_bytes(&encoded.bytes),
                                          (struct firn_chunk_reader_options){ 0 }, &digest));
        firn_encoded_chunk_done(&encoded);
    }
}

static void write_small_file(struct firn_op *op, struct firn_buffer *out)
{
    struct firn_footer schema = { .root = { .name = FIRN_TEXT("table"), .child_count = 2 } };
    struct firn_parquet_node columns[2] = {
        { .name = FIRN_TEXT("number"), .repetition = FIRN_OPTIONAL, .is_leaf = true, .type = FIRN_PARQUET_INT64 },
        { .name = FIRN_TEXT("word"),
          .repetition = FIRN_OPTIONAL,
          .is_leaf = true,
          .type = FIRN_PARQUET_BYTE_ARRAY,
          .logical = { .kind = FIRN_LOGICAL_STRING } },
    };
    struct firn_chunk_options options = firn_chunk_options_default();
    struct firn_encoded_chunk chunks[2] = { 0 };
    struct firn_sink sink = firn_sink_to_buffer(out);
    struct firn_parquet_writer *writer;
    struct firn_footer *footer;
    options.codec = FIRN_CODEC_SNAPPY;
    options.page_v2 = true;
    schema.root.children = columns;
    CHECK_OK(op, firn_parquet_schema_finish(op, &schema));
    for (int i = 0; i < 2; i++)
        encode_chunk(op, schema.leaves[i], &options, &chunks[i]);
    CHECK_OK(op, firn_parquet_writer_open(op, &schema, &sink, &writer));
    CHECK_OK(op, firn_parquet_writer_add(op, writer, chunks, ROWS));
    CHECK_OK(op, firn_parquet_writer_finish(op, writer, &footer));
    firn_parquet_writer_close(writer);
    for (int i = 0; i < 2; i++)
        firn_encoded_chunk_done(&chunks[i]);
}

/* R45: every byte changed in turn: the right data or an error, soon, and with little memory. */
static void survives_one_wrong_byte(void **state)
{
    static const uint8_t changes[] = { 0xff, 0x01, 0x80, 0x10 };
    struct firn_op *op = test_op(state);
    struct firn_buffer file = { 0 };
    uint64_t wanted;
    struct firn_chunk_reader_options options = { .crc_check = true };
    write_small_file(op, &file);
    CHECK_OK(op, parquet_file_decode(op, firn_buffer_bytes(&file), options, &wanted));
    for (size_t i = 0; i < file.len * FIRN_COUNT_OF(changes); i++) {
        struct firn_budget budget = { .limit_bytes = 16 << 20 };
        struct firn_arena arena;
        struct firn_op inner = *op;
        uint64_t digest;
        size_t at = i / FIRN_COUNT_OF(changes);
        uint8_t change = changes[i % FIRN_COUNT_OF(changes)];
        uint8_t *copy = malloc(file.len);
        memcpy(copy, file.data, file.len);
        copy[at] ^= change;
        firn_arena_init(&arena);
        inner.arena = &arena;
        inner.budget = &budget;
        firn_status status = parquet_file_decode(&inner, (struct firn_bytes){ copy, file.len }, options, &digest);
        CHECK(status != FIRN_OK || digest == wanted, "byte %zu changed by %02x: other data", at, change);
        CHECK(status == FIRN_OK || status == FIRN_CORRUPT || status == FIRN_UNSUPPORTED, "byte %zu changed by %02x: %s",
              at, change, inner.error.text);
        CHECK(arena.used_bytes < 1 << 20, "byte %zu changed by %02x takes %zu bytes", at, change, arena.used_bytes);
        firn_arena_done(&arena);
        free(copy);
    }
    firn_buffer_done(&file);
}

/* Every prefix of a file is an error. */
static void refuses_every_prefix(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_buffer file = { 0 };
    uint64_t digest;
    write_small_file(op, &file);
    for (size_t len = 0; len < file.len; len++) {
        uint8_t *copy = malloc(len + 1);
        memcpy(copy, file.data, len);
        CHECK(parquet_file_decode(op, (struct firn_bytes){ copy, len }, (struct firn_chunk_reader_options){ 0 },
                                  &digest) == FIRN_CORRUPT,
              "%zu bytes of %zu", len, file.len);
        free(copy);
    }
    firn_buffer_done(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(unpacks_all_widths),
        TEST(gathers_all_widths),
        TEST(kernels_agree_with_slow_twins),
        TEST(decodes_runs),
        TEST(ignores_widths_of_absent_miniblocks),
        TEST(refuses_impossible_deltas),
        TEST(refuses_strings_without_prefix),
        TEST(skips_unknown_fields),
        TEST(ignores_lengths_of_types_without),
        TEST(takes_dictionary_offset_0_for_none),
        TEST(reads_v2_pages_of_nulls),
        TEST(refuses_lying_headers),
        TEST(refuses_contradicting_levels),
        TEST(survives_one_wrong_byte),
        TEST(refuses_every_prefix),
    };
    return cmocka_run_group_tests_name("parquet_read", tests, NULL, NULL);
}
