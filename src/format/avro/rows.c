/* The rows of a container file. */
#include "format/avro/rows.h"

static void new_buffer(struct firn_op *op, struct firn_avro_rows *rows)
{
    rows->buffer = FIRN_NEW(op->arena, struct firn_buffer);
    firn_buffer_defer(op->arena, rows->buffer);
}

firn_status firn_avro_rows_init(struct firn_op *op, struct firn_avro_reader *reader,
                                const struct firn_avro_layout *layout, bool copy, struct firn_avro_rows *rows)
{
    *rows = (struct firn_avro_rows){ .reader = reader, .decoder = { .arena = op->arena, .copy = copy } };
    new_buffer(op, rows);
    return firn_avro_plan_new(op, reader->type, layout, &rows->plan);
}

static firn_status next_block(struct firn_op *op, struct firn_avro_rows *rows)
{
    struct firn_avro_block block;
    if (!rows->decoder.copy && rows->buffer->len > 0)
        new_buffer(op, rows);
    FIRN_TRY(firn_avro_reader_next(op, rows->reader, rows->buffer, &block));
    rows->decoder.in = firn_cursor_of(block.data);
    rows->rows_left = block.row_count;
    return FIRN_OK;
}

firn_status firn_avro_rows_next(struct firn_op *op, struct firn_avro_rows *rows, void *row, bool *got)
{
    if (rows->rows_left == 0)
        FIRN_TRY(next_block(op, rows));
    *got = rows->rows_left > 0;
    if (!*got)
        return FIRN_OK;
    rows->rows_left--;
    firn_avro_plan_decode(rows->plan, &rows->decoder, row);
    return firn_cursor_finish(op, &rows->decoder.in, "avro row");
}

void firn_avro_rows_done(struct firn_avro_rows *rows)
{
    if (rows->decoder.copy)
        firn_buffer_done(rows->buffer);
}
