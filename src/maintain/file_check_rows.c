/* Files checked row by row: Avro, whose values are compared with the entry's metrics, and the content of position
 * deletes. Iceberg spec, "Position Delete Files", "Equality Delete Files". */
#include "base/math.h"
#include "maintain/file_check_parts.h"
#include "rewrite/deletion_equality.h"
#include "rewrite/deletion_position.h"
#include "table/delete_index.h"

#include <math.h>

static void check_row_count(struct firn_checked *checked, int64_t rows)
{
    if (rows != checked->file->record_count)
        FIRN_CHECK_ERROR(checked, "row-count", "it has %" PRId64 " rows, its entry records %" PRId64, rows,
                         checked->file->record_count);
}

/* The entry for readers that would say of themselves that its count is wrong. */
static struct firn_data_file without_count(const struct firn_checked *checked)
{
    struct firn_data_file file = *checked->file;
    file.record_count = -1;
    return file;
}

/* Values of Avro columns ------------------------------------------------------------------------------------------- */

struct avro_column {
    struct firn_column_facts facts;
    struct firn_buffer lower, upper; /* bytes of the bounds, where they have any */
};

struct id_array {
    int32_t *items;
    size_t count;
    size_t capacity;
};

struct avro_check {
    const struct firn_output_schema *schema;
    struct avro_column *columns;
    int64_t row_count;
};

static bool has_bytes(enum firn_type_id id)
{
    return id == FIRN_TYPE_STRING || id == FIRN_TYPE_BINARY || id == FIRN_TYPE_FIXED || id == FIRN_TYPE_UUID;
}

/* Makes a value of a batch outlive it. */
static firn_status keep_value(struct firn_op *op, const struct firn_value *value, struct firn_buffer *bytes,
                              struct firn_value *out)
{
    *out = *value;
    if (!has_bytes(value->type))
        return FIRN_OK;
    firn_buffer_clear(bytes);
    FIRN_TRY(firn_buffer_append(op, bytes, value->bytes.data, value->bytes.len));
    out->bytes = firn_buffer_bytes(bytes);
    return FIRN_OK;
}

static firn_status add_value(struct firn_op *op, struct avro_column *column, const struct firn_value *value)
{
    struct firn_column_facts *facts = &column->facts;
    bool is_real = value->type == FIRN_TYPE_FLOAT || value->type == FIRN_TYPE_DOUBLE;
    facts->value_count++;
    facts->null_count += value->is_null;
    if (value->is_null)
        return FIRN_OK;
    if (is_real && isnan(value->real)) {
        facts->nan_count++;
        return FIRN_OK;
    }
    bool first = !facts->has_bounds;
    facts->has_bounds = true;
    if (first || firn_value_compare(value, &facts->lower) < 0)
        FIRN_TRY(keep_value(op, value, &column->lower, &facts->lower));
    if (first || firn_value_compare(value, &facts->upper) > 0)
        FIRN_TRY(keep_value(op, value, &column->upper, &facts->upper));
    return FIRN_OK;
}

static firn_status add_rows(struct firn_op *op, void *context, const struct firn_row_batch *batch)
{
    struct avro_check *check = context;
    check->row_count += batch->row_count;
    for (uint32_t i = 0; i < check->schema->leaf_count; i++)
        for (uint32_t row = 0; row < batch->row_count; row++)
            FIRN_TRY(add_value(op, &check->columns[i], &batch->columns[i][row]));
    return FIRN_OK;
}

/* Columns of the current schema that are no part of a list or map. Recursion is as deep as the schema, which its parser
 * limits. */
static void collect_columns(struct firn_op *op, const struct firn_type *type, struct id_array *out)
{
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct firn_field *field = &type->fields[i];
        if (field->type.id == FIRN_TYPE_STRUCT)
            collect_columns(op, &field->type, out);
        else if (firn_type_is_primitive(field->type.id) && field->type.id != FIRN_TYPE_UNKNOWN)
            FIRN_PUSH(op->arena, out, field->id);
    }
}

/* What to read: the keys of an equality delete, else all. */
static struct id_array wanted_columns(struct firn_op *op, const struct firn_checked *checked)
{
    const struct firn_data_file *file = checked->file;
    struct id_array ids = { 0 };
    if (file->content == FIRN_CONTENT_DATA)
        collect_columns(op, &firn_metadata_current_schema(checked->what->metadata)->root, &ids);
    for (uint32_t i = 0; file->content == FIRN_CONTENT_EQUALITY_DELETES && i < file->equality_id_count; i++)
        if (firn_check_field(checked, file->equality_ids[i]))
            FIRN_PUSH(op->arena, &ids, file->equality_ids[i]);
    return ids;
}

static void begin_columns(struct firn_op *op, struct avro_check *check)
{
    check->columns = FIRN_NEW_ARRAY(op->arena, struct avro_column, check->schema->leaf_count);
    for (uint32_t i = 0; i < check->schema->leaf_count; i++) {
        const struct firn_output_leaf *leaf = &check->schema->leaves[i];
        enum firn_type_id type = leaf->field->type.id;
        check->columns[i].facts = (struct firn_column_facts){
            .field = leaf->field,
            .name = leaf->name,
            .nested = leaf->node->parent->parent,
            .nan_count = type == FIRN_TYPE_FLOAT || type == FIRN_TYPE_DOUBLE ? 0 : FIRN_ABSENT,
            .lower_exact = true,
            .upper_exact = true,
        };
        firn_buffer_defer(op->arena, &check->columns[i].lower);
        firn_buffer_defer(op->arena, &check->columns[i].upper);
    }
}

/* Columns that are read from the partition say nothing of what is stored. */
static void end_columns(struct firn_op *op, struct firn_checked *checked, const struct avro_check *check)
{
    check_row_count(checked, check->row_count);
    for (uint32_t i = 0; i < check->schema->leaf_count; i++)
        if (!firn_check_is_constant(checked, check->columns[i].facts.field->id))
            firn_check_metrics(op, checked, &check->columns[i].facts);
}

static firn_status check_avro_rows(struct firn_op *op, struct firn_checked *checked)
{
    struct id_array ids = wanted_columns(op, checked);
    struct firn_data_file file = without_count(checked);
    struct firn_key_columns columns;
    struct avro_check check = { .schema = &columns.leaves };
    struct firn_file_rows_config config = {
        .metadata = checked->what->metadata,
        .store = checked->what->store,
        .schema = &columns.leaves,
        .ids = &checked->ids,
        .file = &file,
        .complete = file.content == FIRN_CONTENT_EQUALITY_DELETES,
    };
    if (ids.count == 0)
        return FIRN_OK;
    FIRN_TRY(firn_key_columns_new(op, &checked->ids, ids.items, (uint32_t)ids.count, &columns));
    begin_columns(op, &check);
    FIRN_TRY(firn_file_rows_read(op, &config, add_rows, &check));
    end_columns(op, checked, &check);
    return FIRN_OK;
}

firn_status firn_check_avro(struct firn_op *op, struct firn_checked *checked)
{
    if (checked->file->content == FIRN_CONTENT_POSITION_DELETES)
        return firn_check_position_deletes(op, checked);
    return firn_check_failed(op, checked, check_avro_rows(op, checked), "file-unreadable");
}

/* Position deletes ------------------------------------------------------------------------------------------------- */

struct deletes_check {
    struct firn_checked *checked;
    struct firn_text scope;  /* the only data file, where the entry names one */
    struct firn_buffer path; /* of the row before */
    bool has_path;
    int64_t position;  /* of the row before */
    int64_t data_rows; /* of the data file of that path; INT64_MAX: not known */
    int64_t row_count;
    uint64_t null_count, stray_count; /* rows without a path, and those of another data file than the scope */
    uint64_t beyond_count, unsorted_count;
};

/* Rows of the data file that a path names; INT64_MAX: not known. */
static int64_t rows_of(const struct firn_checked *checked, struct firn_text path)
{
    const struct firn_key_map *counts = checked->what->row_counts;
    const int64_t *rows = counts ? firn_key_map_find(counts, firn_row_count_key(path)) : NULL;
    return rows ? *rows : INT64_MAX;
}

static firn_status begin_path(struct firn_op *op, struct deletes_check *check, struct firn_text path)
{
    check->has_path = true;
    check->data_rows = rows_of(check->checked, path);
    firn_buffer_clear(&check->path);
    return firn_buffer_append(op, &check->path, path.data, path.len);
}

static firn_status add_delete(struct firn_op *op, struct deletes_check *check, struct firn_text path, int64_t position)
{
    int order = check->has_path ? firn_bytes_compare(firn_bytes_of_text(path), firn_buffer_bytes(&check->path)) : 1;
    if (check->has_path && (order < 0 || (order == 0 && position < check->position)))
        check->unsorted_count++;
    if (order != 0)
        FIRN_TRY(begin_path(op, check, path));
    check->position = position;
    if (position < 0 || position >= check->data_rows)
        check->beyond_count++;
    if (check->scope.len > 0 && !firn_text_same(firn_delete_path_bare(path), firn_delete_path_bare(check->scope)))
        check->stray_count++;
    return FIRN_OK;
}

static firn_status add_deletes(struct firn_op *op, void *context, const struct firn_row_batch *batch)
{
    struct deletes_check *check = context;
    check->row_count += batch->row_count;
    for (uint32_t i = 0; i < batch->row_count; i++) {
        const struct firn_value *path = &batch->columns[0][i], *position = &batch->columns[1][i];
        if (path->is_null)
            check->null_count++;
        else
            FIRN_TRY(
                add_delete(op, check, firn_text_of_bytes(path->bytes), position->is_null ? -1 : position->integer));
    }
    return FIRN_OK;
}

static void report_deletes(const struct deletes_check *check)
{
    struct firn_checked *checked = check->checked;
    if (checked->file->format != FIRN_FILE_PARQUET) /* else the footer told */
        check_row_count(checked, check->row_count);
    if (check->null_count > 0)
        FIRN_CHECK_WARNING(checked, "delete-path", "%" PRIu64 " of its rows have no path and delete nothing",
                           check->null_count);
    if (check->stray_count > 0)
        FIRN_CHECK_ERROR(checked, "delete-path",
                         "%" PRIu64 " of its rows delete from other files than '%.*s', which its "
                         "entry names alone",
                         check->stray_count, FIRN_FMT(check->scope));
    if (check->beyond_count > 0)
        FIRN_CHECK_ERROR(checked, "delete-position",
                         "%" PRIu64 " of its rows have a position that the data file has not", check->beyond_count);
    if (check->unsorted_count > 0)
        FIRN_CHECK_WARNING(checked, "delete-order", "%" PRIu64 " of its rows are not in the order of path and position",
                           check->unsorted_count);
}

firn_status firn_check_position_deletes(struct firn_op *op, struct firn_checked *checked)
{
    struct deletes_check check = { .checked = checked, .scope = firn_delete_file_scope(checked->file) };
    struct firn_data_file file = without_count(checked);
    firn_status status =
        firn_position_rows_read(op, checked->what->metadata, checked->what->store, &file, add_deletes, &check);
    firn_buffer_done(&check.path);
    if (status == FIRN_OK)
        report_deletes(&check);
    return firn_check_failed(op, checked, status, "file-unreadable");
}
