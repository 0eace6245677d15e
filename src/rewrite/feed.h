/* One column of a pass: what is read of it goes to the outputs that the selection of the step names. Not to be moved
 * once it is initialised. */
#ifndef FIRN_REWRITE_FEED_H
#define FIRN_REWRITE_FEED_H

#include "rewrite/column.h"
#include "rewrite/fingerprint.h"
#include "rewrite/selection.h"

struct firn_feed {
    struct firn_column column;
    struct firn_splicer splicer;
    const struct firn_selection *selection; /* of the step; the columns share it */
    struct firn_gather gather;
    size_t *cursors; /* place in each list of the selection */

    /* Verify full: all that was read, and what of it no output took. */
    struct firn_fingerprinter read, left_out;
};

/* One a leaf, in op->arena. */
struct firn_feed *firn_feeds_new(struct firn_op *op, const struct firn_group_run *run,
                                 const struct firn_selection *selection);
/* Decides by samples whether pages of the rows to come are copied. `rows` is how many a row group takes, `bytes` what
 * these have as files, all columns together. */
FIRN_CHECKED firn_status firn_feed_sample(struct firn_op *op, struct firn_feed *feed, struct firn_window *window,
                                          double rows, double bytes);
/* Looks at a step to come of `*rows` rows; steps have `step_rows` on the whole. A row group that it would end in, whose
 * columns cannot all be held until the next step, would be read again for each; if these are many, it is put into
 * temporary files before (stage.h). A step that would reach such a one from another row group ends there. `leaves` are
 * those whose feeds read the window. */
struct firn_feed_leaves {
    struct firn_feed *feeds; /* of all leaves */
    const uint32_t *leaves;
    uint32_t leaf_count;
};
FIRN_CHECKED firn_status firn_feeds_stage(struct firn_op *op, const struct firn_feed_leaves *feeds,
                                          struct firn_window *window, double step_rows, int64_t *rows);
/* Takes the column through the step's rows, which the window holds. Columns are independent of each other. */
FIRN_CHECKED firn_status firn_feed_run(struct firn_op *op, struct firn_feed *feed, struct firn_window *window,
                                       int64_t rows);
/* Adds what became of the pages read to `files`; verify full: and what the written rows must add up to, all that was
 * read, less what was left out. */
void firn_feeds_done(struct firn_feed *feeds, const struct firn_group_run *run, struct firn_output_files *files);

#endif
