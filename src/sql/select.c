/* SELECT over metadata tables: an in-memory database of SQLite that has nothing but virtual tables.
 *
 * Invariants
 *  (1) Nothing can be written: the authorizer allows reading and calling functions, and the statement is read-only.
 *  (2) Texts of the statement reach SQLite only through select_print.c, which quotes them. */
#include "sql/select.h"

#include "base/math.h"
#include "base/time.h"

#include <stdlib.h>

enum { VM_STEPS_PER_CHECK = 20000, VALUE_BYTES_MAX = 256 << 20 };

/* Opening tables -----------------------------------------------------------------------------------------------------
 */

static struct firn_text join_parts(struct firn_arena *arena, const struct firn_select_reference *reference,
                                   size_t count)
{
    struct firn_text name = FIRN_TEXT("");
    for (size_t i = 0; i < count; i++)
        name = firn_text_format(arena, "%.*s%s%.*s", FIRN_FMT(name), i ? "." : "", FIRN_FMT(reference->parts[i]));
    return name;
}

static firn_status choose_snapshot_at(struct firn_op *op, struct firn_select_reference *reference)
{
    int64_t micros;
    int32_t nanos;
    bool has_zone;
    if (!firn_timestamp_parse(reference->version, &micros, &nanos, &has_zone))
        return firn_fail(op, FIRN_USAGE, "'%.*s' is no timestamp", FIRN_FMT(reference->version));
    reference->view.snapshot = firn_metadata_snapshot_at(reference->table.metadata, firn_floor_div(micros, 1000));
    if (reference->view.snapshot)
        return FIRN_OK;
    return firn_fail(op, FIRN_NOT_FOUND, "table %.*s has no snapshot as of %.*s", FIRN_FMT(reference->table.name),
                     FIRN_FMT(reference->version));
}

static firn_status choose_snapshot_named(struct firn_op *op, struct firn_select_reference *reference)
{
    const struct firn_metadata *metadata = reference->table.metadata;
    const struct firn_ref *ref = firn_metadata_ref(metadata, reference->version);
    int64_t id = ref ? ref->snapshot_id : FIRN_NO_SNAPSHOT;
    if (ref || firn_text_to_i64(reference->version, &id))
        reference->view.snapshot = firn_metadata_snapshot(metadata, id);
    if (reference->view.snapshot)
        return FIRN_OK;
    return firn_fail(op, FIRN_NOT_FOUND, "table %.*s has no snapshot, branch or tag '%.*s'",
                     FIRN_FMT(reference->table.name), FIRN_FMT(reference->version));
}

/* What may stand behind the name of a table, as Spark has it. */
enum selector_kind { SELECT_BRANCH, SELECT_TAG, SELECT_SNAPSHOT_ID, SELECT_TIME_MS };

struct selector {
    enum selector_kind kind;
    struct firn_text what;
};

static bool find_selector(struct firn_text part, struct selector *out)
{
    static const struct {
        const char *prefix;
        enum selector_kind kind;
    } rows[] = { { "branch_", SELECT_BRANCH },
                 { "tag_", SELECT_TAG },
                 { "snapshot_id_", SELECT_SNAPSHOT_ID },
                 { "at_timestamp_", SELECT_TIME_MS } };
    for (size_t i = 0; i < FIRN_COUNT_OF(rows); i++)
        if (firn_text_starts(part, firn_text_of(rows[i].prefix))) {
            *out = (struct selector){ rows[i].kind, firn_text_from(part, strlen(rows[i].prefix)) };
            return true;
        }
    return false;
}

static const struct firn_snapshot *select_ref(const struct firn_metadata *metadata, struct firn_text name,
                                              enum firn_ref_type type)
{
    const struct firn_ref *ref = firn_metadata_ref(metadata, name);
    return ref && ref->type == type ? firn_metadata_snapshot(metadata, ref->snapshot_id) : NULL;
}

static const struct firn_snapshot *select_snapshot(const struct firn_metadata *metadata, struct selector selector)
{
    int64_t number;
    if (selector.kind == SELECT_BRANCH || selector.kind == SELECT_TAG)
        return select_ref(metadata, selector.what, selector.kind == SELECT_TAG ? FIRN_REF_TAG : FIRN_REF_BRANCH);
    if (!firn_text_to_i64(selector.what, &number))
        return NULL;
    return selector.kind == SELECT_TIME_MS ? firn_metadata_snapshot_at(metadata, number)
                                           : firn_metadata_snapshot(metadata, number);
}

static firn_status choose_snapshot_selected(struct firn_op *op, struct firn_select_reference *reference)
{
    struct selector selector;
    struct firn_text part = reference->parts[reference->kind_part + 1];
    if (reference->version_kind != FIRN_VERSION_NONE)
        return firn_fail(op, FIRN_USAGE, "the snapshot is chosen twice: by %.*s, and by AS OF", FIRN_FMT(part));
    if (find_selector(part, &selector))
        reference->view.snapshot = select_snapshot(reference->table.metadata, selector);
    if (reference->view.snapshot)
        return FIRN_OK;
    return firn_fail(op, FIRN_NOT_FOUND, "table %.*s has no %.*s", FIRN_FMT(reference->table.name), FIRN_FMT(part));
}

static firn_status choose_snapshot(struct firn_op *op, struct firn_select_reference *reference)
{
    if (reference->kind_part + 1 < reference->part_count)
        return choose_snapshot_selected(op, reference);
    if (reference->version_kind == FIRN_VERSION_TIMESTAMP)
        return choose_snapshot_at(op, reference);
    if (reference->version_kind == FIRN_VERSION_SNAPSHOT)
        return choose_snapshot_named(op, reference);
    reference->view.snapshot = firn_metadata_current(reference->table.metadata);
    return FIRN_OK;
}

/* A table that the statement names twice is loaded once, so that both are of one version. */
static firn_status load_table(struct firn_op *op, const struct firn_select_tables *tables,
                              struct firn_select_references *references, size_t index)
{
    struct firn_select_reference *reference = &references->items[index];
    struct firn_text name = join_parts(op->arena, reference, reference->kind_part);
    for (size_t i = 0; i < index; i++) {
        const struct firn_select_reference *other = &references->items[i];
        if (firn_text_same(name, join_parts(op->arena, other, other->kind_part))) {
            reference->table = other->table;
            return FIRN_OK;
        }
    }
    return tables->find(op, tables->context, name, &reference->table);
}

static firn_status open_reference(struct firn_op *op, const struct firn_select_tables *tables,
                                  struct firn_select_text *text, size_t index)
{
    struct firn_select_reference *reference = &text->references.items[index];
    struct firn_text last = reference->parts[reference->part_count - 1];
    struct selector selector;
    bool is_selected = reference->part_count > 2 && find_selector(last, &selector) &&
                       firn_metadata_table_find(reference->parts[reference->part_count - 2]);
    reference->kind_part = reference->part_count - 1 - is_selected;
    reference->kind = firn_metadata_table_find(reference->parts[reference->kind_part]);
    if (!reference->kind) {
        firn_status status = firn_select_fail(op, FIRN_USAGE, text, text->tokens.items[reference->first].at,
                                              "'%.*s' is no metadata table: SELECT reads those only", FIRN_FMT(last));
        return firn_hint(op, status, "add one of these to the table's name: %.*s",
                         FIRN_FMT(firn_metadata_table_names(op->arena)));
    }
    FIRN_TRY(load_table(op, tables, &text->references, index));
    FIRN_TRY(choose_snapshot(op, reference));
    reference->view.table = &reference->table;
    reference->view.pool = tables->pool;
    return reference->kind->columns(op, &reference->view, &reference->columns);
}

/* SQLite --------------------------------------------------------------------------------------------------------------
 */

static int authorize(void *context, int action, const char *a, const char *b, const char *c, const char *d)
{
    (void)context;
    (void)a;
    (void)c;
    (void)d;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_FUNCTION:
        return sqlite3_stricmp(b, "load_extension") == 0 ? SQLITE_DENY : SQLITE_OK;
    default:
        return SQLITE_DENY;
    }
}

/* Long statements notice that they are to stop. */
static int check_progress(void *context)
{
    struct firn_select *select = context;
    if (select->op)
        select->status = firn_op_check(select->op);
    return select->status != FIRN_OK;
}

static firn_status sqlite_fail(struct firn_op *op, const struct firn_select *select)
{
    if (select->status != FIRN_OK)
        return select->status;
    return firn_fail(op, sqlite3_errcode(select->db) == SQLITE_NOMEM ? FIRN_LIMIT : FIRN_USAGE, "%s",
                     sqlite3_errmsg(select->db));
}

static firn_status open_database(struct firn_op *op, struct firn_select *select)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_PRIVATECACHE;
    if (sqlite3_open_v2(":memory:", &select->db, flags, NULL) != SQLITE_OK)
        return firn_fail(op, FIRN_LIMIT, "no memory for a database");
    sqlite3_limit(select->db, SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX);
    sqlite3_limit(select->db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_db_config(select->db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
    sqlite3_progress_handler(select->db, VM_STEPS_PER_CHECK, check_progress, select);
    int code = sqlite3_create_module(select->db, "firn", &firn_metadata_module, select);
    if (code == SQLITE_OK)
        code = sqlite3_exec(select->db, "PRAGMA case_sensitive_like = ON", NULL, NULL, NULL);
    return code == SQLITE_OK ? FIRN_OK : sqlite_fail(op, select);
}

static firn_status create_tables(struct firn_op *op, struct firn_select *select)
{
    for (size_t i = 0; i < select->text.references.count; i++) {
        struct firn_text sql = firn_text_format(op->arena, "CREATE VIRTUAL TABLE firn_%zu USING firn(%zu)", i, i);
        if (sqlite3_exec(select->db, sql.data, NULL, NULL, NULL) != SQLITE_OK)
            return sqlite_fail(op, select);
    }
    sqlite3_set_authorizer(select->db, authorize, select);
    return FIRN_OK;
}

/* Where the text has what stands at a position of the printed one. */
static size_t origin_of(const struct firn_select_print *print, int printed_at)
{
    size_t at = 0;
    for (size_t i = 0; i < print->origin_count && print->origins[i].printed_at <= (size_t)printed_at; i++)
        at = print->origins[i].at;
    return at;
}

static firn_status fail_prepare(struct firn_op *op, struct firn_select *select, const struct firn_select_print *print)
{
    int offset = sqlite3_error_offset(select->db);
    if (select->status != FIRN_OK)
        return select->status;
    struct firn_text message = firn_text_format(op->arena, "%s", sqlite3_errmsg(select->db));
    if ((sqlite3_errcode(select->db) & 0xff) == SQLITE_AUTH)
        message = FIRN_TEXT("only SELECT, WITH and VALUES are run: they read");
    if (offset < 0)
        return firn_fail(op, FIRN_USAGE, "%.*s", FIRN_FMT(message));
    return firn_select_fail(op, FIRN_USAGE, &select->text, origin_of(print, offset), "%.*s", FIRN_FMT(message));
}

/* The first word decides, so that nothing else is even compiled. */
static bool is_query(const struct firn_select_text *text)
{
    const struct firn_token *token = text->tokens.items;
    while (firn_token_is_symbol(token, "("))
        token++;
    return firn_token_is_word(token, "select") || firn_token_is_word(token, "with") ||
           firn_token_is_word(token, "values");
}

static firn_status prepare(struct firn_op *op, struct firn_select *select, const struct firn_select_print *print)
{
    const char *sql = (const char *)print->out->data;
    if (sqlite3_prepare_v2(select->db, sql, (int)print->out->len, &select->statement, NULL) != SQLITE_OK)
        return fail_prepare(op, select, print);
    if (!select->statement || !sqlite3_stmt_readonly(select->statement))
        return firn_fail(op, FIRN_USAGE, "only SELECT, WITH and VALUES are run: they read");
    return FIRN_OK;
}

/* The result's columns
 * -------------------------------------------------------------------------------------------------- */

/* The token of the printed text that begins at a position; NULL: none does. */
static const struct firn_select_origin *token_from(const struct firn_select_print *print, size_t printed_at)
{
    size_t low = 0, high = print->origin_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (print->origins[middle].printed_at < printed_at)
            low = middle + 1;
        else
            high = middle;
    }
    return low < print->origin_count && print->origins[low].printed_at == printed_at ? &print->origins[low] : NULL;
}

/* SQLite calls a column after the printed expression: its name is what the statement has there. */
static struct firn_text name_as_written(const struct firn_select *select, const struct firn_select_print *print,
                                        struct firn_text name)
{
    struct firn_text printed = firn_text_of_bytes(firn_buffer_bytes(print->out));
    const char *found = name.len ? memmem(printed.data, printed.len, name.data, name.len) : NULL;
    if (!found)
        return name;
    size_t start = (size_t)(found - printed.data), end = start + name.len;
    const struct firn_select_origin *first = token_from(print, start);
    const struct firn_select_origin *after = token_from(print, end);
    if (!after && end < printed.len && printed.data[end] == ' ')
        after = token_from(print, end + 1);
    if (!first || (!after && end + 1 < printed.len))
        return name;
    struct firn_text text = select->text.text;
    return firn_text_trim(firn_text_from(after ? firn_text_until(text, after->at) : text, first->at));
}

/* A column of a table keeps the type and, when it lies in a struct, the name of the field, as in Spark. */
static void describe_column(struct firn_select *select, const struct firn_select_print *print, size_t index)
{
    const char *name = sqlite3_column_name(select->statement, (int)index);
    const char *declared = sqlite3_column_decltype(select->statement, (int)index);
    struct firn_select_column *out = &select->columns[index];
    uint32_t reference_index, column_index;
    out->name = firn_text_copy(&select->arena, firn_text_of(name ? name : ""));
    if (!firn_metadata_declared(declared, &reference_index, &column_index)) {
        out->name = name_as_written(select, print, out->name);
        return;
    }
    const struct firn_select_reference *reference = &select->text.references.items[reference_index];
    struct firn_metadata_path path = firn_metadata_module_path(reference, column_index);
    const struct firn_metadata_column *column = firn_metadata_column_at(&reference->columns, &path);
    out->type = column->type;
    select->is_boolean[index] = firn_text_is(column->type, "boolean");
    if (path.count > 1 && firn_text_same(out->name, firn_select_path_name(&select->arena, &reference->columns, &path)))
        out->name = column->name;
}

static void describe_columns(struct firn_select *select, const struct firn_select_print *print)
{
    size_t count = (size_t)sqlite3_column_count(select->statement);
    select->column_count = count;
    select->columns = FIRN_NEW_ARRAY(&select->arena, struct firn_select_column, count);
    select->is_boolean = FIRN_NEW_ARRAY(&select->arena, bool, count);
    for (size_t i = 0; i < count; i++)
        describe_column(select, print, i);
}

/* The whole
 * ------------------------------------------------------------------------------------------------------------- */

static firn_status open_statement(struct firn_op *op, struct firn_select *select,
                                  const struct firn_select_tables *tables, struct firn_text text,
                                  struct firn_sql_place place)
{
    struct firn_buffer printed = { 0 };
    struct firn_select_print print = { .out = &printed };
    FIRN_TRY(firn_select_text_parse(op, firn_text_copy(op->arena, text), place, &select->text));
    if (!is_query(&select->text))
        return firn_select_fail(op, FIRN_USAGE, &select->text, select->text.tokens.items[0].at,
                                "only SELECT, WITH and VALUES are run: they read");
    for (size_t i = 0; i < select->text.references.count; i++)
        FIRN_TRY(open_reference(op, tables, &select->text, i));
    firn_status status = firn_select_text_print(op, &select->text, &print);
    if (status == FIRN_OK)
        status = open_database(op, select);
    if (status == FIRN_OK)
        status = create_tables(op, select);
    if (status == FIRN_OK)
        status = prepare(op, select, &print);
    if (status == FIRN_OK)
        describe_columns(select, &print);
    firn_buffer_done(&printed);
    return status;
}

firn_status firn_select_open_tables(struct firn_op *op, const struct firn_select_tables *tables, struct firn_text text,
                                    struct firn_sql_place place, struct firn_select **out)
{
    struct firn_select *select = calloc(1, sizeof *select);
    struct firn_arena *results = op->arena;
    if (!select)
        return firn_fail(op, FIRN_LIMIT, "no memory for a statement");
    firn_arena_init(&select->arena);
    op->arena = &select->arena;
    select->op = op;
    firn_status status = open_statement(op, select, tables, text, place);
    if (!select->text.has_failed)
        status = firn_context(op, status, "line %u, column %u", place.line, place.column);
    op->arena = results;
    select->op = NULL;
    if (status != FIRN_OK)
        firn_select_close(select);
    else
        *out = select;
    return status;
}

static firn_status find_in_session(struct firn_op *op, void *context, struct firn_text name, struct firn_table *out)
{
    return firn_session_table(op, context, name, out);
}

firn_status firn_select_open(struct firn_op *op, struct firn_session *session, struct firn_text text,
                             struct firn_sql_place place, struct firn_select **out)
{
    struct firn_select_tables tables = { find_in_session, session, firn_session_pool(session) };
    return firn_select_open_tables(op, &tables, text, place, out);
}

void firn_select_close(struct firn_select *select)
{
    if (!select)
        return;
    sqlite3_finalize(select->statement);
    sqlite3_close(select->db);
    firn_arena_done(&select->arena);
    free(select);
}

size_t firn_select_column_count(const struct firn_select *select)
{
    return select->column_count;
}

const struct firn_select_column *firn_select_columns(const struct firn_select *select)
{
    return select->columns;
}

firn_status firn_select_step(struct firn_op *op, struct firn_select *select, bool *got)
{
    select->op = op;
    select->status = FIRN_OK;
    int code = sqlite3_step(select->statement);
    *got = code == SQLITE_ROW;
    firn_status status = code == SQLITE_ROW || code == SQLITE_DONE ? FIRN_OK : sqlite_fail(op, select);
    select->op = NULL;
    return firn_context(op, status, "line %u, column %u", select->text.place.line, select->text.place.column);
}

struct firn_select_value firn_select_value(const struct firn_select *select, size_t column)
{
    sqlite3_stmt *statement = select->statement;
    struct firn_select_value value = { .kind = FIRN_SELECT_NULL };
    int index = (int)column;
    switch (sqlite3_column_type(statement, index)) {
    case SQLITE_INTEGER:
        value.kind = select->is_boolean[column] ? FIRN_SELECT_BOOLEAN : FIRN_SELECT_INTEGER;
        value.integer = sqlite3_column_int64(statement, index);
        break;
    case SQLITE_FLOAT:
        value.kind = FIRN_SELECT_REAL;
        value.real = sqlite3_column_double(statement, index);
        break;
    case SQLITE_TEXT:
    case SQLITE_BLOB:
        value.kind = FIRN_SELECT_TEXT;
        value.text.data = (const char *)sqlite3_column_text(statement, index);
        value.text.len = (size_t)sqlite3_column_bytes(statement, index);
        break;
    default:
        break;
    }
    return value;
}
