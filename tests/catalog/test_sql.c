/* The SQL catalog: both versions of the schema, rows of older catalogs, locks. */
#include "check.h"

#include "support/fault_store.h"
#include "support/fixture.h"
#include "support/folder.h"

#include <sqlite3.h>

struct world {
    struct firn_text folder;
    struct firn_store *store;
    struct fixture fixture;
};

static void begin(struct firn_op *op, struct world *world)
{
    world->folder = folder_make(op->arena);
    CHECK_OK(op, firn_store_open(op, &(struct firn_store_config){ 0 }, &world->store));
    CHECK_OK(op, fixture_open_sql(op, world->store, world->folder, &world->fixture));
}

static void end(struct world *world)
{
    fixture_close(&world->fixture);
    firn_store_close(world->store);
    folder_remove(world->folder);
}

/* A clock that stands: no deadline passes, however slow the machine. */
static int64_t still_ms(void *context)
{
    (void)context;
    return 0;
}

static sqlite3 *open_database(struct firn_op *op, const struct world *world)
{
    struct firn_text path = firn_location_join(op->arena, world->folder, FIRN_TEXT("catalog.db"));
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path.data, &db), SQLITE_OK);
    return db;
}

static void execute(struct firn_op *op, const struct world *world, const char *sql)
{
    char *message = NULL;
    sqlite3 *db = open_database(op, world);
    int code = sqlite3_exec(db, sql, NULL, NULL, &message);
    CHECK(code == SQLITE_OK, "%s: %s", sql, message ? message : "");
    sqlite3_close(db);
}

static int take_cell(void *context, int count, char **values, char **names)
{
    (void)count;
    (void)names;
    snprintf(context, 1000, "%s", values[0] ? values[0] : "(null)");
    return 0;
}

static void check_cell(struct firn_op *op, const struct world *world, const char *sql, const char *wanted)
{
    char got[1000] = "(none)";
    sqlite3 *db = open_database(op, world);
    assert_int_equal(sqlite3_exec(db, sql, take_cell, got, NULL), SQLITE_OK);
    sqlite3_close(db);
    CHECK(strcmp(got, wanted) == 0, "%s: '%s', wanted '%s'", sql, got, wanted);
}

static const char version_0[] =
    "CREATE TABLE iceberg_tables (catalog_name VARCHAR(255) NOT NULL, table_namespace VARCHAR(255) NOT NULL, "
    "table_name VARCHAR(255) NOT NULL, metadata_location VARCHAR(1000), previous_metadata_location VARCHAR(1000), "
    "PRIMARY KEY (catalog_name, table_namespace, table_name));"
    "CREATE TABLE iceberg_namespace_properties (catalog_name VARCHAR(255) NOT NULL, namespace VARCHAR(255) NOT NULL, "
    "property_key VARCHAR(255) NOT NULL, property_value VARCHAR(1000) NOT NULL, "
    "PRIMARY KEY (catalog_name, namespace, property_key));";

static void reading_makes_no_database(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct firn_store_stat info;
    begin(op, &world);
    CHECK_STATUS(op, FIRN_NOT_FOUND, fixture_load(op, &world.fixture));
    struct firn_text path = firn_location_join(op->arena, world.folder, FIRN_TEXT("catalog.db"));
    CHECK_STATUS(op, FIRN_NOT_FOUND, firn_store_stat(op, world.store, path, &info));
    end(&world);
}

static void tables_are_created_and_committed_to(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    begin(op, &world);
    CHECK_OK(op, firn_catalog_create_namespace(op, world.fixture.catalog, FIRN_TEXT("db")));
    CHECK_OK(op, firn_catalog_create_namespace(op, world.fixture.catalog, FIRN_TEXT("db")));
    CHECK_OK(op, fixture_create(op, &world.fixture, (struct fixture_options){ 0 }));
    CHECK_STATUS(op, FIRN_EXISTS, fixture_create(op, &world.fixture, (struct fixture_options){ 0 }));
    check_cell(op, &world, "SELECT iceberg_type FROM iceberg_tables", "TABLE");
    check_cell(op, &world, "SELECT previous_metadata_location FROM iceberg_tables", "(null)");
    struct firn_text wanted = firn_text_format(op->arena, "%.*s/db/t/metadata/00000-", FIRN_FMT(world.folder));
    CHECK_OK(op, fixture_load(op, &world.fixture));
    struct firn_text first = world.fixture.table.metadata_location;
    CHECK(firn_text_starts(first, wanted) && firn_text_ends(first, FIRN_TEXT(".metadata.json")), "'%.*s'",
          FIRN_FMT(first));
    struct firn_data_file file = fixture_file(op, &world.fixture, "first", 1);
    CHECK_OK(op, fixture_append(op, &world.fixture, &file, 1));
    check_cell(op, &world, "SELECT previous_metadata_location FROM iceberg_tables", first.data);
    check_cell(op, &world, "SELECT metadata_location FROM iceberg_tables", world.fixture.table.metadata_location.data);
    end(&world);
}

/* R33, and version 0 of the schema, which has no such column. */
static void rows_of_older_catalogs_are_tables(void **state)
{
    struct firn_op *op = test_op(state);
    for (int version = 0; version < 2; version++) {
        struct world world;
        begin(op, &world);
        if (version == 0)
            execute(op, &world, version_0);
        CHECK_OK(op, fixture_create(op, &world.fixture, (struct fixture_options){ 0 }));
        if (version == 1)
            execute(op, &world, "UPDATE iceberg_tables SET iceberg_type = NULL");
        CHECK_OK(op, fixture_load(op, &world.fixture));
        struct firn_data_file file = fixture_file(op, &world.fixture, "first", 1);
        CHECK_OK(op, fixture_append(op, &world.fixture, &file, 1));
        if (version == 1) {
            execute(op, &world, "UPDATE iceberg_tables SET iceberg_type = 'VIEW'");
            CHECK_STATUS(op, FIRN_NOT_FOUND, fixture_load(op, &world.fixture));
        }
        end(&world);
    }
}

static firn_status join_names(struct firn_op *op, void *context, struct firn_text identifier)
{
    struct firn_text *names = context;
    *names = firn_text_format(op->arena, "%.*s %.*s", FIRN_FMT(*names), FIRN_FMT(identifier));
    return FIRN_OK;
}

static void only_this_catalogs_tables_are_listed(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct firn_text names = { 0 };
    begin(op, &world);
    CHECK_OK(op, fixture_create(op, &world.fixture, (struct fixture_options){ 0 }));
    execute(op, &world,
            "INSERT INTO iceberg_tables VALUES ('c', 'a.b', 't', 'x', NULL, NULL), "
            "('c', 'a', 'v', 'x', NULL, 'VIEW'), ('other', 'a', 't', 'x', NULL, 'TABLE')");
    CHECK_OK(op, firn_catalog_list(op, world.fixture.catalog, join_names, &names));
    CHECK(firn_text_is(names, " a.b.t db.t"), "'%.*s'", FIRN_FMT(names));
    end(&world);
}

static size_t metadata_file_count(struct firn_op *op, const struct world *world)
{
    struct firn_text folder = firn_location_join(op->arena, world->folder, FIRN_TEXT("db/t/metadata"));
    size_t count;
    CHECK_OK(op, store_count(op, world->store, folder, &count));
    return count;
}

/* Invariants (2) and (3) of catalog.h: the row moved between the check and the swap. */
static void a_moved_row_is_a_conflict(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    begin(op, &world);
    CHECK_OK(op, fixture_create(op, &world.fixture, (struct fixture_options){ 0 }));
    execute(op, &world,
            "CREATE TRIGGER other AFTER UPDATE ON iceberg_tables BEGIN SELECT 1; END;"
            "CREATE TRIGGER first BEFORE UPDATE ON iceberg_tables WHEN NEW.metadata_location NOT LIKE '%lost' "
            "BEGIN UPDATE iceberg_tables SET metadata_location = metadata_location || 'lost'; END");
    size_t before = metadata_file_count(op, &world);
    firn_status status = fixture_tag(op, &world.fixture, FIRN_TEXT("x"));
    CHECK(status != FIRN_OK, "committed");
    assert_int_equal(metadata_file_count(op, &world), before);
    end(&world);
}

static void a_locked_database_is_unavailable(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    begin(op, &world);
    CHECK_OK(op, fixture_create(op, &world.fixture, (struct fixture_options){ 0 }));
    struct firn_data_file file = fixture_file(op, &world.fixture, "first", 1);
    CHECK_OK(op, fixture_append(op, &world.fixture, &file, 1));
    fixture_close(&world.fixture);
    sqlite3 *db = open_database(op, &world);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    CHECK_OK(op, fixture_open_sql(op, world.store, world.folder, &world.fixture));
    struct firn_env env = *op->env;
    env.monotonic_ms = still_ms;
    op->env = &env;
    op->deadline_ms = 50; /* bounds the wait for the lock */
    CHECK_OK(op, fixture_load(op, &world.fixture));
    size_t before = metadata_file_count(op, &world);
    CHECK_STATUS(op, FIRN_UNAVAILABLE, fixture_tag(op, &world.fixture, FIRN_TEXT("a")));
    op->deadline_ms = INT64_MAX;
    op->env = firn_env_real();
    assert_int_equal(metadata_file_count(op, &world), before);
    assert_int_equal(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    CHECK_OK(op, fixture_tag(op, &world.fixture, FIRN_TEXT("a")));
    end(&world);
}

static void uris_name_a_file(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        const char *uri;
        firn_status status;
    } cases[] = {
        { "sqlite:////tmp/x.db", FIRN_OK },
        { "sqlite:///x.db", FIRN_OK },
        { "sqlite+pysqlite:////tmp/x.db?check_same_thread=False", FIRN_OK },
        { "jdbc:sqlite:/tmp/x.db", FIRN_OK },
        { "sqlite://", FIRN_USAGE },
        { "sqlite:///:memory:", FIRN_USAGE },
        { "jdbc:sqlite:", FIRN_USAGE },
        { "postgresql://host/db", FIRN_UNSUPPORTED },
        { "jdbc:postgresql://host/db", FIRN_UNSUPPORTED },
        { "http://host", FIRN_UNSUPPORTED },
        { "", FIRN_USAGE },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct firn_property uri = { FIRN_TEXT("uri"), firn_text_of(cases[i].uri) };
        struct firn_catalog_config config = { FIRN_TEXT("c"), &uri, 1 };
        struct firn_catalog *catalog = NULL;
        firn_status status = firn_catalog_open(op, NULL, &config, &catalog);
        CHECK(status == cases[i].status, "'%s': %s", cases[i].uri, firn_status_name(status));
        if (status == FIRN_OK)
            firn_catalog_close(catalog);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reading_makes_no_database),
        TEST(tables_are_created_and_committed_to),
        TEST(rows_of_older_catalogs_are_tables),
        TEST(only_this_catalogs_tables_are_listed),
        TEST(a_moved_row_is_a_conflict),
        TEST(a_locked_database_is_unavailable),
        TEST(uris_name_a_file),
    };
    return cmocka_run_group_tests_name("sql", tests, NULL, NULL);
}
