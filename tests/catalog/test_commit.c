/* Single commits under faults: after every failure the table is the old one or the new one, never between, and what an
 * unknown outcome wrote is still there. Invariants (1) to (4) of catalog.h. */
#include "check.h"

#include "support/fault_store.h"
#include "support/fixture.h"

#define WAREHOUSE FIRN_TEXT("mem://w")

/* Time that passes only when someone sleeps. */
struct test_clock {
    atomic_int_fast64_t ms;
    atomic_uint sleeps;
};

static int64_t clock_now_us(void *context)
{
    return (INT64_C(1700000000000) + atomic_load(&((struct test_clock *)context)->ms)) * 1000;
}

static int64_t clock_monotonic_ms(void *context)
{
    return atomic_load(&((struct test_clock *)context)->ms);
}

static void clock_sleep_ms(void *context, int64_t ms)
{
    struct test_clock *clock = context;
    atomic_fetch_add(&clock->ms, ms);
    atomic_fetch_add(&clock->sleeps, 1);
}

static void clock_random(void *context, void *out, size_t len)
{
    (void)context;
    firn_env_real()->random(NULL, out, len);
}

static void clock_log(void *context, enum firn_log_level level, struct firn_text line)
{
    (void)context;
    (void)level;
    (void)line;
}

static struct firn_env clock_env(struct test_clock *clock)
{
    return (struct firn_env){
        .now_us = clock_now_us,
        .monotonic_ms = clock_monotonic_ms,
        .sleep_ms = clock_sleep_ms,
        .random = clock_random,
        .log = clock_log,
        .context = clock,
    };
}

static struct firn_store *store_with_table(struct firn_op *op, const char *properties)
{
    struct firn_store *store;
    struct fixture fixture;
    CHECK_OK(op, firn_store_open_memory(op, &store));
    CHECK_OK(op, fixture_open(op, store, WAREHOUSE, &fixture));
    CHECK_OK(op, fixture_create(op, &fixture, (struct fixture_options){ .properties = properties }));
    struct firn_data_file file = fixture_file(op, &fixture, "first", 1);
    CHECK_OK(op, fixture_append(op, &fixture, &file, 1));
    fixture_close(&fixture);
    return store;
}

/* How many references the table has when it is read afresh. */
static uint32_t ref_count(struct firn_op *op, struct firn_store *store)
{
    struct fixture fixture;
    struct firn_text live;
    CHECK_OK(op, fixture_open(op, store, WAREHOUSE, &fixture));
    CHECK_OK(op, fixture_load(op, &fixture));
    CHECK_OK(op, fixture_live(op, &fixture, &live));
    uint32_t count = fixture.table.metadata->ref_count;
    fixture_close(&fixture);
    return count;
}

/* One commit through a store whose nth call fails. */
static firn_status commit_with_fault(struct firn_op *op, struct firn_store *memory, struct fault fault,
                                     struct fault_report *report)
{
    struct firn_store *store;
    struct fixture fixture;
    CHECK_OK(op, fault_store_open(op, memory, fault, report, &store));
    CHECK_OK(op, fixture_open(op, store, WAREHOUSE, &fixture));
    firn_status status = fixture_load(op, &fixture);
    if (status == FIRN_OK)
        status = fixture_tag(op, &fixture, FIRN_TEXT("new"));
    fixture_close(&fixture);
    firn_store_close(store);
    return status;
}

static void every_storage_call_may_fail(void **state)
{
    struct firn_op *op = test_op(state);
    struct test_clock clock = { 0 };
    struct firn_env env = clock_env(&clock);
    op->env = &env;
    for (int kind = 0; kind < FAULT_KIND_COUNT; kind++) {
        bool faulted = true;
        for (uint32_t nth = 0; faulted; nth++) {
            struct firn_store *memory = store_with_table(op, NULL);
            struct fault_report report;
            firn_status status = commit_with_fault(op, memory, (struct fault){ nth, (enum fault_kind)kind }, &report);
            faulted = atomic_load(&report.fired);
            uint32_t refs = ref_count(op, memory);
            CHECK(refs == 1 || refs == 2, "call %u, %s: %u refs", nth, fault_name(kind), refs);
            CHECK(status != FIRN_OK || refs == 2, "call %u, %s: success, but nothing changed", nth, fault_name(kind));
            CHECK(status == FIRN_OK || status == FIRN_UNKNOWN || refs == 1, "call %u, %s: %s, but the table changed",
                  nth, fault_name(kind), firn_status_name(status));
            CHECK(faulted || status == FIRN_OK, "call %u: %s", nth, op->error.text);
            firn_store_close(memory);
        }
    }
    op->env = firn_env_real();
}

/* A catalog kind whose swap loses its answer, and which then cannot be asked for a while. */
struct forgetful {
    const struct firn_catalog_kind *inner;
    struct firn_catalog_kind kind;
    bool swaps;          /* the swap takes effect */
    unsigned deaf_count; /* how often it does not answer */
    unsigned asked_count;
};

static struct forgetful *forgetful_of(struct firn_catalog *catalog)
{
    return (struct forgetful *)((char *)(uintptr_t)catalog->kind - offsetof(struct forgetful, kind));
}

static firn_status forgetful_swap(struct firn_op *op, struct firn_catalog *catalog, struct firn_text identifier,
                                  const struct firn_table_version *base, const struct firn_metadata *metadata,
                                  struct firn_text *new_location)
{
    struct forgetful *forgetful = forgetful_of(catalog);
    if (forgetful->swaps)
        FIRN_TRY(forgetful->inner->swap(op, catalog, identifier, base, metadata, new_location));
    else
        *new_location = FIRN_TEXT("mem://w/db/t/metadata/v99.metadata.json");
    if (!forgetful->swaps)
        FIRN_TRY(firn_metadata_save(op, catalog->store, *new_location, metadata));
    return firn_fail(op, FIRN_UNKNOWN, "the line went dead");
}

static firn_status forgetful_committed(struct firn_op *op, struct firn_catalog *catalog, struct firn_text identifier,
                                       struct firn_text location, const struct firn_metadata *metadata, bool *out)
{
    struct forgetful *forgetful = forgetful_of(catalog);
    if (forgetful->asked_count++ < forgetful->deaf_count)
        return firn_fail(op, FIRN_UNAVAILABLE, "no answer");
    if (!forgetful->swaps) {
        *out = false;
        return FIRN_OK;
    }
    return forgetful->inner->committed(op, catalog, identifier, location, metadata, out);
}

static void a_lost_answer_is_looked_up(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        bool swaps;
        unsigned deaf_count;
        firn_status status;
        uint32_t refs;
    } cases[] = {
        { true, 0, FIRN_OK, 2 },           { true, 3, FIRN_OK, 2 },
        { true, 4, FIRN_UNKNOWN, 2 }, /* three retries, then it stays unknown */
        { false, 0, FIRN_UNAVAILABLE, 1 }, { false, 3, FIRN_UNAVAILABLE, 1 },
    };
    struct test_clock clock = { 0 };
    struct firn_env env = clock_env(&clock);
    op->env = &env;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct firn_store *memory = store_with_table(op, NULL);
        struct fixture fixture;
        CHECK_OK(op, fixture_open(op, memory, WAREHOUSE, &fixture));
        CHECK_OK(op, fixture_load(op, &fixture));
        struct forgetful forgetful = { .inner = fixture.catalog->kind, .kind = *fixture.catalog->kind };
        forgetful.kind.swap = forgetful_swap;
        forgetful.kind.committed = forgetful_committed;
        forgetful.swaps = cases[i].swaps;
        forgetful.deaf_count = cases[i].deaf_count;
        fixture.catalog->kind = &forgetful.kind;
        firn_status status = fixture_tag(op, &fixture, FIRN_TEXT("new"));
        CHECK(status == cases[i].status, "case %zu: %s", i, firn_status_name(status));
        CHECK(status != FIRN_UNKNOWN || op->error.hint[0], "case %zu: no hint", i);
        if (!cases[i].swaps)
            CHECK(!store_has(op, memory, FIRN_TEXT("mem://w/db/t/metadata/v99.metadata.json")), "case %zu: left", i);
        fixture_close(&fixture);
        CHECK(ref_count(op, memory) == cases[i].refs, "case %zu: %u refs", i, ref_count(op, memory));
        firn_store_close(memory);
    }
    op->env = firn_env_real();
}

static size_t metadata_version_count(struct firn_op *op, struct firn_store *store)
{
    size_t count = 0;
    for (int i = 1; i < 20; i++)
        count += store_has(op, store, firn_text_format(op->arena, "mem://w/db/t/metadata/v%d.metadata.json", i));
    return count;
}

static void old_metadata_is_deleted_when_asked_for(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        const char *properties;
        size_t left;
    } cases[] = {
        { "{\"write.metadata.previous-versions-max\": \"2\"}", 7 },
        { "{\"write.metadata.previous-versions-max\": \"2\", \"write.metadata.delete-after-commit.enabled\": \"true\"}",
          3 },
    };
    for (size_t i = 0; i < 2; i++) {
        struct firn_store *memory = store_with_table(op, cases[i].properties);
        struct fixture fixture;
        CHECK_OK(op, fixture_open(op, memory, WAREHOUSE, &fixture));
        CHECK_OK(op, fixture_load(op, &fixture));
        for (int k = 0; k < 5; k++)
            CHECK_OK(op, fixture_tag(op, &fixture, firn_text_format(op->arena, "tag%d", k)));
        CHECK(metadata_version_count(op, memory) == cases[i].left, "case %zu: %zu", i,
              metadata_version_count(op, memory));
        fixture_close(&fixture);
        firn_store_close(memory);
    }
}

/* (7) of hadoop.c: version N+1 is free again since it was deleted, but the table is far beyond it. */
static void a_deleted_version_is_not_won(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_store *memory = store_with_table(
        op,
        "{\"write.metadata.previous-versions-max\": \"1\", \"write.metadata.delete-after-commit.enabled\": \"true\"}");
    struct fixture slow, fast;
    CHECK_OK(op, fixture_open(op, memory, WAREHOUSE, &slow));
    CHECK_OK(op, fixture_open(op, memory, WAREHOUSE, &fast));
    CHECK_OK(op, fixture_load(op, &slow));
    CHECK_OK(op, fixture_load(op, &fast));
    for (int k = 0; k < 5; k++)
        CHECK_OK(op, fixture_tag(op, &fast, firn_text_format(op->arena, "tag%d", k)));
    CHECK(!store_has(op, memory, FIRN_TEXT("mem://w/db/t/metadata/v3.metadata.json")), "v3 was to be deleted");
    CHECK_OK(op, fixture_tag(op, &slow, FIRN_TEXT("late")));
    assert_int_equal(ref_count(op, memory), 7);

    struct firn_table_version base = { FIRN_TEXT("mem://w/db/t/metadata/v2.metadata.json"), slow.table.metadata };
    struct firn_text location;
    CHECK_STATUS(op, FIRN_CONFLICT,
                 firn_hadoop_kind.swap(op, slow.catalog, FIRN_TEXT("db.t"), &base, slow.table.metadata, &location));
    assert_int_equal(ref_count(op, memory), 7);
    fixture_close(&slow);
    fixture_close(&fast);
    firn_store_close(memory);
}

/* A catalog kind that names a file which another writer deletes before it is read. */
struct outrun {
    const struct firn_catalog_kind *inner;
    struct firn_catalog_kind kind;
    unsigned located_count;
};

static firn_status outrun_locate(struct firn_op *op, struct firn_catalog *catalog, struct firn_text identifier,
                                 struct firn_text *metadata_location)
{
    struct outrun *outrun = (struct outrun *)((char *)(uintptr_t)catalog->kind - offsetof(struct outrun, kind));
    *metadata_location = FIRN_TEXT("mem://w/db/t/metadata/v0.metadata.json");
    return outrun->located_count++ == 0 ? FIRN_OK : outrun->inner->locate(op, catalog, identifier, metadata_location);
}

static void a_version_that_vanishes_is_looked_for_again(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_store *memory = store_with_table(op, NULL);
    struct fixture fixture;
    CHECK_OK(op, fixture_open(op, memory, WAREHOUSE, &fixture));
    struct outrun outrun = { .inner = fixture.catalog->kind, .kind = *fixture.catalog->kind };
    outrun.kind.locate = outrun_locate;
    fixture.catalog->kind = &outrun.kind;
    CHECK_OK(op, fixture_load(op, &fixture));
    assert_int_equal(outrun.located_count, 2);
    fixture_close(&fixture);
    firn_store_close(memory);
}

static void retries_follow_the_policy(void **state)
{
    struct firn_op *op = test_op(state);
    struct test_clock clock = { 0 };
    struct firn_env env = clock_env(&clock);
    struct firn_retry_policy policy = { .retries = 4, .wait_ms_min = 100, .wait_ms_max = 300, .total_ms_max = 10000 };
    static const int64_t waits[] = { 100, 200, 300, 300 };
    op->env = &env;
    for (int32_t attempt = 1; attempt <= 4; attempt++) {
        int64_t before = atomic_load(&clock.ms);
        CHECK(firn_retry_wait(op, &policy, attempt, 0), "attempt %d", attempt);
        int64_t waited = atomic_load(&clock.ms) - before;
        CHECK(waited >= waits[attempt - 1] && waited <= waits[attempt - 1] * 11 / 10, "attempt %d: %d ms", attempt,
              (int)waited);
    }
    CHECK(!firn_retry_wait(op, &policy, 5, 0), "no fifth retry");
    atomic_store(&clock.ms, 20000);
    CHECK(firn_retry_wait(op, &policy, 1, 0), "the total is looked at from the second on");
    CHECK(!firn_retry_wait(op, &policy, 2, 0), "the total is over");
    op->deadline_ms = atomic_load(&clock.ms) + 50;
    CHECK(!firn_retry_wait(op, &policy, 1, 0), "the deadline comes first");
    op->deadline_ms = INT64_MAX;
    op->env = firn_env_real();
}

/* A table dropped and made again is another table: what was planned on the first must not go into the second. */
static void another_table_in_its_place_is_a_conflict(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_store *store = store_with_table(op, NULL), *other = store_with_table(op, NULL);
    struct fixture fixture, second;
    CHECK_OK(op, fixture_open(op, store, WAREHOUSE, &fixture));
    CHECK_OK(op, fixture_load(op, &fixture));
    CHECK_OK(op, fixture_open(op, other, WAREHOUSE, &second));
    CHECK_OK(op, fixture_load(op, &second));
    CHECK_OK(op, fixture_tag(op, &second, FIRN_TEXT("later"))); /* so that its version is a newer one */
    struct firn_table table = fixture.table;
    table.catalog = second.table.catalog;
    table.store = other;
    CHECK_STATUS(op, FIRN_CONFLICT, firn_table_refresh(op, &table));
    CHECK(strstr(op->error.text, "another was made in its place"), "%s", op->error.text);
    fixture_close(&second);
    fixture_close(&fixture);
    firn_store_close(other);
    firn_store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_storage_call_may_fail),
        TEST(a_lost_answer_is_looked_up),
        TEST(old_metadata_is_deleted_when_asked_for),
        TEST(a_deleted_version_is_not_won),
        TEST(a_version_that_vanishes_is_looked_for_again),
        TEST(retries_follow_the_policy),
        TEST(another_table_in_its_place_is_a_conflict),
    };
    return cmocka_run_group_tests_name("commit", tests, NULL, NULL);
}
