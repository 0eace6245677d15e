/* The one struct that holds partition tuples of all specs of a table: the union of their fields by field id.
 * Reference: format-notes.md, 9. */
#ifndef FIRN_TABLE_PARTITION_SHAPE_H
#define FIRN_TABLE_PARTITION_SHAPE_H

#include "table/metadata.h"

enum { FIRN_NO_PLACE = UINT32_MAX };

struct firn_partition_shape {
    const struct firn_metadata *metadata;
    uint32_t field_count; /* 0: no spec has a field */
    int32_t *field_ids;   /* ascending */
    struct firn_text *names;
    struct firn_type *types;
    /* Places in the tuple of spec number s: places[s * field_count + field]; FIRN_NO_PLACE: it has no such field. */
    uint32_t *places;
    struct firn_type **spec_types; /* of the tuples, one a spec */
};

/* In op->arena. */
FIRN_CHECKED firn_status firn_partition_shape_new(struct firn_op *op, const struct firn_metadata *metadata,
                                                  const struct firn_partition_shape **out);
/* The number of a spec; FIRN_NO_PLACE: there is none. */
uint32_t firn_partition_shape_spec(const struct firn_partition_shape *shape, int32_t spec_id);
/* How many fields of the struct a spec has. */
uint32_t firn_partition_shape_present(const struct firn_partition_shape *shape, int32_t spec_id);
/* A tuple of a spec as the struct, one value a field, in `out`; null where the spec has no such field. Bytes are
 * borrowed. */
void firn_partition_shape_values(const struct firn_partition_shape *shape, int32_t spec_id,
                                 const struct firn_partition *partition, struct firn_value *out);
/* Such values, and their bytes, in the arena. */
struct firn_value *firn_partition_shape_copy(struct firn_arena *arena, const struct firn_partition_shape *shape,
                                             const struct firn_value *values);

#endif
