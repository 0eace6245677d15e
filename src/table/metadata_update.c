/* A list of REST TableUpdate objects applied to a copy of the metadata tree, which is then parsed again.
 * REST catalog specification, "TableUpdate"; reference: format-notes.md, 14 and 15.4. */
#include "base/math.h"
#include "base/uuid.h"
#include "table/metadata_edit.h"

#define VERSION_DEFAULT            2
#define PREVIOUS_VERSIONS_DEFAULT  100
#define PARTITION_ID_BEFORE_FIRST  999
#define PREVIOUS_VERSIONS_PROPERTY "write.metadata.previous-versions-max"

/* Properties that name parts of the metadata itself; never stored. */
static const char *const reserved_properties[] = {
    "format-version",         "uuid",
    "snapshot-count",         "current-snapshot-id",
    "current-schema",         "current-snapshot-summary",
    "default-sort-order",     "current-snapshot-timestamp-ms",
    "default-partition-spec",
};

int32_t firn_edit_version(const struct firn_edit *edit)
{
    return (int32_t)json_integer_value(json_object_get(edit->root, "format-version"));
}

json_t *firn_edit_array(struct firn_edit *edit, const char *key)
{
    if (!json_is_array(json_object_get(edit->root, key)))
        firn_json_set(edit->root, key, json_array());
    return json_object_get(edit->root, key);
}

json_t *firn_edit_object(struct firn_edit *edit, const char *key)
{
    if (!json_is_object(json_object_get(edit->root, key)))
        firn_json_set(edit->root, key, json_object());
    return json_object_get(edit->root, key);
}

json_t *firn_edit_find(const struct firn_edit *edit, const char *key, const char *id_key, int32_t id)
{
    size_t index;
    json_t *item;
    json_array_foreach(json_object_get(edit->root, key), index, item)
    {
        const json_t *value = json_object_get(item, id_key);
        if (json_is_integer(value) && json_integer_value(value) == id)
            return item;
    }
    return NULL;
}

static firn_status assign_uuid(struct firn_op *op, struct firn_edit *edit, const json_t *update)
{
    struct firn_text uuid, old = { 0 };
    struct firn_uuid parsed;
    FIRN_TRY(firn_json_need_text(op, update, "uuid", "assign-uuid", &uuid));
    FIRN_TRY(firn_json_find_text(op, edit->root, "table-uuid", "table metadata", &old, NULL));
    if (!firn_uuid_parse(uuid, &parsed))
        return firn_fail(op, FIRN_USAGE, "'%.*s' is not a UUID", FIRN_FMT(uuid));
    if (edit->base && edit->base->table_uuid.len && !firn_text_same_nocase(uuid, old))
        return firn_fail(op, FIRN_USAGE, "the table has the UUID %.*s already", FIRN_FMT(old));
    firn_json_set_text(edit->root, "table-uuid", uuid);
    return FIRN_OK;
}

static firn_status upgrade_version(struct firn_op *op, struct firn_edit *edit, const json_t *update)
{
    int32_t version, old = firn_edit_version(edit);
    FIRN_TRY(firn_json_need_i32(op, update, "format-version", "upgrade-format-version", &version));
    if (version > FIRN_FORMAT_VERSION_MAX)
        return firn_fail(op, FIRN_UNSUPPORTED, "format version %d; firn handles versions 1 to %d", version,
                         FIRN_FORMAT_VERSION_MAX);
    if (version < old || version < 1)
        return firn_fail(op, FIRN_USAGE, "a table of format version %d cannot go down to %d", old, version);
    if (old < 2 && version >= 2) {
        firn_json_set_i64(edit->root, "last-sequence-number", 0);
        json_object_del(edit->root, "schema");
        json_object_del(edit->root, "partition-spec");
    }
    if (old < 3 && version >= 3)
        firn_json_set_i64(edit->root, "next-row-id", 0);
    firn_json_set_i64(edit->root, "format-version", version);
    return FIRN_OK;
}

static firn_status set_location(struct firn_op *op, struct firn_edit *edit, const json_t *update)
{
    struct firn_text location;
    FIRN_TRY(firn_json_need_text(op, update, "location", "set-location", &location));
    if (location.len == 0)
        return firn_fail(op, FIRN_USAGE, "the table's location is empty");
    firn_json_set_text(edit->root, "location", location);
    return FIRN_OK;
}

static bool is_reserved(const char *key)
{
    for (size_t i = 0; i < FIRN_COUNT_OF(reserved_properties); i++)
        if (strcmp(key, reserved_properties[i]) == 0)
            return true;
    return false;
}

/* Older clients say `updated` and `removed`. */
static const json_t *member_of(const json_t *update, const char *key, const char *older_key)
{
    const json_t *value = json_object_get(update, key);
    return value ? value : json_object_get(update, older_key);
}

static firn_status set_properties(struct firn_op *op, struct firn_edit *edit, const json_t *update)
{
    const char *key;
    json_t *value, *copy = firn_json_copy(op->arena, member_of(update, "updates", "updated"));
    if (!json_is_object(copy))
        return firn_fail(op, FIRN_CORRUPT, "set-properties has no \"updates\"");
    json_t *properties = firn_edit_object(edit, "properties");
    json_object_foreach(copy, key, value)
    {
        if (!json_is_string(value))
            return firn_fail(op, FIRN_CORRUPT, "set-properties: \"%s\" is not text", key);
        if (!is_reserved(key))
            json_object_set(properties, key, value);
    }
    return FIRN_OK;
}

static firn_status remove_properties(struct firn_op *op, struct firn_edit *edit, const json_t *update)
{
    const json_t *removals = member_of(update, "removals", "removed");
    if (!json_is_array(removals))
        return firn_fail(op, FIRN_CORRUPT, "remove-properties has no \"removals\"");
    json_t *properties = firn_edit_object(edit, "properties");
    for (size_t i = 0; i < json_array_size(removals); i++) {
        const json_t *key = json_array_get(removals, i);
        if (!json_is_string(key))
            return firn_fail(op, FIRN_CORRUPT, "remove-properties: a name is not text");
        json_object_deln(properties, json_string_value(key), json_string_length(key));
    }
    return FIRN_OK;
}

static const struct {
    const char *action;
    firn_edit_function *apply;
} actions[] = {
    { "assign-uuid", assign_uuid },
    { "upgrade-format-version", upgrade_version },
    { "add-schema", firn_edit_add_schema },
    { "set-current-schema", firn_edit_set_current_schema },
    { "remove-schemas", firn_edit_remove_schemas },
    { "add-spec", firn_edit_add_spec },
    { "set-default-spec", firn_edit_set_default_spec },
    { "remove-partition-specs", firn_edit_remove_specs },
    { "add-sort-order", firn_edit_add_sort_order },
    { "set-default-sort-order", firn_edit_set_default_sort_order },
    { "add-snapshot", firn_edit_add_snapshot },
    { "remove-snapshots", firn_edit_remove_snapshots },
    { "set-snapshot-ref", firn_edit_set_ref },
    { "remove-snapshot-ref", firn_edit_remove_ref },
    { "set-statistics", firn_edit_set_statistics },
    { "remove-statistics", firn_edit_remove_statistics },
    { "set-partition-statistics", firn_edit_set_partition_statistics },
    { "remove-partition-statistics", firn_edit_remove_partition_statistics },
    { "set-properties", set_properties },
    { "remove-properties", remove_properties },
    { "set-location", set_location },
    { "add-encryption-key", firn_edit_add_encryption_key },
    { "remove-encryption-key", firn_edit_remove_encryption_key },
};

static firn_status apply_one(struct firn_op *op, struct firn_edit *edit, const json_t *update)
{
    struct firn_text action;
    FIRN_TRY(firn_json_need_text(op, update, "action", "table update", &action));
    for (size_t i = 0; i < FIRN_COUNT_OF(actions); i++)
        if (firn_text_is(action, actions[i].action))
            return firn_context(op, actions[i].apply(op, edit, update), "%s", actions[i].action);
    return firn_fail(op, FIRN_UNSUPPORTED, "table update '%.*s'", FIRN_FMT(action));
}

/* The version a new table is to have decides what the updates before may do, so it is looked for first. */
static int32_t new_table_version(const json_t *updates)
{
    int32_t version = VERSION_DEFAULT;
    for (size_t i = 0; i < json_array_size(updates); i++) {
        const json_t *wanted = json_object_get(json_array_get(updates, i), "format-version");
        if (json_is_integer(wanted) && json_integer_value(wanted) >= 1 &&
            json_integer_value(wanted) <= FIRN_FORMAT_VERSION_MAX)
            version = (int32_t)json_integer_value(wanted);
    }
    return version;
}

/* Members in the order the reference writes them. */
static json_t *new_root(struct firn_op *op, int32_t version)
{
    static const char *const lists[] = { "snapshots", "statistics", "partition-statistics", "snapshot-log",
                                         "metadata-log" };
    json_t *root = firn_json_own(op->arena, json_object());
    firn_json_set_i64(root, "format-version", version);
    firn_json_set_text(root, "table-uuid", firn_uuid_text(op->arena, firn_uuid_random(op)));
    firn_json_set_text(root, "location", FIRN_TEXT(""));
    if (version >= 2)
        firn_json_set_i64(root, "last-sequence-number", 0);
    firn_json_set_i64(root, "last-updated-ms", 0);
    firn_json_set_i64(root, "last-column-id", 0);
    firn_json_set_i64(root, "current-schema-id", -1);
    firn_json_set(root, "schemas", json_array());
    firn_json_set_i64(root, "default-spec-id", 0);
    firn_json_set(root, "partition-specs", json_array());
    firn_json_set_i64(root, "last-partition-id", PARTITION_ID_BEFORE_FIRST);
    firn_json_set_i64(root, "default-sort-order-id", 0);
    firn_json_set(root, "sort-orders", json_array());
    firn_json_set(root, "properties", json_object());
    firn_json_set(root, "current-snapshot-id", version >= 3 ? json_null() : json_integer(FIRN_NO_SNAPSHOT));
    if (version >= 3)
        firn_json_set_i64(root, "next-row-id", 0);
    firn_json_set(root, "refs", json_object());
    for (size_t i = 0; i < FIRN_COUNT_OF(lists); i++)
        firn_json_set(root, lists[i], json_array());
    return root;
}

/* The ids that the reader assigned, written down. */
static void complete_field_ids(json_t *specs, const struct firn_metadata *base)
{
    for (uint32_t i = 0; i < base->spec_count; i++) {
        json_t *fields = json_object_get(json_array_get(specs, i), "fields");
        for (uint32_t k = 0; k < base->specs[i].field_count; k++)
            firn_json_set_i64(json_array_get(fields, k), "field-id", base->specs[i].fields[k].field_id);
    }
}

/* Version 1 files may leave out what later versions require; a rewritten one has it all, so that updates find it. */
static void complete_version_1(struct firn_op *op, struct firn_edit *edit)
{
    const struct firn_metadata *base = edit->base;
    json_t *root = edit->root;
    if (base->table_uuid.len == 0)
        firn_json_set_text(root, "table-uuid", firn_uuid_text(op->arena, firn_uuid_random(op)));
    if (!json_is_array(json_object_get(root, "schemas"))) {
        json_t *schema = json_deep_copy(json_object_get(root, "schema"));
        firn_json_set_i64(schema, "schema-id", base->current_schema_id);
        json_array_append_new(firn_edit_array(edit, "schemas"), schema);
    }
    if (!json_is_array(json_object_get(root, "partition-specs")))
        json_array_append_new(firn_edit_array(edit, "partition-specs"), firn_partition_spec_json(base->specs));
    complete_field_ids(json_object_get(root, "partition-specs"), base);
    if (!json_is_array(json_object_get(root, "sort-orders")))
        json_array_append_new(firn_edit_array(edit, "sort-orders"), firn_sort_order_json(base->sort_orders));
    firn_json_set_i64(root, "current-schema-id", base->current_schema_id);
    firn_json_set_i64(root, "default-spec-id", base->default_spec_id);
    firn_json_set_i64(root, "last-partition-id", base->last_partition_id);
    firn_json_set_i64(root, "default-sort-order-id", base->default_sort_order_id);
}

/* Lists that grow with a table's history: their items are added and dropped, never edited, so the copy shares them. */
static bool shares_items(const char *key)
{
    static const char *const keys[] = { "snapshots", "snapshot-log", "metadata-log", "statistics",
                                        "partition-statistics" };
    for (size_t i = 0; i < FIRN_COUNT_OF(keys); i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

static json_t *copy_tree(struct firn_arena *arena, json_t *root)
{
    const char *key;
    json_t *value, *copy = firn_json_own(arena, json_object());
    json_object_foreach(root, key, value)
        json_object_set_new(copy, key, shares_items(key) ? json_copy(value) : json_deep_copy(value));
    return copy;
}

static firn_status begin(struct firn_op *op, struct firn_edit *edit, const json_t *updates)
{
    if (!edit->base) {
        edit->root = new_root(op, new_table_version(updates));
        return FIRN_OK;
    }
    edit->root = copy_tree(op->arena, edit->base->root);
    if (edit->base->format_version == 1)
        complete_version_1(op, edit);
    return FIRN_OK;
}

/* A new table that was given no spec or order is unpartitioned and unsorted. */
static firn_status complete_new_table(struct firn_op *op, struct firn_edit *edit)
{
    static const struct firn_partition_spec unpartitioned = { 0 };
    static const struct firn_sort_order unsorted = { 0 };
    struct firn_text location;
    FIRN_TRY(firn_json_need_text(op, edit->root, "location", "new table", &location));
    if (location.len == 0)
        return firn_fail(op, FIRN_USAGE, "a new table needs a location");
    if (json_array_size(json_object_get(edit->root, "schemas")) == 0)
        return firn_fail(op, FIRN_USAGE, "a new table needs a schema");
    if (json_array_size(json_object_get(edit->root, "partition-specs")) == 0)
        json_array_append_new(firn_edit_array(edit, "partition-specs"), firn_partition_spec_json(&unpartitioned));
    if (json_array_size(json_object_get(edit->root, "sort-orders")) == 0)
        json_array_append_new(firn_edit_array(edit, "sort-orders"), firn_sort_order_json(&unsorted));
    return FIRN_OK;
}

/* Version 1 repeats the current schema and spec under older names; a later version that has them too keeps them true.
 */
static void mirror_for_version_1(struct firn_edit *edit)
{
    json_t *root = edit->root;
    bool needed = firn_edit_version(edit) == 1;
    int32_t schema_id = (int32_t)json_integer_value(json_object_get(root, "current-schema-id"));
    int32_t spec_id = (int32_t)json_integer_value(json_object_get(root, "default-spec-id"));
    const json_t *schema = firn_edit_find(edit, "schemas", "schema-id", schema_id);
    const json_t *fields = json_object_get(firn_edit_find(edit, "partition-specs", "spec-id", spec_id), "fields");
    if (schema && (needed || json_object_get(root, "schema")))
        firn_json_set(root, "schema", json_deep_copy(schema));
    if (fields && (needed || json_object_get(root, "partition-spec")))
        firn_json_set(root, "partition-spec", json_deep_copy(fields));
}

/* Appends the file that was current, and cuts the log's beginning; what was cut is listed in `cut`. */
static firn_status log_previous_file(struct firn_op *op, struct firn_edit *edit, struct firn_text file, json_t *cut)
{
    const struct firn_metadata view = { .root = edit->root };
    int64_t keep;
    if (!edit->base || file.len == 0)
        return FIRN_OK;
    FIRN_TRY(firn_property_i64(op, &view, PREVIOUS_VERSIONS_PROPERTY, PREVIOUS_VERSIONS_DEFAULT, &keep));
    json_t *log = firn_edit_array(edit, "metadata-log"), *entry = json_object();
    firn_json_set_i64(entry, "timestamp-ms", edit->base->last_updated_ms);
    firn_json_set_text(entry, "metadata-file", file);
    json_array_append_new(log, entry);
    size_t count = json_array_size(log), kept = (size_t)FIRN_MAX(keep, 1);
    json_t *rest = json_array();
    for (size_t i = 0; i < count; i++) {
        json_t *item = json_array_get(log, i);
        if (i + kept < count)
            json_array_append(cut, json_object_get(item, "metadata-file"));
        else
            json_array_append(rest, item);
    }
    firn_json_set(edit->root, "metadata-log", rest);
    return FIRN_OK;
}

firn_status firn_updates_apply(struct firn_op *op, const json_t *updates, const struct firn_metadata *metadata,
                               struct firn_text metadata_file, int64_t now_ms, struct firn_metadata **out, json_t **cut)
{
    json_t *cut_files = firn_json_own(op->arena, json_array());
    /* This machine's clock may be behind that of the last writer; the table's time does not go back for it. */
    struct firn_edit edit = { .base = metadata,
                              .now_ms = metadata ? FIRN_MAX(now_ms, metadata->last_updated_ms) : now_ms,
                              .updated_ms = -1,
                              .last_schema_id = -1,
                              .last_spec_id = -1,
                              .last_order_id = -1 };
    if (!json_is_array(updates))
        return firn_fail(op, FIRN_CORRUPT, "table updates are not an array");
    FIRN_TRY(begin(op, &edit, updates));
    for (size_t i = 0; i < json_array_size(updates); i++)
        FIRN_TRY(apply_one(op, &edit, json_array_get(updates, i)));
    if (!metadata)
        FIRN_TRY(complete_new_table(op, &edit));
    firn_edit_finish_snapshot_log(op, &edit);
    mirror_for_version_1(&edit);
    firn_json_set_i64(edit.root, "last-updated-ms", edit.updated_ms >= 0 ? edit.updated_ms : edit.now_ms);
    FIRN_TRY(log_previous_file(op, &edit, metadata_file, cut_files));
    if (cut)
        *cut = cut_files;
    return firn_metadata_parse_json(op, edit.root, out);
}
