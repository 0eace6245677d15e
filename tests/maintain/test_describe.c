/* firn describe over every table of the corpus, against what is known of each. */
#include "maintain/corpus_table.h"

#include "base/pool.h"
#include "firn/describe.h"
#include "table/metadata.h"

/* Members of EXPECTED.json that describe gives under the same name. */
static const char *const same_keys[] = {
    "format_version",
    "table_uuid",
    "current_snapshot_id",
    "snapshots",
    "live_manifests",
    "live_data_files",
    "live_position_delete_files",
    "live_equality_delete_files",
    "live_deletion_vectors",
    "live_data_records",
    "file_formats",
};

static void check_same(const char *name, const char *key, const json_t *expected, const json_t *got)
{
    char *wanted_text = json_dumps(expected, JSON_ENCODE_ANY | JSON_SORT_KEYS);
    char *got_text = json_dumps(got, JSON_ENCODE_ANY | JSON_SORT_KEYS);
    CHECK(strcmp(wanted_text ? wanted_text : "?", got_text ? got_text : "?") == 0, "%s: %s is %s, wanted %s", name, key,
          got_text, wanted_text);
    free(wanted_text);
    free(got_text);
}

static bool is_parquet_only(const json_t *expected)
{
    const json_t *formats = json_object_get(expected, "file_formats");
    return !json_object_get(formats, "ORC") && !json_object_get(formats, "AVRO");
}

/* Its equality deletes lack the columns they are to compare: to count without them would be wrong. */
static bool has_broken_deletes(const char *name)
{
    return strcmp(name, "impala_eq_delete_bogus") == 0;
}

static void check_table(const char *name, const json_t *expected, const json_t *got)
{
    for (size_t i = 0; i < FIRN_COUNT_OF(same_keys); i++) {
        const json_t *wanted = json_object_get(expected, same_keys[i]);
        if (wanted && !json_is_null(wanted))
            check_same(name, same_keys[i], wanted, json_object_get(got, same_keys[i]));
    }
    const json_t *rows = json_object_get(got, "live_rows");
    if (is_parquet_only(expected))
        check_same(name, "live_rows", json_object_get(expected, "live_rows"), rows);
    else
        CHECK(json_is_null(rows) && json_object_get(got, "live_rows_unknown_because"), "%s: live_rows", name);
}

static void tables_are_what_is_known_of_them(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_text root = corpus_root(op);
    const char *name;
    json_t *expected;
    struct firn_pool *pool;
    int counted = 0;
    CORPUS_OR_SKIP(root);
    CHECK_OK(op, firn_pool_open(op, 2, &pool));
    json_t *tables = corpus_expected(op, root, "iceberg");
    json_object_foreach(tables, name, expected)
    {
        struct corpus_table described = corpus_table_open(op, root, name, expected);
        struct firn_describe_options options = { .snapshot_id = FIRN_NO_SNAPSHOT, .count = true };
        json_t *got;
        firn_status status = firn_table_describe(op, pool, &described.table, options, &got);
        CHECK(status == (has_broken_deletes(name) ? FIRN_CORRUPT : FIRN_OK), "%s: %s", name, op->error.text);
        if (status == FIRN_OK) {
            check_table(name, expected, got);
            counted += json_is_integer(json_object_get(got, "live_rows"));
        }
        corpus_table_close(&described);
    }
    firn_pool_close(pool);
    CHECK(counted >= 80, "only %d tables could be counted", counted);
}

static int64_t id_of(const char *text)
{
    return (int64_t)strtoull(text, NULL, 10);
}

static void check_snapshot(struct firn_op *op, const char *name, struct corpus_table *described, const json_t *expected,
                           bool count)
{
    static const struct {
        const char *expected, *got;
    } keys[] = {
        { "data_files", "live_data_files" },
        { "position_delete_files", "live_position_delete_files" },
        { "deletion_vectors", "live_deletion_vectors" },
        { "equality_delete_files", "live_equality_delete_files" },
        { "data_records", "live_data_records" },
    };
    struct firn_describe_options options = {
        .snapshot_id = id_of(json_string_value(json_object_get(expected, "snapshot_id"))),
        .count = count,
    };
    json_t *got;
    firn_status status = firn_table_describe(op, NULL, &described->table, options, &got);
    CHECK(status == FIRN_OK, "%s: %s", name, op->error.text);
    for (size_t i = 0; i < FIRN_COUNT_OF(keys); i++)
        if (json_is_integer(json_object_get(expected, keys[i].expected)))
            check_same(name, keys[i].got, json_object_get(expected, keys[i].expected),
                       json_object_get(got, keys[i].got));
    if (count)
        check_same(name, "live_rows", json_object_get(expected, "live_rows"), json_object_get(got, "live_rows"));
}

static void every_snapshot_can_be_described(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_text root = corpus_root(op);
    const char *name;
    json_t *expected, *snapshot;
    size_t at;
    CORPUS_OR_SKIP(root);
    json_t *tables = corpus_expected(op, root, "iceberg");
    json_object_foreach(tables, name, expected)
    {
        if (!json_object_get(expected, "per_snapshot"))
            continue;
        struct corpus_table described = corpus_table_open(op, root, name, expected);
        json_array_foreach(json_object_get(expected, "per_snapshot"), at,
                           snapshot) if (!json_is_true(json_object_get(snapshot, "incomplete")))
            check_snapshot(op, name, &described, snapshot, is_parquet_only(expected));
        corpus_table_close(&described);
    }
}

static void unknown_snapshots_are_not_found(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_text root = corpus_root(op);
    CORPUS_OR_SKIP(root);
    json_t *expected = json_object_get(corpus_expected(op, root, "iceberg"), "duckdb_uuid");
    struct corpus_table described = corpus_table_open(op, root, "duckdb_uuid", expected);
    json_t *got;
    CHECK_STATUS(
        op, FIRN_NOT_FOUND,
        firn_table_describe(op, NULL, &described.table, (struct firn_describe_options){ .snapshot_id = 12 }, &got));
    corpus_table_close(&described);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(tables_are_what_is_known_of_them),
        TEST(every_snapshot_can_be_described),
        TEST(unknown_snapshots_are_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
