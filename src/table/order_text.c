/* order: term [, term]..., or the same in parentheses.
 * term:  column | transform(argument, ...)  [ASC | DESC] [NULLS FIRST | NULLS LAST]
 * Reference: procedures.md, 2.3. */
#include "table/order_text.h"

#include "table/token.h"

enum { ITEMS_MAX = 1000 };

struct reader {
    struct firn_lexer lexer;
    struct firn_token token; /* the one that comes next */
    size_t end;              /* of the last one taken */
};

static firn_status advance(struct reader *reader)
{
    reader->end = reader->token.end;
    return firn_token_next(&reader->lexer, &reader->token);
}

static firn_status fail_at(struct reader *reader, size_t at, firn_status status, const char *message)
{
    reader->lexer.at = at;
    return firn_fail(reader->lexer.op, status, "%s", message);
}

static firn_status fail_expected(struct reader *reader, const char *what)
{
    const struct firn_token *token = &reader->token;
    struct firn_text written = { reader->lexer.text.data + token->at, token->end - token->at };
    reader->lexer.at = token->at;
    if (token->kind == FIRN_TOKEN_END)
        return firn_fail(reader->lexer.op, FIRN_USAGE, "the order ends where %s is expected", what);
    return firn_fail(reader->lexer.op, FIRN_USAGE, "%.*s stands where %s is expected", FIRN_FMT(written), what);
}

static firn_status take_word(struct reader *reader, const char *word, bool *taken)
{
    *taken = firn_token_is_word(&reader->token, word);
    return *taken ? advance(reader) : FIRN_OK;
}

static firn_status take_symbol(struct reader *reader, const char *symbol, bool *taken)
{
    *taken = firn_token_is_symbol(&reader->token, symbol);
    return *taken ? advance(reader) : FIRN_OK;
}

static firn_status need_close(struct reader *reader)
{
    bool taken;
    FIRN_TRY(take_symbol(reader, ")", &taken));
    return taken ? FIRN_OK : fail_expected(reader, "')'");
}

/* A dotted name; `is_word` when it is one plain word, which may be a transform's. */
static firn_status take_column(struct reader *reader, struct firn_text *out, bool *is_word)
{
    struct firn_arena *arena = reader->lexer.op->arena;
    bool dot;
    *out = FIRN_TEXT("");
    *is_word = reader->token.kind == FIRN_TOKEN_NAME;
    do {
        if (reader->token.kind != FIRN_TOKEN_NAME && reader->token.kind != FIRN_TOKEN_QUOTED)
            return fail_expected(reader, "a column");
        *out = out->len ? firn_text_format(arena, "%.*s.%.*s", FIRN_FMT(*out), FIRN_FMT(reader->token.text))
                        : reader->token.text;
        FIRN_TRY(advance(reader));
        FIRN_TRY(take_symbol(reader, ".", &dot));
        *is_word = *is_word && !dot;
        if (out->len > FIRN_ERROR_TEXT_MAX)
            return fail_at(reader, reader->token.at, FIRN_LIMIT, "a column's name is too long");
    } while (dot);
    return FIRN_OK;
}

static firn_status add_column(struct reader *reader, struct firn_order_term *term, struct firn_text column)
{
    if (term->column_count == ITEMS_MAX)
        return fail_at(reader, term->at, FIRN_LIMIT, "a transform has more than 1000 columns");
    if (term->column_count == term->column_capacity)
        term->columns = firn_array_grow(reader->lexer.op->arena, term->columns, term->column_count,
                                        &term->column_capacity, sizeof *term->columns);
    term->columns[term->column_count++] = column;
    return FIRN_OK;
}

static firn_status take_transform_argument(struct reader *reader, struct firn_order_term *term)
{
    struct firn_text column;
    bool is_word;
    if (reader->token.kind != FIRN_TOKEN_NUMBER) {
        FIRN_TRY(take_column(reader, &column, &is_word));
        return add_column(reader, term, column);
    }
    if (term->width >= 0 || !firn_text_to_i64(reader->token.text, &term->width))
        return fail_expected(reader, "a column");
    return advance(reader);
}

static firn_status take_transform(struct reader *reader, struct firn_order_term *term)
{
    bool comma;
    do {
        FIRN_TRY(take_transform_argument(reader, term));
        FIRN_TRY(take_symbol(reader, ",", &comma));
    } while (comma);
    return need_close(reader);
}

static firn_status take_direction(struct reader *reader, struct firn_order_term *term)
{
    bool taken, first = false;
    FIRN_TRY(take_word(reader, "asc", &taken));
    if (!taken)
        FIRN_TRY(take_word(reader, "desc", &term->descending));
    term->nulls_last = term->descending;
    FIRN_TRY(take_word(reader, "nulls", &taken));
    if (!taken)
        return FIRN_OK;
    FIRN_TRY(take_word(reader, "first", &first));
    FIRN_TRY(take_word(reader, "last", &term->nulls_last));
    return first || term->nulls_last ? FIRN_OK : fail_expected(reader, "FIRST or LAST");
}

static firn_status take_term(struct reader *reader, struct firn_order_term *term)
{
    struct firn_text name;
    bool is_word, opens = false;
    *term = (struct firn_order_term){ .at = reader->token.at, .transform = FIRN_TEXT("identity"), .width = -1 };
    FIRN_TRY(take_column(reader, &name, &is_word));
    if (is_word)
        FIRN_TRY(take_symbol(reader, "(", &opens));
    if (opens) {
        term->transform = firn_text_lower(reader->lexer.op->arena, name);
        FIRN_TRY(take_transform(reader, term));
    } else {
        FIRN_TRY(add_column(reader, term, name));
    }
    return take_direction(reader, term);
}

static firn_status take_terms(struct reader *reader, struct firn_order_terms *out)
{
    bool opens, comma;
    FIRN_TRY(firn_token_next(&reader->lexer, &reader->token));
    FIRN_TRY(take_symbol(reader, "(", &opens));
    do {
        struct firn_order_term term;
        FIRN_TRY(take_term(reader, &term));
        if (out->count == ITEMS_MAX)
            return fail_at(reader, term.at, FIRN_LIMIT, "an order has more than 1000 terms");
        FIRN_PUSH(reader->lexer.op->arena, out, term);
        FIRN_TRY(take_symbol(reader, ",", &comma));
    } while (comma);
    return opens ? need_close(reader) : FIRN_OK;
}

/* `*at`: where they end, or where the fault is; `reader->token` is what follows. */
static firn_status read_order(struct reader *reader, size_t *at, struct firn_order_terms *out)
{
    *out = (struct firn_order_terms){ 0 };
    firn_status status = take_terms(reader, out);
    *at = status == FIRN_OK ? reader->end : reader->lexer.at;
    return status;
}

firn_status firn_order_parse(struct firn_op *op, struct firn_text text, size_t *at, struct firn_order_terms *out)
{
    struct reader reader = { .lexer = { .op = op, .text = text, .at = *at } };
    return read_order(&reader, at, out);
}

firn_status firn_order_parse_all(struct firn_op *op, struct firn_text text, struct firn_order_terms *out)
{
    struct reader reader = { .lexer = { .op = op, .text = text } };
    size_t at;
    firn_status status = read_order(&reader, &at, out);
    if (status == FIRN_OK && reader.token.kind != FIRN_TOKEN_END) {
        status = fail_expected(&reader, "',' or the end of the order");
        at = reader.lexer.at;
    }
    return firn_context(op, status, "order, character %zu", at + 1);
}
