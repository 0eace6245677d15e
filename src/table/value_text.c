/* Single values as text and as JSON. Iceberg spec, "JSON single-value serialization". */
#include "base/math.h"
#include "base/time.h"
#include "base/uuid.h"
#include "table/value.h"

#include <math.h>

#define NANOS_PER_SECOND INT64_C(1000000000)
#define DECIMAL_DIGITS   38

static bool is_zoned(enum firn_type_id id)
{
    return id == FIRN_TYPE_TIMESTAMPTZ || id == FIRN_TYPE_TIMESTAMPTZ_NS;
}

static bool is_nanos(enum firn_type_id id)
{
    return id == FIRN_TYPE_TIMESTAMP_NS || id == FIRN_TYPE_TIMESTAMPTZ_NS;
}

bool firn_decimal_parse(struct firn_text text, int32_t scale, firn_int128 *out)
{
    bool negative = text.len && text.data[0] == '-';
    size_t at = negative || (text.len && text.data[0] == '+');
    int32_t fraction = -1; /* digits after the point; -1 before it */
    size_t digits = 0;
    firn_int128 value = 0;
    for (; at < text.len; at++) {
        char c = text.data[at];
        if (c == '.' && fraction < 0) {
            fraction = 0;
            continue;
        }
        if (c < '0' || c > '9')
            return false;
        digits++;
        if (fraction >= scale) { /* beyond the scale only zeros lose nothing */
            if (c != '0')
                return false;
            continue;
        }
        fraction += fraction >= 0;
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, c - '0', &value))
            return false;
    }
    for (int32_t i = FIRN_MAX(fraction, 0); i < scale; i++)
        if (__builtin_mul_overflow(value, 10, &value))
            return false;
    *out = negative ? -value : value;
    return digits > 0;
}

struct firn_text firn_decimal_text(struct firn_arena *arena, firn_int128 unscaled, int32_t scale)
{
    char digits[64];
    size_t at = sizeof digits;
    unsigned __int128 left = unscaled < 0 ? -(unsigned __int128)unscaled : (unsigned __int128)unscaled;
    int32_t written = 0;
    do {
        if (scale > 0 && written == scale)
            digits[--at] = '.';
        digits[--at] = (char)('0' + (int)(left % 10));
        left /= 10;
        written++;
    } while (left || (written <= scale && written <= DECIMAL_DIGITS));
    if (unscaled < 0)
        digits[--at] = '-';
    return firn_text_copy(arena, (struct firn_text){ digits + at, sizeof digits - at });
}

/* Digits and exponent of the shortest decimal that reads back: value = 0.d1d2d3... * 10^exponent. */
static void shortest_digits(double value, bool is_float, char digits[32], int *exponent)
{
    char text[48];
    for (int precision = 0; precision < 17; precision++) {
        snprintf(text, sizeof text, "%.*e", precision, value);
        if (is_float ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value)
            break;
    }
    const char *mark = strchr(text, 'e');
    size_t len = 0;
    for (const char *c = text; c < mark; c++)
        if (*c != '.')
            digits[len++] = *c;
    while (len > 1 && digits[len - 1] == '0')
        len--;
    digits[len] = '\0';
    *exponent = (int)strtol(mark + 1, NULL, 10) + 1;
}

/* Plain notation, for 10^-3 <= value < 10^7. */
static struct firn_text plain_real(struct firn_arena *arena, const char *sign, const char *digits, int exponent)
{
    int count = (int)strlen(digits);
    if (exponent <= 0)
        return firn_text_format(arena, "%s0.%.*s%s", sign, -exponent, "000", digits);
    if (count <= exponent)
        return firn_text_format(arena, "%s%s%.*s.0", sign, digits, exponent - count, "0000000");
    return firn_text_format(arena, "%s%.*s.%s", sign, exponent, digits, digits + exponent);
}

struct firn_text firn_real_text(struct firn_arena *arena, double value, bool is_float)
{
    const char *sign = signbit(value) ? "-" : "";
    char digits[32];
    int exponent;
    if (isnan(value))
        return FIRN_TEXT("NaN");
    if (isinf(value))
        return firn_text_format(arena, "%sInfinity", sign);
    if (value == 0)
        return firn_text_format(arena, "%s0.0", sign);
    shortest_digits(fabs(value), is_float, digits, &exponent);
    if (exponent > -3 && exponent <= 7)
        return plain_real(arena, sign, digits, exponent);
    return firn_text_format(arena, "%s%c.%sE%d", sign, digits[0], digits[1] ? digits + 1 : "0", exponent - 1);
}

struct firn_text firn_hex_text(struct firn_arena *arena, struct firn_bytes bytes)
{
    static const char digits[] = "0123456789abcdef";
    char *text = firn_arena_alloc_array(arena, bytes.len, 2);
    for (size_t i = 0; i < bytes.len; i++) {
        text[2 * i] = digits[bytes.data[i] >> 4];
        text[2 * i + 1] = digits[bytes.data[i] & 15];
    }
    return (struct firn_text){ text, 2 * bytes.len };
}

static struct firn_text timestamp_text(struct firn_arena *arena, enum firn_type_id id, int64_t value)
{
    int64_t per_second = is_nanos(id) ? NANOS_PER_SECOND : FIRN_MICROS_PER_SECOND;
    struct firn_text text = firn_timestamp_text(arena, value, per_second, 'T');
    return is_zoned(id) ? firn_text_join(arena, text, FIRN_TEXT("+00:00")) : text;
}

static struct firn_text uuid_text(struct firn_arena *arena, struct firn_bytes bytes)
{
    struct firn_uuid uuid;
    if (bytes.len != sizeof uuid.bytes)
        return firn_hex_text(arena, bytes);
    memcpy(uuid.bytes, bytes.data, sizeof uuid.bytes);
    return firn_uuid_text(arena, uuid);
}

struct firn_text firn_value_text(struct firn_arena *arena, const struct firn_type *type, const struct firn_value *value)
{
    if (value->is_null)
        return FIRN_TEXT("null");
    switch (type->id) {
    case FIRN_TYPE_BOOLEAN:
        return value->integer ? FIRN_TEXT("true") : FIRN_TEXT("false");
    case FIRN_TYPE_INT:
    case FIRN_TYPE_LONG:
        return firn_text_format(arena, "%" PRId64, value->integer);
    case FIRN_TYPE_FLOAT:
    case FIRN_TYPE_DOUBLE:
        return firn_real_text(arena, value->real, type->id == FIRN_TYPE_FLOAT);
    case FIRN_TYPE_DECIMAL:
        return firn_decimal_text(arena, value->decimal, type->scale);
    case FIRN_TYPE_DATE:
        return firn_date_text(arena, value->integer);
    case FIRN_TYPE_TIME:
        return firn_time_text(arena, firn_floor_mod(value->integer, FIRN_MICROS_PER_DAY) * 1000);
    case FIRN_TYPE_TIMESTAMP:
    case FIRN_TYPE_TIMESTAMPTZ:
    case FIRN_TYPE_TIMESTAMP_NS:
    case FIRN_TYPE_TIMESTAMPTZ_NS:
        return timestamp_text(arena, type->id, value->integer);
    case FIRN_TYPE_STRING:
        return firn_text_copy(arena, firn_text_of_bytes(value->bytes));
    case FIRN_TYPE_UUID:
        return uuid_text(arena, value->bytes);
    case FIRN_TYPE_FIXED:
    case FIRN_TYPE_BINARY:
    case FIRN_TYPE_GEOMETRY:
    case FIRN_TYPE_GEOGRAPHY:
        return firn_hex_text(arena, value->bytes);
    default:
        return FIRN_TEXT("null");
    }
}

json_t *firn_value_json(struct firn_arena *arena, const struct firn_type *type, const struct firn_value *value)
{
    if (value->is_null)
        return json_null();
    switch (type->id) {
    case FIRN_TYPE_BOOLEAN:
        return json_boolean(value->integer);
    case FIRN_TYPE_INT:
    case FIRN_TYPE_LONG:
        return json_integer(value->integer);
    case FIRN_TYPE_FLOAT:
    case FIRN_TYPE_DOUBLE:
        if (isfinite(value->real))
            return json_real(value->real);
        break;
    default:
        break;
    }
    return firn_json_string(firn_value_text(arena, type, value));
}

bool firn_hex_parse(struct firn_arena *arena, struct firn_text text, struct firn_bytes *out)
{
    uint8_t *bytes = firn_arena_alloc(arena, text.len / 2);
    if (text.len % 2)
        return false;
    for (size_t i = 0; i < text.len; i += 2) {
        int high = firn_hex_digit(text.data[i]), low = firn_hex_digit(text.data[i + 1]);
        if (high < 0 || low < 0)
            return false;
        bytes[i / 2] = (uint8_t)(high << 4 | low);
    }
    *out = (struct firn_bytes){ bytes, text.len / 2 };
    return true;
}

static bool parse_timestamp(enum firn_type_id id, struct firn_text text, int64_t *out)
{
    int32_t nanos;
    bool zoned;
    if (!firn_timestamp_parse(text, out, &nanos, &zoned) || zoned != is_zoned(id))
        return false;
    if (!is_nanos(id))
        return nanos == 0;
    return !__builtin_mul_overflow(*out, 1000, out) && !__builtin_add_overflow(*out, nanos, out);
}

static bool parse_date(struct firn_text text, int64_t *out)
{
    int32_t days;
    if (!firn_date_parse(text, &days))
        return false;
    *out = days;
    return true;
}

static bool parse_time(struct firn_text text, int64_t *out)
{
    int64_t nanos;
    if (!firn_time_parse(text, &nanos) || nanos % 1000)
        return false;
    *out = nanos / 1000;
    return true;
}

static bool parse_uuid(struct firn_arena *arena, struct firn_text text, struct firn_bytes *out)
{
    struct firn_uuid uuid;
    if (!firn_uuid_parse(text, &uuid))
        return false;
    *out = firn_bytes_copy(arena, (struct firn_bytes){ uuid.bytes, sizeof uuid.bytes });
    return true;
}

bool firn_value_parse_text(struct firn_arena *arena, const struct firn_type *type, struct firn_text text,
                           struct firn_value *out)
{
    *out = (struct firn_value){ .type = type->id };
    switch (type->id) {
    case FIRN_TYPE_DECIMAL:
        return firn_decimal_parse(text, type->scale, &out->decimal) && firn_decimal_fits(out->decimal, type->precision);
    case FIRN_TYPE_DATE:
        return parse_date(text, &out->integer);
    case FIRN_TYPE_TIME:
        return parse_time(text, &out->integer);
    case FIRN_TYPE_TIMESTAMP:
    case FIRN_TYPE_TIMESTAMPTZ:
    case FIRN_TYPE_TIMESTAMP_NS:
    case FIRN_TYPE_TIMESTAMPTZ_NS:
        return parse_timestamp(type->id, text, &out->integer);
    case FIRN_TYPE_STRING:
        out->bytes = firn_bytes_of_text(firn_text_copy(arena, text));
        return true;
    case FIRN_TYPE_UUID:
        return parse_uuid(arena, text, &out->bytes);
    case FIRN_TYPE_FIXED:
        return firn_hex_parse(arena, text, &out->bytes) && out->bytes.len == (size_t)type->length;
    case FIRN_TYPE_BINARY:
        return firn_hex_parse(arena, text, &out->bytes);
    default:
        return false;
    }
}

static bool parse_json_form(struct firn_arena *arena, const struct firn_type *type, const json_t *json,
                            struct firn_value *out)
{
    if (json_is_string(json))
        return firn_value_parse_text(arena, type,
                                     (struct firn_text){ json_string_value(json), json_string_length(json) }, out);
    json_int_t integer = json_integer_value(json);
    switch (type->id) {
    case FIRN_TYPE_BOOLEAN:
        out->integer = json_is_true(json);
        return json_is_boolean(json);
    case FIRN_TYPE_INT:
        out->integer = integer;
        return json_is_integer(json) && integer >= INT32_MIN && integer <= INT32_MAX;
    case FIRN_TYPE_LONG:
        out->integer = integer;
        return json_is_integer(json);
    case FIRN_TYPE_FLOAT:
        out->real = (double)(float)json_number_value(json);
        return json_is_number(json);
    case FIRN_TYPE_DOUBLE:
        out->real = json_number_value(json);
        return json_is_number(json);
    default:
        return false;
    }
}

firn_status firn_value_parse_json(struct firn_op *op, const struct firn_type *type, const json_t *json,
                                  struct firn_value *out)
{
    *out = (struct firn_value){ .type = type->id };
    if (!json || json_is_null(json)) {
        out->is_null = true;
        return FIRN_OK;
    }
    if (!firn_type_is_primitive(type->id) || type->id == FIRN_TYPE_GEOMETRY || type->id == FIRN_TYPE_GEOGRAPHY)
        return firn_fail(op, FIRN_UNSUPPORTED, "a default value of type %s", firn_type_name(type->id));
    if (parse_json_form(op->arena, type, json, out))
        return FIRN_OK;
    struct firn_text shown = firn_json_text(op->arena, json, 0), name = firn_type_text(op->arena, type);
    return firn_fail(op, FIRN_CORRUPT, "%.*s is not a value of type %.*s", FIRN_FMT(shown), FIRN_FMT(name));
}

bool firn_decimal_fits(firn_int128 unscaled, int32_t precision)
{
    unsigned __int128 left = unscaled < 0 ? -(unsigned __int128)unscaled : (unsigned __int128)unscaled;
    for (int32_t i = 0; i < precision && left; i++)
        left /= 10;
    return left == 0;
}
