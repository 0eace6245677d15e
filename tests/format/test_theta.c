/* Theta sketches: the bytes that the DataSketches library writes for the same values, what order and repetition leave
 * alone, how far estimates are off, and what must be refused. */
#include "check.h"

#include "base/math.h"
#include "format/puffin/theta.h"

static struct firn_bytes bytes_of(const char *text)
{
    return (struct firn_bytes){ (const uint8_t *)text, strlen(text) };
}

static void add_number(struct firn_op *op, struct firn_theta *sketch, int64_t number)
{
    uint8_t bytes[8];
    firn_store_le64(bytes, (uint64_t)number);
    CHECK_OK(op, firn_theta_add_value(op, sketch, (struct firn_bytes){ bytes, sizeof bytes }));
}

/* The bytes of a finished sketch as hexadecimal digits; the sketch is gone then. */
static const char *print(struct firn_op *op, struct firn_theta *sketch)
{
    struct firn_theta_compact compact;
    struct firn_buffer bytes = { 0 };
    firn_theta_finish(sketch, &compact);
    CHECK_OK(op, firn_theta_print(op, &compact, &bytes));
    char *out = firn_arena_alloc(op->arena, bytes.len * 2 + 1);
    for (size_t i = 0; i < bytes.len; i++)
        snprintf(out + i * 2, 3, "%02x", bytes.data[i]);
    firn_buffer_done(&bytes);
    firn_theta_done(sketch);
    return out;
}

/* What datasketches 5.2.0 (Python) serialises, but for two things as Java has them: the flag of a single hash, and the
 * sampling probability, 1.0. */
static void test_known_bytes(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        const char *values[3];
        const char *bytes;
    } texts[] = {
        { { NULL }, "01030300001ecc93" },
        { { "" }, "01030300001ecc93" },
        { { "iceberg", "iceberg" }, "01030300003acc9319e1926a76422e03" },
        { { "the quick brown fox jumps over the lazy dog", "a", "b" },
          "02030300001acc93030000000000803f857f40b689c7e534c652c50518c8185217c11d528507017b" },
    };
    struct firn_theta sketch;
    for (size_t i = 0; i < FIRN_COUNT_OF(texts); i++) {
        firn_theta_init(&sketch);
        for (size_t v = 0; v < 3 && texts[i].values[v]; v++)
            CHECK_OK(op, firn_theta_add_value(op, &sketch, bytes_of(texts[i].values[v])));
        const char *printed = print(op, &sketch);
        CHECK(strcmp(printed, texts[i].bytes) == 0, "case %zu: %s", i, printed);
    }
    firn_theta_init(&sketch);
    add_number(op, &sketch, 1);
    CHECK(strcmp(print(op, &sketch), "01030300003acc9315f97dcbbd86a105") == 0, "a number");
    firn_theta_init(&sketch);
    add_number(op, &sketch, 0);
    add_number(op, &sketch, -1);
    add_number(op, &sketch, 34);
    CHECK(strcmp(print(op, &sketch), "02030300001acc93030000000000803f"
                                     "6cb2f30dc6cf7b0ee56b61eec8804420d5b943d786293629") == 0,
          "numbers");
}

/* MurmurHash3 over every length of tail, by its own verification value. */
static void test_murmur(void **state)
{
    (void)state;
    uint8_t key[256], hashes[256 * 16];
    for (uint32_t i = 0; i < 256; i++) {
        key[i] = (uint8_t)i;
        struct firn_hash128 hash = firn_murmur3_128((struct firn_bytes){ key, i }, 256 - i);
        firn_store_le64(hashes + i * 16, hash.low);
        firn_store_le64(hashes + i * 16 + 8, hash.high);
    }
    struct firn_hash128 all = firn_murmur3_128((struct firn_bytes){ hashes, sizeof hashes }, 0);
    CHECK((uint32_t)all.low == 0x6384BA69, "0x%x", (uint32_t)all.low);
}

/* Up to as many values as are kept, the number is exact; beyond, the sketch still depends on the values alone. */
static void test_order_and_repetition(void **state)
{
    struct firn_op *op = test_op(state);
    static const int64_t sizes[] = { 1, 2, 31, 4096, 4097, 7169, 50000, 200000 };
    for (size_t i = 0; i < FIRN_COUNT_OF(sizes); i++) {
        int64_t size = sizes[i];
        struct firn_theta up, down;
        struct firn_theta_compact a, b;
        firn_theta_init(&up);
        firn_theta_init(&down);
        for (int64_t v = 0; v < size; v++) {
            add_number(op, &up, v);
            add_number(op, &down, size - 1 - v);
            add_number(op, &down, (size - v) / 2);
        }
        firn_theta_finish(&up, &a);
        firn_theta_finish(&down, &b);
        CHECK(a.theta == b.theta && a.count == b.count, "%" PRId64, size);
        CHECK(memcmp(a.hashes, b.hashes, a.count * sizeof *a.hashes) == 0, "%" PRId64, size);
        CHECK((a.theta == FIRN_THETA_ALL) == (size <= FIRN_THETA_ENTRIES), "%" PRId64, size);
        double estimate = firn_theta_estimate(&a), off = estimate / (double)size - 1;
        CHECK(size > FIRN_THETA_ENTRIES ? off > -0.05 && off < 0.05 : (int64_t)estimate == size, "%f", estimate);
        firn_theta_done(&up);
        firn_theta_done(&down);
    }
}

static void test_round_trip(void **state)
{
    struct firn_op *op = test_op(state);
    static const int64_t sizes[] = { 0, 1, 2, 4096, 10000 };
    for (size_t i = 0; i < FIRN_COUNT_OF(sizes); i++) {
        struct firn_theta sketch;
        struct firn_theta_compact compact, parsed;
        struct firn_buffer bytes = { 0 };
        firn_theta_init(&sketch);
        for (int64_t v = 0; v < sizes[i]; v++)
            add_number(op, &sketch, v);
        firn_theta_finish(&sketch, &compact);
        CHECK_OK(op, firn_theta_print(op, &compact, &bytes));
        CHECK_OK(op, firn_theta_parse(op, firn_buffer_bytes(&bytes), &parsed));
        CHECK(parsed.count == compact.count && parsed.theta == compact.theta, "%" PRId64, sizes[i]);
        CHECK(parsed.count == 0 || memcmp(parsed.hashes, compact.hashes, parsed.count * sizeof *parsed.hashes) == 0,
              "%" PRId64, sizes[i]);
        for (size_t cut = 0; cut < FIRN_MIN(bytes.len, 64); cut++)
            CHECK_STATUS(op, FIRN_CORRUPT, firn_theta_parse(op, (struct firn_bytes){ bytes.data, cut }, &parsed));
        firn_buffer_done(&bytes);
        firn_theta_done(&sketch);
    }
}

static void test_refused(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        const char *what;
        size_t at;
        uint8_t value;
        firn_status status;
    } cases[] = {
        { "family", 2, 2, FIRN_CORRUPT },          { "next version", 1, 4, FIRN_UNSUPPORTED },
        { "old version", 1, 2, FIRN_UNSUPPORTED }, { "no version", 1, 0x83, FIRN_CORRUPT },
        { "preamble", 0, 4, FIRN_CORRUPT },        { "no preamble", 0, 0, FIRN_CORRUPT },
        { "not compact", 5, 0x12, FIRN_CORRUPT },  { "no order", 5, 0x0a, FIRN_UNSUPPORTED },
        { "seed", 6, 0xcd, FIRN_CORRUPT },         { "count", 8, 1, FIRN_CORRUPT },
        { "order", 23, 0x7f, FIRN_CORRUPT },       { "past theta", 31, 0xff, FIRN_CORRUPT },
    };
    struct firn_theta sketch;
    struct firn_theta_compact compact;
    struct firn_buffer bytes = { 0 };
    firn_theta_init(&sketch);
    add_number(op, &sketch, 1);
    add_number(op, &sketch, 2);
    firn_theta_finish(&sketch, &compact);
    CHECK_OK(op, firn_theta_print(op, &compact, &bytes));
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        uint8_t was = bytes.data[cases[i].at];
        bytes.data[cases[i].at] = cases[i].value;
        firn_status status = firn_theta_parse(op, firn_buffer_bytes(&bytes), &compact);
        CHECK(status == cases[i].status, "%s: %s", cases[i].what, firn_status_name(status));
        bytes.data[cases[i].at] = was;
    }
    firn_buffer_done(&bytes);
    firn_theta_done(&sketch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_known_bytes), TEST(test_murmur),  TEST(test_order_and_repetition),
        TEST(test_round_trip),  TEST(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
