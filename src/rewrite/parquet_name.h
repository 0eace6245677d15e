/* Column names in Parquet files: the reference passes them through Avro's naming rules. */
#ifndef FIRN_REWRITE_PARQUET_NAME_H
#define FIRN_REWRITE_PARQUET_NAME_H

#include "firn/arena.h"

/* "a.b" becomes "a_x2Eb", "1a" becomes "_1a"; names that need no change are given back as they are. Readers match by
 * field id, so this only has to be what people expect to see. */
struct firn_text firn_parquet_name(struct firn_arena *arena, struct firn_text name);

#endif
