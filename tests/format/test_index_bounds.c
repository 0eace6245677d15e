/* Bounds of pages of indices, whose dictionary grows from page to page, against those of all their values. */
#include "check.h"

#include "base/math.h"
#include "format/parquet/index_bounds.h"
#include "format/parquet/unpack.h"

#include <math.h>

enum { DICTIONARY = 2000, PAGES = 600 /* more than there are stamps */, PAGE_MAX = 200 };

struct dictionary {
    enum firn_order order;
    uint32_t type_length;
    size_t width; /* in the array */
    union firn_values values;
};

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed ^ *seed >> 29;
}

static firn_status gather(struct firn_op *op, const void *from, const uint32_t *indices, size_t count,
                          struct firn_buffer *out)
{
    const struct dictionary *dictionary = from;
    FIRN_TRY(firn_buffer_resize(op, out, count * dictionary->width));
    firn_gather(dictionary->values.any, dictionary->width, indices, count, out->data);
    return FIRN_OK;
}

static void check_same(const struct firn_bounds *got, const struct firn_bounds *wanted)
{
    assert_int_equal(got->found, wanted->found);
    assert_int_equal(got->nan_count, wanted->nan_count);
    assert_int_equal(got->min.len, wanted->min.len);
    assert_int_equal(got->max.len, wanted->max.len);
    if (wanted->min.len)
        assert_memory_equal(got->min.data, wanted->min.data, wanted->min.len);
    if (wanted->max.len)
        assert_memory_equal(got->max.data, wanted->max.data, wanted->max.len);
}

static void check_page(struct firn_op *op, struct firn_index_scratch *scratch, const struct firn_indexed_values *page)
{
    const struct dictionary *dictionary = page->dictionary;
    struct firn_bounds got = { 0 }, wanted = { 0 };
    struct firn_buffer all = { 0 };
    CHECK_OK(op, firn_bounds_of_indexed(op, &got, dictionary->order, scratch, page));
    CHECK_OK(op, gather(op, dictionary, page->indices, page->count, &all));
    CHECK_OK(op, firn_bounds_add(op, &wanted, dictionary->order, (union firn_values){ .any = all.data },
                                 page->type_length, page->count));
    check_same(&got, &wanted);
    firn_bounds_done(&got);
    firn_bounds_done(&wanted);
    firn_buffer_done(&all);
}

/* Pages of all of the dictionary so far (`spread`), or of what came to it last. */
static void check_dictionary(struct firn_op *op, const struct dictionary *dictionary, bool spread)
{
    struct firn_index_scratch scratch = { 0 };
    uint64_t seed = dictionary->order;
    for (uint32_t i = 0; i < PAGES; i++) {
        uint32_t indices[PAGE_MAX], known = 1 + (DICTIONARY - 1) * i / (PAGES - 1);
        uint32_t from = spread || known < 40 ? 0 : known - 40;
        struct firn_indexed_values page = {
            .indices = indices,
            .count = next_random(&seed) % PAGE_MAX,
            .dictionary = dictionary,
            .dictionary_count = known,
            .type_length = dictionary->type_length,
            .gather = gather,
            .grows = true,
        };
        for (uint32_t j = 0; j < page.count; j++)
            indices[j] = from + (uint32_t)(next_random(&seed) % (known - from));
        check_page(op, &scratch, &page);
    }
    firn_index_scratch_done(&scratch);
}

static void check_both(struct firn_op *op, const struct dictionary *dictionary)
{
    check_dictionary(op, dictionary, true);
    check_dictionary(op, dictionary, false);
}

static struct dictionary new_dictionary(struct firn_op *op, enum firn_order order, uint32_t type_length, size_t width)
{
    void *values = firn_arena_alloc_array(op->arena, DICTIONARY, width);
    memset(values, 0, DICTIONARY * width);
    return (struct dictionary){ order, type_length, width, { .any = values } };
}

static void bounds_of_integers(void **state)
{
    struct firn_op *op = &((struct test_op *)*state)->op;
    const enum firn_order orders[] = { FIRN_ORDER_INT64, FIRN_ORDER_UINT64 };
    for (size_t i = 0; i < FIRN_COUNT_OF(orders); i++) {
        struct dictionary random = new_dictionary(op, orders[i], 0, 8), ascending = random, descending = random;
        ascending.values.any = new_dictionary(op, orders[i], 0, 8).values.any;
        descending.values.any = new_dictionary(op, orders[i], 0, 8).values.any;
        uint64_t seed = i;
        for (uint32_t j = 0; j < DICTIONARY; j++) {
            random.values.int64[j] = (int64_t)next_random(&seed);
            ascending.values.int64[j] = (int64_t)j - 1000;
            descending.values.int64[j] = 1000 - (int64_t)j;
        }
        check_both(op, &random);
        check_both(op, &ascending);
        check_both(op, &descending);
    }
}

static void bounds_of_narrow_integers(void **state)
{
    struct firn_op *op = &((struct test_op *)*state)->op;
    struct dictionary narrow = new_dictionary(op, FIRN_ORDER_INT32, 0, 4), same = narrow;
    uint64_t seed = 1;
    for (uint32_t j = 0; j < DICTIONARY; j++)
        narrow.values.int32[j] = (int32_t)next_random(&seed);
    check_both(op, &narrow);
    same.order = FIRN_ORDER_UINT32;
    check_both(op, &same);
}

/* Zeros of both signs; NaN, if any, in a dictionary that has had none for long. */
static void bounds_of_floats(void **state)
{
    struct firn_op *op = &((struct test_op *)*state)->op;
    for (int with_nan = 0; with_nan < 2; with_nan++) {
        struct dictionary doubles = new_dictionary(op, FIRN_ORDER_DOUBLE, 0, 8);
        uint64_t seed = 2;
        for (uint32_t j = 0; j < DICTIONARY; j++) {
            const double special[] = { 0.0, -0.0, with_nan && j > 1000 ? NAN : 1.0, -INFINITY };
            doubles.values.float64[j] = j % 10 < 4 ? special[j % 10] : (double)(next_random(&seed) % 1000) / 7;
            if (j % 10 == 3 && j < 1500)
                doubles.values.float64[j] = 0.5;
        }
        check_both(op, &doubles);
    }
}

static void bounds_of_bytes(void **state)
{
    struct firn_op *op = &((struct test_op *)*state)->op;
    struct dictionary texts = new_dictionary(op, FIRN_ORDER_BYTES, 0, sizeof(struct firn_slice));
    struct dictionary decimals = new_dictionary(op, FIRN_ORDER_DECIMAL, 5, 5);
    uint64_t seed = 3;
    for (uint32_t j = 0; j < DICTIONARY; j++) {
        uint8_t *text = firn_arena_alloc(op->arena, 32);
        memset(text, 'a', 32);
        text[next_random(&seed) % 32] = (uint8_t)next_random(&seed);
        texts.values.slice[j] = (struct firn_slice){ text, (uint32_t)(next_random(&seed) % 33) };
        for (int k = 0; k < 5; k++)
            decimals.values.fixed[j * 5 + k] = (uint8_t)next_random(&seed);
    }
    check_both(op, &texts);
    check_both(op, &decimals);
    texts.order = FIRN_ORDER_DECIMAL; /* of any length */
    check_both(op, &texts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bounds_of_integers, test_op_setup, test_op_teardown),
        cmocka_unit_test_setup_teardown(bounds_of_narrow_integers, test_op_setup, test_op_teardown),
        cmocka_unit_test_setup_teardown(bounds_of_floats, test_op_setup, test_op_teardown),
        cmocka_unit_test_setup_teardown(bounds_of_bytes, test_op_setup, test_op_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
