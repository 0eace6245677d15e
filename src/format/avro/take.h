/* Avro's binary encoding, taken from a cursor. Avro 1.12 specification, "Binary Encoding". */
#ifndef FIRN_FORMAT_AVRO_TAKE_H
#define FIRN_FORMAT_AVRO_TAKE_H

#include "base/cursor.h"
#include "base/math.h"
#include "format/avro/schema.h"

/* Values nested deeper are refused: a record that contains itself can ask for any depth. */
#define FIRN_AVRO_VALUE_DEPTH_MAX 64

/* One byte is by far the commonest length, so it is decided in place. */
static inline int64_t firn_avro_take_long(struct firn_cursor *in)
{
    if (in->at < in->end && *in->at < 0x80)
        return firn_zigzag_decode(*in->at++);
    return firn_take_zigzag64(in);
}

static inline int32_t firn_avro_take_int(struct firn_cursor *in)
{
    int64_t value = firn_avro_take_long(in);
    if (value != (int32_t)value) {
        firn_cursor_fail(in, "has an int beyond 32 bits");
        return 0;
    }
    return (int32_t)value;
}

bool firn_avro_take_boolean(struct firn_cursor *in);
float firn_avro_take_float(struct firn_cursor *in);
double firn_avro_take_double(struct firn_cursor *in);
/* bytes or string: a length, then that many bytes, borrowed. */
struct firn_bytes firn_avro_take_bytes(struct firn_cursor *in);
/* The index of a union's branch or an enum's symbol, below `count` (0 after a failure). */
uint32_t firn_avro_take_index(struct firn_cursor *in, uint32_t count);

/* The head of the next block of an array or map: how many items follow, 0 at the end. A count that could not lie in
 * what is left fails; of items that take no bytes `empty_items_max` may come. `block_bytes` is the block's size when
 * its writer stated it, else -1. */
uint64_t firn_avro_take_block(struct firn_cursor *in, uint64_t item_min_bytes, uint64_t empty_items_max,
                              int64_t *block_bytes);
/* Passes over one value. */
void firn_avro_skip(struct firn_cursor *in, const struct firn_avro_type *type, unsigned depth);

#endif
