/* A script, one statement after the other. */
#include "sql/parser.h"

/* What firn does not run is told from what nobody could: these are words of Spark's statements. */
static const char RUNS[] =
    "firn sql runs CALL, ALTER TABLE (branches, tags, TBLPROPERTIES, WRITE ORDERED BY) and SELECT";

/* The next token; a fault gets its place. */
static firn_status next_token(struct firn_sql_parser *parser, struct firn_lexer *lexer, struct firn_token *out)
{
    firn_status status = firn_token_next(lexer, out);
    if (status == FIRN_OK)
        return FIRN_OK;
    struct firn_sql_place place = firn_sql_place_at(parser, lexer->at);
    return firn_context(parser->op, status, "line %u, column %u", place.line, place.column);
}

/* The tokens up to ';' or the end of the script; empty statements before are passed over. */
static firn_status cut(struct firn_sql_parser *parser, size_t *at)
{
    struct firn_lexer lexer = { .op = parser->op, .text = parser->script, .at = *at };
    struct firn_token token;
    do {
        FIRN_TRY(next_token(parser, &lexer, &token));
        bool is_separator = firn_token_is_symbol(&token, ";");
        if (is_separator && parser->tokens.count == 0)
            continue;
        if (is_separator)
            token.kind = FIRN_TOKEN_END;
        FIRN_PUSH(parser->op->arena, &parser->tokens, token);
    } while (token.kind != FIRN_TOKEN_END);
    *at = lexer.at;
    return FIRN_OK;
}

static firn_status fail_other_statement(struct firn_sql_parser *parser)
{
    const struct firn_token *first = firn_sql_peek(parser, 0);
    if (first->kind != FIRN_TOKEN_NAME)
        return firn_sql_fail_expected(parser, "a statement");
    firn_status status = firn_sql_fail(parser->op, FIRN_UNSUPPORTED, firn_sql_place_of(parser, first),
                                       "statements that begin with %.*s are not supported", FIRN_FMT(first->text));
    return firn_hint(parser->op, status, "%s", RUNS);
}

static firn_status parse_statement(struct firn_sql_parser *parser, struct firn_sql_statement *out)
{
    static const char *const reads[] = { "select", "with", "values" };
    for (size_t i = 0; i < sizeof reads / sizeof *reads; i++)
        if (firn_token_is_word(firn_sql_peek(parser, 0), reads[i])) {
            out->kind = FIRN_SQL_SELECT;
            return FIRN_OK;
        }
    if (firn_sql_take_word(parser, "call")) {
        out->kind = FIRN_SQL_CALL;
        return firn_sql_parse_call(parser, &out->call);
    }
    if (!firn_sql_take_words(parser, "alter table"))
        return fail_other_statement(parser);
    FIRN_TRY(firn_sql_need_name(parser, "the table's name", &out->table));
    return firn_sql_parse_alter(parser, out);
}

firn_status firn_sql_next(struct firn_op *op, struct firn_sql_script *script, const struct firn_sql_statement **out)
{
    struct firn_sql_parser parser = { op, script->text, script->at, script->place, { 0 }, 0 };
    *out = NULL;
    if (script->text.len > FIRN_SQL_BYTES_MAX)
        return firn_fail(op, FIRN_LIMIT, "the script has %zu bytes, more than %d", script->text.len,
                         FIRN_SQL_BYTES_MAX);
    FIRN_TRY(cut(&parser, &script->at));
    if (parser.tokens.count == 1)
        return FIRN_OK;
    const struct firn_token *first = parser.tokens.items, *last = first + parser.tokens.count - 2;
    struct firn_sql_statement *statement = FIRN_NEW(op->arena, struct firn_sql_statement);
    statement->place = firn_sql_place_of(&parser, first);
    statement->text = (struct firn_text){ script->text.data + first->at, last->end - first->at };
    FIRN_TRY(parse_statement(&parser, statement));
    script->place = firn_sql_place_at(&parser, script->at);
    *out = statement;
    return FIRN_OK;
}

bool firn_sql_is_complete(struct firn_op *op, struct firn_text script)
{
    struct firn_lexer lexer = { .op = op, .text = script };
    struct firn_token token = { 0 };
    bool is_begun = false;
    do {
        if (token.kind != FIRN_TOKEN_END)
            is_begun = !firn_token_is_symbol(&token, ";");
        if (firn_token_next(&lexer, &token) != FIRN_OK)
            return !lexer.is_cut;
    } while (token.kind != FIRN_TOKEN_END);
    return !is_begun;
}

firn_status firn_sql_name_parse(struct firn_op *op, struct firn_text text, struct firn_sql_name *out)
{
    struct firn_sql_parser parser = { .op = op, .script = text, .known_place = { 1, 1 } };
    size_t at = 0;
    FIRN_TRY(cut(&parser, &at));
    FIRN_TRY(firn_sql_need_name(&parser, "a name", out));
    FIRN_TRY(firn_sql_need_end(&parser));
    bool is_all = firn_sql_peek(&parser, 0)->at == text.len;
    return is_all ? FIRN_OK : firn_fail(op, FIRN_USAGE, "';' stands in a name");
}
