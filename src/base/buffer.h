/* Buffers: bytes whose number a file or a server decides. Charged to the operation's budget; growing past it fails. */
#ifndef FIRN_BASE_BUFFER_H
#define FIRN_BASE_BUFFER_H

#include "firn/op.h"

struct firn_buffer {
    uint8_t *data;
    size_t len;
    size_t capacity;
    struct firn_budget *budget; /* taken from the first operation that grew it */
};

/* An empty buffer is all zeros: `struct firn_buffer b = { 0 };` needs no init. */

/* Makes room for `capacity` bytes in all; existing content is kept, new bytes are not zeroed.
 * Fails: LIMIT when the budget or the system has no such memory. */
FIRN_CHECKED firn_status firn_buffer_reserve(struct firn_op *op, struct firn_buffer *buffer, size_t capacity);
/* Sets the length, reserving first. */
FIRN_CHECKED firn_status firn_buffer_resize(struct firn_op *op, struct firn_buffer *buffer, size_t len);
/* Sets the length to that of an array of `count` entries; data is not NULL even if there are none. Fails: LIMIT also
 * when no size takes as many. */
FIRN_CHECKED firn_status firn_buffer_resize_array(struct firn_op *op, struct firn_buffer *buffer, size_t count,
                                                  size_t width);
FIRN_CHECKED firn_status firn_buffer_append(struct firn_op *op, struct firn_buffer *buffer, const void *data,
                                            size_t len);
/* Grows by at least doubling and gives a pointer to `len` fresh bytes at the end, which become part of the content. */
FIRN_CHECKED firn_status firn_buffer_extend(struct firn_op *op, struct firn_buffer *buffer, size_t len, uint8_t **out);
/* Keeps the memory, drops the content. */
static inline void firn_buffer_clear(struct firn_buffer *buffer)
{
    buffer->len = 0;
}
/* Frees; the buffer is empty and usable again. NULL data is fine. */
void firn_buffer_done(struct firn_buffer *buffer);
/* Frees the buffer when the arena goes. The buffer itself must live in that arena or longer. */
void firn_buffer_defer(struct firn_arena *arena, struct firn_buffer *buffer);

static inline struct firn_bytes firn_buffer_bytes(const struct firn_buffer *buffer)
{
    return (struct firn_bytes){ buffer->data, buffer->len };
}

/* Takes or gives back budget for memory that is not a buffer. Fails: LIMIT. */
FIRN_CHECKED firn_status firn_budget_take(struct firn_op *op, struct firn_budget *budget, size_t bytes);
void firn_budget_give(struct firn_budget *budget, size_t bytes);

#endif
