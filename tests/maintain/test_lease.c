/* Leases: one holder at a time, takeover only of the dead and the late, memory that no late holder can undo. */
#include "maintain/history.h"

#include "maintain/age.h"
#include "maintain/lease.h"

#define LEASE_MS (10 * INT64_C(60000))

/* Two runs on one table, each a process of its own, that do not know what became of the other's unless told. */
struct pair {
    struct history first, second;
    struct firn_op second_op;
    struct firn_arena second_arena;
};

/* What each hears of the other. */
static enum firn_process_state told_state;

static enum firn_process_state tell_state(void *context, struct firn_text name)
{
    struct firn_arena arena = { 0 };
    bool is_own = firn_text_same(name, history_process(context, &arena));
    firn_arena_done(&arena);
    return is_own ? FIRN_PROCESS_RUNS : told_state;
}

static void begin(struct firn_op *op, struct pair *pair)
{
    history_open(&pair->first, op, NULL);
    firn_arena_init(&pair->second_arena);
    firn_op_init(&pair->second_op, &pair->second_arena, firn_env_real());
    history_attach(&pair->second, &pair->second_op, pair->first.store, pair->first.now_ms);
    CHECK_OK(&pair->second_op, fixture_load(&pair->second_op, &pair->second.fixture));
    pair->first.env.process_state = pair->second.env.process_state = tell_state;
    told_state = FIRN_PROCESS_UNTOLD;
}

static void end(struct pair *pair)
{
    history_detach(&pair->second);
    firn_arena_done(&pair->second_arena);
    history_close(&pair->first);
}

static void pass(struct pair *pair, int64_t ms)
{
    pair->first.now_ms += ms;
    pair->second.now_ms += ms;
}

static firn_status take(struct history *history, const char *holder, struct firn_lease_state *state,
                        struct firn_lease **lease)
{
    const struct firn_lease_config config = { .holder = firn_text_of(holder), .lease_ms = LEASE_MS };
    return firn_lease_take(history->op, &history->fixture.table, &config, state, lease);
}

static struct firn_lease_state look(struct history *history)
{
    struct firn_lease_state state;
    CHECK_OK(history->op, firn_lease_look(history->op, &history->fixture.table, &state));
    return state;
}

static void one_holds_it_at_a_time(void **state)
{
    struct firn_op *op = test_op(state);
    struct pair pair;
    struct firn_lease *mine, *theirs;
    struct firn_lease_state seen;
    begin(op, &pair);
    assert_int_equal(look(&pair.first).number, 0);
    CHECK_OK(op, take(&pair.first, "host a, process 1", &seen, &mine));
    CHECK_STATUS(&pair.second_op, FIRN_BUSY, take(&pair.second, "host b, process 2", &seen, &theirs));
    CHECK(strstr(pair.second_op.error.text, "held by host a, process 1 since 2023-11-14T22:13:20Z"), "%s",
          pair.second_op.error.text);
    firn_lease_release(op, mine);
    assert_false(look(&pair.second).is_held);
    CHECK_OK(&pair.second_op, take(&pair.second, "host b, process 2", &seen, &theirs));
    firn_lease_release(&pair.second_op, theirs);
    end(&pair);
}

static void a_late_holder_is_taken_over_and_learns_of_it(void **state)
{
    struct firn_op *op = test_op(state);
    struct pair pair;
    struct firn_lease *mine, *theirs;
    struct firn_lease_state seen;
    json_t *memory = firn_json_own(op->arena, json_pack("{s:i}", "a", 1));
    json_t *late = firn_json_own(op->arena, json_pack("{s:i}", "a", 2));
    begin(op, &pair);
    CHECK_OK(op, take(&pair.first, "a", &seen, &mine));
    pass(&pair, LEASE_MS);
    CHECK_OK(op, firn_lease_renew(op, mine, memory));
    pass(&pair, LEASE_MS);
    CHECK_STATUS(&pair.second_op, FIRN_BUSY, take(&pair.second, "b", &seen, &theirs));
    pass(&pair, 1);
    CHECK_OK(&pair.second_op, take(&pair.second, "b", &seen, &theirs));
    assert_int_equal(json_integer_value(json_object_get(seen.memory, "a")), 1);

    /* Neither its memory nor a commit gets through. */
    CHECK_STATUS(op, FIRN_BUSY, firn_lease_renew(op, mine, late));
    CHECK(strstr(op->error.text, "lost: held by b"), "%s", op->error.text);
    struct firn_text location = firn_text_copy(op->arena, pair.first.fixture.table.metadata_location);
    json_t *updates;
    CHECK_OK(op, firn_json_parse(op, FIRN_TEXT("[{\"action\": \"set-properties\", \"updates\": {\"x\": \"y\"}}]"),
                                 "updates", &updates));
    CHECK_STATUS(op, FIRN_BUSY,
                 firn_catalog_commit(op, &pair.first.fixture.table, firn_json_own(op->arena, json_array()), updates));
    CHECK_OK(op, firn_table_refresh(op, &pair.first.fixture.table));
    CHECK(firn_text_same(location, pair.first.fixture.table.metadata_location), "it was committed");
    firn_lease_release(op, mine);
    assert_true(look(&pair.second).is_held);
    firn_lease_release(&pair.second_op, theirs);
    assert_int_equal(json_integer_value(json_object_get(look(&pair.second).memory, "a")), 1);
    CHECK_OK(op, firn_catalog_commit(op, &pair.first.fixture.table, firn_json_own(op->arena, json_array()), updates));
    end(&pair);
}

static void the_dead_are_taken_over_at_once(void **state)
{
    struct firn_op *op = test_op(state);
    struct pair pair;
    struct firn_lease *mine, *theirs;
    struct firn_lease_state seen;
    begin(op, &pair);
    CHECK_OK(op, take(&pair.first, "a", &seen, &mine));
    told_state = FIRN_PROCESS_RUNS;
    CHECK_STATUS(&pair.second_op, FIRN_BUSY, take(&pair.second, "b", &seen, &theirs));
    told_state = FIRN_PROCESS_ENDED;
    CHECK_OK(&pair.second_op, take(&pair.second, "b", &seen, &theirs));
    firn_lease_release(&pair.second_op, theirs);
    end(&pair);
}

/* What a holder of another host says of its own clock is not asked: the store's time counts. */
static void clocks_of_hosts_are_not_compared(void **state)
{
    struct firn_op *op = test_op(state);
    static const int64_t skews_ms[] = { -30 * FIRN_MS_PER_DAY, 0, 30 * FIRN_MS_PER_DAY };
    for (size_t i = 0; i < sizeof skews_ms / sizeof *skews_ms; i++) {
        struct history history;
        struct firn_lease *lease;
        struct firn_lease_state seen;
        history_open(&history, op, NULL);
        history.env.process_state = tell_state;
        told_state = FIRN_PROCESS_UNTOLD;
        json_t *record = firn_json_own(
            op->arena,
            json_pack("{s:s%, s:b, s:s, s:s, s:s, s:I, s:I, s:I, s:{}}", "table_uuid",
                      history_metadata(&history)->table_uuid.data, history_metadata(&history)->table_uuid.len, "held",
                      1, "run", "r", "holder", "far away", "process", "p", "began_ms", history.now_ms + skews_ms[i],
                      "renewed_ms", history.now_ms + skews_ms[i], "lease_ms", LEASE_MS, "memory"));
        struct firn_text location = firn_text_join(op->arena, history_metadata(&history)->location,
                                                   FIRN_TEXT("/metadata/_firn_maintain/000000000001.json"));
        CHECK_OK(op, firn_store_put(op, history.store, location, true,
                                    firn_bytes_of_text(firn_json_text(op->arena, record, 0))));
        history.now_ms += LEASE_MS;
        CHECK_STATUS(op, FIRN_BUSY, take(&history, "b", &seen, &lease));
        history.now_ms += 1;
        CHECK_OK(op, take(&history, "b", &seen, &lease));
        firn_lease_release(op, lease);
        history_close(&history);
    }
}

static firn_status count_entry(struct firn_op *op, void *context, const struct firn_store_entry *entry)
{
    (void)op;
    (void)entry;
    ++*(int *)context;
    return FIRN_OK;
}

static void the_chain_stays_short(void **state)
{
    struct firn_op *op = test_op(state);
    struct history history;
    struct firn_lease *lease;
    struct firn_lease_state seen;
    int count = 0;
    history_open(&history, op, NULL);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(op, take(&history, "a", &seen, &lease));
        CHECK_OK(op, firn_lease_renew(op, lease, NULL));
        firn_lease_release(op, lease);
    }
    assert_int_equal(look(&history).number, 9);
    struct firn_text folder =
        firn_text_join(op->arena, history_metadata(&history)->location, FIRN_TEXT("/metadata/_firn_maintain"));
    CHECK_OK(op, firn_store_list(op, history.store, folder, true, count_entry, &count));
    assert_int_equal(count, 1);
    history_close(&history);
}

static void damage_is_told(void **state)
{
    struct firn_op *op = test_op(state);
    struct history history;
    struct firn_lease_state seen;
    history_open(&history, op, NULL);
    struct firn_text location = firn_text_join(op->arena, history_metadata(&history)->location,
                                               FIRN_TEXT("/metadata/_firn_maintain/000000000007.json"));
    CHECK_OK(op, firn_store_put(op, history.store, location, true, firn_bytes_of_text(FIRN_TEXT("{\"held\": 3}"))));
    CHECK_STATUS(op, FIRN_CORRUPT, firn_lease_look(op, &history.fixture.table, &seen));
    CHECK(strstr(op->error.text, "000000000007.json"), "%s", op->error.text);
    CHECK(strstr(op->error.hint, "delete that file"), "%s", op->error.hint);
    history_close(&history);
}

/* A thread renews a lease in real time. */
static void a_lease_keeps_itself(void **state)
{
    struct firn_op *op = test_op(state);
    struct history history;
    struct firn_lease *lease;
    struct firn_lease_state before, after;
    const struct firn_lease_config config = { .holder = FIRN_TEXT("a"), .lease_ms = 60, .keeps_itself = true };
    history_open(&history, op, NULL);
    CHECK_OK(op, firn_lease_take(op, &history.fixture.table, &config, &before, &lease));
    for (int i = 0; i < 6000 && look(&history).number < 3; i++)
        firn_env_real()->sleep_ms(NULL, 10);
    after = look(&history);
    CHECK(after.number >= 3 && after.is_held, "number %" PRId64, after.number);
    firn_lease_release(op, lease);
    history_close(&history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_holds_it_at_a_time),
        TEST(a_late_holder_is_taken_over_and_learns_of_it),
        TEST(the_dead_are_taken_over_at_once),
        TEST(clocks_of_hosts_are_not_compared),
        TEST(the_chain_stays_short),
        TEST(damage_is_told),
        TEST(a_lease_keeps_itself),
    };
    return cmocka_run_group_tests_name("lease", tests, NULL, NULL);
}
