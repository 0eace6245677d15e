/* Predicates: the grammar with its errors, casts of constants, and the inclusive tests over partitions, manifest
 * summaries and file metrics. The property that nothing with a matching row is pruned: test_expression_sound.c. */
#include "check.h"

#include "base/math.h"
#include "table/expression.h"

static const char schema_text[] =
    "{\"type\":\"struct\",\"fields\":["
    "{\"id\":1,\"name\":\"id\",\"required\":false,\"type\":\"int\"},"
    "{\"id\":2,\"name\":\"n\",\"required\":false,\"type\":\"long\"},"
    "{\"id\":3,\"name\":\"s\",\"required\":false,\"type\":\"string\"},"
    "{\"id\":4,\"name\":\"d\",\"required\":false,\"type\":\"date\"},"
    "{\"id\":5,\"name\":\"ts\",\"required\":false,\"type\":\"timestamp\"},"
    "{\"id\":6,\"name\":\"tz\",\"required\":false,\"type\":\"timestamptz\"},"
    "{\"id\":7,\"name\":\"x\",\"required\":false,\"type\":\"double\"},"
    "{\"id\":8,\"name\":\"f\",\"required\":false,\"type\":\"float\"},"
    "{\"id\":9,\"name\":\"dec\",\"required\":false,\"type\":\"decimal(5, 2)\"},"
    "{\"id\":10,\"name\":\"b\",\"required\":false,\"type\":\"binary\"},"
    "{\"id\":11,\"name\":\"u\",\"required\":false,\"type\":\"uuid\"},"
    "{\"id\":12,\"name\":\"flag\",\"required\":false,\"type\":\"boolean\"},"
    "{\"id\":13,\"name\":\"st\",\"required\":false,\"type\":{\"type\":\"struct\",\"fields\":["
    "{\"id\":14,\"name\":\"in.ner\",\"required\":false,\"type\":\"int\"}]}},"
    "{\"id\":15,\"name\":\"l\",\"required\":false,\"type\":{\"type\":\"list\",\"element-id\":16,\"element\":\"int\","
    "\"element-required\":false}},"
    "{\"id\":17,\"name\":\"ns\",\"required\":false,\"type\":\"timestamp_ns\"},"
    "{\"id\":18,\"name\":\"t\",\"required\":false,\"type\":\"time\"},"
    "{\"id\":19,\"name\":\"Date\",\"required\":false,\"type\":\"date\"},"
    "{\"id\":20,\"name\":\"ID\",\"required\":false,\"type\":\"string\"}]}";

static struct firn_schema *schema_of(struct firn_op *op)
{
    json_t *json;
    struct firn_schema *schema = FIRN_NEW(op->arena, struct firn_schema);
    CHECK_OK(op, firn_json_parse(op, firn_text_of(schema_text), "schema", &json));
    CHECK_OK(op, firn_schema_parse(op, json, schema));
    return schema;
}

static const struct firn_predicate *where(struct firn_op *op, const char *text)
{
    const struct firn_predicate *predicate;
    firn_status status = firn_predicate_parse(op, firn_text_of(text), schema_of(op), &predicate);
    CHECK(status == FIRN_OK, "%s: %s", text, op->error.text);
    return predicate;
}

static void texts_parse_to_what_they_mean(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        const char *text, *meaning;
    } cases[] = {
        /* as people write them */
        { "d >= '2026-07-28'", "d >= '2026-07-28'" },
        { "ts >= date '2026-07-01'", "ts >= '2026-07-01T00:00:00'" },
        { "tz >= TIMESTAMP '2026-07-01 00:00:00' AND tz < timestamp '2026-07-01 12:00:00.5+02:00'",
          "(tz >= '2026-07-01T00:00:00+00:00' AND tz < '2026-07-01T10:00:00.5+00:00')" },
        { "s = 'it''s' or s == \"x\" or s = 'a\\'b'", "((s = 'it's' OR s = 'x') OR s = 'a'b')" },
        { "1=1", "TRUE" },
        { "true and id > 5", "id > 5" },
        /* precedence and NOT */
        { "id = 1 OR id = 2 AND n = 3", "(id = 1 OR (id = 2 AND n = 3))" },
        { "NOT id = 1 AND n = 3", "(id <> 1 AND n = 3)" },
        { "NOT (id = 1 AND n > 3)", "(id <> 1 OR n <= 3)" },
        { "not not (id < 1 or ! (n >= 3))", "(id < 1 OR n < 3)" },
        { "id NOT BETWEEN 1 AND 3 AND n = 2", "((id < 1 OR id > 3) AND n = 2)" },
        { "id between -1 and +3", "(id >= -1 AND id <= 3)" },
        /* names */
        { "`id` = 1", "id = 1" },
        { "N > 1", "n > 1" },
        { "ID = 'x'", "ID = 'x'" },
        { "St.`in.ner` <> 2", "in.ner <> 2" },
        { "date >= '2024-01-01' and Date < date '2024-02-01'", "(Date >= '2024-01-01' AND Date < '2024-02-01')" },
        { "x > 1", "x > 1.0" },
        /* either side */
        { "5 < id", "id > 5" },
        { "5 >= id", "id <= 5" },
        /* null */
        { "id = NULL", "FALSE" },
        { "NOT id = NULL", "FALSE" },
        { "id <=> NULL", "id IS NULL" },
        { "NOT id <=> NULL", "id IS NOT NULL" },
        { "id <=> 3", "id = 3" },
        { "NOT (id <=> 3)", "(id IS NULL OR id <> 3)" },
        { "id IN (1, NULL, 2)", "id IN (1, 2)" },
        { "id NOT IN (1, NULL)", "FALSE" },
        { "id is not null and not s is null", "(id IS NOT NULL AND s IS NOT NULL)" },
        { "null or id = 1", "id = 1" },
        /* integers */
        { "id = 3000000000", "FALSE" },
        { "id <> 3000000000", "id IS NOT NULL" },
        { "id < 3000000000", "id IS NOT NULL" },
        { "id > 3000000000", "FALSE" },
        { "id > -3000000000", "id IS NOT NULL" },
        { "id >= 1.5", "id > 1" },
        { "id < 1.5", "id <= 1" },
        { "id = 1.5", "FALSE" },
        { "id > -1.5", "id > -2" },
        { "id = 2.0", "id = 2" },
        { "id = 2e2", "id = 200" },
        { "id = 0.2e1L", "id = 2" },
        { "id = '7'", "id = 7" },
        { "n = 9223372036854775807", "n = 9223372036854775807" },
        { "n <= 9223372036854775808", "n IS NOT NULL" },
        { "n > 1e400", "FALSE" },
        { "id in (1, 2.5, 99999999999)", "id IN (1)" },
        { "id not in (2.5)", "id IS NOT NULL" },
        /* decimals */
        { "dec = 1.5", "dec = 1.50" },
        { "dec = 1.500", "dec = 1.50" },
        { "dec = 1.555", "FALSE" },
        { "dec < 1.555", "dec <= 1.55" },
        { "dec >= -1.555", "dec > -1.56" },
        { "dec <= 1000", "dec IS NOT NULL" },
        { "dec > -999.995", "dec IS NOT NULL" },
        { "dec = 0.0001e4", "dec = 1.00" },
        /* reals */
        { "x = -0.5", "x = -0.5" },
        { "x = 'NaN'", "x IS NAN" },
        { "x < 'NaN'", "(x IS NOT NULL AND x IS NOT NAN)" },
        { "x <= 'nan'", "x IS NOT NULL" },
        { "x > 'NaN'", "FALSE" },
        { "x < '-Infinity'", "x < -Infinity" },
        { "isnan(f)", "f IS NAN" },
        { "not isnan(f)", "f IS NOT NAN" },
        { "f in (1, 'NaN')", "(f IN (1.0) OR f IS NAN)" },
        /* dates and times */
        { "d = '2024'", "d = '2024-01-01'" },
        { "d = '2024-2'", "d = '2024-02-01'" },
        { "d = '2024-02-05 10:00:00'", "d = '2024-02-05'" },
        { "d > timestamp '2024-02-05 10:00:00'", "d > '2024-02-05'" },
        { "d >= timestamp '2024-02-05 10:00:00'", "d > '2024-02-05'" },
        { "d >= timestamp '2024-02-05 00:00:00'", "d >= '2024-02-05'" },
        { "d = timestamp '2024-02-05 10:00:00'", "FALSE" },
        { "ts = '2024-02-05'", "ts = '2024-02-05T00:00:00'" },
        { "ts = '2024-02-05T10:00:00Z'", "ts = '2024-02-05T10:00:00'" },
        { "ts = '2024-02-05 10:00:00 UTC'", "ts = '2024-02-05T10:00:00'" },
        { "ts = '2024-02-05 10:00:00.123456789'", "ts = '2024-02-05T10:00:00.123456'" },
        { "ns = '2024-02-05 10:00:00.123456789'", "ns = '2024-02-05T10:00:00.123456789'" },
        { "ns < '9999-01-01'", "ns IS NOT NULL" },
        { "ts < date '999999-01-01'", "ts IS NOT NULL" },
        { "t >= '10:30:00'", "t >= '10:30:00'" },
        /* bytes */
        { "b = X'00fF'", "b = X'00ff'" },
        { "b = 'a'", "b = X'61'" },
        { "u = 'F79C3E09-677c-4bbd-a479-3f349cb785e7'", "u = 'f79c3e09-677c-4bbd-a479-3f349cb785e7'" },
        /* booleans */
        { "flag", "flag = true" },
        { "not flag and flag = false", "(flag = false AND flag = false)" },
        { "flag = 'TRUE'", "flag = true" },
        /* LIKE */
        { "s LIKE 'ab%'", "s LIKE 'ab%'" },
        { "s NOT LIKE 'ab%%'", "s NOT LIKE 'ab%'" },
        { "not s not like 'ab'", "s = 'ab'" },
        { "s like '%'", "s IS NOT NULL" },
        { "s not like '%'", "FALSE" },
        { "s like '10\\%%'", "s LIKE '10%%'" },
        { "s like null", "FALSE" },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_text text = firn_predicate_text(op->arena, where(op, cases[i].text));
        CHECK(firn_text_is(text, cases[i].meaning), "%s means %.*s", cases[i].text, FIRN_FMT(text));
    }
}

static void errors_name_the_place(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        const char *text, *error;
    } cases[] = {
        { "", "character 1: the text ends where a column" },
        { "id", "character 3: the text ends where a comparison" },
        { "id >", "character 5: the text ends" },
        { "nope = 1", "character 1: the table has no column 'nope'" },
        { "id = 1 id = 2", "character 8: 'id' stands where AND, OR or the end" },
        { "id = 'abc'", "character 6: 'abc' is not a value for column 'id' of type int" },
        { "d > '2024-13-01'", "character 5: '2024-13-01' is not a value" },
        { "d > '2024-02-30'", "is not a value" },
        { "d > date 'x'", "character 10: 'x' is not a date" },
        { "d > 5", "character 5: 5 is not a value for column 'd' of type date" },
        { "s = 5", "character 5" },
        { "id = date '2024-01-01'", "cannot be compared with this constant" },
        { "st = 1", "character 1: column 'st' has the type struct" },
        { "l is null", "type list" },
        { "l.element = 1", "no column 'element'" },
        { "id = n", "character 6: two columns" },
        { "1 = 'a'", "needs a column" },
        { "s like 'a%b'", "character 8: LIKE 'a%b': only a prefix" },
        { "s like 'a_'", "only a prefix" },
        { "id like 'a%'", "LIKE compares a string column" },
        { "id in ()", "character 8: ')' stands where a constant" },
        { "id in (1", "where ) is expected" },
        { "id between 1", "where AND is expected" },
        { "id not 5", "where IN, BETWEEN or LIKE" },
        { "s = 'open", "character 5: the quote ' is not closed" },
        { "id = 1.2abc", "'1.2abc' is not a number" },
        { "id = 12abc", "no column '12abc'" },
        { "id = #", "unexpected character '#'" },
        { "b = X'0'", "hexadecimal" },
        { "days(ts) = 3", "functions such as days() are not supported" },
        { "(id = 1", "where ) is expected" },
        { "id = 1)", "')' stands where AND, OR or the end" },
        { "u = 'no'", "is not a value for column 'u' of type uuid" },
        { "and = 1", "'and' stands where a column" },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        const struct firn_predicate *predicate;
        CHECK_STATUS(op, FIRN_USAGE, firn_predicate_parse(op, firn_text_of(cases[i].text), schema_of(op), &predicate));
        CHECK(strstr(op->error.text, cases[i].error), "%s: %s", cases[i].text, op->error.text);
    }
}

static void depth_and_length_are_limited(void **state)
{
    struct firn_op *op = test_op(state);
    const struct firn_predicate *predicate;
    char deep[1000];
    memset(deep, '(', sizeof deep);
    CHECK_STATUS(op, FIRN_USAGE,
                 firn_predicate_parse(op, (struct firn_text){ deep, sizeof deep }, schema_of(op), &predicate));
    CHECK(strstr(op->error.text, "nested"), "%s", op->error.text);
    struct firn_buffer chain = { 0 };
    for (int i = 0; i < 9000; i++)
        CHECK_OK(op, firn_buffer_append(op, &chain, "id=1 or ", 8));
    CHECK_OK(op, firn_buffer_append(op, &chain, "id=2", 4));
    CHECK_OK(op, firn_predicate_parse(op, firn_text_of_bytes(firn_buffer_bytes(&chain)), schema_of(op), &predicate));
    struct firn_data_file file = { .record_count = 1 };
    assert_true(firn_predicate_file_may_match(predicate, &file));
    assert_true(firn_predicate_text(op->arena, predicate).len > 9000);
    firn_buffer_done(&chain);
}

/* A spec of one field over `column`, and its type. */
static struct firn_partition_spec *spec_of(struct firn_op *op, const char *column, const char *transform,
                                           struct firn_type **types)
{
    const struct firn_schema *schema = schema_of(op);
    json_t *json;
    struct firn_partition_spec *spec = FIRN_NEW(op->arena, struct firn_partition_spec);
    struct firn_text text =
        firn_text_format(op->arena, "[{\"source-id\":%d,\"name\":\"p\",\"transform\":\"%s\"}]",
                         firn_schema_field_named(schema, firn_text_of(column), false)->id, transform);
    CHECK_OK(op, firn_json_parse(op, text, "spec", &json));
    CHECK_OK(op, firn_partition_spec_parse(op, json, 0, spec));
    CHECK_OK(op, firn_partition_types(op, spec, &schema, 1, types));
    return spec;
}

static struct firn_value value_of(struct firn_op *op, const struct firn_type *type, const char *json)
{
    json_t *tree;
    struct firn_value value;
    CHECK_OK(op, firn_json_parse(op, firn_text_of(json), "value", &tree));
    CHECK_OK(op, firn_value_parse_json(op, type, tree, &value));
    return value;
}

static void partitions_are_pruned(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        const char *column, *transform, *tuple, *where;
        bool may;
    } cases[] = {
        { "id", "identity", "5", "id = 5", true },
        { "id", "identity", "5", "id <> 5", false },
        { "id", "identity", "5", "id not in (4, 5)", false },
        { "id", "identity", "5", "n = 6", true },
        { "id", "identity", "null", "id = 5", false },
        { "id", "identity", "null", "id <> 5", false },
        { "id", "identity", "null", "id is null", true },
        { "id", "identity", "5", "id is null", false },
        { "s", "identity", "\"abc\"", "s like 'ab%'", true },
        { "s", "identity", "\"abc\"", "s not like 'ab%'", false },
        { "id", "bucket[16]", "9", "id = 34", false }, /* 34 hashes to 2017239379: bucket 3 */
        { "id", "bucket[16]", "3", "id = 34", true },
        { "id", "bucket[16]", "9", "id in (34, 5)", false },
        { "id", "bucket[16]", "9", "id > 34", true },
        { "id", "bucket[16]", "9", "id is null", false },
        { "id", "truncate[10]", "20", "id < 20", false },
        { "id", "truncate[10]", "20", "id <= 20", true },
        { "id", "truncate[10]", "20", "id > 29", false },
        { "id", "truncate[10]", "20", "id >= 29", true },
        { "id", "truncate[10]", "20", "id = 30", false },
        { "id", "truncate[10]", "2147483646", "id < -2147483640", true }, /* wrapped */
        { "dec", "truncate[100]", "\"2.00\"", "dec > 2.99", false },
        { "dec", "truncate[100]", "\"2.00\"", "dec > 2.98", true },
        { "s", "truncate[2]", "\"ab\"", "s = 'abx'", true },
        { "s", "truncate[2]", "\"ab\"", "s = 'acx'", false },
        { "s", "truncate[2]", "\"ab\"", "s > 'abz'", true },
        { "s", "truncate[2]", "\"ab\"", "s > 'b'", false },
        { "s", "truncate[2]", "\"ab\"", "s < 'ab'", false },
        { "s", "truncate[2]", "\"ab\"", "s like 'abc%'", true },
        { "s", "truncate[2]", "\"ab\"", "s like 'a%'", true },
        { "s", "truncate[2]", "\"ab\"", "s like 'acc%'", false },
        { "s", "truncate[2]", "\"ab\"", "s not like 'a%'", false },
        { "s", "truncate[2]", "\"ab\"", "s not like 'abc%'", true },
        { "ts", "day", "\"2024-01-02\"", "ts < '2024-01-02'", false },
        { "ts", "day", "\"2024-01-02\"", "ts <= '2024-01-02'", true },
        { "ts", "day", "\"2024-01-02\"", "ts >= '2024-01-03'", false },
        { "ts", "day", "\"2024-01-02\"", "ts = '2024-01-02 10:00:00'", true },
        { "ts", "day", "\"2024-01-02\"", "ts in ('2024-01-01', '2024-01-03')", false },
        { "ts", "month", "648", "ts < '2024-01-01'", false },
        { "ts", "year", "54", "ts > '2025'", false },
        { "ts", "hour", "0", "ts < '1970-01-01'", true }, /* an old writer's hour -1 */
        { "ts", "hour", "1", "ts < '1970-01-01 01:00:00'", false },
        { "ts", "day", "\"1970-01-01\"", "ts = '1969-12-31 05:00:00'", true },
        { "ts", "day", "\"1970-01-02\"", "ts = '1970-01-01 05:00:00'", false },
        { "d", "day", "\"1970-01-01\"", "d < '1970-01-01'", false }, /* dates were never rounded */
        { "d", "year", "54", "d = '2023-12-31'", false },
        { "ts", "void", "null", "ts = '2024-01-01'", true },
        { "ts", "void", "null", "ts is null", true },
        { "x", "identity", "-0.0", "x = 0", true },
        { "x", "identity", "-0.0", "x <> 0", false },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_type *types;
        struct firn_partition_spec *spec = spec_of(op, cases[i].column, cases[i].transform, &types);
        struct firn_value value = value_of(op, types, cases[i].tuple);
        struct firn_partition partition = { &value, 1 };
        bool may = firn_predicate_partition_may_match(where(op, cases[i].where), spec, types, &partition);
        CHECK(may == cases[i].may, "%s(%s) = %s, %s", cases[i].transform, cases[i].column, cases[i].tuple,
              cases[i].where);
    }
}

/* R21: a spec whose first field has lost its source column prunes by the second alone. */
static void lost_sources_are_passed_over(void **state)
{
    struct firn_op *op = test_op(state);
    const struct firn_schema *schema = schema_of(op);
    json_t *json;
    struct firn_partition_spec spec;
    struct firn_type *types;
    CHECK_OK(op, firn_json_parse(op,
                                 FIRN_TEXT("[{\"source-id\":99,\"name\":\"q\",\"transform\":\"identity\"},"
                                           "{\"source-id\":3,\"name\":\"p\",\"transform\":\"identity\"}]"),
                                 "spec", &json));
    CHECK_OK(op, firn_partition_spec_parse(op, json, 0, &spec));
    CHECK_OK(op, firn_partition_types(op, &spec, &schema, 1, &types));
    struct firn_bytes a = firn_bytes_of_text(FIRN_TEXT("a"));
    struct firn_field_summary summaries[] = { { .contains_null = true }, { .lower_bound = a, .upper_bound = a } };
    struct firn_manifest_file manifest = { .has_summaries = true, .summaries = summaries, .summary_count = 2 };
    assert_true(firn_predicate_manifest_may_match(where(op, "s = 'a'"), &spec, types, &manifest));
    assert_false(firn_predicate_manifest_may_match(where(op, "s = 'b'"), &spec, types, &manifest));
    manifest.has_summaries = false;
    assert_true(firn_predicate_manifest_may_match(where(op, "s = 'b'"), &spec, types, &manifest));
}

static void manifests_are_pruned(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        const char *column, *transform, *lower, *upper; /* "": none */
        bool null;
        const char *where;
        bool may;
    } cases[] = {
        { "id", "identity", "3", "7", false, "id = 5", true },
        { "id", "identity", "3", "7", false, "id = 8", false },
        { "id", "identity", "3", "7", false, "id in (1, 2, 9)", false },
        { "id", "identity", "3", "7", false, "id is null", false },
        { "id", "identity", "3", "7", true, "id is null", true },
        { "id", "identity", "", "", true, "id = 5", false }, /* nothing but null */
        { "id", "identity", "", "", true, "id is not null", false },
        { "id", "identity", "", "", false, "id = 5", true },
        { "x", "identity", "1", "2", false, "x > 5", true }, /* NaN is not ruled out */
        { "x", "identity", "1", "2", false, "x < 0", false },
        { "id", "bucket[16]", "5", "9", false, "id = 34", false },
        { "id", "bucket[16]", "0", "9", false, "id = 34", true },
        { "s", "truncate[2]", "\"ab\"", "\"cd\"", false, "s like 'abz%'", true },
        { "s", "truncate[2]", "\"ab\"", "\"cd\"", false, "s like 'ce%'", false },
        { "s", "truncate[2]", "\"ab\"", "\"cd\"", false, "s > 'cdz'", true },
        { "ts", "day", "\"2024-01-02\"", "\"2024-02-01\"", false, "ts >= '2024-02-02'", false },
        { "ts", "day", "\"2024-01-02\"", "\"2024-02-01\"", false, "ts between '2024-01-10' and '2024-01-11'", true },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_type *types;
        struct firn_partition_spec *spec = spec_of(op, cases[i].column, cases[i].transform, &types);
        struct firn_field_summary summary = { .contains_null = cases[i].null };
        if (cases[i].lower[0]) {
            struct firn_value lower = value_of(op, types, cases[i].lower), upper = value_of(op, types, cases[i].upper);
            summary.lower_bound = firn_value_bytes(op->arena, &lower);
            summary.upper_bound = firn_value_bytes(op->arena, &upper);
        }
        struct firn_manifest_file manifest = { .has_summaries = true, .summaries = &summary, .summary_count = 1 };
        bool may = firn_predicate_manifest_may_match(where(op, cases[i].where), spec, types, &manifest);
        CHECK(may == cases[i].may, "%s(%s) in %s..%s, %s", cases[i].transform, cases[i].column, cases[i].lower,
              cases[i].upper, cases[i].where);
    }
}

static void files_are_pruned(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        int32_t id;
        int64_t nulls, nans;       /* of 10 values; -1: no count */
        const char *lower, *upper; /* hex; NULL: none */
        const char *where;
        bool may;
    } cases[] = {
        { 2, 0, -1, "0500000000000000", "0900000000000000", "n = 7", true },
        { 2, 0, -1, "0500000000000000", "0900000000000000", "n = 10", false },
        { 2, 0, -1, "05000000", "09000000", "n = 10", false }, /* R36: written as int */
        { 2, 0, -1, "05000000", "09000000", "n = 9", true },
        { 2, 0, -1, "0500", "09", "n = 10", true }, /* no bound at all */
        { 2, 0, -1, NULL, "09000000", "n > 9", false },
        { 2, 0, -1, NULL, "09000000", "n < -100", true },
        { 2, 10, -1, NULL, NULL, "n = 7", false },
        { 2, 10, -1, NULL, NULL, "n is null", true },
        { 2, 10, -1, NULL, NULL, "n is not null", false },
        { 2, 0, -1, NULL, NULL, "n is null", false },
        { 2, -1, -1, NULL, NULL, "n is null", true },
        { 2, 3, -1, "05000000", "05000000", "n <> 5", true },
        { 7, 0, 0, "0000803f", "00000040", "x > 2", false }, /* written as float */
        { 7, 0, 1, "0000803f", "00000040", "x > 2", true },
        { 7, 0, -1, "0000803f", "00000040", "x > 2", true },
        { 7, 0, 10, NULL, NULL, "x < 2", false },
        { 7, 0, 10, NULL, NULL, "isnan(x)", true },
        { 7, 0, 10, NULL, NULL, "not isnan(x)", false },
        { 7, 0, 0, NULL, NULL, "isnan(x)", false },
        { 7, 4, 6, NULL, NULL, "x = 1", false },
        { 3, 0, -1, "6162", "6164", "s like 'abc%'", true },
        { 3, 0, -1, "6162", "6164", "s like 'ae%'", false },
        { 3, 0, -1, "6162", "6164", "s not like 'a%'", false },
        { 3, 0, -1, "6162", "6164", "s not like 'ab%'", true },
        { 14, 10, -1, NULL, NULL, "st.`in.ner` = 1", false },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        int32_t id = cases[i].id;
        int64_t values = 10, nulls = cases[i].nulls, nans = cases[i].nans;
        struct firn_bytes lower, upper;
        struct firn_data_file file = { .record_count = 10 };
        file.value_counts = (struct firn_count_map){ &id, &values, 1, true };
        if (nulls >= 0)
            file.null_value_counts = (struct firn_count_map){ &id, &nulls, 1, true };
        if (nans >= 0)
            file.nan_value_counts = (struct firn_count_map){ &id, &nans, 1, true };
        if (cases[i].lower && firn_hex_parse(op->arena, firn_text_of(cases[i].lower), &lower))
            file.lower_bounds = (struct firn_bound_map){ &id, &lower, 1, true };
        if (cases[i].upper && firn_hex_parse(op->arena, firn_text_of(cases[i].upper), &upper))
            file.upper_bounds = (struct firn_bound_map){ &id, &upper, 1, true };
        bool may = firn_predicate_file_may_match(where(op, cases[i].where), &file);
        CHECK(may == cases[i].may, "case %zu: %s", i, cases[i].where);
    }
    struct firn_data_file empty = { .record_count = 0 };
    assert_false(firn_predicate_file_may_match(where(op, "n = 7"), &empty));
    assert_true(firn_predicate_file_may_match(where(op, "true"), &empty));
}

/* Opaque conditions ----------------------------------------------------------------------------------------------- */

static const struct firn_predicate *where_any(struct firn_op *op, const char *text)
{
    const struct firn_predicate *predicate;
    firn_status status = firn_predicate_parse_any(op, firn_text_of(text), schema_of(op), &predicate);
    CHECK(status == FIRN_OK, "%s: %s", text, op->error.text);
    return predicate;
}

static void conditions_on_functions_are_leaves_that_rule_nothing_out(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        const char *text, *column, *function, *argument, *value; /* text: of the condition alone */
        enum firn_predicate_op compare;
    } cases[] = {
        { "year(ts) = 2026", "ts", "year", "", "2026", FIRN_PRED_EQ },
        { "2026 < year(ts)", "ts", "year", "", "2026", FIRN_PRED_GT },
        { "date_format(ts, 'yyyy-MM-dd') >= '2026-07-01'", "ts", "date_format", "yyyy-MM-dd", "2026-07-01",
          FIRN_PRED_GT_EQ },
        { "cast(ts as date) = date '2026-07-01'", "ts", "cast", "date", "2026-07-01", FIRN_PRED_EQ },
        { "substring(s, 1, 3) = 'abc'", "s", "substring", "3", "abc", FIRN_PRED_EQ },
        { "to_date(coalesce(ts, tz)) = '2026-07-01'", "ts", "to_date", "", "2026-07-01", FIRN_PRED_EQ },
        { "upper(s) in ('A', 'B')", "s", "", "", "", FIRN_PRED_TRUE },
        { "upper(s) between 'A' and 'B'", "s", "", "", "", FIRN_PRED_TRUE },
        { "abs(st.`in.ner`) <> 1", "in.ner", "", "", "", FIRN_PRED_TRUE },
        { "id + 1 > 5", "id", "", "", "", FIRN_PRED_TRUE },
        { "id % 2 = 0", "id", "", "", "", FIRN_PRED_TRUE },
        { "id = n", "id", "", "", "", FIRN_PRED_TRUE },
        { "s like '%x%'", "s", "", "", "", FIRN_PRED_TRUE },
        { "year(ts) = year(tz)", "ts", "", "", "", FIRN_PRED_TRUE },
    };
    struct firn_data_file file = { .record_count = 1 };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        const struct firn_predicate *leaf = where_any(op, cases[i].text);
        CHECK(leaf->op == FIRN_PRED_OPAQUE, "%s", cases[i].text);
        const struct firn_opaque *opaque = leaf->opaque;
        CHECK(firn_text_is(leaf->field->name, cases[i].column) && firn_text_is(opaque->text, cases[i].text) &&
                  firn_text_is(opaque->function, cases[i].function) &&
                  firn_text_is(opaque->arguments[1], cases[i].argument) &&
                  firn_text_is(opaque->value, cases[i].value) && opaque->compare == cases[i].compare,
              "%s: function '%.*s', argument '%.*s', value '%.*s'", cases[i].text, FIRN_FMT(opaque->function),
              FIRN_FMT(opaque->arguments[1]), FIRN_FMT(opaque->value));
        assert_true(firn_predicate_file_may_match(leaf, &file));
        assert_int_equal(firn_predicate_stay(leaf, &file), FIRN_STAY_OPAQUE);
    }
}

static void they_stand_among_others(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        const char *text, *meaning;
    } cases[] = {
        { "id = 1 and year(ts) = 2026 or n > -5", "((id = 1 AND year(ts) = 2026) OR n > -5)" },
        { "not (year(ts) = 2026 and id = 1)", "(year(ts) = 2026 OR id <> 1)" },
        { "(abs(id) between 1 and 3) and s like 'x%'", "(abs(id) between 1 and 3 AND s LIKE 'x%')" },
        { "id in (1, 2) and st.`in.ner` = -1", "(id IN (1, 2) AND in.ner = -1)" },
        { "isnan(x) or f > 1", "(x IS NAN OR f > 1.0)" },
        /* words that columns are named by, too */
        { "d = date '2024-01-01' and Date >= DATE '2024-02-01'", "(d = '2024-01-01' AND Date >= '2024-02-01')" },
        { "id not in (-1, 2) and not (s is not null)", "(id NOT IN (-1, 2) AND s IS NULL)" },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_text text = firn_predicate_text(op->arena, where_any(op, cases[i].text));
        CHECK(firn_text_is(text, cases[i].meaning), "%s: %.*s", cases[i].text, FIRN_FMT(text));
    }
}

static void what_is_no_condition_on_the_table_is_refused(void **state)
{
    struct firn_op *op = test_op(state);
    static const char *const texts[] = {
        "year(nothing) = 1", "rand() > 5", "id = 'abc'", "nothing = 1", "year(ts", "id +", "", ")", "and", "("
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(texts); i++) {
        const struct firn_predicate *predicate;
        firn_status status = firn_predicate_parse_any(op, firn_text_of(texts[i]), schema_of(op), &predicate);
        /* an unclosed call of a column is a condition all the same: nothing is evaluated */
        bool may_pass = strcmp(texts[i], "year(ts") == 0 || strcmp(texts[i], "id +") == 0;
        CHECK(status == FIRN_USAGE || may_pass, "%s", texts[i]);
    }
}

static void stays_say_what_stands_in_the_way(void **state)
{
    struct firn_op *op = test_op(state);
    int32_t id = 3, wrong_id = 1;
    int64_t values = 10, nulls = 2;
    struct firn_bytes low = firn_bytes_of_text(FIRN_TEXT("abc")), high = firn_bytes_of_text(FIRN_TEXT("xyz"));
    struct firn_bytes cut_low = firn_bytes_of_text(FIRN_TEXT("ab")), cut_high = firn_bytes_of_text(FIRN_TEXT("ac"));
    struct firn_count_map value_map = { &id, &values, 1, true }, null_map = { &id, &nulls, 1, true };
    struct firn_data_file none = { .record_count = 10 };
    struct firn_data_file counts = none;
    counts.value_counts = value_map;
    counts.null_value_counts = null_map;
    struct firn_data_file bounds = counts, cut = counts, wrong = counts;
    bounds.lower_bounds = (struct firn_bound_map){ &id, &low, 1, true };
    bounds.upper_bounds = (struct firn_bound_map){ &id, &high, 1, true };
    cut.lower_bounds = (struct firn_bound_map){ &id, &cut_low, 1, true };
    cut.upper_bounds = (struct firn_bound_map){ &id, &cut_high, 1, true };
    wrong.lower_bounds = (struct firn_bound_map){ &wrong_id, &low, 1, true };
    wrong.upper_bounds = (struct firn_bound_map){ &wrong_id, &high, 1, true };
    const struct {
        const char *text;
        const struct firn_data_file *file;
        enum firn_stay stay;
    } cases[] = {
        { "s = 'm'", &none, FIRN_STAY_NO_METRICS },   { "s = 'm'", &counts, FIRN_STAY_NO_BOUNDS },
        { "s = 'm'", &bounds, FIRN_STAY_OVERLAP },    { "s = 'z'", &bounds, FIRN_STAY_RULED_OUT },
        { "s > 'a'", &bounds, FIRN_STAY_OVERLAP }, /* two rows are null */
        { "s <> 'm'", &bounds, FIRN_STAY_NOT_EQUAL }, { "s is null", &bounds, FIRN_STAY_NULLS },
        { "s is null", &none, FIRN_STAY_NO_METRICS }, { "s = 'abcde'", &cut, FIRN_STAY_TRUNCATED },
        { "id = 5", &wrong, FIRN_STAY_BAD_BOUNDS }, /* three bytes are no int */
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        enum firn_stay stay = firn_predicate_stay(where(op, cases[i].text), cases[i].file);
        CHECK(stay == cases[i].stay, "case %zu, %s: %d", i, cases[i].text, (int)stay);
    }
}

/* Java compares UUIDs as pairs of signed numbers, so that its bounds may be the wrong way round for others. */
static void bounds_of_uuids_rule_nothing_out_unless_they_meet(void **state)
{
    struct firn_op *op = test_op(state);
    int32_t id = 11;
    uint8_t low[16] = { 0xf0 }, high[16] = { 0x10 };
    struct firn_bytes lower = { low, 16 }, upper = { high, 16 };
    struct firn_data_file file = { .record_count = 2 };
    file.lower_bounds = (struct firn_bound_map){ &id, &lower, 1, true };
    file.upper_bounds = (struct firn_bound_map){ &id, &upper, 1, true };
    const struct firn_predicate *predicate = where(op, "u = '00000000-0000-0000-0000-000000000000'");
    assert_true(firn_predicate_file_may_match(predicate, &file));
    upper = lower;
    assert_false(firn_predicate_file_may_match(predicate, &file));
}

/* Floats of a struct are counted only where the struct is there: rows that are not counted may be null. */
static void rows_that_are_not_counted_may_be_null(void **state)
{
    struct firn_op *op = test_op(state);
    int32_t id = 7;
    int64_t values = 3, nulls = 0;
    struct firn_data_file file = { .record_count = 5 };
    file.value_counts = (struct firn_count_map){ &id, &values, 1, true };
    file.null_value_counts = (struct firn_count_map){ &id, &nulls, 1, true };
    assert_true(firn_predicate_file_may_match(where(op, "x is null"), &file));
    values = 5;
    assert_false(firn_predicate_file_may_match(where(op, "x is null"), &file));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(conditions_on_functions_are_leaves_that_rule_nothing_out),
        TEST(they_stand_among_others),
        TEST(what_is_no_condition_on_the_table_is_refused),
        TEST(stays_say_what_stands_in_the_way),
        TEST(bounds_of_uuids_rule_nothing_out_unless_they_meet),
        TEST(rows_that_are_not_counted_may_be_null),
        TEST(texts_parse_to_what_they_mean),
        TEST(errors_name_the_place),
        TEST(depth_and_length_are_limited),
        TEST(partitions_are_pruned),
        TEST(manifests_are_pruned),
        TEST(lost_sources_are_passed_over),
        TEST(files_are_pruned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
