/* Histories: a table in memory whose snapshots a test makes one by one, at times that it decides. */
#ifndef FIRN_TESTS_HISTORY_H
#define FIRN_TESTS_HISTORY_H

#include "check.h"

#include "base/map.h"
#include "catalog/change.h"
#include "support/fixture.h"
#include "table/scan.h"

#define HISTORY_START_MS INT64_C(1700000000000)

struct history {
    struct firn_op *op;
    struct firn_env env;
    int64_t now_ms;   /* what the clock shows */
    uint64_t process; /* drawn at random */
    struct firn_store *store;
    struct fixture fixture;
};

static inline int64_t history_clock_us(void *context)
{
    return ((struct history *)context)->now_ms * 1000;
}

static inline void history_no_sleep(void *context, int64_t ms)
{
    (void)context;
    (void)ms;
}

/* Every attached history is a process of its own; those before it have ended. */
static inline struct firn_text history_process(void *context, struct firn_arena *arena)
{
    return firn_text_format(arena, "history %" PRIx64, ((struct history *)context)->process);
}

static inline enum firn_process_state history_process_state(void *context, struct firn_text name)
{
    struct firn_arena arena = { 0 };
    bool runs = firn_text_same(name, history_process(context, &arena));
    firn_arena_done(&arena);
    return runs ? FIRN_PROCESS_RUNS : FIRN_PROCESS_ENDED;
}

static inline void history_no_log(void *context, enum firn_log_level level, struct firn_text line)
{
    (void)context;
    (void)level;
    (void)line;
}

/* Opens the table over `store`, which must have it. */
static inline void history_attach(struct history *history, struct firn_op *op, struct firn_store *store, int64_t now_ms)
{
    *history = (struct history){ .op = op, .env = *firn_env_real(), .now_ms = now_ms, .store = store };
    history->env.now_us = history_clock_us;
    history->env.sleep_ms = history_no_sleep;
    history->env.log = history_no_log;
    history->env.process = history_process;
    history->env.process_state = history_process_state;
    firn_env_real()->random(NULL, &history->process, sizeof history->process);
    history->env.context = history;
    op->env = &history->env;
    CHECK_OK(op, fixture_open(op, store, FIRN_TEXT("mem://w"), &history->fixture));
}

/* A new table, partitioned by its first column, in a store of its own. */
static inline void history_open(struct history *history, struct firn_op *op, const char *properties)
{
    struct firn_store *store;
    struct fixture_options options = {
        .spec = "{\"spec-id\": 0, \"fields\": [{\"name\": \"id\", \"transform\": \"identity\", \"source-id\": 1, "
                "\"field-id\": 1000}]}",
        .properties = properties,
    };
    CHECK_OK(op, firn_store_open_memory(op, &store));
    history_attach(history, op, store, HISTORY_START_MS);
    CHECK_OK(op, fixture_create(op, &history->fixture, options));
}

/* Leaves the store open. */
static inline void history_detach(struct history *history)
{
    fixture_close(&history->fixture);
    history->op->env = firn_env_real();
}

static inline void history_close(struct history *history)
{
    history_detach(history);
    firn_store_close(history->store);
}

static inline const struct firn_metadata *history_metadata(const struct history *history)
{
    return history->fixture.table.metadata;
}

/* One commit. Names of files are separated by blanks. */
struct history_commit {
    const char *operation; /* "append" */
    const char *branch;    /* "main" */
    const char *add, *remove;
    const char *add_deletes; /* position deletes */
    const char *remove_deletes;
    int64_t day; /* partition of all of them */
    const char *wap_id;
    bool replaces_partitions;
    bool staged;
};

struct history_files {
    struct firn_data_file items[8];
    uint32_t count;
};

static inline void history_files_of(struct history *history, const char *names, int64_t day, enum firn_content content,
                                    struct history_files *out)
{
    struct firn_op *op = history->op;
    struct firn_text rest = firn_text_of(names);
    out->count = 0;
    while (rest.len > 0) {
        ptrdiff_t blank = firn_text_find(rest, ' ');
        struct firn_text name = blank < 0 ? rest : firn_text_until(rest, (size_t)blank);
        rest = firn_text_from(rest, blank < 0 ? rest.len : (size_t)blank + 1);
        struct firn_value *value = FIRN_NEW(op->arena, struct firn_value);
        *value = (struct firn_value){ .type = FIRN_TYPE_INT, .integer = day };
        struct firn_data_file *file = &out->items[out->count++];
        *file = fixture_file(op, &history->fixture, firn_text_copy(op->arena, name).data, 1);
        file->content = content;
        file->partition = (struct firn_partition){ value, 1 };
    }
}

/* Commits a second later than the one before, and gives the snapshot's id. */
static inline int64_t history_make(struct history *history, struct history_commit how)
{
    struct history_files added, removed, added_deletes, removed_deletes;
    struct firn_text properties[2][2];
    uint32_t property_count = 0;
    struct firn_snapshot_result result;
    history_files_of(history, how.add, how.day, FIRN_CONTENT_DATA, &added);
    history_files_of(history, how.remove, how.day, FIRN_CONTENT_DATA, &removed);
    history_files_of(history, how.add_deletes, how.day, FIRN_CONTENT_POSITION_DELETES, &added_deletes);
    history_files_of(history, how.remove_deletes, how.day, FIRN_CONTENT_POSITION_DELETES, &removed_deletes);
    if (how.wap_id) {
        properties[property_count][0] = FIRN_TEXT("wap.id");
        properties[property_count++][1] = firn_text_of(how.wap_id);
    }
    if (how.replaces_partitions) {
        properties[property_count][0] = FIRN_TEXT("replace-partitions");
        properties[property_count++][1] = FIRN_TEXT("true");
    }
    struct firn_snapshot_change change = {
        .operation = firn_text_of(how.operation ? how.operation : "append"),
        .branch = firn_text_of(how.branch ? how.branch : "main"),
        .added = added.items,
        .added_count = added.count,
        .added_sequence_number = FIRN_ABSENT,
        .removed = removed.items,
        .removed_count = removed.count,
        .added_deletes = added_deletes.items,
        .added_delete_count = added_deletes.count,
        .removed_deletes = removed_deletes.items,
        .removed_delete_count = removed_deletes.count,
        .base_snapshot_id = FIRN_NO_SNAPSHOT,
        .properties = (const struct firn_text(*)[2])properties,
        .property_count = property_count,
        .stage_only = how.staged,
    };
    history->now_ms += 1000;
    CHECK_OK(history->op, firn_snapshot_commit(history->op, NULL, &history->fixture.table, &change, &result));
    return result.snapshot_id;
}

/* An append of these files to main. */
static inline int64_t history_append(struct history *history, const char *names)
{
    return history_make(history, (struct history_commit){ .add = names });
}

/* What is live in the current snapshot, after all snapshots were read. */
static inline void history_check_live(struct history *history, const char *expected)
{
    struct firn_text live;
    CHECK_OK(history->op, fixture_live(history->op, &history->fixture, &live));
    CHECK(firn_text_is(live, expected), "'%.*s', not '%s'", FIRN_FMT(live), expected);
}

/* Commits one update given as JSON. */
static inline void history_update(struct history *history, const char *format, ...)
{
    struct firn_op *op = history->op;
    json_t *updates;
    va_list args;
    va_start(args, format);
    struct firn_text text = firn_text_vformat(op->arena, format, args);
    va_end(args);
    CHECK_OK(op, firn_json_parse(op, firn_text_format(op->arena, "[%.*s]", FIRN_FMT(text)), "updates", &updates));
    CHECK_OK(op, firn_catalog_commit(op, &history->fixture.table, firn_json_own(op->arena, json_array()), updates));
}

static inline void history_set_ref(struct history *history, const char *name, const char *type, int64_t id,
                                   const char *more)
{
    history_update(history,
                   "{\"action\": \"set-snapshot-ref\", \"ref-name\": \"%s\", \"type\": \"%s\", \"snapshot-id\": "
                   "%" PRId64 "%s}",
                   name, type, id, more);
}

/* Everything a snapshot reaches, put into `out` by path; found without the code under test. */
static inline void history_reach(struct history *history, const struct firn_metadata *metadata, int64_t id,
                                 struct firn_map *out)
{
    struct firn_op *op = history->op;
    const struct firn_snapshot *snapshot = firn_metadata_snapshot(metadata, id);
    struct firn_manifest_list list;
    CHECK_OK(op, firn_snapshot_manifests(op, history->store, metadata, snapshot, &list));
    firn_map_put_text(out, snapshot->manifest_list);
    for (uint32_t i = 0; i < list.count; i++) {
        struct firn_manifest manifest;
        struct firn_manifest_read_options options = { .skip_deleted = true };
        CHECK_OK(op, firn_manifest_read(op, history->store, metadata, &list.manifests[i], options, &manifest));
        firn_map_put_text(out, list.manifests[i].path);
        for (uint32_t k = 0; k < manifest.count; k++)
            firn_map_put_text(out, manifest.entries[k].file.path);
    }
    for (uint32_t i = 0; i < metadata->statistics_count; i++)
        if (metadata->statistics[i].snapshot_id == id)
            firn_map_put_text(out, metadata->statistics[i].path);
}

static inline firn_status history_take_path(struct firn_op *op, void *context, const struct firn_store_entry *entry)
{
    firn_map_put_text(context, firn_text_copy(op->arena, entry->location));
    return FIRN_OK;
}

/* All objects there are, by path. */
static inline void history_list(struct history *history, struct firn_map *out)
{
    firn_map_init(out, history->op->arena);
    CHECK_OK(history->op,
             firn_store_list(history->op, history->store, FIRN_TEXT("mem://w"), true, history_take_path, out));
}

/* Numbers for random histories: the seed alone reproduces them. */
struct random {
    uint64_t seed;
};

static inline uint32_t draw(struct random *random, uint32_t below)
{
    random->seed = random->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random->seed >> 33) % below;
}

#endif
