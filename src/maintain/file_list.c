/* Lists of files as CSV or JSON lines. */
#include "maintain/file_list.h"

#include "base/time.h"
#include "format/json/json.h"
#include "store/lines.h"

enum { COLUMN_PATH, COLUMN_TIME, COLUMN_COUNT };
static const char *const column_names[COLUMN_COUNT] = { "file_path", "last_modified" };

/* A list being read. */
struct list {
    struct firn_text location;
    struct firn_lines lines;
    bool is_json;                /* the first line tells */
    size_t places[COLUMN_COUNT]; /* of the columns, in a row of CSV */
    firn_store_visit *visit;
    void *context;
};

static firn_status fail_line(struct firn_op *op, const struct list *list, const char *what)
{
    return firn_fail(op, FIRN_CORRUPT, "'%.*s', line %" PRIu64 ": %s", FIRN_FMT(list->location), list->lines.number,
                     what);
}

static firn_status take_time(struct firn_op *op, const struct list *list, struct firn_text text, int64_t *ms)
{
    int64_t micros;
    bool has_zone;
    text = firn_text_trim(text);
    *ms = INT64_MAX;
    if (text.len == 0 || firn_text_to_i64(text, ms))
        return FIRN_OK;
    if (!firn_timestamp_parse(text, &micros, NULL, &has_zone))
        return fail_line(op, list, "last_modified is neither a timestamp nor a number of milliseconds");
    *ms = firn_floor_div(micros, 1000);
    return FIRN_OK;
}

static firn_status give(struct firn_op *op, const struct list *list, struct firn_text path, int64_t modified_ms)
{
    if (path.len == 0)
        return fail_line(op, list, "file_path is empty");
    struct firn_store_entry entry = { .location = path, .modified_ms = modified_ms };
    return list->visit(op, list->context, &entry);
}

/* CSV ------------------------------------------------------------------------------------------------------------ */

/* A value in double quotes at the start of `rest`, which is moved past it. Doubled quotes stand for one. */
static firn_status take_quoted(struct firn_op *op, const struct list *list, struct firn_text *rest,
                               struct firn_text *value)
{
    char *out = firn_arena_alloc(op->arena, rest->len);
    size_t len = 0, i = 1;
    for (; i < rest->len; i++) {
        if (rest->data[i] == '"') {
            if (i + 1 >= rest->len || rest->data[i + 1] != '"')
                break;
            i++;
        }
        out[len++] = rest->data[i];
    }
    if (i == rest->len)
        return fail_line(op, list, "a quoted value does not end on its line");
    *value = (struct firn_text){ out, len };
    *rest = firn_text_from(*rest, i + 1);
    if (rest->len > 0 && rest->data[0] != ',')
        return fail_line(op, list, "a quoted value is followed by more than a comma");
    return FIRN_OK;
}

/* The next value of a row; `*rest` has a comma first where more follow. */
static firn_status take_value(struct firn_op *op, const struct list *list, struct firn_text *rest,
                              struct firn_text *value)
{
    if (rest->len > 0 && rest->data[0] == '"')
        return take_quoted(op, list, rest, value);
    ptrdiff_t comma = firn_text_find(*rest, ',');
    *value = comma < 0 ? *rest : firn_text_until(*rest, (size_t)comma);
    *rest = firn_text_from(*rest, value->len);
    return FIRN_OK;
}

struct row {
    FIRN_ARRAY(struct firn_text) values;
};

static firn_status take_row(struct firn_op *op, const struct list *list, struct firn_text line, struct row *row)
{
    struct firn_text value;
    for (;;) {
        FIRN_TRY(take_value(op, list, &line, &value));
        FIRN_PUSH(op->arena, &row->values, value);
        if (line.len == 0)
            return FIRN_OK;
        line = firn_text_from(line, 1);
    }
}

static firn_status take_header(struct firn_op *op, struct list *list, struct firn_text line)
{
    struct row row = { 0 };
    FIRN_TRY(take_row(op, list, line, &row));
    for (size_t c = 0; c < COLUMN_COUNT; c++) {
        size_t at = 0;
        while (at < row.values.count &&
               !firn_text_same_nocase(firn_text_trim(row.values.items[at]), firn_text_of(column_names[c])))
            at++;
        if (at == row.values.count)
            return fail_line(op, list, "a header with the columns file_path and last_modified is wanted");
        list->places[c] = at;
    }
    return FIRN_OK;
}

static firn_status take_csv(struct firn_op *op, const struct list *list, struct firn_text line)
{
    struct row row = { 0 };
    int64_t modified_ms;
    FIRN_TRY(take_row(op, list, line, &row));
    for (size_t c = 0; c < COLUMN_COUNT; c++)
        if (list->places[c] >= row.values.count)
            return fail_line(op, list, "the row has fewer values than the header");
    FIRN_TRY(take_time(op, list, row.values.items[list->places[COLUMN_TIME]], &modified_ms));
    return give(op, list, row.values.items[list->places[COLUMN_PATH]], modified_ms);
}

/* JSON lines ----------------------------------------------------------------------------------------------------- */

static firn_status take_json(struct firn_op *op, const struct list *list, struct firn_text line)
{
    json_t *object;
    if (firn_json_parse(op, line, "", &object) != FIRN_OK)
        return fail_line(op, list, "this is no JSON object");
    const json_t *path = json_object_get(object, column_names[COLUMN_PATH]);
    const json_t *time = json_object_get(object, column_names[COLUMN_TIME]);
    if (!json_is_string(path))
        return fail_line(op, list, "file_path is not a text");
    if (!time || !(json_is_string(time) || json_is_integer(time) || json_is_null(time)))
        return fail_line(op, list, "last_modified is neither a timestamp nor a number of milliseconds");
    int64_t modified_ms = json_is_integer(time) ? json_integer_value(time) : INT64_MAX;
    if (json_is_string(time))
        FIRN_TRY(
            take_time(op, list, (struct firn_text){ json_string_value(time), json_string_length(time) }, &modified_ms));
    return give(op, list, (struct firn_text){ json_string_value(path), json_string_length(path) }, modified_ms);
}

/* The whole list ------------------------------------------------------------------------------------------------- */

static firn_status read_line(struct firn_op *op, void *context, struct firn_text line)
{
    struct list *list = context;
    if (list->lines.number == 1) {
        list->is_json = firn_text_starts(firn_text_trim(line), FIRN_TEXT("{"));
        if (!list->is_json)
            return take_header(op, list, line);
    }
    if (firn_text_trim(line).len == 0)
        return FIRN_OK;
    return list->is_json ? take_json(op, list, line) : take_csv(op, list, line);
}

firn_status firn_file_list_read(struct firn_op *op, struct firn_store *store, struct firn_text location,
                                firn_store_visit *visit, void *context)
{
    struct list list = { .location = location, .visit = visit, .context = context };
    FIRN_TRY(firn_context(op, firn_lines_open(op, store, location, &list.lines), "file list"));
    firn_status status = firn_lines_each(op, &list.lines, read_line, &list);
    firn_lines_close(&list.lines);
    return firn_context(op, status, "file list");
}
