/* Pages that firn reads and strict readers refuse: they are told, and encoded anew where others would be copied. */
#include "rewrite/fixture.h"

#include "format/parquet/delta_write.h"
#include "format/parquet/page_facts.h"
#include "maintain/file_check.h"

#define PATH "mem:/t/wide.parquet"
#define SCHEMA                                                                                                         \
    "{\"type\":\"struct\",\"schema-id\":0,\"fields\":[{\"id\":1,\"name\":\"n\",\"required\":false,\"type\":\"int\"}]}"

enum { ROWS = 20000, VALUES = 5 };

/* Their differences take 33 bits. */
static const int32_t pattern[VALUES] = { 863490391, -816295192, 1613070492, -1166045478, 1856530847 };

/* One page of the values, their differences taken in `width` bytes. */
static void encode_chunk(struct firn_op *op, const struct firn_parquet_node *leaf, size_t width, bool page_v2,
                         struct firn_encoded_chunk *out)
{
    uint8_t *plain = firn_arena_alloc(op->arena, ROWS * width);
    struct firn_buffer values = { 0 };
    struct firn_chunk_options options = firn_chunk_options_default();
    struct firn_chunk_writer *writer;
    bool taken;
    for (size_t i = 0; i < ROWS; i++) {
        int64_t value = pattern[i % VALUES];
        memcpy(plain + i * width, &value, width);
    }
    CHECK_OK(op, firn_delta_encode(op, (struct firn_bytes){ plain, ROWS * width }, width, &values));
    struct firn_vector levels = {
        .type = leaf->type, .def_max = leaf->def_max, .slot_count = ROWS, .value_count = ROWS, .row_count = ROWS
    };
    struct firn_packed_page page = { &levels, FIRN_ENCODING_DELTA_BINARY_PACKED, firn_buffer_bytes(&values), page_v2 };
    struct firn_page_facts facts = {
        .slot_count = ROWS,
        .value_count = ROWS,
        .row_count = ROWS,
        .begins_row = true,
        .ends_row = true,
        .has_bounds = true,
        .min = { (const uint8_t *)&pattern[3], 4 },
        .max = { (const uint8_t *)&pattern[4], 4 },
        .min_exact = true,
        .max_exact = true,
        .unencoded_bytes = -1,
    };
    CHECK_OK(op, firn_chunk_writer_open(op, leaf, &options, &writer));
    CHECK_OK(op, firn_chunk_writer_repack(op, writer, &page, &facts, NULL, &taken));
    CHECK(taken, "the page was refused");
    CHECK_OK(op, firn_chunk_writer_finish(op, writer, out));
    firn_chunk_writer_close(writer);
    firn_buffer_done(&values);
}

/* A file of the application `created_by`. */
static struct firn_data_file write_file(struct firn_op *op, struct firn_store *store, const char *created_by,
                                        size_t width, bool page_v2)
{
    struct firn_output_schema schema = fixture_schema(op, SCHEMA);
    struct firn_buffer file = { 0 };
    struct firn_encoded_chunk chunk = { 0 };
    encode_chunk(op, schema.leaves[0].node, width, page_v2, &chunk);
    struct firn_footer *footer = fixture_print(op, schema.footer, &chunk, ROWS, &file);
    footer->created_by = firn_text_of(created_by);
    fixture_set_footer(op, &file, footer);
    CHECK_OK(op, firn_store_put(op, store, FIRN_TEXT(PATH), false, firn_buffer_bytes(&file)));
    struct firn_data_file data = fixture_file(PATH, (int64_t)file.len, ROWS);
    firn_buffer_done(&file);
    return data;
}

static void check_findings(struct firn_op *op, struct firn_store *store, const struct firn_metadata *metadata,
                           const struct firn_data_file *file, const char *code)
{
    struct firn_manifest_entry entry = { .sequence_number = 3, .file_sequence_number = 3, .file = *file };
    struct firn_file_check what = { .store = store, .metadata = metadata, .entry = &entry, .deep = true };
    struct firn_findings found;
    firn_findings_init(&found, op->arena);
    CHECK_OK(op, firn_file_check(op, &what, &found));
    CHECK(found.items.count == (code != NULL), "%zu findings", found.items.count);
    if (code)
        CHECK(strcmp(found.items.items[0].code, code) == 0, "%s", found.items.items[0].code);
}

static void check_rows(struct firn_op *op, struct firn_store *store, const struct firn_rewrite_result *result)
{
    const char *at = fixture_dump(op, store, result, "n");
    for (size_t i = 0; i < ROWS; i++) {
        char *end;
        long value = strtol(at, &end, 10);
        CHECK(value == pattern[i % VALUES], "row %zu: %ld", i, value);
        at = end;
    }
}

static void wide_differences_are_encoded_anew(void **state)
{
    static const struct {
        const char *created_by;
        size_t width;
        bool page_v2, is_wide;
    } cases[] = {
        { "DuckDB version v1.5.5 (build d8cdaa33fd)", 8, false, true },
        { "DuckDB version v1.5.5 (build d8cdaa33fd)", 8, true, true },
        { "DuckDB version v1.5.5 (build d8cdaa33fd)", 4, false, false },
        { "parquet-go version 18.0.0", 8, true, true },
        { "parquet-mr version 1.16.0", 4, true, false },
    };
    static const enum firn_layout layouts[] = { FIRN_LAYOUT_FASTEST, FIRN_LAYOUT_BALANCED };
    struct firn_op *op = test_op(state);
    struct firn_metadata *metadata = fixture_metadata(op, &(struct fixture_table){ .version = 2, .schemas = SCHEMA });
    for (size_t i = 0; i < FIRN_COUNT_OF(cases) * FIRN_COUNT_OF(layouts); i++) {
        bool is_wide = cases[i / 2].is_wide;
        struct firn_rewrite_result result;
        struct firn_store *store;
        CHECK_OK(op, firn_store_open_memory(op, &store));
        struct firn_data_file file =
            write_file(op, store, cases[i / 2].created_by, cases[i / 2].width, cases[i / 2].page_v2);
        struct fixture_run run = { .metadata = metadata, .store = store, .files = &file, .file_count = 1 };
        run.layout.layout = layouts[i % 2];
        check_findings(op, store, metadata, &file, is_wide ? "page-encoding" : NULL);
        CHECK_OK(op, fixture_execute(op, &run, &result));
        const struct firn_rung_count *legacy = &result.rungs.reasons[FIRN_REASON_LEGACY_ENCODING];
        if (layouts[i % 2] == FIRN_LAYOUT_FASTEST)
            CHECK(legacy->pages == is_wide, "case %zu: %" PRId64 " pages", i, legacy->pages);
        check_findings(op, store, metadata, &result.files[0], NULL);
        check_rows(op, store, &result);
        firn_store_close(store);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { TEST(wide_differences_are_encoded_anew) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
