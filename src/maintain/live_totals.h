/* What lives in a snapshot, counted file by file: what the totals of its summary should be. */
#ifndef FIRN_MAINTAIN_LIVE_TOTALS_H
#define FIRN_MAINTAIN_LIVE_TOTALS_H

#include "catalog/snapshot_summary.h"
#include "store/store.h"

/* All zeros begins. */
struct firn_live_totals {
    int64_t items[FIRN_TOTAL_COUNT];
    int64_t whole_bytes; /* total-files-size of writers that count a vector with its file's size instead of its own */
};

/* Counts a live file. */
void firn_live_totals_add(struct firn_live_totals *totals, const struct firn_data_file *file);
/* Counts the live files of a snapshot, in little memory. */
FIRN_CHECKED firn_status firn_live_totals_count(struct firn_op *op, struct firn_store *store,
                                                const struct firn_metadata *metadata,
                                                const struct firn_snapshot *snapshot, struct firn_live_totals *out);
/* Whether the snapshot's summary has this total so, or does not have it. */
bool firn_live_totals_agree(const struct firn_live_totals *totals, const struct firn_snapshot *snapshot,
                            enum firn_summary_total_id id);

#endif
