/* The footer's flat list of schema elements, read into a tree. parquet.thrift, SchemaElement, LogicalType,
 * ConvertedType. */
#include "base/math.h"
#include "format/parquet/parse_internal.h"

#define DEPTH_MAX 128

/* A converted type without a logical one beside it means this. parquet-format, "Logical Types". */
static const struct firn_logical_type converted_types[] = {
    [0] = { .kind = FIRN_LOGICAL_STRING },
    [1] = { .kind = FIRN_LOGICAL_MAP },
    [2] = { .kind = FIRN_LOGICAL_MAP_KEY_VALUE },
    [3] = { .kind = FIRN_LOGICAL_LIST },
    [4] = { .kind = FIRN_LOGICAL_ENUM },
    [5] = { .kind = FIRN_LOGICAL_DECIMAL },
    [6] = { .kind = FIRN_LOGICAL_DATE },
    [7] = { .kind = FIRN_LOGICAL_TIME, .unit = FIRN_UNIT_MILLIS, .adjusted_to_utc = true },
    [8] = { .kind = FIRN_LOGICAL_TIME, .unit = FIRN_UNIT_MICROS, .adjusted_to_utc = true },
    [9] = { .kind = FIRN_LOGICAL_TIMESTAMP, .unit = FIRN_UNIT_MILLIS, .adjusted_to_utc = true },
    [10] = { .kind = FIRN_LOGICAL_TIMESTAMP, .unit = FIRN_UNIT_MICROS, .adjusted_to_utc = true },
    [11] = { .kind = FIRN_LOGICAL_INTEGER, .bit_width = 8 },
    [12] = { .kind = FIRN_LOGICAL_INTEGER, .bit_width = 16 },
    [13] = { .kind = FIRN_LOGICAL_INTEGER, .bit_width = 32 },
    [14] = { .kind = FIRN_LOGICAL_INTEGER, .bit_width = 64 },
    [15] = { .kind = FIRN_LOGICAL_INTEGER, .bit_width = 8, .is_signed = true },
    [16] = { .kind = FIRN_LOGICAL_INTEGER, .bit_width = 16, .is_signed = true },
    [17] = { .kind = FIRN_LOGICAL_INTEGER, .bit_width = 32, .is_signed = true },
    [18] = { .kind = FIRN_LOGICAL_INTEGER, .bit_width = 64, .is_signed = true },
    [19] = { .kind = FIRN_LOGICAL_JSON },
    [20] = { .kind = FIRN_LOGICAL_BSON },
    [21] = { .kind = FIRN_LOGICAL_INTERVAL },
};

/* Kinds by the field numbers of the LogicalType union; 9 was never used. */
static const enum firn_logical logical_kinds[] = {
    [1] = FIRN_LOGICAL_STRING,    [2] = FIRN_LOGICAL_MAP,        [3] = FIRN_LOGICAL_LIST,
    [4] = FIRN_LOGICAL_ENUM,      [5] = FIRN_LOGICAL_DECIMAL,    [6] = FIRN_LOGICAL_DATE,
    [7] = FIRN_LOGICAL_TIME,      [8] = FIRN_LOGICAL_TIMESTAMP,  [10] = FIRN_LOGICAL_INTEGER,
    [11] = FIRN_LOGICAL_UNKNOWN,  [12] = FIRN_LOGICAL_JSON,      [13] = FIRN_LOGICAL_BSON,
    [14] = FIRN_LOGICAL_UUID,     [15] = FIRN_LOGICAL_FLOAT16,   [16] = FIRN_LOGICAL_VARIANT,
    [17] = FIRN_LOGICAL_GEOMETRY, [18] = FIRN_LOGICAL_GEOGRAPHY,
};

struct element {
    struct firn_parquet_node node;
    int32_t child_count, type_length;
    bool has_type, has_converted, has_logical;
    int32_t converted_type;
    int32_t precision, scale; /* beside the converted type DECIMAL */
};

static void parse_decimal(struct firn_cursor *in, struct firn_logical_type *out)
{
    struct firn_thrift_field field = { 0 };
    while (firn_thrift_next(in, &field)) {
        if (field.id == 1)
            out->scale = firn_thrift_i32(in, &field);
        else if (field.id == 2)
            out->precision = firn_thrift_i32(in, &field);
        else
            firn_thrift_skip(in, &field);
    }
}

static void parse_unit(struct firn_parse *parse, struct firn_logical_type *out)
{
    struct firn_cursor *in = &parse->in;
    struct firn_thrift_field field = { 0 };
    int32_t member = 0;
    while (firn_thrift_next(in, &field)) {
        member = field.id;
        firn_thrift_skip(in, &field);
    }
    if (member < 1 || member > FIRN_UNIT_COUNT)
        firn_parse_unknown(parse, "time unit", member, FIRN_UNIT_COUNT + 1);
    else
        out->unit = (enum firn_time_unit)(member - 1);
}

static void parse_time(struct firn_parse *parse, struct firn_logical_type *out)
{
    struct firn_cursor *in = &parse->in;
    struct firn_thrift_field field = { 0 };
    uint64_t met = 0;
    while (firn_thrift_next(in, &field)) {
        met |= firn_field_bit(&field);
        if (field.id == 1) {
            out->adjusted_to_utc = firn_thrift_bool(in, &field);
        } else if (field.id == 2) {
            firn_thrift_struct(in, &field);
            parse_unit(parse, out);
        } else {
            firn_thrift_skip(in, &field);
        }
    }
    firn_parse_require(parse, met, FIRN_FIELD(2), "lacks a time unit");
}

static void parse_integer(struct firn_cursor *in, struct firn_logical_type *out)
{
    struct firn_thrift_field field = { 0 };
    while (firn_thrift_next(in, &field)) {
        if (field.id == 1)
            out->bit_width = firn_thrift_i8(in, &field);
        else if (field.id == 2)
            out->is_signed = firn_thrift_bool(in, &field);
        else
            firn_thrift_skip(in, &field);
    }
}

static void parse_geography(struct firn_cursor *in, struct firn_logical_type *out)
{
    struct firn_thrift_field field = { 0 };
    out->edge_algorithm = -1;
    while (firn_thrift_next(in, &field)) {
        if (field.id == 1)
            out->crs = firn_text_of_bytes(firn_thrift_binary(in, &field));
        else if (field.id == 2)
            out->edge_algorithm = firn_thrift_i32(in, &field);
        else
            firn_thrift_skip(in, &field);
    }
}

static void parse_variant(struct firn_cursor *in, struct firn_logical_type *out)
{
    struct firn_thrift_field field = { 0 };
    while (firn_thrift_next(in, &field)) {
        if (field.id == 1)
            out->variant_version = firn_thrift_i8(in, &field);
        else
            firn_thrift_skip(in, &field);
    }
}

/* A member of the union: one structure, most of them empty. */
static void parse_logical_member(struct firn_parse *parse, const struct firn_thrift_field *field,
                                 struct firn_logical_type *out)
{
    *out = (struct firn_logical_type){ .kind = logical_kinds[field->id] };
    firn_thrift_struct(&parse->in, field);
    switch (out->kind) {
    case FIRN_LOGICAL_DECIMAL:
        parse_decimal(&parse->in, out);
        break;
    case FIRN_LOGICAL_TIME:
    case FIRN_LOGICAL_TIMESTAMP:
        parse_time(parse, out);
        break;
    case FIRN_LOGICAL_INTEGER:
        parse_integer(&parse->in, out);
        break;
    case FIRN_LOGICAL_GEOMETRY:
    case FIRN_LOGICAL_GEOGRAPHY:
        parse_geography(&parse->in, out);
        break;
    case FIRN_LOGICAL_VARIANT:
        parse_variant(&parse->in, out);
        break;
    default:
        firn_thrift_skip(&parse->in, field);
    }
}

/* False for a kind that is not known: the converted type, if any, then decides. */
static bool parse_logical(struct firn_parse *parse, struct firn_logical_type *out)
{
    struct firn_cursor *in = &parse->in;
    struct firn_thrift_field field = { 0 };
    bool known = false;
    while (firn_thrift_next(in, &field)) {
        if (field.id > 0 && field.id < (int32_t)FIRN_COUNT_OF(logical_kinds) && logical_kinds[field.id]) {
            if (known)
                firn_cursor_fail(in, "has a column of two logical types");
            known = true;
            parse_logical_member(parse, &field, out);
        } else {
            firn_thrift_skip(in, &field);
        }
    }
    return known;
}

static void settle_annotation(struct firn_parse *parse, struct element *element, uint64_t met)
{
    bool known = element->has_converted && element->converted_type >= 0 &&
                 element->converted_type < (int32_t)FIRN_COUNT_OF(converted_types);
    if (element->has_logical || !known) /* some writers put numbers of their own there: no annotation */
        return;
    element->node.logical = converted_types[element->converted_type];
    if (element->node.logical.kind == FIRN_LOGICAL_DECIMAL) {
        firn_parse_require(parse, met, FIRN_FIELD(7) | FIRN_FIELD(8),
                           "has a decimal column without scale or precision");
        element->node.logical.precision = element->precision;
        element->node.logical.scale = element->scale;
    }
}

static void check_element(struct firn_parse *parse, struct element *element, uint64_t met)
{
    firn_parse_require(parse, met, FIRN_FIELD(4), "has a column without a name");
    if ((unsigned)element->node.repetition > FIRN_REPEATED)
        firn_parse_unknown(parse, "repetition", (int32_t)element->node.repetition, FIRN_REPEATED + 1);
    if (element->child_count < 0)
        firn_cursor_fail(&parse->in, "has a column with a negative number of children");
    if (element->has_type && (unsigned)element->node.type >= FIRN_PARQUET_TYPE_COUNT)
        firn_parse_unknown(parse, "type of a column", (int32_t)element->node.type, FIRN_PARQUET_TYPE_COUNT);
    element->node.is_leaf = element->has_type && element->child_count == 0;  /* some writers give groups a type */
    element->node.type_length = (uint32_t)FIRN_MAX(element->type_length, 0); /* 0 is refused where it matters */
    settle_annotation(parse, element, met);
}

static void parse_element(struct firn_parse *parse, struct element *out)
{
    struct firn_cursor *in = &parse->in;
    struct firn_thrift_field field = { 0 };
    uint64_t met = 0;
    while (firn_thrift_next(in, &field)) {
        met |= firn_field_bit(&field);
        switch (field.id) {
        case 1:
            out->node.type = (enum firn_parquet_type)firn_thrift_i32(in, &field);
            out->has_type = true;
            break;
        case 2:
            out->type_length = firn_thrift_i32(in, &field);
            break;
        case 3:
            out->node.repetition = (enum firn_repetition)firn_thrift_i32(in, &field);
            break;
        case 4:
            out->node.name = firn_text_of_bytes(firn_thrift_binary(in, &field));
            break;
        case 5:
            out->child_count = firn_thrift_i32(in, &field);
            break;
        case 6:
            out->converted_type = firn_thrift_i32(in, &field);
            out->has_converted = true;
            break;
        case 7:
            out->scale = firn_thrift_i32(in, &field);
            break;
        case 8:
            out->precision = firn_thrift_i32(in, &field);
            break;
        case 9:
            out->node.field_id = firn_thrift_i32(in, &field);
            out->node.has_field_id = true;
            break;
        case 10:
            firn_thrift_struct(in, &field);
            out->has_logical = parse_logical(parse, &out->node.logical);
            break;
        default:
            firn_thrift_skip(in, &field);
        }
    }
    check_element(parse, out, met);
}

struct tree {
    struct firn_parse *parse;
    const struct element *elements;
    uint32_t element_count;
    uint32_t next;    /* element to be placed */
    uint32_t claimed; /* elements that groups met so far announce as children, the root included */
};

/* Places the next element and, behind it, its children. */
static void place(struct tree *tree, struct firn_parquet_node *node, unsigned depth)
{
    const struct element *element = &tree->elements[tree->next++];
    uint32_t child_count = (uint32_t)element->child_count;
    *node = element->node;
    if (depth > DEPTH_MAX)
        firn_cursor_fail(&tree->parse->in, "has a schema that is nested too deeply");
    if (child_count > tree->element_count - tree->claimed)
        firn_cursor_fail(&tree->parse->in, "has a schema with fewer elements than its groups announce");
    if (tree->parse->in.failure)
        return;
    tree->claimed += child_count;
    node->child_count = child_count;
    node->children = FIRN_NEW_ARRAY(tree->parse->arena, struct firn_parquet_node, child_count);
    for (uint32_t i = 0; i < child_count && !tree->parse->in.failure; i++)
        place(tree, &node->children[i], depth + 1);
}

void firn_parse_schema(struct firn_parse *parse, const struct firn_thrift_field *field, struct firn_footer *footer)
{
    uint32_t count = firn_thrift_list(&parse->in, field, FIRN_THRIFT_STRUCT, 3);
    struct element *elements = FIRN_NEW_ARRAY(parse->arena, struct element, count);
    for (uint32_t i = 0; i < count && !parse->in.failure; i++)
        parse_element(parse, &elements[i]);
    if (count == 0)
        firn_cursor_fail(&parse->in, "has a schema without a root");
    if (parse->in.failure)
        return;
    struct tree tree = { .parse = parse, .elements = elements, .element_count = count, .claimed = 1 };
    place(&tree, &footer->root, 0);
    if (tree.next != count)
        firn_cursor_fail(&parse->in, "has a schema with more elements than its groups announce");
}
