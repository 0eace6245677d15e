/* The summary of a snapshot: what was added and removed, the totals that follow, changed partitions.
 * Reference: procedures.md, 3.6; Iceberg spec, "Optional Snapshot Summary Fields". */
#ifndef FIRN_CATALOG_SNAPSHOT_SUMMARY_H
#define FIRN_CATALOG_SNAPSHOT_SUMMARY_H

#include "base/map.h"
#include "table/manifest.h"

/* What a summary needs to know of a file; kept when the manifest it was read from is gone. */
struct firn_counted_file {
    enum firn_content content;
    bool is_vector;
    int64_t record_count;
    int64_t bytes;                   /* of a vector, its blob's */
    struct firn_bytes partition;     /* a key: spec and tuple */
    struct firn_text partition_path; /* where the summary wants it; else empty */
};
/* In op->arena. `with_path` works the partition's path out. */
FIRN_CHECKED firn_status firn_counted_file_of(struct firn_op *op, const struct firn_metadata *metadata,
                                              const struct firn_data_file *file, bool with_path,
                                              struct firn_counted_file *out);

enum firn_summary_metric {
    FIRN_METRIC_ADDED_BYTES,
    FIRN_METRIC_REMOVED_BYTES,
    FIRN_METRIC_ADDED_DATA_FILES,
    FIRN_METRIC_REMOVED_DATA_FILES,
    FIRN_METRIC_ADDED_DELETE_FILES,
    FIRN_METRIC_REMOVED_DELETE_FILES,
    FIRN_METRIC_ADDED_POSITION_FILES,
    FIRN_METRIC_REMOVED_POSITION_FILES,
    FIRN_METRIC_ADDED_EQUALITY_FILES,
    FIRN_METRIC_REMOVED_EQUALITY_FILES,
    FIRN_METRIC_ADDED_VECTORS,
    FIRN_METRIC_REMOVED_VECTORS,
    FIRN_METRIC_ADDED_RECORDS,
    FIRN_METRIC_REMOVED_RECORDS,
    FIRN_METRIC_ADDED_POSITION_DELETES,
    FIRN_METRIC_REMOVED_POSITION_DELETES,
    FIRN_METRIC_ADDED_EQUALITY_DELETES,
    FIRN_METRIC_REMOVED_EQUALITY_DELETES,
    FIRN_METRIC_COUNT
};

/* "added-records", ... */
const char *firn_summary_metric_key(enum firn_summary_metric metric);

/* A total of the branch, and what changes it from one snapshot to the next. */
struct firn_summary_total {
    const char *key; /* "total-records", ... */
    enum firn_summary_metric added, removed;
};
enum firn_summary_total_id {
    FIRN_TOTAL_RECORDS,
    FIRN_TOTAL_BYTES,
    FIRN_TOTAL_DATA_FILES,
    FIRN_TOTAL_DELETE_FILES,
    FIRN_TOTAL_POSITION_DELETES,
    FIRN_TOTAL_EQUALITY_DELETES,
    FIRN_TOTAL_COUNT
};
extern const struct firn_summary_total firn_summary_totals[FIRN_TOTAL_COUNT];
/* In the summary of a snapshot of which the totals were counted anew instead of continued. */
#define FIRN_SUMMARY_RECOUNTED "firn.totals-recounted"

struct firn_summary {
    int64_t metrics[FIRN_METRIC_COUNT];
    struct firn_map partitions; /* partition key to its own metrics */
    int64_t duplicate_files;    /* entries that named a removed file once more */
    int64_t manifests_created, manifests_kept, manifests_replaced;
    int64_t partition_limit; /* write.summary.partition-limit */
};

/* Fills storage the caller owns; lives in the arena. */
void firn_summary_init(struct firn_summary *summary, struct firn_arena *arena, int64_t partition_limit);
enum firn_summary_change { FIRN_SUMMARY_ADDED, FIRN_SUMMARY_REMOVED };
void firn_summary_count(struct firn_op *op, struct firn_summary *summary, enum firn_summary_change change,
                        const struct firn_counted_file *file);
/* The summary object of strings, owned by op->arena. `head` (NULL: none) is the snapshot whose totals are continued, or
 * `head_totals` (NULL: what its summary says) are; `properties` are extra entries. */
json_t *firn_summary_json(struct firn_op *op, const struct firn_summary *summary, struct firn_text operation,
                          const struct firn_snapshot *head, const int64_t *head_totals,
                          const struct firn_text (*properties)[2], uint32_t property_count);

#endif
