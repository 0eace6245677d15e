/* What work costs: requests by kind, bytes, seconds, and money at stated prices.
 *
 * Work is counted as an object store would bill it: opening an object (or asking for its size) and each range read of
 * it is a GET, an object written is a PUT, a listing is a LIST a thousand entries, a deletion is a DELETE a thousand
 * objects. The store counts what happens, plans predict it the same way, and money comes from either by a price table:
 *
 *     key                       default      what it is
 *     get                       0.0004       a thousand GET, HEAD and range requests
 *     put                       0.005        a thousand PUT requests
 *     list                      0.005        a thousand LIST requests
 *     delete                    0            a thousand DELETE requests
 *     storage                   0.023        a GiB stored for a month
 *     egress                    0            a GiB read: what leaves the store's region costs, what stays does not
 *     machine-hour              0            an hour of the machine that firn runs on
 *     currency                  USD          for people
 *     thread-bytes-per-second   100MiB       that one thread reads and writes anew, for predicted seconds
 *     request-ms                0.5          that a thread waits for each request: of a disk; of an object store, 20
 *     scans-per-month           30           scans of everything, for what a month would save
 *
 * The defaults are list prices of Amazon S3 Standard in us-east-1, first 50 TB, of January 2025. A file's section
 * `prices` (firn.yaml: "prices: { get: 0.0004, currency: EUR }") and --price KEY=VALUE set others. */
#ifndef FIRN_PRICE_H
#define FIRN_PRICE_H

#include "firn/op.h"

#include <jansson.h>

enum firn_request { FIRN_REQUEST_GET, FIRN_REQUEST_PUT, FIRN_REQUEST_LIST, FIRN_REQUEST_DELETE, FIRN_REQUEST_COUNT };
/* "get", "put", "list", "delete". */
const char *firn_request_name(enum firn_request kind);

struct firn_work {
    int64_t requests[FIRN_REQUEST_COUNT];
    int64_t bytes_read, bytes_written;
};
int64_t firn_work_requests(const struct firn_work *work); /* of all kinds */
struct firn_work firn_work_sum(struct firn_work a, struct firn_work b);
/* What was counted between two readings. */
struct firn_work firn_work_since(struct firn_work now, struct firn_work then);

/* Plain data. Texts are borrowed from whoever set them. */
struct firn_prices {
    double requests[FIRN_REQUEST_COUNT]; /* a thousand */
    double storage_gib_month, egress_gib, machine_hour;
    double thread_bytes_per_second, request_ms;
    double scans_per_month;
    struct firn_text currency;
};
struct firn_prices firn_prices_default(void);
/* One key as people give it, of the table above. USAGE tells `from`, and what may have been meant. */
FIRN_CHECKED firn_status firn_prices_set(struct firn_op *op, struct firn_text key, struct firn_text value,
                                         struct firn_text from, struct firn_prices *prices);
/* A file's section `prices`; all others are passed over. USAGE with the line, CORRUPT for what is not YAML. */
FIRN_CHECKED firn_status firn_prices_parse(struct firn_op *op, struct firn_text yaml, struct firn_text file_name,
                                           struct firn_prices *prices);
/* {key: value} of the whole table, so that a report says what it reckons with. A new reference. */
json_t *firn_prices_json(const struct firn_prices *prices);

/* How long it takes `thread_count` threads. */
double firn_work_seconds(const struct firn_prices *prices, const struct firn_work *work, uint32_t thread_count);
/* Of requests, bytes that leave the store, and the machine for `seconds`. */
double firn_work_money(const struct firn_prices *prices, const struct firn_work *work, double seconds);
/* Of so many bytes for a month. */
double firn_storage_money(const struct firn_prices *prices, int64_t bytes);
/* "0.0042 USD": two decimals, or two digits where it is less. In `arena`. */
struct firn_text firn_money_text(struct firn_arena *arena, const struct firn_prices *prices, double money);

/* {"requests" (of all kinds), "get", "put", "list", "delete", "bytes_read", "bytes_written", "seconds", "money",
 * "currency"}. A new reference. */
json_t *firn_work_json(const struct firn_prices *prices, const struct firn_work *work, double seconds);

#endif
