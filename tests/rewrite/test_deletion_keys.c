/* Equality deletes beyond memory, held against a model that compares texts: random columns, partitions, sequence
 * numbers and amounts of memory. What metrics rule out is not read. */
#include "deletion_fixture.h"

#include "../support/fault_store.h"
#include "base/map.h"
#include "format/avro/put.h"
#include "rewrite/key_bounds.h"
#include "support/seeds.h"

/* xorshift: the seed alone makes a case. */
struct random {
    uint64_t state;
};

static uint64_t draw(struct random *random, uint64_t below)
{
    random->state ^= random->state << 13;
    random->state ^= random->state >> 7;
    random->state ^= random->state << 17;
    return (random->state >> 11) % below;
}

/* Texts that a fixture takes for values of the column, `below` of them at most. Texts are equal where values are. */
typedef struct firn_text make_token(struct firn_arena *arena, uint64_t number);

static struct firn_text number_token(struct firn_arena *arena, uint64_t number)
{
    return firn_text_format(arena, "%" PRId64, (int64_t)number - 3);
}

static struct firn_text bool_token(struct firn_arena *arena, uint64_t number)
{
    return firn_text_format(arena, "%d", (int)(number % 2));
}

static struct firn_text real_token(struct firn_arena *arena, uint64_t number)
{
    static const char *const special[] = { "nan", "0.0", "-0.0", "inf", "-inf" };
    return number < FIRN_COUNT_OF(special) ? firn_text_of(special[number])
                                           : firn_text_format(arena, "%" PRIu64 ".5", number);
}

static struct firn_text text_token(struct firn_arena *arena, uint64_t number)
{
    return firn_text_format(arena, "%.*s%" PRIu64, (int)(number % 9), "longtext", number);
}

static struct firn_text bytes_token(struct firn_arena *arena, uint64_t number)
{
    return firn_text_format(arena, "0x%06x", (unsigned)number & 0xffffff);
}

static struct firn_text uuid_token(struct firn_arena *arena, uint64_t number)
{
    return firn_text_format(arena, "0x%032" PRIx64, number * UINT64_C(0x9e3779b97f4a7c15));
}

static struct firn_text decimal_token(struct firn_arena *arena, uint64_t number)
{
    return firn_text_format(arena, "0x%018" PRIx64, number * UINT64_C(0x1234567));
}

#define NESTED(fields) "{\"type\":\"struct\",\"fields\":[" fields "]}"

static const struct column {
    int32_t id;
    bool nested;
    make_token *make;
} columns[] = {
    { 1, false, number_token },  { 2, false, text_token },    { 3, false, real_token },    { 4, false, real_token },
    { 5, false, bool_token },    { 6, false, bytes_token },   { 7, false, bytes_token },   { 8, false, uuid_token },
    { 9, false, decimal_token }, { 10, false, number_token }, { 11, false, number_token }, { 12, false, number_token },
    { 14, true, number_token },  { 15, true, text_token },
};

enum { COLUMNS = FIRN_COUNT_OF(columns) };

#define NEXT(id, name, type) "," FIELD(id, name, "\"" type "\"")
#define SIMPLE               FIELD(1, "l", LONG) NEXT(2, "t", "string") NEXT(3, "f", "float") NEXT(4, "d", "double")
#define BYTES                NEXT(5, "b", "boolean") NEXT(6, "x", "fixed[3]") NEXT(7, "y", "binary") NEXT(8, "u", "uuid")
#define DECIMALS             NEXT(9, "m", "decimal(20,0)") NEXT(10, "n", "decimal(9,2)")
#define TIMES                NEXT(11, "z", "timestamptz") NEXT(12, "a", "date")
#define INNER                "," FIELD(13, "s", NESTED(FIELD(14, "k", LONG) NEXT(15, "w", "string")))

static const char *const all_columns = SCHEMA(0, SIMPLE BYTES DECIMALS TIMES INNER);

static const char *const specs =
    "{\"spec-id\":0,\"fields\":[]},{\"spec-id\":1,\"fields\":[{\"source-id\":1,\"field-id\":1000,\"name\":\"p\","
    "\"transform\":\"bucket[4]\"}]}";

/* A case: a table, and what the model knows of it. */
struct model {
    struct deletion_test test;
    struct random random;
    uint64_t domain;                      /* values a column has */
    struct firn_map max;                  /* ids, partition, key to the newest delete */
    struct firn_text **tokens[FILES_MAX]; /* of data files: by column, by row */
    uint32_t rows[FILES_MAX];
    uint32_t kinds[3]; /* bits of the columns that are compared */
};

static struct firn_text draw_token(struct model *model, uint32_t column)
{
    uint64_t kind = draw(&model->random, 20);
    if (kind == 0)
        return FIRN_TEXT("~");
    if (kind == 1 && columns[column].nested)
        return FIRN_TEXT("~.0");
    return columns[column].make(model->test.op->arena, draw(&model->random, model->domain));
}

static const char *join_tokens(struct firn_op *op, const struct firn_text *tokens, uint32_t count)
{
    struct firn_buffer text = { 0 };
    for (uint32_t i = 0; i < count; i++) {
        CHECK_OK(op, firn_buffer_append(op, &text, tokens[i].data, tokens[i].len));
        CHECK_OK(op, firn_buffer_append(op, &text, " ", 1));
    }
    const char *copy = firn_text_copy(op->arena, firn_text_of_bytes(firn_buffer_bytes(&text))).data;
    firn_buffer_done(&text);
    return copy;
}

/* A file of all columns; those outside of `mask` are null. */
static struct firn_text **draw_file(struct model *model, uint32_t mask, uint32_t rows, const char **texts)
{
    struct firn_arena *arena = model->test.op->arena;
    struct firn_text **tokens = FIRN_NEW_ARRAY(arena, struct firn_text *, COLUMNS);
    for (uint32_t i = 0; i < COLUMNS; i++) {
        tokens[i] = FIRN_NEW_ARRAY(arena, struct firn_text, rows);
        for (uint32_t row = 0; row < rows; row++)
            tokens[i][row] = mask >> i & 1 ? draw_token(model, i) : FIRN_TEXT("~");
        texts[i] = join_tokens(model->test.op, tokens[i], rows);
    }
    return tokens;
}

static struct firn_partition bucket(struct firn_op *op, uint64_t value)
{
    struct firn_partition partition = { FIRN_NEW(op->arena, struct firn_value), 1 };
    partition.values[0] = (struct firn_value){ .type = FIRN_TYPE_INT, .integer = (int64_t)value };
    return partition;
}

static void draw_partition(struct model *model, struct firn_manifest_entry *entry)
{
    if (draw(&model->random, 3) == 0)
        return;
    entry->file.spec_id = 1;
    entry->file.partition = bucket(model->test.op, draw(&model->random, 3));
}

static struct firn_text model_key(struct model *model, uint32_t mask, const struct firn_manifest_entry *entry,
                                  bool global, struct firn_text **tokens, uint32_t row)
{
    struct firn_arena *arena = model->test.op->arena;
    int partition = global || entry->file.spec_id == 0 ? -1 : (int)entry->file.partition.values[0].integer;
    struct firn_text key = firn_text_format(arena, "%x/%d", mask, partition);
    for (uint32_t i = 0; i < COLUMNS; i++) {
        struct firn_text token = mask >> i & 1 ? tokens[i][row] : FIRN_TEXT("");
        bool is_null = firn_text_starts(token, FIRN_TEXT("~"));
        key = firn_text_format(arena, "%.*s/%.*s", FIRN_FMT(key), FIRN_FMT(is_null ? FIRN_TEXT("~") : token));
    }
    return key;
}

static void add_data_file(struct model *model, uint32_t rows)
{
    const char *texts[COLUMNS];
    uint32_t index = model->test.data_count;
    const char *path = firn_text_format(model->test.op->arena, "mem:/t/%u.parquet", index).data;
    model->rows[index] = rows;
    model->tokens[index] = draw_file(model, UINT32_MAX, rows, texts);
    struct firn_manifest_entry *entry =
        add_data(&model->test, path, all_columns, texts, (int64_t)draw(&model->random, 8));
    entry->file.record_count = rows;
    draw_partition(model, entry);
}

static void add_delete_file(struct model *model, uint32_t rows)
{
    const char *texts[COLUMNS];
    int32_t ids[COLUMNS];
    uint32_t mask = model->kinds[draw(&model->random, FIRN_COUNT_OF(model->kinds))], id_count = 0;
    for (uint32_t i = 0; i < COLUMNS; i++)
        if (mask >> i & 1)
            ids[id_count++] = columns[i].id;
    struct firn_text **tokens = draw_file(model, mask, rows, texts);
    struct firn_manifest_entry *entry =
        add_keys(&model->test, all_columns, texts, (int64_t)draw(&model->random, 9), ids, id_count);
    entry->file.record_count = draw(&model->random, 4) ? rows : (int64_t)draw(&model->random, 100000) - 100;
    draw_partition(model, entry);
    for (uint32_t row = 0; row < rows; row++) {
        struct firn_text key = model_key(model, mask, entry, false, tokens, row);
        struct firn_map_entry *found = firn_map_put_text(&model->max, key);
        found->value.number = FIRN_MAX(found->value.number, (uint64_t)entry->sequence_number);
    }
}

static bool is_deleted(struct model *model, uint32_t file, uint32_t row)
{
    const struct firn_manifest_entry *entry = &model->test.data[file];
    for (size_t i = 0; i < FIRN_COUNT_OF(model->kinds); i++)
        for (int global = 0; global < 2; global++) {
            if (!global && entry->file.spec_id == 0)
                continue;
            struct firn_text key = model_key(model, model->kinds[i], entry, global, model->tokens[file], row);
            const struct firn_map_entry *found = firn_map_find_text(&model->max, key);
            if (found && found->value.number > (uint64_t)entry->sequence_number)
                return true;
        }
    return false;
}

static void check_model(struct model *model, uint64_t seed)
{
    const struct firn_positions *positions;
    struct firn_op *op = model->test.op;
    for (uint32_t file = 0; file < model->test.data_count; file++) {
        CHECK_OK(op, firn_deletions_find(op, model->test.deletions, &model->test.files[file], &positions));
        uint64_t count = 0;
        for (uint32_t row = 0; row < model->rows[file]; row++) {
            bool wanted = is_deleted(model, file, row), got = positions && firn_positions_contains(positions, row);
            CHECK(wanted == got, "seed %" PRIu64 ", file %u, row %u: deleted %d, wanted %d", seed, file, row, got,
                  wanted);
            count += wanted;
        }
        assert_int_equal(positions ? firn_positions_count(positions) : 0, count);
    }
}

static uint32_t draw_mask(struct model *model)
{
    uint32_t mask = 0;
    for (uint64_t i = 0, count = 1 + draw(&model->random, 3); i < count; i++)
        mask |= UINT32_C(1) << draw(&model->random, COLUMNS);
    return mask;
}

static void run_case(struct firn_op *op, struct firn_pool *pool, uint64_t seed)
{
    struct model model = { .random = { seed * 0x9e3779b97f4a7c15 + 1 } };
    struct firn_budget budget = { .limit_bytes = 4 << 20 };
    begin_table(&model.test, op, &(struct fixture_table){ .version = 2, .schemas = all_columns, .specs = specs });
    firn_map_init(&model.max, op->arena);
    bool large = seed % 8 == 0;
    model.domain = large ? 3000 : 2 + draw(&model.random, 40);
    for (size_t i = 0; i < FIRN_COUNT_OF(model.kinds); i++)
        model.kinds[i] = draw_mask(&model);
    for (uint64_t i = 0, count = 1 + draw(&model.random, 5); i < count; i++)
        add_data_file(&model, 1 + (uint32_t)draw(&model.random, large ? 500 : 60));
    for (uint64_t i = 0, count = 1 + draw(&model.random, 6); i < count; i++)
        add_delete_file(&model, 1 + (uint32_t)draw(&model.random, large ? 2500 : 60));
    model.test.pool = seed % 2 ? pool : NULL;
    model.test.memory_bytes_max = draw(&model.random, 3) ? 1 : 0;
    op->budget = &budget;
    CHECK_OK(op, load(&model.test));
    check_model(&model, seed);
    op->budget = NULL;
    end(&model.test);
    firn_arena_reset(op->arena);
    assert_int_equal(budget.used_bytes, 0);
}

static void random_tables_agree_with_the_model(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_pool *pool;
    struct test_seeds seeds = test_seeds(op, 0, 64);
    CHECK_OK(op, firn_pool_open(op, 3, &pool));
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; seed++)
        run_case(op, pool, seed);
    firn_pool_close(pool);
}

/* Avro. ----------------------------------------------------------------------------------------------------------- */

/* Three rows: two of different values, one of nulls. Here as Avro stores them, with narrower types where those may be
 * read, and below as Parquet does. */
#define AVRO_FIELD(id, name, type) "{\"name\":\"" name "\",\"field-id\":" #id ",\"type\":[\"null\"," type "]}"
#define AVRO_SCHEMA(fields)        "{\"type\":\"record\",\"name\":\"r\",\"fields\":[" fields "]}"

static const char *const avro_schema = AVRO_SCHEMA(
    AVRO_FIELD(1, "l", "\"int\"") "," AVRO_FIELD(2, "t", "\"string\"") "," AVRO_FIELD(3, "m", "{\"type\":\"fixed\",\"name\":\"f\",\"size\":4,\"logicalType\":\"decimal\",\"precision\":7,\"scale\":2}") "," AVRO_FIELD(4, "z", "{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}") "," AVRO_FIELD(
        5, "u",
        "{\"type\":\"fixed\",\"name\":\"g\","
        "\"size\":16,\"logicalType\":"
        "\"uuid\"}") "," AVRO_FIELD(6, "x",
                                    "{\"type"
                                    "\":"
                                    "\"fixed"
                                    "\","
                                    "\"name"
                                    "\":"
                                    "\"h\","
                                    "\"size"
                                    "\":3}") "," AVRO_FIELD(7, "s",
                                                            "{\"type\":\"record\",\"name\":\"i\",\"fields\":"
                                                            "[" AVRO_FIELD(
                                                                8, "k",
                                                                "\"long\"") "]}") "," AVRO_FIELD(9, "d",
                                                                                                 "\"float\"") "," AVRO_FIELD(10,
                                                                                                                             "a",
                                                                                                                             "{\"type\":\"int\",\"logicalType\":\"date\"}"));

#define BOTH_COLUMNS                                                                                                   \
    FIELD(1, "l", LONG)                                                                                                \
    "," FIELD(2, "t", TEXT) "," FIELD(3, "m", "\"decimal(9,2)\"") "," FIELD(4, "z", "\"timestamp\"") "," FIELD(        \
        5, "u",                                                                                                        \
        "\"uuid\"") "," FIELD(6, "x",                                                                                  \
                              "\"fixed[3]\"") "," FIELD(7, "s",                                                        \
                                                        NESTED(FIELD(                                                  \
                                                            8, "k",                                                    \
                                                            LONG))) "," FIELD(9, "d",                                  \
                                                                              "\"double\"") "," FIELD(10, "a",         \
                                                                                                      "\"date\"")

static const int32_t both_ids[] = { 1, 2, 3, 4, 5, 6, 8, 9, 10 };

static const char *const both_rows[][3] = {
    { "7", "-8", "~" },
    { "a", "b", "~" },
    { "123", "-456", "~" },
    { "5000", "6000", "~" },
    { "0x00112233445566778899aabbccddeeff", "0xff112233445566778899aabbccddeeff", "~" },
    { "0x010203", "0x040506", "~" },
    { "70", "80", "~.0" },
    { "1.5", "-0.0", "~" },
    { "10", "20", "~" },
};

static void put_fixed(struct firn_avro_encoder *out, uint8_t first, uint32_t len)
{
    static const uint8_t rest[] = { 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,
                                    0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff };
    firn_avro_put_raw(out, &first, 1);
    firn_avro_put_raw(out, rest, len - 1);
}

static void put_row(struct firn_avro_encoder *out, int row)
{
    static const uint8_t decimals[2][4] = { { 0, 0, 0, 123 }, { 0xff, 0xff, 0xfe, 0x38 } };
    static const uint8_t fixed[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } };
    bool second = row == 1;
    for (size_t i = 0; row == 2 && i < FIRN_COUNT_OF(both_ids); i++)
        firn_avro_put_long(out, 0);
    if (row == 2)
        return;
    firn_avro_put_long(out, 1);
    firn_avro_put_long(out, second ? -8 : 7);
    firn_avro_put_long(out, 1);
    firn_avro_put_bytes(out, firn_bytes_of_text(second ? FIRN_TEXT("b") : FIRN_TEXT("a")));
    firn_avro_put_long(out, 1);
    firn_avro_put_raw(out, decimals[row], 4);
    firn_avro_put_long(out, 1);
    firn_avro_put_long(out, second ? 6 : 5);
    firn_avro_put_long(out, 1);
    put_fixed(out, second ? 0xff : 0, 16);
    firn_avro_put_long(out, 1);
    firn_avro_put_raw(out, fixed[row], 3);
    firn_avro_put_long(out, 1); /* the struct, and what is in it */
    firn_avro_put_long(out, 1);
    firn_avro_put_long(out, second ? 80 : 70);
    firn_avro_put_long(out, 1);
    firn_avro_put_float(out, second ? -0.0F : 1.5F);
    firn_avro_put_long(out, 1);
    firn_avro_put_long(out, second ? 20 : 10);
}

/* A container of one block, not compressed. */
static void write_avro(struct deletion_test *test, struct firn_manifest_entry *entry, const char *schema, int first_row,
                       int rows)
{
    static const char sync[] = "sixteen bytes...";
    struct firn_buffer file = { 0 }, block = { 0 };
    struct firn_avro_encoder head = { test->op, &file, FIRN_OK }, body = { test->op, &block, FIRN_OK };
    for (int i = 0; i < rows; i++)
        put_row(&body, first_row + i);
    firn_avro_put_raw(&head, "Obj\1", 4);
    firn_avro_put_long(&head, 1);
    firn_avro_put_bytes(&head, firn_bytes_of_text(FIRN_TEXT("avro.schema")));
    firn_avro_put_bytes(&head, firn_bytes_of_text(firn_text_of(schema)));
    firn_avro_put_long(&head, 0);
    firn_avro_put_raw(&head, sync, 16);
    firn_avro_put_long(&head, rows);
    firn_avro_put_bytes(&head, firn_buffer_bytes(&block));
    firn_avro_put_raw(&head, sync, 16);
    CHECK_OK(test->op, head.status);
    CHECK_OK(test->op, firn_store_put(test->op, test->store, entry->file.path, false, firn_buffer_bytes(&file)));
    entry->file.format = FIRN_FILE_AVRO;
    firn_buffer_done(&file);
    firn_buffer_done(&block);
}

static const char **both_texts(struct firn_op *op, int first_row, int rows)
{
    const char **texts = FIRN_NEW_ARRAY(op->arena, const char *, FIRN_COUNT_OF(both_ids));
    for (size_t i = 0; i < FIRN_COUNT_OF(both_ids); i++) {
        texts[i] = "";
        for (int row = first_row; row < first_row + rows; row++)
            texts[i] = firn_text_format(op->arena, "%s %s", texts[i], both_rows[i][row]).data;
    }
    return texts;
}

/* Whatever the formats of data and deletes, every key of every column deletes its row. */
static void avro_and_parquet_mean_the_same_keys(void **state)
{
    static const char *const expected[] = { "0", "1", "2" };
    struct firn_op *op = test_op(state);
    const char *schema = SCHEMA(0, BOTH_COLUMNS);
    for (size_t column = 0; column < FIRN_COUNT_OF(both_ids); column++)
        for (int row = 0; row < 3; row++)
            for (int avro = 0; avro < 2; avro++) {
                struct deletion_test test;
                begin_table(&test, op, &(struct fixture_table){ .version = 2, .schemas = schema });
                add_data(&test, "mem:/t/a.parquet", schema, both_texts(op, 0, 3), 1);
                struct firn_manifest_entry *data = add_data(&test, "mem:/t/b", schema, both_texts(op, 0, 3), 1);
                write_avro(&test, data, avro_schema, 0, 3);
                struct firn_manifest_entry *del =
                    add_keys(&test, schema, both_texts(op, row, 1), 2, &both_ids[column], 1);
                if (avro)
                    write_avro(&test, del, avro_schema, row, 1);
                CHECK_OK(op, load(&test));
                check_deleted(&test, 0, expected[row]);
                check_deleted(&test, 1, expected[row]);
                end(&test);
            }
}

/* A column that was added later is its default in both; one without is null. */
static void columns_that_avro_files_lack(void **state)
{
    static const int32_t ids[] = { 11, 12 };
    struct deletion_test test;
    struct firn_op *op = test_op(state);
    const char *schema = SCHEMA(0, BOTH_COLUMNS);
    const char *now = SCHEMA(1, BOTH_COLUMNS ",{\"id\":11,\"name\":\"e\",\"required\":false,\"type\":\"long\","
                                             "\"initial-default\":7}," FIELD(12, "n", LONG));
    const char *keys[] = { "7", "~" };
    const char *schemas = firn_text_format(op->arena, "%s,%s", schema, now).data;
    begin_table(&test, op, &(struct fixture_table){ .version = 3, .schemas = schemas, .current_schema = 1 });
    add_data(&test, "mem:/t/a.parquet", schema, both_texts(op, 0, 3), 1);
    write_avro(&test, add_data(&test, "mem:/t/b", schema, both_texts(op, 0, 3), 1), avro_schema, 0, 3);
    add_keys(&test, SCHEMA(0, FIELD(11, "e", LONG) "," FIELD(12, "n", LONG)), keys, 2, ids, 2);
    CHECK_OK(op, load(&test));
    check_deleted(&test, 0, "0 1 2");
    check_deleted(&test, 1, "0 1 2");

    write_avro(&test, &test.deletes[0], avro_schema, 0, 1);
    CHECK_STATUS(op, FIRN_CORRUPT, load(&test));
    CHECK(strstr(op->error.text, "delete-0.parquet") && strstr(op->error.text, "field id 11"), "%s", op->error.text);
    end(&test);
}

static void avro_files_without_field_ids_need_a_mapping(void **state)
{
    static const int32_t id[] = { 2 };
    struct firn_op *op = test_op(state);
    const char *bare = AVRO_SCHEMA("{\"name\":\"old\",\"type\":[\"null\",\"int\"]},{\"name\":\"t\",\"type\":[\"null\","
                                   "\"string\"]}");
    const char *properties =
        "\"schema.name-mapping.default\":\"[{\\\"field-id\\\":2,\\\"names\\\":[\\\"name\\\",\\\"t\\\"]}]\"";
    const char *rows[] = { "1", "b" }, *keys[] = { "~", "b" };
    for (int mapped = 0; mapped < 2; mapped++) {
        struct deletion_test test;
        begin_table(&test, op,
                    &(struct fixture_table){ .version = 2, .schemas = ROWS, .properties = mapped ? properties : NULL });
        struct firn_manifest_entry *data = add_data(&test, "mem:/t/b", ROWS, rows, 1);
        write_avro(&test, data, bare, 1, 1); /* the columns behind are of no schema: the first two are read */
        add_keys(&test, ROWS, keys, 2, id, 1);
        CHECK_STATUS(op, mapped ? FIRN_OK : FIRN_UNSUPPORTED, load(&test));
        if (mapped)
            check_deleted(&test, 0, "0");
        end(&test);
    }
}

/* Memory. --------------------------------------------------------------------------------------------------------- */

/* Nothing can be divided when a single key is larger than the share. */
static void a_key_beyond_memory_is_an_error(void **state)
{
    static const int32_t id[] = { 2 };
    struct deletion_test test;
    struct firn_op *op = test_op(state);
    char *text = firn_arena_alloc(op->arena, 200001);
    const char *rows[] = { "1", text };
    memset(text, 'x', 200000);
    begin(&test, op);
    add_data(&test, "mem:/t/a.parquet", ROWS, rows, 1);
    add_keys(&test, ROWS, rows, 2, id, 1);
    CHECK_OK(op, load(&test));
    check_deleted(&test, 0, "0");
    test.memory_bytes_max = 1;
    CHECK_STATUS(op, FIRN_LIMIT, load(&test));
    CHECK(strstr(op->error.text, "keys of equality deletes") && strstr(op->error.hint, "--memory"), "%s",
          op->error.text);
    end(&test);
}

/* One key a hundred thousand times is one key, however little memory there is. */
static void repeated_keys_take_the_room_of_one(void **state)
{
    static const int32_t id[] = { 1 };
    struct deletion_test test;
    struct firn_op *op = test_op(state);
    char *keys = firn_arena_alloc(op->arena, 200001), *nulls = firn_arena_alloc(op->arena, 200001);
    const char *rows[] = { "7 8", "a b" }, *deletes[] = { keys, nulls };
    for (int i = 0; i < 100000; i++) {
        memcpy(keys + (ptrdiff_t)2 * i, "7 ", 2);
        memcpy(nulls + (ptrdiff_t)2 * i, "~ ", 2);
    }
    begin(&test, op);
    add_data(&test, "mem:/t/a.parquet", ROWS, rows, 1);
    add_keys(&test, ROWS, deletes, 2, id, 1)->file.record_count = 100000;
    test.memory_bytes_max = 1;
    CHECK_OK(op, load(&test));
    check_deleted(&test, 0, "0");
    end(&test);
}

/* Metrics. -------------------------------------------------------------------------------------------------------- */

struct metrics {
    int64_t values, nulls, nans;
    const char *lower, *upper; /* bytes of the bound; NULL: none */
    size_t lower_len, upper_len;
};

#define BOUNDS(lower, upper)                                                                                           \
    {                                                                                                                  \
        10, 0, 0, lower, upper, sizeof(lower) - 1, sizeof(upper) - 1                                                   \
    }

static struct firn_count_map counts_of(struct firn_op *op, int32_t id, int64_t count)
{
    struct firn_count_map map = { FIRN_NEW(op->arena, int32_t), FIRN_NEW(op->arena, int64_t), count >= 0, count >= 0 };
    *map.ids = id;
    *map.counts = count;
    return map;
}

static struct firn_bound_map bounds_of(struct firn_op *op, int32_t id, const char *bytes, size_t len)
{
    struct firn_bound_map map = { FIRN_NEW(op->arena, int32_t), FIRN_NEW(op->arena, struct firn_bytes), bytes != NULL,
                                  bytes != NULL };
    *map.ids = id;
    *map.values = (struct firn_bytes){ (const uint8_t *)bytes, len };
    return map;
}

static void set_metrics(struct firn_op *op, struct firn_data_file *file, int32_t id, const struct metrics *metrics)
{
    file->value_counts = counts_of(op, id, metrics->values);
    file->null_value_counts = counts_of(op, id, metrics->nulls);
    file->nan_value_counts = counts_of(op, id, metrics->nans);
    file->lower_bounds = bounds_of(op, id, metrics->lower, metrics->lower_len);
    file->upper_bounds = bounds_of(op, id, metrics->upper, metrics->upper_len);
}

static void metrics_rule_out_what_they_can(void **state)
{
    static const char one[] = "\1\0\0\0\0\0\0", nine[] = "\11\0\0\0\0\0\0";
    static const struct {
        const char *name;
        const char *type;
        struct metrics a, b;
        bool meet;
    } cases[] = {
        { "nothing known",
          LONG,
          { -1, -1, -1, NULL, NULL, 0, 0 },
          BOUNDS("\1\0\0\0\0\0\0\0", "\1\0\0\0\0\0\0\0"),
          true },
        { "apart", LONG, BOUNDS("\1\0\0\0\0\0\0\0", "\2\0\0\0\0\0\0\0"),
          BOUNDS("\3\0\0\0\0\0\0\0", "\11\0\0\0\0\0\0\0"), false },
        { "negative", LONG, BOUNDS("\xff\xff\xff\xff\xff\xff\xff\xff", "\1\0\0\0\0\0\0\0"),
          BOUNDS("\0\0\0\0\0\0\0\0", "\11\0\0\0\0\0\0\0"), true },
        { "touching", LONG, BOUNDS("\1\0\0\0\0\0\0\0", "\3\0\0\0\0\0\0\0"),
          BOUNDS("\3\0\0\0\0\0\0\0", "\11\0\0\0\0\0\0\0"), true },
        { "written as int", LONG, BOUNDS("\1\0\0\0", "\2\0\0\0"), BOUNDS("\3\0\0\0\0\0\0\0", "\11\0\0\0\0\0\0\0"),
          false },
        { "broken bound", LONG, BOUNDS("\1\0\0", "\2\0\0\0"), BOUNDS("\3\0\0\0\0\0\0\0", "\11\0\0\0\0\0\0\0"), true },
        { "nulls in both", LONG, { 10, 1, -1, one, one, 8, 8 }, { 10, 1, -1, nine, nine, 8, 8 }, true },
        { "nulls in one", LONG, { 10, 1, -1, one, one, 8, 8 }, { 10, 0, -1, nine, nine, 8, 8 }, false },
        { "nulls not counted", LONG, { 10, -1, -1, one, one, 8, 8 }, { 10, 1, -1, nine, nine, 8, 8 }, true },
        { "nulls only, none", LONG, { 10, 10, -1, NULL, NULL, 0, 0 }, { 10, 0, -1, NULL, NULL, 0, 0 }, false },
        { "nulls only, some", LONG, { 10, 10, -1, NULL, NULL, 0, 0 }, { 10, 1, -1, NULL, NULL, 0, 0 }, true },
        { "zeros", "\"float\"", BOUNDS("\0\0\0\x80", "\0\0\0\x80"), BOUNDS("\0\0\0\0", "\0\0\0\0"), true },
        { "floats", "\"float\"", BOUNDS("\0\0\x80\x3f", "\0\0\x80\x3f"), BOUNDS("\0\0\0\x40", "\0\0\0\x40"), false },
        { "NaN not counted",
          "\"float\"",
          { 10, 0, -1, "\0\0\x80\x3f", "\0\0\x80\x3f", 4, 4 },
          { 10, 0, -1, "\0\0\0\x40", "\0\0\0\x40", 4, 4 },
          true },
        { "NaN in one",
          "\"float\"",
          { 10, 0, 1, "\0\0\x80\x3f", "\0\0\x80\x3f", 4, 4 },
          { 10, 0, 0, "\0\0\0\x40", "\0\0\0\x40", 4, 4 },
          false },
        { "NaN as a bound", "\"float\"", BOUNDS("\0\0\x80\x3f", "\0\0\xc0\x7f"), BOUNDS("\0\0\0\x40", "\0\0\0\x40"),
          true },
        { "text", TEXT, BOUNDS("abc", "abd"), BOUNDS("abe", "b"), false },
        { "upper bound cut, not raised", TEXT, BOUNDS("a", "ab"), BOUNDS("abe", "b"), true },
        { "UUIDs have no order", "\"uuid\"", BOUNDS("0000000000000000", "1111111111111111"),
          BOUNDS("2222222222222222", "3333333333333333"), true },
    };
    struct firn_op *op = test_op(state);
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        const char *schema = firn_text_format(op->arena,
                                              "{\"type\":\"struct\",\"schema-id\":0,\"fields\":[{\"id\":1,"
                                              "\"name\":\"k\",\"required\":false,\"type\":%s}]}",
                                              cases[i].type)
                                 .data;
        struct firn_output_schema leaves = fixture_schema(op, schema);
        struct firn_metadata *metadata =
            fixture_metadata(op, &(struct fixture_table){ .version = 2, .schemas = schema });
        struct firn_data_file a = fixture_file("a", 1, 1), b = fixture_file("b", 1, 1);
        set_metrics(op, &a, 1, &cases[i].a);
        set_metrics(op, &b, 1, &cases[i].b);
        struct firn_column_bounds *of_a = firn_key_bounds_new(op, metadata, &leaves, &a);
        struct firn_column_bounds *of_b = firn_key_bounds_new(op, metadata, &leaves, &b);
        CHECK(firn_key_bounds_meet(of_a, of_b, 1) == cases[i].meet, "%s", cases[i].name);
        CHECK(firn_key_bounds_meet(of_b, of_a, 1) == cases[i].meet, "%s, turned round", cases[i].name);
        firn_key_bounds_widen(of_a, of_b, 1);
        CHECK(firn_key_bounds_meet(of_a, of_b, 1), "%s, widened", cases[i].name);
    }
}

/* Files that cannot be read stand for files that are not: a data file that nothing meets, and a delete file that meets
 * nothing. */
static void what_metrics_rule_out_is_not_read(void **state)
{
    static const int32_t id[] = { 1 };
    static const struct metrics low = BOUNDS("\1\0\0\0\0\0\0\0", "\4\0\0\0\0\0\0\0"),
                                high = BOUNDS("\5\0\0\0\0\0\0\0", "\11\0\0\0\0\0\0\0"),
                                none = BOUNDS("\12\0\0\0\0\0\0\0", "\13\0\0\0\0\0\0\0");
    struct deletion_test test;
    struct firn_op *op = test_op(state);
    const char *rows[] = { "1 2 3 4", "a b c d" }, *keys[] = { "2 4", "~ ~" };
    begin(&test, op);
    set_metrics(op, &add_data(&test, "mem:/t/a.parquet", ROWS, rows, 1)->file, 1, &low);
    set_metrics(op, &add_data(&test, "mem:/t/b.other", ROWS, rows, 1)->file, 1, &high);
    set_metrics(op, &add_keys(&test, ROWS, keys, 2, id, 1)->file, 1, &low);
    set_metrics(op, &add_keys(&test, ROWS, keys, 2, id, 1)->file, 1, &none);
    test.data[1].file.format = test.deletes[1].file.format = FIRN_FILE_OTHER;
    CHECK_OK(op, load(&test));
    check_deleted(&test, 0, "1 3");
    check_deleted(&test, 1, "");

    set_metrics(op, &test.deletes[0].file, 1, &high);
    CHECK_STATUS(op, FIRN_UNSUPPORTED, load(&test));
    CHECK(strstr(op->error.text, "b.other"), "%s", op->error.text);
    end(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(random_tables_agree_with_the_model), TEST(avro_and_parquet_mean_the_same_keys),
        TEST(columns_that_avro_files_lack),       TEST(avro_files_without_field_ids_need_a_mapping),
        TEST(a_key_beyond_memory_is_an_error),    TEST(repeated_keys_take_the_room_of_one),
        TEST(metrics_rule_out_what_they_can),     TEST(what_metrics_rule_out_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
