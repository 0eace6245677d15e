/* firn rewrite-data-files: arguments to a plan, plan to a report. All judgement is in src/maintain. */
#include "cli/cli.h"
#include "firn/age.h"
#include "firn/rewrite_data_files.h"

struct rewrite_args {
    struct firn_text table;
    struct firn_text strategy, sort_order, where, branch, verify;
    struct firn_text max_time;
    int64_t max_bytes, max_requests;
    struct cli_pairs options;
    bool dry_run;
};

#define ARG(member) offsetof(struct rewrite_args, member)

/* What decides what is rewritten, and how. */
/* clang-format off */
#define REWRITE_OPTIONS \
    { "table", CLI_POSITIONAL, ARG(table), "TABLE", NULL, NULL, 0, 0, true, "Table whose data files are rewritten" }, \
    { "strategy", CLI_TEXT, ARG(strategy), "NAME", NULL, NULL, 0, 0, false, \
      "binpack (the default), or sort, which --sort-order implies" }, \
    { "sort-order", CLI_TEXT, ARG(sort_order), "ORDER", NULL, NULL, 0, 0, false, \
      "Order of rows for strategy sort, instead of the table's own: 'account_id DESC NULLS LAST, days(ts)', " \
      "'zorder(a, b)' or firn's own 'hilbert(a, b)'" }, \
    { "option", CLI_PAIRS, ARG(options), "KEY=VALUE", NULL, NULL, 0, 0, false, \
      "An entry of Spark's options map (repeatable): target-file-size-bytes, min-file-size-bytes, max-file-size-bytes, " \
      "min-input-files, max-file-group-size-bytes, max-file-group-input-files, max-concurrent-file-group-rewrites, " \
      "rewrite-all, rewrite-job-order, partial-progress.enabled, partial-progress.max-commits, " \
      "partial-progress.max-failed-commits, use-starting-sequence-number, output-spec-id, max-files-to-rewrite, " \
      "delete-file-threshold, delete-ratio-threshold, remove-dangling-deletes; for strategy sort compression-factor " \
      "and " \
      "shuffle-partitions-per-file, for zorder(...) var-length-contribution and max-output-size; and firn's own " \
      "carry-over-deletes, layout, force-rung, sort-within-files and rewrite-unsorted-only" }, \
    { "where", CLI_TEXT, ARG(where), "PREDICATE", NULL, NULL, 0, 0, false, \
      "Rewrite only files that may hold rows matching this Spark SQL predicate; whole files are in or out" }, \
    { "branch", CLI_TEXT, ARG(branch), "NAME", NULL, NULL, 0, 0, false, "Branch to read and commit to (main)" }, \
    { "verify", CLI_CHOICE, ARG(verify), "LEVEL", "counts", "counts|full", 0, 0, false, \
      "Proof before the commit: counts and footers, or also a fingerprint of every column" }, \
    { "max-bytes", CLI_BYTES, ARG(max_bytes), "SIZE", NULL, NULL, 1, INT64_MAX, false, \
      "Rewrite at most so many bytes of data files, best gain first" }, \
    { "max-requests", CLI_NUMBER, ARG(max_requests), "N", NULL, NULL, 1, INT64_MAX, false, \
      "Make at most so many requests, as predicted and as counted, best gain first" }, \
    { "max-time", CLI_TEXT, ARG(max_time), "TIME", NULL, NULL, 0, 0, false, \
      "Begin no group of files that would not be done in this time at the pace so far: 45m" }
/* clang-format on */

static const struct cli_option options[] = {
    REWRITE_OPTIONS,
    { "dry-run", CLI_FLAG, ARG(dry_run), NULL, NULL, NULL, 0, 0, false,
      "Print the plan with a reason for every file, what its deletes cost and what would be done to its columns, and "
      "change nothing" },
    { 0 },
};
static const struct cli_option plan_options[] = { REWRITE_OPTIONS, { 0 } };

static struct firn_text rows_text(struct firn_arena *arena, int64_t min, int64_t max)
{
    struct firn_text low = cli_count_text(arena, min), high = cli_count_text(arena, max);
    if (min == max)
        return high;
    return min > 0 ? firn_text_format(arena, "%.*s to %.*s", FIRN_FMT(low), FIRN_FMT(high))
                   : firn_text_format(arena, "up to %.*s", FIRN_FMT(high));
}

static void print_delete(struct firn_op *op, struct cli *cli, const json_t *del)
{
    int64_t rows = cli_member_i64(del, "rows_max");
    bool is_exact = json_is_true(json_object_get(del, "is_exact"));
    fprintf(cli->out, "  %.*s %.*s, sequence number %" PRId64 ", %.*s, for %.*s data files: %.*s rows\n",
            CLI_FMT(cli, cli_member_text(del, "kind")), CLI_FMT(cli, cli_member_text(del, "path")),
            cli_member_i64(del, "sequence_number"),
            FIRN_FMT(cli_bytes_text(op->arena, (uint64_t)cli_member_i64(del, "bytes"))),
            FIRN_FMT(cli_count_text(op->arena, cli_member_i64(del, "data_files"))),
            FIRN_FMT(rows_text(op->arena, is_exact ? rows : 0, rows)));
}

/* The dearest delete files of a group one by one, the others as a sum. */
static void print_deletes(struct firn_op *op, struct cli *cli, const json_t *group)
{
    enum { SHOWN_MAX = 10 };
    const json_t *total = json_object_get(group, "deletes_total"), *del;
    int64_t file_count = cli_member_i64(total, "files"), more_bytes = cli_member_i64(total, "bytes");
    size_t index;
    if (file_count == 0)
        return;
    fprintf(cli->out,
            "deletes of group %" PRId64 ": %.*s files of %.*s delete %.*s rows; a scan opens %.*s of them and reads "
            "%.*s\n",
            cli_member_i64(group, "group"), FIRN_FMT(cli_count_text(op->arena, file_count)),
            FIRN_FMT(cli_bytes_text(op->arena, (uint64_t)cli_member_i64(total, "bytes"))),
            FIRN_FMT(rows_text(op->arena, cli_member_i64(total, "rows_min"), cli_member_i64(total, "rows_max"))),
            FIRN_FMT(cli_count_text(op->arena, cli_member_i64(total, "opened_per_scan"))),
            FIRN_FMT(cli_bytes_text(op->arena, (uint64_t)cli_member_i64(total, "bytes_per_scan"))));
    json_array_foreach(json_object_get(group, "deletes"), index, del)
    {
        if (index == SHOWN_MAX)
            break;
        print_delete(op, cli, del);
        more_bytes -= cli_member_i64(del, "bytes");
    }
    if (file_count > SHOWN_MAX)
        fprintf(cli->out, "  and %.*s more of %.*s\n", FIRN_FMT(cli_count_text(op->arena, file_count - SHOWN_MAX)),
                FIRN_FMT(cli_bytes_text(op->arena, (uint64_t)more_bytes)));
}

/* What would be done to the columns of a group, those that share it together. */
static void print_columns(struct cli *cli, const json_t *group)
{
    const json_t *columns = json_object_get(group, "columns"), *column;
    size_t index;
    if (json_array_size(columns) == 0)
        return;
    fprintf(cli->out, "columns of group %" PRId64 ", by a look into %" PRId64 " of its files:\n",
            cli_member_i64(group, "group"), cli_member_i64(group, "looked_at"));
    json_array_foreach(columns, index, column)
    {
        struct firn_text reason = cli_member_text(column, "reason");
        fprintf(cli->out, "  %.*s %.*s%s%.*s\n", FIRN_FMT(cli_member_text(column, "rung")),
                FIRN_FMT(cli_member_text(column, "column")), reason.len ? ": " : "", FIRN_FMT(reason));
    }
}

static void print_order(struct cli *cli, const json_t *plan)
{
    const json_t *notice;
    size_t index;
    struct firn_text order = cli_member_text(plan, "sort_order");
    int64_t id = order.len > 0 ? cli_member_i64(plan, "sort_order_id") : 0;
    json_array_foreach(json_object_get(plan, "notices"), index, notice)
        fprintf(cli->out, "note: %.*s\n", CLI_FMT(cli, firn_text_of(json_string_value(notice))));
    if (order.len == 0)
        return;
    fprintf(cli->out, "rows are sorted by %.*s", CLI_FMT(cli, order));
    if (id > 0)
        fprintf(cli->out, ", sort order %" PRId64 " of the table", id);
    fprintf(cli->out, "\n");
}

/* Groups with files that need not be sorted again. */
static void print_sort_ways(struct cli *cli, const json_t *group)
{
    int counts[FIRN_SORT_WAY_COUNT] = { 0 };
    const json_t *output;
    size_t index;
    json_array_foreach(json_object_get(group, "outputs"), index, output) for (int w = 0; w < FIRN_SORT_WAY_COUNT; w++)
        counts[w] += firn_text_is(cli_member_text(output, "sort_way"), firn_sort_way_names[w]);
    if (counts[FIRN_SORT_WAY_MERGED] + counts[FIRN_SORT_WAY_CONCATENATED] == 0)
        return;
    fprintf(cli->out, "group %" PRId64 ": files are in order already,", cli_member_i64(group, "group"));
    for (int w = 0; w < FIRN_SORT_WAY_COUNT; w++)
        if (counts[w] > 0)
            fprintf(cli->out, " %d %s", counts[w], firn_sort_way_names[w]);
    fprintf(cli->out, "\n");
}

/* What limits leave is for a later run. */
static void print_left(struct firn_op *op, struct cli *cli, int64_t groups, int64_t files, int64_t bytes)
{
    if (groups == 0)
        return;
    fprintf(cli->out, "left by the limits: %.*s groups of %.*s files, %.*s; run it again for these\n",
            FIRN_FMT(cli_count_text(op->arena, groups)), FIRN_FMT(cli_count_text(op->arena, files)),
            FIRN_FMT(cli_bytes_text(op->arena, (uint64_t)bytes)));
}

static firn_status print_plan(struct firn_op *op, struct cli *cli, const struct firn_rewrite_plan *plan,
                              const struct cli_work *work)
{
    json_t *json = firn_rewrite_plan_json(op, plan);
    const json_t *groups = json_object_get(json, "groups"), *left = json_object_get(json, "left"), *group;
    size_t index;
    if (cli_wants_json(cli))
        return cli_print_plan_json(op, cli, json, work);
    print_order(cli, json);
    cli_print_groups(op, cli, groups, &cli_rewrite_groups);
    cli_print_estimate(op, cli, work);
    print_left(op, cli, cli_member_i64(left, "groups"), cli_member_i64(left, "files"), cli_member_i64(left, "bytes"));
    json_array_foreach(groups, index, group) print_sort_ways(cli, group);
    json_array_foreach(groups, index, group) print_columns(cli, group);
    json_array_foreach(groups, index, group) print_deletes(op, cli, group);
    cli_print_group_files(op, cli, groups, "rewrite");
    cli_print_planned_files(op, cli, json_object_get(json, "skipped"), "leave  ");
    return FIRN_OK;
}

/* Appends "NAME BYTES" to a list of such. */
static void list_bytes(struct firn_arena *arena, struct firn_text *list, const char *name,
                       const struct firn_rung_count *count)
{
    if (count->pages == 0)
        return;
    *list = firn_text_format(arena, "%.*s%s%s %.*s", FIRN_FMT(*list), list->len ? ", " : "", name,
                             FIRN_FMT(cli_bytes_text(arena, (uint64_t)count->bytes)));
}

/* What was done to the pages of the input, and why no less. */
static void print_pages(struct firn_op *op, struct cli *cli, const struct firn_rung_counts *pages)
{
    struct firn_text rungs = { 0 }, reasons = { 0 };
    for (int i = 0; i < FIRN_RUNG_COUNT; i++)
        list_bytes(op->arena, &rungs, firn_rung_name((enum firn_rung)i), &pages->rungs[i]);
    for (int i = 0; i < FIRN_REASON_COUNT; i++)
        list_bytes(op->arena, &reasons, firn_rung_reason_name((enum firn_rung_reason)i), &pages->reasons[i]);
    if (rungs.len > 0)
        fprintf(cli->out, "pages: %.*s", FIRN_FMT(rungs));
    if (reasons.len > 0)
        fprintf(cli->out, " (%.*s)", FIRN_FMT(reasons));
    if (rungs.len > 0)
        fprintf(cli->out, "\n");
}

/* How rows were put in order, where that was asked for. */
static void print_ways_done(struct cli *cli, const int64_t ways[FIRN_SORT_WAY_COUNT])
{
    const char *before = "order: ";
    for (int w = 0; w < FIRN_SORT_WAY_COUNT; w++) {
        if (ways[w] > 0)
            fprintf(cli->out, "%s%" PRId64 " %s", before, ways[w], firn_sort_way_names[w]);
        before = ways[w] > 0 ? ", " : before;
    }
    if (before[0] == ',')
        fprintf(cli->out, "\n");
}

static json_t *details_json(const void *context)
{
    const struct firn_rewrite_data_files_report *report = context;
    json_t *ways = json_object();
    for (int w = 0; w < FIRN_SORT_WAY_COUNT; w++)
        if (report->sort_ways[w] > 0)
            json_object_set_new(ways, firn_sort_way_names[w], json_integer(report->sort_ways[w]));
    return json_pack("{s:o, s:o}", "pages", firn_rung_counts_json(&report->pages), "sort_ways", ways);
}

static void print_remarks(struct firn_op *op, struct cli *cli, const void *context)
{
    const struct firn_rewrite_data_files_report *report = context;
    struct firn_arena *arena = op->arena;
    if (report->rewritten_data_files_count > 0)
        fprintf(cli->out, "\n%.*s became %.*s in %.*s; %.*s rows, snapshot %" PRId64 "\n",
                FIRN_FMT(cli_bytes_text(arena, (uint64_t)report->rewritten_bytes_count)),
                FIRN_FMT(cli_bytes_text(arena, (uint64_t)report->added_bytes_count)),
                FIRN_FMT(cli_duration_text(arena, report->elapsed_ms)), FIRN_FMT(cli_count_text(arena, report->rows)),
                report->snapshot_id);
    print_pages(op, cli, &report->pages);
    print_ways_done(cli, report->sort_ways);
    print_left(op, cli, report->left.groups, report->left.files, report->left.bytes);
    if (report->reused_groups_count > 0)
        fprintf(cli->out, "%.*s file groups had been finished by a run that did not end\n",
                FIRN_FMT(cli_count_text(arena, report->reused_groups_count)));
    if (report->leftover_files_count > 0)
        fprintf(cli->out, "%.*s files that runs before had left were deleted\n",
                FIRN_FMT(cli_count_text(arena, report->leftover_files_count)));
    if (report->replanned_groups_count > 0)
        fprintf(cli->out, "%.*s file groups were lost to commits of others and planned anew\n",
                FIRN_FMT(cli_count_text(arena, report->replanned_groups_count)));
    if (report->deleted_rows_count > 0 || report->removed_delete_files_count > 0)
        fprintf(cli->out, "%.*s deleted rows were left out; %.*s delete files were removed\n",
                FIRN_FMT(cli_count_text(arena, report->deleted_rows_count)),
                FIRN_FMT(cli_count_text(arena, report->removed_delete_files_count)));
    if (report->kept_delete_files_count > 0)
        fprintf(cli->out, "%.*s delete files stay: they still apply to %.*s data files that were not rewritten\n",
                FIRN_FMT(cli_count_text(arena, report->kept_delete_files_count)),
                FIRN_FMT(cli_count_text(arena, report->kept_for_data_files_count)));
    if (report->carried_delete_files_count > 0)
        fprintf(cli->out, "%.*s rows that others deleted meanwhile stay deleted, by %.*s new delete files\n",
                FIRN_FMT(cli_count_text(arena, report->carried_rows_count)),
                FIRN_FMT(cli_count_text(arena, report->carried_delete_files_count)));
}

static firn_status print_report(struct firn_op *op, struct cli *cli,
                                const struct firn_rewrite_data_files_report *report, const struct cli_work *work)
{
    const struct cli_number numbers[] = {
        { "rewritten_data_files_count", report->rewritten_data_files_count },
        { "added_data_files_count", report->added_data_files_count },
        { "rewritten_bytes_count", report->rewritten_bytes_count },
        { "failed_data_files_count", report->failed_data_files_count },
        { "removed_delete_files_count", report->removed_delete_files_count },
        { "added_bytes_count", report->added_bytes_count },
        { "left_alone_files_count", report->left_alone_files_count },
        { "rows", report->rows },
        { "deleted_rows_count", report->deleted_rows_count },
        { "kept_delete_files_count", report->kept_delete_files_count },
        { "kept_for_data_files_count", report->kept_for_data_files_count },
        { "commits", report->commits },
        { "failed_commits", report->failed_commits },
        { "replanned_groups_count", report->replanned_groups_count },
        { "carried_delete_files_count", report->carried_delete_files_count },
        { "carried_rows_count", report->carried_rows_count },
        { "reused_groups_count", report->reused_groups_count },
        { "leftover_files_count", report->leftover_files_count },
        { "left_groups_count", report->left.groups },
        { "left_files_count", report->left.files },
        { "left_bytes_count", report->left.bytes },
        { "elapsed_ms", report->elapsed_ms },
    };
    const struct cli_row row = {
        .numbers = numbers,
        .number_count = sizeof numbers / sizeof *numbers,
        .column_count = 5,
        .snapshot_id = report->snapshot_id,
        .warnings = report->warnings,
        .warning_count = report->warning_count,
        .more_json = details_json,
        .print_remarks = print_remarks,
        .report = report,
        .work = work,
    };
    return cli_print_row(op, cli, &row);
}

/* What the arguments come to. */
struct planned {
    struct firn_table table;
    struct firn_rewrite_plan *plan;
    struct firn_pool *pool;
    struct cli_work work;
};

static firn_status make_plan(struct firn_op *op, struct cli *cli, const struct rewrite_args *args, struct planned *out)
{
    struct firn_rewrite_limits limits = { .bytes_max = args->max_bytes, .requests_max = args->max_requests };
    if (cli_is_given(cli, "sort-order") && firn_text_trim(args->sort_order).len == 0)
        return firn_fail(op, FIRN_USAGE, "the sort order is empty: give columns, or leave it away");
    if (args->max_time.len > 0)
        FIRN_TRY(firn_age_parse(op, "max-time", args->max_time, &limits.time_ms_max));
    FIRN_TRY(cli_open_table(op, cli, args->table, &out->table));
    struct firn_rewrite_data_files_args procedure = {
        .strategy = args->strategy,
        .sort_order = args->sort_order,
        .where = args->where,
        .branch = args->branch,
        .options = args->options.items,
        .option_count = args->options.count,
        .verify_full = firn_text_is(args->verify, "full"),
        .memory_bytes_max = firn_session_memory_bytes_max(cli->session),
        .limits = limits,
    };
    out->pool = firn_session_pool(cli->session);
    FIRN_TRY(firn_context(op, firn_rewrite_data_files_plan(op, out->pool, &out->table, &procedure, &out->plan),
                          "table %.*s", FIRN_FMT(out->table.name)));
    return cli_work_begin(op, cli, firn_rewrite_plan_work(out->plan), &out->work);
}

static firn_status run_plan(struct firn_op *op, struct cli *cli, const void *args)
{
    struct planned planned;
    FIRN_TRY(make_plan(op, cli, args, &planned));
    firn_rewrite_data_files_look(op, planned.pool, &planned.table, planned.plan);
    return print_plan(op, cli, planned.plan, &planned.work);
}

static firn_status run(struct firn_op *op, struct cli *cli, const void *arguments)
{
    const struct rewrite_args *args = arguments;
    struct firn_rewrite_data_files_report report = { 0 };
    struct planned planned;
    if (args->dry_run)
        return run_plan(op, cli, args);
    FIRN_TRY(make_plan(op, cli, args, &planned));
    firn_status status = firn_rewrite_data_files_apply(op, planned.pool, &planned.table, planned.plan,
                                                       cli_progress(op, cli, "rewrite-data-files"), &report);
    if (status != FIRN_OK && status != FIRN_PARTIAL)
        return firn_context(op, status, "table %.*s", FIRN_FMT(planned.table.name));
    cli_work_end(op, cli, &planned.work);
    FIRN_TRY(print_report(op, cli, &report, &planned.work));
    return status;
}

const struct cli_command cmd_rewrite_data_files = {
    .name = "rewrite-data-files",
    .summary = "Compact small data files (Spark's rewrite_data_files)",
    .description =
        "Rewrites data files that are too small or too large, or that many deletes apply to, into files of the target "
        "size and commits them as one 'replace' snapshot: rows stay the same, old snapshots stay readable. Options and "
        "their defaults are those of Spark's procedure.\n\nDeletes of every kind are applied: the new files hold the "
        "live rows only. A delete file leaves the table with the last data file that it applies to; the report says "
        "which still apply to data files that were not rewritten. remove-dangling-deletes=true also removes those that "
        "applied to nothing before, also where there is nothing to rewrite.\n\nPosition deletes and deletion vectors "
        "that others commit meanwhile are carried "
        "over: the same commit deletes those rows of the new files, unless carry-over-deletes=false. What others "
        "commit that cannot be carried over, such as the removal of a file being rewritten, has the files planned "
        "anew, as often as commit.retry.num-retries says.\n\nWith --max-bytes, --max-requests or --max-time, groups "
        "run "
        "best gain first: by the requests that a scan of everything makes fewer afterwards (two for each file and for "
        "each delete file opened), for each byte rewritten. A group that alone is more than --max-bytes or "
        "--max-requests leave room for is left, so that a limit below every group rewrites nothing. The run ends at a "
        "commit: what was begun is finished and committed, within --max-time the first group always is, and what is "
        "left is counted in the report. That is no failure: the exit "
        "status is 0, and 7 only when groups failed.\n\nPages that need no change are copied as they lie, still "
        "compressed; those that only need another codec or other levels are repacked, their values still encoded; the "
        "others are decoded and encoded. layout=balanced (the default) copies pages of sensible size "
        "unless samples say that the column becomes smaller by encoding it anew, layout=fastest copies whatever may "
        "be (and gives pages without a checksum none), "
        "layout=smallest encodes unless nothing is gained by it; the table property firn.layout sets it for a table. "
        "The report says how many bytes were kept, spliced, repacked, remapped (dictionary indices only) and "
        "transcoded, and "
        "why. "
        "force-rung=keep|splice|repack|remap|transcode takes no cheaper way than the one named, for tests.\n\nStrategy "
        "sort "
        "puts the rows of each file group in order, whatever fits of them in memory and the rest in temporary files, "
        "and "
        "cuts them into files whose ranges do not overlap: by --sort-order, or by the table's own sort order. Terms "
        "are "
        "columns (nested ones with dots) and transforms such as bucket(16, id), truncate(4, name), days(ts), each with "
        "ASC or DESC and NULLS FIRST or LAST. zorder(a, b) interleaves the bits of columns as Spark does, to the byte; "
        "hilbert(a, b) lays a Hilbert curve through the range of the columns' values. New files carry the id of the "
        "table's sort order that is the same, if there is one. Files that carry it are not sorted again: they are put "
        "end to end, or merged where they overlap, as far as memory has room for a window on each; what is not in "
        "order after all is sorted. Which files are taken is decided as for binpack; "
        "rewrite-all=true takes all, rewrite-unsorted-only=true those that are not marked as sorted by this order, and "
        "sorted ones whose ranges overlap each other or what is rewritten. compression-factor multiplies the size that "
        "the number of files is worked "
        "out from; shuffle-partitions-per-file is not needed.\n\nStrategy binpack keeps to the table's sort order "
        "within each new "
        "file, as Spark does; sort-within-files=false leaves rows in reading order, which lets pages be copied and "
        "deletes of others be carried over.\n\nBefore the "
        "commit the rows read, deleted and written are "
        "counted against each "
        "other for every group and each output's footer is read back. Copied pages are not decoded for that: "
        "damage that no checksum in the file tells of is found by --verify full. ORC and Avro data files, and files "
        "with deletes "
        "in a format that firn does not read, are left where they are and reported.",
    .examples =
        "  firn rewrite-data-files db.txn\n"
        "  firn rewrite-data-files db.txn --where \"created_at >= date '2026-07-01'\" --dry-run\n"
        "  firn rewrite-data-files db.txn --option target-file-size-bytes=536870912 --option min-input-files=5\n"
        "  firn rewrite-data-files db.txn --max-bytes 50GiB --max-time 45m\n"
        "  firn rewrite-data-files db.txn --sort-order 'account_id, ts DESC' --option rewrite-all=true\n"
        "  firn rewrite-data-files db.txn --sort-order 'zorder(account_id, ts)'\n",
    .options = options,
    .args_size = sizeof(struct rewrite_args),
    .call_arguments = 6,
    .run = run,
};

const struct cli_command cmd_plan = {
    .name = "plan",
    .summary = "Show what rewrite-data-files would do, and write nothing",
    .description =
        "Prints the plan that rewrite-data-files with the same options would carry out: which files make a group, with "
        "a "
        "reason for every file that is taken or left, what their deletes cost, requests, bytes and money, and for each "
        "column how its pages would be taken over (kept, spliced, repacked, remapped or transcoded) and why no cheaper "
        "way is open. For that it looks into the first files of each group, and samples them as the rewrite would. The "
        "same as rewrite-data-files --dry-run, and works on a metadata.json as on a table.",
    .examples = "  firn plan db.txn\n"
                "  firn plan db.txn --option layout=fastest\n"
                "  firn plan db.txn --where \"created_at >= date '2026-07-01'\" --output json\n",
    .options = plan_options,
    .args_size = sizeof(struct rewrite_args),
    .run = run_plan,
};
