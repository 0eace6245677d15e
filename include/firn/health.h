/* The health of a table: what is measured, what is ill, what mends it, what that costs and gives.
 *
 * Findings come from numbers and limits alone, so the same table gives the same findings. Of a limit the healthy value
 * is still healthy; beyond it is a warning, from the other value on the table is ill:
 *
 *     limit                healthy    ill        what it is of
 *     average-file-bytes   134217728  33554432   data files of the table, and of partitions that compaction can help
 *     partition-files      500        2000       data files of one partition
 *     table-files          10000      50000      data files of the table
 *     manifests            50         500        manifests of the current snapshot, if rewriting gives fewer
 *     position-deletes     0.01       0.1        position delete files, as a share of all files
 *     equality-deletes     0.01       0.1        equality delete files, likewise
 *     deleted-rows         0.1        0.3        rows that position deletes and vectors delete, of all rows
 *     dangling-deletes     0          1000       delete files that apply to no data file
 *     expirable-snapshots  100        1000       snapshots that expiry by the table's own settings lets go
 *     expirable-bytes      0.5        2          what expiry would free, as a share of the live data's bytes
 *     metadata-bytes       16777216   134217728  of metadata.json
 *     ref-days             365        never      age of branches and tags that nothing lets go
 *     orphan-bytes         0.05       0.5        files that nothing refers to, as a share of the live data's bytes
 *     partition-bytes      33554432   4194304    data of a partition on average, from a hundred partitions on
 *     partition-skew       10         100        the largest partition, in averages, if it is above ten targets
 *     metrics-coverage     0.9        0.5        data files with bounds, of each sort, partition or identifier column
 *     overlap              0.5        1          files of a partition that one value of the first sort column opens
 *     commit-minutes       5          1          between commits of a writer whose files are small; a notice between
 *                                                the two, else a warning: only the writer can mend it
 *
 * The score is 100, less 2 for each notice, 10 for each warning, and 30 for each finding of an ill table; 0 at least.
 */
#ifndef FIRN_HEALTH_H
#define FIRN_HEALTH_H

#include "firn/catalog.h"
#include "firn/price.h"

#include <jansson.h>

struct firn_pool;

enum firn_health_level {
    FIRN_HEALTH_NOTICE,  /* worth knowing; it can wait */
    FIRN_HEALTH_WARNING, /* beyond a healthy limit */
    FIRN_HEALTH_ILL      /* readers pay for it: to be mended */
};
/* "notice", "warning", "ill". */
const char *firn_health_level_name(enum firn_health_level level);

/* What mending costs: bytes and files that are read and written anew, and the money for that. */
struct firn_health_cost {
    int64_t bytes, files;
    double money;
};

/* What it gives. */
struct firn_health_gain {
    int64_t files;       /* data and delete files fewer in the snapshot */
    int64_t manifests;   /* fewer */
    int64_t requests;    /* fewer for each scan of everything: two for a file (footer and pages), one for a manifest */
    int64_t bytes;       /* freed on storage */
    int64_t planning_us; /* off each planning, as a share of what reading the manifests took just now */
    double money_scan;   /* saved by each scan of everything */
    double money_month;  /* by storage, and as many scans as the prices say */
};

struct firn_health_finding {
    enum firn_health_level level;
    const char *code;         /* of the kind, stable: "small-files" */
    struct firn_text symptom; /* with the numbers that show it */
    struct firn_text cause;   /* the likely one */
    struct firn_text command; /* of firn, for a shell; empty: none mends it */
    struct firn_text call;    /* for Spark SQL; may be empty */
    struct firn_text advice;  /* what else there is to do; may be empty */
    struct firn_health_cost cost;
    struct firn_health_gain gain;
};

/* A number for people: "manifests", "61 of 12.0 MiB, with 52,301 entries". */
struct firn_health_fact {
    const char *what;
    struct firn_text text;
};

struct firn_survey;
struct firn_health_limits;

struct firn_health_report {
    struct firn_text table;
    int score;                                  /* 0 to 100 */
    bool is_ill, is_healthy;                    /* some finding is that; there are none above a notice */
    const struct firn_health_finding *findings; /* worst first */
    size_t finding_count;
    int64_t files, bytes; /* live data files */
    const struct firn_health_fact *facts;
    size_t fact_count;
    const struct firn_survey *survey; /* all numbers: firn_health_json prints them */
    const struct firn_health_limits *limits;
    struct firn_prices prices; /* that money was reckoned with */
    struct firn_text where;    /* of the partitions that were judged; empty: all */
};

struct firn_health_options {
    bool orphans; /* list the table's location, too */
    /* Limits: "table-files.healthy" = "20000", "table-files.ill" = "100000". */
    const struct firn_property *thresholds;
    size_t threshold_count;
    const struct firn_prices *prices; /* NULL: the defaults */
    /* A predicate on partition columns: only partitions that may match it are judged, by their files, deletes, sizes
     * and columns; empty: the whole table. */
    struct firn_text where;
};

/* Examines the current snapshot and the metadata; nothing is written, no data file is opened. In op->arena. USAGE for
 * an unknown limit, limits that contradict each other, or a `where` that names no partition column. */
FIRN_CHECKED firn_status firn_health_check(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                           const struct firn_health_options *options, struct firn_health_report *out);

/* "healthy", "fair" or "ill". */
const char *firn_health_state_name(const struct firn_health_report *report);

/* {"table", "state" ("healthy", "fair", "ill"), "score", "where" (or null),
 *  "findings": [{"code", "severity", "symptom", "cause", "command" (null: none), "call", "advice",
 *      "cost": {"bytes", "files", "money"}, "gain": {"files", "manifests", "requests", "bytes", "planning_us",
 *      "money_scan", "money_month"}}],
 *  "prices": firn_prices_json,
 *  "limits": {name: {"healthy", "ill"}},
 *  "survey" (with `details`): {"format_version", "snapshot_id" (text), "surveyed_ms", "target_file_bytes",
 *      "small_below_bytes", "metadata_file_bytes", "planning_us", CONTENT, "foreign_files" (not Parquet, or encrypted),
 *      "file_sizes": [{"below_bytes" (null: no limit), "files", "bytes"}],
 *      "manifests": {"count", "bytes", "entries", "tombstones", "target_bytes", "kinds": [{"spec_id", "content", and
 *          the first four}]},
 *      "snapshots": {"count", "expirable", "held_bytes", "expirable_bytes"}, "orphans": {"files", "bytes"} or null,
 *      "orphans_problem" (why these could not be told, or null),
 *      "sort_orders": [{"sort_order_id", "files", "bytes", "rows"}],
 *      "refs": [{"name", "type", "snapshot_id", "snapshot_ms", "max_ref_age_ms", "expirable"}],
 *      "writers": [{"writer", "operation", "commits", "added_files", "added_bytes", "added_delete_files", "first_ms",
 *          "last_ms", "interval_ms" (the median)}],
 *      "sampled_share" (of the files, for the next two), "columns": [{"field_id", "name", "type", "partition_source",
 *          "sort_source", "identifier", "files_with_counts", "files_with_bounds", "compressed_bytes", "bound_bytes",
 *          "values", "nulls", "files_per_point", "files_per_point_in_partition"}]: of columns outside lists and maps;
 *          the last two are the data files that a filter for one value opens, on average,
 *      "partitions": [{"partition", "spec_id", CONTENT, "sequence_number", "updated_ms"}],
 *      "commits": [{"snapshot_id", "timestamp_ms", "operation", "writer", "added_files", "added_bytes", "added_rows",
 *          "added_delete_files", "removed_files", "removed_bytes", "total_files", "total_bytes", "total_rows",
 *          "total_delete_files"}]}}
 * where CONTENT is: "data", "small" (of data: what compaction takes for too small), "deleted_from" (of data: what
 * deletes apply to), "position_deletes", "equality_deletes", "deletion_vectors", "dangling_deletes", each {"files",
 * "bytes", "rows"}, and "delete_reads" (delete files that a scan opens). What is not known is null. Owned by op->arena.
 */
json_t *firn_health_json(struct firn_op *op, const struct firn_health_report *report, bool details);

#endif
