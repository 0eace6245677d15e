/* What commands of procedures print alike: the groups and files of a plan, the output row, warnings. */
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

static struct firn_text cell_text(struct firn_arena *arena, const json_t *object, const struct cli_member *member)
{
    const json_t *value = json_object_get(object, member->key);
    switch (member->kind) {
    case CLI_MEMBER_TEXT:
        return cli_member_text(object, member->key);
    case CLI_MEMBER_COUNT:
        return json_is_integer(value) ? cli_count_text(arena, json_integer_value(value)) : FIRN_TEXT("?");
    case CLI_MEMBER_BYTES:
        return cli_bytes_text(arena, (uint64_t)json_integer_value(value));
    }
    return FIRN_TEXT("");
}

void cli_print_groups(struct firn_op *op, struct cli *cli, const json_t *groups, const struct cli_group_table *table)
{
    const json_t *group;
    size_t index, width = table->member_count, count = json_array_size(groups);
    if (count == 0) {
        fprintf(cli->out, "%s\n", table->if_empty);
        return;
    }
    struct cli_column *columns = FIRN_NEW_ARRAY(op->arena, struct cli_column, width);
    struct firn_text *cells = FIRN_NEW_ARRAY(op->arena, struct firn_text, count * width);
    for (size_t i = 0; i < width; i++)
        columns[i] = (struct cli_column){ table->members[i].title, table->members[i].kind != CLI_MEMBER_TEXT };
    json_array_foreach(groups, index, group)
    {
        for (size_t i = 0; i < width; i++)
            cells[index * width + i] = cell_text(op->arena, group, &table->members[i]);
    }
    cli_print_table(cli, columns, width, cells, count);
}

static const struct cli_member rewrite_members[] = {
    { "group", "group", CLI_MEMBER_COUNT },
    { "partition", "partition", CLI_MEMBER_TEXT },
    { "spec", "spec_id", CLI_MEMBER_COUNT },
    { "input files", "input_files", CLI_MEMBER_COUNT },
    { "input bytes", "input_bytes", CLI_MEMBER_BYTES },
    { "output files", "expected_output_files", CLI_MEMBER_COUNT },
};
const struct cli_group_table cli_rewrite_groups = { "nothing to rewrite", rewrite_members,
                                                    sizeof rewrite_members / sizeof *rewrite_members };

void cli_print_group_files(struct firn_op *op, struct cli *cli, const json_t *groups, const char *mark)
{
    const json_t *group;
    size_t index;
    json_array_foreach(groups, index, group) cli_print_planned_files(op, cli, json_object_get(group, "files"), mark);
}

void cli_print_planned_files(struct firn_op *op, struct cli *cli, const json_t *files, const char *mark)
{
    const json_t *file;
    size_t index;
    json_array_foreach(files, index, file)
    {
        fprintf(cli->out, "%s %.*s (%.*s): %.*s\n", mark, CLI_FMT(cli, cli_member_text(file, "path")),
                FIRN_FMT(cli_bytes_text(op->arena, (uint64_t)cli_member_i64(file, "bytes"))),
                CLI_FMT(cli, cli_member_text(file, "reason")));
    }
}

static firn_status print_row_json(struct firn_op *op, struct cli *cli, const struct cli_row *row)
{
    json_t *json = json_object(), *warnings = json_array();
    for (size_t i = 0; i < row->number_count; i++)
        json_object_set_new(json, row->numbers[i].key, json_integer(row->numbers[i].value));
    if (row->more_json)
        json_object_update_new(json, row->more_json(row->report));
    json_object_set_new(json, "snapshot_id", row->snapshot_id < 0 ? json_null() : json_integer(row->snapshot_id));
    for (uint32_t i = 0; i < row->warning_count; i++)
        json_array_append_new(warnings, firn_json_string(row->warnings[i]));
    json_object_set_new(json, "warnings", warnings);
    if (row->work)
        json_object_set_new(json, "work", cli_work_json(row->work));
    firn_status status = cli_print_json(op, cli, json);
    json_decref(json);
    return status;
}

static void print_row_table(struct firn_op *op, struct cli *cli, const struct cli_row *row)
{
    struct cli_column *columns = FIRN_NEW_ARRAY(op->arena, struct cli_column, row->column_count);
    struct firn_text *cells = FIRN_NEW_ARRAY(op->arena, struct firn_text, row->column_count);
    for (size_t i = 0; i < row->column_count; i++) {
        columns[i] = (struct cli_column){ row->numbers[i].key, true };
        cells[i] = firn_text_format(op->arena, "%" PRId64, row->numbers[i].value);
    }
    cli_print_table(cli, columns, row->column_count, cells, 1);
}

static firn_status print_row(struct firn_op *op, struct cli *cli, const struct cli_row *row)
{
    if (cli_wants_json(cli))
        return print_row_json(op, cli, row);
    print_row_table(op, cli, row);
    row->print_remarks(op, cli, row->report);
    if (row->work)
        cli_print_work(op, cli, row->work);
    for (uint32_t i = 0; i < row->warning_count; i++)
        fprintf(cli->err, "firn: warning: %.*s\n", CLI_FMT(cli, row->warnings[i]));
    return FIRN_OK;
}

firn_status cli_print_row(struct firn_op *op, struct cli *cli, const struct cli_row *row)
{
    if (row->snapshot_id >= 0)
        cli->done = firn_text_format(&cli->arena, "the table was changed to snapshot %" PRId64, row->snapshot_id).data;
    FIRN_TRY(print_row(op, cli, row));
    return cli_flush(op, cli);
}
