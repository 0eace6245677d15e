/* A part of a join's keys, and the rows that wait for it: in memory, or in temporary files. */
#ifndef FIRN_REWRITE_KEY_PART_H
#define FIRN_REWRITE_KEY_PART_H

#include "rewrite/key_join.h"
#include "rewrite/key_table.h"
#include "store/spill.h"

struct firn_key_part {
    struct firn_key_table table;   /* while it is in memory */
    bool spilled;                  /* what follows is used, the table is not */
    struct firn_spill_stream keys; /* ordinal, key */
    struct firn_spill_stream rows; /* file, position, key */
};

/* Which of `part_count` parts a key of this hash belongs to. */
static inline uint32_t firn_key_part_of(uint64_t hash, uint32_t part_count)
{
    return (uint32_t)((hash >> 32) * part_count >> 32);
}

/* Begins the streams and moves the keys of the table to them. */
FIRN_CHECKED firn_status firn_key_part_spill(struct firn_op *op, struct firn_key_part *part, struct firn_spill *spill,
                                             size_t block_bytes);
FIRN_CHECKED firn_status firn_key_part_append_key(struct firn_op *op, struct firn_key_part *part, struct firn_bytes key,
                                                  uint32_t ordinal);
FIRN_CHECKED firn_status firn_key_part_append_row(struct firn_op *op, struct firn_key_part *part, struct firn_bytes key,
                                                  uint32_t file, int64_t position);
/* What keys and rows take in temporary files. */
uint64_t firn_key_part_spill_bytes(uint32_t key_bytes, uint64_t key_count, uint64_t row_count);
void firn_key_part_done(struct firn_key_part *part);

/* What it takes to join a spilled part. */
struct firn_key_part_join {
    struct firn_spill *spill;
    size_t block_bytes;
    uint64_t table_bytes_max;
    uint32_t fanout; /* parts to divide one into that does not fit */
    const uint32_t *file_ordinals;
    firn_key_join_hit *hit;
    void *context;
};
/* Looks up the waiting rows of a spilled part, which is empty afterwards. A part that does not fit is divided by
 * another hash, and its parts are joined one after the other. `level` is 0. LIMIT when dividing does not help. */
FIRN_CHECKED firn_status firn_key_part_join(struct firn_op *op, const struct firn_key_part_join *join,
                                            struct firn_key_part *part, unsigned level);

#endif
