/* Resolving a file's columns: one walk over the Iceberg schema, the output's Parquet schema and the file's.
 *
 * The output node and the Iceberg field always exist; the input node may be missing from some depth on. While it
 * exists, a `struct trail` records what the definition levels of the input path mean on the output path. */
#include "rewrite/projection.h"

#define LEVEL_COUNT_MAX 130 /* firn_parquet_schema_finish stops at 128 levels */

struct projecting {
    struct firn_op *op;
    const struct firn_projection_config *config;
    struct firn_leaf_plan *plans;
};

/* Levels along a matched path. For input level d: map[d] is the output level it stands for. */
struct trail {
    const struct firn_parquet_node *in; /* innermost input node matched; never NULL */
    uint8_t present;                    /* input level from which the output node is present */
    uint8_t out_def;                    /* output level of a present node */
    uint8_t map[LEVEL_COUNT_MAX];
};

/* The output node is optional or repeated: it adds a level, reached from input level `present` on. */
static void trail_deepen(struct trail *trail, uint8_t present)
{
    trail->out_def++;
    trail->present = present;
    for (unsigned level = present; level < LEVEL_COUNT_MAX; level++)
        trail->map[level] = trail->out_def;
}

/* The output node is required: input levels at which it would be missing are errors. */
static void trail_require(struct trail *trail, uint8_t present)
{
    for (unsigned level = trail->present; level < present; level++)
        trail->map[level] = FIRN_LEVEL_FORBIDDEN;
    trail->present = present;
}

static void trail_step(struct trail *trail, const struct firn_parquet_node *in, const struct firn_parquet_node *out)
{
    if (out->repetition == FIRN_REQUIRED)
        trail_require(trail, in->def_max);
    else
        trail_deepen(trail, in->def_max);
    trail->in = in;
}

static const uint8_t *trail_map(struct projecting *projecting, const struct trail *trail,
                                const struct firn_parquet_node *levels)
{
    return firn_bytes_copy(projecting->op->arena, (struct firn_bytes){ trail->map, (size_t)levels->def_max + 1 }).data;
}

static bool map_is_same(const uint8_t *map, uint8_t in_max, uint8_t out_max)
{
    if (in_max != out_max)
        return false;
    for (unsigned level = 0; level <= in_max; level++)
        if (map[level] != level)
            return false;
    return true;
}

/* Any leaf below `node`, preferably one that is not repeated further inside. */
static const struct firn_parquet_node *leaf_below(const struct firn_parquet_node *node)
{
    const struct firn_parquet_node *start = node;
    while (!node->is_leaf) {
        const struct firn_parquet_node *next = &node->children[0];
        for (uint32_t i = 0; i < node->child_count; i++) {
            const struct firn_parquet_node *child = &node->children[i];
            if (child->rep_max == start->rep_max && (child->is_leaf || next->rep_max > start->rep_max))
                next = child;
        }
        node = next;
    }
    return node;
}

/* The plan of a leaf that the file lacks below the present struct `trail->in`: its slots have output level `def` where
 * the struct is present. */
static struct firn_leaf_plan absent_plan(struct projecting *projecting, const struct trail *trail, uint8_t def)
{
    struct firn_leaf_plan plan = { .def = def };
    if (!trail->in->parent)
        return plan;
    struct trail end = *trail;
    for (unsigned level = trail->present; level < LEVEL_COUNT_MAX; level++)
        end.map[level] = def;
    plan.levels = leaf_below(trail->in);
    plan.def_map = trail_map(projecting, &end, plan.levels);
    plan.rep_keep = trail->in->rep_max;
    return plan;
}

static void fill_absent(struct projecting *projecting, const struct trail *trail, const struct firn_parquet_node *out,
                        uint8_t def)
{
    if (out->is_leaf)
        projecting->plans[out->leaf_index] = absent_plan(projecting, trail, def);
    for (uint32_t i = 0; i < out->child_count; i++)
        fill_absent(projecting, trail, &out->children[i], def);
}

static firn_status plan_constant(struct projecting *projecting, const struct trail *trail,
                                 const struct firn_field *field, const struct firn_parquet_node *out,
                                 const struct firn_value *value)
{
    struct firn_leaf_plan *plan = &projecting->plans[out->leaf_index];
    *plan = absent_plan(projecting, trail, out->def_max);
    struct firn_value promoted;
    if (!firn_value_as(&field->type, value, &promoted))
        return firn_fail(projecting->op, FIRN_CORRUPT, "the constant of column '%.*s' is of another type",
                         FIRN_FMT(out->path));
    return firn_leaf_constant(projecting->op, out, &promoted, &plan->constant);
}

static firn_status project_missing(struct projecting *projecting, const struct trail *trail,
                                   const struct firn_field *field, const struct firn_parquet_node *out);

/* A struct that is absent from the file but whose default is an empty struct: present, made of its fields' defaults. */
static firn_status default_struct(struct projecting *projecting, const struct trail *trail,
                                  const struct firn_field *field, const struct firn_parquet_node *out)
{
    uint32_t child = 0;
    for (uint32_t i = 0; i < field->type.field_count; i++)
        if (field->type.fields[i].type.id != FIRN_TYPE_UNKNOWN)
            FIRN_TRY(project_missing(projecting, trail, &field->type.fields[i], &out->children[child++]));
    return FIRN_OK;
}

/* A column that the file lacks, inside something present: its default, else null. */
static firn_status project_missing(struct projecting *projecting, const struct trail *trail,
                                   const struct firn_field *field, const struct firn_parquet_node *out)
{
    if (!field->initial_default || json_is_null(field->initial_default)) {
        if (field->required)
            return firn_fail(projecting->op, FIRN_CORRUPT, "the file lacks the required column '%.*s' (field id %d)",
                             FIRN_FMT(out->path), field->id);
        fill_absent(projecting, trail, out, (uint8_t)(out->def_max - 1));
        return FIRN_OK;
    }
    if (field->type.id == FIRN_TYPE_STRUCT)
        return default_struct(projecting, trail, field, out);
    if (field->type.id == FIRN_TYPE_LIST || field->type.id == FIRN_TYPE_MAP) {
        fill_absent(projecting, trail, out, out->def_max); /* the format allows only empty ones */
        return FIRN_OK;
    }
    struct firn_value value;
    FIRN_TRY(firn_value_parse_json(projecting->op, &field->type, field->initial_default, &value));
    return plan_constant(projecting, trail, field, out, &value);
}

static firn_status project_constant(struct projecting *projecting, const struct trail *trail,
                                    const struct firn_field *field, const struct firn_parquet_node *out,
                                    const struct firn_value *value)
{
    if (!value->is_null)
        return plan_constant(projecting, trail, field, out, value);
    if (field->required)
        return firn_fail(projecting->op, FIRN_CORRUPT, "the partition value of the required column '%.*s' is null",
                         FIRN_FMT(out->path));
    fill_absent(projecting, trail, out, (uint8_t)(out->def_max - 1));
    return FIRN_OK;
}

static firn_status plan_leaf(struct projecting *projecting, struct trail trail, const struct firn_type *type,
                             const struct firn_parquet_node *in, const struct firn_parquet_node *out)
{
    if (!in->is_leaf)
        return firn_fail(projecting->op, FIRN_UNSUPPORTED, "column '%.*s' is a group, which cannot be read as %.*s",
                         FIRN_FMT(in->path), FIRN_FMT(firn_type_text(projecting->op->arena, type)));
    if (in->rep_max != out->rep_max)
        return firn_fail(projecting->op, FIRN_UNSUPPORTED, "column '%.*s' is repeated, but no list in the table",
                         FIRN_FMT(in->path));
    struct firn_leaf_plan *plan = &projecting->plans[out->leaf_index];
    trail_step(&trail, in, out);
    *plan = (struct firn_leaf_plan){ .levels = in, .rep_keep = in->rep_max, .has_values = true };
    if (!map_is_same(trail.map, in->def_max, out->def_max))
        plan->def_map = trail_map(projecting, &trail, in);
    return firn_conversion_find(projecting->op, in, out, type, &plan->conversion);
}

static firn_status project_field(struct projecting *projecting, const struct trail *trail,
                                 const struct firn_field *field, const struct firn_parquet_node *in,
                                 const struct firn_parquet_node *out);

static firn_status project_struct(struct projecting *projecting, const struct trail *trail,
                                  const struct firn_type *type, const struct firn_parquet_node *in,
                                  const struct firn_parquet_node *out)
{
    if (in->is_leaf)
        return firn_fail(projecting->op, FIRN_UNSUPPORTED, "column '%.*s' is no group, which a struct needs",
                         FIRN_FMT(in->path));
    uint32_t child = 0, hint = 0;
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct firn_field *field = &type->fields[i];
        if (field->type.id == FIRN_TYPE_UNKNOWN)
            continue;
        const struct firn_parquet_node *found = firn_group_child(in, field->id, &hint);
        FIRN_TRY(project_field(projecting, trail, field, found, &out->children[child++]));
    }
    return FIRN_OK;
}

static firn_status project_list(struct projecting *projecting, struct trail trail, const struct firn_type *type,
                                const struct firn_parquet_node *in, bool bare, const struct firn_parquet_node *out)
{
    struct firn_list_shape list;
    FIRN_TRY(firn_list_shape_find(projecting->op, in, bare, type->fields[0].id, &list));
    const struct firn_parquet_node *repeated = &out->children[0];
    trail_step(&trail, list.repeated, repeated);
    return project_field(projecting, &trail, &type->fields[0], list.element, &repeated->children[0]);
}

static firn_status project_map(struct projecting *projecting, struct trail trail, const struct firn_type *type,
                               const struct firn_parquet_node *in, const struct firn_parquet_node *out)
{
    struct firn_map_shape map;
    FIRN_TRY(firn_map_shape_find(projecting->op, in, type->fields[0].id, type->fields[1].id, &map));
    const struct firn_parquet_node *repeated = &out->children[0];
    trail_step(&trail, map.repeated, repeated);
    FIRN_TRY(project_field(projecting, &trail, &type->fields[0], map.key, &repeated->children[0]));
    return project_field(projecting, &trail, &type->fields[1], map.value, &repeated->children[1]);
}

/* Only variants whose structure is exactly metadata and value pass, bytes untouched. */
static firn_status project_variant(struct projecting *projecting, const struct trail *trail,
                                   const struct firn_type *type, const struct firn_parquet_node *in,
                                   const struct firn_parquet_node *out)
{
    if (in->is_leaf || in->child_count != out->child_count)
        return firn_fail(projecting->op, FIRN_UNSUPPORTED, "column '%.*s' is a shredded variant", FIRN_FMT(in->path));
    for (uint32_t i = 0; i < out->child_count; i++) {
        const struct firn_parquet_node *child = NULL;
        for (uint32_t j = 0; j < in->child_count; j++)
            if (firn_text_same(in->children[j].name, out->children[i].name))
                child = &in->children[j];
        if (!child)
            return firn_fail(projecting->op, FIRN_UNSUPPORTED, "variant column '%.*s' lacks its '%.*s'",
                             FIRN_FMT(in->path), FIRN_FMT(out->children[i].name));
        FIRN_TRY(plan_leaf(projecting, *trail, type, child, &out->children[i]));
    }
    return FIRN_OK;
}

static firn_status project_field(struct projecting *projecting, const struct trail *trail,
                                 const struct firn_field *field, const struct firn_parquet_node *in,
                                 const struct firn_parquet_node *out)
{
    const struct firn_projection_config *config = projecting->config;
    const struct firn_value *constant = /* wins over the file */
        firn_partition_identity_value(config->spec, &config->file->partition, field->id);
    if (constant && out->is_leaf && out->rep_max == 0)
        return project_constant(projecting, trail, field, out, constant);
    if (!in || (in->is_leaf && in->logical.kind == FIRN_LOGICAL_UNKNOWN))
        return project_missing(projecting, trail, field, out);
    bool bare = in->repetition == FIRN_REPEATED && in != trail->in; /* a list without a group around it */
    if (bare && field->type.id != FIRN_TYPE_LIST)
        return firn_fail(projecting->op, FIRN_UNSUPPORTED, "column '%.*s' is repeated, but no list in the table",
                         FIRN_FMT(in->path));
    if (out->is_leaf)
        return plan_leaf(projecting, *trail, &field->type, in, out);

    struct trail inner = *trail;
    if (!bare)
        trail_step(&inner, in, out);
    else if (out->repetition == FIRN_OPTIONAL)
        trail_deepen(&inner, inner.present); /* never null */
    switch (field->type.id) {
    case FIRN_TYPE_STRUCT:
        return project_struct(projecting, &inner, &field->type, in, out);
    case FIRN_TYPE_LIST:
        return project_list(projecting, inner, &field->type, in, bare, out);
    case FIRN_TYPE_MAP:
        return project_map(projecting, inner, &field->type, in, out);
    default:
        return project_variant(projecting, &inner, &field->type, in, out);
    }
}

/* Row lineage: the stored number where there is one, else the file's first row id plus position, or its sequence
 * number. A file without a first row id has no lineage, whatever it stores. */
static firn_status project_lineage(struct projecting *projecting, const struct trail *trail,
                                   const struct firn_output_leaf *leaf)
{
    const struct firn_projection_config *config = projecting->config;
    struct firn_leaf_plan *plan = &projecting->plans[leaf->node->leaf_index];
    *plan = (struct firn_leaf_plan){ .def = 0 };
    if (config->file->first_row_id == FIRN_ABSENT)
        return FIRN_OK;

    static const struct firn_type number = { .id = FIRN_TYPE_LONG };
    uint32_t hint = 0;
    const struct firn_parquet_node *in = firn_group_child(trail->in, leaf->node->field_id, &hint);
    if (in)
        FIRN_TRY(plan_leaf(projecting, *trail, &number, in, leaf->node));
    plan->def = 1;
    plan->numbered = true;
    plan->number = leaf->role == FIRN_LEAF_ROW_ID ? config->file->first_row_id : config->sequence_number;
    plan->number_step = leaf->role == FIRN_LEAF_ROW_ID ? 1 : 0;
    return FIRN_OK;
}

firn_status firn_projection_new(struct firn_op *op, const struct firn_projection_config *config,
                                struct firn_footer *footer, struct firn_projection *out)
{
    const struct firn_output_schema *schema = config->schema;
    struct projecting projecting = {
        .op = op,
        .config = config,
        .plans = FIRN_NEW_ARRAY(op->arena, struct firn_leaf_plan, schema->leaf_count),
    };
    FIRN_TRY(firn_input_ids_assign(op, footer, config->ids));
    struct trail trail = { .in = &footer->root };
    FIRN_TRY(project_struct(&projecting, &trail, &schema->schema->root, &footer->root, &schema->footer->root));
    for (uint32_t i = 0; i < schema->leaf_count; i++)
        if (schema->leaves[i].role != FIRN_LEAF_COLUMN)
            FIRN_TRY(project_lineage(&projecting, &trail, &schema->leaves[i]));
    out->plans = projecting.plans;
    return FIRN_OK;
}
