/* rewrite_data_files on small real tables: what it leaves, what others may do meanwhile, what a failure leaves. */
#include "rewrite/fixture.h"

#include "catalog/catalog.h"
#include "catalog/snapshot_producer.h"
#include "firn/rewrite_data_files.h"
#include "maintain/rewrite_data_files.h"
#include "support/fault_store.h"

enum { OPTIONS_MAX = 6 };

#define WAREHOUSE "mem://w"

static const char schema_json[] = "{\"type\": \"struct\", \"schema-id\": 0, \"fields\": ["
                                  "{\"id\": 1, \"name\": \"id\", \"required\": true, \"type\": \"long\"},"
                                  "{\"id\": 2, \"name\": \"part\", \"required\": true, \"type\": \"int\"}]}";

struct world {
    struct firn_store *store;
    struct firn_property properties[2];
    struct firn_catalog_config config;
    struct firn_catalog *catalog;
    struct firn_table table;
    struct firn_pool *pool; /* NULL: everything in place */
    int64_t next_id;        /* of the next row */
    bool is_noisy;          /* ids do not compress */
    int file_count;
};

static void open_catalog(struct firn_op *op, struct world *world, struct firn_store *store)
{
    world->store = store;
    world->properties[0] = (struct firn_property){ FIRN_TEXT("type"), FIRN_TEXT("hadoop") };
    world->properties[1] = (struct firn_property){ FIRN_TEXT("warehouse"), FIRN_TEXT(WAREHOUSE) };
    world->config = (struct firn_catalog_config){ FIRN_TEXT("c"), world->properties, 2 };
    CHECK_OK(op, firn_catalog_open(op, store, &world->config, &world->catalog));
}

/* A table partitioned by `part`, of the given format version. */
static void begin(struct firn_op *op, struct world *world, const char *version)
{
    static const char spec_json[] = "{\"spec-id\": 0, \"fields\": [{\"source-id\": 2, \"field-id\": 1000,"
                                    " \"name\": \"part\", \"transform\": \"identity\"}]}";
    struct firn_store *store;
    json_t *schema, *spec, *properties = firn_json_own(op->arena, json_object());
    *world = (struct world){ .next_id = 1 };
    firn_json_set_text(properties, "format-version", firn_text_of(version));
    CHECK_OK(op, firn_json_parse(op, firn_text_of(schema_json), "schema", &schema));
    CHECK_OK(op, firn_json_parse(op, firn_text_of(spec_json), "spec", &spec));
    CHECK_OK(op, firn_store_open_memory(op, &store));
    open_catalog(op, world, store);
    CHECK_OK(op, firn_catalog_create_table(op, world->catalog, FIRN_TEXT("db.t"), schema, spec, NULL, properties,
                                           &world->table));
}

static void end(struct world *world)
{
    firn_pool_close(world->pool);
    firn_catalog_close(world->catalog);
    firn_store_close(world->store);
}

/* `count` slots of a column: `first`, `first` + `step`, ... */
static const char *slots(struct firn_op *op, int64_t first, uint64_t step, int count)
{
    struct firn_buffer text = { 0 };
    for (int i = 0; i < count; i++) {
        int64_t value = (int64_t)((uint64_t)first + (uint64_t)i * step);
        struct firn_text slot = firn_text_format(op->arena, "%" PRId64 " ", value);
        CHECK_OK(op, firn_buffer_append(op, &text, slot.data, slot.len));
    }
    struct firn_text copy = firn_text_copy(op->arena, firn_text_of_bytes(firn_buffer_bytes(&text)));
    firn_buffer_done(&text);
    return copy.data;
}

/* Writes a data file of `rows` rows and gives its entry. Ids count up, or jump when the world is noisy. */
static struct firn_data_file write_file(struct firn_op *op, struct world *world, int32_t part, int rows)
{
    static const uint64_t noise = UINT64_C(0x9e3779b97f4a7c15);
    struct firn_output_schema schema = fixture_schema(op, schema_json);
    struct firn_value *value = FIRN_NEW(op->arena, struct firn_value);
    const char *const columns[] = {
        slots(op, world->next_id, world->is_noisy ? noise : 1, rows),
        slots(op, part, 0, rows),
    };
    world->next_id += rows;
    struct firn_text path = firn_text_format(op->arena, "%.*s/data/part=%d/in-%d.parquet",
                                             FIRN_FMT(world->table.metadata->location), part, world->file_count++);
    int64_t bytes = fixture_write(op, world->store, path.data, schema.footer, columns, 1, firn_chunk_options_default());
    struct firn_data_file file = fixture_file(path.data, bytes, rows);
    *value = (struct firn_value){ .type = FIRN_TYPE_INT, .integer = part };
    file.partition = (struct firn_partition){ value, 1 };
    return file;
}

static firn_status append_through(struct firn_op *op, struct firn_table *table, const struct firn_data_file *files,
                                  uint32_t count)
{
    struct firn_snapshot_result result;
    struct firn_snapshot_change change = {
        .operation = FIRN_TEXT("append"),
        .branch = FIRN_TEXT("main"),
        .added = files,
        .added_count = count,
        .added_sequence_number = FIRN_ABSENT,
        .base_snapshot_id = FIRN_NO_SNAPSHOT,
        .fast_append = true,
    };
    return firn_snapshot_commit(op, NULL, table, &change, &result);
}

/* Appends `count` files of ten rows, a commit each. */
static void append(struct firn_op *op, struct world *world, int32_t part, int count)
{
    for (int i = 0; i < count; i++) {
        struct firn_data_file file = write_file(op, world, part, 10);
        CHECK_OK(op, append_through(op, &world->table, &file, 1));
    }
}

/* Another writer's view of the same table. */
static struct firn_table second_handle(struct firn_op *op, struct world *world)
{
    struct firn_table table;
    CHECK_OK(op, firn_catalog_load(op, world->catalog, FIRN_TEXT("db.t"), &table));
    return table;
}

/* Removes a file as a peer's overwrite does. */
static void remove_through_peer(struct firn_op *op, struct world *world, const struct firn_data_file *file)
{
    struct firn_table table = second_handle(op, world);
    struct firn_snapshot_result result;
    struct firn_snapshot_change change = {
        .operation = FIRN_TEXT("overwrite"),
        .branch = FIRN_TEXT("main"),
        .added_sequence_number = FIRN_ABSENT,
        .removed = file,
        .removed_count = 1,
        .base_snapshot_id = table.metadata->current_snapshot_id,
    };
    CHECK_OK(op, firn_snapshot_commit(op, NULL, &table, &change, &result));
}

static struct firn_scan scan_current(struct firn_op *op, struct world *world, struct firn_store *store)
{
    struct firn_scan scan;
    CHECK_OK(op, firn_table_refresh(op, &world->table));
    CHECK_OK(op, firn_scan_plan(op, NULL, store, world->table.metadata, firn_metadata_current(world->table.metadata),
                                (struct firn_scan_options){ .with_metrics = true }, &scan));
    return scan;
}

static int compare_numbers(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* All live ids, sorted, as one text. */
static const char *live_ids(struct firn_op *op, struct world *world)
{
    struct firn_scan scan = scan_current(op, world, world->store);
    struct firn_rewrite_result files = {
        .files = FIRN_NEW_ARRAY(op->arena, struct firn_data_file, scan.file_count),
        .file_count = scan.file_count,
    };
    for (uint32_t i = 0; i < scan.file_count; i++)
        files.files[i] = scan.files[i].entry->file;
    const char *text = fixture_dump(op, world->store, &files, "id");
    FIRN_ARRAY(int64_t) ids = { 0 };
    char *end_of_number;
    for (const char *at = text; *at; at = end_of_number + strspn(end_of_number, " "))
        FIRN_PUSH(op->arena, &ids, strtoll(at, &end_of_number, 10));
    if (ids.count > 1)
        qsort(ids.items, ids.count, sizeof *ids.items, compare_numbers);
    struct firn_buffer out = { 0 };
    for (size_t i = 0; i < ids.count; i++) {
        struct firn_text number = firn_text_format(op->arena, "%" PRId64 " ", ids.items[i]);
        CHECK_OK(op, firn_buffer_append(op, &out, number.data, number.len));
    }
    struct firn_text copy = firn_text_copy(op->arena, firn_text_of_bytes(firn_buffer_bytes(&out)));
    firn_buffer_done(&out);
    return copy.data;
}

static size_t count_data_objects(struct firn_op *op, struct world *world)
{
    size_t count;
    CHECK_OK(op,
             store_count(op, world->store,
                         firn_text_format(op->arena, "%.*s/data", FIRN_FMT(world->table.metadata->location)), &count));
    return count;
}

struct job {
    struct firn_property options[OPTIONS_MAX];
    size_t option_count;
    bool verify_full;
    struct firn_text where, branch;
    struct firn_rewrite_plan *plan;
    struct firn_rewrite_data_files_report report;
};

static void option(struct job *job, const char *key, const char *value)
{
    job->options[job->option_count++] = (struct firn_property){ firn_text_of(key), firn_text_of(value) };
}

static firn_status plan(struct firn_op *op, struct world *world, struct job *job)
{
    struct firn_rewrite_data_files_args args = {
        .where = job->where,
        .branch = job->branch,
        .options = job->options,
        .option_count = job->option_count,
        .verify_full = job->verify_full,
    };
    return firn_rewrite_data_files_plan(op, world->pool, &world->table, &args, &job->plan);
}

static firn_status apply(struct firn_op *op, struct world *world, struct job *job)
{
    return firn_rewrite_data_files_apply(op, world->pool, &world->table, job->plan, NULL, &job->report);
}

static firn_status plan_and_apply(struct firn_op *op, struct world *world, struct job *job)
{
    FIRN_TRY(plan(op, world, job));
    return apply(op, world, job);
}

static const char *summary(struct world *world, const char *key)
{
    const struct firn_snapshot *current = firn_metadata_current(world->table.metadata);
    const char *value = json_string_value(json_object_get(current->summary, key));
    return value ? value : "";
}

static void check_settled(struct firn_op *op, struct world *world, const struct job *done)
{
    struct job again = *done;
    struct firn_text metadata_before = world->table.metadata_location;
    CHECK_OK(op, plan_and_apply(op, world, &again));
    assert_int_equal(firn_rewrite_plan_group_count(again.plan), 0);
    assert_int_equal(again.report.commits, 0);
    assert_true(firn_text_same(metadata_before, world->table.metadata_location));
}

static void check_compaction(struct firn_op *op, const char *version)
{
    struct world world;
    struct job job = { .verify_full = true };
    begin(op, &world, version);
    CHECK_OK(op, firn_pool_open(op, 3, &world.pool));
    append(op, &world, 1, 6);
    append(op, &world, 2, 5);
    append(op, &world, 3, 2);
    const char *before = live_ids(op, &world);
    int64_t base_number = firn_metadata_current(world.table.metadata)->sequence_number;
    CHECK_OK(op, plan_and_apply(op, &world, &job));
    assert_int_equal(job.report.rewritten_data_files_count, 11);
    assert_int_equal(job.report.added_data_files_count, 2);
    assert_int_equal(job.report.rows, 110);
    assert_int_equal(job.report.commits, 1);
    assert_int_equal(job.report.failed_commits, 0);
    assert_string_equal(live_ids(op, &world), before);

    struct firn_scan scan = scan_current(op, &world, world.store);
    assert_int_equal(scan.file_count, 4);
    for (uint32_t i = 0; i < scan.file_count; i++)
        if (scan.files[i].entry->snapshot_id == job.report.snapshot_id)
            assert_int_equal(scan.files[i].entry->sequence_number, base_number);
    assert_string_equal(summary(&world, "operation"), "replace");
    assert_string_equal(summary(&world, "deleted-data-files"), "11");
    assert_int_equal(strlen(summary(&world, "firn.fingerprint.1")), 32);
    assert_int_equal(strlen(summary(&world, "firn.fingerprint.2")), 32);
    check_settled(op, &world, &job);
    end(&world);
}

static void small_files_become_few(void **state)
{
    check_compaction(test_op(state), "2");
}

static void format_version_1_is_compacted(void **state)
{
    check_compaction(test_op(state), "1");
}

static void format_version_3_is_compacted(void **state)
{
    check_compaction(test_op(state), "3");
}

/* R14. */
static void an_empty_table_stays_as_it_is(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct job job = { 0 };
    begin(op, &world, "2");
    struct firn_text metadata_before = world.table.metadata_location;
    CHECK_OK(op, plan_and_apply(op, &world, &job));
    assert_int_equal(job.report.rewritten_data_files_count, 0);
    assert_int_equal(job.report.snapshot_id, FIRN_NO_SNAPSHOT);
    assert_true(firn_text_same(metadata_before, world.table.metadata_location));
    assert_int_equal(world.table.metadata->snapshot_count, 0);
    end(&world);
}

/* R3 (a). */
static void a_concurrent_append_is_kept(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct job job = { 0 };
    begin(op, &world, "2");
    append(op, &world, 1, 6);
    CHECK_OK(op, plan(op, &world, &job));
    struct firn_table peer = second_handle(op, &world);
    struct firn_data_file late = write_file(op, &world, 1, 10);
    CHECK_OK(op, append_through(op, &peer, &late, 1));
    CHECK_OK(op, apply(op, &world, &job));
    assert_int_equal(job.report.rewritten_data_files_count, 6);
    struct firn_scan scan = scan_current(op, &world, world.store);
    assert_int_equal(scan.file_count, 2);
    const char *ids = live_ids(op, &world);
    CHECK(strncmp(ids, "1 2 3 ", 6) == 0 && strstr(ids, " 70 "), "%s", ids);
    check_settled(op, &world, &job); /* the late file alone is too few */
    end(&world);
}

/* R3 (b), R15. */
static void a_removed_input_is_a_conflict(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct job job = { 0 };
    begin(op, &world, "2");
    append(op, &world, 1, 6);
    CHECK_OK(op, plan(op, &world, &job));
    remove_through_peer(op, &world, &job.plan->files[2].scan->entry->file);
    const char *before = live_ids(op, &world);
    CHECK_STATUS(op, FIRN_CONFLICT, apply(op, &world, &job));
    assert_int_equal(job.report.commits, 0);
    assert_string_equal(live_ids(op, &world), before);
    assert_int_equal(count_data_objects(op, &world), 6);
    end(&world);
}

static void partial_progress_commits_in_batches(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct job job = { 0 };
    begin(op, &world, "2");
    CHECK_OK(op, firn_pool_open(op, 4, &world.pool));
    for (int32_t part = 0; part < 7; part++)
        append(op, &world, part, 5);
    const char *before = live_ids(op, &world);
    option(&job, "partial-progress.enabled", "true");
    option(&job, "partial-progress.max-commits", "5");
    option(&job, "partial-progress.max-failed-commits", "0");
    CHECK_OK(op, plan_and_apply(op, &world, &job)); /* R11: 7 groups in 4 commits, none of them failed */
    assert_int_equal(job.report.commits, 4);
    assert_int_equal(job.report.failed_commits, 0);
    assert_int_equal(job.report.rewritten_data_files_count, 35);
    assert_string_equal(live_ids(op, &world), before);
    check_settled(op, &world, &job);
    end(&world);
}

static void run_against_a_conflict(struct firn_op *op, const char *failed_max, firn_status expected)
{
    struct world world;
    struct job job = { 0 };
    begin(op, &world, "2");
    CHECK_OK(op, firn_pool_open(op, 4, &world.pool));
    for (int32_t part = 0; part < 3; part++)
        append(op, &world, part, 5);
    option(&job, "partial-progress.enabled", "true");
    option(&job, "partial-progress.max-commits", "3");
    option(&job, "partial-progress.max-failed-commits", failed_max);
    CHECK_OK(op, plan(op, &world, &job));
    remove_through_peer(op, &world, &job.plan->files[job.plan->groups[1]->files[0]].scan->entry->file);
    const char *before = live_ids(op, &world);
    CHECK_STATUS(op, expected, apply(op, &world, &job));
    assert_int_equal(job.report.commits, 2);
    assert_int_equal(job.report.failed_commits, 1);
    assert_int_equal(job.report.failed_data_files_count, 0);
    assert_int_equal(job.report.rewritten_data_files_count, 10);
    assert_true(job.report.warning_count > 0);
    assert_string_equal(live_ids(op, &world), before);
    assert_int_equal(count_data_objects(op, &world), 15 + 2);
    end(&world);
}

static void partial_progress_survives_a_conflict(void **state)
{
    run_against_a_conflict(test_op(state), "1", FIRN_PARTIAL);
    run_against_a_conflict(test_op(state), "0", FIRN_CONFLICT);
}

static void spoil(struct firn_op *op, struct world *world, struct firn_text path)
{
    struct firn_buffer bytes = { 0 };
    CHECK_OK(op, firn_store_read(op, world->store, path, UINT64_MAX, &bytes));
    memset(bytes.data + 4, 0xff, bytes.len - 12);
    CHECK_OK(op, firn_store_put(op, world->store, path, false, firn_buffer_bytes(&bytes)));
    firn_buffer_done(&bytes);
}

static void a_broken_input_fails_its_group(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct job at_once = { 0 }, in_batches = { 0 };
    begin(op, &world, "2");
    append(op, &world, 1, 5);
    append(op, &world, 2, 5);
    CHECK_OK(op, plan(op, &world, &at_once));
    struct firn_text broken = at_once.plan->files[at_once.plan->groups[1]->files[3]].scan->entry->file.path;
    spoil(op, &world, broken);
    CHECK_STATUS(op, FIRN_CORRUPT, apply(op, &world, &at_once));
    CHECK(strstr(op->error.text, firn_text_copy(op->arena, broken).data), "%s", op->error.text);
    assert_int_equal(count_data_objects(op, &world), 10);
    assert_int_equal(scan_current(op, &world, world.store).file_count, 10);

    option(&in_batches, "partial-progress.enabled", "true");
    CHECK_STATUS(op, FIRN_PARTIAL, plan_and_apply(op, &world, &in_batches));
    assert_int_equal(in_batches.report.failed_data_files_count, 5);
    assert_int_equal(in_batches.report.rewritten_data_files_count, 5);
    assert_int_equal(in_batches.report.failed_commits, 0);
    assert_int_equal(scan_current(op, &world, world.store).file_count, 6);
    end(&world);
}

static void all_groups_failing_is_no_partial_success(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct job job = { 0 };
    begin(op, &world, "2");
    append(op, &world, 1, 5);
    option(&job, "partial-progress.enabled", "true");
    CHECK_OK(op, plan(op, &world, &job));
    spoil(op, &world, job.plan->files[0].scan->entry->file.path);
    CHECK_STATUS(op, FIRN_CORRUPT, apply(op, &world, &job));
    end(&world);
}

static void a_table_without_catalog_is_read_only(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct job job = { 0 };
    begin(op, &world, "2");
    append(op, &world, 1, 5);
    CHECK_OK(op, plan(op, &world, &job));
    struct firn_table read_only = world.table;
    read_only.catalog = NULL;
    CHECK_STATUS(op, FIRN_USAGE, firn_rewrite_data_files_apply(op, NULL, &read_only, job.plan, NULL, &job.report));
    end(&world);
}

static void unknown_branches_are_not_found(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct firn_rewrite_plan *nothing;
    begin(op, &world, "2");
    append(op, &world, 1, 1);
    CHECK_STATUS(op, FIRN_NOT_FOUND,
                 firn_rewrite_data_files_plan(op, NULL, &world.table,
                                              &(struct firn_rewrite_data_files_args){ .branch = FIRN_TEXT("dev") },
                                              &nothing));
    end(&world);
}

static void where_selects_partitions(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct job some = { .where = FIRN_TEXT("part = 2") }, all = { 0 }, wrong = { .where = FIRN_TEXT("nosuch = 2") };
    begin(op, &world, "2");
    append(op, &world, 1, 5);
    append(op, &world, 2, 5);
    const char *before = live_ids(op, &world);
    CHECK_STATUS(op, FIRN_USAGE, plan(op, &world, &wrong));
    CHECK_OK(op, plan_and_apply(op, &world, &some));
    json_t *json = firn_rewrite_plan_json(op, some.plan);
    assert_int_equal(json_integer_value(json_object_get(json, "ruled_out_by_where")), 5);
    assert_int_equal(some.report.rewritten_data_files_count, 5);
    assert_int_equal(scan_current(op, &world, world.store).file_count, 6);
    check_settled(op, &world, &some);
    CHECK_OK(op, plan_and_apply(op, &world, &all));
    assert_int_equal(all.report.rewritten_data_files_count, 5);
    assert_string_equal(live_ids(op, &world), before);
    check_settled(op, &world, &all);
    end(&world);
}

static void make_branch(struct firn_op *op, struct world *world, const char *name)
{
    json_t *update = json_object(), *updates = firn_json_own(op->arena, json_array());
    firn_json_set_text(update, "action", FIRN_TEXT("set-snapshot-ref"));
    firn_json_set_text(update, "ref-name", firn_text_of(name));
    firn_json_set_text(update, "type", FIRN_TEXT("branch"));
    firn_json_set_i64(update, "snapshot-id", world->table.metadata->current_snapshot_id);
    json_array_append_new(updates, update);
    CHECK_OK(op, firn_catalog_commit(op, &world->table, firn_json_own(op->arena, json_array()), updates));
}

static void a_branch_is_rewritten_alone(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct job job = { .branch = FIRN_TEXT("dev") };
    begin(op, &world, "2");
    append(op, &world, 1, 5);
    make_branch(op, &world, "dev");
    int64_t main_id = world.table.metadata->current_snapshot_id;
    CHECK_OK(op, plan_and_apply(op, &world, &job));
    assert_int_equal(job.report.rewritten_data_files_count, 5);
    assert_int_equal(world.table.metadata->current_snapshot_id, main_id);
    assert_int_equal(firn_metadata_ref(world.table.metadata, FIRN_TEXT("dev"))->snapshot_id, job.report.snapshot_id);
    check_settled(op, &world, &job);
    end(&world);
}

/* A run settles a real table, whatever compression makes of its files. */
static void real_runs_settle(void **state)
{
    static const char *const option_sets[][OPTIONS_MAX][2] = {
        { { "target-file-size-bytes", "60000" } },
        { { "target-file-size-bytes", "20000" }, { "min-input-files", "2" } },
        { { "target-file-size-bytes", "30000" },
          { "max-file-size-bytes", "31000" },
          { "min-file-size-bytes", "29000" } },
        { { "target-file-size-bytes", "9000" }, { "min-input-files", "3" }, { "max-file-group-size-bytes", "40000" } },
        { { "target-file-size-bytes", "100000" }, { "max-file-group-input-files", "4" }, { "min-input-files", "2" } },
        { { "target-file-size-bytes", "3000" }, { "max-file-size-bytes", "6000" } },
    };
    struct firn_op *op = test_op(state);
    uint32_t run_count = 0;
    for (size_t i = 0; i < 2 * FIRN_COUNT_OF(option_sets); i++) {
        struct world world;
        struct job job = { 0 };
        begin(op, &world, "2");
        world.is_noisy = i % 2 == 1;
        for (size_t j = 0; j < OPTIONS_MAX && option_sets[i / 2][j][0]; j++)
            option(&job, option_sets[i / 2][j][0], option_sets[i / 2][j][1]);
        struct firn_data_file files[24];
        for (int j = 0; j < 24; j++)
            files[j] = write_file(op, &world, j % 2, 50 + j * j % 11 * 150);
        CHECK_OK(op, append_through(op, &world.table, files, 24));
        const char *before = live_ids(op, &world);
        CHECK_OK(op, plan_and_apply(op, &world, &job));
        run_count += job.report.commits > 0;
        assert_string_equal(live_ids(op, &world), before);
        check_settled(op, &world, &job);
        end(&world);
    }
    CHECK(run_count >= 8, "%u of the runs did something", run_count);
}

/* Each storage call fails once, in turn, until a run meets no fault. After every failure the table is the old one or
 * the new one, every live file is there, the rows are the same, and nothing is left over: invariants (1) to (3). */
static void run_with_fault(struct firn_op *op, struct world *world, struct fault fault, struct fault_report *report,
                           const char *ids)
{
    struct firn_store *faulty;
    struct world broken = { .next_id = 1 };
    struct job job = { 0 };
    CHECK_OK(op, fault_store_open(op, world->store, fault, report, &faulty));
    open_catalog(op, &broken, faulty);
    firn_status status = firn_catalog_load(op, broken.catalog, FIRN_TEXT("db.t"), &broken.table);
    if (status == FIRN_OK)
        status = plan_and_apply(op, &broken, &job);
    CHECK(status == FIRN_OK || atomic_load(&report->fired), "call %u: %s", fault.at_call, op->error.text);
    firn_catalog_close(broken.catalog);
    firn_store_close(faulty);
    const char *after = live_ids(op, world);
    CHECK(strcmp(after, ids) == 0, "call %u, %s: rows are %s", fault.at_call, fault_name(fault.kind), after);
    uint32_t file_count = scan_current(op, world, world->store).file_count;
    CHECK(file_count == 5 || file_count == 1, "call %u, %s: %u files", fault.at_call, fault_name(fault.kind),
          file_count);
    CHECK(status != FIRN_OK || file_count == 1, "call %u, %s: not compacted", fault.at_call, fault_name(fault.kind));
    size_t object_count = count_data_objects(op, world);
    CHECK(status == FIRN_UNKNOWN || object_count == (file_count == 1 ? 6 : 5), "call %u, %s: %zu data objects",
          fault.at_call, fault_name(fault.kind), object_count);
}

static void faults_leave_the_old_or_the_new_table(void **state)
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
            begin(&turn, &world, "2");
            append(&turn, &world, 1, 5);
            run_with_fault(&turn, &world, (struct fault){ nth, kinds[i] }, &report, live_ids(&turn, &world));
            fired = atomic_load(&report.fired);
            end(&world);
            firn_arena_done(&arena);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(small_files_become_few),
        TEST(format_version_1_is_compacted),
        TEST(format_version_3_is_compacted),
        TEST(an_empty_table_stays_as_it_is),
        TEST(a_concurrent_append_is_kept),
        TEST(a_removed_input_is_a_conflict),
        TEST(partial_progress_commits_in_batches),
        TEST(partial_progress_survives_a_conflict),
        TEST(a_broken_input_fails_its_group),
        TEST(all_groups_failing_is_no_partial_success),
        TEST(a_table_without_catalog_is_read_only),
        TEST(unknown_branches_are_not_found),
        TEST(where_selects_partitions),
        TEST(a_branch_is_rewritten_alone),
        TEST(real_runs_settle),
        TEST(faults_leave_the_old_or_the_new_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
