/* Partition tuples between values of a spec's types and what stands in a manifest.
 * Iceberg spec, "Partitioning", "Appendix A: Avro". */
#ifndef FIRN_TABLE_MANIFEST_TUPLE_H
#define FIRN_TABLE_MANIFEST_TUPLE_H

#include "format/avro/layout.h"
#include "table/partition.h"

/* Where the scalars of a tuple lie in a row, and what they are. */
struct firn_tuple_place {
    const struct firn_partition_spec *spec;
    const struct firn_type *types; /* of firn_partition_types */
    size_t offset;                 /* of the first struct firn_avro_scalar in the row */
};

/* The layout of the partition record (r102), for reading or for writing. */
const struct firn_avro_layout *firn_tuple_read_layout(struct firn_arena *arena, struct firn_tuple_place place);
const struct firn_avro_layout *firn_tuple_write_layout(struct firn_arena *arena, struct firn_tuple_place place);

/* Scalars as read to values of `type`: narrower types are widened, day results may be date or int, decimals fixed or
 * bytes. CORRUPT for a type or value that does not fit. */
FIRN_CHECKED firn_status firn_tuple_value(struct firn_op *op, const struct firn_type *type,
                                          const struct firn_avro_scalar *scalar, struct firn_value *out);
/* A value to the scalar that is written for it. `scratch` holds a decimal's bytes. */
#define FIRN_TUPLE_SCRATCH_BYTES 16
FIRN_CHECKED firn_status firn_tuple_scalar(struct firn_op *op, const struct firn_avro_type *written,
                                           const struct firn_value *value, uint8_t scratch[FIRN_TUPLE_SCRATCH_BYTES],
                                           struct firn_avro_scalar *out);

#endif
