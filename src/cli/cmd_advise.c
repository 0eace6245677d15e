/* firn advise: what writers of a table should change. All judgement is in src/maintain. */
#include "cli/cli.h"
#include "firn/advise.h"

struct advise_args {
    struct firn_text table, latency;
    int64_t file_bytes;
};

#define ARG(member) offsetof(struct advise_args, member)

static const struct cli_option options[] = {
    { "table", CLI_POSITIONAL, ARG(table), "TABLE", NULL, NULL, 0, 0, true, "Table to advise on" },
    { "file-size", CLI_BYTES, ARG(file_bytes), "SIZE", NULL, NULL, 1 << 20, INT64_C(1) << 40, false,
      "Size that files are to have when they are written; by default the table's target" },
    { "latency", CLI_TEXT, ARG(latency), "AGE", "10m", NULL, 0, 0, false,
      "How long readers may wait for what a stream has received" },
    { 0 },
};

static const char *color_of(const struct cli *cli, enum firn_advice_verdict verdict)
{
    static const char *const colors[] = {
        [FIRN_ADVICE_CHANGE] = "\033[33m",
        [FIRN_ADVICE_FINE] = "\033[32m",
        [FIRN_ADVICE_UNKNOWN] = "\033[2m",
    };
    return cli_has_color(cli) ? colors[verdict] : "";
}

static void print_advice(struct cli *cli, const struct firn_advice *advice)
{
    fprintf(cli->out, "  %s%-7s%s %s: %.*s\n", color_of(cli, advice->verdict),
            firn_advice_verdict_name(advice->verdict), cli_has_color(cli) ? "\033[0m" : "", advice->topic,
            CLI_FMT(cli, advice->what));
    fprintf(cli->out, "    %-16s%.*s\n", "why", CLI_FMT(cli, advice->why));
    for (size_t i = 0; i < advice->setting_count; i++)
        fprintf(cli->out, "    %-16s%.*s\n", advice->settings[i].where, CLI_FMT(cli, advice->settings[i].text));
}

static void print_report(struct firn_op *op, struct cli *cli, const struct firn_advise_report *report)
{
    fprintf(cli->out, "%.*s: %zu change%s advised", CLI_FMT(cli, report->table), report->change_count,
            report->change_count == 1 ? "" : "s");
    if (report->writer.len > 0)
        fprintf(cli->out, ", from %.*s commits of %.*s in %.*s", FIRN_FMT(cli_count_text(op->arena, report->commits)),
                CLI_FMT(cli, report->writer), FIRN_FMT(cli_duration_text(op->arena, report->span_ms)));
    fputc('\n', cli->out);
    for (enum firn_advice_verdict verdict = FIRN_ADVICE_CHANGE; verdict <= FIRN_ADVICE_UNKNOWN; verdict++)
        for (size_t i = 0; i < report->count; i++)
            if (report->items[i].verdict == verdict)
                print_advice(cli, &report->items[i]);
}

static firn_status run(struct firn_op *op, struct cli *cli, const void *arguments)
{
    const struct advise_args *args = arguments;
    struct firn_advise_options what = { .file_bytes = args->file_bytes, .latency = args->latency };
    struct firn_advise_report report;
    struct firn_table table;
    FIRN_TRY(cli_open_table(op, cli, args->table, &table));
    firn_status status = firn_advise(op, firn_session_pool(cli->session), &table, &what, &report);
    FIRN_TRY(firn_context(op, status, "table %.*s", FIRN_FMT(table.name)));
    if (cli_wants_json(cli))
        return cli_print_json(op, cli, firn_advise_json(op, &report));
    print_report(op, cli, &report);
    return FIRN_OK;
}

const struct cli_command cmd_advise = {
    .name = "advise",
    .summary = "Say what those who write a table should change",
    .description =
        "Looks at the commits that are kept and at what they left, and says by measured numbers what would keep the "
        "table well: in how many tasks a batch is written, how often a stream commits, how rows are distributed to "
        "tasks, file size and codec, which bounds manifests keep, partition transforms, merge-on-read or "
        "copy-on-write. Each change comes word for word, for whoever makes it. Where there is too little to tell from, "
        "it says so. Nothing is changed.",
    .examples = "  firn advise db.txn\n  firn advise db.txn --file-size 256MiB --latency 15m\n"
                "  firn advise db.txn --output json\n",
    .options = options,
    .args_size = sizeof(struct advise_args),
    .run = run,
};
