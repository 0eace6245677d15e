/* Branches, tags, and where `main` points: the procedures on snapshot references. None of them deletes a file.
 * Reference: procedures.md, 9 and 10. */
#ifndef FIRN_REFS_H
#define FIRN_REFS_H

#include "firn/catalog.h"

struct firn_pool;

/* What a call works on. */
struct firn_refs {
    struct firn_table *table; /* holds the newest metadata afterwards */
    struct firn_pool *pool;
    bool dry_run; /* check and tell what would be, and change nothing */
};

/* Branches and tags ---------------------------------------------------------------------------------------------- */

enum firn_ref_kind { FIRN_KIND_BRANCH, FIRN_KIND_TAG };

/* CREATE [OR REPLACE] ... [IF NOT EXISTS], or REPLACE. Ages as "7d", "36h", "90m" or "7 days". */
struct firn_ref_create_args {
    enum firn_ref_kind kind;
    struct firn_text name;
    bool or_replace;
    bool if_not_exists;
    bool replace;                        /* the name must exist; what retention is not given stays */
    const int64_t *snapshot_id;          /* AS OF VERSION; NULL: main's */
    struct firn_text retain;             /* how long the reference lives; empty: for ever */
    struct firn_text snapshot_retention; /* branches: "5 snapshots", "5 snapshots 7d" or "7d"; empty: the table's */
};
enum firn_ref_outcome { FIRN_REF_CREATED, FIRN_REF_REPLACED, FIRN_REF_DROPPED, FIRN_REF_UNCHANGED };
struct firn_ref_report {
    enum firn_ref_outcome outcome;
    bool has_snapshot_id; /* false: the reference is not there, or (dry run) its snapshot would be made */
    int64_t snapshot_id;  /* where it points, or pointed when it was dropped */
};
/* A branch on a table without snapshots gets an empty one. USAGE for bad arguments, a tag or a replacement on such a
 * table, or a name of the other kind; EXISTS; NOT_FOUND for an unknown snapshot, or a name to replace. */
FIRN_CHECKED firn_status firn_ref_create(struct firn_op *op, const struct firn_refs *refs,
                                         const struct firn_ref_create_args *args, struct firn_ref_report *out);

struct firn_ref_drop_args {
    enum firn_ref_kind kind;
    struct firn_text name;
    bool if_exists;
};
/* USAGE for `main` or a name of the other kind, NOT_FOUND. */
FIRN_CHECKED firn_status firn_ref_drop(struct firn_op *op, const struct firn_refs *refs,
                                       const struct firn_ref_drop_args *args, struct firn_ref_report *out);

/* Where main points ---------------------------------------------------------------------------------------------- */

struct firn_ref_move {
    bool has_previous; /* false: there was none */
    int64_t previous_snapshot_id;
    int64_t current_snapshot_id;
};
/* To an ancestor of the current snapshot. NOT_FOUND for an unknown one, USAGE for one that is no ancestor. */
FIRN_CHECKED firn_status firn_rollback_to_snapshot(struct firn_op *op, const struct firn_refs *refs,
                                                   int64_t snapshot_id, struct firn_ref_move *out);
/* To the newest ancestor older than the time: a timestamp (UTC where it has no zone) or an age. NOT_FOUND. */
FIRN_CHECKED firn_status firn_rollback_to_timestamp(struct firn_op *op, const struct firn_refs *refs,
                                                    struct firn_text timestamp, struct firn_ref_move *out);
/* To any snapshot, by id (NULL: none given) or by the reference that points there; exactly one of them. */
FIRN_CHECKED firn_status firn_set_current_snapshot(struct firn_op *op, const struct firn_refs *refs,
                                                   const int64_t *snapshot_id, struct firn_text ref,
                                                   struct firn_ref_move *out);
/* `branch` moves on to where `to` points, and is made when there is none. USAGE when its head is no ancestor of that,
 * or it is a tag. */
FIRN_CHECKED firn_status firn_fast_forward(struct firn_op *op, const struct firn_refs *refs, struct firn_text branch,
                                           struct firn_text to, struct firn_ref_move *out);

/* Publishing ----------------------------------------------------------------------------------------------------- */

struct firn_pick {
    int64_t source_snapshot_id; /* the one that was picked */
    bool has_current;           /* false: a dry run of a pick that makes a snapshot */
    int64_t current_snapshot_id;
};
/* Brings the changes of a snapshot to main: main moves to it when it follows the current one; else the files of an
 * append, or of a replacement of whole partitions, are committed anew. USAGE for other operations, for what is in
 * main's history already, and for partitions that changed meanwhile. */
FIRN_CHECKED firn_status firn_cherrypick_snapshot(struct firn_op *op, const struct firn_refs *refs, int64_t snapshot_id,
                                                  struct firn_pick *out);
/* Cherry-picks the one snapshot whose summary has this wap.id. NOT_FOUND; USAGE when there are several. */
FIRN_CHECKED firn_status firn_publish_changes(struct firn_op *op, const struct firn_refs *refs, struct firn_text wap_id,
                                              struct firn_pick *out);

struct firn_ancestor {
    int64_t snapshot_id;
    int64_t timestamp_ms;
};
struct firn_ancestors {
    struct firn_ancestor *items; /* newest first, in op->arena */
    size_t count;
};
/* The snapshot (NULL: the current one) and its ancestors, as far as the table still has them. NOT_FOUND. */
FIRN_CHECKED firn_status firn_ancestors_of(struct firn_op *op, const struct firn_table *table,
                                           const int64_t *snapshot_id, struct firn_ancestors *out);

#endif
