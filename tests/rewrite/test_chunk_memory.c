/* What is said of the memory of chunks when footers say anything. */
#include "check.h"

#include "format/parquet/reader.h"
#include "rewrite/chunk_memory.h"

enum { COLUMNS = 3, MEMORY = 1 << 20 };

/* A row group of columns that are all alike. */
static struct firn_chunk_memory memory_of(struct firn_op *op, const struct firn_column_chunk *chunk,
                                          uint64_t index_bytes)
{
    struct firn_parquet_node node = { .type = FIRN_PARQUET_INT64, .is_leaf = true };
    const struct firn_parquet_node *leaves[COLUMNS] = { &node, &node, &node };
    struct firn_column_chunk chunks[COLUMNS] = { *chunk, *chunk, *chunk };
    struct firn_row_group row_group = { .chunks = chunks, .chunk_count = COLUMNS, .row_count = chunk->value_count };
    struct firn_footer footer = { .leaves = leaves, .leaf_count = COLUMNS };
    const struct firn_chunk_memory_terms terms = {
        .footer = &footer, .row_group = &row_group, .index_bytes = index_bytes, .bytes_max = MEMORY
    };
    return firn_chunk_memory_find(op, &terms);
}

static void what_fits_is_read_whole(void **state)
{
    const struct firn_column_chunk chunk = { .value_count = 1000,
                                             .compressed_bytes = 4000,
                                             .uncompressed_bytes = 8000 };
    struct firn_chunk_memory memory = memory_of(test_op(state), &chunk, 100);
    assert_int_equal(memory.piece_bytes, 0);
    assert_int_equal(memory.column_bytes_max, 4000 + 3 * 8000);
    assert_int_equal(memory.held_bytes, 100 + COLUMNS * memory.column_bytes_max);
    assert_int_equal(memory.decoded_bytes, COLUMNS * 8000);
}

static void what_does_not_is_read_in_pieces(void **state)
{
    const struct firn_column_chunk chunk = { .value_count = 1000, .compressed_bytes = 9 << 20 };
    struct firn_chunk_memory memory = memory_of(test_op(state), &chunk, 0);
    assert_in_range(memory.piece_bytes, 1, (9 << 20) / FIRN_CHUNK_PIECES);
    assert_int_equal(memory.column_bytes_max, FIRN_CHUNK_PIECES * memory.piece_bytes);
}

/* No page is larger than readers take, whatever is announced: sums of such sizes must not go round. */
static void impossible_pages_are_only_large(void **state)
{
    struct firn_encoding_stats one_page = { .page_type = FIRN_PAGE_DATA, .count = 1 };
    const struct firn_column_chunk chunk = {
        .value_count = INT64_MAX,
        .compressed_bytes = INT64_MAX,
        .uncompressed_bytes = INT64_MAX,
        .encoding_stats = &one_page,
        .encoding_stats_count = 1,
    };
    struct firn_chunk_memory memory = memory_of(test_op(state), &chunk, 0);
    assert_in_range(memory.column_bytes_max, FIRN_PAGE_BYTES_MAX, 4 * FIRN_PAGE_BYTES_MAX);
    assert_in_range(memory.held_bytes, COLUMNS * FIRN_PAGE_BYTES_MAX, 4 * COLUMNS * FIRN_PAGE_BYTES_MAX);
    assert_true(memory.decoded_bytes > INT64_MAX / 2);
}

static void empty_chunks_take_something(void **state)
{
    const struct firn_column_chunk chunk = { .value_count = 1000 };
    struct firn_chunk_memory memory = memory_of(test_op(state), &chunk, 2 * MEMORY);
    assert_int_equal(memory.held_bytes, 2 * MEMORY);
    assert_int_equal(memory.column_bytes_max, 1);
}

/* A row group of small pages under large dictionaries takes what these do: as they lie, inflated, as values. */
static void dictionaries_count(void **state)
{
    enum { DICTIONARY = 200 << 10 };
    struct firn_encoding_stats pages = { .page_type = FIRN_PAGE_DATA, .count = 100 };
    struct firn_column_chunk chunk = {
        .encoding_stats = &pages,
        .encoding_stats_count = 1,
        .value_count = 100000,
        .compressed_bytes = 300 << 10,
        .uncompressed_bytes = 600 << 10,
        .dictionary_page_offset = 4,
        .data_page_offset = 4 + DICTIONARY,
    };
    uint64_t with = memory_of(test_op(state), &chunk, 0).held_bytes;
    assert_in_range(with, COLUMNS * 5 * DICTIONARY, COLUMNS * 7 * DICTIONARY);
    chunk.data_page_offset = INT64_MAX; /* and lies change no sign */
    assert_in_range(memory_of(test_op(state), &chunk, 0).held_bytes, with, 2 * with);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_fits_is_read_whole),
        TEST(what_does_not_is_read_in_pieces),
        TEST(impossible_pages_are_only_large),
        TEST(empty_chunks_take_something),
        TEST(dictionaries_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
