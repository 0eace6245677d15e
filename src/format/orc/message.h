/* Protocol Buffers, taken apart field by field. protobuf.dev, "Encoding". */
#ifndef FIRN_FORMAT_ORC_MESSAGE_H
#define FIRN_FORMAT_ORC_MESSAGE_H

#include "base/cursor.h"

enum { FIRN_WIRE_VARINT, FIRN_WIRE_FIXED64, FIRN_WIRE_BYTES, FIRN_WIRE_FIXED32 = 5 };

/* A field of a message: a number, or bytes; fixed numbers are passed over, nothing here has them. */
struct firn_message_field {
    uint64_t number;
    uint64_t value;          /* VARINT */
    struct firn_bytes bytes; /* BYTES */
};

/* The next field; false at the end and after a failure, which the cursor keeps. */
static inline bool firn_message_next(struct firn_cursor *in, struct firn_message_field *out)
{
    if (in->failure || firn_cursor_left(in) == 0)
        return false;
    uint64_t tag = firn_take_varint64(in);
    *out = (struct firn_message_field){ .number = tag >> 3 };
    switch (tag & 7) {
    case FIRN_WIRE_VARINT:
        out->value = firn_take_varint64(in);
        break;
    case FIRN_WIRE_FIXED64:
        (void)firn_take_le64(in);
        break;
    case FIRN_WIRE_BYTES:
        out->bytes = firn_take_bytes(in, firn_take_varint64(in));
        break;
    case FIRN_WIRE_FIXED32:
        (void)firn_take_le32(in);
        break;
    default:
        firn_cursor_fail(in, "a field of no known form");
        break;
    }
    return !in->failure;
}

#endif
