/* Catalogs of any kind: opening, loading, listing, and metadata files. */
#include "catalog/catalog.h"

#include "base/math.h"

#include <stdlib.h>

/* A table with a million snapshots has some 500 MB of metadata. */
#define METADATA_BYTES_MAX (UINT64_C(1) << 30)

struct firn_catalog *firn_catalog_new(const struct firn_catalog_kind *kind, struct firn_store *store,
                                      const struct firn_catalog_config *config)
{
    struct firn_arena arena;
    firn_arena_init(&arena);
    struct firn_catalog *catalog = FIRN_NEW(&arena, struct firn_catalog);
    *catalog = (struct firn_catalog){ .kind = kind, .config = config, .store = store };
    catalog->arena = arena;
    return catalog;
}

/* As PyIceberg does, the kind follows from the URI when `type` is absent. */
static struct firn_text kind_name(const struct firn_catalog_config *config)
{
    struct firn_text type = firn_catalog_property(config, "type");
    struct firn_text uri = firn_catalog_property(config, "uri");
    if (type.len > 0)
        return type;
    if (firn_text_starts(uri, FIRN_TEXT("sqlite")) || firn_text_starts(uri, FIRN_TEXT("jdbc:")) ||
        firn_text_starts(uri, FIRN_TEXT("postgresql")))
        return FIRN_TEXT("sql");
    if (firn_text_starts(uri, FIRN_TEXT("http")))
        return FIRN_TEXT("rest");
    return uri.len == 0 && firn_catalog_property(config, "warehouse").len > 0 ? FIRN_TEXT("hadoop") : FIRN_TEXT("");
}

static const struct {
    const char *type;
    const struct firn_catalog_kind *kind;
} kinds[] = {
    { "sql", &firn_sql_kind },
    { "jdbc", &firn_sql_kind }, /* as Java calls it */
    { "hadoop", &firn_hadoop_kind },
};

firn_status firn_catalog_open(struct firn_op *op, struct firn_store *store, const struct firn_catalog_config *config,
                              struct firn_catalog **out)
{
    struct firn_text type = kind_name(config);
    const struct firn_catalog_kind *kind = NULL;
    for (size_t i = 0; i < FIRN_COUNT_OF(kinds); i++)
        if (firn_text_same_nocase(type, firn_text_of(kinds[i].type)))
            kind = kinds[i].kind;
    if (type.len == 0)
        return firn_fail(op, FIRN_USAGE, "catalog '%.*s' needs the property 'type' (sql or hadoop)",
                         FIRN_FMT(config->name));
    if (!kind)
        return firn_fail(op, FIRN_UNSUPPORTED, "catalog '%.*s' is of type '%.*s'; sql and hadoop are supported",
                         FIRN_FMT(config->name), FIRN_FMT(type));
    struct firn_catalog *catalog = firn_catalog_new(kind, store, config);
    firn_status status = kind->open(op, catalog);
    if (status != FIRN_OK) {
        firn_catalog_close(catalog);
        return firn_context(op, status, "catalog '%.*s'", FIRN_FMT(config->name));
    }
    *out = catalog;
    return FIRN_OK;
}

void firn_catalog_close(struct firn_catalog *catalog)
{
    if (!catalog)
        return;
    if (catalog->kind->close)
        catalog->kind->close(catalog);
    struct firn_arena arena = catalog->arena;
    firn_arena_done(&arena);
}

struct firn_text firn_catalog_name(const struct firn_catalog *catalog)
{
    return catalog->config->name;
}

static firn_status find_current(struct firn_op *op, struct firn_catalog *catalog, struct firn_text identifier,
                                const struct firn_table_version *known, struct firn_table_version *out)
{
    struct firn_metadata *metadata;
    FIRN_TRY(catalog->kind->locate(op, catalog, identifier, &out->location));
    if (known && firn_text_same(out->location, known->location)) {
        *out = *known;
        return FIRN_OK;
    }
    FIRN_TRY(firn_metadata_load(op, catalog->store, out->location, &metadata));
    out->metadata = metadata;
    return FIRN_OK;
}

/* A file may be gone before it is read, when others commit and write.metadata.delete-after-commit.enabled is set: then
 * there is a newer one. */
firn_status firn_catalog_current(struct firn_op *op, struct firn_catalog *catalog, struct firn_text identifier,
                                 const struct firn_table_version *known, struct firn_table_version *out)
{
    struct firn_text missed = { 0 };
    for (;;) {
        *out = (struct firn_table_version){ 0 };
        firn_status status = find_current(op, catalog, identifier, known, out);
        if (status != FIRN_NOT_FOUND || out->location.len == 0 || firn_text_same(out->location, missed))
            return status;
        FIRN_TRY(firn_op_check(op));
        missed = out->location;
    }
}

/* A table that must not be changed can still be read. */
static void drop_catalog_unless_writable(struct firn_op *op, struct firn_table *table)
{
    const struct firn_catalog_kind *kind = table->catalog->kind;
    if (!kind->check_writable ||
        kind->check_writable(op, table->catalog, table->identifier, table->metadata) == FIRN_OK)
        return;
    const char *hint = op->error.hint;
    firn_log(op, FIRN_LOG_WARN, "table '%.*s' is opened for reading only: %s%s%s", FIRN_FMT(table->name),
             op->error.text, hint[0] ? "; " : "", hint);
    table->catalog = NULL;
}

firn_status firn_catalog_load(struct firn_op *op, struct firn_catalog *catalog, struct firn_text identifier,
                              struct firn_table *out)
{
    struct firn_table_version current;
    *out = (struct firn_table){
        .catalog = catalog,
        .store = catalog->store,
        .name = firn_text_format(op->arena, "%.*s.%.*s", FIRN_FMT(catalog->config->name), FIRN_FMT(identifier)),
        .identifier = firn_text_copy(op->arena, identifier),
    };
    firn_status status = firn_catalog_current(op, catalog, identifier, NULL, &current);
    if (status != FIRN_OK)
        return firn_context(op, status, "table '%.*s'", FIRN_FMT(out->name));
    out->metadata_location = current.location;
    out->metadata = current.metadata;
    drop_catalog_unless_writable(op, out);
    return FIRN_OK;
}

firn_status firn_table_refresh(struct firn_op *op, struct firn_table *table)
{
    if (!table->catalog)
        return FIRN_OK;
    struct firn_table_version known = { table->metadata_location, table->metadata };
    struct firn_table_version current;
    firn_status status = firn_catalog_current(op, table->catalog, table->identifier, &known, &current);
    if (status != FIRN_OK)
        return firn_context(op, status, "table '%.*s'", FIRN_FMT(table->name));
    if (!firn_text_same_nocase(current.metadata->table_uuid, known.metadata->table_uuid))
        return firn_fail(op, FIRN_CONFLICT, "table '%.*s' was dropped and another was made in its place",
                         FIRN_FMT(table->name));
    table->metadata_location = current.location;
    table->metadata = current.metadata;
    return FIRN_OK;
}

struct found_tables {
    FIRN_ARRAY(struct firn_text) names;
};

static firn_status collect_table(struct firn_op *op, void *context, struct firn_text identifier)
{
    struct found_tables *found = context;
    FIRN_PUSH(op->arena, &found->names, firn_text_copy(op->arena, identifier));
    return FIRN_OK;
}

static int compare_names(const void *a, const void *b)
{
    return firn_text_compare(*(const struct firn_text *)a, *(const struct firn_text *)b);
}

firn_status firn_catalog_list(struct firn_op *op, struct firn_catalog *catalog, firn_catalog_visit *visit,
                              void *context)
{
    struct found_tables found = { 0 };
    firn_status status = catalog->kind->list(op, catalog, collect_table, &found);
    if (status != FIRN_OK)
        return firn_context(op, status, "catalog '%.*s'", FIRN_FMT(catalog->config->name));
    if (found.names.count > 1)
        qsort(found.names.items, found.names.count, sizeof *found.names.items, compare_names);
    for (size_t i = 0; i < found.names.count; i++)
        FIRN_TRY(visit(op, context, found.names.items[i]));
    return FIRN_OK;
}

firn_status firn_catalog_create_namespace(struct firn_op *op, struct firn_catalog *catalog, struct firn_text name)
{
    return firn_context(op, catalog->kind->create_namespace(op, catalog, name), "namespace '%.*s'", FIRN_FMT(name));
}

static firn_status parse_metadata(struct firn_op *op, struct firn_store *store, struct firn_text location,
                                  struct firn_buffer *content, struct firn_metadata **out)
{
    FIRN_TRY(firn_store_read(op, store, location, METADATA_BYTES_MAX, content));
    return firn_metadata_parse_file(op, location, firn_buffer_bytes(content), out);
}

firn_status firn_metadata_load(struct firn_op *op, struct firn_store *store, struct firn_text location,
                               struct firn_metadata **out)
{
    struct firn_buffer content = { 0 };
    firn_status status = parse_metadata(op, store, location, &content, out);
    firn_buffer_done(&content);
    return firn_context(op, status, "metadata file '%.*s'", FIRN_FMT(location));
}

static bool is_gzip_name(struct firn_text location)
{
    return firn_text_ends(location, FIRN_TEXT(".gz.metadata.json")) ||
           firn_text_ends(location, FIRN_TEXT(".metadata.json.gz"));
}

firn_status firn_metadata_save(struct firn_op *op, struct firn_store *store, struct firn_text location,
                               const struct firn_metadata *metadata)
{
    struct firn_buffer content = { 0 };
    firn_status status = firn_metadata_print_file(op, metadata, is_gzip_name(location), &content);
    if (status == FIRN_OK)
        status = firn_store_put(op, store, location, true, firn_buffer_bytes(&content));
    firn_buffer_done(&content);
    return status;
}

firn_status firn_metadata_wants_gzip(struct firn_op *op, const struct firn_metadata *metadata, bool *out)
{
    struct firn_text codec = firn_property_text(metadata, "write.metadata.compression-codec", FIRN_TEXT("none"));
    *out = firn_text_same_nocase(codec, FIRN_TEXT("gzip"));
    if (*out || firn_text_same_nocase(codec, FIRN_TEXT("none")))
        return FIRN_OK;
    return firn_fail(op, FIRN_USAGE, "write.metadata.compression-codec is '%.*s', not none or gzip", FIRN_FMT(codec));
}

bool firn_metadata_log_has(const struct firn_metadata *metadata, struct firn_text location)
{
    for (uint32_t i = 0; i < metadata->metadata_log_count; i++)
        if (firn_text_same(metadata->metadata_log[i].metadata_file, location))
            return true;
    return false;
}

static struct firn_text without_trailing_slashes(struct firn_text text)
{
    while (text.len > 1 && text.data[text.len - 1] == '/')
        text.len--;
    return text;
}

bool firn_location_same(struct firn_op *op, struct firn_store *store, struct firn_text a, struct firn_text b)
{
    struct firn_text path_a, path_b;
    if (firn_store_local_path(op, store, a, &path_a) != FIRN_OK ||
        firn_store_local_path(op, store, b, &path_b) != FIRN_OK)
        return firn_text_same(without_trailing_slashes(a), without_trailing_slashes(b));
    char *real_a = realpath(firn_text_copy(op->arena, path_a).data, NULL);
    char *real_b = realpath(firn_text_copy(op->arena, path_b).data, NULL);
    bool same = real_a && real_b ? strcmp(real_a, real_b) == 0
                                 : firn_text_same(without_trailing_slashes(path_a), without_trailing_slashes(path_b));
    free(real_a);
    free(real_b);
    return same;
}
