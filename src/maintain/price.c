/* Prices: the table of keys, and work times prices. include/firn/price.h says what the keys are. */
#include "firn/price.h"

#include "base/math.h"
#include "format/json/json.h"
#include "format/yaml/yaml.h"

#define GIB              (1024.0 * 1024 * 1024)
#define SECONDS_PER_HOUR 3600

static const char *const request_names[FIRN_REQUEST_COUNT] = { "get", "put", "list", "delete" };

const char *firn_request_name(enum firn_request kind)
{
    return request_names[kind];
}

/* The table ------------------------------------------------------------------------------------------------------- */

/* Every number of a price table: where it is, its default, the least it may be. */
static const struct {
    const char *key;
    size_t offset;
    double fallback, min;
    bool is_bytes; /* may be given as "100MiB" */
} rows[] = {
#define AT(member) offsetof(struct firn_prices, member)
    { "get", AT(requests[FIRN_REQUEST_GET]), 0.0004, 0, false },
    { "put", AT(requests[FIRN_REQUEST_PUT]), 0.005, 0, false },
    { "list", AT(requests[FIRN_REQUEST_LIST]), 0.005, 0, false },
    { "delete", AT(requests[FIRN_REQUEST_DELETE]), 0, 0, false },
    { "storage", AT(storage_gib_month), 0.023, 0, false },
    { "egress", AT(egress_gib), 0, 0, false },
    { "machine-hour", AT(machine_hour), 0, 0, false },
    { "thread-bytes-per-second", AT(thread_bytes_per_second), 100.0 * 1024 * 1024, 1, true },
    { "request-ms", AT(request_ms), 0.5, 0, false },
    { "scans-per-month", AT(scans_per_month), 30, 0, false },
#undef AT
};

static double *number_of(struct firn_prices *prices, size_t row)
{
    return (double *)(void *)((char *)prices + rows[row].offset);
}

struct firn_prices firn_prices_default(void)
{
    struct firn_prices prices = { .currency = FIRN_TEXT("USD") };
    for (size_t i = 0; i < FIRN_COUNT_OF(rows); i++)
        *number_of(&prices, i) = rows[i].fallback;
    return prices;
}

static bool parse_number(size_t row, struct firn_text text, double *out)
{
    int64_t bytes;
    bool is_number = firn_text_to_f64(text, out);
    if (!is_number && rows[row].is_bytes && firn_text_to_bytes(text, &bytes)) {
        *out = (double)bytes;
        is_number = true;
    }
    return is_number && *out >= rows[row].min;
}

static firn_status unknown_key(struct firn_op *op, struct firn_text key, struct firn_text from)
{
    const char *best = "currency";
    for (size_t i = 0; i < FIRN_COUNT_OF(rows); i++)
        if (firn_text_distance(key, firn_text_of(rows[i].key)) < firn_text_distance(key, firn_text_of(best)))
            best = rows[i].key;
    firn_status status = firn_fail(op, FIRN_USAGE, "%.*s: prices have no key '%.*s'", FIRN_FMT(from), FIRN_FMT(key));
    return firn_hint(op, status, "did you mean %s?", best);
}

firn_status firn_prices_set(struct firn_op *op, struct firn_text key, struct firn_text value, struct firn_text from,
                            struct firn_prices *prices)
{
    double number;
    size_t row = 0;
    if (firn_text_is(key, "currency")) {
        prices->currency = value;
        return FIRN_OK;
    }
    while (row < FIRN_COUNT_OF(rows) && !firn_text_is(key, rows[row].key))
        row++;
    if (row == FIRN_COUNT_OF(rows))
        return unknown_key(op, key, from);
    if (!parse_number(row, value, &number))
        return firn_fail(op, FIRN_USAGE, "%.*s: price %s is '%.*s', not a number from %g on", FIRN_FMT(from),
                         rows[row].key, FIRN_FMT(value), rows[row].min);
    *number_of(prices, row) = number;
    return FIRN_OK;
}

static firn_status take_value(struct firn_op *op, void *context, const struct firn_yaml_value *value)
{
    if (!firn_text_is(value->path[0], "prices"))
        return FIRN_OK;
    if (value->depth == 1 && (value->kind == FIRN_YAML_MAPPING || value->text.len == 0))
        return FIRN_OK;
    if (value->depth != 2 || value->kind != FIRN_YAML_SCALAR)
        return firn_yaml_fail(op, FIRN_USAGE, value, "prices are keys with a number each");
    struct firn_text from = firn_text_format(op->arena, "%.*s, line %zu", FIRN_FMT(value->file_name), value->line);
    return firn_prices_set(op, value->path[1], value->text, from, context);
}

firn_status firn_prices_parse(struct firn_op *op, struct firn_text yaml, struct firn_text file_name,
                              struct firn_prices *prices)
{
    return firn_yaml_read(op, yaml, file_name, take_value, prices);
}

json_t *firn_prices_json(const struct firn_prices *prices)
{
    struct firn_prices copy = *prices;
    json_t *json = json_object();
    for (size_t i = 0; i < FIRN_COUNT_OF(rows); i++)
        firn_json_set(json, rows[i].key, json_real(*number_of(&copy, i)));
    firn_json_set_text(json, "currency", prices->currency);
    return json;
}

/* Work ------------------------------------------------------------------------------------------------------------ */

int64_t firn_work_requests(const struct firn_work *work)
{
    int64_t count = 0;
    for (int kind = 0; kind < FIRN_REQUEST_COUNT; kind++)
        count += work->requests[kind];
    return count;
}

struct firn_work firn_work_sum(struct firn_work a, struct firn_work b)
{
    for (int kind = 0; kind < FIRN_REQUEST_COUNT; kind++)
        a.requests[kind] += b.requests[kind];
    a.bytes_read += b.bytes_read;
    a.bytes_written += b.bytes_written;
    return a;
}

struct firn_work firn_work_since(struct firn_work now, struct firn_work then)
{
    for (int kind = 0; kind < FIRN_REQUEST_COUNT; kind++)
        now.requests[kind] -= then.requests[kind];
    now.bytes_read -= then.bytes_read;
    now.bytes_written -= then.bytes_written;
    return now;
}

double firn_work_seconds(const struct firn_prices *prices, const struct firn_work *work, uint32_t thread_count)
{
    double seconds = (double)work->bytes_read / prices->thread_bytes_per_second +
                     (double)firn_work_requests(work) * prices->request_ms / 1000;
    return seconds / FIRN_MAX(thread_count, 1u);
}

double firn_work_money(const struct firn_prices *prices, const struct firn_work *work, double seconds)
{
    double money =
        (double)work->bytes_read / GIB * prices->egress_gib + seconds / SECONDS_PER_HOUR * prices->machine_hour;
    for (int kind = 0; kind < FIRN_REQUEST_COUNT; kind++)
        money += (double)work->requests[kind] / 1000 * prices->requests[kind];
    return money;
}

double firn_storage_money(const struct firn_prices *prices, int64_t bytes)
{
    return (double)bytes / GIB * prices->storage_gib_month;
}

/* Two decimals; of less than a tenth, two digits. */
struct firn_text firn_money_text(struct firn_arena *arena, const struct firn_prices *prices, double money)
{
    enum { DECIMALS_MAX = 8 };
    double size = money < 0 ? -money : money, unit = 0.1;
    int decimals = 2;
    for (; size > 0 && size < unit && decimals < DECIMALS_MAX; unit /= 10)
        decimals++;
    return firn_text_format(arena, "%.*f %.*s", decimals, money, FIRN_FMT(prices->currency));
}

json_t *firn_work_json(const struct firn_prices *prices, const struct firn_work *work, double seconds)
{
    json_t *json = json_object();
    firn_json_set_i64(json, "requests", firn_work_requests(work));
    for (int kind = 0; kind < FIRN_REQUEST_COUNT; kind++)
        firn_json_set_i64(json, request_names[kind], work->requests[kind]);
    firn_json_set_i64(json, "bytes_read", work->bytes_read);
    firn_json_set_i64(json, "bytes_written", work->bytes_written);
    firn_json_set(json, "seconds", json_real(seconds));
    firn_json_set(json, "money", json_real(firn_work_money(prices, work, seconds)));
    firn_json_set_text(json, "currency", prices->currency);
    return json;
}
