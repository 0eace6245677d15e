/* Tables opened without a catalog's name: a folder, or one metadata file. */
#include "catalog/catalog.h"

static bool is_metadata_file(struct firn_text location)
{
    return firn_text_ends(location, FIRN_TEXT(".json")) || firn_text_ends(location, FIRN_TEXT(".json.gz"));
}

static firn_status open_metadata_file(struct firn_op *op, struct firn_text location, struct firn_table *out)
{
    struct firn_metadata *metadata;
    FIRN_TRY(firn_metadata_load(op, out->store, location, &metadata));
    out->metadata = metadata;
    out->metadata_location = location;
    return FIRN_OK;
}

/* The newest metadata file of a table that some other catalog keeps: "00012-<uuid>.metadata.json". */
struct newest {
    int64_t version;
    struct firn_text location;
    bool ambiguous; /* two files of that version: a lost commit left one of them */
};

static firn_status take_newest(struct firn_op *op, void *context, const struct firn_store_entry *entry)
{
    struct newest *newest = context;
    struct firn_text name = firn_text_from(entry->location, (size_t)(firn_text_find_last(entry->location, '/') + 1));
    ptrdiff_t dash = firn_text_find(name, '-');
    int64_t version;
    if (!is_metadata_file(name) || dash < 1 || !firn_text_to_i64(firn_text_until(name, (size_t)dash), &version) ||
        version < newest->version)
        return FIRN_OK;
    newest->ambiguous = version == newest->version;
    newest->version = version;
    newest->location = firn_text_copy(op->arena, entry->location);
    return FIRN_OK;
}

static firn_status open_newest(struct firn_op *op, struct firn_text folder, struct firn_table *out)
{
    struct newest newest = { .version = -1 };
    struct firn_text metadata_folder = firn_location_join(op->arena, folder, FIRN_TEXT("metadata"));
    FIRN_TRY(firn_store_list(op, out->store, metadata_folder, false, take_newest, &newest));
    if (newest.version < 0)
        return firn_fail(op, FIRN_NOT_FOUND, "'%.*s' is not a table: it holds no metadata/*.metadata.json",
                         FIRN_FMT(folder));
    if (newest.ambiguous)
        return firn_fail(op, FIRN_USAGE, "'%.*s' has two metadata files of version %" PRId64 ": name one of them",
                         FIRN_FMT(folder), newest.version);
    return open_metadata_file(op, newest.location, out);
}

firn_status firn_table_open_location(struct firn_op *op, struct firn_store *store, struct firn_text location,
                                     struct firn_catalog **catalog, struct firn_table *out)
{
    while (location.len > 1 && location.data[location.len - 1] == '/')
        location.len--;
    struct firn_text name = firn_text_copy(op->arena, location);
    *out = (struct firn_table){ .store = store, .name = name, .identifier = name };
    *catalog = NULL;
    if (is_metadata_file(name))
        return open_metadata_file(op, name, out);
    firn_status status = firn_hadoop_open_table(op, store, name, catalog);
    if (status == FIRN_NOT_FOUND)
        return open_newest(op, name, out);
    FIRN_TRY(status);
    status = firn_catalog_load(op, *catalog, name, out);
    out->name = name;
    if (status != FIRN_OK) {
        firn_catalog_close(*catalog);
        *catalog = NULL;
    }
    return status;
}
