/* Pages copied as they lie, or repacked, while groups are rewritten: which ones, why not the others, and that rows stay
 * the same. That any table, deletes and plan come out right under every layout is tested in test_deleted_rows.c. */
#include "table_fixture.h"

#define V2                                                                                                             \
    {                                                                                                                  \
        .version = 2, .schemas = NESTED                                                                                \
    }

enum { PAGE_ROWS = 500, FILE_PAGES = NOISE_ROWS / PAGE_ROWS };

#define FASTEST                                                                                                        \
    {                                                                                                                  \
        .layout = FIRN_LAYOUT_FASTEST                                                                                  \
    }
static const struct firn_layout_policy fastest = FASTEST;

static struct firn_layout_policy forced(enum firn_rung rung)
{
    return (struct firn_layout_policy){ .is_forced = true, .forced = rung };
}

/* Pages of PAGE_ROWS rows. */
static struct firn_chunk_options page_options(bool dictionary)
{
    struct firn_chunk_options options = firn_chunk_options_default();
    options.page_rows_max = PAGE_ROWS;
    options.dictionary = dictionary;
    return options;
}

static void add_paged_file(struct table_test *test, struct firn_chunk_options options)
{
    static const int rows[] = { NOISE_ROWS };
    add_file(test, rows, 1, options);
}

static struct firn_rewrite_result rewrite(struct table_test *test, struct fixture_table table,
                                          struct firn_layout_policy layout)
{
    struct firn_rewrite_result result;
    struct fixture_run run = run_of(test, &table);
    run.layout = layout;
    run.counts_only = true;
    CHECK_OK(test->op, fixture_execute(test->op, &run, &result));
    check_result(test, &result, 0);
    return result;
}

static void check_pages(const char *what, const struct firn_rung_count *count, int64_t pages)
{
    CHECK(count->pages == pages && (count->bytes > 0) == (pages > 0),
          "%" PRId64 " pages, %" PRId64 " bytes %s, not %" PRId64, count->pages, count->bytes, what, pages);
}

static void check_rungs(const struct firn_rewrite_result *result, const int64_t expected[FIRN_RUNG_COUNT])
{
    for (int i = 0; i < FIRN_RUNG_COUNT; i++)
        check_pages(firn_rung_name((enum firn_rung)i), &result->rungs.rungs[i], expected[i]);
}

/* Every page of every other column than the keys, too, since the deletes are by position. */
static void pages_without_a_deleted_row_need_no_decoding(void **state)
{
    for (int v2 = 0; v2 < 2; v2++) {
        struct table_test test;
        struct firn_chunk_options options = page_options(false);
        begin(&test, test_op(state), NESTED);
        options.page_v2 = v2;
        add_paged_file(&test, options);
        delete_rows(&test, 10, 3);                        /* page 0 */
        delete_rows(&test, 5 * PAGE_ROWS + 100, 1);       /* page 5 */
        delete_rows(&test, 6 * PAGE_ROWS, 2 * PAGE_ROWS); /* pages 6 and 7 */
        delete_by_positions(&test);
        struct firn_rewrite_result result = rewrite(&test, (struct fixture_table)V2, fastest);
        check_rungs(&result, (int64_t[]){ 0, 4 * LEAVES_MAX, 0, 0, 2 * LEAVES_MAX });
        check_pages("with deleted rows", &result.rungs.reasons[FIRN_REASON_DELETED_ROWS], 2 * LEAVES_MAX);
        check_pages("passed over", &result.rungs.passed_over, 2 * LEAVES_MAX);
        check_pages("decoded for facts", &result.rungs.decoded_for_facts, 0);
        firn_store_close(test.store);
    }
}

static void a_chunk_that_opens_the_row_group_is_kept(void **state)
{
    struct table_test test;
    begin(&test, test_op(state), NESTED);
    add_paged_file(&test, page_options(false));
    add_paged_file(&test, page_options(false));
    delete_rows(&test, NOISE_ROWS + 1, 1);
    delete_by_positions(&test);
    struct firn_rewrite_result result = rewrite(&test, (struct fixture_table)V2, fastest);
    CHECK(result.rungs.rungs[FIRN_RUNG_KEEP].pages >= FILE_PAGES, "%" PRId64 " pages kept",
          result.rungs.rungs[FIRN_RUNG_KEEP].pages);
    firn_store_close(test.store);
}

/* The dictionary of a chunk holds whatever its pages use, also when the first of them had to be decoded. */
static void a_deleted_row_does_not_change_the_dictionary(void **state)
{
    struct table_test test;
    begin(&test, test_op(state), NESTED);
    add_paged_file(&test, page_options(true));
    delete_rows(&test, 0, 7);
    delete_by_positions(&test);
    struct firn_rewrite_result result = rewrite(&test, (struct fixture_table)V2, fastest);
    int64_t decoded = result.rungs.rungs[FIRN_RUNG_REMAP].pages + result.rungs.rungs[FIRN_RUNG_TRANSCODE].pages;
    CHECK(decoded == LEAVES_MAX, "%" PRId64 " pages decoded", decoded);
    CHECK(result.rungs.rungs[FIRN_RUNG_REMAP].pages > 0, "no dictionary");
    check_pages("copied", &result.rungs.rungs[FIRN_RUNG_SPLICE], LEAVES_MAX * (FILE_PAGES - 1));
    firn_store_close(test.store);
}

/* A data page of an output. */
struct written_page {
    const struct firn_page *page;
    uint32_t leaf, index;
    int64_t row_count;
    bool is_last;
    bool after_values; /* a page before it in its chunk holds values, not indices */
};

/* Gives all data pages of the first row group to `check`. */
static void check_pages_written(struct table_test *test, const struct firn_rewrite_result *result,
                                void (*check)(const struct written_page *written))
{
    struct firn_op *op = test->op;
    struct firn_buffer file = { 0 };
    CHECK_OK(op, firn_store_read(op, test->store, result->files[0].path, UINT64_MAX, &file));
    struct firn_footer *footer = fixture_footer(op, &file);
    for (uint32_t leaf = 0; leaf < footer->leaf_count; leaf++) {
        const struct firn_column_chunk *chunk = &footer->row_groups[0].chunks[leaf];
        struct firn_bytes bytes = { file.data + chunk->offset_index_offset, (size_t)chunk->offset_index_bytes };
        struct firn_offset_index index;
        bool values = false;
        CHECK_OK(op, firn_offset_index_parse(op, bytes, &index));
        for (uint32_t i = 0; i < index.page_count; i++) {
            const struct firn_page_location *at = &index.pages[i];
            struct firn_cursor in =
                firn_cursor_of((struct firn_bytes){ file.data + at->offset, (size_t)at->compressed_bytes });
            struct firn_page page;
            CHECK_OK(op, firn_page_next(op, &in, true, &page));
            bool is_last = i + 1 == index.page_count;
            int64_t end = is_last ? footer->row_groups[0].row_count : at[1].first_row_index;
            check(&(struct written_page){ &page, leaf, i, end - at->first_row_index, is_last, values });
            values |= !firn_encoding_is_dictionary(page.header.encoding);
        }
    }
    firn_buffer_done(&file);
}

static void check_size(const struct written_page *written)
{
    CHECK(written->is_last || written->row_count >= 5000 || written->page->header.uncompressed_bytes >= 32 << 10,
          "page %u of leaf %u: %" PRId64 " rows, %d bytes", written->index, written->leaf, written->row_count,
          written->page->header.uncompressed_bytes);
}

static void tiny_pages_are_joined(void **state)
{
    struct table_test test;
    begin(&test, test_op(state), NESTED);
    for (int i = 0; i < FILES_MAX; i++)
        add_paged_file(&test, page_options(i % 2));
    delete_rows(&test, 0, 0);
    delete_by_positions(&test);
    struct firn_rewrite_result result =
        rewrite(&test, (struct fixture_table)V2, (struct firn_layout_policy){ .layout = FIRN_LAYOUT_BALANCED });
    CHECK(result.rungs.reasons[FIRN_REASON_TINY_PAGE].pages > 0, "tiny pages");
    check_pages_written(&test, &result, check_size);
    firn_store_close(test.store);
}

/* Pages of values as long as a file, half as many as a page may have. */
static struct firn_chunk_options file_pages(enum firn_codec codec)
{
    struct firn_chunk_options options = page_options(false);
    options.page_rows_max = NOISE_ROWS;
    options.codec = codec;
    return options;
}

static struct firn_rewrite_result join_file_pages(struct table_test *test, enum firn_codec codec)
{
    for (int i = 0; i < FILES_MAX; i++)
        add_paged_file(test, file_pages(codec));
    delete_by_positions(test);
    return rewrite(test,
                   (struct fixture_table){
                       .version = 2, .schemas = NESTED, .properties = "\"write.parquet.page-row-limit\":\"8000\"" },
                   (struct firn_layout_policy){ .layout = FIRN_LAYOUT_BALANCED });
}

static void check_joined(const struct written_page *written)
{
    CHECK(written->is_last || written->row_count > NOISE_ROWS || written->page->header.uncompressed_bytes >= 32 << 10,
          "page %u of leaf %u: %" PRId64 " rows, %d bytes", written->index, written->leaf, written->row_count,
          written->page->header.uncompressed_bytes);
}

static void values_are_joined_however_many_are_few_bytes(void **state)
{
    struct table_test test;
    begin(&test, test_op(state), NESTED);
    struct firn_rewrite_result result = join_file_pages(&test, FIRN_CODEC_ZSTD);
    CHECK(result.rungs.reasons[FIRN_REASON_TINY_PAGE].pages > 0, "tiny pages");
    check_pages_written(&test, &result, check_joined);
    firn_store_close(test.store);
}

static void check_compressed_anew(const struct written_page *written)
{
    CHECK(written->is_last || written->row_count > NOISE_ROWS, "page %u of leaf %u: %" PRId64 " rows", written->index,
          written->leaf, written->row_count);
}

/* Larger ones, too: it takes no more. */
static void values_to_be_compressed_anew_are_joined(void **state)
{
    struct table_test test;
    begin(&test, test_op(state), NESTED);
    struct firn_rewrite_result result = join_file_pages(&test, FIRN_CODEC_SNAPPY);
    check_pages("repacked", &result.rungs.rungs[FIRN_RUNG_REPACK], 0);
    check_pages_written(&test, &result, check_compressed_anew);
    firn_store_close(test.store);
}

static void check_order(const struct written_page *written)
{
    CHECK(!written->after_values || !firn_encoding_is_dictionary(written->page->header.encoding),
          "page %u of leaf %u holds indices", written->index, written->leaf);
}

/* As all writers do it; Spark fails on lists that have it otherwise. */
static void no_page_of_indices_comes_after_one_of_values(void **state)
{
    struct table_test test;
    begin(&test, test_op(state), NESTED);
    for (int i = 0; i < 4; i++)
        add_paged_file(&test, page_options(i > 1));
    delete_by_positions(&test);
    struct firn_rewrite_result result = rewrite(&test, (struct fixture_table)V2, forced(FIRN_RUNG_SPLICE));
    check_pages_written(&test, &result, check_order);
    result = rewrite(&test, (struct fixture_table)V2, forced(FIRN_RUNG_KEEP));
    check_pages_written(&test, &result, check_order);
    firn_store_close(test.store);
}

/* One file, in a table that will not have it copied, or two. */
static void every_refusal_has_its_reason(void **state)
{
    static const struct {
        enum firn_rung_reason reason;
        enum firn_rung rung;
        const char *properties;
        struct firn_layout_policy layout;
        bool in_buckets, snappy, dictionary;
        int64_t pages;
    } cases[] = {
        { FIRN_REASON_OTHER_CODEC, FIRN_RUNG_REPACK, .layout = FASTEST, .snappy = true,
          .pages = LEAVES_MAX * FILE_PAGES },
        { FIRN_REASON_OTHER_CODEC, FIRN_RUNG_REPACK, "\"write.parquet.compression-codec\":\"gzip\"", FASTEST,
          .pages = LEAVES_MAX * FILE_PAGES },
        { FIRN_REASON_OTHER_CODEC, FIRN_RUNG_TRANSCODE, .layout = { .is_forced = true, .forced = FIRN_RUNG_SPLICE },
          .snappy = true, .pages = LEAVES_MAX * FILE_PAGES },
        { FIRN_REASON_FORCED, FIRN_RUNG_REPACK, .layout = { .is_forced = true, .forced = FIRN_RUNG_REPACK },
          .pages = LEAVES_MAX * FILE_PAGES },
        { FIRN_REASON_FORCED, FIRN_RUNG_TRANSCODE, .layout = { .is_forced = true, .forced = FIRN_RUNG_REMAP },
          .pages = LEAVES_MAX * FILE_PAGES },
        { FIRN_REASON_FORCED, FIRN_RUNG_TRANSCODE, .layout = { .is_forced = true, .forced = FIRN_RUNG_TRANSCODE },
          .dictionary = true, .pages = LEAVES_MAX * FILE_PAGES },
        { FIRN_REASON_SEVERAL_OUTPUTS, FIRN_RUNG_TRANSCODE, .layout = FASTEST, .in_buckets = true,
          .pages = LEAVES_MAX * FILE_PAGES },
        { FIRN_REASON_HUGE_PAGE, FIRN_RUNG_TRANSCODE, "\"write.parquet.page-size-bytes\":\"400\"",
          .pages = FILE_PAGES },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct table_test test;
        struct firn_rewrite_result result;
        struct firn_chunk_options options = page_options(cases[i].dictionary);
        begin(&test, test_op(state), NESTED);
        options.codec = cases[i].snappy ? FIRN_CODEC_SNAPPY : FIRN_CODEC_ZSTD;
        add_paged_file(&test, options);
        delete_by_positions(&test);
        struct fixture_run run =
            run_of(&test, &(struct fixture_table){
                              .version = 2, .schemas = NESTED, .specs = BUCKETS, .properties = cases[i].properties });
        run.layout = cases[i].layout;
        run.output_spec_id = cases[i].in_buckets;
        CHECK_OK(test.op, fixture_execute(test.op, &run, &result));
        check_result(&test, &result, i);
        CHECK(result.rungs.reasons[cases[i].reason].pages >= cases[i].pages, "case %zu: %" PRId64 " pages for %s", i,
              result.rungs.reasons[cases[i].reason].pages, firn_rung_reason_name(cases[i].reason));
        CHECK(result.rungs.rungs[cases[i].rung].pages >= cases[i].pages, "case %zu: %" PRId64 " pages %s", i,
              result.rungs.rungs[cases[i].rung].pages, firn_rung_name(cases[i].rung));
        firn_store_close(test.store);
    }
}

/* A column of another type and a column that is not there are decoded and made; the others are copied. */
static void promoted_and_added_columns_touch_only_themselves(void **state)
{
    static const char before[] = TABLE(ID "," FIELD(2, "n", "\"int\"") "," FIELD(3, "s", "\"string\""));
    static const char after[] =
        "{\"type\":\"struct\",\"schema-id\":1,\"fields\":[" ID
        "," FIELD(3, "renamed", "\"string\"") "," FIELD(4, "added", "\"string\"") "," FIELD(2, "n", "\"long\"") "]}";
    static const char *const columns[] = { "1 2 3 4", "10 ~ 30 40", "a b ~ d" };
    struct firn_store *store;
    struct firn_op *op = test_op(state);
    struct firn_rewrite_result result;
    CHECK_OK(op, firn_store_open_memory(op, &store));
    struct firn_output_schema schema = fixture_schema(op, before);
    int64_t bytes = fixture_write(op, store, "mem:/t/data/a.parquet", schema.footer, columns, 1, page_options(false));
    struct firn_data_file file = fixture_file("mem:/t/data/a.parquet", bytes, 4);
    struct fixture_run run = {
        .metadata = fixture_metadata(
            op, &(struct fixture_table){ .version = 2,
                                         .schemas = firn_text_format(op->arena, "%s,%s", before, after).data,
                                         .current_schema = 1 }),
        .store = store,
        .files = &file,
        .file_count = 1,
        .layout = fastest,
    };
    CHECK_OK(op, fixture_execute(op, &run, &result));
    assert_string_equal(fixture_dump(op, store, &result, "id"), columns[0]);
    assert_string_equal(fixture_dump(op, store, &result, "n"), columns[1]);
    assert_string_equal(fixture_dump(op, store, &result, "renamed"), columns[2]);
    assert_string_equal(fixture_dump(op, store, &result, "added"), "~ ~ ~ ~");
    check_rungs(&result, (int64_t[]){ 2, 0, 0, 0, 1 });
    check_pages("promoted", &result.rungs.reasons[FIRN_REASON_PROMOTED], 1);
    firn_store_close(store);
}

#define NULLABLE(id, name, required, type)                                                                             \
    "{\"id\":" #id ",\"name\":\"" name "\",\"required\":" required ",\"type\":" type "}"
#define NULLABLE_LIST(id, required, type)                                                                              \
    "{\"type\":\"list\",\"element-id\":" #id ",\"element-required\":" required ",\"element\":" type "}"
#define NULLABLE_TABLE(required)                                                                                       \
    TABLE(NULLABLE(1, "id", required, "\"long\"") "," NULLABLE(2, "s", required, "\"string\"") "," NULLABLE(           \
        3, "l", required, NULLABLE_LIST(4, required, "\"int\"")))

/* A file of a table before its columns were allowed to be null, or not any more. */
static firn_status rewrite_nullable(struct firn_op *op, struct firn_store *store, const char *of_file,
                                    const char *of_table, const char *const *columns, struct firn_rewrite_result *out)
{
    struct firn_output_schema schema = fixture_schema(op, of_file);
    int64_t bytes = fixture_write(op, store, "mem:/t/data/a.parquet", schema.footer, columns, 1, page_options(false));
    struct firn_data_file file = fixture_file("mem:/t/data/a.parquet", bytes, 3);
    struct fixture_run run = {
        .metadata = fixture_metadata(op, &(struct fixture_table){ .version = 2, .schemas = of_table }),
        .store = store,
        .files = &file,
        .file_count = 1,
        .layout = fastest,
    };
    return fixture_execute(op, &run, out);
}

/* The levels are made anew, deeper or less deep, and the values stay. A list of required elements has levels up to 1.
 */
static void columns_that_become_nullable_or_not_keep_their_values(void **state)
{
    static const struct {
        const char *of_file, *of_table;
        const char *columns[3];
        const char *list;
    } cases[] = {
        { NULLABLE_TABLE("true"),
          NULLABLE_TABLE("false"),
          { "1 2 3", "a b c", "0.1=7 1.1=8 0.0 0.1=9" },
          "0.3=7 1.3=8 0.1 0.3=9" },
        { NULLABLE_TABLE("false"),
          NULLABLE_TABLE("true"),
          { "1 2 3", "a b c", "0.3=7 1.3=8 0.1 0.3=9" },
          "0.1=7 1.1=8 0.0 0.1=9" },
        { NULLABLE_TABLE("false"), NULLABLE_TABLE("true"), { "1 2 3", "a ~ c", "0.3=7 1.3=8 0.1 0.3=9" }, NULL },
        { NULLABLE_TABLE("false"), NULLABLE_TABLE("true"), { "1 2 3", "a b c", "0.3=7 1.2 0.1 0.3=9" }, NULL },
        { NULLABLE_TABLE("false"), NULLABLE_TABLE("true"), { "1 2 3", "a b c", "0.3=7 1.3=8 0.0 0.3=9" }, NULL },
    };
    struct firn_op *op = test_op(state);
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_store *store;
        struct firn_rewrite_result result;
        CHECK_OK(op, firn_store_open_memory(op, &store));
        firn_status status =
            rewrite_nullable(op, store, cases[i].of_file, cases[i].of_table, cases[i].columns, &result);
        CHECK(status == (cases[i].list ? FIRN_OK : FIRN_CORRUPT), "case %zu: %s", i, op->error.text);
        if (cases[i].list) {
            assert_string_equal(fixture_dump(op, store, &result, "id"), cases[i].columns[0]);
            assert_string_equal(fixture_dump(op, store, &result, "s"), cases[i].columns[1]);
            assert_string_equal(fixture_dump(op, store, &result, "l.list.element"), cases[i].list);
            check_rungs(&result, (int64_t[]){ 0, 0, 3, 0, 0 });
            check_pages("for their levels", &result.rungs.reasons[FIRN_REASON_LEVELS], 3);
        }
        firn_store_close(store);
    }
}

/* A table of decimals in some files; the last one may have them in another form. Three are asked. */
struct decimals {
    int file_count;
    const char *last;
    uint32_t last_bytes; /* 0: an integer */
    enum firn_layout layout;
    const char *expected;
    int64_t promoted;
};

static void check_decimals(struct firn_op *op, const struct decimals *decimals)
{
    static const char schema[] = TABLE(ID "," FIELD(2, "d", "\"decimal(12,2)\""));
    const char *columns[] = { "1 2", "0x000000000101 0xfffffffffffe" };
    const char *locations[] = { "mem:/t/data/a.parquet", "mem:/t/data/b.parquet", "mem:/t/data/c.parquet",
                                "mem:/t/data/d.parquet" };
    struct firn_data_file files[4];
    struct firn_store *store;
    struct firn_rewrite_result result;
    CHECK_OK(op, firn_store_open_memory(op, &store));
    struct firn_output_schema of_files = fixture_schema(op, schema);
    struct firn_parquet_node *stored = &of_files.footer->root.children[1];
    for (int i = 0; i < decimals->file_count; i++) {
        bool is_last = i + 1 == decimals->file_count;
        stored->type = is_last && decimals->last_bytes == 0 ? FIRN_PARQUET_INT64 : FIRN_PARQUET_FIXED;
        stored->type_length = is_last ? decimals->last_bytes : 6;
        columns[1] = is_last ? decimals->last : columns[1];
        int64_t bytes = fixture_write(op, store, locations[i], of_files.footer, columns, 1, page_options(false));
        files[i] = fixture_file(locations[i], bytes, 2);
    }
    struct fixture_run run = {
        .metadata = fixture_metadata(op, &(struct fixture_table){ .version = 2, .schemas = schema }),
        .store = store,
        .files = files,
        .file_count = (uint32_t)decimals->file_count,
        .layout = { .layout = decimals->layout },
    };
    CHECK_OK(op, fixture_execute(op, &run, &result));
    assert_string_equal(fixture_dump(op, store, &result, "d"), decimals->expected);
    check_pages("promoted", &result.rungs.reasons[FIRN_REASON_PROMOTED], decimals->promoted);
    firn_store_close(store);
}

/* Files of Arrow have decimals as the fewest bytes, and pages of theirs can be copied then. */
static void decimals_keep_the_form_that_all_files_have(void **state)
{
    static const struct decimals cases[] = {
        { 2, "0x000000000001 ~", 6, FIRN_LAYOUT_FASTEST, "0x000000000101 0xfffffffffffe 0x000000000001 ~", 0 },
        { 2, "1 ~", 0, FIRN_LAYOUT_FASTEST, "257 -2 1 ~", 1 },
        { 2, "0x0000000000000001 ~", 8, FIRN_LAYOUT_FASTEST, "257 -2 1 ~", 2 },
        { 2, "0x000000000001 ~", 6, FIRN_LAYOUT_SMALLEST, "257 -2 1 ~", 2 },
        { 4, "1 ~", 0, FIRN_LAYOUT_FASTEST,
          "0x000000000101 0xfffffffffffe 0x000000000101 0xfffffffffffe 0x000000000101 0xfffffffffffe "
          "0x000000000001 ~",
          1 },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++)
        check_decimals(test_op(state), &cases[i]);
}

/* A look into the files tells beforehand what is done then. */
static void what_is_done_was_expected(void **state)
{
    struct table_test test;
    struct firn_expectation expected;
    static const int rows[] = { NOISE_ROWS };
    begin(&test, test_op(state), NESTED);
    for (int i = 0; i < FILES_MAX; i++)
        add_file(&test, rows, 1, firn_chunk_options_default());
    delete_by_positions(&test);
    struct fixture_run run = run_of(&test, &(struct fixture_table)V2);
    struct firn_rewrite_group group = {
        .inputs = run.files,
        .input_sequence_numbers = run.sequence_numbers,
        .input_count = run.file_count,
        .file_bytes_max = UINT64_C(1) << 30,
    };
    struct firn_rewrite_context context = {
        .metadata = run.metadata,
        .store = run.store,
        .layout = { .is_forced = true, .forced = FIRN_RUNG_SPLICE },
        .memory_bytes_max = UINT64_C(256) << 20,
    };
    struct firn_rewrite_result result = rewrite(&test, (struct fixture_table)V2, context.layout);
    CHECK_OK(test.op, firn_rewrite_expect(test.op, &context, &group, &expected));
    CHECK(expected.column_count == LEAVES_MAX && expected.file_count == 4, "%u columns", expected.column_count);
    int64_t copied = 0, mapped = 0;
    for (uint32_t i = 0; i < expected.column_count; i++) {
        copied += expected.columns[i].rung == FIRN_RUNG_SPLICE;
        mapped += expected.columns[i].rung == FIRN_RUNG_REMAP && expected.columns[i].reason == FIRN_REASON_DICTIONARY;
    }
    CHECK(copied > 0 && mapped > 0 && copied + mapped == LEAVES_MAX, "%" PRId64 " and %" PRId64, copied, mapped);
    CHECK(result.rungs.rungs[FIRN_RUNG_REMAP].pages > 0, "none remapped");
    context.layout = (struct firn_layout_policy){ .is_forced = true, .forced = FIRN_RUNG_TRANSCODE };
    CHECK_OK(test.op, firn_rewrite_expect(test.op, &context, &group, &expected));
    for (uint32_t i = 0; i < expected.column_count; i++)
        assert_int_equal(expected.columns[i].reason, FIRN_REASON_FORCED);
    firn_store_close(test.store);
}

/* Few names, spelled out in each of many files: a dictionary for all of them saves most of it. */
static void a_column_that_shrinks_is_encoded_anew(void **state)
{
    struct table_test test;
    static const int rows[] = { NOISE_ROWS };
    struct firn_chunk_options options = firn_chunk_options_default();
    options.dictionary = false;
    options.codec = FIRN_CODEC_NONE;
    begin(&test, test_op(state), NESTED);
    for (int i = 0; i < FILES_MAX; i++)
        add_file(&test, rows, 1, options);
    delete_by_positions(&test);
    struct fixture_table table = V2;
    table.properties = "\"write.parquet.compression-codec\":\"uncompressed\",\"write.parquet.page-row-limit\":\"4000\"";
    struct firn_rewrite_result result = rewrite(&test, table, (struct firn_layout_policy){ 0 });
    CHECK(result.rungs.reasons[FIRN_REASON_SMALLER_ENCODED].pages >= FILES_MAX, "%" PRId64 " pages",
          result.rungs.reasons[FIRN_REASON_SMALLER_ENCODED].pages);
    struct firn_rewrite_result fast = rewrite(&test, table, fastest);
    CHECK(result.bytes_out < fast.bytes_out, "%" PRIu64 " bytes, copied %" PRIu64, result.bytes_out, fast.bytes_out);
    CHECK(result.rungs.rungs[FIRN_RUNG_KEEP].pages + result.rungs.rungs[FIRN_RUNG_SPLICE].pages >= FILES_MAX,
          "ids are copied");
    firn_store_close(test.store);
}

/* What a rewrite wrote is rewritten again: row ids are stored then, and copied. */
static void lineage_is_copied_with_the_pages(void **state)
{
    struct table_test test;
    const struct fixture_table table = { .version = 3, .schemas = NESTED };
    begin(&test, test_op(state), NESTED);
    add_paged_file(&test, page_options(false));
    add_paged_file(&test, page_options(true));
    test.files[0].first_row_id = 100;
    test.files[1].first_row_id = 50000;
    delete_rows(&test, 700, 2);
    delete_by_vectors(&test);
    struct firn_rewrite_result first = rewrite(&test, table, forced(FIRN_RUNG_SPLICE)), second;
    struct fixture_run run = run_of(&test, &table);
    const int64_t sequence_numbers[] = { 8 };
    first.files[0].first_row_id = 900000;
    run.files = first.files;
    run.file_count = first.file_count;
    run.sequence_numbers = sequence_numbers;
    run.deletes = NULL;
    run.layout = fastest;
    CHECK_OK(test.op, fixture_execute(test.op, &run, &second));
    int64_t all = second.rungs.rungs[FIRN_RUNG_KEEP].pages + second.rungs.rungs[FIRN_RUNG_SPLICE].pages;
    CHECK(all > 0 && second.rungs.rungs[FIRN_RUNG_TRANSCODE].pages + second.rungs.rungs[FIRN_RUNG_REMAP].pages == 0,
          "%" PRId64 " pages copied", all);
    struct places *places = FIRN_NEW(test.op->arena, struct places);
    int64_t rows = check_file(&test, &second, 0, places, 0);
    assert_int_equal(rows, 2 * NOISE_ROWS - 2);
    firn_store_close(test.store);
}

static void check_ids(const struct written_page *written)
{
    if (written->leaf != LEAVES_MAX)
        return;
    CHECK(written->page->header.encoding == FIRN_ENCODING_DELTA_BINARY_PACKED, "page %u of row ids in %s",
          written->index, firn_encoding_name(written->page->header.encoding));
}

/* Row ids that no file stores yet are written as differences, and nothing else is decoded for them. */
static void row_ids_are_added_beside_copied_pages(void **state)
{
    struct table_test test;
    const struct fixture_table table = { .version = 3, .schemas = NESTED };
    begin(&test, test_op(state), NESTED);
    add_paged_file(&test, page_options(false));
    test.files[0].first_row_id = 100;
    delete_by_vectors(&test);
    struct firn_rewrite_result result = rewrite(&test, table, fastest);
    check_rungs(&result, (int64_t[]){ LEAVES_MAX * FILE_PAGES, 0, 0, 0, 0 });
    check_pages("decoded for facts", &result.rungs.decoded_for_facts, 0);
    check_pages_written(&test, &result, check_ids);
    firn_store_close(test.store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pages_without_a_deleted_row_need_no_decoding),
        TEST(a_deleted_row_does_not_change_the_dictionary),
        TEST(no_page_of_indices_comes_after_one_of_values),
        TEST(a_chunk_that_opens_the_row_group_is_kept),
        TEST(tiny_pages_are_joined),
        TEST(values_are_joined_however_many_are_few_bytes),
        TEST(values_to_be_compressed_anew_are_joined),
        TEST(every_refusal_has_its_reason),
        TEST(lineage_is_copied_with_the_pages),
        TEST(row_ids_are_added_beside_copied_pages),
        TEST(promoted_and_added_columns_touch_only_themselves),
        TEST(columns_that_become_nullable_or_not_keep_their_values),
        TEST(decimals_keep_the_form_that_all_files_have),
        TEST(what_is_done_was_expected),
        TEST(a_column_that_shrinks_is_encoded_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
