/* A column chunk of a Parquet file in a store, read while its pages are asked for. parquet-format, "Column chunks". */
#ifndef FIRN_TABLE_PARQUET_CHUNK_H
#define FIRN_TABLE_PARQUET_CHUNK_H

#include "format/parquet/reader.h"
#include "store/store.h"

/* The bytes of a chunk, in pieces of some megabytes. Borrows the object. */
struct firn_chunk_source firn_parquet_chunk_source(struct firn_object *object, const struct firn_column_chunk *chunk);
/* firn_chunk_reader_open_source with it. */
FIRN_CHECKED firn_status firn_parquet_chunk_open(struct firn_op *op, struct firn_object *object,
                                                 const struct firn_parquet_node *leaf,
                                                 const struct firn_column_chunk *chunk, int64_t row_count,
                                                 struct firn_chunk_reader_options options,
                                                 struct firn_chunk_reader **out);

#endif
