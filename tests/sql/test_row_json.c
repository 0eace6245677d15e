/* Rows put together from levels: every shape of nested columns, from slots written by hand. */
#include "check.h"

#include "base/math.h"
#include "format/json/json.h"
#include "sql/row_json.h"

enum { SLOTS_MAX = 12 };

/* What one leaf holds: "rep def value" for each slot, the value left out where the level has none. */
struct leaf {
    const char *slots;
};

struct test_case {
    const char *name, *type; /* of the column "c", as the specification writes types */
    struct leaf leaves[3];
    const char *wanted; /* rows, joined by blanks */
};

/* Levels count what may be missing above and including a node: c 1, an entry of c 2, a field of it 3, ... */
static const struct test_case cases[] = {
    { "numbers", "\"long\"", { { "0 1 7, 0 0, 0 1 -1" } }, "7 null -1" },
    { "structs",
      "{\"type\":\"struct\",\"fields\":[{\"id\":2,\"name\":\"a\",\"required\":false,\"type\":\"long\"},"
      "{\"id\":3,\"name\":\"b\",\"required\":true,\"type\":\"long\"}]}",
      { { "0 2 1, 0 1, 0 0" }, { "0 1 5, 0 1 6, 0 0" } },
      "{\"a\":1,\"b\":5} {\"a\":null,\"b\":6} null" },
    { "lists",
      "{\"type\":\"list\",\"element-id\":2,\"element\":\"long\",\"element-required\":false}",
      { { "0 3 1, 1 2, 1 3 2, 0 1, 0 0, 0 3 4" } },
      "[1,null,2] [] null [4]" },
    { "lists of lists",
      "{\"type\":\"list\",\"element-id\":2,\"element-required\":false,\"element\":"
      "{\"type\":\"list\",\"element-id\":3,\"element\":\"long\",\"element-required\":true}}",
      { { "0 4 1, 2 4 2, 1 3, 1 2, 1 4 3, 0 1, 0 0" } },
      "[[1,2],[],null,[3]] [] null" },
    { "maps",
      "{\"type\":\"map\",\"key-id\":2,\"key\":\"long\",\"value-id\":3,\"value\":\"long\",\"value-required\":false}",
      { { "0 2 1, 1 2 2, 0 1, 0 0" }, { "0 3 9, 1 2, 0 1, 0 0" } },
      "{\"1\":9,\"2\":null} {} null" },
    { "maps by structs",
      "{\"type\":\"map\",\"key-id\":2,\"value-id\":3,\"value\":\"long\",\"value-required\":true,\"key\":"
      "{\"type\":\"struct\",\"fields\":[{\"id\":4,\"name\":\"k\",\"required\":true,\"type\":\"long\"}]}}",
      { { "0 2 1, 1 2 2, 0 0" }, { "0 2 8, 1 2 9, 0 0" } },
      "[{\"key\":{\"k\":1},\"value\":8},{\"key\":{\"k\":2},\"value\":9}] null" },
    { "lists beside numbers",
      "{\"type\":\"struct\",\"fields\":[{\"id\":2,\"name\":\"n\",\"required\":false,\"type\":\"long\"},"
      "{\"id\":3,\"name\":\"none\",\"required\":false,\"type\":\"unknown\"},{\"id\":4,\"name\":\"l\",\"required\":"
      "false,"
      "\"type\":{\"type\":\"list\",\"element-id\":5,\"element\":\"long\",\"element-required\":true}}]}",
      { { "0 2 1, 0 0, 0 1" }, { "0 3 5, 1 3 6, 0 0, 0 2" } },
      "{\"n\":1,\"none\":null,\"l\":[5,6]} null {\"n\":null,\"none\":null,\"l\":[]}" },
    { "slots that end too soon",
      "{\"type\":\"map\",\"key-id\":2,\"key\":\"long\",\"value-id\":3,\"value\":\"long\",\"value-required\":false}",
      { { "0 2 1, 1 2 2" }, { "0 3 9" } },
      "{\"1\":9,\"2\":null}" },
};

struct slots {
    uint8_t rep[SLOTS_MAX], def[SLOTS_MAX];
    struct firn_value values[SLOTS_MAX];
    uint32_t count, row_count;
};

static struct slots slots_of(const char *text)
{
    struct slots slots = { 0 };
    int rep, def, length;
    while (text && sscanf(text, " %d %d%n", &rep, &def, &length) == 2) {
        struct firn_value *value = &slots.values[slots.count];
        char *end;
        text += length;
        *value = (struct firn_value){ .type = FIRN_TYPE_LONG, .integer = strtol(text, &end, 10) };
        value->is_null = end == text;
        slots.rep[slots.count] = (uint8_t)rep;
        slots.def[slots.count++] = (uint8_t)def;
        slots.row_count += rep == 0;
        text = strchr(end, ',') ? strchr(end, ',') + 1 : NULL;
    }
    return slots;
}

static struct firn_output_schema schema_of(struct firn_op *op, const char *type)
{
    struct firn_text text = firn_text_format(op->arena,
                                             "{\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"c\",\"required\":"
                                             "false,\"type\":%s}]}",
                                             type);
    struct firn_schema *schema = FIRN_NEW(op->arena, struct firn_schema);
    struct firn_output_schema out;
    json_t *json;
    CHECK_OK(op, firn_json_parse(op, text, "schema", &json));
    CHECK_OK(op, firn_schema_parse(op, json, schema));
    CHECK_OK(op, firn_output_schema_new(op, schema, false, &out));
    return out;
}

static struct firn_text rows_of(struct firn_op *op, const struct test_case *test)
{
    struct firn_output_schema schema = schema_of(op, test->type);
    struct firn_leaf_slots leaves[FIRN_COUNT_OF(test->leaves)];
    struct slots slots[FIRN_COUNT_OF(test->leaves)];
    uint32_t next[FIRN_COUNT_OF(test->leaves)] = { 0 };
    struct firn_row_json rows = {
        .node = &schema.footer->root.children[0],
        .type = &schema.schema->root.fields[0].type,
        .slots = leaves,
        .next = next,
    };
    struct firn_text out = FIRN_TEXT("");
    for (uint32_t i = 0; i < schema.leaf_count; i++) {
        slots[i] = slots_of(test->leaves[i].slots);
        leaves[i] = (struct firn_leaf_slots){ slots[i].count, slots[i].rep, slots[i].def, slots[i].values };
    }
    for (uint32_t row = 0; row < slots[0].row_count; row++) {
        struct firn_buffer buffer = { 0 };
        struct firn_json_out json = firn_json_out_of(op, &buffer);
        firn_row_json_write(&rows, &json);
        CHECK_OK(op, json.status);
        out = firn_text_format(op->arena, "%.*s%s%.*s", FIRN_FMT(out), row ? " " : "",
                               FIRN_FMT(firn_text_of_bytes(firn_buffer_bytes(&buffer))));
        firn_buffer_done(&buffer);
    }
    return out;
}

static void levels_become_rows(void **state)
{
    struct firn_op *op = test_op(state);
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_text got = rows_of(op, &cases[i]);
        CHECK(firn_text_is(got, cases[i].wanted), "%s:\n  got    %.*s\n  wanted %s", cases[i].name, FIRN_FMT(got),
              cases[i].wanted);
    }
}

static void variants_are_refused(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_field fields[] = { { .id = 1, .name = FIRN_TEXT("v"), .type = { .id = FIRN_TYPE_VARIANT } } };
    struct firn_type type = { .id = FIRN_TYPE_STRUCT, .field_count = 1, .fields = fields };
    CHECK_STATUS(op, FIRN_UNSUPPORTED, firn_row_json_check(op, &type));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(levels_become_rows),
        TEST(variants_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
