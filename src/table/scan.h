/* Scan planning: the live files of a snapshot, and which delete files apply to each data file.
 * Iceberg spec, "Scan Planning". */
#ifndef FIRN_TABLE_SCAN_H
#define FIRN_TABLE_SCAN_H

#include "base/pool.h"
#include "store/store.h"
#include "table/expression.h"

/* The manifests of a snapshot: its manifest list, or the v1 embedded paths with what their headers tell. */
FIRN_CHECKED firn_status firn_snapshot_manifests(struct firn_op *op, struct firn_store *store,
                                                 const struct firn_metadata *metadata,
                                                 const struct firn_snapshot *snapshot, struct firn_manifest_list *out);
/* Reads and parses one manifest; errors name its path. */
FIRN_CHECKED firn_status firn_manifest_read(struct firn_op *op, struct firn_store *store,
                                            const struct firn_metadata *metadata, const struct firn_manifest_file *row,
                                            struct firn_manifest_read_options options, struct firn_manifest *out);

/* A data file to scan, with the delete files that apply to it. */
struct firn_scan_file {
    const struct firn_manifest_entry *entry;
    const struct firn_manifest_entry **deletes; /* position, equality and vectors alike, in no particular order */
    uint32_t delete_count;
};

struct firn_scan {
    const struct firn_snapshot *snapshot; /* NULL: empty table */
    struct firn_manifest_list manifests;
    struct firn_scan_file *files; /* live data files that may match, in manifest order */
    uint32_t file_count;
    const struct firn_manifest_entry **deletes; /* all live delete files */
    uint32_t delete_count;
};

struct firn_scan_options {
    const struct firn_predicate *where; /* NULL: everything */
    bool with_metrics;                  /* keep counts and bounds of data files */
};
/* Plans a scan of `snapshot` (NULL gives an empty scan); manifests are read in parallel. Deletes are matched by
 * sequence number, spec, partition and path as the specification says. Lives in op->arena. */
FIRN_CHECKED firn_status firn_scan_plan(struct firn_op *op, struct firn_pool *pool, struct firn_store *store,
                                        const struct firn_metadata *metadata, const struct firn_snapshot *snapshot,
                                        struct firn_scan_options options, struct firn_scan *out);

/* Whether a live delete entry applies to a data file entry (spec rules; no file is opened; position deletes without
 * path information count as applying). */
bool firn_delete_applies(const struct firn_metadata *metadata, const struct firn_manifest_entry *del,
                         const struct firn_manifest_entry *data);
/* A position delete that names exactly one data file: vector, referenced_data_file, or equal and complete path bounds.
 * Gives its path, or an empty text. */
struct firn_text firn_delete_file_scope(const struct firn_data_file *file);

#endif
