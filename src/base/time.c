/* Calendar arithmetic and ISO 8601 text. */
#include "base/time.h"

int64_t firn_floor_div(int64_t value, int64_t divisor)
{
    int64_t quotient = value / divisor;
    return value % divisor < 0 ? quotient - 1 : quotient;
}

int64_t firn_floor_mod(int64_t value, int64_t divisor)
{
    int64_t remainder = value % divisor;
    return remainder < 0 ? remainder + divisor : remainder;
}

/* Years are taken to start on 1 March, so that the leap day comes last; 400 years have 146097 days. */
int64_t firn_days_of_civil(struct firn_civil civil)
{
    int64_t year = civil.month <= 2 ? civil.year - 1 : civil.year;
    int64_t era = firn_floor_div(year, 400);
    int64_t year_of_era = year - era * 400;
    int64_t month_from_march = civil.month > 2 ? civil.month - 3 : civil.month + 9;
    int64_t day_of_year = (153 * month_from_march + 2) / 5 + civil.day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

struct firn_civil firn_civil_of_days(int64_t days)
{
    int64_t from_march_0000 = days + 719468;
    int64_t era = firn_floor_div(from_march_0000, 146097);
    int64_t day_of_era = from_march_0000 - era * 146097;
    int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month_from_march = (5 * day_of_year + 2) / 153;
    struct firn_civil civil = {
        .year = era * 400 + year_of_era,
        .month = (int32_t)(month_from_march < 10 ? month_from_march + 3 : month_from_march - 9),
        .day = (int32_t)(day_of_year - (153 * month_from_march + 2) / 5 + 1),
    };
    civil.year += civil.month <= 2;
    return civil;
}

static bool digits(struct firn_text text, int64_t *out)
{
    return text.len > 0 && text.data[0] != '-' && firn_text_to_i64(text, out);
}

static bool leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static bool civil_valid(struct firn_civil civil)
{
    static const int8_t month_days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    if (civil.month < 1 || civil.month > 12 || civil.day < 1)
        return false;
    return civil.day <= month_days[civil.month - 1] + (civil.month == 2 && leap(civil.year));
}

bool firn_date_parse(struct firn_text text, int32_t *days)
{
    bool negative = text.len > 0 && text.data[0] == '-';
    struct firn_text unsigned_text = negative ? firn_text_from(text, 1) : text;
    ptrdiff_t dash = firn_text_find(unsigned_text, '-');
    int64_t year, month, day;
    if (dash < 4 || dash > 7 || unsigned_text.len != (size_t)dash + 6 || unsigned_text.data[dash + 3] != '-')
        return false;
    if (!digits(firn_text_until(unsigned_text, (size_t)dash), &year) ||
        !digits((struct firn_text){ unsigned_text.data + dash + 1, 2 }, &month) ||
        !digits((struct firn_text){ unsigned_text.data + dash + 4, 2 }, &day))
        return false;
    struct firn_civil civil = { .year = negative ? -year : year, .month = (int32_t)month, .day = (int32_t)day };
    if (!civil_valid(civil))
        return false;
    int64_t value = firn_days_of_civil(civil);
    if (value < INT32_MIN || value > INT32_MAX)
        return false;
    *days = (int32_t)value;
    return true;
}

/* "123" to 123000000: a fraction of 1 to 9 digits as nanoseconds. */
static bool parse_fraction(struct firn_text text, int64_t *nanos)
{
    if (text.len == 0 || text.len > 9 || !digits(text, nanos))
        return false;
    for (size_t i = text.len; i < 9; i++)
        *nanos *= 10;
    return true;
}

bool firn_time_parse(struct firn_text text, int64_t *nanos)
{
    int64_t hour, minute, second = 0, fraction = 0;
    if (text.len < 5 || text.data[2] != ':')
        return false;
    if (!digits(firn_text_until(text, 2), &hour) || !digits((struct firn_text){ text.data + 3, 2 }, &minute))
        return false;
    if (text.len > 5) {
        if (text.len < 8 || text.data[5] != ':' || !digits((struct firn_text){ text.data + 6, 2 }, &second))
            return false;
        if (text.len > 8 && (text.data[8] != '.' || !parse_fraction(firn_text_from(text, 9), &fraction)))
            return false;
    }
    if (hour > 23 || minute > 59 || second > 59)
        return false;
    *nanos = ((hour * 60 + minute) * 60 + second) * 1000000000 + fraction;
    return true;
}

/* "+01:00" or "-0530" or "+01" at the end of a time; minutes east of UTC. */
static bool parse_offset(struct firn_text text, int64_t *minutes)
{
    int64_t hour, minute = 0;
    if (text.len < 3 || !digits((struct firn_text){ text.data + 1, 2 }, &hour))
        return false;
    struct firn_text rest = firn_text_from(text, 3);
    if (rest.len && rest.data[0] == ':')
        rest = firn_text_from(rest, 1);
    if (rest.len && (rest.len != 2 || !digits(rest, &minute)))
        return false;
    if (hour > 18 || minute > 59)
        return false;
    *minutes = (hour * 60 + minute) * (text.data[0] == '-' ? -1 : 1);
    return true;
}

bool firn_timestamp_parse(struct firn_text text, int64_t *micros, int32_t *nanos_left, bool *has_zone)
{
    int32_t days;
    int64_t nanos = 0, offset_minutes = 0;
    ptrdiff_t split = firn_text_find(text, 'T');
    if (split < 0)
        split = firn_text_find(text, ' ');
    *has_zone = false;
    if (!firn_date_parse(split < 0 ? text : firn_text_until(text, (size_t)split), &days))
        return false;
    if (split >= 0) {
        struct firn_text time = firn_text_from(text, (size_t)split + 1);
        size_t zone = 0;
        while (zone < time.len && time.data[zone] != 'Z' && time.data[zone] != '+' && time.data[zone] != '-')
            zone++;
        if (zone < time.len) {
            *has_zone = true;
            struct firn_text offset = firn_text_from(time, zone);
            if (!firn_text_is(offset, "Z") && (offset.data[0] == 'Z' || !parse_offset(offset, &offset_minutes)))
                return false;
        }
        if (!firn_time_parse(firn_text_until(time, zone), &nanos))
            return false;
    }
    int64_t value;
    if (__builtin_mul_overflow((int64_t)days, FIRN_MICROS_PER_DAY, &value) ||
        __builtin_add_overflow(value, nanos / 1000 - offset_minutes * 60 * FIRN_MICROS_PER_SECOND, &value))
        return false;
    *micros = value;
    if (nanos_left)
        *nanos_left = (int32_t)(nanos % 1000);
    return true;
}

struct firn_text firn_date_text(struct firn_arena *arena, int64_t days)
{
    struct firn_civil civil = firn_civil_of_days(days);
    const char *sign = civil.year < 0 ? "-" : "";
    int64_t year = civil.year < 0 ? -civil.year : civil.year;
    return firn_text_format(arena, "%s%04lld-%02d-%02d", sign, (long long)year, civil.month, civil.day);
}

struct firn_text firn_time_text(struct firn_arena *arena, int64_t nanos_of_day)
{
    int64_t seconds = nanos_of_day / 1000000000, fraction = nanos_of_day % 1000000000;
    struct firn_text text = firn_text_format(arena, "%02d:%02d:%02d.%09d", (int)(seconds / 3600),
                                             (int)(seconds / 60 % 60), (int)(seconds % 60), (int)fraction);
    while (text.len > 8 && text.data[text.len - 1] == '0')
        text.len--;
    if (text.data[text.len - 1] == '.')
        text.len--;
    return text;
}

struct firn_text firn_timestamp_text(struct firn_arena *arena, int64_t value, int64_t per_second, char separator)
{
    int64_t seconds = firn_floor_div(value, per_second);
    int64_t fraction = firn_floor_mod(value, per_second) * (1000000000 / per_second);
    int64_t days = firn_floor_div(seconds, 86400);
    struct firn_text date = firn_date_text(arena, days);
    struct firn_text time = firn_time_text(arena, firn_floor_mod(seconds, 86400) * 1000000000 + fraction);
    return firn_text_format(arena, "%.*s%c%.*s", FIRN_FMT(date), separator, FIRN_FMT(time));
}
