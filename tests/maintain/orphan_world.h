/* A table in a memory store with a clock of its own, and calls of remove_orphan_files whose results are compared as
 * text. */
#ifndef FIRN_TESTS_ORPHAN_WORLD_H
#define FIRN_TESTS_ORPHAN_WORLD_H

#include "check.h"

#include "firn/remove_orphan_files.h"
#include "support/fault_store.h"
#include "support/fixture.h"

#define HOUR_MS INT64_C(3600000)
#define DAY_MS  (24 * HOUR_MS)
#define NOW_MS  (20000 * DAY_MS)

struct world {
    int64_t now_ms;
    struct firn_env env;
    struct firn_store *store;
    struct fixture fixture;
};

static int64_t world_now_us(void *context)
{
    return *(const int64_t *)context * 1000;
}

static int64_t world_monotonic_ms(void *context)
{
    return *(const int64_t *)context;
}

static inline void world_sleep(void *context, int64_t ms)
{
    *(int64_t *)context += ms;
}

static void world_random(void *context, void *out, size_t len)
{
    (void)context;
    firn_env_real()->random(NULL, out, len);
}

static void world_log(void *context, enum firn_log_level level, struct firn_text line)
{
    (void)context;
    (void)level;
    (void)line;
}

/* Opens a store and a catalog; `world` stays where it is. */
static inline void world_begin(struct firn_op *op, struct world *world)
{
    *world = (struct world){ .now_ms = NOW_MS };
    world->env = (struct firn_env){ .now_us = world_now_us,
                                    .monotonic_ms = world_monotonic_ms,
                                    .sleep_ms = world_sleep,
                                    .random = world_random,
                                    .log = world_log,
                                    .context = &world->now_ms };
    op->env = &world->env;
    CHECK_OK(op, firn_store_open_memory(op, &world->store));
}

/* ... and the table "db.t" in `warehouse`, made 30 days ago with one file "data/live". */
static inline void world_open(struct firn_op *op, struct world *world, const char *warehouse,
                              struct fixture_options options)
{
    world_begin(op, world);
    world->now_ms = NOW_MS - 30 * DAY_MS;
    CHECK_OK(op, fixture_open(op, world->store, firn_text_of(warehouse), &world->fixture));
    CHECK_OK(op, fixture_create(op, &world->fixture, options));
    struct firn_data_file file = fixture_file(op, &world->fixture, "live", 1);
    CHECK_OK(op, fixture_append(op, &world->fixture, &file, 1));
    world->now_ms = NOW_MS;
}

static inline void world_close(struct firn_op *op, struct world *world)
{
    fixture_close(&world->fixture);
    firn_store_close(world->store);
    op->env = firn_env_real();
}

/* A file anywhere, as old as said. */
static inline void world_put_at(struct firn_op *op, struct world *world, struct firn_text location, int64_t age_ms)
{
    world->now_ms = NOW_MS - age_ms;
    CHECK_OK(op, firn_store_put(op, world->store, location, false, firn_bytes_of_text(FIRN_TEXT("file"))));
    world->now_ms = NOW_MS;
}

/* A file below the table's location. */
static inline void world_put(struct firn_op *op, struct world *world, const char *name, int64_t age_ms)
{
    world_put_at(op, world, firn_location_join(op->arena, world->fixture.table.metadata->location, firn_text_of(name)),
                 age_ms);
}

static inline bool world_has(struct firn_op *op, const struct world *world, const char *name)
{
    return store_has(op, world->store,
                     firn_location_join(op->arena, world->fixture.table.metadata->location, firn_text_of(name)));
}

struct world_names {
    struct firn_text text;
    size_t base_len;
};

static inline firn_status world_take_name(struct firn_op *op, void *context, const struct firn_orphan_file *file)
{
    struct world_names *names = context;
    struct firn_text name = firn_text_from(file->location, names->base_len);
    names->text =
        firn_text_format(op->arena, "%.*s%s%.*s", FIRN_FMT(names->text), names->text.len ? " " : "", FIRN_FMT(name));
    return FIRN_OK;
}

/* The files of a plan, below the table's location, joined with blanks. */
static inline struct firn_text world_names_of(struct firn_op *op, const struct world *world,
                                              struct firn_orphan_plan *plan)
{
    struct world_names names = { .base_len = world->fixture.table.metadata->location.len + 1 };
    CHECK_OK(op, firn_orphan_plan_visit(op, plan, world_take_name, &names));
    return names.text;
}

static inline firn_status world_plan(struct firn_op *op, struct world *world, struct firn_remove_orphan_files_args args,
                                     struct firn_orphan_plan **plan)
{
    return firn_remove_orphan_files_plan(op, NULL, &world->fixture.table, &args, plan);
}

/* Checks what a dry run lists. */
#define CHECK_ORPHANS(op, world, args, expected)                                                                       \
    do {                                                                                                               \
        struct firn_orphan_plan *check_plan_;                                                                          \
        CHECK_OK(op, world_plan(op, world, args, &check_plan_));                                                       \
        struct firn_text check_names_ = world_names_of(op, world, check_plan_);                                        \
        CHECK(firn_text_is(check_names_, expected), "'%.*s' instead of '%s'", FIRN_FMT(check_names_), expected);       \
    } while (0)

/* Plans and deletes; the report is that of the whole run. */
static inline firn_status world_remove(struct firn_op *op, struct world *world,
                                       struct firn_remove_orphan_files_args args, struct firn_orphan_report *report)
{
    struct firn_orphan_plan *plan;
    FIRN_TRY(world_plan(op, world, args, &plan));
    firn_status status = firn_remove_orphan_files_apply(op, NULL, &world->fixture.table, plan, NULL);
    *report = *firn_orphan_plan_report(plan);
    return status;
}

#endif
