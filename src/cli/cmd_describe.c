/* firn describe: what a table is made of. */
#include "cli/cli.h"
#include "firn/describe.h"

struct describe_args {
    struct firn_text table;
    int64_t snapshot_id;
    bool count;
};

static const struct cli_option options[] = {
    { "table", CLI_POSITIONAL, offsetof(struct describe_args, table), "TABLE", NULL, NULL, 0, 0, true,
      "Table to describe" },
    { "snapshot-id", CLI_NUMBER, offsetof(struct describe_args, snapshot_id), "ID", NULL, NULL, INT64_MIN, INT64_MAX,
      false, "Count the files of this snapshot instead of the current one" },
    { "count", CLI_FLAG, offsetof(struct describe_args, count), NULL, NULL, NULL, 0, 0, false,
      "Decode the data files, apply their deletes and count the rows" },
    { 0 },
};

static firn_status run(struct firn_op *op, struct cli *cli, const void *arguments)
{
    const struct describe_args *args = arguments;
    struct firn_table table;
    json_t *json;
    FIRN_TRY(cli_open_table(op, cli, args->table, &table));
    struct firn_describe_options what = { .snapshot_id = args->snapshot_id ? args->snapshot_id : -1 /* not given */,
                                          .count = args->count };
    firn_status status = firn_table_describe(op, firn_session_pool(cli->session), &table, what, &json);
    FIRN_TRY(firn_context(op, status, "table %.*s", FIRN_FMT(table.name)));
    if (cli_wants_json(cli))
        return cli_print_json(op, cli, json);
    cli_print_outline(cli, json);
    return FIRN_OK;
}

const struct cli_command cmd_describe = {
    .name = "describe",
    .summary = "Show a table: version, snapshots, refs, specs, files, records",
    .description = "Prints format version, location, snapshots, branches and tags, partition specs, sort orders, and "
                   "counts the live data files and delete files by kind.",
    .examples = "  firn describe db.txn\n  firn describe /warehouse/db/txn --count --output json\n",
    .options = options,
    .args_size = sizeof(struct describe_args),
    .run = run,
};
