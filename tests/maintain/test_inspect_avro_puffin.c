/* What inspect shows of Avro and Puffin files. */
#include "check.h"
#include "support/corpus.h"

#include "base/math.h"
#include "firn/describe.h"
#include "store/store.h"

/* Puts a corpus file into a memory store and inspects it there. */
static firn_status inspect(struct firn_op *op, struct firn_text root, const char *name,
                           struct firn_inspect_options options, json_t **out)
{
    struct firn_store *store;
    struct firn_bytes bytes = corpus_file(op, "%.*s/%s", FIRN_FMT(root), name);
    CHECK(bytes.data != NULL, "%s", name);
    CHECK_OK(op, firn_store_open_memory(op, &store));
    CHECK_OK(op, firn_store_put(op, store, FIRN_TEXT("mem/file"), false, bytes));
    firn_status status = firn_file_inspect(op, store, FIRN_TEXT("mem/file"), options, out);
    firn_store_close(store);
    return status;
}

static const char *text_of(const json_t *json, const char *key)
{
    const char *text = json_string_value(json_object_get(json, key));
    return text ? text : "";
}

static void avro_files_show_header_and_values(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_text root = corpus_root(op);
    CORPUS_OR_SKIP(root);
    static const char name[] = "avro/iceberg/icebergrust_manifest-list-v2-1.avro";
    json_t *json;
    CHECK_OK(op, inspect(op, root, name, (struct firn_inspect_options){ 0 }, &json));
    assert_string_equal(text_of(json, "format"), "avro");
    assert_string_equal(text_of(json, "codec"), "deflate");
    assert_string_equal(text_of(json_object_get(json, "metadata"), "sequence-number"), "1");
    assert_string_equal(text_of(json_object_get(json, "schema"), "name"), "manifest_file");
    assert_int_equal(json_integer_value(json_object_get(json, "rows")), 1);
    assert_int_equal(json_integer_value(json_object_get(json, "blocks")), 1);
    assert_null(json_object_get(json, "values"));
    CHECK_OK(op, inspect(op, root, name, (struct firn_inspect_options){ .values = true }, &json));
    const json_t *row = json_array_get(json_object_get(json, "values"), 0);
    assert_int_equal(json_integer_value(json_object_get(row, "manifest_length")), 6658);
}

static void puffin_files_show_blobs_and_positions(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_text root = corpus_root(op);
    CORPUS_OR_SKIP(root);
    json_t *json;
    CHECK_OK(op,
             inspect(op, root, "puffin/single-blob-dv.puffin", (struct firn_inspect_options){ .values = true }, &json));
    const json_t *blob = json_array_get(json_object_get(json, "blobs"), 0);
    assert_string_equal(text_of(json, "format"), "puffin");
    assert_string_equal(text_of(blob, "type"), "deletion-vector-v1");
    assert_string_equal(text_of(json_object_get(blob, "properties"), "cardinality"), "5");
    assert_int_equal(json_integer_value(json_object_get(blob, "position_count")), 5);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(blob, "positions"), 4)), 9);
    CHECK_OK(op,
             inspect(op, root, "puffin/sample-zstd.puffin", (struct firn_inspect_options){ .values = true }, &json));
    blob = json_array_get(json_object_get(json, "blobs"), 0);
    assert_string_equal(text_of(blob, "codec"), "zstd");
    assert_int_equal(json_integer_value(json_object_get(blob, "bytes")), 9);
}

static void broken_files_are_named(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_text root = corpus_root(op);
    CORPUS_OR_SKIP(root);
    json_t *json;
    static const char *const names[] = { "avro/malformed/avro_avro-1238-truncated.avro",
                                         "puffin/impala_all_files_corrupt/corrupt_file1.stats" };
    for (size_t i = 0; i < FIRN_COUNT_OF(names); i++) {
        firn_status status = inspect(op, root, names[i], (struct firn_inspect_options){ .values = true }, &json);
        CHECK(status == FIRN_CORRUPT || status == FIRN_UNSUPPORTED, "%s: %s", names[i], firn_status_name(status));
        CHECK(strstr(op->error.text, "mem/file"), "%s", op->error.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(avro_files_show_header_and_values),
        TEST(puffin_files_show_blobs_and_positions),
        TEST(broken_files_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
