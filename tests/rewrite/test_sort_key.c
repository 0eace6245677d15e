/* Sort keys held against a comparison of the values: every type, transform, direction and place of nulls, plain and
 * dictionary vectors cut anywhere, columns that are required, optional and below structs, several columns together. */
#include "sort_fixture.h"

#include "base/math.h"

#include <math.h>

/* xorshift: the seed alone makes a case. */
static uint64_t draw(uint64_t *state, uint64_t below)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (*state >> 11) % below;
}

enum { VALUES_MAX = 24, ROWS = 64, FIELDS_MAX = 5 };

/* A type, and values of it as their text; of reals, Java's. */
static const struct sample {
    const char *type;
    const char *values[VALUES_MAX];
    const char *transforms[4]; /* beside identity */
} samples[] = {
    { "boolean", { "true", "false" }, { NULL } },
    { "int",
      { "0", "-1", "1", "255", "256", "-2147483648", "2147483647", "65536", "-257" },
      { "bucket[16]", "truncate[10]", "bucket[300]" } },
    { "long",
      { "0", "-1", "1", "9223372036854775807", "-9223372036854775808", "4294967296", "-4294967297", "300", "-300" },
      { "bucket[70000]", "truncate[100]" } },
    { "float",
      { "0.0", "-0.0", "NaN", "Infinity", "-Infinity", "1.5", "-1.5", "1.0E-45", "-1.0E-45", "3.4028235E38" },
      { NULL } },
    { "double",
      { "0.0", "-0.0", "NaN", "Infinity", "-Infinity", "1.5", "-1.5", "4.9E-324", "-4.9E-324", "1.0E300" },
      { NULL } },
    { "decimal(9,2)",
      { "0.00", "0.01", "-0.01", "9999999.99", "-9999999.99", "12.34" },
      { "truncate[50]", "bucket[7]" } },
    { "decimal(18,3)",
      { "0.000", "0.001", "-0.001", "999999999999999.999", "-999999999999999.999" },
      { "truncate[50]" } },
    { "decimal(38,0)",
      { "0", "1", "-1", "99999999999999999999999999999999999999", "-99999999999999999999999999999999999999",
        "18446744073709551616" },
      { "truncate[3]", "bucket[5]" } },
    { "date", { "1970-01-01", "1969-12-31", "0001-01-01", "9999-12-31", "2024-02-29" }, { "year", "month", "day" } },
    { "time", { "00:00:00", "23:59:59.999999", "12:00:00.000001" }, { "bucket[4]" } },
    { "timestamp",
      { "1970-01-01T00:00:00", "1969-12-31T23:59:59.999999", "2024-05-06T07:08:09", "2024-05-06T06:08:09" },
      { "year", "hour", "day", "month" } },
    { "timestamptz",
      { "1970-01-01T00:00:00+00:00", "1969-12-31T23:59:59.999999+00:00", "2024-05-06T07:08:09+00:00" },
      { "month", "hour", "bucket[9]" } },
    { "timestamp_ns",
      { "1970-01-01T00:00:00", "1969-12-31T23:59:59.999999999", "2024-05-06T07:08:09.000000001" },
      { "day", "hour" } },
    { "timestamptz_ns",
      { "1970-01-01T00:00:00+00:00", "1969-12-31T23:59:59.999999999+00:00" },
      { "year", "bucket[3]" } },
    { "string",
      { "", "a", "aa", "ab", "a\1", "a\1\1", "a\2", "z", "\xc3\xa9", "\xf0\x9f\x98\x80", "\xef\xbf\xbd",
        "a long text, longer than a word" },
      { "truncate[1]", "truncate[3]", "bucket[4]" } },
    { "binary", { "", "00", "0000", "0001", "01", "0100", "02", "ff", "ff00", "fe" }, { "truncate[1]", "bucket[4]" } },
    { "fixed[3]", { "000000", "000001", "ffffff", "7fffff", "800000" }, { "bucket[4]" } },
    { "uuid",
      { "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff",
        "7fffffff-0000-0000-0000-000000000000", "80000000-0000-0000-0000-000000000001" },
      { "bucket[4]" } },
};

/* Where a field lies; decides how deep nulls go. */
enum depth { DEPTH_REQUIRED, DEPTH_OPTIONAL, DEPTH_NESTED, DEPTH_COUNT };

/* Some rows of one column. */
struct column {
    struct firn_type type;
    struct firn_value pool[VALUES_MAX];
    uint32_t pool_count;
    struct firn_value rows[ROWS];
    uint32_t choices[ROWS]; /* of the pool */
    uint8_t def[ROWS];
};

struct trial {
    struct firn_op *op;
    uint64_t random;
    struct firn_schema schema;
    struct firn_output_schema output;
    struct firn_ordering_field fields[FIELDS_MAX];
    struct firn_ordering ordering;
    struct column columns[FIELDS_MAX];
    const struct firn_output_leaf *leaves[FIELDS_MAX];
};

/* Field i is number 10 * i + 1; below a struct, the struct is. */
static void make_schema(struct trial *trial, const struct sample *const *chosen, const enum depth *depths)
{
    struct firn_op *op = trial->op;
    struct firn_field *fields = FIRN_NEW_ARRAY(op->arena, struct firn_field, trial->ordering.field_count);
    for (uint32_t i = 0; i < trial->ordering.field_count; i++) {
        struct firn_field field = { .id = (int32_t)(10 * i + 1),
                                    .name = FIRN_TEXT("v"),
                                    .required = depths[i] == DEPTH_REQUIRED };
        CHECK_OK(op, firn_type_parse_text(op, firn_text_of(chosen[i]->type), &field.type));
        trial->columns[i].type = field.type;
        fields[i] = field;
        fields[i].name = firn_text_format(op->arena, "c%u", i);
        if (depths[i] != DEPTH_NESTED)
            continue;
        struct firn_field *inner = FIRN_NEW(op->arena, struct firn_field);
        *inner = field;
        fields[i].id++;
        fields[i].type = (struct firn_type){ .id = FIRN_TYPE_STRUCT, .field_count = 1, .fields = inner };
    }
    trial->schema.root = (struct firn_type){
        .id = FIRN_TYPE_STRUCT,
        .field_count = trial->ordering.field_count,
        .fields = fields,
    };
    CHECK_OK(op, firn_output_schema_new(op, &trial->schema, false, &trial->output));
    for (uint32_t i = 0; i < trial->ordering.field_count; i++)
        trial->leaves[i] = firn_output_schema_find(&trial->output, (int32_t)(10 * i + 1));
}

static void draw_rows(struct trial *trial, uint32_t index, const struct sample *sample)
{
    struct column *column = &trial->columns[index];
    uint8_t def_max = trial->leaves[index]->node->def_max;
    while (column->pool_count < VALUES_MAX && sample->values[column->pool_count]) {
        column->pool[column->pool_count] = parse_value(trial->op, &column->type, sample->values[column->pool_count]);
        column->pool_count++;
    }
    for (uint32_t row = 0; row < ROWS; row++) {
        column->def[row] = draw(&trial->random, 4) == 0 ? (uint8_t)draw(&trial->random, def_max + 1) : def_max;
        column->choices[row] = (uint32_t)draw(&trial->random, column->pool_count);
        column->rows[row] = column->pool[column->choices[row]];
        column->rows[row].is_null = column->def[row] < def_max;
    }
}

static void set_values(struct trial *trial, uint32_t index, uint32_t first, struct firn_vector *vector)
{
    const struct column *column = &trial->columns[index];
    struct firn_value values[ROWS];
    for (uint32_t i = 0; i < vector->slot_count; i++)
        if (!column->rows[first + i].is_null)
            values[vector->value_count++] = column->rows[first + i];
    vector->values = store_values(trial->op, trial->leaves[index]->node, values, vector->value_count);
}

static void set_indices(struct trial *trial, uint32_t index, uint32_t first, const struct firn_dictionary *dictionary,
                        struct firn_vector *vector)
{
    const struct column *column = &trial->columns[index];
    uint32_t *indices = FIRN_NEW_ARRAY(trial->op->arena, uint32_t, ROWS);
    for (uint32_t i = 0; i < vector->slot_count; i++)
        if (!column->rows[first + i].is_null)
            indices[vector->value_count++] = column->choices[first + i];
    vector->indices = indices;
    vector->dictionary = dictionary;
}

/* Adds a column in pieces, each with plain values or indices. */
static void add_column(struct trial *trial, struct firn_sort_batch *batch, uint32_t index, uint32_t leaf)
{
    const struct firn_parquet_node *node = trial->leaves[index]->node;
    const struct column *column = &trial->columns[index];
    struct firn_dictionary dictionary = {
        .id = draw(&trial->random, 3),
        .type = node->type,
        .type_length = node->type_length,
        .count = column->pool_count,
        .values = store_values(trial->op, node, column->pool, column->pool_count),
    };
    for (uint32_t row = 0; row < ROWS;) {
        uint32_t slots = (uint32_t)draw(&trial->random, 20);
        struct firn_vector vector = {
            .type = node->type,
            .type_length = node->type_length,
            .def_max = node->def_max,
            .slot_count = FIRN_MIN(slots, ROWS - row),
            .def = node->def_max > 0 ? column->def + row : NULL,
        };
        vector.row_count = vector.slot_count;
        if (draw(&trial->random, 2))
            set_indices(trial, index, row, &dictionary, &vector);
        else
            set_values(trial, index, row, &vector);
        CHECK_OK(trial->op, firn_sort_batch_add(trial->op, batch, leaf, &vector, row));
        row += vector.slot_count;
    }
}

static int compare_reals(double a, double b)
{
    if (isnan(a) || isnan(b))
        return !!isnan(a) - !!isnan(b);
    return (a > b) - (a < b);
}

static int compare_values(const struct firn_value *a, const struct firn_value *b)
{
    if (a->type == FIRN_TYPE_FLOAT || a->type == FIRN_TYPE_DOUBLE)
        return compare_reals(a->real, b->real);
    return firn_value_compare(a, b);
}

static int compare_fields(struct trial *trial, uint32_t index, uint32_t a, uint32_t b)
{
    const struct firn_ordering_field *field = &trial->fields[index];
    const struct column *column = &trial->columns[index];
    struct firn_value left, right;
    CHECK_OK(trial->op, firn_transform_apply(trial->op, &field->transform, &column->type, &column->rows[a], &left));
    CHECK_OK(trial->op, firn_transform_apply(trial->op, &field->transform, &column->type, &column->rows[b], &right));
    if (left.is_null || right.is_null)
        return field->nulls_last ? left.is_null - right.is_null : right.is_null - left.is_null;
    int order = compare_values(&left, &right);
    return field->descending ? -order : order;
}

static int compare_rows(struct trial *trial, uint32_t a, uint32_t b)
{
    int order = 0;
    for (uint32_t i = 0; order == 0 && i < trial->ordering.field_count; i++)
        order = compare_fields(trial, i, a, b);
    return order;
}

static int sign(int number)
{
    return (number > 0) - (number < 0);
}

static void check_keys(struct trial *trial, const struct firn_sort_batch *batch, const char *what)
{
    for (uint32_t a = 0; a < ROWS; a++)
        for (uint32_t b = a; b < ROWS; b++) {
            struct firn_bytes left = firn_sort_batch_key(batch, a), right = firn_sort_batch_key(batch, b);
            int order = memcmp(left.data, right.data, FIRN_MIN(left.len, right.len));
            int wanted = compare_rows(trial, a, b);
            CHECK(sign(order) == sign(wanted), "%s: rows %u and %u: key %d, value %d", what, a, b, order, wanted);
            CHECK((order != 0) == (wanted != 0) && (order != 0 || left.len == right.len), "%s: a key begins another",
                  what);
        }
}

/* The keys of a trial whose fields, but for their source, are set. */
static void run_trial(struct trial *trial, const struct sample *const *chosen, const enum depth *depths,
                      const char *what)
{
    struct firn_op *op = trial->op;
    struct firn_sort_key key;
    struct firn_sort_batch batch;
    uint32_t prefix = (uint32_t)draw(&trial->random, 3);
    make_schema(trial, chosen, depths);
    trial->ordering.fields = trial->fields;
    for (uint32_t i = 0; i < trial->ordering.field_count; i++) {
        trial->fields[i].source_id = (int32_t)(10 * i + 1);
        draw_rows(trial, i, chosen[i]);
    }
    CHECK_OK(op, firn_sort_key_new(op, &trial->ordering, &trial->output, prefix, &key));
    CHECK(key.leaf_count == trial->ordering.field_count, "%s", what);
    firn_sort_batch_init(op, &key, &batch);
    for (int turn = 0; turn < 2; turn++) { /* batches are used again */
        CHECK_OK(op, firn_sort_batch_begin(op, &batch, ROWS));
        for (uint32_t i = key.leaf_count; i-- > 0;)
            add_column(trial, &batch, i, i);
        CHECK_OK(op, firn_sort_batch_finish(op, &batch));
        for (uint32_t row = 0; row < ROWS; row++)
            memset(batch.bytes.data + (firn_sort_batch_key(&batch, row).data - batch.bytes.data), 7, prefix);
        check_keys(trial, &batch, what);
    }
    firn_sort_batch_done(&batch);
}

/* Every type and transform, in every direction, place of nulls and depth. */
static void test_single_columns(void **state)
{
    for (uint32_t i = 0; i < FIRN_COUNT_OF(samples); i++) {
        for (uint32_t k = 0; k < 5 && (k == 0 || samples[i].transforms[k - 1]); k++) {
            const char *transform = k == 0 ? "identity" : samples[i].transforms[k - 1];
            for (uint32_t way = 0; way < 4 * DEPTH_COUNT; way++) {
                struct firn_arena arena;
                struct firn_op op = *test_op(state);
                firn_arena_init(&arena);
                op.arena = &arena;
                struct trial *trial = FIRN_NEW(&arena, struct trial);
                const struct sample *chosen = &samples[i];
                enum depth depth = way / 4;
                trial->op = &op;
                trial->random = 1 + way + 100 * (k + 10 * i);
                trial->ordering.field_count = 1;
                trial->fields[0] = (struct firn_ordering_field){
                    .transform = firn_transform_parse(&arena, firn_text_of(transform)),
                    .descending = way & 1,
                    .nulls_last = way >> 1 & 1,
                };
                run_trial(trial, &chosen, &depth, chosen->type);
                firn_arena_done(&arena);
            }
        }
    }
}

/* Up to five columns of any kind. */
static void test_several_columns(void **state)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct firn_arena arena;
        struct firn_op op = *test_op(state);
        firn_arena_init(&arena);
        op.arena = &arena;
        struct trial *trial = FIRN_NEW(&arena, struct trial);
        const struct sample *chosen[FIELDS_MAX];
        enum depth depths[FIELDS_MAX];
        trial->op = &op;
        trial->random = seed * UINT64_C(0x9e3779b97f4a7c15);
        trial->ordering.field_count = 2 + (uint32_t)draw(&trial->random, FIELDS_MAX - 1);
        for (uint32_t i = 0; i < trial->ordering.field_count; i++) {
            chosen[i] = &samples[draw(&trial->random, FIRN_COUNT_OF(samples))];
            depths[i] = draw(&trial->random, DEPTH_COUNT);
            const char *transform = chosen[i]->transforms[0];
            bool plain = !transform || draw(&trial->random, 2);
            trial->fields[i] = (struct firn_ordering_field){
                .transform = firn_transform_parse(&arena, firn_text_of(plain ? "identity" : transform)),
                .descending = draw(&trial->random, 2),
                .nulls_last = draw(&trial->random, 2),
            };
        }
        run_trial(trial, chosen, depths, firn_text_format(&arena, "seed %d", (int)seed).data);
        firn_arena_done(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_single_columns),
        TEST(test_several_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
