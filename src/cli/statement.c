/* A statement of SQL becomes a command with its options given, and runs. */
#include "cli/cli.h"
#include "firn/sql.h"

#include <assert.h>

/* An option of the command that is begun; an empty text is none. */
static firn_status give(struct firn_op *op, struct cli *cli, const char *name, struct firn_text value)
{
    const struct cli_option *option = cli->command->options;
    if (value.len == 0)
        return FIRN_OK;
    while (option->name && strcmp(option->name, name) != 0)
        option++;
    assert(option->name);
    return cli_give(op, cli, option, value);
}

static firn_status give_flag(struct firn_op *op, struct cli *cli, const char *name, bool given)
{
    return given ? give(op, cli, name, FIRN_TEXT("true")) : FIRN_OK;
}

static firn_status begin(struct firn_op *op, struct cli *cli, const struct cli_command *command,
                         const struct firn_sql_name *table)
{
    struct firn_text name;
    FIRN_TRY(cli_table_name(op, cli, FIRN_TEXT(""), table, &name));
    FIRN_TRY(cli_begin_command(op, cli, command));
    return give(op, cli, "table", name);
}

static firn_status create_ref(struct firn_op *op, struct cli *cli, const struct firn_sql_statement *statement)
{
    const struct firn_sql_ref *ref = &statement->ref;
    FIRN_TRY(begin(op, cli, ref->is_tag ? &cmd_create_tag : &cmd_create_branch, &statement->table));
    FIRN_TRY(give(op, cli, "name", ref->name));
    FIRN_TRY(give_flag(op, cli, "or-replace", ref->or_replace));
    FIRN_TRY(give_flag(op, cli, "replace", ref->replace));
    FIRN_TRY(give_flag(op, cli, "if-not-exists", ref->if_not_exists));
    FIRN_TRY(give(op, cli, "as-of-version", ref->as_of_version));
    FIRN_TRY(give(op, cli, "retain", ref->retain));
    FIRN_TRY(give(op, cli, "snapshot-retention", ref->snapshot_retention));
    return cli_run(op, cli);
}

static firn_status drop_ref(struct firn_op *op, struct cli *cli, const struct firn_sql_statement *statement)
{
    const struct firn_sql_ref *ref = &statement->ref;
    FIRN_TRY(begin(op, cli, ref->is_tag ? &cmd_drop_tag : &cmd_drop_branch, &statement->table));
    FIRN_TRY(give(op, cli, "name", ref->name));
    FIRN_TRY(give_flag(op, cli, "if-exists", ref->if_exists));
    return cli_run(op, cli);
}

/* KEY=VALUE, as the command takes it. */
static firn_status give_property(struct firn_op *op, struct cli *cli, const struct firn_sql_property *property)
{
    if (firn_text_find(property->key, '=') >= 0)
        return firn_fail(op, FIRN_UNSUPPORTED, "property '%.*s' has '=' in its name", FIRN_FMT(property->key));
    return give(op, cli, "property",
                firn_text_format(op->arena, "%.*s=%.*s", FIRN_FMT(property->key), FIRN_FMT(property->value)));
}

static firn_status set_properties(struct firn_op *op, struct cli *cli, const struct firn_sql_statement *statement)
{
    const struct firn_sql_properties *properties = &statement->properties;
    FIRN_TRY(begin(op, cli, &cmd_set_properties, &statement->table));
    for (size_t i = 0; i < properties->count; i++)
        FIRN_TRY(give_property(op, cli, &properties->items[i]));
    return cli_run(op, cli);
}

static firn_status unset_properties(struct firn_op *op, struct cli *cli, const struct firn_sql_statement *statement)
{
    const struct firn_sql_properties *properties = &statement->properties;
    FIRN_TRY(begin(op, cli, &cmd_unset_properties, &statement->table));
    for (size_t i = 0; i < properties->count; i++)
        FIRN_TRY(give(op, cli, "property", properties->items[i].key));
    return cli_run(op, cli);
}

static firn_status write_order(struct firn_op *op, struct cli *cli, const struct firn_sql_statement *statement)
{
    const struct firn_sql_write *write = &statement->write;
    FIRN_TRY(begin(op, cli, &cmd_write_order, &statement->table));
    FIRN_TRY(give(op, cli, "order", write->order));
    FIRN_TRY(give_flag(op, cli, "unordered", write->unordered));
    FIRN_TRY(give_flag(op, cli, "locally", write->locally));
    FIRN_TRY(give_flag(op, cli, "distributed-by-partition", write->distributed_by_partition));
    return cli_run(op, cli);
}

typedef firn_status run_kind(struct firn_op *op, struct cli *cli, const struct firn_sql_statement *statement);

static run_kind *const runs[] = {
    [FIRN_SQL_CALL] = cli_call,
    [FIRN_SQL_CREATE_REF] = create_ref,
    [FIRN_SQL_DROP_REF] = drop_ref,
    [FIRN_SQL_SET_PROPERTIES] = set_properties,
    [FIRN_SQL_UNSET_PROPERTIES] = unset_properties,
    [FIRN_SQL_WRITE] = write_order,
    [FIRN_SQL_SELECT] = cli_select,
};

firn_status cli_run_statement(struct firn_op *op, struct cli *cli, const struct firn_sql_statement *statement)
{
    firn_status status = runs[statement->kind](op, cli, statement);
    if (statement->kind == FIRN_SQL_CALL || statement->kind == FIRN_SQL_SELECT) /* have said where */
        return status;
    return firn_context(op, status, "line %u, column %u", statement->place.line, statement->place.column);
}
