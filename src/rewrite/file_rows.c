/* A window over a single whole file, its columns pulled batch by batch into arrays of values. */
#include "rewrite/file_rows.h"

#include "base/math.h"
#include "rewrite/column.h"
#include "rewrite/file_rows_avro.h"
#include "rewrite/file_rows_orc.h"

#define WINDOW_BYTES (UINT64_C(1) << 20)
#define CHUNK_BYTES  (UINT64_C(16) << 20) /* of a row group; what is larger is read in pieces */

/* A small file needs no large batch; its record count may be wrong. */
enum { BATCH_ROWS_MIN = 1024 };

struct value_column {
    struct firn_column column;
    struct firn_buffer values;   /* of the batch, one a slot */
    struct firn_buffer bytes;    /* of its strings */
    struct firn_buffer rep, def; /* levels, where they are wanted */
};

struct reading {
    const struct firn_file_rows_config *config;
    struct firn_arena arena; /* everything but what a visit keeps */
    struct firn_rewrite_context context;
    struct firn_rewrite_piece piece;
    struct firn_rewrite_bin bin;
    struct firn_rewrite_group group;
    struct firn_group_run run;
    struct firn_window window;
    struct value_column *columns;
    struct firn_value **values; /* of each column */
    struct firn_leaf_slots *slots;
    struct firn_buffer starts; /* where the bytes of each slot begin, while they may still move */
    uint32_t rows_max;         /* of a batch */
    uint32_t piece_index;
    bool counted;
};

static struct firn_value *values_of(const struct value_column *column)
{
    return (struct firn_value *)(void *)column->values.data;
}

static uint32_t slot_count(const struct value_column *column)
{
    return (uint32_t)(column->values.len / sizeof(struct firn_value));
}

/* Keeps the bytes of a slot's value, unless they are those of the slot before. */
static firn_status keep_bytes(struct firn_op *op, struct reading *reading, struct value_column *column, uint32_t slot)
{
    const struct firn_value *values = values_of(column);
    struct firn_bytes bytes = values[slot].bytes;
    size_t *starts = (size_t *)(void *)reading->starts.data;
    if (slot > 0 && firn_value_has_bytes(&values[slot - 1]) && values[slot - 1].bytes.len == bytes.len &&
        (bytes.len == 0 || memcmp(column->bytes.data + starts[slot - 1], bytes.data, bytes.len) == 0)) {
        starts[slot] = starts[slot - 1];
        return FIRN_OK;
    }
    uint8_t *kept;
    starts[slot] = column->bytes.len;
    FIRN_TRY(firn_buffer_extend(op, &column->bytes, bytes.len, &kept));
    if (bytes.len > 0)
        memcpy(kept, bytes.data, bytes.len);
    return FIRN_OK;
}

static firn_status add_slots(struct firn_op *op, struct reading *reading, struct value_column *column, uint32_t count)
{
    uint8_t *added;
    FIRN_TRY(firn_buffer_extend(op, &column->values, count * sizeof(struct firn_value), &added));
    size_t wanted = slot_count(column) * sizeof(size_t), held = reading->starts.len;
    return wanted > held ? firn_buffer_extend(op, &reading->starts, wanted - held, &added) : FIRN_OK;
}

static firn_status take_vector(struct firn_op *op, void *context, const struct firn_column *column,
                               const struct firn_vector *vector, int64_t row)
{
    struct reading *reading = context;
    const struct firn_output_leaf *leaf = column->leaf;
    struct value_column *out = &reading->columns[leaf->node->leaf_index];
    uint32_t next = 0, first = slot_count(out);
    (void)row;
    FIRN_TRY(add_slots(op, reading, out, vector->slot_count));
    for (uint32_t i = 0; i < vector->slot_count; i++) {
        struct firn_value *value = &values_of(out)[first + i];
        *value = (struct firn_value){ .type = leaf->field->type.id, .is_null = true };
        if (vector->def && vector->def[i] < vector->def_max)
            continue;
        union firn_values values = vector->indices ? vector->dictionary->values : vector->values;
        *value =
            firn_leaf_value(leaf->node, &leaf->field->type, values, vector->indices ? vector->indices[next] : next);
        next++;
        if (firn_value_has_bytes(value))
            FIRN_TRY(keep_bytes(op, reading, out, first + i));
    }
    if (!reading->config->levels)
        return FIRN_OK;
    FIRN_TRY(firn_levels_append(op, &out->rep, vector->rep, 0, vector->slot_count));
    return firn_levels_append(op, &out->def, vector->def, leaf->node->def_max, vector->slot_count);
}

static firn_status pull_column(struct firn_op *op, struct reading *reading, uint32_t index, int64_t rows)
{
    struct value_column *column = &reading->columns[index];
    firn_buffer_clear(&column->values);
    firn_buffer_clear(&column->bytes);
    firn_buffer_clear(&column->rep);
    firn_buffer_clear(&column->def);
    const struct firn_column_receiver receiver = { .emit = take_vector, .context = reading };
    FIRN_TRY(firn_column_pull(op, &column->column, &reading->window, rows, &receiver));
    struct firn_value *values = values_of(column);
    const size_t *starts = (const size_t *)(const void *)reading->starts.data;
    for (uint32_t slot = 0; slot < slot_count(column); slot++)
        if (firn_value_has_bytes(&values[slot]) && values[slot].bytes.len > 0)
            values[slot].bytes.data = column->bytes.data + starts[slot];
    reading->values[index] = values;
    reading->slots[index] = (struct firn_leaf_slots){ slot_count(column), column->rep.data, column->def.data, values };
    return FIRN_OK;
}

static firn_status read_batch(struct firn_op *op, struct reading *reading, uint32_t *row_count)
{
    int64_t rows = FIRN_MIN(firn_window_rows(&reading->window), (int64_t)reading->rows_max);
    FIRN_TRY(firn_op_check(op));
    for (uint32_t i = 0; i < reading->run.schema.leaf_count; i++)
        FIRN_TRY(pull_column(op, reading, i, rows));
    *row_count = (uint32_t)rows;
    return FIRN_OK;
}

static firn_status check_complete(struct firn_op *op, const struct reading *reading)
{
    const struct firn_data_file *file = reading->config->file;
    const struct firn_partition_spec *spec = firn_metadata_spec(reading->config->metadata, file->spec_id);
    if (reading->window.slices.count == 0)
        return FIRN_OK;
    for (uint32_t i = 0; i < reading->run.schema.leaf_count; i++) {
        const struct firn_output_leaf *leaf = &reading->run.schema.leaves[i];
        if (reading->config->levels && leaf->node->parent->parent)
            continue;
        if (!firn_row_slice_plan(&reading->window.slices.items[0], i)->has_values &&
            !firn_partition_identity_value(spec, &file->partition, leaf->field->id))
            return firn_fail(op, FIRN_CORRUPT, "the file lacks the column '%.*s' (field id %d)", FIRN_FMT(leaf->name),
                             leaf->field->id);
    }
    return FIRN_OK;
}

static void init_reading(struct reading *reading, const struct firn_file_rows_config *config)
{
    *reading = (struct reading){
        .config = config,
        .context = { .metadata = config->metadata, .store = config->store },
        .piece = { .length = INT64_MAX },
        .bin = { .pieces = &reading->piece, .piece_count = 1 },
        .group = { .inputs = config->file, .input_count = 1, .bins = &reading->bin, .bin_count = 1 },
        .run = { .context = &reading->context,
                 .group = &reading->group,
                 .schema = *config->schema,
                 .ids = *config->ids,
                 .window_bytes = WINDOW_BYTES,
                 .chunk_bytes = CHUNK_BYTES },
        .window = { .run = &reading->run,
                    .bin = &reading->bin,
                    .pieces = &reading->piece_index,
                    .piece_count = 1,
                    .counted = &reading->counted },
        .rows_max = (uint32_t)FIRN_MIN(FIRN_MAX(config->file->record_count, BATCH_ROWS_MIN), FIRN_FILE_ROWS_MAX),
    };
    firn_arena_init(&reading->arena);
}

static firn_status open_reading(struct firn_op *op, struct reading *reading)
{
    uint32_t count = reading->run.schema.leaf_count;
    reading->run.input_rows = FIRN_NEW(op->arena, struct firn_input_rows);
    reading->columns = FIRN_NEW_ARRAY(op->arena, struct value_column, count);
    reading->values = FIRN_NEW_ARRAY(op->arena, struct firn_value *, count);
    reading->slots = FIRN_NEW_ARRAY(op->arena, struct firn_leaf_slots, count);
    FIRN_TRY(firn_codec_context_open(op, &reading->run.codec));
    for (uint32_t i = 0; i < count; i++)
        reading->columns[i].column =
            (struct firn_column){ .leaf = &reading->run.schema.leaves[i], .codec = reading->run.codec };
    FIRN_TRY(firn_window_fill(op, &reading->window, 1));
    return reading->config->complete ? check_complete(op, reading) : FIRN_OK;
}

static void close_reading(struct reading *reading)
{
    for (uint32_t i = 0; reading->columns && i < reading->run.schema.leaf_count; i++) {
        struct value_column *column = &reading->columns[i];
        firn_column_close(&column->column);
        firn_buffer_done(&column->values);
        firn_buffer_done(&column->bytes);
        firn_buffer_done(&column->rep);
        firn_buffer_done(&column->def);
    }
    firn_buffer_done(&reading->starts);
    firn_window_close(&reading->window);
    firn_codec_context_close(reading->run.codec);
    firn_arena_done(&reading->arena);
}

static firn_status read_parquet(struct firn_op *op, const struct firn_file_rows_config *config,
                                firn_file_rows_visit *visit, void *context)
{
    struct reading reading;
    struct firn_op inner = *op;
    struct firn_row_batch batch = { 0 };
    init_reading(&reading, config);
    inner.arena = &reading.arena;
    firn_status status = open_reading(&inner, &reading);
    while (status == FIRN_OK && firn_window_rows(&reading.window) > 0) {
        status = read_batch(&inner, &reading, &batch.row_count);
        if (status != FIRN_OK)
            break;
        batch.columns = reading.values;
        batch.slots = config->levels ? reading.slots : NULL;
        status = visit(op, context, &batch);
        inner.error = op->error;
        batch.first += batch.row_count;
        firn_window_advance(&inner, &reading.window, batch.row_count);
    }
    op->error = inner.error;
    close_reading(&reading);
    return status;
}

static firn_status read_format(struct firn_op *op, const struct firn_file_rows_config *config,
                               firn_file_rows_visit *visit, void *context)
{
    const struct firn_data_file *file = config->file;
    if (file->key_metadata.len > 0)
        return firn_fail(op, FIRN_UNSUPPORTED, "the file is encrypted");
    switch (file->format) {
    case FIRN_FILE_PARQUET:
        return read_parquet(op, config, visit, context);
    case FIRN_FILE_AVRO:
        return firn_avro_file_rows_read(op, config, visit, context);
    case FIRN_FILE_ORC:
        return firn_orc_file_rows_read(op, config, visit, context);
    default:
        return firn_fail(op, FIRN_UNSUPPORTED, "the format is %.*s, and firn reads rows of Parquet, Avro and ORC only",
                         FIRN_FMT(file->format_text));
    }
}

struct counting {
    firn_file_rows_visit *visit;
    void *context;
    int64_t rows;
};

static firn_status count_batch(struct firn_op *op, void *context, const struct firn_row_batch *batch)
{
    struct counting *counting = context;
    counting->rows += batch->row_count;
    return counting->visit(op, counting->context, batch);
}

firn_status firn_file_rows_read(struct firn_op *op, const struct firn_file_rows_config *config,
                                firn_file_rows_visit *visit, void *context)
{
    const struct firn_data_file *file = config->file;
    struct counting counting = { .visit = visit, .context = context };
    FIRN_TRY(read_format(op, config, count_batch, &counting));
    if (config->complete && file->record_count >= 0 && file->record_count != counting.rows)
        firn_log(op, FIRN_LOG_WARN,
                 "%.*s holds %" PRId64 " rows, and the table records %" PRId64 ": taking what it holds",
                 FIRN_FMT(file->path), counting.rows, file->record_count);
    return FIRN_OK;
}
