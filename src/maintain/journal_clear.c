/* Clearing up after a run that was taken: what its journal names goes if the table does not reach it, and then the
 * journal. The invariants stand in journal.h; numbers in comments refer to them. */
#include "maintain/journal.h"

#include "catalog/catalog.h"

#define LATE_SWAP_MS_MAX INT64_C(3600000) /* longer than any server takes to answer */

struct clearing {
    struct firn_table *table;
    const struct firn_run *run;
    struct firn_removal *removal;
    struct firn_map names;   /* keys of folder and UUID */
    struct firn_text folder; /* being listed */
};

/* Names ---------------------------------------------------------------------------------------------------------- */

static bool lies_in(struct firn_op *op, const struct firn_table *table, struct firn_text folder, struct firn_text key)
{
    if (folder.len == 0)
        return false;
    return firn_path_is_below(firn_store_key(op, table->store, folder), key);
}

/* A journal has a say only about where the table's new files go. */
static firn_status check_place(struct firn_op *op, const struct firn_table *table, struct firn_text folder)
{
    static const char *const properties[] = { "write.data.path", "write.metadata.path" };
    struct firn_text key = firn_store_key(op, table->store, folder);
    bool is_own = lies_in(op, table, table->metadata->location, key);
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++)
        is_own = is_own || lies_in(op, table, firn_property_text(table->metadata, properties[i], FIRN_TEXT("")), key);
    return is_own ? FIRN_OK
                  : firn_fail(op, FIRN_DENIED, "folder '%.*s' is none where the table's files are written",
                              FIRN_FMT(folder));
}

static firn_status nominate_named(struct firn_op *op, void *context, const struct firn_store_entry *entry)
{
    const struct clearing *clearing = context;
    struct firn_text uuid;
    if (!firn_uuid_in_name(entry->location, &uuid) ||
        !firn_map_find_text(&clearing->names, firn_run_names_key(op->arena, clearing->folder, uuid)))
        return FIRN_OK;
    struct firn_removal_file file = {
        .type = FIRN_TABLE_FILE_OTHER,
        .path = entry->location,
        .bytes = (int64_t)entry->size,
        .reason = FIRN_TEXT("a run that did not end wrote it"),
    };
    return firn_removal_add(op, clearing->removal, &file);
}

/* Folders are listed once each, however many names lie in them. */
static firn_status nominate_names(struct firn_op *op, struct clearing *clearing)
{
    const struct firn_run *run = clearing->run;
    struct firn_map folders;
    firn_map_init(&folders, op->arena);
    for (size_t i = 0; i < run->names.count; i++) {
        const struct firn_run_names *names = &run->names.items[i];
        firn_map_put_text(&clearing->names, firn_run_names_key(op->arena, names->folder, names->uuid));
        firn_map_put_text(&folders, names->folder);
    }
    for (size_t i = 0; i < folders.count; i++) {
        clearing->folder = firn_text_of_bytes(folders.entries[i].key);
        FIRN_TRY(firn_op_check(op));
        FIRN_TRY(check_place(op, clearing->table, clearing->folder));
        FIRN_TRY(firn_store_list(op, clearing->table->store, clearing->folder, false, nominate_named, clearing));
    }
    return FIRN_OK;
}

/* Removals ------------------------------------------------------------------------------------------------------- */

static enum firn_table_file_type type_of(struct firn_text name)
{
    for (int type = 0; type < FIRN_TABLE_FILE_TYPE_COUNT; type++)
        if (firn_text_is(name, firn_table_file_type_name(type)))
            return type;
    return FIRN_TABLE_FILE_OTHER;
}

static firn_status nominate_line(struct firn_op *op, void *context, const json_t *line)
{
    struct firn_text type;
    struct firn_removal_file file = { .bytes = -1, .reason = FIRN_TEXT("only expired snapshots reached it") };
    FIRN_TRY(firn_json_need_text(op, line, "path", "removal", &file.path));
    FIRN_TRY(firn_json_need_text(op, line, "type", "removal", &type));
    FIRN_TRY(firn_json_find_i64(op, line, "bytes", "removal", &file.bytes, NULL));
    file.type = type_of(type);
    return firn_removal_add(op, context, &file);
}

static firn_status nominate_removals(struct firn_op *op, const struct clearing *clearing, bool mark)
{
    const struct firn_run *run = clearing->run;
    for (size_t i = 0; i < run->removals.count; i++) {
        const struct firn_run_event *event = &run->removals.items[i];
        json_t *header;
        if (json_is_true(json_object_get(event->json, "mark")) != mark)
            continue;
        FIRN_TRY(
            firn_event_read(op, clearing->table->store, event->location, &header, nominate_line, clearing->removal));
    }
    return FIRN_OK;
}

/* (3) What was to be deleted, and all that the run wrote; or what was to be marked. */
static firn_status clear_files(struct firn_op *op, struct firn_pool *pool, struct clearing *clearing, bool mark,
                               struct firn_clearing *out)
{
    struct firn_removal_config config = { .pool = pool };
    struct firn_removal_options options = { 0 };
    struct firn_mark_report marked;
    FIRN_TRY(firn_removal_open(op, clearing->table, &config, &clearing->removal));
    firn_status status = nominate_removals(op, clearing, mark);
    if (status == FIRN_OK && !mark)
        status = nominate_names(op, clearing);
    if (status == FIRN_OK)
        status = mark ? firn_removal_mark(op, clearing->removal, &marked)
                      : firn_removal_apply(op, clearing->removal, &options, &out->removed);
    if (status == FIRN_OK && mark)
        out->marked_count += marked.marked_count + marked.marked_already_count;
    firn_removal_close(clearing->removal);
    return status;
}

/* The whole ------------------------------------------------------------------------------------------------------ */

static bool has_marks(const struct firn_run *run)
{
    for (size_t i = 0; i < run->removals.count; i++)
        if (json_is_true(json_object_get(run->removals.items[i].json, "mark")))
            return true;
    return false;
}

/* (3) Whether a commit of it can still happen, long after its process ended. */
static bool may_still_land(struct firn_op *op, const struct firn_table *table, const struct firn_run *run)
{
    bool is_settled = run->has_end && !firn_text_is(run->outcome, firn_status_name(FIRN_UNKNOWN));
    return table->catalog->kind->swaps_late && run->attempt_ms > 0 && !is_settled &&
           firn_now_ms(op) - run->attempt_ms < LATE_SWAP_MS_MAX;
}

/* (5) */
static firn_status forget_run(struct firn_op *op, const struct firn_table *table, const struct firn_run *run)
{
    size_t failed = 0;
    struct firn_text begin = firn_run_begin_location(op->arena, table->metadata, run);
    FIRN_TRY(firn_store_delete(op, table->store, run->events.items, run->events.count, &failed));
    if (failed == 0)
        FIRN_TRY(firn_store_delete(op, table->store, &begin, 1, &failed));
    return failed == 0 ? FIRN_OK : firn_fail(op, FIRN_PARTIAL, "%zu journal events cannot be deleted", failed);
}

firn_status firn_run_clear(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                           const struct firn_run *run, struct firn_clearing *out)
{
    struct clearing clearing = { .table = table, .run = run };
    *out = (struct firn_clearing){ .left_count = 1 };
    if (may_still_land(op, table, run)) {
        firn_log(op, FIRN_LOG_INFO, "what run %.*s wrote stays: a commit of it may still happen", FIRN_FMT(run->id));
        return FIRN_OK;
    }
    firn_map_init(&clearing.names, op->arena);
    if (has_marks(run))
        FIRN_TRY(clear_files(op, pool, &clearing, true, out));
    if (run->has_begin)
        FIRN_TRY(clear_files(op, pool, &clearing, false, out));
    FIRN_TRY(forget_run(op, table, run));
    out->run_count = 1;
    out->left_count = 0;
    return FIRN_OK;
}
