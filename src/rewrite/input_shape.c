/* Field ids for files without them; shapes of lists and maps. Reference: format-notes.md, 12.1 and 13. */
#include "rewrite/input_shape.h"

#include <stdlib.h>

firn_status firn_id_sources_new(struct firn_op *op, const struct firn_metadata *metadata, struct firn_id_sources *out)
{
    struct firn_text json = firn_property_text(metadata, "schema.name-mapping.default", FIRN_TEXT(""));
    *out = (struct firn_id_sources){
        .schemas = firn_metadata_schemas_by_age(op, metadata),
        .schema_count = metadata->schema_count,
    };
    if (json.len == 0)
        return FIRN_OK;
    struct firn_name_mapping *mapping = FIRN_NEW(op->arena, struct firn_name_mapping);
    out->mapping = mapping;
    return firn_name_mapping_parse(op, json, mapping);
}

/* Recursion here is as deep as the schema tree, which firn_parquet_schema_finish limits. */

static size_t count_ids(const struct firn_parquet_node *node)
{
    size_t count = node->parent && node->has_field_id;
    for (uint32_t i = 0; i < node->child_count; i++)
        count += count_ids(&node->children[i]);
    return count;
}

static int32_t *collect_ids(const struct firn_parquet_node *node, int32_t *out)
{
    if (node->parent && node->has_field_id)
        *out++ = node->field_id;
    for (uint32_t i = 0; i < node->child_count; i++)
        out = collect_ids(&node->children[i], out);
    return out;
}

static int compare_ids(const void *a, const void *b)
{
    int32_t left = *(const int32_t *)a, right = *(const int32_t *)b;
    return (left > right) - (left < right);
}

static firn_status check_ids(struct firn_op *op, const struct firn_footer *footer, size_t count)
{
    int32_t *ids = FIRN_NEW_ARRAY(op->arena, int32_t, count);
    collect_ids(&footer->root, ids);
    qsort(ids, count, sizeof *ids, compare_ids);
    for (size_t i = 1; i < count; i++)
        if (ids[i] == ids[i - 1])
            return firn_fail(op, FIRN_CORRUPT, "two columns of the file have field id %d", ids[i]);
    return FIRN_OK;
}

static void set_id(struct firn_parquet_node *node, int32_t id)
{
    node->has_field_id = true;
    node->field_id = id;
}

static bool is_list(const struct firn_parquet_node *node)
{
    return node->logical.kind == FIRN_LOGICAL_LIST && node->child_count == 1 &&
           node->children[0].repetition == FIRN_REPEATED;
}

static bool is_map(const struct firn_parquet_node *node)
{
    return (node->logical.kind == FIRN_LOGICAL_MAP || node->logical.kind == FIRN_LOGICAL_MAP_KEY_VALUE) &&
           node->child_count == 1 && node->children[0].repetition == FIRN_REPEATED;
}

/* Backward compatibility: the repeated node is the element itself unless it is a group of one field with an
 * inconspicuous name. */
static bool repeated_is_element(const struct firn_parquet_node *list, const struct firn_parquet_node *repeated)
{
    if (repeated->is_leaf || repeated->child_count != 1 || firn_text_is(repeated->name, "array"))
        return true;
    return repeated->name.len == list->name.len + 6 && firn_text_starts(repeated->name, list->name) &&
           firn_text_ends(repeated->name, FIRN_TEXT("_tuple"));
}

static void assign_mapped(struct firn_parquet_node *node, const struct firn_name_mapping *mapping);

static void assign_named(struct firn_parquet_node *node, const struct firn_name_mapping *mapping, struct firn_text name)
{
    const struct firn_name_mapped *mapped = firn_name_mapping_find(mapping, name);
    if (!mapped)
        return;
    if (mapped->has_id)
        set_id(node, mapped->id);
    assign_mapped(node, &mapped->children);
}

/* Ids of what is below `node`, whose own children `mapping` names. */
static void assign_mapped(struct firn_parquet_node *node, const struct firn_name_mapping *mapping)
{
    if (node->is_leaf)
        return;
    if (is_list(node)) {
        struct firn_parquet_node *repeated = &node->children[0];
        struct firn_parquet_node *element = repeated_is_element(node, repeated) ? repeated : &repeated->children[0];
        assign_named(element, mapping, FIRN_TEXT("element"));
    } else if (is_map(node)) {
        struct firn_parquet_node *entry = &node->children[0];
        for (uint32_t i = 0; i < entry->child_count && i < 2; i++)
            assign_named(&entry->children[i], mapping, i == 0 ? FIRN_TEXT("key") : FIRN_TEXT("value"));
    } else {
        for (uint32_t i = 0; i < node->child_count; i++)
            assign_named(&node->children[i], mapping, node->children[i].name);
    }
}

/* Whether some schema of the table calls the field of `id` so. */
static bool was_named(const struct firn_id_sources *sources, int32_t id, struct firn_text name)
{
    for (size_t i = 0; i < sources->schema_count; i++) {
        const struct firn_field *field = firn_schema_field(sources->schemas[i], id);
        if (field && firn_text_same(field->name, name))
            return true;
    }
    return false;
}

/* A position is credible when the column once had that id, or when the table never knew either. */
static bool position_credible(const struct firn_id_sources *sources, int32_t id, struct firn_text name)
{
    if (was_named(sources, id, name))
        return true;
    for (size_t i = 0; i < sources->schema_count; i++)
        if (firn_schema_field(sources->schemas[i], id) || firn_schema_field_named(sources->schemas[i], name, false))
            return false;
    return true;
}

static firn_status assign_without_mapping(struct firn_op *op, struct firn_parquet_node *root,
                                          const struct firn_id_sources *sources)
{
    bool by_position = true, by_name = true;
    for (uint32_t i = 0; i < root->child_count; i++) {
        const struct firn_parquet_node *child = &root->children[i];
        bool flat = child->is_leaf && child->repetition != FIRN_REPEATED;
        by_position &= flat && position_credible(sources, (int32_t)i + 1, child->name);
        by_name &= flat && firn_schema_field_named(sources->schemas[0], child->name, false) != NULL;
    }
    if (!by_position && !by_name) {
        firn_status status = firn_fail(op, FIRN_UNSUPPORTED,
                                       "the file has no field ids, the table has no name mapping, "
                                       "and its columns are not those of the table");
        return firn_hint(op, status, "set the table property schema.name-mapping.default");
    }
    for (uint32_t i = 0; i < root->child_count; i++) {
        struct firn_parquet_node *child = &root->children[i];
        set_id(child,
               by_position ? (int32_t)i + 1 : firn_schema_field_named(sources->schemas[0], child->name, false)->id);
    }
    return FIRN_OK;
}

firn_status firn_input_ids_assign(struct firn_op *op, struct firn_footer *footer, const struct firn_id_sources *sources)
{
    if (count_ids(&footer->root) == 0) {
        if (!sources->mapping)
            return assign_without_mapping(op, &footer->root, sources);
        assign_mapped(&footer->root, sources->mapping);
    }
    return check_ids(op, footer, count_ids(&footer->root));
}

const struct firn_parquet_node *firn_footer_leaf(const struct firn_footer *footer, int32_t id)
{
    for (uint32_t i = 0; i < footer->leaf_count; i++)
        if (footer->leaves[i]->has_field_id && footer->leaves[i]->field_id == id)
            return footer->leaves[i];
    return NULL;
}

const struct firn_parquet_node *firn_group_child(const struct firn_parquet_node *group, int32_t id, uint32_t *hint)
{
    for (uint32_t i = 0; i < group->child_count; i++) {
        uint32_t at = *hint + i < group->child_count ? *hint + i : *hint + i - group->child_count;
        const struct firn_parquet_node *child = &group->children[at];
        if (child->has_field_id && child->field_id == id) {
            *hint = at + 1 < group->child_count ? at + 1 : 0;
            return child;
        }
    }
    return NULL;
}

static bool has_id(const struct firn_parquet_node *node, int32_t id)
{
    return node->has_field_id && node->field_id == id;
}

firn_status firn_list_shape_find(struct firn_op *op, const struct firn_parquet_node *node, bool bare,
                                 int32_t element_id, struct firn_list_shape *out)
{
    if (bare) {
        *out = (struct firn_list_shape){ .repeated = node, .element = node };
        return FIRN_OK;
    }
    if (node->child_count != 1 || node->children[0].repetition != FIRN_REPEATED)
        return firn_fail(op, FIRN_UNSUPPORTED, "column '%.*s' is no list, as the table says", FIRN_FMT(node->path));
    const struct firn_parquet_node *repeated = &node->children[0];
    bool same =
        has_id(repeated, element_id) || (repeated_is_element(node, repeated) &&
                                         !(repeated->child_count == 1 && has_id(&repeated->children[0], element_id)));
    *out = (struct firn_list_shape){ .repeated = repeated, .element = same ? repeated : &repeated->children[0] };
    return FIRN_OK;
}

firn_status firn_map_shape_find(struct firn_op *op, const struct firn_parquet_node *node, int32_t key_id,
                                int32_t value_id, struct firn_map_shape *out)
{
    const struct firn_parquet_node *entry = node->child_count == 1 ? &node->children[0] : NULL;
    if (!entry || entry->repetition != FIRN_REPEATED || entry->child_count < 1 || entry->child_count > 2)
        return firn_fail(op, FIRN_UNSUPPORTED, "column '%.*s' is no map, as the table says", FIRN_FMT(node->path));
    const struct firn_parquet_node *first = &entry->children[0];
    const struct firn_parquet_node *second = entry->child_count == 2 ? &entry->children[1] : NULL;
    bool swapped = second && (has_id(second, key_id) || has_id(first, value_id));
    *out = (struct firn_map_shape){
        .repeated = entry,
        .key = swapped ? second : first,
        .value = swapped ? first : second,
    };
    return FIRN_OK;
}
