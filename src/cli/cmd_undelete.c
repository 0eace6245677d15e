/* firn undelete: files are taken from the list of marks. */
#include "cli/cli.h"
#include "firn/remove_orphan_files.h"

struct undelete_args {
    struct firn_text table;
    struct cli_words paths;
    bool dry_run;
};

static const struct cli_option options[] = {
    { "table", CLI_POSITIONAL, offsetof(struct undelete_args, table), "TABLE", NULL, NULL, 0, 0, true,
      "Table whose files were marked" },
    { "path", CLI_WORDS, offsetof(struct undelete_args, paths), "PATH...", NULL, NULL, 0, 0, false,
      "Files, or folders with all below them (every marked file)" },
    { "dry-run", CLI_FLAG, offsetof(struct undelete_args, dry_run), NULL, NULL, NULL, 0, 0, false,
      "Print the marks that would be dropped, and keep them" },
    { 0 },
};

static firn_status print_location(struct firn_op *op, void *context, const struct firn_orphan_file *file)
{
    (void)op;
    struct cli *cli = context;
    fprintf(cli->out, "%.*s\n", CLI_FMT(cli, file->location));
    return FIRN_OK;
}

static firn_status collect_location(struct firn_op *op, void *context, const struct firn_orphan_file *file)
{
    (void)op;
    json_array_append_new(context, firn_json_string(file->location));
    return FIRN_OK;
}

static void note_done(struct cli *cli, const struct undelete_args *args, const struct firn_undelete_report *report)
{
    if (!args->dry_run && report->dropped_count > 0)
        cli->done = "the marks were dropped";
}

static firn_status print_json(struct firn_op *op, struct cli *cli, const struct undelete_args *args,
                              struct firn_table *table)
{
    struct firn_undelete_report report;
    json_t *json = json_object(), *locations = json_array();
    json_object_set_new(json, "unmarked_files", locations);
    firn_status status = firn_undelete(op, table, args->paths.items, args->paths.count, args->dry_run, collect_location,
                                       locations, &report);
    if (status == FIRN_OK) {
        note_done(cli, args, &report);
        json_object_set_new(json, "dropped_marks_count", json_integer(report.dropped_count));
        json_object_set_new(json, "kept_marks_count", json_integer(report.kept_count));
        status = cli_print_json(op, cli, json);
    }
    json_decref(json);
    return status;
}

static firn_status print_text(struct firn_op *op, struct cli *cli, const struct undelete_args *args,
                              struct firn_table *table)
{
    struct firn_undelete_report report;
    FIRN_TRY(
        firn_undelete(op, table, args->paths.items, args->paths.count, args->dry_run, print_location, cli, &report));
    if (report.dropped_count + report.kept_count == 0) {
        fputs("no file of the table is marked\n", cli->out);
        return FIRN_OK;
    }
    note_done(cli, args, &report);
    fprintf(cli->out, "%s%.*s marks dropped, %.*s left in %.*s\n", args->dry_run ? "would be: " : "",
            FIRN_FMT(cli_count_text(op->arena, report.dropped_count)),
            FIRN_FMT(cli_count_text(op->arena, report.kept_count)), CLI_FMT(cli, firn_marks_file(op, table)));
    return FIRN_OK;
}

static firn_status run(struct firn_op *op, struct cli *cli, const void *arguments)
{
    const struct undelete_args *args = arguments;
    struct firn_table table;
    FIRN_TRY(cli_open_table(op, cli, args->table, &table));
    return firn_context(op, cli_wants_json(cli) ? print_json(op, cli, args, &table) : print_text(op, cli, args, &table),
                        "table %.*s", FIRN_FMT(table.name));
}

const struct cli_command cmd_undelete = {
    .name = "undelete",
    .summary = "Take files from the list of those to be deleted",
    .description =
        "Drops the marks that remove-orphan-files --mark (or expire-snapshots --mark) made, so that no sweep "
        "deletes those files: all of them, or the ones named. What a sweep has deleted is gone.",
    .examples = "  firn undelete db.txn\n"
                "  firn undelete db.txn /warehouse/db/txn/data/part-7.parquet\n",
    .options = options,
    .args_size = sizeof(struct undelete_args),
    .run = run,
};
