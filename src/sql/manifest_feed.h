/* Manifests one after the other, read in parallel a bounded number of bytes ahead. */
#ifndef FIRN_SQL_MANIFEST_FEED_H
#define FIRN_SQL_MANIFEST_FEED_H

#include "sql/metadata_table.h"

/* Which manifests of a view. */
struct firn_manifest_choice {
    bool of_all_snapshots; /* those that any snapshot names, each once, without their partition summaries */
    bool data, deletes;    /* what the lists say they hold */
};

/* In op->arena, in the order of the lists. */
FIRN_CHECKED firn_status firn_manifest_choose(struct firn_op *op, const struct firn_metadata_view *view,
                                              struct firn_manifest_choice choice, struct firn_manifest_list *out);

struct firn_manifest_feed;
/* The list is borrowed until close, and the view. Lives in op->arena. With `count_only` a manifest has a count of live
 * entries, and none of them may be looked at. */
FIRN_CHECKED firn_status firn_manifest_feed_open(struct firn_op *op, const struct firn_metadata_view *view,
                                                 const struct firn_manifest_list *manifests,
                                                 struct firn_manifest_read_options options, bool count_only,
                                                 struct firn_manifest_feed **out);
/* The next manifest, which lives until the next call; NULL at the end. */
FIRN_CHECKED firn_status firn_manifest_feed_next(struct firn_op *op, struct firn_manifest_feed *feed,
                                                 const struct firn_manifest **out);
/* NULL is fine. */
void firn_manifest_feed_close(struct firn_manifest_feed *feed);

#endif
