/* Journals: what runs that did not end have left, and clearing up after them.
 *
 * A run that changes a table keeps a journal beside the table's metadata, and removes it when all is done. A killed one
 * leaves it: then the next run that changes the table uses what it finished, deletes what it left, and finishes what it
 * had to delete. These functions show journals, and do the latter alone. */
#ifndef FIRN_JOURNAL_H
#define FIRN_JOURNAL_H

#include "firn/catalog.h"

#include <jansson.h>

struct firn_pool;

/* The journals of a table: {"folder", "runs": [{"run", "procedure", "state" ("running", "ended", "killed", "lost",
 * "taken", "of another table", "unreadable"), "began_ms", "last_event_ms", "process", "outcome" (null: it did not end),
 * "attempt_ms" (of the last attempt to commit; null: none), "groups": [{"input_files", "input_bytes", "output_files",
 * "rows_out", "usable"}], "removals": [{"mark", "files"}], "names": [{"folder", "uuid"}], "problem" (null: none),
 * "next" (what the next run does about it, in words)}]}. Reads only. Owned by op->arena. */
FIRN_CHECKED firn_status firn_journals_json(struct firn_op *op, const struct firn_table *table, json_t **out);

struct firn_journals_report {
    int64_t cleared_runs_count; /* of which nothing is left */
    int64_t left_runs_count;    /* of which something is left: running ones apart */
    int64_t deleted_files_count;
    int64_t deleted_bytes; /* as far as known */
    int64_t marked_files_count;
};
/* Clears up after all runs that are over. Their finished groups go, too. DENIED for gc.enabled=false; PARTIAL when
 * something could not be deleted. */
FIRN_CHECKED firn_status firn_journals_clear(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                             struct firn_journals_report *out);

#endif
