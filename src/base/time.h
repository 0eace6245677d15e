/* Calendar arithmetic (proleptic Gregorian, UTC) and ISO 8601 text. */
#ifndef FIRN_BASE_TIME_H
#define FIRN_BASE_TIME_H

#include "firn/arena.h"

#define FIRN_MICROS_PER_SECOND INT64_C(1000000)
#define FIRN_MICROS_PER_DAY    (INT64_C(86400) * FIRN_MICROS_PER_SECOND)

struct firn_civil {
    int64_t year;
    int32_t month; /* 1 to 12 */
    int32_t day;   /* 1 to 31 */
};

/* Days since 1970-01-01. */
int64_t firn_days_of_civil(struct firn_civil civil);
struct firn_civil firn_civil_of_days(int64_t days);
/* Rounds towards minus infinity; `divisor` > 0. */
int64_t firn_floor_div(int64_t value, int64_t divisor);
int64_t firn_floor_mod(int64_t value, int64_t divisor);

/* "2017-11-16" to days; also years of more digits and a leading '-'. */
bool firn_date_parse(struct firn_text text, int32_t *days);
/* "22:31", "22:31:08", "22:31:08.123456789" to nanoseconds of the day. */
bool firn_time_parse(struct firn_text text, int64_t *nanos);
/* A date, or date and time joined by 'T' or one blank, then optionally 'Z' or an offset "+01:00". `has_zone` tells
 * whether one was written; `micros` is UTC then, local otherwise. `nanos_left` (0 to 999, may be NULL) are the
 * nanoseconds beyond the microsecond. */
bool firn_timestamp_parse(struct firn_text text, int64_t *micros, int32_t *nanos_left, bool *has_zone);

/* ISO text: "2017-11-16". */
struct firn_text firn_date_text(struct firn_arena *arena, int64_t days);
/* "22:31:08" with as many fraction digits as needed (0 to 9). */
struct firn_text firn_time_text(struct firn_arena *arena, int64_t nanos_of_day);
/* "2017-11-16T22:31:08.5" + `separator` between the parts ('T' or ' '); value in units of 1/`per_second` s. */
struct firn_text firn_timestamp_text(struct firn_arena *arena, int64_t value, int64_t per_second, char separator);

#endif
