/* Backtests: two weeks by a virtual clock whose real maintenance the replay must give again, policies beside it, and
 * what writers remove. */
#include "maintain/corpus_table.h"
#include "maintain/era.h"

#include "firn/backtest.h"
#include "maintain/age.h"

enum { DAYS = 14, COMMITS_PER_DAY = 6 };

static json_t *replay(struct firn_op *op, const struct firn_table *table, const char *settings, int64_t interval_ms)
{
    struct firn_property given[12];
    struct firn_policy *policy;
    json_t *result;
    size_t count = split_settings(op, settings, given);
    CHECK_OK(op, firn_policy_of(op, firn_policies_new(op), table, given, count, &policy));
    const struct firn_backtest_args args = { .policy = policy, .interval_ms = interval_ms };
    CHECK_OK(op, firn_backtest(op, NULL, table, &args, &result));
    return result;
}

static int64_t number(const json_t *object, const char *side, const char *key)
{
    const json_t *value = json_object_get(json_object_get(object, side), key);
    CHECK(json_is_integer(value), "no %s", key);
    return json_integer_value(value);
}

static double money(const json_t *object, const char *side, const char *key)
{
    return json_real_value(json_object_get(json_object_get(object, side), key));
}

static const json_t *last_row(const json_t *result)
{
    const json_t *rows = json_object_get(result, "rows");
    return json_array_get(rows, json_array_size(rows) - 1);
}

static void check_same(const json_t *row, size_t index, const char *key)
{
    CHECK(number(row, "real", key) == number(row, "policy", key), "row %zu: %s is %" PRId64 ", replayed %" PRId64,
          index, key, number(row, "real", key), number(row, "policy", key));
}

/* Two weeks of commits, each followed by a run of the pipeline. */
static void live_two_weeks(struct firn_op *op, struct era *era, const char *settings, bool deletes)
{
    for (int day = 0; day < DAYS; day++)
        for (int i = 0; i < COMMITS_PER_DAY; i++) {
            struct turn turn;
            era->now_ms = ERA_START_MS + day * FIRN_MS_PER_DAY + i * (FIRN_MS_PER_DAY / COMMITS_PER_DAY);
            add_rows(op, &era->scene, day, 10);
            if (i == 3)
                add_rows(op, &era->scene, FIRN_MAX(day - 1, 0), 10);
            int64_t deleted = era->scene.world.next_id - 5 * i - 1;
            if (deletes && i % 2 == 1 && deleted > 0)
                delete_ids(op, &era->scene, &deleted, 1, FIRN_DELETES_BY_FILE);
            era->now_ms += 60000;
            run_turn(op, era, (struct asked){ .settings = settings, .steps = 1 }, &turn);
            CHECK(turn.status == FIRN_OK, "%s", turn.op.error.text);
            end_turn(&turn);
        }
    CHECK_OK(op, firn_table_refresh(op, &era->scene.world.table));
}

/* The same policy on the same commits makes the same files, as often. */
static void a_replay_gives_what_maintenance_really_did(void **state)
{
    struct firn_op *op = test_op(state);
    struct era *era = FIRN_NEW(op->arena, struct era);
    static const char settings[] = "compact.every=4h compact.min-input-files=4 compact.cold-after=1d";
    size_t index;
    json_t *row;
    era_begin(op, era, NULL);
    live_two_weeks(op, era, settings, true);
    struct firn_work before = firn_store_work(era->scene.world.store);
    const json_t *result = replay(op, &era->scene.world.table, settings, FIRN_MS_PER_DAY);
    struct firn_work work = firn_work_since(firn_store_work(era->scene.world.store), before);
    assert_int_equal(work.requests[FIRN_REQUEST_PUT] + work.requests[FIRN_REQUEST_DELETE], 0);
    json_array_foreach(json_object_get(result, "rows"), index, row)
    {
        check_same(row, index, "data_files");
        check_same(row, index, "rewritten_files");
        check_same(row, index, "commits");
        check_same(row, index, "delete_files");
        check_same(row, index, "delete_reads");
    }
    assert_true(index >= DAYS - 1 && index <= DAYS + 1);
    CHECK(number(json_object_get(result, "total"), "real", "rewritten_files") > 70, "too little happened");
    double real = money(json_object_get(result, "total"), "real", "money");
    double policy = money(json_object_get(result, "total"), "policy", "money");
    CHECK(policy > real * 0.8 && policy < real * 1.2, "%g, replayed %g", real, policy);
    era_end(op, era);
}

/* Without compaction the policy's side is what writers left; with it there are fewer files, which cost more to make. */
static void policies_differ_as_they_should(void **state)
{
    struct firn_op *op = test_op(state);
    struct era *era = FIRN_NEW(op->arena, struct era);
    era_begin(op, era, NULL);
    live_two_weeks(op, era, "compact.every=never", false);
    struct firn_table *table = &era->scene.world.table;
    const json_t *never = replay(op, table, "compact.every=never", 0);
    const json_t *often = replay(op, table, "compact.every=1h compact.min-input-files=2", 0);
    const json_t *seldom = replay(op, table, "compact.every=2d compact.min-input-files=2", 0);
    assert_int_equal(number(last_row(never), "real", "data_files"), DAYS * (COMMITS_PER_DAY + 1));
    check_same(last_row(never), 0, "data_files");
    check_same(last_row(never), 0, "data_bytes");
    const json_t *often_all = json_object_get(often, "total"), *seldom_all = json_object_get(seldom, "total");
    CHECK(number(last_row(often), "policy", "data_files") <= DAYS + 2, "%" PRId64 " files",
          number(last_row(often), "policy", "data_files"));
    CHECK(number(often_all, "policy", "data_files") < number(seldom_all, "policy", "data_files"), "more files");
    CHECK(number(often_all, "policy", "rewritten_bytes") > number(seldom_all, "policy", "rewritten_bytes"), "bytes");
    CHECK(money(often_all, "policy", "money") > money(seldom_all, "policy", "money"), "money of maintenance");
    CHECK(money(often_all, "policy", "scan_money") < money(seldom_all, "policy", "scan_money"), "money of scans");
    const json_t *windows =
        replay(op, table, "compact.every=1h compact.windows=02:00-03:00 compact.min-input-files=2", 0);
    int64_t in_windows = number(json_object_get(windows, "total"), "policy", "rewritten_files");
    CHECK(in_windows > 0 && in_windows < number(often_all, "policy", "rewritten_files"), "%" PRId64 " files",
          in_windows);
    era_end(op, era);
}

static void remove_all(struct firn_op *op, struct era *era, int32_t part)
{
    struct firn_scan scan = scan_current(op, &era->scene.world, era->scene.world.store);
    for (uint32_t i = 0; i < scan.file_count; i++)
        if (scan.files[i].entry->file.partition.values[0].integer == part)
            remove_through_peer(op, &era->scene.world, &scan.files[i].entry->file);
}

/* Whether a file was compacted really, by the policy, by both or by neither, its removal takes its rows away. */
static void what_writers_remove_is_gone_on_both_sides(void **state)
{
    struct firn_op *op = test_op(state);
    static const char *const really[] = { "compact.every=never", "compact.every=1m compact.min-input-files=3" };
    static const char *const replayed[] = { "compact.every=never", "compact.every=1m compact.min-input-files=4" };
    for (int i = 0; i < 4; i++) {
        struct era *era = FIRN_NEW(op->arena, struct era);
        struct turn turn;
        era_begin(op, era, NULL);
        for (int commit = 0; commit < 8; commit++) {
            era->now_ms += 120000;
            add_rows(op, &era->scene, commit % 2, 10);
            run_turn(op, era, (struct asked){ .settings = really[i / 2], .steps = 1 }, &turn);
            end_turn(&turn);
        }
        era->now_ms += 120000;
        remove_all(op, era, 1);
        CHECK_OK(op, firn_table_refresh(op, &era->scene.world.table));
        const json_t *row = last_row(replay(op, &era->scene.world.table, replayed[i % 2], 0));
        struct firn_scan scan = scan_current(op, &era->scene.world, era->scene.world.store);
        assert_int_equal(number(row, "real", "data_files"), scan.file_count);
        int64_t files = i % 2 == 0 ? 4 : 1;
        CHECK(number(row, "policy", "data_files") == files, "case %d: %" PRId64 " files", i,
              number(row, "policy", "data_files"));
        era_end(op, era);
    }
}

/* Of every kind, as long as nothing is compacted. */
static void deletes_follow_their_files(void **state)
{
    struct firn_op *op = test_op(state);
    for (int version = 2; version <= 3; version++) {
        struct scene scene = { 0 };
        scene_begin(op, &scene, version, NULL);
        add_files(op, &scene, 0, 6);
        for (int64_t id = 1; id <= 12; id += 2)
            delete_ids(op, &scene, &id, 1, FIRN_DELETES_BY_FILE);
        int64_t key = 30;
        delete_by_equality(op, &scene, 0, &key, 1, false);
        struct firn_scan scan = scan_current(op, &scene.world, scene.world.store);
        const json_t *never = last_row(replay(op, &scene.world.table, "compact.every=never", 0));
        assert_int_equal(number(never, "real", "delete_files"), scan.delete_count);
        check_same(never, 0, "delete_files");
        check_same(never, 0, "delete_reads");
        scene_end(op, &scene);
    }
}

/* What a writer deletes of a file that only the policy has compacted, or only maintenance really has. */
static void deletes_find_compacted_files(void **state)
{
    struct firn_op *op = test_op(state);
    for (int version = 2; version <= 3; version++)
        for (int really = 0; really < 2; really++) {
            struct era *era = FIRN_NEW(op->arena, struct era);
            struct turn turn;
            const char *compacts = "compact.every=1m compact.min-input-files=4", *never = "compact.every=never";
            era_begin_version(op, era, version, NULL);
            for (int64_t id = 1; id <= 60; id += 10) {
                era->now_ms += 120000;
                add_rows(op, &era->scene, 0, 10);
                run_turn(op, era, (struct asked){ .settings = really ? compacts : never, .steps = 1 }, &turn);
                end_turn(&turn);
            }
            for (int64_t id = 1; id <= 5; id++) {
                int64_t other = id + 30;
                era->now_ms += 1000;
                delete_ids(op, &era->scene, &id, 1, FIRN_DELETES_BY_FILE);
                delete_ids(op, &era->scene, &other, 1, FIRN_DELETES_BY_FILE);
            }
            CHECK_OK(op, firn_table_refresh(op, &era->scene.world.table));
            const json_t *row = last_row(replay(op, &era->scene.world.table, really ? never : compacts, 0));
            CHECK(number(row, "policy", "delete_reads") > 0, "version %d, case %d: deletes got lost", version, really);
            CHECK(number(row, "policy", "data_files") == (really ? 6 : 3), "version %d, case %d: %" PRId64 " files",
                  version, really, number(row, "policy", "data_files"));
            era_end(op, era);
        }
}

static void what_cannot_be_replayed_is_told(void **state)
{
    struct firn_op *op = test_op(state);
    struct era *era = FIRN_NEW(op->arena, struct era);
    struct firn_policy *policy;
    json_t *result;
    era_begin(op, era, NULL);
    struct firn_table *table = &era->scene.world.table;
    CHECK_OK(op, firn_policy_of(op, firn_policies_new(op), table, NULL, 0, &policy));
    struct firn_backtest_args args = { .policy = policy };
    CHECK_STATUS(op, FIRN_NOT_FOUND, firn_backtest(op, NULL, table, &args, &result));
    add_rows(op, &era->scene, 0, 10);
    era->now_ms += 40 * FIRN_MS_PER_DAY;
    add_rows(op, &era->scene, 0, 10);
    CHECK_OK(op, firn_table_refresh(op, table));
    args.interval_ms = 1000;
    CHECK_STATUS(op, FIRN_USAGE, firn_backtest(op, NULL, table, &args, &result));
    assert_true(json_is_false(json_object_get(replay(op, table, "", 0), "is_cut")));
    struct turn turn;
    run_turn(op, era, (struct asked){ .settings = "expire.older-than=1d", .steps = 1 << FIRN_STEP_EXPIRE }, &turn);
    CHECK(turn.status == FIRN_OK, "%s", turn.op.error.text);
    end_turn(&turn);
    CHECK_OK(op, firn_table_refresh(op, table));
    result = replay(op, table, "", 0);
    assert_true(json_is_true(json_object_get(result, "is_cut")));
    assert_int_equal(json_array_size(json_object_get(result, "notes")), 1);
    assert_int_equal(number(last_row(result), "real", "data_files"), 2);

    static const int64_t odd_times[] = { INT64_MIN, -1, INT64_MAX };
    args.interval_ms = 0;
    for (int i = 0; i < 3; i++) {
        table->metadata->snapshots[0].timestamp_ms = odd_times[i];
        CHECK_STATUS(op, FIRN_CORRUPT, firn_backtest(op, NULL, table, &args, &result));
    }
    era_end(op, era);
}

/* The side of what was ends where the table is. */
static void replay_table(struct firn_op *op, void *context, struct corpus_table *opened)
{
    (void)context;
    struct firn_policy *policy;
    json_t *result;
    CHECK_OK(op, firn_policy_of(op, firn_policies_new(op), NULL, NULL, 0, &policy));
    const struct firn_backtest_args args = { .policy = policy };
    firn_status status = firn_backtest(op, NULL, &opened->table, &args, &result);
    CHECK(status == FIRN_OK || status == FIRN_NOT_FOUND, "%s: %s: %s", opened->name, firn_status_name(status),
          op->error.text);
    if (status == FIRN_OK)
        CHECK(number(last_row(result), "real", "data_files") ==
                  json_integer_value(json_object_get(opened->expected, "live_data_files")),
              "%s: %" PRId64 " files", opened->name, number(last_row(result), "real", "data_files"));
}

static void every_table_of_the_corpus_can_be_replayed(void **state)
{
    corpus_visit_tables(test_op(state), replay_table, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_replay_gives_what_maintenance_really_did),
        TEST(policies_differ_as_they_should),
        TEST(what_writers_remove_is_gone_on_both_sides),
        TEST(deletes_follow_their_files),
        TEST(deletes_find_compacted_files),
        TEST(what_cannot_be_replayed_is_told),
        TEST(every_table_of_the_corpus_can_be_replayed),
    };
    return cmocka_run_group_tests_name("backtest", tests, NULL, NULL);
}
