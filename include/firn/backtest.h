/* Backtests: what a policy would have made of a table's history, from metadata alone.
 *
 * The snapshots that are left tell which files each commit added and removed. That is replayed twice: as it was, and
 * with the commits of writers alone and compaction as the policy has it, by the same rules that firn compacts by. The
 * table is not touched, and no data file is opened. */
#ifndef FIRN_BACKTEST_H
#define FIRN_BACKTEST_H

#include "firn/policy.h"
#include "firn/price.h"

struct firn_pool;

struct firn_backtest_args {
    const struct firn_policy *policy;
    const struct firn_prices *prices; /* NULL: the defaults */
    int64_t interval_ms;              /* of a row; 0: a day, or an hour where there are no two days */
};

/* {"table", "from_ms", "to_ms", "snapshots" (replayed), "is_cut" (the history that is left begins later than the
 * table's), "interval_ms", "rows": [{"at_ms" (the interval's end), "real": SIDE, "policy": SIDE}], "total": {"real",
 * "policy"}, "notes": [texts], "prices"}; owned by op->arena. SIDE, with numbers of the interval, or of all:
 * {"data_files", "data_bytes", "delete_files", "delete_reads" (that a scan opens), "scan_requests" (of everything), all
 * at the end, or on average; "commits" (of maintenance), "rewritten_files", "rewritten_bytes", "requests", "money" (of
 * that), "scan_money" (of as many scans as the prices say)}.
 *
 * What is simplified: `replace` snapshots are taken for maintenance and left out of the policy's side; steps other than
 * compaction are not replayed, nor is compact.where; new files have the size that is planned; a writer's removal of a
 * file that the policy had compacted takes that file's rows out of the new one at no cost.
 *
 * NOT_FOUND for a table without snapshots, USAGE for an interval of which the history has more than a person reads,
 * CORRUPT for times that no calendar has. */
FIRN_CHECKED firn_status firn_backtest(struct firn_op *op, struct firn_pool *pool, const struct firn_table *table,
                                       const struct firn_backtest_args *args, json_t **out);

#endif
