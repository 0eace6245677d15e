/* Buffers and the byte budget. */
#include "base/buffer.h"

#include "base/math.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define DOUBLED_BYTES_MAX ((size_t)1 << 20)
#define HUGE_PAGES_MIN    ((size_t)8 << 20) /* room for a few, of two megabytes mostly */

firn_status firn_budget_take(struct firn_op *op, struct firn_budget *budget, size_t bytes)
{
    if (!budget || bytes == 0)
        return FIRN_OK;
    size_t used = atomic_fetch_add(&budget->used_bytes, bytes) + bytes;
    if (budget->limit_bytes && used > budget->limit_bytes) {
        atomic_fetch_sub(&budget->used_bytes, bytes);
        firn_status status =
            firn_fail(op, FIRN_LIMIT, "%zu more bytes are needed on top of %zu, past the memory limit of %zu", bytes,
                      used - bytes, budget->limit_bytes);
        return firn_hint(op, status, "raise --memory, or lower max-concurrent-file-group-rewrites");
    }
    size_t peak = atomic_load(&budget->peak_bytes);
    while (used > peak && !atomic_compare_exchange_weak(&budget->peak_bytes, &peak, used))
        ;
    return FIRN_OK;
}

void firn_budget_give(struct firn_budget *budget, size_t bytes)
{
    if (budget)
        atomic_fetch_sub(&budget->used_bytes, bytes);
}

/* Large buffers are filled and searched faster in huge pages. A hint, which not every system knows. It is given for
 * whole pages, all that the buffer touches: a region of which only a part has it cannot be moved when it grows. */
static void use_huge_pages(uint8_t *data, size_t capacity)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), before = (uintptr_t)data % page;
    if (capacity >= HUGE_PAGES_MIN)
        (void)madvise(data - before, (before + capacity + page - 1) / page * page, MADV_HUGEPAGE);
}

firn_status firn_buffer_reserve(struct firn_op *op, struct firn_buffer *buffer, size_t capacity)
{
    if (capacity <= buffer->capacity)
        return FIRN_OK;
    if (!buffer->data && !buffer->budget)
        buffer->budget = op->budget;
    size_t more = capacity - buffer->capacity;
    FIRN_TRY(firn_budget_take(op, buffer->budget, more));
    uint8_t *data = capacity < PTRDIFF_MAX ? realloc(buffer->data, capacity) : NULL;
    if (!data) {
        firn_budget_give(buffer->budget, more);
        return firn_fail(op, FIRN_LIMIT, "the system has no %zu bytes of memory", capacity);
    }
    use_huge_pages(data, capacity);
    buffer->data = data;
    buffer->capacity = capacity;
    return FIRN_OK;
}

firn_status firn_buffer_resize(struct firn_op *op, struct firn_buffer *buffer, size_t len)
{
    FIRN_TRY(firn_buffer_reserve(op, buffer, len));
    buffer->len = len;
    return FIRN_OK;
}

firn_status firn_buffer_resize_array(struct firn_op *op, struct firn_buffer *buffer, size_t count, size_t width)
{
    size_t bytes;
    if (!firn_size_mul(count, width, &bytes))
        return firn_fail(op, FIRN_LIMIT, "%zu values of %zu bytes", count, width);
    FIRN_TRY(firn_buffer_reserve(op, buffer, FIRN_MAX(bytes, 1)));
    buffer->len = bytes;
    return FIRN_OK;
}

/* Doubles, but what is large already grows by a quarter: the system moves it cheaply, and the budget pays for all. */
static size_t grown_capacity(size_t capacity)
{
    size_t more = capacity < DOUBLED_BYTES_MAX ? capacity : capacity / 4;
    return capacity > SIZE_MAX - more ? SIZE_MAX : capacity + more;
}

firn_status firn_buffer_extend(struct firn_op *op, struct firn_buffer *buffer, size_t len, uint8_t **out)
{
    size_t need;
    if (!firn_size_add(buffer->len, len, &need))
        return firn_fail(op, FIRN_LIMIT, "a buffer of %zu bytes cannot grow by %zu", buffer->len, len);
    if (need > buffer->capacity) {
        size_t grown = FIRN_MAX(FIRN_MAX(grown_capacity(buffer->capacity), need), 64);
        firn_status status = firn_buffer_reserve(op, buffer, grown);
        if (status != FIRN_OK) /* that did not fit: take just what is needed */
            FIRN_TRY(firn_buffer_reserve(op, buffer, need));
    }
    *out = buffer->data + buffer->len;
    buffer->len = need;
    return FIRN_OK;
}

firn_status firn_buffer_append(struct firn_op *op, struct firn_buffer *buffer, const void *data, size_t len)
{
    uint8_t *at;
    if (len == 0)
        return FIRN_OK;
    FIRN_TRY(firn_buffer_extend(op, buffer, len, &at));
    memcpy(at, data, len);
    return FIRN_OK;
}

void firn_buffer_done(struct firn_buffer *buffer)
{
    free(buffer->data);
    firn_budget_give(buffer->budget, buffer->capacity);
    *buffer = (struct firn_buffer){ 0 };
}

static void done_deferred(void *subject)
{
    firn_buffer_done(subject);
}

void firn_buffer_defer(struct firn_arena *arena, struct firn_buffer *buffer)
{
    firn_arena_defer(arena, done_deferred, buffer);
}
