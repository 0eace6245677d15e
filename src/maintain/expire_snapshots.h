/* Inside expire_snapshots: which snapshots go, and which files with them.
 *
 * Invariants
 *  (1) Files are deleted only after the commit that lets their snapshots go; a failed or unknown commit deletes
 *      nothing.
 *  (2) What is deleted is what the expired snapshots reach, less all that the table reaches when the deleting begins.
 *  (3) The heads of main and of all branches and tags that stay are kept, whatever their age and settings.
 *  (4) The choice is made anew from the newest metadata for each attempt, and asserts all references it was made by.
 *  (5) What is to be deleted is in the run's journal before the commit, and stays there until it is gone: the next run
 *      deletes what this one could not. */
#ifndef FIRN_MAINTAIN_EXPIRE_SNAPSHOTS_H
#define FIRN_MAINTAIN_EXPIRE_SNAPSHOTS_H

#include "catalog/change.h"
#include "firn/expire_snapshots.h"
#include "maintain/removal.h"

/* The arguments with the table's defaults. */
struct firn_expiry_policy {
    int64_t now_ms;         /* taken once */
    int64_t older_than_ms;  /* snapshots of this time and later are kept */
    int64_t retain_last;    /* of each branch */
    int64_t ref_age_ms_max; /* of references that say nothing themselves */
    const int64_t *snapshot_ids;
    size_t snapshot_id_count;
};
/* Reference: procedures.md, 6.1. */
FIRN_CHECKED firn_status firn_expiry_policy_of(struct firn_op *op, const struct firn_metadata *metadata,
                                               const struct firn_expire_snapshots_args *args, int64_t now_ms,
                                               struct firn_expiry_policy *out);

struct firn_expired_snapshot {
    const struct firn_snapshot *snapshot;
    const char *reason;
};
struct firn_expired_ref {
    const struct firn_ref *ref;
    const char *reason;
};
/* What goes from one state of a table; borrows from its metadata. */
struct firn_expiry_choice {
    struct firn_expired_snapshot *snapshots; /* in the metadata's order */
    size_t snapshot_count;
    struct firn_expired_ref *refs;
    size_t ref_count;
    int32_t *spec_ids; /* with clean_expired_metadata */
    size_t spec_count;
    int32_t *schema_ids; /* likewise */
    size_t schema_count;
};
/* Pure: no storage, no clock. Reference: procedures.md, 6.3. */
FIRN_CHECKED firn_status firn_expiry_choose(struct firn_op *op, const struct firn_metadata *metadata,
                                            const struct firn_expiry_policy *policy, struct firn_expiry_choice *out);
/* Adds specs and schemas that no snapshot needs that stays; reads the manifest lists of those. */
FIRN_CHECKED firn_status firn_expiry_choose_model(struct firn_op *op, struct firn_pool *pool, struct firn_store *store,
                                                  const struct firn_metadata *metadata,
                                                  struct firn_expiry_choice *choice);
/* Whether the snapshot is one of those that go. */
bool firn_expiry_choice_has(const struct firn_expiry_choice *choice, const struct firn_snapshot *snapshot);

struct firn_expiry {
    struct firn_expire_snapshots_args args;
    struct firn_expiry_policy policy;
    struct firn_text table_name;
    struct firn_table_version base; /* what it was chosen from */
    struct firn_expiry_choice choice;
    struct firn_removal *removal; /* closed with the arena; NULL: no snapshot goes */
};
/* The choice made from the table as it is. */
FIRN_CHECKED firn_status firn_expiry_decide(struct firn_op *op, struct firn_pool *pool, const struct firn_table *table,
                                            struct firn_expiry *expiry);
/* The choice as requirements and updates; none when nothing goes. */
void firn_expiry_change(const struct firn_expiry *expiry, struct firn_change *out);
/* The metadata without what was chosen. */
FIRN_CHECKED firn_status firn_expiry_after(struct firn_op *op, const struct firn_expiry *expiry,
                                           struct firn_metadata **out);
/* Finds the files that go with the chosen snapshots. `after` is the metadata without them. */
FIRN_CHECKED firn_status firn_expiry_collect(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                             const struct firn_metadata *after, struct firn_expiry *expiry);

#endif
