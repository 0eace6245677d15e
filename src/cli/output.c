/* What goes to stdout: tables for people, JSON for programs. */
#include "cli/cli.h"

#include <errno.h>

bool cli_wants_json(const struct cli *cli)
{
    return firn_text_is(cli->globals.output, "json");
}

static int write_part(const char *data, size_t len, void *out)
{
    return fwrite(data, 1, len, out) == len ? 0 : -1;
}

firn_status cli_write_json(struct firn_op *op, struct cli *cli, const json_t *json, size_t form)
{
    if (json_dump_callback(json, write_part, cli->out, form | JSON_ENCODE_ANY) != 0)
        return firn_fail_errno(op, errno, "cannot write to standard output");
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
        return firn_fail_errno(op, errno, "cannot write to standard output");
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
    size_t *widths = FIRN_NEW_ARRAY(&cli->arena, size_t, column_count);
    for (size_t c = 0; c < column_count; c++) {
        widths[c] = strlen(columns[c].title);
        for (size_t r = 0; r < row_count; r++) {
            size_t width = width_of(cells[r * column_count + c]);
            widths[c] = width > widths[c] ? width : widths[c];
        }
    }
    for (size_t c = 0; c < column_count; c++)
        print_cell(cli->out, firn_text_of(columns[c].title), widths[c], columns[c].right, c + 1 == column_count);
    for (size_t r = 0; r < row_count; r++)
        for (size_t c = 0; c < column_count; c++)
            print_cell(cli->out, cells[r * column_count + c], widths[c], columns[c].right, c + 1 == column_count);
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
        return firn_fail_errno(op, errno, "cannot write to standard output");
    return FIRN_OK;
}
