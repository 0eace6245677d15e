/* Tests of marks: two-phase deletion, and taking files back. */
#include "orphan_world.h"

#include "base/buffer.h"
#include "maintain/mark.h"

static const struct firn_remove_orphan_files_args no_args;

static void mark(struct firn_op *op, struct world *world, struct firn_orphan_report *report)
{
    struct firn_orphan_plan *plan;
    CHECK_OK(op, world_plan(op, world, (struct firn_remove_orphan_files_args){ .mark = true }, &plan));
    CHECK_OK(op, firn_remove_orphan_files_mark(op, &world->fixture.table, plan));
    *report = *firn_orphan_plan_report(plan);
}

static firn_status sweep(struct firn_op *op, struct world *world, const char *after, struct firn_orphan_report *report)
{
    struct firn_remove_orphan_files_args args = { .sweep = true, .after = firn_text_of(after) };
    return world_remove(op, world, args, report);
}

static firn_status count_mark(struct firn_op *op, void *context, const struct firn_mark *found)
{
    (void)op;
    (void)found;
    ++*(int *)context;
    return FIRN_OK;
}

static int marks(struct firn_op *op, struct world *world)
{
    int count = 0;
    struct firn_text list = firn_marks_file(op, &world->fixture.table);
    CHECK_OK(op, firn_marks_read(op, world->store, list, count_mark, &count));
    return count;
}

/* Marked, looked at too early, then swept; what is not marked stays, and so does what has a mark that is not due. */
static void a_sweep_deletes_what_was_marked_long_enough_ago(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct firn_orphan_report report;
    world_open(op, &world, "m:/w", (struct fixture_options){ 0 });
    world_put(op, &world, "data/a", 10 * DAY_MS);
    mark(op, &world, &report);
    CHECK(report.marked_count == 1 && marks(op, &world) == 1, "one mark");
    CHECK_ORPHANS(op, &world, no_args, "data/a"); /* the list itself is no orphan */

    world_put(op, &world, "data/b", 9 * DAY_MS);
    world.now_ms = NOW_MS + 2 * DAY_MS;
    mark(op, &world, &report);
    CHECK(report.marked_count == 1 && report.marked_already_count == 1 && marks(op, &world) == 2, "b is new");
    CHECK_OK(op, sweep(op, &world, "", &report));
    CHECK(report.deleted_count == 0 && marks(op, &world) == 2, "too early");

    world.now_ms = NOW_MS + 3 * DAY_MS;
    CHECK_OK(op, sweep(op, &world, "", &report));
    CHECK(report.deleted_count == 1 && report.deleted_bytes == 4 && report.dropped_mark_count == 1, "a goes");
    CHECK(!world_has(op, &world, "data/a") && world_has(op, &world, "data/b") && marks(op, &world) == 1, "b stays");
    CHECK_OK(op, sweep(op, &world, "0s", &report));
    CHECK(!world_has(op, &world, "data/b") && marks(op, &world) == 0, "b goes");
    CHECK(!store_has(op, world.store, firn_marks_file(op, &world.fixture.table)), "an empty list is no file");
    CHECK_OK(op, sweep(op, &world, "", &report));
    world_close(op, &world);
}

static void a_sweep_leaves_what_lives_again_or_changed(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct firn_orphan_report report;
    struct firn_text live;
    world_open(op, &world, "m:/w", (struct fixture_options){ 0 });
    world_put(op, &world, "data/lives", 10 * DAY_MS);
    world_put(op, &world, "data/changed", 10 * DAY_MS);
    world_put(op, &world, "data/gone", 10 * DAY_MS);
    mark(op, &world, &report);
    CHECK(report.marked_count == 3, "three marks");
    struct firn_data_file file = fixture_file(op, &world.fixture, "unused", 1);
    file.path = FIRN_TEXT("m:/w/db/t/data/lives");
    CHECK_OK(op, fixture_append(op, &world.fixture, &file, 1));
    world_put(op, &world, "data/changed", 9 * DAY_MS);
    struct firn_text gone = FIRN_TEXT("m:/w/db/t/data/gone");
    CHECK_OK(op, firn_store_delete(op, world.store, &gone, 1, NULL));
    world.now_ms = NOW_MS + 4 * DAY_MS;
    CHECK_OK(op, sweep(op, &world, "", &report));
    CHECK(report.deleted_count == 0 && report.dropped_mark_count == 3, "all three are done with");
    CHECK(world_has(op, &world, "data/changed") && marks(op, &world) == 0, "changed stays");
    CHECK_OK(op, fixture_live(op, &world.fixture, &live));
    world_close(op, &world);
}

static void undelete_drops_marks(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct firn_orphan_report report;
    struct firn_undelete_report undeleted;
    world_open(op, &world, "m:/w", (struct fixture_options){ 0 });
    world_put(op, &world, "data/a", 10 * DAY_MS);
    world_put(op, &world, "data/p=1/b", 10 * DAY_MS);
    world_put(op, &world, "data/p=1/c", 10 * DAY_MS);
    world_put(op, &world, "data/p=10/d", 10 * DAY_MS);
    mark(op, &world, &report);
    struct firn_text paths[] = { FIRN_TEXT("m:/w/db/t/data/p=1/"), FIRN_TEXT("m:/w/db/t/data/none") };
    CHECK_STATUS(op, FIRN_NOT_FOUND, firn_undelete(op, &world.fixture.table, paths, 2, false, NULL, NULL, &undeleted));
    CHECK(marks(op, &world) == 4 && strstr(op->error.text, "data/none"), "nothing dropped: %s", op->error.text);
    CHECK_OK(op, firn_undelete(op, &world.fixture.table, paths, 1, true, NULL, NULL, &undeleted));
    CHECK(undeleted.dropped_count == 2 && undeleted.kept_count == 2 && marks(op, &world) == 4, "a dry run");
    CHECK_OK(op, firn_undelete(op, &world.fixture.table, paths, 1, false, NULL, NULL, &undeleted));
    CHECK(undeleted.dropped_count == 2 && marks(op, &world) == 2, "a folder");
    CHECK_OK(op, sweep(op, &world, "0s", &report));
    CHECK(!world_has(op, &world, "data/a") && !world_has(op, &world, "data/p=10/d"), "still marked");
    CHECK(world_has(op, &world, "data/p=1/b") && world_has(op, &world, "data/p=1/c"), "taken back");
    CHECK_OK(op, firn_undelete(op, &world.fixture.table, NULL, 0, false, NULL, NULL, &undeleted));
    CHECK(undeleted.dropped_count == 0, "no list, no marks");
    mark(op, &world, &report);
    CHECK_OK(op, firn_undelete(op, &world.fixture.table, NULL, 0, false, NULL, NULL, &undeleted));
    CHECK(undeleted.dropped_count == 2 && marks(op, &world) == 0, "all");
    world_close(op, &world);
}

/* Files outside the location, as an expiry marks them. */
static void marks_of_files_anywhere(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct firn_mark_report marked;
    struct firn_orphan_report report;
    struct firn_mark_wish files[] = { { FIRN_TEXT("m:/else\twhere\\/a\nb"), FIRN_TEXT("expired:\tsnapshot 1") },
                                      { FIRN_TEXT("m:/w/db/t/data/young"), FIRN_TEXT("expired") },
                                      { FIRN_TEXT("m:/w/db/t/data/live"), FIRN_TEXT("expired") },
                                      { FIRN_TEXT("m:/gone"), FIRN_TEXT("expired") } };
    world_open(op, &world, "m:/w", (struct fixture_options){ 0 });
    world_put_at(op, &world, files[0].location, DAY_MS);
    world_put_at(op, &world, files[1].location, HOUR_MS);
    CHECK_OK(op, firn_marks_add(op, NULL, &world.fixture.table, files, 4, &marked));
    CHECK(marked.marked_count == 3 && marked.missing_count == 1, "three of four are there");
    CHECK_OK(op, firn_marks_add(op, NULL, &world.fixture.table, files, 2, &marked));
    CHECK(marked.marked_count == 0 && marked.marked_already_count == 2 && marks(op, &world) == 3, "no mark twice");
    world_put(op, &world, "data/young", 0);
    CHECK_OK(op, firn_marks_add(op, NULL, &world.fixture.table, files, 2, &marked));
    CHECK(marked.marked_count == 1 && marked.marked_already_count == 1 && marks(op, &world) == 3, "one changed");
    world.now_ms = NOW_MS + 3 * DAY_MS;
    CHECK_OK(op, sweep(op, &world, "", &report));
    CHECK(report.deleted_count == 2 && world_has(op, &world, "data/live"), "%d", (int)report.deleted_count);
    CHECK(!store_has(op, world.store, files[0].location) && !store_has(op, world.store, files[1].location),
          "both are gone");
    world_close(op, &world);
}

static void a_broken_list_stops(void **state)
{
    static const char *const lines[] = { "nonsense",
                                         "2026-01-01\t1\t2026-01-01\tr\t",
                                         "2026-01-01\tx\t2026-01-01\tr\tm:/a",
                                         "2026-01-01\t1\t2026-01-01\tr\\x\tm:/a",
                                         "2026-01-01\t1\t2026-01-01\tr\tm:/a\\",
                                         "soon\t1\t2026-01-01\tr\tm:/a" };
    struct firn_op *op = test_op(state);
    struct world world;
    struct firn_orphan_report report;
    struct firn_undelete_report undeleted;
    world_open(op, &world, "m:/w", (struct fixture_options){ 0 });
    world_put(op, &world, "data/a", 10 * DAY_MS);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct firn_text text = firn_text_format(op->arena, "# heading\n%s\n", lines[i]);
        CHECK_OK(op, firn_store_put(op, world.store, firn_marks_file(op, &world.fixture.table), false,
                                    firn_bytes_of_text(text)));
        CHECK_STATUS(op, FIRN_CORRUPT, sweep(op, &world, "0s", &report));
        CHECK(strstr(op->error.text, "line 2"), "%s", op->error.text);
        CHECK_STATUS(op, FIRN_CORRUPT, firn_undelete(op, &world.fixture.table, NULL, 0, false, NULL, NULL, &undeleted));
        CHECK(world_has(op, &world, "data/a"), "still there");
    }
    world_close(op, &world);
}

/* Marks, takes the mark of "a" back, and sweeps, all through a store with faults, until one of them fails. */
static void mark_undelete_sweep(struct firn_op *op, struct world *world, struct firn_store *faulty, const char *where)
{
    struct firn_orphan_plan *plan;
    struct firn_orphan_report report;
    struct firn_undelete_report undeleted;
    struct firn_text a = FIRN_TEXT("m:/w/db/t/data/a");
    world->fixture.table.store = faulty;
    firn_status status = world_plan(op, world, (struct firn_remove_orphan_files_args){ .mark = true }, &plan);
    if (status == FIRN_OK)
        status = firn_remove_orphan_files_mark(op, &world->fixture.table, plan);
    int marked = marks(op, world);
    CHECK(marked == 2 || (marked == 0 && status != FIRN_OK), "%s: %d marks", where, marked);
    if (status == FIRN_OK) {
        status = firn_undelete(op, &world->fixture.table, &a, 1, false, NULL, NULL, &undeleted);
        marked = marks(op, world);
        CHECK(marked == 1 || (marked == 2 && status != FIRN_OK), "%s: %d marks after undelete", where, marked);
    }
    if (status == FIRN_OK) {
        status = sweep(op, world, "0s", &report);
        CHECK(world_has(op, world, "data/a"), "%s: its mark was taken back", where);
        CHECK(status != FIRN_OK || !world_has(op, world, "data/b"), "%s: success, but b is there", where);
    }
    world->fixture.table.store = world->store;
}

/* Gives whether there was a fault. */
static bool run_with_fault(void **state, struct fault fault)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct fault_report faults;
    struct firn_store *faulty;
    struct firn_orphan_report report;
    struct firn_text live;
    const char *where = firn_text_format(op->arena, "call %u, %s", fault.at_call, fault_name(fault.kind)).data;
    world_open(op, &world, "m:/w", (struct fixture_options){ 0 });
    world_put(op, &world, "data/a", 10 * DAY_MS);
    world_put(op, &world, "data/b", 10 * DAY_MS);
    CHECK_OK(op, fault_store_open(op, world.store, fault, &faults, &faulty));
    mark_undelete_sweep(op, &world, faulty, where);
    bool fired = atomic_load(&faults.fired);
    CHECK_OK(op, fixture_live(op, &world.fixture, &live));
    mark(op, &world, &report);
    CHECK_OK(op, sweep(op, &world, "0s", &report));
    CHECK(!world_has(op, &world, "data/a") && !world_has(op, &world, "data/b") && marks(op, &world) == 0, "%s", where);
    CHECK_OK(op, fixture_live(op, &world.fixture, &live));
    firn_store_close(faulty);
    world_close(op, &world);
    return fired;
}

/* Every call to the store fails, or is the last of a program that is killed, while marking, undeleting and sweeping:
 * the list is the old one or the new one, nothing but marked orphans goes, and running them again finishes. */
static void faults_while_marking_and_sweeping(void **state)
{
    for (int kind = 0; kind < FAULT_KIND_COUNT; kind++)
        for (uint32_t nth = 0; run_with_fault(state, (struct fault){ nth, (enum fault_kind)kind }); nth++)
            ;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_sweep_deletes_what_was_marked_long_enough_ago),
        TEST(a_sweep_leaves_what_lives_again_or_changed),
        TEST(undelete_drops_marks),
        TEST(marks_of_files_anywhere),
        TEST(a_broken_list_stops),
        TEST(faults_while_marking_and_sweeping),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
