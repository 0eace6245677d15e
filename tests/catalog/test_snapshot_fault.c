/* Each storage call of a compaction's commit fails once, in turn, until a run meets no fault. After every failure the
 * table is the old one or the new one, never between, no file that a snapshot names is missing, and a definite failure
 * leaves nothing behind: invariants (1) to (3) of snapshot_producer.h. */
#include "check.h"

#include "support/fault_store.h"
#include "support/fixture.h"

#define WAREHOUSE FIRN_TEXT("mem://w")

static const char old_live[] = "a b c | e p";
static const char new_live[] = "c n | e"; /* p names a, and goes with it */

static int64_t still_ms(void *context)
{
    (void)context;
    return 0;
}

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

static struct firn_data_file live_files[2]; /* a and b: what is compacted */

static struct firn_store *make_table(struct firn_op *op, const char *properties)
{
    struct firn_store *store;
    struct fixture fixture;
    CHECK_OK(op, firn_store_open_memory(op, &store));
    CHECK_OK(op, fixture_open(op, store, WAREHOUSE, &fixture));
    CHECK_OK(op, fixture_create(op, &fixture, (struct fixture_options){ .properties = properties }));
    const char *const names[] = { "a", "b" };
    for (int i = 0; i < 2; i++) {
        live_files[i] = fixture_file(op, &fixture, names[i], 2);
        CHECK_OK(op, fixture_append(op, &fixture, &live_files[i], 1));
    }
    struct firn_data_file deletes[] = { fixture_file(op, &fixture, "p", 1), fixture_file(op, &fixture, "e", 1) };
    deletes[0].content = FIRN_CONTENT_POSITION_DELETES;
    deletes[0].referenced_data_file = live_files[0].path;
    deletes[1].content = FIRN_CONTENT_EQUALITY_DELETES;
    deletes[1].equality_ids = &(int32_t){ 1 };
    deletes[1].equality_id_count = 1;
    CHECK_OK(op, fixture_delete(op, &fixture, deletes, 2));
    struct firn_data_file c = fixture_file(op, &fixture, "c", 2);
    CHECK_OK(op, fixture_append(op, &fixture, &c, 1));
    CHECK(fixture_file(op, &fixture, "n", 4).record_count == 4, "the output exists before the commit");
    fixture_close(&fixture);
    return store;
}

static firn_status compact(struct firn_op *op, struct firn_store *store, bool drafts)
{
    struct fixture fixture;
    CHECK_OK(op, fixture_open(op, store, WAREHOUSE, &fixture));
    firn_status status = fixture_load(op, &fixture);
    if (status == FIRN_OK) {
        struct firn_data_file added = live_files[0];
        const struct firn_snapshot *current = firn_metadata_current(fixture.table.metadata);
        added.path = firn_location_join(op->arena, fixture.table.metadata->location, FIRN_TEXT("data/n"));
        added.record_count = 4;
        struct firn_snapshot_result result;
        struct firn_snapshot_change change = {
            .operation = FIRN_TEXT("replace"),
            .branch = FIRN_TEXT("main"),
            .added = &added,
            .added_count = 1,
            .added_sequence_number = current->sequence_number - 2,
            .removed = live_files,
            .removed_count = 2,
            .base_snapshot_id = current->id,
        };
        struct firn_snapshot_change planned = change;
        if (drafts)
            change.draft = firn_snapshot_draft_open(op, NULL, &fixture.table, &planned);
        status = firn_snapshot_commit(op, NULL, &fixture.table, &change, &result);
        firn_snapshot_draft_close(op, change.draft);
    }
    fixture_close(&fixture);
    return status;
}

static void check_after(struct firn_op *op, struct firn_store *memory, firn_status status, enum fault_kind kind,
                        const char *where)
{
    struct fixture fixture;
    struct firn_text live;
    size_t orphans;
    CHECK_OK(op, fixture_open(op, memory, WAREHOUSE, &fixture));
    CHECK_OK(op, fixture_load(op, &fixture));
    CHECK_OK(op, fixture_live(op, &fixture, &live));
    CHECK_OK(op, fixture_orphans(op, &fixture, &orphans));
    bool is_new = firn_text_is(live, new_live);
    CHECK(is_new || firn_text_is(live, old_live), "%s: '%.*s'", where, FIRN_FMT(live));
    CHECK(status == FIRN_UNKNOWN || is_new == (status == FIRN_OK), "%s: %s, but the table is %s", where,
          firn_status_name(status), is_new ? "new" : "old");
    size_t orphans_max = status == FIRN_OK ? 1 : 0; /* the fault may have met the tidying up */
    bool tidies_up = status != FIRN_UNKNOWN && kind != FAULT_KILLED;
    CHECK(!tidies_up || orphans <= orphans_max, "%s: %s left %zu files", where, firn_status_name(status), orphans);
    fixture_close(&fixture);
}

static void fail_every_call(struct firn_op *op, const char *properties, bool drafts)
{
    struct firn_env env = *firn_env_real();
    env.sleep_ms = no_sleep;
    env.monotonic_ms = still_ms;
    env.log = no_log;
    op->env = &env;
    struct firn_store *before = make_table(op, properties);
    for (int kind = 0; kind < FAULT_KIND_COUNT; kind++) {
        bool faulted = true;
        for (uint32_t nth = 0; faulted; nth++) {
            struct firn_store *memory, *store;
            struct fault_report report;
            CHECK_OK(op, firn_store_open_memory(op, &memory));
            CHECK_OK(op, store_copy(op, before, memory, WAREHOUSE));
            CHECK_OK(op, fault_store_open(op, memory, (struct fault){ nth, (enum fault_kind)kind }, &report, &store));
            firn_status status = compact(op, store, drafts);
            faulted = atomic_load(&report.fired);
            CHECK(faulted || status == FIRN_OK, "%s: %s", fault_name(kind), op->error.text);
            firn_store_close(store);
            check_after(op, memory, status, (enum fault_kind)kind,
                        firn_text_format(op->arena, "call %u, %s", nth, fault_name(kind)).data);
            firn_store_close(memory);
        }
    }
    firn_store_close(before);
    op->env = firn_env_real();
}

static void every_storage_call_may_fail(void **state)
{
    fail_every_call(test_op(state), "{\"commit.manifest.min-count-to-merge\": \"2\"}", false);
}

/* So may those of a draft, which writes manifests that are not joined: what it could not do, the commit does. */
static void every_storage_call_of_a_drafted_commit_may_fail(void **state)
{
    fail_every_call(test_op(state), NULL, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = { TEST(every_storage_call_may_fail),
                                        TEST(every_storage_call_of_a_drafted_commit_may_fail) };
    return cmocka_run_group_tests_name("snapshot_fault", tests, NULL, NULL);
}
