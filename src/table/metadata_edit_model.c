/* Updates of schemas, partition specs, sort orders and encryption keys.
 * Iceberg spec, "Schema Evolution", "Partition Evolution"; REST catalog specification, "AddSchemaUpdate" and others. */
#include "base/math.h"
#include "table/metadata_edit.h"

#define PARTITION_ID_FIRST 1000

/* A copy of `given` whose first member is `id_key`. */
static json_t *with_id(const json_t *given, const char *id_key, int32_t id)
{
    json_t *copy = json_object();
    firn_json_set_i64(copy, id_key, id);
    const char *key;
    json_t *value, *source = json_deep_copy(given);
    json_object_foreach(source, key, value)
    {
        if (strcmp(key, id_key) != 0)
            json_object_set(copy, key, value);
    }
    json_decref(source);
    return copy;
}

/* One past the greatest id in the array `key`; `first` when it is empty. */
static firn_status next_id(struct firn_op *op, const struct firn_edit *edit, const char *key, const char *id_key,
                           int32_t first, int32_t *out)
{
    size_t index;
    json_t *item;
    int32_t max = first - 1;
    json_array_foreach(json_object_get(edit->root, key), index, item)
    {
        max = FIRN_MAX(max, (int32_t)json_integer_value(json_object_get(item, id_key)));
    }
    if (max == INT32_MAX)
        return firn_fail(op, FIRN_LIMIT, "no %s is left: %d is taken", id_key, INT32_MAX);
    *out = max + 1;
    return FIRN_OK;
}

/* Resolves the id that a set-... update gives: -1 means the last one added. */
static firn_status resolve(struct firn_op *op, const struct firn_edit *edit, const json_t *update, const char *member,
                           int32_t last, const char *key, const char *id_key, int32_t *out)
{
    FIRN_TRY(firn_json_need_i32(op, update, member, "update", out));
    if (*out == -1 && last < 0)
        return firn_fail(op, FIRN_USAGE, "\"%s\" -1 stands for the last one added, but none was", member);
    if (*out == -1)
        *out = last;
    if (!firn_edit_find(edit, key, id_key, *out))
        return firn_fail(op, FIRN_USAGE, "\"%s\" %d does not exist", member, *out);
    return FIRN_OK;
}

/* What only version 3 may hold. */
static firn_status check_type(struct firn_op *op, int32_t version, const struct firn_type *type)
{
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct firn_field *field = &type->fields[i];
        enum firn_type_id id = field->type.id;
        bool new_type = id == FIRN_TYPE_TIMESTAMP_NS || id == FIRN_TYPE_TIMESTAMPTZ_NS || id == FIRN_TYPE_UNKNOWN ||
                        id == FIRN_TYPE_VARIANT || id == FIRN_TYPE_GEOMETRY || id == FIRN_TYPE_GEOGRAPHY;
        if (version < 3 && new_type)
            return firn_fail(op, FIRN_USAGE, "column '%.*s': type %s needs format version 3", FIRN_FMT(field->name),
                             firn_type_name(id));
        if (version < 3 && field->initial_default)
            return firn_fail(op, FIRN_USAGE, "column '%.*s': a default value needs format version 3",
                             FIRN_FMT(field->name));
        FIRN_TRY(check_type(op, version, &field->type));
    }
    return FIRN_OK;
}

/* The schema in the table that equals `given` but for the id; -1 when there is none. */
static int32_t find_same_schema(const struct firn_edit *edit, const struct firn_schema *given)
{
    size_t index;
    json_t *item, *wanted = firn_schema_json(given);
    int32_t found = -1;
    json_array_foreach(json_object_get(edit->root, "schemas"), index, item)
    {
        json_t *id = json_object_get(item, "schema-id");
        firn_json_set(wanted, "schema-id", json_incref(id));
        if (found < 0 && json_equal(item, wanted))
            found = (int32_t)json_integer_value(id);
    }
    json_decref(wanted);
    return found;
}

firn_status firn_edit_add_schema(struct firn_op *op, struct firn_edit *edit, const json_t *update)
{
    json_t *given;
    struct firn_schema schema;
    int32_t last_column = 0;
    FIRN_TRY(firn_json_need_object(op, update, "schema", "add-schema", &given));
    FIRN_TRY(firn_schema_parse(op, given, &schema));
    FIRN_TRY(check_type(op, firn_edit_version(edit), &schema.root));
    FIRN_TRY(firn_json_find_i32(op, edit->root, "last-column-id", "table metadata", &last_column, NULL));
    firn_json_set_i64(edit->root, "last-column-id", FIRN_MAX(last_column, firn_schema_id_max(&schema)));
    edit->last_schema_id = find_same_schema(edit, &schema);
    if (edit->last_schema_id >= 0)
        return FIRN_OK;
    FIRN_TRY(next_id(op, edit, "schemas", "schema-id", 0, &edit->last_schema_id));
    json_array_append_new(firn_edit_array(edit, "schemas"), with_id(given, "schema-id", edit->last_schema_id));
    return FIRN_OK;
}

firn_status firn_edit_set_current_schema(struct firn_op *op, struct firn_edit *edit, const json_t *update)
{
    int32_t id;
    FIRN_TRY(resolve(op, edit, update, "schema-id", edit->last_schema_id, "schemas", "schema-id", &id));
    firn_json_set_i64(edit->root, "current-schema-id", id);
    return FIRN_OK;
}

/* Takes the items with the listed ids out of an array; the one that is in use may not be among them. */
static firn_status remove_by_id(struct firn_op *op, struct firn_edit *edit, const json_t *update, const char *member,
                                const char *key, const char *id_key, const char *in_use_key)
{
    json_t *given, *id;
    size_t index;
    json_int_t in_use = json_integer_value(json_object_get(edit->root, in_use_key));
    FIRN_TRY(firn_json_need_array(op, update, member, "update", &given));
    json_array_foreach(given, index, id)
    {
        if (!json_is_integer(id))
            return firn_fail(op, FIRN_CORRUPT, "\"%s\" holds something that is no id", member);
        if (json_integer_value(id) == in_use)
            return firn_fail(op, FIRN_USAGE, "%s %lld is in use: it is the %s", id_key, (long long)in_use, in_use_key);
        json_t *items = json_object_get(edit->root, key);
        for (size_t i = json_array_size(items); i > 0; i--)
            if (json_equal(json_object_get(json_array_get(items, i - 1), id_key), id))
                json_array_remove(items, i - 1);
    }
    return FIRN_OK;
}

firn_status firn_edit_remove_schemas(struct firn_op *op, struct firn_edit *edit, const json_t *update)
{
    return remove_by_id(op, edit, update, "schema-ids", "schemas", "schema-id", "current-schema-id");
}

firn_status firn_edit_remove_specs(struct firn_op *op, struct firn_edit *edit, const json_t *update)
{
    return remove_by_id(op, edit, update, "spec-ids", "partition-specs", "spec-id", "default-spec-id");
}

static firn_status parse_current_schema(struct firn_op *op, const struct firn_edit *edit, struct firn_schema *out)
{
    int32_t id;
    FIRN_TRY(firn_json_need_i32(op, edit->root, "current-schema-id", "table metadata", &id));
    const json_t *json = firn_edit_find(edit, "schemas", "schema-id", id);
    if (!json)
        return firn_fail(op, FIRN_USAGE, "the table has no current schema yet");
    return firn_schema_parse(op, json, out);
}

/* Whether a transform can be applied to its source in the current schema. */
static firn_status check_source(struct firn_op *op, const struct firn_schema *schema,
                                const struct firn_transform *transform, const int32_t *source_ids)
{
    const struct firn_field *source = firn_schema_field(schema, source_ids[0]);
    if (transform->id == FIRN_TRANSFORM_VOID)
        return FIRN_OK;
    if (!source)
        return firn_fail(op, FIRN_USAGE, "source column %d does not exist", source_ids[0]);
    if (!firn_transform_accepts(transform, &source->type))
        return firn_fail(op, FIRN_USAGE, "transform %.*s does not take column '%.*s' of type %s",
                         FIRN_FMT(transform->text), FIRN_FMT(source->name), firn_type_name(source->type.id));
    return FIRN_OK;
}

static bool same_field(const struct firn_partition_field *a, const struct firn_partition_field *b)
{
    return firn_text_same(a->transform.text, b->transform.text) && a->source_count == b->source_count &&
           memcmp(a->source_ids, b->source_ids, a->source_count * sizeof *a->source_ids) == 0;
}

/* Equal but for the ids of spec and fields. */
static bool same_spec(const struct firn_partition_spec *a, const struct firn_partition_spec *b)
{
    if (a->field_count != b->field_count)
        return false;
    for (uint32_t i = 0; i < a->field_count; i++)
        if (!firn_text_same(a->fields[i].name, b->fields[i].name) || !same_field(&a->fields[i], &b->fields[i]))
            return false;
    return true;
}

struct spec_list {
    struct firn_partition_spec *items;
    size_t count;
    size_t capacity;
};

static firn_status parse_specs(struct firn_op *op, const struct firn_edit *edit, struct spec_list *out)
{
    size_t index;
    json_t *item;
    json_array_foreach(json_object_get(edit->root, "partition-specs"), index, item)
    {
        struct firn_partition_spec spec;
        FIRN_TRY(firn_partition_spec_parse(op, item, 0, &spec));
        FIRN_PUSH(op->arena, out, spec);
    }
    return FIRN_OK;
}

static int32_t known_field_id(const struct spec_list *specs, const struct firn_partition_field *field)
{
    for (size_t i = 0; i < specs->count; i++)
        for (uint32_t k = 0; k < specs->items[i].field_count; k++)
            if (same_field(&specs->items[i].fields[k], field))
                return specs->items[i].fields[k].field_id;
    return -1;
}

/* Field ids are unique over all specs: a field that an older spec has keeps its id, a new one takes the next. */
static firn_status assign_field_ids(struct firn_op *op, const struct spec_list *specs, json_t *fields,
                                    struct firn_partition_spec *spec, int32_t *last)
{
    for (uint32_t i = 0; i < spec->field_count; i++) {
        struct firn_partition_field *field = &spec->fields[i];
        json_t *json = json_array_get(fields, i);
        int32_t known = known_field_id(specs, field);
        if (!json_object_get(json, "field-id")) {
            if (known < 0 && *last == INT32_MAX)
                return firn_fail(op, FIRN_LIMIT, "no partition field id is left");
            field->field_id = known >= 0 ? known : *last + 1;
            firn_json_set_i64(json, "field-id", field->field_id);
        }
        *last = FIRN_MAX(*last, field->field_id);
    }
    return FIRN_OK;
}

static firn_status check_spec(struct firn_op *op, const struct firn_edit *edit, const struct firn_partition_spec *spec)
{
    struct firn_schema schema;
    FIRN_TRY(parse_current_schema(op, edit, &schema));
    for (uint32_t i = 0; i < spec->field_count; i++) {
        const struct firn_partition_field *field = &spec->fields[i];
        FIRN_TRY(firn_context(op, check_source(op, &schema, &field->transform, field->source_ids),
                              "partition field '%.*s'", FIRN_FMT(field->name)));
        if (firn_edit_version(edit) == 1 && field->field_id != PARTITION_ID_FIRST + (int32_t)i)
            return firn_fail(op, FIRN_USAGE, "partition field '%.*s': version 1 needs consecutive field ids",
                             FIRN_FMT(field->name));
    }
    return FIRN_OK;
}

firn_status firn_edit_add_spec(struct firn_op *op, struct firn_edit *edit, const json_t *update)
{
    json_t *given, *fields;
    struct firn_partition_spec spec;
    struct spec_list specs = { 0 };
    int32_t last = PARTITION_ID_FIRST - 1;
    FIRN_TRY(firn_json_need_object(op, update, "spec", "add-spec", &given));
    json_t *copy = firn_json_own(op->arena, with_id(given, "spec-id", 0));
    FIRN_TRY(firn_json_need_array(op, copy, "fields", "partition spec", &fields));
    FIRN_TRY(firn_partition_spec_parse(op, copy, 0, &spec));
    FIRN_TRY(parse_specs(op, edit, &specs));
    for (size_t i = 0; i < specs.count; i++)
        if (same_spec(&specs.items[i], &spec)) {
            edit->last_spec_id = specs.items[i].id;
            return FIRN_OK;
        }
    FIRN_TRY(firn_json_find_i32(op, edit->root, "last-partition-id", "table metadata", &last, NULL));
    FIRN_TRY(assign_field_ids(op, &specs, fields, &spec, &last));
    FIRN_TRY(check_spec(op, edit, &spec));
    FIRN_TRY(next_id(op, edit, "partition-specs", "spec-id", 0, &edit->last_spec_id));
    firn_json_set_i64(copy, "spec-id", edit->last_spec_id);
    firn_json_set_i64(edit->root, "last-partition-id", last);
    json_array_append(firn_edit_array(edit, "partition-specs"), copy);
    return FIRN_OK;
}

firn_status firn_edit_set_default_spec(struct firn_op *op, struct firn_edit *edit, const json_t *update)
{
    int32_t id;
    FIRN_TRY(resolve(op, edit, update, "spec-id", edit->last_spec_id, "partition-specs", "spec-id", &id));
    firn_json_set_i64(edit->root, "default-spec-id", id);
    return FIRN_OK;
}

/* The order in the table that has the same fields; -1 when there is none. */
static int32_t find_same_order(const struct firn_edit *edit, const json_t *given)
{
    size_t index;
    json_t *item;
    json_array_foreach(json_object_get(edit->root, "sort-orders"), index, item)
    {
        if (json_equal(json_object_get(item, "fields"), json_object_get(given, "fields")))
            return (int32_t)json_integer_value(json_object_get(item, "order-id"));
    }
    return -1;
}

firn_status firn_edit_add_sort_order(struct firn_op *op, struct firn_edit *edit, const json_t *update)
{
    json_t *given;
    struct firn_sort_order order;
    struct firn_schema schema;
    FIRN_TRY(firn_json_need_object(op, update, "sort-order", "add-sort-order", &given));
    json_t *copy = firn_json_own(op->arena, with_id(given, "order-id", 1));
    bool unsorted = json_array_size(json_object_get(copy, "fields")) == 0;
    if (unsorted)
        firn_json_set_i64(copy, "order-id", 0);
    FIRN_TRY(firn_sort_order_parse(op, copy, &order));
    edit->last_order_id = find_same_order(edit, copy);
    if (edit->last_order_id >= 0)
        return FIRN_OK;
    FIRN_TRY(parse_current_schema(op, edit, &schema));
    for (uint32_t i = 0; i < order.field_count; i++)
        FIRN_TRY(firn_context(op, check_source(op, &schema, &order.fields[i].transform, order.fields[i].source_ids),
                              "sort order"));
    edit->last_order_id = 0;
    if (!unsorted)
        FIRN_TRY(next_id(op, edit, "sort-orders", "order-id", 1, &edit->last_order_id));
    firn_json_set_i64(copy, "order-id", edit->last_order_id);
    json_array_append(firn_edit_array(edit, "sort-orders"), copy);
    return FIRN_OK;
}

firn_status firn_edit_set_default_sort_order(struct firn_op *op, struct firn_edit *edit, const json_t *update)
{
    int32_t id;
    FIRN_TRY(resolve(op, edit, update, "sort-order-id", edit->last_order_id, "sort-orders", "order-id", &id));
    firn_json_set_i64(edit->root, "default-sort-order-id", id);
    return FIRN_OK;
}

static void drop_key(struct firn_edit *edit, const json_t *key_id)
{
    json_t *keys = firn_edit_array(edit, "encryption-keys");
    for (size_t i = json_array_size(keys); i > 0; i--)
        if (json_equal(json_object_get(json_array_get(keys, i - 1), "key-id"), key_id))
            json_array_remove(keys, i - 1);
}

firn_status firn_edit_add_encryption_key(struct firn_op *op, struct firn_edit *edit, const json_t *update)
{
    json_t *given;
    struct firn_text id;
    FIRN_TRY(firn_json_need_object(op, update, "encryption-key", "add-encryption-key", &given));
    FIRN_TRY(firn_json_need_text(op, given, "key-id", "encryption key", &id));
    if (firn_edit_version(edit) < 3)
        return firn_fail(op, FIRN_USAGE, "encryption keys need format version 3");
    drop_key(edit, json_object_get(given, "key-id"));
    json_array_append_new(firn_edit_array(edit, "encryption-keys"), json_deep_copy(given));
    return FIRN_OK;
}

firn_status firn_edit_remove_encryption_key(struct firn_op *op, struct firn_edit *edit, const json_t *update)
{
    struct firn_text id;
    FIRN_TRY(firn_json_need_text(op, update, "key-id", "remove-encryption-key", &id));
    drop_key(edit, json_object_get(update, "key-id"));
    return FIRN_OK;
}
