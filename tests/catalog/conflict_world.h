/* A table that conflict tests commit to, and the files they commit. */
#ifndef FIRN_TESTS_CONFLICT_WORLD_H
#define FIRN_TESTS_CONFLICT_WORLD_H

#include "check.h"

#include "support/fixture.h"

struct world {
    struct firn_store *store;
    struct fixture fixture;
};

static inline void begin(struct firn_op *op, struct world *world, const char *properties)
{
    CHECK_OK(op, firn_store_open_memory(op, &world->store));
    CHECK_OK(op, fixture_open(op, world->store, FIRN_TEXT("mem://w"), &world->fixture));
    CHECK_OK(op, fixture_create(op, &world->fixture, (struct fixture_options){ .properties = properties }));
}

static inline void end(struct firn_op *op, struct world *world)
{
    size_t orphans;
    CHECK_OK(op, fixture_load(op, &world->fixture));
    CHECK_OK(op, fixture_orphans(op, &world->fixture, &orphans));
    CHECK(orphans == 0, "%zu files are left over", orphans);
    fixture_close(&world->fixture);
    firn_store_close(world->store);
}

static inline void check_live(struct firn_op *op, struct world *world, const char *wanted)
{
    struct firn_text live;
    CHECK_OK(op, fixture_load(op, &world->fixture));
    CHECK_OK(op, fixture_live(op, &world->fixture, &live));
    CHECK(firn_text_is(live, wanted), "'%.*s', wanted '%s'", FIRN_FMT(live), wanted);
}

static inline void check_summary(const struct world *world, const char *key, const char *wanted)
{
    struct firn_text got = fixture_summary(&world->fixture, key);
    CHECK(firn_text_is(got, wanted), "%s is '%.*s', wanted '%s'", key, FIRN_FMT(got), wanted);
}

static inline struct firn_data_file append_one(struct firn_op *op, struct world *world, const char *name)
{
    struct firn_data_file file = fixture_file(op, &world->fixture, name, 3);
    CHECK_OK(op, fixture_append(op, &world->fixture, &file, 1));
    return file;
}

static inline struct firn_data_file equality_delete(struct firn_op *op, struct world *world, const char *name)
{
    struct firn_data_file file = fixture_file(op, &world->fixture, name, 1);
    file.content = FIRN_CONTENT_EQUALITY_DELETES;
    file.equality_ids = FIRN_NEW(op->arena, int32_t);
    file.equality_ids[0] = 1;
    file.equality_id_count = 1;
    return file;
}

static inline struct firn_data_file position_delete(struct firn_op *op, struct world *world, const char *name,
                                                    const struct firn_data_file *target)
{
    struct firn_data_file file = fixture_file(op, &world->fixture, name, 1);
    file.content = FIRN_CONTENT_POSITION_DELETES;
    if (target)
        file.referenced_data_file = target->path;
    return file;
}

static inline struct firn_data_file vector_of(struct firn_op *op, struct world *world, const char *puffin,
                                              int64_t offset, const struct firn_data_file *target)
{
    struct firn_data_file file = position_delete(op, world, puffin, target);
    file.format = FIRN_FILE_PUFFIN;
    file.format_text = FIRN_TEXT("PUFFIN");
    file.content_offset = offset;
    file.content_bytes = 40;
    return file;
}

static inline void add_deletes(struct firn_op *op, struct world *world, const struct firn_data_file *files,
                               uint32_t count)
{
    CHECK_OK(op, fixture_delete(op, &world->fixture, files, count));
}

/* A compaction planned on the table as it is now. */
static inline struct firn_snapshot_change plan(const struct world *world, const struct firn_data_file *removed,
                                               uint32_t removed_count, const struct firn_data_file *added)
{
    const struct firn_snapshot *current = firn_metadata_current(world->fixture.table.metadata);
    return (struct firn_snapshot_change){
        .operation = FIRN_TEXT("replace"),
        .branch = FIRN_TEXT("main"),
        .added = added,
        .added_count = added ? 1 : 0,
        .added_sequence_number = current->sequence_number,
        .removed = removed,
        .removed_count = removed_count,
        .base_snapshot_id = current->id,
    };
}

static inline firn_status commit(struct firn_op *op, struct world *world, const struct firn_snapshot_change *change)
{
    struct firn_snapshot_result result;
    firn_status status = firn_snapshot_commit(op, NULL, &world->fixture.table, change, &result);
    CHECK(status != FIRN_CONFLICT || result.attempts == 1, "tried %d times in vain", result.attempts);
    return status;
}

#endif
