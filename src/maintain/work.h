/* Predicting work, in the units of firn/price.h: what the plans of all procedures have in common. Requests are those
 * that the store will count; bytes are those of data, delete and manifest files, of which metadata tells. */
#ifndef FIRN_MAINTAIN_WORK_H
#define FIRN_MAINTAIN_WORK_H

#include "firn/price.h"
#include "table/scan.h"

/* What a scan asks for a data or delete file: its footer and its pages. Manifests tell how long it is. */
enum { FIRN_SCAN_REQUESTS_OF_FILE = 2 };

/* So many objects of `bytes` together, each opened and read with so many requests. */
void firn_work_add_reads(struct firn_work *work, int64_t objects, int64_t reads_each, int64_t bytes);
void firn_work_add_writes(struct firn_work *work, int64_t objects, int64_t bytes);
/* Bytes of a data file that is rewritten with `leaves` columns: files that are cut are opened again for each part. */
void firn_work_add_data_file(struct firn_work *work, const struct firn_data_file *file, int64_t bytes, int64_t leaves);
/* Columns of a schema's root, in the leaves of its tree. */
int64_t firn_work_count_leaves(const struct firn_type *type);
/* Data files written by a rewrite, whose footers are read back. */
void firn_work_add_output(struct firn_work *work, int64_t files, int64_t bytes);
/* A delete file that is read by a rewrite. */
void firn_work_add_delete_file(struct firn_work *work, const struct firn_data_file *file);
/* Files that are deleted, a thousand a request. */
void firn_work_add_deletions(struct firn_work *work, int64_t files);

/* The commits that added the entries. */
int64_t firn_work_count_commits(const struct firn_manifest_entry *const *entries, uint32_t count);
struct firn_manifest_touch {
    int64_t manifests, bytes;
};
/* Which manifests of one kind a commit joins, as catalog/manifest_merge.c does, whatever it changes of them. */
struct firn_manifest_join {
    struct firn_manifest_touch all; /* of the kind that name live files, joined or not */
    int64_t manifests, bytes;       /* that are joined */
    int64_t outputs;                /* that these become */
    double alone;                   /* the share of manifests that are not: they are written anew only if touched */
};
struct firn_manifest_join firn_manifests_joined(const struct firn_metadata *metadata,
                                                const struct firn_manifest_list *list, bool is_deletes);
/* How many of all manifests hold some of the entries, as far as the commits that added these tell: manifests do not say
 * where entries came from, but rarely have more of them than commits. */
struct firn_manifest_touch firn_manifests_touched(const struct firn_manifest_join *join,
                                                  const struct firn_manifest_entry *const *entries, uint32_t count);
/* What touches manifests after they were joined. */
struct firn_manifest_touch firn_manifest_touch_joined(struct firn_manifest_touch touched,
                                                      const struct firn_manifest_join *join);
void firn_work_add_join(struct firn_work *work, const struct firn_manifest_join *join);
/* Manifests that a commit replaces, but for what it joins. NULL: it joins none. */
void firn_work_add_replaced_manifests(struct firn_work *work, struct firn_manifest_touch touched,
                                      const struct firn_manifest_join *join);
/* A snapshot that replaces these manifests, but for the join, and a run of so many: with the events that it tells its
 * journal, which it clears away after, but without what its catalog asks for beside the metadata. */
void firn_work_add_commit(struct firn_work *work, struct firn_manifest_touch touched,
                          const struct firn_manifest_join *join);
void firn_work_add_run(struct firn_work *work, int64_t commits);
/* So many commits, and their run, that replace only manifests of delete files: those that hold the entries. */
void firn_work_add_delete_commits(struct firn_work *work, const struct firn_metadata *metadata,
                                  const struct firn_manifest_list *list,
                                  const struct firn_manifest_entry *const *entries, uint32_t count, int64_t commits);
/* A change of metadata alone, likewise. */
void firn_work_add_change(struct firn_work *work);
/* Events beside these. */
void firn_work_add_events(struct firn_work *work, int64_t events);

#endif
