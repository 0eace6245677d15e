/* Taking tokens, and the parts of statements that several grammars have. */
#include "sql/parser.h"

#include "base/math.h"

struct firn_sql_place firn_sql_place_at(struct firn_sql_parser *parser, size_t at)
{
    struct firn_sql_place place = parser->known_place;
    size_t from = parser->known_at;
    if (at < from) { /* only faults look back */
        place = (struct firn_sql_place){ 1, 1 };
        from = 0;
    }
    for (size_t i = from; i < at; i++) {
        bool is_line_end = parser->script.data[i] == '\n';
        place.line += is_line_end;
        place.column = is_line_end ? 1 : place.column + (((unsigned char)parser->script.data[i] & 0xc0) != 0x80);
    }
    parser->known_at = at;
    parser->known_place = place;
    return place;
}

struct firn_sql_place firn_sql_place_of(struct firn_sql_parser *parser, const struct firn_token *token)
{
    return firn_sql_place_at(parser, token->at);
}

firn_status firn_sql_fail(struct firn_op *op, firn_status status, struct firn_sql_place place, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct firn_text message = firn_text_vformat(op->arena, format, args);
    va_end(args);
    return firn_fail(op, status, "line %u, column %u: %.*s", place.line, place.column, FIRN_FMT(message));
}

const struct firn_token *firn_sql_peek(const struct firn_sql_parser *parser, size_t ahead)
{
    return &parser->tokens.items[FIRN_MIN(parser->next + ahead, parser->tokens.count - 1)];
}

const struct firn_token *firn_sql_take(struct firn_sql_parser *parser)
{
    const struct firn_token *token = firn_sql_peek(parser, 0);
    parser->next += token->kind != FIRN_TOKEN_END;
    return token;
}

bool firn_sql_take_word(struct firn_sql_parser *parser, const char *word)
{
    bool found = firn_token_is_word(firn_sql_peek(parser, 0), word);
    parser->next += found;
    return found;
}

bool firn_sql_take_symbol(struct firn_sql_parser *parser, const char *symbol)
{
    bool found = firn_token_is_symbol(firn_sql_peek(parser, 0), symbol);
    parser->next += found;
    return found;
}

static bool is_name(const struct firn_token *token, struct firn_text word)
{
    return token->kind == FIRN_TOKEN_NAME && firn_text_same_nocase(token->text, word);
}

bool firn_sql_take_words(struct firn_sql_parser *parser, const char *words)
{
    struct firn_text rest = firn_text_of(words);
    size_t count = 0;
    while (rest.len > 0) {
        ptrdiff_t blank = firn_text_find(rest, ' ');
        struct firn_text word = blank < 0 ? rest : firn_text_until(rest, (size_t)blank);
        if (!is_name(firn_sql_peek(parser, count++), word))
            return false;
        rest = firn_text_from(rest, blank < 0 ? rest.len : (size_t)blank + 1);
    }
    parser->next += count;
    return true;
}

firn_status firn_sql_fail_expected(struct firn_sql_parser *parser, const char *what)
{
    const struct firn_token *token = firn_sql_peek(parser, 0);
    struct firn_sql_place place = firn_sql_place_of(parser, token);
    if (token->kind == FIRN_TOKEN_END)
        return firn_sql_fail(parser->op, FIRN_USAGE, place, "the statement ends where %s is expected", what);
    struct firn_text written = { parser->script.data + token->at, token->end - token->at };
    return firn_sql_fail(parser->op, FIRN_USAGE, place, "%.*s stands where %s is expected", FIRN_FMT(written), what);
}

firn_status firn_sql_need_words(struct firn_sql_parser *parser, const char *words)
{
    return firn_sql_take_words(parser, words) ? FIRN_OK : firn_sql_fail_expected(parser, words);
}

firn_status firn_sql_need_symbol(struct firn_sql_parser *parser, const char *symbol)
{
    if (firn_sql_take_symbol(parser, symbol))
        return FIRN_OK;
    return firn_sql_fail_expected(parser, firn_text_format(parser->op->arena, "'%s'", symbol).data);
}

firn_status firn_sql_need_end(struct firn_sql_parser *parser)
{
    if (firn_sql_peek(parser, 0)->kind == FIRN_TOKEN_END)
        return FIRN_OK;
    return firn_sql_fail_expected(parser, "the end of the statement, or ';',");
}

firn_status firn_sql_need_identifier(struct firn_sql_parser *parser, const char *what, struct firn_text *out)
{
    const struct firn_token *token = firn_sql_peek(parser, 0);
    bool is_quoted = token->kind == FIRN_TOKEN_QUOTED;
    if (!is_quoted && token->kind != FIRN_TOKEN_NAME)
        return firn_sql_fail_expected(parser, what);
    if (token->text.len == 0)
        return firn_sql_fail(parser->op, FIRN_USAGE, firn_sql_place_of(parser, token), "%s is empty", what);
    *out = firn_sql_take(parser)->text;
    return FIRN_OK;
}

firn_status firn_sql_need_name(struct firn_sql_parser *parser, const char *what, struct firn_sql_name *out)
{
    *out = (struct firn_sql_name){ .place = firn_sql_place_of(parser, firn_sql_peek(parser, 0)) };
    do {
        struct firn_text part;
        if (out->count == FIRN_SQL_PARTS_MAX)
            return firn_sql_fail(parser->op, FIRN_LIMIT, out->place, "%s has more than %d parts", what,
                                 FIRN_SQL_PARTS_MAX);
        FIRN_TRY(firn_sql_need_identifier(parser, what, &part));
        FIRN_PUSH(parser->op->arena, out, part);
    } while (firn_sql_take_symbol(parser, "."));
    return FIRN_OK;
}

firn_status firn_sql_need_count(struct firn_sql_parser *parser, const char *what, struct firn_text *out)
{
    const struct firn_token *token = firn_sql_peek(parser, 0);
    int64_t value;
    if (token->kind != FIRN_TOKEN_NUMBER || token->has_suffix || !firn_text_to_i64(token->text, &value) || value < 1)
        return firn_sql_fail_expected(parser, what);
    *out = firn_sql_take(parser)->text;
    return FIRN_OK;
}

firn_status firn_sql_need_string(struct firn_sql_parser *parser, const char *what, struct firn_text *out)
{
    if (firn_sql_peek(parser, 0)->kind != FIRN_TOKEN_STRING)
        return firn_sql_fail_expected(parser, what);
    size_t len = 0, count = 0;
    while (firn_sql_peek(parser, count)->kind == FIRN_TOKEN_STRING)
        len += firn_sql_peek(parser, count++)->text.len;
    char *joined = firn_arena_alloc(parser->op->arena, len + 1), *at = joined;
    for (size_t i = 0; i < count; i++) {
        struct firn_text part = firn_sql_take(parser)->text;
        memcpy(at, part.data, part.len);
        at += part.len;
    }
    *out = (struct firn_text){ joined, len };
    return FIRN_OK;
}
