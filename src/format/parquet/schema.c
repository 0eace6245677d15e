/* Completes a schema tree: parents, paths, levels, leaf order; and refuses trees that cannot be read.
 *
 * parquet-format, "Nested Encoding" (levels), "Logical Types" (which annotation fits which type). */
#include "base/math.h"
#include "format/parquet/metadata.h"

#define DEPTH_MAX       128
#define NODE_COUNT_MAX  1000000
#define FIXED_BYTES_MAX (64 << 20)
#define PATH_BYTES_MAX  (64 << 20) /* of all paths together: a long name would be repeated below it */

struct finish {
    struct firn_op *op;
    struct firn_footer *footer;
    uint32_t node_count;
    uint32_t leaf_count;
    size_t path_bytes;
};

static firn_status count_nodes(struct finish *finish, const struct firn_parquet_node *node, unsigned depth)
{
    if (depth > DEPTH_MAX)
        return firn_fail(finish->op, FIRN_CORRUPT, "schema is nested deeper than %d", DEPTH_MAX);
    if (++finish->node_count > NODE_COUNT_MAX)
        return firn_fail(finish->op, FIRN_CORRUPT, "schema has more than %d elements", NODE_COUNT_MAX);
    if (node->is_leaf)
        finish->leaf_count++;
    for (uint32_t i = 0; i < node->child_count; i++)
        FIRN_TRY(count_nodes(finish, &node->children[i], depth + 1));
    return FIRN_OK;
}

static bool is_integer_of(const struct firn_parquet_node *node, int bits)
{
    return node->type == (bits == 64 ? FIRN_PARQUET_INT64 : FIRN_PARQUET_INT32);
}

/* The most decimal digits that `bytes` bytes of two's complement hold. */
static int32_t decimal_digits_max(uint32_t bytes)
{
    return (int32_t)((bytes * 8 - 1) * 0.301029995663981195);
}

static bool decimal_fits(const struct firn_parquet_node *node)
{
    const struct firn_logical_type *logical = &node->logical;
    if (logical->precision < 1 || logical->scale < 0 || logical->scale > logical->precision)
        return false;
    switch (node->type) {
    case FIRN_PARQUET_INT32:
        return logical->precision <= 9;
    case FIRN_PARQUET_INT64:
        return logical->precision <= 18;
    case FIRN_PARQUET_FIXED:
        return node->type_length > 64 || logical->precision <= decimal_digits_max(node->type_length);
    default:
        return node->type == FIRN_PARQUET_BYTE_ARRAY;
    }
}

static bool time_fits(const struct firn_parquet_node *node)
{
    return is_integer_of(node, node->logical.unit == FIRN_UNIT_MILLIS ? 32 : 64);
}

static bool integer_fits(const struct firn_parquet_node *node)
{
    int bits = node->logical.bit_width;
    return (bits == 8 || bits == 16 || bits == 32 || bits == 64) && is_integer_of(node, bits);
}

static bool is_fixed_of(const struct firn_parquet_node *node, uint32_t bytes)
{
    return node->type == FIRN_PARQUET_FIXED && node->type_length == bytes;
}

/* Whether a leaf's annotation says something its physical type can hold. */
static bool annotation_fits(const struct firn_parquet_node *node)
{
    switch (node->logical.kind) {
    case FIRN_LOGICAL_DECIMAL:
        return decimal_fits(node);
    case FIRN_LOGICAL_DATE:
        return node->type == FIRN_PARQUET_INT32;
    case FIRN_LOGICAL_TIME:
        return time_fits(node);
    case FIRN_LOGICAL_TIMESTAMP:
        return node->type == FIRN_PARQUET_INT64 || node->type == FIRN_PARQUET_INT96;
    case FIRN_LOGICAL_INTEGER:
        return integer_fits(node);
    case FIRN_LOGICAL_UUID:
        return is_fixed_of(node, 16);
    case FIRN_LOGICAL_FLOAT16:
        return is_fixed_of(node, 2);
    case FIRN_LOGICAL_INTERVAL:
        return is_fixed_of(node, 12);
    default:
        return true;
    }
}

static firn_status check_leaf(struct finish *finish, const struct firn_parquet_node *node)
{
    if ((unsigned)node->type >= FIRN_PARQUET_TYPE_COUNT)
        return firn_fail(finish->op, FIRN_CORRUPT, "column '%.*s' has the unknown type %d", FIRN_FMT(node->path),
                         (int)node->type);
    if (node->type == FIRN_PARQUET_FIXED && (node->type_length == 0 || node->type_length > FIXED_BYTES_MAX))
        return firn_fail(finish->op, FIRN_CORRUPT, "column '%.*s' is a fixed length array of %" PRIu32 " bytes",
                         FIRN_FMT(node->path), node->type_length);
    if (!annotation_fits(node))
        return firn_fail(finish->op, FIRN_CORRUPT,
                         "column '%.*s' is %s(%" PRId32 ", %" PRId32 "), which %s cannot hold", FIRN_FMT(node->path),
                         firn_logical_name(node->logical.kind), node->logical.precision, node->logical.scale,
                         firn_parquet_type_name(node->type));
    return FIRN_OK;
}

static firn_status finish_node(struct finish *finish, struct firn_parquet_node *node);

static firn_status finish_child(struct finish *finish, struct firn_parquet_node *parent,
                                struct firn_parquet_node *child)
{
    struct firn_arena *arena = finish->op->arena;
    child->parent = parent;
    finish->path_bytes += parent->path.len + 1 + child->name.len;
    if (finish->path_bytes > PATH_BYTES_MAX)
        return firn_fail(finish->op, FIRN_CORRUPT, "the paths of the schema's elements exceed %d bytes",
                         PATH_BYTES_MAX);
    child->path = parent->parent ? firn_text_format(arena, "%.*s.%.*s", FIRN_FMT(parent->path), FIRN_FMT(child->name))
                                 : firn_text_copy(arena, child->name);
    child->def_max = parent->def_max + (child->repetition != FIRN_REQUIRED);
    child->rep_max = parent->rep_max + (child->repetition == FIRN_REPEATED);
    return finish_node(finish, child);
}

static firn_status finish_node(struct finish *finish, struct firn_parquet_node *node)
{
    if (node->is_leaf) {
        node->leaf_index = finish->footer->leaf_count;
        finish->footer->leaves[finish->footer->leaf_count++] = node;
        if (node->type != FIRN_PARQUET_FIXED)
            node->type_length = 0; /* the format lets a file give any column one */
        return check_leaf(finish, node);
    }
    if (node->child_count == 0)
        return firn_fail(finish->op, FIRN_CORRUPT, "group '%.*s' has neither type nor children", FIRN_FMT(node->path));
    for (uint32_t i = 0; i < node->child_count; i++)
        FIRN_TRY(finish_child(finish, node, &node->children[i]));
    return FIRN_OK;
}

firn_status firn_parquet_schema_finish(struct firn_op *op, struct firn_footer *footer)
{
    struct finish finish = { .op = op, .footer = footer };
    struct firn_parquet_node *root = &footer->root;
    if (root->is_leaf)
        return firn_fail(op, FIRN_CORRUPT, "the schema's root is a column");
    FIRN_TRY(count_nodes(&finish, root, 0));
    footer->leaf_count = 0;
    footer->leaves = FIRN_NEW_ARRAY(op->arena, const struct firn_parquet_node *, finish.leaf_count);
    root->parent = NULL;
    root->path = FIRN_TEXT("");
    root->def_max = 0;
    root->rep_max = 0;
    return finish_node(&finish, root);
}
