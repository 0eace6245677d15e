/* rewrite_position_delete_files on small real tables: what comes out, what stays, what others may do meanwhile.
 * Names like R16 are situations of the field reports. */
#include "maintain/scene.h"

#include "firn/rewrite_position_delete_files.h"
#include "maintain/rewrite_position_delete_files.h"

struct position_job {
    struct firn_property options[OPTIONS_MAX];
    size_t option_count;
    const char *where;
    struct firn_position_rewrite_plan *plan;
    struct firn_rewrite_position_delete_files_report report;
};

static void set(struct position_job *job, const char *key, const char *value)
{
    job->options[job->option_count++] = (struct firn_property){ firn_text_of(key), firn_text_of(value) };
}

static firn_status plan_positions(struct firn_op *op, struct scene *scene, struct position_job *job)
{
    struct firn_rewrite_position_delete_files_args args = {
        .where = firn_text_of(job->where ? job->where : ""),
        .options = job->options,
        .option_count = job->option_count,
    };
    FIRN_TRY(firn_table_refresh(op, &scene->world.table));
    return firn_rewrite_position_delete_files_plan(op, scene->world.pool, &scene->world.table, &args, &job->plan);
}

static firn_status apply_positions(struct firn_op *op, struct scene *scene, struct position_job *job)
{
    return firn_rewrite_position_delete_files_apply(op, scene->world.pool, &scene->world.table, job->plan, NULL,
                                                    &job->report);
}

static void run_positions(struct firn_op *op, struct scene *scene, struct position_job *job)
{
    CHECK_OK(op, plan_positions(op, scene, job));
    CHECK_OK(op, apply_positions(op, scene, job));
    check_rows(op, scene, "after the run");
}

/* A second run with the same options finds nothing to do. */
static void check_ends(struct firn_op *op, struct scene *scene, const struct position_job *job)
{
    struct position_job again = *job;
    run_positions(op, scene, &again);
    assert_int_equal(again.plan->group_count, 0);
    assert_int_equal(again.report.commits, 0);
}

static void check_counts(const struct position_job *job, int64_t rewritten, int64_t added)
{
    assert_int_equal(job->report.rewritten_delete_files_count, rewritten);
    assert_int_equal(job->report.added_delete_files_count, added);
    assert_int_equal(job->report.rewritten_bytes_count > 0, rewritten > 0);
    assert_int_equal(job->report.added_bytes_count > 0, added > 0);
}

/* The table of R16: four data files of ten rows in one partition, ten delete files of three rows all over them. */
static void begin_r16(struct firn_op *op, struct scene *scene, const char *properties)
{
    scene_begin(op, scene, 2, properties);
    add_files(op, scene, 1, 4);
    for (int64_t i = 0; i < 10; i++)
        DELETE_IDS(op, scene, FIRN_DELETES_BY_PARTITION, 1 + i, 11 + i, 21 + (i + 5) % 20);
}

static void small_files_become_one_a_partition(void **state)
{
    struct firn_op *op = test_op(state);
    struct scene scene;
    struct position_job job = { 0 };
    begin_r16(op, &scene, "\"write.delete.granularity\": \"partition\"");
    run_positions(op, &scene, &job);
    check_counts(&job, 10, 1);
    struct firn_scan scan = scan_current(op, &scene.world, scene.world.store);
    assert_int_equal(scan.delete_count, 1);
    assert_int_equal(scan.deletes[0]->file.sort_order_id, FIRN_ABSENT);
    assert_int_equal(scan.deletes[0]->file.record_count, 30);
    assert_int_equal(scan.deletes[0]->sequence_number, 14); /* of the newest input, not of the commit */
    assert_int_equal(scan.deletes[0]->file_sequence_number, 15);
    assert_string_equal(summary(&scene.world, "operation"), "replace");
    check_ends(op, &scene, &job);
    scene_end(op, &scene);
}

static void small_files_become_one_a_data_file(void **state)
{
    struct firn_op *op = test_op(state);
    struct scene scene;
    struct position_job job = { 0 };
    begin_r16(op, &scene, NULL);
    run_positions(op, &scene, &job);
    check_counts(&job, 10, 4);
    struct firn_scan scan = scan_current(op, &scene.world, scene.world.store);
    assert_int_equal(scan.delete_count, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_true(scan.deletes[i]->file.referenced_data_file.len > 0);
    check_ends(op, &scene, &job);
    set(&job, "min-input-files", "1");
    check_ends(op, &scene, &job);
    scene_end(op, &scene);
}

/* R17: deletes of data files that have left are dropped, whatever else they stand beside. */
static void what_is_said_of_gone_files_is_dropped(void **state)
{
    struct firn_op *op = test_op(state);
    for (int rewrite_all = 0; rewrite_all < 2; rewrite_all++) {
        struct scene scene;
        struct position_job job = { 0 };
        scene_begin(op, &scene, 2, NULL);
        add_files(op, &scene, 1, 2); /* ids 1 to 20 */
        add_files(op, &scene, 2, 1); /* 21 to 30 */
        struct firn_data_file gone = scan_current(op, &scene.world, scene.world.store).files[2].entry->file;
        for (int64_t i = 0; i < 5; i++)
            DELETE_IDS(op, &scene, FIRN_DELETES_BY_PARTITION, 1 + i, 11 + i);
        DELETE_IDS(op, &scene, FIRN_DELETES_BY_FILE, 22);
        int64_t first = strstr(gone.path.data, "in-0") ? 1 : 11;
        int64_t lost[10];
        for (int64_t i = 0; i < 10; i++)
            lost[i] = first + i;
        remove_through_peer(op, &scene.world, &gone);
        forget(&scene, lost, 10);
        if (rewrite_all)
            set(&job, "rewrite-all", "true");
        run_positions(op, &scene, &job);
        check_counts(&job, rewrite_all ? 6 : 5, rewrite_all ? 2 : 1);
        assert_int_equal(job.report.rewritten_rows, rewrite_all ? 11 : 10);
        assert_int_equal(job.report.added_rows, rewrite_all ? 6 : 5);
        scene_end(op, &scene);
    }
}

static void a_predicate_chooses_partitions(void **state)
{
    struct firn_op *op = test_op(state);
    struct scene scene;
    struct position_job job = { .where = "part = 2 and id < 0" };
    scene_begin(op, &scene, 2, NULL);
    add_files(op, &scene, 1, 1);
    add_files(op, &scene, 2, 1);
    for (int64_t i = 1; i <= 5; i++)
        DELETE_IDS(op, &scene, FIRN_DELETES_BY_PARTITION, i, 10 + i);
    run_positions(op, &scene, &job);
    check_counts(&job, 5, 1);
    job = (struct position_job){ .where = "part = 3" };
    run_positions(op, &scene, &job);
    check_counts(&job, 0, 0);
    scene_end(op, &scene);
}

/* Files of an upgraded table become vectors, and vectors among the chosen come along. */
static void files_become_vectors(void **state)
{
    struct firn_op *op = test_op(state);
    struct scene scene;
    struct position_job job = { 0 };
    json_t *updates, *requirements = firn_json_own(op->arena, json_array());
    begin_r16(op, &scene, NULL);
    CHECK_OK(op, firn_json_parse(op, FIRN_TEXT("[{\"action\": \"upgrade-format-version\", \"format-version\": 3}]"),
                                 "updates", &updates));
    CHECK_OK(op, firn_table_refresh(op, &scene.world.table));
    CHECK_OK(op, firn_catalog_commit(op, &scene.world.table, requirements, updates));
    add_rows(op, &scene, 1, 10);
    DELETE_IDS(op, &scene, FIRN_DELETES_BY_FILE, 42, 43);
    run_positions(op, &scene, &job);
    check_counts(&job, 11, 5);
    struct firn_scan scan = scan_current(op, &scene.world, scene.world.store);
    assert_int_equal(scan.delete_count, 5);
    for (uint32_t i = 0; i < 5; i++) {
        assert_true(firn_data_file_is_deletion_vector(&scan.deletes[i]->file));
        assert_true(firn_text_same(scan.deletes[i]->file.path, scan.deletes[0]->file.path));
    }
    check_ends(op, &scene, &job);
    set(&job, "rewrite-all", "true");
    check_ends(op, &scene, &job);
    scene_end(op, &scene);
}

/* A vector hides every other position delete of its data file, so it says those that were not chosen, too. */
static void a_vector_says_what_was_not_chosen(void **state)
{
    struct firn_op *op = test_op(state);
    struct scene scene;
    struct position_job job = { 0 };
    json_t *updates, *requirements = firn_json_own(op->arena, json_array());
    begin_r16(op, &scene, NULL);
    int64_t many[900];
    add_rows(op, &scene, 1, 2000);
    for (int64_t i = 0; i < 900; i++)
        many[i] = 41 + 2 * i;
    many[0] = 2;
    delete_ids(op, &scene, many, 900, FIRN_DELETES_BY_PARTITION);
    struct firn_scan scan = scan_current(op, &scene.world, scene.world.store);
    int64_t large = 0;
    for (uint32_t i = 0; i < scan.delete_count; i++)
        large = FIRN_MAX(large, scan.deletes[i]->file.file_bytes);
    CHECK_OK(op, firn_json_parse(op, FIRN_TEXT("[{\"action\": \"upgrade-format-version\", \"format-version\": 3}]"),
                                 "updates", &updates));
    CHECK_OK(op, firn_catalog_commit(op, &scene.world.table, requirements, updates));
    set(&job, "target-file-size-bytes", firn_text_format(op->arena, "%" PRId64, large + 1).data);
    set(&job, "min-file-size-bytes", firn_text_format(op->arena, "%" PRId64, large).data);
    run_positions(op, &scene, &job);
    check_counts(&job, 10, 5);
    scan = scan_current(op, &scene.world, scene.world.store);
    assert_int_equal(scan.delete_count, 6); /* the large file stays, of no use */
    scene_end(op, &scene);
}

/* Deletes that come meanwhile stay beside the outputs, which reach no newer file. */
static void deletes_that_come_meanwhile_stay(void **state)
{
    struct firn_op *op = test_op(state);
    struct scene scene;
    struct position_job job = { 0 };
    begin_r16(op, &scene, NULL);
    CHECK_OK(op, plan_positions(op, &scene, &job));
    DELETE_IDS(op, &scene, FIRN_DELETES_BY_PARTITION, 10, 20);
    add_rows(op, &scene, 1, 10);
    CHECK_OK(op, apply_positions(op, &scene, &job));
    check_rows(op, &scene, "after the run");
    assert_int_equal(scan_current(op, &scene.world, scene.world.store).delete_count, 5);
    scene_end(op, &scene);
}

/* A vector given meanwhile holds more than the one that was planned: both at once would break the table. */
static void a_vector_given_meanwhile_is_a_conflict(void **state)
{
    struct firn_op *op = test_op(state);
    struct scene scene;
    struct position_job job = { 0 };
    json_t *updates, *requirements = firn_json_own(op->arena, json_array());
    begin_r16(op, &scene, NULL);
    CHECK_OK(op, firn_json_parse(op, FIRN_TEXT("[{\"action\": \"upgrade-format-version\", \"format-version\": 3}]"),
                                 "updates", &updates));
    CHECK_OK(op, firn_table_refresh(op, &scene.world.table));
    CHECK_OK(op, firn_catalog_commit(op, &scene.world.table, requirements, updates));
    CHECK_OK(op, plan_positions(op, &scene, &job));
    size_t objects = count_data_objects(op, &scene.world);
    DELETE_IDS(op, &scene, FIRN_DELETES_BY_FILE, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
    CHECK_STATUS(op, FIRN_CONFLICT, apply_positions(op, &scene, &job));
    check_rows(op, &scene, "after the conflict");
    assert_int_equal(count_data_objects(op, &scene.world), objects + 1); /* theirs */
    scene_end(op, &scene);
}

static void an_input_that_left_is_a_conflict(void **state)
{
    struct firn_op *op = test_op(state);
    for (int partial = 0; partial < 2; partial++) {
        struct scene scene;
        struct position_job job = { 0 }, other = { 0 };
        scene_begin(op, &scene, 2, NULL);
        add_files(op, &scene, 1, 1);
        add_files(op, &scene, 2, 1);
        for (int64_t i = 1; i <= 5; i++)
            DELETE_IDS(op, &scene, FIRN_DELETES_BY_PARTITION, i, 10 + i);
        if (partial)
            set(&job, "partial-progress.enabled", "true");
        CHECK_OK(op, plan_positions(op, &scene, &job));
        other.where = "part = 1";
        run_positions(op, &scene, &other);
        CHECK_STATUS(op, partial ? FIRN_PARTIAL : FIRN_CONFLICT, apply_positions(op, &scene, &job));
        check_rows(op, &scene, "after the conflict");
        assert_int_equal(job.report.commits, partial);
        check_counts(&job, partial ? 5 : 0, partial ? 1 : 0);
        assert_int_equal(job.report.warning_count, partial);
        scene_end(op, &scene);
    }
}

/* Rows beside their positions would be lost. */
static void files_with_rows_are_left_alone(void **state)
{
    static const char with_rows[] =
        "{\"type\": \"struct\", \"schema-id\": 0, \"fields\": ["
        "{\"id\": 2147483546, \"name\": \"file_path\", \"required\": true, \"type\": \"string\"},"
        "{\"id\": 2147483545, \"name\": \"pos\", \"required\": true, \"type\": \"long\"},"
        "{\"id\": 2147483544, \"name\": \"row\", \"required\": false, \"type\": {\"type\": \"struct\", \"fields\": ["
        "{\"id\": 1, \"name\": \"id\", \"required\": false, \"type\": \"long\"}]}}]}";
    struct firn_op *op = test_op(state);
    struct scene scene;
    struct position_job job = { 0 };
    struct delete_parts nothing = { 0 };
    begin_r16(op, &scene, NULL);
    struct firn_scan scan = scan_current(op, &scene.world, scene.world.store);
    struct firn_output_schema schema = fixture_schema(op, with_rows);
    const char *deleted = firn_text_format(op->arena, "%.*s", FIRN_FMT(scan.files[0].entry->file.path)).data;
    const char *columns[] = { deleted, "9", "7" };
    const char *path =
        firn_text_format(op->arena, "%.*s/data/rows.parquet", FIRN_FMT(scene.world.table.metadata->location)).data;
    struct firn_data_file file = fixture_file(
        path, fixture_write(op, scene.world.store, path, schema.footer, columns, 1, firn_chunk_options_default()), 1);
    file.content = FIRN_CONTENT_POSITION_DELETES;
    file.partition = scan.files[0].entry->file.partition;
    CHECK_OK(op, commit_deletes(op, &scene.world.table, &file, 1, &nothing));
    const char *live = live_ids(op, &scene.world);
    CHECK_OK(op, plan_positions(op, &scene, &job));
    CHECK_OK(op, apply_positions(op, &scene, &job));
    assert_string_equal(live_ids(op, &scene.world), live);
    check_counts(&job, 10, 4);
    assert_int_equal(job.report.left_alone_files_count, 1);
    assert_int_equal(job.report.warning_count, 1);
    json_t *json = firn_position_rewrite_plan_json(op, job.plan);
    CHECK(strstr(firn_json_text(op->arena, json, 0).data, "holds the deleted rows"), "no reason");
    scene_end(op, &scene);
}

static void options_are_checked(void **state)
{
    static const struct {
        const char *key, *value, *error;
    } cases[] = {
        { "max-files-to-rewrite", "5", "max-files-to-rewrite" },
        { "partial-progress.max-failed-commits", "5", "partial-progress.max-failed-commits" },
        { "output-spec-id", "0", "output-spec-id" },
        { "delete-file-threshold", "1", "delete-file-threshold" },
        { "use-starting-sequence-number", "true", "use-starting-sequence-number" },
        { "target-file-size-bytes", "0", "at least 1" },
        { "target-file-size-bytes", "50331648x", "not a whole number" },
        { "min-file-size-bytes", "67108864", "not below target-file-size-bytes" },
        { "max-file-size-bytes", "67108864", "not above target-file-size-bytes" },
        { "rewrite-job-order", "random", "not one of none, bytes-asc" },
        { "max-concurrent-file-group-rewrites", "0", "at least 1" },
    };
    struct firn_op *op = test_op(state);
    struct scene scene;
    scene_begin(op, &scene, 2, NULL);
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct position_job job = { 0 };
        set(&job, cases[i].key, cases[i].value);
        CHECK_STATUS(op, FIRN_USAGE, plan_positions(op, &scene, &job));
        CHECK(strstr(op->error.text, cases[i].error), "%s: %s", cases[i].key, op->error.text);
    }
    struct position_job job = { 0 };
    run_positions(op, &scene, &job);
    check_counts(&job, 0, 0);
    assert_int_equal(job.plan->options.sizes.target_bytes, 67108864);
    assert_int_equal(job.plan->options.sizes.bytes_min, 50331648);
    assert_int_equal(job.plan->options.sizes.bytes_max, 120795955);
    assert_int_equal(firn_output_write_max(&job.plan->options.sizes), 93952409);
    scene_end(op, &scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(small_files_become_one_a_partition),
        TEST(small_files_become_one_a_data_file),
        TEST(what_is_said_of_gone_files_is_dropped),
        TEST(a_predicate_chooses_partitions),
        TEST(files_become_vectors),
        TEST(a_vector_says_what_was_not_chosen),
        TEST(deletes_that_come_meanwhile_stay),
        TEST(a_vector_given_meanwhile_is_a_conflict),
        TEST(an_input_that_left_is_a_conflict),
        TEST(files_with_rows_are_left_alone),
        TEST(options_are_checked),
    };
    return cmocka_run_group_tests_name("rewrite_position_delete_files", tests, NULL, NULL);
}
