/* UUIDs. */
#include "base/uuid.h"

struct firn_uuid firn_uuid_random(struct firn_op *op)
{
    struct firn_uuid uuid;
    op->env->random(op->env->context, uuid.bytes, sizeof uuid.bytes);
    uuid.bytes[6] = (uint8_t)((uuid.bytes[6] & 0x0f) | 0x40);
    uuid.bytes[8] = (uint8_t)((uuid.bytes[8] & 0x3f) | 0x80);
    return uuid;
}

static bool dash_at(size_t i)
{
    return i == 8 || i == 13 || i == 18 || i == 23;
}

void firn_uuid_print(struct firn_uuid uuid, char out[FIRN_UUID_TEXT_LEN])
{
    static const char digits[] = "0123456789abcdef";
    size_t nibble = 0;
    for (size_t i = 0; i < FIRN_UUID_TEXT_LEN; i++) {
        if (dash_at(i)) {
            out[i] = '-';
            continue;
        }
        uint8_t byte = uuid.bytes[nibble / 2];
        out[i] = digits[nibble % 2 ? byte & 0x0f : byte >> 4];
        nibble++;
    }
}

struct firn_text firn_uuid_text(struct firn_arena *arena, struct firn_uuid uuid)
{
    char *text = firn_arena_alloc(arena, FIRN_UUID_TEXT_LEN + 1);
    firn_uuid_print(uuid, text);
    return (struct firn_text){ text, FIRN_UUID_TEXT_LEN };
}

bool firn_uuid_parse(struct firn_text text, struct firn_uuid *out)
{
    if (text.len != FIRN_UUID_TEXT_LEN)
        return false;
    *out = (struct firn_uuid){ 0 };
    size_t nibble = 0;
    for (size_t i = 0; i < FIRN_UUID_TEXT_LEN; i++) {
        if (dash_at(i)) {
            if (text.data[i] != '-')
                return false;
            continue;
        }
        int value = firn_hex_digit(text.data[i]);
        if (value < 0)
            return false;
        out->bytes[nibble / 2] = (uint8_t)(out->bytes[nibble / 2] << 4 | value);
        nibble++;
    }
    return true;
}
