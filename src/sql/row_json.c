/* Putting records together again: one walk down the schema for each row, a place in the slots of each leaf.
 *
 * A node is present in a slot whose definition level is at least the node's. A list goes on as long as the next slot
 * repeats it. All leaves of a node tell the same of it, so its first leaf is asked. */
#include "sql/row_json.h"

#include "sql/metadata_table.h"

static bool is_nested(const struct firn_type *type)
{
    return type->id == FIRN_TYPE_STRUCT || type->id == FIRN_TYPE_LIST || type->id == FIRN_TYPE_MAP;
}

firn_status firn_row_json_check(struct firn_op *op, const struct firn_type *type)
{
    if (type->id == FIRN_TYPE_VARIANT)
        return firn_fail(op, FIRN_UNSUPPORTED, "rows with a variant are not shown");
    for (uint32_t i = 0; i < type->field_count; i++)
        FIRN_TRY(firn_row_json_check(op, &type->fields[i].type));
    return FIRN_OK;
}

static const struct firn_parquet_node *first_leaf(const struct firn_parquet_node *node)
{
    while (!node->is_leaf)
        node = &node->children[0];
    return node;
}

static bool is_present(const struct firn_row_json *rows, const struct firn_parquet_node *node)
{
    uint32_t leaf = first_leaf(node)->leaf_index, slot = rows->next[leaf];
    return slot < rows->slots[leaf].count && rows->slots[leaf].def[slot] >= node->def_max;
}

/* Whether the next slot is another entry of the repeated node, in the same list. */
static bool goes_on(const struct firn_row_json *rows, const struct firn_parquet_node *repeated)
{
    uint32_t leaf = first_leaf(repeated)->leaf_index, slot = rows->next[leaf];
    return slot < rows->slots[leaf].count && rows->slots[leaf].rep[slot] == repeated->rep_max;
}

/* Nothing of the node is there: one slot of each leaf says so. */
static void pass_over(const struct firn_row_json *rows, const struct firn_parquet_node *node)
{
    if (node->is_leaf)
        rows->next[node->leaf_index]++;
    for (uint32_t i = 0; i < node->child_count; i++)
        pass_over(rows, &node->children[i]);
}

static void write_node(const struct firn_row_json *rows, const struct firn_parquet_node *node,
                       const struct firn_type *type, struct firn_json_out *json);

static void write_leaf(const struct firn_row_json *rows, const struct firn_parquet_node *node,
                       const struct firn_type *type, struct firn_json_out *json)
{
    const struct firn_leaf_slots *slots = &rows->slots[node->leaf_index];
    uint32_t slot = rows->next[node->leaf_index]++;
    if (slot < slots->count)
        firn_json_out_value(json, type, &slots->values[slot]);
    else
        firn_json_out_null(json);
}

/* Columns of type unknown are in no file. */
static void write_struct(const struct firn_row_json *rows, const struct firn_parquet_node *node,
                         const struct firn_type *type, struct firn_json_out *json)
{
    uint32_t child = 0;
    firn_json_out_begin(json, '{');
    for (uint32_t i = 0; i < type->field_count; i++) {
        firn_json_out_key(json, type->fields[i].name);
        if (type->fields[i].type.id == FIRN_TYPE_UNKNOWN)
            firn_json_out_null(json);
        else
            write_node(rows, &node->children[child++], &type->fields[i].type, json);
    }
    firn_json_out_end(json, '}');
}

/* Keys are there in every entry, so the slot at hand is one of theirs. */
static void write_key(const struct firn_row_json *rows, const struct firn_parquet_node *key,
                      const struct firn_type *type, struct firn_json_out *json)
{
    const struct firn_leaf_slots *slots = &rows->slots[key->leaf_index];
    uint32_t slot = rows->next[key->leaf_index]++;
    bool has_key = slot < slots->count && !slots->values[slot].is_null;
    firn_json_out_key(json,
                      has_key ? firn_spark_value_text(json->op->arena, type, &slots->values[slot]) : FIRN_TEXT("null"));
}

/* Whether a list or map becomes an object: a map with keys that a member can be named by. */
static bool is_object(const struct firn_type *type)
{
    return type->id == FIRN_TYPE_MAP && firn_type_is_primitive(type->fields[0].type.id);
}

static void write_entry(const struct firn_row_json *rows, const struct firn_parquet_node *repeated,
                        const struct firn_type *type, struct firn_json_out *json)
{
    if (type->id == FIRN_TYPE_LIST) {
        write_node(rows, &repeated->children[0], &type->fields[0].type, json);
    } else if (is_object(type)) {
        write_key(rows, &repeated->children[0], &type->fields[0].type, json);
        write_node(rows, &repeated->children[1], &type->fields[1].type, json);
    } else {
        write_struct(rows, repeated, type, json);
    }
}

static void write_entries(const struct firn_row_json *rows, const struct firn_parquet_node *node,
                          const struct firn_type *type, struct firn_json_out *json)
{
    const struct firn_parquet_node *repeated = &node->children[0];
    firn_json_out_begin(json, is_object(type) ? '{' : '[');
    if (!is_present(rows, repeated)) {
        pass_over(rows, repeated);
    } else {
        do
            write_entry(rows, repeated, type, json);
        while (goes_on(rows, repeated));
    }
    firn_json_out_end(json, is_object(type) ? '}' : ']');
}

/* As deep as the schema's parser lets types nest. */
static void write_node(const struct firn_row_json *rows, const struct firn_parquet_node *node,
                       const struct firn_type *type, struct firn_json_out *json)
{
    if (!is_nested(type)) {
        write_leaf(rows, node, type, json);
    } else if (!is_present(rows, node)) {
        pass_over(rows, node);
        firn_json_out_null(json);
    } else if (type->id == FIRN_TYPE_STRUCT) {
        write_struct(rows, node, type, json);
    } else {
        write_entries(rows, node, type, json);
    }
}

void firn_row_json_write(const struct firn_row_json *rows, struct firn_json_out *json)
{
    write_node(rows, rows->node, rows->type, json);
}
