/* Numbers as people read them. */
#include "firn/measure.h"

#include "base/math.h"

#include <inttypes.h>

struct firn_text firn_measure_bytes(struct firn_arena *arena, uint64_t bytes)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    size_t unit = 0;
    double value = (double)bytes;
    while (value >= 1023.95 && unit + 1 < FIRN_COUNT_OF(units)) {
        value /= 1024;
        unit++;
    }
    return firn_text_format(arena, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

struct firn_text firn_measure_count(struct firn_arena *arena, int64_t count)
{
    struct firn_text plain = firn_text_format(arena, "%" PRId64, count);
    size_t sign = count < 0, digits = plain.len - sign, commas = (digits - 1) / 3;
    char *text = firn_arena_alloc(arena, plain.len + commas + 1);
    size_t at = 0;
    for (size_t i = 0; i < plain.len; i++) {
        if (i > sign && (plain.len - i) % 3 == 0)
            text[at++] = ',';
        text[at++] = plain.data[i];
    }
    return (struct firn_text){ text, at };
}

struct firn_text firn_measure_duration(struct firn_arena *arena, int64_t ms)
{
    if (ms < 1000)
        return firn_text_format(arena, "%" PRId64 " ms", ms);
    if (ms < 60000)
        return firn_text_format(arena, "%.1f s", (double)ms / 1000);
    int64_t seconds = ms / 1000, hours = seconds / 3600;
    if (hours == 0)
        return firn_text_format(arena, "%" PRId64 " min %02" PRId64 " s", seconds / 60, seconds % 60);
    if (hours < 24)
        return firn_text_format(arena, "%" PRId64 " h %02" PRId64 " min", hours, seconds / 60 % 60);
    return firn_text_format(arena, "%" PRId64 " d %" PRId64 " h", hours / 24, hours % 24);
}
