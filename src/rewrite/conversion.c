/* Value conversions, one function a pair of physical forms, and the table of which Iceberg type takes which. */
#include "rewrite/conversion.h"

#include "base/math.h"
#include "base/time.h"
#include "base/uuid.h"

#define NANOS_PER_MICRO  1000
#define NANOS_PER_MILLI  1000000
#define NANOS_PER_DAY    (FIRN_MICROS_PER_DAY * NANOS_PER_MICRO)
#define JULIAN_EPOCH_DAY INT64_C(2440588) /* the Julian day number of 1970-01-01 */

static firn_status out_of_range(struct firn_op *op, const struct firn_conversion *conversion)
{
    return firn_fail(op, FIRN_CORRUPT, "column '%.*s' holds a value beyond the range of the table's column",
                     FIRN_FMT(conversion->from->path));
}

/* Integers. */

static firn_status int32_to_int64(struct firn_op *op, const struct firn_conversion *conversion, union firn_values in,
                                  size_t count, union firn_values out)
{
    (void)op, (void)conversion;
    for (size_t i = 0; i < count; i++)
        out.int64[i] = in.int32[i];
    return FIRN_OK;
}

static firn_status uint32_to_int64(struct firn_op *op, const struct firn_conversion *conversion, union firn_values in,
                                   size_t count, union firn_values out)
{
    (void)op, (void)conversion;
    for (size_t i = 0; i < count; i++)
        out.int64[i] = (uint32_t)in.int32[i];
    return FIRN_OK;
}

static firn_status uint32_to_int32(struct firn_op *op, const struct firn_conversion *conversion, union firn_values in,
                                   size_t count, union firn_values out)
{
    for (size_t i = 0; i < count; i++) {
        if (in.int32[i] < 0)
            return out_of_range(op, conversion);
        out.int32[i] = in.int32[i];
    }
    return FIRN_OK;
}

static firn_status uint64_to_int64(struct firn_op *op, const struct firn_conversion *conversion, union firn_values in,
                                   size_t count, union firn_values out)
{
    for (size_t i = 0; i < count; i++) {
        if (in.int64[i] < 0)
            return out_of_range(op, conversion);
        out.int64[i] = in.int64[i];
    }
    return FIRN_OK;
}

static firn_status float_to_double(struct firn_op *op, const struct firn_conversion *conversion, union firn_values in,
                                   size_t count, union firn_values out)
{
    (void)op, (void)conversion;
    for (size_t i = 0; i < count; i++)
        out.float64[i] = in.float32[i];
    return FIRN_OK;
}

/* Times. */

static firn_status int32_scaled(struct firn_op *op, const struct firn_conversion *conversion, union firn_values in,
                                size_t count, union firn_values out)
{
    for (size_t i = 0; i < count; i++)
        if (__builtin_mul_overflow(in.int32[i], conversion->multiply, &out.int64[i]))
            return out_of_range(op, conversion);
    return FIRN_OK;
}

static firn_status int64_scaled(struct firn_op *op, const struct firn_conversion *conversion, union firn_values in,
                                size_t count, union firn_values out)
{
    for (size_t i = 0; i < count; i++)
        if (__builtin_mul_overflow(in.int64[i], conversion->multiply, &out.int64[i]))
            return out_of_range(op, conversion);
    return FIRN_OK;
}

static firn_status int64_divided(struct firn_op *op, const struct firn_conversion *conversion, union firn_values in,
                                 size_t count, union firn_values out)
{
    (void)op;
    for (size_t i = 0; i < count; i++)
        out.int64[i] = firn_floor_div(in.int64[i], conversion->divide);
    return FIRN_OK;
}

/* INT96: nanoseconds of the day, then the Julian day. `multiply` output units a day, `divide` nanoseconds a unit. */
static firn_status int96_to_int64(struct firn_op *op, const struct firn_conversion *conversion, union firn_values in,
                                  size_t count, union firn_values out)
{
    for (size_t i = 0; i < count; i++) {
        const uint8_t *at = in.fixed + i * 12;
        int64_t nanos = (int64_t)firn_load_le64(at);
        int64_t days = (int32_t)firn_load_le32(at + 8) - JULIAN_EPOCH_DAY;
        int64_t start;
        if (__builtin_mul_overflow(days, conversion->multiply, &start) ||
            __builtin_add_overflow(start, firn_floor_div(nanos, conversion->divide), &out.int64[i]))
            return out_of_range(op, conversion);
    }
    return FIRN_OK;
}

/* Bytes. */

static firn_status fixed_to_slices(struct firn_op *op, const struct firn_conversion *conversion, union firn_values in,
                                   size_t count, union firn_values out)
{
    (void)op;
    uint32_t len = conversion->from->type_length;
    for (size_t i = 0; i < count; i++)
        out.slice[i] = (struct firn_slice){ in.fixed + i * len, len };
    return FIRN_OK;
}

static firn_status slices_to_fixed(struct firn_op *op, const struct firn_conversion *conversion, union firn_values in,
                                   size_t count, union firn_values out)
{
    uint32_t len = conversion->to->type_length;
    for (size_t i = 0; i < count; i++) {
        if (in.slice[i].len != len)
            return firn_fail(op, FIRN_CORRUPT, "column '%.*s' holds a value of %u bytes where the table has fixed[%u]",
                             FIRN_FMT(conversion->from->path), in.slice[i].len, len);
        memcpy(out.fixed + i * len, in.slice[i].data, len);
    }
    return FIRN_OK;
}

/* UUIDs as 16 bytes or as text. */
static firn_status slices_to_uuid(struct firn_op *op, const struct firn_conversion *conversion, union firn_values in,
                                  size_t count, union firn_values out)
{
    for (size_t i = 0; i < count; i++) {
        struct firn_slice slice = in.slice[i];
        struct firn_uuid uuid;
        if (slice.len == sizeof uuid.bytes)
            memcpy(uuid.bytes, slice.data, sizeof uuid.bytes);
        else if (!firn_uuid_parse((struct firn_text){ (const char *)slice.data, slice.len }, &uuid))
            return firn_fail(op, FIRN_CORRUPT, "column '%.*s' holds %u bytes that are no UUID",
                             FIRN_FMT(conversion->from->path), slice.len);
        memcpy(out.fixed + i * sizeof uuid.bytes, uuid.bytes, sizeof uuid.bytes);
    }
    return FIRN_OK;
}

/* Decimals: any of the four physical forms to any of the three that are written. */

static bool load_decimal(const struct firn_parquet_node *leaf, union firn_values in, size_t index, firn_int128 *out)
{
    switch (leaf->type) {
    case FIRN_PARQUET_INT32:
        *out = in.int32[index];
        return true;
    case FIRN_PARQUET_INT64:
        *out = in.int64[index];
        return true;
    case FIRN_PARQUET_FIXED:
        return firn_decimal_of_bytes((struct firn_bytes){ in.fixed + index * leaf->type_length, leaf->type_length },
                                     out);
    default:
        return firn_decimal_of_bytes((struct firn_bytes){ in.slice[index].data, in.slice[index].len }, out);
    }
}

static bool store_decimal(const struct firn_parquet_node *leaf, firn_int128 value, union firn_values out, size_t index)
{
    if (leaf->type == FIRN_PARQUET_INT32) {
        out.int32[index] = (int32_t)value;
        return out.int32[index] == value;
    }
    if (leaf->type == FIRN_PARQUET_INT64) {
        out.int64[index] = (int64_t)value;
        return out.int64[index] == value;
    }
    uint32_t len = leaf->type_length;
    for (uint32_t i = len; i-- > 0; value >>= 8)
        out.fixed[index * len + i] = (uint8_t)value;
    bool negative = out.fixed[index * len] & 0x80;
    return len >= 16 || value == (negative ? -1 : 0);
}

static firn_status decimal_to_decimal(struct firn_op *op, const struct firn_conversion *conversion,
                                      union firn_values in, size_t count, union firn_values out)
{
    for (size_t i = 0; i < count; i++) {
        firn_int128 value;
        if (!load_decimal(conversion->from, in, i, &value) || !store_decimal(conversion->to, value, out, i))
            return out_of_range(op, conversion);
    }
    return FIRN_OK;
}

/* The commonest pair: PyArrow stores short decimals as few bytes, tables have them as integers. */
static firn_status short_decimal_to_int64(struct firn_op *op, const struct firn_conversion *conversion,
                                          union firn_values in, size_t count, union firn_values out)
{
    uint32_t len = conversion->from->type_length;
    (void)op;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *at = in.fixed + i * len;
        uint64_t bits = at[0] & 0x80 ? UINT64_MAX : 0;
        for (uint32_t j = 0; j < len; j++)
            bits = bits << 8 | at[j];
        out.int64[i] = (int64_t)bits;
    }
    return FIRN_OK;
}

/* Which conversion a pair of leaves needs. */

static firn_status refuse(struct firn_op *op, const struct firn_parquet_node *from, const struct firn_type *type)
{
    return firn_fail(op, FIRN_UNSUPPORTED, "column '%.*s' is stored as %s (%s), which cannot be read as %.*s",
                     FIRN_FMT(from->path), firn_parquet_type_name(from->type), firn_logical_name(from->logical.kind),
                     FIRN_FMT(firn_type_text(op->arena, type)));
}

static bool is_unsigned(const struct firn_parquet_node *node)
{
    return node->logical.kind == FIRN_LOGICAL_INTEGER && !node->logical.is_signed;
}

static bool is_plain_integer(const struct firn_parquet_node *node)
{
    return node->logical.kind == FIRN_LOGICAL_NONE || node->logical.kind == FIRN_LOGICAL_INTEGER;
}

static bool find_integer(const struct firn_parquet_node *from, const struct firn_type *type,
                         struct firn_conversion *out)
{
    if (!is_plain_integer(from))
        return false;
    bool wide = type->id == FIRN_TYPE_LONG;
    if (from->type == FIRN_PARQUET_INT32)
        out->run = is_unsigned(from) ? (wide ? uint32_to_int64 : uint32_to_int32) : (wide ? int32_to_int64 : NULL);
    else
        out->run = is_unsigned(from) ? uint64_to_int64 : NULL;
    return from->type == FIRN_PARQUET_INT32 || (wide && from->type == FIRN_PARQUET_INT64);
}

static bool find_decimal(const struct firn_parquet_node *from, const struct firn_parquet_node *to,
                         const struct firn_type *type, struct firn_conversion *out)
{
    if (from->logical.kind != FIRN_LOGICAL_DECIMAL || from->logical.scale != type->scale)
        return false;
    if (from->type == FIRN_PARQUET_FIXED && from->type_length <= sizeof(int64_t) && to->type == FIRN_PARQUET_INT64)
        out->run = short_decimal_to_int64;
    else if (from->type != to->type || from->type_length != to->type_length)
        out->run = decimal_to_decimal;
    return true;
}

/* Nanoseconds in one unit of a stored time or timestamp; a column without annotation is in `unannotated` ones. */
static int64_t unit_nanos(const struct firn_parquet_node *node, enum firn_logical kind, int64_t unannotated)
{
    static const int64_t nanos[] = { NANOS_PER_MILLI, NANOS_PER_MICRO, 1 };
    if (node->logical.kind == kind)
        return nanos[node->logical.unit];
    return node->logical.kind == FIRN_LOGICAL_NONE && node->type == FIRN_PARQUET_INT64 ? unannotated : 0;
}

static void set_scale(struct firn_conversion *out, enum firn_parquet_type from, int64_t from_nanos, int64_t to_nanos)
{
    if (from_nanos == to_nanos)
        return;
    if (from_nanos < to_nanos) {
        out->divide = to_nanos / from_nanos;
        out->run = int64_divided;
        return;
    }
    out->multiply = from_nanos / to_nanos;
    out->run = from == FIRN_PARQUET_INT32 ? int32_scaled : int64_scaled;
}

static bool find_time(const struct firn_parquet_node *from, struct firn_conversion *out)
{
    int64_t nanos = unit_nanos(from, FIRN_LOGICAL_TIME, NANOS_PER_MICRO);
    if (nanos == 0 || (from->type != FIRN_PARQUET_INT32 && from->type != FIRN_PARQUET_INT64))
        return false;
    set_scale(out, from->type, nanos, NANOS_PER_MICRO);
    return true;
}

static bool find_timestamp(const struct firn_parquet_node *from, int64_t to_nanos, struct firn_conversion *out)
{
    int64_t nanos = unit_nanos(from, FIRN_LOGICAL_TIMESTAMP, to_nanos);
    if (from->type == FIRN_PARQUET_INT96) {
        out->run = int96_to_int64;
        out->multiply = NANOS_PER_DAY / to_nanos;
        out->divide = to_nanos;
        return true;
    }
    if (from->type == FIRN_PARQUET_INT32 && from->logical.kind == FIRN_LOGICAL_DATE) {
        out->run = int32_scaled;
        out->multiply = NANOS_PER_DAY / to_nanos;
        return true;
    }
    if (nanos == 0 || from->type != FIRN_PARQUET_INT64)
        return false;
    set_scale(out, from->type, nanos, to_nanos);
    return true;
}

static bool find_bytes(const struct firn_parquet_node *from, struct firn_conversion *out)
{
    if (from->logical.kind == FIRN_LOGICAL_DECIMAL || from->logical.kind == FIRN_LOGICAL_INTERVAL)
        return false;
    if (from->type == FIRN_PARQUET_FIXED)
        out->run = fixed_to_slices;
    return from->type == FIRN_PARQUET_FIXED || from->type == FIRN_PARQUET_BYTE_ARRAY;
}

static bool find_fixed(const struct firn_parquet_node *from, const struct firn_parquet_node *to,
                       const struct firn_type *type, struct firn_conversion *out)
{
    if (from->logical.kind == FIRN_LOGICAL_DECIMAL)
        return false;
    if (from->type == FIRN_PARQUET_FIXED)
        return from->type_length == to->type_length;
    out->run = type->id == FIRN_TYPE_UUID ? slices_to_uuid : slices_to_fixed;
    return from->type == FIRN_PARQUET_BYTE_ARRAY;
}

static bool find(const struct firn_parquet_node *from, const struct firn_parquet_node *to, const struct firn_type *type,
                 struct firn_conversion *out)
{
    switch (type->id) {
    case FIRN_TYPE_BOOLEAN:
        return from->type == FIRN_PARQUET_BOOLEAN;
    case FIRN_TYPE_INT:
    case FIRN_TYPE_LONG:
        return find_integer(from, type, out);
    case FIRN_TYPE_FLOAT:
        return from->type == FIRN_PARQUET_FLOAT;
    case FIRN_TYPE_DOUBLE:
        out->run = from->type == FIRN_PARQUET_FLOAT ? float_to_double : NULL;
        return from->type == FIRN_PARQUET_FLOAT || from->type == FIRN_PARQUET_DOUBLE;
    case FIRN_TYPE_DECIMAL:
        return find_decimal(from, to, type, out);
    case FIRN_TYPE_DATE:
        return from->type == FIRN_PARQUET_INT32 &&
               (from->logical.kind == FIRN_LOGICAL_DATE || from->logical.kind == FIRN_LOGICAL_NONE);
    case FIRN_TYPE_TIME:
        return find_time(from, out);
    case FIRN_TYPE_TIMESTAMP:
    case FIRN_TYPE_TIMESTAMPTZ:
        return find_timestamp(from, NANOS_PER_MICRO, out);
    case FIRN_TYPE_TIMESTAMP_NS:
    case FIRN_TYPE_TIMESTAMPTZ_NS:
        return find_timestamp(from, 1, out);
    case FIRN_TYPE_STRING:
    case FIRN_TYPE_BINARY:
        return find_bytes(from, out);
    case FIRN_TYPE_UUID:
    case FIRN_TYPE_FIXED:
        return find_fixed(from, to, type, out);
    case FIRN_TYPE_GEOMETRY:
    case FIRN_TYPE_GEOGRAPHY:
    case FIRN_TYPE_VARIANT:
        return from->type == FIRN_PARQUET_BYTE_ARRAY;
    default:
        return false;
    }
}

firn_status firn_conversion_find(struct firn_op *op, const struct firn_parquet_node *from,
                                 const struct firn_parquet_node *to, const struct firn_type *type,
                                 struct firn_conversion *out)
{
    *out = (struct firn_conversion){ .from = from, .to = to };
    return find(from, to, type, out) ? FIRN_OK : refuse(op, from, type);
}

/* Single values. */

struct firn_value firn_leaf_value(const struct firn_parquet_node *leaf, const struct firn_type *type,
                                  union firn_values values, size_t index)
{
    struct firn_value value = { .type = type->id };
    if (type->id == FIRN_TYPE_DECIMAL) {
        bool fits = load_decimal(leaf, values, index, &value.decimal);
        (void)fits; /* output leaves hold at most 16 bytes a decimal */
        return value;
    }
    switch (leaf->type) {
    case FIRN_PARQUET_BOOLEAN:
        value.integer = values.boolean[index];
        break;
    case FIRN_PARQUET_INT32:
        value.integer = values.int32[index];
        break;
    case FIRN_PARQUET_INT64:
        value.integer = values.int64[index];
        break;
    case FIRN_PARQUET_FLOAT:
        value.real = values.float32[index];
        break;
    case FIRN_PARQUET_DOUBLE:
        value.real = values.float64[index];
        break;
    case FIRN_PARQUET_BYTE_ARRAY:
        value.bytes = (struct firn_bytes){ values.slice[index].data, values.slice[index].len };
        break;
    default:
        value.bytes = (struct firn_bytes){ values.fixed + index * leaf->type_length, leaf->type_length };
        break;
    }
    return value;
}

/* A single value in the form that vectors have, made of its bytes in a statistic. */
struct single {
    union {
        uint64_t word;
        uint32_t half;
        uint8_t byte;
        struct firn_slice slice;
    } room;
    union firn_values values;
};

static firn_status load_single(struct firn_op *op, const struct firn_parquet_node *leaf, struct firn_bytes plain,
                               struct single *out)
{
    size_t width = leaf->type == FIRN_PARQUET_BYTE_ARRAY ? plain.len : firn_value_width(leaf->type, leaf->type_length);
    if (plain.len != width || plain.len > UINT32_MAX)
        return firn_fail(op, FIRN_CORRUPT, "a bound of %zu bytes where %zu are needed", plain.len, width);
    out->values.any = &out->room;
    if (leaf->type == FIRN_PARQUET_BYTE_ARRAY)
        out->room.slice = (struct firn_slice){ plain.data, (uint32_t)plain.len };
    else if (leaf->type == FIRN_PARQUET_FIXED || leaf->type == FIRN_PARQUET_INT96)
        out->values.any = (void *)(uintptr_t)plain.data; /* only read */
    else if (width == 8)
        out->room.word = firn_load_le64(plain.data);
    else if (width == 4)
        out->room.half = firn_load_le32(plain.data);
    else
        out->room.byte = plain.data[0];
    return FIRN_OK;
}

firn_status firn_leaf_value_of_plain(struct firn_op *op, const struct firn_parquet_node *leaf,
                                     const struct firn_type *type, struct firn_bytes plain, struct firn_value *out)
{
    struct single single;
    firn_int128 decimal;
    FIRN_TRY(load_single(op, leaf, plain, &single));
    if (type->id == FIRN_TYPE_DECIMAL && !load_decimal(leaf, single.values, 0, &decimal))
        return firn_fail(op, FIRN_CORRUPT, "a decimal bound of %zu bytes", plain.len);
    *out = firn_leaf_value(leaf, type, single.values, 0);
    return FIRN_OK;
}

firn_status firn_conversion_of_plain(struct firn_op *op, const struct firn_conversion *conversion,
                                     const struct firn_type *type, struct firn_bytes plain, struct firn_value *out)
{
    if (!conversion->run)
        return firn_leaf_value_of_plain(op, conversion->to, type, plain, out);
    struct single single;
    size_t width = firn_value_width(conversion->to->type, conversion->to->type_length);
    union firn_values converted = { .any = firn_arena_alloc(op->arena, width) };
    FIRN_TRY(load_single(op, conversion->from, plain, &single));
    FIRN_TRY(conversion->run(op, conversion, single.values, 1, converted));
    *out = firn_leaf_value(conversion->to, type, converted, 0);
    return FIRN_OK;
}

static void store_value(const struct firn_parquet_node *leaf, const struct firn_value *value, union firn_values out,
                        size_t index)
{
    switch (leaf->type) {
    case FIRN_PARQUET_BOOLEAN:
        out.boolean[index] = value->integer != 0;
        break;
    case FIRN_PARQUET_INT32:
        out.int32[index] = (int32_t)value->integer;
        break;
    case FIRN_PARQUET_INT64:
        out.int64[index] = value->integer;
        break;
    case FIRN_PARQUET_FLOAT:
        out.float32[index] = (float)value->real;
        break;
    case FIRN_PARQUET_DOUBLE:
        out.float64[index] = value->real;
        break;
    case FIRN_PARQUET_BYTE_ARRAY:
        out.slice[index] = (struct firn_slice){ value->bytes.data, (uint32_t)value->bytes.len };
        break;
    default:
        memcpy(out.fixed + index * leaf->type_length, value->bytes.data, FIRN_MIN(leaf->type_length, value->bytes.len));
        break;
    }
}

firn_status firn_leaf_value_store(struct firn_op *op, const struct firn_parquet_node *leaf,
                                  const struct firn_value *value, union firn_values out, size_t index)
{
    if (value->type != FIRN_TYPE_DECIMAL) {
        store_value(leaf, value, out, index);
        return FIRN_OK;
    }
    if (store_decimal(leaf, value->decimal, out, index))
        return FIRN_OK;
    return firn_fail(op, FIRN_CORRUPT, "column '%.*s' has a value beyond its precision", FIRN_FMT(leaf->path));
}

firn_status firn_leaf_constant(struct firn_op *op, const struct firn_parquet_node *leaf, const struct firn_value *value,
                               const struct firn_dictionary **out)
{
    struct firn_dictionary *dictionary = FIRN_NEW(op->arena, struct firn_dictionary);
    *dictionary = (struct firn_dictionary){
        .type = leaf->type,
        .type_length = leaf->type_length,
        .count = 1,
        .values.any = firn_arena_alloc(op->arena, firn_value_width(leaf->type, leaf->type_length)),
    };
    op->env->random(op->env->context, &dictionary->id, sizeof dictionary->id);
    *out = dictionary;
    return firn_leaf_value_store(op, leaf, value, dictionary->values, 0);
}
