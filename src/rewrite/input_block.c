/* Blocks of input. */
#include "rewrite/input_block.h"

#include "base/math.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_PAGE_BYTES ((size_t)2 << 20) /* as on x86-64, and mostly on arm64; elsewhere it is only an alignment */
#define BLOCK_BYTES     (2 * HUGE_PAGE_BYTES)
#define FILE_ALIGNMENT  ((size_t)64)

static size_t round_up(size_t bytes, size_t to)
{
    return (bytes + to - 1) / to * to;
}

static void free_block(struct firn_input_blocks *blocks, struct firn_input_block *block)
{
    firn_budget_give(blocks->budget, block->capacity);
    free(block->data);
    free(block);
}

static struct firn_input_block *new_block(struct firn_op *op, struct firn_input_blocks *blocks, size_t len)
{
    size_t capacity = round_up(FIRN_MAX(len, BLOCK_BYTES), HUGE_PAGE_BYTES);
    if (!blocks->budget)
        blocks->budget = op->budget;
    if (firn_budget_take(op, blocks->budget, capacity) != FIRN_OK)
        return NULL;
    struct firn_input_block *block = calloc(1, sizeof *block);
    uint8_t *data = block ? aligned_alloc(HUGE_PAGE_BYTES, capacity) : NULL;
    if (!data) {
        firn_budget_give(blocks->budget, capacity);
        free(block);
        return NULL;
    }
    (void)madvise(data, capacity, MADV_HUGEPAGE); /* a hint, which not every system knows */
    *block = (struct firn_input_block){ .data = data, .capacity = capacity };
    return block;
}

/* A free block that is large enough. */
static struct firn_input_block *find_free(struct firn_input_blocks *blocks, size_t len)
{
    for (struct firn_input_block **at = &blocks->free; *at; at = &(*at)->next) {
        struct firn_input_block *block = *at;
        if (block->capacity < len)
            continue;
        *at = block->next;
        blocks->free_bytes -= block->capacity;
        return block;
    }
    return NULL;
}

struct firn_input_block *firn_input_blocks_take(struct firn_op *op, struct firn_input_blocks *blocks, size_t len,
                                                uint8_t **out)
{
    struct firn_input_block *block = blocks->current;
    if (!block || len > block->capacity - block->used) {
        block = find_free(blocks, len);
        if (!block) {
            firn_input_blocks_trim(blocks, 0); /* what is there is too small */
            block = new_block(op, blocks, len);
        }
        if (!block)
            return NULL;
        blocks->current = block;
    }
    *out = block->data + block->used;
    block->used = FIRN_MIN(round_up(block->used + len, FILE_ALIGNMENT), block->capacity);
    block->file_count++;
    return block;
}

static void make_free(struct firn_input_blocks *blocks, struct firn_input_block *block)
{
    block->used = 0;
    block->lent_to = 0;
    block->next = blocks->free;
    blocks->free = block;
    blocks->free_bytes += block->capacity;
}

void firn_input_blocks_give(struct firn_input_blocks *blocks, struct firn_input_block *block)
{
    assert(block->file_count > 0);
    if (--block->file_count > 0)
        return;
    if (blocks->current == block)
        blocks->current = NULL;
    if (block->lent_to <= blocks->written) {
        make_free(blocks, block);
        return;
    }
    block->next = blocks->lent;
    blocks->lent = block;
    blocks->lent_bytes += block->capacity;
}

void firn_input_blocks_take_back(struct firn_input_blocks *blocks, uint32_t written)
{
    struct firn_input_block **at = &blocks->lent;
    blocks->written = written;
    while (*at) {
        struct firn_input_block *block = *at;
        if (block->lent_to > written) {
            at = &block->next;
            continue;
        }
        *at = block->next;
        blocks->lent_bytes -= block->capacity;
        make_free(blocks, block);
    }
}

void firn_input_blocks_trim(struct firn_input_blocks *blocks, uint64_t bytes)
{
    while (blocks->free_bytes > bytes) {
        struct firn_input_block *block = blocks->free;
        blocks->free = block->next;
        blocks->free_bytes -= block->capacity;
        free_block(blocks, block);
    }
}

void firn_input_blocks_done(struct firn_input_blocks *blocks)
{
    firn_input_blocks_take_back(blocks, UINT32_MAX);
    firn_input_blocks_trim(blocks, 0);
}
