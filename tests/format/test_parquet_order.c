/* Column orders, bounds as files hold them, and the encoders below pages. */
#include "check.h"

#include "base/math.h"
#include "format/parquet/order.h"
#include "format/parquet/plain_write.h"
#include "format/parquet/rle_write.h"

#include <math.h>

#define BYTES(literal) ((struct firn_bytes){ (const uint8_t *)("" literal), sizeof(literal) - 1 })

static struct firn_parquet_node leaf_of(enum firn_parquet_type type, uint32_t type_length, enum firn_logical kind)
{
    return (struct firn_parquet_node){
        .is_leaf = true,
        .type = type,
        .type_length = type_length,
        .logical.kind = kind,
    };
}

static void values_compare_in_their_order(void **state)
{
    (void)state;
    static const struct {
        enum firn_order order;
        struct firn_bytes low, high;
    } cases[] = {
#define CASE(order, low, high)                                                                                         \
    {                                                                                                                  \
        FIRN_ORDER_##order, { (const uint8_t *)low, sizeof(low) - 1 },                                                 \
        {                                                                                                              \
            (const uint8_t *)high, sizeof(high) - 1                                                                    \
        }                                                                                                              \
    }
        CASE(BOOLEAN, "\0", "\1"),
        CASE(INT32, "\xff\xff\xff\xff", "\0\0\0\0"),
        CASE(UINT32, "\0\0\0\0", "\xff\xff\xff\xff"),
        CASE(INT64, "\0\0\0\0\0\0\0\x80", "\xff\xff\xff\xff\xff\xff\xff\x7f"),
        CASE(UINT64, "\xff\xff\xff\xff\xff\xff\xff\x7f", "\0\0\0\0\0\0\0\x80"),
        CASE(FLOAT, "\0\0\0\x80", "\0\0\0\0"),       /* -0.0, +0.0 */
        CASE(FLOAT, "\0\0\x80\xbf", "\0\0\0\x80"),   /* -1, -0.0 */
        CASE(FLOAT, "\0\0\x00\xc0", "\0\0\x80\xbf"), /* -2, -1 */
        CASE(FLOAT, "\0\0\x80\x3f", "\0\0\x80\x7f"), /* 1, infinity */
        CASE(DOUBLE, "\0\0\0\0\0\0\xf0\xbf", "\0\0\0\0\0\0\xf0\x3f"),
        CASE(FLOAT16, "\x00\xbc", "\x00\x80"), /* -1, -0.0 */
        CASE(FLOAT16, "\x00\x80", "\x00\x00"), /* -0.0, +0.0 */
        CASE(BYTES, "", "\0"),
        CASE(BYTES, "a\x7f", "a\x80"),
        CASE(BYTES, "a", "ab"),
        CASE(DECIMAL, "\x80", ""),
        CASE(DECIMAL, "\xff\x7f", "\x80"),     /* -129, -128 */
        CASE(DECIMAL, "\x7f", "\x00\x80"),     /* 127, 128 */
        CASE(DECIMAL, "\xff\xff\xfe", "\xff"), /* -2, -1 */
        CASE(DECIMAL, "\x00\x00\x01", "\x02"), /* 1, 2 */
        CASE(DECIMAL, "\x80\x00", "\x7f"),
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        CHECK(firn_order_compare(cases[i].order, cases[i].low, cases[i].high) < 0, "case %zu", i);
        CHECK(firn_order_compare(cases[i].order, cases[i].high, cases[i].low) > 0, "case %zu", i);
        CHECK(firn_order_compare(cases[i].order, cases[i].low, cases[i].low) == 0, "case %zu", i);
    }
    assert_int_equal(firn_order_compare(FIRN_ORDER_DECIMAL, BYTES("\x00\x01"), BYTES("\x01")), 0);
    assert_int_equal(firn_order_compare(FIRN_ORDER_DECIMAL, BYTES("\xff\xff\x80"), BYTES("\x80")), 0);
}

static void logical_types_choose_the_order(void **state)
{
    (void)state;
    static const struct {
        enum firn_parquet_type type;
        enum firn_logical kind;
        enum firn_order order;
    } cases[] = {
        { FIRN_PARQUET_INT32, FIRN_LOGICAL_DATE, FIRN_ORDER_INT32 },
        { FIRN_PARQUET_INT32, FIRN_LOGICAL_INTEGER, FIRN_ORDER_UINT32 }, /* is_signed false */
        { FIRN_PARQUET_INT64, FIRN_LOGICAL_INTEGER, FIRN_ORDER_UINT64 },
        { FIRN_PARQUET_INT64, FIRN_LOGICAL_DECIMAL, FIRN_ORDER_INT64 },
        { FIRN_PARQUET_INT96, FIRN_LOGICAL_NONE, FIRN_ORDER_NONE },
        { FIRN_PARQUET_FIXED, FIRN_LOGICAL_DECIMAL, FIRN_ORDER_DECIMAL },
        { FIRN_PARQUET_FIXED, FIRN_LOGICAL_UUID, FIRN_ORDER_BYTES },
        { FIRN_PARQUET_FIXED, FIRN_LOGICAL_FLOAT16, FIRN_ORDER_FLOAT16 },
        { FIRN_PARQUET_FIXED, FIRN_LOGICAL_INTERVAL, FIRN_ORDER_NONE },
        { FIRN_PARQUET_BYTE_ARRAY, FIRN_LOGICAL_DECIMAL, FIRN_ORDER_DECIMAL },
        { FIRN_PARQUET_BYTE_ARRAY, FIRN_LOGICAL_STRING, FIRN_ORDER_BYTES },
        { FIRN_PARQUET_BYTE_ARRAY, FIRN_LOGICAL_GEOMETRY, FIRN_ORDER_NONE },
        { FIRN_PARQUET_INT32, FIRN_LOGICAL_UNKNOWN, FIRN_ORDER_NONE },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_parquet_node leaf = leaf_of(cases[i].type, 2, cases[i].kind);
        CHECK(firn_order_of(&leaf) == cases[i].order, "case %zu", i);
    }
    struct firn_parquet_node variant = { .logical.kind = FIRN_LOGICAL_VARIANT };
    struct firn_parquet_node value = leaf_of(FIRN_PARQUET_BYTE_ARRAY, 0, FIRN_LOGICAL_NONE);
    value.parent = &variant;
    assert_int_equal(firn_order_of(&value), FIRN_ORDER_NONE);
}

static void float_bounds_skip_nan_and_tell_zeros_apart(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        double values[3];
        bool found;
        double min, max;
        int nan_count;
    } cases[] = {
        { { 1, NAN, -2 }, true, -2, 1, 1 },
        { { NAN, NAN, NAN }, false, 0, 0, 3 },
        { { INFINITY, INFINITY, NAN }, true, INFINITY, INFINITY, 1 },
        { { 0.0, 1, 2 }, true, 0.0, 2, 0 },
        { { 0.0, -0.0, 2 }, true, -0.0, 2, 0 },
        { { -1, 0.0, -0.0 }, true, -1, 0.0, 0 },
        { { -1, -0.0, -0.0 }, true, -1, -0.0, 0 },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_bounds bounds = { 0 };
        double values[3];
        memcpy(values, cases[i].values, sizeof values);
        CHECK_OK(op, firn_bounds_add(op, &bounds, FIRN_ORDER_DOUBLE, (union firn_values){ .float64 = values }, 0, 3));
        CHECK(bounds.found == cases[i].found && bounds.nan_count == cases[i].nan_count, "case %zu", i);
        CHECK(!bounds.found || memcmp(bounds.min.data, &cases[i].min, 8) == 0, "case %zu", i);
        CHECK(!bounds.found || memcmp(bounds.max.data, &cases[i].max, 8) == 0, "case %zu", i);
        firn_bounds_done(&bounds);
    }
}

/* Whether a bound of values that lie one behind the other is what comparing each of them gives. */
static bool is_bound(const struct firn_buffer *bound, const uint8_t *values, size_t width, size_t count, int side)
{
    bool found = false;
    for (size_t i = 0; i < count; i++) {
        int order = firn_order_compare(FIRN_ORDER_DECIMAL, (struct firn_bytes){ values + i * width, width },
                                       firn_buffer_bytes(bound));
        found |= order == 0;
        if (order * side < 0)
            return false;
    }
    return found;
}

static void decimals_of_any_width_are_bounded(void **state)
{
    struct firn_op *op = test_op(state);
    enum { COUNT = 40, WIDTH_MAX = 17 };
    uint8_t values[COUNT * WIDTH_MAX];
    uint32_t seed = 1;
    for (uint32_t i = 0; i < 10 * WIDTH_MAX; i++) {
        uint32_t width = i % WIDTH_MAX + 1;
        struct firn_bounds bounds = { 0 };
        for (size_t at = 0; at < sizeof values; at++) { /* few digits, so that values share their beginnings */
            seed = seed * 1664525 + 1013904223;
            values[at] = (uint8_t)((seed >> 24 & 1) * 0xff ^ (seed >> 25 & 1));
        }
        CHECK_OK(
            op, firn_bounds_add(op, &bounds, FIRN_ORDER_DECIMAL, (union firn_values){ .fixed = values }, width, COUNT));
        CHECK(is_bound(&bounds.min, values, width, COUNT, 1), "case %" PRIu32, i);
        CHECK(is_bound(&bounds.max, values, width, COUNT, -1), "case %" PRIu32, i);
        firn_bounds_done(&bounds);
    }
}

static void long_bounds_are_cut_and_raised(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        enum firn_logical kind;
        struct firn_bytes value, lower, upper;
    } cases[] = {
    /* cut to 4 bytes */
#define CUT(kind, value, lower, upper)                                                                                 \
    {                                                                                                                  \
        FIRN_LOGICAL_##kind, { (const uint8_t *)value, sizeof(value) - 1 },                                            \
            { (const uint8_t *)lower, sizeof(lower) - 1 },                                                             \
        {                                                                                                              \
            (const uint8_t *)upper, sizeof(upper) - 1                                                                  \
        }                                                                                                              \
    }
        CUT(STRING, "abcd", "abcd", "abcd"),
        CUT(STRING, "abcde", "abcd", "abce"),
        CUT(STRING, "abc\xc3\xa9", "abc", "abd"), /* e acute does not fit whole */
        CUT(STRING,
            "ab\xc3\xbf"
            "x",
            "ab\xc3\xbf", "ab\xc4\x80"), /* 00FF + 1 */
        CUT(STRING,
            "\x7f\x7f\x7f\x7f"
            "x",
            "\x7f\x7f\x7f\x7f", "\x7f\x7f\x7f\xc2\x80"), /* grows by a byte */
        CUT(STRING,
            "a\xed\x9f\xbf"
            "x",
            "a\xed\x9f\xbf", "a\xee\x80\x80"), /* skips the surrogates */
        CUT(STRING,
            "\xf4\x8f\xbf\xbf"
            "x",
            "\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbfx"), /* nothing can be raised */
        CUT(STRING,
            "\xff"
            "abcde",
            "\xff"
            "abcde",
            "\xff"
            "abcde"), /* not UTF-8: whole */
        CUT(NONE, "\x01\x02\x03\xff\x05", "\x01\x02\x03\xff", "\x01\x02\x04"),
        CUT(NONE, "\xff\xff\xff\xff\x05", "\xff\xff\xff\xff", "\xff\xff\xff\xff\x05"),
        CUT(DECIMAL, "\x01\x02\x03\x04\x05", "\x01\x02\x03\x04\x05", "\x01\x02\x03\x04\x05"),
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_parquet_node leaf = leaf_of(FIRN_PARQUET_BYTE_ARRAY, 0, cases[i].kind);
        struct firn_bytes lower = firn_bound_lower(op->arena, &leaf, cases[i].value, 4);
        struct firn_bytes upper = firn_bound_upper(op->arena, &leaf, cases[i].value, 4);
        CHECK(firn_bytes_compare(lower, cases[i].lower) == 0, "case %zu", i);
        CHECK(firn_bytes_compare(upper, cases[i].upper) == 0, "case %zu", i);
    }
}

static void zero_bounds_of_floats_are_widened(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_parquet_node leaf = leaf_of(FIRN_PARQUET_FLOAT, 0, FIRN_LOGICAL_NONE);
    struct firn_bytes negative = BYTES("\0\0\0\x80"), positive = BYTES("\0\0\0\0"), one = BYTES("\0\0\x80\x3f");
    assert_memory_equal(firn_bound_lower(op->arena, &leaf, positive, 64).data, negative.data, 4);
    assert_memory_equal(firn_bound_upper(op->arena, &leaf, negative, 64).data, positive.data, 4);
    assert_memory_equal(firn_bound_lower(op->arena, &leaf, one, 64).data, one.data, 4);
    leaf.type = FIRN_PARQUET_INT32; /* where zeros are just zeros */
    assert_memory_equal(firn_bound_lower(op->arena, &leaf, positive, 64).data, positive.data, 4);
}

static void hybrid_runs_and_groups(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        const char *values; /* a digit each */
        uint32_t bit_width;
        struct firn_bytes encoded;
    } cases[] = {
#define HYBRID(values, bit_width, encoded)                                                                             \
    {                                                                                                                  \
        values, bit_width,                                                                                             \
        {                                                                                                              \
            (const uint8_t *)encoded, sizeof(encoded) - 1                                                              \
        }                                                                                                              \
    }
        HYBRID("", 1, ""),
        HYBRID("1", 1, "\x03\x01"),                         /* one group, padded */
        HYBRID("01234567", 3, "\x03\x88\xc6\xfa"),          /* the example of the specification */
        HYBRID("00000000", 1, "\x10\x00"),                  /* a run of 8 */
        HYBRID("1111111111", 1, "\x14\x01"),                /* a run of 10 */
        HYBRID("10000000000000000", 1, "\x03\x01\x12\x00"), /* the run gives 7 to the group before it */
        HYBRID("100000000000000", 1, "\x05\x01\x00"),       /* 7 left of the run: packed */
        HYBRID("0000000000000000", 0, "\x20"),              /* no bits at all */
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_buffer levels = { 0 }, indices = { 0 };
        size_t count = strlen(cases[i].values);
        uint8_t bytes[32];
        uint32_t words[32];
        for (size_t k = 0; k < count; k++)
            words[k] = bytes[k] = (uint8_t)(cases[i].values[k] - '0');
        CHECK_OK(op, firn_rle_encode_levels(op, bytes, count, cases[i].bit_width, &levels));
        CHECK_OK(op, firn_rle_encode_indices(op, words, count, cases[i].bit_width, &indices));
        CHECK(firn_bytes_compare(firn_buffer_bytes(&levels), cases[i].encoded) == 0, "case %zu", i);
        CHECK(firn_bytes_compare(firn_buffer_bytes(&indices), cases[i].encoded) == 0, "case %zu", i);
        firn_buffer_done(&levels);
        firn_buffer_done(&indices);
    }
}

static void booleans_pack_from_the_lowest_bit(void **state)
{
    struct firn_op *op = test_op(state);
    static const uint8_t booleans[] = { 1, 0, 0, 0, 0, 0, 1, 1, 0, 1 };
    struct firn_buffer packed = { 0 };
    CHECK_OK(op, firn_booleans_pack(op, booleans, sizeof booleans, &packed));
    CHECK(firn_bytes_compare(firn_buffer_bytes(&packed), BYTES("\xc1\x02")) == 0, "%zu bytes", packed.len);
    firn_buffer_done(&packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(values_compare_in_their_order),
        TEST(logical_types_choose_the_order),
        TEST(float_bounds_skip_nan_and_tell_zeros_apart),
        TEST(decimals_of_any_width_are_bounded),
        TEST(long_bounds_are_cut_and_raised),
        TEST(zero_bounds_of_floats_are_widened),
        TEST(hybrid_runs_and_groups),
        TEST(booleans_pack_from_the_lowest_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
