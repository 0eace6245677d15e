/* Conditions that only reading rows can judge, for those who explain predicates: how far one reaches, what it says.
 * Nothing is bound: of a function's arguments all that matters is which column they name. */
#include "table/expression_internal.h"

#include "base/math.h"

bool firn_predicate_is_reserved(const struct firn_token *token)
{
    static const char *const words[] = { "and", "or", "not", "in", "is", "like", "between", "null", "true", "false" };
    for (size_t i = 0; i < FIRN_COUNT_OF(words); i++)
        if (firn_token_is_word(token, words[i]))
            return true;
    return false;
}

bool firn_predicate_is_comparison(const struct firn_token *token, enum firn_predicate_op *out)
{
    static const struct {
        const char *symbol;
        enum firn_predicate_op op;
    } rows[] = {
        { "=", FIRN_PRED_EQ }, { "==", FIRN_PRED_EQ },    { "<>", FIRN_PRED_NOT_EQ }, { "!=", FIRN_PRED_NOT_EQ },
        { "<", FIRN_PRED_LT }, { "<=", FIRN_PRED_LT_EQ }, { ">", FIRN_PRED_GT },      { ">=", FIRN_PRED_GT_EQ },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(rows); i++)
        if (firn_token_is_symbol(token, rows[i].symbol)) {
            *out = rows[i].op;
            return true;
        }
    return false;
}

bool firn_predicate_is_typed(const struct firn_token *word, const struct firn_token *content)
{
    return content->kind == FIRN_TOKEN_STRING &&
           (firn_token_is_word(word, "date") || firn_token_is_word(word, "timestamp") ||
            firn_token_is_word(word, "timestamp_ntz") || firn_token_is_word(word, "timestamp_ltz"));
}

static bool is_open(const struct firn_token *token)
{
    return firn_token_is_symbol(token, "(");
}

static bool is_close(const struct firn_token *token)
{
    return firn_token_is_symbol(token, ")");
}

size_t firn_condition_length(const struct firn_tokens *tokens, size_t first)
{
    size_t depth = 0, i;
    bool in_between = false;
    for (i = first; tokens->items[i].kind != FIRN_TOKEN_END; i++) {
        const struct firn_token *token = &tokens->items[i];
        bool is_and = depth == 0 && firn_token_is_word(token, "and");
        if ((is_and && !in_between) || (depth == 0 && (is_close(token) || firn_token_is_word(token, "or"))))
            break;
        in_between = (in_between && !is_and) || (depth == 0 && firn_token_is_word(token, "between"));
        depth += is_open(token);
        depth -= is_close(token);
    }
    return i - first;
}

const struct firn_field *firn_predicate_find_child(const struct firn_type *type, struct firn_text name)
{
    const struct firn_field *similar = NULL;
    for (uint32_t i = 0; type->id == FIRN_TYPE_STRUCT && i < type->field_count; i++) {
        if (firn_text_same(type->fields[i].name, name))
            return &type->fields[i];
        if (!similar && firn_text_same_nocase(type->fields[i].name, name))
            similar = &type->fields[i];
    }
    return similar;
}

static bool is_name(const struct firn_token *token)
{
    return token->kind == FIRN_TOKEN_NAME || token->kind == FIRN_TOKEN_QUOTED;
}

static bool is_literal(const struct firn_token *token)
{
    return token->kind == FIRN_TOKEN_STRING || token->kind == FIRN_TOKEN_NUMBER;
}

/* The column that begins at a token, with its nested names; NULL: none. `*length` tokens are its name. */
static const struct firn_field *column_at(const struct firn_schema *schema, const struct firn_token *tokens,
                                          size_t count, size_t *length)
{
    const struct firn_type *type = &schema->root;
    const struct firn_field *field = NULL;
    if (firn_predicate_is_reserved(&tokens[0]) || (count > 1 && firn_predicate_is_typed(&tokens[0], &tokens[1])))
        return NULL;
    for (size_t i = 0; i < count && is_name(&tokens[i]); i += 2) {
        const struct firn_field *child = firn_predicate_find_child(type, tokens[i].text);
        if (!child)
            break;
        field = child;
        type = &child->type;
        *length = i + 1;
        if (i + 1 == count || !firn_token_is_symbol(&tokens[i + 1], "."))
            break;
    }
    return field;
}

static bool is_function(const struct firn_token *tokens, size_t count, size_t at)
{
    return tokens[at].kind == FIRN_TOKEN_NAME && at + 1 < count && is_open(&tokens[at + 1]) &&
           !firn_predicate_is_reserved(&tokens[at]);
}

/* A sign between two operands; one before a number is part of the number. */
static bool is_arithmetic(const struct firn_token *tokens, size_t at)
{
    const struct firn_token *token = &tokens[at], *before = at > 0 ? &tokens[at - 1] : NULL;
    bool is_sign = firn_token_is_symbol(token, "+") || firn_token_is_symbol(token, "-");
    return token->kind == FIRN_TOKEN_FOREIGN ||
           (is_sign && before && (is_name(before) || is_literal(before) || is_close(before)));
}

static bool is_pattern(struct firn_arena *arena, const struct firn_token *tokens, size_t count, size_t at)
{
    return firn_token_is_word(&tokens[at], "like") && at + 1 < count && tokens[at + 1].kind == FIRN_TOKEN_STRING &&
           !firn_predicate_is_prefix(arena, tokens[at + 1].text);
}

bool firn_condition_is_opaque(struct firn_arena *arena, const struct firn_schema *schema,
                              const struct firn_token *tokens, size_t count)
{
    size_t columns = 0;
    for (size_t i = 0; i < count; i++) {
        size_t length = 1;
        if (is_function(tokens, count, i) || is_arithmetic(tokens, i) || is_pattern(arena, tokens, count, i))
            return true;
        columns += column_at(schema, &tokens[i], count - i, &length) != NULL;
        i += length - 1;
    }
    return columns > 1;
}

static const struct firn_field *first_column(const struct firn_schema *schema, const struct firn_token *tokens,
                                             size_t count)
{
    const struct firn_field *field = NULL;
    size_t length;
    for (size_t i = 0; i < count && !field; i++)
        if (!is_function(tokens, count, i))
            field = column_at(schema, &tokens[i], count - i, &length);
    return field;
}

/* How many tokens a call takes that begins with its name; 0: it is not closed. */
static size_t call_length(const struct firn_token *tokens, size_t count)
{
    size_t depth = 0;
    for (size_t i = 1; i < count; i++) {
        depth += is_open(&tokens[i]);
        depth -= is_close(&tokens[i]);
        if (depth == 0)
            return i + 1;
    }
    return 0;
}

/* One that bounds a function's result: "<>" says too little. */
static bool is_comparison(const struct firn_token *token, enum firn_predicate_op *out)
{
    return firn_predicate_is_comparison(token, out) && *out != FIRN_PRED_NOT_EQ;
}

/* The constant that `tokens` are, with or without a type in front; false: they are something else. */
static bool find_value(const struct firn_token *tokens, size_t count, struct firn_text *out)
{
    bool is_typed = count == 2 && firn_predicate_is_typed(&tokens[0], &tokens[1]);
    if (!is_typed && (count != 1 || !is_literal(&tokens[0])))
        return false;
    *out = tokens[count - 1].text;
    return true;
}

/* "f(column, 'argument') >= 'value'", and the same the other way round. */
static void find_comparison(const struct firn_token *tokens, size_t count, struct firn_opaque *out)
{
    enum firn_predicate_op compare;
    size_t call = is_function(tokens, count, 0) ? call_length(tokens, count) : 0, begin = 0;
    if (call > 0 && call + 1 < count && is_comparison(&tokens[call], &compare) &&
        find_value(&tokens[call + 1], count - call - 1, &out->value)) {
        out->compare = compare;
    } else {
        size_t sign = 0;
        while (sign < count && !is_comparison(&tokens[sign], &compare))
            sign++;
        begin = sign + 1;
        if (begin >= count || !find_value(tokens, sign, &out->value) || !is_function(tokens, count, begin))
            return;
        call = call_length(&tokens[begin], count - begin);
        if (begin + call != count)
            return;
        out->compare = firn_predicate_op_flip(compare);
    }
    out->function = tokens[begin].text;
    for (size_t i = begin + 2; i < begin + call; i++)
        if (is_literal(&tokens[i]) || (i > begin + 2 && firn_token_is_word(&tokens[i - 1], "as"))) {
            out->arguments[0] = out->arguments[1];
            out->arguments[1] = tokens[i].text;
        }
}

firn_status firn_condition_opaque(struct firn_op *op, const struct firn_schema *schema, struct firn_text where,
                                  const struct firn_token *tokens, size_t count, const struct firn_predicate **out)
{
    struct firn_opaque *opaque = FIRN_NEW(op->arena, struct firn_opaque);
    struct firn_predicate *leaf = FIRN_NEW(op->arena, struct firn_predicate);
    const struct firn_field *field = first_column(schema, tokens, count);
    size_t at = tokens[0].at, end = tokens[count - 1].end;
    if (!field)
        return firn_where_fail(op, at, "the condition names no column of the table");
    *opaque = (struct firn_opaque){ .at = at, .text = firn_text_until(firn_text_from(where, at), end - at) };
    find_comparison(tokens, count, opaque);
    *leaf = (struct firn_predicate){ .op = FIRN_PRED_OPAQUE, .field = field, .opaque = opaque };
    *out = leaf;
    return FIRN_OK;
}
