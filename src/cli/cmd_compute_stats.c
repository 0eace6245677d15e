/* firn compute-table-stats and compute-partition-stats: arguments to a call, report to output. All judgement is in
 * src/maintain. */
#include "cli/cli.h"
#include "firn/compute_stats.h"

struct stats_args {
    struct firn_text table, snapshot_id, columns;
    bool dry_run;
};

#define ARG(member) offsetof(struct stats_args, member)

static const struct cli_option table_options[] = {
    { "table", CLI_POSITIONAL, ARG(table), "TABLE", NULL, NULL, 0, 0, true, "Table to work on" },
    { "snapshot-id", CLI_TEXT, ARG(snapshot_id), "ID", NULL, NULL, 0, 0, false,
      "Snapshot whose rows are read (the current one)", CLI_SQL_LONG },
    { "columns", CLI_TEXT, ARG(columns), "NAME[,NAME]", NULL, NULL, 0, 0, false,
      "Columns by their full names (all top-level columns of primitive types)", CLI_SQL_TEXTS },
    { "dry-run", CLI_FLAG, ARG(dry_run), NULL, NULL, NULL, 0, 0, false, "Compute and print, and write nothing" },
    { 0 },
};

static const struct cli_option partition_options[] = {
    { "table", CLI_POSITIONAL, ARG(table), "TABLE", NULL, NULL, 0, 0, true, "Table to work on" },
    { "snapshot-id", CLI_TEXT, ARG(snapshot_id), "ID", NULL, NULL, 0, 0, false,
      "Snapshot whose files are summed up (the current one)", CLI_SQL_LONG },
    { "dry-run", CLI_FLAG, ARG(dry_run), NULL, NULL, NULL, 0, 0, false, "Compute and print, and write nothing" },
    { 0 },
};

/* What every command here begins with. */
static firn_status open_target(struct firn_op *op, struct cli *cli, const struct stats_args *args,
                               struct firn_table *table, int64_t *id)
{
    if (args->snapshot_id.len > 0 && !firn_text_to_i64(args->snapshot_id, id))
        return firn_fail(op, FIRN_USAGE, "'%.*s' is no snapshot id", FIRN_FMT(args->snapshot_id));
    return cli_open_table(op, cli, args->table, table);
}

static json_t *text_or_null(struct firn_text text)
{
    return text.data ? firn_json_string(text) : json_null();
}

/* The procedure's output row: one column, none for an empty table. */
static void print_file(struct cli *cli, const char *title, bool has_row, struct firn_text file)
{
    const struct cli_column column = { title, false };
    struct firn_text cell = file.data ? file : FIRN_TEXT("null");
    cli_print_table(cli, &column, 1, &cell, has_row ? 1 : 0);
}

/* compute-table-stats -------------------------------------------------------------------------------------------- */

static firn_status print_table_json(struct firn_op *op, struct cli *cli, const struct firn_table_stats_report *report)
{
    json_t *json = json_object(), *columns = json_array();
    json_object_set_new(json, "statistics_file", text_or_null(report->statistics_file));
    json_object_set_new(json, "snapshot_id", report->has_snapshot ? json_integer(report->snapshot_id) : json_null());
    json_object_set_new(json, "columns", columns);
    for (size_t i = 0; i < report->column_count; i++) {
        const struct firn_column_stats *column = &report->columns[i];
        json_t *row = json_object();
        json_object_set_new(row, "name", firn_json_string(column->name));
        json_object_set_new(row, "field_id", json_integer(column->field_id));
        json_object_set_new(row, "ndv", json_integer(column->distinct_count));
        json_object_set_new(row, "exact", json_boolean(column->exact));
        json_array_append_new(columns, row);
    }
    json_object_set_new(json, "row_count", json_integer(report->row_count));
    json_object_set_new(json, "file_count", json_integer(report->file_count));
    json_object_set_new(json, "elapsed_ms", json_integer(report->elapsed_ms));
    firn_status status = cli_print_json(op, cli, json);
    json_decref(json);
    return status;
}

static void print_table_columns(struct firn_op *op, struct cli *cli, const struct firn_table_stats_report *report)
{
    enum { COLUMNS = 2 };
    static const struct cli_column titles[COLUMNS] = { { "column", false }, { "distinct values", true } };
    struct firn_text *cells = FIRN_NEW_ARRAY(op->arena, struct firn_text, report->column_count * COLUMNS);
    for (size_t i = 0; i < report->column_count; i++) {
        const struct firn_column_stats *column = &report->columns[i];
        struct firn_text count = cli_count_text(op->arena, column->distinct_count);
        cells[i * COLUMNS] = column->name;
        cells[i * COLUMNS + 1] = firn_text_format(op->arena, "%s%.*s", column->exact ? "" : "about ", FIRN_FMT(count));
    }
    fputc('\n', cli->out);
    cli_print_table(cli, titles, COLUMNS, cells, report->column_count);
    fprintf(cli->out, "\n%.*s rows of %.*s files read in %.*s; snapshot %" PRId64 "\n",
            FIRN_FMT(cli_count_text(op->arena, report->row_count)),
            FIRN_FMT(cli_count_text(op->arena, report->file_count)),
            FIRN_FMT(cli_duration_text(op->arena, report->elapsed_ms)), report->snapshot_id);
}

static firn_status run_table(struct firn_op *op, struct cli *cli, const void *arguments)
{
    const struct stats_args *args = arguments;
    struct firn_table table;
    struct firn_table_stats_report report;
    int64_t id;
    struct cli_words columns = cli_split(op->arena, args->columns);
    struct firn_table_stats_args given = {
        .snapshot_id = args->snapshot_id.len > 0 ? &id : NULL,
        .columns = cli_is_given(cli, "columns") ? columns.items : NULL,
        .column_count = columns.count,
        .dry_run = args->dry_run,
        .progress = cli_progress(op, cli, "compute-table-stats"),
    };
    FIRN_TRY(open_target(op, cli, args, &table, &id));
    FIRN_TRY(firn_context(op, firn_compute_table_stats(op, firn_session_pool(cli->session), &table, &given, &report),
                          "table %.*s", FIRN_FMT(table.name)));
    if (report.statistics_file.data)
        cli->done = "the statistics file was set";
    if (cli_wants_json(cli))
        return print_table_json(op, cli, &report);
    print_file(cli, "statistics_file", report.has_snapshot, report.statistics_file);
    if (report.has_snapshot)
        print_table_columns(op, cli, &report);
    return FIRN_OK;
}

const struct cli_command cmd_compute_table_stats = {
    .name = "compute-table-stats",
    .summary = "Count the distinct values of columns for planners (Spark's compute_table_stats)",
    .description =
        "Reads columns of all live rows of a snapshot and records the number of distinct values of each, with the "
        "theta sketch it comes from, in a Puffin file that the table's metadata name as the snapshot's statistics. "
        "Spark, Trino and others plan joins by it. Up to 4,096 values are counted exactly; of more, the number is an "
        "estimate within about 3 %.\n\nA file that the snapshot had before is no longer named and left to "
        "remove-orphan-files.",
    .examples = "  firn compute-table-stats db.txn\n"
                "  firn compute-table-stats db.txn --columns account,region\n"
                "  firn compute-table-stats db.txn --dry-run\n",
    .options = table_options,
    .args_size = sizeof(struct stats_args),
    .call_arguments = 3,
    .run = run_table,
};

/* compute-partition-stats ---------------------------------------------------------------------------------------- */

static firn_status print_partition_json(struct firn_op *op, struct cli *cli,
                                        const struct firn_partition_stats_report *report)
{
    json_t *json = json_object();
    bool has_base = report->base_snapshot_id >= 0;
    json_object_set_new(json, "partition_statistics_file", text_or_null(report->statistics_file));
    json_object_set_new(json, "snapshot_id", report->has_snapshot ? json_integer(report->snapshot_id) : json_null());
    json_object_set_new(json, "was_there", json_boolean(report->was_there));
    json_object_set_new(json, "base_snapshot_id", has_base ? json_integer(report->base_snapshot_id) : json_null());
    json_object_set_new(json, "partition_count", json_integer(report->partition_count));
    json_object_set_new(json, "manifest_count", json_integer(report->manifest_count));
    json_object_set_new(json, "elapsed_ms", json_integer(report->elapsed_ms));
    firn_status status = cli_print_json(op, cli, json);
    json_decref(json);
    return status;
}

static void print_partition_remarks(struct firn_op *op, struct cli *cli,
                                    const struct firn_partition_stats_report *report)
{
    if (report->was_there) {
        fprintf(cli->out, "\nsnapshot %" PRId64 " had it already\n", report->snapshot_id);
        return;
    }
    fprintf(cli->out, "\n%.*s partitions; %.*s manifests read in %.*s; snapshot %" PRId64 "\n",
            FIRN_FMT(cli_count_text(op->arena, report->partition_count)),
            FIRN_FMT(cli_count_text(op->arena, report->manifest_count)),
            FIRN_FMT(cli_duration_text(op->arena, report->elapsed_ms)), report->snapshot_id);
    if (report->base_snapshot_id >= 0)
        fprintf(cli->out, "gone on from the file of snapshot %" PRId64 "\n", report->base_snapshot_id);
}

static firn_status run_partition(struct firn_op *op, struct cli *cli, const void *arguments)
{
    const struct stats_args *args = arguments;
    struct firn_table table;
    struct firn_partition_stats_report report;
    int64_t id;
    struct firn_partition_stats_args given = { .snapshot_id = args->snapshot_id.len > 0 ? &id : NULL,
                                               .dry_run = args->dry_run };
    FIRN_TRY(open_target(op, cli, args, &table, &id));
    FIRN_TRY(firn_context(op,
                          firn_compute_partition_stats(op, firn_session_pool(cli->session), &table, &given, &report),
                          "table %.*s", FIRN_FMT(table.name)));
    if (report.statistics_file.data && !report.was_there)
        cli->done = "the statistics file was set";
    if (cli_wants_json(cli))
        return print_partition_json(op, cli, &report);
    print_file(cli, "partition_statistics_file", report.has_snapshot, report.statistics_file);
    if (report.has_snapshot)
        print_partition_remarks(op, cli, &report);
    return FIRN_OK;
}

const struct cli_command cmd_compute_partition_stats = {
    .name = "compute-partition-stats",
    .summary = "Sum up files, rows and bytes by partition for planners (Spark's compute_partition_stats)",
    .description =
        "Records the live files, rows and bytes of each partition of a snapshot, and its deletes, in a Parquet file "
        "that "
        "the table's metadata name as the snapshot's partition statistics. No data file is opened. Where an ancestor "
        "of "
        "the snapshot has such a file, only the manifests written since are read. A file that the snapshot has already "
        "is left as it is.",
    .examples = "  firn compute-partition-stats db.txn\n",
    .options = partition_options,
    .args_size = sizeof(struct stats_args),
    .call_arguments = 2,
    .run = run_partition,
};
