/* Pages that are written from where they lie: the files that come out are those that come out where all is copied
 * through memory, to the byte, and large chunks that are kept go within the kernel. */
#include "table_fixture.h"

#include "support/fault_store.h"
#include "support/folder.h"

#define PLAIN_PROPERTIES "\"write.parquet.compression-codec\":\"uncompressed\""

enum { LARGE_ROWS = 1200000, SMALL_ROWS = 150000, SMALL_FILES = 5 };

/* A file of random numbers, uncompressed, in pages of `page_rows`. */
static void add_numbers(struct table_test *test, uint32_t count, int32_t page_rows)
{
    struct firn_op *op = test->op;
    const struct firn_parquet_node *leaf = test->schema.leaves[0].node;
    struct firn_chunk_options options = firn_chunk_options_default();
    options.codec = FIRN_CODEC_NONE;
    options.dictionary = false;
    options.page_rows_max = page_rows;
    int64_t *numbers = FIRN_NEW_ARRAY(op->arena, int64_t, count);
    for (uint32_t i = 0; i < count; i++)
        numbers[i] = (int64_t)hash_of(i, 1) << 32 | hash_of(i, test->file_count);
    struct firn_vector vector = {
        .type = leaf->type, .values.int64 = numbers, .slot_count = count, .value_count = count, .row_count = count
    };
    struct firn_encoded_chunk chunk;
    struct firn_chunk_writer *chunks;
    struct firn_store_writer *file;
    struct firn_parquet_writer *writer;
    struct firn_footer *footer;
    const char *path = firn_text_format(op->arena, "mem:/t/data/in-%u.parquet", test->file_count).data;
    CHECK_OK(op, firn_chunk_writer_open(op, leaf, &options, &chunks));
    CHECK_OK(op, firn_chunk_writer_append(op, chunks, &vector));
    CHECK_OK(op, firn_chunk_writer_finish(op, chunks, &chunk));
    firn_chunk_writer_close(chunks);
    CHECK_OK(op, firn_store_write(op, test->store, firn_text_of(path), false, &file));
    CHECK_OK(op, firn_parquet_writer_open(op, test->schema.footer, firn_store_writer_sink(file), &writer));
    CHECK_OK(op, firn_parquet_writer_add(op, writer, &chunk, count));
    CHECK_OK(op, firn_parquet_writer_finish(op, writer, &footer));
    firn_parquet_writer_close(writer);
    firn_encoded_chunk_done(&chunk);
    test->files[test->file_count++] = fixture_file(path, (int64_t)firn_store_writer_sink(file)->offset, count);
    CHECK_OK(op, firn_store_writer_finish(op, file));
}

/* Rewrites all files and gives what was written, end to end. */
static struct firn_buffer rewrite(struct table_test *test, const char *properties, uint64_t memory, uint32_t threads)
{
    struct firn_op *op = test->op;
    struct fixture_table table = { .version = 2, .schemas = PLAIN, .properties = properties };
    struct fixture_run run = run_of(test, &table);
    struct firn_rewrite_result result;
    struct firn_buffer written = { 0 };
    run.counts_only = true;
    run.layout.layout = FIRN_LAYOUT_FASTEST;
    run.memory_bytes_max = memory;
    CHECK_OK(op, firn_pool_open(op, threads, &run.pool));
    CHECK_OK(op, fixture_execute(op, &run, &result));
    firn_pool_close(run.pool);
    CHECK(result.rows_out == result.rows_in && result.file_count > 0, "%" PRId64 " rows", result.rows_out);
    for (uint32_t i = 0; i < result.file_count; i++) {
        struct firn_buffer file = { 0 };
        CHECK_OK(op, firn_store_read(op, test->store, result.files[i].path, UINT64_MAX, &file));
        CHECK_OK(op, firn_buffer_append(op, &written, file.data, file.len));
        firn_buffer_done(&file);
    }
    firn_rewrite_result_discard(op, test->store, &result);
    return written;
}

static void check_same_bytes(struct firn_buffer *a, struct firn_buffer *b)
{
    assert_int_equal(a->len, b->len);
    assert_memory_equal(a->data, b->data, a->len);
    firn_buffer_done(a);
    firn_buffer_done(b);
}

/* A store of local files below a folder of its own, for a table at mem:/t. */
static struct firn_text begin_local(struct table_test *test, struct firn_op *op)
{
    struct firn_text folder = folder_make(op->arena);
    struct firn_relocation rule = { FIRN_TEXT("mem:/t"), folder };
    begin(test, op, PLAIN);
    firn_store_close(test->store);
    CHECK_OK(op, firn_store_open(
                     op, &(struct firn_store_config){ .relocations = &rule, .relocation_count = 1, .relaxed = true },
                     &test->store));
    return folder;
}

static void large_chunks_are_copied_within_the_kernel(void **state)
{
    struct firn_op *op = test_op(state);
    struct table_test local, memory;
    struct firn_text folder = begin_local(&local, op);
    begin(&memory, op, PLAIN);
    for (int i = 0; i < 2; i++) {
        add_numbers(&local, LARGE_ROWS, 20000);
        add_numbers(&memory, LARGE_ROWS, 20000);
    }
    struct firn_buffer here = rewrite(&local, PLAIN_PROPERTIES, UINT64_C(256) << 20, 2);
    struct firn_buffer there = rewrite(&memory, PLAIN_PROPERTIES, UINT64_C(256) << 20, 2);
    CHECK(here.len > 2 * (size_t)LARGE_ROWS * 8, "%zu bytes", here.len);
    check_same_bytes(&here, &there);
    uint64_t copied = firn_store_bytes_copied(local.store);
    CHECK(copied >= 2 * (uint64_t)LARGE_ROWS * 8 || !folder_copies_in_kernel(op->arena, folder),
          "%" PRIu64 " bytes were", copied);
    assert_int_equal(firn_store_bytes_copied(memory.store), 0);
    firn_store_close(local.store);
    firn_store_close(memory.store);
    folder_remove(folder);
}

/* With much memory pages of small files are lent and row groups wait; with little they are copied, and none waits. */
static void lent_pages_are_those_that_were_read(void **state)
{
    static const char *const properties[] = {
        PLAIN_PROPERTIES,
        PLAIN_PROPERTIES ",\"write.parquet.row-group-size-bytes\":\"1500000\"",
    };
    struct firn_op *op = test_op(state);
    struct table_test local, memory;
    struct firn_text folder = begin_local(&local, op);
    begin(&memory, op, PLAIN);
    for (int i = 0; i < SMALL_FILES; i++) {
        add_numbers(&local, SMALL_ROWS, i % 2 ? 20000 : 300);
        add_numbers(&memory, SMALL_ROWS, i % 2 ? 20000 : 300);
    }
    for (size_t i = 0; i < FIRN_COUNT_OF(properties); i++)
        for (uint32_t threads = 1; threads <= 2; threads++) {
            struct firn_buffer lent = rewrite(&local, properties[i], UINT64_C(256) << 20, threads);
            struct firn_buffer copied = rewrite(&memory, properties[i], UINT64_C(64) << 20, threads);
            check_same_bytes(&lent, &copied);
        }
    firn_store_close(local.store);
    firn_store_close(memory.store);
    folder_remove(folder);
}

/* Whatever call fails, of the row group that is written or of the rows that are read meanwhile: both are done before
 * what they use goes, and nothing stays. */
static void failures_wait_for_what_is_under_way(void **state)
{
    enum { FAILURES = 24 };
    struct firn_op *op = test_op(state);
    struct fixture_table table = {
        .version = 2,
        .schemas = PLAIN,
        .properties = PLAIN_PROPERTIES ",\"write.parquet.row-group-size-bytes\":\"1500000\"",
    };
    static struct firn_budget budget = { .limit_bytes = 256 << 20 }; /* some belongs to the operation, to its end */
    struct table_test test;
    struct fault_report report = { 0 };
    size_t kept = 0;
    begin(&test, op, PLAIN);
    for (int i = 0; i < SMALL_FILES; i++)
        add_numbers(&test, SMALL_ROWS, 20000);
    struct fixture_run run = run_of(&test, &table);
    run.counts_only = true;
    run.layout.layout = FIRN_LAYOUT_FASTEST;
    run.memory_bytes_max = UINT64_C(256) << 20;
    CHECK_OK(op, firn_pool_open(op, 2, &run.pool));
    for (uint32_t i = 0, calls = 0; i <= FAILURES; i++) {
        struct fault fault = { .at_call = i == 0 ? UINT32_MAX : calls * (i - 1) / FAILURES, .kind = FAULT_ERROR };
        struct firn_rewrite_result result;
        atomic_store(&report.calls, 0);
        CHECK_OK(op, fault_store_open(op, test.store, fault, &report, &run.store));
        op->budget = &budget;
        firn_status status = fixture_execute(op, &run, &result);
        op->budget = NULL;
        CHECK((status == FIRN_OK) == (i == 0), "call %u of %u: %s", fault.at_call, calls, op->error.text);
        calls = i == 0 ? atomic_load(&report.calls) : calls;
        if (status == FIRN_OK)
            firn_rewrite_result_discard(op, test.store, &result);
        firn_store_close(run.store);
        kept = i == 0 ? atomic_load(&budget.used_bytes) : kept;
        CHECK(atomic_load(&budget.used_bytes) == kept, "call %u of %u: %zu bytes stay", fault.at_call, calls,
              atomic_load(&budget.used_bytes));
        size_t count;
        CHECK_OK(op, store_count(op, test.store, FIRN_TEXT("mem:/t/"), &count));
        CHECK(count == SMALL_FILES, "call %u of %u: %zu files stay", fault.at_call, calls, count);
    }
    firn_pool_close(run.pool);
    firn_store_close(test.store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(large_chunks_are_copied_within_the_kernel),
        TEST(lent_pages_are_those_that_were_read),
        TEST(failures_wait_for_what_is_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
