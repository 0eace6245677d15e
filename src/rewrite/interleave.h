/* Bits of several columns taken in turn, most significant first; a column whose bits are used up is left out.
 * Reference: procedures.md, 2.8. */
#ifndef FIRN_REWRITE_INTERLEAVE_H
#define FIRN_REWRITE_INTERLEAVE_H

#include "firn/op.h"

struct firn_interleave_column {
    uint32_t offset, bytes; /* in the row */
};

struct firn_interleave_step;

/* How rows of a given layout are interleaved. */
struct firn_interleave {
    const struct firn_interleave_step *steps;
    uint32_t step_count;
    uint32_t key_bytes; /* of a result */
};

/* Lives in op->arena. Results are as long as all columns together, `key_bytes_max` at most. */
void firn_interleave_init(struct firn_op *op, const struct firn_interleave_column *columns, uint32_t column_count,
                          uint64_t key_bytes_max, struct firn_interleave *out);
/* Writes key_bytes bytes. */
void firn_interleave_row(const struct firn_interleave *interleave, const uint8_t *row, uint8_t *out);

#endif
