/* What a look into a few files says of the pages, against what a rewrite does: dictionaries that are of no use, as many
 * writers begin every column with, and plain pages behind full ones. */
#include "fixture.h"

#define SCHEMA                                                                                                         \
    "{\"type\":\"struct\",\"schema-id\":0,\"fields\":[{\"id\":1,\"name\":\"s\",\"required\":true,\"type\":\"string\"}" \
    "]}"

enum { FILES = 4, ROWS = 6000, TEXT_BYTES = 16 };

/* So many values of each file come from a dictionary, which has `distinct` of them; the others are plain. */
struct kind {
    const char *name;
    uint32_t by_index, distinct;
    enum firn_rung rung;
    enum firn_rung_reason reason;
};
static const struct kind kinds[] = {
    { "each value once", ROWS, ROWS, FIRN_RUNG_SPLICE, FIRN_REASON_NONE },
    { "few values", ROWS, 100, FIRN_RUNG_REMAP, FIRN_REASON_DICTIONARY },
    { "a dictionary that was full", ROWS / 10, 100, FIRN_RUNG_SPLICE, FIRN_REASON_NONE },
    { "no dictionary", 0, 0, FIRN_RUNG_SPLICE, FIRN_REASON_NONE },
};

static const char *text_of(struct firn_op *op, uint32_t file, uint32_t number)
{
    return firn_text_format(op->arena, "%08x%08x", file * 7919 + 1, number * 2654435761U).data;
}

static struct firn_slice *texts_of(struct firn_op *op, uint32_t file, uint32_t first, uint32_t count)
{
    struct firn_slice *texts = FIRN_NEW_ARRAY(op->arena, struct firn_slice, count);
    for (uint32_t i = 0; i < count; i++)
        texts[i] = (struct firn_slice){ (const uint8_t *)text_of(op, file, first + i), TEXT_BYTES };
    return texts;
}

static struct firn_vector vector_of(uint32_t count)
{
    return (struct firn_vector){
        .type = FIRN_PARQUET_BYTE_ARRAY, .slot_count = count, .value_count = count, .row_count = count
    };
}

static void append_indices(struct firn_op *op, struct firn_chunk_writer *writer, const struct kind *kind, uint32_t file)
{
    struct firn_dictionary *dictionary = FIRN_NEW(op->arena, struct firn_dictionary);
    uint32_t *indices = FIRN_NEW_ARRAY(op->arena, uint32_t, kind->by_index);
    struct firn_vector vector = vector_of(kind->by_index);
    *dictionary = (struct firn_dictionary){ .id = file + 1, .type = FIRN_PARQUET_BYTE_ARRAY, .count = kind->distinct };
    dictionary->values.slice = texts_of(op, file, 0, kind->distinct);
    for (uint32_t i = 0; i < kind->by_index; i++)
        indices[i] = i % kind->distinct;
    vector.dictionary = dictionary;
    vector.indices = indices;
    CHECK_OK(op, firn_chunk_writer_adopt(op, writer, dictionary));
    CHECK_OK(op, firn_chunk_writer_append(op, writer, &vector));
}

static void encode_chunk(struct firn_op *op, const struct firn_parquet_node *leaf, const struct kind *kind,
                         uint32_t file, struct firn_encoded_chunk *out)
{
    struct firn_chunk_options options = firn_chunk_options_default();
    struct firn_chunk_writer *writer;
    options.dictionary = kind->by_index > 0;
    options.dictionary_bytes_max = (int32_t)(FIRN_MAX(kind->distinct, 1u) * (TEXT_BYTES + 4));
    options.codec = FIRN_CODEC_ZSTD;
    CHECK_OK(op, firn_chunk_writer_open(op, leaf, &options, &writer));
    if (kind->by_index > 0)
        append_indices(op, writer, kind, file);
    if (kind->by_index < ROWS) {
        struct firn_vector plain = vector_of(ROWS - kind->by_index);
        plain.values.slice = texts_of(op, file, 1000, ROWS - kind->by_index);
        CHECK_OK(op, firn_chunk_writer_append(op, writer, &plain));
    }
    CHECK_OK(op, firn_chunk_writer_finish(op, writer, out));
    firn_chunk_writer_close(writer);
}

static struct firn_data_file write_file(struct firn_op *op, struct firn_store *store, const struct kind *kind,
                                        uint32_t index)
{
    struct firn_output_schema schema = fixture_schema(op, SCHEMA);
    struct firn_text path = firn_text_format(op->arena, "mem:/t/in-%u.parquet", index);
    struct firn_buffer file = { 0 };
    struct firn_encoded_chunk chunk = { 0 };
    encode_chunk(op, schema.leaves[0].node, kind, index, &chunk);
    fixture_print(op, schema.footer, &chunk, ROWS, &file);
    CHECK_OK(op, firn_store_put(op, store, path, false, firn_buffer_bytes(&file)));
    struct firn_data_file data = fixture_file(path.data, (int64_t)file.len, ROWS);
    firn_buffer_done(&file);
    return data;
}

/* Of the pages that were not copied there may be none; the first file's dictionary is taken over. */
static void check_run(const struct kind *kind, const struct firn_rewrite_result *result, uint64_t expected_bytes)
{
    int64_t all = 0, done = result->rungs.rungs[kind->rung].bytes;
    for (int i = 0; i < FIRN_RUNG_COUNT; i++)
        all += result->rungs.rungs[i].bytes;
    if (kind->rung == FIRN_RUNG_SPLICE)
        done += result->rungs.rungs[FIRN_RUNG_KEEP].bytes;
    CHECK(done * 3 >= all * 2, "%s: %" PRId64 " of %" PRId64 " bytes were done so", kind->name, done, all);
    CHECK((int64_t)expected_bytes == all, "%s: %" PRIu64 " bytes were told, %" PRId64 " met", kind->name,
          expected_bytes, all);
}

static void pages_are_done_as_was_told(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_metadata *metadata = fixture_metadata(op, &(struct fixture_table){ .version = 2, .schemas = SCHEMA });
    for (size_t k = 0; k < FIRN_COUNT_OF(kinds); k++) {
        struct firn_data_file files[FILES];
        struct firn_expectation expected;
        struct firn_rewrite_result result;
        struct fixture_run run = { .metadata = metadata, .files = files, .file_count = FILES, .counts_only = true };
        CHECK_OK(op, firn_store_open_memory(op, &run.store));
        run.layout.layout = FIRN_LAYOUT_FASTEST;
        for (uint32_t i = 0; i < FILES; i++)
            files[i] = write_file(op, run.store, &kinds[k], i);
        struct firn_rewrite_group group = { .inputs = files, .input_count = FILES, .file_bytes_max = 1 << 30 };
        struct firn_rewrite_context context = {
            .metadata = metadata, .store = run.store, .layout = run.layout, .memory_bytes_max = UINT64_C(256) << 20
        };
        CHECK_OK(op, firn_rewrite_expect(op, &context, &group, &expected));
        CHECK(expected.column_count == 1 && expected.file_count == FILES, "%s", kinds[k].name);
        CHECK(expected.columns[0].rung == kinds[k].rung && expected.columns[0].reason == kinds[k].reason, "%s: %s, %s",
              kinds[k].name, firn_rung_name(expected.columns[0].rung),
              firn_rung_reason_name(expected.columns[0].reason));
        CHECK_OK(op, fixture_execute(op, &run, &result));
        check_run(&kinds[k], &result, expected.columns[0].bytes);
        firn_store_close(run.store);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { TEST(pages_are_done_as_was_told) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
