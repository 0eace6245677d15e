/* Small Parquet files from values in memory: columns without repetition, one row group. */
#ifndef FIRN_REWRITE_VALUE_FILE_H
#define FIRN_REWRITE_VALUE_FILE_H

#include "rewrite/output_schema.h"

#include "base/sink.h"

/* Writes a whole file. `columns` has an array of `row_count` values for each leaf of the schema, which is of type and
 * nullability of the leaf; a leaf lies in required structs only. CORRUPT for a decimal past its precision. */
FIRN_CHECKED firn_status firn_value_file_write(struct firn_op *op, const struct firn_output_schema *schema,
                                               const struct firn_value *const *columns, uint32_t row_count,
                                               struct firn_sink *sink);

#endif
