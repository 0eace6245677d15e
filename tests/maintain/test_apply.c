/* rewrite_data_files on small real tables: what it leaves, what others may do meanwhile, what a failure leaves. */
#include "maintain/apply_fixture.h"

/* Nothing is planned anew. */
#define NO_RETRIES "{\"format-version\": \"2\", \"commit.retry.num-retries\": \"0\"}"

static void check_compaction(struct firn_op *op, const char *version)
{
    struct world world;
    struct job job = { .verify_full = true };
    begin(op, &world, version);
    CHECK_OK(op, firn_pool_open(op, 3, &world.pool));
    append(op, &world, 1, 6);
    append(op, &world, 2, 5);
    append(op, &world, 3, 2);
    const char *before = live_ids(op, &world);
    int64_t base_number = firn_metadata_current(world.table.metadata)->sequence_number;
    CHECK_OK(op, plan_and_apply(op, &world, &job));
    assert_int_equal(job.report.rewritten_data_files_count, 11);
    assert_int_equal(job.report.added_data_files_count, 2);
    assert_int_equal(job.report.rows, 110);
    assert_int_equal(job.report.commits, 1);
    assert_int_equal(job.report.failed_commits, 0);
    assert_string_equal(live_ids(op, &world), before);

    struct firn_scan scan = scan_current(op, &world, world.store);
    assert_int_equal(scan.file_count, 4);
    for (uint32_t i = 0; i < scan.file_count; i++)
        if (scan.files[i].entry->snapshot_id == job.report.snapshot_id)
            assert_int_equal(scan.files[i].entry->sequence_number, base_number);
    assert_string_equal(summary(&world, "operation"), "replace");
    assert_string_equal(summary(&world, "deleted-data-files"), "11");
    assert_int_equal(strlen(summary(&world, "firn.fingerprint.1")), 32);
    assert_int_equal(strlen(summary(&world, "firn.fingerprint.2")), 32);
    check_settled(op, &world, &job);
    end(&world);
}

static void small_files_become_few(void **state)
{
    check_compaction(test_op(state), "2");
}

static void format_version_1_is_compacted(void **state)
{
    check_compaction(test_op(state), "1");
}

static void format_version_3_is_compacted(void **state)
{
    check_compaction(test_op(state), "3");
}

/* R14. */
static void an_empty_table_stays_as_it_is(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct job job = { 0 };
    begin(op, &world, "2");
    struct firn_text metadata_before = world.table.metadata_location;
    CHECK_OK(op, plan_and_apply(op, &world, &job));
    assert_int_equal(job.report.rewritten_data_files_count, 0);
    assert_int_equal(job.report.snapshot_id, FIRN_NO_SNAPSHOT);
    assert_true(firn_text_same(metadata_before, world.table.metadata_location));
    assert_int_equal(world.table.metadata->snapshot_count, 0);
    end(&world);
}

/* R3 (a). */
static void a_concurrent_append_is_kept(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct job job = { 0 };
    begin(op, &world, "2");
    append(op, &world, 1, 6);
    CHECK_OK(op, plan(op, &world, &job));
    struct firn_table peer = second_handle(op, &world);
    struct firn_data_file late = write_file(op, &world, 1, 10);
    CHECK_OK(op, append_through(op, &peer, &late, 1));
    CHECK_OK(op, apply(op, &world, &job));
    assert_int_equal(job.report.rewritten_data_files_count, 6);
    struct firn_scan scan = scan_current(op, &world, world.store);
    assert_int_equal(scan.file_count, 2);
    const char *ids = live_ids(op, &world);
    CHECK(strncmp(ids, "1 2 3 ", 6) == 0 && strstr(ids, " 70 "), "%s", ids);
    check_settled(op, &world, &job); /* the late file alone is too few */
    end(&world);
}

/* R3 (b), R15. */
static void a_removed_input_is_a_conflict(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct job job = { 0 };
    begin_with(op, &world, NO_RETRIES);
    CHECK_OK(op, firn_pool_open(op, 2, &world.pool));
    append(op, &world, 1, 6);
    CHECK_OK(op, plan(op, &world, &job));
    remove_through_peer(op, &world, &job.plan->files[2].scan->entry->file);
    const char *before = live_ids(op, &world);
    size_t metadata_count = count_objects(op, &world, "metadata");
    CHECK_STATUS(op, FIRN_CONFLICT, apply(op, &world, &job));
    CHECK(strstr(op->error.hint, "run it again"), "%s", op->error.hint);
    assert_int_equal(job.report.commits, 0);
    assert_string_equal(live_ids(op, &world), before);
    assert_int_equal(count_data_objects(op, &world), 6);
    assert_int_equal(count_objects(op, &world, "metadata"), metadata_count);
    end(&world);
}

static void partial_progress_commits_in_batches(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct job job = { 0 };
    begin(op, &world, "2");
    CHECK_OK(op, firn_pool_open(op, 4, &world.pool));
    for (int32_t part = 0; part < 7; part++)
        append(op, &world, part, 5);
    const char *before = live_ids(op, &world);
    option(&job, "partial-progress.enabled", "true");
    option(&job, "partial-progress.max-commits", "5");
    option(&job, "partial-progress.max-failed-commits", "0");
    CHECK_OK(op, plan_and_apply(op, &world, &job)); /* R11: 7 groups in 4 commits, none of them failed */
    assert_int_equal(job.report.commits, 4);
    assert_int_equal(job.report.failed_commits, 0);
    assert_int_equal(job.report.rewritten_data_files_count, 35);
    assert_string_equal(live_ids(op, &world), before);
    check_settled(op, &world, &job);
    end(&world);
}

static void run_against_a_conflict(struct firn_op *op, const char *failed_max, firn_status expected)
{
    struct world world;
    struct job job = { 0 };
    begin_with(op, &world, NO_RETRIES);
    CHECK_OK(op, firn_pool_open(op, 4, &world.pool));
    for (int32_t part = 0; part < 3; part++)
        append(op, &world, part, 5);
    option(&job, "partial-progress.enabled", "true");
    option(&job, "partial-progress.max-commits", "3");
    option(&job, "partial-progress.max-failed-commits", failed_max);
    CHECK_OK(op, plan(op, &world, &job));
    remove_through_peer(op, &world, &job.plan->files[job.plan->groups[1]->files[0]].scan->entry->file);
    const char *before = live_ids(op, &world);
    CHECK_STATUS(op, expected, apply(op, &world, &job));
    assert_int_equal(job.report.commits, 2);
    assert_int_equal(job.report.failed_commits, 1);
    assert_int_equal(job.report.failed_data_files_count, 0);
    assert_int_equal(job.report.rewritten_data_files_count, 10);
    assert_true(job.report.warning_count > 0);
    assert_string_equal(live_ids(op, &world), before);
    assert_int_equal(count_data_objects(op, &world), 15 + 2);
    end(&world);
}

static void partial_progress_survives_a_conflict(void **state)
{
    run_against_a_conflict(test_op(state), "1", FIRN_PARTIAL);
    run_against_a_conflict(test_op(state), "0", FIRN_CONFLICT);
}

static void spoil(struct firn_op *op, struct world *world, struct firn_text path)
{
    struct firn_buffer bytes = { 0 };
    CHECK_OK(op, firn_store_read(op, world->store, path, UINT64_MAX, &bytes));
    memset(bytes.data + 4, 0xff, bytes.len - 12);
    CHECK_OK(op, firn_store_put(op, world->store, path, false, firn_buffer_bytes(&bytes)));
    firn_buffer_done(&bytes);
}

static void a_broken_input_fails_its_group(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct job at_once = { 0 }, in_batches = { 0 };
    begin(op, &world, "2");
    CHECK_OK(op, firn_pool_open(op, 2, &world.pool));
    append(op, &world, 1, 5);
    append(op, &world, 2, 5);
    size_t metadata_count = count_objects(op, &world, "metadata");
    CHECK_OK(op, plan(op, &world, &at_once));
    struct firn_text broken = at_once.plan->files[at_once.plan->groups[1]->files[3]].scan->entry->file.path;
    spoil(op, &world, broken);
    CHECK_STATUS(op, FIRN_CORRUPT, apply(op, &world, &at_once));
    CHECK(strstr(op->error.text, firn_text_copy(op->arena, broken).data), "%s", op->error.text);
    assert_int_equal(count_data_objects(op, &world), 10);
    assert_int_equal(count_objects(op, &world, "metadata"), metadata_count); /* nor of a drafted commit */
    assert_int_equal(scan_current(op, &world, world.store).file_count, 10);

    option(&in_batches, "partial-progress.enabled", "true");
    CHECK_STATUS(op, FIRN_PARTIAL, plan_and_apply(op, &world, &in_batches));
    assert_int_equal(in_batches.report.failed_data_files_count, 5);
    assert_int_equal(in_batches.report.rewritten_data_files_count, 5);
    assert_int_equal(in_batches.report.failed_commits, 0);
    assert_int_equal(scan_current(op, &world, world.store).file_count, 6);
    end(&world);
}

static void all_groups_failing_is_no_partial_success(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct job job = { 0 };
    begin(op, &world, "2");
    append(op, &world, 1, 5);
    option(&job, "partial-progress.enabled", "true");
    CHECK_OK(op, plan(op, &world, &job));
    spoil(op, &world, job.plan->files[0].scan->entry->file.path);
    CHECK_STATUS(op, FIRN_CORRUPT, apply(op, &world, &job));
    end(&world);
}

static void a_table_without_catalog_is_read_only(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct job job = { 0 };
    begin(op, &world, "2");
    append(op, &world, 1, 5);
    CHECK_OK(op, plan(op, &world, &job));
    struct firn_table read_only = world.table;
    read_only.catalog = NULL;
    CHECK_STATUS(op, FIRN_USAGE, firn_rewrite_data_files_apply(op, NULL, &read_only, job.plan, NULL, &job.report));
    end(&world);
}

static void unknown_branches_are_not_found(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct firn_rewrite_plan *nothing;
    begin(op, &world, "2");
    append(op, &world, 1, 1);
    CHECK_STATUS(op, FIRN_NOT_FOUND,
                 firn_rewrite_data_files_plan(op, NULL, &world.table,
                                              &(struct firn_rewrite_data_files_args){ .branch = FIRN_TEXT("dev") },
                                              &nothing));
    end(&world);
}

static void where_selects_partitions(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct job some = { .where = FIRN_TEXT("part = 2") }, all = { 0 }, wrong = { .where = FIRN_TEXT("nosuch = 2") };
    begin(op, &world, "2");
    append(op, &world, 1, 5);
    append(op, &world, 2, 5);
    const char *before = live_ids(op, &world);
    CHECK_STATUS(op, FIRN_USAGE, plan(op, &world, &wrong));
    CHECK_OK(op, plan_and_apply(op, &world, &some));
    json_t *json = firn_rewrite_plan_json(op, some.plan);
    assert_int_equal(json_integer_value(json_object_get(json, "ruled_out_by_where")), 5);
    assert_int_equal(some.report.rewritten_data_files_count, 5);
    assert_int_equal(scan_current(op, &world, world.store).file_count, 6);
    check_settled(op, &world, &some);
    CHECK_OK(op, plan_and_apply(op, &world, &all));
    assert_int_equal(all.report.rewritten_data_files_count, 5);
    assert_string_equal(live_ids(op, &world), before);
    check_settled(op, &world, &all);
    end(&world);
}

static void make_branch(struct firn_op *op, struct world *world, const char *name)
{
    json_t *update = json_object(), *updates = firn_json_own(op->arena, json_array());
    firn_json_set_text(update, "action", FIRN_TEXT("set-snapshot-ref"));
    firn_json_set_text(update, "ref-name", firn_text_of(name));
    firn_json_set_text(update, "type", FIRN_TEXT("branch"));
    firn_json_set_i64(update, "snapshot-id", world->table.metadata->current_snapshot_id);
    json_array_append_new(updates, update);
    CHECK_OK(op, firn_catalog_commit(op, &world->table, firn_json_own(op->arena, json_array()), updates));
}

static void a_branch_is_rewritten_alone(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct job job = { .branch = FIRN_TEXT("dev") };
    begin(op, &world, "2");
    append(op, &world, 1, 5);
    make_branch(op, &world, "dev");
    int64_t main_id = world.table.metadata->current_snapshot_id;
    CHECK_OK(op, plan_and_apply(op, &world, &job));
    assert_int_equal(job.report.rewritten_data_files_count, 5);
    assert_int_equal(world.table.metadata->current_snapshot_id, main_id);
    assert_int_equal(firn_metadata_ref(world.table.metadata, FIRN_TEXT("dev"))->snapshot_id, job.report.snapshot_id);
    check_settled(op, &world, &job);
    end(&world);
}

/* A run settles a real table, whatever compression makes of its files. */
static void real_runs_settle(void **state)
{
    static const char *const option_sets[][OPTIONS_MAX][2] = {
        { { "target-file-size-bytes", "60000" } },
        { { "target-file-size-bytes", "20000" }, { "min-input-files", "2" } },
        { { "target-file-size-bytes", "30000" },
          { "max-file-size-bytes", "31000" },
          { "min-file-size-bytes", "29000" } },
        { { "target-file-size-bytes", "9000" }, { "min-input-files", "3" }, { "max-file-group-size-bytes", "40000" } },
        { { "target-file-size-bytes", "100000" }, { "max-file-group-input-files", "4" }, { "min-input-files", "2" } },
        { { "target-file-size-bytes", "3000" }, { "max-file-size-bytes", "6000" } },
    };
    struct firn_op *op = test_op(state);
    uint32_t run_count = 0;
    for (size_t i = 0; i < 2 * FIRN_COUNT_OF(option_sets); i++) {
        struct world world;
        struct job job = { 0 };
        begin(op, &world, "2");
        world.is_noisy = i % 2 == 1;
        for (size_t j = 0; j < OPTIONS_MAX && option_sets[i / 2][j][0]; j++)
            option(&job, option_sets[i / 2][j][0], option_sets[i / 2][j][1]);
        struct firn_data_file files[24];
        for (int j = 0; j < 24; j++)
            files[j] = write_file(op, &world, j % 2, 50 + j * j % 11 * 150);
        CHECK_OK(op, append_through(op, &world.table, files, 24));
        const char *before = live_ids(op, &world);
        CHECK_OK(op, plan_and_apply(op, &world, &job));
        run_count += job.report.commits > 0;
        assert_string_equal(live_ids(op, &world), before);
        check_settled(op, &world, &job);
        end(&world);
    }
    CHECK(run_count >= 8, "%u of the runs did something", run_count);
}

/* Each storage call fails once, in turn, until a run meets no fault. After every failure the table is the old one or
 * the new one, every live file is there, the rows are the same, and nothing is left over: invariants (1) to (3). */
static void run_with_fault(struct firn_op *op, struct world *world, struct fault fault, struct fault_report *report,
                           const char *ids)
{
    struct firn_store *faulty;
    struct world broken = { .next_id = 1, .pool = world->pool };
    struct job job = { 0 };
    CHECK_OK(op, fault_store_open(op, world->store, fault, report, &faulty));
    open_catalog(op, &broken, faulty);
    firn_status status = firn_catalog_load(op, broken.catalog, FIRN_TEXT("db.t"), &broken.table);
    if (status == FIRN_OK)
        status = plan_and_apply(op, &broken, &job);
    CHECK(status == FIRN_OK || atomic_load(&report->fired), "call %u: %s", fault.at_call, op->error.text);
    firn_catalog_close(broken.catalog);
    firn_store_close(faulty);
    const char *after = live_ids(op, world);
    CHECK(strcmp(after, ids) == 0, "call %u, %s: rows are %s", fault.at_call, fault_name(fault.kind), after);
    uint32_t file_count = scan_current(op, world, world->store).file_count;
    CHECK(file_count == 5 || file_count == 1, "call %u, %s: %u files", fault.at_call, fault_name(fault.kind),
          file_count);
    CHECK(status != FIRN_OK || file_count == 1, "call %u, %s: not compacted", fault.at_call, fault_name(fault.kind));
    size_t object_count = count_data_objects(op, world);
    CHECK(status == FIRN_UNKNOWN || object_count == (file_count == 1 ? 6 : 5), "call %u, %s: %zu data objects",
          fault.at_call, fault_name(fault.kind), object_count);
}

static bool fault_fires(struct firn_op *op, struct fault fault, uint32_t thread_count)
{
    struct world world;
    struct fault_report report = { 0 };
    begin(op, &world, "2");
    CHECK_OK(op, firn_pool_open(op, thread_count, &world.pool));
    append(op, &world, 1, 5);
    run_with_fault(op, &world, fault, &report, live_ids(op, &world));
    end(&world);
    return atomic_load(&report.fired);
}

/* With two threads, the commit is drafted meanwhile. */
static void faults_leave_the_old_or_the_new_table(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        enum fault_kind kind;
        uint32_t thread_count;
    } cases[] = { { FAULT_ERROR, 1 }, { FAULT_ERROR, 2 }, { FAULT_ANSWER_LOST, 1 } };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        bool fired = true;
        for (uint32_t nth = 0; fired; nth++) {
            struct firn_arena arena;
            struct firn_op turn = *op;
            firn_arena_init(&arena);
            turn.arena = &arena;
            fired = fault_fires(&turn, (struct fault){ nth, cases[i].kind }, cases[i].thread_count);
            firn_arena_done(&arena);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(small_files_become_few),
        TEST(format_version_1_is_compacted),
        TEST(format_version_3_is_compacted),
        TEST(an_empty_table_stays_as_it_is),
        TEST(a_concurrent_append_is_kept),
        TEST(a_removed_input_is_a_conflict),
        TEST(partial_progress_commits_in_batches),
        TEST(partial_progress_survives_a_conflict),
        TEST(a_broken_input_fails_its_group),
        TEST(all_groups_failing_is_no_partial_success),
        TEST(a_table_without_catalog_is_read_only),
        TEST(unknown_branches_are_not_found),
        TEST(where_selects_partitions),
        TEST(a_branch_is_rewritten_alone),
        TEST(real_runs_settle),
        TEST(faults_leave_the_old_or_the_new_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
