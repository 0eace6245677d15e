/* A statement of SQL becomes a command with its options given, and runs. */
#include "cli/cli.h"
#include "firn/sql.h"

/* An option of the command that is begun. */
static firn_status give(struct firn_op *op, struct cli *cli, const char *name, struct firn_text value)
{
    if (value.len == 0)
        return FIRN_OK;
    return cli_give(op, cli, cli_find_option(cli->command->options, firn_text_of(name)), value);
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

/* The place where SELECT is plugged in. */
static firn_status run_select(struct firn_op *op, struct cli *cli, const struct firn_sql_statement *statement)
{
    (void)cli;
    (void)statement;
    return firn_fail(op, FIRN_UNSUPPORTED, "SELECT is not supported yet");
}

static firn_status run_alter(struct firn_op *op, struct cli *cli, const struct firn_sql_statement *statement)
{
    switch (statement->kind) {
    case FIRN_SQL_CREATE_REF:
        return create_ref(op, cli, statement);
    case FIRN_SQL_DROP_REF:
        return drop_ref(op, cli, statement);
    default:
        return firn_fail(op, FIRN_UNSUPPORTED, "this statement is not supported yet");
    }
}

firn_status cli_run_statement(struct firn_op *op, struct cli *cli, const struct firn_sql_statement *statement)
{
    if (statement->kind == FIRN_SQL_CALL)
        return cli_call(op, cli, statement);
    firn_status status =
        statement->kind == FIRN_SQL_SELECT ? run_select(op, cli, statement) : run_alter(op, cli, statement);
    return firn_context(op, status, "line %u, column %u", statement->place.line, statement->place.column);
}
