/* What the table's write.parquet.* properties ask of the files written. Reference: format-notes.md, 13.1. */
#ifndef FIRN_REWRITE_WRITE_OPTIONS_H
#define FIRN_REWRITE_WRITE_OPTIONS_H

#include "format/parquet/writer.h"
#include "rewrite/output_schema.h"
#include "table/metadata.h"

struct firn_write_options {
    uint64_t row_group_bytes;          /* aim of a row group's encoded size */
    struct firn_chunk_options *leaves; /* one an output leaf; codec_context is not set */
};

/* What the files are. Delete files follow write.delete.parquet.* before write.parquet.*, but for what is said of single
 * columns: those are the table's. */
enum firn_write_kind { FIRN_WRITE_DATA, FIRN_WRITE_DELETES };

/* Lives in op->arena. USAGE for a property whose value makes no sense. Without write.parquet.compression-codec files
 * are zstd, as Iceberg writes into the properties of new tables. */
FIRN_CHECKED firn_status firn_write_options_new(struct firn_op *op, const struct firn_metadata *metadata,
                                                enum firn_write_kind kind, const struct firn_output_schema *schema,
                                                struct firn_write_options *out);

#endif
