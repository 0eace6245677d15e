/* Asking the bloom filters of a data file for a value: whether the file can be skipped for `column = value`. */
#ifndef FIRN_REWRITE_BLOOM_PROBE_H
#define FIRN_REWRITE_BLOOM_PROBE_H

#include "store/store.h"
#include "table/manifest.h"

enum firn_bloom_answer {
    FIRN_BLOOM_UNKNOWN, /* there is no filter in some row group, or none that can be asked for this value */
    FIRN_BLOOM_MAYBE,   /* the value may be in the file */
    FIRN_BLOOM_ABSENT   /* no row of the file has it */
};
/* Reads the footer of a Parquet file, and the filters of the column. `value` is not null and of the type that the
 * current schema gives the field; a file of another format, or encrypted, is UNKNOWN. Fails: as reading it does; errors
 * name the file. */
FIRN_CHECKED firn_status firn_bloom_probe(struct firn_op *op, struct firn_store *store,
                                          const struct firn_metadata *metadata, const struct firn_data_file *file,
                                          int32_t field_id, const struct firn_value *value,
                                          enum firn_bloom_answer *out);

#endif
