/* The retention a branch or tag is created with. Reference: procedures.md, 10. */
#ifndef FIRN_MAINTAIN_REFS_RETENTION_H
#define FIRN_MAINTAIN_REFS_RETENTION_H

#include "firn/refs.h"
#include "table/metadata.h"

/* -1: not given. */
struct firn_ref_retention {
    int64_t snapshots_min_keep;
    int64_t snapshot_age_ms_max;
    int64_t ref_age_ms_max;
};
/* From the texts of the arguments. USAGE for what is no positive number or age, or does not go with a tag. */
FIRN_CHECKED firn_status firn_ref_retention_parse(struct firn_op *op, const struct firn_ref_create_args *args,
                                                  struct firn_ref_retention *out);
/* What is given takes the place of what `ref` has. */
void firn_ref_retention_apply(const struct firn_ref_retention *retention, struct firn_ref *ref);

#endif
