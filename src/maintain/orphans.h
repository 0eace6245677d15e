/* What the parts of remove_orphan_files share. Reference: procedures.md, 7.
 *
 * Invariants
 *  (1) The listing ends before the table's newest metadata is loaded, and nothing which that reaches is an orphan: a
 *      file that was committed while the listing ran is safe.
 *  (2) A file that is not older than the cutoff, or whose time of last change cannot be told, is no orphan: it may
 *      belong to a commit that is still being made.
 *  (3) Whatever makes the comparison doubtful stops the run before anything is deleted: an unreadable manifest, paths
 *      that agree under another scheme or authority, another table's metadata below the location, a location where the
 *      table has no file at all.
 *  (4) With a confirmed list (a plan, marks) only what it names, unchanged since, is deleted.
 *  (5) Firn's own files kept with a table have hidden names and are never candidates.
 *  (6) What the journal of a run names that has not ended is no orphan, whatever its age.
 *  (7) A file whose name is not UTF-8 stays: neither metadata nor plans, marks and journals, which are all UTF-8, could
 *      name it. */
#ifndef FIRN_MAINTAIN_ORPHANS_H
#define FIRN_MAINTAIN_ORPHANS_H

#include "base/pool.h"
#include "maintain/hidden_path.h"
#include "maintain/orphan_join.h"
#include "store/store.h"

/* The arguments, checked, with defaults filled in. */
struct firn_orphan_options {
    int64_t now_ms;
    int64_t cutoff_ms;         /* files changed at or after it stay; INT64_MAX: not asked */
    struct firn_text location; /* without a slash at its end */
    struct firn_location_parts place;
    bool is_whole_table; /* the location is the table's */
    struct firn_text file_list_view;
    uint32_t concurrent_max;
    struct firn_prefix_names schemes, authorities;
    enum firn_prefix_mismatch mismatch;
    bool trust_location;
    struct firn_text from;
    bool mark, sweep;
    int64_t due_ms; /* marks made at or before it are due */
};
/* Reference: procedures.md, 7.1. */
FIRN_CHECKED firn_status firn_orphan_options_parse(struct firn_op *op, struct firn_table *table,
                                                   const struct firn_remove_orphan_files_args *args,
                                                   struct firn_orphan_options *out);
/* Whether `parts` is the location or lies below it, spelled with a scheme and authority that count as equal. */
bool firn_orphan_options_cover(const struct firn_orphan_options *options, const struct firn_location_parts *parts);

/* Another table of the catalog that lies in the location. */
struct firn_other_table {
    struct firn_text identifier;
    struct firn_text location; /* as recorded */
    struct firn_text path;     /* of the split location */
};
struct firn_other_tables {
    struct firn_other_table *items;
    size_t count;
};
/* The catalog's other tables whose location is the listed one or lies in it. In op->arena. A table that cannot be
 * loaded is logged and passed over; its metadata, where it lies in the location, is still found by the listing. */
FIRN_CHECKED firn_status firn_other_tables_find(struct firn_op *op, struct firn_pool *pool,
                                                const struct firn_table *table,
                                                const struct firn_orphan_options *options,
                                                struct firn_other_tables *out);
/* The table a path lies in; NULL: none. A table in the very location that is listed counts for none. */
const struct firn_other_table *firn_other_tables_holding(const struct firn_other_tables *tables,
                                                         const struct firn_orphan_options *options,
                                                         struct firn_text path);
/* Whether a file name is one of table metadata: "v3.metadata.json", "....gz.metadata.json", "....metadata.json.gz". */
bool firn_is_table_metadata_name(struct firn_text location);
/* DENIED, naming table and file, when one of the metadata files is another table's or cannot be read. */
FIRN_CHECKED firn_status firn_other_metadata_check(struct firn_op *op, struct firn_pool *pool,
                                                   const struct firn_table *table, const struct firn_text *locations,
                                                   size_t count);

enum { FIRN_ORPHAN_BLOCK_BYTES = 64 << 10 };

/* A plan. Its files are in a stream that each step reads and writes anew. */
struct firn_orphan_plan {
    struct firn_orphan_options options;
    struct firn_orphan_report report;
    struct firn_spill *spill;
    struct firn_spill_stream files;
    FIRN_ARRAY(struct firn_text) failures; /* of the report */
    int64_t started_ms;                    /* monotonic */
    struct firn_arena *arena;
};

/* Appends a file to a stream of a plan. */
FIRN_CHECKED firn_status firn_orphan_row_append(struct firn_op *op, struct firn_spill_stream *stream,
                                                const struct firn_orphan_file *file, bool is_confirmed);
typedef firn_status firn_orphan_row_visit(struct firn_op *op, void *context, const struct firn_orphan_file *file,
                                          bool is_confirmed);
/* Reads a stream to its end. */
FIRN_CHECKED firn_status firn_orphan_rows_read(struct firn_op *op, struct firn_spill_stream *stream,
                                               firn_orphan_row_visit *visit, void *context);

/* Sorts the files by location, for people; what is too much for them, and so to sort in memory, keeps its order. */
FIRN_CHECKED firn_status firn_orphan_rows_sort(struct firn_op *op, struct firn_orphan_plan *plan);

#endif
