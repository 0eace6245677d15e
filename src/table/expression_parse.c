/* The WHERE grammar, a part of Spark's: OR, AND, NOT and predicates over one column. Each predicate is bound as soon as
 * it is read, and NOT is carried down to it: a negated OR becomes an AND of negated parts. That keeps SQL's logic of
 * three values, since a comparison with a null holds in neither form. Reference: procedures.md, 1 (`where`). */
#include "base/math.h"
#include "table/expression_internal.h"

#define TEXT_BYTES_MAX 1000000
#define DEPTH_MAX      200
#define LEAVES_MAX     10000

struct parser {
    struct firn_op *op;
    const struct firn_schema *schema;
    struct firn_text text;
    bool takes_any; /* conditions that only rows can judge, too */
    struct firn_tokens tokens;
    size_t next;
    int depth;
    uint32_t leaves;
};

firn_status firn_where_fail(struct firn_op *op, size_t at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct firn_text message = firn_text_vformat(op->arena, format, args);
    va_end(args);
    return firn_fail(op, FIRN_USAGE, "where, character %zu: %.*s", at + 1, FIRN_FMT(message));
}

static firn_status cut_into_tokens(struct parser *parser)
{
    struct firn_op *op = parser->op;
    struct firn_lexer lexer = { .op = op, .text = parser->text };
    struct firn_token token;
    do {
        firn_status status = firn_token_next(&lexer, &token);
        FIRN_TRY(firn_context(op, status, "where, character %zu", lexer.at + 1));
        if (token.kind == FIRN_TOKEN_FOREIGN && !parser->takes_any)
            return firn_where_fail(op, token.at, "unexpected character '%.*s'", FIRN_FMT(token.text));
        FIRN_PUSH(op->arena, &parser->tokens, token);
    } while (token.kind != FIRN_TOKEN_END);
    return FIRN_OK;
}

struct operand {
    const struct firn_field *field; /* NULL: a literal */
    struct firn_literal literal;
    size_t at;
};

static const struct firn_token *peek(const struct parser *parser, size_t ahead)
{
    return &parser->tokens.items[FIRN_MIN(parser->next + ahead, parser->tokens.count - 1)];
}

static bool take_word(struct parser *parser, const char *word)
{
    bool found = firn_token_is_word(peek(parser, 0), word);
    parser->next += found;
    return found;
}

static bool take_symbol(struct parser *parser, const char *symbol)
{
    bool found = firn_token_is_symbol(peek(parser, 0), symbol);
    parser->next += found;
    return found;
}

static firn_status fail_expected(struct parser *parser, const char *what)
{
    const struct firn_token *token = peek(parser, 0);
    if (token->kind == FIRN_TOKEN_END)
        return firn_where_fail(parser->op, token->at, "the text ends where %s is expected", what);
    return firn_where_fail(parser->op, token->at, "'%.*s' stands where %s is expected", FIRN_FMT(token->text), what);
}

static firn_status need_symbol(struct parser *parser, const char *symbol)
{
    return take_symbol(parser, symbol) ? FIRN_OK : fail_expected(parser, symbol);
}

static firn_status parse_column(struct parser *parser, const struct firn_field **out)
{
    const struct firn_type *type = &parser->schema->root;
    const struct firn_token *token = peek(parser, 0);
    size_t at = token->at;
    do {
        token = peek(parser, 0);
        if (token->kind != FIRN_TOKEN_QUOTED && (token->kind != FIRN_TOKEN_NAME || firn_predicate_is_reserved(token)))
            return fail_expected(parser, "a column");
        parser->next++;
        if (firn_token_is_symbol(peek(parser, 0), "("))
            return firn_where_fail(parser->op, token->at, "functions such as %.*s() are not supported here",
                                   FIRN_FMT(token->text));
        *out = firn_predicate_find_child(type, token->text);
        if (!*out)
            return firn_where_fail(parser->op, token->at, "the table has no column '%.*s'", FIRN_FMT(token->text));
        type = &(*out)->type;
    } while (take_symbol(parser, "."));
    if (!firn_type_is_primitive(type->id))
        return firn_where_fail(parser->op, at, "column '%.*s' has the type %s, which cannot be compared",
                               FIRN_FMT((*out)->name), firn_type_name(type->id));
    return FIRN_OK;
}

/* DATE '...', TIMESTAMP '...', and its spellings with and without zone. */
static firn_status parse_typed_literal(struct parser *parser, struct firn_literal *out)
{
    const struct firn_token *word = peek(parser, 0), *content = peek(parser, 1);
    bool date = firn_token_is_word(word, "date");
    struct firn_text text = firn_text_trim(content->text);
    bool good = date ? firn_literal_date(text, &out->days)
                     : firn_literal_timestamp(parser->op->arena, text, &out->micros, &out->nanos);
    parser->next += 2;
    out->kind = date ? FIRN_LITERAL_DATE : FIRN_LITERAL_TIMESTAMP;
    if (!good)
        return firn_where_fail(parser->op, content->at, "'%.*s' is not a %s", FIRN_FMT(content->text),
                               date ? "date" : "timestamp");
    return FIRN_OK;
}

static firn_status parse_number(struct parser *parser, struct firn_literal *out)
{
    while (firn_token_is_symbol(peek(parser, 0), "-") || firn_token_is_symbol(peek(parser, 0), "+"))
        out->negative ^= firn_token_is_symbol(&parser->tokens.items[parser->next++], "-");
    if (peek(parser, 0)->kind != FIRN_TOKEN_NUMBER)
        return fail_expected(parser, "a number");
    out->kind = FIRN_LITERAL_NUMBER;
    out->text = peek(parser, 0)->text;
    parser->next++;
    return FIRN_OK;
}

static firn_status parse_hex(struct parser *parser, struct firn_literal *out)
{
    const struct firn_token *token = &parser->tokens.items[parser->next++];
    struct firn_bytes bytes;
    if (!firn_hex_parse(parser->op->arena, token->text, &bytes))
        return firn_where_fail(parser->op, token->at, "X'%.*s' is not a whole number of bytes in hexadecimal",
                               FIRN_FMT(token->text));
    out->kind = FIRN_LITERAL_BINARY;
    out->text = firn_text_of_bytes(bytes);
    return FIRN_OK;
}

/* `*found` tells whether a literal begins here; nothing is taken otherwise. */
static firn_status find_literal(struct parser *parser, struct firn_literal *out, bool *found)
{
    const struct firn_token *token = peek(parser, 0);
    *out = (struct firn_literal){ .at = token->at };
    *found = true;
    if (token->kind == FIRN_TOKEN_STRING) {
        parser->next++;
        out->kind = FIRN_LITERAL_STRING;
        out->text = token->text;
        return FIRN_OK;
    }
    if (token->kind == FIRN_TOKEN_NUMBER || firn_token_is_symbol(token, "-") || firn_token_is_symbol(token, "+"))
        return parse_number(parser, out);
    if (token->kind == FIRN_TOKEN_HEX)
        return parse_hex(parser, out);
    if (firn_predicate_is_typed(peek(parser, 0), peek(parser, 1)))
        return parse_typed_literal(parser, out);
    if (take_word(parser, "null"))
        return FIRN_OK;
    out->boolean = take_word(parser, "true");
    out->kind = FIRN_LITERAL_BOOLEAN;
    *found = out->boolean || take_word(parser, "false");
    return FIRN_OK;
}

static firn_status parse_literal(struct parser *parser, struct firn_literal *out)
{
    bool found;
    FIRN_TRY(find_literal(parser, out, &found));
    return found ? FIRN_OK : fail_expected(parser, "a constant");
}

static firn_status parse_operand(struct parser *parser, struct operand *out)
{
    bool literal;
    *out = (struct operand){ .at = peek(parser, 0)->at };
    FIRN_TRY(find_literal(parser, &out->literal, &literal));
    return literal ? FIRN_OK : parse_column(parser, &out->field);
}

static firn_status count_leaf(struct parser *parser)
{
    if (parser->leaves++ < LEAVES_MAX)
        return FIRN_OK;
    return firn_where_fail(parser->op, peek(parser, 0)->at, "more than %d conditions", LEAVES_MAX);
}

static const struct firn_predicate *constant(bool value)
{
    return value ? &firn_predicate_true : &firn_predicate_false;
}

/* Comparisons of two constants, as in "1 = 1". */
static firn_status compare_constants(struct parser *parser, enum firn_predicate_op compare, const struct operand *left,
                                     const struct operand *right, const struct firn_predicate **out)
{
    const struct firn_literal *a = &left->literal, *b = &right->literal;
    double x = 0, y = 0;
    int order;
    *out = &firn_predicate_false;
    if (a->kind == FIRN_LITERAL_NULL || b->kind == FIRN_LITERAL_NULL)
        return FIRN_OK;
    if (a->kind == FIRN_LITERAL_STRING && b->kind == FIRN_LITERAL_STRING) {
        order = firn_text_compare(a->text, b->text);
    } else if (a->kind == FIRN_LITERAL_NUMBER && b->kind == FIRN_LITERAL_NUMBER) {
        if (!firn_text_to_f64(a->text, &x) || !firn_text_to_f64(b->text, &y))
            return firn_where_fail(parser->op, left->at, "a constant is out of range");
        x = a->negative ? -x : x;
        y = b->negative ? -y : y;
        order = (x > y) - (x < y);
    } else {
        return firn_where_fail(parser->op, left->at, "a comparison needs a column on one side");
    }
    bool holds[] = { [FIRN_PRED_EQ] = order == 0,
                     [FIRN_PRED_NOT_EQ] = order != 0,
                     [FIRN_PRED_LT] = order<0, [FIRN_PRED_LT_EQ] = order <= 0, [FIRN_PRED_GT] = order> 0,
                     [FIRN_PRED_GT_EQ] = order >= 0 };
    *out = constant(holds[compare]);
    return FIRN_OK;
}

static firn_status bind_comparison(struct parser *parser, enum firn_predicate_op compare, const struct operand *left,
                                   const struct operand *right, const struct firn_predicate **out)
{
    if (left->field && right->field)
        return firn_where_fail(parser->op, right->at, "two columns are compared; one side must be a constant");
    if (left->field)
        return firn_predicate_compare(parser->op, left->field, compare, &right->literal, out);
    if (right->field)
        return firn_predicate_compare(parser->op, right->field, firn_predicate_op_flip(compare), &left->literal, out);
    return compare_constants(parser, compare, left, right, out);
}

/* a <=> b: equality that knows null. */
static firn_status bind_null_safe(struct parser *parser, const struct operand *left, const struct operand *right,
                                  bool negate, const struct firn_predicate **out)
{
    const struct firn_field *field = left->field ? left->field : right->field;
    const struct firn_literal *literal = left->field ? &right->literal : &left->literal;
    struct firn_arena *arena = parser->op->arena;
    if (!field || (left->field && right->field))
        return firn_where_fail(parser->op, left->at, "<=> compares a column with a constant");
    if (literal->kind == FIRN_LITERAL_NULL) {
        *out = firn_predicate_unary(arena, negate ? FIRN_PRED_NOT_NULL : FIRN_PRED_IS_NULL, field);
        return FIRN_OK;
    }
    FIRN_TRY(firn_predicate_compare(parser->op, field, negate ? FIRN_PRED_NOT_EQ : FIRN_PRED_EQ, literal, out));
    if (negate)
        *out = firn_predicate_join(arena, FIRN_PRED_OR, firn_predicate_unary(arena, FIRN_PRED_IS_NULL, field), *out);
    return FIRN_OK;
}

static firn_status parse_in(struct parser *parser, const struct operand *left, bool negate,
                            const struct firn_predicate **out)
{
    FIRN_ARRAY(struct firn_literal) list = { 0 };
    FIRN_TRY(need_symbol(parser, "("));
    do {
        struct firn_literal literal;
        FIRN_TRY(parse_literal(parser, &literal));
        FIRN_PUSH(parser->op->arena, &list, literal);
    } while (take_symbol(parser, ","));
    FIRN_TRY(need_symbol(parser, ")"));
    return firn_predicate_in(parser->op, left->field, negate, list.items, list.count, out);
}

static firn_status parse_between(struct parser *parser, const struct operand *left, bool negate,
                                 const struct firn_predicate **out)
{
    struct firn_literal low, high;
    const struct firn_predicate *above, *below;
    FIRN_TRY(parse_literal(parser, &low));
    if (!take_word(parser, "and"))
        return fail_expected(parser, "AND");
    FIRN_TRY(parse_literal(parser, &high));
    FIRN_TRY(firn_predicate_compare(parser->op, left->field, negate ? FIRN_PRED_LT : FIRN_PRED_GT_EQ, &low, &above));
    FIRN_TRY(firn_predicate_compare(parser->op, left->field, negate ? FIRN_PRED_GT : FIRN_PRED_LT_EQ, &high, &below));
    *out = firn_predicate_join(parser->op->arena, negate ? FIRN_PRED_OR : FIRN_PRED_AND, above, below);
    return FIRN_OK;
}

static firn_status parse_like(struct parser *parser, const struct operand *left, bool negate,
                              const struct firn_predicate **out)
{
    struct firn_literal pattern;
    FIRN_TRY(parse_literal(parser, &pattern));
    return firn_predicate_like(parser->op, left->field, negate, &pattern, out);
}

static firn_status parse_is(struct parser *parser, const struct operand *left, bool negate,
                            const struct firn_predicate **out)
{
    negate ^= take_word(parser, "not");
    if (take_word(parser, "null"))
        *out = firn_predicate_unary(parser->op->arena, negate ? FIRN_PRED_NOT_NULL : FIRN_PRED_IS_NULL, left->field);
    else if (take_word(parser, "nan"))
        *out = firn_predicate_unary(parser->op->arena, negate ? FIRN_PRED_NOT_NAN : FIRN_PRED_IS_NAN, left->field);
    else
        return fail_expected(parser, "NULL");
    return FIRN_OK;
}

static bool take_comparison(struct parser *parser, enum firn_predicate_op *out)
{
    bool found = firn_predicate_is_comparison(peek(parser, 0), out);
    parser->next += found;
    return found;
}

/* An operand alone: TRUE, FALSE, NULL, or a boolean column. */
static firn_status bind_alone(struct parser *parser, const struct operand *left, bool negate,
                              const struct firn_predicate **out)
{
    struct firn_literal holds = { .kind = FIRN_LITERAL_BOOLEAN, .at = left->at, .boolean = !negate };
    *out = &firn_predicate_false;
    if (left->field && left->field->type.id == FIRN_TYPE_BOOLEAN)
        return firn_predicate_compare(parser->op, left->field, FIRN_PRED_EQ, &holds, out);
    if (!left->field && left->literal.kind == FIRN_LITERAL_NULL)
        return FIRN_OK;
    if (left->field || left->literal.kind != FIRN_LITERAL_BOOLEAN)
        return fail_expected(parser, "a comparison");
    *out = constant(left->literal.boolean != negate);
    return FIRN_OK;
}

/* `*found`: a condition of that kind begins here, and was taken. It says the same of files when it is negated. */
static firn_status find_opaque(struct parser *parser, const struct firn_predicate **out, bool *found)
{
    struct firn_op *op = parser->op;
    const struct firn_token *first = peek(parser, 0);
    size_t count = firn_condition_length(&parser->tokens, parser->next);
    *found = parser->takes_any && firn_condition_is_opaque(op->arena, parser->schema, first, count);
    if (!*found)
        return FIRN_OK;
    parser->next += count;
    return firn_condition_opaque(op, parser->schema, parser->text, first, count, out);
}

static firn_status parse_predicate(struct parser *parser, bool negate, const struct firn_predicate **out)
{
    struct operand left, right;
    enum firn_predicate_op compare;
    bool is_opaque;
    FIRN_TRY(count_leaf(parser));
    FIRN_TRY(find_opaque(parser, out, &is_opaque));
    if (is_opaque)
        return FIRN_OK;
    FIRN_TRY(parse_operand(parser, &left));
    if (take_symbol(parser, "<=>")) {
        FIRN_TRY(parse_operand(parser, &right));
        return bind_null_safe(parser, &left, &right, negate, out);
    }
    if (take_comparison(parser, &compare)) {
        FIRN_TRY(parse_operand(parser, &right));
        return bind_comparison(parser, negate ? firn_predicate_op_negate(compare) : compare, &left, &right, out);
    }
    if (!left.field)
        return bind_alone(parser, &left, negate, out);
    if (take_word(parser, "is"))
        return parse_is(parser, &left, negate, out);
    bool inverted = take_word(parser, "not");
    if (take_word(parser, "in"))
        return parse_in(parser, &left, negate != inverted, out);
    if (take_word(parser, "between"))
        return parse_between(parser, &left, negate != inverted, out);
    if (take_word(parser, "like"))
        return parse_like(parser, &left, negate != inverted, out);
    return inverted ? fail_expected(parser, "IN, BETWEEN or LIKE") : bind_alone(parser, &left, negate, out);
}

static firn_status parse_or(struct parser *parser, bool negate, const struct firn_predicate **out);

/* isnan(column) */
static firn_status parse_isnan(struct parser *parser, bool negate, const struct firn_predicate **out)
{
    const struct firn_field *field;
    FIRN_TRY(count_leaf(parser));
    parser->next += 2;
    FIRN_TRY(parse_column(parser, &field));
    *out = firn_predicate_unary(parser->op->arena, negate ? FIRN_PRED_NOT_NAN : FIRN_PRED_IS_NAN, field);
    return need_symbol(parser, ")");
}

static firn_status parse_primary(struct parser *parser, bool negate, const struct firn_predicate **out)
{
    if (firn_token_is_word(peek(parser, 0), "isnan") && firn_token_is_symbol(peek(parser, 1), "("))
        return parse_isnan(parser, negate, out);
    if (!take_symbol(parser, "("))
        return parse_predicate(parser, negate, out);
    if (parser->depth++ == DEPTH_MAX)
        return firn_where_fail(parser->op, peek(parser, 0)->at, "parentheses nested more than %d deep", DEPTH_MAX);
    FIRN_TRY(parse_or(parser, negate, out));
    parser->depth--;
    return need_symbol(parser, ")");
}

static firn_status parse_and(struct parser *parser, bool negate, const struct firn_predicate **out)
{
    const struct firn_predicate *joined = NULL;
    do {
        const struct firn_predicate *part;
        bool inverted = negate;
        while (take_word(parser, "not") || take_symbol(parser, "!"))
            inverted = !inverted;
        FIRN_TRY(parse_primary(parser, inverted, &part));
        enum firn_predicate_op join = negate ? FIRN_PRED_OR : FIRN_PRED_AND;
        joined = joined ? firn_predicate_join(parser->op->arena, join, joined, part) : part;
    } while (take_word(parser, "and"));
    *out = joined;
    return FIRN_OK;
}

static firn_status parse_or(struct parser *parser, bool negate, const struct firn_predicate **out)
{
    const struct firn_predicate *joined = NULL;
    do {
        const struct firn_predicate *part;
        FIRN_TRY(parse_and(parser, negate, &part));
        enum firn_predicate_op join = negate ? FIRN_PRED_AND : FIRN_PRED_OR;
        joined = joined ? firn_predicate_join(parser->op->arena, join, joined, part) : part;
    } while (take_word(parser, "or"));
    *out = joined;
    return FIRN_OK;
}

static firn_status parse_all(struct parser *parser, const struct firn_predicate **out)
{
    if (parser->text.len > TEXT_BYTES_MAX)
        return firn_fail(parser->op, FIRN_USAGE, "where: the text has %zu bytes, more than %d", parser->text.len,
                         TEXT_BYTES_MAX);
    FIRN_TRY(cut_into_tokens(parser));
    FIRN_TRY(parse_or(parser, false, out));
    return peek(parser, 0)->kind == FIRN_TOKEN_END ? FIRN_OK : fail_expected(parser, "AND, OR or the end");
}

firn_status firn_predicate_parse(struct firn_op *op, struct firn_text text, const struct firn_schema *schema,
                                 const struct firn_predicate **out)
{
    struct parser parser = { .op = op, .schema = schema, .text = text };
    return parse_all(&parser, out);
}

firn_status firn_predicate_parse_any(struct firn_op *op, struct firn_text text, const struct firn_schema *schema,
                                     const struct firn_predicate **out)
{
    struct parser parser = { .op = op, .schema = schema, .text = text, .takes_any = true };
    return parse_all(&parser, out);
}
