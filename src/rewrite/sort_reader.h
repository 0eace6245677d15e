/* Rows of a window read into memory, with the keys they are sorted by: a batch of rows. */
#ifndef FIRN_REWRITE_SORT_READER_H
#define FIRN_REWRITE_SORT_READER_H

#include "rewrite/feed.h"
#include "rewrite/read_batch.h"

/* Not to be moved once it is initialised. */
struct firn_sort_reader {
    struct firn_group_run *run;
    const struct firn_sort_key *key;
    const uint32_t *leaves; /* that are read */
    uint32_t leaf_count;
    struct firn_sort_target target;
    struct firn_selection selection;
    struct firn_feed *feeds; /* one a leaf */
    double growth;           /* of the batch by input, the largest of any step; 0: there was none */
    double row_bytes;        /* what a row took in the last steps, at most */
    struct firn_read_batch batch;

    /* The step. */
    struct firn_window *window;
    uint32_t step_rows;
};

struct firn_sort_reader_config {
    struct firn_group_run *run;
    const struct firn_sort_key *key;
    const struct firn_route *route;
    int64_t *partition_rows; /* rows read of each partition are added */
    bool keys_only;          /* reads no leaf that is not of the key */
};
/* Borrows what the configuration points to; firn_sort_reader_done frees the rest, which is not in op->arena. */
void firn_sort_reader_init(struct firn_op *op, const struct firn_sort_reader_config *config,
                           struct firn_sort_reader *out);
/* Prepares a step of `*rows` rows, as firn_feeds_stage does. */
FIRN_CHECKED firn_status firn_sort_reader_stage(struct firn_op *op, struct firn_sort_reader *reader,
                                                struct firn_window *window, uint32_t *rows);
/* Adds to the batch what is not deleted of the window's next `rows` rows, which stay where they are. */
FIRN_CHECKED firn_status firn_sort_reader_step(struct firn_op *op, struct firn_sort_reader *reader,
                                               struct firn_window *window, uint32_t rows);
/* How many rows the next step may have, so that the batch takes `bytes` at most, by the steepest growth that a step has
 * seen, by what rows took in the last ones, and by what footers tell; 0: it is full. The window has rows. */
uint32_t firn_sort_reader_plan(const struct firn_sort_reader *reader, const struct firn_window *window, uint64_t bytes);
/* What the columns of the batch take. */
uint64_t firn_sort_reader_held_bytes(const struct firn_sort_reader *reader);
/* Whether the batch, whose keys are made, is in order and comes after the key `last` (empty: of none), which becomes
 * its own last one. */
FIRN_CHECKED firn_status firn_sort_reader_goes_on(struct firn_op *op, const struct firn_sort_reader *reader,
                                                  struct firn_buffer *last, bool *goes_on);
/* Drops the batch, keeps the memory of its columns. */
void firn_sort_reader_clear(struct firn_sort_reader *reader);
/* No more is read: frees what is not the batch. Adds to `files` as firn_feeds_done does. */
void firn_sort_reader_end(struct firn_sort_reader *reader, struct firn_output_files *files);
/* Frees the batch. */
void firn_sort_reader_done(struct firn_sort_reader *reader);

/* Exchanges the batch for another of the same run and key: one can be worked on while the other is read. */
void firn_sort_reader_exchange(struct firn_sort_reader *reader, struct firn_read_batch *batch);

#endif
