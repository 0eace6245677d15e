/* Metrics modes and truncated bounds, locations of new files, name mappings. */
#include "check.h"

#include "base/math.h"
#include "table/location.h"
#include "table/metrics.h"
#include "table/name_mapping.h"

/* A table at file:/w/db/t with the given properties; columns: id long (1), name string (2), s struct (3) of x double
 * (4) and l list (5) of long (6), bin binary (7). */
static struct firn_metadata *table_with(struct firn_op *op, const char *properties)
{
    struct firn_metadata *metadata;
    struct firn_text text = firn_text_format(
        op->arena,
        "{\"format-version\":1,\"location\":\"file:/w/db/t\",\"last-updated-ms\":1,\"last-column-id\":7,\"schema\":{"
        "\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"id\",\"required\":true,\"type\":\"long\"},"
        "{\"id\":2,\"name\":\"name\",\"required\":false,\"type\":\"string\"},"
        "{\"id\":3,\"name\":\"s\",\"required\":false,\"type\":{\"type\":\"struct\",\"fields\":["
        "{\"id\":4,\"name\":\"x\",\"required\":false,\"type\":\"double\"},"
        "{\"id\":5,\"name\":\"l\",\"required\":false,\"type\":{\"type\":\"list\",\"element-id\":6,\"element\":\"long\","
        "\"element-required\":false}}]}},{\"id\":7,\"name\":\"bin\",\"required\":false,\"type\":\"binary\"}]},"
        "\"partition-spec\":[],\"properties\":{%s}}",
        properties);
    CHECK_OK(op, firn_metadata_parse(op, text, &metadata));
    return metadata;
}

static void modes_are_resolved(void **state)
{
    struct firn_op *op = test_op(state);
#define M(name) "\"write.metadata.metrics." name "\":"
    static const struct {
        const char *properties;
        int32_t field_id;
        enum firn_metrics_mode mode;
        int32_t length;
    } cases[] = {
        { "", 2, FIRN_METRICS_TRUNCATE, 16 },
        { M("default") "\"none\"", 2, FIRN_METRICS_NONE, 0 },
        { M("default") "\"none\"", 1, FIRN_METRICS_TRUNCATE, 16 }, /* sorted by it */
        { M("default") "\"Counts\"", 1, FIRN_METRICS_TRUNCATE, 16 },
        { M("default") "\"full\"", 1, FIRN_METRICS_FULL, 0 },
        { M("default") "\"TRUNCATE(4)\"", 1, FIRN_METRICS_TRUNCATE, 4 },
        { M("default") "\"truncate(0)\"", 2, FIRN_METRICS_TRUNCATE, 16 },
        { M("default") "\"bad\"", 2, FIRN_METRICS_TRUNCATE, 16 },
        { M("default") "\"none\"," M("column.id") "\"counts\"", 1, FIRN_METRICS_COUNTS, 0 },
        { M("column.s.x") "\"full\"", 4, FIRN_METRICS_FULL, 0 },
        { M("column.s.x") "\"bad\"", 4, FIRN_METRICS_TRUNCATE, 16 },
        { M("column.gone") "\"full\"", 4, FIRN_METRICS_TRUNCATE, 16 },
        { M("max-inferred-column-defaults") "\"7\"", 6, FIRN_METRICS_TRUNCATE, 16 },
        /* seven ids are more than four: id, name, bin come first, then s.x; s.l.element stays out */
        { M("max-inferred-column-defaults") "\"4\"", 7, FIRN_METRICS_TRUNCATE, 16 },
        { M("max-inferred-column-defaults") "\"4\"", 4, FIRN_METRICS_TRUNCATE, 16 },
        { M("max-inferred-column-defaults") "\"4\"", 6, FIRN_METRICS_NONE, 0 },
        { M("max-inferred-column-defaults") "\"3\"", 4, FIRN_METRICS_NONE, 0 },
        { M("max-inferred-column-defaults") "\"0\"", 1, FIRN_METRICS_TRUNCATE, 16 },
    };
    int32_t source = 1;
    struct firn_sort_field sorted = { &source, 1, firn_transform_parse(op->arena, FIRN_TEXT("identity")), false,
                                      false };
    struct firn_sort_order order = { 1, &sorted, 1 };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_metadata *metadata = table_with(op, cases[i].properties);
        const struct firn_metrics_config *config;
        CHECK_OK(op, firn_metrics_config_new(op, metadata, firn_metadata_current_schema(metadata), &order, &config));
        struct firn_metrics_setting setting = firn_metrics_config_find(config, cases[i].field_id);
        CHECK(setting.mode == cases[i].mode && setting.length == cases[i].length, "%s: field %d", cases[i].properties,
              cases[i].field_id);
    }
}

static void bounds_are_cut(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        enum firn_type_id type;
        const char *value;
        int32_t length;
        const char *lower, *upper; /* upper NULL: none */
    } cases[] = {
        { FIRN_TYPE_STRING, "iceberg", 3, "ice", "icf" },
        { FIRN_TYPE_STRING, "iceberg", 7, "iceberg", "iceberg" },
        { FIRN_TYPE_STRING, "", 1, "", "" },
        { FIRN_TYPE_STRING, "a\xf4\x8f\xbf\xbfz", 2, "a\xf4\x8f\xbf\xbf", "b" },
        { FIRN_TYPE_STRING, "\xf4\x8f\xbf\xbf\xf4\x8f\xbf\xbf", 1, "\xf4\x8f\xbf\xbf", NULL },
        { FIRN_TYPE_STRING, "\xed\x9f\xbfx", 1, "\xed\x9f\xbf", "\xee\x80\x80" }, /* over the surrogates */
        { FIRN_TYPE_STRING, "\x7fx", 1, "\x7f", "\xc2\x80" },
        { FIRN_TYPE_STRING, "\xdf\xbfx", 1, "\xdf\xbf", "\xe0\xa0\x80" },
        { FIRN_TYPE_STRING, "\xef\xbf\xbfx", 1, "\xef\xbf\xbf", "\xf0\x90\x80\x80" },
        { FIRN_TYPE_STRING, "\xc3\xa9\xc3\xa9\xc3\xa9", 2, "\xc3\xa9\xc3\xa9", "\xc3\xa9\xc3\xaa" },
        { FIRN_TYPE_STRING, "\xff\xff\xff", 1, "\xff", NULL },  /* no UTF-8 */
        { FIRN_TYPE_STRING, "\xc1\xbfz", 1, "\xc1\xbf", NULL }, /* too long a form of U+007F */
        { FIRN_TYPE_BINARY, "abc", 2, "ab", "ac" },
        { FIRN_TYPE_BINARY, "a\xff\xff", 2, "a\xff", "b" },
        { FIRN_TYPE_BINARY, "\xff\xff\xff", 2, "\xff\xff", NULL },
        { FIRN_TYPE_FIXED, "abc", 2, "abc", "abc" },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_bytes value = firn_bytes_of_text(firn_text_of(cases[i].value)), upper;
        struct firn_bytes lower = firn_truncate_lower(op->arena, cases[i].type, value, cases[i].length);
        CHECK(firn_text_is(firn_text_of_bytes(lower), cases[i].lower), "case %zu", i);
        bool has = firn_truncate_upper(op->arena, cases[i].type, value, cases[i].length, &upper);
        CHECK(has == (cases[i].upper != NULL), "case %zu", i);
        if (has)
            CHECK(firn_text_is(firn_text_of_bytes(upper), cases[i].upper), "case %zu: %.*s", i,
                  FIRN_FMT(firn_text_of_bytes(upper)));
        if (has)
            CHECK(firn_bytes_compare(upper, value) >= 0, "case %zu", i);
    }
}

static void files_are_filled_by_mode(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_metadata *metadata =
        table_with(op, M("column.id") "\"none\"," M("column.bin") "\"counts\"," M("column.name") "\"truncate(2)\"");
    const struct firn_schema *schema = firn_metadata_current_schema(metadata);
    const struct firn_metrics_config *config;
    CHECK_OK(op, firn_metrics_config_new(op, metadata, schema, NULL, &config));
    struct firn_value text = { .type = FIRN_TYPE_STRING,
                               .bytes = firn_bytes_of_text(FIRN_TEXT("\xf4\x8f\xbf\xbf"
                                                                     "\xf4\x8f\xbf\xbfz")) };
    struct firn_value number = { .type = FIRN_TYPE_LONG, .integer = 3 };
    struct firn_column_metrics columns[] = {
        { .field = firn_schema_field(schema, 7), .compressed_bytes = 70, .value_count = 5 },
        { .field = firn_schema_field(schema, 6), .repeated = true, .compressed_bytes = 60, .value_count = 9 },
        { .field = firn_schema_field(schema, 4),
          .compressed_bytes = 40,
          .value_count = 5,
          .nan_count = 5,
          .counts_nan = true },
        { .field = firn_schema_field(schema, 2),
          .compressed_bytes = 20,
          .value_count = 5,
          .null_count = 1,
          .has_bounds = true,
          .lower = text,
          .upper = text },
        { .field = firn_schema_field(schema, 1),
          .compressed_bytes = 10,
          .value_count = 5,
          .has_bounds = true,
          .lower = number,
          .upper = number },
    };
    struct firn_data_file file = { 0 };
    CHECK_OK(op, firn_metrics_fill(op, config, columns, FIRN_COUNT_OF(columns), &file));
    static const int32_t sized[] = { 2, 4, 6, 7 };
    assert_int_equal(file.column_sizes.count, 4);
    assert_memory_equal(file.column_sizes.ids, sized, sizeof sized);
    assert_int_equal(file.value_counts.count, 3);
    assert_int_equal(file.nan_value_counts.count, 1);
    assert_int_equal(file.nan_value_counts.counts[0], 5);
    assert_int_equal(file.lower_bounds.count, 1);
    assert_int_equal(file.lower_bounds.values[0].len, 8);
    assert_int_equal(file.upper_bounds.count, 0); /* nothing is above U+10FFFF twice */
}

static void data_files_are_placed(void **state)
{
    struct firn_op *op = test_op(state);
#define OBJECTS "\"write.object-storage.enabled\":\"true\""
    static const struct {
        const char *properties, *partition, *file, *location;
    } cases[] = {
        { "", "", "f", "file:/w/db/t/data/f" },
        { "", "a=1/b=2", "f", "file:/w/db/t/data/a=1/b=2/f" },
        { "\"write.data.path\":\"s3://b/d//\"", "a=1", "f", "s3://b/d/a=1/f" },
        /* the reference's own expectations for these names */
        { OBJECTS, "", "a", "file:/w/db/t/data/0101/0110/1001/10110010/a" },
        { OBJECTS, "", "b", "file:/w/db/t/data/1110/0111/1110/00000011/b" },
        { OBJECTS, "", "c", "file:/w/db/t/data/0010/1101/0110/01011111/c" },
        { OBJECTS, "", "d", "file:/w/db/t/data/1001/0001/0100/01110011/d" },
        { OBJECTS ",\"write.object-storage.partitioned-paths\":\"false\"", "p=1", "a",
          "file:/w/db/t/data/0101/0110/1001/10110010-a" },
        { OBJECTS ",\"write.data.path\":\"s3://b/d\"", "", "a", "s3://b/d/0101/0110/1001/10110010/db/t/a" },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_text location = firn_data_location(op->arena, table_with(op, cases[i].properties),
                                                       firn_text_of(cases[i].partition), firn_text_of(cases[i].file));
        CHECK(firn_text_is(location, cases[i].location), "%.*s", FIRN_FMT(location));
    }
    struct firn_uuid uuid = { { 1, 2, 3 } };
    struct firn_text name = firn_data_file_name(op->arena, 3, 7, uuid, 1, FIRN_TEXT(".parquet"));
    CHECK(firn_text_is(name, "00003-7-01020300-0000-0000-0000-000000000000-00001.parquet"), "%.*s", FIRN_FMT(name));
    struct firn_text path = firn_metadata_location(op->arena, table_with(op, ""), FIRN_TEXT("x"));
    CHECK(firn_text_is(path, "file:/w/db/t/metadata/x"), "%.*s", FIRN_FMT(path));
    path = firn_metadata_location(op->arena, table_with(op, "\"write.metadata.path\":\"s3://m/\""), FIRN_TEXT("x"));
    CHECK(firn_text_is(path, "s3://m/x"), "%.*s", FIRN_FMT(path));
}

static void name_mappings_are_searched_by_level(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_name_mapping mapping;
    CHECK_OK(op, firn_name_mapping_parse(op,
                                         FIRN_TEXT("[{\"field-id\":1,\"names\":[\"id\",\"record_id\"]},"
                                                   "{\"names\":[\"no_id\"]},"
                                                   "{\"field-id\":3,\"names\":[\"loc\"],\"fields\":["
                                                   "{\"field-id\":4,\"names\":[\"lat\"]}]}]"),
                                         &mapping));
    assert_int_equal(firn_name_mapping_find(&mapping, FIRN_TEXT("record_id"))->id, 1);
    assert_null(firn_name_mapping_find(&mapping, FIRN_TEXT("ID")));
    assert_null(firn_name_mapping_find(&mapping, FIRN_TEXT("lat")));
    assert_false(firn_name_mapping_find(&mapping, FIRN_TEXT("no_id"))->has_id);
    const struct firn_name_mapped *loc = firn_name_mapping_find(&mapping, FIRN_TEXT("loc"));
    assert_int_equal(firn_name_mapping_find(&loc->children, FIRN_TEXT("lat"))->id, 4);
    static const char *const bad[] = { "{}", "[1]", "[{\"field-id\":1}]", "[{\"field-id\":1,\"names\":[2]}]", "[" };
    for (size_t i = 0; i < FIRN_COUNT_OF(bad); i++)
        CHECK_STATUS(op, FIRN_CORRUPT, firn_name_mapping_parse(op, firn_text_of(bad[i]), &mapping));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(modes_are_resolved),
        TEST(bounds_are_cut),
        TEST(files_are_filled_by_mode),
        TEST(data_files_are_placed),
        TEST(name_mappings_are_searched_by_level),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
