/* Keys of temporary files come back as they were, alike or not, of one length or of several; a body that was cut short
 * is refused. */
#include "../check.h"

#include "base/math.h"
#include "rewrite/run_keys.h"

enum { COUNT_MAX = 700, WIDTH_MAX = 24 };

/* Keys in order, whose last `varied` bytes differ; of each kind the least and the greatest there can be are among them.
 */
static void make_keys(struct firn_op *op, size_t width, size_t varied, uint32_t count, bool has_lengths,
                      struct firn_buffer *bytes, struct firn_buffer *offsets)
{
    uint64_t end;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t key[WIDTH_MAX + sizeof(uint32_t)];
        size_t len = width + (has_lengths ? i % 3 : 0), same = width - FIRN_MIN(varied, width);
        uint64_t offset = bytes->len, place = count < 2 ? 0 : (uint64_t)i * (UINT64_MAX / (count - 1));
        for (size_t at = 0; at < len; at++)
            key[at] = (uint8_t)(at < same ? 7 + at : at - same < 8 ? place >> (56 - 8 * (at - same)) : 9);
        if (i + 1 == count && count > 1)
            memset(key + same, 0xff, len - same);
        CHECK_OK(op, firn_buffer_append(op, offsets, &offset, sizeof offset));
        CHECK_OK(op, firn_buffer_append(op, bytes, key, len));
    }
    end = bytes->len;
    CHECK_OK(op, firn_buffer_append(op, offsets, &end, sizeof end));
}

static void check_same(const struct firn_row_keys *keys, const uint32_t *rows, const struct firn_row_keys *got)
{
    for (uint32_t i = 0; i < keys->count; i++)
        CHECK(firn_key_compare(firn_row_key(keys, rows[i]), firn_row_key(got, i)) == 0, "key %u of %u, %zu bytes", i,
              keys->count, keys->width);
}

/* The bytes stand alone, so that a sanitizer sees what is read behind them. */
static firn_status get(struct firn_op *op, struct firn_bytes body, const struct firn_row_keys *keys,
                       struct firn_run_keys *memory, uint8_t **alone, struct firn_row_keys *out)
{
    *alone = malloc(body.len + 1);
    memcpy(*alone, body.data, body.len);
    *alone = realloc(*alone, FIRN_MAX(body.len, 1));
    return firn_run_keys_get(op, (struct firn_bytes){ *alone, body.len }, keys->offsets ? 0 : keys->width, keys->count,
                             memory, out);
}

static void check_keys(struct firn_op *op, size_t width, size_t varied, uint32_t count, bool has_lengths)
{
    struct firn_buffer bytes = { 0 }, offsets = { 0 }, body = { 0 };
    struct firn_run_keys memory = { 0 };
    struct firn_row_keys got;
    uint32_t rows[COUNT_MAX];
    uint8_t *alone;
    make_keys(op, width, varied, count, has_lengths, &bytes, &offsets);
    struct firn_row_keys keys = { bytes.data, has_lengths ? (const uint64_t *)(const void *)offsets.data : NULL, width,
                                  count };
    for (uint32_t i = 0; i < count; i++)
        rows[i] = i;
    CHECK_OK(op, firn_run_keys_put(op, &keys, rows, count, &body));
    CHECK_OK(op, get(op, firn_buffer_bytes(&body), &keys, &memory, &alone, &got));
    check_same(&keys, rows, &got);
    free(alone);
    for (size_t len = 0; len < body.len; len += 1 + body.len / 50) {
        struct firn_bytes cut = { body.data, len };
        CHECK(get(op, cut, &keys, &memory, &alone, &got) == FIRN_SYSTEM, "%zu of %zu bytes", len, body.len);
        free(alone);
    }
    firn_run_keys_done(&memory);
    firn_buffer_done(&bytes);
    firn_buffer_done(&offsets);
    firn_buffer_done(&body);
}

static void keys_come_back(void **state)
{
    static const size_t widths[] = { 1, 7, 8, 9, 13, 16, WIDTH_MAX - 4 }, varied[] = { 0, 1, 2, 5, 8, 9, WIDTH_MAX };
    static const uint32_t counts[] = { 1, 2, 255, 256, 257, COUNT_MAX };
    for (size_t w = 0; w < FIRN_COUNT_OF(widths); w++)
        for (size_t v = 0; v < FIRN_COUNT_OF(varied); v++)
            for (size_t c = 0; c < FIRN_COUNT_OF(counts); c++)
                for (int has_lengths = 0; has_lengths < 2; has_lengths++)
                    check_keys(test_op(state), widths[w], varied[v], counts[c], has_lengths);
}

int main(void)
{
    const struct CMUnitTest tests[] = { TEST(keys_come_back) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
