/* Rows in temporary files: what was put in comes back from any row on, flat and nested, in whatever pieces; blocks have
 * their size whatever rows take. */
#include "fixture.h"

#include "rewrite/column.h"
#include "rewrite/run_writer.h"
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

/* Texts of so many bytes, between short ones. */
static const char *some_long_texts(struct firn_op *op, int short_count, int long_count, int bytes)
{
    struct firn_buffer text = { 0 };
    for (int i = 0; i < 2 * short_count + long_count; i++) {
        bool is_long = i >= short_count && i < short_count + long_count;
        for (int k = 0; k < (is_long ? bytes : 1); k++)
            CHECK_OK(op, firn_buffer_append(op, &text, "a", 1));
        CHECK_OK(op, firn_buffer_append(op, &text, " ", 1));
    }
    CHECK_OK(op, firn_buffer_append(op, &text, "", 1));
    const char *copy = firn_text_copy(op->arena, firn_text_of((const char *)text.data)).data;
    firn_buffer_done(&text);
    return copy;
}

static struct firn_sorted_rows rows_in_order(struct firn_op *op, const struct firn_held_column *column)
{
    uint32_t *order = FIRN_NEW_ARRAY(op->arena, uint32_t, column->row_count);
    for (uint32_t i = 0; i < column->row_count; i++)
        order[i] = i;
    return (struct firn_sorted_rows){
        .columns = column,
        .leaf_count = 1,
        .keys = { .bytes = (const uint8_t *)order, .width = sizeof *order, .count = column->row_count },
        .order = order,
        .count = column->row_count,
    };
}

/* 100 rows of 5000 bytes among 6000 that take hardly any; a single row may pass what a block is to have. */
static void blocks_of_long_rows_are_no_larger(void **state)
{
    enum { BLOCK_BYTES = 8000, MOST = 4 * BLOCK_BYTES };
    struct firn_op *op = test_op(state);
    const struct firn_rewrite_context context = { 0 };
    struct firn_group_run run = { .context = &context };
    struct firn_spill_config spill = { .expected_bytes = 1 };
    struct firn_run_writer writer;
    struct firn_sorted_run sorted = { 0 };
    run.schema = fixture_schema(op, "{\"type\":\"struct\",\"schema-id\":0,\"fields\":["
                                    "{\"id\":1,\"name\":\"t\",\"required\":false,\"type\":\"string\"}]}");
    run.leaf_order = FIRN_NEW(op->arena, uint32_t);
    struct firn_held_column column = { .leaf = run.schema.leaves[0].node };
    struct firn_vector vector = fixture_vector(op, column.leaf, some_long_texts(op, 3000, 100, 5000));
    CHECK_OK(op, firn_held_column_append(op, &column, &vector));
    CHECK_OK(op, firn_codec_context_open(op, &run.codec));
    struct firn_spill *file;
    CHECK_OK(op, firn_spill_open(op, &spill, &file));
    firn_run_writer_init(op, &writer, &run, file, BLOCK_BYTES);
    struct firn_sorted_rows rows = rows_in_order(op, &column);
    CHECK_OK(op, firn_run_writer_put(op, &writer, &rows, &sorted));
    uint64_t all = 0;
    for (size_t i = 0; i < sorted.blocks.count; i++) {
        CHECK(sorted.blocks.items[i].held_bytes <= MOST, "block %zu: %" PRIu64, i, sorted.blocks.items[i].held_bytes);
        all += sorted.blocks.items[i].held_bytes;
    }
    CHECK(all > 100 * 5000 && sorted.blocks.count < 400, "%" PRIu64 " bytes in %zu blocks", all, sorted.blocks.count);
    firn_spill_close(file);
    firn_codec_context_close(run.codec);
    firn_held_column_done(&column);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rows_come_back_from_any_row_on),
        TEST(another_number_of_rows_is_an_error),
        TEST(blocks_of_long_rows_are_no_larger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
