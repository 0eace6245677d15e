/* firn demo: a table like a streaming job's, compacted, with what that changed. */
#include "cli/cli.h"
#include "firn/demo.h"
#include "firn/rewrite_data_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

struct demo_args {
    struct firn_text folder;
    int64_t commits, rows;
};

static const struct cli_option options[] = {
    { "folder", CLI_POSITIONAL, offsetof(struct demo_args, folder), "FOLDER", NULL, NULL, 0, 0, false,
      "Where to make catalog and table; a new or empty folder (./firn-demo)" },
    { "commits", CLI_NUMBER, offsetof(struct demo_args, commits), "N", "2000", NULL, 1, 1000000, false,
      "Streaming commits to make" },
    { "rows", CLI_NUMBER, offsetof(struct demo_args, rows), "N", "500", NULL, 1, 10000000, false,
      "Rows of each small file, about" },
    { 0 },
};

enum { DAYS = 4 };
static const char filter[] =
    "created_at >= TIMESTAMP '2026-07-03 00:00:00' AND created_at < TIMESTAMP '2026-07-03 06:00:00'";
static const char table_name[] = "db.txn";

/* EXISTS unless the folder has nothing in it. */
static firn_status check_empty(struct firn_op *op, struct firn_text folder)
{
    DIR *open_folder = opendir(folder.data);
    if (!open_folder)
        return firn_fail_errno(op, errno, "cannot open folder %.*s", FIRN_FMT(folder));
    const struct dirent *entry;
    do
        entry = readdir(open_folder);
    while (entry && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
    firn_status status = entry ? firn_fail(op, FIRN_EXISTS, "folder %.*s is not empty", FIRN_FMT(folder)) : FIRN_OK;
    closedir(open_folder);
    return status == FIRN_OK ? status : firn_hint(op, status, "name a new folder, or remove an older demo first");
}

/* The path goes into the catalog's URI and the table's location. What follows '?' or '#' there is no path, and whether
 * '%' begins an escape depends on the reader: PyIceberg takes it as it is, SQLAlchemy does so before version 2.1. */
static firn_status check_name(struct firn_op *op, struct firn_text path)
{
    bool is_plain = firn_text_same(firn_text_printable(op->arena, path), path);
    for (size_t i = 0; is_plain && i < path.len; i++)
        is_plain = firn_text_find(FIRN_TEXT("?#%"), path.data[i]) < 0;
    if (is_plain)
        return FIRN_OK;
    firn_status status =
        firn_fail(op, FIRN_USAGE, "folder %.*s cannot hold the demo: its path goes into URIs", FIRN_FMT(path));
    return firn_hint(op, status, "choose a path without '?', '#', '%%' and control characters");
}

/* The folder's absolute path, made when absent. EXISTS when there is something in it. */
static firn_status prepare_folder(struct firn_op *op, struct firn_text folder, struct firn_text *out)
{
    struct firn_text path = firn_text_copy(op->arena, folder.len ? folder : FIRN_TEXT("firn-demo"));
    FIRN_TRY(check_name(op, path));
    if (mkdir(path.data, 0755) != 0 && errno != EEXIST)
        return firn_fail_errno(op, errno, "cannot make folder %.*s", FIRN_FMT(path));
    char *absolute = realpath(path.data, NULL);
    if (!absolute)
        return firn_fail_errno(op, errno, "folder %.*s", FIRN_FMT(path));
    *out = firn_text_copy(op->arena, firn_text_of(absolute));
    free(absolute);
    FIRN_TRY(check_name(op, *out));
    return check_empty(op, *out);
}

static firn_status configure(struct firn_op *op, struct cli *cli, struct firn_text folder)
{
    struct firn_property properties[] = {
        { FIRN_TEXT("type"), FIRN_TEXT("sql") },
        { FIRN_TEXT("uri"), firn_text_format(&cli->arena, "sqlite:///%.*s/catalog.db", FIRN_FMT(folder)) },
        { FIRN_TEXT("warehouse"), firn_text_format(&cli->arena, "file://%.*s/warehouse", FIRN_FMT(folder)) },
    };
    struct firn_catalog_config demo = { .name = FIRN_TEXT("demo"), .properties = properties, .property_count = 3 };
    cli->relaxed = true;      /* thousands of commits, none of which would be missed */
    cli->config_given = true; /* the demo is complete in itself: no file or variable takes part */
    return firn_config_merge(op, &demo, &cli->config);
}

static firn_status compact(struct firn_op *op, struct cli *cli, struct firn_table *table,
                           struct firn_rewrite_data_files_report *report)
{
    struct firn_pool *pool = firn_session_pool(cli->session);
    struct firn_rewrite_plan *plan;
    struct firn_rewrite_data_files_args args = {
        .verify_full = true,
        .memory_bytes_max = firn_session_memory_bytes_max(cli->session),
    };
    FIRN_TRY(firn_rewrite_data_files_plan(op, pool, table, &args, &plan));
    return firn_rewrite_data_files_apply(op, pool, table, plan, cli_progress(op, cli, "rewrite-data-files"), report);
}

static struct firn_text micros_text(struct firn_arena *arena, int64_t micros)
{
    return firn_text_format(arena, "%.2f ms", (double)micros / 1000);
}

static void print_costs(struct firn_op *op, struct cli *cli, const struct firn_table_cost *before,
                        const struct firn_table_cost *after)
{
    static const struct cli_column columns[] = { { "", false }, { "before", true }, { "after", true } };
    struct firn_arena *arena = op->arena;
    const struct firn_text cells[] = {
        FIRN_TEXT("rows"),
        cli_count_text(arena, before->rows),
        cli_count_text(arena, after->rows),
        FIRN_TEXT("data files"),
        cli_count_text(arena, before->files),
        cli_count_text(arena, after->files),
        FIRN_TEXT("bytes"),
        cli_bytes_text(arena, (uint64_t)before->bytes),
        cli_bytes_text(arena, (uint64_t)after->bytes),
        FIRN_TEXT("average file"),
        cli_bytes_text(arena, (uint64_t)(before->bytes / before->files)),
        cli_bytes_text(arena, (uint64_t)(after->bytes / after->files)),
        FIRN_TEXT("manifests"),
        cli_count_text(arena, before->manifests),
        cli_count_text(arena, after->manifests),
        FIRN_TEXT("planning a scan of six hours"),
        micros_text(arena, before->planning_us),
        micros_text(arena, after->planning_us),
        FIRN_TEXT("files that scan opens"),
        cli_count_text(arena, before->scan_files),
        cli_count_text(arena, after->scan_files),
    };
    cli_print_table(cli, columns, 3, cells, sizeof cells / sizeof *cells / 3);
}

static firn_status print_json(struct firn_op *op, struct cli *cli, const struct firn_table_cost *before,
                              const struct firn_table_cost *after)
{
    json_t *json = json_object();
    const struct {
        const char *key;
        const struct firn_table_cost *cost;
    } sides[] = { { "before", before }, { "after", after } };
    for (size_t i = 0; i < 2; i++) {
        const struct firn_table_cost *cost = sides[i].cost;
        json_object_set_new(json, sides[i].key,
                            json_pack("{s:I,s:I,s:I,s:I,s:I,s:I}", "rows", (json_int_t)cost->rows, "files",
                                      (json_int_t)cost->files, "bytes", (json_int_t)cost->bytes, "manifests",
                                      (json_int_t)cost->manifests, "planning_us", (json_int_t)cost->planning_us,
                                      "scan_files", (json_int_t)cost->scan_files));
    }
    firn_status status = cli_print_json(op, cli, json);
    json_decref(json);
    return status;
}

static void print_next(struct cli *cli, struct firn_text folder)
{
    struct firn_text uri = firn_text_format(&cli->arena, "sqlite:///%.*s/catalog.db", FIRN_FMT(folder));
    fprintf(cli->out,
            "\nThe table stays there to play with; PyIceberg opens it by the same URI. Next, try:\n\n"
            "  firn --uri %.*s --catalog demo describe %s --count\n\n"
            "and on a table of your own, to see a plan and change nothing:\n\n"
            "  firn plan namespace.table\n",
            FIRN_FMT(cli_shell_text(&cli->arena, uri)), table_name);
}

static firn_status run(struct firn_op *op, struct cli *cli, const void *arguments)
{
    const struct demo_args *args = arguments;
    struct firn_text folder;
    struct firn_session *session;
    struct firn_catalog *catalog;
    struct firn_table table;
    struct firn_table_cost before, after;
    struct firn_rewrite_data_files_report report = { 0 };
    struct firn_demo_config config = { .commits = args->commits, .rows_per_file = args->rows, .days = DAYS };

    FIRN_TRY(prepare_folder(op, args->folder, &folder));
    FIRN_TRY(configure(op, cli, folder));
    FIRN_TRY(cli_session(op, cli, &session));
    FIRN_TRY(firn_session_catalog(op, session, FIRN_TEXT("demo"), &catalog));
    struct firn_pool *pool = firn_session_pool(session);
    if (!cli->globals.quiet)
        fprintf(cli->err, "making %s with %" PRId64 " streaming commits in %.*s\n", table_name, args->commits,
                FIRN_FMT(folder));
    FIRN_TRY(
        firn_demo_create(op, pool, catalog, firn_text_of(table_name), &config, cli_progress(op, cli, "demo"), &table));
    cli->done = "the table was made";
    FIRN_TRY(firn_table_measure(op, pool, &table, firn_text_of(filter), &before));
    FIRN_TRY(compact(op, cli, &table, &report));
    FIRN_TRY(firn_table_measure(op, pool, &table, firn_text_of(filter), &after));
    if (cli_wants_json(cli))
        return print_json(op, cli, &before, &after);
    fputc('\n', cli->out);
    print_costs(op, cli, &before, &after);
    if (report.rewritten_data_files_count == 0)
        fputs("\nso few files that there was nothing to compact\n", cli->out);
    else
        fprintf(cli->out,
                "\ncompacted in %.*s: %" PRId64 " files became %" PRId64 ", every column's content verified\n",
                FIRN_FMT(cli_duration_text(op->arena, report.elapsed_ms)), report.rewritten_data_files_count,
                report.added_data_files_count);
    print_next(cli, folder);
    return FIRN_OK;
}

const struct cli_command cmd_demo = {
    .name = "demo",
    .summary = "Make a streaming-style table, compact it, show before and after",
    .description = "Makes a SQLite catalog and a table of card transactions partitioned by day, filled by thousands of "
                   "small commits as a streaming job would, then compacts it and prints files, bytes, manifests and "
                   "the time to plan a filtered scan, before and after. Needs no service.",
    .examples = "  firn demo\n  firn demo /tmp/demo --commits 5000\n",
    .options = options,
    .args_size = sizeof(struct demo_args),
    .run = run,
};
