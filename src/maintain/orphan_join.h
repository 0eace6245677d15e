/* Which of many listed files nothing refers to: a hash join of candidates against known files, partition by partition
 * on disk, so that memory holds one partition of the known side and no more. Pure of tables and stores.
 *
 * Files are compared by path alone; where only the paths agree, scheme and authority decide. A path is known by its
 * hash of 128 bits: should two ever collide, a file is kept that could have gone, never the other way round. Reference:
 * procedures.md, 7.4. */
#ifndef FIRN_MAINTAIN_ORPHAN_JOIN_H
#define FIRN_MAINTAIN_ORPHAN_JOIN_H

#include "firn/remove_orphan_files.h"
#include "maintain/prefix_names.h"
#include "store/spill.h"

enum { FIRN_JOIN_PARTITIONS = 64 };

/* What to do with a candidate whose path is known, but with another scheme or authority. */
enum firn_prefix_mismatch { FIRN_MISMATCH_ERROR, FIRN_MISMATCH_IGNORE, FIRN_MISMATCH_DELETE };

struct firn_orphan_join_config {
    struct firn_spill *spill;                    /* borrowed */
    const struct firn_prefix_names *schemes;     /* borrowed */
    const struct firn_prefix_names *authorities; /* borrowed */
    enum firn_prefix_mismatch mismatch;
};

struct firn_orphan_join;
/* Closed by the caller; NULL is fine for close. */
struct firn_orphan_join *firn_orphan_join_open(const struct firn_orphan_join_config *config);
void firn_orphan_join_close(struct firn_orphan_join *join);

/* The three sides, in any order. Locations are copied. */
FIRN_CHECKED firn_status firn_orphan_join_candidate(struct firn_op *op, struct firn_orphan_join *join,
                                                    const struct firn_orphan_file *file);
FIRN_CHECKED firn_status firn_orphan_join_known(struct firn_op *op, struct firn_orphan_join *join,
                                                struct firn_text location);
FIRN_CHECKED firn_status firn_orphan_join_confirm(struct firn_op *op, struct firn_orphan_join *join,
                                                  const struct firn_orphan_file *file);

/* `is_confirmed`: the third side names the file, and it has not changed since. */
typedef firn_status firn_orphan_join_visit(struct firn_op *op, void *context, const struct firn_orphan_file *file,
                                           bool is_confirmed);
/* Calls `visit` for every orphan. A mismatch under FIRN_MISMATCH_ERROR fails with USAGE and lists the pairs; orphans
 * may have been visited by then. To be called once. */
FIRN_CHECKED firn_status firn_orphan_join_run(struct firn_op *op, struct firn_orphan_join *join,
                                              firn_orphan_join_visit *visit, void *context);

#endif
