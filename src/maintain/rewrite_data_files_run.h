/* A run of rewrite_data_files: what the parts of applying a plan share. */
#ifndef FIRN_MAINTAIN_REWRITE_DATA_FILES_RUN_H
#define FIRN_MAINTAIN_REWRITE_DATA_FILES_RUN_H

#include "maintain/rewrite_data_files.h"

#include <pthread.h>

enum firn_group_state {
    FIRN_GROUP_PENDING,
    FIRN_GROUP_WRITE_FAILED,
    FIRN_GROUP_READY,
    FIRN_GROUP_COMMITTED,
    FIRN_GROUP_LOST,          /* outputs removed, to be planned anew */
    FIRN_GROUP_COMMIT_FAILED, /* outputs removed */
    FIRN_GROUP_COMMIT_UNKNOWN
};

struct firn_group_outcome {
    enum firn_group_state state;
    struct firn_rewrite_result result;
};

struct firn_rewrite_run {
    const struct firn_rewrite_plan *plan; /* of this round */
    int64_t covered_id;                   /* the snapshot that the run, when complete, has settled */
    int32_t rounds_left;                  /* how often may be planned anew */
    bool is_incomplete;                   /* something was left out in the rounds before */
    struct firn_table *table;
    struct firn_rewrite_context context;
    struct firn_rewrite_group *groups;
    struct firn_group_outcome *outcomes; /* one a group; a job touches its own, the rest under the lock */
    struct firn_rewrite_data_files_report *report;
    uint32_t groups_per_commit;
    pthread_mutex_t lock; /* everything below, the outcomes' states, the report and the table */
    uint32_t *ready;      /* groups that wait for a commit */
    uint32_t ready_count;
    struct firn_rewrite_spent spent;  /* of this round's plan */
    uint32_t carried_number;          /* of the last delete files written to carry deletes over */
    bool has_lost;                    /* a group of this round */
    FIRN_ARRAY(int64_t) snapshot_ids; /* own commits */
    bool is_unknown;                  /* the outcome of a commit is: (3) */
    struct firn_error first_error;    /* of a group or a commit, whichever failed first */
};

/* Whether files or groups that qualify are left for another run. */
bool firn_rewrite_plan_leaves_out(const struct firn_rewrite_plan *plan);
/* Commits a batch of groups, with the lock held or alone. A definite failure removes the batch's outputs; FIRN_OK also
 * when the groups were lost and are to be planned anew. */
FIRN_CHECKED firn_status firn_rewrite_run_commit(struct firn_op *op, struct firn_rewrite_run *run,
                                                 const uint32_t *batch, uint32_t count);

#endif
