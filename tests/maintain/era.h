/* A table that lives by a clock a test turns, and runs of the maintenance pipeline on it. */
#ifndef FIRN_TESTS_ERA_H
#define FIRN_TESTS_ERA_H

#include "maintain/scene.h"

#include "maintain/maintain.h"

#define ERA_START_MS INT64_C(1700006400000) /* a midnight */

/* A table whose clock a test turns. */
struct era {
    struct scene scene;
    int64_t now_ms;
    uint64_t process; /* every run is a process of its own */
    bool others_run;  /* those before; else they have ended */
};

static inline struct firn_text era_process(void *context, struct firn_arena *arena)
{
    return firn_text_format(arena, "process %" PRIu64, ((const struct era *)context)->process);
}

static inline enum firn_process_state era_process_state(void *context, struct firn_text name)
{
    const struct era *era = context;
    struct firn_arena arena = { 0 };
    bool is_own = firn_text_same(name, era_process(context, &arena));
    firn_arena_done(&arena);
    return is_own || era->others_run ? FIRN_PROCESS_RUNS : FIRN_PROCESS_ENDED;
}

static inline int64_t era_clock_us(void *context)
{
    return ((const struct era *)context)->now_ms * 1000;
}

static inline void era_no_log(void *context, enum firn_log_level level, struct firn_text line)
{
    (void)context;
    (void)level;
    (void)line;
}

static inline void era_begin_version(struct firn_op *op, struct era *era, int version, const char *properties)
{
    *era = (struct era){ .now_ms = ERA_START_MS };
    era->scene.env = *firn_env_real();
    era->scene.env.now_us = era_clock_us;
    era->scene.env.sleep_ms = no_sleep;
    era->scene.env.log = era_no_log;
    era->scene.env.process = era_process;
    era->scene.env.process_state = era_process_state;
    era->scene.env.context = era;
    op->env = &era->scene.env;
    begin_with(op, &era->scene.world,
               firn_text_format(op->arena, "{\"format-version\": \"%d\"%s%s}", version, properties ? ", " : "",
                                properties ? properties : "")
                   .data);
}

static inline void era_begin(struct firn_op *op, struct era *era, const char *properties)
{
    era_begin_version(op, era, 2, properties);
}

static inline void era_end(struct firn_op *op, struct era *era)
{
    scene_end(op, &era->scene);
}

static inline struct firn_text table_location(const struct era *era)
{
    return era->scene.world.table.metadata->location;
}

/* A run, and its report. */
struct turn {
    struct firn_arena arena;
    struct firn_op op;
    firn_status status;
    json_t *report;
};

struct asked {
    const char *settings; /* "key=value key=value" */
    uint32_t steps;
    bool force, dry_run;
};

static inline size_t split_settings(struct firn_op *op, const char *text, struct firn_property *out)
{
    size_t count = 0;
    for (struct firn_text rest = firn_text_of(text); rest.len > 0;) {
        ptrdiff_t blank = firn_text_find(rest, ' ');
        struct firn_text one = blank < 0 ? rest : firn_text_until(rest, (size_t)blank);
        size_t equals = (size_t)firn_text_find(one, '=');
        out[count++] = (struct firn_property){ firn_text_copy(op->arena, firn_text_until(one, equals)),
                                               firn_text_copy(op->arena, firn_text_from(one, equals + 1)) };
        rest = firn_text_from(rest, blank < 0 ? rest.len : (size_t)blank + 1);
    }
    return count;
}

static inline void run_turn(struct firn_op *outer, struct era *era, struct asked asked, struct turn *turn)
{
    struct firn_property settings[12];
    struct firn_table table;
    struct firn_policy *policy;
    era->process++;
    firn_arena_init(&turn->arena);
    turn->op = *outer;
    turn->op.arena = &turn->arena;
    struct firn_op *op = &turn->op;
    size_t count = split_settings(op, asked.settings ? asked.settings : "", settings);
    turn->report = NULL;
    turn->status = firn_catalog_load(op, era->scene.world.catalog, FIRN_TEXT("db.t"), &table);
    if (turn->status != FIRN_OK)
        return;
    CHECK_OK(op, firn_policy_of(op, firn_policies_new(op), &table, settings, count, &policy));
    const struct firn_maintain_args args = {
        .policy = policy, .steps = asked.steps, .force = asked.force, .holder = FIRN_TEXT("a test")
    };
    turn->status = asked.dry_run ? firn_maintain_plan(op, NULL, &table, &args, &turn->report)
                                 : firn_maintain_run(op, NULL, &table, &args, &turn->report);
}

static inline void end_turn(struct turn *turn)
{
    firn_arena_done(&turn->arena);
}

#endif
