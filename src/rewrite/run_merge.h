/* Merging sorted runs, of temporary files (run_writer.h) and of inputs that are in order already (input_run.h): blocks
 * whose rows come next are loaded and given as rows in memory and an order, just what sorting in memory gives. */
#ifndef FIRN_REWRITE_RUN_MERGE_H
#define FIRN_REWRITE_RUN_MERGE_H

#include "rewrite/input_run.h"
#include "rewrite/run_writer.h"

struct firn_run_merge_config {
    struct firn_group_run *run;
    struct firn_spill *spill;
    bool gives_back; /* the room of blocks that are loaded */
    const struct firn_sorted_run *runs;
    uint32_t run_count;
    struct firn_input_run *inputs; /* each holds a batch of rows, which is its block */
    uint32_t input_count;
    size_t key_width;   /* 0: keys have different lengths */
    uint64_t bytes_max; /* blocks of runs of about so many are held at once, at least one a run; and the rows given,
                           decoded */
    bool is_ahead;      /* the next rows are loaded while those given are in use, so they are twice in memory; there are
                           no inputs */
};

struct firn_run_merge;
/* Lives in op->arena; must be closed. */
struct firn_run_merge *firn_run_merge_open(struct firn_op *op, const struct firn_run_merge_config *config);
/* The next rows; none at the end. They are borrowed until the next call, or with `is_ahead` until the one after it. */
FIRN_CHECKED firn_status firn_run_merge_next(struct firn_op *op, struct firn_run_merge *merge,
                                             struct firn_sorted_rows *out);
void firn_run_merge_close(struct firn_run_merge *merge);

#endif
