/* firn explain: what a filter reads of a table, why, and what would change that. All judgement is in src/maintain. */
#include "cli/cli.h"
#include "firn/explain.h"

struct explain_args {
    struct firn_text table, where, branch, tag, as_of, snapshot_id;
    bool deep;
};

#define ARG(member) offsetof(struct explain_args, member)

static const struct cli_option options[] = {
    { "table", CLI_POSITIONAL, ARG(table), "TABLE", NULL, NULL, 0, 0, true, "Table to explain a filter on" },
    { "where", CLI_TEXT, ARG(where), "PREDICATE", NULL, NULL, 0, 0, true,
      "The filter, as a query's WHERE; functions of columns are taken, too, and explained" },
    { "snapshot-id", CLI_TEXT, ARG(snapshot_id), "ID", NULL, NULL, 0, 0, false,
      "Explain it on this snapshot instead of the current one", CLI_SQL_LONG },
    { "branch", CLI_TEXT, ARG(branch), "NAME", NULL, NULL, 0, 0, false, "On the head of this branch" },
    { "tag", CLI_TEXT, ARG(tag), "NAME", NULL, NULL, 0, 0, false, "On what this tag names" },
    { "as-of", CLI_TEXT, ARG(as_of), "TIME", NULL, NULL, 0, 0, false,
      "On the snapshot that was current at a time (UTC where it has no zone), or so long ago: 2026-11-01, 3d",
      CLI_SQL_TIMESTAMP },
    { "deep", CLI_FLAG, ARG(deep), NULL, NULL, NULL, 0, 0, false,
      "Also read footers, page indexes and bloom filters of the files that stay: row groups and pages that are left "
      "out" },
    { 0 },
};

/* Output for people ---------------------------------------------------------------------------------------------- */

static struct firn_text bytes_text(struct firn_arena *arena, int64_t bytes)
{
    return cli_bytes_text(arena, (uint64_t)(bytes > 0 ? bytes : 0));
}

/* "12 of 1,440 files, 3.1 MiB of 512 MiB" */
static void print_share(struct firn_op *op, struct cli *cli, const char *what, const struct firn_explain_tally *part,
                        const struct firn_explain_tally *whole)
{
    fprintf(cli->out, "  %-12s%.*s of %.*s files, %.*s of %.*s\n", what,
            FIRN_FMT(cli_count_text(op->arena, part->files)), FIRN_FMT(cli_count_text(op->arena, whole->files)),
            FIRN_FMT(bytes_text(op->arena, part->bytes)), FIRN_FMT(bytes_text(op->arena, whole->bytes)));
}

static void print_count(struct firn_op *op, struct cli *cli, const char *what, int64_t part, int64_t whole)
{
    fprintf(cli->out, "  %-12s%.*s of %.*s\n", what, FIRN_FMT(cli_count_text(op->arena, part)),
            FIRN_FMT(cli_count_text(op->arena, whole)));
}

static void print_levels(struct firn_op *op, struct cli *cli, const struct firn_explain_report *report)
{
    static const char *const titles[] = { "manifests", "partitions", "counts", "bounds" };
    fputs("ruled out by\n", cli->out);
    for (int level = 0; level < FIRN_EXPLAIN_KEPT; level++)
        print_share(op, cli, titles[level], &report->by_level[level], &report->total);
    fputs("read\n", cli->out);
    print_share(op, cli, "files", &report->by_level[FIRN_EXPLAIN_KEPT], &report->total);
    print_count(op, cli, "manifests", report->manifests_kept, report->manifests);
    print_count(op, cli, "partitions", report->partitions_kept, report->partitions);
    print_count(op, cli, "requests", report->requests_kept, report->requests_all);
}

static void print_deep(struct firn_op *op, struct cli *cli, const struct firn_explain_report *report)
{
    const struct firn_explain_deep *deep = &report->deep;
    if (!report->is_deep)
        return;
    fputs("within these, by footers and page indexes\n", cli->out);
    print_count(op, cli, "files", deep->files_kept, deep->files);
    if (deep->bloom_files > 0)
        print_count(op, cli, "by bloom", deep->bloom_files_ruled_out, deep->bloom_files);
    print_count(op, cli, "row groups", deep->row_groups_kept, deep->row_groups);
    print_count(op, cli, "pages", deep->pages_kept, deep->pages);
    print_count(op, cli, "rows", deep->rows_kept, report->by_level[FIRN_EXPLAIN_KEPT].rows);
    fprintf(cli->out, "  %-12s%.*s of %.*s\n", "bytes", FIRN_FMT(bytes_text(op->arena, deep->bytes_kept)),
            FIRN_FMT(bytes_text(op->arena, report->by_level[FIRN_EXPLAIN_KEPT].bytes)));
    if (deep->unreadable_files > 0)
        fprintf(cli->out, "  %.*s files could not be looked into and count as read whole\n",
                FIRN_FMT(cli_count_text(op->arena, deep->unreadable_files)));
}

static void print_line(struct cli *cli, const char *label, struct firn_text text)
{
    if (text.len > 0)
        fprintf(cli->out, "    %-9s%.*s\n", label, CLI_FMT(cli, text));
}

static void print_reason(struct firn_op *op, struct cli *cli, const struct firn_explain_reason *reason)
{
    fprintf(cli->out, "  %s", reason->code);
    if (reason->condition.len > 0)
        fprintf(cli->out, ", %.*s", CLI_FMT(cli, reason->condition));
    else if (reason->column.len > 0)
        fprintf(cli->out, ", %.*s", CLI_FMT(cli, reason->column));
    if (reason->kept.files > 0)
        fprintf(cli->out, ": %.*s files, %.*s", FIRN_FMT(cli_count_text(op->arena, reason->kept.files)),
                FIRN_FMT(bytes_text(op->arena, reason->kept.bytes)));
    fputc('\n', cli->out);
    print_line(cli, "why", reason->why);
    print_line(cli, "as", reason->example);
    print_line(cli, "bounds", reason->bounds);
    print_line(cli, "advice", reason->advice);
    print_line(cli, "run", reason->command);
    print_line(cli, "spark", reason->call);
}

static void print_sort(struct firn_op *op, struct cli *cli, const struct firn_explain_sort *sort)
{
    fprintf(cli->out, "  %.*s: %.*s files, %.*s now; about %.*s files, %.*s then (%.*s if only compacted)\n",
            CLI_FMT(cli, sort->column), FIRN_FMT(cli_count_text(op->arena, sort->files_now)),
            FIRN_FMT(bytes_text(op->arena, sort->bytes_now)), FIRN_FMT(cli_count_text(op->arena, sort->files_sorted)),
            FIRN_FMT(bytes_text(op->arena, sort->bytes_sorted)),
            FIRN_FMT(cli_count_text(op->arena, sort->files_packed)));
    print_line(cli, "cost",
               firn_text_format(op->arena, "%.*s read and written anew",
                                FIRN_FMT(bytes_text(op->arena, sort->rewrite_bytes))));
    print_line(cli, "run", sort->command);
    print_line(cli, "spark", sort->call);
}

static void print_report(struct firn_op *op, struct cli *cli, const struct firn_explain_report *report)
{
    fprintf(cli->out, "%.*s where %.*s\n", CLI_FMT(cli, report->table), CLI_FMT(cli, report->where));
    print_levels(op, cli, report);
    print_deep(op, cli, report);
    if (report->rewritten.len > 0) {
        fprintf(cli->out, "without functions: %.*s\n", CLI_FMT(cli, report->rewritten));
        print_share(op, cli, "files", &report->rewritten_kept, &report->total);
    }
    if (report->reason_count > 0)
        fputs("why files stay\n", cli->out);
    for (size_t i = 0; i < report->reason_count; i++)
        print_reason(op, cli, &report->reasons[i]);
    if (report->sort_count > 0)
        fprintf(cli->out, "what sorting would save (%s)\n", firn_explain_sort_formula);
    for (size_t i = 0; i < report->sort_count; i++)
        print_sort(op, cli, &report->sorts[i]);
}

/* The command ---------------------------------------------------------------------------------------------------- */

static firn_status run(struct firn_op *op, struct cli *cli, const void *arguments)
{
    const struct explain_args *args = arguments;
    struct firn_table table;
    struct firn_explain_report report;
    int64_t id;
    struct firn_explain_args what = {
        .where = args->where,
        .branch = args->branch,
        .tag = args->tag,
        .as_of = args->as_of,
        .deep = args->deep,
    };
    if (args->snapshot_id.len > 0 && !firn_text_to_i64(args->snapshot_id, &id))
        return firn_fail(op, FIRN_USAGE, "'%.*s' is no snapshot id", FIRN_FMT(args->snapshot_id));
    what.snapshot_id = args->snapshot_id.len > 0 ? &id : NULL;
    FIRN_TRY(cli_open_table(op, cli, args->table, &table));
    firn_status status = firn_explain(op, firn_session_pool(cli->session), &table, &what, &report);
    FIRN_TRY(firn_context(op, status, "table %.*s", FIRN_FMT(table.name)));
    if (cli_wants_json(cli))
        return cli_print_json(op, cli, firn_explain_json(op, &report));
    print_report(op, cli, &report);
    return FIRN_OK;
}

const struct cli_command cmd_explain = {
    .name = "explain",
    .summary = "Say what a filter reads of a table, why the rest stays, and what would mend it",
    .description =
        "Puts a filter to the tests by which readers plan a scan, and counts what each of them rules out: manifests by "
        "the partitions that the manifest list says they span, files by their partition, by their counts of nulls, and "
        "by the bounds of their columns; with --deep also row groups and pages by their statistics and bloom filters. "
        "What is ruled out "
        "holds no matching row, and what stays is what a scan opens.\n\n"
        "Then it says why files stay, condition by condition, with an example of each: a function around a column (and "
        "how to say the same without it), a partition column that is not filtered, a transform that cannot be used, "
        "files from before a change of the partitioning, no metrics or no bounds, bounds that were cut, that overlap "
        "or "
        "are of another type, nulls, conditions that exclude, delete files that are read beside. The command of "
        "firn's and the Spark SQL that mend it follow, and what sorting by a column of the filter would save: an "
        "estimate from the bounds of today, by the formula that is printed with it.\n\n"
        "Only metadata is read; with --deep also footers and page indexes of the files that stay.",
    .examples = "  firn explain db.txn --where \"account_id = 42 AND day >= DATE '2026-11-01'\"\n"
                "  firn explain db.txn --where \"date_format(created_at, 'yyyy-MM-dd') = '2026-11-01'\" --deep\n"
                "  firn explain db.txn --where 'amount > 1000' --as-of 2026-11-01 --output json\n",
    .options = options,
    .args_size = sizeof(struct explain_args),
    .run = run,
};
