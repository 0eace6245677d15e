/* Values of one leaf column in memory: repetition and definition levels beside a dense array of the values present.
 *
 * A vector is what a data page decodes to and what a chunk writer takes. Records are never assembled: nested columns
 * travel as their levels (Dremel encoding). */
#ifndef FIRN_FORMAT_PARQUET_VECTOR_H
#define FIRN_FORMAT_PARQUET_VECTOR_H

#include "format/parquet/metadata.h"

/* A value of BYTE_ARRAY, not owned. */
struct firn_slice {
    const uint8_t *data;
    uint32_t len;
};

union firn_values {
    void *any;
    uint8_t *boolean;         /* BOOLEAN: one byte a value, 0 or 1 */
    int32_t *int32;           /* INT32 */
    int64_t *int64;           /* INT64 */
    float *float32;           /* FLOAT */
    double *float64;          /* DOUBLE */
    struct firn_slice *slice; /* BYTE_ARRAY */
    uint8_t *fixed;           /* FIXED: type_length bytes a value; INT96: 12 bytes a value */
};

/* The values of a dictionary page. */
struct firn_dictionary {
    uint64_t id; /* a hash of the content, so that a later dictionary at the same address is not taken for this one; 0:
                    none, and a writer keeps nothing it learned about the dictionary beyond one call */
    enum firn_parquet_type type;
    uint32_t type_length;
    uint32_t count;
    union firn_values values;
};

struct firn_vector {
    enum firn_parquet_type type;
    uint32_t type_length; /* FIXED: bytes a value */
    uint8_t rep_max, def_max;
    uint32_t slot_count;      /* level entries: one a value or null or empty list */
    uint32_t value_count;     /* slots whose definition level is def_max */
    uint32_t row_count;       /* slots whose repetition level is 0 */
    const uint8_t *rep;       /* slot_count levels; NULL when rep_max is 0 */
    const uint8_t *def;       /* slot_count levels; NULL when def_max is 0 or every slot has a value */
    union firn_values values; /* value_count values; unset when `indices` is */
    const uint32_t *indices;  /* value_count indices into `dictionary`, each checked; else NULL */
    const struct firn_dictionary *dictionary;
};

/* A data page whose values stay encoded: they are not compressed, and its levels are decoded. */
struct firn_packed_page {
    const struct firn_vector *levels; /* its values are not looked at */
    enum firn_encoding encoding;
    struct firn_bytes values;
    bool page_v2; /* it has that version's form */
};

/* Bytes of one value in its array: 1, 4, 8, 12, type_length or sizeof(struct firn_slice). */
size_t firn_value_width(enum firn_parquet_type type, uint32_t type_length);

#endif
