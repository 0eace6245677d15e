/* Dictionaries while they are built, against a list that is searched from its beginning. */
#include "check.h"

#include "base/math.h"
#include "format/parquet/dictionary_write.h"

#include <math.h>

enum { UNIVERSE = 1500, DRAWS = 40, TEXT_BYTES = 48, DRAW_MAX = 400 };

/* Values of one column: `count` of them, some equal. */
struct universe {
    enum firn_parquet_type type;
    uint32_t type_length, count;
    size_t width; /* of one in the array */
    union firn_values values;
    uint32_t first[UNIVERSE]; /* the first that is equal */
};

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed ^ *seed >> 29;
}

static bool equal(const struct universe *universe, uint32_t a, uint32_t b)
{
    const uint8_t *at = universe->values.fixed;
    if (universe->type != FIRN_PARQUET_BYTE_ARRAY)
        return memcmp(at + a * universe->width, at + b * universe->width, universe->width) == 0;
    const struct firn_slice *slices = universe->values.slice;
    return slices[a].len == slices[b].len &&
           (slices[a].len == 0 || memcmp(slices[a].data, slices[b].data, slices[a].len) == 0);
}

static void find_equals(struct universe *universe)
{
    for (uint32_t i = 0; i < universe->count; i++) {
        universe->first[i] = 0;
        while (!equal(universe, universe->first[i], i))
            universe->first[i]++;
    }
}

static struct universe *new_universe(struct firn_op *op, enum firn_parquet_type type, uint32_t type_length)
{
    struct universe *universe = FIRN_NEW(op->arena, struct universe);
    *universe = (struct universe){
        .type = type,
        .type_length = type_length,
        .count = UNIVERSE,
        .width = firn_value_width(type, type_length),
        .values.any = firn_arena_alloc_array(op->arena, UNIVERSE, firn_value_width(type, type_length)),
    };
    return universe;
}

/* What the dictionary should be. */
struct model {
    int64_t index[UNIVERSE];    /* -1: not there */
    uint32_t members[UNIVERSE]; /* by index */
    uint32_t count;
};

static void model_cut(struct model *model, uint32_t count)
{
    while (model->count > count)
        model->index[model->members[--model->count]] = -1;
}

static uint32_t model_add(struct model *model, uint32_t member)
{
    if (model->index[member] < 0) {
        model->members[model->count] = member;
        model->index[member] = model->count++;
    }
    return (uint32_t)model->index[member];
}

/* The values drawn, side by side. */
static union firn_values gather(struct firn_op *op, const struct universe *universe, const uint32_t *drawn,
                                size_t count)
{
    uint8_t *out = firn_arena_alloc_array(op->arena, DRAW_MAX, universe->width);
    for (size_t i = 0; i < count; i++)
        memcpy(out + i * universe->width, universe->values.fixed + drawn[i] * universe->width, universe->width);
    return (union firn_values){ .fixed = out };
}

static void check_members(struct firn_op *op, const struct universe *universe, const struct model *model,
                          const struct firn_dictionary_writer *dictionary)
{
    uint32_t indices[UNIVERSE];
    struct firn_buffer gathered = { 0 }, printed = { 0 };
    uint64_t bytes = 0;
    assert_int_equal(dictionary->count, model->count);
    for (uint32_t i = 0; i < model->count; i++)
        indices[i] = i;
    CHECK_OK(op, firn_dictionary_writer_gather(op, dictionary, indices, model->count, &gathered));
    CHECK_OK(op, firn_dictionary_writer_print(op, dictionary, &printed));
    for (uint32_t i = 0; i < model->count; i++) {
        const uint8_t *member = universe->values.fixed + model->members[i] * universe->width;
        size_t len = universe->width;
        if (universe->type == FIRN_PARQUET_BYTE_ARRAY) {
            struct firn_slice wanted, got;
            memcpy(&wanted, member, sizeof wanted);
            memcpy(&got, gathered.data + i * sizeof got, sizeof got);
            assert_int_equal(got.len, wanted.len);
            assert_memory_equal(got.data, wanted.data, wanted.len);
            assert_int_equal(firn_load_le32(printed.data + bytes), wanted.len);
            bytes += 4;
            member = wanted.data;
            len = wanted.len;
        } else {
            assert_memory_equal(gathered.data + i * len, member, len);
        }
        assert_memory_equal(printed.data + bytes, member, len);
        bytes += len;
    }
    assert_int_equal(printed.len, bytes);
    assert_int_equal(firn_dictionary_writer_bytes(dictionary), bytes);
    firn_buffer_done(&gathered);
    firn_buffer_done(&printed);
}

/* Draws from a window of the universe that moves on: what comes is new now, known then. */
static void check_universe(struct firn_op *op, struct universe *universe)
{
    struct firn_dictionary_writer dictionary;
    struct model model = { .count = 0 };
    uint64_t seed = universe->type;
    find_equals(universe);
    memset(model.index, -1, sizeof model.index);
    firn_dictionary_writer_init(&dictionary, universe->type, universe->type_length, 1 << 20);
    for (uint32_t draw = 0; draw < DRAWS; draw++) {
        uint32_t drawn[DRAW_MAX], indices[DRAW_MAX], count = (uint32_t)(next_random(&seed) % DRAW_MAX);
        struct firn_dictionary_mark mark = firn_dictionary_writer_mark(&dictionary);
        for (uint32_t i = 0; i < count; i++)
            drawn[i] = (uint32_t)(next_random(&seed) % UNIVERSE) * (draw + 1) / DRAWS;
        CHECK_OK(op, firn_dictionary_writer_add(op, &dictionary, gather(op, universe, drawn, count), count, indices));
        for (uint32_t i = 0; i < count; i++)
            assert_int_equal(indices[i], model_add(&model, universe->first[drawn[i]]));
        if (draw % 5 == 4) {
            firn_dictionary_writer_cut(&dictionary, mark);
            model_cut(&model, mark.count);
        }
        check_members(op, universe, &model, &dictionary);
    }
    assert_false(dictionary.full);
    firn_dictionary_writer_done(&dictionary);
}

/* Integers from `first` on, each `step` more than the one before. */
static void check_integers(struct firn_op *op, uint64_t first, uint64_t step)
{
    struct universe *wide = new_universe(op, FIRN_PARQUET_INT64, 0);
    struct universe *narrow = new_universe(op, FIRN_PARQUET_INT32, 0);
    for (uint32_t i = 0; i < UNIVERSE; i++) {
        wide->values.int64[i] = (int64_t)(first + i * step);
        narrow->values.int32[i] = (int32_t)(uint32_t)(first + i * step);
    }
    check_universe(op, wide);
    check_universe(op, narrow);
}

static void integers_are_found(void **state)
{
    struct firn_op *op = &((struct test_op *)*state)->op;
    const uint64_t steps[] = { 0, 1, 3, 4, 5, 1000, UINT64_C(1) << 33, UINT64_C(0x9e3779b97f4a7c15) };
    for (size_t i = 0; i < FIRN_COUNT_OF(steps); i++) {
        check_integers(op, 0, steps[i]);
        check_integers(op, 5000, -steps[i]);
        check_integers(op, (uint64_t)INT64_MAX - 1000, steps[i]); /* past the greatest */
        check_integers(op, (uint64_t)INT32_MAX - 1000, steps[i]);
    }
}

/* Close integers, then a few that are not, then close ones. */
static void outliers_are_found(void **state)
{
    struct firn_op *op = &((struct test_op *)*state)->op;
    const int64_t outliers[] = { INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX, -1, 0, 1 << 20, UNIVERSE * 3 };
    struct universe *universe = new_universe(op, FIRN_PARQUET_INT64, 0);
    for (uint32_t i = 0; i < UNIVERSE; i++)
        universe->values.int64[i] = i % 97 == 96 && i > 600 ? outliers[i / 97 % FIRN_COUNT_OF(outliers)] : 1000 + i;
    check_universe(op, universe);
}

static void floats_are_told_apart_by_their_bits(void **state)
{
    struct firn_op *op = &((struct test_op *)*state)->op;
    struct universe *doubles = new_universe(op, FIRN_PARQUET_DOUBLE, 0);
    struct universe *floats = new_universe(op, FIRN_PARQUET_FLOAT, 0);
    for (uint32_t i = 0; i < UNIVERSE; i++) {
        const uint64_t special[] = { 0, UINT64_C(1) << 63, UINT64_C(0x7ff8) << 48, UINT64_C(0x7ff8) << 48 | i };
        const uint32_t narrow[] = { 0, UINT32_C(1) << 31, 0x7fc00000 + i % 3 };
        doubles->values.float64[i] = i / 7.0;
        floats->values.float32[i] = (float)i / 7;
        if (i % 5 == 0)
            memcpy(&doubles->values.float64[i], &special[i / 5 % 4], sizeof(double));
        if (i % 5 == 0)
            memcpy(&floats->values.float32[i], &narrow[i / 5 % 3], sizeof(float));
    }
    check_universe(op, doubles);
    check_universe(op, floats);
}

static void fixed_values_are_found(void **state)
{
    struct firn_op *op = &((struct test_op *)*state)->op;
    for (uint32_t width = 1; width <= 40; width++) {
        struct universe *universe = new_universe(op, FIRN_PARQUET_FIXED, width);
        memset(universe->values.fixed, 0, UNIVERSE * width);
        for (uint32_t i = 0; i < UNIVERSE; i++) { /* two bytes of each differ */
            universe->values.fixed[i * width + i % width] = (uint8_t)(i >> 8);
            universe->values.fixed[i * width + i * 7 % width] ^= (uint8_t)i;
        }
        check_universe(op, universe);
    }
}

/* Texts of every short length, most alike but for one byte. */
static void texts_are_found(void **state)
{
    struct firn_op *op = &((struct test_op *)*state)->op;
    struct universe *universe = new_universe(op, FIRN_PARQUET_BYTE_ARRAY, 0);
    for (uint32_t i = 0; i < UNIVERSE; i++) {
        uint8_t *text = firn_arena_alloc(op->arena, TEXT_BYTES);
        uint32_t len = i % TEXT_BYTES;
        memset(text, 'a', TEXT_BYTES);
        if (len > 0 && i > TEXT_BYTES)
            text[i * 31 % len] = (uint8_t)(i / TEXT_BYTES);
        universe->values.slice[i] = (struct firn_slice){ text, len };
    }
    universe->values.slice[TEXT_BYTES] = (struct firn_slice){ NULL, 0 };
    check_universe(op, universe);
}

/* What times the factor that integers are hashed with is one: to choose values by their hashes. */
static uint64_t inverse_of_factor(void)
{
    uint64_t factor = UINT64_C(0x9e3779b97f4a7c15), inverse = factor;
    for (int i = 0; i < 6; i++)
        inverse *= 2 - factor * inverse;
    return inverse;
}

/* As many values of one hash as anybody likes would take ages to tell apart: it ends early. */
static void values_of_one_hash_fill_a_dictionary(void **state)
{
    struct firn_op *op = &((struct test_op *)*state)->op;
    enum { COUNT = 20000 };
    int64_t *values = FIRN_NEW_ARRAY(op->arena, int64_t, COUNT);
    uint32_t *indices = FIRN_NEW_ARRAY(op->arena, uint32_t, COUNT);
    struct firn_dictionary_writer dictionary;
    for (uint64_t i = 0; i < COUNT; i++) {
        uint64_t folded = (UINT64_C(0x12345678) << 32 | i * 211) * inverse_of_factor();
        values[i] = (int64_t)(folded ^ folded >> 32);
    }
    firn_dictionary_writer_init(&dictionary, FIRN_PARQUET_INT64, 0, 1 << 20);
    CHECK_OK(op, firn_dictionary_writer_add(op, &dictionary, (union firn_values){ .int64 = values }, COUNT, indices));
    assert_true(dictionary.full);
    assert_in_range(dictionary.count, 100, 1000);
    firn_dictionary_writer_cut(&dictionary, (struct firn_dictionary_mark){ 0 });
    CHECK_OK(op, firn_dictionary_writer_add(op, &dictionary, (union firn_values){ .int64 = values }, 100, indices));
    assert_false(dictionary.full);
    assert_int_equal(dictionary.count, 100);
    firn_dictionary_writer_done(&dictionary);
}

/* The same of values that are found without their hashes, as long as they are close to each other. */
static void close_values_of_like_hashes_fill_a_dictionary(void **state)
{
    struct firn_op *op = &((struct test_op *)*state)->op;
    enum { COUNT = 32000 };
    int32_t *values = FIRN_NEW_ARRAY(op->arena, int32_t, COUNT + 1);
    uint32_t *indices = FIRN_NEW_ARRAY(op->arena, uint32_t, COUNT + 1);
    struct firn_dictionary_writer dictionary;
    uint32_t count = 0;
    for (uint32_t value = 0; count < COUNT; value++) /* in a bit more than a quarter of the slots, but for the first */
        if (value < 1000 || value * UINT32_C(0x9e3779b1) < UINT32_C(0x48000000))
            values[count++] = (int32_t)value;
    values[COUNT] = INT32_MAX;
    firn_dictionary_writer_init(&dictionary, FIRN_PARQUET_INT32, 0, 1 << 20);
    union firn_values all = { .int32 = values };
    CHECK_OK(op, firn_dictionary_writer_add(op, &dictionary, all, COUNT, indices));
    assert_false(dictionary.full);
    assert_int_equal(dictionary.count, COUNT);
    CHECK_OK(op, firn_dictionary_writer_add(op, &dictionary, all, COUNT + 1, indices));
    assert_true(dictionary.full);
    firn_dictionary_writer_cut(&dictionary, (struct firn_dictionary_mark){ 100, 100 * sizeof(int32_t) });
    CHECK_OK(op, firn_dictionary_writer_add(op, &dictionary, all, 200, indices));
    assert_false(dictionary.full);
    assert_int_equal(dictionary.count, 200);
    firn_dictionary_writer_done(&dictionary);
}

static void dictionaries_become_full(void **state)
{
    struct firn_op *op = &((struct test_op *)*state)->op;
    int64_t values[UNIVERSE];
    uint32_t indices[UNIVERSE];
    for (int kind = 0; kind < 2; kind++) {
        struct firn_dictionary_writer dictionary;
        for (uint32_t i = 0; i < UNIVERSE; i++)
            values[i] = kind ? i : (int64_t)i << 40;
        firn_dictionary_writer_init(&dictionary, FIRN_PARQUET_INT64, 0, 1000 * sizeof(int64_t));
        union firn_values all = { .int64 = values };
        CHECK_OK(op, firn_dictionary_writer_add(op, &dictionary, all, 1000, indices));
        assert_false(dictionary.full);
        CHECK_OK(op, firn_dictionary_writer_add(op, &dictionary, all, 1000, indices));
        assert_false(dictionary.full);
        CHECK_OK(op, firn_dictionary_writer_add(op, &dictionary, all, 1001, indices));
        assert_true(dictionary.full);
        assert_int_equal(dictionary.count, 1000);
        firn_dictionary_writer_done(&dictionary);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(integers_are_found, test_op_setup, test_op_teardown),
        cmocka_unit_test_setup_teardown(outliers_are_found, test_op_setup, test_op_teardown),
        cmocka_unit_test_setup_teardown(floats_are_told_apart_by_their_bits, test_op_setup, test_op_teardown),
        cmocka_unit_test_setup_teardown(fixed_values_are_found, test_op_setup, test_op_teardown),
        cmocka_unit_test_setup_teardown(texts_are_found, test_op_setup, test_op_teardown),
        cmocka_unit_test_setup_teardown(values_of_one_hash_fill_a_dictionary, test_op_setup, test_op_teardown),
        cmocka_unit_test_setup_teardown(close_values_of_like_hashes_fill_a_dictionary, test_op_setup, test_op_teardown),
        cmocka_unit_test_setup_teardown(dictionaries_become_full, test_op_setup, test_op_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
