/* Commits that lose races: what others commit between the plan and the swap, and what is cleaned up after.
 * Names like R3 are situations of the field reports. */
#include "conflict_world.h"

#include "base/math.h"
#include "table/scan.h"

/* A catalog kind that lets a peer commit first, once. */
struct interrupted {
    const struct firn_catalog_kind *inner;
    struct firn_catalog_kind kind;
    struct world *world;
    const char *peer_file;
    const struct firn_data_file *peer_deletes; /* one a swap */
    uint32_t peer_delete_count;
    const struct firn_snapshot_change *peer_change; /* once */
    firn_status answer; /* of the swap once the peers are done, unless FIRN_OK: it does nothing */
};

/* The table as another writer opens it. */
static void open_as_peer(struct firn_op *op, const struct world *world, struct fixture *peer)
{
    CHECK_OK(op, fixture_open(op, world->store, FIRN_TEXT("mem://w"), peer));
    CHECK_OK(op, fixture_load(op, peer));
}

static void append_as_peer(struct firn_op *op, const struct world *world, const char *name)
{
    struct fixture peer;
    open_as_peer(op, world, &peer);
    struct firn_data_file file = fixture_file(op, &peer, name, 3);
    CHECK_OK(op, fixture_append(op, &peer, &file, 1));
    fixture_close(&peer);
}

static void delete_as_peer(struct firn_op *op, const struct world *world, const struct firn_data_file *file)
{
    struct fixture peer;
    open_as_peer(op, world, &peer);
    CHECK_OK(op, fixture_delete(op, &peer, file, 1));
    fixture_close(&peer);
}

static void commit_as_peer(struct firn_op *op, const struct world *world, const struct firn_snapshot_change *change)
{
    struct fixture peer;
    struct firn_snapshot_result result;
    open_as_peer(op, world, &peer);
    CHECK_OK(op, firn_snapshot_commit(op, NULL, &peer.table, change, &result));
    fixture_close(&peer);
}

static firn_status interrupted_swap(struct firn_op *op, struct firn_catalog *catalog, struct firn_text identifier,
                                    const struct firn_table_version *base, const struct firn_metadata *metadata,
                                    struct firn_text *new_location)
{
    struct interrupted *interrupted =
        (struct interrupted *)((char *)(uintptr_t)catalog->kind - offsetof(struct interrupted, kind));
    if (interrupted->peer_file) {
        append_as_peer(op, interrupted->world, interrupted->peer_file);
        interrupted->peer_file = NULL;
    } else if (interrupted->peer_delete_count > 0) {
        interrupted->peer_delete_count--;
        delete_as_peer(op, interrupted->world, interrupted->peer_deletes++);
    } else if (interrupted->peer_change) {
        commit_as_peer(op, interrupted->world, interrupted->peer_change);
        interrupted->peer_change = NULL;
    } else if (interrupted->answer != FIRN_OK) {
        *new_location = FIRN_TEXT("mem://w/nowhere.metadata.json");
        return firn_fail(op, interrupted->answer, "the answer of the test");
    }
    return interrupted->inner->swap(op, catalog, identifier, base, metadata, new_location);
}

/* After an unknown answer nobody can tell. */
static firn_status nobody_knows(struct firn_op *op, struct firn_catalog *catalog, struct firn_text identifier,
                                struct firn_text location, const struct firn_metadata *metadata, bool *out)
{
    (void)catalog;
    (void)identifier;
    (void)location;
    (void)metadata;
    (void)out;
    return firn_fail(op, FIRN_UNAVAILABLE, "the answer of the test");
}

static void no_sleep(void *context, int64_t ms)
{
    (void)context;
    (void)ms;
}

/* Commits while the peers of `interrupted` do, without waiting between attempts. */
static firn_status commit_amid(struct firn_op *op, struct interrupted *interrupted,
                               const struct firn_snapshot_change *change, struct firn_snapshot_result *result)
{
    struct fixture *fixture = &interrupted->world->fixture;
    struct firn_env env = *op->env;
    const struct firn_env *usual = op->env;
    interrupted->inner = fixture->catalog->kind;
    interrupted->kind = *interrupted->inner;
    interrupted->kind.swap = interrupted_swap;
    if (interrupted->answer != FIRN_OK)
        interrupted->kind.committed = nobody_knows;
    env.sleep_ms = no_sleep;
    op->env = &env;
    fixture->catalog->kind = &interrupted->kind;
    firn_status status = firn_snapshot_commit(op, NULL, &fixture->table, change, result);
    fixture->catalog->kind = interrupted->inner;
    op->env = usual;
    return status;
}

/* R3 (a): everything is worked out anew, and the lost attempt leaves nothing. */
static void a_lost_race_is_run_again(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    begin(op, &world, "{\"format-version\": \"3\"}");
    struct firn_data_file d[] = { append_one(op, &world, "d1"), append_one(op, &world, "d2") };
    struct firn_data_file n = fixture_file(op, &world.fixture, "n", 6);
    struct firn_snapshot_change change = plan(&world, d, 2, &n);
    struct interrupted interrupted = { .world = &world, .peer_file = "d3" };
    struct firn_snapshot_result result;
    CHECK_OK(op, commit_amid(op, &interrupted, &change, &result));
    assert_int_equal(result.attempts, 2);
    assert_int_equal(result.sequence_number, 4);
    check_live(op, &world, "d3 n");
    check_summary(&world, "total-data-files", "2");
    check_summary(&world, "total-records", "9");
    const struct firn_metadata *metadata = world.fixture.table.metadata;
    const struct firn_snapshot *current = firn_metadata_current(metadata);
    assert_int_equal(current->first_row_id, 9); /* after d1, d2 and d3 */
    assert_int_equal(metadata->next_row_id, current->first_row_id + current->added_rows);
    const struct firn_snapshot *parent = firn_metadata_snapshot(metadata, current->parent_id);
    assert_int_equal(parent->sequence_number, 3);
    end(op, &world);
}

/* A compaction that was planned before an equality delete commits after the change was planned, before its first
 * attempt or in the middle of it: its output has a number that the delete reaches. */
static void late_data_keeps_equality_deletes(void **state)
{
    struct firn_op *op = test_op(state);
    for (int is_race = 0; is_race < 2; is_race++) {
        struct world world;
        struct firn_snapshot_result result;
        begin(op, &world, NULL);
        struct firn_data_file d1 = append_one(op, &world, "d1"), d2 = append_one(op, &world, "d2");
        struct firn_data_file peers = fixture_file(op, &world.fixture, "peers", 3);
        struct firn_snapshot_change peer = plan(&world, &d2, 1, &peers);
        struct firn_data_file spent[] = { equality_delete(op, &world, "e"), position_delete(op, &world, "p", &d1) };
        add_deletes(op, &world, spent, 2);
        struct firn_data_file n = fixture_file(op, &world.fixture, "n", 3);
        struct firn_snapshot_change change = plan(&world, &d1, 1, &n);
        change.spent_deletes = spent;
        change.spent_delete_count = 2;
        struct interrupted interrupted = { .world = &world, .peer_change = is_race ? &peer : NULL };
        if (!is_race)
            CHECK_OK(op, commit(op, &world, &peer));
        CHECK_OK(op, commit_amid(op, &interrupted, &change, &result));
        assert_int_equal(result.attempts, 1 + is_race);
        assert_int_equal(result.removed_delete_files, 1);
        check_live(op, &world, "n peers | e");
        check_summary(&world, "total-delete-files", "1");
        end(op, &world);
    }
}

static void upgrade(struct firn_op *op, struct world *world, int version)
{
    json_t *requirements = firn_json_own(op->arena, json_array());
    json_t *updates = firn_json_own(
        op->arena, json_pack("[{s:s, s:i}]", "action", "upgrade-format-version", "format-version", version));
    CHECK_OK(op, firn_catalog_commit(op, &world->fixture.table, requirements, updates));
}

/* The first row id of a live data file in a snapshot. */
static int64_t first_row_id_in(struct firn_op *op, const struct world *world, const struct firn_snapshot *snapshot,
                               struct firn_text path)
{
    struct firn_scan scan;
    int64_t id = FIRN_ABSENT;
    CHECK_OK(op, firn_scan_plan(op, NULL, world->store, world->fixture.table.metadata, snapshot,
                                (struct firn_scan_options){ 0 }, &scan));
    for (uint32_t i = 0; i < scan.file_count; i++)
        if (firn_text_same(scan.files[i].entry->file.path, path))
            id = scan.files[i].entry->file.first_row_id;
    return id;
}

/* After an upgrade the first commit numbers the rows there are. When it comes between two attempts, a manifest written
 * for the first one must not number them again. */
static void row_ids_given_between_attempts_stay(void **state)
{
    struct firn_op *op = test_op(state);
    static const char *const properties[] = { NULL, "{\"commit.manifest.min-count-to-merge\": \"2\"}" };
    for (size_t merges = 0; merges < FIRN_COUNT_OF(properties); merges++) {
        struct world world;
        begin(op, &world, properties[merges]);
        struct firn_data_file old[] = { fixture_file(op, &world.fixture, "gone", 3),
                                        fixture_file(op, &world.fixture, "kept", 3) };
        CHECK_OK(op, fixture_append(op, &world.fixture, old, 2));
        upgrade(op, &world, 3);
        struct firn_data_file n = fixture_file(op, &world.fixture, "n", 3);
        struct firn_snapshot_change change = plan(&world, old, 1, &n);
        struct interrupted interrupted = { .world = &world, .peer_file = "peer" };
        struct firn_snapshot_result result;
        CHECK_OK(op, commit_amid(op, &interrupted, &change, &result));
        assert_int_equal(result.attempts, 2);
        const struct firn_metadata *metadata = world.fixture.table.metadata;
        const struct firn_snapshot *current = firn_metadata_current(metadata);
        const struct firn_snapshot *parent = firn_metadata_snapshot(metadata, current->parent_id);
        int64_t given = first_row_id_in(op, &world, parent, old[1].path);
        CHECK(given != FIRN_ABSENT, "the peer's snapshot numbers no rows");
        assert_int_equal(first_row_id_in(op, &world, current, old[1].path), given);
        end(op, &world);
    }
}

static void retries_end_and_leave_nothing(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    begin(op, &world, "{\"commit.retry.num-retries\": \"2\"}");
    struct firn_data_file d = append_one(op, &world, "d");
    struct firn_data_file n = fixture_file(op, &world.fixture, "n", 3);
    struct firn_snapshot_change change = plan(&world, &d, 1, &n);
    struct interrupted interrupted = { .world = &world, .answer = FIRN_CONFLICT };
    struct firn_snapshot_result result;
    CHECK_STATUS(op, FIRN_CONFLICT, commit_amid(op, &interrupted, &change, &result));
    assert_int_equal(result.attempts, 3);
    check_live(op, &world, "d");
    end(op, &world);
}

/* A writer that commits whenever a snapshot was begun, some times. */
struct busy_writer {
    struct world *world;
    int commits;
};

static firn_status commit_meanwhile(struct firn_op *op, void *context, const struct firn_metadata *metadata)
{
    static const char *const names[] = { "p1", "p2", "p3", "p4", "p5" };
    struct busy_writer *writer = context;
    (void)metadata;
    if (writer->commits < (int)FIRN_COUNT_OF(names))
        append_as_peer(op, writer->world, names[writer->commits++]);
    return FIRN_OK;
}

/* More commits come than attempts are allowed: what comes while a snapshot is built costs no attempt. */
static void a_busy_writer_does_not_outrun(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    begin(op, &world, "{\"commit.retry.num-retries\": \"1\"}");
    struct firn_data_file d = append_one(op, &world, "d"), n = fixture_file(op, &world.fixture, "n", 3);
    struct busy_writer writer = { .world = &world };
    struct firn_base_check check = { commit_meanwhile, &writer };
    struct firn_snapshot_change change = plan(&world, &d, 1, &n);
    change.check = &check;
    struct interrupted interrupted = { .world = &world };
    struct firn_snapshot_result result;
    CHECK_OK(op, commit_amid(op, &interrupted, &change, &result));
    assert_int_equal(result.attempts, 2);
    check_live(op, &world, "n p1 p2 p3 p4 p5");
    end(op, &world);
}

/* A carry_over that says everything in one delete file a call, "c1" for the first. */
struct carrier {
    struct world *world;
    const struct firn_data_file *target;
    struct firn_text asked; /* base names of the deletes of the last call */
    int calls, withdrawals;
    firn_status answer;
};

static struct firn_text base_name(struct firn_text path)
{
    for (size_t i = path.len; i > 0; i--)
        if (path.data[i - 1] == '/')
            return firn_text_from(path, i);
    return path;
}

static firn_status carry(struct firn_op *op, void *context, const struct firn_manifest_entry *const *deletes,
                         uint32_t count, const struct firn_data_file **added, uint32_t *added_count)
{
    struct carrier *carrier = context;
    struct firn_data_file *file = FIRN_NEW(op->arena, struct firn_data_file);
    struct firn_text name = firn_text_format(op->arena, "c%d", ++carrier->calls);
    bool makes_vectors = carrier->world->fixture.table.metadata->format_version > 2;
    carrier->asked = FIRN_TEXT("");
    for (uint32_t i = 0; i < count; i++)
        carrier->asked = firn_text_format(op->arena, "%.*s%s%.*s", FIRN_FMT(carrier->asked), i ? " " : "",
                                          FIRN_FMT(base_name(deletes[i]->file.path)));
    if (carrier->answer != FIRN_OK)
        return firn_fail(op, carrier->answer, "cannot be carried");
    *file = makes_vectors ? vector_of(op, carrier->world, name.data, 4, carrier->target)
                          : position_delete(op, carrier->world, name.data, carrier->target);
    *added = file;
    *added_count = 1;
    return FIRN_OK;
}

static void withdraw(struct firn_op *op, void *context)
{
    struct carrier *carrier = context;
    (void)op;
    carrier->withdrawals++;
}

/* What concerns a removed file is handed over, and what comes back is part of the commit. */
static void deletes_are_carried_over(void **state)
{
    struct firn_op *op = test_op(state);
    for (int version = 2; version <= 3; version++) {
        struct world world;
        begin(op, &world, version == 3 ? "{\"format-version\": \"3\"}" : NULL);
        struct firn_data_file d[] = { append_one(op, &world, "d1"), append_one(op, &world, "d2") };
        struct firn_data_file kept = append_one(op, &world, "d3");
        struct firn_data_file n = fixture_file(op, &world.fixture, "n", 6);
        struct firn_snapshot_change change = plan(&world, d, 2, &n);
        struct carrier carrier = { .world = &world, .target = &n };
        struct firn_carry_over carry_over = { carry, withdraw, &carrier };
        change.carry_over = &carry_over;
        for (int i = 0; i < 3; i++) {
            const struct firn_data_file *target = i < 2 ? &d[i] : &kept;
            struct firn_text name = firn_text_format(op->arena, "p%d", i + 1);
            struct firn_data_file of_one = version == 3 ? vector_of(op, &world, name.data, 4, target)
                                                        : position_delete(op, &world, name.data, target);
            add_deletes(op, &world, &of_one, 1);
        }
        struct firn_data_file wide = position_delete(op, &world, "wide", NULL), e = equality_delete(op, &world, "e");
        if (version == 2)
            add_deletes(op, &world, &wide, 1);
        add_deletes(op, &world, &e, 1);
        CHECK_OK(op, commit(op, &world, &change));
        CHECK(firn_text_is(carrier.asked, version == 3 ? "p1 p2" : "p1 wide p2"), "%.*s", FIRN_FMT(carrier.asked));
        assert_int_equal(carrier.calls, 1);
        assert_int_equal(carrier.withdrawals, 0);
        check_live(op, &world, version == 3 ? "d3 n | c1 e p3" : "d3 n | c1 e p3 wide");
        check_summary(&world, "added-delete-files", "1");
        check_summary(&world, "added-position-deletes", "1");
        check_summary(&world, version == 3 ? "added-dvs" : "added-position-delete-files", "1");
        check_summary(&world, version == 3 ? "removed-dvs" : "removed-position-delete-files", "2");
        check_summary(&world, "removed-position-deletes", "2");
        check_summary(&world, "total-position-deletes", version == 3 ? "2" : "3");
        struct firn_scan scan;
        const struct firn_metadata *metadata = world.fixture.table.metadata;
        CHECK_OK(op, firn_scan_plan(op, NULL, world.store, metadata, firn_metadata_current(metadata),
                                    (struct firn_scan_options){ 0 }, &scan));
        for (uint32_t i = 0; i < scan.file_count; i++) {
            if (!firn_text_same(scan.files[i].entry->file.path, n.path))
                continue;
            assert_int_equal(scan.files[i].deletes.own.count, 1);
            assert_int_equal(scan.files[i].deletes.own.items[0]->sequence_number, metadata->last_sequence_number);
            assert_int_equal(scan.files[i].deletes.equality.count, 1);
        }
        end(op, &world);
    }
}

/* Attempts that meet the same deletes keep what was given, one that meets others asks again; the losers leave nothing.
 */
static void lost_races_carry_what_they_meet(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    begin(op, &world, NULL);
    struct firn_data_file d[] = { append_one(op, &world, "d1"), append_one(op, &world, "d2") };
    struct firn_data_file n = fixture_file(op, &world.fixture, "n", 6);
    struct firn_snapshot_change change = plan(&world, d, 2, &n);
    struct carrier carrier = { .world = &world, .target = &n };
    struct firn_carry_over carry_over = { carry, withdraw, &carrier };
    struct firn_data_file p0 = position_delete(op, &world, "p0", &d[0]);
    struct firn_data_file later[] = { equality_delete(op, &world, "e"), position_delete(op, &world, "p1", &d[1]) };
    change.carry_over = &carry_over;
    add_deletes(op, &world, &p0, 1);
    struct interrupted interrupted = { .world = &world, .peer_deletes = later, .peer_delete_count = 2 };
    struct firn_snapshot_result result;
    CHECK_OK(op, commit_amid(op, &interrupted, &change, &result));
    assert_int_equal(result.attempts, 3);
    assert_int_equal(result.carried_delete_files, 1);
    assert_int_equal(carrier.calls, 2); /* not for the equality delete */
    CHECK(firn_text_is(carrier.asked, "p0 p1"), "%.*s", FIRN_FMT(carrier.asked));
    check_live(op, &world, "n | c2 e");
    end(op, &world);
}

static void what_was_carried_goes_with_a_definite_failure(void **state)
{
    static const struct {
        firn_status swap, carry, wanted;
        int withdrawals;
        bool must_plan_anew;
    } cases[] = {
        { FIRN_CONFLICT, FIRN_OK, FIRN_CONFLICT, 1, false },
        { FIRN_UNKNOWN, FIRN_OK, FIRN_UNKNOWN, 0, false },
        { FIRN_OK, FIRN_CONFLICT, FIRN_CONFLICT, 1, true },
    };
    struct firn_op *op = test_op(state);
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct world world;
        begin(op, &world, "{\"commit.retry.num-retries\": \"2\", \"commit.status-check.num-retries\": \"0\"}");
        struct firn_data_file d = append_one(op, &world, "d");
        struct firn_data_file n = fixture_file(op, &world.fixture, "n", 3);
        struct firn_snapshot_change change = plan(&world, &d, 1, &n);
        struct carrier carrier = { .world = &world, .target = &n, .answer = cases[i].carry };
        struct firn_carry_over carry_over = { carry, withdraw, &carrier };
        struct firn_data_file p = position_delete(op, &world, "p", &d);
        change.carry_over = &carry_over;
        add_deletes(op, &world, &p, 1);
        struct interrupted interrupted = { .world = &world, .answer = cases[i].swap };
        struct firn_snapshot_result result;
        CHECK_STATUS(op, cases[i].wanted, commit_amid(op, &interrupted, &change, &result));
        assert_int_equal(carrier.calls, 1);
        assert_int_equal(carrier.withdrawals, cases[i].withdrawals);
        assert_int_equal(result.must_plan_anew, cases[i].must_plan_anew);
        assert_int_equal(result.carried_delete_files, 0);
        check_live(op, &world, "d | p");
        if (cases[i].wanted != FIRN_UNKNOWN) {
            end(op, &world);
            continue;
        }
        fixture_close(&world.fixture);
        firn_store_close(world.store);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_lost_race_is_run_again),
        TEST(late_data_keeps_equality_deletes),
        TEST(row_ids_given_between_attempts_stay),
        TEST(retries_end_and_leave_nothing),
        TEST(a_busy_writer_does_not_outrun),
        TEST(deletes_are_carried_over),
        TEST(lost_races_carry_what_they_meet),
        TEST(what_was_carried_goes_with_a_definite_failure),
    };
    return cmocka_run_group_tests_name("lost race", tests, NULL, NULL);
}
