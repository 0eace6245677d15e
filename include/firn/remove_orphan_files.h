/* The procedure remove_orphan_files: files below a location that nothing of the table names. Reference:
 * procedures.md, 7. */
#ifndef FIRN_REMOVE_ORPHAN_FILES_H
#define FIRN_REMOVE_ORPHAN_FILES_H

#include "firn/catalog.h"
#include "firn/price.h"
#include "firn/progress.h"

struct firn_pool;

/* The arguments as given; the procedure checks them and applies defaults. */
struct firn_remove_orphan_files_args {
    struct firn_text older_than;               /* a timestamp or an age; empty: 3 days ago */
    struct firn_text location;                 /* what is listed; empty: the table's location */
    struct firn_text file_list_view;           /* a file to read instead of listing: CSV or JSON lines; empty: list */
    int64_t max_concurrent_deletes;            /* 0: as many as there are threads */
    const struct firn_property *equal_schemes; /* added to "s3n,s3a" = "s3" */
    size_t equal_scheme_count;
    const struct firn_property *equal_authorities;
    size_t equal_authority_count;
    struct firn_text prefix_mismatch_mode; /* ERROR (the default), IGNORE, DELETE, in any case */
    bool trust_location;                   /* the location may hold what looks like other tables */
    struct firn_text from;  /* the JSON of an earlier plan: nothing it does not name is touched; empty: none */
    bool mark;              /* the plan is for firn_remove_orphan_files_mark */
    bool sweep;             /* only files that were marked long enough ago; older_than is not asked then */
    struct firn_text after; /* with sweep: the age of a mark; empty: 3 days */
};

struct firn_orphan_file {
    struct firn_text location;
    int64_t bytes; /* -1: not known */
    int64_t modified_ms;
};

/* Counts of a run so far. */
struct firn_orphan_report {
    int64_t listed_count;       /* files looked at */
    int64_t hidden_count;       /* of these: never candidates, by Hadoop's rule of hidden files */
    int64_t new_count;          /* not old enough */
    int64_t unknown_time_count; /* without a usable time of their last change: taken for new */
    int64_t unnamable_count;    /* left alone: their names are not UTF-8, which no plan and no metadata can hold */
    int64_t live_run_count;     /* left alone: the journal of a run that has not ended names them */
    int64_t other_table_count;  /* left alone: they lie in another table of the catalog */
    int64_t unconfirmed_count;  /* orphans that `from` does not name, or that are not marked long enough */
    int64_t changed_count;      /* orphans of a file list that are gone or were changed since it was made */
    int64_t orphan_count, orphan_bytes;
    int64_t deleted_count, deleted_bytes;
    int64_t failed_count;
    int64_t marked_count;         /* new marks */
    int64_t marked_already_count; /* marked before, with the date of then */
    int64_t dropped_mark_count;   /* by a sweep: marks that are done with */
    int64_t elapsed_ms;
    struct firn_text *failures; /* the first ones, why each could not be deleted */
    uint32_t failure_count;
    struct firn_text table_uuid; /* of the table that was looked at */
};

struct firn_orphan_plan;

/* Finds the orphans: lists, then loads the table's newest metadata, then compares. In op->arena; needs little memory
 * whatever the number of files, and temporary space on disk.
 *
 * USAGE for wrong arguments, for a location that is not the table's, and where scheme or authority of listed and
 * recorded files differ though the paths agree; DENIED for gc.enabled=false and where another table's files lie in the
 * location. Nothing is ever deleted then. */
FIRN_CHECKED firn_status firn_remove_orphan_files_plan(struct firn_op *op, struct firn_pool *pool,
                                                       struct firn_table *table,
                                                       const struct firn_remove_orphan_files_args *args,
                                                       struct firn_orphan_plan **out);

/* Deletes the plan's files; what a sweep is done with is dropped from the marks. PARTIAL when some could not be
 * deleted; running it all again tries them again. */
FIRN_CHECKED firn_status firn_remove_orphan_files_apply(struct firn_op *op, struct firn_pool *pool,
                                                        struct firn_table *table, struct firn_orphan_plan *plan,
                                                        struct firn_progress *progress);

/* Marks the plan's files for a later sweep instead of deleting them. */
FIRN_CHECKED firn_status firn_remove_orphan_files_mark(struct firn_op *op, struct firn_table *table,
                                                       struct firn_orphan_plan *plan);

const struct firn_orphan_report *firn_orphan_plan_report(const struct firn_orphan_plan *plan);
/* What doing it is predicted to take. */
struct firn_work firn_orphan_plan_work(const struct firn_orphan_plan *plan);

typedef firn_status firn_orphan_visit(struct firn_op *op, void *context, const struct firn_orphan_file *file);
/* Calls `visit` for the plan's files, deleted or not; sorted by location where they are not too many to sort in memory.
 * To be called once, last: the files are read back from disk and given up. */
FIRN_CHECKED firn_status firn_orphan_plan_visit(struct firn_op *op, struct firn_orphan_plan *plan,
                                                firn_orphan_visit *visit, void *context);

/* Where the table's marks are kept: a text file. In op->arena. */
struct firn_text firn_marks_file(struct firn_op *op, const struct firn_table *table);

struct firn_undelete_report {
    int64_t dropped_count;
    int64_t kept_count;
};
/* Drops the marks of `paths` (files, or folders with all below them), or all marks when there are none given.
 * NOT_FOUND, and nothing is dropped, for a path that no mark is on. `visit` (may be NULL) is called for every mark
 * dropped. */
FIRN_CHECKED firn_status firn_undelete(struct firn_op *op, struct firn_table *table, const struct firn_text *paths,
                                       size_t path_count, bool dry_run, firn_orphan_visit *visit, void *context,
                                       struct firn_undelete_report *out);

#endif
