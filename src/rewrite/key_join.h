/* Which rows have a key that a newer delete names: a hash join that keeps within a share of memory.
 *
 * Keys are spread over parts by their hash. A part whose keys do not fit moves to temporary files, and rows that could
 * meet one of its keys follow it there, to be looked up at the end, part by part (a hybrid Grace join).
 *
 * Use: open, add all keys, seal, probe with all rows, finish, close. Adding and probing may be done by several threads
 * at once, each with batches of its own. */
#ifndef FIRN_REWRITE_KEY_JOIN_H
#define FIRN_REWRITE_KEY_JOIN_H

#include "base/pool.h"
#include "rewrite/key_layout.h"

struct firn_key_join_config {
    const struct firn_key_layout *layout;
    struct firn_pool *pool;
    uint64_t key_count;            /* expected, with repetitions; a wrong number costs time or memory, nothing else */
    uint64_t row_count;            /* expected to be probed */
    uint64_t memory_bytes_max;     /* for keys and buffers; not less than FIRN_KEY_JOIN_MEMORY_MIN is used */
    const uint32_t *file_ordinals; /* a row of file i is deleted by keys of a higher ordinal; borrowed */
};

#define FIRN_KEY_JOIN_MEMORY_MIN (UINT64_C(64) << 10)

/* Called for each row that is deleted, once or more often, rows of one file mostly one after the other. Rows of one
 * file may come from several threads, but not from within probe, which gives rows of its own batch only. */
typedef firn_status firn_key_join_hit(struct firn_op *op, void *context, uint32_t file, int64_t position);

struct firn_key_join;
FIRN_CHECKED firn_status firn_key_join_open(struct firn_op *op, const struct firn_key_join_config *config,
                                            struct firn_key_join **out);
/* Adds keys with an ordinal, which is not 0. LIMIT when the temporary folder is full. */
FIRN_CHECKED firn_status firn_key_join_add(struct firn_op *op, struct firn_key_join *join, struct firn_key_batch *keys,
                                           uint32_t ordinal);
/* No more keys follow. */
FIRN_CHECKED firn_status firn_key_join_seal(struct firn_op *op, struct firn_key_join *join);

struct firn_key_rows {
    struct firn_key_batch *keys;
    uint32_t file;
    int64_t first; /* position of the first row */
};
FIRN_CHECKED firn_status firn_key_join_probe(struct firn_op *op, struct firn_key_join *join,
                                             const struct firn_key_rows *rows, firn_key_join_hit *hit, void *context);
/* Looks up what could not be looked up in probe. LIMIT when keys cannot be divided into parts that fit. */
FIRN_CHECKED firn_status firn_key_join_finish(struct firn_op *op, struct firn_key_join *join, firn_key_join_hit *hit,
                                              void *context);
/* Bytes that went through temporary files. */
uint64_t firn_key_join_spilled_bytes(const struct firn_key_join *join);
/* Frees everything; NULL is fine. */
void firn_key_join_close(struct firn_key_join *join);

#endif
