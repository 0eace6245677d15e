/* Bloom filters: those of other writers know every value of their chunks; ours are as small and as seldom wrong as they
 * are asked to be; what is broken is refused. */
#include "check.h"
#include "support/corpus.h"
#include "support/parquet_file.h"

#include "base/math.h"
#include "format/parquet/bloom_filter.h"

/* Of other writers ------------------------------------------------------------------------------------------------- */

/* Every value is found; `*absent` counts of a thousand other hashes those that are not. */
static void check_values(struct firn_op *op, const char *name, struct firn_bytes file,
                         const struct firn_parquet_node *leaf, const struct firn_column_chunk *chunk, int64_t rows,
                         uint32_t *absent)
{
    struct firn_chunk_reader *reader;
    struct firn_bloom_filter filter;
    struct firn_vector vector;
    bool has_page = true;
    uint64_t offset, len;
    CHECK((uint64_t)chunk->bloom_filter_offset < file.len, "%s", name);
    CHECK_OK(op, firn_bloom_filter_parse(op,
                                         (struct firn_bytes){ file.data + chunk->bloom_filter_offset,
                                                              file.len - (size_t)chunk->bloom_filter_offset },
                                         &filter));
    firn_column_chunk_range(chunk, &offset, &len);
    CHECK_OK(op, firn_chunk_reader_open(op, leaf, chunk, rows, (struct firn_bytes){ file.data + offset, len },
                                        (struct firn_chunk_reader_options){ 0 }, &reader));
    while (has_page) {
        CHECK_OK(op, firn_chunk_reader_next(op, reader, &vector, &has_page));
        for (uint32_t i = 0; has_page && i < vector.value_count; i++)
            CHECK(firn_bloom_filter_may_contain(&filter,
                                                firn_bloom_hash_at(vector.type, vector.type_length, vector.values, i)),
                  "%s: column %.*s, value %u", name, FIRN_FMT(leaf->path), i);
    }
    firn_chunk_reader_close(reader);
    for (uint64_t i = 0; i < 1000; i++)
        *absent += !firn_bloom_filter_may_contain(&filter, i * UINT64_C(0x9e3779b97f4a7c15));
}

static void test_corpus(void **state)
{
    static const char *const names[] = {
        "duckdb_multi_bloom_b",        "duckdb_multi_bloom_c",
        "cudf_bloom_filter_alignment", "cudf_mixed_card_ndv_500_bf_fpp0.1_nostats.snappy",
        "pqdotnet_637-duckdb",         "pqtesting_data_index_bloom_encoding_with_length"
    };
    struct firn_op *op = test_op(state);
    struct firn_text root = corpus_root(op);
    CORPUS_OR_SKIP(root);
    for (size_t i = 0; i < FIRN_COUNT_OF(names); i++) {
        struct firn_bytes file = corpus_file(op, "%.*s/parquet/bloom/%s.parquet", FIRN_FMT(root), names[i]);
        struct firn_footer *footer;
        uint32_t filters = 0, absent = 0;
        CHECK(file.data, "%s is missing", names[i]);
        CHECK_OK(op, parquet_file_footer(op, file, &footer));
        for (uint32_t g = 0; g < footer->row_group_count; g++)
            for (uint32_t c = 0; c < footer->leaf_count; c++) {
                const struct firn_column_chunk *chunk = &footer->row_groups[g].chunks[c];
                if (chunk->bloom_filter_offset <= 0)
                    continue;
                filters++;
                check_values(op, names[i], file, footer->leaves[c], chunk, footer->row_groups[g].row_count, &absent);
            }
        CHECK(filters > 0 && absent > 500 * filters, "%s: %u filters, %u hashes absent", names[i], filters, absent);
    }
}

/* Ours ------------------------------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t value)
{
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    return value ^ value >> 27;
}

/* `count` numbers, each `repeats` times, in a filter of at most `bytes_max`. */
static struct firn_bloom_filter build(struct firn_op *op, struct firn_buffer *bytes, uint32_t count, uint32_t repeats,
                                      uint32_t bytes_max, double fpp)
{
    struct firn_bloom_builder builder = { .bytes_max = bytes_max, .fpp = fpp };
    struct firn_bloom_filter filter;
    for (uint32_t r = 0; r < repeats; r++)
        for (uint32_t i = 0; i < count; i++) {
            int64_t value = (int64_t)mix(i + 1);
            CHECK_OK(op, firn_bloom_builder_add(op, &builder, FIRN_PARQUET_INT64, 0,
                                                (union firn_values){ .int64 = &value }, 1));
        }
    CHECK_OK(op, firn_bloom_builder_finish(op, &builder, bytes));
    firn_bloom_builder_done(&builder);
    CHECK_OK(op, firn_bloom_filter_parse(op, firn_buffer_bytes(bytes), &filter));
    return filter;
}

static bool has(const struct firn_bloom_filter *filter, uint32_t i)
{
    int64_t value = (int64_t)mix(i + 1);
    return firn_bloom_filter_may_contain(
        filter, firn_bloom_hash_at(FIRN_PARQUET_INT64, 0, (union firn_values){ .int64 = &value }, 0));
}

static void test_size_and_answers(void **state)
{
    static const struct {
        uint32_t count, repeats, bytes_max;
        double fpp;
        uint32_t least, most; /* bytes of the blocks */
    } cases[] = {
        { 1, 1, 1 << 20, 0.01, 32, 32 },
        { 1, 100000, 1 << 20, 0.01, 32, 32 },
        { 1000, 1, 1 << 20, 0.01, 1 << 10, 1 << 11 },
        { 1000, 300, 1 << 20, 0.01, 1 << 10, 1 << 11 }, /* as many values as if they were not repeated */
        { 1000, 1, 1 << 20, 0.0001, 1 << 11, 1 << 13 },
        { 100000, 3, 1 << 20, 0.01, 1 << 17, 1 << 18 },
        { 100000, 1, 1 << 14, 0.01, 1 << 14, 1 << 14 }, /* too small for so many */
        { 1000, 1, 32, 0.01, 32, 32 },
    };
    struct firn_op *op = test_op(state);
    for (size_t c = 0; c < FIRN_COUNT_OF(cases); c++) {
        struct firn_buffer bytes = { 0 };
        struct firn_bloom_filter filter =
            build(op, &bytes, cases[c].count, cases[c].repeats, cases[c].bytes_max, cases[c].fpp);
        uint32_t size = filter.block_count * FIRN_BLOOM_BLOCK_BYTES, wrong = 0;
        CHECK(size >= cases[c].least && size <= cases[c].most, "case %zu: %u bytes", c, size);
        for (uint32_t i = 0; i < cases[c].count; i++)
            CHECK(has(&filter, i), "case %zu: value %u", c, i);
        for (uint32_t i = 0; i < 100000; i++)
            wrong += has(&filter, 1000000 + i);
        bool is_full = cases[c].bytes_max < (1 << 20);
        CHECK(is_full || wrong <= 100000 * cases[c].fpp * 1.5 + 5, "case %zu: %u of 100000 wrong", c, wrong);
        firn_buffer_done(&bytes);
    }
}

static void test_floats(void **state)
{
    struct firn_op *op = test_op(state);
    double added[] = { -0.0, 1.5 }, asked[] = { 0.0, -0.0, 1.5, 2.5 };
    uint64_t odd_nan = UINT64_C(0xfff8000000000001);
    double nan;
    uint64_t canonical = UINT64_C(0x7ff8000000000000);
    struct firn_bloom_builder builder = { .bytes_max = 1 << 10, .fpp = 0.001 };
    struct firn_buffer bytes = { 0 };
    struct firn_bloom_filter filter;
    CHECK_OK(op, firn_bloom_builder_add(op, &builder, FIRN_PARQUET_DOUBLE, 0, (union firn_values){ .float64 = added },
                                        FIRN_COUNT_OF(added)));
    memcpy(&nan, &odd_nan, sizeof nan);
    CHECK_OK(op,
             firn_bloom_builder_add(op, &builder, FIRN_PARQUET_DOUBLE, 0, (union firn_values){ .float64 = &nan }, 1));
    CHECK_OK(op, firn_bloom_builder_finish(op, &builder, &bytes));
    CHECK_OK(op, firn_bloom_filter_parse(op, firn_buffer_bytes(&bytes), &filter));
    for (size_t i = 0; i < FIRN_COUNT_OF(asked); i++) {
        uint64_t hash = firn_bloom_hash_at(FIRN_PARQUET_DOUBLE, 0, (union firn_values){ .float64 = asked }, i);
        CHECK(firn_bloom_filter_may_contain(&filter, hash) == (i < 3), "%f", asked[i]);
    }
    union firn_values word = { .any = &canonical };
    CHECK(firn_bloom_filter_may_contain(&filter, firn_bloom_hash_at(FIRN_PARQUET_INT64, 0, word, 0)), "NaN");
    firn_bloom_builder_done(&builder);
    firn_buffer_done(&bytes);
}

static void test_broken(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_buffer bytes = { 0 };
    struct firn_bloom_filter filter;
    build(op, &bytes, 10, 1, 1 << 10, 0.01);
    for (size_t len = 0; len < bytes.len; len++) {
        firn_status status = firn_bloom_filter_parse(op, (struct firn_bytes){ bytes.data, len }, &filter);
        CHECK(status == FIRN_CORRUPT, "%zu bytes: %s", len, firn_status_name(status));
    }
    static const uint8_t negative[] = { 0x15, 0x3f, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0 };
    static const uint8_t other_hash[] = { 0x15, 0x40, 0x1c, 0x1c, 0, 0, 0x1c, 0x2c, 0, 0, 0x1c, 0x1c, 0, 0, 0 };
    CHECK_STATUS(op, FIRN_CORRUPT,
                 firn_bloom_filter_parse(op, (struct firn_bytes){ negative, sizeof negative }, &filter));
    CHECK_STATUS(op, FIRN_UNSUPPORTED,
                 firn_bloom_filter_parse(op, (struct firn_bytes){ other_hash, sizeof other_hash }, &filter));
    firn_buffer_done(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_corpus),
        TEST(test_size_and_answers),
        TEST(test_floats),
        TEST(test_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
