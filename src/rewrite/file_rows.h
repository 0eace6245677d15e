/* Rows of one file, Parquet, Avro or ORC, as values: a few columns, read by the rules for data files. For keys and
 * positions of deletes, and for rows that people are shown; rows that are rewritten never take this form. */
#ifndef FIRN_REWRITE_FILE_ROWS_H
#define FIRN_REWRITE_FILE_ROWS_H

#include "rewrite/input_shape.h"
#include "rewrite/output_schema.h"
#include "rewrite/rewrite.h"

struct firn_file_rows_config {
    const struct firn_metadata *metadata;
    struct firn_store *store;
    const struct firn_output_schema *schema; /* the columns to read; repeated ones need `levels` */
    const struct firn_id_sources *ids;
    const struct firn_data_file *file;
    bool complete; /* a delete file: a column that is neither stored nor an identity partition value is CORRUPT, and
                      another number of rows than recorded gives a warning */
    bool levels;   /* columns may nest: slots with their levels are wanted. Of the columns, only those at the top of
                      the schema need be complete. Not for Avro */
};

#define FIRN_FILE_ROWS_MAX 8192 /* in one batch */

/* The slots of one leaf, as Parquet has them: levels, and the values of those at the leaf's highest level. */
struct firn_leaf_slots {
    uint32_t count;
    const uint8_t *rep, *def;
    const struct firn_value *values; /* one a slot; null where there is none */
};

struct firn_row_batch {
    int64_t first; /* position of the first row in the file */
    uint32_t row_count;
    struct firn_value *const *columns;   /* one a leaf of the schema; one value a row, unless the leaf is repeated */
    const struct firn_leaf_slots *slots; /* one a leaf; NULL: not asked for */
};

/* The batch is valid until the visit returns. Equal bytes in rows that follow each other are at one address. */
typedef firn_status firn_file_rows_visit(struct firn_op *op, void *context, const struct firn_row_batch *batch);
/* Visits all rows in order. Memory is bounded by the pages of the columns read, not by the file; of Avro and ORC, by
 * the whole file. UNSUPPORTED for other formats and for encrypted files. */
FIRN_CHECKED firn_status firn_file_rows_read(struct firn_op *op, const struct firn_file_rows_config *config,
                                             firn_file_rows_visit *visit, void *context);

#endif
