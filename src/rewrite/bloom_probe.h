/* Asking the bloom filters of a data file for a value: whether the file can be skipped for `column = value`. */
#ifndef FIRN_REWRITE_BLOOM_PROBE_H
#define FIRN_REWRITE_BLOOM_PROBE_H

#include "format/parquet/metadata.h"
#include "rewrite/output_schema.h"
#include "store/store.h"

/* A Parquet file that is asked. */
struct firn_bloom_file {
    struct firn_object *object;
    const struct firn_footer *footer;       /* its columns have their field ids (input_shape.h) */
    const struct firn_output_schema *forms; /* the fields asked for, as firn would store them */
};

enum firn_bloom_answer {
    FIRN_BLOOM_UNKNOWN, /* there is no filter in some row group, or none that can be asked for this value */
    FIRN_BLOOM_MAYBE,   /* the value may be in the file */
    FIRN_BLOOM_ABSENT   /* no row of the file has it */
};
/* Reads the filters of a column. `value` is not null and of the field's type in `forms`. Fails: as reading does. */
FIRN_CHECKED firn_status firn_bloom_probe(struct firn_op *op, const struct firn_bloom_file *file, int32_t field_id,
                                          const struct firn_value *value, enum firn_bloom_answer *out);

#endif
