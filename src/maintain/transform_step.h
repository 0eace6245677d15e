/* Partition transforms a step coarser or finer, as Spark spells them. */
#ifndef FIRN_MAINTAIN_TRANSFORM_STEP_H
#define FIRN_MAINTAIN_TRANSFORM_STEP_H

#include "table/partition.h"

/* Of the named column, in the arena; empty: there is none. */
struct firn_text firn_transform_coarser(struct firn_arena *arena, const struct firn_transform *transform,
                                        struct firn_text column);
/* Likewise, of times alone; `parts` is how many partitions one becomes, about. */
struct firn_text firn_transform_finer(struct firn_arena *arena, const struct firn_transform *transform,
                                      struct firn_text column, int64_t *parts);

#endif
