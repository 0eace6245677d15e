/* The SQL catalog on SQLite: the tables and statements of PyIceberg's SqlCatalog and Java's JdbcCatalog.
 * Reference: format-notes.md, 15.2 and 15.3.
 *
 * A table is a row; the swap is one UPDATE that names the old metadata location, so that of two writers one finds no
 * row. Version 1 of the schema has a column iceberg_type: TABLE, VIEW, or NULL for rows from before it. */
#include "catalog/catalog.h"

#include "base/math.h"
#include "base/uuid.h"
#include "table/location.h"

#include <sqlite3.h>
#include <unistd.h>

enum { BUSY_MS_MAX = 10000 };

struct sql_state {
    struct firn_text path;
    bool relaxed; /* as the store: not made to survive a loss of power */
    sqlite3 *db;
    bool has_tables;
    bool has_type; /* iceberg_type: version 1 */
};

static firn_status status_of_code(int code)
{
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return FIRN_UNAVAILABLE;
    case SQLITE_FULL:
    case SQLITE_TOOBIG:
    case SQLITE_NOMEM:
        return FIRN_LIMIT;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return FIRN_DENIED;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return FIRN_CORRUPT;
    case SQLITE_CONSTRAINT:
        return FIRN_EXISTS;
    default:
        return FIRN_SYSTEM;
    }
}

static firn_status sql_fail(struct firn_op *op, const struct sql_state *state, int code)
{
    return firn_fail(op, status_of_code(code), "database '%.*s': %s", FIRN_FMT(state->path),
                     state->db ? sqlite3_errmsg(state->db) : sqlite3_errstr(code));
}

/* "sqlite:////abs.db", "sqlite:///rel.db", "sqlite+driver:///...", "jdbc:sqlite:path"; what follows '?' is for drivers.
 */
static firn_status path_of_uri(struct firn_op *op, struct firn_text uri, struct firn_text *out)
{
    struct firn_text path = { 0 };
    ptrdiff_t slashes = firn_text_find(uri, ':');
    if (firn_text_starts(uri, FIRN_TEXT("jdbc:sqlite:")))
        path = firn_text_from(uri, sizeof "jdbc:sqlite:" - 1);
    else if (firn_text_starts(uri, FIRN_TEXT("sqlite")) && slashes > 0 &&
             firn_text_starts(firn_text_from(uri, (size_t)slashes), FIRN_TEXT(":///")))
        path = firn_text_from(uri, (size_t)slashes + 4);
    else if (!firn_text_starts(uri, FIRN_TEXT("sqlite")))
        return firn_fail(op, FIRN_UNSUPPORTED,
                         "only SQLite databases are supported: uri sqlite:////path/of/catalog.db");
    ptrdiff_t query = firn_text_find(path, '?');
    if (query >= 0)
        path = firn_text_until(path, (size_t)query);
    if (path.len == 0 || firn_text_is(path, ":memory:"))
        return firn_fail(op, FIRN_USAGE, "the uri names no database file: sqlite:////path/of/catalog.db");
    *out = path;
    return FIRN_OK;
}

/* Each "%NN" as its byte; false where a '%' stands for nothing. Followed by a NUL. */
static bool percent_decode(struct firn_arena *arena, struct firn_text text, struct firn_text *out)
{
    char *to = firn_arena_alloc(arena, text.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        int high = 0, low = text.data[i];
        if (text.data[i] == '%') {
            if (text.len - i < 3)
                return false;
            high = firn_hex_digit(text.data[i + 1]);
            low = firn_hex_digit(text.data[i + 2]);
            i += 2;
            if (high < 0 || low < 0 || high + low == 0)
                return false;
            low += high << 4;
        }
        to[len++] = (char)low;
    }
    *out = (struct firn_text){ to, len };
    return true;
}

/* SQLAlchemy takes the path as it is before version 2.1 and decodes it since: what is there tells which was meant. */
static struct firn_text existing_path(struct firn_arena *arena, struct firn_text path)
{
    struct firn_text decoded, literal = firn_text_copy(arena, path);
    if (access(literal.data, F_OK) == 0 || !percent_decode(arena, path, &decoded))
        return literal;
    return access(decoded.data, F_OK) == 0 ? decoded : literal;
}

static firn_status sql_open(struct firn_op *op, struct firn_catalog *catalog)
{
    struct firn_text uri = firn_catalog_property(catalog->config, "uri");
    struct firn_text path;
    if (uri.len == 0)
        return firn_fail(op, FIRN_USAGE, "a sql catalog needs the property 'uri'");
    FIRN_TRY(path_of_uri(op, uri, &path));
    struct sql_state *state = FIRN_NEW(&catalog->arena, struct sql_state);
    state->path = existing_path(&catalog->arena, path);
    state->relaxed = firn_store_is_relaxed(catalog->store);
    catalog->state = state;
    return FIRN_OK;
}

static void disconnect(struct sql_state *state)
{
    sqlite3_close(state->db); /* NULL is fine */
    state->db = NULL;
}

static void sql_close(struct firn_catalog *catalog)
{
    if (catalog->state)
        disconnect(catalog->state);
}

/* One prepared statement with its texts bound. */
static firn_status prepare(struct firn_op *op, const struct sql_state *state, const char *sql,
                           const struct firn_text *arguments, int argument_count, sqlite3_stmt **out)
{
    int code = sqlite3_prepare_v2(state->db, sql, -1, out, NULL);
    for (int i = 0; i < argument_count && code == SQLITE_OK; i++)
        code = sqlite3_bind_text(*out, i + 1, arguments[i].len ? arguments[i].data : "", (int)arguments[i].len,
                                 SQLITE_TRANSIENT);
    if (code == SQLITE_OK)
        return FIRN_OK;
    firn_status status = sql_fail(op, state, code);
    sqlite3_finalize(*out);
    return status;
}

typedef firn_status sql_row(struct firn_op *op, void *context, sqlite3_stmt *statement);

/* Runs a query; `row` may be NULL. `*code` receives SQLite's last answer (may be NULL). */
static firn_status query(struct firn_op *op, const struct sql_state *state, const char *sql,
                         const struct firn_text *arguments, int argument_count, sql_row *row, void *context, int *last)
{
    sqlite3_stmt *statement;
    FIRN_TRY(prepare(op, state, sql, arguments, argument_count, &statement));
    firn_status status = FIRN_OK;
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW && status == FIRN_OK)
        if (row)
            status = row(op, context, statement);
    if (status == FIRN_OK && code != SQLITE_DONE)
        status = sql_fail(op, state, code);
    if (last)
        *last = code;
    sqlite3_finalize(statement);
    return status;
}

static struct firn_text column_text(struct firn_op *op, sqlite3_stmt *statement, int column)
{
    const unsigned char *text = sqlite3_column_text(statement, column);
    struct firn_text value = { (const char *)text, text ? (size_t)sqlite3_column_bytes(statement, column) : 0 };
    return firn_text_copy(op->arena, value);
}

static firn_status take_column_name(struct firn_op *op, void *context, sqlite3_stmt *statement)
{
    struct sql_state *state = context;
    state->has_tables = true;
    if (firn_text_same_nocase(column_text(op, statement, 0), FIRN_TEXT("iceberg_type")))
        state->has_type = true;
    return FIRN_OK;
}

static firn_status detect_schema(struct firn_op *op, struct sql_state *state)
{
    state->has_tables = state->has_type = false;
    return query(op, state, "SELECT name FROM pragma_table_info('iceberg_tables')", NULL, 0, take_column_name, state,
                 NULL);
}

/* How long a statement waits for another program's lock. */
static int busy_ms(struct firn_op *op)
{
    if (op->deadline_ms == INT64_MAX)
        return BUSY_MS_MAX;
    int64_t left = op->deadline_ms - op->env->monotonic_ms(op->env->context);
    return (int)FIRN_MAX(0, FIRN_MIN(left, BUSY_MS_MAX));
}

enum sql_purpose { SQL_READ, SQL_WRITE }; /* only writing makes a database where there is none */

static firn_status connect_database(struct firn_op *op, struct sql_state *state, enum sql_purpose purpose)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX | (purpose == SQL_WRITE ? SQLITE_OPEN_CREATE : 0);
    int code = sqlite3_open_v2(state->path.data, &state->db, flags, NULL);
    firn_status status = FIRN_OK;
    if (code != SQLITE_OK) {
        status = sql_fail(op, state, code);
        if ((code & 0xff) == SQLITE_CANTOPEN && purpose == SQL_READ)
            status = firn_fail(op, FIRN_NOT_FOUND, "database '%.*s' does not exist or cannot be opened",
                               FIRN_FMT(state->path));
    } else {
        sqlite3_busy_timeout(state->db, busy_ms(op));
        if (state->relaxed)
            status = query(op, state, "PRAGMA synchronous = OFF", NULL, 0, NULL, NULL, NULL);
        if (status == FIRN_OK)
            status = detect_schema(op, state);
    }
    if (status != FIRN_OK)
        disconnect(state);
    return status;
}

/* The tables as PyIceberg makes them: version 1. */
static firn_status create_tables(struct firn_op *op, struct sql_state *state)
{
    static const char *const statements[] = {
        "CREATE TABLE IF NOT EXISTS iceberg_tables ("
        "catalog_name VARCHAR(255) NOT NULL, table_namespace VARCHAR(255) NOT NULL, "
        "table_name VARCHAR(255) NOT NULL, metadata_location VARCHAR(1000), "
        "previous_metadata_location VARCHAR(1000), iceberg_type VARCHAR(5), "
        "PRIMARY KEY (catalog_name, table_namespace, table_name))",
        "CREATE TABLE IF NOT EXISTS iceberg_namespace_properties ("
        "catalog_name VARCHAR(255) NOT NULL, namespace VARCHAR(255) NOT NULL, "
        "property_key VARCHAR(255) NOT NULL, property_value VARCHAR(1000) NOT NULL, "
        "PRIMARY KEY (catalog_name, namespace, property_key))",
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(statements); i++)
        FIRN_TRY(query(op, state, statements[i], NULL, 0, NULL, NULL, NULL));
    return detect_schema(op, state);
}

static firn_status need_database(struct firn_op *op, struct sql_state *state, enum sql_purpose purpose)
{
    if (!state->db)
        FIRN_TRY(connect_database(op, state, purpose));
    sqlite3_busy_timeout(state->db, busy_ms(op));
    if (!state->has_tables)
        FIRN_TRY(detect_schema(op, state)); /* another program may have made them meanwhile */
    return state->has_tables || purpose == SQL_READ ? FIRN_OK : create_tables(op, state);
}

/* A row's key, as arguments 1 to 3 of every statement. */
struct row_key {
    struct firn_text parts[3]; /* catalog_name, table_namespace, table_name */
};

static firn_status split_identifier(struct firn_op *op, const struct firn_catalog *catalog, struct firn_text identifier,
                                    struct row_key *out)
{
    ptrdiff_t dot = firn_text_find_last(identifier, '.');
    if (dot < 1 || (size_t)dot + 1 == identifier.len)
        return firn_fail(op, FIRN_USAGE, "'%.*s' is not a name of the form namespace.table", FIRN_FMT(identifier));
    *out = (struct row_key){ { catalog->config->name, firn_text_until(identifier, (size_t)dot),
                               firn_text_from(identifier, (size_t)dot + 1) } };
    return FIRN_OK;
}

#define WHERE_KEY  " WHERE catalog_name = ?1 AND table_namespace = ?2 AND table_name = ?3"
#define ONLY_TABLE " AND (iceberg_type = 'TABLE' OR iceberg_type IS NULL)"

/* Each statement for version 0 and version 1 of the schema. */
struct versioned_sql {
    const char *by_version[2];
};
static const struct versioned_sql select_sql = { {
    "SELECT metadata_location FROM iceberg_tables" WHERE_KEY,
    "SELECT metadata_location FROM iceberg_tables" WHERE_KEY ONLY_TABLE,
} };
static const struct versioned_sql list_sql = { {
    "SELECT table_namespace || '.' || table_name FROM iceberg_tables WHERE catalog_name = ?1",
    "SELECT table_namespace || '.' || table_name FROM iceberg_tables WHERE catalog_name = ?1" ONLY_TABLE,
} };
static const struct versioned_sql update_sql = { {
    "UPDATE iceberg_tables SET metadata_location = ?4, previous_metadata_location = ?5" WHERE_KEY
    " AND metadata_location = ?5",
    "UPDATE iceberg_tables SET metadata_location = ?4, previous_metadata_location = ?5" WHERE_KEY
    " AND metadata_location = ?5" ONLY_TABLE,
} };
static const struct versioned_sql insert_sql = { {
    "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location) VALUES (?1, ?2, ?3, ?4)",
    "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location, iceberg_type) "
    "VALUES (?1, ?2, ?3, ?4, 'TABLE')",
} };

static const char *sql_of(const struct sql_state *state, const struct versioned_sql *sql)
{
    return sql->by_version[state->has_type];
}

static firn_status take_text(struct firn_op *op, void *context, sqlite3_stmt *statement)
{
    *(struct firn_text *)context = column_text(op, statement, 0);
    return FIRN_OK;
}

static firn_status sql_locate(struct firn_op *op, struct firn_catalog *catalog, struct firn_text identifier,
                              struct firn_text *metadata_location)
{
    struct sql_state *state = catalog->state;
    struct row_key key;
    *metadata_location = (struct firn_text){ 0 };
    FIRN_TRY(split_identifier(op, catalog, identifier, &key));
    FIRN_TRY(need_database(op, state, SQL_READ));
    if (state->has_tables)
        FIRN_TRY(query(op, state, sql_of(state, &select_sql), key.parts, 3, take_text, metadata_location, NULL));
    if (metadata_location->len == 0)
        return firn_fail(op, FIRN_NOT_FOUND, "database '%.*s' has no table '%.*s' of catalog '%.*s'",
                         FIRN_FMT(state->path), FIRN_FMT(identifier), FIRN_FMT(catalog->config->name));
    return FIRN_OK;
}

/* "00007-<uuid>.metadata.json" after "00006-...": the number only helps people. */
static firn_status next_file(struct firn_op *op, const struct firn_table_version *base,
                             const struct firn_metadata *metadata, struct firn_text *out)
{
    bool gzip;
    int64_t version = -1;
    struct firn_text name = firn_text_from(base->location, (size_t)(firn_text_find_last(base->location, '/') + 1));
    ptrdiff_t dash = firn_text_find(name, '-');
    if (dash < 1 || !firn_text_to_i64(firn_text_until(name, (size_t)dash), &version) || version < 0 ||
        version >= INT32_MAX)
        version = -1;
    FIRN_TRY(firn_metadata_wants_gzip(op, metadata, &gzip));
    struct firn_text uuid = firn_uuid_text(op->arena, firn_uuid_random(op));
    struct firn_text file_name = firn_text_format(op->arena, "%05" PRId64 "-%.*s%s.metadata.json", version + 1,
                                                  FIRN_FMT(uuid), gzip ? ".gz" : "");
    *out = firn_metadata_location(op->arena, metadata, file_name);
    return FIRN_OK;
}

/* Answers after which the database is surely as it was; an error of the disk or of a lock's protocol is not one. */
static bool is_definite(int code)
{
    int primary = code & 0xff;
    return primary != SQLITE_IOERR && primary != SQLITE_PROTOCOL && primary != SQLITE_CANTOPEN &&
           primary != SQLITE_INTERNAL;
}

/* The one statement that decides. */
static firn_status swap_row(struct firn_op *op, struct sql_state *state, const struct row_key *key,
                            struct firn_text base_location, struct firn_text new_location)
{
    struct firn_text arguments[] = { key->parts[0], key->parts[1], key->parts[2], new_location, base_location };
    bool creates = base_location.len == 0;
    int code = SQLITE_OK;
    firn_status status = query(op, state, sql_of(state, creates ? &insert_sql : &update_sql), arguments,
                               creates ? 4 : 5, NULL, NULL, &code);
    if (status != FIRN_OK)
        return is_definite(code) ? status : FIRN_UNKNOWN;
    if (!creates && sqlite3_changes(state->db) != 1)
        return firn_fail(op, FIRN_CONFLICT, "another writer committed first");
    return FIRN_OK;
}

static firn_status sql_swap(struct firn_op *op, struct firn_catalog *catalog, struct firn_text identifier,
                            const struct firn_table_version *base, const struct firn_metadata *metadata,
                            struct firn_text *new_location)
{
    struct sql_state *state = catalog->state;
    struct row_key key;
    FIRN_TRY(split_identifier(op, catalog, identifier, &key));
    FIRN_TRY(need_database(op, state, SQL_WRITE));
    FIRN_TRY(next_file(op, base, metadata, new_location));
    firn_status status = firn_metadata_save(op, catalog->store, *new_location, metadata);
    if (status == FIRN_OK)
        status = swap_row(op, state, &key, base->location, *new_location);
    if (status != FIRN_OK && status != FIRN_UNKNOWN)
        firn_store_discard(op, catalog->store, new_location, 1); /* no one else can have this name */
    return status;
}

static firn_status sql_committed(struct firn_op *op, struct firn_catalog *catalog, struct firn_text identifier,
                                 struct firn_text location, const struct firn_metadata *metadata, bool *out)
{
    (void)metadata; /* the name holds a UUID of its own */
    struct firn_text current;
    struct firn_metadata *loaded;
    *out = false;
    firn_status status = sql_locate(op, catalog, identifier, &current);
    if (status == FIRN_NOT_FOUND)
        return FIRN_OK;
    FIRN_TRY(status);
    *out = firn_text_same(current, location);
    if (*out)
        return FIRN_OK;
    FIRN_TRY(firn_metadata_load(op, catalog->store, current, &loaded));
    *out = firn_metadata_log_has(loaded, location);
    return FIRN_OK;
}

struct sql_listing {
    firn_catalog_visit *visit;
    void *context;
};

static firn_status visit_row(struct firn_op *op, void *context, sqlite3_stmt *statement)
{
    const struct sql_listing *listing = context;
    return listing->visit(op, listing->context, column_text(op, statement, 0));
}

static firn_status sql_list(struct firn_op *op, struct firn_catalog *catalog, firn_catalog_visit *visit, void *context)
{
    struct sql_state *state = catalog->state;
    struct sql_listing listing = { .visit = visit, .context = context };
    FIRN_TRY(need_database(op, state, SQL_READ));
    if (!state->has_tables)
        return FIRN_OK;
    return query(op, state, sql_of(state, &list_sql), &catalog->config->name, 1, visit_row, &listing, NULL);
}

static firn_status sql_create_namespace(struct firn_op *op, struct firn_catalog *catalog, struct firn_text name)
{
    struct sql_state *state = catalog->state;
    struct firn_text arguments[] = { catalog->config->name, name };
    FIRN_TRY(need_database(op, state, SQL_WRITE));
    return query(op, state,
                 "INSERT OR IGNORE INTO iceberg_namespace_properties "
                 "(catalog_name, namespace, property_key, property_value) VALUES (?1, ?2, 'exists', 'true')",
                 arguments, 2, NULL, NULL, NULL);
}

/* The namespace's own location, else <warehouse>/<namespace>/<table>, as PyIceberg has it. */
static firn_status sql_default_location(struct firn_op *op, struct firn_catalog *catalog, struct firn_text identifier,
                                        struct firn_text *location)
{
    struct sql_state *state = catalog->state;
    struct row_key key;
    struct firn_text folder = { 0 };
    FIRN_TRY(split_identifier(op, catalog, identifier, &key));
    FIRN_TRY(need_database(op, state, SQL_WRITE));
    FIRN_TRY(query(op, state,
                   "SELECT property_value FROM iceberg_namespace_properties "
                   "WHERE catalog_name = ?1 AND namespace = ?2 AND property_key = 'location'",
                   key.parts, 2, take_text, &folder, NULL));
    struct firn_text warehouse = firn_catalog_property(catalog->config, "warehouse");
    if (folder.len == 0 && warehouse.len > 0)
        folder = firn_location_join(op->arena, warehouse, key.parts[1]);
    if (folder.len == 0)
        return firn_fail(op, FIRN_USAGE, "a new table needs a place: the catalog has no property 'warehouse'");
    *location = firn_location_join(op->arena, folder, key.parts[2]);
    return FIRN_OK;
}

const struct firn_catalog_kind firn_sql_kind = {
    .type = "sql",
    .open = sql_open,
    .close = sql_close,
    .locate = sql_locate,
    .swap = sql_swap,
    .committed = sql_committed,
    .list = sql_list,
    .create_namespace = sql_create_namespace,
    .default_location = sql_default_location,
};
