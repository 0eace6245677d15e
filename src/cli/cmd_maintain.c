/* firn maintain: tables and policies to runs, runs to a report. All judgement is in src/maintain. */
#include "cli/cli.h"
#include "firn/maintain.h"

#include <time.h>
#include <unistd.h>

struct maintain_args {
    struct cli_words tables;
    struct firn_text policy, steps;
    struct firn_text max_bytes, max_requests, max_time;
    struct cli_pairs set;
    bool all, force, dry_run, print_policy;
};

#define ARG(member) offsetof(struct maintain_args, member)

static const struct cli_option options[] = {
    { "tables", CLI_WORDS, ARG(tables), "TABLE...", NULL, NULL, 0, 0, false, "Tables to maintain" },
    { "all", CLI_FLAG, ARG(all), NULL, NULL, NULL, 0, 0, false, "All tables of the catalog" },
    { "policy", CLI_TEXT, ARG(policy), "FILE", NULL, NULL, 0, 0, false,
      "Policies (./firn.yaml, else ~/.firn.yaml, else the defaults)" },
    { "set", CLI_PAIRS, ARG(set), "KEY=VALUE", NULL, NULL, 0, 0, false,
      "A setting that goes before files and table properties (repeatable)" },
    { "steps", CLI_TEXT, ARG(steps), "STEP[,STEP]", NULL, NULL, 0, 0, false,
      "No other steps than these: compact, position-deletes, manifests, expire, sweep, orphans" },
    { "max-bytes", CLI_TEXT, ARG(max_bytes), "SIZE", NULL, NULL, 0, 0, false,
      "As --set budget.bytes=SIZE: compact no more bytes of data files in a run, best gain first" },
    { "max-requests", CLI_TEXT, ARG(max_requests), "N", NULL, NULL, 0, 0, false,
      "As --set budget.requests=N: compact with no more requests in a run" },
    { "max-time", CLI_TEXT, ARG(max_time), "TIME", NULL, NULL, 0, 0, false,
      "As --set budget.time=TIME: begin no step later in a run, and no group of files that would end later" },
    { "force", CLI_FLAG, ARG(force), NULL, NULL, NULL, 0, 0, false,
      "Run the steps whatever their cadence and windows say; files keep their age guards" },
    { "dry-run", CLI_FLAG, ARG(dry_run), NULL, NULL, NULL, 0, 0, false,
      "Print what is due and what it would do, with reasons, and change nothing" },
    { "print-policy", CLI_FLAG, ARG(print_policy), NULL, NULL, NULL, 0, 0, false,
      "Print every setting, its value and where it comes from" },
    { 0 },
};

/* A run over tables. */
struct maintaining {
    struct cli *cli;
    const struct maintain_args *args;
    const struct firn_policies *policies;
    struct firn_prices prices;
    const struct firn_property *settings; /* of the command line */
    size_t setting_count;
    uint32_t steps;
    struct firn_text holder;
    json_t *reports;
    size_t failed_count, busy_count;
    struct firn_error error; /* of the first table that was not done */
};

/* Arguments ------------------------------------------------------------------------------------------------------- */

static firn_status parse_steps(struct firn_op *op, struct firn_text text, uint32_t *out)
{
    struct cli_words words = cli_split(op->arena, text);
    *out = 0;
    for (size_t i = 0; i < words.count; i++) {
        int step = 0;
        while (step < FIRN_STEP_COUNT &&
               !firn_text_is(words.items[i], firn_maintain_step_name((enum firn_maintain_step)step)))
            step++;
        if (step == FIRN_STEP_COUNT)
            return firn_fail(op, FIRN_USAGE,
                             "--steps: '%.*s' is none of compact, position-deletes, manifests, expire, sweep, orphans",
                             FIRN_FMT(words.items[i]));
        *out |= UINT32_C(1) << step;
    }
    return FIRN_OK;
}

/* --set, and the flags that stand for settings. */
static void take_settings(struct firn_op *op, const struct maintain_args *args, struct maintaining *all)
{
    const struct firn_property flags[] = {
        { FIRN_TEXT("budget.bytes"), args->max_bytes },
        { FIRN_TEXT("budget.requests"), args->max_requests },
        { FIRN_TEXT("budget.time"), args->max_time },
    };
    struct firn_property *settings =
        FIRN_NEW_ARRAY(op->arena, struct firn_property, args->set.count + sizeof flags / sizeof *flags);
    for (size_t i = 0; i < args->set.count; i++)
        settings[all->setting_count++] = args->set.items[i];
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (flags[i].value.len > 0)
            settings[all->setting_count++] = flags[i];
    all->settings = settings;
}

static struct firn_text holder_text(struct firn_arena *arena)
{
    char host[256] = "";
    if (gethostname(host, sizeof host - 1) != 0 || !host[0])
        return firn_text_format(arena, "process %d", (int)getpid());
    return firn_text_format(arena, "host %s, process %d", host, (int)getpid());
}

/* Printing -------------------------------------------------------------------------------------------------------- */

static struct firn_text time_text(struct firn_arena *arena, const json_t *value)
{
    char text[32];
    time_t seconds = (time_t)(json_integer_value(value) / 1000);
    struct tm parts;
    if (!json_is_integer(value) || !gmtime_r(&seconds, &parts))
        return FIRN_TEXT("-");
    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%SZ", &parts);
    return firn_text_copy(arena, firn_text_of(text));
}

/* What people are told of a step: what it did, why it did not, what stood in the way. */
static struct firn_text step_remark(struct firn_op *op, const json_t *step)
{
    struct firn_text status = cli_member_text(step, "status");
    struct firn_text work = cli_member_text(step, "work"), error = cli_member_text(step, "error");
    struct firn_text hint = cli_member_text(step, "hint");
    if (error.len > 0)
        return firn_text_format(op->arena, "%.*s%s%.*s", FIRN_FMT(error), hint.len ? "; " : "", FIRN_FMT(hint));
    return firn_text_is(status, "not due") || work.len == 0 ? cli_member_text(step, "why") : work;
}

enum unit { COUNT, BYTES, MICROSECONDS, MONEY };

static struct firn_text measure_text(struct firn_arena *arena, const json_t *value, enum unit unit,
                                     const struct firn_prices *prices)
{
    double number = json_number_value(value);
    if (!json_is_number(value))
        return FIRN_TEXT("-");
    switch (unit) {
    case COUNT:
        return cli_count_text(arena, json_integer_value(value));
    case BYTES:
        return cli_bytes_text(arena, (uint64_t)json_integer_value(value));
    case MICROSECONDS:
        return firn_text_format(arena, "%.1f ms", number / 1000);
    case MONEY:
        return firn_money_text(arena, prices, number);
    }
    return FIRN_TEXT("");
}

static void print_measures(struct firn_op *op, struct cli *cli, const struct firn_prices *prices, const json_t *before,
                           const json_t *after)
{
    static const struct {
        const char *key, *title;
        enum unit unit;
    } rows[] = {
        { "data_files", "data files", COUNT },
        { "data_bytes", "data", BYTES },
        { "delete_files", "delete files", COUNT },
        { "manifests", "manifests", COUNT },
        { "manifest_bytes", "manifests' bytes", BYTES },
        { "snapshots", "snapshots", COUNT },
        { "metadata_bytes", "metadata.json", BYTES },
        { "planning_us", "planning a scan", MICROSECONDS },
        { "scan_requests", "requests of a full scan", COUNT },
        { "scan_money", "a full scan", MONEY },
        { "storage_money_month", "storage for a month", MONEY },
        { "sample_files", "files of the sample", COUNT },
        { "sample_bytes", "bytes of the sample", BYTES },
        { "sample_planning_us", "planning the sample", MICROSECONDS },
    };
    static const struct cli_column columns[] = { { "", false }, { "before", true }, { "after", true } };
    enum { ROW_COUNT = sizeof rows / sizeof *rows };
    struct firn_text cells[ROW_COUNT * 3];
    const json_t *sides[2] = { before, after };
    size_t count = 0;
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (!json_is_number(json_object_get(before, rows[i].key)))
            continue;
        cells[count * 3] = firn_text_of(rows[i].title);
        for (size_t side = 0; side < 2; side++)
            cells[count * 3 + 1 + side] =
                measure_text(op->arena, json_object_get(sides[side], rows[i].key), rows[i].unit, prices);
        count++;
    }
    if (count > 0) {
        fputc('\n', cli->out);
        cli_print_table(cli, columns, 3, cells, count);
    }
}

/* What the steps that had work took. */
static void print_works(struct firn_op *op, struct cli *cli, const json_t *steps)
{
    const json_t *step;
    size_t index;
    json_array_foreach(steps, index, step)
    {
        const json_t *actual = json_object_get(step, "actual");
        if (!actual)
            continue;
        fprintf(cli->out, "\n%.*s\n", CLI_FMT(cli, cli_member_text(step, "step")));
        cli_print_work_pair(op, cli, "  ", json_object_get(step, "predicted"), actual);
    }
}

static void print_report(struct firn_op *op, struct cli *cli, const struct firn_prices *prices, const json_t *report)
{
    static const struct cli_column columns[] = { { "step", false }, { "status", false }, { "", false } };
    const json_t *steps = json_object_get(report, "steps"), *step;
    struct firn_text cells[FIRN_STEP_COUNT * 3], error = cli_member_text(report, "error");
    size_t index;
    fprintf(cli->out, "%.*s: %.*s\n", CLI_FMT(cli, cli_member_text(report, "table")),
            CLI_FMT(cli, error.len ? error : cli_member_text(report, "status")));
    if (json_array_size(steps) == 0)
        return;
    json_array_foreach(steps, index, step)
    {
        cells[index * 3] = cli_member_text(step, "step");
        cells[index * 3 + 1] = cli_member_text(step, "status");
        cells[index * 3 + 2] = step_remark(op, step);
    }
    cli_print_table(cli, columns, 3, cells, json_array_size(steps));
    print_works(op, cli, steps);
    print_measures(op, cli, prices, json_object_get(report, "before"), json_object_get(report, "after"));
}

static void print_plan(struct firn_op *op, struct cli *cli, const json_t *plan)
{
    const json_t *step, *lease = json_object_get(plan, "lease");
    size_t index;
    fprintf(cli->out, "%.*s\n", CLI_FMT(cli, cli_member_text(plan, "table")));
    if (json_is_object(lease))
        fprintf(cli->out, "held by %.*s since %.*s\n", CLI_FMT(cli, cli_member_text(lease, "holder")),
                FIRN_FMT(time_text(op->arena, json_object_get(lease, "since_ms"))));
    json_array_foreach(json_object_get(plan, "steps"), index, step)
    {
        const json_t *next = json_object_get(step, "next_ms"), *work = json_object_get(step, "plan");
        bool is_due = json_is_true(json_object_get(step, "is_due"));
        fprintf(cli->out, "\n%.*s: %s: %.*s\n", CLI_FMT(cli, cli_member_text(step, "step")), is_due ? "due" : "not due",
                CLI_FMT(cli, cli_member_text(step, "why")));
        if (json_is_integer(next))
            fprintf(cli->out, "  next at %.*s\n", FIRN_FMT(time_text(op->arena, next)));
        if (is_due)
            fprintf(cli->out, "  %.*s\n", CLI_FMT(cli, cli_member_text(step, "work")));
        if (json_is_object(json_object_get(step, "predicted")))
            fprintf(cli->out, "  predicted: %.*s\n",
                    CLI_FMT(cli, cli_work_text(op->arena, json_object_get(step, "predicted"))));
        if (json_array_size(json_object_get(work, "groups")) > 0 && json_object_get(work, "granularity") == NULL)
            cli_print_groups(op, cli, json_object_get(work, "groups"), &cli_rewrite_groups);
    }
}

static void print_policy(struct cli *cli, struct firn_op *op, const json_t *policy)
{
    static const struct cli_column columns[] = {
        { "key", false }, { "value", false }, { "from", false }, { "", false }
    };
    size_t count = json_array_size(policy), index;
    struct firn_text *cells = FIRN_NEW_ARRAY(op->arena, struct firn_text, count * 4);
    const json_t *item;
    json_array_foreach(policy, index, item)
    {
        cells[index * 4] = cli_member_text(item, "key");
        cells[index * 4 + 1] = cli_member_text(item, "value");
        cells[index * 4 + 2] = cli_member_text(item, "from");
        cells[index * 4 + 3] = cli_member_text(item, "help");
    }
    cli_print_table(cli, columns, 4, cells, count);
}

/* Tables ---------------------------------------------------------------------------------------------------------- */

static struct firn_progress *begin_step(struct firn_op *op, void *context, enum firn_maintain_step step,
                                        struct firn_text why)
{
    struct cli *cli = context;
    const char *name = firn_maintain_step_name(step);
    if (!cli->globals.quiet)
        fprintf(cli->err, "firn: %s: %.*s\n", name, CLI_FMT(cli, why));
    return cli_progress(op, cli, name);
}

static firn_status policy_json(struct firn_op *op, const struct firn_policy *policy, struct firn_text name,
                               json_t **out)
{
    *out = json_pack("{s:s%, s:O}", "table", name.data, name.len, "policy", firn_policy_json(op, policy));
    return FIRN_OK;
}

/* The report on one table, or its plan or policy; a new reference, also after a failure as far as there is one. */
static firn_status maintain_table(struct firn_op *op, struct maintaining *all, struct firn_text name, json_t **out)
{
    const struct maintain_args *args = all->args;
    struct firn_table table;
    struct firn_policy *policy;
    json_t *report = NULL;
    FIRN_TRY(cli_open_table(op, all->cli, name, &table));
    FIRN_TRY(firn_policy_of(op, all->policies, &table, all->settings, all->setting_count, &policy));
    if (args->print_policy)
        return policy_json(op, policy, table.name, out);
    const struct firn_maintain_args how = {
        .policy = policy,
        .prices = &all->prices,
        .steps = all->steps,
        .force = args->force,
        .holder = all->holder,
        .memory_bytes_max = (uint64_t)all->cli->globals.memory,
        .keeps_lease = true,
        .begins = begin_step,
        .context = all->cli,
    };
    struct firn_pool *pool = firn_session_pool(all->cli->session);
    firn_status status = args->dry_run ? firn_maintain_plan(op, pool, &table, &how, &report)
                                       : firn_maintain_run(op, pool, &table, &how, &report);
    *out = json_incref(report);
    return firn_context(op, status, "table %.*s", FIRN_FMT(table.name));
}

static void note_outcome(struct firn_op *op, struct maintaining *all, struct firn_text name, firn_status status,
                         json_t *report)
{
    if (!report)
        report = json_pack("{s:s%}", "table", name.data, name.len);
    if (status != FIRN_OK) {
        const char *word = status == FIRN_PARTIAL || status == FIRN_BUSY ? firn_status_name(status) : "failed";
        json_object_set_new(report, "status", json_string(word));
        if (status != FIRN_PARTIAL)
            json_object_set_new(report, "error", json_string(op->error.text));
        if (all->failed_count + all->busy_count == 0)
            all->error = op->error;
        *(status == FIRN_BUSY ? &all->busy_count : &all->failed_count) += 1;
    }
    json_array_append_new(all->reports, report);
}

/* A single table that came to nothing is told of on standard error. */
static void print_outcome(struct firn_op *op, const struct maintaining *all, const json_t *report)
{
    bool has_steps = json_is_array(json_object_get(report, "steps"));
    if (!has_steps && all->args->tables.count == 1)
        return;
    if (all->args->dry_run && has_steps)
        print_plan(op, all->cli, report);
    else
        print_report(op, all->cli, &all->prices, report);
}

/* Each table in an arena of its own. Fails only when told to stop: other failures are the table's. */
static firn_status visit_table(struct firn_op *op, void *context, struct firn_text identifier)
{
    struct maintaining *all = context;
    struct firn_scratch scratch;
    json_t *report = NULL;
    firn_scratch_begin(op, &scratch);
    firn_status status = maintain_table(op, all, identifier, &report);
    note_outcome(op, all, identifier, status, report);
    if (!cli_wants_json(all->cli) && !all->args->print_policy)
        print_outcome(op, all, json_array_get(all->reports, json_array_size(all->reports) - 1));
    firn_scratch_end(op, &scratch);
    return status == FIRN_CANCELLED ? status : FIRN_OK;
}

/* Opened by the name that leads to it whatever the default catalog is. */
static firn_status visit_listed(struct firn_op *op, void *context, struct firn_text identifier)
{
    struct maintaining *all = context;
    struct firn_catalog *catalog;
    FIRN_TRY(firn_session_catalog(op, all->cli->session, all->cli->globals.catalog, &catalog));
    struct firn_text name = firn_catalog_name(catalog);
    return visit_table(op, all, firn_text_format(op->arena, "%.*s.%.*s", FIRN_FMT(name), FIRN_FMT(identifier)));
}

static firn_status visit_all(struct firn_op *op, struct maintaining *all)
{
    struct firn_session *session;
    struct firn_catalog *catalog;
    FIRN_TRY(cli_session(op, all->cli, &session));
    FIRN_TRY(firn_session_catalog(op, session, all->cli->globals.catalog, &catalog));
    return firn_catalog_list(op, catalog, visit_listed, all);
}

static firn_status visit_tables(struct firn_op *op, struct maintaining *all)
{
    if (all->args->all)
        return visit_all(op, all);
    for (size_t i = 0; i < all->args->tables.count; i++)
        FIRN_TRY(visit_table(op, all, all->args->tables.items[i]));
    return FIRN_OK;
}

/* Of one table its own; of several what they have in common. */
static firn_status outcome(struct firn_op *op, const struct maintaining *all)
{
    size_t count = json_array_size(all->reports);
    if (all->failed_count + all->busy_count == 0)
        return FIRN_OK;
    op->error = all->error;
    if (count == 1)
        return op->error.status;
    if (all->failed_count == 0)
        return firn_fail(op, FIRN_BUSY, "%zu of %zu tables are held by other runs", all->busy_count, count);
    return firn_fail(op, FIRN_PARTIAL, "%zu of %zu tables failed, the first: %s", all->failed_count, count,
                     firn_text_copy(op->arena, firn_text_of(all->error.text)).data);
}

static firn_status print_all(struct firn_op *op, const struct maintaining *all)
{
    const json_t *item;
    size_t index;
    if (cli_wants_json(all->cli) && !all->args->all && json_array_size(all->reports) == 1)
        return cli_print_json(op, all->cli, json_array_get(all->reports, 0));
    if (cli_wants_json(all->cli)) {
        json_t *json = json_pack("{s:O}", "tables", all->reports);
        firn_status status = cli_print_json(op, all->cli, json);
        json_decref(json);
        return status;
    }
    json_array_foreach(all->reports, index, item)
    {
        if (all->args->print_policy && json_is_array(json_object_get(item, "policy"))) {
            fprintf(all->cli->out, "%.*s\n", CLI_FMT(all->cli, cli_member_text(item, "table")));
            print_policy(all->cli, op, json_object_get(item, "policy"));
        }
    }
    return FIRN_OK;
}

/* Without a table: what holds for one of which nothing is said. */
static firn_status print_defaults(struct firn_op *op, struct maintaining *all)
{
    struct firn_policy *policy;
    json_t *report;
    FIRN_TRY(firn_policy_of(op, all->policies, NULL, all->settings, all->setting_count, &policy));
    FIRN_TRY(policy_json(op, policy, FIRN_TEXT("defaults"), &report));
    json_array_append_new(all->reports, report);
    return print_all(op, all);
}

static firn_status carry_out(struct firn_op *op, struct maintaining *all)
{
    const struct maintain_args *args = all->args;
    bool has_tables = args->all || args->tables.count > 0;
    if (args->all && args->tables.count > 0)
        return firn_fail(op, FIRN_USAGE, "maintain: tables are given, and --all asks for all of them");
    if (!has_tables && args->print_policy)
        return print_defaults(op, all);
    if (!has_tables)
        return firn_hint(op, firn_fail(op, FIRN_USAGE, "maintain: no table was given"), "name tables, or say --all");
    firn_status status = visit_tables(op, all);
    struct firn_error error = op->error;
    if (!args->dry_run && !args->print_policy)
        all->cli->done = "what was due has been done";
    FIRN_TRY(print_all(op, all));
    op->error = error;
    return status == FIRN_OK ? outcome(op, all) : status;
}

static firn_status run(struct firn_op *op, struct cli *cli, const void *arguments)
{
    const struct maintain_args *args = arguments;
    struct firn_policies *policies = firn_policies_new(op);
    struct cli_settings settings;
    struct maintaining all = { .cli = cli, .args = args, .policies = policies, .holder = holder_text(op->arena) };
    take_settings(op, args, &all);
    FIRN_TRY(parse_steps(op, args->steps, &all.steps));
    FIRN_TRY(cli_read_settings(op, args->policy, &settings));
    if (settings.path.len > 0)
        FIRN_TRY(firn_policies_parse(op, settings.yaml, settings.path, policies));
    FIRN_TRY(cli_prices(op, cli, &settings, &all.prices));
    all.reports = json_array();
    firn_status status = carry_out(op, &all);
    json_decref(all.reports);
    return status;
}

const struct cli_command cmd_maintain = {
    .name = "maintain",
    .summary = "Run what a table's policy says is due: compact, expire, sweep and the rest, in order",
    .description =
        "One pipeline per table, its steps strictly one after another: compact (the groups that changed since they "
        "were compacted last, and that pay; partitions that have grown cold once more, then never again), "
        "position-deletes, manifests, expire, sweep (delete what was marked long enough ago), orphans (mark what "
        "nothing refers to). A step runs when its cadence says so, in its windows of the day; what is due and why "
        "shows --dry-run.\n\nPolicies come from firn.yaml: defaults, then those of the namespace, then of the table; "
        "table properties firn.maintain.KEY go before these, and --set before all. --print-policy lists every "
        "key.\n\nOnly one run at a time works on a table, on whatever host: it holds a lease in the table's metadata "
        "folder, renews it while it runs, and is taken over when its process has ended or was not heard of for "
        "lease.time. A second run says who holds the table, and its exit status is 8. A step that fails keeps no "
        "other from running, unless going on could lose what is needed to mend it; the exit status is 7 then. What "
        "was killed is due again, and the next run takes what it had finished.\n\nThe report has what each step was "
        "predicted to take and took, in requests, bytes, seconds and money, and what a scan of everything and a month "
        "of storage cost before and after. --max-bytes, --max-requests and --max-time end compaction at a commit, best "
        "gain first; what does not fit is left, and is no failure.",
    .examples = "  firn maintain db.txn --dry-run\n"
                "  firn maintain --all --policy firn.yaml\n"
                "  firn maintain db.txn --steps compact,expire --force\n"
                "  firn maintain db.txn --set compact.every=30m --set expire.older-than=7d\n"
                "  firn maintain db.txn --print-policy\n",
    .options = options,
    .args_size = sizeof(struct maintain_args),
    .run = run,
};
