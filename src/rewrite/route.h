/* Which partition of the output spec every row of a bin goes to. Iceberg spec, "Partition Transforms". */
#ifndef FIRN_REWRITE_ROUTE_H
#define FIRN_REWRITE_ROUTE_H

#include "base/map.h"
#include "rewrite/group_run.h"

#define FIRN_ROUTE_BY_ROW UINT32_MAX

struct firn_piece_route {
    uint32_t partition;      /* of all rows, or FIRN_ROUTE_BY_ROW */
    uint32_t least, most;    /* by row: partitions that occur lie between */
    struct firn_buffer rows; /* by row: a uint32_t each, in reading order */
};

struct firn_route {
    struct firn_partition *partitions; /* in order of first appearance */
    uint32_t partition_count;
    struct firn_piece_route *pieces; /* one a piece of the bin */
    uint32_t piece_count;
    bool by_row; /* some piece is routed by row */
};

/* Files of the output spec keep their tuple; of all others the source columns of the partition fields are read.
 * Partitions live in op->arena; firn_route_done frees the rest. `counted` as in
 * struct firn_window. UNSUPPORTED when a field cannot be computed. */
FIRN_CHECKED firn_status firn_route_new(struct firn_op *op, struct firn_group_run *run,
                                        const struct firn_rewrite_bin *bin, bool *counted, struct firn_route *out);
void firn_route_done(struct firn_route *route);

#endif
