/* A cursor over foreign bytes: straight-line parsing that keeps the first failure and yields zeros after it, so the
 * check is made once, with the offset. */
#ifndef FIRN_BASE_CURSOR_H
#define FIRN_BASE_CURSOR_H

#include "firn/op.h"

struct firn_cursor {
    const uint8_t *start;
    const uint8_t *at;
    const uint8_t *end;
    const char *failure; /* NULL while all is well; else what was wrong, a literal */
    size_t failure_offset;
};

struct firn_cursor firn_cursor_of(struct firn_bytes bytes);
static inline size_t firn_cursor_left(const struct firn_cursor *in)
{
    return (size_t)(in->end - in->at);
}
static inline size_t firn_cursor_offset(const struct firn_cursor *in)
{
    return (size_t)(in->at - in->start);
}
/* Notes a failure at the current offset unless there is one already; everything taken afterwards is zero. */
void firn_cursor_fail(struct firn_cursor *in, const char *failure);

uint8_t firn_take_u8(struct firn_cursor *in);
uint32_t firn_take_le32(struct firn_cursor *in);
uint64_t firn_take_le64(struct firn_cursor *in);
uint32_t firn_take_be32(struct firn_cursor *in);
/* A little-endian number of at most 8 bytes. */
uint64_t firn_take_le(struct firn_cursor *in, unsigned bytes);
/* Unsigned LEB128; more than 10 bytes, or bits beyond 64, fail. */
uint64_t firn_take_varint64(struct firn_cursor *in);
int64_t firn_take_zigzag64(struct firn_cursor *in);
/* `len` bytes, borrowed from the input; fails when fewer are left. */
struct firn_bytes firn_take_bytes(struct firn_cursor *in, uint64_t len);
/* Fails unless the next bytes are `expected`. `what` is a literal naming them. */
void firn_take_expected(struct firn_cursor *in, struct firn_bytes expected, const char *what);

/* CORRUPT at the first bad byte, else FIRN_OK. Bytes left over are fine. */
FIRN_CHECKED firn_status firn_cursor_finish(struct firn_op *op, const struct firn_cursor *in, const char *what);

#endif
