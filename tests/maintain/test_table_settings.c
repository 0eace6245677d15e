/* Properties and the order of writes: what is set, taken up again, left, and refused. */
#include "check.h"

#include "base/math.h"
#include "firn/table_properties.h"
#include "firn/write_order.h"
#include "store/store.h"
#include "support/fixture.h"

struct world {
    struct firn_op *op;
    struct firn_store *store;
    struct fixture fixture;
};

static void open_world(struct world *world, void **state)
{
    world->op = test_op(state);
    CHECK_OK(world->op, firn_store_open_memory(world->op, &world->store));
    CHECK_OK(world->op, fixture_open(world->op, world->store, FIRN_TEXT("mem://w"), &world->fixture));
    CHECK_OK(world->op, fixture_create(world->op, &world->fixture, (struct fixture_options){ 0 }));
}

static void close_world(struct world *world)
{
    fixture_close(&world->fixture);
    firn_store_close(world->store);
}

static const struct firn_metadata *metadata_of(const struct world *world)
{
    return world->fixture.table.metadata;
}

static firn_status set_one(struct world *world, struct firn_text key, struct firn_text value)
{
    struct firn_table_properties_report report;
    struct firn_property property = { key, value };
    struct firn_table_properties_args args = { .set = &property, .set_count = 1 };
    return firn_table_properties_change(world->op, &world->fixture.table, &args, &report);
}

static void properties_are_set_and_unset(void **state)
{
    struct world world;
    struct firn_table_properties_report report;
    struct firn_property set[] = { { FIRN_TEXT("a"), FIRN_TEXT("1") }, { FIRN_TEXT("b"), FIRN_TEXT("") } };
    struct firn_text unset[] = { FIRN_TEXT("a"), FIRN_TEXT("never") };
    struct firn_table_properties_args setting = { .set = set, .set_count = 2 },
                                      unsetting = { .unset = unset, .unset_count = 2, .dry_run = true };
    open_world(&world, state);
    struct firn_table *table = &world.fixture.table;
    CHECK_OK(world.op, firn_table_properties_change(world.op, table, &setting, &report));
    CHECK(report.change_count == 2 && !report.changes[0].previous.data, " ");
    assert_true(firn_text_is(firn_property_text(metadata_of(&world), "a", FIRN_TEXT("none")), "1"));
    assert_true(firn_text_is(firn_property_text(metadata_of(&world), "b", FIRN_TEXT("none")), ""));

    struct firn_text location = table->metadata_location;
    CHECK_OK(world.op, firn_table_properties_change(world.op, table, &setting, &report));
    CHECK(firn_text_same(location, table->metadata_location), "the same again is no commit");
    CHECK_OK(world.op, firn_table_properties_change(world.op, table, &unsetting, &report));
    CHECK(firn_text_same(location, table->metadata_location), "a dry run is no commit");
    CHECK(firn_text_is(report.changes[0].previous, "1") && !report.changes[1].previous.data, " ");

    unsetting.dry_run = false;
    CHECK_OK(world.op, firn_table_properties_change(world.op, table, &unsetting, &report));
    assert_true(firn_text_is(firn_property_text(metadata_of(&world), "a", FIRN_TEXT("none")), "none"));
    CHECK_OK(world.op, set_one(&world, FIRN_TEXT("format-version"), FIRN_TEXT("3")));
    assert_int_equal(metadata_of(&world)->format_version, 3);
    assert_true(firn_text_is(firn_property_text(metadata_of(&world), "format-version", FIRN_TEXT("none")), "none"));
    close_world(&world);
}

static void what_is_no_property_is_refused(void **state)
{
    static const struct {
        struct firn_text key, value;
        firn_status status;
    } cases[] = {
        { FIRN_TEXT_INIT(""), FIRN_TEXT_INIT("x"), FIRN_USAGE },
        { FIRN_TEXT_INIT("location"), FIRN_TEXT_INIT("/x"), FIRN_USAGE },
        { FIRN_TEXT_INIT("current-snapshot-id"), FIRN_TEXT_INIT("1"), FIRN_USAGE },
        { FIRN_TEXT_INIT("sort-order"), FIRN_TEXT_INIT("id"), FIRN_USAGE },
        { FIRN_TEXT_INIT("uuid"), FIRN_TEXT_INIT("x"), FIRN_USAGE },
        { FIRN_TEXT_INIT("write.metadata.metrics.column.nowhere"), FIRN_TEXT_INIT("full"), FIRN_USAGE },
        { FIRN_TEXT_INIT("format-version"), FIRN_TEXT_INIT("1"), FIRN_USAGE },
        { FIRN_TEXT_INIT("format-version"), FIRN_TEXT_INIT("two"), FIRN_USAGE },
        { FIRN_TEXT_INIT("format-version"), FIRN_TEXT_INIT("9"), FIRN_UNSUPPORTED },
        { FIRN_TEXT_INIT("commit.retry.num-retries"), FIRN_TEXT_INIT("many"), FIRN_USAGE },
        { FIRN_TEXT_INIT("commit.retry.min-wait-ms"), FIRN_TEXT_INIT("-1"), FIRN_USAGE },
        { FIRN_TEXT_INIT("a\xff"), FIRN_TEXT_INIT("x"), FIRN_USAGE },
        { FIRN_TEXT_INIT("a\0b"), FIRN_TEXT_INIT("x"), FIRN_USAGE },
        { FIRN_TEXT_INIT("a"), FIRN_TEXT_INIT("x\xc0"), FIRN_USAGE },
    };
    struct world world;
    open_world(&world, state);
    struct firn_text location = world.fixture.table.metadata_location;
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        firn_status status = set_one(&world, cases[i].key, cases[i].value);
        CHECK(status == cases[i].status, "%.*s: %s", FIRN_FMT(cases[i].key), world.op->error.text);
    }
    struct firn_text unset[] = { FIRN_TEXT("format-version"), FIRN_TEXT("x"), FIRN_TEXT("x") };
    struct firn_table_properties_report report;
    for (size_t from = 0; from < 2; from++) {
        struct firn_table_properties_args args = { .unset = unset + from, .unset_count = 1 + from };
        CHECK_STATUS(world.op, FIRN_USAGE,
                     firn_table_properties_change(world.op, &world.fixture.table, &args, &report));
    }
    assert_true(firn_text_same(location, world.fixture.table.metadata_location));
    close_world(&world);
}

static void orders_are_added_once(void **state)
{
    static const struct {
        struct firn_write_order_args args;
        const char *order, *mode;
        int32_t id;
        bool is_changed;
    } cases[] = {
        { { .order = FIRN_TEXT_INIT("ID desc, bucket(4, v) nulls last") },
          "id desc nulls-last, bucket[4](v) asc nulls-last",
          "range",
          1,
          true },
        { { .order = FIRN_TEXT_INIT("(`id` DESC NULLS LAST, bucket(v, 4) ASC NULLS LAST)") },
          "id desc nulls-last, bucket[4](v) asc nulls-last",
          "range",
          1,
          false },
        { { .order = FIRN_TEXT_INIT("truncate(2, v)"), .locally = true },
          "truncate[2](v) asc nulls-first",
          "range",
          2,
          true },
        { { .distributed_by_partition = true }, "unsorted", "hash", 0, true },
        { { .order = FIRN_TEXT_INIT("truncate(2, v) nulls first"), .locally = true },
          "truncate[2](v) asc nulls-first",
          "hash",
          2,
          true },
        { { .unordered = true }, "unsorted", "none", 0, true },
        { { .unordered = true }, "unsorted", "none", 0, false },
        { { .order = FIRN_TEXT_INIT("v"), .dry_run = true }, "v asc nulls-first", "range", -1, true },
    };
    struct world world;
    open_world(&world, state);
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_write_order_report report;
        CHECK_OK(world.op, firn_write_order_set(world.op, &world.fixture.table, &cases[i].args, &report));
        CHECK(firn_text_is(report.order, cases[i].order), "%zu: %.*s", i, FIRN_FMT(report.order));
        CHECK(firn_text_is(report.mode, cases[i].mode), "%zu: %.*s", i, FIRN_FMT(report.mode));
        CHECK(report.order_id == cases[i].id && report.is_changed == cases[i].is_changed, "%zu: %d", i,
              report.order_id);
    }
    CHECK(metadata_of(&world)->sort_order_count == 3, "the unsorted one and two more");
    assert_int_equal(metadata_of(&world)->default_sort_order_id, 0);
    close_world(&world);
}

static void bad_orders_are_refused(void **state)
{
    static const struct {
        struct firn_write_order_args args;
        firn_status status;
        const char *error;
    } cases[] = {
        { { .dry_run = true }, FIRN_USAGE, "neither an order" },
        { { .order = FIRN_TEXT_INIT("id"), .unordered = true }, FIRN_USAGE, "contradict" },
        { { .locally = true, .unordered = true }, FIRN_USAGE, "locally goes with an order" },
        { { .order = FIRN_TEXT_INIT("nope") }, FIRN_NOT_FOUND, "no column 'nope'" },
        { { .order = FIRN_TEXT_INIT("id x") }, FIRN_USAGE, "order, character 4: x stands where" },
        { { .order = FIRN_TEXT_INIT("id,") }, FIRN_USAGE, "order, character 4: the order ends" },
        { { .order = FIRN_TEXT_INIT("days(id)") }, FIRN_USAGE, "does not take column 'id' of type int" },
        { { .order = FIRN_TEXT_INIT("bucket(id)") }, FIRN_USAGE, "a width above 0" },
        { { .order = FIRN_TEXT_INIT("bucket(0, id)") }, FIRN_USAGE, "a width above 0" },
        { { .order = FIRN_TEXT_INIT("bucket(99999999999, id)") }, FIRN_USAGE, "a width above 0" },
        { { .order = FIRN_TEXT_INIT("bucket(4, 4, id)") }, FIRN_USAGE, "4 stands where a column" },
        { { .order = FIRN_TEXT_INIT("identity(id, v)") }, FIRN_USAGE, "one column" },
        { { .order = FIRN_TEXT_INIT("wave(id)") }, FIRN_USAGE, "no transform 'wave'" },
        { { .order = FIRN_TEXT_INIT("zorder(id, v)") }, FIRN_UNSUPPORTED, "zorder" },
        { { .order = FIRN_TEXT_INIT("id nulls") }, FIRN_USAGE, "FIRST or LAST" },
        { { .order = FIRN_TEXT_INIT("'id'") }, FIRN_USAGE, "a column" },
    };
    struct world world;
    open_world(&world, state);
    struct firn_text location = world.fixture.table.metadata_location;
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_write_order_report report;
        firn_status status = firn_write_order_set(world.op, &world.fixture.table, &cases[i].args, &report);
        CHECK(status == cases[i].status && strstr(world.op->error.text, cases[i].error), "%zu: %s", i,
              world.op->error.text);
    }
    assert_true(firn_text_same(location, world.fixture.table.metadata_location));
    close_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(properties_are_set_and_unset),
        TEST(what_is_no_property_is_refused),
        TEST(orders_are_added_once),
        TEST(bad_orders_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
