/* Whole groups: routing to partitions, pieces, row groups, rolling, row lineage, proof and clean-up. */
#include "fixture.h"

#include "../support/fault_store.h"
#include "../support/folder.h"
#include "store/driver.h"

#define FLAT                                                                                                           \
    "{\"type\":\"struct\",\"schema-id\":0,\"fields\":["                                                                \
    "{\"id\":1,\"name\":\"id\",\"required\":true,\"type\":\"long\"},"                                                  \
    "{\"id\":2,\"name\":\"name\",\"required\":false,\"type\":\"string\"},"                                             \
    "{\"id\":3,\"name\":\"tags\",\"required\":false,\"type\":{\"type\":\"list\",\"element-id\":4,"                     \
    "\"element-required\":false,\"element\":\"int\"}}]}"

/* A store in memory with one folder of inputs. */
struct group_test {
    struct firn_op *op;
    struct firn_store *store;
    struct firn_output_schema schema;
    struct firn_data_file files[160];
    uint32_t file_count;
};

static void test_begin(struct group_test *test, struct firn_op *op, const char *schema)
{
    *test = (struct group_test){ .op = op, .schema = fixture_schema(op, schema) };
    CHECK_OK(op, firn_store_open_memory(op, &test->store));
}

static struct firn_data_file *add_file(struct group_test *test, const char *const *columns, size_t groups, int64_t rows,
                                       struct firn_chunk_options options)
{
    const char *path = firn_text_format(test->op->arena, "mem:/t/data/in-%u.parquet", test->file_count).data;
    int64_t bytes = fixture_write(test->op, test->store, path, test->schema.footer, columns, groups, options);
    struct firn_data_file *file = &test->files[test->file_count++];
    *file = fixture_file(path, bytes, rows);
    return file;
}

static struct fixture_run run_of(const struct group_test *test, const struct fixture_table *table)
{
    return (struct fixture_run){
        .metadata = fixture_metadata(test->op, table),
        .store = test->store,
        .files = test->files,
        .file_count = test->file_count,
    };
}

static size_t objects_in(struct group_test *test)
{
    size_t count;
    CHECK_OK(test->op, store_count(test->op, test->store, FIRN_TEXT("mem:/t"), &count));
    return count;
}

/* `count` numbers from `start` on, and matching names (every third null) and lists (every fourth empty). */
static void make_columns(struct firn_op *op, int64_t start, int count, const char *out[3])
{
    struct firn_buffer text[3] = { 0 };
    for (int64_t i = start; i < start + count; i++) {
        struct firn_text slots[3] = {
            firn_text_format(op->arena, "%" PRId64 " ", i),
            i % 3 ? firn_text_format(op->arena, "name-%" PRId64 " ", i * 7919 % 104729) : FIRN_TEXT("~ "),
            i % 4 ? firn_text_format(op->arena, "0.3=%d 1.2 1.3=%d ", (int)i, (int)-i) : FIRN_TEXT("0.1 "),
        };
        for (int c = 0; c < 3; c++)
            CHECK_OK(op, firn_buffer_append(op, &text[c], slots[c].data, slots[c].len));
    }
    for (int c = 0; c < 3; c++) {
        out[c] = firn_text_copy(op->arena, firn_text_of_bytes(firn_buffer_bytes(&text[c]))).data;
        firn_buffer_done(&text[c]);
    }
}

static void check_dump(struct group_test *test, const struct firn_rewrite_result *result, const char *leaf,
                       const char *expected)
{
    const char *got = fixture_dump(test->op, test->store, result, leaf);
    size_t len = strlen(expected);
    while (len > 0 && expected[len - 1] == ' ')
        len--;
    CHECK(strlen(got) == len && memcmp(got, expected, len) == 0, "%s is '%.200s', not '%.200s'", leaf, got, expected);
}

static void many_files_become_one_in_order(void **state)
{
    struct group_test test;
    struct firn_op *op = test_op(state);
    struct firn_pool *pool;
    struct firn_rewrite_result result;
    const char *all[3], *part[3];
    test_begin(&test, op, FLAT);
    for (int i = 0; i < 40; i++) {
        struct firn_chunk_options options = firn_chunk_options_default();
        options.dictionary = i % 2;
        options.page_v2 = i % 3 == 0;
        options.page_rows_max = 1 + i;
        options.codec = i % 5 ? FIRN_CODEC_ZSTD : FIRN_CODEC_SNAPPY;
        make_columns(op, i * 50, 50, part);
        add_file(&test, part, 1, 50, options);
    }
    make_columns(op, 0, 2000, all);
    CHECK_OK(op, firn_pool_open(op, 3, &pool));
    for (int variant = 0; variant < 3; variant++) {
        struct fixture_run run = run_of(&test, &(struct fixture_table){ .version = 2, .schemas = FLAT });
        run.pool = variant == 0 ? NULL : pool;
        run.memory_bytes_max = variant == 2 ? 4096 : 0; /* the window then holds a few files at a time */
        CHECK_OK(op, fixture_execute(op, &run, &result));
        CHECK(result.rows_in == 2000 && result.rows_out == 2000, "%" PRId64, result.rows_out);
        CHECK(result.requests == 40, "%" PRIu64 " reads", result.requests);
        CHECK(result.fingerprint_count == 3 && result.file_count >= 1, "%u files", result.file_count);
        check_dump(&test, &result, "id", all[0]);
        check_dump(&test, &result, "name", all[1]);
        check_dump(&test, &result, "tags.list.element", all[2]);
        firn_rewrite_result_discard(op, test.store, &result);
        CHECK(objects_in(&test) == 40, "something is left");
    }
    firn_pool_close(pool);
    firn_store_close(test.store);
}

/* Every file but the first is expected once, before it is opened, and no more of them than will be opened with those
 * that a window holds, but few where they are at hand; the bytes that are read stay the same. */
static void files_to_come_are_expected(void **state)
{
    enum { FILES = 150, WINDOW_FILES = 32 }; /* 1 MiB of files and what is known of each */
    struct group_test test;
    struct firn_op *op = test_op(state);
    struct firn_rewrite_result result;
    struct fault_report report;
    const char *part[3];
    test_begin(&test, op, FLAT);
    make_columns(op, 0, 50, part);
    add_file(&test, part, 1, 50, firn_chunk_options_default());
    while (test.file_count < FILES)
        test.files[test.file_count++] = test.files[0];
    struct fixture_run run = run_of(&test, &(struct fixture_table){ .version = 2, .schemas = FLAT });
    run.counts_only = true;
    for (int variant = 0; variant < 3; variant++) {
        struct fault fault = { .at_call = UINT32_MAX, .watched = "/in-", .at_hand = variant == 2 };
        unsigned wanted = fault.at_hand ? (FILES - 1 + 15) / 16 : FILES - 1;
        int most = variant == 0 ? FILES - 1 : 2 * WINDOW_FILES;
        run.memory_bytes_max = variant == 0 ? 0 : 4096;
        CHECK_OK(op, fault_store_open(op, test.store, fault, &report, &run.store));
        CHECK_OK(op, fixture_execute(op, &run, &result));
        unsigned expected = atomic_load(&report.expected);
        int ahead = atomic_load(&report.expected_ahead);
        CHECK(expected == wanted, "%u are expected", expected);
        CHECK(ahead <= most && (ahead > 0 || fault.at_hand), "%d are expected before they are opened", ahead);
        CHECK(result.rows_in == 50 * FILES && result.requests == FILES, "%" PRIu64 " reads", result.requests);
        firn_rewrite_result_discard(op, test.store, &result);
        firn_store_close(run.store);
    }
    firn_store_close(test.store);
}

static void metrics_and_places_are_recorded(void **state)
{
    struct group_test test;
    struct firn_op *op = test_op(state);
    struct firn_rewrite_result result;
    struct firn_bytes bound;
    int64_t count;
    static const char *const columns[] = { "5 -7 9", "~ bb aaaaaaaaaaaaaaaaaaaaa", "0.1 0.3=4 0.0" };
    test_begin(&test, op, FLAT);
    add_file(&test, columns, 1, 3, firn_chunk_options_default());
    struct fixture_run run = run_of(&test, &(struct fixture_table){ .version = 2, .schemas = FLAT });
    CHECK_OK(op, fixture_execute(op, &run, &result));
    const struct firn_data_file *file = &result.files[0];
    CHECK(file->record_count == 3 && file->split_offset_count == 1 && file->split_offsets[0] == 4, "places");
    CHECK(file->file_bytes > 0 && result.bytes_out == (uint64_t)file->file_bytes, "size");
    CHECK(file->sort_order_id == 0 && file->first_row_id == FIRN_ABSENT && file->spec_id == 0, "ids");
    CHECK(firn_count_map_find(&file->null_value_counts, 2, &count) && count == 1, "nulls");
    CHECK(firn_count_map_find(&file->value_counts, 1, &count) && count == 3, "values");
    CHECK(firn_count_map_find(&file->column_sizes, 4, &count) && count > 0, "sizes of list elements");
    CHECK(!firn_count_map_find(&file->value_counts, 4, &count), "no counts of list elements");
    CHECK(firn_bound_map_find(&file->lower_bounds, 1, &bound) && (int64_t)firn_load_le64(bound.data) == -7, "lower");
    CHECK(firn_bound_map_find(&file->upper_bounds, 2, &bound) && firn_text_is(firn_text_of_bytes(bound), "bb"),
          "upper");
    CHECK(firn_bound_map_find(&file->lower_bounds, 2, &bound) && bound.len == 16, "lower bound is cut");
    firn_store_close(test.store);
}

/* As the reference has it: the columns of the table's sort order keep bounds where the default leaves them out. */
static void sorted_columns_keep_their_bounds(void **state)
{
    struct group_test test;
    struct firn_op *op = test_op(state);
    struct firn_rewrite_result result;
    struct firn_bytes bound;
    static const char *const columns[] = { "5 -7 9", "a b c", "0.1 0.3 0.0" };
    test_begin(&test, op, FLAT);
    add_file(&test, columns, 1, 3, firn_chunk_options_default());
    struct fixture_run run =
        run_of(&test, &(struct fixture_table){ .version = 2,
                                               .schemas = FLAT,
                                               .properties = "\"write.metadata.metrics.default\": \"counts\"",
                                               .sort_order = "{\"order-id\":1,\"fields\":[{\"transform\":\"identity\","
                                                             "\"source-id\":1,\"direction\":\"asc\","
                                                             "\"null-order\":\"nulls-first\"}]}" });
    CHECK_OK(op, fixture_execute(op, &run, &result));
    CHECK(firn_bound_map_find(&result.files[0].lower_bounds, 1, &bound), "the sorted column");
    CHECK(!firn_bound_map_find(&result.files[0].lower_bounds, 2, &bound), "the other one");
    firn_store_close(test.store);
}

/* R40: every row group belongs to the one piece that holds its midpoint. */
static void pieces_smaller_than_a_row_group_lose_nothing(void **state)
{
    struct group_test test;
    struct firn_op *op = test_op(state);
    struct firn_rewrite_result result;
    const char *columns[6], *all[3];
    test_begin(&test, op, FLAT);
    make_columns(op, 0, 100, columns);
    make_columns(op, 100, 50, columns + 3);
    make_columns(op, 0, 150, all);
    struct firn_data_file *file = add_file(&test, columns, 2, 150, firn_chunk_options_default());
    struct firn_rewrite_piece pieces[7];
    struct firn_rewrite_bin bins[7];
    uint64_t size = (uint64_t)file->file_bytes;
    for (uint32_t i = 0; i < 7; i++) {
        pieces[i] = (struct firn_rewrite_piece){ 0, size * i / 7, size * (i + 1) / 7 - size * i / 7 };
        bins[i] = (struct firn_rewrite_bin){ &pieces[i], 1 };
    }
    struct fixture_run run = run_of(&test, &(struct fixture_table){ .version = 2, .schemas = FLAT });
    struct firn_pool *pool;
    CHECK_OK(op, firn_pool_open(op, 4, &pool));
    run.bins = bins;
    run.bin_count = 7;
    run.pool = pool; /* bins run side by side */
    run.memory_bytes_max = UINT64_C(4) << 30;
    CHECK_OK(op, fixture_execute(op, &run, &result));
    CHECK(result.rows_out == 150 && result.file_count == 2, "%u files", result.file_count);
    check_dump(&test, &result, "id", all[0]);
    check_dump(&test, &result, "tags.list.element", all[2]);

    run.bin_count = 1; /* a plan that forgets part of a file is caught */
    CHECK_STATUS(op, FIRN_VERIFY, fixture_execute(op, &run, &result));
    CHECK(objects_in(&test) == 3, "only the input and the two files of the first run are there");
    firn_pool_close(pool);
    firn_store_close(test.store);
}

static void files_without_rows_give_no_file(void **state)
{
    struct group_test test;
    struct firn_op *op = test_op(state);
    struct firn_rewrite_result result;
    static const char *const columns[] = { "", "", "" };
    test_begin(&test, op, FLAT);
    add_file(&test, NULL, 0, 0, firn_chunk_options_default());
    add_file(&test, columns, 1, 0, firn_chunk_options_default());
    struct fixture_run run = run_of(&test, &(struct fixture_table){ .version = 2, .schemas = FLAT });
    CHECK_OK(op, fixture_execute(op, &run, &result));
    CHECK(result.file_count == 0 && result.rows_out == 0, "%u files", result.file_count);
    firn_store_close(test.store);
}

/* Random words: they do not compress to less than half, so sizes are predictable. */
static const char *make_noise(struct firn_op *op, int rows)
{
    struct firn_buffer names = { 0 };
    for (int i = 0; i < rows; i++) {
        char name[66];
        uint8_t noise[32];
        op->env->random(op->env->context, noise, sizeof noise);
        for (int b = 0; b < 32; b++)
            snprintf(name + 2 * b, 4, "%02x ", noise[b]);
        CHECK_OK(op, firn_buffer_append(op, &names, name, 65));
    }
    const char *text = firn_text_copy(op->arena, firn_text_of_bytes(firn_buffer_bytes(&names))).data;
    firn_buffer_done(&names);
    return text;
}

static const char *repeat(struct firn_op *op, const char *token, int count)
{
    struct firn_buffer text = { 0 };
    for (int i = 0; i < count; i++)
        CHECK_OK(op, firn_buffer_append(op, &text, token, strlen(token)));
    const char *copy = firn_text_copy(op->arena, firn_text_of_bytes(firn_buffer_bytes(&text))).data;
    firn_buffer_done(&text);
    return copy;
}

static void add_bulky_file(struct group_test *test, int rows)
{
    const char *columns[] = { repeat(test->op, "7 ", rows), make_noise(test->op, rows),
                              repeat(test->op, "0.0 ", rows) };
    add_file(test, columns, 1, rows, firn_chunk_options_default());
}

static void row_groups_and_files_have_the_size_asked_for(void **state)
{
    struct group_test test;
    struct firn_op *op = test_op(state);
    struct firn_rewrite_result result;
    test_begin(&test, op, FLAT);
    for (int i = 0; i < 20; i++)
        add_bulky_file(&test, 3000); /* about 100 KB each */
    struct fixture_run run =
        run_of(&test, &(struct fixture_table){ .version = 2,
                                               .schemas = FLAT,
                                               .properties = "\"write.parquet.row-group-size-bytes\":\"262144\","
                                                             "\"write.parquet.page-size-bytes\":\"16384\"" });
    run.file_bytes_max = 700000;
    CHECK_OK(op, fixture_execute(op, &run, &result));
    CHECK(result.rows_out == 60000 && result.file_count >= 3 && result.file_count <= 4, "%u files", result.file_count);
    for (uint32_t i = 0; i < result.file_count; i++) {
        const struct firn_data_file *file = &result.files[i];
        CHECK(file->file_bytes < 760000, "file %u: %" PRId64, i, file->file_bytes);
        for (uint32_t g = 1; g + 1 < file->split_offset_count; g++) {
            int64_t bytes = file->split_offsets[g + 1] - file->split_offsets[g];
            CHECK(bytes > 180000 && bytes < 300000, "row group %u: %" PRId64, g, bytes);
        }
    }
    firn_store_close(test.store);
}

#define WORD(id, name) "{\"id\":" #id ",\"name\":\"" name "\",\"required\":false,\"type\":\"string\"}"
#define WORDS                                                                                                          \
    "{\"type\":\"struct\",\"schema-id\":0,\"fields\":[" WORD(1, "a") "," WORD(2, "b") "," WORD(3, "c") "," WORD(       \
        4, "d") "]}"

/* Whatever the memory limit and however many threads, row groups end early enough to stay below it, and no more columns
 * are worked at once than fit; in files, so that the store takes none. */
static void any_memory_limit_is_kept(void **state)
{
    struct group_test test;
    struct firn_op *op = test_op(state);
    struct firn_text folder = folder_make(op->arena);
    struct firn_relocation rule = { .from = FIRN_TEXT("mem:/t"), .to = folder };
    test = (struct group_test){ .op = op, .schema = fixture_schema(op, WORDS) };
    CHECK_OK(op, firn_store_open(op, &(struct firn_store_config){ &rule, 1, .relaxed = true }, &test.store));
    const char *columns[4];
    struct firn_chunk_options options = firn_chunk_options_default();
    options.codec = FIRN_CODEC_NONE;
    for (int i = 0; i < 4; i++)
        columns[i] = make_noise(op, 40000);
    add_file(&test, columns, 1, 40000, options); /* larger than what is read whole */
    while (test.file_count < 6)
        test.files[test.file_count++] = test.files[0];
    static const char plain[] = "\"write.parquet.compression-codec\":\"uncompressed\""; /* 65 MB in all */
    struct fixture_run run =
        run_of(&test, &(struct fixture_table){ .version = 2, .schemas = WORDS, .properties = plain });
    for (size_t memory = (size_t)64 << 20; memory >= (size_t)32 << 20; memory = memory / 4 * 3)
        for (uint32_t threads = 1; threads <= 16; threads *= 16)
            fixture_execute_within(op, &run, memory, threads);
    firn_store_close(test.store);
    folder_remove(folder);
}

#define BY_ID_AND_NAME                                                                                                 \
    "{\"spec-id\":0,\"fields\":[]},{\"spec-id\":1,\"fields\":["                                                        \
    "{\"source-id\":1,\"field-id\":1000,\"name\":\"id_trunc\",\"transform\":\"truncate[10]\"},"                        \
    "{\"source-id\":2,\"field-id\":1001,\"name\":\"name\",\"transform\":\"identity\"}]}"

static void rows_of_an_old_spec_land_in_their_partitions(void **state)
{
    struct group_test test;
    struct firn_op *op = test_op(state);
    struct firn_pool *pool;
    struct firn_rewrite_result result;
    static const char *const columns[] = {
        "1 12 3 14 5 6",
        "a b a b ~ a",
        "0.3=1 1.3=2 0.3=3 0.1 0.3=4 0.0 0.3=6 1.2",
    };
    test_begin(&test, op, FLAT);
    struct firn_chunk_options options = firn_chunk_options_default();
    options.page_rows_max = 2;
    add_file(&test, columns, 1, 6, options);
    CHECK_OK(op, firn_pool_open(op, 2, &pool));
    struct fixture_run run =
        run_of(&test, &(struct fixture_table){ .version = 2, .schemas = FLAT, .specs = BY_ID_AND_NAME });
    run.output_spec_id = 1;
    run.pool = pool;
    CHECK_OK(op, fixture_execute(op, &run, &result));
    CHECK(result.file_count == 3 && result.rows_out == 6, "%u files", result.file_count);
    check_dump(&test, &result, "id", "1 3 6 12 14 5");
    check_dump(&test, &result, "name", "a a a b b ~");
    check_dump(&test, &result, "tags.list.element", "0.3=1 1.3=2 0.1 0.3=6 1.2 0.3=3 0.3=4 0.0");
    static const char *const paths[] = { "/data/id_trunc=0/name=a/", "/data/id_trunc=10/name=b/",
                                         "/data/id_trunc=0/name=null/" };
    for (uint32_t i = 0; i < 3; i++) {
        const struct firn_data_file *file = &result.files[i];
        CHECK(strstr(firn_text_copy(op->arena, file->path).data, paths[i]), "%.*s", FIRN_FMT(file->path));
        CHECK(file->spec_id == 1 && file->partition.count == 2, "spec %d", file->spec_id);
    }
    CHECK(result.files[1].partition.values[0].integer == 10, "tuple");
    firn_pool_close(pool);
    firn_store_close(test.store);
}

/* More partitions than are written side by side, rows of all of them in every file, tiny memory. */
static void many_partitions_need_several_passes(void **state)
{
    struct group_test test;
    struct firn_op *op = test_op(state);
    struct firn_rewrite_result result;
    const char *part[3];
    test_begin(&test, op, FLAT);
    for (int i = 0; i < 4; i++) {
        make_columns(op, i * 300, 300, part);
        add_file(&test, part, 1, 300, firn_chunk_options_default());
    }
    struct fixture_run run = run_of(
        &test,
        &(struct fixture_table){ .version = 2,
                                 .schemas = FLAT,
                                 .specs = "{\"spec-id\":0,\"fields\":[]},{\"spec-id\":1,\"fields\":[{\"source-id\":1,"
                                          "\"field-id\":1000,\"name\":\"b\",\"transform\":\"bucket[150]\"}]}" });
    run.output_spec_id = 1;
    CHECK_OK(op, fixture_execute(op, &run, &result));
    CHECK(result.rows_out == 1200 && result.file_count > 140 && result.file_count <= 150, "%u", result.file_count);
    run.memory_bytes_max = 10000;
    uint32_t files = result.file_count;
    CHECK_OK(op, fixture_execute(op, &run, &result));
    CHECK(result.rows_out == 1200 && result.file_count >= files, "%u", result.file_count);
    firn_store_close(test.store);
}

/* The tuple's value wins over the column, which is there or not; each file has its own. */
static void identity_constants_come_from_the_tuple(void **state)
{
    struct group_test test;
    struct firn_op *op = test_op(state);
    struct firn_rewrite_result result;
    static const char *const columns[] = { "1 2", "x y", "0.0 0.0" };
    test_begin(&test, op, FLAT);
    add_file(&test, columns, 1, 2, firn_chunk_options_default());
    test.schema = fixture_schema(op, "{\"type\":\"struct\",\"schema-id\":0,\"fields\":[{\"id\":1,\"name\":\"id\","
                                     "\"required\":true,\"type\":\"long\"}]}");
    add_file(&test, columns, 1, 2, firn_chunk_options_default());
    add_file(&test, columns, 1, 2, firn_chunk_options_default());
    struct firn_value values[] = {
        { .type = FIRN_TYPE_STRING, .bytes = firn_bytes_of_text(FIRN_TEXT("one")) },
        { .type = FIRN_TYPE_STRING, .bytes = firn_bytes_of_text(FIRN_TEXT("two")) },
        { .type = FIRN_TYPE_STRING, .is_null = true },
    };
    for (int i = 0; i < 3; i++) {
        test.files[i].spec_id = 1;
        test.files[i].partition = (struct firn_partition){ &values[i], 1 };
    }
    struct fixture_run run = run_of(
        &test,
        &(struct fixture_table){ .version = 2,
                                 .schemas = FLAT,
                                 .specs = "{\"spec-id\":0,\"fields\":[]},{\"spec-id\":1,\"fields\":[{\"source-id\":2,"
                                          "\"field-id\":1000,\"name\":\"name\",\"transform\":\"identity\"}]}" });
    CHECK_OK(op, fixture_execute(op, &run, &result));
    CHECK(result.file_count == 1, "%u files", result.file_count);
    check_dump(&test, &result, "name", "one one two two ~ ~");

    run.output_spec_id = 1; /* files keep their partitions, one output each */
    CHECK_OK(op, fixture_execute(op, &run, &result));
    CHECK(result.file_count == 3, "%u files", result.file_count);
    check_dump(&test, &result, "name", "one one two two ~ ~");
    firn_store_close(test.store);
}

#define LINEAGE                                                                                                        \
    "{\"type\":\"struct\",\"schema-id\":1,\"fields\":["                                                                \
    "{\"id\":1,\"name\":\"id\",\"required\":true,\"type\":\"long\"},"                                                  \
    "{\"id\":2147483540,\"name\":\"_row_id\",\"required\":false,\"type\":\"long\"},"                                   \
    "{\"id\":2147483539,\"name\":\"_last_updated_sequence_number\",\"required\":false,\"type\":\"long\"}]}"

static void row_lineage_is_carried(void **state)
{
    struct group_test test;
    struct firn_op *op = test_op(state);
    struct firn_rewrite_result result;
    static const char *const plain[] = { "1 2", "3" };
    static const char *const stored[] = { "4 5 6", "70 ~ 72", "~ 3 4" };
    test_begin(&test, op,
               "{\"type\":\"struct\",\"schema-id\":0,\"fields\":[{\"id\":1,\"name\":\"id\",\"required\":"
               "true,\"type\":\"long\"}]}");
    add_file(&test, plain, 2, 3, firn_chunk_options_default())->first_row_id = 100;
    add_file(&test, plain, 1, 2, firn_chunk_options_default());
    test.schema = fixture_schema(op, LINEAGE);
    add_file(&test, stored, 1, 3, firn_chunk_options_default())->first_row_id = 200;
    add_file(&test, stored, 1, 3, firn_chunk_options_default());
    struct fixture_run run =
        run_of(&test, &(struct fixture_table){ .version = 3,
                                               .schemas = "{\"type\":\"struct\",\"schema-id\":0,\"fields\":[{\"id\":1,"
                                                          "\"name\":\"id\",\"required\":true,\"type\":\"long\"}]}" });
    static const int64_t sequence_numbers[] = { 11, 12, 13, 14 };
    CHECK_STATUS(op, FIRN_USAGE, fixture_execute(op, &run, &result));
    run.sequence_numbers = sequence_numbers;
    CHECK_OK(op, fixture_execute(op, &run, &result));
    check_dump(&test, &result, "id", "1 2 3 1 2 4 5 6 4 5 6");
    check_dump(&test, &result, "_row_id", "100 101 102 ~ ~ 70 201 72 ~ ~ ~");
    check_dump(&test, &result, "_last_updated_sequence_number", "11 11 11 ~ ~ 13 3 4 ~ ~ ~");
    firn_store_close(test.store);
}

/* As Spark has it; but where numbers are still to be given, counts and bounds of those there are would mislead. */
static void row_lineage_has_metrics_when_it_is_whole(void **state)
{
    struct firn_op *op = test_op(state);
    static const char schema[] = "{\"type\":\"struct\",\"schema-id\":0,\"fields\":[{\"id\":1,\"name\":\"id\","
                                 "\"required\":true,\"type\":\"long\"}]}";
    static const char *const columns[] = { "1 2 3" };
    static const int64_t sequence_numbers[] = { 11, 12 };
    for (uint32_t count = 1; count <= 2; count++) {
        struct group_test test;
        struct firn_rewrite_result result;
        struct firn_bytes lower, upper;
        int64_t values;
        test_begin(&test, op, schema);
        add_file(&test, columns, 1, 3, firn_chunk_options_default())->first_row_id = 100;
        if (count == 2)
            add_file(&test, columns, 1, 3, firn_chunk_options_default());
        struct fixture_run run = run_of(&test, &(struct fixture_table){ .version = 3, .schemas = schema });
        run.sequence_numbers = sequence_numbers;
        CHECK_OK(op, fixture_execute(op, &run, &result));
        const struct firn_data_file *file = &result.files[0];
        bool found = firn_bound_map_find(&file->lower_bounds, FIRN_FIELD_ID_ROW_ID, &lower) &&
                     firn_bound_map_find(&file->upper_bounds, FIRN_FIELD_ID_ROW_ID, &upper);
        CHECK(found == (count == 1), "%u files", count);
        CHECK(firn_count_map_find(&file->value_counts, FIRN_FIELD_ID_ROW_ID, &values) == found, "counts");
        if (found)
            CHECK(firn_load_le64(lower.data) == 100 && firn_load_le64(upper.data) == 102, "bounds");
        firn_store_close(test.store);
    }
}

/* Ids of rows that stay in order are told by their differences: next to nothing, whatever the number of rows. */
static void row_ids_take_little_room(void **state)
{
    struct group_test test;
    struct firn_op *op = test_op(state);
    struct firn_rewrite_result result;
    struct firn_buffer bytes = { 0 };
    static const int64_t sequence_numbers[] = { 11, 12 };
    const char *part[3];
    test_begin(&test, op, FLAT);
    for (int i = 0; i < 2; i++) {
        make_columns(op, i * 1000, 1000, part);
        add_file(&test, part, 1, 1000, firn_chunk_options_default())->first_row_id = 5000 - i * 1000;
    }
    struct fixture_run run = run_of(&test, &(struct fixture_table){ .version = 3, .schemas = FLAT });
    run.sequence_numbers = sequence_numbers;
    CHECK_OK(op, fixture_execute(op, &run, &result));
    CHECK_OK(op, firn_store_read(op, test.store, result.files[0].path, UINT64_MAX, &bytes));
    struct firn_footer *footer = fixture_footer(op, &bytes);
    uint32_t leaf = 0;
    while (leaf + 1 < footer->leaf_count && !firn_text_is(footer->leaves[leaf]->path, "_row_id"))
        leaf++;
    const struct firn_column_chunk *chunk = &footer->row_groups[0].chunks[leaf];
    assert_int_equal(chunk->value_count, 2000);
    CHECK(chunk->compressed_bytes < 300, "%" PRId64 " bytes for 2000 row ids", chunk->compressed_bytes);
    firn_buffer_done(&bytes);
    firn_store_close(test.store);
}

/* Every store call fails once, in turn: afterwards only the inputs are there, and a run without faults succeeds. */
static void a_failure_leaves_nothing_behind(void **state)
{
    struct group_test test;
    struct firn_op *op = test_op(state);
    struct firn_rewrite_result result;
    const char *part[3];
    test_begin(&test, op, FLAT);
    for (int i = 0; i < 3; i++) {
        make_columns(op, i * 100, 100, part);
        add_file(&test, part, 1, 100, firn_chunk_options_default());
    }
    struct firn_store *inner = test.store;
    for (int kind = 0; kind < FAULT_KILLED; kind++) { /* who is killed tidies up nothing */
        bool faulted = true;
        for (uint32_t nth = 0; faulted; nth++) {
            struct fault_report report = { 0 };
            CHECK_OK(op,
                     fault_store_open(op, inner, (struct fault){ nth, (enum fault_kind)kind }, &report, &test.store));
            struct fixture_run run = run_of(&test, &(struct fixture_table){ .version = 2, .schemas = FLAT });
            run.file_bytes_max = 3000; /* several files */
            firn_status status = fixture_execute(op, &run, &result);
            faulted = atomic_load(&report.fired);
            CHECK(faulted || status == FIRN_OK, "%s %u: %s", fault_name((enum fault_kind)kind), nth, op->error.text);
            if (status == FIRN_OK)
                firn_rewrite_result_discard(op, inner, &result);
            firn_store_close(test.store);
            test.store = inner;
            CHECK(objects_in(&test) == 3, "%s %u: %zu objects", fault_name((enum fault_kind)kind), nth,
                  objects_in(&test));
        }
    }
    firn_store_close(test.store);
}

static void broken_and_missing_inputs_are_named(void **state)
{
    struct group_test test;
    struct firn_op *op = test_op(state);
    struct firn_rewrite_result result;
    const char *part[3];
    struct firn_buffer bytes = { 0 };
    test_begin(&test, op, FLAT);
    make_columns(op, 0, 100, part);
    add_file(&test, part, 1, 100, firn_chunk_options_default());
    add_file(&test, part, 1, 100, firn_chunk_options_default());
    struct fixture_run run = run_of(&test, &(struct fixture_table){ .version = 2, .schemas = FLAT });
    CHECK_OK(op, firn_store_read(op, test.store, test.files[1].path, UINT64_MAX, &bytes));
    bytes.data[bytes.len / 4] ^= 0x55;
    CHECK_OK(op, firn_store_put(op, test.store, test.files[1].path, false, firn_buffer_bytes(&bytes)));
    CHECK_STATUS(op, FIRN_CORRUPT, fixture_execute(op, &run, &result));
    CHECK(strstr(op->error.text, "in-1.parquet"), "%s", op->error.text);
    CHECK_OK(op, firn_store_put(op, test.store, test.files[1].path, false, (struct firn_bytes){ bytes.data, 5 }));
    CHECK_STATUS(op, FIRN_CORRUPT, fixture_execute(op, &run, &result));
    CHECK_OK(op, firn_store_delete(op, test.store, &test.files[1].path, 1, NULL));
    CHECK_STATUS(op, FIRN_NOT_FOUND, fixture_execute(op, &run, &result));
    CHECK(strstr(op->error.text, "in-1.parquet"), "%s", op->error.text);
    CHECK(objects_in(&test) == 1, "something is left");
    firn_buffer_done(&bytes);
    firn_store_close(test.store);
}

/* A store that gives the content of one object when another is read: a disk that mixes up its blocks. */
struct swapped_store {
    struct firn_store *inner;
    struct firn_text prefix, instead; /* locations below `prefix` are read as `instead`; empty: none */
};

static firn_status swapped_stat(struct firn_op *op, void *state, struct firn_text location, struct firn_store_stat *out)
{
    return firn_store_stat(op, ((struct swapped_store *)state)->inner, location, out);
}

static firn_status swapped_open(struct firn_op *op, void *state, struct firn_text location, struct firn_object **out)
{
    struct swapped_store *swapped = state;
    bool other = swapped->instead.len > 0 && !firn_text_starts(location, swapped->prefix);
    return firn_object_open(op, swapped->inner, other ? swapped->instead : location, out);
}

static firn_status swapped_write(struct firn_op *op, void *state, struct firn_text location, bool exclusive,
                                 struct firn_store_writer **out)
{
    return firn_store_write(op, ((struct swapped_store *)state)->inner, location, exclusive, out);
}

static firn_status swapped_list(struct firn_op *op, void *state, struct firn_text prefix, bool recursive,
                                firn_store_visit *visit, void *context)
{
    return firn_store_list(op, ((struct swapped_store *)state)->inner, prefix, recursive, visit, context);
}

static firn_status swapped_remove(struct firn_op *op, void *state, struct firn_text location)
{
    return firn_store_delete(op, ((struct swapped_store *)state)->inner, &location, 1, NULL);
}

static void swapped_close(void *state)
{
    (void)state;
}

static const struct firn_store_driver swapped_driver = {
    .stat = swapped_stat,
    .open = swapped_open,
    .write = swapped_write,
    .list = swapped_list,
    .remove = swapped_remove,
    .close = swapped_close,
};

/* A written file that reads back sound, as long as it should be, but with one other value: only full verification sees
 * it. */
static void full_verification_finds_one_wrong_value(void **state)
{
    struct group_test test;
    struct firn_op *op = test_op(state);
    struct firn_rewrite_result result;
    static const char *const right[] = { "1 2 3", "a b c", "0.1 0.3=4 0.0" };
    static const char *const wrong[] = { "1 2 3", "a x c", "0.1 0.3=4 0.0" };
    struct fixture_table table = { .version = 2,
                                   .schemas = FLAT,
                                   .properties = "\"write.parquet.compression-codec\":\"uncompressed\"" };
    test_begin(&test, op, FLAT);
    add_file(&test, wrong, 1, 3, firn_chunk_options_default());
    struct fixture_run run = run_of(&test, &table);
    CHECK_OK(op, fixture_execute(op, &run, &result));
    struct swapped_store swapped = { test.store, FIRN_TEXT("mem:/t/data/in-"), result.files[0].path };
    struct firn_store *store;
    CHECK_OK(op, firn_store_open_driver(op, NULL, &swapped_driver, &swapped, &store));
    test.files[0] = *add_file(&test, right, 1, 3, firn_chunk_options_default());
    run.store = store;
    run.counts_only = true;
    CHECK_OK(op, fixture_execute(op, &run, &result));
    firn_rewrite_result_discard(op, test.store, &result);
    run.counts_only = false;
    CHECK_STATUS(op, FIRN_VERIFY, fixture_execute(op, &run, &result));
    CHECK(strstr(op->error.text, "'name'"), "%s", op->error.text);
    CHECK(objects_in(&test) == 3, "only the two inputs and the first output are there");
    firn_store_close(store);
    firn_store_close(test.store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(many_files_become_one_in_order),
        TEST(files_to_come_are_expected),
        TEST(metrics_and_places_are_recorded),
        TEST(sorted_columns_keep_their_bounds),
        TEST(pieces_smaller_than_a_row_group_lose_nothing),
        TEST(files_without_rows_give_no_file),
        TEST(row_groups_and_files_have_the_size_asked_for),
        TEST(any_memory_limit_is_kept),
        TEST(rows_of_an_old_spec_land_in_their_partitions),
        TEST(many_partitions_need_several_passes),
        TEST(identity_constants_come_from_the_tuple),
        TEST(row_lineage_is_carried),
        TEST(row_lineage_has_metrics_when_it_is_whole),
        TEST(row_ids_take_little_room),
        TEST(a_failure_leaves_nothing_behind),
        TEST(broken_and_missing_inputs_are_named),
        TEST(full_verification_finds_one_wrong_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
