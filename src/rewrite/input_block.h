/* Memory for small input files that are read whole. Many share a block, which is large and aligned, so that the system
 * can back it by huge pages; and blocks are used again, so that it does so once. A block that was lent to an output
 * waits until that has written its bytes. Used by one thread; what lies in a block may be by others. */
#ifndef FIRN_REWRITE_INPUT_BLOCK_H
#define FIRN_REWRITE_INPUT_BLOCK_H

#include "base/buffer.h"

struct firn_input_block {
    struct firn_input_block *next; /* of its list */
    uint8_t *data;
    size_t capacity, used;
    uint32_t file_count; /* files in it that are not done with */
    uint32_t lent_to;    /* the last row group that its bytes are written with; 0: none */
};

/* All zeros has none. */
struct firn_input_blocks {
    struct firn_input_block *current; /* has room for files to come; NULL: none */
    struct firn_input_block *free, *lent;
    uint64_t free_bytes, lent_bytes;
    uint32_t written; /* row groups up to this one are written */
    struct firn_budget *budget;
};

/* Room for a file of `len` bytes in a block, which counts it as one more; NULL where the budget or the system has no
 * memory for it. */
struct firn_input_block *firn_input_blocks_take(struct firn_op *op, struct firn_input_blocks *blocks, size_t len,
                                                uint8_t **out);
/* One file of the block is done with. */
void firn_input_blocks_give(struct firn_input_blocks *blocks, struct firn_input_block *block);
/* All that was lent to row groups up to this one is written. */
void firn_input_blocks_take_back(struct firn_input_blocks *blocks, uint32_t written);
/* Frees what is not in use until at most `bytes` of it are kept. */
void firn_input_blocks_trim(struct firn_input_blocks *blocks, uint64_t bytes);
/* Frees all. Every file must be done with, and nothing is to be written any more. */
void firn_input_blocks_done(struct firn_input_blocks *blocks);

#endif
