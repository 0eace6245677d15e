/* From flags, files and the environment to a session and a table. The only place that reads either. */
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>

extern char **environ;

enum { CONFIG_BYTES_MAX = 1 << 20 };

/* Reads to the end of `file`. */
static firn_status read_stream(struct firn_op *op, FILE *file, struct firn_text path, size_t bytes_max,
                               struct firn_text *out)
{
    size_t capacity = 1 << 16, len = 0, got;
    char *text = firn_arena_alloc(op->arena, capacity);
    while ((got = fread(text + len, 1, capacity - len, file)) > 0) {
        len += got;
        if (len > bytes_max)
            return firn_fail(op, FIRN_LIMIT, "%.*s has more than %zu bytes", FIRN_FMT(path), bytes_max);
        if (len == capacity)
            text = firn_array_grow(op->arena, text, len, &capacity, 1);
    }
    if (ferror(file))
        return firn_fail_errno(op, errno, "cannot read %.*s", FIRN_FMT(path));
    text[len] = '\0';
    *out = (struct firn_text){ text, len };
    return FIRN_OK;
}

firn_status cli_read_file(struct firn_op *op, struct firn_text path, size_t bytes_max, struct firn_text *out)
{
    if (firn_text_is(path, "-"))
        return read_stream(op, stdin, FIRN_TEXT("standard input"), bytes_max, out);
    FILE *file = fopen(path.data, "re");
    if (!file)
        return firn_fail_errno(op, errno, "cannot open %.*s", FIRN_FMT(path));
    firn_status status = read_stream(op, file, path, bytes_max, out);
    fclose(file);
    return status;
}

static firn_status load_yaml(struct firn_op *op, struct cli *cli, struct firn_text path, bool required)
{
    struct firn_text yaml;
    firn_status status = cli_read_file(op, path, CONFIG_BYTES_MAX, &yaml);
    if (status == FIRN_NOT_FOUND && !required)
        return FIRN_OK;
    FIRN_TRY(status);
    return firn_config_parse_yaml(op, yaml, path, &cli->config);
}

static firn_status load_default_yaml(struct firn_op *op, struct cli *cli)
{
    const char *home = getenv("PYICEBERG_HOME");
    if (!home || !*home)
        home = getenv("HOME");
    if (!home || !*home)
        return FIRN_OK;
    return load_yaml(op, cli, firn_text_format(&cli->arena, "%s/.pyiceberg.yaml", home), false);
}

static firn_status load_environment(struct firn_op *op, struct cli *cli)
{
    for (char **at = environ; *at; at++) {
        struct firn_text entry = firn_text_of(*at);
        ptrdiff_t equals = firn_text_find(entry, '=');
        if (equals > 0)
            FIRN_TRY(firn_config_apply_variable(op, firn_text_until(entry, (size_t)equals),
                                                firn_text_from(entry, (size_t)equals + 1), &cli->config));
    }
    return FIRN_OK;
}

/* --uri and --warehouse describe the catalog of --catalog, or one called "default". They go the way of variables. */
static firn_status load_flags(struct firn_op *op, struct cli *cli)
{
    struct firn_text name = cli->globals.catalog;
    if (name.len == 0)
        name = cli->config.default_catalog.len ? cli->config.default_catalog : FIRN_TEXT("default");
    const struct {
        const char *key;
        struct firn_text value;
    } flags[] = { { "uri", cli->globals.uri }, { "warehouse", cli->globals.warehouse } };
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (flags[i].value.len == 0)
            continue;
        struct firn_catalog_config add = { .name = name };
        struct firn_property property = { .key = firn_text_of(flags[i].key), .value = flags[i].value };
        add.properties = &property;
        add.property_count = 1;
        FIRN_TRY(firn_config_merge(op, &add, &cli->config));
    }
    return FIRN_OK;
}

static firn_status load_config(struct firn_op *op, struct cli *cli)
{
    if (cli->globals.config.len)
        FIRN_TRY(load_yaml(op, cli, cli->globals.config, true));
    else
        FIRN_TRY(load_default_yaml(op, cli));
    FIRN_TRY(load_environment(op, cli));
    return load_flags(op, cli);
}

static struct firn_text temp_folder(const struct cli *cli)
{
    const char *environment = getenv("TMPDIR");
    return cli->globals.temp_folder.len || !environment ? cli->globals.temp_folder : firn_text_of(environment);
}

static firn_status open_session(struct firn_op *op, struct cli *cli)
{
    if (!cli->config_given)
        FIRN_TRY(firn_context(op, load_config(op, cli), "configuration"));
    const struct cli_pairs *pairs = &cli->globals.relocate;
    struct firn_session_relocation *rules = FIRN_NEW_ARRAY(&cli->arena, struct firn_session_relocation, pairs->count);
    for (size_t i = 0; i < pairs->count; i++)
        rules[i] = (struct firn_session_relocation){ .from = pairs->items[i].key, .to = pairs->items[i].value };
    struct firn_session_config config = {
        .thread_count = (uint32_t)cli->globals.threads,
        .memory_bytes_max = (uint64_t)cli->globals.memory,
        .temp_folder = temp_folder(cli),
        .relocations = rules,
        .relocation_count = pairs->count,
        .relaxed = cli->relaxed,
        .config = &cli->config,
        .catalog = cli->globals.catalog,
    };
    return firn_session_open(op, &config, &cli->session);
}

/* What is read stays for the whole run, whatever memory the operation has at the moment. */
firn_status cli_session(struct firn_op *op, struct cli *cli, struct firn_session **out)
{
    if (!cli->session) {
        struct firn_arena *arena = op->arena;
        op->arena = &cli->arena;
        firn_status status = open_session(op, cli);
        op->arena = arena;
        FIRN_TRY(status);
    }
    *out = cli->session;
    return FIRN_OK;
}

firn_status cli_open_table(struct firn_op *op, struct cli *cli, struct firn_text name, struct firn_table *out)
{
    struct firn_session *session;
    FIRN_TRY(cli_session(op, cli, &session));
    return firn_session_table(op, session, name, out);
}

/* Settings -------------------------------------------------------------------------------------------------------- */

static firn_status read_settings(struct firn_op *op, struct firn_text path, bool required, struct cli_settings *out)
{
    firn_status status = cli_read_file(op, path, CONFIG_BYTES_MAX, &out->yaml);
    if (status == FIRN_NOT_FOUND && !required)
        return FIRN_OK;
    FIRN_TRY(status);
    out->path = path;
    return FIRN_OK;
}

firn_status cli_read_settings(struct firn_op *op, struct firn_text given, struct cli_settings *out)
{
    const char *home = getenv("HOME");
    *out = (struct cli_settings){ 0 };
    if (given.len > 0)
        return read_settings(op, given, true, out);
    FIRN_TRY(read_settings(op, FIRN_TEXT("firn.yaml"), false, out));
    if (out->path.len > 0 || !home || !*home)
        return FIRN_OK;
    return read_settings(op, firn_text_format(op->arena, "%s/.firn.yaml", home), false, out);
}

firn_status cli_prices(struct firn_op *op, struct cli *cli, const struct cli_settings *settings,
                       struct firn_prices *out)
{
    const struct cli_pairs *given = &cli->globals.price;
    *out = firn_prices_default();
    if (settings->path.len > 0)
        FIRN_TRY(firn_prices_parse(op, settings->yaml, settings->path, out));
    for (size_t i = 0; i < given->count; i++)
        FIRN_TRY(firn_prices_set(op, given->items[i].key, given->items[i].value, FIRN_TEXT("--price"), out));
    return FIRN_OK;
}

firn_status cli_usual_prices(struct firn_op *op, struct cli *cli, struct firn_prices *out)
{
    struct cli_settings settings;
    FIRN_TRY(cli_read_settings(op, FIRN_TEXT(""), &settings));
    return cli_prices(op, cli, &settings, out);
}

bool cli_has_color(const struct cli *cli)
{
    const char *no_color = getenv("NO_COLOR"); /* no-color.org: any text but an empty one */
    return cli->out_is_terminal && (!no_color || !*no_color);
}
