/* Writing deletes of known rows: position delete files (format v2), deletion vectors (v3).
 * Iceberg spec, "Position Delete Files", "Deletion Vectors"; Puffin spec, "deletion-vector-v1 blob type". */
#ifndef FIRN_REWRITE_DELETE_WRITER_H
#define FIRN_REWRITE_DELETE_WRITER_H

#include "base/uuid.h"
#include "format/puffin/positions.h"
#include "store/store.h"
#include "table/manifest.h"
#include "table/metadata.h"

/* Deleted rows of one data file. */
struct firn_row_deletes {
    struct firn_text data_file; /* as its manifest entry spells it */
    int32_t spec_id;            /* of the data file, as are the partition's values */
    struct firn_partition partition;
    struct firn_positions *positions; /* all that is deleted: a vector replaces the one before it */
};

#define FIRN_DELETE_FILE_BYTES_DEFAULT (INT64_C(64) << 20)

enum firn_delete_granularity { FIRN_DELETES_BY_PARTITION, FIRN_DELETES_BY_FILE };

struct firn_delete_writer_config {
    const struct firn_metadata *metadata; /* format version 2 or 3, properties */
    struct firn_store *store;
    struct firn_uuid operation;               /* in file names */
    uint32_t number;                          /* of this call within the operation, in file names too */
    enum firn_delete_granularity granularity; /* v2 only */
    uint64_t file_bytes_max;                  /* v2: at which a file is ended */
};

/* The table's write.delete.target-file-size-bytes, 64 MiB unless it says otherwise, as it stands: it may be below 1. */
FIRN_CHECKED firn_status firn_delete_file_bytes(struct firn_op *op, const struct firn_metadata *metadata, int64_t *out);

struct firn_delete_files {
    struct firn_data_file *files; /* delete files with all that their manifest entries want, in op->arena */
    uint32_t count;
};

/* Writes what is deleted: v2 Parquet files sorted by path and position, one spec and partition each; v3 one Puffin file
 * with a vector a data file. No two of `deletes` name the same data file; those without positions get nothing. Every
 * file is durable when this returns, and after a failure none is left. Texts and values of `deletes` are borrowed by
 * the result. USAGE for write properties that make no sense, VERIFY when what was written cannot be read back. */
FIRN_CHECKED firn_status firn_row_deletes_write(struct firn_op *op, const struct firn_delete_writer_config *config,
                                                const struct firn_row_deletes *deletes, uint32_t count,
                                                struct firn_delete_files *out);
/* Removes what was written and will not be committed. */
void firn_delete_files_discard(struct firn_op *op, struct firn_store *store, const struct firn_delete_files *files);

#endif
