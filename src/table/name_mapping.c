/* Name mappings. Iceberg spec, "Name Mapping Serialization". */
#include "table/name_mapping.h"

#include "base/math.h"

#define MAPPING_DEPTH_MAX 100

static firn_status parse_fields(struct firn_op *op, const json_t *json, int depth, struct firn_name_mapping *out);

static firn_status parse_field(struct firn_op *op, const json_t *json, int depth, struct firn_name_mapped *out)
{
    json_t *names;
    FIRN_TRY(firn_json_find_i32(op, json, "field-id", "name mapping", &out->id, &out->has_id));
    FIRN_TRY(firn_json_need_array(op, json, "names", "name mapping", &names));
    out->name_count = (uint32_t)FIRN_MIN(json_array_size(names), (size_t)INT32_MAX);
    out->names = FIRN_NEW_ARRAY(op->arena, struct firn_text, out->name_count);
    for (uint32_t i = 0; i < out->name_count; i++) {
        const json_t *name = json_array_get(names, i);
        if (!json_is_string(name))
            return firn_fail(op, FIRN_CORRUPT, "name mapping: a name is not text");
        out->names[i] =
            firn_text_copy(op->arena, (struct firn_text){ json_string_value(name), json_string_length(name) });
    }
    const json_t *fields = json_object_get(json, "fields");
    if (!fields || json_is_null(fields))
        return FIRN_OK;
    return parse_fields(op, fields, depth + 1, &out->children);
}

static firn_status parse_fields(struct firn_op *op, const json_t *json, int depth, struct firn_name_mapping *out)
{
    if (!json_is_array(json))
        return firn_fail(op, FIRN_CORRUPT, "name mapping is not an array");
    if (depth > MAPPING_DEPTH_MAX)
        return firn_fail(op, FIRN_CORRUPT, "name mapping nested more than %d levels deep", MAPPING_DEPTH_MAX);
    out->count = (uint32_t)FIRN_MIN(json_array_size(json), (size_t)INT32_MAX);
    out->fields = FIRN_NEW_ARRAY(op->arena, struct firn_name_mapped, out->count);
    for (uint32_t i = 0; i < out->count; i++)
        FIRN_TRY(parse_field(op, json_array_get(json, i), depth, &out->fields[i]));
    return FIRN_OK;
}

firn_status firn_name_mapping_parse(struct firn_op *op, struct firn_text json, struct firn_name_mapping *out)
{
    json_t *tree;
    *out = (struct firn_name_mapping){ 0 };
    FIRN_TRY(firn_json_parse(op, json, "name mapping", &tree));
    return parse_fields(op, tree, 0, out);
}

const struct firn_name_mapped *firn_name_mapping_find(const struct firn_name_mapping *mapping, struct firn_text name)
{
    for (uint32_t i = 0; i < mapping->count; i++)
        for (uint32_t k = 0; k < mapping->fields[i].name_count; k++)
            if (firn_text_same(mapping->fields[i].names[k], name))
                return &mapping->fields[i];
    return NULL;
}
