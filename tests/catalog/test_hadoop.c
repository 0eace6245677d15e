/* The filesystem catalog: finding the current version, winning the next one, opening by location. */
#include "check.h"

#include "support/fault_store.h"
#include "support/fixture.h"

#define WAREHOUSE "mem://w"
#define TABLE     WAREHOUSE "/db/t"

static struct firn_store *open_store(struct firn_op *op)
{
    struct firn_store *store;
    CHECK_OK(op, firn_store_open_memory(op, &store));
    return store;
}

static void put_text(struct firn_op *op, struct firn_store *store, const char *location, const char *content)
{
    CHECK_OK(op, firn_store_put(op, store, firn_text_of(location), false, firn_bytes_of_text(firn_text_of(content))));
}

static void hide(struct firn_op *op, struct firn_store *store, const char *location)
{
    struct firn_text text = firn_text_of(location);
    size_t failed;
    CHECK_OK(op, firn_store_delete(op, store, &text, 1, &failed));
}

static void begin(struct firn_op *op, struct fixture *fixture, const char *properties)
{
    CHECK_OK(op, fixture_open(op, open_store(op), FIRN_TEXT(WAREHOUSE), fixture));
    CHECK_OK(op, fixture_create(op, fixture, (struct fixture_options){ .properties = properties }));
    struct firn_data_file file = fixture_file(op, fixture, "first", 1);
    CHECK_OK(op, fixture_append(op, fixture, &file, 1)); /* version 2 */
}

static void end(struct fixture *fixture)
{
    fixture_close(fixture);
    firn_store_close(fixture->store);
}

/* (6) of hadoop.c */
static void the_hint_is_only_a_hint(void **state)
{
    struct firn_op *op = test_op(state);
    static const char *const hints[] = { "5",
                                         "5\n",
                                         "2",
                                         "1",
                                         "0",
                                         "-3",
                                         "9",
                                         "nonsense",
                                         "",
                                         NULL,
                                         "99999999999999999999",
                                         "2147483648",
                                         "11111111111111111111111111111111111111111111111111" };
    struct fixture fixture;
    begin(op, &fixture, NULL);
    for (int i = 0; i < 3; i++)
        CHECK_OK(op, fixture_tag(op, &fixture, firn_text_format(op->arena, "tag%d", i)));
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++) {
        if (hints[i])
            put_text(op, fixture.store, TABLE "/metadata/version-hint.text", hints[i]);
        else
            hide(op, fixture.store, TABLE "/metadata/version-hint.text");
        CHECK_OK(op, fixture_load(op, &fixture));
        CHECK(firn_text_is(fixture.table.metadata_location, TABLE "/metadata/v5.metadata.json"), "hint '%s': '%.*s'",
              hints[i] ? hints[i] : "(none)", FIRN_FMT(fixture.table.metadata_location));
    }
    CHECK_OK(op, fixture_tag(op, &fixture, FIRN_TEXT("more")));
    CHECK(firn_text_is(fixture.table.metadata_location, TABLE "/metadata/v6.metadata.json"), "next");
    end(&fixture);
}

/* A table whose first versions were deleted, and whose hint names one of them. */
static void deleted_versions_are_not_missed(void **state)
{
    struct firn_op *op = test_op(state);
    struct fixture fixture;
    begin(op, &fixture, NULL);
    CHECK_OK(op, fixture_tag(op, &fixture, FIRN_TEXT("a")));
    hide(op, fixture.store, TABLE "/metadata/v1.metadata.json");
    hide(op, fixture.store, TABLE "/metadata/v2.metadata.json");
    put_text(op, fixture.store, TABLE "/metadata/version-hint.text", "1");
    CHECK_OK(op, fixture_load(op, &fixture));
    CHECK_OK(op, fixture_tag(op, &fixture, FIRN_TEXT("b")));
    CHECK(firn_text_is(fixture.table.metadata_location, TABLE "/metadata/v4.metadata.json"), "'%.*s'",
          FIRN_FMT(fixture.table.metadata_location));
    end(&fixture);
}

/* R34 */
static void gzip_metadata_is_read_and_written(void **state)
{
    struct firn_op *op = test_op(state);
    struct fixture fixture;
    begin(op, &fixture, "{\"write.metadata.compression-codec\": \"gzip\"}");
    CHECK(firn_text_is(fixture.table.metadata_location, TABLE "/metadata/v2.gz.metadata.json"), "'%.*s'",
          FIRN_FMT(fixture.table.metadata_location));
    struct firn_buffer content = { 0 };
    CHECK_OK(op, firn_store_read(op, fixture.store, fixture.table.metadata_location, 1 << 20, &content));
    CHECK(content.len > 2 && content.data[0] == 0x1f && content.data[1] == 0x8b, "not gzip");
    CHECK_OK(op, firn_store_put(op, fixture.store, FIRN_TEXT(TABLE "/metadata/v3.metadata.json.gz"), true,
                                firn_buffer_bytes(&content)));
    firn_buffer_done(&content);
    hide(op, fixture.store, TABLE "/metadata/version-hint.text");
    CHECK_OK(op, fixture_load(op, &fixture));
    CHECK(firn_text_is(fixture.table.metadata_location, TABLE "/metadata/v3.metadata.json.gz"), "old spelling");
    CHECK_OK(op, fixture_tag(op, &fixture, FIRN_TEXT("a")));
    CHECK(firn_text_is(fixture.table.metadata_location, TABLE "/metadata/v4.gz.metadata.json"), "new spelling");
    end(&fixture);
}

/* Invariants (2) and (5): the version is another writer's in whatever spelling. */
static void a_taken_version_is_a_conflict(void **state)
{
    struct firn_op *op = test_op(state);
    static const char *const names[] = { TABLE "/metadata/v3.metadata.json", TABLE "/metadata/v3.gz.metadata.json",
                                         TABLE "/metadata/v3.metadata.json.gz" };
    for (size_t i = 0; i < 3; i++) {
        struct fixture fixture;
        size_t before, after;
        begin(op, &fixture, NULL);
        put_text(op, fixture.store, names[i], "{}");
        CHECK_OK(op, store_count(op, fixture.store, FIRN_TEXT(WAREHOUSE), &before));
        CHECK(fixture_tag(op, &fixture, FIRN_TEXT("a")) != FIRN_OK, "committed over %s", names[i]);
        CHECK_OK(op, store_count(op, fixture.store, FIRN_TEXT(WAREHOUSE), &after));
        assert_int_equal(before, after);
        end(&fixture);
    }
}

static void what_the_layout_cannot_hold_is_refused(void **state)
{
    struct firn_op *op = test_op(state);
    struct fixture fixture;
    CHECK_OK(op, fixture_open(op, open_store(op), FIRN_TEXT(WAREHOUSE), &fixture));
    CHECK_STATUS(op, FIRN_UNSUPPORTED,
                 fixture_create(op, &fixture,
                                (struct fixture_options){ .properties = "{\"write.metadata.path\": \"mem://x\"}" }));
    CHECK_OK(op, fixture_create(op, &fixture, (struct fixture_options){ 0 }));
    CHECK_STATUS(op, FIRN_EXISTS, fixture_create(op, &fixture, (struct fixture_options){ 0 }));
    static const char *const bad[] = { "", ".", "t", "a..b", "a.", ".b", "a/b.c" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        firn_status status = firn_catalog_load(op, fixture.catalog, firn_text_of(bad[i]), &fixture.table);
        CHECK(status == FIRN_USAGE || status == FIRN_NOT_FOUND, "'%s': %s", bad[i], firn_status_name(status));
    }
    CHECK_STATUS(op, FIRN_NOT_FOUND, firn_catalog_load(op, fixture.catalog, FIRN_TEXT("db.none"), &fixture.table));
    end(&fixture);
}

static firn_status join_names(struct firn_op *op, void *context, struct firn_text identifier)
{
    struct firn_text *names = context;
    *names = firn_text_format(op->arena, "%.*s %.*s", FIRN_FMT(*names), FIRN_FMT(identifier));
    return FIRN_OK;
}

static void tables_are_listed(void **state)
{
    struct firn_op *op = test_op(state);
    struct fixture fixture;
    begin(op, &fixture, NULL);
    put_text(op, fixture.store, WAREHOUSE "/a/b/c/metadata/v1.metadata.json", "{}");
    put_text(op, fixture.store, WAREHOUSE "/a/b/metadata/00000-x.gz.metadata.json", "{}");
    put_text(op, fixture.store, WAREHOUSE "/a/b/c/data/v1.metadata.json", "{}");
    put_text(op, fixture.store, WAREHOUSE "/metadata/v1.metadata.json", "{}");
    struct firn_text names = { 0 };
    CHECK_OK(op, firn_catalog_list(op, fixture.catalog, join_names, &names));
    CHECK(firn_text_is(names, " a.b a.b.c db.t"), "'%.*s'", FIRN_FMT(names));
    end(&fixture);
}

static void tables_open_by_location(void **state)
{
    struct firn_op *op = test_op(state);
    struct fixture fixture;
    struct firn_catalog *catalog;
    struct firn_table table;
    begin(op, &fixture, NULL);
    CHECK_OK(op, firn_table_open_location(op, fixture.store, FIRN_TEXT(TABLE "/"), &catalog, &table));
    CHECK(catalog && table.catalog == catalog, "committable");
    CHECK(firn_text_is(table.name, TABLE), "'%.*s'", FIRN_FMT(table.name));
    struct fixture by_location = { .store = fixture.store, .table = table };
    CHECK_OK(op, fixture_tag(op, &by_location, FIRN_TEXT("a")));
    CHECK(firn_text_is(by_location.table.metadata_location, TABLE "/metadata/v3.metadata.json"), "committed");
    firn_catalog_close(catalog);

    CHECK_OK(op, firn_table_open_location(op, fixture.store, FIRN_TEXT(TABLE "/metadata/v2.metadata.json"), &catalog,
                                          &table));
    CHECK(!catalog && !table.catalog && table.metadata->ref_count == 1, "read-only, the version named");
    by_location.table = table;
    CHECK_STATUS(op, FIRN_USAGE, fixture_tag(op, &by_location, FIRN_TEXT("b")));
    CHECK_STATUS(op, FIRN_NOT_FOUND,
                 firn_table_open_location(op, fixture.store, FIRN_TEXT(WAREHOUSE "/db/none"), &catalog, &table));
    end(&fixture);
}

static void drop_log(void *context, enum firn_log_level level, struct firn_text line)
{
    (void)line;
    *(unsigned *)context += level == FIRN_LOG_WARN;
}

/* A copy of a table elsewhere would write its manifests into the original. */
static void a_moved_table_is_read_only(void **state)
{
    struct firn_op *op = test_op(state);
    unsigned warnings = 0;
    struct firn_env env = *firn_env_real();
    env.log = drop_log;
    env.context = &warnings;
    struct fixture fixture;
    struct firn_catalog *catalog;
    struct firn_table table;
    begin(op, &fixture, NULL);
    struct firn_buffer content = { 0 };
    CHECK_OK(op, firn_store_read(op, fixture.store, fixture.table.metadata_location, 1 << 20, &content));
    CHECK_OK(op, firn_store_put(op, fixture.store, FIRN_TEXT("mem://other/metadata/v1.metadata.json"), true,
                                firn_buffer_bytes(&content)));
    op->env = &env;
    CHECK_OK(op, firn_table_open_location(op, fixture.store, FIRN_TEXT("mem://other"), &catalog, &table));
    op->env = firn_env_real();
    CHECK(!table.catalog && warnings == 1, "%u warnings", warnings);
    firn_catalog_close(catalog);

    CHECK_OK(op, firn_store_put(op, fixture.store, FIRN_TEXT("mem://sql/metadata/00003-u.metadata.json"), true,
                                firn_buffer_bytes(&content)));
    CHECK_OK(op, firn_store_put(op, fixture.store, FIRN_TEXT("mem://sql/metadata/00012-u.metadata.json"), true,
                                firn_buffer_bytes(&content)));
    CHECK_OK(op, firn_table_open_location(op, fixture.store, FIRN_TEXT("mem://sql"), &catalog, &table));
    CHECK(firn_text_is(table.metadata_location, "mem://sql/metadata/00012-u.metadata.json") && !table.catalog, "'%.*s'",
          FIRN_FMT(table.metadata_location));
    CHECK_OK(op, firn_store_put(op, fixture.store, FIRN_TEXT("mem://sql/metadata/00012-w.metadata.json"), true,
                                firn_buffer_bytes(&content)));
    CHECK_STATUS(op, FIRN_USAGE, firn_table_open_location(op, fixture.store, FIRN_TEXT("mem://sql"), &catalog, &table));
    firn_buffer_done(&content);
    end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_hint_is_only_a_hint),
        TEST(deleted_versions_are_not_missed),
        TEST(gzip_metadata_is_read_and_written),
        TEST(a_taken_version_is_a_conflict),
        TEST(what_the_layout_cannot_hold_is_refused),
        TEST(tables_are_listed),
        TEST(tables_open_by_location),
        TEST(a_moved_table_is_read_only),
    };
    return cmocka_run_group_tests_name("hadoop", tests, NULL, NULL);
}
