/* One bin of a group whose rows are put in order: its pieces read, its rows sorted, its files written. */
#ifndef FIRN_REWRITE_SORT_BIN_H
#define FIRN_REWRITE_SORT_BIN_H

#include "rewrite/output.h"
#include "rewrite/route.h"

/* Sorts the rows of bin `index` by run->group->ordering, partition by partition, within the memory of `run`, with
 * temporary data where they do not fit. Files finished are added to `files`, in op->arena, also after a failure. */
FIRN_CHECKED firn_status firn_sort_bin_run(struct firn_op *op, struct firn_group_run *run, uint32_t index,
                                           bool *counted, const struct firn_route *route,
                                           struct firn_output_files *files);

#endif
