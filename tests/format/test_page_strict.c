/* What strict readers refuse: by writer, and by what stands in the headers of DELTA_BINARY_PACKED values. */
#include "check.h"

#include "base/math.h"
#include "format/parquet/delta_decode.h"
#include "format/parquet/delta_write.h"
#include "format/parquet/page_strict.h"

static void writers_are_told_apart(void **state)
{
    static const struct {
        struct firn_text created_by;
        enum firn_parquet_type type;
        enum firn_encoding encoding;
        enum firn_strictness strictness;
    } cases[] = {
        { FIRN_TEXT_INIT("DuckDB version v1.5.5"), FIRN_PARQUET_INT32, FIRN_ENCODING_DELTA_BINARY_PACKED,
          FIRN_STRICTNESS_BY_CONTENT },
        { FIRN_TEXT_INIT("DuckDB version v1.5.5"), FIRN_PARQUET_INT64, FIRN_ENCODING_DELTA_BINARY_PACKED, FIRN_STRICT },
        { FIRN_TEXT_INIT("parquet-go version 18.0.0"), FIRN_PARQUET_INT64, FIRN_ENCODING_DELTA_BINARY_PACKED,
          FIRN_STRICTNESS_BY_CONTENT },
        { FIRN_TEXT_INIT(""), FIRN_PARQUET_INT32, FIRN_ENCODING_DELTA_BINARY_PACKED, FIRN_STRICTNESS_BY_CONTENT },
        { FIRN_TEXT_INIT("parquet-mr version 1.16.0"), FIRN_PARQUET_INT32, FIRN_ENCODING_DELTA_BINARY_PACKED,
          FIRN_STRICT },
        { FIRN_TEXT_INIT("DuckDB version v1.5.5"), FIRN_PARQUET_INT32, FIRN_ENCODING_RLE_DICTIONARY, FIRN_STRICT },
        { FIRN_TEXT_INIT("anyone"), FIRN_PARQUET_BOOLEAN, FIRN_ENCODING_PLAIN_DICTIONARY, FIRN_LAX },
        { FIRN_TEXT_INIT("parquet-mr version 1.7.0"), FIRN_PARQUET_BYTE_ARRAY, FIRN_ENCODING_DELTA_BYTE_ARRAY,
          FIRN_LAX },
        { FIRN_TEXT_INIT("parquet-mr version 1.8.0"), FIRN_PARQUET_BYTE_ARRAY, FIRN_ENCODING_DELTA_BYTE_ARRAY,
          FIRN_STRICT },
    };
    (void)state;
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        const struct firn_parquet_node leaf = { .is_leaf = true, .type = cases[i].type };
        enum firn_strictness found = firn_page_strictness(cases[i].created_by, &leaf, cases[i].encoding);
        CHECK(found == cases[i].strictness, "case %zu: %d", i, (int)found);
    }
}

/* The values as INT64 have them, whose differences are taken in 64 bits. */
static void encode(struct firn_op *op, const int64_t *values, size_t count, struct firn_buffer *out)
{
    firn_buffer_clear(out);
    CHECK_OK(op, firn_delta_encode(op, (struct firn_bytes){ (const uint8_t *)values, count * sizeof *values },
                                   sizeof *values, out));
}

static void differences_must_have_the_width_of_the_type(void **state)
{
    static const struct {
        const char *name;
        int64_t values[4];
        bool is_strict;
    } cases[] = {
        { "small", { 1, 2, 3, -4 }, true },
        { "33 bits", { 863490391, -816295192, 1613070492, -1166045478 }, false },
        { "a least difference of 33 bits", { 2000000000, -2000000000, -2000000000, -2000000000 }, false },
        { "a first value without sign", { 4294967295, 4294967295, 4294967295, 4294967295 }, false },
        { "the least and the greatest", { INT32_MIN, INT32_MIN, -1, 0 }, true },
    };
    struct firn_op *op = test_op(state);
    struct firn_buffer wide = { 0 };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        encode(op, cases[i].values, 4, &wide);
        CHECK(firn_delta_is_strict(firn_buffer_bytes(&wide), 4) == cases[i].is_strict, "%s", cases[i].name);
        CHECK(firn_delta_is_strict(firn_buffer_bytes(&wide), 8), "%s as INT64", cases[i].name);
        for (size_t len = 0; len < wide.len; len++)
            CHECK(!firn_delta_is_strict((struct firn_bytes){ wide.data, len }, 8), "%s, %zu bytes", cases[i].name, len);
    }
    firn_buffer_done(&wide);
}

/* What firn makes of any INT32 values. */
static void own_pages_are_strict(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_buffer bytes = { 0 };
    int32_t values[300];
    for (size_t i = 0; i < FIRN_COUNT_OF(values); i++)
        values[i] = i % 2 ? INT32_MIN + (int32_t)i : INT32_MAX - (int32_t)(i * i);
    for (size_t count = 0; count <= FIRN_COUNT_OF(values); count++) {
        firn_buffer_clear(&bytes);
        CHECK_OK(op, firn_delta_encode(op, (struct firn_bytes){ (const uint8_t *)values, count * 4 }, 4, &bytes));
        CHECK(firn_delta_is_strict(firn_buffer_bytes(&bytes), 4), "%zu values", count);
    }
    firn_buffer_done(&bytes);
}

static void blocks_have_sizes_that_readers_take(void **state)
{
    static const struct {
        uint8_t bytes[5];
        size_t len;
        bool is_strict;
    } cases[] = {
        { { 0x80, 0x01, 0x04, 0x01, 0x00 }, 5, true },  /* 128 in 4 */
        { { 0x80, 0x01, 0x10, 0x01, 0x00 }, 5, false }, /* 128 in 16: miniblocks of 8 */
        { { 0x20, 0x01, 0x01, 0x00 }, 4, false },       /* 32 in 1 */
        { { 0x80, 0x01, 0x00, 0x01, 0x00 }, 5, false }, /* in none */
    };
    (void)state;
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++)
        CHECK(firn_delta_is_strict((struct firn_bytes){ cases[i].bytes, cases[i].len }, 4) == cases[i].is_strict,
              "case %zu", i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(writers_are_told_apart),
        TEST(differences_must_have_the_width_of_the_type),
        TEST(own_pages_are_strict),
        TEST(blocks_have_sizes_that_readers_take),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
