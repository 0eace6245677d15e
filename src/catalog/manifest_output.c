/* Writing a commit's manifests: rolling outputs, and the manifests of the files it adds. */
#include "catalog/producer.h"

#include "base/math.h"
#include "table/location.h"

/* The size is looked at after so many entries, as the reference does: however small the target, a manifest that is full
 * has as many. */
enum { ENTRIES_PER_LOOK = 250 };

struct firn_manifest_run firn_manifest_run_of(struct firn_producer *producer, const struct firn_partition_spec *spec,
                                              bool is_deletes)
{
    return (struct firn_manifest_run){ producer, spec, is_deletes, producer->manifest_bytes_target };
}

static struct firn_text next_path(struct firn_op *op, struct firn_producer *producer)
{
    struct firn_text name = firn_text_format(op->arena, "%.*s-m%u.avro", FIRN_FMT(producer->uuid),
                                             atomic_fetch_add(&producer->manifest_number, 1));
    return firn_metadata_location(op->arena, producer->table->metadata, name);
}

struct firn_manifest_writer_config firn_manifest_run_config(const struct firn_manifest_run *run)
{
    return (struct firn_manifest_writer_config){
        .metadata = run->producer->table->metadata,
        .spec = run->spec,
        .is_deletes = run->is_deletes,
        .snapshot_id = run->producer->snapshot_id,
        .codec = run->producer->codec,
        .codec_level = run->producer->codec_level,
    };
}

static firn_status begin_manifest(struct firn_op *op, struct firn_manifest_output *output)
{
    struct firn_producer *producer = output->run.producer;
    struct firn_manifest_writer_config config = firn_manifest_run_config(&output->run);
    output->entry_count = 0;
    output->path = next_path(op, producer);
    FIRN_PUSH(op->arena, &output->begun, output->path);
    FIRN_TRY(firn_store_write(op, producer->table->store, output->path, true, &output->file));
    return firn_manifest_writer_open(op, &config, firn_store_writer_sink(output->file), &output->writer);
}

static firn_status end_manifest(struct firn_op *op, struct firn_manifest_output *output)
{
    struct firn_manifest_file row;
    FIRN_TRY(firn_manifest_writer_finish(op, output->writer, &row));
    firn_manifest_writer_close(output->writer);
    output->writer = NULL;
    struct firn_store_writer *file = output->file;
    output->file = NULL;
    FIRN_TRY(firn_store_writer_finish(op, file));
    row.path = output->path;
    FIRN_PUSH(op->arena, &output->rows, row);
    return FIRN_OK;
}

/* Due before every entry. */
static firn_status make_room(struct firn_op *op, struct firn_manifest_output *output)
{
    bool is_due = output->writer && output->entry_count > 0 && output->entry_count % ENTRIES_PER_LOOK == 0;
    if (is_due && firn_manifest_writer_bytes(output->writer) >= (uint64_t)output->run.bytes_max)
        FIRN_TRY(end_manifest(op, output));
    if (!output->writer)
        FIRN_TRY(begin_manifest(op, output));
    output->entry_count++;
    return FIRN_OK;
}

firn_status firn_manifest_output_add(struct firn_op *op, struct firn_manifest_output *output,
                                     const struct firn_manifest_entry *entry)
{
    FIRN_TRY(make_room(op, output));
    return firn_manifest_writer_add(op, output->writer, entry);
}

firn_status firn_manifest_output_add_encoded(struct firn_op *op, struct firn_manifest_output *output,
                                             const struct firn_encoded_entry *entry)
{
    FIRN_TRY(make_room(op, output));
    return firn_manifest_writer_add_encoded(op, output->writer, entry);
}

/* Discards what is unfinished. */
static void close_output(struct firn_manifest_output *output)
{
    firn_manifest_writer_close(output->writer);
    firn_store_writer_close(output->file);
}

static struct firn_bytes copy_optional(struct firn_arena *arena, struct firn_bytes bytes)
{
    return bytes.data ? firn_bytes_copy(arena, bytes) : bytes;
}

static struct firn_manifest_file copy_row(struct firn_arena *arena, const struct firn_manifest_file *row)
{
    struct firn_manifest_file copy = *row;
    copy.path = firn_text_copy(arena, row->path);
    copy.key_metadata = copy_optional(arena, row->key_metadata);
    copy.summaries = FIRN_NEW_ARRAY(arena, struct firn_field_summary, row->summary_count);
    for (uint32_t i = 0; i < row->summary_count; i++) {
        copy.summaries[i] = row->summaries[i];
        copy.summaries[i].lower_bound = copy_optional(arena, row->summaries[i].lower_bound);
        copy.summaries[i].upper_bound = copy_optional(arena, row->summaries[i].upper_bound);
    }
    return copy;
}

static firn_status fill_and_end(struct firn_op *op, struct firn_manifest_output *output, firn_manifest_fill *fill,
                                void *context)
{
    FIRN_TRY(fill(op, context, output));
    return output->writer ? end_manifest(op, output) : FIRN_OK;
}

/* What writing takes goes when it is done; a manifest is large beside what is kept of it. */
firn_status firn_manifest_run_write(struct firn_op *op, const struct firn_manifest_run *run, firn_manifest_fill *fill,
                                    void *context, struct firn_manifests_written *out)
{
    struct firn_manifest_output output = { .run = *run };
    struct firn_scratch scratch;
    firn_scratch_begin(op, &scratch);
    firn_status status = fill_and_end(op, &output, fill, context);
    close_output(&output);
    for (size_t i = 0; i < output.begun.count; i++)
        FIRN_PUSH(scratch.results, &out->begun, firn_text_copy(scratch.results, output.begun.items[i]));
    for (size_t i = 0; i < output.rows.count; i++)
        FIRN_PUSH(scratch.results, &out->rows, copy_row(scratch.results, &output.rows.items[i]));
    firn_scratch_end(op, &scratch);
    return status;
}

/* Files of the change that one manifest may hold together. */
struct added_files {
    int32_t spec_id; /* only those of it are added */
    const struct firn_data_file *files;
    const int64_t *sequence_numbers; /* one each; NULL: all are `sequence_number` */
    int64_t sequence_number;
    uint32_t count;
    bool is_deletes;
};

static firn_status add_files_of_spec(struct firn_op *op, void *context, struct firn_manifest_output *output)
{
    const struct added_files *added = context;
    for (uint32_t i = 0; i < added->count; i++) {
        if (added->files[i].spec_id != added->spec_id)
            continue;
        struct firn_manifest_entry entry = {
            .status = FIRN_ENTRY_ADDED,
            .snapshot_id = output->run.producer->snapshot_id,
            .sequence_number = added->sequence_numbers ? added->sequence_numbers[i] : added->sequence_number,
            .file_sequence_number = FIRN_ABSENT,
            .file = added->files[i],
        };
        entry.file.first_row_id = FIRN_ABSENT; /* numbered anew, whatever the caller left there */
        FIRN_TRY(firn_manifest_output_add(op, output, &entry));
    }
    return FIRN_OK;
}

static firn_status write_spec(struct firn_op *op, struct firn_producer *producer, const struct added_files *added,
                              int32_t spec_id, struct firn_manifest_rows *rows)
{
    const struct firn_partition_spec *spec = firn_metadata_spec(producer->table->metadata, spec_id);
    if (!spec)
        return firn_fail(op, FIRN_USAGE, "the table has no partition spec %d", spec_id);
    struct firn_manifest_run run = firn_manifest_run_of(producer, spec, added->is_deletes);
    struct firn_manifests_written written = { 0 };
    struct added_files of_spec = *added;
    of_spec.spec_id = spec_id;
    firn_status status = firn_manifest_run_write(op, &run, add_files_of_spec, &of_spec, &written);
    for (size_t i = 0; i < written.begun.count; i++)
        FIRN_PUSH(op->arena, &producer->manifests_begun, written.begun.items[i]);
    for (size_t i = 0; i < written.rows.count; i++)
        FIRN_PUSH(op->arena, rows, written.rows.items[i]);
    return status;
}

static bool spec_came_before(const struct added_files *added, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++)
        if (added->files[i].spec_id == added->files[index].spec_id)
            return true;
    return false;
}

/* One run of manifests for each spec, in the order in which the specs are met. Nearly always there is one. */
static firn_status write_added(struct firn_op *op, struct firn_producer *producer, const struct added_files *added,
                               struct firn_manifest_rows *rows)
{
    for (uint32_t i = 0; i < added->count; i++) {
        bool known = i > 0 && (added->files[i].spec_id == added->files[i - 1].spec_id || spec_came_before(added, i));
        if (!known)
            FIRN_TRY(write_spec(op, producer, added, added->files[i].spec_id, rows));
    }
    return FIRN_OK;
}

static firn_status write_change(struct firn_op *op, struct firn_producer *producer)
{
    const struct firn_snapshot_change *change = producer->change;
    if (producer->has_added)
        return FIRN_OK;
    struct added_files data = {
        .files = change->added,
        .count = change->added_count,
        .sequence_number = change->added_sequence_number,
    };
    struct added_files deletes = {
        .files = change->added_deletes,
        .count = change->added_delete_count,
        .sequence_numbers = change->added_delete_sequence_numbers,
        .sequence_number = FIRN_ABSENT,
        .is_deletes = true,
    };
    producer->added.count = producer->added_deletes.count = 0;
    FIRN_TRY(write_added(op, producer, &data, &producer->added));
    FIRN_TRY(write_added(op, producer, &deletes, &producer->added_deletes));
    producer->has_added = true;
    return FIRN_OK;
}

static firn_status write_carried(struct firn_op *op, struct firn_producer *producer)
{
    struct firn_carried *carried = &producer->carried;
    struct added_files deletes = {
        .files = carried->files,
        .count = carried->count,
        .sequence_number = FIRN_ABSENT,
        .is_deletes = true,
    };
    if (carried->has_rows)
        return FIRN_OK;
    carried->rows.count = 0;
    FIRN_TRY(write_added(op, producer, &deletes, &carried->rows));
    carried->has_rows = true;
    return FIRN_OK;
}

firn_status firn_added_manifests_write(struct firn_op *op, struct firn_producer *producer)
{
    FIRN_TRY(write_change(op, producer));
    return write_carried(op, producer);
}
