/* Journals for people and programs: what runs have left, what the next run does about it, and clearing up alone. */
#include "maintain/journal.h"

#include "catalog/catalog.h"

static json_t *group_json(const struct firn_run *run, const struct firn_run_event *group, int64_t now_ms)
{
    static const char *const members[] = { "input_files", "input_bytes", "output_files", "rows_out" };
    json_t *json = json_object();
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        json_object_set(json, members[i], json_object_get(group->json, members[i]));
    firn_json_set_bool(json, "usable", firn_run_offers_group(run, group, now_ms));
    return json;
}

static firn_status count_line(struct firn_op *op, void *context, const json_t *line)
{
    (void)op;
    (void)line;
    ++*(int64_t *)context;
    return FIRN_OK;
}

static firn_status removal_json(struct firn_op *op, struct firn_store *store, const struct firn_run_event *removal,
                                json_t *list)
{
    int64_t count = 0;
    json_t *header, *json = json_object();
    json_array_append_new(list, json);
    firn_json_set_bool(json, "mark", json_is_true(json_object_get(removal->json, "mark")));
    FIRN_TRY(firn_event_read(op, store, removal->location, &header, count_line, &count));
    firn_json_set_i64(json, "files", count);
    return FIRN_OK;
}

static json_t *names_json(const struct firn_run *run)
{
    json_t *list = json_array();
    for (size_t i = 0; i < run->names.count; i++) {
        json_t *json = json_object();
        firn_json_set_text(json, "folder", run->names.items[i].folder);
        firn_json_set_text(json, "uuid", run->names.items[i].uuid);
        json_array_append_new(list, json);
    }
    return list;
}

static const char *next_step(const struct firn_run *run)
{
    switch (run->state) {
    case FIRN_RUN_LIVE:
        return "nothing, while it runs";
    case FIRN_RUN_TAKEN:
        return "nothing: another run clears up after it";
    case FIRN_RUN_OTHERS:
    case FIRN_RUN_UNREADABLE:
        return "nothing: it is left alone";
    default:
        break;
    }
    if (run->removals.count > 0)
        return "delete what it had to delete, where no snapshot reaches it";
    return run->groups.count > 0 ? "use the finished groups that still fit, and delete what it left unless a snapshot "
                                   "reaches it"
                                 : "delete what it left, unless a snapshot reaches it";
}

static firn_status run_json(struct firn_op *op, const struct firn_table *table, const struct firn_run *run,
                            json_t *list)
{
    json_t *json = json_object(), *groups = json_array(), *removals = json_array();
    json_array_append_new(list, json);
    firn_json_set_text(json, "run", run->id);
    firn_json_set_text_or_null(json, "procedure", run->procedure);
    firn_json_set_text(json, "state", firn_text_of(firn_run_state_name(run->state)));
    firn_json_set_i64(json, "began_ms", run->began_ms);
    firn_json_set_i64(json, "last_event_ms", run->last_ms);
    firn_json_set_text_or_null(json, "process", run->process);
    firn_json_set_text_or_null(json, "outcome", run->outcome);
    firn_json_set(json, "attempt_ms", run->attempt_ms > 0 ? json_integer(run->attempt_ms) : json_null());
    for (size_t i = 0; i < run->groups.count; i++)
        json_array_append_new(groups, group_json(run, &run->groups.items[i], firn_now_ms(op)));
    firn_json_set(json, "groups", groups);
    firn_json_set(json, "removals", removals);
    firn_json_set(json, "names", names_json(run));
    firn_json_set_text_or_null(json, "problem", run->problem);
    firn_json_set_text(json, "next", firn_text_of(next_step(run)));
    for (size_t i = 0; i < run->removals.count; i++)
        FIRN_TRY(removal_json(op, table->store, &run->removals.items[i], removals));
    return FIRN_OK;
}

firn_status firn_journals_json(struct firn_op *op, const struct firn_table *table, json_t **out)
{
    struct firn_runs runs;
    json_t *json = firn_json_own(op->arena, json_object()), *list = json_array();
    FIRN_TRY(firn_runs_read(op, table, &runs));
    firn_json_set_text(json, "folder", firn_journal_folder(op->arena, table->metadata));
    firn_json_set(json, "runs", list);
    for (size_t i = 0; i < runs.count; i++)
        FIRN_TRY(run_json(op, table, &runs.items[i], list));
    *out = json;
    return FIRN_OK;
}

firn_status firn_journals_clear(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                struct firn_journals_report *out)
{
    struct firn_journal *journal;
    struct firn_clearing cleared;
    *out = (struct firn_journals_report){ 0 };
    FIRN_TRY(firn_removal_check_gc(op, table));
    if (!table->catalog)
        return firn_fail(op, FIRN_USAGE, "table '%.*s' was opened for reading only", FIRN_FMT(table->name));
    FIRN_TRY(firn_journal_begin(op, pool, table, "journal", false, &journal));
    firn_journal_end(op, journal, FIRN_OK, false, &cleared);
    out->cleared_runs_count = cleared.run_count;
    out->left_runs_count = cleared.left_count;
    out->marked_files_count = cleared.marked_count;
    out->deleted_files_count = firn_clearing_file_count(&cleared) - cleared.marked_count;
    for (int type = 0; type < FIRN_TABLE_FILE_TYPE_COUNT; type++)
        out->deleted_bytes += cleared.removed.deleted[type].bytes;
    FIRN_TRY(firn_op_check(op));
    if (cleared.left_count == 0)
        return FIRN_OK;
    return firn_fail(op, FIRN_PARTIAL, "%" PRId64 " of %" PRId64 " runs could not be cleared up after",
                     cleared.left_count, cleared.left_count + cleared.run_count);
}
