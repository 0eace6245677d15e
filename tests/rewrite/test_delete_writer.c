/* Written deletes: form, metadata, and that they read back as what was given. */
#include "fixture.h"

#include "../support/fault_store.h"
#include "rewrite/delete_writer.h"
#include "rewrite/deletion_position.h"
#include "table/delete_index.h"

#define SCHEMA                                                                                                         \
    "{\"type\":\"struct\",\"schema-id\":0,\"fields\":[{\"id\":1,\"name\":\"id\",\"required\":false,\"type\":\"long\"}" \
    "]}"
#define BY_ID                                                                                                          \
    "{\"spec-id\":0,\"fields\":[{\"source-id\":1,\"field-id\":1000,\"name\":\"id\",\"transform\":\"identity\"}]}"

enum { DELETES_MAX = 16 };

struct writer_test {
    struct firn_op *op;
    struct firn_store *store;
    struct firn_delete_writer_config config;
    struct firn_row_deletes deletes[DELETES_MAX];
    uint32_t count;
    struct firn_delete_files files;
};

static void begin(struct writer_test *test, struct firn_op *op, int version, const char *specs, const char *properties)
{
    *test = (struct writer_test){ .op = op };
    struct fixture_table table = { .version = version, .schemas = SCHEMA, .specs = specs, .properties = properties };
    CHECK_OK(op, firn_store_open_memory(op, &test->store));
    test->config = (struct firn_delete_writer_config){
        .metadata = fixture_metadata(op, &table),
        .store = test->store,
        .operation = firn_uuid_random(op),
        .number = 4,
        .file_bytes_max = 64 << 20,
    };
}

/* Rows [from, from + count) of a data file; `partition` FIRN_ABSENT: unpartitioned. */
static void add(struct writer_test *test, const char *path, int64_t partition, int64_t from, int64_t count)
{
    struct firn_op *op = test->op;
    struct firn_row_deletes *deletes = &test->deletes[test->count++];
    *deletes = (struct firn_row_deletes){ .data_file = firn_text_of(path) };
    if (partition != FIRN_ABSENT) {
        deletes->partition.count = 1;
        deletes->partition.values = FIRN_NEW(op->arena, struct firn_value);
        *deletes->partition.values = (struct firn_value){ .type = FIRN_TYPE_LONG, .integer = partition };
    }
    CHECK_OK(op, firn_positions_new(op, &deletes->positions));
    for (int64_t i = 0; i < count; i++)
        CHECK_OK(op, firn_positions_add(op, deletes->positions, from + i));
}

static firn_status write(struct writer_test *test)
{
    return firn_row_deletes_write(test->op, &test->config, test->deletes, test->count, &test->files);
}

static void read_file(struct writer_test *test, const struct firn_data_file *file,
                      const struct firn_delete_names *names, struct firn_map *out)
{
    struct firn_op *op = test->op;
    if (firn_data_file_is_deletion_vector(file)) {
        struct firn_positions *positions;
        CHECK_OK(op, firn_deletion_vector_read(op, test->store, file, &positions));
        struct firn_map_entry *entry = firn_map_put_text(out, file->referenced_data_file);
        assert_null(entry->value.pointer);
        entry->value.pointer = positions;
        return;
    }
    struct firn_position_source source = { test->config.metadata, test->store, names };
    CHECK_OK(op, firn_position_deletes_read(op, &source, file, out));
}

/* Everything given, and nothing else, is in the files; their counts agree. */
static void check_read_back(struct writer_test *test)
{
    struct firn_delete_names names;
    struct firn_map found;
    int64_t rows = 0, expected = 0;
    firn_delete_names_init(&names, test->op->arena);
    firn_map_init(&found, test->op->arena);
    for (uint32_t i = 0; i < test->count; i++) {
        firn_delete_names_add(&names, test->deletes[i].data_file);
        expected += (int64_t)firn_positions_count(test->deletes[i].positions);
    }
    for (uint32_t i = 0; i < test->files.count; i++) {
        read_file(test, &test->files.files[i], &names, &found);
        rows += test->files.files[i].record_count;
    }
    assert_int_equal(rows, expected);
    for (uint32_t i = 0; i < test->count; i++) {
        const struct firn_map_entry *entry = firn_map_find_text(&found, test->deletes[i].data_file);
        struct firn_positions *wanted = test->deletes[i].positions;
        uint64_t count = entry ? firn_positions_count(entry->value.pointer) : 0;
        CHECK(count == firn_positions_count(wanted), "%.*s", FIRN_FMT(test->deletes[i].data_file));
        for (int64_t at = 0; firn_positions_next(wanted, at, &at); at++)
            assert_true(firn_positions_contains(entry->value.pointer, at));
    }
}

static void check_common(const struct writer_test *test, const struct firn_data_file *file, const char *ending)
{
    struct firn_store_stat stat;
    CHECK_OK(test->op, firn_store_stat(test->op, test->store, file->path, &stat));
    CHECK(firn_text_ends(file->path, firn_text_of(ending)), "%.*s", FIRN_FMT(file->path));
    assert_int_equal(file->file_bytes, stat.size);
    assert_int_equal(file->content, FIRN_CONTENT_POSITION_DELETES);
    assert_int_equal(file->sort_order_id, FIRN_ABSENT);
    assert_int_equal(file->first_row_id, FIRN_ABSENT);
    assert_int_equal(file->equality_id_count, 0);
    assert_false(file->value_counts.present || file->null_value_counts.present || file->nan_value_counts.present);
}

static void position_files_by_partition(void **state)
{
    struct writer_test test;
    begin(&test, test_op(state), 2, BY_ID, NULL);
    add(&test, "mem:/t/data/id=2/b.parquet", 2, 5, 3);
    add(&test, "mem:/t/data/id=1/c.parquet", 1, 0, 2000);
    add(&test, "mem:/t/data/id=1/empty.parquet", 1, 0, 0);
    add(&test, "mem:/t/data/id=1/a.parquet", 1, 7, 1);
    CHECK_OK(test.op, write(&test));
    assert_int_equal(test.files.count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        const struct firn_data_file *file = &test.files.files[i];
        bool one = file->partition.values[0].integer == 2;
        check_common(&test, file, "-deletes.parquet");
        CHECK(firn_text_starts(file->path,
                               one ? FIRN_TEXT("mem:/t/data/id=2/00004-0-") : FIRN_TEXT("mem:/t/data/id=1/00004-0-")),
              "%.*s", FIRN_FMT(file->path));
        assert_int_equal(file->record_count, one ? 3 : 2001);
        assert_int_equal(file->lower_bounds.present, one);
        CHECK(firn_text_is(firn_delete_file_scope(file), one ? "mem:/t/data/id=2/b.parquet" : ""), "scope");
        assert_null(file->referenced_data_file.data);
        assert_true(file->split_offset_count == 1 && file->column_sizes.count == 2);
    }
    check_read_back(&test);
    firn_store_close(test.store);
}

/* Rows stand by path, then position, and the file says that it holds position deletes. */
static void rows_are_sorted(void **state)
{
    struct writer_test test;
    struct firn_op *op = test_op(state);
    begin(&test, op, 2, NULL, NULL);
    add(&test, "b", FIRN_ABSENT, 3, 2);
    add(&test, "a", FIRN_ABSENT, 8, 3);
    CHECK_OK(op, write(&test));
    struct firn_rewrite_result result = { .files = test.files.files, .file_count = test.files.count };
    assert_string_equal(fixture_dump(op, test.store, &result, "file_path"), "a a a b b");
    assert_string_equal(fixture_dump(op, test.store, &result, "pos"), "8 9 10 3 4");
    struct firn_buffer bytes = { 0 };
    CHECK_OK(op, firn_store_read(op, test.store, test.files.files[0].path, UINT64_MAX, &bytes));
    struct firn_footer *footer = fixture_footer(op, &bytes);
    firn_buffer_done(&bytes);
    assert_int_equal(footer->leaves[0]->field_id, FIRN_FIELD_ID_DELETE_FILE_PATH);
    assert_int_equal(footer->leaves[1]->field_id, FIRN_FIELD_ID_DELETE_FILE_POS);
    assert_int_equal(footer->leaves[0]->repetition, FIRN_REQUIRED);
    assert_int_equal(footer->leaves[1]->repetition, FIRN_REQUIRED);
    assert_true(firn_text_is(footer->key_values[1].key, "delete-type") &&
                firn_text_is(footer->key_values[1].value, "position"));
    firn_store_close(test.store);
}

static void position_files_by_file(void **state)
{
    struct writer_test test;
    begin(&test, test_op(state), 2, NULL, NULL);
    test.config.granularity = FIRN_DELETES_BY_FILE;
    add(&test, "mem:/t/data/b.parquet", FIRN_ABSENT, 5, 3);
    add(&test, "mem:/t/data/a.parquet", FIRN_ABSENT, 0, 1);
    CHECK_OK(test.op, write(&test));
    assert_int_equal(test.files.count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        const struct firn_data_file *file = &test.files.files[i];
        check_common(&test, file, "-deletes.parquet");
        const char *path = i == 0 ? "mem:/t/data/a.parquet" : "mem:/t/data/b.parquet";
        CHECK(firn_text_is(file->referenced_data_file, path), "%u", i);
        struct firn_data_file unnamed = *file; /* readers that look at bounds only see the same */
        unnamed.referenced_data_file = (struct firn_text){ 0 };
        CHECK(firn_text_is(firn_delete_file_scope(&unnamed), path), "%u", i);
    }
    check_read_back(&test);
    firn_store_close(test.store);
}

static void files_split_at_the_size(void **state)
{
    struct writer_test test;
    begin(&test, test_op(state), 2, NULL,
          "\"write.delete.parquet.compression-codec\":\"uncompressed\",\"write.parquet.compression-codec\":\"zstd\"");
    test.config.file_bytes_max = 20000;
    add(&test, "mem:/t/data/a.parquet", FIRN_ABSENT, 0, 4000);
    add(&test, "mem:/t/data/b.parquet", FIRN_ABSENT, 0, 10);
    CHECK_OK(test.op, write(&test));
    CHECK(test.files.count == 2, "%u", test.files.count);
    assert_int_equal(test.files.files[0].record_count, 3000); /* 8 bytes a position, looked at every 1000 rows */
    CHECK(firn_text_is(firn_delete_file_scope(&test.files.files[0]), "mem:/t/data/a.parquet"), "scope");
    assert_int_equal(firn_delete_file_scope(&test.files.files[1]).len, 0);
    check_read_back(&test);
    firn_store_close(test.store);
}

static void vectors_share_a_puffin_file(void **state)
{
    struct writer_test test;
    begin(&test, test_op(state), 3, BY_ID, NULL);
    add(&test, "mem:/t/data/b.parquet", 2, 5, 3);
    add(&test, "mem:/t/data/a.parquet", 1, 0, 100000);
    add(&test, "mem:/t/data/none.parquet", 1, 0, 0);
    CHECK_OK(test.op, write(&test));
    assert_int_equal(test.files.count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        const struct firn_data_file *file = &test.files.files[i];
        check_common(&test, file, "-deletes.puffin");
        assert_true(firn_data_file_is_deletion_vector(file) && firn_text_is(file->format_text, "PUFFIN"));
        assert_true(firn_text_same(file->path, test.files.files[0].path));
        assert_int_equal(file->partition.values[0].integer, i + 1);
        assert_true(file->content_offset >= 4 && file->content_offset + file->content_bytes < file->file_bytes);
    }
    check_read_back(&test);
    firn_store_close(test.store);
}

static void nothing_to_write_is_no_file(void **state)
{
    struct writer_test test;
    size_t count;
    begin(&test, test_op(state), 2, NULL, NULL);
    add(&test, "mem:/t/data/b.parquet", FIRN_ABSENT, 0, 0);
    CHECK_OK(test.op, write(&test));
    assert_int_equal(test.files.count, 0);
    CHECK_OK(test.op, store_count(test.op, test.store, FIRN_TEXT("mem:/t"), &count));
    assert_int_equal(count, 0);
    firn_store_close(test.store);
}

static void bad_properties_and_old_tables_are_refused(void **state)
{
    struct writer_test test;
    begin(&test, test_op(state), 2, NULL, "\"write.delete.parquet.page-size-bytes\":\"0\"");
    add(&test, "mem:/t/data/b.parquet", FIRN_ABSENT, 0, 1);
    CHECK_STATUS(test.op, FIRN_USAGE, write(&test));
    CHECK(strstr(test.op->error.text, "write.delete.parquet.page-size-bytes is 0"), "%s", test.op->error.text);
    firn_store_close(test.store);
    begin(&test, test_op(state), 1, NULL, NULL);
    add(&test, "mem:/t/data/b.parquet", FIRN_ABSENT, 0, 1);
    CHECK_STATUS(test.op, FIRN_UNSUPPORTED, write(&test));
    firn_store_close(test.store);
}

/* Each storage call fails once; nothing is left behind then, but where the answer alone was lost. */
static void a_failure_leaves_nothing(void **state)
{
    static const enum fault_kind kinds[] = { FAULT_ERROR, FAULT_FULL, FAULT_SHORT_READ };
    for (int version = 2; version <= 3; version++)
        for (size_t kind = 0; kind < FIRN_COUNT_OF(kinds); kind++) {
            bool faulted = true;
            for (uint32_t nth = 0; faulted && nth < 100; nth++) {
                struct writer_test test;
                struct fault_report report = { 0 };
                size_t count;
                begin(&test, test_op(state), version, BY_ID, NULL);
                struct fault fault = { nth, kinds[kind] };
                CHECK_OK(test.op, fault_store_open(test.op, test.store, fault, &report, &test.config.store));
                add(&test, "mem:/t/data/b.parquet", 2, 5, 3);
                add(&test, "mem:/t/data/a.parquet", 1, 0, 10);
                firn_status status = write(&test);
                faulted = atomic_load(&report.fired);
                CHECK_OK(test.op, store_count(test.op, test.store, FIRN_TEXT("mem:/t"), &count));
                CHECK(faulted ? status != FIRN_OK && count == 0 : status == FIRN_OK, "v%d, %s, call %u: %s, %zu files",
                      version, fault_name(kinds[kind]), nth, firn_status_name(status), count);
                if (!faulted)
                    firn_delete_files_discard(test.op, test.store, &test.files);
                CHECK_OK(test.op, store_count(test.op, test.store, FIRN_TEXT("mem:/t"), &count));
                assert_int_equal(count, 0);
                firn_store_close(test.config.store);
                firn_store_close(test.store);
            }
            assert_false(faulted);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(position_files_by_partition),
        TEST(rows_are_sorted),
        TEST(position_files_by_file),
        TEST(files_split_at_the_size),
        TEST(vectors_share_a_puffin_file),
        TEST(nothing_to_write_is_no_file),
        TEST(bad_properties_and_old_tables_are_refused),
        TEST(a_failure_leaves_nothing),
    };
    return cmocka_run_group_tests_name("delete writer", tests, NULL, NULL);
}
