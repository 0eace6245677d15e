/* Which rows of a step go to which output, and which go nowhere: the one place where deletes are applied. */
#ifndef FIRN_REWRITE_SELECTION_H
#define FIRN_REWRITE_SELECTION_H

#include "rewrite/gather.h"
#include "rewrite/held_column.h"
#include "rewrite/output.h"
#include "rewrite/route.h"
#include "rewrite/window.h"

/* Rows of a step that share a fate. */
struct firn_row_list {
    struct firn_buffer ranges; /* of struct firn_row_range, ascending, neighbours joined */
    int64_t row_count;
};

/* Where rows go that are put in order before they are written. */
struct firn_sort_target {
    struct firn_held_column *columns; /* one a leaf */
    struct firn_buffer *partitions;   /* gets the partition of each row (uint32_t), if there are several */
    int64_t *partition_rows;          /* rows of each partition */
};

struct firn_selection {
    struct firn_group_run *run;
    const struct firn_route *route;
    struct firn_output *outputs; /* of partitions first_partition and up */
    uint32_t output_count, first_partition;
    const struct firn_sort_target *sorting; /* rows of all partitions go there, as to one output; NULL: they do not */
    bool with_left_out;                     /* list the rows that no output takes, too */

    /* The step. */
    struct firn_row_list *lists; /* one an output, then the rows left out */
    bool whole;                  /* every row goes to outputs[0] */
};

void firn_selection_init(struct firn_op *op, struct firn_selection *selection);
/* Decides on the next `rows` rows of the window. Counts them as rows of their outputs' row groups, and says where they
 * go in the group's row map. */
FIRN_CHECKED firn_status firn_selection_step(struct firn_op *op, struct firn_selection *selection,
                                             const struct firn_window *window, int64_t rows);
/* The rows of a list among `row_count` rows from `first` on. `*cursor` is where the search begins and where the next
 * may, 0 for the first of a step. */
struct firn_row_pick firn_row_list_pick(const struct firn_row_list *list, size_t *cursor, int64_t first,
                                        int64_t row_count);
/* Where `row_count` rows from `first` on go. */
enum firn_selection_fate {
    FIRN_FATE_ONE,     /* all to the output `*index` */
    FIRN_FATE_NONE,    /* nowhere */
    FIRN_FATE_PARTLY,  /* some to one output, the others nowhere */
    FIRN_FATE_SEVERAL, /* to more than one output */
};
/* `cursors` has a place in each list, as firn_row_list_pick takes it. */
enum firn_selection_fate firn_selection_fate(const struct firn_selection *selection, size_t *cursors, int64_t first,
                                             int64_t row_count, uint32_t *index);
void firn_selection_done(struct firn_selection *selection);

#endif
