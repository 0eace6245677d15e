/* A table in memory with a fault store between it and whoever reads it, and SELECT over it as text. */
#ifndef FIRN_TESTS_SELECT_WORLD_H
#define FIRN_TESTS_SELECT_WORLD_H

#include "check.h"
#include "support/fault_store.h"
#include "support/fixture.h"

#include "sql/select.h"

#include <inttypes.h>

struct select_world {
    struct firn_store *inner, *store;
    struct fault_report report;
    struct fixture fixture;
};

static inline void world_begin(struct firn_op *op, struct select_world *world, struct fixture_options options)
{
    struct fault fault = { .at_call = UINT32_MAX, .watched = "-m" };
    memset(world, 0, sizeof *world);
    CHECK_OK(op, firn_store_open_memory(op, &world->inner));
    CHECK_OK(op, fault_store_open(op, world->inner, fault, &world->report, &world->store));
    CHECK_OK(op, fixture_open(op, world->store, FIRN_TEXT("/w"), &world->fixture));
    CHECK_OK(op, fixture_create(op, &world->fixture, options));
}

static inline void world_end(struct select_world *world)
{
    fixture_close(&world->fixture);
    firn_store_close(world->store);
    firn_store_close(world->inner);
}

static inline firn_status world_find(struct firn_op *op, void *context, struct firn_text name, struct firn_table *out)
{
    struct select_world *world = context;
    if (firn_text_starts(name, FIRN_TEXT("c.")))
        name = firn_text_from(name, 2);
    return firn_catalog_load(op, world->fixture.catalog, name, out);
}

static inline firn_status world_open(struct firn_op *op, struct select_world *world, const char *sql,
                                     struct firn_select **out)
{
    struct firn_select_tables tables = { world_find, world, NULL };
    return firn_select_open_tables(op, &tables, firn_text_of(sql), (struct firn_sql_place){ 1, 1 }, out);
}

static inline struct firn_text value_text(struct firn_op *op, struct firn_select_value value)
{
    switch (value.kind) {
    case FIRN_SELECT_NULL:
        return FIRN_TEXT("null");
    case FIRN_SELECT_BOOLEAN:
        return value.integer ? FIRN_TEXT("true") : FIRN_TEXT("false");
    case FIRN_SELECT_INTEGER:
        return firn_text_format(op->arena, "%" PRId64, value.integer);
    case FIRN_SELECT_REAL:
        return firn_text_format(op->arena, "%.15g", value.real);
    default:
        return firn_text_copy(op->arena, value.text);
    }
}

static inline struct firn_text append_row(struct firn_op *op, const struct firn_select *select, struct firn_text rows)
{
    if (rows.len)
        rows = firn_text_join(op->arena, rows, FIRN_TEXT("; "));
    for (size_t i = 0; i < firn_select_column_count(select); i++) {
        struct firn_text value = value_text(op, firn_select_value(select, i));
        rows = firn_text_format(op->arena, "%.*s%s%.*s", FIRN_FMT(rows), i ? "|" : "", FIRN_FMT(value));
    }
    return rows;
}

static inline firn_status all_rows(struct firn_op *op, struct firn_select *select, struct firn_text *out)
{
    bool got = true;
    *out = FIRN_TEXT("");
    while (got) {
        FIRN_TRY(firn_select_step(op, select, &got));
        if (got)
            *out = append_row(op, select, *out);
    }
    return FIRN_OK;
}

/* Rows joined by "; ", values by "|". */
static inline firn_status try_rows(struct firn_op *op, struct select_world *world, const char *sql,
                                   struct firn_text *out)
{
    struct firn_select *select;
    FIRN_TRY(world_open(op, world, sql, &select));
    firn_status status = all_rows(op, select, out);
    firn_select_close(select);
    return status;
}

static inline void check_rows(struct firn_op *op, struct select_world *world, const char *sql, const char *wanted)
{
    struct firn_text got = { 0 };
    firn_status status = try_rows(op, world, sql, &got);
    CHECK(status == FIRN_OK, "%s: %s", sql, op->error.text);
    CHECK(firn_text_is(got, wanted), "%s:\n  got    %.*s\n  wanted %s", sql, FIRN_FMT(got), wanted);
}

static inline void check_error(struct firn_op *op, struct select_world *world, const char *sql, const char *part)
{
    struct firn_text got = { 0 };
    firn_status status = try_rows(op, world, sql, &got);
    CHECK(status != FIRN_OK, "%s: gave %.*s", sql, FIRN_FMT(got));
    CHECK(strstr(op->error.text, part), "%s: %s; wanted \"%s\"", sql, op->error.text, part);
}

/* How many manifests and lists were opened for the statement. */
static inline unsigned count_opens(struct firn_op *op, struct select_world *world, const char *sql)
{
    struct firn_text got;
    unsigned before = atomic_load(&world->report.watched_opens);
    CHECK_OK(op, try_rows(op, world, sql, &got));
    return atomic_load(&world->report.watched_opens) - before;
}

#endif
