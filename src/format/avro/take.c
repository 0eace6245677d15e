/* Avro's binary encoding. Avro 1.12 specification, "Binary Encoding". */
#include "format/avro/take.h"

bool firn_avro_take_boolean(struct firn_cursor *in)
{
    uint8_t byte = firn_take_u8(in);
    if (byte > 1)
        firn_cursor_fail(in, "has a boolean that is neither 0 nor 1");
    return byte == 1;
}

float firn_avro_take_float(struct firn_cursor *in)
{
    uint32_t bits = firn_take_le32(in);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

double firn_avro_take_double(struct firn_cursor *in)
{
    uint64_t bits = firn_take_le64(in);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

struct firn_bytes firn_avro_take_bytes(struct firn_cursor *in)
{
    int64_t len = firn_avro_take_long(in);
    if (len < 0) {
        firn_cursor_fail(in, "has a negative length");
        return (struct firn_bytes){ 0 };
    }
    return firn_take_bytes(in, (uint64_t)len);
}

uint32_t firn_avro_take_index(struct firn_cursor *in, uint32_t count)
{
    int64_t index = firn_avro_take_long(in);
    if (index < 0 || index >= count) {
        firn_cursor_fail(in, "has a union or enum index out of range");
        return 0;
    }
    return (uint32_t)index;
}

uint64_t firn_avro_take_block(struct firn_cursor *in, uint64_t item_min_bytes, uint64_t empty_items_max,
                              int64_t *block_bytes)
{
    int64_t count = firn_avro_take_long(in);
    *block_bytes = -1;
    if (count < 0) {
        *block_bytes = firn_avro_take_long(in);
        if (*block_bytes < 0 || (uint64_t)*block_bytes > firn_cursor_left(in))
            firn_cursor_fail(in, "has an array block larger than what is left");
        count = count == INT64_MIN ? INT64_MAX : -count;
    }
    uint64_t most = item_min_bytes ? firn_cursor_left(in) / item_min_bytes : empty_items_max;
    if ((uint64_t)count > most)
        firn_cursor_fail(in, "has an array block of more items than can follow");
    return in->failure ? 0 : (uint64_t)count;
}

/* Passes over a number: its value, and whether it fits, does not matter. */
static void skip_long(struct firn_cursor *in)
{
    while (in->at < in->end)
        if (*in->at++ < 0x80)
            return;
    firn_cursor_fail(in, "ends within a number");
}

static void skip_items(struct firn_cursor *in, const struct firn_avro_type *type, unsigned depth)
{
    bool has_keys = type->kind == FIRN_AVRO_MAP;
    uint64_t item_min_bytes = type->item->min_bytes + has_keys;
    int64_t block_bytes;
    uint64_t count;
    while ((count = firn_avro_take_block(in, item_min_bytes, UINT64_MAX, &block_bytes))) {
        if (block_bytes >= 0)
            firn_take_bytes(in, (uint64_t)block_bytes);
        else if (item_min_bytes > 0)
            for (; count > 0 && !in->failure; count--) {
                if (has_keys)
                    firn_avro_take_bytes(in);
                firn_avro_skip(in, type->item, depth);
            }
    }
}

static void skip_fields(struct firn_cursor *in, const struct firn_avro_type *type, unsigned depth)
{
    for (uint32_t i = 0; i < type->field_count && !in->failure; i++)
        firn_avro_skip(in, type->fields[i].type, depth);
}

void firn_avro_skip(struct firn_cursor *in, const struct firn_avro_type *type, unsigned depth)
{
    if (type->min_bytes == 0) /* no value of it takes any: unions and arrays have at least their index or count */
        return;
    if (depth > FIRN_AVRO_VALUE_DEPTH_MAX) {
        firn_cursor_fail(in, "is nested too deep");
        return;
    }
    switch (type->kind) {
    case FIRN_AVRO_INT:
    case FIRN_AVRO_LONG:
    case FIRN_AVRO_ENUM:
        skip_long(in);
        return;
    case FIRN_AVRO_BYTES:
    case FIRN_AVRO_STRING:
        firn_avro_take_bytes(in);
        return;
    case FIRN_AVRO_UNION:
        firn_avro_skip(in, type->branches[firn_avro_take_index(in, type->branch_count)], depth + 1);
        return;
    case FIRN_AVRO_RECORD:
        skip_fields(in, type, depth + 1);
        return;
    case FIRN_AVRO_ARRAY:
    case FIRN_AVRO_MAP:
        skip_items(in, type, depth + 1);
        return;
    default: /* boolean, float, double, fixed: all values take the same space */
        firn_take_bytes(in, type->min_bytes);
        return;
    }
}
