/* Health of how a table is written, and of some of its partitions. */
#include "maintain/survey_world.h"

#include "base/math.h"
#include "firn/health.h"

static struct firn_health_report examine(struct history *history, struct firn_health_options options)
{
    struct firn_health_report report;
    CHECK_OK(history->op, firn_health_check(history->op, NULL, &history->fixture.table, &options, &report));
    return report;
}

static const struct firn_health_finding *find(const struct firn_health_report *report, const char *code)
{
    for (size_t i = 0; i < report->finding_count; i++)
        if (strcmp(report->findings[i].code, code) == 0)
            return &report->findings[i];
    return NULL;
}

#define CHECK_HAS(text, part) CHECK(strstr((text).data ? (text).data : "", (part)), "%.*s", FIRN_FMT(text))

/* `count` appends of one file each. */
static void write_often(struct history *history, int count, int64_t interval_ms, int64_t bytes)
{
    for (int i = 0; i < count; i++) {
        struct firn_text name = firn_text_format(history->op->arena, "w%d.parquet", i);
        struct firn_data_file file = survey_file(history, name.data, 1, bytes, 10);
        survey_make(history, (struct survey_commit){ .added = &file, .added_count = 1, .after_ms = interval_ms });
    }
}

static void writers_that_commit_often_and_little_are_told(void **state)
{
    static const struct {
        int commits;
        int64_t interval_ms, bytes;
        bool is_found;
        enum firn_health_level level;
    } cases[] = {
        { 25, 30000, MIB, true, FIRN_HEALTH_WARNING },
        { 25, 120000, MIB, true, FIRN_HEALTH_NOTICE },
        { 25, 300000, MIB, false, FIRN_HEALTH_NOTICE },
        { 25, 30000, 200 * MIB, false, FIRN_HEALTH_NOTICE }, /* often, but not little */
        { 10, 30000, MIB, false, FIRN_HEALTH_NOTICE },       /* too few to tell */
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct history history;
        history_open(&history, test_op(state), NULL);
        write_often(&history, cases[i].commits, cases[i].interval_ms, cases[i].bytes);
        struct firn_health_report report = examine(&history, (struct firn_health_options){ 0 });
        const struct firn_health_finding *finding = find(&report, "commit-cadence");
        CHECK(cases[i].is_found == (finding != NULL), "case %zu", i);
        CHECK(!finding || finding->level == cases[i].level, "case %zu", i);
        history_close(&history);
    }
}

static void the_interval_that_would_do_is_told(void **state)
{
    struct history history;
    history_open(&history, test_op(state), NULL);
    write_often(&history, 25, 60000, 16 * MIB);
    struct firn_health_report report = examine(&history, (struct firn_health_options){ 0 });
    const struct firn_health_finding *finding = find(&report, "commit-cadence");
    assert_non_null(finding);
    CHECK_HAS(finding->symptom, "1.0 files of 16.0 MiB each time");
    CHECK_HAS(finding->advice, "one commit in 32"); /* minutes: 512 MiB by 16 a minute */
    history_close(&history);
}

static void writers_are_a_fact(void **state)
{
    struct history history;
    history_open(&history, test_op(state), NULL);
    write_often(&history, 3, 60000, MIB);
    struct firn_health_report report = examine(&history, (struct firn_health_options){ 0 });
    const struct firn_health_fact *fact = NULL;
    for (size_t i = 0; i < report.fact_count; i++)
        if (strcmp(report.facts[i].what, "writers") == 0)
            fact = &report.facts[i];
    assert_non_null(fact);
    CHECK_HAS(fact->text, "append every ");
    CHECK_HAS(fact->text, "1.0 files each");
    history_close(&history);
}

/* Some partitions -------------------------------------------------------------------------------------------------- */

static void only_the_partitions_that_are_asked_for_are_judged(void **state)
{
    struct history history;
    history_open(&history, test_op(state), NULL);
    for (int i = 0; i < 8; i++) {
        struct firn_text name = firn_text_format(history.op->arena, "p%d.parquet", i);
        survey_append(&history, survey_file(&history, name.data, i < 6 ? 1 : 2, MIB, 10));
    }
    struct firn_health_options options = { .where = FIRN_TEXT("id = 1") };
    struct firn_health_report report = examine(&history, options);
    assert_int_equal(report.files, 6);
    assert_int_equal(report.survey->partition_count, 1);
    const struct firn_health_finding *finding = find(&report, "small-files");
    assert_non_null(finding);
    CHECK_HAS(finding->command, "rewrite-data-files");
    CHECK_HAS(finding->command, " --where 'id = 1'");
    CHECK_HAS(finding->call, ", where => 'id = 1')");
    options.where = FIRN_TEXT("id = 2");
    report = examine(&history, options);
    assert_int_equal(report.files, 2);
    assert_null(find(&report, "small-files")); /* too few to pack */
    options.where = FIRN_TEXT("id = 9");
    assert_int_equal(examine(&history, options).files, 0);
    history_close(&history);
}

/* A delete file that data files of other partitions need is not dangling because they are not asked for. */
static void deletes_are_matched_with_all_data_files(void **state)
{
    struct history history;
    history_open(&history, test_op(state), NULL);
    survey_append(&history, survey_file(&history, "a.parquet", 1, MIB, 5));
    struct firn_data_file del = survey_delete(&history, "d.parquet", 1, FIRN_CONTENT_POSITION_DELETES, NULL);
    survey_make(&history, (struct survey_commit){ .deletes = &del, .delete_count = 1, .operation = "overwrite" });
    struct firn_health_report report = examine(&history, (struct firn_health_options){ .where = FIRN_TEXT("id = 1") });
    assert_int_equal(report.survey->total.position_deletes.files, 1);
    assert_int_equal(report.survey->total.dangling.files, 0);
    report = examine(&history, (struct firn_health_options){ .where = FIRN_TEXT("id = 2") });
    assert_int_equal(report.survey->total.position_deletes.files, 0);
    assert_int_equal(report.survey->total.dangling.files, 0);
    history_close(&history);
}

static void predicates_are_of_partition_columns(void **state)
{
    struct history history;
    struct firn_health_report report;
    history_open(&history, test_op(state), NULL);
    struct firn_health_options options = { .where = FIRN_TEXT("v = 'x'") };
    struct firn_table *table = &history.fixture.table;
    assert_int_equal(firn_health_check(history.op, NULL, table, &options, &report), FIRN_USAGE);
    options.where = FIRN_TEXT("v = 'x' AND (v = 'y' OR id < 5)");
    CHECK_OK(history.op, firn_health_check(history.op, NULL, table, &options, &report));
    options.where = FIRN_TEXT("id =");
    assert_int_equal(firn_health_check(history.op, NULL, table, &options, &report), FIRN_USAGE);
    history_close(&history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(writers_that_commit_often_and_little_are_told),
        TEST(the_interval_that_would_do_is_told),
        TEST(writers_are_a_fact),
        TEST(only_the_partitions_that_are_asked_for_are_judged),
        TEST(deletes_are_matched_with_all_data_files),
        TEST(predicates_are_of_partition_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
