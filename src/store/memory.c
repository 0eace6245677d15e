/* The memory driver: objects by their exact location, for tests. Content never changes once visible, so readers keep
 * what they opened. */
#include "store/driver.h"

#include "base/map.h"

#include <pthread.h>
#include <stdlib.h>

/* Shared by the store and its open readers. */
struct blob {
    atomic_size_t users;
    struct firn_buffer content;
    int64_t modified_ms;
};

struct memory {
    pthread_mutex_t lock;
    struct firn_map blobs; /* location to blob, NULL after a deletion; guarded by `lock` */
    struct firn_arena arena;
};

static void blob_release(struct blob *blob)
{
    if (!blob || atomic_fetch_sub(&blob->users, 1) > 1)
        return;
    firn_buffer_done(&blob->content);
    free(blob);
}

/* The blob of a location with one more user, or NULL. */
static struct blob *blob_acquire(struct memory *memory, struct firn_text location)
{
    pthread_mutex_lock(&memory->lock);
    struct firn_map_entry *entry = firn_map_find_text(&memory->blobs, location);
    struct blob *blob = entry ? entry->value.pointer : NULL;
    if (blob)
        atomic_fetch_add(&blob->users, 1);
    pthread_mutex_unlock(&memory->lock);
    return blob;
}

static firn_status no_object(struct firn_op *op, struct firn_text location)
{
    return firn_fail(op, FIRN_NOT_FOUND, "'%.*s' does not exist", FIRN_FMT(location));
}

static firn_status memory_stat(struct firn_op *op, void *state, struct firn_text location, struct firn_store_stat *out)
{
    struct blob *blob = blob_acquire(state, location);
    if (!blob)
        return no_object(op, location);
    *out = (struct firn_store_stat){ .size = blob->content.len, .modified_ms = blob->modified_ms };
    blob_release(blob);
    return FIRN_OK;
}

struct memory_object {
    struct firn_object base;
    struct blob *blob;
    struct firn_arena arena; /* holds the object itself */
};

static firn_status memory_read(struct firn_op *op, struct firn_object *base, uint64_t offset, size_t len, uint8_t *out)
{
    (void)op;
    memcpy(out, ((struct memory_object *)base)->blob->content.data + offset, len);
    return FIRN_OK;
}

static void memory_object_close(struct firn_object *base)
{
    struct memory_object *object = (struct memory_object *)base;
    blob_release(object->blob);
    struct firn_arena arena = object->arena;
    firn_arena_done(&arena);
}

static firn_status memory_open(struct firn_op *op, void *state, struct firn_text location, struct firn_object **out)
{
    struct blob *blob = blob_acquire(state, location);
    if (!blob)
        return no_object(op, location);
    struct firn_arena arena;
    firn_arena_init(&arena);
    struct memory_object *object = FIRN_NEW(&arena, struct memory_object);
    object->base = (struct firn_object){
        .read = memory_read,
        .close = memory_object_close,
        .size = blob->content.len,
        .location = firn_text_copy(&arena, location),
    };
    object->blob = blob;
    object->arena = arena;
    *out = &object->base;
    return FIRN_OK;
}

struct memory_writer {
    struct firn_store_writer base;
    struct memory *memory;
    struct firn_text location;
    bool exclusive;
    struct blob *blob;
    struct firn_arena arena; /* holds the writer itself */
};

static firn_status memory_sink_write(struct firn_op *op, void *context, struct firn_bytes bytes)
{
    struct memory_writer *writer = context;
    return firn_buffer_append(op, &writer->blob->content, bytes.data, bytes.len);
}

static firn_status memory_finish(struct firn_op *op, struct firn_store_writer *base)
{
    struct memory_writer *writer = (struct memory_writer *)base;
    struct memory *memory = writer->memory;
    struct blob *published = writer->blob;
    published->modified_ms = firn_now_ms(op);
    pthread_mutex_lock(&memory->lock);
    struct firn_map_entry *entry = firn_map_find_text(&memory->blobs, writer->location);
    if (!entry)
        entry = firn_map_put_text(&memory->blobs, firn_text_copy(&memory->arena, writer->location));
    struct blob *old = entry->value.pointer;
    bool taken = old && writer->exclusive;
    if (!taken)
        entry->value.pointer = published;
    pthread_mutex_unlock(&memory->lock);
    if (taken)
        return firn_fail(op, FIRN_EXISTS, "'%.*s' exists already", FIRN_FMT(writer->location));
    writer->blob = NULL; /* the store's now */
    blob_release(old);
    return FIRN_OK;
}

static void memory_writer_close(struct firn_store_writer *base)
{
    struct memory_writer *writer = (struct memory_writer *)base;
    blob_release(writer->blob);
    struct firn_arena arena = writer->arena;
    firn_arena_done(&arena);
}

static firn_status memory_write(struct firn_op *op, void *state, struct firn_text location, bool exclusive,
                                struct firn_store_writer **out)
{
    struct blob *blob = calloc(1, sizeof *blob);
    if (!blob)
        return firn_fail(op, FIRN_LIMIT, "no memory for '%.*s'", FIRN_FMT(location));
    atomic_init(&blob->users, 1);
    struct firn_arena arena;
    firn_arena_init(&arena);
    struct memory_writer *writer = FIRN_NEW(&arena, struct memory_writer);
    *writer = (struct memory_writer){
        .base = { .finish = memory_finish,
                  .close = memory_writer_close,
                  .sink = { .write = memory_sink_write, .context = writer } },
        .memory = state,
        .location = firn_text_copy(&arena, location),
        .exclusive = exclusive,
        .blob = blob,
    };
    writer->arena = arena;
    *out = &writer->base;
    return FIRN_OK;
}

/* Whether a location lies below the folder, and directly so where `recursive` is false. `folder` has no slash at its
 * end. */
static bool is_below(struct firn_text folder, bool recursive, struct firn_text location)
{
    if (!firn_text_starts(location, folder) || location.len <= folder.len || location.data[folder.len] != '/')
        return false;
    return recursive || firn_text_find_last(location, '/') == (ptrdiff_t)folder.len;
}

/* Collects first, so that `visit` may use the store. */
static firn_status memory_list(struct firn_op *op, void *state, struct firn_text prefix, bool recursive,
                               firn_store_visit *visit, void *context)
{
    struct memory *memory = state;
    struct firn_text folder = prefix;
    while (folder.len > 0 && folder.data[folder.len - 1] == '/')
        folder.len--;
    FIRN_ARRAY(struct firn_store_entry) found = { 0 };
    pthread_mutex_lock(&memory->lock);
    for (size_t i = 0; i < memory->blobs.count; i++) {
        struct firn_text location = firn_text_of_bytes(memory->blobs.entries[i].key);
        const struct blob *blob = memory->blobs.entries[i].value.pointer;
        if (!blob || !is_below(folder, recursive, location))
            continue;
        struct firn_store_entry entry = {
            .location = location, /* keys stay until the store is closed */
            .size = blob->content.len,
            .modified_ms = blob->modified_ms,
        };
        FIRN_PUSH(op->arena, &found, entry);
    }
    pthread_mutex_unlock(&memory->lock);
    for (size_t i = 0; i < found.count; i++)
        FIRN_TRY(visit(op, context, &found.items[i]));
    return FIRN_OK;
}

static firn_status memory_remove(struct firn_op *op, void *state, struct firn_text location)
{
    (void)op;
    struct memory *memory = state;
    struct blob *removed = NULL;
    pthread_mutex_lock(&memory->lock);
    struct firn_map_entry *entry = firn_map_find_text(&memory->blobs, location);
    if (entry) {
        removed = entry->value.pointer;
        entry->value.pointer = NULL;
    }
    pthread_mutex_unlock(&memory->lock);
    blob_release(removed);
    return FIRN_OK;
}

static void memory_close(void *state)
{
    struct memory *memory = state;
    for (size_t i = 0; i < memory->blobs.count; i++)
        blob_release(memory->blobs.entries[i].value.pointer);
    pthread_mutex_destroy(&memory->lock);
    struct firn_arena arena = memory->arena;
    firn_arena_done(&arena);
    free(memory);
}

static const struct firn_store_driver memory_driver = {
    .stat = memory_stat,
    .open = memory_open,
    .write = memory_write,
    .list = memory_list,
    .remove = memory_remove,
    .close = memory_close,
};

firn_status firn_store_open_memory(struct firn_op *op, struct firn_store **out)
{
    struct memory *memory = calloc(1, sizeof *memory);
    if (!memory)
        return firn_fail(op, FIRN_LIMIT, "no memory for a store");
    pthread_mutex_init(&memory->lock, NULL);
    firn_map_init(&memory->blobs, &memory->arena);
    return firn_store_open_driver(op, NULL, &memory_driver, memory, out);
}
