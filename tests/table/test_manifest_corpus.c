/* Every manifest list and manifest of the corpus: read, counted, written anew and read again. */
#include "check.h"
#include "support/corpus.h"
#include "support/manifest_check.h"

#include "base/math.h"

struct counts {
    int64_t data_files, position_files, equality_files, vectors, records;
};

struct table {
    struct firn_op *op;
    struct firn_text name;
    struct firn_text folder; /* of the metadata file, in the copy */
    const struct firn_metadata *metadata;
    uint32_t manifests_read;
};

/* A metadata file by its recorded location: all of a table's lie in one folder of the copy. */
static struct firn_bytes read_recorded(const struct table *table, struct firn_text location)
{
    struct firn_text name = firn_text_from(location, (size_t)(firn_text_find_last(location, '/') + 1));
    return corpus_file(table->op, "%.*s/%.*s", FIRN_FMT(table->folder), FIRN_FMT(name));
}

static void count_entry(const struct firn_manifest_entry *entry, struct counts *counts)
{
    const struct firn_data_file *file = &entry->file;
    if (entry->status == FIRN_ENTRY_DELETED)
        return;
    if (file->content == FIRN_CONTENT_DATA) {
        counts->data_files++;
        counts->records += file->record_count;
    } else if (file->content == FIRN_CONTENT_EQUALITY_DELETES) {
        counts->equality_files++;
    } else if (firn_data_file_is_deletion_vector(file)) {
        counts->vectors++;
    } else {
        counts->position_files++;
    }
}

/* Writes the manifest's entries as they were read, reads them again, compares all. */
static void rewrite(struct table *table, const struct firn_manifest_file *row, const struct firn_manifest *manifest)
{
    struct firn_op *op = table->op;
    bool is_deletes = manifest->count > 0 && manifest->entries[0].file.content != FIRN_CONTENT_DATA;
    struct firn_manifest_writer_config config = { .metadata = table->metadata,
                                                  .spec = firn_metadata_spec(table->metadata, manifest->spec_id),
                                                  .is_deletes = is_deletes,
                                                  .snapshot_id = 77,
                                                  .codec = FIRN_TEXT("zstd"),
                                                  .codec_level = FIRN_CODEC_LEVEL_DEFAULT };
    struct firn_buffer file = { 0 };
    struct firn_sink sink = firn_sink_to_buffer(&file);
    struct firn_manifest_writer *writer;
    struct firn_manifest_file written;
    struct firn_manifest again;
    if (is_deletes && table->metadata->format_version == 1)
        return;
    CHECK_OK(op, firn_manifest_writer_open(op, &config, &sink, &writer));
    for (uint32_t i = 0; i < manifest->count; i++)
        CHECK_OK(op, firn_manifest_writer_add(op, writer, &manifest->entries[i]));
    CHECK_OK(op, firn_manifest_writer_finish(op, writer, &written));
    firn_manifest_writer_close(writer);
    assert_int_equal(written.length, file.len);

    written.sequence_number = row->sequence_number;
    written.first_row_id = row->first_row_id;
    CHECK_OK(op, firn_manifest_parse(op, firn_buffer_bytes(&file), &written, table->metadata,
                                     (struct firn_manifest_read_options){ 0 }, &again));
    CHECK(again.count == manifest->count, "%s", row->path.data);
    for (uint32_t i = 0; i < again.count; i++) {
        const struct firn_manifest_entry *a = &manifest->entries[i], *b = &again.entries[i];
        check_same_file(&a->file, &b->file, a->file.path.data);
        if (table->metadata->format_version >= 2)
            check_same_file_v2(&a->file, &b->file, a->file.path.data);
        if (table->metadata->format_version >= 3)
            check_same_file_v3(&a->file, &b->file, a->file.path.data);
        CHECK(a->file.first_row_id == b->file.first_row_id, "%s", a->file.path.data);
        CHECK(a->sequence_number == b->sequence_number, "%s", a->file.path.data);
        CHECK(a->status == b->status, "%s", a->file.path.data);
    }
    firn_buffer_done(&file);
}

static void check_without_metrics(struct table *table, struct firn_bytes bytes, const struct firn_manifest_file *row,
                                  const struct firn_manifest *full)
{
    struct firn_op *op = table->op;
    struct firn_manifest lean;
    uint32_t at = 0;
    CHECK_OK(op, firn_manifest_parse(op, bytes, row, table->metadata,
                                     (struct firn_manifest_read_options){ .skip_metrics = true, .skip_deleted = true },
                                     &lean));
    for (uint32_t i = 0; i < full->count; i++) {
        if (full->entries[i].status == FIRN_ENTRY_DELETED)
            continue;
        CHECK(at < lean.count && firn_text_same(lean.entries[at].file.path, full->entries[i].file.path), "%s",
              row->path.data);
        CHECK(lean.entries[at].file.first_row_id == full->entries[i].file.first_row_id, "%s", row->path.data);
        CHECK(!lean.entries[at].file.lower_bounds.present, "%s", row->path.data);
        at++;
    }
    CHECK(at == lean.count, "%s", row->path.data);
}

static void read_manifest(struct table *table, const struct firn_manifest_file *row, bool listed, struct counts *counts)
{
    struct firn_op *op = table->op;
    struct firn_bytes bytes = read_recorded(table, row->path);
    struct firn_manifest manifest;
    if (!bytes.data)
        return;
    firn_status status = firn_manifest_parse(op, bytes, listed ? row : NULL, table->metadata,
                                             (struct firn_manifest_read_options){ 0 }, &manifest);
    CHECK(status == FIRN_OK, "%s: %s: %s", table->name.data, row->path.data, op->error.text);
    for (uint32_t i = 0; i < manifest.count; i++)
        count_entry(&manifest.entries[i], counts);
    table->manifests_read++;
    if (!listed)
        return;
    check_without_metrics(table, bytes, row, &manifest);
    rewrite(table, row, &manifest);
}

static void read_snapshot(struct table *table, const struct firn_snapshot *snapshot, struct counts *counts)
{
    struct firn_op *op = table->op;
    struct firn_manifest_list list;
    for (uint32_t i = 0; i < snapshot->manifest_count; i++)
        read_manifest(table, &(struct firn_manifest_file){ .path = snapshot->manifests[i] }, false, counts);
    struct firn_bytes bytes = read_recorded(table, snapshot->manifest_list);
    if (!bytes.data || snapshot->manifest_list.len == 0)
        return;
    firn_status status = firn_manifest_list_parse(op, bytes, &list);
    CHECK(status == FIRN_OK, "%s: %s: %s", table->name.data, snapshot->manifest_list.data, op->error.text);
    for (uint32_t i = 0; i < list.count; i++)
        read_manifest(table, &list.manifests[i], true, counts);
}

static void check_count(const char *table, const json_t *expected, const char *key, int64_t count)
{
    const json_t *number = json_object_get(expected, key);
    CHECK(!json_is_integer(number) || json_integer_value(number) == count, "%s: %s is %" PRId64, table, key, count);
}

/* A table of the corpus, with an operation of its own. */
static uint32_t check_table(struct firn_text root, const char *section, const char *name, const json_t *expected)
{
    struct firn_arena arena;
    struct firn_op op;
    struct firn_metadata *metadata;
    struct counts counts = { 0 }, ignored = { 0 };
    firn_arena_init(&arena);
    firn_op_init(&op, &arena, firn_env_real());
    struct firn_text file = firn_text_of(json_string_value(json_object_get(expected, "metadata_file")));
    struct firn_text path = firn_text_format(&arena, "%.*s/%s/%s/%.*s", FIRN_FMT(root), section, name, FIRN_FMT(file));
    firn_status status = firn_metadata_parse_file(&op, path, corpus_file(&op, "%s", path.data), &metadata);
    CHECK(status == FIRN_OK, "%s: %s", name, op.error.text);

    struct table table = { .op = &op,
                           .name = firn_text_of(name),
                           .folder = firn_text_until(path, (size_t)firn_text_find_last(path, '/')),
                           .metadata = metadata };
    const struct firn_snapshot *current = firn_metadata_current(metadata);
    if (current)
        read_snapshot(&table, current, &counts);
    for (uint32_t i = 0; i < metadata->snapshot_count && i < 20; i++)
        if (&metadata->snapshots[i] != current)
            read_snapshot(&table, &metadata->snapshots[i], &ignored);
    check_count(name, expected, "live_data_files", counts.data_files);
    check_count(name, expected, "live_position_delete_files", counts.position_files);
    check_count(name, expected, "live_equality_delete_files", counts.equality_files);
    check_count(name, expected, "live_deletion_vectors", counts.vectors);
    check_count(name, expected, "live_data_records", counts.records);
    firn_arena_done(&arena);
    return table.manifests_read;
}

static void check_section(void **state, const char *section)
{
    struct firn_op *op = test_op(state);
    struct firn_text root = corpus_root(op);
    CORPUS_OR_SKIP(root);
    const char *name;
    json_t *expected;
    json_t *tables = corpus_expected(op, root, section);
    uint32_t manifests = 0;
    json_object_foreach(tables, name, expected)
    {
        manifests += check_table(root, section, name, expected);
    }
    print_message("%zu tables, %u manifests\n", json_object_size(tables), manifests);
}

static void complete_tables_count_as_expected(void **state)
{
    check_section(state, "iceberg");
}

static void tables_without_data_count_as_expected(void **state)
{
    check_section(state, "iceberg-metadata-only");
}

/* Single manifest lists by writers that give no ids, other names, or format version 3. */
static void single_lists_parse(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_text root = corpus_root(op);
    CORPUS_OR_SKIP(root);
    static const struct {
        const char *name;
        uint32_t count;
        int64_t added_files, first_row_id;
    } cases[] = {
        { "cxx_snap-2dfe8bdb-200b-1006-9bb5-0242ac110002.avro", 2, 6, FIRN_ABSENT },
        { "icebergo_duckdb_v3_manifest_list.avro", 2, 1, 0 },
        { "icebergrust_manifest-list-v2-1.avro", 1, 1, FIRN_ABSENT },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_manifest_list list;
        struct firn_bytes bytes = corpus_file(op, "%.*s/avro/iceberg/%s", FIRN_FMT(root), cases[i].name);
        CHECK_OK(op, firn_manifest_list_parse(op, bytes, &list));
        CHECK(list.count == cases[i].count, "%s", cases[i].name);
        CHECK(list.manifests[0].added_files_count == cases[i].added_files, "%s", cases[i].name);
        CHECK(list.manifests[0].first_row_id == cases[i].first_row_id, "%s", cases[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(complete_tables_count_as_expected),
        TEST(tables_without_data_count_as_expected),
        TEST(single_lists_parse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
