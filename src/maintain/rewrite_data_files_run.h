/* A run of rewrite_data_files: what the parts of applying a plan share. */
#ifndef FIRN_MAINTAIN_REWRITE_DATA_FILES_RUN_H
#define FIRN_MAINTAIN_REWRITE_DATA_FILES_RUN_H

#include "maintain/journal.h"
#include "maintain/rewrite_data_files.h"

enum firn_group_state {
    FIRN_GROUP_UNCOMMITTED,
    FIRN_GROUP_COMMITTED,
    FIRN_GROUP_LOST, /* outputs removed, to be planned anew */
    FIRN_GROUP_COMMIT_FAILED,
    FIRN_GROUP_COMMIT_UNKNOWN
};

struct firn_group_outcome {
    enum firn_group_state state; /* changed and read by commits alone while groups run */
    bool is_reused;              /* the files are those of an earlier run, whose journal has a say about them */
    bool is_left;                /* limits kept it from beginning */
    bool write_failed;           /* this and what follows is the executing thread's until the group is committed */
    struct firn_rewrite_result result;
};

/* What a run has taken of its limits. Functions may be called from several threads. */
struct firn_rewrite_meter {
    const struct firn_rewrite_limits *limits;
    struct firn_store *store;
    int64_t requests_before; /* counted by the store when the run began */
    int64_t started_ms;      /* monotonic */
    uint32_t width;          /* groups at a time */
    atomic_bool has_begun;
    atomic_int_fast64_t bytes_done; /* of inputs of finished groups */
};
void firn_rewrite_meter_start(struct firn_op *op, const struct firn_rewrite_limits *limits, struct firn_store *store,
                              struct firn_rewrite_meter *out);
/* Whether a group of so many bytes may begin. */
bool firn_rewrite_meter_allows(struct firn_op *op, struct firn_rewrite_meter *meter, int64_t bytes);

struct firn_rewrite_run {
    const struct firn_rewrite_plan *plan; /* of this round */
    int64_t covered_id;                   /* the snapshot that the run, when complete, has settled */
    int32_t rounds_left;                  /* how often may be planned anew */
    bool is_incomplete;                   /* something was left out in the rounds before */
    struct firn_table *table;
    struct firn_journal *journal; /* NULL: none */
    struct firn_rewrite_context context;
    struct firn_rewrite_meter meter;
    struct firn_rewrite_group *groups;
    struct firn_group_outcome *outcomes; /* one a group */
    struct firn_snapshot_draft *draft;   /* of the commit of all groups; NULL: none */

    /* Commits, which come one at a time, change the table, the outcomes' states and what follows. */
    struct firn_rewrite_data_files_report *report;
    struct firn_rewrite_spent spent;  /* of this round's plan */
    uint32_t carried_number;          /* of the last delete files written to carry deletes over */
    bool has_lost;                    /* a group of this round */
    FIRN_ARRAY(int64_t) snapshot_ids; /* own commits */
    struct firn_error first_error;    /* of a group, a commit or planning anew, whichever failed first */
};

/* Removes what was written for a group and will not be committed. */
void firn_rewrite_run_discard(struct firn_op *op, void *context, uint32_t index);
/* Whether files or groups that qualify are left for another run. */
bool firn_rewrite_plan_leaves_out(const struct firn_rewrite_plan *plan);
/* Drafts the commit of all groups of a struct firn_rewrite_run. */
void firn_rewrite_run_draft(struct firn_op *op, void *context);
/* Commits a batch of groups of a struct firn_rewrite_run. FIRN_OK also when the groups were lost and are to be planned
 * anew: their outputs are removed then, those of a commit that failed are the caller's to remove. */
FIRN_CHECKED firn_status firn_rewrite_run_commit(struct firn_op *op, void *context, const uint32_t *batch,
                                                 uint32_t count);

#endif
