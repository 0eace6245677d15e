/* Manifest lists: reading, and writing with this commit's sequence number and row ids.
 * Iceberg spec, "Manifest Lists", "First Row ID Inheritance". */
#include "format/avro/rows.h"
#include "format/avro/writer.h"
#include "table/manifest.h"
#include "table/manifest_codec.h"
#include "table/manifest_columns.h"

/* Reading ------------------------------------------------------------------------------------------------------ */

static const struct firn_manifest_file nothing = {
    .added_snapshot_id = FIRN_NO_SNAPSHOT,
    .added_files_count = FIRN_ABSENT,
    .existing_files_count = FIRN_ABSENT,
    .deleted_files_count = FIRN_ABSENT,
    .added_rows_count = FIRN_ABSENT,
    .existing_rows_count = FIRN_ABSENT,
    .deleted_rows_count = FIRN_ABSENT,
    .first_row_id = FIRN_ABSENT,
};

firn_status firn_manifest_list_parse(struct firn_op *op, struct firn_bytes bytes, struct firn_manifest_list *out)
{
    struct firn_avro_reader reader;
    struct firn_avro_rows rows;
    struct firn_buffer *list = FIRN_NEW(op->arena, struct firn_buffer);
    firn_buffer_defer(op->arena, list);
    FIRN_TRY(firn_avro_reader_init(op, bytes, &reader));
    FIRN_TRY(firn_avro_rows_init(op, &reader, firn_manifest_list_layout(op->arena, FIRN_MANIFEST_READ), false, &rows));
    for (;;) {
        struct firn_manifest_file row = nothing;
        bool got;
        FIRN_TRY(firn_avro_rows_next(op, &rows, &row, &got));
        if (!got)
            break;
        FIRN_TRY(firn_buffer_append(op, list, &row, sizeof row));
    }
    *out = (struct firn_manifest_list){ .manifests = (struct firn_manifest_file *)(void *)list->data,
                                        .count = (uint32_t)(list->len / sizeof(struct firn_manifest_file)) };
    return FIRN_OK;
}

/* Writing ------------------------------------------------------------------------------------------------------ */

/* The row as it is written: numbers that were left to this commit are filled in. */
static firn_status number_row(struct firn_op *op, const struct firn_manifest_list_header *header, int64_t *next_row_id,
                              struct firn_manifest_file *row)
{
    if (row->sequence_number == FIRN_ABSENT)
        row->sequence_number = header->sequence_number;
    if (row->min_sequence_number == FIRN_ABSENT)
        row->min_sequence_number = header->sequence_number;
    if (row->is_deletes)
        row->first_row_id = FIRN_ABSENT;
    if (header->format_version < 3 || row->is_deletes || row->first_row_id != FIRN_ABSENT)
        return FIRN_OK;
    if (row->added_rows_count == FIRN_ABSENT || row->existing_rows_count == FIRN_ABSENT)
        return firn_fail(op, FIRN_CORRUPT, "its row counts are unknown, so its rows cannot be numbered");
    row->first_row_id = *next_row_id;
    if (__builtin_add_overflow(*next_row_id, row->added_rows_count, next_row_id) ||
        __builtin_add_overflow(*next_row_id, row->existing_rows_count, next_row_id))
        return firn_fail(op, FIRN_CORRUPT, "row ids run past 64 bits");
    return FIRN_OK;
}

static struct firn_avro_property number_property(struct firn_op *op, const char *key, int64_t number)
{
    struct firn_text value = firn_text_format(op->arena, "%" PRId64, number);
    return (struct firn_avro_property){ firn_text_of(key), firn_bytes_of_text(value) };
}

enum { PROPERTIES_MAX = 5 };

static uint32_t fill_properties(struct firn_op *op, const struct firn_manifest_list_header *header,
                                struct firn_avro_property properties[PROPERTIES_MAX])
{
    uint32_t count = 0;
    properties[count++] = number_property(op, "snapshot-id", header->snapshot_id);
    properties[count++] = number_property(op, "parent-snapshot-id", header->parent_snapshot_id);
    if (header->parent_snapshot_id == FIRN_NO_SNAPSHOT)
        properties[count - 1].value = firn_bytes_of_text(FIRN_TEXT("null"));
    if (header->format_version >= 2)
        properties[count++] = number_property(op, "sequence-number", header->sequence_number);
    if (header->format_version >= 3)
        properties[count++] = number_property(op, "first-row-id", header->first_row_id);
    properties[count++] = number_property(op, "format-version", header->format_version);
    return count;
}

static firn_status write_rows(struct firn_op *op, const struct firn_manifest_list_header *header,
                              const struct firn_manifest_file *rows, uint32_t count, struct firn_avro_writer *writer,
                              int64_t *next_row_id)
{
    for (uint32_t i = 0; i < count; i++) {
        struct firn_manifest_file row = rows[i];
        firn_status status = number_row(op, header, next_row_id, &row);
        if (status == FIRN_OK)
            status = firn_avro_writer_add(op, writer, &row);
        FIRN_TRY(firn_context(op, status, "manifest \"%.*s\"", FIRN_FMT(row.path)));
    }
    return firn_avro_writer_finish(op, writer);
}

firn_status firn_manifest_list_write(struct firn_op *op, const struct firn_manifest_list_header *header,
                                     const struct firn_manifest_file *rows, uint32_t count, struct firn_sink *sink,
                                     int64_t *next_row_id)
{
    struct firn_avro_property properties[PROPERTIES_MAX];
    struct firn_avro_writer *writer;
    int64_t running = header->first_row_id;
    struct firn_avro_writer_config config = {
        .layout = firn_manifest_list_layout(op->arena, firn_manifest_write_use(header->format_version)),
        .properties = properties,
        .property_count = fill_properties(op, header, properties),
    };
    FIRN_TRY(firn_manifest_codec(op, header->codec, FIRN_CODEC_LEVEL_DEFAULT, &config));
    FIRN_TRY(firn_avro_writer_open(op, &config, sink, &writer));
    firn_status status = write_rows(op, header, rows, count, writer, &running);
    firn_avro_writer_close(writer);
    if (next_row_id)
        *next_row_id = running;
    return status;
}
