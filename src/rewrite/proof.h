/* The proof of a written file: its footer, and on request its content, read back from the store. */
#ifndef FIRN_REWRITE_PROOF_H
#define FIRN_REWRITE_PROOF_H

#include "rewrite/group_run.h"

/* Reads the file at `location` back and compares: size, row groups, rows, and every number that places a chunk. VERIFY
 * names the first difference. With verify full all values are decoded and their fingerprints added to `sums`. */
FIRN_CHECKED firn_status firn_proof_file(struct firn_op *op, struct firn_group_run *run, struct firn_text location,
                                         const struct firn_footer *written, uint64_t file_bytes,
                                         struct firn_hash128 *sums);

#endif
