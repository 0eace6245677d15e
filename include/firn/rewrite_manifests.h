/* The procedure rewrite_manifests. Reference: procedures.md, 5. */
#ifndef FIRN_REWRITE_MANIFESTS_H
#define FIRN_REWRITE_MANIFESTS_H

#include "firn/catalog.h"
#include "firn/price.h"

#include <jansson.h>

struct firn_pool;

/* The arguments as given; the procedure checks them and applies defaults. */
struct firn_rewrite_manifests_args {
    bool use_caching; /* changes nothing but a remark in the report */
    bool has_spec_id;
    int64_t spec_id;                 /* else the table's current spec */
    const struct firn_text *sort_by; /* names of partition fields; NULL: all of the spec, in its order */
    size_t sort_by_count;
};

/* The plan. JSON is its only outside form: {"table", "snapshot_id", "spec_id", "sort_by": [names], "target_bytes",
 * "kinds": [{"content" ("data" or "deletes"), "input_manifests", "input_bytes", "files", "partitions",
 * "expected_manifests", "reason"}], "manifests": [{"path", "bytes", "content", "files", "rewritten" (bool), "reason"}]
 * of all the snapshot's manifests, in list order; "files" of a manifest is null where it was not opened}. */
struct firn_manifest_plan;

/* Decides on the head of main; reads its manifest list and the manifests of the spec, without metrics. USAGE for an
 * unknown spec or sort field. */
FIRN_CHECKED firn_status firn_rewrite_manifests_plan(struct firn_op *op, struct firn_pool *pool,
                                                     struct firn_table *table,
                                                     const struct firn_rewrite_manifests_args *args,
                                                     struct firn_manifest_plan **out);
json_t *firn_manifest_plan_json(struct firn_op *op, const struct firn_manifest_plan *plan);
/* What doing it is predicted to take. */
struct firn_work firn_manifest_plan_work(const struct firn_manifest_plan *plan);

/* The procedure's output row, and what firn adds. */
struct firn_rewrite_manifests_report {
    int64_t rewritten_manifests_count;
    int64_t added_manifests_count;
    int64_t kept_manifests_count; /* of the snapshot, that were not to be rewritten */
    int64_t entries_count;        /* live entries that were moved */
    int64_t elapsed_ms;
    int64_t snapshot_id; /* -1: nothing was committed */
    struct firn_text *warnings;
    uint32_t warning_count;
};

/* Does what the plan says and commits it; planned anew, a few times, when others replaced its manifests meanwhile.
 * CONFLICT when that goes on. */
FIRN_CHECKED firn_status firn_rewrite_manifests_apply(struct firn_op *op, struct firn_pool *pool,
                                                      struct firn_table *table, const struct firn_manifest_plan *plan,
                                                      struct firn_rewrite_manifests_report *out);

#endif
