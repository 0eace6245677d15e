/* The fingerprint of a column: the sum over its rows of a 128-bit hash of what the row holds. Order of rows does not
 * matter; order inside a row (lists, maps) does. Input and output feed the same vectors, so equal sums mean equal
 * content. */
#ifndef FIRN_REWRITE_FINGERPRINT_H
#define FIRN_REWRITE_FINGERPRINT_H

#include "base/buffer.h"
#include "base/hash.h"
#include "format/parquet/vector.h"

struct firn_fingerprinter {
    struct firn_hash128 sum;
    struct firn_hash128 row; /* nested columns: hash of the slots of the row so far */
    bool in_row;
};

/* Adds the slots of a vector. Rows may continue in the next one. */
FIRN_CHECKED firn_status firn_fingerprinter_add(struct firn_op *op, struct firn_fingerprinter *fingerprinter,
                                                const struct firn_vector *vector);
/* Ends the row in progress; gives the sum so far. */
struct firn_hash128 firn_fingerprinter_sum(struct firn_fingerprinter *fingerprinter);

#endif
