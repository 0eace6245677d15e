/* New snapshots: append, replace, delete, with conflict validation, manifest filtering and merging, summaries, and the
 * commit loop. Reference: procedures.md, 3; Iceberg spec, "Snapshots", "Commit Conflict Resolution and Retry".
 *
 * Invariants
 *  (1) Every file of the change is durable before the first attempt; manifests and lists before the swap.
 *  (2) After a definite failure, the manifests and lists this producer wrote are removed, a draft's too; data files
 *      are the caller's.
 *  (3) After UNKNOWN nothing is removed.
 *  (4) Live entries of other writers are never dropped: only the files named for removal leave, plus delete files that
 *      can no longer apply to any live data file. Those that the planned snapshot shows to be so are looked at again
 *      in the head (late_data.c). */
#ifndef FIRN_CATALOG_SNAPSHOT_PRODUCER_H
#define FIRN_CATALOG_SNAPSHOT_PRODUCER_H

#include "base/pool.h"
#include "catalog/catalog.h"
#include "table/manifest.h"

/* A way out of a conflict: position deletes and vectors that came for removed data files since the change was planned
 * are said anew of the added ones. */
struct firn_carry_over {
    /* `deletes` are all of those deletes that are live in the head, equality deletes apart: vectors and deletes of
     * single data files that are removed, and deletes of partitions whose rows may or may not name a removed file. What
     * they say of removed data files beyond the planned snapshot is to be said in `added` of this change's added files,
     * in the format version that the table has then. Called when an attempt meets other deletes than the one before;
     * a call withdraws what the one before it gave. CONFLICT when it cannot be done: the commit then fails for good
     * with that error. */
    firn_status (*carry)(struct firn_op *op, void *context, const struct firn_manifest_entry *const *deletes,
                         uint32_t count, const struct firn_data_file **added, uint32_t *added_count);
    /* The commit failed definitely, or a later attempt needs nothing carried: what carry wrote is to be removed. */
    void (*withdraw)(struct firn_op *op, void *context);
    void *context;
};

/* Data files that stay while the change says their deletes anew, by new vectors in place of older ones or of other
 * deletes: they must still be in the table then, without a vector that the change does not remove. */
struct firn_restated_files {
    const struct firn_data_file *files;
    uint32_t count;
};

/* What a change needs to be true of the table it is committed to, beyond what is validated anyway. */
struct firn_base_check {
    /* Called at each attempt. A failure ends the commit for good. */
    firn_status (*holds)(struct firn_op *op, void *context, const struct firn_metadata *metadata);
    void *context;
};

/* A manifest whose live entries are to stand in other ones. */
struct firn_regrouped_manifest {
    const struct firn_manifest_file *row; /* of the planned snapshot's list */
    uint32_t entry_start, entry_count;    /* its live entries have these numbers, in the order of the file */
};
/* Entries with the same partition, in write order. */
struct firn_regrouped_stretch {
    struct firn_partition partition;
    uint32_t end; /* the place after its last; it begins where the one before ends */
};
/* Entries that are written together: one manifest, or more where it would be too large. */
struct firn_regrouped_group {
    uint32_t end; /* as above */
    bool is_deletes;
};
/* The same live entries, all of one spec, divided otherwise into manifests. */
struct firn_regrouping {
    const struct firn_regrouped_manifest *replaced; /* one at least */
    uint32_t replaced_count;
    uint32_t entry_count;  /* of all replaced manifests */
    const uint32_t *order; /* their numbers, in write order */
    const struct firn_regrouped_stretch *stretches;
    uint32_t stretch_count;
    const struct firn_regrouped_group *groups;
    uint32_t group_count;
};

/* What one snapshot changes. */
struct firn_snapshot_change {
    struct firn_text operation;          /* "append", "replace", "overwrite", "delete" */
    struct firn_text branch;             /* "main" */
    const struct firn_ref *new_branch;   /* the commit makes the branch, with this retention; EXISTS when it is there */
    const struct firn_base_check *check; /* NULL: none */
    const struct firn_data_file *added;
    uint32_t added_count;
    int64_t added_sequence_number; /* pinned data sequence number of all added files; FIRN_ABSENT: inherit */
    const struct firn_data_file *added_deletes;   /* delete files; for later procedures */
    const int64_t *added_delete_sequence_numbers; /* one each, FIRN_ABSENT: inherit; NULL: all inherit */
    uint32_t added_delete_count;
    const struct firn_data_file *removed; /* data files, by path */
    uint32_t removed_count;
    const struct firn_data_file *removed_deletes; /* delete files, by (path, content offset, content size) */
    uint32_t removed_delete_count;
    struct firn_restated_files restated;
    /* Delete files that, in the planned snapshot, apply to no data file but removed ones. They leave too, unless one is
     * gone already or may be needed by a data file that came since. */
    const struct firn_data_file *spent_deletes;
    uint32_t spent_delete_count;
    /* Manifests are written anew and nothing else changes: all that concerns files is empty then. A replaced manifest
     * that is not in the head is a final CONFLICT; what others added stays beside. */
    const struct firn_regrouping *regroupings;
    uint32_t regrouping_count;
    int64_t base_snapshot_id; /* what the change was planned on; FIRN_NO_SNAPSHOT skips conflict validation */
    const struct firn_carry_over *carry_over; /* NULL: such deletes are a conflict */
    bool fast_append;                         /* append without merging manifests */
    const int64_t *head_totals; /* counted, by enum firn_summary_total_id: the summary goes on from them instead of what
                                   the head's says; `check` sees to it that they are the head's. NULL: none */
    const struct firn_text (*properties)[2]; /* extra summary entries: key, value */
    uint32_t property_count;
    bool stage_only;                   /* add the snapshot, leave the ref alone (write-audit-publish) */
    struct firn_snapshot_draft *draft; /* what was done of it ahead; NULL: nothing */
};

/* What of a commit does not depend on what it adds, done while that is being made: the head's manifests of data are
 * looked through for the removed files, and those that lose some are written anew. The commit keeps what is right in
 * the head that it meets. NULL where this fails: the commit will meet the reason, too.
 * `change` has what the commit's will have but for what is added and which deletes are spent: the same data files
 * leave, in the same order. It is kept. */
struct firn_snapshot_draft *firn_snapshot_draft_open(struct firn_op *op, struct firn_pool *pool,
                                                     struct firn_table *table,
                                                     const struct firn_snapshot_change *change);
/* Removes what was written for a draft that was not committed. NULL is fine. */
void firn_snapshot_draft_close(struct firn_op *op, struct firn_snapshot_draft *draft);

struct firn_snapshot_result {
    int64_t snapshot_id;
    int64_t sequence_number;
    int32_t attempts;
    uint64_t removed_delete_files; /* delete entries dropped by this commit, asked for or not */
    uint64_t carried_delete_files; /* delete files that carry_over gave */
    int64_t manifests_created, manifests_replaced;
    bool must_plan_anew; /* CONFLICT that no further attempt at the same change can mend */
};

/* Commits the change with retries (commit.retry.*). Validation against what was committed since `base_snapshot_id`:
 * a removed data file that is gone, or new position deletes or vectors on one, or (unless the sequence number is
 * pinned) new equality deletes, are CONFLICT with a text that says which file, but for what carry_over takes over; such
 * a conflict is final, as is added-records > deleted-records for "replace", and a replacement that finds nothing left
 * to remove. `table` holds the new metadata afterwards. */
FIRN_CHECKED firn_status firn_snapshot_commit(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                              const struct firn_snapshot_change *change,
                                              struct firn_snapshot_result *out);

#endif
