/* Reading Thrift's compact protocol. Thrift specification, "Thrift Compact protocol encoding". */
#include "format/parquet/thrift_read.h"

#include "base/math.h"

#define SKIP_DEPTH_MAX 32

bool firn_thrift_next(struct firn_cursor *in, struct firn_thrift_field *field)
{
    uint8_t byte = firn_take_u8(in);
    if (in->failure || byte == FIRN_THRIFT_STOP)
        return false;
    field->type = byte & 0x0f;
    unsigned delta = byte >> 4;
    int64_t id = delta > 0 ? field->id + (int64_t)delta : firn_take_zigzag64(in);
    if (id < INT16_MIN || id > INT16_MAX)
        firn_cursor_fail(in, "has a field number out of range");
    field->id = (int32_t)id;
    return !in->failure;
}

static void expect(struct firn_cursor *in, const struct firn_thrift_field *field, enum firn_thrift_type type)
{
    if (field->type != type)
        firn_cursor_fail(in, "has a field of an unexpected type");
}

bool firn_thrift_bool(struct firn_cursor *in, const struct firn_thrift_field *field)
{
    if (field->type != FIRN_THRIFT_FALSE)
        expect(in, field, FIRN_THRIFT_TRUE);
    return field->type == FIRN_THRIFT_TRUE;
}

int8_t firn_thrift_i8(struct firn_cursor *in, const struct firn_thrift_field *field)
{
    expect(in, field, FIRN_THRIFT_BYTE);
    return (int8_t)firn_take_u8(in);
}

int32_t firn_thrift_element_i32(struct firn_cursor *in)
{
    int64_t value = firn_take_zigzag64(in);
    if (value < INT32_MIN || value > INT32_MAX)
        firn_cursor_fail(in, "has a number beyond 32 bits");
    return in->failure ? 0 : (int32_t)value;
}

int32_t firn_thrift_i32(struct firn_cursor *in, const struct firn_thrift_field *field)
{
    expect(in, field, FIRN_THRIFT_I32);
    return firn_thrift_element_i32(in);
}

int64_t firn_thrift_i64(struct firn_cursor *in, const struct firn_thrift_field *field)
{
    expect(in, field, FIRN_THRIFT_I64);
    return firn_take_zigzag64(in);
}

struct firn_bytes firn_thrift_element_binary(struct firn_cursor *in)
{
    return firn_take_bytes(in, firn_take_varint64(in));
}

struct firn_bytes firn_thrift_binary(struct firn_cursor *in, const struct firn_thrift_field *field)
{
    expect(in, field, FIRN_THRIFT_BINARY);
    return firn_thrift_element_binary(in);
}

void firn_thrift_struct(struct firn_cursor *in, const struct firn_thrift_field *field)
{
    expect(in, field, FIRN_THRIFT_STRUCT);
}

/* The header of a list or set: how many, of what. */
static uint64_t take_list_header(struct firn_cursor *in, uint8_t *element)
{
    uint8_t byte = firn_take_u8(in);
    *element = byte & 0x0f;
    return byte >> 4 == 15 ? firn_take_varint64(in) : byte >> 4;
}

uint32_t firn_thrift_list(struct firn_cursor *in, const struct firn_thrift_field *field, enum firn_thrift_type element,
                          size_t element_bytes_min)
{
    uint8_t found;
    expect(in, field, FIRN_THRIFT_LIST);
    uint64_t count = take_list_header(in, &found);
    if (found == FIRN_THRIFT_FALSE) /* both mark a list of booleans */
        found = FIRN_THRIFT_TRUE;
    if (count > 0 && found != element)
        firn_cursor_fail(in, "has a list of elements of an unexpected type");
    if (count > firn_cursor_left(in) / element_bytes_min)
        firn_cursor_fail(in, "has a list longer than the data");
    return in->failure ? 0 : (uint32_t)FIRN_MIN(count, UINT32_MAX);
}

/* Writers disagree on whether false is 0 or 2. */
bool firn_thrift_element_bool(struct firn_cursor *in)
{
    return firn_take_u8(in) == 1;
}

static void skip_value(struct firn_cursor *in, uint8_t type, unsigned depth);

static void skip_struct(struct firn_cursor *in, unsigned depth)
{
    struct firn_thrift_field field = { 0 };
    while (firn_thrift_next(in, &field))
        if (field.type != FIRN_THRIFT_TRUE && field.type != FIRN_THRIFT_FALSE) /* their value is in the header */
            skip_value(in, field.type, depth);
}

static void skip_list(struct firn_cursor *in, unsigned depth)
{
    uint8_t element;
    uint64_t count = take_list_header(in, &element);
    for (uint64_t i = 0; i < count && !in->failure; i++)
        skip_value(in, element, depth);
}

static void skip_map(struct firn_cursor *in, unsigned depth)
{
    uint64_t count = firn_take_varint64(in);
    uint8_t types = count > 0 ? firn_take_u8(in) : 0;
    for (uint64_t i = 0; i < count && !in->failure; i++) {
        skip_value(in, types >> 4, depth);
        skip_value(in, types & 0x0f, depth);
    }
}

static void skip_value(struct firn_cursor *in, uint8_t type, unsigned depth)
{
    if (depth == SKIP_DEPTH_MAX) {
        firn_cursor_fail(in, "is nested too deeply");
        return;
    }
    switch (type) {
    case FIRN_THRIFT_TRUE:
    case FIRN_THRIFT_FALSE:
    case FIRN_THRIFT_BYTE:
        firn_take_u8(in);
        return;
    case FIRN_THRIFT_I16:
    case FIRN_THRIFT_I32:
    case FIRN_THRIFT_I64:
        firn_take_varint64(in);
        return;
    case FIRN_THRIFT_DOUBLE:
        firn_take_le64(in);
        return;
    case FIRN_THRIFT_BINARY:
        firn_thrift_element_binary(in);
        return;
    case FIRN_THRIFT_LIST:
    case FIRN_THRIFT_SET:
        skip_list(in, depth + 1);
        return;
    case FIRN_THRIFT_MAP:
        skip_map(in, depth + 1);
        return;
    case FIRN_THRIFT_STRUCT:
        skip_struct(in, depth + 1);
        return;
    case FIRN_THRIFT_UUID:
        firn_take_bytes(in, 16);
        return;
    default:
        firn_cursor_fail(in, "has a field of an unknown type");
    }
}

void firn_thrift_skip(struct firn_cursor *in, const struct firn_thrift_field *field)
{
    if (field->type == FIRN_THRIFT_TRUE || field->type == FIRN_THRIFT_FALSE)
        return; /* the value is in the header */
    skip_value(in, field->type, 0);
}
