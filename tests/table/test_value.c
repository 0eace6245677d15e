/* Types, values, transforms, partition paths: the check values of the specification and of format-notes.md, 9 to 11. */
#include "check.h"

#include "base/math.h"
#include "table/partition.h"

#include <math.h>

static struct firn_type type_of(struct firn_op *op, const char *text)
{
    struct firn_type type;
    CHECK_OK(op, firn_type_parse_text(op, firn_text_of(text), &type));
    return type;
}

/* `text` as the JSON form has it; numbers and booleans for types whose form is no text. */
static struct firn_value value_of(struct firn_op *op, const struct firn_type *type, const char *json)
{
    json_t *tree;
    struct firn_value value;
    CHECK_OK(op, firn_json_parse(op, firn_text_of(json), "value", &tree));
    CHECK_OK(op, firn_value_parse_json(op, type, tree, &value));
    return value;
}

static void type_texts_parse_and_print(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        const char *text;
        const char *printed; /* NULL: rejected */
    } cases[] = {
        { "boolean", "boolean" },
        { "decimal(9,2)", "decimal(9, 2)" },
        { "decimal( 38 , 38 )", "decimal(38, 38)" },
        { "decimal(39,2)", NULL },
        { "decimal(0,0)", NULL },
        { "decimal(2,3)", NULL },
        { "decimal(9)", NULL },
        { "fixed[16]", "fixed[16]" },
        { "fixed[-1]", NULL },
        { "fixed[99999999999]", NULL },
        { "fixed", NULL },
        { "timestamptz_ns", "timestamptz_ns" },
        { "geometry", "geometry" },
        { "geometry(srid:4326)", "geometry(srid:4326)" },
        { "geography(OGC:CRS84, spherical)", "geography(OGC:CRS84, spherical)" },
        { "geometry(a, b)", NULL },
        { "variant", "variant" },
        { "unknown", "unknown" },
        { "struct", NULL },
        { "varchar", NULL },
        { "", NULL },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_type type;
        firn_status status = firn_type_parse_text(op, firn_text_of(cases[i].text), &type);
        CHECK((status == FIRN_OK) == (cases[i].printed != NULL), "%s", cases[i].text);
        if (status != FIRN_OK)
            continue;
        struct firn_text printed = firn_type_text(op->arena, &type);
        CHECK(firn_text_is(printed, cases[i].printed), "%s gave %.*s", cases[i].text, FIRN_FMT(printed));
        json_t *json = firn_json_own(op->arena, firn_type_json(&type));
        struct firn_type again;
        CHECK_OK(op, firn_type_parse(op, json, &again));
        CHECK(firn_type_same(&type, &again), "%s", cases[i].text);
    }
}

static void hostile_schemas_are_refused(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_schema schema;
    static const char *const cases[] = {
        "[]",
        "{\"type\":\"struct\"}",
        "{\"type\":\"list\",\"element-id\":1,\"element\":\"int\",\"element-required\":true}",
        ("{\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"a\",\"required\":true,\"type\":\"int\"},"
         "{\"id\":1,\"name\":\"b\",\"required\":true,\"type\":\"int\"}]}"),
        "{\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"a\",\"required\":1,\"type\":\"int\"}]}",
        "{\"type\":\"struct\",\"fields\":[{\"id\":4294967297,\"name\":\"a\",\"required\":true,\"type\":\"int\"}]}",
        "{\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"a\",\"required\":true}]}",
        "{\"type\":\"struct\",\"fields\":[3]}",
        "{\"type\":\"struct\",\"fields\":[],\"identifier-field-ids\":[1]}",
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        json_t *json;
        CHECK_OK(op, firn_json_parse(op, firn_text_of(cases[i]), "schema", &json));
        CHECK_STATUS(op, FIRN_CORRUPT, firn_schema_parse(op, json, &schema));
    }
    json_t *deep = json_string("int");
    for (int i = 0; i < 200; i++) {
        json_t *list = json_object();
        firn_json_set_text(list, "type", FIRN_TEXT("list"));
        firn_json_set_i64(list, "element-id", i + 1);
        firn_json_set_bool(list, "element-required", false);
        firn_json_set(list, "element", deep);
        deep = list;
    }
    struct firn_type type;
    CHECK_STATUS(op, FIRN_CORRUPT, firn_type_parse(op, firn_json_own(op->arena, deep), &type));
}

static void nested_names_are_found(void **state)
{
    struct firn_op *op = test_op(state);
    static const char text[] =
        "{\"type\":\"struct\",\"schema-id\":7,\"identifier-field-ids\":[1],\"fields\":["
        "{\"id\":1,\"name\":\"Id\",\"required\":true,\"type\":\"long\",\"doc\":\"key\",\"initial-default\":5},"
        "{\"id\":2,\"name\":\"a.b\",\"required\":false,\"type\":\"int\"},"
        "{\"id\":3,\"name\":\"a\",\"required\":false,\"type\":{\"type\":\"struct\",\"fields\":["
        "{\"id\":4,\"name\":\"c\",\"required\":false,\"type\":\"string\"}]}},"
        "{\"id\":5,\"name\":\"m\",\"required\":false,\"type\":{\"type\":\"map\",\"key-id\":6,\"key\":\"string\","
        "\"value-id\":7,\"value\":{\"type\":\"list\",\"element-id\":8,\"element\":\"fixed[4]\",\"element-required\":"
        "false},\"value-required\":true}}]}";
    json_t *json;
    struct firn_schema schema, again;
    CHECK_OK(op, firn_json_parse(op, firn_text_of(text), "schema", &json));
    CHECK_OK(op, firn_schema_parse(op, json, &schema));
    assert_int_equal(schema.id, 7);
    assert_int_equal(firn_schema_id_max(&schema), 8);
    assert_int_equal(firn_schema_field_named(&schema, FIRN_TEXT("a.b"), false)->id, 2);
    assert_int_equal(firn_schema_field_named(&schema, FIRN_TEXT("a.c"), false)->id, 4);
    assert_int_equal(firn_schema_field_named(&schema, FIRN_TEXT("M.VALUE.ELEMENT"), true)->id, 8);
    assert_null(firn_schema_field_named(&schema, FIRN_TEXT("id"), false));
    assert_null(firn_schema_field_named(&schema, FIRN_TEXT("a."), true));
    assert_null(firn_schema_field(&schema, 9));
    CHECK(firn_text_is(firn_schema_name(op->arena, &schema, 8), "m.value.element"), "full name");
    json_t *printed = firn_json_own(op->arena, firn_schema_json(&schema));
    assert_true(json_equal(printed, json));
    CHECK_OK(op, firn_schema_parse(op, printed, &again));
    assert_true(firn_type_same(&schema.root, &again.root));
}

static void buckets_hash_as_the_specification_says(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        const char *type;
        const char *json;
        int32_t hash;
    } cases[] = {
        { "int", "34", 2017239379 },
        { "long", "34", 2017239379 },
        { "decimal(9,2)", "\"14.20\"", -500754589 },
        { "date", "\"2017-11-16\"", -653330422 },
        { "time", "\"22:31:08\"", -662762989 },
        { "timestamp", "\"2017-11-16T22:31:08\"", -2047944441 },
        { "timestamp", "\"2017-11-16T22:31:08.000001\"", -1207196810 },
        { "timestamptz", "\"2017-11-16T14:31:08-08:00\"", -2047944441 },
        { "timestamp_ns", "\"2017-11-16T22:31:08.000001001\"", -1207196810 },
        { "timestamptz_ns", "\"2017-11-16T14:31:08.000001001-08:00\"", -1207196810 },
        { "string", "\"iceberg\"", 1210000089 },
        { "uuid", "\"f79c3e09-677c-4bbd-a479-3f349cb785e7\"", 1488055340 },
        { "fixed[4]", "\"00010203\"", -188683207 },
        { "binary", "\"00010203\"", -188683207 },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_type type = type_of(op, cases[i].type);
        struct firn_value value = value_of(op, &type, cases[i].json);
        int32_t hash = firn_bucket_hash(&type, &value);
        CHECK(hash == cases[i].hash, "%s %s: %d", cases[i].type, cases[i].json, hash);
    }
}

static void transforms_give_known_results(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        const char *transform, *type, *json;
        const char *human;
    } cases[] = {
        { "identity", "string", "\"a b\"", "a b" },
        { "truncate[10]", "int", "1", "0" },
        { "truncate[10]", "int", "-1", "-10" },
        { "truncate[10]", "int", "-2147483648", "2147483646" }, /* wraps, as in Java */
        { "truncate[10]", "long", "-11", "-20" },
        { "truncate[50]", "decimal(9,2)", "\"10.65\"", "10.50" },
        { "truncate[10]", "decimal(9,2)", "\"-0.05\"", "-0.10" },
        { "truncate[3]", "string", "\"iceberg\"", "ice" },
        { "truncate[2]", "string", "\"\\u00e9\\ud83d\\ude00x\"", "\xc3\xa9\xf0\x9f\x98\x80" },
        { "truncate[2]", "binary", "\"010203\"", "AQI=" },
        { "year", "date", "\"1969-12-31\"", "1969" },
        { "year", "timestamp", "\"2017-11-16T22:31:08\"", "2017" },
        { "month", "date", "\"2017-11-16\"", "2017-11" },
        { "month", "timestamp", "\"1969-12-31T23:59:59.999999\"", "1969-12" },
        { "day", "timestamp", "\"1969-12-31T23:59:59.999999\"", "1969-12-31" },
        { "day", "timestamptz", "\"2017-12-01T00:00:00+00:00\"", "2017-12-01" },
        { "hour", "timestamp", "\"1969-12-31T23:59:59.999999\"", "1969-12-31-23" },
        { "hour", "timestamp_ns", "\"2017-11-16T22:31:08.000000001\"", "2017-11-16-22" },
        { "void", "int", "7", "null" },
        { "bucket[100]", "int", "34", "79" },
        { "BUCKET[16]", "string", "null", "null" },
        { "identity", "binary", "\"00ff\"", "AP8=" },
        { "identity", "fixed[3]", "\"010203\"", "AQID" },
        { "identity", "boolean", "true", "true" },
        { "identity", "decimal(9,2)", "\"-0.05\"", "-0.05" },
        { "identity", "time", "\"22:31:08.5\"", "22:31:08.500" },
        { "identity", "time", "\"22:31:08.000001\"", "22:31:08.000001" },
        { "identity", "time", "\"22:31:08\"", "22:31:08" },
        { "identity", "time", "\"22:31:00\"", "22:31" },
        { "identity", "time", "\"00:00:00.25\"", "00:00:00.250" },
        { "identity", "timestamp", "\"2017-11-16T22:31:08\"", "2017-11-16T22:31:08" },
        { "identity", "timestamptz", "\"2017-11-16T22:31:08.25+00:00\"", "2017-11-16T22:31:08.25+00:00" },
        { "identity", "uuid", "\"F79C3E09-677C-4BBD-A479-3F349CB785E7\"", "f79c3e09-677c-4bbd-a479-3f349cb785e7" },
        { "identity", "double", "1.5", "1.5" },
        { "identity", "double", "100", "100.0" },
        { "identity", "double", "12345678.9", "1.23456789E7" },
        { "identity", "double", "0.00099", "9.9E-4" },
        { "identity", "double", "0.001", "0.001" },
        { "identity", "double", "-9999999", "-9999999.0" },
        { "identity", "float", "0.1", "0.1" },
        { "identity", "float", "1e10", "1.0E10" },
        { "identity", "double", "-0.0", "-0.0" },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_type type = type_of(op, cases[i].type);
        struct firn_value value = value_of(op, &type, cases[i].json), result;
        struct firn_transform transform = firn_transform_parse(op->arena, firn_text_of(cases[i].transform));
        CHECK_OK(op, firn_transform_apply(op, &transform, &type, &value, &result));
        struct firn_type result_type = firn_transform_result(&transform, &type);
        assert_int_equal(result.type, result_type.id);
        struct firn_text human = firn_transform_human(op->arena, &transform, &result_type, &result);
        CHECK(firn_text_is(human, cases[i].human), "%s(%s): %.*s", cases[i].transform, cases[i].json, FIRN_FMT(human));
    }
}

static void odd_transforms_are_kept_as_text(void **state)
{
    struct firn_op *op = test_op(state);
    static const char *const texts[] = { "zorder", "bucket", "bucket[0]", "bucket[-1]", "truncate[x]", "bucket[1]x" };
    struct firn_type type = type_of(op, "int");
    struct firn_value value = value_of(op, &type, "1"), result;
    for (size_t i = 0; i < FIRN_COUNT_OF(texts); i++) {
        struct firn_transform transform = firn_transform_parse(op->arena, firn_text_of(texts[i]));
        assert_int_equal(transform.id, FIRN_TRANSFORM_UNKNOWN);
        CHECK(firn_text_is(transform.text, texts[i]), "%s", texts[i]);
        CHECK_STATUS(op, FIRN_UNSUPPORTED, firn_transform_apply(op, &transform, &type, &value, &result));
    }
    struct firn_transform hour = firn_transform_parse(op->arena, FIRN_TEXT("hour"));
    CHECK_STATUS(op, FIRN_UNSUPPORTED, firn_transform_apply(op, &hour, &type, &value, &result));
}

static void paths_are_encoded_as_forms(void **state)
{
    struct firn_op *op = test_op(state);
    json_t *json;
    struct firn_partition_spec spec;
    static const char text[] = "{\"spec-id\":3,\"fields\":["
                               "{\"source-id\":1,\"field-id\":1000,\"name\":\"ship mode\",\"transform\":\"identity\"},"
                               "{\"source-id\":2,\"field-id\":1001,\"name\":\"day\",\"transform\":\"day\"},"
                               "{\"source-id\":1,\"field-id\":1002,\"name\":\"b\",\"transform\":\"bucket[4]\"}]}";
    CHECK_OK(op, firn_json_parse(op, firn_text_of(text), "spec", &json));
    CHECK_OK(op, firn_partition_spec_parse(op, json, 0, &spec));
    struct firn_type types[] = { type_of(op, "string"), type_of(op, "date"), type_of(op, "int") };
    struct firn_value values[] = { value_of(op, &types[0], "\"a/b=c d*-._~%\\u00e9\""),
                                   value_of(op, &types[1], "\"2024-01-01\""), value_of(op, &types[2], "null") };
    struct firn_partition partition = { values, 3 };
    struct firn_text path = firn_partition_path(op->arena, &spec, types, &partition);
    CHECK(firn_text_is(path, "ship+mode=a%2Fb%3Dc+d*-._%7E%25%C3%A9/day=2024-01-01/b=null"), "%.*s", FIRN_FMT(path));
    assert_true(json_equal(json, firn_json_own(op->arena, firn_partition_spec_json(&spec))));
}

static void bare_specs_number_their_fields(void **state)
{
    struct firn_op *op = test_op(state);
    json_t *json;
    struct firn_partition_spec spec;
    CHECK_OK(op, firn_json_parse(op,
                                 FIRN_TEXT("[{\"source-id\":1,\"name\":\"a\",\"transform\":\"void\"},"
                                           "{\"source-ids\":[1,2],\"name\":\"b\",\"transform\":\"bucket[4]\"}]"),
                                 "spec", &json));
    CHECK_OK(op, firn_partition_spec_parse(op, json, 5, &spec));
    assert_int_equal(spec.id, 5);
    assert_int_equal(spec.fields[0].field_id, 1000);
    assert_int_equal(spec.fields[1].field_id, 1001);
    assert_int_equal(spec.fields[1].source_count, 2);
    assert_int_equal(spec.fields[1].transform.id, FIRN_TRANSFORM_UNKNOWN);
}

static void binary_forms_read_back(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        const char *type, *json, *hex;
    } cases[] = {
        { "boolean", "true", "01" },
        { "int", "-2", "feffffff" },
        { "long", "1", "0100000000000000" },
        { "float", "1.5", "0000c03f" },
        { "double", "-0.0", "0000000000000080" },
        { "date", "\"1969-12-31\"", "ffffffff" },
        { "time", "\"00:00:00.000001\"", "0100000000000000" },
        { "decimal(9,2)", "\"14.20\"", "058c" },
        { "decimal(9,2)", "\"0.00\"", "00" },
        { "decimal(9,2)", "\"-1.28\"", "80" },
        { "decimal(9,2)", "\"1.28\"", "0080" },
        { "decimal(38,0)", "\"-99999999999999999999999999999999999999\"", "b4c4b357a5793b85f675ddc000000001" },
        { "string", "\"\"", "" },
        { "string", "\"ice\"", "696365" },
        { "uuid", "\"f79c3e09-677c-4bbd-a479-3f349cb785e7\"", "f79c3e09677c4bbda4793f349cb785e7" },
        { "fixed[2]", "\"00ff\"", "00ff" },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_type type = type_of(op, cases[i].type);
        struct firn_value value = value_of(op, &type, cases[i].json), again;
        struct firn_bytes wanted, bytes = firn_value_bytes(op->arena, &value);
        assert_true(firn_hex_parse(op->arena, firn_text_of(cases[i].hex), &wanted));
        CHECK(firn_bytes_compare(bytes, wanted) == 0, "%s %s", cases[i].type, cases[i].json);
        CHECK_OK(op, firn_value_parse(op, &type, bytes, &again));
        CHECK(firn_value_same(&value, &again), "%s %s", cases[i].type, cases[i].json);
        json_t *json = firn_json_own(op->arena, firn_value_json(op->arena, &type, &value));
        CHECK_OK(op, firn_value_parse_json(op, &type, json, &again));
        CHECK(firn_value_same(&value, &again), "%s %s", cases[i].type, cases[i].json);
    }
}

/* R36: the length of a bound tells the type it was written with. */
static void narrow_bounds_are_widened(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        const char *type, *hex;
        bool good;
        const char *text;
    } cases[] = {
        { "long", "feffffff", true, "-2" },
        { "double", "0000c03f", true, "1.5" },
        { "timestamp", "01000000", true, "1970-01-02T00:00:00" },
        { "timestamptz", "01000000", false, "" },
        { "timestamp_ns", "01000000", true, "1970-01-02T00:00:00" },
        { "timestamp_ns", "ffffff7f", false, "" },
        { "int", "0100000000000000", false, "" },
        { "long", "0100", false, "" },
        { "uuid", "00", false, "" },
        { "fixed[2]", "00", false, "" },
        { "decimal(9,2)", "", false, "" },
        { "decimal(9,2)", "0000000000000000000000000000000000000080", true, "1.28" },
        { "decimal(9,2)", "ff00000000000000000000000000000000000080", false, "" },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_type type = type_of(op, cases[i].type);
        struct firn_bytes bytes;
        struct firn_value value;
        assert_true(firn_hex_parse(op->arena, firn_text_of(cases[i].hex), &bytes));
        firn_status status = firn_value_parse(op, &type, bytes, &value);
        CHECK((status == FIRN_OK) == cases[i].good, "%s %s", cases[i].type, cases[i].hex);
        if (status == FIRN_OK)
            CHECK(firn_text_is(firn_value_text(op->arena, &type, &value), cases[i].text), "%s", cases[i].hex);
    }
}

static void reals_have_a_total_order(void **state)
{
    struct firn_op *op = test_op(state);
    const double ordered[] = { -INFINITY, -1, -0.0, 0.0, 1, INFINITY, NAN };
    struct firn_buffer keys[FIRN_COUNT_OF(ordered)] = { 0 };
    for (size_t i = 0; i < FIRN_COUNT_OF(ordered); i++) {
        struct firn_value a = { .type = FIRN_TYPE_DOUBLE, .real = ordered[i] };
        CHECK_OK(op, firn_value_key(op, &a, &keys[i]));
        for (size_t k = 0; k < FIRN_COUNT_OF(ordered); k++) {
            struct firn_value b = { .type = FIRN_TYPE_DOUBLE, .real = ordered[k] };
            int order = firn_value_compare(&a, &b);
            CHECK((order > 0) - (order < 0) == (i > k) - (i < k), "%zu against %zu", i, k);
        }
    }
    struct firn_value odd_nan = { .type = FIRN_TYPE_DOUBLE, .real = -(double)NAN };
    struct firn_buffer key = { 0 };
    CHECK_OK(op, firn_value_key(op, &odd_nan, &key));
    size_t last = FIRN_COUNT_OF(ordered) - 1;
    assert_true(firn_bytes_compare(firn_buffer_bytes(&key), firn_buffer_bytes(&keys[last])) == 0);
    assert_true(firn_bytes_compare(firn_buffer_bytes(&keys[2]), firn_buffer_bytes(&keys[3])) != 0);
    firn_buffer_done(&key);
    for (size_t i = 0; i < FIRN_COUNT_OF(ordered); i++)
        firn_buffer_done(&keys[i]);
}

static void decimals_parse_and_print(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        const char *text;
        int32_t scale;
        const char *printed; /* NULL: rejected */
    } cases[] = {
        { "14.20", 2, "14.20" },
        { "14.2", 2, "14.20" },
        { "14.200", 2, "14.20" },
        { "14.201", 2, NULL },
        { "-0.05", 2, "-0.05" },
        { ".5", 1, "0.5" },
        { "5.", 0, "5" },
        { "", 2, NULL },
        { ".", 2, NULL },
        { "-", 2, NULL },
        { "1e3", 2, NULL },
        { "99999999999999999999999999999999999999", 0, "99999999999999999999999999999999999999" },
        { "0.00000000000000000000000000000000000001", 38, "0.00000000000000000000000000000000000001" },
        { "999999999999999999999999999999999999999999", 0, NULL },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        firn_int128 value;
        bool good = firn_decimal_parse(firn_text_of(cases[i].text), cases[i].scale, &value);
        CHECK(good == (cases[i].printed != NULL), "%s", cases[i].text);
        if (!good)
            continue;
        struct firn_text printed = firn_decimal_text(op->arena, value, cases[i].scale);
        CHECK(firn_text_is(printed, cases[i].printed), "%s gave %.*s", cases[i].text, FIRN_FMT(printed));
    }
}

static void promotions_follow_the_specification(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        const char *from, *to;
        bool good;
    } cases[] = {
        { "int", "long", true },           { "long", "int", false },
        { "float", "double", true },       { "decimal(9,2)", "decimal(12,2)", true },
        { "date", "timestamp", true },     { "decimal(9,2)", "decimal(12,3)", false },
        { "date", "timestamptz", false },  { "decimal(9,2)", "decimal(8,2)", false },
        { "unknown", "string", true },     { "string", "string", true },
        { "fixed[2]", "fixed[3]", false }, { "string", "binary", false },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_type from = type_of(op, cases[i].from), to = type_of(op, cases[i].to);
        CHECK(firn_type_promotable(&from, &to) == cases[i].good, "%s to %s", cases[i].from, cases[i].to);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(type_texts_parse_and_print),
        TEST(hostile_schemas_are_refused),
        TEST(nested_names_are_found),
        TEST(buckets_hash_as_the_specification_says),
        TEST(transforms_give_known_results),
        TEST(odd_transforms_are_kept_as_text),
        TEST(paths_are_encoded_as_forms),
        TEST(bare_specs_number_their_fields),
        TEST(binary_forms_read_back),
        TEST(narrow_bounds_are_widened),
        TEST(reals_have_a_total_order),
        TEST(decimals_parse_and_print),
        TEST(promotions_follow_the_specification),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
