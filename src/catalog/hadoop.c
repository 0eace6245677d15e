/* The filesystem catalog: a table is a folder with metadata/v<N>.metadata.json, and version N+1 is won by creating its
 * file exclusively. Reference: format-notes.md, 15.1; Iceberg spec, "File System Tables".
 *
 * Invariants, besides those of catalog.h
 *  (5) A version's file is never replaced. It may be spelled in three ways; a version that exists in one is taken.
 *  (6) metadata/version-hint.text is only a hint: it may lag, be absent or be nonsense.
 *  (7) A version below one that exists already is not a commit. Its file can be missing only because a later commit
 *      deleted it (write.metadata.delete-after-commit.enabled), so the hint is asked again after creating one. */
#include "catalog/catalog.h"

#include "base/map.h"
#include "base/math.h"

enum { HINT_BYTES_MAX = 32, IDENTIFIER_LEVELS_MAX = 32, VERSION_MAX = INT32_MAX };

struct hadoop_state {
    struct firn_text warehouse; /* empty for a catalog of one table */
    struct firn_text table;     /* that one table's folder */
};

/* The spellings of a version's file, in the order Java looks for them. */
static const char *const spellings[] = { "v%" PRId64 ".metadata.json", "v%" PRId64 ".gz.metadata.json",
                                         "v%" PRId64 ".metadata.json.gz" };
enum { SPELLING_PLAIN, SPELLING_GZIP };

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static struct firn_text version_file(struct firn_op *op, struct firn_text table, int64_t version, size_t spelling)
{
    struct firn_text name = firn_text_format(op->arena, spellings[spelling], version);
    struct firn_text folder = firn_location_join(op->arena, table, FIRN_TEXT("metadata"));
    return firn_location_join(op->arena, folder, name);
}
#pragma GCC diagnostic pop

static struct firn_text hint_file(struct firn_op *op, struct firn_text table)
{
    return firn_location_join(op->arena, table, FIRN_TEXT("metadata/version-hint.text"));
}

/* The N of "v<N>.metadata.json" in any spelling; false for other names. */
static bool version_of(struct firn_text location, int64_t *version)
{
    struct firn_text name = firn_text_from(location, (size_t)(firn_text_find_last(location, '/') + 1));
    ptrdiff_t dot = firn_text_find(name, '.');
    if (dot < 2 || name.data[0] != 'v')
        return false;
    struct firn_text rest = firn_text_from(name, (size_t)dot);
    struct firn_text digits = firn_text_until(firn_text_from(name, 1), (size_t)dot - 1);
    return firn_text_to_i64(digits, version) && *version > 0 && *version <= VERSION_MAX &&
           (firn_text_is(rest, ".metadata.json") || firn_text_is(rest, ".gz.metadata.json") ||
            firn_text_is(rest, ".metadata.json.gz"));
}

/* Levels become folders; anything that would climb or be ambiguous is refused. */
static firn_status folder_of(struct firn_op *op, struct firn_text warehouse, struct firn_text identifier,
                             struct firn_text *out)
{
    struct firn_text rest = identifier;
    *out = warehouse;
    for (size_t level = 0; level < IDENTIFIER_LEVELS_MAX; level++) {
        ptrdiff_t dot = firn_text_find(rest, '.');
        struct firn_text part = dot < 0 ? rest : firn_text_until(rest, (size_t)dot);
        if (part.len == 0 || firn_text_find(part, '/') >= 0)
            break;
        *out = firn_location_join(op->arena, *out, part);
        if (dot < 0)
            return FIRN_OK;
        rest = firn_text_from(rest, (size_t)dot + 1);
    }
    return firn_fail(op, FIRN_USAGE, "'%.*s' is not a name of the form namespace.table", FIRN_FMT(identifier));
}

static firn_status table_folder(struct firn_op *op, const struct firn_catalog *catalog, struct firn_text identifier,
                                struct firn_text *out)
{
    const struct hadoop_state *state = catalog->state;
    if (state->table.len == 0)
        return folder_of(op, state->warehouse, identifier, out);
    *out = state->table;
    return FIRN_OK;
}

/* The version the hint names, or 0 for a hint that says nothing (6). */
static firn_status read_hint(struct firn_op *op, struct firn_store *store, struct firn_text table, int64_t *version)
{
    struct firn_buffer content = { 0 };
    *version = 0;
    firn_status status = firn_store_read(op, store, hint_file(op, table), HINT_BYTES_MAX, &content);
    struct firn_text text = firn_text_trim(firn_text_of_bytes(firn_buffer_bytes(&content)));
    if (status == FIRN_OK && (!firn_text_to_i64(text, version) || *version < 0 || *version > VERSION_MAX))
        *version = 0;
    firn_buffer_done(&content);
    return status == FIRN_NOT_FOUND || status == FIRN_LIMIT ? FIRN_OK : status;
}

/* The file of a version in whichever spelling it has; NOT_FOUND when it has none. */
static firn_status find_version(struct firn_op *op, struct firn_store *store, struct firn_text table, int64_t version,
                                struct firn_text *out)
{
    struct firn_store_stat info;
    for (size_t i = 0; i < FIRN_COUNT_OF(spellings); i++) {
        *out = version_file(op, table, version, i);
        firn_status status = firn_store_stat(op, store, *out, &info);
        if (status != FIRN_NOT_FOUND)
            return status;
    }
    return FIRN_NOT_FOUND;
}

static firn_status take_highest(struct firn_op *op, void *context, const struct firn_store_entry *entry)
{
    (void)op;
    int64_t *highest = context;
    int64_t version;
    if (version_of(entry->location, &version))
        *highest = FIRN_MAX(*highest, version);
    return FIRN_OK;
}

static firn_status list_highest(struct firn_op *op, struct firn_store *store, struct firn_text table, int64_t *version)
{
    *version = 0;
    struct firn_text folder = firn_location_join(op->arena, table, FIRN_TEXT("metadata"));
    return firn_store_list(op, store, folder, false, take_highest, version);
}

/* The newest version: from the hint, or where that leads nowhere from a listing, upwards while there is one more. */
static firn_status find_current(struct firn_op *op, struct firn_store *store, struct firn_text table, int64_t *version,
                                struct firn_text *location)
{
    FIRN_TRY(read_hint(op, store, table, version));
    firn_status status = *version > 0 ? find_version(op, store, table, *version, location) : FIRN_NOT_FOUND;
    if (status == FIRN_NOT_FOUND) {
        FIRN_TRY(list_highest(op, store, table, version));
        if (*version == 0)
            return firn_fail(op, FIRN_NOT_FOUND, "'%.*s' holds no metadata/v<N>.metadata.json", FIRN_FMT(table));
        status = find_version(op, store, table, *version, location);
    }
    while (status == FIRN_OK && *version < VERSION_MAX) {
        struct firn_text next;
        status = find_version(op, store, table, *version + 1, &next);
        if (status == FIRN_NOT_FOUND)
            return FIRN_OK;
        *location = next;
        ++*version;
    }
    return status;
}

static firn_status hadoop_open(struct firn_op *op, struct firn_catalog *catalog)
{
    struct firn_text warehouse = firn_catalog_property(catalog->config, "warehouse");
    if (warehouse.len == 0)
        return firn_fail(op, FIRN_USAGE, "a hadoop catalog needs the property 'warehouse'");
    struct hadoop_state *state = FIRN_NEW(&catalog->arena, struct hadoop_state);
    state->warehouse = firn_text_copy(&catalog->arena, warehouse);
    catalog->state = state;
    return FIRN_OK;
}

firn_status firn_hadoop_open_table(struct firn_op *op, struct firn_store *store, struct firn_text folder,
                                   struct firn_catalog **out)
{
    int64_t version;
    struct firn_text location;
    FIRN_TRY(find_current(op, store, folder, &version, &location));
    struct firn_catalog *catalog = firn_catalog_new(&firn_hadoop_kind, store, NULL);
    struct firn_catalog_config *config = FIRN_NEW(&catalog->arena, struct firn_catalog_config);
    struct hadoop_state *state = FIRN_NEW(&catalog->arena, struct hadoop_state);
    config->name = FIRN_TEXT("location");
    state->table = firn_text_copy(&catalog->arena, folder);
    catalog->config = config;
    catalog->state = state;
    *out = catalog;
    return FIRN_OK;
}

static firn_status hadoop_locate(struct firn_op *op, struct firn_catalog *catalog, struct firn_text identifier,
                                 struct firn_text *metadata_location)
{
    struct firn_text table;
    int64_t version;
    FIRN_TRY(table_folder(op, catalog, identifier, &table));
    return find_current(op, catalog->store, table, &version, metadata_location);
}

/* What this layout cannot express is refused before anything is written. */
static firn_status check_layout(struct firn_op *op, const struct firn_catalog *catalog, struct firn_text table,
                                const struct firn_metadata *metadata)
{
    if (firn_property_text(metadata, "write.metadata.path", FIRN_TEXT("")).len > 0)
        return firn_fail(op, FIRN_UNSUPPORTED, "a filesystem table cannot have write.metadata.path");
    if (firn_location_same(op, catalog->store, table, metadata->location))
        return FIRN_OK;
    firn_status status = firn_fail(op, FIRN_USAGE, "the table lies in '%.*s' but records the location '%.*s'",
                                   FIRN_FMT(table), FIRN_FMT(metadata->location));
    return firn_hint(op, status, "--relocate %.*s=%.*s says that both are one place", FIRN_FMT(metadata->location),
                     FIRN_FMT(table));
}

static firn_status same_content(struct firn_op *op, struct firn_store *store, struct firn_text location,
                                const struct firn_metadata *metadata, bool *out)
{
    struct firn_metadata *written;
    *out = false;
    firn_status status = firn_metadata_load(op, store, location, &written);
    if (status == FIRN_OK)
        *out = json_equal(written->root, metadata->root);
    return status == FIRN_NOT_FOUND ? FIRN_OK : status;
}

static firn_status taken(struct firn_op *op, int64_t version)
{
    return firn_fail(op, FIRN_CONFLICT, "another writer committed version %" PRId64 " first", version);
}

/* Creates the version's file (1, 5). A failure that may hide a success is told from the file's content. */
static firn_status create_version(struct firn_op *op, struct firn_store *store, struct firn_text location,
                                  int64_t version, const struct firn_metadata *metadata)
{
    firn_status status = firn_metadata_save(op, store, location, metadata);
    if (status == FIRN_OK)
        return FIRN_OK;
    if (status == FIRN_EXISTS)
        return taken(op, version);
    struct firn_error kept = op->error;
    bool same;
    firn_status looked = same_content(op, store, location, metadata, &same);
    op->error = kept;
    if (looked != FIRN_OK)
        return firn_context(op, FIRN_UNKNOWN, "version %" PRId64, version);
    return same ? FIRN_OK : status;
}

static firn_status in_log(struct firn_op *op, const struct firn_catalog *catalog, struct firn_text current,
                          struct firn_text location, bool *out)
{
    struct firn_metadata *metadata;
    FIRN_TRY(firn_metadata_load(op, catalog->store, current, &metadata));
    *out = firn_text_same(current, location) || firn_metadata_log_has(metadata, location);
    return FIRN_OK;
}

/* (7): a hint beyond our version means that others went on, from our version or past it. */
static firn_status check_still_newest(struct firn_op *op, const struct firn_catalog *catalog, struct firn_text table,
                                      int64_t version, struct firn_text location)
{
    int64_t newest;
    struct firn_text current;
    bool ours;
    if (read_hint(op, catalog->store, table, &newest) != FIRN_OK || newest <= version)
        return FIRN_OK;
    firn_status status = find_current(op, catalog->store, table, &newest, &current);
    if (status == FIRN_OK)
        status = in_log(op, catalog, current, location, &ours);
    if (status != FIRN_OK)
        return firn_context(op, FIRN_UNKNOWN, "version %" PRId64, version);
    if (ours)
        return FIRN_OK;
    firn_store_discard(op, catalog->store, &location, 1);
    return taken(op, newest);
}

static void write_hint(struct firn_op *op, const struct firn_catalog *catalog, struct firn_text table, int64_t version)
{
    struct firn_text text = firn_text_format(op->arena, "%" PRId64, version);
    if (firn_store_put(op, catalog->store, hint_file(op, table), false, firn_bytes_of_text(text)) != FIRN_OK)
        firn_log(op, FIRN_LOG_DEBUG, "version hint not written: %s", op->error.text);
}

/* The spelling follows the version before, so that all who race from one version race for one name (5). A changed
 * codec takes effect one commit later. */
static firn_status next_file(struct firn_op *op, struct firn_text table, int64_t version,
                             const struct firn_metadata *decides, struct firn_text *out)
{
    bool gzip;
    FIRN_TRY(firn_metadata_wants_gzip(op, decides, &gzip));
    *out = version_file(op, table, version, gzip ? SPELLING_GZIP : SPELLING_PLAIN);
    return FIRN_OK;
}

/* The version to follow; CONFLICT when the table is no longer at `base`. */
static firn_status check_base(struct firn_op *op, const struct firn_catalog *catalog, struct firn_text table,
                              const struct firn_table_version *base, int64_t *version)
{
    struct firn_text current;
    firn_status status = find_current(op, catalog->store, table, version, &current);
    if (status == FIRN_NOT_FOUND && base->location.len == 0) {
        *version = 0;
        return FIRN_OK;
    }
    FIRN_TRY(status);
    if (base->location.len == 0)
        return firn_fail(op, FIRN_EXISTS, "'%.*s' is a table already", FIRN_FMT(table));
    if (!firn_text_same(current, base->location))
        return taken(op, *version);
    return *version < VERSION_MAX ? FIRN_OK : firn_fail(op, FIRN_LIMIT, "there is no version after %d", VERSION_MAX);
}

static firn_status hadoop_swap(struct firn_op *op, struct firn_catalog *catalog, struct firn_text identifier,
                               const struct firn_table_version *base, const struct firn_metadata *metadata,
                               struct firn_text *new_location)
{
    struct firn_text table;
    int64_t version;
    FIRN_TRY(table_folder(op, catalog, identifier, &table));
    FIRN_TRY(check_layout(op, catalog, table, metadata));
    FIRN_TRY(check_base(op, catalog, table, base, &version));
    version++;
    FIRN_TRY(next_file(op, table, version, base->metadata ? base->metadata : metadata, new_location));
    FIRN_TRY(create_version(op, catalog->store, *new_location, version, metadata));
    FIRN_TRY(check_still_newest(op, catalog, table, version, *new_location));
    write_hint(op, catalog, table, version);
    return FIRN_OK;
}

static firn_status hadoop_check_writable(struct firn_op *op, struct firn_catalog *catalog, struct firn_text identifier,
                                         const struct firn_metadata *metadata)
{
    struct firn_text table;
    FIRN_TRY(table_folder(op, catalog, identifier, &table));
    return check_layout(op, catalog, table, metadata);
}

static firn_status hadoop_check_hint(struct firn_op *op, struct firn_catalog *catalog, struct firn_text identifier,
                                     bool mend, struct firn_text *wrong)
{
    struct firn_text table, location;
    struct firn_store_stat info;
    int64_t hinted, version;
    *wrong = FIRN_TEXT("");
    FIRN_TRY(table_folder(op, catalog, identifier, &table));
    firn_status status = firn_store_stat(op, catalog->store, hint_file(op, table), &info);
    if (status == FIRN_NOT_FOUND)
        return FIRN_OK;
    FIRN_TRY(status);
    FIRN_TRY(read_hint(op, catalog->store, table, &hinted));
    FIRN_TRY(find_current(op, catalog->store, table, &version, &location));
    if (hinted == version)
        return FIRN_OK;
    *wrong = hinted
                 ? firn_text_format(op->arena, "it names version %" PRId64 ", the newest is %" PRId64, hinted, version)
                 : firn_text_format(op->arena, "it names no version, the newest is %" PRId64, version);
    if (mend)
        write_hint(op, catalog, table, version);
    return FIRN_OK;
}

static firn_status hadoop_default_location(struct firn_op *op, struct firn_catalog *catalog,
                                           struct firn_text identifier, struct firn_text *location)
{
    return table_folder(op, catalog, identifier, location);
}

/* The name alone says nothing: it may be another writer's file of the same version. */
static firn_status hadoop_committed(struct firn_op *op, struct firn_catalog *catalog, struct firn_text identifier,
                                    struct firn_text location, const struct firn_metadata *metadata, bool *out)
{
    struct firn_text current;
    FIRN_TRY(same_content(op, catalog->store, location, metadata, out));
    if (!*out)
        return FIRN_OK;
    FIRN_TRY(hadoop_locate(op, catalog, identifier, &current));
    return in_log(op, catalog, current, location, out);
}

struct table_listing {
    struct firn_text warehouse;
    struct firn_map seen;
};

/* ".../ns/table/metadata/<anything>.metadata.json" makes ns.table a table. */
static firn_status take_table(struct firn_op *op, void *context, const struct firn_store_entry *entry)
{
    static const struct firn_text middle = FIRN_TEXT_INIT("/metadata");
    struct table_listing *listing = context;
    struct firn_text location = entry->location;
    if (!firn_text_ends(location, FIRN_TEXT(".metadata.json")) &&
        !firn_text_ends(location, FIRN_TEXT(".metadata.json.gz")))
        return FIRN_OK;
    struct firn_text folder = firn_text_until(location, (size_t)firn_text_find_last(location, '/'));
    if (!firn_text_ends(folder, middle) || folder.len <= listing->warehouse.len + 1 + middle.len)
        return FIRN_OK;
    struct firn_text path =
        firn_text_from(firn_text_until(folder, folder.len - middle.len), listing->warehouse.len + 1);
    if (path.len == 0 || firn_text_find(path, '.') >= 0) /* a dot could not be told from a level */
        return FIRN_OK;
    if (!firn_map_find_text(&listing->seen, path))
        firn_map_put_text(&listing->seen, firn_text_copy(op->arena, path));
    return FIRN_OK;
}

static struct firn_text dotted(struct firn_op *op, struct firn_text path)
{
    char *name = firn_arena_alloc(op->arena, path.len + 1);
    for (size_t i = 0; i < path.len; i++)
        name[i] = path.data[i] == '/' ? '.' : path.data[i];
    return (struct firn_text){ name, path.len };
}

static firn_status hadoop_list(struct firn_op *op, struct firn_catalog *catalog, firn_catalog_visit *visit,
                               void *context)
{
    const struct hadoop_state *state = catalog->state;
    struct table_listing listing = { .warehouse = state->warehouse };
    if (state->table.len > 0)
        return visit(op, context, state->table); /* the one there is */
    while (listing.warehouse.len > 1 && listing.warehouse.data[listing.warehouse.len - 1] == '/')
        listing.warehouse.len--;
    firn_map_init(&listing.seen, op->arena);
    FIRN_TRY(firn_store_list(op, catalog->store, listing.warehouse, true, take_table, &listing));
    for (size_t i = 0; i < listing.seen.count; i++) {
        struct firn_text path = firn_text_of_bytes(listing.seen.entries[i].key);
        if (firn_text_find(path, '/') > 0)
            FIRN_TRY(visit(op, context, dotted(op, path)));
    }
    return FIRN_OK;
}

/* A namespace is a folder, and folders come with the first table in them. */
static firn_status hadoop_create_namespace(struct firn_op *op, struct firn_catalog *catalog, struct firn_text name)
{
    struct firn_text folder;
    const struct hadoop_state *state = catalog->state;
    return folder_of(op, state->warehouse, name, &folder);
}

const struct firn_catalog_kind firn_hadoop_kind = {
    .type = "hadoop",
    .is_by_folder = true,
    .open = hadoop_open,
    .locate = hadoop_locate,
    .swap = hadoop_swap,
    .committed = hadoop_committed,
    .list = hadoop_list,
    .create_namespace = hadoop_create_namespace,
    .check_writable = hadoop_check_writable,
    .check_hint = hadoop_check_hint,
    .default_location = hadoop_default_location,
};
