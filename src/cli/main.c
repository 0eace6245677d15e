/* The command line: parse, run one command, report its failure once, give the exit code. */
#include "cli/cli.h"

#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#define MAPPED_BYTES_MIN (1 << 20) /* what is larger goes back to the system when it is freed */
#define KEPT_BYTES_MAX   (4 << 20) /* of the rest, what is free may stay */

static atomic_bool stop_requested;

static void request_stop(int signal_number)
{
    if (atomic_exchange(&stop_requested, true)) { /* the second time, at once */
        signal(signal_number, SIG_DFL);
        raise(signal_number);
    }
}

static void log_line(void *context, enum firn_log_level level, struct firn_text line)
{
    static const char *const words[] = { "error", "warn", "info", "debug" };
    const struct cli *cli = context;
    enum firn_log_level most = FIRN_LOG_WARN;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (firn_text_is(cli->globals.log_level, words[i]))
            most = (enum firn_log_level)i;
    if (level > most)
        return;
    fprintf(cli->err, "%sfirn: %s: %.*s\n", cli->err_is_terminal ? "\r\033[K" : "",
            level == FIRN_LOG_WARN ? "warning" : words[level], FIRN_FMT(line));
}

/* Groups of large files have hundreds of them open. What most systems begin with is less, and meant for programs that
 * use select(2); they let a program raise it. */
static void allow_many_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit); /* where it stays as it is, opening a file may fail, which is told */
}

static firn_status run(struct firn_op *op, struct cli *cli, int argc, char **argv)
{
    FIRN_TRY(cli_parse(op, cli, argc, argv));
    if (cli->globals.version) {
        fputs("firn " FIRN_VERSION "\n", cli->out);
        return cli_flush(op, cli);
    }
    if (cli->globals.help) {
        cli_print_help(cli->out, cli->command);
        return cli_flush(op, cli);
    }
    if (!cli->command) {
        cli_print_help(cli->err, NULL);
        return firn_fail(op, FIRN_USAGE, "no command was given");
    }
    return cli_run(op, cli);
}

/* Left alone, malloc keeps more of what was freed the larger it was, of each thread: half as much again as is in use,
 * once row groups were written. */
static void keep_memory_low(void)
{
    mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES_MIN);
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES_MAX);
}

int main(int argc, char **argv)
{
    struct cli cli = { .program = "firn", .out = stdout, .err = stderr, .stop = &stop_requested };
    struct firn_arena arena;
    struct firn_op op;
    struct firn_env env = *firn_env_real();

    keep_memory_low();
    cli.out_is_terminal = isatty(STDOUT_FILENO);
    cli.err_is_terminal = isatty(STDERR_FILENO);
    env.log = log_line;
    env.context = &cli;
    env.stop = &stop_requested;
    firn_arena_init(&cli.arena);
    firn_arena_init(&arena);
    firn_op_init(&op, &arena, &env);
    struct sigaction action = { .sa_handler = request_stop };
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN); /* writes fail instead, and are told as any other failure */
    signal(SIGXFSZ, SIG_IGN);
    allow_many_files();

    firn_status status = run(&op, &cli, argc, argv);
    if (status != FIRN_OK)
        cli_report(&cli, &op);
    firn_arena_done(&arena); /* before the session: handles in it may use the store */
    firn_session_close(cli.session);
    firn_arena_done(&cli.arena);
    return firn_status_exit_code(status);
}
