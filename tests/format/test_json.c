/* The JSON wrapper: exact 63-bit numbers, error texts, text that is not UTF-8. */
#include "check.h"

#include "format/json/json.h"

static void numbers_of_63_bits_are_exact(void **state)
{
    struct firn_op *op = test_op(state);
    json_t *json;
    int64_t id = 0;
    CHECK_OK(op, firn_json_parse(op, FIRN_TEXT("{\"snapshot-id\": 9223372036854775807}"), "metadata", &json));
    CHECK_OK(op, firn_json_need_i64(op, json, "snapshot-id", "snapshot", &id));
    assert_true(id == INT64_MAX);
    assert_true(firn_text_is(firn_json_text(op->arena, json, 0), "{\"snapshot-id\":9223372036854775807}"));
    CHECK_STATUS(op, FIRN_CORRUPT, firn_json_parse(op, FIRN_TEXT("{\"a\": 9223372036854775808}"), "metadata", &json));
}

static void errors_name_the_member(void **state)
{
    struct firn_op *op = test_op(state);
    json_t *json;
    int32_t small;
    struct firn_text text;
    CHECK_OK(op, firn_json_parse(op, FIRN_TEXT("{\"a\": \"x\", \"b\": 5000000000, \"c\": null}"), "spec", &json));
    CHECK_STATUS(op, FIRN_CORRUPT, firn_json_need_i32(op, json, "a", "partition spec", &small));
    assert_string_equal(op->error.text, "\"a\" of partition spec is not a whole number");
    CHECK_STATUS(op, FIRN_CORRUPT, firn_json_need_i32(op, json, "b", "partition spec", &small));
    CHECK_STATUS(op, FIRN_CORRUPT, firn_json_need_text(op, json, "c", "partition spec", &text));
    assert_string_equal(op->error.text, "partition spec has no \"c\"");
}

static void text_that_is_not_utf8_still_prints(void **state)
{
    struct firn_op *op = test_op(state);
    json_t *string = firn_json_own(op->arena, firn_json_string(FIRN_TEXT("a\xff\xc3\xa9\xed\xa0\x80z")));
    assert_string_equal(json_string_value(string), "a\\xff\xc3\xa9\\xed\\xa0\\x80z");
}

static void broken_texts_are_refused(void **state)
{
    struct firn_op *op = test_op(state);
    static const char *const cases[] = { "", "{", "{} {}", "[1,]", "{\"a\":}", "nul" };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *json;
        CHECK_STATUS(op, FIRN_CORRUPT, firn_json_parse(op, firn_text_of(cases[i]), "case", &json));
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(numbers_of_63_bits_are_exact),
        TEST(errors_name_the_member),
        TEST(text_that_is_not_utf8_still_prints),
        TEST(broken_texts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
