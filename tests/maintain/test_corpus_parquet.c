/* Every Parquet file of the corpus through firn inspect: rows, nulls and bounds as EXPECTED.json has them, and an error
 * for what is broken. */
#include "support/corpus.h"

#include "base/math.h"
#include "maintain/inspect.h"
#include "store/store.h"

/* What DuckDB counts or prints in a way of its own, and is therefore not compared. */
enum part { NAME = 1, NULLS = 2, BOUNDS = 4 };
static const struct exception {
    const char *file; /* NULL: any */
    const char *type; /* what the DuckDB type begins with; NULL: any */
    unsigned parts;
    const char *reason;
} exceptions[] = {
    { NULL, "VARIANT", NULLS, "DuckDB counts a variant null as NULL" },
    { NULL, "INTERVAL", BOUNDS, "intervals have no order in Parquet" },
    { "page-v2/drill_nullable_interval_dictionary.parquet", NULL, NULLS,
      "DuckDB takes the column for one of nulls only" },
    { "plain/duckdb_bug13053.parquet", NULL, NAME, "DuckDB renames columns that differ by case only" },
    { "plain/duckdb_bug13053-2.parquet", NULL, NAME, "DuckDB renames columns that differ by case only" },
    { "types/drill_uint_types.parquet", "UTINYINT", BOUNDS, "DuckDB cuts values to the 8 bits annotated" },
    { "types/drill_uint_types.parquet", "TINYINT", BOUNDS, "DuckDB cuts values to the 8 bits annotated" },
    { "types/drill_uint_types.parquet", "USMALLINT", BOUNDS, "DuckDB cuts values to the 16 bits annotated" },
    { "types/drill_uint_types.parquet", "SMALLINT", BOUNDS, "DuckDB cuts values to the 16 bits annotated" },
    { "types/duckdb_bigdecimal.parquet", NULL, BOUNDS, "DuckDB reads decimals of more than 38 digits as DOUBLE" },
    { "types/duckdb_negative-timetz.parquet", NULL, BOUNDS, "DuckDB wraps negative times into the day" },
};

static bool is_exempt(const char *file, const char *type, enum part part)
{
    for (size_t i = 0; i < FIRN_COUNT_OF(exceptions); i++) {
        const struct exception *row = &exceptions[i];
        if ((row->parts & part) && (!row->file || strcmp(row->file, file) == 0) &&
            (!row->type || strncmp(row->type, type, strlen(row->type)) == 0))
            return true;
    }
    return false;
}

static unsigned failures;

/* Compared so that one run shows all differences. */
#define COMPARE(condition, ...)                                                                                        \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            print_error(__VA_ARGS__);                                                                                  \
            print_error("\n");                                                                                         \
            failures++;                                                                                                \
        }                                                                                                              \
    } while (0)

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "(none)";
}

/* Times that only a converted type annotates are UTC, which DuckDB does not print. */
static bool is_same_text(const char *wanted, const char *got)
{
    size_t len = strlen(wanted);
    return strncmp(wanted, got, len) == 0 && (got[len] == 0 || strcmp(got + len, "+00") == 0);
}

/* Nested columns have bounds in DuckDB, by an order of its own. */
static bool is_nested(const char *type)
{
    return type[strlen(type) - 1] == ']';
}

static void check_bound(const char *file, const json_t *wanted, const json_t *got, const char *key)
{
    const json_t *bound = json_object_get(wanted, key);
    const char *type = text_of(wanted, "type");
    if (json_is_string(bound) && !is_nested(type) && !is_exempt(file, type, BOUNDS))
        COMPARE(is_same_text(json_string_value(bound), text_of(got, key)), "%s: %s %s: %s is '%s', wanted '%s'", file,
                text_of(wanted, "name"), type, key, text_of(got, key), json_string_value(bound));
}

static void check_columns(const char *file, const json_t *wanted, const json_t *got)
{
    COMPARE(json_array_size(wanted) == json_array_size(got), "%s: %zu columns, wanted %zu", file, json_array_size(got),
            json_array_size(wanted));
    for (size_t i = 0; i < FIRN_MIN(json_array_size(wanted), json_array_size(got)); i++) {
        const json_t *want = json_array_get(wanted, i);
        const json_t *have = json_array_get(got, i);
        const char *name = text_of(want, "name");
        json_int_t nulls = json_integer_value(json_object_get(have, "nulls"));
        COMPARE(is_exempt(file, "", NAME) || strcmp(name, text_of(have, "name")) == 0, "%s: column '%s', wanted '%s'",
                file, text_of(have, "name"), name);
        if (!is_exempt(file, text_of(want, "type"), NULLS))
            COMPARE(json_integer_value(json_object_get(want, "nulls")) == nulls, "%s: %s %s: %lld nulls, wanted %lld",
                    file, name, text_of(want, "type"), (long long)nulls,
                    (long long)json_integer_value(json_object_get(want, "nulls")));
        check_bound(file, want, have, "min");
        check_bound(file, want, have, "max");
    }
}

static void check_file(struct firn_op *op, struct firn_store *store, struct firn_text root, const char *file,
                       const json_t *expected)
{
    const char *expect = text_of(expected, "expect");
    struct firn_text location = firn_text_format(op->arena, "%.*s/parquet/%s", FIRN_FMT(root), file);
    json_t *found;
    firn_status status = firn_inspect_parquet(op, store, location,
                                              (struct firn_inspect_options){ .values = true, .pages = true }, &found);
    const char *error = status == FIRN_OK ? "" : op->error.text;
    bool is_error = status == FIRN_CORRUPT || status == FIRN_UNSUPPORTED || status == FIRN_LIMIT;
    COMPARE(status == FIRN_OK || is_error, "%s: %s: %s", file, firn_status_name(status), error);
    if (strcmp(expect, "error") == 0) {
        COMPARE(is_error, "%s: no error", file);
    } else if (strcmp(expect, "refuse") == 0) {
        COMPARE(status == FIRN_UNSUPPORTED && strstr(error, "encrypted"), "%s: %s: %s", file, firn_status_name(status),
                error);
    } else if (strcmp(expect, "read") == 0) {
        COMPARE(status == FIRN_OK, "%s: %s: %s", file, firn_status_name(status), error);
        if (status != FIRN_OK)
            return;
        COMPARE(json_integer_value(json_object_get(expected, "rows")) ==
                    json_integer_value(json_object_get(found, "rows")),
                "%s: another number of rows", file);
        check_columns(file, json_object_get(expected, "columns"), json_object_get(found, "columns"));
    }
}

static void corpus_files_decode_as_expected(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_text root = corpus_root(op);
    CORPUS_OR_SKIP(root);
    struct firn_store *store;
    CHECK_OK(op, firn_store_open(op, &(struct firn_store_config){ 0 }, &store));
    const char *file;
    json_t *expected;
    json_t *files = corpus_expected(op, root, "parquet");
    failures = 0;
    json_object_foreach(files, file, expected)
    {
        struct firn_arena arena;
        struct firn_op inner = *op;
        firn_arena_init(&arena);
        inner.arena = &arena;
        check_file(&inner, store, root, file, expected);
        firn_arena_done(&arena);
    }
    firn_store_close(store);
    CHECK(failures == 0, "%u differences", failures);
}

int main(void)
{
    const struct CMUnitTest tests[] = { TEST(corpus_files_decode_as_expected) };
    return cmocka_run_group_tests_name("corpus_parquet", tests, NULL, NULL);
}
