/* CALL [catalog.]system.procedure(...): the arguments go into the option table of the command of that name, as flags
 * would. Reference: procedures.md, 1 and 12. */
#include "cli/cli.h"
#include "firn/sql.h"

struct call {
    struct firn_op *op;
    struct cli *cli;
    struct firn_text procedure; /* as SQL has it: "expire_snapshots" */
    struct firn_text catalog;   /* empty: none was named */
    uint64_t seen;              /* a bit for each option that was named */
};

struct firn_text cli_sql_name(struct firn_arena *arena, const char *name)
{
    if (strcmp(name, "option") == 0)
        return FIRN_TEXT("options");
    char *copy = firn_arena_alloc(arena, strlen(name) + 1);
    for (size_t i = 0; name[i]; i++)
        copy[i] = name[i] == '-' ? '_' : name[i];
    return (struct firn_text){ copy, strlen(name) };
}

const char *cli_sql_type_text(const struct cli_option *option)
{
    switch (option->sql) {
    case CLI_SQL_TIMESTAMP:
        return "a timestamp: TIMESTAMP '2026-11-01 10:30:00'";
    case CLI_SQL_LONG:
        return "a whole number";
    case CLI_SQL_LONGS:
        return "an array of whole numbers: array(1, 2)";
    case CLI_SQL_TEXTS:
        return "an array of texts: array('a', 'b')";
    case CLI_SQL_BY_KIND:
        break;
    }
    switch (option->kind) {
    case CLI_FLAG:
        return "true or false";
    case CLI_NUMBER:
        return "a whole number";
    case CLI_PAIRS:
        return "a map of texts: map('key', 'value')";
    default:
        return "a text";
    }
}

static const char *kind_text(enum firn_sql_value_kind kind)
{
    static const char *const names[] = {
        [FIRN_SQL_NULL] = "null",
        [FIRN_SQL_BOOLEAN] = "a boolean",
        [FIRN_SQL_INTEGER] = "a whole number",
        [FIRN_SQL_DECIMAL] = "a decimal",
        [FIRN_SQL_STRING] = "a text",
        [FIRN_SQL_DATE] = "a date",
        [FIRN_SQL_TIMESTAMP] = "a timestamp",
        [FIRN_SQL_MAP] = "a map",
        [FIRN_SQL_ARRAY] = "an array",
    };
    return names[kind];
}

/* The table ----------------------------------------------------------------------------------------------------- */

static firn_status join_parts(struct firn_op *op, const struct firn_sql_name *name, size_t from, struct firn_text *out)
{
    *out = FIRN_TEXT("");
    for (size_t i = from; i < name->count; i++) {
        if (firn_text_find(name->items[i], '.') >= 0 || firn_text_find(name->items[i], '/') >= 0)
            return firn_fail(op, FIRN_UNSUPPORTED, "name '%.*s' has a dot or slash in it", FIRN_FMT(name->items[i]));
        *out = firn_text_format(op->arena, "%.*s%s%.*s", FIRN_FMT(*out), i > from ? "." : "", FIRN_FMT(name->items[i]));
    }
    return FIRN_OK;
}

firn_status cli_table_name(struct firn_op *op, struct cli *cli, struct firn_text catalog,
                           const struct firn_sql_name *name, struct firn_text *out)
{
    struct firn_session *session;
    struct firn_catalog *opened;
    if (catalog.len == 0)
        return join_parts(op, name, 0, out);
    FIRN_TRY(cli_session(op, cli, &session));
    FIRN_TRY(firn_session_catalog(op, session, catalog, &opened));
    bool is_full = name->count > 2 && firn_text_same_nocase(name->items[0], catalog);
    if (!is_full && name->count > 2 && firn_config_find(&cli->config, name->items[0]))
        return firn_fail(op, FIRN_USAGE, "the table is of catalog '%.*s', the procedure of '%.*s'",
                         FIRN_FMT(name->items[0]), FIRN_FMT(catalog));
    FIRN_TRY(join_parts(op, name, is_full, out));
    *out = firn_text_format(op->arena, "%.*s.%.*s", FIRN_FMT(catalog), FIRN_FMT(*out));
    return FIRN_OK;
}

/* A name within the catalog of the call; locations stand for themselves. */
static firn_status resolve_table(struct call *call, struct firn_text text, struct firn_text *out)
{
    struct firn_sql_name name;
    *out = firn_text_trim(text);
    if (out->len == 0)
        return firn_fail(call->op, FIRN_USAGE, "the table's name is blank");
    if (firn_text_find(*out, '/') >= 0)
        return FIRN_OK;
    firn_status status = firn_sql_name_parse(call->op, *out, &name);
    if (status != FIRN_OK)
        return firn_fail(call->op, status, "'%.*s' is no name of a table", FIRN_FMT(*out));
    return cli_table_name(call->op, call->cli, call->catalog, &name, out);
}

/* Values -------------------------------------------------------------------------------------------------------- */

static bool is_text(const struct firn_sql_value *value)
{
    return value->kind != FIRN_SQL_NULL && value->kind != FIRN_SQL_MAP && value->kind != FIRN_SQL_ARRAY;
}

/* As Spark casts without loss: what is no text may become one, a date a timestamp. */
static bool is_of_type(const struct cli_option *option, const struct firn_sql_value *value)
{
    switch (option->sql) {
    case CLI_SQL_TIMESTAMP:
        return value->kind == FIRN_SQL_TIMESTAMP || value->kind == FIRN_SQL_DATE;
    case CLI_SQL_LONG:
        return value->kind == FIRN_SQL_INTEGER;
    case CLI_SQL_LONGS:
    case CLI_SQL_TEXTS:
        return value->kind == FIRN_SQL_ARRAY;
    case CLI_SQL_BY_KIND:
        break;
    }
    switch (option->kind) {
    case CLI_FLAG:
        return value->kind == FIRN_SQL_BOOLEAN;
    case CLI_NUMBER:
        return value->kind == FIRN_SQL_INTEGER;
    case CLI_PAIRS:
        return value->kind == FIRN_SQL_MAP;
    default:
        return is_text(value);
    }
}

static firn_status fail_type(struct call *call, const struct cli_option *option, const struct firn_sql_value *value)
{
    return firn_sql_fail(call->op, FIRN_USAGE, value->place, "argument %.*s is %s where it must be %s",
                         FIRN_FMT(cli_sql_name(call->op->arena, option->name)), kind_text(value->kind),
                         cli_sql_type_text(option));
}

/* "1,2,3": what the option takes for several. */
static firn_status join_items(struct call *call, const struct cli_option *option, const struct firn_sql_value *value,
                              struct firn_text *out)
{
    struct firn_arena *arena = call->op->arena;
    size_t len = 0;
    for (size_t i = 0; i < value->values.count; i++) {
        const struct firn_sql_value *item = &value->values.items[i];
        bool good = option->sql == CLI_SQL_LONGS ? item->kind == FIRN_SQL_INTEGER : is_text(item);
        if (!good || firn_text_find(item->text, ',') >= 0)
            return fail_type(call, option, item);
        len += item->text.len + 1;
    }
    char *joined = firn_arena_alloc(arena, len + 1), *at = joined;
    for (size_t i = 0; i < value->values.count; i++) {
        struct firn_text text = value->values.items[i].text;
        if (i > 0)
            *at++ = ',';
        memcpy(at, text.data, text.len);
        at += text.len;
    }
    *out = (struct firn_text){ joined, (size_t)(at - joined) };
    return FIRN_OK;
}

static firn_status give_map(struct call *call, const struct cli_option *option, const struct firn_sql_value *map)
{
    const struct firn_sql_value *items = map->values.items;
    for (size_t i = 0; i < map->values.count; i += 2) {
        if (!is_text(&items[i]) || !is_text(&items[i + 1]))
            return fail_type(call, option, is_text(&items[i]) ? &items[i + 1] : &items[i]);
        for (size_t j = 0; j < i; j += 2)
            if (firn_text_same(items[j].text, items[i].text))
                return firn_sql_fail(call->op, FIRN_USAGE, items[i].place, "key '%.*s' is given twice",
                                     FIRN_FMT(items[i].text));
        cli_give_pair(call->cli, option, (struct firn_property){ items[i].text, items[i + 1].text });
    }
    return FIRN_OK;
}

static firn_status give_value(struct call *call, const struct cli_option *option, const struct firn_sql_value *value)
{
    struct firn_text text = value->text;
    if (!is_of_type(option, value))
        return fail_type(call, option, value);
    if (option->kind == CLI_PAIRS)
        return give_map(call, option, value);
    if (option->kind == CLI_FLAG && firn_text_is(text, "false"))
        return FIRN_OK;
    if (value->kind == FIRN_SQL_ARRAY)
        FIRN_TRY(join_items(call, option, value, &text));
    firn_status status = FIRN_OK;
    if (strcmp(option->name, "table") == 0)
        status = resolve_table(call, text, &text);
    if (status == FIRN_OK)
        status = cli_give(call->op, call->cli, option, text);
    return firn_context(call->op, status, "line %u, column %u: argument %.*s", value->place.line, value->place.column,
                        FIRN_FMT(cli_sql_name(call->op->arena, option->name)));
}

/* Arguments ----------------------------------------------------------------------------------------------------- */

/* "table, older_than, ..." */
static struct firn_text arguments_text(struct call *call)
{
    const struct cli_command *command = call->cli->command;
    struct firn_arena *arena = call->op->arena;
    struct firn_text list = FIRN_TEXT("");
    for (uint32_t i = 0; i < command->call_arguments; i++)
        list = firn_text_format(arena, "%.*s%s%.*s", FIRN_FMT(list), i ? ", " : "",
                                FIRN_FMT(cli_sql_name(arena, command->options[i].name)));
    return list;
}

static const struct cli_option *find_argument(struct call *call, struct firn_text name)
{
    struct firn_text lower = firn_text_lower(call->op->arena, name);
    if (firn_text_is(lower, "option"))
        return NULL;
    return cli_find_option(call->cli->command->options, firn_text_is(lower, "options") ? FIRN_TEXT("option") : lower);
}

static firn_status find_row(struct call *call, const struct firn_sql_argument *argument, size_t position,
                            const struct cli_option **out)
{
    const struct cli_command *command = call->cli->command;
    firn_status status = FIRN_OK;
    if (argument->name.len > 0) {
        *out = find_argument(call, argument->name);
        if (!*out)
            status = firn_sql_fail(call->op, FIRN_USAGE, argument->place, "%.*s has no argument '%.*s'",
                                   FIRN_FMT(call->procedure), FIRN_FMT(argument->name));
    } else {
        *out = &command->options[position];
        if (position >= command->call_arguments)
            status = firn_sql_fail(call->op, FIRN_USAGE, argument->place,
                                   "%.*s takes no more than %" PRIu32 " arguments by position",
                                   FIRN_FMT(call->procedure), command->call_arguments);
    }
    return status == FIRN_OK ? FIRN_OK
                             : firn_hint(call->op, status, "its arguments: %.*s", FIRN_FMT(arguments_text(call)));
}

static firn_status give_argument(struct call *call, const struct firn_sql_argument *argument, size_t position)
{
    const struct cli_option *option;
    FIRN_TRY(find_row(call, argument, position, &option));
    uint64_t bit = UINT64_C(1) << (option - call->cli->command->options);
    if (call->seen & bit)
        return firn_sql_fail(call->op, FIRN_USAGE, argument->place, "argument %.*s is given twice",
                             FIRN_FMT(cli_sql_name(call->op->arena, option->name)));
    call->seen |= bit;
    return argument->value.kind == FIRN_SQL_NULL ? FIRN_OK : give_value(call, option, &argument->value);
}

static firn_status check_required(struct call *call, struct firn_sql_place place)
{
    const struct cli *cli = call->cli;
    for (const struct cli_option *option = cli->command->options; option->name; option++)
        if (option->required && !cli_is_given(cli, option->name)) {
            firn_status status =
                firn_sql_fail(call->op, FIRN_USAGE, place, "%.*s: required argument %.*s is missing",
                              FIRN_FMT(call->procedure), FIRN_FMT(cli_sql_name(call->op->arena, option->name)));
            return firn_hint(call->op, status, "its arguments: %.*s", FIRN_FMT(arguments_text(call)));
        }
    return FIRN_OK;
}

/* The procedure ------------------------------------------------------------------------------------------------- */

static struct firn_text procedures_text(struct firn_arena *arena)
{
    struct firn_text list = FIRN_TEXT("");
    for (const struct cli_command *const *at = cli_commands; *at; at++)
        if ((*at)->call_arguments > 0)
            list = firn_text_format(arena, "%.*s%s%.*s", FIRN_FMT(list), list.len ? ", " : "",
                                    FIRN_FMT(cli_sql_name(arena, (*at)->name)));
    return list;
}

static const struct cli_command *find_procedure(struct firn_arena *arena, struct firn_text name)
{
    for (const struct cli_command *const *at = cli_commands; *at; at++)
        if ((*at)->call_arguments > 0 && firn_text_same_nocase(cli_sql_name(arena, (*at)->name), name))
            return *at;
    return NULL;
}

/* [catalog.]system.procedure */
static firn_status begin_call(struct call *call, const struct firn_sql_name *name)
{
    size_t count = name->count;
    if (count < 2 || count > 3 || !firn_text_same_nocase(name->items[count - 2], FIRN_TEXT("system")))
        return firn_sql_fail(call->op, FIRN_USAGE, name->place,
                             "a procedure is called by catalog.system.procedure, or system.procedure for the default "
                             "catalog");
    call->procedure = firn_text_lower(call->op->arena, name->items[count - 1]);
    call->catalog = count == 3 ? name->items[0] : FIRN_TEXT("");
    const struct cli_command *command = find_procedure(call->op->arena, call->procedure);
    if (command)
        return cli_begin_command(call->op, call->cli, command);
    firn_status status =
        firn_sql_fail(call->op, FIRN_USAGE, name->place, "there is no procedure '%.*s'", FIRN_FMT(call->procedure));
    return firn_hint(call->op, status, "there are: %.*s", FIRN_FMT(procedures_text(call->op->arena)));
}

firn_status cli_call(struct firn_op *op, struct cli *cli, const struct firn_sql_statement *statement)
{
    const struct firn_sql_arguments *arguments = &statement->call.arguments;
    struct call call = { .op = op, .cli = cli };
    FIRN_TRY(begin_call(&call, &statement->call.procedure));
    for (size_t i = 0; i < arguments->count; i++)
        FIRN_TRY(give_argument(&call, &arguments->items[i], i));
    FIRN_TRY(check_required(&call, statement->place));
    return firn_context(op, cli_run(op, cli), "line %u, column %u: %.*s", statement->place.line,
                        statement->place.column, FIRN_FMT(call.procedure));
}
