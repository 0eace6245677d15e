/* Deletion vectors against their entry, the Puffin file around them and, where it is known, the data file.
 * Puffin specification, "deletion-vector-v1 blob type"; Iceberg spec, "Deletion Vectors". */
#include "base/math.h"
#include "format/puffin/deletion_vector.h"
#include "maintain/file_check_parts.h"
#include "rewrite/deletion_position.h"
#include "table/delete_index.h"

static firn_status read_footer(struct firn_op *op, struct firn_object *object, struct firn_buffer *bytes,
                               struct firn_puffin_footer *out)
{
    uint64_t size = firn_object_size(object), tail = FIRN_MIN(size, FIRN_PUFFIN_TAIL_BYTES);
    uint32_t footer_bytes;
    FIRN_TRY(firn_object_read_range(op, object, size - tail, (size_t)tail, bytes));
    FIRN_TRY(firn_puffin_tail_parse(op, firn_buffer_bytes(bytes), size, &footer_bytes));
    FIRN_TRY(firn_object_read_range(op, object, size - footer_bytes, footer_bytes, bytes));
    return firn_puffin_footer_parse(op, firn_buffer_bytes(bytes), size, out);
}

static const struct firn_puffin_blob *find_blob(const struct firn_puffin_footer *footer,
                                                const struct firn_data_file *file)
{
    for (uint32_t i = 0; i < footer->blob_count; i++) {
        const struct firn_puffin_blob *blob = &footer->blobs[i];
        if (blob->offset == file->content_offset && blob->length == file->content_bytes &&
            firn_text_is(blob->type, FIRN_DELETION_VECTOR_TYPE))
            return blob;
    }
    return NULL;
}

/* Readers go by the entry, so what the blob says otherwise harms only those who go by the blob. */
static void check_blob(struct firn_checked *checked, const struct firn_puffin_blob *blob)
{
    struct firn_text data_file =
        firn_puffin_property_find(blob->properties, blob->property_count, "referenced-data-file");
    struct firn_text cardinality = firn_puffin_property_find(blob->properties, blob->property_count, "cardinality");
    int64_t count;
    if (data_file.data && checked->file->referenced_data_file.data &&
        !firn_text_same(firn_delete_path_bare(data_file), firn_delete_path_bare(checked->file->referenced_data_file)))
        FIRN_CHECK_WARNING(checked, "referenced-data-file", "its blob is of the data file '%.*s', its entry of '%.*s'",
                           FIRN_FMT(data_file), FIRN_FMT(checked->file->referenced_data_file));
    if (cardinality.data && (!firn_text_to_i64(cardinality, &count) || count != checked->file->record_count))
        FIRN_CHECK_WARNING(checked, "puffin-blob", "its blob counts %.*s positions, its entry records %" PRId64,
                           FIRN_FMT(cardinality), checked->file->record_count);
}

/* Vectors are read by offset and length alone; a footer that does not list them is no obstacle. */
static firn_status check_footer(struct firn_op *op, struct firn_checked *checked)
{
    struct firn_buffer bytes = { 0 };
    struct firn_puffin_footer footer;
    firn_status status = read_footer(op, checked->object, &bytes, &footer);
    firn_buffer_done(&bytes);
    if (status == FIRN_CANCELLED || status == FIRN_LIMIT)
        return status;
    const struct firn_puffin_blob *blob = status == FIRN_OK ? find_blob(&footer, checked->file) : NULL;
    if (status != FIRN_OK)
        FIRN_CHECK_WARNING(checked, "puffin-blob", "it is no whole Puffin file: %s", op->error.text);
    else if (!blob)
        FIRN_CHECK_WARNING(checked, "puffin-blob",
                           "its footer lists no deletion vector of %" PRId64 " bytes at offset %" PRId64,
                           checked->file->content_bytes, checked->file->content_offset);
    else
        check_blob(checked, blob);
    return FIRN_OK;
}

static void check_positions(struct firn_checked *checked, const struct firn_positions *positions)
{
    const struct firn_key_map *counts = checked->what->row_counts;
    struct firn_text data_file = checked->file->referenced_data_file;
    uint64_t count = firn_positions_count(positions);
    if (checked->file->record_count < 0 || count != (uint64_t)checked->file->record_count)
        FIRN_CHECK_ERROR(checked, "row-count", "it holds %" PRIu64 " positions, its entry records %" PRId64, count,
                         checked->file->record_count);
    const int64_t *rows = counts && data_file.data ? firn_key_map_find(counts, firn_row_count_key(data_file)) : NULL;
    uint64_t beyond = rows ? firn_positions_count_range(positions, *rows, INT64_MAX) : 0;
    if (beyond > 0)
        FIRN_CHECK_ERROR(checked, "delete-position",
                         "%" PRIu64 " of its positions are not among the %" PRId64 " rows of '%.*s'", beyond, *rows,
                         FIRN_FMT(data_file));
}

firn_status firn_check_deletion_vector(struct firn_op *op, struct firn_checked *checked)
{
    struct firn_data_file file = *checked->file;
    struct firn_positions *positions;
    if (file.referenced_data_file.len == 0)
        FIRN_CHECK_ERROR(checked, "referenced-data-file", "its entry names no data file");
    FIRN_TRY(check_footer(op, checked));
    file.record_count = -1; /* compared below, which tells it from a broken vector */
    firn_status status = firn_deletion_vector_read(op, checked->what->store, &file, &positions);
    if (status != FIRN_OK)
        return firn_check_failed(op, checked, status, "deletion-vector");
    check_positions(checked, positions);
    return FIRN_OK;
}
