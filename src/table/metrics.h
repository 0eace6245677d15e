/* Column metrics of a new data file as the reference writes them: modes, truncated bounds.
 * Reference: format-notes.md, 11.2. */
#ifndef FIRN_TABLE_METRICS_H
#define FIRN_TABLE_METRICS_H

#include "table/manifest.h"

enum firn_metrics_mode { FIRN_METRICS_NONE, FIRN_METRICS_COUNTS, FIRN_METRICS_TRUNCATE, FIRN_METRICS_FULL };
struct firn_metrics_setting {
    enum firn_metrics_mode mode;
    int32_t length; /* TRUNCATE */
};

struct firn_metrics_config;
/* Resolves write.metadata.metrics.* for a schema; `order` (may be NULL) promotes its columns. Bad modes warn and fall
 * back. Lives in op->arena. */
FIRN_CHECKED firn_status firn_metrics_config_new(struct firn_op *op, const struct firn_metadata *metadata,
                                                 const struct firn_schema *schema, const struct firn_sort_order *order,
                                                 const struct firn_metrics_config **out);
/* Counts and whole bounds of every column, whatever the table's properties say. */
const struct firn_metrics_config *firn_metrics_config_full(struct firn_arena *arena);
struct firn_metrics_setting firn_metrics_config_find(const struct firn_metrics_config *config, int32_t field_id);

/* What is known of one column of a file before modes are applied. */
struct firn_column_metrics {
    const struct firn_field *field;
    bool repeated; /* inside a list or map: only the column size is kept */
    int64_t compressed_bytes;
    int64_t value_count, null_count, nan_count;
    bool counts_nan; /* FLOAT, DOUBLE */
    bool has_bounds;
    struct firn_value lower, upper; /* whole */
};
/* Fills column_sizes, counts and bounds of `file` from the columns, by field id ascending, in op->arena. */
FIRN_CHECKED firn_status firn_metrics_fill(struct firn_op *op, const struct firn_metrics_config *config,
                                           const struct firn_column_metrics *columns, size_t count,
                                           struct firn_data_file *file);
/* Bounds cut to `length` code points (STRING) or bytes (BINARY); upper is rounded up; false: no upper bound exists. */
struct firn_bytes firn_truncate_lower(struct firn_arena *arena, enum firn_type_id type, struct firn_bytes value,
                                      int32_t length);
bool firn_truncate_upper(struct firn_arena *arena, enum firn_type_id type, struct firn_bytes value, int32_t length,
                         struct firn_bytes *out);

#endif
