/* One attempt of a commit, and creating tables. The invariants stand in catalog.h; numbers in comments refer to them.
 */
#include "catalog/catalog.h"

#include "table/location.h"

/* Looks until the catalog answers or the policy gives up. */
static firn_status ask_committed(struct firn_op *op, const struct firn_table *table, struct firn_text location,
                                 const struct firn_metadata *metadata, bool *committed)
{
    struct firn_retry_policy policy;
    FIRN_TRY(firn_status_check_policy_of(op, metadata, &policy));
    int64_t started_ms = op->env->monotonic_ms(op->env->context);
    firn_status status;
    int32_t attempt = 0;
    do {
        status = table->catalog->kind->committed(op, table->catalog, table->identifier, location, metadata, committed);
        attempt++;
    } while (status != FIRN_OK && firn_retry_wait(op, &policy, attempt, started_ms));
    return status;
}

/* The swap's answer was lost: FIRN_OK when it happened; UNAVAILABLE, cleaned up, when it did not; else UNKNOWN, and
 * nothing is removed (4). */
static firn_status settle(struct firn_op *op, const struct firn_table *table, struct firn_text location,
                          const struct firn_metadata *metadata)
{
    struct firn_text cause = firn_text_copy(op->arena, firn_text_of(op->error.text));
    bool committed;
    if (ask_committed(op, table, location, metadata, &committed) != FIRN_OK) {
        firn_status status =
            firn_fail(op, FIRN_UNKNOWN, "it is not known whether the commit happened: %.*s", FIRN_FMT(cause));
        return firn_hint(op, status, "look whether '%.*s' is in use before anything is removed", FIRN_FMT(location));
    }
    if (committed)
        return FIRN_OK;
    firn_store_discard(op, table->store, &location, 1);
    return firn_fail(op, FIRN_UNAVAILABLE, "the commit did not happen: %.*s", FIRN_FMT(cause));
}

/* Log entries are foreign text: only what is named like a metadata file of this table is deleted. */
static bool is_own_metadata_file(struct firn_op *op, const struct firn_metadata *metadata, struct firn_text location)
{
    struct firn_text folder = firn_metadata_location(op->arena, metadata, FIRN_TEXT(""));
    return firn_text_starts(location, folder) && (firn_text_ends(location, FIRN_TEXT(".metadata.json")) ||
                                                  firn_text_ends(location, FIRN_TEXT(".metadata.json.gz")));
}

/* write.metadata.delete-after-commit.enabled: exactly the files this commit cut off the log. */
static void delete_cut_files(struct firn_op *op, const struct firn_table *table, const json_t *cut)
{
    if (!firn_property_bool(table->metadata, "write.metadata.delete-after-commit.enabled", false))
        return;
    for (size_t i = 0; i < json_array_size(cut); i++) {
        struct firn_text location = firn_text_of(json_string_value(json_array_get(cut, i)));
        if (is_own_metadata_file(op, table->metadata, location))
            firn_store_discard(op, table->store, &location, 1);
    }
}

static firn_status commit(struct firn_op *op, struct firn_table *table, const json_t *requirements,
                          const json_t *updates)
{
    struct firn_table_version known = { table->metadata_location, table->metadata };
    struct firn_table_version base; /* may be newer than what the caller knows */
    struct firn_metadata *metadata;
    struct firn_text location;
    json_t *cut = NULL;
    FIRN_TRY(firn_op_check(op));
    FIRN_TRY(firn_catalog_current(op, table->catalog, table->identifier, &known, &base));
    FIRN_TRY(firn_requirements_check(op, requirements, base.metadata)); /* (2): and the swap names base.location */
    FIRN_TRY(firn_updates_apply(op, updates, base.metadata, base.location, firn_now_ms(op), &metadata, &cut));
    if (op->watch)
        FIRN_TRY(op->watch->before_swap(op, op->watch->context));
    firn_status status = table->catalog->kind->swap(op, table->catalog, table->identifier, &base, metadata, &location);
    if (status == FIRN_UNKNOWN)
        status = settle(op, table, location, metadata);
    FIRN_TRY(status);
    table->metadata = metadata;
    table->metadata_location = location;
    delete_cut_files(op, table, cut);
    return FIRN_OK;
}

firn_status firn_catalog_commit(struct firn_op *op, struct firn_table *table, const json_t *requirements,
                                const json_t *updates)
{
    if (!table->catalog)
        return firn_fail(op, FIRN_USAGE, "table '%.*s' was opened for reading only", FIRN_FMT(table->name));
    return firn_context(op, commit(op, table, requirements, updates), "table '%.*s'", FIRN_FMT(table->name));
}

/* A REST update: {"action": ...}, appended to `updates`. */
static json_t *add_update(json_t *updates, const char *action)
{
    json_t *update = json_object();
    firn_json_set_text(update, "action", firn_text_of(action));
    json_array_append_new(updates, update);
    return update;
}

/* Properties to store: the format version is not one of them, and new tables say how they compress. */
static json_t *stored_properties(const json_t *given)
{
    json_t *properties = json_object();
    firn_json_set_text(properties, "write.parquet.compression-codec", FIRN_TEXT("zstd"));
    const char *key;
    const json_t *value;
    json_object_foreach((json_t *)(uintptr_t)given, key, value) /* jansson's loop wants a mutable object */
        if (strcmp(key, "format-version") != 0) json_object_set(properties, key, (json_t *)(uintptr_t)value);
    return properties;
}

static firn_status format_version_of(struct firn_op *op, const json_t *properties, int64_t *out)
{
    const char *text = json_string_value(json_object_get(properties, "format-version"));
    *out = 2;
    if (!text || (firn_text_to_i64(firn_text_of(text), out) && *out >= 1 && *out <= FIRN_FORMAT_VERSION_MAX))
        return FIRN_OK;
    return firn_fail(op, FIRN_USAGE, "format-version is '%s', not 1 to %d", text, FIRN_FORMAT_VERSION_MAX);
}

struct new_table {
    const json_t *schema, *spec, *sort_order, *properties;
    struct firn_text location;
};

static void add_shape(struct firn_op *op, json_t *updates, const struct new_table *new)
{
    json_t *copy = firn_json_copy(op->arena, new->schema);
    json_object_set(add_update(updates, "add-schema"), "schema", copy);
    firn_json_set_i64(add_update(updates, "set-current-schema"), "schema-id", -1);
    json_t *spec = new->spec ? json_deep_copy(new->spec) : json_pack("{s:i, s:[]}", "spec-id", 0, "fields");
    firn_json_set(add_update(updates, "add-spec"), "spec", spec);
    firn_json_set_i64(add_update(updates, "set-default-spec"), "spec-id", -1);
    json_t *order =
        new->sort_order ? json_deep_copy(new->sort_order) : json_pack("{s:i, s:[]}", "order-id", 0, "fields");
    firn_json_set(add_update(updates, "add-sort-order"), "sort-order", order);
    firn_json_set_i64(add_update(updates, "set-default-sort-order"), "sort-order-id", -1);
}

static firn_status creation_updates(struct firn_op *op, const struct new_table *new, json_t **out)
{
    int64_t version;
    FIRN_TRY(format_version_of(op, new->properties, &version));
    json_t *updates = firn_json_own(op->arena, json_array());
    struct firn_text uuid = firn_uuid_text(op->arena, firn_uuid_random(op));
    firn_json_set_text(add_update(updates, "assign-uuid"), "uuid", uuid);
    firn_json_set_i64(add_update(updates, "upgrade-format-version"), "format-version", version);
    add_shape(op, updates, new);
    firn_json_set_text(add_update(updates, "set-location"), "location", new->location);
    firn_json_set(add_update(updates, "set-properties"), "updates", stored_properties(new->properties));
    *out = updates;
    return FIRN_OK;
}

static firn_status create(struct firn_op *op, struct firn_table *table, struct new_table *new)
{
    const struct firn_catalog_kind *kind = table->catalog->kind;
    struct firn_text taken;
    json_t *updates;
    struct firn_metadata *metadata;
    firn_status status = kind->locate(op, table->catalog, table->identifier, &taken);
    if (status == FIRN_OK)
        return firn_fail(op, FIRN_EXISTS, "the table exists already");
    if (status != FIRN_NOT_FOUND)
        return status;
    FIRN_TRY(kind->default_location(op, table->catalog, table->identifier, &new->location));
    FIRN_TRY(creation_updates(op, new, &updates));
    FIRN_TRY(firn_updates_apply(op, updates, NULL, FIRN_TEXT(""), firn_now_ms(op), &metadata, NULL));
    static const struct firn_table_version nothing = { 0 };
    status = kind->swap(op, table->catalog, table->identifier, &nothing, metadata, &table->metadata_location);
    if (status == FIRN_UNKNOWN)
        status = settle(op, table, table->metadata_location, metadata);
    table->metadata = metadata;
    return status;
}

firn_status firn_catalog_create_table(struct firn_op *op, struct firn_catalog *catalog, struct firn_text identifier,
                                      const json_t *schema, const json_t *spec, const json_t *sort_order,
                                      const json_t *properties, struct firn_table *out)
{
    *out = (struct firn_table){
        .catalog = catalog,
        .store = catalog->store,
        .name = firn_text_format(op->arena, "%.*s.%.*s", FIRN_FMT(catalog->config->name), FIRN_FMT(identifier)),
        .identifier = firn_text_copy(op->arena, identifier),
    };
    struct new_table new = { .schema = schema, .spec = spec, .sort_order = sort_order, .properties = properties };
    return firn_context(op, create(op, out, &new), "table '%.*s'", FIRN_FMT(out->name));
}
