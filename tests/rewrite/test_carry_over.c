/* Deletes of inputs said anew of outputs. */
#include "fixture.h"

#include "../support/fault_store.h"
#include "rewrite/carry_over.h"
#include "rewrite/deletion_position.h"
#include "table/delete_index.h"

#define SCHEMA                                                                                                         \
    "{\"type\":\"struct\",\"schema-id\":0,\"fields\":[{\"id\":1,\"name\":\"id\",\"required\":false,\"type\":\"long\"}" \
    "]}"
#define DATA "mem:/t/data/"

enum { DELETES_MAX = 8, ROWS_MAX = 12 };

/* Three groups. Of a (10 rows) and b (5) the rows 3 and 4 of a were deleted when they became o0 and o1; all four rows
 * of c were deleted; where the rows of d went is not known. */
static struct firn_row_run runs[] = {
    { .input = 0, .output = 0, .input_row = 0, .output_row = 0, .row_count = 3 },
    { .input = 0, .output = 0, .input_row = 5, .output_row = 3, .row_count = 5 },
    { .input = 1, .output = 0, .input_row = 0, .output_row = 8, .row_count = 2 },
    { .input = 1, .output = 1, .input_row = 2, .output_row = 0, .row_count = 3 },
};
static struct firn_row_map map = { .runs = runs, .count = FIRN_COUNT_OF(runs) };

struct carry_test {
    struct firn_op *op;
    struct firn_store *store;
    struct firn_carry_over_config config;
    struct firn_rewrite_group groups[3];
    struct firn_rewrite_result results[3];
    struct firn_carry_over_group pairs[3];
    const struct firn_manifest_entry *deletes[DELETES_MAX];
    uint32_t count;
    struct firn_carry_over_result out;
};

static struct firn_data_file *files_of(struct firn_op *op, const char *first, const char *second)
{
    struct firn_data_file *files = FIRN_NEW_ARRAY(op->arena, struct firn_data_file, 2);
    files[0] = fixture_file(first, 100, 10);
    files[1] = fixture_file(second, 100, 5);
    return files;
}

static void begin(struct carry_test *test, struct firn_op *op, int version)
{
    static const int64_t numbers[] = { 1, 2 };
    struct fixture_table table = { .version = version, .schemas = SCHEMA };
    *test = (struct carry_test){ .op = op };
    CHECK_OK(op, firn_store_open_memory(op, &test->store));
    test->config = (struct firn_carry_over_config){
        .metadata = fixture_metadata(op, &table),
        .store = test->store,
        .operation = firn_uuid_random(op),
        .number = 7,
    };
    test->groups[0] = (struct firn_rewrite_group){ .inputs = files_of(op, DATA "a.parquet", DATA "b.parquet"),
                                                   .input_sequence_numbers = numbers,
                                                   .input_count = 2 };
    test->groups[1] = (struct firn_rewrite_group){ .inputs = files_of(op, DATA "c.parquet", ""), .input_count = 1 };
    test->groups[2] = (struct firn_rewrite_group){ .inputs = files_of(op, DATA "d.parquet", ""), .input_count = 1 };
    test->results[0] = (struct firn_rewrite_result){ .files = files_of(op, DATA "o0.parquet", DATA "o1.parquet"),
                                                     .file_count = 2,
                                                     .row_map = &map };
    test->results[2] = (struct firn_rewrite_result){ .files = files_of(op, DATA "o2.parquet", ""), .file_count = 1 };
    for (int i = 0; i < 3; i++)
        test->pairs[i] = (struct firn_carry_over_group){ &test->groups[i], &test->results[i] };
}

/* Deletes of one data file: its name, then positions. */
struct rows {
    const char *file;
    int64_t positions[ROWS_MAX];
    int count;
};
#define ROWS(name, ...)                                                                                                \
    {                                                                                                                  \
        name, { __VA_ARGS__ }, sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)                                    \
    }

static void add_entries(struct carry_test *test, const struct firn_delete_files *files)
{
    for (uint32_t i = 0; i < files->count; i++) {
        struct firn_manifest_entry *entry = FIRN_NEW(test->op->arena, struct firn_manifest_entry);
        *entry = (struct firn_manifest_entry){ .sequence_number = 5, .file = files->files[i] };
        test->deletes[test->count++] = entry;
    }
}

/* Deletes as one commit of a peer adds them. */
static void add(struct carry_test *test, const struct rows *rows, uint32_t count, enum firn_delete_granularity how)
{
    struct firn_op *op = test->op;
    struct firn_row_deletes *deletes = FIRN_NEW_ARRAY(op->arena, struct firn_row_deletes, count);
    struct firn_delete_files files;
    struct firn_delete_writer_config config = {
        .metadata = test->config.metadata,
        .store = test->store,
        .operation = firn_uuid_random(op),
        .granularity = how,
        .file_bytes_max = 1 << 20,
    };
    for (uint32_t i = 0; i < count; i++) {
        deletes[i].data_file = firn_text_of(rows[i].file);
        CHECK_OK(op, firn_positions_new(op, &deletes[i].positions));
        for (int k = 0; k < rows[i].count; k++)
            CHECK_OK(op, firn_positions_add(op, deletes[i].positions, rows[i].positions[k]));
    }
    CHECK_OK(op, firn_row_deletes_write(op, &config, deletes, count, &files));
    add_entries(test, &files);
}

static firn_status carry(struct carry_test *test)
{
    return firn_carry_over_write(test->op, &test->config, test->pairs, 3, test->deletes, test->count, &test->out);
}

/* What the written files delete, as "o0: 1 2; o1: 0; ". */
static const char *written(struct carry_test *test)
{
    struct firn_op *op = test->op;
    struct firn_text text = FIRN_TEXT("");
    struct firn_delete_names names;
    firn_delete_names_init(&names, op->arena);
    for (uint32_t i = 0; i < test->out.files.count; i++) {
        const struct firn_data_file *file = &test->out.files.files[i];
        struct firn_text scope = firn_delete_file_scope(file);
        struct firn_positions *positions;
        struct firn_map found;
        firn_map_init(&found, op->arena);
        firn_delete_names_add(&names, scope);
        if (firn_data_file_is_deletion_vector(file)) {
            CHECK_OK(op, firn_deletion_vector_read(op, test->store, file, &positions));
        } else {
            struct firn_position_source source = { test->config.metadata, test->store, &names };
            CHECK_OK(op, firn_position_deletes_read(op, &source, file, &found));
            assert_int_equal(found.count, 1);
            positions = found.entries[0].value.pointer;
        }
        struct firn_text name = firn_text_from(scope, strlen(DATA));
        text = firn_text_format(op->arena, "%.*s%.*s:", FIRN_FMT(text), FIRN_FMT(firn_text_until(name, 2)));
        for (int64_t at = 0; firn_positions_next(positions, at, &at); at++)
            text = firn_text_format(op->arena, "%.*s %" PRId64, FIRN_FMT(text), at);
        text = firn_text_format(op->arena, "%.*s; ", FIRN_FMT(text));
    }
    return text.data;
}

static void check_carried(struct carry_test *test, const char *wanted, int64_t row_count)
{
    CHECK_OK(test->op, carry(test));
    assert_string_equal(written(test), wanted);
    assert_int_equal(test->out.row_count, row_count);
    firn_store_close(test->store);
}

/* Of a file that stays, of a row deleted before, of rows that no file has: nothing comes of them. */
static const struct rows shared[] = {
    ROWS(DATA "a.parquet", 0, 2, 3, 4, 5, 9, 10, 4000000000),
    ROWS(DATA "b.parquet", 1, 2, 4),
    ROWS(DATA "c.parquet", 0, 3),
    ROWS(DATA "other.parquet", 0, 1, 2),
};

static void rows_take_the_way_they_took(void **state)
{
    static const enum firn_delete_granularity ways[] = { FIRN_DELETES_BY_PARTITION, FIRN_DELETES_BY_FILE };
    for (size_t i = 0; i < FIRN_COUNT_OF(ways); i++) {
        struct carry_test test;
        begin(&test, test_op(state), 2);
        add(&test, shared, FIRN_COUNT_OF(shared), ways[i]);
        assert_int_equal(test.count, ways[i] == FIRN_DELETES_BY_FILE ? 4 : 1);
        check_carried(&test, "o0: 0 2 3 7 9; o1: 0 2; ", 7);
    }
}

static void vectors_become_vectors(void **state)
{
    struct carry_test test;
    begin(&test, test_op(state), 3);
    add(&test, shared, FIRN_COUNT_OF(shared), FIRN_DELETES_BY_FILE);
    assert_true(firn_data_file_is_deletion_vector(&test.deletes[0]->file));
    assert_true(firn_text_same(test.deletes[0]->file.path, test.deletes[1]->file.path)); /* one Puffin */
    check_carried(&test, "o0: 0 2 3 7 9; o1: 0 2; ", 7);
    for (uint32_t i = 0; i < test.out.files.count; i++)
        assert_true(firn_data_file_is_deletion_vector(&test.out.files.files[i]));
}

/* Several files that delete the same and other rows are one. */
static void deletes_of_several_files_are_joined(void **state)
{
    static const struct rows first[] = { ROWS(DATA "a.parquet", 0, 6) }, second[] = { ROWS(DATA "a.parquet", 6, 8) };
    struct carry_test test;
    begin(&test, test_op(state), 2);
    add(&test, first, 1, FIRN_DELETES_BY_FILE);
    add(&test, second, 1, FIRN_DELETES_BY_PARTITION);
    add(&test, second, 1, FIRN_DELETES_BY_FILE);
    check_carried(&test, "o0: 0 4 6; ", 3);
}

/* A table raised to version 3 meanwhile takes no position delete files any more, but keeps those it has. */
static void position_deletes_of_an_upgraded_table_become_vectors(void **state)
{
    struct fixture_table table = { .version = 3, .schemas = SCHEMA };
    struct carry_test test;
    begin(&test, test_op(state), 2);
    add(&test, shared, FIRN_COUNT_OF(shared), FIRN_DELETES_BY_FILE);
    test.config.metadata = fixture_metadata(test.op, &table);
    check_carried(&test, "o0: 0 2 3 7 9; o1: 0 2; ", 7);
    assert_true(firn_data_file_is_deletion_vector(&test.out.files.files[0]));
}

static void other_spellings_of_a_file_are_it(void **state)
{
    static const struct rows rows[] = { ROWS("/t/data/b.parquet", 0), ROWS("mem://host/t/data/b.parquet", 3) };
    struct carry_test test;
    begin(&test, test_op(state), 2);
    add(&test, rows, 2, FIRN_DELETES_BY_FILE);
    check_carried(&test, "o0: 8; o1: 1; ", 2);
}

static void nothing_is_written_for_nothing(void **state)
{
    static const struct rows rows[] = { ROWS(DATA "a.parquet", 3, 4), ROWS(DATA "c.parquet", 1),
                                        ROWS(DATA "other.parquet", 1) };
    struct carry_test test;
    begin(&test, test_op(state), 2);
    add(&test, rows, FIRN_COUNT_OF(rows), FIRN_DELETES_BY_PARTITION);
    check_carried(&test, "", 0);
}

/* A wide delete that names no row of the group without a map does not need the map. */
static void a_missing_map_is_a_conflict_where_it_is_needed(void **state)
{
    static const struct rows rows[] = { ROWS(DATA "b.parquet", 0), ROWS(DATA "d.parquet", 0) };
    struct firn_op *op = test_op(state);
    struct carry_test test;
    size_t count;
    begin(&test, op, 2);
    add(&test, rows, 1, FIRN_DELETES_BY_PARTITION);
    check_carried(&test, "o0: 8; ", 1);
    begin(&test, op, 2);
    add(&test, rows, 2, FIRN_DELETES_BY_PARTITION);
    CHECK_STATUS(op, FIRN_CONFLICT, carry(&test));
    CHECK(strstr(op->error.text, "d.parquet") && strstr(op->error.text, "memory"), "%s", op->error.text);
    CHECK(strstr(op->error.text, firn_text_copy(op->arena, test.deletes[0]->file.path).data), "%s", op->error.text);
    CHECK_OK(op, store_count(op, test.store, FIRN_TEXT(DATA), &count));
    assert_int_equal(count, 1);
    firn_store_close(test.store);
}

static void unreadable_deletes_are_a_conflict(void **state)
{
    static const struct rows rows[] = { ROWS(DATA "a.parquet", 0) };
    struct firn_op *op = test_op(state);
    for (int broken = 0; broken < 2; broken++) {
        struct carry_test test;
        begin(&test, op, 2);
        add(&test, rows, 1, FIRN_DELETES_BY_FILE);
        struct firn_manifest_entry entry = *test.deletes[0];
        test.deletes[0] = &entry;
        if (broken) {
            CHECK_OK(op, firn_store_put(op, test.store, entry.file.path, false, firn_bytes_of_text(FIRN_TEXT("no"))));
        } else {
            entry.file.format = FIRN_FILE_ORC;
            entry.file.format_text = FIRN_TEXT("ORC");
        }
        CHECK_STATUS(op, FIRN_CONFLICT, carry(&test));
        CHECK(strstr(op->error.text, firn_text_copy(op->arena, entry.file.path).data), "%s", op->error.text);
        CHECK(broken || strstr(op->error.text, "ORC"), "%s", op->error.text);
        firn_store_close(test.store);
    }
}

/* The same call once more, as after a lost race, gives the same in other files. */
static void calls_repeat(void **state)
{
    struct carry_test test;
    begin(&test, test_op(state), 2);
    add(&test, shared, FIRN_COUNT_OF(shared), FIRN_DELETES_BY_FILE);
    CHECK_OK(test.op, carry(&test));
    struct firn_carry_over_result first = test.out;
    const char *rows = written(&test);
    test.config.number++;
    CHECK_OK(test.op, carry(&test));
    assert_string_equal(written(&test), rows);
    assert_false(firn_text_same(first.files.files[0].path, test.out.files.files[0].path));
    firn_store_close(test.store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rows_take_the_way_they_took),
        TEST(vectors_become_vectors),
        TEST(deletes_of_several_files_are_joined),
        TEST(position_deletes_of_an_upgraded_table_become_vectors),
        TEST(other_spellings_of_a_file_are_it),
        TEST(nothing_is_written_for_nothing),
        TEST(a_missing_map_is_a_conflict_where_it_is_needed),
        TEST(unreadable_deletes_are_a_conflict),
        TEST(calls_repeat),
    };
    return cmocka_run_group_tests_name("carry_over", tests, NULL, NULL);
}
