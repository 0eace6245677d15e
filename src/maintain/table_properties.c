/* Setting and unsetting a table's properties. What Spark takes for a property and is none, such as current-snapshot-id,
 * is refused with a word on what to use. Reference: procedures.md, 10; REST specification, "SetPropertiesUpdate". */
#include "firn/table_properties.h"

#include "base/map.h"
#include "base/math.h"
#include "base/utf8.h"
#include "catalog/change.h"

#define FORMAT_VERSION FIRN_TEXT("format-version")

struct changing {
    const struct firn_table_properties_args *args;
    struct firn_table_properties_report *report;
};

/* Names that are not of properties, and what to do instead. */
static const struct {
    const char *key, *hint;
} not_properties[] = {
    { "current-snapshot-id", "use set_current_snapshot" },
    { "cherry-pick-snapshot-id", "use cherrypick_snapshot" },
    { "sort-order", "use ALTER TABLE ... WRITE ORDERED BY, or firn write-order" },
    { "identifier-fields", "identifier fields belong to the schema, which firn does not change" },
    { "provider", "an Iceberg table stays one" },
    { "location", "firn does not move tables" },
    { "uuid", "a table keeps its UUID" },
    { "snapshot-count", "it follows from the table's metadata" },
    { "current-snapshot-summary", "it follows from the table's metadata" },
    { "current-snapshot-timestamp-ms", "it follows from the table's metadata" },
    { "current-schema", "it follows from the table's metadata" },
    { "default-partition-spec", "it follows from the table's metadata" },
    { "default-sort-order", "it follows from the table's metadata" },
};

/* Java reads these with every commit, and a table with one that is no number can hardly be mended. */
static const char *const counts[] = { "commit.retry.num-retries", "commit.retry.min-wait-ms",
                                      "commit.retry.max-wait-ms", "commit.retry.total-timeout-ms" };

/* What JSON, and programs that end texts with a NUL, can hold. */
static bool is_plain(struct firn_text text)
{
    return firn_text_is_utf8(text) && firn_text_find(text, '\0') < 0;
}

static firn_status check_key(struct firn_op *op, struct firn_text key, struct firn_map *seen)
{
    if (key.len == 0)
        return firn_fail(op, FIRN_USAGE, "a property has an empty name");
    if (!is_plain(key))
        return firn_fail(op, FIRN_USAGE, "a property's name is not UTF-8");
    struct firn_map_entry *entry = firn_map_put_text(seen, key);
    if (entry->value.number++ > 0)
        return firn_fail(op, FIRN_USAGE, "property '%.*s' is given twice", FIRN_FMT(key));
    for (size_t i = 0; i < FIRN_COUNT_OF(not_properties); i++)
        if (firn_text_is(key, not_properties[i].key)) {
            firn_status status = firn_fail(op, FIRN_USAGE, "'%.*s' is not a property to be set", FIRN_FMT(key));
            return firn_hint(op, status, "%s", not_properties[i].hint);
        }
    return FIRN_OK;
}

static firn_status check_value(struct firn_op *op, const struct firn_property *property)
{
    int64_t value;
    if (!is_plain(property->value))
        return firn_fail(op, FIRN_USAGE, "the value of property '%.*s' is not UTF-8", FIRN_FMT(property->key));
    for (size_t i = 0; i < FIRN_COUNT_OF(counts); i++)
        if (firn_text_is(property->key, counts[i]) &&
            (!firn_text_to_i64(property->value, &value) || value < 0 || value > INT32_MAX))
            return firn_fail(op, FIRN_USAGE, "%s: '%.*s' is no whole number from 0 on", counts[i],
                             FIRN_FMT(property->value));
    return FIRN_OK;
}

static firn_status check_args(struct firn_op *op, const struct firn_table_properties_args *args)
{
    struct firn_map seen;
    firn_map_init(&seen, op->arena);
    if (args->set_count + args->unset_count == 0)
        return firn_fail(op, FIRN_USAGE, "no property is given");
    for (size_t i = 0; i < args->set_count; i++) {
        FIRN_TRY(check_key(op, args->set[i].key, &seen));
        FIRN_TRY(check_value(op, &args->set[i]));
    }
    for (size_t i = 0; i < args->unset_count; i++) {
        FIRN_TRY(check_key(op, args->unset[i], &seen));
        if (firn_text_same(args->unset[i], FORMAT_VERSION))
            return firn_fail(op, FIRN_USAGE, "a table has a format version: it cannot be unset");
    }
    return FIRN_OK;
}

/* The value a table has; `data` NULL: none. */
static struct firn_text value_of(struct firn_op *op, const struct firn_metadata *metadata, struct firn_text key)
{
    if (firn_text_same(key, FORMAT_VERSION))
        return firn_text_format(op->arena, "%d", metadata->format_version);
    const json_t *value = json_object_getn(json_object_get(metadata->root, "properties"), key.data, key.len);
    return (struct firn_text){ json_string_value(value), json_string_length(value) };
}

/* Raising the version is an update of its own; what is not above the old one is for the update to refuse. */
static firn_status upgrade(struct firn_op *op, const struct firn_property *property, struct firn_change *out)
{
    int64_t version;
    if (!firn_text_to_i64(property->value, &version) || version < 1 || version > INT32_MAX)
        return firn_fail(op, FIRN_USAGE, "format-version: '%.*s' is no format version", FIRN_FMT(property->value));
    firn_json_set_i64(firn_change_add(out, "upgrade-format-version"), "format-version", version);
    return FIRN_OK;
}

/* Java takes no change of properties at all from a table with metrics of a column that is not there. */
static firn_status check_metrics_column(struct firn_op *op, const struct firn_property *property,
                                        const struct firn_metadata *metadata)
{
    static const struct firn_text prefix = FIRN_TEXT_INIT("write.metadata.metrics.column.");
    if (!firn_text_starts(property->key, prefix))
        return FIRN_OK;
    struct firn_text column = firn_text_from(property->key, prefix.len);
    if (firn_schema_field_named(firn_metadata_current_schema(metadata), column, false))
        return FIRN_OK;
    return firn_fail(op, FIRN_USAGE, "%.*s: the table has no column '%.*s'", FIRN_FMT(property->key), FIRN_FMT(column));
}

static firn_status decide_set(struct firn_op *op, struct changing *changing, const struct firn_metadata *metadata,
                              struct firn_change *out)
{
    json_t *updates = json_object();
    firn_json_own(op->arena, updates);
    for (size_t i = 0; i < changing->args->set_count; i++) {
        const struct firn_property *property = &changing->args->set[i];
        if (!firn_text_is_utf8(property->key) || !firn_text_is_utf8(property->value))
            return firn_fail(op, FIRN_USAGE, "property '%.*s' is not UTF-8", FIRN_FMT(property->key));
        FIRN_TRY(check_metrics_column(op, property, metadata));
        struct firn_text old = value_of(op, metadata, property->key);
        changing->report->changes[i] = (struct firn_property_change){ property->key, old, property->value };
        if (old.data && firn_text_same(old, property->value))
            continue;
        if (firn_text_same(property->key, FORMAT_VERSION))
            FIRN_TRY(upgrade(op, property, out));
        else
            firn_json_set_at(updates, property->key, firn_json_string(property->value));
    }
    if (json_object_size(updates) > 0)
        json_object_set(firn_change_add(out, "set-properties"), "updates", updates);
    return FIRN_OK;
}

static void decide_unset(struct firn_op *op, struct changing *changing, const struct firn_metadata *metadata,
                         struct firn_change *out)
{
    const struct firn_table_properties_args *args = changing->args;
    json_t *removals = firn_json_own(op->arena, json_array());
    for (size_t i = 0; i < args->unset_count; i++) {
        struct firn_text key = args->unset[i], old = value_of(op, metadata, key);
        changing->report->changes[args->set_count + i] = (struct firn_property_change){ .key = key, .previous = old };
        if (old.data)
            json_array_append_new(removals, firn_json_string(key));
    }
    if (json_array_size(removals) > 0)
        json_object_set(firn_change_add(out, "remove-properties"), "removals", removals);
}

static firn_status decide(struct firn_op *op, void *context, const struct firn_table *table, struct firn_change *out)
{
    struct changing *changing = context;
    FIRN_TRY(decide_set(op, changing, table->metadata, out));
    decide_unset(op, changing, table->metadata, out);
    if (json_array_size(out->updates) > 0)
        firn_change_require_table(out, table->metadata);
    return FIRN_OK;
}

firn_status firn_table_properties_change(struct firn_op *op, struct firn_table *table,
                                         const struct firn_table_properties_args *args,
                                         struct firn_table_properties_report *out)
{
    struct changing changing = { args, out };
    FIRN_TRY(check_args(op, args));
    out->change_count = args->set_count + args->unset_count;
    out->changes = FIRN_NEW_ARRAY(op->arena, struct firn_property_change, out->change_count);
    return firn_change_run(op, table, decide, &changing, args->dry_run);
}
