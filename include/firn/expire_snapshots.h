/* The procedure expire_snapshots. Reference: procedures.md, 6. */
#ifndef FIRN_EXPIRE_SNAPSHOTS_H
#define FIRN_EXPIRE_SNAPSHOTS_H

#include "firn/catalog.h"
#include "firn/price.h"
#include "firn/progress.h"

#include <jansson.h>

struct firn_pool;

/* The arguments as given; the procedure checks them and takes what is missing from the table's properties. What a
 * branch or tag says of its own retention goes before both. */
struct firn_expire_snapshots_args {
    struct firn_text older_than;     /* a timestamp (UTC where it has no zone) or an age; empty: not given */
    int64_t retain_last;             /* 0: not given */
    const int64_t *snapshot_ids;     /* go whatever their age */
    size_t snapshot_id_count;        /* age decides about the others all the same */
    uint32_t max_concurrent_deletes; /* 0: as many as there are threads */
    bool clean_expired_metadata;     /* also partition specs and schemas that nothing needs any more */
    bool mark;                       /* mark the files for a later sweep instead of deleting them */
};

/* What would go, and why. Lives in the op->arena it was planned with. */
struct firn_expiry;

/* Decides; reads metadata, manifest lists and manifests only. USAGE for bad arguments or a snapshot id that a branch or
 * tag points to; DENIED when the table says gc.enabled=false. */
FIRN_CHECKED firn_status firn_expire_snapshots_plan(struct firn_op *op, struct firn_pool *pool,
                                                    struct firn_table *table,
                                                    const struct firn_expire_snapshots_args *args,
                                                    struct firn_expiry **out);
/* {"table", "older_than" (text), "retain_last", "kept_snapshots" (number), "snapshots": [{"snapshot_id",
 * "timestamp_ms", "reason"}], "refs": [{"ref", "type", "snapshot_id", "reason"}], "partition_specs": [ids], "schemas":
 * [ids], "files":
 * [{"path", "type", "bytes" (null: not known), "reason"}], and the procedure's six counts as they would be}. Owned by
 * op->arena. */
json_t *firn_expiry_json(struct firn_op *op, const struct firn_expiry *expiry);
/* What doing it is predicted to take. */
struct firn_work firn_expiry_work(const struct firn_expiry *expiry);

struct firn_expiry_failure {
    struct firn_text path;
    struct firn_text reason;
};

/* The procedure's output row, and what firn adds. Only files that are gone count. */
struct firn_expire_snapshots_report {
    int64_t deleted_data_files_count;
    int64_t deleted_position_delete_files_count; /* files; the vectors in one Puffin file count once */
    int64_t deleted_equality_delete_files_count;
    int64_t deleted_manifest_files_count;
    int64_t deleted_manifest_lists_count;
    int64_t deleted_statistics_files_count;
    int64_t deleted_bytes; /* of files whose size the metadata tells */
    int64_t expired_snapshots_count;
    int64_t removed_refs_count;
    int64_t marked_files_count;                 /* with `mark`, instead of deleted ones */
    int64_t leftover_files_count;               /* deleted, or found deleted, for runs before that did not end */
    const struct firn_expiry_failure *failures; /* files that are still there; in op->arena */
    size_t failure_count;
    int64_t elapsed_ms;
};

/* Commits, deciding anew when others committed since, and then deletes what no snapshot that is left reaches. Nothing
 * to do is no commit. PARTIAL, and `out` is filled, when files could not be deleted: they stay in the table's journal
 * (journal.h), and the next run deletes them. */
FIRN_CHECKED firn_status firn_expire_snapshots_apply(struct firn_op *op, struct firn_pool *pool,
                                                     struct firn_table *table, struct firn_expiry *expiry,
                                                     struct firn_progress *progress,
                                                     struct firn_expire_snapshots_report *out);

#endif
