/* Where the surviving rows of a group's inputs went: what it takes to say of the outputs what a delete says of an
 * input.
 *
 * Rows that stay neighbours are one run, so that a bin-pack of whole files costs a run a file, and one more for each
 * stretch of deleted rows. */
#ifndef FIRN_REWRITE_ROW_MAP_H
#define FIRN_REWRITE_ROW_MAP_H

#include "base/buffer.h"

#include <pthread.h>

struct firn_row_run {
    uint32_t input;     /* index into the group's inputs */
    uint32_t output;    /* index into the result's files */
    int64_t input_row;  /* position of the first row in the input file */
    int64_t output_row; /* and in the output file */
    int64_t row_count;
};

struct firn_row_map {
    struct firn_row_run *runs; /* ascending by (input, input_row), not overlapping */
    size_t count;
};

struct firn_row_place {
    uint32_t output;
    int64_t row;
};
/* Where a row of an input went. False: it was deleted. */
bool firn_row_map_find(const struct firn_row_map *map, uint32_t input, int64_t row, struct firn_row_place *out);

/* Makes a map while rows are placed, by several threads in any order. What would take more than it may, or than there
 * is, is given up. */
struct firn_row_mapper {
    pthread_mutex_t lock;
    struct firn_buffer runs; /* of struct firn_row_run; outputs by number */
    size_t bytes_max;
    bool given_up;
    atomic_uint_fast32_t outputs; /* numbers given to output files, whose order is known only at the end */
};

/* `bytes_max` 0: no map is wanted. Needs firn_row_mapper_done. */
void firn_row_mapper_init(struct firn_row_mapper *mapper, uint64_t bytes_max);
/* A number for one more output file. */
uint32_t firn_row_mapper_output(struct firn_row_mapper *mapper);
/* `run` names the output by its number. */
void firn_row_mapper_add(struct firn_op *op, struct firn_row_mapper *mapper, struct firn_row_run run);
/* The map, in op->arena; NULL when there is none. `places` has the index of each output by its number. */
struct firn_row_map *firn_row_mapper_finish(struct firn_op *op, struct firn_row_mapper *mapper, const uint32_t *places);
void firn_row_mapper_done(struct firn_row_mapper *mapper);

#endif
