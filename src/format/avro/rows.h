/* The rows of a container file, one after the other, decoded into structs. */
#ifndef FIRN_FORMAT_AVRO_ROWS_H
#define FIRN_FORMAT_AVRO_ROWS_H

#include "format/avro/container.h"
#include "format/avro/layout.h"

struct firn_avro_rows {
    struct firn_avro_reader *reader;
    const struct firn_avro_plan *plan;
    struct firn_avro_decoder decoder;
    struct firn_buffer *buffer; /* of the current block; freed when the arena goes */
    uint64_t rows_left;         /* in the current block */
};

/* Begins reading. `copy`: what rows refer to is copied to op->arena and the blocks are let go, which takes less memory
 * when little of a row is read; else the decompressed blocks stay in op->arena and rows borrow from them. */
FIRN_CHECKED firn_status firn_avro_rows_init(struct firn_op *op, struct firn_avro_reader *reader,
                                             const struct firn_avro_layout *layout, bool copy,
                                             struct firn_avro_rows *rows);
/* Decodes the next row into the struct at `row`, which the caller has preset. False in `*got` at the end. */
FIRN_CHECKED firn_status firn_avro_rows_next(struct firn_op *op, struct firn_avro_rows *rows, void *row, bool *got);
/* Lets go of the last block when rows were copied. */
void firn_avro_rows_done(struct firn_avro_rows *rows);

#endif
