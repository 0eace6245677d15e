/* Deletes of every kind against small data files: which rows of each are deleted. */
#include "deletion_fixture.h"

#include "../support/fault_store.h"
#include "format/avro/writer.h"
#include "format/puffin/deletion_vector.h"

static void positions_of_many_files_in_any_order(void **state)
{
    struct deletion_test test;
    const char *rows[] = { "1 2 3 4", "a b c d" };
    begin(&test, test_op(state));
    add_data(&test, "mem:/t/a.parquet", ROWS, rows, 1);
    add_data(&test, "mem:/t/b.parquet", ROWS, rows, 1);
    add_data(&test, "mem:/t/c.parquet", ROWS, rows, 1);
    add_positions(&test, "mem:/t/b.parquet ~ mem:/t/a.parquet mem:/t/b.parquet mem:/t/b.parquet mem:/t/gone.parquet",
                  "3 ~ 1 0 3 2", 2);
    add_positions(&test, "mem:/t/a.parquet ~", "2 7", 2);
    CHECK_OK(test.op, load(&test));
    check_deleted(&test, 0, "1 2");
    check_deleted(&test, 1, "0 3");
    check_deleted(&test, 2, "");
    end(&test);
}

static void the_row_column_is_passed_over(void **state)
{
    struct deletion_test test;
    const char *rows[] = { "1 2 3 4", "a b c d" };
    const char *deletes[] = { "mem:/t/a.parquet mem:/t/a.parquet", "1 3", "2 4" };
    begin(&test, test_op(state));
    add_data(&test, "mem:/t/a.parquet", ROWS, rows, 1);
    add_file(&test, "mem:/t/d.parquet",
             SCHEMA(0, PATH_FIELD "," POSITION_FIELD "," FIELD(
                           2147483544, "row", "{\"type\":\"struct\",\"fields\":[" FIELD(1, "id", LONG) "]}")),
             deletes, 1, 1, true)
        ->file.content = FIRN_CONTENT_POSITION_DELETES;
    CHECK_OK(test.op, load(&test));
    check_deleted(&test, 0, "1 3");
    end(&test);
}

/* R38: position deletes reach files of their own sequence number, not newer ones. */
static void positions_reach_files_of_the_same_commit(void **state)
{
    struct deletion_test test;
    const char *rows[] = { "1 2 3 4", "a b c d" };
    begin(&test, test_op(state));
    add_data(&test, "mem:/t/a.parquet", ROWS, rows, 2);
    add_data(&test, "mem:/t/b.parquet", ROWS, rows, 3);
    add_positions(&test, "mem:/t/a.parquet mem:/t/b.parquet", "0 0", 2);
    CHECK_OK(test.op, load(&test));
    check_deleted(&test, 0, "0");
    check_deleted(&test, 1, "");
    end(&test);
}

/* R39 */
static void positions_count_from_the_start_of_the_file(void **state)
{
    struct deletion_test test;
    struct firn_op *op = test_op(state);
    struct firn_buffer ids = { 0 }, paths = { 0 }, positions = { 0 };
    const struct firn_positions *deleted;
    begin(&test, op);
    for (int i = 0; i < 100; i++) {
        CHECK_OK(op, firn_buffer_append(op, &ids, "7 ", 2));
        CHECK_OK(op, firn_buffer_append(op, &paths, "mem:/t/a.parquet ", 17));
        struct firn_text number = firn_text_format(op->arena, "%d ", i ? 100 + i : 42);
        CHECK_OK(op, firn_buffer_append(op, &positions, number.data, number.len));
    }
    CHECK_OK(op, firn_buffer_append(op, &ids, "", 1));
    CHECK_OK(op, firn_buffer_append(op, &paths, "", 1));
    CHECK_OK(op, firn_buffer_append(op, &positions, "", 1));
    const char *id_text = (const char *)ids.data;
    const char *columns[] = { id_text, id_text, id_text, id_text };
    add_file(&test, "mem:/t/a.parquet", ROWS, columns, 2, 1, false);
    add_positions(&test, (const char *)paths.data, (const char *)positions.data, 2);
    CHECK_OK(op, load(&test));
    CHECK_OK(op, firn_deletions_find(op, test.deletions, &test.files[0], &deleted));
    assert_int_equal(firn_positions_count_range(deleted, 0, 100), 1);
    assert_int_equal(firn_positions_count_range(deleted, 100, 200), 99);
    assert_true(firn_positions_contains(deleted, 199) && firn_positions_contains(deleted, 42));
    firn_buffer_done(&ids);
    firn_buffer_done(&paths);
    firn_buffer_done(&positions);
    end(&test);
}

/* An authority that one side leaves out is no difference; a location that is another live file's is. */
static void spellings_of_a_location(void **state)
{
    struct deletion_test test;
    const char *rows[] = { "1 2 3 4", "a b c d" };
    begin(&test, test_op(state));
    add_data(&test, "/t/a.parquet", ROWS, rows, 1);
    add_data(&test, "s3://one/t/b.parquet", ROWS, rows, 1);
    add_data(&test, "s3://two/t/b.parquet", ROWS, rows, 1);
    add_positions(&test, "hdfs://host:20500/t/a.parquet s3://one/t/b.parquet s3a://one/t/a.parquet", "1 2 3", 2);
    CHECK_OK(test.op, load(&test));
    check_deleted(&test, 0, "1 3");
    check_deleted(&test, 1, "2");
    check_deleted(&test, 2, "");
    end(&test);
}

struct avro_row {
    struct firn_text path;
    int64_t position, extra;
};

static void add_avro_positions(struct deletion_test *test, const struct avro_row *rows, size_t count, bool has_position)
{
    struct firn_avro_column columns[] = {
        { 2147483546, FIRN_TEXT("file_path"), FIRN_AVRO_MEMBER_TEXT, true, offsetof(struct avro_row, path) },
        { 2147483544, FIRN_TEXT("row"), FIRN_AVRO_MEMBER_I64, true, offsetof(struct avro_row, extra) },
        { 2147483545, FIRN_TEXT("pos"), FIRN_AVRO_MEMBER_I64, true, offsetof(struct avro_row, position) },
    };
    struct firn_avro_layout layout = { FIRN_TEXT("deletes"), 0, columns, has_position ? 3 : 2 };
    struct firn_avro_writer_config config = { .layout = &layout, .codec = FIRN_CODEC_DEFLATE, .codec_level = 1 };
    struct firn_op *op = test->op;
    struct firn_store_writer *file;
    struct firn_avro_writer *writer;
    CHECK_OK(op, firn_store_write(op, test->store, FIRN_TEXT("mem:/t/d.avro"), false, &file));
    CHECK_OK(op, firn_avro_writer_open(op, &config, firn_store_writer_sink(file), &writer));
    for (size_t i = 0; i < count; i++)
        CHECK_OK(op, firn_avro_writer_add(op, writer, &rows[i]));
    CHECK_OK(op, firn_avro_writer_finish(op, writer));
    firn_avro_writer_close(writer);
    CHECK_OK(op, firn_store_writer_finish(op, file));
    struct firn_manifest_entry *entry = &test->deletes[test->delete_count++];
    *entry = (struct firn_manifest_entry){ .sequence_number = 2, .file = fixture_file("mem:/t/d.avro", 1, 1) };
    entry->file.content = FIRN_CONTENT_POSITION_DELETES;
    entry->file.format = FIRN_FILE_AVRO;
}

static void positions_in_avro(void **state)
{
    struct deletion_test test;
    const char *rows[] = { "1 2 3 4", "a b c d" };
    const struct avro_row deletes[] = {
        { FIRN_TEXT("mem:/t/b.parquet"), 3, 1 },  { { 0 }, FIRN_AVRO_ABSENT, 2 },
        { FIRN_TEXT("mem:/t/a.parquet"), 0, 3 },  { FIRN_TEXT("x://h/t/b.parquet"), 1, FIRN_AVRO_ABSENT },
        { FIRN_TEXT("mem:/t/b.parquet"), 3, -4 },
    };
    for (int has_position = 1; has_position >= 0; has_position--) {
        begin(&test, test_op(state));
        add_data(&test, "mem:/t/a.parquet", ROWS, rows, 1);
        add_data(&test, "mem:/t/b.parquet", ROWS, rows, 1);
        add_avro_positions(&test, deletes, FIRN_COUNT_OF(deletes), has_position);
        if (!has_position) {
            CHECK_STATUS(test.op, FIRN_CORRUPT, load(&test));
        } else {
            CHECK_OK(test.op, load(&test));
            check_deleted(&test, 0, "0");
            check_deleted(&test, 1, "1 3");
        }
        end(&test);
    }
}

/* Two vectors in a Puffin file, or their bytes alone in a file that is none. */
static void add_vectors(struct deletion_test *test, const char *const data_files[2], const int64_t positions[2],
                        bool bare)
{
    struct firn_op *op = test->op;
    struct firn_puffin_blob blobs[2] = { 0 };
    struct firn_puffin_writer *writer;
    struct firn_buffer bytes = { 0 };
    struct firn_sink sink = firn_sink_to_buffer(&bytes);
    if (!bare)
        CHECK_OK(op, firn_puffin_writer_open(op, &sink, &writer));
    for (int i = 0; i < 2; i++) {
        struct firn_positions *set;
        CHECK_OK(op, firn_positions_new(op, &set));
        CHECK_OK(op, firn_positions_add(op, set, positions[i]));
        if (!bare) {
            CHECK_OK(op, firn_deletion_vector_write(op, writer, set, firn_text_of(data_files[i]), &blobs[i]));
        } else {
            CHECK_OK(op, firn_buffer_append(op, &bytes, "filler", 6));
            blobs[i].offset = (int64_t)bytes.len;
            CHECK_OK(op, firn_deletion_vector_encode(op, set, &bytes));
            blobs[i].length = (int64_t)bytes.len - blobs[i].offset;
        }
        struct firn_manifest_entry *entry = &test->deletes[test->delete_count++];
        *entry = (struct firn_manifest_entry){ .sequence_number = 3, .file = fixture_file("mem:/t/v.puffin", 1, 1) };
        entry->file.content = FIRN_CONTENT_POSITION_DELETES;
        entry->file.format = FIRN_FILE_PUFFIN;
        entry->file.referenced_data_file = firn_text_of(data_files[i]);
        entry->file.content_offset = blobs[i].offset;
        entry->file.content_bytes = blobs[i].length;
    }
    if (!bare)
        CHECK_OK(op, firn_puffin_writer_finish(op, writer, NULL, 0, false));
    CHECK_OK(op, firn_store_put(op, test->store, FIRN_TEXT("mem:/t/v.puffin"), false, firn_buffer_bytes(&bytes)));
    firn_buffer_done(&bytes);
}

static void vectors_replace_older_positions(void **state)
{
    static const char *const names[] = { "mem:/t/a.parquet", "mem:/t/b.parquet" };
    struct deletion_test test;
    const char *rows[] = { "1 2 3 4", "a b c d" };
    for (int bare = 0; bare < 2; bare++) {
        begin_table(&test, test_op(state), &(struct fixture_table){ .version = 3, .schemas = ROWS });
        add_data(&test, names[0], ROWS, rows, 1);
        add_data(&test, names[1], ROWS, rows, 1);
        add_data(&test, "mem:/t/c.parquet", ROWS, rows, 1);
        add_positions(&test, "mem:/t/a.parquet mem:/t/c.parquet", "1 2", 2);
        add_vectors(&test, names, (const int64_t[]){ 0, 3 }, bare);
        CHECK_OK(test.op, load(&test));
        check_deleted(&test, 0, "0");
        check_deleted(&test, 1, "3");
        check_deleted(&test, 2, "2");

        test.deletes[1].file.content_bytes--;
        CHECK_STATUS(test.op, FIRN_CORRUPT, load(&test));
        test.deletes[1].file.content_bytes = FIRN_ABSENT;
        CHECK_STATUS(test.op, FIRN_CORRUPT, load(&test));
        end(&test);
    }
}

/* R37 */
static void nulls_in_the_key_are_equal_to_nulls(void **state)
{
    static const int32_t id[] = { 1 };
    struct deletion_test test;
    const char *rows[] = { "1 ~ 5", "a b c" }, *fives[] = { "5", "~" }, *nulls[] = { "~", "~" };
    begin(&test, test_op(state));
    add_data(&test, "mem:/t/a.parquet", ROWS, rows, 1);
    add_keys(&test, ROWS, fives, 2, id, 1);
    CHECK_OK(test.op, load(&test));
    check_deleted(&test, 0, "2");
    add_keys(&test, ROWS, nulls, 3, id, 1);
    CHECK_OK(test.op, load(&test));
    check_deleted(&test, 0, "1 2");
    end(&test);
}

static struct firn_partition partition_of(struct firn_op *op, int64_t value)
{
    struct firn_partition partition = { FIRN_NEW(op->arena, struct firn_value), 1 };
    partition.values[0] = (struct firn_value){ .type = FIRN_TYPE_LONG, .integer = value };
    return partition;
}

/* R38 */
static void keys_reach_older_files_of_the_partition(void **state)
{
    static const int32_t name[] = { 2 };
    struct deletion_test test;
    struct firn_op *op = test_op(state);
    const char *rows[] = { "1 1", "a b" }, *deletes[] = { "~", "a" }, *all[] = { "~", "b" };
    begin_table(&test, op,
                &(struct fixture_table){
                    .version = 2,
                    .schemas = ROWS,
                    .specs = "{\"spec-id\":0,\"fields\":[]},{\"spec-id\":1,\"fields\":[{\"source-id\":1,\"field-id\":"
                             "1000,\"name\":\"p\",\"transform\":\"identity\"}]},{\"spec-id\":2,\"fields\":[{"
                             "\"source-id\":1,\"field-id\":1001,\"name\":\"q\",\"transform\":\"identity\"}]}" });
    static const struct {
        int32_t spec_id;
        int64_t sequence_number, value;
        const char *deleted;
    } cases[] = {
        { 1, 4, 1, "0" }, { 1, 5, 1, "" }, { 1, 6, 1, "" },    { 2, 4, 1, "" },
        { 1, 4, 2, "" },  { 0, 4, 0, "" }, { 1, 2, 1, "0 1" }, { 2, 2, 1, "1" },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        const char *path = firn_text_format(op->arena, "mem:/t/%zu.parquet", i).data;
        struct firn_manifest_entry *data = add_data(&test, path, ROWS, rows, cases[i].sequence_number);
        data->file.spec_id = cases[i].spec_id;
        if (data->file.spec_id != 0)
            data->file.partition = partition_of(op, cases[i].value);
    }
    struct firn_manifest_entry *del = add_keys(&test, ROWS, deletes, 5, name, 1);
    del->file.spec_id = 1;
    del->file.partition = partition_of(op, 1);
    add_keys(&test, ROWS, all, 3, name, 1); /* of the unpartitioned spec */
    CHECK_OK(op, load(&test));
    for (uint32_t i = 0; i < FIRN_COUNT_OF(cases); i++)
        check_deleted(&test, i, cases[i].deleted);
    end(&test);
}

static void keys_of_several_columns_and_kinds(void **state)
{
    static const int32_t both[] = { 2, 1, 2 }, id[] = { 1 };
    struct deletion_test test;
    const char *rows[] = { "1 1 2 ~ 2 3", "a b a a ~ x" };
    const char *pairs[] = { "1 ~ 2 9", "b a ~ x" }, *ids[] = { "3 1", "~ ~" };
    begin(&test, test_op(state));
    add_data(&test, "mem:/t/a.parquet", ROWS, rows, 1);
    add_data(&test, "mem:/t/b.parquet", ROWS, rows, 2);
    add_keys(&test, ROWS, pairs, 3, both, 3);
    add_keys(&test, ROWS, ids, 2, id, 1);
    add_positions(&test, "mem:/t/b.parquet", "2", 3);
    CHECK_OK(test.op, load(&test));
    check_deleted(&test, 0, "0 1 3 4 5");
    check_deleted(&test, 1, "1 2 3 4");
    end(&test);
}

static void floats_compare_by_bits(void **state)
{
    static const int32_t id[] = { 1 };
    struct deletion_test test;
    const char *stored = SCHEMA(0, FIELD(1, "x", "\"float\"")), *now = SCHEMA(0, FIELD(1, "x", "\"double\""));
    const char *rows[] = { "nan 0.0 -0.0 1.5 -nan" }, *deletes[] = { "nan -0.0 1.5" };
    begin_table(&test, test_op(state), &(struct fixture_table){ .version = 2, .schemas = now });
    add_data(&test, "mem:/t/a.parquet", stored, rows, 1);
    add_keys(&test, now, deletes, 2, id, 1);
    CHECK_OK(test.op, load(&test));
    check_deleted(&test, 0, "0 2 3 4");
    end(&test);
}

/* The column is renamed, then widened, then dropped; another one is added with a default. */
static void keys_follow_the_schema(void **state)
{
    static const int32_t id[] = { 1 }, late[] = { 3 }, both[] = { 1, 3 };
    struct deletion_test test;
    const char *old = SCHEMA(0, FIELD(1, "k", "\"int\"") "," FIELD(2, "name", TEXT));
    const char *wide = SCHEMA(1, FIELD(1, "key", LONG) "," FIELD(2, "name", TEXT));
    const char *now = SCHEMA(2, FIELD(2, "name", TEXT) ",{\"id\":3,\"name\":\"late\",\"required\":false,"
                                                       "\"type\":\"long\",\"initial-default\":7}");
    const char *schemas = firn_text_format(test_op(state)->arena, "%s,%s,%s", old, wide, now).data;
    const char *rows[] = { "1 2 3", "a b c" }, *late_rows[] = { "a b", "7 8" }, *keys[] = { "2 9", "~ ~" };
    const char *sevens[] = { "~", "7" };
    const char *pairs[] = { "3 ~", "7 8" };
    begin_table(&test, test_op(state),
                &(struct fixture_table){ .version = 3, .schemas = schemas, .current_schema = 2 });
    add_data(&test, "mem:/t/a.parquet", old, rows, 1);
    add_data(&test, "mem:/t/b.parquet", now, late_rows, 1);
    add_data(&test, "mem:/t/c.parquet", old, rows, 3);
    add_keys(&test, wide, keys, 2, id, 1);
    CHECK_OK(test.op, load(&test));
    check_deleted(&test, 0, "1");
    check_deleted(&test, 1, "");
    check_deleted(&test, 2, "");

    add_keys(&test, SCHEMA(0, FIELD(1, "key", LONG) "," FIELD(3, "late", LONG)), pairs, 2, both, 2);
    CHECK_OK(test.op, load(&test));
    check_deleted(&test, 0, "1 2");
    check_deleted(&test, 1, "1");
    check_deleted(&test, 2, "");

    add_keys(&test, now, sevens, 4, late, 1);
    CHECK_OK(test.op, load(&test));
    check_deleted(&test, 0, "0 1 2");
    check_deleted(&test, 1, "0 1");
    check_deleted(&test, 2, "0 1 2");
    end(&test);
}

static void keys_inside_structs(void **state)
{
    static const int32_t ids[] = { 3, 4 };
    struct deletion_test test;
    const char *nested =
        SCHEMA(0, FIELD(1, "id", LONG) "," FIELD(
                      2, "s", "{\"type\":\"struct\",\"fields\":[" FIELD(3, "k", LONG) "," FIELD(4, "t", TEXT) "]}"));
    const char *rows[] = { "1 2 3 4", "7 7 ~ ~.0", "a b c ~.0" };
    const char *deletes[] = { "~ ~", "7 ~.0", "b ~.0" };
    begin_table(&test, test_op(state), &(struct fixture_table){ .version = 2, .schemas = nested });
    add_data(&test, "mem:/t/a.parquet", nested, rows, 1);
    add_keys(&test, nested, deletes, 2, ids, 2);
    CHECK_OK(test.op, load(&test));
    check_deleted(&test, 0, "1 3");
    end(&test);
}

/* Files of migrated tables leave partition columns out; deletes of the same partition may too. */
static void identity_partition_values_are_keys(void **state)
{
    static const int32_t ids[] = { 1, 2 };
    struct deletion_test test;
    struct firn_op *op = test_op(state);
    const char *without = SCHEMA(0, FIELD(2, "name", TEXT));
    const char *rows[] = { "a b" }, *deletes[] = { "4 5", "a b" }, *bare[] = { "b" };
    begin_table(&test, op,
                &(struct fixture_table){ .version = 2,
                                         .schemas = ROWS,
                                         .specs = "{\"spec-id\":0,\"fields\":[{\"source-id\":1,\"field-id\":1000,"
                                                  "\"name\":\"p\",\"transform\":\"identity\"}]}" });
    add_data(&test, "mem:/t/a.parquet", without, rows, 1)->file.partition = partition_of(op, 4);
    add_data(&test, "mem:/t/b.parquet", without, rows, 2)->file.partition = partition_of(op, 4);
    add_keys(&test, ROWS, deletes, 2, ids, 2)->file.partition = partition_of(op, 4);
    add_keys(&test, without, bare, 3, ids, 2)->file.partition = partition_of(op, 4);
    CHECK_OK(op, load(&test));
    check_deleted(&test, 0, "0 1");
    check_deleted(&test, 1, "1");
    end(&test);
}

/* R10: sixteen data files, two delete files; opening a small file and reading it are two calls. */
static void files_are_read_once(void **state)
{
    static const int32_t id[] = { 1 };
    struct deletion_test test;
    struct firn_op *op = test_op(state);
    const char *rows[] = { "1 2 3 4", "a b c d" }, *keys[] = { "2", "~" };
    for (int many = 0; many < 2; many++) {
        struct fault_report report = { 0 };
        struct firn_store *inner;
        begin(&test, op);
        for (uint32_t i = 0; i < (many ? 16 : 1); i++)
            add_data(&test, firn_text_format(op->arena, "mem:/t/%u.parquet", i).data, ROWS, rows, 1 + i % 3);
        add_keys(&test, ROWS, keys, 4, id, 1);
        add_positions(&test, "mem:/t/0.parquet mem:/t/9.parquet", "0 3", 4);
        inner = test.store;
        CHECK_OK(op, fault_store_open(op, inner, (struct fault){ .at_call = UINT32_MAX }, &report, &test.store));
        CHECK_OK(op, load(&test));
        unsigned calls = atomic_load(&report.calls), wanted = 2 * (test.data_count + test.delete_count);
        CHECK(calls == wanted, "%u calls, %u wanted", calls, wanted);
        check_deleted(&test, 0, "0 1");
        if (many)
            check_deleted(&test, 9, "1 3");
        end(&test);
        firn_store_close(inner);
    }
}

static void many_keys_are_told_apart_within_the_budget(void **state)
{
    static const int32_t id[] = { 1 };
    struct deletion_test test;
    struct firn_op *op = test_op(state);
    struct firn_buffer text = { 0 }, nulls = { 0 };
    begin(&test, op);
    for (int i = 0; i < 50000; i++) {
        struct firn_text number = firn_text_format(op->arena, "%d ", i * 3);
        CHECK_OK(op, firn_buffer_append(op, &text, number.data, number.len));
        CHECK_OK(op, firn_buffer_append(op, &nulls, "~ ", 2));
    }
    CHECK_OK(op, firn_buffer_append(op, &text, "", 1));
    CHECK_OK(op, firn_buffer_append(op, &nulls, "", 1));
    const char *keys[] = { (const char *)text.data, (const char *)nulls.data };
    const char *rows[] = { "0 1 2 3 149997 149998 150000 -3 3000", "a b c d e f g h i" };
    add_data(&test, "mem:/t/a.parquet", ROWS, rows, 1);
    add_keys(&test, ROWS, keys, 2, id, 1);
    CHECK_OK(op, load(&test));
    check_deleted(&test, 0, "0 3 4 8");

    struct firn_budget budget = { .limit_bytes = 1 << 20 };
    op->budget = &budget;
    CHECK_OK(op, load(&test));
    check_deleted(&test, 0, "0 3 4 8");
    op->budget = NULL;
    firn_buffer_done(&text);
    firn_buffer_done(&nulls);
    end(&test);
    firn_arena_reset(op->arena); /* gives the budget back while it is there */
}

static void deletes_that_cannot_be_read_are_refused(void **state)
{
    static const int32_t id[] = { 1 }, unknown[] = { 77 }, list[] = { 4 };
    struct deletion_test test;
    const char *schema = SCHEMA(0, FIELD(1, "id", LONG) "," FIELD(3, "l",
                                                                  "{\"type\":\"list\",\"element-id\":4,\"element-"
                                                                  "required\":false,\"element\":\"long\"}"));
    const char *other = SCHEMA(0, FIELD(9, "other", LONG));
    const char *rows[] = { "1 2", "0.0 0.0" }, *keys[] = { "2" };
    static const struct {
        const int32_t *ids;
        enum firn_file_format format;
        firn_status expected;
    } cases[] = {
        { id, FIRN_FILE_PARQUET, FIRN_CORRUPT },       { unknown, FIRN_FILE_PARQUET, FIRN_CORRUPT },
        { list, FIRN_FILE_PARQUET, FIRN_UNSUPPORTED }, { id, FIRN_FILE_OTHER, FIRN_UNSUPPORTED },
        { id, FIRN_FILE_AVRO, FIRN_CORRUPT },          { id, FIRN_FILE_ORC, FIRN_CORRUPT },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        begin_table(&test, test_op(state), &(struct fixture_table){ .version = 2, .schemas = schema });
        add_data(&test, "mem:/t/a.parquet", schema, rows, 1);
        add_keys(&test, other, keys, 2, cases[i].ids, 1)->file.format = cases[i].format;
        CHECK_STATUS(test.op, cases[i].expected, load(&test));
        CHECK(strstr(test.op->error.text, "delete-0.parquet") != NULL, "%s", test.op->error.text);
        end(&test);
    }
    begin(&test, test_op(state));
    add_data(&test, "mem:/t/a.parquet", schema, rows, 1);
    add_positions(&test, "mem:/t/a.parquet", "-1", 2);
    CHECK_STATUS(test.op, FIRN_CORRUPT, load(&test));
    test.deletes[0].file.format = FIRN_FILE_OTHER;
    CHECK_STATUS(test.op, FIRN_UNSUPPORTED, load(&test));
    end(&test);
    begin(&test, test_op(state));
    add_data(&test, "mem:/t/a.parquet", schema, rows, 1);
    add_positions(&test, "mem:/t/\xe1.parquet", "1", 2); /* one bit of "a" turned over */
    CHECK_STATUS(test.op, FIRN_CORRUPT, load(&test));
    CHECK(strstr(test.op->error.text, "UTF-8") != NULL, "%s", test.op->error.text);
    end(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(positions_of_many_files_in_any_order),
        TEST(the_row_column_is_passed_over),
        TEST(positions_reach_files_of_the_same_commit),
        TEST(positions_count_from_the_start_of_the_file),
        TEST(spellings_of_a_location),
        TEST(positions_in_avro),
        TEST(vectors_replace_older_positions),
        TEST(nulls_in_the_key_are_equal_to_nulls),
        TEST(keys_reach_older_files_of_the_partition),
        TEST(keys_of_several_columns_and_kinds),
        TEST(floats_compare_by_bits),
        TEST(keys_follow_the_schema),
        TEST(keys_inside_structs),
        TEST(identity_partition_values_are_keys),
        TEST(files_are_read_once),
        TEST(many_keys_are_told_apart_within_the_budget),
        TEST(deletes_that_cannot_be_read_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
