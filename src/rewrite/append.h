/* New data files from rows in memory, written just as a rewrite writes its outputs. */
#ifndef FIRN_REWRITE_APPEND_H
#define FIRN_REWRITE_APPEND_H

#include "rewrite/group_run.h"

struct firn_append {
    struct firn_rewrite_group group; /* without inputs */
    struct firn_rewrite_context context;
    struct firn_group_run run;
};

/* Prepares to write files of `metadata`'s current schema and default spec. Fills storage the caller owns and must not
 * move; borrows the metadata. firn_append_done is due afterwards, also when this failed. */
FIRN_CHECKED firn_status firn_append_init(struct firn_op *op, struct firn_append *append,
                                          const struct firn_metadata *metadata, struct firn_store *store);
void firn_append_done(struct firn_append *append);
/* Writes one file of one row group: a vector for every leaf of the schema, in order, all of the same rows. `number`
 * is in the file's name. What is written is read back as for any output. The file described is in op->arena and borrows
 * the values of `partition`. */
FIRN_CHECKED firn_status firn_append_write(struct firn_op *op, struct firn_append *append, uint32_t number,
                                           const struct firn_partition *partition, const struct firn_vector *columns,
                                           struct firn_data_file *out);

#endif
