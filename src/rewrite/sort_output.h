/* Sorted rows become files: row groups of the size asked for, files that end where the key changes, so that no two of a
 * partition overlap, unless rows of one key fill a good part of a file. The size of what is to come is known well, as
 * all rows are; so files of a partition get about the same size, none larger than it may be. */
#ifndef FIRN_REWRITE_SORT_OUTPUT_H
#define FIRN_REWRITE_SORT_OUTPUT_H

#include "rewrite/output.h"
#include "rewrite/route.h"
#include "rewrite/sorted_rows.h"

/* Bytes in front of each key: the number of the row's partition, the most significant byte first. */
#define FIRN_SORT_PREFIX_BYTES 4

struct firn_sort_output {
    struct firn_group_run *run;
    struct firn_output_files *files;
    const struct firn_route *route;
    const int64_t *partition_rows; /* of each partition, all that there are to come */

    struct firn_output output; /* of the partition being written */
    uint32_t partition;
    int64_t rows_left; /* of it */
    int64_t rows_done; /* of all */
    bool is_full;      /* the file ends at the next change of the key, */
    int64_t rows_over; /* or after so many rows more */
    struct firn_buffer last_key;
};

void firn_sort_output_init(struct firn_op *op, struct firn_sort_output *output, struct firn_group_run *run,
                           struct firn_output_files *files, const struct firn_route *route,
                           const int64_t *partition_rows, uint32_t bin);
/* Appends rows that come after all before. */
FIRN_CHECKED firn_status firn_sort_output_append(struct firn_op *op, struct firn_sort_output *output,
                                                 const struct firn_sorted_rows *rows);
/* Ends the last file. */
FIRN_CHECKED firn_status firn_sort_output_finish(struct firn_op *op, struct firn_sort_output *output);
/* Discards what is in progress. */
void firn_sort_output_close(struct firn_sort_output *output);

#endif
