/* Pages of a chunk that is read in pieces: they are those of the chunk at hand, and each stays for as long as it is
 * said to. */
#include "check.h"

#include "base/math.h"
#include "format/parquet/page_stream.h"

enum { PAGES = 200, BODY_MAX = 3000, OFFSET = 77 };

struct chunk {
    struct firn_buffer bytes;
    uint32_t begins[PAGES + 1];
};

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return *seed >> 33;
}

static void make_chunk(struct firn_op *op, struct chunk *chunk)
{
    uint64_t seed = 1;
    for (uint32_t i = 0; i < PAGES; i++) {
        struct firn_page_header header = { .type = FIRN_PAGE_DATA, .value_count = (int32_t)i };
        uint8_t *body;
        uint32_t len = (uint32_t)(next_random(&seed) % (i % 50 == 49 ? 10 * BODY_MAX : BODY_MAX));
        header.compressed_bytes = header.uncompressed_bytes = (int32_t)len;
        chunk->begins[i] = (uint32_t)chunk->bytes.len;
        CHECK_OK(op, firn_page_header_print(op, &header, &chunk->bytes));
        CHECK_OK(op, firn_buffer_extend(op, &chunk->bytes, len, &body));
        for (uint32_t k = 0; k < len; k++)
            body[k] = (uint8_t)next_random(&seed);
    }
    chunk->begins[PAGES] = (uint32_t)chunk->bytes.len;
}

static firn_status read_chunk(struct firn_op *op, void *context, uint64_t offset, size_t len, uint8_t *out)
{
    const struct chunk *chunk = context;
    if (offset < OFFSET || offset - OFFSET + len > chunk->bytes.len)
        return firn_fail(op, FIRN_CORRUPT, "read outside of the chunk");
    memcpy(out, chunk->bytes.data + (offset - OFFSET), len);
    return FIRN_OK;
}

static void check_page(const struct chunk *chunk, const struct firn_page *page)
{
    uint32_t index = (uint32_t)page->header.value_count;
    uint32_t begin = chunk->begins[index], end = chunk->begins[index + 1];
    assert_int_equal(page->offset, begin);
    assert_int_equal(page->header_bytes.len + page->body.len, end - begin);
    assert_memory_equal(page->header_bytes.data, chunk->bytes.data + begin, page->header_bytes.len);
    assert_memory_equal(page->body.data, chunk->bytes.data + end - page->body.len, page->body.len);
}

/* Takes all pages, some of them to be dropped, some after a look at their header. */
static void check_stream(struct firn_op *op, const struct chunk *chunk, const struct firn_chunk_source *source,
                         uint64_t seed)
{
    struct firn_page_stream stream;
    struct firn_page kept = { 0 };
    bool has_kept = false;
    firn_page_stream_init(&stream, source);
    for (uint32_t i = 0; i < PAGES; i++) {
        struct firn_page_header header;
        struct firn_page page;
        bool is_dropped = next_random(&seed) % 4 == 0, is_peeked = next_random(&seed) % 4 == 0;
        assert_true(firn_page_stream_has_more(&stream));
        assert_int_equal(firn_page_stream_offset(&stream), chunk->begins[i]);
        if (is_peeked) {
            CHECK_OK(op, firn_page_stream_peek(op, &stream, &header));
            assert_int_equal(header.value_count, i);
            assert_int_equal(firn_page_stream_offset(&stream), chunk->begins[i]);
        }
        if (has_kept && is_peeked)
            check_page(chunk, &kept);
        CHECK_OK(op, firn_page_stream_next(op, &stream, true, &page));
        assert_int_equal(page.header.value_count, i);
        check_page(chunk, &page);
        if (has_kept && !is_peeked)
            check_page(chunk, &kept);
        has_kept = has_kept && !is_peeked;
        if (is_dropped) {
            firn_page_stream_drop(&stream);
        } else {
            kept = page;
            has_kept = true;
        }
    }
    assert_false(firn_page_stream_has_more(&stream));
    firn_page_stream_done(&stream);
}

static void pages_stay_as_long_as_is_said(void **state)
{
    static const size_t pieces[] = { 1, 7, 100, 1000, 4096, 100000, 10000000 };
    struct firn_op *op = test_op(state);
    struct chunk chunk = { 0 };
    make_chunk(op, &chunk);
    for (size_t i = 0; i < FIRN_COUNT_OF(pieces); i++)
        for (uint64_t seed = 0; seed < 8; seed++) {
            struct firn_buffer first = { 0 };
            struct firn_chunk_source source = {
                .read = read_chunk,
                .context = &chunk,
                .offset = OFFSET,
                .len = chunk.bytes.len,
                .piece_bytes = pieces[i],
            };
            if (seed % 2 == 1)
                CHECK_OK(op, firn_chunk_source_begin(op, &source, &first));
            check_stream(op, &chunk, &source, seed);
            firn_buffer_done(&first);
        }
    const struct firn_chunk_source whole = firn_chunk_source_of(firn_buffer_bytes(&chunk.bytes));
    check_stream(op, &chunk, &whole, 1);
    firn_buffer_done(&chunk.bytes);
}

/* A chunk that ends within a page, or whose page says that it is larger than what is left. */
static void cut_off_chunks_are_broken(void **state)
{
    struct firn_op *op = test_op(state);
    struct chunk chunk = { 0 };
    make_chunk(op, &chunk);
    for (uint32_t cut = 1; cut < 60; cut++) {
        struct firn_page page;
        struct firn_page_stream stream;
        struct firn_chunk_source source = {
            .read = read_chunk, .context = &chunk, .offset = OFFSET, .len = chunk.begins[1] - cut, .piece_bytes = 16
        };
        firn_page_stream_init(&stream, &source);
        CHECK_STATUS(op, FIRN_CORRUPT, firn_page_stream_next(op, &stream, true, &page));
        firn_page_stream_done(&stream);
    }
    firn_buffer_done(&chunk.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pages_stay_as_long_as_is_said),
        TEST(cut_off_chunks_are_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
