/* Bloom filters of rewritten files: asked for by property, true of pages copied and encoded alike, and asked for values
 * in the form that each file stores. */
#include "fixture.h"

#include "maintain/file_check.h"
#include "rewrite/bloom_probe.h"
#include "rewrite/input_shape.h"
#include "table/parquet_footer.h"

#define TABLE_SCHEMA                                                                                                   \
    "{\"type\":\"struct\",\"schema-id\":0,\"fields\":["                                                                \
    "{\"id\":1,\"name\":\"l\",\"required\":true,\"type\":\"long\"},"                                                   \
    "{\"id\":2,\"name\":\"s\",\"required\":false,\"type\":\"string\"},"                                                \
    "{\"id\":3,\"name\":\"d\",\"required\":false,\"type\":\"double\"},"                                                \
    "{\"id\":4,\"name\":\"m\",\"required\":false,\"type\":\"decimal(9,2)\"},"                                          \
    "{\"id\":5,\"name\":\"t\",\"required\":false,\"type\":\"timestamptz\"},"                                           \
    "{\"id\":6,\"name\":\"u\",\"required\":false,\"type\":\"uuid\"},"                                                  \
    "{\"id\":7,\"name\":\"none\",\"required\":false,\"type\":\"int\"},"                                                \
    "{\"id\":8,\"name\":\"b\",\"required\":false,\"type\":\"boolean\"}]}"
/* As files before the columns were widened. */
#define NARROW_SCHEMA                                                                                                  \
    "{\"type\":\"struct\",\"schema-id\":0,\"fields\":["                                                                \
    "{\"id\":1,\"name\":\"l\",\"required\":true,\"type\":\"int\"},"                                                    \
    "{\"id\":3,\"name\":\"d\",\"required\":false,\"type\":\"float\"}]}"

#define ENABLED(column) "\"write.parquet.bloom-filter-enabled.column." column "\":\"true\""
#define PROPERTIES                                                                                                     \
    ENABLED("l") "," ENABLED("s") "," ENABLED("d") "," ENABLED("m") "," ENABLED("t") "," ENABLED("u") "," ENABLED("b")

#define UUID "0x00112233445566778899aabbccddeeff"

static const char *const columns[] = { "1 2 3 4",     "aa bb ~ aa",  "1.5 -0.0 2.5 ~", "100 -250 ~ 7",
                                       "10 20 30 40", UUID " ~ ~ ~", "1 2 3 4",        "true false ~ true" };
static const char *const narrow_columns[] = { "11 12", "0.5 nan" };
enum { COLUMNS = 8 };

struct scene {
    struct firn_op *op;
    struct firn_store *store;
    struct firn_metadata *metadata;
};

static void begin(struct firn_op *op, struct scene *scene, const char *properties)
{
    struct fixture_table table = { .version = 2, .schemas = TABLE_SCHEMA, .properties = properties };
    *scene = (struct scene){ .op = op, .metadata = fixture_metadata(op, &table) };
    CHECK_OK(op, firn_store_open_memory(op, &scene->store));
}

static struct firn_data_file write_input(struct scene *scene, const char *path, const char *schema_json,
                                         const char *const *cells, int64_t rows, struct firn_chunk_options options)
{
    struct firn_output_schema schema = fixture_schema(scene->op, schema_json);
    return fixture_file(path, fixture_write(scene->op, scene->store, path, schema.footer, cells, 1, options), rows);
}

static struct firn_rewrite_result rewrite(struct scene *scene, const struct firn_data_file *files, uint32_t count,
                                          struct firn_layout_policy layout)
{
    struct firn_rewrite_result result;
    struct fixture_run run = {
        .metadata = scene->metadata, .store = scene->store, .files = files, .file_count = count, .layout = layout
    };
    CHECK_OK(scene->op, fixture_execute(scene->op, &run, &result));
    CHECK(result.file_count == 1, "%u files", result.file_count);
    return result;
}

static enum firn_bloom_answer ask(struct scene *scene, const struct firn_data_file *file, int32_t id,
                                  struct firn_value value)
{
    struct firn_op *op = scene->op;
    struct firn_buffer scratch = { 0 };
    struct firn_object *object;
    struct firn_footer *footer;
    struct firn_id_sources ids;
    struct firn_output_schema forms;
    enum firn_bloom_answer answer;
    CHECK_OK(op, firn_object_open(op, scene->store, file->path, &object));
    CHECK_OK(op, firn_parquet_footer_read(op, object, &scratch, &footer));
    CHECK_OK(op, firn_id_sources_new(op, scene->metadata, &ids));
    CHECK_OK(op, firn_input_ids_assign(op, footer, &ids));
    CHECK_OK(op, firn_output_schema_new(op, firn_metadata_current_schema(scene->metadata), false, &forms));
    CHECK_OK(op, firn_bloom_probe(op, &(struct firn_bloom_file){ object, footer, &forms }, id, &value, &answer));
    firn_object_close(object);
    firn_buffer_done(&scratch);
    return answer;
}

static struct firn_value number(enum firn_type_id type, int64_t value)
{
    return (struct firn_value){ .type = type, .integer = value };
}

static struct firn_value real(double value)
{
    return (struct firn_value){ .type = FIRN_TYPE_DOUBLE, .real = value };
}

static struct firn_value text(const char *value)
{
    return (struct firn_value){ .type = FIRN_TYPE_STRING, .bytes = { (const uint8_t *)value, strlen(value) } };
}

static struct firn_value decimal(int64_t value)
{
    return (struct firn_value){ .type = FIRN_TYPE_DECIMAL, .decimal = value };
}

static const char *findings(struct scene *scene, const struct firn_data_file *file)
{
    struct firn_findings found;
    struct firn_manifest_entry entry = { .file = *file };
    struct firn_file_check what = { scene->store, scene->metadata, &entry, true, NULL };
    firn_findings_init(&found, scene->op->arena);
    CHECK_OK(scene->op, firn_file_check(scene->op, &what, &found));
    return found.counts.count == 0 ? "" : found.counts.items[0].code;
}

static void test_every_layout(void **state)
{
    struct firn_op *op = test_op(state);
    static const uint8_t uuid[16] = { 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
                                      0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff };
    for (int layout = 0; layout < FIRN_LAYOUT_COUNT; layout++)
        for (int dictionary = 0; dictionary < 2; dictionary++) {
            struct scene scene;
            struct firn_chunk_options options = firn_chunk_options_default();
            options.dictionary = dictionary;
            begin(op, &scene, PROPERTIES);
            struct firn_data_file files[] = {
                write_input(&scene, "mem:/t/a.parquet", TABLE_SCHEMA, columns, 4, options),
                write_input(&scene, "mem:/t/b.parquet", NARROW_SCHEMA, narrow_columns, 2, options),
            };
            struct firn_rewrite_result result =
                rewrite(&scene, files, 2, (struct firn_layout_policy){ .layout = (enum firn_layout)layout });
            const struct firn_data_file *file = &result.files[0];
            const struct {
                int32_t id;
                struct firn_value value;
                enum firn_bloom_answer answer;
            } cases[] = {
                { 1, number(FIRN_TYPE_LONG, 3), FIRN_BLOOM_MAYBE },
                { 1, number(FIRN_TYPE_LONG, 12), FIRN_BLOOM_MAYBE },
                { 1, number(FIRN_TYPE_LONG, 5), FIRN_BLOOM_ABSENT },
                { 2, text("aa"), FIRN_BLOOM_MAYBE },
                { 2, text("ab"), FIRN_BLOOM_ABSENT },
                { 2, text(""), FIRN_BLOOM_ABSENT },
                { 3, real(0.5), FIRN_BLOOM_MAYBE },
                { 3, real(0.25), FIRN_BLOOM_ABSENT },
                { 3, real(0.0), FIRN_BLOOM_UNKNOWN },
                { 4, decimal(-250), FIRN_BLOOM_MAYBE },
                { 4, decimal(250), FIRN_BLOOM_ABSENT },
                { 5, number(FIRN_TYPE_TIMESTAMPTZ, 40), FIRN_BLOOM_MAYBE },
                { 5, number(FIRN_TYPE_TIMESTAMPTZ, 41), FIRN_BLOOM_ABSENT },
                { 6, { .type = FIRN_TYPE_UUID, .bytes = { uuid, sizeof uuid } }, FIRN_BLOOM_MAYBE },
                { 7, number(FIRN_TYPE_INT, 1), FIRN_BLOOM_UNKNOWN },
                { 8, number(FIRN_TYPE_BOOLEAN, 1), FIRN_BLOOM_UNKNOWN },
                { 99, number(FIRN_TYPE_INT, 1), FIRN_BLOOM_UNKNOWN },
            };
            for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++)
                CHECK(ask(&scene, file, cases[i].id, cases[i].value) == cases[i].answer, "layout %d, case %zu", layout,
                      i);
            CHECK(strcmp(findings(&scene, file), "") == 0, "%s", findings(&scene, file));
            firn_store_close(scene.store);
        }
}

/* A filter written before a column was widened is asked in the narrow form. */
static void test_widened(void **state)
{
    struct firn_op *op = test_op(state);
    struct scene scene;
    struct firn_chunk_options options = firn_chunk_options_default();
    options.bloom_bytes_max = 1 << 10;
    options.bloom_fpp = 0.01;
    begin(op, &scene, NULL);
    struct firn_data_file file = write_input(&scene, "mem:/t/b.parquet", NARROW_SCHEMA, narrow_columns, 2, options);
    CHECK(ask(&scene, &file, 1, number(FIRN_TYPE_LONG, 11)) == FIRN_BLOOM_MAYBE, "11");
    CHECK(ask(&scene, &file, 1, number(FIRN_TYPE_LONG, 13)) == FIRN_BLOOM_ABSENT, "13");
    CHECK(ask(&scene, &file, 1, number(FIRN_TYPE_LONG, (INT64_C(1) << 32) + 11)) == FIRN_BLOOM_ABSENT, "no int");
    CHECK(ask(&scene, &file, 3, real(0.5)) == FIRN_BLOOM_MAYBE, "0.5");
    CHECK(ask(&scene, &file, 3, real(0.1)) == FIRN_BLOOM_ABSENT, "no float");
    CHECK(ask(&scene, &file, 2, text("aa")) == FIRN_BLOOM_UNKNOWN, "a column the file lacks");
    firn_store_close(scene.store);
}

/* Pages of indices are copied, their values known by the dictionary; others must be seen. */
static void test_rungs(void **state)
{
    struct firn_op *op = test_op(state);
    for (int dictionary = 0; dictionary < 2; dictionary++) {
        struct scene scene;
        struct firn_chunk_options options = firn_chunk_options_default();
        char cells[4096] = "";
        for (int i = 0; i < 1000; i++)
            strcat(cells, i % 2 ? "7 " : "8 ");
        const char *all[COLUMNS] = { cells, "", "", "", "", "", "", "" };
        char nulls[4096] = "";
        for (int i = 0; i < 1000; i++)
            strcat(nulls, "~ ");
        for (int i = 1; i < COLUMNS; i++)
            all[i] = nulls;
        options.dictionary = dictionary;
        begin(op, &scene, ENABLED("l"));
        struct firn_data_file file = write_input(&scene, "mem:/t/a.parquet", TABLE_SCHEMA, all, 1000, options);
        struct firn_rewrite_result result =
            rewrite(&scene, &file, 1, (struct firn_layout_policy){ .layout = FIRN_LAYOUT_FASTEST });
        CHECK(result.rungs.reasons[FIRN_REASON_BLOOM_FILTER].pages == !dictionary, "%" PRId64 " pages decoded",
              result.rungs.reasons[FIRN_REASON_BLOOM_FILTER].pages);
        CHECK(ask(&scene, &result.files[0], 1, number(FIRN_TYPE_LONG, 7)) == FIRN_BLOOM_MAYBE, "7");
        CHECK(ask(&scene, &result.files[0], 1, number(FIRN_TYPE_LONG, 9)) == FIRN_BLOOM_ABSENT, "9");
        firn_store_close(scene.store);
    }
}

/* A filter that forgot its values is found out. */
static void test_damage(void **state)
{
    struct firn_op *op = test_op(state);
    struct scene scene;
    begin(op, &scene, PROPERTIES);
    struct firn_data_file input =
        write_input(&scene, "mem:/t/a.parquet", TABLE_SCHEMA, columns, 4, firn_chunk_options_default());
    struct firn_rewrite_result result = rewrite(&scene, &input, 1, (struct firn_layout_policy){ 0 });
    struct firn_data_file *file = &result.files[0];
    struct firn_buffer bytes = { 0 };
    CHECK_OK(op, firn_store_read(op, scene.store, file->path, UINT64_C(1) << 20, &bytes));
    struct firn_footer *footer = fixture_footer(op, &bytes);
    const struct firn_column_chunk *chunk = &footer->row_groups[0].chunks[1];
    CHECK(chunk->bloom_filter_offset > 0 && chunk->bloom_filter_bytes > 32, "a filter");
    size_t end = (size_t)(chunk->bloom_filter_offset + chunk->bloom_filter_bytes);
    memset(bytes.data + end - 32, 0, 32);
    CHECK_OK(op, firn_store_put(op, scene.store, file->path, false, firn_buffer_bytes(&bytes)));
    CHECK(strcmp(findings(&scene, file), "bloom-filter") == 0, "%s", findings(&scene, file));
    memset(bytes.data + chunk->bloom_filter_offset, 0, 4);
    CHECK_OK(op, firn_store_put(op, scene.store, file->path, false, firn_buffer_bytes(&bytes)));
    CHECK(strcmp(findings(&scene, file), "bloom-filter") == 0, "%s", findings(&scene, file));
    firn_buffer_done(&bytes);
    firn_store_close(scene.store);
}

static void test_bad_properties(void **state)
{
    static const char *const bad[] = {
        ENABLED("l") ",\"write.parquet.bloom-filter-fpp.column.l\":\"1.5\"",
        ENABLED("l") ",\"write.parquet.bloom-filter-fpp.column.l\":\"few\"",
        ENABLED("l") ",\"write.parquet.bloom-filter-ndv.column.l\":\"0\"",
        ENABLED("l") ",\"write.parquet.bloom-filter-max-bytes\":\"0\"",
    };
    static const char *const fine[] = {
        "\"write.parquet.bloom-filter-fpp.column.l\":\"1.5\"", /* of a column without a filter */
        ENABLED("l") ",\"write.parquet.bloom-filter-max-bytes\":\"1000\"",
        ENABLED("nowhere"),
    };
    struct firn_op *op = test_op(state);
    struct scene scene;
    for (size_t i = 0; i < FIRN_COUNT_OF(bad); i++) {
        begin(op, &scene, bad[i]);
        CHECK_STATUS(op, FIRN_USAGE, firn_rewrite_settings_check(op, scene.metadata));
        firn_store_close(scene.store);
    }
    for (size_t i = 0; i < FIRN_COUNT_OF(fine); i++) {
        begin(op, &scene, fine[i]);
        CHECK_OK(op, firn_rewrite_settings_check(op, scene.metadata));
        firn_store_close(scene.store);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_every_layout), TEST(test_widened), TEST(test_rungs), TEST(test_damage), TEST(test_bad_properties),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
