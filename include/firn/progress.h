/* Progress of a long command: counters that workers add to and that a reporter shows. Thread-safe. */
#ifndef FIRN_PROGRESS_H
#define FIRN_PROGRESS_H

#include "firn/op.h"

struct firn_progress {
    const char *what;       /* "rewrite-data-files", for people */
    const char *group_noun; /* what a group is, for people; NULL: "groups" */
    atomic_uint_fast64_t groups_done, groups_total;
    atomic_uint_fast64_t files_done, files_total;
    atomic_uint_fast64_t bytes_done, bytes_total;
    /* Called by firn_progress_tick, from any thread but never from two at once; NULL shows nothing. */
    void (*show)(struct firn_progress *progress, bool last);
    void *context;
    atomic_flag showing;
    int64_t started_ms;  /* monotonic */
    int64_t shown_ms;    /* monotonic, of the last show */
    int64_t interval_ms; /* least time between two shows */
};

/* Counts and shows when the interval has passed. `progress` may be NULL. */
void firn_progress_tick(struct firn_op *op, struct firn_progress *progress, uint64_t files, uint64_t bytes);
/* Counts one group and shows when the interval has passed. */
void firn_progress_group(struct firn_op *op, struct firn_progress *progress);
/* Shows the final state. */
void firn_progress_end(struct firn_op *op, struct firn_progress *progress);

#endif
