/* Columns of ORC files. ORC specification v1: "File Tail", "Types", "Stripes", "Column Encodings". */
#ifndef FIRN_FORMAT_ORC_H
#define FIRN_FORMAT_ORC_H

#include "format/codec/codec.h"

enum firn_orc_kind {
    FIRN_ORC_BOOLEAN,
    FIRN_ORC_BYTE,
    FIRN_ORC_SHORT,
    FIRN_ORC_INT,
    FIRN_ORC_LONG,
    FIRN_ORC_FLOAT,
    FIRN_ORC_DOUBLE,
    FIRN_ORC_STRING,
    FIRN_ORC_BINARY,
    FIRN_ORC_TIMESTAMP,
    FIRN_ORC_LIST,
    FIRN_ORC_MAP,
    FIRN_ORC_STRUCT,
    FIRN_ORC_UNION,
    FIRN_ORC_DECIMAL,
    FIRN_ORC_DATE,
    FIRN_ORC_VARCHAR,
    FIRN_ORC_CHAR,
    FIRN_ORC_TIMESTAMP_INSTANT,
    FIRN_ORC_KIND_COUNT
};
/* "int", "string", ... */
const char *firn_orc_kind_name(enum firn_orc_kind kind);

/* One node of the tree of types; columns are numbered in its order, the root is 0. */
struct firn_orc_type {
    enum firn_orc_kind kind;
    uint32_t *children; /* numbers of columns, each greater than the column's own */
    uint32_t child_count;
    struct firn_text *names; /* of the children of a struct */
    uint32_t name_count;
    bool has_id; /* attribute iceberg.id */
    int32_t id;
};

struct firn_orc_stripe_place {
    uint64_t offset, index_bytes, data_bytes, footer_bytes, row_count;
};

struct firn_orc_footer {
    enum firn_codec codec;
    uint64_t block_bytes; /* most that a compressed block expands to */
    struct firn_orc_type *types;
    uint32_t type_count;
    struct firn_orc_stripe_place *stripes;
    uint32_t stripe_count;
};

/* Lives in op->arena, borrows from `file`. CORRUPT for what is no ORC file; UNSUPPORTED for codecs that are not read,
 * and for encrypted files. */
FIRN_CHECKED firn_status firn_orc_footer_parse(struct firn_op *op, struct firn_codec_context *codecs,
                                               struct firn_bytes file, struct firn_orc_footer *out);

/* A stripe's streams, found but not read. */
struct firn_orc_stripe;
/* In op->arena; borrows all of its arguments. */
FIRN_CHECKED firn_status firn_orc_stripe_open(struct firn_op *op, struct firn_codec_context *codecs,
                                              const struct firn_orc_footer *footer, struct firn_bytes file,
                                              uint32_t index, struct firn_orc_stripe **out);

/* The values of one column for all rows of a stripe in which its parent is there. All zeros at first. */
struct firn_orc_column {
    uint64_t count;
    bool has_nulls;
    struct firn_buffer present;  /* of `count` bytes, 1 where there is a value; only while has_nulls */
    struct firn_buffer integers; /* int64_t, one a value: booleans, integers, dates */
    struct firn_buffer reals;    /* double */
    struct firn_buffer slices;   /* struct firn_bytes into `bytes`, of strings and bytes */
    struct firn_buffer bytes;
};
/* Reads column `number`; `parent` NULL: there is one in every row. Of a struct only `present` is read. UNSUPPORTED for
 * kinds that are not read. */
FIRN_CHECKED firn_status firn_orc_column_read(struct firn_op *op, struct firn_orc_stripe *stripe, uint32_t number,
                                              const struct firn_orc_column *parent, struct firn_orc_column *out);
/* How many values are there. */
uint64_t firn_orc_column_value_count(const struct firn_orc_column *column);
void firn_orc_column_done(struct firn_orc_column *column);

#endif
