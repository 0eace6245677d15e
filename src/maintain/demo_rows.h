/* The rows of the demonstration table: repeatable, shaped like card transactions. */
#ifndef FIRN_MAINTAIN_DEMO_ROWS_H
#define FIRN_MAINTAIN_DEMO_ROWS_H

#include "format/parquet/vector.h"

enum { FIRN_DEMO_COLUMNS = 6 };

struct firn_demo_batch {
    int64_t seed;
    int64_t first_id; /* transaction_id of the first row */
    int64_t start_us; /* rows are spread over [start_us, start_us + span_us) in order */
    int64_t span_us;
    uint32_t row_count;
};

/* Fills one vector a column, in schema order; everything lives in op->arena. */
void firn_demo_rows(struct firn_op *op, const struct firn_demo_batch *batch, struct firn_vector *columns);

#endif
