/* Tests of remove_orphan_files: other tables in the same place, confirmed plans, lists of files, faults. */
#include "orphan_world.h"

#include "format/json/json.h"
#include "support/folder.h"

static const struct firn_remove_orphan_files_args no_args;

/* Two tables in one place ---------------------------------------------------------------------------------------- */

/* The metadata of another table, as a file of this age. */
static void put_other_metadata(struct firn_op *op, struct world *world, struct firn_text location, const char *uuid)
{
    json_t *root = firn_json_own(op->arena, json_deep_copy(world->fixture.table.metadata->root));
    firn_json_set_text(root, "table-uuid", firn_text_of(uuid));
    firn_json_set_text(root, "location", FIRN_TEXT("m:/other"));
    world->now_ms = NOW_MS - 10 * DAY_MS;
    CHECK_OK(op,
             firn_store_put(op, world->store, location, false, firn_bytes_of_text(firn_json_text(op->arena, root, 0))));
    world->now_ms = NOW_MS;
}

static void other_tables_metadata_stops(void **state)
{
    static const char other_uuid[] = "11111111-2222-4333-8444-555555555555";
    static const struct {
        const char *location;
        bool is_own, is_broken, stops;
    } cases[] = {
        { "m:/w/db/t/metadata/00001-x.metadata.json", false, false, true }, /* the same location */
        { "m:/w/db/t/nested/t2/metadata/v7.metadata.json", false, false, true },
        { "m:/w/db/t/nested/v7.metadata.json", false, false, true },
        { "m:/w/db/t/metadata/00001-x.metadata.json", true, false, false }, /* an old file of this table */
        { "m:/w/db/t/metadata/00001-x.metadata.json", false, true, true },  /* whose, cannot be told */
        { "m:/w/db/t/metadata/00001-x.gz.metadata.json", false, true, true },
        { "m:/w/db/t/metadata/00001-x.metadata.json.gz", false, true, true },
        { "m:/w/db/t/_hidden/metadata/v7.metadata.json", false, false, false }, /* nothing there is a candidate */
        { "m:/w/db/t10/metadata/v7.metadata.json", false, false, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct firn_op *op = test_op(state);
        struct world world;
        struct firn_orphan_report report;
        world_open(op, &world, "m:/w", (struct fixture_options){ 0 });
        world_put(op, &world, "data/orphan", 10 * DAY_MS);
        struct firn_text location = firn_text_of(cases[i].location);
        struct firn_text own = world.fixture.table.metadata->table_uuid;
        if (cases[i].is_broken)
            world_put_at(op, &world, location, 10 * DAY_MS);
        else
            put_other_metadata(op, &world, location, cases[i].is_own ? own.data : other_uuid);
        firn_status status = world_remove(op, &world, no_args, &report);
        CHECK(status == (cases[i].stops ? FIRN_DENIED : FIRN_OK), "case %zu: %s: %s", i, firn_status_name(status),
              op->error.text);
        CHECK(!cases[i].stops || (strstr(op->error.text, cases[i].location) != NULL &&
                                  strstr(op->error.hint, "--trust-location") != NULL),
              "case %zu: %s", i, op->error.text);
        CHECK(!cases[i].stops || cases[i].is_broken || strstr(op->error.text, other_uuid), "%s", op->error.text);
        CHECK(world_has(op, &world, "data/orphan") == cases[i].stops, "case %zu", i);
        CHECK(world_has(op, &world, "data/live"), "case %zu", i);
        CHECK_OK(op,
                 world_remove(op, &world, (struct firn_remove_orphan_files_args){ .trust_location = true }, &report));
        CHECK(!world_has(op, &world, "data/orphan") && world_has(op, &world, "data/live"), "case %zu", i);
        world_close(op, &world);
    }
}

/* Tables that the catalog knows are left alone even when the location is trusted. Two of them lie in it: one in a
 * folder of its own, and one in the very same folder, with its metadata elsewhere. */
static firn_status create_table(struct firn_op *op, struct world *world, const char *name, const char *properties,
                                struct firn_table *out)
{
    json_t *schema, *json;
    FIRN_TRY(firn_json_parse(op,
                             FIRN_TEXT("{\"type\": \"struct\", \"schema-id\": 0, \"fields\": [{\"id\": 1, "
                                       "\"name\": \"id\", \"required\": false, \"type\": \"int\"}]}"),
                             "schema", &schema));
    FIRN_TRY(firn_json_parse(op, firn_text_of(properties), "properties", &json));
    return firn_catalog_create_table(op, world->fixture.catalog, firn_text_of(name), schema, NULL, NULL, json, out);
}

static void known_tables_are_left_alone(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct firn_orphan_plan *plan;
    struct firn_orphan_report report;
    struct firn_table nested;
    struct firn_text folder = folder_make(op->arena);
    world_begin(op, &world);
    world.now_ms = NOW_MS - 30 * DAY_MS;
    CHECK_OK(op, fixture_open_sql(op, world.store, folder, &world.fixture));
    CHECK_OK(op, fixture_create(op, &world.fixture, (struct fixture_options){ 0 }));
    struct firn_data_file file = fixture_file(op, &world.fixture, "live", 1);
    CHECK_OK(op, fixture_append(op, &world.fixture, &file, 1));
    /* <warehouse>/db/t/nested is where a table db.t.nested would go */
    CHECK_OK(op, create_table(op, &world, "db/t.nested", "{\"write.metadata.path\": \"m:/elsewhere/n\"}", &nested));
    CHECK(firn_path_is_below(firn_location_split(op->arena, world.fixture.table.metadata->location).path,
                             firn_location_split(op->arena, nested.metadata->location).path),
          "nested: %.*s", FIRN_FMT(nested.metadata->location));
    world.now_ms = NOW_MS;
    world_put(op, &world, "data/orphan", 10 * DAY_MS);
    world_put(op, &world, "nested/data/uncommitted", 10 * DAY_MS);
    CHECK_STATUS(op, FIRN_DENIED, world_plan(op, &world, no_args, &plan));
    CHECK(strstr(op->error.text, "db/t.nested"), "%s", op->error.text);
    CHECK_OK(op, world_remove(op, &world, (struct firn_remove_orphan_files_args){ .trust_location = true }, &report));
    CHECK(report.deleted_count == 1 && report.other_table_count == 1, "%d deleted", (int)report.deleted_count);
    CHECK(!world_has(op, &world, "data/orphan") && world_has(op, &world, "nested/data/uncommitted"), "left alone");
    world_close(op, &world);
    folder_remove(folder);
}

/* A table whose recorded files are all spelled in a way that was not understood looks like a folder of orphans. */
static void a_location_without_any_file_of_the_table_stops(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct firn_orphan_plan *plan;
    world_open(op, &world, "m:/w", (struct fixture_options){ 0 });
    struct firn_metadata moved = *world.fixture.table.metadata;
    moved.location = FIRN_TEXT("m:/moved/t");
    world_put_at(op, &world, FIRN_TEXT("m:/moved/t/data/live"), 10 * DAY_MS);
    world.fixture.table.metadata = &moved;
    world.fixture.table.catalog = NULL;
    /* the hint file alone is recorded by the location itself */
    CHECK_STATUS(op, FIRN_DENIED, world_plan(op, &world, no_args, &plan));
    world_close(op, &world);
}

/* Plan, confirm, delete ------------------------------------------------------------------------------------------ */

static firn_status add_row(struct firn_op *op, void *context, const struct firn_orphan_file *file)
{
    (void)op;
    json_t *row = json_object();
    firn_json_set_text(row, "orphan_file_location", file->location);
    firn_json_set_i64(row, "bytes", file->bytes);
    firn_json_set_i64(row, "last_modified_ms", file->modified_ms);
    json_array_append_new(context, row);
    return FIRN_OK;
}

/* What a dry run prints, put into the store. */
static void put_plan(struct firn_op *op, struct world *world, struct firn_text location)
{
    struct firn_orphan_plan *plan;
    json_t *root = firn_json_own(op->arena, json_object()), *rows = json_array();
    CHECK_OK(op, world_plan(op, world, no_args, &plan));
    firn_json_set_text(root, "table_uuid", firn_orphan_plan_report(plan)->table_uuid);
    firn_json_set(root, "orphan_files", rows);
    CHECK_OK(op, firn_orphan_plan_visit(op, plan, add_row, rows));
    CHECK_OK(op,
             firn_store_put(op, world->store, location, false, firn_bytes_of_text(firn_json_text(op->arena, root, 2))));
}

static void only_the_confirmed_plan_is_deleted(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct firn_orphan_report report;
    struct firn_remove_orphan_files_args args = { .from = FIRN_TEXT("m:/plan.json") };
    world_open(op, &world, "m:/w", (struct fixture_options){ 0 });
    world_put(op, &world, "data/x", 10 * DAY_MS);
    world_put(op, &world, "data/y", 10 * DAY_MS);
    world_put(op, &world, "data/z", 10 * DAY_MS);
    put_plan(op, &world, args.from);
    world_put(op, &world, "data/w", 9 * DAY_MS); /* old, but not in the plan */
    world_put(op, &world, "data/z", 8 * DAY_MS); /* another file under a name of the plan */
    struct firn_data_file x = fixture_file(op, &world.fixture, "unused", 1);
    x.path = FIRN_TEXT("m:/w/db/t/data/x");
    CHECK_OK(op, fixture_append(op, &world.fixture, &x, 1));
    CHECK_OK(op, world_remove(op, &world, args, &report));
    CHECK(report.deleted_count == 1 && report.deleted_bytes == 4 && report.unconfirmed_count == 2,
          "y alone, of 4 bytes");
    CHECK(world_has(op, &world, "data/x") && !world_has(op, &world, "data/y"), "x lives again, y goes");
    CHECK(world_has(op, &world, "data/w") && world_has(op, &world, "data/z"), "what was not confirmed stays");
    args.from = FIRN_TEXT("m:/none.json");
    CHECK_STATUS(op, FIRN_NOT_FOUND, world_remove(op, &world, args, &report));
    args.from = FIRN_TEXT("m:/w/db/t/data/w");
    CHECK_STATUS(op, FIRN_CORRUPT, world_remove(op, &world, args, &report));
    world_close(op, &world);
}

static void a_plan_of_another_table_is_refused(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct firn_orphan_report report;
    struct firn_text plan = FIRN_TEXT("{\"table_uuid\": \"x\", \"orphan_files\": []}");
    world_open(op, &world, "m:/w", (struct fixture_options){ 0 });
    CHECK_OK(op, firn_store_put(op, world.store, FIRN_TEXT("m:/p"), false, firn_bytes_of_text(plan)));
    CHECK_STATUS(
        op, FIRN_USAGE,
        world_remove(op, &world, (struct firn_remove_orphan_files_args){ .from = FIRN_TEXT("m:/p") }, &report));
    world_close(op, &world);
}

/* Lists of files ------------------------------------------------------------------------------------------------- */

static void lists_stand_in_for_the_listing(void **state)
{
    static const struct {
        const char *list, *orphans; /* NULL: refused */
    } cases[] = {
        { "file_path,last_modified\nm:/w/db/t/data/a,2024-09-01 00:00:00\n", "data/a" },
        { "last_modified,x,file_path\r\n2024-09-01,\"1,\"\"2\",m:/w/db/t/data/a\r\n\r\n", "data/a" },
        { "FILE_PATH,LAST_MODIFIED\n\"m:/w/db/t/data/a\",1725148800000\n", "data/a" },
        { "{\"file_path\": \"m:/w/db/t/data/a\", \"last_modified\": 1725148800000}\n"
          "{\"last_modified\": \"2024-09-01T00:00:00Z\", \"file_path\": \"m:/w/db/t/_h\"}\n",
          "_h data/a" }, /* hidden files of a list are candidates, as in the reference */
        { "file_path,last_modified\nm:/w/db/t/data/a,\n", "" }, /* no time: new */
        { "{\"file_path\": \"m:/w/db/t/data/a\", \"last_modified\": null}", "" },
        { "file_path,last_modified\nm:/w/db/t/data/a,2024-10-03\n", "" },   /* too new by the list */
        { "file_path,last_modified\nm:/w/db/t/data/new,2024-09-01\n", "" }, /* replaced since */
        { "file_path,last_modified\nm:/w/db/t/data/gone,2024-09-01\n", "" },
        { "file_path,last_modified\nm:/w/db/t/data/live,2024-09-01\n", "" },
        { "file_path,last_modified\nm:/w/db/t10/a,2024-09-01\nm:/w/db/t/metadata/_firn_marks.tsv,2024-09-01\n", "" },
        { "file_path,last_modified\n", "" },
        { "", "" },
        { "path,last_modified\nm:/w/db/t/data/a,2024-09-01\n", NULL },
        { "file_path,last_modified\nm:/w/db/t/data/a\n", NULL },
        { "file_path,last_modified\nm:/w/db/t/data/a,soon\n", NULL },
        { "file_path,last_modified\n\"m:/w/db/t/data/a,2024-09-01\n", NULL },
        { "file_path,last_modified\n\"m:/w\"x,2024-09-01\n", NULL },
        { "{\"file_path\": 1, \"last_modified\": 1}\n", NULL },
        { "{\"file_path\": \"m:/w/db/t/data/a\"}\n", NULL },
        { "{\"file_path\": \"m:/w/db/t/data/a\", \"last_modified\": 1.5}\n", NULL },
        { "{broken\n", NULL },
    };
    struct firn_op *op = test_op(state);
    struct world world;
    struct firn_orphan_plan *plan;
    struct firn_remove_orphan_files_args args = { .file_list_view = FIRN_TEXT("m:/list") };
    world_open(op, &world, "m:/w", (struct fixture_options){ 0 });
    world_put(op, &world, "data/a", 10 * DAY_MS);
    world_put(op, &world, "data/not-listed", 10 * DAY_MS);
    world_put(op, &world, "data/new", HOUR_MS);
    world_put(op, &world, "_h", 10 * DAY_MS);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_OK(op, firn_store_put(op, world.store, args.file_list_view, false,
                                    firn_bytes_of_text(firn_text_of(cases[i].list))));
        firn_status status = world_plan(op, &world, args, &plan);
        CHECK(status == (cases[i].orphans ? FIRN_OK : FIRN_CORRUPT), "case %zu: %s: %s", i, firn_status_name(status),
              op->error.text);
        if (status != FIRN_OK)
            continue;
        struct firn_text names = world_names_of(op, &world, plan);
        CHECK(firn_text_is(names, cases[i].orphans), "case %zu: '%.*s'", i, FIRN_FMT(names));
    }
    args.file_list_view = FIRN_TEXT("m:/no-list");
    CHECK_STATUS(op, FIRN_NOT_FOUND, world_plan(op, &world, args, &plan));
    world_close(op, &world);
}

/* Faults --------------------------------------------------------------------------------------------------------- */

/* One run with a fault, and another without. Gives whether there was one. */
static bool run_with_fault(void **state, struct fault fault)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct fault_report faults;
    struct firn_store *faulty;
    struct firn_orphan_report report;
    struct firn_text live;
    world_open(op, &world, "m:/w", (struct fixture_options){ 0 });
    for (int i = 0; i < 5; i++)
        world_put(op, &world, firn_text_format(op->arena, "data/o%d", i).data, 10 * DAY_MS);
    CHECK_OK(op, fault_store_open(op, world.store, fault, &faults, &faulty));
    world.fixture.table.store = faulty;
    firn_status status = world_remove(op, &world, no_args, &report);
    bool fired = atomic_load(&faults.fired);
    CHECK(fired || (status == FIRN_OK && report.deleted_count == 5), "call %u, %s: %s", fault.at_call,
          fault_name(fault.kind), op->error.text);
    world.fixture.table.store = world.store;
    CHECK_OK(op, fixture_live(op, &world.fixture, &live));
    CHECK_OK(op, world_remove(op, &world, no_args, &report));
    CHECK_OK(op, fixture_live(op, &world.fixture, &live));
    CHECK_ORPHANS(op, &world, no_args, "");
    firn_store_close(faulty);
    world_close(op, &world);
    return fired;
}

/* Every call to the store fails, or is the last of a program that is killed: the table stays whole, only orphans go,
 * and a second run finishes. */
static void faults_never_cost_a_live_file(void **state)
{
    for (int kind = 0; kind < FAULT_KIND_COUNT; kind++)
        for (uint32_t nth = 0; run_with_fault(state, (struct fault){ nth, (enum fault_kind)kind }); nth++)
            ;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(other_tables_metadata_stops),
        TEST(known_tables_are_left_alone),
        TEST(a_location_without_any_file_of_the_table_stops),
        TEST(only_the_confirmed_plan_is_deleted),
        TEST(a_plan_of_another_table_is_refused),
        TEST(lists_stand_in_for_the_listing),
        TEST(faults_never_cost_a_live_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
