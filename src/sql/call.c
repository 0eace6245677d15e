/* CALL [catalog.]system.procedure(argument, ...): all arguments by name (name => value) or all by position.
 * Reference: procedures.md, 1. */
#include "sql/parser.h"

#include "base/time.h"
#include "table/expression.h"

/* A number and its sign. */
static firn_status parse_number(struct firn_sql_parser *parser, struct firn_sql_value *out)
{
    bool negative = firn_sql_take_symbol(parser, "-");
    if (firn_sql_peek(parser, 0)->kind != FIRN_TOKEN_NUMBER)
        return firn_sql_fail_expected(parser, "a number");
    const struct firn_token *token = firn_sql_take(parser);
    int64_t value;
    out->text = firn_text_format(parser->op->arena, "%s%.*s", negative ? "-" : "", FIRN_FMT(token->text));
    struct firn_text suffix =
        firn_text_from((struct firn_text){ parser->script.data + token->at, token->end - token->at }, token->text.len);
    bool is_integer = firn_text_to_i64(out->text, &value) &&
                      (suffix.len == 0 || firn_text_same_nocase(suffix, FIRN_TEXT("L")) ||
                       firn_text_same_nocase(suffix, FIRN_TEXT("S")) || firn_text_same_nocase(suffix, FIRN_TEXT("Y")));
    out->kind = is_integer ? FIRN_SQL_INTEGER : FIRN_SQL_DECIMAL;
    return FIRN_OK;
}

static firn_status fail_content(struct firn_sql_parser *parser, const struct firn_sql_value *value, const char *what)
{
    return firn_sql_fail(parser->op, FIRN_USAGE, value->place, "'%.*s' is no %s", FIRN_FMT(value->text), what);
}

/* DATE '...', TIMESTAMP '...': Spark's casts of text, in UTC where no zone is given. */
static firn_status parse_typed(struct firn_sql_parser *parser, struct firn_sql_value *out)
{
    struct firn_arena *arena = parser->op->arena;
    out->kind = firn_token_is_word(firn_sql_take(parser), "date") ? FIRN_SQL_DATE : FIRN_SQL_TIMESTAMP;
    FIRN_TRY(firn_sql_need_string(parser, "a text in quotes", &out->text));
    int64_t days, micros;
    int32_t nanos;
    if (out->kind == FIRN_SQL_DATE) {
        if (!firn_literal_date(firn_text_trim(out->text), &days))
            return fail_content(parser, out, "date");
        out->text = firn_date_text(arena, days);
        return FIRN_OK;
    }
    if (!firn_literal_timestamp(arena, firn_text_trim(out->text), &micros, &nanos))
        return fail_content(parser, out, "timestamp");
    out->text = firn_timestamp_text(arena, micros, FIRN_MICROS_PER_SECOND, ' ');
    return FIRN_OK;
}

static bool begins_typed(const struct firn_sql_parser *parser)
{
    static const char *const types[] = { "date", "timestamp", "timestamp_ntz", "timestamp_ltz" };
    if (firn_sql_peek(parser, 1)->kind != FIRN_TOKEN_STRING)
        return false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (firn_token_is_word(firn_sql_peek(parser, 0), types[i]))
            return true;
    return false;
}

/* true, false, null. */
static bool take_word_constant(struct firn_sql_parser *parser, struct firn_sql_value *out)
{
    static const struct {
        const char *word;
        enum firn_sql_value_kind kind;
    } words[] = { { "true", FIRN_SQL_BOOLEAN }, { "false", FIRN_SQL_BOOLEAN }, { "null", FIRN_SQL_NULL } };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (firn_sql_take_word(parser, words[i].word)) {
            out->kind = words[i].kind;
            out->text = firn_text_of(words[i].word);
            return true;
        }
    return false;
}

firn_status firn_sql_parse_constant(struct firn_sql_parser *parser, struct firn_sql_value *out)
{
    const struct firn_token *token = firn_sql_peek(parser, 0);
    *out = (struct firn_sql_value){ .kind = FIRN_SQL_STRING, .place = firn_sql_place_of(parser, token) };
    if (begins_typed(parser))
        return parse_typed(parser, out);
    if (token->kind == FIRN_TOKEN_NUMBER || firn_token_is_symbol(token, "-"))
        return parse_number(parser, out);
    if (take_word_constant(parser, out))
        return FIRN_OK;
    return firn_sql_need_string(parser,
                                "a value (a text in quotes, a number, true, false, null, DATE '...', "
                                "TIMESTAMP '...', map(...) or array(...))",
                                &out->text);
}

/* The items of map(...) or array(...), from its parenthesis. */
static firn_status parse_items(struct firn_sql_parser *parser, struct firn_sql_value *out)
{
    FIRN_TRY(firn_sql_need_symbol(parser, "("));
    if (firn_sql_take_symbol(parser, ")"))
        return FIRN_OK;
    do {
        struct firn_sql_value item;
        if (out->values.count == FIRN_SQL_ITEMS_MAX)
            return firn_sql_fail(parser->op, FIRN_LIMIT, out->place, "more than %d items", FIRN_SQL_ITEMS_MAX);
        FIRN_TRY(firn_sql_parse_constant(parser, &item));
        FIRN_PUSH(parser->op->arena, &out->values, item);
    } while (firn_sql_take_symbol(parser, ","));
    FIRN_TRY(firn_sql_need_symbol(parser, ")"));
    if (out->kind == FIRN_SQL_MAP && out->values.count % 2 != 0)
        return firn_sql_fail(parser->op, FIRN_USAGE, out->place, "map(...) has a key without a value");
    return FIRN_OK;
}

static firn_status parse_value(struct firn_sql_parser *parser, struct firn_sql_value *out)
{
    const struct firn_token *word = firn_sql_peek(parser, 0);
    bool is_map = firn_token_is_word(word, "map"), is_array = firn_token_is_word(word, "array");
    if ((!is_map && !is_array) || !firn_token_is_symbol(firn_sql_peek(parser, 1), "("))
        return firn_sql_parse_constant(parser, out);
    *out = (struct firn_sql_value){ .kind = is_map ? FIRN_SQL_MAP : FIRN_SQL_ARRAY,
                                    .place = firn_sql_place_of(parser, firn_sql_take(parser)) };
    return parse_items(parser, out);
}

static firn_status parse_argument(struct firn_sql_parser *parser, struct firn_sql_argument *out)
{
    *out = (struct firn_sql_argument){ .place = firn_sql_place_of(parser, firn_sql_peek(parser, 0)) };
    if (firn_token_is_symbol(firn_sql_peek(parser, 1), "=>")) {
        FIRN_TRY(firn_sql_need_identifier(parser, "an argument's name", &out->name));
        FIRN_TRY(firn_sql_need_symbol(parser, "=>"));
    }
    return parse_value(parser, &out->value);
}

static firn_status add_argument(struct firn_sql_parser *parser, struct firn_sql_arguments *out)
{
    struct firn_sql_argument argument;
    FIRN_TRY(parse_argument(parser, &argument));
    if (out->count > 0 && (out->items[0].name.len > 0) != (argument.name.len > 0))
        return firn_sql_fail(parser->op, FIRN_USAGE, argument.place,
                             "arguments by name and by position cannot be mixed");
    if (out->count == FIRN_SQL_ITEMS_MAX)
        return firn_sql_fail(parser->op, FIRN_LIMIT, argument.place, "more than %d arguments", FIRN_SQL_ITEMS_MAX);
    FIRN_PUSH(parser->op->arena, out, argument);
    return FIRN_OK;
}

firn_status firn_sql_parse_call(struct firn_sql_parser *parser, struct firn_sql_call *out)
{
    FIRN_TRY(firn_sql_need_name(parser, "the procedure's name", &out->procedure));
    FIRN_TRY(firn_sql_need_symbol(parser, "("));
    if (!firn_sql_take_symbol(parser, ")")) {
        do
            FIRN_TRY(add_argument(parser, &out->arguments));
        while (firn_sql_take_symbol(parser, ","));
        FIRN_TRY(firn_sql_need_symbol(parser, ")"));
    }
    return firn_sql_need_end(parser);
}
