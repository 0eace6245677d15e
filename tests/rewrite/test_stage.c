/* Row groups in temporary files: what was put in comes back from any row on, flat and nested, in whatever pieces. */
#include "fixture.h"

#include "rewrite/column.h"
#include "rewrite/stage.h"

#define TEXTS_AND_LISTS                                                                                                \
    "{\"type\":\"struct\",\"schema-id\":0,\"fields\":["                                                                \
    "{\"id\":1,\"name\":\"t\",\"required\":false,\"type\":\"string\"},"                                                \
    "{\"id\":2,\"name\":\"l\",\"required\":false,\"type\":{\"type\":\"list\",\"element-id\":3,\"element-required\":"   \
    "false,\"element\":\"long\"}}]}"

struct stage_test {
    struct firn_op *op;
    struct firn_group_run run;
    struct firn_stage *stage;
};

static void begin(struct stage_test *test, void **state, int64_t first_row, int64_t row_count)
{
    *test = (struct stage_test){ .op = test_op(state) };
    test->run.schema = fixture_schema(test->op, TEXTS_AND_LISTS);
    test->run.chunk_bytes = 16 * 48; /* strips of three rows */
    CHECK_OK(test->op, firn_codec_context_open(test->op, &test->run.codec));
    const struct firn_stage_config config = { &test->run, first_row, row_count, (uint64_t)row_count * 16 };
    CHECK_OK(test->op, firn_stage_open(test->op, &config, &test->stage));
}

static void end(struct stage_test *test)
{
    firn_stage_close(test->stage);
    firn_codec_context_close(test->run.codec);
}

static const char *dump(struct stage_test *test, const struct firn_vector *vector)
{
    struct firn_buffer text = { 0 };
    fixture_print_vector(test->op, &text, vector);
    CHECK_OK(test->op, firn_buffer_append(test->op, &text, "", 1));
    const char *copy = firn_text_copy(test->op->arena, firn_text_of((const char *)text.data)).data;
    firn_buffer_done(&text);
    return copy;
}

/* Puts texts of vectors in, the last one NULL. */
static firn_status put(struct stage_test *test, uint32_t leaf, const char *const *texts)
{
    struct firn_stage_writer writer;
    firn_status status = FIRN_OK;
    firn_stage_writer_init(&writer, test->stage, leaf);
    for (; *texts && status == FIRN_OK; texts++) {
        struct firn_vector vector = fixture_vector(test->op, test->run.schema.leaves[leaf].node, *texts);
        status = firn_stage_append(test->op, &writer, &vector);
    }
    if (status == FIRN_OK)
        status = firn_stage_finish(test->op, &writer);
    firn_stage_writer_done(&writer);
    return status;
}

static void check(struct stage_test *test, uint32_t leaf, int64_t row, const char *expected)
{
    struct firn_strip strip = { 0 };
    struct firn_vector vector;
    CHECK_OK(test->op, firn_stage_take(test->op, test->stage, leaf, row, &strip, &vector));
    struct firn_vector wanted = fixture_vector(test->op, test->run.schema.leaves[leaf].node, expected);
    CHECK(strcmp(dump(test, &vector), dump(test, &wanted)) == 0, "row %" PRId64 ": %s", row, dump(test, &vector));
    firn_strip_done(&strip);
}

static void rows_come_back_from_any_row_on(void **state)
{
    struct stage_test test;
    begin(&test, state, 100, 8);
    static const char *const texts[] = { "a ~", "bb ccc ~ ~ eeee", "f", NULL };
    static const char *const lists[] = { "0.3=1 1.3=2 0.1 0.3=3 1.2", "1.3=4 1.3=5 0.0 0.3=6 0.3=7 0.3=8",
                                         "1.3=9 0.3=10", NULL };
    CHECK_OK(test.op, put(&test, 0, texts));
    CHECK_OK(test.op, put(&test, 1, lists));
    check(&test, 0, 100, "a ~ bb");
    check(&test, 0, 101, "~ bb");
    check(&test, 0, 103, "ccc ~ ~");
    check(&test, 0, 107, "f");
    check(&test, 1, 100, "0.3=1 1.3=2 0.1 0.3=3 1.2 1.3=4 1.3=5");
    check(&test, 1, 102, "0.3=3 1.2 1.3=4 1.3=5");
    check(&test, 1, 104, "0.3=6 0.3=7");
    check(&test, 1, 106, "0.3=8 1.3=9 0.3=10");
    end(&test);
}

static void another_number_of_rows_is_an_error(void **state)
{
    struct stage_test test;
    begin(&test, state, 0, 4);
    static const char *const few[] = { "a b c", NULL }, *const many[] = { "a b c d e f", "g", NULL };
    CHECK_STATUS(test.op, FIRN_CORRUPT, put(&test, 0, few));
    CHECK_STATUS(test.op, FIRN_CORRUPT, put(&test, 0, many));
    end(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rows_come_back_from_any_row_on),
        TEST(another_number_of_rows_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
