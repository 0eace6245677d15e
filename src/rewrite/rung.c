/* Names of rungs and reasons, and sums of what took which. */
#include "firn/rung.h"

#include "format/json/json.h"

const char *firn_rung_name(enum firn_rung rung)
{
    static const char *const names[] = { "keep", "splice", "repack", "remap", "transcode" };
    _Static_assert(sizeof names / sizeof *names == FIRN_RUNG_COUNT, "one name a rung");
    return names[rung];
}

const char *firn_rung_reason_name(enum firn_rung_reason reason)
{
    static const char *const names[] = {
#define REASON_NAME(name, text) text,
        FIRN_RUNG_REASON_TABLE(REASON_NAME)
#undef REASON_NAME
    };
    return names[reason];
}

static void add_count(struct firn_rung_count *sum, const struct firn_rung_count *more)
{
    sum->pages += more->pages;
    sum->bytes += more->bytes;
}

void firn_rung_counts_add(struct firn_rung_counts *sum, const struct firn_rung_counts *more)
{
    for (int i = 0; i < FIRN_RUNG_COUNT; i++)
        add_count(&sum->rungs[i], &more->rungs[i]);
    for (int i = 0; i < FIRN_REASON_COUNT; i++)
        add_count(&sum->reasons[i], &more->reasons[i]);
    add_count(&sum->passed_over, &more->passed_over);
    add_count(&sum->decoded_for_facts, &more->decoded_for_facts);
}

static json_t *count_json(const struct firn_rung_count *count)
{
    json_t *json = json_object();
    firn_json_set_i64(json, "pages", count->pages);
    firn_json_set_i64(json, "bytes", count->bytes);
    return json;
}

json_t *firn_rung_counts_json(const struct firn_rung_counts *counts)
{
    json_t *json = json_object(), *rungs = json_object(), *reasons = json_object();
    for (int i = 0; i < FIRN_RUNG_COUNT; i++)
        firn_json_set(rungs, firn_rung_name((enum firn_rung)i), count_json(&counts->rungs[i]));
    for (int i = 0; i < FIRN_REASON_COUNT; i++)
        if (counts->reasons[i].pages > 0)
            firn_json_set(reasons, firn_rung_reason_name((enum firn_rung_reason)i), count_json(&counts->reasons[i]));
    firn_json_set(json, "rungs", rungs);
    firn_json_set(json, "reasons", reasons);
    firn_json_set(json, "passed_over", count_json(&counts->passed_over));
    firn_json_set(json, "decoded_for_facts", count_json(&counts->decoded_for_facts));
    return json;
}
