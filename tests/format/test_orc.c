/* ORC: the specification's examples of run lengths, a file of Impala's, and the same with every byte damaged. */
#include "support/corpus.h"

#include "base/math.h"
#include "format/orc/orc.h"
#include "format/orc/run_length.h"

#define DELETES                                                                                                        \
    "iceberg/impala_pos_delete_some_files_orc/data/00000-0-delete-boroknagyz_20220830155430_32c848c9-37ad-4f77-a0fd-"  \
    "0a254d15246c-job_16618645111571_0004-00001.orc"

enum { VALUES_MAX = 100 };

struct run_case {
    const char *name;
    enum firn_run_version version;
    bool is_signed;
    uint8_t bytes[40];
    size_t len;
    int64_t values[VALUES_MAX];
    uint32_t count;
};

static const struct run_case run_cases[] = {
    { "version 1, a run", FIRN_RUNS_V1, false, { 0x02, 0x00, 0x07 }, 3, { 7, 7, 7, 7, 7 }, 5 },
    { "version 1, going down", FIRN_RUNS_V1, false, { 0x01, 0xff, 0x64 }, 3, { 100, 99, 98, 97 }, 4 },
    { "version 1, literals", FIRN_RUNS_V1, false, { 0xfb, 2, 3, 6, 7, 11 }, 6, { 2, 3, 6, 7, 11 }, 5 },
    { "version 1, signed", FIRN_RUNS_V1, true, { 0xfe, 1, 4 }, 3, { -1, 2 }, 2 },
    { "short repeat", FIRN_RUNS_V2, false, { 0x0a, 0x27, 0x10 }, 3, { 10000, 10000, 10000, 10000, 10000 }, 5 },
    { "direct",
      FIRN_RUNS_V2,
      false,
      { 0x5e, 0x03, 0x5c, 0xa1, 0xab, 0x1e, 0xde, 0xad, 0xbe, 0xef },
      10,
      { 23713, 43806, 57005, 48879 },
      4 },
    { "patched base",
      FIRN_RUNS_V2,
      false,
      { 0x8e, 0x13, 0x2b, 0x21, 0x07, 0xd0, 0x1e, 0x00, 0x14, 0x70, 0x28, 0x32, 0x3c, 0x46,
        0x50, 0x5a, 0x64, 0x6e, 0x78, 0x82, 0x8c, 0x96, 0xa0, 0xaa, 0xb4, 0xbe, 0xfc, 0xe8 },
      28,
      { 2030, 2000, 2020, 1000000, 2040, 2050, 2060, 2070, 2080, 2090,
        2100, 2110, 2120, 2130,    2140, 2150, 2160, 2170, 2180, 2190 },
      20 },
    { "delta",
      FIRN_RUNS_V2,
      false,
      { 0xc6, 0x09, 0x02, 0x02, 0x22, 0x42, 0x42, 0x46 },
      8,
      { 2, 3, 5, 7, 11, 13, 17, 19, 23, 29 },
      10 },
    { "version 1, runs and literals", FIRN_RUNS_V1, false, { 0x00, 0x01, 0x05, 0xfe, 8, 9 }, 6, { 5, 6, 7, 8, 9 }, 5 },
    { "runs one after the other", FIRN_RUNS_V2, false, { 0x00, 0x07, 0x00, 0x08 }, 4, { 7, 7, 7, 8, 8, 8 }, 6 },
    { "fixed delta, signed", FIRN_RUNS_V2, true, { 0xc0, 0x03, 0x01, 0x03 }, 4, { -1, -3, -5, -7 }, 4 },
};

static void runs_are_those_of_the_specification(void **state)
{
    (void)state;
    for (size_t i = 0; i < FIRN_COUNT_OF(run_cases); i++) {
        const struct run_case *run = &run_cases[i];
        int64_t got[VALUES_MAX];
        struct firn_cursor in = firn_cursor_of((struct firn_bytes){ run->bytes, run->len });
        firn_runs_take_integers(&in, run->version, run->is_signed, got, run->count);
        CHECK(!in.failure && firn_cursor_left(&in) == 0, "%s: %s", run->name,
              in.failure ? in.failure : "bytes are left");
        for (uint32_t k = 0; k < run->count; k++)
            CHECK(got[k] == run->values[k], "%s: value %" PRIu32 " is %" PRId64, run->name, k, got[k]);
    }
}

static void runs_of_bytes_and_bits(void **state)
{
    static const uint8_t bytes[] = { 0x01, 0x09, 0xfe, 0x44, 0x45 }, bits[] = { 0xff, 0x80, 0x00, 0xff };
    uint8_t got[20];
    (void)state;
    struct firn_cursor in = firn_cursor_of((struct firn_bytes){ bytes, sizeof bytes });
    firn_runs_take_bytes(&in, got, 6);
    CHECK(!in.failure && memcmp(got, "\x09\x09\x09\x09\x44\x45", 6) == 0);
    in = firn_cursor_of((struct firn_bytes){ bits, sizeof bits });
    firn_runs_take_bits(&in, got, 12);
    CHECK(!in.failure && memcmp(got, "\1\0\0\0\0\0\0\0\1\1\1\1", 12) == 0);
    firn_runs_take_bits(&in, got, 20);
    CHECK(in.failure);
}

/* Everything of a file, as far as it can be read. */
static firn_status read_all(struct firn_op *op, struct firn_bytes file, struct firn_text *out)
{
    struct firn_codec_context *codecs;
    struct firn_orc_footer footer;
    *out = FIRN_TEXT("");
    FIRN_TRY(firn_codec_context_open(op, &codecs));
    firn_status status = firn_orc_footer_parse(op, codecs, file, &footer);
    for (uint32_t s = 0; status == FIRN_OK && s < footer.stripe_count; s++) {
        struct firn_orc_stripe *stripe;
        status = firn_orc_stripe_open(op, codecs, &footer, file, s, &stripe);
        for (uint32_t i = 1; status == FIRN_OK && i < footer.type_count; i++) {
            struct firn_orc_column column = { 0 };
            status = firn_orc_column_read(op, stripe, i, NULL, &column);
            const int64_t *integers = (const int64_t *)(const void *)column.integers.data;
            const struct firn_bytes *slices = (const struct firn_bytes *)(const void *)column.slices.data;
            uint64_t count = status == FIRN_OK ? firn_orc_column_value_count(&column) : 0;
            for (uint64_t k = 0; k < count && column.integers.len > 0; k++)
                *out = firn_text_format(op->arena, "%.*s %" PRId64, FIRN_FMT(*out), integers[k]);
            for (uint64_t k = 0; k < count && column.slices.len > 0; k++)
                *out = firn_text_format(op->arena, "%.*s %.*s", FIRN_FMT(*out), (int)FIRN_MIN(slices[k].len, 4),
                                        (const char *)slices[k].data);
            firn_orc_column_done(&column);
        }
    }
    firn_codec_context_close(codecs);
    return status;
}

static void a_file_is_read(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_text root = corpus_root(op), got;
    CORPUS_OR_SKIP(root);
    struct firn_bytes file = corpus_file(op, "%.*s/" DELETES, FIRN_FMT(root));
    CHECK_OK(op, read_all(op, file, &got));
    CHECK(firn_text_is(got, " hdfs hdfs hdfs 0 1 2 7 8 9 g h i"), "%.*s", FIRN_FMT(got));
}

/* Any answer will do, but an answer there must be: sanitizers watch. */
static void damage_is_survived(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_text root = corpus_root(op), got;
    CORPUS_OR_SKIP(root);
    struct firn_bytes file = corpus_file(op, "%.*s/" DELETES, FIRN_FMT(root));
    static const uint8_t changes[] = { 0x01, 0x80, 0xff };
    for (size_t at = 0; at < file.len; at++) {
        struct firn_arena arena;
        struct firn_op inner = *op;
        firn_arena_init(&arena);
        inner.arena = &arena;
        uint8_t *copy = (uint8_t *)(uintptr_t)firn_bytes_copy(&arena, file).data;
        for (size_t i = 0; i < sizeof changes; i++) {
            copy[at] = file.data[at] ^ changes[i];
            FIRN_IGNORE(read_all(&inner, (struct firn_bytes){ copy, file.len }, &got), "any answer will do");
        }
        FIRN_IGNORE(read_all(&inner, (struct firn_bytes){ copy, at }, &got), "cut short");
        firn_arena_done(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(runs_are_those_of_the_specification),
        TEST(runs_of_bytes_and_bits),
        TEST(a_file_is_read),
        TEST(damage_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
