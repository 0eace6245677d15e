/* Writing a commit's manifests: rolling outputs, and the manifests of the files it adds. */
#include "catalog/producer.h"

#include "base/math.h"
#include "table/location.h"

void firn_manifest_output_init(struct firn_manifest_output *output, struct firn_producer *producer,
                               const struct firn_partition_spec *spec, bool is_deletes)
{
    *output = (struct firn_manifest_output){ .producer = producer, .spec = spec, .is_deletes = is_deletes };
}

static struct firn_text next_path(struct firn_op *op, struct firn_producer *producer)
{
    struct firn_text name = firn_text_format(op->arena, "%.*s-m%u.avro", FIRN_FMT(producer->uuid),
                                             atomic_fetch_add(&producer->manifest_number, 1));
    return firn_metadata_location(op->arena, producer->table->metadata, name);
}

static firn_status begin_manifest(struct firn_op *op, struct firn_manifest_output *output)
{
    struct firn_producer *producer = output->producer;
    struct firn_manifest_writer_config config = {
        .metadata = producer->table->metadata,
        .spec = output->spec,
        .is_deletes = output->is_deletes,
        .snapshot_id = producer->snapshot_id,
        .codec = producer->codec,
        .codec_level = producer->codec_level,
    };
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

firn_status firn_manifest_output_add(struct firn_op *op, struct firn_manifest_output *output,
                                     const struct firn_manifest_entry *entry)
{
    int64_t bytes_target = output->producer->manifest_bytes_target;
    if (output->writer && firn_manifest_writer_bytes(output->writer) >= (uint64_t)bytes_target)
        FIRN_TRY(end_manifest(op, output));
    if (!output->writer)
        FIRN_TRY(begin_manifest(op, output));
    return firn_manifest_writer_add(op, output->writer, entry);
}

firn_status firn_manifest_output_finish(struct firn_op *op, struct firn_manifest_output *output)
{
    return output->writer ? end_manifest(op, output) : FIRN_OK;
}

void firn_manifest_output_close(struct firn_manifest_output *output)
{
    firn_manifest_writer_close(output->writer);
    firn_store_writer_close(output->file);
    output->writer = NULL;
    output->file = NULL;
}

static struct firn_bytes copy_optional(struct firn_arena *arena, struct firn_bytes bytes)
{
    return bytes.data ? firn_bytes_copy(arena, bytes) : bytes;
}

struct firn_manifest_file firn_manifest_row_copy(struct firn_arena *arena, const struct firn_manifest_file *row)
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

/* Files of the change that one manifest may hold together. */
struct added_files {
    const struct firn_data_file *files;
    const int64_t *sequence_numbers; /* one each; NULL: all are `sequence_number` */
    int64_t sequence_number;
    uint32_t count;
    bool is_deletes;
};

static firn_status add_files_of_spec(struct firn_op *op, const struct added_files *added, int32_t spec_id,
                                     struct firn_manifest_output *output)
{
    for (uint32_t i = 0; i < added->count; i++) {
        if (added->files[i].spec_id != spec_id)
            continue;
        struct firn_manifest_entry entry = {
            .status = FIRN_ENTRY_ADDED,
            .snapshot_id = output->producer->snapshot_id,
            .sequence_number = added->sequence_numbers ? added->sequence_numbers[i] : added->sequence_number,
            .file_sequence_number = FIRN_ABSENT,
            .file = added->files[i],
        };
        entry.file.first_row_id = FIRN_ABSENT; /* numbered anew, whatever the caller left there */
        FIRN_TRY(firn_manifest_output_add(op, output, &entry));
    }
    return firn_manifest_output_finish(op, output);
}

static firn_status write_spec(struct firn_op *op, struct firn_producer *producer, const struct added_files *added,
                              int32_t spec_id, struct firn_manifest_rows *rows)
{
    const struct firn_partition_spec *spec = firn_metadata_spec(producer->table->metadata, spec_id);
    if (!spec)
        return firn_fail(op, FIRN_USAGE, "the table has no partition spec %d", spec_id);
    struct firn_manifest_output output;
    firn_manifest_output_init(&output, producer, spec, added->is_deletes);
    firn_status status = add_files_of_spec(op, added, spec_id, &output);
    firn_manifest_output_close(&output);
    for (size_t i = 0; i < output.begun.count; i++)
        FIRN_PUSH(op->arena, &producer->manifests_begun, output.begun.items[i]);
    for (size_t i = 0; i < output.rows.count; i++)
        FIRN_PUSH(op->arena, rows, output.rows.items[i]);
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
