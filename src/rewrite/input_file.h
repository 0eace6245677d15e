/* A data file that is being read: a small one as a whole, by one read; of a large one the footer, and what is asked
 * for. */
#ifndef FIRN_REWRITE_INPUT_FILE_H
#define FIRN_REWRITE_INPUT_FILE_H

#include "rewrite/group_run.h"
#include "rewrite/input_block.h"
#include "rewrite/projection.h"

struct firn_input {
    const struct firn_data_file *file;
    struct firn_group_run *run;
    uint32_t index; /* among the group's inputs */
    struct firn_arena arena;
    struct firn_object *object; /* NULL once the whole file is in `bytes` */
    uint32_t lent_to;           /* the last row group that is written from it; 0: none */
    struct firn_input *next_lent;
    struct firn_bytes bytes;
    struct firn_input_block *block; /* the bytes lie in it, */
    uint8_t *place;                 /* here; NULL: in a buffer of their own */
    struct firn_buffer own;
    struct firn_footer *footer;
    struct firn_projection projection;
    uint32_t slices_left;
    uint64_t progress_bytes; /* to report when the input is done; 0 when it was read before */
    bool progress_file;      /* the file's first piece counts the file */
};

/* Whether the file is read as a whole, as far as its size is recorded. */
bool firn_input_is_small(const struct firn_data_file *file);
/* What it takes in memory, as a first guess. */
uint64_t firn_input_memory_guess(const struct firn_data_file *file);
/* What it takes. */
uint64_t firn_input_memory(const struct firn_input *input);
/* Opens and reads the file, into input->place if it has one; the footer lives in input->arena. What is open or held
 * after a failure is still to be closed. */
FIRN_CHECKED firn_status firn_input_load(struct firn_op *op, struct firn_input *input);
/* Reads a range of a large file. */
FIRN_CHECKED firn_status firn_input_read(struct firn_op *op, const struct firn_input *input, uint64_t offset,
                                         size_t len, uint8_t *out);

#endif
