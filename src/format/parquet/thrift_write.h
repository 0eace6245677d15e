/* Writing Thrift's compact protocol: what footers, page headers and page indexes are made of.
 *
 * The writer keeps the first failure and writes nothing after it, so that printing is straight-line code and the check
 * is made once, at the end. Thrift, "Compact protocol encoding". */
#ifndef FIRN_FORMAT_PARQUET_THRIFT_WRITE_H
#define FIRN_FORMAT_PARQUET_THRIFT_WRITE_H

#include "base/buffer.h"

/* Element types of lists. */
enum firn_thrift_item {
    FIRN_THRIFT_BOOLS = 1,
    FIRN_THRIFT_I32S = 5,
    FIRN_THRIFT_I64S = 6,
    FIRN_THRIFT_BINARIES = 8,
    FIRN_THRIFT_STRUCTS = 12
};

#define FIRN_THRIFT_DEPTH_MAX 16

struct firn_thrift_writer {
    struct firn_op *op;
    struct firn_buffer *out;
    firn_status status;                      /* the first failure, or FIRN_OK */
    int16_t last_ids[FIRN_THRIFT_DEPTH_MAX]; /* of the fields written so far, one a struct that is open */
    uint32_t depth;                          /* structs open below the outermost */
};

/* Begins the outermost struct. */
struct firn_thrift_writer firn_thrift_writer_of(struct firn_op *op, struct firn_buffer *out);
/* Ends the outermost struct and gives the first failure. */
FIRN_CHECKED firn_status firn_thrift_finish(struct firn_thrift_writer *out);

/* Fields of the struct that is open; ids must increase. */
void firn_thrift_put_bool(struct firn_thrift_writer *out, int16_t id, bool value);
void firn_thrift_put_i8(struct firn_thrift_writer *out, int16_t id, int8_t value);
void firn_thrift_put_i16(struct firn_thrift_writer *out, int16_t id, int16_t value);
void firn_thrift_put_i32(struct firn_thrift_writer *out, int16_t id, int32_t value);
void firn_thrift_put_i64(struct firn_thrift_writer *out, int16_t id, int64_t value);
void firn_thrift_put_binary(struct firn_thrift_writer *out, int16_t id, struct firn_bytes value);
/* A struct without fields, as unions use them. */
void firn_thrift_put_empty(struct firn_thrift_writer *out, int16_t id);
void firn_thrift_begin_struct(struct firn_thrift_writer *out, int16_t id);
void firn_thrift_end_struct(struct firn_thrift_writer *out);

/* A list; exactly `count` elements follow. */
void firn_thrift_begin_list(struct firn_thrift_writer *out, int16_t id, enum firn_thrift_item item, size_t count);
void firn_thrift_item_bool(struct firn_thrift_writer *out, bool value);
/* Any width of integer: they are all written alike. */
void firn_thrift_item_int(struct firn_thrift_writer *out, int64_t value);
void firn_thrift_item_binary(struct firn_thrift_writer *out, struct firn_bytes value);
/* A struct as a list's element; ended by firn_thrift_end_struct. */
void firn_thrift_item_begin_struct(struct firn_thrift_writer *out);
/* A whole list of 64-bit integers. */
void firn_thrift_put_i64s(struct firn_thrift_writer *out, int16_t id, const int64_t *values, size_t count);

#endif
