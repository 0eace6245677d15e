/* firn journal: what runs that did not end have left, and clearing up after them. */
#include "cli/cli.h"
#include "firn/journal.h"

struct journal_args {
    struct firn_text table;
    bool clear;
};

static const struct cli_option options[] = {
    { "table", CLI_POSITIONAL, offsetof(struct journal_args, table), "TABLE", NULL, NULL, 0, 0, true,
      "Table whose journals are shown" },
    { "clear", CLI_FLAG, offsetof(struct journal_args, clear), NULL, NULL, NULL, 0, 0, false,
      "Delete what runs have left that are over, with their finished groups, and finish what they had to delete" },
    { 0 },
};

/* How long ago, in words. */
static struct firn_text ago(struct firn_op *op, int64_t ms)
{
    return cli_duration_text(op->arena, firn_now_ms(op) - ms);
}

static void print_run(struct firn_op *op, struct cli *cli, const json_t *run)
{
    const json_t *item, *groups = json_object_get(run, "groups");
    size_t index;
    fprintf(cli->out, "run %.*s: %.*s, %.*s; began %.*s ago, last heard of %.*s ago\n",
            CLI_FMT(cli, cli_member_text(run, "run")), CLI_FMT(cli, cli_member_text(run, "procedure")),
            CLI_FMT(cli, cli_member_text(run, "state")), FIRN_FMT(ago(op, cli_member_i64(run, "began_ms"))),
            FIRN_FMT(ago(op, cli_member_i64(run, "last_event_ms"))));
    if (cli_member_text(run, "outcome").len > 0)
        fprintf(cli->out, "  outcome: %.*s\n", CLI_FMT(cli, cli_member_text(run, "outcome")));
    if (json_is_integer(json_object_get(run, "attempt_ms")))
        fprintf(cli->out, "  tried to commit %.*s ago\n", FIRN_FMT(ago(op, cli_member_i64(run, "attempt_ms"))));
    json_array_foreach(groups, index, item)
    {
        fprintf(cli->out, "  finished group: %" PRId64 " files of %.*s became %" PRId64 "%s\n",
                cli_member_i64(item, "input_files"),
                FIRN_FMT(cli_bytes_text(op->arena, (uint64_t)cli_member_i64(item, "input_bytes"))),
                cli_member_i64(item, "output_files"),
                json_is_true(json_object_get(item, "usable")) ? "" : " (not to be used)");
    }
    json_array_foreach(json_object_get(run, "removals"), index, item)
    {
        fprintf(cli->out, "  had to %s %" PRId64 " files\n",
                json_is_true(json_object_get(item, "mark")) ? "mark" : "delete", cli_member_i64(item, "files"));
    }
    json_array_foreach(json_object_get(run, "names"), index, item)
    {
        fprintf(cli->out, "  wrote to %.*s: *%.*s*\n", CLI_FMT(cli, cli_member_text(item, "folder")),
                CLI_FMT(cli, cli_member_text(item, "uuid")));
    }
    if (cli_member_text(run, "problem").len > 0)
        fprintf(cli->out, "  %.*s\n", CLI_FMT(cli, cli_member_text(run, "problem")));
    fprintf(cli->out, "  next run: %.*s\n", CLI_FMT(cli, cli_member_text(run, "next")));
}

static firn_status show(struct firn_op *op, struct cli *cli, const struct firn_table *table)
{
    json_t *json;
    const json_t *run;
    size_t index;
    FIRN_TRY(firn_journals_json(op, table, &json));
    if (cli_wants_json(cli))
        return cli_print_json(op, cli, json);
    if (json_array_size(json_object_get(json, "runs")) == 0)
        fprintf(cli->out, "no run has left anything\n");
    json_array_foreach(json_object_get(json, "runs"), index, run) print_run(op, cli, run);
    return FIRN_OK;
}

static firn_status print_cleared(struct firn_op *op, struct cli *cli, const struct firn_journals_report *report)
{
    const struct cli_number numbers[] = {
        { "cleared_runs_count", report->cleared_runs_count },   { "left_runs_count", report->left_runs_count },
        { "deleted_files_count", report->deleted_files_count }, { "deleted_bytes", report->deleted_bytes },
        { "marked_files_count", report->marked_files_count },
    };
    if (!cli_wants_json(cli)) {
        fprintf(cli->out, "%" PRId64 " runs cleared up after: %" PRId64 " files deleted (%.*s), %" PRId64 " marked\n",
                report->cleared_runs_count, report->deleted_files_count,
                FIRN_FMT(cli_bytes_text(op->arena, (uint64_t)report->deleted_bytes)), report->marked_files_count);
        return FIRN_OK;
    }
    json_t *json = json_object();
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        json_object_set_new(json, numbers[i].key, json_integer(numbers[i].value));
    firn_status status = cli_print_json(op, cli, json);
    json_decref(json);
    return status;
}

static firn_status clear(struct firn_op *op, struct cli *cli, struct firn_table *table)
{
    struct firn_journals_report report;
    firn_status status = firn_journals_clear(op, firn_session_pool(cli->session), table, &report);
    if (status != FIRN_OK && status != FIRN_PARTIAL)
        return status;
    struct firn_error error = op->error;
    if (report.cleared_runs_count > 0)
        cli->done = "runs were cleared up after";
    FIRN_TRY(print_cleared(op, cli, &report));
    op->error = error;
    return status;
}

static firn_status run(struct firn_op *op, struct cli *cli, const void *arguments)
{
    const struct journal_args *args = arguments;
    struct firn_table table;
    FIRN_TRY(cli_open_table(op, cli, args->table, &table));
    return firn_context(op, args->clear ? clear(op, cli, &table) : show(op, cli, &table), "table %.*s",
                        FIRN_FMT(table.name));
}

const struct cli_command cmd_journal = {
    .name = "journal",
    .summary = "Show what killed runs have left, and clear up after them",
    .description =
        "A run that changes a table keeps a journal beside the table's metadata: the names it writes under, the groups "
        "it has finished, what it has to delete. When all is done the journal goes. Of a killed run it stays, and the "
        "next run that changes the table needs no advice: it uses finished groups whose files, deletes and settings "
        "are the same, finishes what was to be deleted, and deletes what else was left, by name and only where no "
        "snapshot reaches it, since a commit whose outcome nobody saw may have published it.\n\nA run is over when its "
        "process has ended; one of another machine, when nothing was heard of it for three days. Finished groups are "
        "used for a day.",
    .examples = "  firn journal db.txn\n"
                "  firn journal db.txn --output json\n"
                "  firn journal db.txn --clear\n",
    .options = options,
    .args_size = sizeof(struct journal_args),
    .run = run,
};
