/* The tables of the corpus: the live Parquet files of each are rewritten, with full verification, into a folder beside,
 * and counts and nulls compared with the expectations. Deletes are not applied here; data records are what counts. */
#include "fixture.h"

#include "../support/corpus.h"
#include "../support/folder.h"

#include "table/scan.h"

struct corpus_table {
    struct firn_text name, location, folder;
    json_t *expected;
};

static struct firn_text member(const json_t *object, const char *key)
{
    return firn_text_of(json_string_value(json_object_get(object, key)));
}

/* Where the table's own location lies in the copy, and what that location's parent maps to. */
static struct firn_store *open_table_store(struct firn_op *op, struct firn_text root, const struct corpus_table *table)
{
    struct firn_store *store;
    struct firn_text below = member(table->expected, "table_root_in_copy");
    struct firn_relocation rule = { .from = table->location, .to = table->folder };
    if (below.len > 0) {
        rule.from = firn_text_until(table->location, (size_t)firn_text_find_last(table->location, '/'));
        rule.to = firn_text_format(op->arena, "%.*s/iceberg/%.*s", FIRN_FMT(root), FIRN_FMT(table->name));
    }
    CHECK_OK(op, firn_store_open(op, &(struct firn_store_config){ &rule, 1 }, &store));
    return store;
}

static struct firn_metadata *read_metadata(struct firn_op *op, struct firn_text root, const struct corpus_table *table,
                                           struct firn_text output)
{
    struct firn_metadata *metadata;
    struct firn_text file = member(table->expected, "metadata_file");
    struct firn_bytes bytes =
        corpus_file(op, "%.*s/iceberg/%.*s/%.*s", FIRN_FMT(root), FIRN_FMT(table->name), FIRN_FMT(file));
    CHECK_OK(op, firn_metadata_parse_file(op, file, bytes, &metadata));
    json_t *properties = json_object_get(metadata->root, "properties");
    if (!properties)
        json_object_set_new(metadata->root, "properties", properties = json_object());
    firn_json_set_text(properties, "write.data.path", output);
    return metadata;
}

/* Files whose format is Parquet, that are not encrypted and that the copy holds. */
static uint32_t choose_files(struct firn_op *op, const struct firn_scan *scan, struct firn_store *store,
                             struct firn_data_file *files, int64_t *sequence_numbers, int64_t *records)
{
    uint32_t count = 0;
    *records = 0;
    for (uint32_t i = 0; i < scan->file_count; i++) {
        const struct firn_manifest_entry *entry = scan->files[i].entry;
        struct firn_store_stat stat;
        if (entry->file.format != FIRN_FILE_PARQUET || entry->file.key_metadata.len > 0 ||
            firn_store_stat(op, store, entry->file.path, &stat) != FIRN_OK)
            continue;
        files[count] = entry->file;
        sequence_numbers[count++] = entry->sequence_number;
        *records += entry->file.record_count;
    }
    return count;
}

static int64_t count_nulls(const struct firn_rewrite_result *result, int32_t id, bool *known)
{
    int64_t nulls = 0;
    for (uint32_t i = 0; i < result->file_count; i++) {
        int64_t count;
        *known &= firn_count_map_find(&result->files[i].null_value_counts, id, &count);
        nulls += *known ? count : 0;
    }
    return nulls;
}

static void check_nulls(const struct corpus_table *table, const struct firn_rewrite_result *result)
{
    size_t i;
    json_t *column;
    bool deletes = json_integer_value(json_object_get(table->expected, "live_rows")) != result->rows_out;
    json_array_foreach(json_object_get(table->expected, "columns"), i, column)
    {
        bool known = !deletes;
        int32_t id = (int32_t)json_integer_value(json_object_get(column, "id"));
        int64_t nulls = count_nulls(result, id, &known),
                expected = json_integer_value(json_object_get(column, "nulls"));
        CHECK(!known || nulls == expected, "%.*s: column %d has %" PRId64 " nulls, not %" PRId64, FIRN_FMT(table->name),
              id, nulls, expected);
    }
}

static bool rewrite_table(struct firn_op *op, struct firn_text root, const struct corpus_table *table,
                          struct firn_text output)
{
    struct firn_store *store = open_table_store(op, root, table);
    struct firn_metadata *metadata = read_metadata(op, root, table, output);
    struct firn_scan scan;
    struct firn_rewrite_result result;
    int64_t records;
    firn_status planned = firn_scan_plan(op, NULL, store, metadata, firn_metadata_current(metadata),
                                         (struct firn_scan_options){ 0 }, &scan);
    if (planned == FIRN_NOT_FOUND ||
        planned == FIRN_UNSUPPORTED) { /* recorded under another location than the table's */
        firn_store_close(store);
        return false;
    }
    CHECK_OK(op, planned);
    struct firn_data_file *files = FIRN_NEW_ARRAY(op->arena, struct firn_data_file, scan.file_count);
    int64_t *sequence_numbers = FIRN_NEW_ARRAY(op->arena, int64_t, scan.file_count);
    struct fixture_run run = {
        .metadata = metadata,
        .store = store,
        .files = files,
        .file_count = choose_files(op, &scan, store, files, sequence_numbers, &records),
        .sequence_numbers = sequence_numbers,
        .output_spec_id = metadata->default_spec_id,
    };
    for (int layout = 0; layout < FIRN_LAYOUT_COUNT && run.file_count > 0; layout++) {
        run.layout.layout = (enum firn_layout)layout;
        firn_status status = fixture_execute(op, &run, &result);
        CHECK(status == FIRN_OK, "%.*s: %s: %s", FIRN_FMT(table->name), firn_status_name(status), op->error.text);
        CHECK(result.rows_out == records, "%.*s: %" PRId64 " rows", FIRN_FMT(table->name), result.rows_out);
        check_nulls(table, &result);
        firn_rewrite_result_discard(op, store, &result);
    }
    firn_store_close(store);
    return run.file_count > 0;
}

static void tables_of_other_engines_are_rewritten(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_text root = corpus_root(op);
    CORPUS_OR_SKIP(root);
    struct firn_text output = folder_make(op->arena);
    const char *name;
    json_t *expected;
    int count = 0;
    json_t *tables = corpus_expected(op, root, "iceberg");
    json_object_foreach(tables, name, expected)
    {
        struct firn_text below = member(expected, "table_root_in_copy");
        struct corpus_table table = {
            .name = firn_text_of(name),
            .location = member(expected, "recorded_location"),
            .folder = firn_text_format(op->arena, "%.*s/iceberg/%s%s%.*s", FIRN_FMT(root), name, below.len ? "/" : "",
                                       FIRN_FMT(below)),
            .expected = expected,
        };
        count += rewrite_table(op, root, &table, output);
    }
    folder_remove(output);
    CHECK(count > 60, "only %d tables were rewritten", count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(tables_of_other_engines_are_rewritten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
