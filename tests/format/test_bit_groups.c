/* Bit packing: portable loops and vector ones against a slow twin, for every width, count and alignment, in memory that
 * ends where a group may no longer reach. */
#include "check.h"

#include "base/math.h"
#include "format/parquet/pack.h"
#include "format/parquet/unpack.h"

enum { GROUPS_MAX = 5, VALUES_MAX = GROUPS_MAX * FIRN_GROUP_VALUES, ALIGNMENTS = 8 };

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed ^ *seed >> 29;
}

/* Values of `width` bits, all ones among them, and how they are packed. */
struct sample {
    unsigned width;
    uint64_t u64[VALUES_MAX];
    uint32_t u32[VALUES_MAX];
    uint8_t u8[VALUES_MAX];
    uint8_t packed[VALUES_MAX * sizeof(uint64_t)];
};

static void make_sample(unsigned width, struct sample *sample)
{
    uint64_t seed = width;
    *sample = (struct sample){ .width = width };
    for (size_t i = 0; i < VALUES_MAX; i++) {
        uint64_t value = i % 5 == 0 ? UINT64_MAX : next_random(&seed);
        sample->u64[i] = width == 64 ? value : value & ((UINT64_C(1) << width) - 1);
        sample->u32[i] = (uint32_t)sample->u64[i];
        sample->u8[i] = (uint8_t)sample->u64[i];
        for (unsigned bit = 0; bit < width; bit++) {
            size_t at = i * width + bit;
            sample->packed[at / 8] |= (uint8_t)((sample->u64[i] >> bit & 1) << at % 8);
        }
    }
}

static void check_unpacks(const struct firn_bit_groups *loops, const struct sample *sample, size_t groups, size_t shift)
{
    size_t bytes = groups * sample->width, count = groups * FIRN_GROUP_VALUES;
    uint8_t *in = malloc(shift + bytes + FIRN_GROUP_SLACK_BYTES);
    uint64_t *u64 = malloc(count * sizeof *u64 + 1);
    uint32_t *u32 = malloc(count * sizeof *u32 + 1);
    uint8_t *u8 = malloc(count + 1);
    memset(in, 0xff, shift + bytes + FIRN_GROUP_SLACK_BYTES);
    memcpy(in + shift, sample->packed, bytes);
    loops->unpack_u64(in + shift, sample->width, groups, u64);
    assert_memory_equal(u64, sample->u64, count * sizeof *u64);
    if (sample->width <= 32) {
        loops->unpack_u32(in + shift, sample->width, groups, u32);
        assert_memory_equal(u32, sample->u32, count * sizeof *u32);
    }
    if (sample->width <= 8) {
        firn_unpack_groups_u8(in + shift, sample->width, groups, u8);
        assert_memory_equal(u8, sample->u8, count);
    }
    free(in);
    free(u64);
    free(u32);
    free(u8);
}

static void check_packs(const struct sample *sample, size_t groups, size_t shift)
{
    size_t bytes = groups * sample->width;
    uint8_t *out = malloc(shift + bytes + FIRN_GROUP_SLACK_BYTES);
    firn_pack_groups_u64(sample->u64, sample->width, groups, out + shift);
    assert_memory_equal(out + shift, sample->packed, bytes);
    if (sample->width <= 32) {
        memset(out + shift, 0xff, bytes);
        firn_pack_groups_u32(sample->u32, sample->width, groups, out + shift);
        assert_memory_equal(out + shift, sample->packed, bytes);
    }
    if (sample->width <= 8) {
        memset(out + shift, 0xff, bytes);
        firn_pack_groups_u8(sample->u8, sample->width, groups, out + shift);
        assert_memory_equal(out + shift, sample->packed, bytes);
    }
    free(out);
}

static void check_each(const struct firn_bit_groups *loops)
{
    struct sample sample;
    for (unsigned width = 1; width <= 64; width++) {
        make_sample(width, &sample);
        for (size_t groups = 0; groups <= GROUPS_MAX; groups++) {
            for (size_t shift = 0; shift < ALIGNMENTS; shift++) {
                if (loops)
                    check_unpacks(loops, &sample, groups, shift);
                else
                    check_packs(&sample, groups, shift);
            }
        }
    }
}

static void portable_loops_unpack(void **state)
{
    (void)state;
    check_each(&firn_bit_groups_portable);
}

static void vector_loops_do_the_same(void **state)
{
    (void)state;
    if (!firn_bit_groups_vector())
        skip();
    check_each(firn_bit_groups_vector());
}

static void packs_groups(void **state)
{
    (void)state;
    check_each(NULL);
}

static void best_loops_are_chosen(void **state)
{
    (void)state;
    const struct firn_bit_groups *vector = firn_bit_groups_vector();
    assert_ptr_equal(firn_bit_groups(), vector ? vector : &firn_bit_groups_portable);
}

/* Packs `count` values and expects their bits, zeros behind them, and the end of the last group. */
static void check_array(const struct sample *sample, size_t count)
{
    uint8_t wanted[sizeof sample->packed + FIRN_GROUP_SLACK_BYTES] = { 0 }, out[sizeof wanted];
    size_t bytes = (count + FIRN_GROUP_VALUES - 1) / FIRN_GROUP_VALUES * sample->width;
    size_t bits = count * sample->width;
    memcpy(wanted, sample->packed, (bits + 7) / 8);
    if (bits % 8)
        wanted[bits / 8] &= (uint8_t)((1u << bits % 8) - 1);
    assert_ptr_equal(firn_pack_u64(out, sample->width, sample->u64, count), out + bytes);
    assert_memory_equal(out, wanted, bytes);
    if (sample->width <= 32) {
        assert_ptr_equal(firn_pack_u32(out, sample->width, sample->u32, count), out + bytes);
        assert_memory_equal(out, wanted, bytes);
    }
    if (sample->width <= 8) {
        assert_ptr_equal(firn_pack_u8(out, sample->width, sample->u8, count), out + bytes);
        assert_memory_equal(out, wanted, bytes);
    }
}

static void last_group_is_filled_with_zeros(void **state)
{
    (void)state;
    struct sample sample;
    for (unsigned width = 0; width <= 64; width++) {
        make_sample(width, &sample);
        for (size_t count = 0; count <= VALUES_MAX; count++)
            check_array(&sample, count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(portable_loops_unpack), TEST(vector_loops_do_the_same),        TEST(packs_groups),
        TEST(best_loops_are_chosen), TEST(last_group_is_filled_with_zeros),
    };
    return cmocka_run_group_tests_name("bit_groups", tests, NULL, NULL);
}
