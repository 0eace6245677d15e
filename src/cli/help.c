/* Help, the man page and the shell completion, all printed from the option tables. */
#include "cli/cli.h"

#include <ctype.h>

enum { HELP_COLUMN = 38, HELP_WIDTH = 100 };

/* Prints words of `text` from column `at`, wrapped at HELP_WIDTH with `indent`; an empty line keeps paragraphs apart.
 */
static void print_wrapped(FILE *out, const char *text, int at, int indent)
{
    bool line_start = true;
    while (*text) {
        int len = (int)strcspn(text, " \n");
        if (!line_start && at + 1 + len > HELP_WIDTH) {
            fprintf(out, "\n%*s", indent, "");
            at = indent;
            line_start = true;
        }
        at += fprintf(out, "%s%.*s", line_start ? "" : " ", len, text);
        line_start = false;
        text += len;
        if (text[0] == '\n' && text[1] == '\n') {
            fprintf(out, "\n\n%*s", indent, "");
            at = indent;
            line_start = true;
            text += 2;
        } else if (*text) {
            text++;
        }
    }
    fputc('\n', out);
}

static void print_option(FILE *out, const struct cli_option *option)
{
    char left[128], about[1024];
    bool is_bare = option->kind == CLI_FLAG || cli_is_positional(option);
    int len = snprintf(left, sizeof left, cli_is_positional(option) ? "  %s%s%s" : "  --%s%s%s",
                       cli_is_positional(option) ? option->value : option->name, is_bare ? "" : " ",
                       is_bare ? "" : option->value);
    snprintf(about, sizeof about, "%s%s%s%s%s", option->help, option->choices ? ": " : "",
             option->choices ? option->choices : "", option->fallback ? "; default " : "",
             option->fallback ? option->fallback : "");
    fprintf(out, "%-*s", HELP_COLUMN, left);
    if (len >= HELP_COLUMN)
        fprintf(out, "\n%*s", HELP_COLUMN, "");
    print_wrapped(out, about, HELP_COLUMN, HELP_COLUMN);
}

static void print_usage(FILE *out, const struct cli_command *command)
{
    fprintf(out, "usage: firn %s", command->name);
    for (const struct cli_option *option = command->options; option->name; option++)
        if (cli_is_positional(option))
            fprintf(out, option->required ? " %s" : " [%s]", option->value);
    fputs(" [options]\n", out);
}

static void print_global_options(FILE *out)
{
    fputs("\nglobal options:\n", out);
    for (const struct cli_option *option = cli_global_options; option->name; option++)
        print_option(out, option);
}

/* "table => a text, ..." of commands that CALL runs. */
static void print_sql(FILE *out, const struct cli_command *command)
{
    struct firn_arena arena;
    firn_arena_init(&arena);
    fprintf(out, "\nSQL: CALL [catalog.]system.%.*s(...), by position or by name:\n",
            FIRN_FMT(cli_sql_name(&arena, command->name)));
    for (uint32_t i = 0; i < command->call_arguments; i++) {
        const struct cli_option *option = &command->options[i];
        fprintf(out, "  %-*.*s%s\n", HELP_COLUMN - 2, FIRN_FMT(cli_sql_name(&arena, option->name)),
                cli_sql_type_text(option));
    }
    firn_arena_done(&arena);
}

static void print_command_help(FILE *out, const struct cli_command *command)
{
    print_usage(out, command);
    fputc('\n', out);
    print_wrapped(out, command->description, 0, 0);
    fputs("\noptions:\n", out);
    for (const struct cli_option *option = command->options; option->name; option++)
        print_option(out, option);
    if (command->call_arguments > 0)
        print_sql(out, command);
    print_global_options(out);
    if (command->examples)
        fprintf(out, "\nexamples:\n%s", command->examples);
}

static const char exit_codes[] =
    "0 done, as far as limits allow, or nothing to do; 1 failed; 2 wrong usage; 3 not "
    "found; 4 conflict after all retries; "
    "5 the outcome of a commit is unknown; 6 corrupt input; 7 done in part; 8 another run maintains the "
    "table";

void cli_print_help(FILE *out, const struct cli_command *command)
{
    if (command) {
        print_command_help(out, command);
        return;
    }
    fputs("firn keeps Apache Iceberg tables fast and cheap.\n\nusage: firn [global options] COMMAND TABLE [options]\n\n"
          "TABLE is catalog.namespace.table, namespace.table, a table's folder, or one metadata.json.\n\ncommands:\n",
          out);
    for (const struct cli_command *const *at = cli_commands; *at; at++)
        fprintf(out, "  %-22s %s\n", (*at)->name, (*at)->summary);
    print_global_options(out);
    fputs("\nexit status: ", out);
    print_wrapped(out, exit_codes, 13, 13);
    fputs("\n'firn help COMMAND' explains a command and its options.\n", out);
}

/* Text for roff: backslashes and leading dots escaped, dashes kept as they are. */
static void print_roff(FILE *out, const char *text)
{
    bool line_start = true;
    for (const char *at = text; *at; at++) {
        if (line_start && (*at == '.' || *at == '\''))
            fputs("\\&", out);
        if (*at == '\\')
            fputs("\\e", out);
        else if (*at == '-')
            fputs("\\-", out);
        else if (at[0] == '\n' && at[1] == '\n') {
            fputs("\n.PP\n", out);
            at++;
        } else
            fputc(*at, out);
        line_start = *at == '\n';
    }
}

static void print_man_option(FILE *out, const struct cli_option *option)
{
    if (cli_is_positional(option))
        fprintf(out, ".TP\n\\fI%s\\fR\n", option->value);
    else {
        fputs(".TP\n\\fB\\-\\-", out);
        print_roff(out, option->name);
        fprintf(out, option->kind == CLI_FLAG ? "\\fR\n" : "\\fR \\fI%s\\fR\n", option->value ? option->value : "");
    }
    print_roff(out, option->help);
    if (option->choices) {
        fputs(": ", out);
        print_roff(out, option->choices);
    }
    if (option->fallback) {
        fputs("; default ", out);
        print_roff(out, option->fallback);
    }
    fputs(".\n", out);
}

static void print_man_command(FILE *out, const struct cli_command *command)
{
    fputs(".SS firn ", out);
    print_roff(out, command->name);
    fputc('\n', out);
    print_roff(out, command->description);
    fputc('\n', out);
    for (const struct cli_option *option = command->options; option->name; option++)
        print_man_option(out, option);
    if (command->examples) {
        fputs(".PP\n.nf\n", out);
        print_roff(out, command->examples);
        fputs(".fi\n", out);
    }
}

void cli_print_man(FILE *out)
{
    fputs(".TH FIRN 1\n.SH NAME\nfirn \\- keeps Apache Iceberg tables fast and cheap\n.SH SYNOPSIS\n.B firn\n"
          "[global options] COMMAND TABLE [options]\n.SH DESCRIPTION\n",
          out);
    print_roff(out, "firn compacts the small files of Apache Iceberg tables, in one native binary and in bounded "
                    "memory. Its commands and options bear the names of Spark's procedures.\n\nTABLE is "
                    "catalog.namespace.table, namespace.table (in the default catalog), a table's folder, or one "
                    "metadata.json (read-only). Data goes to standard output; progress, warnings and errors go to "
                    "standard error.\n");
    fputs(".SH COMMANDS\n", out);
    for (const struct cli_command *const *at = cli_commands; *at; at++)
        print_man_command(out, *at);
    fputs(".SH GLOBAL OPTIONS\n", out);
    for (const struct cli_option *option = cli_global_options; option->name; option++)
        print_man_option(out, option);
    fputs(".SH CONFIGURATION\n", out);
    print_roff(out, "Catalogs are read from $PYICEBERG_HOME/.pyiceberg.yaml, or else ~/.pyiceberg.yaml, then from "
                    "variables PYICEBERG_CATALOG__NAME__KEY, then from flags; later wins.\n");
    fputs(".SH EXIT STATUS\n", out);
    print_roff(out, exit_codes);
    fputs(".\n", out);
}

static void print_words(FILE *out, const struct cli_option *options)
{
    for (const struct cli_option *option = options; option->name; option++)
        if (!cli_is_positional(option))
            fprintf(out, " --%s", option->name);
}

/* A bash completion; zsh reads it through bashcompinit. */
void cli_print_completion(FILE *out)
{
    fputs("_firn() {\n    local word=\"${COMP_WORDS[COMP_CWORD]}\" words command\n"
          "    for command in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do [[ $command != -* ]] && break; done\n"
          "    case \"$command\" in\n",
          out);
    for (const struct cli_command *const *at = cli_commands; *at; at++) {
        fprintf(out, "    %s) words=\"", (*at)->name);
        print_words(out, (*at)->options);
        fputs("\" ;;\n", out);
    }
    fputs("    *) words=\"", out);
    for (const struct cli_command *const *at = cli_commands; *at; at++)
        fprintf(out, " %s", (*at)->name);
    fputs("\" ;;\n    esac\n    words+=\"", out);
    print_words(out, cli_global_options);
    fputs("\"\n    COMPREPLY=($(compgen -W \"$words\" -f -- \"$word\"))\n}\ncomplete -F _firn firn\n", out);
}
