/* Column order and bounds. parquet.thrift, ColumnOrder and its rules for floats. */
#include "format/parquet/order.h"

#include "base/math.h"

#include <math.h>

static bool in_variant(const struct firn_parquet_node *node)
{
    for (; node; node = node->parent)
        if (node->logical.kind == FIRN_LOGICAL_VARIANT)
            return true;
    return false;
}

static enum firn_order order_of_bytes(const struct firn_parquet_node *leaf)
{
    switch (leaf->logical.kind) {
    case FIRN_LOGICAL_DECIMAL:
        return FIRN_ORDER_DECIMAL;
    case FIRN_LOGICAL_FLOAT16:
        return FIRN_ORDER_FLOAT16;
    case FIRN_LOGICAL_INTERVAL:
    case FIRN_LOGICAL_GEOMETRY:
    case FIRN_LOGICAL_GEOGRAPHY:
    case FIRN_LOGICAL_VARIANT:
        return FIRN_ORDER_NONE;
    case FIRN_LOGICAL_NONE: /* the encoded parts of a variant mean nothing in order */
        return leaf->type == FIRN_PARQUET_BYTE_ARRAY && in_variant(leaf) ? FIRN_ORDER_NONE : FIRN_ORDER_BYTES;
    default:
        return FIRN_ORDER_BYTES;
    }
}

enum firn_order firn_order_of(const struct firn_parquet_node *leaf)
{
    bool is_unsigned = leaf->logical.kind == FIRN_LOGICAL_INTEGER && !leaf->logical.is_signed;
    if (leaf->logical.kind == FIRN_LOGICAL_UNKNOWN)
        return FIRN_ORDER_NONE;
    switch (leaf->type) {
    case FIRN_PARQUET_BOOLEAN:
        return FIRN_ORDER_BOOLEAN;
    case FIRN_PARQUET_INT32:
        return is_unsigned ? FIRN_ORDER_UINT32 : FIRN_ORDER_INT32;
    case FIRN_PARQUET_INT64:
        return is_unsigned ? FIRN_ORDER_UINT64 : FIRN_ORDER_INT64;
    case FIRN_PARQUET_FLOAT:
        return FIRN_ORDER_FLOAT;
    case FIRN_PARQUET_DOUBLE:
        return FIRN_ORDER_DOUBLE;
    case FIRN_PARQUET_BYTE_ARRAY:
    case FIRN_PARQUET_FIXED:
        return order_of_bytes(leaf);
    default:
        return FIRN_ORDER_NONE;
    }
}

bool firn_order_has_nan(enum firn_order order)
{
    return order == FIRN_ORDER_FLOAT || order == FIRN_ORDER_DOUBLE || order == FIRN_ORDER_FLOAT16;
}

/* Keys that compare as the values do, with -0.0 before +0.0. */
static int32_t float_key(uint32_t bits)
{
    return bits >> 31 ? (int32_t)(bits ^ 0x7fffffff) : (int32_t)bits;
}

static int64_t double_key(uint64_t bits)
{
    return bits >> 63 ? (int64_t)(bits ^ INT64_MAX) : (int64_t)bits;
}

static uint32_t float16_bits(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8;
}

static int32_t float16_key(uint32_t bits)
{
    return float_key(bits << 16);
}

static bool float16_is_nan(uint32_t bits)
{
    return (bits & 0x7fff) > 0x7c00;
}

/* Big-endian two's complement numbers of any length; no bytes at all are zero. */
static int compare_decimals(struct firn_bytes a, struct firn_bytes b)
{
    bool a_negative = a.len && a.data[0] >> 7;
    bool b_negative = b.len && b.data[0] >> 7;
    if (a_negative != b_negative)
        return a_negative ? -1 : 1;
    uint8_t sign = a_negative ? 0xff : 0;
    size_t len = FIRN_MAX(a.len, b.len);
    for (size_t i = 0; i < len; i++) { /* both extended to the longer by their sign */
        uint8_t a_byte = i + a.len < len ? sign : a.data[i - (len - a.len)];
        uint8_t b_byte = i + b.len < len ? sign : b.data[i - (len - b.len)];
        if (a_byte != b_byte)
            return a_byte < b_byte ? -1 : 1;
    }
    return 0;
}

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

int firn_order_compare(enum firn_order order, struct firn_bytes a, struct firn_bytes b)
{
    switch (order) {
    case FIRN_ORDER_NONE:
        return 0;
    case FIRN_ORDER_BOOLEAN:
        return COMPARE(a.data[0], b.data[0]);
    case FIRN_ORDER_INT32:
        return COMPARE((int32_t)firn_load_le32(a.data), (int32_t)firn_load_le32(b.data));
    case FIRN_ORDER_UINT32:
        return COMPARE(firn_load_le32(a.data), firn_load_le32(b.data));
    case FIRN_ORDER_INT64:
        return COMPARE((int64_t)firn_load_le64(a.data), (int64_t)firn_load_le64(b.data));
    case FIRN_ORDER_UINT64:
        return COMPARE(firn_load_le64(a.data), firn_load_le64(b.data));
    case FIRN_ORDER_FLOAT:
        return COMPARE(float_key(firn_load_le32(a.data)), float_key(firn_load_le32(b.data)));
    case FIRN_ORDER_DOUBLE:
        return COMPARE(double_key(firn_load_le64(a.data)), double_key(firn_load_le64(b.data)));
    case FIRN_ORDER_FLOAT16:
        return COMPARE(float16_key(float16_bits(a.data)), float16_key(float16_bits(b.data)));
    case FIRN_ORDER_BYTES:
        return firn_bytes_compare(a, b);
    case FIRN_ORDER_DECIMAL:
        return compare_decimals(a, b);
    }
    return 0;
}

/* Takes a lower bound of other values into the bounds; of two equal ones the exact one tells more. */
static firn_status widen_min(struct firn_op *op, struct firn_bounds *bounds, enum firn_order order,
                             struct firn_bytes min, bool exact)
{
    int side = bounds->found ? firn_order_compare(order, min, firn_buffer_bytes(&bounds->min)) : -1;
    if (side > 0)
        return FIRN_OK;
    bounds->min_exact = exact || (side == 0 && bounds->min_exact);
    if (side == 0)
        return FIRN_OK;
    firn_buffer_clear(&bounds->min);
    return firn_buffer_append(op, &bounds->min, min.data, min.len);
}

static firn_status widen_max(struct firn_op *op, struct firn_bounds *bounds, enum firn_order order,
                             struct firn_bytes max, bool exact)
{
    int side = bounds->found ? firn_order_compare(order, max, firn_buffer_bytes(&bounds->max)) : 1;
    if (side < 0)
        return FIRN_OK;
    bounds->max_exact = exact || (side == 0 && bounds->max_exact);
    if (side == 0)
        return FIRN_OK;
    firn_buffer_clear(&bounds->max);
    return firn_buffer_append(op, &bounds->max, max.data, max.len);
}

firn_status firn_bounds_add_range(struct firn_op *op, struct firn_bounds *bounds, enum firn_order order,
                                  const struct firn_range *range)
{
    FIRN_TRY(widen_min(op, bounds, order, range->min, range->min_exact));
    FIRN_TRY(widen_max(op, bounds, order, range->max, range->max_exact));
    bounds->found = true;
    return FIRN_OK;
}

static firn_status widen_both(struct firn_op *op, struct firn_bounds *bounds, enum firn_order order,
                              struct firn_bytes min, struct firn_bytes max)
{
    return firn_bounds_add_range(op, bounds, order,
                                 &(struct firn_range){ .min = min, .max = max, .min_exact = true, .max_exact = true });
}

static firn_status widen(struct firn_op *op, struct firn_bounds *bounds, enum firn_order order, struct firn_bytes value)
{
    return widen_both(op, bounds, order, value, value);
}

/* The least and the greatest of `count` > 0 integers; four lanes keep the processor busy. */
#define DEFINE_INTEGER_RANGE(linkage, name, type)                                                                      \
    linkage void name(const type *values, size_t count, type *min_out, type *max_out)                                  \
    {                                                                                                                  \
        type min[4], max[4];                                                                                           \
        for (size_t lane = 0; lane < 4; lane++)                                                                        \
            min[lane] = max[lane] = values[0];                                                                         \
        size_t i = 0;                                                                                                  \
        for (; i + 4 <= count; i += 4)                                                                                 \
            for (size_t lane = 0; lane < 4; lane++) {                                                                  \
                min[lane] = FIRN_MIN(values[i + lane], min[lane]);                                                     \
                max[lane] = FIRN_MAX(values[i + lane], max[lane]);                                                     \
            }                                                                                                          \
        for (; i < count; i++) {                                                                                       \
            min[0] = FIRN_MIN(values[i], min[0]);                                                                      \
            max[0] = FIRN_MAX(values[i], max[0]);                                                                      \
        }                                                                                                              \
        *min_out = FIRN_MIN(FIRN_MIN(min[0], min[1]), FIRN_MIN(min[2], min[3]));                                       \
        *max_out = FIRN_MAX(FIRN_MAX(max[0], max[1]), FIRN_MAX(max[2], max[3]));                                       \
    }
DEFINE_INTEGER_RANGE(static, range_of_u8, uint8_t)
DEFINE_INTEGER_RANGE(, firn_range_of_i32, int32_t)
DEFINE_INTEGER_RANGE(static, range_of_u32, uint32_t)
DEFINE_INTEGER_RANGE(, firn_range_of_i64, int64_t)
DEFINE_INTEGER_RANGE(static, range_of_u64, uint64_t)

/* The least and the greatest of floats that are numbers, zeros told apart; gives the count of NaN. A NaN fails every
 * comparison, so it never replaces a bound. When all are NaN the bounds are left crossed. */
#define DEFINE_FLOAT_RANGE(name, type)                                                                                 \
    static size_t name(const type *values, size_t count, type *min_out, type *max_out)                                 \
    {                                                                                                                  \
        type min = INFINITY, max = -INFINITY;                                                                          \
        size_t nan_count = 0;                                                                                          \
        bool negative_zero = false, positive_zero = false;                                                             \
        for (size_t i = 0; i < count; i++) {                                                                           \
            type value = values[i];                                                                                    \
            nan_count += value != value;                                                                               \
            min = value < min ? value : min;                                                                           \
            max = value > max ? value : max;                                                                           \
        }                                                                                                              \
        for (size_t i = 0; i < count && (min == 0 || max == 0); i++) {                                                 \
            negative_zero |= values[i] == 0 && signbit(values[i]);                                                     \
            positive_zero |= values[i] == 0 && !signbit(values[i]);                                                    \
        }                                                                                                              \
        *min_out = min == 0 ? (negative_zero ? -(type)0 : (type)0) : min;                                              \
        *max_out = max == 0 ? (positive_zero ? (type)0 : -(type)0) : max;                                              \
        return nan_count;                                                                                              \
    }
DEFINE_FLOAT_RANGE(range_of_floats, float)
DEFINE_FLOAT_RANGE(range_of_doubles, double)

static firn_status add_4(struct firn_op *op, struct firn_bounds *bounds, enum firn_order order, uint32_t min,
                         uint32_t max)
{
    uint8_t bytes[2][4];
    firn_store_le32(bytes[0], min);
    firn_store_le32(bytes[1], max);
    return widen_both(op, bounds, order, (struct firn_bytes){ bytes[0], 4 }, (struct firn_bytes){ bytes[1], 4 });
}

static firn_status add_8(struct firn_op *op, struct firn_bounds *bounds, enum firn_order order, uint64_t min,
                         uint64_t max)
{
    uint8_t bytes[2][8];
    firn_store_le64(bytes[0], min);
    firn_store_le64(bytes[1], max);
    return widen_both(op, bounds, order, (struct firn_bytes){ bytes[0], 8 }, (struct firn_bytes){ bytes[1], 8 });
}

static firn_status add_floats(struct firn_op *op, struct firn_bounds *bounds, const float *values, size_t count)
{
    float range[2];
    uint32_t bits[2];
    size_t nan_count = range_of_floats(values, count, &range[0], &range[1]);
    bounds->nan_count += (int64_t)nan_count;
    memcpy(bits, range, sizeof bits);
    return nan_count == count ? FIRN_OK : add_4(op, bounds, FIRN_ORDER_FLOAT, bits[0], bits[1]);
}

static firn_status add_doubles(struct firn_op *op, struct firn_bounds *bounds, const double *values, size_t count)
{
    double range[2];
    uint64_t bits[2];
    size_t nan_count = range_of_doubles(values, count, &range[0], &range[1]);
    bounds->nan_count += (int64_t)nan_count;
    memcpy(bits, range, sizeof bits);
    return nan_count == count ? FIRN_OK : add_8(op, bounds, FIRN_ORDER_DOUBLE, bits[0], bits[1]);
}

static firn_status add_float16s(struct firn_op *op, struct firn_bounds *bounds, const uint8_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct firn_bytes value = { values + 2 * i, 2 };
        if (float16_is_nan(float16_bits(value.data)))
            bounds->nan_count++;
        else
            FIRN_TRY(widen(op, bounds, FIRN_ORDER_FLOAT16, value));
    }
    return FIRN_OK;
}

/* The first eight bytes as a number that orders before any larger one; shorter values are filled with zeros. */
static inline uint64_t prefix_of(struct firn_bytes value)
{
    uint8_t bytes[8] = { 0 };
    if (value.len >= 8)
        return firn_load_be64(value.data);
    if (value.len)
        memcpy(bytes, value.data, value.len);
    return firn_load_be64(bytes);
}

struct slices {
    const struct firn_slice *slices; /* NULL: `fixed` */
    const uint8_t *fixed;
    uint32_t width;
};

static inline struct firn_bytes slice_at(struct slices values, size_t index)
{
    if (values.slices)
        return (struct firn_bytes){ values.slices[index].data, values.slices[index].len };
    return (struct firn_bytes){ values.fixed + index * values.width, values.width };
}

/* Adds values whose prefixes order as they do once `sign` is flipped. Most lie strictly inside the bounds by their
 * prefix alone and are never compared in full. */
static inline __attribute__((always_inline)) firn_status add_prefixed(
    struct firn_op *op, struct firn_bounds *bounds, enum firn_order order, struct slices values, size_t count,
    uint64_t sign, int (*compare)(struct firn_bytes a, struct firn_bytes b))
{
    struct firn_bytes min = slice_at(values, 0), max = min;
    uint64_t min_prefix = prefix_of(min) ^ sign, max_prefix = min_prefix;
    for (size_t i = 1; i < count; i++) {
        struct firn_bytes value = slice_at(values, i);
        uint64_t prefix = prefix_of(value) ^ sign;
        if (prefix > min_prefix && prefix < max_prefix)
            continue;
        if (prefix <= min_prefix && compare(value, min) < 0) {
            min = value;
            min_prefix = prefix;
        } else if (prefix >= max_prefix && compare(value, max) > 0) {
            max = value;
            max_prefix = prefix;
        }
    }
    return widen_both(op, bounds, order, min, max);
}

static firn_status add_bytes(struct firn_op *op, struct firn_bounds *bounds, struct slices values, size_t count)
{
    return add_prefixed(op, bounds, FIRN_ORDER_BYTES, values, count, 0, firn_bytes_compare);
}

/* Big-endian numbers of one width, as nearly all are, order as bytes do but for their sign. */
static firn_status add_decimals(struct firn_op *op, struct firn_bounds *bounds, struct slices values, size_t count)
{
    if (!values.slices)
        return add_prefixed(op, bounds, FIRN_ORDER_DECIMAL, values, count, UINT64_C(1) << 63, compare_decimals);
    struct firn_bytes min = slice_at(values, 0), max = min;
    for (size_t i = 1; i < count; i++) {
        struct firn_bytes value = slice_at(values, i);
        if (compare_decimals(value, min) < 0)
            min = value;
        else if (compare_decimals(value, max) > 0)
            max = value;
    }
    return widen_both(op, bounds, FIRN_ORDER_DECIMAL, min, max);
}

firn_status firn_bounds_add(struct firn_op *op, struct firn_bounds *bounds, enum firn_order order,
                            union firn_values values, uint32_t type_length, size_t count)
{
    struct slices slices = { .slices = type_length ? NULL : values.slice, .fixed = values.fixed, .width = type_length };
    union {
        uint8_t u8[2];
        int32_t i32[2];
        uint32_t u32[2];
        int64_t i64[2];
        uint64_t u64[2];
    } range;
    if (count == 0)
        return FIRN_OK;
    switch (order) {
    case FIRN_ORDER_NONE:
        return FIRN_OK;
    case FIRN_ORDER_BOOLEAN:
        range_of_u8(values.boolean, count, &range.u8[0], &range.u8[1]);
        return widen_both(op, bounds, order, (struct firn_bytes){ &range.u8[0], 1 },
                          (struct firn_bytes){ &range.u8[1], 1 });
    case FIRN_ORDER_INT32:
        firn_range_of_i32(values.int32, count, &range.i32[0], &range.i32[1]);
        return add_4(op, bounds, order, range.u32[0], range.u32[1]);
    case FIRN_ORDER_UINT32:
        range_of_u32((const uint32_t *)values.int32, count, &range.u32[0], &range.u32[1]);
        return add_4(op, bounds, order, range.u32[0], range.u32[1]);
    case FIRN_ORDER_INT64:
        firn_range_of_i64(values.int64, count, &range.i64[0], &range.i64[1]);
        return add_8(op, bounds, order, range.u64[0], range.u64[1]);
    case FIRN_ORDER_UINT64:
        range_of_u64((const uint64_t *)values.int64, count, &range.u64[0], &range.u64[1]);
        return add_8(op, bounds, order, range.u64[0], range.u64[1]);
    case FIRN_ORDER_FLOAT:
        return add_floats(op, bounds, values.float32, count);
    case FIRN_ORDER_DOUBLE:
        return add_doubles(op, bounds, values.float64, count);
    case FIRN_ORDER_FLOAT16:
        return add_float16s(op, bounds, values.fixed, count);
    case FIRN_ORDER_BYTES:
        return add_bytes(op, bounds, slices, count);
    case FIRN_ORDER_DECIMAL:
        return add_decimals(op, bounds, slices, count);
    }
    return FIRN_OK;
}

firn_status firn_bounds_merge(struct firn_op *op, struct firn_bounds *bounds, enum firn_order order,
                              const struct firn_bounds *other)
{
    bounds->nan_count += other->nan_count;
    if (!other->found)
        return FIRN_OK;
    return firn_bounds_add_range(op, bounds, order,
                                 &(struct firn_range){ .min = firn_buffer_bytes(&other->min),
                                                       .max = firn_buffer_bytes(&other->max),
                                                       .min_exact = other->min_exact,
                                                       .max_exact = other->max_exact });
}

/* Bytes of every value in the order; 0: any number. */
static size_t width_of(enum firn_order order, uint32_t type_length)
{
    switch (order) {
    case FIRN_ORDER_BOOLEAN:
        return 1;
    case FIRN_ORDER_INT32:
    case FIRN_ORDER_UINT32:
    case FIRN_ORDER_FLOAT:
        return 4;
    case FIRN_ORDER_INT64:
    case FIRN_ORDER_UINT64:
    case FIRN_ORDER_DOUBLE:
        return 8;
    case FIRN_ORDER_FLOAT16:
        return 2;
    default:
        return type_length;
    }
}

bool firn_order_is_nan(enum firn_order order, struct firn_bytes value)
{
    switch (order) {
    case FIRN_ORDER_FLOAT:
        return (firn_load_le32(value.data) & INT32_MAX) > UINT32_C(0x7f800000);
    case FIRN_ORDER_DOUBLE:
        return (firn_load_le64(value.data) & INT64_MAX) > UINT64_C(0x7ff0000000000000);
    case FIRN_ORDER_FLOAT16:
        return float16_is_nan(float16_bits(value.data));
    default:
        return false;
    }
}

struct firn_bytes firn_order_value(enum firn_order order, union firn_values values, uint32_t type_length, size_t index)
{
    size_t width = width_of(order, type_length);
    if (width == 0)
        return (struct firn_bytes){ values.slice[index].data, values.slice[index].len };
    return (struct firn_bytes){ values.fixed + index * width, width };
}

bool firn_range_sound(const struct firn_parquet_node *leaf, const struct firn_range *range)
{
    enum firn_order order = firn_order_of(leaf);
    size_t width = width_of(order, leaf->type_length);
    if (order == FIRN_ORDER_NONE || (width && (range->min.len != width || range->max.len != width)))
        return false;
    return !firn_order_is_nan(order, range->min) && !firn_order_is_nan(order, range->max) &&
           firn_order_compare(order, range->min, range->max) <= 0;
}

void firn_bounds_clear(struct firn_bounds *bounds)
{
    bounds->found = false;
    bounds->nan_count = 0;
    firn_buffer_clear(&bounds->min);
    firn_buffer_clear(&bounds->max);
}

void firn_bounds_done(struct firn_bounds *bounds)
{
    firn_buffer_done(&bounds->min);
    firn_buffer_done(&bounds->max);
}
