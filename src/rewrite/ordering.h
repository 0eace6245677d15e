/* An order of rows, bound to a table's current schema: plain data, which a plan decides on and sort_key.h makes keys
 * of. Iceberg spec, "Sorting"; reference: procedures.md, 2.3, 2.7, 2.8. */
#ifndef FIRN_REWRITE_ORDERING_H
#define FIRN_REWRITE_ORDERING_H

#include "table/partition.h"

enum firn_ordering_kind {
    FIRN_ORDERING_LINEAR, /* by the first field, then by the second, ... */
    FIRN_ORDERING_ZORDER, /* by the bits of all fields in turn, in the reference's mapping */
    FIRN_ORDERING_HILBERT /* along a Hilbert curve through all fields; firn's own */
};

struct firn_ordering_field {
    int32_t source_id; /* of a primitive field in no list or map */

    /* LINEAR */
    struct firn_transform transform;
    bool descending, nulls_last;

    /* HILBERT: what is known of the values, which spreads them over the whole curve; a value outside counts as the
     * nearer end. Bytes are borrowed. */
    bool has_range;
    struct firn_value least, greatest;
};

struct firn_ordering {
    enum firn_ordering_kind kind;
    const struct firn_ordering_field *fields;
    uint32_t field_count;      /* above 0 */
    uint32_t var_length_bytes; /* ZORDER: taken of a text or of bytes */
    uint64_t key_bytes_max;    /* ZORDER: keys are cut there */
    int32_t sort_order_id;     /* for the files written; 0: none of the table's orders */
};

#endif
