/* Constants meet columns: casts as Spark makes them, and what is left of a comparison when the constant lies between or
 * beyond the values of the column's type. */
#include "base/math.h"
#include "base/time.h"
#include "base/uuid.h"
#include "table/expression_internal.h"

#include <math.h>

#define DECIMAL_DIGITS_MAX 38
#define NANOS_PER_DAY      ((firn_int128)FIRN_MICROS_PER_DAY * 1000)
#define EXPONENT_MAX       100000

/* Where a constant lies among the values of a type. */
enum fit {
    FIT_EXACT,   /* it is the value */
    FIT_BETWEEN, /* above the value, below the next one */
    FIT_ABOVE,   /* above all values */
    FIT_BELOW,   /* below all values */
    FIT_NAN,
    FIT_NONE /* there is no cast */
};

struct cast {
    enum fit fit;
    struct firn_value value;
};

static firn_int128 floor_div(firn_int128 value, firn_int128 divisor)
{
    return value / divisor - (value % divisor < 0);
}

/* Year, or year and month, or a whole date, with digits left out as Spark allows; in the strict form. */
static bool strict_date(struct firn_text text, char out[16])
{
    int64_t parts[3] = { 0, 1, 1 };
    size_t count = 0;
    while (count < 3) {
        ptrdiff_t dash = firn_text_find(text, '-');
        struct firn_text part = dash < 0 ? text : firn_text_until(text, (size_t)dash);
        if (part.len < (count ? 1u : 4u) || part.len > (count ? 2u : 6u) || !firn_text_to_i64(part, &parts[count++]))
            return false;
        if (dash < 0)
            break;
        if (count == 3)
            return false;
        text = firn_text_from(text, (size_t)dash + 1);
    }
    snprintf(out, 16, "%04d-%02d-%02d", (int)parts[0], (int)parts[1], (int)parts[2]);
    return true;
}

/* Where the date of a date or timestamp ends: at a 'T' or a blank. */
static size_t date_end(struct firn_text text)
{
    size_t end = 0;
    while (end < text.len && text.data[end] != 'T' && text.data[end] != ' ')
        end++;
    return end;
}

bool firn_literal_date(struct firn_text text, int64_t *days)
{
    char strict[16];
    int32_t parsed;
    if (!strict_date(firn_text_until(text, date_end(text)), strict) || !firn_date_parse(firn_text_of(strict), &parsed))
        return false;
    *days = parsed;
    return true;
}

bool firn_literal_timestamp(struct firn_arena *arena, struct firn_text text, int64_t *micros, int32_t *nanos)
{
    char strict[16];
    bool zoned;
    size_t end = date_end(text);
    if (!strict_date(firn_text_until(text, end), strict))
        return false;
    struct firn_text rest = firn_text_from(text, end);
    bool utc = firn_text_ends(rest, FIRN_TEXT(" UTC"));
    rest.len -= utc ? sizeof " UTC" - 1 : 0;
    struct firn_text whole = firn_text_format(arena, "%s%.*s%s", strict, FIRN_FMT(rest), utc ? "Z" : "");
    return firn_timestamp_parse(whole, micros, nanos, &zoned);
}

/* A number in text: its significant digits (without point and leading zeros) and the position of the point in them. */
struct number {
    struct firn_text digits;
    int64_t point;
    bool negative;
};

static bool parse_exponent(struct firn_text text, int64_t *out)
{
    if (text.len && text.data[0] == '+')
        text = firn_text_from(text, 1);
    if (!firn_text_to_i64(text, out))
        return false;
    *out = FIRN_MAX(FIRN_MIN(*out, EXPONENT_MAX), -EXPONENT_MAX);
    return true;
}

static bool parse_number(struct firn_arena *arena, struct firn_text text, bool negative, struct number *out)
{
    char *digits = firn_arena_alloc(arena, text.len);
    size_t len = 0, at = 0;
    int64_t exponent = 0;
    bool any = false, after_point = false;
    *out = (struct number){ .negative = negative };
    if (at < text.len && (text.data[at] == '-' || text.data[at] == '+'))
        out->negative ^= text.data[at++] == '-';
    for (; at < text.len && text.data[at] != 'e' && text.data[at] != 'E'; at++) {
        char c = text.data[at];
        if (c == '.' && !after_point) {
            after_point = true;
            continue;
        }
        if (c < '0' || c > '9')
            return false;
        any = true;
        bool leading = len == 0 && c == '0';
        if (!leading)
            digits[len++] = c;
        out->point += after_point ? -leading : !leading;
    }
    if (at < text.len && !parse_exponent(firn_text_from(text, at + 1), &exponent))
        return false;
    out->digits = (struct firn_text){ digits, len };
    out->point += exponent;
    return any;
}

/* floor(number * 10^scale), and how the number lies to it; beyond 38 digits it is above or below everything. */
static enum fit scale_number(const struct number *number, int32_t scale, firn_int128 *out)
{
    int64_t whole = number->point + scale; /* digits before the point once scaled */
    firn_int128 value = 0;
    bool exact = true;
    if (number->digits.len && whole > DECIMAL_DIGITS_MAX)
        return number->negative ? FIT_BELOW : FIT_ABOVE;
    for (int64_t i = 0; i < whole && number->digits.len; i++)
        value = value * 10 + (i < (int64_t)number->digits.len ? number->digits.data[i] - '0' : 0);
    for (size_t i = whole > 0 ? (size_t)whole : 0; i < number->digits.len; i++)
        exact &= number->digits.data[i] == '0';
    *out = number->negative ? -value - !exact : value;
    return exact ? FIT_EXACT : FIT_BETWEEN;
}

static enum fit within(enum fit fit, firn_int128 value, firn_int128 min, firn_int128 max)
{
    if (fit == FIT_ABOVE || value > max)
        return FIT_ABOVE;
    return fit == FIT_BELOW || value < min ? FIT_BELOW : fit;
}

static firn_int128 power_of_ten(int32_t exponent)
{
    firn_int128 power = 1;
    for (int32_t i = 0; i < exponent; i++)
        power *= 10;
    return power;
}

static enum fit cast_number(struct firn_arena *arena, const struct firn_type *type, const struct firn_literal *literal,
                            struct firn_value *out)
{
    struct number number;
    firn_int128 scaled = 0;
    if ((literal->kind != FIRN_LITERAL_NUMBER && literal->kind != FIRN_LITERAL_STRING) ||
        !parse_number(arena, firn_text_trim(literal->text), literal->negative, &number))
        return FIT_NONE;
    enum fit fit = scale_number(&number, type->id == FIRN_TYPE_DECIMAL ? type->scale : 0, &scaled);
    if (type->id == FIRN_TYPE_DECIMAL) {
        firn_int128 max = power_of_ten(type->precision) - 1;
        out->decimal = scaled;
        return within(fit, scaled, -max, max);
    }
    fit = type->id == FIRN_TYPE_INT ? within(fit, scaled, INT32_MIN, INT32_MAX)
                                    : within(fit, scaled, INT64_MIN, INT64_MAX);
    out->integer = (int64_t)scaled;
    return fit;
}

static bool special_real(struct firn_text text, double *out)
{
    static const struct {
        const char *text;
        double value;
    } rows[] = { { "nan", (double)NAN },
                 { "infinity", (double)INFINITY },
                 { "+infinity", (double)INFINITY },
                 { "-infinity", -(double)INFINITY },
                 { "inf", (double)INFINITY },
                 { "+inf", (double)INFINITY },
                 { "-inf", -(double)INFINITY } };
    for (size_t i = 0; i < FIRN_COUNT_OF(rows); i++)
        if (firn_text_same_nocase(text, firn_text_of(rows[i].text))) {
            *out = rows[i].value;
            return true;
        }
    return false;
}

/* FLOAT columns keep the constant as a double too: Spark compares both as doubles. */
static enum fit cast_real(struct firn_arena *arena, const struct firn_literal *literal, struct firn_value *out)
{
    struct number number;
    struct firn_text text = firn_text_trim(literal->text);
    if (literal->kind == FIRN_LITERAL_STRING && special_real(text, &out->real))
        return isnan(out->real) ? FIT_NAN : FIT_EXACT;
    if ((literal->kind != FIRN_LITERAL_NUMBER && literal->kind != FIRN_LITERAL_STRING) ||
        !parse_number(arena, text, literal->negative, &number))
        return FIT_NONE;
    out->real = strtod(firn_text_copy(arena, text).data, NULL);
    if (literal->negative)
        out->real = -out->real;
    return FIT_EXACT;
}

/* Nanoseconds since the epoch of any constant that is a point in time. */
static bool time_of(struct firn_arena *arena, const struct firn_literal *literal, firn_int128 *nanos)
{
    int64_t micros = literal->micros;
    int32_t left = literal->nanos;
    if (literal->kind == FIRN_LITERAL_STRING &&
        !firn_literal_timestamp(arena, firn_text_trim(literal->text), &micros, &left))
        return false;
    *nanos = (firn_int128)micros * 1000 + left;
    if (literal->kind == FIRN_LITERAL_DATE)
        *nanos = NANOS_PER_DAY * literal->days;
    return literal->kind == FIRN_LITERAL_STRING || literal->kind == FIRN_LITERAL_DATE ||
           literal->kind == FIRN_LITERAL_TIMESTAMP;
}

static enum fit cast_date(struct firn_arena *arena, const struct firn_literal *literal, struct firn_value *out)
{
    firn_int128 nanos;
    if (literal->kind == FIRN_LITERAL_STRING) /* a time after the date is dropped by the cast */
        return firn_literal_date(firn_text_trim(literal->text), &out->integer) ? FIT_EXACT : FIT_NONE;
    if (!time_of(arena, literal, &nanos))
        return FIT_NONE;
    out->integer = (int64_t)floor_div(nanos, NANOS_PER_DAY);
    return nanos % NANOS_PER_DAY == 0 ? FIT_EXACT : FIT_BETWEEN;
}

static enum fit cast_timestamp(struct firn_arena *arena, enum firn_type_id id, const struct firn_literal *literal,
                               struct firn_value *out)
{
    bool in_nanos = id == FIRN_TYPE_TIMESTAMP_NS || id == FIRN_TYPE_TIMESTAMPTZ_NS;
    firn_int128 nanos;
    if (!time_of(arena, literal, &nanos))
        return FIT_NONE;
    /* Spark's timestamps have microseconds; digits beyond are dropped when the text is read. */
    firn_int128 value = in_nanos ? nanos : floor_div(nanos, 1000);
    out->integer = (int64_t)value;
    return within(FIT_EXACT, value, INT64_MIN, INT64_MAX);
}

static enum fit cast_bytes(struct firn_arena *arena, const struct firn_type *type, const struct firn_literal *literal,
                           struct firn_value *out)
{
    bool binary = type->id == FIRN_TYPE_BINARY || type->id == FIRN_TYPE_FIXED;
    struct firn_uuid uuid;
    if (literal->kind != FIRN_LITERAL_STRING && !(binary && literal->kind == FIRN_LITERAL_BINARY))
        return FIT_NONE;
    out->bytes = firn_bytes_of_text(literal->text);
    if (type->id != FIRN_TYPE_UUID)
        return FIT_EXACT;
    if (!firn_uuid_parse(firn_text_trim(literal->text), &uuid))
        return FIT_NONE;
    out->bytes = firn_bytes_copy(arena, (struct firn_bytes){ uuid.bytes, sizeof uuid.bytes });
    return FIT_EXACT;
}

static enum fit cast_boolean(const struct firn_literal *literal, struct firn_value *out)
{
    struct firn_text text = firn_text_trim(literal->text);
    out->integer = literal->boolean;
    if (literal->kind == FIRN_LITERAL_BOOLEAN)
        return FIT_EXACT;
    out->integer = firn_text_same_nocase(text, FIRN_TEXT("true"));
    bool spelled = out->integer || firn_text_same_nocase(text, FIRN_TEXT("false"));
    return literal->kind == FIRN_LITERAL_STRING && spelled ? FIT_EXACT : FIT_NONE;
}

static enum fit cast_to(struct firn_arena *arena, const struct firn_type *type, const struct firn_literal *literal,
                        struct firn_value *out)
{
    switch (type->id) {
    case FIRN_TYPE_BOOLEAN:
        return cast_boolean(literal, out);
    case FIRN_TYPE_INT:
    case FIRN_TYPE_LONG:
    case FIRN_TYPE_DECIMAL:
        return cast_number(arena, type, literal, out);
    case FIRN_TYPE_FLOAT:
    case FIRN_TYPE_DOUBLE:
        return cast_real(arena, literal, out);
    case FIRN_TYPE_DATE:
        return cast_date(arena, literal, out);
    case FIRN_TYPE_TIME:
        return literal->kind == FIRN_LITERAL_STRING && firn_value_parse_text(arena, type, literal->text, out)
                   ? FIT_EXACT
                   : FIT_NONE;
    case FIRN_TYPE_TIMESTAMP:
    case FIRN_TYPE_TIMESTAMPTZ:
    case FIRN_TYPE_TIMESTAMP_NS:
    case FIRN_TYPE_TIMESTAMPTZ_NS:
        return cast_timestamp(arena, type->id, literal, out);
    case FIRN_TYPE_STRING:
    case FIRN_TYPE_UUID:
    case FIRN_TYPE_FIXED:
    case FIRN_TYPE_BINARY:
        return cast_bytes(arena, type, literal, out);
    default:
        return FIT_NONE;
    }
}

static firn_status cast_literal(struct firn_op *op, const struct firn_field *field, const struct firn_literal *literal,
                                struct cast *out)
{
    *out = (struct cast){ .value = { .type = field->type.id } };
    out->fit = cast_to(op->arena, &field->type, literal, &out->value);
    if (out->fit != FIT_NONE)
        return FIRN_OK;
    struct firn_text type = firn_type_text(op->arena, &field->type);
    bool quoted = literal->kind == FIRN_LITERAL_STRING;
    if (quoted || literal->kind == FIRN_LITERAL_NUMBER)
        return firn_where_fail(op, literal->at, "%s%.*s%s is not a value for column '%.*s' of type %.*s",
                               quoted ? "'" : "", FIRN_FMT(literal->text), quoted ? "'" : "", FIRN_FMT(field->name),
                               FIRN_FMT(type));
    return firn_where_fail(op, literal->at, "column '%.*s' of type %.*s cannot be compared with this constant",
                           FIRN_FMT(field->name), FIRN_FMT(type));
}

static const struct firn_predicate *leaf_of(struct firn_arena *arena, enum firn_predicate_op op,
                                            const struct firn_field *field, const struct firn_value *value)
{
    struct firn_predicate *leaf = FIRN_NEW(arena, struct firn_predicate);
    *leaf = (struct firn_predicate){ .op = op, .field = field, .value_count = 1 };
    leaf->values = FIRN_NEW(arena, struct firn_value);
    leaf->values[0] = *value;
    return leaf;
}

/* NaN is above every number and equal to itself. A null is no NaN, but does not compare either. */
static const struct firn_predicate *compare_nan(struct firn_arena *arena, enum firn_predicate_op op,
                                                const struct firn_field *field)
{
    switch (op) {
    case FIRN_PRED_EQ:
    case FIRN_PRED_GT_EQ:
        return firn_predicate_unary(arena, FIRN_PRED_IS_NAN, field);
    case FIRN_PRED_NOT_EQ:
    case FIRN_PRED_LT:
        return firn_predicate_join(arena, FIRN_PRED_AND, firn_predicate_unary(arena, FIRN_PRED_NOT_NULL, field),
                                   firn_predicate_unary(arena, FIRN_PRED_NOT_NAN, field));
    case FIRN_PRED_LT_EQ:
        return firn_predicate_unary(arena, FIRN_PRED_NOT_NULL, field);
    default:
        return &firn_predicate_false;
    }
}

/* A constant that no value equals: what is left is all values, none, or those on one side of the value below it. */
static const struct firn_predicate *compare_inexact(struct firn_arena *arena, enum firn_predicate_op op,
                                                    const struct firn_field *field, const struct cast *cast)
{
    bool below = op == FIRN_PRED_LT || op == FIRN_PRED_LT_EQ; /* the column is to be below the constant */
    if (op == FIRN_PRED_EQ)
        return &firn_predicate_false;
    if (op == FIRN_PRED_NOT_EQ)
        return firn_predicate_unary(arena, FIRN_PRED_NOT_NULL, field);
    if (cast->fit == FIT_BETWEEN)
        return leaf_of(arena, below ? FIRN_PRED_LT_EQ : FIRN_PRED_GT, field, &cast->value);
    if (below == (cast->fit == FIT_ABOVE))
        return firn_predicate_unary(arena, FIRN_PRED_NOT_NULL, field);
    return &firn_predicate_false;
}

firn_status firn_predicate_compare(struct firn_op *op, const struct firn_field *field, enum firn_predicate_op compare,
                                   const struct firn_literal *literal, const struct firn_predicate **out)
{
    struct cast cast;
    *out = &firn_predicate_false;
    if (literal->kind == FIRN_LITERAL_NULL)
        return FIRN_OK;
    FIRN_TRY(cast_literal(op, field, literal, &cast));
    if (cast.fit == FIT_NAN)
        *out = compare_nan(op->arena, compare, field);
    else if (cast.fit == FIT_EXACT)
        *out = leaf_of(op->arena, compare, field, &cast.value);
    else
        *out = compare_inexact(op->arena, compare, field, &cast);
    return FIRN_OK;
}

firn_status firn_predicate_in(struct firn_op *op, const struct firn_field *field, bool negate,
                              const struct firn_literal *literals, size_t count, const struct firn_predicate **out)
{
    struct firn_predicate *leaf = FIRN_NEW(op->arena, struct firn_predicate);
    bool has_null = false, has_nan = false;
    *leaf = (struct firn_predicate){ .op = negate ? FIRN_PRED_NOT_IN : FIRN_PRED_IN, .field = field };
    leaf->values = FIRN_NEW_ARRAY(op->arena, struct firn_value, count);
    for (size_t i = 0; i < count; i++) {
        struct cast cast;
        if (literals[i].kind == FIRN_LITERAL_NULL) {
            has_null = true;
            continue;
        }
        FIRN_TRY(cast_literal(op, field, &literals[i], &cast));
        has_nan |= cast.fit == FIT_NAN;
        if (cast.fit == FIT_EXACT)
            leaf->values[leaf->value_count++] = cast.value;
    }
    *out = leaf;
    if (negate && has_null) /* nothing is known to differ from null */
        *out = &firn_predicate_false;
    else if (leaf->value_count == 0)
        *out = negate ? firn_predicate_unary(op->arena, FIRN_PRED_NOT_NULL, field) : &firn_predicate_false;
    if (has_nan)
        *out =
            firn_predicate_join(op->arena, negate ? FIRN_PRED_AND : FIRN_PRED_OR, *out,
                                firn_predicate_unary(op->arena, negate ? FIRN_PRED_NOT_NAN : FIRN_PRED_IS_NAN, field));
    return FIRN_OK;
}

/* The text before a closing '%', with escapes resolved; false when the pattern has other wildcards. */
static bool split_pattern(struct firn_arena *arena, struct firn_text pattern, struct firn_text *prefix, bool *open)
{
    char *text = firn_arena_alloc(arena, pattern.len);
    size_t len = 0;
    *open = false;
    for (size_t i = 0; i < pattern.len; i++) {
        char c = pattern.data[i];
        if (c == '_' || *open)
            return false;
        if (c == '%') {
            while (i + 1 < pattern.len && pattern.data[i + 1] == '%')
                i++;
            *open = true;
            continue;
        }
        if (c == '\\' && i + 1 < pattern.len)
            c = pattern.data[++i];
        text[len++] = c;
    }
    *prefix = (struct firn_text){ text, len };
    return true;
}

bool firn_predicate_is_prefix(struct firn_arena *arena, struct firn_text pattern)
{
    struct firn_text prefix;
    bool open;
    return split_pattern(arena, pattern, &prefix, &open);
}

firn_status firn_predicate_like(struct firn_op *op, const struct firn_field *field, bool negate,
                                const struct firn_literal *pattern, const struct firn_predicate **out)
{
    struct firn_value value = { .type = FIRN_TYPE_STRING };
    struct firn_text prefix;
    bool open;
    *out = &firn_predicate_false;
    if (pattern->kind == FIRN_LITERAL_NULL)
        return FIRN_OK;
    if (field->type.id != FIRN_TYPE_STRING || pattern->kind != FIRN_LITERAL_STRING)
        return firn_where_fail(op, pattern->at, "LIKE compares a string column with a string");
    if (!split_pattern(op->arena, pattern->text, &prefix, &open))
        return firn_where_fail(op, pattern->at, "LIKE '%.*s': only a prefix as in 'x%%' is supported",
                               FIRN_FMT(pattern->text));
    value.bytes = firn_bytes_of_text(prefix);
    if (!open)
        *out = leaf_of(op->arena, negate ? FIRN_PRED_NOT_EQ : FIRN_PRED_EQ, field, &value);
    else if (prefix.len)
        *out = leaf_of(op->arena, negate ? FIRN_PRED_NOT_STARTS_WITH : FIRN_PRED_STARTS_WITH, field, &value);
    else if (!negate)
        *out = firn_predicate_unary(op->arena, FIRN_PRED_NOT_NULL, field);
    return FIRN_OK;
}
