/* Which files of a join of equality deletes need to be read: metrics often tell that the keys of a delete file are none
 * of a data file's. */
#ifndef FIRN_REWRITE_DELETION_PRUNE_H
#define FIRN_REWRITE_DELETION_PRUNE_H

#include "rewrite/deletion_equality.h"

/* Leaves out data files that no delete of their scopes meets, and deletes that meet none of what is left. */
FIRN_CHECKED firn_status firn_equality_join_prune(struct firn_op *op, const struct firn_key_source *source,
                                                  struct firn_equality_join *join);

#endif
