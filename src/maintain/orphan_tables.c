/* Two tables in one place: metadata of another table below the location, and tables the catalog knows to lie in it. */
#include "catalog/catalog.h"
#include "maintain/orphans.h"
#include "maintain/table_identity.h"

/* Tables of the catalog ------------------------------------------------------------------------------------------ */

struct asking {
    const struct firn_table *table;
    const struct firn_orphan_options *options;
    FIRN_ARRAY(struct firn_other_table) others; /* location empty: not in the way */
};

static firn_status take_identifier(struct firn_op *op, void *context, struct firn_text identifier)
{
    struct asking *asking = context;
    if (!firn_text_same(identifier, asking->table->identifier))
        FIRN_PUSH(op->arena, &asking->others,
                  ((struct firn_other_table){ .identifier = firn_text_copy(op->arena, identifier) }));
    return FIRN_OK;
}

/* Most metadata tells at its beginning; where it is replaced while it is read, the catalog's own way is taken. */
static firn_status load_location(struct firn_op *op, const struct asking *asking, struct firn_text identifier,
                                 struct firn_text *location)
{
    struct firn_catalog *catalog = asking->table->catalog;
    struct firn_text metadata_file;
    struct firn_table_identity identity;
    struct firn_table_version version;
    FIRN_TRY(catalog->kind->locate(op, catalog, identifier, &metadata_file));
    firn_status status = firn_table_identity_read(op, catalog->store, metadata_file, &identity);
    if (status != FIRN_NOT_FOUND) {
        *location = identity.location;
        return status;
    }
    FIRN_TRY(firn_catalog_current(op, catalog, identifier, NULL, &version));
    *location = version.metadata->location;
    return FIRN_OK;
}

static firn_status load_location_with_scratch(struct firn_op *op, const struct asking *asking,
                                              struct firn_text identifier, struct firn_text *location)
{
    struct firn_arena scratch = { 0 }, *kept = op->arena;
    op->arena = &scratch;
    firn_status status = load_location(op, asking, identifier, location);
    op->arena = kept;
    if (status == FIRN_OK)
        *location = firn_text_copy(op->arena, *location);
    firn_arena_done(&scratch);
    return status;
}

static firn_status ask(struct firn_op *op, void *context, size_t index)
{
    struct asking *asking = context;
    struct firn_other_table *other = &asking->others.items[index];
    struct firn_text location;
    firn_status status = load_location_with_scratch(op, asking, other->identifier, &location);
    if (status == FIRN_CANCELLED)
        return status;
    if (status != FIRN_OK) {
        firn_log(op, FIRN_LOG_WARN, "where table '%.*s' lies cannot be told, passing over it: %s",
                 FIRN_FMT(other->identifier), op->error.text);
        return FIRN_OK;
    }
    struct firn_location_parts parts = firn_location_split(op->arena, location);
    if (!firn_orphan_options_cover(asking->options, &parts))
        return FIRN_OK;
    other->location = location;
    other->path = parts.path;
    return FIRN_OK;
}

firn_status firn_other_tables_find(struct firn_op *op, struct firn_pool *pool, const struct firn_table *table,
                                   const struct firn_orphan_options *options, struct firn_other_tables *out)
{
    struct asking asking = { .table = table, .options = options };
    *out = (struct firn_other_tables){ 0 };
    if (!table->catalog)
        return FIRN_OK;
    if (table->catalog->kind->is_by_folder && !options->trust_location)
        return FIRN_OK; /* the listing shows each table's metadata, and another walk would tell no more */
    FIRN_TRY(firn_catalog_list(op, table->catalog, take_identifier, &asking));
    FIRN_TRY(firn_pool_run(op, pool, asking.others.count, 0, ask, &asking));
    out->items = asking.others.items;
    for (size_t i = 0; i < asking.others.count; i++)
        if (asking.others.items[i].location.len)
            out->items[out->count++] = asking.others.items[i];
    return FIRN_OK;
}

const struct firn_other_table *firn_other_tables_holding(const struct firn_other_tables *tables,
                                                         const struct firn_orphan_options *options,
                                                         struct firn_text path)
{
    for (size_t i = 0; i < tables->count; i++)
        if (!firn_text_same(tables->items[i].path, options->place.path) &&
            firn_path_is_below(tables->items[i].path, path))
            return &tables->items[i];
    return NULL;
}

/* Metadata that was listed --------------------------------------------------------------------------------------- */

bool firn_is_table_metadata_name(struct firn_text location)
{
    return firn_text_ends(location, FIRN_TEXT(".metadata.json")) ||
           firn_text_ends(location, FIRN_TEXT(".metadata.json.gz"));
}

struct checking {
    const struct firn_table *table;
    const struct firn_text *locations;
};

static firn_status refuse(struct firn_op *op, firn_status status)
{
    return firn_hint(op, status,
                     "clean each table at a --location of its own; or say --trust-location if the files there are this "
                     "table's: other tables that the catalog knows are left alone then, all else is taken for orphans");
}

static firn_status check_metadata(struct firn_op *op, const struct firn_table *table, struct firn_text location)
{
    struct firn_table_identity found;
    firn_status status = firn_table_identity_read(op, table->store, location, &found);
    if (status == FIRN_NOT_FOUND) /* gone since the listing */
        return FIRN_OK;
    if (status == FIRN_CANCELLED)
        return status;
    if (status != FIRN_OK) {
        struct firn_text why = firn_text_copy(op->arena, firn_text_of(op->error.text));
        return refuse(op,
                      firn_fail(op, FIRN_DENIED, "which table a listed metadata file belongs to cannot be told: %.*s",
                                FIRN_FMT(why)));
    }
    if (firn_table_identity_same(op, table, &found))
        return FIRN_OK;
    return refuse(op, firn_fail(op, FIRN_DENIED,
                                "'%.*s' belongs to another table (uuid %.*s, location '%.*s'), whose files would be "
                                "taken for orphans",
                                FIRN_FMT(location), FIRN_FMT(found.table_uuid), FIRN_FMT(found.location)));
}

static firn_status check_one(struct firn_op *op, void *context, size_t index)
{
    const struct checking *checking = context;
    struct firn_arena scratch = { 0 }, *kept = op->arena;
    op->arena = &scratch;
    firn_status status = check_metadata(op, checking->table, checking->locations[index]);
    op->arena = kept;
    firn_arena_done(&scratch);
    return status;
}

firn_status firn_other_metadata_check(struct firn_op *op, struct firn_pool *pool, const struct firn_table *table,
                                      const struct firn_text *locations, size_t count)
{
    struct checking checking = { .table = table, .locations = locations };
    return firn_pool_run(op, pool, count, 0, check_one, &checking);
}
