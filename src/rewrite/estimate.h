/* What encoding a column anew would save, found by trying it on a few of its pages. */
#ifndef FIRN_REWRITE_ESTIMATE_H
#define FIRN_REWRITE_ESTIMATE_H

#include "rewrite/column.h"

/* Samples pages of the window's slices from where the column stands, spread evenly. `rows` is how many a row group
 * takes. Large inputs are not read for it: of them only the chunk that the column has open is looked at. */
FIRN_CHECKED firn_status firn_estimate_column(struct firn_op *op, struct firn_column *column,
                                              struct firn_window *window, double rows, struct firn_estimate *out);

#endif
