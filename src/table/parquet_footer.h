/* The footer of a Parquet file in a store: fetched in two reads and parsed. parquet-format, "File Format". */
#ifndef FIRN_TABLE_PARQUET_FOOTER_H
#define FIRN_TABLE_PARQUET_FOOTER_H

#include "format/parquet/metadata.h"
#include "store/store.h"

/* `scratch` is overwritten; the footer lives in op->arena and does not borrow from it. Fails as firn_footer_tail_parse
 * and firn_footer_parse do, also for a file too short to be Parquet. */
FIRN_CHECKED firn_status firn_parquet_footer_read(struct firn_op *op, struct firn_object *object,
                                                  struct firn_buffer *scratch, struct firn_footer **out);
/* The same of a file that is opened for its footer alone. */
FIRN_CHECKED firn_status firn_parquet_footer_load(struct firn_op *op, struct firn_store *store, struct firn_text path,
                                                  struct firn_footer **out);

#endif
