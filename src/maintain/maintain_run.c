/* The pipeline: a lease, then step by step, then what it brought.
 *
 * Invariants
 *  (1) One run per table (lease.h); steps never overlap.
 *  (2) What a step finds is decided when its turn comes, on the table as it is then.
 *  (3) What is remembered of a step is remembered only after it succeeded: a killed run's step is due again.
 *  (4) After a failure that says the table is damaged, or that leaves a commit in doubt, nothing that deletes is run:
 *      older snapshots may be all that is left. */
#include "maintain/maintain.h"

#include "base/math.h"
#include "catalog/catalog.h"
#include "format/json/json.h"
#include "maintain/lease.h"

static int64_t monotonic_ms(struct firn_op *op)
{
    return op->env->monotonic_ms(op->env->context);
}

struct run {
    struct firn_pool *pool;
    struct firn_table *table;
    const struct firn_maintain_args *args;
    struct firn_prices prices;
    struct firn_maintain_memory memory;
    struct firn_lease *lease; /* NULL: a plan */
    json_t *steps;            /* the report's or plan's */
    int64_t started_ms;       /* monotonic */
    uint32_t done_count;      /* steps that had work, or failed in it */
    bool has_failed;
    bool is_doubtful;        /* (4) */
    firn_status ended;       /* what ended the run early; FIRN_OK: nothing did */
    struct firn_error error; /* of that */
};

/* An object for one step, borrowed from the report. */
static json_t *add_step(struct run *run, enum firn_maintain_step step)
{
    json_t *json = json_object();
    firn_json_set_text(json, "step", firn_text_of(firn_maintain_step_name(step)));
    json_array_append_new(run->steps, json);
    return json;
}

/* What is left of budget.time, at least a millisecond; 0: there is no limit. */
static int64_t time_left(struct firn_op *op, const struct run *run)
{
    int64_t budget_ms = firn_policy_number(run->args->policy, FIRN_POLICY_BUDGET_TIME);
    if (budget_ms == FIRN_POLICY_UNSET || budget_ms == FIRN_POLICY_NEVER)
        return 0;
    return FIRN_MAX(budget_ms - (monotonic_ms(op) - run->started_ms), 1);
}

static struct firn_prices prices_of(const struct firn_maintain_args *args)
{
    return args->prices ? *args->prices : firn_prices_default();
}

static json_t *predicted_json(const struct run *run, const struct firn_work *work)
{
    return firn_work_json(&run->prices, work, firn_work_seconds(&run->prices, work, firn_pool_thread_count(run->pool)));
}

static json_t *actual_json(struct firn_op *op, const struct run *run, struct firn_work before, int64_t started_ms)
{
    struct firn_work work = firn_work_since(firn_store_work(run->table->store), before);
    return firn_work_json(&run->prices, &work, (double)(monotonic_ms(op) - started_ms) / 1000);
}

/* A step's turn in an arena of its own: what it reads of a table may be large. */
struct stage {
    struct firn_arena arena;
    struct firn_op op;
    struct firn_table table;
    struct firn_maintain_memory next;
    struct firn_step_turn turn;
};

static void open_stage(struct firn_op *op, const struct run *run, enum firn_maintain_step step, struct stage *stage)
{
    firn_arena_init(&stage->arena);
    stage->op = *op;
    stage->op.arena = &stage->arena;
    stage->table = *run->table;
    stage->next = run->memory;
    stage->turn = (struct firn_step_turn){
        .pool = run->pool,
        .table = &stage->table,
        .args = run->args,
        .memory = &run->memory,
        .next = &stage->next,
        .now_ms = firn_now_ms(op),
        .time_ms_left = time_left(op, run),
        .step = step,
    };
}

static void close_stage(struct firn_op *op, struct stage *stage)
{
    op->error = stage->op.error;
    firn_arena_done(&stage->arena);
}

/* Planning -------------------------------------------------------------------------------------------------------- */

static void set_ms(json_t *json, const char *key, int64_t ms)
{
    if (ms == FIRN_NEVER_RUN)
        firn_json_set(json, key, json_null());
    else
        firn_json_set_i64(json, key, ms);
}

static void set_decision(json_t *json, const struct firn_step_decision *decision, int64_t last_ms)
{
    firn_json_set_bool(json, "is_due", decision->is_due);
    firn_json_set_text(json, "why", decision->why);
    set_ms(json, "last_ms", last_ms);
    set_ms(json, "next_ms", decision->next_ms);
}

static firn_status preview(struct firn_op *op, struct run *run, enum firn_maintain_step step, json_t *json)
{
    const struct firn_step_kind *kind = &firn_step_kinds[step];
    struct stage stage;
    open_stage(op, run, step, &stage);
    firn_status status = kind->plan(&stage.op, &stage.turn);
    if (status == FIRN_OK) {
        firn_json_set_bool(json, "has_work", stage.turn.has_work);
        firn_json_set_text(json, "work", stage.turn.work);
        if (stage.turn.plan)
            json_object_set(json, "plan", kind->json(&stage.op, &stage.turn));
        if (stage.turn.has_work) {
            struct firn_work work = kind->work(&stage.turn);
            firn_json_set(json, "predicted", predicted_json(run, &work));
        }
    } else {
        firn_json_set_text(json, "work",
                           firn_text_format(stage.op.arena, "cannot be planned: %s", stage.op.error.text));
    }
    close_stage(op, &stage);
    return status == FIRN_CANCELLED ? status : FIRN_OK;
}

static firn_status plan_step(struct firn_op *op, struct run *run, enum firn_maintain_step step)
{
    json_t *json = add_step(run, step);
    struct firn_step_decision decision =
        firn_step_decide(op->arena, run->args, run->table->metadata, &run->memory, step, firn_now_ms(op));
    set_decision(json, &decision, run->memory.last_ms[step]);
    firn_json_set(json, "has_work", json_null());
    firn_json_set(json, "plan", json_null());
    firn_json_set(json, "predicted", json_null());
    return decision.is_due ? preview(op, run, step, json) : FIRN_OK;
}

static json_t *lease_json(const struct firn_lease_state *state)
{
    if (!state->is_held)
        return json_null();
    json_t *json = json_object();
    firn_json_set_text(json, "holder", state->holder);
    firn_json_set_i64(json, "since_ms", state->began_ms);
    firn_json_set_i64(json, "renewed_ms", state->renewed_ms);
    return json;
}

firn_status firn_maintain_plan(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                               const struct firn_maintain_args *args, json_t **out)
{
    struct firn_lease_state state;
    struct run run = {
        .pool = pool, .table = table, .args = args, .prices = prices_of(args), .started_ms = monotonic_ms(op)
    };
    json_t *json = firn_json_own(op->arena, json_object());
    FIRN_TRY(firn_lease_look(op, table, &state));
    firn_maintain_memory_parse(state.memory, &run.memory);
    run.steps = json_array();
    firn_json_set_text(json, "table", table->name);
    firn_json_set(json, "lease", lease_json(&state));
    firn_json_set(json, "steps", run.steps);
    for (int step = 0; step < FIRN_STEP_COUNT; step++)
        FIRN_TRY(plan_step(op, &run, (enum firn_maintain_step)step));
    firn_json_set(json, "prices", firn_prices_json(&run.prices));
    firn_json_set(json, "before", firn_maintain_measure(op, pool, table, args->policy, &run.prices));
    *out = json;
    return FIRN_OK;
}

/* Running --------------------------------------------------------------------------------------------------------- */

/* (4): what says that something of the table is missing or broken, or may be the table's though nothing names it. */
static bool makes_doubtful(firn_status status)
{
    return status == FIRN_CORRUPT || status == FIRN_NOT_FOUND || status == FIRN_VERIFY || status == FIRN_UNKNOWN;
}

static bool ends_run(firn_status status)
{
    return status == FIRN_CANCELLED || status == FIRN_BUSY;
}

static void note_failure(struct run *run, const struct firn_error *error, firn_status status, json_t *json)
{
    firn_json_set_text(json, "status", FIRN_TEXT("failed"));
    firn_json_set_text(json, "error", firn_text_of(error->text));
    firn_json_set_text(json, "hint", firn_text_of(error->hint));
    run->has_failed = true;
    run->is_doubtful = run->is_doubtful || makes_doubtful(status);
    if (!ends_run(status))
        return;
    run->ended = status;
    run->error = *error;
}

/* (3) Also renews the lease. */
static firn_status remember(struct firn_op *op, struct run *run, struct stage *stage)
{
    stage->next.last_ms[stage->turn.step] = stage->turn.now_ms;
    json_t *memory = firn_json_own(op->arena, firn_maintain_memory_json(&stage->next));
    firn_maintain_memory_parse(memory, &run->memory);
    return firn_lease_renew(op, run->lease, memory);
}

/* What it took is told after a failure, too. */
static firn_status apply_step(struct firn_op *op, struct run *run, struct stage *stage, json_t *json)
{
    const struct firn_step_kind *kind = &firn_step_kinds[stage->turn.step];
    struct firn_work before = firn_store_work(run->table->store);
    int64_t started_ms = monotonic_ms(op);
    if (!stage->turn.plan)
        return FIRN_OK;
    struct firn_work predicted = kind->work(&stage->turn);
    firn_status status = kind->apply(&stage->op, &stage->turn);
    if (stage->turn.result)
        json_object_set(json, "result", stage->turn.result);
    if (stage->turn.has_work) {
        firn_json_set(json, "predicted", predicted_json(run, &predicted));
        firn_json_set(json, "actual", actual_json(op, run, before, started_ms));
    }
    return status;
}

static firn_status take_turn(struct firn_op *op, struct run *run, struct stage *stage, json_t *json)
{
    FIRN_TRY(firn_step_kinds[stage->turn.step].plan(&stage->op, &stage->turn));
    firn_json_set_text(json, "work", stage->turn.work);
    run->done_count += stage->turn.has_work;
    FIRN_TRY(apply_step(op, run, stage, json));
    firn_json_set_text(json, "status", stage->turn.has_work ? FIRN_TEXT("done") : FIRN_TEXT("nothing to do"));
    firn_status status = remember(op, run, stage);
    if (status != FIRN_OK)
        stage->op.error = op->error;
    return status;
}

static void run_step(struct firn_op *op, struct run *run, enum firn_maintain_step step, json_t *json)
{
    struct stage stage;
    int64_t started_ms = monotonic_ms(op);
    firn_status status = firn_table_refresh(op, run->table); /* (2) */
    open_stage(op, run, step, &stage);
    stage.op.error = op->error;
    if (status == FIRN_OK)
        status = take_turn(op, run, &stage, json);
    if (status != FIRN_OK)
        note_failure(run, &stage.op.error, status, json);
    close_stage(op, &stage);
    firn_json_set_i64(json, "elapsed_ms", monotonic_ms(op) - started_ms);
}

/* Why a step that is due does not run all the same; empty: it does. */
static struct firn_text skip_reason(struct firn_op *op, const struct run *run, enum firn_maintain_step step)
{
    const struct firn_policy_value *budget = &run->args->policy->values[FIRN_POLICY_BUDGET_TIME];
    if (run->ended != FIRN_OK)
        return FIRN_TEXT("the run was ended before");
    if (run->is_doubtful && firn_step_kinds[step].deletes)
        return FIRN_TEXT("a step before found the table damaged or left a commit in doubt: what is old may be needed");
    if (budget->number != FIRN_POLICY_UNSET && monotonic_ms(op) - run->started_ms >= budget->number)
        return firn_text_format(op->arena, "budget.time %.*s is spent", FIRN_FMT(budget->text));
    return FIRN_TEXT("");
}

static void consider_step(struct firn_op *op, struct run *run, enum firn_maintain_step step)
{
    json_t *json = add_step(run, step);
    struct firn_step_decision decision =
        firn_step_decide(op->arena, run->args, run->table->metadata, &run->memory, step, firn_now_ms(op));
    set_decision(json, &decision, run->memory.last_ms[step]);
    if (!decision.is_due) {
        firn_json_set_text(json, "status", FIRN_TEXT("not due"));
        return;
    }
    struct firn_text skipped = skip_reason(op, run, step);
    if (skipped.len == 0) {
        run_step(op, run, step, json);
        return;
    }
    firn_json_set_text(json, "status", FIRN_TEXT("skipped"));
    firn_json_set_text(json, "error", skipped);
}

static firn_status outcome(struct firn_op *op, const struct run *run)
{
    if (run->ended != FIRN_OK) {
        op->error = run->error;
        return run->ended;
    }
    if (!run->has_failed)
        return FIRN_OK;
    return firn_fail(op, FIRN_PARTIAL, "some steps failed, see the report");
}

static bool is_any_due(struct firn_op *op, const struct run *run)
{
    for (int step = 0; step < FIRN_STEP_COUNT; step++)
        if (firn_step_decide(op->arena, run->args, run->table->metadata, &run->memory, (enum firn_maintain_step)step,
                             firn_now_ms(op))
                .is_due)
            return true;
    return false;
}

/* What changed nothing is measured once, and what is not due not at all. */
static json_t *measure_after(struct firn_op *op, const struct run *run, json_t *before)
{
    if (run->done_count == 0)
        return json_incref(before);
    if (run->ended != FIRN_OK || firn_table_refresh(op, run->table) != FIRN_OK)
        return json_null();
    return firn_maintain_measure(op, run->pool, run->table, run->args->policy, &run->prices);
}

static firn_status run_steps(struct firn_op *op, struct run *run, json_t *json)
{
    json_t *before = is_any_due(op, run)
                         ? firn_maintain_measure(op, run->pool, run->table, run->args->policy, &run->prices)
                         : json_null();
    firn_json_set(json, "before", before);
    for (int step = 0; step < FIRN_STEP_COUNT; step++)
        consider_step(op, run, (enum firn_maintain_step)step);
    firn_lease_release(op, run->lease);
    firn_status status = outcome(op, run);
    struct firn_error error = op->error;
    firn_json_set(json, "after", measure_after(op, run, before));
    op->error = error;
    return status;
}

firn_status firn_maintain_run(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                              const struct firn_maintain_args *args, json_t **out)
{
    struct run run = {
        .pool = pool, .table = table, .args = args, .prices = prices_of(args), .started_ms = monotonic_ms(op)
    };
    const struct firn_lease_config config = {
        .holder = args->holder,
        .lease_ms = firn_policy_number(args->policy, FIRN_POLICY_LEASE_TIME),
        .keeps_itself = args->keeps_lease,
    };
    struct firn_lease_state state;
    json_t *json = firn_json_own(op->arena, json_object());
    run.steps = json_array();
    firn_json_set_text(json, "table", table->name);
    firn_json_set(json, "steps", run.steps);
    *out = json;
    struct firn_work before = firn_store_work(table->store);
    FIRN_TRY(firn_lease_take(op, table, &config, &state, &run.lease));
    firn_maintain_memory_parse(state.memory, &run.memory);
    firn_status status = run_steps(op, &run, json);
    firn_json_set_text(json, "status", status == FIRN_OK ? FIRN_TEXT("done") : firn_text_of(firn_status_name(status)));
    firn_json_set_i64(json, "elapsed_ms", monotonic_ms(op) - run.started_ms);
    firn_json_set(json, "actual", actual_json(op, &run, before, run.started_ms));
    firn_json_set(json, "prices", firn_prices_json(&run.prices));
    return status;
}
