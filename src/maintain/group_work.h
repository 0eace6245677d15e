/* Running the groups of a plan side by side and committing them together, or in batches as they finish.
 * Reference: procedures.md, 2.9 and 2.10.
 *
 * Invariants
 *  (1) What was made for a group and was definitely not committed is removed.
 *  (2) Once the outcome of a commit is unknown, nothing is removed any more and no further commit is tried.
 *  (3) Commits happen one at a time. */
#ifndef FIRN_MAINTAIN_GROUP_WORK_H
#define FIRN_MAINTAIN_GROUP_WORK_H

#include "base/pool.h"
#include "firn/progress.h"

/* What a procedure does with its groups, and how. */
struct firn_group_work {
    const char *noun; /* of the groups, in errors: "file groups" */
    uint32_t group_count;
    uint32_t width;                 /* groups at a time */
    bool partial_progress;          /* a failed group or commit costs only itself */
    int64_t commits_max;            /* with partial progress */
    struct firn_progress *progress; /* may be NULL */
    /* Whether the group may begin; those that may not are left. Called as `execute` is, before it. NULL: all may. */
    bool (*may_begin)(struct firn_op *op, void *context, uint32_t group);
    /* Makes what the group becomes; leaves nothing after a failure. Called from several threads, for a group each. */
    firn_status (*execute)(struct firn_op *op, void *context, uint32_t group);
    /* What can be done for the commit of all groups while they are executed. Not called with partial progress. NULL:
     * nothing. */
    void (*prepare)(struct firn_op *op, void *context);
    /* Commits executed groups. Never called from two threads at once. */
    firn_status (*commit)(struct firn_op *op, void *context, const uint32_t *groups, uint32_t count);
    /* Removes what execute made. */
    void (*discard)(struct firn_op *op, void *context, uint32_t group);
    void *context;
};

struct firn_group_work_outcome {
    int64_t commits, failed_commits;
    uint32_t failed_groups;     /* that could not be executed */
    struct firn_text *warnings; /* failures that partial progress survived */
    uint32_t warning_count;
    struct firn_error first_error; /* of these failures; status FIRN_OK: there was none */
};

/* Runs the groups. Without partial progress the first failure is the result; with it, only what ends the whole run is
 * (UNKNOWN, CANCELLED), and the outcome tells the rest. `out` is filled also after a failure. */
FIRN_CHECKED firn_status firn_group_work_run(struct firn_op *op, struct firn_pool *pool,
                                             const struct firn_group_work *work, struct firn_group_work_outcome *out);
/* What the failures that partial progress survived amount to: PARTIAL when something was committed, else the first of
 * them. */
FIRN_CHECKED firn_status firn_group_work_judge(struct firn_op *op, const struct firn_group_work *work,
                                               const struct firn_group_work_outcome *outcome);

#endif
