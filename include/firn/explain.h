/* Why a filter reads what it reads: what of a table a predicate rules out at each level of planning, why the rest
 * stays, and what would change that. Data files are not opened, but for `deep`, which reads footers, page indexes and
 * bloom filters.
 *
 * What is counted as kept is what a scan by the predicate plans. A file that is ruled out holds no matching row. */
#ifndef FIRN_EXPLAIN_H
#define FIRN_EXPLAIN_H

#include "firn/catalog.h"

#include <jansson.h>

struct firn_pool;

/* Which snapshot: at most one of the four; none: the current one. A branch is read by the table's current schema, the
 * others by the schema of their snapshot. */
struct firn_explain_args {
    struct firn_text where; /* as Spark's WHERE; conditions on functions of columns are taken, too */
    const int64_t *snapshot_id;
    struct firn_text branch, tag;
    struct firn_text as_of; /* a time, or an age */
    bool deep;              /* read footers and page indexes of the files that stay */
};

struct firn_explain_tally {
    int64_t files, bytes, rows;
};

/* Where a data file is ruled out, in the order of planning. */
enum firn_explain_level {
    FIRN_EXPLAIN_MANIFESTS,  /* by the partitions that the manifest list says its manifest has */
    FIRN_EXPLAIN_PARTITIONS, /* by its partition */
    FIRN_EXPLAIN_COUNTS,     /* by its counts of rows, nulls and NaN */
    FIRN_EXPLAIN_BOUNDS,     /* by the bounds of its columns */
    FIRN_EXPLAIN_KEPT,       /* it is not */
    FIRN_EXPLAIN_LEVELS
};
const char *firn_explain_level_name(enum firn_explain_level level);

/* Why files stay, for one condition of the predicate. A file may stand under several conditions. */
struct firn_explain_reason {
    const char *code;           /* stable: "function", "no-metrics", "overlapping-bounds", ... (firn_explain_json) */
    struct firn_text condition; /* as text; empty: not about one */
    struct firn_text column;    /* may be empty */
    struct firn_text why;
    struct firn_explain_tally kept;
    struct firn_text example;               /* a file */
    struct firn_text bounds;                /* of its column, as text; may be empty */
    struct firn_text advice, command, call; /* what mends it; may be empty */
};

/* What sorting by a column would change: an estimate by the formula of firn_explain_sort_formula. */
struct firn_explain_sort {
    struct firn_text column;
    double selectivity; /* share of the rows in the partitions that stay which the conditions on the column take */
    int64_t files_now, bytes_now;
    int64_t files_packed; /* that would stay if these partitions were only compacted */
    int64_t files_sorted, bytes_sorted;
    int64_t rewrite_bytes;
    struct firn_text command, call;
};
extern const char firn_explain_sort_formula[];

/* How many data files a filter for one value of a column opens, on average over the bounds of all files of the snapshot
 * or of one partition; below 0: not known. */
struct firn_explain_point {
    struct firn_text column;
    double files, files_in_partition;
};

/* What footers and page indexes add. */
struct firn_explain_deep {
    int64_t files, unreadable_files; /* not Parquet, or broken: taken as kept whole */
    int64_t files_kept;              /* with a row group that may match */
    int64_t row_groups, row_groups_kept;
    int64_t pages, pages_kept;     /* of columns of the predicate, in row groups that stay, where there are indexes */
    int64_t rows_kept, bytes_kept; /* of all columns */
    int64_t bloom_files, bloom_files_ruled_out; /* whose bloom filters were asked; that these ruled out */
};

struct firn_explain_report {
    struct firn_text table;
    int64_t snapshot_id;    /* -1: the table is empty */
    struct firn_text where; /* as it was understood */
    int64_t manifests, manifests_kept;
    int64_t manifests_in_vain; /* of the kept ones: read, though no partition of theirs matches */
    int64_t partitions, partitions_kept;
    struct firn_explain_tally total, by_level[FIRN_EXPLAIN_LEVELS];
    int64_t files_with_deletes;                /* of those that stay */
    int64_t delete_reads, delete_read_bytes;   /* delete files opened with them, counted for each */
    int64_t requests_all, requests_kept;       /* two for a data or delete file, one for a manifest and for the list */
    const struct firn_explain_reason *reasons; /* most bytes first */
    size_t reason_count;
    const struct firn_explain_sort *sorts; /* that save something, most bytes first */
    size_t sort_count;
    const struct firn_explain_point *points; /* columns of the predicate */
    size_t point_count;
    struct firn_text rewritten; /* the predicate without functions, as far as firn knows how; may be empty */
    struct firn_explain_tally rewritten_kept;
    bool is_deep;
    struct firn_explain_deep deep;
};

/* In op->arena. USAGE for a predicate that is none, NOT_FOUND for an unknown snapshot or reference. */
FIRN_CHECKED firn_status firn_explain(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                      const struct firn_explain_args *args, struct firn_explain_report *out);

/* {"table", "snapshot_id" (text), "where", "manifests": {"total", "kept", "in_vain"}, "partitions": {"total", "kept"},
 *  "total": TALLY, "pruned": {"manifests", "partitions", "counts", "bounds": TALLY each}, "kept": TALLY,
 *  "deletes": {"data_files", "delete_reads", "bytes"}, "requests": {"all", "kept"},
 *  "reasons": [{"code", "condition", "column", "why", "kept": TALLY, "example", "bounds", "advice", "command",
 * "call"}], "sorting": {"formula", "columns": [{"column", "selectivity", "files_now", "bytes_now", "files_packed",
 *      "files_sorted", "bytes_sorted", "rewrite_bytes", "command", "call"}]},
 *  "points": [{"column", "files", "files_in_partition"}], "rewritten": {"where", "kept": TALLY} or null,
 *  "deep": {"files", "unreadable_files", "files_kept", "row_groups", "row_groups_kept", "pages", "pages_kept",
 *      "rows_kept", "bytes_kept", "bloom_files", "bloom_files_ruled_out"} or null}
 * where TALLY is {"files", "bytes", "rows"}. Codes: "function", "no-metrics", "no-bounds", "type-mismatch",
 * "truncated-bounds", "overlapping-bounds", "nulls", "nan", "not-equal", "all-match" (of a condition);
 * "partition-not-filtered", "transform", "old-spec" (of a partition field); "deletes", "manifests". What is empty is
 * null. Owned by op->arena. */
json_t *firn_explain_json(struct firn_op *op, const struct firn_explain_report *report);

#endif
