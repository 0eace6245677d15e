/* Predicted work against what the store counts: plans of every procedure, on tables in memory. */
#include "maintain/scene.h"

#include "firn/convert_equality_deletes.h"
#include "firn/expire_snapshots.h"
#include "firn/remove_orphan_files.h"
#include "firn/rewrite_manifests.h"
#include "firn/rewrite_position_delete_files.h"

/* What one procedure asked of the store. */
struct counting {
    struct firn_store *store;
    struct firn_work before;
};

static struct counting count_from_here(const struct scene *scene)
{
    return (struct counting){ scene->world.store, firn_store_work(scene->world.store) };
}

/* Within a share of what was counted, or so many requests that a run has beside its work: of its journal, and, for
 * each commit, of a catalog that looks for metadata by name. */
static void check_kind(const char *what, enum firn_request kind, int64_t predicted, int64_t counted, int64_t commits)
{
    int64_t beside = kind == FIRN_REQUEST_GET ? 26 * commits : kind == FIRN_REQUEST_LIST ? 0 : 4;
    int64_t off = predicted > counted ? predicted - counted : counted - predicted;
    CHECK(off <= beside || off * 5 <= counted, "%s: %" PRId64 " %s predicted, %" PRId64 " counted", what, predicted,
          firn_request_name(kind), counted);
}

static void check_work(const char *what, struct counting counting, struct firn_work predicted, int64_t commits)
{
    struct firn_work counted = firn_work_since(firn_store_work(counting.store), counting.before);
    for (int kind = 0; kind < FIRN_REQUEST_COUNT; kind++)
        check_kind(what, (enum firn_request)kind, predicted.requests[kind], counted.requests[kind], commits);
}

static void a_plan_with_nothing_to_do_takes_nothing(void **state)
{
    struct firn_op *op = test_op(state);
    struct scene scene = { 0 };
    struct job job = { 0 };
    scene_begin(op, &scene, 2, NULL);
    add_files(op, &scene, 0, 2);
    CHECK_OK(op, plan(op, &scene.world, &job));
    struct firn_work work = firn_rewrite_plan_work(job.plan);
    assert_int_equal(firn_work_requests(&work), 0);
    scene_end(op, &scene);
}

static void rewriting_data_files(void **state)
{
    struct firn_op *op = test_op(state);
    static const char *const in_batches[] = { "false", "true" };
    for (int i = 0; i < 2; i++) {
        struct scene scene = { 0 };
        struct job job = { 0 };
        scene_begin(op, &scene, 2, NULL);
        for (int part = 0; part < 4; part++)
            add_files(op, &scene, part, 12);
        DELETE_IDS(op, &scene, FIRN_DELETES_BY_FILE, 1, 12, 23, 34, 45);
        option(&job, "partial-progress.enabled", in_batches[i]);
        CHECK_OK(op, plan(op, &scene.world, &job));
        struct firn_work predicted = firn_rewrite_plan_work(job.plan);
        CHECK(predicted.bytes_read > 0 && predicted.bytes_written > 0, "no bytes");
        struct counting counting = count_from_here(&scene);
        CHECK_OK(op, apply(op, &scene.world, &job));
        check_work("rewrite-data-files", counting, predicted, job.report.commits);
        scene_end(op, &scene);
    }
}

/* A commit joins small manifests where there are enough of them, whatever it changes of them. */
static void joining_manifests(void **state)
{
    struct firn_op *op = test_op(state);
    struct scene scene = { 0 };
    struct job job = { .where = FIRN_TEXT("part > 0") };
    scene_begin(op, &scene, 2, NULL);
    add_files(op, &scene, 0, 80);
    add_files(op, &scene, 1, 15);
    add_files(op, &scene, 2, 15);
    option(&job, "partial-progress.enabled", "true");
    CHECK_OK(op, firn_table_refresh(op, &scene.world.table));
    CHECK_OK(op, plan(op, &scene.world, &job));
    struct firn_work predicted = firn_rewrite_plan_work(job.plan);
    struct counting counting = count_from_here(&scene);
    CHECK_OK(op, apply(op, &scene.world, &job));
    assert_int_equal(job.report.rewritten_data_files_count, 30);
    assert_int_equal(job.report.commits, 2);
    check_work("joining manifests", counting, predicted, 2);
    scene_end(op, &scene);
}

static void rewriting_position_deletes(void **state)
{
    struct firn_op *op = test_op(state);
    struct scene scene = { 0 };
    struct firn_position_rewrite_plan *plan;
    struct firn_rewrite_position_delete_files_report report = { 0 };
    const struct firn_rewrite_position_delete_files_args args = { 0 };
    scene_begin(op, &scene, 2, "\"write.delete.granularity\": \"partition\"");
    add_files(op, &scene, 0, 6);
    for (int64_t id = 1; id <= 10; id++)
        delete_ids(op, &scene, &id, 1, FIRN_DELETES_BY_PARTITION);
    CHECK_OK(op, firn_table_refresh(op, &scene.world.table));
    CHECK_OK(op, firn_rewrite_position_delete_files_plan(op, NULL, &scene.world.table, &args, &plan));
    struct counting counting = count_from_here(&scene);
    CHECK_OK(op, firn_rewrite_position_delete_files_apply(op, NULL, &scene.world.table, plan, NULL, &report));
    assert_int_equal(report.rewritten_delete_files_count, 10);
    check_work("rewrite-position-delete-files", counting, firn_position_rewrite_plan_work(plan), 1);
    scene_end(op, &scene);
}

static void converting_equality_deletes(void **state)
{
    struct firn_op *op = test_op(state);
    struct scene scene = { 0 };
    struct firn_convert_plan *plan;
    struct firn_convert_equality_deletes_report report = { 0 };
    const struct firn_convert_equality_deletes_args args = { 0 };
    scene_begin(op, &scene, 2, NULL);
    add_files(op, &scene, 0, 10);
    for (int64_t id = 1; id <= 5; id++)
        delete_by_equality(op, &scene, 0, &id, 1, false);
    CHECK_OK(op, firn_table_refresh(op, &scene.world.table));
    CHECK_OK(op, firn_convert_equality_deletes_plan(op, NULL, &scene.world.table, &args, &plan));
    struct counting counting = count_from_here(&scene);
    CHECK_OK(op, firn_convert_equality_deletes_apply(op, NULL, &scene.world.table, plan, NULL, &report));
    assert_int_equal(report.converted_equality_delete_files_count, 5);
    check_work("convert-equality-deletes", counting, firn_convert_plan_work(plan), 1);
    scene_end(op, &scene);
}

static void rewriting_manifests_and_expiring(void **state)
{
    struct firn_op *op = test_op(state);
    struct scene scene = { 0 };
    struct firn_manifest_plan *plan;
    struct firn_rewrite_manifests_report rewritten = { 0 };
    struct firn_expiry *expiry;
    struct firn_expire_snapshots_report expired;
    scene_begin(op, &scene, 2, NULL);
    add_files(op, &scene, 0, 30);
    CHECK_OK(op, firn_table_refresh(op, &scene.world.table));
    CHECK_OK(op, firn_rewrite_manifests_plan(op, NULL, &scene.world.table, &(struct firn_rewrite_manifests_args){ 0 },
                                             &plan));
    struct counting counting = count_from_here(&scene);
    CHECK_OK(op, firn_rewrite_manifests_apply(op, NULL, &scene.world.table, plan, &rewritten));
    assert_int_equal(rewritten.rewritten_manifests_count, 30);
    check_work("rewrite-manifests", counting, firn_manifest_plan_work(plan), 1);

    const struct firn_expire_snapshots_args args = { .older_than = FIRN_TEXT("2100-01-01"), .retain_last = 1 };
    CHECK_OK(op, firn_expire_snapshots_plan(op, NULL, &scene.world.table, &args, &expiry));
    struct firn_work predicted = firn_expiry_work(expiry);
    counting = count_from_here(&scene);
    CHECK_OK(op, firn_expire_snapshots_apply(op, NULL, &scene.world.table, expiry, NULL, &expired));
    assert_int_equal(expired.expired_snapshots_count, 30);
    check_work("expire-snapshots", counting, predicted, 1);
    scene_end(op, &scene);
}

static void removing_orphans(void **state)
{
    struct firn_op *op = test_op(state);
    struct scene scene = { 0 };
    struct firn_orphan_plan *plan;
    const struct firn_remove_orphan_files_args args = { .older_than = FIRN_TEXT("25h") };
    scene_begin(op, &scene, 2, NULL);
    add_files(op, &scene, 0, 2);
    for (int i = 0; i < 20; i++) {
        struct firn_text stray =
            firn_text_format(op->arena, "%.*s/data/stray-%d", FIRN_FMT(scene.world.table.metadata->location), i);
        CHECK_OK(op, firn_store_put(op, scene.world.store, stray, true, firn_bytes_of_text(FIRN_TEXT("stray"))));
    }
    CHECK_OK(op, firn_remove_orphan_files_plan(op, NULL, &scene.world.table, &args, &plan));
    struct firn_work predicted = firn_orphan_plan_work(plan);
    struct counting counting = count_from_here(&scene);
    CHECK_OK(op, firn_remove_orphan_files_apply(op, NULL, &scene.world.table, plan, NULL));
    check_work("remove-orphan-files", counting, predicted, 1);
    scene_end(op, &scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_plan_with_nothing_to_do_takes_nothing),
        TEST(rewriting_data_files),
        TEST(joining_manifests),
        TEST(rewriting_position_deletes),
        TEST(converting_equality_deletes),
        TEST(rewriting_manifests_and_expiring),
        TEST(removing_orphans),
    };
    return cmocka_run_group_tests_name("work", tests, NULL, NULL);
}
