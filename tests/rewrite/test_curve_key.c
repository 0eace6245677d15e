/* Keys along curves: z-order's against bytes that the reference's ZOrderByteUtils (1.10.0) made, Hilbert's by what
 * makes the curve one. */
#include "sort_fixture.h"

#include "base/math.h"
#include "rewrite/hilbert.h"
#include "rewrite/interleave.h"

/* A table of one optional column, number 1. */
static void one_column(struct firn_op *op, const char *type, struct firn_schema *schema, struct firn_output_schema *out)
{
    struct firn_field *field = FIRN_NEW(op->arena, struct firn_field);
    *field = (struct firn_field){ .id = 1, .name = FIRN_TEXT("v") };
    CHECK_OK(op, firn_type_parse_text(op, firn_text_of(type), &field->type));
    *schema = (struct firn_schema){ .root = { .id = FIRN_TYPE_STRUCT, .field_count = 1, .fields = field } };
    CHECK_OK(op, firn_output_schema_new(op, schema, false, out));
}

/* The key of one value; NULL: null. */
static const char *key_of(struct firn_op *op, const struct firn_ordering *ordering, const char *type, const char *text)
{
    struct firn_schema schema;
    struct firn_output_schema output;
    struct firn_sort_key key;
    struct firn_sort_batch batch;
    uint8_t null = 0;
    one_column(op, type, &schema, &output);
    const struct firn_parquet_node *node = output.leaves[0].node;
    struct firn_vector vector = {
        .type = node->type,
        .type_length = node->type_length,
        .def_max = 1,
        .slot_count = 1,
        .row_count = 1,
        .value_count = text ? 1 : 0,
        .def = text ? NULL : &null,
    };
    struct firn_value value = { 0 };
    if (text)
        value = parse_value(op, &output.leaves[0].field->type, text);
    vector.values = store_values(op, node, &value, vector.value_count);
    CHECK_OK(op, firn_sort_key_new(op, ordering, &output, 0, &key));
    firn_sort_batch_init(op, &key, &batch);
    CHECK_OK(op, firn_sort_batch_begin(op, &batch, 1));
    CHECK_OK(op, firn_sort_batch_add(op, &batch, 0, &vector, 0));
    CHECK_OK(op, firn_sort_batch_finish(op, &batch));
    const char *hex = firn_text_copy(op->arena, firn_hex_text(op->arena, firn_sort_batch_key(&batch, 0))).data;
    firn_sort_batch_done(&batch);
    return hex;
}

static const struct firn_ordering_field first_field = { .source_id = 1 };
static const struct firn_ordering zorder = {
    .kind = FIRN_ORDERING_ZORDER,
    .fields = &first_field,
    .field_count = 1,
    .var_length_bytes = 8,
    .key_bytes_max = INT32_MAX,
};

/* The key of a single column is its image. */
static void test_zorder_images(void **state)
{
    static const struct {
        const char *type, *text, *image;
    } cases[] = {
        { "long", "1", "8000000000000001" },
        { "long", "-1", "7fffffffffffffff" },
        { "long", "9223372036854775807", "ffffffffffffffff" },
        { "long", NULL, "0000000000000000" },
        { "int", "-5", "7ffffffffffffffb" },
        { "double", "0.0", "8000000000000000" },
        { "double", "-0.0", "7fffffff00000000" },
        { "double", "1.5", "bff800007ff00000" },
        { "double", "-1.5", "4007ffff7ff00000" },
        { "double", "nan", "fff80000fff00000" },
        { "float", "1.1", "bff19999dfe33333" },
        { "boolean", "true", "8100000000000000" },
        { "boolean", "false", "0000000000000000" },
        { "boolean", NULL, "0000000000000000" },
        { "date", "1970-01-02", "8000000000000001" },
        { "time", "00:00:00.000007", "8000000000000007" },
        { "timestamp", "1970-01-01T00:00:01.5", "800000000016e360" },
        { "timestamptz", "1970-01-01T00:00:01.5+00:00", "8000000000000001" },
        { "timestamptz", "1969-12-31T23:59:59.5+00:00", "7fffffffffffffff" },
        { "timestamp_ns", "1970-01-01T00:00:00.000001999", "8000000000000001" },
        { "timestamptz_ns", "1970-01-01T00:00:02.5+00:00", "8000000000000002" },
        { "string", "abc", "6162630000000000" },
        { "string", "abcdefghij", "6162636465666768" },
        { "string", "abcdefg\xc3\xa9h", "6162636465666700" },
        { "string", "\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80", "f09f9880f09f9880" },
        { "string", "", "0000000000000000" },
        { "binary", "ff00", "ff00000000000000" },
        { "binary", "0102030405060708090a", "0102030405060708" },
        { "fixed[3]", "ff00fe", "ff00fe0000000000" },
        { "uuid", "a0b1c2d3-0000-0000-0000-000000000000", "6130623163326433" },
    };
    struct firn_op *op = test_op(state);
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        const char *image = key_of(op, &zorder, cases[i].type, cases[i].text);
        CHECK(strcmp(image, cases[i].image) == 0, "%s %s: %s", cases[i].type, cases[i].text, image);
    }
    struct firn_ordering longer = zorder;
    longer.var_length_bytes = 12;
    CHECK(strcmp(key_of(op, &longer, "string", "hello \xc3\xa9t\xc3\xa9"), "68656c6c6f20c3a974c3a900") == 0,
          "12 bytes");
    longer.key_bytes_max = 5;
    CHECK(strcmp(key_of(op, &longer, "string", "hello \xc3\xa9t\xc3\xa9"), "68656c6c6f") == 0, "12 bytes cut to 5");
}

static void test_interleave(void **state)
{
    static const char a[] = "80000000075bcd15", b[] = "7fffffffc521974f", c[] = "68656c6c6f20c3a974c3a900";
    static const struct {
        const char *columns[11];
        uint32_t bytes_max;
        const char *key;
    } cases[] = {
        { { a, b }, 16, "9555555555555555503b268be1b71277" },
        { { a, b, c }, 28, "8da6924da4d34da6d24da6d24c83ef11c826f4299f28c79774c3a900" },
        { { a, b, c }, 13, "8da6924da4d34da6d24da6d24c" },
        { { a, b }, 11, "9555555555555555503b26" },
        { { a, b }, 8, "9555555555555555" },
        { { a, b, a, b, a, b, a, b, c, a },
          84,
          "aa556559545595455154551565595455156551565515655954559565515455156559545595655154551560080000bffaafff002a955a"
          "a9aa"
          "400aa7fdffeab00154aa7fd55bff0095400aa955bfd553ff74c3a900" },
        { { a, b, a, b, a, b, a, b, c, a }, 3, "aa5565" },
    };
    struct firn_op *op = test_op(state);
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_interleave_column columns[11];
        struct firn_interleave interleave;
        uint32_t count = 0, bytes = 0;
        uint8_t row[128], key[128];
        for (; cases[i].columns[count]; count++) {
            struct firn_bytes image;
            CHECK(firn_hex_parse(op->arena, firn_text_of(cases[i].columns[count]), &image), "%zu", i);
            memcpy(row + bytes, image.data, image.len);
            columns[count] = (struct firn_interleave_column){ bytes, (uint32_t)image.len };
            bytes += (uint32_t)image.len;
        }
        firn_interleave_init(op, columns, count, cases[i].bytes_max, &interleave);
        firn_interleave_row(&interleave, row, key);
        struct firn_text hex = firn_hex_text(op->arena, (struct firn_bytes){ key, interleave.key_bytes });
        CHECK(firn_text_is(hex, cases[i].key), "case %zu: %.*s", i, FIRN_FMT(hex));
    }
}

/* The place of a point as a number: the bits of the results in turn. */
static uint64_t place_of(const uint64_t *point, uint32_t dimensions, unsigned bits)
{
    uint64_t axes[6][FIRN_HILBERT_POINTS] = { 0 }, number = 0;
    for (uint32_t d = 0; d < dimensions; d++)
        axes[d][FIRN_HILBERT_POINTS - 1] = point[d];
    firn_hilbert_place(axes, dimensions, bits);
    for (unsigned bit = bits; bit-- > 0;)
        for (uint32_t d = 0; d < dimensions; d++)
            number = number << 1 | (axes[d][FIRN_HILBERT_POINTS - 1] >> bit & 1);
    return number;
}

static void get_point(uint32_t number, uint32_t dimensions, unsigned bits, uint64_t *out)
{
    for (uint32_t d = 0; d < dimensions; d++)
        out[d] = number >> d * bits & ((1u << bits) - 1);
}

/* Every point of a small cube has a place of its own, the curve begins at the origin, and steps are of length 1. */
static void check_curve(struct firn_op *op, uint32_t dimensions, unsigned bits)
{
    uint32_t count = UINT32_C(1) << dimensions * bits;
    uint32_t *at = FIRN_NEW_ARRAY(op->arena, uint32_t, count);
    bool *seen = FIRN_NEW_ARRAY(op->arena, bool, count);
    uint64_t from[6], to[6];
    for (uint32_t p = 0; p < count; p++) {
        get_point(p, dimensions, bits, to);
        uint64_t place = place_of(to, dimensions, bits);
        CHECK(place < count && !seen[place], "place %d of point %u", (int)place, p);
        seen[place] = true;
        at[place] = p;
    }
    CHECK(at[0] == 0, "begins at point %u", at[0]);
    for (uint32_t place = 1; place < count; place++) {
        uint64_t distance = 0;
        get_point(at[place - 1], dimensions, bits, from);
        get_point(at[place], dimensions, bits, to);
        for (uint32_t d = 0; d < dimensions; d++)
            distance += from[d] > to[d] ? from[d] - to[d] : to[d] - from[d];
        CHECK(distance == 1, "%u dimensions, %u bits: step of %d at %u", dimensions, bits, (int)distance, place);
    }
}

static void test_hilbert_curve(void **state)
{
    static const struct {
        uint32_t dimensions;
        unsigned bits;
    } cases[] = { { 1, 5 }, { 2, 1 }, { 2, 5 }, { 3, 4 }, { 4, 3 }, { 6, 2 } };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++)
        check_curve(test_op(state), cases[i].dimensions, cases[i].bits);
}

/* One dimension is a line: keys are the values, spread over what is known of them. */
static void test_hilbert_range(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_ordering_field field = { .source_id = 1 };
    const struct firn_ordering ordering = { .kind = FIRN_ORDERING_HILBERT, .fields = &field, .field_count = 1 };
    CHECK(strcmp(key_of(op, &ordering, "long", "-1"), "7fffffffffffffff") == 0, "64 bits without a range");
    CHECK(strcmp(key_of(op, &ordering, "decimal(38,2)", "0.07"), "8000000000000007") == 0, "decimal");
    CHECK(strcmp(key_of(op, &ordering, "decimal(38,0)", "99999999999999999999"), "ffffffffffffffff") == 0, "beyond");
    CHECK(strcmp(key_of(op, &ordering, "string", "abcdefghij"), "6162636465666768") == 0, "string");
    CHECK(strcmp(key_of(op, &ordering, "double", "-0.0"), "8000000000000000") == 0, "-0.0 as 0.0");
    field.has_range = true;
    field.least = (struct firn_value){ .type = FIRN_TYPE_LONG, .integer = -100 };
    field.greatest = (struct firn_value){ .type = FIRN_TYPE_LONG, .integer = 155 };
    static const struct {
        const char *text, *key;
    } cases[] = { { "-100", "00000000" },  { "-99", "01010101" }, { "155", "ffffffff" }, { "156", "ffffffff" },
                  { "-5000", "00000000" }, { "0", "64646464" },   { NULL, "00000000" } };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        const char *key = key_of(op, &ordering, "long", cases[i].text);
        CHECK(strcmp(key, cases[i].key) == 0, "%s: %s", cases[i].text, key);
    }
}

static void check_refused(struct firn_op *op, enum firn_ordering_kind kind, const char *type, const char *transform,
                          firn_status wanted)
{
    struct firn_ordering_field field = {
        .source_id = 1,
        .transform = firn_transform_parse(op->arena, firn_text_of(transform)),
    };
    const struct firn_ordering ordering = {
        .kind = kind, .fields = &field, .field_count = 1, .var_length_bytes = UINT32_MAX, .key_bytes_max = UINT64_MAX
    };
    struct firn_schema schema;
    struct firn_output_schema output;
    struct firn_sort_key key;
    one_column(op, type, &schema, &output);
    CHECK_STATUS(op, wanted, firn_sort_key_new(op, &ordering, &output, 0, &key));
}

static void test_refused(void **state)
{
    struct firn_op *op = test_op(state);
    check_refused(op, FIRN_ORDERING_ZORDER, "decimal(9,2)", "identity", FIRN_UNSUPPORTED);
    check_refused(op, FIRN_ORDERING_ZORDER, "geometry", "identity", FIRN_UNSUPPORTED);
    check_refused(op, FIRN_ORDERING_ZORDER, "string", "identity", FIRN_LIMIT);
    check_refused(op, FIRN_ORDERING_HILBERT, "geography", "identity", FIRN_UNSUPPORTED);
    check_refused(op, FIRN_ORDERING_LINEAR, "geometry", "identity", FIRN_UNSUPPORTED);
    check_refused(op, FIRN_ORDERING_LINEAR, "boolean", "bucket[3]", FIRN_UNSUPPORTED);
    check_refused(op, FIRN_ORDERING_LINEAR, "int", "zigzag", FIRN_UNSUPPORTED);
    check_refused(op, FIRN_ORDERING_LINEAR, "int", "void", FIRN_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_zorder_images), TEST(test_interleave), TEST(test_hilbert_curve),
        TEST(test_hilbert_range), TEST(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
