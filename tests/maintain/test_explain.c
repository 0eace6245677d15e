/* Explanations of filters: what each level rules out, held against scan planning and against the rows; why files stay,
 * and what mends it. */
#include "maintain/survey_world.h"

#include "base/math.h"
#include "firn/explain.h"
#include "maintain/explain.h"

static struct firn_explain_report explain_at(struct firn_op *op, struct firn_table *table,
                                             struct firn_explain_args args)
{
    struct firn_explain_report report;
    firn_status status = firn_explain(op, NULL, table, &args, &report);
    CHECK(status == FIRN_OK, "%.*s: %s", FIRN_FMT(args.where), op->error.text);
    return report;
}

static struct firn_explain_report explain(struct history *history, const char *where)
{
    return explain_at(history->op, &history->fixture.table, (struct firn_explain_args){ .where = firn_text_of(where) });
}

static const struct firn_explain_reason *find_reason(const struct firn_explain_report *report, const char *code)
{
    for (size_t i = 0; i < report->reason_count; i++)
        if (strcmp(report->reasons[i].code, code) == 0)
            return &report->reasons[i];
    return NULL;
}

static const struct firn_explain_reason *need_reason(const struct firn_explain_report *report, const char *code)
{
    const struct firn_explain_reason *reason = find_reason(report, code);
    CHECK(reason, "%.*s: no reason '%s'", FIRN_FMT(report->where), code);
    return reason;
}

/* Texts that were formatted end with a NUL. */
#define CHECK_HAS(text, part) CHECK(strstr((text).data ? (text).data : "", (part)), "%.*s", FIRN_FMT(text))

/* Levels ---------------------------------------------------------------------------------------------------------- */

static void an_empty_table_reads_nothing(void **state)
{
    struct history history;
    history_open(&history, test_op(state), NULL);
    struct firn_explain_report report = explain(&history, "id = 1");
    assert_int_equal(report.total.files, 0);
    assert_int_equal(report.reason_count, 0);
    assert_int_equal(report.snapshot_id, -1);
    assert_true(json_is_null(json_object_get(firn_explain_json(history.op, &report), "snapshot_id")));
    history_close(&history);
}

/* Partitions 1 to 3, a manifest each; in partition 1 three files by bounds, one of nulls alone, one without metrics. */
static void fill(struct history *history)
{
    struct firn_data_file files[] = {
        survey_bounded(history, survey_file(history, "a.parquet", 1, 10 * MIB, 100), "a", "f"),
        survey_bounded(history, survey_file(history, "b.parquet", 1, 20 * MIB, 100), "e", "p"),
        survey_bounded(history, survey_file(history, "c.parquet", 1, 30 * MIB, 100), "q", "z"),
        survey_counted(history, survey_file(history, "d.parquet", 1, 40 * MIB, 100), 100, 100),
        survey_file(history, "e.parquet", 1, 50 * MIB, 100),
    };
    survey_make(history, (struct survey_commit){ .added = files, .added_count = 5 });
    survey_append(history, survey_bounded(history, survey_file(history, "f.parquet", 2, 5 * MIB, 10), "a", "z"));
    survey_append(history, survey_bounded(history, survey_file(history, "g.parquet", 3, 6 * MIB, 10), "a", "z"));
}

#define CHECK_LEVEL(report, level, f, b)                                                                               \
    CHECK((report).by_level[level].files == (f) && (report).by_level[level].bytes == (b),                              \
          "%s: %" PRId64 " files, %" PRId64 " bytes", firn_explain_level_name(level), (report).by_level[level].files,  \
          (report).by_level[level].bytes)

static void each_level_counts_what_it_rules_out(void **state)
{
    struct history history;
    history_open(&history, test_op(state), "{\"commit.manifest-merge.enabled\": \"false\"}");
    fill(&history);
    struct firn_explain_report report = explain(&history, "id = 1 AND v = 'f'");
    CHECK_LEVEL(report, FIRN_EXPLAIN_MANIFESTS, 2, 11 * MIB);
    CHECK_LEVEL(report, FIRN_EXPLAIN_PARTITIONS, 0, 0);
    CHECK_LEVEL(report, FIRN_EXPLAIN_COUNTS, 1, 40 * MIB);
    CHECK_LEVEL(report, FIRN_EXPLAIN_BOUNDS, 1, 30 * MIB);
    CHECK_LEVEL(report, FIRN_EXPLAIN_KEPT, 3, 80 * MIB);
    assert_int_equal(report.total.files, 7);
    assert_int_equal(report.manifests, 3);
    assert_int_equal(report.manifests_kept, 1);
    assert_int_equal(report.partitions, 3);
    assert_int_equal(report.partitions_kept, 1);
    assert_int_equal(report.requests_all, 1 + 3 + 14);
    assert_int_equal(report.requests_kept, 1 + 1 + 6);
    assert_int_equal(need_reason(&report, "no-metrics")->kept.files, 1);
    const struct firn_explain_reason *overlap = need_reason(&report, "overlapping-bounds");
    assert_int_equal(overlap->kept.files, 2);
    CHECK_HAS(overlap->example, "a.parquet");
    assert_true(firn_text_is(overlap->bounds, "a to f"));
    history_close(&history);
}

static void one_manifest_leaves_it_to_partitions(void **state)
{
    struct history history;
    history_open(&history, test_op(state), NULL);
    struct firn_data_file files[] = { survey_file(&history, "a.parquet", 1, MIB, 1),
                                      survey_file(&history, "b.parquet", 5, MIB, 1) };
    survey_make(&history, (struct survey_commit){ .added = files, .added_count = 2 });
    struct firn_explain_report report = explain(&history, "id = 5");
    CHECK_LEVEL(report, FIRN_EXPLAIN_PARTITIONS, 1, MIB);
    CHECK_LEVEL(report, FIRN_EXPLAIN_KEPT, 1, MIB);
    assert_int_equal(need_reason(&report, "all-match")->kept.files, 1);
    assert_int_equal(report.manifests_in_vain, 0);
    report = explain(&history, "id = 3"); /* within what the manifest spans, and not there */
    assert_int_equal(report.manifests_in_vain, 1);
    CHECK_LEVEL(report, FIRN_EXPLAIN_PARTITIONS, 2, 2 * MIB);
    history_close(&history);
}

static void manifests_that_mix_partitions_are_told(void **state)
{
    struct history history;
    history_open(&history, test_op(state), "{\"commit.manifest-merge.enabled\": \"false\"}");
    for (int i = 0; i < 2; i++) {
        struct firn_data_file files[3];
        for (int part = 0; part < 3; part++) {
            struct firn_text name = firn_text_format(history.op->arena, "m%d-%d.parquet", i, part);
            files[part] = survey_file(&history, name.data, part, MIB, 5);
        }
        survey_make(&history, (struct survey_commit){ .added = files, .added_count = 3 });
    }
    struct firn_explain_report report = explain(&history, "id = 1");
    CHECK_HAS(need_reason(&report, "manifests")->why, "of the 6 files they list 4 are in other partitions");
    CHECK_HAS(need_reason(&report, "manifests")->command, "firn rewrite-manifests ");
    report = explain(&history, "id >= 1");
    assert_null(find_reason(&report, "manifests"));
    history_close(&history);
}

/* Agreement with scan planning ------------------------------------------------------------------------------------- */

static struct firn_data_file draw_file(struct history *history, struct random *random, int number)
{
    static const char *const words[] = { "a", "ab", "abc", "b", "c", "x", "xyz" };
    struct firn_text name = firn_text_format(history->op->arena, "r%d.parquet", number);
    int64_t part = draw(random, 4), bytes = 1 + draw(random, 1000), rows = draw(random, 9);
    struct firn_data_file file = survey_file(history, name.data, part, bytes, rows);
    uint32_t low = draw(random, FIRN_COUNT_OF(words)), high = draw(random, FIRN_COUNT_OF(words));
    if (draw(random, 3))
        file = survey_bounded(history, file, words[FIRN_MIN(low, high)], words[FIRN_MAX(low, high)]);
    if (draw(random, 3))
        file = survey_counted(history, file, rows, draw(random, 10));
    return file;
}

static struct firn_text draw_condition(struct firn_arena *arena, struct random *random)
{
    static const char *const signs[] = { "=", "<>", "<", "<=", ">", ">=" };
    const char *sign = signs[draw(random, FIRN_COUNT_OF(signs))];
    switch (draw(random, 5)) {
    case 0:
        return firn_text_format(arena, "id %s %u", sign, draw(random, 5));
    case 1:
        return firn_text_format(arena, "v IS %sNULL", draw(random, 2) ? "" : "NOT ");
    case 2:
        return firn_text_format(arena, "v %sIN ('a', 'b')", draw(random, 2) ? "" : "NOT ");
    case 3:
        return firn_text_format(arena, "v LIKE '%s%%'", draw(random, 2) ? "ab" : "x");
    default:
        return firn_text_format(arena, "v %s '%s'", sign, draw(random, 2) ? "abd" : "c");
    }
}

static void check_against_scan(struct history *history, struct firn_text where)
{
    struct firn_op *op = history->op;
    const struct firn_metadata *metadata = history_metadata(history);
    struct firn_explain_report report = explain(history, where.data);
    struct firn_scan scan;
    const struct firn_predicate *predicate;
    int64_t bytes = 0;
    CHECK_OK(op, firn_predicate_parse(op, where, firn_metadata_current_schema(metadata), &predicate));
    CHECK_OK(op, firn_scan_plan(op, NULL, history->store, metadata, firn_metadata_current(metadata),
                                (struct firn_scan_options){ .where = predicate }, &scan));
    for (uint32_t i = 0; i < scan.file_count; i++)
        bytes += scan.files[i].entry->file.file_bytes;
    CHECK(report.by_level[FIRN_EXPLAIN_KEPT].files == scan.file_count &&
              report.by_level[FIRN_EXPLAIN_KEPT].bytes == bytes,
          "%.*s: %" PRId64 " files kept, a scan plans %u", FIRN_FMT(where), report.by_level[FIRN_EXPLAIN_KEPT].files,
          scan.file_count);
    for (size_t i = 0; i < report.sort_count; i++)
        CHECK(report.sorts[i].files_sorted < report.sorts[i].files_now, "%.*s", FIRN_FMT(where));
}

static void what_is_kept_is_what_a_scan_plans(void **state)
{
    enum { TABLES = 6, COMMITS = 5, FILES = 5, PREDICATES = 40 };
    for (uint64_t seed = 1; seed <= TABLES; seed++) {
        struct history history;
        struct random random = { seed };
        history_open(&history, test_op(state), seed % 2 ? "{\"commit.manifest-merge.enabled\": \"false\"}" : NULL);
        for (int c = 0; c < COMMITS; c++) {
            struct firn_data_file files[FILES];
            for (int i = 0; i < FILES; i++)
                files[i] = draw_file(&history, &random, c * FILES + i);
            survey_make(&history, (struct survey_commit){ .added = files, .added_count = FILES });
        }
        for (int i = 0; i < PREDICATES; i++) {
            struct firn_arena *arena = history.op->arena;
            struct firn_text left = draw_condition(arena, &random), right = draw_condition(arena, &random);
            check_against_scan(&history, firn_text_format(arena, "%.*s %s %.*s", FIRN_FMT(left),
                                                          draw(&random, 2) ? "AND" : "OR", FIRN_FMT(right)));
        }
        history_close(&history);
    }
}

/* Reasons ---------------------------------------------------------------------------------------------------------- */

static void functions_are_said_of_the_column(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        const char *where, *rewritten; /* empty: firn does not know how */
    } cases[] = {
        { "year(ts) = 2026", "(ts >= TIMESTAMP '2026-01-01 00:00:00' AND ts < TIMESTAMP '2027-01-01 00:00:00')" },
        { "year(d) > 2026", "(d >= DATE '2027-01-01')" },
        { "date_format(ts, 'yyyy-MM') <= '2026-12'", "(ts < TIMESTAMP '2027-01-01 00:00:00')" },
        { "date_format(d, 'yyyy-MM-dd') = '2026-02-28'", "(d >= DATE '2026-02-28' AND d < DATE '2026-03-01')" },
        { "date_format(d, 'yyyy-MM') = '2026-02-28'", "" },
        { "date_format(d, 'yyyy-mm-dd') = '2026-02-28'", "" }, /* minutes */
        { "CAST(ts AS DATE) < '2026-07-01'", "(ts < TIMESTAMP '2026-07-01 00:00:00')" },
        { "date_trunc('hour', ts) = '2026-07-01 05:00:00'",
          "(ts >= TIMESTAMP '2026-07-01 05:00:00' AND ts < TIMESTAMP '2026-07-01 06:00:00')" },
        { "date_trunc('hour', ts) = '2026-07-01 05:10:00'", "" },
        { "NOT (to_date(ts) >= '2026-07-01') AND n = 1", "NOT ((ts >= TIMESTAMP '2026-07-01 00:00:00')) AND n = 1" },
        { "left(s, 2) = 'ab' OR substring(s, 1, 1) = 'x'", "(s LIKE 'ab%') OR (s LIKE 'x%')" },
        { "substring(s, 2, 1) = 'x'", "" },
        { "left(s, 2) = 'a%'", "" },
        { "upper(s) = 'AB'", "" },
        { "year(ts) = 99999999999999", "" },
        { "n = 1", "" },
    };
    static const char schema_text[] = "{\"type\": \"struct\", \"schema-id\": 0, \"fields\": ["
                                      "{\"id\": 1, \"name\": \"n\", \"required\": false, \"type\": \"int\"},"
                                      "{\"id\": 2, \"name\": \"s\", \"required\": false, \"type\": \"string\"},"
                                      "{\"id\": 3, \"name\": \"ts\", \"required\": false, \"type\": \"timestamp\"},"
                                      "{\"id\": 4, \"name\": \"d\", \"required\": false, \"type\": \"date\"}]}";
    struct firn_schema schema;
    json_t *json;
    CHECK_OK(op, firn_json_parse(op, firn_text_of(schema_text), "schema", &json));
    CHECK_OK(op, firn_schema_parse(op, json, &schema));
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        const struct firn_predicate *predicate;
        struct firn_text where = firn_text_of(cases[i].where);
        CHECK_OK(op, firn_predicate_parse_any(op, where, &schema, &predicate));
        struct firn_text text = firn_explain_rewrite(op->arena, where, &schema, predicate);
        CHECK(firn_text_is(text, cases[i].rewritten), "%s: %.*s", cases[i].where, FIRN_FMT(text));
        if (text.len > 0) /* a text that is none would be a bad advice */
            CHECK_OK(op, firn_predicate_parse(op, text, &schema, &predicate));
    }
}

static void functions_rule_nothing_out(void **state)
{
    struct history history;
    history_open(&history, test_op(state), NULL);
    fill(&history);
    struct firn_explain_report report = explain(&history, "left(v, 1) = 'q'");
    assert_int_equal(report.by_level[FIRN_EXPLAIN_KEPT].files, 7);
    CHECK_HAS(need_reason(&report, "function")->advice, "v LIKE 'q%'");
    assert_int_equal(report.rewritten_kept.files, 4); /* c, e, f, g */
    report = explain(&history, "id + 1 = 2");
    CHECK_HAS(need_reason(&report, "function")->advice, "partitioned by this column");
    assert_int_equal(report.rewritten.len, 0);
    history_close(&history);
}

static void partition_columns_that_are_not_filtered_are_named(void **state)
{
    struct history history;
    history_open(&history, test_op(state), NULL);
    fill(&history);
    struct firn_explain_report report = explain(&history, "v = 'm'");
    const struct firn_explain_reason *reason = need_reason(&report, "partition-not-filtered");
    assert_true(firn_text_is(reason->column, "id"));
    CHECK_HAS(reason->advice, "condition on id");
    report = explain(&history, "v = 'm' AND id < 100");
    assert_null(find_reason(&report, "partition-not-filtered"));
    history_close(&history);
}

static void missing_metrics_are_mended_by_a_property_and_a_rewrite(void **state)
{
    struct history history;
    history_open(&history, test_op(state), "{\"write.metadata.metrics.column.v\": \"none\"}");
    fill(&history);
    struct firn_explain_report report = explain(&history, "id = 1 AND v = 'm'");
    const struct firn_explain_reason *reason = need_reason(&report, "no-metrics");
    CHECK_HAS(reason->why, "metrics mode is none");
    CHECK_HAS(reason->command, "'write.metadata.metrics.column.v=truncate(16)' && firn rewrite-data-files ");
    CHECK_HAS(reason->command, " --option rewrite-all=true --where 'id = 1 AND v = ");
    CHECK_HAS(reason->call, "SET TBLPROPERTIES ('write.metadata.metrics.column.v' = 'truncate(16)'); CALL ");
    CHECK_HAS(reason->call, "where => 'id = 1 AND v = ''m''', options => map('rewrite-all', 'true')");
    history_close(&history);
}

static void conditions_that_rule_out_little_say_so(void **state)
{
    static const struct {
        const char *where, *code;
    } cases[] = {
        { "id = 1 AND v <> 'm'", "not-equal" },
        { "id = 1 AND v = 'abcdefghijklmnopqrstuvwxyz'", "truncated-bounds" },
        { "id = 1 AND v IS NULL", "no-metrics" },
    };
    struct history history;
    history_open(&history, test_op(state), NULL);
    fill(&history);
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_explain_report report = explain(&history, cases[i].where);
        need_reason(&report, cases[i].code);
    }
    struct firn_explain_report report = explain(&history, cases[1].where);
    CHECK_HAS(need_reason(&report, "truncated-bounds")->command, "metrics.column.v=truncate(32)");
    history_close(&history);
}

/* A spec that buckets v in place of the one by id: files of before stay, and ranges of v rule out no bucket. */
static void specs_of_before_and_buckets_are_told(void **state)
{
    struct history history;
    history_open(&history, test_op(state), NULL);
    fill(&history);
    history_update(&history, "{\"action\": \"add-spec\", \"spec\": {\"spec-id\": 1, \"fields\": [{\"source-id\": 2, "
                             "\"field-id\": 1001, \"name\": \"v_bucket\", \"transform\": \"bucket[4]\"}]}},"
                             "{\"action\": \"set-default-spec\", \"spec-id\": -1}");
    for (int i = 0; i < 2; i++) {
        struct firn_text name = firn_text_format(history.op->arena, "n%d.parquet", i);
        struct firn_data_file file = survey_file(&history, name.data, i, MIB, 5);
        file.spec_id = 1;
        survey_append(&history, file);
    }
    struct firn_explain_report report = explain(&history, "v = 'm'");
    const struct firn_explain_reason *reason = need_reason(&report, "old-spec");
    assert_true(firn_text_is(reason->column, "v"));
    CHECK_HAS(reason->why, "bucket[4](v)");
    CHECK_HAS(reason->command, "rewrite-all=true");
    assert_null(find_reason(&report, "transform"));
    report = explain(&history, "v > 'm'");
    assert_null(find_reason(&report, "old-spec")); /* no bucket would rule them out either */
    assert_int_equal(need_reason(&report, "transform")->kept.files, 2);
    history_close(&history);
}

static void branches_are_mended_where_they_are(void **state)
{
    struct history history;
    history_open(&history, test_op(state), NULL);
    fill(&history);
    history_set_ref(&history, "audit", "branch", history_metadata(&history)->current_snapshot_id, "");
    struct firn_explain_args args = { .where = FIRN_TEXT("id = 1 AND v = 'm'"), .branch = FIRN_TEXT("audit") };
    struct firn_explain_report report = explain_at(history.op, &history.fixture.table, args);
    const struct firn_explain_reason *reason = need_reason(&report, "no-metrics");
    CHECK_HAS(reason->command, " --branch audit");
    CHECK_HAS(reason->call, "branch => 'audit', ");
    history_close(&history);
}

static void delete_files_cost_their_readers(void **state)
{
    struct history history;
    history_open(&history, test_op(state), NULL);
    struct firn_data_file a = survey_file(&history, "a.parquet", 1, MIB, 5);
    survey_append(&history, a);
    survey_append(&history, survey_file(&history, "b.parquet", 2, MIB, 5));
    struct firn_data_file del = survey_delete(&history, "d.parquet", 1, FIRN_CONTENT_POSITION_DELETES, NULL);
    survey_make(&history, (struct survey_commit){ .deletes = &del, .delete_count = 1, .operation = "overwrite" });
    struct firn_explain_report report = explain(&history, "id = 1");
    assert_int_equal(report.files_with_deletes, 1);
    assert_int_equal(report.delete_reads, 1);
    assert_int_equal(report.delete_read_bytes, 100);
    CHECK_HAS(need_reason(&report, "deletes")->command, "delete-file-threshold=1");
    report = explain(&history, "id = 2");
    assert_int_equal(report.delete_reads, 0);
    history_close(&history);
}

/* Sorting ---------------------------------------------------------------------------------------------------------- */

static void sorting_is_estimated_by_the_stated_formula(void **state)
{
    enum { FILES = 10 };
    struct history history;
    struct firn_data_file files[FILES];
    history_open(&history, test_op(state), NULL);
    for (int i = 0; i < FILES; i++) { /* 5120 MiB make ten files of the target size */
        struct firn_text name = firn_text_format(history.op->arena, "s%d.parquet", i);
        files[i] = survey_bounded(&history, survey_file(&history, name.data, 1, 512 * MIB, 100), "a", "k");
        files[i] = survey_counted(&history, files[i], 100, 0);
    }
    survey_make(&history, (struct survey_commit){ .added = files, .added_count = FILES });
    struct firn_explain_report report = explain(&history, "v = 'c'");
    assert_int_equal(report.sort_count, 1);
    assert_int_equal(report.sorts[0].files_now, FILES);
    assert_int_equal(report.sorts[0].files_packed, FILES);
    assert_int_equal(report.sorts[0].files_sorted, 1);
    assert_int_equal(report.sorts[0].bytes_sorted, 512 * MIB);
    CHECK_HAS(report.sorts[0].command, "--strategy sort --sort-order 'v ASC NULLS LAST'");
    assert_int_equal(explain(&history, "v IN ('c', 'd', 'e')").sorts[0].files_sorted, 3);
    report = explain(&history, "v >= 'i'"); /* the last fifth, from a to k */
    assert_true(report.sorts[0].selectivity > 0.19 && report.sorts[0].selectivity < 0.21);
    assert_true(report.sorts[0].files_sorted >= 2 && report.sorts[0].files_sorted <= 3);
    report = explain(&history, "v >= 'c' AND v < 'e'"); /* two ends */
    assert_true(report.sorts[0].files_sorted >= 3 && report.sorts[0].files_sorted <= 4);
    assert_int_equal(explain(&history, "v >= 'a'").sort_count, 0);          /* everything */
    assert_int_equal(explain(&history, "v = 'c' OR id = 7").sort_count, 0); /* not all rows must meet it */
    history_close(&history);
}

/* One file a partition is the least that any order leaves. */
static void single_files_are_not_to_be_sorted(void **state)
{
    enum { PARTITIONS = 4 };
    struct history history;
    struct firn_data_file files[PARTITIONS];
    history_open(&history, test_op(state), NULL);
    for (int i = 0; i < PARTITIONS; i++) {
        struct firn_text name = firn_text_format(history.op->arena, "s%d.parquet", i);
        files[i] = survey_bounded(&history, survey_file(&history, name.data, i, MIB, 100), "a", "k");
        files[i] = survey_counted(&history, files[i], 100, 0);
    }
    survey_make(&history, (struct survey_commit){ .added = files, .added_count = PARTITIONS });
    const char *const filters[] = { "v = 'c'", "v = 'c' OR v = 'd'" };
    for (size_t i = 0; i < FIRN_COUNT_OF(filters); i++) {
        struct firn_explain_report report = explain(&history, filters[i]);
        assert_int_equal(report.sort_count, 0);
        assert_int_equal(need_reason(&report, "overlapping-bounds")->command.len, 0);
    }
    history_close(&history);
}

/* Snapshots -------------------------------------------------------------------------------------------------------- */

static void snapshots_are_chosen_by_id_reference_and_time(void **state)
{
    struct history history;
    struct firn_op *op = test_op(state);
    history_open(&history, op, NULL);
    survey_append(&history, survey_file(&history, "a.parquet", 1, MIB, 5));
    struct firn_table *table = &history.fixture.table;
    int64_t first = history_metadata(&history)->current_snapshot_id, none = 77;
    survey_append(&history, survey_file(&history, "b.parquet", 1, MIB, 5));
    struct firn_text where = FIRN_TEXT("id = 1");
    struct firn_explain_args args = { .where = where, .snapshot_id = &first };
    assert_int_equal(explain_at(op, table, args).total.files, 1);
    assert_int_equal(explain_at(op, table, args).snapshot_id, first);
    args = (struct firn_explain_args){ .where = where, .as_of = FIRN_TEXT("30s") };
    history.now_ms += 1000;
    assert_int_equal(explain_at(op, table, args).total.files, 1);
    args = (struct firn_explain_args){ .where = where, .branch = FIRN_TEXT("main") };
    assert_int_equal(explain_at(op, table, args).total.files, 2);

    struct firn_explain_report report;
    args = (struct firn_explain_args){ .where = where, .snapshot_id = &none };
    assert_int_equal(firn_explain(op, NULL, table, &args, &report), FIRN_NOT_FOUND);
    args = (struct firn_explain_args){ .where = where, .tag = FIRN_TEXT("main") };
    assert_int_equal(firn_explain(op, NULL, table, &args, &report), FIRN_NOT_FOUND);
    args = (struct firn_explain_args){ .where = where, .tag = FIRN_TEXT("x"), .branch = FIRN_TEXT("main") };
    assert_int_equal(firn_explain(op, NULL, table, &args, &report), FIRN_USAGE);
    args = (struct firn_explain_args){ .where = FIRN_TEXT("nothing = 1") };
    assert_int_equal(firn_explain(op, NULL, table, &args, &report), FIRN_USAGE);
    history_close(&history);
}

static void files_that_cannot_be_read_stay_whole(void **state)
{
    struct history history;
    history_open(&history, test_op(state), NULL);
    survey_append(&history, survey_file(&history, "missing.parquet", 1, MIB, 5));
    struct firn_explain_args args = { .where = FIRN_TEXT("id = 1"), .deep = true };
    struct firn_explain_report report = explain_at(history.op, &history.fixture.table, args);
    assert_int_equal(report.deep.unreadable_files, 1);
    assert_int_equal(report.deep.rows_kept, 5);
    assert_int_equal(report.deep.bytes_kept, MIB);
    history_close(&history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_empty_table_reads_nothing),
        TEST(each_level_counts_what_it_rules_out),
        TEST(one_manifest_leaves_it_to_partitions),
        TEST(manifests_that_mix_partitions_are_told),
        TEST(what_is_kept_is_what_a_scan_plans),
        TEST(functions_are_said_of_the_column),
        TEST(functions_rule_nothing_out),
        TEST(partition_columns_that_are_not_filtered_are_named),
        TEST(missing_metrics_are_mended_by_a_property_and_a_rewrite),
        TEST(conditions_that_rule_out_little_say_so),
        TEST(specs_of_before_and_buckets_are_told),
        TEST(branches_are_mended_where_they_are),
        TEST(delete_files_cost_their_readers),
        TEST(sorting_is_estimated_by_the_stated_formula),
        TEST(single_files_are_not_to_be_sorted),
        TEST(snapshots_are_chosen_by_id_reference_and_time),
        TEST(files_that_cannot_be_read_stay_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
