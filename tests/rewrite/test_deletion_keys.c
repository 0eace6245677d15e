/* Equality deletes beyond memory, held against a model that compares texts: random columns, partitions, sequence
 * numbers and amounts of memory. What metrics rule out is not read. */
#include "deletion_fixture.h"

#include "../support/fault_store.h"
#include "base/map.h"
#include "rewrite/key_bounds.h"
#include "rewrite/key_join.h"

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

static const char *const all_columns = SCHEMA(
    0,
    FIELD(1, "l", LONG) "," FIELD(2, "t", TEXT) "," FIELD(3, "f", "\"float\"") "," FIELD(4, "d", "\"double\"") "," FIELD(5, "b", "\"boolean\"") "," FIELD(6, "x", "\"fixed[3]\"") "," FIELD(7, "y", "\"binary\"") "," FIELD(
        8,
        "u", "\"uuid\"") "," FIELD(9, "m",
                                   "\"decimal(20,0)\"") "," FIELD(10, "n",
                                                                  "\"decimal(9,2)\"") "," FIELD(11, "z",
                                                                                                "\"t"
                                                                                                "ime"
                                                                                                "sta"
                                                                                                "mpt"
                                                                                                "z"
                                                                                                "\"") "," FIELD(12, "a",
                                                                                                                "\"date"
                                                                                                                "\"") "," FIELD(13,
                                                                                                                                "s",
                                                                                                                                NESTED(FIELD(14, "k", LONG) "," FIELD(
                                                                                                                                    15,
                                                                                                                                    "w",
                                                                                                                                    TEXT))));

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
    const char *from = getenv("FIRN_SEED"), *count = getenv("FIRN_CASES");
    uint64_t first = from ? strtoull(from, NULL, 10) : 0, cases = count ? strtoull(count, NULL, 10) : 64;
    CHECK_OK(op, firn_pool_open(op, 3, &pool));
    for (uint64_t seed = first; seed < first + cases; seed++)
        run_case(op, pool, seed);
    firn_pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(random_tables_agree_with_the_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
