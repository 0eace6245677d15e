/* Sessions: threads, budget, store and catalogs of one command. */
#include "firn/session.h"

#include "base/pool.h"
#include "catalog/catalog.h"
#include "store/store.h"

#include <stdlib.h>
#include <sys/stat.h>

struct opened {
    struct firn_text name;
    struct firn_catalog *catalog;
};

struct firn_session {
    struct firn_arena arena;
    struct firn_session_config config;
    struct firn_budget budget;
    struct firn_pool *pool;
    struct firn_store *store;
    FIRN_ARRAY(struct opened) catalogs;
};

static firn_status open_store(struct firn_op *op, struct firn_session *session)
{
    const struct firn_session_config *config = &session->config;
    struct firn_relocation *rules = FIRN_NEW_ARRAY(&session->arena, struct firn_relocation, config->relocation_count);
    for (size_t i = 0; i < config->relocation_count; i++)
        rules[i] = (struct firn_relocation){ .from = firn_text_copy(&session->arena, config->relocations[i].from),
                                             .to = firn_text_copy(&session->arena, config->relocations[i].to) };
    struct firn_store_config store = { .relocations = rules,
                                       .relocation_count = config->relocation_count,
                                       .relaxed = config->relaxed };
    return firn_store_open(op, &store, &session->store);
}

firn_status firn_session_open(struct firn_op *op, const struct firn_session_config *config, struct firn_session **out)
{
    struct firn_session *session = calloc(1, sizeof *session);
    if (!session)
        return firn_fail(op, FIRN_LIMIT, "no memory for a session");
    firn_arena_init(&session->arena);
    session->config = *config;
    session->budget.limit_bytes = (size_t)config->memory_bytes_max;
    firn_status status = firn_pool_open(op, config->thread_count, &session->pool);
    if (status == FIRN_OK)
        status = open_store(op, session);
    if (status != FIRN_OK) {
        firn_session_close(session);
        return status;
    }
    op->budget = &session->budget;
    op->temp_folder = config->temp_folder;
    *out = session;
    return FIRN_OK;
}

void firn_session_close(struct firn_session *session)
{
    if (!session)
        return;
    for (size_t i = 0; i < session->catalogs.count; i++)
        firn_catalog_close(session->catalogs.items[i].catalog);
    firn_store_close(session->store);
    firn_pool_close(session->pool);
    firn_arena_done(&session->arena);
    free(session);
}

struct firn_pool *firn_session_pool(struct firn_session *session)
{
    return session->pool;
}

struct firn_store *firn_session_store(struct firn_session *session)
{
    return session->store;
}

struct firn_work firn_session_work(const struct firn_session *session)
{
    return firn_store_work(session->store);
}

uint32_t firn_session_thread_count(const struct firn_session *session)
{
    return firn_pool_thread_count(session->pool);
}

uint64_t firn_session_memory_bytes_max(const struct firn_session *session)
{
    return session->budget.limit_bytes;
}

uint64_t firn_session_memory_bytes_peak(const struct firn_session *session)
{
    return atomic_load(&session->budget.peak_bytes);
}

static struct firn_text known_catalogs(struct firn_arena *arena, const struct firn_config *config)
{
    struct firn_text names = FIRN_TEXT("");
    for (size_t i = 0; i < config->catalog_count; i++)
        names =
            firn_text_format(arena, "%.*s%s%.*s", FIRN_FMT(names), i ? ", " : "", FIRN_FMT(config->catalogs[i].name));
    return names;
}

static firn_status fail_no_catalog(struct firn_op *op, const struct firn_config *config, struct firn_text name)
{
    if (config->catalog_count == 0) {
        firn_status status = firn_fail(op, FIRN_NOT_FOUND, "no catalog is configured");
        return firn_hint(op, status,
                         "write one into ~/.pyiceberg.yaml, set PYICEBERG_CATALOG__DEFAULT__URI, give --uri, "
                         "or name the table by its folder");
    }
    struct firn_text known = known_catalogs(op->arena, config);
    if (name.len == 0) {
        firn_status status = firn_fail(op, FIRN_NOT_FOUND, "no default catalog is configured");
        return firn_hint(op, status, "choose one with --catalog: %.*s", FIRN_FMT(known));
    }
    firn_status status = firn_fail(op, FIRN_NOT_FOUND, "catalog '%.*s' is not configured", FIRN_FMT(name));
    return firn_hint(op, status, "configured are: %.*s", FIRN_FMT(known));
}

static struct firn_text default_catalog(const struct firn_session *session)
{
    const struct firn_config *config = session->config.config;
    if (session->config.catalog.len)
        return session->config.catalog;
    if (config->default_catalog.len)
        return config->default_catalog;
    if (config->catalog_count == 1)
        return config->catalogs[0].name;
    return firn_config_find(config, FIRN_TEXT("default")) ? FIRN_TEXT("default") : FIRN_TEXT("");
}

firn_status firn_session_catalog(struct firn_op *op, struct firn_session *session, struct firn_text name,
                                 struct firn_catalog **out)
{
    if (name.len == 0)
        name = default_catalog(session);
    for (size_t i = 0; i < session->catalogs.count; i++) {
        if (firn_text_same(session->catalogs.items[i].name, name)) {
            *out = session->catalogs.items[i].catalog;
            return FIRN_OK;
        }
    }
    const struct firn_catalog_config *config = firn_config_find(session->config.config, name);
    if (!config)
        return fail_no_catalog(op, session->config.config, name);
    FIRN_TRY(firn_catalog_open(op, session->store, config, out));
    FIRN_PUSH(&session->arena, &session->catalogs, ((struct opened){ .name = config->name, .catalog = *out }));
    return FIRN_OK;
}

/* A path rather than a name: it has a slash, or ends as metadata files do. */
static bool is_location(struct firn_text name)
{
    return firn_text_find(name, '/') >= 0 || firn_text_ends(name, FIRN_TEXT(".json"));
}

static firn_status open_location(struct firn_op *op, struct firn_session *session, struct firn_text name,
                                 struct firn_table *out)
{
    struct firn_catalog *catalog = NULL;
    FIRN_TRY(firn_table_open_location(op, session->store, name, &catalog, out));
    if (catalog)
        FIRN_PUSH(&session->arena, &session->catalogs, ((struct opened){ .catalog = catalog }));
    return FIRN_OK;
}

/* A folder here that bears the name of the table which was not found may be what was meant. */
static firn_status suggest_folder(struct firn_op *op, firn_status status, struct firn_text name)
{
    struct stat info;
    if ((status != FIRN_NOT_FOUND && status != FIRN_USAGE) || name.len == 0 ||
        stat(firn_text_copy(op->arena, name).data, &info) != 0 || !S_ISDIR(info.st_mode))
        return status;
    op->error.hint[0] = 0; /* this one is nearer */
    return firn_hint(op, status, "there is a folder of that name here: as a table it is './%.*s'", FIRN_FMT(name));
}

static firn_status open_name(struct firn_op *op, struct firn_session *session, struct firn_text name,
                             struct firn_table *out)
{
    struct firn_text catalog_name = FIRN_TEXT(""), identifier = name;
    ptrdiff_t dot = firn_text_find(name, '.');
    if (dot > 0 && firn_config_find(session->config.config, firn_text_until(name, (size_t)dot))) {
        catalog_name = firn_text_until(name, (size_t)dot);
        identifier = firn_text_from(name, (size_t)dot + 1);
    }
    if (firn_text_find(identifier, '.') <= 0)
        return firn_fail(op, FIRN_USAGE,
                         "'%.*s' is no table name: catalog.namespace.table, namespace.table, a table's folder, or a "
                         "metadata.json is wanted",
                         FIRN_FMT(name));
    struct firn_catalog *catalog;
    FIRN_TRY(firn_session_catalog(op, session, catalog_name, &catalog));
    return firn_catalog_load(op, catalog, identifier, out);
}

firn_status firn_session_table(struct firn_op *op, struct firn_session *session, struct firn_text name,
                               struct firn_table *out)
{
    if (is_location(name))
        return firn_context(op, open_location(op, session, name, out), "table %.*s", FIRN_FMT(name));
    return suggest_folder(op, open_name(op, session, name, out), name);
}
