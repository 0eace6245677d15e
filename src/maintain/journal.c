/* A run's own journal: telling, taking others, ending. The invariants stand in journal.h; numbers in comments refer to
 * them. */
#include "maintain/journal.h"

#include "base/time.h"
#include "catalog/catalog.h"
#include "maintain/journal_event.h"
#include "table/location.h"

#include <pthread.h>

struct firn_journal {
    struct firn_pool *pool;
    struct firn_table *table;
    struct firn_text folder, id;
    struct firn_watch watch;
    const struct firn_watch *outer; /* of the operation, before and after */
    atomic_int next;                /* number of an event */
    struct firn_map taken;          /* run id to struct firn_run */
    struct firn_clearing cleared;
    struct firn_text removal; /* location of the event; empty: none */
    pthread_mutex_t lock;     /* what follows */
    struct firn_map announced;
    FIRN_ARRAY(struct firn_text) events; /* own ones but the begin */
    struct firn_text begin;
    struct firn_arena arena; /* holds the journal itself */
};

/* Events --------------------------------------------------------------------------------------------------------- */

static json_t *new_header(struct firn_op *op, const char *kind)
{
    json_t *header = json_object();
    firn_json_set_text(header, "event", firn_text_of(kind));
    firn_json_set_i64(header, "time_ms", firn_now_ms(op));
    return header;
}

static struct firn_text event_location(struct firn_arena *arena, const struct firn_journal *journal, int number,
                                       const char *kind)
{
    return firn_event_location(arena, journal->folder, journal->id, number, kind);
}

/* A new event of this run, and its place in the list of what there is. */
static struct firn_text next_event(struct firn_journal *journal, const char *kind)
{
    int number = atomic_fetch_add(&journal->next, 1);
    pthread_mutex_lock(&journal->lock);
    struct firn_text location = event_location(&journal->arena, journal, number, kind);
    FIRN_PUSH(&journal->arena, &journal->events, location);
    pthread_mutex_unlock(&journal->lock);
    return location;
}

/* The operation itself is watched; its journal is not. */
static struct firn_op unwatched(const struct firn_op *op)
{
    struct firn_op plain = *op;
    plain.watch = NULL;
    return plain;
}

/* Takes over a reference to `header`. */
static firn_status put_event(struct firn_op *op, struct firn_journal *journal, const char *kind, json_t *header,
                             const json_t *lines)
{
    struct firn_op plain = unwatched(op);
    firn_json_own(op->arena, header);
    firn_status status = firn_event_put(&plain, journal->table->store, next_event(journal, kind), header, lines);
    op->error = plain.error;
    return firn_context(op, status, "journal '%.*s'", FIRN_FMT(journal->folder));
}

/* Names ---------------------------------------------------------------------------------------------------------- */

/* With the lock held: whether the name is new; it is announced from here on. */
static bool note_name(struct firn_journal *journal, struct firn_text folder, struct firn_text uuid)
{
    struct firn_text key = firn_run_names_key(&journal->arena, folder, uuid);
    if (firn_map_find_text(&journal->announced, key))
        return false;
    firn_map_put_text(&journal->announced, key);
    return true;
}

static void add_name(json_t *lines, struct firn_text folder, struct firn_text uuid)
{
    json_t *line = json_object();
    firn_json_set_text(line, "folder", folder);
    firn_json_set_text(line, "uuid", uuid);
    json_array_append_new(lines, line);
}

static bool split_name(struct firn_text location, struct firn_text *folder, struct firn_text *uuid)
{
    ptrdiff_t slash = firn_text_find_last(location, '/');
    *folder = firn_text_until(location, slash > 0 ? (size_t)slash : 0);
    return folder->len > 0 && firn_uuid_in_name(location, uuid);
}

firn_status firn_journal_announce(struct firn_op *op, struct firn_journal *journal, const struct firn_text *locations,
                                  size_t count)
{
    struct firn_text folder, uuid;
    json_t *lines = firn_json_own(op->arena, json_array());
    if (!journal)
        return FIRN_OK;
    pthread_mutex_lock(&journal->lock);
    for (size_t i = 0; i < count; i++)
        if (split_name(locations[i], &folder, &uuid) && note_name(journal, folder, uuid))
            add_name(lines, folder, uuid);
    pthread_mutex_unlock(&journal->lock);
    if (json_array_size(lines) == 0)
        return FIRN_OK;
    return put_event(op, journal, "names", new_header(op, "names"), lines);
}

/* (1). A name that another thread is announcing is announced by this one too: it must be durable before the write. */
static firn_status before_write(struct firn_op *op, void *context, struct firn_text location)
{
    struct firn_journal *journal = context;
    struct firn_text folder, uuid;
    if (journal->outer && journal->outer->before_write)
        FIRN_TRY(journal->outer->before_write(op, journal->outer->context, location));
    if (!split_name(location, &folder, &uuid))
        return FIRN_OK;
    pthread_mutex_lock(&journal->lock);
    struct firn_text key = firn_run_names_key(op->arena, folder, uuid);
    bool is_known = firn_map_find_text(&journal->announced, key);
    pthread_mutex_unlock(&journal->lock);
    if (is_known)
        return FIRN_OK;
    json_t *lines = firn_json_own(op->arena, json_array());
    add_name(lines, folder, uuid);
    FIRN_TRY(put_event(op, journal, "names", new_header(op, "names"), lines));
    pthread_mutex_lock(&journal->lock);
    note_name(journal, folder, uuid);
    pthread_mutex_unlock(&journal->lock);
    return FIRN_OK;
}

/* Attempts ------------------------------------------------------------------------------------------------------- */

static firn_status find_event(struct firn_op *op, const struct firn_journal *journal, int number, const char *kind,
                              bool *found)
{
    struct firn_store_stat info;
    struct firn_text location = event_location(op->arena, journal, number, kind);
    firn_status status = firn_store_stat(op, journal->table->store, location, &info);
    *found = status == FIRN_OK;
    return status == FIRN_NOT_FOUND ? FIRN_OK : status;
}

/* (2) One that took this run may be done with it already. */
static firn_status check_not_taken(struct firn_op *op, const struct firn_journal *journal)
{
    bool is_there, is_taken;
    FIRN_TRY(find_event(op, journal, 0, "begin", &is_there));
    FIRN_TRY(find_event(op, journal, 1, "taken", &is_taken));
    if (is_there && !is_taken)
        return FIRN_OK;
    firn_fail(op, FIRN_DENIED, "another run took this one for dead and cleared up after it: see '%.*s'",
              FIRN_FMT(journal->folder));
    return firn_hint(op, FIRN_DENIED, "nothing was changed; run it again");
}

static firn_status before_swap(struct firn_op *op, void *context)
{
    struct firn_journal *journal = context;
    if (journal->outer && journal->outer->before_swap)
        FIRN_TRY(journal->outer->before_swap(op, journal->outer->context));
    FIRN_TRY(check_not_taken(op, journal));
    return put_event(op, journal, "attempt", new_header(op, "attempt"), NULL);
}

/* Groups and removals -------------------------------------------------------------------------------------------- */

firn_status firn_journal_group(struct firn_op *op, struct firn_journal *journal, json_t *header, const json_t *lines)
{
    json_t *whole = new_header(op, "group");
    json_object_update(whole, header);
    json_decref(header);
    return put_event(op, journal, "group", whole, lines);
}

static firn_status write_removal(struct firn_op *op, struct firn_sink *sink, struct firn_removal *removal,
                                 const json_t *header)
{
    size_t count;
    const struct firn_removal_file *const *files = firn_removal_files(removal, &count);
    FIRN_TRY(firn_event_line(op, sink, header));
    for (size_t i = 0; i < count; i++) {
        if (files[i]->state != FIRN_REMOVAL_GOES)
            continue;
        json_t *line = json_object();
        firn_json_set_text(line, "path", files[i]->path);
        firn_json_set_text(line, "type", firn_text_of(firn_table_file_type_name(files[i]->type)));
        if (files[i]->bytes >= 0)
            firn_json_set_i64(line, "bytes", files[i]->bytes);
        firn_status status = firn_event_line(op, sink, line);
        json_decref(line);
        FIRN_TRY(status);
    }
    return FIRN_OK;
}

static firn_status put_removal(struct firn_op *op, struct firn_journal *journal, struct firn_removal *removal,
                               bool mark, struct firn_text location)
{
    struct firn_store_writer *file;
    json_t *header = firn_json_own(op->arena, new_header(op, "removal"));
    firn_json_set_bool(header, "mark", mark);
    FIRN_TRY(firn_store_write(op, journal->table->store, location, true, &file));
    firn_status status = write_removal(op, firn_store_writer_sink(file), removal, header);
    if (status == FIRN_OK)
        return firn_store_writer_finish(op, file);
    firn_store_writer_close(file);
    return status;
}

firn_status firn_journal_removal(struct firn_op *op, struct firn_journal *journal, struct firn_removal *removal,
                                 bool mark)
{
    if (!journal || !removal)
        return FIRN_OK;
    struct firn_op plain = unwatched(op);
    struct firn_text location = next_event(journal, "removal");
    firn_status status = put_removal(&plain, journal, removal, mark, location);
    if (status == FIRN_OK && journal->removal.len > 0)
        firn_store_discard(&plain, journal->table->store, &journal->removal, 1);
    if (status == FIRN_OK)
        journal->removal = location;
    op->error = plain.error;
    return firn_context(op, status, "journal '%.*s'", FIRN_FMT(journal->folder));
}

/* Taking others -------------------------------------------------------------------------------------------------- */

bool firn_journal_has_taken(const struct firn_journal *journal, struct firn_text run_id)
{
    return journal && firn_map_find_text(&journal->taken, run_id);
}

/* (2) False in `*taken`: another run was faster, or the run has ended well meanwhile. */
static firn_status take(struct firn_op *op, struct firn_journal *journal, struct firn_run *run, bool *taken)
{
    struct firn_store *store = journal->table->store;
    struct firn_store_stat info;
    json_t *header = firn_json_own(op->arena, new_header(op, "taken"));
    firn_json_set_text(header, "by", journal->id);
    struct firn_text claim = firn_event_location(op->arena, journal->folder, run->id, run->taken_number + 1, "taken");
    *taken = false;
    firn_status status = firn_event_put(op, store, claim, header, NULL);
    if (status == FIRN_EXISTS)
        return FIRN_OK;
    FIRN_TRY(status);
    FIRN_PUSH(op->arena, &run->events, claim);
    status = firn_store_stat(op, store, firn_event_location(op->arena, journal->folder, run->id, 0, "begin"), &info);
    *taken = status == (run->has_begin ? FIRN_OK : FIRN_NOT_FOUND);
    if (!*taken && (status == FIRN_OK || status == FIRN_NOT_FOUND))
        firn_store_discard(op, store, &claim, 1);
    return status == FIRN_NOT_FOUND ? FIRN_OK : status;
}

static void add_clearing(struct firn_clearing *sum, const struct firn_clearing *one)
{
    for (int type = 0; type < FIRN_TABLE_FILE_TYPE_COUNT; type++) {
        sum->removed.deleted[type].count += one->removed.deleted[type].count;
        sum->removed.deleted[type].bytes += one->removed.deleted[type].bytes;
    }
    sum->removed.reachable_count += one->removed.reachable_count;
    sum->removed.failed_count += one->removed.failed_count;
    sum->marked_count += one->marked_count;
    sum->run_count += one->run_count;
    sum->left_count += one->left_count;
}

/* Fails only when told to stop: what cannot be cleared now is left to the next run. */
static firn_status clear_one(struct firn_op *op, struct firn_journal *journal, const struct firn_run *run)
{
    struct firn_clearing one = { 0 };
    firn_status status = firn_run_clear(op, journal->pool, journal->table, run, &one);
    add_clearing(&journal->cleared, &one);
    if (status == FIRN_CANCELLED)
        return status;
    int64_t count = firn_clearing_file_count(&one);
    if (count > 0)
        firn_log(op, FIRN_LOG_INFO, "run %.*s did not end: %" PRId64 " files that it left are dealt with",
                 FIRN_FMT(run->id), count);
    if (status != FIRN_OK)
        firn_log(op, FIRN_LOG_WARN, "what run %.*s left is not all cleared up, leaving it to the next run: %s",
                 FIRN_FMT(run->id), op->error.text);
    return FIRN_OK;
}

static firn_status take_others(struct firn_op *op, struct firn_journal *journal, const struct firn_runs *runs)
{
    for (size_t i = 0; i < runs->count; i++) {
        struct firn_run *run = &runs->items[i];
        bool taken;
        if (!firn_run_is_over(run))
            continue;
        FIRN_TRY(take(op, journal, run, &taken));
        if (!taken)
            continue;
        if (run->groups.count > 0)
            firn_map_put_text(&journal->taken, run->id)->value.pointer = run;
        else
            FIRN_TRY(clear_one(op, journal, run));
    }
    return FIRN_OK;
}

/* Beginning and ending ------------------------------------------------------------------------------------------- */

static firn_status put_begin(struct firn_op *op, struct firn_journal *journal, const char *procedure)
{
    const struct firn_metadata *metadata = journal->table->metadata;
    json_t *header = firn_json_own(op->arena, new_header(op, "begin"));
    firn_json_set_text(header, "procedure", firn_text_of(procedure));
    firn_json_set_text(header, "firn", FIRN_TEXT(FIRN_VERSION));
    firn_json_set_text(header, "process", firn_process_name(op));
    firn_json_set_text(header, "table", journal->table->name);
    firn_json_set_text(header, "table_uuid", metadata->table_uuid);
    journal->begin = event_location(&journal->arena, journal, atomic_fetch_add(&journal->next, 1), "begin");
    firn_status status = firn_event_put(op, journal->table->store, journal->begin, header, NULL);
    return firn_context(op, status, "journal '%.*s'", FIRN_FMT(journal->folder));
}

static void close_journal(void *subject)
{
    struct firn_journal *journal = subject;
    pthread_mutex_destroy(&journal->lock);
    struct firn_arena arena = journal->arena;
    firn_arena_done(&arena);
}

static struct firn_journal *new_journal(struct firn_op *op, struct firn_pool *pool, struct firn_table *table)
{
    struct firn_arena arena;
    firn_arena_init(&arena);
    struct firn_journal *journal = FIRN_NEW(&arena, struct firn_journal);
    *journal = (struct firn_journal){ .pool = pool, .table = table, .outer = op->watch, .arena = arena };
    journal->watch = (struct firn_watch){ before_write, before_swap, journal };
    journal->folder = firn_journal_folder(&journal->arena, table->metadata);
    journal->id = firn_uuid_text(&journal->arena, firn_uuid_random(op));
    firn_map_init(&journal->announced, &journal->arena);
    firn_map_init(&journal->taken, op->arena);
    pthread_mutex_init(&journal->lock, NULL);
    firn_arena_defer(op->arena, close_journal, journal);
    return journal;
}

static bool has_over(const struct firn_runs *runs)
{
    for (size_t i = 0; i < runs->count; i++)
        if (firn_run_is_over(&runs->items[i]))
            return true;
    return false;
}

firn_status firn_journal_begin(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                               const char *procedure, bool is_needed, struct firn_journal **out)
{
    struct firn_runs runs;
    *out = NULL;
    if (!table->catalog || !firn_property_bool(table->metadata, "gc.enabled", true))
        return FIRN_OK;
    FIRN_TRY(firn_runs_read(op, table, &runs));
    if (!is_needed && !has_over(&runs))
        return FIRN_OK;
    struct firn_journal *journal = new_journal(op, pool, table);
    firn_status status = put_begin(op, journal, procedure);
    if (status == FIRN_OK)
        status = take_others(op, journal, &runs);
    if (status != FIRN_OK) {
        firn_store_discard(op, table->store, &journal->begin, 1);
        return status;
    }
    op->watch = &journal->watch;
    *out = journal;
    return FIRN_OK;
}

int64_t firn_clearing_file_count(const struct firn_clearing *clearing)
{
    int64_t count = clearing->marked_count;
    for (int type = 0; type < FIRN_TABLE_FILE_TYPE_COUNT; type++)
        count += clearing->removed.deleted[type].count;
    return count;
}

/* What a run that failed could not remove itself. */
static firn_status clear_own(struct firn_op *op, struct firn_journal *journal)
{
    struct firn_runs runs;
    struct firn_clearing own = { 0 };
    FIRN_TRY(firn_runs_read(op, journal->table, &runs));
    for (size_t i = 0; i < runs.count; i++)
        if (firn_text_same(runs.items[i].id, journal->id))
            return firn_run_clear(op, journal->pool, journal->table, &runs.items[i], &own);
    return FIRN_OK;
}

static void say_end(struct firn_op *op, struct firn_journal *journal, firn_status status)
{
    json_t *header = new_header(op, "end");
    firn_json_set_text(header, "outcome", firn_text_of(firn_status_name(status)));
    if (put_event(op, journal, "end", header, NULL) != FIRN_OK)
        firn_log(op, FIRN_LOG_WARN, "%s", op->error.text);
}

/* (5) */
static void forget(struct firn_op *op, struct firn_journal *journal)
{
    firn_store_discard(op, journal->table->store, journal->events.items, journal->events.count);
    firn_store_discard(op, journal->table->store, &journal->begin, 1);
}

static void end_own(struct firn_op *op, struct firn_journal *journal, firn_status status, bool leaves_files)
{
    if (status == FIRN_UNKNOWN || leaves_files)
        say_end(op, journal, status);
    else if (status == FIRN_OK || status == FIRN_PARTIAL || firn_op_check(op) != FIRN_OK)
        forget(op, journal);
    else if (clear_own(op, journal) != FIRN_OK)
        say_end(op, journal, status);
}

void firn_journal_end(struct firn_op *op, struct firn_journal *journal, firn_status status, bool leaves_files,
                      struct firn_clearing *out)
{
    *out = (struct firn_clearing){ 0 };
    if (!journal)
        return;
    struct firn_error error = op->error;
    bool is_over = status == FIRN_OK || status == FIRN_PARTIAL; /* else the next run may use what this one could not */
    firn_status clearing = firn_op_check(op);
    op->watch = journal->outer;
    for (size_t i = 0; is_over && clearing == FIRN_OK && i < journal->taken.count; i++)
        clearing = clear_one(op, journal, journal->taken.entries[i].value.pointer);
    end_own(op, journal, status, leaves_files);
    *out = journal->cleared;
    op->error = error;
}

firn_status firn_journal_run(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                             const char *procedure, bool is_needed, firn_journal_work *work, void *context)
{
    struct firn_journal *journal;
    struct firn_clearing cleared;
    FIRN_TRY(firn_journal_begin(op, pool, table, procedure, is_needed, &journal));
    firn_status status = work(op, context);
    firn_journal_end(op, journal, status, false, &cleared);
    return status;
}
