/* Makes a table with a long history, for bench/expire.py: every snapshot appends a manifest of small files, every
 * hundredth replaces the files of those before it by one. Files are empty.
 *
 * With DAYS, for bench/manifests.py: no snapshot replaces anything, files are of random partitions, so many days, they
 * have metrics of seven columns, and there are none where their paths say.
 *
 * usage: make_history FOLDER SNAPSHOTS FILES_PER_SNAPSHOT [DAYS]; writes FOLDER/metadata/v1.metadata.json */
#include "base/buffer.h"
#include "base/math.h"
#include "base/time.h"
#include "store/store.h"
#include "table/manifest.h"

#include <stdio.h>
#include <stdlib.h>

enum { COLUMNS = 7, COMPACT_EVERY = 100, MANIFESTS_MAX = 1 << 16, NAME_MAX_LEN = 256 };

#define FIRST_MS INT64_C(1767225600000) /* 2026-01-01; a snapshot a minute */

struct maker {
    struct firn_op op;
    struct firn_store *store;
    const char *folder;
    uint32_t files_per_snapshot;
    uint32_t days; /* 0: without partitions and metrics */
    uint32_t random;
    struct firn_metadata *metadata;
    struct firn_buffer json;
    struct firn_manifest_file manifests[MANIFESTS_MAX]; /* of the newest snapshot, oldest first */
    uint32_t manifest_count, settled_count;             /* settled: written by compactions */
};

static void must(struct firn_op *op, firn_status status)
{
    if (status == FIRN_OK)
        return;
    fprintf(stderr, "make_history: %s\n", op->error.text);
    exit(1);
}

static void __attribute__((format(printf, 2, 3))) print(struct maker *maker, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    must(&maker->op, firn_buffer_append(&maker->op, &maker->json, text, (size_t)len));
}

static struct firn_text path_of(struct maker *maker, struct firn_arena *arena, const char *kind, uint32_t snapshot,
                                uint32_t number, const char *ending)
{
    return firn_text_format(arena, "file://%s/%s-%06u-%06u-3f2a77b0-3c1e-4b9e-9c8c-0a1b2c3d4e5f%s", maker->folder, kind,
                            snapshot, number, ending);
}

/* Always the same numbers (Numerical Recipes' generator). */
static uint32_t draw(struct maker *maker, uint32_t below)
{
    maker->random = maker->random * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)maker->random * below >> 32);
}

/* A long for id, account_id and created_at, a double, two strings, and the day. */
static struct firn_bytes bound_of(struct maker *maker, int column)
{
    struct firn_value number = { .type = FIRN_TYPE_LONG, .integer = draw(maker, UINT32_MAX) };
    struct firn_value real = { .type = FIRN_TYPE_DOUBLE, .real = draw(maker, 1000000) / 100.0 };
    if (column == 6 || column == 5)
        return firn_bytes_of_text(
            firn_text_format(maker->op.arena, "%08x-%04x-4b9e", draw(maker, UINT32_MAX), draw(maker, UINT16_MAX)));
    return firn_value_bytes(maker->op.arena, column == 3 ? &real : &number);
}

static void add_metrics(struct maker *maker, struct firn_data_file *file)
{
    struct firn_arena *arena = maker->op.arena;
    struct firn_count_map *counts[] = { &file->column_sizes, &file->value_counts, &file->null_value_counts };
    struct firn_bound_map *bounds[] = { &file->lower_bounds, &file->upper_bounds };
    int32_t *ids = FIRN_NEW_ARRAY(arena, int32_t, COLUMNS);
    for (int i = 0; i < COLUMNS; i++)
        ids[i] = i + 1;
    for (size_t k = 0; k < FIRN_COUNT_OF(counts); k++) {
        *counts[k] = (struct firn_count_map){ ids, FIRN_NEW_ARRAY(arena, int64_t, COLUMNS), COLUMNS, true };
        for (int i = 0; i < COLUMNS; i++)
            counts[k]->counts[i] = k == 0 ? draw(maker, 100000) : k == 1 ? 1000 : 0;
    }
    for (size_t k = 0; k < FIRN_COUNT_OF(bounds); k++) {
        *bounds[k] =
            (struct firn_bound_map){ ids, FIRN_NEW_ARRAY(arena, struct firn_bytes, COLUMNS), COLUMNS - 1, true };
        for (int i = 0; i < COLUMNS - 1; i++)
            bounds[k]->values[i] = bound_of(maker, i + 1);
    }
}

static void add_partition(struct maker *maker, struct firn_data_file *file)
{
    struct firn_value *day = FIRN_NEW(maker->op.arena, struct firn_value);
    *day = (struct firn_value){ .type = FIRN_TYPE_INT, .integer = draw(maker, maker->days) };
    file->partition = (struct firn_partition){ day, 1 };
    add_metrics(maker, file);
}

static struct firn_manifest_entry entry_of(struct maker *maker, enum firn_entry_status status, uint32_t snapshot,
                                           uint32_t number)
{
    return (struct firn_manifest_entry){
        .status = status,
        .snapshot_id = snapshot,
        .sequence_number = status == FIRN_ENTRY_ADDED ? FIRN_ABSENT : snapshot,
        .file_sequence_number = status == FIRN_ENTRY_ADDED ? FIRN_ABSENT : snapshot,
        .file = { .path = path_of(maker, maker->op.arena, "data/part", snapshot, number, ".parquet"),
                  .format_text = FIRN_TEXT("PARQUET"),
                  .record_count = 1000,
                  .file_bytes = 4,
                  .sort_order_id = FIRN_ABSENT,
                  .first_row_id = FIRN_ABSENT,
                  .content_offset = FIRN_ABSENT,
                  .content_bytes = FIRN_ABSENT },
    };
}

/* A manifest of files [0, added) of this snapshot and of all files of snapshots [removed_from, snapshot). */
static void write_manifest(struct maker *maker, uint32_t snapshot, uint32_t added, uint32_t removed_from)
{
    struct firn_op *op = &maker->op;
    struct firn_manifest_writer_config config = { .metadata = maker->metadata,
                                                  .spec = firn_metadata_spec(maker->metadata, 0),
                                                  .snapshot_id = snapshot,
                                                  .codec = FIRN_TEXT("gzip"),
                                                  .codec_level = FIRN_CODEC_LEVEL_DEFAULT };
    struct firn_store_writer *file;
    struct firn_manifest_writer *writer;
    struct firn_manifest_file *row = &maker->manifests[maker->manifest_count++];
    struct firn_text path = path_of(maker, op->arena, "metadata/manifest", snapshot, removed_from, ".avro");
    must(op, firn_store_write(op, maker->store, path, true, &file));
    must(op, firn_manifest_writer_open(op, &config, firn_store_writer_sink(file), &writer));
    for (uint32_t i = 0; i < added; i++) {
        struct firn_manifest_entry entry = entry_of(maker, FIRN_ENTRY_ADDED, snapshot, i);
        if (maker->days > 0)
            add_partition(maker, &entry.file);
        else
            must(op, firn_store_put(op, maker->store, entry.file.path, true, (struct firn_bytes){ 0 }));
        must(op, firn_manifest_writer_add(op, writer, &entry));
    }
    for (uint32_t old = removed_from; old < snapshot; old++)
        for (uint32_t i = 0; i < maker->files_per_snapshot; i++) {
            struct firn_manifest_entry entry = entry_of(maker, FIRN_ENTRY_DELETED, old, i);
            must(op, firn_manifest_writer_add(op, writer, &entry));
        }
    must(op, firn_manifest_writer_finish(op, writer, row));
    firn_manifest_writer_close(writer);
    must(op, firn_store_writer_finish(op, file));
    static char paths[MANIFESTS_MAX][NAME_MAX_LEN];
    snprintf(paths[maker->manifest_count - 1], NAME_MAX_LEN, "%.*s", FIRN_FMT(path));
    row->path = firn_text_of(paths[maker->manifest_count - 1]);
    row->sequence_number = snapshot;
    row->min_sequence_number = snapshot;
    row->has_summaries = false; /* they are in memory that goes with the snapshot */
    row->summary_count = 0;
}

static bool compacts(const struct maker *maker, uint32_t snapshot)
{
    return maker->days == 0 && snapshot % COMPACT_EVERY == 0;
}

static void write_list(struct maker *maker, uint32_t snapshot)
{
    struct firn_op *op = &maker->op;
    struct firn_manifest_list_header header = { .format_version = 2,
                                                .snapshot_id = snapshot,
                                                .parent_snapshot_id = snapshot > 1 ? snapshot - 1 : FIRN_NO_SNAPSHOT,
                                                .sequence_number = snapshot,
                                                .codec = FIRN_TEXT("gzip") };
    struct firn_store_writer *file;
    struct firn_text path = path_of(maker, op->arena, "metadata/snap", snapshot, 1, ".avro");
    must(op, firn_store_write(op, maker->store, path, true, &file));
    must(op, firn_manifest_list_write(op, &header, maker->manifests, maker->manifest_count,
                                      firn_store_writer_sink(file), NULL));
    must(op, firn_store_writer_finish(op, file));
    print(maker, "%s{\"snapshot-id\":%u,", snapshot > 1 ? "," : "", snapshot);
    if (snapshot > 1)
        print(maker, "\"parent-snapshot-id\":%u,", snapshot - 1);
    print(maker,
          "\"sequence-number\":%u,\"timestamp-ms\":%" PRId64 ",\"schema-id\":0,\"summary\":{\"operation\":\"%s\"},"
          "\"manifest-list\":\"%.*s\"}",
          snapshot, FIRST_MS + snapshot * INT64_C(60000), compacts(maker, snapshot) ? "replace" : "append",
          FIRN_FMT(path));
}

static void make_snapshot(struct maker *maker, uint32_t snapshot)
{
    if (!compacts(maker, snapshot)) {
        write_manifest(maker, snapshot, maker->files_per_snapshot, snapshot);
    } else {
        maker->manifest_count = maker->settled_count;
        write_manifest(maker, snapshot, 1, snapshot - COMPACT_EVERY + 1);
        maker->settled_count = maker->manifest_count;
    }
    write_list(maker, snapshot);
}

static const char plain_schema[] = "{\"id\":1,\"name\":\"id\",\"required\":false,\"type\":\"long\"}";
static const char wide_schema[] = "{\"id\":1,\"name\":\"id\",\"required\":false,\"type\":\"long\"},"
                                  "{\"id\":2,\"name\":\"account_id\",\"required\":false,\"type\":\"long\"},"
                                  "{\"id\":3,\"name\":\"amount\",\"required\":false,\"type\":\"double\"},"
                                  "{\"id\":4,\"name\":\"created_at\",\"required\":false,\"type\":\"timestamptz\"},"
                                  "{\"id\":5,\"name\":\"merchant\",\"required\":false,\"type\":\"string\"},"
                                  "{\"id\":6,\"name\":\"txn\",\"required\":false,\"type\":\"string\"},"
                                  "{\"id\":7,\"name\":\"day\",\"required\":false,\"type\":\"int\"}";
static const char day_field[] = "{\"source-id\":7,\"field-id\":1000,\"name\":\"day\",\"transform\":\"identity\"}";

static void begin_metadata(struct maker *maker, uint32_t snapshots)
{
    print(maker,
          "{\"format-version\":2,\"table-uuid\":\"9c12d441-03fe-4693-9a96-a0705ddf69c1\",\"location\":\"file://%s\","
          "\"last-sequence-number\":%u,\"last-updated-ms\":%" PRId64 ",\"last-column-id\":%d,\"current-schema-id\":0,"
          "\"schemas\":[{\"type\":\"struct\",\"schema-id\":0,\"fields\":[%s]}],\"default-spec-id\":0,"
          "\"partition-specs\":[{\"spec-id\":0,\"fields\":[%s]}],\"last-partition-id\":1000,\"default-sort-order-id\":"
          "0,\"sort-orders\":[{\"order-id\":0,\"fields\":[]}],"
          "\"properties\":{},\"snapshots\":[",
          maker->folder, snapshots, FIRST_MS + snapshots * INT64_C(60000), COLUMNS,
          maker->days ? wide_schema : plain_schema, maker->days ? day_field : "");
}

static void end_metadata(struct maker *maker, uint32_t snapshots)
{
    print(maker,
          "],\"current-snapshot-id\":%u,\"refs\":{\"main\":{\"snapshot-id\":%u,\"type\":\"branch\"}},"
          "\"metadata-log\":[],\"statistics\":[],\"partition-statistics\":[],\"snapshot-log\":[",
          snapshots, snapshots);
    for (uint32_t snapshot = 1; snapshot <= snapshots; snapshot++)
        print(maker, "%s{\"timestamp-ms\":%" PRId64 ",\"snapshot-id\":%u}", snapshot > 1 ? "," : "",
              FIRST_MS + snapshot * INT64_C(60000), snapshot);
    print(maker, "]}");
}

int main(int argc, char **argv)
{
    static struct maker maker;
    struct firn_arena outer, turn;
    firn_arena_init(&outer);
    firn_op_init(&maker.op, &outer, firn_env_real());
    if (argc != 4 && argc != 5) {
        fputs("usage: make_history FOLDER SNAPSHOTS FILES_PER_SNAPSHOT [DAYS]\n", stderr);
        return 2;
    }
    uint32_t snapshots = (uint32_t)atoi(argv[2]);
    maker.folder = argv[1];
    maker.files_per_snapshot = (uint32_t)atoi(argv[3]);
    maker.days = argc == 5 ? (uint32_t)atoi(argv[4]) : 0;
    must(&maker.op, firn_store_open(&maker.op, &(struct firn_store_config){ .relaxed = true }, &maker.store));
    begin_metadata(&maker, snapshots);
    struct firn_text head = firn_text_format(&outer, "%.*s]}", (int)maker.json.len, (const char *)maker.json.data);
    must(&maker.op, firn_metadata_parse(&maker.op, head, &maker.metadata));
    for (uint32_t snapshot = 1; snapshot <= snapshots; snapshot++) {
        firn_arena_init(&turn);
        maker.op.arena = &turn;
        make_snapshot(&maker, snapshot);
        maker.op.arena = &outer;
        firn_arena_done(&turn);
    }
    end_metadata(&maker, snapshots);
    struct firn_text path = firn_text_format(&outer, "%s/metadata/v1.metadata.json", maker.folder);
    must(&maker.op, firn_store_put(&maker.op, maker.store, path, true, firn_buffer_bytes(&maker.json)));
    firn_store_close(maker.store);
    firn_buffer_done(&maker.json);
    firn_arena_done(&outer);
    return 0;
}
