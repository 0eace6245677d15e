/* How long a large manifest takes: 100,000 entries with metrics of 10 columns, written in each codec and read with and
 * without metrics. Run: meson test --benchmark -C BUILD --verbose */
#include "base/math.h"
#include "table/manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ENTRY_COUNT = 100000, COLUMN_COUNT = 10, SPEC_ID = 0 };

static const char metadata_text[] =
    "{\"format-version\":2,\"table-uuid\":\"9c12d441-03fe-4693-9a96-a0705ddf69c1\",\"location\":\"s3://b/t\","
    "\"last-sequence-number\":9,\"last-updated-ms\":1,\"last-column-id\":1,\"current-schema-id\":0,\"schemas\":["
    "{\"type\":\"struct\",\"schema-id\":0,\"fields\":[{\"id\":1,\"name\":\"day\",\"required\":false,\"type\":\"date\"}]"
    "}"
    "],\"default-spec-id\":0,\"partition-specs\":[{\"spec-id\":0,\"fields\":[{\"source-id\":1,\"field-id\":1000,"
    "\"name\":\"day\",\"transform\":\"identity\"}]}],\"last-partition-id\":1000,\"default-sort-order-id\":0,"
    "\"sort-orders\":[{\"order-id\":0,\"fields\":[]}],\"properties\":{},\"snapshots\":[]}";

static void must(struct firn_op *op, firn_status status)
{
    if (status == FIRN_OK)
        return;
    fprintf(stderr, "bench_manifest: %s\n", op->error.text);
    exit(1);
}

/* What one entry refers to; the bench writes the same storage anew for each. */
struct sample {
    int32_t ids[COLUMN_COUNT];
    int64_t sizes[COLUMN_COUNT], values[COLUMN_COUNT], nulls[COLUMN_COUNT];
    uint64_t bounds[2][COLUMN_COUNT];
    struct firn_bytes lower[COLUMN_COUNT], upper[COLUMN_COUNT];
    struct firn_value day;
    int64_t split;
    char path[160];
};

static struct firn_manifest_entry fill_entry(struct sample *sample, uint32_t i)
{
    int len =
        snprintf(sample->path, sizeof sample->path,
                 "s3://bucket/warehouse/db/events/data/day=2024-01-%02u/%05u-%u-0c2f6f5e-8f0b-4c1f-9d53-%012x-0001"
                 ".parquet",
                 1 + i % 28, i, i * 7, i * 2654435761U);
    for (uint32_t k = 0; k < COLUMN_COUNT; k++) {
        sample->ids[k] = (int32_t)k + 1;
        sample->sizes[k] = 100000 + (int64_t)((i * 31 + k) % 50000);
        sample->values[k] = 1000000;
        sample->nulls[k] = i % 100;
        sample->bounds[0][k] = i * UINT64_C(11400714819323198485) >> 20;
        sample->bounds[1][k] = sample->bounds[0][k] + i * 1000;
        sample->lower[k] = (struct firn_bytes){ (const uint8_t *)&sample->bounds[0][k], 8 };
        sample->upper[k] = (struct firn_bytes){ (const uint8_t *)&sample->bounds[1][k], 8 };
    }
    sample->day = (struct firn_value){ .type = FIRN_TYPE_DATE, .integer = 19700 + i % 28 };
    sample->split = 4;
    return (
        struct firn_manifest_entry){ .status = FIRN_ENTRY_ADDED,
                                     .sequence_number = FIRN_ABSENT,
                                     .file_sequence_number = FIRN_ABSENT,
                                     .file = { .path = { sample->path, (size_t)len },
                                               .format_text = FIRN_TEXT("PARQUET"),
                                               .partition = { &sample->day, 1 },
                                               .record_count = 1000000,
                                               .file_bytes = 12000000 + i,
                                               .column_sizes = { sample->ids, sample->sizes, COLUMN_COUNT, true },
                                               .value_counts = { sample->ids, sample->values, COLUMN_COUNT, true },
                                               .null_value_counts = { sample->ids, sample->nulls, COLUMN_COUNT, true },
                                               .nan_value_counts = { sample->ids, sample->nulls, 2, true },
                                               .lower_bounds = { sample->ids, sample->lower, COLUMN_COUNT, true },
                                               .upper_bounds = { sample->ids, sample->upper, COLUMN_COUNT, true },
                                               .split_offsets = &sample->split,
                                               .split_offset_count = 1,
                                               .sort_order_id = 0,
                                               .first_row_id = FIRN_ABSENT,
                                               .content_offset = FIRN_ABSENT,
                                               .content_bytes = FIRN_ABSENT } };
}

/* Processor time: all of it is on one thread, and other work on the machine does not count. */
static double seconds_since(clock_t start)
{
    return (double)(clock() - start) / CLOCKS_PER_SEC;
}

static double write_manifest(struct firn_op *op, const struct firn_metadata *metadata, struct firn_text codec,
                             struct firn_buffer *file, struct firn_manifest_file *row)
{
    struct firn_manifest_writer_config config = { .metadata = metadata,
                                                  .spec = firn_metadata_spec(metadata, SPEC_ID),
                                                  .snapshot_id = 1,
                                                  .codec = codec,
                                                  .codec_level = FIRN_CODEC_LEVEL_DEFAULT };
    struct firn_sink sink = firn_sink_to_buffer(file);
    struct firn_manifest_writer *writer;
    struct sample sample;
    clock_t start = clock();
    must(op, firn_manifest_writer_open(op, &config, &sink, &writer));
    for (uint32_t i = 0; i < ENTRY_COUNT; i++) {
        struct firn_manifest_entry entry = fill_entry(&sample, i);
        must(op, firn_manifest_writer_add(op, writer, &entry));
    }
    must(op, firn_manifest_writer_finish(op, writer, row));
    firn_manifest_writer_close(writer);
    row->sequence_number = 1;
    return seconds_since(start);
}

static double read_manifest(const struct firn_metadata *metadata, const struct firn_buffer *file,
                            const struct firn_manifest_file *row, bool skip_metrics)
{
    struct firn_arena arena;
    struct firn_op op;
    struct firn_manifest manifest;
    firn_arena_init(&arena);
    firn_op_init(&op, &arena, firn_env_real());
    clock_t start = clock();
    must(&op, firn_manifest_parse(&op, firn_buffer_bytes(file), row, metadata,
                                  (struct firn_manifest_read_options){ .skip_metrics = skip_metrics }, &manifest));
    double seconds = seconds_since(start);
    if (manifest.count != ENTRY_COUNT)
        must(&op, firn_fail(&op, FIRN_CORRUPT, "%u entries came back", manifest.count));
    firn_arena_done(&arena);
    return seconds;
}

int main(void)
{
    static const char *const codecs[] = { "uncompressed", "snappy", "zstd", "gzip" };
    struct firn_arena arena;
    struct firn_op op;
    struct firn_metadata *metadata;
    firn_arena_init(&arena);
    firn_op_init(&op, &arena, firn_env_real());
    must(&op, firn_metadata_parse(&op, firn_text_of(metadata_text), &metadata));
    printf("%d entries, metrics of %d columns\n", ENTRY_COUNT, COLUMN_COUNT);
    for (size_t i = 0; i < FIRN_COUNT_OF(codecs); i++) {
        struct firn_buffer file = { 0 };
        struct firn_manifest_file row;
        double written = write_manifest(&op, metadata, firn_text_of(codecs[i]), &file, &row);
        double whole = read_manifest(metadata, &file, &row, false);
        double lean = read_manifest(metadata, &file, &row, true);
        printf("%-13s %6.1f MB  write %5.2f s  read %5.3f s  without metrics %5.3f s\n", codecs[i],
               (double)file.len / 1e6, written, whole, lean);
        firn_buffer_done(&file);
    }
    firn_arena_done(&arena);
    return 0;
}
