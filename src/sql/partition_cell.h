/* The struct of partition tuples (table/partition_shape.h) as a column of metadata tables. */
#ifndef FIRN_SQL_PARTITION_CELL_H
#define FIRN_SQL_PARTITION_CELL_H

#include "sql/metadata_table.h"
#include "table/partition_shape.h"

/* The column "partition". */
struct firn_metadata_column firn_partition_shape_column(struct firn_arena *arena,
                                                        const struct firn_partition_shape *shape);
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
