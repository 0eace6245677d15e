/* Branches, tags, rollbacks and picks, as procedures.md 9 and 10 have them. */
#include "check.h"

#include "firn/refs.h"
#include "maintain/history.h"

/* A history, and the references of its table. */
struct world {
    struct history history;
    struct firn_op *op;
    struct firn_refs refs;
};

static void open_world(struct world *world, void **state)
{
    *world = (struct world){ .op = test_op(state) };
    history_open(&world->history, world->op, NULL);
    world->refs.table = &world->history.fixture.table;
}

static void close_world(struct world *world)
{
    history_close(&world->history);
}

static const struct firn_metadata *metadata_of(const struct world *world)
{
    return history_metadata(&world->history);
}

static int64_t append(struct world *world, const char *name)
{
    return history_append(&world->history, name);
}

static int64_t stage(struct world *world, const char *name, const char *wap_id)
{
    return history_make(&world->history, (struct history_commit){ .add = name, .wap_id = wap_id, .staged = true });
}

static void check_live(struct world *world, const char *expected)
{
    history_check_live(&world->history, expected);
}

static const struct firn_ref *ref_of(const struct world *world, const char *name)
{
    return firn_metadata_ref(metadata_of(world), firn_text_of(name));
}

static firn_status create(struct world *world, struct firn_ref_create_args args)
{
    struct firn_ref_report report;
    return firn_ref_create(world->op, &world->refs, &args, &report);
}

static firn_status drop(struct world *world, struct firn_ref_drop_args args)
{
    struct firn_ref_report report;
    return firn_ref_drop(world->op, &world->refs, &args, &report);
}

static void branches_and_tags(void **state)
{
    struct world world;
    open_world(&world, state);
    int64_t first = append(&world, "a"), second = append(&world, "b");
    const int64_t unknown = 12345;
    static const struct {
        const char *what;
        struct firn_ref_create_args args;
        firn_status status;
    } cases[] = {
        { "a branch",
          { .name = FIRN_TEXT_INIT("dev"), .snapshot_retention = FIRN_TEXT_INIT("5 snapshots 7 days") },
          0 },
        { "again", { .name = FIRN_TEXT_INIT("dev") }, FIRN_EXISTS },
        { "again, as a tag", { .kind = FIRN_KIND_TAG, .name = FIRN_TEXT_INIT("dev") }, FIRN_EXISTS },
        { "if not exists",
          { .name = FIRN_TEXT_INIT("dev"), .if_not_exists = true, .retain = FIRN_TEXT_INIT("1d") },
          0 },
        { "a tag", { .kind = FIRN_KIND_TAG, .name = FIRN_TEXT_INIT("v1"), .retain = FIRN_TEXT_INIT("36h") }, 0 },
        { "main as a tag", { .kind = FIRN_KIND_TAG, .name = FIRN_TEXT_INIT("main"), .or_replace = true }, FIRN_USAGE },
        { "a branch over a tag", { .name = FIRN_TEXT_INIT("v1"), .or_replace = true }, FIRN_USAGE },
        { "replace what is not there", { .name = FIRN_TEXT_INIT("x"), .replace = true }, FIRN_NOT_FOUND },
        { "create or replace what is not there",
          { .kind = FIRN_KIND_TAG, .name = FIRN_TEXT_INIT("v2"), .or_replace = true, .retain = FIRN_TEXT_INIT("90m") },
          0 },
        { "both kinds of replace", { .name = FIRN_TEXT_INIT("dev"), .replace = true, .or_replace = true }, FIRN_USAGE },
        { "no name", { .replace = true }, FIRN_USAGE },
        { "age 0", { .name = FIRN_TEXT_INIT("x"), .retain = FIRN_TEXT_INIT("0d") }, FIRN_USAGE },
        { "no age", { .name = FIRN_TEXT_INIT("x"), .retain = FIRN_TEXT_INIT("soon") }, FIRN_USAGE },
        { "0 snapshots",
          { .name = FIRN_TEXT_INIT("x"), .snapshot_retention = FIRN_TEXT_INIT("0 snapshots") },
          FIRN_USAGE },
        { "a tag that keeps snapshots",
          { .kind = FIRN_KIND_TAG, .name = FIRN_TEXT_INIT("x"), .snapshot_retention = FIRN_TEXT_INIT("7d") },
          FIRN_USAGE },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        firn_status status = create(&world, cases[i].args);
        CHECK(status == cases[i].status, "%s: %s", cases[i].what, firn_status_name(status));
    }
    CHECK_STATUS(world.op, FIRN_NOT_FOUND,
                 create(&world, (struct firn_ref_create_args){ .name = FIRN_TEXT("x"), .snapshot_id = &unknown }));
    const struct firn_ref *dev = ref_of(&world, "dev");
    CHECK(dev->snapshot_id == second && dev->snapshots_min_keep == 5 && dev->ref_age_ms_max == -1, " ");
    CHECK(dev->snapshot_age_ms_max == INT64_C(7) * 86400000, " ");
    CHECK(ref_of(&world, "v1")->ref_age_ms_max == 36 * 3600000 && metadata_of(&world)->ref_count == 4, " ");
    CHECK(ref_of(&world, "v2")->type == FIRN_REF_TAG && ref_of(&world, "v2")->ref_age_ms_max == 90 * 60000, " ");

    /* Replacing keeps the retention that is not given anew. */
    CHECK_OK(world.op, create(&world, (struct firn_ref_create_args){ .name = FIRN_TEXT("dev"),
                                                                     .replace = true,
                                                                     .snapshot_id = &first,
                                                                     .snapshot_retention = FIRN_TEXT("2h") }));
    dev = ref_of(&world, "dev");
    CHECK(dev->snapshot_id == first && dev->snapshots_min_keep == 5 && dev->snapshot_age_ms_max == 7200000, " ");

    CHECK_STATUS(world.op, FIRN_USAGE, drop(&world, (struct firn_ref_drop_args){ .name = FIRN_TEXT("main") }));
    CHECK_STATUS(world.op, FIRN_USAGE, drop(&world, (struct firn_ref_drop_args){ .name = FIRN_TEXT("v1") }));
    CHECK_STATUS(world.op, FIRN_NOT_FOUND, drop(&world, (struct firn_ref_drop_args){ .name = FIRN_TEXT("x") }));
    CHECK_OK(world.op, drop(&world, (struct firn_ref_drop_args){ .name = FIRN_TEXT("x"), .if_exists = true }));
    CHECK_OK(world.op, drop(&world, (struct firn_ref_drop_args){ .kind = FIRN_KIND_TAG, .name = FIRN_TEXT("v1") }));
    CHECK_STATUS(world.op, FIRN_USAGE,
                 drop(&world, (struct firn_ref_drop_args){ .kind = FIRN_KIND_TAG, .name = FIRN_TEXT("dev") }));
    CHECK_OK(world.op, drop(&world, (struct firn_ref_drop_args){ .kind = FIRN_KIND_TAG, .name = FIRN_TEXT("v2") }));
    CHECK_OK(world.op, drop(&world, (struct firn_ref_drop_args){ .name = FIRN_TEXT("dev") }));
    CHECK(metadata_of(&world)->ref_count == 1, " ");
    close_world(&world);
}

static void an_empty_table(void **state)
{
    struct world world;
    struct firn_ancestors ancestors;
    open_world(&world, state);
    CHECK_STATUS(world.op, FIRN_USAGE,
                 create(&world, (struct firn_ref_create_args){ .kind = FIRN_KIND_TAG, .name = FIRN_TEXT("v") }));
    CHECK_STATUS(world.op, FIRN_NOT_FOUND,
                 create(&world, (struct firn_ref_create_args){ .name = FIRN_TEXT("dev"), .replace = true }));
    CHECK_STATUS(world.op, FIRN_NOT_FOUND, firn_ancestors_of(world.op, &world.history.fixture.table, NULL, &ancestors));
    CHECK_OK(world.op, create(&world, (struct firn_ref_create_args){ .name = FIRN_TEXT("dev"),
                                                                     .snapshot_retention = FIRN_TEXT("3 snapshots") }));
    const struct firn_metadata *metadata = metadata_of(&world);
    CHECK(metadata->snapshot_count == 1 && metadata->current_snapshot_id == FIRN_NO_SNAPSHOT, " ");
    CHECK(ref_of(&world, "dev")->snapshots_min_keep == 3 && metadata->ref_count == 1, " ");
    CHECK(firn_text_is(metadata->snapshots[0].operation, "append"), " ");
    history_make(&world.history, (struct history_commit){ .add = "a", .branch = "dev" });

    /* main is made by going there. */
    struct firn_ref_move move;
    CHECK_OK(world.op, firn_fast_forward(world.op, &world.refs, FIRN_TEXT("main"), FIRN_TEXT("dev"), &move));
    CHECK(!move.has_previous && move.current_snapshot_id == metadata_of(&world)->current_snapshot_id, " ");
    check_live(&world, "a");
    close_world(&world);
}

static void rollbacks(void **state)
{
    struct world world;
    struct firn_ref_move move;
    int64_t ids[3];
    open_world(&world, state);
    const char *const names[] = { "a", "b", "c" };
    for (int i = 0; i < 3; i++)
        ids[i] = append(&world, names[i]); /* at 1, 2 and 3 seconds */
    CHECK_OK(world.op, firn_rollback_to_snapshot(world.op, &world.refs, ids[0], &move));
    CHECK(move.has_previous && move.previous_snapshot_id == ids[2] && move.current_snapshot_id == ids[0], " ");
    check_live(&world, "a");
    CHECK(metadata_of(&world)->snapshot_count == 3, "a rollback removes nothing");
    CHECK_STATUS(world.op, FIRN_USAGE, firn_rollback_to_snapshot(world.op, &world.refs, ids[2], &move));
    CHECK_STATUS(world.op, FIRN_NOT_FOUND, firn_rollback_to_snapshot(world.op, &world.refs, 5, &move));
    CHECK_OK(world.op, firn_set_current_snapshot(world.op, &world.refs, &ids[2], FIRN_TEXT(""), &move));
    check_live(&world, "a b c");

    /* Strictly older than the time: b was made at second 2 after 22:13:20. */
    CHECK_OK(world.op, firn_rollback_to_timestamp(world.op, &world.refs, FIRN_TEXT("2023-11-14 22:13:22.001"), &move));
    CHECK(move.current_snapshot_id == ids[1], " ");
    CHECK_OK(world.op,
             firn_rollback_to_timestamp(world.op, &world.refs, FIRN_TEXT("2023-11-14T23:13:22+01:00"), &move));
    CHECK(move.current_snapshot_id == ids[0], " ");
    CHECK_STATUS(world.op, FIRN_NOT_FOUND,
                 firn_rollback_to_timestamp(world.op, &world.refs, FIRN_TEXT("2023-11-14 22:13:21"), &move));
    CHECK_STATUS(world.op, FIRN_USAGE,
                 firn_rollback_to_timestamp(world.op, &world.refs, FIRN_TEXT("yesterday"), &move));

    CHECK_STATUS(world.op, FIRN_USAGE, firn_set_current_snapshot(world.op, &world.refs, NULL, FIRN_TEXT(""), &move));
    CHECK_STATUS(world.op, FIRN_USAGE,
                 firn_set_current_snapshot(world.op, &world.refs, &ids[1], FIRN_TEXT("main"), &move));
    CHECK_STATUS(world.op, FIRN_NOT_FOUND,
                 firn_set_current_snapshot(world.op, &world.refs, NULL, FIRN_TEXT("dev"), &move));
    struct firn_text before = world.history.fixture.table.metadata_location;
    CHECK_OK(world.op, firn_set_current_snapshot(world.op, &world.refs, NULL, FIRN_TEXT("main"), &move));
    CHECK(firn_text_same(before, world.history.fixture.table.metadata_location),
          "nothing changes, nothing is committed");

    world.refs.dry_run = true;
    CHECK_OK(world.op, firn_set_current_snapshot(world.op, &world.refs, &ids[2], FIRN_TEXT(""), &move));
    CHECK(move.current_snapshot_id == ids[2] && metadata_of(&world)->current_snapshot_id == ids[0], " ");
    close_world(&world);
}

static void fast_forward(void **state)
{
    struct world world;
    struct firn_ref_move move;
    struct firn_ancestors ancestors;
    open_world(&world, state);
    int64_t first = append(&world, "a");
    CHECK_OK(world.op, create(&world, (struct firn_ref_create_args){ .name = FIRN_TEXT("dev") }));
    CHECK_OK(world.op, create(&world, (struct firn_ref_create_args){ .kind = FIRN_KIND_TAG, .name = FIRN_TEXT("v") }));
    int64_t second = history_make(&world.history, (struct history_commit){ .add = "b", .branch = "dev" });
    CHECK_OK(world.op, firn_fast_forward(world.op, &world.refs, FIRN_TEXT("main"), FIRN_TEXT("dev"), &move));
    CHECK(move.previous_snapshot_id == first && move.current_snapshot_id == second, " ");
    CHECK_OK(world.op, firn_fast_forward(world.op, &world.refs, FIRN_TEXT("main"), FIRN_TEXT("dev"), &move));
    CHECK(move.previous_snapshot_id == second && move.current_snapshot_id == second, "nothing to do");
    CHECK_STATUS(world.op, FIRN_USAGE,
                 firn_fast_forward(world.op, &world.refs, FIRN_TEXT("v"), FIRN_TEXT("main"), &move));
    CHECK_STATUS(world.op, FIRN_USAGE,
                 firn_fast_forward(world.op, &world.refs, FIRN_TEXT("main"), FIRN_TEXT("v"), &move));
    CHECK_STATUS(world.op, FIRN_NOT_FOUND,
                 firn_fast_forward(world.op, &world.refs, FIRN_TEXT("main"), FIRN_TEXT("x"), &move));
    CHECK_OK(world.op, firn_fast_forward(world.op, &world.refs, FIRN_TEXT("new"), FIRN_TEXT("v"), &move));
    CHECK(!move.has_previous && ref_of(&world, "new")->snapshot_id == first, " ");

    CHECK_OK(world.op, firn_ancestors_of(world.op, &world.history.fixture.table, NULL, &ancestors));
    CHECK(ancestors.count == 2 && ancestors.items[0].snapshot_id == second, " ");
    CHECK(ancestors.items[1].snapshot_id == first && ancestors.items[1].timestamp_ms == 1700000001000, " ");
    CHECK_OK(world.op, firn_ancestors_of(world.op, &world.history.fixture.table, &first, &ancestors));
    CHECK(ancestors.count == 1, " ");
    CHECK_STATUS(world.op, FIRN_NOT_FOUND,
                 firn_ancestors_of(world.op, &world.history.fixture.table, &(int64_t){ 1 }, &ancestors));
    close_world(&world);
}

static firn_status pick(struct world *world, int64_t id, struct firn_pick *out)
{
    return firn_cherrypick_snapshot(world->op, &world->refs, id, out);
}

static void picking_appends(void **state)
{
    struct world world;
    struct firn_pick picked;
    open_world(&world, state);
    append(&world, "a");
    int64_t next = stage(&world, "b", "w1");
    int64_t beside = stage(&world, "c", "w2");
    stage(&world, "d", "w3");
    stage(&world, "e", "w3");

    /* The first follows main's head: main moves, and no snapshot is made. */
    CHECK_OK(world.op, firn_publish_changes(world.op, &world.refs, FIRN_TEXT("w1"), &picked));
    CHECK(picked.source_snapshot_id == next && picked.current_snapshot_id == next, " ");
    check_live(&world, "a b");

    CHECK_OK(world.op, pick(&world, beside, &picked));
    CHECK(picked.source_snapshot_id == beside && picked.current_snapshot_id != beside, " ");
    check_live(&world, "a b c");
    struct firn_text source = fixture_summary(&world.history.fixture, "source-snapshot-id");
    CHECK(firn_text_same(source, firn_text_format(world.op->arena, "%" PRId64, beside)), " ");
    CHECK(firn_text_is(fixture_summary(&world.history.fixture, "published-wap-id"), "w2"), " ");
    CHECK(firn_text_is(fixture_summary(&world.history.fixture, "operation"), "append"), " ");
    CHECK(firn_text_is(fixture_summary(&world.history.fixture, "total-data-files"), "3"), " ");

    CHECK_STATUS(world.op, FIRN_USAGE, pick(&world, next, &picked));
    CHECK(strstr(world.op->error.text, "in main's history already"), "%s", world.op->error.text);
    CHECK_STATUS(world.op, FIRN_USAGE, pick(&world, beside, &picked));
    CHECK(strstr(world.op->error.text, "was picked already"), "%s", world.op->error.text);
    CHECK_STATUS(world.op, FIRN_NOT_FOUND, pick(&world, 77, &picked));
    CHECK_STATUS(world.op, FIRN_USAGE, firn_publish_changes(world.op, &world.refs, FIRN_TEXT("w3"), &picked));
    CHECK_STATUS(world.op, FIRN_NOT_FOUND, firn_publish_changes(world.op, &world.refs, FIRN_TEXT("w9"), &picked));
    CHECK_STATUS(world.op, FIRN_NOT_FOUND, firn_publish_changes(world.op, &world.refs, FIRN_TEXT(""), &picked));

    /* The same wap.id published twice. */
    int64_t again = stage(&world, "f", "w2");
    append(&world, "g");
    CHECK_STATUS(world.op, FIRN_USAGE, pick(&world, again, &picked));
    CHECK(strstr(world.op->error.text, "published already"), "%s", world.op->error.text);
    check_live(&world, "a b c g");
    close_world(&world);
}

static int64_t stage_replacement(struct world *world, const char *add, const char *remove)
{
    struct history_commit commit = { .operation = "overwrite", .day = 1, .add = add, .remove = remove, .staged = true };
    commit.replaces_partitions = remove != NULL;
    return history_make(&world->history, commit);
}

static void picking_replacements(void **state)
{
    struct world world;
    struct firn_pick picked;
    open_world(&world, state);
    history_make(&world.history, (struct history_commit){ .add = "a", .day = 1 });
    int64_t good = stage_replacement(&world, "A", "a"), overwrite = stage_replacement(&world, "x", NULL);
    history_make(&world.history, (struct history_commit){ .add = "b", .day = 2 }); /* in another partition */

    world.refs.dry_run = true;
    CHECK_OK(world.op, pick(&world, good, &picked));
    CHECK(!picked.has_current, " ");
    world.refs.dry_run = false;
    CHECK_OK(world.op, pick(&world, good, &picked));
    check_live(&world, "A b");
    CHECK(firn_text_is(fixture_summary(&world.history.fixture, "replace-partitions"), "true"), " ");
    CHECK_STATUS(world.op, FIRN_USAGE, pick(&world, overwrite, &picked));

    /* The partition got a file meanwhile. */
    int64_t late = stage_replacement(&world, "AA", "A");
    history_make(&world.history, (struct history_commit){ .add = "c", .day = 1 });
    CHECK_STATUS(world.op, FIRN_USAGE, pick(&world, late, &picked));
    CHECK(strstr(world.op->error.text, "came to a partition"), "%s", world.op->error.text);
    check_live(&world, "A b c");
    close_world(&world);
}

/* What a replacement of partitions replaced is gone meanwhile, or never was in main's history. */
static void picking_what_has_changed(void **state)
{
    struct world world;
    struct firn_pick picked;
    struct firn_ref_move move;
    open_world(&world, state);
    int64_t first = history_make(&world.history, (struct history_commit){ .add = "a", .day = 1 });
    int64_t gone = stage_replacement(&world, "A", "a");
    history_make(&world.history, (struct history_commit){ .operation = "delete", .remove = "a", .day = 1 });
    CHECK_STATUS(world.op, FIRN_CONFLICT, pick(&world, gone, &picked));
    check_live(&world, "");

    history_make(&world.history, (struct history_commit){ .add = "b", .day = 1 });
    int64_t beside = stage_replacement(&world, "B", "b");
    CHECK_OK(world.op, firn_rollback_to_snapshot(world.op, &world.refs, first, &move));
    CHECK_STATUS(world.op, FIRN_USAGE, pick(&world, beside, &picked));
    CHECK(strstr(world.op->error.text, "not in main's history"), "%s", world.op->error.text);
    check_live(&world, "a");
    close_world(&world);
}

/* Staged before main had a snapshot: main moves there. */
static void picking_the_first_snapshot(void **state)
{
    struct world world;
    struct firn_pick picked;
    open_world(&world, state);
    int64_t staged = stage(&world, "a", NULL);
    CHECK(metadata_of(&world)->current_snapshot_id == FIRN_NO_SNAPSHOT, " ");
    CHECK_OK(world.op, pick(&world, staged, &picked));
    CHECK(picked.current_snapshot_id == staged && metadata_of(&world)->snapshot_count == 1, " ");
    check_live(&world, "a");
    close_world(&world);
}

/* The log tells when main moved, not when the snapshot was made. */
static void a_rollback_is_logged_as_of_now(void **state)
{
    struct world world;
    struct firn_ref_move move;
    open_world(&world, state);
    int64_t first = append(&world, "a");
    append(&world, "b");
    world.history.now_ms += 60000;
    CHECK_OK(world.op, firn_rollback_to_snapshot(world.op, &world.refs, first, &move));
    const struct firn_metadata *metadata = metadata_of(&world);
    const struct firn_snapshot_log_entry *last = &metadata->snapshot_log[metadata->snapshot_log_count - 1];
    CHECK(metadata->snapshot_log_count == 3 && last->snapshot_id == first, " ");
    CHECK(last->timestamp_ms == world.history.now_ms, "%" PRId64, last->timestamp_ms);
    close_world(&world);
}

/* Log entries in the order (B, 1010), (A, 1000), (C, 1020): as of 1009 it was A, whatever the order. */
static void a_snapshot_log_out_of_order(void **state)
{
    struct world world;
    open_world(&world, state);
    int64_t a = append(&world, "a"), b = append(&world, "b"), c = append(&world, "c");
    struct firn_snapshot_log_entry log[] = { { 1010, b }, { 1000, a }, { 1020, c } };
    struct firn_metadata metadata = *metadata_of(&world);
    metadata.snapshot_log = log;
    metadata.snapshot_log_count = 3;
    const struct {
        int64_t at, id;
    } cases[] = { { 1000, a }, { 1009, a }, { 1010, b }, { 1019, b }, { 1020, c }, { 99999, c } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct firn_snapshot *found = firn_metadata_snapshot_at(&metadata, cases[i].at);
        CHECK(found && found->id == cases[i].id, "as of %d", (int)cases[i].at);
    }
    CHECK(!firn_metadata_snapshot_at(&metadata, 999), " ");
    close_world(&world);
}

/* Others move a reference between a decision and its commit: it is decided anew. */
struct racing {
    struct world *world;
    int attempts;
};

static firn_status decide_while_others_commit(struct firn_op *op, void *context, const struct firn_table *table,
                                              struct firn_change *out)
{
    struct racing *racing = context;
    struct firn_ref ref = *firn_metadata_ref(table->metadata, FIRN_TEXT("main"));
    firn_change_require_ref(out, ref.name, ref.snapshot_id);
    ref.name = FIRN_TEXT("seen");
    ref.type = FIRN_REF_TAG;
    firn_change_set_ref(out, &ref);
    if (racing->attempts++ > 0)
        return FIRN_OK;
    struct fixture other;
    struct history_files file;
    history_files_of(&racing->world->history, "other", 0, FIRN_CONTENT_DATA, &file);
    CHECK_OK(op, fixture_open(op, racing->world->history.store, FIRN_TEXT("mem://w"), &other));
    CHECK_OK(op, fixture_load(op, &other));
    CHECK_OK(op, fixture_append(op, &other, file.items, 1));
    fixture_close(&other);
    return FIRN_OK;
}

static void lost_races_are_decided_anew(void **state)
{
    struct world world;
    open_world(&world, state);
    append(&world, "a");
    struct racing racing = { .world = &world };
    CHECK_OK(world.op, firn_change_commit(world.op, &world.history.fixture.table, decide_while_others_commit, &racing));
    CHECK(racing.attempts == 2, "%d", racing.attempts);
    CHECK(ref_of(&world, "seen")->snapshot_id == metadata_of(&world)->current_snapshot_id, " ");
    check_live(&world, "a other");
    close_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(branches_and_tags),
        TEST(an_empty_table),
        TEST(rollbacks),
        TEST(fast_forward),
        TEST(picking_appends),
        TEST(picking_replacements),
        TEST(picking_what_has_changed),
        TEST(picking_the_first_snapshot),
        TEST(a_rollback_is_logged_as_of_now),
        TEST(lost_races_are_decided_anew),
        TEST(a_snapshot_log_out_of_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
