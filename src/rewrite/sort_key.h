/* Sort keys: bytes of rows whose order by memcmp is that of an ordering (ordering.h).
 *
 * Keys are made for a batch of rows, one leaf column at a time, in whatever pieces its vectors come:
 *
 *     firn_sort_batch_begin(op, batch, row_count)
 *     firn_sort_batch_add(op, batch, leaf, vector, row)     for each leaf of the key, all rows; leaves side by side
 *     firn_sort_batch_finish(op, batch)
 *     firn_sort_batch_key(batch, row)
 *
 * Invariants
 *  (1) Of two keys the lesser by memcmp belongs to the row that comes first; equal rows have equal keys.
 *  (2) No key begins another one: comparing as many bytes as the shorter has decides.
 *  (3) Values compare as in Spark: text as UTF-8 bytes, binary and UUIDs as unsigned bytes, NaN above all numbers, -0.0
 *      as 0.0. A field below a struct that is null is null. */
#ifndef FIRN_REWRITE_SORT_KEY_H
#define FIRN_REWRITE_SORT_KEY_H

#include "format/parquet/vector.h"
#include "rewrite/key_sort.h"
#include "rewrite/ordering.h"
#include "rewrite/output_schema.h"

struct firn_sort_column;
struct firn_sort_run;
struct firn_interleave;

/* An ordering compiled for an output schema; immutable, so that threads may share it. */
struct firn_sort_key {
    const struct firn_output_leaf **leaves; /* to be read, each once; none is repeated */
    uint32_t leaf_count;                    /* 0: all rows are equal */
    uint32_t prefix_bytes;                  /* in front of every key, for the caller's use */
    uint32_t key_bytes;                     /* of every key, prefix included; 0: lengths differ */

    /* The rest is for sort_key.c and sort_batch.c. */
    const struct firn_sort_column *columns; /* one a field that is stored */
    uint32_t column_count;
    uint32_t fixed_bytes;             /* of a row's columns of fixed width */
    const struct firn_sort_run *runs; /* where lengths differ: what keys are joined from */
    uint32_t run_count;
    const struct firn_interleave *interleave; /* along a curve; NULL: LINEAR */
    unsigned hilbert_bits;                    /* of a column; 0: it is no Hilbert curve */
};

/* Lives in op->arena, borrows ordering and schema. UNSUPPORTED for a transform that cannot be computed and for columns
 * without an order, LIMIT for keys that are too long. */
FIRN_CHECKED firn_status firn_sort_key_new(struct firn_op *op, const struct firn_ordering *ordering,
                                           const struct firn_output_schema *schema, uint32_t prefix_bytes,
                                           struct firn_sort_key *out);

struct firn_sort_part;

/* The keys of some rows. Reused from batch to batch by one owner. */
struct firn_sort_batch {
    const struct firn_sort_key *key;
    uint32_t row_count;
    struct firn_buffer bytes;   /* the keys, end to end; their prefixes are the caller's to write */
    struct firn_buffer offsets; /* uint64_t, row_count + 1: where each begins; unused when key->key_bytes is set */

    struct firn_sort_part *parts; /* one a column */
    struct firn_buffer fixed;     /* columns of fixed width, row by row, where they are not the keys yet */
    struct firn_buffer axes;      /* coordinates of some rows */
};

/* In op->arena. firn_sort_batch_done frees the rest. */
void firn_sort_batch_init(struct firn_op *op, const struct firn_sort_key *key, struct firn_sort_batch *out);
/* Starts anew for `row_count` rows. */
FIRN_CHECKED firn_status firn_sort_batch_begin(struct firn_op *op, struct firn_sort_batch *batch, uint32_t row_count);
/* Takes a vector of key->leaves[leaf], whose first row is `row` of the batch. Vectors of a leaf come in order, without
 * gaps; different leaves may be added by different threads at once. */
FIRN_CHECKED firn_status firn_sort_batch_add(struct firn_op *op, struct firn_sort_batch *batch, uint32_t leaf,
                                             const struct firn_vector *vector, uint32_t row);
/* Makes the keys, once all rows of all leaves were added. */
FIRN_CHECKED firn_status firn_sort_batch_finish(struct firn_op *op, struct firn_sort_batch *batch);
void firn_sort_batch_done(struct firn_sort_batch *batch);

/* The keys, prefixes included; valid until the next begin. */
static inline struct firn_row_keys firn_sort_batch_keys(const struct firn_sort_batch *batch)
{
    size_t width = batch->key->key_bytes;
    return (struct firn_row_keys){
        .bytes = batch->bytes.data,
        .offsets = width > 0 ? NULL : (const uint64_t *)(const void *)batch->offsets.data,
        .width = width,
        .count = batch->row_count,
    };
}

static inline struct firn_bytes firn_sort_batch_key(const struct firn_sort_batch *batch, uint32_t row)
{
    struct firn_row_keys keys = firn_sort_batch_keys(batch);
    return firn_row_key(&keys, row);
}

#endif
