/* How writers are to order and distribute a table's rows: its sort order and write.distribution-mode.
 * Iceberg spec, "Sorting"; reference: procedures.md, 2.3. */
#ifndef FIRN_WRITE_ORDER_H
#define FIRN_WRITE_ORDER_H

#include "firn/catalog.h"

/* WRITE [DISTRIBUTED BY PARTITION] [[LOCALLY] ORDERED BY ... | UNORDERED]; at least one of them. */
/* An order alone spreads rows by its ranges, a partition's rows go to one writer when distributed by partition; without
 * an order the table becomes unsorted. */
struct firn_write_order_args {
    struct firn_text order; /* "account_id DESC NULLS LAST, bucket(16, region)"; empty: none */
    bool unordered;
    bool locally; /* with an order: how rows are spread over writers stays */
    bool distributed_by_partition;
    bool dry_run; /* check and tell what would be, and change nothing */
};

struct firn_write_order_report {
    bool is_changed;
    int32_t order_id;       /* the table's default now; -1: a dry run of an order that is new */
    struct firn_text order; /* as people read it; "unsorted" */
    struct firn_text mode;  /* of write.distribution-mode; empty: not set */
};

/* An order that the table has already becomes the default again instead of being added. USAGE for a text that is no
 * order, unknown columns, transforms their type does not take, and clauses that contradict each other; UNSUPPORTED for
 * what a table's sort order cannot hold, such as zorder. */
FIRN_CHECKED firn_status firn_write_order_set(struct firn_op *op, struct firn_table *table,
                                              const struct firn_write_order_args *args,
                                              struct firn_write_order_report *out);

#endif
