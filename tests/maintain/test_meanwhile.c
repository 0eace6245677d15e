/* What others commit while rewrite_data_files runs: deletes of every kind against the files being rewritten stay in
 * force, by being carried over, by a pinned number, or by planning anew. Names like R1 are situations of the field
 * reports. */
#include "maintain/scene.h"

static void plan_scene(struct firn_op *op, struct scene *scene, struct job *job)
{
    CHECK_OK(op, firn_table_refresh(op, &scene->world.table));
    CHECK_OK(op, plan(op, &scene->world, job));
    assert_true(firn_rewrite_plan_group_count(job->plan) > 0);
}

/* Applies, and what was carried over is as many files and rows as wanted. */
static void check_carried(struct firn_op *op, struct scene *scene, struct job *job, int64_t files, int64_t rows)
{
    CHECK_OK(op, apply(op, &scene->world, job));
    check_rows(op, scene, "after the run");
    assert_int_equal(job->report.carried_delete_files_count, files);
    assert_int_equal(job->report.carried_rows_count, rows);
    assert_int_equal(job->report.replanned_groups_count, 0);
    assert_true(job->report.commits > 0);
    assert_int_equal(job->report.failed_commits, 0);
}

static uint32_t count_deletes(struct firn_op *op, struct scene *scene)
{
    return scan_current(op, &scene->world, scene->world.store).delete_count;
}

static void deletes_of_single_files_are_carried(void **state)
{
    struct firn_op *op = test_op(state);
    for (int version = 2; version <= 3; version++) {
        struct scene scene;
        struct job job = { .verify_full = true };
        scene_begin(op, &scene, version, NULL);
        add_files(op, &scene, 1, 6);
        plan_scene(op, &scene, &job);
        DELETE_IDS(op, &scene, FIRN_DELETES_BY_FILE, 1, 10, 25);
        DELETE_IDS(op, &scene, FIRN_DELETES_BY_FILE, 60, 33);
        check_carried(op, &scene, &job, 1, 5);
        assert_int_equal(count_deletes(op, &scene), 1);
        assert_string_equal(summary(&scene.world, "added-delete-files"), "1");
        assert_string_equal(summary(&scene.world, "added-position-deletes"), "5");
        assert_string_equal(summary(&scene.world, "total-position-deletes"), "5");
        assert_string_equal(summary(&scene.world, version == 3 ? "added-dvs" : "added-position-delete-files"), "1");
        assert_string_equal(summary(&scene.world, "operation"), "replace");
        check_settled(op, &scene.world, &job);
        scene_end(op, &scene);
    }
}

/* It stays for the file that was not rewritten, and its rows of the others are said anew. */
static void a_shared_delete_file_stays(void **state)
{
    struct firn_op *op = test_op(state);
    struct scene scene;
    struct job job = { 0 };
    scene_begin(op, &scene, 2, NULL);
    add_files(op, &scene, 1, 5);
    plan_scene(op, &scene, &job);
    add_files(op, &scene, 1, 1);
    DELETE_IDS(op, &scene, FIRN_DELETES_BY_PARTITION, 7, 8, 55);
    assert_int_equal(count_deletes(op, &scene), 1);
    check_carried(op, &scene, &job, 1, 2);
    assert_int_equal(count_deletes(op, &scene), 2);
    scene_end(op, &scene);
}

/* R6: bounds cut to some length are no path; the rows tell. */
static void shortened_bounds_are_no_path(void **state)
{
    struct firn_op *op = test_op(state);
    for (int touches = 0; touches < 2; touches++) {
        struct scene scene;
        struct job job = { 0 };
        struct delete_parts parts;
        const int64_t ids[] = { touches ? 3 : 53 };
        scene_begin(op, &scene, 2, NULL);
        add_files(op, &scene, 1, 5);
        plan_scene(op, &scene, &job);
        add_files(op, &scene, 1, 1);
        struct firn_delete_files files = write_deletes(op, &scene, ids, 1, FIRN_DELETES_BY_PARTITION, &parts);
        struct firn_bound_map bounds = { .present = true, .count = 1 };
        bounds.ids = FIRN_NEW(op->arena, int32_t);
        bounds.ids[0] = FIRN_FIELD_ID_DELETE_FILE_PATH;
        bounds.values = FIRN_NEW(op->arena, struct firn_bytes);
        bounds.values[0] = firn_bytes_of_text(firn_text_until(parts.rows.items[0].data_file, 16));
        files.files[0].lower_bounds = files.files[0].upper_bounds = bounds;
        files.files[0].referenced_data_file = (struct firn_text){ 0 };
        struct firn_table table = second_handle(op, &scene.world);
        CHECK_OK(op, commit_deletes(op, &table, files.files, 1, &parts));
        forget(&scene, ids, 1);
        check_carried(op, &scene, &job, touches, touches);
        scene_end(op, &scene);
    }
}

/* What the older vector said was applied; the rest of the newer one is said anew. */
static void a_vector_that_replaced_another_is_carried(void **state)
{
    struct firn_op *op = test_op(state);
    struct scene scene;
    struct job job = { 0 };
    scene_begin(op, &scene, 3, NULL);
    add_files(op, &scene, 1, 5);
    DELETE_IDS(op, &scene, FIRN_DELETES_BY_FILE, 2, 4, 11);
    plan_scene(op, &scene, &job);
    DELETE_IDS(op, &scene, FIRN_DELETES_BY_FILE, 3, 4, 10);
    check_carried(op, &scene, &job, 1, 2);
    assert_int_equal(count_deletes(op, &scene), 1);
    assert_string_equal(summary(&scene.world, "removed-dvs"), "2");
    scene_end(op, &scene);
}

/* R5 */
static void vectors_that_share_a_puffin_part(void **state)
{
    struct firn_op *op = test_op(state);
    struct scene scene;
    struct job job = { 0 };
    scene_begin(op, &scene, 3, NULL);
    add_files(op, &scene, 1, 5);
    add_files(op, &scene, 2, 1);
    plan_scene(op, &scene, &job);
    DELETE_IDS(op, &scene, FIRN_DELETES_BY_FILE, 5, 55);
    check_carried(op, &scene, &job, 1, 1);
    struct firn_scan scan = scan_current(op, &scene.world, scene.world.store);
    assert_int_equal(scan.delete_count, 2);
    assert_false(firn_text_same(scan.deletes[0]->file.path, scan.deletes[1]->file.path));
    scene_end(op, &scene);
}

/* Rows deleted before and once more are in no output. */
static void rows_deleted_twice_are_gone(void **state)
{
    struct firn_op *op = test_op(state);
    for (int version = 2; version <= 3; version++) {
        struct scene scene;
        struct job job = { .verify_full = true };
        scene_begin(op, &scene, version, NULL);
        add_files(op, &scene, 1, 5);
        DELETE_IDS(op, &scene, FIRN_DELETES_BY_FILE, 1, 2, 3, 20, 21);
        plan_scene(op, &scene, &job);
        DELETE_IDS(op, &scene, FIRN_DELETES_BY_PARTITION, 2, 20, 21);
        check_carried(op, &scene, &job, 0, 0);
        assert_int_equal(job.report.rows, 45);
        scene_end(op, &scene);
    }
}

/* A partition deleted whole has no output that anything could be said of. */
static void a_group_without_output_needs_nothing(void **state)
{
    struct firn_op *op = test_op(state);
    struct scene scene;
    struct job job = { 0 };
    int64_t ids[30];
    scene_begin(op, &scene, 2, NULL);
    add_files(op, &scene, 1, 3);
    for (int i = 0; i < 30; i++)
        ids[i] = i + 1;
    delete_ids(op, &scene, ids, 30, FIRN_DELETES_BY_FILE);
    option(&job, "rewrite-all", "true");
    plan_scene(op, &scene, &job);
    DELETE_IDS(op, &scene, FIRN_DELETES_BY_FILE, 4, 14);
    check_carried(op, &scene, &job, 0, 0);
    assert_int_equal(job.report.added_data_files_count, 0);
    scene_end(op, &scene);
}

/* Rows of one input go to several partitions of another spec. */
static void rows_that_change_partitions_are_followed(void **state)
{
    struct firn_op *op = test_op(state);
    for (int version = 2; version <= 3; version++) {
        struct scene scene;
        struct job job = { .verify_full = true };
        scene_begin(op, &scene, version, NULL);
        add_files(op, &scene, 1, 6);
        DELETE_IDS(op, &scene, FIRN_DELETES_BY_FILE, 5, 6, 7);
        add_bucket_spec(op, &scene);
        plan_scene(op, &scene, &job);
        DELETE_IDS(op, &scene, FIRN_DELETES_BY_FILE, 1, 2, 3, 4, 8, 9, 10, 31, 32, 33);
        check_carried(op, &scene, &job, 3, 10);
        assert_int_equal(job.report.added_data_files_count, 3);
        scene_end(op, &scene);
    }
}

static void groups_with_several_outputs_are_followed(void **state)
{
    struct firn_op *op = test_op(state);
    struct scene scene;
    struct job job = { 0 };
    scene_begin(op, &scene, 2, NULL);
    CHECK_OK(op, firn_pool_open(op, 3, &scene.world.pool));
    for (int i = 0; i < 8; i++)
        add_rows(op, &scene, 1, 100);
    option(&job, "target-file-size-bytes", "4000");
    option(&job, "max-file-size-bytes", "4400");
    plan_scene(op, &scene, &job);
    DELETE_IDS(op, &scene, FIRN_DELETES_BY_PARTITION, 1, 150, 250, 350, 450, 550, 650, 800);
    CHECK_OK(op, apply(op, &scene.world, &job));
    check_rows(op, &scene, "after the run");
    assert_true(job.report.added_data_files_count > 1);
    assert_int_equal(job.report.carried_delete_files_count, job.report.added_data_files_count);
    assert_int_equal(job.report.carried_rows_count, 8);
    scene_end(op, &scene);
}

static void every_commit_of_partial_progress_carries(void **state)
{
    struct firn_op *op = test_op(state);
    struct scene scene;
    struct job job = { 0 };
    scene_begin(op, &scene, 2, NULL);
    CHECK_OK(op, firn_pool_open(op, 3, &scene.world.pool));
    for (int32_t part = 0; part < 3; part++)
        add_files(op, &scene, part, 5);
    option(&job, "partial-progress.enabled", "true");
    plan_scene(op, &scene, &job);
    DELETE_IDS(op, &scene, FIRN_DELETES_BY_FILE, 5, 6, 55, 105, 150);
    check_carried(op, &scene, &job, 3, 5);
    assert_int_equal(job.report.commits, 3);
    check_settled(op, &scene.world, &job);
    scene_end(op, &scene);
}

/* R1: the pinned number keeps an equality delete in force. */
static void equality_deletes_reach_the_outputs(void **state)
{
    struct firn_op *op = test_op(state);
    struct scene scene;
    struct job job = { 0 };
    scene_begin(op, &scene, 2, NULL);
    add_files(op, &scene, 1, 5);
    plan_scene(op, &scene, &job);
    delete_by_equality(op, &scene, 1, (int64_t[]){ 2, 50 }, 2, false);
    check_carried(op, &scene, &job, 0, 0);
    assert_int_equal(count_deletes(op, &scene), 1);
    scene_end(op, &scene);
}

/* Without a pinned number, or without carrying over, a delete costs the work done, not the run. */
static void what_cannot_be_carried_is_planned_anew(void **state)
{
    static const struct {
        const char *key, *value;
        bool by_equality, in_batches;
    } cases[] = {
        { "carry-over-deletes", "false", false, false },
        { "carry-over-deletes", "false", false, true },
        { "use-starting-sequence-number", "false", true, false },
        { "use-starting-sequence-number", "false", true, true },
    };
    struct firn_op *op = test_op(state);
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct scene scene;
        struct job job = { 0 };
        scene_begin(op, &scene, 2, NULL);
        for (int32_t part = 0; part < 3; part++)
            add_files(op, &scene, part, 6);
        option(&job, cases[i].key, cases[i].value);
        option(&job, "partial-progress.enabled", cases[i].in_batches ? "true" : "false");
        plan_scene(op, &scene, &job);
        int64_t ids[] = { 65, 66 };
        if (cases[i].by_equality)
            delete_by_equality(op, &scene, 1, ids, 2, false);
        else
            delete_ids(op, &scene, ids, 2, FIRN_DELETES_BY_FILE);
        CHECK_OK(op, apply(op, &scene.world, &job));
        check_rows(op, &scene, "after the run");
        assert_int_equal(job.report.replanned_groups_count, cases[i].in_batches ? 1 : 3);
        assert_int_equal(job.report.carried_delete_files_count, 0);
        assert_int_equal(job.report.failed_commits, 0);
        assert_int_equal(job.report.warning_count, 0);
        assert_int_equal(job.report.rewritten_data_files_count, 18);
        assert_int_equal(job.report.rows, 178);
        assert_int_equal(count_data_objects(op, &scene.world), 18 + 3 + 1); /* the deletes too */
        check_settled(op, &scene.world, &job);
        scene_end(op, &scene);
    }
}

/* R3 (b): what is left of the table is compacted; the outputs of the lost round are gone. */
static void a_removed_input_is_planned_around(void **state)
{
    struct firn_op *op = test_op(state);
    for (int in_batches = 0; in_batches < 2; in_batches++) {
        struct scene scene;
        struct job job = { 0 };
        scene_begin(op, &scene, 2, NULL);
        add_files(op, &scene, 1, 6);
        add_files(op, &scene, 2, 6);
        option(&job, "partial-progress.enabled", in_batches ? "true" : "false");
        plan_scene(op, &scene, &job);
        remove_through_peer(op, &scene.world, &job.plan->files[job.plan->groups[0]->files[0]].scan->entry->file);
        const char *before = live_ids(op, &scene.world);
        CHECK_OK(op, apply(op, &scene.world, &job));
        assert_string_equal(live_ids(op, &scene.world), before);
        assert_int_equal(job.report.rewritten_data_files_count, 11);
        assert_int_equal(job.report.replanned_groups_count, in_batches ? 1 : 2);
        assert_int_equal(scan_current(op, &scene.world, scene.world.store).file_count, 2);
        assert_int_equal(count_data_objects(op, &scene.world), 12 + 2);
        check_settled(op, &scene.world, &job);
        scene_end(op, &scene);
    }
}

/* A catalog that lets a peer go first: `act` is called before each of the first `left` swaps. */
struct interruption {
    const struct firn_catalog_kind *inner;
    struct firn_catalog_kind kind;
    struct scene *scene;
    void (*act)(struct firn_op *op, struct interruption *interruption);
    int left, done;
    bool is_acting;
    firn_status answer; /* of the swap that follows, unless FIRN_OK */
};

static firn_status interrupted_swap(struct firn_op *op, struct firn_catalog *catalog, struct firn_text identifier,
                                    const struct firn_table_version *base, const struct firn_metadata *metadata,
                                    struct firn_text *new_location)
{
    struct interruption *interruption =
        (struct interruption *)((char *)(uintptr_t)catalog->kind - offsetof(struct interruption, kind));
    if (!interruption->is_acting && interruption->left > 0) {
        interruption->is_acting = true;
        interruption->left--;
        interruption->act(op, interruption);
        interruption->done++;
        interruption->is_acting = false;
        *new_location = FIRN_TEXT(WAREHOUSE "/nowhere.metadata.json");
        if (interruption->answer != FIRN_OK)
            return firn_fail(op, interruption->answer, "the answer of the test");
    }
    return interruption->inner->swap(op, catalog, identifier, base, metadata, new_location);
}

/* After an unknown answer nobody can tell. */
static firn_status nobody_knows(struct firn_op *op, struct firn_catalog *catalog, struct firn_text identifier,
                                struct firn_text location, const struct firn_metadata *metadata, bool *out)
{
    (void)catalog;
    (void)identifier;
    (void)location;
    (void)metadata;
    (void)out;
    return firn_fail(op, FIRN_UNAVAILABLE, "the answer of the test");
}

static void interrupt(struct scene *scene, struct interruption *interruption)
{
    interruption->scene = scene;
    interruption->inner = scene->world.catalog->kind;
    interruption->kind = *interruption->inner;
    interruption->kind.swap = interrupted_swap;
    interruption->kind.committed = nobody_knows;
    scene->world.catalog->kind = &interruption->kind;
}

static void stop_interrupting(struct scene *scene, const struct interruption *interruption)
{
    scene->world.catalog->kind = interruption->inner;
}

/* Refreshing for a peer's look at the table must not show in the table being committed to. */
static void delete_next(struct firn_op *op, struct interruption *interruption)
{
    struct firn_table mine = interruption->scene->world.table;
    DELETE_IDS(op, interruption->scene, FIRN_DELETES_BY_FILE, 10 * interruption->done + 1);
    interruption->scene->world.table = mine;
}

static void delete_nothing(struct firn_op *op, struct interruption *interruption)
{
    (void)op;
    (void)interruption;
}

/* Each attempt meets one delete more; what was written for the lost ones is gone. */
static void races_lost_twice_carry_all(void **state)
{
    struct firn_op *op = test_op(state);
    for (int version = 2; version <= 3; version++) {
        struct scene scene;
        struct job job = { 0 };
        struct interruption interruption = { .act = delete_next, .left = 2 };
        scene_begin(op, &scene, version, NULL);
        add_files(op, &scene, 1, 5);
        plan_scene(op, &scene, &job);
        DELETE_IDS(op, &scene, FIRN_DELETES_BY_FILE, 44);
        interrupt(&scene, &interruption);
        check_carried(op, &scene, &job, 1, 3);
        stop_interrupting(&scene, &interruption);
        assert_int_equal(interruption.done, 2);
        assert_int_equal(count_data_objects(op, &scene.world), 5 + 3 + 1 + 1);
        scene_end(op, &scene);
    }
}

/* A writer that always comes first ends the run after a bounded number of rounds, with nothing changed. */
static void planning_anew_ends(void **state)
{
    struct firn_op *op = test_op(state);
    struct scene scene;
    struct job job = { 0 };
    struct interruption interruption = { .act = delete_next, .left = 1000 };
    scene_begin(op, &scene, 2, "\"commit.retry.num-retries\": \"3\"");
    add_files(op, &scene, 1, 8);
    option(&job, "carry-over-deletes", "false");
    plan_scene(op, &scene, &job);
    interrupt(&scene, &interruption);
    CHECK_STATUS(op, FIRN_CONFLICT, apply(op, &scene.world, &job));
    stop_interrupting(&scene, &interruption);
    CHECK(strstr(op->error.text, "committed meanwhile"), "%s", op->error.text);
    CHECK(op->error.hint[0], "no hint");
    assert_int_equal(interruption.done, 4);
    assert_int_equal(job.report.replanned_groups_count, 3);
    assert_int_equal(job.report.failed_commits, 1);
    check_rows(op, &scene, "after the run");
    assert_int_equal(count_data_objects(op, &scene.world), 8 + 4);
    scene_end(op, &scene);
}

/* Nothing is removed after an unknown outcome: neither outputs nor what was carried over. */
static void an_unknown_outcome_leaves_everything(void **state)
{
    struct firn_op *op = test_op(state);
    for (int in_batches = 0; in_batches < 2; in_batches++) {
        struct scene scene;
        struct job job = { 0 };
        struct interruption interruption = { .act = delete_nothing, .left = 1, .answer = FIRN_UNKNOWN };
        scene_begin(op, &scene, 2, "\"commit.status-check.num-retries\": \"0\"");
        add_files(op, &scene, 1, 5);
        option(&job, "partial-progress.enabled", in_batches ? "true" : "false");
        plan_scene(op, &scene, &job);
        DELETE_IDS(op, &scene, FIRN_DELETES_BY_FILE, 44);
        interrupt(&scene, &interruption);
        CHECK_STATUS(op, FIRN_UNKNOWN, apply(op, &scene.world, &job));
        stop_interrupting(&scene, &interruption);
        assert_int_equal(count_data_objects(op, &scene.world), 5 + 1 + 1 + 1);
        assert_int_equal(job.report.replanned_groups_count, 0);
        check_rows(op, &scene, "after the run");
        scene_end(op, &scene);
    }
}

/* Deletes of many single rows need a map of many runs. */
static void a_map_that_takes_too_much_memory_is_done_without(void **state)
{
    struct firn_op *op = test_op(state);
    struct scene scene;
    struct job job = { 0 };
    int64_t ids[200];
    scene_begin(op, &scene, 2, NULL);
    for (int i = 0; i < 5; i++)
        add_rows(op, &scene, 1, 100);
    for (int i = 0; i < 200; i++)
        ids[i] = 2 * i + 1;
    delete_ids(op, &scene, ids, 200, FIRN_DELETES_BY_FILE);
    plan_scene(op, &scene, &job);
    job.plan->memory_bytes_max = 50000;
    DELETE_IDS(op, &scene, FIRN_DELETES_BY_FILE, 400, 450);
    CHECK_OK(op, apply(op, &scene.world, &job));
    check_rows(op, &scene, "after the run");
    assert_int_equal(job.report.replanned_groups_count, 1);
    assert_int_equal(job.report.carried_delete_files_count, 0);
    scene_end(op, &scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(deletes_of_single_files_are_carried),
        TEST(a_shared_delete_file_stays),
        TEST(shortened_bounds_are_no_path),
        TEST(a_vector_that_replaced_another_is_carried),
        TEST(vectors_that_share_a_puffin_part),
        TEST(rows_deleted_twice_are_gone),
        TEST(a_group_without_output_needs_nothing),
        TEST(rows_that_change_partitions_are_followed),
        TEST(groups_with_several_outputs_are_followed),
        TEST(every_commit_of_partial_progress_carries),
        TEST(equality_deletes_reach_the_outputs),
        TEST(what_cannot_be_carried_is_planned_anew),
        TEST(a_removed_input_is_planned_around),
        TEST(races_lost_twice_carry_all),
        TEST(planning_anew_ends),
        TEST(an_unknown_outcome_leaves_everything),
        TEST(a_map_that_takes_too_much_memory_is_done_without),
    };
    return cmocka_run_group_tests_name("meanwhile", tests, NULL, NULL);
}
