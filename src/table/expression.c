/* Predicates as values: joining, exchanging, printing. */
#include "table/expression_internal.h"

#include "base/math.h"

const struct firn_predicate firn_predicate_true = { .op = FIRN_PRED_TRUE };
const struct firn_predicate firn_predicate_false = { .op = FIRN_PRED_FALSE };

static const struct {
    const char *text;
    enum firn_predicate_op flipped, negated;
} ops[] = {
    [FIRN_PRED_TRUE] = { "TRUE", FIRN_PRED_TRUE, FIRN_PRED_FALSE },
    [FIRN_PRED_FALSE] = { "FALSE", FIRN_PRED_FALSE, FIRN_PRED_TRUE },
    [FIRN_PRED_AND] = { "AND", FIRN_PRED_AND, FIRN_PRED_OR },
    [FIRN_PRED_OR] = { "OR", FIRN_PRED_OR, FIRN_PRED_AND },
    [FIRN_PRED_EQ] = { "=", FIRN_PRED_EQ, FIRN_PRED_NOT_EQ },
    [FIRN_PRED_NOT_EQ] = { "<>", FIRN_PRED_NOT_EQ, FIRN_PRED_EQ },
    [FIRN_PRED_LT] = { "<", FIRN_PRED_GT, FIRN_PRED_GT_EQ },
    [FIRN_PRED_LT_EQ] = { "<=", FIRN_PRED_GT_EQ, FIRN_PRED_GT },
    [FIRN_PRED_GT] = { ">", FIRN_PRED_LT, FIRN_PRED_LT_EQ },
    [FIRN_PRED_GT_EQ] = { ">=", FIRN_PRED_LT_EQ, FIRN_PRED_LT },
    [FIRN_PRED_IN] = { "IN", FIRN_PRED_IN, FIRN_PRED_NOT_IN },
    [FIRN_PRED_NOT_IN] = { "NOT IN", FIRN_PRED_NOT_IN, FIRN_PRED_IN },
    [FIRN_PRED_IS_NULL] = { "IS NULL", FIRN_PRED_IS_NULL, FIRN_PRED_NOT_NULL },
    [FIRN_PRED_NOT_NULL] = { "IS NOT NULL", FIRN_PRED_NOT_NULL, FIRN_PRED_IS_NULL },
    [FIRN_PRED_IS_NAN] = { "IS NAN", FIRN_PRED_IS_NAN, FIRN_PRED_NOT_NAN },
    [FIRN_PRED_NOT_NAN] = { "IS NOT NAN", FIRN_PRED_NOT_NAN, FIRN_PRED_IS_NAN },
    [FIRN_PRED_STARTS_WITH] = { "LIKE", FIRN_PRED_STARTS_WITH, FIRN_PRED_NOT_STARTS_WITH },
    [FIRN_PRED_NOT_STARTS_WITH] = { "NOT LIKE", FIRN_PRED_NOT_STARTS_WITH, FIRN_PRED_STARTS_WITH },
    [FIRN_PRED_OPAQUE] = { "", FIRN_PRED_OPAQUE, FIRN_PRED_OPAQUE },
};
_Static_assert(FIRN_COUNT_OF(ops) == FIRN_PRED_OPAQUE + 1, "one row per operator");

enum firn_predicate_op firn_predicate_op_flip(enum firn_predicate_op op)
{
    return ops[op].flipped;
}

enum firn_predicate_op firn_predicate_op_negate(enum firn_predicate_op op)
{
    return ops[op].negated;
}

const struct firn_predicate *firn_predicate_join(struct firn_arena *arena, enum firn_predicate_op op,
                                                 const struct firn_predicate *left, const struct firn_predicate *right)
{
    enum firn_predicate_op neutral = op == FIRN_PRED_AND ? FIRN_PRED_TRUE : FIRN_PRED_FALSE;
    enum firn_predicate_op decisive = ops[neutral].negated;
    if (left->op == decisive || right->op == neutral)
        return left;
    if (right->op == decisive || left->op == neutral)
        return right;
    struct firn_predicate *joined = FIRN_NEW(arena, struct firn_predicate);
    *joined = (struct firn_predicate){ .op = op, .left = left, .right = right };
    return joined;
}

const struct firn_predicate *firn_predicate_unary(struct firn_arena *arena, enum firn_predicate_op op,
                                                  const struct firn_field *field)
{
    struct firn_predicate *leaf = FIRN_NEW(arena, struct firn_predicate);
    *leaf = (struct firn_predicate){ .op = op, .field = field };
    return leaf;
}

static struct firn_text value_text(struct firn_arena *arena, const struct firn_predicate *leaf, uint32_t index)
{
    const struct firn_type *type = &leaf->field->type;
    struct firn_text text = firn_value_text(arena, type, &leaf->values[index]);
    bool prefix = leaf->op == FIRN_PRED_STARTS_WITH || leaf->op == FIRN_PRED_NOT_STARTS_WITH;
    switch (type->id) {
    case FIRN_TYPE_BOOLEAN:
    case FIRN_TYPE_INT:
    case FIRN_TYPE_LONG:
    case FIRN_TYPE_FLOAT:
    case FIRN_TYPE_DOUBLE:
    case FIRN_TYPE_DECIMAL:
        return text;
    case FIRN_TYPE_BINARY:
    case FIRN_TYPE_FIXED:
        return firn_text_format(arena, "X'%.*s'", FIRN_FMT(text));
    default:
        return firn_text_format(arena, "'%.*s%s'", FIRN_FMT(text), prefix ? "%" : "");
    }
}

/* Text that grows; chains of conditions and lists of values may be long. */
struct builder {
    struct firn_arena *arena;
    FIRN_ARRAY(char) text;
};

static void add(struct builder *builder, struct firn_text text)
{
    for (size_t i = 0; i < text.len; i++)
        FIRN_PUSH(builder->arena, &builder->text, text.data[i]);
}

static void add_leaf(struct builder *builder, const struct firn_predicate *leaf)
{
    if (leaf->op == FIRN_PRED_OPAQUE) {
        add(builder, leaf->opaque->text);
        return;
    }
    bool list = leaf->op == FIRN_PRED_IN || leaf->op == FIRN_PRED_NOT_IN;
    add(builder, leaf->field->name);
    add(builder, FIRN_TEXT(" "));
    add(builder, firn_text_of(ops[leaf->op].text));
    for (uint32_t i = 0; i < leaf->value_count; i++) {
        add(builder, firn_text_of(i ? ", " : list ? " (" : " "));
        add(builder, value_text(builder->arena, leaf, i));
    }
    add(builder, firn_text_of(list ? ")" : ""));
}

static void add_predicate(struct builder *builder, const struct firn_predicate *predicate)
{
    if (predicate->op == FIRN_PRED_TRUE || predicate->op == FIRN_PRED_FALSE) {
        add(builder, firn_text_of(ops[predicate->op].text));
        return;
    }
    if (predicate->op != FIRN_PRED_AND && predicate->op != FIRN_PRED_OR) {
        add_leaf(builder, predicate);
        return;
    }
    add(builder, FIRN_TEXT("("));
    add_predicate(builder, predicate->left);
    add(builder, FIRN_TEXT(" "));
    add(builder, firn_text_of(ops[predicate->op].text));
    add(builder, FIRN_TEXT(" "));
    add_predicate(builder, predicate->right);
    add(builder, FIRN_TEXT(")"));
}

struct firn_text firn_predicate_text(struct firn_arena *arena, const struct firn_predicate *predicate)
{
    struct builder builder = { .arena = arena };
    add_predicate(&builder, predicate);
    return (struct firn_text){ builder.text.items, builder.text.count };
}
