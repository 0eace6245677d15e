/* One bin of a group: its pieces read, its files written. */
#ifndef FIRN_REWRITE_BIN_H
#define FIRN_REWRITE_BIN_H

#include "rewrite/output.h"

/* Runs bin `index` of the group. Files finished are added to `files`, in op->arena, also when the bin fails later. Bins
 * may run side by side. */
FIRN_CHECKED firn_status firn_bin_run(struct firn_op *op, const struct firn_group_run *group_run, uint32_t index,
                                      struct firn_output_files *files);

#endif
