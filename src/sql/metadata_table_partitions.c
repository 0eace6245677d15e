/* partitions: live files summed up by partition, from the manifests of a snapshot. Reference: format-notes.md, 18. */
#include "base/map.h"
#include "base/math.h"
#include "sql/manifest_feed.h"
#include "sql/partition_cell.h"

/* The columns of every table; those before are there when some spec has a field. */
enum {
    PARTITION_RECORDS,
    PARTITION_FILES,
    PARTITION_BYTES,
    PARTITION_POSITION_RECORDS,
    PARTITION_POSITION_FILES,
    PARTITION_EQUALITY_RECORDS,
    PARTITION_EQUALITY_FILES,
    PARTITION_SUM_COUNT,
    PARTITION_UPDATED_AT = PARTITION_SUM_COUNT,
    PARTITION_UPDATED_BY
};

static const struct firn_metadata_column_fact spec_fact = { "spec_id", "int" };
static const struct firn_metadata_column_fact facts[] = {
    { "record_count", "bigint" },
    { "file_count", "int" },
    { "total_data_file_size_in_bytes", "bigint" },
    { "position_delete_record_count", "bigint" },
    { "position_delete_file_count", "int" },
    { "equality_delete_record_count", "bigint" },
    { "equality_delete_file_count", "int" },
    { "last_updated_at", "timestamp" },
    { "last_updated_snapshot_id", "bigint" },
};

struct partition_row {
    struct firn_value *values; /* of the shape */
    int32_t spec_id;
    int64_t sums[PARTITION_SUM_COUNT];
    const struct firn_snapshot *updated; /* NULL: none of its files' snapshots is known any more */
};

struct rows {
    const struct firn_partition_shape *shape;
    const struct firn_metadata *metadata;
    struct firn_map partitions; /* key to struct partition_row */
    struct firn_buffer key;
    size_t next; /* row after the current one */
};

/* Columns of the shape that come before `facts`. */
static uint32_t lead_of(const struct firn_partition_shape *shape)
{
    return shape->field_count > 0 ? 2 : 0;
}

static firn_status columns(struct firn_op *op, const struct firn_metadata_view *view, struct firn_metadata_columns *out)
{
    const struct firn_partition_shape *shape;
    FIRN_TRY(firn_partition_shape_new(op, view->table->metadata, &shape));
    uint32_t lead = lead_of(shape), count = lead + (uint32_t)FIRN_COUNT_OF(facts);
    struct firn_metadata_column *items = FIRN_NEW_ARRAY(op->arena, struct firn_metadata_column, count);
    if (lead > 0) {
        items[0] = firn_partition_shape_column(op->arena, shape);
        firn_metadata_columns_of(&spec_fact, 1, &items[1]);
    }
    firn_metadata_columns_of(facts, FIRN_COUNT_OF(facts), items + lead);
    *out = (struct firn_metadata_columns){ items, count };
    return FIRN_OK;
}

/* Summing up ------------------------------------------------------------------------------------------------------- */

/* Tuples are one partition when they are equal in the common struct, and their specs fill as many of its fields. */
static firn_status write_key(struct firn_op *op, struct rows *rows, int32_t spec_id, const struct firn_value *values)
{
    uint32_t present = firn_partition_shape_present(rows->shape, spec_id);
    firn_buffer_clear(&rows->key);
    FIRN_TRY(firn_buffer_append(op, &rows->key, &present, sizeof present));
    for (uint32_t i = 0; i < rows->shape->field_count; i++)
        FIRN_TRY(firn_value_key(op, &values[i], &rows->key));
    return FIRN_OK;
}

/* `scratch` is for what goes with the file; what stays goes to the map's arena. */
static firn_status find_row(struct firn_op *op, struct rows *rows, const struct firn_data_file *file,
                            struct firn_value *scratch, struct partition_row **out)
{
    struct firn_arena *arena = rows->partitions.arena;
    firn_partition_shape_values(rows->shape, file->spec_id, &file->partition, scratch);
    FIRN_TRY(write_key(op, rows, file->spec_id, scratch));
    struct firn_map_entry *entry = firn_map_find(&rows->partitions, firn_buffer_bytes(&rows->key));
    if (!entry) {
        struct partition_row *row = FIRN_NEW(arena, struct partition_row);
        row->values = firn_partition_shape_copy(arena, rows->shape, scratch);
        entry = firn_map_put(&rows->partitions, firn_bytes_copy(arena, firn_buffer_bytes(&rows->key)));
        entry->value.pointer = row;
    }
    *out = entry->value.pointer;
    return FIRN_OK;
}

static void add(int64_t *sum, int64_t value)
{
    if (__builtin_add_overflow(*sum, value, sum))
        *sum = INT64_MAX;
}

static void add_file(struct partition_row *row, const struct firn_data_file *file)
{
    static const struct {
        int records, files;
    } sums[] = {
        [FIRN_CONTENT_DATA] = { PARTITION_RECORDS, PARTITION_FILES },
        [FIRN_CONTENT_POSITION_DELETES] = { PARTITION_POSITION_RECORDS, PARTITION_POSITION_FILES },
        [FIRN_CONTENT_EQUALITY_DELETES] = { PARTITION_EQUALITY_RECORDS, PARTITION_EQUALITY_FILES },
    };
    add(&row->sums[sums[file->content].records], file->record_count);
    add(&row->sums[sums[file->content].files], 1);
    if (file->content == FIRN_CONTENT_DATA)
        add(&row->sums[PARTITION_BYTES], file->file_bytes);
}

/* The spec is that of the file which the latest known snapshot brought; without any, that of the last file. */
static void note_update(struct partition_row *row, const struct firn_data_file *file,
                        const struct firn_snapshot *snapshot)
{
    bool is_latest = snapshot && (!row->updated || snapshot->timestamp_ms > row->updated->timestamp_ms);
    if (is_latest)
        row->updated = snapshot;
    if (is_latest || !row->updated)
        row->spec_id = file->spec_id;
}

static firn_status add_manifest(struct firn_op *op, struct rows *rows, const struct firn_manifest *manifest,
                                struct firn_value *scratch)
{
    for (uint32_t i = 0; i < manifest->count; i++) {
        const struct firn_manifest_entry *entry = &manifest->entries[i];
        struct partition_row *row;
        FIRN_TRY(find_row(op, rows, &entry->file, scratch, &row));
        add_file(row, &entry->file);
        note_update(row, &entry->file, firn_metadata_snapshot(rows->metadata, entry->snapshot_id));
    }
    return FIRN_OK;
}

static firn_status add_all(struct firn_op *op, struct rows *rows, struct firn_manifest_feed *feed)
{
    struct firn_value *scratch = FIRN_NEW_ARRAY(op->arena, struct firn_value, rows->shape->field_count);
    const struct firn_manifest *manifest;
    for (;;) {
        FIRN_TRY(firn_manifest_feed_next(op, feed, &manifest));
        if (!manifest)
            return FIRN_OK;
        FIRN_TRY(add_manifest(op, rows, manifest, scratch));
    }
}

/* Only manifests that may have files of the wanted partitions. */
static firn_status choose(struct firn_op *op, const struct firn_metadata_view *view,
                          const struct firn_partition_shape *shape, const struct firn_metadata_request *request,
                          struct firn_manifest_list *out)
{
    struct firn_metadata_path partition = { { 0 }, 1 };
    uint32_t kept = 0;
    struct firn_manifest_choice choice = { .data = true, .deletes = true };
    FIRN_TRY(firn_manifest_choose(op, view, choice, out));
    for (uint32_t i = 0; i < out->count; i++) {
        const struct firn_manifest_file *row = &out->manifests[i];
        if (firn_manifest_has_live(row) &&
            (shape->field_count == 0 || firn_partition_shape_may_match(op, shape, request, partition, row)))
            out->manifests[kept++] = *row;
    }
    out->count = kept;
    return FIRN_OK;
}

static firn_status open_rows(struct firn_op *op, const struct firn_metadata_table *kind,
                             const struct firn_metadata_view *view, const struct firn_metadata_request *request,
                             void **cursor)
{
    struct firn_manifest_read_options options = { .skip_metrics = true, .skip_deleted = true };
    struct rows *rows = FIRN_NEW(op->arena, struct rows);
    struct firn_manifest_list manifests;
    struct firn_manifest_feed *feed;
    (void)kind;
    rows->metadata = view->table->metadata;
    firn_map_init(&rows->partitions, op->arena);
    firn_buffer_defer(op->arena, &rows->key);
    FIRN_TRY(firn_partition_shape_new(op, rows->metadata, &rows->shape));
    FIRN_TRY(choose(op, view, rows->shape, request, &manifests));
    FIRN_TRY(firn_manifest_feed_open(op, view, &manifests, options, false, &feed));
    firn_status status = add_all(op, rows, feed);
    firn_manifest_feed_close(feed);
    *cursor = rows;
    return status;
}

static firn_status next_row(struct firn_op *op, void *cursor, bool *got)
{
    struct rows *rows = cursor;
    (void)op;
    *got = rows->next < rows->partitions.count;
    rows->next += *got;
    return FIRN_OK;
}

/* Cells ------------------------------------------------------------------------------------------------------------ */

static void fact_cell(struct firn_arena *arena, const struct partition_row *row, uint32_t fact, struct firn_cell *out)
{
    if (fact < PARTITION_SUM_COUNT)
        firn_cell_i64(out, row->sums[fact]);
    else if (row->updated && fact == PARTITION_UPDATED_AT)
        firn_cell_timestamp_ms(arena, out, row->updated->timestamp_ms);
    else if (row->updated)
        firn_cell_i64(out, row->updated->id);
}

static firn_status cell(struct firn_op *op, void *cursor, const struct firn_metadata_path *path, struct firn_cell *out)
{
    const struct rows *rows = cursor;
    const struct partition_row *row = rows->partitions.entries[rows->next - 1].value.pointer;
    uint32_t lead = lead_of(rows->shape), column = path->steps[0];
    if (column >= lead)
        fact_cell(op->arena, row, column - lead, out);
    else if (column == 1)
        firn_cell_i64(out, row->spec_id);
    else
        return firn_partition_shape_cell(op, rows->shape, row->values, path, 1, out);
    return FIRN_OK;
}

const struct firn_metadata_table firn_partitions_table = {
    .name = "partitions",
    .reads_manifests = true,
    .columns = columns,
    .open = open_rows,
    .next = next_row,
    .cell = cell,
};
