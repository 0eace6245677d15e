/* Metadata tables as virtual tables of SQLite: columns that are used and conditions with constants are handed down.
 *
 * A virtual table's columns are those of the metadata table, then hidden ones: other names for columns, and the fields
 * of structs that the statement asks for. SQLite looks at every row again, so that conditions handed down may be met
 * roughly. */
#include "base/math.h"
#include "sql/select.h"

#include <stdlib.h>

struct module_table {
    sqlite3_vtab base;
    struct firn_select *select;
    uint32_t index; /* of the reference */
};

struct module_cursor {
    sqlite3_vtab_cursor base;
    struct firn_arena scan, cell; /* what the scan needs, and what one cell needs */
    struct firn_buffer scratch;
    struct firn_metadata_request request;
    void *cursor; /* of the metadata table; NULL: none is open */
    bool is_open, got;
    sqlite3_int64 row;
};

static struct firn_select_reference *reference_of(const struct module_table *table)
{
    return &table->select->text.references.items[table->index];
}

/* Columns ---------------------------------------------------------------------------------------------------------- */

struct firn_metadata_path firn_metadata_module_path(const struct firn_select_reference *reference, uint32_t column)
{
    struct firn_metadata_path none = { .count = 0 };
    if (column < reference->columns.count)
        return (struct firn_metadata_path){ { column }, 1 };
    column -= reference->columns.count;
    if (column < reference->kind->alias_count)
        return (struct firn_metadata_path){ { reference->kind->aliases[column].column }, 1 };
    column -= reference->kind->alias_count;
    return column < reference->path_count ? reference->paths[column] : none;
}

static uint32_t count_columns(const struct firn_select_reference *reference)
{
    return reference->columns.count + reference->kind->alias_count + (uint32_t)reference->path_count;
}

static const char *affinity_of(struct firn_text type)
{
    static const struct {
        const char *type, *affinity;
    } facts[] = {
        { "boolean", "INTEGER" }, { "int", "INTEGER" }, { "bigint", "INTEGER" },
        { "float", "REAL" },      { "double", "REAL" },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(facts); i++)
        if (firn_text_is(type, facts[i].type))
            return facts[i].affinity;
    return firn_text_starts(type, FIRN_TEXT("decimal")) ? "NUMERIC" : "TEXT";
}

/* The type that a column is declared with tells SQLite its affinity, and whoever reads the result which one it is. */
static char *declare_column(char *sql, const struct module_table *table, uint32_t index)
{
    const struct firn_select_reference *reference = reference_of(table);
    struct firn_arena *arena = &table->select->arena;
    struct firn_metadata_path path = firn_metadata_module_path(reference, index);
    const struct firn_metadata_column *column = firn_metadata_column_at(&reference->columns, &path);
    struct firn_text name = firn_select_path_name(arena, &reference->columns, &path);
    uint32_t alias = index - reference->columns.count;
    bool is_hidden = index >= reference->columns.count;
    if (is_hidden && alias < reference->kind->alias_count)
        name = firn_text_of(reference->kind->aliases[alias].name);
    struct firn_text copy = firn_text_copy(arena, name);
    return sqlite3_mprintf("%z%s\"%w\" %s C%u_%u%s", sql, index ? ", " : "", copy.data, affinity_of(column->type),
                           table->index, index, is_hidden ? " HIDDEN" : "");
}

bool firn_metadata_declared(const char *declared, uint32_t *reference, uint32_t *column)
{
    const char *mark = declared ? strrchr(declared, 'C') : NULL;
    return mark && sscanf(mark, "C%u_%u", reference, column) == 2;
}

static int declare(sqlite3 *db, const struct module_table *table)
{
    char *sql = sqlite3_mprintf("CREATE TABLE x(");
    for (uint32_t i = 0; sql && i < count_columns(reference_of(table)); i++)
        sql = declare_column(sql, table, i);
    sql = sql ? sqlite3_mprintf("%z)", sql) : NULL;
    if (!sql)
        return SQLITE_NOMEM;
    int code = sqlite3_declare_vtab(db, sql);
    sqlite3_free(sql);
    return code;
}

static int connect(sqlite3 *db, void *context, int argc, const char *const *argv, sqlite3_vtab **out, char **error)
{
    struct module_table *table = calloc(1, sizeof *table);
    int64_t index = -1;
    (void)error;
    if (!table)
        return SQLITE_NOMEM;
    table->select = context;
    if (argc == 4)
        firn_text_to_i64(firn_text_of(argv[3]), &index);
    table->index = (uint32_t)index;
    int code = table->index < table->select->text.references.count ? declare(db, table) : SQLITE_ERROR;
    if (code != SQLITE_OK)
        free(table);
    else
        *out = &table->base;
    return code;
}

static int disconnect(sqlite3_vtab *base)
{
    free(base);
    return SQLITE_OK;
}

/* Planning ----------------------------------------------------------------------------------------------------------
 */

/* Where rows are read from manifests, a second pass costs as much as the first. */
enum { ROWS_OF_METADATA = 100, ROWS_OF_MANIFESTS = 1000000, COLUMNS_TOLD = 63 };

static bool comparison_of(unsigned char code, enum firn_metadata_compare *out)
{
    static const struct {
        unsigned char code;
        enum firn_metadata_compare compare;
    } facts[] = {
        { SQLITE_INDEX_CONSTRAINT_EQ, FIRN_METADATA_EQ },    { SQLITE_INDEX_CONSTRAINT_LT, FIRN_METADATA_LT },
        { SQLITE_INDEX_CONSTRAINT_LE, FIRN_METADATA_LT_EQ }, { SQLITE_INDEX_CONSTRAINT_GT, FIRN_METADATA_GT },
        { SQLITE_INDEX_CONSTRAINT_GE, FIRN_METADATA_GT_EQ },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(facts); i++)
        if (facts[i].code == code) {
            *out = facts[i].compare;
            return true;
        }
    return false;
}

/* Conditions with a constant, compared byte by byte: those of a join would have the table read once a row. */
static bool takes_constraint(sqlite3_index_info *info, int index, enum firn_metadata_compare *compare)
{
    const struct sqlite3_index_constraint *constraint = &info->aConstraint[index];
    sqlite3_value *value;
    return constraint->usable && constraint->iColumn >= 0 && comparison_of(constraint->op, compare) &&
           sqlite3_vtab_rhs_value(info, index, &value) == SQLITE_OK &&
           sqlite3_stricmp(sqlite3_vtab_collation(info, index), "BINARY") == 0;
}

/* The plan is a text: the columns used, then column and comparison of each condition. */
static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    const struct module_table *table = (const struct module_table *)base;
    char *plan = sqlite3_mprintf("%llx", info->colUsed);
    int argument = 0;
    for (int i = 0; plan && i < info->nConstraint; i++) {
        enum firn_metadata_compare compare;
        if (!takes_constraint(info, i, &compare))
            continue;
        info->aConstraintUsage[i].argvIndex = ++argument;
        plan = sqlite3_mprintf("%z %d %d", plan, info->aConstraint[i].iColumn, (int)compare);
    }
    if (!plan)
        return SQLITE_NOMEM;
    bool reads_manifests = reference_of(table)->kind->reads_manifests;
    info->idxStr = plan;
    info->needToFreeIdxStr = 1;
    info->estimatedRows = reads_manifests ? ROWS_OF_MANIFESTS : ROWS_OF_METADATA;
    /* The same with conditions as without: two scans for the sides of an OR, whose rows SQLite would tell apart by
     * numbers that mean nothing from one scan to another, then always cost more than one. */
    info->estimatedCost = (double)info->estimatedRows;
    return SQLITE_OK;
}

/* Reading -----------------------------------------------------------------------------------------------------------
 */

static struct firn_select *select_of(const sqlite3_vtab_cursor *base)
{
    return ((const struct module_table *)base->pVtab)->select;
}

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
    struct module_cursor *cursor = calloc(1, sizeof *cursor);
    (void)base;
    if (!cursor)
        return SQLITE_NOMEM;
    firn_arena_init(&cursor->scan);
    firn_arena_init(&cursor->cell);
    *out = &cursor->base;
    return SQLITE_OK;
}

static void end_scan(struct module_cursor *cursor, const struct firn_metadata_table *kind)
{
    if (cursor->is_open && kind->close)
        kind->close(cursor->cursor);
    cursor->is_open = false;
    cursor->got = false;
    firn_arena_reset(&cursor->cell);
    firn_arena_reset(&cursor->scan);
}

static const struct firn_select_reference *cursor_reference(const sqlite3_vtab_cursor *base)
{
    return reference_of((const struct module_table *)base->pVtab);
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
    struct module_cursor *cursor = (struct module_cursor *)base;
    end_scan(cursor, cursor_reference(base)->kind);
    firn_buffer_done(&cursor->scratch);
    firn_arena_done(&cursor->cell);
    firn_arena_done(&cursor->scan);
    free(cursor);
    return SQLITE_OK;
}

/* The failure is told by the operation, not by SQLite. */
static int code_of(struct firn_select *select, firn_status status)
{
    if (status == FIRN_OK)
        return SQLITE_OK;
    select->status = status;
    return SQLITE_ERROR;
}

static bool is_used(uint64_t used, uint32_t column)
{
    return used >> FIRN_MIN(column, (uint32_t)COLUMNS_TOLD) & 1;
}

static void request_columns(struct module_cursor *cursor, const struct firn_select_reference *reference, uint64_t used)
{
    uint32_t count = count_columns(reference), wanted_count = 0;
    struct firn_metadata_path *wanted = FIRN_NEW_ARRAY(&cursor->scan, struct firn_metadata_path, count);
    for (uint32_t i = 0; i < count; i++)
        if (is_used(used, i))
            wanted[wanted_count++] = firn_metadata_module_path(reference, i);
    cursor->request = (struct firn_metadata_request){ .wanted = wanted, .wanted_count = wanted_count };
}

static bool read_value(struct firn_arena *arena, sqlite3_value *value, struct firn_cell *out)
{
    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        firn_cell_i64(out, sqlite3_value_int64(value));
        return true;
    case SQLITE_FLOAT:
        out->kind = FIRN_CELL_REAL;
        out->real = sqlite3_value_double(value);
        return true;
    case SQLITE_TEXT: {
        const char *text = (const char *)sqlite3_value_text(value);
        struct firn_text borrowed = { text ? text : "", text ? (size_t)sqlite3_value_bytes(value) : 0 };
        firn_cell_text(out, firn_text_copy(arena, borrowed));
        return true;
    }
    default:
        return false;
    }
}

static void request_filters(struct module_cursor *cursor, const struct firn_select_reference *reference,
                            const char *plan, int argc, sqlite3_value **argv)
{
    struct firn_metadata_filter *filters = FIRN_NEW_ARRAY(&cursor->scan, struct firn_metadata_filter, (size_t)argc);
    uint32_t count = 0;
    char *at;
    for (int i = 0; i < argc; i++, plan = at) {
        unsigned long column = strtoul(plan, &at, 10), compare = strtoul(at, &at, 10);
        struct firn_metadata_filter filter = { .path = firn_metadata_module_path(reference, (uint32_t)column),
                                               .compare = (enum firn_metadata_compare)compare };
        if (read_value(&cursor->scan, argv[i], &filter.value))
            filters[count++] = filter;
    }
    cursor->request.filters = filters;
    cursor->request.filter_count = count;
}

static firn_status step_cursor(struct firn_op *op, struct module_cursor *cursor, const struct firn_metadata_table *kind)
{
    struct firn_arena *results = op->arena;
    op->arena = &cursor->scan;
    firn_status status = kind->next(op, cursor->cursor, &cursor->got);
    op->arena = results;
    cursor->got = cursor->got && status == FIRN_OK;
    cursor->row++;
    return status;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *plan, int argc, sqlite3_value **argv)
{
    struct module_cursor *cursor = (struct module_cursor *)base;
    const struct firn_select_reference *reference = cursor_reference(base);
    struct firn_op *op = select_of(base)->op;
    struct firn_arena *results = op->arena;
    char *at;
    (void)number;
    end_scan(cursor, reference->kind);
    request_columns(cursor, reference, strtoull(plan, &at, 16));
    request_filters(cursor, reference, at, argc, argv);
    op->arena = &cursor->scan;
    firn_status status =
        reference->kind->open(op, reference->kind, &reference->view, &cursor->request, &cursor->cursor);
    op->arena = results;
    cursor->is_open = status == FIRN_OK;
    if (status == FIRN_OK)
        status = step_cursor(op, cursor, reference->kind);
    return code_of(select_of(base), status);
}

static int next(sqlite3_vtab_cursor *base)
{
    struct firn_select *select = select_of(base);
    return code_of(select, step_cursor(select->op, (struct module_cursor *)base, cursor_reference(base)->kind));
}

static int is_at_end(sqlite3_vtab_cursor *base)
{
    return !((struct module_cursor *)base)->got;
}

static void give(sqlite3_context *context, const struct firn_cell *cell)
{
    switch (cell->kind) {
    case FIRN_CELL_INTEGER:
        sqlite3_result_int64(context, cell->integer);
        break;
    case FIRN_CELL_REAL:
        sqlite3_result_double(context, cell->real);
        break;
    case FIRN_CELL_TEXT:
        sqlite3_result_text64(context, cell->text.data, cell->text.len, SQLITE_TRANSIENT, SQLITE_UTF8);
        break;
    default:
        sqlite3_result_null(context);
        break;
    }
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int index)
{
    struct module_cursor *cursor = (struct module_cursor *)base;
    const struct firn_select_reference *reference = cursor_reference(base);
    struct firn_metadata_path path = firn_metadata_module_path(reference, (uint32_t)index);
    struct firn_op *op = select_of(base)->op;
    struct firn_arena *results = op->arena;
    struct firn_cell cell = { .scratch = &cursor->scratch };
    firn_arena_reset(&cursor->cell);
    op->arena = &cursor->cell;
    firn_status status = reference->kind->cell(op, cursor->cursor, &path, &cell);
    op->arena = results;
    if (status == FIRN_OK)
        give(context, &cell);
    return code_of(select_of(base), status);
}

static int row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
    *out = ((struct module_cursor *)base)->row;
    return SQLITE_OK;
}

const sqlite3_module firn_metadata_module = {
    .xCreate = connect,
    .xConnect = connect,
    .xBestIndex = best_index,
    .xDisconnect = disconnect,
    .xDestroy = disconnect,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = filter,
    .xNext = next,
    .xEof = is_at_end,
    .xColumn = column,
    .xRowid = row_id,
};
