/* Summaries of the partition values of a manifest's entries. Iceberg spec, "Manifest Lists", field_summary. */
#ifndef FIRN_TABLE_PARTITION_SUMMARY_H
#define FIRN_TABLE_PARTITION_SUMMARY_H

#include "table/manifest.h"

/* One a partition field. All zeros begins. */
struct firn_partition_summary {
    bool contains_null;
    bool contains_nan;
    bool has_bounds;
    struct firn_value lower, upper;
    struct firn_buffer lower_bytes, upper_bytes; /* what the bounds refer to: values come and go */
};

/* Takes a value into account; nulls and NaN do not move the bounds. */
FIRN_CHECKED firn_status firn_partition_summary_add(struct firn_op *op, struct firn_partition_summary *summary,
                                                    const struct firn_value *value);
/* The field summary, in the arena. */
struct firn_field_summary firn_partition_summary_finish(struct firn_arena *arena,
                                                        const struct firn_partition_summary *summary);
void firn_partition_summary_done(struct firn_partition_summary *summary);

#endif
