/* Temporary data: streams read back as they were written, a full disk, nothing left behind. */
#include "../check.h"

#include "../support/folder.h"
#include "base/pool.h"
#include "store/spill.h"

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>

enum { STREAMS = 3, RECORDS = 2000 };

struct streams {
    struct firn_spill_stream items[STREAMS];
};

/* Records of 1 to 50 bytes, and a long one now and then. */
static size_t record_len(size_t stream, int i)
{
    return i % 500 == 499 ? 9000 : (stream * 7 + (size_t)i * 13) % 50 + 1;
}

static firn_status write_stream(struct firn_op *op, void *context, size_t index)
{
    struct firn_spill_stream *stream = &((struct streams *)context)->items[index];
    for (int i = 0; i < RECORDS; i++) {
        uint8_t *at;
        size_t len = record_len(index, i);
        FIRN_TRY(firn_spill_append(op, stream, len, &at));
        memset(at, (int)(index * 100 + (size_t)i % 100), len);
    }
    return firn_spill_finish(op, stream);
}

static void check_record(size_t stream, int i, const struct firn_buffer *block, size_t *at)
{
    size_t len = record_len(stream, i);
    CHECK(*at + len <= block->len, "record %d of stream %zu is split", i, stream);
    for (size_t j = 0; j < len; j++)
        assert_int_equal(block->data[*at + j], (uint8_t)(stream * 100 + (size_t)i % 100));
    *at += len;
}

static firn_status read_stream(struct firn_op *op, void *context, size_t index)
{
    struct firn_spill_stream *stream = &((struct streams *)context)->items[index];
    struct firn_buffer block = { 0 };
    bool got;
    size_t at = 0;
    for (int i = 0; i < RECORDS; i++) {
        if (at == block.len) {
            CHECK_OK(op, firn_spill_next(op, stream, &block, &got));
            assert_true(got);
            at = 0;
        }
        check_record(index, i, &block, &at);
    }
    assert_int_equal(at, block.len);
    CHECK_OK(op, firn_spill_next(op, stream, &block, &got));
    assert_false(got);
    firn_buffer_done(&block);
    return FIRN_OK;
}

static void streams_come_back_as_they_were_written(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_budget budget = { .limit_bytes = 100000 };
    struct streams streams;
    struct firn_spill *spill;
    struct firn_pool *pool;
    op->budget = &budget;
    CHECK_OK(op, firn_pool_open(op, 2, &pool));
    CHECK_OK(op, firn_spill_open(op, &(struct firn_spill_config){ .expected_bytes = 1 }, &spill));
    for (int i = 0; i < STREAMS; i++)
        firn_spill_stream_init(&streams.items[i], spill, 4096);
    CHECK_OK(op, firn_pool_run(op, pool, STREAMS, 0, write_stream, &streams));
    uint64_t bytes = 0;
    for (int i = 0; i < STREAMS; i++) {
        assert_int_equal(streams.items[i].record_count, RECORDS);
        bytes += streams.items[i].bytes;
    }
    assert_int_equal(firn_spill_bytes(spill), bytes);
    CHECK_OK(op, firn_pool_run(op, pool, STREAMS - 1, 0, read_stream, &streams));
    for (int i = 0; i < STREAMS; i++)
        firn_spill_stream_done(&streams.items[i]);
    firn_spill_close(spill);
    firn_pool_close(pool);
    assert_int_equal(budget.used_bytes, 0);
    op->budget = NULL;
}

static size_t count_names(const char *folder)
{
    size_t count = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        count += entry->d_name[0] != '.' || entry->d_name[1] == 'f';
    closedir(dir);
    return count;
}

static void bytes_come_back_in_any_order(void **state)
{
    static const char *const texts[] = { "first", "", "the third of them" };
    struct firn_op *op = test_op(state);
    struct firn_spill *spill;
    struct firn_buffer out = { 0 };
    uint64_t offsets[3];
    CHECK_OK(op, firn_spill_open(op, &(struct firn_spill_config){ 0 }, &spill));
    for (size_t i = 0; i < 3; i++)
        CHECK_OK(op, firn_spill_put(op, spill, firn_bytes_of_text(firn_text_of(texts[i])), &offsets[i]));
    for (size_t i = 3; i-- > 0;) {
        CHECK_OK(op, firn_spill_get(op, spill, offsets[i], strlen(texts[i]), &out));
        CHECK(firn_text_is(firn_text_of_bytes(firn_buffer_bytes(&out)), texts[i]), "text %zu", i);
    }
    CHECK_OK(op, firn_spill_get(op, spill, offsets[2] + 4, 5, &out));
    CHECK(memcmp(out.data, "third", 5) == 0, "a part");
    CHECK_STATUS(op, FIRN_SYSTEM, firn_spill_get(op, spill, offsets[2], 1000, &out));
    firn_buffer_done(&out);
    firn_spill_close(spill);
}

static void the_file_has_no_name(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_text folder = folder_make(op->arena);
    struct firn_spill_stream stream;
    struct firn_spill *spill;
    uint8_t *at;
    op->temp_folder = folder;
    CHECK_OK(op, firn_spill_open(op, &(struct firn_spill_config){ 0 }, &spill));
    firn_spill_stream_init(&stream, spill, 16);
    for (int i = 0; i < 10; i++) {
        CHECK_OK(op, firn_spill_append(op, &stream, 16, &at));
        memset(at, i, 16);
    }
    assert_int_equal(firn_spill_bytes(spill), 9 * 16);
    assert_int_equal(count_names(folder.data), 0);
    firn_spill_stream_done(&stream);
    firn_spill_close(spill);
    folder_remove(folder);
    CHECK_STATUS(op, FIRN_NOT_FOUND, firn_spill_open(op, &(struct firn_spill_config){ 0 }, &spill));
    CHECK(strstr(op->error.text, folder.data) && strstr(op->error.hint, "--temp-dir"), "%s", op->error.text);
}

static void a_full_disk_says_what_was_needed(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_spill_stream stream;
    struct firn_spill *spill;
    struct rlimit old, low;
    uint8_t *at;
    firn_status status = FIRN_OK;
    struct firn_spill_config too_much = { .expected_bytes = UINT64_C(1) << 60 };
    CHECK_STATUS(op, FIRN_LIMIT, firn_spill_open(op, &too_much, &spill));
    CHECK(strstr(op->error.text, "1152921504606846976") && op->error.hint[0], "%s", op->error.text);

    CHECK_OK(op, firn_spill_open(op, &(struct firn_spill_config){ .expected_bytes = 54321 }, &spill));
    firn_spill_stream_init(&stream, spill, 4096);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    low = old;
    low.rlim_cur = 10000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    for (int i = 0; i < 100 && status == FIRN_OK; i++)
        if ((status = firn_spill_append(op, &stream, 1000, &at)) == FIRN_OK)
            memset(at, 1, 1000);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    CHECK_STATUS(op, FIRN_LIMIT, status);
    CHECK(strstr(op->error.text, "54321") && strstr(op->error.hint, "--temp-dir"), "%s", op->error.text);
    firn_spill_stream_done(&stream);
    firn_spill_close(spill);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(streams_come_back_as_they_were_written),
        TEST(bytes_come_back_in_any_order),
        TEST(the_file_has_no_name),
        TEST(a_full_disk_says_what_was_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
