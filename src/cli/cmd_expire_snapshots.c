/* firn expire-snapshots: arguments to a plan, plan to a report. All judgement is in src/maintain. */
#include "cli/cli.h"
#include "firn/expire_snapshots.h"

struct expire_args {
    struct firn_text table, older_than, snapshot_ids;
    int64_t retain_last, max_concurrent_deletes;
    bool stream_results, clean_expired_metadata, mark, dry_run;
};

#define ARG(member) offsetof(struct expire_args, member)

static const struct cli_option options[] = {
    { "table", CLI_POSITIONAL, ARG(table), "TABLE", NULL, NULL, 0, 0, true, "Table whose snapshots expire" },
    { "older-than", CLI_TEXT, ARG(older_than), "TIME", NULL, NULL, 0, 0, false,
      "Let go of snapshots older than this: a timestamp (UTC where no zone is given) or an age such as 7d (the table's "
      "history.expire.max-snapshot-age-ms, else 5d)",
      CLI_SQL_TIMESTAMP },
    { "retain-last", CLI_NUMBER, ARG(retain_last), "N", NULL, NULL, 1, INT32_MAX, false,
      "Keep at least so many snapshots of each branch (the table's history.expire.min-snapshots-to-keep, else 1)" },
    { "max-concurrent-deletes", CLI_NUMBER, ARG(max_concurrent_deletes), "N", NULL, NULL, 1, 1024, false,
      "Deletions at a time (as many as there are threads)" },
    { "stream-results", CLI_FLAG, ARG(stream_results), NULL, NULL, NULL, 0, 0, false,
      "Accepted for scripts written for Spark: memory is bounded either way" },
    { "snapshot-ids", CLI_TEXT, ARG(snapshot_ids), "ID[,ID]", NULL, NULL, 0, 0, false,
      "Let go of these too, whatever their age; the others still go by age", CLI_SQL_LONGS },
    { "clean-expired-metadata", CLI_FLAG, ARG(clean_expired_metadata), NULL, NULL, NULL, 0, 0, false,
      "Also remove partition specs and schemas that no remaining snapshot needs" },
    { "mark", CLI_FLAG, ARG(mark), NULL, NULL, NULL, 0, 0, false,
      "Delete no file: write them into the table's list of marks, for remove-orphan-files --sweep" },
    { "dry-run", CLI_FLAG, ARG(dry_run), NULL, NULL, NULL, 0, 0, false,
      "Print what would go, with reasons, and change nothing" },
    { 0 },
};

/* "1,2,3"; blanks are fine. */
static firn_status parse_ids(struct firn_op *op, struct firn_text text, struct firn_expire_snapshots_args *out)
{
    struct cli_words words = cli_split(op->arena, text);
    int64_t *ids = FIRN_NEW_ARRAY(op->arena, int64_t, words.count);
    for (size_t i = 0; i < words.count; i++)
        if (!firn_text_to_i64(words.items[i], &ids[i]))
            return firn_fail(op, FIRN_USAGE, "--snapshot-ids: '%.*s' is no snapshot id", FIRN_FMT(words.items[i]));
    out->snapshot_ids = ids;
    out->snapshot_id_count = words.count;
    return FIRN_OK;
}

/* The procedure's columns and where their values are. */
static const struct {
    const char *name;
    size_t offset;
} columns[] = {
#define COLUMN(member)                                                                                                 \
    {                                                                                                                  \
#member, offsetof(struct firn_expire_snapshots_report, member)                                                 \
    }
    COLUMN(deleted_data_files_count),
    COLUMN(deleted_position_delete_files_count),
    COLUMN(deleted_equality_delete_files_count),
    COLUMN(deleted_manifest_files_count),
    COLUMN(deleted_manifest_lists_count),
    COLUMN(deleted_statistics_files_count),
    /* what firn adds */
    COLUMN(deleted_bytes),
    COLUMN(expired_snapshots_count),
    COLUMN(removed_refs_count),
    COLUMN(marked_files_count),
    COLUMN(leftover_files_count),
    COLUMN(elapsed_ms),
#undef COLUMN
};
enum { COLUMN_COUNT = sizeof columns / sizeof *columns, PROCEDURE_COLUMNS = 6 };

static int64_t column_value(const struct firn_expire_snapshots_report *report, size_t column)
{
    int64_t value;
    memcpy(&value, (const char *)report + columns[column].offset, sizeof value);
    return value;
}

static firn_status print_report_json(struct firn_op *op, struct cli *cli,
                                     const struct firn_expire_snapshots_report *report, const struct cli_work *work)
{
    json_t *json = json_object(), *failures = json_array();
    for (size_t c = 0; c < COLUMN_COUNT; c++)
        json_object_set_new(json, columns[c].name, json_integer(column_value(report, c)));
    for (size_t i = 0; i < report->failure_count; i++) {
        const struct firn_expiry_failure *failure = &report->failures[i];
        json_t *item = json_object();
        json_object_set_new(item, "path", firn_json_string(failure->path));
        json_object_set_new(item, "reason", firn_json_string(failure->reason));
        json_array_append_new(failures, item);
    }
    json_object_set_new(json, "failures", failures);
    json_object_set_new(json, "work", cli_work_json(work));
    firn_status status = cli_print_json(op, cli, json);
    json_decref(json);
    return status;
}

static void print_report_table(struct firn_op *op, struct cli *cli, const struct firn_expire_snapshots_report *report,
                               const struct cli_work *work)
{
    struct cli_column titles[PROCEDURE_COLUMNS];
    struct firn_text cells[PROCEDURE_COLUMNS];
    for (size_t c = 0; c < PROCEDURE_COLUMNS; c++) {
        titles[c] = (struct cli_column){ columns[c].name, true };
        cells[c] = firn_text_format(op->arena, "%" PRId64, column_value(report, c));
    }
    cli_print_table(cli, titles, PROCEDURE_COLUMNS, cells, 1);
    if (report->expired_snapshots_count + report->removed_refs_count > 0)
        fprintf(cli->out, "\n%.*s snapshots and %.*s references expired, %.*s given back, in %.*s\n",
                FIRN_FMT(cli_count_text(op->arena, report->expired_snapshots_count)),
                FIRN_FMT(cli_count_text(op->arena, report->removed_refs_count)),
                FIRN_FMT(cli_bytes_text(op->arena, (uint64_t)report->deleted_bytes)),
                FIRN_FMT(cli_duration_text(op->arena, report->elapsed_ms)));
    if (report->marked_files_count > 0)
        fprintf(cli->out, "%.*s files marked; remove-orphan-files --sweep deletes them later\n",
                FIRN_FMT(cli_count_text(op->arena, report->marked_files_count)));
    if (report->leftover_files_count > 0)
        fprintf(cli->out, "%.*s files that runs before had left were deleted\n",
                FIRN_FMT(cli_count_text(op->arena, report->leftover_files_count)));
    cli_print_work(op, cli, work);
    for (size_t i = 0; i < report->failure_count; i++)
        fprintf(cli->out, "still there: %.*s: %.*s\n", CLI_FMT(cli, report->failures[i].path),
                CLI_FMT(cli, report->failures[i].reason));
}

static firn_status print_plan(struct firn_op *op, struct cli *cli, const struct firn_expiry *expiry,
                              const struct cli_work *work)
{
    json_t *json = firn_expiry_json(op, expiry);
    const json_t *item;
    const json_t *snapshots = json_object_get(json, "snapshots"), *files = json_object_get(json, "files");
    size_t index;
    if (cli_wants_json(cli))
        return cli_print_plan_json(op, cli, json, work);
    fprintf(cli->out, "%zu snapshots would expire and %" PRId64 " stay; %zu files would be deleted\n",
            json_array_size(snapshots), cli_member_i64(json, "kept_snapshots"), json_array_size(files));
    cli_print_estimate(op, cli, work);
    json_array_foreach(json_object_get(json, "refs"), index, item)
    {
        fprintf(cli->out, "%.*s %.*s: %.*s\n", CLI_FMT(cli, cli_member_text(item, "type")),
                CLI_FMT(cli, cli_member_text(item, "ref")), CLI_FMT(cli, cli_member_text(item, "reason")));
    }
    json_array_foreach(snapshots, index, item)
    {
        fprintf(cli->out, "snapshot %" PRId64 ": %.*s\n", cli_member_i64(item, "snapshot_id"),
                CLI_FMT(cli, cli_member_text(item, "reason")));
    }
    json_array_foreach(files, index, item)
    {
        fprintf(cli->out, "%.*s %.*s: %.*s\n", CLI_FMT(cli, cli_member_text(item, "type")),
                CLI_FMT(cli, cli_member_text(item, "path")), CLI_FMT(cli, cli_member_text(item, "reason")));
    }
    return FIRN_OK;
}

static firn_status apply(struct firn_op *op, struct cli *cli, struct firn_table *table, struct firn_expiry *expiry,
                         struct cli_work *work)
{
    struct firn_expire_snapshots_report report;
    firn_status status = firn_expire_snapshots_apply(op, firn_session_pool(cli->session), table, expiry,
                                                     cli_progress(op, cli, "expire-snapshots"), &report);
    if (status != FIRN_OK && status != FIRN_PARTIAL)
        return firn_context(op, status, "table %.*s", FIRN_FMT(table->name));
    struct firn_error error = op->error;
    cli_work_end(op, cli, work);
    if (report.expired_snapshots_count + report.removed_refs_count + report.leftover_files_count > 0)
        cli->done = "the snapshots were expired";
    if (cli_wants_json(cli))
        FIRN_TRY(print_report_json(op, cli, &report, work));
    else
        print_report_table(op, cli, &report, work);
    op->error = error;
    return firn_context(op, status, "table %.*s", FIRN_FMT(table->name));
}

static firn_status run(struct firn_op *op, struct cli *cli, const void *arguments)
{
    const struct expire_args *args = arguments;
    struct firn_table table;
    struct firn_expiry *expiry;
    struct cli_work work;
    struct firn_expire_snapshots_args procedure = {
        .older_than = args->older_than,
        .retain_last = args->retain_last,
        .max_concurrent_deletes = (uint32_t)args->max_concurrent_deletes,
        .clean_expired_metadata = args->clean_expired_metadata,
        .mark = args->mark,
    };
    FIRN_TRY(parse_ids(op, args->snapshot_ids, &procedure));
    FIRN_TRY(cli_open_table(op, cli, args->table, &table));
    firn_status status = firn_expire_snapshots_plan(op, firn_session_pool(cli->session), &table, &procedure, &expiry);
    FIRN_TRY(firn_context(op, status, "table %.*s", FIRN_FMT(table.name)));
    FIRN_TRY(cli_work_begin(op, cli, firn_expiry_work(expiry), &work));
    return args->dry_run ? print_plan(op, cli, expiry, &work) : apply(op, cli, &table, expiry, &work);
}

const struct cli_command cmd_expire_snapshots = {
    .name = "expire-snapshots",
    .summary = "Remove old snapshots and the files only they use (Spark's expire_snapshots)",
    .description =
        "Lets snapshots go by age and number, commits that, and then deletes the files that no remaining snapshot "
        "reaches. Branches and tags keep what they hold; what they say of their own retention goes before the "
        "arguments. Their heads are never let go.\n\nA file that could not be deleted is named, and the exit status is "
        "7. "
        "Run it again, whether files could not be deleted or it was killed: what has to be deleted is in the table's "
        "journal before the snapshots go, and stays there until it is gone.",
    .examples = "  firn expire-snapshots db.txn --dry-run\n"
                "  firn expire-snapshots db.txn --older-than 7d --retain-last 10\n"
                "  firn expire-snapshots db.txn --snapshot-ids 5310972899275895471\n",
    .options = options,
    .args_size = sizeof(struct expire_args),
    .call_arguments = 7,
    .run = run,
};
