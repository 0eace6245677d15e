/* Reading a column across slices, pages and steps. */
#include "rewrite/column.h"

#include "base/math.h"

#define ROWS_AT_ONCE_MAX 65536 /* of columns that need no page: constants, nulls, row numbers */

static uint32_t part_slots(const struct firn_vector *vector, uint32_t slot, int64_t rows, uint32_t *row_count)
{
    uint32_t left = vector->slot_count - slot;
    *row_count = 0;
    if (!vector->rep) {
        *row_count = (uint32_t)FIRN_MIN(rows, (int64_t)left);
        return *row_count;
    }
    for (uint32_t i = 0; i < left; i++) {
        if (vector->rep[slot + i] != 0)
            continue;
        if (*row_count == rows)
            return i;
        ++*row_count;
    }
    return left;
}

static uint32_t count_values(const struct firn_vector *vector, uint32_t slot, uint32_t slots)
{
    if (!vector->def)
        return slots;
    uint32_t values = 0;
    for (uint32_t i = 0; i < slots; i++)
        values += vector->def[slot + i] == vector->def_max;
    return values;
}

struct firn_vector firn_vector_part(const struct firn_vector *vector, uint32_t slot, uint32_t value, int64_t rows)
{
    struct firn_vector part = *vector;
    part.slot_count = part_slots(vector, slot, rows, &part.row_count);
    part.value_count = count_values(vector, slot, part.slot_count);
    part.rep = vector->rep ? vector->rep + slot : NULL;
    part.def = vector->def ? vector->def + slot : NULL;
    if (vector->indices)
        part.indices = vector->indices + value;
    else if (vector->values.any)
        part.values.any = (uint8_t *)vector->values.any + value * firn_value_width(vector->type, vector->type_length);
    return part;
}

static void close_chunk(struct firn_column *column)
{
    firn_chunk_reader_close(column->reader);
    column->reader = NULL;
    column->page = (struct firn_vector){ 0 };
    column->page_slot = column->page_value = 0;
    firn_buffer_done(&column->chunk);
}

static firn_status open_chunk(struct firn_op *op, struct firn_column *column, struct firn_window *window,
                              const struct firn_row_slice *slice, const struct firn_leaf_plan *plan)
{
    const struct firn_column_chunk *chunk;
    struct firn_bytes bytes;
    FIRN_TRY(firn_row_slice_chunk(op, window, slice, plan->levels, &column->chunk, &chunk, &bytes));
    struct firn_chunk_reader_options options = {
        .crc_check = true,
        .keep_dictionary = plan->has_values,
        .codec_context = column->codec,
    };
    return firn_chunk_reader_open(op, plan->levels, chunk, slice->row_count, bytes, options, &column->reader);
}

/* The next part of the page at hand, of at most `rows` rows; pages are read until one has slots. No slots: the chunk
 * has ended, or `rows` is 0 and the next slot begins a row. */
static firn_status next_part(struct firn_op *op, struct firn_column *column, int64_t rows, struct firn_vector *part)
{
    *part = (struct firn_vector){ 0 };
    while (column->page_slot == column->page.slot_count) {
        bool has_page;
        FIRN_TRY(firn_op_check(op));
        FIRN_TRY(firn_chunk_reader_next(op, column->reader, &column->page, &has_page));
        column->page_slot = column->page_value = 0;
        if (!has_page) {
            column->page = (struct firn_vector){ 0 };
            return FIRN_OK;
        }
    }
    *part = firn_vector_part(&column->page, column->page_slot, column->page_value, rows);
    column->page_slot += part->slot_count;
    column->page_value += part->value_count;
    return FIRN_OK;
}

/* What a pull does with the vectors: adapt and emit them, or nothing. */
struct pull {
    struct firn_column *column;
    const struct firn_row_slice *slice;
    const struct firn_leaf_plan *plan;
    firn_column_emit *emit; /* NULL: skip */
    void *context;
    int64_t row; /* rows passed on since the pull began */
};

static firn_status pass_on(struct firn_op *op, struct pull *pull, const struct firn_vector *in, int64_t slice_row)
{
    struct firn_vector out;
    if (!pull->emit)
        return FIRN_OK;
    FIRN_TRY(firn_adapter_run(op, &pull->column->adapter, pull->plan, pull->column->leaf->node, in,
                              pull->slice->first_row + slice_row, &out));
    if (out.slot_count == 0)
        return FIRN_OK;
    bool continues = out.rep && out.rep[0] > 0;
    return pull->emit(op, pull->context, pull->column, &out, pull->row - continues);
}

/* A column that follows the slots of an input leaf. */
static firn_status pull_pages(struct firn_op *op, struct pull *pull, int64_t rows)
{
    struct firn_column *column = pull->column;
    int64_t left = rows;
    for (;;) {
        struct firn_vector part;
        FIRN_TRY(next_part(op, column, left, &part));
        if (part.slot_count == 0)
            break;
        FIRN_TRY(pass_on(op, pull, &part, column->slice_row + rows - left));
        left -= part.row_count;
        pull->row += part.row_count;
    }
    if (left > 0)
        return firn_fail(op, FIRN_CORRUPT, "column '%.*s' ends %" PRId64 " rows early",
                         FIRN_FMT(pull->plan->levels->path), left);
    return FIRN_OK;
}

static firn_status pull_rows(struct firn_op *op, struct pull *pull, int64_t rows)
{
    for (int64_t done = 0; done < rows;) {
        struct firn_vector in = { .row_count = (uint32_t)FIRN_MIN(rows - done, ROWS_AT_ONCE_MAX) };
        FIRN_TRY(pass_on(op, pull, &in, pull->column->slice_row + done));
        done += in.row_count;
        pull->row += in.row_count;
    }
    return FIRN_OK;
}

/* A chunk that was let go in the middle is decoded again up to where the column stands. */
static firn_status reach_row(struct firn_op *op, struct pull *pull, struct firn_window *window)
{
    struct pull skip = *pull;
    skip.emit = NULL;
    if (pull->column->reader)
        return FIRN_OK;
    FIRN_TRY(open_chunk(op, pull->column, window, pull->slice, pull->plan));
    return pull->column->slice_row > 0 ? pull_pages(op, &skip, pull->column->slice_row) : FIRN_OK;
}

static firn_status pull_slice(struct firn_op *op, struct pull *pull, struct firn_window *window, int64_t rows)
{
    struct firn_column *column = pull->column;
    if (!pull->plan->levels) {
        FIRN_TRY(pull_rows(op, pull, rows));
    } else {
        FIRN_TRY(reach_row(op, pull, window));
        FIRN_TRY(pull_pages(op, pull, rows));
    }
    column->slice_row += rows;
    if (column->slice_row == pull->slice->row_count && column->page_slot < column->page.slot_count)
        return firn_fail(op, FIRN_CORRUPT, "column '%.*s' holds more rows than its row group",
                         FIRN_FMT(pull->plan->levels->path));
    return FIRN_OK;
}

static firn_status pull_all(struct firn_op *op, struct pull *pull, struct firn_window *window, int64_t rows)
{
    struct firn_column *column = pull->column;
    while (rows > 0) {
        pull->slice = &window->slices.items[column->slice];
        pull->plan = firn_row_slice_plan(pull->slice, column->leaf->node->leaf_index);
        int64_t now = FIRN_MIN(rows, pull->slice->row_count - column->slice_row);
        firn_status status = pull_slice(op, pull, window, now);
        if (status != FIRN_OK)
            return firn_context(op, status, "data file %.*s", FIRN_FMT(firn_row_slice_path(pull->slice)));
        if (column->slice_row == pull->slice->row_count) {
            close_chunk(column);
            column->slice++;
            column->slice_row = 0;
        }
        rows -= now;
    }
    return FIRN_OK;
}

firn_status firn_column_pull(struct firn_op *op, struct firn_column *column, struct firn_window *window, int64_t rows,
                             firn_column_emit *emit, void *context)
{
    struct pull pull = { .column = column, .emit = emit, .context = context };
    return pull_all(op, &pull, window, rows);
}

firn_status firn_column_skip(struct firn_op *op, struct firn_column *column, struct firn_window *window, int64_t rows)
{
    struct pull pull = { .column = column };
    return pull_all(op, &pull, window, rows);
}

void firn_column_suspend(struct firn_column *column)
{
    close_chunk(column);
}

void firn_column_close(struct firn_column *column)
{
    close_chunk(column);
    firn_adapter_done(&column->adapter);
}
