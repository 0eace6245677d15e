/* The procedure convert_equality_deletes, firn's own: equality deletes become position deletes (format version 2) or
 * deletion vectors (3). Data files are read in their key columns and stay as they are. */
#ifndef FIRN_CONVERT_EQUALITY_DELETES_H
#define FIRN_CONVERT_EQUALITY_DELETES_H

#include "firn/catalog.h"
#include "firn/price.h"
#include "firn/progress.h"

#include <jansson.h>

struct firn_pool;

/* Options: target-file-size-bytes (of position delete files; the table's write.delete.target-file-size-bytes, else 64
 * MiB), max-file-group-input-files (data files worked on at once; 10000), partial-progress.enabled (false) and
 * partial-progress.max-commits (10). */
struct firn_convert_equality_deletes_args {
    struct firn_text where;              /* data files that may hold matching rows; empty: all */
    struct firn_text branch;             /* empty: main */
    const struct firn_property *options; /* options => map(...) */
    size_t option_count;
};

/* The plan. JSON is its only outside form: {"table", "snapshot_id", "options", "granularity" ("partition", "file" or
 * "vector"), "where", "groups": [{"group", "data_files", "data_bytes", "delete_files", "delete_bytes", "keys",
 * "files": [{"path", "bytes", "records", "reason"}]}], "deletes": [{"path", "bytes", "records", "reason"}], "skipped":
 * data files that equality deletes reach and that are left, likewise}. */
struct firn_convert_plan;

/* Decides; reads metadata only. USAGE for bad arguments, NOT_FOUND for an unknown branch. */
FIRN_CHECKED firn_status firn_convert_equality_deletes_plan(struct firn_op *op, struct firn_pool *pool,
                                                            struct firn_table *table,
                                                            const struct firn_convert_equality_deletes_args *args,
                                                            struct firn_convert_plan **out);
json_t *firn_convert_plan_json(struct firn_op *op, const struct firn_convert_plan *plan);
/* What doing it is predicted to take. */
struct firn_work firn_convert_plan_work(const struct firn_convert_plan *plan);

struct firn_convert_equality_deletes_report {
    int64_t converted_equality_delete_files_count; /* that left the table */
    int64_t added_delete_files_count;
    int64_t deleted_rows_count; /* found by key, and not said by position before */
    int64_t converted_bytes_count, added_bytes_count;
    int64_t data_files_count; /* whose keys were looked at */
    int64_t replaced_vectors_count;
    int64_t kept_equality_delete_files_count; /* that reach data files which were not converted */
    int64_t left_alone_files_count;           /* data files that firn could not look into */
    int64_t failed_groups;
    int64_t commits, failed_commits;
    int64_t elapsed_ms;
    int64_t snapshot_id; /* last committed; -1: none */
    struct firn_text *warnings;
    uint32_t warning_count;
};

/* Does what the plan says and commits, as an `overwrite`: a compaction by an engine that trusts equality deletes to
 * outlive it looks for new position deletes in overwrites, not in replacements. CONFLICT when a data file got a vector,
 * or left, meanwhile (format version 3). PARTIAL when some groups failed and partial progress kept the others. */
FIRN_CHECKED firn_status firn_convert_equality_deletes_apply(struct firn_op *op, struct firn_pool *pool,
                                                             struct firn_table *table,
                                                             const struct firn_convert_plan *plan,
                                                             struct firn_progress *progress,
                                                             struct firn_convert_equality_deletes_report *out);

#endif
