/* Surveys: numbers of tables that are known, agreement with scan planning, samples. */
#include "maintain/corpus_table.h"
#include "maintain/survey_world.h"

#include "maintain/delete_use.h"
#include "maintain/survey_columns.h"
#include "maintain/survey_history.h"

#include <math.h>

#define CHECK_TALLY(tally, f, b, r)                                                                                    \
    CHECK((tally).files == (f) && (tally).bytes == (b) && (tally).rows == (r),                                         \
          "%" PRId64 " files, %" PRId64 " bytes, %" PRId64 " rows", (tally).files, (tally).bytes, (tally).rows)

/* Numbers --------------------------------------------------------------------------------------------------------- */

static void an_empty_table_has_no_numbers(void **state)
{
    struct history history;
    history_open(&history, test_op(state), NULL);
    struct firn_survey survey = survey_take(&history);
    CHECK_TALLY(survey.total.data, 0, 0, 0);
    assert_int_equal(survey.partition_count, 0);
    assert_int_equal(survey.manifest_kind_count, 0);
    assert_int_equal(survey.commit_count, 0);
    assert_int_equal(survey.column_count, 2);
    assert_true(survey.metadata_bytes > 0);
    assert_true(json_is_object(firn_json_own(history.op->arena, firn_survey_json(history.op, &survey))));
    history_close(&history);
}

static void files_are_counted_by_partition_and_size(void **state)
{
    struct history history;
    history_open(&history, test_op(state), NULL);
    survey_append(&history, survey_file(&history, "a.parquet", 1, 10 * KIB, 5));
    survey_append(&history, survey_file(&history, "b.parquet", 1, 600 * MIB, 7));
    survey_append(&history, survey_file(&history, "c.parquet", 2, 64 * KIB, 11));
    int64_t last_ms = history.now_ms;
    struct firn_data_file foreign = survey_file(&history, "d.orc", 2, 20 * KIB, 13);
    foreign.format = FIRN_FILE_ORC;
    foreign.format_text = FIRN_TEXT("ORC");
    survey_append(&history, foreign);

    struct firn_survey survey = survey_take(&history);
    CHECK_TALLY(survey.total.data, 4, 600 * MIB + 94 * KIB, 36);
    CHECK_TALLY(survey.total.small, 2, 74 * KIB, 16);
    assert_int_equal(survey.foreign_files, 1);
    assert_int_equal(survey.size_class_files[0], 2);
    assert_int_equal(survey.size_class_files[1], 1); /* 64 KiB is no longer below 64 KiB */
    assert_int_equal(survey.size_class_files[10], 1);
    assert_int_equal(survey.size_class_bytes[10], 600 * MIB);
    assert_int_equal(survey.partition_count, 2);
    assert_true(firn_text_is(survey.partitions[0].path, "id=1"));
    CHECK_TALLY(survey.partitions[0].content.data, 2, 600 * MIB + 10 * KIB, 12);
    CHECK_TALLY(survey.partitions[1].content.small, 1, 64 * KIB, 11);
    assert_int_equal(survey.partitions[0].sequence_number, 2);
    assert_int_equal(survey.partitions[1].sequence_number, 4);
    assert_int_equal(survey.partitions[1].updated_ms, last_ms + 60000);
    assert_int_equal(survey.sizes.target_bytes, 512 * MIB);
    history_close(&history);
}

static void manifests_are_counted_by_spec_and_kind(void **state)
{
    struct history history;
    history_open(&history, test_op(state), "{\"commit.manifest-merge.enabled\": \"false\"}");
    struct firn_data_file a = survey_file(&history, "a.parquet", 1, 100, 5);
    survey_append(&history, a);
    survey_append(&history, survey_file(&history, "b.parquet", 1, 100, 5));
    struct firn_data_file del = survey_delete(&history, "d.parquet", 1, FIRN_CONTENT_POSITION_DELETES, NULL);
    survey_make(&history, (struct survey_commit){ .deletes = &del, .delete_count = 1, .operation = "overwrite" });
    survey_make(&history, (struct survey_commit){ .removed = &a, .removed_count = 1, .operation = "delete" });

    struct firn_survey survey = survey_take(&history);
    struct firn_survey_manifests total = firn_survey_manifests_total(&survey);
    assert_int_equal(survey.manifest_kind_count, 2);
    assert_int_equal(total.count, 3);
    assert_int_equal(total.entries, 2);
    assert_int_equal(total.tombstones, 1);
    assert_true(total.bytes > 0);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(survey.manifests[i].count, survey.manifests[i].is_deletes ? 1 : 2);
    history_close(&history);
}

/* Deletes --------------------------------------------------------------------------------------------------------- */

static void deletes_are_counted_by_kind_and_use(void **state)
{
    struct history history;
    history_open(&history, test_op(state), NULL);
    struct firn_data_file a = survey_file(&history, "a.parquet", 1, 1000, 50);
    struct firn_data_file gone = survey_file(&history, "gone.parquet", 1, 1000, 50);
    survey_append(&history, a);
    survey_append(&history, survey_file(&history, "b.parquet", 2, 1000, 50));
    struct firn_data_file deletes[] = {
        survey_delete(&history, "wide.parquet", 1, FIRN_CONTENT_POSITION_DELETES, NULL),
        survey_delete(&history, "own.parquet", 1, FIRN_CONTENT_POSITION_DELETES, &gone),
        survey_delete(&history, "eq1.parquet", 1, FIRN_CONTENT_EQUALITY_DELETES, NULL),
        survey_delete(&history, "eq3.parquet", 3, FIRN_CONTENT_EQUALITY_DELETES, NULL),
    };
    survey_make(&history, (struct survey_commit){ .deletes = deletes, .delete_count = 4, .operation = "overwrite" });
    survey_append(&history, survey_file(&history, "later.parquet", 1, 1000, 50));

    struct firn_survey survey = survey_take(&history);
    CHECK_TALLY(survey.total.position_deletes, 2, 200, 6);
    CHECK_TALLY(survey.total.equality_deletes, 2, 200, 6);
    CHECK_TALLY(survey.total.vectors, 0, 0, 0);
    CHECK_TALLY(survey.total.dangling, 2, 200, 6); /* own.parquet and eq3.parquet */
    CHECK_TALLY(survey.total.deleted_from, 1, 1000, 50);
    assert_int_equal(survey.total.delete_reads, 2); /* a.parquet opens wide.parquet and eq1.parquet */
    assert_int_equal(survey.partition_count, 3);
    CHECK_TALLY(survey.partitions[2].content.dangling, 1, 100, 3);
    history_close(&history);
}

/* For every table of the corpus, scan planning finds the same. */
struct expected {
    int64_t files, rows, deletes, used, reads, deleted_from;
};

static struct expected expected_of(struct firn_op *op, const struct firn_table *table)
{
    struct firn_scan scan;
    struct firn_delete_uses uses;
    struct expected expected = { 0 };
    CHECK_OK(op, firn_scan_plan(op, NULL, table->store, table->metadata, firn_metadata_current(table->metadata),
                                (struct firn_scan_options){ 0 }, &scan));
    const struct firn_scan_file **files = FIRN_NEW_ARRAY(op->arena, const struct firn_scan_file *, scan.file_count);
    for (uint32_t i = 0; i < scan.file_count; i++) {
        uint32_t count = firn_delete_match_count(&scan.files[i].deletes);
        files[i] = &scan.files[i];
        expected.rows += scan.files[i].entry->file.record_count;
        expected.reads += count;
        expected.deleted_from += count > 0;
    }
    firn_delete_uses_count(op->arena, files, scan.file_count, &uses);
    expected.files = scan.file_count;
    expected.deletes = scan.delete_count;
    expected.used = uses.count;
    return expected;
}

/* All that a survey says but the time it took. */
static json_t *numbers_of(struct firn_op *op, struct firn_survey survey)
{
    survey.planning_us = survey.now_ms = 0;
    return firn_json_own(op->arena, firn_survey_json(op, &survey));
}

static void check_against_scan(struct firn_op *op, struct firn_pool *pool, const char *name, struct firn_table *table)
{
    struct firn_survey survey, threaded;
    struct expected expected = expected_of(op, table);
    firn_status status = firn_survey_take(op, NULL, table, (struct firn_survey_options){ 0 }, &survey);
    CHECK(status == FIRN_OK, "%s: %s", name, op->error.text);
    const struct firn_survey_content *total = &survey.total;
    int64_t deletes = total->position_deletes.files + total->equality_deletes.files + total->vectors.files;
    CHECK(total->data.files == expected.files && total->data.rows == expected.rows, "%s: %" PRId64 " files", name,
          total->data.files);
    CHECK(deletes == expected.deletes, "%s: %" PRId64 " deletes", name, deletes);
    CHECK(total->dangling.files == expected.deletes - expected.used, "%s: %" PRId64 " dangling, not %" PRId64, name,
          total->dangling.files, expected.deletes - expected.used);
    CHECK(total->delete_reads == expected.reads, "%s: %" PRId64 " reads", name, total->delete_reads);
    CHECK(total->deleted_from.files == expected.deleted_from, "%s: %" PRId64, name, total->deleted_from.files);
    for (size_t i = 0; i < survey.column_count; i++) {
        const struct firn_survey_column *column = &survey.columns[i];
        CHECK(column->files_with_bounds <= total->data.files, "%s", name);
        CHECK(column->files_per_point <= (double)total->data.files + 0.001, "%s.%.*s: %f", name, FIRN_FMT(column->name),
              column->files_per_point);
        CHECK(column->files_per_point_in_partition <= column->files_per_point + 0.001, "%s.%.*s: %f", name,
              FIRN_FMT(column->name), column->files_per_point_in_partition);
    }
    CHECK_OK(op, firn_survey_take(op, pool, table, (struct firn_survey_options){ 0 }, &threaded));
    CHECK(json_equal(numbers_of(op, survey), numbers_of(op, threaded)), "%s: threads find other numbers", name);
}

static void every_table_of_the_corpus_agrees_with_its_scan(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_text root = corpus_root(op);
    struct firn_pool *pool;
    const char *name;
    json_t *expected;
    CORPUS_OR_SKIP(root);
    json_t *tables = corpus_expected(op, root, "iceberg");
    CHECK_OK(op, firn_pool_open(op, 4, &pool));
    json_object_foreach(tables, name, expected)
    {
        struct corpus_table opened = corpus_table_open(op, root, name, expected);
        check_against_scan(op, pool, name, &opened.table);
        corpus_table_close(&opened);
    }
    firn_pool_close(pool);
}

/* Columns --------------------------------------------------------------------------------------------------------- */

static void columns_tell_coverage_and_overlap(void **state)
{
    struct history history;
    history_open(&history, test_op(state), NULL);
    struct firn_data_file plain = survey_file(&history, "plain.parquet", 2, 100, 5);
    struct firn_data_file nulls = survey_counted(&history, survey_file(&history, "nulls.parquet", 2, 100, 5), 5, 5);
    survey_append(&history, survey_bounded(&history, survey_file(&history, "a.parquet", 1, 100, 5), "a", "c"));
    survey_append(&history, survey_bounded(&history, survey_file(&history, "b.parquet", 1, 100, 5), "b", "d"));
    survey_append(&history, survey_bounded(&history, survey_file(&history, "z.parquet", 2, 100, 5), "c", "z"));
    survey_append(&history, nulls);

    /* a: 1, b: 2, c: 3 and again 3, d: 2, z: 1 */
    struct firn_survey survey = survey_take(&history);
    const struct firn_survey_column *id = &survey.columns[0], *v = &survey.columns[1];
    assert_true(id->is_partition_source && !v->is_partition_source);
    assert_int_equal(id->files_with_bounds, 0);
    assert_true(id->files_per_point < 0);
    assert_int_equal(v->files_with_bounds, 4);
    assert_int_equal(v->files_with_counts, 1);
    assert_int_equal(v->null_count, 5);
    assert_int_equal(v->bound_bytes, 6);
    assert_true(survey.sampled_share == 1);
    CHECK(fabs(v->files_per_point - 2) < 0.001, "%f", v->files_per_point);
    /* of partition 1: a 1, b 2, c 2, d 1; of partition 2: 1 and 1 */
    CHECK(fabs(v->files_per_point_in_partition - 8.0 / 6) < 0.001, "%f", v->files_per_point_in_partition);

    survey_append(&history, plain); /* may hold any value */
    survey = survey_take(&history);
    v = &survey.columns[1];
    assert_int_equal(v->files_with_bounds, 4);
    CHECK(fabs(v->files_per_point - 3) < 0.001, "%f", v->files_per_point);
    CHECK(fabs(v->files_per_point_in_partition - 10.0 / 6) < 0.001, "%f", v->files_per_point_in_partition);
    history_close(&history);
}

enum { MANY_FILES = 50000 };

/* File i of many holds i to i + 9: ten files overlap everywhere. */
static void add_many(struct firn_op *op, struct firn_survey_columns *columns, int step)
{
    uint8_t lower[4], upper[4];
    int32_t id = 1;
    struct firn_bytes lower_bytes = { lower, 4 }, upper_bytes = { upper, 4 };
    for (int k = 0; k < MANY_FILES; k++) {
        int i = step > 0 ? k : MANY_FILES - 1 - k;
        struct firn_data_file file = { .path = firn_text_format(op->arena, "f%d", i) };
        firn_store_le32(lower, (uint32_t)i);
        firn_store_le32(upper, (uint32_t)i + 9);
        file.lower_bounds = (struct firn_bound_map){ &id, &lower_bytes, 1, true };
        file.upper_bounds = (struct firn_bound_map){ &id, &upper_bytes, 1, true };
        firn_survey_columns_add(columns, &file, (uint32_t)i % 2);
    }
}

static void overlap_of_very_many_files_is_estimated(void **state)
{
    struct firn_op *op = test_op(state);
    struct history history;
    struct firn_survey there = { 0 }, back = { 0 };
    history_open(&history, op, NULL);
    struct firn_survey_columns *columns = firn_survey_columns_new(op->arena, history_metadata(&history));
    add_many(op, columns, 1);
    firn_survey_columns_finish(columns, &there);
    columns = firn_survey_columns_new(op->arena, history_metadata(&history));
    add_many(op, columns, -1);
    firn_survey_columns_finish(columns, &back);

    CHECK(there.sampled_share < 0.2 && there.sampled_share > 0.05, "%f", there.sampled_share);
    CHECK(fabs(there.columns[0].files_per_point - 10) < 1, "%f", there.columns[0].files_per_point);
    CHECK(fabs(there.columns[0].files_per_point_in_partition - 5) < 1, "%f",
          there.columns[0].files_per_point_in_partition);
    assert_true(there.columns[0].files_per_point == back.columns[0].files_per_point);
    assert_int_equal(there.columns[0].files_with_bounds, MANY_FILES);
    history_close(&history);
}

/* History --------------------------------------------------------------------------------------------------------- */

/* The table's metadata as if others had made its first snapshots: one names its engine, the rest are told by a mark. */
static struct firn_metadata *by_others(struct history *history, size_t count)
{
    struct firn_op *op = history->op;
    struct firn_metadata *metadata;
    json_t *root = firn_json_copy(op->arena, history_metadata(history)->root);
    for (size_t i = 0; i < count; i++) {
        json_t *summary = json_object_get(json_array_get(json_object_get(root, "snapshots"), i), "summary");
        json_object_del(summary, "engine-name");
        firn_json_set_text(summary, i == 0 ? "engine-name" : "flink.job-id", FIRN_TEXT("flink"));
    }
    CHECK_OK(op, firn_metadata_parse_json(op, root, &metadata));
    return metadata;
}

static void commits_are_counted_by_writer(void **state)
{
    struct history history;
    struct firn_survey survey = { 0 };
    history_open(&history, test_op(state), NULL);
    struct firn_data_file files[5];
    for (int i = 0; i < 5; i++)
        files[i] = survey_file(&history, firn_text_format(history.op->arena, "f%d.parquet", i).data, 1, 1000, 10);
    for (uint32_t i = 0; i < 4; i++)
        survey_make(&history,
                    (struct survey_commit){ .added = &files[i], .added_count = 1, .after_ms = i == 2 ? DAY : 30000 });
    survey_make(&history, (struct survey_commit){ .added = &files[4],
                                                  .added_count = 1,
                                                  .removed = files,
                                                  .removed_count = 4,
                                                  .operation = "replace",
                                                  .after_ms = 1000 });

    CHECK_OK(history.op, firn_survey_history(history.op, by_others(&history, 4), &survey));
    assert_int_equal(survey.commit_count, 5);
    assert_int_equal(survey.writer_count, 2);
    const struct firn_survey_writer *flink = &survey.writers[0], *firn = &survey.writers[1];
    CHECK(firn_text_is(flink->name, "flink"), "%.*s", FIRN_FMT(flink->name));
    assert_int_equal(flink->commits, 4);
    assert_int_equal(flink->added_files, 4);
    assert_int_equal(flink->added_bytes, 4000);
    assert_int_equal(flink->interval_ms, 30000);
    assert_true(firn_text_is(firn->name, "firn") && firn_text_is(firn->operation, "replace"));
    assert_int_equal(firn->interval_ms, FIRN_SURVEY_UNKNOWN);
    assert_int_equal(survey.commits[4].removed_files, 4);
    assert_int_equal(survey.commits[4].total_files, 1);
    assert_int_equal(survey.commits[0].removed_bytes, 0);
    history_close(&history);
}

static void snapshots_that_expiry_would_take_are_counted(void **state)
{
    struct history history;
    history_open(&history, test_op(state), NULL);
    struct firn_data_file a = survey_file(&history, "a.parquet", 1, 1000, 10);
    struct firn_data_file b = survey_file(&history, "b.parquet", 1, 300, 10);
    survey_append(&history, a);
    survey_make(&history,
                (struct survey_commit){
                    .added = &b, .added_count = 1, .removed = &a, .removed_count = 1, .operation = "overwrite" });
    survey_make(&history, (struct survey_commit){
                              .removed = &b, .removed_count = 1, .operation = "delete", .after_ms = 6 * DAY });
    struct firn_survey survey = survey_take(&history);
    assert_int_equal(survey.expirable_snapshots, 2);
    assert_int_equal(survey.held_bytes, 1300);
    assert_int_equal(survey.expirable_bytes, 1300);

    history_set_ref(&history, "keep", "tag", survey.commits[0].snapshot_id, "");
    survey = survey_take(&history);
    assert_int_equal(survey.expirable_snapshots, 1);
    assert_int_equal(survey.ref_count, 2);
    history_set_ref(&history, "keep", "tag", survey.commits[0].snapshot_id, ", \"max-ref-age-ms\": 1000");
    survey = survey_take(&history);
    for (size_t i = 0; i < survey.ref_count; i++)
        assert_int_equal(survey.refs[i].is_expirable, survey.refs[i].is_tag);
    history_close(&history);
}

static void orphans_are_estimated_when_asked(void **state)
{
    struct history history;
    struct firn_survey survey;
    history_open(&history, test_op(state), NULL);
    survey_append(&history, survey_file(&history, "a.parquet", 1, 100, 5));
    survey_file(&history, "orphan.parquet", 1, 100, 5);
    history.now_ms = INT64_C(4000000000000); /* past the age guard, whenever this runs */
    assert_int_equal(survey_take(&history).orphan_files, FIRN_SURVEY_UNKNOWN);
    CHECK_OK(history.op, firn_survey_take(history.op, NULL, &history.fixture.table,
                                          (struct firn_survey_options){ .orphans = true }, &survey));
    assert_int_equal(survey.orphan_files, 1);
    assert_int_equal(survey.orphan_bytes, strlen("orphan.parquet"));
    history_close(&history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_empty_table_has_no_numbers),
        TEST(files_are_counted_by_partition_and_size),
        TEST(manifests_are_counted_by_spec_and_kind),
        TEST(deletes_are_counted_by_kind_and_use),
        TEST(every_table_of_the_corpus_agrees_with_its_scan),
        TEST(columns_tell_coverage_and_overlap),
        TEST(overlap_of_very_many_files_is_estimated),
        TEST(commits_are_counted_by_writer),
        TEST(snapshots_that_expiry_would_take_are_counted),
        TEST(orphans_are_estimated_when_asked),
    };
    return cmocka_run_group_tests_name("survey", tests, NULL, NULL);
}
