/* UUIDs (RFC 9562) as 16 bytes and as text. */
#ifndef FIRN_BASE_UUID_H
#define FIRN_BASE_UUID_H

#include "firn/op.h"

struct firn_uuid {
    uint8_t bytes[16];
};

/* Version 4, from the operation's randomness. */
struct firn_uuid firn_uuid_random(struct firn_op *op);
/* Lower-case text. */
#define FIRN_UUID_TEXT_LEN 36
void firn_uuid_print(struct firn_uuid uuid, char out[FIRN_UUID_TEXT_LEN]);
/* The same in the arena. */
struct firn_text firn_uuid_text(struct firn_arena *arena, struct firn_uuid uuid);
/* Accepts the 36-character form in either case. */
bool firn_uuid_parse(struct firn_text text, struct firn_uuid *out);

#endif
