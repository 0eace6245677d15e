/* What the parts of the Parquet inspector share. */
#ifndef FIRN_MAINTAIN_INSPECT_PARQUET_H
#define FIRN_MAINTAIN_INSPECT_PARQUET_H

#include "format/json/json.h"
#include "format/parquet/reader.h"
#include "maintain/inspect.h"
#include "store/store.h"

/* A file being inspected. */
struct firn_inspected {
    struct firn_object *object;
    const struct firn_footer *footer;
    struct firn_buffer bytes;                 /* of the chunk or index being looked at */
    struct firn_codec_context *codec_context; /* shared by all chunks */
};

/* Reads a range into inspected->bytes. */
FIRN_CHECKED firn_status firn_inspect_read(struct firn_op *op, struct firn_inspected *inspected, uint64_t offset,
                                           uint64_t len);
/* Sets "min" and "max" of a JSON object where the bounds exist, in DuckDB's text. */
void firn_inspect_set_bounds(struct firn_arena *arena, json_t *out, const struct firn_parquet_node *leaf,
                             struct firn_bytes min, struct firn_bytes max);
/* Adds "pages" to a column's object: each page's header. Reads the chunk. */
FIRN_CHECKED firn_status firn_inspect_pages(struct firn_op *op, struct firn_inspected *inspected,
                                            const struct firn_parquet_node *leaf, const struct firn_column_chunk *chunk,
                                            json_t *column);
/* Adds "offset_index" and "column_index" to a column's object, where the chunk has them. */
FIRN_CHECKED firn_status firn_inspect_indexes(struct firn_op *op, struct firn_inspected *inspected,
                                              const struct firn_parquet_node *leaf,
                                              const struct firn_column_chunk *chunk, json_t *column);
/* Decodes every value: adds "columns" (top level) and "leaves" to the file's object. Text columns must be UTF-8. */
FIRN_CHECKED firn_status firn_inspect_values(struct firn_op *op, struct firn_inspected *inspected, json_t *file);

#endif
