/* Writing manifests: rows, and what the manifest list says of them. Iceberg spec, "Manifests", "Manifest Lists". */
#include "base/math.h"
#include "format/avro/writer.h"
#include "table/manifest.h"
#include "table/manifest_codec.h"
#include "table/manifest_columns.h"
#include "table/manifest_tuple.h"
#include "table/partition_summary.h"

/* v1 requires the field and nobody reads it: the reference writes this number. */
#define BLOCK_BYTES_V1 INT64_C(67108864)

enum { PROPERTIES_MAX = 6 };

struct firn_manifest_encoder {
    const struct firn_partition_spec *spec;
    const struct firn_avro_layout *layout; /* of rows */
    const struct firn_avro_layout *tuple;
    bool is_deletes;
    int32_t format_version;
    int64_t snapshot_id;
    struct firn_manifest_row *scratch;
    uint8_t (*decimals)[FIRN_TUPLE_SCRATCH_BYTES]; /* one a partition field */
};

struct firn_manifest_writer {
    struct firn_manifest_encoder *encoder;
    struct firn_avro_writer *file;
    struct firn_partition_summary *summaries; /* one a partition field */
    int64_t file_counts[3], row_counts[3];    /* by status */
    int64_t min_sequence_number;              /* FIRN_ABSENT */
    struct firn_avro_property properties[PROPERTIES_MAX];
};

static struct firn_bytes json_bytes(struct firn_op *op, json_t *json)
{
    return firn_bytes_of_text(firn_json_text(op->arena, firn_json_own(op->arena, json), 0));
}

static struct firn_bytes number_bytes(struct firn_op *op, int32_t number)
{
    return firn_bytes_of_text(firn_text_format(op->arena, "%d", number));
}

static uint32_t fill_properties(struct firn_op *op, const struct firn_manifest_writer_config *config,
                                struct firn_avro_property properties[PROPERTIES_MAX])
{
    const struct firn_schema *schema = firn_metadata_current_schema(config->metadata);
    struct firn_bytes content = firn_bytes_of_text(config->is_deletes ? FIRN_TEXT("deletes") : FIRN_TEXT("data"));
    uint32_t count = 0;
    properties[count++] = (struct firn_avro_property){ FIRN_TEXT("schema"), json_bytes(op, firn_schema_json(schema)) };
    properties[count++] = (struct firn_avro_property){ FIRN_TEXT("schema-id"), number_bytes(op, schema->id) };
    properties[count++] = (struct firn_avro_property){ FIRN_TEXT("partition-spec"),
                                                       json_bytes(op, firn_partition_fields_json(config->spec)) };
    properties[count++] =
        (struct firn_avro_property){ FIRN_TEXT("partition-spec-id"), number_bytes(op, config->spec->id) };
    properties[count++] =
        (struct firn_avro_property){ FIRN_TEXT("format-version"), number_bytes(op, config->metadata->format_version) };
    if (config->metadata->format_version >= 2)
        properties[count++] = (struct firn_avro_property){ FIRN_TEXT("content"), content };
    return count;
}

static firn_status plan_row(struct firn_op *op, const struct firn_manifest_writer_config *config,
                            struct firn_manifest_encoder *encoder)
{
    struct firn_type *types;
    uint32_t count = config->spec->field_count;
    FIRN_TRY(firn_partition_types(op, config->spec, firn_metadata_schemas_by_age(op, config->metadata),
                                  config->metadata->schema_count, &types));
    struct firn_tuple_place place = { config->spec, types, offsetof(struct firn_manifest_row, tuple) };
    encoder->tuple = firn_tuple_write_layout(op->arena, place);
    encoder->layout =
        firn_manifest_layout(op->arena, firn_manifest_write_use(encoder->format_version), encoder->tuple, true);
    encoder->scratch = firn_arena_alloc(op->arena, sizeof *encoder->scratch + count * sizeof(struct firn_avro_scalar));
    encoder->scratch->block_bytes = BLOCK_BYTES_V1;
    encoder->decimals = firn_arena_alloc_array(op->arena, count, sizeof *encoder->decimals);
    return FIRN_OK;
}

firn_status firn_manifest_encoder_new(struct firn_op *op, const struct firn_manifest_writer_config *config,
                                      struct firn_manifest_encoder **out)
{
    struct firn_manifest_encoder *encoder = *out = FIRN_NEW(op->arena, struct firn_manifest_encoder);
    *encoder = (struct firn_manifest_encoder){ .spec = config->spec,
                                               .is_deletes = config->is_deletes,
                                               .format_version = config->metadata->format_version,
                                               .snapshot_id = config->snapshot_id };
    return plan_row(op, config, encoder);
}

firn_status firn_manifest_writer_open(struct firn_op *op, const struct firn_manifest_writer_config *config,
                                      struct firn_sink *sink, struct firn_manifest_writer **out)
{
    struct firn_manifest_writer *writer = FIRN_NEW(op->arena, struct firn_manifest_writer);
    writer->min_sequence_number = FIRN_ABSENT;
    writer->summaries = FIRN_NEW_ARRAY(op->arena, struct firn_partition_summary, config->spec->field_count);
    FIRN_TRY(firn_manifest_encoder_new(op, config, &writer->encoder));
    struct firn_avro_writer_config file = {
        .layout = writer->encoder->layout,
        .properties = writer->properties,
        .property_count = fill_properties(op, config, writer->properties),
    };
    FIRN_TRY(firn_manifest_codec(op, config->codec, config->codec_level, &file));
    *out = writer;
    return firn_avro_writer_open(op, &file, sink, &writer->file);
}

/* One entry ------------------------------------------------------------------------------------------------------ */

static firn_status check_entry(struct firn_op *op, const struct firn_manifest_encoder *encoder,
                               const struct firn_manifest_entry *entry)
{
    bool has_numbers = entry->sequence_number != FIRN_ABSENT && entry->file_sequence_number != FIRN_ABSENT;
    if ((entry->file.content != FIRN_CONTENT_DATA) != encoder->is_deletes)
        return firn_hint(op,
                         firn_fail(op, FIRN_CORRUPT, "content %d does not belong in a manifest of %s",
                                   (int)entry->file.content, encoder->is_deletes ? "deletes" : "data"),
                         "`firn rewrite-manifests` gives every entry a manifest of its kind");
    if (entry->file.partition.count != encoder->spec->field_count)
        return firn_fail(op, FIRN_CORRUPT, "a tuple of %u values under partition spec %d of %u fields",
                         entry->file.partition.count, encoder->spec->id, encoder->spec->field_count);
    if (encoder->format_version >= 2 && entry->status != FIRN_ENTRY_ADDED && !has_numbers)
        return firn_fail(op, FIRN_CORRUPT, "an entry of an earlier commit has no sequence number");
    return FIRN_OK;
}

static firn_status fill_row(struct firn_op *op, struct firn_manifest_encoder *encoder,
                            const struct firn_manifest_entry *entry)
{
    struct firn_manifest_entry *row = &encoder->scratch->entry;
    FIRN_TRY(check_entry(op, encoder, entry));
    *row = *entry;
    if (entry->status != FIRN_ENTRY_EXISTING)
        row->snapshot_id = encoder->snapshot_id;
    if (entry->status == FIRN_ENTRY_ADDED)
        row->file_sequence_number = FIRN_ABSENT;
    if (encoder->is_deletes)
        row->file.first_row_id = FIRN_ABSENT;
    for (uint32_t i = 0; i < entry->file.partition.count; i++)
        FIRN_TRY(firn_tuple_scalar(op, encoder->tuple->columns[i].scalar_type, &entry->file.partition.values[i],
                                   encoder->decimals[i], &encoder->scratch->tuple[i]));
    return FIRN_OK;
}

static firn_status encode_entry(struct firn_op *op, struct firn_manifest_encoder *encoder,
                                const struct firn_manifest_entry *entry, struct firn_buffer *out)
{
    FIRN_TRY(fill_row(op, encoder, entry));
    return firn_avro_layout_encode(op, encoder->layout, encoder->scratch, out);
}

firn_status firn_manifest_encode(struct firn_op *op, struct firn_manifest_encoder *encoder,
                                 const struct firn_manifest_entry *entry, struct firn_buffer *out)
{
    return firn_context(op, encode_entry(op, encoder, entry, out), "manifest entry of \"%.*s\"",
                        FIRN_FMT(entry->file.path));
}

/* What the list's row will say. */
static firn_status count_entry(struct firn_op *op, struct firn_manifest_writer *writer,
                               const struct firn_encoded_entry *entry)
{
    bool is_live = entry->status != FIRN_ENTRY_DELETED;
    int64_t number = entry->sequence_number;
    writer->file_counts[entry->status]++;
    if (__builtin_add_overflow(writer->row_counts[entry->status], entry->record_count,
                               &writer->row_counts[entry->status]))
        return firn_fail(op, FIRN_CORRUPT, "the manifest's rows run past 64 bits");
    if (is_live && number != FIRN_ABSENT)
        writer->min_sequence_number =
            writer->min_sequence_number == FIRN_ABSENT ? number : FIRN_MIN(writer->min_sequence_number, number);
    for (uint32_t i = 0; i < entry->partition->count; i++)
        FIRN_TRY(firn_partition_summary_add(op, &writer->summaries[i], &entry->partition->values[i]));
    return FIRN_OK;
}

static firn_status add_entry(struct firn_op *op, struct firn_manifest_writer *writer,
                             const struct firn_manifest_entry *entry)
{
    struct firn_encoded_entry counted = {
        .status = entry->status,
        .sequence_number = entry->sequence_number,
        .record_count = entry->file.record_count,
        .partition = &entry->file.partition,
    };
    FIRN_TRY(fill_row(op, writer->encoder, entry));
    FIRN_TRY(firn_avro_writer_add(op, writer->file, writer->encoder->scratch));
    return count_entry(op, writer, &counted);
}

firn_status firn_manifest_writer_add(struct firn_op *op, struct firn_manifest_writer *writer,
                                     const struct firn_manifest_entry *entry)
{
    return firn_context(op, add_entry(op, writer, entry), "manifest entry of \"%.*s\"", FIRN_FMT(entry->file.path));
}

firn_status firn_manifest_writer_add_encoded(struct firn_op *op, struct firn_manifest_writer *writer,
                                             const struct firn_encoded_entry *entry)
{
    FIRN_TRY(firn_avro_writer_add_encoded(op, writer->file, entry->bytes));
    return count_entry(op, writer, entry);
}

uint64_t firn_manifest_writer_bytes(const struct firn_manifest_writer *writer)
{
    return firn_avro_writer_bytes(writer->file);
}

firn_status firn_manifest_writer_finish(struct firn_op *op, struct firn_manifest_writer *writer,
                                        struct firn_manifest_file *row)
{
    const struct firn_manifest_encoder *encoder = writer->encoder;
    uint32_t field_count = encoder->spec->field_count;
    FIRN_TRY(firn_avro_writer_finish(op, writer->file));
    *row = (struct firn_manifest_file){
        .length = (int64_t)firn_avro_writer_bytes(writer->file),
        .spec_id = encoder->spec->id,
        .is_deletes = encoder->is_deletes,
        .sequence_number = FIRN_ABSENT,
        .min_sequence_number = writer->min_sequence_number,
        .added_snapshot_id = encoder->snapshot_id,
        .added_files_count = writer->file_counts[FIRN_ENTRY_ADDED],
        .existing_files_count = writer->file_counts[FIRN_ENTRY_EXISTING],
        .deleted_files_count = writer->file_counts[FIRN_ENTRY_DELETED],
        .added_rows_count = writer->row_counts[FIRN_ENTRY_ADDED],
        .existing_rows_count = writer->row_counts[FIRN_ENTRY_EXISTING],
        .deleted_rows_count = writer->row_counts[FIRN_ENTRY_DELETED],
        .has_summaries = true,
        .summaries = FIRN_NEW_ARRAY(op->arena, struct firn_field_summary, field_count),
        .summary_count = field_count,
        .first_row_id = FIRN_ABSENT,
    };
    for (uint32_t i = 0; i < field_count; i++)
        row->summaries[i] = firn_partition_summary_finish(op->arena, &writer->summaries[i]);
    return FIRN_OK;
}

void firn_manifest_writer_close(struct firn_manifest_writer *writer)
{
    if (!writer)
        return;
    for (uint32_t i = 0; i < writer->encoder->spec->field_count; i++)
        firn_partition_summary_done(&writer->summaries[i]);
    firn_avro_writer_close(writer->file);
}
