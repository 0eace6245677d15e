/* compute_table_stats: sketches into a Puffin file, the file into the metadata. Reference: procedures.md, 8.1;
 * Puffin specification, "apache-datasketches-theta-v1 blob type".
 *
 * Invariants
 *  (1) The file is whole and durable before the metadata names it; where it does not come to be named, it is removed,
 *      unless the outcome is unknown.
 *  (2) Numbers are of the live rows of exactly one snapshot, which need not be the newest when they are set. */
#include "firn/compute_stats.h"

#include "format/puffin/puffin.h"
#include "maintain/column_sketches.h"
#include "maintain/journal.h"
#include "maintain/statistics_file.h"

#define CREATED_BY "firn " FIRN_VERSION
#define PROPERTY   FIRN_TEXT("ndv")

struct computing {
    struct firn_pool *pool;
    struct firn_table *table;
    const struct firn_table_stats_args *args;
    struct firn_table_stats_report *report;
    const struct firn_snapshot *snapshot;
    const struct firn_schema *schema;
    const struct firn_field **columns;
    uint32_t column_count;
    struct firn_puffin_writer *writer; /* NULL: nothing is written */
    json_t *blobs;                     /* what the metadata says of them */
};

/* Arguments ------------------------------------------------------------------------------------------------------ */

/* Types that have no single-value form have no distinct values that could be told. */
static bool is_countable(const struct firn_type *type)
{
    return firn_type_is_primitive(type->id) && type->id != FIRN_TYPE_UNKNOWN && type->id != FIRN_TYPE_GEOMETRY &&
           type->id != FIRN_TYPE_GEOGRAPHY;
}

/* Whether the field of an id lies in structs alone. As deep as the schema, which its parser limits. */
static bool is_in_structs(const struct firn_type *type, int32_t id)
{
    for (uint32_t i = 0; type->id == FIRN_TYPE_STRUCT && i < type->field_count; i++)
        if (type->fields[i].id == id || is_in_structs(&type->fields[i].type, id))
            return true;
    return false;
}

static firn_status find_column(struct firn_op *op, const struct computing *computing, struct firn_text name,
                               const struct firn_field **out)
{
    const struct firn_field *field = firn_schema_field_named(computing->schema, name, false);
    if (!field)
        return firn_fail(op, FIRN_USAGE, "snapshot %" PRId64 " has no column '%.*s'", computing->snapshot->id,
                         FIRN_FMT(name));
    if (!firn_type_is_primitive(field->type.id))
        return firn_fail(op, FIRN_USAGE, "column '%.*s' is a %s: only primitive columns have statistics",
                         FIRN_FMT(name), firn_type_name(field->type.id));
    if (!is_countable(&field->type))
        return firn_fail(op, FIRN_UNSUPPORTED, "distinct values of column '%.*s' of type %s are not counted",
                         FIRN_FMT(name), firn_type_name(field->type.id));
    if (!is_in_structs(&computing->schema->root, field->id))
        return firn_fail(op, FIRN_UNSUPPORTED, "column '%.*s' is inside a list or map", FIRN_FMT(name));
    *out = field;
    return FIRN_OK;
}

static void add_column(struct computing *computing, const struct firn_field *field, struct firn_text name)
{
    for (uint32_t i = 0; i < computing->column_count; i++)
        if (computing->columns[i] == field)
            return;
    computing->report->columns[computing->column_count] =
        (struct firn_column_stats){ .name = name, .field_id = field->id };
    computing->columns[computing->column_count++] = field;
}

static firn_status find_columns(struct firn_op *op, struct computing *computing)
{
    const struct firn_table_stats_args *args = computing->args;
    const struct firn_type *root = &computing->schema->root;
    size_t count = args->columns ? args->column_count : root->field_count;
    computing->columns = FIRN_NEW_ARRAY(op->arena, const struct firn_field *, count);
    computing->report->columns = FIRN_NEW_ARRAY(op->arena, struct firn_column_stats, count);
    for (size_t i = 0; i < count; i++) {
        const struct firn_field *field = &root->fields[i];
        if (args->columns)
            FIRN_TRY(find_column(op, computing, args->columns[i], &field));
        else if (!is_countable(&field->type))
            continue;
        add_column(computing, field, args->columns ? args->columns[i] : field->name);
    }
    computing->report->column_count = computing->column_count;
    if (computing->column_count == 0)
        return firn_fail(op, FIRN_USAGE, "there are no columns to compute statistics of");
    return FIRN_OK;
}

/* The file ------------------------------------------------------------------------------------------------------- */

static json_t *blob_json(const struct firn_puffin_blob *blob)
{
    json_t *json = json_object(), *properties = json_object(), *fields = json_array();
    json_array_append_new(fields, json_integer(blob->fields[0]));
    firn_json_set_text(json, "type", blob->type);
    firn_json_set_i64(json, "snapshot-id", blob->snapshot_id);
    firn_json_set_i64(json, "sequence-number", blob->sequence_number);
    firn_json_set(json, "fields", fields);
    firn_json_set_at(properties, blob->properties[0].key, firn_json_string(blob->properties[0].value));
    firn_json_set(json, "properties", properties);
    return json;
}

static firn_status write_blob(struct firn_op *op, struct computing *computing, struct firn_column_stats *column,
                              const struct firn_theta_compact *sketch)
{
    struct firn_puffin_property *ndv = FIRN_NEW(op->arena, struct firn_puffin_property);
    struct firn_puffin_blob blob = {
        .type = FIRN_TEXT(FIRN_THETA_TYPE),
        .fields = &column->field_id,
        .field_count = 1,
        .snapshot_id = computing->snapshot->id,
        .sequence_number = computing->snapshot->sequence_number,
        .codec = FIRN_TEXT("zstd"),
        .properties = ndv,
        .property_count = 1,
    };
    struct firn_buffer bytes = { 0 };
    *ndv = (struct firn_puffin_property){ PROPERTY, firn_text_format(op->arena, "%" PRId64, column->distinct_count) };
    firn_status status = firn_theta_print(op, sketch, &bytes);
    if (status == FIRN_OK)
        status = firn_puffin_writer_add(op, computing->writer, &blob, firn_buffer_bytes(&bytes));
    firn_buffer_done(&bytes);
    if (status == FIRN_OK)
        json_array_append_new(computing->blobs, blob_json(&blob));
    return status;
}

static firn_status take_sketch(struct firn_op *op, void *context, uint32_t index,
                               const struct firn_theta_compact *sketch)
{
    struct computing *computing = context;
    struct firn_column_stats *column = &computing->report->columns[index];
    column->distinct_count = (int64_t)firn_theta_estimate(sketch);
    column->exact = sketch->theta == FIRN_THETA_ALL;
    return computing->writer ? write_blob(op, computing, column, sketch) : FIRN_OK;
}

static firn_status read_columns(struct firn_op *op, struct computing *computing)
{
    struct firn_table_stats_report *report = computing->report;
    struct firn_column_sketches_report read;
    struct firn_column_sketches_config config = {
        .metadata = computing->table->metadata,
        .snapshot = computing->snapshot,
        .schema = computing->schema,
        .store = computing->table->store,
        .pool = computing->pool,
        .columns = computing->columns,
        .column_count = computing->column_count,
        .progress = computing->args->progress,
    };
    FIRN_TRY(firn_column_sketches_read(op, &config, take_sketch, computing, &read));
    report->row_count = read.row_count;
    report->file_count = read.file_count;
    return FIRN_OK;
}

/* Fills `sink`; `file` receives what the metadata is to say of it. */
static firn_status write_content(struct firn_op *op, struct computing *computing, struct firn_sink *sink, json_t *file)
{
    static const struct firn_puffin_property created_by = { FIRN_TEXT_INIT("created-by"), FIRN_TEXT_INIT(CREATED_BY) };
    uint64_t start = sink->offset;
    computing->blobs = json_array();
    firn_json_set(file, "blob-metadata", computing->blobs);
    FIRN_TRY(firn_puffin_writer_open(op, sink, &computing->writer));
    FIRN_TRY(read_columns(op, computing));
    uint64_t footer_start = sink->offset;
    FIRN_TRY(firn_puffin_writer_finish(op, computing->writer, &created_by, 1, false));
    firn_json_set_i64(file, "file-size-in-bytes", (int64_t)(sink->offset - start));
    firn_json_set_i64(file, "file-footer-size-in-bytes", (int64_t)(sink->offset - footer_start));
    return FIRN_OK;
}

static firn_status write_file(struct firn_op *op, struct computing *computing, struct firn_text location, json_t *file)
{
    struct firn_store_writer *writer;
    firn_json_set_text(file, "statistics-path", location);
    FIRN_TRY(firn_store_write(op, computing->table->store, location, true, &writer));
    firn_status status = write_content(op, computing, firn_store_writer_sink(writer), file);
    if (status == FIRN_OK)
        return firn_store_writer_finish(op, writer);
    firn_store_writer_close(writer);
    return status;
}

/* The procedure -------------------------------------------------------------------------------------------------- */

static firn_status compute(struct firn_op *op, void *context)
{
    struct computing *computing = context;
    struct firn_table *table = computing->table;
    int64_t id = computing->snapshot->id;
    struct firn_text location = firn_statistics_location(op, table->metadata, id, "", ".stats");
    json_t *file = firn_json_own(op->arena, json_object());
    struct firn_statistics_setting setting = { id, location, "set-statistics", "statistics", file };
    FIRN_TRY(write_file(op, computing, location, file));
    FIRN_TRY(firn_statistics_set(op, table, &setting));
    computing->report->statistics_file = location;
    return FIRN_OK;
}

static firn_status run(struct firn_op *op, struct computing *computing)
{
    struct firn_table *table = computing->table;
    struct firn_table_stats_report *report = computing->report;
    FIRN_TRY(firn_statistics_snapshot(op, table->metadata, computing->args->snapshot_id, &computing->snapshot));
    if (!computing->snapshot)
        return FIRN_OK;
    report->has_snapshot = true;
    report->snapshot_id = computing->snapshot->id;
    computing->schema = firn_snapshot_schema(table->metadata, computing->snapshot);
    FIRN_TRY(find_columns(op, computing));
    if (computing->args->dry_run)
        return read_columns(op, computing);
    return firn_journal_run(op, computing->pool, table, "compute-table-stats", true, compute, computing);
}

firn_status firn_compute_table_stats(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                     const struct firn_table_stats_args *args, struct firn_table_stats_report *out)
{
    int64_t started_ms = op->env->monotonic_ms(op->env->context);
    struct computing computing = { .pool = pool, .table = table, .args = args, .report = out };
    *out = (struct firn_table_stats_report){ 0 };
    if (args->columns && args->column_count == 0)
        return firn_fail(op, FIRN_USAGE, "the list of columns is empty");
    firn_status status = run(op, &computing);
    firn_progress_end(op, args->progress);
    out->elapsed_ms = op->env->monotonic_ms(op->env->context) - started_ms;
    return status;
}
