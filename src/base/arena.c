/* Arenas. */
#include "firn/arena.h"

#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__)
#define ONE_MALLOC_EACH 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ONE_MALLOC_EACH 1
#endif
#endif
#ifndef ONE_MALLOC_EACH
#define ONE_MALLOC_EACH 0
#endif

enum { BLOCK_BYTES_MIN = 1024, BLOCK_BYTES_MAX = 1 << 20 };

struct firn_arena_block {
    struct firn_arena_block *next;
    size_t size;
    size_t used;
    alignas(max_align_t) unsigned char data[];
};

struct firn_arena_cleanup {
    struct firn_arena_cleanup *next;
    void (*run)(void *subject);
    void *subject;
};

static void *must_malloc(size_t size)
{
    void *memory = size < PTRDIFF_MAX ? malloc(size) : NULL;
    if (!memory) {
        fprintf(stderr, "firn: out of memory (%zu bytes asked for)\n", size);
        abort();
    }
    return memory;
}

void firn_arena_init(struct firn_arena *arena)
{
    *arena = (struct firn_arena){ 0 };
}

static void run_cleanups(struct firn_arena *arena)
{
    while (arena->cleanups) {
        struct firn_arena_cleanup *cleanup = arena->cleanups;
        arena->cleanups = cleanup->next;
        cleanup->run(cleanup->subject);
    }
}

void firn_arena_done(struct firn_arena *arena)
{
    run_cleanups(arena);
    while (arena->blocks) {
        struct firn_arena_block *block = arena->blocks;
        arena->blocks = block->next;
        free(block);
    }
    arena->used_bytes = 0;
}

void firn_arena_reset(struct firn_arena *arena)
{
    run_cleanups(arena);
    struct firn_arena_block *keep = ONE_MALLOC_EACH ? NULL : arena->blocks;
    if (keep)
        arena->blocks = keep->next;
    firn_arena_done(arena);
    if (keep) {
        keep->next = NULL;
        keep->used = 0;
        arena->blocks = keep;
    }
}

void firn_arena_adopt(struct firn_arena *parent, struct firn_arena *child)
{
    if (child->blocks) {
        struct firn_arena_block *last = child->blocks;
        while (last->next)
            last = last->next;
        if (parent->blocks) { /* the parent's newest block stays first: it is the one with room */
            last->next = parent->blocks->next;
            parent->blocks->next = child->blocks;
        } else {
            parent->blocks = child->blocks;
        }
    }
    if (child->cleanups) {
        struct firn_arena_cleanup *last = child->cleanups;
        while (last->next)
            last = last->next;
        last->next = parent->cleanups;
        parent->cleanups = child->cleanups;
    }
    parent->used_bytes += child->used_bytes;
    *child = (struct firn_arena){ 0 };
}

void firn_arena_defer(struct firn_arena *arena, void (*cleanup)(void *subject), void *subject)
{
    struct firn_arena_cleanup *entry = FIRN_NEW(arena, struct firn_arena_cleanup);
    *entry = (struct firn_arena_cleanup){ .next = arena->cleanups, .run = cleanup, .subject = subject };
    arena->cleanups = entry;
}

static struct firn_arena_block *add_block(struct firn_arena *arena, size_t need)
{
    size_t size = arena->blocks && !ONE_MALLOC_EACH ? arena->blocks->size * 2 : BLOCK_BYTES_MIN;
    if (size > BLOCK_BYTES_MAX)
        size = BLOCK_BYTES_MAX;
    if (size < need || ONE_MALLOC_EACH)
        size = need;
    struct firn_arena_block *block = must_malloc(sizeof *block + size);
    block->size = size;
    block->used = 0;
    block->next = arena->blocks;
    arena->blocks = block;
    return block;
}

void *firn_arena_alloc(struct firn_arena *arena, size_t size)
{
    size_t need = size ? size : 1;
    if (!ONE_MALLOC_EACH) {
        if (need > PTRDIFF_MAX - alignof(max_align_t))
            need = PTRDIFF_MAX;
        else
            need = (need + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
    }
    struct firn_arena_block *block = arena->blocks;
    if (!block || ONE_MALLOC_EACH || block->size - block->used < need)
        block = add_block(arena, need);
    void *memory = block->data + block->used;
    block->used += need;
    arena->used_bytes += need;
    return memset(memory, 0, need);
}

void *firn_arena_alloc_array(struct firn_arena *arena, size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total))
        total = PTRDIFF_MAX;
    return firn_arena_alloc(arena, total);
}

struct firn_text firn_text_copy(struct firn_arena *arena, struct firn_text text)
{
    char *copy = firn_arena_alloc(arena, text.len + 1);
    if (text.len)
        memcpy(copy, text.data, text.len);
    return (struct firn_text){ copy, text.len };
}

struct firn_bytes firn_bytes_copy(struct firn_arena *arena, struct firn_bytes bytes)
{
    return firn_bytes_of_text(firn_text_copy(arena, firn_text_of_bytes(bytes)));
}

struct firn_text firn_text_vformat(struct firn_arena *arena, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    size_t len = length > 0 ? (size_t)length : 0;
    char *text = firn_arena_alloc(arena, len + 1);
    vsnprintf(text, len + 1, format, again);
    va_end(again);
    return (struct firn_text){ text, len };
}

struct firn_text firn_text_format(struct firn_arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct firn_text text = firn_text_vformat(arena, format, args);
    va_end(args);
    return text;
}

struct firn_text firn_text_lower(struct firn_arena *arena, struct firn_text text)
{
    char *copy = firn_arena_alloc(arena, text.len + 1);
    for (size_t i = 0; i < text.len; i++)
        copy[i] = text.data[i] >= 'A' && text.data[i] <= 'Z' ? (char)(text.data[i] - 'A' + 'a') : text.data[i];
    return (struct firn_text){ copy, text.len };
}

struct firn_text firn_text_join(struct firn_arena *arena, struct firn_text a, struct firn_text b)
{
    char *joined = firn_arena_alloc(arena, a.len + b.len + 1);
    if (a.len)
        memcpy(joined, a.data, a.len);
    if (b.len)
        memcpy(joined + a.len, b.data, b.len);
    return (struct firn_text){ joined, a.len + b.len };
}

void *firn_array_grow(struct firn_arena *arena, void *items, size_t count, size_t *capacity, size_t item_size)
{
    size_t grown = *capacity ? *capacity * 2 : 8;
    void *memory = firn_arena_alloc_array(arena, grown, item_size);
    if (count)
        memcpy(memory, items, count * item_size);
    *capacity = grown;
    return memory;
}
