/* The map of hashes: what was added is found, with the number it had first, however much it grows. */
#include "maintain/key_map.h"

#include "check.h"

enum { KEYS = 5000 };

static struct firn_hash128 key_of(int64_t number)
{
    return firn_hash128((struct firn_bytes){ (const uint8_t *)&number, sizeof number }, 1);
}

static void what_was_added_is_found(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_key_map map = { 0 };
    bool is_new;
    CHECK(!firn_key_map_find(&map, key_of(0)), "empty");
    for (int64_t i = 0; i < KEYS; i++) {
        CHECK_OK(op, firn_key_map_add(op, &map, key_of(i), i, &is_new));
        CHECK(is_new, "%" PRId64, i);
        CHECK_OK(op, firn_key_map_add(op, &map, key_of(i / 2), -1, &is_new));
        CHECK(!is_new, "%" PRId64 " once more", i / 2);
    }
    for (int64_t i = 0; i < KEYS; i++)
        CHECK(*firn_key_map_find(&map, key_of(i)) == i, "%" PRId64, i);
    CHECK(map.count == KEYS && !firn_key_map_find(&map, key_of(KEYS)), "%zu keys", map.count);
    firn_key_map_done(&map);
}

static void the_hash_of_zeros_is_a_key_too(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_key_map map = { 0 };
    bool is_new;
    CHECK_OK(op, firn_key_map_add(op, &map, (struct firn_hash128){ 0 }, 7, &is_new));
    CHECK(is_new && *firn_key_map_find(&map, (struct firn_hash128){ 0 }) == 7, "found");
    firn_key_map_done(&map);
}

static void growth_is_charged_to_the_budget(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_budget budget = { .limit_bytes = 1 << 16 };
    struct firn_key_map map = { 0 };
    firn_status status = FIRN_OK;
    bool is_new;
    op->budget = &budget;
    for (int64_t i = 0; i < KEYS && status == FIRN_OK; i++)
        status = firn_key_map_add(op, &map, key_of(i), i, &is_new);
    CHECK(status == FIRN_LIMIT, "%s", firn_status_name(status));
    firn_key_map_done(&map);
    CHECK(atomic_load(&budget.used_bytes) == 0, "given back");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_was_added_is_found),
        TEST(the_hash_of_zeros_is_a_key_too),
        TEST(growth_is_charged_to_the_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
