/* position_deletes: every row of the position delete files of a snapshot, and every position of its deletion vectors.
 * Reference: format-notes.md, 18. */
#include "base/math.h"
#include "rewrite/deletion_position.h"
#include "sql/manifest_feed.h"
#include "sql/partition_cell.h"
#include "sql/row_json.h"

enum delete_field {
    DELETE_PATH,
    DELETE_POSITION,
    DELETE_ROW,
    DELETE_PARTITION,
    DELETE_SPEC,
    DELETE_FILE,
    DELETE_CONTENT_OFFSET,
    DELETE_CONTENT_BYTES,
    DELETE_FIELD_COUNT
};

static const struct firn_metadata_column_fact facts[DELETE_FIELD_COUNT] = {
    [DELETE_PATH] = { "file_path", "string" },
    [DELETE_POSITION] = { "pos", "bigint" },
    [DELETE_ROW] = { "row", "" },
    [DELETE_PARTITION] = { "partition", "" },
    [DELETE_SPEC] = { "spec_id", "int" },
    [DELETE_FILE] = { "delete_file_path", "string" },
    [DELETE_CONTENT_OFFSET] = { "content_offset", "bigint" },
    [DELETE_CONTENT_BYTES] = { "content_size_in_bytes", "bigint" },
};

/* What the columns of a table are: some are left out. */
struct shape {
    const struct firn_partition_shape *partitions;
    enum delete_field fields[DELETE_FIELD_COUNT];
    uint32_t count;
};

/* Vectors are read a piece at a time. */
enum { POSITIONS_MAX = 4096 };

/* Rows of one data file that follow each other in a delete file. */
struct run {
    struct firn_text path;
    size_t end; /* of its positions in `positions` */
};

struct rows {
    const struct firn_metadata_view *view;
    const struct firn_metadata_request *request;
    struct shape shape;
    struct firn_manifest_list manifests;
    struct firn_manifest_feed *feed;
    const struct firn_manifest *manifest;
    uint32_t entry; /* entry of the manifest after the current one */
    bool needs_row;
    struct firn_output_schema columns; /* of the current delete file, where its rows are read */

    struct firn_arena arena; /* of the current delete file */
    struct firn_buffer runs, positions;
    struct firn_buffer texts, text_ends; /* the deleted rows as JSON, where the file has them and they are wanted */
    const struct firn_positions *vector; /* NULL: the file is no vector */
    size_t run, next;                    /* the current run, and the position after the current one */
};

/* Columns ---------------------------------------------------------------------------------------------------------- */

static bool has_field(const struct firn_metadata *metadata, const struct firn_partition_shape *partitions, int field)
{
    if (field == DELETE_PARTITION)
        return partitions->field_count > 0;
    return field < DELETE_CONTENT_OFFSET || metadata->format_version >= 3;
}

static firn_status make_shape(struct firn_op *op, const struct firn_metadata *metadata, struct shape *out)
{
    *out = (struct shape){ 0 };
    FIRN_TRY(firn_partition_shape_new(op, metadata, &out->partitions));
    for (int field = 0; field < DELETE_FIELD_COUNT; field++)
        if (has_field(metadata, out->partitions, field))
            out->fields[out->count++] = (enum delete_field)field;
    return FIRN_OK;
}

static firn_status columns(struct firn_op *op, const struct firn_metadata_view *view, struct firn_metadata_columns *out)
{
    struct shape shape;
    FIRN_TRY(make_shape(op, view->table->metadata, &shape));
    struct firn_metadata_column *items = FIRN_NEW_ARRAY(op->arena, struct firn_metadata_column, shape.count);
    for (uint32_t i = 0; i < shape.count; i++) {
        firn_metadata_columns_of(&facts[shape.fields[i]], 1, &items[i]);
        if (shape.fields[i] == DELETE_PARTITION)
            items[i] = firn_partition_shape_column(op->arena, shape.partitions);
        if (shape.fields[i] == DELETE_ROW)
            items[i].type = firn_spark_type_text(op->arena, &firn_metadata_current_schema(view->table->metadata)->root);
    }
    *out = (struct firn_metadata_columns){ items, shape.count };
    return FIRN_OK;
}

/* Reading one delete file ------------------------------------------------------------------------------------------ */

static firn_status begin_run(struct firn_op *op, struct rows *rows, struct firn_text path)
{
    struct run run = { .path = firn_text_copy(&rows->arena, path) };
    return firn_buffer_append(op, &rows->runs, &run, sizeof run);
}

static struct run *last_run(struct rows *rows)
{
    return rows->runs.len ? (struct run *)(void *)(rows->runs.data + rows->runs.len) - 1 : NULL;
}

static bool is_row(const struct firn_row_batch *batch, uint32_t row)
{
    return !batch->columns[0][row].is_null && !batch->columns[1][row].is_null;
}

static firn_status keep_positions(struct firn_op *op, void *context, const struct firn_row_batch *batch)
{
    struct rows *rows = context;
    for (uint32_t i = 0; i < batch->row_count; i++) {
        const struct firn_value *path = &batch->columns[0][i], *position = &batch->columns[1][i];
        struct firn_text text = firn_text_of_bytes(path->bytes);
        if (!is_row(batch, i))
            continue;
        if (!last_run(rows) || !firn_text_same(last_run(rows)->path, text))
            FIRN_TRY(begin_run(op, rows, text));
        FIRN_TRY(firn_buffer_append(op, &rows->positions, &position->integer, sizeof position->integer));
        last_run(rows)->end = rows->positions.len / sizeof(int64_t);
    }
    return FIRN_OK;
}

/* The text of the next row; of one without a place nothing stays. */
static firn_status keep_text(struct firn_op *op, struct rows *rows, const struct firn_row_json *deleted, bool keeps)
{
    struct firn_json_out json = { .op = op, .buffer = &rows->texts };
    size_t held = rows->texts.len;
    firn_row_json_write(deleted, &json);
    FIRN_TRY(json.status);
    if (!keeps)
        rows->texts.len = held;
    return keeps ? firn_buffer_append(op, &rows->text_ends, &rows->texts.len, sizeof rows->texts.len) : FIRN_OK;
}

static firn_status keep_texts(struct firn_op *op, struct rows *rows, const struct firn_row_batch *batch)
{
    const struct firn_field *field = &rows->columns.schema->root.fields[2];
    struct firn_row_json deleted = {
        .node = &rows->columns.footer->root.children[2],
        .type = &field->type,
        .slots = batch->slots,
        .next = FIRN_NEW_ARRAY(op->arena, uint32_t, rows->columns.leaf_count),
    };
    for (uint32_t i = 0; i < batch->row_count; i++)
        FIRN_TRY(keep_text(op, rows, &deleted, is_row(batch, i)));
    return FIRN_OK;
}

static firn_status keep_rows(struct firn_op *op, void *context, const struct firn_row_batch *batch)
{
    struct rows *rows = context;
    struct firn_scratch scratch;
    FIRN_TRY(keep_positions(op, rows, batch));
    firn_scratch_begin(op, &scratch);
    firn_status status = keep_texts(op, rows, batch);
    firn_scratch_end(op, &scratch);
    return status;
}

/* The next piece of a vector; nothing at its end. */
static firn_status read_positions(struct firn_op *op, struct rows *rows)
{
    int64_t *held = (int64_t *)(void *)rows->positions.data;
    int64_t from = rows->next ? held[rows->next - 1] + 1 : 0;
    FIRN_TRY(firn_buffer_resize(op, &rows->positions, POSITIONS_MAX * sizeof(int64_t)));
    held = (int64_t *)(void *)rows->positions.data;
    last_run(rows)->end = firn_positions_read(rows->vector, from, held, POSITIONS_MAX);
    rows->next = 0;
    return FIRN_OK;
}

static firn_status read_vector(struct firn_op *op, struct rows *rows, const struct firn_data_file *file)
{
    struct firn_positions *vector;
    FIRN_TRY(firn_deletion_vector_read(op, rows->view->table->store, file, &vector));
    rows->vector = vector;
    FIRN_TRY(begin_run(op, rows, file->referenced_data_file));
    return read_positions(op, rows);
}

/* Whether the rows are wanted and there. Those of Avro files, which hardly any writer keeps, are not decoded: to show
 * none would be wrong. */
static firn_status find_rows(struct firn_op *op, const struct rows *rows, const struct firn_data_file *file, bool *out)
{
    *out = false;
    if (!rows->needs_row || file->format == FIRN_FILE_OTHER || file->format == FIRN_FILE_PUFFIN)
        return FIRN_OK;
    FIRN_TRY(firn_position_deletes_have_rows(op, rows->view->table->store, file, out));
    if (!*out || file->format != FIRN_FILE_AVRO)
        return FIRN_OK;
    firn_status status = firn_fail(op, FIRN_UNSUPPORTED, "it holds the deleted rows in Avro, which firn does not show");
    return firn_hint(op, status, "name the columns that are wanted, without \"row\"");
}

static firn_status read_deleted_rows(struct firn_op *op, struct rows *rows, const struct firn_data_file *file)
{
    const struct firn_table *table = rows->view->table;
    const struct firn_type *row = &firn_metadata_current_schema(table->metadata)->root;
    FIRN_TRY(firn_row_json_check(op, row));
    FIRN_TRY(firn_position_rows_schema(op, row, &rows->columns));
    return firn_deleted_rows_read(op, table->metadata, table->store, file, &rows->columns, keep_rows, rows);
}

static firn_status read_file(struct firn_op *op, struct rows *rows, const struct firn_data_file *file)
{
    const struct firn_table *table = rows->view->table;
    bool has_rows;
    if (firn_data_file_is_deletion_vector(file))
        return read_vector(op, rows, file);
    FIRN_TRY(find_rows(op, rows, file, &has_rows));
    if (has_rows)
        return read_deleted_rows(op, rows, file);
    return firn_position_rows_read(op, table->metadata, table->store, file, keep_positions, rows);
}

static firn_status open_file(struct firn_op *op, struct rows *rows, const struct firn_data_file *file)
{
    struct firn_arena *results = op->arena;
    firn_arena_reset(&rows->arena);
    firn_buffer_clear(&rows->runs);
    firn_buffer_clear(&rows->positions);
    firn_buffer_clear(&rows->texts);
    firn_buffer_clear(&rows->text_ends);
    rows->vector = NULL;
    rows->run = rows->next = 0;
    op->arena = &rows->arena;
    firn_status status = read_file(op, rows, file);
    op->arena = results;
    return firn_context(op, status, "delete file \"%.*s\"", FIRN_FMT(file->path));
}

/* Walking -----------------------------------------------------------------------------------------------------------
 */

static bool wants_field(const struct rows *rows, enum delete_field field)
{
    for (uint32_t i = 0; i < rows->request->wanted_count; i++)
        if (rows->shape.fields[rows->request->wanted[i].steps[0]] == field)
            return true;
    return false;
}

static struct firn_metadata_path path_of(const struct shape *shape, enum delete_field field)
{
    uint32_t column = 0;
    while (column < shape->count && shape->fields[column] != field)
        column++;
    return (struct firn_metadata_path){ { column }, 1 };
}

static firn_status choose(struct firn_op *op, struct rows *rows)
{
    struct firn_manifest_list *list = &rows->manifests;
    struct firn_manifest_choice choice = { .deletes = true };
    uint32_t kept = 0;
    FIRN_TRY(firn_manifest_choose(op, rows->view, choice, list));
    for (uint32_t i = 0; i < list->count; i++) {
        const struct firn_manifest_file *row = &list->manifests[i];
        if (firn_manifest_has_live(row) &&
            firn_metadata_filter_i64(rows->request, path_of(&rows->shape, DELETE_SPEC), row->spec_id) &&
            firn_partition_shape_may_match(op, rows->shape.partitions, rows->request,
                                           path_of(&rows->shape, DELETE_PARTITION), row))
            list->manifests[kept++] = *row;
    }
    list->count = kept;
    return FIRN_OK;
}

static firn_status open_rows(struct firn_op *op, const struct firn_metadata_table *kind,
                             const struct firn_metadata_view *view, const struct firn_metadata_request *request,
                             void **cursor)
{
    struct firn_manifest_read_options options = { .skip_metrics = true, .skip_deleted = true };
    struct rows *rows = FIRN_NEW(op->arena, struct rows);
    (void)kind;
    rows->view = view;
    rows->request = request;
    FIRN_TRY(make_shape(op, view->table->metadata, &rows->shape));
    rows->needs_row = wants_field(rows, DELETE_ROW);
    FIRN_TRY(choose(op, rows));
    firn_arena_init(&rows->arena);
    *cursor = rows;
    return firn_manifest_feed_open(op, view, &rows->manifests, options, false, &rows->feed);
}

static void close_rows(void *cursor)
{
    struct rows *rows = cursor;
    firn_manifest_feed_close(rows->feed);
    firn_buffer_done(&rows->runs);
    firn_buffer_done(&rows->positions);
    firn_buffer_done(&rows->texts);
    firn_buffer_done(&rows->text_ends);
    firn_arena_done(&rows->arena);
}

static const struct firn_data_file *current_file(const struct rows *rows)
{
    return &rows->manifest->entries[rows->entry - 1].file;
}

/* The next position delete file; false at the end of all. */
static firn_status next_file(struct firn_op *op, struct rows *rows, bool *got)
{
    *got = true;
    for (;;) {
        while (!rows->manifest || rows->entry == rows->manifest->count) {
            FIRN_TRY(firn_manifest_feed_next(op, rows->feed, &rows->manifest));
            rows->entry = 0;
            *got = rows->manifest != NULL;
            if (!*got)
                return FIRN_OK;
        }
        rows->entry++;
        if (current_file(rows)->content == FIRN_CONTENT_POSITION_DELETES)
            return open_file(op, rows, current_file(rows));
    }
}

static const struct run *run_at(const struct rows *rows, size_t index)
{
    const struct run *runs = (const struct run *)(const void *)rows->runs.data;
    return index < rows->runs.len / sizeof *runs ? &runs[index] : NULL;
}

static firn_status next_row(struct firn_op *op, void *cursor, bool *got)
{
    struct rows *rows = cursor;
    for (;;) {
        const struct run *run = run_at(rows, rows->run);
        if (run && rows->next < run->end) {
            rows->next++;
            *got = true;
            return FIRN_OK;
        }
        if (run && rows->vector && run->end == POSITIONS_MAX) {
            FIRN_TRY(read_positions(op, rows));
            continue;
        }
        if (run && run_at(rows, rows->run + 1)) {
            rows->run++;
            continue;
        }
        FIRN_TRY(firn_op_check(op));
        FIRN_TRY(next_file(op, rows, got));
        if (!*got)
            return FIRN_OK;
    }
}

/* Cells --------------------------------------------------------------------------------------------------------------
 */

/* NULL where the file has no rows, and where a row is null. */
static void row_cell(const struct rows *rows, struct firn_cell *out)
{
    const size_t *ends = (const size_t *)(const void *)rows->text_ends.data;
    if (rows->text_ends.len == 0)
        return;
    size_t begin = rows->next > 1 ? ends[rows->next - 2] : 0;
    struct firn_text text = { (const char *)rows->texts.data + begin, ends[rows->next - 1] - begin };
    if (!firn_text_is(text, "null"))
        firn_cell_text(out, text);
}

static firn_status cell(struct firn_op *op, void *cursor, const struct firn_metadata_path *path, struct firn_cell *out)
{
    const struct rows *rows = cursor;
    const struct firn_data_file *file = current_file(rows);
    const int64_t *positions = (const int64_t *)(const void *)rows->positions.data;
    switch (rows->shape.fields[path->steps[0]]) {
    case DELETE_PATH:
        firn_cell_text(out, run_at(rows, rows->run)->path);
        break;
    case DELETE_POSITION:
        firn_cell_i64(out, positions[rows->next - 1]);
        break;
    case DELETE_PARTITION: {
        const struct firn_partition_shape *shape = rows->shape.partitions;
        struct firn_value *values = FIRN_NEW_ARRAY(op->arena, struct firn_value, shape->field_count);
        firn_partition_shape_values(shape, file->spec_id, &file->partition, values);
        return firn_partition_shape_cell(op, shape, values, path, 1, out);
    }
    case DELETE_SPEC:
        firn_cell_i64(out, file->spec_id);
        break;
    case DELETE_FILE:
        firn_cell_text(out, file->path);
        break;
    case DELETE_CONTENT_OFFSET:
        firn_cell_i64_unless(out, file->content_offset, FIRN_ABSENT);
        break;
    case DELETE_CONTENT_BYTES:
        firn_cell_i64_unless(out, file->content_bytes, FIRN_ABSENT);
        break;
    default:
        row_cell(rows, out);
        break;
    }
    return FIRN_OK;
}

const struct firn_metadata_table firn_position_deletes_table = {
    .name = "position_deletes",
    .reads_manifests = true,
    .columns = columns,
    .open = open_rows,
    .next = next_row,
    .cell = cell,
    .close = close_rows,
};
