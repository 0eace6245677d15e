/* Executing one plan group: data files in, data files out. A pure function of its task: it needs no catalog and commits
 * nothing, so a thread, a Spark executor and a pod can all run it.
 *
 * Invariants
 *  (1) Rows in minus rows deleted = rows out, checked against the footers of the written files, read back.
 *  (2) A failed or cancelled execution removes every file it wrote.
 *  (3) Values are what the specification's read rules give: columns by field id, identity partition constants, initial
 *      defaults, promotion, name mapping; the output has the current schema. */
#ifndef FIRN_REWRITE_REWRITE_H
#define FIRN_REWRITE_REWRITE_H

#include "base/hash.h"
#include "base/pool.h"
#include "base/uuid.h"
#include "firn/progress.h"
#include "firn/sort_way.h"
#include "rewrite/layout.h"
#include "rewrite/ordering.h"
#include "rewrite/row_map.h"
#include "store/store.h"
#include "table/delete_index.h"
#include "table/manifest.h"
#include "table/metadata.h"

/* A byte range of an input file: the row groups whose midpoint lies in [offset, offset + length). */
struct firn_rewrite_piece {
    uint32_t input; /* index into the group's inputs */
    uint64_t offset, length;
};

#define FIRN_NO_RUN UINT32_MAX

/* One output file to be, unless the writer rolls: pieces in reading order. */
struct firn_rewrite_bin {
    struct firn_rewrite_piece *pieces;
    uint32_t piece_count;

    /* With an ordering: which pieces are in order by what the table says, so that they need not be sorted again. The
     * rows of a run are its pieces', one piece after the other. Where that turns out to be wrong all are sorted. */
    const uint32_t *piece_runs; /* of each piece, below run_count, or FIRN_NO_RUN; NULL: none is in a run */
    uint32_t run_count;
};

/* How its rows will be put in order, if that is to be done and what is said of its pieces is right. */
enum firn_sort_way firn_rewrite_bin_way(const struct firn_rewrite_bin *bin);

struct firn_rewrite_group {
    uint32_t index; /* in the plan; names output files */
    const struct firn_data_file *inputs;
    const int64_t *input_sequence_numbers; /* data sequence number of each input; v3 row lineage needs them, v1 and v2
                                              may leave them NULL where no deletes are given */
    const struct firn_delete_match *input_deletes; /* what applies to each input, all of it; NULL: nothing to any */
    uint32_t input_count;
    const struct firn_rewrite_bin *bins;
    uint32_t bin_count;
    int32_t output_spec_id;
    uint64_t file_bytes_max;              /* write-max: a file reaching it is ended at the next row group boundary */
    const struct firn_ordering *ordering; /* NULL: rows stay in reading order */
    int64_t file_rows; /* with an ordering: rows of a file, about; 0: as many as file_bytes_max allows */
};

enum firn_verify { FIRN_VERIFY_COUNTS, FIRN_VERIFY_FULL };

struct firn_rewrite_context {
    const struct firn_metadata *metadata; /* schemas, specs, properties; output has the current schema */
    struct firn_store *store;
    struct firn_pool *pool;     /* columns of a row group are worked in parallel */
    struct firn_uuid operation; /* in output file names */
    enum firn_verify verify;
    struct firn_layout_policy layout;
    struct firn_progress *progress; /* may be NULL */
    uint64_t memory_bytes_max;      /* what this group may hold at once */
    uint64_t row_map_bytes_max;     /* what the map of surviving rows may take; 0: none is wanted */
};

/* Order-free fingerprint of one column: sum over rows of a 128-bit hash of value or null (nested columns: of each
 * leaf's levels and value, keyed by the row's content). */
struct firn_fingerprint {
    int32_t field_id;
    struct firn_hash128 sum;
};

struct firn_rewrite_result {
    struct firn_data_file *files; /* with metrics, partition, split offsets; in op->arena */
    uint32_t file_count;
    int64_t rows_in, rows_deleted, rows_out;
    uint32_t sort_ways[FIRN_SORT_WAY_COUNT]; /* with an ordering: bins that were put in order so */
    struct firn_row_map *row_map;            /* NULL: not asked for, or too large to keep */
    uint64_t bytes_in, bytes_out;
    struct firn_rung_counts rungs;         /* what was done to the pages read */
    struct firn_fingerprint *fingerprints; /* verify full: one a leaf column, equal in and out; NULL otherwise */
    uint32_t fingerprint_count;
    uint64_t requests; /* reads issued */
};

/* Runs the group. Fails: VERIFY when the proof fails, CORRUPT for a broken input (named), UNSUPPORTED for what firn
 * cannot rewrite safely. After a failure nothing it wrote is left. */
FIRN_CHECKED firn_status firn_rewrite_group_execute(struct firn_op *op, const struct firn_rewrite_context *context,
                                                    const struct firn_rewrite_group *group,
                                                    struct firn_rewrite_result *out);
/* What would be done to most bytes of a column's pages. */
struct firn_expected_column {
    struct firn_text path;
    enum firn_rung rung;
    enum firn_rung_reason reason;
    uint64_t bytes; /* of the column in the files looked at */
};
struct firn_expectation {
    struct firn_expected_column *columns; /* those that the files store; in op->arena */
    uint32_t column_count;
    uint32_t file_count; /* looked at */
};
/* Looks at the first few inputs of a group, whose bins may be NULL: footers, and the pages of small files. Which rows
 * are deleted it does not know. Fails as an execution would on these files. */
FIRN_CHECKED firn_status firn_rewrite_expect(struct firn_op *op, const struct firn_rewrite_context *context,
                                             const struct firn_rewrite_group *group, struct firn_expectation *out);
/* Removes the files of a result that will not be committed. */
void firn_rewrite_result_discard(struct firn_op *op, struct firn_store *store,
                                 const struct firn_rewrite_result *result);

/* Whether the table's write properties make sense for the files of its current schema: what an execution would fail
 * with. USAGE. */
FIRN_CHECKED firn_status firn_rewrite_settings_check(struct firn_op *op, const struct firn_metadata *metadata);
/* Whether firn can rewrite files of this schema at all (variant, geometry, ...); UNSUPPORTED with the reason. */
FIRN_CHECKED firn_status firn_rewrite_schema_check(struct firn_op *op, const struct firn_schema *schema);

#endif
