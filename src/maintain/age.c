/* Ages and points in time in option values. */
#include "maintain/age.h"

#include "base/time.h"

#include "base/math.h"

static const struct {
    char suffix;
    int64_t ms;
} units[] = {
    { 's', 1000 },
    { 'm', 60 * INT64_C(1000) },
    { 'h', FIRN_MS_PER_HOUR },
    { 'd', FIRN_MS_PER_DAY },
    { 'w', 7 * FIRN_MS_PER_DAY },
};

static bool is_number(struct firn_text text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
    return text.len > 0;
}

/* False for a text that is no age. Digits that do not fit are an age beyond all others, not an error: whoever asks for
 * files older than that gets none. */
static bool parse_age(struct firn_text text, int64_t *ms)
{
    int64_t count;
    if (text.len < 2 || !is_number(firn_text_until(text, text.len - 1)))
        return false;
    for (size_t i = 0; i < FIRN_COUNT_OF(units); i++) {
        if (text.data[text.len - 1] != units[i].suffix)
            continue;
        if (!firn_text_to_i64(firn_text_until(text, text.len - 1), &count) ||
            __builtin_mul_overflow(count, units[i].ms, ms))
            *ms = INT64_MAX;
        return true;
    }
    return false;
}

firn_status firn_age_parse(struct firn_op *op, const char *option, struct firn_text text, int64_t *ms)
{
    if (parse_age(firn_text_trim(text), ms))
        return FIRN_OK;
    return firn_fail(op, FIRN_USAGE, "--%s: '%.*s' is not an age such as 3d, 36h, 90m or 2w", option, FIRN_FMT(text));
}

firn_status firn_point_in_time_parse(struct firn_op *op, const char *option, struct firn_text text, int64_t now_ms,
                                     int64_t *ms)
{
    int64_t age, micros;
    bool has_zone;
    struct firn_text trimmed = firn_text_trim(text);
    if (parse_age(trimmed, &age)) {
        if (__builtin_sub_overflow(now_ms, age, ms))
            *ms = INT64_MIN;
        return FIRN_OK;
    }
    if (firn_timestamp_parse(trimmed, &micros, NULL, &has_zone)) {
        *ms = firn_floor_div(micros, 1000);
        return FIRN_OK;
    }
    return firn_fail(op, FIRN_USAGE,
                     "--%s: '%.*s' is neither a timestamp such as '2026-11-01 10:30:00' (UTC) nor an age such as 3d",
                     option, FIRN_FMT(text));
}
