/* compute_table_stats: numbers of the live rows alone, however little memory there is; the file and the metadata agree;
 * what a failure leaves behind. compute_partition_stats: going on from an ancestor's file gives what reading everything
 * gives. */
#include "maintain/scene.h"

#include "firn/compute_stats.h"
#include "format/puffin/puffin.h"
#include "format/puffin/theta.h"

static int64_t live_count(const struct scene *scene)
{
    int64_t count = 0;
    for (int64_t id = 0; id < IDS_MAX; id++)
        count += scene->copies[id] > 0;
    return count;
}

static void make_rows(struct firn_op *op, struct scene *scene)
{
    static const int64_t gone[] = { 3, 17, 205, 206, 207, 208 }, by_key[] = { 1, 300, 301 };
    add_rows(op, scene, 1, 200);
    add_rows(op, scene, 2, 150);
    add_rows(op, scene, 1, 7);
    delete_ids(op, scene, gone, 6, FIRN_DELETES_BY_FILE);
    delete_by_equality(op, scene, 1, by_key, 1, false);
    delete_by_equality(op, scene, 2, by_key + 1, 2, false);
    CHECK_OK(op, firn_table_refresh(op, &scene->world.table));
}

static const struct firn_statistics_file *only_file(const struct scene *scene)
{
    const struct firn_metadata *metadata = scene->world.table.metadata;
    CHECK(metadata->statistics_count == 1, "%u", metadata->statistics_count);
    return &metadata->statistics[0];
}

/* The sketch of each blob says what the blob's property and the report say. */
static void check_file(struct firn_op *op, struct scene *scene, const struct firn_table_stats_report *report)
{
    const struct firn_statistics_file *named = only_file(scene);
    struct firn_buffer file = { 0 };
    struct firn_puffin_footer footer;
    CHECK(firn_text_same(named->path, report->statistics_file), "%.*s", FIRN_FMT(named->path));
    CHECK_OK(op, firn_store_read(op, scene->world.store, named->path, UINT64_C(1) << 20, &file));
    CHECK((int64_t)file.len == named->file_bytes, "%zu bytes", file.len);
    CHECK_OK(op, firn_puffin_parse(op, firn_buffer_bytes(&file), &footer));
    CHECK(footer.blob_count == report->column_count, "%u blobs", footer.blob_count);
    for (uint32_t i = 0; i < footer.blob_count; i++) {
        const struct firn_puffin_blob *blob = &footer.blobs[i];
        struct firn_bytes stored = { file.data + blob->offset, (size_t)blob->length };
        struct firn_buffer content = { 0 };
        struct firn_theta_compact sketch;
        int64_t ndv;
        CHECK_OK(op, firn_puffin_blob_decode(op, blob, stored, &content));
        CHECK_OK(op, firn_theta_parse(op, firn_buffer_bytes(&content), &sketch));
        CHECK(firn_text_to_i64(firn_puffin_property_find(blob->properties, blob->property_count, "ndv"), &ndv), "ndv");
        CHECK(ndv == report->columns[i].distinct_count && ndv == (int64_t)firn_theta_estimate(&sketch), "%" PRId64,
              ndv);
        CHECK(blob->fields[0] == report->columns[i].field_id && blob->snapshot_id == report->snapshot_id, "%u", i);
        firn_buffer_done(&content);
    }
    firn_buffer_done(&file);
}

static void test_live_rows(void **state)
{
    struct firn_op *op = test_op(state);
    static const size_t budgets[] = { 0, 64 << 20, 200 << 10 }; /* the last: a column at a time */
    struct scene scene;
    scene_begin(op, &scene, 2, NULL);
    make_rows(op, &scene);
    for (size_t i = 0; i < FIRN_COUNT_OF(budgets); i++) {
        struct firn_budget *budget = FIRN_NEW(op->arena, struct firn_budget); /* sets of positions give back to it */
        struct firn_table_stats_report report;
        budget->limit_bytes = budgets[i];
        op->budget = budget;
        CHECK_OK(op,
                 firn_compute_table_stats(op, NULL, &scene.world.table, &(struct firn_table_stats_args){ 0 }, &report));
        CHECK(report.column_count == 2 && report.columns[0].distinct_count == live_count(&scene), "%" PRId64,
              report.columns[0].distinct_count);
        CHECK(report.columns[1].distinct_count == 2 && report.columns[1].exact, "partitions");
        CHECK(report.row_count == live_count(&scene) && report.file_count == 3, "%" PRId64, report.row_count);
        check_file(op, &scene, &report);
        op->budget = NULL;
    }
    scene_end(op, &scene);
}

static void test_arguments(void **state)
{
    struct firn_op *op = test_op(state);
    static const int64_t unknown = 12345;
    const struct firn_text nope = FIRN_TEXT("nope"), part = FIRN_TEXT("part");
    struct firn_table_stats_report report;
    struct scene scene;
    scene_begin(op, &scene, 2, NULL);
    struct firn_table *table = &scene.world.table;
    struct firn_table_stats_args args = { 0 };
    CHECK_OK(op, firn_compute_table_stats(op, NULL, table, &args, &report));
    CHECK(!report.has_snapshot && !report.statistics_file.data, "an empty table has no row");
    make_rows(op, &scene);
    args = (struct firn_table_stats_args){ .snapshot_id = &unknown };
    CHECK_STATUS(op, FIRN_NOT_FOUND, firn_compute_table_stats(op, NULL, table, &args, &report));
    args = (struct firn_table_stats_args){ .columns = &nope, .column_count = 1 };
    CHECK_STATUS(op, FIRN_USAGE, firn_compute_table_stats(op, NULL, table, &args, &report));
    args.column_count = 0;
    CHECK_STATUS(op, FIRN_USAGE, firn_compute_table_stats(op, NULL, table, &args, &report));
    args = (struct firn_table_stats_args){ .columns = &part, .column_count = 1, .dry_run = true };
    CHECK_OK(op, firn_compute_table_stats(op, NULL, table, &args, &report));
    CHECK(report.columns[0].distinct_count == 2 && !report.statistics_file.data, "a dry run counts");
    CHECK(table->metadata->statistics_count == 0, "and sets nothing");
    int64_t first = table->metadata->snapshots[0].id;
    args = (struct firn_table_stats_args){ .snapshot_id = &first };
    CHECK_OK(op, firn_compute_table_stats(op, NULL, table, &args, &report));
    CHECK(report.columns[0].distinct_count == 200, "rows of another snapshot: %" PRId64,
          report.columns[0].distinct_count);
    CHECK(only_file(&scene)->snapshot_id == first, "set for that snapshot");
    scene_end(op, &scene);
}

static firn_status count_stats(struct firn_op *op, void *context, const struct firn_store_entry *entry)
{
    (void)op;
    *(int *)context += firn_text_ends(entry->location, FIRN_TEXT(".stats"));
    return FIRN_OK;
}

/* Each storage call fails once, in turn: afterwards the metadata name no file that is not there, and none is there that
 * they do not name. */
static void test_faults(void **state)
{
    struct firn_op *op = test_op(state);
    bool fired = true;
    for (uint32_t nth = 0; fired; nth++) {
        struct firn_arena arena, *whole = op->arena;
        struct scene scene;
        struct firn_store *faulty;
        struct fault_report report = { 0 };
        struct firn_table_stats_report stats;
        int files = 0;
        firn_arena_init(&arena);
        op->arena = &arena;
        scene_begin(op, &scene, 2, NULL);
        add_rows(op, &scene, 1, 10);
        CHECK_OK(op, fault_store_open(op, scene.world.store, (struct fault){ .at_call = nth, .kind = FAULT_ERROR },
                                      &report, &faulty));
        struct firn_table table = second_handle(op, &scene.world);
        table.store = faulty;
        struct firn_store *catalog_store = table.catalog->store;
        table.catalog->store = faulty;
        firn_status status = firn_compute_table_stats(op, NULL, &table, &(struct firn_table_stats_args){ 0 }, &stats);
        table.catalog->store = catalog_store;
        fired = atomic_load(&report.fired);
        CHECK(fired || status == FIRN_OK, "call %u: %s", nth, op->error.text);
        CHECK_OK(op, firn_table_refresh(op, &scene.world.table));
        CHECK_OK(op, firn_store_list(op, scene.world.store, FIRN_TEXT(WAREHOUSE), true, count_stats, &files));
        CHECK(files == (int)scene.world.table.metadata->statistics_count, "call %u: %d files", nth, files);
        CHECK(status != FIRN_OK || files == 1, "call %u", nth);
        firn_store_close(faulty);
        scene_end(op, &scene);
        op->arena = whole;
        firn_arena_done(&arena);
    }
}

/* Partition statistics --------------------------------------------------------------------------------------------- */

static struct firn_partition_stats_report partition_stats(struct firn_op *op, struct scene *scene,
                                                          struct firn_partition_stats_args args)
{
    struct firn_partition_stats_report report;
    CHECK_OK(op, firn_table_refresh(op, &scene->world.table));
    CHECK_OK(op, firn_compute_partition_stats(op, NULL, &scene->world.table, &args, &report));
    return report;
}

/* All columns but when and by what a row was updated, as text. */
static firn_status print_rows(struct firn_op *op, void *context, const struct firn_row_batch *batch)
{
    struct firn_text *text = context;
    for (uint32_t row = 0; row < batch->row_count; row++)
        for (int leaf = 0; leaf < 9; leaf++)
            *text = firn_text_format(op->arena, "%.*s%" PRId64 "%c", FIRN_FMT(*text), batch->columns[leaf][row].integer,
                                     leaf < 8 ? ' ' : '\n');
    return FIRN_OK;
}

static const char *read_partitions(struct firn_op *op, struct scene *scene, struct firn_text location)
{
    static const char schema_json[] =
        "{\"type\": \"struct\", \"schema-id\": 0, \"fields\": [{\"id\": 1, \"name\": \"partition\", \"required\": true,"
        "\"type\": {\"type\": \"struct\", \"fields\": [{\"id\": 1000, \"name\": \"part\", \"required\": false,"
        " \"type\": \"int\"}]}},"
        "{\"id\": 2, \"name\": \"spec_id\", \"required\": true, \"type\": \"int\"},"
        "{\"id\": 3, \"name\": \"data_record_count\", \"required\": true, \"type\": \"long\"},"
        "{\"id\": 4, \"name\": \"data_file_count\", \"required\": true, \"type\": \"int\"},"
        "{\"id\": 5, \"name\": \"bytes\", \"required\": true, \"type\": \"long\"},"
        "{\"id\": 6, \"name\": \"position_records\", \"required\": false, \"type\": \"long\"},"
        "{\"id\": 7, \"name\": \"position_files\", \"required\": false, \"type\": \"int\"},"
        "{\"id\": 8, \"name\": \"equality_records\", \"required\": false, \"type\": \"long\"},"
        "{\"id\": 9, \"name\": \"equality_files\", \"required\": false, \"type\": \"int\"}]}";
    struct firn_output_schema schema = fixture_schema(op, schema_json);
    struct firn_data_file file = { .path = location, .format = FIRN_FILE_PARQUET, .record_count = 1 };
    struct firn_id_sources ids;
    struct firn_file_rows_config config = { .metadata = scene->world.table.metadata,
                                            .store = scene->world.store,
                                            .schema = &schema,
                                            .ids = &ids,
                                            .file = &file };
    struct firn_text text = FIRN_TEXT("");
    CHECK_OK(op, firn_id_sources_new(op, config.metadata, &ids));
    CHECK_OK(op, firn_file_rows_read(op, &config, print_rows, &text));
    return text.data;
}

static void test_partitions_go_on(void **state)
{
    struct firn_op *op = test_op(state);
    static const int64_t gone[] = { 2, 4, 210 };
    struct scene scene;
    scene_begin(op, &scene, 2, NULL);
    CHECK(!partition_stats(op, &scene, (struct firn_partition_stats_args){ 0 }).has_snapshot, "an empty table");
    make_rows(op, &scene);
    struct firn_partition_stats_report first = partition_stats(op, &scene, (struct firn_partition_stats_args){ 0 });
    CHECK(first.partition_count == 2 && first.base_snapshot_id == FIRN_NO_SNAPSHOT && !first.was_there, "first");
    const char *rows = read_partitions(op, &scene, first.statistics_file);
    CHECK(strncmp(rows, "1 0 207 2 ", 10) == 0 && strstr(rows, "\n2 0 150 1 "), "%s", rows);
    struct firn_partition_stats_report again = partition_stats(op, &scene, (struct firn_partition_stats_args){ 0 });
    CHECK(again.was_there && firn_text_same(again.statistics_file, first.statistics_file), "it stays");

    add_rows(op, &scene, 3, 11);
    add_rows(op, &scene, 2, 5);
    delete_ids(op, &scene, gone, 3, FIRN_DELETES_BY_FILE);
    CHECK_OK(op, firn_table_refresh(op, &scene.world.table));
    struct firn_scan scan = scan_current(op, &scene.world, scene.world.store);
    remove_through_peer(op, &scene.world, &scan.files[0].entry->file);
    struct firn_partition_stats_report second = partition_stats(op, &scene, (struct firn_partition_stats_args){ 0 });
    CHECK(second.base_snapshot_id == first.snapshot_id && second.partition_count == 3, "gone on");
    rows = read_partitions(op, &scene, second.statistics_file);

    /* the same anew: neither file is known any more */
    json_t *updates = firn_json_own(
        op->arena, json_pack("[{s:s,s:I},{s:s,s:I}]", "action", "remove-partition-statistics", "snapshot-id",
                             (json_int_t)first.snapshot_id, "action", "remove-partition-statistics", "snapshot-id",
                             (json_int_t)second.snapshot_id));
    CHECK_OK(op, firn_catalog_commit(op, &scene.world.table, firn_json_own(op->arena, json_array()), updates));
    struct firn_partition_stats_report whole = partition_stats(op, &scene, (struct firn_partition_stats_args){ 0 });
    CHECK(whole.base_snapshot_id == FIRN_NO_SNAPSHOT && whole.manifest_count > second.manifest_count - 1, "anew");
    const char *anew = read_partitions(op, &scene, whole.statistics_file);
    CHECK(strcmp(rows, anew) == 0, "gone on:\n%sanew:\n%s", rows, anew);
    scene_end(op, &scene);
}

/* A file that cannot be read any more is no reason to fail. */
static void test_broken_base(void **state)
{
    struct firn_op *op = test_op(state);
    struct scene scene;
    scene_begin(op, &scene, 2, NULL);
    make_rows(op, &scene);
    struct firn_partition_stats_report first = partition_stats(op, &scene, (struct firn_partition_stats_args){ 0 });
    CHECK_OK(op, firn_store_put(op, scene.world.store, first.statistics_file, false,
                                (struct firn_bytes){ (const uint8_t *)"PAR1junk", 8 }));
    add_rows(op, &scene, 4, 1);
    struct firn_partition_stats_report second = partition_stats(op, &scene, (struct firn_partition_stats_args){ 0 });
    CHECK(second.base_snapshot_id == FIRN_NO_SNAPSHOT && second.partition_count == 3, "%" PRId64,
          second.partition_count);
    scene_end(op, &scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = { TEST(test_live_rows), TEST(test_arguments), TEST(test_faults),
                                        TEST(test_partitions_go_on), TEST(test_broken_base) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
