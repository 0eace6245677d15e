/* rewrite_data_files on tables with delete files: rows are the same after as before, and delete files leave with the
 * last data file that they apply to. Names like R13 are situations of the field reports. */
#include "maintain/apply_fixture.h"

#include "rewrite/delete_writer.h"

enum { TARGETS_MAX = 4, ROWS_MAX = 12 };

/* Rows of data files; positions end with -1. */
struct deletion {
    const struct firn_data_file *file;
    int rows[ROWS_MAX];
};

/* Commits delete files to a branch. */
static void commit_deletes(struct firn_op *op, struct world *world, const char *branch,
                           const struct firn_data_file *files, uint32_t count)
{
    struct firn_snapshot_result result;
    struct firn_snapshot_change change = {
        .operation = FIRN_TEXT("delete"),
        .branch = firn_text_of(branch),
        .added_sequence_number = FIRN_ABSENT,
        .added_deletes = files,
        .added_delete_count = count,
        .base_snapshot_id = FIRN_NO_SNAPSHOT,
    };
    CHECK_OK(op, firn_snapshot_commit(op, NULL, &world->table, &change, &result));
}

/* Writes position delete files or vectors, whatever the table's format wants. */
static struct firn_delete_files write_positions(struct firn_op *op, struct world *world, const struct deletion *deleted,
                                                uint32_t count, enum firn_delete_granularity granularity)
{
    struct firn_row_deletes rows[TARGETS_MAX];
    struct firn_delete_files files;
    struct firn_delete_writer_config config = {
        .metadata = world->table.metadata,
        .store = world->store,
        .operation = firn_uuid_random(op),
        .granularity = granularity,
        .file_bytes_max = UINT64_C(1) << 30,
    };
    for (uint32_t i = 0; i < count; i++) {
        const struct firn_data_file *file = deleted[i].file;
        rows[i] = (struct firn_row_deletes){ file->path, file->spec_id, file->partition, NULL };
        CHECK_OK(op, firn_positions_new(op, &rows[i].positions));
        for (int j = 0; j < ROWS_MAX && deleted[i].rows[j] >= 0; j++)
            CHECK_OK(op, firn_positions_add(op, rows[i].positions, deleted[i].rows[j]));
    }
    CHECK_OK(op, firn_row_deletes_write(op, &config, rows, count, &files));
    return files;
}

static void delete_positions(struct firn_op *op, struct world *world, const struct deletion *deleted, uint32_t count,
                             enum firn_delete_granularity granularity)
{
    struct firn_delete_files files = write_positions(op, world, deleted, count, granularity);
    commit_deletes(op, world, "main", files.files, files.count);
}

/* An equality delete file of ids in a partition. */
static struct firn_data_file equality_file(struct firn_op *op, struct world *world, int32_t part, const char *ids,
                                           int count)
{
    static const char keys_json[] = "{\"type\": \"struct\", \"schema-id\": 0, \"fields\": ["
                                    "{\"id\": 1, \"name\": \"id\", \"required\": true, \"type\": \"long\"}]}";
    struct firn_output_schema schema = fixture_schema(op, keys_json);
    struct firn_value *value = FIRN_NEW(op->arena, struct firn_value);
    struct firn_text path = firn_text_format(op->arena, "%.*s/data/part=%d/eq-%d.parquet",
                                             FIRN_FMT(world->table.metadata->location), part, world->file_count++);
    int64_t bytes = fixture_write(op, world->store, path.data, schema.footer, &ids, 1, firn_chunk_options_default());
    struct firn_data_file file = fixture_file(path.data, bytes, count);
    *value = (struct firn_value){ .type = FIRN_TYPE_INT, .integer = part };
    file.content = FIRN_CONTENT_EQUALITY_DELETES;
    file.partition = (struct firn_partition){ value, 1 };
    file.equality_ids = FIRN_NEW(op->arena, int32_t);
    file.equality_ids[0] = 1;
    file.equality_id_count = 1;
    return file;
}

static void delete_ids(struct firn_op *op, struct world *world, int32_t part, const char *ids, int count)
{
    struct firn_data_file file = equality_file(op, world, part, ids, count);
    commit_deletes(op, world, "main", &file, 1);
}

static struct firn_bound_map bound(struct firn_op *op, int64_t id)
{
    uint8_t *value = firn_arena_alloc(op->arena, 8);
    struct firn_bound_map map = { FIRN_NEW(op->arena, int32_t), FIRN_NEW(op->arena, struct firn_bytes), 1, true };
    memcpy(value, &id, 8);
    map.ids[0] = 1;
    map.values[0] = (struct firn_bytes){ value, 8 };
    return map;
}

/* Appends a file of ten rows whose bounds tell its ids. */
static struct firn_data_file append_bounded(struct firn_op *op, struct world *world)
{
    int64_t first = world->next_id;
    struct firn_data_file file = write_file(op, world, 1, 10);
    file.lower_bounds = bound(op, first);
    file.upper_bounds = bound(op, world->next_id - 1);
    CHECK_OK(op, append_through(op, &world->table, &file, 1));
    return file;
}

static uint32_t count_live_deletes(struct firn_op *op, struct world *world)
{
    return scan_current(op, world, world->store).delete_count;
}

/* Every kind at once: all rows stay as they are read, and no delete file is left. */
static void check_all_kinds(struct firn_op *op, const char *version)
{
    struct world world;
    struct job job = { .verify_full = true };
    struct firn_data_file files[6];
    begin(op, &world, version);
    CHECK_OK(op, firn_pool_open(op, 3, &world.pool));
    for (int i = 0; i < 6; i++) {
        files[i] = write_file(op, &world, 1, 10);
        CHECK_OK(op, append_through(op, &world.table, &files[i], 1));
    }
    append(op, &world, 2, 1);
    delete_ids(op, &world, 1, "3 14 61 99", 4); /* 61 lies in the other partition */
    delete_positions(op, &world, (struct deletion[]){ { &files[0], { 2, 3, -1 } }, { &files[1], { 0, -1 } } }, 2,
                     FIRN_DELETES_BY_PARTITION);
    delete_positions(op, &world, &(struct deletion){ &files[5], { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, -1 } }, 1,
                     FIRN_DELETES_BY_FILE);
    const char *before = live_ids(op, &world);
    assert_true(strncmp(before, "1 2 5 6 7 8 9 10 12 13 15 ", 26) == 0);
    uint32_t delete_count = count_live_deletes(op, &world);
    CHECK_OK(op, plan_and_apply(op, &world, &job));
    assert_string_equal(live_ids(op, &world), before);
    assert_int_equal(job.report.rewritten_data_files_count, 6);
    assert_int_equal(job.report.rows, 60 - 14);
    assert_int_equal(job.report.deleted_rows_count, 14);
    assert_int_equal(job.report.removed_delete_files_count, delete_count);
    assert_int_equal(job.report.kept_delete_files_count, 0);
    assert_int_equal(count_live_deletes(op, &world), 0);
    assert_string_equal(summary(&world, "removed-equality-deletes"), "4");
    assert_string_equal(summary(&world, "removed-position-deletes"), "13");
    assert_string_equal(summary(&world, "total-delete-files"), "0");
    assert_string_equal(summary(&world, "total-position-deletes"), "0");
    assert_string_equal(summary(&world, "total-equality-deletes"), "0");
    assert_string_equal(summary(&world, "deleted-records"), "60");
    assert_string_equal(summary(&world, "added-records"), "46");
    assert_string_equal(summary(&world, "total-records"), "56");
    check_settled(op, &world, &job);
    end(&world);
}

static void deletes_of_every_kind_are_digested(void **state)
{
    check_all_kinds(test_op(state), "2");
    check_all_kinds(test_op(state), "3");
}

/* R5: only A reaches the ratio. */
static void vectors_of_other_files_stay(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct job job = { 0 };
    begin(op, &world, "3");
    struct firn_data_file a = append_bounded(op, &world), b = append_bounded(op, &world);
    delete_positions(op, &world, (struct deletion[]){ { &a, { 1, 2, 3, -1 } }, { &b, { 4, 5, -1 } } }, 2,
                     FIRN_DELETES_BY_FILE);
    assert_int_equal(count_live_deletes(op, &world), 2);
    const char *before = live_ids(op, &world);
    option(&job, "min-file-size-bytes", "0");
    CHECK_OK(op, plan_and_apply(op, &world, &job));
    assert_int_equal(job.report.rewritten_data_files_count, 1);
    assert_int_equal(job.report.removed_delete_files_count, 1);
    assert_string_equal(summary(&world, "removed-dvs"), "1");
    assert_string_equal(live_ids(op, &world), before);
    struct firn_scan scan = scan_current(op, &world, world.store);
    assert_int_equal(scan.delete_count, 1);
    assert_true(firn_text_same(scan.deletes[0]->file.referenced_data_file, b.path));
    check_settled(op, &world, &job);
    end(&world);
}

/* R12: A goes without a trace, P stays for B. */
static void a_group_may_come_out_empty(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct job job = { .where = FIRN_TEXT("id <= 10") };
    begin(op, &world, "2");
    struct firn_data_file a = append_bounded(op, &world), b = append_bounded(op, &world);
    delete_positions(op, &world, (struct deletion[]){ { &a, { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, -1 } }, { &b, { 3, -1 } } },
                     2, FIRN_DELETES_BY_PARTITION);
    const char *before = live_ids(op, &world);
    option(&job, "delete-file-threshold", "1");
    CHECK_OK(op, plan_and_apply(op, &world, &job));
    assert_int_equal(job.report.rewritten_data_files_count, 1);
    assert_int_equal(job.report.added_data_files_count, 0);
    assert_int_equal(job.report.deleted_rows_count, 10);
    assert_int_equal(job.report.removed_delete_files_count, 0);
    assert_int_equal(job.report.kept_delete_files_count, 1);
    assert_int_equal(job.report.kept_for_data_files_count, 1);
    assert_string_equal(live_ids(op, &world), before);
    assert_string_equal(before, "11 12 13 15 16 17 18 19 20 ");
    end(&world);
}

/* R13: A is rewritten, then B; what covers both leaves with B. */
static void check_two_runs(struct firn_op *op, bool is_equality)
{
    struct world world;
    struct job first = { .where = FIRN_TEXT("id <= 10") }, second = { .where = FIRN_TEXT("id > 10") };
    begin(op, &world, "2");
    struct firn_data_file a = append_bounded(op, &world), b = append_bounded(op, &world);
    if (is_equality)
        delete_ids(op, &world, 1, "2 15", 2);
    else
        delete_positions(op, &world, (struct deletion[]){ { &a, { 1, -1 } }, { &b, { 4, -1 } } }, 2,
                         FIRN_DELETES_BY_PARTITION);
    const char *before = live_ids(op, &world);
    option(&first, "delete-file-threshold", "1");
    option(&second, "delete-file-threshold", "1");
    CHECK_OK(op, plan_and_apply(op, &world, &first));
    assert_int_equal(first.report.removed_delete_files_count, 0);
    assert_int_equal(first.report.kept_delete_files_count, 1);
    assert_int_equal(first.report.kept_for_data_files_count, 1);
    assert_string_equal(live_ids(op, &world), before);
    assert_int_equal(count_live_deletes(op, &world), 1);
    check_settled(op, &world, &first);

    CHECK_OK(op, plan_and_apply(op, &world, &second));
    assert_int_equal(second.report.rewritten_data_files_count, 1);
    assert_int_equal(second.report.removed_delete_files_count, 1);
    assert_int_equal(second.report.kept_delete_files_count, 0);
    assert_string_equal(live_ids(op, &world), before);
    assert_string_equal(summary(&world, "total-delete-files"), "0");
    assert_string_equal(summary(&world, "total-equality-deletes"), "0");
    assert_string_equal(summary(&world, "total-position-deletes"), "0");
    end(&world);
}

static void delete_files_leave_with_their_last_data_file(void **state)
{
    check_two_runs(test_op(state), false);
    check_two_runs(test_op(state), true);
}

/* A position delete file without bounds applies by the rules to every file of the partition, but its rows name one. */
static void rows_tell_what_a_position_delete_file_means(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct job job = { .where = FIRN_TEXT("id <= 10") };
    begin(op, &world, "2");
    struct firn_data_file a = append_bounded(op, &world);
    append_bounded(op, &world);
    struct firn_delete_files files =
        write_positions(op, &world, &(struct deletion){ &a, { 1, -1 } }, 1, FIRN_DELETES_BY_PARTITION);
    files.files[0].lower_bounds = files.files[0].upper_bounds = (struct firn_bound_map){ 0 };
    commit_deletes(op, &world, "main", files.files, 1);
    const char *before = live_ids(op, &world);
    option(&job, "delete-file-threshold", "1");
    CHECK_OK(op, plan_and_apply(op, &world, &job));
    assert_int_equal(job.report.removed_delete_files_count, 1);
    assert_string_equal(live_ids(op, &world), before);
    assert_int_equal(count_live_deletes(op, &world), 0);
    end(&world);
}

static int64_t total_deletes(const struct firn_metadata *metadata, uint32_t snapshot)
{
    return atoll(json_string_value(json_object_get(metadata->snapshots[snapshot].summary, "total-delete-files")));
}

/* Three groups of one partition in three commits: the equality delete leaves with the third. */
static void batches_drop_delete_files_when_they_are_spent(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct job job = { 0 };
    begin(op, &world, "2");
    append(op, &world, 1, 6);
    delete_ids(op, &world, 1, "5 15 25 35 45 55", 6);
    const char *before = live_ids(op, &world);
    option(&job, "partial-progress.enabled", "true");
    option(&job, "partial-progress.max-commits", "3");
    option(&job, "max-file-group-input-files", "2");
    option(&job, "min-input-files", "2");
    CHECK_OK(op, plan_and_apply(op, &world, &job));
    assert_int_equal(job.report.commits, 3);
    assert_int_equal(job.report.deleted_rows_count, 6);
    assert_int_equal(job.report.removed_delete_files_count, 1);
    assert_int_equal(job.report.kept_delete_files_count, 0);
    assert_string_equal(live_ids(op, &world), before);
    const struct firn_metadata *metadata = world.table.metadata;
    assert_int_equal(total_deletes(metadata, metadata->snapshot_count - 2), 1);
    assert_int_equal(total_deletes(metadata, metadata->snapshot_count - 1), 0);
    end(&world);
}

/* Deletes that come while the run is at it: they are younger than what was planned on, and stay (R1). */
static void late_equality_deletes_still_apply(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct job job = { 0 };
    begin(op, &world, "2");
    append(op, &world, 1, 5);
    delete_ids(op, &world, 1, "7", 1);
    CHECK_OK(op, plan(op, &world, &job));
    struct world peer = world;
    peer.table = second_handle(op, &world);
    delete_ids(op, &peer, 1, "8", 1);
    world.next_id = peer.next_id;
    world.file_count = peer.file_count;
    const char *before = live_ids(op, &world);
    CHECK_OK(op, apply(op, &world, &job));
    assert_int_equal(job.report.removed_delete_files_count, 1);
    assert_string_equal(live_ids(op, &world), before);
    assert_true(strncmp(before, "1 2 3 4 5 6 9 ", 14) == 0);
    assert_int_equal(count_live_deletes(op, &world), 1);
    end(&world);
}

static void add_update(json_t *updates, json_t *update)
{
    json_array_append_new(updates, update);
}

/* Adds spec 1, which is unpartitioned. The table's default stays. */
static void add_unpartitioned_spec(struct firn_op *op, struct world *world)
{
    json_t *updates = firn_json_own(op->arena, json_array());
    add_update(updates, json_pack("{s:s, s:{s:i, s:[]}}", "action", "add-spec", "spec", "spec-id", 1, "fields"));
    CHECK_OK(op, firn_catalog_commit(op, &world->table, firn_json_own(op->arena, json_array()), updates));
}

static void make_branch(struct firn_op *op, struct world *world, const char *name)
{
    json_t *updates = firn_json_own(op->arena, json_array());
    add_update(updates, json_pack("{s:s, s:s, s:s, s:I}", "action", "set-snapshot-ref", "ref-name", name, "type",
                                  "branch", "snapshot-id", (json_int_t)world->table.metadata->current_snapshot_id));
    CHECK_OK(op, firn_catalog_commit(op, &world->table, firn_json_own(op->arena, json_array()), updates));
}

/* Dangling deletes go from the branch that is rewritten; equality deletes of an unpartitioned spec apply to files of
 * any partition and stay as long as one is older. */
static void dangling_deletes_leave_the_branch(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct job job = { .branch = FIRN_TEXT("dev") };
    begin(op, &world, "2");
    add_unpartitioned_spec(op, &world);
    append(op, &world, 1, 5);
    append(op, &world, 2, 1);
    struct firn_data_file deletes[] = {
        equality_file(op, &world, 9, "1", 1), /* no such partition */
        equality_file(op, &world, 0, "51 2", 2),
    };
    deletes[1].spec_id = 1;
    deletes[1].partition = (struct firn_partition){ 0 };
    commit_deletes(op, &world, "main", deletes, 2);
    make_branch(op, &world, "dev");
    const char *before = live_ids(op, &world);
    option(&job, "remove-dangling-deletes", "true");
    CHECK_OK(op, plan_and_apply(op, &world, &job));
    assert_int_equal(job.report.rewritten_data_files_count, 5);
    assert_int_equal(job.report.removed_delete_files_count, 1);
    assert_int_equal(job.report.kept_delete_files_count, 1);
    assert_string_equal(live_ids(op, &world), before);
    assert_int_equal(count_live_deletes(op, &world), 2); /* main is as it was */

    const struct firn_metadata *metadata = world.table.metadata;
    const struct firn_ref *dev = firn_metadata_ref(metadata, FIRN_TEXT("dev"));
    const struct firn_snapshot *head = firn_metadata_snapshot(metadata, dev->snapshot_id);
    assert_int_equal(head->id, job.report.snapshot_id);
    assert_string_equal(json_string_value(json_object_get(head->summary, "operation")), "replace");
    assert_string_equal(json_string_value(json_object_get(head->summary, "removed-equality-delete-files")), "1");
    assert_string_equal(json_string_value(json_object_get(head->summary, "total-delete-files")), "1");
    end(&world);
}

/* The reference removes nothing when no data file is to be rewritten, whatever it was asked. */
static void dangling_deletes_leave_without_a_rewrite(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct job job = { 0 };
    begin(op, &world, "2");
    append(op, &world, 1, 1);
    delete_ids(op, &world, 9, "1", 1);
    option(&job, "remove-dangling-deletes", "true");
    CHECK_OK(op, plan_and_apply(op, &world, &job));
    assert_int_equal(job.report.rewritten_data_files_count, 0);
    assert_int_equal(job.report.removed_delete_files_count, 1);
    assert_int_equal(count_live_deletes(op, &world), 0);
    check_settled(op, &world, &job);
    end(&world);
}

/* Five data files, an equality delete and a position delete that apply to them, and one that applies to nothing. */
static void begin_for_faults(struct firn_op *op, struct world *world)
{
    struct firn_data_file files[5], deletes[3];
    begin(op, world, "2");
    for (int i = 0; i < 5; i++)
        files[i] = write_file(op, world, 1, 10);
    CHECK_OK(op, append_through(op, &world->table, files, 5));
    deletes[0] = equality_file(op, world, 1, "12 33", 2);
    deletes[1] = equality_file(op, world, 9, "1", 1);
    deletes[2] =
        write_positions(op, world, &(struct deletion){ &files[0], { 4, -1 } }, 1, FIRN_DELETES_BY_FILE).files[0];
    commit_deletes(op, world, "main", deletes, 3);
}

static void run_with_fault(struct firn_op *op, struct world *world, struct fault fault, struct fault_report *report)
{
    struct firn_store *faulty;
    struct world broken = { .next_id = 1 };
    struct job job = { 0 };
    const char *before = live_ids(op, world);
    option(&job, "remove-dangling-deletes", "true");
    CHECK_OK(op, fault_store_open(op, world->store, fault, report, &faulty));
    open_catalog(op, &broken, faulty);
    firn_status status = firn_catalog_load(op, broken.catalog, FIRN_TEXT("db.t"), &broken.table);
    if (status == FIRN_OK)
        status = plan_and_apply(op, &broken, &job);
    CHECK(status == FIRN_OK || atomic_load(&report->fired), "call %u: %s", fault.at_call, op->error.text);
    firn_catalog_close(broken.catalog);
    firn_store_close(faulty);
    const char *after = live_ids(op, world);
    CHECK(strcmp(after, before) == 0, "call %u, %s: rows are %s", fault.at_call, fault_name(fault.kind), after);
    struct firn_scan scan = scan_current(op, world, world->store);
    bool is_old = scan.file_count == 5 && scan.delete_count == 3;
    bool is_new = scan.file_count == 1 && scan.delete_count <= 1;
    CHECK(is_old || is_new, "call %u, %s: %u files, %u deletes", fault.at_call, fault_name(fault.kind), scan.file_count,
          scan.delete_count);
    CHECK(status != FIRN_OK || (is_new && scan.delete_count == 0), "call %u, %s: not all is done", fault.at_call,
          fault_name(fault.kind));
    size_t object_count = count_data_objects(op, world);
    CHECK(status == FIRN_UNKNOWN || object_count == (is_new ? 9 : 8), "call %u, %s: %zu data objects", fault.at_call,
          fault_name(fault.kind), object_count);
}

/* Each storage call fails once, in turn, until a run meets no fault: rows are always the same, and so are the files,
 * before or after. */
static void faults_lose_no_delete(void **state)
{
    struct firn_op *op = test_op(state);
    static const enum fault_kind kinds[] = { FAULT_ERROR, FAULT_ANSWER_LOST };
    for (size_t i = 0; i < FIRN_COUNT_OF(kinds); i++) {
        bool fired = true;
        for (uint32_t nth = 0; fired; nth++) {
            struct world world;
            struct fault_report report = { 0 };
            struct firn_arena arena;
            struct firn_op turn = *op;
            firn_arena_init(&arena);
            turn.arena = &arena;
            begin_for_faults(&turn, &world);
            run_with_fault(&turn, &world, (struct fault){ nth, kinds[i] }, &report);
            fired = atomic_load(&report.fired);
            end(&world);
            firn_arena_done(&arena);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(deletes_of_every_kind_are_digested),
        TEST(vectors_of_other_files_stay),
        TEST(a_group_may_come_out_empty),
        TEST(delete_files_leave_with_their_last_data_file),
        TEST(rows_tell_what_a_position_delete_file_means),
        TEST(batches_drop_delete_files_when_they_are_spent),
        TEST(late_equality_deletes_still_apply),
        TEST(dangling_deletes_leave_the_branch),
        TEST(dangling_deletes_leave_without_a_rewrite),
        TEST(faults_lose_no_delete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
