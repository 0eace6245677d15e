/* Waiting between attempts of a commit, and between looks at a commit of unknown outcome.
 * Reference: procedures.md, 3.1; table properties commit.retry.* and commit.status-check.*. */
#include "catalog/catalog.h"

#include "base/math.h"

static firn_status read_number(struct firn_op *op, const struct firn_metadata *metadata, const char *group,
                               const char *key, int64_t fallback, int64_t *out)
{
    struct firn_text name = firn_text_format(op->arena, "commit.%s.%s", group, key);
    FIRN_TRY(firn_property_i64(op, metadata, name.data, fallback, out));
    if (*out < 0 || *out > INT32_MAX)
        return firn_fail(op, FIRN_USAGE, "table property %s is %" PRId64 ", not 0 to %d", name.data, *out, INT32_MAX);
    return FIRN_OK;
}

static firn_status read_policy(struct firn_op *op, const struct firn_metadata *metadata, const char *group,
                               struct firn_retry_policy fallback, struct firn_retry_policy *out)
{
    int64_t retries;
    FIRN_TRY(read_number(op, metadata, group, "num-retries", fallback.retries, &retries));
    FIRN_TRY(read_number(op, metadata, group, "min-wait-ms", fallback.wait_ms_min, &out->wait_ms_min));
    FIRN_TRY(read_number(op, metadata, group, "max-wait-ms", fallback.wait_ms_max, &out->wait_ms_max));
    FIRN_TRY(read_number(op, metadata, group, "total-timeout-ms", fallback.total_ms_max, &out->total_ms_max));
    out->retries = (int32_t)retries;
    return FIRN_OK;
}

firn_status firn_retry_policy_of(struct firn_op *op, const struct firn_metadata *metadata,
                                 struct firn_retry_policy *out)
{
    static const struct firn_retry_policy fallback = { 4, 100, 60000, 1800000 };
    return read_policy(op, metadata, "retry", fallback, out);
}

firn_status firn_status_check_policy_of(struct firn_op *op, const struct firn_metadata *metadata,
                                        struct firn_retry_policy *out)
{
    static const struct firn_retry_policy fallback = { 3, 1000, 60000, 1800000 };
    return read_policy(op, metadata, "status-check", fallback, out);
}

/* min x 2^(attempt - 1), at most max, and up to a tenth more so that racing writers part. */
static int64_t wait_ms(struct firn_op *op, const struct firn_retry_policy *policy, int32_t attempt)
{
    int64_t wait = policy->wait_ms_min;
    for (int32_t i = 1; i < attempt && wait < policy->wait_ms_max; i++)
        wait *= 2;
    wait = FIRN_MIN(wait, policy->wait_ms_max);
    uint32_t random;
    op->env->random(op->env->context, &random, sizeof random);
    return wait + (int64_t)random % (wait / 10 + 1);
}

bool firn_retry_wait(struct firn_op *op, const struct firn_retry_policy *policy, int32_t attempt, int64_t started_ms)
{
    int64_t now_ms = op->env->monotonic_ms(op->env->context);
    if (attempt > policy->retries || (attempt > 1 && now_ms - started_ms > policy->total_ms_max))
        return false;
    int64_t wait = wait_ms(op, policy, attempt);
    if (op->deadline_ms != INT64_MAX && wait > op->deadline_ms - now_ms)
        return false;
    op->env->sleep_ms(op->env->context, wait);
    return !(op->env->stop && atomic_load(op->env->stop));
}
