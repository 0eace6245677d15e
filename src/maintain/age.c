/* Ages and points in time in option values. */
#include "maintain/age.h"

#include "base/time.h"

#include "base/math.h"

static const struct {
    const char *symbol, *name; /* the name also with an s */
    int64_t ms;
} units[] = {
    { "s", "second", 1000 },         { "m", "minute", 60 * INT64_C(1000) }, { "h", "hour", FIRN_MS_PER_HOUR },
    { "d", "day", FIRN_MS_PER_DAY }, { "w", "week", 7 * FIRN_MS_PER_DAY },
};

static size_t digit_count(struct firn_text text)
{
    size_t count = 0;
    while (count < text.len && text.data[count] >= '0' && text.data[count] <= '9')
        count++;
    return count;
}

static bool is_unit(struct firn_text word, size_t index)
{
    struct firn_text name = firn_text_of(units[index].name);
    return firn_text_is(word, units[index].symbol) || firn_text_same_nocase(word, name) ||
           (word.len == name.len + 1 && (word.data[name.len] | 0x20) == 's' &&
            firn_text_same_nocase(firn_text_until(word, name.len), name));
}

/* False for a text that is no age. Digits that do not fit are an age beyond all others, not an error: whoever asks for
 * files older than that gets none. */
static bool parse_age(struct firn_text text, int64_t *ms)
{
    int64_t count;
    size_t digits = digit_count(text);
    struct firn_text number = firn_text_until(text, digits), unit = firn_text_trim(firn_text_from(text, digits));
    for (size_t i = 0; digits > 0 && i < FIRN_COUNT_OF(units); i++) {
        if (!is_unit(unit, i))
            continue;
        if (!firn_text_to_i64(number, &count) || __builtin_mul_overflow(count, units[i].ms, ms))
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
