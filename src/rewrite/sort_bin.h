/* One bin of a group whose rows are put in order: its pieces read, its rows sorted, its files written. */
#ifndef FIRN_REWRITE_SORT_BIN_H
#define FIRN_REWRITE_SORT_BIN_H

#include "rewrite/bin_runs.h"
#include "rewrite/output.h"

/* Sorts the rows of bin `index` by run->group->ordering, partition by partition, within the memory of `run`, with
 * temporary data where they do not fit. Runs of `ordered` are read forward and merged with the rest, which is sorted.
 * Files finished are added to `files`, in op->arena, also after a failure; `*is_disordered` says that it failed since a
 * run is not in order. */
FIRN_CHECKED firn_status firn_sort_bin_run(struct firn_op *op, struct firn_group_run *run, uint32_t index,
                                           bool *counted, const struct firn_route *route,
                                           const struct firn_bin_runs *ordered, struct firn_output_files *files,
                                           bool *is_disordered);

#endif
