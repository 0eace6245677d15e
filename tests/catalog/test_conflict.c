/* Commits that meet others: what is a conflict, what is not, what is cleaned up, and which delete files fall away.
 * Names like R1 are situations of the field reports. */
#include "conflict_world.h"

#include "base/math.h"
#include "format/parquet/writer.h"
#include "support/fault_store.h"
#include "table/scan.h"

/* R1 */
static void equality_deletes_still_reach_a_pinned_file(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    begin(op, &world, NULL);
    struct firn_data_file d1 = append_one(op, &world, "d1");
    struct firn_data_file n1 = fixture_file(op, &world.fixture, "n1", 3);
    struct firn_snapshot_change change = plan(&world, &d1, 1, &n1);
    struct firn_data_file e = equality_delete(op, &world, "e");
    add_deletes(op, &world, &e, 1);
    append_one(op, &world, "d2");
    CHECK_OK(op, commit(op, &world, &change));
    check_live(op, &world, "d2 n1 | e");

    struct firn_scan scan;
    const struct firn_metadata *metadata = world.fixture.table.metadata;
    CHECK_OK(op, firn_scan_plan(op, NULL, world.store, metadata, firn_metadata_current(metadata),
                                (struct firn_scan_options){ 0 }, &scan));
    for (uint32_t i = 0; i < scan.file_count; i++) {
        bool is_n1 = firn_text_same(scan.files[i].entry->file.path, n1.path);
        CHECK(firn_delete_match_count(&scan.files[i].deletes) == (is_n1 ? 1 : 0), "%.*s",
              FIRN_FMT(scan.files[i].entry->file.path));
    }
    end(op, &world);
}

static void equality_deletes_conflict_with_an_unpinned_file(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    begin(op, &world, NULL);
    struct firn_data_file d1 = append_one(op, &world, "d1");
    struct firn_data_file n1 = fixture_file(op, &world.fixture, "n1", 3);
    struct firn_snapshot_change change = plan(&world, &d1, 1, &n1);
    change.added_sequence_number = FIRN_ABSENT;
    struct firn_data_file e = equality_delete(op, &world, "e");
    add_deletes(op, &world, &e, 1);
    CHECK_STATUS(op, FIRN_CONFLICT, commit(op, &world, &change));
    CHECK(strstr(op->error.text, d1.path.data) && strstr(op->error.text, e.path.data), "%s", op->error.text);
    check_live(op, &world, "d1 | e");
    end(op, &world);
}

static void new_position_deletes_conflict(void **state)
{
    struct firn_op *op = test_op(state);
    for (int version = 2; version <= 3; version++) {
        struct world world;
        begin(op, &world, version == 3 ? "{\"format-version\": \"3\"}" : NULL);
        struct firn_data_file d1 = append_one(op, &world, "d1");
        struct firn_data_file d2 = append_one(op, &world, "d2");
        struct firn_data_file n1 = fixture_file(op, &world.fixture, "n1", 3);
        struct firn_snapshot_change change = plan(&world, &d1, 1, &n1);
        struct firn_data_file of_d2 =
            version == 3 ? vector_of(op, &world, "p2", 4, &d2) : position_delete(op, &world, "p2", &d2);
        add_deletes(op, &world, &of_d2, 1);
        struct firn_snapshot_change same_plan = change;
        struct firn_data_file of_d1 =
            version == 3 ? vector_of(op, &world, "p1", 4, &d1) : position_delete(op, &world, "p1", &d1);
        add_deletes(op, &world, &of_d1, 1);
        CHECK_STATUS(op, FIRN_CONFLICT, commit(op, &world, &same_plan));
        check_live(op, &world, "d1 d2 | p1 p2");

        change = plan(&world, &d1, 1, &n1); /* planned again: p1 goes with its file, p2 stays */
        CHECK_OK(op, commit(op, &world, &change));
        check_live(op, &world, "d2 n1 | p2");
        check_summary(&world, "total-delete-files", "1");
        check_summary(&world, "total-position-deletes", "1");
        check_summary(&world, version == 3 ? "removed-dvs" : "removed-position-delete-files", "1");
        end(op, &world);
    }
}

/* A position-delete file with one row, and path bounds cut to 16 bytes as some writers do. */
static struct firn_data_file wide_position_delete(struct firn_op *op, struct world *world, const char *name,
                                                  const struct firn_data_file *target)
{
    struct firn_data_file file = position_delete(op, world, name, NULL);
    struct firn_parquet_node columns[] = {
        { .name = FIRN_TEXT("file_path"),
          .repetition = FIRN_REQUIRED,
          .has_field_id = true,
          .field_id = 2147483546,
          .logical.kind = FIRN_LOGICAL_STRING,
          .is_leaf = true,
          .type = FIRN_PARQUET_BYTE_ARRAY },
        { .name = FIRN_TEXT("pos"),
          .repetition = FIRN_REQUIRED,
          .has_field_id = true,
          .field_id = 2147483545,
          .is_leaf = true,
          .type = FIRN_PARQUET_INT64 },
    };
    struct firn_footer schema = { .version = 1,
                                  .root = { .name = FIRN_TEXT("table"), .child_count = 2, .children = columns } };
    CHECK_OK(op, firn_parquet_schema_finish(op, &schema));
    struct firn_slice path = { (const uint8_t *)target->path.data, (uint32_t)target->path.len };
    int64_t position = 0;
    const union firn_values values[] = { { .slice = &path }, { .int64 = &position } };
    struct firn_chunk_options options = firn_chunk_options_default();
    struct firn_encoded_chunk chunks[2];
    for (int i = 0; i < 2; i++) {
        struct firn_chunk_writer *writer;
        struct firn_vector vector = {
            .type = columns[i].type, .slot_count = 1, .value_count = 1, .row_count = 1, .values = values[i]
        };
        CHECK_OK(op, firn_chunk_writer_open(op, schema.leaves[i], &options, &writer));
        CHECK_OK(op, firn_chunk_writer_append(op, writer, &vector));
        CHECK_OK(op, firn_chunk_writer_finish(op, writer, &chunks[i]));
        firn_chunk_writer_close(writer);
    }
    struct firn_buffer bytes = { 0 };
    struct firn_sink sink = firn_sink_to_buffer(&bytes);
    struct firn_parquet_writer *writer;
    struct firn_footer *written;
    CHECK_OK(op, firn_parquet_writer_open(op, &schema, &sink, &writer));
    CHECK_OK(op, firn_parquet_writer_add(op, writer, chunks, 1));
    CHECK_OK(op, firn_parquet_writer_finish(op, writer, &written));
    firn_parquet_writer_close(writer);
    for (int i = 0; i < 2; i++)
        firn_encoded_chunk_done(&chunks[i]);
    CHECK_OK(op, firn_store_put(op, world->store, file.path, false, firn_buffer_bytes(&bytes)));
    firn_buffer_done(&bytes);

    struct firn_bound_map bounds = { .present = true, .count = 1 };
    bounds.ids = FIRN_NEW(op->arena, int32_t);
    bounds.ids[0] = 2147483546;
    bounds.values = FIRN_NEW(op->arena, struct firn_bytes);
    bounds.values[0] = firn_bytes_of_text(firn_text_until(target->path, 16));
    file.lower_bounds = file.upper_bounds = bounds;
    return file;
}

/* R6: the file is opened to decide; what cannot be decided is a conflict. */
static void wide_position_deletes_are_read(void **state)
{
    struct firn_op *op = test_op(state);
    enum { OTHER, SAME, BROKEN, COUNT };
    for (int which = 0; which < COUNT; which++) {
        struct world world;
        begin(op, &world, NULL);
        struct firn_data_file a = append_one(op, &world, "a");
        struct firn_data_file n = fixture_file(op, &world.fixture, "n", 3);
        struct firn_snapshot_change change = plan(&world, &a, 1, &n);
        struct firn_data_file z = append_one(op, &world, "z");
        struct firn_data_file p = wide_position_delete(op, &world, "p", which == SAME ? &a : &z);
        p.lower_bounds.present = p.upper_bounds.present = which == OTHER;
        if (which == BROKEN)
            CHECK_OK(op, firn_store_put(op, world.store, p.path, false, firn_bytes_of_text(FIRN_TEXT("nothing"))));
        add_deletes(op, &world, &p, 1);
        firn_status status = commit(op, &world, &change);
        CHECK(status == (which == OTHER ? FIRN_OK : FIRN_CONFLICT), "%d: %s %s", which, firn_status_name(status),
              op->error.text);
        check_live(op, &world, which == OTHER ? "n z | p" : "a z | p");
        end(op, &world);
    }
}

/* R5 */
static void vectors_that_share_a_puffin_go_one_by_one(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    begin(op, &world, "{\"format-version\": \"3\"}");
    struct firn_data_file a = append_one(op, &world, "a");
    struct firn_data_file b = append_one(op, &world, "b");
    struct firn_data_file vectors[] = { vector_of(op, &world, "p", 4, &a), vector_of(op, &world, "p", 44, &b) };
    add_deletes(op, &world, vectors, 2);
    struct firn_data_file n = fixture_file(op, &world.fixture, "n", 2);
    struct firn_snapshot_change change = plan(&world, &a, 1, &n);
    CHECK_OK(op, commit(op, &world, &change));
    check_live(op, &world, "b n | p");
    check_summary(&world, "removed-dvs", "1");
    check_summary(&world, "removed-files-size", "41"); /* a's name and its vector, not the Puffin */
    end(op, &world);
}

/* Writes the current manifest list anew with every manifest labelled as data. */
static void label_as_data(struct firn_op *op, struct world *world)
{
    const struct firn_metadata *metadata = world->fixture.table.metadata;
    const struct firn_snapshot *current = firn_metadata_current(metadata);
    struct firn_manifest_list list;
    struct firn_buffer bytes = { 0 };
    struct firn_sink sink = firn_sink_to_buffer(&bytes);
    struct firn_manifest_list_header header = { .format_version = 2,
                                                .snapshot_id = current->id,
                                                .parent_snapshot_id = current->parent_id,
                                                .sequence_number = current->sequence_number,
                                                .codec = FIRN_TEXT("gzip") };
    CHECK_OK(op, firn_snapshot_manifests(op, world->store, metadata, current, &list));
    for (uint32_t i = 0; i < list.count; i++)
        list.manifests[i].is_deletes = false;
    CHECK_OK(op, firn_manifest_list_write(op, &header, list.manifests, list.count, &sink, NULL));
    CHECK_OK(op, firn_store_put(op, world->store, current->manifest_list, false, firn_buffer_bytes(&bytes)));
    firn_buffer_done(&bytes);
}

static void deletes_labelled_as_data_conflict(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    begin(op, &world, NULL);
    struct firn_data_file d = append_one(op, &world, "d");
    struct firn_data_file n = fixture_file(op, &world.fixture, "n", 3);
    struct firn_snapshot_change change = plan(&world, &d, 1, &n);
    change.added_sequence_number = FIRN_ABSENT;
    struct firn_data_file e = equality_delete(op, &world, "e");
    add_deletes(op, &world, &e, 1);
    label_as_data(op, &world);
    CHECK_STATUS(op, FIRN_CONFLICT, commit(op, &world, &change));
    end(op, &world);
}

/* A delete file in a manifest of data is refused with what to do, also where it goes with its data file. */
static void deletes_labelled_as_data_are_refused(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    begin(op, &world, NULL);
    struct firn_data_file a = append_one(op, &world, "a");
    append_one(op, &world, "b");
    struct firn_data_file p = position_delete(op, &world, "p", &a);
    add_deletes(op, &world, &p, 1);
    label_as_data(op, &world);
    struct firn_data_file n = fixture_file(op, &world.fixture, "n", 2);
    struct firn_snapshot_change change = plan(&world, &a, 1, &n);
    CHECK_STATUS(op, FIRN_CORRUPT, commit(op, &world, &change));
    CHECK(strstr(op->error.hint, "rewrite-manifests"), "%s", op->error.hint);
    end(op, &world);
}

/* R13: what has nothing left to apply to goes, and the totals reach zero. */
static void old_delete_files_fall_away(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    begin(op, &world, NULL);
    struct firn_data_file a = append_one(op, &world, "a");
    struct firn_data_file b = append_one(op, &world, "b");
    struct firn_data_file e = equality_delete(op, &world, "e");
    add_deletes(op, &world, &e, 1);
    struct firn_data_file later = append_one(op, &world, "later");
    struct firn_data_file n1 = fixture_file(op, &world.fixture, "n1", 2);
    struct firn_snapshot_change change = plan(&world, &a, 1, &n1);
    CHECK_OK(op, commit(op, &world, &change));
    check_live(op, &world, "b later n1 | e");
    struct firn_data_file n2 = fixture_file(op, &world.fixture, "n2", 2);
    change = plan(&world, &b, 1, &n2);
    CHECK_OK(op, commit(op, &world, &change));
    check_live(op, &world, "later n1 n2");
    check_summary(&world, "total-delete-files", "0");
    check_summary(&world, "total-equality-deletes", "0");
    (void)later;
    end(op, &world);
}

static void delete_files_are_removed_by_name(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    begin(op, &world, NULL);
    struct firn_data_file a = append_one(op, &world, "a");
    struct firn_data_file p[] = { position_delete(op, &world, "p1", &a), position_delete(op, &world, "p2", NULL) };
    add_deletes(op, &world, p, 2);
    struct firn_snapshot_change change = plan(&world, NULL, 0, NULL);
    change.removed_deletes = &p[0];
    change.removed_delete_count = 1;
    CHECK_OK(op, commit(op, &world, &change));
    check_live(op, &world, "a | p2");
    CHECK_STATUS(op, FIRN_CONFLICT, commit(op, &world, &change));
    check_live(op, &world, "a | p2");
    end(op, &world);
}

/* R3 (b), R15 */
/* What the planned snapshot shows to be of no use any more leaves with the change; one that is gone already is not
 * missed. */
static void spent_deletes_leave(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    begin(op, &world, NULL);
    struct firn_data_file inputs[] = { append_one(op, &world, "d1"), append_one(op, &world, "d2") };
    struct firn_data_file spent[] = {
        equality_delete(op, &world, "e"),
        position_delete(op, &world, "p", NULL),
        position_delete(op, &world, "gone", NULL),
    };
    add_deletes(op, &world, spent, 2);
    struct firn_data_file n = fixture_file(op, &world.fixture, "n", 3);
    struct firn_snapshot_change change = plan(&world, inputs, 2, &n);
    change.spent_deletes = spent;
    change.spent_delete_count = 3;
    append_one(op, &world, "d3");
    CHECK_OK(op, commit(op, &world, &change));
    check_live(op, &world, "d3 n");
    check_summary(&world, "removed-equality-deletes", "1");
    check_summary(&world, "removed-position-deletes", "1");
    check_summary(&world, "total-delete-files", "0");
    check_summary(&world, "total-equality-deletes", "0");
    end(op, &world);
}

/* Nothing but spent deletes, and none of them is there: no empty snapshot. */
static void nothing_left_to_remove_is_a_conflict(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    begin(op, &world, NULL);
    append_one(op, &world, "d1");
    struct firn_data_file gone = position_delete(op, &world, "gone", NULL);
    struct firn_snapshot_change change = plan(&world, NULL, 0, NULL);
    CHECK_STATUS(op, FIRN_USAGE, commit(op, &world, &change));
    change.spent_deletes = &gone;
    change.spent_delete_count = 1;
    CHECK_STATUS(op, FIRN_CONFLICT, commit(op, &world, &change));
    check_live(op, &world, "d1");
    end(op, &world);
}

static void a_removed_input_is_a_final_conflict(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    begin(op, &world, NULL);
    struct firn_data_file d[] = { append_one(op, &world, "d1"), append_one(op, &world, "d2") };
    struct firn_data_file n = fixture_file(op, &world.fixture, "n", 6);
    struct firn_snapshot_change change = plan(&world, d, 2, &n);
    struct firn_snapshot_change removal = plan(&world, &d[1], 1, NULL);
    removal.operation = FIRN_TEXT("delete");
    CHECK_OK(op, commit(op, &world, &removal));
    CHECK_STATUS(op, FIRN_CONFLICT, commit(op, &world, &change));
    CHECK(strstr(op->error.text, d[1].path.data), "%s", op->error.text);
    check_live(op, &world, "d1");
    end(op, &world);
}

static void history_must_hold_the_planned_snapshot(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    begin(op, &world, NULL);
    struct firn_data_file d = append_one(op, &world, "d");
    struct firn_data_file n = fixture_file(op, &world.fixture, "n", 3);
    struct firn_snapshot_change change = plan(&world, &d, 1, &n);
    change.base_snapshot_id = 12345;
    CHECK_STATUS(op, FIRN_CONFLICT, commit(op, &world, &change));
    check_live(op, &world, "d");
    end(op, &world);
}

/* R18: number 0 is a number. */
static void files_from_before_numbers_keep_their_deletes(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    begin(op, &world, "{\"format-version\": \"1\"}");
    struct firn_data_file a = append_one(op, &world, "a");
    json_t *updates =
        firn_json_own(op->arena, json_pack("[{s:s, s:i}]", "action", "upgrade-format-version", "format-version", 2));
    CHECK_OK(op, firn_catalog_commit(op, &world.fixture.table, firn_json_own(op->arena, json_array()), updates));
    struct firn_data_file p = position_delete(op, &world, "p", &a);
    struct firn_data_file wide = position_delete(op, &world, "wide", NULL);
    struct firn_data_file both[] = { p, wide };
    add_deletes(op, &world, both, 2);
    struct firn_data_file b = append_one(op, &world, "b");
    struct firn_data_file n = fixture_file(op, &world.fixture, "n", 3);
    struct firn_snapshot_change change = plan(&world, &b, 1, &n);
    CHECK_OK(op, commit(op, &world, &change));
    check_live(op, &world, "a n | p wide");
    end(op, &world);
}

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

static firn_status interrupted_swap(struct firn_op *op, struct firn_catalog *catalog, struct firn_text identifier,
                                    const struct firn_table_version *base, const struct firn_metadata *metadata,
                                    struct firn_text *new_location)
{
    struct interrupted *interrupted =
        (struct interrupted *)((char *)(uintptr_t)catalog->kind - offsetof(struct interrupted, kind));
    if (interrupted->peer_file) {
        struct fixture peer;
        CHECK_OK(op, fixture_open(op, interrupted->world->store, FIRN_TEXT("mem://w"), &peer));
        CHECK_OK(op, fixture_load(op, &peer));
        struct firn_data_file file = fixture_file(op, &peer, interrupted->peer_file, 3);
        interrupted->peer_file = NULL;
        CHECK_OK(op, fixture_append(op, &peer, &file, 1));
        fixture_close(&peer);
    } else if (interrupted->peer_delete_count > 0) {
        struct fixture peer;
        interrupted->peer_delete_count--;
        CHECK_OK(op, fixture_open(op, interrupted->world->store, FIRN_TEXT("mem://w"), &peer));
        CHECK_OK(op, fixture_load(op, &peer));
        CHECK_OK(op, fixture_delete(op, &peer, interrupted->peer_deletes++, 1));
        fixture_close(&peer);
    } else if (interrupted->peer_change) {
        struct fixture peer;
        struct firn_snapshot_result result;
        const struct firn_snapshot_change *change = interrupted->peer_change;
        interrupted->peer_change = NULL;
        CHECK_OK(op, fixture_open(op, interrupted->world->store, FIRN_TEXT("mem://w"), &peer));
        CHECK_OK(op, fixture_load(op, &peer));
        CHECK_OK(op, firn_snapshot_commit(op, NULL, &peer.table, change, &result));
        fixture_close(&peer);
    } else if (interrupted->answer != FIRN_OK) {
        *new_location = FIRN_TEXT("mem://w/nowhere.metadata.json");
        return firn_fail(op, interrupted->answer, "the answer of the test");
    }
    return interrupted->inner->swap(op, catalog, identifier, base, metadata, new_location);
}

static void no_sleep(void *context, int64_t ms)
{
    (void)context;
    (void)ms;
}

/* R3 (a): everything is worked out anew, and the lost attempt leaves nothing. */
static void a_lost_race_is_run_again(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_env env = *firn_env_real();
    env.sleep_ms = no_sleep;
    op->env = &env;
    struct world world;
    begin(op, &world, "{\"format-version\": \"3\"}");
    struct firn_data_file d[] = { append_one(op, &world, "d1"), append_one(op, &world, "d2") };
    struct firn_data_file n = fixture_file(op, &world.fixture, "n", 6);
    struct firn_snapshot_change change = plan(&world, d, 2, &n);
    struct interrupted interrupted = {
        .inner = world.fixture.catalog->kind, .kind = *world.fixture.catalog->kind, .world = &world, .peer_file = "d3"
    };
    interrupted.kind.swap = interrupted_swap;
    world.fixture.catalog->kind = &interrupted.kind;
    struct firn_snapshot_result result;
    CHECK_OK(op, firn_snapshot_commit(op, NULL, &world.fixture.table, &change, &result));
    world.fixture.catalog->kind = interrupted.inner;
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
    op->env = firn_env_real();
}

/* A compaction that was planned before an equality delete commits after the change was planned, before its first
 * attempt or in the middle of it: its output has a number that the delete reaches. */
static void late_data_keeps_equality_deletes(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_env env = *firn_env_real();
    env.sleep_ms = no_sleep;
    op->env = &env;
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
        struct interrupted interrupted = { .inner = world.fixture.catalog->kind,
                                           .kind = *world.fixture.catalog->kind,
                                           .world = &world };
        interrupted.kind.swap = interrupted_swap;
        interrupted.peer_change = is_race ? &peer : NULL;
        if (!is_race)
            CHECK_OK(op, commit(op, &world, &peer));
        world.fixture.catalog->kind = &interrupted.kind;
        CHECK_OK(op, firn_snapshot_commit(op, NULL, &world.fixture.table, &change, &result));
        world.fixture.catalog->kind = interrupted.inner;
        assert_int_equal(result.attempts, 1 + is_race);
        assert_int_equal(result.removed_delete_files, 1);
        check_live(op, &world, "n peers | e");
        check_summary(&world, "total-delete-files", "1");
        end(op, &world);
    }
    op->env = firn_env_real();
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
    struct firn_env env = *firn_env_real();
    env.sleep_ms = no_sleep;
    op->env = &env;
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
        struct interrupted interrupted = { .inner = world.fixture.catalog->kind,
                                           .kind = *world.fixture.catalog->kind,
                                           .world = &world,
                                           .peer_file = "peer" };
        interrupted.kind.swap = interrupted_swap;
        world.fixture.catalog->kind = &interrupted.kind;
        struct firn_snapshot_result result;
        CHECK_OK(op, firn_snapshot_commit(op, NULL, &world.fixture.table, &change, &result));
        world.fixture.catalog->kind = interrupted.inner;
        assert_int_equal(result.attempts, 2);
        const struct firn_metadata *metadata = world.fixture.table.metadata;
        const struct firn_snapshot *current = firn_metadata_current(metadata);
        const struct firn_snapshot *parent = firn_metadata_snapshot(metadata, current->parent_id);
        int64_t given = first_row_id_in(op, &world, parent, old[1].path);
        CHECK(given != FIRN_ABSENT, "the peer's snapshot numbers no rows");
        assert_int_equal(first_row_id_in(op, &world, current, old[1].path), given);
        end(op, &world);
    }
    op->env = firn_env_real();
}

static firn_status always_conflict(struct firn_op *op, struct firn_catalog *catalog, struct firn_text identifier,
                                   const struct firn_table_version *base, const struct firn_metadata *metadata,
                                   struct firn_text *new_location)
{
    (void)catalog;
    (void)identifier;
    (void)base;
    (void)metadata;
    (void)new_location;
    return firn_fail(op, FIRN_CONFLICT, "never");
}

static void retries_end_and_leave_nothing(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_env env = *firn_env_real();
    env.sleep_ms = no_sleep;
    op->env = &env;
    struct world world;
    begin(op, &world, "{\"commit.retry.num-retries\": \"2\"}");
    struct firn_data_file d = append_one(op, &world, "d");
    struct firn_data_file n = fixture_file(op, &world.fixture, "n", 3);
    struct firn_snapshot_change change = plan(&world, &d, 1, &n);
    struct firn_catalog_kind kind = *world.fixture.catalog->kind;
    const struct firn_catalog_kind *inner = world.fixture.catalog->kind;
    kind.swap = always_conflict;
    world.fixture.catalog->kind = &kind;
    struct firn_snapshot_result result;
    CHECK_STATUS(op, FIRN_CONFLICT, firn_snapshot_commit(op, NULL, &world.fixture.table, &change, &result));
    world.fixture.catalog->kind = inner;
    assert_int_equal(result.attempts, 3);
    check_live(op, &world, "d");
    end(op, &world);
    op->env = firn_env_real();
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
    struct fixture peer;
    (void)metadata;
    if (writer->commits == FIRN_COUNT_OF(names))
        return FIRN_OK;
    CHECK_OK(op, fixture_open(op, writer->world->store, FIRN_TEXT("mem://w"), &peer));
    CHECK_OK(op, fixture_load(op, &peer));
    struct firn_data_file file = fixture_file(op, &peer, names[writer->commits++], 3);
    CHECK_OK(op, fixture_append(op, &peer, &file, 1));
    fixture_close(&peer);
    return FIRN_OK;
}

/* More commits come than attempts are allowed: what comes while a snapshot is built costs no attempt. */
static void a_busy_writer_does_not_outrun(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_env env = *firn_env_real();
    env.sleep_ms = no_sleep;
    op->env = &env;
    struct world world;
    begin(op, &world, "{\"commit.retry.num-retries\": \"1\"}");
    struct firn_data_file d = append_one(op, &world, "d"), n = fixture_file(op, &world.fixture, "n", 3);
    struct busy_writer writer = { .world = &world };
    struct firn_base_check check = { commit_meanwhile, &writer };
    struct firn_snapshot_change change = plan(&world, &d, 1, &n);
    change.check = &check;
    struct firn_snapshot_result result;
    CHECK_OK(op, firn_snapshot_commit(op, NULL, &world.fixture.table, &change, &result));
    assert_int_equal(result.attempts, 2);
    check_live(op, &world, "n p1 p2 p3 p4 p5");
    end(op, &world);
    op->env = firn_env_real();
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
    struct firn_env env = *firn_env_real();
    env.sleep_ms = no_sleep;
    op->env = &env;
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
    struct interrupted interrupted = { .inner = world.fixture.catalog->kind,
                                       .kind = *world.fixture.catalog->kind,
                                       .world = &world,
                                       .peer_deletes = later,
                                       .peer_delete_count = 2 };
    interrupted.kind.swap = interrupted_swap;
    world.fixture.catalog->kind = &interrupted.kind;
    struct firn_snapshot_result result;
    CHECK_OK(op, firn_snapshot_commit(op, NULL, &world.fixture.table, &change, &result));
    world.fixture.catalog->kind = interrupted.inner;
    assert_int_equal(result.attempts, 3);
    assert_int_equal(result.carried_delete_files, 1);
    assert_int_equal(carrier.calls, 2); /* not for the equality delete */
    CHECK(firn_text_is(carrier.asked, "p0 p1"), "%.*s", FIRN_FMT(carrier.asked));
    check_live(op, &world, "n | c2 e");
    end(op, &world);
    op->env = firn_env_real();
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
    struct firn_env env = *firn_env_real();
    env.sleep_ms = no_sleep;
    op->env = &env;
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
        struct interrupted interrupted = { .inner = world.fixture.catalog->kind,
                                           .kind = *world.fixture.catalog->kind,
                                           .world = &world,
                                           .answer = cases[i].swap };
        interrupted.kind.swap = interrupted_swap;
        interrupted.kind.committed = nobody_knows;
        world.fixture.catalog->kind = &interrupted.kind;
        struct firn_snapshot_result result;
        CHECK_STATUS(op, cases[i].wanted, firn_snapshot_commit(op, NULL, &world.fixture.table, &change, &result));
        world.fixture.catalog->kind = interrupted.inner;
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
    op->env = firn_env_real();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(equality_deletes_still_reach_a_pinned_file),
        TEST(equality_deletes_conflict_with_an_unpinned_file),
        TEST(new_position_deletes_conflict),
        TEST(wide_position_deletes_are_read),
        TEST(vectors_that_share_a_puffin_go_one_by_one),
        TEST(old_delete_files_fall_away),
        TEST(deletes_labelled_as_data_conflict),
        TEST(deletes_labelled_as_data_are_refused),
        TEST(delete_files_are_removed_by_name),
        TEST(spent_deletes_leave),
        TEST(late_data_keeps_equality_deletes),
        TEST(nothing_left_to_remove_is_a_conflict),
        TEST(a_removed_input_is_a_final_conflict),
        TEST(history_must_hold_the_planned_snapshot),
        TEST(files_from_before_numbers_keep_their_deletes),
        TEST(a_lost_race_is_run_again),
        TEST(row_ids_given_between_attempts_stay),
        TEST(retries_end_and_leave_nothing),
        TEST(a_busy_writer_does_not_outrun),
        TEST(deletes_are_carried_over),
        TEST(lost_races_carry_what_they_meet),
        TEST(what_was_carried_goes_with_a_definite_failure),
    };
    return cmocka_run_group_tests_name("conflict", tests, NULL, NULL);
}
