/* Thrift compact protocol, the writing half. */
#include "format/parquet/thrift_write.h"

#include "base/math.h"

#include <assert.h>

/* Types as field headers give them; a boolean's value is its type. */
enum wire_type {
    WIRE_TRUE = 1,
    WIRE_FALSE = 2,
    WIRE_I8 = 3,
    WIRE_I16 = 4,
    WIRE_I32 = 5,
    WIRE_I64 = 6,
    WIRE_BINARY = 8,
    WIRE_LIST = 9,
    WIRE_STRUCT = 12
};

enum { SHORT_ID_DELTA_MAX = 15, SHORT_LIST_MAX = 14 };

static void put_bytes(struct firn_thrift_writer *out, const void *data, size_t len)
{
    if (out->status == FIRN_OK)
        out->status = firn_buffer_append(out->op, out->out, data, len);
}

static void put_byte(struct firn_thrift_writer *out, uint8_t byte)
{
    put_bytes(out, &byte, 1);
}

static void put_varint(struct firn_thrift_writer *out, uint64_t value)
{
    uint8_t bytes[FIRN_VARINT_BYTES_MAX];
    put_bytes(out, bytes, (size_t)(firn_varint_put(bytes, value) - bytes));
}

static void put_zigzag(struct firn_thrift_writer *out, int64_t value)
{
    put_varint(out, firn_zigzag_encode(value));
}

static void put_field(struct firn_thrift_writer *out, int16_t id, enum wire_type type)
{
    int16_t *last = &out->last_ids[out->depth];
    assert(id > *last);
    if (id - *last <= SHORT_ID_DELTA_MAX) {
        put_byte(out, (uint8_t)((id - *last) << 4 | type));
    } else {
        put_byte(out, (uint8_t)type);
        put_zigzag(out, id);
    }
    *last = id;
}

static void open_struct(struct firn_thrift_writer *out)
{
    out->depth++;
    assert(out->depth < FIRN_THRIFT_DEPTH_MAX);
    out->last_ids[out->depth] = 0;
}

struct firn_thrift_writer firn_thrift_writer_of(struct firn_op *op, struct firn_buffer *out)
{
    return (struct firn_thrift_writer){ .op = op, .out = out };
}

firn_status firn_thrift_finish(struct firn_thrift_writer *out)
{
    assert(out->depth == 0);
    put_byte(out, 0);
    return out->status;
}

void firn_thrift_put_bool(struct firn_thrift_writer *out, int16_t id, bool value)
{
    put_field(out, id, value ? WIRE_TRUE : WIRE_FALSE);
}

void firn_thrift_put_i8(struct firn_thrift_writer *out, int16_t id, int8_t value)
{
    put_field(out, id, WIRE_I8);
    put_byte(out, (uint8_t)value);
}

void firn_thrift_put_i16(struct firn_thrift_writer *out, int16_t id, int16_t value)
{
    put_field(out, id, WIRE_I16);
    put_zigzag(out, value);
}

void firn_thrift_put_i32(struct firn_thrift_writer *out, int16_t id, int32_t value)
{
    put_field(out, id, WIRE_I32);
    put_zigzag(out, value);
}

void firn_thrift_put_i64(struct firn_thrift_writer *out, int16_t id, int64_t value)
{
    put_field(out, id, WIRE_I64);
    put_zigzag(out, value);
}

void firn_thrift_put_binary(struct firn_thrift_writer *out, int16_t id, struct firn_bytes value)
{
    put_field(out, id, WIRE_BINARY);
    firn_thrift_item_binary(out, value);
}

void firn_thrift_put_empty(struct firn_thrift_writer *out, int16_t id)
{
    put_field(out, id, WIRE_STRUCT);
    put_byte(out, 0);
}

void firn_thrift_begin_struct(struct firn_thrift_writer *out, int16_t id)
{
    put_field(out, id, WIRE_STRUCT);
    open_struct(out);
}

void firn_thrift_end_struct(struct firn_thrift_writer *out)
{
    assert(out->depth > 0);
    put_byte(out, 0);
    out->depth--;
}

void firn_thrift_begin_list(struct firn_thrift_writer *out, int16_t id, enum firn_thrift_item item, size_t count)
{
    put_field(out, id, WIRE_LIST);
    if (count <= SHORT_LIST_MAX) {
        put_byte(out, (uint8_t)(count << 4 | item));
    } else {
        put_byte(out, (uint8_t)(0xf0 | item));
        put_varint(out, count);
    }
}

void firn_thrift_item_bool(struct firn_thrift_writer *out, bool value)
{
    put_byte(out, value ? WIRE_TRUE : WIRE_FALSE);
}

void firn_thrift_item_int(struct firn_thrift_writer *out, int64_t value)
{
    put_zigzag(out, value);
}

void firn_thrift_item_binary(struct firn_thrift_writer *out, struct firn_bytes value)
{
    put_varint(out, value.len);
    put_bytes(out, value.data, value.len);
}

void firn_thrift_item_begin_struct(struct firn_thrift_writer *out)
{
    open_struct(out);
}

void firn_thrift_put_i64s(struct firn_thrift_writer *out, int16_t id, const int64_t *values, size_t count)
{
    firn_thrift_begin_list(out, id, FIRN_THRIFT_I64S, count);
    for (size_t i = 0; i < count; i++)
        firn_thrift_item_int(out, values[i]);
}
