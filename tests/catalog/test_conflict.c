/* Commits that meet others: what is a conflict, what is not, what is cleaned up, and which delete files fall away.
 * Names like R1 are situations of the field reports. */
#include "conflict_world.h"

#include "format/parquet/writer.h"
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
        TEST(nothing_left_to_remove_is_a_conflict),
        TEST(a_removed_input_is_a_final_conflict),
        TEST(history_must_hold_the_planned_snapshot),
        TEST(files_from_before_numbers_keep_their_deletes),
    };
    return cmocka_run_group_tests_name("conflict", tests, NULL, NULL);
}
