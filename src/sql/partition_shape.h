/* The one struct that holds partition tuples of all specs of a table: the union of their fields by field id.
 * Reference: format-notes.md, 9. */
#ifndef FIRN_SQL_PARTITION_SHAPE_H
#define FIRN_SQL_PARTITION_SHAPE_H

#include "sql/metadata_table.h"

struct firn_partition_shape {
    const struct firn_metadata *metadata;
    uint32_t field_count; /* 0: no spec has a field, and tables have no column for it */
    int32_t *field_ids;   /* ascending */
    struct firn_text *names;
    struct firn_type *types;
    /* Places in the tuple of spec number s: places[s * field_count + field]; UINT32_MAX: it has no such field. */
    uint32_t *places;
    struct firn_type **spec_types; /* of the tuples, one a spec */
};

/* In op->arena. */
FIRN_CHECKED firn_status firn_partition_shape_new(struct firn_op *op, const struct firn_metadata *metadata,
                                                  const struct firn_partition_shape **out);
/* The column "partition". */
struct firn_metadata_column firn_partition_shape_column(struct firn_arena *arena,
                                                        const struct firn_partition_shape *shape);
/* How many fields of the struct a spec has. */
uint32_t firn_partition_shape_present(const struct firn_partition_shape *shape, int32_t spec_id);
/* A tuple of a spec as the struct, one value a field, in `out`; null where the spec has no such field. Bytes are
 * borrowed. */
void firn_partition_shape_values(const struct firn_partition_shape *shape, int32_t spec_id,
                                 const struct firn_partition *partition, struct firn_value *out);
/* The struct as JSON, or one of its fields where `path` goes on from step `depth`. */
FIRN_CHECKED firn_status firn_partition_shape_cell(struct firn_op *op, const struct firn_partition_shape *shape,
                                                   const struct firn_value *values,
                                                   const struct firn_metadata_path *path, uint32_t depth,
                                                   struct firn_cell *out);
void firn_partition_shape_json(const struct firn_partition_shape *shape, const struct firn_value *values,
                               struct firn_json_out *json);
/* Whether a manifest may have a file that meets the conditions on fields of the struct at `base`. */
bool firn_partition_shape_may_match(struct firn_op *op, const struct firn_partition_shape *shape,
                                    const struct firn_metadata_request *request, struct firn_metadata_path base,
                                    const struct firn_manifest_file *manifest);

#endif
