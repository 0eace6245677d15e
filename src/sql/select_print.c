/* Writing a SELECT of Spark's as SQLite has it. */
#include "base/math.h"
#include "base/time.h"
#include "sql/select_text.h"

/* An open parenthesis of the output. */
struct parenthesis {
    size_t cast_at; /* where "CAST" was written before it; SIZE_MAX: it was not */
};

struct printing {
    struct firn_op *op;
    struct firn_select_text *select;
    struct firn_select_print *print;
    size_t at;        /* token */
    size_t reference; /* the next reference */
    FIRN_ARRAY(struct parenthesis) open;
    firn_status status; /* the first failure of writing */
};

static const struct firn_token *peek(const struct printing *printing, size_t ahead)
{
    const struct firn_tokens *tokens = &printing->select->tokens;
    return &tokens->items[FIRN_MIN(printing->at + ahead, tokens->count - 1)];
}

static bool is_name(const struct firn_token *token)
{
    return token->kind == FIRN_TOKEN_NAME || token->kind == FIRN_TOKEN_QUOTED;
}

static bool is_sign(const struct firn_token *token, char c)
{
    return (token->kind == FIRN_TOKEN_SYMBOL || token->kind == FIRN_TOKEN_FOREIGN) && token->text.len == 1 &&
           token->text.data[0] == c;
}

static firn_status fail_at(struct printing *printing, const struct firn_token *token, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));
static firn_status fail_at(struct printing *printing, const struct firn_token *token, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct firn_text message = firn_text_vformat(printing->op->arena, format, args);
    va_end(args);
    return firn_select_fail(printing->op, FIRN_USAGE, printing->select, token->at, "%.*s", FIRN_FMT(message));
}

/* Writing ---------------------------------------------------------------------------------------------------------- */

static void put(struct printing *printing, struct firn_text text)
{
    if (printing->status == FIRN_OK)
        printing->status = firn_buffer_append(printing->op, printing->print->out, text.data, text.len);
}

/* Within quotes, each of which is doubled where it is part of the text. */
static void put_quoted(struct printing *printing, struct firn_text text, char quote)
{
    struct firn_text mark = { &quote, 1 };
    put(printing, mark);
    for (;;) {
        ptrdiff_t found = firn_text_find(text, quote);
        put(printing, found < 0 ? text : firn_text_until(text, (size_t)found));
        if (found < 0)
            break;
        put(printing, mark);
        put(printing, mark);
        text = firn_text_from(text, (size_t)found + 1);
    }
    put(printing, mark);
}

/* What follows came from the current token, after a blank where there was one or a comment. */
static void begin_token(struct printing *printing)
{
    const struct firn_token *token = peek(printing, 0);
    size_t before = printing->at ? printing->select->tokens.items[printing->at - 1].end : token->at;
    if (token->at > before)
        put(printing, FIRN_TEXT(" "));
    struct firn_select_origin origin = { printing->print->out->len, token->at };
    struct firn_select_print *print = printing->print;
    if (print->origin_count == print->origin_capacity)
        print->origins = firn_array_grow(printing->op->arena, print->origins, print->origin_count,
                                         &print->origin_capacity, sizeof *print->origins);
    print->origins[print->origin_count++] = origin;
}

/* Tables ----------------------------------------------------------------------------------------------------------- */

/* "*" and "t.*"; other stars multiply or count. */
static bool asks_for_all(const struct firn_tokens *tokens, size_t at)
{
    const struct firn_token *before = at ? &tokens->items[at - 1] : NULL;
    return before && is_sign(&tokens->items[at], '*') &&
           (is_sign(before, '.') || is_sign(before, ',') || firn_token_is_word(before, "select") ||
            firn_token_is_word(before, "distinct") || firn_token_is_word(before, "all"));
}

/* Whether the statement has the name anywhere: more than is needed is fine. */
static bool is_mentioned(const struct firn_tokens *tokens, struct firn_text name, bool is_hidden)
{
    for (size_t i = 0; i < tokens->count; i++)
        if ((is_name(&tokens->items[i]) && firn_text_same_nocase(tokens->items[i].text, name)) ||
            (!is_hidden && asks_for_all(tokens, i)))
            return true;
    return false;
}

static void print_item(struct printing *printing, struct firn_text name, bool *follows)
{
    put(printing, *follows ? FIRN_TEXT(", ") : FIRN_TEXT(""));
    put_quoted(printing, name, '"');
    *follows = true;
}

/* A table that is joined is read once into a query of its own, which SQLite keeps and makes an index for: else it would
 * be read from its manifests again for every row of the other. The LIMIT keeps the query apart. */
static void print_joined(struct printing *printing, const struct firn_select_reference *reference,
                         struct firn_text name)
{
    const struct firn_tokens *tokens = &printing->select->tokens;
    bool follows = false;
    put(printing, FIRN_TEXT("(SELECT "));
    for (uint32_t i = 0; i < reference->columns.count; i++)
        if (is_mentioned(tokens, reference->columns.items[i].name, false))
            print_item(printing, reference->columns.items[i].name, &follows);
    for (uint32_t i = 0; i < reference->kind->alias_count; i++)
        if (is_mentioned(tokens, firn_text_of(reference->kind->aliases[i].name), true))
            print_item(printing, firn_text_of(reference->kind->aliases[i].name), &follows);
    for (size_t i = 0; i < reference->path_count; i++)
        print_item(printing, firn_select_path_name(printing->op->arena, &reference->columns, &reference->paths[i]),
                   &follows);
    put(printing, follows ? FIRN_TEXT(" FROM ") : FIRN_TEXT("1 FROM "));
    put(printing, name);
    put(printing, FIRN_TEXT(" LIMIT -1)"));
}

static void print_reference(struct printing *printing)
{
    const struct firn_select_reference *reference = &printing->select->references.items[printing->reference];
    struct firn_text name = firn_text_format(printing->op->arena, "firn_%zu", printing->reference++);
    if (reference->is_joined)
        print_joined(printing, reference, name);
    else
        put(printing, name);
    if (!reference->has_alias) {
        put(printing, FIRN_TEXT(" AS "));
        put_quoted(printing, reference->alias, '"');
    }
    printing->at = reference->end;
}

/* Columns ---------------------------------------------------------------------------------------------------------- */

/* A step into a struct, map or list. */
struct step {
    const struct firn_token *token;
    bool is_index; /* within brackets */
};

/* A name with what follows it: "f.partition.day", "summary['x']". */
struct chain {
    FIRN_ARRAY(struct step) steps;
    size_t token_count;
};

static bool take_bracket(struct printing *printing, struct chain *chain)
{
    const struct firn_token *key = peek(printing, chain->token_count + 1);
    bool is_key = key->kind == FIRN_TOKEN_STRING || key->kind == FIRN_TOKEN_NUMBER;
    if (!is_sign(peek(printing, chain->token_count), '[') || !is_key ||
        !is_sign(peek(printing, chain->token_count + 2), ']'))
        return false;
    struct step step = { key, true };
    FIRN_PUSH(printing->op->arena, &chain->steps, step);
    chain->token_count += 3;
    return true;
}

static bool take_field(struct printing *printing, struct chain *chain)
{
    const struct firn_token *name = peek(printing, chain->token_count + 1);
    if (!is_sign(peek(printing, chain->token_count), '.') || !is_name(name))
        return false;
    struct step step = { name, false };
    FIRN_PUSH(printing->op->arena, &chain->steps, step);
    chain->token_count += 2;
    return true;
}

static struct chain read_chain(struct printing *printing)
{
    struct chain chain = { 0 };
    struct step first = { peek(printing, 0), false };
    FIRN_PUSH(printing->op->arena, &chain.steps, first);
    chain.token_count = 1;
    while (take_field(printing, &chain) || take_bracket(printing, &chain))
        ;
    return chain;
}

static bool step_is(const struct chain *chain, size_t index, struct firn_text name)
{
    return index < chain->steps.count && !chain->steps.items[index].is_index &&
           firn_text_same_nocase(chain->steps.items[index].token->text, name);
}

/* How many steps name the reference itself: its alias, or the table's whole name where it has no alias. */
static size_t count_qualifiers(const struct chain *chain, const struct firn_select_reference *reference)
{
    size_t count = 0;
    if (!reference->has_alias)
        while (count < reference->part_count && step_is(chain, count, reference->parts[count]))
            count++;
    if (count == reference->part_count && count < chain->steps.count)
        return count;
    return step_is(chain, 0, reference->alias) && chain->steps.count > 1 ? 1 : 0;
}

/* The column of a reference that a chain names; UINT32_MAX: none. */
static uint32_t find_column(const struct chain *chain, const struct firn_select_reference *reference, size_t qualifiers)
{
    const struct step *step = &chain->steps.items[qualifiers];
    if (qualifiers >= chain->steps.count || step->is_index)
        return UINT32_MAX;
    return firn_metadata_column_find(reference->columns.items, reference->columns.count, step->token->text);
}

static firn_status fail_no_field(struct printing *printing, const struct step *step,
                                 const struct firn_metadata_column *column)
{
    struct firn_text known = FIRN_TEXT("");
    for (uint32_t i = 0; i < FIRN_MIN(column->field_count, 20u); i++)
        known = firn_text_format(printing->op->arena, "%.*s%s%.*s", FIRN_FMT(known), i ? ", " : "",
                                 FIRN_FMT(column->fields[i].name));
    firn_status status = fail_at(printing, step->token, "'%.*s' has no field '%.*s'", FIRN_FMT(column->name),
                                 FIRN_FMT(step->token->text));
    return firn_hint(printing->op, status, "its fields are %.*s%s", FIRN_FMT(known),
                     column->field_count > 20 ? ", ..." : "");
}

/* Follows the chain into structs as far as there are; `*used` counts the steps from the column on. */
static firn_status follow_fields(struct printing *printing, const struct chain *chain, size_t from,
                                 const struct firn_metadata_columns *columns, struct firn_metadata_path *path,
                                 size_t *used)
{
    for (*used = 1; from + *used < chain->steps.count && path->count < FIRN_METADATA_PATH_MAX; ++*used) {
        const struct firn_metadata_column *at = firn_metadata_column_at(columns, path);
        const struct step *step = &chain->steps.items[from + *used];
        if (!at->fields)
            break;
        uint32_t field = firn_metadata_column_find(at->fields, at->field_count, step->token->text);
        if (field == UINT32_MAX)
            return fail_no_field(printing, step, at);
        path->steps[path->count++] = field;
    }
    return FIRN_OK;
}

struct firn_text firn_select_path_name(struct firn_arena *arena, const struct firn_metadata_columns *columns,
                                       const struct firn_metadata_path *path)
{
    struct firn_metadata_path part = { .count = 0 };
    struct firn_text name = FIRN_TEXT("");
    while (part.count < path->count) {
        part.steps[part.count] = path->steps[part.count];
        part.count++;
        name = firn_text_format(arena, "%.*s%s%.*s", FIRN_FMT(name), name.len ? "." : "",
                                FIRN_FMT(firn_metadata_column_at(columns, &part)->name));
    }
    return name;
}

static void add_path(struct printing *printing, struct firn_select_reference *reference,
                     const struct firn_metadata_path *path)
{
    for (size_t i = 0; i < reference->path_count; i++)
        if (memcmp(&reference->paths[i], path, sizeof *path) == 0)
            return;
    if (reference->path_count == reference->path_capacity)
        reference->paths = firn_array_grow(printing->op->arena, reference->paths, reference->path_count,
                                           &reference->path_capacity, sizeof *reference->paths);
    reference->paths[reference->path_count++] = *path;
}

/* A step of json_extract's path. */
static struct firn_text json_step(struct printing *printing, const struct step *step, struct firn_text type)
{
    struct firn_text key = step->token->text;
    if (step->is_index && firn_text_starts(type, FIRN_TEXT("array<")))
        return firn_text_format(printing->op->arena, "[%.*s]", FIRN_FMT(key));
    return firn_text_format(printing->op->arena, ".\"%.*s\"", FIRN_FMT(key));
}

/* A column, and below it what its JSON is looked up for. */
struct target {
    struct firn_text qualifier; /* empty: none */
    struct firn_text name;
    struct firn_text type; /* empty: unknown */
    size_t first_step;     /* into the JSON */
};

static void print_target(struct printing *printing, const struct chain *chain, const struct target *target)
{
    bool extracts = target->first_step < chain->steps.count;
    struct firn_text path = FIRN_TEXT("$");
    for (size_t i = target->first_step; i < chain->steps.count; i++) {
        struct firn_text type = i == target->first_step ? target->type : FIRN_TEXT("");
        path = firn_text_join(printing->op->arena, path, json_step(printing, &chain->steps.items[i], type));
    }
    if (extracts)
        put(printing, FIRN_TEXT("json_extract("));
    if (target->qualifier.len) {
        put_quoted(printing, target->qualifier, '"');
        put(printing, FIRN_TEXT("."));
    }
    put_quoted(printing, target->name, '"');
    if (extracts) {
        put(printing, FIRN_TEXT(", "));
        put_quoted(printing, path, '\'');
        put(printing, FIRN_TEXT(")"));
    }
}

/* The chain as a column of one reference. */
static firn_status resolve(struct printing *printing, const struct chain *chain,
                           struct firn_select_reference *reference, size_t qualifiers, uint32_t column,
                           struct target *out)
{
    struct firn_metadata_path path = { { column }, 1 };
    size_t used = 1;
    FIRN_TRY(follow_fields(printing, chain, qualifiers, &reference->columns, &path, &used));
    const struct firn_metadata_column *found = firn_metadata_column_at(&reference->columns, &path);
    *out = (struct target){ .name = found->name, .type = found->type, .first_step = qualifiers + used };
    if (qualifiers)
        out->qualifier = reference->alias;
    if (path.count > 1 && printing->select->has_derived) { /* the name may be that of a query's column */
        out->name = reference->columns.items[column].name;
        out->first_step = qualifiers + 1;
    } else if (path.count > 1) {
        out->name = firn_select_path_name(printing->op->arena, &reference->columns, &path);
        add_path(printing, reference, &path);
    }
    return FIRN_OK;
}

/* A name that no reference has: of a query, or a mistake that SQLite tells. */
static void resolve_unknown(struct printing *printing, const struct chain *chain, struct target *out)
{
    size_t names = 0;
    (void)printing;
    while (names < chain->steps.count && names < 2 && !chain->steps.items[names].is_index)
        names++;
    *out = (struct target){ .name = chain->steps.items[names - 1].token->text, .first_step = names };
    if (names == 2)
        out->qualifier = chain->steps.items[0].token->text;
}

static firn_status print_chain(struct printing *printing)
{
    struct chain chain = read_chain(printing);
    struct firn_select_references *references = &printing->select->references;
    struct target target;
    bool found = false;
    for (size_t i = 0; i < references->count; i++) {
        struct firn_select_reference *reference = &references->items[i];
        size_t qualifiers = count_qualifiers(&chain, reference);
        uint32_t column = find_column(&chain, reference, qualifiers);
        if (column == UINT32_MAX || (found && !qualifiers))
            continue;
        FIRN_TRY(resolve(printing, &chain, reference, qualifiers, column, &target));
        found = true;
        if (qualifiers)
            break;
    }
    if (!found)
        resolve_unknown(printing, &chain, &target);
    print_target(printing, &chain, &target);
    printing->at += chain.token_count;
    return FIRN_OK;
}

/* Literals and signs ----------------------------------------------------------------------------------------------- */

/* A time in the form that cells have. */
static struct firn_text time_text(struct printing *printing, int64_t micros, bool is_date)
{
    if (is_date)
        return firn_date_text(printing->op->arena, firn_floor_div(micros, FIRN_MICROS_PER_DAY));
    return firn_timestamp_text(printing->op->arena, micros, FIRN_MICROS_PER_SECOND, ' ');
}

/* DATE '...' and TIMESTAMP '...' as the text that values have. */
static firn_status print_time(struct printing *printing, bool is_date)
{
    const struct firn_token *literal = peek(printing, 1);
    int64_t micros;
    int32_t nanos;
    bool has_zone;
    if (!firn_timestamp_parse(literal->text, &micros, &nanos, &has_zone))
        return fail_at(printing, literal, "'%.*s' is no %s", FIRN_FMT(literal->text), is_date ? "date" : "timestamp");
    put_quoted(printing, time_text(printing, micros, is_date), '\'');
    printing->at += 2;
    return FIRN_OK;
}

/* Strings side by side are one. In Spark's LIKE a backslash escapes unless another character is named. */
static firn_status print_string(struct printing *printing)
{
    struct firn_text text = FIRN_TEXT("");
    size_t first = printing->at;
    for (; peek(printing, 0)->kind == FIRN_TOKEN_STRING; printing->at++)
        text = firn_text_join(printing->op->arena, text, peek(printing, 0)->text);
    if (text.len && memchr(text.data, 0, text.len))
        return fail_at(printing, &printing->select->tokens.items[first], "a string with a NUL character");
    put_quoted(printing, text, '\'');
    bool is_pattern = first > 0 && firn_token_is_word(&printing->select->tokens.items[first - 1], "like");
    if (is_pattern && !firn_token_is_word(peek(printing, 0), "escape"))
        put(printing, FIRN_TEXT(" ESCAPE '\\'"));
    return FIRN_OK;
}

/* X'..' in the form that bytes have in a cell. */
static void print_hex(struct printing *printing)
{
    struct firn_text digits = firn_text_lower(printing->op->arena, peek(printing, 0)->text);
    put_quoted(printing, firn_text_format(printing->op->arena, "X'%.*s'", FIRN_FMT(digits)), '\'');
    printing->at++;
}

/* Casts ------------------------------------------------------------------------------------------------------------ */

/* How SQLite calls a type of Spark's that it would take for another one. */
static const struct {
    const char *spark, *sqlite;
} types[] = {
    { "string", "TEXT" },     { "varchar", "TEXT" }, { "timestamp", "TEXT" }, { "timestamp_ntz", "TEXT" },
    { "boolean", "INTEGER" }, { "long", "INTEGER" }, { "short", "INTEGER" },  { "byte", "INTEGER" },
};

static bool ends_cast(const struct printing *printing)
{
    return printing->open.count > 0 && printing->open.items[printing->open.count - 1].cast_at != SIZE_MAX &&
           firn_token_is_word(peek(printing, 0), "as") && peek(printing, 1)->kind == FIRN_TOKEN_NAME;
}

/* AS type, before the ')'. A date is what the function "date" makes of the value: its name is as long as CAST. */
static void print_cast_type(struct printing *printing)
{
    struct firn_text type = peek(printing, 1)->text;
    struct parenthesis *open = &printing->open.items[printing->open.count - 1];
    printing->at += 2;
    if (firn_text_same_nocase(type, FIRN_TEXT("date"))) {
        if (printing->status == FIRN_OK)
            memcpy(printing->print->out->data + open->cast_at, "DATE", 4);
        return;
    }
    for (size_t i = 0; i < FIRN_COUNT_OF(types); i++)
        if (firn_text_same_nocase(type, firn_text_of(types[i].spark)))
            type = firn_text_of(types[i].sqlite);
    put(printing, FIRN_TEXT("AS "));
    put(printing, type);
}

static void print_open(struct printing *printing)
{
    struct parenthesis open = { .cast_at = SIZE_MAX };
    size_t len = printing->print->out->len;
    if (printing->at > 0 && firn_token_is_word(&printing->select->tokens.items[printing->at - 1], "cast"))
        open.cast_at = len - 4 - (peek(printing, 0)->at > printing->select->tokens.items[printing->at - 1].end);
    FIRN_PUSH(printing->op->arena, &printing->open, open);
    put(printing, FIRN_TEXT("("));
    printing->at++;
}

static void print_close(struct printing *printing)
{
    printing->open.count -= printing->open.count > 0;
    put(printing, FIRN_TEXT(")"));
    printing->at++;
}

/* Any token -------------------------------------------------------------------------------------------------------- */

/* current_timestamp, current_date, now(): the operation's clock. False for other names. */
static bool print_clock(struct printing *printing)
{
    const struct firn_token *token = peek(printing, 0);
    bool is_called = is_sign(peek(printing, 1), '(') && is_sign(peek(printing, 2), ')');
    bool is_now = is_called && firn_token_is_word(token, "now");
    bool is_date = firn_token_is_word(token, "current_date");
    if (!is_now && !is_date && !firn_token_is_word(token, "current_timestamp"))
        return false;
    put_quoted(printing, time_text(printing, firn_now_us(printing->op), is_date), '\'');
    printing->at += is_called ? 3 : 1;
    return true;
}

static firn_status print_name(struct printing *printing)
{
    const struct firn_token *token = peek(printing, 0), *after = peek(printing, 1);
    bool is_date = firn_token_is_word(token, "date"), is_timestamp = firn_token_is_word(token, "timestamp");
    if ((is_date || is_timestamp) && after->kind == FIRN_TOKEN_STRING)
        return print_time(printing, is_date);
    if (ends_cast(printing)) {
        print_cast_type(printing);
        return FIRN_OK;
    }
    if (token->kind == FIRN_TOKEN_QUOTED || is_sign(after, '.') || is_sign(after, '['))
        return print_chain(printing);
    if (print_clock(printing))
        return FIRN_OK;
    put(printing, firn_token_is_word(token, "div") ? FIRN_TEXT("/") : token->text);
    printing->at++;
    return FIRN_OK;
}

/* Spark divides whole numbers into fractions; SQLite does once one of them is real. */
static struct firn_text sign_text(const struct firn_token *token)
{
    if (is_sign(token, '/'))
        return FIRN_TEXT("*1.0/");
    if (firn_token_is_symbol(token, "<=>"))
        return FIRN_TEXT(" IS ");
    return token->text;
}

static firn_status print_token(struct printing *printing)
{
    const struct firn_select_references *references = &printing->select->references;
    const struct firn_token *token = peek(printing, 0);
    begin_token(printing);
    if (printing->reference < references->count && references->items[printing->reference].first == printing->at) {
        print_reference(printing);
        return FIRN_OK;
    }
    if (is_name(token))
        return print_name(printing);
    if (token->kind == FIRN_TOKEN_STRING)
        return print_string(printing);
    if (token->kind == FIRN_TOKEN_HEX)
        print_hex(printing);
    else if (is_sign(token, '('))
        print_open(printing);
    else if (is_sign(token, ')'))
        print_close(printing);
    else {
        put(printing, sign_text(token));
        printing->at++;
    }
    return FIRN_OK;
}

static firn_status print_once(struct firn_op *op, struct firn_select_text *select, struct firn_select_print *print)
{
    struct printing printing = { .op = op, .select = select, .print = print };
    firn_buffer_clear(print->out);
    print->origin_count = 0;
    while (peek(&printing, 0)->kind != FIRN_TOKEN_END)
        FIRN_TRY(print_token(&printing));
    FIRN_TRY(printing.status);
    return firn_buffer_append(op, print->out, "", 1);
}

/* The first time finds the paths that a table's query is to have. */
firn_status firn_select_text_print(struct firn_op *op, struct firn_select_text *select, struct firn_select_print *print)
{
    FIRN_TRY(print_once(op, select, print));
    return print_once(op, select, print);
}
