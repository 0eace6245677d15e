/* Deletes of every kind as one set of positions a data file: the rows of the physical file that a reader must not see.
 * Iceberg spec, "Row-level Deletes", "Scan Planning".
 *
 * Invariants
 *  (1) A delete file is read once, however many data files it applies to.
 *  (2) A delete that cannot be read fails the whole; it is never taken for one without rows. */
#ifndef FIRN_REWRITE_DELETION_H
#define FIRN_REWRITE_DELETION_H

#include "base/pool.h"
#include "format/puffin/positions.h"
#include "table/scan.h"

struct firn_deletions_config {
    const struct firn_metadata *metadata;
    struct firn_store *store;
    struct firn_pool *pool; /* delete files are read in parallel */
};

/* Whether firn reads delete files like this one: by format and encryption, without opening it. */
bool firn_delete_file_is_readable(const struct firn_data_file *file);

struct firn_deletions;
/* Reads what applies to `files`, deletion vectors apart: these are read when asked for, since each is of one file only.
 * Lives in op->arena; borrows config and files. Equality keys are charged to the operation's budget: LIMIT says how
 * much they took. UNSUPPORTED for delete files of a format that firn does not read, and for keys it cannot compare;
 * CORRUPT names the delete file. */
FIRN_CHECKED firn_status firn_deletions_load(struct firn_op *op, const struct firn_deletions_config *config,
                                             const struct firn_scan_file *files, uint32_t file_count,
                                             struct firn_deletions **out);
/* The deleted positions of one of the files given, in op->arena; NULL: none. Equality deletes cost reading the key
 * columns of the data file. May be asked from several threads at once. */
FIRN_CHECKED firn_status firn_deletions_find(struct firn_op *op, const struct firn_deletions *deletions,
                                             const struct firn_scan_file *file, const struct firn_positions **out);

#endif
