/* compute_table_stats: numbers of the live rows alone, however little memory there is; the file and the metadata agree;
 * what a failure leaves behind. */
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
        struct firn_budget budget = { .limit_bytes = budgets[i] };
        struct firn_table_stats_report report;
        op->budget = &budget;
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

int main(void)
{
    const struct CMUnitTest tests[] = { TEST(test_live_rows), TEST(test_arguments), TEST(test_faults) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
