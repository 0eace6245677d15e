/* Theta sketches of columns over the live rows of a snapshot. */
#ifndef FIRN_MAINTAIN_COLUMN_SKETCHES_H
#define FIRN_MAINTAIN_COLUMN_SKETCHES_H

#include "base/pool.h"
#include "firn/progress.h"
#include "format/puffin/theta.h"
#include "store/store.h"
#include "table/metadata.h"

struct firn_column_sketches_config {
    const struct firn_metadata *metadata;
    const struct firn_snapshot *snapshot;
    const struct firn_schema *schema; /* the snapshot's: values are hashed in its types */
    struct firn_store *store;
    struct firn_pool *pool;
    const struct firn_field *const *columns; /* of the schema, primitive, in structs at most; each once */
    uint32_t column_count;
    struct firn_progress *progress; /* may be NULL */
};
struct firn_column_sketches_report {
    int64_t row_count, file_count; /* live rows, data files */
};

/* Is given the sketch of columns[index], which goes when it returns. */
typedef firn_status firn_column_sketch_visit(struct firn_op *op, void *context, uint32_t index,
                                             const struct firn_theta_compact *sketch);
/* Makes sketches of all values of live rows that are not null, and visits them in the order of the columns. Files are
 * read in parallel, the columns of few files too; as many columns at a time as the operation's budget allows, and then
 * the files again. Fails: as reading the files does; errors name the file. */
FIRN_CHECKED firn_status firn_column_sketches_read(struct firn_op *op, const struct firn_column_sketches_config *config,
                                                   firn_column_sketch_visit *visit, void *context,
                                                   struct firn_column_sketches_report *out);

#endif
