/* The part of a bin that is being read: input files opened in reading order, held in memory while small, and let go
 * once all columns have passed them. Memory and open files stay bounded however many inputs a bin has. */
#ifndef FIRN_REWRITE_WINDOW_H
#define FIRN_REWRITE_WINDOW_H

#include "rewrite/input_block.h"
#include "rewrite/row_slice.h"

struct firn_input;

struct firn_window {
    struct firn_group_run *run;
    const struct firn_rewrite_bin *bin;
    const uint32_t *pieces; /* which pieces to read, in order */
    uint32_t piece_count;
    bool *counted; /* one a piece of the bin: its rows and progress are counted when it is read for the first time */

    FIRN_ARRAY(struct firn_row_slice) slices;
    size_t head;       /* slices before it are done and gone */
    int64_t head_row;  /* rows of slices[head] that are done */
    uint32_t next;     /* pieces[next] is the first not opened */
    uint32_t expected; /* pieces before it were opened, are expected, or are likely at hand */
    uint64_t held;     /* bytes of memory held by inputs */
    uint32_t open_files;
    struct firn_input_blocks blocks; /* where small files lie */
    struct firn_input *lent_files;   /* large ones that are done with, but must stay open */
    uint32_t lent_file_count;
};

/* Opens pieces until those waiting hold `bytes_wanted` of input or the window is full. At least one slice is there
 * afterwards, unless the bin has no more. New slices live in op->arena. */
FIRN_CHECKED firn_status firn_window_fill(struct firn_op *op, struct firn_window *window, uint64_t bytes_wanted);
/* Rows in the window that are not done. */
int64_t firn_window_rows(const struct firn_window *window);
/* How many of them hold `bytes` of input that is not deleted; at least one. */
int64_t firn_window_rows_within(const struct firn_window *window, double bytes);
/* The same by the bytes of decoded values, as far as they are known: in large files, those of a dictionary may count as
 * what stands for them. */
int64_t firn_window_rows_decoded_within(const struct firn_window *window, double bytes);
/* Input that the next rows hold, without what is deleted. */
double firn_window_bytes_of(const struct firn_window *window, int64_t rows);
/* Input that is not done, nor opened yet. */
double firn_window_bytes_left(const struct firn_window *window);
/* How many columns may work through the next `rows` rows side by side within the memory for chunks; at least one. */
uint32_t firn_window_columns_at_once(const struct firn_window *window, int64_t rows);
/* The pages of the next `rows` rows are lent to a row group of an output where they can be, those in memory only if
 * `lends_memory`: what they lie in stays until that row group's pages are taken back, whether it is done or not. */
struct firn_lending {
    uint32_t row_group; /* counted from 1; 0: nothing is lent */
    bool lends_memory;
};
void firn_window_lend(struct firn_window *window, int64_t rows, struct firn_lending lending);
/* What was lent to row groups up to this one is written. */
void firn_window_take_back(struct firn_window *window, uint32_t row_group);
/* The next `rows` rows are done; inputs that are wholly done are closed. */
void firn_window_advance(struct firn_op *op, struct firn_window *window, int64_t rows);
/* Moves a copy of a window past its next `rows` rows; what the window holds stays. */
void firn_window_look_past(struct firn_window *view, int64_t rows);
/* Closes what is open. */
void firn_window_close(struct firn_window *window);

#endif
