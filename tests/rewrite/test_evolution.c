/* Files of older schemas rewritten to the current one: every rule of schema evolution, flat and nested. */
#include "fixture.h"

#define OPT(id, name, type) "{\"id\":" #id ",\"name\":\"" name "\",\"required\":false,\"type\":" type "}"
#define REQ(id, name, type) "{\"id\":" #id ",\"name\":\"" name "\",\"required\":true,\"type\":" type "}"
#define DEF(id, name, type, value)                                                                                     \
    "{\"id\":" #id ",\"name\":\"" name "\",\"required\":false,\"type\":" type ",\"initial-default\":" value            \
    ",\"write-default\":" value "}"
#define STRUCT(fields)     "{\"type\":\"struct\",\"fields\":[" fields "]}"
#define LIST(id, type)     "{\"type\":\"list\",\"element-id\":" #id ",\"element-required\":false,\"element\":" type "}"
#define LIST_REQ(id, type) "{\"type\":\"list\",\"element-id\":" #id ",\"element-required\":true,\"element\":" type "}"
#define MAP(kid, vid, key, value)                                                                                      \
    "{\"type\":\"map\",\"key-id\":" #kid ",\"key\":" key ",\"value-id\":" #vid                                         \
    ",\"value-required\":false,\"value\":" value "}"
#define SCHEMA(id, fields) "{\"type\":\"struct\",\"schema-id\":" #id ",\"fields\":[" fields "]}"

enum { COLUMNS_MAX = 6 };

struct evolution {
    const char *name;
    int version; /* 0: 2 */
    const char *before, *after;
    const char *columns[COLUMNS_MAX]; /* of one row group, in leaf order */
    int64_t rows;
    struct {
        const char *leaf, *slots;
    } expected[COLUMNS_MAX];
    firn_status status;
};

static const struct evolution evolutions[] = {
    {
        .name = "same",
        .before = SCHEMA(0, OPT(1, "a", "\"int\"") "," REQ(2, "b", "\"string\"")),
        .after = SCHEMA(1, OPT(1, "a", "\"int\"") "," REQ(2, "b", "\"string\"")),
        .columns = { "1 ~ 3", "x y z" },
        .rows = 3,
        .expected = { { "a", "1 ~ 3" }, { "b", "x y z" } },
    },
    {
        .name = "reordered, renamed, dropped and added",
        .before = SCHEMA(0, OPT(1, "a", "\"int\"") "," OPT(2, "b", "\"string\"") "," OPT(3, "c", "\"long\"")),
        .after = SCHEMA(1, OPT(3, "z", "\"long\"") "," OPT(4, "b", "\"string\"") "," OPT(1, "a", "\"int\"")),
        .columns = { "1 2", "x y", "7 ~" },
        .rows = 2,
        .expected = { { "z", "7 ~" }, { "b", "~ ~" }, { "a", "1 2" } },
    },
    {
        .name = "promoted",
        .before = SCHEMA(0, OPT(1, "i", "\"int\"") "," OPT(2, "f", "\"float\"") "," OPT(
                                3, "d", "\"decimal(9,2)\"") "," OPT(4, "e", "\"decimal(9,2)\"")),
        .after = SCHEMA(1, OPT(1, "i", "\"long\"") "," OPT(2, "f", "\"double\"") "," OPT(
                               3, "d", "\"decimal(18,2)\"") "," OPT(4, "e", "\"decimal(38,2)\"")),
        .columns = { "-1 ~", "1.5 ~", "-123 ~", "-123 ~" },
        .rows = 2,
        .expected = { { "i", "-1 ~" },
                      { "f", "1.5 ~" },
                      { "d", "-123 ~" },
                      { "e", "0xffffffffffffffffffffffffffffff85 ~" } },
    },
    {
        .name = "required made optional",
        .before = SCHEMA(0, REQ(1, "a", "\"int\"")),
        .after = SCHEMA(1, OPT(1, "a", "\"int\"")),
        .columns = { "1 2" },
        .rows = 2,
        .expected = { { "a", "1 2" } },
    },
    {
        .name = "optional in the file, required in the table, no nulls",
        .before = SCHEMA(0, OPT(1, "a", "\"int\"")),
        .after = SCHEMA(1, REQ(1, "a", "\"int\"")),
        .columns = { "1 2" },
        .rows = 2,
        .expected = { { "a", "1 2" } },
    },
    {
        .name = "null in a required column",
        .before = SCHEMA(0, OPT(1, "a", "\"int\"")),
        .after = SCHEMA(1, REQ(1, "a", "\"int\"")),
        .columns = { "1 ~" },
        .rows = 2,
        .status = FIRN_CORRUPT,
    },
    {
        .name = "missing required column",
        .before = SCHEMA(0, OPT(1, "a", "\"int\"")),
        .after = SCHEMA(1, OPT(1, "a", "\"int\"") "," REQ(2, "b", "\"int\"")),
        .columns = { "1 ~" },
        .rows = 2,
        .status = FIRN_CORRUPT,
    },
    {
        .name = "added with a default",
        .version = 3,
        .before = SCHEMA(0, OPT(1, "a", "\"int\"")),
        .after = SCHEMA(1, OPT(1, "a", "\"int\"") "," DEF(2, "b", "\"string\"",
                                                          "\"x\"") "," DEF(3, "c", "\"decimal(20,2)\"", "\"1.50\"")),
        .columns = { "1 ~" },
        .rows = 2,
        .expected = { { "a", "1 ~" }, { "b", "x x" }, { "c", "0x000000000000000096 0x000000000000000096" } },
    },
    {
        .name = "struct child added, dropped, renamed and promoted",
        .before = SCHEMA(0, OPT(1, "s", STRUCT(OPT(2, "a", "\"int\"") "," OPT(3, "b", "\"string\"")))),
        .after = SCHEMA(1, OPT(1, "t", STRUCT(OPT(4, "new", "\"int\"") "," OPT(2, "c", "\"long\"")))),
        .columns = { "1 ~ ~.0", "x y ~.0" },
        .rows = 3,
        .expected = { { "t.new", "~ ~ ~.0" }, { "t.c", "1 ~ ~.0" } },
    },
    {
        .name = "struct child with a default only where the struct is",
        .version = 3,
        .before = SCHEMA(0, OPT(1, "s", STRUCT(OPT(2, "a", "\"int\"")))),
        .after = SCHEMA(1, OPT(1, "s", STRUCT(OPT(2, "a", "\"int\"") "," DEF(3, "n", "\"long\"", "7")))),
        .columns = { "1 ~ ~.0" },
        .rows = 3,
        .expected = { { "s.a", "1 ~ ~.0" }, { "s.n", "7 7 ~.0" } },
    },
    {
        .name = "missing struct is null",
        .before = SCHEMA(0, OPT(1, "a", "\"int\"")),
        .after = SCHEMA(1, OPT(1, "a", "\"int\"") "," OPT(
                               2, "s", STRUCT(OPT(3, "x", "\"int\"") "," OPT(4, "l", LIST(5, "\"int\""))))),
        .columns = { "1 2" },
        .rows = 2,
        .expected = { { "a", "1 2" }, { "s.x", "~.0 ~.0" }, { "s.l.list.element", "0.0 0.0" } },
    },
    {
        .name = "struct child added beside a list only",
        .before = SCHEMA(0, OPT(1, "s", STRUCT(OPT(2, "l", LIST(3, "\"int\""))))),
        .after = SCHEMA(1, OPT(1, "s", STRUCT(OPT(4, "n", "\"int\"") "," OPT(2, "l", LIST(3, "\"long\""))))),
        .columns = { "0.4=1 1.4=2 1.3 0.2 0.1 0.0" },
        .rows = 4,
        .expected = { { "s.n", "~ ~ ~ ~.0" }, { "s.l.list.element", "0.4=1 1.4=2 1.3 0.2 0.1 0.0" } },
    },
    {
        .name = "list of structs grows a field",
        .before = SCHEMA(0, OPT(1, "l", LIST(2, STRUCT(OPT(3, "a", "\"int\""))))),
        .after = SCHEMA(1, OPT(1, "l", LIST(2, STRUCT(OPT(4, "b", "\"string\"") "," OPT(3, "a", "\"long\""))))),
        .columns = { "0.4=1 1.3 1.2 0.1 0.0" },
        .rows = 3,
        .expected = { { "l.list.element.b", "0.3 1.3 1.2 0.1 0.0" }, { "l.list.element.a", "0.4=1 1.3 1.2 0.1 0.0" } },
    },
    {
        .name = "list of structs grows a list",
        .before = SCHEMA(0, OPT(1, "l", LIST(2, STRUCT(OPT(3, "a", "\"int\""))))),
        .after = SCHEMA(1, OPT(1, "l", LIST(2, STRUCT(OPT(3, "a", "\"int\"") "," OPT(4, "m", LIST(5, "\"int\"")))))),
        .columns = { "0.4=1 1.3 0.1 0.0" },
        .rows = 3,
        .expected = { { "l.list.element.m.list.element", "0.3 1.3 0.1 0.0" } },
    },
    {
        .name = "element made optional",
        .before = SCHEMA(0, REQ(1, "l", LIST_REQ(2, "\"int\""))),
        .after = SCHEMA(1, OPT(1, "l", LIST(2, "\"long\""))),
        .columns = { "0.1=1 1.1=2 0.0 0.1=3" },
        .rows = 3,
        .expected = { { "l.list.element", "0.3=1 1.3=2 0.1 0.3=3" } },
    },
    {
        .name = "map values change",
        .before = SCHEMA(0, OPT(1, "m", MAP(2, 3, "\"string\"", "\"int\""))),
        .after = SCHEMA(1, OPT(1, "m", MAP(2, 3, "\"string\"", "\"long\""))),
        .columns = { "0.2=x 1.2=y 0.1 0.0", "0.3=1 1.2 0.1 0.0" },
        .rows = 3,
        .expected = { { "m.key_value.key", "0.2=x 1.2=y 0.1 0.0" }, { "m.key_value.value", "0.3=1 1.2 0.1 0.0" } },
    },
    {
        .name = "map of structs grows a field with a default",
        .version = 3,
        .before = SCHEMA(0, OPT(1, "m", MAP(2, 3, "\"int\"", STRUCT(OPT(4, "a", "\"int\""))))),
        .after = SCHEMA(
            1, OPT(1, "m", MAP(2, 3, "\"int\"", STRUCT(DEF(5, "b", "\"int\"", "9") "," OPT(4, "a", "\"int\""))))),
        .columns = { "0.2=1 1.2=2 0.0", "0.4=5 1.2 0.0" },
        .rows = 2,
        .expected = { { "m.key_value.value.b", "0.4=9 1.2 0.0" }, { "m.key_value.value.a", "0.4=5 1.2 0.0" } },
    },
    {
        .name = "type that is no promotion",
        .before = SCHEMA(0, OPT(1, "a", "\"string\"")),
        .after = SCHEMA(1, OPT(1, "a", "\"int\"")),
        .columns = { "x" },
        .rows = 1,
        .status = FIRN_UNSUPPORTED,
    },
};

static void run_evolution(struct firn_op *op, const struct evolution *evolution, bool dictionary,
                          enum firn_layout layout)
{
    struct firn_store *store;
    struct firn_rewrite_result result;
    struct firn_output_schema before = fixture_schema(op, evolution->before);
    struct firn_chunk_options options = firn_chunk_options_default();
    options.dictionary = dictionary;
    CHECK_OK(op, firn_store_open_memory(op, &store));
    int64_t bytes = fixture_write(op, store, "mem:/t/data/in.parquet", before.footer, evolution->columns, 1, options);
    struct firn_data_file file = fixture_file("mem:/t/data/in.parquet", bytes, evolution->rows);
    struct firn_metadata *metadata = fixture_metadata(
        op, &(struct fixture_table){
                .version = evolution->version ? evolution->version : 2,
                .schemas = firn_text_format(op->arena, "%s,%s", evolution->before, evolution->after).data,
                .current_schema = 1,
            });
    int64_t sequence_number = 5;
    struct fixture_run run = {
        .metadata = metadata,
        .store = store,
        .files = &file,
        .file_count = 1,
        .sequence_numbers = &sequence_number,
        .layout = { .layout = layout },
    };
    firn_status status = fixture_execute(op, &run, &result);
    CHECK(status == evolution->status, "%s: %s: %s", evolution->name, firn_status_name(status), op->error.text);
    if (status == FIRN_OK) {
        CHECK(result.rows_out == evolution->rows && result.file_count == 1, "%s", evolution->name);
        for (size_t i = 0; i < COLUMNS_MAX && evolution->expected[i].leaf; i++) {
            const char *got = fixture_dump(op, store, &result, evolution->expected[i].leaf);
            CHECK(strcmp(got, evolution->expected[i].slots) == 0, "%s: %s is '%s'", evolution->name,
                  evolution->expected[i].leaf, got);
        }
    }
    firn_store_close(store);
}

static void files_of_old_schemas_take_the_current_one(void **state)
{
    for (size_t i = 0; i < FIRN_COUNT_OF(evolutions); i++) {
        run_evolution(test_op(state), &evolutions[i], true, FIRN_LAYOUT_BALANCED);
        run_evolution(test_op(state), &evolutions[i], false, FIRN_LAYOUT_BALANCED);
        run_evolution(test_op(state), &evolutions[i], true, FIRN_LAYOUT_FASTEST);
        run_evolution(test_op(state), &evolutions[i], false, FIRN_LAYOUT_FASTEST);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(files_of_old_schemas_take_the_current_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
