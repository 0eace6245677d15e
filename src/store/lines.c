/* Lines of an object. */
#include "store/lines.h"

#include "base/math.h"

enum { CHUNK_BYTES = 1 << 16, LINE_BYTES_MAX = 1 << 20 };

firn_status firn_lines_open(struct firn_op *op, struct firn_store *store, struct firn_text location,
                            struct firn_lines *out)
{
    *out = (struct firn_lines){ 0 };
    return firn_object_open(op, store, location, &out->object);
}

void firn_lines_close(struct firn_lines *lines)
{
    firn_object_close(lines->object);
    firn_buffer_done(&lines->chunk);
    lines->object = NULL;
}

/* Drops the lines given so far and reads on. */
static firn_status read_chunk(struct firn_op *op, struct firn_lines *lines)
{
    struct firn_buffer *chunk = &lines->chunk;
    uint8_t *fresh;
    size_t kept = chunk->len - lines->at;
    size_t want = (size_t)FIRN_MIN((uint64_t)CHUNK_BYTES, firn_object_size(lines->object) - lines->offset);
    if (kept > LINE_BYTES_MAX)
        return firn_fail(op, FIRN_CORRUPT, "'%.*s': line %" PRIu64 " has more than %d bytes",
                         FIRN_FMT(firn_object_location(lines->object)), lines->number + 1, LINE_BYTES_MAX);
    if (kept > 0)
        memmove(chunk->data, chunk->data + lines->at, kept);
    chunk->len = kept;
    lines->at = 0;
    FIRN_TRY(firn_buffer_extend(op, chunk, want, &fresh));
    FIRN_TRY(firn_object_read(op, lines->object, lines->offset, want, fresh));
    lines->offset += want;
    return FIRN_OK;
}

static struct firn_text without_return(struct firn_text line)
{
    return firn_text_ends(line, FIRN_TEXT("\r")) ? firn_text_until(line, line.len - 1) : line;
}

firn_status firn_lines_next(struct firn_op *op, struct firn_lines *lines, struct firn_text *line, bool *got)
{
    *got = false;
    for (;;) {
        struct firn_text rest = firn_text_from(firn_text_of_bytes(firn_buffer_bytes(&lines->chunk)), lines->at);
        ptrdiff_t end = firn_text_find(rest, '\n');
        bool is_last = lines->offset == firn_object_size(lines->object);
        if (end < 0 && !is_last) {
            FIRN_TRY(read_chunk(op, lines));
            continue;
        }
        if (rest.len == 0)
            return FIRN_OK;
        size_t len = end < 0 ? rest.len : (size_t)end;
        *line = without_return(firn_text_until(rest, len));
        lines->at += end < 0 ? len : len + 1;
        lines->number++;
        *got = true;
        return FIRN_OK;
    }
}

static firn_status visit_line(struct firn_op *op, firn_lines_visit *visit, void *context, struct firn_text line)
{
    struct firn_arena *kept = op->arena, turn;
    firn_arena_init(&turn);
    op->arena = &turn;
    firn_status status = visit(op, context, line);
    op->arena = kept;
    firn_arena_done(&turn);
    return status;
}

firn_status firn_lines_each(struct firn_op *op, struct firn_lines *lines, firn_lines_visit *visit, void *context)
{
    for (;;) {
        bool got;
        struct firn_text line;
        FIRN_TRY(firn_lines_next(op, lines, &line, &got));
        if (!got)
            return FIRN_OK;
        FIRN_TRY(firn_op_check(op));
        FIRN_TRY(visit_line(op, visit, context, line));
    }
}
