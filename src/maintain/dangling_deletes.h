/* Delete files that apply to no live data file, and taking them out of a table. Reference: procedures.md, 2.11, with
 * the differences of 13. */
#ifndef FIRN_MAINTAIN_DANGLING_DELETES_H
#define FIRN_MAINTAIN_DANGLING_DELETES_H

#include "base/pool.h"
#include "firn/catalog.h"

struct firn_dangling_deletes_report {
    int64_t removed_count;
    int64_t snapshot_id; /* FIRN_NO_SNAPSHOT: nothing was to be done */
};
/* Removes every dangling delete file of the head of `branch` in one `replace` commit; none, no commit. Planned anew
 * when others commit meanwhile. `table` has the newest metadata afterwards. UNKNOWN: the commit may have happened. */
FIRN_CHECKED firn_status firn_dangling_deletes_remove(struct firn_op *op, struct firn_pool *pool,
                                                      struct firn_table *table, struct firn_text branch,
                                                      struct firn_dangling_deletes_report *out);

#endif
