/* One output column read along a window: a cursor over the pages of its input chunks that yields adapted vectors. */
#ifndef FIRN_REWRITE_COLUMN_H
#define FIRN_REWRITE_COLUMN_H

#include "format/parquet/reader.h"
#include "rewrite/adapter.h"
#include "rewrite/window.h"

struct firn_column {
    const struct firn_output_leaf *leaf;
    struct firn_codec_context *codec; /* borrowed */
    size_t slice;                     /* in the window */
    int64_t slice_row;                /* rows of it passed on */
    struct firn_chunk_reader *reader; /* of the slice's chunk; NULL: not open */
    struct firn_buffer chunk;
    struct firn_vector page; /* being passed on; slots before page_slot are done */
    uint32_t page_slot, page_value;
    struct firn_adapter adapter;
};

/* Receives a vector of the output leaf. `row` counts from the start of the pull and is that of the vector's first slot,
 * which may continue a row begun by the vector before. */
typedef firn_status firn_column_emit(struct firn_op *op, void *context, const struct firn_column *column,
                                     const struct firn_vector *vector, int64_t row);

/* Passes on the next `rows` rows; the window must hold them. */
FIRN_CHECKED firn_status firn_column_pull(struct firn_op *op, struct firn_column *column, struct firn_window *window,
                                          int64_t rows, firn_column_emit *emit, void *context);
/* Passes over rows without looking at them. */
FIRN_CHECKED firn_status firn_column_skip(struct firn_op *op, struct firn_column *column, struct firn_window *window,
                                          int64_t rows);
/* Gives up the chunk being read; the next pull opens it again and decodes its way to the place. For row groups that are
 * larger than what all columns together may hold. */
void firn_column_suspend(struct firn_column *column);
void firn_column_close(struct firn_column *column);

/* Part of a vector: slots from `slot` on, whose values begin at `value`. Stops before the row that follows the first
 * `rows` rows to begin there, or at the end. */
struct firn_vector firn_vector_part(const struct firn_vector *vector, uint32_t slot, uint32_t value, int64_t rows);

#endif
