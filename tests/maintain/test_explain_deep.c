/* Explanations that look into files: row groups and pages that are ruled out hold no matching row. */
#include "maintain/apply_fixture.h"

#include "base/math.h"
#include "firn/explain.h"

enum { DEEP_ROWS = 2000, DEEP_GROUPS = 2 };

/* The id of a row: ascending, or mixed. */
static int64_t deep_id(bool is_noisy, int64_t group, int64_t row)
{
    if (!is_noisy)
        return group * DEEP_ROWS + row;
    return (int64_t)((uint64_t)(group * 977) + (uint64_t)row * (UINT64_C(7919) << 40));
}

/* One file of two row groups with many pages. */
static void write_deep(struct firn_op *op, struct world *world, bool is_noisy)
{
    struct firn_chunk_options options = firn_chunk_options_default();
    struct firn_output_schema schema = fixture_schema(op, apply_schema);
    struct firn_value *value = FIRN_NEW(op->arena, struct firn_value);
    const char *columns[DEEP_GROUPS * 2];
    options.page_rows_max = 100;
    options.page_bytes_max = 512;
    options.bloom_bytes_max = 1 << 16;
    options.bloom_fpp = 0.0001;
    for (int64_t g = 0; g < DEEP_GROUPS; g++) {
        uint64_t step = (uint64_t)deep_id(is_noisy, 0, 1);
        columns[2 * g] = slots(op, deep_id(is_noisy, g, 0), step, DEEP_ROWS);
        columns[2 * g + 1] = slots(op, 4, 0, DEEP_ROWS);
    }
    struct firn_text path = firn_text_format(op->arena, "%.*s/data/part=4/deep-%d.parquet",
                                             FIRN_FMT(world->table.metadata->location), world->file_count++);
    int64_t bytes = fixture_write(op, world->store, path.data, schema.footer, columns, DEEP_GROUPS, options);
    struct firn_data_file file = fixture_file(path.data, bytes, DEEP_GROUPS * DEEP_ROWS);
    *value = (struct firn_value){ .type = FIRN_TYPE_INT, .integer = 4 };
    file.partition = (struct firn_partition){ value, 1 };
    CHECK_OK(op, append_through(op, &world->table, &file, 1));
}

static struct firn_explain_deep deep(struct firn_op *op, struct world *world, const char *where)
{
    struct firn_explain_args args = { .where = firn_text_of(where), .deep = true };
    struct firn_explain_report report;
    CHECK_OK(op, firn_explain(op, NULL, &world->table, &args, &report));
    return report.deep;
}

static void pages_are_ruled_out_by_their_index(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    begin(op, &world, "2");
    write_deep(op, &world, false);
    struct firn_explain_deep found = deep(op, &world, "id = 2500");
    assert_int_equal(found.files, 1);
    assert_int_equal(found.unreadable_files, 0);
    assert_int_equal(found.row_groups, 2);
    assert_int_equal(found.row_groups_kept, 1);
    assert_true(found.pages >= 10);
    assert_int_equal(found.pages_kept, 1);
    assert_true(found.rows_kept >= 1 && found.rows_kept < DEEP_ROWS / 2);
    assert_int_equal(deep(op, &world, "id = 2500 AND part = 4").pages_kept, 1); /* the partition answers for part */
    assert_int_equal(deep(op, &world, "id < 0").files_kept, 0);
    assert_int_equal(deep(op, &world, "id >= 0").rows_kept, DEEP_GROUPS * DEEP_ROWS);
    assert_int_equal(deep(op, &world, "id IS NULL OR id = 0").pages_kept, 1);
    end(&world);
}

static void bloom_filters_are_asked_for_single_values(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    begin(op, &world, "2");
    write_deep(op, &world, true);
    struct firn_text there = firn_text_format(op->arena, "id = %" PRId64, deep_id(true, 1, 77));
    struct firn_text absent = firn_text_format(op->arena, "id IN (%" PRId64 ", 3)", deep_id(true, 1, 77) + 1);
    struct firn_text either = firn_text_format(op->arena, "%.*s OR part = 9", FIRN_FMT(absent));
    struct firn_explain_deep found = deep(op, &world, there.data);
    assert_int_equal(found.bloom_files, 1);
    assert_int_equal(found.bloom_files_ruled_out, 0);
    assert_true(found.rows_kept > 0);
    found = deep(op, &world, absent.data);
    assert_int_equal(found.bloom_files_ruled_out, 1);
    assert_int_equal(found.rows_kept, 0);
    assert_int_equal(found.files_kept, 0);
    assert_int_equal(deep(op, &world, either.data).bloom_files, 0); /* not all rows must meet it */
    end(&world);
}

static uint64_t next(uint64_t *random)
{
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *random >> 33;
}

static int64_t count_between(int64_t low, int64_t high)
{
    int64_t count = 0;
    for (int64_t g = 0; g < DEEP_GROUPS; g++)
        for (int64_t r = 0; r < DEEP_ROWS; r++)
            count += deep_id(true, g, r) >= low && deep_id(true, g, r) <= high;
    return count;
}

/* Whatever is asked for, the rows that match are among those that stay. */
static void rows_that_match_are_never_left_out(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    uint64_t random = 5;
    begin(op, &world, "2");
    write_deep(op, &world, true);
    for (int i = 0; i < 60; i++) {
        int64_t low = deep_id(true, (int64_t)(next(&random) % DEEP_GROUPS), (int64_t)(next(&random) % DEEP_ROWS)), high;
        if (__builtin_add_overflow(low, INT64_C(1) << (int64_t)(next(&random) % 62), &high))
            high = INT64_MAX;
        struct firn_text where = firn_text_format(op->arena, "id BETWEEN %" PRId64 " AND %" PRId64, low, high);
        struct firn_explain_deep found = deep(op, &world, where.data);
        int64_t count = count_between(low, high);
        CHECK(count > 0 && found.rows_kept >= count, "%.*s: %" PRId64 " rows match, %" PRId64 " stay", FIRN_FMT(where),
              count, found.rows_kept);
    }
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pages_are_ruled_out_by_their_index),
        TEST(bloom_filters_are_asked_for_single_values),
        TEST(rows_that_match_are_never_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
