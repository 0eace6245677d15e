/* What commands of procedures print alike: the files of a plan, the output row, warnings. */
#include "cli/cli.h"

struct firn_text cli_member_text(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return (struct firn_text){ json_string_value(value), json_string_length(value) };
}

int64_t cli_member_i64(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

void cli_print_planned_files(struct firn_op *op, struct cli *cli, const json_t *files, const char *mark)
{
    const json_t *file;
    size_t index;
    json_array_foreach(files, index, file)
    {
        fprintf(cli->out, "%s %.*s (%.*s): %.*s\n", mark, FIRN_FMT(cli_member_text(file, "path")),
                FIRN_FMT(cli_bytes_text(op->arena, (uint64_t)cli_member_i64(file, "bytes"))),
                FIRN_FMT(cli_member_text(file, "reason")));
    }
}

firn_status cli_print_row_json(struct firn_op *op, struct cli *cli, const struct cli_row *row)
{
    json_t *json = json_object(), *warnings = json_array();
    for (size_t i = 0; i < row->number_count; i++)
        json_object_set_new(json, row->numbers[i].key, json_integer(row->numbers[i].value));
    json_object_set_new(json, "snapshot_id", row->snapshot_id < 0 ? json_null() : json_integer(row->snapshot_id));
    for (uint32_t i = 0; i < row->warning_count; i++)
        json_array_append_new(warnings, json_stringn(row->warnings[i].data, row->warnings[i].len));
    json_object_set_new(json, "warnings", warnings);
    firn_status status = cli_print_json(op, cli, json);
    json_decref(json);
    return status;
}

void cli_print_row_table(struct firn_op *op, struct cli *cli, const struct cli_row *row)
{
    struct cli_column *columns = FIRN_NEW_ARRAY(op->arena, struct cli_column, row->column_count);
    struct firn_text *cells = FIRN_NEW_ARRAY(op->arena, struct firn_text, row->column_count);
    for (size_t i = 0; i < row->column_count; i++) {
        columns[i] = (struct cli_column){ row->numbers[i].key, true };
        cells[i] = firn_text_format(op->arena, "%" PRId64, row->numbers[i].value);
    }
    cli_print_table(cli, columns, row->column_count, cells, 1);
}

void cli_print_warnings(struct cli *cli, const struct cli_row *row)
{
    for (uint32_t i = 0; i < row->warning_count; i++)
        fprintf(cli->err, "firn: warning: %.*s\n", FIRN_FMT(row->warnings[i]));
}

firn_status cli_finish_row(struct firn_op *op, struct cli *cli, firn_status printed, int64_t snapshot_id)
{
    if (printed == FIRN_OK)
        printed = cli_flush(op, cli);
    if (printed != FIRN_OK && snapshot_id >= 0)
        return firn_hint(op, printed, "the table was changed all the same: snapshot %" PRId64, snapshot_id);
    return printed;
}
