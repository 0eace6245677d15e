/* firn health: what is ill about tables, and what mends it. All judgement is in src/maintain. */
#include "cli/cli.h"
#include "firn/health_html.h"

#include <sys/stat.h>

struct health_args {
    struct cli_words tables;
    struct firn_text html;
    struct cli_pairs thresholds;
    struct firn_text where;
    bool all, orphans;
};

#define ARG(member) offsetof(struct health_args, member)

static const struct cli_option options[] = {
    { "table", CLI_WORDS, ARG(tables), "TABLE", NULL, NULL, 0, 0, false, "Tables to examine" },
    { "all", CLI_FLAG, ARG(all), NULL, NULL, NULL, 0, 0, false, "Examine every table of the catalog" },
    { "orphans", CLI_FLAG, ARG(orphans), NULL, NULL, NULL, 0, 0, false,
      "Also list the table's location, for files that nothing refers to" },
    { "where", CLI_TEXT, ARG(where), "PREDICATE", NULL, NULL, 0, 0, false,
      "Judge only the partitions that may match this predicate on partition columns" },
    { "html", CLI_TEXT, ARG(html), "FILE", NULL, NULL, 0, 0, false,
      "Also write a page with charts, complete in one file, for browsers" },
    { "threshold", CLI_PAIRS, ARG(thresholds), "KEY=VALUE", NULL, NULL, 0, 0, false,
      "What is healthy or ill, as table-files.healthy=20000 or table-files.ill=100000 (repeatable)" },
    { 0 },
};

/* One run: how each table was, as far as that is needed at the end. */
struct examination {
    struct cli *cli;
    const struct health_args *args;
    struct firn_prices prices;
    bool is_survey;                /* of many tables: a line each, details for ill ones */
    json_t *tables;                /* reports, for programs; NULL: for people */
    json_t *failures;              /* {"table", "status", "error"} */
    struct firn_health_page *page; /* NULL: none is wanted */
    size_t done_count, failed_count;
};

/* Output for people ---------------------------------------------------------------------------------------------- */

/* What a finding, or a whole table, is shown in. */
static const char *color_of(const struct cli *cli, bool is_ill, bool is_healthy)
{
    if (!cli_has_color(cli))
        return "";
    return is_ill ? "\033[31m" : is_healthy ? "\033[32m" : "\033[33m";
}

static const char *color_end(const struct cli *cli)
{
    return cli_has_color(cli) ? "\033[0m" : "";
}

static void print_line(struct cli *cli, const char *label, struct firn_text text)
{
    if (text.len > 0)
        fprintf(cli->out, "    %-8s%.*s\n", label, CLI_FMT(cli, text));
}

static struct firn_text cost_text(struct firn_arena *arena, const struct firn_prices *prices,
                                  const struct firn_health_cost *cost)
{
    if (cost->files == 0)
        return FIRN_TEXT("");
    return firn_text_format(
        arena, "%.*s in %.*s files read and written anew, %.*s", FIRN_FMT(cli_bytes_text(arena, (uint64_t)cost->bytes)),
        FIRN_FMT(cli_count_text(arena, cost->files)), FIRN_FMT(firn_money_text(arena, prices, cost->money)));
}

static struct firn_text add_part(struct firn_arena *arena, struct firn_text text, bool wanted, struct firn_text part)
{
    if (!wanted)
        return text;
    return firn_text_format(arena, "%.*s%s%.*s", FIRN_FMT(text), text.len ? ", " : "", FIRN_FMT(part));
}

static struct firn_text gain_text(struct firn_arena *arena, const struct firn_prices *prices,
                                  const struct firn_health_gain *gain)
{
    struct firn_text text = FIRN_TEXT("");
    text = add_part(arena, text, gain->bytes > 0,
                    firn_text_format(arena, "%.*s freed", FIRN_FMT(cli_bytes_text(arena, (uint64_t)gain->bytes))));
    text = add_part(arena, text, gain->files > 0,
                    firn_text_format(arena, "%.*s files fewer", FIRN_FMT(cli_count_text(arena, gain->files))));
    text = add_part(arena, text, gain->manifests > 0,
                    firn_text_format(arena, "%.*s manifests fewer", FIRN_FMT(cli_count_text(arena, gain->manifests))));
    text = add_part(arena, text, gain->requests > 0,
                    firn_text_format(arena, "%.*s requests fewer for a full scan",
                                     FIRN_FMT(cli_count_text(arena, gain->requests))));
    text = add_part(
        arena, text, gain->planning_us >= 1000,
        firn_text_format(arena, "%.*s off planning", FIRN_FMT(cli_duration_text(arena, gain->planning_us / 1000))));
    text = add_part(
        arena, text, gain->money_scan > 0,
        firn_text_format(arena, "%.*s a full scan", FIRN_FMT(firn_money_text(arena, prices, gain->money_scan))));
    return add_part(
        arena, text, gain->money_month > 0,
        firn_text_format(arena, "%.*s a month", FIRN_FMT(firn_money_text(arena, prices, gain->money_month))));
}

static void print_finding(struct firn_op *op, struct cli *cli, const struct firn_prices *prices,
                          const struct firn_health_finding *finding)
{
    bool is_ill = finding->level == FIRN_HEALTH_ILL, is_notice = finding->level == FIRN_HEALTH_NOTICE;
    fprintf(cli->out, "  %s%s%s %s: %.*s\n", color_of(cli, is_ill, is_notice), firn_health_level_name(finding->level),
            color_end(cli), finding->code, CLI_FMT(cli, finding->symptom));
    print_line(cli, "cause", finding->cause);
    print_line(cli, "run", finding->command);
    print_line(cli, "spark", finding->call);
    print_line(cli, "advice", finding->advice);
    print_line(cli, "cost", cost_text(op->arena, prices, &finding->cost));
    print_line(cli, "gain", gain_text(op->arena, prices, &finding->gain));
}

static void print_findings(struct firn_op *op, struct cli *cli, const struct firn_health_report *report)
{
    for (size_t i = 0; i < report->finding_count; i++)
        print_finding(op, cli, &report->prices, &report->findings[i]);
}

static void print_table(struct firn_op *op, struct cli *cli, const struct firn_health_report *report)
{
    fprintf(cli->out, "%.*s: %s%s%s, %d of 100\n", CLI_FMT(cli, report->table),
            color_of(cli, report->is_ill, report->is_healthy), firn_health_state_name(report), color_end(cli),
            report->score);
    for (size_t i = 0; i < report->fact_count; i++)
        fprintf(cli->out, "  %-14s%.*s\n", report->facts[i].what, CLI_FMT(cli, report->facts[i].text));
    print_findings(op, cli, report);
}

/* "healthy  100  db.t  12 files of 1.2 GiB"; the kinds of findings follow. */
static void print_table_line(struct firn_op *op, struct cli *cli, const struct firn_health_report *report)
{
    fprintf(cli->out, "%s%-8s%s %3d  %.*s  %.*s files of %.*s", color_of(cli, report->is_ill, report->is_healthy),
            firn_health_state_name(report), color_end(cli), report->score, CLI_FMT(cli, report->table),
            FIRN_FMT(cli_count_text(op->arena, report->files)),
            FIRN_FMT(cli_bytes_text(op->arena, (uint64_t)report->bytes)));
    for (size_t i = 0; i < report->finding_count; i++)
        fprintf(cli->out, "%s%s", i ? ", " : "  ", report->findings[i].code);
    fputc('\n', cli->out);
    if (report->is_ill)
        print_findings(op, cli, report);
}

/* The command ---------------------------------------------------------------------------------------------------- */

static firn_status examine(struct firn_op *op, const struct examination *run, struct firn_table *table)
{
    struct firn_health_report report;
    struct firn_health_options what = {
        .prices = &run->prices,
        .orphans = run->args->orphans,
        .where = run->args->where,
        .thresholds = run->args->thresholds.items,
        .threshold_count = run->args->thresholds.count,
    };
    firn_status status = firn_health_check(op, firn_session_pool(run->cli->session), table, &what, &report);
    FIRN_TRY(firn_context(op, status, "table %.*s", FIRN_FMT(table->name)));
    if (run->page)
        FIRN_TRY(firn_health_page_add(op, run->page, &report));
    if (run->tables)
        json_array_append(run->tables, firn_health_json(op, &report, !run->args->all));
    else if (run->is_survey)
        print_table_line(op, run->cli, &report);
    else
        print_table(op, run->cli, &report);
    return FIRN_OK;
}

static firn_status open_and_examine(struct firn_op *op, const struct examination *run, struct firn_catalog *catalog,
                                    struct firn_text name)
{
    struct firn_table table;
    FIRN_TRY(catalog ? firn_catalog_load(op, catalog, name, &table) : cli_open_table(op, run->cli, name, &table));
    return examine(op, run, &table);
}

static void note_failure(struct firn_op *op, struct examination *run, struct firn_text name, firn_status status)
{
    run->failed_count++;
    if (run->page)
        firn_health_page_add_failure(run->page, name, firn_text_of(op->error.text));
    if (!run->tables) {
        fprintf(run->cli->out, "%s%-8s%s %3s  %.*s  %s\n", color_of(run->cli, true, false), "broken",
                color_end(run->cli), "", CLI_FMT(run->cli, name), op->error.text);
        return;
    }
    json_t *failure = json_object();
    json_object_set_new(failure, "table", firn_json_string(name));
    json_object_set_new(failure, "status", json_string(firn_status_name(status)));
    json_object_set_new(failure, "error", json_string(op->error.text));
    json_array_append_new(run->failures, failure);
}

/* One table of several: its memory goes with it, and what is wrong with it does not stop the others. */
static firn_status examine_next(struct firn_op *op, struct examination *run, struct firn_catalog *catalog,
                                struct firn_text name)
{
    struct firn_scratch scratch;
    firn_scratch_begin(op, &scratch);
    firn_status status = open_and_examine(op, run, catalog, name);
    if (status == FIRN_OK)
        run->done_count++;
    else if (status != FIRN_CANCELLED && status != FIRN_USAGE)
        note_failure(op, run, name, status);
    firn_scratch_end(op, &scratch);
    return status == FIRN_CANCELLED || status == FIRN_USAGE ? status : FIRN_OK;
}

struct listing {
    struct examination *run;
    struct firn_catalog *catalog;
};

static firn_status examine_listed(struct firn_op *op, void *context, struct firn_text identifier)
{
    const struct listing *listing = context;
    return examine_next(op, listing->run, listing->catalog, identifier);
}

static firn_status examine_all(struct firn_op *op, struct examination *run)
{
    struct firn_session *session;
    struct listing listing = { .run = run };
    FIRN_TRY(cli_session(op, run->cli, &session));
    FIRN_TRY(firn_session_catalog(op, session, run->cli->globals.catalog, &listing.catalog));
    return firn_catalog_list(op, listing.catalog, examine_listed, &listing);
}

static firn_status examine_given(struct firn_op *op, struct examination *run)
{
    const struct cli_words *tables = &run->args->tables;
    for (size_t i = 0; i < tables->count; i++)
        FIRN_TRY(examine_next(op, run, NULL, tables->items[i]));
    return FIRN_OK;
}

static firn_status print_json(struct firn_op *op, struct examination *run)
{
    if (!run->tables)
        return FIRN_OK;
    if (!run->is_survey)
        return cli_print_json(op, run->cli, json_array_get(run->tables, 0));
    json_t *json = json_pack("{s:O, s:O}", "tables", run->tables, "failures", run->failures);
    firn_status status = cli_print_json(op, run->cli, json);
    json_decref(json);
    return status;
}

/* Replacing a file is meant, replacing a device or a pipe is not. */
static firn_status check_page_name(struct firn_op *op, struct firn_text name)
{
    struct stat info;
    if (name.len == 0)
        return firn_fail(op, FIRN_USAGE, "--html needs the name of a file");
    if (stat(name.data, &info) == 0 && !S_ISREG(info.st_mode))
        return firn_fail(op, FIRN_USAGE, "--html: '%.*s' exists and is no file", FIRN_FMT(name));
    return FIRN_OK;
}

static firn_status write_page(struct firn_op *op, const struct examination *run)
{
    struct firn_text name = run->args->html;
    if (!run->page)
        return FIRN_OK;
    FIRN_TRY(firn_health_page_write(op, run->page, firn_session_store(run->cli->session), name));
    if (!run->cli->globals.quiet)
        fprintf(run->cli->err, "wrote %.*s\n", CLI_FMT(run->cli, name));
    return FIRN_OK;
}

static firn_status examine_tables(struct firn_op *op, struct examination *run)
{
    if (!run->is_survey)
        FIRN_TRY(open_and_examine(op, run, NULL, run->args->tables.items[0]));
    else
        FIRN_TRY(run->args->all ? examine_all(op, run) : examine_given(op, run));
    FIRN_TRY(print_json(op, run));
    FIRN_TRY(write_page(op, run));
    if (run->failed_count > 0)
        return firn_fail(op, FIRN_PARTIAL, "%zu of %zu tables could not be examined", run->failed_count,
                         run->failed_count + run->done_count);
    return FIRN_OK;
}

static firn_status run(struct firn_op *op, struct cli *cli, const void *arguments)
{
    const struct health_args *args = arguments;
    struct examination run = { .cli = cli, .args = args, .is_survey = args->all || args->tables.count > 1 };
    if (args->all == (args->tables.count > 0))
        return firn_fail(op, FIRN_USAGE, "give tables, or --all for every table of the catalog, not both");
    if (args->where.len > 0 && (args->all || args->orphans))
        return firn_fail(op, FIRN_USAGE,
                         "--where is of the partitions of tables that are named; it goes with neither "
                         "--all nor --orphans");
    FIRN_TRY(cli_usual_prices(op, cli, &run.prices));
    if (cli_is_given(cli, "html")) {
        FIRN_TRY(check_page_name(op, args->html));
        run.page = firn_health_page_new(op);
    }
    if (cli_wants_json(cli)) {
        run.tables = json_array();
        run.failures = json_array();
    }
    firn_status status = examine_tables(op, &run);
    json_decref(run.tables);
    json_decref(run.failures);
    return status;
}

const struct cli_command cmd_health = {
    .name = "health",
    .summary = "Say what is ill about tables, what mends it, what that costs and gives",
    .description =
        "Measures the current snapshot and the metadata of each table, from metadata alone: sizes of files and "
        "partitions, deletes, manifests, snapshots, references, metrics of columns and how their bounds overlap, who "
        "commits what and how often. Each finding says what is wrong with the numbers that show it, the likely cause, "
        "the command of firn's and the Spark SQL that mend it, what that reads and writes, and what it gives, with "
        "money "
        "at the prices of firn.yaml and --price: for a scan of everything, and for a month with scans-per-month of "
        "them and the storage that is freed.\n\n"
        "The score is 100, less 2 for each notice, 10 for each warning and 30 for each finding of an ill table. Of "
        "several tables, or with --all, there is a line each, and findings of ill ones; a table that cannot be read "
        "does not stop the others, and the exit status is 7 then.\n\n"
        "--html writes all of it as one page, with charts of file sizes, partitions, growth, deletes and overlap; of "
        "several tables with an overview. It needs nothing else, and no network.\n\n"
        "Thresholds, each with .healthy and .ill: average-file-bytes, partition-files, table-files, manifests, "
        "position-deletes, equality-deletes, deleted-rows, dangling-deletes, expirable-snapshots, expirable-bytes, "
        "metadata-bytes, ref-days, orphan-bytes, partition-bytes, partition-skew, metrics-coverage, overlap, "
        "commit-minutes. Those of "
        "deletes, rows, metrics and overlap are shares, of expirable and orphan bytes shares of the live data.",
    .examples = "  firn health db.txn\n  firn health --all\n  firn health db.txn --orphans --output json\n"
                "  firn health --all --html health.html\n"
                "  firn health db.txn --threshold average-file-bytes.healthy=67108864\n",
    .options = options,
    .args_size = sizeof(struct health_args),
    .run = run,
};
