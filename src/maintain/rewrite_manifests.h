/* What the parts of rewrite_manifests share: the plan, and how entries are arranged. Reference: procedures.md, 5. */
#ifndef FIRN_MAINTAIN_REWRITE_MANIFESTS_H
#define FIRN_MAINTAIN_REWRITE_MANIFESTS_H

#include "base/buffer.h"
#include "base/pool.h"
#include "catalog/snapshot_producer.h"
#include "firn/rewrite_manifests.h"

/* What becomes of the manifests of one kind, data or deletes. */
enum firn_manifest_verdict {
    FIRN_MANIFESTS_NONE,    /* there are none */
    FIRN_MANIFESTS_SINGLE,  /* one, within the target */
    FIRN_MANIFESTS_SETTLED, /* rewriting would give the same again */
    FIRN_MANIFESTS_REWRITE
};

struct firn_manifest_kind {
    bool is_deletes; /* as the list labels them */
    FIRN_ARRAY(struct firn_regrouped_manifest) manifests;
    bool has_tombstones; /* some has entries of status DELETED, or none at all */
    int64_t bytes;
    uint32_t target_count; /* how many manifests their bytes would fill */
    enum firn_manifest_verdict verdict;
    struct firn_regrouping regrouping; /* but for FIRN_MANIFESTS_NONE and _SINGLE */
};

/* By what entries are clustered: fields of the spec, by place. */
struct firn_manifest_sort {
    uint32_t *fields;
    uint32_t count;
};

struct firn_manifest_plan {
    struct firn_text table_name;
    struct firn_rewrite_manifests_args args; /* as they were given, to plan anew */
    const struct firn_metadata *metadata;
    const struct firn_snapshot *snapshot; /* NULL: empty table */
    const struct firn_partition_spec *spec;
    struct firn_manifest_sort sort;
    int64_t target_bytes;
    struct firn_manifest_list list;
    struct firn_manifest_kind kinds[2]; /* data, deletes */
};

/* Reads the kind's manifests and arranges their entries: counts, order, groups. Fills `manifests`, `has_tombstones` and
 * `regrouping`; it lives in op->arena and borrows the rows. */
FIRN_CHECKED firn_status firn_manifests_arrange(struct firn_op *op, struct firn_pool *pool, struct firn_store *store,
                                                const struct firn_manifest_plan *plan, struct firn_manifest_kind *kind);
/* Why the manifests of a kind are rewritten or left, in words with numbers. */
struct firn_text firn_manifest_kind_reason(struct firn_arena *arena, const struct firn_manifest_plan *plan,
                                           const struct firn_manifest_kind *kind);

#endif
