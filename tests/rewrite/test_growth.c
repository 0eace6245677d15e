/* How dictionaries grow: values that are all as frequent, and values of which some are rare. */
#include "check.h"

#include "rewrite/growth.h"

#include <math.h>

enum { VALUE_BYTES = 8 };

/* What rows bring of `distinct` values that are all as frequent. */
static struct firn_growth_point uniform(double rows, double distinct)
{
    return (struct firn_growth_point){ rows, VALUE_BYTES * distinct * (1 - exp(-rows / distinct)) };
}

static struct firn_growth_point power(double rows, double exponent)
{
    return (struct firn_growth_point){ rows, VALUE_BYTES * pow(rows, exponent) };
}

static bool is_near(double got, double wanted)
{
    return fabs(got - wanted) < 0.01 * wanted;
}

static void values_as_frequent_end(void **state)
{
    (void)state;
    for (double distinct = 1e4; distinct < 1e6; distinct *= 3) {
        const double rows = 160000;
        struct firn_growth growth =
            firn_growth_fit(uniform(rows / 4, distinct), uniform(rows / 2, distinct), uniform(rows, distinct));
        for (double later = rows; later < 1e8; later *= 2)
            assert_true(is_near(firn_growth_bytes(&growth, later), uniform(later, distinct).bytes));
        double half_of_all = VALUE_BYTES * distinct / 2;
        assert_true(is_near(firn_growth_rows(&growth, half_of_all), distinct * log(2)));
        assert_true(isinf(firn_growth_rows(&growth, VALUE_BYTES * distinct * 1.01)));
    }
}

static void rare_values_never_end(void **state)
{
    (void)state;
    for (double exponent = 0.1; exponent < 0.95; exponent += 0.1) {
        struct firn_growth growth =
            firn_growth_fit(power(1000, exponent), power(2000, exponent), power(4000, exponent));
        assert_true(growth.limit == 0);
        assert_true(is_near(growth.exponent, exponent));
        assert_true(is_near(firn_growth_bytes(&growth, 1e7), power(1e7, exponent).bytes));
        assert_true(is_near(firn_growth_rows(&growth, power(1e7, exponent).bytes), 1e7));
    }
}

static void extremes_make_sense(void **state)
{
    (void)state;
    struct firn_growth_point none = { 0 };
    struct firn_growth growth = firn_growth_fit(none, none, (struct firn_growth_point){ 100, 800 });
    assert_true(is_near(firn_growth_bytes(&growth, 1000), 8000)); /* one page: each row may bring a value */
    growth = firn_growth_fit((struct firn_growth_point){ 25, 80 }, (struct firn_growth_point){ 50, 80 },
                             (struct firn_growth_point){ 100, 80 });
    assert_true(is_near(firn_growth_bytes(&growth, 1e9), 80)); /* all there are */
    assert_true(isinf(firn_growth_rows(&growth, 1000)));
    growth = firn_growth_fit((struct firn_growth_point){ 25, 200 }, (struct firn_growth_point){ 50, 400 },
                             (struct firn_growth_point){ 100, 800 });
    assert_true(is_near(firn_growth_bytes(&growth, 1e6), 8e6)); /* each row brings one */
    assert_true(is_near(firn_growth_rows(&growth, 8e6), 1e6));
    growth = firn_growth_fit((struct firn_growth_point){ 10, 200 }, (struct firn_growth_point){ 90, 400 },
                             (struct firn_growth_point){ 100, 500 }); /* pages of very different sizes */
    assert_true(growth.limit == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_as_frequent_end),
        cmocka_unit_test(rare_values_never_end),
        cmocka_unit_test(extremes_make_sense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
