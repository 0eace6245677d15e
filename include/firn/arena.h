/* Arenas: memory that lives as long as an operation or a handle and is freed in one place.
 *
 * Allocation from an arena does not fail: when the system has no memory left for these small blocks the process ends
 * with a message, which for a table is the same as a kill and is survived by design. Whatever has a size that a file or
 * a server decided goes through firn_buffer (base/buffer.h), which fails with LIMIT instead.
 *
 * In sanitizer builds every allocation is its own malloc, so an overrun is caught at the byte. */
#ifndef FIRN_ARENA_H
#define FIRN_ARENA_H

#include "firn/text.h"

#include <stdarg.h>

struct firn_arena_block;
struct firn_arena_cleanup;

struct firn_arena {
    struct firn_arena_block *blocks;     /* newest first */
    struct firn_arena_cleanup *cleanups; /* newest first; run before the blocks go */
    size_t used_bytes;                   /* handed out since init or reset */
};

/* Fills storage the caller owns; needs firn_arena_done. */
void firn_arena_init(struct firn_arena *arena);
/* Runs the cleanups, newest first, and frees everything. The arena may be used again after. */
void firn_arena_done(struct firn_arena *arena);
/* As firn_arena_done, but keeps one block for the next turn of a loop. */
void firn_arena_reset(struct firn_arena *arena);
/* Moves all memory and cleanups of `child` into `parent`; `child` is empty afterwards. */
void firn_arena_adopt(struct firn_arena *parent, struct firn_arena *child);
/* Runs `cleanup(subject)` when the arena is done or reset. */
void firn_arena_defer(struct firn_arena *arena, void (*cleanup)(void *subject), void *subject);

/* Zeroed memory, aligned for any type. `size` 0 gives a unique pointer. */
void *firn_arena_alloc(struct firn_arena *arena, size_t size);
/* `count` objects of `size`; the product is checked. */
void *firn_arena_alloc_array(struct firn_arena *arena, size_t count, size_t size);
#define FIRN_NEW(arena, type)              ((type *)firn_arena_alloc((arena), sizeof(type)))
#define FIRN_NEW_ARRAY(arena, type, count) ((type *)firn_arena_alloc_array((arena), (count), sizeof(type)))

/* Copies; the copy is followed by a NUL, so its data can go to the C library. */
struct firn_text firn_text_copy(struct firn_arena *arena, struct firn_text text);
struct firn_bytes firn_bytes_copy(struct firn_arena *arena, struct firn_bytes bytes);
struct firn_text firn_text_format(struct firn_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
struct firn_text firn_text_vformat(struct firn_arena *arena, const char *format, va_list args);
struct firn_text firn_text_lower(struct firn_arena *arena, struct firn_text text);
struct firn_text firn_text_join(struct firn_arena *arena, struct firn_text a, struct firn_text b);

/* The text as it may be shown on a terminal, on one line: control characters, those that set the direction of
 * text, and bytes that are no UTF-8 as "\xNN". `text` itself where there are none. */
struct firn_text firn_text_printable(struct firn_arena *arena, struct firn_text text);

/* A growing array in an arena: struct { type *items; size_t count; size_t capacity; }. Old storage stays in the arena
 * until it goes, so arrays of unbounded growth belong to an arena of their own. */
#define FIRN_ARRAY(type)                                                                                               \
    struct {                                                                                                           \
        type *items;                                                                                                   \
        size_t count;                                                                                                  \
        size_t capacity;                                                                                               \
    }
#define FIRN_PUSH(arena, array, item)                                                                                  \
    do {                                                                                                               \
        if ((array)->count == (array)->capacity)                                                                       \
            (array)->items =                                                                                           \
                firn_array_grow((arena), (array)->items, (array)->count, &(array)->capacity, sizeof *(array)->items);  \
        (array)->items[(array)->count++] = (item);                                                                     \
    } while (0)
void *firn_array_grow(struct firn_arena *arena, void *items, size_t count, size_t *capacity, size_t item_size);

#endif
