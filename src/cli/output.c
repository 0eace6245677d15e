/* What goes to stdout: tables for people, JSON for programs. */
#include "cli/cli.h"

#include <ctype.h>
#include <errno.h>

bool cli_wants_json(const struct cli *cli)
{
    return firn_text_is(cli->globals.output, "json");
}

static int write_part(const char *data, size_t len, void *out)
{
    return fwrite(data, 1, len, out) == len ? 0 : -1;
}

firn_status cli_output_failed(struct firn_op *op, const struct cli *cli)
{
    firn_status status = firn_fail_errno(op, errno, "cannot write to standard output");
    if (!cli->done)
        return status;
    op->error.hint[0] = 0; /* running it again is not what helps */
    return firn_hint(op, status, "%s all the same", cli->done);
}

firn_status cli_write_json(struct firn_op *op, struct cli *cli, const json_t *json, size_t form)
{
    if (json_dump_callback(json, write_part, cli->out, form | JSON_ENCODE_ANY) != 0)
        return cli_output_failed(op, cli);
    return FIRN_OK;
}

firn_status cli_print_json(struct firn_op *op, struct cli *cli, const json_t *json)
{
    FIRN_TRY(cli_write_json(op, cli, json, cli->json_lines ? JSON_COMPACT : JSON_INDENT(2)));
    return cli_write_text(op, cli, FIRN_TEXT("\n"));
}

firn_status cli_write_text(struct firn_op *op, struct cli *cli, struct firn_text text)
{
    if (write_part(text.data, text.len, cli->out) != 0)
        return cli_output_failed(op, cli);
    return FIRN_OK;
}

/* Columns a terminal needs for UTF-8 text, taking every code point for one. */
static size_t width_of(struct firn_text text)
{
    size_t width = 0;
    for (size_t i = 0; i < text.len; i++)
        width += ((unsigned char)text.data[i] & 0xc0) != 0x80;
    return width;
}

static void print_cell(FILE *out, struct firn_text text, size_t width, bool right, bool last)
{
    size_t used = width_of(text);
    int pad = used < width ? (int)(width - used) : 0;
    if (right)
        fprintf(out, "%*s%.*s", pad, "", FIRN_FMT(text));
    else
        fprintf(out, "%.*s%*s", FIRN_FMT(text), last ? 0 : pad, "");
    fputs(last ? "\n" : "  ", out);
}

void cli_print_table(struct cli *cli, const struct cli_column *columns, size_t column_count,
                     const struct firn_text *cells, size_t row_count)
{
    struct firn_arena arena = { 0 };
    size_t *widths = FIRN_NEW_ARRAY(&arena, size_t, column_count);
    struct firn_text *titles = FIRN_NEW_ARRAY(&arena, struct firn_text, column_count);
    struct firn_text *shown = FIRN_NEW_ARRAY(&arena, struct firn_text, row_count * column_count);
    for (size_t i = 0; i < row_count * column_count; i++)
        shown[i] = firn_text_printable(&arena, cells[i]);
    for (size_t c = 0; c < column_count; c++) {
        titles[c] = firn_text_printable(&arena, firn_text_of(columns[c].title));
        widths[c] = width_of(titles[c]);
        for (size_t r = 0; r < row_count; r++) {
            size_t width = width_of(shown[r * column_count + c]);
            widths[c] = width > widths[c] ? width : widths[c];
        }
    }
    for (size_t c = 0; c < column_count; c++)
        print_cell(cli->out, titles[c], widths[c], columns[c].right, c + 1 == column_count);
    for (size_t r = 0; r < row_count; r++)
        for (size_t c = 0; c < column_count; c++)
            print_cell(cli->out, shown[r * column_count + c], widths[c], columns[c].right, c + 1 == column_count);
    firn_arena_done(&arena);
}

static bool is_shell_plain(struct firn_text text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!isalnum((unsigned char)text.data[i]) && firn_text_find(FIRN_TEXT("_./:=@%+,-"), text.data[i]) < 0)
            return false;
    return text.len > 0;
}

struct firn_text cli_shell_text(struct firn_arena *arena, struct firn_text text)
{
    static const char quote_in_quotes[4] = { '\'', '\\', '\'', '\'' }; /* ends them, gives one, begins them again */
    if (is_shell_plain(text))
        return text;
    char *out = firn_arena_alloc(arena, text.len * sizeof quote_in_quotes + 2);
    size_t len = 0;
    out[len++] = '\'';
    for (size_t i = 0; i < text.len; i++) {
        bool is_quote = text.data[i] == '\'';
        memcpy(out + len, is_quote ? quote_in_quotes : text.data + i, is_quote ? sizeof quote_in_quotes : 1);
        len += is_quote ? sizeof quote_in_quotes : 1;
    }
    out[len++] = '\'';
    return (struct firn_text){ out, len };
}

void cli_report(const struct cli *cli, const struct firn_op *op)
{
    fprintf(cli->err, "firn: error: %s\n", op->error.text);
    if (op->error.hint[0])
        fprintf(cli->err, "HINT: %s\n", op->error.hint);
}

firn_status cli_flush(struct firn_op *op, struct cli *cli)
{
    if (fflush(cli->out) != 0 || ferror(cli->out))
        return cli_output_failed(op, cli);
    return FIRN_OK;
}
