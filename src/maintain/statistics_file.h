/* What the procedures that write statistics share: the snapshot, the file's name, setting it in the metadata. */
#ifndef FIRN_MAINTAIN_STATISTICS_FILE_H
#define FIRN_MAINTAIN_STATISTICS_FILE_H

#include "catalog/change.h"

/* The snapshot of an id; of main where `id` is NULL, NULL for an empty table. NOT_FOUND. */
FIRN_CHECKED firn_status firn_statistics_snapshot(struct firn_op *op, const struct firn_metadata *metadata,
                                                  const int64_t *id, const struct firn_snapshot **out);
/* The schema that a snapshot was written with; the current one where it does not say. */
const struct firn_schema *firn_snapshot_schema(const struct firn_metadata *metadata,
                                               const struct firn_snapshot *snapshot);
/* The file that is set for a snapshot, or NULL. */
const struct firn_statistics_file *firn_statistics_find(const struct firn_metadata *metadata, int64_t snapshot_id,
                                                        bool is_partition_statistics);

/* Where a new file goes, beside the metadata: its name is the prefix, the snapshot's id, a random number and the
 * suffix. In op->arena. */
struct firn_text firn_statistics_location(struct firn_op *op, const struct firn_metadata *metadata, int64_t snapshot_id,
                                          const char *prefix, const char *suffix);

/* A written file to be set for its snapshot. */
struct firn_statistics_setting {
    int64_t snapshot_id;
    struct firn_text location;
    const char *action; /* "set-statistics", "set-partition-statistics" */
    const char *member; /* of that update */
    json_t *file;       /* borrowed; its snapshot-id is added */
};
/* Commits it; the file is removed where that fails, unless the outcome is unknown. NOT_FOUND where the snapshot has
 * gone meanwhile. */
FIRN_CHECKED firn_status firn_statistics_set(struct firn_op *op, struct firn_table *table,
                                             const struct firn_statistics_setting *setting);

#endif
