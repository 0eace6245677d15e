/* Tests of remove_orphan_files: what is an orphan, what stops a run, what is deleted. */
#include "orphan_world.h"

#include "base/math.h"
#include "format/json/json.h"

static const struct firn_remove_orphan_files_args no_args;

/* What counts ---------------------------------------------------------------------------------------------------- */

static void finds_what_nothing_names(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    world_open(op, &world, "m:/w", (struct fixture_options){ 0 });
    CHECK_ORPHANS(op, &world, no_args, "");
    world_put(op, &world, "data/a", 10 * DAY_MS);
    world_put(op, &world, "data/p=1/b", 10 * DAY_MS);
    world_put(op, &world, "metadata/c.avro", 10 * DAY_MS);
    world_put(op, &world, "d", 10 * DAY_MS);
    world_put_at(op, &world, FIRN_TEXT("m:/w/db/t10/e"), 10 * DAY_MS); /* another folder whose name begins alike */
    CHECK_ORPHANS(op, &world, no_args, "d data/a data/p=1/b metadata/c.avro");
    world_close(op, &world);
}

static void age_decides(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct firn_remove_orphan_files_args args = { 0 };
    world_open(op, &world, "m:/w", (struct fixture_options){ 0 });
    world_put(op, &world, "10d", 10 * DAY_MS);
    world_put(op, &world, "3d", 3 * DAY_MS); /* not older than three days */
    world_put(op, &world, "3d1ms", 3 * DAY_MS + 1);
    world_put(op, &world, "25h", 25 * HOUR_MS);
    world_put(op, &world, "now", 0);
    CHECK_ORPHANS(op, &world, args, "10d 3d1ms");
    args.older_than = FIRN_TEXT("1d");
    CHECK_ORPHANS(op, &world, args, "10d 25h 3d 3d1ms");
    args.older_than = FIRN_TEXT("1w");
    CHECK_ORPHANS(op, &world, args, "10d");
    args.older_than = FIRN_TEXT("99999999999999999999999d"); /* beyond 64 bits: the past, not the future */
    CHECK_ORPHANS(op, &world, args, "");
    args.older_than = FIRN_TEXT("106751991167d"); /* just inside 64 bits */
    CHECK_ORPHANS(op, &world, args, "");
    args.older_than = FIRN_TEXT("2024-09-25 00:00:00"); /* NOW_MS is 2024-10-04 */
    CHECK_ORPHANS(op, &world, args, "10d");
    world_close(op, &world);
}

/* A time of zero, before the epoch, or in the future says nothing: such a file may be one that is being written. */
static void useless_times_count_as_new(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct firn_orphan_plan *plan;
    world_open(op, &world, "m:/w", (struct fixture_options){ 0 });
    world_put(op, &world, "zero", NOW_MS);
    world_put(op, &world, "before", NOW_MS + DAY_MS);
    world_put(op, &world, "future", -DAY_MS);
    CHECK_OK(op, world_plan(op, &world, no_args, &plan));
    CHECK(firn_orphan_plan_report(plan)->unknown_time_count == 3, "counted");
    CHECK(world_names_of(op, &world, plan).len == 0, "nothing goes");
    world_close(op, &world);
}

/* Neither a plan nor a mark could name them. */
static void names_that_are_not_utf8_stay(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct firn_orphan_plan *plan;
    world_open(op, &world, "m:/w", (struct fixture_options){ 0 });
    world_put(op, &world, "data/bad\xff.parquet", 10 * DAY_MS);
    world_put(op, &world, "data/good", 10 * DAY_MS);
    CHECK_OK(op, world_plan(op, &world, no_args, &plan));
    CHECK(firn_orphan_plan_report(plan)->unnamable_count == 1, "counted");
    CHECK(firn_text_is(world_names_of(op, &world, plan), "data/good"), "%s", "data/good");
    world_close(op, &world);
}

/* A write of four hours, with a run in the middle: all its files are there when it commits. */
static void a_long_write_loses_nothing(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct firn_orphan_report report;
    struct firn_data_file files[5];
    struct firn_text live;
    world_open(op, &world, "m:/w", (struct fixture_options){ 0 });
    for (int i = 0; i < 5; i++) {
        world.now_ms = NOW_MS + i * HOUR_MS;
        files[i] = fixture_file(op, &world.fixture, firn_text_format(op->arena, "w%d", i).data, 1);
        CHECK_OK(op, world_remove(op, &world, (struct firn_remove_orphan_files_args){ .older_than = FIRN_TEXT("24h") },
                                  &report));
        CHECK(report.deleted_count == 0, "hour %d", i);
    }
    CHECK_OK(op, fixture_append(op, &world.fixture, files, 5));
    CHECK_OK(op, fixture_live(op, &world.fixture, &live));
    CHECK(firn_text_is(live, "live w0 w1 w2 w3 w4"), "%.*s", FIRN_FMT(live));
    world_close(op, &world);
}

static void hidden_files_stay(void **state)
{
    static const char spec[] = "{\"spec-id\": 0, \"fields\": [{\"source-id\": 1, \"field-id\": 1000, \"name\": \"_p\", "
                               "\"transform\": \"identity\"}, {\"source-id\": 2, \"field-id\": 1001, \"name\": \".q\", "
                               "\"transform\": \"identity\"}]}";
    static const char *const names[] = { "_a",       ".b",           "data/_c/d",      "data/.e/f",   "data/_p=1/g",
                                         "data/_pp", "data/_p=1/_h", "data/.q=x/.q=y", "data/_x=1/i", "data/x_/y." };
    struct firn_op *op = test_op(state);
    struct world world;
    world_begin(op, &world);
    CHECK_OK(op, fixture_open(op, world.store, FIRN_TEXT("m:/w"), &world.fixture));
    CHECK_OK(op, fixture_create(op, &world.fixture, (struct fixture_options){ .spec = spec }));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        world_put(op, &world, names[i], 10 * DAY_MS);
    CHECK_ORPHANS(op, &world, no_args, "data/.q=x/.q=y data/_p=1/g data/x_/y.");
    world_close(op, &world);
}

static void set_statistics(struct firn_op *op, struct world *world, const char *action, const char *path)
{
    json_t *requirements = firn_json_own(op->arena, json_array()), *updates = firn_json_own(op->arena, json_array());
    json_t *update = json_object(), *statistics = json_object();
    int64_t id = world->fixture.table.metadata->current_snapshot_id;
    firn_json_set_text(update, "action", firn_text_of(action));
    firn_json_set_i64(update, "snapshot-id", id);
    firn_json_set_i64(statistics, "snapshot-id", id);
    firn_json_set_text(statistics, "statistics-path", firn_text_of(path));
    firn_json_set_i64(statistics, "file-size-in-bytes", 10);
    firn_json_set_i64(statistics, "file-footer-size-in-bytes", 10);
    firn_json_set(statistics, "blob-metadata", json_array());
    firn_json_set(update, strstr(action, "partition") ? "partition-statistics" : "statistics", statistics);
    json_array_append_new(updates, update);
    CHECK_OK(op, firn_catalog_commit(op, &world->fixture.table, requirements, updates));
}

/* Of both kinds, with the youngest age there is; one that was replaced is listed no longer. */
static void statistics_stay_while_listed(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct firn_remove_orphan_files_args args = { .older_than = FIRN_TEXT("24h") };
    world_open(op, &world, "m:/w", (struct fixture_options){ 0 });
    static const char *const names[] = { "metadata/p.parquet", "metadata/q.parquet", "metadata/s.stats" };
    for (size_t i = 0; i < FIRN_COUNT_OF(names); i++)
        world_put(op, &world, names[i], 10 * DAY_MS);
    set_statistics(op, &world, "set-statistics", "m:/w/db/t/metadata/s.stats");
    set_statistics(op, &world, "set-partition-statistics", "m:/w/db/t/metadata/p.parquet");
    CHECK_ORPHANS(op, &world, args, "metadata/q.parquet");
    set_statistics(op, &world, "set-partition-statistics", "m:/w/db/t/metadata/q.parquet");
    CHECK_ORPHANS(op, &world, args, "metadata/p.parquet");
    set_statistics(op, &world, "remove-statistics", "");
    set_statistics(op, &world, "remove-partition-statistics", "");
    CHECK_ORPHANS(op, &world, args, "metadata/p.parquet metadata/q.parquet metadata/s.stats");
    world_close(op, &world);
}

/* The listing ends before the newest metadata is loaded: what another writer committed meanwhile is safe. */
static void metadata_is_loaded_after_the_listing(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct fixture writer;
    world_open(op, &world, "m:/w", (struct fixture_options){ 0 });
    world_put(op, &world, "data/late", 10 * DAY_MS);
    world_put(op, &world, "data/orphan", 10 * DAY_MS);
    CHECK_OK(op, fixture_open(op, world.store, FIRN_TEXT("m:/w"), &writer));
    CHECK_OK(op, fixture_load(op, &writer));
    struct firn_data_file late = fixture_file(op, &writer, "later", 1);
    late.path = FIRN_TEXT("m:/w/db/t/data/late");
    CHECK_OK(op, fixture_append(op, &writer, &late, 1));
    CHECK_ORPHANS(op, &world, no_args, "data/orphan");
    fixture_close(&writer);
    world_close(op, &world);
}

/* Spellings ------------------------------------------------------------------------------------------------------ */

/* A table whose metadata names a file with the given prefix; "data/x" and an orphan lie there. */
static void open_spelled(struct firn_op *op, struct world *world, const char *warehouse, const char *prefix)
{
    world_open(op, world, warehouse, (struct fixture_options){ 0 });
    world_put(op, world, "data/x", 10 * DAY_MS);
    world_put(op, world, "data/orphan", 10 * DAY_MS);
    struct firn_data_file file = fixture_file(op, &world->fixture, "unused", 1);
    file.path = firn_text_format(op->arena, "%s/w/db/t/data/x", prefix);
    CHECK_OK(op, fixture_append(op, &world->fixture, &file, 1));
}

#define AZURE(service) "abfss://c@a." service ".core.windows.net"

static void prefixes_are_compared(void **state)
{
    enum outcome { STOPS, KEEPS, TAKES };
    static const struct {
        const char *prefix, *mode, *schemes, *authorities;
        enum outcome outcome;
        const char *warehouse; /* NULL: s3://b/w */
    } cases[] = {
        { "s3://b", "", "", "", KEEPS },
        { "s3a://b", "", "", "", KEEPS },
        { "S3N://B", "", "", "", KEEPS },
        { "", "", "", "", KEEPS }, /* nothing recorded agrees with anything */
        { "s3:", "", "", "", KEEPS },
        { "gs://b", "", "", "", STOPS },
        { "gs://b", "error", "", "", STOPS },
        { "gs://b", "Ignore", "", "", KEEPS },
        { "gs://b", "DELETE", "", "", TAKES },
        { "gs://b", "", "gs,wasb=s3", "", KEEPS },
        { "gs://b", "", "s3,gs=one", "", KEEPS },
        { "s3a://b", "", "s3a=other", "", STOPS }, /* the user's entry wins over the default */
        { "s3://c", "", "", "", STOPS },
        { "s3://c", "", "", "c=b", KEEPS },
        { "s3://c", "", "", "b,c=d", KEEPS },
        { "s3://c", "delete", "", "", TAKES },
        { "hdfs:", "", "", "", KEEPS, "hdfs://nn:8020/w" },
        { "hdfs://other:8020", "", "", "", STOPS, "hdfs://nn:8020/w" },
        { AZURE("blob"), "", "", "", STOPS, AZURE("dfs") "/w" },
        { AZURE("blob"), "", "", "c@a.blob.core.windows.net=c@a.dfs.core.windows.net", KEEPS, AZURE("dfs") "/w" },
        { AZURE("blob"), "", "", "c@A.blob.core.windows.net,c@a.dfs.core.windows.net=x", KEEPS, AZURE("dfs") "/w" },
        { AZURE("blob"), "", "", "d@a.blob.core.windows.net=c@a.dfs.core.windows.net", STOPS, AZURE("dfs") "/w" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct firn_op *op = test_op(state);
        struct world world;
        struct firn_orphan_plan *plan;
        open_spelled(op, &world, cases[i].warehouse ? cases[i].warehouse : "s3://b/w", cases[i].prefix);
        struct firn_text scheme = firn_text_of(cases[i].schemes), authority = firn_text_of(cases[i].authorities);
        ptrdiff_t s = firn_text_find(scheme, '='), a = firn_text_find(authority, '=');
        struct firn_property schemes = { firn_text_until(scheme, (size_t)s), firn_text_from(scheme, (size_t)s + 1) };
        struct firn_property authorities = { firn_text_until(authority, (size_t)a),
                                             firn_text_from(authority, (size_t)a + 1) };
        struct firn_remove_orphan_files_args args = { .prefix_mismatch_mode = firn_text_of(cases[i].mode),
                                                      .equal_schemes = &schemes,
                                                      .equal_scheme_count = scheme.len > 0,
                                                      .equal_authorities = &authorities,
                                                      .equal_authority_count = authority.len > 0 };
        firn_status status = world_plan(op, &world, args, &plan);
        CHECK(status == (cases[i].outcome == STOPS ? FIRN_USAGE : FIRN_OK), "case %zu: %s: %s", i,
              firn_status_name(status), status == FIRN_OK ? "" : op->error.text);
        if (status == FIRN_OK) {
            const char *expected = cases[i].outcome == TAKES ? "data/orphan data/unused data/x" : "data/orphan";
            struct firn_text names = world_names_of(op, &world, plan);
            /* "unused" was written just now: it is too new */
            expected = cases[i].outcome == TAKES ? "data/orphan data/x" : expected;
            CHECK(firn_text_is(names, expected), "case %zu: %.*s", i, FIRN_FMT(names));
        } else {
            CHECK(strstr(op->error.text, "data/x") && strstr(op->error.hint, "--equal-schemes"), "%s", op->error.text);
        }
        world_close(op, &world);
    }
}

/* Two recorded files of one path under different prefixes: one that agrees is enough. */
static void one_agreeing_prefix_is_enough(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    open_spelled(op, &world, "s3://b/w", "gs://b");
    struct firn_data_file file = fixture_file(op, &world.fixture, "unused", 1);
    file.path = FIRN_TEXT("s3://b/w/db/t/data/x");
    CHECK_OK(op, fixture_append(op, &world.fixture, &file, 1));
    CHECK_ORPHANS(op, &world, no_args, "data/orphan");
    CHECK_ORPHANS(op, &world, ((struct firn_remove_orphan_files_args){ .prefix_mismatch_mode = FIRN_TEXT("DELETE") }),
                  "data/orphan");
    world_close(op, &world);
}

/* Arguments ------------------------------------------------------------------------------------------------------ */

static void wrong_arguments_are_refused(void **state)
{
    static const struct firn_property empty_name = { FIRN_TEXT_INIT("a,"), FIRN_TEXT_INIT("b") };
    static const struct {
        struct firn_remove_orphan_files_args args;
        const char *words;
    } cases[] = {
        { { .older_than = FIRN_TEXT_INIT("23h") }, "24 hours" },
        { { .older_than = FIRN_TEXT_INIT("2030-01-01") }, "24 hours" },
        { { .older_than = FIRN_TEXT_INIT("0s") }, "24 hours" },
        { { .older_than = FIRN_TEXT_INIT("-3d") }, "neither a timestamp" },
        { { .older_than = FIRN_TEXT_INIT("yesterday") }, "neither a timestamp" },
        { { .max_concurrent_deletes = -1 }, "--max-concurrent-deletes" },
        { { .prefix_mismatch_mode = FIRN_TEXT_INIT("SKIP") }, "ERROR, IGNORE, DELETE" },
        { { .equal_schemes = &empty_name, .equal_scheme_count = 1 }, "--equal-schemes" },
        { { .location = FIRN_TEXT_INIT("m:/w") }, "--location" },
        { { .location = FIRN_TEXT_INIT("m:/w/db/t10") }, "--location" },
        { { .location = FIRN_TEXT_INIT("m://other/w/db/t") }, "--location" },
        { { .location = FIRN_TEXT_INIT("m:/w/db/t/../u") }, "--location" },
        { { .sweep = true, .mark = true }, "--mark" },
        { { .sweep = true, .older_than = FIRN_TEXT_INIT("5d") }, "--older-than" },
        { { .sweep = true, .after = FIRN_TEXT_INIT("soon") }, "--after" },
        { { .after = FIRN_TEXT_INIT("3d") }, "--sweep" },
    };
    struct firn_op *op = test_op(state);
    struct world world;
    struct firn_orphan_plan *plan;
    world_open(op, &world, "m:/w", (struct fixture_options){ 0 });
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_STATUS(op, FIRN_USAGE, world_plan(op, &world, cases[i].args, &plan));
        CHECK(strstr(op->error.text, cases[i].words), "case %zu: %s", i, op->error.text);
    }
    world_close(op, &world);
}

static void needs_gc_enabled(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct firn_orphan_plan *plan;
    world_open(op, &world, "m:/w", (struct fixture_options){ .properties = "{\"gc.enabled\": \"false\"}" });
    CHECK_STATUS(op, FIRN_DENIED, world_plan(op, &world, no_args, &plan));
    world_close(op, &world);
}

/* One metadata.json, or a folder without a catalog's naming, may be an old version: looking is fine, deleting is not.
 */
static void needs_a_catalog_to_delete(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct firn_orphan_report report;
    world_open(op, &world, "m:/w", (struct fixture_options){ 0 });
    world_put(op, &world, "data/a", 10 * DAY_MS);
    world.fixture.table.catalog = NULL;
    CHECK_ORPHANS(op, &world, no_args, "data/a");
    CHECK_STATUS(op, FIRN_USAGE, world_remove(op, &world, no_args, &report));
    CHECK(world_has(op, &world, "data/a"), "still there");
    world_close(op, &world);
}

static void location_narrows(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    world_open(op, &world, "m:/w",
               (struct fixture_options){ .properties = "{\"write.data.path\": \"m:/elsewhere/t\"}" });
    world_put(op, &world, "data/a", 10 * DAY_MS);
    world_put(op, &world, "data2/b", 10 * DAY_MS);
    world_put_at(op, &world, FIRN_TEXT("m:/elsewhere/t/c"), 10 * DAY_MS);
    CHECK_ORPHANS(op, &world, ((struct firn_remove_orphan_files_args){ .location = FIRN_TEXT("m:/w/db/t/data/") }),
                  "data/a");
    world_close(op, &world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(finds_what_nothing_names),     TEST(age_decides),
        TEST(useless_times_count_as_new),   TEST(names_that_are_not_utf8_stay),
        TEST(a_long_write_loses_nothing),   TEST(hidden_files_stay),
        TEST(statistics_stay_while_listed), TEST(metadata_is_loaded_after_the_listing),
        TEST(prefixes_are_compared),        TEST(one_agreeing_prefix_is_enough),
        TEST(wrong_arguments_are_refused),  TEST(needs_gc_enabled),
        TEST(needs_a_catalog_to_delete),    TEST(location_narrows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
