/* Leases: reading, taking, renewing. The invariants stand in lease.h; numbers in comments refer to them. */
#include "maintain/lease.h"

#include "base/time.h"
#include "base/uuid.h"
#include "maintain/age.h"
#include "store/store.h"
#include "table/location.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

enum { RECORD_BYTES_MAX = 16 << 20, TRIES_MAX = 20 };

/* What asks the store for its time: an object that is deleted at once, or by a later run. */
#define PROBE_PREFIX "now-"

#define CLOCK_GRACE_MS FIRN_MS_PER_HOUR
#define RECORD_ENDING  ".json"

struct firn_lease {
    struct firn_table table; /* as it was when the lease was taken */
    struct firn_text folder;
    struct firn_lease_config config;
    struct firn_text run, process;
    int64_t began_ms;
    struct firn_watch watch;
    const struct firn_watch *outer; /* of the operation, before and after */
    pthread_mutex_t lock;           /* what follows, and the chain as far as this run changes it */
    int64_t number;                 /* this run's newest */
    bool is_lost;
    struct firn_text memory; /* JSON */
    struct firn_text loser;  /* why it is lost, for people */
    pthread_t keeper;
    bool has_keeper, ends;
    pthread_cond_t wake;
    struct firn_arena memory_arena; /* of `memory`, renewed with it */
    struct firn_arena arena;        /* holds the lease itself */
};

/* The chain ------------------------------------------------------------------------------------------------------ */

static struct firn_text folder_of(struct firn_arena *arena, const struct firn_metadata *metadata)
{
    return firn_metadata_location(arena, metadata, FIRN_TEXT("_firn_maintain"));
}

static struct firn_text location_of(struct firn_arena *arena, struct firn_text folder, int64_t number)
{
    return firn_text_format(arena, "%.*s/%012" PRId64 RECORD_ENDING, FIRN_FMT(folder), number);
}

static bool parse_number(struct firn_text location, int64_t *out)
{
    struct firn_text name = firn_text_from(location, (size_t)(firn_text_find_last(location, '/') + 1));
    struct firn_text ending = FIRN_TEXT(RECORD_ENDING);
    return firn_text_ends(name, ending) && firn_text_to_i64(firn_text_until(name, name.len - ending.len), out) &&
           *out > 0;
}

static firn_status note_highest(struct firn_op *op, void *context, const struct firn_store_entry *entry)
{
    int64_t number, *highest = context;
    (void)op;
    if (parse_number(entry->location, &number) && number > *highest)
        *highest = number;
    return FIRN_OK;
}

struct older {
    int64_t than;      /* this number */
    int64_t probed_ms; /* probes before this were left by runs that are gone */
    FIRN_ARRAY(struct firn_text) locations;
};

static firn_status note_older(struct firn_op *op, void *context, const struct firn_store_entry *entry)
{
    struct older *older = context;
    int64_t number;
    struct firn_text name = firn_text_from(entry->location, (size_t)(firn_text_find_last(entry->location, '/') + 1));
    bool is_probe = firn_text_starts(name, FIRN_TEXT(PROBE_PREFIX)) && entry->modified_ms < older->probed_ms;
    if (is_probe || (parse_number(entry->location, &number) && number < older->than))
        FIRN_PUSH(op->arena, &older->locations, firn_text_copy(op->arena, entry->location));
    return FIRN_OK;
}

/* What stays is deleted after the next change. */
static void delete_older(struct firn_op *op, struct firn_store *store, struct firn_text folder, int64_t number)
{
    struct firn_error kept = op->error;
    struct older older = { .than = number, .probed_ms = firn_now_ms(op) - FIRN_MS_PER_DAY };
    firn_status status = firn_store_list(op, store, folder, false, note_older, &older);
    if (status == FIRN_OK)
        firn_store_discard(op, store, older.locations.items, older.locations.count);
    op->error = kept;
}

/* Records -------------------------------------------------------------------------------------------------------- */

static firn_status parse_record(struct firn_op *op, const json_t *json, struct firn_lease_state *out)
{
    json_t *memory;
    bool found;
    FIRN_TRY(firn_json_find_bool(op, json, "held", "lease", &out->is_held, &found));
    FIRN_TRY(firn_json_need_text(op, json, "run", "lease", &out->run));
    FIRN_TRY(firn_json_need_text(op, json, "holder", "lease", &out->holder));
    FIRN_TRY(firn_json_need_text(op, json, "process", "lease", &out->process));
    FIRN_TRY(firn_json_need_i64(op, json, "began_ms", "lease", &out->began_ms));
    FIRN_TRY(firn_json_need_i64(op, json, "renewed_ms", "lease", &out->renewed_ms));
    FIRN_TRY(firn_json_need_i64(op, json, "lease_ms", "lease", &out->lease_ms));
    FIRN_TRY(firn_json_need_object(op, json, "memory", "lease", &memory));
    out->memory = memory;
    return FIRN_OK;
}

static firn_status read_record(struct firn_op *op, const struct firn_table *table, struct firn_text location,
                               struct firn_lease_state *out)
{
    struct firn_buffer *text = FIRN_NEW(op->arena, struct firn_buffer);
    struct firn_text table_uuid;
    json_t *json;
    firn_buffer_defer(op->arena, text);
    FIRN_TRY(firn_store_read(op, table->store, location, RECORD_BYTES_MAX, text));
    FIRN_TRY(firn_json_parse(op, firn_text_of_bytes(firn_buffer_bytes(text)), "lease", &json));
    FIRN_TRY(firn_json_need_text(op, json, "table_uuid", "lease", &table_uuid));
    FIRN_TRY(parse_record(op, json, out));
    if (firn_text_same_nocase(table_uuid, table->metadata->table_uuid))
        return FIRN_OK;
    out->is_held = false;
    out->memory = firn_json_own(op->arena, json_object());
    return FIRN_OK;
}

firn_status firn_lease_look(struct firn_op *op, const struct firn_table *table, struct firn_lease_state *out)
{
    struct firn_text folder = folder_of(op->arena, table->metadata);
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        *out = (struct firn_lease_state){ .memory = firn_json_own(op->arena, json_object()) };
        FIRN_TRY(firn_store_list(op, table->store, folder, false, note_highest, &out->number));
        if (out->number == 0)
            return FIRN_OK;
        struct firn_text location = location_of(op->arena, folder, out->number);
        firn_status status = read_record(op, table, location, out);
        if (status == FIRN_CORRUPT) {
            firn_context(op, status, "lease of maintenance '%.*s'", FIRN_FMT(location));
            return firn_hint(op, status, "when no firn maintain runs on this table, delete that file");
        }
        if (status != FIRN_NOT_FOUND) /* a newer one is there */
            return firn_context(op, status, "lease of maintenance '%.*s'", FIRN_FMT(location));
    }
    return firn_fail(op, FIRN_UNAVAILABLE, "the lease of maintenance in '%.*s' changes faster than it can be read",
                     FIRN_FMT(folder));
}

struct firn_text firn_lease_holder_text(struct firn_arena *arena, const struct firn_lease_state *state)
{
    struct firn_text began = firn_timestamp_text(arena, state->began_ms / 1000, 1, 'T');
    struct firn_text renewed = firn_timestamp_text(arena, state->renewed_ms / 1000, 1, 'T');
    return firn_text_format(arena, "held by %.*s since %.*sZ, last heard of at %.*sZ", FIRN_FMT(state->holder),
                            FIRN_FMT(began), FIRN_FMT(renewed));
}

/* Taken over by the arena. */
static struct firn_text record_text(struct firn_op *op, const struct firn_lease *lease, bool is_held)
{
    json_t *json = json_object();
    firn_json_set_text(json, "firn", FIRN_TEXT(FIRN_VERSION));
    firn_json_set_text(json, "table_uuid", lease->table.metadata->table_uuid);
    firn_json_set_bool(json, "held", is_held);
    firn_json_set_text(json, "run", lease->run);
    firn_json_set_text(json, "holder", lease->config.holder);
    firn_json_set_text(json, "process", lease->process);
    firn_json_set_i64(json, "began_ms", lease->began_ms);
    firn_json_set_i64(json, "renewed_ms", firn_now_ms(op));
    firn_json_set_i64(json, "lease_ms", lease->config.lease_ms);
    firn_json_set(json, "memory", json_loadb(lease->memory.data, lease->memory.len, 0, NULL));
    struct firn_text text = firn_json_text(op->arena, json, 1);
    json_decref(json);
    return text;
}

/* Creates number `number`: EXISTS when somebody else did. One whose answer was lost may be this run's own. */
static firn_status create(struct firn_op *op, const struct firn_lease *lease, int64_t number, bool is_held)
{
    struct firn_text location = location_of(op->arena, lease->folder, number);
    struct firn_text text = record_text(op, lease, is_held);
    struct firn_lease_state there;
    firn_status status = firn_store_put(op, lease->table.store, location, true, firn_bytes_of_text(text));
    if (status != FIRN_EXISTS)
        return firn_context(op, status, "lease of maintenance '%.*s'", FIRN_FMT(location));
    FIRN_TRY(firn_lease_look(op, &lease->table, &there));
    if (there.number == number && firn_text_same(there.run, lease->run))
        return FIRN_OK;
    return firn_fail(op, FIRN_EXISTS, "%.*s", FIRN_FMT(firn_lease_holder_text(op->arena, &there)));
}

/* Has it run out? (2), (3) --------------------------------------------------------------------------------------- */

/* The store's time now; INT64_MAX: it tells none. */
static firn_status ask_store_time(struct firn_op *op, struct firn_store *store, struct firn_text folder, int64_t *now)
{
    struct firn_text probe = firn_text_format(op->arena, "%.*s/" PROBE_PREFIX "%.*s", FIRN_FMT(folder),
                                              FIRN_FMT(firn_uuid_text(op->arena, firn_uuid_random(op))));
    struct firn_store_stat info;
    FIRN_TRY(firn_store_put(op, store, probe, true, firn_bytes_of_text(FIRN_TEXT("\n"))));
    firn_status status = firn_store_stat(op, store, probe, &info);
    *now = info.modified_ms;
    firn_store_discard(op, store, &probe, 1);
    return status;
}

static firn_status has_run_out(struct firn_op *op, const struct firn_table *table, const struct firn_lease_state *state,
                               bool *out)
{
    struct firn_text folder = folder_of(op->arena, table->metadata);
    struct firn_store_stat info;
    int64_t now_ms;
    *out = false;
    firn_status status = firn_store_stat(op, table->store, location_of(op->arena, folder, state->number), &info);
    if (status == FIRN_NOT_FOUND) /* it was renewed just now */
        return FIRN_OK;
    FIRN_TRY(status);
    FIRN_TRY(ask_store_time(op, table->store, folder, &now_ms));
    if (now_ms != INT64_MAX && info.modified_ms != INT64_MAX)
        *out = now_ms - info.modified_ms > state->lease_ms;
    else
        *out = firn_now_ms(op) - state->renewed_ms > state->lease_ms + CLOCK_GRACE_MS;
    return FIRN_OK;
}

static firn_status can_be_taken(struct firn_op *op, const struct firn_table *table,
                                const struct firn_lease_state *state, bool *out)
{
    *out = !state->is_held || (state->process.len > 0 && firn_process_state(op, state->process) == FIRN_PROCESS_ENDED);
    return *out ? FIRN_OK : has_run_out(op, table, state, out);
}

/* Renewing ------------------------------------------------------------------------------------------------------- */

/* With the lock held. */
static firn_status lost(struct firn_op *op, const struct firn_lease *lease)
{
    firn_fail(op, FIRN_BUSY, "the lease of maintenance was lost: %.*s", FIRN_FMT(lease->loser));
    return firn_hint(op, FIRN_BUSY, "nothing was changed since; a longer lease.time helps where a host stalls");
}

/* With the lock held. */
static firn_status advance(struct firn_op *op, struct firn_lease *lease, bool is_held)
{
    if (lease->is_lost)
        return lost(op, lease);
    firn_status status = create(op, lease, lease->number + 1, is_held);
    if (status == FIRN_EXISTS) { /* (1) */
        lease->is_lost = true;
        lease->loser = firn_text_copy(&lease->arena, firn_text_of(op->error.text));
        return lost(op, lease);
    }
    FIRN_TRY(status);
    lease->number++;
    delete_older(op, lease->table.store, lease->folder, lease->number);
    return FIRN_OK;
}

static void remember(struct firn_lease *lease, const json_t *memory)
{
    firn_arena_reset(&lease->memory_arena);
    lease->memory = firn_json_text(&lease->memory_arena, memory, 0);
}

firn_status firn_lease_renew(struct firn_op *op, struct firn_lease *lease, const json_t *memory)
{
    struct firn_op plain = *op; /* the chain is no part of the table: nobody need watch it */
    plain.watch = NULL;
    pthread_mutex_lock(&lease->lock);
    if (memory)
        remember(lease, memory);
    firn_status status = advance(&plain, lease, true);
    pthread_mutex_unlock(&lease->lock);
    op->error = plain.error;
    return status;
}

/* (4) */
static firn_status before_swap(struct firn_op *op, void *context)
{
    struct firn_lease *lease = context;
    if (lease->outer && lease->outer->before_swap)
        FIRN_TRY(lease->outer->before_swap(op, lease->outer->context));
    return firn_lease_renew(op, lease, NULL);
}

static firn_status before_write(struct firn_op *op, void *context, struct firn_text location)
{
    const struct firn_lease *lease = context;
    if (lease->outer && lease->outer->before_write)
        return lease->outer->before_write(op, lease->outer->context, location);
    return FIRN_OK;
}

/* The keeper ----------------------------------------------------------------------------------------------------- */

/* With the lock held: waits for a third of the lease, or the end. */
static void wait_a_third(struct firn_lease *lease)
{
    struct timespec until;
    int64_t wait_ms = lease->config.lease_ms / 3;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += wait_ms / 1000;
    until.tv_nsec += wait_ms % 1000 * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    while (!lease->ends && pthread_cond_timedwait(&lease->wake, &lease->lock, &until) != ETIMEDOUT)
        continue;
}

struct keeper {
    struct firn_lease *lease;
    const struct firn_env *env;
};

static void *keep(void *context)
{
    struct keeper *keeper = context;
    struct firn_lease *lease = keeper->lease;
    struct firn_arena arena;
    struct firn_op op;
    firn_arena_init(&arena);
    pthread_mutex_lock(&lease->lock);
    for (;;) {
        wait_a_third(lease);
        if (lease->ends || lease->is_lost)
            break;
        firn_op_init(&op, &arena, keeper->env);
        if (advance(&op, lease, true) != FIRN_OK)
            firn_log(&op, FIRN_LOG_WARN, "%s", op.error.text);
        firn_arena_reset(&arena);
    }
    pthread_mutex_unlock(&lease->lock);
    firn_arena_done(&arena);
    return NULL;
}

static firn_status start_keeper(struct firn_op *op, struct firn_lease *lease)
{
    struct keeper *keeper = FIRN_NEW(&lease->arena, struct keeper);
    *keeper = (struct keeper){ lease, op->env };
    int error = pthread_create(&lease->keeper, NULL, keep, keeper);
    if (error)
        return firn_fail_errno(op, error, "cannot start the thread that renews the lease");
    lease->has_keeper = true;
    return FIRN_OK;
}

static void stop_keeper(struct firn_lease *lease)
{
    if (!lease->has_keeper)
        return;
    pthread_mutex_lock(&lease->lock);
    lease->ends = true;
    pthread_cond_signal(&lease->wake);
    pthread_mutex_unlock(&lease->lock);
    pthread_join(lease->keeper, NULL);
    lease->has_keeper = false;
}

/* Taking and giving back ----------------------------------------------------------------------------------------- */

static void close_lease(void *subject)
{
    struct firn_lease *lease = subject;
    stop_keeper(lease);
    pthread_cond_destroy(&lease->wake);
    pthread_mutex_destroy(&lease->lock);
    firn_arena_done(&lease->memory_arena);
    struct firn_arena arena = lease->arena;
    firn_arena_done(&arena);
}

static struct firn_lease *new_lease(struct firn_op *op, struct firn_table *table,
                                    const struct firn_lease_config *config)
{
    struct firn_arena arena;
    pthread_condattr_t monotonic;
    firn_arena_init(&arena);
    struct firn_lease *lease = FIRN_NEW(&arena, struct firn_lease);
    *lease = (struct firn_lease){ .table = *table, .config = *config, .outer = op->watch, .arena = arena };
    lease->config.holder = firn_text_copy(&lease->arena, config->holder);
    lease->folder = folder_of(&lease->arena, table->metadata);
    lease->run = firn_uuid_text(&lease->arena, firn_uuid_random(op));
    lease->process = firn_text_copy(&lease->arena, firn_process_name(op));
    lease->began_ms = firn_now_ms(op);
    lease->watch = (struct firn_watch){ before_write, before_swap, lease };
    firn_arena_init(&lease->memory_arena);
    pthread_mutex_init(&lease->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&lease->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    firn_arena_defer(op->arena, close_lease, lease);
    return lease;
}

static firn_status busy(struct firn_op *op, const struct firn_lease_state *state)
{
    firn_fail(op, FIRN_BUSY, "another maintenance run has the table: %.*s",
              FIRN_FMT(firn_lease_holder_text(op->arena, state)));
    return firn_hint(op, FIRN_BUSY,
                     "it is taken over when its process has ended, or %" PRId64 " s after it was last heard of",
                     state->lease_ms / 1000);
}

/* A race for one number is lost to somebody, who is looked at next. */
static firn_status take(struct firn_op *op, struct firn_lease *lease, struct firn_lease_state *state)
{
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        bool can;
        FIRN_TRY(firn_lease_look(op, &lease->table, state));
        FIRN_TRY(can_be_taken(op, &lease->table, state, &can));
        if (!can)
            return busy(op, state);
        remember(lease, state->memory);
        firn_status status = create(op, lease, state->number + 1, true);
        lease->number = state->number + 1;
        if (status == FIRN_OK)
            delete_older(op, lease->table.store, lease->folder, lease->number);
        if (status != FIRN_EXISTS)
            return status;
    }
    return busy(op, state);
}

firn_status firn_lease_take(struct firn_op *op, struct firn_table *table, const struct firn_lease_config *config,
                            struct firn_lease_state *state, struct firn_lease **out)
{
    if (!table->catalog)
        return firn_fail(op, FIRN_USAGE, "the table was opened without a catalog and cannot be changed");
    struct firn_lease *lease = new_lease(op, table, config);
    FIRN_TRY(take(op, lease, state));
    if (config->keeps_itself)
        FIRN_TRY(start_keeper(op, lease));
    op->watch = &lease->watch;
    *out = lease;
    return FIRN_OK;
}

void firn_lease_release(struct firn_op *op, struct firn_lease *lease)
{
    if (!lease)
        return;
    struct firn_op plain = *op;
    struct firn_env env = *op->env;
    stop_keeper(lease);
    op->watch = lease->outer;
    env.stop = NULL; /* a run that is told to stop gives its lease back all the same */
    plain.env = &env;
    plain.watch = NULL;
    plain.deadline_ms = INT64_MAX;
    pthread_mutex_lock(&lease->lock);
    if (!lease->is_lost && advance(&plain, lease, false) != FIRN_OK)
        firn_log(&plain, FIRN_LOG_WARN, "%s", plain.error.text);
    pthread_mutex_unlock(&lease->lock);
}
