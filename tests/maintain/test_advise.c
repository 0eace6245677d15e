/* Advice: histories of which the right answer is known, topic by topic; and the corpus. */
#include "maintain/corpus_table.h"
#include "maintain/survey_world.h"

#include "base/math.h"
#include "maintain/advise.h"

#define GIB    (1024 * MIB)
#define MINUTE INT64_C(60000)

enum { COMMITS_MAX = 400 };

/* A table without storage behind its numbers: what a test says of it is what is judged. */
struct desk {
    struct history history;
    struct firn_survey survey;
    struct firn_survey_commit commits[COMMITS_MAX];
    struct firn_survey_writer writer;
    const struct firn_codec_sample *codecs;
    struct firn_advise_report report;
};

/* Medians of the commits of one writer. */
struct habit {
    const char *writer, *operation;
    int count;
    int64_t every_ms;
    int64_t files, bytes, partitions;
    int64_t removed_files, removed_bytes, delete_files, equality_files;
    int64_t total_files; /* 0: a hundred */
    bool replaces;
};

static void add_commits(struct desk *desk, const struct habit *habit)
{
    struct firn_survey *survey = &desk->survey;
    for (int i = 0; i < habit->count; i++) {
        CHECK(survey->commit_count < COMMITS_MAX, "too many");
        desk->commits[survey->commit_count++] = (struct firn_survey_commit){
            .snapshot_id = i,
            .timestamp_ms = HISTORY_START_MS + i * habit->every_ms,
            .operation = firn_text_of(habit->operation ? habit->operation : "append"),
            .writer = firn_text_of(habit->writer),
            .added_files = habit->files,
            .added_bytes = habit->bytes,
            .added_delete_files = habit->delete_files,
            .added_equality_files = habit->equality_files,
            .removed_files = habit->removed_files,
            .removed_bytes = habit->removed_bytes,
            .changed_partitions = habit->partitions,
            .replaces_partitions = habit->replaces,
            .total_files = habit->total_files ? habit->total_files : 100,
        };
    }
    survey->commits = desk->commits;
    desk->writer = (struct firn_survey_writer){ .name = firn_text_of(habit->writer),
                                                .operation = firn_text_of("append"),
                                                .commits = habit->count,
                                                .added_files = habit->files * habit->count };
    survey->writers = &desk->writer;
    survey->writer_count = 1;
}

/* Partitioned by its first column. */
static void desk_open(struct desk *desk, struct firn_op *op, const char *properties, const struct habit *habit)
{
    history_open(&desk->history, op, properties);
    desk->codecs = NULL;
    desk->survey = survey_take(&desk->history);
    desk->survey.total.data = (struct firn_survey_tally){ 100, 50 * GIB, 1000000 };
    add_commits(desk, habit);
}

static void judge(struct desk *desk, struct firn_advise_options options)
{
    struct firn_op *op = desk->history.op;
    CHECK_OK(op, firn_advise_by_survey(op, &desk->history.fixture.table, &desk->survey, desk->codecs, &options,
                                       &desk->report));
    assert_true(json_is_object(firn_advise_json(op, &desk->report)));
}

/* NULL: the topic does not concern the table. */
static const struct firn_advice *find_advice(const struct desk *desk, const char *topic)
{
    const struct firn_advice *found = NULL;
    for (size_t i = 0; i < desk->report.count; i++) {
        if (strcmp(desk->report.items[i].topic, topic) != 0)
            continue;
        CHECK(!found, "%s twice", topic);
        found = &desk->report.items[i];
    }
    return found;
}

static void check_verdict(const struct desk *desk, const char *topic, enum firn_advice_verdict verdict)
{
    const struct firn_advice *advice = find_advice(desk, topic);
    CHECK(advice && advice->verdict == verdict, "%s: %s, %.*s: %.*s", topic,
          advice ? firn_advice_verdict_name(advice->verdict) : "none", FIRN_FMT(advice ? advice->what : FIRN_TEXT("")),
          FIRN_FMT(advice ? advice->why : FIRN_TEXT("")));
    assert_true(advice->what.len > 0 && advice->why.len > 0);
    CHECK((advice->setting_count > 0) == (verdict == FIRN_ADVICE_CHANGE), "%s: settings", topic);
}

/* A change with this setting, word for word. */
static void check_setting(const struct desk *desk, const char *topic, const char *where, const char *text)
{
    check_verdict(desk, topic, FIRN_ADVICE_CHANGE);
    const struct firn_advice *advice = find_advice(desk, topic);
    for (size_t i = 0; i < advice->setting_count; i++)
        if (strcmp(advice->settings[i].where, where) == 0) {
            CHECK(firn_text_is(advice->settings[i].text, text), "'%.*s', not '%s'", FIRN_FMT(advice->settings[i].text),
                  text);
            return;
        }
    CHECK(false, "%s: nothing for %s", topic, where);
}

static struct desk desk;

/* Writers -----------------------------------------------------------------------------------------------------------
 */

#define SHUFFLE(n)                                                                                                     \
    "SET spark.sql.shuffle.partitions = " n                                                                            \
    "; SET spark.sql.adaptive.enabled = true; SET spark.sql.adaptive.coalescePartitions.enabled = true"

static void tasks_of_a_batch(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        struct habit habit;
        int64_t file_bytes;
        const char *setting; /* NULL: fine */
    } cases[] = {
        /* 100 GiB in files of 256 MiB */
        { { "spark", .count = 30, .every_ms = DAY, .files = 2000, .bytes = 100 * GIB, .partitions = 1 },
          256 * MIB,
          SHUFFLE("400") },
        /* 10 GiB in the default of 200 tasks, the default target */
        { { "spark", .count = 30, .every_ms = DAY, .files = 200, .bytes = 10 * GIB, .partitions = 1 },
          0,
          SHUFFLE("20") },
        /* each of 40 partitions needs a file of its own */
        { { "spark", .count = 30, .every_ms = DAY, .files = 400, .bytes = 10 * GIB, .partitions = 40 },
          0,
          SHUFFLE("40") },
        { { "spark", .count = 30, .every_ms = DAY, .files = 24, .bytes = 10 * GIB, .partitions = 1 }, 0, NULL },
        { { "spark", .count = 30, .every_ms = DAY, .files = 40, .bytes = 100 * MIB, .partitions = 40 }, 0, NULL },
        /* a batch that is less than a file */
        { { "iceberg-java", .count = 30, .every_ms = DAY, .files = 200, .bytes = MIB, .partitions = -1 },
          0,
          SHUFFLE("1") },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        desk_open(&desk, op, NULL, &cases[i].habit);
        judge(&desk, (struct firn_advise_options){ .file_bytes = cases[i].file_bytes });
        if (cases[i].setting)
            check_setting(&desk, "shuffle-partitions", "Spark SQL", cases[i].setting);
        else
            check_verdict(&desk, "shuffle-partitions", FIRN_ADVICE_FINE);
        assert_null(find_advice(&desk, "commit-interval"));
        history_close(&desk.history);
    }
}

static void intervals_of_streams(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        struct habit habit;
        int64_t file_bytes;
        const char *latency, *where, *setting;
    } cases[] = {
        /* files of 900 KiB every minute: as long as readers wait */
        { { "flink", .count = 100, .every_ms = MINUTE, .files = 8, .bytes = 8 * 900 * KIB, .partitions = 2 },
          0,
          "",
          "Flink SQL",
          "SET 'execution.checkpointing.interval' = '10min'" },
        { { "flink", .count = 100, .every_ms = MINUTE, .files = 8, .bytes = 8 * 900 * KIB, .partitions = 2 },
          0,
          "30m",
          "Flink SQL",
          "SET 'execution.checkpointing.interval' = '30min'" },
        /* files of 32 MiB every minute, 128 MiB are wanted: four minutes do */
        { { "flink", .count = 100, .every_ms = MINUTE, .files = 4, .bytes = 128 * MIB, .partitions = 1 },
          128 * MIB,
          "",
          "Flink SQL",
          "SET 'execution.checkpointing.interval' = '4min'" },
        { { "spark", .count = 100, .every_ms = 10000, .files = 4, .bytes = 4 * MIB, .partitions = 1 },
          4 * MIB,
          "",
          "Spark streaming",
          ".trigger(Trigger.ProcessingTime(\"40 seconds\"))" },
        { { "flink", .count = 100, .every_ms = 10 * MINUTE, .files = 8, .bytes = 8 * MIB, .partitions = 1 },
          0,
          "",
          NULL,
          NULL },
        { { "flink", .count = 100, .every_ms = MINUTE, .files = 1, .bytes = 300 * MIB, .partitions = 1 },
          0,
          "",
          NULL,
          NULL },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        desk_open(&desk, op, NULL, &cases[i].habit);
        judge(&desk, (struct firn_advise_options){ cases[i].file_bytes, firn_text_of(cases[i].latency) });
        if (cases[i].setting)
            check_setting(&desk, "commit-interval", cases[i].where, cases[i].setting);
        else
            check_verdict(&desk, "commit-interval", FIRN_ADVICE_FINE);
        history_close(&desk.history);
    }
}

static void distribution(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        const char *properties;
        struct habit habit;
        enum firn_advice_verdict verdict;
    } cases[] = {
        { NULL, { "flink", .count = 20, .every_ms = MINUTE, .files = 64, .bytes = 64 * MIB, .partitions = 8 }, 0 },
        { "{\"write.distribution-mode\": \"none\"}",
          { "spark", .count = 20, .every_ms = DAY, .files = 64, .bytes = 64 * MIB, .partitions = 8 },
          0 },
        { "{\"write.distribution-mode\": \"hash\"}",
          { "flink", .count = 20, .every_ms = MINUTE, .files = 64, .bytes = 64 * MIB, .partitions = 8 },
          FIRN_ADVICE_FINE },
        { NULL,
          { "flink", .count = 20, .every_ms = MINUTE, .files = 9, .bytes = 64 * MIB, .partitions = 8 },
          FIRN_ADVICE_FINE },
        /* as many bytes as that need several files a partition */
        { NULL,
          { "spark", .count = 20, .every_ms = DAY, .files = 32, .bytes = 16 * GIB, .partitions = 8 },
          FIRN_ADVICE_FINE },
        { NULL,
          { "flink", .count = 20, .every_ms = MINUTE, .files = 64, .bytes = 64 * MIB, .partitions = -1 },
          FIRN_ADVICE_UNKNOWN },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        desk_open(&desk, op, cases[i].properties, &cases[i].habit);
        judge(&desk, (struct firn_advise_options){ 0 });
        check_verdict(&desk, "distribution-mode", cases[i].verdict);
        if (cases[i].verdict == FIRN_ADVICE_CHANGE) {
            check_setting(&desk, "distribution-mode", "Spark SQL",
                          "ALTER TABLE c.db.t SET TBLPROPERTIES ('write.distribution-mode' = 'hash')");
            check_setting(&desk, "distribution-mode", "firn",
                          "firn set-properties c.db.t write.distribution-mode=hash");
        }
        history_close(&desk.history);
    }
}

/* Medians, so that one large load among many small commits does not count; compactions are nobody's habit. */
static void habits_are_medians(void **state)
{
    struct firn_op *op = test_op(state);
    const struct habit load = { "flink", .count = 1, .files = 4000, .bytes = 4000 * GIB, .partitions = 400 };
    const struct habit compaction = { "flink", "replace", .count = 90, .files = 1, .bytes = 512 * MIB };
    const struct habit stream = { "flink",    .count = 100,     .every_ms = MINUTE,
                                  .files = 8, .bytes = 8 * MIB, .partitions = 2 };
    desk_open(&desk, op, NULL, &load);
    add_commits(&desk, &compaction);
    add_commits(&desk, &stream);
    judge(&desk, (struct firn_advise_options){ 0 });
    assert_int_equal(desk.report.commits, 101);
    check_setting(&desk, "commit-interval", "Flink SQL", "SET 'execution.checkpointing.interval' = '10min'");
    history_close(&desk.history);
}

static void thin_data(void **state)
{
    struct firn_op *op = test_op(state);
    const struct habit few = { "spark", .count = 9, .every_ms = MINUTE, .files = 200, .bytes = MIB, .partitions = 1 };
    const struct habit untold = {
        "spark", .count = 50, .every_ms = MINUTE, .files = -1, .bytes = -1, .partitions = -1
    };
    static const char *const topics[] = { "shuffle-partitions", "commit-interval", "distribution-mode" };
    for (int turn = 0; turn < 2; turn++) {
        desk_open(&desk, op, NULL, turn ? &untold : &few);
        judge(&desk, (struct firn_advise_options){ 0 });
        for (size_t i = 0; i < FIRN_COUNT_OF(topics); i++)
            check_verdict(&desk, topics[i], FIRN_ADVICE_UNKNOWN);
        history_close(&desk.history);
    }
}

static void options_are_checked(void **state)
{
    struct firn_op *op = test_op(state);
    const struct habit habit = { "spark", .count = 1 };
    struct firn_advise_options options = { .latency = FIRN_TEXT("soon") };
    desk_open(&desk, op, NULL, &habit);
    CHECK_STATUS(op, FIRN_USAGE,
                 firn_advise_by_survey(op, &desk.history.fixture.table, &desk.survey, NULL, &options, &desk.report));
    assert_non_null(strstr(op->error.text, "latency"));
    history_close(&desk.history);
}

/* Layout ------------------------------------------------------------------------------------------------------------
 */

static const struct habit nobody = { "spark", .count = 1, .files = 1, .bytes = GIB };

static void file_sizes(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        const char *target;
        int64_t bytes;
        const char *better; /* NULL: fine */
    } cases[] = {
        { "536870912", 50 * GIB, NULL },          { "536870912", 6000 * GIB, "1073741824" },
        { "1073741824", 60000 * GIB, NULL }, /* larger would be more than a task should read */
        { "16777216", 100 * GIB, "268435456" },   { "16777216", GIB, NULL }, /* few, whatever their size */
        { "8589934592", 100 * GIB, "536870912" },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_text properties =
            firn_text_format(op->arena, "{\"write.target-file-size-bytes\": \"%s\"}", cases[i].target);
        desk_open(&desk, op, properties.data, &nobody);
        desk.survey.total.data.bytes = cases[i].bytes;
        judge(&desk, (struct firn_advise_options){ 0 });
        if (cases[i].better)
            check_setting(&desk, "target-file-size", "firn",
                          firn_text_format(op->arena, "firn set-properties c.db.t write.target-file-size-bytes=%s",
                                           cases[i].better)
                              .data);
        else
            check_verdict(&desk, "target-file-size", FIRN_ADVICE_FINE);
        history_close(&desk.history);
    }
}

static void codecs(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        const char *properties;
        bool is_change;
    } cases[] = {
        { NULL, false },
        { "{\"write.parquet.compression-codec\": \"zstd\"}", false },
        { "{\"write.parquet.compression-codec\": \"gzip\"}", true },
        { "{\"write.parquet.compression-codec\": \"SNAPPY\"}", true },
        { "{\"write.parquet.compression-codec\": \"uncompressed\"}", true },
        { "{\"write.parquet.compression-codec\": \"brotli\"}", false },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        desk_open(&desk, op, cases[i].properties, &nobody);
        judge(&desk, (struct firn_advise_options){ 0 });
        check_verdict(&desk, "codec", cases[i].is_change ? FIRN_ADVICE_CHANGE : FIRN_ADVICE_FINE);
        if (cases[i].is_change)
            check_setting(&desk, "codec", "firn", "firn set-properties c.db.t write.parquet.compression-codec=zstd");
        history_close(&desk.history);
    }
    desk_open(&desk, op, "{\"write.format.default\": \"orc\", \"write.parquet.compression-codec\": \"gzip\"}", &nobody);
    judge(&desk, (struct firn_advise_options){ 0 });
    assert_null(find_advice(&desk, "codec"));
    history_close(&desk.history);
}

/* What the newest files say counts more than what properties say. */
static void codecs_of_files(void **state)
{
    struct firn_op *op = test_op(state);
    static const char set[] = "{\"write.parquet.compression-codec\": \"zstd\"}";
    struct firn_codec_sample snappy = { 3, { [FIRN_CODEC_SNAPPY] = 90, [FIRN_CODEC_NONE] = 10 }, 100, 250 };
    struct firn_codec_sample zstd = { 3, { [FIRN_CODEC_ZSTD] = 100 }, 100, 300 };
    desk_open(&desk, op, "{\"write.parquet.compression-codec\": \"brotli\"}", &nobody);
    desk.codecs = &snappy;
    judge(&desk, (struct firn_advise_options){ 0 });
    check_setting(&desk, "codec", "firn", "firn set-properties c.db.t write.parquet.compression-codec=zstd");
    assert_non_null(strstr(find_advice(&desk, "codec")->why.data, "90 % are snappy; all are 2.5 times smaller"));
    desk.codecs = &zstd;
    judge(&desk, (struct firn_advise_options){ 0 });
    check_verdict(&desk, "codec", FIRN_ADVICE_FINE);
    history_close(&desk.history);
    desk_open(&desk, op, set, &nobody); /* and the writer does not go by it */
    desk.codecs = &snappy;
    judge(&desk, (struct firn_advise_options){ 0 });
    check_setting(&desk, "codec", "Spark SQL", "SET spark.sql.iceberg.compression-codec = zstd");
    history_close(&desk.history);
}

/* Partitions of id, each of so many bytes; all have one value when `is_constant`. */
static void set_partitions(struct firn_op *op, size_t count, int64_t bytes, bool is_constant)
{
    struct firn_survey_partition *partitions = FIRN_NEW_ARRAY(op->arena, struct firn_survey_partition, count);
    struct firn_value *values = FIRN_NEW_ARRAY(op->arena, struct firn_value, count);
    for (size_t i = 0; i < count; i++) {
        values[i] = (struct firn_value){ .type = FIRN_TYPE_INT, .integer = is_constant ? 7 : (int64_t)i };
        partitions[i].values = &values[i];
        partitions[i].content.data = (struct firn_survey_tally){ 1, bytes, 1 };
    }
    desk.survey.partitions = partitions;
    desk.survey.partition_count = count;
}

static void partitions_by_size(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        size_t count;
        int64_t bytes;
        bool is_constant;
        const char *change; /* NULL: fine */
    } cases[] = {
        { 1000, MIB, false, "REPLACE PARTITION FIELD `id` WITH bucket(16, id)" },
        { 1000, GIB, false, NULL },
        { 99, MIB, false, NULL }, /* few */
        { 100, GIB, true, "DROP PARTITION FIELD `id`" },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        desk_open(&desk, op, NULL, &nobody);
        set_partitions(op, cases[i].count, cases[i].bytes, cases[i].is_constant);
        judge(&desk, (struct firn_advise_options){ 0 });
        if (cases[i].change)
            check_setting(&desk, "partitioning", "Spark SQL",
                          firn_text_format(op->arena, "ALTER TABLE c.db.t %s", cases[i].change).data);
        else
            check_verdict(&desk, "partitioning", FIRN_ADVICE_FINE);
        history_close(&desk.history);
    }
}

/* Replaces the table's schema and spec: (1: id int, 2: v string, 3: ts timestamp). */
static void set_spec(struct firn_op *op, const char *fields)
{
    struct firn_text spec = firn_text_format(op->arena, "{\"spec-id\": 1, \"fields\": [%s]}", fields);
    history_update(&desk.history,
                   "{\"action\": \"add-schema\", \"schema\": {\"type\": \"struct\", \"schema-id\": 1, \"fields\": ["
                   "{\"id\": 1, \"name\": \"id\", \"required\": false, \"type\": \"int\"},"
                   "{\"id\": 2, \"name\": \"v\", \"required\": false, \"type\": \"string\"},"
                   "{\"id\": 3, \"name\": \"ts\", \"required\": false, \"type\": \"timestamp\"}]}},"
                   "{\"action\": \"set-current-schema\", \"schema-id\": -1},"
                   "{\"action\": \"add-spec\", \"spec\": %s}, {\"action\": \"set-default-spec\", \"spec-id\": -1}",
                   spec.data);
    struct firn_survey numbers = desk.survey;
    desk.survey = survey_take(&desk.history);
    desk.survey.total = numbers.total;
    desk.survey.commits = numbers.commits;
    desk.survey.commit_count = numbers.commit_count;
}

static void use_partitions_of_new_spec(void)
{
    for (size_t i = 0; i < desk.survey.partition_count; i++)
        ((struct firn_survey_partition *)(uintptr_t)desk.survey.partitions)[i].spec_id =
            desk.survey.metadata->default_spec_id;
}

static void partitions_by_time(void **state)
{
    static const char by_month[] = "{\"name\": \"ts_month\", \"transform\": \"month\", \"source-id\": 3, "
                                   "\"field-id\": 1001}";
    static const char by_day[] = "{\"name\": \"ts_day\", \"transform\": \"day\", \"source-id\": 3, \"field-id\": 1002}";
    struct firn_op *op = test_op(state);
    desk_open(&desk, op, NULL, &nobody);
    set_spec(op, by_month);
    set_partitions(op, 12, 300 * GIB, false); /* 600 files a month */
    use_partitions_of_new_spec();
    judge(&desk, (struct firn_advise_options){ 0 });
    check_setting(&desk, "partitioning", "Spark SQL",
                  "ALTER TABLE c.db.t REPLACE PARTITION FIELD `ts_month` WITH days(ts)");
    set_partitions(op, 12, 50 * GIB, false);
    use_partitions_of_new_spec();
    judge(&desk, (struct firn_advise_options){ 0 });
    check_verdict(&desk, "partitioning", FIRN_ADVICE_FINE);
    history_close(&desk.history);

    desk_open(&desk, op, NULL, &nobody);
    set_spec(op, firn_text_format(op->arena, "%s, %s", by_month, by_day).data);
    judge(&desk, (struct firn_advise_options){ 0 });
    check_setting(&desk, "partitioning", "Spark SQL", "ALTER TABLE c.db.t DROP PARTITION FIELD `ts_month`");
    history_close(&desk.history);
}

static struct firn_survey_column *columns_of(void)
{
    return (struct firn_survey_column *)(uintptr_t)desk.survey.columns;
}

static void no_partitions_at_all(void **state)
{
    struct firn_op *op = test_op(state);
    desk_open(&desk, op, NULL, &nobody);
    set_spec(op, "");
    desk.survey.total.data = (struct firn_survey_tally){ 4000, 2000 * GIB, 1 };
    columns_of()[2].files_per_point = 12.5; /* files follow the time */
    judge(&desk, (struct firn_advise_options){ 0 });
    check_setting(&desk, "partitioning", "Spark SQL", "ALTER TABLE c.db.t ADD PARTITION FIELD days(ts)");
    columns_of()[2].files_per_point = 3000;
    judge(&desk, (struct firn_advise_options){ 0 });
    check_verdict(&desk, "partitioning", FIRN_ADVICE_FINE);
    assert_null(find_advice(&desk, "distribution-mode"));
    history_close(&desk.history);
}

/* Columns -----------------------------------------------------------------------------------------------------------
 */

static void metrics_modes(void **state)
{
    struct firn_op *op = test_op(state);
    desk_open(&desk, op, "{\"write.metadata.metrics.column.id\": \"counts\"}", &nobody);
    judge(&desk, (struct firn_advise_options){ 0 });
    check_setting(&desk, "metrics", "firn", "firn set-properties c.db.t write.metadata.metrics.column.id=full");
    history_close(&desk.history);

    desk_open(&desk, op, NULL, &nobody); /* v: large texts that overlap */
    columns_of()[1].compressed_bytes = 1000 * MIB;
    columns_of()[1].value_count = 100000;
    judge(&desk, (struct firn_advise_options){ 0 });
    check_setting(&desk, "metrics", "Spark SQL",
                  "ALTER TABLE c.db.t SET TBLPROPERTIES ('write.metadata.metrics.column.v' = 'none')");
    columns_of()[1].files_per_point = 2; /* files do not overlap in it: it is good for something */
    judge(&desk, (struct firn_advise_options){ 0 });
    check_verdict(&desk, "metrics", FIRN_ADVICE_FINE);
    history_close(&desk.history);

    desk_open(&desk, op, "{\"write.metadata.metrics.default\": \"full\"}", &nobody);
    columns_of()[1].bound_bytes = 20000; /* 100 bytes each */
    columns_of()[1].files_with_bounds = 100;
    judge(&desk, (struct firn_advise_options){ 0 });
    check_setting(&desk, "metrics", "Spark SQL",
                  "ALTER TABLE c.db.t SET TBLPROPERTIES ('write.metadata.metrics.column.v' = 'truncate(16)')");
    history_close(&desk.history);
}

/* Updates -----------------------------------------------------------------------------------------------------------
 */

#define MODES(mode)                                                                                                    \
    "firn set-properties c.db.t write.delete.mode=" mode " write.update.mode=" mode " write.merge.mode=" mode

static void update_modes(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        struct habit habit;
        enum firn_advice_verdict verdict;
        const char *setting;
    } cases[] = {
        /* every hour a tenth of the table is written anew */
        { { "spark", "overwrite", .count = 48, .every_ms = 60 * MINUTE, .files = 10, .bytes = 5 * GIB,
            .removed_files = 10, .removed_bytes = 5 * GIB - MIB },
          FIRN_ADVICE_CHANGE,
          MODES("merge-on-read") },
        /* once a day */
        { { "spark", "overwrite", .count = 20, .every_ms = DAY, .files = 10, .bytes = 5 * GIB, .removed_files = 10,
            .removed_bytes = 5 * GIB },
          FIRN_ADVICE_FINE,
          NULL },
        /* whole partitions */
        { { "spark", "overwrite", .count = 48, .every_ms = 60 * MINUTE, .files = 10, .bytes = 5 * GIB,
            .removed_files = 10, .removed_bytes = 5 * GIB, .replaces = true },
          FIRN_ADVICE_FINE,
          NULL },
        /* the whole table */
        { { "spark", "overwrite", .count = 48, .every_ms = 60 * MINUTE, .files = 10, .bytes = 50 * GIB,
            .removed_files = 10, .removed_bytes = 50 * GIB, .total_files = 10 },
          FIRN_ADVICE_FINE,
          NULL },
        /* deletes now and then, and readers that apply them */
        { { "spark", "overwrite", .count = 10, .every_ms = DAY, .files = 1, .bytes = MIB, .delete_files = 4 },
          FIRN_ADVICE_CHANGE,
          MODES("copy-on-write") },
        { { "spark", "overwrite", .count = 100, .every_ms = 60 * MINUTE, .files = 1, .bytes = MIB, .delete_files = 4 },
          FIRN_ADVICE_FINE,
          NULL },
        { { "flink", "overwrite", .count = 100, .every_ms = MINUTE, .files = 1, .bytes = MIB, .delete_files = 2,
            .equality_files = 1 },
          FIRN_ADVICE_CHANGE,
          "firn convert-equality-deletes c.db.t" },
        { { "spark", "overwrite", .count = 4, .every_ms = MINUTE, .files = 1, .bytes = MIB, .delete_files = 2 },
          FIRN_ADVICE_UNKNOWN,
          NULL },
        { { "spark", "append", .count = 20, .every_ms = MINUTE, .files = 1, .bytes = MIB }, FIRN_ADVICE_FINE, NULL },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        desk_open(&desk, op, NULL, &cases[i].habit);
        desk.survey.total.delete_reads = 40;
        judge(&desk, (struct firn_advise_options){ 0 });
        check_verdict(&desk, "update-mode", cases[i].verdict);
        if (cases[i].setting)
            check_setting(&desk, "update-mode", "firn", cases[i].setting);
        history_close(&desk.history);
    }
}

static void old_tables_need_a_new_format(void **state)
{
    struct firn_op *op = test_op(state);
    const struct habit habit = { "spark",     "overwrite",  .count = 48,         .every_ms = 60 * MINUTE,
                                 .files = 10, .bytes = GIB, .removed_files = 10, .removed_bytes = GIB };
    desk_open(&desk, op, "{\"format-version\": \"1\"}", &habit);
    assert_int_equal(desk.survey.metadata->format_version, 1);
    judge(&desk, (struct firn_advise_options){ 0 });
    check_setting(&desk, "update-mode", "firn", MODES("merge-on-read") " format-version=2");
    history_close(&desk.history);
}

/* Whole -------------------------------------------------------------------------------------------------------------
 */

/* From real commits, by way of their summaries. */
static void a_real_history(void **state)
{
    struct firn_op *op = test_op(state);
    history_open(&desk.history, op, NULL);
    for (int i = 0; i < 12; i++) {
        struct firn_data_file files[] = {
            survey_file(&desk.history, "a", i % 2, MIB, 10),
            survey_file(&desk.history, "b", i % 2, MIB, 10),
        };
        survey_make(&desk.history, (struct survey_commit){ .added = files, .added_count = 2, .after_ms = MINUTE });
    }
    CHECK_OK(op, firn_advise(op, NULL, &desk.history.fixture.table, &(struct firn_advise_options){ 0 }, &desk.report));
    assert_int_equal(desk.report.commits, 12);
    assert_int_equal(desk.report.span_ms, 11 * MINUTE);
    check_verdict(&desk, "commit-interval", FIRN_ADVICE_CHANGE);
    check_setting(&desk, "distribution-mode", "firn", "firn set-properties c.db.t write.distribution-mode=hash");
    check_verdict(&desk, "update-mode", FIRN_ADVICE_FINE);
    history_close(&desk.history);
}

static void an_empty_table(void **state)
{
    struct firn_op *op = test_op(state);
    history_open(&desk.history, op, NULL);
    CHECK_OK(op, firn_advise(op, NULL, &desk.history.fixture.table, &(struct firn_advise_options){ 0 }, &desk.report));
    assert_int_equal(desk.report.change_count, 0);
    check_verdict(&desk, "metrics", FIRN_ADVICE_UNKNOWN);
    check_verdict(&desk, "update-mode", FIRN_ADVICE_UNKNOWN);
    history_close(&desk.history);
}

static void advise_on(struct firn_op *op, void *context, struct corpus_table *opened)
{
    (void)context;
    struct firn_advise_report report;
    firn_status status = firn_advise(op, NULL, &opened->table, &(struct firn_advise_options){ 0 }, &report);
    CHECK(status == FIRN_OK, "%s: %s", opened->name, op->error.text);
    CHECK(report.count >= 4, "%s: %zu topics", opened->name, report.count);
    assert_true(json_is_object(firn_advise_json(op, &report)));
}

static void every_table_of_the_corpus_is_advised_on(void **state)
{
    corpus_visit_tables(test_op(state), advise_on, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(tasks_of_a_batch),
        TEST(intervals_of_streams),
        TEST(distribution),
        TEST(habits_are_medians),
        TEST(thin_data),
        TEST(options_are_checked),
        TEST(file_sizes),
        TEST(codecs),
        TEST(codecs_of_files),
        TEST(partitions_by_size),
        TEST(partitions_by_time),
        TEST(no_partitions_at_all),
        TEST(metrics_modes),
        TEST(update_modes),
        TEST(old_tables_need_a_new_format),
        TEST(a_real_history),
        TEST(an_empty_table),
        TEST(every_table_of_the_corpus_is_advised_on),
    };
    return cmocka_run_group_tests_name("advise", tests, NULL, NULL);
}
