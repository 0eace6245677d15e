/* Sorted rows that do not stay in memory: runs, in blocks of rows in temporary files (store/spill.h).
 *
 * A block holds some rows of a run, all columns and the keys, so that it is one read however many columns there are:
 * lengths of its parts (uint32_t), then the parts (run_part.h), one a leaf and that of the keys (run_keys.h). */
#ifndef FIRN_REWRITE_RUN_WRITER_H
#define FIRN_REWRITE_RUN_WRITER_H

#include "rewrite/group_run.h"
#include "rewrite/sorted_rows.h"
#include "store/spill.h"

struct firn_run_block {
    uint64_t offset; /* in the spill */
    uint32_t bytes;
    uint64_t held_bytes; /* before they were compressed */
};

struct firn_sorted_run {
    FIRN_ARRAY(struct firn_run_block) blocks;
};

struct firn_run_writer {
    struct firn_group_run *run;
    struct firn_spill *spill;
    double block_bytes;
    uint8_t *skips; /* one a part, as firn_run_part_end has it */
};
/* `block_bytes`: what a block of rows like those it is among takes before it is compressed. */
void firn_run_writer_init(struct firn_op *op, struct firn_run_writer *writer, struct firn_group_run *run,
                          struct firn_spill *spill, double block_bytes);
/* Appends rows to a run, all zeros at first, whose blocks live in op->arena. */
FIRN_CHECKED firn_status firn_run_writer_put(struct firn_op *op, struct firn_run_writer *writer,
                                             const struct firn_sorted_rows *rows, struct firn_sorted_run *run);

#endif
