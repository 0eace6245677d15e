/* The rows of a SELECT: a table for people, a page at a time; for programs one JSON document, {"columns": [{"name",
 * "type"}], "rows": [[...]]}, in which maps, lists and structs are JSON too. */
#include "firn/select.h"
#include "cli/cli.h"

enum { PAGE_ROWS = 1000 };

/* For people ---------------------------------------------------------------------------------------------------------
 */

static bool is_number(const struct firn_select_value *value)
{
    return value->kind == FIRN_SELECT_INTEGER || value->kind == FIRN_SELECT_REAL;
}

/* Up to a page of cells; `*more` tells whether it was full. Columns of numbers stand to the right. */
static firn_status read_page(struct firn_op *op, struct firn_select *select, struct cli_column *columns,
                             struct firn_text *cells, size_t *row_count, bool *more)
{
    size_t count = firn_select_column_count(select);
    for (*row_count = 0; *row_count < PAGE_ROWS; ++*row_count) {
        FIRN_TRY(firn_select_step(op, select, more));
        if (!*more)
            return FIRN_OK;
        for (size_t c = 0; c < count; c++) {
            struct firn_select_value value = firn_select_value(select, c);
            columns[c].right = columns[c].right || is_number(&value);
            cells[*row_count * count + c] = firn_select_readable(op, &firn_select_columns(select)[c], &value);
        }
    }
    return FIRN_OK;
}

static firn_status print_page(struct firn_op *op, struct cli *cli, struct firn_select *select, bool is_first,
                              bool *more)
{
    size_t count = firn_select_column_count(select), rows;
    struct cli_column *columns = FIRN_NEW_ARRAY(op->arena, struct cli_column, count);
    struct firn_text *cells = FIRN_NEW_ARRAY(op->arena, struct firn_text, count * PAGE_ROWS);
    for (size_t c = 0; c < count; c++)
        columns[c].title = firn_text_copy(op->arena, firn_select_columns(select)[c].name).data;
    FIRN_TRY(read_page(op, select, columns, cells, &rows, more));
    if (rows > 0 || is_first)
        cli_print_table(cli, columns, count, cells, rows);
    return FIRN_OK;
}

static firn_status print_pages(struct firn_op *op, struct cli *cli, struct firn_select *select)
{
    struct firn_scratch scratch;
    firn_status status = FIRN_OK;
    bool more = true;
    firn_scratch_begin(op, &scratch);
    for (bool is_first = true; more && status == FIRN_OK; is_first = false) {
        status = print_page(op, cli, select, is_first, &more);
        firn_arena_reset(&scratch.arena);
    }
    firn_scratch_end(op, &scratch);
    return status;
}

/* For programs -------------------------------------------------------------------------------------------------------
 */

/* JSON has no infinity. */
static json_t *real_json(double value)
{
    json_t *json = json_real(value);
    return json ? json : json_string(value > 0 ? "Infinity" : "-Infinity");
}

static json_t *value_json(struct firn_select_value value)
{
    switch (value.kind) {
    case FIRN_SELECT_NULL:
        return json_null();
    case FIRN_SELECT_BOOLEAN:
        return json_boolean(value.integer);
    case FIRN_SELECT_INTEGER:
        return json_integer(value.integer);
    case FIRN_SELECT_REAL:
        return real_json(value.real);
    default:
        return firn_json_string(value.text);
    }
}

/* Whether the value is JSON already, which goes out as it is: read and written again, decimals would lose digits. */
static bool is_json(const struct firn_select_column *column, const struct firn_select_value *value)
{
    if (value->kind != FIRN_SELECT_TEXT || !firn_select_column_nests(column))
        return false;
    json_t *json = json_loadb(value->text.data, value->text.len, JSON_DECODE_ANY, NULL);
    json_decref(json);
    return json != NULL;
}

static firn_status write_value(struct firn_op *op, struct cli *cli, const struct firn_select_column *column,
                               struct firn_select_value value)
{
    if (is_json(column, &value))
        return cli_write_text(op, cli, value.text);
    json_t *json = value_json(value);
    firn_status status = cli_write_json(op, cli, json, JSON_COMPACT);
    json_decref(json);
    return status;
}

static firn_status write_row(struct firn_op *op, struct cli *cli, const struct firn_select *select, bool is_first)
{
    FIRN_TRY(cli_write_text(op, cli, is_first ? FIRN_TEXT("[") : FIRN_TEXT(",[")));
    for (size_t c = 0; c < firn_select_column_count(select); c++) {
        if (c > 0)
            FIRN_TRY(cli_write_text(op, cli, FIRN_TEXT(",")));
        FIRN_TRY(write_value(op, cli, &firn_select_columns(select)[c], firn_select_value(select, c)));
    }
    return cli_write_text(op, cli, FIRN_TEXT("]"));
}

static firn_status write_columns(struct firn_op *op, struct cli *cli, const struct firn_select *select)
{
    json_t *columns = json_array();
    for (size_t c = 0; c < firn_select_column_count(select); c++) {
        const struct firn_select_column *column = &firn_select_columns(select)[c];
        json_t *json = json_object();
        json_object_set_new(json, "name", firn_json_string(column->name));
        json_object_set_new(json, "type", column->type.len ? firn_json_string(column->type) : json_null());
        json_array_append_new(columns, json);
    }
    firn_status status = cli_write_json(op, cli, columns, JSON_COMPACT);
    json_decref(columns);
    return status;
}

static firn_status write_rows(struct firn_op *op, struct cli *cli, struct firn_select *select)
{
    bool got = true;
    FIRN_TRY(cli_write_text(op, cli, FIRN_TEXT("{\"columns\":")));
    FIRN_TRY(write_columns(op, cli, select));
    FIRN_TRY(cli_write_text(op, cli, FIRN_TEXT(",\"rows\":[")));
    for (bool is_first = true;; is_first = false) {
        FIRN_TRY(firn_select_step(op, select, &got));
        if (!got)
            break;
        FIRN_TRY(write_row(op, cli, select, is_first));
    }
    return cli_write_text(op, cli, FIRN_TEXT("]}\n"));
}

firn_status cli_select(struct firn_op *op, struct cli *cli, const struct firn_sql_statement *statement)
{
    struct firn_session *session;
    struct firn_select *select;
    FIRN_TRY(cli_session(op, cli, &session));
    FIRN_TRY(firn_select_open(op, session, statement->text, statement->place, &select));
    firn_status status = cli_wants_json(cli) ? write_rows(op, cli, select) : print_pages(op, cli, select);
    firn_select_close(select);
    return status;
}
