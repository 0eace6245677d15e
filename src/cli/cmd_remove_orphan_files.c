/* firn remove-orphan-files: arguments to a plan, then print, mark or delete. All judgement is in src/maintain. */
#include "cli/cli.h"
#include "firn/remove_orphan_files.h"

/* With --stream-results Spark returns at most so many paths. */
enum { STREAMED_ROWS_MAX = 20000 };

struct orphan_args {
    struct firn_text table, older_than, location, file_list_view, prefix_mismatch_mode, from, after;
    struct cli_pairs equal_schemes, equal_authorities;
    int64_t max_concurrent_deletes;
    bool dry_run, prefix_listing, stream_results, trust_location, mark, sweep;
};

#define ARG(member) offsetof(struct orphan_args, member)

static const struct cli_option options[] = {
    { "table", CLI_POSITIONAL, ARG(table), "TABLE", NULL, NULL, 0, 0, true, "Table whose orphan files are removed" },
    { "older-than", CLI_TEXT, ARG(older_than), "TIME", NULL, NULL, 0, 0, false,
      "Take only files last changed before this: a timestamp (UTC where no zone is given) or an age such as 5d; at "
      "least "
      "24 hours ago (3 days ago)",
      CLI_SQL_TIMESTAMP },
    { "location", CLI_TEXT, ARG(location), "LOCATION", NULL, NULL, 0, 0, false,
      "Folder to look at, in the table's location or in its write.*.path folders (the table's location)" },
    { "dry-run", CLI_FLAG, ARG(dry_run), NULL, NULL, NULL, 0, 0, false, "List the orphan files and delete nothing" },
    { "max-concurrent-deletes", CLI_NUMBER, ARG(max_concurrent_deletes), "N", NULL, NULL, 1, 1024, false,
      "Deletions at a time (as many as there are threads)" },
    { "file-list-view", CLI_TEXT, ARG(file_list_view), "FILE", NULL, NULL, 0, 0, false,
      "Read the files from this list instead of listing the location: CSV with a header, or JSON lines, of file_path "
      "and "
      "last_modified (a timestamp or milliseconds)" },
    { "equal-schemes", CLI_PAIRS, ARG(equal_schemes), "NAME[,NAME]=NAME", NULL, NULL, 0, 0, false,
      "Schemes that are one (repeatable), besides s3n,s3a=s3" },
    { "equal-authorities", CLI_PAIRS, ARG(equal_authorities), "NAME[,NAME]=NAME", NULL, NULL, 0, 0, false,
      "Authorities (buckets, hosts) that are one (repeatable)" },
    { "prefix-mismatch-mode", CLI_TEXT, ARG(prefix_mismatch_mode), "MODE", NULL, NULL, 0, 0, false,
      "What to do with files recorded under the same path but another scheme or authority: ERROR stops and lists them, "
      "IGNORE keeps them, DELETE takes them for orphans (ERROR)" },
    { "prefix-listing", CLI_FLAG, ARG(prefix_listing), NULL, NULL, NULL, 0, 0, false,
      "Accepted for scripts written for Spark, and said to change nothing: each store lists in the way that is best "
      "for "
      "it, and what is hidden or young stays either way" },
    { "stream-results", CLI_FLAG, ARG(stream_results), NULL, NULL, NULL, 0, 0, false,
      "Print at most 20000 files, as Spark does then; memory is bounded either way" },
    { "from", CLI_TEXT, ARG(from), "FILE", NULL, NULL, 0, 0, false,
      "Delete only what this file names, unchanged since: the JSON that --dry-run --output json printed" },
    { "trust-location", CLI_FLAG, ARG(trust_location), NULL, NULL, NULL, 0, 0, false,
      "Take the location to be this table's although it lies elsewhere or holds metadata of other tables; tables that "
      "the "
      "catalog knows are left alone" },
    { "mark", CLI_FLAG, ARG(mark), NULL, NULL, NULL, 0, 0, false,
      "Delete nothing: write the files with date and reason into the table's list of marks" },
    { "sweep", CLI_FLAG, ARG(sweep), NULL, NULL, NULL, 0, 0, false,
      "Delete what was marked long enough ago and is still there, unchanged and unreferenced" },
    { "after", CLI_TEXT, ARG(after), "AGE", NULL, NULL, 0, 0, false, "With --sweep: how old a mark must be (3d)" },
    { 0 },
};

/* Rows as they are printed. */
struct printing {
    struct cli *cli;
    int64_t rows, rows_max;
};

static firn_status print_row(struct firn_op *op, void *context, const struct firn_orphan_file *file)
{
    (void)op;
    struct printing *printing = context;
    if (printing->rows++ < printing->rows_max)
        fprintf(printing->cli->out, "%.*s\n", CLI_FMT(printing->cli, file->location));
    return FIRN_OK;
}

/* On one line. Takes `json` over. */
static firn_status print_member(struct firn_op *op, struct cli *cli, json_t *json)
{
    int failed = json_dumpf(json, cli->out, JSON_COMPACT | JSON_ENCODE_ANY);
    json_decref(json);
    return failed ? cli_output_failed(op, cli) : FIRN_OK;
}

static firn_status print_json_row(struct firn_op *op, void *context, const struct firn_orphan_file *file)
{
    struct printing *printing = context;
    if (printing->rows >= printing->rows_max)
        return FIRN_OK;
    json_t *row = json_object();
    json_object_set_new(row, "orphan_file_location", firn_json_string(file->location));
    json_object_set_new(row, "bytes", file->bytes < 0 ? json_null() : json_integer(file->bytes));
    json_object_set_new(row, "last_modified_ms", json_integer(file->modified_ms));
    fputs(printing->rows++ ? "," : "", printing->cli->out);
    fputs(printing->cli->json_lines ? "" : "\n    ", printing->cli->out);
    return print_member(op, printing->cli, row);
}

static json_t *report_json(const struct firn_orphan_report *report)
{
    const struct {
        const char *key;
        int64_t value;
    } members[] = {
        { "orphan_files_count", report->orphan_count },
        { "orphan_bytes_count", report->orphan_bytes },
        { "deleted_files_count", report->deleted_count },
        { "deleted_bytes_count", report->deleted_bytes },
        { "failed_files_count", report->failed_count },
        { "marked_files_count", report->marked_count },
        { "marked_already_files_count", report->marked_already_count },
        { "dropped_marks_count", report->dropped_mark_count },
        { "listed_files_count", report->listed_count },
        { "hidden_files_count", report->hidden_count },
        { "new_files_count", report->new_count },
        { "unknown_time_files_count", report->unknown_time_count },
        { "unnamable_files_count", report->unnamable_count },
        { "other_table_files_count", report->other_table_count },
        { "live_run_files_count", report->live_run_count },
        { "unconfirmed_files_count", report->unconfirmed_count },
        { "changed_files_count", report->changed_count },
        { "elapsed_ms", report->elapsed_ms },
    };
    json_t *json = json_object(), *failures = json_array();
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        json_object_set_new(json, members[i].key, json_integer(members[i].value));
    for (uint32_t i = 0; i < report->failure_count; i++)
        json_array_append_new(failures, firn_json_string(report->failures[i]));
    json_object_set_new(json, "failures", failures);
    return json;
}

/* One object, with the rows printed one by one: there may be millions. It is what --from reads. */
static firn_status print_json(struct firn_op *op, struct cli *cli, struct firn_orphan_plan *plan, int64_t rows_max,
                              const struct cli_work *work, bool is_done)
{
    struct printing printing = { .cli = cli, .rows_max = rows_max };
    const struct firn_orphan_report *report = firn_orphan_plan_report(plan);
    const char *gap = cli->json_lines ? "" : "\n  ";
    fprintf(cli->out, "{%s\"table_uuid\": ", gap);
    FIRN_TRY(print_member(op, cli, firn_json_string(report->table_uuid)));
    fprintf(cli->out, ",%s\"orphan_files\": [", gap);
    FIRN_TRY(firn_orphan_plan_visit(op, plan, print_json_row, &printing));
    fprintf(cli->out, "%s],%s\"report\": ", printing.rows ? gap : "", gap);
    FIRN_TRY(print_member(op, cli, report_json(report)));
    fprintf(cli->out, ",%s\"%s\": ", gap, is_done ? "work" : "estimate");
    FIRN_TRY(print_member(op, cli, is_done ? cli_work_json(work) : cli_estimate_json(work)));
    fputs(cli->json_lines ? "}\n" : "\n}\n", cli->out);
    return FIRN_OK;
}

static struct firn_text count_and_bytes(struct firn_op *op, int64_t count, int64_t bytes)
{
    return firn_text_format(op->arena, "%.*s (%.*s)", FIRN_FMT(cli_count_text(op->arena, count)),
                            FIRN_FMT(cli_bytes_text(op->arena, (uint64_t)bytes)));
}

/* What became of the files, and of those that were looked at and left. */
static void print_summary(struct firn_op *op, struct cli *cli, const struct firn_orphan_report *report)
{
    const struct {
        int64_t count;
        const char *what;
    } left[] = {
        { report->hidden_count, "hidden" },
        { report->new_count, "too new" },
        { report->unknown_time_count, "without a usable time, taken for new" },
        { report->unnamable_count, "left alone as their names are not UTF-8" },
        { report->other_table_count, "of other tables" },
        { report->live_run_count, "of runs that have not ended" },
        { report->unconfirmed_count, "unreferenced but not confirmed" },
        { report->changed_count, "gone or changed since the list was made" },
    };
    fprintf(cli->out, "\n%.*s orphan files among %.*s",
            FIRN_FMT(count_and_bytes(op, report->orphan_count, report->orphan_bytes)),
            FIRN_FMT(cli_count_text(op->arena, report->listed_count)));
    for (size_t i = 0; i < sizeof left / sizeof *left; i++)
        if (left[i].count > 0)
            fprintf(cli->out, "; %.*s %s", FIRN_FMT(cli_count_text(op->arena, left[i].count)), left[i].what);
    fputc('\n', cli->out);
}

static void print_outcome(struct firn_op *op, struct cli *cli, const struct orphan_args *args,
                          const struct firn_orphan_report *report, struct firn_text marks)
{
    if (args->dry_run)
        return;
    if (args->mark)
        fprintf(cli->out, "%.*s newly marked in %.*s, %.*s marked before; nothing deleted\n",
                FIRN_FMT(cli_count_text(op->arena, report->marked_count)), CLI_FMT(cli, marks),
                FIRN_FMT(cli_count_text(op->arena, report->marked_already_count)));
    else
        fprintf(cli->out, "%.*s deleted, %.*s failed, in %.*s\n",
                FIRN_FMT(count_and_bytes(op, report->deleted_count, report->deleted_bytes)),
                FIRN_FMT(cli_count_text(op->arena, report->failed_count)),
                FIRN_FMT(cli_duration_text(op->arena, report->elapsed_ms)));
    for (uint32_t i = 0; i < report->failure_count; i++)
        fprintf(cli->err, "firn: warning: %.*s\n", CLI_FMT(cli, report->failures[i]));
}

static firn_status print_result(struct firn_op *op, struct cli *cli, const struct orphan_args *args,
                                struct firn_orphan_plan *plan, const struct cli_work *work, struct firn_text marks)
{
    const struct firn_orphan_report *report = firn_orphan_plan_report(plan);
    struct printing printing = { .cli = cli, .rows_max = args->stream_results ? STREAMED_ROWS_MAX : INT64_MAX };
    if (cli_wants_json(cli))
        return print_json(op, cli, plan, printing.rows_max, work, !args->dry_run);
    if (report->orphan_count > 0)
        fputs("orphan_file_location\n", cli->out);
    FIRN_TRY(firn_orphan_plan_visit(op, plan, print_row, &printing));
    print_summary(op, cli, report);
    print_outcome(op, cli, args, report, marks);
    if (!args->dry_run)
        cli_print_work(op, cli, work);
    else
        cli_print_estimate(op, cli, work);
    return FIRN_OK;
}

static firn_status carry_out(struct firn_op *op, struct cli *cli, const struct orphan_args *args,
                             struct firn_table *table, struct firn_orphan_plan *plan)
{
    if (args->dry_run)
        return FIRN_OK;
    if (args->mark)
        return firn_remove_orphan_files_mark(op, table, plan);
    return firn_remove_orphan_files_apply(op, firn_session_pool(cli->session), table, plan,
                                          cli_progress(op, cli, "remove-orphan-files"));
}

static firn_status run(struct firn_op *op, struct cli *cli, const void *arguments)
{
    const struct orphan_args *args = arguments;
    struct firn_table table;
    struct firn_orphan_plan *plan;
    struct cli_work work;
    if (args->prefix_listing && !cli->globals.quiet)
        fprintf(cli->err, "firn: note: --prefix-listing changes nothing, the store is listed as is best for it\n");
    FIRN_TRY(cli_open_table(op, cli, args->table, &table));
    struct firn_remove_orphan_files_args procedure = {
        .older_than = args->older_than,
        .location = args->location,
        .file_list_view = args->file_list_view,
        .max_concurrent_deletes = args->max_concurrent_deletes,
        .equal_schemes = args->equal_schemes.items,
        .equal_scheme_count = args->equal_schemes.count,
        .equal_authorities = args->equal_authorities.items,
        .equal_authority_count = args->equal_authorities.count,
        .prefix_mismatch_mode = args->prefix_mismatch_mode,
        .trust_location = args->trust_location,
        .from = args->from,
        .mark = args->mark,
        .sweep = args->sweep,
        .after = args->after,
    };
    FIRN_TRY(firn_context(op,
                          firn_remove_orphan_files_plan(op, firn_session_pool(cli->session), &table, &procedure, &plan),
                          "table %.*s", FIRN_FMT(table.name)));
    FIRN_TRY(cli_work_begin(op, cli, firn_orphan_plan_work(plan), &work));
    firn_status status = carry_out(op, cli, args, &table, plan);
    cli_work_end(op, cli, &work);
    if (status != FIRN_OK && status != FIRN_PARTIAL)
        return firn_context(op, status, "table %.*s", FIRN_FMT(table.name));
    struct firn_error kept = op->error;
    const struct firn_orphan_report *report = firn_orphan_plan_report(plan);
    if (report->deleted_count + report->marked_count > 0)
        cli->done = args->mark ? "the files were marked" : "files were deleted";
    FIRN_TRY(print_result(op, cli, args, plan, &work, firn_marks_file(op, &table)));
    op->error = kept;
    return status;
}

const struct cli_command cmd_remove_orphan_files = {
    .name = "remove-orphan-files",
    .summary = "Delete files that no snapshot refers to (Spark's remove_orphan_files)",
    .description =
        "Lists the table's location, loads the table's newest metadata, and deletes the files that nothing in it "
        "refers "
        "to: no snapshot, branch or tag, no statistics entry, not the metadata log. Files changed in the last 3 days "
        "stay, as running writers have files that are not committed yet; so do files without a usable time, and hidden "
        "ones (names beginning with '_' or '.'). Prints one orphan_file_location a row.\n\nNothing is deleted when "
        "anything is doubtful: a manifest that cannot be read, files recorded under the same path with another scheme "
        "or "
        "authority, metadata of another table in the location.\n\nIn two steps, with time to change one's mind: --mark "
        "writes the files into a list beside the table's metadata, which people can read; 'firn undelete' takes files "
        "from it; --sweep deletes those marked long enough ago that are still unreferenced and unchanged. Or review a "
        "plan: --dry-run --output json prints one, and --from deletes only what it names and what is an orphan still.",
    .examples = "  firn remove-orphan-files db.txn --dry-run\n"
                "  firn remove-orphan-files db.txn --older-than '2026-11-01 00:00:00'\n"
                "  firn remove-orphan-files db.txn --mark\n"
                "  firn remove-orphan-files db.txn --sweep --after 3d\n",
    .options = options,
    .args_size = sizeof(struct orphan_args),
    .call_arguments = 11,
    .run = run,
};
