/* Single values: binary form, order, equality, keys, promotion. Text and JSON forms: value_text.c.
 * Iceberg spec, "Appendix D: Single-value serialization", "Schema Evolution". */
#include "table/value.h"

#include "base/math.h"
#include "base/time.h"

#include <math.h>

#define NANOS_PER_DAY (FIRN_MICROS_PER_DAY * 1000)

/* What the C representation of a type's values is. */
enum shape { SHAPE_NONE, SHAPE_INTEGER, SHAPE_REAL, SHAPE_DECIMAL, SHAPE_BYTES };

static const struct {
    enum shape shape;
    uint8_t width; /* bytes of the binary form; 0: any */
} forms[FIRN_TYPE_COUNT] = {
    [FIRN_TYPE_BOOLEAN] = { SHAPE_INTEGER, 1 },      [FIRN_TYPE_INT] = { SHAPE_INTEGER, 4 },
    [FIRN_TYPE_LONG] = { SHAPE_INTEGER, 8 },         [FIRN_TYPE_FLOAT] = { SHAPE_REAL, 4 },
    [FIRN_TYPE_DOUBLE] = { SHAPE_REAL, 8 },          [FIRN_TYPE_DECIMAL] = { SHAPE_DECIMAL, 0 },
    [FIRN_TYPE_DATE] = { SHAPE_INTEGER, 4 },         [FIRN_TYPE_TIME] = { SHAPE_INTEGER, 8 },
    [FIRN_TYPE_TIMESTAMP] = { SHAPE_INTEGER, 8 },    [FIRN_TYPE_TIMESTAMPTZ] = { SHAPE_INTEGER, 8 },
    [FIRN_TYPE_TIMESTAMP_NS] = { SHAPE_INTEGER, 8 }, [FIRN_TYPE_TIMESTAMPTZ_NS] = { SHAPE_INTEGER, 8 },
    [FIRN_TYPE_STRING] = { SHAPE_BYTES, 0 },         [FIRN_TYPE_UUID] = { SHAPE_BYTES, 16 },
    [FIRN_TYPE_FIXED] = { SHAPE_BYTES, 0 },          [FIRN_TYPE_BINARY] = { SHAPE_BYTES, 0 },
    [FIRN_TYPE_GEOMETRY] = { SHAPE_BYTES, 0 },       [FIRN_TYPE_GEOGRAPHY] = { SHAPE_BYTES, 0 },
};

static double load_float(const uint8_t *at)
{
    uint32_t bits = firn_load_le32(at);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double load_double(const uint8_t *at)
{
    uint64_t bits = firn_load_le64(at);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

bool firn_value_has_bytes(const struct firn_value *value)
{
    return !value->is_null && forms[value->type].shape == SHAPE_BYTES;
}

struct firn_value firn_value_copy(struct firn_arena *arena, const struct firn_value *value)
{
    struct firn_value copy = *value;
    if (!value->is_null && firn_value_has_bytes(value))
        copy.bytes = firn_bytes_copy(arena, value->bytes);
    return copy;
}

static bool parse_integer(enum firn_type_id id, struct firn_bytes bytes, int64_t *out)
{
    if (bytes.len != forms[id].width)
        return false;
    if (bytes.len == 1)
        *out = bytes.data[0] != 0;
    else if (bytes.len == 4)
        *out = (int32_t)firn_load_le32(bytes.data);
    else
        *out = (int64_t)firn_load_le64(bytes.data);
    return true;
}

/* Bounds keep the type they were written with: 4 bytes under a type that was promoted since. */
static bool parse_narrow(const struct firn_type *type, struct firn_bytes bytes, struct firn_value *out)
{
    if (bytes.len != 4)
        return false;
    struct firn_type date = { .id = FIRN_TYPE_DATE };
    struct firn_value narrow = { .type = FIRN_TYPE_DATE, .integer = (int32_t)firn_load_le32(bytes.data) };
    switch (type->id) {
    case FIRN_TYPE_LONG:
        out->integer = narrow.integer;
        return true;
    case FIRN_TYPE_DOUBLE:
        out->real = load_float(bytes.data);
        return true;
    case FIRN_TYPE_TIMESTAMP:
    case FIRN_TYPE_TIMESTAMP_NS:
        return firn_value_promote(&date, type, &narrow, out);
    default:
        return false;
    }
}

static bool parse_form(const struct firn_type *type, struct firn_bytes bytes, struct firn_value *out)
{
    switch (forms[type->id].shape) {
    case SHAPE_INTEGER:
        return parse_integer(type->id, bytes, &out->integer);
    case SHAPE_REAL:
        if (bytes.len != forms[type->id].width)
            return false;
        out->real = bytes.len == 4 ? load_float(bytes.data) : load_double(bytes.data);
        return true;
    case SHAPE_DECIMAL:
        return firn_decimal_of_bytes(bytes, &out->decimal);
    default:
        out->bytes = bytes;
        if (type->id == FIRN_TYPE_FIXED)
            return bytes.len == (size_t)type->length;
        return forms[type->id].width == 0 || bytes.len == forms[type->id].width;
    }
}

bool firn_value_read(const struct firn_type *type, struct firn_bytes bytes, struct firn_value *out)
{
    *out = (struct firn_value){ .type = type->id };
    return forms[type->id].shape != SHAPE_NONE && (parse_form(type, bytes, out) || parse_narrow(type, bytes, out));
}

firn_status firn_value_parse(struct firn_op *op, const struct firn_type *type, struct firn_bytes bytes,
                             struct firn_value *out)
{
    if (firn_value_read(type, bytes, out))
        return FIRN_OK;
    if (forms[type->id].shape == SHAPE_NONE)
        return firn_fail(op, FIRN_UNSUPPORTED, "type %s has no binary form", firn_type_name(type->id));
    return firn_fail(op, FIRN_CORRUPT, "%zu bytes do not make a value of type %s", bytes.len, firn_type_name(type->id));
}

/* Least number of bytes that hold the value in two's complement, big-endian; written to the end of `out`. */
static struct firn_bytes decimal_bytes(firn_int128 value, uint8_t out[16])
{
    for (int i = 15; i >= 0; i--) {
        out[i] = (uint8_t)((unsigned __int128)value & 0xff);
        value >>= 8;
    }
    size_t start = 0;
    while (start < 15 && ((out[start] == 0 && out[start + 1] < 0x80) || (out[start] == 0xff && out[start + 1] >= 0x80)))
        start++;
    return (struct firn_bytes){ out + start, 16 - start };
}

struct firn_bytes firn_value_form(const struct firn_value *value, uint8_t scratch[FIRN_VALUE_SCRATCH_BYTES])
{
    size_t width = forms[value->type].width;
    uint64_t bits = (uint64_t)value->integer;
    float narrow = 0;
    switch (forms[value->type].shape) {
    case SHAPE_DECIMAL:
        return decimal_bytes(value->decimal, scratch);
    case SHAPE_BYTES:
        return value->bytes;
    case SHAPE_REAL:
        narrow = (float)value->real;
        memcpy(&bits, &value->real, sizeof bits);
        if (width == 4) {
            uint32_t half;
            memcpy(&half, &narrow, sizeof half);
            bits = half;
        }
        break;
    default:
        break;
    }
    firn_store_le64(scratch, bits);
    return (struct firn_bytes){ scratch, width };
}

struct firn_bytes firn_value_bytes(struct firn_arena *arena, const struct firn_value *value)
{
    uint8_t scratch[FIRN_VALUE_SCRATCH_BYTES];
    return firn_bytes_copy(arena, firn_value_form(value, scratch));
}

static int compare_reals(double a, double b)
{
    if (isnan(a) || isnan(b))
        return (isnan(a) != 0) - (isnan(b) != 0);
    if (a != b)
        return a < b ? -1 : 1;
    return (signbit(b) != 0) - (signbit(a) != 0);
}

int firn_value_compare(const struct firn_value *a, const struct firn_value *b)
{
    switch (forms[a->type].shape) {
    case SHAPE_INTEGER:
        return (a->integer > b->integer) - (a->integer < b->integer);
    case SHAPE_REAL:
        return compare_reals(a->real, b->real);
    case SHAPE_DECIMAL:
        return (a->decimal > b->decimal) - (a->decimal < b->decimal);
    case SHAPE_BYTES:
        return firn_bytes_compare(a->bytes, b->bytes);
    default:
        return 0;
    }
}

bool firn_value_same(const struct firn_value *a, const struct firn_value *b)
{
    if (a->is_null || b->is_null)
        return a->is_null && b->is_null;
    return firn_value_compare(a, b) == 0;
}

/* A varint that is 0 for null and else one more than the length, then the binary form: a million of these take little
 * more than their values. */
firn_status firn_value_key(struct firn_op *op, const struct firn_value *value, struct firn_buffer *out)
{
    struct firn_value canonical = *value;
    if (!value->is_null && forms[value->type].shape == SHAPE_REAL && isnan(value->real))
        canonical.real = (double)NAN;
    uint8_t scratch[FIRN_VALUE_SCRATCH_BYTES];
    struct firn_bytes form = value->is_null ? (struct firn_bytes){ 0 } : firn_value_form(&canonical, scratch);
    uint8_t head[FIRN_VARINT_BYTES_MAX];
    const uint8_t *head_end = firn_varint_put(head, value->is_null ? 0 : (uint64_t)form.len + 1);
    FIRN_TRY(firn_buffer_append(op, out, head, (size_t)(head_end - head)));
    return firn_buffer_append(op, out, form.data, form.len);
}

bool firn_value_promote(const struct firn_type *from, const struct firn_type *to, const struct firn_value *value,
                        struct firn_value *out)
{
    if (!firn_type_promotable(from, to))
        return false;
    *out = *value;
    out->type = to->id;
    if (value->is_null || from->id != FIRN_TYPE_DATE || to->id == FIRN_TYPE_DATE)
        return true;
    int64_t per_day = to->id == FIRN_TYPE_TIMESTAMP_NS ? NANOS_PER_DAY : FIRN_MICROS_PER_DAY;
    return !__builtin_mul_overflow(value->integer, per_day, &out->integer);
}

bool firn_value_as(const struct firn_type *type, const struct firn_value *value, struct firn_value *out)
{
    struct firn_type from = { .id = value->type, .precision = type->precision, .scale = type->scale };
    *out = *value;
    return value->type == type->id || firn_value_promote(&from, type, value, out);
}

bool firn_decimal_of_bytes(struct firn_bytes bytes, firn_int128 *out)
{
    if (bytes.len == 0)
        return false;
    uint8_t sign = bytes.data[0] & 0x80 ? 0xff : 0;
    while (bytes.len > 16) {
        if (bytes.data[0] != sign)
            return false;
        bytes = (struct firn_bytes){ bytes.data + 1, bytes.len - 1 };
    }
    unsigned __int128 value = sign ? ~(unsigned __int128)0 : 0;
    for (size_t i = 0; i < bytes.len; i++)
        value = value << 8 | bytes.data[i];
    *out = (firn_int128)value;
    return ((*out < 0) == (sign != 0));
}
