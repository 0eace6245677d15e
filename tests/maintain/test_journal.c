/* Journals: what a killed run leaves is used or goes, what may have been published stays, and a run that lives is left
 * alone. Invariants (1) to (5) of journal.h. */
#include "maintain/apply_fixture.h"

#include "firn/journal.h"
#include "firn/remove_orphan_files.h"
#include "maintain/branch_plan.h"
#include "maintain/journal.h"
#include "maintain/reach.h"
#include "maintain/written_file.h"

#define DAY_MS INT64_C(86400000)

/* Processes and time as a test decides. One process runs at a time; the others have ended, or cannot be known of. */
struct machine {
    struct firn_env env;
    int process;
    bool is_untold; /* processes have no name */
    int64_t later_ms;
};

static struct firn_text machine_process(void *context, struct firn_arena *arena)
{
    const struct machine *machine = context;
    return machine->is_untold ? FIRN_TEXT("") : firn_text_format(arena, "process %d", machine->process);
}

static enum firn_process_state machine_process_state(void *context, struct firn_text name)
{
    const struct machine *machine = context;
    struct firn_arena arena = { 0 };
    bool runs = firn_text_same(name, firn_text_format(&arena, "process %d", machine->process));
    firn_arena_done(&arena);
    return runs ? FIRN_PROCESS_RUNS : FIRN_PROCESS_ENDED;
}

static int64_t machine_now_us(void *context)
{
    const struct machine *machine = context;
    const struct firn_env *real = firn_env_real();
    return real->now_us(real->context) + machine->later_ms * 1000;
}

static void machine_no_log(void *context, enum firn_log_level level, struct firn_text line)
{
    (void)context;
    (void)level;
    (void)line;
}

static void machine_no_sleep(void *context, int64_t ms)
{
    (void)context;
    (void)ms;
}

static void use_machine(struct firn_op *op, struct machine *machine)
{
    *machine = (struct machine){ .env = *firn_env_real() };
    machine->env.process = machine_process;
    machine->env.process_state = machine_process_state;
    machine->env.now_us = machine_now_us;
    machine->env.log = machine_no_log;
    machine->env.sleep_ms = machine_no_sleep;
    machine->env.context = machine;
    op->env = &machine->env;
}

/* What is left ----------------------------------------------------------------------------------------------------- */

static firn_status take_reached(struct firn_op *op, void *context, const struct firn_table_file *file)
{
    (void)op;
    struct firn_map *reached = context;
    if (!firn_map_find_text(reached, file->key))
        firn_map_put_text(reached, firn_text_copy(reached->arena, file->key));
    return FIRN_OK;
}

struct looking {
    const struct world *world;
    struct firn_map reached;
    struct firn_text stray; /* one that nothing reaches */
};

static firn_status look_at(struct firn_op *op, void *context, const struct firn_store_entry *entry)
{
    struct looking *looking = context;
    if (!firn_map_find_text(&looking->reached, firn_store_key(op, looking->world->store, entry->location)))
        looking->stray = firn_text_copy(op->arena, entry->location);
    return FIRN_OK;
}

/* An object of the table that its metadata does not reach, or an empty text. */
static struct firn_text find_stray(struct firn_op *op, struct world *world)
{
    struct looking looking = { .world = world };
    struct firn_reach_config config = { .store = world->store };
    firn_map_init(&looking.reached, op->arena);
    CHECK_OK(op, firn_table_refresh(op, &world->table));
    CHECK_OK(op, firn_reach_all(op, &config, world->table.metadata, world->table.metadata_location, take_reached,
                                &looking.reached));
    CHECK_OK(op, firn_store_list(op, world->store, FIRN_TEXT(WAREHOUSE), true, look_at, &looking));
    return looking.stray;
}

static void check_no_stray(struct firn_op *op, struct world *world)
{
    struct firn_text stray = find_stray(op, world);
    CHECK(stray.len == 0, "'%.*s' is left", FIRN_FMT(stray));
}

static struct firn_runs read_runs(struct firn_op *op, struct world *world)
{
    struct firn_runs runs;
    CHECK_OK(op, firn_table_refresh(op, &world->table));
    CHECK_OK(op, firn_runs_read(op, &world->table, &runs));
    return runs;
}

/* Kills ------------------------------------------------------------------------------------------------------------ */

static void choose_options(struct job *job, const char *partial)
{
    option(job, "min-input-files", "2");
    option(job, "partial-progress.enabled", partial);
}

/* A rewrite whose storage is gone from call `nth` on. Whether it got so far. */
static bool run_until_killed(struct firn_op *op, struct world *world, uint32_t nth, const char *partial)
{
    struct firn_store *faulty;
    struct fault_report report = { 0 };
    struct world broken = { .next_id = 1, .pool = world->pool };
    struct job job = { 0 };
    choose_options(&job, partial);
    CHECK_OK(op, fault_store_open(op, world->store, (struct fault){ .at_call = nth, .kind = FAULT_KILLED }, &report,
                                  &faulty));
    open_catalog(op, &broken, faulty);
    firn_status status = firn_catalog_load(op, broken.catalog, FIRN_TEXT("db.t"), &broken.table);
    if (status == FIRN_OK)
        FIRN_IGNORE(plan_and_apply(op, &broken, &job), "it is killed");
    firn_catalog_close(broken.catalog);
    firn_store_close(faulty);
    return atomic_load(&report.fired);
}

/* The table reads: the next run finishes the job and leaves nothing, and after it there is nothing to do. */
static void run_again(struct firn_op *op, struct world *world, uint32_t nth, const char *rows, const char *partial,
                      struct job *job)
{
    CHECK_OK(op, firn_table_refresh(op, &world->table));
    *job = (struct job){ 0 };
    choose_options(job, partial);
    CHECK_OK(op, plan_and_apply(op, world, job));
    CHECK(strcmp(live_ids(op, world), rows) == 0, "call %u: other rows after the second run", nth);
    CHECK(scan_current(op, world, world->store).file_count == 3, "call %u: not compacted", nth);
    struct firn_text stray = find_stray(op, world);
    CHECK(stray.len == 0, "call %u: '%.*s' is left", nth, FIRN_FMT(stray));
}

/* One table for all kills, and a copy of it for each. */
struct original {
    struct world world;
    const char *rows;
    uint32_t thread_count; /* that work on each copy */
};

static void make_original(struct firn_op *op, struct original *original)
{
    begin(op, &original->world, "2");
    for (int part = 1; part <= 3; part++)
        append(op, &original->world, part, 2);
    original->rows = live_ids(op, &original->world);
}

static void copy_original(struct firn_op *op, const struct original *original, struct world *copy)
{
    struct firn_store *store;
    *copy = (struct world){ .next_id = 1 };
    CHECK_OK(op, firn_store_open_memory(op, &store));
    CHECK_OK(op, firn_pool_open(op, original->thread_count, &copy->pool));
    CHECK_OK(op, store_copy(op, original->world.store, store, FIRN_TEXT(WAREHOUSE)));
    open_catalog(op, copy, store);
    CHECK_OK(op, firn_catalog_load(op, copy->catalog, FIRN_TEXT("db.t"), &copy->table));
}

/* A run is killed at each of these calls (UINT32_MAX: no second one), and the next one finishes the job. False when the
 * last kill came too late. */
static bool kill_once(struct firn_op *op, const struct original *original, const uint32_t kills[2], const char *partial,
                      struct job *job)
{
    struct world world;
    struct machine machine;
    bool fired = true;
    use_machine(op, &machine);
    copy_original(op, original, &world);
    for (int i = 0; i < 2 && kills[i] != UINT32_MAX; i++) {
        fired = run_until_killed(op, &world, kills[i], partial);
        machine.process++;
    }
    run_again(op, &world, kills[0], original->rows, partial, job);
    end(&world);
    return fired;
}

/* How many groups that killed runs had finished were used, and how many were written again. */
struct killing {
    int64_t reused, written;
};

/* Turns of kills, `stride` calls apart, with `fixed` (UINT32_MAX: none) before the one that moves on. */
static struct killing kill_everywhere(struct firn_op *op, uint32_t fixed, uint32_t stride, const char *partial,
                                      uint32_t thread_count)
{
    struct original original = { .thread_count = thread_count };
    struct killing sum = { 0 };
    bool fired = true;
    make_original(op, &original);
    for (uint32_t nth = 0; fired; nth += stride) {
        struct firn_arena arena;
        struct firn_op turn = *op;
        struct job job;
        const uint32_t kills[2] = { fixed == UINT32_MAX ? nth : fixed, fixed == UINT32_MAX ? fixed : nth };
        firn_arena_init(&arena);
        turn.arena = &arena;
        fired = kill_once(&turn, &original, kills, partial, &job);
        sum.reused += job.report.reused_groups_count;
        sum.written += job.report.added_data_files_count - job.report.reused_groups_count;
        firn_arena_done(&arena);
    }
    end(&original.world);
    return sum;
}

static void killed_at_every_call(void **state)
{
    struct killing sum = kill_everywhere(test_op(state), UINT32_MAX, 1, "false", 1);
    CHECK(sum.reused > 20 && sum.written > 20, "%d used, %d written", (int)sum.reused, (int)sum.written);
}

static void killed_at_every_call_of_several_commits(void **state)
{
    struct killing sum = kill_everywhere(test_op(state), UINT32_MAX, 3, "true", 1);
    CHECK(sum.reused > 0, " ");
}

/* Manifests of a commit that is drafted meanwhile are named before they are written. */
static void killed_while_a_commit_is_drafted(void **state)
{
    struct killing sum = kill_everywhere(test_op(state), UINT32_MAX, 1, "false", 2);
    CHECK(sum.written > 20, "%d written", (int)sum.written);
}

/* Killed, and killed again while it makes good what the first left. */
static void killed_while_clearing_up(void **state)
{
    struct killing sum = kill_everywhere(test_op(state), 20, 3, "false", 1);
    CHECK(sum.reused > 5, " ");
}

/* What fits ----------------------------------------------------------------------------------------------------------
 */

/* A run that was killed after its groups were finished, before its commit. */
static void leave_finished_groups(struct firn_op *op, struct world *world, struct machine *machine)
{
    struct firn_runs runs;
    use_machine(op, machine);
    begin(op, world, "2");
    for (int part = 1; part <= 3; part++)
        append(op, world, part, 2);
    for (uint32_t nth = 10;; nth++) {
        CHECK(run_until_killed(op, world, nth, "false"), "never three groups");
        machine->process++;
        runs = read_runs(op, world);
        if (runs.count == 1 && runs.items[0].groups.count == 3 && runs.items[0].attempt_ms == 0)
            return;
        struct firn_journals_report report;
        CHECK_OK(op, firn_journals_clear(op, NULL, &world->table, &report));
    }
}

/* Another file in a partition makes its group another one; the others fit. */
static void what_others_changed_is_done_again(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct machine machine;
    struct job job;
    leave_finished_groups(op, &world, &machine);
    struct firn_scan scan = scan_current(op, &world, world.store);
    struct firn_data_file removed = scan.files[0].entry->file;
    remove_through_peer(op, &world, &removed);
    append(op, &world, 2, 1);
    const char *rows = live_ids(op, &world);
    job = (struct job){ 0 };
    choose_options(&job, "false");
    CHECK_OK(op, plan_and_apply(op, &world, &job));
    CHECK(job.report.reused_groups_count == 2, "%d", (int)job.report.reused_groups_count);
    CHECK(job.report.leftover_files_count > 0, " ");
    assert_string_equal(live_ids(op, &world), rows);
    check_no_stray(op, &world);
    end(&world);
}

static void check_not_reused(struct firn_op *op, struct world *world, struct job *job)
{
    const char *rows = live_ids(op, world);
    CHECK_OK(op, plan_and_apply(op, world, job));
    CHECK(job->report.reused_groups_count == 0 && job->report.rewritten_data_files_count == 6, " ");
    assert_string_equal(live_ids(op, world), rows);
    check_no_stray(op, world);
}

static void other_settings_do_not_fit(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct machine machine;
    struct job job = { .verify_full = true };
    leave_finished_groups(op, &world, &machine);
    choose_options(&job, "false");
    check_not_reused(op, &world, &job);
    end(&world);
}

static void old_groups_are_not_used(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct machine machine;
    struct job job = { 0 };
    leave_finished_groups(op, &world, &machine);
    machine.later_ms = DAY_MS;
    choose_options(&job, "false");
    check_not_reused(op, &world, &job);
    end(&world);
}

static firn_status delete_output(struct firn_op *op, void *context, const struct firn_store_entry *entry)
{
    const struct world *world = context;
    if (!firn_text_ends(entry->location, FIRN_TEXT("00001.parquet")))
        return FIRN_OK;
    struct firn_text location = firn_text_copy(op->arena, entry->location);
    return firn_store_delete(op, world->store, &location, 1, NULL);
}

static void groups_whose_files_are_gone_are_done_again(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct machine machine;
    struct job job = { 0 };
    leave_finished_groups(op, &world, &machine);
    CHECK_OK(op, firn_store_list(op, world.store, FIRN_TEXT(WAREHOUSE "/db/t/data"), true, delete_output, &world));
    choose_options(&job, "false");
    check_not_reused(op, &world, &job);
    end(&world);
}

static void clearing_without_a_rewrite(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct machine machine;
    json_t *json;
    struct firn_journals_report report;
    leave_finished_groups(op, &world, &machine);
    CHECK_OK(op, firn_journals_json(op, &world.table, &json));
    const json_t *run = json_array_get(json_object_get(json, "runs"), 0);
    assert_string_equal(json_string_value(json_object_get(run, "state")), "killed");
    assert_string_equal(json_string_value(json_object_get(run, "procedure")), "rewrite-data-files");
    CHECK(json_array_size(json_object_get(run, "groups")) == 3, " ");
    CHECK(json_is_true(json_object_get(json_array_get(json_object_get(run, "groups"), 0), "usable")), " ");
    CHECK_OK(op, firn_journals_clear(op, NULL, &world.table, &report));
    CHECK(report.cleared_runs_count == 1 && report.deleted_files_count >= 3, " ");
    check_no_stray(op, &world);
    CHECK_OK(op, firn_journals_json(op, &world.table, &json));
    CHECK(json_array_size(json_object_get(json, "runs")) == 0, " ");
    end(&world);
}

/* Two at once --------------------------------------------------------------------------------------------------------
 */

/* A run under way that has written a file. */
struct other_run {
    struct firn_op op;
    struct firn_table table;
    struct firn_journal *journal;
    struct firn_text file;
};

static void begin_other(struct firn_op *op, struct world *world, struct other_run *other)
{
    other->op = *op;
    other->table = second_handle(op, world);
    CHECK_OK(op, firn_journal_begin(&other->op, NULL, &other->table, "test", true, &other->journal));
    struct firn_text uuid = firn_uuid_text(op->arena, firn_uuid_random(op));
    other->file = firn_text_format(op->arena, WAREHOUSE "/db/t/data/part=1/%.*s.parquet", FIRN_FMT(uuid));
    CHECK_OK(op, firn_store_put(&other->op, world->store, other->file, true, firn_bytes_of_text(FIRN_TEXT("x"))));
}

/* What stands in a journal is told by where it lies. */
static void a_journal_does_not_announce_itself(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct machine machine;
    struct other_run other;
    use_machine(op, &machine);
    begin(op, &world, "2");
    begin_other(op, &world, &other);
    struct firn_text uuid = firn_uuid_text(op->arena, firn_uuid_random(op));
    struct firn_text file = firn_text_format(op->arena, WAREHOUSE "/db/t/data/%.*s.parquet", FIRN_FMT(uuid));
    CHECK_OK(op, firn_journal_announce(&other.op, other.journal, &file, 1));
    struct firn_runs runs = read_runs(op, &world);
    CHECK(runs.count == 1 && runs.items[0].events.count == 2, "%zu events", runs.items[0].events.count);
    end(&world);
}

static void end_other(struct other_run *other, firn_status status)
{
    struct firn_clearing cleared;
    firn_journal_end(&other->op, other->journal, status, false, &cleared);
}

static void compact(struct firn_op *op, struct world *world, struct job *job)
{
    *job = (struct job){ 0 };
    choose_options(job, "false");
    append(op, world, 1, 3);
    CHECK_OK(op, plan_and_apply(op, world, job));
    CHECK(job->report.commits == 1, " ");
}

static void a_running_one_is_left_alone(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct machine machine;
    struct other_run other;
    struct job job;
    use_machine(op, &machine);
    begin(op, &world, "2");
    begin_other(op, &world, &other);
    compact(op, &world, &job);
    CHECK(job.report.leftover_files_count == 0 && store_has(op, world.store, other.file), " ");
    CHECK(read_runs(op, &world).count == 1, " ");

    machine.process++; /* it is dead */
    compact(op, &world, &job);
    CHECK(job.report.leftover_files_count == 1 && !store_has(op, world.store, other.file), " ");
    check_no_stray(op, &world);
    end(&world);
}

static const struct firn_orphan_report *find_orphans(struct firn_op *op, struct world *world)
{
    struct firn_orphan_plan *plan;
    CHECK_OK(op, firn_table_refresh(op, &world->table));
    CHECK_OK(op, firn_remove_orphan_files_plan(op, NULL, &world->table, &(struct firn_remove_orphan_files_args){ 0 },
                                               &plan));
    return firn_orphan_plan_report(plan);
}

/* Whatever the age of its files. */
static void a_running_one_has_no_orphans(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct machine machine;
    struct other_run other;
    use_machine(op, &machine);
    begin(op, &world, "2");
    append(op, &world, 1, 1);
    begin_other(op, &world, &other);
    machine.later_ms = 10 * DAY_MS;
    const struct firn_orphan_report *report = find_orphans(op, &world);
    CHECK(report->live_run_count == 1 && report->orphan_count == 0, " ");
    machine.process++;
    report = find_orphans(op, &world);
    CHECK(report->live_run_count == 0 && report->orphan_count == 1, " ");
    end(&world);
}

/* (2) Of two that find a dead run, one clears up after it. */
static void one_takes_it(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct machine machine;
    struct other_run first, second;
    leave_finished_groups(op, &world, &machine);
    struct firn_text dead = read_runs(op, &world).items[0].id;
    begin_other(op, &world, &first);
    begin_other(op, &world, &second);
    CHECK(firn_journal_has_taken(first.journal, dead) && !firn_journal_has_taken(second.journal, dead), " ");
    end_other(&second, FIRN_OK);
    struct firn_runs runs = read_runs(op, &world);
    CHECK(runs.count == 2 && runs.items[0].state == FIRN_RUN_TAKEN && runs.items[0].groups.count == 3, " ");

    machine.process++; /* the taker dies, too */
    begin_other(op, &world, &second);
    CHECK(firn_journal_has_taken(second.journal, dead), " ");
    end_other(&second, FIRN_OK);
    CHECK(read_runs(op, &world).count == 0, " ");
    end(&world);
}

/* (2) A run that cannot be known of is lost after three days; if it wakes, it cannot commit. */
static void a_lost_run_cannot_commit(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct machine machine;
    struct other_run sleeper;
    struct job job;
    use_machine(op, &machine);
    begin(op, &world, "2");
    machine.is_untold = true;
    begin_other(op, &world, &sleeper);
    machine.later_ms = 2 * DAY_MS;
    compact(op, &world, &job);
    CHECK(store_has(op, world.store, sleeper.file), "two days are too few");
    machine.later_ms = 4 * DAY_MS;
    struct firn_data_file file = write_file(op, &world, 1, 10);
    struct other_run taker;
    begin_other(op, &world, &taker);
    CHECK(!store_has(op, world.store, sleeper.file), " ");
    end_other(&taker, FIRN_OK);
    CHECK_OK(op, firn_table_refresh(op, &sleeper.table));
    struct firn_text before = sleeper.table.metadata_location;
    CHECK_STATUS(&sleeper.op, FIRN_DENIED, append_through(&sleeper.op, &sleeper.table, &file, 1));
    CHECK(strstr(sleeper.op.error.text, "took this one for dead"), "%s", sleeper.op.error.text);
    CHECK_OK(op, firn_table_refresh(op, &world.table));
    CHECK(firn_text_same(before, world.table.metadata_location), " ");
    end(&world);
}

/* Unknown outcomes ---------------------------------------------------------------------------------------------------
 */

/* (3) Where a server may carry out a swap late, what it would publish stays for an hour. */
static void a_late_swap_finds_its_files(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct machine machine;
    struct other_run victim;
    struct job job;
    struct firn_catalog_kind slow;
    use_machine(op, &machine);
    begin(op, &world, "2");
    slow = *world.catalog->kind;
    slow.swaps_late = true;
    world.catalog->kind = &slow;
    begin_other(op, &world, &victim);
    struct firn_data_file file = write_file(op, &world, 1, 10);
    CHECK_OK(op, append_through(&victim.op, &victim.table, &file, 1)); /* an attempt, whatever came of it */
    machine.process++;
    compact(op, &world, &job);
    CHECK(store_has(op, world.store, victim.file) && read_runs(op, &world).count == 1, " ");
    machine.process++;
    machine.later_ms = DAY_MS;
    compact(op, &world, &job);
    CHECK(!store_has(op, world.store, victim.file) && read_runs(op, &world).count == 0, " ");
    check_no_stray(op, &world);
    end(&world);
}

/* A run that ends without knowing leaves its journal; what it published stays. */
static void an_unknown_outcome_is_settled_later(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct machine machine;
    struct other_run victim;
    use_machine(op, &machine);
    begin(op, &world, "2");
    begin_other(op, &world, &victim);
    struct firn_data_file file = fixture_file(victim.file.data, 1, 1);
    struct firn_value part = { .type = FIRN_TYPE_INT, .integer = 1 };
    file.partition = (struct firn_partition){ &part, 1 };
    CHECK_OK(op, append_through(&victim.op, &victim.table, &file, 1));
    end_other(&victim, FIRN_UNKNOWN);
    struct firn_runs runs = read_runs(op, &world);
    CHECK(runs.count == 1 && runs.items[0].state == FIRN_RUN_ENDED, " ");
    struct firn_journals_report report;
    CHECK_OK(op, firn_journals_clear(op, NULL, &world.table, &report));
    CHECK(report.cleared_runs_count == 1 && store_has(op, world.store, victim.file), " ");
    check_no_stray(op, &world);
    end(&world);
}

/* What is left alone -------------------------------------------------------------------------------------------------
 */

static void put_event(struct firn_op *op, struct world *world, const char *name, const char *text)
{
    struct firn_text folder = firn_journal_folder(op->arena, world->table.metadata);
    CHECK_OK(op, firn_store_put(op, world->store, firn_location_join(op->arena, folder, firn_text_of(name)), true,
                                firn_bytes_of_text(firn_text_of(text))));
}

static void what_is_not_understood_stays(void **state)
{
    static const struct {
        const char *name, *text;
    } events[] = {
        { "11111111-1111-4111-8111-111111111111.000000.begin.jsonl", "nonsense\n" },
        { "22222222-2222-4222-8222-222222222222.000000.begin.jsonl",
          "{\"event\":\"begin\",\"time_ms\":1,\"procedure\":\"x\",\"process\":\"\",\"table_uuid\":\"another\"}\n" },
        { "33333333-3333-4333-8333-333333333333.000001.names.jsonl", "{\"time_ms\":1}\n{\"folder\":1}\n" },
        { "44444444-4444-4444-8444-444444444444.000001.names.jsonl", "" },
        { "a note", "hello\n" },
        { "55555555-5555-4555-8555-555555555555.0x1.names.jsonl", "{}\n" },
    };
    struct firn_op *op = test_op(state);
    struct world world;
    struct machine machine;
    struct job job;
    json_t *json;
    use_machine(op, &machine);
    begin(op, &world, "2");
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        put_event(op, &world, events[i].name, events[i].text);
    compact(op, &world, &job);
    CHECK_OK(op, firn_journals_json(op, &world.table, &json));
    CHECK(json_array_size(json_object_get(json, "runs")) == 4, " ");
    size_t count;
    CHECK_OK(op, store_count(op, world.store, firn_journal_folder(op->arena, world.table.metadata), &count));
    CHECK(count == sizeof events / sizeof *events, "%zu", count);
    end(&world);
}

/* A journal has no say about folders that are not the table's. */
static void names_elsewhere_stay(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct machine machine;
    struct job job;
    use_machine(op, &machine);
    begin(op, &world, "2");
    struct firn_text foreign = FIRN_TEXT(WAREHOUSE "/db/t2/66666666-6666-4666-8666-666666666666.parquet");
    CHECK_OK(op, firn_store_put(op, world.store, foreign, true, firn_bytes_of_text(FIRN_TEXT("x"))));
    put_event(op, &world, "77777777-7777-4777-8777-777777777777.000000.begin.jsonl",
              firn_text_format(op->arena,
                               "{\"event\":\"begin\",\"time_ms\":1,\"procedure\":\"x\",\"process\":\"process 77\","
                               "\"table_uuid\":\"%.*s\"}\n",
                               FIRN_FMT(world.table.metadata->table_uuid))
                  .data);
    put_event(op, &world, "77777777-7777-4777-8777-777777777777.000001.names.jsonl",
              "{\"time_ms\":1}\n{\"folder\":\"" WAREHOUSE
              "/db/t2\",\"uuid\":\"66666666-6666-4666-8666-666666666666\"}\n");
    compact(op, &world, &job);
    CHECK(store_has(op, world.store, foreign), " ");
    CHECK(read_runs(op, &world).count == 1, " ");
    end(&world);
}

/* Tables that others may share files with have no journal. */
static void no_journal_without_garbage_collection(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct machine machine;
    struct job job;
    struct firn_journals_report report;
    use_machine(op, &machine);
    begin_with(op, &world, "{\"gc.enabled\": \"false\"}");
    compact(op, &world, &job);
    CHECK_STATUS(op, FIRN_DENIED, firn_journals_clear(op, NULL, &world.table, &report));
    end(&world);
}

/* Files as JSON ------------------------------------------------------------------------------------------------------
 */

static void a_written_file_reads_back(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct firn_type **types;
    begin(op, &world, "2");
    CHECK_OK(op, firn_spec_types_new(op, world.table.metadata, &types));
    struct firn_value values[] = { { .type = FIRN_TYPE_INT, .integer = -7 },
                                   { .type = FIRN_TYPE_INT, .is_null = true } };
    for (size_t i = 0; i < 2; i++) {
        struct firn_bytes bounds[] = { { (const uint8_t *)"\x00\xff", 2 }, { (const uint8_t *)"", 0 } };
        struct firn_data_file back, file = {
            .path = FIRN_TEXT("mem://w/\"\xc3\xa4\".parquet"),
            .partition = { &values[i], 1 },
            .record_count = INT64_C(1) << 60,
            .file_bytes = 12,
            .value_counts = { (int32_t[]){ 1, 2147483647 }, (int64_t[]){ 3, 4 }, 2, true },
            .nan_value_counts = { NULL, NULL, 0, true },
            .lower_bounds = { (int32_t[]){ 2, 1 }, bounds, 2, true },
            .split_offsets = (int64_t[]){ 4, 99 },
            .split_offset_count = 2,
        };
        json_t *json = firn_json_own(op->arena, firn_written_file_json(op->arena, &file));
        CHECK_OK(op, firn_written_file_parse(op, world.table.metadata, types, json, &back));
        CHECK(firn_text_same(back.path, file.path) && back.record_count == file.record_count, " ");
        CHECK(firn_partition_same(&back.partition, &file.partition), " ");
        CHECK(back.value_counts.count == 2 && back.value_counts.ids[1] == 2147483647, " ");
        CHECK(back.nan_value_counts.present && !back.null_value_counts.present && !back.upper_bounds.present, " ");
        CHECK(back.lower_bounds.count == 2 && back.lower_bounds.ids[0] == 2, " ");
        CHECK(firn_bytes_compare(back.lower_bounds.values[0], bounds[0]) == 0, " ");
        CHECK(back.split_offset_count == 2 && back.split_offsets[1] == 99, " ");
        json_object_set_new(json, "partition", json_pack("[s]", "0102"));
        CHECK_STATUS(op, FIRN_CORRUPT, firn_written_file_parse(op, world.table.metadata, types, json, &back));
    }
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(killed_at_every_call),
        TEST(killed_at_every_call_of_several_commits),
        TEST(killed_while_a_commit_is_drafted),
        TEST(killed_while_clearing_up),
        TEST(what_others_changed_is_done_again),
        TEST(other_settings_do_not_fit),
        TEST(old_groups_are_not_used),
        TEST(groups_whose_files_are_gone_are_done_again),
        TEST(clearing_without_a_rewrite),
        TEST(a_running_one_is_left_alone),
        TEST(a_running_one_has_no_orphans),
        TEST(one_takes_it),
        TEST(a_lost_run_cannot_commit),
        TEST(a_late_swap_finds_its_files),
        TEST(an_unknown_outcome_is_settled_later),
        TEST(what_is_not_understood_stays),
        TEST(a_journal_does_not_announce_itself),
        TEST(names_elsewhere_stay),
        TEST(no_journal_without_garbage_collection),
        TEST(a_written_file_reads_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
