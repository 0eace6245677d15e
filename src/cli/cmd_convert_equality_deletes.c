/* firn convert-equality-deletes: arguments to a plan, plan to a report. All judgement is in src/maintain. */
#include "cli/cli.h"
#include "firn/convert_equality_deletes.h"

struct convert_args {
    struct firn_text table;
    struct firn_text where, branch;
    struct cli_pairs options;
    bool dry_run;
};

#define ARG(member) offsetof(struct convert_args, member)

static const struct cli_option options[] = {
    { "table", CLI_POSITIONAL, ARG(table), "TABLE", NULL, NULL, 0, 0, true,
      "Table whose equality deletes are converted" },
    { "where", CLI_TEXT, ARG(where), "PREDICATE", NULL, NULL, 0, 0, false,
      "Convert only for data files that may hold rows matching this Spark SQL predicate" },
    { "branch", CLI_TEXT, ARG(branch), "NAME", NULL, NULL, 0, 0, false, "Branch to read and commit to (main)" },
    { "option", CLI_PAIRS, ARG(options), "KEY=VALUE", NULL, NULL, 0, 0, false,
      "How (repeatable): target-file-size-bytes (of position delete files), max-file-group-input-files (data files "
      "worked on at once; 10000), partial-progress.enabled, partial-progress.max-commits" },
    { "dry-run", CLI_FLAG, ARG(dry_run), NULL, NULL, NULL, 0, 0, false,
      "Print the plan: which data files are looked into, how many keys, what can leave; and change nothing" },
    { 0 },
};

static const struct cli_member group_members[] = {
    { "group", "group", CLI_MEMBER_COUNT },
    { "data files", "data_files", CLI_MEMBER_COUNT },
    { "data bytes", "data_bytes", CLI_MEMBER_BYTES },
    { "delete files", "delete_files", CLI_MEMBER_COUNT },
    { "keys", "keys", CLI_MEMBER_COUNT },
    { "delete bytes", "delete_bytes", CLI_MEMBER_BYTES },
};
static const struct cli_group_table group_table = { "nothing to convert", group_members,
                                                    sizeof group_members / sizeof *group_members };

static firn_status print_plan(struct firn_op *op, struct cli *cli, const struct firn_convert_plan *plan,
                              const struct cli_work *work)
{
    json_t *json = firn_convert_plan_json(op, plan);
    const json_t *groups = json_object_get(json, "groups");
    if (cli_wants_json(cli))
        return cli_print_plan_json(op, cli, json, work);
    cli_print_groups(op, cli, groups, &group_table);
    cli_print_estimate(op, cli, work);
    cli_print_planned_files(op, cli, json_object_get(json, "deletes"), "delete ");
    cli_print_group_files(op, cli, groups, "look   ");
    cli_print_planned_files(op, cli, json_object_get(json, "skipped"), "leave  ");
    return FIRN_OK;
}

static void print_remarks(struct firn_op *op, struct cli *cli, const void *context)
{
    const struct firn_convert_equality_deletes_report *report = context;
    if (report->commits > 0)
        fprintf(cli->out, "\nkeys were looked up in %.*s data files in %.*s; snapshot %" PRId64 "\n",
                FIRN_FMT(cli_count_text(op->arena, report->data_files_count)),
                FIRN_FMT(cli_duration_text(op->arena, report->elapsed_ms)), report->snapshot_id);
    if (report->kept_equality_delete_files_count > 0)
        fprintf(cli->out, "%.*s equality delete files stay: they reach data files that were not converted\n",
                FIRN_FMT(cli_count_text(op->arena, report->kept_equality_delete_files_count)));
}

static firn_status print_report(struct firn_op *op, struct cli *cli,
                                const struct firn_convert_equality_deletes_report *report, const struct cli_work *work)
{
    const struct cli_number numbers[] = {
        { "converted_equality_delete_files_count", report->converted_equality_delete_files_count },
        { "added_delete_files_count", report->added_delete_files_count },
        { "deleted_rows_count", report->deleted_rows_count },
        { "converted_bytes_count", report->converted_bytes_count },
        { "added_bytes_count", report->added_bytes_count },
        { "data_files_count", report->data_files_count },
        { "replaced_vectors_count", report->replaced_vectors_count },
        { "kept_equality_delete_files_count", report->kept_equality_delete_files_count },
        { "left_alone_files_count", report->left_alone_files_count },
        { "failed_groups", report->failed_groups },
        { "commits", report->commits },
        { "failed_commits", report->failed_commits },
        { "elapsed_ms", report->elapsed_ms },
    };
    const struct cli_row row = {
        .numbers = numbers,
        .number_count = sizeof numbers / sizeof *numbers,
        .column_count = 5,
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
    const struct convert_args *args = arguments;
    struct firn_table table;
    struct firn_convert_plan *plan;
    struct firn_convert_equality_deletes_report report = { 0 };
    struct cli_work work;

    FIRN_TRY(cli_open_table(op, cli, args->table, &table));
    struct firn_convert_equality_deletes_args procedure = {
        .where = args->where,
        .branch = args->branch,
        .options = args->options.items,
        .option_count = args->options.count,
    };
    struct firn_pool *pool = firn_session_pool(cli->session);
    FIRN_TRY(firn_context(op, firn_convert_equality_deletes_plan(op, pool, &table, &procedure, &plan), "table %.*s",
                          FIRN_FMT(table.name)));
    FIRN_TRY(cli_work_begin(op, cli, firn_convert_plan_work(plan), &work));
    if (args->dry_run)
        return print_plan(op, cli, plan, &work);
    firn_status status = firn_convert_equality_deletes_apply(
        op, pool, &table, plan, cli_progress(op, cli, "convert-equality-deletes"), &report);
    if (status != FIRN_OK && status != FIRN_PARTIAL)
        return firn_context(op, status, "table %.*s", FIRN_FMT(table.name));
    cli_work_end(op, cli, &work);
    FIRN_TRY(print_report(op, cli, &report, &work));
    return status;
}

const struct cli_command cmd_convert_equality_deletes = {
    .name = "convert-equality-deletes",
    .summary = "Turn equality deletes into position deletes or deletion vectors",
    .description =
        "Looks the keys of equality deletes up in the data files they reach and says what they delete by position: in "
        "delete files, or in deletion vectors on format version 3. Only key columns are read, within the memory limit, "
        "and data files stay as they are; rows stay the same. Equality delete files that reach no other data file "
        "leave the table in the same commit; those that do stay.\n\nThe commit is an 'overwrite', so that a compaction "
        "of another engine that began before an equality delete came and is still running meets a conflict instead "
        "of bringing rows back.",
    .examples = "  firn convert-equality-deletes db.cdc --dry-run\n"
                "  firn convert-equality-deletes db.cdc --where \"day >= date '2026-07-01'\"\n"
                "  firn convert-equality-deletes db.cdc --option partial-progress.enabled=true\n",
    .options = options,
    .args_size = sizeof(struct convert_args),
    .call_arguments = 4,
    .run = run,
};
