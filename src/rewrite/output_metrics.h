/* Column metrics of an output file, gathered chunk by chunk. Reference: format-notes.md, 11.2. */
#ifndef FIRN_REWRITE_OUTPUT_METRICS_H
#define FIRN_REWRITE_OUTPUT_METRICS_H

#include "format/parquet/writer.h"
#include "rewrite/group_run.h"

struct firn_column_totals {
    int64_t compressed_bytes, value_count, null_count, nan_count;
    bool bounds_unknown; /* a chunk with values had no bounds */
    bool has_bounds;
    struct firn_value lower, upper;
    struct firn_buffer lower_bytes, upper_bytes; /* theirs */
};

/* Adds a finished chunk of leaf `leaf` to totals, which begin as zeros; bounds are copied. */
FIRN_CHECKED firn_status firn_column_totals_add(struct firn_op *op, struct firn_column_totals *totals,
                                                const struct firn_output_leaf *leaf,
                                                const struct firn_encoded_chunk *chunk);
/* Frees what the totals hold; they are zeros again. */
void firn_column_totals_clear(struct firn_column_totals *totals);
/* Fills the metrics of `file` from the totals of all leaves. In op->arena. */
FIRN_CHECKED firn_status firn_column_totals_fill(struct firn_op *op, const struct firn_group_run *run,
                                                 const struct firn_column_totals *totals, struct firn_data_file *file);

#endif
