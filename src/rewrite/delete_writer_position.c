/* Position delete files, written by the machinery that writes data files: two required columns, sorted.
 * Iceberg spec, "Position Delete Files"; reference: format-notes.md, 4. */
#include "base/math.h"
#include "rewrite/delete_writer_form.h"
#include "rewrite/output.h"
#include "table/delete_index.h"

/* The size of a file is looked at after this many rows, as the reference's writers do. */
enum { BATCH_ROWS = 1000 };

/* Row groups end at this much memory, whatever row group size the table asks for. */
#define ROW_GROUP_MEMORY_MAX (UINT64_C(32) << 20)

enum { LEAF_PATH, LEAF_POSITION, LEAF_COUNT };

struct writing {
    const struct firn_delete_writer_config *config;
    struct firn_schema schema;
    struct firn_field fields[LEAF_COUNT];
    struct firn_rewrite_context context;
    struct firn_rewrite_group group;
    struct firn_group_run run;
    struct firn_output_files files;
    struct firn_output output;            /* the file in progress */
    const struct firn_row_deletes *first; /* data file that it names first */
    bool names_many;

    /* Rows that are not in the output yet. */
    uint32_t row_count;
    struct firn_slice paths[BATCH_ROWS];
    int64_t positions[BATCH_ROWS];
};

static void define_schema(struct writing *writing)
{
    writing->fields[LEAF_PATH] = (struct firn_field){
        .id = FIRN_FIELD_ID_DELETE_FILE_PATH,
        .name = FIRN_TEXT("file_path"),
        .required = true,
        .type = { .id = FIRN_TYPE_STRING },
    };
    writing->fields[LEAF_POSITION] = (struct firn_field){
        .id = FIRN_FIELD_ID_DELETE_FILE_POS,
        .name = FIRN_TEXT("pos"),
        .required = true,
        .type = { .id = FIRN_TYPE_LONG },
    };
    writing->schema.root = (struct firn_type){
        .id = FIRN_TYPE_STRUCT,
        .fields = writing->fields,
        .field_count = LEAF_COUNT,
    };
}

/* Readers other than Iceberg's tell delete files by this. */
static void add_delete_type(struct firn_op *op, struct firn_footer *footer)
{
    struct firn_key_value *values = FIRN_NEW_ARRAY(op->arena, struct firn_key_value, footer->key_value_count + 1);
    memcpy(values, footer->key_values, footer->key_value_count * sizeof *values);
    values[footer->key_value_count++] = (struct firn_key_value){ FIRN_TEXT("delete-type"), FIRN_TEXT("position") };
    footer->key_values = values;
}

static firn_status init_writing(struct firn_op *op, const struct firn_delete_writer_config *config,
                                struct writing *writing)
{
    const struct firn_metadata *metadata = config->metadata;
    struct firn_group_run *run = &writing->run;
    writing->config = config;
    define_schema(writing);
    writing->context =
        (struct firn_rewrite_context){ .metadata = metadata, .store = config->store, .operation = config->operation };
    writing->group.index = config->number;
    *run = (struct firn_group_run){
        .context = &writing->context,
        .group = &writing->group,
        .metrics = firn_metrics_config_full(op->arena),
        .file_ending = FIRN_TEXT("-deletes.parquet"),
    };
    FIRN_TRY(firn_output_schema_new(op, &writing->schema, false, &run->schema));
    add_delete_type(op, run->schema.footer);
    return firn_write_options_new(op, metadata, FIRN_WRITE_DELETES, &run->schema, &run->options);
}

/* Of a file that names several data files the bounds say nothing; counts never do. Full ones of a single data file tell
 * readers that they need not look into the file for any other. */
static void describe(const struct writing *writing, struct firn_data_file *file)
{
    const struct firn_bound_map no_bounds = { 0 };
    file->content = FIRN_CONTENT_POSITION_DELETES;
    file->sort_order_id = FIRN_ABSENT;
    file->value_counts = file->null_value_counts = file->nan_value_counts = (struct firn_count_map){ 0 };
    if (writing->names_many)
        file->lower_bounds = file->upper_bounds = no_bounds;
    else if (writing->config->granularity == FIRN_DELETES_BY_FILE)
        file->referenced_data_file = writing->first->data_file;
}

static firn_status finish_file(struct firn_op *op, struct writing *writing)
{
    size_t before = writing->files.done.count;
    firn_status status = firn_output_finish(op, &writing->output);
    if (writing->files.done.count > before)
        describe(writing, &writing->files.done.items[before]);
    writing->first = NULL;
    writing->names_many = false;
    return status;
}

static struct firn_vector leaf_vector(enum firn_parquet_type type, void *values, uint32_t count)
{
    return (struct firn_vector){
        .type = type,
        .slot_count = count,
        .value_count = count,
        .row_count = count,
        .values.any = values,
    };
}

static firn_status append_rows(struct firn_op *op, struct writing *writing)
{
    struct firn_output *output = &writing->output;
    struct firn_vector paths = leaf_vector(FIRN_PARQUET_BYTE_ARRAY, writing->paths, writing->row_count);
    struct firn_vector positions = leaf_vector(FIRN_PARQUET_INT64, writing->positions, writing->row_count);
    FIRN_TRY(firn_op_check(op));
    FIRN_TRY(firn_output_begin(op, output));
    FIRN_TRY(firn_output_append(op, output, LEAF_PATH, &paths));
    FIRN_TRY(firn_output_append(op, output, LEAF_POSITION, &positions));
    output->row_group_rows += writing->row_count;
    writing->row_count = 0;
    return FIRN_OK;
}

/* Passes the waiting rows on, then ends the row group or the file that has become large enough. */
static firn_status flush(struct firn_op *op, struct writing *writing)
{
    struct firn_output *output = &writing->output;
    if (writing->row_count == 0)
        return FIRN_OK;
    FIRN_TRY(append_rows(op, writing));
    uint64_t row_group_bytes = firn_output_row_group_bytes(output);
    if (firn_output_file_bytes(output) + row_group_bytes >= writing->config->file_bytes_max)
        return finish_file(op, writing);
    if (row_group_bytes >= writing->run.options.row_group_bytes || firn_output_memory(output) >= ROW_GROUP_MEMORY_MAX)
        return firn_output_flush(op, output);
    return FIRN_OK;
}

static firn_status add_rows(struct firn_op *op, struct writing *writing, const struct firn_row_deletes *deletes)
{
    struct firn_slice path = { (const uint8_t *)deletes->data_file.data, (uint32_t)deletes->data_file.len };
    for (int64_t at = 0; firn_positions_next(deletes->positions, at, &at); at++) {
        writing->names_many |= writing->first && writing->first != deletes;
        writing->first = writing->first ? writing->first : deletes;
        writing->paths[writing->row_count] = path;
        writing->positions[writing->row_count++] = at;
        if (writing->row_count == BATCH_ROWS)
            FIRN_TRY(flush(op, writing));
    }
    return FIRN_OK;
}

/* Opens the run of files of a spec and partition. */
static firn_status begin_partition(struct firn_op *op, struct writing *writing, const struct firn_row_deletes *deletes)
{
    const struct firn_metadata *metadata = writing->config->metadata;
    struct firn_group_run *run = &writing->run;
    if (!run->spec || run->spec->id != deletes->spec_id) {
        struct firn_type *types;
        run->spec = firn_metadata_spec(metadata, deletes->spec_id);
        if (!run->spec)
            return firn_fail(op, FIRN_CORRUPT, "the table has no partition spec %d", deletes->spec_id);
        FIRN_TRY(firn_partition_types(op, run->spec, firn_metadata_schemas_by_age(op, metadata), metadata->schema_count,
                                      &types));
        run->partition_types = types;
    }
    writing->output.partition = &deletes->partition;
    return FIRN_OK;
}

/* Whether the deletes of a data file may not go to the file of those before. */
static bool begins_file(const struct writing *writing, const struct firn_sorted_deletes *deletes, uint32_t index)
{
    return index > 0 && (writing->config->granularity == FIRN_DELETES_BY_FILE ||
                         firn_bytes_compare(deletes->keys[index], deletes->keys[index - 1]) != 0);
}

static firn_status write_all(struct firn_op *op, struct writing *writing, const struct firn_sorted_deletes *deletes)
{
    FIRN_TRY(firn_codec_context_open(op, &writing->run.codec));
    firn_output_init(op, &writing->output, &writing->run, &writing->files, NULL, 0);
    for (uint32_t i = 0; i < deletes->count; i++) {
        if (begins_file(writing, deletes, i)) {
            FIRN_TRY(flush(op, writing));
            FIRN_TRY(finish_file(op, writing));
        }
        FIRN_TRY(begin_partition(op, writing, deletes->items[i]));
        FIRN_TRY(add_rows(op, writing, deletes->items[i]));
    }
    FIRN_TRY(flush(op, writing));
    return finish_file(op, writing);
}

firn_status firn_position_deletes_write(struct firn_op *op, const struct firn_delete_writer_config *config,
                                        const struct firn_sorted_deletes *deletes, struct firn_written_deletes *out)
{
    struct writing *writing = FIRN_NEW(op->arena, struct writing);
    FIRN_TRY(init_writing(op, config, writing));
    firn_status status = write_all(op, writing, deletes);
    if (writing->output.run)
        firn_output_close(&writing->output);
    firn_codec_context_close(writing->run.codec);
    out->files.items = writing->files.done.items;
    out->files.count = out->files.capacity = writing->files.done.count;
    return status;
}
