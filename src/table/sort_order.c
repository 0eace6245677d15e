/* Sort orders. Iceberg spec, "Sorting", "Appendix C: Sort Orders". */
#include "base/math.h"
#include "table/partition.h"

/* One of two words; `*second` tells which. */
static firn_status parse_word(struct firn_op *op, const json_t *json, const char *key, const char *first,
                              const char *other, bool *second)
{
    struct firn_text word;
    FIRN_TRY(firn_json_need_text(op, json, key, "sort field", &word));
    *second = firn_text_same_nocase(word, firn_text_of(other));
    if (!*second && !firn_text_same_nocase(word, firn_text_of(first)))
        return firn_fail(op, FIRN_CORRUPT, "sort field: \"%s\" is '%.*s', neither '%s' nor '%s'", key, FIRN_FMT(word),
                         first, other);
    return FIRN_OK;
}

static firn_status parse_field(struct firn_op *op, const json_t *json, struct firn_sort_field *out)
{
    if (!json_is_object(json))
        return firn_fail(op, FIRN_CORRUPT, "sort field is not an object");
    FIRN_TRY(firn_source_ids_parse(op, json, "sort field", &out->source_ids, &out->source_count));
    FIRN_TRY(firn_transform_parse_json(op, json, "sort field", out->source_count, &out->transform));
    FIRN_TRY(parse_word(op, json, "direction", "asc", "desc", &out->descending));
    return parse_word(op, json, "null-order", "nulls-first", "nulls-last", &out->nulls_last);
}

firn_status firn_sort_order_parse(struct firn_op *op, const json_t *json, struct firn_sort_order *out)
{
    json_t *fields;
    *out = (struct firn_sort_order){ 0 };
    if (!json_is_object(json))
        return firn_fail(op, FIRN_CORRUPT, "sort order is not an object");
    FIRN_TRY(firn_json_need_i32(op, json, "order-id", "sort order", &out->id));
    FIRN_TRY(firn_json_need_array(op, json, "fields", "sort order", &fields));
    out->field_count = (uint32_t)FIRN_MIN(json_array_size(fields), (size_t)INT32_MAX);
    out->fields = FIRN_NEW_ARRAY(op->arena, struct firn_sort_field, out->field_count);
    for (uint32_t i = 0; i < out->field_count; i++)
        FIRN_TRY(
            firn_context(op, parse_field(op, json_array_get(fields, i), &out->fields[i]), "sort order %d", out->id));
    if (out->id == 0 && out->field_count)
        return firn_fail(op, FIRN_CORRUPT, "sort order 0 is the unsorted one and has no fields");
    return FIRN_OK;
}

json_t *firn_sort_order_json(const struct firn_sort_order *order)
{
    json_t *json = json_object(), *fields = json_array();
    firn_json_set_i64(json, "order-id", order->id);
    for (uint32_t i = 0; i < order->field_count; i++) {
        const struct firn_sort_field *field = &order->fields[i];
        json_t *member = json_object();
        firn_json_set_text(member, "transform", field->transform.text);
        firn_source_ids_json(member, field->source_ids, field->source_count);
        firn_json_set_text(member, "direction", firn_text_of(field->descending ? "desc" : "asc"));
        firn_json_set_text(member, "null-order", firn_text_of(field->nulls_last ? "nulls-last" : "nulls-first"));
        json_array_append_new(fields, member);
    }
    firn_json_set(json, "fields", fields);
    return json;
}
