/* What a manifest's entry says of its file, column by column. Reference: format-notes.md, 18. */
#include "sql/file_shape.h"

#include "base/math.h"
#include "sql/json_out.h"

static const struct firn_metadata_column_fact facts[FIRN_FILE_FIELD_COUNT] = {
    [FIRN_FILE_CONTENT] = { "content", "int" },
    [FIRN_FILE_PATH] = { "file_path", "string" },
    [FIRN_FILE_FORMAT] = { "file_format", "string" },
    [FIRN_FILE_SPEC] = { "spec_id", "int" },
    [FIRN_FILE_PARTITION] = { "partition", "" },
    [FIRN_FILE_RECORDS] = { "record_count", "bigint" },
    [FIRN_FILE_BYTES] = { "file_size_in_bytes", "bigint" },
    [FIRN_FILE_COLUMN_SIZES] = { "column_sizes", "map<int,bigint>" },
    [FIRN_FILE_VALUE_COUNTS] = { "value_counts", "map<int,bigint>" },
    [FIRN_FILE_NULL_VALUE_COUNTS] = { "null_value_counts", "map<int,bigint>" },
    [FIRN_FILE_NAN_VALUE_COUNTS] = { "nan_value_counts", "map<int,bigint>" },
    [FIRN_FILE_LOWER_BOUNDS] = { "lower_bounds", "map<int,binary>" },
    [FIRN_FILE_UPPER_BOUNDS] = { "upper_bounds", "map<int,binary>" },
    [FIRN_FILE_KEY_METADATA] = { "key_metadata", "binary" },
    [FIRN_FILE_SPLIT_OFFSETS] = { "split_offsets", "array<bigint>" },
    [FIRN_FILE_EQUALITY_IDS] = { "equality_ids", "array<int>" },
    [FIRN_FILE_SORT_ORDER] = { "sort_order_id", "int" },
    [FIRN_FILE_FIRST_ROW] = { "first_row_id", "bigint" },
    [FIRN_FILE_REFERENCED] = { "referenced_data_file", "string" },
    [FIRN_FILE_CONTENT_OFFSET] = { "content_offset", "bigint" },
    [FIRN_FILE_CONTENT_BYTES] = { "content_size_in_bytes", "bigint" },
};

firn_status firn_file_shape_new(struct firn_op *op, const struct firn_metadata *metadata,
                                const struct firn_file_shape **out)
{
    struct firn_file_shape *shape = FIRN_NEW(op->arena, struct firn_file_shape);
    FIRN_TRY(firn_partition_shape_new(op, metadata, &shape->partitions));
    struct firn_metadata_column *columns =
        FIRN_NEW_ARRAY(op->arena, struct firn_metadata_column, FIRN_FILE_FIELD_COUNT);
    uint32_t count = 0;
    for (int field = 0; field < FIRN_FILE_FIELD_COUNT; field++) {
        if (field == FIRN_FILE_PARTITION && shape->partitions->field_count == 0)
            continue;
        shape->fields[count] = (enum firn_file_field)field;
        firn_metadata_columns_of(&facts[field], 1, &columns[count]);
        if (field == FIRN_FILE_PARTITION)
            columns[count] = firn_partition_shape_column(op->arena, shape->partitions);
        count++;
    }
    shape->columns = (struct firn_metadata_columns){ columns, count };
    shape->metrics = firn_readable_metrics_column(op, firn_metadata_current_schema(metadata), &shape->leaves);
    *out = shape;
    return FIRN_OK;
}

uint32_t firn_file_shape_find(const struct firn_file_shape *shape, enum firn_file_field field)
{
    for (uint32_t i = 0; i < shape->columns.count; i++)
        if (shape->fields[i] == field)
            return i;
    return UINT32_MAX;
}

bool firn_file_shape_needs_metrics(const struct firn_file_shape *shape, const struct firn_metadata_path *path,
                                   uint32_t depth)
{
    if (depth >= path->count || path->steps[depth] >= shape->columns.count)
        return true;
    enum firn_file_field field = shape->fields[path->steps[depth]];
    return field >= FIRN_FILE_COLUMN_SIZES && field <= FIRN_FILE_UPPER_BOUNDS;
}

/* Values that nest ---------------------------------------------------------------------------------------------------
 */

static void write_counts(struct firn_json_out *json, const struct firn_count_map *map)
{
    if (!map->present) {
        firn_json_out_null(json);
        return;
    }
    firn_json_out_begin(json, '{');
    for (uint32_t i = 0; i < map->count; i++) {
        firn_json_out_number_key(json, map->ids[i]);
        firn_json_out_i64(json, map->counts[i]);
    }
    firn_json_out_end(json, '}');
}

static void write_bounds(struct firn_json_out *json, const struct firn_bound_map *map)
{
    if (!map->present) {
        firn_json_out_null(json);
        return;
    }
    firn_json_out_begin(json, '{');
    for (uint32_t i = 0; i < map->count; i++) {
        firn_json_out_number_key(json, map->ids[i]);
        firn_json_out_bytes(json, map->values[i]);
    }
    firn_json_out_end(json, '}');
}

/* Offsets beyond the file are those of a writer that had them wrong, and count as none. */
static void write_offsets(struct firn_json_out *json, const struct firn_data_file *file)
{
    if (!file->split_offsets || file->split_offsets[file->split_offset_count - 1] >= file->file_bytes) {
        firn_json_out_null(json);
        return;
    }
    firn_json_out_begin(json, '[');
    for (uint32_t i = 0; i < file->split_offset_count; i++)
        firn_json_out_i64(json, file->split_offsets[i]);
    firn_json_out_end(json, ']');
}

static void write_ids(struct firn_json_out *json, const struct firn_data_file *file)
{
    if (!file->equality_ids) {
        firn_json_out_null(json);
        return;
    }
    firn_json_out_begin(json, '[');
    for (uint32_t i = 0; i < file->equality_id_count; i++)
        firn_json_out_i64(json, file->equality_ids[i]);
    firn_json_out_end(json, ']');
}

/* The file's partition in the struct of all specs. */
static const struct firn_value *tuple_of(struct firn_op *op, const struct firn_file_shape *shape,
                                         const struct firn_data_file *file)
{
    struct firn_value *values = FIRN_NEW_ARRAY(op->arena, struct firn_value, shape->partitions->field_count);
    firn_partition_shape_values(shape->partitions, file->spec_id, &file->partition, values);
    return values;
}

/* False for a field that does not nest. */
static bool write_nested(struct firn_json_out *json, const struct firn_file_shape *shape,
                         const struct firn_data_file *file, enum firn_file_field field)
{
    switch (field) {
    case FIRN_FILE_PARTITION:
        firn_partition_shape_json(shape->partitions, tuple_of(json->op, shape, file), json);
        return true;
    case FIRN_FILE_COLUMN_SIZES:
        write_counts(json, &file->column_sizes);
        return true;
    case FIRN_FILE_VALUE_COUNTS:
        write_counts(json, &file->value_counts);
        return true;
    case FIRN_FILE_NULL_VALUE_COUNTS:
        write_counts(json, &file->null_value_counts);
        return true;
    case FIRN_FILE_NAN_VALUE_COUNTS:
        write_counts(json, &file->nan_value_counts);
        return true;
    case FIRN_FILE_LOWER_BOUNDS:
        write_bounds(json, &file->lower_bounds);
        return true;
    case FIRN_FILE_UPPER_BOUNDS:
        write_bounds(json, &file->upper_bounds);
        return true;
    case FIRN_FILE_SPLIT_OFFSETS:
        write_offsets(json, file);
        return true;
    case FIRN_FILE_EQUALITY_IDS:
        write_ids(json, file);
        return true;
    default:
        return false;
    }
}

/* Plain values --------------------------------------------------------------------------------------------------------
 */

static void plain_cell(struct firn_arena *arena, const struct firn_data_file *file, enum firn_file_field field,
                       struct firn_cell *out)
{
    switch (field) {
    case FIRN_FILE_CONTENT:
        firn_cell_i64(out, file->content);
        break;
    case FIRN_FILE_PATH:
        firn_cell_text(out, file->path);
        break;
    case FIRN_FILE_FORMAT:
        firn_cell_text(out, file->format_text);
        break;
    case FIRN_FILE_SPEC:
        firn_cell_i64(out, file->spec_id);
        break;
    case FIRN_FILE_RECORDS:
        firn_cell_i64(out, file->record_count);
        break;
    case FIRN_FILE_BYTES:
        firn_cell_i64(out, file->file_bytes);
        break;
    case FIRN_FILE_KEY_METADATA:
        firn_cell_bytes(arena, out, file->key_metadata);
        break;
    case FIRN_FILE_SORT_ORDER:
        firn_cell_i64_unless(out, file->sort_order_id, FIRN_ABSENT);
        break;
    case FIRN_FILE_FIRST_ROW:
        firn_cell_i64_unless(out, file->first_row_id, FIRN_ABSENT);
        break;
    case FIRN_FILE_REFERENCED:
        firn_cell_text(out, file->referenced_data_file);
        break;
    case FIRN_FILE_CONTENT_OFFSET:
        firn_cell_i64_unless(out, file->content_offset, FIRN_ABSENT);
        break;
    default:
        firn_cell_i64_unless(out, file->content_bytes, FIRN_ABSENT);
        break;
    }
}

static void write_plain(struct firn_json_out *json, const struct firn_data_file *file, enum firn_file_field field)
{
    struct firn_cell cell = { 0 };
    plain_cell(json->op->arena, file, field, &cell);
    if (cell.kind == FIRN_CELL_INTEGER)
        firn_json_out_i64(json, cell.integer);
    else if (cell.kind == FIRN_CELL_TEXT)
        firn_json_out_text(json, cell.text);
    else
        firn_json_out_null(json);
}

/* Cells ---------------------------------------------------------------------------------------------------------------
 */

firn_status firn_file_shape_cell(struct firn_op *op, const struct firn_file_shape *shape,
                                 const struct firn_data_file *file, const struct firn_metadata_path *path,
                                 uint32_t depth, struct firn_cell *out)
{
    enum firn_file_field field = shape->fields[path->steps[depth]];
    if (field == FIRN_FILE_PARTITION)
        return firn_partition_shape_cell(op, shape->partitions, tuple_of(op, shape, file), path, depth + 1, out);
    struct firn_json_out json = firn_json_out_of(op, out->scratch);
    if (!write_nested(&json, shape, file, field)) {
        plain_cell(op->arena, file, field, out);
        return FIRN_OK;
    }
    FIRN_TRY(json.status);
    bool is_null = firn_text_is(firn_text_of_bytes(firn_buffer_bytes(json.buffer)), "null");
    return is_null ? FIRN_OK : firn_cell_json(out, &json);
}

firn_status firn_file_shape_json(struct firn_op *op, const struct firn_file_shape *shape,
                                 const struct firn_data_file *file, struct firn_cell *out)
{
    struct firn_json_out json = firn_json_out_of(op, out->scratch);
    firn_json_out_begin(&json, '{');
    for (uint32_t i = 0; i < shape->columns.count; i++) {
        firn_json_out_key(&json, shape->columns.items[i].name);
        if (!write_nested(&json, shape, file, shape->fields[i]))
            write_plain(&json, file, shape->fields[i]);
    }
    firn_json_out_end(&json, '}');
    return firn_cell_json(out, &json);
}
