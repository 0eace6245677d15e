/* The store: relocation and checks in front of a driver. See store.h for the invariants. */
#include "store/store.h"

#include "store/driver.h"

struct firn_store {
    const struct firn_store_driver *driver;
    void *state;
    struct firn_relocation *relocations; /* normal spelling, without trailing slashes */
    size_t relocation_count;
    bool relaxed;
    struct firn_store_counts counts;
    struct firn_arena arena; /* holds the store itself */
};

/* "file:/x/", "file:///x" and "/x" are one place: compared as "/x". Other schemes keep their spelling. */
static struct firn_text normal_spelling(struct firn_op *op, struct firn_text location)
{
    struct firn_text path;
    return firn_location_local_path(op, location, &path) == FIRN_OK ? path : location;
}

static struct firn_text without_trailing_slashes(struct firn_text text)
{
    while (text.len > 0 && text.data[text.len - 1] == '/')
        text.len--;
    return text;
}

static firn_status copy_relocations(struct firn_op *op, struct firn_store *store,
                                    const struct firn_store_config *config)
{
    store->relocations = FIRN_NEW_ARRAY(&store->arena, struct firn_relocation, config->relocation_count);
    for (size_t i = 0; i < config->relocation_count; i++) {
        struct firn_relocation rule = config->relocations[i];
        if (rule.from.len == 0 || rule.to.len == 0)
            return firn_fail(op, FIRN_USAGE, "relocation '%.*s' to '%.*s': both sides need a location",
                             FIRN_FMT(rule.from), FIRN_FMT(rule.to));
        struct firn_text from = without_trailing_slashes(normal_spelling(op, rule.from));
        struct firn_text to = without_trailing_slashes(rule.to);
        store->relocations[store->relocation_count++] = (struct firn_relocation){
            .from = firn_text_copy(&store->arena, from),
            .to = firn_text_copy(&store->arena, to),
        };
    }
    return FIRN_OK;
}

firn_status firn_store_open_driver(struct firn_op *op, const struct firn_store_config *config,
                                   const struct firn_store_driver *driver, void *state, struct firn_store **out)
{
    struct firn_arena arena;
    firn_arena_init(&arena);
    struct firn_store *store = FIRN_NEW(&arena, struct firn_store);
    *store = (struct firn_store){ .driver = driver, .state = state, .arena = arena };
    firn_status status = config ? copy_relocations(op, store, config) : FIRN_OK;
    if (status != FIRN_OK) {
        firn_store_close(store);
        return status;
    }
    *out = store;
    return FIRN_OK;
}

firn_status firn_store_open(struct firn_op *op, const struct firn_store_config *config, struct firn_store **out)
{
    struct firn_store *store;
    FIRN_TRY(firn_store_open_driver(op, config, &firn_local_driver, NULL, &store));
    store->relaxed = config && config->relaxed;
    store->state = store->relaxed ? store : NULL; /* any state but NULL, see driver.h */
    *out = store;
    return FIRN_OK;
}

bool firn_store_is_relaxed(const struct firn_store *store)
{
    return store && store->relaxed;
}

/* Counting -------------------------------------------------------------------------------------------------------- */

/* Entries a listing, and objects a deletion, that object stores take as one request. */
enum { ITEMS_PER_REQUEST = FIRN_STORE_DELETE_MAX };

static void count_requests(struct firn_store_counts *counts, enum firn_request kind, size_t number)
{
    atomic_fetch_add_explicit(&counts->requests[kind], (int_fast64_t)number, memory_order_relaxed);
}

static size_t requests_for(size_t items)
{
    return items / ITEMS_PER_REQUEST + (items % ITEMS_PER_REQUEST != 0);
}

struct firn_work firn_store_work(const struct firn_store *store)
{
    struct firn_work work = {
        .bytes_read = atomic_load_explicit(&store->counts.bytes_read, memory_order_relaxed),
        .bytes_written = atomic_load_explicit(&store->counts.bytes_written, memory_order_relaxed),
    };
    for (int kind = 0; kind < FIRN_REQUEST_COUNT; kind++)
        work.requests[kind] = atomic_load_explicit(&store->counts.requests[kind], memory_order_relaxed);
    return work;
}

/* ----------------------------------------------------------------------------------------------------------------- */

void firn_store_close(struct firn_store *store)
{
    if (!store)
        return;
    if (store->driver->close)
        store->driver->close(store->state);
    struct firn_arena arena = store->arena;
    firn_arena_done(&arena);
}

static bool matches(const struct firn_relocation *rule, struct firn_text spelled)
{
    return firn_text_starts(spelled, rule->from) &&
           (spelled.len == rule->from.len || spelled.data[rule->from.len] == '/');
}

static const struct firn_relocation *find_relocation(const struct firn_store *store, struct firn_text spelled)
{
    const struct firn_relocation *best = NULL;
    for (size_t i = 0; i < store->relocation_count; i++) {
        const struct firn_relocation *rule = &store->relocations[i];
        if (matches(rule, spelled) && (!best || rule->from.len > best->from.len))
            best = rule;
    }
    return best;
}

/* The location a driver gets: checked, relocated, and followed by a NUL. */
static firn_status resolve(struct firn_op *op, const struct firn_store *store, struct firn_text location,
                           struct firn_text *out)
{
    if (location.len == 0)
        return firn_fail(op, FIRN_USAGE, "the location is empty");
    if (memchr(location.data, 0, location.len))
        return firn_fail(op, FIRN_CORRUPT, "location '%.*s' holds a NUL byte",
                         FIRN_FMT(firn_text_printable(op->arena, location)));
    if (store->relocation_count > 0) {
        struct firn_text spelled = normal_spelling(op, location);
        const struct firn_relocation *rule = find_relocation(store, spelled);
        if (rule) {
            *out = firn_text_join(op->arena, rule->to, firn_text_from(spelled, rule->from.len));
            return FIRN_OK;
        }
    }
    *out = firn_text_copy(op->arena, location);
    return FIRN_OK;
}

firn_status firn_store_local_path(struct firn_op *op, struct firn_store *store, struct firn_text location,
                                  struct firn_text *out)
{
    struct firn_text resolved;
    FIRN_TRY(resolve(op, store, location, &resolved));
    if (store->driver != &firn_local_driver)
        return firn_fail(op, FIRN_UNSUPPORTED, "'%.*s' does not lie in a local folder", FIRN_FMT(location));
    return firn_location_local_path(op, resolved, out);
}

firn_status firn_store_stat(struct firn_op *op, struct firn_store *store, struct firn_text location,
                            struct firn_store_stat *out)
{
    struct firn_text resolved;
    FIRN_TRY(resolve(op, store, location, &resolved));
    count_requests(&store->counts, FIRN_REQUEST_GET, 1);
    return store->driver->stat(op, store->state, resolved, out);
}

bool firn_store_expect(struct firn_op *op, struct firn_store *store, struct firn_text location)
{
    if (!store->driver->expect)
        return false;
    struct firn_op inner = *op; /* keeps what is stated there out of op->error */
    struct firn_scratch scratch;
    struct firn_text resolved;
    bool is_far = true;
    firn_scratch_begin(&inner, &scratch);
    if (resolve(&inner, store, location, &resolved) == FIRN_OK)
        is_far = store->driver->expect(&inner, store->state, resolved);
    firn_scratch_end(&inner, &scratch);
    return is_far;
}

static struct firn_object *object_around(struct firn_source *source)
{
    return (struct firn_object *)(void *)((uint8_t *)source - offsetof(struct firn_object, source));
}

/* Only sources that lie in an object are read by this. */
static firn_status read_source(struct firn_op *op, struct firn_source *source, uint64_t offset, size_t len,
                               uint8_t *out)
{
    return firn_object_read(op, object_around(source), offset, len, out);
}

struct firn_object *firn_source_object(struct firn_source *source)
{
    return source->read == read_source ? object_around(source) : NULL;
}

struct firn_source *firn_object_source(struct firn_object *object)
{
    return firn_local_descriptor(object) >= 0 ? &object->source : NULL;
}

uint64_t firn_store_bytes_copied(const struct firn_store *store)
{
    return (uint64_t)atomic_load_explicit(&store->counts.bytes_copied, memory_order_relaxed);
}

firn_status firn_object_open(struct firn_op *op, struct firn_store *store, struct firn_text location,
                             struct firn_object **out)
{
    struct firn_text resolved;
    FIRN_TRY(resolve(op, store, location, &resolved));
    count_requests(&store->counts, FIRN_REQUEST_GET, 1);
    FIRN_TRY(store->driver->open(op, store->state, resolved, out));
    (*out)->counts = &store->counts;
    (*out)->source.read = read_source;
    return FIRN_OK;
}

void firn_object_close(struct firn_object *object)
{
    if (object)
        object->close(object);
}

uint64_t firn_object_size(const struct firn_object *object)
{
    return object->size;
}

struct firn_text firn_object_location(const struct firn_object *object)
{
    return object->location;
}

firn_status firn_object_read(struct firn_op *op, struct firn_object *object, uint64_t offset, size_t len, uint8_t *out)
{
    if (offset > object->size || len > object->size - offset)
        return firn_fail(op, FIRN_CORRUPT, "'%.*s' ends at byte %" PRIu64 ", but %zu bytes at %" PRIu64 " are wanted",
                         FIRN_FMT(object->location), object->size, len, offset);
    if (len == 0)
        return FIRN_OK;
    count_requests(object->counts, FIRN_REQUEST_GET, 1);
    atomic_fetch_add_explicit(&object->counts->bytes_read, (int_fast64_t)len, memory_order_relaxed);
    return object->read(op, object, offset, len, out);
}

firn_status firn_object_read_range(struct firn_op *op, struct firn_object *object, uint64_t offset, uint64_t len,
                                   struct firn_buffer *out)
{
    FIRN_TRY(firn_buffer_resize(op, out, (size_t)len));
    return firn_object_read(op, object, offset, out->len, out->data);
}

static firn_status read_whole(struct firn_op *op, struct firn_object *object, uint64_t size_max,
                              struct firn_buffer *out)
{
    if (object->size > size_max)
        return firn_fail(op, FIRN_LIMIT, "'%.*s' has %" PRIu64 " bytes, at most %" PRIu64 " are read",
                         FIRN_FMT(object->location), object->size, size_max);
    if (object->size > SIZE_MAX)
        return firn_fail(op, FIRN_LIMIT, "'%.*s' does not fit into memory", FIRN_FMT(object->location));
    firn_buffer_clear(out);
    return firn_object_read_range(op, object, 0, object->size, out);
}

firn_status firn_store_read(struct firn_op *op, struct firn_store *store, struct firn_text location, uint64_t size_max,
                            struct firn_buffer *out)
{
    struct firn_object *object;
    FIRN_TRY(firn_object_open(op, store, location, &object));
    firn_status status = read_whole(op, object, size_max, out);
    firn_object_close(object);
    return status;
}

firn_status firn_store_write(struct firn_op *op, struct firn_store *store, struct firn_text location, bool exclusive,
                             struct firn_store_writer **out)
{
    struct firn_text resolved;
    FIRN_TRY(resolve(op, store, location, &resolved));
    if (op->watch)
        FIRN_TRY(op->watch->before_write(op, op->watch->context, location));
    FIRN_TRY(store->driver->write(op, store->state, resolved, exclusive, out));
    (*out)->counts = &store->counts;
    return FIRN_OK;
}

struct firn_sink *firn_store_writer_sink(struct firn_store_writer *writer)
{
    return &writer->sink;
}

firn_status firn_store_writer_finish(struct firn_op *op, struct firn_store_writer *writer)
{
    count_requests(writer->counts, FIRN_REQUEST_PUT, 1);
    atomic_fetch_add_explicit(&writer->counts->bytes_written, (int_fast64_t)writer->sink.offset, memory_order_relaxed);
    firn_status status = writer->finish(op, writer);
    writer->close(writer);
    return status;
}

void firn_store_writer_close(struct firn_store_writer *writer)
{
    if (writer)
        writer->close(writer);
}

firn_status firn_store_put(struct firn_op *op, struct firn_store *store, struct firn_text location, bool exclusive,
                           struct firn_bytes content)
{
    struct firn_store_writer *writer;
    FIRN_TRY(firn_store_write(op, store, location, exclusive, &writer));
    firn_status status = firn_sink_write(op, &writer->sink, content);
    if (status != FIRN_OK) {
        firn_store_writer_close(writer);
        return status;
    }
    return firn_store_writer_finish(op, writer);
}

/* A listing: counts a driver's entries, and gives them the spelling the caller used for the folder. */
struct listing {
    struct firn_text prefix; /* as the caller wrote it */
    bool is_respelled;
    size_t resolved_len;
    size_t count;
    firn_store_visit *visit;
    void *context;
};

static firn_status visit_respelled(struct firn_op *op, const struct listing *listing,
                                   const struct firn_store_entry *entry)
{
    struct firn_arena scratch;
    firn_arena_init(&scratch);
    struct firn_store_entry respelled = *entry;
    respelled.location =
        firn_location_join(&scratch, listing->prefix, firn_text_from(entry->location, listing->resolved_len));
    firn_status status = listing->visit(op, listing->context, &respelled);
    firn_arena_done(&scratch);
    return status;
}

static firn_status visit_entry(struct firn_op *op, void *context, const struct firn_store_entry *entry)
{
    struct listing *listing = context;
    listing->count++;
    return listing->is_respelled ? visit_respelled(op, listing, entry) : listing->visit(op, listing->context, entry);
}

firn_status firn_store_list(struct firn_op *op, struct firn_store *store, struct firn_text prefix, bool recursive,
                            firn_store_visit *visit, void *context)
{
    struct firn_text resolved;
    FIRN_TRY(resolve(op, store, prefix, &resolved));
    struct listing listing = {
        .prefix = prefix,
        .is_respelled = !firn_text_same(resolved, prefix),
        .resolved_len = without_trailing_slashes(resolved).len,
        .visit = visit,
        .context = context,
    };
    firn_status status = store->driver->list(op, store->state, resolved, recursive, visit_entry, &listing);
    size_t requests = requests_for(listing.count);
    count_requests(&store->counts, FIRN_REQUEST_LIST, requests ? requests : 1);
    return status;
}

/* A path that climbs can name anything: nothing that metadata records is deleted through one. */
static bool climbs(struct firn_text location)
{
    while (location.len > 0) {
        ptrdiff_t slash = firn_text_find(location, '/');
        struct firn_text part = slash < 0 ? location : firn_text_until(location, (size_t)slash);
        if (firn_text_is(part, ".."))
            return true;
        location = firn_text_from(location, slash < 0 ? location.len : (size_t)slash + 1);
    }
    return false;
}

static firn_status remove_one(struct firn_op *op, struct firn_store *store, struct firn_text location)
{
    struct firn_text resolved;
    if (climbs(location))
        return firn_fail(op, FIRN_DENIED, "'%.*s' has a '..' part and is never deleted", FIRN_FMT(location));
    FIRN_TRY(resolve(op, store, location, &resolved));
    return store->driver->remove(op, store->state, resolved);
}

/* Millions of deletions leave nothing in the operation's arena. */
static firn_status remove_with_scratch(struct firn_op *op, struct firn_store *store, struct firn_text location)
{
    struct firn_arena *kept = op->arena;
    struct firn_arena scratch;
    firn_arena_init(&scratch);
    op->arena = &scratch;
    firn_status status = remove_one(op, store, location);
    op->arena = kept;
    firn_arena_done(&scratch);
    return status;
}

firn_status firn_store_delete_batch(struct firn_op *op, struct firn_store *store, struct firn_store_deletion *items,
                                    size_t count)
{
    firn_status told = FIRN_OK;
    count_requests(&store->counts, FIRN_REQUEST_DELETE, requests_for(count));
    for (size_t i = 0; i < count; i++) {
        if (told == FIRN_OK)
            told = firn_op_check(op);
        items[i].status = told == FIRN_OK ? remove_with_scratch(op, store, items[i].location) : told;
        if (items[i].status != FIRN_OK)
            items[i].why = firn_text_copy(op->arena, firn_text_of(op->error.text));
    }
    return told;
}

firn_status firn_store_delete(struct firn_op *op, struct firn_store *store, const struct firn_text *locations,
                              size_t count, size_t *failed_count)
{
    size_t failed = 0;
    for (size_t i = 0; i < count; i++) {
        struct firn_store_deletion deletion = { .location = locations[i] };
        FIRN_TRY(firn_store_delete_batch(op, store, &deletion, 1));
        if (deletion.status == FIRN_OK)
            continue;
        firn_log(op, FIRN_LOG_WARN, "cannot delete, skipping: %.*s", FIRN_FMT(deletion.why));
        failed++;
    }
    if (failed_count)
        *failed_count = failed;
    return FIRN_OK;
}

void firn_store_discard(struct firn_op *op, struct firn_store *store, const struct firn_text *locations, size_t count)
{
    struct firn_env env = *op->env;
    struct firn_op unhurried = *op;
    env.stop = NULL;
    unhurried.env = &env;
    unhurried.deadline_ms = INT64_MAX;
    FIRN_IGNORE(firn_store_delete(&unhurried, store, locations, count, NULL), "what is left is an orphan, and logged");
}

struct firn_text firn_store_key(struct firn_op *op, const struct firn_store *store, struct firn_text location)
{
    struct firn_arena *arena = op->arena;
    if (store->relocation_count > 0 && location.len > 0) {
        struct firn_text spelled = normal_spelling(op, location);
        const struct firn_relocation *rule = find_relocation(store, spelled);
        if (rule)
            location = firn_text_join(arena, rule->to, firn_text_from(spelled, rule->from.len));
    }
    struct firn_location_parts parts = firn_location_split(arena, location);
    if (parts.authority.len == 0 && (parts.scheme.len == 0 || firn_text_is(parts.scheme, "file")))
        return parts.path;
    bool s3 = firn_text_is(parts.scheme, "s3a") || firn_text_is(parts.scheme, "s3n");
    return firn_text_format(arena, "%.*s://%.*s%.*s", FIRN_FMT(s3 ? FIRN_TEXT("s3") : parts.scheme),
                            FIRN_FMT(parts.authority), FIRN_FMT(parts.path));
}
