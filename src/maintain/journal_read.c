/* Reading the journals of a table, and telling which runs are over. The invariants stand in journal.h; numbers in
 * comments refer to them. */
#include "maintain/journal.h"
#include "maintain/journal_event.h"
#include "table/location.h"

#include <stdlib.h>

#define HOUR_MS        INT64_C(3600000)
#define SILENCE_MS_MAX (3 * 24 * HOUR_MS) /* the age at which orphan removal takes files, unless told otherwise */
#define GROUP_MS_MAX   (24 * HOUR_MS)     /* the least age at which it takes any */

struct firn_text firn_journal_folder(struct firn_arena *arena, const struct firn_metadata *metadata)
{
    return firn_metadata_location(arena, metadata, FIRN_TEXT("_firn_journal"));
}

struct firn_text firn_run_begin_location(struct firn_arena *arena, const struct firn_metadata *metadata,
                                         const struct firn_run *run)
{
    return firn_event_location(arena, firn_journal_folder(arena, metadata), run->id, 0, "begin");
}

const char *firn_run_state_name(enum firn_run_state state)
{
    static const char *const names[] = {
        [FIRN_RUN_LIVE] = "running",          [FIRN_RUN_ENDED] = "ended", [FIRN_RUN_DEAD] = "killed",
        [FIRN_RUN_SILENT] = "lost",           [FIRN_RUN_TAKEN] = "taken", [FIRN_RUN_OTHERS] = "of another table",
        [FIRN_RUN_UNREADABLE] = "unreadable",
    };
    return names[state];
}

bool firn_run_is_over(const struct firn_run *run)
{
    return run->state == FIRN_RUN_ENDED || run->state == FIRN_RUN_DEAD || run->state == FIRN_RUN_SILENT;
}

bool firn_run_offers_group(const struct firn_run *run, const struct firn_run_event *group, int64_t now_ms)
{
    const json_t *time = json_object_get(group->json, "time_ms");
    bool is_surely_over = run->has_begin && (run->state == FIRN_RUN_ENDED || run->state == FIRN_RUN_DEAD);
    return is_surely_over && json_is_integer(time) && now_ms - json_integer_value(time) < GROUP_MS_MAX;
}

/* Events --------------------------------------------------------------------------------------------------------- */

/* An event that was listed. */
struct listed {
    struct firn_text location;
    struct firn_event_name name;
};
struct listing {
    struct listed *items;
    size_t count, capacity;
};

static firn_status take_listed(struct firn_op *op, void *context, const struct firn_store_entry *entry)
{
    struct listing *listing = context;
    struct firn_event_name name;
    if (!firn_event_name_parse(entry->location, &name))
        return FIRN_OK;
    struct listed event = { .location = firn_text_copy(op->arena, entry->location) };
    firn_event_name_parse(event.location, &event.name);
    FIRN_PUSH(op->arena, listing, event);
    return FIRN_OK;
}

static int compare_listed(const void *a, const void *b)
{
    const struct listed *left = a, *right = b;
    int order = firn_text_compare(left->name.run_id, right->name.run_id);
    return order ? order : left->name.number < right->name.number ? -1 : left->name.number > right->name.number;
}

struct reading_names {
    struct firn_arena *arena; /* keeps what is read */
    struct firn_run *run;
};

static firn_status take_names(struct firn_op *op, void *context, const json_t *line)
{
    struct reading_names *reading = context;
    struct firn_run_names names;
    FIRN_TRY(firn_json_need_text(op, line, "folder", "name", &names.folder));
    FIRN_TRY(firn_json_need_text(op, line, "uuid", "name", &names.uuid));
    names.folder = firn_text_copy(reading->arena, names.folder);
    names.uuid = firn_text_copy(reading->arena, names.uuid);
    FIRN_PUSH(reading->arena, &reading->run->names, names);
    return FIRN_OK;
}

static firn_status take_begin(struct firn_op *op, const json_t *json, struct firn_run *run)
{
    run->has_begin = true;
    FIRN_TRY(firn_json_need_text(op, json, "procedure", "begin", &run->procedure));
    FIRN_TRY(firn_json_need_text(op, json, "process", "begin", &run->process));
    FIRN_TRY(firn_json_need_text(op, json, "table_uuid", "begin", &run->table_uuid));
    return firn_json_need_i64(op, json, "time_ms", "begin", &run->began_ms);
}

static firn_status take_taken(struct firn_op *op, const json_t *json, const struct listed *event, struct firn_run *run)
{
    if (event->name.number <= run->taken_number)
        return FIRN_OK;
    run->taken_number = event->name.number;
    return firn_json_need_text(op, json, "by", "taken", &run->taker);
}

static firn_status take_event(struct firn_op *op, struct firn_run *run, const struct listed *event, json_t *json)
{
    int64_t time_ms;
    struct firn_run_event kept = { event->location, json };
    FIRN_TRY(firn_json_need_i64(op, json, "time_ms", "event", &time_ms));
    if (firn_text_is(event->name.kind, "begin"))
        FIRN_TRY(take_begin(op, json, run));
    else
        FIRN_PUSH(op->arena, &run->events, event->location);
    if (firn_text_is(event->name.kind, "taken")) /* the taker's */
        return take_taken(op, json, event, run);
    run->last_ms = time_ms > run->last_ms ? time_ms : run->last_ms;
    if (firn_text_is(event->name.kind, "group"))
        FIRN_PUSH(op->arena, &run->groups, kept);
    else if (firn_text_is(event->name.kind, "removal"))
        FIRN_PUSH(op->arena, &run->removals, kept);
    else if (firn_text_is(event->name.kind, "attempt"))
        run->attempt_ms = time_ms > run->attempt_ms ? time_ms : run->attempt_ms;
    if (!firn_text_is(event->name.kind, "end"))
        return FIRN_OK;
    run->has_end = true;
    return firn_json_need_text(op, json, "outcome", "end", &run->outcome);
}

/* An event that cannot be understood makes its run one that is left alone (5); one that has gone is passed over. */
static firn_status read_event(struct firn_op *op, struct firn_store *store, struct firn_run *run,
                              const struct listed *event)
{
    json_t *json;
    struct reading_names reading = { op->arena, run };
    bool has_names = firn_text_is(event->name.kind, "names");
    firn_status status = firn_event_read(op, store, event->location, &json, has_names ? take_names : NULL, &reading);
    if (status == FIRN_NOT_FOUND)
        return FIRN_OK;
    if (status == FIRN_OK)
        status = firn_context(op, take_event(op, run, event, json), "journal event '%.*s'", FIRN_FMT(event->location));
    if (status != FIRN_CORRUPT)
        return status;
    run->problem = firn_text_copy(op->arena, firn_text_of(op->error.text));
    return FIRN_OK;
}

/* States --------------------------------------------------------------------------------------------------------- */

/* (2), but for who has taken it. */
static enum firn_run_state judge(struct firn_op *op, const struct firn_table *table, const struct firn_run *run)
{
    if (run->problem.len > 0)
        return FIRN_RUN_UNREADABLE;
    if (!run->has_begin) /* it was cleared up, but for these events: (5) */
        return FIRN_RUN_DEAD;
    if (!firn_text_same_nocase(run->table_uuid, table->metadata->table_uuid))
        return FIRN_RUN_OTHERS;
    if (run->has_end)
        return FIRN_RUN_ENDED;
    enum firn_process_state process = run->process.len > 0 ? firn_process_state(op, run->process) : FIRN_PROCESS_UNTOLD;
    if (process != FIRN_PROCESS_UNTOLD)
        return process == FIRN_PROCESS_RUNS ? FIRN_RUN_LIVE : FIRN_RUN_DEAD;
    return firn_now_ms(op) - run->last_ms > SILENCE_MS_MAX ? FIRN_RUN_SILENT : FIRN_RUN_LIVE;
}

static bool is_live(const struct firn_runs *runs, struct firn_text id)
{
    for (size_t i = 0; i < runs->count; i++)
        if (firn_text_same(runs->items[i].id, id))
            return runs->items[i].state == FIRN_RUN_LIVE;
    return false;
}

static int compare_runs(const void *a, const void *b)
{
    const struct firn_run *left = a, *right = b;
    return left->began_ms < right->began_ms ? -1 : left->began_ms > right->began_ms;
}

static void judge_all(struct firn_op *op, const struct firn_table *table, struct firn_runs *runs)
{
    for (size_t i = 0; i < runs->count; i++)
        runs->items[i].state = judge(op, table, &runs->items[i]);
    for (size_t i = 0; i < runs->count; i++)
        if (firn_run_is_over(&runs->items[i]) && is_live(runs, runs->items[i].taker))
            runs->items[i].state = FIRN_RUN_TAKEN;
    if (runs->count > 1)
        qsort(runs->items, runs->count, sizeof *runs->items, compare_runs);
}

firn_status firn_runs_read(struct firn_op *op, const struct firn_table *table, struct firn_runs *out)
{
    struct listing listing = { 0 };
    struct firn_text folder = firn_journal_folder(op->arena, table->metadata);
    *out = (struct firn_runs){ 0 };
    FIRN_TRY(firn_context(op, firn_store_list(op, table->store, folder, false, take_listed, &listing), "journal '%.*s'",
                          FIRN_FMT(folder)));
    if (listing.count == 0)
        return FIRN_OK;
    qsort(listing.items, listing.count, sizeof *listing.items, compare_listed);
    out->items = FIRN_NEW_ARRAY(op->arena, struct firn_run, listing.count);
    for (size_t i = 0; i < listing.count; i++) {
        const struct listed *event = &listing.items[i];
        if (i == 0 || !firn_text_same(event->name.run_id, listing.items[i - 1].name.run_id))
            out->items[out->count++].id = event->name.run_id;
        FIRN_TRY(read_event(op, table->store, &out->items[out->count - 1], event));
    }
    judge_all(op, table, out);
    return FIRN_OK;
}
