/* A table's properties: setting and unsetting. Reference: procedures.md, 10. */
#ifndef FIRN_TABLE_PROPERTIES_H
#define FIRN_TABLE_PROPERTIES_H

#include "firn/catalog.h"

struct firn_table_properties_args {
    const struct firn_property *set; /* `format-version` raises the table's format version and is not kept */
    size_t set_count;
    const struct firn_text *unset; /* one that is not there is fine */
    size_t unset_count;
    bool dry_run; /* check and tell what would be, and change nothing */
};

/* One that was named: before and after; `data` NULL: not there. */
struct firn_property_change {
    struct firn_text key, previous, value;
};
struct firn_table_properties_report {
    struct firn_property_change *changes; /* in the order they were named, in op->arena */
    size_t change_count;
};

/* Nothing is committed when all is as it should be already. USAGE for an empty name, one given twice, what is not a
 * property but a part of the metadata (a hint says what to use), a format version that goes down, commit.retry.* that
 * are no numbers from 0 on, and write.metadata.metrics.column.* of a column that the table has not; UNSUPPORTED for a
 * format version that firn does not know. */
FIRN_CHECKED firn_status firn_table_properties_change(struct firn_op *op, struct firn_table *table,
                                                      const struct firn_table_properties_args *args,
                                                      struct firn_table_properties_report *out);

#endif
