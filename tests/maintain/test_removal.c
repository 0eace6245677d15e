/* What a removal lets go and what it refuses: invariants (1) to (4) of removal.h. */
#include "check.h"

#include "maintain/mark.h"
#include "maintain/removal.h"
#include "support/fault_store.h"
#include "support/fixture.h"

static void no_sleep(void *context, int64_t ms)
{
    (void)context;
    (void)ms;
}

static void no_log(void *context, enum firn_log_level level, struct firn_text line)
{
    (void)context;
    (void)level;
    (void)line;
}

/* A table in memory behind a store that may refuse. */
struct world {
    struct firn_op *op;
    struct firn_env env;
    struct firn_store *memory, *store;
    struct fault_report report;
    struct fixture fixture;
    struct firn_pool *pool;
    struct firn_removal *removal;
};

static void open_world(struct world *world, void **state, struct fault fault)
{
    struct firn_op *op = world->op = test_op(state);
    world->env = *firn_env_real();
    world->env.sleep_ms = no_sleep;
    world->env.log = no_log;
    op->env = &world->env;
    fault.at_call = UINT32_MAX;
    CHECK_OK(op, firn_pool_open(op, 3, &world->pool));
    CHECK_OK(op, firn_store_open_memory(op, &world->memory));
    CHECK_OK(op, fault_store_open(op, world->memory, fault, &world->report, &world->store));
    CHECK_OK(op, fixture_open(op, world->store, FIRN_TEXT("file:///w"), &world->fixture));
    CHECK_OK(op, fixture_create(op, &world->fixture, (struct fixture_options){ 0 }));
}

static void close_world(struct world *world)
{
    firn_removal_close(world->removal);
    fixture_close(&world->fixture);
    firn_store_close(world->store);
    firn_store_close(world->memory);
    firn_pool_close(world->pool);
}

static struct firn_text append(struct world *world, const char *name)
{
    struct firn_data_file file = fixture_file(world->op, &world->fixture, name, 1);
    CHECK_OK(world->op, fixture_append(world->op, &world->fixture, &file, 1));
    return file.path;
}

/* A file that no metadata names. */
static struct firn_text litter(struct world *world, const char *name)
{
    return fixture_file(world->op, &world->fixture, name, 1).path;
}

static void begin(struct world *world, const char *folder)
{
    struct firn_removal_config config = { .pool = world->pool, .folder = firn_text_of(folder) };
    firn_removal_close(world->removal);
    CHECK_OK(world->op, firn_removal_open(world->op, &world->fixture.table, &config, &world->removal));
}

static firn_status add(struct world *world, struct firn_text path)
{
    struct firn_removal_file file = {
        .type = FIRN_TABLE_FILE_OTHER, .path = path, .bytes = 10, .reason = FIRN_TEXT("a test")
    };
    return firn_removal_add(world->op, world->removal, &file);
}

static firn_status apply(struct world *world, struct firn_removal_report *report)
{
    return firn_removal_apply(world->op, world->removal, &(struct firn_removal_options){ 0 }, report);
}

static bool has(struct world *world, struct firn_text path)
{
    return store_has(world->op, world->memory, path);
}

static enum firn_removal_state state_of(struct world *world, const char *name)
{
    size_t count;
    const struct firn_removal_file *const *files = firn_removal_files(world->removal, &count);
    for (size_t i = 0; i < count; i++)
        if (firn_text_ends(files[i]->path, firn_text_of(name)))
            return files[i]->state;
    CHECK(false, "%s was not nominated", name);
    return FIRN_REMOVAL_GOES;
}

static void what_is_reachable_stays(void **state)
{
    struct world world = { 0 };
    struct firn_removal_report report;
    open_world(&world, state, (struct fault){ 0 });
    struct firn_text live = append(&world, "live"), dead = litter(&world, "dead"), absent = FIRN_TEXT("file:/w/absent");
    const struct firn_metadata *metadata = world.fixture.table.metadata;
    struct firn_text kept[] = { live, metadata->snapshots[0].manifest_list, world.fixture.table.metadata_location,
                                FIRN_TEXT("/w/db/t/metadata/version-hint.text"),
                                FIRN_TEXT("file:///w/db/t/metadata/v1.metadata.json") };
    begin(&world, "/w/db/t");
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        CHECK_OK(world.op, add(&world, kept[i]));
    CHECK_OK(world.op, add(&world, dead));
    CHECK_STATUS(world.op, FIRN_DENIED, add(&world, absent));
    CHECK_OK(world.op, apply(&world, &report));
    CHECK(report.deleted[FIRN_TABLE_FILE_OTHER].count == 1 && report.deleted[FIRN_TABLE_FILE_OTHER].bytes == 10, " ");
    CHECK(report.reachable_count == 5 && report.failed_count == 0, "%d", (int)report.reachable_count);
    CHECK(!has(&world, dead), " ");
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        CHECK(firn_text_starts(kept[i], FIRN_TEXT("/w")) || has(&world, kept[i]), "%.*s", FIRN_FMT(kept[i]));
    close_world(&world);
}

/* Metadata says file:///w/..., a nomination says it in other ways. */
static void spelling_does_not_matter(void **state)
{
    static const char *const spellings[] = { "/w/db/t/data/live", "file:/w/db/t/data/live",
                                             "file://localhost/w//db/./t/data/live", "FILE:///w/db/x/../t/data/live" };
    struct world world = { 0 };
    struct firn_removal_report report;
    open_world(&world, state, (struct fault){ 0 });
    struct firn_text live = append(&world, "live");
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        begin(&world, "file:/w/db/t/");
        CHECK_OK(world.op, add(&world, firn_text_of(spellings[i])));
        CHECK_OK(world.op, apply(&world, &report));
        CHECK(report.reachable_count == 1 && report.deleted[FIRN_TABLE_FILE_OTHER].count == 0, "%s", spellings[i]);
    }
    CHECK(has(&world, live), " ");
    close_world(&world);
}

/* (1): a plan is older than the table. What has become live since is dropped from it, and what was not in it stays. */
static void the_newest_metadata_decides(void **state)
{
    struct world world = { 0 };
    struct firn_removal_report report;
    open_world(&world, state, (struct fault){ 0 });
    append(&world, "live");
    struct firn_data_file x = fixture_file(world.op, &world.fixture, "x", 1);
    struct firn_text y = litter(&world, "y");
    begin(&world, "");
    CHECK_OK(world.op, add(&world, x.path));
    CHECK_OK(world.op, add(&world, y));
    CHECK_OK(world.op, firn_removal_keep(world.op, world.removal, world.fixture.table.metadata, FIRN_TEXT("")));
    CHECK_OK(world.op, firn_removal_settle(world.op, world.removal));
    CHECK(state_of(&world, "/x") == FIRN_REMOVAL_GOES && state_of(&world, "/y") == FIRN_REMOVAL_GOES, " ");

    struct firn_text w = litter(&world, "w");
    struct fixture other;
    CHECK_OK(world.op, fixture_open(world.op, world.memory, FIRN_TEXT("file:///w"), &other));
    CHECK_OK(world.op, fixture_load(world.op, &other));
    CHECK_OK(world.op, fixture_append(world.op, &other, &x, 1));
    fixture_close(&other);

    CHECK_OK(world.op, apply(&world, &report));
    CHECK(has(&world, x.path) && !has(&world, y) && has(&world, w), " ");
    CHECK(state_of(&world, "/x") == FIRN_REMOVAL_REACHABLE && report.deleted[FIRN_TABLE_FILE_OTHER].count == 1, " ");
    close_world(&world);
}

static void gc_disabled_is_refused(void **state)
{
    struct world world = { 0 };
    open_world(&world, state, (struct fault){ 0 });
    json_t *updates;
    CHECK_OK(world.op, firn_json_parse(world.op,
                                       FIRN_TEXT("[{\"action\": \"set-properties\", \"updates\": "
                                                 "{\"gc.enabled\": \"false\"}}]"),
                                       "updates", &updates));
    /* Refused when opened, and also when it was set after that. */
    begin(&world, "");
    struct firn_text dead = litter(&world, "dead");
    CHECK_OK(world.op, add(&world, dead));
    CHECK_OK(world.op, firn_catalog_commit(world.op, &world.fixture.table, firn_json_own(world.op->arena, json_array()),
                                           updates));
    struct firn_removal_report report;
    CHECK_STATUS(world.op, FIRN_DENIED, apply(&world, &report));
    CHECK(has(&world, dead), " ");
    struct firn_removal *removal;
    CHECK_STATUS(world.op, FIRN_DENIED,
                 firn_removal_open(world.op, &world.fixture.table, &(struct firn_removal_config){ 0 }, &removal));
    close_world(&world);
}

/* A request is held in memory, which has its limit; a failed one gives back what it took. */
static void too_many_files_are_a_limit(void **state)
{
    struct world world = { 0 };
    struct firn_budget budget = { .limit_bytes = 100000 };
    open_world(&world, state, (struct fault){ 0 });
    world.op->budget = &budget;
    begin(&world, "");
    firn_status status = FIRN_OK;
    for (int i = 0; i < 1000 && status == FIRN_OK; i++)
        status = add(&world, firn_text_format(world.op->arena, "file:/w/dead-%d", i));
    CHECK(status == FIRN_LIMIT && strstr(world.op->error.hint, "--memory"), "%s", world.op->error.text);
    close_world(&world);
    CHECK(budget.used_bytes == 0, "%zu", budget.used_bytes);
    world.op->budget = NULL;
}

/* 5000 dead files, of which the store refuses three. */
static void failures_are_named_and_not_counted(void **state)
{
    enum { DEAD = 5000, REFUSED = 3 };
    struct world world = { 0 };
    struct firn_removal_report report;
    open_world(&world, state, (struct fault){ .refused = "99.refused" });
    append(&world, "live");
    begin(&world, "");
    for (int i = 0; i < DEAD; i++) {
        const char *ending = i % 100 == 99 && i < REFUSED * 100 ? ".refused" : "";
        struct firn_text name = firn_text_format(world.op->arena, "dead-%d%s", i, ending);
        CHECK_OK(world.op, add(&world, litter(&world, name.data)));
    }
    CHECK_STATUS(world.op, FIRN_PARTIAL, apply(&world, &report));
    CHECK(strstr(world.op->error.text, "3 of 5000 files could not be deleted"), "%s", world.op->error.text);
    CHECK(report.failed_count == REFUSED && report.deleted[FIRN_TABLE_FILE_OTHER].count == DEAD - REFUSED, " ");
    CHECK(state_of(&world, "dead-99.refused") == FIRN_REMOVAL_FAILED, " ");
    /* Once more, and only these three. */
    atomic_store(&world.report.deletions, 0);
    CHECK_STATUS(world.op, FIRN_PARTIAL, apply(&world, &report));
    CHECK(world.report.deletions == REFUSED, "%u", world.report.deletions);
    close_world(&world);
}

/* So many dead files, deleted so many at a time. */
static firn_status delete_dead(struct world *world, int count, uint32_t concurrent_max,
                               struct firn_removal_report *report)
{
    struct firn_removal_options options = { .concurrent_max = concurrent_max };
    begin(world, "");
    for (int i = 0; i < count; i++)
        CHECK_OK(world->op, add(world, litter(world, firn_text_format(world->op->arena, "dead-%d", i).data)));
    return firn_removal_apply(world->op, world->removal, &options, report);
}

/* A store that is busy for a while is asked again; each file up to four times. */
static void a_busy_store_is_asked_again(void **state)
{
    static const struct {
        uint32_t busy_count, deletions;
        int64_t failed_count;
    } cases[] = { { 1, 11, 0 }, { 10, 20, 0 }, { 25, 35, 0 }, { 35, 40, 5 }, { 1000, 40, 10 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world world = { 0 };
        struct firn_removal_report report;
        open_world(&world, state, (struct fault){ .busy_count = cases[i].busy_count });
        firn_status status = delete_dead(&world, 10, 1, &report);
        CHECK(status == (cases[i].failed_count ? FIRN_PARTIAL : FIRN_OK), "case %zu: %s", i, firn_status_name(status));
        CHECK(report.failed_count == cases[i].failed_count && world.report.deletions == cases[i].deletions,
              "case %zu: %d failed after %u attempts", i, (int)report.failed_count, world.report.deletions);
        CHECK(status == FIRN_OK || strstr(world.op->error.text, "slow down"), "%s", world.op->error.text);
        close_world(&world);
    }
}

/* Each deletion waits until as many are under way as may be. The pool has three threads. */
static void deletions_run_side_by_side(void **state)
{
    static const uint32_t widths[] = { 1, 2, 3, 16 };
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        struct world world = { 0 };
        struct firn_removal_report report;
        open_world(&world, state, (struct fault){ .together = widths[i] });
        CHECK_OK(world.op, delete_dead(&world, 48, widths[i], &report));
        CHECK(world.report.deleting_most == widths[i] && report.deleted[FIRN_TABLE_FILE_OTHER].count == 48,
              "%u at a time, not %u", world.report.deleting_most, widths[i]);
        close_world(&world);
    }
}

static void keys(void **state)
{
    static const struct {
        const char *location, *key;
    } cases[] = {
        { "/a/b", "/a/b" },
        { "file:/a/b", "/a/b" },
        { "file:///a//b/", "/a/b" },
        { "file://LocalHost/a/b", "/a/b" },
        { "file://host/a", "file://host/a" },
        { "s3a://Bucket/a/B", "s3://bucket/a/B" },
        { "S3N://b//a", "s3://b/a" },
        { "hdfs:/p/f", "hdfs:///p/f" },
        { "hdfs://nn:8020/p/f", "hdfs://nn:8020/p/f" },
        { "a/./b/../c", "a/c" },
        { "/../..", "/" },
        { "s3://b/../../x", "s3://b/x" },
        { "s3://b", "s3://b/" },
        { "", "" },
    };
    struct firn_op *op = test_op(state);
    struct firn_relocation rule = { FIRN_TEXT("s3a://old/t"), FIRN_TEXT("/new") };
    struct firn_store *store, *relocated;
    CHECK_OK(op, firn_store_open_memory(op, &store));
    CHECK_OK(op, firn_store_open(op, &(struct firn_store_config){ .relocations = &rule, .relocation_count = 1 },
                                 &relocated));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct firn_text key = firn_store_key(op, store, firn_text_of(cases[i].location));
        CHECK(firn_text_is(key, cases[i].key), "%s: %.*s", cases[i].location, FIRN_FMT(key));
    }
    struct firn_text key = firn_store_key(op, relocated, FIRN_TEXT("s3a://old/t/data/f"));
    CHECK(firn_text_is(key, "/new/data/f"), "%.*s", FIRN_FMT(key));
    firn_store_close(store);
    firn_store_close(relocated);
}

/* Marking decides as applying does, and deletes nothing. */
static void marks_what_would_go(void **state)
{
    struct world world = { 0 };
    struct firn_mark_report report;
    open_world(&world, state, (struct fault){ 0 });
    struct firn_text live = append(&world, "live"), dead = litter(&world, "dead");
    begin(&world, "/w/db/t");
    CHECK_OK(world.op, add(&world, live));
    CHECK_OK(world.op, add(&world, dead));
    CHECK_OK(world.op, firn_removal_mark(world.op, world.removal, &report));
    CHECK(report.marked_count == 1 && has(&world, live) && has(&world, dead), "%d marked", (int)report.marked_count);
    close_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_reachable_stays),
        TEST(spelling_does_not_matter),
        TEST(the_newest_metadata_decides),
        TEST(gc_disabled_is_refused),
        TEST(failures_are_named_and_not_counted),
        TEST(a_busy_store_is_asked_again),
        TEST(deletions_run_side_by_side),
        TEST(keys),
        TEST(too_many_files_are_a_limit),
        TEST(marks_what_would_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
