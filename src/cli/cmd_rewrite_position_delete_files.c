/* firn rewrite-position-delete-files: arguments to a plan, plan to a report. All judgement is in src/maintain. */
#include "cli/cli.h"
#include "firn/rewrite_position_delete_files.h"

struct rewrite_args {
    struct firn_text table;
    struct firn_text where;
    struct cli_pairs options;
    bool dry_run;
};

#define ARG(member) offsetof(struct rewrite_args, member)

static const struct cli_option options[] = {
    { "table", CLI_POSITIONAL, ARG(table), "TABLE", NULL, NULL, 0, 0, true,
      "Table whose position delete files are rewritten" },
    { "option", CLI_PAIRS, ARG(options), "KEY=VALUE", NULL, NULL, 0, 0, false,
      "An entry of Spark's options map (repeatable): target-file-size-bytes, min-file-size-bytes, max-file-size-bytes, "
      "min-input-files, max-file-group-size-bytes, max-file-group-input-files, max-concurrent-file-group-rewrites, "
      "rewrite-all, rewrite-job-order, partial-progress.enabled, partial-progress.max-commits" },
    { "where", CLI_TEXT, ARG(where), "PREDICATE", NULL, NULL, 0, 0, false,
      "Rewrite only delete files of partitions that may hold rows matching this Spark SQL predicate" },
    { "dry-run", CLI_FLAG, ARG(dry_run), NULL, NULL, NULL, 0, 0, false,
      "Print the plan with a reason for every delete file, and change nothing" },
    { 0 },
};

static firn_status print_plan(struct firn_op *op, struct cli *cli, const struct firn_position_rewrite_plan *plan,
                              const struct cli_work *work)
{
    json_t *json = firn_position_rewrite_plan_json(op, plan);
    const json_t *groups = json_object_get(json, "groups");
    if (cli_wants_json(cli))
        return cli_print_plan_json(op, cli, json, work);
    cli_print_groups(op, cli, groups, &cli_rewrite_groups);
    cli_print_estimate(op, cli, work);
    cli_print_group_files(op, cli, groups, "rewrite");
    cli_print_planned_files(op, cli, json_object_get(json, "skipped"), "leave  ");
    return FIRN_OK;
}

static void print_remarks(struct firn_op *op, struct cli *cli, const void *context)
{
    const struct firn_rewrite_position_delete_files_report *report = context;
    if (report->commits > 0)
        fprintf(cli->out, "\n%.*s deleted rows, said %.*s times before, in %.*s; snapshot %" PRId64 "\n",
                FIRN_FMT(cli_count_text(op->arena, report->added_rows)),
                FIRN_FMT(cli_count_text(op->arena, report->rewritten_rows)),
                FIRN_FMT(cli_duration_text(op->arena, report->elapsed_ms)), report->snapshot_id);
}

static firn_status print_report(struct firn_op *op, struct cli *cli,
                                const struct firn_rewrite_position_delete_files_report *report,
                                const struct cli_work *work)
{
    const struct cli_number numbers[] = {
        { "rewritten_delete_files_count", report->rewritten_delete_files_count },
        { "added_delete_files_count", report->added_delete_files_count },
        { "rewritten_bytes_count", report->rewritten_bytes_count },
        { "added_bytes_count", report->added_bytes_count },
        { "left_alone_files_count", report->left_alone_files_count },
        { "rewritten_rows", report->rewritten_rows },
        { "added_rows", report->added_rows },
        { "failed_groups", report->failed_groups },
        { "commits", report->commits },
        { "failed_commits", report->failed_commits },
        { "elapsed_ms", report->elapsed_ms },
    };
    const struct cli_row row = {
        .numbers = numbers,
        .number_count = sizeof numbers / sizeof *numbers,
        .column_count = 4,
        .snapshot_id = report->snapshot_id,
        .warnings = report->warnings,
        .warning_count = report->warning_count,
        .print_remarks = print_remarks,
        .report = report,
        .work = work,
    };
    return cli_print_row(op, cli, &row);
}

static firn_status run(struct firn_op *op, struct cli *cli, const void *arguments)
{
    const struct rewrite_args *args = arguments;
    struct firn_table table;
    struct firn_position_rewrite_plan *plan;
    struct firn_rewrite_position_delete_files_report report = { 0 };
    struct cli_work work;

    FIRN_TRY(cli_open_table(op, cli, args->table, &table));
    struct firn_rewrite_position_delete_files_args procedure = {
        .where = args->where,
        .options = args->options.items,
        .option_count = args->options.count,
    };
    struct firn_pool *pool = firn_session_pool(cli->session);
    FIRN_TRY(firn_context(op, firn_rewrite_position_delete_files_plan(op, pool, &table, &procedure, &plan),
                          "table %.*s", FIRN_FMT(table.name)));
    FIRN_TRY(cli_work_begin(op, cli, firn_position_rewrite_plan_work(plan), &work));
    if (args->dry_run)
        return print_plan(op, cli, plan, &work);
    firn_status status = firn_rewrite_position_delete_files_apply(
        op, pool, &table, plan, cli_progress(op, cli, "rewrite-position-delete-files"), &report);
    if (status != FIRN_OK && status != FIRN_PARTIAL)
        return firn_context(op, status, "table %.*s", FIRN_FMT(table.name));
    cli_work_end(op, cli, &work);
    FIRN_TRY(print_report(op, cli, &report, &work));
    return status;
}

const struct cli_command cmd_rewrite_position_delete_files = {
    .name = "rewrite-position-delete-files",
    .summary = "Compact position delete files (Spark's rewrite_position_delete_files)",
    .description =
        "Joins small position delete files of a partition into files of the target size, drops what they say of data "
        "files that have left the table, and commits that as one 'replace' snapshot: rows stay the same. Options and "
        "their defaults are those of Spark's procedure. A data file gets a delete file of its own unless the table "
        "property write.delete.granularity is 'partition'.\n\nIn tables of format version 3, position delete files "
        "become deletion vectors, one a data file. Delete files that hold the deleted rows themselves are left where "
        "they are and reported.",
    .examples = "  firn rewrite-position-delete-files db.txn --dry-run\n"
                "  firn rewrite-position-delete-files db.txn --where \"day >= date '2026-07-01'\"\n"
                "  firn rewrite-position-delete-files db.txn --option rewrite-all=true --option "
                "partial-progress.enabled=true\n",
    .options = options,
    .args_size = sizeof(struct rewrite_args),
    .call_arguments = 3,
    .run = run,
};
