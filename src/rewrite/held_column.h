/* Rows of one leaf column held in memory, to be taken out in any order. */
#ifndef FIRN_REWRITE_HELD_COLUMN_H
#define FIRN_REWRITE_HELD_COLUMN_H

#include "base/buffer.h"
#include "format/parquet/vector.h"

/* All zeros but the leaf is a column without rows. */
struct firn_held_column {
    const struct firn_parquet_node *leaf;
    uint32_t row_count, slot_count, value_count;
    struct firn_buffer rep, def;      /* a level a slot; no `def` as long as every slot has a value */
    struct firn_buffer slots, firsts; /* repeated columns: uint32_t, the first slot and the first value of each row */
    struct firn_buffer values; /* of BYTE_ARRAY: their bytes, end to end. A column that is not repeated has a place
                                  for each slot, with a value or not */
    struct firn_buffer ends;   /* BYTE_ARRAY: uint32_t, where the bytes of each place end */
    uint32_t text_len;         /* BYTE_ARRAY: of each place, unless they differ */
    bool text_lens_differ;
};

/* Adds the rows of a vector, which may go on with the last row. Copies. Fails: LIMIT, at the latest when counts or
 * bytes no longer fit 32 bits. */
FIRN_CHECKED firn_status firn_held_column_append(struct firn_op *op, struct firn_held_column *column,
                                                 const struct firn_vector *vector);

/* Adds `count` rows, from `first` on, of another column of the same leaf. Fails like firn_held_column_append. */
FIRN_CHECKED firn_status firn_held_column_append_rows(struct firn_op *op, struct firn_held_column *column,
                                                      const struct firn_held_column *from, uint32_t first,
                                                      uint32_t count);

/* What is taken out, unless it can be borrowed. All zeros is ready for use. */
struct firn_taken_rows {
    struct firn_buffer rep, def, values;
};
/* Gives `count` rows in the order of `rows`. The result borrows from column and `taken` until the next call. */
FIRN_CHECKED firn_status firn_held_column_take(struct firn_op *op, const struct firn_held_column *column,
                                               const uint32_t *rows, uint32_t count, struct firn_taken_rows *taken,
                                               struct firn_vector *out);
void firn_taken_rows_done(struct firn_taken_rows *taken);

/* Bytes of what is held. */
uint64_t firn_held_column_bytes(const struct firn_held_column *column);
/* Drops the rows, keeps the memory. */
void firn_held_column_clear(struct firn_held_column *column);
/* Drops the rows and frees. */
void firn_held_column_done(struct firn_held_column *column);

#endif
