/* The files of a plan of remove_orphan_files: a stream on disk, read once by each step. */
#include "maintain/orphans.h"

#include <stdlib.h>

enum { SORT_BYTES_MAX = 16 << 20 }; /* plans up to this size are sorted */

/* A file as the stream has it; the location follows. */
struct row {
    int64_t bytes;
    int64_t modified_ms;
    uint32_t location_len;
    bool is_confirmed;
};

firn_status firn_orphan_row_append(struct firn_op *op, struct firn_spill_stream *stream,
                                   const struct firn_orphan_file *file, bool is_confirmed)
{
    uint8_t *record;
    struct row row = { .bytes = file->bytes,
                       .modified_ms = file->modified_ms,
                       .location_len = (uint32_t)file->location.len,
                       .is_confirmed = is_confirmed };
    FIRN_TRY(firn_spill_append(op, stream, sizeof row + file->location.len, &record));
    memcpy(record, &row, sizeof row);
    memcpy(record + sizeof row, file->location.data, file->location.len);
    return FIRN_OK;
}

/* The row at `at` of a block; gives the place of the next one. */
static size_t row_at(const struct firn_buffer *block, size_t at, struct firn_orphan_file *file, bool *is_confirmed)
{
    struct row row;
    memcpy(&row, block->data + at, sizeof row);
    *file = (struct firn_orphan_file){ .location = { (const char *)block->data + at + sizeof row, row.location_len },
                                       .bytes = row.bytes,
                                       .modified_ms = row.modified_ms };
    *is_confirmed = row.is_confirmed;
    return at + sizeof row + row.location_len;
}

static firn_status read_rows(struct firn_op *op, struct firn_spill_stream *stream, struct firn_buffer *block,
                             firn_orphan_row_visit *visit, void *context)
{
    bool got, is_confirmed;
    struct firn_orphan_file file;
    FIRN_TRY(firn_spill_finish(op, stream));
    for (;;) {
        FIRN_TRY(firn_spill_next(op, stream, block, &got));
        if (!got)
            return FIRN_OK;
        for (size_t at = 0; at < block->len;) {
            at = row_at(block, at, &file, &is_confirmed);
            FIRN_TRY(visit(op, context, &file, is_confirmed));
        }
    }
}

firn_status firn_orphan_rows_read(struct firn_op *op, struct firn_spill_stream *stream, firn_orphan_row_visit *visit,
                                  void *context)
{
    struct firn_buffer block = { 0 };
    firn_status status = read_rows(op, stream, &block, visit, context);
    firn_buffer_done(&block);
    return status;
}

static firn_status append_all(struct firn_op *op, struct firn_spill_stream *from, struct firn_buffer *block,
                              struct firn_buffer *rows)
{
    bool got;
    FIRN_TRY(firn_spill_finish(op, from));
    for (;;) {
        FIRN_TRY(firn_spill_next(op, from, block, &got));
        if (!got)
            return FIRN_OK;
        FIRN_TRY(firn_buffer_append(op, rows, block->data, block->len));
    }
}

struct sorted_row {
    struct firn_orphan_file file;
    bool is_confirmed;
};

static int compare_rows(const void *a, const void *b)
{
    return firn_text_compare(((const struct sorted_row *)a)->file.location,
                             ((const struct sorted_row *)b)->file.location);
}

static firn_status append_sorted(struct firn_op *op, struct firn_orphan_plan *plan, const struct firn_buffer *rows,
                                 size_t count)
{
    struct firn_arena turn = { 0 };
    struct sorted_row *sorted = FIRN_NEW_ARRAY(&turn, struct sorted_row, count);
    size_t at = 0;
    for (size_t i = 0; i < count; i++)
        at = row_at(rows, at, &sorted[i].file, &sorted[i].is_confirmed);
    qsort(sorted, count, sizeof *sorted, compare_rows);
    firn_status status = FIRN_OK;
    for (size_t i = 0; i < count && status == FIRN_OK; i++)
        status = firn_orphan_row_append(op, &plan->files, &sorted[i].file, sorted[i].is_confirmed);
    firn_arena_done(&turn);
    return status;
}

firn_status firn_orphan_rows_sort(struct firn_op *op, struct firn_orphan_plan *plan)
{
    struct firn_spill_stream old = plan->files;
    struct firn_buffer block = { 0 }, rows = { 0 };
    if (old.bytes > SORT_BYTES_MAX)
        return FIRN_OK;
    firn_spill_stream_init(&plan->files, plan->spill, FIRN_ORPHAN_BLOCK_BYTES);
    firn_status status = append_all(op, &old, &block, &rows);
    if (status == FIRN_OK)
        status = append_sorted(op, plan, &rows, (size_t)old.record_count);
    firn_buffer_done(&block);
    firn_buffer_done(&rows);
    firn_spill_stream_done(&old);
    return status;
}
