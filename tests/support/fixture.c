/* The fixture table. */
#include "support/fixture.h"

#include "base/map.h"
#include "table/scan.h"

#include <stdlib.h>

static firn_status open_catalog(struct firn_op *op, struct firn_store *store, struct fixture *out)
{
    out->store = store;
    out->config.name = FIRN_TEXT("c");
    out->config.properties = out->properties;
    return firn_catalog_open(op, store, &out->config, &out->catalog);
}

firn_status fixture_open(struct firn_op *op, struct firn_store *store, struct firn_text warehouse, struct fixture *out)
{
    *out = (struct fixture){
        .properties = { { FIRN_TEXT("type"), FIRN_TEXT("hadoop") }, { FIRN_TEXT("warehouse"), warehouse } },
        .config.property_count = 2,
    };
    return open_catalog(op, store, out);
}

firn_status fixture_open_sql(struct firn_op *op, struct firn_store *store, struct firn_text folder, struct fixture *out)
{
    struct firn_text uri = firn_text_format(op->arena, "sqlite:///%.*s/catalog.db", FIRN_FMT(folder));
    *out = (struct fixture){
        .properties = { { FIRN_TEXT("uri"), uri }, { FIRN_TEXT("warehouse"), folder } },
        .config.property_count = 2,
    };
    return open_catalog(op, store, out);
}

void fixture_close(struct fixture *fixture)
{
    firn_catalog_close(fixture->catalog);
    fixture->catalog = NULL;
}

firn_status fixture_create(struct firn_op *op, struct fixture *fixture, struct fixture_options options)
{
    static const char schema_text[] = "{\"type\": \"struct\", \"schema-id\": 0, \"fields\": ["
                                      "{\"id\": 1, \"name\": \"id\", \"required\": false, \"type\": \"int\"},"
                                      "{\"id\": 2, \"name\": \"v\", \"required\": false, \"type\": \"string\"}]}";
    json_t *schema, *spec = NULL, *properties = NULL;
    FIRN_TRY(firn_json_parse(op, firn_text_of(schema_text), "schema", &schema));
    if (options.spec)
        FIRN_TRY(firn_json_parse(op, firn_text_of(options.spec), "spec", &spec));
    if (options.properties)
        FIRN_TRY(firn_json_parse(op, firn_text_of(options.properties), "properties", &properties));
    return firn_catalog_create_table(op, fixture->catalog, FIRN_TEXT("db.t"), schema, spec, NULL, properties,
                                     &fixture->table);
}

firn_status fixture_load(struct firn_op *op, struct fixture *fixture)
{
    return firn_catalog_load(op, fixture->catalog, FIRN_TEXT("db.t"), &fixture->table);
}

struct firn_data_file fixture_file(struct firn_op *op, const struct fixture *fixture, const char *name,
                                   int64_t record_count)
{
    struct firn_text folder = firn_location_join(op->arena, fixture->table.metadata->location, FIRN_TEXT("data"));
    struct firn_text path = firn_location_join(op->arena, folder, firn_text_of(name));
    FIRN_IGNORE(firn_store_put(op, fixture->store, path, false, firn_bytes_of_text(firn_text_of(name))),
                "a fault store may refuse it; the caller checks what matters");
    return (struct firn_data_file){
        .path = path,
        .format = FIRN_FILE_PARQUET,
        .format_text = FIRN_TEXT("PARQUET"),
        .record_count = record_count,
        .file_bytes = (int64_t)strlen(name),
        .sort_order_id = FIRN_ABSENT,
        .first_row_id = FIRN_ABSENT,
        .content_offset = FIRN_ABSENT,
        .content_bytes = FIRN_ABSENT,
    };
}

firn_status fixture_append(struct firn_op *op, struct fixture *fixture, const struct firn_data_file *files,
                           uint32_t count)
{
    struct firn_snapshot_result result;
    struct firn_snapshot_change change = {
        .operation = FIRN_TEXT("append"),
        .branch = FIRN_TEXT("main"),
        .added = files,
        .added_count = count,
        .added_sequence_number = FIRN_ABSENT,
        .base_snapshot_id = FIRN_NO_SNAPSHOT,
    };
    return firn_snapshot_commit(op, NULL, &fixture->table, &change, &result);
}

firn_status fixture_delete(struct firn_op *op, struct fixture *fixture, const struct firn_data_file *files,
                           uint32_t count)
{
    struct firn_snapshot_result result;
    struct firn_snapshot_change change = {
        .operation = FIRN_TEXT("overwrite"),
        .branch = FIRN_TEXT("main"),
        .added_deletes = files,
        .added_delete_count = count,
        .base_snapshot_id = FIRN_NO_SNAPSHOT,
    };
    return firn_snapshot_commit(op, NULL, &fixture->table, &change, &result);
}

firn_status fixture_tag(struct firn_op *op, struct fixture *fixture, struct firn_text name)
{
    json_t *requirements = firn_json_own(op->arena, json_array());
    json_t *updates = firn_json_own(op->arena, json_array());
    json_t *update = json_object();
    firn_json_set_text(update, "action", FIRN_TEXT("set-snapshot-ref"));
    firn_json_set_text(update, "ref-name", name);
    firn_json_set_text(update, "type", FIRN_TEXT("tag"));
    firn_json_set_i64(update, "snapshot-id", fixture->table.metadata->current_snapshot_id);
    json_array_append_new(updates, update);
    return firn_catalog_commit(op, &fixture->table, requirements, updates);
}

static struct firn_text base_name(struct firn_text path)
{
    return firn_text_from(path, (size_t)(firn_text_find_last(path, '/') + 1));
}

static int compare_texts(const void *a, const void *b)
{
    return firn_text_compare(*(const struct firn_text *)a, *(const struct firn_text *)b);
}

struct names {
    struct firn_text *items;
    size_t count, capacity;
};

static struct firn_text joined(struct firn_op *op, struct names *names)
{
    struct firn_text text = { 0 };
    if (names->count > 1)
        qsort(names->items, names->count, sizeof *names->items, compare_texts);
    for (size_t i = 0; i < names->count; i++)
        text = firn_text_format(op->arena, "%.*s%s%.*s", FIRN_FMT(text), i ? " " : "", FIRN_FMT(names->items[i]));
    return text;
}

static firn_status read_snapshot(struct firn_op *op, struct fixture *fixture, const struct firn_snapshot *snapshot,
                                 struct names *data, struct names *deletes)
{
    const struct firn_metadata *metadata = fixture->table.metadata;
    struct firn_manifest_list list;
    FIRN_TRY(firn_snapshot_manifests(op, fixture->store, metadata, snapshot, &list));
    for (uint32_t i = 0; i < list.count; i++) {
        struct firn_manifest manifest;
        struct firn_manifest_read_options options = { .skip_deleted = true };
        FIRN_TRY(firn_manifest_read(op, fixture->store, metadata, &list.manifests[i], options, &manifest));
        for (uint32_t k = 0; k < manifest.count; k++) {
            const struct firn_data_file *file = &manifest.entries[k].file;
            struct firn_store_stat info;
            FIRN_TRY(firn_store_stat(op, fixture->store, file->path, &info));
            FIRN_PUSH(op->arena, file->content == FIRN_CONTENT_DATA ? data : deletes, base_name(file->path));
        }
    }
    return FIRN_OK;
}

firn_status fixture_live(struct firn_op *op, struct fixture *fixture, struct firn_text *out)
{
    const struct firn_metadata *metadata = fixture->table.metadata;
    *out = FIRN_TEXT("");
    for (uint32_t i = 0; i < metadata->snapshot_count; i++) {
        struct names data = { 0 }, deletes = { 0 };
        FIRN_TRY(read_snapshot(op, fixture, &metadata->snapshots[i], &data, &deletes));
        if (metadata->snapshots[i].id != metadata->current_snapshot_id)
            continue;
        *out = joined(op, &data);
        if (deletes.count > 0)
            *out = firn_text_format(op->arena, "%.*s | %.*s", FIRN_FMT(*out), FIRN_FMT(joined(op, &deletes)));
    }
    return FIRN_OK;
}

struct firn_text fixture_summary(const struct fixture *fixture, const char *key)
{
    const struct firn_snapshot *current = firn_metadata_current(fixture->table.metadata);
    return current ? firn_text_of(json_string_value(json_object_get(current->summary, key))) : FIRN_TEXT("");
}

static firn_status mark_reachable(struct firn_op *op, struct fixture *fixture, struct firn_map *reachable)
{
    const struct firn_metadata *metadata = fixture->table.metadata;
    firn_map_put_text(reachable, fixture->table.metadata_location);
    for (uint32_t i = 0; i < metadata->metadata_log_count; i++)
        firn_map_put_text(reachable, metadata->metadata_log[i].metadata_file);
    for (uint32_t i = 0; i < metadata->snapshot_count; i++) {
        struct firn_manifest_list list;
        firn_map_put_text(reachable, metadata->snapshots[i].manifest_list);
        FIRN_TRY(firn_snapshot_manifests(op, fixture->store, metadata, &metadata->snapshots[i], &list));
        for (uint32_t k = 0; k < list.count; k++)
            firn_map_put_text(reachable, list.manifests[k].path);
    }
    return FIRN_OK;
}

struct orphan_count {
    const struct firn_map *reachable;
    size_t count;
};

static firn_status count_orphan(struct firn_op *op, void *context, const struct firn_store_entry *entry)
{
    (void)op;
    struct orphan_count *orphans = context;
    if (!firn_map_find_text(orphans->reachable, entry->location) &&
        !firn_text_ends(entry->location, FIRN_TEXT("version-hint.text")))
        orphans->count++;
    return FIRN_OK;
}

firn_status fixture_orphans(struct firn_op *op, struct fixture *fixture, size_t *count)
{
    struct firn_map reachable;
    struct orphan_count orphans = { .reachable = &reachable };
    struct firn_text folder = firn_location_join(op->arena, fixture->table.metadata->location, FIRN_TEXT("metadata"));
    firn_map_init(&reachable, op->arena);
    FIRN_TRY(mark_reachable(op, fixture, &reachable));
    FIRN_TRY(firn_store_list(op, fixture->store, folder, true, count_orphan, &orphans));
    *count = orphans.count;
    return FIRN_OK;
}
