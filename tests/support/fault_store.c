/* The fault store. */
#include "support/fault_store.h"

#include "base/math.h"
#include "store/driver.h"

#include <stdlib.h>
#include <time.h>

enum { TOGETHER_MS_MAX = 60000 };

struct fault_state {
    struct firn_store *inner;
    struct fault fault;
    struct fault_report *report;
};

const char *fault_name(enum fault_kind kind)
{
    static const char *const names[] = {
        [FAULT_ERROR] = "error",    [FAULT_ANSWER_LOST] = "answer lost", [FAULT_SHORT_READ] = "short read",
        [FAULT_FULL] = "disk full", [FAULT_KILLED] = "killed",
    };
    return names[kind];
}

enum call { CALL_READ, CALL_WRITE, CALL_DELETE };

/* Whether the kind of fault meets this kind of call. */
static bool is_counted(enum fault_kind kind, enum call call)
{
    return kind == FAULT_FULL ? call == CALL_WRITE : kind != FAULT_KILLED || call != CALL_READ;
}

static bool is_due(struct fault_state *state, enum call call)
{
    bool is_killed = state->fault.kind == FAULT_KILLED && atomic_load(&state->report->fired);
    if (is_killed || !is_counted(state->fault.kind, call))
        return is_killed;
    if (atomic_fetch_add(&state->report->calls, 1) != state->fault.at_call)
        return false;
    atomic_store(&state->report->fired, true);
    return true;
}

static firn_status injected(struct firn_op *op, const struct fault_state *state, const char *call)
{
    firn_status status = state->fault.kind == FAULT_ANSWER_LOST ? FIRN_UNAVAILABLE
                         : state->fault.kind == FAULT_FULL      ? FIRN_LIMIT
                                                                : FIRN_SYSTEM;
    return firn_fail(op, status, "injected fault in %s", call);
}

static firn_status fault_stat(struct firn_op *op, void *context, struct firn_text location, struct firn_store_stat *out)
{
    struct fault_state *state = context;
    if (is_due(state, CALL_READ))
        return injected(op, state, "stat");
    return firn_store_stat(op, state->inner, location, out);
}

struct fault_object {
    struct firn_object base;
    struct firn_object *inner;
    struct fault_state *state;
};

static firn_status fault_read(struct firn_op *op, struct firn_object *base, uint64_t offset, size_t len, uint8_t *out)
{
    struct fault_object *object = (struct fault_object *)base;
    if (!is_due(object->state, CALL_READ))
        return firn_object_read(op, object->inner, offset, len, out);
    if (object->state->fault.kind != FAULT_SHORT_READ)
        return injected(op, object->state, "read");
    FIRN_TRY(firn_object_read(op, object->inner, offset, len / 2, out));
    return firn_fail(op, FIRN_CORRUPT, "injected short read");
}

static void fault_object_close(struct firn_object *base)
{
    firn_object_close(((struct fault_object *)base)->inner);
    free(base);
}

static firn_status fault_open(struct firn_op *op, void *context, struct firn_text location, struct firn_object **out)
{
    struct fault_state *state = context;
    struct firn_object *inner;
    if (is_due(state, CALL_READ))
        return injected(op, state, "open");
    if (state->fault.watched && strstr(location.data, state->fault.watched))
        atomic_fetch_add(&state->report->watched_opens, 1);
    FIRN_TRY(firn_object_open(op, state->inner, location, &inner));
    struct fault_object *object = calloc(1, sizeof *object);
    if (!object)
        abort();
    *object = (struct fault_object){
        .base = { .read = fault_read,
                  .close = fault_object_close,
                  .size = firn_object_size(inner),
                  .location = firn_object_location(inner) },
        .inner = inner,
        .state = state,
    };
    *out = &object->base;
    return FIRN_OK;
}

/* Never fails, and so is no call that is counted. */
static bool fault_expect(struct firn_op *op, void *context, struct firn_text location)
{
    struct fault_state *state = context;
    struct fault_report *report = state->report;
    int ahead = (int)atomic_fetch_add(&report->expected, 1) + 1 - (int)atomic_load(&report->watched_opens);
    atomic_store(&report->expected_ahead, FIRN_MAX(ahead, atomic_load(&report->expected_ahead)));
    (void)firn_store_expect(op, state->inner, location);
    return !state->fault.at_hand;
}

struct fault_writer {
    struct firn_store_writer base;
    struct firn_store_writer *inner;
    struct fault_state *state;
};

static firn_status fault_sink_write(struct firn_op *op, void *context, struct firn_bytes bytes)
{
    struct fault_writer *writer = context;
    if (is_due(writer->state, CALL_WRITE))
        return injected(op, writer->state, "write");
    return firn_sink_write(op, firn_store_writer_sink(writer->inner), bytes);
}

static firn_status fault_finish(struct firn_op *op, struct firn_store_writer *base)
{
    struct fault_writer *writer = (struct fault_writer *)base;
    bool due = is_due(writer->state, CALL_WRITE);
    if (due && writer->state->fault.kind != FAULT_ANSWER_LOST)
        return injected(op, writer->state, "finish");
    struct firn_store_writer *inner = writer->inner;
    writer->inner = NULL;
    FIRN_TRY(firn_store_writer_finish(op, inner));
    return due ? injected(op, writer->state, "finish") : FIRN_OK;
}

static void fault_writer_close(struct firn_store_writer *base)
{
    firn_store_writer_close(((struct fault_writer *)base)->inner);
    free(base);
}

static firn_status fault_write(struct firn_op *op, void *context, struct firn_text location, bool exclusive,
                               struct firn_store_writer **out)
{
    struct fault_state *state = context;
    struct firn_store_writer *inner;
    if (is_due(state, CALL_WRITE))
        return injected(op, state, "create");
    FIRN_TRY(firn_store_write(op, state->inner, location, exclusive, &inner));
    struct fault_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        abort();
    *writer = (struct fault_writer){
        .base = { .finish = fault_finish,
                  .close = fault_writer_close,
                  .sink = { .write = fault_sink_write, .context = writer } },
        .inner = inner,
        .state = state,
    };
    *out = &writer->base;
    return FIRN_OK;
}

static firn_status fault_list(struct firn_op *op, void *context, struct firn_text prefix, bool recursive,
                              firn_store_visit *visit, void *visit_context)
{
    struct fault_state *state = context;
    bool due = is_due(state, CALL_READ);
    if (due && state->fault.kind != FAULT_ANSWER_LOST)
        return injected(op, state, "list");
    FIRN_TRY(firn_store_list(op, state->inner, prefix, recursive, visit, visit_context));
    return due ? injected(op, state, "list") : FIRN_OK;
}

/* Counts a deletion in, and keeps it until enough of them are under way at once. */
static void begin_deletion(struct fault_state *state)
{
    struct fault_report *report = state->report;
    unsigned now = atomic_fetch_add(&report->deleting, 1) + 1, most = atomic_load(&report->deleting_most);
    while (now > most && !atomic_compare_exchange_weak(&report->deleting_most, &most, now))
        ;
    for (int ms = 0; ms < TOGETHER_MS_MAX && atomic_load(&report->deleting_most) < state->fault.together; ms++)
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static firn_status remove_object(struct firn_op *op, struct fault_state *state, struct firn_text location)
{
    unsigned earlier = atomic_fetch_add(&state->report->deletions, 1);
    if (state->fault.refused && firn_text_ends(location, firn_text_of(state->fault.refused)))
        return firn_fail(op, FIRN_DENIED, "'%.*s' is refused", FIRN_FMT(location));
    if (earlier < state->fault.busy_count)
        return firn_fail(op, FIRN_UNAVAILABLE, "slow down");
    bool due = is_due(state, CALL_DELETE);
    if (due && state->fault.kind != FAULT_ANSWER_LOST)
        return injected(op, state, "delete");
    FIRN_TRY(firn_store_delete(op, state->inner, &location, 1, NULL));
    return due ? injected(op, state, "delete") : FIRN_OK;
}

static firn_status fault_remove(struct firn_op *op, void *context, struct firn_text location)
{
    struct fault_state *state = context;
    begin_deletion(state);
    firn_status status = remove_object(op, state, location);
    atomic_fetch_sub(&state->report->deleting, 1);
    return status;
}

static const struct firn_store_driver fault_driver = {
    .stat = fault_stat,
    .open = fault_open,
    .expect = fault_expect,
    .write = fault_write,
    .list = fault_list,
    .remove = fault_remove,
    .close = free,
};

firn_status fault_store_open(struct firn_op *op, struct firn_store *inner, struct fault fault,
                             struct fault_report *report, struct firn_store **out)
{
    struct fault_state *state = calloc(1, sizeof *state);
    if (!state)
        abort();
    *state = (struct fault_state){ .inner = inner, .fault = fault, .report = report };
    *report = (struct fault_report){ 0 };
    return firn_store_open_driver(op, NULL, &fault_driver, state, out);
}

struct copying {
    struct firn_store *from;
    struct firn_store *to;
};

static firn_status copy_one(struct firn_op *op, void *context, const struct firn_store_entry *entry)
{
    const struct copying *copying = context;
    struct firn_buffer content = { 0 };
    firn_status status = firn_store_read(op, copying->from, entry->location, UINT64_MAX, &content);
    if (status == FIRN_OK)
        status = firn_store_put(op, copying->to, entry->location, false, firn_buffer_bytes(&content));
    firn_buffer_done(&content);
    return status;
}

firn_status store_copy(struct firn_op *op, struct firn_store *from, struct firn_store *to, struct firn_text prefix)
{
    struct copying copying = { .from = from, .to = to };
    return firn_store_list(op, from, prefix, true, copy_one, &copying);
}

static firn_status count_one(struct firn_op *op, void *context, const struct firn_store_entry *entry)
{
    (void)op;
    (void)entry;
    ++*(size_t *)context;
    return FIRN_OK;
}

firn_status store_count(struct firn_op *op, struct firn_store *store, struct firn_text prefix, size_t *count)
{
    *count = 0;
    return firn_store_list(op, store, prefix, true, count_one, count);
}

bool store_has(struct firn_op *op, struct firn_store *store, struct firn_text location)
{
    struct firn_store_stat info;
    return firn_store_stat(op, store, location, &info) == FIRN_OK;
}
