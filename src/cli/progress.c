/* Progress on stderr: a bar on a terminal, a line now and then elsewhere. */
#include "firn/progress.h"

#include "cli/cli.h"

#include <time.h>

enum { BAR_WIDTH = 28, TERMINAL_INTERVAL_MS = 100, LINE_INTERVAL_MS = 5000 };

static int64_t monotonic_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* "4,000 of 12,000 files" for the parts that have a total. */
static struct firn_text describe_counts(struct firn_arena *arena, struct firn_progress *progress)
{
    const struct {
        const char *noun;
        uint64_t done, total;
    } parts[] = {
        { progress->group_noun ? progress->group_noun : "groups", atomic_load(&progress->groups_done),
          atomic_load(&progress->groups_total) },
        { "files", atomic_load(&progress->files_done), atomic_load(&progress->files_total) },
    };
    struct firn_text text = FIRN_TEXT("");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i].total == 0)
            continue;
        text = firn_text_format(arena, "%.*s%s%.*s of %.*s %s", FIRN_FMT(text), text.len ? ", " : "",
                                FIRN_FMT(cli_count_text(arena, (int64_t)parts[i].done)),
                                FIRN_FMT(cli_count_text(arena, (int64_t)parts[i].total)), parts[i].noun);
    }
    return text;
}

/* Done and wanted, in bytes where the work is counted in bytes, else in groups. */
static void measure(struct firn_progress *progress, double *done, double *total)
{
    bool in_bytes = atomic_load(&progress->bytes_total) > 0;
    *done = (double)atomic_load(in_bytes ? &progress->bytes_done : &progress->groups_done);
    *total = (double)atomic_load(in_bytes ? &progress->bytes_total : &progress->groups_total);
}

/* "12 of 40 groups, 1,204 of 4,000 files, 210.0 MiB of 700.0 MiB, 80.1 MiB/s, 6.1 s left" */
static struct firn_text describe(struct firn_arena *arena, struct firn_progress *progress)
{
    uint64_t bytes = atomic_load(&progress->bytes_done), bytes_total = atomic_load(&progress->bytes_total);
    int64_t elapsed_ms = progress->shown_ms - progress->started_ms;
    double done, total;
    struct firn_text text = describe_counts(arena, progress);
    measure(progress, &done, &total);
    if (bytes_total)
        text = firn_text_format(arena, "%.*s, %.*s of %.*s", FIRN_FMT(text), FIRN_FMT(cli_bytes_text(arena, bytes)),
                                FIRN_FMT(cli_bytes_text(arena, bytes_total)));
    if (elapsed_ms < 1 || done < 1)
        return text;
    if (bytes_total)
        text = firn_text_format(arena, "%.*s, %.*s/s", FIRN_FMT(text),
                                FIRN_FMT(cli_bytes_text(arena, (uint64_t)((double)bytes * 1000 / (double)elapsed_ms))));
    if (done >= total)
        return text;
    int64_t left_ms = (int64_t)((total - done) * (double)elapsed_ms / done);
    return firn_text_format(arena, "%.*s, %.*s left", FIRN_FMT(text), FIRN_FMT(cli_duration_text(arena, left_ms)));
}

static void show(struct firn_progress *progress, bool last)
{
    struct cli *cli = progress->context;
    double done, total;
    measure(progress, &done, &total);
    if (total < 1)
        return;
    struct firn_arena arena;
    firn_arena_init(&arena);
    struct firn_text text = describe(&arena, progress);
    if (!cli->err_is_terminal) {
        fprintf(cli->err, "%s: %.*s\n", progress->what, FIRN_FMT(text));
    } else {
        int filled = (int)((done > total ? 1 : done / total) * BAR_WIDTH);
        fprintf(cli->err, "\r[%.*s%*s] %.*s\033[K%s", filled, "############################", BAR_WIDTH - filled, "",
                FIRN_FMT(text), last ? "\n" : "");
    }
    fflush(cli->err);
    firn_arena_done(&arena);
}

struct firn_progress *cli_progress(struct firn_op *op, struct cli *cli, const char *what)
{
    (void)op;
    if (cli->globals.quiet)
        return NULL;
    struct firn_progress *progress = FIRN_NEW(&cli->arena, struct firn_progress);
    progress->what = what;
    progress->show = show;
    progress->context = cli;
    progress->interval_ms = cli->err_is_terminal ? TERMINAL_INTERVAL_MS : LINE_INTERVAL_MS;
    progress->started_ms = progress->shown_ms = monotonic_ms();
    atomic_flag_clear(&progress->showing);
    return progress;
}
