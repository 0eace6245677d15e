/* From argv to argument structs, by the option tables. */
#include "cli/cli.h"

const struct cli_command *cli_find_command(struct firn_text name)
{
    for (const struct cli_command *const *at = cli_commands; *at; at++)
        if (firn_text_is(name, (*at)->name))
            return *at;
    return NULL;
}

/* Option names match with '_' for '-', so that a procedure's argument name works as it is. */
static bool same_name(const char *name, struct firn_text given)
{
    if (strlen(name) != given.len)
        return false;
    for (size_t i = 0; i < given.len; i++)
        if (name[i] != (given.data[i] == '_' ? '-' : given.data[i]))
            return false;
    return true;
}

const struct cli_option *cli_find_option(const struct cli_option *options, struct firn_text name)
{
    for (const struct cli_option *option = options; option && option->name; option++)
        if (option->kind != CLI_WORDS && same_name(option->name, name))
            return option;
    return NULL;
}

static void consider(const char *candidate, struct firn_text given, const char **best, size_t *best_distance)
{
    size_t d = firn_text_distance(firn_text_of(candidate), given);
    if (d < *best_distance) {
        *best = candidate;
        *best_distance = d;
    }
}

static firn_status unknown_option(struct firn_op *op, const struct cli *cli, struct firn_text name)
{
    const char *best = NULL;
    size_t best_distance = name.len / 2 < 4 ? name.len / 2 + 1 : 4;
    firn_status status = firn_fail(op, FIRN_USAGE, "unknown option --%.*s%s%s", FIRN_FMT(name),
                                   cli->command ? " for " : "", cli->command ? cli->command->name : "");
    for (const struct cli_option *o = cli_global_options; o->name; o++)
        consider(o->name, name, &best, &best_distance);
    for (const struct cli_option *o = cli->command ? cli->command->options : NULL; o && o->name; o++)
        if (!cli_is_positional(o))
            consider(o->name, name, &best, &best_distance);
    if (best)
        return firn_hint(op, status, "did you mean --%s?", best);
    return firn_hint(op, status, "see 'firn help%s%s'", cli->command ? " " : "",
                     cli->command ? cli->command->name : "");
}

static firn_status unknown_command(struct firn_op *op, struct firn_text name)
{
    const char *best = NULL;
    size_t best_distance = 4;
    for (const struct cli_command *const *at = cli_commands; *at; at++)
        consider((*at)->name, name, &best, &best_distance);
    firn_status status = firn_fail(op, FIRN_USAGE, "unknown command '%.*s'", FIRN_FMT(name));
    if (best)
        return firn_hint(op, status, "did you mean '%s'?", best);
    return firn_hint(op, status, "'firn help' lists the commands");
}

/* Whoever gives a value says by which name: "--retain-last", "argument retain_last". */
static firn_status bad_value(struct firn_op *op, struct firn_text value, const char *wanted)
{
    return firn_fail(op, FIRN_USAGE, "'%.*s' is not %s", FIRN_FMT(value), wanted);
}

static firn_status set_number(struct firn_op *op, const struct cli_option *option, struct firn_text value, int64_t *out)
{
    bool good = option->kind == CLI_BYTES ? firn_text_to_bytes(value, out) : firn_text_to_i64(value, out);
    if (!good)
        return bad_value(op, value, option->kind == CLI_BYTES ? "a size such as 512M" : "a whole number");
    if (option->kind == CLI_BYTES && *out < option->min)
        return firn_fail(op, FIRN_USAGE, "%.*s is less than %.*s", FIRN_FMT(value),
                         FIRN_FMT(cli_bytes_text(op->arena, (uint64_t)option->min)));
    if (*out < option->min || *out > option->max)
        return firn_fail(op, FIRN_USAGE, "%" PRId64 " is not between %" PRId64 " and %" PRId64, *out, option->min,
                         option->max);
    return FIRN_OK;
}

static bool is_choice(const char *choices, struct firn_text value)
{
    struct firn_text rest = firn_text_of(choices);
    while (rest.len) {
        ptrdiff_t bar = firn_text_find(rest, '|');
        struct firn_text one = bar < 0 ? rest : firn_text_until(rest, (size_t)bar);
        if (firn_text_same(one, value))
            return true;
        rest = bar < 0 ? FIRN_TEXT("") : firn_text_from(rest, (size_t)bar + 1);
    }
    return false;
}

static firn_status add_pair(struct firn_op *op, struct cli *cli, struct firn_text value, struct cli_pairs *pairs)
{
    ptrdiff_t equals = firn_text_find(value, '=');
    if (equals <= 0)
        return bad_value(op, value, "KEY=VALUE");
    struct firn_property pair = { .key = firn_text_until(value, (size_t)equals),
                                  .value = firn_text_from(value, (size_t)equals + 1) };
    FIRN_PUSH(&cli->arena, pairs, pair);
    return FIRN_OK;
}

static firn_status set_option(struct firn_op *op, struct cli *cli, const struct cli_option *option, void *args,
                              struct firn_text value)
{
    unsigned char *at = (unsigned char *)args + option->offset;
    switch (option->kind) {
    case CLI_POSITIONAL:
    case CLI_TEXT:
        memcpy(at, &value, sizeof value);
        return FIRN_OK;
    case CLI_WORDS:
        FIRN_PUSH(&cli->arena, (struct cli_words *)(void *)at, value);
        return FIRN_OK;
    case CLI_CHOICE:
        if (!is_choice(option->choices, value))
            return firn_fail(op, FIRN_USAGE, "'%.*s' is not one of %s", FIRN_FMT(value), option->choices);
        memcpy(at, &value, sizeof value);
        return FIRN_OK;
    case CLI_FLAG:
        *(bool *)at = true;
        return FIRN_OK;
    case CLI_NUMBER:
    case CLI_BYTES:
        return set_number(op, option, value, (int64_t *)(void *)at);
    case CLI_PAIRS:
        return add_pair(op, cli, value, (struct cli_pairs *)(void *)at);
    }
    return firn_fail(op, FIRN_USAGE, "it cannot be given");
}

static firn_status set_defaults(struct firn_op *op, struct cli *cli, const struct cli_option *options, void *args)
{
    for (const struct cli_option *option = options; option->name; option++)
        if (option->fallback)
            FIRN_TRY(set_option(op, cli, option, args, firn_text_of(option->fallback)));
    return FIRN_OK;
}

/* The option's value: after '=', or the next argument. */
static firn_status take_value(struct firn_op *op, const struct cli_option *option, struct firn_text inline_value,
                              bool has_inline, int argc, char **argv, int *at, struct firn_text *out)
{
    if (option->kind == CLI_FLAG)
        return has_inline ? firn_fail(op, FIRN_USAGE, "--%s takes no value", option->name) : FIRN_OK;
    if (has_inline) {
        *out = inline_value;
        return FIRN_OK;
    }
    if (*at + 1 >= argc)
        return firn_fail(op, FIRN_USAGE, "--%s needs a value: %s", option->name, option->value);
    *out = firn_text_of(argv[++*at]);
    return FIRN_OK;
}

firn_status cli_begin_command(struct firn_op *op, struct cli *cli, const struct cli_command *command)
{
    cli->command = command;
    cli->given = 0;
    cli->args = firn_arena_alloc(&cli->arena, command->args_size);
    return set_defaults(op, cli, command->options, cli->args);
}

/* `option` is a row of the command's table. */
static void note_given(struct cli *cli, const struct cli_option *option)
{
    cli->given |= UINT64_C(1) << (option - cli->command->options);
}

static bool is_given(const struct cli *cli, const struct cli_option *option)
{
    return cli->given >> (option - cli->command->options) & 1;
}

bool cli_is_given(const struct cli *cli, const char *name)
{
    for (const struct cli_option *option = cli->command->options; option->name; option++)
        if (strcmp(option->name, name) == 0)
            return is_given(cli, option);
    return false;
}

firn_status cli_give(struct firn_op *op, struct cli *cli, const struct cli_option *option, struct firn_text value)
{
    note_given(cli, option);
    return set_option(op, cli, option, cli->args, value);
}

void cli_give_pair(struct cli *cli, const struct cli_option *option, struct firn_property pair)
{
    struct cli_pairs *pairs = (struct cli_pairs *)(void *)((char *)cli->args + option->offset);
    note_given(cli, option);
    FIRN_PUSH(&cli->arena, pairs, pair);
}

struct cli_words cli_split(struct firn_arena *arena, struct firn_text list)
{
    struct cli_words words = { .items = FIRN_NEW_ARRAY(arena, struct firn_text, list.len), .capacity = list.len };
    while (list.len > 0) {
        ptrdiff_t comma = firn_text_find(list, ',');
        words.items[words.count++] = firn_text_trim(comma < 0 ? list : firn_text_until(list, (size_t)comma));
        list = firn_text_from(list, comma < 0 ? list.len : (size_t)comma + 1);
    }
    return words;
}

/* Of the command, or of all commands; in that order. */
struct found_option {
    const struct cli_option *option; /* NULL: neither has it */
    bool is_global;
};

static firn_status give_found(struct firn_op *op, struct cli *cli, struct found_option found, struct firn_text value)
{
    firn_status status = found.is_global ? set_option(op, cli, found.option, &cli->globals, value)
                                         : cli_give(op, cli, found.option, value);
    return firn_context(op, status, "--%s", found.option->name);
}

static struct found_option find_by_name(const struct cli *cli, struct firn_text name)
{
    const struct cli_option *option = cli->command ? cli_find_option(cli->command->options, name) : NULL;
    if (option)
        return (struct found_option){ option, false };
    return (struct found_option){ cli_find_option(cli_global_options, name), true };
}

static const struct cli_option *find_letter(const struct cli_option *options, char letter)
{
    for (const struct cli_option *option = options; option && option->name; option++)
        if (option->letter == letter)
            return option;
    return NULL;
}

static struct found_option find_by_letter(const struct cli *cli, char letter)
{
    const struct cli_option *option = cli->command ? find_letter(cli->command->options, letter) : NULL;
    if (option)
        return (struct found_option){ option, false };
    return (struct found_option){ find_letter(cli_global_options, letter), true };
}

/* "--name", "--name=value". */
static firn_status take_option(struct firn_op *op, struct cli *cli, int argc, char **argv, int *at)
{
    struct firn_text name = firn_text_of(argv[*at] + 2), value = FIRN_TEXT(""), inline_value = FIRN_TEXT("");
    ptrdiff_t equals = firn_text_find(name, '=');
    if (equals >= 0) {
        inline_value = firn_text_from(name, (size_t)equals + 1);
        name = firn_text_until(name, (size_t)equals);
    }
    struct found_option found = find_by_name(cli, name);
    if (!found.option)
        return unknown_option(op, cli, name);
    FIRN_TRY(take_value(op, found.option, inline_value, equals >= 0, argc, argv, at, &value));
    return give_found(op, cli, found, value);
}

/* "-x", with its value in the next argument. */
static firn_status take_letter(struct firn_op *op, struct cli *cli, int argc, char **argv, int *at)
{
    struct firn_text value = FIRN_TEXT("");
    const char *arg = argv[*at];
    struct found_option found = arg[2] ? (struct found_option){ 0 } : find_by_letter(cli, arg[1]);
    if (!found.option)
        return firn_fail(op, FIRN_USAGE, "unknown option %s", arg);
    FIRN_TRY(take_value(op, found.option, value, false, argc, argv, at, &value));
    return give_found(op, cli, found, value);
}

/* The first that was given neither in its place nor by name. */
static const struct cli_option *next_positional(const struct cli *cli)
{
    for (const struct cli_option *option = cli->command->options; option->name; option++)
        if (option->kind == CLI_WORDS || (option->kind == CLI_POSITIONAL && !is_given(cli, option)))
            return option;
    return NULL;
}

static firn_status take_word(struct firn_op *op, struct cli *cli, struct firn_text word)
{
    if (!cli->command) {
        cli->command = cli_find_command(word);
        if (!cli->command)
            return unknown_command(op, word);
        return cli_begin_command(op, cli, cli->command);
    }
    const struct cli_option *option = next_positional(cli);
    if (!option)
        return firn_fail(op, FIRN_USAGE, "%s: unexpected argument '%.*s'", cli->command->name, FIRN_FMT(word));
    return cli_give(op, cli, option, word);
}

static firn_status check_required(struct firn_op *op, const struct cli *cli)
{
    for (const struct cli_option *option = cli->command->options; option->name; option++) {
        if (!option->required || is_given(cli, option))
            continue;
        bool by_place = cli_is_positional(option);
        firn_status status = firn_fail(op, FIRN_USAGE, "%s: %s%s is missing", cli->command->name, by_place ? "" : "--",
                                       by_place ? option->value : option->name);
        return firn_hint(op, status, "see 'firn help %s'", cli->command->name);
    }
    return FIRN_OK;
}

firn_status cli_run(struct firn_op *op, struct cli *cli)
{
    firn_status status = cli->command->run(op, cli, cli->args);
    if (status != FIRN_OK && status != FIRN_PARTIAL)
        return status;
    FIRN_TRY(cli_flush(op, cli));
    return status;
}

firn_status cli_parse(struct firn_op *op, struct cli *cli, int argc, char **argv)
{
    bool only_words = false; /* after "--" */
    FIRN_TRY(set_defaults(op, cli, cli_global_options, &cli->globals));
    for (int at = 1; at < argc; at++) {
        const char *arg = argv[at];
        if (!only_words && strcmp(arg, "--") == 0)
            only_words = true;
        else if (!only_words && strncmp(arg, "--", 2) == 0)
            FIRN_TRY(take_option(op, cli, argc, argv, &at));
        else if (!only_words && arg[0] == '-' && arg[1])
            FIRN_TRY(take_letter(op, cli, argc, argv, &at));
        else
            FIRN_TRY(take_word(op, cli, firn_text_of(arg)));
    }
    if (!cli->command || cli->globals.help || cli->globals.version)
        return FIRN_OK;
    return check_required(op, cli);
}
