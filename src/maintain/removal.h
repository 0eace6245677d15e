/* Removal: the one place that decides what may be deleted from a table, and has it deleted. expire-snapshots,
 * remove-orphan-files and every later procedure nominate files here; none deletes by itself.
 *
 * Division of labour: store.h has the one mechanism that deletes objects. A writer that gives up files of its own which
 * were never committed calls it directly (firn_store_discard, firn_rewrite_result_discard), and so does a commit for
 * the metadata files it cuts off the log (catalog.h). Whatever may have been part of a table goes through a removal.
 *
 * Invariants
 *  (1) Nothing that the table's current metadata reaches is deleted. firn_removal_apply loads that metadata itself,
 *      compares, and only then deletes; what cannot be compared, because a list or manifest cannot be read, stops it.
 *  (2) Nothing is deleted from a table with gc.enabled=false.
 *  (3) Nothing outside `folder` is deleted, where one is given.
 *  (4) A file counts as deleted only when it is gone; the others are named with the reason. */
#ifndef FIRN_MAINTAIN_REMOVAL_H
#define FIRN_MAINTAIN_REMOVAL_H

#include "firn/catalog.h"
#include "firn/progress.h"
#include "maintain/reach.h"

enum firn_removal_state {
    FIRN_REMOVAL_GOES,
    FIRN_REMOVAL_REACHABLE, /* stays: the metadata reaches it */
    FIRN_REMOVAL_DELETED,
    FIRN_REMOVAL_FAILED,
};

/* A nominated file. */
struct firn_removal_file {
    enum firn_table_file_type type;
    struct firn_text path;
    int64_t bytes;           /* -1: not known */
    struct firn_text reason; /* why it may go, for people */
    enum firn_removal_state state;
    struct firn_text failure; /* of FIRN_REMOVAL_FAILED; in the op->arena of firn_removal_apply */
};

struct firn_removal_config {
    struct firn_pool *pool;
    struct firn_text folder; /* where files may be deleted; empty: wherever the table has them */
};

struct firn_removal;
/* Begins a request on `table`, with nothing in it. DENIED when the table says gc.enabled=false. Borrows `table`, which
 * may move on to newer metadata meanwhile. Closed by the caller; NULL is fine for close. */
FIRN_CHECKED firn_status firn_removal_open(struct firn_op *op, struct firn_table *table,
                                           const struct firn_removal_config *config, struct firn_removal **out);
void firn_removal_close(struct firn_removal *removal);

/* Whatever `snapshots` and `metadata` itself (statistics, log, hint) reach stays, nominated or not. `metadata_location`
 * may be empty. May be called again with newer metadata: only what is new is read. */
FIRN_CHECKED firn_status firn_removal_keep(struct firn_op *op, struct firn_removal *removal,
                                           const struct firn_metadata *metadata, struct firn_text metadata_location);

/* Nominates a file, copied; one nominated already stays as it is, and one known to be reachable is left out. DENIED for
 * a file outside the folder; LIMIT when the request outgrows the memory budget. */
FIRN_CHECKED firn_status firn_removal_add(struct firn_op *op, struct firn_removal *removal,
                                          const struct firn_removal_file *file);
/* Nominates all that `snapshots` of `metadata` reach: lists, manifests, contents, statistics. Manifests that are to be
 * kept by then are not opened. A list or manifest that is gone already is passed over with a warning. */
FIRN_CHECKED firn_status firn_removal_add_snapshots(struct firn_op *op, struct firn_removal *removal,
                                                    const struct firn_metadata *metadata,
                                                    const struct firn_snapshot *const *snapshots, size_t count,
                                                    struct firn_text reason);

/* Compares all nominations with what is to be kept, reading every kept manifest at most once, and none when nothing is
 * nominated that could be in it. */
FIRN_CHECKED firn_status firn_removal_settle(struct firn_op *op, struct firn_removal *removal);
/* All nominated files by type and path, with what is known of each. Borrowed until the next add or close. */
const struct firn_removal_file *const *firn_removal_files(struct firn_removal *removal, size_t *count);

struct firn_removal_options {
    uint32_t
        concurrent_max; /* deletions at a time, of which FIRN_POOL_THREADS_MAX are; 0: as many as there are threads */
    struct firn_progress *progress;
};
struct firn_removal_report {
    struct {
        int64_t count;
        int64_t bytes; /* of those whose size is known */
    } deleted[FIRN_TABLE_FILE_TYPE_COUNT];
    int64_t reachable_count; /* nominated, but to be kept */
    int64_t failed_count;    /* firn_removal_files names them */
};
/* Loads the table's newest metadata, keeps what it reaches, settles, and deletes what then still goes: in batches, each
 * file up to four times. Files that are absent count as deleted. PARTIAL, and `out` is filled, when some could not be
 * deleted. When told to stop: CANCELLED, with `out` filled too. */
FIRN_CHECKED firn_status firn_removal_apply(struct firn_op *op, struct firn_removal *removal,
                                            const struct firn_removal_options *options,
                                            struct firn_removal_report *out);

struct firn_mark_report;
/* As firn_removal_apply, but marks what goes instead of deleting it (mark.h): a later sweep deletes it. */
FIRN_CHECKED firn_status firn_removal_mark(struct firn_op *op, struct firn_removal *removal,
                                           struct firn_mark_report *out);

/* DENIED when the table says gc.enabled=false (2). */
FIRN_CHECKED firn_status firn_removal_check_gc(struct firn_op *op, const struct firn_table *table);
/* Deletes files of which the caller has made sure itself that (1) to (3) hold: orphan removal, which compares more
 * files than memory holds (orphans.h). Retries and concurrency are those of firn_removal_apply; each file's state and
 * failure tell what became of it. Fails only when told to stop. */
FIRN_CHECKED firn_status firn_removal_delete(struct firn_op *op, struct firn_pool *pool, struct firn_store *store,
                                             struct firn_removal_file **files, size_t count,
                                             const struct firn_removal_options *options);

#endif
