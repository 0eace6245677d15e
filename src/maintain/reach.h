/* Reach: which files a table's metadata names. Walks over snapshots, in parallel and in little memory: of all it has
 * seen it remembers the manifest lists and manifests, and reads each of them once, however many snapshots share it.
 * Reference: procedures.md, 6.4 and 7.3. */
#ifndef FIRN_MAINTAIN_REACH_H
#define FIRN_MAINTAIN_REACH_H

#include "base/map.h"
#include "base/pool.h"
#include "store/store.h"
#include "table/metadata.h"

enum firn_table_file_type {
    FIRN_TABLE_FILE_DATA,
    FIRN_TABLE_FILE_POSITION_DELETES, /* deletion vectors too */
    FIRN_TABLE_FILE_EQUALITY_DELETES,
    FIRN_TABLE_FILE_MANIFEST,
    FIRN_TABLE_FILE_MANIFEST_LIST,
    FIRN_TABLE_FILE_STATISTICS, /* of a table or of its partitions */
    FIRN_TABLE_FILE_METADATA,   /* metadata.json, version hint */
    FIRN_TABLE_FILE_OTHER,
    FIRN_TABLE_FILE_TYPE_COUNT
};
/* "data", "position_deletes", ... */
const char *firn_table_file_type_name(enum firn_table_file_type type);

/* A file as the metadata names it. */
struct firn_table_file {
    enum firn_table_file_type type;
    struct firn_text path; /* as recorded; lives until the visit returns */
    struct firn_text key;  /* firn_store_key of it; likewise */
    int64_t bytes;         /* as recorded; -1: the metadata does not say */
    int32_t spec_id;       /* of a manifest; -1: not known, and for all else */
};
/* Called from several threads, but never from two at once. A content file that several manifests name comes once for
 * each of them. */
typedef firn_status firn_reach_visit(struct firn_op *op, void *context, const struct firn_table_file *file);

struct firn_reach_config {
    struct firn_pool *pool; /* NULL: one thread */
    struct firn_store *store;
    const struct firn_map *except; /* keys of manifests that are passed over, with all they name; NULL: none */
    bool tolerates_missing;        /* a list or manifest that is not there is logged and passed over */
};

struct firn_reach;
/* Closed by the caller; borrows what the config names. */
struct firn_reach *firn_reach_open(const struct firn_reach_config *config);
void firn_reach_close(struct firn_reach *reach);

/* Visits the manifest lists of `snapshots` and the manifests in them, and remembers both. Those of earlier calls are
 * not visited again. */
FIRN_CHECKED firn_status firn_reach_lists(struct firn_op *op, struct firn_reach *reach,
                                          const struct firn_snapshot *const *snapshots, size_t count,
                                          firn_reach_visit *visit, void *context);
/* Visits the live content files of all remembered manifests that were not read yet. */
FIRN_CHECKED firn_status firn_reach_contents(struct firn_op *op, struct firn_reach *reach, firn_reach_visit *visit,
                                             void *context);
/* For a visit: nothing more need be read. firn_reach_contents then returns; what it left unread stays unread. */
void firn_reach_enough(struct firn_reach *reach);
/* Takes all manifests for unread. */
void firn_reach_forget_contents(struct firn_reach *reach);

/* Visits what a metadata file names itself: statistics, the metadata log, the version hint; and that file, when
 * `metadata_location` is not empty. */
FIRN_CHECKED firn_status firn_reach_metadata(struct firn_op *op, const struct firn_store *store,
                                             const struct firn_metadata *metadata, struct firn_text metadata_location,
                                             firn_reach_visit *visit, void *context);
/* Visits everything that a table's metadata reaches, all snapshots and what firn_reach_metadata gives. */
FIRN_CHECKED firn_status firn_reach_all(struct firn_op *op, const struct firn_reach_config *config,
                                        const struct firn_metadata *metadata, struct firn_text metadata_location,
                                        firn_reach_visit *visit, void *context);

#endif
