/* Every codec: what was compressed comes back; wrong lengths and broken bytes are errors, never overruns. */
#include "check.h"

#include "base/math.h"
#include "base/pool.h"
#include "format/codec/codec.h"

#include <zstd.h>

static struct firn_bytes sample(struct firn_op *op, size_t len)
{
    uint8_t *data = firn_arena_alloc(op->arena, len);
    uint32_t state = 1;
    for (size_t i = 0; i < len; i++) {
        state = state * 1664525 + 1013904223;
        data[i] = i % 64 < 40 ? (uint8_t) "firn is snow that lasts"[i % 23] : (uint8_t)(state >> 24);
    }
    return (struct firn_bytes){ data, len };
}

static struct firn_bytes compressed(struct firn_op *op, struct firn_codec_context *context, enum firn_codec codec,
                                    struct firn_bytes in)
{
    struct firn_buffer *out = FIRN_NEW(op->arena, struct firn_buffer);
    firn_buffer_defer(op->arena, out);
    CHECK_OK(op, firn_codec_compress(op, context, codec, FIRN_CODEC_LEVEL_DEFAULT, in, out));
    return firn_bytes_copy(op->arena, firn_buffer_bytes(out));
}

static void check_round_trip(struct firn_op *op, struct firn_codec_context *context, enum firn_codec codec, size_t len)
{
    struct firn_bytes in = sample(op, len);
    struct firn_bytes packed = compressed(op, context, codec, in);
    uint8_t *out = firn_arena_alloc(op->arena, len + 1);

    CHECK(firn_codec_length_plausible(codec, packed, len), "%s %zu", firn_codec_name(codec), len);
    CHECK_OK(op, firn_codec_decompress(op, context, codec, packed, out, len));
    CHECK(memcmp(out, in.data, len) == 0, "%s %zu", firn_codec_name(codec), len);
    CHECK_STATUS(op, FIRN_CORRUPT, firn_codec_decompress(op, context, codec, packed, out, len + 1));
    if (len > 0) {
        uint8_t *shorter = firn_arena_alloc(op->arena, len - 1);
        CHECK_STATUS(op, FIRN_CORRUPT, firn_codec_decompress(op, context, codec, packed, shorter, len - 1));
    }
}

static void test_round_trip(void **state)
{
    static const size_t lengths[] = { 0, 1, 7, 1000, 65536, 300000 };
    struct firn_op *op = test_op(state);
    struct firn_codec_context *context;
    CHECK_OK(op, firn_codec_context_open(op, &context));
    for (unsigned codec = 0; codec < FIRN_CODEC_COUNT; codec++)
        for (size_t i = 0; i < FIRN_COUNT_OF(lengths); i++)
            check_round_trip(op, context, (enum firn_codec)codec, lengths[i]);
    firn_codec_context_close(context);
}

/* In and out again by turns of codecs, in any thread. */
static firn_status pass_through(struct firn_op *op, void *context, size_t index)
{
    enum firn_codec codec = (enum firn_codec)(index % FIRN_CODEC_COUNT);
    struct firn_bytes in = sample(op, 1000 + index * 100);
    struct firn_buffer packed = { 0 };
    uint8_t *out = firn_arena_alloc(op->arena, in.len);
    firn_status status = firn_codec_compress(op, context, codec, FIRN_CODEC_LEVEL_DEFAULT, in, &packed);
    if (status == FIRN_OK)
        status = firn_codec_decompress(op, context, codec, firn_buffer_bytes(&packed), out, in.len);
    firn_buffer_done(&packed);
    FIRN_TRY(status);
    return memcmp(out, in.data, in.len) == 0 ? FIRN_OK
                                             : firn_fail(op, FIRN_CORRUPT, "block %zu came back wrong", index);
}

static void threads_may_share_a_context(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_codec_context *context;
    struct firn_pool *pool;
    CHECK_OK(op, firn_codec_context_open(op, &context));
    CHECK_OK(op, firn_pool_open(op, 8, &pool));
    CHECK_OK(op, firn_pool_run(op, pool, 400, 0, pass_through, context));
    firn_pool_close(pool);
    firn_codec_context_close(context);
}

static void test_unsized(void **state)
{
    static const enum firn_codec codecs[] = { FIRN_CODEC_NONE, FIRN_CODEC_SNAPPY, FIRN_CODEC_GZIP, FIRN_CODEC_ZSTD,
                                              FIRN_CODEC_DEFLATE };
    static const size_t lengths[] = { 1, 1000, 300000 };
    struct firn_op *op = test_op(state);
    struct firn_codec_context *context;
    CHECK_OK(op, firn_codec_context_open(op, &context));
    for (size_t i = 0; i < FIRN_COUNT_OF(codecs) * FIRN_COUNT_OF(lengths); i++) {
        enum firn_codec codec = codecs[i / FIRN_COUNT_OF(lengths)];
        struct firn_bytes in = sample(op, lengths[i % FIRN_COUNT_OF(lengths)]);
        struct firn_bytes packed = compressed(op, context, codec, in);
        struct firn_buffer out = { 0 };
        CHECK_OK(op, firn_buffer_append(op, &out, "kept", 4));
        CHECK_OK(op, firn_codec_decompress_unsized(op, context, codec, packed, in.len, &out));
        CHECK(out.len == in.len + 4 && memcmp(out.data, "kept", 4) == 0, "%s", firn_codec_name(codec));
        CHECK(memcmp(out.data + 4, in.data, in.len) == 0, "%s", firn_codec_name(codec));
        CHECK_STATUS(op, FIRN_LIMIT, firn_codec_decompress_unsized(op, context, codec, packed, in.len - 1, &out));
        firn_buffer_done(&out);
    }
    firn_codec_context_close(context);
}

/* Cut anywhere and flipped anywhere: an error or some bytes, and nothing a sanitizer would report. */
static void test_broken(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_codec_context *context;
    struct firn_bytes in = sample(op, 500);
    uint8_t *out = firn_arena_alloc(op->arena, in.len);
    CHECK_OK(op, firn_codec_context_open(op, &context));
    for (unsigned codec = 1; codec < FIRN_CODEC_COUNT; codec++) {
        struct firn_bytes packed = compressed(op, context, (enum firn_codec)codec, in);
        for (size_t i = 0; i < packed.len; i++) {
            uint8_t *copy = malloc(packed.len);
            memcpy(copy, packed.data, packed.len);
            copy[i] ^= 0xff;
            FIRN_IGNORE(firn_codec_decompress(op, context, (enum firn_codec)codec,
                                              (struct firn_bytes){ copy, packed.len }, out, in.len),
                        "any outcome will do");
            FIRN_IGNORE(
                firn_codec_decompress(op, context, (enum firn_codec)codec, (struct firn_bytes){ copy, i }, out, in.len),
                "any outcome will do");
            free(copy);
        }
    }
    firn_codec_context_close(context);
}

/* What has been written under the names GZIP and LZ4. */
static void test_other_framings(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_codec_context *context;
    uint8_t out[20];
    CHECK_OK(op, firn_codec_context_open(op, &context));

    struct firn_bytes in = { (const uint8_t *)"0123456789", 10 };
    struct firn_bytes bare = compressed(op, context, FIRN_CODEC_DEFLATE, in);
    CHECK_OK(op, firn_codec_decompress(op, context, FIRN_CODEC_GZIP, bare, out, 10));

    struct firn_buffer members = { 0 };
    for (int i = 0; i < 2; i++)
        CHECK_OK(op, firn_codec_compress(op, context, FIRN_CODEC_GZIP, 9, in, &members));
    CHECK_OK(op, firn_codec_decompress(op, context, FIRN_CODEC_GZIP, firn_buffer_bytes(&members), out, 20));
    CHECK(memcmp(out, "01234567890123456789", 20) == 0, "two members");
    firn_buffer_done(&members);

    CHECK(firn_codec_length_plausible(FIRN_CODEC_ZSTD, (struct firn_bytes){ 0 }, 0), "no frames hold nothing");
    CHECK_OK(op, firn_codec_decompress(op, context, FIRN_CODEC_ZSTD, (struct firn_bytes){ 0 }, out, 0));

    struct firn_bytes block = compressed(op, context, FIRN_CODEC_LZ4_RAW, in);
    CHECK_OK(op, firn_codec_decompress(op, context, FIRN_CODEC_LZ4_HADOOP, block, out, 10));
    firn_codec_context_close(context);
}

/* Values of `width` bytes that share some of their places with the one before, mostly. */
static struct firn_bytes alike_values(struct firn_op *op, size_t len, size_t width, uint64_t *random)
{
    uint8_t *data = firn_arena_alloc(op->arena, len);
    uint64_t shared = *random * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 0; i < len; i++) {
        *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407;
        bool repeats = i >= width && (shared >> (len - i) % width % 64 & 1) && *random >> 58 != 0;
        data[i] = repeats ? data[i - width] : (uint8_t)(*random >> 40);
    }
    return (struct firn_bytes){ data, len };
}

/* Gives how large the compressed form is; 0: there is none. */
static size_t pack_values(struct firn_op *op, struct firn_codec_context *context,
                          const struct firn_codec_values *values, struct firn_bytes in)
{
    struct firn_buffer packed = { 0 };
    uint8_t *out = firn_arena_alloc(op->arena, in.len + 1);
    bool done;
    CHECK_OK(op, firn_buffer_append(op, &packed, "kept", 4));
    CHECK_OK(op, firn_codec_compress_values(op, context, values, in, &packed, &done));
    size_t len = packed.len - 4;
    CHECK(done == (len > 0), "%zu bytes for %zu of width %zu", len, in.len, values->width);
    CHECK(memcmp(packed.data, "kept", 4) == 0, "width %zu", values->width);
    if (done) {
        struct firn_bytes made = { packed.data + 4, len };
        CHECK_OK(op, firn_codec_decompress(op, context, FIRN_CODEC_ZSTD, made, out, in.len));
        CHECK(memcmp(out, in.data, in.len) == 0, "%zu bytes of width %zu", in.len, values->width);
    }
    firn_buffer_done(&packed);
    return len;
}

/* Blocks of 128 KiB and their rests, values cut by them, bytes in front of the first value. */
static void values_of_any_width_come_back(void **state)
{
    enum { LEN_MAX = 400000, BLOCK = 131072, ROUNDS = 150 };
    struct firn_op *op = test_op(state);
    struct firn_codec_context *context;
    uint64_t random = 1;
    size_t done_count = 0;
    CHECK_OK(op, firn_codec_context_open(op, &context));
    for (size_t i = 0; i < ROUNDS; i++) {
        size_t width = 1 + random % 70, len = (random >> 20) % (i % 4 == 0 ? LEN_MAX : 5000);
        if (i % 5 == 0)
            len = BLOCK * (1 + i % 3) + (random >> 8) % 16;
        const struct firn_codec_values values = { width, random >> 40 & 1, random >> 41 & 1 };
        struct firn_bytes in = alike_values(op, len, width, &random);
        done_count += pack_values(op, context, &values, in) > 0;
    }
    CHECK(done_count > ROUNDS / 4, "%zu", done_count);
    firn_codec_context_close(context);
}

static void values_are_packed_by_what_they_have_in_common(void **state)
{
    enum { COUNT = 40000, WIDTH = 8, LEN = COUNT * WIDTH };
    struct firn_op *op = test_op(state);
    struct firn_codec_context *context;
    uint8_t *data = firn_arena_alloc(op->arena, LEN + WIDTH);
    uint64_t random = 1;
    CHECK_OK(op, firn_codec_context_open(op, &context));
    for (size_t i = 0; i < COUNT; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        firn_store_le64(data + i * WIDTH, random >> 48); /* two bytes, and six of zeros */
    }
    struct firn_bytes numbers = { data, LEN };
    for (int i = 0; i < 4; i++) {
        struct firn_codec_values values = { WIDTH, i & 1, i & 2 };
        size_t len = pack_values(op, context, &values, numbers);
        CHECK(len > 0 && len < COUNT * 2 + 2000, "%zu bytes", len);
        len =
            pack_values(op, context, &values, (struct firn_bytes){ data + 3, LEN - 3 }); /* three bytes less in front */
        CHECK(len > 0 && len < COUNT * 2 + 2000, "%zu bytes", len);
    }

    struct firn_codec_values values = { .width = WIDTH };
    assert_int_equal(pack_values(op, context, &values, (struct firn_bytes){ data, 0 }), 0);
    assert_int_equal(pack_values(op, context, &values, (struct firn_bytes){ data, 100 }), 0);
    for (size_t i = LEN / 2; i < LEN; i++) { /* nothing in common from some block on */
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        data[i] = (uint8_t)(random >> 56);
    }
    assert_int_equal(pack_values(op, context, &values, numbers), 0);
    static const size_t other_widths[] = { 0, 1, 3, 65, SIZE_MAX };
    for (size_t i = 0; i < FIRN_COUNT_OF(other_widths); i++) {
        values.width = other_widths[i];
        assert_int_equal(pack_values(op, context, &values, numbers), 0);
    }
    firn_codec_context_close(context);
}

static void check_prepended(struct firn_op *op, struct firn_codec_context *context, enum firn_codec codec,
                            size_t prefix_len, struct firn_bytes in, struct firn_bytes packed)
{
    struct firn_bytes prefix = sample(op, prefix_len);
    struct firn_buffer joined = { 0 };
    uint8_t *out = firn_arena_alloc(op->arena, prefix_len + in.len + 1);
    struct firn_bytes rest;
    bool done;
    CHECK_OK(op, firn_buffer_append(op, &joined, "kept", 4));
    CHECK_OK(op, firn_codec_prepend(op, codec, prefix, packed, in.len, &joined, &rest, &done));
    CHECK_OK(op, firn_buffer_append(op, &joined, rest.data, rest.len));
    CHECK(done, "%s %zu", firn_codec_name(codec), prefix_len);
    struct firn_bytes made = { joined.data + 4, joined.len - 4 };
    CHECK(memcmp(joined.data, "kept", 4) == 0 && firn_codec_length_plausible(codec, made, prefix_len + in.len), "%s",
          firn_codec_name(codec));
    CHECK_OK(op, firn_codec_decompress(op, context, codec, made, out, prefix_len + in.len));
    CHECK(memcmp(out, prefix.data, prefix_len) == 0 && memcmp(out + prefix_len, in.data, in.len) == 0, "%s %zu",
          firn_codec_name(codec), prefix_len);
    firn_buffer_done(&joined);
}

/* Levels go before a page's values, whatever the lengths of both. */
static void test_prepend(void **state)
{
    static const enum firn_codec codecs[] = { FIRN_CODEC_NONE, FIRN_CODEC_SNAPPY, FIRN_CODEC_ZSTD };
    static const size_t lengths[] = { 1, 7, 200, 300, 1000, 65536, 300000 }, prefixes[] = { 0, 1, 8, 1024, 5000 };
    struct firn_op *op = test_op(state);
    struct firn_codec_context *context;
    CHECK_OK(op, firn_codec_context_open(op, &context));
    for (size_t c = 0; c < FIRN_COUNT_OF(codecs); c++)
        for (size_t i = 0; i < FIRN_COUNT_OF(lengths); i++) {
            struct firn_bytes in = sample(op, lengths[i]);
            struct firn_bytes packed = compressed(op, context, codecs[c], in);
            for (size_t p = 0; p < FIRN_COUNT_OF(prefixes); p++)
                check_prepended(op, context, codecs[c], prefixes[p], in, packed);
        }
    firn_codec_context_close(context);
}

/* As Java writes it: a stream of unknown length, here and there with a checksum, and a small window. */
static struct firn_bytes streamed(struct firn_op *op, struct firn_bytes in, int checksum, int window_log)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    size_t capacity = ZSTD_compressBound(in.len) + 100;
    uint8_t *data = firn_arena_alloc(op->arena, capacity);
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, checksum);
    ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
    ZSTD_outBuffer to = { .dst = data, .size = capacity };
    ZSTD_inBuffer half = { .src = in.data, .size = in.len / 2 }, all = { in.data, in.len, in.len / 2 };
    CHECK(!ZSTD_isError(ZSTD_compressStream2(context, &to, &half, ZSTD_e_flush)), "zstd");
    CHECK(ZSTD_compressStream2(context, &to, &all, ZSTD_e_end) == 0, "zstd");
    ZSTD_freeCCtx(context);
    return (struct firn_bytes){ data, to.pos };
}

static void test_prepend_to_streams(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_codec_context *context;
    CHECK_OK(op, firn_codec_context_open(op, &context));
    for (int checksum = 0; checksum < 2; checksum++)
        for (int window_log = 10; window_log < 20; window_log += 3) {
            struct firn_bytes in = sample(op, 200000);
            check_prepended(op, context, FIRN_CODEC_ZSTD, 3000, in, streamed(op, in, checksum, window_log));
        }
    firn_codec_context_close(context);
}

/* Nothing is put before what is not one whole frame of the announced length. */
static void test_prepend_refused(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_codec_context *context;
    struct firn_buffer out = { 0 };
    struct firn_bytes in = sample(op, 500), prefix = sample(op, 8), rest;
    bool done;
    CHECK_OK(op, firn_codec_context_open(op, &context));
    for (unsigned codec = 1; codec < FIRN_CODEC_COUNT; codec++) {
        struct firn_bytes packed = compressed(op, context, (enum firn_codec)codec, in);
        CHECK_OK(op, firn_codec_prepend(op, (enum firn_codec)codec, prefix, packed, in.len + 1, &out, &rest, &done));
        CHECK(!done && out.len == 0, "%s of another length", firn_codec_name((enum firn_codec)codec));
    }
    struct firn_bytes packed = compressed(op, context, FIRN_CODEC_ZSTD, in);
    for (size_t len = 0; len < packed.len; len++) {
        struct firn_bytes cut = { packed.data, len };
        CHECK_OK(op, firn_codec_prepend(op, FIRN_CODEC_ZSTD, prefix, cut, in.len, &out, &rest, &done));
        CHECK(!done && out.len == 0, "a frame cut at %zu", len);
    }
    uint8_t *twice = firn_arena_alloc(op->arena, 2 * packed.len);
    memcpy(twice, packed.data, packed.len);
    memcpy(twice + packed.len, packed.data, packed.len);
    struct firn_bytes two = { twice, 2 * packed.len };
    CHECK_OK(op, firn_codec_prepend(op, FIRN_CODEC_ZSTD, prefix, two, in.len, &out, &rest, &done));
    CHECK(!done && out.len == 0, "two frames");
    firn_buffer_done(&out);
    firn_codec_context_close(context);
}

static void test_names(void **state)
{
    (void)state;
    enum firn_codec codec;
    CHECK(firn_codec_of_name(FIRN_TEXT("ZSTD"), &codec) && codec == FIRN_CODEC_ZSTD, "zstd");
    CHECK(firn_codec_of_name(FIRN_TEXT("lz4"), &codec) && codec == FIRN_CODEC_LZ4_RAW, "lz4");
    CHECK(firn_codec_of_name(FIRN_TEXT("Uncompressed"), &codec) && codec == FIRN_CODEC_NONE, "uncompressed");
    CHECK(!firn_codec_of_name(FIRN_TEXT("lzo"), &codec), "lzo");
    CHECK(!firn_codec_of_name(FIRN_TEXT("deflate"), &codec), "deflate");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_round_trip),
        TEST(threads_may_share_a_context),
        TEST(test_unsized),
        TEST(test_broken),
        TEST(test_other_framings),
        TEST(test_names),
        TEST(test_prepend),
        TEST(test_prepend_to_streams),
        TEST(test_prepend_refused),
        TEST(values_of_any_width_come_back),
        TEST(values_are_packed_by_what_they_have_in_common),
    };
    return cmocka_run_group_tests_name("codec", tests, NULL, NULL);
}
