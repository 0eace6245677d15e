/* firn inspect of a small Parquet file: every part of the JSON, and files that are not what they should be. */
#include "check.h"

#include "format/json/json.h"
#include "format/parquet/writer.h"
#include "maintain/inspect.h"
#include "store/store.h"

enum { ROWS = 4 };

/* One optional decimal column: 1.50, null, -0.25, 7.00. */
static void write_sample(struct firn_op *op, struct firn_store *store, struct firn_text location)
{
    static const uint8_t def[ROWS] = { 1, 0, 1, 1 };
    int32_t values[] = { 150, -25, 700 };
    struct firn_parquet_node column = {
        .name = FIRN_TEXT("price"),
        .repetition = FIRN_OPTIONAL,
        .has_field_id = true,
        .field_id = 3,
        .is_leaf = true,
        .type = FIRN_PARQUET_INT32,
        .logical = { .kind = FIRN_LOGICAL_DECIMAL, .precision = 9, .scale = 2 },
    };
    struct firn_key_value pair = { FIRN_TEXT("made.by"), FIRN_TEXT("a test") };
    struct firn_footer schema = {
        .root = { .name = FIRN_TEXT("table"), .child_count = 1, .children = &column },
        .created_by = FIRN_TEXT("firn test"),
        .key_values = &pair,
        .key_value_count = 1,
    };
    struct firn_chunk_options options = firn_chunk_options_default();
    struct firn_vector vector = { .type = FIRN_PARQUET_INT32,
                                  .def_max = 1,
                                  .slot_count = ROWS,
                                  .value_count = 3,
                                  .row_count = ROWS,
                                  .def = def,
                                  .values.int32 = values };
    struct firn_buffer file = { 0 };
    struct firn_sink sink = firn_sink_to_buffer(&file);
    struct firn_chunk_writer *chunk_writer;
    struct firn_parquet_writer *writer;
    struct firn_encoded_chunk chunk = { 0 };
    struct firn_footer *footer;
    options.dictionary = false;
    options.codec = FIRN_CODEC_NONE;
    CHECK_OK(op, firn_parquet_schema_finish(op, &schema));
    CHECK_OK(op, firn_chunk_writer_open(op, schema.leaves[0], &options, &chunk_writer));
    CHECK_OK(op, firn_chunk_writer_append(op, chunk_writer, &vector));
    CHECK_OK(op, firn_chunk_writer_finish(op, chunk_writer, &chunk));
    firn_chunk_writer_close(chunk_writer);
    CHECK_OK(op, firn_parquet_writer_open(op, &schema, &sink, &writer));
    CHECK_OK(op, firn_parquet_writer_add(op, writer, &chunk, ROWS));
    CHECK_OK(op, firn_parquet_writer_finish(op, writer, &footer));
    firn_parquet_writer_close(writer);
    firn_encoded_chunk_done(&chunk);
    CHECK_OK(op, firn_store_put(op, store, location, false, firn_buffer_bytes(&file)));
    firn_buffer_done(&file);
}

static void check_text(const json_t *object, const char *key, const char *wanted)
{
    const char *got = json_string_value(json_object_get(object, key));
    CHECK(got && strcmp(got, wanted) == 0, "%s is '%s', wanted '%s'", key, got ? got : "(none)", wanted);
}

static void check_number(const json_t *object, const char *key, json_int_t wanted)
{
    const json_t *got = json_object_get(object, key);
    CHECK(json_is_integer(got) && json_integer_value(got) == wanted, "%s is %lld, wanted %lld", key,
          (long long)json_integer_value(got), (long long)wanted);
}

static const json_t *only(const json_t *object, const char *key)
{
    const json_t *array = json_object_get(object, key);
    CHECK(json_array_size(array) == 1, "%s has %zu items", key, json_array_size(array));
    return json_array_get(array, 0);
}

/* nulls, min and max of the sample, wherever they stand. */
static void check_bounds(const json_t *object)
{
    check_number(object, "nulls", 1);
    check_text(object, "min", "-0.25");
    check_text(object, "max", "7.00");
}

static void shows_all_parts(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_store *store;
    json_t *file;
    CHECK_OK(op, firn_store_open_memory(op, &store));
    write_sample(op, store, FIRN_TEXT("mem/sample.parquet"));
    CHECK_OK(op, firn_file_inspect(op, store, FIRN_TEXT("mem/sample.parquet"),
                                   (struct firn_inspect_options){ .values = true, .pages = true }, &file));
    check_text(file, "format", "parquet");
    check_text(file, "file", "mem/sample.parquet");
    check_number(file, "rows", ROWS);
    check_text(json_object_get(file, "key_values"), "made.by", "a test");

    const json_t *node = only(file, "schema");
    check_text(node, "path", "price");
    check_text(node, "repetition", "optional");
    check_text(node, "type", "INT32");
    check_text(node, "logical", "DECIMAL(9, 2)");
    check_number(node, "field_id", 3);

    const json_t *group = only(file, "row_groups");
    check_number(group, "rows", ROWS);
    const json_t *column = only(group, "columns");
    check_text(column, "codec", "none");
    check_number(column, "values", ROWS);
    check_bounds(column);
    const json_t *page = only(column, "pages");
    check_text(page, "type", "data");
    check_text(page, "encoding", "PLAIN");
    check_number(page, "values", ROWS);
    check_number(only(column, "offset_index"), "first_row", 0);
    check_text(json_object_get(column, "column_index"), "order", "ascending");
    check_bounds(only(json_object_get(column, "column_index"), "pages"));

    check_text(only(file, "columns"), "name", "price");
    check_bounds(only(file, "columns"));
    check_text(only(file, "leaves"), "path", "price");
    check_bounds(only(file, "leaves"));
    firn_store_close(store);
}

static void tells_formats_apart(void **state)
{
    static const struct {
        const char *content;
        size_t len;
        firn_status status;
    } cases[] = {
        { "", 0, FIRN_UNSUPPORTED },
        { "ORC", 3, FIRN_UNSUPPORTED },
        { "PAR1", 4, FIRN_CORRUPT },
        { "PAR1\0\0\0\0PAR1", 12, FIRN_CORRUPT },
        { "PARE\0\0\0\0PARE", 12, FIRN_UNSUPPORTED },
        { "Obj\1", 4, FIRN_CORRUPT },
        { "PFA1", 4, FIRN_CORRUPT },
    };
    struct firn_op *op = test_op(state);
    struct firn_store *store;
    json_t *file;
    CHECK_OK(op, firn_store_open_memory(op, &store));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct firn_bytes content = { (const uint8_t *)cases[i].content, cases[i].len };
        CHECK_OK(op, firn_store_put(op, store, FIRN_TEXT("mem/file"), false, content));
        firn_status status =
            firn_file_inspect(op, store, FIRN_TEXT("mem/file"), (struct firn_inspect_options){ .values = true }, &file);
        CHECK(status == cases[i].status, "case %zu: %s: %s", i, firn_status_name(status), op->error.text);
        CHECK(strstr(op->error.text, "mem/file"), "case %zu names no file: %s", i, op->error.text);
    }
    CHECK_STATUS(op, FIRN_NOT_FOUND,
                 firn_file_inspect(op, store, FIRN_TEXT("mem/none"), (struct firn_inspect_options){ 0 }, &file));
    firn_store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = { TEST(shows_all_parts), TEST(tells_formats_apart) };
    return cmocka_run_group_tests_name("inspect_parquet", tests, NULL, NULL);
}
