/* Undelete: files are taken from the list of marks, so that no sweep deletes them. */
#include "maintain/mark.h"

struct undeleting {
    struct firn_text *folders; /* paths that were asked for */
    bool *found;
    size_t count;
    firn_orphan_visit *visit;
    void *context;
    struct firn_marks_writer *writer; /* NULL: marks are only looked at */
    struct firn_undelete_report *report;
    bool any_marks;
};

static bool is_asked_for(struct firn_op *op, struct undeleting *undeleting, const struct firn_mark *mark)
{
    struct firn_text path = firn_location_split(op->arena, mark->file.location).path;
    bool asked = undeleting->count == 0;
    for (size_t i = 0; i < undeleting->count; i++) {
        if (!firn_path_is_below(undeleting->folders[i], path))
            continue;
        undeleting->found[i] = asked = true;
    }
    return asked;
}

static firn_status look_at_mark(struct firn_op *op, void *context, const struct firn_mark *mark)
{
    struct undeleting *undeleting = context;
    undeleting->any_marks = true;
    (void)is_asked_for(op, undeleting, mark);
    return FIRN_OK;
}

static firn_status take_mark(struct firn_op *op, void *context, const struct firn_mark *mark)
{
    struct undeleting *undeleting = context;
    if (!is_asked_for(op, undeleting, mark)) {
        undeleting->report->kept_count++;
        return undeleting->writer ? firn_marks_writer_add(op, undeleting->writer, mark) : FIRN_OK;
    }
    undeleting->report->dropped_count++;
    return undeleting->visit ? undeleting->visit(op, undeleting->context, &mark->file) : FIRN_OK;
}

static firn_status check_found(struct firn_op *op, const struct undeleting *undeleting, const struct firn_text *paths,
                               struct firn_text list)
{
    for (size_t i = 0; i < undeleting->count; i++)
        if (!undeleting->found[i])
            return undeleting->any_marks
                       ? firn_fail(op, FIRN_NOT_FOUND, "there is no mark on '%.*s' in '%.*s'", FIRN_FMT(paths[i]),
                                   FIRN_FMT(list))
                       : firn_fail(op, FIRN_NOT_FOUND, "there is no mark on '%.*s': no file of the table is marked",
                                   FIRN_FMT(paths[i]));
    return FIRN_OK;
}

static firn_status rewrite_list(struct firn_op *op, struct firn_store *store, struct firn_text list,
                                struct undeleting *undeleting)
{
    struct firn_marks_writer writer;
    firn_marks_writer_init(&writer, store, list);
    undeleting->writer = &writer;
    firn_status status = firn_marks_read(op, store, list, take_mark, undeleting);
    if (status == FIRN_OK && undeleting->report->dropped_count > 0)
        status = firn_marks_writer_finish(op, &writer);
    firn_marks_writer_close(&writer);
    return status;
}

firn_status firn_undelete(struct firn_op *op, struct firn_table *table, const struct firn_text *paths,
                          size_t path_count, bool dry_run, firn_orphan_visit *visit, void *context,
                          struct firn_undelete_report *out)
{
    struct firn_text list = firn_marks_location(op->arena, table->metadata);
    struct undeleting undeleting = {
        .folders = FIRN_NEW_ARRAY(op->arena, struct firn_text, path_count),
        .found = FIRN_NEW_ARRAY(op->arena, bool, path_count),
        .count = path_count,
        .visit = visit,
        .context = context,
        .report = out,
    };
    *out = (struct firn_undelete_report){ 0 };
    for (size_t i = 0; i < path_count; i++)
        undeleting.folders[i] = firn_location_split(op->arena, paths[i]).path;
    FIRN_TRY(firn_marks_read(op, table->store, list, look_at_mark, &undeleting));
    FIRN_TRY(check_found(op, &undeleting, paths, list));
    firn_status status = dry_run ? firn_marks_read(op, table->store, list, take_mark, &undeleting)
                                 : rewrite_list(op, table->store, list, &undeleting);
    return firn_context(op, status, "list of marks '%.*s'", FIRN_FMT(list));
}
