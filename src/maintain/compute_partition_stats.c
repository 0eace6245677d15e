/* compute_partition_stats: sums over a snapshot's manifests, a row a partition, into a Parquet file. Where an ancestor
 * has such a file, only manifests that came since are read. Reference: procedures.md, 8.2; Iceberg spec, "Partition
 * Statistics File".
 *
 * Invariants
 *  (1) The file is whole and durable before the metadata names it; where it does not come to be named, it is removed,
 *      unless the outcome is unknown.
 *  (2) An ancestor's file is gone on from only when every snapshot since is still known. */
#include "firn/compute_stats.h"

#include "base/map.h"
#include "base/math.h"
#include "maintain/journal.h"
#include "maintain/statistics_file.h"
#include "rewrite/file_rows.h"
#include "rewrite/value_file.h"
#include "table/partition_shape.h"
#include "table/scan.h"

#include <pthread.h>
#include <stdlib.h>

/* The columns behind the partition, by field id. */
enum {
    STATS_PARTITION = 1,
    STATS_SPEC_ID,
    STATS_DATA_RECORDS,
    STATS_DATA_FILES,
    STATS_DATA_BYTES,
    STATS_POSITION_RECORDS,
    STATS_POSITION_FILES,
    STATS_EQUALITY_RECORDS,
    STATS_EQUALITY_FILES,
    STATS_TOTAL_RECORDS, /* would take reading the data: left null, as in the reference */
    STATS_UPDATED_AT,
    STATS_UPDATED_BY,
    STATS_VECTORS,
    STATS_END
};

static const struct {
    const char *name;
    enum firn_type_id type;
    int required_from; /* format version; 0: never */
} columns[STATS_END] = {
    [STATS_PARTITION] = { "partition", FIRN_TYPE_STRUCT, 1 },
    [STATS_SPEC_ID] = { "spec_id", FIRN_TYPE_INT, 1 },
    [STATS_DATA_RECORDS] = { "data_record_count", FIRN_TYPE_LONG, 1 },
    [STATS_DATA_FILES] = { "data_file_count", FIRN_TYPE_INT, 1 },
    [STATS_DATA_BYTES] = { "total_data_file_size_in_bytes", FIRN_TYPE_LONG, 1 },
    [STATS_POSITION_RECORDS] = { "position_delete_record_count", FIRN_TYPE_LONG, 3 },
    [STATS_POSITION_FILES] = { "position_delete_file_count", FIRN_TYPE_INT, 3 },
    [STATS_EQUALITY_RECORDS] = { "equality_delete_record_count", FIRN_TYPE_LONG, 3 },
    [STATS_EQUALITY_FILES] = { "equality_delete_file_count", FIRN_TYPE_INT, 3 },
    [STATS_TOTAL_RECORDS] = { "total_record_count", FIRN_TYPE_LONG, 0 },
    [STATS_UPDATED_AT] = { "last_updated_at", FIRN_TYPE_LONG, 0 },
    [STATS_UPDATED_BY] = { "last_updated_snapshot_id", FIRN_TYPE_LONG, 0 },
    [STATS_VECTORS] = { "dv_count", FIRN_TYPE_INT, 3 },
};

struct partition_row {
    struct firn_value *values; /* of the shape */
    int64_t numbers[STATS_END];
    bool has_update;
};

struct computing {
    struct firn_pool *pool;
    struct firn_table *table;
    const struct firn_partition_stats_args *args;
    struct firn_partition_stats_report *report;
    const struct firn_snapshot *snapshot;
    const struct firn_partition_shape *shape;
    struct firn_output_schema schema; /* of the file */

    FIRN_ARRAY(struct firn_manifest_file) manifests; /* to be read */
    bool is_incremental;                             /* only what was added to and deleted from the rows there are */
    pthread_mutex_t lock;                            /* of the rows */
    struct firn_arena arena;                         /* theirs: that of the operation is not for several threads */
    struct firn_map rows;                            /* key to struct partition_row */
    struct firn_buffer key;
};

/* Rows ----------------------------------------------------------------------------------------------------------- */

/* The row of a spec's partition, made when there is none. */
static firn_status find_row(struct firn_op *op, struct computing *computing, int32_t spec_id,
                            const struct firn_value *values, struct partition_row **out)
{
    struct firn_arena *arena = &computing->arena;
    firn_buffer_clear(&computing->key);
    FIRN_TRY(firn_buffer_append(op, &computing->key, &spec_id, sizeof spec_id));
    for (uint32_t i = 0; i < computing->shape->field_count; i++)
        FIRN_TRY(firn_value_key(op, &values[i], &computing->key));
    struct firn_map_entry *entry = firn_map_find(&computing->rows, firn_buffer_bytes(&computing->key));
    if (!entry) {
        struct partition_row *row = FIRN_NEW(arena, struct partition_row);
        row->values = firn_partition_shape_copy(arena, computing->shape, values);
        row->numbers[STATS_SPEC_ID] = spec_id;
        entry = firn_map_put(&computing->rows, firn_bytes_copy(arena, firn_buffer_bytes(&computing->key)));
        entry->value.pointer = row;
    }
    *out = entry->value.pointer;
    return FIRN_OK;
}

static void add_number(struct partition_row *row, int column, int64_t value)
{
    if (__builtin_add_overflow(row->numbers[column], value, &row->numbers[column]))
        row->numbers[column] = INT64_MAX;
}

/* `sign` -1 takes the file away. */
static void add_file(struct partition_row *row, const struct firn_data_file *file, int sign)
{
    int64_t records = sign * FIRN_MAX(file->record_count, 0);
    switch (file->content) {
    case FIRN_CONTENT_DATA:
        add_number(row, STATS_DATA_RECORDS, records);
        add_number(row, STATS_DATA_FILES, sign);
        add_number(row, STATS_DATA_BYTES, sign * FIRN_MAX(file->file_bytes, 0));
        break;
    case FIRN_CONTENT_POSITION_DELETES:
        add_number(row, STATS_POSITION_RECORDS, records);
        add_number(row, firn_data_file_is_deletion_vector(file) ? STATS_VECTORS : STATS_POSITION_FILES, sign);
        break;
    case FIRN_CONTENT_EQUALITY_DELETES:
        add_number(row, STATS_EQUALITY_RECORDS, records);
        add_number(row, STATS_EQUALITY_FILES, sign);
        break;
    }
}

/* The newest snapshot that added or deleted one of the partition's files, as far as it is known. */
static void note_update(struct partition_row *row, const struct firn_snapshot *snapshot)
{
    if (!snapshot || (row->has_update && row->numbers[STATS_UPDATED_AT] >= snapshot->timestamp_ms))
        return;
    row->has_update = true;
    row->numbers[STATS_UPDATED_AT] = snapshot->timestamp_ms;
    row->numbers[STATS_UPDATED_BY] = snapshot->id;
}

/* Summing up ----------------------------------------------------------------------------------------------------- */

static firn_status add_entry(struct firn_op *op, struct computing *computing, const struct firn_manifest_entry *entry,
                             struct firn_value *scratch)
{
    struct partition_row *row;
    bool is_deleted = entry->status == FIRN_ENTRY_DELETED;
    firn_partition_shape_values(computing->shape, entry->file.spec_id, &entry->file.partition, scratch);
    FIRN_TRY(find_row(op, computing, entry->file.spec_id, scratch, &row));
    if (computing->is_incremental && entry->status == FIRN_ENTRY_EXISTING)
        return FIRN_OK; /* in the rows already */
    if (!is_deleted || computing->is_incremental)
        add_file(row, &entry->file, is_deleted ? -1 : 1);
    note_update(row, firn_metadata_snapshot(computing->table->metadata, entry->snapshot_id));
    return FIRN_OK;
}

static firn_status add_entries(struct firn_op *op, void *context, const struct firn_manifest *manifest)
{
    struct computing *computing = context;
    struct firn_value *scratch = FIRN_NEW_ARRAY(op->arena, struct firn_value, computing->shape->field_count);
    firn_status status = FIRN_OK;
    pthread_mutex_lock(&computing->lock);
    for (uint32_t i = 0; i < manifest->count && status == FIRN_OK; i++)
        status = add_entry(op, computing, &manifest->entries[i], scratch);
    pthread_mutex_unlock(&computing->lock);
    return status;
}

static firn_status read_manifest(struct firn_op *op, void *context, size_t index)
{
    struct computing *computing = context;
    struct firn_table *table = computing->table;
    return firn_manifest_look(op, table->store, table->metadata, &computing->manifests.items[index],
                              (struct firn_manifest_read_options){ .skip_metrics = true }, add_entries, computing);
}

/* Going on from an ancestor's file ------------------------------------------------------------------------------- */

/* The nearest ancestor that has a file; NULL where none has, or the way there is not known (2). */
static const struct firn_statistics_file *find_base(const struct computing *computing)
{
    const struct firn_metadata *metadata = computing->table->metadata;
    const struct firn_snapshot *at = computing->snapshot;
    for (uint32_t i = 0; at && i < metadata->snapshot_count; i++) {
        const struct firn_statistics_file *file = firn_statistics_find(metadata, at->id, true);
        if (file)
            return file;
        at = firn_metadata_snapshot(metadata, at->parent_id);
    }
    return NULL;
}

static firn_status take_rows(struct firn_op *op, void *context, const struct firn_row_batch *batch)
{
    struct computing *computing = context;
    const struct firn_partition_shape *shape = computing->shape;
    struct firn_value *values = FIRN_NEW_ARRAY(op->arena, struct firn_value, shape->field_count);
    for (uint32_t i = 0; i < shape->field_count; i++)
        values[i] = (struct firn_value){ .type = shape->types[i].id, .is_null = true };
    for (uint32_t r = 0; r < batch->row_count; r++) {
        struct partition_row *row, read = { 0 };
        for (uint32_t leaf = 0; leaf < computing->schema.leaf_count; leaf++) {
            const struct firn_value *value = &batch->columns[leaf][r];
            int32_t id = computing->schema.leaves[leaf].field->id;
            if (id < STATS_END && !value->is_null)
                read.numbers[id] = value->integer;
            if (id == STATS_UPDATED_AT)
                read.has_update = !value->is_null;
            for (uint32_t i = 0; id >= STATS_END && i < shape->field_count; i++)
                if (shape->field_ids[i] == id)
                    values[i] = *value;
        }
        FIRN_TRY(find_row(op, computing, (int32_t)read.numbers[STATS_SPEC_ID], values, &row));
        memcpy(row->numbers, read.numbers, sizeof row->numbers);
        row->has_update = read.has_update;
    }
    return FIRN_OK;
}

static firn_status read_base(struct firn_op *op, struct computing *computing, const struct firn_statistics_file *base)
{
    struct firn_id_sources ids;
    struct firn_data_file file = {
        .path = base->path,
        .format = firn_text_ends(base->path, FIRN_TEXT(".avro")) ? FIRN_FILE_AVRO : FIRN_FILE_PARQUET,
        .spec_id = computing->table->metadata->default_spec_id,
        .record_count = FIRN_FILE_ROWS_MAX,
        .file_bytes = base->file_bytes,
    };
    struct firn_file_rows_config config = {
        .metadata = computing->table->metadata,
        .store = computing->table->store,
        .schema = &computing->schema,
        .ids = &ids,
        .file = &file,
    };
    FIRN_TRY(firn_id_sources_new(op, config.metadata, &ids));
    return firn_file_rows_read(op, &config, take_rows, computing);
}

/* Adds the manifests of a snapshot, or only those that it wrote. */
static firn_status add_manifests(struct firn_op *op, struct computing *computing, const struct firn_snapshot *snapshot,
                                 bool only_own)
{
    struct firn_manifest_list list;
    FIRN_TRY(firn_snapshot_manifests(op, computing->table->store, computing->table->metadata, snapshot, &list));
    for (uint32_t i = 0; i < list.count; i++)
        if (!only_own || list.manifests[i].added_snapshot_id == snapshot->id)
            FIRN_PUSH(op->arena, &computing->manifests, list.manifests[i]);
    return FIRN_OK;
}

static firn_status list_since(struct firn_op *op, struct computing *computing, int64_t base_id)
{
    const struct firn_metadata *metadata = computing->table->metadata;
    const struct firn_snapshot *at = computing->snapshot;
    for (; at && at->id != base_id; at = firn_metadata_snapshot(metadata, at->parent_id))
        FIRN_TRY(add_manifests(op, computing, at, true));
    return FIRN_OK;
}

/* Begins with the rows of an ancestor's file where that can be done, else with none. */
static firn_status begin_rows(struct firn_op *op, struct computing *computing)
{
    const struct firn_statistics_file *base = find_base(computing);
    firn_map_init(&computing->rows, &computing->arena);
    if (base) {
        firn_status status = read_base(op, computing, base);
        if (status == FIRN_CANCELLED)
            return status;
        computing->is_incremental = status == FIRN_OK;
    }
    if (computing->is_incremental) {
        computing->report->base_snapshot_id = base->snapshot_id;
        return list_since(op, computing, base->snapshot_id);
    }
    if (base)
        firn_log(op, FIRN_LOG_WARN, "cannot go on from %.*s, computing anew: %s", FIRN_FMT(base->path), op->error.text);
    firn_map_init(&computing->rows, &computing->arena);
    return add_manifests(op, computing, computing->snapshot, false);
}

/* The file ------------------------------------------------------------------------------------------------------- */

static struct firn_type partition_type(struct firn_arena *arena, const struct firn_partition_shape *shape)
{
    struct firn_field *fields = FIRN_NEW_ARRAY(arena, struct firn_field, shape->field_count);
    for (uint32_t i = 0; i < shape->field_count; i++)
        fields[i] = (struct firn_field){ .id = shape->field_ids[i], .name = shape->names[i], .type = shape->types[i] };
    return (struct firn_type){ .id = FIRN_TYPE_STRUCT, .fields = fields, .field_count = shape->field_count };
}

static firn_status define_schema(struct firn_op *op, struct computing *computing)
{
    int version = computing->table->metadata->format_version;
    struct firn_schema *schema = FIRN_NEW(op->arena, struct firn_schema);
    struct firn_field *fields = FIRN_NEW_ARRAY(op->arena, struct firn_field, STATS_END);
    schema->root = (struct firn_type){ .id = FIRN_TYPE_STRUCT, .fields = fields };
    for (int id = STATS_PARTITION; id < (version < 3 ? STATS_VECTORS : STATS_END); id++) {
        struct firn_field *field = &fields[schema->root.field_count++];
        *field =
            (struct firn_field){ .id = id,
                                 .name = firn_text_of(columns[id].name),
                                 .type.id = columns[id].type,
                                 .required = columns[id].required_from > 0 && columns[id].required_from <= version };
    }
    fields[0].type = partition_type(op->arena, computing->shape);
    return firn_output_schema_new(op, schema, false, &computing->schema);
}

/* Of the shape in the first element the number of fields: qsort has no context. */
struct sorted_row {
    const struct partition_row *row;
    uint32_t field_count;
};

static int compare_rows(const void *a, const void *b)
{
    const struct sorted_row *left = a, *right = b;
    for (uint32_t i = 0; i < left->field_count; i++) {
        const struct firn_value *l = &left->row->values[i], *r = &right->row->values[i];
        int order = l->is_null || r->is_null ? (int)r->is_null - (int)l->is_null : firn_value_compare(l, r);
        if (order != 0)
            return order;
    }
    int64_t l = left->row->numbers[STATS_SPEC_ID], r = right->row->numbers[STATS_SPEC_ID];
    return (l > r) - (l < r);
}

static struct sorted_row *sort_rows(struct firn_op *op, const struct computing *computing)
{
    struct sorted_row *sorted = FIRN_NEW_ARRAY(op->arena, struct sorted_row, computing->rows.count);
    for (size_t i = 0; i < computing->rows.count; i++)
        sorted[i] = (struct sorted_row){ computing->rows.entries[i].value.pointer, computing->shape->field_count };
    qsort(sorted, computing->rows.count, sizeof *sorted, compare_rows);
    return sorted;
}

static struct firn_value cell_of(const struct computing *computing, const struct firn_field *field,
                                 const struct partition_row *row)
{
    for (uint32_t i = 0; field->id >= STATS_END && i < computing->shape->field_count; i++)
        if (computing->shape->field_ids[i] == field->id)
            return row->values[i];
    struct firn_value value = { .type = field->type.id, .integer = row->numbers[field->id] };
    bool is_update = field->id == STATS_UPDATED_AT || field->id == STATS_UPDATED_BY;
    value.is_null = field->id == STATS_TOTAL_RECORDS || (is_update && !row->has_update);
    if (field->type.id == FIRN_TYPE_INT)
        value.integer = FIRN_MIN(value.integer, INT32_MAX);
    return value;
}

static firn_status write_rows(struct firn_op *op, const struct computing *computing, struct firn_sink *sink)
{
    uint32_t count = (uint32_t)computing->rows.count, leaf_count = computing->schema.leaf_count;
    const struct sorted_row *sorted = sort_rows(op, computing);
    const struct firn_value **cells = FIRN_NEW_ARRAY(op->arena, const struct firn_value *, leaf_count);
    for (uint32_t leaf = 0; leaf < leaf_count; leaf++) {
        struct firn_value *column = FIRN_NEW_ARRAY(op->arena, struct firn_value, count);
        for (uint32_t i = 0; i < count; i++)
            column[i] = cell_of(computing, computing->schema.leaves[leaf].field, sorted[i].row);
        cells[leaf] = column;
    }
    return firn_value_file_write(op, &computing->schema, cells, count, sink);
}

static firn_status write_file(struct firn_op *op, const struct computing *computing, struct firn_text location,
                              json_t *file)
{
    struct firn_store_writer *writer;
    FIRN_TRY(firn_store_write(op, computing->table->store, location, true, &writer));
    firn_status status = write_rows(op, computing, firn_store_writer_sink(writer));
    if (status != FIRN_OK) {
        firn_store_writer_close(writer);
        return status;
    }
    firn_json_set_text(file, "statistics-path", location);
    firn_json_set_i64(file, "file-size-in-bytes", (int64_t)firn_store_writer_sink(writer)->offset);
    return firn_store_writer_finish(op, writer);
}

/* The procedure -------------------------------------------------------------------------------------------------- */

static firn_status sum_up(struct firn_op *op, struct computing *computing)
{
    FIRN_TRY(define_schema(op, computing));
    FIRN_TRY(begin_rows(op, computing));
    computing->report->manifest_count = (int64_t)computing->manifests.count;
    FIRN_TRY(firn_pool_run(op, computing->pool, computing->manifests.count, 0, read_manifest, computing));
    computing->report->partition_count = (int64_t)computing->rows.count;
    return FIRN_OK;
}

static firn_status compute(struct firn_op *op, void *context)
{
    struct computing *computing = context;
    struct firn_table *table = computing->table;
    int64_t id = computing->snapshot->id;
    struct firn_text location = firn_statistics_location(op, table->metadata, id, "partition-stats-", ".parquet");
    json_t *file = firn_json_own(op->arena, json_object());
    struct firn_statistics_setting setting = { id, location, "set-partition-statistics", "partition-statistics", file };
    FIRN_TRY(sum_up(op, computing));
    if (computing->rows.count == 0)
        return FIRN_OK;
    FIRN_TRY(write_file(op, computing, location, file));
    FIRN_TRY(firn_statistics_set(op, table, &setting));
    computing->report->statistics_file = location;
    return FIRN_OK;
}

static firn_status run(struct firn_op *op, struct computing *computing)
{
    struct firn_table *table = computing->table;
    struct firn_partition_stats_report *report = computing->report;
    FIRN_TRY(firn_partition_shape_new(op, table->metadata, &computing->shape));
    if (computing->shape->field_count == 0)
        return firn_fail(op, FIRN_USAGE, "the table is not partitioned");
    FIRN_TRY(firn_statistics_snapshot(op, table->metadata, computing->args->snapshot_id, &computing->snapshot));
    if (!computing->snapshot)
        return FIRN_OK;
    report->has_snapshot = true;
    report->snapshot_id = computing->snapshot->id;
    const struct firn_statistics_file *there = firn_statistics_find(table->metadata, computing->snapshot->id, true);
    if (there) {
        report->statistics_file = there->path;
        report->was_there = true;
        return FIRN_OK;
    }
    if (computing->args->dry_run)
        return sum_up(op, computing);
    return firn_journal_run(op, computing->pool, table, "compute-partition-stats", true, compute, computing);
}

firn_status firn_compute_partition_stats(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                         const struct firn_partition_stats_args *args,
                                         struct firn_partition_stats_report *out)
{
    int64_t started_ms = op->env->monotonic_ms(op->env->context);
    struct computing computing = { .pool = pool, .table = table, .args = args, .report = out };
    *out = (struct firn_partition_stats_report){ .base_snapshot_id = FIRN_NO_SNAPSHOT };
    pthread_mutex_init(&computing.lock, NULL);
    firn_arena_init(&computing.arena);
    firn_status status = run(op, &computing);
    pthread_mutex_destroy(&computing.lock);
    firn_buffer_done(&computing.key);
    firn_arena_done(&computing.arena);
    out->elapsed_ms = op->env->monotonic_ms(op->env->context) - started_ms;
    return status;
}
