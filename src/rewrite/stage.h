/* A row group in temporary files: for one whose columns cannot all be held while steps work through it. Each column is
 * read once, from end to end, and its rows are put there in strips; steps take them back a strip at a time, so that
 * they hold little however many columns there are, and no chunk is fetched and decoded again for each of them. */
#ifndef FIRN_REWRITE_STAGE_H
#define FIRN_REWRITE_STAGE_H

#include "rewrite/group_run.h"
#include "rewrite/held_column.h"
#include "rewrite/run_part.h"
#include "store/spill.h"

struct firn_stage;
struct firn_stage_config {
    const struct firn_group_run *run;
    int64_t first_row, row_count; /* of the slice that are staged */
    uint64_t bytes;               /* what these take decoded, about */
};
/* Lives in op->arena; must be closed. */
FIRN_CHECKED firn_status firn_stage_open(struct firn_op *op, const struct firn_stage_config *config,
                                         struct firn_stage **out);
/* NULL is fine. */
void firn_stage_close(struct firn_stage *stage);

/* One leaf being put in; leaves may be worked at once by several threads. */
struct firn_stage_writer {
    struct firn_stage *stage;
    uint32_t leaf;
    uint32_t strip;               /* in progress */
    struct firn_held_column rows; /* of it */
    struct firn_taken_rows taken;
    struct firn_buffer numbers, part; /* scratch */
    uint8_t skips;
};
/* A writer whose rows are those of the stage, from the first on. */
void firn_stage_writer_init(struct firn_stage_writer *writer, struct firn_stage *stage, uint32_t leaf);
/* Adds the rows of a vector, which may go on with the last row. */
FIRN_CHECKED firn_status firn_stage_append(struct firn_op *op, struct firn_stage_writer *writer,
                                           const struct firn_vector *vector);
/* Puts the last strip. Fails: CORRUPT when there were not as many rows as the stage has. */
FIRN_CHECKED firn_status firn_stage_finish(struct firn_op *op, struct firn_stage_writer *writer);
void firn_stage_writer_done(struct firn_stage_writer *writer);

/* Memory for what is taken back. All zeros is ready for use. */
struct firn_strip {
    struct firn_buffer part, body;
    struct firn_run_values values;
};
/* Rows of a leaf from `row` of the slice on, as far as the strip goes in which it lies. Borrows from `strip` until the
 * next call. Thread-safe. */
FIRN_CHECKED firn_status firn_stage_take(struct firn_op *op, const struct firn_stage *stage, uint32_t leaf, int64_t row,
                                         struct firn_strip *strip, struct firn_vector *out);
void firn_strip_done(struct firn_strip *strip);

#endif
