/* Walking from metadata to the files it names. */
#include "maintain/reach.h"

#include "table/manifest_paths.h"

#include <pthread.h>

/* A manifest that some list named. */
struct known_manifest {
    struct firn_text path, list; /* no list: named by the metadata itself */
    bool has_live;
    bool is_read;
};

struct firn_reach {
    struct firn_reach_config config;
    pthread_mutex_t lock;      /* of what follows, and held by visits */
    struct firn_map lists;     /* keys */
    struct firn_map manifests; /* key to struct known_manifest */
    atomic_bool enough;
    struct firn_arena arena; /* holds the reach itself */
};

const char *firn_table_file_type_name(enum firn_table_file_type type)
{
    static const char *const names[] = {
        [FIRN_TABLE_FILE_DATA] = "data",
        [FIRN_TABLE_FILE_POSITION_DELETES] = "position_deletes",
        [FIRN_TABLE_FILE_EQUALITY_DELETES] = "equality_deletes",
        [FIRN_TABLE_FILE_MANIFEST] = "manifest",
        [FIRN_TABLE_FILE_MANIFEST_LIST] = "manifest_list",
        [FIRN_TABLE_FILE_STATISTICS] = "statistics",
        [FIRN_TABLE_FILE_METADATA] = "metadata",
        [FIRN_TABLE_FILE_OTHER] = "other",
    };
    _Static_assert(sizeof names / sizeof *names == FIRN_TABLE_FILE_TYPE_COUNT, "one name per type");
    return names[type];
}

struct firn_reach *firn_reach_open(const struct firn_reach_config *config)
{
    struct firn_arena arena;
    firn_arena_init(&arena);
    struct firn_reach *reach = FIRN_NEW(&arena, struct firn_reach);
    reach->config = *config;
    reach->arena = arena;
    pthread_mutex_init(&reach->lock, NULL);
    firn_map_init(&reach->lists, &reach->arena);
    firn_map_init(&reach->manifests, &reach->arena);
    return reach;
}

void firn_reach_close(struct firn_reach *reach)
{
    if (!reach)
        return;
    pthread_mutex_destroy(&reach->lock);
    struct firn_arena arena = reach->arena;
    firn_arena_done(&arena);
}

/* One walk: what its jobs share. */
struct walk {
    struct firn_reach *reach;
    const void *const *items; /* of the jobs: snapshots, or known manifests */
    firn_status (*job)(struct firn_op *op, struct walk *walk, const void *item);
    firn_reach_visit *visit;
    void *context;
};

static firn_status visit_file(struct firn_op *op, const struct walk *walk, enum firn_table_file_type type,
                              struct firn_text path, int64_t bytes)
{
    struct firn_table_file file = { .type = type, .path = path, .bytes = bytes, .spec_id = -1 };
    file.key = firn_store_key(op, walk->reach->config.store, path);
    return walk->visit(op, walk->context, &file);
}

/* What a job reads goes with it: a walk over all of a table's history leaves only what it remembers. */
static firn_status run_job(struct firn_op *op, void *context, size_t index)
{
    struct walk *walk = context;
    struct firn_scratch scratch;
    firn_scratch_begin(op, &scratch);
    firn_status status = firn_op_check(op);
    if (status == FIRN_OK)
        status = walk->job(op, walk, walk->items[index]);
    if (status == FIRN_NOT_FOUND && walk->reach->config.tolerates_missing) {
        firn_log(op, FIRN_LOG_WARN, "passing over a file that is gone, with what only it named: %s", op->error.text);
        status = FIRN_OK;
    }
    firn_scratch_end(op, &scratch);
    return status;
}

static firn_status run_jobs(struct firn_op *op, struct walk *walk, size_t count)
{
    return firn_pool_run(op, walk->reach->config.pool, count, 0, run_job, walk);
}

/* Lists ---------------------------------------------------------------------------------------------------------- */

/* Remembers a manifest and visits it, unless it is known or passed over. With the lock held. */
static firn_status meet_manifest(struct firn_op *op, const struct walk *walk, const struct firn_named_manifest *named,
                                 struct firn_text list)
{
    struct firn_reach *reach = walk->reach;
    struct firn_text key = firn_store_key(op, reach->config.store, named->path);
    if (firn_map_find_text(&reach->manifests, key) ||
        (reach->config.except && firn_map_find_text(reach->config.except, key)))
        return FIRN_OK;
    struct known_manifest *known = FIRN_NEW(&reach->arena, struct known_manifest);
    known->path = firn_text_copy(&reach->arena, named->path);
    known->list = list;
    known->has_live = named->added_files_count != 0 || named->existing_files_count != 0; /* FIRN_ABSENT: unknown */
    struct firn_table_file file = {
        .type = FIRN_TABLE_FILE_MANIFEST, .path = known->path, .bytes = named->bytes, .spec_id = named->spec_id
    };
    file.key = firn_text_same(key, known->path) ? known->path : firn_text_copy(&reach->arena, key);
    firn_map_put_text(&reach->manifests, file.key)->value.pointer = known;
    return walk->visit(op, walk->context, &file);
}

static firn_status meet_manifests(struct firn_op *op, const struct walk *walk, const struct firn_snapshot *snapshot,
                                  const struct firn_named_manifests *named)
{
    if (snapshot->manifest_list.len > 0)
        FIRN_TRY(visit_file(op, walk, FIRN_TABLE_FILE_MANIFEST_LIST, snapshot->manifest_list, named->list_bytes));
    struct firn_text list = firn_text_copy(&walk->reach->arena, snapshot->manifest_list);
    for (size_t i = 0; i < named->count; i++)
        FIRN_TRY(meet_manifest(op, walk, &named->items[i], list));
    return FIRN_OK;
}

/* A v1 snapshot may name its manifests without a list. */
static void embedded_manifests(struct firn_op *op, const struct firn_snapshot *snapshot,
                               struct firn_named_manifests *out)
{
    *out = (struct firn_named_manifests){
        .items = FIRN_NEW_ARRAY(op->arena, struct firn_named_manifest, snapshot->manifest_count),
        .count = snapshot->manifest_count,
    };
    for (uint32_t i = 0; i < snapshot->manifest_count; i++)
        out->items[i] = (struct firn_named_manifest){ .path = snapshot->manifests[i],
                                                      .bytes = -1,
                                                      .spec_id = -1,
                                                      .added_files_count = FIRN_ABSENT,
                                                      .existing_files_count = FIRN_ABSENT };
}

static firn_status read_list(struct firn_op *op, struct walk *walk, const void *item)
{
    const struct firn_snapshot *snapshot = item;
    struct firn_named_manifests named;
    if (snapshot->manifest_list.len > 0)
        FIRN_TRY(firn_manifest_list_paths(op, walk->reach->config.store, snapshot->manifest_list, &named));
    else
        embedded_manifests(op, snapshot, &named);
    pthread_mutex_lock(&walk->reach->lock);
    firn_status status = meet_manifests(op, walk, snapshot, &named);
    pthread_mutex_unlock(&walk->reach->lock);
    return status;
}

/* Whether the snapshot's list is met for the first time. */
static bool is_new_list(struct firn_op *op, struct firn_reach *reach, const struct firn_snapshot *snapshot)
{
    struct firn_text key = firn_store_key(op, reach->config.store, snapshot->manifest_list);
    if (snapshot->manifest_list.len == 0)
        return true;
    if (firn_map_find_text(&reach->lists, key))
        return false;
    firn_map_put_text(&reach->lists, firn_text_copy(&reach->arena, key));
    return true;
}

firn_status firn_reach_lists(struct firn_op *op, struct firn_reach *reach, const struct firn_snapshot *const *snapshots,
                             size_t count, firn_reach_visit *visit, void *context)
{
    const void **items = FIRN_NEW_ARRAY(op->arena, const void *, count);
    struct walk walk = { .reach = reach, .items = items, .job = read_list, .visit = visit, .context = context };
    size_t item_count = 0;
    for (size_t i = 0; i < count; i++)
        if (is_new_list(op, reach, snapshots[i]))
            items[item_count++] = snapshots[i];
    return run_jobs(op, &walk, item_count);
}

/* Contents ------------------------------------------------------------------------------------------------------- */

static enum firn_table_file_type type_of_content(enum firn_content content)
{
    static const enum firn_table_file_type types[] = {
        [FIRN_CONTENT_DATA] = FIRN_TABLE_FILE_DATA,
        [FIRN_CONTENT_POSITION_DELETES] = FIRN_TABLE_FILE_POSITION_DELETES,
        [FIRN_CONTENT_EQUALITY_DELETES] = FIRN_TABLE_FILE_EQUALITY_DELETES,
    };
    return types[content];
}

static firn_status visit_files(struct firn_op *op, const struct walk *walk, const struct firn_named_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        FIRN_TRY(visit_file(op, walk, type_of_content(files->items[i].content), files->items[i].path,
                            files->items[i].bytes));
    return FIRN_OK;
}

static firn_status read_manifest(struct firn_op *op, struct walk *walk, const void *item)
{
    struct known_manifest *manifest = (struct known_manifest *)(uintptr_t)item;
    struct firn_named_files files;
    if (atomic_load(&walk->reach->enough))
        return FIRN_OK;
    firn_status status = firn_manifest_paths(op, walk->reach->config.store, manifest->path, &files);
    if (status != FIRN_OK)
        return manifest->list.len == 0 ? status
                                       : firn_context(op, status, "manifest list \"%.*s\"", FIRN_FMT(manifest->list));
    pthread_mutex_lock(&walk->reach->lock);
    status = visit_files(op, walk, &files);
    manifest->is_read = true;
    pthread_mutex_unlock(&walk->reach->lock);
    return status;
}

firn_status firn_reach_contents(struct firn_op *op, struct firn_reach *reach, firn_reach_visit *visit, void *context)
{
    const void **items = FIRN_NEW_ARRAY(op->arena, const void *, reach->manifests.count);
    struct walk walk = { .reach = reach, .items = items, .job = read_manifest, .visit = visit, .context = context };
    size_t count = 0;
    for (size_t i = 0; i < reach->manifests.count; i++) {
        const struct known_manifest *manifest = reach->manifests.entries[i].value.pointer;
        if (manifest->has_live && !manifest->is_read)
            items[count++] = manifest;
    }
    atomic_store(&reach->enough, false);
    return run_jobs(op, &walk, count);
}

void firn_reach_enough(struct firn_reach *reach)
{
    atomic_store(&reach->enough, true);
}

void firn_reach_forget_contents(struct firn_reach *reach)
{
    for (size_t i = 0; i < reach->manifests.count; i++)
        ((struct known_manifest *)reach->manifests.entries[i].value.pointer)->is_read = false;
}

/* The metadata itself -------------------------------------------------------------------------------------------- */

static firn_status visit_metadata_file(struct firn_op *op, const struct walk *walk, struct firn_text path)
{
    return path.len == 0 ? FIRN_OK : visit_file(op, walk, FIRN_TABLE_FILE_METADATA, path, -1);
}

firn_status firn_reach_metadata(struct firn_op *op, const struct firn_store *store,
                                const struct firn_metadata *metadata, struct firn_text metadata_location,
                                firn_reach_visit *visit, void *context)
{
    struct firn_reach named_by = { .config.store = (struct firn_store *)(uintptr_t)store };
    struct walk walk = { .reach = &named_by, .visit = visit, .context = context };
    FIRN_TRY(visit_metadata_file(op, &walk, metadata_location));
    struct firn_text hint = firn_location_join(op->arena, metadata->location, FIRN_TEXT("metadata/version-hint.text"));
    FIRN_TRY(visit_metadata_file(op, &walk, hint));
    for (uint32_t i = 0; i < metadata->metadata_log_count; i++)
        FIRN_TRY(visit_metadata_file(op, &walk, metadata->metadata_log[i].metadata_file));
    for (uint32_t i = 0; i < metadata->statistics_count; i++)
        FIRN_TRY(visit_file(op, &walk, FIRN_TABLE_FILE_STATISTICS, metadata->statistics[i].path,
                            metadata->statistics[i].file_bytes));
    return FIRN_OK;
}

firn_status firn_reach_all(struct firn_op *op, const struct firn_reach_config *config,
                           const struct firn_metadata *metadata, struct firn_text metadata_location,
                           firn_reach_visit *visit, void *context)
{
    FIRN_TRY(firn_reach_metadata(op, config->store, metadata, metadata_location, visit, context));
    const struct firn_snapshot **snapshots =
        FIRN_NEW_ARRAY(op->arena, const struct firn_snapshot *, metadata->snapshot_count);
    for (uint32_t i = 0; i < metadata->snapshot_count; i++)
        snapshots[i] = &metadata->snapshots[i];
    struct firn_reach *reach = firn_reach_open(config);
    firn_status status = firn_reach_lists(op, reach, snapshots, metadata->snapshot_count, visit, context);
    if (status == FIRN_OK)
        status = firn_reach_contents(op, reach, visit, context);
    firn_reach_close(reach);
    return status;
}
