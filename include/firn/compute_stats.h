/* Statistics that planners read: compute_table_stats (distinct values of columns) and compute_partition_stats (files,
 * rows and bytes of partitions). Both write a file beside the metadata and set it for a snapshot; neither makes one.
 * Reference: procedures.md, 8. */
#ifndef FIRN_COMPUTE_STATS_H
#define FIRN_COMPUTE_STATS_H

#include "firn/catalog.h"
#include "firn/progress.h"

struct firn_pool;

struct firn_table_stats_args {
    const int64_t *snapshot_id;      /* NULL: main's */
    const struct firn_text *columns; /* full dotted names; NULL: all top-level primitive columns of the snapshot */
    size_t column_count;
    bool dry_run;                   /* compute, and write nothing */
    struct firn_progress *progress; /* may be NULL */
};
struct firn_column_stats {
    struct firn_text name;
    int32_t field_id;
    int64_t distinct_count; /* the estimate, cut to a whole number, as it is recorded */
    bool exact;             /* it is no estimate */
};
struct firn_table_stats_report {
    struct firn_text statistics_file; /* data NULL: none was written */
    bool has_snapshot;                /* false: the table is empty, and nothing was done */
    int64_t snapshot_id;
    struct firn_column_stats *columns; /* in op->arena */
    size_t column_count;
    int64_t row_count, file_count; /* live rows and data files read */
    int64_t elapsed_ms;
};
/* Reads the columns of all live rows and records a theta sketch and the number of distinct values of each in a Puffin
 * file. Takes the place of the snapshot's statistics file, which is left to orphan removal. NOT_FOUND for an unknown
 * snapshot; USAGE for an empty list, an unknown column, or one that is no primitive; UNSUPPORTED for one inside a list
 * or map. */
FIRN_CHECKED firn_status firn_compute_table_stats(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                                  const struct firn_table_stats_args *args,
                                                  struct firn_table_stats_report *out);

struct firn_partition_stats_args {
    const int64_t *snapshot_id; /* NULL: main's */
    bool dry_run;               /* compute, and write nothing */
};
struct firn_partition_stats_report {
    struct firn_text statistics_file; /* data NULL: there is none */
    bool has_snapshot;                /* false: the table is empty, and nothing was done */
    bool was_there;                   /* the snapshot had a file already, which stays */
    int64_t snapshot_id;
    int64_t base_snapshot_id;                /* of the ancestor whose file was gone on from; -1: none */
    int64_t partition_count, manifest_count; /* rows of the file, manifests read */
    int64_t elapsed_ms;
};
/* Sums up live files by partition and records the sums in a Parquet file, from the newest such file of an ancestor
 * where there is one. NOT_FOUND for an unknown snapshot; USAGE for a table that never was partitioned. */
FIRN_CHECKED firn_status firn_compute_partition_stats(struct firn_op *op, struct firn_pool *pool,
                                                      struct firn_table *table,
                                                      const struct firn_partition_stats_args *args,
                                                      struct firn_partition_stats_report *out);

#endif
