/* What every plan of a procedure begins with: the branch's head, the types of partition values, words for partitions;
 * and its JSON. */
#ifndef FIRN_MAINTAIN_BRANCH_PLAN_H
#define FIRN_MAINTAIN_BRANCH_PLAN_H

#include "rewrite/delete_writer.h"

#include <jansson.h>

/* The snapshot that a plan for `branch` looks at; NULL: the table is empty, whatever branch is named. NOT_FOUND for an
 * unknown branch, USAGE for a tag. */
FIRN_CHECKED firn_status firn_branch_head(struct firn_op *op, const struct firn_metadata *metadata,
                                          struct firn_text branch, const struct firn_snapshot **out);
/* "day=2024-01-01/bucket=3"; empty for an unpartitioned spec, and for one that the metadata does not have. */
struct firn_text firn_file_partition_text(struct firn_arena *arena, const struct firn_metadata *metadata,
                                          struct firn_type *const *spec_types, const struct firn_data_file *file);
/* The table's write.delete.granularity; unless it says otherwise a file a data file, as the reference writes when it
 * rewrites delete files. USAGE for any other word. */
FIRN_CHECKED firn_status firn_delete_granularity_find(struct firn_op *op, const struct firn_metadata *metadata,
                                                      enum firn_delete_granularity *out);
/* "vector", "partition" or "file". */
const char *firn_delete_form_name(bool to_vectors, enum firn_delete_granularity granularity);
/* A plan's JSON: the table and the snapshot (NULL: none) that it was made for. A new reference. */
json_t *firn_branch_plan_json(struct firn_text table_name, const struct firn_snapshot *snapshot);
/* A file of a plan as JSON; `bytes` is what reading it takes. A new reference. */
json_t *firn_planned_file_json(const struct firn_data_file *file, int64_t bytes, struct firn_text reason);

#endif
