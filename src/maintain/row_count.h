/* Counting the rows of a data file by decoding it. */
#ifndef FIRN_MAINTAIN_ROW_COUNT_H
#define FIRN_MAINTAIN_ROW_COUNT_H

#include "store/store.h"

/* Decodes every page of every column of a Parquet file and gives its rows. CORRUPT when columns disagree with their row
 * group, or row groups with the footer; errors name the file. */
FIRN_CHECKED firn_status firn_parquet_rows_count(struct firn_op *op, struct firn_store *store,
                                                 struct firn_text location, int64_t *rows);

#endif
