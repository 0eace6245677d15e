/* Values of Parquet columns as DuckDB prints them. parquet-format, "Logical Types". */
#include "maintain/leaf_text.h"

#include "base/math.h"
#include "base/time.h"
#include "base/uuid.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define JULIAN_DAY_OF_EPOCH 2440588
#define NANOS_PER_DAY       (INT64_C(86400) * 1000000000)

/* Printable ASCII as it is but for quotes and the backslash, all else as \xHH. */
static struct firn_text bytes_text(struct firn_arena *arena, struct firn_bytes value)
{
    char *text = firn_arena_alloc(arena, value.len * 4 + 1);
    size_t len = 0;
    for (size_t i = 0; i < value.len; i++) {
        uint8_t byte = value.data[i];
        if (byte >= ' ' && byte < 0x7f && !strchr("\\'\"", byte))
            text[len++] = (char)byte;
        else
            len += (size_t)snprintf(text + len, sizeof "\\xFF", "\\x%02X", byte);
    }
    return (struct firn_text){ text, len };
}

/* The fewest digits that read back to the same number. */
static struct firn_text real_text(struct firn_arena *arena, double value, bool is_float)
{
    char digits[40];
    if (isnan(value))
        return FIRN_TEXT("nan");
    if (isinf(value))
        return value < 0 ? FIRN_TEXT("-inf") : FIRN_TEXT("inf");
    for (int precision = 0; precision < 17; precision++) {
        snprintf(digits, sizeof digits, "%.*e", precision, value);
        if (is_float ? strtof(digits, NULL) == (float)value : strtod(digits, NULL) == value)
            break;
    }
    char *exponent_at = strchr(digits, 'e');
    int exponent = atoi(exponent_at + 1);
    int fraction = (int)(exponent_at - digits) - (digits[0] == '-') - 2; /* digits behind the point */
    if (exponent < -4 || exponent >= 16)
        return firn_text_format(arena, "%s", digits);
    return firn_text_format(arena, "%.*f", FIRN_MAX(FIRN_MAX(fraction, 0) - exponent, 1), value);
}

static struct firn_text float16_text(struct firn_arena *arena, const uint8_t *value)
{
    unsigned bits = value[0] | (unsigned)value[1] << 8;
    int exponent = bits >> 10 & 31;
    double fraction = bits & 1023;
    double magnitude = exponent == 31  ? (fraction > 0 ? NAN : INFINITY)
                       : exponent == 0 ? ldexp(fraction, -24)
                                       : ldexp(fraction + 1024, exponent - 25);
    return real_text(arena, bits >> 15 ? -magnitude : magnitude, true);
}

/* Divides a big-endian number by ten in place; gives the remainder. */
static unsigned divide_by_ten(uint8_t *number, size_t len)
{
    unsigned remainder = 0;
    for (size_t i = 0; i < len; i++) {
        unsigned part = remainder << 8 | number[i];
        number[i] = (uint8_t)(part / 10);
        remainder = part % 10;
    }
    return remainder;
}

static bool is_zero(const uint8_t *number, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (number[i])
            return false;
    return true;
}

/* Two's complement, big-endian, of any length. There is no zero before the point where the type has no digit there. */
static struct firn_text decimal_text(struct firn_arena *arena, struct firn_bytes value,
                                     const struct firn_logical_type *logical)
{
    int32_t scale = logical->scale;
    int32_t digits_min = FIRN_MIN(scale + 1, FIRN_MAX(logical->precision, 1));
    uint8_t *number = firn_arena_alloc(arena, value.len + 1);
    memcpy(number, value.data, value.len);
    bool is_negative = value.len > 0 && number[0] & 0x80;
    unsigned carry = 1;
    for (size_t i = value.len; is_negative && i-- > 0;) {
        carry += (uint8_t)~number[i];
        number[i] = (uint8_t)carry;
        carry >>= 8;
    }
    size_t capacity = value.len * 3 + (size_t)scale + 4;
    char *text = firn_arena_alloc(arena, capacity);
    size_t at = capacity;
    for (int32_t digits = 0; digits < digits_min || !is_zero(number, value.len);) {
        text[--at] = (char)('0' + divide_by_ten(number, value.len));
        if (++digits == scale)
            text[--at] = '.';
    }
    if (is_negative)
        text[--at] = '-';
    return (struct firn_text){ text + at, capacity - at };
}

static struct firn_text decimal_of_i64(struct firn_arena *arena, int64_t value, const struct firn_logical_type *logical)
{
    uint8_t bytes[8];
    firn_store_be64(bytes, (uint64_t)value);
    return decimal_text(arena, (struct firn_bytes){ bytes, 8 }, logical);
}

/* Years before the first are counted as history does. */
static struct firn_text days_text(struct firn_arena *arena, int64_t days)
{
    struct firn_civil civil = firn_civil_of_days(days);
    bool before_christ = civil.year <= 0;
    return firn_text_format(arena, "%04" PRId64 "-%02" PRId32 "-%02" PRId32 "%s",
                            before_christ ? 1 - civil.year : civil.year, civil.month, civil.day,
                            before_christ ? " (BC)" : "");
}

static struct firn_text instant_text(struct firn_arena *arena, int64_t days, int64_t nanos_of_day, bool is_utc)
{
    return firn_text_format(arena, "%.*s %.*s%s", FIRN_FMT(days_text(arena, days)),
                            FIRN_FMT(firn_time_text(arena, nanos_of_day)), is_utc ? "+00" : "");
}

static int64_t units_per_second(enum firn_time_unit unit)
{
    static const int64_t per_second[] = { 1000, 1000000, 1000000000 };
    return per_second[unit];
}

static struct firn_text timestamp_text(struct firn_arena *arena, int64_t value, const struct firn_logical_type *logical)
{
    int64_t per_day = 86400 * units_per_second(logical->unit);
    return instant_text(arena, firn_floor_div(value, per_day),
                        firn_floor_mod(value, per_day) * (NANOS_PER_DAY / per_day), logical->adjusted_to_utc);
}

static struct firn_text time_text(struct firn_arena *arena, int64_t value, const struct firn_logical_type *logical)
{
    int64_t per_day = 86400 * units_per_second(logical->unit);
    if (value < 0 || value > per_day) /* no time of the day */
        return firn_text_format(arena, "%" PRId64, value);
    return firn_text_format(arena, "%.*s%s", FIRN_FMT(firn_time_text(arena, value * (NANOS_PER_DAY / per_day))),
                            logical->adjusted_to_utc ? "+00" : "");
}

static struct firn_text integer_text(struct firn_arena *arena, const struct firn_parquet_node *leaf, int64_t value)
{
    const struct firn_logical_type *logical = &leaf->logical;
    switch (logical->kind) {
    case FIRN_LOGICAL_DECIMAL:
        return decimal_of_i64(arena, value, logical);
    case FIRN_LOGICAL_DATE:
        return days_text(arena, value);
    case FIRN_LOGICAL_TIME:
        return time_text(arena, value, logical);
    case FIRN_LOGICAL_TIMESTAMP:
        return timestamp_text(arena, value, logical);
    case FIRN_LOGICAL_INTEGER:
        if (!logical->is_signed)
            return firn_text_format(arena, "%" PRIu64,
                                    leaf->type == FIRN_PARQUET_INT32 ? (uint64_t)(uint32_t)value : (uint64_t)value);
        /* fall through */
    default:
        return firn_text_format(arena, "%" PRId64, value);
    }
}

static struct firn_text int96_text(struct firn_arena *arena, const uint8_t *value)
{
    uint64_t nanos_of_day = firn_load_le64(value);
    int64_t days = (int64_t)firn_load_le32(value + 8) - JULIAN_DAY_OF_EPOCH;
    return instant_text(arena, days + (int64_t)(nanos_of_day / NANOS_PER_DAY), (int64_t)(nanos_of_day % NANOS_PER_DAY),
                        false);
}

static struct firn_text double_text(struct firn_arena *arena, const uint8_t *at)
{
    double value;
    memcpy(&value, at, sizeof value);
    return real_text(arena, value, false);
}

static struct firn_text float_text(struct firn_arena *arena, const uint8_t *at)
{
    float value;
    memcpy(&value, at, sizeof value);
    return real_text(arena, value, true);
}

static struct firn_text uuid_text(struct firn_arena *arena, const uint8_t *at)
{
    struct firn_uuid uuid;
    memcpy(uuid.bytes, at, sizeof uuid.bytes);
    return firn_uuid_text(arena, uuid);
}

static struct firn_text binary_text(struct firn_arena *arena, const struct firn_parquet_node *leaf,
                                    struct firn_bytes value)
{
    switch (leaf->logical.kind) {
    case FIRN_LOGICAL_STRING:
    case FIRN_LOGICAL_ENUM:
    case FIRN_LOGICAL_JSON:
        return firn_text_copy(arena, firn_text_of_bytes(value));
    case FIRN_LOGICAL_DECIMAL:
        return decimal_text(arena, value, &leaf->logical);
    case FIRN_LOGICAL_UUID:
        return uuid_text(arena, value.data);
    case FIRN_LOGICAL_FLOAT16:
        return float16_text(arena, value.data);
    default:
        return bytes_text(arena, value);
    }
}

/* Bytes of one value; 0: any number. */
static size_t value_bytes(const struct firn_parquet_node *leaf)
{
    static const uint8_t widths[] = {
        [FIRN_PARQUET_BOOLEAN] = 1, [FIRN_PARQUET_INT32] = 4,  [FIRN_PARQUET_INT64] = 8,     [FIRN_PARQUET_INT96] = 12,
        [FIRN_PARQUET_FLOAT] = 4,   [FIRN_PARQUET_DOUBLE] = 8, [FIRN_PARQUET_BYTE_ARRAY] = 0
    };
    return leaf->type == FIRN_PARQUET_FIXED ? leaf->type_length : widths[leaf->type];
}

struct firn_text firn_leaf_text(struct firn_arena *arena, const struct firn_parquet_node *leaf, struct firn_bytes value)
{
    size_t wanted = value_bytes(leaf);
    if (wanted > 0 && value.len != wanted)
        return bytes_text(arena, value);
    switch (leaf->type) {
    case FIRN_PARQUET_BOOLEAN:
        return value.data[0] ? FIRN_TEXT("true") : FIRN_TEXT("false");
    case FIRN_PARQUET_INT32:
        return integer_text(arena, leaf, (int32_t)firn_load_le32(value.data));
    case FIRN_PARQUET_INT64:
        return integer_text(arena, leaf, (int64_t)firn_load_le64(value.data));
    case FIRN_PARQUET_INT96:
        return int96_text(arena, value.data);
    case FIRN_PARQUET_FLOAT:
        return float_text(arena, value.data);
    case FIRN_PARQUET_DOUBLE:
        return double_text(arena, value.data);
    default:
        return binary_text(arena, leaf, value);
    }
}

struct firn_text firn_logical_text(struct firn_arena *arena, const struct firn_logical_type *logical)
{
    static const char *const units[] = { "MILLIS", "MICROS", "NANOS" };
    const char *name = firn_logical_name(logical->kind);
    switch (logical->kind) {
    case FIRN_LOGICAL_NONE:
        return FIRN_TEXT("");
    case FIRN_LOGICAL_DECIMAL:
        return firn_text_format(arena, "%s(%" PRId32 ", %" PRId32 ")", name, logical->precision, logical->scale);
    case FIRN_LOGICAL_TIME:
    case FIRN_LOGICAL_TIMESTAMP:
        return firn_text_format(arena, "%s(%s, %s)", name, units[logical->unit],
                                logical->adjusted_to_utc ? "UTC" : "local");
    case FIRN_LOGICAL_INTEGER:
        return firn_text_format(arena, "%s(%d, %s)", name, logical->bit_width,
                                logical->is_signed ? "signed" : "unsigned");
    default:
        return firn_text_of(name);
    }
}
