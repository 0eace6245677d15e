/* Branches, tags, rollbacks and picks over a store that fails, or a program that is killed, at every call in turn: the
 * table is as before or as asked for, never between; every snapshot reads; and running the command again completes it.
 */
#include "check.h"

#include "firn/refs.h"
#include "maintain/history.h"
#include "support/fault_store.h"

/* s1 adds a, s3 b, on main; s4 adds d on branch "ahead"; s2 (e) and s5 (f) are staged, on s1 and on s3. Tag v is s1. */
enum { SNAPSHOTS = 5 };
struct world {
    struct firn_store *store;
    int64_t ids[SNAPSHOTS + 1];
    int64_t now_ms;
};

static struct world make_world(struct firn_op *op)
{
    struct world world = { 0 };
    struct history history = { .op = op };
    history_open(&history, op, NULL);
    world.ids[1] = history_append(&history, "a");
    history_set_ref(&history, "v", "tag", world.ids[1], "");
    world.ids[2] = history_make(&history, (struct history_commit){ .add = "e", .wap_id = "w", .staged = true });
    world.ids[3] = history_append(&history, "b");
    history_set_ref(&history, "ahead", "branch", world.ids[3], "");
    world.ids[4] = history_make(&history, (struct history_commit){ .add = "d", .branch = "ahead" });
    world.ids[5] = history_make(&history, (struct history_commit){ .add = "f", .staged = true });
    world.store = history.store;
    world.now_ms = history.now_ms;
    history_detach(&history);
    return world;
}

/* The commands ------------------------------------------------------------------------------------------------------
 */

typedef firn_status run_command(struct firn_op *op, const struct firn_refs *refs, const struct world *world);

static firn_status create_branch(struct firn_op *op, const struct firn_refs *refs, const struct world *world)
{
    (void)world;
    struct firn_ref_report report;
    struct firn_ref_create_args args = { .name = FIRN_TEXT("fresh"), .if_not_exists = true };
    return firn_ref_create(op, refs, &args, &report);
}

static firn_status create_tag(struct firn_op *op, const struct firn_refs *refs, const struct world *world)
{
    struct firn_ref_report report;
    struct firn_ref_create_args args = {
        .kind = FIRN_KIND_TAG, .name = FIRN_TEXT("fresh"), .or_replace = true, .snapshot_id = &world->ids[1]
    };
    return firn_ref_create(op, refs, &args, &report);
}

static firn_status replace_branch(struct firn_op *op, const struct firn_refs *refs, const struct world *world)
{
    struct firn_ref_report report;
    struct firn_ref_create_args args = { .name = FIRN_TEXT("ahead"), .replace = true, .snapshot_id = &world->ids[1] };
    return firn_ref_create(op, refs, &args, &report);
}

static firn_status drop_branch(struct firn_op *op, const struct firn_refs *refs, const struct world *world)
{
    (void)world;
    struct firn_ref_report report;
    struct firn_ref_drop_args args = { .name = FIRN_TEXT("ahead"), .if_exists = true };
    return firn_ref_drop(op, refs, &args, &report);
}

static firn_status drop_tag(struct firn_op *op, const struct firn_refs *refs, const struct world *world)
{
    (void)world;
    struct firn_ref_report report;
    struct firn_ref_drop_args args = { .kind = FIRN_KIND_TAG, .name = FIRN_TEXT("v"), .if_exists = true };
    return firn_ref_drop(op, refs, &args, &report);
}

static firn_status roll_back(struct firn_op *op, const struct firn_refs *refs, const struct world *world)
{
    struct firn_ref_move move;
    return firn_rollback_to_snapshot(op, refs, world->ids[1], &move);
}

static firn_status roll_back_in_time(struct firn_op *op, const struct firn_refs *refs, const struct world *world)
{
    (void)world;
    struct firn_ref_move move;
    return firn_rollback_to_timestamp(op, refs, FIRN_TEXT("2023-11-14 22:13:21.001"), &move);
}

static firn_status set_current(struct firn_op *op, const struct firn_refs *refs, const struct world *world)
{
    (void)world;
    struct firn_ref_move move;
    return firn_set_current_snapshot(op, refs, NULL, FIRN_TEXT("v"), &move);
}

static firn_status fast_forward(struct firn_op *op, const struct firn_refs *refs, const struct world *world)
{
    (void)world;
    struct firn_ref_move move;
    return firn_fast_forward(op, refs, FIRN_TEXT("main"), FIRN_TEXT("ahead"), &move);
}

static firn_status pick(struct firn_op *op, const struct firn_refs *refs, const struct world *world)
{
    struct firn_pick picked;
    return firn_cherrypick_snapshot(op, refs, world->ids[2], &picked);
}

static firn_status pick_the_next(struct firn_op *op, const struct firn_refs *refs, const struct world *world)
{
    struct firn_pick picked;
    return firn_cherrypick_snapshot(op, refs, world->ids[5], &picked);
}

static firn_status publish(struct firn_op *op, const struct firn_refs *refs, const struct world *world)
{
    (void)world;
    struct firn_pick picked;
    return firn_publish_changes(op, refs, FIRN_TEXT("w"), &picked);
}

/* Each command, and the table after it. A pick can be made only once. */
struct command {
    const char *what;
    run_command *run;
    const char *refs, *live;
    bool is_once;
};
static const struct command commands[] = {
    { "create-branch", create_branch, "v:1 main:3 ahead:4 fresh:3", "a b", false },
    { "create-tag", create_tag, "v:1 main:3 ahead:4 fresh:1", "a b", false },
    { "replace branch", replace_branch, "v:1 main:3 ahead:1", "a b", false },
    { "drop-branch", drop_branch, "v:1 main:3", "a b", false },
    { "drop-tag", drop_tag, "main:3 ahead:4", "a b", false },
    { "rollback-to-snapshot", roll_back, "v:1 main:1 ahead:4", "a", false },
    { "rollback-to-timestamp", roll_back_in_time, "v:1 main:1 ahead:4", "a", false },
    { "set-current-snapshot", set_current, "v:1 main:1 ahead:4", "a", false },
    { "fast-forward", fast_forward, "v:1 main:4 ahead:4", "a b d", false },
    { "cherrypick-snapshot", pick, "v:1 main:new ahead:4", "a b e", true },
    { "cherrypick-snapshot of the next", pick_the_next, "v:1 main:5 ahead:4", "a b f", true },
    { "publish-changes", publish, "v:1 main:new ahead:4", "a b e", true },
};
static const char refs_before[] = "v:1 main:3 ahead:4";

/* Looking -----------------------------------------------------------------------------------------------------------
 */

/* References in the order of commands[], by the number of their snapshot. */
static struct firn_text refs_text(struct firn_op *op, const struct world *world, const struct firn_metadata *metadata)
{
    static const char *const names[] = { "v", "main", "ahead", "fresh" };
    struct firn_text text = FIRN_TEXT("");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct firn_ref *ref = firn_metadata_ref(metadata, firn_text_of(names[i]));
        int number = SNAPSHOTS;
        if (!ref)
            continue;
        while (number > 0 && world->ids[number] != ref->snapshot_id)
            number--;
        const char *snapshot = number ? firn_text_format(op->arena, "%d", number).data : "new";
        text = firn_text_format(op->arena, "%.*s%s%s:%s", FIRN_FMT(text), text.len ? " " : "", names[i], snapshot);
    }
    return text;
}

static firn_status run_over(struct firn_op *op, struct firn_store *store, const struct world *world, run_command *run)
{
    struct history history;
    history_attach(&history, op, store, world->now_ms + 1000);
    struct firn_refs refs = { .table = &history.fixture.table };
    firn_status status = fixture_load(op, &history.fixture);
    if (status == FIRN_OK)
        status = run(op, &refs, world);
    history_detach(&history);
    return status;
}

/* Whether the command has taken effect: all of it or nothing. */
static bool check_table(struct firn_op *op, struct firn_store *store, const struct world *world,
                        const struct command *command, bool tidies_up, const char *where)
{
    struct history history;
    size_t orphans;
    history_attach(&history, op, store, world->now_ms);
    CHECK_OK(op, fixture_load(op, &history.fixture));
    struct firn_text refs = refs_text(op, world, history_metadata(&history));
    bool is_done = firn_text_is(refs, command->refs);
    CHECK(is_done || firn_text_is(refs, refs_before), "%s: %.*s", where, FIRN_FMT(refs));
    history_check_live(&history, is_done ? command->live : "a b");
    CHECK_OK(op, fixture_orphans(op, &history.fixture, &orphans));
    CHECK(orphans == 0 || !tidies_up, "%s: %zu files are left", where, orphans);
    history_detach(&history);
    return is_done;
}

/* One run with a fault, and another without. Gives whether there was one. */
static bool run_with_fault(struct firn_op *op, const struct world *world, const struct command *command,
                           struct fault fault)
{
    struct firn_store *memory, *store;
    struct fault_report report;
    const char *where =
        firn_text_format(op->arena, "%s, call %u, %s", command->what, fault.at_call, fault_name(fault.kind)).data;
    CHECK_OK(op, firn_store_open_memory(op, &memory));
    CHECK_OK(op, store_copy(op, world->store, memory, FIRN_TEXT("mem://w")));
    CHECK_OK(op, fault_store_open(op, memory, fault, &report, &store));
    firn_status status = run_over(op, store, world, command->run);
    bool fired = atomic_load(&report.fired);
    firn_store_close(store);
    CHECK(status == FIRN_OK || fired, "%s: %s", where, op->error.text);

    bool tidies_up = fault.kind != FAULT_KILLED && status != FIRN_OK && status != FIRN_UNKNOWN;
    bool is_done = check_table(op, memory, world, command, tidies_up, where);
    CHECK(status != FIRN_OK || is_done, "%s: success, and nothing changed", where);
    CHECK(!is_done || status == FIRN_OK || status == FIRN_UNKNOWN || fault.kind == FAULT_KILLED, "%s: %s, but done",
          where, firn_status_name(status));
    status = run_over(op, memory, world, command->run);
    CHECK(status == (is_done && command->is_once ? FIRN_USAGE : FIRN_OK), "%s, again: %s", where,
          firn_status_name(status));
    CHECK(check_table(op, memory, world, command, false, where), "%s: again and not done", where);
    firn_store_close(memory);
    return fired;
}

/* Errors and lost answers take turns. */
static void check_command(struct firn_op *op, const struct world *world, const struct command *command)
{
    struct fault fault = { .kind = FAULT_ERROR }, kill = { .kind = FAULT_KILLED };
    for (; run_with_fault(op, world, command, fault); fault.at_call++) {
        fault.kind = fault.at_call % 2 ? FAULT_ERROR : FAULT_ANSWER_LOST;
        firn_arena_reset(op->arena);
    }
    for (; run_with_fault(op, world, command, kill); kill.at_call++)
        firn_arena_reset(op->arena);
}

static void every_storage_call_may_fail(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world = make_world(op);
    struct firn_arena turn, *outer = op->arena;
    firn_arena_init(&turn);
    op->arena = &turn;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        check_command(op, &world, &commands[i]);
    op->arena = outer;
    firn_arena_done(&turn);
    firn_store_close(world.store);
}

int main(void)
{
    const struct CMUnitTest tests[] = { TEST(every_storage_call_may_fail) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
