/* What those who write a table should change, from the commits that are kept and from what they left.
 *
 * health.h says what is ill and what mends it; this says how not to fall ill again. Each topic that concerns the table
 * gets one verdict: a change, with the numbers that call for it and the settings word for word; that it is fine; or
 * that there is too little to tell from. Judged are the median commits of the writer that adds most files:
 *
 *     topic                what may be advised
 *     shuffle-partitions   tasks that write a batch: its bytes / target file size, at least one a partition it changes
 *     commit-interval      of streams: long enough for files of the wanted size, as far as readers can wait
 *     distribution-mode    'hash' where several tasks write to the same partitions
 *     target-file-size     larger where there are more files than planning bears; within reason else
 *     codec                zstd, where the newest files, or properties, have another
 *     metrics              bounds of keys and times kept, of long texts cut, of blobs dropped
 *     partitioning         coarser, finer, by time at all, without fields that rule nothing out
 *     update-mode          merge-on-read where updates write much anew, copy-on-write where they are rare */
#ifndef FIRN_ADVISE_H
#define FIRN_ADVISE_H

#include "firn/catalog.h"

#include <jansson.h>

struct firn_pool;

enum firn_advice_verdict {
    FIRN_ADVICE_CHANGE,
    FIRN_ADVICE_FINE,
    FIRN_ADVICE_UNKNOWN /* too little to tell from */
};
/* "change", "fine", "unknown". */
const char *firn_advice_verdict_name(enum firn_advice_verdict verdict);

/* One of several ways to say it: whoever has it takes his own. */
struct firn_advice_setting {
    const char *where; /* "Spark SQL", "firn", "Spark streaming", "Flink SQL" */
    struct firn_text text;
};
enum { FIRN_ADVICE_SETTINGS_MAX = 2 };

struct firn_advice {
    const char *topic; /* stable */
    enum firn_advice_verdict verdict;
    struct firn_text what; /* to change; else what is */
    struct firn_text why;  /* with the numbers that show it */
    struct firn_advice_setting settings[FIRN_ADVICE_SETTINGS_MAX];
    size_t setting_count;
};

struct firn_advise_options {
    int64_t file_bytes;       /* wanted size of files; 0: the table's target */
    struct firn_text latency; /* how long readers wait for what was written, at most: "10m"; empty: that */
};

struct firn_advise_report {
    struct firn_text table;
    struct firn_text writer; /* whose commits were judged; empty: nobody's */
    int64_t commits;         /* of it */
    int64_t span_ms;         /* from its first commit to its last */
    const struct firn_advice *items;
    size_t count, change_count;
};

/* Reads metadata, and footers of up to three data files; changes nothing. In op->arena. USAGE for options that make no
 * sense. */
FIRN_CHECKED firn_status firn_advise(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                     const struct firn_advise_options *options, struct firn_advise_report *out);

/* {"table", "writer" (null: none), "commits", "span_ms", "advice": [{"topic", "verdict", "what", "why",
 *  "settings": [{"where", "text"}]}]}. Owned by op->arena. */
json_t *firn_advise_json(struct firn_op *op, const struct firn_advise_report *report);

#endif
