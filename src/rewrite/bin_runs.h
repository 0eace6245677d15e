/* Which pieces of a bin are read as sorted runs, and what that makes of the bin: rows are sorted, or merged with what
 * is in order already, or files in order are put one behind the other. */
#ifndef FIRN_REWRITE_BIN_RUNS_H
#define FIRN_REWRITE_BIN_RUNS_H

#include "rewrite/route.h"

struct firn_piece_list {
    uint32_t *pieces; /* of the bin */
    uint32_t count;
    uint64_t bytes;
    uint64_t memory; /* of a run: what reading it holds, about */
};

struct firn_bin_runs {
    enum firn_sort_way way;
    struct firn_piece_list *runs;
    uint32_t run_count;
    uint64_t memory;             /* of all runs */
    struct firn_piece_list rest; /* to be sorted */
};

/* By what the plan says of the pieces, and by what the memory of `run` allows. Lives in op->arena. */
void firn_bin_runs_choose(struct firn_op *op, const struct firn_group_run *run, const struct firn_rewrite_bin *bin,
                          const struct firn_route *route, struct firn_bin_runs *out);
/* All pieces are to be sorted. */
void firn_bin_runs_none(struct firn_op *op, const struct firn_rewrite_bin *bin, struct firn_bin_runs *out);

/* Pieces that make one file, where they are put one behind the other. */
struct firn_file_pieces {
    uint32_t end;            /* of the places in the run, from the one asked for */
    uint64_t file_bytes_max; /* as in struct firn_rewrite_group */
};
/* The file that begins with the piece at place `first` of the only run: files have about the same size. */
struct firn_file_pieces firn_bin_runs_file(const struct firn_group_run *run, const struct firn_rewrite_bin *bin,
                                           const struct firn_bin_runs *runs, uint32_t first);

#endif
