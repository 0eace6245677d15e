/* The order of a column's values, as statistics use it, and bounds in that order.
 *
 * Bounds are bytes as statistics hold them: PLAIN, without a length prefix. parquet.thrift, ColumnOrder. */
#ifndef FIRN_FORMAT_PARQUET_ORDER_H
#define FIRN_FORMAT_PARQUET_ORDER_H

#include "base/buffer.h"
#include "format/parquet/vector.h"

enum firn_order {
    FIRN_ORDER_NONE, /* INT96, INTERVAL, GEOMETRY, GEOGRAPHY, VARIANT, UNKNOWN: no bounds */
    FIRN_ORDER_BOOLEAN,
    FIRN_ORDER_INT32,
    FIRN_ORDER_UINT32,
    FIRN_ORDER_INT64,
    FIRN_ORDER_UINT64,
    FIRN_ORDER_FLOAT, /* by value, -0.0 before +0.0; NaN has no place in it */
    FIRN_ORDER_DOUBLE,
    FIRN_ORDER_FLOAT16,
    FIRN_ORDER_BYTES,  /* BYTE_ARRAY, FIXED: unsigned bytewise */
    FIRN_ORDER_DECIMAL /* BYTE_ARRAY, FIXED: signed big-endian numbers of any length */
};

enum firn_order firn_order_of(const struct firn_parquet_node *leaf);
/* <0, 0 or >0. Both values are of the order's type, not NaN. */
int firn_order_compare(enum firn_order order, struct firn_bytes a, struct firn_bytes b);
bool firn_order_has_nan(enum firn_order order);
bool firn_order_is_nan(enum firn_order order, struct firn_bytes value);
/* One of an array of values whose type fits the order. */
struct firn_bytes firn_order_value(enum firn_order order, union firn_values values, uint32_t type_length, size_t index);

/* What was seen of some values. Zeros are empty. The buffers are the owner's: firn_bounds_done. */
struct firn_bounds {
    bool found;                /* there was a value other than NaN: min and max are set */
    bool min_exact, max_exact; /* a value equals the bound; else it only encloses them */
    int64_t nan_count;         /* floats */
    struct firn_buffer min, max;
};
/* Widens the bounds by `count` values of a physical type that fits the order. */
FIRN_CHECKED firn_status firn_bounds_add(struct firn_op *op, struct firn_bounds *bounds, enum firn_order order,
                                         union firn_values values, uint32_t type_length, size_t count);
/* The least and the greatest of `count` > 0 integers. */
void firn_range_of_i32(const int32_t *values, size_t count, int32_t *min_out, int32_t *max_out);
void firn_range_of_i64(const int64_t *values, size_t count, int64_t *min_out, int64_t *max_out);
/* Widens the bounds by others. */
FIRN_CHECKED firn_status firn_bounds_merge(struct firn_op *op, struct firn_bounds *bounds, enum firn_order order,
                                           const struct firn_bounds *other);
/* Bounds that someone else has found. */
struct firn_range {
    struct firn_bytes min, max;
    bool min_exact, max_exact;
};
/* Widens the bounds by those of other values. */
FIRN_CHECKED firn_status firn_bounds_add_range(struct firn_op *op, struct firn_bounds *bounds, enum firn_order order,
                                               const struct firn_range *range);
/* Whether foreign bytes can be bounds of the leaf's values: of its type's width, in order, and no NaN. */
bool firn_range_sound(const struct firn_parquet_node *leaf, const struct firn_range *range);
/* Empties the bounds, keeping memory. */
void firn_bounds_clear(struct firn_bounds *bounds);
void firn_bounds_done(struct firn_bounds *bounds);

/* Bounds as files hold them. A zero of a float becomes -0.0 below and +0.0 above, as readers may treat both alike; a
 * BYTE_ARRAY of more than `len_max` bytes in order of bytes is cut, between characters if it is UTF-8, and then
 * raised above; decimals and what cannot be raised stay whole. New bytes live in the arena; the input is borrowed
 * otherwise. */
struct firn_bytes firn_bound_lower(struct firn_arena *arena, const struct firn_parquet_node *leaf,
                                   struct firn_bytes value, size_t len_max);
struct firn_bytes firn_bound_upper(struct firn_arena *arena, const struct firn_parquet_node *leaf,
                                   struct firn_bytes value, size_t len_max);

#endif
