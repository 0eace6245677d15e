/* Fitting how a dictionary grows. */
#include "rewrite/growth.h"

#include "base/math.h"

#include <math.h>
#include <stdbool.h>

/* Points between which rows about double tell the approach to a limit. */
#define DOUBLES_FROM 1.8
#define DOUBLES_TO   2.2

static bool doubles(double from, double to)
{
    return to >= DOUBLES_FROM * from && to <= DOUBLES_TO * from;
}

static double power_at(const struct firn_growth *growth, double rows)
{
    return growth->end.bytes * pow(rows / growth->end.rows, growth->exponent);
}

/* limit * (1 - m^(rows / end)) goes through half and end where m^(1/2) = bytes of end / half - 1. */
static struct firn_growth approach(struct firn_growth growth, struct firn_growth_point half)
{
    double root = growth.end.bytes / half.bytes - 1;
    growth.missing = root * root;
    growth.limit = half.bytes / (1 - root);
    return growth;
}

struct firn_growth firn_growth_fit(struct firn_growth_point quarter, struct firn_growth_point half,
                                   struct firn_growth_point end)
{
    struct firn_growth growth = { .end = end, .exponent = 1 };
    if (half.rows <= 0 || end.rows <= half.rows)
        return growth;
    double exponent = log(end.bytes / FIRN_MAX(half.bytes, 1)) / log(end.rows / half.rows);
    growth.exponent = FIRN_MIN(FIRN_MAX(exponent, 0), 1);
    bool grows = half.bytes > 0 && end.bytes > half.bytes && end.bytes < 2 * half.bytes;
    if (!grows || quarter.bytes <= 0 || !doubles(quarter.rows, half.rows) || !doubles(half.rows, end.rows))
        return growth;
    struct firn_growth limited = approach(growth, half);
    double by_power = fabs(power_at(&growth, quarter.rows) - quarter.bytes);
    double by_limit = fabs(firn_growth_bytes(&limited, quarter.rows) - quarter.bytes);
    return by_limit < by_power ? limited : growth;
}

double firn_growth_bytes(const struct firn_growth *growth, double rows)
{
    if (growth->limit > 0)
        return growth->limit * (1 - pow(growth->missing, rows / growth->end.rows));
    return power_at(growth, rows);
}

double firn_growth_rows(const struct firn_growth *growth, double bytes)
{
    if (growth->limit > 0)
        return bytes < growth->limit ? growth->end.rows * log(1 - bytes / growth->limit) / log(growth->missing)
                                     : (double)INFINITY;
    if (growth->exponent == 0 || growth->end.bytes <= 0)
        return (double)INFINITY;
    return growth->end.rows * pow(bytes / growth->end.bytes, 1 / growth->exponent);
}
