/* Integers of temporary data come back as they were, whatever their range, and never from fewer bytes than they took.
 */
#include "../check.h"

#include "base/math.h"
#include "rewrite/number_pack.h"

enum { COUNT_MAX = 40 };

static const struct {
    int64_t least, most;
    unsigned width;
} ranges[] = {
    { 0, 0, 0 },
    { -7, -7, 0 },
    { -1, 254, 1 },
    { 5, 261, 2 },
    { INT32_MIN, INT32_MIN + 65535, 2 },
    { 0, 65536, 3 },
    { 0, 20000000, 4 },
    { INT32_MIN, INT32_MAX, 4 },
    { INT64_C(1) << 40, (INT64_C(1) << 40) + (INT64_C(1) << 32), 5 },
    { 0, INT64_C(26000000000000), 6 },
    { -1, (INT64_C(1) << 48) - 1, 7 },
    { INT64_MIN, INT64_MAX, 8 },
    { INT64_MAX, INT64_MAX, 0 },
};

/* Both ends of a range, and what lies between. */
static void fill(size_t range, uint32_t count, int64_t *out)
{
    uint64_t random = 1, span = (uint64_t)ranges[range].most - (uint64_t)ranges[range].least;
    for (uint32_t i = 0; i < count; i++) {
        random = random * UINT64_C(6364136223846793005) + 1;
        uint64_t above = span == UINT64_MAX ? random : random % (span + 1);
        out[i] = i == 0 ? ranges[range].most : i == 1 ? ranges[range].least : (int64_t)((uint64_t)out[0] - above);
    }
}

static void put_i64(struct firn_op *op, const int64_t *numbers, uint32_t count, struct firn_buffer *out)
{
    struct firn_number_range range = FIRN_NUMBER_RANGE_NONE;
    firn_number_range_add_i64(&range, numbers, count / 2);
    firn_number_range_add_i64(&range, numbers + count / 2, count - count / 2);
    CHECK_OK(op, firn_numbers_begin(op, &range, out));
    CHECK_OK(op, firn_numbers_put_i64(op, &range, numbers, count / 2, out));
    CHECK_OK(op, firn_numbers_put_i64(op, &range, numbers + count / 2, count - count / 2, out));
}

static void put_i32(struct firn_op *op, const int64_t *numbers, uint32_t count, struct firn_buffer *out)
{
    struct firn_number_range range = FIRN_NUMBER_RANGE_NONE;
    int32_t narrow[COUNT_MAX];
    for (uint32_t i = 0; i < count; i++)
        narrow[i] = (int32_t)numbers[i];
    firn_number_range_add_i32(&range, narrow, count);
    CHECK_OK(op, firn_numbers_begin(op, &range, out));
    CHECK_OK(op, firn_numbers_put_i32(op, &range, narrow, count, out));
}

/* The bytes stand alone, so that a sanitizer sees what is read behind them. */
static void take(const struct firn_buffer *packed, size_t behind, bool is_narrow, const int64_t *numbers,
                 uint32_t count)
{
    uint8_t *bytes = malloc(packed->len + behind);
    int32_t narrow[COUNT_MAX];
    int64_t wide[COUNT_MAX];
    memcpy(bytes, packed->data, packed->len);
    memset(bytes + packed->len, 0xa5, behind);
    struct firn_bytes in = { bytes, packed->len + behind };
    assert_true(is_narrow ? firn_numbers_take_i32(&in, count, narrow) : firn_numbers_take_i64(&in, count, wide));
    assert_int_equal(in.len, behind);
    assert_true(in.data == bytes + packed->len);
    for (uint32_t i = 0; i < count; i++)
        CHECK((is_narrow ? narrow[i] : wide[i]) == numbers[i], "%u of %u: %" PRId64, i, count, numbers[i]);
    free(bytes);
}

static void check_range(struct firn_op *op, size_t range, uint32_t count)
{
    int64_t numbers[COUNT_MAX];
    bool fits = ranges[range].least >= INT32_MIN && ranges[range].most <= INT32_MAX;
    fill(range, count, numbers);
    for (int is_narrow = 0; is_narrow <= fits; is_narrow++) {
        struct firn_buffer packed = { 0 };
        (is_narrow ? put_i32 : put_i64)(op, numbers, count, &packed);
        if (count > 1)
            assert_int_equal(packed.len, 9 + count * ranges[range].width);
        take(&packed, 0, is_narrow, numbers, count);
        take(&packed, 20, is_narrow, numbers, count);
        firn_buffer_done(&packed);
    }
}

static void numbers_come_back(void **state)
{
    static const uint32_t counts[] = { 0, 1, 2, 3, 9, COUNT_MAX };
    for (size_t range = 0; range < FIRN_COUNT_OF(ranges); range++)
        for (size_t i = 0; i < FIRN_COUNT_OF(counts); i++)
            check_range(test_op(state), range, counts[i]);
}

static void short_data_is_refused(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_buffer packed = { 0 };
    int64_t numbers[COUNT_MAX], out[COUNT_MAX];
    fill(6, COUNT_MAX, numbers);
    put_i64(op, numbers, COUNT_MAX, &packed);
    for (size_t len = 0; len < packed.len; len++) {
        struct firn_bytes in = { packed.data, len };
        assert_false(firn_numbers_take_i64(&in, COUNT_MAX, out));
    }
    packed.data[8] = 9; /* bytes of a number */
    struct firn_bytes in = firn_buffer_bytes(&packed);
    assert_false(firn_numbers_take_i64(&in, 1, out));
    firn_buffer_done(&packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(numbers_come_back),
        TEST(short_data_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
