/* Inputs of a bin that are in order, one after the other, read forward a batch of rows at a time. That they are is what
 * the plan says (struct firn_rewrite_bin) and what their keys have to show. */
#ifndef FIRN_REWRITE_INPUT_RUN_H
#define FIRN_REWRITE_INPUT_RUN_H

#include "rewrite/sort_reader.h"

/* Not to be moved once it is open. */
struct firn_input_run {
    struct firn_group_run run; /* with shares of memory of its own */
    struct firn_window window;
    struct firn_sort_reader reader; /* the batch, keys made */
    struct firn_buffer last_key;    /* of the batch */
    uint64_t batch_bytes;
    int64_t *partition_rows;
    bool is_disordered; /* what the plan says is wrong */
};

struct firn_input_run_config {
    struct firn_group_run *run;
    const struct firn_rewrite_bin *bin;
    const uint32_t *pieces; /* in order */
    uint32_t piece_count;
    bool *counted;
    const struct firn_route *route; /* to a single partition */
    const struct firn_sort_key *key;
    uint64_t window_bytes, chunk_bytes; /* of this run, as in struct firn_group_run */
    uint64_t batch_bytes;
};
void firn_input_run_open(struct firn_op *op, const struct firn_input_run_config *config, struct firn_input_run *out);
/* Whether there may be rows after the batch. */
bool firn_input_run_has_more(const struct firn_input_run *input);
/* Replaces the batch by the next rows; none at the end. Fails: VERIFY for rows out of order, with is_disordered. */
FIRN_CHECKED firn_status firn_input_run_next(struct firn_op *op, struct firn_input_run *input);
/* Adds what was read to the run it was opened for, and to `files` as firn_feeds_done does. */
void firn_input_run_close(struct firn_input_run *input, struct firn_group_run *run, struct firn_output_files *files);

#endif
