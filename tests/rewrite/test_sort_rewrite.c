/* Groups whose rows are put in order: the rows before are the rows after, in the order that a naive comparison gives,
 * and files of a partition do not overlap; in memory and through temporary files, whatever the memory and the threads.
 */
#include "../support/fault_store.h"
#include "../support/folder.h"
#include "order_fixture.h"
#include "store/driver.h"

#include "rewrite/key_sort.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRIALS = 60 };

/* Random tables. ------------------------------------------------------------------------------------------------- */

static void sort_any(struct firn_op *op, struct firn_pool *pool, uint64_t seed)
{
    struct table_test *test = FIRN_NEW(op->arena, struct table_test);
    struct dice dice = { seed * UINT64_C(0x9e3779b97f4a7c15) };
    struct firn_rewrite_result result;
    bool nested = roll(&dice, 4);
    const struct order_case *order = &orders[roll(&dice, nested ? FIRN_COUNT_OF(orders) : 4)];
    int version = 2 + (int)roll(&dice, 2);
    begin(test, op, nested ? NESTED : PLAIN);
    uint32_t file_count = 1 + roll(&dice, FILES_MAX);
    for (uint32_t i = 0; i < file_count; i++)
        add_any_file(test, &dice);
    for (uint32_t i = 0; i < file_count; i++)
        test->files[i].first_row_id = version == 3 ? 1000 * (int64_t)i : FIRN_ABSENT;
    if (roll(&dice, 2)) {
        delete_any_rows(test, &dice);
        version == 3 ? delete_by_vectors(test) : delete_by_positions(test);
    }
    struct fixture_run run =
        run_of(test, &(struct fixture_table){
                         .version = version,
                         .schemas = nested ? NESTED : PLAIN,
                         .specs = BUCKETS,
                         .properties = roll(&dice, 2) ? "\"write.parquet.row-group-size-bytes\":\"400\"" : NULL });
    run.ordering = &order->ordering;
    run.pool = roll(&dice, 2) ? pool : NULL;
    run.output_spec_id = (int32_t)roll(&dice, 2);
    run.file_bytes_max = roll(&dice, 2) ? 900 : 0;
    static const uint64_t memory[] = { 4000, 40000, 400000, 0 }; /* many runs, some, none */
    run.memory_bytes_max = memory[roll(&dice, 4)];
    run.counts_only = roll(&dice, 4) == 0;
    if (roll(&dice, 4) == 0)
        deal_pieces(test, &dice, &run);
    firn_status status = fixture_execute(op, &run, &result);
    CHECK(status == FIRN_OK, "seed %" PRIu64 ": %s", seed, op->error.text);
    check_rows(test, &result, seed);
    CHECK(!result.row_map, "no run of rows stays together");
    check_order(test, &result, order, !run.bins, seed);
    firn_store_close(test->store);
}

static void rows_are_the_same_and_in_order(void **state)
{
    run_trials(test_op(state), sort_any, TRIALS);
}

/* Files. --------------------------------------------------------------------------------------------------------- */

/* A file of any number of rows, in no order. */
static struct firn_data_file *add_rows(struct table_test *test, int rows)
{
    const int groups[] = { rows };
    return add_file(test, groups, 1, firn_chunk_options_default());
}

#define SMALL_PAGES "\"write.parquet.page-size-bytes\":\"512\",\"write.parquet.compression-codec\":\"uncompressed\""

/* A table of files of as many rows, to be put in an order. */
static struct fixture_run begin_rows(struct table_test *test, struct firn_op *op, int files, int rows,
                                     const char *properties, const struct order_case *order)
{
    begin(test, op, PLAIN);
    for (int i = 0; i < files; i++)
        add_rows(test, rows);
    struct fixture_run run =
        run_of(test, &(struct fixture_table){ .version = 2, .schemas = PLAIN, .properties = properties });
    run.ordering = &order->ordering;
    return run;
}

/* Keys of a hundred rows each: no file begins within one. */
static void files_end_where_the_key_changes(void **state)
{
    struct table_test test;
    struct firn_op *op = test_op(state);
    struct firn_rewrite_result result;
    struct fixture_run run = begin_rows(&test, op, 6, 3777, SMALL_PAGES, &orders[2]);
    run.file_bytes_max = 60000;
    for (uint64_t memory = 100000; memory <= 100000000; memory *= 1000) {
        run.memory_bytes_max = memory;
        CHECK_OK(op, fixture_execute(op, &run, &result));
        check_rows(&test, &result, memory);
        check_order(&test, &result, &orders[2], true, memory);
        CHECK(result.file_count >= 3, "%u files", result.file_count);
        for (uint32_t f = 1; f < result.file_count; f++) {
            struct firn_bytes before, after;
            CHECK(firn_bound_map_find(&result.files[f - 1].upper_bounds, 1, &before) &&
                      firn_bound_map_find(&result.files[f].lower_bounds, 1, &after),
                  "bounds");
            CHECK(firn_load_le64(before.data) / 100 < firn_load_le64(after.data) / 100, "file %u", f);
            CHECK(result.files[f].record_count * 2 > result.files[0].record_count, "file %u has few rows", f);
            CHECK(result.files[f].file_bytes < 60000 * 5 / 4, "%" PRId64, result.files[f].file_bytes);
        }
        firn_rewrite_result_discard(op, test.store, &result);
    }
    firn_store_close(test.store);
}

/* A key of more rows than a file takes cannot be kept together. */
static void a_key_may_fill_several_files(void **state)
{
    struct table_test test;
    struct firn_op *op = test_op(state);
    struct firn_rewrite_result result;
    struct fixture_run run = begin_rows(&test, op, 6, 3777, SMALL_PAGES, &orders[3]);
    run.file_bytes_max = 60000;
    CHECK_OK(op, fixture_execute(op, &run, &result));
    check_rows(&test, &result, 0);
    CHECK(result.file_count >= 3, "%u files", result.file_count);
    for (uint32_t f = 0; f < result.file_count; f++)
        CHECK(result.files[f].file_bytes < 60000 * 5 / 4, "%" PRId64, result.files[f].file_bytes);
    firn_store_close(test.store);
}

static void a_table_without_rows_gives_no_file(void **state)
{
    struct table_test test;
    struct firn_op *op = test_op(state);
    struct firn_rewrite_result result;
    begin(&test, op, PLAIN);
    add_rows(&test, 0);
    add_rows(&test, 50);
    delete_rows(&test, 0, 50);
    delete_by_positions(&test);
    struct fixture_run run = run_of(&test, &(struct fixture_table){ .version = 2, .schemas = PLAIN });
    run.ordering = &orders[0].ordering;
    CHECK_OK(op, fixture_execute(op, &run, &result));
    CHECK(result.file_count == 0 && result.rows_deleted == 50, "%u files", result.file_count);
    firn_store_close(test.store);
}

/* Failures. ------------------------------------------------------------------------------------------------------ */

static void a_failure_leaves_nothing_behind(void **state)
{
    struct table_test test;
    struct firn_op *op = test_op(state);
    struct firn_rewrite_result result;
    size_t count;
    begin(&test, op, NESTED);
    for (int i = 0; i < 3; i++)
        add_rows(&test, 100);
    struct firn_store *inner = test.store;
    bool faulted = true;
    for (uint32_t nth = 0; faulted; nth++) {
        struct fault_report report = { 0 };
        CHECK_OK(op, fault_store_open(op, inner, (struct fault){ nth, FAULT_ERROR }, &report, &test.store));
        struct fixture_run run = run_of(&test, &(struct fixture_table){ .version = 2, .schemas = NESTED });
        run.ordering = &orders[4].ordering;
        run.file_bytes_max = 3000;
        run.memory_bytes_max = 50000;
        firn_status status = fixture_execute(op, &run, &result);
        faulted = atomic_load(&report.fired);
        CHECK(faulted || status == FIRN_OK, "%u: %s", nth, op->error.text);
        if (status == FIRN_OK)
            firn_rewrite_result_discard(op, inner, &result);
        firn_store_close(test.store);
        CHECK_OK(op, store_count(op, inner, FIRN_TEXT("mem:/t"), &count));
        CHECK(count == 3, "%u: %zu objects", nth, count);
    }
    firn_store_close(inner);
}

static void a_folder_without_room_is_named(void **state)
{
    struct table_test test;
    struct firn_op *op = test_op(state);
    struct firn_rewrite_result result;
    struct fixture_run run = begin_rows(&test, op, 1, 3000, NULL, &orders[1]);
    run.memory_bytes_max = 40000;
    op->temp_folder = FIRN_TEXT("/no/such/folder");
    CHECK_STATUS(op, FIRN_NOT_FOUND, fixture_execute(op, &run, &result));
    CHECK(strstr(op->error.text, "/no/such/folder") && strstr(op->error.hint, "--temp-dir"), "%s", op->error.text);
    firn_store_close(test.store);
}

/* Memory. -------------------------------------------------------------------------------------------------------- */

/* A table of `columns` optional texts, one file, whose first columns hold noise and the others little. */
struct wide {
    struct firn_store *store;
    struct fixture_run run;
    struct firn_text folder;
};

static const char *wide_schema(struct firn_op *op, int columns)
{
    struct firn_buffer text = { 0 };
    append(op, &text, "{\"type\":\"struct\",\"schema-id\":0,\"fields\":[");
    for (int i = 1; i <= columns; i++)
        append(op, &text,
               firn_text_format(op->arena, "%s{\"id\":%d,\"name\":\"c%d\",\"required\":false,\"type\":\"string\"}",
                                i > 1 ? "," : "", i, i)
                   .data);
    append(op, &text, "]}");
    return take_text(op, &text);
}

static const char *noise(struct firn_op *op, int rows, uint32_t salt, int words)
{
    struct firn_buffer text = { 0 };
    for (int row = 0; row < rows; row++) {
        char word[9];
        for (int i = 0; i < words; i++) {
            snprintf(word, sizeof word, "%08x", hash_of(row, salt * 8 + (uint32_t)i));
            append(op, &text, word);
        }
        append(op, &text, " ");
    }
    return take_text(op, &text);
}

/* Long texts of noise, of seven kilobytes each. */
static const char *long_noise(struct firn_op *op, int rows)
{
    struct firn_buffer text = { 0 };
    for (int row = 0; row < rows; row++) {
        const char *words = noise(op, 125, 1000 + (uint32_t)row, 7);
        for (int i = 0; i < 125; i++)
            CHECK_OK(op, firn_buffer_append(op, &text, words + (ptrdiff_t)i * 57, 56));
        append(op, &text, " ");
    }
    return take_text(op, &text);
}

/* Texts of one letter many times; so many letters take turns. */
static const char *one_letter_texts(struct firn_op *op, int rows, size_t text_bytes, int letters)
{
    char *texts = firn_arena_alloc(op->arena, (size_t)rows * (text_bytes + 1) + 1);
    for (int row = 0; row < rows; row++) {
        char *text = texts + (size_t)row * (text_bytes + 1);
        memset(text, 'a' + row % letters, text_bytes);
        text[text_bytes] = ' ';
    }
    texts[(size_t)rows * (text_bytes + 1)] = '\0';
    return texts;
}

static void wide_begin(struct firn_op *op, struct wide *wide, int columns, int rows, int noisy)
{
    const char *schema = wide_schema(op, columns);
    struct firn_output_schema output = fixture_schema(op, schema);
    const char **texts = FIRN_NEW_ARRAY(op->arena, const char *, (size_t)columns);
    struct firn_chunk_options options = firn_chunk_options_default();
    wide->folder = folder_make(op->arena);
    struct firn_relocation *rule = FIRN_NEW(op->arena, struct firn_relocation);
    *rule = (struct firn_relocation){ .from = FIRN_TEXT("mem:/t"), .to = wide->folder };
    CHECK_OK(op, firn_store_open(op, &(struct firn_store_config){ rule, 1, .relaxed = true }, &wide->store));
    for (int i = 0; i < columns; i++)
        texts[i] = i > 0 && i >= noisy ? texts[i - 1] : noise(op, rows, (uint32_t)i, noisy > 1 ? 7 : 1);
    options.codec = FIRN_CODEC_NONE;
    static const char path[] = "mem:/t/data/in.parquet";
    struct firn_data_file *files = FIRN_NEW_ARRAY(op->arena, struct firn_data_file, 6);
    int64_t bytes = fixture_write(op, wide->store, path, output.footer, texts, 1, options);
    for (int i = 0; i < 6; i++)
        files[i] = fixture_file(path, bytes, rows);
    wide->run = (struct fixture_run){
        .metadata = fixture_metadata(
            op, &(struct fixture_table){ .version = 2,
                                         .schemas = schema,
                                         .properties = "\"write.parquet.compression-codec\":\"uncompressed\"" }),
        .store = wide->store,
        .files = files,
        .file_count = 6,
        .ordering = &orders[0].ordering,
    };
}

static void any_memory_limit_is_kept(void **state)
{
    struct wide wide;
    struct firn_op *op = test_op(state);
    wide_begin(op, &wide, 4, 24000, 4); /* 33 MB */
    for (size_t memory = (size_t)48 << 20; memory >= (size_t)32 << 20; memory = memory / 4 * 3)
        for (uint32_t threads = 1; threads <= 4; threads += 3)
            fixture_execute_within(op, &wide.run, memory, threads);
    firn_store_close(wide.store);
    folder_remove(wide.folder);
}

/* Rows are the same, however many threads there are, where batches are read while others are written. */
static void batches_overlap_within_memory(void **state)
{
    struct wide wide;
    struct firn_data_file files[12];
    struct firn_op *op = test_op(state);
    wide_begin(op, &wide, 6, 24000, 2);
    for (uint32_t f = 0; f < FIRN_COUNT_OF(files); f++)
        files[f] = wide.run.files[0];
    wide.run.files = files; /* 104 MB */
    wide.run.file_count = FIRN_COUNT_OF(files);
    for (uint32_t threads = 1; threads <= 4; threads += 3)
        fixture_execute_within(op, &wide.run, (size_t)88 << 20, threads);
    firn_store_close(wide.store);
    folder_remove(wide.folder);
}

static void a_thousand_columns_are_sorted_in_little_memory(void **state)
{
    struct wide wide;
    struct firn_op *op = test_op(state);
    wide_begin(op, &wide, 1000, 200, 1);
    for (uint32_t threads = 1; threads <= 4; threads += 3)
        fixture_execute_within(op, &wide.run, (size_t)64 << 20, threads);
    firn_store_close(wide.store);
    folder_remove(wide.folder);
}

/* A row group that is larger than what may be held, and takes many steps, is read once for all of them: of each file
 * the footer and every chunk. */
static void large_row_groups_are_read_once(void **state)
{
    enum { COLUMNS = 48, FOOTER_READS = 2 };
    struct wide wide;
    struct firn_op *op = test_op(state);
    wide_begin(op, &wide, COLUMNS, 4000, 2);
    assert_true(wide.run.files[0].file_bytes > 8 << 20); /* not read whole */
    wide.run.file_count = 2;
    for (int sorted = 0; sorted < 2; sorted++)
        for (uint32_t threads = 1; threads <= 4; threads += 3) {
            struct firn_rewrite_result result;
            wide.run.ordering = sorted ? &orders[0].ordering : NULL;
            fixture_execute_within_to(op, &wide.run, (size_t)24 << 20, threads, &result);
            CHECK(result.requests <= wide.run.file_count * (COLUMNS + FOOTER_READS), "sorted %d, %u threads: %" PRIu64,
                  sorted, threads, result.requests);
        }
    firn_store_close(wide.store);
    folder_remove(wide.folder);
}

/* A chunk that is larger than the memory is read in pieces, each of them once. */
static void a_chunk_may_be_larger_than_the_memory(void **state)
{
    enum { ROWS = 4000, TEXT_BYTES = 8000, READS_MAX = 45 }; /* 31 MB */
    struct wide wide;
    struct firn_op *op = test_op(state);
    wide_begin(op, &wide, 2, 10, 1);
    struct firn_output_schema output = fixture_schema(op, wide_schema(op, 2));
    const char *texts[] = { noise(op, ROWS, 1, 1), one_letter_texts(op, ROWS, TEXT_BYTES, 9) };
    struct firn_chunk_options options = firn_chunk_options_default();
    options.codec = FIRN_CODEC_NONE;
    options.dictionary = false;
    int64_t bytes = fixture_write(op, wide.store, "mem:/t/data/large.parquet", output.footer, texts, 1, options);
    struct firn_data_file file = fixture_file("mem:/t/data/large.parquet", bytes, ROWS);
    wide.run.files = &file;
    wide.run.file_count = 1;
    for (int sorted = 0; sorted < 2; sorted++)
        for (uint32_t threads = 1; threads <= 4; threads += 3) {
            struct firn_rewrite_result result;
            wide.run.ordering = sorted ? &orders[0].ordering : NULL;
            fixture_execute_within_to(op, &wide.run, (size_t)24 << 20, threads, &result);
            CHECK(result.requests <= READS_MAX, "sorted %d, %u threads: %" PRIu64, sorted, threads, result.requests);
        }
    firn_store_close(wide.store);
    folder_remove(wide.folder);
}

/* Numbers of a row each, in order. */
static const char *numbers(struct firn_op *op, int rows)
{
    struct firn_buffer text = { 0 };
    for (int row = 0; row < rows; row++)
        append(op, &text, firn_text_format(op->arena, "%08d ", row).data);
    return take_text(op, &text);
}

/* Of sorted files whose row groups do not fit, side by side, windows do. */
static void large_row_groups_are_merged(void **state)
{
    enum { RUNS = 3, ROWS = 3000, TEXT_BYTES = 4000, READS_MAX = RUNS * 40 };
    struct wide wide;
    struct firn_op *op = test_op(state);
    wide_begin(op, &wide, 2, 10, 1);
    struct firn_output_schema output = fixture_schema(op, wide_schema(op, 2));
    const char *texts[] = { numbers(op, ROWS), one_letter_texts(op, ROWS, TEXT_BYTES, 9) };
    struct firn_chunk_options options = firn_chunk_options_default();
    options.codec = FIRN_CODEC_NONE;
    options.dictionary = false;
    int64_t bytes = fixture_write(op, wide.store, "mem:/t/data/sorted.parquet", output.footer, texts, 1, options);
    struct firn_data_file files[RUNS];
    struct firn_rewrite_piece pieces[RUNS];
    static const uint32_t runs[RUNS] = { 0, 1, 2 };
    for (uint32_t i = 0; i < RUNS; i++) {
        files[i] = fixture_file("mem:/t/data/sorted.parquet", bytes, ROWS);
        pieces[i] = (struct firn_rewrite_piece){ i, 0, (uint64_t)bytes };
    }
    const struct firn_rewrite_bin bin = {
        .pieces = pieces, .piece_count = RUNS, .piece_runs = runs, .run_count = RUNS
    };
    wide.run.files = files; /* 12 MB each */
    wide.run.file_count = RUNS;
    wide.run.bins = &bin;
    wide.run.bin_count = 1;
    for (uint32_t threads = 1; threads <= 4; threads += 3) {
        struct firn_rewrite_result result;
        fixture_execute_within_to(op, &wide.run, (size_t)64 << 20, threads, &result);
        assert_int_equal(result.sort_ways[FIRN_SORT_WAY_MERGED], 1);
        CHECK(result.requests <= READS_MAX, "%u threads: %" PRIu64, threads, result.requests);
    }
    firn_store_close(wide.store);
    folder_remove(wide.folder);
}

/* Two row groups: what rows take is known from short ones when the long ones come. */
static void rows_may_become_long(void **state)
{
    struct wide wide;
    struct firn_op *op = test_op(state);
    wide_begin(op, &wide, 1, 5000, 1);
    struct firn_output_schema output = fixture_schema(op, wide_schema(op, 1));
    const char *texts[] = { noise(op, 5000, 1, 1), long_noise(op, 600) };
    int64_t bytes = fixture_write(op, wide.store, "mem:/t/data/long.parquet", output.footer, texts, 2,
                                  firn_chunk_options_default());
    struct firn_data_file files[6];
    for (int i = 0; i < 6; i++)
        files[i] = fixture_file("mem:/t/data/long.parquet", bytes, 5600);
    wide.run.files = files; /* 25 MB of long texts */
    for (uint32_t threads = 1; threads <= 4; threads += 3)
        fixture_execute_within(op, &wide.run, (size_t)32 << 20, threads);
    firn_store_close(wide.store);
    folder_remove(wide.folder);
}

/* Texts that no codec makes shorter, then some that hardly take room in their file: neither what files take nor what a
 * dictionary does tells what rows take. */
static void rows_may_be_small_in_their_file(void **state)
{
    enum { ROWS = 20000, TEXT_BYTES = 2000, TEXTS = 4 };
    struct wide wide;
    struct firn_op *op = test_op(state);
    wide_begin(op, &wide, 1, 10, 1);
    struct firn_output_schema output = fixture_schema(op, wide_schema(op, 1));
    const char *texts[] = { long_noise(op, 600), one_letter_texts(op, ROWS, TEXT_BYTES, TEXTS) };
    static const char *const paths[] = { "mem:/t/data/long.parquet", "mem:/t/data/repeated.parquet" };
    static const int64_t rows[] = { 600, ROWS };
    struct firn_data_file files[2];
    for (int i = 0; i < 2; i++)
        files[i] = fixture_file(
            paths[i],
            fixture_write(op, wide.store, paths[i], output.footer, &texts[i], 1, firn_chunk_options_default()),
            rows[i]);
    wide.run.files = files; /* 40 MB */
    wide.run.file_count = 2;
    for (int sorted = 0; sorted < 2; sorted++)
        for (uint32_t threads = 1; threads <= 4; threads += 3) {
            wide.run.ordering = sorted ? &orders[0].ordering : NULL;
            fixture_execute_within(op, &wide.run, (size_t)24 << 20, threads);
        }
    firn_store_close(wide.store);
    folder_remove(wide.folder);
}

/* Texts of four megabytes each, of which a sixteenth of the memory holds one. */
static void values_may_be_huge(void **state)
{
    enum { ROWS = 3, TEXT_BYTES = 4 << 20 };
    struct wide wide;
    struct firn_op *op = test_op(state);
    wide_begin(op, &wide, 2, 10, 1);
    struct firn_output_schema output = fixture_schema(op, wide_schema(op, 2));
    const char *texts[] = { noise(op, ROWS, 1, 1), one_letter_texts(op, ROWS, TEXT_BYTES, ROWS) };
    struct firn_chunk_options options = firn_chunk_options_default();
    options.codec = FIRN_CODEC_NONE;
    int64_t bytes = fixture_write(op, wide.store, "mem:/t/data/huge.parquet", output.footer, texts, 1, options);
    struct firn_data_file files[6];
    for (int i = 0; i < 6; i++)
        files[i] = fixture_file("mem:/t/data/huge.parquet", bytes, ROWS);
    wide.run.files = files; /* 75 MB */
    for (int sorted = 0; sorted < 2; sorted++)
        for (uint32_t threads = 1; threads <= 16; threads *= 16) {
            struct firn_rewrite_result result;
            wide.run.ordering = sorted ? &orders[0].ordering : NULL;
            fixture_execute_within_to(op, &wide.run, (size_t)64 << 20, threads, &result);
            CHECK(result.file_count == 1, "sorted %d: %u files", sorted, result.file_count);
        }
    firn_store_close(wide.store);
    folder_remove(wide.folder);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED 0
#endif

/* Private memory that the process has now. */
static rlim_t data_bytes(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    int found = file ? fscanf(file, "%*u %*u %*u %*u %*u %lu", &pages) : 0;
    if (file)
        fclose(file);
    return found == 1 ? (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) : 0;
}

/* In a process that the kernel gives no more than that. */
static void execute_limited(struct firn_op *op, struct fixture_run *run, size_t memory, size_t overhead)
{
    int ended;
    pid_t child = fork();
    if (child == 0) {
        struct firn_budget budget = { .limit_bytes = memory };
        struct firn_rewrite_result result;
        rlim_t most = data_bytes() + memory + overhead;
        run->memory_bytes_max = memory;
        op->budget = &budget;
        firn_status status = setrlimit(RLIMIT_DATA, &(struct rlimit){ most, most }) == 0 ? FIRN_OK : FIRN_SYSTEM;
        if (status == FIRN_OK)
            status = firn_pool_open(op, 2, &run->pool);
        if (status == FIRN_OK)
            status = fixture_execute(op, run, &result);
        if (status != FIRN_OK)
            fprintf(stderr, "%s\n", op->error.text);
        _exit(status == FIRN_OK ? 0 : 1);
    }
    CHECK(waitpid(child, &ended, 0) == child && WIFEXITED(ended) && WEXITSTATUS(ended) == 0, "%d", ended);
}

/* What is not charged to the budget is little, too: of a thousand columns, and of a multiple of the memory. */
static void the_process_keeps_its_memory_limit(void **state)
{
    static const struct {
        int columns, rows;
        uint32_t files;
        size_t memory, overhead;
    } cases[] = {
        { 6, 24000, 12, (size_t)32 << 20, (size_t)32 << 20 }, /* 104 MB */
        { 6, 24000, 12, (size_t)96 << 20, (size_t)32 << 20 }, /* enough to read while batches are written */
        { 1000, 200, 6, (size_t)64 << 20, (size_t)64 << 20 }, /* 75 MB */
    };
    struct firn_op *op = test_op(state);
    if (SANITIZED || data_bytes() == 0)
        skip();
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct wide wide;
        struct firn_data_file files[12];
        wide_begin(op, &wide, cases[i].columns, cases[i].rows, 2);
        for (uint32_t f = 0; f < cases[i].files; f++)
            files[f] = wide.run.files[0];
        wide.run.files = files;
        wide.run.file_count = cases[i].files;
        wide.run.counts_only = true;
        for (int sorted = 0; sorted < 2; sorted++) {
            wide.run.ordering = sorted ? &orders[0].ordering : NULL;
            execute_limited(op, &wide.run, cases[i].memory, cases[i].overhead);
        }
        firn_store_close(wide.store);
        folder_remove(wide.folder);
    }
}

/* Keys of every kind in the order of memcmp, rows of equal ones in their own: few and many, of one length and of many,
 * alike for long, few of them over and over. */
static void keys_are_sorted(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_pool *pool;
    struct dice dice = { 7 };
    CHECK_OK(op, firn_pool_open(op, 3, &pool));
    static const uint32_t counts[] = { 0, 1, 2, 31, 33, 1000, 70000 };
    for (int kind = 0; kind < 5; kind++) {
        bool is_fixed = kind == 0 || kind == 4;
        for (size_t c = 0; c < FIRN_COUNT_OF(counts); c++) {
            struct firn_buffer bytes = { 0 }, offsets = { 0 }, order = { 0 };
            uint32_t count = counts[c];
            for (uint32_t i = 0; i < count; i++) {
                uint8_t key[64] = { 0 };
                size_t shared = is_fixed || kind == 1 ? 5 : roll(&dice, 40);
                size_t len = is_fixed ? 13 : shared + 1 + roll(&dice, 12);
                for (size_t at = shared; at < len; at++)
                    key[at] = (uint8_t)(1 + roll(&dice, kind >= 3 ? 2 : 200));
                uint64_t offset = bytes.len;
                key[len++] = is_fixed ? 1 : 255; /* ends no other */
                CHECK_OK(op, firn_buffer_append(op, &offsets, &offset, sizeof offset));
                CHECK_OK(op, firn_buffer_append(op, &bytes, key, len));
            }
            uint64_t end = bytes.len;
            CHECK_OK(op, firn_buffer_append(op, &offsets, &end, sizeof end));
            struct firn_row_keys keys = { bytes.data, is_fixed ? NULL : (const uint64_t *)(const void *)offsets.data,
                                          14, count };
            CHECK_OK(op, firn_key_sort(op, pool, &keys, &order));
            const uint32_t *rows = (const uint32_t *)(const void *)order.data;
            uint64_t sum = 0;
            for (uint32_t i = 0; i < count; i++) {
                sum += rows[i];
                if (i == 0)
                    continue;
                int compared = firn_key_compare(firn_row_key(&keys, rows[i - 1]), firn_row_key(&keys, rows[i]));
                CHECK(compared < 0 || (compared == 0 && rows[i - 1] < rows[i]), "kind %d, %u keys: %u", kind, count, i);
            }
            CHECK(sum == (uint64_t)count * (count ? count - 1 : 0) / 2, "a row is missing");
            firn_buffer_done(&bytes);
            firn_buffer_done(&offsets);
            firn_buffer_done(&order);
        }
    }
    firn_pool_close(pool);
}

/* Keys come back from temporary files, which may be damaged: one then begins all others. */
static void keys_that_begin_others_are_sorted(void **state)
{
    enum { COUNT = 40000, LEN = 2 };
    struct firn_op *op = test_op(state);
    struct firn_buffer order = { 0 };
    uint8_t *bytes = firn_arena_alloc(op->arena, (size_t)COUNT * LEN);
    uint64_t *offsets = FIRN_NEW_ARRAY(op->arena, uint64_t, COUNT + 1);
    memset(bytes, 0, (size_t)COUNT * LEN);
    for (uint32_t i = 0; i < COUNT; i++)
        offsets[i + 1] = offsets[i] + (i + 1 < COUNT ? LEN : 1);
    const struct firn_row_keys keys = { bytes, offsets, 0, COUNT };
    CHECK_OK(op, firn_key_sort(op, NULL, &keys, &order));
    const uint32_t *rows = (const uint32_t *)(const void *)order.data;
    assert_int_equal(rows[0], COUNT - 1);
    for (uint32_t i = 1; i < COUNT; i++)
        assert_int_equal(rows[i], i - 1);
    firn_buffer_done(&order);
}

/* Who is killed between temporary files and the first output leaves neither. */
static firn_status kill_at_write(struct firn_op *op, void *context, struct firn_text location)
{
    (void)op, (void)context, (void)location;
    kill(getpid(), SIGKILL);
    return FIRN_OK;
}

static void temporary_files_go_with_a_killed_process(void **state)
{
    struct table_test test;
    struct firn_op *op = test_op(state);
    struct firn_rewrite_result result;
    int ended;
    struct firn_text folder = folder_make(op->arena);
    struct fixture_run run = begin_rows(&test, op, 1, 3000, NULL, &orders[1]);
    run.memory_bytes_max = 40000;
    op->temp_folder = folder;
    pid_t child = fork();
    if (child == 0) {
        const struct firn_watch watch = { .before_write = kill_at_write };
        op->watch = &watch;
        firn_status status = fixture_execute(op, &run, &result);
        _exit(status == FIRN_OK ? 0 : 1);
    }
    CHECK(waitpid(child, &ended, 0) == child && WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL, "%d", ended);
    CHECK(rmdir(folder.data) == 0, "something is left in %s", folder.data);
    firn_store_close(test.store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(keys_are_sorted),
        TEST(keys_that_begin_others_are_sorted),
        TEST(rows_are_the_same_and_in_order),
        TEST(files_end_where_the_key_changes),
        TEST(a_key_may_fill_several_files),
        TEST(a_table_without_rows_gives_no_file),
        TEST(a_failure_leaves_nothing_behind),
        TEST(a_folder_without_room_is_named),
        TEST(temporary_files_go_with_a_killed_process),
        TEST(any_memory_limit_is_kept),
        TEST(batches_overlap_within_memory),
        TEST(a_thousand_columns_are_sorted_in_little_memory),
        TEST(large_row_groups_are_read_once),
        TEST(a_chunk_may_be_larger_than_the_memory),
        TEST(large_row_groups_are_merged),
        TEST(rows_may_become_long),
        TEST(rows_may_be_small_in_their_file),
        TEST(values_may_be_huge),
        TEST(the_process_keeps_its_memory_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
