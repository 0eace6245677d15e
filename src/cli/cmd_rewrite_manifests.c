/* firn rewrite-manifests: arguments to a plan, plan to a report. All judgement is in src/maintain. */
#include "cli/cli.h"
#include "firn/rewrite_manifests.h"

struct rewrite_args {
    struct firn_text table, sort_by;
    int64_t spec_id;
    bool use_caching, dry_run;
};

#define ARG(member) offsetof(struct rewrite_args, member)

static const struct cli_option options[] = {
    { "table", CLI_POSITIONAL, ARG(table), "TABLE", NULL, NULL, 0, 0, true, "Table whose manifests are rewritten" },
    { "use-caching", CLI_FLAG, ARG(use_caching), NULL, NULL, NULL, 0, 0, false,
      "Accepted for scripts written for Spark: it changes nothing" },
    { "spec-id", CLI_NUMBER, ARG(spec_id), "ID", NULL, NULL, 0, INT32_MAX, false,
      "Rewrite the manifests of this partition spec (the table's current one)" },
    { "sort-by", CLI_TEXT, ARG(sort_by), "FIELD[,FIELD]", NULL, NULL, 0, 0, false,
      "Cluster by these partition fields, in this order (all fields of the spec)", CLI_SQL_TEXTS },
    { "dry-run", CLI_FLAG, ARG(dry_run), NULL, NULL, NULL, 0, 0, false,
      "Print the plan with a reason for every manifest, and change nothing" },
    { 0 },
};

static const struct cli_member kind_members[] = {
    { "content", "content", CLI_MEMBER_TEXT },          { "input manifests", "input_manifests", CLI_MEMBER_COUNT },
    { "input bytes", "input_bytes", CLI_MEMBER_BYTES }, { "files", "files", CLI_MEMBER_COUNT },
    { "partitions", "partitions", CLI_MEMBER_COUNT },   { "output manifests", "expected_manifests", CLI_MEMBER_COUNT },
};
static const struct cli_group_table kinds_table = { "no manifests of this partition spec", kind_members,
                                                    sizeof kind_members / sizeof *kind_members };

static firn_status print_plan(struct firn_op *op, struct cli *cli, const struct firn_manifest_plan *plan,
                              const struct cli_work *work)
{
    json_t *json = firn_manifest_plan_json(op, plan);
    if (cli_wants_json(cli))
        return cli_print_plan_json(op, cli, json, work);
    cli_print_groups(op, cli, json_object_get(json, "kinds"), &kinds_table);
    cli_print_estimate(op, cli, work);
    cli_print_planned_files(op, cli, json_object_get(json, "manifests"), "manifest");
    return FIRN_OK;
}

static void print_remarks(struct firn_op *op, struct cli *cli, const void *context)
{
    const struct firn_rewrite_manifests_report *report = context;
    if (report->snapshot_id >= 0)
        fprintf(cli->out, "\n%.*s files listed anew, %.*s other manifests kept, in %.*s; snapshot %" PRId64 "\n",
                FIRN_FMT(cli_count_text(op->arena, report->entries_count)),
                FIRN_FMT(cli_count_text(op->arena, report->kept_manifests_count)),
                FIRN_FMT(cli_duration_text(op->arena, report->elapsed_ms)), report->snapshot_id);
}

static firn_status print_report(struct firn_op *op, struct cli *cli, const struct firn_rewrite_manifests_report *report,
                                const struct cli_work *work)
{
    const struct cli_number numbers[] = {
        { "rewritten_manifests_count", report->rewritten_manifests_count },
        { "added_manifests_count", report->added_manifests_count },
        { "kept_manifests_count", report->kept_manifests_count },
        { "entries_count", report->entries_count },
        { "elapsed_ms", report->elapsed_ms },
    };
    const struct cli_row row = {
        .numbers = numbers,
        .number_count = sizeof numbers / sizeof *numbers,
        .column_count = 2,
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
    struct firn_manifest_plan *plan;
    struct firn_rewrite_manifests_report report = { 0 };
    struct cli_work work;
    struct cli_words fields = cli_split(op->arena, args->sort_by);
    struct firn_rewrite_manifests_args procedure = {
        .use_caching = args->use_caching,
        .has_spec_id = cli_is_given(cli, "spec-id"),
        .spec_id = args->spec_id,
        .sort_by = cli_is_given(cli, "sort-by") ? fields.items : NULL,
        .sort_by_count = fields.count,
    };
    FIRN_TRY(cli_open_table(op, cli, args->table, &table));
    struct firn_pool *pool = firn_session_pool(cli->session);
    FIRN_TRY(firn_context(op, firn_rewrite_manifests_plan(op, pool, &table, &procedure, &plan), "table %.*s",
                          FIRN_FMT(table.name)));
    FIRN_TRY(cli_work_begin(op, cli, firn_manifest_plan_work(plan), &work));
    if (args->dry_run)
        return print_plan(op, cli, plan, &work);
    FIRN_TRY(firn_context(op, firn_rewrite_manifests_apply(op, pool, &table, plan, &report), "table %.*s",
                          FIRN_FMT(table.name)));
    cli_work_end(op, cli, &work);
    return print_report(op, cli, &report, &work);
}

const struct cli_command cmd_rewrite_manifests = {
    .name = "rewrite-manifests",
    .summary = "Divide a table's manifests anew, clustered by partition (Spark's rewrite_manifests)",
    .description =
        "Writes the entries of the table's manifests into manifests of commit.manifest.target-size-bytes, sorted by "
        "partition, so that a scan of few partitions opens few of them, and commits that as one 'replace' snapshot. "
        "No data file is opened; entries keep their snapshot ids, sequence numbers and first row ids. Data and delete "
        "manifests are rewritten apart from each other, those of one partition spec at a time.\n\nManifests that are "
        "clustered and divided so already are left as they are.",
    .examples = "  firn rewrite-manifests db.txn --dry-run\n"
                "  firn rewrite-manifests db.txn\n"
                "  firn rewrite-manifests db.txn --spec-id 0 --sort-by region,day\n",
    .options = options,
    .args_size = sizeof(struct rewrite_args),
    .call_arguments = 4,
    .run = run,
};
