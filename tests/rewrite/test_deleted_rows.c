/* Rows deleted while a group is rewritten: exactly the named rows go, and the row map says where all others went. */
#include "../support/fault_store.h"
#include "table_fixture.h"

enum { TRIALS = 60 };

/* Named cases. --------------------------------------------------------------------------------------------------- */

/* R39 */
static void positions_count_from_the_start_of_the_file(void **state)
{
    struct table_test test;
    struct firn_rewrite_result result;
    static const int groups[] = { 50, 50, 50 };
    begin(&test, test_op(state), NESTED);
    uint64_t size = (uint64_t)add_file(&test, groups, 3, firn_chunk_options_default())->file_bytes;
    delete_rows(&test, 149, 1);
    delete_rows(&test, 50, 50); /* a whole row group */
    delete_rows(&test, 7, 1);
    delete_by_positions(&test);
    struct firn_rewrite_piece pieces[4];
    struct firn_rewrite_bin bins[4];
    for (uint32_t i = 0; i < 4; i++) { /* R40 */
        pieces[i] = (struct firn_rewrite_piece){ 0, size * i / 4, size * (i + 1) / 4 - size * i / 4 };
        bins[i] = (struct firn_rewrite_bin){ &pieces[i], 1 };
    }
    struct fixture_run run = run_of(&test, &(struct fixture_table){ .version = 2, .schemas = NESTED });
    CHECK_OK(test.op, fixture_execute(test.op, &run, &result));
    check_result(&test, &result, 0);
    assert_int_equal(result.row_map->count, 3);
    run.bins = bins;
    run.bin_count = 4;
    CHECK_OK(test.op, fixture_execute(test.op, &run, &result));
    check_result(&test, &result, 0);
    assert_int_equal(result.file_count, 2);
    firn_store_close(test.store);
}

/* R12 */
static void nothing_is_left_of_a_file_deleted_as_a_whole(void **state)
{
    struct table_test test;
    struct firn_rewrite_result result;
    static const int groups[] = { 10 };
    begin(&test, test_op(state), PLAIN);
    add_file(&test, groups, 1, firn_chunk_options_default());
    add_file(&test, groups, 1, firn_chunk_options_default());
    delete_rows(&test, 0, 10);
    delete_rows(&test, 13, 1);
    delete_by_positions(&test);
    struct fixture_run run = run_of(&test, &(struct fixture_table){ .version = 2, .schemas = PLAIN, .specs = BUCKETS });
    run.file_count = 1;
    for (run.output_spec_id = 0; run.output_spec_id < 2; run.output_spec_id++) {
        CHECK_OK(test.op, fixture_execute(test.op, &run, &result));
        CHECK(result.file_count == 0 && result.rows_in == 10 && result.rows_deleted == 10 && result.rows_out == 0,
              "%u files, %" PRId64 " rows", result.file_count, result.rows_out);
        CHECK(result.row_map && result.row_map->count == 0, "an empty map");
    }
    run.output_spec_id = 0;
    run.file_count = 2;
    CHECK_OK(test.op, fixture_execute(test.op, &run, &result));
    check_result(&test, &result, 0);
    firn_store_close(test.store);
}

/* R37: a null in the key column is not 5, but null is null. */
static void a_null_key_deletes_rows_with_null_only(void **state)
{
    struct table_test test;
    struct firn_rewrite_result result;
    static const char *const rows[] = { "1 ~ 5" }, *const five[] = { "5" }, *const null[] = { "~" };
    static const char schema[] = TABLE(FIELD(1, "id", "\"long\""));
    static int32_t ids[] = { 1 };
    begin(&test, test_op(state), schema);
    int64_t bytes = fixture_write(test.op, test.store, "mem:/t/data/in-0.parquet", test.schema.footer, rows, 1,
                                  firn_chunk_options_default());
    test.files[test.file_count++] = fixture_file("mem:/t/data/in-0.parquet", bytes, 3);
    test.sequence_numbers[0] = 1;
    for (int i = 0; i < 2; i++) {
        struct firn_manifest_entry *entry =
            add_delete(&test, schema, i ? null : five, 2 + i, FIRN_CONTENT_EQUALITY_DELETES);
        entry->file.equality_ids = ids;
        entry->file.equality_id_count = 1;
        struct fixture_run run = run_of(&test, &(struct fixture_table){ .version = 2, .schemas = schema });
        CHECK_OK(test.op, fixture_execute(test.op, &run, &result));
        check_same(fixture_dump(test.op, test.store, &result, "id"), i ? "1" : "1 ~", 0, "id");
    }
    firn_store_close(test.store);
}

/* R38: equality deletes reach strictly older files, position deletes also those of their own commit. */
static void deletes_reach_files_by_their_sequence_number(void **state)
{
    struct table_test test;
    struct firn_rewrite_result result;
    static const int groups[] = { 4 };
    static const int64_t sequence_numbers[] = { 6, 7, 8 };
    for (int by_keys = 0; by_keys < 2; by_keys++) {
        begin(&test, test_op(state), PLAIN);
        for (int i = 0; i < 3; i++) {
            add_file(&test, groups, 1, firn_chunk_options_default());
            test.sequence_numbers[i] = sequence_numbers[i];
        }
        delete_rows(&test, 0, 12);
        by_keys ? delete_by_keys(&test) : delete_by_positions(&test);
        memset(test.deleted, 0, sizeof test.deleted);
        delete_rows(&test, 0, by_keys ? 4 : 8);
        struct fixture_run run = run_of(&test, &(struct fixture_table){ .version = 2, .schemas = PLAIN });
        CHECK_OK(test.op, fixture_execute(test.op, &run, &result));
        check_result(&test, &result, 0);
        firn_store_close(test.store);
    }
}

static void a_map_that_is_too_large_is_given_up(void **state)
{
    struct table_test test;
    struct firn_rewrite_result result;
    static const int groups[] = { 60 };
    begin(&test, test_op(state), PLAIN);
    add_file(&test, groups, 1, firn_chunk_options_default());
    for (int64_t i = 0; i < 60; i += 2)
        delete_rows(&test, i, 1); /* 30 runs */
    delete_by_positions(&test);
    struct fixture_run run = run_of(&test, &(struct fixture_table){ .version = 2, .schemas = PLAIN });
    run.row_map_bytes_max = 30 * sizeof(struct firn_row_run);
    CHECK_OK(test.op, fixture_execute(test.op, &run, &result));
    check_result(&test, &result, 0);
    assert_int_equal(result.row_map->count, 30);
    for (int i = 0; i < 2; i++) {
        run.row_map_bytes_max = i ? 0 : run.row_map_bytes_max - 1;
        CHECK_OK(test.op, fixture_execute(test.op, &run, &result));
        CHECK(!result.row_map && result.rows_out == 30, "a map of %" PRIu64 " bytes", run.row_map_bytes_max);
    }
    firn_store_close(test.store);
}

/* A delete that cannot be read is no reason to write the rows. */
static void an_unreadable_delete_fails_the_group(void **state)
{
    struct table_test test;
    struct firn_rewrite_result result;
    static const int groups[] = { 10 };
    size_t objects;
    begin(&test, test_op(state), PLAIN);
    add_file(&test, groups, 1, firn_chunk_options_default())->first_row_id = 0;
    delete_rows(&test, 3, 1);
    delete_by_vectors(&test);
    struct fixture_run run = run_of(&test, &(struct fixture_table){ .version = 3, .schemas = PLAIN });
    struct firn_bytes broken = { (const uint8_t *)"PFA1 but not the rest of it, which should be a vector", 53 };
    CHECK_OK(test.op, firn_store_put(test.op, test.store, FIRN_TEXT("mem:/t/v.puffin"), false, broken));
    CHECK_STATUS(test.op, FIRN_CORRUPT, fixture_execute(test.op, &run, &result));
    CHECK(strstr(test.op->error.text, "v.puffin"), "%s", test.op->error.text);
    run.sequence_numbers = NULL;
    CHECK_STATUS(test.op, FIRN_USAGE, fixture_execute(test.op, &run, &result));
    CHECK_OK(test.op, store_count(test.op, test.store, FIRN_TEXT("mem:/t"), &objects));
    assert_int_equal(objects, 2);
    firn_store_close(test.store);
}

static void add_noise_file(struct table_test *test, int rows)
{
    struct firn_op *op = test->op;
    struct firn_buffer ids = { 0 }, names = { 0 };
    for (int i = 0; i < rows; i++) {
        uint8_t noise[16];
        op->env->random(op->env->context, noise, sizeof noise);
        append(op, &ids, "7 ");
        append(op, &names, "0x");
        for (int b = 0; b < 16; b++)
            append(op, &names, firn_text_format(op->arena, b < 15 ? "%02x" : "%02x ", noise[b]).data);
    }
    const char *columns[] = { take_text(op, &ids), take_text(op, &names) };
    const char *path = firn_text_format(op->arena, "mem:/t/data/in-%u.parquet", test->file_count).data;
    int64_t bytes = fixture_write(op, test->store, path, test->schema.footer, columns, 1, firn_chunk_options_default());
    test->first_rows[test->file_count + 1] = test->first_rows[test->file_count] + rows;
    test->sequence_numbers[test->file_count] = 1;
    test->files[test->file_count++] = fixture_file(path, bytes, rows);
}

/* Files that lose most of their rows, in front, between files that lose none. */
static void row_groups_have_their_size_without_the_deleted_rows(void **state)
{
    struct table_test test;
    struct firn_rewrite_result result;
    static const char schema[] = TABLE(ID "," FIELD(2, "noise", "\"binary\""));
    begin(&test, test_op(state), schema);
    for (uint32_t i = 0; i < FILES_MAX; i++) { /* about 80 KB each */
        add_noise_file(&test, NOISE_ROWS);
        delete_rows(&test, test.first_rows[i], i % 3 ? 0 : NOISE_ROWS * 9 / 10);
    }
    delete_by_positions(&test);
    struct fixture_run run =
        run_of(&test, &(struct fixture_table){ .version = 2,
                                               .schemas = schema,
                                               .properties = "\"write.parquet.row-group-size-bytes\":\"50000\","
                                                             "\"write.parquet.page-size-bytes\":\"4096\"" });
    run.file_bytes_max = 200000;
    CHECK_OK(test.op, fixture_execute(test.op, &run, &result));
    assert_int_equal(result.rows_out, 5 * NOISE_ROWS + 3 * NOISE_ROWS / 10);
    for (uint32_t f = 0; f < result.file_count; f++) {
        const struct firn_data_file *file = &result.files[f];
        CHECK(file->file_bytes < 220000 && (file->file_bytes > 180000 || f + 1 == result.file_count),
              "file %u: %" PRId64, f, file->file_bytes);
        for (uint32_t g = 0; g + 1 < file->split_offset_count; g++) {
            int64_t bytes = file->split_offsets[g + 1] - file->split_offsets[g];
            CHECK(bytes > 40000 && bytes < 60000, "row group %u of file %u: %" PRId64, g, f, bytes);
        }
    }
    firn_store_close(test.store);
}

/* Any table, any deletes, any plan. ------------------------------------------------------------------------------ */

static void rewrite_any(struct firn_op *op, struct firn_pool *pool, uint64_t seed)
{
    struct table_test *test = FIRN_NEW(op->arena, struct table_test);
    struct dice dice = { seed * UINT64_C(0x9e3779b97f4a7c15) };
    struct firn_rewrite_result result;
    const char *schema = roll(&dice, 4) ? NESTED : PLAIN;
    int version = 2 + (int)roll(&dice, 2);
    begin(test, op, schema);
    uint32_t file_count = 1 + roll(&dice, FILES_MAX);
    for (uint32_t i = 0; i < file_count; i++)
        add_any_file(test, &dice);
    for (uint32_t i = 0; i < file_count; i++)
        test->files[i].first_row_id = version == 3 ? 1000 * (int64_t)i : FIRN_ABSENT;
    delete_any_rows(test, &dice);
    if (roll(&dice, 4) == 0)
        delete_by_keys(test);
    else
        version == 3 ? delete_by_vectors(test) : delete_by_positions(test);
    struct fixture_run run =
        run_of(test, &(struct fixture_table){
                         .version = version,
                         .schemas = schema,
                         .specs = BUCKETS,
                         .properties = roll(&dice, 2) ? "\"write.parquet.row-group-size-bytes\":\"400\"" : NULL });
    run.pool = roll(&dice, 2) ? pool : NULL;
    run.output_spec_id = (int32_t)roll(&dice, 2);
    run.file_bytes_max = roll(&dice, 2) ? 900 : 0;
    static const uint64_t memory[] = { 10000, 0, UINT64_C(4) << 30 }; /* several passes; one; bins side by side */
    run.memory_bytes_max = memory[roll(&dice, 3)];
    run.counts_only = roll(&dice, 4) == 0;
    if (roll(&dice, 2))
        deal_pieces(test, &dice, &run);
    run.layout.layout = roll(&dice, FIRN_LAYOUT_COUNT);
    run.layout.is_forced = roll(&dice, 2);
    run.layout.forced = roll(&dice, FIRN_RUNG_COUNT);
    firn_status status = fixture_execute(op, &run, &result);
    CHECK(status == FIRN_OK, "seed %" PRIu64 ": %s", seed, op->error.text);
    check_result(test, &result, seed);
    firn_store_close(test->store);
}

static void exactly_the_named_rows_go(void **state)
{
    run_trials(test_op(state), rewrite_any, TRIALS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(positions_count_from_the_start_of_the_file),
        TEST(nothing_is_left_of_a_file_deleted_as_a_whole),
        TEST(a_null_key_deletes_rows_with_null_only),
        TEST(deletes_reach_files_by_their_sequence_number),
        TEST(a_map_that_is_too_large_is_given_up),
        TEST(an_unreadable_delete_fails_the_group),
        TEST(row_groups_have_their_size_without_the_deleted_rows),
        TEST(exactly_the_named_rows_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
