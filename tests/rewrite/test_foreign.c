/* Files of other writers: their physical types, units, lists, maps, and files without field ids. */
#include "fixture.h"

#define OPTIONAL_FIELD(id, name, type) "{\"id\":" #id ",\"name\":\"" name "\",\"required\":false,\"type\":" type "}"
#define SCHEMA(fields)                 "{\"type\":\"struct\",\"schema-id\":0,\"fields\":[" fields "]}"
#define LIST_TYPE(id, type)            "{\"type\":\"list\",\"element-id\":" #id ",\"element-required\":false,\"element\":" type "}"

enum { NODES_MAX = 8, COLUMNS_MAX = 4 };

/* A node of a stored schema: `depth` below the root, in pre-order. */
struct stored_node {
    int depth;
    const char *name;
    enum firn_repetition repetition;
    int32_t field_id;            /* 0: none */
    enum firn_parquet_type type; /* leaves */
    uint32_t type_length;
    struct firn_logical_type logical;
};

struct foreign {
    const char *name;
    const char *schema; /* of the table */
    struct stored_node nodes[NODES_MAX];
    const char *columns[COLUMNS_MAX];
    int64_t rows;
    struct {
        const char *leaf, *slots;
    } expected[COLUMNS_MAX];
    const char *mapping; /* name mapping, quotes escaped for a property */
    firn_status status;
};

#define LEAF(type_)                                                                                                    \
    {                                                                                                                  \
        .depth = 1, .name = "a", .repetition = FIRN_OPTIONAL, .field_id = 1, .type = FIRN_PARQUET_##type_              \
    }
#define LEAF_AS(type_, ...)                                                                                            \
    {                                                                                                                  \
        .depth = 1, .name = "a", .repetition = FIRN_OPTIONAL, .field_id = 1, .type = FIRN_PARQUET_##type_,             \
        .logical = {                                                                                                   \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }
#define LEAF_OF(type_, length, ...)                                                                                    \
    {                                                                                                                  \
        .depth = 1, .name = "a", .repetition = FIRN_OPTIONAL, .field_id = 1, .type = FIRN_PARQUET_##type_,             \
        .type_length = length, .logical = {                                                                            \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }
#define TABLE_OF(type) SCHEMA(OPTIONAL_FIELD(1, "a", "\"" type "\""))

static const struct foreign foreigns[] = {
    {
        .name = "timestamp in milliseconds",
        .schema = TABLE_OF("timestamptz"),
        .nodes = { LEAF_AS(INT64, .kind = FIRN_LOGICAL_TIMESTAMP, .unit = FIRN_UNIT_MILLIS, .adjusted_to_utc = true) },
        .columns = { "1 ~ -2" },
        .rows = 3,
        .expected = { { "a", "1000 ~ -2000" } },
    },
    {
        .name = "timestamp in milliseconds beyond the range",
        .schema = TABLE_OF("timestamp"),
        .nodes = { LEAF_AS(INT64, .kind = FIRN_LOGICAL_TIMESTAMP, .unit = FIRN_UNIT_MILLIS) },
        .columns = { "9223372036854775000" },
        .rows = 1,
        .status = FIRN_CORRUPT,
    },
    {
        .name = "timestamp in nanoseconds",
        .schema = TABLE_OF("timestamp"),
        .nodes = { LEAF_AS(INT64, .kind = FIRN_LOGICAL_TIMESTAMP, .unit = FIRN_UNIT_NANOS) },
        .columns = { "1999 ~ -1" },
        .rows = 3,
        .expected = { { "a", "1 ~ -1" } },
    },
    {
        /* 2000-01-01 is Julian day 2451545 = 0x256859; one hour is 3600000000000 ns = 0x34630b8a000 */
        .name = "INT96",
        .schema = TABLE_OF("timestamptz"),
        .nodes = { LEAF(INT96) },
        .columns = { "0x00a0b8304603000059682500 0x00a0b8304603000059682500" },
        .rows = 2,
        .expected = { { "a", "946688400000000 946688400000000" } },
    },
    {
        .name = "time in milliseconds",
        .schema = TABLE_OF("time"),
        .nodes = { LEAF_AS(INT32, .kind = FIRN_LOGICAL_TIME, .unit = FIRN_UNIT_MILLIS) },
        .columns = { "86399999 ~" },
        .rows = 2,
        .expected = { { "a", "86399999000 ~" } },
    },
    {
        .name = "small and unsigned integers",
        .schema = TABLE_OF("int"),
        .nodes = { LEAF_AS(INT32, .kind = FIRN_LOGICAL_INTEGER, .bit_width = 16) },
        .columns = { "7 65535" },
        .rows = 2,
        .expected = { { "a", "7 65535" } },
    },
    {
        .name = "unsigned 32 bit as long",
        .schema = TABLE_OF("long"),
        .nodes = { LEAF_AS(INT32, .kind = FIRN_LOGICAL_INTEGER, .bit_width = 32) },
        .columns = { "7 -1" },
        .rows = 2,
        .expected = { { "a", "7 4294967295" } },
    },
    {
        .name = "unsigned 32 bit as int",
        .schema = TABLE_OF("int"),
        .nodes = { LEAF_AS(INT32, .kind = FIRN_LOGICAL_INTEGER, .bit_width = 32) },
        .columns = { "7 -1" },
        .rows = 2,
        .status = FIRN_CORRUPT,
    },
    {
        .name = "decimal as byte array",
        .schema = TABLE_OF("decimal(9,2)"),
        .nodes = { LEAF_AS(BYTE_ARRAY, .kind = FIRN_LOGICAL_DECIMAL, .precision = 9, .scale = 2) },
        .columns = { "0x7b 0xff85 ~" },
        .rows = 3,
        .expected = { { "a", "123 -123 ~" } },
    },
    {
        .name = "decimal of few bytes to a long",
        .nodes = { LEAF_OF(FIXED, 7, .kind = FIRN_LOGICAL_DECIMAL, .precision = 12, .scale = 2) },
        .columns = { "0x00000000000101 0xffffffffffffff 0x007fffffffffff 0xff800000000000 0x00000000000000" },
        .schema = TABLE_OF("decimal(12,2)"),
        .rows = 5,
        .expected = { { "a", "257 -1 140737488355327 -140737488355328 0" } },
    },
    {
        .name = "decimal of the fewest bytes stays as it is",
        .nodes = { LEAF_OF(FIXED, 6, .kind = FIRN_LOGICAL_DECIMAL, .precision = 12, .scale = 2) },
        .columns = { "0x000000000101 0xffffffffffff ~" },
        .schema = TABLE_OF("decimal(12,2)"),
        .rows = 3,
        .expected = { { "a", "0x000000000101 0xffffffffffff ~" } },
    },
    {
        .name = "decimal of another width",
        .schema = TABLE_OF("decimal(20,2)"),
        .nodes = { LEAF_OF(FIXED, 16, .kind = FIRN_LOGICAL_DECIMAL, .precision = 20, .scale = 2) },
        .columns = { "0xffffffffffffffffffffffffffffff85 0x0000000000000000000000000000007b" },
        .rows = 2,
        .expected = { { "a", "0xffffffffffffffff85 0x00000000000000007b" } },
    },
    {
        .name = "decimal of another scale",
        .schema = TABLE_OF("decimal(9,2)"),
        .nodes = { LEAF_AS(INT32, .kind = FIRN_LOGICAL_DECIMAL, .precision = 9, .scale = 3) },
        .columns = { "1" },
        .rows = 1,
        .status = FIRN_UNSUPPORTED,
    },
    {
        .name = "uuid as text and as bytes",
        .schema = TABLE_OF("uuid"),
        .nodes = { LEAF_AS(BYTE_ARRAY, .kind = FIRN_LOGICAL_STRING) },
        .columns = { "f79c3e09-677c-4bbd-a479-3f349cb785e7 0x000102030405060708090a0b0c0d0e0f" },
        .rows = 2,
        .expected = { { "a", "0xf79c3e09677c4bbda4793f349cb785e7 0x000102030405060708090a0b0c0d0e0f" } },
    },
    {
        .name = "strings without annotation, enums",
        .schema = TABLE_OF("string"),
        .nodes = { LEAF_AS(BYTE_ARRAY, .kind = FIRN_LOGICAL_ENUM) },
        .columns = { "x y" },
        .rows = 2,
        .expected = { { "a", "x y" } },
    },
    {
        .name = "binary of fixed length",
        .schema = TABLE_OF("binary"),
        .nodes = { LEAF_OF(FIXED, 2, .kind = FIRN_LOGICAL_NONE) },
        .columns = { "0x6162 ~" },
        .rows = 2,
        .expected = { { "a", "ab ~" } },
    },
    {
        .name = "date to timestamp",
        .schema = TABLE_OF("timestamp"),
        .nodes = { LEAF_AS(INT32, .kind = FIRN_LOGICAL_DATE) },
        .columns = { "1 -1" },
        .rows = 2,
        .expected = { { "a", "86400000000 -86400000000" } },
    },
    {
        .name = "two-level list",
        .schema = SCHEMA(OPTIONAL_FIELD(1, "l", LIST_TYPE(2, "\"long\""))),
        .nodes = { { 1, "l", FIRN_OPTIONAL, 1, .logical = { .kind = FIRN_LOGICAL_LIST } },
                   { 2, "element", FIRN_REPEATED, 2, FIRN_PARQUET_INT32 } },
        .columns = { "0.2=1 1.2=2 0.1 0.0" },
        .rows = 3,
        .expected = { { "l.list.element", "0.3=1 1.3=2 0.1 0.0" } },
    },
    {
        .name = "bare repeated field",
        .schema = SCHEMA(OPTIONAL_FIELD(1, "l", LIST_TYPE(2, "\"int\""))),
        .nodes = { { 1, "l", FIRN_REPEATED, 1, FIRN_PARQUET_INT32 } },
        .columns = { "0.1=1 1.1=2 0.0" },
        .rows = 2,
        .expected = { { "l.list.element", "0.3=1 1.3=2 0.1" } },
    },
    {
        .name = "list whose repeated group is the element",
        .schema = SCHEMA(OPTIONAL_FIELD(
            1, "l", LIST_TYPE(2, "{\"type\":\"struct\",\"fields\":[" OPTIONAL_FIELD(3, "x", "\"int\"") "]}"))),
        .nodes = { { 1, "l", FIRN_OPTIONAL, 1, .logical = { .kind = FIRN_LOGICAL_LIST } },
                   { 2, "array", FIRN_REPEATED, 0 },
                   { 3, "x", FIRN_OPTIONAL, 3, FIRN_PARQUET_INT32 } },
        .columns = { "0.3=1 1.2 0.1" },
        .rows = 2,
        .expected = { { "l.list.element.x", "0.4=1 1.3 0.1" } },
    },
    {
        .name = "map with another entry name and no annotation",
        .schema = SCHEMA(OPTIONAL_FIELD(1, "m",
                                        "{\"type\":\"map\",\"key-id\":2,\"key\":\"string\",\"value-id\":3,"
                                        "\"value-required\":false,\"value\":\"int\"}")),
        .nodes = { { 1, "m", FIRN_OPTIONAL, 1 },
                   { 2, "map", FIRN_REPEATED, 0 },
                   { 3, "v", FIRN_OPTIONAL, 3, FIRN_PARQUET_INT32 },
                   { 3, "k", FIRN_REQUIRED, 2, FIRN_PARQUET_BYTE_ARRAY } },
        .columns = { "0.3=1 1.2 0.0", "0.2=x 1.2=y 0.0" },
        .rows = 2,
        .expected = { { "m.key_value.key", "0.2=x 1.2=y 0.0" }, { "m.key_value.value", "0.3=1 1.2 0.0" } },
    },
    {
        .name = "no ids, no mapping: by position",
        .schema = SCHEMA(OPTIONAL_FIELD(2, "b", "\"int\"") "," OPTIONAL_FIELD(1, "a", "\"int\"") "," OPTIONAL_FIELD(
            3, "c", "\"int\"")),
        .nodes = { { 1, "a", FIRN_OPTIONAL, 0, FIRN_PARQUET_INT32 }, { 1, "b", FIRN_REQUIRED, 0, FIRN_PARQUET_INT32 } },
        .columns = { "1 ~", "3 4" },
        .rows = 2,
        .expected = { { "b", "3 4" }, { "a", "1 ~" }, { "c", "~ ~" } },
    },
    {
        .name = "no ids, no mapping, columns left out: by name",
        .schema = SCHEMA(OPTIONAL_FIELD(1, "a", "\"int\"") "," OPTIONAL_FIELD(2, "b", "\"int\"") "," OPTIONAL_FIELD(
            3, "c", "\"int\"")),
        .nodes = { { 1, "b", FIRN_OPTIONAL, 0, FIRN_PARQUET_INT32 }, { 1, "c", FIRN_REQUIRED, 0, FIRN_PARQUET_INT32 } },
        .columns = { "1 ~", "3 4" },
        .rows = 2,
        .expected = { { "a", "~ ~" }, { "b", "1 ~" }, { "c", "3 4" } },
    },
    {
        .name = "no ids, no mapping, neither position nor name",
        .schema = SCHEMA(OPTIONAL_FIELD(1, "a", "\"int\"") "," OPTIONAL_FIELD(2, "b", "\"int\"")),
        .nodes = { { 1, "b", FIRN_OPTIONAL, 0, FIRN_PARQUET_INT32 }, { 1, "z", FIRN_REQUIRED, 0, FIRN_PARQUET_INT32 } },
        .columns = { "1 ~", "3 4" },
        .rows = 2,
        .status = FIRN_UNSUPPORTED,
    },
    {
        .name = "no ids: by name mapping",
        .schema = SCHEMA(OPTIONAL_FIELD(1, "a", "\"int\"") "," OPTIONAL_FIELD(
            5, "s", "{\"type\":\"struct\",\"fields\":[" OPTIONAL_FIELD(6, "x", "\"int\"") "]}")),
        .nodes = { { 1, "s", FIRN_OPTIONAL, 0 },
                   { 2, "old_x", FIRN_OPTIONAL, 0, FIRN_PARQUET_INT32 },
                   { 1, "A", FIRN_OPTIONAL, 0, FIRN_PARQUET_INT32 } },
        .columns = { "1 ~ ~.0", "4 5 6" },
        .rows = 3,
        .expected = { { "a", "4 5 6" }, { "s.x", "1 ~ ~.0" } },
        .mapping = "[{\\\"field-id\\\":1,\\\"names\\\":[\\\"a\\\",\\\"A\\\"]},{\\\"field-id\\\":5,\\\"names\\\":"
                   "[\\\"s\\\"],\\\"fields\\\":[{\\\"field-id\\\":6,\\\"names\\\":[\\\"x\\\",\\\"old_x\\\"]}]}]",
    },
    {
        .name = "some ids: columns without are not read",
        .schema = SCHEMA(OPTIONAL_FIELD(1, "a", "\"int\"") "," OPTIONAL_FIELD(2, "b", "\"int\"")),
        .nodes = { { 1, "b", FIRN_OPTIONAL, 0, FIRN_PARQUET_INT32 }, { 1, "a", FIRN_OPTIONAL, 1, FIRN_PARQUET_INT32 } },
        .columns = { "1 2", "3 4" },
        .rows = 2,
        .expected = { { "a", "3 4" }, { "b", "~ ~" } },
    },
    {
        .name = "two columns with one id",
        .schema = TABLE_OF("int"),
        .nodes = { { 1, "b", FIRN_OPTIONAL, 1, FIRN_PARQUET_INT32 }, { 1, "a", FIRN_OPTIONAL, 1, FIRN_PARQUET_INT32 } },
        .columns = { "1 2", "3 4" },
        .rows = 2,
        .status = FIRN_CORRUPT,
    },
    {
        .name = "nested without ids and mapping",
        .schema =
            SCHEMA(OPTIONAL_FIELD(1, "s", "{\"type\":\"struct\",\"fields\":[" OPTIONAL_FIELD(2, "x", "\"int\"") "]}")),
        .nodes = { { 1, "s", FIRN_OPTIONAL, 0 }, { 2, "x", FIRN_OPTIONAL, 0, FIRN_PARQUET_INT32 } },
        .columns = { "1" },
        .rows = 1,
        .status = FIRN_UNSUPPORTED,
    },
};

/* Builds the tree below `node` from nodes[*at], ... of greater depth. */
static void build_tree(struct firn_op *op, const struct stored_node *nodes, size_t *at, struct firn_parquet_node *node,
                       int depth)
{
    size_t end = *at;
    while (end < NODES_MAX && nodes[end].name && nodes[end].depth >= depth)
        node->child_count += nodes[end++].depth == depth;
    node->is_leaf = node->child_count == 0;
    node->children = FIRN_NEW_ARRAY(op->arena, struct firn_parquet_node, node->child_count);
    for (uint32_t i = 0; i < node->child_count; i++) {
        const struct stored_node *stored = &nodes[(*at)++];
        node->children[i] = (struct firn_parquet_node){
            .name = firn_text_of(stored->name),
            .repetition = stored->repetition,
            .has_field_id = stored->field_id != 0,
            .field_id = stored->field_id,
            .type = stored->type,
            .type_length = stored->type_length,
            .logical = stored->logical,
        };
        build_tree(op, nodes, at, &node->children[i], depth + 1);
    }
}

static void run_foreign(struct firn_op *op, const struct foreign *foreign, bool dictionary, enum firn_layout layout)
{
    struct firn_store *store;
    struct firn_rewrite_result result;
    struct firn_footer schema = { .root.name = FIRN_TEXT("schema") };
    struct firn_chunk_options options = firn_chunk_options_default();
    size_t at = 0;
    build_tree(op, foreign->nodes, &at, &schema.root, 1);
    CHECK_OK(op, firn_parquet_schema_finish(op, &schema));
    options.dictionary = dictionary;
    CHECK_OK(op, firn_store_open_memory(op, &store));
    int64_t bytes = fixture_write(op, store, "mem:/t/data/in.parquet", &schema, foreign->columns, 1, options);
    struct firn_data_file file = fixture_file("mem:/t/data/in.parquet", bytes, foreign->rows);
    struct fixture_table table = { .version = 2, .schemas = foreign->schema };
    if (foreign->mapping)
        table.properties = firn_text_format(op->arena, "\"schema.name-mapping.default\":\"%s\"", foreign->mapping).data;
    struct fixture_run run = {
        .metadata = fixture_metadata(op, &table),
        .store = store,
        .files = &file,
        .file_count = 1,
        .layout = { .layout = layout },
    };
    firn_status status = fixture_execute(op, &run, &result);
    CHECK(status == foreign->status, "%s: %s: %s", foreign->name, firn_status_name(status), op->error.text);
    for (size_t i = 0; status == FIRN_OK && i < COLUMNS_MAX && foreign->expected[i].leaf; i++) {
        const char *got = fixture_dump(op, store, &result, foreign->expected[i].leaf);
        CHECK(strcmp(got, foreign->expected[i].slots) == 0, "%s: %s is '%s'", foreign->name, foreign->expected[i].leaf,
              got);
    }
    firn_store_close(store);
}

static void files_of_other_writers_are_understood(void **state)
{
    for (size_t i = 0; i < FIRN_COUNT_OF(foreigns); i++) {
        run_foreign(test_op(state), &foreigns[i], true, FIRN_LAYOUT_BALANCED);
        run_foreign(test_op(state), &foreigns[i], false, FIRN_LAYOUT_BALANCED);
        run_foreign(test_op(state), &foreigns[i], true, FIRN_LAYOUT_FASTEST);
        run_foreign(test_op(state), &foreigns[i], false, FIRN_LAYOUT_FASTEST);
    }
}

/* The same dictionary bytes in another unit are other values. */
static void equal_dictionaries_of_different_units_stay_apart(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_store *store;
    struct firn_rewrite_result result;
    struct firn_data_file files[3];
    static const char *const columns[] = { "1000 2000 1000" };
    CHECK_OK(op, firn_store_open_memory(op, &store));
    for (uint32_t i = 0; i < 3; i++) {
        static const enum firn_time_unit units[] = { FIRN_UNIT_MILLIS, FIRN_UNIT_MICROS, FIRN_UNIT_NANOS };
        const struct stored_node nodes[NODES_MAX] = { LEAF_AS(INT64, .kind = FIRN_LOGICAL_TIMESTAMP,
                                                              .unit = units[i]) };
        struct firn_footer schema = { .root.name = FIRN_TEXT("schema") };
        const char *path = firn_text_format(op->arena, "mem:/t/in-%u.parquet", i).data;
        size_t at = 0;
        build_tree(op, nodes, &at, &schema.root, 1);
        CHECK_OK(op, firn_parquet_schema_finish(op, &schema));
        int64_t bytes = fixture_write(op, store, path, &schema, columns, 1, firn_chunk_options_default());
        files[i] = fixture_file(path, bytes, 3);
    }
    struct fixture_run run = {
        .metadata = fixture_metadata(op, &(struct fixture_table){ .version = 2, .schemas = TABLE_OF("timestamp") }),
        .store = store,
        .files = files,
        .file_count = 3,
    };
    CHECK_OK(op, fixture_execute(op, &run, &result));
    const char *got = fixture_dump(op, store, &result, "a");
    CHECK(strcmp(got, "1000000 2000000 1000000 1000 2000 1000 1 2 1") == 0, "%s", got);
    firn_store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(files_of_other_writers_are_understood),
        TEST(equal_dictionaries_of_different_units_stay_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
