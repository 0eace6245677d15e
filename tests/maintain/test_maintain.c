/* The pipeline of maintenance: two weeks of a streaming table by a virtual clock, cadence, budgets, failures, leases.
 */
#include "maintain/era.h"

#include "firn/refs.h"
#include "maintain/age.h"
#include "maintain/lease.h"

static const json_t *step_of(const struct turn *turn, enum firn_maintain_step step)
{
    return json_array_get(json_object_get(turn->report, "steps"), (size_t)step);
}

static const char *text_of(const struct turn *turn, enum firn_maintain_step step, const char *key)
{
    const char *text = json_string_value(json_object_get(step_of(turn, step), key));
    return text ? text : "";
}

static int64_t number_of(const struct turn *turn, enum firn_maintain_step step, const char *key)
{
    return json_integer_value(json_object_get(json_object_get(step_of(turn, step), "result"), key));
}

static void check_step(const struct turn *turn, enum firn_maintain_step step, const char *status)
{
    CHECK(strcmp(text_of(turn, step, "status"), status) == 0, "%s: %s, not %s: %s / %s / %s",
          firn_maintain_step_name(step), text_of(turn, step, "status"), status, text_of(turn, step, "why"),
          text_of(turn, step, "work"), text_of(turn, step, "error"));
}

/* A file that no snapshot names. */
static void put_stray(struct firn_op *op, struct era *era, const char *name)
{
    struct firn_text location = firn_text_format(op->arena, "%.*s/data/%s", FIRN_FMT(table_location(era)), name);
    CHECK_OK(op, firn_store_put(op, era->scene.world.store, location, true, firn_bytes_of_text(FIRN_TEXT("stray"))));
}

static bool has_stray(struct firn_op *op, struct era *era, const char *name)
{
    struct firn_store_stat info;
    struct firn_text location = firn_text_format(op->arena, "%.*s/data/%s", FIRN_FMT(table_location(era)), name);
    return firn_store_stat(op, era->scene.world.store, location, &info) == FIRN_OK;
}

/* Two weeks ------------------------------------------------------------------------------------------------------- */

enum { DAYS = 14, TURNS_PER_DAY = 6, COMMITS_PER_TURN = 5 };

/* What is known of the day's partitions: their only file, once they are cold. */
struct partitions {
    struct firn_text cold[DAYS];
};

static void check_cold(struct firn_op *op, struct era *era, int today, struct partitions *partitions)
{
    struct firn_scan scan = scan_current(op, &era->scene.world, era->scene.world.store);
    int counts[DAYS] = { 0 };
    for (uint32_t i = 0; i < scan.file_count; i++) {
        const struct firn_data_file *file = &scan.files[i].entry->file;
        int day = (int)file->partition.values[0].integer;
        counts[day]++;
        if (day > today - 3)
            continue;
        if (partitions->cold[day].len == 0)
            partitions->cold[day] = firn_text_copy(op->arena, file->path);
        CHECK(firn_text_same(partitions->cold[day], file->path), "day %d: the cold partition %d was rewritten", today,
              day);
    }
    for (int day = 0; day <= today - 3; day++)
        CHECK(counts[day] == 1, "day %d: partition %d has %d files", today, day, counts[day]);
}

static void set_tag(struct firn_op *op, struct era *era, const char *name)
{
    struct firn_table table = second_handle(op, &era->scene.world);
    json_t *updates;
    struct firn_text json = firn_text_format(op->arena,
                                             "[{\"action\": \"set-snapshot-ref\", \"ref-name\": \"%s\", \"type\": "
                                             "\"tag\", \"snapshot-id\": %" PRId64 "}]",
                                             name, table.metadata->current_snapshot_id);
    CHECK_OK(op, firn_json_parse(op, json, "updates", &updates));
    CHECK_OK(op, firn_catalog_commit(op, &table, firn_json_own(op->arena, json_array()), updates));
}

static void two_weeks_of_a_streaming_table(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct asked asked = {
        .settings = "compact.every=4h expire.older-than=2d manifests.min-count=2 compact.min-input-files=5",
    };
    struct era *era = FIRN_NEW(op->arena, struct era);
    struct partitions partitions = { 0 };
    int64_t rewritten = 0, runs[FIRN_STEP_COUNT] = { 0 };
    era_begin(op, era, NULL);
    put_stray(op, era, "stray-0.parquet");
    for (int day = 0; day < DAYS; day++) {
        for (int hour = 0; hour < TURNS_PER_DAY; hour++) {
            struct turn turn;
            add_files(op, &era->scene, day, COMMITS_PER_TURN);
            era->now_ms += FIRN_MS_PER_DAY / TURNS_PER_DAY;
            run_turn(op, era, asked, &turn);
            CHECK(turn.status == FIRN_OK, "day %d: %s", day, turn.op.error.text);
            for (int step = 0; step < FIRN_STEP_COUNT; step++)
                runs[step] += strcmp(text_of(&turn, (enum firn_maintain_step)step, "status"), "not due") != 0;
            int64_t files = number_of(&turn, FIRN_STEP_COMPACT, "rewritten_data_files_count");
            CHECK(files == COMMITS_PER_TURN + (hour > 0), "day %d, turn %d: %" PRId64 " files", day, hour, files);
            rewritten += files;
            end_turn(&turn);
        }
        if (day == 5)
            set_tag(op, era, "month-end");
        CHECK(has_stray(op, era, "stray-0.parquet") == (day < 10), "day %d", day);
        check_cold(op, era, day, &partitions);
    }
    check_rows(op, &era->scene, "after two weeks");
    assert_int_equal(rewritten, DAYS * (TURNS_PER_DAY * (COMMITS_PER_TURN + 1) - 1));
    assert_int_equal(runs[FIRN_STEP_COMPACT], DAYS * TURNS_PER_DAY);
    assert_int_equal(runs[FIRN_STEP_EXPIRE], DAYS);
    assert_int_equal(runs[FIRN_STEP_SWEEP], DAYS);
    assert_int_equal(runs[FIRN_STEP_ORPHANS], 2);
    assert_int_equal(runs[FIRN_STEP_MANIFESTS], 2);

    /* The tag's snapshot is old, and there; others of its time are not. */
    const struct firn_metadata *metadata = era->scene.world.table.metadata;
    const struct firn_ref *tag = firn_metadata_ref(metadata, FIRN_TEXT("month-end"));
    struct firn_scan scan;
    assert_non_null(tag);
    CHECK_OK(op, firn_scan_plan(op, NULL, era->scene.world.store, metadata,
                                firn_metadata_snapshot(metadata, tag->snapshot_id), (struct firn_scan_options){ 0 },
                                &scan));
    assert_int_equal(scan.file_count, 6);
    for (uint32_t i = 0; i < metadata->snapshot_count; i++)
        CHECK(metadata->snapshots[i].id == tag->snapshot_id ||
                  era->now_ms - metadata->snapshots[i].timestamp_ms <= 3 * FIRN_MS_PER_DAY,
              "a snapshot is too old");
    era_end(op, era);
}

static int64_t live_bytes(struct firn_op *op, struct era *era)
{
    struct firn_scan scan = scan_current(op, &era->scene.world, era->scene.world.store);
    int64_t bytes = 0;
    for (uint32_t i = 0; i < scan.file_count; i++)
        bytes += scan.files[i].entry->file.file_bytes;
    return bytes;
}

/* Nothing was compacted for days; then every night takes what fits its budget, best gain first, beside what the days go
 * on to bring, until all is done, each file once but for the last of its day. */
static void nights_within_a_budget(void **state)
{
    enum { NEGLECTED = 5, FILES_PER_TURN = 2, FILES_PER_DAY = TURNS_PER_DAY * FILES_PER_TURN };
    struct firn_op *op = test_op(state);
    struct era *era = FIRN_NEW(op->arena, struct era);
    struct partitions partitions = { 0 };
    int64_t budget = 0, rewritten = 0;
    era_begin(op, era, NULL);
    for (int turn_number = 0; turn_number < DAYS * TURNS_PER_DAY; turn_number++) {
        int day = turn_number / TURNS_PER_DAY;
        struct turn turn;
        add_files(op, &era->scene, day, FILES_PER_TURN);
        era->now_ms += FIRN_MS_PER_DAY / TURNS_PER_DAY;
        if (day < NEGLECTED)
            continue;
        if (budget == 0) /* of a day and a little more */
            budget = live_bytes(op, era) / turn_number * TURNS_PER_DAY * 5 / 4;
        struct firn_text settings = firn_text_format(
            op->arena, "compact.every=4h compact.min-input-files=2 windows=20:00-04:00 budget.bytes=%" PRId64, budget);
        int64_t hour = era->now_ms / FIRN_MS_PER_HOUR % 24;
        run_turn(op, era, (struct asked){ .settings = settings.data }, &turn);
        check_step(&turn, FIRN_STEP_COMPACT, hour >= 20 || hour < 4 ? "done" : "not due");
        int64_t bytes = number_of(&turn, FIRN_STEP_COMPACT, "rewritten_bytes_count");
        CHECK(bytes <= budget, "day %d, %" PRId64 ":00: %" PRId64 " bytes of %" PRId64, day, hour, bytes, budget);
        rewritten += number_of(&turn, FIRN_STEP_COMPACT, "rewritten_data_files_count");
        end_turn(&turn);
    }
    check_cold(op, era, DAYS - 1, &partitions);
    check_rows(op, &era->scene, "after two weeks");
    CHECK(rewritten >= FILES_PER_DAY * (DAYS - 1) && rewritten <= FILES_PER_DAY * DAYS + 2 * DAYS, "%" PRId64 " files",
          rewritten);
    era_end(op, era);
}

/* A second look finds nothing, however often it is asked for. */
static void nothing_is_done_twice(void **state)
{
    struct firn_op *op = test_op(state);
    struct era *era = FIRN_NEW(op->arena, struct era);
    struct turn turn;
    era_begin(op, era, NULL);
    add_files(op, &era->scene, 0, 6);
    add_files(op, &era->scene, 1, 3);
    run_turn(op, era, (struct asked){ 0 }, &turn);
    check_step(&turn, FIRN_STEP_COMPACT, "done");
    assert_int_equal(number_of(&turn, FIRN_STEP_COMPACT, "rewritten_data_files_count"), 6);
    end_turn(&turn);
    run_turn(op, era, (struct asked){ .force = true }, &turn);
    check_step(&turn, FIRN_STEP_COMPACT, "nothing to do");
    CHECK(strstr(text_of(&turn, FIRN_STEP_COMPACT, "work"), "2 groups unchanged since the last run"), "%s",
          text_of(&turn, FIRN_STEP_COMPACT, "work"));
    end_turn(&turn);

    /* Too few while it changes, once more when it is cold, and then never again. */
    era->now_ms += 25 * FIRN_MS_PER_HOUR;
    run_turn(op, era, (struct asked){ 0 }, &turn);
    check_step(&turn, FIRN_STEP_COMPACT, "done");
    assert_int_equal(number_of(&turn, FIRN_STEP_COMPACT, "rewritten_data_files_count"), 3);
    end_turn(&turn);
    for (int day = 0; day < 3; day++) {
        era->now_ms += 25 * FIRN_MS_PER_HOUR;
        run_turn(op, era, (struct asked){ 0 }, &turn);
        check_step(&turn, FIRN_STEP_COMPACT, "nothing to do");
        end_turn(&turn);
    }
    check_rows(op, &era->scene, "at the end");
    era_end(op, era);
}

/* What was rolled back must be compacted again. */
static void a_rollback_unsettles(void **state)
{
    struct firn_op *op = test_op(state);
    struct era *era = FIRN_NEW(op->arena, struct era);
    struct turn turn;
    json_t *updates;
    era_begin(op, era, NULL);
    add_files(op, &era->scene, 0, 6);
    struct firn_table table = second_handle(op, &era->scene.world);
    int64_t id = table.metadata->current_snapshot_id;
    run_turn(op, era, (struct asked){ 0 }, &turn);
    check_step(&turn, FIRN_STEP_COMPACT, "done");
    end_turn(&turn);
    table = second_handle(op, &era->scene.world);
    struct firn_text json = firn_text_format(op->arena,
                                             "[{\"action\": \"set-snapshot-ref\", \"ref-name\": \"main\", \"type\": "
                                             "\"branch\", \"snapshot-id\": %" PRId64 "}]",
                                             id);
    CHECK_OK(op, firn_json_parse(op, json, "updates", &updates));
    CHECK_OK(op, firn_catalog_commit(op, &table, firn_json_own(op->arena, json_array()), updates));
    run_turn(op, era, (struct asked){ .force = true }, &turn);
    check_step(&turn, FIRN_STEP_COMPACT, "done");
    end_turn(&turn);
    check_rows(op, &era->scene, "at the end");
    era_end(op, era);
}

static void what_does_not_pay_waits(void **state)
{
    struct firn_op *op = test_op(state);
    struct era *era = FIRN_NEW(op->arena, struct era);
    struct turn turn;
    era_begin(op, era, NULL);
    add_files(op, &era->scene, 0, 6);
    run_turn(op, era, (struct asked){ .settings = "compact.max-bytes-per-file-saved=10" }, &turn);
    check_step(&turn, FIRN_STEP_COMPACT, "nothing to do");
    CHECK(strstr(text_of(&turn, FIRN_STEP_COMPACT, "work"), "1 groups that do not pay yet"), "%s",
          text_of(&turn, FIRN_STEP_COMPACT, "work"));
    end_turn(&turn);
    run_turn(op, era, (struct asked){ .settings = "compact.max-bytes-per-file-saved=1MiB", .force = true }, &turn);
    check_step(&turn, FIRN_STEP_COMPACT, "done");
    end_turn(&turn);
    era_end(op, era);
}

static double money_of(const struct turn *turn, const char *side)
{
    return json_real_value(json_object_get(json_object_get(turn->report, side), "scan_money"));
}

/* What was predicted and done is told in the same terms, and scans cost less than before. */
static void check_work(const struct turn *turn)
{
    const json_t *step = step_of(turn, FIRN_STEP_COMPACT), *total = json_object_get(turn->report, "actual");
    const json_t *predicted = json_object_get(step, "predicted"), *actual = json_object_get(step, "actual");
    json_int_t requests = json_integer_value(json_object_get(actual, "requests"));
    CHECK(json_integer_value(json_object_get(predicted, "requests")) > 0 && requests > 0, "no requests");
    CHECK(json_real_value(json_object_get(predicted, "money")) > 0, "no money");
    CHECK(json_integer_value(json_object_get(total, "requests")) > requests, "the run is more than its step");
    CHECK(money_of(turn, "after") < money_of(turn, "before"), "%g before, %g after", money_of(turn, "before"),
          money_of(turn, "after"));
}

/* The first group goes on; what is left is not forgotten. */
static void a_budget_of_time_ends_compaction_at_a_commit(void **state)
{
    struct firn_op *op = test_op(state);
    struct era *era = FIRN_NEW(op->arena, struct era);
    struct turn turn;
    era_begin(op, era, NULL);
    era->scene.env.monotonic_ms = slow_clock_ms;
    for (int part = 0; part < 4; part++)
        add_files(op, &era->scene, part, 6);
    int64_t left = 4;
    for (int round = 0; left > 0; round++) {
        run_turn(op, era, (struct asked){ .settings = "budget.time=6s", .steps = 1, .force = true }, &turn);
        CHECK(turn.status == FIRN_OK, "%s", turn.op.error.text);
        check_step(&turn, FIRN_STEP_COMPACT, "done");
        int64_t files = number_of(&turn, FIRN_STEP_COMPACT, "rewritten_data_files_count");
        int64_t now_left = number_of(&turn, FIRN_STEP_COMPACT, "left_groups_count");
        CHECK(files > 0 && now_left == left - files / 6 && (round > 0 || now_left > 0),
              "round %d: %" PRId64 " files, %" PRId64 " groups left", round, files, now_left);
        left = now_left;
        end_turn(&turn);
    }
    check_rows(op, &era->scene, "at the end");
    era_end(op, era);
}

/* Best gain first; what is left is done by later runs. */
static void a_budget_is_kept(void **state)
{
    struct firn_op *op = test_op(state);
    struct era *era = FIRN_NEW(op->arena, struct era);
    struct turn turn;
    era_begin(op, era, NULL);
    add_files(op, &era->scene, 0, 6);
    int64_t few = live_bytes(op, era);
    add_files(op, &era->scene, 1, 12);
    int64_t budget = live_bytes(op, era) - few; /* of the second partition alone */
    struct firn_text settings = firn_text_format(op->arena, "budget.bytes=%" PRId64, budget);
    const struct asked asked = { .settings = settings.data, .force = true };
    for (int round = 0; round < 2; round++) {
        run_turn(op, era, asked, &turn);
        check_step(&turn, FIRN_STEP_COMPACT, "done");
        int64_t files = number_of(&turn, FIRN_STEP_COMPACT, "rewritten_data_files_count");
        CHECK(files == (round == 0 ? 12 : 6), "round %d: %" PRId64 " files", round, files);
        CHECK(number_of(&turn, FIRN_STEP_COMPACT, "rewritten_bytes_count") <= budget, "budget");
        check_work(&turn);
        end_turn(&turn);
    }
    run_turn(op, era, asked, &turn);
    check_step(&turn, FIRN_STEP_COMPACT, "nothing to do");
    end_turn(&turn);
    check_rows(op, &era->scene, "at the end");
    era_end(op, era);
}

/* Failures -------------------------------------------------------------------------------------------------------- */

static void a_failed_step_keeps_no_other_from_running(void **state)
{
    struct firn_op *op = test_op(state);
    struct era *era = FIRN_NEW(op->arena, struct era);
    struct turn turn;
    era_begin(op, era, "\"history.expire.max-snapshot-age-ms\": \"soon\"");
    add_files(op, &era->scene, 0, 6);
    put_stray(op, era, "stray-1.parquet");
    era->now_ms += 4 * FIRN_MS_PER_DAY;
    run_turn(op, era, (struct asked){ 0 }, &turn);
    assert_int_equal(turn.status, FIRN_PARTIAL);
    check_step(&turn, FIRN_STEP_COMPACT, "done");
    check_step(&turn, FIRN_STEP_EXPIRE, "failed");
    check_step(&turn, FIRN_STEP_SWEEP, "nothing to do");
    check_step(&turn, FIRN_STEP_ORPHANS, "done");
    CHECK(strstr(text_of(&turn, FIRN_STEP_EXPIRE, "error"), "max-snapshot-age-ms"), "%s",
          text_of(&turn, FIRN_STEP_EXPIRE, "error"));
    end_turn(&turn);

    /* It is due again at once; what succeeded is not. */
    run_turn(op, era, (struct asked){ 0 }, &turn);
    check_step(&turn, FIRN_STEP_EXPIRE, "failed");
    check_step(&turn, FIRN_STEP_COMPACT, "not due");
    end_turn(&turn);
    era_end(op, era);
}

/* A data file is broken: older snapshots may be what is left of the table. */
static void damage_keeps_what_is_old(void **state)
{
    struct firn_op *op = test_op(state);
    struct era *era = FIRN_NEW(op->arena, struct era);
    struct turn turn;
    era_begin(op, era, NULL);
    add_files(op, &era->scene, 0, 6);
    put_stray(op, era, "stray-2.parquet");
    struct firn_scan scan = scan_current(op, &era->scene.world, era->scene.world.store);
    CHECK_OK(op, firn_store_put(op, era->scene.world.store, scan.files[3].entry->file.path, false,
                                firn_bytes_of_text(FIRN_TEXT("PAR1 no more PAR1"))));
    era->now_ms += 10 * FIRN_MS_PER_DAY;
    run_turn(op, era, (struct asked){ .settings = "orphans.mode=delete" }, &turn);
    assert_int_equal(turn.status, FIRN_PARTIAL);
    check_step(&turn, FIRN_STEP_COMPACT, "failed");
    check_step(&turn, FIRN_STEP_POSITION_DELETES, "nothing to do");
    check_step(&turn, FIRN_STEP_EXPIRE, "skipped");
    check_step(&turn, FIRN_STEP_SWEEP, "skipped");
    check_step(&turn, FIRN_STEP_ORPHANS, "skipped");
    end_turn(&turn);
    CHECK(has_stray(op, era, "stray-2.parquet"), "it was deleted");
    assert_int_equal(era->scene.world.table.metadata->snapshot_count, 6);
    era_end(op, era);
}

static void a_held_table_is_left(void **state)
{
    struct firn_op *op = test_op(state);
    struct era *era = FIRN_NEW(op->arena, struct era);
    struct firn_lease *lease;
    struct firn_lease_state seen;
    struct turn turn;
    const struct firn_lease_config config = { .holder = FIRN_TEXT("somebody"), .lease_ms = 60000 };
    era_begin(op, era, NULL);
    add_files(op, &era->scene, 0, 6);
    struct firn_table table = second_handle(op, &era->scene.world);
    CHECK_OK(op, firn_lease_take(op, &table, &config, &seen, &lease));
    const struct firn_watch *watch = op->watch;
    op->watch = NULL; /* the other run is another's operation */
    era->others_run = true;
    run_turn(op, era, (struct asked){ 0 }, &turn);
    assert_int_equal(turn.status, FIRN_BUSY);
    CHECK(strstr(turn.op.error.text, "held by somebody"), "%s", turn.op.error.text);
    end_turn(&turn);
    run_turn(op, era, (struct asked){ .dry_run = true }, &turn);
    assert_int_equal(turn.status, FIRN_OK);
    assert_string_equal(json_string_value(json_object_get(json_object_get(turn.report, "lease"), "holder")),
                        "somebody");
    end_turn(&turn);
    op->watch = watch;
    firn_lease_release(op, lease);
    run_turn(op, era, (struct asked){ 0 }, &turn);
    assert_int_equal(turn.status, FIRN_OK);
    end_turn(&turn);
    era_end(op, era);
}

static void a_dry_run_writes_nothing(void **state)
{
    struct firn_op *op = test_op(state);
    struct era *era = FIRN_NEW(op->arena, struct era);
    struct turn turn;
    size_t before, after;
    era_begin(op, era, NULL);
    add_files(op, &era->scene, 0, 6);
    put_stray(op, era, "stray-3.parquet");
    era->now_ms += 10 * FIRN_MS_PER_DAY;
    CHECK_OK(op, store_count(op, era->scene.world.store, table_location(era), &before));
    run_turn(op, era, (struct asked){ .dry_run = true }, &turn);
    assert_int_equal(turn.status, FIRN_OK);
    for (int step = 0; step < FIRN_STEP_COUNT; step++)
        CHECK(json_is_true(json_object_get(step_of(&turn, (enum firn_maintain_step)step), "is_due")), "step %d", step);
    CHECK(json_is_true(json_object_get(step_of(&turn, FIRN_STEP_COMPACT), "has_work")), "compact");
    CHECK(json_is_true(json_object_get(step_of(&turn, FIRN_STEP_EXPIRE), "has_work")), "expire");
    CHECK(json_is_true(json_object_get(step_of(&turn, FIRN_STEP_ORPHANS), "has_work")), "orphans");
    end_turn(&turn);
    CHECK_OK(op, store_count(op, era->scene.world.store, table_location(era), &after));
    assert_int_equal(before, after);
    era_end(op, era);
}

/* The run over a store in which one call fails, or which is not there any more from it on; gives whether it came to
 * that. */
static bool run_over_faults(struct firn_op *op, struct era *era, struct fault fault)
{
    struct world faulty = era->scene.world;
    struct firn_catalog *catalog = era->scene.world.catalog;
    struct fault_report report = { 0 };
    struct firn_store *store;
    struct turn turn;
    CHECK_OK(op, fault_store_open(op, era->scene.world.store, fault, &report, &store));
    open_catalog(op, &faulty, store);
    era->scene.world.catalog = faulty.catalog;
    run_turn(op, era, (struct asked){ 0 }, &turn);
    CHECK(report.fired || turn.status == FIRN_OK, "call %u: %s", fault.at_call, turn.op.error.text);
    end_turn(&turn);
    era->scene.world.catalog = catalog;
    firn_catalog_close(faulty.catalog);
    firn_store_close(store);
    return report.fired;
}

/* Whatever fails, and when: the rows stay, and the next run does what is left. */
static void faults_at_any_call_are_survived(void **state)
{
    struct firn_op *op = test_op(state);
    static const enum fault_kind kinds[] = { FAULT_ERROR, FAULT_ANSWER_LOST, FAULT_KILLED };
    static const uint32_t strides[] = { 31, 37, 11 };
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        bool faulted = true;
        for (uint32_t nth = (uint32_t)k; faulted; nth += strides[k]) {
            struct era *era = FIRN_NEW(op->arena, struct era);
            struct turn turn;
            era_begin(op, era, NULL);
            add_files(op, &era->scene, 0, 6);
            put_stray(op, era, "stray-4.parquet");
            era->now_ms += 10 * FIRN_MS_PER_DAY;
            faulted = run_over_faults(op, era, (struct fault){ .at_call = nth, .kind = kinds[k] });
            check_rows(op, &era->scene, "after a fault");
            run_turn(op, era, (struct asked){ .force = true }, &turn);
            CHECK(turn.status == FIRN_OK, "%s, call %u: %s", fault_name(kinds[k]), nth, turn.op.error.text);
            end_turn(&turn);
            check_rows(op, &era->scene, "after the next run");
            struct firn_scan scan = scan_current(op, &era->scene.world, era->scene.world.store);
            CHECK(scan.file_count == 1, "%s, call %u: %u files", fault_name(kinds[k]), nth, scan.file_count);
            era_end(op, era);
        }
    }
}

/* Decisions ------------------------------------------------------------------------------------------------------- */

static void steps_are_due_by_cadence_and_windows(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        const char *settings;
        int64_t since_ms; /* the last run; below 0: none */
        int32_t hour;     /* of the day */
        bool force, is_due;
        const char *why;
        int64_t next_ms; /* from now; below 0: not known */
    } cases[] = {
        { "", -1, 12, false, true, "no run of it is known", -1 },
        { "", 3600000, 12, false, true, "and compact.every is 1h", -1 },
        { "", 3600000 - 360000, 12, false, true, "and compact.every is 1h", -1 },
        { "", 3600000 - 360001, 12, false, false, "and compact.every is 1h (default)", 1 },
        { "compact.every=0s", 0, 12, false, true, "and compact.every is 0s", -1 },
        { "compact.every=never", -1, 12, false, false, "compact.every is never (given)", -1 },
        { "compact.every=never", -1, 12, true, true, "it was asked for", -1 },
        { "enabled=false", -1, 12, true, false, "enabled is false (given)", -1 },
        { "windows=22:00-06:00", -1, 12, false, false, "but it begins in 22:00-06:00 (UTC) only", 10 * 3600000 },
        { "windows=22:00-06:00", -1, 23, false, true, "no run of it is known", -1 },
        { "windows=22:00-06:00 compact.windows=11:00-13:00", -1, 12, false, true, "no run of it is known", -1 },
        { "windows=22:00-06:00", 0, 5, false, false, "and compact.every is 1h", 3600000 - 360000 },
        { "windows=22:00-06:00 compact.every=2h", 0, 5, false, false, "every is 2h", 17 * 3600000 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct firn_property settings[4];
        struct firn_policy *policy;
        struct firn_maintain_memory memory;
        struct firn_metadata metadata = { .root = firn_json_own(op->arena, json_object()) };
        int64_t now_ms = ERA_START_MS + cases[i].hour * FIRN_MS_PER_HOUR;
        size_t count = split_settings(op, cases[i].settings, settings);
        CHECK_OK(op, firn_policy_of(op, firn_policies_new(op), NULL, settings, count, &policy));
        firn_maintain_memory_parse(NULL, &memory);
        if (cases[i].since_ms >= 0)
            memory.last_ms[FIRN_STEP_COMPACT] = now_ms - cases[i].since_ms;
        const struct firn_maintain_args args = { .policy = policy, .force = cases[i].force };
        struct firn_step_decision decision =
            firn_step_decide(op->arena, &args, &metadata, &memory, FIRN_STEP_COMPACT, now_ms);
        CHECK(decision.is_due == cases[i].is_due, "case %zu: %.*s", i, FIRN_FMT(decision.why));
        CHECK(strstr(decision.why.data, cases[i].why), "case %zu: %.*s", i, FIRN_FMT(decision.why));
        int64_t next_ms = decision.next_ms == FIRN_NEVER_RUN ? -1 : decision.next_ms - now_ms;
        CHECK(next_ms == cases[i].next_ms, "case %zu: next in %" PRId64 " ms", i, next_ms);
    }
}

static void memory_survives_its_text(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_maintain_memory memory = {
        .settings = FIRN_TEXT("a=b"), .settled_number = 7, .cold_number = 5, .settled_snapshot_id = 99
    };
    for (int step = 0; step < FIRN_STEP_COUNT; step++)
        memory.last_ms[step] = step == 2 ? FIRN_NEVER_RUN : 1000 + step;
    json_t *json = firn_json_own(op->arena, firn_maintain_memory_json(&memory));
    struct firn_maintain_memory again;
    firn_maintain_memory_parse(json, &again);
    for (int step = 0; step < FIRN_STEP_COUNT; step++)
        assert_int_equal(again.last_ms[step], memory.last_ms[step]);
    CHECK(firn_text_is(again.settings, "a=b") && again.settled_number == 7 && again.cold_number == 5 &&
              again.settled_snapshot_id == 99,
          "settled");
    json_object_set_new(json, "last_ms", json_integer(3));
    json_object_set_new(json, "settled", json_string("x"));
    firn_maintain_memory_parse(json, &again);
    CHECK(again.last_ms[0] == FIRN_NEVER_RUN && again.settled_number == 0 && again.settings.len == 0, "nonsense");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(two_weeks_of_a_streaming_table),
        TEST(nights_within_a_budget),
        TEST(nothing_is_done_twice),
        TEST(a_rollback_unsettles),
        TEST(what_does_not_pay_waits),
        TEST(a_budget_is_kept),
        TEST(a_budget_of_time_ends_compaction_at_a_commit),
        TEST(a_failed_step_keeps_no_other_from_running),
        TEST(damage_keeps_what_is_old),
        TEST(a_held_table_is_left),
        TEST(a_dry_run_writes_nothing),
        TEST(faults_at_any_call_are_survived),
        TEST(steps_are_due_by_cadence_and_windows),
        TEST(memory_survives_its_text),
    };
    return cmocka_run_group_tests_name("maintain", tests, NULL, NULL);
}
