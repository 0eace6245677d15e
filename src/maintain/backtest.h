/* Inside a backtest: the history of files, and a table as it would be, file by file. */
#ifndef FIRN_MAINTAIN_BACKTEST_H
#define FIRN_MAINTAIN_BACKTEST_H

#include "base/map.h"
#include "base/pool.h"
#include "firn/backtest.h"
#include "maintain/maintain.h"

/* History --------------------------------------------------------------------------------------------------------- */

struct firn_backtest_entries {
    const struct firn_manifest_entry **items;
    size_t count, capacity;
};
/* What one snapshot did to files of data and deletes. */
struct firn_backtest_commit {
    const struct firn_snapshot *snapshot;
    bool is_maintenance;
    struct firn_backtest_entries added, removed;
};
struct firn_backtest_history {
    struct firn_backtest_commit *commits; /* oldest first; all that the first snapshot has is added in it */
    size_t count;
    bool is_cut;
};
/* Of the head of main. Each manifest is read once, for the snapshot that wrote it. In op->arena; NOT_FOUND for a table
 * without snapshots. */
FIRN_CHECKED firn_status firn_backtest_history_read(struct firn_op *op, struct firn_pool *pool,
                                                    const struct firn_table *table, struct firn_backtest_history *out);

/* A table ----------------------------------------------------------------------------------------------------------
 */

/* A file that was in the table at some time. */
struct firn_backtest_file {
    struct firn_manifest_entry entry; /* its sizes are what is left of it */
    bool is_live;
    struct firn_backtest_file *into;   /* what it was compacted into; NULL: it was not */
    struct firn_backtest_file **parts; /* of a file that maintenance really wrote: what it was made of */
    uint32_t part_count;
    struct firn_backtest_file *vector; /* of a data file, live or not; NULL: none */
};

struct firn_backtest_world {
    struct firn_arena *arena; /* of the files */
    const struct firn_metadata *metadata;
    bool is_policy; /* commits of maintenance change no files, but are remembered */
    struct firn_map paths;
    FIRN_ARRAY(struct firn_backtest_file *) data;    /* the dead ones are dropped now and then */
    FIRN_ARRAY(struct firn_backtest_file *) deletes; /* likewise */
    int64_t files, bytes, delete_files;              /* live */
    int64_t sequence_number;                         /* of the last commit */
    uint32_t made_count;                             /* files made by compactions */
};
void firn_backtest_world_init(struct firn_arena *arena, const struct firn_metadata *metadata, bool is_policy,
                              struct firn_backtest_world *out);
FIRN_CHECKED firn_status firn_backtest_world_commit(struct firn_op *op, struct firn_backtest_world *world,
                                                    const struct firn_backtest_commit *commit);
/* The world's own of a file, as it was added; NULL: it is not known. */
const struct firn_manifest_entry *firn_backtest_world_find(struct firn_backtest_world *world,
                                                           const struct firn_data_file *file);
/* The live files with the deletes that apply to them, in op->arena; the entries are the world's. */
FIRN_CHECKED firn_status firn_backtest_world_scan(struct firn_op *op, struct firn_backtest_world *world,
                                                  struct firn_scan *out);
/* Files of a scan, of one spec and partition, become files of these sizes, of a snapshot `id`. */
void firn_backtest_world_compact(struct firn_backtest_world *world, const struct firn_scan_file *const *files,
                                 uint32_t file_count, const int64_t *output_bytes, uint32_t output_count, int64_t id);
/* Drops delete files that apply to nothing. */
FIRN_CHECKED firn_status firn_backtest_world_tidy(struct firn_op *op, struct firn_backtest_world *world);

/* A policy at work -------------------------------------------------------------------------------------------------
 */

struct firn_backtest_policy {
    const struct firn_table *table;
    const struct firn_backtest_history *history;
    const struct firn_maintain_args *args;
    struct firn_maintain_memory memory;
    struct firn_backtest_world world;
    struct firn_rewrite_history runs; /* of compaction so far */
    size_t next;                      /* commit that is not yet in the world */
    size_t news;                      /* commits that no run has covered begin here */
    bool has_news;                    /* something came, or grew cold, since compaction ran last */
    int64_t made_id;                  /* of the last snapshot that a compaction made */
};
/* What compactions did. */
struct firn_backtest_work {
    int64_t commits, files, bytes;
    struct firn_work work;
};
void firn_backtest_policy_init(struct firn_arena *arena, const struct firn_table *table,
                               const struct firn_backtest_history *history, const struct firn_maintain_args *args,
                               struct firn_backtest_policy *out);
/* Goes on with commits and compactions until `until_ms`, included; adds what the compactions did. */
FIRN_CHECKED firn_status firn_backtest_policy_run(struct firn_op *op, struct firn_backtest_policy *policy,
                                                  int64_t until_ms, struct firn_backtest_work *out);

#endif
