/* The limits of health: their defaults, and what a person says instead. include/firn/health.h lists them. */
#include "base/math.h"
#include "maintain/health.h"

#include "format/json/json.h"

#include <float.h>

#define MIB (1024.0 * 1024)

static const struct {
    const char *name;
    bool less_is_worse;
    struct firn_health_limit limit;
} rows[] = {
    [FIRN_HEALTH_AVERAGE_FILE_BYTES] = { "average-file-bytes", true, { 128 * MIB, 32 * MIB } },
    [FIRN_HEALTH_PARTITION_FILES] = { "partition-files", false, { 500, 2000 } },
    [FIRN_HEALTH_TABLE_FILES] = { "table-files", false, { 10000, 50000 } },
    [FIRN_HEALTH_MANIFESTS] = { "manifests", false, { 50, 500 } },
    [FIRN_HEALTH_POSITION_DELETES] = { "position-deletes", false, { 0.01, 0.1 } },
    [FIRN_HEALTH_EQUALITY_DELETES] = { "equality-deletes", false, { 0.01, 0.1 } },
    [FIRN_HEALTH_DELETED_ROWS] = { "deleted-rows", false, { 0.1, 0.3 } },
    [FIRN_HEALTH_DANGLING_DELETES] = { "dangling-deletes", false, { 0, 1000 } },
    [FIRN_HEALTH_EXPIRABLE_SNAPSHOTS] = { "expirable-snapshots", false, { 100, 1000 } },
    [FIRN_HEALTH_EXPIRABLE_BYTES] = { "expirable-bytes", false, { 0.5, 2 } },
    [FIRN_HEALTH_METADATA_BYTES] = { "metadata-bytes", false, { 16 * MIB, 128 * MIB } },
    [FIRN_HEALTH_REF_DAYS] = { "ref-days", false, { 365, DBL_MAX } },
    [FIRN_HEALTH_ORPHAN_BYTES] = { "orphan-bytes", false, { 0.05, 0.5 } },
    [FIRN_HEALTH_PARTITION_BYTES] = { "partition-bytes", true, { 32 * MIB, 4 * MIB } },
    [FIRN_HEALTH_PARTITION_SKEW] = { "partition-skew", false, { 10, 100 } },
    [FIRN_HEALTH_METRICS_COVERAGE] = { "metrics-coverage", true, { 0.9, 0.5 } },
    [FIRN_HEALTH_OVERLAP] = { "overlap", false, { 0.5, 1 } },
    [FIRN_HEALTH_COMMIT_MINUTES] = { "commit-minutes", true, { 5, 1 } },
};
_Static_assert(FIRN_COUNT_OF(rows) == FIRN_HEALTH_LIMIT_COUNT, "one row a limit");

static struct firn_text names_of_limits(struct firn_op *op)
{
    struct firn_text names = FIRN_TEXT("");
    for (size_t i = 0; i < FIRN_HEALTH_LIMIT_COUNT; i++)
        names = firn_text_format(op->arena, "%.*s%s%s", FIRN_FMT(names), i ? ", " : "", rows[i].name);
    return names;
}

/* The member that "table-files.healthy" names; NULL: none. */
static double *find_member(struct firn_text key, struct firn_health_limits *limits)
{
    ptrdiff_t dot = firn_text_find_last(key, '.');
    struct firn_text side = dot < 0 ? FIRN_TEXT("") : firn_text_from(key, (size_t)dot + 1);
    for (size_t i = 0; dot >= 0 && i < FIRN_HEALTH_LIMIT_COUNT; i++)
        if (firn_text_is(firn_text_until(key, (size_t)dot), rows[i].name))
            return firn_text_is(side, "healthy") ? &limits->items[i].healthy
                   : firn_text_is(side, "ill")   ? &limits->items[i].ill
                                                 : NULL;
    return NULL;
}

static firn_status set_limit(struct firn_op *op, const struct firn_property *threshold,
                             struct firn_health_limits *limits)
{
    double *member = find_member(threshold->key, limits);
    if (!member) {
        firn_status status = firn_fail(op, FIRN_USAGE, "there is no threshold '%.*s'", FIRN_FMT(threshold->key));
        return firn_hint(op, status, "a threshold is one of these with .healthy or .ill: %.*s",
                         FIRN_FMT(names_of_limits(op)));
    }
    if (!firn_text_to_f64(threshold->value, member) || *member < 0)
        return firn_fail(op, FIRN_USAGE, "threshold %.*s is '%.*s', not a number from 0 on", FIRN_FMT(threshold->key),
                         FIRN_FMT(threshold->value));
    return FIRN_OK;
}

firn_status firn_health_limits_parse(struct firn_op *op, const struct firn_property *thresholds, size_t count,
                                     struct firn_health_limits *out)
{
    for (size_t i = 0; i < FIRN_HEALTH_LIMIT_COUNT; i++)
        out->items[i] = rows[i].limit;
    for (size_t i = 0; i < count; i++)
        FIRN_TRY(set_limit(op, &thresholds[i], out));
    for (size_t i = 0; i < FIRN_HEALTH_LIMIT_COUNT; i++) {
        const struct firn_health_limit *limit = &out->items[i];
        if (rows[i].less_is_worse ? limit->ill > limit->healthy : limit->ill < limit->healthy)
            return firn_fail(op, FIRN_USAGE, "threshold %s: ill (%g) must not be %s healthy (%g)", rows[i].name,
                             limit->ill, rows[i].less_is_worse ? "above" : "below", limit->healthy);
    }
    return FIRN_OK;
}

json_t *firn_health_limits_json(const struct firn_health_limits *limits)
{
    json_t *json = json_object();
    for (size_t i = 0; i < FIRN_HEALTH_LIMIT_COUNT; i++) {
        double ill = limits->items[i].ill;
        json_t *limit = json_object();
        firn_json_set(limit, "healthy", json_real(limits->items[i].healthy));
        firn_json_set(limit, "ill", ill == DBL_MAX ? json_null() : json_real(ill));
        firn_json_set(json, rows[i].name, limit);
    }
    return json;
}

bool firn_health_judge(const struct firn_health_limits *limits, enum firn_health_limit_id id, double value,
                       enum firn_health_level *level)
{
    struct firn_health_limit limit = limits->items[id];
    bool is_healthy = rows[id].less_is_worse ? value >= limit.healthy : value <= limit.healthy;
    bool is_ill = rows[id].less_is_worse ? value <= limit.ill : value >= limit.ill;
    *level = is_ill ? FIRN_HEALTH_ILL : FIRN_HEALTH_WARNING;
    return !is_healthy;
}
