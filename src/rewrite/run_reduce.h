/* Merging runs in temporary files into fewer, longer ones, until a block of each fits in memory. */
#ifndef FIRN_REWRITE_RUN_REDUCE_H
#define FIRN_REWRITE_RUN_REDUCE_H

#include "rewrite/run_merge.h"

struct firn_run_reduction {
    struct firn_run_writer *writer; /* of the runs, and of those that they become */
    size_t key_width;               /* as firn_run_merge_config has it */
    uint64_t bytes_max;             /* of blocks that are held at once, but for two of them */
};

/* Runs in the order they were written. */
struct firn_run_list {
    FIRN_ARRAY(struct firn_sorted_run) runs;
};
/* Leaves runs, all of whose first blocks together take no more than reduction->bytes_max, or only two. */
FIRN_CHECKED firn_status firn_runs_reduce(struct firn_op *op, const struct firn_run_reduction *reduction,
                                          struct firn_run_list *list);

#endif
