/* Finding the tables that a SELECT names. */
#include "sql/select_text.h"

#include "base/math.h"
#include "sql/parser.h"

enum { PARENTHESES_MAX = 200, PARTS_MAX = 32 };

firn_status firn_select_fail(struct firn_op *op, firn_status status, struct firn_select_text *text, size_t at,
                             const char *format, ...)
{
    struct firn_sql_parser place = { .op = op, .script = text->text, .known_place = text->place };
    va_list args;
    va_start(args, format);
    struct firn_text message = firn_text_vformat(op->arena, format, args);
    va_end(args);
    text->has_failed = true;
    return firn_sql_fail(op, status, firn_sql_place_at(&place, FIRN_MIN(at, text->text.len)), "%.*s",
                         FIRN_FMT(message));
}

/* Tokens ----------------------------------------------------------------------------------------------------------- */

static firn_status read_tokens(struct firn_op *op, struct firn_select_text *select)
{
    struct firn_lexer lexer = { .op = op, .text = select->text };
    struct firn_token token;
    do {
        firn_status status = firn_token_next(&lexer, &token);
        if (status != FIRN_OK) {
            struct firn_text why = firn_text_copy(op->arena, firn_text_of(op->error.text));
            return firn_select_fail(op, status, select, lexer.at, "%.*s", FIRN_FMT(why));
        }
        FIRN_PUSH(op->arena, &select->tokens, token);
    } while (token.kind != FIRN_TOKEN_END);
    return FIRN_OK;
}

/* One statement: a ';' may only end it. */
static firn_status drop_semicolons(struct firn_op *op, struct firn_select_text *select)
{
    struct firn_tokens *tokens = &select->tokens;
    struct firn_token end = tokens->items[tokens->count - 1];
    while (tokens->count > 1 && firn_token_is_symbol(&tokens->items[tokens->count - 2], ";"))
        tokens->items[--tokens->count - 1] = end;
    for (size_t i = 0; i < tokens->count; i++)
        if (firn_token_is_symbol(&tokens->items[i], ";"))
            return firn_select_fail(op, FIRN_USAGE, select, tokens->items[i].at,
                                    "one statement is wanted, and another one follows");
    return FIRN_OK;
}

/* References ------------------------------------------------------------------------------------------------------- */

struct walk {
    struct firn_op *op;
    struct firn_select_text *select;
    size_t at;
    struct from {
        bool lists_tables;      /* within FROM, where a ',' is followed by a table */
        size_t first_reference; /* of the newest FROM */
        unsigned table_count;
    } froms[PARENTHESES_MAX + 1]; /* by depth */
    unsigned depth;
};

static const struct firn_token *token_at(const struct walk *walk, size_t index)
{
    const struct firn_tokens *tokens = &walk->select->tokens;
    return &tokens->items[FIRN_MIN(index, tokens->count - 1)];
}

static bool is_name(const struct firn_token *token)
{
    return token->kind == FIRN_TOKEN_NAME || token->kind == FIRN_TOKEN_QUOTED;
}

static bool is_among(const struct firn_token *token, const char *const *words)
{
    for (; *words; words++)
        if (firn_token_is_word(token, *words))
            return true;
    return false;
}

/* Words that end a list of tables. */
static const char *const clause_words[] = { "where",  "group", "order",     "having", "limit",  "offset", "union",
                                            "except", "minus", "intersect", "window", "select", NULL };
/* Words after a table's name that are no alias, beside those. */
static const char *const join_words[] = { "join",    "left",    "right",   "full",        "inner",     "cross",
                                          "natural", "outer",   "on",      "using",       "anti",      "semi",
                                          "for",     "version", "lateral", "tablesample", "timestamp", NULL };

static bool is_alias(const struct firn_token *token)
{
    return is_name(token) &&
           (token->kind == FIRN_TOKEN_QUOTED || (!is_among(token, clause_words) && !is_among(token, join_words)));
}

/* [FOR] VERSION | TIMESTAMP AS OF what. */
static firn_status take_version(struct walk *walk, struct firn_select_reference *reference)
{
    size_t at = walk->at;
    at += firn_token_is_word(token_at(walk, at), "for");
    const struct firn_token *word = token_at(walk, at);
    bool is_time = firn_token_is_word(word, "timestamp") || firn_token_is_word(word, "system_time");
    if (!is_time && !firn_token_is_word(word, "version") && !firn_token_is_word(word, "system_version"))
        return FIRN_OK;
    if (!firn_token_is_word(token_at(walk, at + 1), "as") || !firn_token_is_word(token_at(walk, at + 2), "of"))
        return FIRN_OK;
    at += 3;
    at += firn_token_is_word(token_at(walk, at), "timestamp");
    const struct firn_token *value = token_at(walk, at);
    if (value->kind != FIRN_TOKEN_STRING && value->kind != FIRN_TOKEN_NUMBER)
        return firn_select_fail(walk->op, FIRN_USAGE, walk->select, value->at,
                                "AS OF is followed by a snapshot's id, the name of a branch or tag, or a time");
    reference->version_kind = is_time ? FIRN_VERSION_TIMESTAMP : FIRN_VERSION_SNAPSHOT;
    reference->version = value->text;
    walk->at = at + 1;
    return FIRN_OK;
}

static void take_alias(struct walk *walk, struct firn_select_reference *reference)
{
    size_t at = walk->at + firn_token_is_word(token_at(walk, walk->at), "as");
    reference->alias = reference->parts[reference->part_count - 1];
    reference->has_alias = at > walk->at || is_alias(token_at(walk, at));
    if (reference->has_alias)
        reference->alias = token_at(walk, at)->text;
}

/* A name of several parts is a metadata table; one of a single part is a query of WITH, or unknown. */
static firn_status take_table(struct walk *walk)
{
    struct firn_select_reference reference = { .first = walk->at, .depth = walk->depth };
    size_t count = 0;
    while (is_name(token_at(walk, walk->at + 2 * count)) &&
           (count == 0 || firn_token_is_symbol(token_at(walk, walk->at + 2 * count - 1), ".")))
        count++;
    if (count < 2)
        return FIRN_OK;
    if (count > PARTS_MAX)
        return firn_select_fail(walk->op, FIRN_LIMIT, walk->select, token_at(walk, walk->at)->at,
                                "the table's name has more than %d parts", PARTS_MAX);
    reference.parts = FIRN_NEW_ARRAY(walk->op->arena, struct firn_text, count);
    reference.part_count = count;
    for (size_t i = 0; i < count; i++)
        reference.parts[i] = token_at(walk, walk->at + 2 * i)->text;
    walk->at += 2 * count - 1;
    FIRN_TRY(take_version(walk, &reference));
    reference.end = walk->at;
    take_alias(walk, &reference);
    FIRN_PUSH(walk->op->arena, &walk->select->references, reference);
    return FIRN_OK;
}

static firn_status walk_deeper(struct walk *walk, const struct firn_token *token)
{
    if (walk->depth == PARENTHESES_MAX)
        return firn_select_fail(walk->op, FIRN_LIMIT, walk->select, token->at,
                                "more than %d parentheses within each other", PARENTHESES_MAX);
    walk->froms[++walk->depth] = (struct from){ 0 };
    return FIRN_OK;
}

/* Tables of one FROM are joined, where they are more than one. */
static void mark_joined(struct walk *walk, const struct from *from)
{
    struct firn_select_references *references = &walk->select->references;
    for (size_t i = from->first_reference; i < references->count; i++)
        if (references->items[i].depth == walk->depth && from->table_count > 1)
            references->items[i].is_joined = true;
}

static firn_status walk_table(struct walk *walk, struct from *from, bool is_first)
{
    if (is_first)
        *from = (struct from){ .first_reference = walk->select->references.count };
    from->lists_tables = true;
    from->table_count++;
    if (firn_token_is_symbol(token_at(walk, walk->at), "("))
        walk->select->has_derived = true;
    FIRN_TRY(take_table(walk));
    mark_joined(walk, from);
    return FIRN_OK;
}

static firn_status walk_token(struct walk *walk)
{
    const struct firn_token *token = token_at(walk, walk->at++);
    struct from *from = &walk->froms[walk->depth];
    bool is_from = firn_token_is_word(token, "from");
    bool wants_table =
        is_from || firn_token_is_word(token, "join") || (from->lists_tables && firn_token_is_symbol(token, ","));
    if (firn_token_is_symbol(token, "("))
        return walk_deeper(walk, token);
    if (firn_token_is_symbol(token, ")") && walk->depth > 0)
        walk->depth--;
    if (firn_token_is_word(token, "with"))
        walk->select->has_derived = true;
    if (is_among(token, clause_words))
        from->lists_tables = false;
    return wants_table ? walk_table(walk, from, is_from) : FIRN_OK;
}

firn_status firn_select_text_parse(struct firn_op *op, struct firn_text text, struct firn_sql_place place,
                                   struct firn_select_text *out)
{
    struct walk walk = { .op = op, .select = out };
    *out = (struct firn_select_text){ .text = text, .place = place };
    if (text.len > FIRN_SELECT_BYTES_MAX)
        return firn_fail(op, FIRN_LIMIT, "a statement of %zu bytes, and %d is the most", text.len,
                         FIRN_SELECT_BYTES_MAX);
    FIRN_TRY(read_tokens(op, out));
    FIRN_TRY(drop_semicolons(op, out));
    while (token_at(&walk, walk.at)->kind != FIRN_TOKEN_END)
        FIRN_TRY(walk_token(&walk));
    return FIRN_OK;
}
