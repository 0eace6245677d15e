/* Iceberg schema to Parquet schema. Iceberg spec, "Appendix A: Parquet"; format-notes.md, 13. */
#include "rewrite/output_schema.h"

#include "rewrite/input_shape.h"
#include "rewrite/parquet_name.h"

/* What a primitive type is stored as; decimals and fixed take their length from their parameters. */
struct storage {
    enum firn_parquet_type type;
    struct firn_logical_type logical;
    uint32_t type_length;
};

static const struct storage storages[FIRN_TYPE_COUNT] = {
    [FIRN_TYPE_BOOLEAN] = { FIRN_PARQUET_BOOLEAN },
    [FIRN_TYPE_INT] = { FIRN_PARQUET_INT32 },
    [FIRN_TYPE_LONG] = { FIRN_PARQUET_INT64 },
    [FIRN_TYPE_FLOAT] = { FIRN_PARQUET_FLOAT },
    [FIRN_TYPE_DOUBLE] = { FIRN_PARQUET_DOUBLE },
    [FIRN_TYPE_DATE] = { FIRN_PARQUET_INT32, { .kind = FIRN_LOGICAL_DATE } },
    [FIRN_TYPE_TIME] = { FIRN_PARQUET_INT64, { .kind = FIRN_LOGICAL_TIME, .unit = FIRN_UNIT_MICROS } },
    [FIRN_TYPE_TIMESTAMP] = { FIRN_PARQUET_INT64, { .kind = FIRN_LOGICAL_TIMESTAMP, .unit = FIRN_UNIT_MICROS } },
    [FIRN_TYPE_TIMESTAMPTZ] = { FIRN_PARQUET_INT64,
                                { .kind = FIRN_LOGICAL_TIMESTAMP, .unit = FIRN_UNIT_MICROS, .adjusted_to_utc = true } },
    [FIRN_TYPE_TIMESTAMP_NS] = { FIRN_PARQUET_INT64, { .kind = FIRN_LOGICAL_TIMESTAMP, .unit = FIRN_UNIT_NANOS } },
    [FIRN_TYPE_TIMESTAMPTZ_NS] = { FIRN_PARQUET_INT64,
                                   { .kind = FIRN_LOGICAL_TIMESTAMP,
                                     .unit = FIRN_UNIT_NANOS,
                                     .adjusted_to_utc = true } },
    [FIRN_TYPE_STRING] = { FIRN_PARQUET_BYTE_ARRAY, { .kind = FIRN_LOGICAL_STRING } },
    [FIRN_TYPE_UUID] = { FIRN_PARQUET_FIXED, { .kind = FIRN_LOGICAL_UUID }, 16 },
    [FIRN_TYPE_FIXED] = { FIRN_PARQUET_FIXED },
    [FIRN_TYPE_BINARY] = { FIRN_PARQUET_BYTE_ARRAY },
    [FIRN_TYPE_GEOMETRY] = { FIRN_PARQUET_BYTE_ARRAY, { .kind = FIRN_LOGICAL_GEOMETRY } },
    [FIRN_TYPE_GEOGRAPHY] = { FIRN_PARQUET_BYTE_ARRAY, { .kind = FIRN_LOGICAL_GEOGRAPHY, .edge_algorithm = -1 } },
};

static const char *const edge_algorithms[] = { "spherical", "vincenty", "thomas", "andoyer", "karney" };

/* Least bytes of a two's complement number of `precision` decimal digits, 1 to 38. */
static uint32_t decimal_bytes(int32_t precision)
{
    firn_int128 most = 1;
    for (int32_t i = 0; i < precision; i++)
        most *= 10;
    uint32_t bytes = 1;
    while (bytes < 16 && ((firn_int128)1 << (bytes * 8 - 1)) < most)
        bytes++;
    return bytes;
}

static int32_t edge_algorithm(struct firn_text name)
{
    for (size_t i = 0; i < sizeof edge_algorithms / sizeof *edge_algorithms; i++)
        if (firn_text_same_nocase(name, firn_text_of(edge_algorithms[i])))
            return (int32_t)i;
    return -1;
}

static void set_decimal(struct firn_parquet_node *node, const struct firn_type *type)
{
    node->logical = (struct firn_logical_type){
        .kind = FIRN_LOGICAL_DECIMAL,
        .precision = type->precision,
        .scale = type->scale,
    };
    node->type = type->precision <= 9    ? FIRN_PARQUET_INT32
                 : type->precision <= 18 ? FIRN_PARQUET_INT64
                                         : FIRN_PARQUET_FIXED;
    if (node->type == FIRN_PARQUET_FIXED)
        node->type_length = decimal_bytes(type->precision);
}

static void set_primitive(struct firn_parquet_node *node, const struct firn_type *type)
{
    const struct storage *storage = &storages[type->id];
    node->is_leaf = true;
    node->type = storage->type;
    node->logical = storage->logical;
    node->type_length = storage->type_length;
    switch (type->id) {
    case FIRN_TYPE_DECIMAL:
        set_decimal(node, type);
        break;
    case FIRN_TYPE_FIXED:
        node->type_length = (uint32_t)type->length;
        break;
    case FIRN_TYPE_GEOGRAPHY:
        node->logical.edge_algorithm = edge_algorithm(type->algorithm);
        node->logical.crs = type->crs;
        break;
    case FIRN_TYPE_GEOMETRY:
        node->logical.crs = type->crs;
        break;
    default:
        break;
    }
}

static struct firn_parquet_node *add_children(struct firn_op *op, struct firn_parquet_node *node, uint32_t count)
{
    node->children = FIRN_NEW_ARRAY(op->arena, struct firn_parquet_node, count);
    node->child_count = count;
    return node->children;
}

static firn_status set_field(struct firn_op *op, struct firn_parquet_node *node, const struct firn_field *field);

static firn_status set_struct(struct firn_op *op, struct firn_parquet_node *node, const struct firn_type *type)
{
    struct firn_parquet_node *children = add_children(op, node, type->field_count);
    node->child_count = 0;
    for (uint32_t i = 0; i < type->field_count; i++)
        if (type->fields[i].type.id != FIRN_TYPE_UNKNOWN)
            FIRN_TRY(set_field(op, &children[node->child_count++], &type->fields[i]));
    if (node->child_count == 0)
        return firn_fail(op, FIRN_UNSUPPORTED, "struct '%.*s' has no field that a file can store",
                         FIRN_FMT(node->name));
    return FIRN_OK;
}

/* The repeated group in the middle of lists and maps. */
static struct firn_parquet_node *add_repeated(struct firn_op *op, struct firn_parquet_node *node, struct firn_text name,
                                              uint32_t child_count)
{
    struct firn_parquet_node *repeated = add_children(op, node, 1);
    repeated->name = name;
    repeated->repetition = FIRN_REPEATED;
    return add_children(op, repeated, child_count);
}

static firn_status set_entries(struct firn_op *op, struct firn_parquet_node *node, const struct firn_type *type)
{
    bool list = type->id == FIRN_TYPE_LIST;
    node->logical.kind = list ? FIRN_LOGICAL_LIST : FIRN_LOGICAL_MAP;
    struct firn_parquet_node *children =
        add_repeated(op, node, list ? FIRN_TEXT("list") : FIRN_TEXT("key_value"), type->field_count);
    for (uint32_t i = 0; i < type->field_count; i++) {
        if (type->fields[i].type.id == FIRN_TYPE_UNKNOWN)
            return firn_fail(op, FIRN_UNSUPPORTED, "'%.*s' holds elements of type unknown, which no file can store",
                             FIRN_FMT(node->name));
        FIRN_TRY(set_field(op, &children[i], &type->fields[i]));
    }
    return FIRN_OK;
}

static void set_variant(struct firn_op *op, struct firn_parquet_node *node)
{
    static const struct firn_text names[] = { FIRN_TEXT_INIT("metadata"), FIRN_TEXT_INIT("value") };
    node->logical = (struct firn_logical_type){ .kind = FIRN_LOGICAL_VARIANT, .variant_version = 1 };
    struct firn_parquet_node *children = add_children(op, node, 2);
    for (int i = 0; i < 2; i++)
        children[i] = (struct firn_parquet_node){
            .name = names[i],
            .repetition = FIRN_REQUIRED,
            .is_leaf = true,
            .type = FIRN_PARQUET_BYTE_ARRAY,
        };
}

static firn_status set_field(struct firn_op *op, struct firn_parquet_node *node, const struct firn_field *field)
{
    node->name = firn_parquet_name(op->arena, field->name);
    node->repetition = field->required ? FIRN_REQUIRED : FIRN_OPTIONAL;
    node->has_field_id = true;
    node->field_id = field->id;
    switch (field->type.id) {
    case FIRN_TYPE_STRUCT:
        return set_struct(op, node, &field->type);
    case FIRN_TYPE_LIST:
    case FIRN_TYPE_MAP:
        return set_entries(op, node, &field->type);
    case FIRN_TYPE_VARIANT:
        set_variant(op, node);
        return FIRN_OK;
    default:
        set_primitive(node, &field->type);
        return FIRN_OK;
    }
}

static void add_lineage(struct firn_op *op, struct firn_parquet_node *root)
{
    struct firn_parquet_node *children = FIRN_NEW_ARRAY(op->arena, struct firn_parquet_node, root->child_count + 2);
    memcpy(children, root->children, root->child_count * sizeof *children);
    children[root->child_count] = (struct firn_parquet_node){
        .name = FIRN_TEXT("_row_id"),
        .field_id = FIRN_FIELD_ID_ROW_ID,
    };
    children[root->child_count + 1] = (struct firn_parquet_node){
        .name = FIRN_TEXT("_last_updated_sequence_number"),
        .field_id = FIRN_FIELD_ID_LAST_UPDATED_SEQUENCE_NUMBER,
    };
    for (uint32_t i = 0; i < 2; i++) {
        struct firn_parquet_node *child = &children[root->child_count + i];
        child->repetition = FIRN_OPTIONAL;
        child->has_field_id = true;
        child->is_leaf = true;
        child->type = FIRN_PARQUET_INT64;
    }
    root->children = children;
    root->child_count += 2;
}

/* Nearest ancestor-or-self that carries a field id, and what lies between. */
static const struct firn_parquet_node *identified(const struct firn_parquet_node *node)
{
    while (!node->has_field_id)
        node = node->parent;
    return node;
}

static void describe_leaf(struct firn_op *op, const struct firn_schema *schema, const struct firn_parquet_node *node,
                          struct firn_output_leaf *out)
{
    const struct firn_parquet_node *owner = identified(node);
    *out = (struct firn_output_leaf){
        .node = node,
        .field = firn_schema_field(schema, owner->field_id),
        .name = firn_schema_name(op->arena, schema, owner->field_id),
        .repeated = node->rep_max > 0,
        .in_variant = owner != node,
    };
    if (out->field)
        return;
    out->role = owner->field_id == FIRN_FIELD_ID_ROW_ID ? FIRN_LEAF_ROW_ID : FIRN_LEAF_SEQUENCE_NUMBER;
    out->name = node->name;
}

static void add_key_values(struct firn_op *op, struct firn_footer *footer, const struct firn_schema *schema)
{
    footer->key_value_count = 1;
    footer->key_values = FIRN_NEW(op->arena, struct firn_key_value);
    footer->key_values[0] = (struct firn_key_value){
        .key = FIRN_TEXT("iceberg.schema"),
        .value = firn_json_text(op->arena, firn_json_own(op->arena, firn_schema_json(schema)), 0),
    };
    footer->created_by = FIRN_TEXT("firn version " FIRN_VERSION);
    footer->version = 1;
}

firn_status firn_output_schema_new(struct firn_op *op, const struct firn_schema *schema, bool lineage,
                                   struct firn_output_schema *out)
{
    struct firn_footer *footer = FIRN_NEW(op->arena, struct firn_footer);
    footer->root.name = FIRN_TEXT("table");
    FIRN_TRY(set_struct(op, &footer->root, &schema->root));
    if (lineage)
        add_lineage(op, &footer->root);
    FIRN_TRY(firn_parquet_schema_finish(op, footer));
    add_key_values(op, footer, schema);

    *out = (struct firn_output_schema){
        .schema = schema,
        .footer = footer,
        .leaf_count = footer->leaf_count,
        .leaves = FIRN_NEW_ARRAY(op->arena, struct firn_output_leaf, footer->leaf_count),
    };
    for (uint32_t i = 0; i < out->leaf_count; i++)
        describe_leaf(op, schema, footer->leaves[i], &out->leaves[i]);
    return FIRN_OK;
}

static bool is_short_decimal(const struct firn_output_leaf *leaf)
{
    return leaf->field && leaf->field->type.id == FIRN_TYPE_DECIMAL && leaf->node->type != FIRN_PARQUET_FIXED;
}

bool firn_output_schema_has_short_decimals(const struct firn_output_schema *schema)
{
    for (uint32_t i = 0; i < schema->leaf_count; i++)
        if (is_short_decimal(&schema->leaves[i]))
            return true;
    return false;
}

/* Whether all files that have the decimal store it as the fewest bytes, and one of them does. */
static bool is_fixed_in(const struct firn_field *field, const struct firn_footer *const *footers, uint32_t footer_count)
{
    bool found = false;
    for (uint32_t i = 0; i < footer_count; i++) {
        const struct firn_parquet_node *stored = firn_footer_leaf(footers[i], field->id);
        if (!stored)
            continue;
        if (stored->type != FIRN_PARQUET_FIXED || stored->type_length != decimal_bytes(field->type.precision) ||
            stored->logical.kind != FIRN_LOGICAL_DECIMAL || stored->logical.scale != field->type.scale)
            return false;
        found = true;
    }
    return found;
}

void firn_output_schema_adopt(struct firn_output_schema *schema, const struct firn_footer *const *footers,
                              uint32_t footer_count)
{
    for (uint32_t i = 0; i < schema->leaf_count; i++) {
        const struct firn_output_leaf *leaf = &schema->leaves[i];
        if (!is_short_decimal(leaf) || !is_fixed_in(leaf->field, footers, footer_count))
            continue;
        struct firn_parquet_node *node = (struct firn_parquet_node *)(uintptr_t)leaf->node; /* of the schema's own */
        node->type = FIRN_PARQUET_FIXED;
        node->type_length = decimal_bytes(leaf->field->type.precision);
    }
}

const struct firn_output_leaf *firn_output_schema_find(const struct firn_output_schema *schema, int32_t field_id)
{
    for (uint32_t i = 0; i < schema->leaf_count; i++) {
        const struct firn_output_leaf *leaf = &schema->leaves[i];
        if (leaf->field && leaf->field->id == field_id && !leaf->in_variant)
            return leaf;
    }
    return NULL;
}
