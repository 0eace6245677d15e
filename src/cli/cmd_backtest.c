/* firn backtest: a policy on a table's past. All judgement is in src/maintain. */
#include "cli/cli.h"
#include "firn/age.h"
#include "firn/backtest.h"

#include <time.h>

struct backtest_args {
    struct firn_text table, policy, every;
    struct cli_pairs set;
};
#define ARG(member) offsetof(struct backtest_args, member)

static const struct cli_option options[] = {
    { "table", CLI_POSITIONAL, ARG(table), "TABLE", NULL, NULL, 0, 0, true, "Table whose history is replayed" },
    { "policy", CLI_TEXT, ARG(policy), "FILE", NULL, NULL, 0, 0, false,
      "Policies (./firn.yaml, else ~/.firn.yaml, else the defaults)" },
    { "set", CLI_PAIRS, ARG(set), "KEY=VALUE", NULL, NULL, 0, 0, false,
      "A setting that goes before files and table properties, as compact.every=30m (repeatable)" },
    { "every", CLI_TEXT, ARG(every), "TIME", NULL, NULL, 0, 0, false,
      "Length of a row; a day, or an hour for a history of less than two days" },
    { 0 },
};

/* Rows for people -------------------------------------------------------------------------------------------------- */

enum kind { COUNT, BYTES, MONEY };
static const struct {
    const char *title, *key;
    enum kind kind;
} members[] = {
    { "files", "data_files", COUNT },          { "delete reads", "delete_reads", COUNT },
    { "rewritten", "rewritten_bytes", BYTES }, { "commits", "commits", COUNT },
    { "requests", "requests", COUNT },         { "cost", "money", MONEY },
    { "scans", "scan_money", MONEY },
};
enum { MEMBER_COUNT = sizeof members / sizeof *members, WIDTH = 1 + 2 * MEMBER_COUNT };

static struct firn_text member_text(struct firn_arena *arena, const struct firn_prices *prices, const json_t *side,
                                    size_t member)
{
    const json_t *value = json_object_get(side, members[member].key);
    if (members[member].kind == MONEY)
        return firn_money_text(arena, prices, json_number_value(value));
    if (members[member].kind == BYTES)
        return cli_bytes_text(arena, (uint64_t)json_integer_value(value));
    return cli_count_text(arena, json_integer_value(value));
}

static struct firn_text time_text(struct firn_arena *arena, int64_t ms)
{
    char text[32];
    struct tm parts;
    time_t seconds = (time_t)(ms / 1000);
    if (!gmtime_r(&seconds, &parts))
        return FIRN_TEXT("-");
    strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts);
    return firn_text_copy(arena, firn_text_of(text));
}

static void fill_row(struct firn_op *op, const struct firn_prices *prices, struct firn_text title, const json_t *row,
                     struct firn_text *cells)
{
    cells[0] = title;
    for (size_t i = 0; i < MEMBER_COUNT; i++) {
        cells[1 + 2 * i] = member_text(op->arena, prices, json_object_get(row, "real"), i);
        cells[2 + 2 * i] = member_text(op->arena, prices, json_object_get(row, "policy"), i);
    }
}

static void print_rows(struct firn_op *op, struct cli *cli, const struct firn_prices *prices, const json_t *result)
{
    const json_t *rows = json_object_get(result, "rows"), *row;
    struct cli_column columns[WIDTH] = { { "until", false } };
    size_t count = json_array_size(rows), index;
    struct firn_text *cells = FIRN_NEW_ARRAY(op->arena, struct firn_text, (count + 1) * WIDTH);
    for (size_t i = 0; i < MEMBER_COUNT; i++) {
        columns[1 + 2 * i] = (struct cli_column){ members[i].title, true };
        columns[2 + 2 * i] = (struct cli_column){ "policy", true };
    }
    json_array_foreach(rows, index, row)
    {
        fill_row(op, prices, time_text(op->arena, cli_member_i64(row, "at_ms")), row, cells + index * WIDTH);
    }
    fill_row(op, prices, FIRN_TEXT("all"), json_object_get(result, "total"), cells + count * WIDTH);
    cli_print_table(cli, columns, WIDTH, cells, count + 1);
}

static void print_result(struct firn_op *op, struct cli *cli, const struct firn_prices *prices, const json_t *result)
{
    const json_t *note;
    size_t index;
    fprintf(cli->out, "%.*s: %.*s snapshots from %.*s to %.*s (UTC); as it was, and as the policy would have had it\n",
            CLI_FMT(cli, cli_member_text(result, "table")),
            FIRN_FMT(cli_count_text(op->arena, cli_member_i64(result, "snapshots"))),
            FIRN_FMT(time_text(op->arena, cli_member_i64(result, "from_ms"))),
            FIRN_FMT(time_text(op->arena, cli_member_i64(result, "to_ms"))));
    print_rows(op, cli, prices, result);
    json_array_foreach(json_object_get(result, "notes"), index, note)
    {
        fprintf(cli->out, "note: %s\n", json_string_value(note));
    }
}

/* The command ------------------------------------------------------------------------------------------------------ */

static firn_status policy_of(struct firn_op *op, const struct backtest_args *args, const struct cli_settings *settings,
                             const struct firn_table *table, struct firn_policy **out)
{
    struct firn_policies *policies = firn_policies_new(op);
    if (settings->path.len > 0)
        FIRN_TRY(firn_policies_parse(op, settings->yaml, settings->path, policies));
    return firn_policy_of(op, policies, table, args->set.items, args->set.count, out);
}

static firn_status run(struct firn_op *op, struct cli *cli, const void *arguments)
{
    const struct backtest_args *args = arguments;
    struct cli_settings settings;
    struct firn_table table;
    struct firn_policy *policy;
    struct firn_prices prices;
    struct firn_backtest_args backtest = { .prices = &prices };
    json_t *result;
    if (args->every.len > 0)
        FIRN_TRY(firn_age_parse(op, "every", args->every, &backtest.interval_ms));
    FIRN_TRY(cli_read_settings(op, args->policy, &settings));
    FIRN_TRY(cli_prices(op, cli, &settings, &prices));
    FIRN_TRY(cli_open_table(op, cli, args->table, &table));
    FIRN_TRY(policy_of(op, args, &settings, &table, &policy));
    backtest.policy = policy;
    firn_status status = firn_backtest(op, firn_session_pool(cli->session), &table, &backtest, &result);
    FIRN_TRY(firn_context(op, status, "table %.*s", FIRN_FMT(table.name)));
    if (cli_wants_json(cli))
        return cli_print_json(op, cli, result);
    print_result(op, cli, &prices, result);
    return FIRN_OK;
}

const struct cli_command cmd_backtest = {
    .name = "backtest",
    .summary = "Show what a policy would have made of a table's past",
    .description =
        "Replays the files that the snapshots added and removed, from metadata alone: as it was, and with compaction "
        "as "
        "the policy has it, at its cadence and in its windows, by the rules that firn compacts by. Each row has the "
        "data "
        "files, and the delete files that a scan opens, at its end; the bytes rewritten, the commits and the requests "
        "of "
        "maintenance in it, what these cost, and what scans of everything cost in that time, as many as the price "
        "scans-per-month says. The last row has averages and sums. The table is not touched.\n\nSnapshots of the kind "
        "'replace' are taken for maintenance: they are in the column of what was, and left out of the policy's. Steps "
        "other than compaction are not replayed. New files have the size that is planned for them. Where a writer "
        "later "
        "removed a file that the policy had compacted, its rows leave the new file at no cost; such a writer would "
        "have "
        "had to rewrite it.",
    .examples = "  firn backtest db.txn --policy firn.yaml\n"
                "  firn backtest db.txn --set compact.every=30m --set compact.min-input-files=10 --every 6h\n"
                "  firn backtest db.txn --set compact.every=never --output json\n",
    .options = options,
    .args_size = sizeof(struct backtest_args),
    .run = run,
};
