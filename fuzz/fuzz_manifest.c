/* Any bytes as a manifest and as a manifest list; what parses is written again. The first byte chooses the row that the
 * manifest is read under. */
#include "fuzz.h"

#include "table/manifest.h"

static const char metadata_text[] =
    "{\"format-version\":3,\"table-uuid\":\"9c12d441-03fe-4693-9a96-a0705ddf69c1\",\"location\":\"s3://b/t\","
    "\"last-sequence-number\":9,\"last-updated-ms\":1,\"last-column-id\":9,\"current-schema-id\":0,\"schemas\":["
    "{\"type\":\"struct\",\"schema-id\":0,\"fields\":["
    "{\"id\":1,\"name\":\"l\",\"required\":false,\"type\":\"long\"},"
    "{\"id\":2,\"name\":\"s\",\"required\":false,\"type\":\"string\"},"
    "{\"id\":3,\"name\":\"n\",\"required\":false,\"type\":\"decimal(9, 2)\"},"
    "{\"id\":4,\"name\":\"u\",\"required\":false,\"type\":\"uuid\"},"
    "{\"id\":5,\"name\":\"ts\",\"required\":false,\"type\":\"timestamp\"},"
    "{\"id\":6,\"name\":\"f\",\"required\":false,\"type\":\"double\"}]}],"
    "\"default-spec-id\":0,\"partition-specs\":[{\"spec-id\":0,\"fields\":[]},{\"spec-id\":1,\"fields\":["
    "{\"source-id\":1,\"field-id\":1000,\"name\":\"l\",\"transform\":\"identity\"},"
    "{\"source-id\":2,\"field-id\":1001,\"name\":\"s\",\"transform\":\"truncate[3]\"},"
    "{\"source-id\":3,\"field-id\":1002,\"name\":\"n\",\"transform\":\"identity\"},"
    "{\"source-id\":4,\"field-id\":1003,\"name\":\"u\",\"transform\":\"identity\"},"
    "{\"source-id\":5,\"field-id\":1004,\"name\":\"d\",\"transform\":\"day\"},"
    "{\"source-id\":6,\"field-id\":1005,\"name\":\"f\",\"transform\":\"identity\"}]}],\"last-partition-id\":1005,"
    "\"default-sort-order-id\":0,\"sort-orders\":[{\"order-id\":0,\"fields\":[]}],\"next-row-id\":0,"
    "\"properties\":{},\"snapshots\":[]}";

static firn_status rewrite(struct firn_op *op, const struct firn_metadata *metadata,
                           const struct firn_manifest *manifest, bool is_deletes, struct firn_buffer *file)
{
    struct firn_manifest_writer_config config = { .metadata = metadata,
                                                  .spec = firn_metadata_spec(metadata, manifest->spec_id),
                                                  .is_deletes = is_deletes,
                                                  .snapshot_id = 1,
                                                  .codec = FIRN_TEXT("uncompressed") };
    struct firn_sink sink = firn_sink_to_buffer(file);
    struct firn_manifest_writer *writer;
    struct firn_manifest_file row;
    firn_status status = FIRN_OK;
    FIRN_TRY(firn_manifest_writer_open(op, &config, &sink, &writer));
    for (uint32_t i = 0; i < manifest->count && status == FIRN_OK; i++)
        status = firn_manifest_writer_add(op, writer, &manifest->entries[i]);
    if (status == FIRN_OK)
        status = firn_manifest_writer_finish(op, writer, &row);
    firn_manifest_writer_close(writer);
    return status;
}

static firn_status read_manifest(struct firn_op *op, struct firn_bytes bytes, uint8_t choice, struct firn_buffer *file)
{
    struct firn_metadata *metadata;
    struct firn_manifest manifest;
    struct firn_manifest_file row = { .spec_id = choice & 1,
                                      .is_deletes = choice & 2,
                                      .sequence_number = choice & 4 ? 7 : 0,
                                      .first_row_id = choice & 8 ? 100 : FIRN_ABSENT };
    struct firn_manifest_read_options options = { .skip_metrics = choice & 16, .skip_deleted = choice & 32 };
    FIRN_TRY(firn_metadata_parse(op, firn_text_of(metadata_text), &metadata));
    FIRN_TRY(firn_manifest_parse(op, bytes, choice & 64 ? NULL : &row, metadata, options, &manifest));
    return rewrite(op, metadata, &manifest, row.is_deletes, file);
}

static firn_status read_list(struct firn_op *op, struct firn_bytes bytes, struct firn_buffer *file)
{
    struct firn_manifest_list list;
    struct firn_manifest_list_header header = { .format_version = 3, .codec = FIRN_TEXT("uncompressed") };
    struct firn_sink sink = firn_sink_to_buffer(file);
    FIRN_TRY(firn_manifest_list_parse(op, bytes, &list));
    return firn_manifest_list_write(op, &header, list.manifests, list.count, &sink, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_op fuzz;
    struct firn_buffer file = { 0 };
    if (size < 1)
        return 0;
    struct firn_op *op = fuzz_begin(&fuzz);
    struct firn_bytes bytes = { data + 1, size - 1 };
    FIRN_IGNORE(data[0] & 128 ? read_list(op, bytes, &file) : read_manifest(op, bytes, data[0], &file),
                "most inputs are broken");
    firn_buffer_done(&file);
    return fuzz_end(&fuzz);
}
