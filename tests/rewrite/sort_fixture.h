/* Values of any type from their text, and in the form that vectors have. */
#ifndef FIRN_TESTS_REWRITE_SORT_FIXTURE_H
#define FIRN_TESTS_REWRITE_SORT_FIXTURE_H

#include "../check.h"
#include "rewrite/conversion.h"
#include "rewrite/sort_key.h"

/* Of reals, Java's text. */
static inline struct firn_value parse_value(struct firn_op *op, const struct firn_type *type, const char *text)
{
    struct firn_value value = { .type = type->id };
    if (type->id == FIRN_TYPE_FLOAT || type->id == FIRN_TYPE_DOUBLE)
        value.real = strtod(text, NULL);
    else if (type->id == FIRN_TYPE_INT || type->id == FIRN_TYPE_LONG)
        CHECK(firn_text_to_i64(firn_text_of(text), &value.integer), "%s", text);
    else if (type->id == FIRN_TYPE_BOOLEAN)
        value.integer = text[0] == 't';
    else
        CHECK(firn_value_parse_text(op->arena, type, firn_text_of(text), &value), "%s", text);
    if (type->id == FIRN_TYPE_FLOAT)
        value.real = (double)(float)value.real;
    return value;
}

static inline union firn_values store_values(struct firn_op *op, const struct firn_parquet_node *leaf,
                                             const struct firn_value *values, uint32_t count)
{
    size_t width = firn_value_width(leaf->type, leaf->type_length);
    uint8_t *bytes = firn_arena_alloc_array(op->arena, count, width);
    for (uint32_t i = 0; i < count; i++) {
        const struct firn_dictionary *single;
        CHECK_OK(op, firn_leaf_constant(op, leaf, &values[i], &single));
        memcpy(bytes + i * width, single->values.any, width);
    }
    return (union firn_values){ .any = bytes };
}

#endif
