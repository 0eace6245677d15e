/* Writes manifests, manifest lists and a Puffin file for test_manifest_interop.py, which knows what must be in them.
 * Usage: manifest_samples FOLDER */
#include "base/math.h"
#include "format/puffin/deletion_vector.h"
#include "table/manifest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIELD_COUNT = 14, ENTRY_COUNT = 5, PATH_CHARS_MAX = 4096 };

static const char metadata_format[] =
    "{\"format-version\":%d,\"table-uuid\":\"9c12d441-03fe-4693-9a96-a0705ddf69c1\",\"location\":\"s3://b/t\","
    "\"last-sequence-number\":9,\"last-updated-ms\":1,\"last-column-id\":14,\"current-schema-id\":1,\"schemas\":[%s],"
    "\"schema\":%s,\"default-spec-id\":3,\"partition-specs\":[{\"spec-id\":3,\"fields\":[%s]}],\"partition-spec\":[],"
    "\"last-partition-id\":1050,\"default-sort-order-id\":0,\"sort-orders\":[{\"order-id\":0,\"fields\":[]}],"
    "\"next-row-id\":0,\"properties\":{},\"snapshots\":[]}";

/* Columns 1 to 14, each with the transform it is partitioned by. */
static const struct {
    const char *name, *type, *transform;
    struct firn_value value;
} columns[FIELD_COUNT] = {
    { "i", "int", "identity", { .type = FIRN_TYPE_INT, .integer = -7 } },
    { "l", "long", "identity", { .type = FIRN_TYPE_LONG, .integer = 7000000000 } },
    { "f", "float", "identity", { .type = FIRN_TYPE_FLOAT, .real = 1.5 } },
    { "d", "double", "identity", { .type = FIRN_TYPE_DOUBLE, .real = -2.25 } },
    { "s.trunc-3", "string", "identity", { .type = FIRN_TYPE_STRING, .bytes = { (const uint8_t *)"ice", 3 } } },
    { "b", "binary", "identity", { .type = FIRN_TYPE_BINARY, .bytes = { (const uint8_t *)"\0\xff", 2 } } },
    { "u",
      "uuid",
      "identity",
      { .type = FIRN_TYPE_UUID,
        .bytes = { (const uint8_t *)"\xf7\x9c\x3e\x09\x67\x7c\x4b\xbd\xa4\x79\x3f\x34\x9c\xb7\x85\xe7", 16 } } },
    { "x", "fixed[4]", "identity", { .type = FIRN_TYPE_FIXED, .bytes = { (const uint8_t *)"abcd", 4 } } },
    { "n", "decimal(9, 2)", "identity", { .type = FIRN_TYPE_DECIMAL, .decimal = -1420 } },
    { "dt", "date", "identity", { .type = FIRN_TYPE_DATE, .integer = 17486 } },
    { "tm", "time", "identity", { .type = FIRN_TYPE_TIME, .integer = 81068000000 } },
    { "ts", "timestamp", "day", { .type = FIRN_TYPE_DATE, .integer = 17486 } },
    { "tz", "timestamptz", "identity", { .type = FIRN_TYPE_TIMESTAMPTZ, .integer = 1510871468000000 } },
    { "o", "boolean", "identity", { .type = FIRN_TYPE_BOOLEAN, .integer = 1 } },
};

static void must(struct firn_op *op, firn_status status)
{
    if (status == FIRN_OK)
        return;
    fprintf(stderr, "manifest_samples: %s\n", op->error.text);
    exit(1);
}

static void save(const char *folder, const char *name, int version, struct firn_buffer *content)
{
    char path[PATH_CHARS_MAX];
    snprintf(path, sizeof path, "%s/v%d-%s", folder, version, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(content->data, 1, content->len, file) != content->len || fclose(file) != 0) {
        fprintf(stderr, "manifest_samples: %s cannot be written\n", path);
        exit(1);
    }
    firn_buffer_done(content);
}

static struct firn_metadata *make_table(struct firn_op *op, int version)
{
    struct firn_metadata *metadata;
    struct firn_text fields = { 0 }, spec = { 0 };
    for (int i = 0; i < FIELD_COUNT; i++) {
        const char *comma = i ? "," : "";
        fields = firn_text_format(op->arena, "%.*s%s{\"id\":%d,\"name\":\"%s\",\"required\":false,\"type\":\"%s\"}",
                                  FIRN_FMT(fields), comma, i + 1, columns[i].name, columns[i].type);
        spec =
            firn_text_format(op->arena, "%.*s%s{\"source-id\":%d,\"field-id\":%d,\"name\":\"%s\",\"transform\":\"%s\"}",
                             FIRN_FMT(spec), comma, i + 1, 1000 + i, columns[i].name, columns[i].transform);
    }
    struct firn_text schema =
        firn_text_format(op->arena, "{\"type\":\"struct\",\"schema-id\":1,\"fields\":[%.*s]}", FIRN_FMT(fields));
    must(op, firn_metadata_parse(
                 op, firn_text_format(op->arena, metadata_format, version, schema.data, schema.data, spec.data),
                 &metadata));
    return metadata;
}

/* Entry 0 has every value, entry 1 none, entry 2 NaN for the floats; 3 was there before, 4 is removed. */
static struct firn_manifest_entry make_entry(struct firn_op *op, int i)
{
    static int32_t ids[] = { 1, 2 };
    static int64_t counts[] = { 100, 200 };
    static struct firn_bytes bounds[] = { { (const uint8_t *)"\1\0\0\0", 4 },
                                          { (const uint8_t *)"\2\0\0\0\0\0\0\0", 8 } };
    static int64_t splits[] = { 4, 500 };
    static const enum firn_entry_status statuses[ENTRY_COUNT] = { FIRN_ENTRY_ADDED, FIRN_ENTRY_ADDED, FIRN_ENTRY_ADDED,
                                                                  FIRN_ENTRY_EXISTING, FIRN_ENTRY_DELETED };
    struct firn_value *values = FIRN_NEW_ARRAY(op->arena, struct firn_value, FIELD_COUNT);
    for (int k = 0; k < FIELD_COUNT; k++) {
        values[k] = columns[k].value;
        values[k].is_null = i == 1;
        if (i == 2 && (values[k].type == FIRN_TYPE_FLOAT || values[k].type == FIRN_TYPE_DOUBLE))
            values[k].real = (double)NAN;
    }
    bool fresh = statuses[i] == FIRN_ENTRY_ADDED;
    return (struct firn_manifest_entry){ .status = statuses[i],
                                         .snapshot_id = 400,
                                         .sequence_number = fresh ? FIRN_ABSENT : 2,
                                         .file_sequence_number = fresh ? FIRN_ABSENT : 3,
                                         .file = { .path = firn_text_format(op->arena, "s3://b/t/data/%d.parquet", i),
                                                   .format_text = FIRN_TEXT("PARQUET"),
                                                   .partition = { values, FIELD_COUNT },
                                                   .record_count = 10 + i,
                                                   .file_bytes = 1000,
                                                   .column_sizes = { ids, counts, 2, true },
                                                   .value_counts = { ids, counts, 2, true },
                                                   .null_value_counts = { ids, counts, 2, true },
                                                   .nan_value_counts = { NULL, NULL, 0, true },
                                                   .lower_bounds = { ids, bounds, 2, true },
                                                   .upper_bounds = { ids, bounds, 2, i != 1 },
                                                   .split_offsets = i == 1 ? NULL : splits,
                                                   .split_offset_count = i == 1 ? 0 : 2,
                                                   .sort_order_id = 0,
                                                   .first_row_id = i == 3 ? 77 : FIRN_ABSENT,
                                                   .content_offset = FIRN_ABSENT,
                                                   .content_bytes = FIRN_ABSENT } };
}

/* Entry 0 an equality delete, entry 1 a deletion vector. */
static struct firn_manifest_entry make_delete(struct firn_op *op, int i, const struct firn_puffin_blob *blob)
{
    static int32_t equality_ids[] = { 1, 5 };
    struct firn_manifest_entry entry = make_entry(op, i);
    entry.file.sort_order_id = FIRN_ABSENT;
    entry.file.content = i == 0 ? FIRN_CONTENT_EQUALITY_DELETES : FIRN_CONTENT_POSITION_DELETES;
    if (i == 0) {
        entry.file.equality_ids = equality_ids;
        entry.file.equality_id_count = 2;
        return entry;
    }
    entry.file.format_text = FIRN_TEXT("PUFFIN");
    entry.file.referenced_data_file = FIRN_TEXT("s3://b/t/data/0.parquet");
    entry.file.content_offset = blob->offset;
    entry.file.content_bytes = blob->length;
    return entry;
}

/* Every codec once; zstd where PyIceberg alone reads, since fastavro needs another package for it. */
static struct firn_text codec_of(int version, bool is_deletes)
{
    if (!is_deletes)
        return FIRN_TEXT("gzip");
    return version == 2 ? FIRN_TEXT("zstd") : FIRN_TEXT("uncompressed");
}

static void write_manifest(struct firn_op *op, const char *folder, struct firn_metadata *metadata,
                           const struct firn_manifest_entry *entries, int count, struct firn_manifest_file *row)
{
    bool is_deletes = entries[0].file.content != FIRN_CONTENT_DATA;
    const char *name = is_deletes ? "deletes.avro" : "data.avro";
    struct firn_manifest_writer_config config = { .metadata = metadata,
                                                  .spec = firn_metadata_spec(metadata, 3),
                                                  .is_deletes = is_deletes,
                                                  .snapshot_id = 500,
                                                  .codec = codec_of(metadata->format_version, is_deletes),
                                                  .codec_level = FIRN_CODEC_LEVEL_DEFAULT };
    struct firn_buffer file = { 0 };
    struct firn_sink sink = firn_sink_to_buffer(&file);
    struct firn_manifest_writer *writer;
    must(op, firn_manifest_writer_open(op, &config, &sink, &writer));
    for (int i = 0; i < count; i++)
        must(op, firn_manifest_writer_add(op, writer, &entries[i]));
    must(op, firn_manifest_writer_finish(op, writer, row));
    firn_manifest_writer_close(writer);
    row->path = firn_text_format(op->arena, "%s/v%d-%s", folder, metadata->format_version, name);
    save(folder, name, metadata->format_version, &file);
}

static void write_list(struct firn_op *op, const char *folder, int version, const struct firn_manifest_file *rows,
                       uint32_t count)
{
    struct firn_manifest_list_header header = { .format_version = version,
                                                .snapshot_id = 500,
                                                .parent_snapshot_id = FIRN_NO_SNAPSHOT,
                                                .sequence_number = version == 1 ? 0 : 9,
                                                .first_row_id = 1000 };
    struct firn_buffer file = { 0 };
    struct firn_sink sink = firn_sink_to_buffer(&file);
    must(op, firn_manifest_list_write(op, &header, rows, count, &sink, NULL));
    save(folder, "list.avro", version, &file);
}

static void write_vector(struct firn_op *op, const char *folder, int version, struct firn_puffin_blob *blob)
{
    struct firn_buffer file = { 0 };
    struct firn_sink sink = firn_sink_to_buffer(&file);
    struct firn_puffin_writer *writer;
    struct firn_positions *positions;
    struct firn_puffin_property by = { FIRN_TEXT("created-by"), FIRN_TEXT("firn") };
    must(op, firn_positions_new(op, &positions));
    for (int64_t i = 0; i < 5; i++)
        must(op, firn_positions_add(op, positions, 2 * i + 1));
    must(op, firn_positions_add(op, positions, (INT64_C(3) << 32) + 5)); /* leaves a gap of high halves */
    must(op, firn_puffin_writer_open(op, &sink, &writer));
    must(op, firn_deletion_vector_write(op, writer, positions, FIRN_TEXT("s3://b/t/data/0.parquet"), blob));
    must(op, firn_puffin_writer_finish(op, writer, &by, 1, false));
    save(folder, "vector.puffin", version, &file);
}

static void write_version(struct firn_op *op, const char *folder, int version)
{
    struct firn_metadata *metadata = make_table(op, version);
    struct firn_manifest_entry entries[ENTRY_COUNT];
    struct firn_manifest_file rows[2];
    struct firn_puffin_blob blob;
    for (int i = 0; i < ENTRY_COUNT; i++)
        entries[i] = make_entry(op, i);
    write_manifest(op, folder, metadata, entries, ENTRY_COUNT, &rows[0]);
    if (version > 1) {
        write_vector(op, folder, version, &blob);
        struct firn_manifest_entry deletes[] = { make_delete(op, 0, &blob), make_delete(op, 1, &blob) };
        write_manifest(op, folder, metadata, deletes, 2, &rows[1]);
    }
    write_list(op, folder, version, rows, version > 1 ? 2 : 1);
}

int main(int argc, char **argv)
{
    struct firn_arena arena;
    struct firn_op op;
    if (argc != 2) {
        fprintf(stderr, "usage: manifest_samples FOLDER\n");
        return 2;
    }
    firn_arena_init(&arena);
    firn_op_init(&op, &arena, firn_env_real());
    for (int version = 1; version <= 3; version++)
        write_version(&op, argv[1], version);
    firn_arena_done(&arena);
    return 0;
}
