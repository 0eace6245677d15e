/* convert_equality_deletes on small real tables: rows stay, equality deletes leave when nothing needs them any more. */
#include "maintain/scene.h"

#include "firn/convert_equality_deletes.h"
#include "maintain/convert_equality_deletes.h"

struct convert_job {
    struct firn_property options[OPTIONS_MAX];
    size_t option_count;
    const char *where;
    struct firn_convert_plan *plan;
    struct firn_convert_equality_deletes_report report;
};

static void set(struct convert_job *job, const char *key, const char *value)
{
    job->options[job->option_count++] = (struct firn_property){ firn_text_of(key), firn_text_of(value) };
}

static firn_status plan_conversion(struct firn_op *op, struct scene *scene, struct convert_job *job)
{
    struct firn_convert_equality_deletes_args args = {
        .where = firn_text_of(job->where ? job->where : ""),
        .options = job->options,
        .option_count = job->option_count,
    };
    FIRN_TRY(firn_table_refresh(op, &scene->world.table));
    return firn_convert_equality_deletes_plan(op, scene->world.pool, &scene->world.table, &args, &job->plan);
}

static firn_status apply_conversion(struct firn_op *op, struct scene *scene, struct convert_job *job)
{
    return firn_convert_equality_deletes_apply(op, scene->world.pool, &scene->world.table, job->plan, NULL,
                                               &job->report);
}

static void convert(struct firn_op *op, struct scene *scene, struct convert_job *job)
{
    CHECK_OK(op, plan_conversion(op, scene, job));
    CHECK_OK(op, apply_conversion(op, scene, job));
    check_rows(op, scene, "after the run");
}

static void check_counts(const struct convert_job *job, int64_t converted, int64_t added, int64_t rows)
{
    assert_int_equal(job->report.converted_equality_delete_files_count, converted);
    assert_int_equal(job->report.added_delete_files_count, added);
    assert_int_equal(job->report.deleted_rows_count, rows);
}

/* Live equality deletes, and other delete files. */
static void check_live_deletes(struct firn_op *op, struct scene *scene, uint32_t equality, uint32_t others)
{
    struct firn_scan scan = scan_current(op, &scene->world, scene->world.store);
    uint32_t count = 0;
    for (uint32_t i = 0; i < scan.delete_count; i++)
        count += scan.deletes[i]->file.content == FIRN_CONTENT_EQUALITY_DELETES;
    assert_int_equal(count, equality);
    assert_int_equal(scan.delete_count - count, others);
}

#define DELETE_KEYS(op, scene, part, ...)                                                                              \
    delete_by_equality(op, scene, part, (const int64_t[]){ __VA_ARGS__ },                                              \
                       (int)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)), false)

/* Gives the table a second spec, without fields: equality deletes of it reach every partition. */
static void add_unpartitioned_spec(struct firn_op *op, struct scene *scene)
{
    json_t *updates, *requirements = firn_json_own(op->arena, json_array());
    CHECK_OK(op,
             firn_json_parse(op, FIRN_TEXT("[{\"action\": \"add-spec\", \"spec\": {\"spec-id\": 1, \"fields\": []}}]"),
                             "updates", &updates));
    CHECK_OK(op, firn_table_refresh(op, &scene->world.table));
    CHECK_OK(op, firn_catalog_commit(op, &scene->world.table, requirements, updates));
}

static void delete_everywhere(struct firn_op *op, struct scene *scene, const int64_t *ids, int count)
{
    struct delete_parts nothing = { 0 };
    struct firn_data_file file = equality_delete(op, scene, 0, ids, count);
    file.spec_id = 1;
    file.partition.count = 0;
    forget(scene, ids, count);
    CHECK_OK(op, commit_deletes(op, &scene->world.table, &file, 1, &nothing));
}

/* Two partitions of three files, keys of both, rows that are deleted by position already, and a newer file. */
static void begin_keys(struct firn_op *op, struct scene *scene, int version, const char *properties)
{
    scene_begin(op, scene, version, properties);
    add_files(op, scene, 1, 3); /* ids 1 to 30 */
    add_files(op, scene, 2, 3); /* 31 to 60 */
    DELETE_IDS(op, scene, FIRN_DELETES_BY_FILE, 3, 34);
    DELETE_KEYS(op, scene, 1, 3, 4, 15, 999);
    DELETE_KEYS(op, scene, 2, 35, 60);
    DELETE_KEYS(op, scene, 1, 16);
    add_rows(op, scene, 1, 10); /* 61 to 70, out of reach */
}

static void keys_become_positions(void **state)
{
    struct firn_op *op = test_op(state);
    for (int version = 2; version <= 3; version++) {
        struct scene scene;
        struct convert_job job = { 0 }, again = { 0 };
        begin_keys(op, &scene, version, NULL);
        convert(op, &scene, &job);
        check_counts(&job, 3, 4, 5); /* 4, 15 and 16, 35, 60 */
        assert_int_equal(job.report.data_files_count, 6);
        assert_int_equal(job.report.commits, 1);
        assert_int_equal(job.report.replaced_vectors_count, version == 3 ? 2 : 0);
        check_live_deletes(op, &scene, 0, version == 3 ? 4 : 6);
        assert_string_equal(summary(&scene.world, "operation"), "overwrite");
        assert_string_equal(summary(&scene.world, "removed-equality-delete-files"), "3");
        assert_string_equal(summary(&scene.world, "total-equality-deletes"), "0");
        convert(op, &scene, &again);
        assert_int_equal(again.plan->group_count, 0);
        assert_int_equal(again.report.commits, 0);
        scene_end(op, &scene);
    }
}

static void partition_granularity_is_kept(void **state)
{
    struct firn_op *op = test_op(state);
    struct scene scene;
    struct convert_job job = { 0 };
    begin_keys(op, &scene, 2, "\"write.delete.granularity\": \"partition\"");
    convert(op, &scene, &job);
    check_counts(&job, 3, 2, 5);
    scene_end(op, &scene);
}

/* What is written has the number of the newest delete in it: no newer file is in its reach. */
static void outputs_keep_their_age(void **state)
{
    struct firn_op *op = test_op(state);
    struct scene scene;
    struct convert_job job = { 0 };
    begin_keys(op, &scene, 3, NULL); /* six appends, vectors of 7, keys of 8 to 10 */
    DELETE_IDS(op, &scene, FIRN_DELETES_BY_FILE, 5);
    int64_t newest = scene.world.table.metadata->last_sequence_number + 1;
    convert(op, &scene, &job);
    struct firn_scan scan = scan_current(op, &scene.world, scene.world.store);
    for (uint32_t i = 0; i < scan.delete_count; i++) {
        assert_true(scan.deletes[i]->sequence_number == newest); /* the vector with id 5 is among what was said */
        assert_true(scan.deletes[i]->file_sequence_number == newest + 1);
    }
    scene_end(op, &scene);
}

static void groups_are_committed_one_by_one(void **state)
{
    struct firn_op *op = test_op(state);
    for (int version = 2; version <= 3; version++) {
        struct scene scene;
        struct convert_job job = { 0 };
        begin_keys(op, &scene, version, NULL);
        set(&job, "max-file-group-input-files", "1");
        set(&job, "partial-progress.enabled", "true");
        set(&job, "partial-progress.max-commits", "100");
        convert(op, &scene, &job);
        check_counts(&job, 3, 4, 5);
        assert_int_equal(job.plan->group_count, 6);
        check_live_deletes(op, &scene, 0, version == 3 ? 4 : 6);
        scene_end(op, &scene);
    }
}

static void one_partition_is_converted(void **state)
{
    struct firn_op *op = test_op(state);
    struct scene scene;
    struct convert_job job = { .where = "part = 2" };
    begin_keys(op, &scene, 2, NULL);
    convert(op, &scene, &job);
    check_counts(&job, 1, 2, 2);
    assert_int_equal(job.report.kept_equality_delete_files_count, 2);
    check_live_deletes(op, &scene, 2, 4);
    scene_end(op, &scene);
}

/* An equality delete of the whole table stays while it reaches files that are not converted; what it deletes of the
 * others is not said twice. */
static void a_delete_stays_while_it_reaches_others(void **state)
{
    struct firn_op *op = test_op(state);
    for (int version = 2; version <= 3; version++) {
        struct scene scene;
        struct convert_job first = { .where = "part = 1" }, rest = { 0 };
        begin_keys(op, &scene, version, NULL);
        add_unpartitioned_spec(op, &scene);
        delete_everywhere(op, &scene, (const int64_t[]){ 1, 31 }, 2);
        convert(op, &scene, &first);
        check_counts(&first, 2, 2, 4);
        check_live_deletes(op, &scene, 2, version == 3 ? 3 : 4);
        convert(op, &scene, &first);
        check_counts(&first, 0, 0, 0);
        assert_int_equal(first.report.commits, 0);
        convert(op, &scene, &rest);
        check_counts(&rest, 2, 2, 3);
        check_live_deletes(op, &scene, 0, version == 3 ? 4 : 6);
        scene_end(op, &scene);
    }
}

static void deletes_that_reach_nothing_leave(void **state)
{
    struct firn_op *op = test_op(state);
    struct scene scene;
    struct convert_job job = { 0 }, filtered = { .where = "part = 1" };
    scene_begin(op, &scene, 2, NULL);
    DELETE_KEYS(op, &scene, 1, 3);
    add_files(op, &scene, 1, 1);
    convert(op, &scene, &filtered);
    check_counts(&filtered, 0, 0, 0);
    convert(op, &scene, &job);
    check_counts(&job, 1, 0, 0);
    check_live_deletes(op, &scene, 0, 0);
    scene_end(op, &scene);
}

static void what_comes_meanwhile_is_untouched(void **state)
{
    struct firn_op *op = test_op(state);
    for (int version = 2; version <= 3; version++) {
        struct scene scene;
        struct convert_job job = { 0 };
        begin_keys(op, &scene, version, NULL);
        CHECK_OK(op, plan_conversion(op, &scene, &job));
        add_rows(op, &scene, 1, 10);
        DELETE_KEYS(op, &scene, 1, 1, 61);
        CHECK_OK(op, apply_conversion(op, &scene, &job));
        check_rows(op, &scene, "after the run");
        check_counts(&job, 3, 4, 5);
        check_live_deletes(op, &scene, 1, version == 3 ? 4 : 6);
        scene_end(op, &scene);
    }
}

/* Position deletes of someone else stand beside new ones on version 2; a vector of someone else is a conflict. */
static void positions_given_meanwhile(void **state)
{
    struct firn_op *op = test_op(state);
    for (int version = 2; version <= 3; version++) {
        struct scene scene;
        struct convert_job job = { 0 };
        begin_keys(op, &scene, version, NULL);
        CHECK_OK(op, plan_conversion(op, &scene, &job));
        DELETE_IDS(op, &scene, FIRN_DELETES_BY_FILE, 17);
        size_t objects = count_data_objects(op, &scene.world);
        CHECK_STATUS(op, version == 3 ? FIRN_CONFLICT : FIRN_OK, apply_conversion(op, &scene, &job));
        check_rows(op, &scene, "after the run");
        if (version == 3)
            assert_int_equal(count_data_objects(op, &scene.world), objects);
        scene_end(op, &scene);
    }
}

/* A compaction planned before an equality delete, and committed while it is converted: its outputs need the delete. */
static void a_compaction_before_the_delete(void **state)
{
    struct firn_op *op = test_op(state);
    for (int converts_first = 0; converts_first < 2; converts_first++)
        for (int version = 2; version <= 3; version++) {
            struct scene scene;
            struct convert_job job = { 0 };
            struct job compaction = { 0 };
            scene_begin(op, &scene, version, NULL);
            add_files(op, &scene, 1, 6);
            CHECK_OK(op, firn_table_refresh(op, &scene.world.table));
            CHECK_OK(op, plan(op, &scene.world, &compaction));
            DELETE_KEYS(op, &scene, 1, 3, 44);
            CHECK_OK(op, plan_conversion(op, &scene, &job));
            if (converts_first)
                CHECK_OK(op, apply_conversion(op, &scene, &job));
            CHECK_OK(op, apply(op, &scene.world, &compaction));
            check_rows(op, &scene, "after the compaction");
            if (!converts_first)
                CHECK_STATUS(op, version == 3 ? FIRN_CONFLICT : FIRN_OK, apply_conversion(op, &scene, &job));
            check_rows(op, &scene, "in the end");
            check_live_deletes(op, &scene, converts_first ? 0 : 1,
                               scan_current(op, &scene.world, scene.world.store).delete_count - !converts_first);
            scene_end(op, &scene);
        }
}

/* Each storage call fails once, in turn: rows are the same after every failure. */
static void failures_change_no_row(void **state)
{
    struct firn_op *op = test_op(state);
    bool faulted = true;
    for (uint32_t nth = 0; faulted && nth < 400; nth += 7) {
        struct scene scene;
        struct convert_job job = { 0 };
        struct fault_report report = { 0 };
        struct fault fault = { nth, FAULT_ERROR };
        begin_keys(op, &scene, 2 + nth % 2, NULL);
        CHECK_OK(op, plan_conversion(op, &scene, &job));
        struct firn_store *inner = scene.world.store, *faulty;
        size_t objects = count_data_objects(op, &scene.world);
        CHECK_OK(op, fault_store_open(op, inner, fault, &report, &faulty));
        scene.world.table.store = faulty;
        firn_status status = apply_conversion(op, &scene, &job);
        faulted = atomic_load(&report.fired);
        scene.world.table.store = inner;
        check_rows(op, &scene, "after a failure");
        CHECK(faulted || status == FIRN_OK, "call %u: %s", nth, op->error.text);
        if (status != FIRN_OK && status != FIRN_UNKNOWN)
            CHECK(count_data_objects(op, &scene.world) <= objects + 1, "call %u", nth); /* a removal may fail, too */
        firn_store_close(faulty);
        scene_end(op, &scene);
    }
    assert_false(faulted);
}

static void options_are_checked(void **state)
{
    struct firn_op *op = test_op(state);
    struct scene scene;
    struct convert_job job = { 0 }, empty = { 0 };
    scene_begin(op, &scene, 2, NULL);
    set(&job, "min-input-files", "5");
    set(&job, "rewrite-all", "true");
    CHECK_STATUS(op, FIRN_USAGE, plan_conversion(op, &scene, &job));
    CHECK(strstr(op->error.text, "min-input-files, rewrite-all"), "%s", op->error.text);
    convert(op, &scene, &empty);
    check_counts(&empty, 0, 0, 0);
    json_t *json = firn_convert_plan_json(op, empty.plan);
    assert_int_equal(json_array_size(json_object_get(json, "groups")), 0);
    scene_end(op, &scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(keys_become_positions),
        TEST(partition_granularity_is_kept),
        TEST(outputs_keep_their_age),
        TEST(groups_are_committed_one_by_one),
        TEST(one_partition_is_converted),
        TEST(a_delete_stays_while_it_reaches_others),
        TEST(deletes_that_reach_nothing_leave),
        TEST(what_comes_meanwhile_is_untouched),
        TEST(positions_given_meanwhile),
        TEST(a_compaction_before_the_delete),
        TEST(failures_change_no_row),
        TEST(options_are_checked),
    };
    return cmocka_run_group_tests_name("convert_equality_deletes", tests, NULL, NULL);
}
