/* A row group of an input in a window: what columns read of it. */
#ifndef FIRN_REWRITE_ROW_SLICE_H
#define FIRN_REWRITE_ROW_SLICE_H

#include "format/parquet/page_facts_find.h"
#include "format/parquet/page_stream.h"
#include "rewrite/chunk_memory.h"
#include "rewrite/group_run.h"
#include "rewrite/page_index.h"
#include "rewrite/projection.h"

struct firn_input;
struct firn_stage;

/* A row group of an input that has rows to be written. */
struct firn_row_slice {
    struct firn_input *input;
    uint32_t row_group;
    uint32_t input_index; /* among the group's inputs */
    uint32_t piece;       /* index into the bin's pieces */
    int64_t piece_row;    /* rows of the piece before this slice */
    int64_t first_row;    /* position in the input file */
    int64_t row_count;
    const struct firn_positions *deleted; /* of the whole file; NULL: none of it */
    int64_t deleted_count;                /* rows of the slice among them; never all */
    uint64_t bytes;                       /* compressed */
    struct firn_chunk_memory memory;
    bool lends;               /* its pages may be written from where they are, until firn_window_take_back */
    struct firn_stage *stage; /* not NULL: its rows are in temporary files */
    struct firn_page_index_reader *page_indexes; /* of a large file; NULL: what there is lies in memory */
};

/* Whether all columns may keep what they hold of a slice between steps. */
bool firn_row_slice_fits(const struct firn_row_slice *slice);
/* How many of `count` rows of a slice, from its row `first` on, are not deleted. */
int64_t firn_row_slice_live(const struct firn_row_slice *slice, int64_t first, int64_t count);
static inline double firn_row_slice_row_bytes(const struct firn_row_slice *slice)
{
    return (double)slice->bytes / (double)slice->row_count;
}
const struct firn_leaf_plan *firn_row_slice_plan(const struct firn_row_slice *slice, uint32_t leaf_index);
struct firn_text firn_row_slice_path(const struct firn_row_slice *slice);
/* What its input says of its writer. */
struct firn_text firn_row_slice_created_by(const struct firn_row_slice *slice);
/* Whether its input is held in memory as a whole. */
bool firn_row_slice_in_memory(const struct firn_row_slice *slice);
/* Marks a page of a leaf's chunk as lent, if the slice lends. */
void firn_row_slice_lend(const struct firn_row_slice *slice, const struct firn_parquet_node *leaf,
                         struct firn_page *page);
/* The chunk of an input leaf. */
const struct firn_column_chunk *firn_row_slice_column(const struct firn_row_slice *slice,
                                                      const struct firn_parquet_node *leaf);
/* Where the chunk of an input leaf comes from: its bytes are borrowed from the window or read into `buffer`, or they
 * are read in pieces. Borrows from the window. Thread-safe. */
FIRN_CHECKED firn_status firn_row_slice_chunk(struct firn_op *op, const struct firn_row_slice *slice,
                                              const struct firn_parquet_node *leaf, struct firn_buffer *buffer,
                                              struct firn_chunk_source *out);
/* What the input knows of the pages of a leaf's chunk. Its indexes are read when they are first asked for; those that
 * are broken are left out, as they are hints. Lives in op->arena, which should go with the chunk, and borrows from the
 * window. Thread-safe. */
FIRN_CHECKED firn_status firn_row_slice_page_sources(struct firn_op *op, const struct firn_row_slice *slice,
                                                     const struct firn_parquet_node *leaf,
                                                     struct firn_page_sources *out);

#endif
