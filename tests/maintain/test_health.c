/* Health: each finding comes with exactly its cause, and goes when the command that it names was run. */
#include "maintain/corpus_table.h"
#include "maintain/remedy.h"
#include "maintain/scene.h"
#include "maintain/survey.h"

#include "firn/expire_snapshots.h"
#include "firn/health.h"
#include "firn/refs.h"
#include "firn/remove_orphan_files.h"
#include "firn/rewrite_manifests.h"
#include "firn/table_properties.h"

#include <math.h>

enum { THRESHOLDS_MAX = 8, WORDS_MAX = 12 };

/* Limits of a test, as `--threshold` takes them: "a.healthy=1 b.ill=2". */
struct thresholds {
    struct firn_property items[THRESHOLDS_MAX];
    size_t count;
};

/* Small tables have small files: most tests are about something else. */
#define ANY_SIZE "average-file-bytes.healthy=0 average-file-bytes.ill=0 "

static size_t split(struct firn_arena *arena, struct firn_text text, char separator, struct firn_text *words)
{
    size_t count = 0;
    for (ptrdiff_t at; text.len > 0; text = at < 0 ? FIRN_TEXT("") : firn_text_from(text, (size_t)at + 1)) {
        at = firn_text_find(text, separator);
        struct firn_text word = at < 0 ? text : firn_text_until(text, (size_t)at);
        CHECK(count < WORDS_MAX, "too many words");
        if (word.len > 0)
            words[count++] = firn_text_copy(arena, word);
    }
    return count;
}

static struct thresholds thresholds_of(struct firn_op *op, const char *text)
{
    struct thresholds out = { 0 };
    struct firn_text words[WORDS_MAX], sides[WORDS_MAX];
    size_t count = split(op->arena, firn_text_of(text), ' ', words);
    for (size_t i = 0; i < count; i++) {
        CHECK(split(op->arena, words[i], '=', sides) == 2, "%s", words[i].data);
        out.items[out.count++] = (struct firn_property){ sides[0], sides[1] };
    }
    return out;
}

static struct firn_health_report examine(struct firn_op *op, struct firn_table *table, const char *limits)
{
    struct firn_health_report report;
    struct thresholds thresholds = thresholds_of(op, limits);
    struct firn_health_options options = { true, thresholds.items, thresholds.count };
    CHECK_OK(op, firn_table_refresh(op, table));
    CHECK_OK(op, firn_health_check(op, NULL, table, &options, &report));
    assert_true(json_is_object(firn_health_json(op, &report, true)));
    return report;
}

static const char *codes_of(struct firn_op *op, const struct firn_health_report *report)
{
    struct firn_text text = FIRN_TEXT("");
    for (size_t i = 0; i < report->finding_count; i++)
        text = firn_text_format(op->arena, "%.*s%s%s", FIRN_FMT(text), i ? " " : "", report->findings[i].code);
    return firn_text_copy(op->arena, text).data;
}

static void check_codes(struct firn_op *op, const struct firn_health_report *report, const char *codes)
{
    CHECK(strcmp(codes_of(op, report), codes) == 0, "'%s', not '%s'", codes_of(op, report), codes);
}

/* Running what a finding says -------------------------------------------------------------------------------------- */

struct command {
    struct firn_text words[WORDS_MAX];
    size_t count;
    struct firn_property options[WORDS_MAX];
    size_t option_count;
};

static void run_rewrite_data_files(struct firn_op *op, struct firn_table *table, const struct command *command)
{
    struct firn_rewrite_plan *plan;
    struct firn_rewrite_data_files_report report;
    struct firn_rewrite_data_files_args args = { .options = command->options, .option_count = command->option_count };
    CHECK_OK(op, firn_rewrite_data_files_plan(op, NULL, table, &args, &plan));
    CHECK_OK(op, firn_rewrite_data_files_apply(op, NULL, table, plan, NULL, &report));
}

static void run_rewrite_manifests(struct firn_op *op, struct firn_table *table, const struct command *command)
{
    struct firn_manifest_plan *plan;
    struct firn_rewrite_manifests_report report;
    struct firn_rewrite_manifests_args args = { 0 };
    if (command->count > 3) {
        assert_true(firn_text_is(command->words[3], "--spec-id"));
        args.has_spec_id = firn_text_to_i64(command->words[4], &args.spec_id);
    }
    CHECK_OK(op, firn_rewrite_manifests_plan(op, NULL, table, &args, &plan));
    CHECK_OK(op, firn_rewrite_manifests_apply(op, NULL, table, plan, &report));
}

static void run_expire_snapshots(struct firn_op *op, struct firn_table *table, const struct command *command)
{
    struct firn_expiry *expiry;
    struct firn_expire_snapshots_report report;
    struct firn_expire_snapshots_args args = { .clean_expired_metadata = command->count > 3 };
    CHECK_OK(op, firn_expire_snapshots_plan(op, NULL, table, &args, &expiry));
    CHECK_OK(op, firn_expire_snapshots_apply(op, NULL, table, expiry, NULL, &report));
}

static void run_remove_orphan_files(struct firn_op *op, struct firn_table *table, const struct command *command)
{
    struct firn_orphan_plan *plan;
    struct firn_remove_orphan_files_args args = { 0 };
    assert_int_equal(command->count, 3);
    CHECK_OK(op, firn_remove_orphan_files_plan(op, NULL, table, &args, &plan));
    CHECK_OK(op, firn_remove_orphan_files_apply(op, NULL, table, plan, NULL));
}

static void run_drop_tag(struct firn_op *op, struct firn_table *table, const struct command *command)
{
    struct firn_refs refs = { .table = table };
    struct firn_ref_drop_args args = { FIRN_KIND_TAG, command->words[3], false };
    struct firn_ref_report report;
    CHECK_OK(op, firn_ref_drop(op, &refs, &args, &report));
}

static void run_set_properties(struct firn_op *op, struct firn_table *table, const struct command *command)
{
    struct firn_text sides[WORDS_MAX];
    struct firn_table_properties_report report;
    assert_int_equal(split(op->arena, command->words[3], '=', sides), 2);
    struct firn_property set = { sides[0], sides[1] };
    struct firn_table_properties_args args = { .set = &set, .set_count = 1 };
    CHECK_OK(op, firn_table_properties_change(op, table, &args, &report));
}

static const struct {
    const char *name;
    void (*run)(struct firn_op *op, struct firn_table *table, const struct command *command);
} procedures[] = {
    { "rewrite-data-files", run_rewrite_data_files },
    { "rewrite-manifests", run_rewrite_manifests },
    { "expire-snapshots", run_expire_snapshots },
    { "remove-orphan-files", run_remove_orphan_files },
    { "drop-tag", run_drop_tag },
    { "set-properties", run_set_properties },
};

static void run_one(struct firn_op *op, struct firn_table *table, struct firn_text text)
{
    struct command command = { 0 };
    struct firn_text sides[WORDS_MAX];
    CHECK_OK(op, firn_table_refresh(op, table));
    command.count = split(op->arena, text, ' ', command.words);
    CHECK(command.count >= 3 && firn_text_is(command.words[0], "firn"), "'%.*s'", FIRN_FMT(text));
    assert_true(firn_text_same(command.words[2], table->name));
    for (size_t i = 3; i + 1 < command.count; i++)
        if (firn_text_is(command.words[i], "--option") && split(op->arena, command.words[i + 1], '=', sides) == 2)
            command.options[command.option_count++] = (struct firn_property){ sides[0], sides[1] };
    for (size_t i = 0; i < FIRN_COUNT_OF(procedures); i++)
        if (firn_text_is(command.words[1], procedures[i].name)) {
            procedures[i].run(op, table, &command);
            return;
        }
    CHECK(false, "no procedure for '%.*s'", FIRN_FMT(text));
}

/* Commands are joined by "&&". */
static void run_command(struct firn_op *op, struct firn_table *table, struct firn_text text)
{
    struct firn_text commands[WORDS_MAX];
    size_t count = split(op->arena, text, '&', commands);
    for (size_t i = 0; i < count; i++)
        run_one(op, table, firn_text_trim(commands[i]));
}

/* The table has exactly one finding; its command takes it away. */
static struct firn_health_finding check_mended(struct firn_op *op, struct firn_table *table, const char *limits,
                                               const char *code, enum firn_health_level level)
{
    struct firn_health_report report = examine(op, table, limits);
    check_codes(op, &report, code);
    struct firn_health_finding finding = report.findings[0];
    CHECK(finding.level == level, "%s: %s", code, firn_health_level_name(finding.level));
    assert_true(finding.symptom.len > 0 && finding.cause.len > 0 && finding.call.len > 0);
    run_command(op, table, finding.command);
    struct firn_health_report after = examine(op, table, limits);
    check_codes(op, &after, "");
    assert_int_equal(after.score, 100);
    return finding;
}

/* The clock of a scene, set forward. */
static int64_t in_ten_days(void *context)
{
    return firn_env_real()->now_us(context) + INT64_C(864000000000);
}
static int64_t in_two_years(void *context)
{
    return firn_env_real()->now_us(context) + 730 * INT64_C(86400000000);
}

/* Files -------------------------------------------------------------------------------------------------------------
 */

static struct scene scene; /* large: the model of its rows */

static void a_healthy_table_has_no_finding(void **state)
{
    struct firn_op *op = test_op(state);
    scene_begin(op, &scene, 2, NULL);
    struct firn_health_report empty = examine(op, &scene.world.table, "");
    check_codes(op, &empty, "");
    add_files(op, &scene, 1, 4); /* too few to pack */
    struct firn_health_report report = examine(op, &scene.world.table, "");
    check_codes(op, &report, "");
    assert_int_equal(report.score, 100);
    assert_true(report.is_healthy && !report.is_ill);
    assert_int_equal(report.files, 4);
    assert_true(report.fact_count >= 6);
    scene_end(op, &scene);
}

static void small_files(void **state)
{
    struct firn_op *op = test_op(state);
    scene_begin(op, &scene, 2, NULL);
    add_files(op, &scene, 1, 6);
    add_files(op, &scene, 2, 2);
    struct firn_health_finding finding = check_mended(op, &scene.world.table, "", "small-files", FIRN_HEALTH_ILL);
    assert_int_equal(finding.gain.files, 5);
    assert_int_equal(finding.gain.requests, 10);
    CHECK(finding.cost.money > 6 * 2 * 0.0004 / 1000, "%g for more than six GETs", finding.cost.money);
    CHECK(fabs(finding.gain.money_scan - 10 * 0.0004 / 1000) < 1e-12, "%g", finding.gain.money_scan);
    CHECK(fabs(finding.gain.money_month - 30 * finding.gain.money_scan) < 1e-12, "%g", finding.gain.money_month);
    assert_int_equal(finding.cost.files, 6);
    CHECK(strcmp(finding.command.data, "firn rewrite-data-files c.db.t") == 0, "%s", finding.command.data);
    CHECK(strcmp(finding.call.data, "CALL c.system.rewrite_data_files(table => 'db.t')") == 0, "%s", finding.call.data);
    check_rows(op, &scene, "after compaction");
    scene_end(op, &scene);
}

/* Few of many: the table as a whole is not ill for that. */
static void few_small_files_are_a_notice(void **state)
{
    struct firn_op *op = test_op(state);
    scene_begin(op, &scene, 2, NULL);
    add_files(op, &scene, 1, 5);
    for (int part = 2; part < 14; part++)
        add_files(op, &scene, part, 4);
    const char *limits = "manifests.healthy=100 commit-minutes.healthy=0 commit-minutes.ill=0";
    struct firn_health_report report = examine(op, &scene.world.table, limits);
    check_codes(op, &report, "small-files");
    assert_int_equal(report.findings[0].level, FIRN_HEALTH_NOTICE);
    assert_int_equal(report.score, 98);
    assert_true(report.is_healthy);
    scene_end(op, &scene);
}

static void many_files(void **state)
{
    struct firn_op *op = test_op(state);
    scene_begin(op, &scene, 2, NULL);
    add_files(op, &scene, 1, 6);
    check_mended(op, &scene.world.table, ANY_SIZE "partition-files.healthy=5", "partition-files", FIRN_HEALTH_WARNING);
    add_files(op, &scene, 1, 5);
    add_files(op, &scene, 2, 5);
    check_mended(op, &scene.world.table, ANY_SIZE "table-files.healthy=9 table-files.ill=11", "table-files",
                 FIRN_HEALTH_ILL);
    scene_end(op, &scene);
}

/* Compaction is no help where files are few by partition. */
static void many_files_that_cannot_be_packed(void **state)
{
    struct firn_op *op = test_op(state);
    scene_begin(op, &scene, 2, NULL);
    for (int part = 0; part < 4; part++)
        add_files(op, &scene, part, 2);
    struct firn_health_report report = examine(op, &scene.world.table, "table-files.healthy=5");
    check_codes(op, &report, "table-files");
    assert_int_equal(report.findings[0].command.len, 0);
    assert_true(report.findings[0].advice.len > 0);
    assert_int_equal(report.findings[0].gain.files, 0);
    scene_end(op, &scene);
}

/* Deletes -----------------------------------------------------------------------------------------------------------
 */

static void delete_files(void **state)
{
    struct firn_op *op = test_op(state);
    scene_begin(op, &scene, 2, NULL);
    add_files(op, &scene, 1, 3);
    DELETE_IDS(op, &scene, FIRN_DELETES_BY_PARTITION, 3, 14);
    struct firn_health_finding finding =
        check_mended(op, &scene.world.table, ANY_SIZE, "position-deletes", FIRN_HEALTH_ILL);
    assert_true(finding.gain.requests > 0 && finding.cost.bytes > 0);
    delete_by_equality(op, &scene, 1, (const int64_t[]){ 5, 6 }, 2, false);
    check_mended(op, &scene.world.table, ANY_SIZE, "equality-deletes", FIRN_HEALTH_ILL);
    check_rows(op, &scene, "after both");
    scene_end(op, &scene);
}

static void deleted_rows(void **state)
{
    struct firn_op *op = test_op(state);
    scene_begin(op, &scene, 3, NULL);
    add_files(op, &scene, 1, 3);
    DELETE_IDS(op, &scene, FIRN_DELETES_BY_FILE, 3, 4);
    struct firn_health_report report = examine(op, &scene.world.table, ANY_SIZE);
    check_codes(op, &report, ""); /* 2 of 30 */
    DELETE_IDS(op, &scene, FIRN_DELETES_BY_FILE, 5, 6);
    check_mended(op, &scene.world.table, ANY_SIZE, "deleted-rows", FIRN_HEALTH_WARNING);
    check_rows(op, &scene, "after the rewrite");
    scene_end(op, &scene);
}

static void dangling_deletes(void **state)
{
    struct firn_op *op = test_op(state);
    scene_begin(op, &scene, 2, NULL);
    add_files(op, &scene, 1, 3);
    delete_by_equality(op, &scene, 7, (const int64_t[]){ 5000 }, 1, false);
    check_mended(op, &scene.world.table, ANY_SIZE "equality-deletes.healthy=1 equality-deletes.ill=1",
                 "dangling-deletes", FIRN_HEALTH_WARNING);
    scene_end(op, &scene);
}

/* Metadata ----------------------------------------------------------------------------------------------------------
 */

static void manifests(void **state)
{
    struct firn_op *op = test_op(state);
    scene_begin(op, &scene, 2, NULL);
    add_files(op, &scene, 1, 6);
    struct firn_health_finding finding =
        check_mended(op, &scene.world.table, ANY_SIZE "manifests.healthy=5", "manifests", FIRN_HEALTH_WARNING);
    assert_int_equal(finding.gain.manifests, 5);
    assert_int_equal(finding.cost.files, 6);
    add_bucket_spec(op, &scene); /* those of the older spec now need to be named */
    add_files(op, &scene, 1, 2); /* (by a writer that still uses it) */
    finding = check_mended(op, &scene.world.table,
                           ANY_SIZE "metrics-coverage.healthy=0 metrics-coverage.ill=0 manifests.healthy=2",
                           "manifests", FIRN_HEALTH_WARNING);
    CHECK(strstr(finding.command.data, "--spec-id 0"), "%s", finding.command.data);
    scene_end(op, &scene);
}

static void snapshots(void **state)
{
    struct firn_op *op = test_op(state);
    scene_begin(op, &scene, 2, NULL);
    add_files(op, &scene, 1, 4);
    struct firn_health_report young = examine(op, &scene.world.table, ANY_SIZE "expirable-snapshots.healthy=2");
    check_codes(op, &young, "");
    scene.env.now_us = in_ten_days;
    check_mended(op, &scene.world.table, ANY_SIZE "expirable-snapshots.healthy=2", "snapshots", FIRN_HEALTH_WARNING);
    scene_end(op, &scene);
}

static void bytes_of_snapshots(void **state)
{
    struct firn_op *op = test_op(state);
    scene_begin(op, &scene, 2, NULL);
    add_files(op, &scene, 1, 6);
    run_command(op, &scene.world.table, FIRN_TEXT("firn rewrite-data-files c.db.t"));
    scene.env.now_us = in_ten_days;
    struct firn_health_finding finding = check_mended(op, &scene.world.table, ANY_SIZE, "snapshots", FIRN_HEALTH_ILL);
    assert_true(finding.gain.bytes > 0);
    double month = (double)finding.gain.bytes * 0.023 / (1 << 30);
    CHECK(fabs(finding.gain.money_month - month) < 1e-12, "%g, not %g", finding.gain.money_month, month);
    scene_end(op, &scene);
}

static void the_metadata_file(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_store_stat stat;
    scene_begin(op, &scene, 2, NULL);
    add_files(op, &scene, 1, 12);
    scene.env.now_us = in_ten_days;
    CHECK_OK(op, firn_table_refresh(op, &scene.world.table));
    CHECK_OK(op, firn_store_stat(op, scene.world.store, scene.world.table.metadata_location, &stat));
    struct firn_text limits =
        firn_text_format(op->arena, ANY_SIZE "metadata-bytes.healthy=%" PRIu64, stat.size * 8 / 10);
    check_mended(op, &scene.world.table, limits.data, "metadata-file", FIRN_HEALTH_WARNING);
    scene_end(op, &scene);
}

static void stale_tags(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_refs refs = { .table = &scene.world.table };
    struct firn_ref_create_args keep = { .kind = FIRN_KIND_TAG, .name = FIRN_TEXT("audit-1") };
    struct firn_ref_report made;
    scene_begin(op, &scene, 2, NULL);
    add_files(op, &scene, 1, 1);
    CHECK_OK(op, firn_ref_create(op, &refs, &keep, &made));
    struct firn_health_report young = examine(op, &scene.world.table, "");
    check_codes(op, &young, "");
    scene.env.now_us = in_two_years;
    struct firn_health_finding finding = check_mended(op, &scene.world.table, "", "stale-refs", FIRN_HEALTH_NOTICE);
    CHECK(strcmp(finding.call.data, "ALTER TABLE c.db.t DROP TAG `audit-1`") == 0, "%s", finding.call.data);
    scene_end(op, &scene);
}

static void orphans(void **state)
{
    struct firn_op *op = test_op(state);
    scene_begin(op, &scene, 2, NULL);
    add_files(op, &scene, 1, 1);
    struct firn_text path = firn_location_join(op->arena, scene.world.table.metadata->location, FIRN_TEXT("data/x"));
    uint8_t content[4096] = { 0 };
    CHECK_OK(op, firn_store_put(op, scene.world.store, path, true, (struct firn_bytes){ content, sizeof content }));
    struct firn_health_report young = examine(op, &scene.world.table, "");
    check_codes(op, &young, "");
    scene.env.now_us = in_ten_days;
    struct firn_health_finding finding = check_mended(op, &scene.world.table, "", "orphans", FIRN_HEALTH_ILL);
    assert_int_equal(finding.gain.bytes, sizeof content);
    scene_end(op, &scene);
}

/* An old snapshot's list is lost: what it held cannot be told from orphans, and all else is measured. */
static void orphans_that_cannot_be_told(void **state)
{
    struct firn_op *op = test_op(state);
    scene_begin(op, &scene, 2, NULL);
    add_files(op, &scene, 1, 2);
    CHECK_OK(op, firn_table_refresh(op, &scene.world.table));
    struct firn_text list = scene.world.table.metadata->snapshots[0].manifest_list;
    CHECK_OK(op, firn_store_delete(op, scene.world.store, &list, 1, NULL));
    struct firn_health_report report = examine(op, &scene.world.table, "");
    assert_int_equal(report.survey->total.data.files, 2);
    assert_true(report.survey->orphan_files < 0);
    json_t *survey = json_object_get(firn_health_json(op, &report, true), "survey");
    assert_true(json_is_null(json_object_get(survey, "orphans")));
    CHECK(strstr(json_string_value(json_object_get(survey, "orphans_problem")), "snap-"), "%s",
          json_string_value(json_object_get(survey, "orphans_problem")));
    scene_end(op, &scene);
}

/* Partitions and columns --------------------------------------------------------------------------------------------
 */

static void too_many_partitions(void **state)
{
    enum { PARTITIONS = 100 };
    struct firn_op *op = test_op(state);
    struct firn_data_file *files = FIRN_NEW_ARRAY(op->arena, struct firn_data_file, PARTITIONS);
    scene_begin(op, &scene, 2, NULL);
    for (int i = 0; i < PARTITIONS; i++)
        files[i] = write_file(op, &scene.world, i, 2);
    CHECK_OK(op, append_through(op, &scene.world.table, files, PARTITIONS - 1));
    struct firn_health_report fine = examine(op, &scene.world.table, "");
    check_codes(op, &fine, "");
    CHECK_OK(op, append_through(op, &scene.world.table, &files[PARTITIONS - 1], 1));
    struct firn_health_report report = examine(op, &scene.world.table, "");
    check_codes(op, &report, "over-partitioned");
    const char *call = "ALTER TABLE c.db.t REPLACE PARTITION FIELD `part` WITH bucket(16, part)";
    CHECK(strcmp(report.findings[0].call.data, call) == 0, "%s", report.findings[0].call.data);
    add_bucket_spec(op, &scene);
    run_command(op, &scene.world.table, report.findings[0].command);
    struct firn_health_report after = examine(op, &scene.world.table, "");
    check_codes(op, &after, "");
    scene_end(op, &scene);
}

static void sort_by_id(struct firn_op *op, struct scene *of)
{
    json_t *updates;
    CHECK_OK(op, firn_json_parse(op,
                                 FIRN_TEXT("[{\"action\": \"add-sort-order\", \"sort-order\": {\"order-id\": 1, "
                                           "\"fields\": [{\"source-id\": 1, \"transform\": \"identity\", "
                                           "\"direction\": \"asc\", \"null-order\": \"nulls-first\"}]}},"
                                           "{\"action\": \"set-default-sort-order\", \"sort-order-id\": 1}]"),
                                 "updates", &updates));
    CHECK_OK(op, firn_table_refresh(op, &of->world.table));
    CHECK_OK(op, firn_catalog_commit(op, &of->world.table, firn_json_own(op->arena, json_array()), updates));
}

static void metrics(void **state)
{
    struct firn_op *op = test_op(state);
    scene_begin(op, &scene, 2, NULL);
    add_files(op, &scene, 1, 3); /* whose entries have no bounds */
    struct firn_health_report unsorted = examine(op, &scene.world.table, "");
    check_codes(op, &unsorted, ""); /* nobody is expected to filter by id */
    sort_by_id(op, &scene);
    check_mended(op, &scene.world.table, "", "metrics", FIRN_HEALTH_ILL);
    scene_end(op, &scene);
}

static void metrics_that_are_switched_off(void **state)
{
    struct firn_op *op = test_op(state);
    scene_begin(op, &scene, 2, "\"write.metadata.metrics.column.id\": \"none\"");
    add_files(op, &scene, 1, 3);
    sort_by_id(op, &scene);
    struct firn_health_finding finding = check_mended(op, &scene.world.table, "", "metrics", FIRN_HEALTH_ILL);
    const char *wanted = "firn set-properties c.db.t write.metadata.metrics.column.id=full && "
                         "firn rewrite-data-files c.db.t --option rewrite-all=true";
    CHECK(strcmp(finding.command.data, wanted) == 0, "%s", finding.command.data);
    wanted = "ALTER TABLE c.db.t SET TBLPROPERTIES ('write.metadata.metrics.column.id' = 'full'); CALL "
             "c.system.rewrite_data_files(table => 'db.t', options => map('rewrite-all', 'true'))";
    CHECK(strcmp(finding.call.data, wanted) == 0, "%s", finding.call.data);
    scene_end(op, &scene);
}

static void names_with_quotes(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_table table = { .name = FIRN_TEXT("c.db.t"), .identifier = FIRN_TEXT("db.t") };
    struct firn_property property = firn_remedy_metrics_property(op->arena, FIRN_TEXT("it's"), FIRN_TEXT("full"));
    struct firn_remedy remedy = firn_remedy_properties(op->arena, &table, &property, 1);
    CHECK(strcmp(remedy.command.data, "firn set-properties c.db.t 'write.metadata.metrics.column.it'\\''s=full'") == 0,
          "%s", remedy.command.data);
    const char *wanted = "ALTER TABLE catalog.db.t SET TBLPROPERTIES ('write.metadata.metrics.column.it''s' = 'full')";
    CHECK(strcmp(remedy.call.data, wanted) == 0, "%s", remedy.call.data);
}

/* Files of column id from `step` * i to that and `width` more, as if they were sorted. */
static void add_bounded(struct firn_op *op, struct scene *of, int count, int64_t step, int64_t width)
{
    struct firn_data_file *files = FIRN_NEW_ARRAY(op->arena, struct firn_data_file, (size_t)count);
    for (int i = 0; i < count; i++) {
        struct firn_value lower = { .type = FIRN_TYPE_LONG, .integer = step * i };
        struct firn_value upper = { .type = FIRN_TYPE_LONG, .integer = step * i + width };
        struct firn_bytes *values = FIRN_NEW_ARRAY(op->arena, struct firn_bytes, 2);
        int32_t *id = FIRN_NEW(op->arena, int32_t);
        *id = 1;
        values[0] = firn_value_bytes(op->arena, &lower);
        values[1] = firn_value_bytes(op->arena, &upper);
        files[i] = write_file(op, &of->world, 1, 2);
        files[i].lower_bounds = (struct firn_bound_map){ id, &values[0], 1, true };
        files[i].upper_bounds = (struct firn_bound_map){ id, &values[1], 1, true };
    }
    CHECK_OK(op, firn_table_refresh(op, &of->world.table));
    CHECK_OK(op, append_through(op, &of->world.table, files, (uint32_t)count));
}

static void overlap(void **state)
{
    struct firn_op *op = test_op(state);
    scene_begin(op, &scene, 2, NULL);
    sort_by_id(op, &scene);
    add_bounded(op, &scene, 8, 100, 99);
    struct firn_health_report apart = examine(op, &scene.world.table, ANY_SIZE);
    check_codes(op, &apart, "");
    scene_end(op, &scene);
    scene_begin(op, &scene, 2, NULL);
    sort_by_id(op, &scene);
    add_bounded(op, &scene, 8, 1, 1000);
    struct firn_health_report report = examine(op, &scene.world.table, ANY_SIZE);
    check_codes(op, &report, "overlap");
    assert_int_equal(report.findings[0].level, FIRN_HEALTH_WARNING);
    assert_non_null(strstr(report.findings[0].command.data, " --strategy sort --option rewrite-all=true"));
    scene_end(op, &scene);
}

static void partition_skew(void **state)
{
    struct firn_op *op = test_op(state);
    scene_begin(op, &scene, 2, "\"write.target-file-size-bytes\": \"100\"");
    for (int part = 0; part < 12; part++)
        add_files(op, &scene, part, 1);
    struct firn_health_report even = examine(op, &scene.world.table, ANY_SIZE);
    check_codes(op, &even, "");
    struct firn_data_file large = write_file(op, &scene.world, 3, 10);
    large.file_bytes = 10000000;
    CHECK_OK(op, firn_table_refresh(op, &scene.world.table));
    CHECK_OK(op, append_through(op, &scene.world.table, &large, 1));
    struct firn_health_report report = examine(op, &scene.world.table, ANY_SIZE);
    check_codes(op, &report, "partition-skew");
    scene_end(op, &scene);
}

/* Limits, score, the corpus -----------------------------------------------------------------------------------------
 */

static void limits_are_checked(void **state)
{
    static const struct {
        const char *thresholds, *error;
    } cases[] = {
        { "table-files=3", "there is no threshold 'table-files'" },
        { "table-files.well=3", "there is no threshold 'table-files.well'" },
        { "tables.healthy=3", "there is no threshold 'tables.healthy'" },
        { "table-files.healthy=many", "not a number" },
        { "table-files.healthy=-1", "not a number" },
        { "table-files.healthy=60000", "ill (50000) must not be below healthy (60000)" },
        { "average-file-bytes.ill=200000000", "must not be above healthy" },
    };
    struct firn_op *op = test_op(state);
    struct firn_health_report report;
    scene_begin(op, &scene, 2, NULL);
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct thresholds thresholds = thresholds_of(op, cases[i].thresholds);
        struct firn_health_options options = { false, thresholds.items, thresholds.count };
        CHECK_STATUS(op, FIRN_USAGE, firn_health_check(op, NULL, &scene.world.table, &options, &report));
        CHECK(strstr(op->error.text, cases[i].error), "%s: %s", cases[i].thresholds, op->error.text);
        op->error.hint[0] = 0;
    }
    scene_end(op, &scene);
}

static void the_worst_comes_first_and_the_score_never_ends_below_zero(void **state)
{
    struct firn_op *op = test_op(state);
    scene_begin(op, &scene, 2, NULL);
    add_files(op, &scene, 1, 6);
    delete_by_equality(op, &scene, 7, (const int64_t[]){ 5000 }, 1, false);
    struct firn_health_report report =
        examine(op, &scene.world.table, "manifests.healthy=1 partition-files.healthy=1 partition-files.ill=1");
    check_codes(op, &report, "small-files partition-files equality-deletes dangling-deletes manifests");
    assert_int_equal(report.score, 0); /* 100 less 3 times 30 and 2 times 10 */
    assert_true(report.is_ill);
    json_t *json = firn_health_json(op, &report, false);
    assert_string_equal(json_string_value(json_object_get(json, "state")), "ill");
    assert_null(json_object_get(json, "survey"));
    assert_int_equal(json_array_size(json_object_get(json, "findings")), 5);
    scene_end(op, &scene);
}

static void examine_table(struct firn_op *op, void *context, struct corpus_table *opened)
{
    (void)context;
    struct firn_health_report report;
    struct firn_health_options options = { 0 };
    firn_status status = firn_health_check(op, NULL, &opened->table, &options, &report);
    CHECK(status == FIRN_OK, "%s: %s", opened->name, op->error.text);
    CHECK(report.files == json_integer_value(json_object_get(opened->expected, "live_data_files")), "%s", opened->name);
    CHECK(report.score >= 0 && report.score <= 100, "%s: %d", opened->name, report.score);
    assert_true(json_is_object(firn_health_json(op, &report, true)));
}

static void every_table_of_the_corpus_can_be_examined(void **state)
{
    corpus_visit_tables(test_op(state), examine_table, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_healthy_table_has_no_finding),
        TEST(small_files),
        TEST(few_small_files_are_a_notice),
        TEST(many_files),
        TEST(many_files_that_cannot_be_packed),
        TEST(delete_files),
        TEST(deleted_rows),
        TEST(dangling_deletes),
        TEST(manifests),
        TEST(snapshots),
        TEST(bytes_of_snapshots),
        TEST(the_metadata_file),
        TEST(stale_tags),
        TEST(orphans),
        TEST(orphans_that_cannot_be_told),
        TEST(too_many_partitions),
        TEST(metrics),
        TEST(metrics_that_are_switched_off),
        TEST(names_with_quotes),
        TEST(overlap),
        TEST(partition_skew),
        TEST(limits_are_checked),
        TEST(the_worst_comes_first_and_the_score_never_ends_below_zero),
        TEST(every_table_of_the_corpus_can_be_examined),
    };
    return cmocka_run_group_tests_name("health", tests, NULL, NULL);
}
