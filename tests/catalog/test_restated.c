/* Commits that say deletes anew of data files that stay, and what others may not have done meanwhile. */
#include "conflict_world.h"

/* Equality delete `e` reaches data files `x` and `a`; what it deletes of them is to become vectors. */
struct conversion {
    struct world world;
    struct firn_data_file x, a, e, n;
    struct firn_snapshot_change compaction; /* of x to n, planned before `e` came */
    struct firn_data_file vectors[2], files[2];
    struct firn_snapshot_change change;
};

static void begin_conversion(struct firn_op *op, struct conversion *conversion)
{
    struct world *world = &conversion->world;
    begin(op, world, "{\"format-version\": \"3\"}");
    conversion->x = conversion->files[0] = append_one(op, world, "x");
    conversion->a = conversion->files[1] = append_one(op, world, "a");
    conversion->n = fixture_file(op, &world->fixture, "n", 3);
    conversion->compaction = plan(world, &conversion->x, 1, &conversion->n);
    conversion->e = equality_delete(op, world, "e");
    add_deletes(op, world, &conversion->e, 1);
    conversion->vectors[0] = vector_of(op, world, "p", 4, &conversion->x);
    conversion->vectors[1] = vector_of(op, world, "p", 44, &conversion->a);
    conversion->change = plan(world, NULL, 0, NULL);
    conversion->change.operation = FIRN_TEXT("overwrite");
    conversion->change.added_deletes = conversion->vectors;
    conversion->change.added_delete_count = 2;
    conversion->change.spent_deletes = &conversion->e;
    conversion->change.spent_delete_count = 1;
    conversion->change.restated = (struct firn_restated_files){ conversion->files, 2 };
}

static void check_conflict(struct firn_op *op, struct conversion *conversion, const char *first, const char *second)
{
    CHECK_STATUS(op, FIRN_CONFLICT, commit(op, &conversion->world, &conversion->change));
    CHECK(strstr(op->error.text, first) && strstr(op->error.text, second), "%s", op->error.text);
}

static void newer_files_and_moved_entries_are_no_conflict(void **state)
{
    struct firn_op *op = test_op(state);
    struct conversion conversion;
    begin_conversion(op, &conversion);
    struct firn_data_file b = append_one(op, &conversion.world, "b");
    struct firn_snapshot_change removal = plan(&conversion.world, &b, 1, NULL);
    CHECK_OK(op, commit(op, &conversion.world, &removal)); /* joins manifests */
    append_one(op, &conversion.world, "c");
    CHECK_OK(op, commit(op, &conversion.world, &conversion.change));
    check_live(op, &conversion.world, "a c x | p p");
    end(op, &conversion.world);
}

static void a_replaced_file_is_a_conflict(void **state)
{
    struct firn_op *op = test_op(state);
    struct conversion conversion;
    begin_conversion(op, &conversion);
    CHECK_OK(op, commit(op, &conversion.world, &conversion.compaction));
    check_conflict(op, &conversion, conversion.x.path.data, "was removed or replaced meanwhile");
    check_live(op, &conversion.world, "a n | e");
    end(op, &conversion.world);
}

/* A compaction that began before the equality delete came gives its outputs a number that the delete reaches. */
static void a_file_that_came_within_reach_keeps_the_delete(void **state)
{
    struct firn_op *op = test_op(state);
    struct conversion conversion;
    begin_conversion(op, &conversion);
    CHECK_OK(op, commit(op, &conversion.world, &conversion.compaction));
    conversion.change.added_deletes = &conversion.vectors[1];
    conversion.change.added_delete_count = 1;
    conversion.change.restated = (struct firn_restated_files){ &conversion.files[1], 1 };
    CHECK_OK(op, commit(op, &conversion.world, &conversion.change));
    check_live(op, &conversion.world, "a n | e p");
    end(op, &conversion.world);
}

static void a_vector_given_meanwhile_is_a_conflict(void **state)
{
    struct firn_op *op = test_op(state);
    for (int replaced = 0; replaced < 2; replaced++) {
        struct world world;
        begin(op, &world, "{\"format-version\": \"3\"}");
        struct firn_data_file a = append_one(op, &world, "a"), b = append_one(op, &world, "b");
        struct firn_data_file old = vector_of(op, &world, "old", 4, &a), of_b = vector_of(op, &world, "b-v", 4, &b);
        add_deletes(op, &world, &old, 1);
        struct firn_data_file new = vector_of(op, &world, "new", 4, &a), other = vector_of(op, &world, "other", 4, &a);
        struct firn_snapshot_change change = plan(&world, NULL, 0, NULL);
        change.added_deletes = &new;
        change.added_delete_count = 1;
        change.removed_deletes = &old;
        change.removed_delete_count = 1;
        change.restated = (struct firn_restated_files){ &a, 1 };
        struct firn_snapshot_change theirs = change;
        theirs.added_deletes = &other;
        theirs.restated.count = 0;
        add_deletes(op, &world, &of_b, 1);
        if (replaced)
            CHECK_OK(op, commit(op, &world, &theirs));
        CHECK_STATUS(op, replaced ? FIRN_CONFLICT : FIRN_OK, commit(op, &world, &change));
        if (replaced)
            CHECK(strstr(op->error.text, a.path.data) && strstr(op->error.text, "was given a deletion vector"), "%s",
                  op->error.text);
        check_live(op, &world, replaced ? "a b | b-v other" : "a b | b-v new");
        end(op, &world);
    }
}

/* Deletes dropped because their data file was gone would be missed where a rollback brought it back. */
static void history_counts_for_deletes_alone(void **state)
{
    struct firn_op *op = test_op(state);
    struct conversion conversion;
    begin_conversion(op, &conversion);
    conversion.change.restated.count = 0;
    conversion.change.base_snapshot_id = 12345;
    check_conflict(op, &conversion, "12345", "no longer has in its history");
    end(op, &conversion.world);
}

/* Position delete files do not fit a table that became version 3 since they were written. */
static void deletes_must_fit_the_format_of_the_head(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    begin(op, &world, NULL);
    struct firn_data_file a = append_one(op, &world, "a"), p = position_delete(op, &world, "p", &a);
    struct firn_snapshot_change change = plan(&world, NULL, 0, NULL);
    change.operation = FIRN_TEXT("overwrite");
    change.added_deletes = &p;
    change.added_delete_count = 1;
    struct firn_table other = world.fixture.table;
    json_t *updates, *requirements = firn_json_own(op->arena, json_array());
    CHECK_OK(op, firn_json_parse(op, FIRN_TEXT("[{\"action\": \"upgrade-format-version\", \"format-version\": 3}]"),
                                 "updates", &updates));
    CHECK_OK(op, firn_catalog_commit(op, &other, requirements, updates));
    CHECK_STATUS(op, FIRN_USAGE, commit(op, &world, &change));
    check_live(op, &world, "a");
    end(op, &world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(newer_files_and_moved_entries_are_no_conflict),
        TEST(a_replaced_file_is_a_conflict),
        TEST(a_file_that_came_within_reach_keeps_the_delete),
        TEST(a_vector_given_meanwhile_is_a_conflict),
        TEST(history_counts_for_deletes_alone),
        TEST(deletes_must_fit_the_format_of_the_head),
    };
    return cmocka_run_group_tests_name("restated files", tests, NULL, NULL);
}
