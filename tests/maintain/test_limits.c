/* Limits of rewrite_data_files: best gain first, an end at a commit, and nothing lost of what is left. */
#include "maintain/rewrite_data_files_run.h"
#include "maintain/scene.h"

struct limited {
    struct scene scene;
    struct firn_rewrite_plan *plan;
    struct firn_rewrite_data_files_report report;
};

/* Plans and applies with limits, and checks that no row was lost. */
static void run_limited(struct firn_op *op, struct limited *limited, struct firn_rewrite_limits limits,
                        const char *partial_progress)
{
    const struct firn_property options[] = {
        { FIRN_TEXT("partial-progress.enabled"), firn_text_of(partial_progress) },
        { FIRN_TEXT("max-concurrent-file-group-rewrites"), FIRN_TEXT("1") },
    };
    struct firn_rewrite_data_files_args args = { .options = options, .option_count = 2, .limits = limits };
    struct world *world = &limited->scene.world;
    CHECK_OK(op, firn_table_refresh(op, &world->table));
    CHECK_OK(op, firn_rewrite_data_files_plan(op, NULL, &world->table, &args, &limited->plan));
    CHECK_OK(op, firn_rewrite_data_files_apply(op, NULL, &world->table, limited->plan, NULL, &limited->report));
    check_rows(op, &limited->scene, "after a run with limits");
}

static int count_files(struct firn_op *op, struct limited *limited, int32_t part)
{
    struct firn_scan scan = scan_current(op, &limited->scene.world, limited->scene.world.store);
    int count = 0;
    for (uint32_t i = 0; i < scan.file_count; i++)
        count += scan.files[i].entry->file.partition.values[0].integer == part;
    return count;
}

static int64_t bytes_of(struct firn_op *op, struct limited *limited, int32_t part)
{
    struct firn_scan scan = scan_current(op, &limited->scene.world, limited->scene.world.store);
    int64_t bytes = 0;
    for (uint32_t i = 0; i < scan.file_count; i++)
        if (scan.files[i].entry->file.partition.values[0].integer == part)
            bytes += scan.files[i].entry->file.file_bytes;
    return bytes;
}

/* Three partitions: the second has most files for its bytes. */
static void begin_limited(struct firn_op *op, struct limited *limited)
{
    static const int rows[] = { 300, 10, 100 };
    scene_begin(op, &limited->scene, 2, NULL);
    for (int part = 0; part < 3; part++)
        for (int i = 0; i < 6; i++)
            add_rows(op, &limited->scene, part, rows[part]);
}

static void bytes_go_where_they_gain_most(void **state)
{
    struct firn_op *op = test_op(state);
    struct limited limited = { 0 };
    begin_limited(op, &limited);
    int64_t small = bytes_of(op, &limited, 1), middle = bytes_of(op, &limited, 2);
    run_limited(op, &limited, (struct firn_rewrite_limits){ .bytes_max = small + middle }, "false");
    assert_int_equal(limited.report.rewritten_bytes_count, small + middle);
    assert_int_equal(limited.report.commits, 1);
    assert_int_equal(count_files(op, &limited, 0), 6);
    assert_int_equal(count_files(op, &limited, 1), 1);
    assert_int_equal(count_files(op, &limited, 2), 1);
    CHECK(limited.report.left.files == 6 || limited.report.left.groups > 1, "%" PRId64 " files of %" PRId64 " groups",
          limited.report.left.files, limited.report.left.groups);
    json_t *left = json_object_get(firn_rewrite_plan_json(op, limited.plan), "left");
    assert_int_equal(json_integer_value(json_object_get(left, "files")), limited.report.left.files);

    /* What was left is not settled: the next run takes it. */
    run_limited(op, &limited, (struct firn_rewrite_limits){ 0 }, "false");
    assert_int_equal(count_files(op, &limited, 0), 1);
    assert_int_equal(limited.report.left.groups, 0);
    run_limited(op, &limited, (struct firn_rewrite_limits){ 0 }, "false");
    assert_int_equal(limited.report.commits, 0);
    scene_end(op, &limited.scene);
}

/* Else a partition that is larger than the limit would never be compacted. */
static void a_large_partition_is_done_in_parts(void **state)
{
    struct firn_op *op = test_op(state);
    struct limited limited = { 0 };
    scene_begin(op, &limited.scene, 2, NULL);
    for (int i = 0; i < 12; i++)
        add_rows(op, &limited.scene, 0, 50);
    int64_t bytes_max = bytes_of(op, &limited, 0) / 2 + 10;
    run_limited(op, &limited, (struct firn_rewrite_limits){ .bytes_max = bytes_max }, "false");
    CHECK(limited.report.rewritten_data_files_count >= 5 && limited.report.rewritten_bytes_count <= bytes_max,
          "%" PRId64 " files, %" PRId64 " of %" PRId64 " bytes", limited.report.rewritten_data_files_count,
          limited.report.rewritten_bytes_count, bytes_max);
    CHECK(limited.report.left.files >= 5, "%" PRId64 " files left", limited.report.left.files);
    scene_end(op, &limited.scene);
}

/* As the help says: a limit below every group is room for none. */
static void a_byte_is_room_for_nothing(void **state)
{
    struct firn_op *op = test_op(state);
    struct limited limited = { 0 };
    begin_limited(op, &limited);
    run_limited(op, &limited, (struct firn_rewrite_limits){ .bytes_max = 1 }, "false");
    assert_int_equal(limited.report.commits, 0);
    assert_int_equal(limited.report.left.files, 18);
    scene_end(op, &limited.scene);
}

static void delete_files_are_gain_too(void **state)
{
    struct firn_op *op = test_op(state);
    struct limited limited = { 0 };
    scene_begin(op, &limited.scene, 2, NULL);
    add_files(op, &limited.scene, 0, 6);
    add_files(op, &limited.scene, 1, 6);
    for (int64_t id = 61; id < 67; id++)
        delete_ids(op, &limited.scene, &id, 1, FIRN_DELETES_BY_FILE);
    run_limited(op, &limited, (struct firn_rewrite_limits){ .bytes_max = bytes_of(op, &limited, 1) }, "false");
    assert_int_equal(count_files(op, &limited, 1), 1);
    assert_int_equal(count_files(op, &limited, 0), 6);
    scene_end(op, &limited.scene);
}

static void requests_are_kept_to(void **state)
{
    struct firn_op *op = test_op(state);
    enum { REQUESTS_MAX = 120 };
    struct limited limited = { 0 };
    begin_limited(op, &limited);
    run_limited(op, &limited, (struct firn_rewrite_limits){ .requests_max = REQUESTS_MAX }, "false");
    struct firn_work predicted = firn_rewrite_plan_work(limited.plan);
    CHECK(firn_work_requests(&predicted) <= REQUESTS_MAX, "%" PRId64 " requests", firn_work_requests(&predicted));
    CHECK(limited.report.left.groups == 1 || limited.report.left.groups == 2, "%" PRId64 " groups left",
          limited.report.left.groups);
    assert_int_equal(count_files(op, &limited, 1), 1);
    assert_int_equal(count_files(op, &limited, 0), 6);
    scene_end(op, &limited.scene);
}

static void time_ends_a_run_at_a_commit(void **state)
{
    struct firn_op *op = test_op(state);
    static const char *const partial_progress[] = { "false", "true" };
    for (size_t i = 0; i < 2; i++) {
        struct limited limited = { 0 };
        begin_limited(op, &limited);
        limited.scene.env.monotonic_ms = slow_clock_ms;
        run_limited(op, &limited, (struct firn_rewrite_limits){ .time_ms_max = 1 }, partial_progress[i]);
        assert_int_equal(limited.report.commits, 1);
        assert_int_equal(limited.report.left.groups, 2);
        assert_int_equal(limited.report.left.files, 12);
        assert_int_equal(count_files(op, &limited, 1), 1); /* most gain */
        CHECK(summary(&limited.scene.world, FIRN_SUMMARY_SETTINGS)[0] == '\0', "a part was said to be all");

        run_limited(op, &limited, (struct firn_rewrite_limits){ .time_ms_max = 1 }, partial_progress[i]);
        assert_int_equal(count_files(op, &limited, 2), 1);
        run_limited(op, &limited, (struct firn_rewrite_limits){ .time_ms_max = INT64_MAX }, partial_progress[i]);
        assert_int_equal(count_files(op, &limited, 0), 1);
        assert_int_equal(limited.report.left.groups, 0);
        scene_end(op, &limited.scene);
    }
}

/* A group that would not be done in time does not begin, though smaller ones after it may. */
static void the_pace_so_far_is_kept_in_mind(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_rewrite_limits limits = { .time_ms_max = 100000 };
    struct firn_rewrite_meter meter;
    struct firn_env env = *firn_env_real();
    struct firn_store *store;
    env.monotonic_ms = slow_clock_ms;
    op->env = &env;
    CHECK_OK(op, firn_store_open_memory(op, &store));
    firn_rewrite_meter_start(op, &limits, store, &meter);
    assert_true(firn_rewrite_meter_allows(op, &meter, INT64_MAX));
    atomic_store(&meter.bytes_done, 1000);
    assert_false(firn_rewrite_meter_allows(op, &meter, 200000));
    assert_true(firn_rewrite_meter_allows(op, &meter, 1000));
    firn_store_close(store);
    op->env = firn_env_real();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bytes_go_where_they_gain_most),
        TEST(a_large_partition_is_done_in_parts),
        TEST(a_byte_is_room_for_nothing),
        TEST(delete_files_are_gain_too),
        TEST(requests_are_kept_to),
        TEST(time_ends_a_run_at_a_commit),
        TEST(the_pace_so_far_is_kept_in_mind),
    };
    return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
