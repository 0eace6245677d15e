/* Values of Parquet columns as people read them, in the form DuckDB prints; for firn inspect. */
#ifndef FIRN_MAINTAIN_LEAF_TEXT_H
#define FIRN_MAINTAIN_LEAF_TEXT_H

#include "format/parquet/metadata.h"

/* `value` as statistics hold it: PLAIN, without a length prefix. A value whose length its type cannot have, as foreign
 * statistics do have, is shown as bytes. */
struct firn_text firn_leaf_text(struct firn_arena *arena, const struct firn_parquet_node *leaf,
                                struct firn_bytes value);
/* The annotation with its parameters, as "DECIMAL(9, 2)" or "TIMESTAMP(MICROS, UTC)"; empty when there is none. */
struct firn_text firn_logical_text(struct firn_arena *arena, const struct firn_logical_type *logical);

#endif
