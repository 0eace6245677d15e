/* Deletion vectors: all of a call in one Puffin file, read back before anyone refers to them.
 * Puffin spec, "deletion-vector-v1 blob type"; reference: format-notes.md, 5. */
#include "format/puffin/deletion_vector.h"
#include "rewrite/delete_writer_form.h"
#include "rewrite/deletion_position.h"
#include "table/location.h"

static struct firn_data_file describe(const struct firn_row_deletes *deletes, const struct firn_puffin_blob *blob,
                                      struct firn_text location)
{
    return (struct firn_data_file){
        .content = FIRN_CONTENT_POSITION_DELETES,
        .path = location,
        .format = FIRN_FILE_PUFFIN,
        .format_text = FIRN_TEXT("PUFFIN"),
        .spec_id = deletes->spec_id,
        .partition = deletes->partition,
        .record_count = (int64_t)firn_positions_count(deletes->positions),
        .sort_order_id = FIRN_ABSENT,
        .first_row_id = FIRN_ABSENT,
        .referenced_data_file = deletes->data_file,
        .content_offset = blob->offset,
        .content_bytes = blob->length,
    };
}

static firn_status write_blobs(struct firn_op *op, struct firn_sink *sink, const struct firn_sorted_deletes *deletes,
                               struct firn_puffin_blob *blobs)
{
    static const struct firn_puffin_property created_by = { FIRN_TEXT_INIT("created-by"),
                                                            FIRN_TEXT_INIT("firn version " FIRN_VERSION) };
    struct firn_puffin_writer *writer;
    FIRN_TRY(firn_puffin_writer_open(op, sink, &writer));
    for (uint32_t i = 0; i < deletes->count; i++) {
        const struct firn_row_deletes *item = deletes->items[i];
        FIRN_TRY(firn_op_check(op));
        FIRN_TRY(firn_deletion_vector_write(op, writer, item->positions, item->data_file, &blobs[i]));
    }
    return firn_puffin_writer_finish(op, writer, &created_by, 1, false);
}

static firn_status prove_vector(struct firn_op *op, struct firn_store *store, const struct firn_data_file *file)
{
    struct firn_scratch scratch;
    struct firn_positions *positions;
    firn_scratch_begin(op, &scratch);
    firn_status status = firn_deletion_vector_read(op, store, file, &positions);
    firn_scratch_end(op, &scratch);
    if (status == FIRN_OK || status == FIRN_CANCELLED)
        return status;
    firn_context(op, status, "written file %.*s cannot be read back", FIRN_FMT(file->path));
    return op->error.status = FIRN_VERIFY;
}

/* The Puffin file is made visible; its vectors are listed before anything else can fail. */
static firn_status publish(struct firn_op *op, const struct firn_delete_writer_config *config,
                           struct firn_store_writer *writer, struct firn_written_deletes *out)
{
    int64_t file_bytes = (int64_t)firn_store_writer_sink(writer)->offset;
    firn_status status = firn_store_writer_finish(op, writer);
    if (status == FIRN_EXISTS) /* another's file, which is not ours to remove */
        out->files.count = 0;
    for (size_t i = 0; i < out->files.count; i++)
        out->files.items[i].file_bytes = file_bytes;
    for (size_t i = 0; status == FIRN_OK && i < out->files.count; i++)
        status = prove_vector(op, config->store, &out->files.items[i]);
    return status;
}

firn_status firn_deletion_vectors_write(struct firn_op *op, const struct firn_delete_writer_config *config,
                                        const struct firn_sorted_deletes *deletes, struct firn_written_deletes *out)
{
    struct firn_puffin_blob *blobs = FIRN_NEW_ARRAY(op->arena, struct firn_puffin_blob, deletes->count);
    struct firn_text name =
        firn_data_file_name(op->arena, config->number, 0, config->operation, 1, FIRN_TEXT("-deletes.puffin"));
    struct firn_text location = firn_data_location(op->arena, config->metadata, FIRN_TEXT(""), name);
    struct firn_store_writer *writer;
    FIRN_TRY(firn_store_write(op, config->store, location, true, &writer));
    firn_status status = write_blobs(op, firn_store_writer_sink(writer), deletes, blobs);
    if (status != FIRN_OK) {
        firn_store_writer_close(writer);
        return status;
    }
    for (uint32_t i = 0; i < deletes->count; i++)
        FIRN_PUSH(op->arena, &out->files, describe(deletes->items[i], &blobs[i], location));
    return publish(op, config, writer, out);
}
