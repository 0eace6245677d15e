/* The procedure rewrite_position_delete_files. Reference: procedures.md, 4. */
#ifndef FIRN_REWRITE_POSITION_DELETE_FILES_H
#define FIRN_REWRITE_POSITION_DELETE_FILES_H

#include "firn/catalog.h"
#include "firn/price.h"
#include "firn/progress.h"

#include <jansson.h>

struct firn_pool;

/* The arguments as given; the procedure checks them and applies defaults. */
struct firn_rewrite_position_delete_files_args {
    struct firn_text where;              /* on columns of the table; empty: everything */
    const struct firn_property *options; /* options => map(...) */
    size_t option_count;
};

/* The plan. JSON is its only outside form: {"table", "snapshot_id", "options": {...effective...}, "granularity"
 * ("partition", "file" or "vector"), "where", "groups": [{"group", "partition", "spec_id", "input_bytes",
 * "input_files", "expected_output_files" (null: only the rows can tell), "files": [{"path", "bytes", "records",
 * "reason"}]}], "skipped": [{"path", "bytes", "records", "partition", "reason"}]}. */
struct firn_position_rewrite_plan;

/* Decides on the head of main; reads metadata and the footers of candidates only. USAGE for bad arguments (all unknown
 * option keys in one error). */
FIRN_CHECKED firn_status firn_rewrite_position_delete_files_plan(
    struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
    const struct firn_rewrite_position_delete_files_args *args, struct firn_position_rewrite_plan **out);
json_t *firn_position_rewrite_plan_json(struct firn_op *op, const struct firn_position_rewrite_plan *plan);
/* What doing it is predicted to take. */
struct firn_work firn_position_rewrite_plan_work(const struct firn_position_rewrite_plan *plan);

/* The procedure's output row, and what firn adds. */
struct firn_rewrite_position_delete_files_report {
    int64_t rewritten_delete_files_count;
    int64_t added_delete_files_count;
    int64_t rewritten_bytes_count; /* of inputs; of a vector, its blob */
    int64_t added_bytes_count;     /* of outputs, likewise */
    int64_t left_alone_files_count;
    int64_t rewritten_rows, added_rows; /* positions; the difference was dangling or said twice */
    int64_t failed_groups;              /* that could not be written */
    int64_t commits, failed_commits;
    int64_t elapsed_ms;
    int64_t snapshot_id; /* last committed; -1: none */
    struct firn_text *warnings;
    uint32_t warning_count;
};

/* Does what the plan says and commits. CONFLICT when a data file got a vector, or left, meanwhile. PARTIAL when some
 * groups failed and partial progress kept the others. */
FIRN_CHECKED firn_status firn_rewrite_position_delete_files_apply(
    struct firn_op *op, struct firn_pool *pool, struct firn_table *table, const struct firn_position_rewrite_plan *plan,
    struct firn_progress *progress, struct firn_rewrite_position_delete_files_report *out);

#endif
