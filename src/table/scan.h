/* Scan planning: the live files of a snapshot, and which delete files apply to each data file.
 * Iceberg spec, "Scan Planning". */
#ifndef FIRN_TABLE_SCAN_H
#define FIRN_TABLE_SCAN_H

#include "base/pool.h"
#include "store/store.h"
#include "table/delete_index.h"
#include "table/expression.h"

/* The manifests of a snapshot: its manifest list, or the v1 embedded paths with what their headers tell. */
FIRN_CHECKED firn_status firn_snapshot_manifests(struct firn_op *op, struct firn_store *store,
                                                 const struct firn_metadata *metadata,
                                                 const struct firn_snapshot *snapshot, struct firn_manifest_list *out);
/* Reads and parses one manifest; errors name its path. */
FIRN_CHECKED firn_status firn_manifest_read(struct firn_op *op, struct firn_store *store,
                                            const struct firn_metadata *metadata, const struct firn_manifest_file *row,
                                            struct firn_manifest_read_options options, struct firn_manifest *out);
/* Reads one manifest for a look: it, and all that `visit` puts in its op->arena, goes when `visit` returns. */
typedef firn_status firn_manifest_visit(struct firn_op *op, void *context, const struct firn_manifest *manifest);
FIRN_CHECKED firn_status firn_manifest_look(struct firn_op *op, struct firn_store *store,
                                            const struct firn_metadata *metadata, const struct firn_manifest_file *row,
                                            struct firn_manifest_read_options options, firn_manifest_visit *visit,
                                            void *context);

/* Tells how many live entries a manifest has without decoding any: where its blocks have as many rows as the list says
 * in all, the list is believed. False in `*known` where they have not; CORRUPT for what is no manifest. */
FIRN_CHECKED firn_status firn_manifest_count_live(struct firn_op *op, struct firn_store *store,
                                                  const struct firn_manifest_file *row, bool *known, uint32_t *count);
/* Fills the counts that a list has of a manifest, from its entries; all of them must have been read. */
void firn_manifest_count_entries(const struct firn_manifest *manifest, struct firn_manifest_file *row);
/* Fills counts that a v1 list left out by reading the manifest; a list of v2 and up cannot be written without them. */
FIRN_CHECKED firn_status firn_manifest_count(struct firn_op *op, struct firn_store *store,
                                             const struct firn_metadata *metadata, struct firn_manifest_file *row);

/* A data file to scan, with the delete files that apply to it. */
struct firn_scan_file {
    const struct firn_manifest_entry *entry;
    struct firn_delete_match deletes;
};

struct firn_scan {
    const struct firn_snapshot *snapshot; /* NULL: empty table */
    struct firn_manifest_list manifests;
    struct firn_scan_file *files; /* live data files that may match, in manifest order */
    uint32_t file_count;
    const struct firn_manifest_entry **deletes; /* live delete files, but for manifests that `where` rules out */
    uint32_t delete_count;
};

struct firn_scan_options {
    const struct firn_predicate *where; /* NULL: everything */
    bool with_metrics;                  /* keep counts and bounds of data files */
    const int32_t *metric_fields;       /* or else those of some fields; NULL: of none */
    uint32_t metric_field_count;
};
/* Plans a scan of `snapshot` (NULL gives an empty scan); manifests are read in parallel. Deletes are matched by
 * sequence number, spec, partition and path as the specification says. Lives in op->arena. */
FIRN_CHECKED firn_status firn_scan_plan(struct firn_op *op, struct firn_pool *pool, struct firn_store *store,
                                        const struct firn_metadata *metadata, const struct firn_snapshot *snapshot,
                                        struct firn_scan_options options, struct firn_scan *out);

#endif
