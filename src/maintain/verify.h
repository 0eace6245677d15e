/* Inside firn verify: what its parts share. The order is that of verify.c: metadata, manifest lists, manifests with
 * their files, heads of branches and tags, and at last which snapshots can still be read.
 *
 * Invariants
 *  (1) Nothing is written.
 *  (2) What is wrong with the table is a finding; a part fails only for a cause outside of it (firn_verify_failed).
 *  (3) Memory is bounded by snapshots, manifests and some 50 bytes a file: what a manifest holds goes when the next is
 *      read, but for the delete files of one head at a time.
 *  (4) Each manifest list and manifest is read once, and each file checked once for each way that it is recorded,
 *      however many snapshots share it; heads, and a broken table, cost one more reading of lists and manifests. */
#ifndef FIRN_MAINTAIN_VERIFY_H
#define FIRN_MAINTAIN_VERIFY_H

#include "base/map.h"
#include "base/pool.h"
#include "catalog/catalog.h"
#include "maintain/finding.h"
#include "maintain/key_map.h"
#include "table/manifest.h"

#include <pthread.h>

/* A manifest that some snapshot names. */
struct firn_verify_manifest {
    struct firn_manifest_file row; /* of the list that was read first */
    struct firn_text named_by;     /* that list, or the metadata file */
    struct firn_text broken;       /* the first thing in it that cannot be read, itself or a file; empty: none */
};

struct firn_verify {
    const struct firn_verify_options *options;
    struct firn_pool *pool;
    struct firn_table *table;
    struct firn_store *store;
    const struct firn_metadata *metadata;
    struct firn_findings found;
    struct firn_verify_report *report;
    struct firn_verify_snapshot *snapshots; /* as metadata->snapshots */
    struct firn_map manifests;              /* path to struct firn_verify_manifest */
    bool has_deletes;                       /* some manifest is of delete files */
    pthread_mutex_t lock;                   /* of what follows */
    struct firn_key_map seen;               /* files, as recorded */
    struct firn_key_map broken;             /* firn_verify_path_key of files that cannot be read */
    struct firn_key_map row_counts;         /* of data files, if there are deletes: complete once these are looked at */
};

/* Work on many things of one kind: `look` runs in parallel, and what it finds and gives is taken over in order. What it
 * leaves in op->arena goes after `take` (which may be NULL). */
struct firn_verify_work {
    firn_status (*look)(struct firn_op *op, struct firn_verify *verify, size_t index, struct firn_findings *found,
                        void **result);
    firn_status (*take)(struct firn_op *op, struct firn_verify *verify, size_t index, void *result);
};
FIRN_CHECKED firn_status firn_verify_each(struct firn_op *op, struct firn_verify *verify, size_t count,
                                          const struct firn_verify_work *work);

/* The parts. */
FIRN_CHECKED firn_status firn_verify_metadata(struct firn_op *op, struct firn_verify *verify);
FIRN_CHECKED firn_status firn_verify_location(struct firn_op *op, struct firn_verify *verify);
FIRN_CHECKED firn_status firn_verify_lists(struct firn_op *op, struct firn_verify *verify);
FIRN_CHECKED firn_status firn_verify_manifests(struct firn_op *op, struct firn_verify *verify);
FIRN_CHECKED firn_status firn_verify_heads(struct firn_op *op, struct firn_verify *verify);
FIRN_CHECKED firn_status firn_verify_readable(struct firn_op *op, struct firn_verify *verify);

/* Checks the live files of a manifest, each once. */
FIRN_CHECKED firn_status firn_verify_files(struct firn_op *op, struct firn_verify *verify,
                                           const struct firn_manifest *manifest, struct firn_findings *found);

/* Turns a failure to read an object into a finding, CODE-missing or CODE-unreadable; gives back the failures that are
 * none of the table's, and FIRN_OK for all others. */
struct firn_verify_codes {
    const char *missing, *unreadable;
    enum firn_severity severity;
};
FIRN_CHECKED firn_status firn_verify_failed(struct firn_op *op, firn_status status,
                                            const struct firn_verify_codes *codes, struct firn_text location,
                                            struct firn_findings *found);

struct firn_hash128 firn_verify_path_key(struct firn_text path);
/* An id for people, in op->arena. */
struct firn_text firn_verify_id(struct firn_op *op, const struct firn_verify *verify, int64_t snapshot_id);

#endif
