/* Events of journals: their names, writing one, reading one. */
#include "maintain/journal_event.h"

#include "maintain/journal.h"
#include "store/lines.h"

static const struct firn_text ending = FIRN_TEXT_INIT(".jsonl");

struct firn_text firn_event_location(struct firn_arena *arena, struct firn_text folder, struct firn_text run_id,
                                     int64_t number, const char *kind)
{
    return firn_text_format(arena, "%.*s/%.*s.%06" PRId64 ".%s%.*s", FIRN_FMT(folder), FIRN_FMT(run_id), number, kind,
                            FIRN_FMT(ending));
}

bool firn_event_name_parse(struct firn_text location, struct firn_event_name *out)
{
    struct firn_text name = firn_text_from(location, (size_t)(firn_text_find_last(location, '/') + 1));
    ptrdiff_t dot = firn_text_find(name, '.');
    struct firn_uuid uuid;
    if (dot < 0 || !firn_text_ends(name, ending) || !firn_uuid_parse(firn_text_until(name, (size_t)dot), &uuid))
        return false;
    out->run_id = firn_text_until(name, (size_t)dot);
    struct firn_text rest = firn_text_from(firn_text_until(name, name.len - ending.len), (size_t)dot + 1);
    dot = firn_text_find(rest, '.');
    if (dot < 0 || !firn_text_to_i64(firn_text_until(rest, (size_t)dot), &out->number))
        return false;
    out->kind = firn_text_from(rest, (size_t)dot + 1);
    return out->number >= 0 && out->number < INT32_MAX;
}

firn_status firn_event_line(struct firn_op *op, struct firn_sink *sink, const json_t *line)
{
    struct firn_buffer text = { 0 };
    firn_status status = firn_json_print(op, line, 0, &text);
    if (status == FIRN_OK)
        status = firn_buffer_append(op, &text, "\n", 1);
    if (status == FIRN_OK)
        status = firn_sink_write(op, sink, firn_buffer_bytes(&text));
    firn_buffer_done(&text);
    return status;
}

static firn_status write_lines(struct firn_op *op, struct firn_sink *sink, const json_t *header, const json_t *lines)
{
    FIRN_TRY(firn_event_line(op, sink, header));
    for (size_t i = 0; i < json_array_size(lines); i++)
        FIRN_TRY(firn_event_line(op, sink, json_array_get(lines, i)));
    return FIRN_OK;
}

firn_status firn_event_put(struct firn_op *op, struct firn_store *store, struct firn_text location,
                           const json_t *header, const json_t *lines)
{
    struct firn_store_writer *file;
    FIRN_TRY(firn_store_write(op, store, location, true, &file));
    firn_status status = write_lines(op, firn_store_writer_sink(file), header, lines);
    if (status == FIRN_OK)
        return firn_store_writer_finish(op, file);
    firn_store_writer_close(file);
    return status;
}

struct reading {
    struct firn_lines lines;
    firn_event_visit *visit;
    void *context;
};

static firn_status visit_line(struct firn_op *op, void *context, struct firn_text line)
{
    const struct reading *reading = context;
    json_t *json;
    if (line.len == 0)
        return FIRN_OK;
    FIRN_TRY(firn_json_parse(op, line, "line", &json));
    return reading->visit(op, reading->context, json);
}

firn_status firn_event_read(struct firn_op *op, struct firn_store *store, struct firn_text location, json_t **header,
                            firn_event_visit *visit, void *context)
{
    struct reading reading = { .visit = visit, .context = context };
    struct firn_text line = { 0 };
    bool got;
    FIRN_TRY(firn_lines_open(op, store, location, &reading.lines));
    firn_status status = firn_lines_next(op, &reading.lines, &line, &got);
    if (status == FIRN_OK)
        status = firn_json_parse(op, line, "event", header);
    if (status == FIRN_OK && visit)
        status = firn_lines_each(op, &reading.lines, visit_line, &reading);
    firn_lines_close(&reading.lines);
    return firn_context(op, status, "journal event '%.*s'", FIRN_FMT(location));
}

bool firn_uuid_in_name(struct firn_text location, struct firn_text *out)
{
    enum { UUID_TEXT_LEN = 36 };
    struct firn_text name = firn_text_from(location, (size_t)(firn_text_find_last(location, '/') + 1));
    struct firn_uuid uuid;
    for (size_t at = 0; at + UUID_TEXT_LEN <= name.len; at++) {
        *out = firn_text_until(firn_text_from(name, at), UUID_TEXT_LEN);
        if (firn_uuid_parse(*out, &uuid))
            return true;
    }
    return false;
}

struct firn_text firn_run_names_key(struct firn_arena *arena, struct firn_text folder, struct firn_text uuid)
{
    return firn_text_format(arena, "%.*s/%.*s", FIRN_FMT(folder), FIRN_FMT(uuid));
}
