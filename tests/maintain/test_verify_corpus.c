/* firn verify over every table of the corpus: beside what is found in single files (test_file_check.c), it finds what
 * is known to be wrong there, and nothing else. */
#include "maintain/corpus_table.h"

#include "firn/verify.h"

#define EDITED "metadata was changed upstream after it was written"
static const struct exception {
    const char *table, *code, *reason;
} exceptions[] = {
    { "dremio_inconsistent_partitions", "manifest-length", EDITED },
    { "dremio_inconsistent_partitions", "manifest-partitions", "the list sums up one field, the spec has two" },
    { "dremio_inconsistent_partitions", "summary-total", EDITED },
    { "duckdb_bigquery_export", "manifest-length", "BigQuery records another length" },
    { "duckdb_eq_delete", "manifest-list-missing", "not in the copy" },
    { "duckdb_eq_delete_global", "manifest-length", EDITED },
    { "duckdb_moved_object_storage", "delete-dangling", "a delete file from before a compaction" },
    { "duckdb_moved_object_storage", "manifest-length", EDITED },
    { "duckdb_null_stats", "manifest-length", EDITED },
    { "icebird_spark_bunnies", "delete-dangling", "names no live data file" },
    { "impala_avro_only", "manifest-length", EDITED },
    { "impala_dangling_delete", "delete-dangling", "what the table is for" },
    { "impala_eq_and_pos", "delete-dangling", "the first equality delete of a Flink job deletes nothing" },
    { "impala_eq_delete_flink", "delete-dangling", "the first equality delete of a Flink job deletes nothing" },
    { "impala_eq_delete_partitioned", "delete-dangling", "the first equality deletes of a Flink job delete nothing" },
    { "impala_migrated_partition_promotion_orc", "summary-total", EDITED },
    { "impala_pos_delete_null_records", "manifest-counts", EDITED },
    { "impala_pos_delete_null_records", "manifest-sequence-number", EDITED },
    { "impala_pos_delete_null_records", "summary-total", EDITED },
    { "impala_puffin_stats", "manifest-length", EDITED },
    { "impala_uppercase_columns", "last-column-id", EDITED },
    { "pyiceberg_many_orphans", "location-shared", "a table made anew many times in one place" },
};

/* What a single file is checked for. */
static const char *const file_codes[] = {
    "equality-ids", "file-length", "lower-bound", "null-count", "puffin-blob", "upper-bound",
};

static bool is_expected(const char *table, const char *code)
{
    for (size_t i = 0; i < FIRN_COUNT_OF(file_codes); i++)
        if (strcmp(file_codes[i], code) == 0)
            return true;
    for (size_t i = 0; i < FIRN_COUNT_OF(exceptions); i++)
        if (strcmp(exceptions[i].table, table) == 0 && strcmp(exceptions[i].code, code) == 0)
            return true;
    return false;
}

static bool has_code(const struct firn_verify_report *report, const char *code)
{
    for (size_t i = 0; i < report->finding_count; i++)
        if (strcmp(report->findings[i].code, code) == 0)
            return true;
    return false;
}

static void check_report(const char *name, const struct firn_verify_report *report)
{
    for (size_t i = 0; i < report->finding_count; i++) {
        const struct firn_finding *finding = &report->findings[i];
        CHECK(finding->severity == FIRN_SEVERITY_NOTICE || is_expected(name, finding->code), "%s: %s %.*s: %.*s", name,
              finding->code, FIRN_FMT(finding->location), FIRN_FMT(finding->text));
    }
    for (size_t i = 0; i < FIRN_COUNT_OF(exceptions); i++)
        CHECK(strcmp(exceptions[i].table, name) != 0 || has_code(report, exceptions[i].code), "%s: no %s", name,
              exceptions[i].code);
    size_t unreadable = report->snapshot_count - report->readable_count;
    CHECK((unreadable > 0) == (has_code(report, "file-length") || has_code(report, "manifest-list-missing")),
          "%s: %zu snapshots cannot be read", name, unreadable);
}

static void verify_table(struct firn_op *op, void *context, struct corpus_table *opened)
{
    (void)context;
    struct firn_verify_options options = { 0 };
    struct firn_verify_report report;
    CHECK_OK(op, firn_verify(op, NULL, &opened->table, &options, &report));
    check_report(opened->name, &report);
}

static void every_table(void **state)
{
    corpus_visit_tables(test_op(state), verify_table, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
