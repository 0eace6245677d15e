/* Deciding what may be deleted, and deleting it. The invariants stand in removal.h; numbers in comments refer to them.
 */
#include "maintain/removal.h"

#include "base/math.h"
#include "catalog/catalog.h"
#include "maintain/mark.h"

#include <stdlib.h>

/* What one nomination takes beside its texts: the file, its places in the map and in the sorted list. */
#define NOMINATION_BYTES (sizeof(struct firn_removal_file) + 2 * sizeof(struct firn_map_entry) + 16)

struct firn_removal {
    struct firn_table *table;
    struct firn_removal_config config;
    struct firn_text folder_key;
    struct firn_reach *kept;
    struct firn_reach *leaving;
    struct firn_map kept_files;  /* keys of what is kept, contents apart: their number has no bound */
    struct firn_map nominations; /* key to struct firn_removal_file */
    size_t open_contents;        /* nominations that a kept manifest could name */
    struct firn_removal_file **sorted;
    size_t sorted_count;
    struct firn_budget *budget;
    size_t budget_bytes;
    struct firn_arena arena; /* holds the removal itself */
};

firn_status firn_removal_check_gc(struct firn_op *op, const struct firn_table *table)
{
    if (firn_property_bool(table->metadata, "gc.enabled", true))
        return FIRN_OK;
    firn_fail(op, FIRN_DENIED, "table '%.*s' says gc.enabled=false: its files may be those of other tables too",
              FIRN_FMT(table->name));
    return firn_hint(op, FIRN_DENIED, "where that is not so, set the table property gc.enabled to true");
}

firn_status firn_removal_open(struct firn_op *op, struct firn_table *table, const struct firn_removal_config *config,
                              struct firn_removal **out)
{
    struct firn_arena arena;
    FIRN_TRY(firn_removal_check_gc(op, table)); /* (2) */
    firn_arena_init(&arena);
    struct firn_removal *removal = FIRN_NEW(&arena, struct firn_removal);
    *removal = (struct firn_removal){ .table = table, .config = *config, .budget = op->budget, .arena = arena };
    struct firn_text folder = config->folder;
    removal->folder_key =
        firn_text_copy(&removal->arena, folder.len ? firn_store_key(op, table->store, folder) : FIRN_TEXT(""));
    firn_map_init(&removal->kept_files, &removal->arena);
    firn_map_init(&removal->nominations, &removal->arena);
    removal->kept = firn_reach_open(&(struct firn_reach_config){ .pool = config->pool, .store = table->store });
    removal->leaving = firn_reach_open(&(struct firn_reach_config){
        .pool = config->pool, .store = table->store, .except = &removal->kept_files, .tolerates_missing = true });
    *out = removal;
    return FIRN_OK;
}

void firn_removal_close(struct firn_removal *removal)
{
    if (!removal)
        return;
    firn_reach_close(removal->kept);
    firn_reach_close(removal->leaving);
    firn_budget_give(removal->budget, removal->budget_bytes);
    struct firn_arena arena = removal->arena;
    firn_arena_done(&arena);
}

/* Keeping -------------------------------------------------------------------------------------------------------- */

static bool is_content(enum firn_table_file_type type)
{
    return type == FIRN_TABLE_FILE_DATA || type == FIRN_TABLE_FILE_POSITION_DELETES ||
           type == FIRN_TABLE_FILE_EQUALITY_DELETES;
}

/* Whether a manifest could name the nominated file. */
static bool could_be_content(const struct firn_removal_file *file)
{
    return is_content(file->type) || file->type == FIRN_TABLE_FILE_OTHER;
}

static void keep_nomination(struct firn_removal *removal, struct firn_removal_file *file)
{
    if (file->state == FIRN_REMOVAL_REACHABLE)
        return;
    file->state = FIRN_REMOVAL_REACHABLE;
    removal->open_contents -= could_be_content(file);
}

/* Of a content file only the nomination is marked. */
static firn_status keep_file(struct firn_op *op, void *context, const struct firn_table_file *file)
{
    (void)op;
    struct firn_removal *removal = context;
    struct firn_map_entry *nominated = firn_map_find_text(&removal->nominations, file->key);
    if (nominated)
        keep_nomination(removal, nominated->value.pointer);
    if (!is_content(file->type) && !firn_map_find_text(&removal->kept_files, file->key))
        firn_map_put_text(&removal->kept_files, firn_text_copy(&removal->arena, file->key));
    if (is_content(file->type) && removal->open_contents == 0)
        firn_reach_enough(removal->kept);
    return FIRN_OK;
}

firn_status firn_removal_keep(struct firn_op *op, struct firn_removal *removal, const struct firn_metadata *metadata,
                              struct firn_text metadata_location)
{
    const struct firn_snapshot **snapshots =
        FIRN_NEW_ARRAY(op->arena, const struct firn_snapshot *, metadata->snapshot_count);
    for (uint32_t i = 0; i < metadata->snapshot_count; i++)
        snapshots[i] = &metadata->snapshots[i];
    FIRN_TRY(firn_reach_metadata(op, removal->table->store, metadata, metadata_location, keep_file, removal));
    return firn_reach_lists(op, removal->kept, snapshots, metadata->snapshot_count, keep_file, removal);
}

firn_status firn_removal_settle(struct firn_op *op, struct firn_removal *removal)
{
    if (removal->open_contents == 0)
        return FIRN_OK;
    return firn_reach_contents(op, removal->kept, keep_file, removal);
}

/* Nominating ----------------------------------------------------------------------------------------------------- */

static bool is_in_folder(const struct firn_removal *removal, struct firn_text key)
{
    struct firn_text folder = removal->folder_key;
    return folder.len == 0 || (firn_text_starts(key, folder) && key.len > folder.len && key.data[folder.len] == '/');
}

static firn_status charge(struct firn_op *op, struct firn_removal *removal, size_t bytes)
{
    firn_status status = firn_budget_take(op, removal->budget, bytes);
    if (status != FIRN_OK) {
        firn_context(op, status, "more than %zu files to delete", removal->nominations.count);
        return firn_hint(op, status, "give it more memory (--memory), or let fewer go at a time");
    }
    removal->budget_bytes += bytes;
    return FIRN_OK;
}

static firn_status nominate(struct firn_op *op, struct firn_removal *removal, const struct firn_removal_file *file,
                            struct firn_text key)
{
    if (!is_in_folder(removal, key)) /* (3) */
        return firn_fail(op, FIRN_DENIED, "'%.*s' lies outside '%.*s' and is not deleted", FIRN_FMT(file->path),
                         FIRN_FMT(removal->config.folder));
    if (firn_map_find_text(&removal->kept_files, key) || firn_map_find_text(&removal->nominations, key))
        return FIRN_OK;
    bool spelled_so = firn_text_same(key, file->path);
    FIRN_TRY(charge(op, removal, NOMINATION_BYTES + file->path.len + (spelled_so ? 0 : key.len)));
    struct firn_removal_file *copy = FIRN_NEW(&removal->arena, struct firn_removal_file);
    *copy = *file;
    copy->state = FIRN_REMOVAL_GOES;
    copy->path = firn_text_copy(&removal->arena, file->path);
    key = spelled_so ? copy->path : firn_text_copy(&removal->arena, key);
    firn_map_put_text(&removal->nominations, key)->value.pointer = copy;
    removal->open_contents += could_be_content(copy);
    return FIRN_OK;
}

firn_status firn_removal_add(struct firn_op *op, struct firn_removal *removal, const struct firn_removal_file *file)
{
    struct firn_removal_file copy = *file;
    copy.reason = firn_text_copy(&removal->arena, file->reason);
    firn_reach_forget_contents(removal->kept); /* what was read before did not know of this file */
    return nominate(op, removal, &copy, firn_store_key(op, removal->table->store, file->path));
}

struct nominating {
    struct firn_removal *removal;
    struct firn_text reason;
};

static firn_status nominate_reached(struct firn_op *op, void *context, const struct firn_table_file *file)
{
    const struct nominating *nominating = context;
    struct firn_removal_file nomination = {
        .type = file->type, .path = file->path, .bytes = file->bytes, .reason = nominating->reason
    };
    return nominate(op, nominating->removal, &nomination, file->key);
}

static bool has_snapshot(const struct firn_snapshot *const *snapshots, size_t count, int64_t id)
{
    for (size_t i = 0; i < count; i++)
        if (snapshots[i]->id == id)
            return true;
    return false;
}

static firn_status nominate_statistics(struct firn_op *op, struct nominating *nominating,
                                       const struct firn_metadata *metadata,
                                       const struct firn_snapshot *const *snapshots, size_t count)
{
    for (uint32_t i = 0; i < metadata->statistics_count; i++) {
        const struct firn_statistics_file *file = &metadata->statistics[i];
        if (!has_snapshot(snapshots, count, file->snapshot_id))
            continue;
        struct firn_removal_file nomination = { .type = FIRN_TABLE_FILE_STATISTICS,
                                                .path = file->path,
                                                .bytes = file->file_bytes,
                                                .reason = nominating->reason };
        FIRN_TRY(nominate(op, nominating->removal, &nomination,
                          firn_store_key(op, nominating->removal->table->store, file->path)));
    }
    return FIRN_OK;
}

firn_status firn_removal_add_snapshots(struct firn_op *op, struct firn_removal *removal,
                                       const struct firn_metadata *metadata,
                                       const struct firn_snapshot *const *snapshots, size_t count,
                                       struct firn_text reason)
{
    struct nominating nominating = { removal, firn_text_copy(&removal->arena, reason) };
    firn_reach_forget_contents(removal->kept);
    FIRN_TRY(nominate_statistics(op, &nominating, metadata, snapshots, count));
    FIRN_TRY(firn_reach_lists(op, removal->leaving, snapshots, count, nominate_reached, &nominating));
    return firn_reach_contents(op, removal->leaving, nominate_reached, &nominating);
}

static int compare_files(const void *a, const void *b)
{
    const struct firn_removal_file *left = *(struct firn_removal_file *const *)a;
    const struct firn_removal_file *right = *(struct firn_removal_file *const *)b;
    if (left->type != right->type)
        return left->type < right->type ? -1 : 1;
    return firn_text_compare(left->path, right->path);
}

static void sort(struct firn_removal *removal)
{
    size_t count = removal->nominations.count;
    if (removal->sorted_count == count)
        return;
    removal->sorted = FIRN_NEW_ARRAY(&removal->arena, struct firn_removal_file *, count);
    removal->sorted_count = count;
    for (size_t i = 0; i < count; i++)
        removal->sorted[i] = removal->nominations.entries[i].value.pointer;
    qsort(removal->sorted, count, sizeof *removal->sorted, compare_files);
}

const struct firn_removal_file *const *firn_removal_files(struct firn_removal *removal, size_t *count)
{
    sort(removal);
    *count = removal->sorted_count;
    return (const struct firn_removal_file *const *)removal->sorted;
}

/* Deleting ------------------------------------------------------------------------------------------------------- */

/* One run over the files that go, cut into batches. */
struct deleting {
    struct firn_store *store;
    struct firn_removal_file **files;
    size_t count;
    size_t batch;
    struct firn_progress *progress;
};

/* Deletes the files of a batch that have not gone yet. True in `*again` when trying once more could help. */
static firn_status delete_round(struct firn_op *op, const struct deleting *run, struct firn_removal_file **files,
                                size_t count, struct firn_store_deletion *items, bool *again)
{
    size_t item_count = 0, at = 0;
    for (size_t i = 0; i < count; i++)
        if (files[i]->state != FIRN_REMOVAL_DELETED)
            items[item_count++] = (struct firn_store_deletion){ .location = files[i]->path };
    firn_status status = firn_store_delete_batch(op, run->store, items, item_count);
    *again = false;
    for (size_t i = 0; i < count; i++) {
        if (files[i]->state == FIRN_REMOVAL_DELETED)
            continue;
        const struct firn_store_deletion *item = &items[at++];
        files[i]->state = item->status == FIRN_OK ? FIRN_REMOVAL_DELETED : FIRN_REMOVAL_FAILED;
        files[i]->failure = item->why;
        *again = *again || item->status == FIRN_UNAVAILABLE || item->status == FIRN_SYSTEM;
    }
    return status;
}

static firn_status delete_batch(struct firn_op *op, void *context, size_t index)
{
    static const struct firn_retry_policy policy = {
        .retries = 3, .wait_ms_min = 100, .wait_ms_max = 2000, .total_ms_max = 60000
    };
    struct deleting *run = context;
    struct firn_removal_file **files = run->files + index * run->batch;
    size_t count = FIRN_MIN(run->batch, run->count - index * run->batch);
    struct firn_store_deletion *items = FIRN_NEW_ARRAY(op->arena, struct firn_store_deletion, count);
    int64_t started_ms = op->env->monotonic_ms(op->env->context);
    bool again;
    int32_t attempt = 0;
    do {
        FIRN_TRY(delete_round(op, run, files, count, items, &again));
        attempt++;
    } while (again && firn_retry_wait(op, &policy, attempt, started_ms));
    firn_progress_tick(op, run->progress, count, 0);
    return FIRN_OK;
}

/* A deletion waits for the store more than it works: where more are asked for at a time than there are threads, they
 * get threads of their own. */
static firn_status run_batches(struct firn_op *op, struct firn_pool *pool, size_t count, uint32_t width,
                               struct deleting *run)
{
    struct firn_pool *wide;
    if (FIRN_MIN(width, count) <= firn_pool_thread_count(pool))
        return firn_pool_run(op, pool, count, width, delete_batch, run);
    FIRN_TRY(firn_pool_open(op, (uint32_t)FIRN_MIN(width, count), &wide));
    firn_status status = firn_pool_run(op, wide, count, width, delete_batch, run);
    firn_pool_close(wide);
    return status;
}

firn_status firn_removal_delete(struct firn_op *op, struct firn_pool *pool, struct firn_store *store,
                                struct firn_removal_file **files, size_t count,
                                const struct firn_removal_options *options)
{
    uint32_t width = options->concurrent_max ? FIRN_MIN(options->concurrent_max, FIRN_POOL_THREADS_MAX)
                                             : firn_pool_thread_count(pool);
    size_t share = (count + width - 1) / width;
    struct deleting run = {
        .store = store,
        .files = files,
        .count = count,
        .batch = FIRN_MAX(1, FIRN_MIN(share, FIRN_STORE_DELETE_MAX)),
        .progress = options->progress,
    };
    size_t batch_count = (count + run.batch - 1) / run.batch;
    return run_batches(op, pool, batch_count, width, &run);
}

static size_t collect_going(struct firn_op *op, struct firn_removal *removal, struct firn_removal_file ***out)
{
    size_t count = 0;
    sort(removal);
    *out = FIRN_NEW_ARRAY(op->arena, struct firn_removal_file *, removal->sorted_count);
    for (size_t i = 0; i < removal->sorted_count; i++)
        if (removal->sorted[i]->state == FIRN_REMOVAL_GOES || removal->sorted[i]->state == FIRN_REMOVAL_FAILED)
            (*out)[count++] = removal->sorted[i];
    return count;
}

static void fill_report(const struct firn_removal *removal, struct firn_removal_report *out)
{
    *out = (struct firn_removal_report){ 0 };
    for (size_t i = 0; i < removal->sorted_count; i++) {
        const struct firn_removal_file *file = removal->sorted[i];
        out->reachable_count += file->state == FIRN_REMOVAL_REACHABLE;
        out->failed_count += file->state == FIRN_REMOVAL_FAILED;
        if (file->state != FIRN_REMOVAL_DELETED) /* (4) */
            continue;
        out->deleted[file->type].count++;
        out->deleted[file->type].bytes += FIRN_MAX(file->bytes, 0);
    }
}

static firn_status tell_failures(struct firn_op *op, const struct firn_removal *removal, size_t tried, int64_t failed)
{
    for (size_t i = 0; i < removal->sorted_count; i++)
        if (removal->sorted[i]->state == FIRN_REMOVAL_FAILED)
            return firn_fail(op, FIRN_PARTIAL, "%" PRId64 " of %zu files could not be deleted, the first: %.*s", failed,
                             tried, FIRN_FMT(removal->sorted[i]->failure));
    return FIRN_OK;
}

/* (1): the newest metadata has the last word. */
static firn_status keep_current(struct firn_op *op, struct firn_removal *removal)
{
    struct firn_table *table = removal->table;
    if (!table->catalog)
        return firn_fail(op, FIRN_USAGE, "table '%.*s' was opened for reading only", FIRN_FMT(table->name));
    FIRN_TRY(firn_table_refresh(op, table));
    FIRN_TRY(firn_removal_check_gc(op, table));
    FIRN_TRY(firn_removal_keep(op, removal, table->metadata, table->metadata_location));
    return firn_removal_settle(op, removal);
}

firn_status firn_removal_apply(struct firn_op *op, struct firn_removal *removal,
                               const struct firn_removal_options *options, struct firn_removal_report *out)
{
    struct firn_removal_file **going;
    *out = (struct firn_removal_report){ 0 };
    if (removal->nominations.count == 0)
        return FIRN_OK;
    FIRN_TRY(keep_current(op, removal));
    size_t count = collect_going(op, removal, &going);
    if (options->progress)
        atomic_store(&options->progress->files_total, count);
    firn_status status = firn_removal_delete(op, removal->config.pool, removal->table->store, going, count, options);
    fill_report(removal, out);
    return status == FIRN_OK ? tell_failures(op, removal, count, out->failed_count) : status;
}

firn_status firn_removal_mark(struct firn_op *op, struct firn_removal *removal, struct firn_mark_report *out)
{
    struct firn_removal_file **going;
    *out = (struct firn_mark_report){ 0 };
    if (removal->nominations.count == 0)
        return FIRN_OK;
    FIRN_TRY(keep_current(op, removal));
    size_t count = collect_going(op, removal, &going);
    struct firn_mark_wish *wishes = FIRN_NEW_ARRAY(op->arena, struct firn_mark_wish, count);
    for (size_t i = 0; i < count; i++)
        wishes[i] = (struct firn_mark_wish){ going[i]->path, going[i]->reason };
    return firn_marks_add(op, removal->config.pool, removal->table, wishes, count, out);
}
