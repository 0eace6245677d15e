/* Turning the values a file stores into those the output stores: schema promotion, and the physical forms that other
 * writers choose. Iceberg spec, "Schema Evolution", "Appendix A: Parquet"; format-notes.md, 12 and 13. */
#ifndef FIRN_REWRITE_CONVERSION_H
#define FIRN_REWRITE_CONVERSION_H

#include "format/parquet/vector.h"
#include "table/value.h"

struct firn_conversion;
/* Converts `count` values; `out` has room for them. CORRUPT for a value that the output type does not hold. */
typedef firn_status firn_convert(struct firn_op *op, const struct firn_conversion *conversion, union firn_values in,
                                 size_t count, union firn_values out);

struct firn_conversion {
    firn_convert *run; /* NULL: the values are used as they are */
    const struct firn_parquet_node *from, *to;
    int64_t multiply, divide; /* units of time */
};

/* How values of the input leaf `from` become values of the output leaf `to`, which stores Iceberg type `type`.
 * UNSUPPORTED when the specification knows no such reading. */
FIRN_CHECKED firn_status firn_conversion_find(struct firn_op *op, const struct firn_parquet_node *from,
                                              const struct firn_parquet_node *to, const struct firn_type *type,
                                              struct firn_conversion *out);

/* One value of an output leaf as an Iceberg value; bytes are borrowed. `index` into values of the leaf's type. */
struct firn_value firn_leaf_value(const struct firn_parquet_node *leaf, const struct firn_type *type,
                                  union firn_values values, size_t index);
/* The same from a statistic's bytes (PLAIN without a length prefix). CORRUPT when their number is wrong. */
FIRN_CHECKED firn_status firn_leaf_value_of_plain(struct firn_op *op, const struct firn_parquet_node *leaf,
                                                  const struct firn_type *type, struct firn_bytes plain,
                                                  struct firn_value *out);
/* A value of the output leaf from a statistic of the input leaf, in op->arena or borrowed. CORRUPT as above, and for
 * what the output type does not hold. */
FIRN_CHECKED firn_status firn_conversion_of_plain(struct firn_op *op, const struct firn_conversion *conversion,
                                                  const struct firn_type *type, struct firn_bytes plain,
                                                  struct firn_value *out);
/* The other way round: puts a value that is not null at `index` of an array of the leaf's values. CORRUPT for a decimal
 * past the leaf's precision; bytes are borrowed, those of fixed length copied. */
FIRN_CHECKED firn_status firn_leaf_value_store(struct firn_op *op, const struct firn_parquet_node *leaf,
                                               const struct firn_value *value, union firn_values out, size_t index);
/* A value that is not null as the only entry of a dictionary in op->arena; bytes are borrowed. */
FIRN_CHECKED firn_status firn_leaf_constant(struct firn_op *op, const struct firn_parquet_node *leaf,
                                            const struct firn_value *value, const struct firn_dictionary **out);

#endif
