/* Keys of rows as bytes: the canonical forms of their columns, behind the number of the scope they belong to. Equal
 * bytes are equal keys: null equals null, NaN equals NaN, and -0.0 is not 0.0, as in the reference.
 *
 * Columns of small fixed width make keys of one length for all rows, in which a bit a column stands for null; other
 * keys have any length. */
#ifndef FIRN_REWRITE_KEY_LAYOUT_H
#define FIRN_REWRITE_KEY_LAYOUT_H

#include "rewrite/file_rows.h"

/* Keys of fixed width are no longer. */
#define FIRN_KEY_BYTES_MAX 48

struct firn_key_column {
    const struct firn_type *type;
    uint32_t offset, width; /* within a key of fixed width */
};

struct firn_key_layout {
    const struct firn_key_column *columns;
    uint32_t column_count;
    uint32_t scope_bytes; /* in front: 0 when there is one scope only */
    uint32_t key_bytes;   /* 0: keys have any length */
};

/* The layout for the leaves of `schema`. Lives in op->arena, borrows the schema. */
void firn_key_layout_init(struct firn_op *op, const struct firn_output_schema *schema, uint32_t scope_count,
                          struct firn_key_layout *out);

/* The keys of some rows. All zeros is empty. */
struct firn_key_batch {
    uint32_t count;
    uint32_t key_bytes;        /* as in the layout */
    struct firn_buffer bytes;  /* the keys, end to end */
    struct firn_buffer ends;   /* uint32_t: where each ends; unused at fixed width */
    struct firn_buffer hashes; /* uint64_t: scratch of whoever looks keys up */
    struct firn_buffer order;  /* uint32_t: likewise */
};

/* Replaces the batch by the keys of `rows`. LIMIT for more than 4 GiB of keys. */
FIRN_CHECKED firn_status firn_key_batch_fill(struct firn_op *op, struct firn_key_batch *batch,
                                             const struct firn_key_layout *layout, uint32_t scope,
                                             const struct firn_row_batch *rows);
/* Moves all keys to another scope. */
void firn_key_batch_set_scope(struct firn_key_batch *batch, const struct firn_key_layout *layout, uint32_t scope);
struct firn_bytes firn_key_batch_key(const struct firn_key_batch *batch, uint32_t index);
void firn_key_batch_done(struct firn_key_batch *batch);

#endif
