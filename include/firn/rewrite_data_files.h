/* The procedure rewrite_data_files. Reference: procedures.md, 2. */
#ifndef FIRN_REWRITE_DATA_FILES_H
#define FIRN_REWRITE_DATA_FILES_H

#include "firn/catalog.h"
#include "firn/price.h"
#include "firn/progress.h"
#include "firn/rung.h"
#include "firn/sort_way.h"

struct firn_pool;

/* What is worth rewriting for whoever comes again and again, beyond what the options say of files. Sequence numbers are
 * those of the table; version 1 has none, and there every group is looked at. */
struct firn_rewrite_worth {
    int64_t settled_number;   /* groups without anything newer are left; 0: none */
    int64_t cold_number;      /* groups without anything newer do not change any more, and are packed once more ... */
    int64_t cold_done_number; /* ... unless they are as old as this: that was done */
    int64_t cold_input_files_min;     /* min-input-files for those */
    int64_t bytes_per_file_saved_max; /* a group that costs more is left until it has grown; but for those */
};

/* What a run may take at most; 0: no limit. Groups run best gain first then, and what no longer fits is left for a
 * later run. The gain is the requests that a scan of everything makes fewer afterwards, for each byte rewritten. A run
 * ends at a commit: what was begun is finished and committed. */
struct firn_rewrite_limits {
    int64_t bytes_max;    /* of data files that are rewritten */
    int64_t requests_max; /* as predicted when it is planned, and as counted by the store while it runs */
    int64_t time_ms_max;  /* no group begins that would not be done in time at the pace so far; the first one does */
};

/* The arguments as given; the procedure checks them and applies defaults. */
struct firn_rewrite_data_files_args {
    struct firn_text strategy;   /* empty: binpack (sort when sort_order is given) */
    struct firn_text sort_order; /* "a DESC, days(b)", "zorder(a, b)", "hilbert(a, b)"; empty: the table's own */
    struct firn_text where;      /* empty: everything */
    struct firn_text branch;     /* empty: main */
    const struct firn_property *options; /* options => map(...) */
    size_t option_count;
    bool verify_full;
    uint64_t memory_bytes_max;              /* --memory */
    const struct firn_rewrite_worth *worth; /* NULL: whatever qualifies */
    struct firn_rewrite_limits limits;
};

/* The plan. JSON is its only outside form: {"table", "snapshot_id", "strategy", "sort_order" and "sort_order_id"
 * (where rows are put in order), "notices": [text], "options": {...effective...}, "where",
 * "ruled_out_by_where" (files; null: not counted), "groups": [{"group", "partition" (of the output spec only),
 * "spec_id", "output_spec_id", "input_bytes", "input_files", "expected_output_files", "files": [{"path", "bytes",
 * "records", "reason"}], "deletes": [{"kind", "path", "sequence_number", "bytes", "records", "data_files" (of the
 * group), "data_files_of_table", "rows_max", "is_exact"}], "deletes_total": {"files", "bytes", "opened_per_scan",
 * "bytes_per_scan", "rows_min", "rows_max"}, "outputs": [{"input_bytes" (less what is known to be deleted), "sort_way"
 * (where rows are put in order: "sorted", "merged" or "concatenated"), "pieces": [{"file", "offset", "length"}]}]}],
 * "skipped": [{"path", "bytes", "records", "partition", "reason"}], "left" (what is beyond the limits): {"groups",
 * "files", "bytes"}}.
 *
 * "deletes" may be cut to the dearest files where the plan has very many; "deletes_total" counts all. "rows_max" of a
 * delete file is the number of the group's rows that it deletes, exactly or at most; a scan opens the
 * delete files of every data file it reads. */
struct firn_rewrite_plan;

/* Decides; reads metadata only. USAGE for bad arguments (all unknown option keys in one error), NOT_FOUND for an
 * unknown branch. */
FIRN_CHECKED firn_status firn_rewrite_data_files_plan(struct firn_op *op, struct firn_pool *pool,
                                                      struct firn_table *table,
                                                      const struct firn_rewrite_data_files_args *args,
                                                      struct firn_rewrite_plan **out);
/* Looks into the first files of the first groups, so that the plan's JSON tells what would be done to each column:
 * groups get "looked_at" (files) and "columns": [{"column", "rung", "reason" (none: copied), "bytes"}]. A group with a
 * file that cannot be read does not; a warning says why. */
void firn_rewrite_data_files_look(struct firn_op *op, struct firn_pool *pool, const struct firn_table *table,
                                  struct firn_rewrite_plan *plan);
json_t *firn_rewrite_plan_json(struct firn_op *op, const struct firn_rewrite_plan *plan);
/* What doing it is predicted to take. */
struct firn_work firn_rewrite_plan_work(const struct firn_rewrite_plan *plan);
uint32_t firn_rewrite_plan_group_count(const struct firn_rewrite_plan *plan);

/* What limits kept a run from. */
struct firn_rewrite_left {
    int64_t groups, files, bytes;
};

/* The procedure's output row, and what firn adds. */
struct firn_rewrite_data_files_report {
    int64_t rewritten_data_files_count;
    int64_t added_data_files_count;
    int64_t rewritten_bytes_count; /* input bytes, as the reference counts */
    int64_t failed_data_files_count;
    int64_t removed_delete_files_count; /* by this run's commits, for whatever reason */
    int64_t added_bytes_count;
    int64_t left_alone_files_count; /* qualifying files firn could not rewrite (ORC, Avro, encrypted, ...) */
    int64_t commits, failed_commits;
    int64_t replanned_groups_count;         /* lost to commits of others, planned anew on the table as it was then */
    int64_t carried_delete_files_count;     /* written anew for deletes that others committed while this ran */
    int64_t carried_rows_count;             /* that these delete */
    int64_t reused_groups_count;            /* that an earlier run had finished, and did not commit */
    int64_t leftover_files_count;           /* deleted, of earlier runs that did not end */
    int64_t rows;                           /* written */
    int64_t deleted_rows_count;             /* left out, since delete files say so */
    int64_t kept_delete_files_count;        /* applied, and kept: they apply to data files that were not rewritten */
    int64_t kept_for_data_files_count;      /* so many */
    struct firn_rung_counts pages;          /* of the data files: what was done to them */
    int64_t sort_ways[FIRN_SORT_WAY_COUNT]; /* outputs to be (of a sort: groups) that were put in order so */
    struct firn_rewrite_left left;          /* for want of bytes, requests or time */
    int64_t elapsed_ms;
    int64_t snapshot_id; /* last committed; -1: none */
    struct firn_text *warnings;
    uint32_t warning_count;
};

/* Does what the plan says and commits, as far as the limits go: what they leave is no failure. What others committed
 * meanwhile is kept: deletes of rewritten files are carried over, and groups that are lost all the same are planned
 * anew, as often as commit.retry.num-retries says. PARTIAL when some groups failed and partial progress kept the
 * others. */
FIRN_CHECKED firn_status firn_rewrite_data_files_apply(struct firn_op *op, struct firn_pool *pool,
                                                       struct firn_table *table, const struct firn_rewrite_plan *plan,
                                                       struct firn_progress *progress,
                                                       struct firn_rewrite_data_files_report *out);

#endif
