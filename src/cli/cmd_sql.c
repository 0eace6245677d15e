/* firn sql: a script, statement after statement until one fails. */
#include "cli/cli.h"
#include "cli/prompt.h"
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
    if (inner.done)
        cli->done = "what the statements say has been done";
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

/* The prompt ------------------------------------------------------------------------------------------------------ */

/* What is being typed. */
struct typing {
    struct cli_prompt *prompt;
    struct firn_arena arena; /* of the text so far */
    FIRN_ARRAY(char) text;
};

static void forget(struct typing *typing)
{
    firn_arena_reset(&typing->arena);
    memset(&typing->text, 0, sizeof typing->text);
}

/* "exit" and "quit" as a line of their own. */
static bool is_farewell(const struct typing *typing, struct firn_text line)
{
    static const char *const words[] = { "exit", "quit", "exit;", "quit;", "\\q" };
    for (size_t i = 0; typing->text.count == 0 && i < sizeof words / sizeof *words; i++)
        if (firn_text_same_nocase(firn_text_trim(line), firn_text_of(words[i])))
            return true;
    return false;
}

/* A failure is told, and the next statement asked for. */
static void run_typed(struct firn_op *op, struct cli *cli, struct typing *typing)
{
    struct firn_text text = { typing->text.items, typing->text.count };
    cli_prompt_remember(typing->prompt, text);
    if (run_script(op, cli, text) != FIRN_OK)
        cli_report(cli, op);
    FIRN_IGNORE(cli_flush(op, cli), "the prompt shows whether the terminal is there");
    op->error = (struct firn_error){ 0 };
    atomic_store(cli->stop, false); /* Ctrl-C stopped the statement, not the program */
    forget(typing);
}

/* False when the person leaves. */
static bool read_and_run(struct firn_op *op, struct cli *cli, struct typing *typing)
{
    struct firn_text line;
    enum cli_prompt_event event = cli_prompt_read(typing->prompt, typing->text.count == 0, &line);
    if (event == CLI_PROMPT_INTERRUPTED || atomic_load(cli->stop)) {
        atomic_store(cli->stop, false);
        forget(typing);
        fputc('\n', cli->out);
        return true;
    }
    if (event == CLI_PROMPT_END || is_farewell(typing, line))
        return false;
    for (size_t i = 0; i < line.len; i++)
        FIRN_PUSH(&typing->arena, &typing->text, line.data[i]);
    struct firn_op scratch = *op;
    scratch.arena = &typing->arena;
    if (firn_sql_is_complete(&scratch, (struct firn_text){ typing->text.items, typing->text.count }))
        run_typed(op, cli, typing);
    return true;
}

static firn_status run_prompt(struct firn_op *op, struct cli *cli)
{
    struct typing typing = { 0 };
    FIRN_TRY(cli_prompt_open(op, &typing.prompt));
    firn_arena_init(&typing.arena);
    while (read_and_run(op, cli, &typing))
        ;
    firn_arena_done(&typing.arena);
    cli_prompt_close(typing.prompt);
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
    FIRN_TRY(cli_session(op, cli, &session));
    cli->json_lines = true;
    if (!from_text && args->file.len == 0 && isatty(STDIN_FILENO))
        return run_prompt(op, cli);
    if (from_text)
        return run_script(op, cli, text);
    FIRN_TRY(cli_read_file(op, file, FIRN_SQL_BYTES_MAX, &text));
    return firn_context(op, run_script(op, cli, text), "%.*s", FIRN_FMT(file));
}

const struct cli_command cmd_sql = {
    .name = "sql",
    .summary = "Run SQL scripts as written for Spark: CALL, ALTER TABLE, SELECT",
    .description =
        "Runs statements separated by ';' one after another and stops at the first that fails, saying which, where and "
        "why; the exit status is that failure's. On a terminal without a script it asks for statements, with history, "
        "and goes on after a failure.\n\nCALL [catalog.]system.procedure(...) is the command of that name, with '_' "
        "for "
        "'-': arguments are its options, by name (table => 'db.txn') or, as far as Spark's procedure has them, by "
        "position. The catalog is the one of that name in the configuration, or the default one. Times without a zone "
        "are UTC.\n\nALTER TABLE name: CREATE, REPLACE and DROP of a BRANCH or TAG, SET and UNSET TBLPROPERTIES, WRITE "
        "ORDERED BY and its like.\n\nSELECT reads metadata tables (db.txn.files, db.txn.snapshots, ...) and changes "
        "nothing.\n\nWith --output json every statement gives one line.",
    .examples = "  firn sql maintenance.sql\n"
                "  firn sql -e \"CALL prod.system.expire_snapshots('db.txn', TIMESTAMP '2026-07-06 00:00:00')\"\n"
                "  firn sql -e \"SELECT count(*), avg(file_size_in_bytes) FROM db.txn.files\"\n",
    .options = options,
    .args_size = sizeof(struct sql_args),
    .run = run_sql,
};
