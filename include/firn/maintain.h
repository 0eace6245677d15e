/* The pipeline of maintenance: compaction, position deletes, manifests, expiry, and orphan files in two phases, one
 * after another, each when its policy says so, and one run per table at a time.
 *
 * What is done, and how often, is a matter of policy (policy.h). When a step ran last, and what compaction has settled,
 * is kept with the table's lease, in "metadata/_firn_maintain", where every host sees it; if that is lost, every step
 * is due, which costs time and nothing else. */
#ifndef FIRN_MAINTAIN_H
#define FIRN_MAINTAIN_H

#include "firn/policy.h"
#include "firn/price.h"
#include "firn/progress.h"

#include <jansson.h>

struct firn_pool;

/* In the order in which they run. */
enum firn_maintain_step {
    FIRN_STEP_COMPACT,
    FIRN_STEP_POSITION_DELETES,
    FIRN_STEP_MANIFESTS,
    FIRN_STEP_EXPIRE,
    FIRN_STEP_SWEEP, /* deletes what was marked long enough ago */
    FIRN_STEP_ORPHANS,
    FIRN_STEP_COUNT
};
/* "compact", "position-deletes", ... */
const char *firn_maintain_step_name(enum firn_maintain_step step);

struct firn_maintain_args {
    const struct firn_policy *policy;
    uint32_t steps;                   /* a bit a step: no others; 0: all */
    bool force;                       /* steps are due whatever their cadence and windows say; the age guards hold */
    struct firn_text holder;          /* who runs this, for people who find the table taken: "host a, process 12" */
    uint64_t memory_bytes_max;        /* --memory */
    const struct firn_prices *prices; /* NULL: the defaults */
    bool keeps_lease; /* a thread renews the lease in real time; else it is renewed between steps only */
    /* Told when a step begins that has work; gives the progress for it, or NULL. May be NULL. */
    struct firn_progress *(*begins)(struct firn_op *op, void *context, enum firn_maintain_step step,
                                    struct firn_text why);
    void *context;
};

/* What a run would do now. Writes nothing, takes no lease. {"table", "lease" (null: free; else {"holder", "since_ms",
 * "renewed_ms"}), "steps": [{"step", "is_due", "why", "last_ms" (null: never), "next_ms" (null: unknown or never),
 * "has_work" (null: not due), "work" (what there is to do, in words), "plan" (the procedure's own; null: none),
 * "predicted" (firn_work_json; null: none)}],
 * "before"}. Owned by op->arena. Fails only for what keeps every step from being planned; a step that cannot be planned
 * says so in "why". */
FIRN_CHECKED firn_status firn_maintain_plan(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                            const struct firn_maintain_args *args, json_t **out);

/* Runs what is due. {"table", "status" ("done", "partial", ...), "steps": [{"step", "status" ("done", "nothing to do",
 * "not due", "failed", "skipped"), "why", "error", "hint" (of a failure), "elapsed_ms", "result" (numbers),
 * "predicted", "actual" (firn_work_json; of steps that had work)}], "actual" (of all), "prices", "before", "after",
 * "elapsed_ms"}; before and after are {"data_files", "data_bytes", "delete_files", "delete_bytes", "manifests",
 * "manifest_bytes", "snapshots", "metadata_bytes", "planning_us", "scan_requests" (of everything), "scan_money",
 * "storage_money_month", "sample_files", "sample_bytes", "sample_planning_us" (with sample.where)}, null where it was
 * not or could not be measured: nothing is when nothing is due. Owned by op->arena, and filled for PARTIAL and
 * CANCELLED, too.
 *
 * A step that fails keeps no other from running, unless going on could lose what is needed to mend it: then nothing
 * that deletes is run. PARTIAL when a step failed; BUSY when another run has the table, or has taken it over. */
FIRN_CHECKED firn_status firn_maintain_run(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                           const struct firn_maintain_args *args, json_t **out);

#endif
