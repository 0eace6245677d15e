/* What the metrics of a file say about its key columns: whether a row of one file can have the key of a row of another.
 * What metrics do not say may be anything. Iceberg spec, "Scan Planning", "Manifests" (metrics of data_file). */
#ifndef FIRN_REWRITE_KEY_BOUNDS_H
#define FIRN_REWRITE_KEY_BOUNDS_H

#include "rewrite/output_schema.h"
#include "table/manifest.h"
#include "table/metadata.h"

/* One key column of one file. */
struct firn_column_bounds {
    bool may_null, may_nan; /* such rows are possible */
    bool may_value;         /* rows with any other value are */
    bool has_range;         /* these lie in [lower, upper] */
    struct firn_value lower, upper;
};

/* One for each leaf of `schema`, in op->arena; values are borrowed from the file's metrics. */
struct firn_column_bounds *firn_key_bounds_new(struct firn_op *op, const struct firn_metadata *metadata,
                                               const struct firn_output_schema *schema,
                                               const struct firn_data_file *file);
/* False: no row of the one has the key of a row of the other. */
bool firn_key_bounds_meet(const struct firn_column_bounds *a, const struct firn_column_bounds *b, uint32_t count);
/* Widens `bounds` to take in `other`. */
void firn_key_bounds_widen(struct firn_column_bounds *bounds, const struct firn_column_bounds *other, uint32_t count);

#endif
