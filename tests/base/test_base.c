/* Arenas, texts, maps, cursors, calendar and the thread pool. */
#include "check.h"

#include "base/buffer.h"
#include "base/cursor.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/math.h"
#include "base/pool.h"
#include "base/time.h"
#include "base/utf8.h"
#include "base/uuid.h"
#include "firn/measure.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

static void integers_parse_within_their_range(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool good;
        int64_t value;
    } cases[] = {
        { "0", true, 0 },
        { "-1", true, -1 },
        { "9223372036854775807", true, INT64_MAX },
        { "-9223372036854775808", true, INT64_MIN },
        { "9223372036854775808", false, 0 },
        { "-9223372036854775809", false, 0 },
        { "", false, 0 },
        { "-", false, 0 },
        { "+1", false, 0 },
        { " 1", false, 0 },
        { "1x", false, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t value = 0;
        bool good = firn_text_to_i64(firn_text_of(cases[i].text), &value);
        CHECK(good == cases[i].good && (!good || value == cases[i].value), "'%s'", cases[i].text);
    }
}

/* What a terminal would obey, and what is no text, is escaped; all else stays as it is. */
static void printable_texts(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        struct firn_text text;
        const char *printable, *utf8;
    } cases[] = {
        { FIRN_TEXT_INIT(""), "", "" },
        { FIRN_TEXT_INIT("a b \\x \xc3\xa9 \xe2\x82\xac"), "a b \\x \xc3\xa9 \xe2\x82\xac",
          "a b \\x \xc3\xa9 \xe2\x82\xac" },
        { FIRN_TEXT_INIT("a\nb\x1b[2J\x7f"), "a\\x0ab\\x1b[2J\\x7f", "a\nb\x1b[2J\x7f" },
        { FIRN_TEXT_INIT("\u202agpj\u202e\u2066x\u2069"),
          "\\xe2\\x80\\xaagpj\\xe2\\x80\\xae\\xe2\\x81\\xa6x\\xe2\\x81\\xa9", "\u202agpj\u202e\u2066x\u2069" },
        { FIRN_TEXT_INIT("\u2029\u202f\u2065\u206a"), "\u2029\u202f\u2065\u206a", "\u2029\u202f\u2065\u206a" },
        { FIRN_TEXT_INIT("\xc2\x9b\xc2\xa0"), "\\xc2\\x9b\xc2\xa0", "\xc2\x9b\xc2\xa0" },
        { FIRN_TEXT_INIT("bad\xff.parquet\xe2\x82"), "bad\\xff.parquet\\xe2\\x82", "bad\\xff.parquet\\xe2\\x82" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK(firn_text_is(firn_text_printable(op->arena, cases[i].text), cases[i].printable), "%s",
              cases[i].printable);
        CHECK(firn_text_is(firn_text_to_utf8(op->arena, cases[i].text), cases[i].utf8), "%s", cases[i].utf8);
    }
    CHECK(firn_text_is(firn_text_printable(op->arena, FIRN_TEXT("cut\0not")), "cut\\x00not"), "%s", "cut\\x00not");
    char out[8];
    assert_int_equal(firn_text_print(out, sizeof out, FIRN_TEXT("abcde\n")), 5); /* no half escape */
    assert_string_equal(out, "abcde");
}

static void messages_are_one_printable_line(void **state)
{
    struct firn_op *op = test_op(state);
    firn_fail(op, FIRN_CORRUPT, "file '%s'", "a\x1b[31m\xff");
    firn_context(op, FIRN_CORRUPT, "table %s", "t\nt");
    firn_hint(op, FIRN_CORRUPT, "look at %s", "\x07");
    assert_string_equal(op->error.text, "table t\\x0at: file 'a\\x1b[31m\\xff'");
    assert_string_equal(op->error.hint, "look at \\x07");
    firn_fail(op, FIRN_USAGE, "%0*d", FIRN_ERROR_TEXT_MAX * 2, 7); /* as much as fits, context and all */
    firn_context(op, FIRN_USAGE, "outer");
    assert_int_equal(strlen(op->error.text), FIRN_ERROR_TEXT_MAX - 1);
}

static void files_that_may_not_grow_are_a_limit(void **state)
{
    struct firn_op *op = test_op(state);
    assert_int_equal(firn_fail_errno(op, EFBIG, "cannot write"), FIRN_LIMIT);
    assert_non_null(strstr(op->error.hint, "ulimit -f"));
    assert_int_equal(firn_fail_errno(op, EMFILE, "cannot open"), FIRN_SYSTEM);
    assert_non_null(strstr(op->error.hint, "ulimit -n"));
}

static void scratch_goes_and_errors_stay(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_arena *results = op->arena;
    struct firn_scratch outer, inner;
    firn_scratch_begin(op, &outer);
    firn_scratch_begin(op, &inner);
    assert_ptr_equal(inner.results, &outer.arena);
    struct firn_text kept = firn_text_copy(outer.results, firn_text_format(op->arena, "%d", 17));
    CHECK_STATUS(op, FIRN_CORRUPT, firn_fail(op, FIRN_CORRUPT, "%.*s", FIRN_FMT(kept)));
    firn_scratch_end(op, &inner);
    assert_ptr_equal(op->arena, &outer.arena);
    firn_scratch_end(op, &outer);
    assert_ptr_equal(op->arena, results);
    assert_string_equal(op->error.text, "17");
    assert_true(firn_text_is(kept, "17"));
}

static void maps_keep_what_was_put(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_map map;
    firn_map_init(&map, op->arena);
    for (int i = 0; i < 5000; i++) {
        struct firn_text key = firn_text_format(op->arena, "key-%d", i);
        firn_map_put_text(&map, key)->value.number = (uint64_t)i;
    }
    assert_int_equal(map.count, 5000);
    for (int i = 0; i < 5000; i++) {
        struct firn_map_entry *entry = firn_map_find_text(&map, firn_text_format(op->arena, "key-%d", i));
        CHECK(entry && entry->value.number == (uint64_t)i, "key-%d", i);
    }
    assert_null(firn_map_find_text(&map, FIRN_TEXT("absent")));
}

static void varints_of_more_than_64_bits_fail(void **state)
{
    struct firn_op *op = test_op(state);
    static const uint8_t most[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 };
    static const uint8_t over[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02 };
    struct firn_cursor in = firn_cursor_of((struct firn_bytes){ most, sizeof most });
    assert_true(firn_take_varint64(&in) == UINT64_MAX);
    CHECK_OK(op, firn_cursor_finish(op, &in, "number"));
    in = firn_cursor_of((struct firn_bytes){ over, sizeof over });
    assert_true(firn_take_varint64(&in) == 0);
    CHECK_STATUS(op, FIRN_CORRUPT, firn_cursor_finish(op, &in, "number"));
    in = firn_cursor_of((struct firn_bytes){ most, 3 });
    assert_true(firn_take_varint64(&in) == 0);
    CHECK_STATUS(op, FIRN_CORRUPT, firn_cursor_finish(op, &in, "number"));
}

static void civil_dates_round_trip(void **state)
{
    (void)state;
    for (int64_t days = -800000; days < 800000; days += 17) {
        struct firn_civil civil = firn_civil_of_days(days);
        CHECK(firn_days_of_civil(civil) == days, "%lld", (long long)days);
    }
    struct firn_civil epoch = firn_civil_of_days(0);
    assert_true(epoch.year == 1970 && epoch.month == 1 && epoch.day == 1);
}

static void timestamps_parse_and_print(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        const char *text;
        bool good, zone;
        int64_t micros;
    } cases[] = {
        { "1970-01-01", true, false, 0 },
        { "1969-12-31T23:59:59.999999", true, false, -1 },
        { "2017-11-16 22:31:08", true, false, 1510871468000000 },
        { "2017-11-16T22:31:08Z", true, true, 1510871468000000 },
        { "2017-11-16T22:31:08+01:00", true, true, 1510867868000000 },
        { "2017-11-16T22:31:08-0130", true, true, 1510876868000000 },
        { "2017-02-29", false, false, 0 },
        { "2017-11-16T24:00:00", false, false, 0 },
        { "2017-11-16T22:31:08Zx", false, false, 0 },
        { "yesterday", false, false, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t micros = 0;
        bool zone = false;
        bool good = firn_timestamp_parse(firn_text_of(cases[i].text), &micros, NULL, &zone);
        CHECK(good == cases[i].good, "'%s'", cases[i].text);
        CHECK(!good || (micros == cases[i].micros && zone == cases[i].zone), "'%s'", cases[i].text);
    }
    assert_true(firn_text_is(firn_timestamp_text(op->arena, 1510871468000000, 1000000, 'T'), "2017-11-16T22:31:08"));
    assert_true(firn_text_is(firn_timestamp_text(op->arena, -1, 1000000, ' '), "1969-12-31 23:59:59.999999"));
    assert_true(firn_text_is(firn_timestamp_text(op->arena, 0, 1000000, ' '), "1970-01-01 00:00:00"));
}

static void budgets_refuse_and_recover(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_budget budget = { .limit_bytes = 1000 };
    struct firn_buffer buffer = { 0 };
    op->budget = &budget;
    CHECK_OK(op, firn_buffer_reserve(op, &buffer, 900));
    CHECK_STATUS(op, FIRN_LIMIT, firn_buffer_reserve(op, &buffer, 1100));
    assert_int_equal(buffer.capacity, 900);
    firn_buffer_done(&buffer);
    assert_int_equal(atomic_load(&budget.used_bytes), 0);
    assert_int_equal(atomic_load(&budget.peak_bytes), 900);
}

static void arrays_have_data_and_a_size(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_buffer buffer = { 0 };
    CHECK_OK(op, firn_buffer_resize_array(op, &buffer, 0, 8));
    assert_non_null(buffer.data);
    assert_int_equal(buffer.len, 0);
    CHECK_OK(op, firn_buffer_resize_array(op, &buffer, 3, 8));
    assert_int_equal(buffer.len, 24);
    CHECK_STATUS(op, FIRN_LIMIT, firn_buffer_resize_array(op, &buffer, SIZE_MAX / 4, 8));
    firn_buffer_done(&buffer);
}

static void numbers_have_either_byte_order(void **state)
{
    static const uint8_t bytes[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    uint8_t back[sizeof bytes];
    (void)state;
    assert_int_equal(firn_load_be64(bytes), UINT64_C(0x0102030405060708));
    assert_int_equal(firn_load_le64(bytes), UINT64_C(0x0807060504030201));
    firn_store_be64(back, UINT64_C(0x0102030405060708));
    assert_memory_equal(back, bytes, sizeof bytes);
}

struct squares {
    struct firn_pool *pool;
    uint64_t results[64];
};

static firn_status square(struct firn_op *op, void *context, size_t index)
{
    struct squares *squares = context;
    if (index == 1000)
        return firn_fail(op, FIRN_LIMIT, "index 1000");
    firn_arena_alloc(op->arena, 100);
    squares->results[index] = index * index;
    return FIRN_OK;
}

static firn_status nested(struct firn_op *op, void *context, size_t index)
{
    struct squares *squares = context;
    struct squares inner = { .pool = squares->pool };
    FIRN_TRY(firn_pool_run(op, squares->pool, 8, 0, square, &inner));
    squares->results[index] = inner.results[7] + index;
    return index == 13 || index == 40 ? firn_fail(op, FIRN_VERIFY, "job %zu", index) : FIRN_OK;
}

static void pools_run_every_index_and_nest(void **state)
{
    struct firn_op *op = test_op(state);
    struct squares squares = { 0 };
    CHECK_OK(op, firn_pool_open(op, 4, &squares.pool));
    CHECK_OK(op, firn_pool_run(op, squares.pool, 64, 3, square, &squares));
    for (size_t i = 0; i < 64; i++)
        assert_int_equal(squares.results[i], i * i);
    CHECK_STATUS(op, FIRN_VERIFY, firn_pool_run(op, squares.pool, 64, 0, nested, &squares));
    CHECK(strcmp(op->error.text, "job 13") == 0 || strcmp(op->error.text, "job 40") == 0, "%s", op->error.text);
    firn_pool_close(squares.pool);
}

/* Two jobs that wait for each other, begun by the second of two others: the thread that has done the first is needed.
 */
struct meeting {
    struct firn_pool *pool;
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    int count;
};

static firn_status meet(struct firn_op *op, void *context, size_t index)
{
    enum { PATIENCE_SECONDS = 60 };
    struct meeting *meeting = context;
    struct timespec until;
    int error = 0;
    (void)index;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_SECONDS;
    pthread_mutex_lock(&meeting->lock);
    meeting->count++;
    pthread_cond_broadcast(&meeting->arrived);
    while (meeting->count < 2 && error == 0)
        error = pthread_cond_timedwait(&meeting->arrived, &meeting->lock, &until);
    pthread_mutex_unlock(&meeting->lock);
    return error ? firn_fail(op, FIRN_SYSTEM, "nobody came") : FIRN_OK;
}

static firn_status begin_meeting(struct firn_op *op, void *context, size_t index)
{
    struct meeting *meeting = context;
    return index == 0 ? FIRN_OK : firn_pool_run(op, meeting->pool, 2, 0, meet, meeting);
}

static void pools_leave_no_thread_idle_below_a_run(void **state)
{
    struct firn_op *op = test_op(state);
    struct meeting meeting = { .lock = PTHREAD_MUTEX_INITIALIZER, .arrived = PTHREAD_COND_INITIALIZER };
    CHECK_OK(op, firn_pool_open(op, 2, &meeting.pool));
    CHECK_OK(op, firn_pool_run(op, meeting.pool, 2, 0, begin_meeting, &meeting));
    firn_pool_close(meeting.pool);
}

static void uuids_round_trip(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_uuid uuid = firn_uuid_random(op), back;
    struct firn_text text = firn_uuid_text(op->arena, uuid);
    assert_true(firn_uuid_parse(text, &back));
    assert_memory_equal(uuid.bytes, back.bytes, 16);
    assert_false(firn_uuid_parse(FIRN_TEXT("f79c3e09-677c-4bbd-a479-3f349cb785e"), &back));
}

static void numbers_are_said_for_people(void **state)
{
    struct firn_arena *arena = test_op(state)->arena;
    const struct {
        struct firn_text said;
        const char *wanted;
    } cases[] = {
        { firn_measure_bytes(arena, 0), "0 B" },
        { firn_measure_bytes(arena, UINT64_MAX), "16.0 EiB" },
        { firn_measure_bytes(arena, 128 << 20), "128.0 MiB" },
        { firn_measure_count(arena, 999), "999" },
        { firn_measure_count(arena, 1234567), "1,234,567" },
        { firn_measure_count(arena, -1000), "-1,000" },
        { firn_measure_duration(arena, 999), "999 ms" },
        { firn_measure_duration(arena, 3200), "3.2 s" },
        { firn_measure_duration(arena, 7500000), "2 h 05 min" },
        { firn_measure_duration(arena, INT64_C(97200000)), "1 d 3 h" },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++)
        CHECK(firn_text_is(cases[i].said, cases[i].wanted), "%.*s", FIRN_FMT(cases[i].said));
}

static void sums_of_hashes_do_not_depend_on_order(void **state)
{
    (void)state;
    struct firn_hash128 a = firn_hash128(firn_bytes_of_text(FIRN_TEXT("a")), 0);
    struct firn_hash128 b = firn_hash128(firn_bytes_of_text(FIRN_TEXT("b")), 0);
    struct firn_hash128 ab = firn_hash128_add(a, b), ba = firn_hash128_add(b, a);
    assert_memory_equal(&ab, &ba, sizeof ab);
    struct firn_hash128 three = firn_hash128_add(a, firn_hash128_add(a, a)), times = firn_hash128_times(a, 3);
    assert_memory_equal(&three, &times, sizeof three);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(integers_parse_within_their_range),
        TEST(printable_texts),
        TEST(messages_are_one_printable_line),
        TEST(files_that_may_not_grow_are_a_limit),
        TEST(scratch_goes_and_errors_stay),
        TEST(maps_keep_what_was_put),
        TEST(varints_of_more_than_64_bits_fail),
        TEST(civil_dates_round_trip),
        TEST(timestamps_parse_and_print),
        TEST(budgets_refuse_and_recover),
        TEST(arrays_have_data_and_a_size),
        TEST(numbers_have_either_byte_order),
        TEST(pools_run_every_index_and_nest),
        TEST(pools_leave_no_thread_idle_below_a_run),
        TEST(uuids_round_trip),
        TEST(numbers_are_said_for_people),
        TEST(sums_of_hashes_do_not_depend_on_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
