/* Avro values as JSON. Avro 1.12 specification, "Binary Encoding". */
#include "format/avro/value_json.h"

#include "format/avro/take.h"

#include <math.h>

static json_t *take_value(struct firn_cursor *in, const struct firn_avro_type *type, unsigned depth,
                          uint64_t *empty_items_left);

static json_t *real_json(double value)
{
    if (isnan(value))
        return json_string("NaN");
    if (isinf(value))
        return json_string(value > 0 ? "Infinity" : "-Infinity");
    return json_real(value);
}

static json_t *hex_json(struct firn_bytes bytes)
{
    static const char digits[] = "0123456789abcdef";
    json_t *object = json_object();
    struct firn_arena scratch;
    firn_arena_init(&scratch);
    char *text = firn_arena_alloc_array(&scratch, bytes.len + 1, 2);
    for (size_t i = 0; i < bytes.len; i++) {
        text[2 * i] = digits[bytes.data[i] >> 4];
        text[2 * i + 1] = digits[bytes.data[i] & 0xf];
    }
    firn_json_set_text(object, "hex", (struct firn_text){ text, 2 * bytes.len });
    firn_arena_done(&scratch);
    return object;
}

static json_t *take_record(struct firn_cursor *in, const struct firn_avro_type *type, unsigned depth,
                           uint64_t *empty_items_left)
{
    json_t *object = json_object();
    for (uint32_t i = 0; i < type->field_count && !in->failure; i++) {
        const struct firn_avro_field *field = &type->fields[i];
        json_t *value = take_value(in, field->type, depth, empty_items_left);
        json_object_setn_new(object, field->name.data, field->name.len, value);
    }
    return object;
}

static json_t *take_array(struct firn_cursor *in, const struct firn_avro_type *type, unsigned depth,
                          uint64_t *empty_items_left)
{
    json_t *array = json_array();
    int64_t block_bytes;
    uint64_t count;
    while ((count = firn_avro_take_block(in, type->item->min_bytes, *empty_items_left, &block_bytes)))
        for (; count > 0 && !in->failure; count--)
            json_array_append_new(array, take_value(in, type->item, depth, empty_items_left));
    return array;
}

static json_t *take_map(struct firn_cursor *in, const struct firn_avro_type *type, unsigned depth,
                        uint64_t *empty_items_left)
{
    json_t *object = json_object();
    int64_t block_bytes;
    uint64_t count;
    while ((count = firn_avro_take_block(in, type->item->min_bytes + 1, 0, &block_bytes))) {
        for (; count > 0 && !in->failure; count--) {
            struct firn_text key = firn_text_of_bytes(firn_avro_take_bytes(in));
            firn_json_set_at(object, key, take_value(in, type->item, depth, empty_items_left));
        }
    }
    return object;
}

static json_t *take_symbol(struct firn_cursor *in, const struct firn_avro_type *type)
{
    uint32_t index = firn_avro_take_index(in, type->symbol_count);
    return in->failure ? json_null() : firn_json_string(type->symbols[index]);
}

static json_t *take_value(struct firn_cursor *in, const struct firn_avro_type *type, unsigned depth,
                          uint64_t *empty_items_left)
{
    if (depth > FIRN_AVRO_VALUE_DEPTH_MAX)
        firn_cursor_fail(in, "is nested too deep");
    if (type->min_bytes == 0 && (*empty_items_left)-- == 0) {
        *empty_items_left = 0;
        firn_cursor_fail(in, "has too many values that take no bytes");
    }
    if (in->failure)
        return json_null();
    switch (type->kind) {
    case FIRN_AVRO_BOOLEAN:
        return json_boolean(firn_avro_take_boolean(in));
    case FIRN_AVRO_INT:
        return json_integer(firn_avro_take_int(in));
    case FIRN_AVRO_LONG:
        return json_integer(firn_avro_take_long(in));
    case FIRN_AVRO_FLOAT:
        return real_json((double)firn_avro_take_float(in));
    case FIRN_AVRO_DOUBLE:
        return real_json(firn_avro_take_double(in));
    case FIRN_AVRO_BYTES:
        return hex_json(firn_avro_take_bytes(in));
    case FIRN_AVRO_FIXED:
        return hex_json(firn_take_bytes(in, type->size));
    case FIRN_AVRO_STRING:
        return firn_json_string(firn_text_of_bytes(firn_avro_take_bytes(in)));
    case FIRN_AVRO_ENUM:
        return take_symbol(in, type);
    case FIRN_AVRO_RECORD:
        return take_record(in, type, depth + 1, empty_items_left);
    case FIRN_AVRO_ARRAY:
        return take_array(in, type, depth + 1, empty_items_left);
    case FIRN_AVRO_MAP:
        return take_map(in, type, depth + 1, empty_items_left);
    case FIRN_AVRO_UNION:
        return take_value(in, type->branches[firn_avro_take_index(in, type->branch_count)], depth + 1,
                          empty_items_left);
    default:
        return json_null();
    }
}

json_t *firn_avro_take_json(struct firn_cursor *in, const struct firn_avro_type *type, uint64_t *empty_items_left)
{
    return take_value(in, type, 0, empty_items_left);
}
