/* What the parts of the maintenance pipeline share: memory of earlier runs, decisions, steps. */
#ifndef FIRN_MAINTAIN_MAINTAIN_H
#define FIRN_MAINTAIN_MAINTAIN_H

#include "base/pool.h"
#include "firn/maintain.h"
#include "maintain/policy.h"
#include "maintain/rewrite_data_files.h"

/* Memory ---------------------------------------------------------------------------------------------------------- */

/* No run yet. */
#define FIRN_NEVER_RUN INT64_C(-1)

/* What runs leave for the next ones, in the lease (lease.h). */
struct firn_maintain_memory {
    int64_t last_ms[FIRN_STEP_COUNT]; /* when the step began last that succeeded */
    struct firn_text settings;        /* of the compactions that what follows was settled by */
    int64_t settled_number;           /* nothing up to this sequence number need be looked at again */
    int64_t cold_number;              /* likewise of partitions that had grown cold */
    int64_t settled_snapshot_id;      /* the head when it was settled; FIRN_NO_SNAPSHOT */
};
/* What is missing or makes no sense is as if it never was. */
void firn_maintain_memory_parse(const json_t *json, struct firn_maintain_memory *out);
/* A new reference. */
json_t *firn_maintain_memory_json(const struct firn_maintain_memory *memory);

/* Decisions ------------------------------------------------------------------------------------------------------- */

struct firn_step_decision {
    bool is_due;
    struct firn_text why;
    int64_t next_ms; /* when it would be due; FIRN_NEVER_RUN: not known, or never */
};
/* Whether a step is due at `now_ms`, by cadence, windows and what was asked for. A step is due a little before its time
 * is up, so that a timer that fires a second early finds it due. Pure. In `arena`. */
struct firn_step_decision firn_step_decide(struct firn_arena *arena, const struct firn_maintain_args *args,
                                           const struct firn_metadata *metadata,
                                           const struct firn_maintain_memory *memory, enum firn_maintain_step step,
                                           int64_t now_ms);

/* Steps ----------------------------------------------------------------------------------------------------------- */

/* One step's turn. Everything it needs lives in an arena that goes after it. */
struct firn_step_turn {
    struct firn_pool *pool;
    struct firn_table *table; /* a copy of the run's */
    const struct firn_maintain_args *args;
    const struct firn_maintain_memory *memory;
    struct firn_maintain_memory *next; /* what to remember once the step succeeded */
    int64_t now_ms;                    /* when it began */
    int64_t time_ms_left;              /* of budget.time; 0: no limit */
    enum firn_maintain_step step;
    struct firn_text why; /* it is due */
    /* Set by `plan`. */
    bool has_work;
    struct firn_text work; /* what there is to do, or why nothing */
    void *plan;            /* NULL: there is nothing to apply, not even leftovers of other runs */
    /* Set by `apply`. */
    json_t *result; /* an object, owned by the turn's arena */
};
struct firn_step_kind {
    const char *name;
    enum firn_policy_key every, windows;
    bool deletes; /* files that nothing refers to, or soon nothing */
    firn_status (*plan)(struct firn_op *op, struct firn_step_turn *turn);
    json_t *(*json)(struct firn_op *op, const struct firn_step_turn *turn); /* of the plan; in op->arena */
    struct firn_work (*work)(const struct firn_step_turn *turn);            /* that doing it is predicted to take */
    firn_status (*apply)(struct firn_op *op, struct firn_step_turn *turn);
};
extern const struct firn_step_kind firn_step_kinds[FIRN_STEP_COUNT];
/* The progress for a turn that has work; says that it begins. */
struct firn_progress *firn_step_begins(struct firn_op *op, const struct firn_step_turn *turn);

/* maintain_compact.c */
/* What a policy says of compaction: the options of rewrite_data_files, and limits without that of time. */
enum { FIRN_COMPACT_OPTIONS_MAX = 9 };
size_t firn_compact_options(struct firn_arena *arena, const struct firn_policy *policy, struct firn_property *out);
struct firn_rewrite_limits firn_compact_limits(const struct firn_policy *policy);
FIRN_CHECKED firn_status firn_compact_plan(struct firn_op *op, struct firn_step_turn *turn);
json_t *firn_compact_json(struct firn_op *op, const struct firn_step_turn *turn);
struct firn_work firn_compact_work(const struct firn_step_turn *turn);
FIRN_CHECKED firn_status firn_compact_apply(struct firn_op *op, struct firn_step_turn *turn);

/* Measures -------------------------------------------------------------------------------------------------------- */

/* See firn_maintain_run. A new reference; null where it cannot be measured, which is logged. */
json_t *firn_maintain_measure(struct firn_op *op, struct firn_pool *pool, const struct firn_table *table,
                              const struct firn_policy *policy, const struct firn_prices *prices);

#endif
