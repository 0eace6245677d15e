/* Saying deletes anew: what position deletes and vectors say of the inputs of groups, as deletes of the same rows in
 * the groups' outputs. So that a rewrite needs not be thrown away because others deleted rows while it ran.
 *
 * Invariants
 *  (1) A row of an output is deleted exactly when one of the deletes names the row of the input that it was.
 *  (2) A delete that cannot be read, or a row whose way is not known, fails the whole; it is never left out. */
#ifndef FIRN_REWRITE_CARRY_OVER_H
#define FIRN_REWRITE_CARRY_OVER_H

#include "rewrite/delete_writer.h"
#include "rewrite/rewrite.h"

struct firn_carry_over_group {
    const struct firn_rewrite_group *group;
    const struct firn_rewrite_result *result; /* with its row map */
};

struct firn_carry_over_config {
    const struct firn_metadata *metadata; /* of the table as it is now: its format version decides the form */
    struct firn_store *store;
    struct firn_pool *pool;     /* deletes are read in parallel */
    struct firn_uuid operation; /* in file names */
    uint32_t number;            /* of this call within the operation, in file names too */
};

struct firn_carry_over_result {
    struct firn_delete_files files;
    int64_t row_count; /* that the files delete */
};

/* Writes what `deletes` say of rows of the groups' inputs that are in the outputs. Rows that are in no output were
 * deleted before. Every file is durable when this returns; after a failure none is left. CONFLICT with the delete
 * file's name and the reason when (2) stands in the way. `out` lives in op->arena and borrows from the results. */
FIRN_CHECKED firn_status firn_carry_over_write(struct firn_op *op, const struct firn_carry_over_config *config,
                                               const struct firn_carry_over_group *groups, uint32_t group_count,
                                               const struct firn_manifest_entry *const *deletes, uint32_t delete_count,
                                               struct firn_carry_over_result *out);

#endif
