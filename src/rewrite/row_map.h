/* Where the surviving rows of a group's inputs went: what it takes to say of the outputs what a delete says of an
 * input.
 *
 * Rows that stay neighbours are one run, so that a bin-pack of whole files costs a run a file, and one more for each
 * stretch of deleted rows. */
#ifndef FIRN_REWRITE_ROW_MAP_H
#define FIRN_REWRITE_ROW_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
