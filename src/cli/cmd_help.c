/* firn help: the commands, one command, the man page, the shell completion. */
#include "cli/cli.h"

struct help_args {
    struct firn_text command;
    bool man;
    bool completion;
};

static const struct cli_option options[] = {
    { "command", CLI_POSITIONAL, offsetof(struct help_args, command), "COMMAND", NULL, NULL, 0, 0, false,
      "Command to explain" },
    { "man", CLI_FLAG, offsetof(struct help_args, man), NULL, NULL, NULL, 0, 0, false, "Print the man page (roff)" },
    { "completion", CLI_FLAG, offsetof(struct help_args, completion), NULL, NULL, NULL, 0, 0, false,
      "Print the bash completion" },
    { 0 },
};

static firn_status run(struct firn_op *op, struct cli *cli, const void *arguments)
{
    const struct help_args *args = arguments;
    if (args->man) {
        cli_print_man(cli->out);
        return FIRN_OK;
    }
    if (args->completion) {
        cli_print_completion(cli->out);
        return FIRN_OK;
    }
    const struct cli_command *command = NULL;
    if (args->command.len) {
        command = cli_find_command(args->command);
        if (!command)
            return firn_fail(op, FIRN_USAGE, "there is no command '%.*s'", FIRN_FMT(args->command));
    }
    cli_print_help(cli->out, command);
    return FIRN_OK;
}

const struct cli_command cmd_help = {
    .name = "help",
    .summary = "Explain the commands and their options",
    .description = "Without COMMAND, lists all commands; with one, explains it and each of its options.",
    .examples = "  firn help rewrite-data-files\n  firn help --man | man -l -\n  source <(firn help --completion)\n",
    .options = options,
    .args_size = sizeof(struct help_args),
    .run = run,
};
