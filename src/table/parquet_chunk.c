/* Reading a column chunk: the store between pages. */
#include "table/parquet_chunk.h"

#define PIECE_BYTES ((size_t)8 << 20)

static firn_status read_piece(struct firn_op *op, void *context, uint64_t offset, size_t len, uint8_t *out)
{
    FIRN_TRY(firn_op_check(op));
    return firn_object_read(op, context, offset, len, out);
}

struct firn_chunk_source firn_parquet_chunk_source(struct firn_object *object, const struct firn_column_chunk *chunk)
{
    struct firn_chunk_source source = { .read = read_piece, .context = object, .piece_bytes = PIECE_BYTES };
    firn_column_chunk_range(chunk, &source.offset, &source.len);
    return source;
}

firn_status firn_parquet_chunk_open(struct firn_op *op, struct firn_object *object,
                                    const struct firn_parquet_node *leaf, const struct firn_column_chunk *chunk,
                                    int64_t row_count, struct firn_chunk_reader_options options,
                                    struct firn_chunk_reader **out)
{
    const struct firn_chunk_source source = firn_parquet_chunk_source(object, chunk);
    return firn_chunk_reader_open_source(op, leaf, chunk, row_count, &source, options, out);
}
