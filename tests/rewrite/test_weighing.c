/* When samples of row groups that come later are spared, since those before left no doubt. */
#include "check.h"

#include "base/math.h"
#include "rewrite/splice.h"

/* What a column of 1000 bytes does that shrinks by so much, in a row group of which it is a good part. */
static void weigh(struct firn_splicer *splicer, double saving)
{
    const struct firn_estimate estimate = { .copied_bytes = 1000, .encoded_bytes = 1000 * (1 - saving), true };
    firn_splicer_weigh(splicer, &estimate, 2000);
}

/* For how many row groups, whose rows take so many bytes, samples are spared. */
static int spared(struct firn_splicer *splicer, double row_bytes)
{
    int count = 0;
    while (count < 100 && firn_splicer_believes(splicer, row_bytes))
        count++;
    return count;
}

static void clear_answers_are_believed_longer_and_longer(void **state)
{
    (void)state;
    struct firn_splicer splicer = { .policy.layout = FIRN_LAYOUT_BALANCED };
    static const int wanted[] = { 0, 3, 6, 12, 24, 24 };
    for (size_t i = 0; i < FIRN_COUNT_OF(wanted); i++) {
        assert_int_equal(spared(&splicer, 8), wanted[i]);
        weigh(&splicer, 0.5);
        assert_true(splicer.smaller_encoded);
    }
}

static void close_answers_are_not_believed(void **state)
{
    (void)state;
    struct firn_splicer splicer = { .policy.layout = FIRN_LAYOUT_BALANCED };
    assert_int_equal(spared(&splicer, 8), 0);
    weigh(&splicer, 0.5);
    weigh(&splicer, 0.21);
    assert_true(splicer.smaller_encoded);
    assert_int_equal(spared(&splicer, 8), 0);
    weigh(&splicer, 0.19);
    assert_false(splicer.smaller_encoded);
    assert_int_equal(spared(&splicer, 8), 0);
    weigh(&splicer, 0);
    assert_int_equal(spared(&splicer, 8), 3);
}

static void other_rows_are_sampled(void **state)
{
    (void)state;
    struct firn_splicer splicer = { .policy.layout = FIRN_LAYOUT_SMALLEST };
    assert_int_equal(spared(&splicer, 8), 0);
    weigh(&splicer, 0.3);
    assert_true(firn_splicer_believes(&splicer, 8.5));
    assert_false(firn_splicer_believes(&splicer, 12));
    weigh(&splicer, -0.3);
    assert_false(splicer.smaller_encoded);
    assert_int_equal(spared(&splicer, 12), 3); /* as if for the first time */
}

static void nothing_known_is_nothing_to_believe(void **state)
{
    (void)state;
    struct firn_splicer splicer = { .policy.layout = FIRN_LAYOUT_BALANCED };
    const struct firn_estimate unknown = { 0 };
    assert_int_equal(spared(&splicer, 8), 0);
    weigh(&splicer, 0.5);
    firn_splicer_weigh(&splicer, &unknown, 2000);
    assert_int_equal(spared(&splicer, 8), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clear_answers_are_believed_longer_and_longer),
        cmocka_unit_test(close_answers_are_not_believed),
        cmocka_unit_test(other_rows_are_sampled),
        cmocka_unit_test(nothing_known_is_nothing_to_believe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
