/* Reading Thrift's compact protocol: structures walked field by field over a cursor.
 *
 * Straight-line code, as with the cursor itself: failures are kept in the cursor and checked once at the end. Thrift
 * compact protocol specification; parquet.thrift is its only user. */
#ifndef FIRN_FORMAT_PARQUET_THRIFT_READ_H
#define FIRN_FORMAT_PARQUET_THRIFT_READ_H

#include "base/cursor.h"

enum firn_thrift_type {
    FIRN_THRIFT_STOP = 0,
    FIRN_THRIFT_TRUE = 1, /* also the element type of a list of booleans */
    FIRN_THRIFT_FALSE = 2,
    FIRN_THRIFT_BYTE = 3,
    FIRN_THRIFT_I16 = 4,
    FIRN_THRIFT_I32 = 5,
    FIRN_THRIFT_I64 = 6,
    FIRN_THRIFT_DOUBLE = 7,
    FIRN_THRIFT_BINARY = 8,
    FIRN_THRIFT_LIST = 9,
    FIRN_THRIFT_SET = 10,
    FIRN_THRIFT_MAP = 11,
    FIRN_THRIFT_STRUCT = 12,
    FIRN_THRIFT_UUID = 13,
};

/* Begin each structure with a zeroed one. */
struct firn_thrift_field {
    uint8_t type;
    int32_t id;
};

/* Reads the next field's header. False at the structure's end or after a failure. The caller then takes the field's
 * value with one of the functions below; each fails when the field is of another type. */
bool firn_thrift_next(struct firn_cursor *in, struct firn_thrift_field *field);

bool firn_thrift_bool(struct firn_cursor *in, const struct firn_thrift_field *field);
int8_t firn_thrift_i8(struct firn_cursor *in, const struct firn_thrift_field *field);
int32_t firn_thrift_i32(struct firn_cursor *in, const struct firn_thrift_field *field);
int64_t firn_thrift_i64(struct firn_cursor *in, const struct firn_thrift_field *field);
/* Borrowed from the input; never NULL after success, also when empty. */
struct firn_bytes firn_thrift_binary(struct firn_cursor *in, const struct firn_thrift_field *field);
/* Only checks the type: the members follow. */
void firn_thrift_struct(struct firn_cursor *in, const struct firn_thrift_field *field);
/* Gives the number of elements, 0 after a failure. An element takes at least `element_bytes_min` bytes, so a count that
 * cannot be true fails before anything is allocated for it. */
uint32_t firn_thrift_list(struct firn_cursor *in, const struct firn_thrift_field *field, enum firn_thrift_type element,
                          size_t element_bytes_min);

/* Elements of lists. */
int32_t firn_thrift_element_i32(struct firn_cursor *in);
struct firn_bytes firn_thrift_element_binary(struct firn_cursor *in);
bool firn_thrift_element_bool(struct firn_cursor *in);

/* Passes over a value of any type, nested at most 32 deep. */
void firn_thrift_skip(struct firn_cursor *in, const struct firn_thrift_field *field);

#endif
