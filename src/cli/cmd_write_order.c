/* firn write-order: ALTER TABLE ... WRITE ORDERED BY and its like. */
#include "cli/cli.h"
#include "firn/write_order.h"

struct order_args {
    struct firn_text table, order;
    bool unordered, locally, distributed_by_partition, dry_run;
};

#define ARG(member) offsetof(struct order_args, member)

static const struct cli_option options[] = {
    { "table", CLI_POSITIONAL, ARG(table), "TABLE", NULL, NULL, 0, 0, true, "Table to work on" },
    { "order", CLI_POSITIONAL, ARG(order), "ORDER", NULL, NULL, 0, 0, false,
      "Columns, or transforms such as bucket(16, c), truncate(8, c) and days(c), each with ASC or DESC and NULLS FIRST "
      "or NULLS LAST" },
    { "unordered", CLI_FLAG, ARG(unordered), NULL, NULL, NULL, 0, 0, false,
      "The table is unsorted, and rows stay with the writer they are at" },
    { "locally", CLI_FLAG, ARG(locally), NULL, NULL, NULL, 0, 0, false,
      "Rows are sorted in each file only; how they are spread over writers stays as it is" },
    { "distributed-by-partition", CLI_FLAG, ARG(distributed_by_partition), NULL, NULL, NULL, 0, 0, false,
      "All rows of a partition go to one writer" },
    { "dry-run", CLI_FLAG, ARG(dry_run), NULL, NULL, NULL, 0, 0, false,
      "Check and print what would be, and change nothing" },
    { 0 },
};

static firn_status print_json(struct firn_op *op, struct cli *cli, const struct firn_write_order_report *report)
{
    json_t *json = json_object();
    json_object_set_new(json, "sort_order_id", report->order_id < 0 ? json_null() : json_integer(report->order_id));
    json_object_set_new(json, "sort_order", firn_json_string(report->order));
    json_object_set_new(json, "distribution_mode", report->mode.len ? firn_json_string(report->mode) : json_null());
    json_object_set_new(json, "changed", json_boolean(report->is_changed));
    firn_status status = cli_print_json(op, cli, json);
    json_decref(json);
    return status;
}

static firn_status print_report(struct firn_op *op, struct cli *cli, const struct firn_write_order_report *report)
{
    static const struct cli_column titles[] = {
        { "sort_order_id", true }, { "sort_order", false }, { "distribution_mode", false }, { "outcome", false }
    };
    if (cli_wants_json(cli))
        return print_json(op, cli, report);
    const struct firn_text cells[] = {
        report->order_id < 0 ? FIRN_TEXT("new") : firn_text_format(op->arena, "%d", report->order_id),
        report->order,
        report->mode.len ? report->mode : FIRN_TEXT("null"),
        report->is_changed ? FIRN_TEXT("changed") : FIRN_TEXT("unchanged"),
    };
    cli_print_table(cli, titles, sizeof titles / sizeof *titles, cells, 1);
    return FIRN_OK;
}

static firn_status run(struct firn_op *op, struct cli *cli, const void *arguments)
{
    const struct order_args *args = arguments;
    struct firn_table table;
    struct firn_write_order_report report;
    struct firn_write_order_args given = {
        .order = args->order,
        .unordered = args->unordered,
        .locally = args->locally,
        .distributed_by_partition = args->distributed_by_partition,
        .dry_run = args->dry_run,
    };
    FIRN_TRY(cli_open_table(op, cli, args->table, &table));
    FIRN_TRY(firn_context(op, firn_write_order_set(op, &table, &given, &report), "table %.*s", FIRN_FMT(table.name)));
    if (!args->dry_run)
        cli->done = "what was asked for was done";
    return print_report(op, cli, &report);
}

const struct cli_command cmd_write_order = {
    .name = "write-order",
    .summary = "Set how writers order and spread a table's rows (WRITE ORDERED BY)",
    .description =
        "Makes an order the table's default sort order and sets write.distribution-mode: 'range' for an order, 'hash' "
        "when distributed by partition, 'none' when unordered. An order that the table had before is taken up again. "
        "It holds for what is written from now on; data files stay as they are.",
    .examples = "  firn write-order db.txn 'account_id ASC NULLS LAST, bucket(16, region)'\n"
                "  firn write-order db.txn --unordered\n",
    .options = options,
    .args_size = sizeof(struct order_args),
    .run = run,
};
