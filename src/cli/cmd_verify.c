/* firn verify: a check of a table, printed by severity. All judgement is in src/maintain. */
#include "cli/cli.h"
#include "firn/verify.h"

/* Unreadable snapshots that are named to people; JSON has all. */
enum { SNAPSHOTS_TOLD_MAX = 20 };

struct verify_args {
    struct firn_text table, sample;
    int64_t seed;
    bool deep, repair, dry_run;
};

#define ARG(member) offsetof(struct verify_args, member)

static const struct cli_option options[] = {
    { "table", CLI_POSITIONAL, ARG(table), "TABLE", NULL, NULL, 0, 0, true, "Table to check" },
    { "deep", CLI_FLAG, ARG(deep), NULL, NULL, NULL, 0, 0, false,
      "Decode every page, and check counts and bounds against the values" },
    { "sample", CLI_TEXT, ARG(sample), "N%", NULL, NULL, 0, 0, false,
      "Check only this part of the data and delete files; all metadata is checked" },
    { "seed", CLI_NUMBER, ARG(seed), "N", NULL, NULL, 1, INT64_MAX, false,
      "Which files a sample takes; without it, others each time" },
    { "repair", CLI_FLAG, ARG(repair), NULL, NULL, NULL, 0, 0, false,
      "Then mend what metadata alone can mend, by ordinary commits" },
    { "dry-run", CLI_FLAG, ARG(dry_run), NULL, NULL, NULL, 0, 0, false, "With --repair: say what would be mended" },
    { 0 },
};

/* Arguments ------------------------------------------------------------------------------------------------------ */

static firn_status read_sample(struct firn_op *op, struct firn_text text, double *percent)
{
    struct firn_text number = firn_text_ends(text, FIRN_TEXT("%")) ? firn_text_until(text, text.len - 1) : text;
    *percent = 0;
    if (text.len == 0)
        return FIRN_OK;
    if (!firn_text_to_f64(number, percent) || *percent <= 0 || *percent > 100)
        return firn_fail(op, FIRN_USAGE, "--sample: '%.*s' is no percentage above 0 and up to 100", FIRN_FMT(text));
    return FIRN_OK;
}

static uint64_t choose_seed(struct firn_op *op, const struct verify_args *args)
{
    uint32_t random;
    if (args->seed > 0)
        return (uint64_t)args->seed;
    op->env->random(op->env->context, &random, sizeof random);
    return (uint64_t)random + 1;
}

/* Output for people ---------------------------------------------------------------------------------------------- */

static void print_findings(struct cli *cli, const struct firn_verify_report *report)
{
    for (size_t i = 0; i < report->finding_count; i++) {
        const struct firn_finding *finding = &report->findings[i];
        fprintf(cli->out, "%s %s: ", firn_severity_name(finding->severity), finding->code);
        if (finding->location.len)
            fprintf(cli->out, "%.*s: ", CLI_FMT(cli, finding->location));
        fprintf(cli->out, "%.*s\n", CLI_FMT(cli, finding->text));
        if (finding->hint.len)
            fprintf(cli->out, "    hint: %.*s\n", CLI_FMT(cli, finding->hint));
    }
    uint64_t all = report->error_count + report->warning_count + report->notice_count;
    if (all > report->finding_count)
        fprintf(cli->out, "... and %" PRIu64 " more of these kinds\n", all - report->finding_count);
}

static void print_unreadable(struct cli *cli, const struct firn_verify_report *report)
{
    size_t told = 0;
    for (size_t i = 0; i < report->snapshot_count && told < SNAPSHOTS_TOLD_MAX; i++) {
        const struct firn_verify_snapshot *snapshot = &report->snapshots[i];
        if (snapshot->is_readable)
            continue;
        told++;
        fprintf(cli->out, "snapshot %.*s", CLI_FMT(cli, snapshot->id));
        if (snapshot->refs.len)
            fprintf(cli->out, " (%.*s)", CLI_FMT(cli, snapshot->refs));
        fprintf(cli->out, " cannot be read: %.*s\n", CLI_FMT(cli, snapshot->why));
    }
    size_t unreadable = report->snapshot_count - report->readable_count;
    if (unreadable > told)
        fprintf(cli->out, "... and %zu more snapshots\n", unreadable - told);
}

static void print_counts(struct firn_op *op, struct cli *cli, const struct firn_verify_report *report, uint64_t seed)
{
    struct firn_arena *arena = op->arena;
    fprintf(cli->out, "%.*s of %.*s snapshots can be read\n",
            FIRN_FMT(cli_count_text(arena, (int64_t)report->readable_count)),
            FIRN_FMT(cli_count_text(arena, (int64_t)report->snapshot_count)));
    fprintf(cli->out, "checked %.*s manifest lists, %.*s manifests, %.*s of %.*s files (%.*s) in %.*s",
            FIRN_FMT(cli_count_text(arena, (int64_t)report->manifest_list_count)),
            FIRN_FMT(cli_count_text(arena, (int64_t)report->manifest_count)),
            FIRN_FMT(cli_count_text(arena, (int64_t)report->checked_count)),
            FIRN_FMT(cli_count_text(arena, (int64_t)report->file_count)),
            FIRN_FMT(cli_bytes_text(arena, report->checked_bytes)),
            FIRN_FMT(cli_duration_text(arena, report->elapsed_ms)));
    if (report->is_sampled)
        fprintf(cli->out, "; --seed %" PRIu64 " takes the same files again", seed);
    fprintf(cli->out, "\n%" PRIu64 " errors, %" PRIu64 " warnings, %" PRIu64 " notices\n", report->error_count,
            report->warning_count, report->notice_count);
}

static void print_repairs(struct cli *cli, const struct firn_repairs *repairs)
{
    for (size_t i = 0; i < repairs->count; i++) {
        const struct firn_repair *repair = &repairs->items[i];
        const char *outcome = repair->done ? "repaired" : repair->failure.len ? "not repaired" : "would repair";
        fprintf(cli->out, "%s %s: %.*s%s%.*s\n", outcome, repair->code, CLI_FMT(cli, repair->text),
                repair->failure.len ? ": " : "", CLI_FMT(cli, repair->failure));
    }
    if (repairs->count == 0)
        fputs("nothing that metadata alone can mend\n", cli->out);
}

/* The command ---------------------------------------------------------------------------------------------------- */

/* What one run has to tell. */
struct outcome {
    struct firn_text name;
    struct firn_verify_report report;
    const struct firn_repairs *repairs; /* NULL: not asked for */
    uint64_t seed;
};

static firn_status print_outcome(struct firn_op *op, struct cli *cli, const struct outcome *outcome)
{
    if (cli_wants_json(cli)) {
        json_t *json = firn_verify_json(op, outcome->name, &outcome->report, outcome->repairs);
        if (outcome->report.is_sampled)
            json_object_set_new(json, "seed", json_integer((json_int_t)outcome->seed));
        FIRN_TRY(cli_print_json(op, cli, json));
    } else {
        print_findings(cli, &outcome->report);
        print_unreadable(cli, &outcome->report);
        print_counts(op, cli, &outcome->report, outcome->seed);
        if (outcome->repairs)
            print_repairs(cli, outcome->repairs);
    }
    return cli_flush(op, cli);
}

/* Errors are none of what can be repaired, so they stand. */
static firn_status conclude(struct firn_op *op, const struct outcome *outcome)
{
    uint64_t errors = outcome->report.error_count;
    if (errors > 0)
        return firn_fail(op, FIRN_CORRUPT, "table %.*s is broken: %" PRIu64 " error%s", FIRN_FMT(outcome->name), errors,
                         errors == 1 ? "" : "s");
    if (outcome->repairs && outcome->repairs->failure_count > 0)
        return firn_fail(op, FIRN_PARTIAL, "table %.*s: %zu repairs failed", FIRN_FMT(outcome->name),
                         outcome->repairs->failure_count);
    return FIRN_OK;
}

static firn_status check_and_repair(struct firn_op *op, struct cli *cli, const struct verify_args *args,
                                    struct firn_table *table, struct outcome *out)
{
    struct firn_pool *pool = firn_session_pool(cli->session);
    struct firn_repairs *repairs = FIRN_NEW(op->arena, struct firn_repairs);
    struct firn_verify_options what = { .deep = args->deep, .seed = out->seed };
    FIRN_TRY(read_sample(op, args->sample, &what.sample_percent));
    what.progress = cli_progress(op, cli, "verify");
    FIRN_TRY(firn_verify(op, pool, table, &what, &out->report));
    if (!args->repair)
        return FIRN_OK;
    out->repairs = repairs;
    FIRN_TRY(firn_verify_repair(op, pool, table, &out->report, args->dry_run, repairs));
    for (size_t i = 0; i < repairs->count; i++)
        if (repairs->items[i].done)
            cli->done = "repairs were made";
    return FIRN_OK;
}

static firn_status run(struct firn_op *op, struct cli *cli, const void *arguments)
{
    const struct verify_args *args = arguments;
    struct firn_table table;
    struct outcome outcome = { .name = args->table, .seed = choose_seed(op, args) };
    if (args->dry_run && !args->repair)
        return firn_fail(op, FIRN_USAGE, "--dry-run goes with --repair: the check itself changes nothing");
    firn_status status = cli_open_table(op, cli, args->table, &table);
    if (status == FIRN_CORRUPT) {
        firn_verify_unreadable(op, args->table, &outcome.report);
    } else {
        FIRN_TRY(status);
        outcome.name = table.name;
        FIRN_TRY(
            firn_context(op, check_and_repair(op, cli, args, &table, &outcome), "table %.*s", FIRN_FMT(table.name)));
    }
    FIRN_TRY(print_outcome(op, cli, &outcome));
    return conclude(op, &outcome);
}

const struct cli_command cmd_verify = {
    .name = "verify",
    .summary = "Check a table like a file system: what is broken, and what can still be read",
    .description =
        "Reads all that the table's metadata reaches, for every snapshot: metadata, statistics, manifest lists, "
        "manifests, data and delete files, each once however many snapshots share it. Says what is missing or cannot "
        "be read, where lengths, counts, bounds and sequence numbers contradict each other, which delete files apply "
        "to nothing, whether summaries add up, whether another table lies in the same place; and which snapshots can "
        "still be read.\n\nAn error makes some reader fail or get wrong rows: the exit status is 6 then. A warning is "
        "work that is not as it should be; a notice is only worth knowing. Of the data and delete files, footers are "
        "compared with the manifests; with --deep every page is decoded.\n\nNothing is written without --repair. That "
        "removes references to statistics files that are not there, takes delete files that apply to nothing out of "
        "branches, counts wrong summary totals anew and writes a wrong version hint; no row appears or disappears, and "
        "no file is deleted.",
    .examples = "  firn verify db.txn\n  firn verify db.txn --deep --sample 5%\n"
                "  firn verify db.txn --repair --dry-run\n"
                "  firn verify /warehouse/db/txn --output json\n",
    .options = options,
    .args_size = sizeof(struct verify_args),
    .run = run,
};
