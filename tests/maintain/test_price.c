/* Prices: keys, what is refused and how it is told, money for work, and what the store counts as work. */
#include "check.h"

#include "store/store.h"

#include <jansson.h>

static void close_to(double got, double wanted)
{
    double off = got > wanted ? got - wanted : wanted - got;
    CHECK(off <= 1e-9 * (wanted > 1 ? wanted : 1), "%.12g, wanted %.12g", got, wanted);
}

static void a_file_and_the_command_line_set_prices(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_prices prices = firn_prices_default();
    static const char yaml[] = "maintain:\n  defaults: { compact.every: 1h }\n"
                               "prices:\n  get: 0.001\n  currency: EUR\n  thread-bytes-per-second: 2MiB\n";
    CHECK_OK(op, firn_prices_parse(op, firn_text_of(yaml), FIRN_TEXT("firn.yaml"), &prices));
    CHECK_OK(op, firn_prices_set(op, FIRN_TEXT("put"), FIRN_TEXT("0.01"), FIRN_TEXT("--price"), &prices));
    close_to(prices.requests[FIRN_REQUEST_GET], 0.001);
    close_to(prices.requests[FIRN_REQUEST_PUT], 0.01);
    close_to(prices.requests[FIRN_REQUEST_LIST], 0.005);
    close_to(prices.thread_bytes_per_second, 2 << 20);
    CHECK(firn_text_is(prices.currency, "EUR"), "%.*s", FIRN_FMT(prices.currency));
    json_t *json = firn_prices_json(&prices);
    close_to(json_real_value(json_object_get(json, "get")), 0.001);
    close_to(json_real_value(json_object_get(json, "storage")), 0.023);
    json_decref(json);
}

static void what_is_wrong_is_told_with_its_line(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        const char *yaml, *text, *hint;
        firn_status status;
    } cases[] = {
        { "prices:\n  gets: 1\n", "firn.yaml, line 2: prices have no key 'gets'", "did you mean get?", FIRN_USAGE },
        { "prices:\n  put: dear\n", "firn.yaml, line 2: price put is 'dear', not a number from 0 on", "", FIRN_USAGE },
        { "prices:\n  put: -1\n", "not a number from 0 on", "", FIRN_USAGE },
        { "prices:\n  thread-bytes-per-second: 0\n", "not a number from 1 on", "", FIRN_USAGE },
        { "prices: 5\n", "line 1: prices are keys with a number each", "", FIRN_USAGE },
        { "prices:\n  get: [1]\n", "prices are keys", "", FIRN_USAGE },
        { "prices:\n  get: { s3: 1 }\n", "prices are keys", "", FIRN_USAGE },
        { "prices: {\n", "firn.yaml, line ", "", FIRN_CORRUPT },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct firn_prices prices = firn_prices_default();
        op->error = (struct firn_error){ 0 };
        firn_status status = firn_prices_parse(op, firn_text_of(cases[i].yaml), FIRN_TEXT("firn.yaml"), &prices);
        CHECK(status == cases[i].status, "case %zu: %s", i, firn_status_name(status));
        CHECK(strstr(op->error.text, cases[i].text), "case %zu: %s", i, op->error.text);
        CHECK(strstr(op->error.hint, cases[i].hint), "case %zu: %s", i, op->error.hint);
    }
}

static void work_has_seconds_and_money(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_prices prices = firn_prices_default();
    struct firn_work work = { .requests = { 1000000, 2000, 1000, 5000 }, .bytes_read = INT64_C(10) << 30 };
    close_to(firn_work_money(&prices, &work, 0), 0.4 + 0.01 + 0.005);
    prices.egress_gib = 0.09;
    prices.machine_hour = 3.6;
    prices.request_ms = 10;
    prices.thread_bytes_per_second = 1 << 30;
    double seconds = firn_work_seconds(&prices, &work, 4);
    close_to(seconds, (10 + 1008000 * 0.01) / 4);
    close_to(firn_work_money(&prices, &work, seconds), 0.415 + 0.9 + 0.001 * seconds);
    close_to(firn_storage_money(&prices, INT64_C(1) << 40), 0.023 * 1024);
    static const struct {
        double money;
        const char *text;
    } texts[] = { { 0, "0.00 USD" },
                  { 12.345, "12.35 USD" },
                  { 0.1, "0.10 USD" },
                  { 0.0424, "0.042 USD" },
                  { 0.000123, "0.00012 USD" },
                  { 1e-12, "0.00000000 USD" },
                  { 1234567, "1234567.00 USD" },
                  { -0.05, "-0.050 USD" } };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct firn_text text = firn_money_text(op->arena, &prices, texts[i].money);
        CHECK(firn_text_is(text, texts[i].text), "%.*s, wanted %s", FIRN_FMT(text), texts[i].text);
    }
}

static firn_status ignore(struct firn_op *op, void *context, const struct firn_store_entry *entry)
{
    (void)op;
    (void)context;
    (void)entry;
    return FIRN_OK;
}

/* A thousand entries a listing, a thousand objects a deletion. */
static void a_store_counts_what_is_asked_of_it(void **state)
{
    enum { OBJECTS = 1001 };
    struct firn_op *op = test_op(state);
    struct firn_store *store;
    struct firn_buffer content = { 0 };
    static struct firn_store_deletion deletions[OBJECTS];
    CHECK_OK(op, firn_store_open_memory(op, &store));
    for (int i = 0; i < OBJECTS; i++) {
        deletions[i].location = firn_text_format(op->arena, "mem://b/f%d", i);
        CHECK_OK(op, firn_store_put(op, store, deletions[i].location, true, firn_bytes_of_text(FIRN_TEXT("four"))));
    }
    struct firn_work then = firn_store_work(store);
    assert_int_equal(then.requests[FIRN_REQUEST_PUT], OBJECTS);
    assert_int_equal(then.bytes_written, 4 * OBJECTS);
    CHECK_STATUS(op, FIRN_EXISTS,
                 firn_store_put(op, store, deletions[0].location, true, firn_bytes_of_text(FIRN_TEXT("four"))));
    CHECK_OK(op, firn_store_read(op, store, deletions[0].location, 100, &content));
    CHECK_OK(op, firn_store_list(op, store, FIRN_TEXT("mem://b"), true, ignore, NULL));
    CHECK_OK(op, firn_store_list(op, store, FIRN_TEXT("mem://none"), true, ignore, NULL));
    CHECK_OK(op, firn_store_delete_batch(op, store, deletions, OBJECTS));
    struct firn_work work = firn_work_since(firn_store_work(store), then);
    assert_int_equal(work.requests[FIRN_REQUEST_PUT], 1);
    assert_int_equal(work.requests[FIRN_REQUEST_GET], 2);
    assert_int_equal(work.bytes_read, 4);
    assert_int_equal(work.requests[FIRN_REQUEST_LIST], 2 + 1);
    assert_int_equal(work.requests[FIRN_REQUEST_DELETE], 2);
    assert_int_equal(firn_work_requests(&work), 8);
    firn_buffer_done(&content);
    firn_store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_and_the_command_line_set_prices),
        TEST(what_is_wrong_is_told_with_its_line),
        TEST(work_has_seconds_and_money),
        TEST(a_store_counts_what_is_asked_of_it),
    };
    return cmocka_run_group_tests_name("price", tests, NULL, NULL);
}
