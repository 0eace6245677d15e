/* Deletes of every kind as one set of positions a data file: the rows of the physical file that a reader must not see.
 * Iceberg spec, "Row-level Deletes", "Scan Planning".
 *
 * Invariants
 *  (1) A delete file is read once, however many data files it applies to.
 *  (2) A delete that cannot be read fails the whole; it is never taken for one without rows.
 *  (3) Keys of equality deletes take no more than their share of memory; what is beyond goes to temporary files. */
#ifndef FIRN_REWRITE_DELETION_H
#define FIRN_REWRITE_DELETION_H

#include "base/pool.h"
#include "format/puffin/positions.h"
#include "table/scan.h"

/* For keys, where the operation has no budget. */
#define FIRN_DELETIONS_MEMORY_DEFAULT (UINT64_C(512) << 20)

struct firn_deletions_config {
    const struct firn_metadata *metadata;
    struct firn_store *store;
    struct firn_pool *pool;    /* files are read in parallel */
    uint64_t memory_bytes_max; /* for keys; 0: half of what the operation's budget has left */
};

/* Whether firn reads delete files like this one: by format and encryption, without opening it. */
bool firn_delete_file_is_readable(const struct firn_data_file *file);

struct firn_deletions;
/* Reads what applies to `files`, and the key columns of those that equality deletes may reach. Data files for which
 * metrics (if the scan kept them) rule out all deletes are not read. What is left in op->arena is the sets of positions
 * alone, charged to the operation's budget. Borrows the files' locations.
 *
 * Fails: UNSUPPORTED for files of a format that firn does not read, and for keys it cannot compare; CORRUPT for broken
 * ones; LIMIT when positions exceed the budget or temporary files the disk. Errors name the file. */
FIRN_CHECKED firn_status firn_deletions_load(struct firn_op *op, const struct firn_deletions_config *config,
                                             const struct firn_scan_file *files, uint32_t file_count,
                                             struct firn_deletions **out);
/* The deleted positions of one of the files given (it is found by its location), which live as long as `deletions`;
 * NULL: none. A lookup, and thread-safe. */
FIRN_CHECKED firn_status firn_deletions_find(struct firn_op *op, const struct firn_deletions *deletions,
                                             const struct firn_scan_file *file, const struct firn_positions **out);

#endif
