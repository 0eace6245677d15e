/* firn sql: a script, statement after statement until one fails. */
#include "cli/cli.h"
#include "firn/sql.h"

#include <unistd.h>

struct sql_args {
    struct firn_text file, execute;
};

#define ARG(member) offsetof(struct sql_args, member)

static const struct cli_option options[] = {
    { "file", CLI_POSITIONAL, ARG(file), "FILE", NULL, NULL, 0, 0, false, "Script to run; - or none: standard input" },
    { "execute", CLI_TEXT, ARG(execute), "TEXT", NULL, NULL, 0, 0, false, "Run this text instead (also -e)",
      CLI_SQL_BY_KIND, 'e' },
    { 0 },
};

/* A script and the number of the statement it is at. */
struct run {
    struct firn_sql_script script;
    uint64_t number;
    bool is_done;
};

/* Runs the next statement, if there is one. */
static firn_status run_next(struct firn_op *op, struct cli *cli, struct run *run)
{
    const struct firn_sql_statement *statement;
    run->number++;
    FIRN_TRY(firn_sql_next(op, &run->script, &statement));
    run->is_done = !statement;
    if (run->is_done)
        return FIRN_OK;
    if (run->number > 1 && !cli_wants_json(cli)) /* a line between results */
        fputc('\n', cli->out);
    return cli_run_statement(op, cli, statement);
}

/* What belongs to one statement is freed after it: its operation's memory, and the command's arguments. */
static firn_status run_apart(struct firn_op *op, struct cli *cli, struct run *run)
{
    struct firn_arena arena;
    struct firn_op own = *op;
    struct cli inner = *cli;
    firn_arena_init(&arena);
    firn_arena_init(&inner.arena);
    own.arena = &arena;
    own.error = (struct firn_error){ 0 };
    firn_status status = run_next(&own, &inner, run);
    if (status != FIRN_OK)
        op->error = own.error;
    firn_arena_done(&arena);
    firn_arena_done(&inner.arena);
    return status;
}

static firn_status run_script(struct firn_op *op, struct cli *cli, struct firn_text text)
{
    struct run run = { .script = firn_sql_script_of(text) };
    while (!run.is_done) {
        FIRN_TRY(firn_op_check(op));
        firn_status status = run_apart(op, cli, &run);
        FIRN_TRY(firn_context(op, status, "statement %" PRIu64, run.number));
    }
    return FIRN_OK;
}

static firn_status run_sql(struct firn_op *op, struct cli *cli, const void *arguments)
{
    const struct sql_args *args = arguments;
    struct firn_text text = args->execute, file = args->file.len ? args->file : FIRN_TEXT("-");
    struct firn_session *session;
    bool from_text = cli_is_given(cli, "execute");
    if (from_text && args->file.len > 0)
        return firn_fail(op, FIRN_USAGE, "sql takes a file or --execute, not both");
    if (!from_text)
        FIRN_TRY(cli_read_file(op, file, FIRN_SQL_BYTES_MAX, &text));
    FIRN_TRY(cli_session(op, cli, &session));
    cli->json_lines = true;
    firn_status status = run_script(op, cli, text);
    return from_text ? status : firn_context(op, status, "%.*s", FIRN_FMT(file));
}

const struct cli_command cmd_sql = {
    .name = "sql",
    .summary = "Run SQL scripts as written for Spark: CALL, ALTER TABLE, SELECT",
    .description =
        "Runs statements separated by ';' one after another and stops at the first that fails, saying which, where and "
        "why; the exit status is that failure's. CALL catalog.system.procedure(...) is the command of that name: "
        "arguments are its options with '_' for '-', by name (table => 'db.txn') or by position. The catalog named is "
        "the "
        "one of that name in the configuration; system.procedure(...) uses the default one.",
    .examples = "  firn sql maintenance.sql\n"
                "  firn sql -e \"CALL prod.system.expire_snapshots('db.txn', TIMESTAMP '2026-07-06 00:00:00')\"\n",
    .options = options,
    .args_size = sizeof(struct sql_args),
    .run = run_sql,
};
